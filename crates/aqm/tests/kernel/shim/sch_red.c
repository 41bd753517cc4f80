/* The qdisc red: what it does to packets, cut out, over a bfifo of the shim. */
#include "shim.h"
#include <net/red.h>
#include <lib/math/reciprocal_div.c>
#include KERNEL_FILE
#include "driver.h"

/* What else `tc` derives: Wlog, Scell_log, max_P and the idle table. */
static u8 Wlog, Scell_log, table[RED_STAB_SIZE];
static u32 max_P;

static bool command(const char *word)
{
	if (strcmp(word, "derived"))
		return false;
	Wlog = number();
	Scell_log = number();
	max_P = number();
	for (int i = 0; i < RED_STAB_SIZE; i++)
		table[i] = number();
	return true;
}

/* The last ones are in what is derived, or stand for the timer, which fires when it is told to. */
enum { LIMIT, MIN, MAX, ECN, HARDDROP, NODROP, ADAPTIVE, BURST, PROBABILITY };

static int attribute(const char *name)
{
	static const char *const names[] = { "limit", "min", "max", "ecn", "harddrop", "nodrop", "adaptive", "burst", "probability" };

	for (int i = 0; i <= PROBABILITY; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static int bfifo_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->qstats.backlog + qdisc_pkt_len(skb) > sch->limit)
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}
static struct Qdisc_ops bfifo = { .enqueue = bfifo_enqueue, .dequeue = qdisc_dequeue_head };

static int start(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct red_sched_data *q = qdisc_priv(sch);

	if (!red_check_params(opt[MIN].value, opt[MAX].value, Wlog, Scell_log, table))
		return -EINVAL;
	q->sch = sch;
	q->qdisc = qdisc_create_dflt(NULL, &bfifo, 0, NULL);
	q->qdisc->ops = &bfifo;
	q->qdisc->limit = opt[LIMIT].value;
	q->flags = opt[ECN].value * TC_RED_ECN | opt[HARDDROP].value * TC_RED_HARDDROP | opt[NODROP].value * TC_RED_NODROP;
	red_set_parms(&q->parms, opt[MIN].value, opt[MAX].value, Wlog, 0, Scell_log, table, max_P);
	red_set_vars(&q->vars);
	timer_setup(&q->adapt_timer, red_adaptative_timer, 0);
	return 0;
}

static struct Qdisc_ops red = {
	.priv_size = sizeof(struct red_sched_data),
	.enqueue = red_enqueue,
	.dequeue = red_dequeue,
	.init = start,
};
static int registration(void) { return register_qdisc(&red); }
int (*kernel_module_init)(void) = registration;

static void tell_state(struct Qdisc *sch)
{
	struct red_sched_data *q = qdisc_priv(sch);

	printf("%lu %d %u %u", q->vars.qavg, q->vars.qcount, q->vars.qR, q->parms.max_P);
}
