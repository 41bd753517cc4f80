// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* BBR v3 in a kernel, with the defaults of Google's tcp_bbr.c of 2023; see quell_bbr.h. */
#include "quell_kernel.h"
#include "core/bbr3.h"

static struct bbr_rules rules __read_mostly;

#define QUELL_RULES(r) bbr3_rules_2023(r, HZ)
#define QUELL_NAME "bbr3"
#define QUELL_TEXT "BBR v3 of 2023"
#include "quell_bbr.h"
