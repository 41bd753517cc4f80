/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 and v3 with the integer arithmetic of Google's tcp_bbr2.c, tcp_bbr.c and tcp_bbr3.c, restated: one machine whose rules come from
 * bbr2.h or bbr3.h. Both bound what is in flight: inflight_hi is what probes have found to be safe, inflight_lo and bw_lo give way to loss
 * and marks between two probes.
 *
 * Bandwidths are in packets per microsecond times 2^24, gains and fractions in 1/256, windows in packets, times in microseconds or jiffies;
 * products are of 64 bits, in a fixed order. Counts wrap at 2^32. What Linux keeps in narrow fields has the same width here.
 *
 * A shell fills struct bbr_sock before each call, and takes over afterwards cwnd, ssthresh and pacing_rate, and app_limited = delivered +
 * in_flight where limits_samples is set. Order on an ACK: bbr_on_lost for each segment found lost, bbr_on_reduction, bbr_on_state,
 * bbr_on_ack. The same machine in Rust is crates/tcp/src/cc/bbr/bounded.
 *
 * Besides what core.h lets it define, a program must define CC_RANDOM_BELOW(n), a uniform random number below n.
 */
#ifndef QUELL_CORE_BBR_H
#define QUELL_CORE_BBR_H

#include "bbr_probe.h"

/* --- Calls --- */

/* A new connection; sets ssthresh and the first pacing rate. */
CC_FN void bbr_start(BBR_ARGS)
{
	struct bbr_state fresh = {
		.ack_epoch_us = k->now_us,
		.min_rtt_us = k->min_rtt_us,
		.min_rtt_stamp = k->jiffies,
		.probe_rtt_min_us = k->min_rtt_us,
		.probe_rtt_min_stamp = k->jiffies,
		.next_rtt_delivered = r->is_v3 ? k->delivered : 0,
		.prior_cwnd = k->prior_cwnd,
		.loss_round_delivered = k->delivered + 1,
		.bw_lo = BBR_UNSET,
		.bw_hi = BBR_UNSET,
		.inflight_lo = BBR_UNSET,
		.inflight_hi = BBR_UNSET,
		.bw_probe_up_cnt = BBR_UNSET,
		.ecn_alpha = BBR_UNIT,
		.init_cwnd = cc_min_u32(k->cwnd, 127),
		.has_seen_rtt = k->srtt_us != 0,
	};

	*s = fresh;
	k->ssthresh = BBR_UNSET;
	k->pacing_rate = bbr_first_rate(r, k);
}

/* An ACK whose losses are known. */
CC_FN void bbr_on_ack(BBR_ARGS, const struct bbr_ack *a)
{
	cc_u32 sample = bbr_bw_sample(a), min_rtt_us = s->min_rtt_us;
	cc_u8 mode = s->mode;
	int is_fast;

	bbr_update_round(r, s, k, a);
	if (a->is_ece && (r->marks == BBR_MARKS_V2 || (r->marks == BBR_MARKS_V3 && s->ecn_eligible)))
		s->ecn_in_round = 1;
	if (r->is_v3)
		bbr_update_latest(s, k, a, sample);

	/* An app-limited sample below the maximum need not touch the model, and where it changes nothing, neither rate nor window. */
	is_fast = s->try_fast_path && a->is_app_limited && sample < bbr_max_bw(s) && !s->loss_in_round && !s->ecn_in_round;
	if (!is_fast) {
		bbr_update_signals(r, s, k, a, sample);
		bbr_update_aggregation(s, k, a);
		bbr_check_startup_loss(r, s, k, a);
		bbr_check_full_bw(r, s, a, sample);
	}
	bbr_check_drain(r, s, k);
	bbr_update_cycle(r, s, k, a, sample);
	bbr_update_min_rtt(r, s, k, a);
	if (!is_fast || mode != s->mode || min_rtt_us != s->min_rtt_us || !s->try_fast_path) {
		bbr_update_gains(r, s);
		bbr_set_pacing_rate(r, s, k, bbr_bw(s), s->pacing_gain);
		bbr_set_cwnd(r, s, k, a, bbr_bw(s));
		bbr_bound_cwnd(s, k);
	}

	/* A probe that plugs a tail loss must not hide what was delivered before the loss. */
	if (r->is_v3 && s->loss_round_start && !a->is_probe_acked)
		bbr_forget_latest(s, a, sample);
	s->prev_ca_state = (cc_u8)k->ca_state;
	if (a->lost)
		s->loss_in_cycle = 1;
	if (a->delivered_ce)
		s->ecn_in_cycle = 1;
}

CC_FN void bbr_save(struct bbr_state *s, const struct bbr_sock *k)
{
	bbr_save_cwnd(s, k);
	s->undo_bw_lo = s->bw_lo;
	s->undo_inflight_lo = s->inflight_lo;
	s->undo_inflight_hi = s->inflight_hi;
	s->undo_state = BBR_UNDO_NONE;
}

CC_FN void bbr_note_loss(struct bbr_state *s, const struct bbr_sock *k)
{
	if (!s->loss_in_round)
		s->loss_round_delivered = k->delivered;
	s->loss_in_round = 1;
	s->loss_in_cycle = 1;
}

