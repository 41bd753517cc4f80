/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compound TCP (Tan, Song, Zhang, Sridharan, INFOCOM 2006) with the integer arithmetic of tcp_compound.c 1.3 for Linux, restated.
 *
 * The window is the sum of Reno's and of a delay-based part, dwnd. Once per round trip dwnd grows by W^0.75 / 8 segments where fewer than gamma
 * segments wait in the network, and shrinks by those that wait where they are more. Below low_window segments it is zero. gamma follows what
 * Reno's part alone would have left in the network when a reduction came.
 *
 * RTTs are in µs, plus 1 so that none is zero. diff has one binary place.
 *
 * Deviations: paced growth that is left at the end of a round is added once, where the original may add it in each round that follows without
 * a measurement, and keeps it below low_window; the product of a reduction has 64 bits; RTT samples are counted in 32 bits.
 */
#ifndef QUELL_CORE_COMPOUND_H
#define QUELL_CORE_COMPOUND_H

#include "core.h"

#define COMPOUND_NO_RTT 0x7fffffffU
#define COMPOUND_NONE 0xffffffffU	/* diff_reno is not known */
#define COMPOUND_WHOLE 64U		/* lambda of 1 */

/* The options. */
struct compound_rules {
	cc_u32 gamma;		/* segments that may wait in the network, at first */
	cc_u32 gamma_low;	/* and at least, and at most */
	cc_u32 gamma_high;
	cc_u32 low_window;	/* segments below which Reno is alone */
	cc_u32 eta;		/* what dwnd loses for each segment that waits */
	cc_u32 lambda;		/* how fast gamma follows, in 1/64 */
	cc_u8 paced;		/* dwnd grows over the round trip, not at once */
};

/* The state of a connection; 52 bytes. */
struct compound {
	cc_u32 beg_snd_una;	/* the round: its sequence numbers, and Reno's window when it began */
	cc_u32 beg_snd_nxt;
	cc_u32 beg_cwnd;
	cc_u32 cnt_rtt;		/* samples of this round, and the lowest */
	cc_u32 min_rtt;
	cc_u32 base_rtt;	/* the lowest ever */
	cc_u32 cwnd;		/* Reno's part */
	cc_u32 dwnd;		/* the delay-based part */
	cc_u32 diff_reno;	/* in 1/2 segments */
	cc_u32 gamma;
	cc_u32 incr_interval;	/* ACKs per paced increment */
	cc_u32 dwnd_left;	/* paced increments of this round that are left */
	cc_u32 ack_since_dwnd_inc;
};

/*
 * The largest number whose square is not above x. Without a branch and without a mask, of which the kernel's verifier would follow both values
 * each time.
 */
CC_FN cc_u32 compound_isqrt(cc_u32 x)
{
	cc_u64 root = 0;
	cc_u32 i;

	for (i = 0; i < 16; i++) {
		cc_u64 next = root + (1ULL << (15 - i));
		/* 1 if the square of next is above x. */
		cc_u64 is_above = ((cc_u64)x - next * next) >> 63;

		root += (1 - is_above) << (15 - i);
	}
	return (cc_u32)root;
}

/* Segments by which dwnd grows in a round of W: W^0.75 / 8 and less the one that Reno adds. */
CC_FN cc_u32 compound_increment(cc_u32 w)
{
	cc_u32 root = compound_isqrt(compound_isqrt(w) << 16), x;

	if (!root)
		return 0;
	x = (cc_u32)(CC_DIV((cc_u64)w << 8, (cc_u64)root) >> 3);
	return x > 0 ? x - 1 : 0;
}

/* Segments of W that wait in the network, in 1/2. */
CC_FN cc_u32 compound_diff(cc_u32 w, cc_u32 base, cc_u32 rtt)
{
	return (w << 1) - (cc_u32)CC_DIV(((cc_u64)w * base) << 1, (cc_u64)rtt);
}

/* A round begins at snd_nxt, and nothing is known of it. */
CC_FN void compound_begin(struct compound *ca, cc_u32 snd_nxt)
{
	ca->beg_snd_nxt = snd_nxt;
	ca->cnt_rtt = 0;
	ca->min_rtt = COMPOUND_NO_RTT;
	ca->diff_reno = COMPOUND_NONE;
	ca->incr_interval = COMPOUND_NO_RTT;
	ca->dwnd_left = 0;
	ca->ack_since_dwnd_inc = 0;
}

/* The first segment leaves after a pause. */
CC_FN void compound_restart(struct compound *ca, const struct compound_rules *rules, cc_u32 snd_nxt, cc_u32 cwnd)
{
	compound_begin(ca, snd_nxt);
	ca->dwnd = 0;
	ca->cwnd = cwnd;
	ca->gamma = rules->gamma;
}

/* A new connection. */
CC_FN void compound_start(struct compound *ca, const struct compound_rules *rules, cc_u32 snd_nxt, cc_u32 cwnd)
{
	ca->beg_snd_una = snd_nxt;
	ca->beg_cwnd = 0;
	ca->base_rtt = COMPOUND_NO_RTT;
	compound_restart(ca, rules, snd_nxt, cwnd);
}

