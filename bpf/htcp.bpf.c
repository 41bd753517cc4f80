/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * H-TCP for kernels without tcp_htcp: the arithmetic of core/htcp.h, with Linux's defaults.
 *
 * Jiffies are the kernel's (CONFIG_HZ; 250 where it does not show its configuration).
 */
#include "quell_window.h"
#include "core/htcp.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static inline struct htcp *htcp_of(struct sock *sk)
{
	return (struct htcp *)inet_csk(sk)->icsk_ca_priv;
}

static inline struct htcp_rules linux_rules(void)
{
	struct htcp_rules rules = { .hz = jiffies_per_second(), .rtt_scaling = 1, .bandwidth_switch = 1 };

	return rules;
}

SEC("struct_ops")
void BPF_PROG(htcp_op_init, struct sock *sk)
{
	htcp_start(htcp_of(sk), jiffies_now());
}

SEC("struct_ops")
void BPF_PROG(htcp_op_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp_rules rules = linux_rules();
	__s32 rtt = sample->rtt_us;

	htcp_on_acked(htcp_of(sk), &rules, inet_csk(sk)->icsk_ca_state, sample->pkts_acked, rtt > 0 ? rtt : 0, tcp_sk(sk)->snd_cwnd,
		      jiffies_now());
}

SEC("struct_ops")
void BPF_PROG(htcp_op_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct htcp_rules rules = linux_rules();
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window window;

	if (!is_cwnd_limited(tp))
		return;
	read_window(tp, &window);
	htcp_grow(htcp_of(sk), &rules, &window, acked, jiffies_now());
	write_window(tp, &window);
}

SEC("struct_ops")
__u32 BPF_PROG(htcp_op_ssthresh, struct sock *sk)
{
	struct htcp_rules rules = linux_rules();

	return htcp_threshold(htcp_of(sk), &rules, tcp_sk(sk)->snd_cwnd, jiffies_now());
}

SEC("struct_ops")
void BPF_PROG(htcp_op_set_state, struct sock *sk, __u8 new_state)
{
	htcp_set_state(htcp_of(sk), new_state, jiffies_now());
}

SEC("struct_ops")
__u32 BPF_PROG(htcp_op_undo_cwnd, struct sock *sk)
{
	struct cc_window window;

	read_window(tcp_sk(sk), &window);
	return htcp_undo(htcp_of(sk), &window);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops htcp_ops = {
	.name = "htcp",
	.init = (void *)htcp_op_init,
	.ssthresh = (void *)htcp_op_ssthresh,
	.cong_avoid = (void *)htcp_op_cong_avoid,
	.set_state = (void *)htcp_op_set_state,
	.undo_cwnd = (void *)htcp_op_undo_cwnd,
	.pkts_acked = (void *)htcp_op_pkts_acked,
};
