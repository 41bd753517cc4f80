/* The qdisc fq_codel: what it does to packets, and its parameters, cut out. */
#include "shim.h"
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#define FQ_CODEL_QUANTUM_MAX (1 << 20)
#include KERNEL_FILE
#include "driver.h"

static struct Qdisc_ops fq_codel = {
	.priv_size = sizeof(struct fq_codel_sched_data),
	.enqueue = fq_codel_enqueue,
	.dequeue = fq_codel_dequeue,
	.init = fq_codel_init,
	.reset = fq_codel_reset,
	.change = fq_codel_change,
};
static int registration(void) { return register_qdisc(&fq_codel); }
int (*kernel_module_init)(void) = registration;

static int attribute(const char *name)
{
	static const char *const names[TCA_FQ_CODEL_MAX + 1] = {
		[TCA_FQ_CODEL_TARGET] = "target",
		[TCA_FQ_CODEL_LIMIT] = "limit",
		[TCA_FQ_CODEL_INTERVAL] = "interval",
		[TCA_FQ_CODEL_ECN] = "ecn",
		[TCA_FQ_CODEL_FLOWS] = "flows",
		[TCA_FQ_CODEL_QUANTUM] = "quantum",
		[TCA_FQ_CODEL_CE_THRESHOLD] = "ce_threshold",
		[TCA_FQ_CODEL_DROP_BATCH_SIZE] = "drop_batch",
		[TCA_FQ_CODEL_MEMORY_LIMIT] = "memory_limit",
		[TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR] = "ce_threshold_selector",
		[TCA_FQ_CODEL_CE_THRESHOLD_MASK] = "ce_threshold_mask",
	};

	for (int i = 0; i <= TCA_FQ_CODEL_MAX; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

static void tell_state(struct Qdisc *sch)
{
	struct fq_codel_sched_data *q = qdisc_priv(sch);

	printf("%u", q->memory_usage);
	for (u32 i = 0; i < q->flows_cnt; i++) {
		struct codel_vars *vars = &q->flows[i].cvars;

		printf(" %u %u %d %u %u %u %u", vars->count, vars->lastcount, vars->dropping, vars->rec_inv_sqrt,
		       vars->first_above_time, vars->drop_next, vars->ldelay);
	}
}

static bool command(const char *word) { return false; }
