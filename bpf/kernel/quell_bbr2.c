// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* BBR v2 alpha in a kernel, with the defaults of Google's tcp_bbr2.c; see quell_bbr.h. */
#include "quell_kernel.h"
#include "core/bbr2.h"

#define QUELL_RULES(r) bbr2_rules(r, HZ)
#define QUELL_NAME "bbr2"
#define QUELL_TEXT "BBR v2 alpha"
#define QUELL_SINGLES
#include "quell_bbr.h"
