/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3 as BPF: the arithmetic of core/bbr.h between the kernel's calls. A control defines BBR_NAME and BBR_IS_V3, and
 * bbr_usual_rules(), and includes this.
 *
 * State is in the socket's storage, because the 104 bytes of icsk_ca_priv are too few; a socket that gets none is Reno's. What only Google's
 * kernels say of a segment comes from core/bbr_ring.h. Losses are taken for the first segments that are not acknowledged, which decides at what
 * flight loss became too much.
 *
 * Each step is a function of its own for the verifier, which checks it once and not along every way that leads to it; such a function knows
 * nothing of a socket, so it works on a copy of what it needs (struct bbr_sock).
 *
 * Deviations from Google's kernels: see the ring; bursts are the stack's, of which only the least size can be set; no ECN, no PLB, no
 * fast_ack_mode. Needs Linux 6.10, for the arguments of cong_control.
 */
#ifndef QUELL_BBR_H
#define QUELL_BBR_H

#include "quell_window.h"

/* get_random_u32_below */
#define CC_RANDOM_BELOW(n) ((cc_u32)(((cc_u64)bpf_get_prandom_u32() * (n)) >> 32))

#include "core/bbr2.h"
#include "core/bbr3.h"
#include "core/bbr_ring.h"

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define BBR_MOST_LOST 64	/* segments of one look of which each is judged */
#define FLAG_ECE 0x40		/* net/ipv4/tcp_input.c */
#define TCP_INFINITE_SSTHRESH 0x7fffffffU

struct bbr_sk {
	struct bbr_rules rules;
	struct bbr_state state;
	struct bbr_sock sock;	/* arguments of the call that goes on */
	struct bbr_ack ack;
	struct bbr_lost lost;
	struct bbr_departure departure;
	__u32 told_lost;	/* tp->lost at the last look */
	__u8 is_probe_acked;	/* this ACK ends at the end of a tail loss probe that was a retransmission */
	__u8 is_past_probe;	/* or behind it: the probe has repaired a loss */
	struct bbr_ring ring;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bbr_sk);
} bbr_sockets SEC(".maps");

#define BBR_OF(b) &(b)->rules, &(b)->state, &(b)->sock

__noinline int bbr_step_start(struct bbr_sk *b)
{
	if (b)
		bbr_start(BBR_OF(b));
	return 0;
}

__noinline int bbr_step_ack(struct bbr_sk *b)
{
	if (b)
		bbr_on_ack(BBR_OF(b), &b->ack);
	return 0;
}

__noinline int bbr_step_lost(struct bbr_sk *b)
{
	if (b)
		bbr_on_lost(BBR_OF(b), &b->lost);
	return 0;
}

__noinline int bbr_step_repair(struct bbr_sk *b)
{
	if (b)
		bbr_on_probe_repair(BBR_OF(b), b->sock.app_limited);
	return 0;
}

__noinline int bbr_step_state(struct bbr_sk *b, __u32 state)
{
	if (b)
		bbr_on_state(BBR_OF(b), state);
	return 0;
}

__noinline int bbr_step_undo(struct bbr_sk *b)
{
	return b ? bbr_on_undo(BBR_OF(b)) : 0;
}

__noinline int bbr_step_restart(struct bbr_sk *b)
{
	if (b)
		bbr_on_restart(BBR_OF(b));
	return 0;
}

/* Fills `departure` for the segment that ends before `seq`. */
__noinline int bbr_step_first(struct bbr_sk *b, __u32 seq)
{
	if (b)
		bbr_ring_first(&b->ring, seq, b->sock.mss, &b->departure);
	return 0;
}

__noinline int bbr_step_again(struct bbr_sk *b, __u32 delivered)
{
	if (b)
		bbr_ring_again(&b->ring, delivered, &b->departure);
	return 0;
}

/* `newly` segments from `snd_una` on were found lost since the last look: skb_marked_lost for each. */
__noinline int bbr_step_losses(struct bbr_sk *b, __u32 snd_una, __u32 newly)
{
	__u32 j;

	if (!b)
		return 0;
	for (j = 1; j <= BBR_MOST_LOST; j++) {
		if (j > newly)
			break;
		bbr_step_first(b, snd_una + j * b->sock.mss);
		b->lost.tx_in_flight = b->departure.in_flight;
		b->lost.lost = b->sock.lost - (newly - j) - b->departure.lost;
		b->lost.is_app_limited = b->departure.is_app_limited;
		bbr_step_lost(b);
		/* Whatever follows says no more. */
		if (!b->state.bw_probe_samples)
			break;
	}
	return 0;
}

