/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between a socket of Linux 6.1 or later and the arithmetic of core/: the window, the pacing rate, and where versions differ.
 *
 * The hook for the first departure after a pause has been one of its own since 7.1; the hook for an ACK has had four arguments since 6.10;
 * AccECN came with 6.18, and 7.0 lets a control ask for it.
 */
#ifndef QUELL_KERNEL_H
#define QUELL_KERNEL_H

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#define CC_DIV(a, b) div64_u64((a), (b))
/* Uniform but for a share of n / 2^32. */
#define CC_RANDOM_BELOW(n) ((u32)(((u64)get_random_u32() * (n)) >> 32))

#include "core/core.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define QUELL_CONG_CONTROL(name) void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
/* FLAG_ECE of tcp_input.c */
#define QUELL_HAS_ECE(flag, rs) (!!((flag) & 0x40))
#else
#define QUELL_CONG_CONTROL(name) void name(struct sock *sk, const struct rate_sample *rs)
#define QUELL_HAS_ECE(flag, rs) ((rs)->delivered_ce > 0)
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define QUELL_HAS_TX_START
#endif

static inline void quell_read_window(const struct tcp_sock *tp, struct cc_window *w)
{
	w->cwnd = tcp_snd_cwnd(tp);
	w->ssthresh = tp->snd_ssthresh;
	w->cwnd_cnt = tp->snd_cwnd_cnt;
	w->prior_cwnd = tp->prior_cwnd;
}

static inline void quell_write_window(struct tcp_sock *tp, const struct cc_window *w)
{
	tcp_snd_cwnd_set(tp, clamp(w->cwnd, 1U, tp->snd_cwnd_clamp));
	tp->snd_cwnd_cnt = w->cwnd_cnt;
}

/* TCP paces itself where no fq does. */
static inline void quell_ask_for_pacing(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* In bytes of payload per second. */
static inline void quell_pace(struct sock *sk, u64 rate)
{
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Whether the handshake has agreed on ECN of any kind. */
static inline bool quell_has_ecn(const struct tcp_sock *tp)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return tcp_ecn_mode_any(tp);
#else
	return tp->ecn_flags & TCP_ECN_OK;
#endif
}

/* Whether marks come back by the bits of RFC 3168, and not by AccECN. */
static inline bool quell_has_classic_ecn(const struct tcp_sock *tp)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return tcp_ecn_mode_rfc3168(tp);
#else
	return tp->ecn_flags & TCP_ECN_OK;
#endif
}

#endif
