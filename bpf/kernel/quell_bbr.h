/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3 in a kernel: the hooks around the machine of core/bbr.h. A file that includes this has defined
 *   QUELL_RULES(r)  fills struct bbr_rules; and before, `rules` of that type
 *   QUELL_NAME      the name of the control
 *   QUELL_TEXT      what it is
 *   QUELL_SINGLES   if a super-segment may have one segment at low rates (v2)
 *
 * What an unpatched kernel does not call is found out here: which segments are lost, from the queue of what may be retransmitted, before each
 * hook that follows a loss; and what was in flight when they left (core/bbr_ring.h). With the parameter `ecn`, both ends echo marks as DCTCP's
 * do; without it, Google's default, there is no ECN.
 *
 * The state does not fit icsk_ca_priv, which holds a pointer to it. Where there is no memory the window stays as Reno would have it after
 * losses, and grows no more.
 */
#include "quell_kernel.h"
#include "core/bbr_ring.h"
#include "../tcp_dctcp.h"

struct quell_bbr {
	struct bbr_state state;
	u32 lost;		/* tp->lost when the losses were looked at */
	u32 seen;		/* segments up to here were lost, and have been looked at */
	bool is_probe_acked;	/* this ACK ends at the end of a tail loss probe that was a retransmission */
	bool is_past_probe;	/* or behind it */
	bool can_use_ecn;
	u32 prior_rcv_nxt;	/* rcv_nxt after the last packet that came in, and whether that one had CE */
	u32 had_ce;
	struct bbr_ring ring;
};

static struct tcp_congestion_ops quell_bbr;
/* What a connection whose peer has no ECN goes on with; not registered. */
static struct tcp_congestion_ops quell_bbr_without_ecn;

/* For all connections together; to be set while there is none. */
static bool has_ecn;

static int set_ecn(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	quell_bbr.flags = has_ecn ? TCP_CONG_NEEDS_ECN : 0;
	return error;
}

static const struct kernel_param_ops ecn_ops = {
	.set = set_ecn,
	.get = param_get_bool,
};

module_param_cb(ecn, &ecn_ops, &has_ecn, 0644);
module_param_named(ecn_max_rtt, rules.ecn_max_rtt_us, uint, 0644);		/* us; 0 for any */
module_param_named(ecn_reprobe_gain, rules.ecn_reprobe_gain, uint, 0644);	/* in 1/256 */

/* A connection that is not open yet has none. */
static struct quell_bbr *bbr_of(const struct sock *sk)
{
	return *(struct quell_bbr **)inet_csk_ca(sk);
}

static void read_sock(const struct sock *sk, struct bbr_sock *k)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	s64 wait = tp->tcp_wstamp_ns - tp->tcp_clock_cache;

	memset(k, 0, sizeof(*k));
	k->now_us = tp->tcp_mstamp;
	k->delivered_us = tp->delivered_mstamp;
	k->pacing_rate = READ_ONCE(sk->sk_pacing_rate);
	k->departure_us = wait > 0 ? div_u64(wait, NSEC_PER_USEC) : 0;
	k->jiffies = tcp_jiffies32;
	k->delivered = tp->delivered;
	k->delivered_ce = tp->delivered_ce;
	k->lost = tp->lost;
	k->in_flight = tcp_packets_in_flight(tp);
	k->srtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : 0;
	k->min_rtt_us = tcp_min_rtt(tp);
	k->mss = max(tp->mss_cache, 1U);
	k->cwnd = tcp_snd_cwnd(tp);
	k->prior_cwnd = tp->prior_cwnd;
	k->ssthresh = tp->snd_ssthresh;
	k->ca_state = inet_csk(sk)->icsk_ca_state;
	k->is_cwnd_limited = tp->is_cwnd_limited;
	k->app_limited = tp->app_limited != 0;
	k->can_use_ecn = bbr_of(sk)->can_use_ecn;
}

static void write_sock(struct sock *sk, const struct bbr_sock *k)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, clamp(k->cwnd, 1U, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = min_t(u32, k->ssthresh, TCP_INFINITE_SSTHRESH);
	quell_pace(sk, k->pacing_rate);
	if (k->limits_samples)
		tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ? : 1;
}

static void remember(struct quell_bbr *b, const struct tcp_sock *tp)
{
	struct bbr_flight now = {
		.snd_nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.in_flight = tcp_packets_in_flight(tp),
		.lost = tp->lost,
	};

	bbr_ring_push(&b->ring, &now);
}

/* Each segment of `skb` is lost; `lost` are those found lost before them, as a number of the connection. Returns the number of segments. */
static u32 lose(struct quell_bbr *b, struct bbr_sock *k, const struct sk_buff *skb, u32 lost)
{
	const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
	u32 count = tcp_skb_pcount(skb), length = max_t(u32, tcp_skb_mss(skb), 1), i;
	bool is_again = cb->sacked & TCPCB_EVER_RETRANS;

	for (i = 1; i <= count; i++) {
		u32 end = i < count ? cb->seq + i * length : cb->end_seq;
		struct bbr_departure left;
		struct bbr_lost at = { .is_app_limited = cb->tx.is_app_limited };

		if (is_again)
			bbr_ring_again(&b->ring, cb->tx.delivered, &left);
		else
			bbr_ring_first(&b->ring, end, k->mss, &left);
		at.tx_in_flight = left.in_flight;
		at.lost = left.in_flight ? lost + i - left.lost : 0;
		bbr_on_lost(&rules, &b->state, k, &at);
	}
	return count;
}