static inline struct bbr_sk *bbr_of(struct sock *sk)
{
	return bpf_sk_storage_get(&bbr_sockets, sk, 0, 0);
}

static inline void bbr_read(struct sock *sk, struct bbr_sk *b)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr_sock *k = &b->sock;
	__u64 clock = tp->tcp_clock_cache, next = tp->tcp_wstamp_ns;

	k->now_us = tp->tcp_mstamp;
	k->delivered_us = tp->delivered_mstamp;
	k->pacing_rate = sk->sk_pacing_rate;
	k->departure_us = next > clock ? (__u32)((next - clock) / 1000) : 0;
	k->jiffies = jiffies_now();
	k->delivered = tp->delivered;
	k->delivered_ce = tp->delivered_ce;
	k->lost = tp->lost;
	k->in_flight = packets_in_flight(tp);
	k->srtt_us = tp->srtt_us ? max_u32(tp->srtt_us >> 3, 1) : 0;
	k->min_rtt_us = tp->rtt_min.s[0].v;
	k->mss = max_u32(tp->mss_cache, 1);
	k->cwnd = tp->snd_cwnd;
	k->prior_cwnd = tp->prior_cwnd;
	k->ssthresh = tp->snd_ssthresh;
	k->ca_state = inet_csk(sk)->icsk_ca_state;
	k->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	k->app_limited = tp->app_limited != 0;
	k->can_use_ecn = 0;
	k->limits_samples = 0;
}

static inline void bbr_write(struct sock *sk, const struct bbr_sk *b)
{
	const struct bbr_sock *k = &b->sock;
	struct tcp_sock *tp = tcp_sk(sk);
	__u64 most = sk->sk_max_pacing_rate;

	tp->snd_cwnd = min_u32(k->cwnd, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = min_u32(k->ssthresh, TCP_INFINITE_SSTHRESH);
	sk->sk_pacing_rate = k->pacing_rate < most ? k->pacing_rate : most;
	if (k->limits_samples)
		tp->app_limited = max_u32(k->delivered + k->in_flight, 1);
}

/* Before anything else that a call does. */
static inline void bbr_look(struct sock *sk, struct bbr_sk *b)
{
	__u32 newly;

	bbr_read(sk, b);
	newly = b->sock.lost - b->told_lost;
	b->told_lost = b->sock.lost;
	if (newly)
		bbr_step_losses(b, tcp_sk(sk)->snd_una, newly);
}

static inline void bbr_remember(struct sock *sk, struct bbr_sk *b)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr_flight now = {
		.snd_nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.in_flight = packets_in_flight(tp) | (tp->app_limited ? BBR_RING_LIMITED : 0),
		.lost = tp->lost,
	};

	bbr_ring_push(&b->ring, &now);
}

