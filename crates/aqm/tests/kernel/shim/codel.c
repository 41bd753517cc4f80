/* The qdisc codel, and its two functions by themselves. */
#include "shim.h"
#include KERNEL_FILE
#include "driver.h"

static int attribute(const char *name)
{
	static const char *const names[TCA_CODEL_MAX + 1] = {
		[TCA_CODEL_TARGET] = "target",
		[TCA_CODEL_LIMIT] = "limit",
		[TCA_CODEL_INTERVAL] = "interval",
		[TCA_CODEL_ECN] = "ecn",
		[TCA_CODEL_CE_THRESHOLD] = "ce_threshold",
	};

	for (int i = 0; i <= TCA_CODEL_MAX; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

static void tell_state(struct Qdisc *sch)
{
	struct codel_vars *vars = &((struct codel_sched_data *)qdisc_priv(sch))->vars;

	printf("%u %u %d %u %u %u %u", vars->count, vars->lastcount, vars->dropping, vars->rec_inv_sqrt,
	       vars->first_above_time, vars->drop_next, vars->ldelay);
}

/* newton ROOT COUNT, control T INTERVAL ROOT */
static bool command(const char *word)
{
	if (!strcmp(word, "newton")) {
		struct codel_vars vars = {};

		vars.rec_inv_sqrt = number();
		vars.count = number();
		codel_Newton_step(&vars);
		printf("%u\n", vars.rec_inv_sqrt);
		return true;
	}
	if (!strcmp(word, "control")) {
		codel_time_t t = number();
		codel_time_t interval = number();

		printf("%u\n", codel_control_law(t, interval, number()));
		return true;
	}
	return false;
}
