/* The state machine of COBALT: the part of sch_cake.c that concerns it, cut out. */
#include "shim.h"
#include KERNEL_FILE
#include "driver.h"

int (*kernel_module_init)(void);

static int attribute(const char *name) { return -1; }
static void tell_state(struct Qdisc *sch) { }

static struct cobalt_params params;
static struct cobalt_vars vars;

/*   law INTERVAL TARGET MTU_TIME P_INC P_DEC      parameters, and a new state
 *   vars COUNT ROOT DROP_NEXT BLUE_TIMER P_DROP DROPPING
 *   full NS, empty NS
 *   root COUNT                                     answers with the inverse root alone
 *   judge NS ARRIVAL ECN
 *
 * Each answers with whether the packet is dropped, whether CoDel signals by a mark, and the state.
 */
static bool command(const char *word)
{
	bool drop = false, mark = false;

	if (!strcmp(word, "law")) {
		params.interval = number();
		params.target = number();
		params.mtu_time = number();
		params.p_inc = number();
		params.p_dec = number();
		cobalt_vars_init(&vars);
	} else if (!strcmp(word, "root")) {
		struct cobalt_vars fresh;

		cobalt_vars_init(&fresh);
		fresh.count = number();
		/* After 6.18 it is given the count as well; before, it does not look at the second argument. */
		((void (*)(struct cobalt_vars *, u32))cobalt_invsqrt)(&fresh, fresh.count);
		printf("%u\n", fresh.rec_inv_sqrt);
		return true;
	} else if (!strcmp(word, "vars")) {
		vars.count = number();
		vars.rec_inv_sqrt = number();
		vars.drop_next = number();
		vars.blue_timer = number();
		vars.p_drop = number();
		vars.dropping = number();
	} else if (!strcmp(word, "full")) {
		cobalt_queue_full(&vars, &params, number());
	} else if (!strcmp(word, "empty")) {
		cobalt_queue_empty(&vars, &params, number());
	} else if (!strcmp(word, "judge")) {
		struct sk_buff skb = {};
		ktime_t now = number();

		cobalt_set_enqueue_time(&skb, number());
		/* A packet that carries CE already stays silent. */
		skb.ecn = number() ? INET_ECN_CE : INET_ECN_NOT_ECT;
		drop = cobalt_should_drop(&vars, &params, now, &skb, 1);
		mark = vars.ecn_marked;
	} else {
		return false;
	}
	printf("%d %d %u %u %lld %lld %u %d\n", drop, mark, vars.count, vars.rec_inv_sqrt, (long long)vars.drop_next,
	       (long long)vars.blue_timer, vars.p_drop, vars.dropping);
	return true;
}
