/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Prague (RFC 9331 section 4) with the integer arithmetic of the L4S project's tcp_prague.c, version 0.7, restated.
 *
 * A fractional window follows marks as DCTCP's does, and grows only for segments without a mark. Once slow start is a few rounds past,
 * reduction and growth are those of a flow with a round trip of rtt_target where the real one is shorter. Where the window is four packets
 * or fewer, a rate takes the place of the window.
 *
 * Units: alpha in 2^-24, upscaled_alpha 16 times that; windows in 2^-20 segments; rates in bytes of whole packets per second; srtt8 in 1/8 µs,
 * hsrtt 128 times that; stamps in µs. Kept from the original: the rate counts whole packets, and the stack spends it on payload; rate_to_frac
 * takes 2^23 for 8 000 000; the halving at the first mark is undone where the same ACK also acknowledges an unmarked segment in slow start.
 *
 * Deviations: packets do not shrink below two packets per rtt_target; products are exact where the original's overflow.
 */
#ifndef QUELL_CORE_PRAGUE_H
#define QUELL_CORE_PRAGUE_H

#include "core.h"

#define PRAGUE_ALPHA_BITS 24
#define PRAGUE_SHIFT_G 4		/* gain 1/16 */
#define PRAGUE_MAX_ALPHA (1ULL << PRAGUE_ALPHA_BITS)
#define PRAGUE_CWND_BITS 20
#define PRAGUE_ONE (1ULL << PRAGUE_CWND_BITS)
#define PRAGUE_MIN_CWND 2U
#define PRAGUE_MIN_RATE 12500ULL	/* 100 kbit/s */
#define PRAGUE_PACKET 1500ULL		/* growth is that of packets of this length */
#define PRAGUE_LONGEST_SCALED 800000U	/* 100 ms */
#define PRAGUE_RTT_BITS 23		/* about 8 000 000, the eighths of a µs in a second */
#define PRAGUE_HSRTT_BITS 7
#define PRAGUE_FEW (4 * PRAGUE_PACKET)	/* bytes of window up to which the rate leads */

/* The options. */
struct prague_rules {
	cc_u32 rtt_target_us;	/* at most 1 s */
	cc_u32 rtt_transition;	/* rounds after slow start without RTT independence */
	cc_u8 alpha_one;	/* alpha begins at 1, and the first mark does not halve */
	cc_u8 first_ce_halves;	/* the first mark halves in any case */
	cc_u8 burst_shift;	/* longest burst: 2^-burst_shift s at the pacing rate */
	cc_u8 rate_mode;	/* small windows give way to a rate */
};

/* The connection as it is now. */
struct prague_path {
	cc_u64 now_us;
	cc_u32 srtt8;		/* 0 before the first sample */
	cc_u32 mtu;		/* length of a full packet */
	cc_u32 delivered;	/* segments delivered since the start, and of those with CE */
	cc_u32 delivered_ce;
	cc_u32 snd_una;
	cc_u32 snd_nxt;
	cc_u32 in_flight;	/* segments */
};

/* The state of a connection; 96 bytes. */
struct prague {
	cc_u64 cwr_stamp;	/* time of the last reduction by marks */
	cc_u64 alpha_stamp;	/* time of the last update of alpha */
	cc_u64 upscaled_alpha;
	cc_u64 ai_ack_increase; /* growth per unmarked segment and window, in 2^-20 segments */
	cc_u64 frac_cwnd;
	cc_u64 rate_bytes;
	cc_u64 loss_rate_bytes; /* rate and window before the last loss */
	cc_u64 hsrtt;
	cc_u32 loss_cwnd;
	cc_u32 old_delivered;	/* counters when the round began */
	cc_u32 old_delivered_ce;
	cc_u32 next_seq;	/* the round ends when this is acknowledged */
	cc_u32 round;		/* rounds since slow start */
	cc_u32 max_tso_burst;	/* segments in a burst */
	cc_u8 saw_ce;
	cc_u8 in_loss;
	cc_u8 cwnd_mode;	/* 0: the window leads; 1: the rate */
	cc_u8 unused;
};

/* (a * b + add) >> shift without more than 64 bits: b and add below 2^36, shift at most 28, and the result fits. */
CC_FN cc_u64 prague_mul_shr(cc_u64 a, cc_u64 b, cc_u64 add, cc_u32 shift)
{
	cc_u64 high = (a >> 28) * b, low = (a & ((1ULL << 28) - 1)) * b + add;

	return (high << (28 - shift)) + (low >> shift);
}

