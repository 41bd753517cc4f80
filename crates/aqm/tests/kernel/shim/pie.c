/* The qdisc pie, and its controller by itself. */
#include "shim.h"
#include KERNEL_FILE
#include "driver.h"

static int attribute(const char *name)
{
	static const char *const names[TCA_PIE_MAX + 1] = {
		[TCA_PIE_TARGET] = "target",
		[TCA_PIE_LIMIT] = "limit",
		[TCA_PIE_TUPDATE] = "tupdate",
		[TCA_PIE_ALPHA] = "alpha",
		[TCA_PIE_BETA] = "beta",
		[TCA_PIE_ECN] = "ecn",
		[TCA_PIE_BYTEMODE] = "bytemode",
		[TCA_PIE_DQ_RATE_ESTIMATOR] = "dq_rate_estimator",
	};

	for (int i = 0; i <= TCA_PIE_MAX; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

static void tell_vars(const struct pie_vars *vars)
{
	printf("%llu %llu %llu %llu %llu %llu %llu %u", (unsigned long long)vars->qdelay,
	       (unsigned long long)vars->qdelay_old, (unsigned long long)vars->burst_time,
	       (unsigned long long)vars->dq_tstamp, (unsigned long long)vars->prob,
	       (unsigned long long)vars->accu_prob, (unsigned long long)vars->dq_count, vars->avg_dq_rate);
}

static void tell_state(struct Qdisc *sch)
{
	tell_vars(&((struct pie_sched_data *)qdisc_priv(sch))->vars);
}

/* A controller in the state that the command gives:
 *
 *   law TARGET ALPHA BETA BYTEMODE ESTIMATES QDELAY QDELAY_OLD BURST DQ_TSTAMP PROB ACCU_PROB DQ_COUNT RATE, and then
 *   drop BACKLOG LEN, or process NS ARRIVAL LEN BACKLOG (in ticks), or calculate BACKLOG
 */
static bool command(const char *word)
{
	struct pie_params params = {};
	struct pie_vars vars = {};
	char what[16];
	bool drop = false;

	if (strcmp(word, "law"))
		return false;
	params.target = number();
	params.alpha = number();
	params.beta = number();
	params.bytemode = number();
	params.dq_rate_estimator = number();
	vars.qdelay = number();
	vars.qdelay_old = number();
	vars.burst_time = number();
	vars.dq_tstamp = number();
	vars.prob = number();
	vars.accu_prob = number();
	vars.dq_count = number();
	vars.avg_dq_rate = number();
	if (scanf("%15s", what) != 1)
		fail("what is to be done", word);
	if (!strcmp(what, "drop")) {
		u32 backlog = number();

		drop = pie_drop_early(NULL, &params, &vars, backlog, number());
	} else if (!strcmp(what, "process")) {
		struct sk_buff skb = {};

		kernel_now = PSCHED_TICKS2NS(number());
		get_pie_cb(&skb)->enqueue_time = number();
		skb.len = number();
		pie_process_dequeue(&skb, &params, &vars, number());
	} else if (!strcmp(what, "calculate")) {
		pie_calculate_probability(&params, &vars, number());
	} else {
		fail("no such step", what);
	}
	printf("%d ", drop);
	tell_vars(&vars);
	putchar('\n');
	return true;
}
