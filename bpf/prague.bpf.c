/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Prague (RFC 9331 section 4): the arithmetic of core/prague.h, with the defaults of the L4S project's tcp_prague.c 0.7.
 *
 * Marks come back by AccECN where the handshake agrees on it: with the flag of Linux 7.0, or with net.ipv4.tcp_ecn = 3 at both ends.
 * Elsewhere both ends echo marks as DCTCP's do (RFC 8257 section 3.2), which needs this control at the receiver too; without ECN Reno takes
 * over. The packets are ECT(0): only kernels of the L4S project let a control choose ECT(1), so whoever needs that rewrites the field on the
 * way.
 *
 * Deviations from 0.7: bursts are the kernel's, because only kernels of the L4S project ask a control for their largest size; packets do not
 * shrink; there is no get_info. Needs Linux 6.10, for the arguments of cong_control.
 */
#include "quell_window.h"
#include "core/prague.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

/* Private state of one socket, in icsk_ca_priv: all of its 104 bytes. `core.unused` is 1 when the last packet that came in had CE. */
struct prague_sk {
	struct prague core;
	__u32 last_ce;		/* delivered_ce at the last ACK */
	__u32 prior_rcv_nxt;	/* rcv_nxt after the last packet that came in */
};

_Static_assert(sizeof(struct prague_sk) <= 104, "icsk_ca_priv");

static inline struct prague_sk *prague_of(struct sock *sk)
{
	return (struct prague_sk *)inet_csk(sk)->icsk_ca_priv;
}

static inline struct prague_rules usual_rules(void)
{
	struct prague_rules rules = { .rtt_target_us = 25000, .rtt_transition = 4, .burst_shift = 12, .rate_mode = 1 };

	return rules;
}

static inline void read_path(struct sock *sk, struct prague_path *path)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	path->now_us = tp->tcp_mstamp;
	path->srtt8 = tp->srtt_us;
	path->mtu = mtu_of(sk, tp);
	path->delivered = tp->delivered;
	path->delivered_ce = tp->delivered_ce;
	path->snd_una = tp->snd_una;
	path->snd_nxt = tp->snd_nxt;
	path->in_flight = packets_in_flight(tp);
}

static inline void pace(struct sock *sk, __u64 rate)
{
	__u64 most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = rate < most ? rate : most;
}

SEC("struct_ops")
void BPF_PROG(prague_op_init, struct sock *sk)
{
	struct prague_rules rules = usual_rules();
	struct prague_sk *ca = prague_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	__u8 state = sk->__sk_common.skc_state;
	struct prague_path path;
	struct cc_window window;

	if (!(tp->ecn_flags & (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN)) && state != TCP_LISTEN && state != TCP_CLOSE) {
		/* RFC 9331 section 4.2: without feedback for each mark it must not be L4S. */
		char reno[] = "reno";

		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	read_path(sk, &path);
	read_window(tp, &window);
	if (!path.mtu)
		path.mtu = PRAGUE_PACKET;
	pace(sk, prague_start(&ca->core, &rules, &path, &window));
	ca->last_ce = tp->delivered_ce;
	ca->prior_rcv_nxt = tp->rcv_nxt;
}

SEC("struct_ops")
void BPF_PROG(prague_op_cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct prague_rules rules = usual_rules();
	struct prague_sk *ca = prague_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague_path path;
	struct cc_window window;
	__u32 marked = tp->delivered_ce - ca->last_ce;
	__u64 rate;

	ca->last_ce = tp->delivered_ce;
	read_path(sk, &path);
	read_window(tp, &window);
	if (!path.mtu)
		return;
	rate = prague_on_ack(&ca->core, &rules, &path, &window, rs->acked_sacked, marked, is_cwnd_limited(tp));
	write_window(tp, &window);
	tp->snd_ssthresh = window.ssthresh;
	pace(sk, rate);
}

static __noinline void react_to_loss(struct sock *sk)
{
	struct prague_rules rules = usual_rules();
	struct prague_path path;
	struct cc_window window;

	read_path(sk, &path);
	read_window(tcp_sk(sk), &window);
	if (path.mtu)
		prague_on_loss(&prague_of(sk)->core, &rules, &path, &window);
}

SEC("struct_ops")
void BPF_PROG(prague_op_set_state, struct sock *sk, __u8 new_state)
{
	struct prague_rules rules = usual_rules();
	struct prague_path path;
	struct cc_window window;

	if (new_state == inet_csk(sk)->icsk_ca_state)
		return;
	if (new_state == CC_RECOVERY) {
		react_to_loss(sk);
	} else if (new_state == CC_CWR) {
		read_path(sk, &path);
		read_window(tcp_sk(sk), &window);
		if (path.mtu)
			prague_on_marks(&prague_of(sk)->core, &rules, &path, &window);
	} else if (new_state == CC_OPEN) {
		prague_of(sk)->core.in_loss = 0;
	}
}

static void set_ece(struct sock *sk, __u32 ce)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* The receiver without AccECN, RFC 8257 section 3.2: a change of the mark is acknowledged at once. */
static void packet_came(struct sock *sk, __u32 ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague_sk *ca = prague_of(sk);

	if (!(tp->ecn_flags & TCP_ECN_MODE_RFC3168))
		return;
	if (ca->core.unused != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			set_ece(sk, ca->core.unused);
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->core.unused = ce;
	set_ece(sk, ce);
}

SEC("struct_ops")
void BPF_PROG(prague_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_IS_CE))
		packet_came(sk, 1);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_NO_CE))
		packet_came(sk, 0);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_LOSS))
		react_to_loss(sk);
}

/* The window follows the fractional one step by step. */
SEC("struct_ops")
__u32 BPF_PROG(prague_op_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
__u32 BPF_PROG(prague_op_undo_cwnd, struct sock *sk)
{
	struct prague_path path;
	struct cc_window window;

	read_path(sk, &path);
	read_window(tcp_sk(sk), &window);
	if (!path.mtu)
		return window.cwnd;
	return prague_undo(&prague_of(sk)->core, &path, &window);
}

/* Least size of a burst, where the pacing rate asks for less than two segments. */
SEC("struct_ops")
__u32 BPF_PROG(prague_op_min_tso_segs, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops prague_ops = {
	.name = "prague",
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168,
	.init = (void *)prague_op_init,
	.ssthresh = (void *)prague_op_ssthresh,
	.cong_control = (void *)prague_op_cong_control,
	.set_state = (void *)prague_op_set_state,
	.cwnd_event = (void *)prague_op_cwnd_event,
	.undo_cwnd = (void *)prague_op_undo_cwnd,
	.min_tso_segs = (void *)prague_op_min_tso_segs,
};
