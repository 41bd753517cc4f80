/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the arithmetic of the congestion controls in this folder shares: integers, a division, the congestion window.
 *
 * These headers include nothing of a kernel or of a C library, so that one text serves BPF programs, files of a kernel and plain C. They use
 * no floating point, no integer wider than 64 bits and no signed division. Each control is a struct of its state, a struct of its options
 * (`..._rules`), and functions of both. They get as arguments what they need of a socket, and never see one. `crates/cc-core` compiles them
 * as plain C and compares them with the controls of `quell-tcp`.
 *
 * A program may define, before it includes one of them:
 *   CC_DIV(a, b)  unsigned division of 64 bits by 64 bits; b is never zero
 *   CC_FN         what stands before a function
 */
#ifndef QUELL_CORE_H
#define QUELL_CORE_H

typedef unsigned char cc_u8;
typedef unsigned short cc_u16;
typedef unsigned int cc_u32;
typedef unsigned long long cc_u64;

#ifndef CC_DIV
#define CC_DIV(a, b) ((a) / (b))
#endif
#ifndef CC_FN
#define CC_FN static inline
#endif

/* States of loss recovery, with the numbers of Linux's enum tcp_ca_state. */
#define CC_OPEN 0
#define CC_DISORDER 1
#define CC_CWR 2
#define CC_RECOVERY 3
#define CC_LOSS 4

/* The window of a connection in segments; Linux: snd_cwnd, snd_ssthresh, snd_cwnd_cnt, prior_cwnd of struct tcp_sock. */
struct cc_window {
	cc_u32 cwnd;
	cc_u32 ssthresh;
	cc_u32 cwnd_cnt;	/* segments acknowledged towards the next increment */
	cc_u32 prior_cwnd;	/* window when the last reduction began */
};

/* No window is larger: 2^30 segments. */
#define CC_MAX_CWND (1U << 30)

CC_FN cc_u32 cc_min_u32(cc_u32 a, cc_u32 b)
{
	return a < b ? a : b;
}

CC_FN cc_u32 cc_max_u32(cc_u32 a, cc_u32 b)
{
	return a > b ? a : b;
}

CC_FN cc_u64 cc_max_u64(cc_u64 a, cc_u64 b)
{
	return a > b ? a : b;
}

/* Slow start: one segment more for each acknowledged, up to the threshold. Returns the segments left over. */
CC_FN cc_u32 cc_slow_start(struct cc_window *w, cc_u32 acked)
{
	cc_u64 sum = (cc_u64)w->cwnd + acked;
	cc_u32 most = cc_min_u32(w->ssthresh, CC_MAX_CWND);
	cc_u32 grown = sum < most ? (cc_u32)sum : most;
	cc_u32 before = w->cwnd;

	if (grown < before)
		grown = before;
	w->cwnd = grown;
	return acked - (grown - before);
}

/* Congestion avoidance: one segment more for each `per` acknowledged. Credit from a larger `per` is worth one segment. */
CC_FN void cc_cong_avoid(struct cc_window *w, cc_u32 per, cc_u32 acked)
{
	per = cc_max_u32(per, 1);
	if (w->cwnd_cnt >= per) {
		w->cwnd_cnt = 0;
		w->cwnd++;
	}
	w->cwnd_cnt += acked;
	if (w->cwnd_cnt >= per) {
		cc_u32 steps = w->cwnd_cnt / per;

		w->cwnd_cnt -= steps * per;
		w->cwnd += steps;
	}
	w->cwnd = cc_min_u32(w->cwnd, CC_MAX_CWND);
}

#endif
