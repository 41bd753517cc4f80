/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compound TCP: the arithmetic of core/compound.h, with the defaults of tcp_compound.c 1.3.
 *
 * Deviation: a reduction that is spurious is undone as Reno's is (tcp_reno_undo_cwnd), which 1.3 is too old to know.
 */
#include "quell_window.h"
#include "core/compound.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static inline struct compound *compound_of(struct sock *sk)
{
	return (struct compound *)inet_csk(sk)->icsk_ca_priv;
}

static inline struct compound_rules usual_rules(void)
{
	struct compound_rules rules = {
		.gamma = 30, .gamma_low = 5, .gamma_high = 30, .low_window = 38, .eta = 1, .lambda = COMPOUND_WHOLE / 4, .paced = 1,
	};

	return rules;
}

SEC("struct_ops")
void BPF_PROG(compound_op_init, struct sock *sk)
{
	struct compound_rules rules = usual_rules();

	compound_start(compound_of(sk), &rules, tcp_sk(sk)->snd_nxt, tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(compound_op_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	__s32 rtt = sample->rtt_us;

	if (rtt >= 0)
		compound_on_rtt(compound_of(sk), rtt);
}

SEC("struct_ops")
void BPF_PROG(compound_op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct compound_rules rules = usual_rules();
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window window;
	__u32 mss = tp->mss_cache;

	if (!is_cwnd_limited(tp) || !mss)
		return;
	read_window(tp, &window);
	compound_grow(compound_of(sk), &rules, &window, ack, tp->snd_nxt, mss, acked);
	write_window(tp, &window);
}

SEC("struct_ops")
__u32 BPF_PROG(compound_op_ssthresh, struct sock *sk)
{
	struct compound_rules rules = usual_rules();

	return compound_threshold(compound_of(sk), &rules, tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(compound_op_set_state, struct sock *sk, __u8 new_state)
{
	compound_set_state(compound_of(sk), new_state, tcp_sk(sk)->snd_nxt);
}

SEC("struct_ops")
void BPF_PROG(compound_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct compound_rules rules = usual_rules();

	if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_TX_START) ||
	    event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_CWND_RESTART))
		compound_restart(compound_of(sk), &rules, tcp_sk(sk)->snd_nxt, tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops")
__u32 BPF_PROG(compound_op_undo_cwnd, struct sock *sk)
{
	return max_u32(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops compound_ops = {
	.name = "compound",
	.init = (void *)compound_op_init,
	.ssthresh = (void *)compound_op_ssthresh,
	.cong_avoid = (void *)compound_op_cong_avoid,
	.set_state = (void *)compound_op_set_state,
	.cwnd_event = (void *)compound_op_cwnd_event,
	.undo_cwnd = (void *)compound_op_undo_cwnd,
	.pkts_acked = (void *)compound_op_pkts_acked,
};