/* An ACK has an RTT of `rtt_us` µs. */
CC_FN void compound_on_rtt(struct compound *ca, cc_u32 rtt_us)
{
	cc_u32 rtt = rtt_us + 1;

	ca->base_rtt = cc_min_u32(ca->base_rtt, rtt);
	ca->min_rtt = cc_min_u32(ca->min_rtt, rtt);
	ca->cnt_rtt++;
}

/* The threshold of a reduction that begins now. */
CC_FN cc_u32 compound_threshold(struct compound *ca, const struct compound_rules *rules, cc_u32 cwnd)
{
	if (ca->diff_reno != COMPOUND_NONE) {
		cc_u32 sample = (cc_u32)(((cc_u64)ca->diff_reno * 3) >> 3);

		/* Rounded down, also on the way down. */
		if (sample >= ca->gamma)
			ca->gamma += (cc_u32)(((cc_u64)(sample - ca->gamma) * rules->lambda) / COMPOUND_WHOLE);
		else
			ca->gamma -= (cc_u32)(((cc_u64)(ca->gamma - sample) * rules->lambda + COMPOUND_WHOLE - 1) / COMPOUND_WHOLE);
		ca->gamma = cc_max_u32(cc_min_u32(ca->gamma, rules->gamma_high), rules->gamma_low);
		ca->diff_reno = COMPOUND_NONE;
	}
	return cc_max_u32(cwnd >> 1, 2);
}

/* The state of loss recovery becomes `state`. */
CC_FN void compound_set_state(struct compound *ca, cc_u32 state, cc_u32 snd_nxt)
{
	if (state == CC_OPEN)
		compound_begin(ca, snd_nxt);
}

/* What a round of `w` segments with Reno's part at `cwnd` says of dwnd. */
CC_FN void compound_judge(struct compound *ca, const struct compound_rules *rules, cc_u32 w, cc_u32 cwnd, cc_u32 snd_cwnd)
{
	cc_u32 diff = compound_diff(w, ca->base_rtt, ca->min_rtt);

	ca->diff_reno = compound_diff(cwnd, ca->base_rtt, ca->min_rtt);
	if (diff < ca->gamma << 1) {
		cc_u32 inc = compound_increment(w);

		if (!rules->paced) {
			ca->dwnd += inc;
		} else if (inc) {
			ca->dwnd_left = inc;
			/* Half of the round trip's ACKs, which may be delayed. */
			ca->incr_interval = cc_max_u32(snd_cwnd / (2 * inc), 1);
			ca->ack_since_dwnd_inc = 0;
		}
	} else {
		cc_u64 excess = (cc_u64)diff * rules->eta;

		ca->dwnd = ((cc_u64)ca->dwnd << 1) < excess ? 0 : ca->dwnd - (cc_u32)(excess >> 1);
	}
}

/* An ACK of `acked` segments up to `snd_una` may grow the window. */
CC_FN void compound_grow(struct compound *ca, const struct compound_rules *rules, struct cc_window *w, cc_u32 snd_una, cc_u32 snd_nxt, cc_u32 mss,
			 cc_u32 acked)
{
	cc_u64 both = (cc_u64)ca->cwnd + ca->dwnd;

	if (both > w->cwnd) {
		/* The stack has reduced the window: both parts give way alike. */
		ca->dwnd = (cc_u32)CC_DIV((cc_u64)ca->dwnd * w->cwnd, both);
		ca->cwnd = w->cwnd - ca->dwnd;
	}
	if (w->cwnd < w->ssthresh)
		acked = cc_slow_start(w, acked);
	if (acked)
		cc_cong_avoid(w, w->cwnd, acked);
	ca->cwnd = w->cwnd - ca->dwnd;
	if (ca->dwnd_left > 0 && ++ca->ack_since_dwnd_inc > ca->incr_interval) {
		ca->ack_since_dwnd_inc = 0;
		ca->dwnd_left--;
		ca->dwnd++;
	}
	if ((int)(snd_una - ca->beg_snd_nxt) > 0) {
		cc_u32 segments = (ca->beg_snd_nxt - ca->beg_snd_una) / mss, cwnd = ca->beg_cwnd;

		ca->dwnd += ca->dwnd_left;
		ca->dwnd_left = 0;
		ca->beg_snd_una = ca->beg_snd_nxt;
		ca->beg_snd_nxt = snd_nxt;
		ca->beg_cwnd = ca->cwnd;
		if (w->cwnd < rules->low_window || w->cwnd < w->ssthresh)
			ca->dwnd = 0;
		else if (ca->cnt_rtt > 2)
			compound_judge(ca, rules, segments, cwnd, w->cwnd);
		ca->cnt_rtt = 0;
		ca->min_rtt = COMPOUND_NO_RTT;
	}
	w->cwnd = cc_min_u32(ca->cwnd + ca->dwnd, CC_MAX_CWND);
}

#endif
