/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was in flight, and how much had been lost, when a segment left: for stacks that do not keep it with each segment, as Google's do
 * (tx.in_flight, tx.lost). A ring of what the ACKs left behind, searched by sequence number.
 *
 * Between two ACKs nothing leaves the flight, so the flight at a departure is the flight after the last ACK before it, and what has left since.
 * Deviations: retransmissions since that ACK are missing, about which the stack says nothing; a flight that more ACKs have passed than the
 * ring holds is not known, and then no loss is too high.
 */
#ifndef QUELL_CORE_BBR_RING_H
#define QUELL_CORE_BBR_RING_H

#include "core.h"

#define BBR_RING_SIZE 2048U
#define BBR_RING_LIMITED (1U << 31)

/* The connection after an ACK. */
struct bbr_flight {
	cc_u32 snd_nxt;
	cc_u32 delivered;
	cc_u32 in_flight;	/* segments; BBR_RING_LIMITED is added where the application had no more to send */
	cc_u32 lost;
};

struct bbr_ring {
	cc_u32 next;		/* where the next entry goes */
	cc_u32 count;		/* entries, at most BBR_RING_SIZE - 1 */
	struct bbr_flight at[BBR_RING_SIZE];
};

/* A segment when it left. */
struct bbr_departure {
	cc_u32 in_flight;	/* itself included; 0 if it is not known */
	cc_u32 lost;
	cc_u32 is_app_limited;
};

/* Each entry but the last has a smaller snd_nxt or delivered, or less lost, than the one after it. */
CC_FN void bbr_ring_push(struct bbr_ring *ring, const struct bbr_flight *now)
{
	struct bbr_flight *last = &ring->at[(ring->next - 1) & (BBR_RING_SIZE - 1)];

	if (ring->count && last->snd_nxt == now->snd_nxt && last->delivered == now->delivered && last->lost == now->lost)
		return;
	ring->at[ring->next & (BBR_RING_SIZE - 1)] = *now;
	ring->next = (ring->next + 1) & (BBR_RING_SIZE - 1);
	if (ring->count < BBR_RING_SIZE - 1)
		ring->count++;
}

/*
 * Entries, oldest first, whose snd_nxt is before `seq` (`by_seq` of 1), or whose delivered is not after `seq` (0). Without a branch on what the
 * ring holds, of which the kernel's verifier would follow both ways each time.
 */
CC_FN cc_u32 bbr_ring_entries_until(const struct bbr_ring *ring, cc_u32 seq, cc_u32 by_seq)
{
	cc_u32 count = ring->count, oldest = ring->next - count, found = 0, step;

	for (step = BBR_RING_SIZE / 2; step; step >>= 1) {
		cc_u32 next = found + step;
		const struct bbr_flight *entry = &ring->at[(oldest + next - 1) & (BBR_RING_SIZE - 1)];
		/* 1 where the entry is one of them, and exists. */
		cc_u32 is_before = (entry->snd_nxt - seq) >> 31, is_not_after = 1 - ((seq - entry->delivered) >> 31);
		cc_u32 exists = 1 - ((count - next) >> 31);

		found += step * exists * (by_seq ? is_before : is_not_after);
	}
	return found;
}

/* The segment that ends before `end_seq` left for the first time. */
CC_FN void bbr_ring_first(const struct bbr_ring *ring, cc_u32 end_seq, cc_u32 mss, struct bbr_departure *out)
{
	cc_u32 found = bbr_ring_entries_until(ring, end_seq, 1);
	const struct bbr_flight *entry = &ring->at[(ring->next - ring->count + found - 1) & (BBR_RING_SIZE - 1)];

	out->in_flight = 0;
	out->lost = 0;
	out->is_app_limited = 0;
	if (!found || !mss)
		return;
	out->in_flight = (entry->in_flight & ~BBR_RING_LIMITED) + (end_seq - entry->snd_nxt + mss - 1) / mss;
	out->lost = entry->lost;
	out->is_app_limited = entry->in_flight >> 31;
}

/* A segment left again when `delivered` segments had been delivered. */
CC_FN void bbr_ring_again(const struct bbr_ring *ring, cc_u32 delivered, struct bbr_departure *out)
{
	cc_u32 found = bbr_ring_entries_until(ring, delivered, 0);
	const struct bbr_flight *entry = &ring->at[(ring->next - ring->count + found - 1) & (BBR_RING_SIZE - 1)];

	out->in_flight = 0;
	out->lost = 0;
	out->is_app_limited = 0;
	if (!found)
		return;
	out->in_flight = entry->in_flight & ~BBR_RING_LIMITED;
	out->lost = entry->lost;
	out->is_app_limited = entry->in_flight >> 31;
}

#endif
