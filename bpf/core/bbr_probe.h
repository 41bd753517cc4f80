/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3: PROBE_BW, PROBE_RTT, and from the model to rate and window; see bbr.h.
 */
#ifndef QUELL_CORE_BBR_PROBE_H
#define QUELL_CORE_BBR_PROBE_H

#include "bbr_signals.h"

/* --- PROBE_BW --- */

/* The probe was too much: what was in flight then is the new bound. `at` has no loss if marks have shown it. */
CC_FN void bbr_on_too_high(BBR_ARGS, const struct bbr_lost *at)
{
	s->prev_probe_too_high = 1;
	s->bw_probe_samples = 0;
	if (!at->is_app_limited) {
		cc_u32 kept = bbr_part(bbr_target_inflight(r, s, k), BBR_UNIT - r->beta);

		s->inflight_hi = cc_max_u32(at->tx_in_flight, kept);
		if (r->marks_cut_bw && s->ecn_eligible && !s->got_ok_bw_probe_sample) {
			if (s->bw_hi == BBR_UNSET)
				s->bw_hi = bbr_max_bw(s);
			s->bw_hi = bbr_after_marks(s, s->bw_hi);
		}
	}
	if (bbr_is_in(s, BBR_UP)) {
		if (at->lost && r->saves_before_loss)
			s->undo_state = BBR_UNDO_UP;
		bbr_start_down(s, k);
	}
}

CC_FN void bbr_grow_inflight_hi(BBR_ARGS, const struct bbr_ack *a)
{
	if (!k->is_cwnd_limited || k->cwnd < s->inflight_hi) {
		if (!r->is_v3)
			s->bw_probe_up_acks = 0;
		return;
	}
	s->bw_probe_up_acks += a->acked;
	if (s->bw_probe_up_acks >= s->bw_probe_up_cnt) {
		cc_u32 steps = s->bw_probe_up_acks / cc_max_u32(s->bw_probe_up_cnt, 1);

		s->bw_probe_up_acks -= steps * s->bw_probe_up_cnt;
		s->inflight_hi += steps;
		if (r->is_v3)
			s->try_fast_path = 0;
	}
	if (s->round_start)
		bbr_raise_slope(s, k);
}

/* Returns whether this has begun a phase. */
CC_FN int bbr_update_upper_bounds(BBR_ARGS, const struct bbr_ack *a, cc_u32 sample)
{
	if (s->ack_phase == BBR_ACKS_STARTING && s->round_start)
		s->ack_phase = BBR_ACKS_FEEDBACK;
	if (s->ack_phase == BBR_ACKS_STOPPING && s->round_start) {
		s->bw_probe_samples = 0;
		s->ack_phase = BBR_ACKS_INIT;
		if (s->mode == BBR_PROBE_BW) {
			if (!a->is_app_limited && s->max_bw[1]) {
				s->max_bw[0] = s->max_bw[1];
				s->max_bw[1] = 0;
			}
			if (s->stopped_risky_probe && !s->prev_probe_too_high) {
				bbr_start_refill(s, k, 0);
				return 1;
			}
		}
	}
	if (bbr_is_too_high(r, s, a)) {
		struct bbr_lost at = { .tx_in_flight = a->tx_in_flight, .is_app_limited = a->is_app_limited };

		if (bbr_is_loss_too_high(r, a->tx_in_flight, a->lost))
			at.lost = a->lost;
		if (s->bw_probe_samples)
			bbr_on_too_high(r, s, k, &at);
		return 0;
	}
	if (r->marks_cut_bw && s->bw_probe_samples)
		s->got_ok_bw_probe_sample = 1;
	if (s->inflight_hi == BBR_UNSET && s->bw_hi == BBR_UNSET)
		return 0;
	s->inflight_hi = cc_max_u32(s->inflight_hi, a->tx_in_flight);
	s->bw_hi = cc_max_u32(s->bw_hi, sample);
	if (bbr_is_in(s, BBR_UP))
		bbr_grow_inflight_hi(r, s, k, a);
	return 0;
}

CC_FN int bbr_has_elapsed(const struct bbr_state *s, const struct bbr_sock *k, cc_u32 us)
{
	return k->now_us > s->cycle_us + us;
}

