//! The delay line behind a queue: each packet waits for its group's constant delay, and for a random
//! time on top where the group has one.
//!
//! Packets of one delay leave in the order in which they came, so each distinct delay is a plain
//! first-in-first-out lane, and a small heap over the heads of the lanes knows which is next. At
//! equal times the lane of the smaller delay goes first: its packet left the link later, but
//! packets of one flow share a lane, so no flow is reordered. A group whose delay changes gets a lane of its own,
//! from which nothing leaves before what was on its way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use quell_aqm::impair::Fate;
use quell_units::{Random, Time};

/// Items that wait for their delay.
#[derive(Debug)]
pub(crate) struct DelayLine<T> {
    /// The lanes by delay and noise, ascending.
    lanes: Vec<Lane<T>>,
    /// The lane of each group.
    lane_of: Vec<usize>,
    /// Release time of the first item of each lane that has one.
    heads: BinaryHeap<Reverse<(Time, usize)>>,
    len: usize,
}

#[derive(Debug)]
struct Lane<T> {
    delay: Time,
    /// The longest random time besides it, in nanoseconds below 2³², and the stream of random times.
    noise: u64,
    random: Random,
    /// The last release, where packets keep their order by it: with noise, or because the delay of their group has changed.
    last: Time,
    is_ordered: bool,
    /// Of one group, whose delay has changed.
    is_own: bool,
    items: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    /// The delay of each group, by index. Items without a group are not delayed.
    pub(crate) fn new(delays: &[Time]) -> Self {
        Self::with_noise(delays, &[], |_| Random::new(0, "none"))
    }
    /// A delay line with random times on top: `noise` holds the longest one of each group, below 4 s. They
    /// are uniform from zero on, from the generator of the lane; a group that is missing has none.
    pub(crate) fn with_noise(
        delays: &[Time],
        noise: &[Time],
        mut random: impl FnMut(usize) -> Random,
    ) -> Self {
        let noise = noise.iter().copied().chain(std::iter::repeat(Time::ZERO));
        let groups: Vec<_> = delays.iter().copied().zip(noise).collect();
        let mut distinct = groups.clone();
        distinct.push((Time::ZERO, Time::ZERO));
        distinct.sort_unstable();
        distinct.dedup();
        let lane = |group| distinct.binary_search(group).unwrap_or(0);
        Self {
            lane_of: groups.iter().map(lane).collect(),
            heads: BinaryHeap::with_capacity(distinct.len()),
            lanes: (0..)
                .zip(&distinct)
                .map(|(index, &(delay, noise))| Lane {
                    delay,
                    noise: noise.as_nanos().min(u32::MAX.into()),
                    random: random(index),
                    last: Time::ZERO,
                    is_ordered: !noise.is_zero(),
                    is_own: false,
                    items: VecDeque::new(),
                })
                .collect(),
            len: 0,
        }
    }

    /// `item` of `group` leaves the link at `end`; these times never run backwards.
    pub(crate) fn push(&mut self, item: T, group: Option<u16>, end: Time) {
        let index = group
            .and_then(|group| self.lane_of.get(usize::from(group)))
            .copied()
            .unwrap_or(0);
        let lane = &mut self.lanes[index];
        let mut release = end + lane.delay;
        if lane.is_ordered {
            // Draws are finer than nanoseconds.
            let draw = (u64::from(lane.random.u32()) * lane.noise) >> 32;
            release = (release + Time::from_nanos(draw)).max(lane.last);
            lane.last = release;
        }
        if lane.items.is_empty() {
            self.heads.push(Reverse((release, index)));
        }
        lane.items.push_back((release, item));
        self.len += 1;
    }

    /// Inserts an item that leaves the link at `end`, and may overtake others. Others may overtake it where it is held. Returns its release.
    pub(crate) fn insert(&mut self, item: T, group: Option<u16>, end: Time, fate: Fate) -> Time {
        let index = group
            .and_then(|group| self.lane_of.get(usize::from(group)))
            .copied()
            .unwrap_or(0);
        let lane = &mut self.lanes[index];
        let draw = (u64::from(lane.random.u32()) * lane.noise) >> 32;
        let delayed = fate.at + lane.delay + Time::from_nanos(draw);
        let mut release = (delayed - fate.early).max(end);
        if !fate.is_held {
            if lane.is_own {
                release = release.max(lane.last);
            }
            lane.last = lane.last.max(release);
        }
        self.insert_at(item, index, release);
        release
    }

    /// Inserts a copy of the item of `group` that is released at this time.
    pub(crate) fn insert_copy(&mut self, item: T, group: Option<u16>, release: Time) {
        let index = group.and_then(|group| self.lane_of.get(usize::from(group)));
        self.insert_at(item, index.copied().unwrap_or(0), release);
    }

