/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v2 alpha, with the constants of Google's tcp_bbr2.c. `hz` is the host's jiffies per second; what a scenario may set stands in the
 * rules afterwards: loss_threshold, beta, ecn_max_rtt_us, ecn_reprobe_gain, and marks_cut_bw for the revision of 2020.
 */
#ifndef QUELL_CORE_BBR2_H
#define QUELL_CORE_BBR2_H

#include "bbr.h"

CC_FN void bbr2_rules(struct bbr_rules *r, cc_u32 hz)
{
	struct bbr_rules v2 = {
		.min_rtt_window = 10 * hz,
		.probe_rtt_window = 5 * hz,
		.probe_rtt = (hz + 4) / 5,
		.startup_gain = BBR_UNIT * 2885 / 1000 + 1,
		.startup_cwnd_gain = BBR_UNIT * 2885 / 1000 + 1,
		.drain_gain = BBR_UNIT * 1000 / 2885,
		.down_gain = BBR_UNIT * 3 / 4,
		.up_cwnd_gain = 2 * BBR_UNIT,
		.full_loss_count = 8,
		.loss_threshold = BBR_UNIT * 2 / 100,
		.beta = BBR_UNIT * 30 / 100,
		.largest = BBR_LARGEST,
		.ecn_max_rtt_us = 5000,
		.marks = BBR_MARKS_V2,
	};

	*r = v2;
}

#endif
