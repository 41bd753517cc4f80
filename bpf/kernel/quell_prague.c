// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TCP Prague (RFC 9331 section 4) in a kernel: the arithmetic of core/prague.h, with the defaults of the L4S project's tcp_prague.c 0.7.
 *
 * Marks come back by AccECN, for which this control asks from Linux 7.0 on and net.ipv4.tcp_ecn = 3 from 6.18 on; elsewhere both ends echo
 * marks as DCTCP's do (RFC 8257 section 3.2). Without ECN it is Reno. Data is ECT(0): whoever needs ECT(1) rewrites the field on the way.
 *
 * Deviations from 0.7: the pacing shift of 12 gives bursts of 2^-12 s, which the kernel extends below an RTT of 3 ms
 * (net.ipv4.tcp_tso_rtt_log), and small queues give way alike; packets do not shrink.
 */
#include "quell_kernel.h"
#include "../tcp_dctcp.h"
#include "core/prague.h"

#define QUELL_BURST_SHIFT 12

/* All of icsk_ca_priv. core.unused is 1 when the last packet that came in had CE. */
struct quell_prague {
	struct prague core;
	u32 last_ce;		/* delivered_ce at the last ACK */
	u32 prior_rcv_nxt;	/* rcv_nxt after the last packet that came in */
};

static struct prague_rules rules __read_mostly = {
	.rtt_target_us = 25000, .rtt_transition = 4, .burst_shift = QUELL_BURST_SHIFT, .rate_mode = 1,
};

/* For all connections together; to be set while there is none. */
module_param_named(rtt_target, rules.rtt_target_us, uint, 0644);	/* us, at most 1 s */
module_param_named(rtt_transition, rules.rtt_transition, uint, 0644);
module_param_named(first_ce, rules.first_ce_halves, byte, 0644);
module_param_named(alpha_mode, rules.alpha_one, byte, 0644);
module_param_named(rate_mode, rules.rate_mode, byte, 0644);

static struct tcp_congestion_ops quell_prague_reno;

/* What the core asks of a socket. Before the first segment a full packet has the usual length. */
static void read_sock(struct sock *sk, struct prague_path *path, struct cc_window *window)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	path->now_us = tp->tcp_mstamp;
	path->srtt8 = tp->srtt_us;
	path->mtu = tp->mss_cache ? tcp_mss_to_mtu(sk, tp->mss_cache) : PRAGUE_PACKET;
	path->delivered = tp->delivered;
	path->delivered_ce = tp->delivered_ce;
	path->snd_una = tp->snd_una;
	path->snd_nxt = tp->snd_nxt;
	path->in_flight = tcp_packets_in_flight(tp);
	quell_read_window(tp, window);
}

static void quell_prague_init(struct sock *sk)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague_path path;
	struct cc_window window;

	if (!quell_has_ecn(tp) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE) {
		/* RFC 9331 section 4.2: without feedback for each mark it must not be L4S. */
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &quell_prague_reno);
		INET_ECN_dontxmit(sk);
		return;
	}
	quell_ask_for_pacing(sk);
	sk_pacing_shift_update(sk, QUELL_BURST_SHIFT);
	read_sock(sk, &path, &window);
	quell_pace(sk, prague_start(&ca->core, &rules, &path, &window));
	ca->last_ce = tp->delivered_ce;
	ca->prior_rcv_nxt = tp->rcv_nxt;
}

static QUELL_CONG_CONTROL(quell_prague_cong_control)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 marked = tp->delivered_ce - ca->last_ce;
	struct prague_path path;
	struct cc_window window;
	u64 rate;

	ca->last_ce = tp->delivered_ce;
	read_sock(sk, &path, &window);
	rate = prague_on_ack(&ca->core, &rules, &path, &window, rs->acked_sacked, marked, tcp_is_cwnd_limited(sk));
	quell_write_window(tp, &window);
	tp->snd_ssthresh = window.ssthresh;
	quell_pace(sk, rate);
}

static void quell_prague_set_state(struct sock *sk, u8 new_state)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	struct prague_path path;
	struct cc_window window;

	if (new_state == inet_csk(sk)->icsk_ca_state)
		return;
	read_sock(sk, &path, &window);
	prague_set_state(&ca->core, &rules, &path, &window, new_state);
}

static void quell_prague_packet_came(struct sock *sk, enum tcp_ca_event event)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	u32 had_ce = ca->core.unused;

	if (!quell_has_classic_ecn(tcp_sk(sk)))
		return;
	dctcp_ece_ack_update(sk, event, &ca->prior_rcv_nxt, &had_ce);
	ca->core.unused = had_ce;
}

static void quell_prague_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	struct prague_path path;
	struct cc_window window;

	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		quell_prague_packet_came(sk, event);
		break;
	case CA_EVENT_LOSS:
		read_sock(sk, &path, &window);
		prague_on_loss(&ca->core, &rules, &path, &window);
		break;
	default:
		break;
	}
}

/* The window follows the fractional one step by step. */
static u32 quell_prague_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 quell_prague_undo_cwnd(struct sock *sk)
{
	struct quell_prague *ca = inet_csk_ca(sk);
	struct prague_path path;
	struct cc_window window;

	read_sock(sk, &path, &window);
	return prague_undo(&ca->core, &path, &window);
}

static u32 quell_prague_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* As DCTCP's: alpha in 1/1024. */
static size_t quell_prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct quell_prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1))) && !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	info->dctcp.dctcp_enabled = 1;
	info->dctcp.dctcp_ce_state = ca->core.unused;
	info->dctcp.dctcp_alpha = ca->core.upscaled_alpha >> (PRAGUE_SHIFT_G + PRAGUE_ALPHA_BITS - 10);
	info->dctcp.dctcp_ab_ecn = tp->mss_cache * (tp->delivered_ce - ca->core.old_delivered_ce);
	info->dctcp.dctcp_ab_tot = tp->mss_cache * (tp->delivered - ca->core.old_delivered);
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define QUELL_FLAGS (TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168)
#else
#define QUELL_FLAGS TCP_CONG_NEEDS_ECN
#endif

static struct tcp_congestion_ops quell_prague __read_mostly = {
	.name = "prague",
	.owner = THIS_MODULE,
	.flags = QUELL_FLAGS,
	.init = quell_prague_init,
	.cong_control = quell_prague_cong_control,
	.ssthresh = quell_prague_ssthresh,
	.set_state = quell_prague_set_state,
	.cwnd_event = quell_prague_cwnd_event,
	.undo_cwnd = quell_prague_undo_cwnd,
	.min_tso_segs = quell_prague_min_tso_segs,
	.get_info = quell_prague_get_info,
};

/* What a connection without ECN goes on with; not registered. */
static struct tcp_congestion_ops quell_prague_reno __read_mostly = {
	.name = "prague-reno",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init quell_prague_register(void)
{
	BUILD_BUG_ON(sizeof(struct quell_prague) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&quell_prague);
}

static void __exit quell_prague_unregister(void)
{
	tcp_unregister_congestion_control(&quell_prague);
}

module_init(quell_prague_register);
module_exit(quell_prague_unregister);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("TCP Prague");
