/* As much of a kernel as the queue disciplines of net/sched need to run in a process: its types, its clock, packets,
 * a queue, netlink attributes, timers. Written for the tests, which compile the kernel's own files against it; names
 * and meanings are the kernel's, the code is not.
 *
 * The clock stands where the commands on standard input put it, random numbers come from there, and what happens to
 * packets is told on standard output: see driver.h.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types and numbers. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef unsigned long long __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef s64 ktime_t;
typedef u64 psched_time_t;
typedef unsigned int gfp_t;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S64_MAX INT64_MAX
#define INT_MAX 0x7fffffff
#define BITS_PER_BYTE 8
#define HZ 1000
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define EINVAL 22
#define ENOMEM 12
#define EOPNOTSUPP 95
#define GFP_KERNEL 0

/* The compiler. */
#define __init
#define __exit
#define __read_mostly
#define __force
#define __rcu
#define noinline __attribute__((noinline))
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define typecheck(type, x) 1
#define prefetch(x) ((void)(x))
#define BUG() abort()
#define WARN_ON(x) ({ if (x) abort(); 0; })
#define WARN_ON_ONCE(x) WARN_ON(x)
#define WARN(x, ...) WARN_ON(x)
#define BUILD_BUG_ON(x) _Static_assert(!(x), #x)
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define min_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })
#define clamp_t(type, v, low, high) min_t(type, max_t(type, v, low), high)
#define min(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define DIV_ROUND_CLOSEST(a, b) (((a) + (b) / 2) / (b)) /* of unsigned numbers */
#define do_div(n, base) ({ u32 base_ = (base); u32 rest_ = (n) % base_; (n) /= base_; rest_; })

static inline u64 div_u64(u64 n, u32 d) { return n / d; }
static inline u64 div64_u64(u64 n, u64 d) { return n / d; }
static inline u32 reciprocal_scale(u32 value, u32 ep_ro) { return ((u64)value * ep_ro) >> 32; }
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }

/* Modules. */
#define THIS_MODULE NULL
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define MODULE_LICENSE(x)
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_ALIAS_NET_SCH(x)
extern int (*kernel_module_init)(void);
#define module_init(f) int (*kernel_module_init)(void) = f;
#define module_exit(f) void (*kernel_module_exit)(void) = f;

/* Clocks. */
extern u64 kernel_now; /* ns */

static inline ktime_t ktime_get(void) { return kernel_now; }
static inline u64 ktime_get_ns(void) { return kernel_now; }
static inline s64 ktime_to_ns(ktime_t t) { return t; }
static inline ktime_t ktime_sub(ktime_t a, ktime_t b) { return (u64)a - (u64)b; }
static inline ktime_t ktime_add_ns(ktime_t t, u64 ns) { return (u64)t + ns; }
static inline s64 ktime_us_delta(ktime_t later, ktime_t earlier) { return ktime_sub(later, earlier) / NSEC_PER_USEC; }
#define ktime_before(a, b) ((a) < (b))
#define ktime_after(a, b) ((a) > (b))
#define jiffies ((unsigned long)(kernel_now / (NSEC_PER_SEC / HZ)))
static inline unsigned long usecs_to_jiffies(unsigned int us) { return ((u64)us * HZ + USEC_PER_SEC - 1) / USEC_PER_SEC; }
static inline unsigned int jiffies_to_usecs(unsigned long j) { return j * (USEC_PER_SEC / HZ); }

#define PSCHED_SHIFT 6
#define PSCHED_TICKS2NS(x) ((s64)(x) << PSCHED_SHIFT)
#define PSCHED_NS2TICKS(x) ((x) >> PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
static inline psched_time_t psched_get_time(void) { return PSCHED_NS2TICKS(kernel_now); }

/* The next random numbers of those given, cut to what is asked for. */
u64 kernel_random(void);
static inline u32 get_random_u32(void) { return (u32)kernel_random(); }
static inline void get_random_bytes(void *to, size_t len) { u64 drawn = kernel_random(); memcpy(to, &drawn, len); }

/* Packets. */
struct sk_buff {
	struct sk_buff *next, *prev;
	unsigned int len;
	unsigned int truesize;
	u32 hash;
	u32 priority;
	unsigned char cb[64] __attribute__((aligned(8)));
	unsigned char *end;
	/* For the tests. */
	u64 id;
	u8 ecn;
};
struct qdisc_skb_cb {
	unsigned int pkt_len;
	u16 pkt_segs;
	unsigned char data[48] __attribute__((aligned(8)));
};
#define qdisc_cb_private_validate(skb, size) ((void)(size))
static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb) { return (struct qdisc_skb_cb *)skb->cb; }
static inline u32 skb_get_hash(struct sk_buff *skb) { return skb->hash; }
static inline void skb_mark_not_on_list(struct sk_buff *skb) { skb->next = NULL; }
static inline unsigned int qdisc_pkt_len(const struct sk_buff *skb) { return qdisc_skb_cb(skb)->pkt_len; }

