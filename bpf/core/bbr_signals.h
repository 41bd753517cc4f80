/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3: phases; what an ACK shows; start-up and DRAIN; see bbr.h.
 */
#ifndef QUELL_CORE_BBR_SIGNALS_H
#define QUELL_CORE_BBR_SIGNALS_H

#include "bbr_state.h"

/* --- Phases --- */

CC_FN void bbr_reset_full_bw(struct bbr_state *s, cc_u32 from)
{
	s->full_bw = from;
	s->full_bw_cnt = 0;
	s->full_bw_now = 0;
}

CC_FN void bbr_reset_lower_bounds(struct bbr_state *s)
{
	s->bw_lo = BBR_UNSET;
	s->inflight_lo = BBR_UNSET;
}

CC_FN void bbr_reset_signals(struct bbr_state *s)
{
	s->loss_in_round = 0;
	s->ecn_in_round = 0;
	s->loss_in_cycle = 0;
	s->ecn_in_cycle = 0;
	s->bw_latest = 0;
	s->inflight_latest = 0;
}

CC_FN void bbr_set_phase(struct bbr_state *s, cc_u8 phase)
{
	s->phase = phase;
	s->try_fast_path = 0;
}

CC_FN void bbr_start_refill(struct bbr_state *s, const struct bbr_sock *k, cc_u8 up_rounds)
{
	bbr_reset_lower_bounds(s);
	s->bw_probe_up_rounds = up_rounds;
	s->bw_probe_up_acks = 0;
	s->stopped_risky_probe = 0;
	s->got_ok_bw_probe_sample = 0;
	s->ack_phase = BBR_ACKS_REFILLING;
	s->next_rtt_delivered = k->delivered;
	bbr_set_phase(s, BBR_REFILL);
}

/* Each round of UP doubles the growth. */
CC_FN void bbr_raise_slope(struct bbr_state *s, const struct bbr_sock *k)
{
	cc_u32 growth = 1U << (s->bw_probe_up_rounds & 31);

	s->bw_probe_up_rounds = s->bw_probe_up_rounds < 30 ? s->bw_probe_up_rounds + 1 : 30;
	s->bw_probe_up_cnt = cc_max_u32(k->cwnd / growth, 1);
}

CC_FN void bbr_start_up(BBR_ARGS, cc_u32 sample)
{
	s->ack_phase = BBR_ACKS_STARTING;
	s->next_rtt_delivered = k->delivered;
	s->cycle_us = k->now_us;
	if (r->is_v3)
		bbr_reset_full_bw(s, sample);
	bbr_set_phase(s, BBR_UP);
	bbr_raise_slope(s, k);
}

CC_FN void bbr_start_down(struct bbr_state *s, const struct bbr_sock *k)
{
	bbr_reset_signals(s);
	s->bw_probe_up_cnt = BBR_UNSET;
	s->rounds_since_probe = (cc_u8)CC_RANDOM_BELOW(2);
	s->probe_wait_us = BBR_WAIT_US + CC_RANDOM_BELOW(BBR_RANDOM_WAIT_US);
	s->cycle_us = k->now_us;
	s->ack_phase = BBR_ACKS_STOPPING;
	s->next_rtt_delivered = k->delivered;
	bbr_set_phase(s, BBR_DOWN);
}

CC_FN void bbr_start_cruise(struct bbr_state *s)
{
	if (s->inflight_lo != BBR_UNSET)
		s->inflight_lo = cc_min_u32(s->inflight_lo, s->inflight_hi);
	bbr_set_phase(s, BBR_CRUISE);
}

/* Loss or marks have shown that the pipe is full. */
CC_FN void bbr_end_startup(BBR_ARGS)
{
	s->full_bw_reached = 1;
	s->inflight_hi = bbr_inflight(r, s, k, bbr_max_bw(s), BBR_UNIT);
	if (r->is_v3)
		s->inflight_hi = cc_max_u32(s->inflight_hi, s->inflight_latest);
}

/* --- What an ACK shows --- */

CC_FN void bbr_check_eligible(BBR_ARGS)
{
	if (k->can_use_ecn && (!r->ecn_max_rtt_us || s->min_rtt_us <= r->ecn_max_rtt_us))
		s->ecn_eligible = 1;
}

