/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between a socket and the arithmetic of bpf/core: the window, and what Linux computes of a socket in inline functions.
 *
 * Checked against include/net/tcp.h of 6.18; `cong_control` has four arguments from Linux 6.10 on.
 */
#ifndef QUELL_WINDOW_H
#define QUELL_WINDOW_H

#include "quell_tcp.h"
#include "core/core.h"

#define AF_INET6 10

/* Jiffies per second; 0 where the kernel does not show its configuration. */
extern unsigned int CONFIG_HZ __kconfig __weak;

static inline __u32 jiffies_per_second(void)
{
	return CONFIG_HZ ? CONFIG_HZ : 250;
}

/* tcp_jiffies32 */
static inline __u32 jiffies_now(void)
{
	return (__u32)bpf_jiffies64();
}

static inline void read_window(const struct tcp_sock *tp, struct cc_window *w)
{
	w->cwnd = tp->snd_cwnd;
	w->ssthresh = tp->snd_ssthresh;
	w->cwnd_cnt = tp->snd_cwnd_cnt;
	w->prior_cwnd = tp->prior_cwnd;
}

static inline void write_window(struct tcp_sock *tp, const struct cc_window *w)
{
	tp->snd_cwnd = min_u32(w->cwnd, tp->snd_cwnd_clamp);
	tp->snd_cwnd_cnt = w->cwnd_cnt;
}

/* tcp_is_cwnd_limited: in slow start the window may grow to twice what was outstanding. */
static inline bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* tcp_packets_in_flight */
static inline __u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* tcp_mss_to_mtu, without extension headers. */
static inline __u32 mtu_of(struct sock *sk, const struct tcp_sock *tp)
{
	__u32 network = sk->__sk_common.skc_family == AF_INET6 ? 40 : 20;

	return tp->mss_cache + tp->tcp_header_len + network;
}

#endif
