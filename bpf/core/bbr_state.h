/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3: the connection as they see it, their state, and their integers; see bbr.h.
 */
#ifndef QUELL_CORE_BBR_STATE_H
#define QUELL_CORE_BBR_STATE_H

#include "core.h"

#define BBR_UNIT 256U
#define BBR_BW_SCALE 24
#define BBR_UNSET 0xffffffffU	  /* a bound that bounds nothing, an RTT that is not known */
#define BBR_MIN_CWND 4U
#define BBR_EPOCH_LIMIT (1U << 20) /* packets of an epoch of aggregation */
#define BBR_MAX_ROUNDS 63U	  /* between two probes: what a Reno flow of 25 Mbit/s and 30 ms takes */
#define BBR_WAIT_US 2000000U	  /* from DOWN to the next probe, and up to this much more: */
#define BBR_RANDOM_WAIT_US 1000000U
#define BBR_LARGEST (65536U - 1 - 320)	/* payload of the largest super-segment */

enum bbr_mode { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };
enum bbr_phase { BBR_UP, BBR_DOWN, BBR_CRUISE, BBR_REFILL };
/* How ACKs relate to a probe: not, it fills the pipe, nothing of it has come back, they show it, they still show it after its end. */
enum bbr_ack_phase { BBR_ACKS_INIT, BBR_ACKS_REFILLING, BBR_ACKS_STARTING, BBR_ACKS_FEEDBACK, BBR_ACKS_STOPPING };
enum bbr_undo { BBR_UNDO_NONE, BBR_UNDO_STARTUP, BBR_UNDO_UP };
enum bbr_marks { BBR_MARKS_IGNORED, BBR_MARKS_V2, BBR_MARKS_V3 };

/* What distinguishes one BBR from another; bbr2.h and bbr3.h fill it. */
struct bbr_rules {
	cc_u32 min_rtt_window;	 /* jiffies: 10 s */
	cc_u32 probe_rtt_window; /* jiffies: 5 s */
	cc_u32 probe_rtt;	 /* jiffies: 200 ms */
	cc_u32 startup_gain;
	cc_u32 startup_cwnd_gain;
	cc_u32 drain_gain;
	cc_u32 drain_rounds;	/* after which DRAIN ends in any case; 0 for never */
	cc_u32 down_gain;	/* pacing gain of DOWN */
	cc_u32 up_cwnd_gain;	/* window gain of UP */
	cc_u32 full_loss_count; /* lossy ACKs in a round that end start-up */
	cc_u32 loss_threshold;	/* share of a flight that may be lost */
	cc_u32 beta;		/* share of which loss cuts the bounds */
	cc_u32 largest;		/* payload of the largest super-segment in bytes */
	cc_u32 ecn_max_rtt_us;	/* longest RTT at which marks count; 0 for any */
	cc_u32 ecn_reprobe_gain; /* share of inflight_hi that the first round of a probe after marks adds; 0 for no such probe */
	cc_u8 marks;		/* enum bbr_marks */
	cc_u8 is_v3;		/* see bbr3.h */
	cc_u8 saves_before_loss; /* v3 of 2026: saves before the first loss of an episode; an undo returns to the phase of then */
	cc_u8 marks_cut_bw;	/* v2 of 2020: marks also cut the bounds of bandwidth */
};

/* The connection. What a call sets stands last. */
struct bbr_sock {
	cc_u64 now_us;	      /* tcp_mstamp */
	cc_u64 delivered_us;  /* delivered_mstamp */
	cc_u64 pacing_rate;   /* sk_pacing_rate, B/s of payload; set */
	cc_u32 departure_us;  /* until pacing allows the next departure; 0 if it does now */
	cc_u32 jiffies;	      /* tcp_jiffies32 */
	cc_u32 delivered;
	cc_u32 delivered_ce;
	cc_u32 lost;
	cc_u32 in_flight;     /* tcp_packets_in_flight() */
	cc_u32 srtt_us;	      /* srtt_us >> 3, at least 1; 0 before the first sample */
	cc_u32 min_rtt_us;    /* tcp_min_rtt(); BBR_UNSET before the first sample */
	cc_u32 mss;	      /* mss_cache */
	cc_u32 cwnd;	      /* snd_cwnd; set */
	cc_u32 prior_cwnd;
	cc_u32 ssthresh;      /* snd_ssthresh; set at the end of start-up, for others to read */
	cc_u32 ca_state;      /* icsk_ca_state */
	cc_u32 is_cwnd_limited;
	cc_u32 app_limited;   /* 1 if tp->app_limited is not 0 */
	cc_u32 can_use_ecn;
	cc_u32 limits_samples; /* set */
};

/* What an ACK shows; struct rate_sample. */
struct bbr_ack {
	cc_u32 interval_us;    /* 0 if there is no valid sample */
	cc_u32 delivered;
	cc_u32 delivered_ce;
	cc_u32 prior_delivered;
	cc_u32 tx_in_flight;   /* when the newest delivered segment left, itself included */
	cc_u32 lost;	       /* since then */
	cc_u32 losses;	       /* found by this ACK */
	cc_u32 acked;	       /* acked_sacked */
	cc_u32 prior_in_flight;
	cc_u32 rtt_us;	       /* BBR_UNSET if there is none */
	cc_u32 is_app_limited;
	cc_u32 is_ack_delayed;
	cc_u32 is_ece;
	cc_u32 is_probe_acked; /* is_acking_tlp_retrans_seq */
};