CC_FN cc_u64 prague_div_round(cc_u64 a, cc_u64 b)
{
	return CC_DIV(a + b / 2, b);
}

CC_FN cc_u64 prague_div_up(cc_u64 a, cc_u64 b)
{
	return CC_DIV(a + b - 1, b);
}

CC_FN cc_u32 prague_is_slow(const struct cc_window *w)
{
	return w->cwnd < w->ssthresh;
}

CC_FN cc_u32 prague_is_independent(const struct prague *ca, const struct prague_rules *rules, const struct cc_window *w)
{
	return !prague_is_slow(w) && ca->round >= rules->rtt_transition;
}

CC_FN cc_u32 prague_leads_rate(const struct prague *ca, const struct prague_rules *rules, const struct cc_window *w)
{
	return ca->cwnd_mode == 1 && prague_is_independent(ca, rules, w);
}

CC_FN cc_u32 prague_virtual_rtt(const struct prague_rules *rules, const struct prague_path *p)
{
	return cc_max_u32(rules->rtt_target_us << 3, p->srtt8);
}

CC_FN cc_u64 prague_since(cc_u64 now, cc_u64 stamp)
{
	return now > stamp ? now - stamp : 0;
}

/* Bytes per second of one packet per round trip; before the first sample, per 1/8 µs. */
CC_FN cc_u64 prague_packet_rate(const struct prague_path *p)
{
	cc_u64 rate = 8000000ULL * p->mtu;

	return p->srtt8 ? CC_DIV(rate, (cc_u64)p->srtt8) : rate;
}

CC_FN cc_u64 prague_frac_to_rate(const struct prague *ca, const struct prague_path *p)
{
	return cc_max_u64(prague_mul_shr(ca->frac_cwnd, prague_packet_rate(p), 0, PRAGUE_CWND_BITS), PRAGUE_MIN_RATE);
}

CC_FN cc_u64 prague_rate_to_frac(const struct prague *ca, const struct prague_path *p)
{
	cc_u64 rtt = ca->hsrtt >> PRAGUE_HSRTT_BITS;

	if (!rtt)
		rtt = p->srtt8;
	return prague_div_up(prague_mul_shr(ca->rate_bytes, rtt, 0, PRAGUE_RTT_BITS - PRAGUE_CWND_BITS), p->mtu);
}

/* Window that the fractional one calls for: rounded up, at least two. */
CC_FN cc_u32 prague_whole_cwnd(const struct prague *ca)
{
	cc_u64 whole = (ca->frac_cwnd + PRAGUE_ONE - 1) >> PRAGUE_CWND_BITS;

	return whole < CC_MAX_CWND ? cc_max_u32((cc_u32)whole, PRAGUE_MIN_CWND) : CC_MAX_CWND;
}

/* Growth per window: (srtt / rtt_target)^2 segments where the round trip is shorter than the target, else one. */
CC_FN void prague_update_increase(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p)
{
	cc_u64 rtt = p->srtt8, target = (cc_u64)rules->rtt_target_us << 3;

	if (ca->round < rules->rtt_transition || !rtt || rtt > PRAGUE_LONGEST_SCALED || rtt >= target)
		ca->ai_ack_increase = PRAGUE_ONE;
	else
		ca->ai_ack_increase = prague_div_round((rtt << PRAGUE_CWND_BITS) * rtt, target * target);
}

CC_FN void prague_new_round(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	ca->next_seq = p->snd_nxt;
	ca->old_delivered = p->delivered;
	ca->old_delivered_ce = p->delivered_ce;
	if (!prague_is_slow(w)) {
		ca->round++;
		if (!ca->round)
			ca->round = rules->rtt_transition;
	}
	prague_update_increase(ca, rules, p);
}

/* Returns the pacing rate in bytes per second. */
CC_FN cc_u64 prague_update_pacing(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	cc_u64 rate, burst;

	if (prague_leads_rate(ca, rules, w)) {
		/* 3 % more in the first half of a round trip and less in the second: marks come in each. */
		cc_u64 offset = ca->rate_bytes * 4 >> 7;
		cc_u32 half = prague_virtual_rtt(rules, p) >> 4;

		rate = prague_since(p->now_us, ca->alpha_stamp) >= half ? ca->rate_bytes - offset : ca->rate_bytes + offset;
	} else {
		cc_u32 flight = cc_max_u32((cc_u32)(ca->frac_cwnd >> PRAGUE_CWND_BITS), p->in_flight);

		rate = cc_max_u64(prague_packet_rate(p) * flight, PRAGUE_MIN_RATE);
		ca->rate_bytes = rate;
	}
	if (w->cwnd < w->ssthresh / 2)
		rate <<= 1;
	burst = CC_DIV(rate, (cc_u64)p->mtu) >> rules->burst_shift;
	ca->max_tso_burst = burst > 0xffffffffULL ? 0xffffffffU : cc_max_u32((cc_u32)burst, 1);
	return rate;
}

