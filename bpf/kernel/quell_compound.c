// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compound TCP in a kernel: the arithmetic of core/compound.h, with the defaults of tcp_compound.c 1.3.
 *
 * Deviation: a reduction that is spurious is undone as Reno's is (tcp_reno_undo_cwnd), which 1.3 is too old to know.
 */
#include "quell_kernel.h"
#include "core/compound.h"

static struct compound_rules rules __read_mostly = {
	.gamma = 30, .gamma_low = 5, .gamma_high = 30, .low_window = 38, .eta = 1, .lambda = COMPOUND_WHOLE / 4, .paced = 1,
};

/* For all connections together; to be set while there is none. */
module_param_named(gamma, rules.gamma, uint, 0644);
module_param_named(gamma_low, rules.gamma_low, uint, 0644);
module_param_named(gamma_high, rules.gamma_high, uint, 0644);
module_param_named(low_window, rules.low_window, uint, 0644);
module_param_named(eta, rules.eta, uint, 0644);
module_param_named(lambda, rules.lambda, uint, 0644);	/* in 1/64 */
module_param_named(paced, rules.paced, byte, 0644);

static void quell_compound_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	compound_start(inet_csk_ca(sk), &rules, tp->snd_nxt, tcp_snd_cwnd(tp));
}

static void quell_compound_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	if (sample->rtt_us >= 0)
		compound_on_rtt(inet_csk_ca(sk), sample->rtt_us);
}

static void quell_compound_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window window;

	if (!tcp_is_cwnd_limited(sk) || !tp->mss_cache)
		return;
	quell_read_window(tp, &window);
	compound_grow(inet_csk_ca(sk), &rules, &window, ack, tp->snd_nxt, tp->mss_cache, acked);
	quell_write_window(tp, &window);
}

static u32 quell_compound_ssthresh(struct sock *sk)
{
	return compound_threshold(inet_csk_ca(sk), &rules, tcp_snd_cwnd(tcp_sk(sk)));
}

static void quell_compound_set_state(struct sock *sk, u8 new_state)
{
	compound_set_state(inet_csk_ca(sk), new_state, tcp_sk(sk)->snd_nxt);
}

static void quell_compound_tx_start(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	compound_restart(inet_csk_ca(sk), &rules, tp->snd_nxt, tcp_snd_cwnd(tp));
}

static void quell_compound_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		quell_compound_tx_start(sk);
}

static struct tcp_congestion_ops quell_compound __read_mostly = {
	.name = "compound",
	.owner = THIS_MODULE,
	.init = quell_compound_init,
	.cong_avoid = quell_compound_cong_avoid,
	.ssthresh = quell_compound_ssthresh,
	.set_state = quell_compound_set_state,
	.cwnd_event = quell_compound_cwnd_event,
#ifdef QUELL_HAS_TX_START
	.cwnd_event_tx_start = quell_compound_tx_start,
#endif
	.undo_cwnd = tcp_reno_undo_cwnd,
	.pkts_acked = quell_compound_pkts_acked,
};

static int __init quell_compound_register(void)
{
	BUILD_BUG_ON(sizeof(struct compound) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&quell_compound);
}

static void __exit quell_compound_unregister(void)
{
	tcp_unregister_congestion_control(&quell_compound);
}

module_init(quell_compound_register);
module_exit(quell_compound_unregister);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Compound TCP");