/* A segment just found lost. */
struct bbr_lost {
	cc_u32 tx_in_flight; /* when it left, itself included */
	cc_u32 lost;	     /* since then, itself included */
	cc_u32 is_app_limited;
};

/* The state of a connection; 176 bytes without padding. */
struct bbr_state {
	cc_u64 cycle_us;	     /* when the phase of PROBE_BW began */
	cc_u64 ack_epoch_us;
	cc_u32 min_rtt_us;	     /* of 10 s */
	cc_u32 min_rtt_stamp;
	cc_u32 probe_rtt_done_stamp; /* jiffy at which PROBE_RTT ends; 0 if not known */
	cc_u32 probe_rtt_min_us;     /* of 5 s */
	cc_u32 probe_rtt_min_stamp;
	cc_u32 next_rtt_delivered;   /* the round ends with a segment that leaves when this is delivered */
	cc_u32 prior_cwnd;	     /* the last good window */
	cc_u32 full_bw;		     /* bandwidth that must grow by a quarter */
	cc_u32 extra_acked[2];	     /* 16 bits each */
	cc_u32 ack_epoch_acked;	     /* 20 bits */
	cc_u32 loss_round_delivered;
	cc_u32 undo_bw_lo;
	cc_u32 undo_inflight_lo;
	cc_u32 undo_inflight_hi;
	cc_u32 bw_latest;	     /* of the last round */
	cc_u32 inflight_latest;
	cc_u32 bw_lo;
	cc_u32 bw_hi;		     /* v2 of 2020 */
	cc_u32 max_bw[2];	     /* of the last cycle and this one */
	cc_u32 inflight_lo;
	cc_u32 inflight_hi;
	cc_u32 bw_probe_up_cnt;	     /* packets per increment of inflight_hi */
	cc_u32 bw_probe_up_acks;
	cc_u32 probe_wait_us;	     /* from DOWN to the next probe */
	cc_u32 alpha_last_delivered;
	cc_u32 alpha_last_delivered_ce;
	cc_u32 ecn_alpha;	     /* 0 to 256 */
	cc_u32 pacing_gain;
	cc_u32 cwnd_gain;
	cc_u32 init_cwnd;	     /* at most 127 */
	cc_u8 mode;
	cc_u8 prev_ca_state;
	cc_u8 phase;
	cc_u8 ack_phase;
	cc_u8 full_bw_cnt;
	cc_u8 startup_ecn_rounds;
	cc_u8 extra_acked_win_rtts;
	cc_u8 extra_acked_win_idx;
	cc_u8 bw_probe_up_rounds;
	cc_u8 rounds_since_probe;
	cc_u8 loss_events_in_round;
	cc_u8 drain_rounds;
	cc_u8 undo_state;
	cc_u8 round_start;
	cc_u8 try_fast_path;
	cc_u8 idle_restart;
	cc_u8 probe_rtt_round_done;
	cc_u8 full_bw_reached;
	cc_u8 full_bw_now;
	cc_u8 has_seen_rtt;
	cc_u8 loss_in_cycle;
	cc_u8 ecn_in_cycle;
	cc_u8 ecn_eligible;
	cc_u8 bw_probe_samples;
	cc_u8 prev_probe_too_high;
	cc_u8 stopped_risky_probe;
	cc_u8 loss_round_start;
	cc_u8 loss_in_round;
	cc_u8 ecn_in_round;
	cc_u8 got_ok_bw_probe_sample;
	cc_u8 loss_yet_in_recovery;
	cc_u8 reserved;
};

/* Arguments of nearly every function below. */
#define BBR_ARGS const struct bbr_rules *r, struct bbr_state *s, struct bbr_sock *k

/* --- Integers --- */

CC_FN int bbr_after(cc_u32 a, cc_u32 b)
{
	return (cc_u32)(b - a) >> 31;
}

CC_FN cc_u32 bbr_part(cc_u32 number, cc_u32 of_256)
{
	return (cc_u32)(((cc_u64)number * of_256) >> 8);
}

CC_FN cc_u32 bbr_carried(cc_u32 bw, cc_u32 us)
{
	return (cc_u32)(((cc_u64)bw * us) >> BBR_BW_SCALE);
}

/* Rounded up, so that low rates can grow. */
CC_FN cc_u32 bbr_bw_sample(const struct bbr_ack *a)
{
	if (!a->interval_us)
		return 0;
	return (cc_u32)CC_DIV(((cc_u64)a->delivered << BBR_BW_SCALE) + a->interval_us - 1, (cc_u64)a->interval_us);
}

