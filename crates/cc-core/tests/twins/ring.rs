//! The ring that replaces what Google's kernels keep with each segment, against a list that is searched from its end.

use quell_cc_core::{Departure, Flight, Ring};
use quell_units::Random;

const MSS: u32 = 1448;

fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Every entry so far; the ring holds the newest [`Ring::MOST`].
#[derive(Default)]
struct List(Vec<Flight>);

impl List {
    fn push(&mut self, now: Flight) {
        let key = |of: &Flight| (of.snd_nxt, of.delivered, of.lost);
        if self.0.last().is_none_or(|last| key(last) != key(&now)) {
            self.0.push(now);
        }
    }

    fn newest(&self, is_one: impl Fn(&Flight) -> bool) -> Option<&Flight> {
        self.0.iter().rev().take(Ring::MOST).find(|one| is_one(one))
    }

    fn first(&self, end_seq: u32) -> Departure {
        let entry = self.newest(|one| is_before(one.snd_nxt, end_seq));
        entry.map_or(Departure::default(), |entry| {
            let left = end_seq.wrapping_sub(entry.snd_nxt).div_ceil(MSS);
            departure(entry, left)
        })
    }

    fn again(&self, delivered: u32) -> Departure {
        let entry = self.newest(|one| !is_before(delivered, one.delivered));
        entry.map_or(Departure::default(), |entry| departure(entry, 0))
    }
}

fn departure(entry: &Flight, left: u32) -> Departure {
    Departure {
        in_flight: (entry.in_flight & !Ring::LIMITED) + left,
        lost: entry.lost,
        is_app_limited: entry.in_flight >> 31,
    }
}

#[test]
fn the_ring_finds_what_a_list_finds() {
    assert_eq!(size_of::<Ring>(), Ring::size_in_c());
    for seed in 0..4 {
        let mut random = Random::new(seed, "ring");
        let mut below = |n: u64| random.below(n) as u32;
        let (mut ring, mut list) = (Ring::default(), List::default());
        // Sequence numbers and counters wrap on the way.
        let mut now = Flight {
            snd_nxt: u32::MAX - 3_000 * MSS,
            delivered: u32::MAX - 2_000,
            ..Flight::default()
        };
        for _ in 0..6_000 {
            now.snd_nxt = now.snd_nxt.wrapping_add(below(4) * MSS + below(2) * 700);
            now.delivered = now.delivered.wrapping_add(below(4));
            now.lost += u32::from(below(50) == 0);
            now.in_flight = below(500) | (below(2) << 31);
            ring.push(&now);
            list.push(now);
            for _ in 0..4 {
                // Also some that are older than the ring, or not sent yet.
                let end = now
                    .snd_nxt
                    .wrapping_sub(below(7_000_000))
                    .wrapping_add(3 * MSS);
                assert_eq!(ring.first(end, MSS), list.first(end));
                let delivered = now.delivered.wrapping_sub(below(5_000));
                assert_eq!(ring.again(delivered), list.again(delivered));
            }
        }
        assert!(list.0.len() > Ring::MOST);
    }
}
