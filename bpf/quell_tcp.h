/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types that a congestion control written in BPF touches.
 *
 * Instead of a full vmlinux.h of one kernel this header names only the members in use. CO-RE (preserve_access_index) looks
 * each of them up by name in the type information (BTF) of the kernel that runs, so order and offsets here mean nothing.
 * Members were checked against the BTF of a 6.18 kernel; the flag values, which BTF does not carry, against
 * include/net/tcp.h, tcp_ecn.h, tcp_states.h and inet_connection_sock.h of 6.18. AccECN, new there, added a mode bit to
 * ecn_flags and left the classic bits where they were.
 */
#ifndef QUELL_TCP_H
#define QUELL_TCP_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

/* Map kinds and flags of the bpf() interface (include/uapi/linux/bpf.h). */
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13

#define TCP_CA_Recovery 3

/* include/net/tcp_states.h */
#define TCP_CLOSE 7
#define TCP_LISTEN 10

/* tcp_congestion_ops.flags: open only a socket whose SYN asks for ECN, and send ECT on every packet. */
#define TCP_CONG_NEEDS_ECN 2
/*
 * From Linux 7.0 on; an older kernel refuses a control with a flag that it does not know, and the loader then leaves them out: request
 * AccECN, with a SYN that is ECT(1), and never fall back to RFC 3168.
 */
#define TCP_CONG_NEEDS_ACCECN 4
#define TCP_CONG_ECT_1_NEGOTIATION 8
#define TCP_CONG_NO_FALLBACK_RFC3168 16

/* tcp_sock.ecn_flags */
#define TCP_ECN_MODE_RFC3168 (1 << 0)
#define TCP_ECN_DEMAND_CWR (1 << 2) /* put ECE on outgoing ACKs */
#define TCP_ECN_MODE_ACCECN (1 << 4)

/* inet_connection_sock.icsk_ack.pending */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* Read through bpf_core_enum_value(), by name: a kernel may renumber an enum. */
enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
} __attribute__((preserve_access_index));

struct inet_sock {
	struct sock sk;
} __attribute__((preserve_access_index));

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
} __attribute__((preserve_access_index));

struct minmax_sample {
	__u32 t;
	__u32 v;
} __attribute__((preserve_access_index));

struct minmax {
	struct minmax_sample s[3];
} __attribute__((preserve_access_index));

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u16 tcp_header_len;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 mss_cache;
	__u32 srtt_us;
	struct minmax rtt_min;
	__u64 tcp_mstamp;
	__u64 tcp_clock_cache;
	__u64 tcp_wstamp_ns;
	__u64 delivered_mstamp;
	__u32 packets_out;
	__u32 max_packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 lost;
	__u32 app_limited;
	__u32 tlp_high_seq;
	__u8 tlp_retrans : 1;
	__u8 is_cwnd_limited : 1;
	__u32 delivered;
	__u32 delivered_ce;
	__u8 ecn_flags;
} __attribute__((preserve_access_index));

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
} __attribute__((preserve_access_index));

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	__s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	__u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
} __attribute__((preserve_access_index));

/*
 * The table of functions. Name and flags come first, so that the loader finds them: it registers the control under a name of its
 * own, and without the flags that a kernel does not know.
 */
struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
} __attribute__((preserve_access_index));

/* Functions of the kernel that a congestion control may call. */
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* Sequence numbers wrap: a is before b when the signed distance is negative. */
static inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static inline __u32 max_u32(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

static inline __u32 min_u32(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

#endif
