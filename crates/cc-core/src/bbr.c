/* The functions of bpf/core/bbr2.h and bbr3.h with external linkage. */
static _Thread_local unsigned long long draws;

/* Uniform enough for a comparison, and the same in Rust. */
static unsigned int draw_below(unsigned int bound)
{
	draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)((draws >> 32) * bound >> 32);
}

#define CC_RANDOM_BELOW(n) draw_below(n)
#include "bbr2.h"
#include "bbr3.h"

/* Sizes of what Rust mirrors. */
cc_u32 core_bbr_size(cc_u32 which)
{
	static const cc_u32 sizes[] = {
		sizeof(struct bbr_rules), sizeof(struct bbr_sock), sizeof(struct bbr_ack), sizeof(struct bbr_lost), sizeof(struct bbr_state),
	};

	return sizes[which];
}

void core_bbr_seed(cc_u64 seed)
{
	draws = seed;
}

/* 2 for v2, 2023 and 2026 for v3. */
void core_bbr_rules(struct bbr_rules *out, cc_u32 which, cc_u32 hz)
{
	if (which == 2)
		bbr2_rules(out, hz);
	else if (which == 2023)
		bbr3_rules_2023(out, hz);
	else
		bbr3_rules_2026(out, hz);
}

void core_bbr_start(BBR_ARGS)
{
	bbr_start(r, s, k);
}

void core_bbr_on_ack(BBR_ARGS, const struct bbr_ack *a)
{
	bbr_on_ack(r, s, k, a);
}

void core_bbr_on_lost(BBR_ARGS, const struct bbr_lost *l)
{
	bbr_on_lost(r, s, k, l);
}

void core_bbr_on_probe_repair(BBR_ARGS, cc_u32 is_app_limited)
{
	bbr_on_probe_repair(r, s, k, is_app_limited);
}

void core_bbr_on_reduction(BBR_ARGS)
{
	bbr_on_reduction(r, s, k);
}

void core_bbr_on_state(BBR_ARGS, cc_u32 new_state)
{
	bbr_on_state(r, s, k, new_state);
}

cc_u32 core_bbr_on_undo(BBR_ARGS)
{
	return bbr_on_undo(r, s, k);
}

void core_bbr_on_restart(BBR_ARGS)
{
	bbr_on_restart(r, s, k);
}

/* --- bbr_ring.h --- */

#include "bbr_ring.h"

cc_u32 core_ring_size(void)
{
	return sizeof(struct bbr_ring);
}

void core_ring_push(struct bbr_ring *ring, const struct bbr_flight *now)
{
	bbr_ring_push(ring, now);
}

void core_ring_first(const struct bbr_ring *ring, cc_u32 end_seq, cc_u32 mss, struct bbr_departure *out)
{
	bbr_ring_first(ring, end_seq, mss, out);
}

void core_ring_again(const struct bbr_ring *ring, cc_u32 delivered, struct bbr_departure *out)
{
	bbr_ring_again(ring, delivered, out);
}
