/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * H-TCP (Leith and Shorten, draft-leith-tcp-htcp-06) with the integer arithmetic of Linux's net/ipv4/tcp_htcp.c, restated.
 *
 * The window grows by alpha segments per round, and alpha grows with the time since the last reduction. A reduction leaves beta of the
 * window: the ratio of the lowest to the highest RTT, between 0.5 and 0.8, where the throughput of the last two epochs was alike.
 *
 * Times are in jiffies (`hz` per second) and RTTs in jiffies rounded up, so `hz` is a parameter of the result. The traps of the original are
 * kept: the ACK that raises the window counts nothing towards the next step; after a reduction the first step still has the alpha of the old
 * epoch; an RTT step of more than 20 ms in one sample never enters max_rtt.
 */
#ifndef QUELL_CORE_HTCP_H
#define QUELL_CORE_HTCP_H

#include "core.h"

#define HTCP_ONE 128U		/* 1 in the units of alpha and beta */
#define HTCP_BETA_MIN 64U	/* 0.5 */
#define HTCP_BETA_MAX 102U	/* 0.8 */

/* The options. */
struct htcp_rules {
	cc_u32 hz;		/* jiffies per second, 1 to 1000 */
	cc_u8 rtt_scaling;	/* alpha in proportion to min_rtt / 100 ms */
	cc_u8 bandwidth_switch; /* beta of one half where the throughput changed by more than a fifth */
};

/* The state of a connection; 60 bytes. */
struct htcp {
	cc_u32 alpha;	    /* segments per round, in 1/128 */
	cc_u8 beta;	    /* in 1/128 */
	cc_u8 modeswitch;   /* adaptive backoff is allowed */
	cc_u16 pkts_acked;  /* segments that the last ACK counts for */
	cc_u32 packetcount; /* segments acknowledged since lasttime */
	cc_u32 min_rtt;	    /* jiffies; 0 before the first sample */
	cc_u32 max_rtt;
	cc_u32 last_cong;   /* jiffy of the last reduction */
	cc_u32 undo_last_cong;
	cc_u32 undo_max_rtt;
	cc_u32 undo_old_max_b;
	cc_u32 min_b;	    /* achieved throughput, segments per second */
	cc_u32 max_b;
	cc_u32 old_max_b;
	cc_u32 bi;
	cc_u32 lasttime;    /* jiffy in which the throughput was last computed */
};

/* A new connection in jiffy `now`. */
CC_FN void htcp_start(struct htcp *ca, cc_u32 now)
{
	struct htcp fresh = { .alpha = HTCP_ONE, .beta = HTCP_BETA_MIN, .pkts_acked = 1, .last_cong = now };

	*ca = fresh;
}

CC_FN cc_u32 htcp_jiffies(const struct htcp_rules *rules, cc_u32 micros)
{
	return (cc_u32)CC_DIV((cc_u64)micros * rules->hz + 999999, 1000000ULL);
}

/* alpha of an epoch that has lasted until `now`. */
CC_FN void htcp_update_alpha(struct htcp *ca, const struct htcp_rules *rules, cc_u32 now)
{
	cc_u32 hz = rules->hz, since = now - ca->last_cong, factor = 1;

	if (since > hz) {
		cc_u32 half;

		since -= hz;
		half = since / 2;
		factor = 1 + (10 * since + half * half / hz) / hz;
	}
	if (rules->rtt_scaling && ca->min_rtt) {
		cc_u32 scale = (hz << 3) / (10 * ca->min_rtt);

		/* From a tenth to twice the increase, in 1/8 of its inverse. */
		scale = cc_min_u32(cc_max_u32(scale, 4), 80);
		factor = (factor << 3) / scale;
		if (!factor)
			factor = 1;
	}
	ca->alpha = 2 * factor * (HTCP_ONE - ca->beta);
	if (!ca->alpha)
		ca->alpha = HTCP_ONE;
}

CC_FN void htcp_update_beta(struct htcp *ca, const struct htcp_rules *rules)
{
	if (rules->bandwidth_switch) {
		cc_u32 now = ca->max_b, before = ca->old_max_b;

		ca->old_max_b = now;
		/* 4/5 to 6/5 of what it was, on a circle of 2^32 as Linux compares. */
		if (6 * before - 4 * before < 5 * now - 4 * before) {
			ca->beta = HTCP_BETA_MIN;
			ca->modeswitch = 0;
			return;
		}
	}
	if (ca->modeswitch && ca->min_rtt > htcp_jiffies(rules, 10000) && ca->max_rtt) {
		cc_u32 beta = (ca->min_rtt << 7) / ca->max_rtt;

		ca->beta = (cc_u8)cc_min_u32(cc_max_u32(beta, HTCP_BETA_MIN), HTCP_BETA_MAX);
	} else {
		ca->beta = HTCP_BETA_MIN;
		ca->modeswitch = 1;
	}
}

