/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was in flight, delivered and lost when a segment left, which only kernels of Google's keep for each segment.
 *
 * Between two ACKs nothing leaves the flight, so the flight at a departure is that at the last ACK and what has left since. A ring holds an
 * entry for each ACK that changed something; a segment finds its own by its sequence number. That is exact but for retransmissions: what they
 * add between two ACKs is not counted. Where more ACKs are out than the ring holds, its oldest entry serves.
 */
#ifndef QUELL_FLIGHTS_H
#define QUELL_FLIGHTS_H

#include "quell_kernel.h"

#define QUELL_FLIGHTS 2048U	/* a power of 2 */

/* After an ACK. */
struct quell_flight {
	u32 snd_nxt;
	u32 delivered;
	u32 in_flight;
	u32 lost;
};

struct quell_flights {
	u32 count;	/* entries in use */
	u32 next;	/* place of the next one */
	struct quell_flight ring[QUELL_FLIGHTS];
};

/* The entry before which there are `age` newer ones. */
static inline struct quell_flight *quell_flight_of_age(struct quell_flights *f, u32 age)
{
	return &f->ring[(f->next - 1 - age) & (QUELL_FLIGHTS - 1)];
}

static inline void quell_flights_push(struct quell_flights *f, const struct tcp_sock *tp)
{
	struct quell_flight now = {
		.snd_nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.in_flight = tcp_packets_in_flight(tp),
		.lost = tp->lost,
	};
	struct quell_flight *last = quell_flight_of_age(f, 0);

	if (f->count && last->snd_nxt == now.snd_nxt && last->delivered == now.delivered && last->lost == now.lost)
		return;
	f->ring[f->next & (QUELL_FLIGHTS - 1)] = now;
	f->next++;
	f->count = min(f->count + 1, QUELL_FLIGHTS);
}

/* Whether the entry is older than what left with `end_seq` as its end, or than what left when `delivered` was delivered. */
static inline bool quell_flight_is_before(const struct quell_flight *entry, bool by_delivered, u32 key)
{
	if (by_delivered)
		return (s32)(entry->delivered - key) <= 0;
	return before(entry->snd_nxt, key);
}

/* The newest such entry, else the oldest one. There is one at least. */
static inline struct quell_flight *quell_flights_find(struct quell_flights *f, bool by_delivered, u32 key)
{
	u32 low = 0, high = f->count - 1;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (quell_flight_is_before(quell_flight_of_age(f, middle), by_delivered, key))
			high = middle;
		else
			low = middle + 1;
	}
	return quell_flight_of_age(f, low);
}

/* Segments in flight when the one that ends at `end_seq` left for the first time, itself included. */
static inline u32 quell_flight_at(const struct quell_flight *entry, u32 end_seq, u32 mss)
{
	return entry->in_flight + (before(entry->snd_nxt, end_seq) ? DIV_ROUND_UP(end_seq - entry->snd_nxt, mss) : 1);
}

#endif
