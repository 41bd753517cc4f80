/* Runs what was included before by commands on standard input, one a line, and answers each with one line.
 *
 *   random N NUMBER...      numbers for the kernel to draw, in this order, instead of those left (no answer)
 *   set NAME VALUE          an attribute for the next `init` or `change` (no answer)
 *   init                    makes the qdisc
 *   change NS               changes it
 *   enqueue NS ID LEN ECN HASH   a packet arrives
 *   dequeue NS              the link wants one
 *   update NS               the timer fires
 *   reset NS
 *
 * Answer: what happened in its order, `-ID` dropped, `!ID` marked, `>ID` sent; then packets and bytes that wait; then
 * what `tell_state` prints. Other words go to `command`, which answers as it likes.
 */
#ifndef SHIM_DRIVER_H
#define SHIM_DRIVER_H

/* Defined by what includes this: the index of an attribute, or -1; the state; further commands, or false. */
static int attribute(const char *name);
static void tell_state(struct Qdisc *sch);
static bool command(const char *word);

static void fail(const char *why, const char *what)
{
	fprintf(stderr, "%s: %s\n", why, what);
	exit(1);
}

static u64 number(void)
{
	unsigned long long n;

	if (scanf("%llu", &n) != 1)
		fail("a number is missing", "");
	return n;
}

u64 kernel_now;
struct net_device kernel_device = { .mtu = 1500 };
struct timer_list *kernel_timer;
struct hrtimer *kernel_hrtimer;

static u64 *draws;
static size_t draws_given, draws_taken;

u64 kernel_random(void)
{
	if (draws_taken == draws_given)
		fail("no random number is left", "");
	return draws[draws_taken++];
}

static void give_draws(size_t n)
{
	draws = realloc(draws, n * sizeof(*draws));
	draws_taken = draws_given = 0;
	while (n--)
		draws[draws_given++] = number();
}

static struct Qdisc_ops *ops;

int register_qdisc(struct Qdisc_ops *registered)
{
	ops = registered;
	return 0;
}

void kernel_dropped(struct sk_buff *skb)
{
	printf("-%llu ", (unsigned long long)skb->id);
	free(skb);
}

int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (skb->ecn == INET_ECN_NOT_ECT)
		return 0;
	if (skb->ecn != INET_ECN_CE)
		printf("!%llu ", (unsigned long long)skb->id);
	skb->ecn = INET_ECN_CE;
	return 1;
}

static struct sk_buff *packet(void)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	skb->id = number();
	skb->len = number();
	skb->ecn = number();
	skb->hash = number();
	/* What a packet of ours says that it occupies. */
	skb->truesize = skb->len + 500;
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	return skb;
}

int main(void)
{
	static struct nlattr given[KERNEL_ATTRIBUTES];
	struct Qdisc *sch = NULL;
	char word[32];

	while (scanf("%31s", word) == 1) {
		if (!strcmp(word, "random")) {
			give_draws(number());
			continue;
		}
		if (!strcmp(word, "set")) {
			char name[32];
			int index;

			if (scanf("%31s", name) != 1 || (index = attribute(name)) < 0)
				fail("no such attribute", name);
			given[index].given = true;
			given[index].value = number();
			continue;
		}
		if (command(word))
			continue;
		if (!strcmp(word, "init")) {
			kernel_module_init();
			sch = aligned_alloc(64, (sizeof(*sch) + ops->priv_size + 63) / 64 * 64);
			memset(sch, 0, sizeof(*sch) + ops->priv_size);
			sch->ops = ops;
			if (ops->init(sch, given, NULL))
				fail("refused", word);
			memset(given, 0, sizeof(given));
		} else {
			kernel_now = number();
			if (!strcmp(word, "change")) {
				if (ops->change(sch, given, NULL))
					fail("refused", word);
				memset(given, 0, sizeof(given));
			} else if (!strcmp(word, "enqueue")) {
				struct sk_buff *to_free = NULL;

				ops->enqueue(packet(), sch, &to_free);
			} else if (!strcmp(word, "dequeue")) {
				struct sk_buff *skb = ops->dequeue(sch);

				if (skb)
					printf(">%llu ", (unsigned long long)skb->id);
				free(skb);
			} else if (!strcmp(word, "update")) {
				if (kernel_timer)
					kernel_timer->function(kernel_timer);
				else
					kernel_hrtimer->function(kernel_hrtimer);
			} else if (!strcmp(word, "reset")) {
				ops->reset(sch);
				/* As qdisc_reset does. */
				sch->q.qlen = 0;
				sch->qstats.backlog = 0;
			} else {
				fail("no such command", word);
			}
		}
		printf("%u %u ", sch->q.qlen, sch->qstats.backlog);
		tell_state(sch);
		putchar('\n');
	}
	return 0;
}

#endif