/* What was found lost since the last look: segments beyond those seen, and retransmissions that wait for another one. */
static void look_at_losses(struct sock *sk, struct quell_bbr *b)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 expected = tp->lost - b->lost, found = 0, seen = b->seen;
	struct sk_buff *skb = tcp_rtx_queue_head(sk);
	struct bbr_sock k;

	if (!expected)
		return;
	read_sock(sk, &k);
	if (before(seen, tp->snd_una))
		seen = tp->snd_una;
	skb_rbtree_walk_from(skb) {
		const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
		bool is_new;

		if (found >= expected)
			break;
		if (!(cb->sacked & TCPCB_LOST) || (cb->sacked & TCPCB_SACKED_ACKED))
			continue;
		is_new = after(cb->end_seq, seen);
		if (!is_new && ((cb->sacked & TCPCB_SACKED_RETRANS) || !(cb->sacked & TCPCB_EVER_RETRANS)))
			continue;
		found += lose(b, &k, skb, b->lost + found);
		if (is_new)
			b->seen = cb->end_seq;
	}
	if (!found) {
		/* Lost, and acknowledged by the same ACK. */
		struct bbr_lost at = { .lost = 0 };

		bbr_on_lost(&rules, &b->state, &k, &at);
	}
	b->lost = tp->lost;
	write_sock(sk, &k);
}

static void quell_bbr_init(struct sock *sk)
{
	struct quell_bbr **place = inet_csk_ca(sk), *b;
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr_sock k;

	/* What is in place is the listener's. */
	b = *place = kzalloc(sizeof(*b), GFP_ATOMIC | __GFP_NOWARN);
	if (!b)
		return;
	b->lost = tp->lost;
	b->seen = tp->snd_una;
	b->can_use_ecn = has_ecn && quell_has_ecn(tp);
	b->prior_rcv_nxt = tp->rcv_nxt;
	remember(b, tp);
	read_sock(sk, &k);
	bbr_start(&rules, &b->state, &k);
	write_sock(sk, &k);
	quell_ask_for_pacing(sk);
	if (has_ecn && !quell_has_ecn(tp)) {
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &quell_bbr_without_ecn);
		INET_ECN_dontxmit(sk);
	}
}

static void quell_bbr_release(struct sock *sk)
{
	struct quell_bbr **place = inet_csk_ca(sk);

	kfree(*place);
	*place = NULL;
}

/* The first of this ACK's hooks that knows of a tail loss probe; the stack forgets it before it calls the others. */
static void quell_bbr_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct quell_bbr *b = bbr_of(sk);
	bool is_out = tp->tlp_high_seq && tp->tlp_retrans;

	if (!b)
		return;
	b->is_probe_acked = is_out && tp->snd_una == tp->tlp_high_seq;
	b->is_past_probe = is_out && after(tp->snd_una, tp->tlp_high_seq);
}

static void fill_flight(struct quell_bbr *b, const struct tcp_sock *tp, const struct rate_sample *rs, struct bbr_ack *a)
{
	struct bbr_departure left;

	if (!rs->prior_mstamp)
		return;
	if (rs->is_retrans)
		bbr_ring_again(&b->ring, rs->prior_delivered, &left);
	else
		bbr_ring_first(&b->ring, rs->last_end_seq, max(tp->mss_cache, 1U), &left);
	a->tx_in_flight = left.in_flight;
	a->lost = left.in_flight ? tp->lost - left.lost : 0;
}

static QUELL_CONG_CONTROL(quell_bbr_cong_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct quell_bbr *b = bbr_of(sk);
	struct bbr_ack a = { .rtt_us = BBR_UNSET };
	struct bbr_sock k;

	if (!b)
		return;
	look_at_losses(sk, b);
	if (rs->interval_us > 0 && rs->delivered >= 0) {
		a.interval_us = min_t(u64, rs->interval_us, U32_MAX);
		a.delivered = rs->delivered;
		a.delivered_ce = max(rs->delivered_ce, 0);
	}
	a.prior_delivered = rs->prior_delivered;
	fill_flight(b, tp, rs, &a);
	a.losses = max(rs->losses, 0);
	a.acked = rs->acked_sacked;
	a.prior_in_flight = rs->prior_in_flight;
	if (rs->rtt_us >= 0)
		a.rtt_us = min_t(u64, rs->rtt_us, BBR_UNSET - 1);
	a.is_app_limited = rs->is_app_limited;
	a.is_ack_delayed = rs->is_ack_delayed;
	a.is_ece = QUELL_HAS_ECE(flag, rs);
	a.is_probe_acked = b->is_probe_acked;
	read_sock(sk, &k);
	bbr_on_ack(&rules, &b->state, &k, &a);
	write_sock(sk, &k);
	b->is_past_probe = false;
	remember(b, tp);
}

