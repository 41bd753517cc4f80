/* The qdisc fq_pie with the controller of pie: what it does to packets, and its parameters, cut out. */
#include "shim.h"
#undef module_init
#define module_init(f)
#include <net/sched/sch_pie.c>
#include KERNEL_FILE
#include "driver.h"

static void fq_pie_forget(struct Qdisc *sch) { fail("no reset", "its states would stay"); }
static struct Qdisc_ops fq_pie = {
	.priv_size = sizeof(struct fq_pie_sched_data),
	.enqueue = fq_pie_qdisc_enqueue,
	.dequeue = fq_pie_qdisc_dequeue,
	.init = fq_pie_init,
	.reset = fq_pie_forget,
	.change = fq_pie_change,
};
static int registration(void) { return register_qdisc(&fq_pie); }
int (*kernel_module_init)(void) = registration;

static int attribute(const char *name)
{
	static const char *const names[TCA_FQ_PIE_MAX + 1] = {
		[TCA_FQ_PIE_LIMIT] = "limit",
		[TCA_FQ_PIE_FLOWS] = "flows",
		[TCA_FQ_PIE_TARGET] = "target",
		[TCA_FQ_PIE_TUPDATE] = "tupdate",
		[TCA_FQ_PIE_ALPHA] = "alpha",
		[TCA_FQ_PIE_BETA] = "beta",
		[TCA_FQ_PIE_QUANTUM] = "quantum",
		[TCA_FQ_PIE_ECN_PROB] = "ecn_prob",
		[TCA_FQ_PIE_ECN] = "ecn",
		[TCA_FQ_PIE_BYTEMODE] = "bytemode",
		[TCA_FQ_PIE_DQ_RATE_ESTIMATOR] = "dq_rate_estimator",
	};

	for (int i = 0; i <= TCA_FQ_PIE_MAX; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

static void tell_state(struct Qdisc *sch)
{
	struct fq_pie_sched_data *q = qdisc_priv(sch);

	printf("%u", q->memory_usage);
	for (u32 i = 0; i < q->flows_cnt; i++) {
		struct pie_vars *vars = &q->flows[i].vars;

		printf(" %llu %llu %llu %llu %llu %llu %llu %u", (unsigned long long)vars->qdelay,
		       (unsigned long long)vars->qdelay_old, (unsigned long long)vars->burst_time,
		       (unsigned long long)vars->dq_tstamp, (unsigned long long)vars->prob,
		       (unsigned long long)vars->accu_prob, (unsigned long long)vars->dq_count, vars->avg_dq_rate);
	}
}

static bool command(const char *word) { return false; }
