/* The functions of bpf/core with external linkage. */
#include "compound.h"
#include "htcp.h"
#include "prague.h"

cc_u32 core_htcp_size(void)
{
	return sizeof(struct htcp);
}

void core_htcp_start(struct htcp *ca, cc_u32 now)
{
	htcp_start(ca, now);
}

void core_htcp_on_acked(struct htcp *ca, const struct htcp_rules *rules, cc_u32 state, cc_u32 acked, cc_u32 rtt_us, cc_u32 cwnd, cc_u32 now)
{
	htcp_on_acked(ca, rules, state, acked, rtt_us, cwnd, now);
}

void core_htcp_grow(struct htcp *ca, const struct htcp_rules *rules, struct cc_window *w, cc_u32 acked, cc_u32 now)
{
	htcp_grow(ca, rules, w, acked, now);
}

cc_u32 core_htcp_threshold(struct htcp *ca, const struct htcp_rules *rules, cc_u32 cwnd, cc_u32 now)
{
	return htcp_threshold(ca, rules, cwnd, now);
}

void core_htcp_set_state(struct htcp *ca, cc_u32 state, cc_u32 now)
{
	htcp_set_state(ca, state, now);
}

cc_u32 core_htcp_undo(struct htcp *ca, const struct cc_window *w)
{
	return htcp_undo(ca, w);
}

cc_u32 core_prague_size(void)
{
	return sizeof(struct prague);
}

cc_u64 core_prague_start(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	return prague_start(ca, rules, p, w);
}

cc_u64 core_prague_on_ack(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, struct cc_window *w, cc_u32 acked,
			  cc_u32 marked, cc_u32 is_limited)
{
	return prague_on_ack(ca, rules, p, w, acked, marked, is_limited);
}

void core_prague_on_loss(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w)
{
	prague_on_loss(ca, rules, p, w);
}

void core_prague_set_state(struct prague *ca, const struct prague_rules *rules, const struct prague_path *p, const struct cc_window *w, cc_u32 state)
{
	prague_set_state(ca, rules, p, w, state);
}

cc_u32 core_prague_undo(struct prague *ca, const struct prague_path *p, const struct cc_window *w)
{
	return prague_undo(ca, p, w);
}

cc_u32 core_compound_size(void)
{
	return sizeof(struct compound);
}

void core_compound_start(struct compound *ca, const struct compound_rules *rules, cc_u32 snd_nxt, cc_u32 cwnd)
{
	compound_start(ca, rules, snd_nxt, cwnd);
}

void core_compound_restart(struct compound *ca, const struct compound_rules *rules, cc_u32 snd_nxt, cc_u32 cwnd)
{
	compound_restart(ca, rules, snd_nxt, cwnd);
}

void core_compound_on_rtt(struct compound *ca, cc_u32 rtt_us)
{
	compound_on_rtt(ca, rtt_us);
}

cc_u32 core_compound_threshold(struct compound *ca, const struct compound_rules *rules, cc_u32 cwnd)
{
	return compound_threshold(ca, rules, cwnd);
}

void core_compound_set_state(struct compound *ca, cc_u32 state, cc_u32 snd_nxt)
{
	compound_set_state(ca, state, snd_nxt);
}

void core_compound_grow(struct compound *ca, const struct compound_rules *rules, struct cc_window *w, cc_u32 snd_una, cc_u32 snd_nxt, cc_u32 mss,
			cc_u32 acked)
{
	compound_grow(ca, rules, w, snd_una, snd_nxt, mss, acked);
}