/* Of TCP, which counts as the sender's memory; then FQ-CoDel counts truesize alike. */
#define is_skb_wmem(skb) false

/* ECN. */
enum { INET_ECN_NOT_ECT = 0, INET_ECN_ECT_1 = 1, INET_ECN_ECT_0 = 2, INET_ECN_CE = 3, INET_ECN_MASK = 3 };
static inline int skb_get_dsfield(struct sk_buff *skb) { return skb->ecn; }
int INET_ECN_set_ce(struct sk_buff *skb); /* true if the packet carries CE now */

/* What happened to packets. */
void kernel_dropped(struct sk_buff *skb);
static inline void kfree_skb(struct sk_buff *skb) { kernel_dropped(skb); }

/* Lists: rings through their head. */
struct list_head {
	struct list_head *next, *prev;
};
static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline bool list_empty(const struct list_head *head) { return head->next == head; }
static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}
static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->next = head;
	entry->prev = head->prev;
	head->prev->next = entry;
	head->prev = entry;
}
static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}
#define list_first_entry(head, type, member) container_of((head)->next, type, member)

/* Memory. */
#define SZ_32M 0x02000000
static inline void *kvcalloc(size_t n, size_t size, gfp_t flags) { return calloc(n, size); }
static inline void kvfree(void *p) { free(p); }
#define kvzalloc_objs(type, count) ((type *)calloc(count, sizeof(type)))

/* Queues. */
enum { NET_XMIT_SUCCESS = 0, NET_XMIT_DROP = 1, NET_XMIT_CN = 2 };
enum { TCQ_F_CAN_BYPASS = 4, TCQ_F_DEQUEUE_DROPS = 0x1000 };
struct net_device {
	unsigned int mtu;
	unsigned short hard_header_len;
};
struct qdisc_skb_head {
	struct sk_buff *head, *tail;
	u32 qlen;
};
struct gnet_stats_queue {
	u32 qlen, backlog, drops, requeues, overlimits;
};
struct gnet_dump;
struct netlink_ext_ack;
struct nlattr {
	bool given;
	u32 value;
};
struct nla_policy {
	int type;
	int len;
};
enum { NLA_U32 = 3, NLA_U8 = 1 };
struct Qdisc;
struct Qdisc_ops {
	const void *cl_ops;
	char id[16];
	int priv_size;
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	struct sk_buff *(*peek)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
	int (*change)(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
	int (*dump)(struct Qdisc *sch, struct sk_buff *skb);
	int (*dump_stats)(struct Qdisc *sch, struct gnet_dump *d);
	void *owner;
};
struct Qdisc {
	struct Qdisc_ops *ops;
	unsigned int flags;
	u32 limit;
	u32 handle;
	void *dev_queue;
	struct qdisc_skb_head q;
	struct qdisc_skb_head gso_skb;
	struct gnet_stats_queue qstats;
	long privdata[] __attribute__((aligned(64)));
};
extern struct net_device kernel_device;
int register_qdisc(struct Qdisc_ops *ops);
static inline int unregister_qdisc(struct Qdisc_ops *ops) { return 0; }
static inline void *qdisc_priv(struct Qdisc *sch) { return sch->privdata; }
static inline struct net_device *qdisc_dev(const struct Qdisc *sch) { return &kernel_device; }
static inline unsigned int psched_mtu(const struct net_device *dev) { return dev->mtu + dev->hard_header_len; }
static inline int qdisc_qlen(const struct Qdisc *sch) { return sch->q.qlen; }

static inline void qdisc_qstats_drop(struct Qdisc *sch) { sch->qstats.drops++; }
static inline void qdisc_qstats_overlimit(struct Qdisc *sch) { sch->qstats.overlimits++; }
static inline void qdisc_qstats_backlog_inc(struct Qdisc *sch, const struct sk_buff *skb) { sch->qstats.backlog += qdisc_pkt_len(skb); }
static inline void qdisc_qstats_backlog_dec(struct Qdisc *sch, const struct sk_buff *skb) { sch->qstats.backlog -= qdisc_pkt_len(skb); }
static inline void qstats_backlog_add(struct Qdisc *sch, u32 bytes) { sch->qstats.backlog += bytes; }
static inline void qstats_backlog_sub(struct Qdisc *sch, u32 bytes) { sch->qstats.backlog -= bytes; }
static inline void qdisc_qlen_inc(struct Qdisc *sch) { sch->q.qlen++; }
static inline void qdisc_qlen_dec(struct Qdisc *sch) { sch->q.qlen--; }
static inline void qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) { }
static inline void qdisc_tree_reduce_backlog(struct Qdisc *sch, int packets, int bytes) { } /* of the parents */
static inline void sch_tree_lock(struct Qdisc *sch) { }
static inline void sch_tree_unlock(struct Qdisc *sch) { }