/* Returns whether a probe begins. */
CC_FN int bbr_probe_if_due(BBR_ARGS)
{
	if (r->ecn_reprobe_gain && s->ecn_eligible && s->ecn_in_cycle && !s->loss_in_cycle && k->ca_state == CC_OPEN) {
		/* The first round of UP adds about this share. */
		bbr_start_refill(s, k, bbr_log2(bbr_part(s->inflight_hi, r->ecn_reprobe_gain)));
		return 1;
	}
	if (!bbr_has_elapsed(s, k, s->probe_wait_us) &&
	    s->rounds_since_probe < cc_min_u32(BBR_MAX_ROUNDS, bbr_target_inflight(r, s, k)))
		return 0;
	bbr_start_refill(s, k, 0);
	return 1;
}

CC_FN int bbr_is_up_over(BBR_ARGS, cc_u32 in_network, cc_u32 sample)
{
	if (s->prev_probe_too_high && in_network >= s->inflight_hi) {
		s->stopped_risky_probe = 1;
		return 1;
	}
	if (!r->is_v3)
		return bbr_has_elapsed(s, k, s->min_rtt_us) &&
		       in_network >= bbr_inflight(r, s, k, bbr_max_bw(s), BBR_UNIT * 5 / 4);
	if (k->is_cwnd_limited && k->cwnd >= s->inflight_hi) {
		/* The bound, not the path, limits growth. */
		bbr_reset_full_bw(s, sample);
		return 0;
	}
	return s->full_bw_now;
}

CC_FN void bbr_update_cycle(BBR_ARGS, const struct bbr_ack *a, cc_u32 sample)
{
	cc_u32 in_network;

	if (!s->full_bw_reached || bbr_update_upper_bounds(r, s, k, a, sample) || s->mode != BBR_PROBE_BW)
		return;
	in_network = bbr_in_network(r, s, k, a->prior_in_flight);
	switch (s->phase) {
	case BBR_CRUISE:
		bbr_probe_if_due(r, s, k);
		break;
	case BBR_REFILL:
		if (s->round_start) {
			s->bw_probe_samples = 1;
			bbr_start_up(r, s, k, sample);
		}
		break;
	case BBR_UP:
		if (bbr_is_up_over(r, s, k, in_network, sample)) {
			s->prev_probe_too_high = 0;
			bbr_start_down(s, k);
		}
		break;
	default:
		if (!bbr_probe_if_due(r, s, k) && in_network <= bbr_with_headroom(s) &&
		    in_network <= bbr_inflight(r, s, k, bbr_max_bw(s), BBR_UNIT))
			bbr_start_cruise(s);
	}
}

/* --- The lowest RTT and PROBE_RTT --- */

CC_FN void bbr_save_cwnd(struct bbr_state *s, const struct bbr_sock *k)
{
	if (s->prev_ca_state < CC_RECOVERY && s->mode != BBR_PROBE_RTT)
		s->prior_cwnd = k->cwnd;
	else
		s->prior_cwnd = cc_max_u32(s->prior_cwnd, k->cwnd);
}

CC_FN void bbr_check_probe_rtt_done(struct bbr_state *s, struct bbr_sock *k)
{
	if (!s->probe_rtt_done_stamp || !bbr_after(k->jiffies, s->probe_rtt_done_stamp))
		return;
	s->probe_rtt_min_stamp = k->jiffies;
	k->cwnd = cc_max_u32(k->cwnd, s->prior_cwnd);
	bbr_reset_lower_bounds(s);
	if (s->full_bw_reached) {
		s->mode = BBR_PROBE_BW;
		bbr_start_down(s, k);
		bbr_start_cruise(s);
	} else {
		s->mode = BBR_STARTUP;
	}
}

CC_FN void bbr_stay_in_probe_rtt(BBR_ARGS)
{
	k->limits_samples = 1;
	if (!s->probe_rtt_done_stamp && k->in_flight <= bbr_probe_rtt_cwnd(s)) {
		s->probe_rtt_done_stamp = k->jiffies + r->probe_rtt;
		s->probe_rtt_round_done = 0;
		s->next_rtt_delivered = k->delivered;
	} else if (s->probe_rtt_done_stamp) {
		s->probe_rtt_round_done |= s->round_start;
		if (s->probe_rtt_round_done)
			bbr_check_probe_rtt_done(s, k);
	}
}

