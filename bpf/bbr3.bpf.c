/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR v3 of 2023, with the constants of Google's tcp_bbr.c and without ECN, which needs a feature of the route there; see quell_bbr.h. */
#define BBR_NAME "bbr3"
#define BBR_IS_V3 1
#define bbr_usual_rules bbr3_rules_2023
#include "quell_bbr.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