static inline void __qdisc_enqueue_tail(struct sk_buff *skb, struct qdisc_skb_head *q)
{
	skb->next = NULL;
	if (q->tail)
		q->tail->next = skb;
	else
		q->head = skb;
	q->tail = skb;
	q->qlen++;
}
static inline struct sk_buff *__qdisc_dequeue_head(struct qdisc_skb_head *q)
{
	struct sk_buff *skb = q->head;

	if (skb) {
		q->head = skb->next;
		if (!q->head)
			q->tail = NULL;
		skb->next = NULL;
		q->qlen--;
	}
	return skb;
}
static inline struct sk_buff *qdisc_peek_head(struct Qdisc *sch) { return sch->q.head; }
static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	__qdisc_enqueue_tail(skb, &sch->q);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}
static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb)
		qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}
/* `direct` leaves out what a qdisc does beside when it dequeues; without, its own dequeue is meant. */
static inline struct sk_buff *qdisc_dequeue_internal(struct Qdisc *sch, bool direct)
{
	return direct ? qdisc_dequeue_head(sch) : sch->ops->dequeue(sch);
}
static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	kernel_dropped(skb);
	qdisc_qstats_drop(sch);
	return NET_XMIT_DROP;
}
static inline int qdisc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sch->ops->enqueue(skb, sch, to_free);
}
static inline struct sk_buff *qdisc_dequeue_peeked(struct Qdisc *sch) { return sch->ops->dequeue(sch); } /* never peeked */
#define net_xmit_drop_count(result) ((result) & 0x10000 ? 0 : 1)
static inline void rtnl_qdisc_drop(struct sk_buff *skb, struct Qdisc *sch)
{
	kernel_dropped(skb);
	qdisc_qstats_drop(sch);
}
static inline void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free) { kernel_dropped(skb); }
static inline void __qdisc_qstats_drop(struct Qdisc *sch, int count) { sch->qstats.drops += count; }
static inline void rtnl_kfree_skbs(struct sk_buff *head, struct sk_buff *tail)
{
	while (head) {
		struct sk_buff *next = head == tail ? NULL : head->next;

		kernel_dropped(head);
		head = next;
	}
}
static inline void qdisc_reset_queue(struct Qdisc *sch)
{
	while (sch->q.qlen)
		kernel_dropped(__qdisc_dequeue_head(&sch->q));
	sch->qstats.backlog = 0;
}
static inline struct sk_buff *qdisc_peek_dequeued(struct Qdisc *sch) { abort(); }
static inline struct sk_buff *skb_peek(struct qdisc_skb_head *q) { return q->head; }
static inline void __skb_queue_head(struct qdisc_skb_head *q, struct sk_buff *skb) { abort(); }

/* Netlink: attributes are a table of numbers; nothing is dumped. */
#define KERNEL_ATTRIBUTES 32
static inline int nla_parse_nested_deprecated(struct nlattr **tb, int maxtype, struct nlattr *opt, const struct nla_policy *policy, void *extack)
{
	for (int i = 0; i <= maxtype; i++)
		tb[i] = opt[i].given ? &opt[i] : NULL;
	return 0;
}
static inline u32 nla_get_u32(const struct nlattr *a) { return a->value; }
static inline u8 nla_get_u8(const struct nlattr *a) { return a->value; }
#define nla_nest_start_noflag(skb, type) ((struct nlattr *)NULL)
#define nla_put_u32(skb, type, value) ((void)(value), 0)
#define nla_put_u8(skb, type, value) ((void)(value), 0)
#define nla_nest_end(skb, nest) 0
#define nla_nest_cancel(skb, nest) ((void)(nest))
#define gnet_stats_copy_app(d, stats, len) ((void)(stats), 0)
struct nla_bitfield32 {
	u32 value, selector;
};
static inline struct nla_bitfield32 nla_get_bitfield32(const struct nlattr *a) { abort(); }
#define NL_SET_ERR_MSG_MOD(extack, text) ((void)(extack))
#define NL_SET_ERR_MSG(extack, text) ((void)(extack))
#define nla_parse_nested nla_parse_nested_deprecated
#define NLA_POLICY_FULL_RANGE(t, range) { .type = (t) }
struct netlink_range_validation {
	u64 min, max;
};