/* A connection that has agreed on ECN. Returns the pacing rate in bytes per second. */
CC_FN cc_u64 prague_start(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	struct prague fresh = { .alpha_stamp = p->now_us, .max_tso_burst = 1 };
	cc_u64 rate;

	*ca = fresh;
	if (rules->alpha_one)
		ca->upscaled_alpha = PRAGUE_MAX_ALPHA << PRAGUE_SHIFT_G;
	ca->frac_cwnd = (cc_u64)w->cwnd << PRAGUE_CWND_BITS;
	rate = prague_update_pacing(ca, rules, p, w);
	ca->saw_ce = p->delivered_ce > 0;
	ca->hsrtt = (cc_u64)(p->srtt8 ? p->srtt8 : 8) << PRAGUE_HSRTT_BITS;
	prague_new_round(ca, rules, p, w);
	return rate;
}

/* RFC 8257 section 3.3, once per round trip or rtt_target. */
CC_FN void prague_update_alpha(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	if (ca->saw_ce) {
		cc_u64 marked = p->delivered_ce - ca->old_delivered_ce, alpha = ca->upscaled_alpha;
		cc_u32 delivered = p->delivered - ca->old_delivered;

		if (marked)
			marked = CC_DIV(marked << PRAGUE_ALPHA_BITS, (cc_u64)cc_max_u32(delivered, 1));
		alpha = alpha - (alpha >> PRAGUE_SHIFT_G) + marked;
		if (alpha > PRAGUE_MAX_ALPHA << PRAGUE_SHIFT_G)
			alpha = PRAGUE_MAX_ALPHA << PRAGUE_SHIFT_G;
		ca->upscaled_alpha = alpha;
		ca->alpha_stamp = p->now_us;
	}
	ca->hsrtt = ca->hsrtt + p->srtt8 - (ca->hsrtt >> PRAGUE_HSRTT_BITS);
	prague_new_round(ca, rules, p, w);
}

/* Growth for `acked` segments without a mark, after slow start. */
CC_FN void prague_grow(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w, cc_u32 acked)
{
	if (prague_leads_rate(ca, rules, w)) {
		cc_u64 rtt = cc_max_u32(prague_virtual_rtt(rules, p), 1);
		cc_u64 gain = CC_DIV((acked * PRAGUE_PACKET) << PRAGUE_RTT_BITS, rtt);
		cc_u64 window = prague_div_up(ca->rate_bytes * rtt, (cc_u64)p->mtu << PRAGUE_RTT_BITS);

		if (window)
			ca->rate_bytes += prague_div_round(gain, window);
		ca->frac_cwnd = cc_max_u64(ca->frac_cwnd + acked, prague_rate_to_frac(ca, p));
	} else {
		cc_u64 gain = acked * ca->ai_ack_increase;

		if (ca->frac_cwnd)
			gain = prague_div_round(gain << PRAGUE_CWND_BITS, ca->frac_cwnd);
		gain = CC_DIV(gain * PRAGUE_PACKET, (cc_u64)p->mtu);
		ca->frac_cwnd += cc_max_u64(acked, gain);
		ca->rate_bytes = cc_max_u64(ca->rate_bytes + acked, prague_frac_to_rate(ca, p));
	}
}

/* Returns 0 if slow start has used the whole ACK, and the window is not to follow the fractional one. */
CC_FN cc_u32 prague_take_ack(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, struct cc_window *w, cc_u32 acked,
			     cc_u32 marked, cc_u32 is_limited)
{
	if (marked) {
		cc_u32 is_first = !ca->saw_ce && !rules->alpha_one;

		if (is_first)
			ca->frac_cwnd = (ca->frac_cwnd + 1) >> 1;
		ca->saw_ce = 1;
		acked = acked > marked ? acked - marked : 0;
		if (is_first && rules->first_ce_halves)
			acked = 0;
	}
	if (!acked || ca->in_loss || !is_limited)
		return 1;
	if (prague_is_slow(w)) {
		acked = cc_slow_start(w, acked);
		ca->frac_cwnd = (cc_u64)w->cwnd << PRAGUE_CWND_BITS;
		if (!acked)
			return 0;
	}
	prague_grow(ca, rules, p, w, acked);
	return 1;
}