    fn insert_at(&mut self, item: T, index: usize, release: Time) {
        let lane = &mut self.lanes[index];
        let behind = lane.items.iter().rev();
        let overtaken = behind.take_while(|(at, _)| *at > release).count();
        let place = lane.items.len() - overtaken;
        if place == 0 {
            // The head of the lane is another one.
            self.heads.retain(|Reverse((_, lane))| *lane != index);
            self.heads.push(Reverse((release, index)));
        }
        lane.items.insert(place, (release, item));
        self.len += 1;
    }

    /// Remembers the last release of each lane: nothing in it was held back.
    pub(crate) fn remember(&mut self) {
        for lane in &mut self.lanes {
            let last = lane.items.back().map(|(at, _)| *at);
            lane.last = lane.last.max(last.unwrap_or(Time::ZERO));
        }
    }

    /// Delays what follows of a group by `delay`. What was not held back is not overtaken: the last releases are remembered.
    pub(crate) fn set_delay(&mut self, group: usize, delay: Time) {
        let Some(index) = self.lane_of.get(group).copied() else {
            return;
        };
        let lane = &mut self.lanes[index];
        if lane.is_own {
            lane.delay = delay;
            return;
        }
        let lane = Lane {
            delay,
            noise: lane.noise,
            random: lane.random.clone(),
            last: lane.last,
            is_ordered: true,
            is_own: true,
            items: VecDeque::new(),
        };
        self.lane_of[group] = self.lanes.len();
        self.lanes.push(lane);
    }

    /// The next item whose release is due at `now`, with the time of its release.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, T)> {
        let Reverse((release, index)) = *self.heads.peek()?;
        if release > now {
            return None;
        }
        self.heads.pop();
        let items = &mut self.lanes[index].items;
        let released = items.pop_front()?;
        if let Some(&(next, _)) = items.front() {
            self.heads.push(Reverse((next, index)));
        }
        self.len -= 1;
        Some(released)
    }

    /// When the next item is released.
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.heads.peek().map(|Reverse((release, _))| *release)
    }
    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.lane_of.len()
    }
    /// Number of items that wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn each_group_waits_for_its_own_delay() {
        let mut line = DelayLine::new(&[MS(10), MS(2), MS(10)]);
        for (item, group, end) in [
            ("a", Some(0), 0),
            ("b", Some(1), 1),
            ("c", None, 2),
            ("d", Some(2), 2),
            ("e", Some(9), 5),
        ] {
            line.push(item, group, MS(end));
        }
        let mut released = Vec::new();
        while let Some(at) = line.next_release() {
            assert_eq!(line.pop(at - Time::from_nanos(1)), None);
            released.extend(line.pop(at));
        }
        assert_eq!(
            released,
            [
                (MS(2), "c"),
                (MS(3), "b"),
                (MS(5), "e"),
                (MS(10), "a"),
                (MS(12), "d")
            ]
        );
        assert_eq!(line.len(), 0);
    }

    #[test]
    fn a_random_time_keeps_the_order_of_a_lane_and_is_half_of_its_most_on_average() {
        let noise = [Time::ZERO, MS(4)];
        let mut line = DelayLine::with_noise(&[MS(10); 2], &noise, |_| Random::new(7, "noise"));
        let (mut sum, mut last) = (0, Time::ZERO);
        for n in 0..10_000 {
            // Every fifth comes right behind the one before.
            let end = MS(10 * n) - MS(9) * u64::from(n % 5 == 4);
            for (group, most) in [(0, Time::ZERO), (1, MS(4))] {
                line.push(n, Some(group), end);
                let release = line.next_release().unwrap();
                assert!((end + MS(10)..=end + MS(10) + most).contains(&release));
                line.pop(release);
                if group == 1 {
                    assert!(release >= last);
                    last = release;
                    sum += (release - end - MS(10)).as_nanos();
                }
            }
        }
        // A little more, because none overtakes another.
        assert!((1_950_000..2_250_000).contains(&(sum / 10_000)), "{sum}");
    }

    proptest! {
        /// Against the slow way: sort by release time.
        #[test]
        fn releases_all_in_order_of_time(delays in prop::collection::vec(0..5_u64, 1..6), packets in prop::collection::vec((0..8_u16, 0..3_u64), 0..200)) {
            let delays: Vec<_> = delays.into_iter().map(MS).collect();
            let mut line = DelayLine::new(&delays);
            let mut end = Time::ZERO;
            let mut expected = Vec::new();
            for (index, (group, gap)) in packets.into_iter().enumerate() {
                end += MS(gap);
                let delay = delays.get(usize::from(group)).copied().unwrap_or(Time::ZERO);
                line.push(index, Some(group), end);
                expected.push((end + delay, delay, index));
            }
            expected.sort_unstable();
            prop_assert_eq!(line.len(), expected.len());
            let released: Vec<_> = std::iter::from_fn(|| line.pop(Time::MAX)).collect();
            let expected: Vec<_> = expected.into_iter().map(|(at, _, index)| (at, index)).collect();
            prop_assert_eq!(released, expected);
        }
    }
}