/* Filters and their events: there are none. */
struct tcf_qevent {
};
#define tcf_qevent_handle(event, sch, skb, to_free, ret) (skb)
enum { __NET_XMIT_BYPASS = 0x20000, __NET_XMIT_STOLEN = 0x10000 };
struct tcf_proto;
struct tcf_block;
struct tcf_result {
	u32 classid;
};
#define rcu_dereference_bh(p) (p)
#define tcf_classify(skb, block, filter, result, compat) (abort(), 0)
#define tcf_classify_qdisc(skb, filter, result, force) (abort(), 0)
#define tcf_block_get(block, filter, sch, extack) 0

/* Timers: the commands say when one fires, so that only its function counts. */
struct timer_list {
	void (*function)(struct timer_list *);
};
extern struct timer_list *kernel_timer; /* the one that was set up */
#define timer_setup(timer, f, flags) ((timer)->function = (f), (void)(kernel_timer = (timer)))
static inline int mod_timer(struct timer_list *timer, unsigned long expires) { return 0; }
static inline int del_timer(struct timer_list *timer) { return 0; }
static inline int del_timer_sync(struct timer_list *timer) { return 0; }
static inline int timer_delete(struct timer_list *timer) { return 0; }
static inline int timer_delete_sync(struct timer_list *timer) { return 0; }
#define from_timer(var, timer, field) container_of(timer, typeof(*var), field)
#define timer_container_of(var, timer, field) container_of(timer, typeof(*var), field)
typedef int spinlock_t;
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
static inline struct Qdisc *qdisc_root_sleeping(struct Qdisc *sch) { return sch; }
static inline spinlock_t *qdisc_lock(struct Qdisc *sch) { return NULL; }

/* Timers of high resolution, likewise. */
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *);
};
extern struct hrtimer *kernel_hrtimer;
#define hrtimer_setup(timer, f, clock, mode) ((timer)->function = (f), (void)(kernel_hrtimer = (timer)))
#define hrtimer_start(timer, expires, mode) ((void)(expires))
#define hrtimer_set_expires(timer, expires) ((void)(expires))

/* Wire packets only: each is an IPv4 packet that may be written, and none is an aggregate. */
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define htons(x) ((u16)(x))
struct iphdr {
	struct sk_buff skb;
};
struct ipv6hdr {
	struct sk_buff skb;
};
#define skb_network_offset(skb) 0
#define skb_protocol(skb, skip_vlan) htons(ETH_P_IP)
#define pskb_may_pull(skb, len) true
#define skb_try_make_writable(skb, len) false
#define ip_hdr(skb) ((struct iphdr *)(skb))
#define ipv6_hdr(skb) ((struct ipv6hdr *)(skb))
#define ipv4_get_dsfield(header) skb_get_dsfield(&(header)->skb)
#define ipv6_get_dsfield(header) skb_get_dsfield(&(header)->skb)
typedef u64 netdev_features_t;
#define NETIF_F_GSO_MASK 0
#define skb_is_gso(skb) false
#define netif_skb_features(skb) 0
#define skb_gso_segment(skb, features) ((struct sk_buff *)(abort(), NULL))
#define IS_ERR_OR_NULL(p) (!(p))
#define skb_list_walk_safe(first, skb, next) for ((skb) = (first), (next) = NULL; (skb); (skb) = (next))
#define consume_skb(skb) abort()

/* Drops are told apart by their packets. */
enum skb_drop_reason {
	SKB_DROP_REASON_QDISC_OVERLIMIT,
	SKB_DROP_REASON_QDISC_CONGESTED,
	SKB_DROP_REASON_DUALPI2_STEP_DROP,
};
enum qdisc_drop_reason { /* after 6.18 */
	QDISC_DROP_UNSPEC,
	QDISC_DROP_OVERLIMIT,
	QDISC_DROP_CONGESTED,
	QDISC_DROP_FLOOD_PROTECTION,
	QDISC_DROP_L4S_STEP_NON_ECN,
};
#define qdisc_dequeue_drop(sch, skb, reason) kernel_dropped(skb)
#define tcf_set_qdisc_drop_reason(skb, reason) ((void)(reason))
#define qdisc_drop_reason(skb, sch, to_free, reason) qdisc_drop(skb, sch, to_free)
#define kfree_skb_reason(skb, reason) kernel_dropped(skb)

static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#define lower_32_bits(n) ((u32)(n))
#define nla_len(attribute) 1
#define NLA_POLICY_MIN(t, low) { .type = (t) }
#define NLA_POLICY_MAX(t, high) { .type = (t) }
#define NLA_POLICY_RANGE(t, low, high) { .type = (t) }
/* A qdisc inside another, of which nothing but the queue is used. */
#define qdisc_create_dflt(dev_queue, ops, handle, extack) ((struct Qdisc *)calloc(1, (sizeof(struct Qdisc) + 63) / 64 * 64))

#include <linux/pkt_sched.h>

#endif