CC_FN void bbr_update_min_rtt(BBR_ARGS, const struct bbr_ack *a)
{
	int is_due = bbr_after(k->jiffies, s->probe_rtt_min_stamp + r->probe_rtt_window);
	int is_lower = a->rtt_us < s->probe_rtt_min_us || (!r->is_v3 && a->rtt_us == s->probe_rtt_min_us);

	if (a->rtt_us != BBR_UNSET && (is_lower || (is_due && !a->is_ack_delayed))) {
		s->probe_rtt_min_us = a->rtt_us;
		s->probe_rtt_min_stamp = k->jiffies;
	}
	if (s->probe_rtt_min_us <= s->min_rtt_us || bbr_after(k->jiffies, s->min_rtt_stamp + r->min_rtt_window)) {
		s->min_rtt_us = s->probe_rtt_min_us;
		s->min_rtt_stamp = s->probe_rtt_min_stamp;
	}
	if (is_due && !s->idle_restart && s->mode != BBR_PROBE_RTT) {
		s->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(s, k);
		s->probe_rtt_done_stamp = 0;
		s->ack_phase = BBR_ACKS_STOPPING;
		s->next_rtt_delivered = k->delivered;
	}
	if (s->mode == BBR_PROBE_RTT)
		bbr_stay_in_probe_rtt(r, s, k);
	if (a->delivered)
		s->idle_restart = 0;
}

/* --- Rate and window --- */

CC_FN void bbr_update_gains(const struct bbr_rules *r, struct bbr_state *s)
{
	s->pacing_gain = BBR_UNIT;
	s->cwnd_gain = 2 * BBR_UNIT;
	switch (s->mode) {
	case BBR_STARTUP:
		s->pacing_gain = r->startup_gain;
		s->cwnd_gain = r->startup_cwnd_gain;
		break;
	case BBR_DRAIN:
		s->pacing_gain = r->drain_gain;
		s->cwnd_gain = r->startup_cwnd_gain;
		break;
	case BBR_PROBE_RTT:
		s->cwnd_gain = BBR_UNIT;
		break;
	default:
		if (s->phase == BBR_UP) {
			s->pacing_gain = BBR_UNIT * 5 / 4;
			s->cwnd_gain = r->up_cwnd_gain;
		} else if (s->phase == BBR_DOWN) {
			s->pacing_gain = r->down_gain;
		}
	}
}

/* The rate never falls before the pipe is full. */
CC_FN void bbr_set_pacing_rate(BBR_ARGS, cc_u32 bw, cc_u32 gain)
{
	cc_u64 rate = bbr_rate(bw, k->mss, gain);

	if (!s->has_seen_rtt && k->srtt_us) {
		s->has_seen_rtt = 1;
		k->pacing_rate = bbr_first_rate(r, k);
	}
	if (s->full_bw_reached || rate > k->pacing_rate)
		k->pacing_rate = rate;
}

CC_FN void bbr_set_cwnd(BBR_ARGS, const struct bbr_ack *a, cc_u32 bw)
{
	if (a->acked) {
		cc_u32 extra = cc_max_u32(s->extra_acked[0], s->extra_acked[1]);
		cc_u32 target = bbr_bdp(s, bw, s->cwnd_gain) + cc_min_u32(extra, bbr_carried(bbr_bw(s), 100000));
		cc_u32 cwnd = k->cwnd;

		target = bbr_quantise(r, s, k, target);
		s->try_fast_path = 0;
		if (s->full_bw_reached) {
			cwnd += a->acked;
			if (cwnd >= target) {
				cwnd = target;
				s->try_fast_path = 1;
			}
		} else if (cwnd < target || cwnd < 2 * s->init_cwnd) {
			cwnd += a->acked;
		} else {
			s->try_fast_path = 1;
		}
		k->cwnd = cc_max_u32(cwnd, BBR_MIN_CWND);
	}
	if (s->mode == BBR_PROBE_RTT)
		k->cwnd = cc_min_u32(k->cwnd, bbr_probe_rtt_cwnd(s));
}

/* The bounds of the model apply to the window. */
CC_FN void bbr_bound_cwnd(struct bbr_state *s, struct bbr_sock *k)
{
	cc_u32 cap = BBR_UNSET;

	if (s->mode == BBR_PROBE_BW && s->phase != BBR_CRUISE)
		cap = s->inflight_hi;
	else if (s->mode == BBR_PROBE_RTT || s->mode == BBR_PROBE_BW)
		cap = bbr_with_headroom(s);
	cap = cc_max_u32(cc_min_u32(cap, s->inflight_lo), BBR_MIN_CWND);
	k->cwnd = cc_min_u32(k->cwnd, cap);
}

#endif
