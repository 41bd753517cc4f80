/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR v3, with the constants of Google's tcp_bbr.c of 2023 and 2025, or tcp_bbr3.c of 2026. `hz` is the host's jiffies per second.
 *
 * What is_v3 stands for: the test for a full pipe looks at each sample, and ends UP too; the memory of the last round is kept until the end
 * of an ACK; ACKs that did not count for growth are kept; start-up that ends by loss keeps what the last round delivered; only a lower RTT
 * renews the lowest; bw_lo is at least 1; a time-out or an undo resets all of the test; a loss that a probe has repaired counts; a
 * super-segment has two segments at least.
 */
#ifndef QUELL_CORE_BBR3_H
#define QUELL_CORE_BBR3_H

#include "bbr.h"

CC_FN void bbr3_rules_2023(struct bbr_rules *r, cc_u32 hz)
{
	struct bbr_rules v3 = {
		.min_rtt_window = 10 * hz,
		.probe_rtt_window = 5 * hz,
		.probe_rtt = (hz + 4) / 5,
		.startup_gain = BBR_UNIT * 277 / 100 + 1,
		.startup_cwnd_gain = 2 * BBR_UNIT,
		.drain_gain = BBR_UNIT * 1000 / 2885,
		.down_gain = BBR_UNIT * 91 / 100,
		.up_cwnd_gain = BBR_UNIT * 9 / 4,
		.full_loss_count = 6,
		.loss_threshold = BBR_UNIT * 2 / 100,
		.beta = BBR_UNIT * 30 / 100,
		.largest = BBR_LARGEST,
		.ecn_max_rtt_us = 5000,
		.ecn_reprobe_gain = BBR_UNIT / 2,
		.marks = BBR_MARKS_V3,
		.is_v3 = 1,
	};

	*r = v3;
}

CC_FN void bbr3_rules_2026(struct bbr_rules *r, cc_u32 hz)
{
	bbr3_rules_2023(r, hz);
	r->drain_gain = BBR_UNIT / 2;
	r->drain_rounds = 3;
	r->largest = 65536;
	r->ecn_reprobe_gain = 0;
	r->marks = BBR_MARKS_IGNORED;
	r->saves_before_loss = 1;
}

#endif