/* B/s of payload, 1 % below the bandwidth. */
CC_FN cc_u64 bbr_rate(cc_u32 bw, cc_u32 mss, cc_u32 gain)
{
	cc_u64 rate = ((cc_u64)bw * mss * gain) >> 8;

	rate = (rate * (1000000 / 100 * 99)) >> BBR_BW_SCALE;
	return cc_max_u64(rate, 1);
}

CC_FN cc_u64 bbr_first_rate(const struct bbr_rules *r, const struct bbr_sock *k)
{
	cc_u32 rtt = k->srtt_us ? k->srtt_us : 1000;

	return bbr_rate((cc_u32)CC_DIV((cc_u64)k->cwnd << BBR_BW_SCALE, (cc_u64)rtt), k->mss, r->startup_gain);
}

CC_FN cc_u32 bbr_max_bw(const struct bbr_state *s)
{
	return cc_max_u32(s->max_bw[0], s->max_bw[1]);
}

CC_FN cc_u32 bbr_bw(const struct bbr_state *s)
{
	return cc_min_u32(bbr_max_bw(s), cc_min_u32(s->bw_lo, s->bw_hi));
}

CC_FN cc_u32 bbr_bdp(const struct bbr_state *s, cc_u32 bw, cc_u32 gain)
{
	cc_u64 scaled;

	if (s->min_rtt_us == BBR_UNSET)
		return s->init_cwnd;
	scaled = ((cc_u64)bw * s->min_rtt_us * gain) >> 8;
	return (cc_u32)((scaled + (1U << BBR_BW_SCALE) - 1) >> BBR_BW_SCALE);
}

/* Segments of a super-segment. */
CC_FN cc_u32 bbr_tso_segs(const struct bbr_rules *r, const struct bbr_state *s, cc_u64 pacing_rate, cc_u32 mss)
{
	cc_u32 least = !r->is_v3 && pacing_rate < 150000 ? 1 : 2;
	cc_u32 halvings = s->min_rtt_us >> 9;
	cc_u64 bytes = pacing_rate >> 10;

	if (halvings < 32)
		bytes += 65536U >> halvings;
	if (bytes > r->largest)
		bytes = r->largest;
	return cc_max_u32((cc_u32)bytes / cc_max_u32(mss, 1), least);
}

CC_FN int bbr_is_in(const struct bbr_state *s, cc_u8 phase)
{
	return s->mode == BBR_PROBE_BW && s->phase == phase;
}

CC_FN int bbr_is_probing(const struct bbr_state *s)
{
	return s->mode == BBR_STARTUP || bbr_is_in(s, BBR_REFILL) || bbr_is_in(s, BBR_UP);
}

CC_FN cc_u32 bbr_quantise(BBR_ARGS, cc_u32 cwnd)
{
	cc_u32 goal = bbr_tso_segs(r, s, k->pacing_rate, k->mss);

	cwnd = cc_max_u32(cc_max_u32(cwnd, 3 * goal), BBR_MIN_CWND);
	return bbr_is_in(s, BBR_UP) ? cwnd + 2 : cwnd;
}

CC_FN cc_u32 bbr_inflight(BBR_ARGS, cc_u32 bw, cc_u32 gain)
{
	return bbr_quantise(r, s, k, bbr_bdp(s, bw, gain));
}

CC_FN cc_u32 bbr_target_inflight(BBR_ARGS)
{
	return cc_min_u32(bbr_inflight(r, s, k, bbr_bw(s), BBR_UNIT), k->cwnd);
}

/* Packets that will be in the network at the next departure. */
CC_FN cc_u32 bbr_in_network(BBR_ARGS, cc_u32 in_flight)
{
	cc_u32 delivered = bbr_carried(bbr_bw(s), k->departure_us);

	if (s->pacing_gain > BBR_UNIT)
		in_flight += bbr_tso_segs(r, s, k->pacing_rate, k->mss);
	return in_flight > delivered ? in_flight - delivered : 0;
}

CC_FN cc_u32 bbr_with_headroom(const struct bbr_state *s)
{
	cc_u32 left;

	if (s->inflight_hi == BBR_UNSET)
		return BBR_UNSET;
	left = s->inflight_hi - cc_max_u32(bbr_part(s->inflight_hi, BBR_UNIT * 15 / 100), 1);
	/* As a signed number: what is below zero is below the minimum too. */
	return left >> 31 ? BBR_MIN_CWND : cc_max_u32(left, BBR_MIN_CWND);
}

CC_FN cc_u32 bbr_probe_rtt_cwnd(const struct bbr_state *s)
{
	return cc_max_u32(bbr_bdp(s, bbr_bw(s), BBR_UNIT / 2), BBR_MIN_CWND);
}

/* Floor of the logarithm to base 2; 0 for 0. */
CC_FN cc_u8 bbr_log2(cc_u32 x)
{
	cc_u8 n = 0;

	if (x >> 16) {
		x >>= 16;
		n += 16;
	}
	if (x >> 8) {
		x >>= 8;
		n += 8;
	}
	if (x >> 4) {
		x >>= 4;
		n += 4;
	}
	if (x >> 2) {
		x >>= 2;
		n += 2;
	}
	return n + (x >> 1 ? 1 : 0);
}

#endif