/* Gain 1/16: below 6.25 % of marks it rounds to zero, and alpha only falls. */
CC_FN void bbr_update_alpha(BBR_ARGS)
{
	cc_u32 delivered = k->delivered - s->alpha_last_delivered;
	cc_u32 marked = k->delivered_ce - s->alpha_last_delivered_ce;
	cc_u64 ratio, alpha;

	if (!delivered)
		return;
	if (r->marks == BBR_MARKS_V2)
		bbr_check_eligible(r, s, k);
	ratio = CC_DIV((cc_u64)marked << 8, (cc_u64)delivered);
	alpha = bbr_part(s->ecn_alpha, BBR_UNIT - BBR_UNIT / 16) + ((BBR_UNIT / 16 * ratio) >> 8);
	s->ecn_alpha = alpha < BBR_UNIT ? (cc_u32)alpha : BBR_UNIT;
	s->alpha_last_delivered = k->delivered;
	s->alpha_last_delivered_ce = k->delivered_ce;
	if (s->full_bw_reached || !s->ecn_eligible)
		return;
	if (ratio >= BBR_UNIT / 2)
		s->startup_ecn_rounds++;
	else
		s->startup_ecn_rounds = 0;
	if (s->startup_ecn_rounds >= 2)
		bbr_end_startup(r, s, k);
}

CC_FN void bbr_update_round(BBR_ARGS, const struct bbr_ack *a)
{
	s->round_start = a->interval_us && !bbr_after(s->next_rtt_delivered, a->prior_delivered);
	if (!s->round_start)
		return;
	s->next_rtt_delivered = k->delivered;
	if (s->rounds_since_probe < 255)
		s->rounds_since_probe++;
	if (r->marks == BBR_MARKS_V2) {
		bbr_update_alpha(r, s, k);
	} else if (r->marks == BBR_MARKS_V3) {
		bbr_check_eligible(r, s, k);
		if (s->ecn_eligible)
			bbr_update_alpha(r, s, k);
	}
}

CC_FN int bbr_is_observation(const struct bbr_ack *a)
{
	return a->interval_us && a->acked;
}

/* What the last round delivered, and whether another round of loss begins. */
CC_FN void bbr_update_latest(struct bbr_state *s, const struct bbr_sock *k, const struct bbr_ack *a, cc_u32 sample)
{
	s->loss_round_start = 0;
	if (!bbr_is_observation(a))
		return;
	s->bw_latest = cc_max_u32(s->bw_latest, sample);
	s->inflight_latest = cc_max_u32(s->inflight_latest, a->delivered);
	if (!bbr_after(s->loss_round_delivered, a->prior_delivered)) {
		s->loss_round_delivered = k->delivered;
		s->loss_round_start = 1;
	}
}

CC_FN void bbr_forget_latest(struct bbr_state *s, const struct bbr_ack *a, cc_u32 sample)
{
	s->bw_latest = sample;
	s->inflight_latest = a->delivered;
}

/* What marks leave of a bound: 1 - alpha/3. */
CC_FN cc_u32 bbr_after_marks(const struct bbr_state *s, cc_u32 bound)
{
	return bbr_part(bound, BBR_UNIT - bbr_part(s->ecn_alpha, BBR_UNIT / 3));
}

CC_FN void bbr_set_lower_bounds(struct bbr_state *s, const struct bbr_sock *k, int with_bw)
{
	if (with_bw && s->bw_lo == BBR_UNSET)
		s->bw_lo = bbr_max_bw(s);
	if (s->inflight_lo == BBR_UNSET)
		s->inflight_lo = k->cwnd;
}

/* A round is over: loss and marks cut the lower bounds, except during a probe. */
CC_FN void bbr_cut_lower_bounds(BBR_ARGS)
{
	cc_u32 marked_bw = BBR_UNSET, marked_inflight = BBR_UNSET;

	if (bbr_is_probing(s))
		return;
	if (s->ecn_in_round && s->ecn_eligible) {
		bbr_set_lower_bounds(s, k, r->marks_cut_bw);
		marked_inflight = bbr_after_marks(s, s->inflight_lo);
		if (r->marks_cut_bw)
			marked_bw = bbr_after_marks(s, s->bw_lo);
	}
	if (s->loss_in_round) {
		bbr_set_lower_bounds(s, k, 1);
		s->bw_lo = cc_max_u32(s->bw_latest, bbr_part(s->bw_lo, BBR_UNIT - r->beta));
		s->inflight_lo = cc_max_u32(s->inflight_latest, bbr_part(s->inflight_lo, BBR_UNIT - r->beta));
	}
	s->inflight_lo = cc_min_u32(s->inflight_lo, marked_inflight);
	s->bw_lo = cc_min_u32(s->bw_lo, marked_bw);
	if (r->is_v3)
		s->bw_lo = cc_max_u32(s->bw_lo, 1);
}

CC_FN void bbr_update_signals(BBR_ARGS, const struct bbr_ack *a, cc_u32 sample)
{
	if (!r->is_v3)
		s->loss_round_start = 0;
	if (!bbr_is_observation(a))
		return;
	if (!a->is_app_limited || sample >= bbr_max_bw(s))
		s->max_bw[1] = cc_max_u32(s->max_bw[1], sample);
	if (a->losses)
		s->loss_in_round = 1;
	if (!r->is_v3)
		bbr_update_latest(s, k, a, sample);
	if (!s->loss_round_start)
		return;
	bbr_cut_lower_bounds(r, s, k);
	s->loss_in_round = 0;
	s->ecn_in_round = 0;
	if (!r->is_v3)
		bbr_forget_latest(s, a, sample);
}