CC_FN void prague_update_cwnd(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, struct cc_window *w, cc_u32 acked,
			      cc_u32 marked, cc_u32 is_limited)
{
	if (prague_take_ack(ca, rules, p, w, acked, marked, is_limited)) {
		/* One step per ACK, up or down. */
		cc_u32 want = prague_whole_cwnd(ca);

		if (w->cwnd == want)
			return;
		if (w->cwnd > want) {
			w->cwnd--;
			w->ssthresh = w->cwnd;
		} else {
			w->cwnd++;
		}
	}
	prague_update_increase(ca, rules, p);
}

/*
 * An ACK newly delivered `acked` segments and reported `marked` packets with CE; the state of loss recovery is up to date. Returns the pacing
 * rate in bytes per second.
 */
CC_FN cc_u64 prague_on_ack(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, struct cc_window *w, cc_u32 acked,
			   cc_u32 marked, cc_u32 is_limited)
{
	cc_u64 rate;

	prague_update_cwnd(ca, rules, p, w, acked, marked, is_limited);
	if ((int)(p->snd_una - ca->next_seq) >= 0 &&
	    (!prague_is_independent(ca, rules, w) || prague_since(p->now_us, ca->alpha_stamp) >= rules->rtt_target_us))
		prague_update_alpha(ca, rules, p, w);
	rate = prague_update_pacing(ca, rules, p, w);
	if (rules->rate_mode) {
		if (ca->saw_ce && (cc_u64)w->cwnd * p->mtu <= PRAGUE_FEW) {
			ca->cwnd_mode = 1;
			ca->frac_cwnd = prague_rate_to_frac(ca, p);
		} else {
			ca->cwnd_mode = 0;
			ca->rate_bytes = prague_frac_to_rate(ca, p);
		}
	}
	return rate;
}

/* A segment is lost, or the retransmission timer has run out: half of window or rate. */
CC_FN void prague_on_loss(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	ca->loss_cwnd = w->cwnd;
	ca->loss_rate_bytes = ca->rate_bytes;
	if (prague_leads_rate(ca, rules, w)) {
		ca->rate_bytes -= ca->rate_bytes >> 1;
		ca->frac_cwnd = prague_rate_to_frac(ca, p);
	} else {
		ca->frac_cwnd -= ca->frac_cwnd >> 1;
		ca->rate_bytes = prague_frac_to_rate(ca, p);
	}
	ca->in_loss = 1;
}

/* Marks have come back: alpha/2 less of window or rate, once per rtt_target. */
CC_FN void prague_on_marks(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	cc_u64 alpha = ca->upscaled_alpha >> PRAGUE_SHIFT_G;

	if (prague_is_independent(ca, rules, w) && prague_since(p->now_us, ca->cwr_stamp) < rules->rtt_target_us)
		return;
	ca->cwr_stamp = p->now_us;
	if (prague_leads_rate(ca, rules, w)) {
		cc_u64 less = prague_mul_shr(ca->rate_bytes, alpha, 0, PRAGUE_ALPHA_BITS + 1);

		ca->rate_bytes = cc_max_u64(ca->rate_bytes - less, PRAGUE_MIN_RATE);
		ca->frac_cwnd = prague_rate_to_frac(ca, p);
	} else {
		/* Rounded to the nearest. */
		ca->frac_cwnd -= prague_mul_shr(ca->frac_cwnd, alpha, PRAGUE_MAX_ALPHA, PRAGUE_ALPHA_BITS + 1);
		ca->rate_bytes = prague_frac_to_rate(ca, p);
	}
}

/* The state of loss recovery becomes `state`, which is another one than before. */
CC_FN void prague_set_state(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w, cc_u32 state)
{
	if (state == CC_RECOVERY)
		prague_on_loss(ca, rules, p, w);
	else if (state == CC_CWR)
		prague_on_marks(ca, rules, p, w);
	else if (state == CC_OPEN)
		ca->in_loss = 0;
}

/* The last reduction was spurious. Returns the window to restore. */
CC_FN cc_u32 prague_undo(struct prague *ca, const struct prague_path *p, const struct cc_window *w)
{
	ca->in_loss = 0;
	ca->rate_bytes = cc_max_u64(ca->rate_bytes, ca->loss_rate_bytes);
	ca->frac_cwnd = prague_rate_to_frac(ca, p);
	return cc_max_u32(ca->loss_cwnd, w->cwnd);
}

#endif
