/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR v2 alpha, with the constants of Google's tcp_bbr2.c and without ECN, which is its default too; see quell_bbr.h. */
#define BBR_NAME "bbr2"
#define BBR_IS_V3 0
#define bbr_usual_rules bbr2_rules
#include "quell_bbr.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
