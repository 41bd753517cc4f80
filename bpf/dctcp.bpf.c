/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCTCP: reduce the window in proportion to the share of marked packets.
 *
 * From RFC 8257, with the integer arithmetic of Linux's net/ipv4/tcp_dctcp.c (restated): alpha in units of 1/1024,
 * gain g = 1/16, first alpha 1. Deviations from the RFC, all of them Linux's:
 *  - M is a ratio of packets, not of bytes (section 3.3 counts bytes);
 *  - alpha decays by max(alpha/16, all of it below 16), so that it reaches 0; the RFC's real number never does;
 *  - the mark-based reduction uses the alpha of the last whole round.
 * Deviations from Linux: no PLB (rehashing of the path), and the counters of the last round and reduction are kept where the
 * owner of the socket can read them (dctcp_views), because BPF controls have no get_info for TCP_CC_INFO.
 */
#include "quell_tcp.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define DCTCP_MAX_ALPHA 1024U
#define DCTCP_SHIFT_G 4	/* g = 1/16, RFC 8257 section 4.2 */
#define DCTCP_MIN_CWND 2U

/* Private state of one socket, in icsk_ca_priv (104 bytes). */
struct dctcp {
	__u32 old_delivered;	/* packets delivered when the round began */
	__u32 old_delivered_ce; /* of these, with CE */
	__u32 prior_rcv_nxt;	/* rcv_nxt after the last packet that came in */
	__u32 alpha;		/* congestion estimate, 0 to 1024 */
	__u32 next_seq;		/* the round ends when this is acknowledged */
	__u32 ce_state;		/* 1 when the last packet that came in had CE */
	__u32 loss_cwnd;	/* window before the last reduction, for undo */
};

/* What the owner of the socket reads by file descriptor. The order is that of `View` in crates/hosts/tests/dctcp.rs. */
struct dctcp_view {
	__u32 rounds;		/* whole rounds so far */
	__u32 alpha_before;	/* alpha before the last round's update */
	__u32 alpha;		/* and after */
	__u32 round_delivered;	/* packets delivered in the last round */
	__u32 round_ce;		/* of these, with CE */
	__u32 reductions;	/* reductions by marks so far */
	__u32 reduction_alpha;	/* alpha, window before and threshold after the last one */
	__u32 reduction_cwnd;
	__u32 reduction_ssthresh;
	__u32 losses;		/* reductions by loss so far */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dctcp_view);
} dctcp_views SEC(".maps");

static inline struct dctcp *dctcp_of(struct sock *sk)
{
	return (struct dctcp *)inet_csk(sk)->icsk_ca_priv;
}

static void start_round(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->next_seq = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	struct dctcp_view *view;
	__u8 state = sk->__sk_common.skc_state;

	if (!(tp->ecn_flags & (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN)) && state != TCP_LISTEN && state != TCP_CLOSE) {
		/* The peer declined ECN: without marks DCTCP is Reno, so let Reno do it; the kernel then sends not-ECT. */
		char reno[] = "reno";

		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}

	ca->prior_rcv_nxt = tp->rcv_nxt;
	/* RFC 8257 section 4.2: a first alpha of 1 is cautious, it halves like Reno until the first estimate. */
	ca->alpha = DCTCP_MAX_ALPHA;
	ca->loss_cwnd = 0;
	ca->ce_state = 0;
	start_round(tp, ca);
	view = bpf_sk_storage_get(&dctcp_views, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (view)
		view->alpha = ca->alpha;
}

/* RFC 8257 section 3.3, once per round: alpha = alpha * (1 - g) + g * M. */
SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	struct dctcp_view *view;
	__u32 alpha, decay, delivered, marked;

	if (before(tp->snd_una, ca->next_seq))
		return;

	alpha = ca->alpha;
	delivered = tp->delivered - ca->old_delivered;
	marked = tp->delivered_ce - ca->old_delivered_ce;

	view = bpf_sk_storage_get(&dctcp_views, sk, 0, 0);
	if (view)
		view->alpha_before = alpha;

	decay = alpha >> DCTCP_SHIFT_G;
	alpha -= decay ? decay : alpha;
	if (marked) {
		/* A window has far fewer than 2^26 packets (4 TB): the shift by 10 - 4 bits cannot overflow. */
		__u32 gain = (marked << (10 - DCTCP_SHIFT_G)) / max_u32(1, delivered);

		alpha = min_u32(alpha + gain, DCTCP_MAX_ALPHA);
	}
	ca->alpha = alpha;

	if (view) {
		view->alpha = alpha;
		view->round_delivered = delivered;
		view->round_ce = marked;
		view->rounds++;
	}
	start_round(tp, ca);
}

/* RFC 8257 section 3.3: cwnd = cwnd * (1 - alpha / 2). The kernel asks at most once per window of data with ECE. */
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	struct dctcp_view *view;
	__u32 cwnd = tp->snd_cwnd;
	/* cwnd < 2^22 for any window below 6 GB, alpha <= 2^10: the product fits in 32 bits. */
	__u32 ssthresh = max_u32(cwnd - ((cwnd * ca->alpha) >> 11), DCTCP_MIN_CWND);

	ca->loss_cwnd = cwnd;
	view = bpf_sk_storage_get(&dctcp_views, sk, 0, 0);
	if (view) {
		view->reduction_alpha = ca->alpha;
		view->reduction_cwnd = cwnd;
		view->reduction_ssthresh = ssthresh;
		view->reductions++;
	}
	return ssthresh;
}

/* RFC 8257 section 3.5: react to a loss as a conventional TCP does. */
static void react_to_loss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	struct dctcp_view *view;

	ca->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = max_u32(tp->snd_cwnd >> 1, DCTCP_MIN_CWND);
	view = bpf_sk_storage_get(&dctcp_views, sk, 0, 0);
	if (view)
		view->losses++;
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 new_state)
{
	/* Only on the way into Recovery, so once per loss episode; a time-out is told by CA_EVENT_LOSS. */
	if (new_state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		react_to_loss(sk);
}

static void set_ece(struct sock *sk, __u32 ce)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * The receiver, RFC 8257 section 3.2: when the CE mark of the packets that come in changes, the packets held back by delayed
 * ACK are acknowledged at once with the ECE that belongs to them, up to the byte before the change.
 */
static void packet_came(struct sock *sk, __u32 ce)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct dctcp *ca = dctcp_of(sk);

	if (ca->ce_state != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			set_ece(sk, ca->ce_state);
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce_state = ce;
	set_ece(sk, ce);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_IS_CE))
		packet_came(sk, 1);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_NO_CE))
		packet_came(sk, 0);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_LOSS))
		react_to_loss(sk);
}

/* RFC 8257 section 3.4: grow as a conventional TCP does. */
SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return max_u32(tcp_sk(sk)->snd_cwnd, dctcp_of(sk)->loss_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.name = "dctcp",
	.flags = TCP_CONG_NEEDS_ECN,
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
};
