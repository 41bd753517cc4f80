/* The law of RED by itself, as the qdiscs red, gred, sfq and choke use it. */
#include "shim.h"
#include KERNEL_FILE
#include <lib/math/reciprocal_div.c>
#include "driver.h"

int (*kernel_module_init)(void);

static int attribute(const char *name) { return -1; }
static void tell_state(struct Qdisc *sch) { }

static struct red_parms parms;
static struct red_vars vars;

/* What the qdisc red does with its law:
 *
 *   law MIN MAX WLOG PLOG SCELL_LOG MAX_P, and 256 entries of the idle table
 *   arrive NS BACKLOG
 *   idle NS
 *   adapt NS
 *   restart
 *
 * Each answers with what happened to the packet (0 nothing, 1 by probability, 2 because the average is too large), the
 * average, the count, the random number and the probability.
 */
static bool command(const char *word)
{
	int action = 0;

	if (!strcmp(word, "law")) {
		u8 table[RED_STAB_SIZE];
		u32 qth_min = number(), qth_max = number();
		u8 Wlog = number(), Plog = number(), Scell_log = number();
		u32 max_P = number();

		for (int i = 0; i < RED_STAB_SIZE; i++)
			table[i] = number();
		if (!red_check_params(qth_min, qth_max, Wlog, Scell_log, table))
			fail("refused", word);
		memset(&vars, 0, sizeof(vars));
		red_set_parms(&parms, qth_min, qth_max, Wlog, Plog, Scell_log, table, max_P);
		red_set_vars(&vars);
	} else if (!strcmp(word, "arrive")) {
		kernel_now = number();
		vars.qavg = red_calc_qavg(&parms, &vars, number());
		if (red_is_idling(&vars))
			red_end_of_idle_period(&vars);
		action = red_action(&parms, &vars, vars.qavg);
	} else if (!strcmp(word, "idle")) {
		kernel_now = number();
		if (!red_is_idling(&vars))
			red_start_of_idle_period(&vars);
	} else if (!strcmp(word, "adapt")) {
		kernel_now = number();
		red_adaptative_algo(&parms, &vars);
	} else if (!strcmp(word, "restart")) {
		red_restart(&vars);
	} else {
		return false;
	}
	printf("%d %lu %d %u %u\n", action, vars.qavg, vars.qcount, vars.qR, parms.max_P);
	return true;
}