/* What was in flight when loss became too much: solves (lost before + x) / (in flight before + x) = threshold for x. */
CC_FN cc_u32 bbr_level_at_loss(const struct bbr_rules *r, const struct bbr_lost *l)
{
	cc_u32 in_flight = l->tx_in_flight - 1, before = l->lost - 1, budget;

	if (!l->tx_in_flight || !l->lost)
		return BBR_UNSET;
	budget = (cc_u32)(((cc_u64)in_flight * r->loss_threshold + BBR_UNIT - 1) >> 8);
	if (before >= budget)
		return in_flight;
	return in_flight + (cc_u32)CC_DIV((cc_u64)(budget - before) << 8, (cc_u64)(BBR_UNIT - r->loss_threshold));
}

/* A segment was found lost: skb_marked_lost. */
CC_FN void bbr_on_lost(BBR_ARGS, const struct bbr_lost *l)
{
	if (r->saves_before_loss && !s->loss_yet_in_recovery) {
		s->loss_yet_in_recovery = 1;
		bbr_save(s, k);
	}
	bbr_note_loss(s, k);
	if (s->bw_probe_samples && bbr_is_loss_too_high(r, l->tx_in_flight, l->lost)) {
		struct bbr_lost at = { .tx_in_flight = bbr_level_at_loss(r, l), .lost = l->lost, .is_app_limited = l->is_app_limited };

		bbr_on_too_high(r, s, k, &at);
	}
}

/* A tail loss probe has repaired the loss of a segment: CA_EVENT_TLP_RECOVERY. */
CC_FN void bbr_on_probe_repair(BBR_ARGS, cc_u32 is_app_limited)
{
	if (!r->is_v3)
		return;
	bbr_note_loss(s, k);
	if (s->bw_probe_samples && bbr_is_loss_too_high(r, s->inflight_latest + 1, 1)) {
		struct bbr_lost at = { .tx_in_flight = s->inflight_latest + 1, .lost = 1, .is_app_limited = is_app_limited };

		bbr_on_too_high(r, s, k, &at);
	}
}

/* A reduction begins: ssthresh, which returns the threshold as it is. */
CC_FN void bbr_on_reduction(BBR_ARGS)
{
	if (!r->saves_before_loss)
		bbr_save(s, k);
}

/* The state of loss recovery becomes `new`: set_state. */
CC_FN void bbr_on_state(BBR_ARGS, cc_u32 new_state)
{
	if (new_state < CC_RECOVERY)
		s->loss_yet_in_recovery = 0;
	if (new_state == CC_LOSS) {
		cc_u32 window = s->prior_cwnd;

		s->prev_ca_state = CC_LOSS;
		if (r->is_v3) {
			bbr_reset_full_bw(s, 0);
			window = cc_max_u32(window, k->cwnd);
		} else {
			s->full_bw = 0;
		}
		if (!bbr_is_probing(s) && s->inflight_lo == BBR_UNSET)
			s->inflight_lo = window;
	} else if (s->prev_ca_state == CC_LOSS) {
		k->cwnd = cc_max_u32(k->cwnd, s->prior_cwnd);
		s->try_fast_path = 0;
	}
}

/* A reduction was spurious: undo_cwnd. Returns the window to go on with. */
CC_FN cc_u32 bbr_on_undo(BBR_ARGS)
{
	struct bbr_ack nothing = { .rtt_us = BBR_UNSET, .prior_in_flight = k->in_flight };

	bbr_reset_full_bw(s, 0);
	s->loss_in_round = 0;
	s->bw_lo = cc_max_u32(s->bw_lo, s->undo_bw_lo);
	s->inflight_lo = cc_max_u32(s->inflight_lo, s->undo_inflight_lo);
	s->inflight_hi = cc_max_u32(s->inflight_hi, s->undo_inflight_hi);
	if (r->is_v3)
		s->try_fast_path = 0;
	if (!r->saves_before_loss)
		return s->prior_cwnd;

	s->loss_events_in_round = 0;
	s->loss_round_start = 0;
	s->loss_round_delivered = k->delivered;
	if (s->undo_state == BBR_UNDO_STARTUP && s->mode != BBR_STARTUP) {
		s->full_bw_reached = 0;
		if (s->mode != BBR_PROBE_RTT)
			s->mode = BBR_STARTUP;
	} else if (s->undo_state == BBR_UNDO_UP && !bbr_is_in(s, BBR_UP) && s->mode != BBR_PROBE_RTT) {
		s->mode = BBR_PROBE_BW;
		bbr_start_refill(s, k, 0);
	}
	s->undo_state = BBR_UNDO_NONE;
	k->cwnd = cc_max_u32(k->cwnd, s->prior_cwnd);
	/* The stack may not report this ACK: the bounds must apply now. */
	bbr_on_ack(r, s, k, &nothing);
	return k->cwnd;
}

/* The first segment leaves after a pause: CA_EVENT_TX_START. */
CC_FN void bbr_on_restart(BBR_ARGS)
{
	if (!k->app_limited)
		return;
	s->idle_restart = 1;
	s->ack_epoch_us = k->now_us;
	s->ack_epoch_acked = 0;
	if (s->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(r, s, k, bbr_bw(s), BBR_UNIT);
	else if (s->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(s, k);
}

#endif
