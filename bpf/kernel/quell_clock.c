// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The time of day of a guest, for whoever may write /sys/module/quell_clock/parameters/forward: so many minutes later than now.
 *
 * clock_settime(2) does the same, but also stirs the time into the kernel's random pool (do_settimeofday64, kernel/time/timekeeping.c): a run
 * would then draw other random numbers on another day. The clock is put forward as settimeofday(2) does for a local time, which leaves the pool as
 * it is.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/time.h>
#include <linux/timekeeping.h>

/* Of kernel/time/timekeeping.h, which is beside its own files only. */
void timekeeping_warp_clock(void);

/* The kernel multiplies minutes by 60 in an int: 68 years. */
#define MOST_MINUTES (INT_MAX / 60)

static int quell_clock_forward(const char *value, const struct kernel_param *parameter)
{
	const struct timezone kept = sys_tz;
	int minutes;
	int error = kstrtoint(value, 10, &minutes);

	if (error)
		return error;
	if (minutes < 0 || minutes > MOST_MINUTES)
		return -ERANGE;
	sys_tz.tz_minuteswest = minutes;
	timekeeping_warp_clock();
	sys_tz = kept;
	return 0;
}

static const struct kernel_param_ops quell_clock_ops = {
	.set = quell_clock_forward,
};

module_param_cb(forward, &quell_clock_ops, NULL, 0200);