static u32 quell_bbr_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct quell_bbr *b = bbr_of(sk);
	struct bbr_sock k;

	if (!b)
		return tcp_reno_ssthresh(sk);
	look_at_losses(sk, b);
	read_sock(sk, &k);
	if (b->is_past_probe && k.ca_state < TCP_CA_Recovery) {
		b->is_past_probe = false;
		bbr_on_probe_repair(&rules, &b->state, &k, k.app_limited);
	}
	bbr_on_reduction(&rules, &b->state, &k);
	write_sock(sk, &k);
	return tp->snd_ssthresh;
}

static void quell_bbr_set_state(struct sock *sk, u8 new_state)
{
	struct quell_bbr *b = bbr_of(sk);
	struct bbr_sock k;

	if (!b)
		return;
	look_at_losses(sk, b);
	read_sock(sk, &k);
	bbr_on_state(&rules, &b->state, &k, new_state);
	write_sock(sk, &k);
	/* After a time-out nothing is in flight, before the next ACK. */
	if (new_state == TCP_CA_Loss)
		remember(b, tcp_sk(sk));
}

static u32 quell_bbr_undo_cwnd(struct sock *sk)
{
	struct quell_bbr *b = bbr_of(sk);
	struct bbr_sock k;
	u32 cwnd;

	if (!b)
		return tcp_reno_undo_cwnd(sk);
	read_sock(sk, &k);
	cwnd = bbr_on_undo(&rules, &b->state, &k);
	write_sock(sk, &k);
	return clamp(cwnd, 1U, tcp_sk(sk)->snd_cwnd_clamp);
}

static void quell_bbr_tx_start(struct sock *sk)
{
	struct quell_bbr *b = bbr_of(sk);
	struct bbr_sock k;

	if (!b)
		return;
	read_sock(sk, &k);
	bbr_on_restart(&rules, &b->state, &k);
	write_sock(sk, &k);
}

static void quell_bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct quell_bbr *b = bbr_of(sk);

	switch (event) {
	case CA_EVENT_TX_START:
		quell_bbr_tx_start(sk);
		break;
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		if (b && b->can_use_ecn && quell_has_classic_ecn(tcp_sk(sk)))
			dctcp_ece_ack_update(sk, event, &b->prior_rcv_nxt, &b->had_ce);
		break;
	default:
		break;
	}
}

#ifdef QUELL_SINGLES
static u32 quell_bbr_min_tso_segs(struct sock *sk)
{
	return READ_ONCE(sk->sk_pacing_rate) < 150000 ? 1 : 2;
}
#endif

/* The window limits, not the buffer, also while it doubles in a round trip. */
static u32 quell_bbr_sndbuf_expand(struct sock *sk)
{
	return 3;
}

/* As BBR v1's. */
static size_t quell_bbr_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct quell_bbr *b = bbr_of(sk);
	u64 bw;

	if (!b || (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) && !(ext & (1 << (INET_DIAG_VEGASINFO - 1)))))
		return 0;
	bw = ((u64)bbr_bw(&b->state) * tcp_sk(sk)->mss_cache * USEC_PER_SEC) >> BBR_BW_SCALE;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = (u32)bw;
	info->bbr.bbr_bw_hi = (u32)(bw >> 32);
	info->bbr.bbr_min_rtt = b->state.min_rtt_us;
	info->bbr.bbr_pacing_gain = b->state.pacing_gain;
	info->bbr.bbr_cwnd_gain = b->state.cwnd_gain;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops quell_bbr __read_mostly = {
	.name = QUELL_NAME,
	.owner = THIS_MODULE,
	.init = quell_bbr_init,
	.release = quell_bbr_release,
	.in_ack_event = quell_bbr_in_ack_event,
	.cong_control = quell_bbr_cong_control,
	.ssthresh = quell_bbr_ssthresh,
	.set_state = quell_bbr_set_state,
	.cwnd_event = quell_bbr_cwnd_event,
#ifdef QUELL_HAS_TX_START
	.cwnd_event_tx_start = quell_bbr_tx_start,
#endif
	.undo_cwnd = quell_bbr_undo_cwnd,
#ifdef QUELL_SINGLES
	.min_tso_segs = quell_bbr_min_tso_segs,
#endif
	.sndbuf_expand = quell_bbr_sndbuf_expand,
	.get_info = quell_bbr_get_info,
};

static int __init quell_bbr_register(void)
{
	BUILD_BUG_ON(sizeof(struct quell_bbr *) > ICSK_CA_PRIV_SIZE);
	QUELL_RULES(&rules);
	quell_bbr_without_ecn = quell_bbr;
	quell_bbr_without_ecn.flags = 0;
	return tcp_register_congestion_control(&quell_bbr);
}

static void __exit quell_bbr_unregister(void)
{
	tcp_unregister_congestion_control(&quell_bbr);
}

module_init(quell_bbr_register);
module_exit(quell_bbr_unregister);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION(QUELL_TEXT);
