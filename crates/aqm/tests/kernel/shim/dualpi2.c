/* The qdisc dualpi2: what it does to packets, and its parameters, cut out. */
#include "shim.h"
#include KERNEL_FILE
#include "driver.h"

static struct Qdisc_ops dualpi2 = {
	.priv_size = sizeof(struct dualpi2_sched_data),
	.enqueue = dualpi2_qdisc_enqueue,
	.dequeue = dualpi2_qdisc_dequeue,
	.init = dualpi2_init,
	.reset = dualpi2_reset,
	.change = dualpi2_change,
};
static int registration(void) { return register_qdisc(&dualpi2); }
int (*kernel_module_init)(void) = registration;

static int attribute(const char *name)
{
	static const char *const names[TCA_DUALPI2_MAX + 1] = {
		[TCA_DUALPI2_LIMIT] = "limit",
		[TCA_DUALPI2_MEMORY_LIMIT] = "memlimit",
		[TCA_DUALPI2_TARGET] = "target",
		[TCA_DUALPI2_TUPDATE] = "tupdate",
		[TCA_DUALPI2_ALPHA] = "alpha",
		[TCA_DUALPI2_BETA] = "beta",
		[TCA_DUALPI2_STEP_THRESH_PKTS] = "step_packets",
		[TCA_DUALPI2_STEP_THRESH_US] = "step_us",
		[TCA_DUALPI2_MIN_QLEN_STEP] = "min_qlen_step",
		[TCA_DUALPI2_COUPLING] = "coupling_factor",
		[TCA_DUALPI2_DROP_OVERLOAD] = "drop_overload",
		[TCA_DUALPI2_DROP_EARLY] = "drop_enqueue",
		[TCA_DUALPI2_C_PROTECTION] = "classic_protection",
		[TCA_DUALPI2_ECN_MASK] = "ecn_mask",
	};

	for (int i = 0; i <= TCA_DUALPI2_MAX; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

static void tell_state(struct Qdisc *sch)
{
	struct dualpi2_sched_data *q = qdisc_priv(sch);

	printf("%u %u %d", q->memory_used, q->pi2_prob, q->c_protection_credit);
}

static bool command(const char *word) { return false; }