/* Packets acknowledged beyond what bandwidth explains, the most in five to ten rounds. */
CC_FN void bbr_update_aggregation(struct bbr_state *s, const struct bbr_sock *k, const struct bbr_ack *a)
{
	cc_u32 expected, extra, *slot;

	if (!bbr_is_observation(a))
		return;
	if (s->round_start) {
		if (s->extra_acked_win_rtts < 31)
			s->extra_acked_win_rtts++;
		if (s->extra_acked_win_rtts >= (s->full_bw_reached ? 5 : 1)) {
			s->extra_acked_win_rtts = 0;
			s->extra_acked_win_idx ^= 1;
			s->extra_acked[s->extra_acked_win_idx & 1] = 0;
		}
	}
	expected = 0;
	if (k->delivered_us > s->ack_epoch_us)
		expected = bbr_carried(bbr_bw(s), (cc_u32)(k->delivered_us - s->ack_epoch_us));
	if (s->ack_epoch_acked <= expected || s->ack_epoch_acked + a->acked >= BBR_EPOCH_LIMIT) {
		s->ack_epoch_acked = 0;
		s->ack_epoch_us = k->delivered_us;
		expected = 0;
	}
	s->ack_epoch_acked = cc_min_u32(s->ack_epoch_acked + a->acked, BBR_EPOCH_LIMIT - 1);
	extra = cc_min_u32(s->ack_epoch_acked - expected, k->cwnd);
	slot = &s->extra_acked[s->extra_acked_win_idx & 1];
	if (extra > *slot)
		*slot = extra & 0xffff;
}

CC_FN int bbr_is_loss_too_high(const struct bbr_rules *r, cc_u32 tx_in_flight, cc_u32 lost)
{
	return lost && tx_in_flight && lost > bbr_part(tx_in_flight, r->loss_threshold);
}

CC_FN int bbr_is_too_high(const struct bbr_rules *r, const struct bbr_state *s, const struct bbr_ack *a)
{
	cc_u32 most;

	if (bbr_is_loss_too_high(r, a->tx_in_flight, a->lost))
		return 1;
	if (!a->delivered_ce || !a->delivered || !s->ecn_eligible)
		return 0;
	most = bbr_part(a->delivered, BBR_UNIT / 2);
	return r->marks == BBR_MARKS_V2 ? a->delivered_ce >= most : a->delivered_ce > most;
}

/* --- Start-up and DRAIN --- */

CC_FN void bbr_check_startup_loss(BBR_ARGS, const struct bbr_ack *a)
{
	if (s->full_bw_reached)
		return;
	if (a->losses && s->loss_events_in_round < 15)
		s->loss_events_in_round++;
	if (!s->loss_round_start)
		return;
	if (k->ca_state == CC_RECOVERY && s->loss_events_in_round >= r->full_loss_count && bbr_is_too_high(r, s, a)) {
		if (r->saves_before_loss)
			s->undo_state = BBR_UNDO_STARTUP;
		bbr_end_startup(r, s, k);
		return;
	}
	s->loss_events_in_round = 0;
}

CC_FN void bbr_check_full_bw(const struct bbr_rules *r, struct bbr_state *s, const struct bbr_ack *a, cc_u32 sample)
{
	cc_u32 bw = r->is_v3 ? sample : bbr_max_bw(s);

	if (a->is_app_limited)
		return;
	if (r->is_v3 ? s->full_bw_now : s->full_bw_reached || !s->round_start)
		return;
	if (bw >= bbr_part(s->full_bw, BBR_UNIT * 5 / 4)) {
		bbr_reset_full_bw(s, bw);
		return;
	}
	if (!s->round_start)
		return;
	s->full_bw_cnt++;
	if (s->full_bw_cnt < 3)
		return;
	s->full_bw_reached = 1;
	if (r->is_v3)
		s->full_bw_now = 1;
}

CC_FN void bbr_check_drain(BBR_ARGS)
{
	if (s->mode == BBR_STARTUP && s->full_bw_reached) {
		s->mode = BBR_DRAIN;
		s->drain_rounds = 0;
		k->ssthresh = bbr_inflight(r, s, k, bbr_max_bw(s), BBR_UNIT);
		bbr_reset_signals(s);
	}
	if (s->mode != BBR_DRAIN)
		return;
	if (r->drain_rounds && s->round_start)
		s->drain_rounds++;
	if (bbr_in_network(r, s, k, k->in_flight) <= bbr_inflight(r, s, k, bbr_max_bw(s), BBR_UNIT) ||
	    (r->drain_rounds && s->drain_rounds > r->drain_rounds)) {
		s->mode = BBR_PROBE_BW;
		bbr_start_down(s, k);
	}
}

#endif