/*
 * An ACK acknowledged `acked` segments in order, while the state of loss recovery was `state`; it has an RTT of `rtt_us` µs, 0 for none. Call
 * this before the ACK changes the state.
 */
CC_FN void htcp_on_acked(struct htcp *ca, const struct htcp_rules *rules, cc_u32 state, cc_u32 acked, cc_u32 rtt_us, cc_u32 cwnd, cc_u32 now)
{
	if (state == CC_OPEN)
		ca->pkts_acked = (cc_u16)acked;
	if (rtt_us) {
		cc_u32 rtt = htcp_jiffies(rules, rtt_us);

		if (ca->min_rtt > rtt || !ca->min_rtt)
			ca->min_rtt = rtt;
		if (state == CC_OPEN) {
			ca->max_rtt = cc_max_u32(ca->max_rtt, ca->min_rtt);
			if (ca->max_rtt < rtt && rtt <= ca->max_rtt + htcp_jiffies(rules, 20000))
				ca->max_rtt = rtt;
		}
	}
	if (!rules->bandwidth_switch)
		return;
	if (state > CC_DISORDER) {
		ca->packetcount = 0;
		ca->lasttime = now;
		return;
	}
	ca->packetcount += acked;
	if (ca->packetcount >= cwnd - cc_max_u32(ca->alpha >> 7, 1) && now - ca->lasttime >= ca->min_rtt && ca->min_rtt > 0) {
		cc_u32 b = ca->packetcount * rules->hz / (now - ca->lasttime);

		if ((now - ca->last_cong) / ca->min_rtt <= 3) {
			ca->bi = b;
			ca->min_b = b;
			ca->max_b = b;
		} else {
			ca->bi = (3 * ca->bi + b) / 4;
			ca->max_b = cc_max_u32(ca->max_b, ca->bi);
			ca->min_b = cc_min_u32(ca->min_b, ca->max_b);
		}
		ca->packetcount = 0;
		ca->lasttime = now;
	}
}

/* An ACK of `acked` segments may grow the window. */
CC_FN void htcp_grow(struct htcp *ca, const struct htcp_rules *rules, struct cc_window *w, cc_u32 acked, cc_u32 now)
{
	if (w->cwnd < w->ssthresh) {
		/* What is left over at the threshold is lost. */
		cc_slow_start(w, acked);
		return;
	}
	if ((w->cwnd_cnt * ca->alpha) >> 7 >= w->cwnd) {
		w->cwnd = cc_min_u32(w->cwnd + 1, CC_MAX_CWND);
		w->cwnd_cnt = 0;
		htcp_update_alpha(ca, rules, now);
	} else {
		w->cwnd_cnt += ca->pkts_acked;
	}
	ca->pkts_acked = 1;
}

/* The threshold of a reduction that begins now. */
CC_FN cc_u32 htcp_threshold(struct htcp *ca, const struct htcp_rules *rules, cc_u32 cwnd, cc_u32 now)
{
	htcp_update_beta(ca, rules);
	htcp_update_alpha(ca, rules, now);
	/* Memory of the highest RTT fades, so that a change of route is forgotten. */
	if (ca->min_rtt > 0 && ca->max_rtt > ca->min_rtt)
		ca->max_rtt = ca->min_rtt + (ca->max_rtt - ca->min_rtt) * 95 / 100;
	return cc_max_u32((cc_u32)(((cc_u64)cwnd * ca->beta) >> 7), 2);
}

/* The state of loss recovery becomes `state`. */
CC_FN void htcp_set_state(struct htcp *ca, cc_u32 state, cc_u32 now)
{
	if (state >= CC_CWR) {
		ca->undo_last_cong = ca->last_cong;
		ca->undo_max_rtt = ca->max_rtt;
		ca->undo_old_max_b = ca->old_max_b;
		ca->last_cong = now;
	} else if (state == CC_OPEN && ca->undo_last_cong) {
		ca->last_cong = now;
		ca->undo_last_cong = 0;
	}
}

/* The last reduction was spurious. Returns the window to restore. */
CC_FN cc_u32 htcp_undo(struct htcp *ca, const struct cc_window *w)
{
	if (ca->undo_last_cong) {
		ca->last_cong = ca->undo_last_cong;
		ca->max_rtt = ca->undo_max_rtt;
		ca->old_max_b = ca->undo_old_max_b;
		ca->undo_last_cong = 0;
	}
	return cc_max_u32(w->cwnd, w->prior_cwnd);
}

#endif
