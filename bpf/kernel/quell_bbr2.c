// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* BBR v2 alpha in a kernel, with the defaults of Google's tcp_bbr2.c; see quell_bbr.h. */
#include "quell_kernel.h"
#include "core/bbr2.h"

static struct bbr_rules rules __read_mostly;

/* For all connections together; to be set while there is none. */
module_param_named(loss_threshold, rules.loss_threshold, uint, 0644);	/* in 1/256 */
module_param_named(beta, rules.beta, uint, 0644);			/* in 1/256 */
module_param_named(revision, rules.marks_cut_bw, byte, 0644);		/* 1: of 2020 */

#define QUELL_RULES(r) bbr2_rules(r, HZ)
#define QUELL_NAME "bbr2"
#define QUELL_TEXT "BBR v2 alpha"
#define QUELL_SINGLES
#include "quell_bbr.h"