SEC("struct_ops")
void BPF_PROG(bbr_op_init, struct sock *sk)
{
	struct bbr_sk *b = bpf_sk_storage_get(&bbr_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!b) {
		char reno[] = "reno";

		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	bbr_usual_rules(&b->rules, jiffies_per_second());
	b->ring.next = 0;
	b->ring.count = 0;
	bbr_read(sk, b);
	b->told_lost = b->sock.lost;
	bbr_step_start(b);
	bbr_write(sk, b);
	bbr_remember(sk, b);
}

SEC("struct_ops")
void BPF_PROG(bbr_op_cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct bbr_sk *b = bbr_of(sk);
	__s64 interval = rs->interval_us, rtt = rs->rtt_us;
	__s32 delivered = rs->delivered, delivered_ce = rs->delivered_ce;
	struct bbr_ack *a;

	if (!b)
		return;
	bbr_look(sk, b);
	if (rs->is_retrans)
		bbr_step_again(b, rs->prior_delivered);
	else
		bbr_step_first(b, rs->last_end_seq);
	a = &b->ack;
	a->interval_us = interval > 0 ? (__u32)interval : 0;
	a->delivered = delivered > 0 ? delivered : 0;
	a->delivered_ce = delivered_ce > 0 ? delivered_ce : 0;
	a->prior_delivered = rs->prior_delivered;
	a->tx_in_flight = b->departure.in_flight;
	a->lost = b->departure.in_flight ? b->sock.lost - b->departure.lost : 0;
	a->losses = rs->losses;
	a->acked = rs->acked_sacked;
	a->prior_in_flight = rs->prior_in_flight;
	a->rtt_us = rtt >= 0 ? (__u32)rtt : BBR_UNSET;
	a->is_app_limited = rs->is_app_limited;
	a->is_ack_delayed = rs->is_ack_delayed;
	a->is_ece = (flag & FLAG_ECE) != 0;
	a->is_probe_acked = b->is_probe_acked;
	bbr_step_ack(b);
	bbr_write(sk, b);
	b->is_past_probe = 0;
	bbr_remember(sk, b);
}

/* The first call of an ACK. It knows of a tail loss probe, which the stack forgets before it calls the others. */
SEC("struct_ops")
void BPF_PROG(bbr_op_in_ack_event, struct sock *sk, __u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr_sk *b = bbr_of(sk);
	__u32 end = tp->tlp_high_seq;
	bool is_out = end && BPF_CORE_READ_BITFIELD(tp, tlp_retrans);

	if (!b)
		return;
	b->is_probe_acked = is_out && tp->snd_una == end;
	b->is_past_probe = is_out && before(end, tp->snd_una);
}

/* The window follows the model; the threshold is for others to read. */
SEC("struct_ops")
__u32 BPF_PROG(bbr_op_ssthresh, struct sock *sk)
{
	struct bbr_sk *b = bbr_of(sk);

	if (b) {
		bbr_look(sk, b);
		if (b->is_past_probe && b->sock.ca_state < CC_RECOVERY) {
			b->is_past_probe = 0;
			bbr_step_repair(b);
		}
		bbr_on_reduction(BBR_OF(b));
		bbr_write(sk, b);
	}
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
void BPF_PROG(bbr_op_set_state, struct sock *sk, __u8 new_state)
{
	struct bbr_sk *b = bbr_of(sk);

	if (!b)
		return;
	bbr_look(sk, b);
	bbr_step_state(b, new_state);
	bbr_write(sk, b);
	/* After a time-out nothing is in flight, before the next ACK. */
	if (new_state == CC_LOSS)
		bbr_remember(sk, b);
}

SEC("struct_ops")
void BPF_PROG(bbr_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr_sk *b;

	if (event != bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_TX_START))
		return;
	b = bbr_of(sk);
	if (!b)
		return;
	bbr_read(sk, b);
	bbr_step_restart(b);
	bbr_write(sk, b);
}

SEC("struct_ops")
__u32 BPF_PROG(bbr_op_undo_cwnd, struct sock *sk)
{
	struct bbr_sk *b = bbr_of(sk);
	__u32 cwnd;

	if (!b)
		return tcp_sk(sk)->snd_cwnd;
	bbr_read(sk, b);
	cwnd = bbr_step_undo(b);
	bbr_write(sk, b);
	return cwnd;
}

/* tcp_sndbuf_expand's factor: a window may triple in a round trip. */
SEC("struct_ops")
__u32 BPF_PROG(bbr_op_sndbuf_expand, struct sock *sk)
{
	return 3;
}

/* Least segments of a burst; v3 leaves it to net.ipv4.tcp_min_tso_segs, which is 2. */
SEC("struct_ops")
__u32 BPF_PROG(bbr_op_min_tso_segs, struct sock *sk)
{
	return !BBR_IS_V3 && sk->sk_pacing_rate < 150000 ? 1 : 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bbr_ops = {
	.name = BBR_NAME,
	.init = (void *)bbr_op_init,
	.ssthresh = (void *)bbr_op_ssthresh,
	.in_ack_event = (void *)bbr_op_in_ack_event,
	.cong_control = (void *)bbr_op_cong_control,
	.set_state = (void *)bbr_op_set_state,
	.cwnd_event = (void *)bbr_op_cwnd_event,
	.undo_cwnd = (void *)bbr_op_undo_cwnd,
	.sndbuf_expand = (void *)bbr_op_sndbuf_expand,
	.min_tso_segs = (void *)bbr_op_min_tso_segs,
};

#endif
