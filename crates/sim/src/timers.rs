//! The timers of all hosts: a hierarchical timing wheel (Varghese and Lauck 1987), exact to the
//! nanosecond.
//!
//! Each timer is in the wheel once, linked through an array: setting one takes a few writes, however
//! many others there are, and allocates nothing. A level has 64 slots of 64 times the length
//! of the level below; a timer lies at the level of the highest bits in which it differs from the
//! present, and moves down as its time comes near. Setting a timer to a later time only notes that
//! time: most timers of TCP are put off again and again and never ring.
//!
//! A timer that is alone in its slot does not move, because [`Timers::next`] can read its exact time.
//! Otherwise `next` is a lower bound: at that time timers may move without any of them ringing.
//! At equal times timers ring in the order in which they entered the wheel, which is the same in
//! every run.
//!
//! Of five structures it was the fastest where timers are many and so cost something (nanoseconds to ring and set one of 20, of 20 000, as
//! paced TCP does; a benchmark of 2026-11-21): wheel 27, 38; binary heap 18, 53; 4-ary heap 26, 99; tournament tree 29, 162; radix heap 81,
//! 101. The binary heap keeps what was set to an earlier time, and so grows with pacing; the wheel never does.

use quell_tcp::prefetch::prefetch;
use quell_units::Time;

/// Bits of time that a level resolves.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Levels up to 2^54 ns, the horizon of the simulation.
const LEVELS: usize = 9;
const NONE: u32 = u32::MAX;

/// One timer.
#[derive(Debug, Clone, Copy)]
struct Timer {
    /// Time at which it is to ring; [`u64::MAX`] if not at all.
    wanted: u64,
    /// Its time in the wheel, at or before `wanted`; [`u64::MAX`] if it is not there.
    queued: u64,
    next: u32,
    previous: u32,
}

impl Timer {
    const UNSET: Self = Self {
        wanted: u64::MAX,
        queued: u64::MAX,
        next: NONE,
        previous: NONE,
    };
}

/// Timers, by number.
#[derive(Debug)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    /// First timer of each slot; the lists are circular.
    heads: [[u32; SLOTS]; LEVELS],
    /// The slots of each level that are not empty, a bit each.
    occupied: [u64; LEVELS],
    /// The levels that are not empty, a bit each.
    levels: u32,
    /// The present, as far as the wheel has turned.
    turned: u64,
    /// The result of [`Timers::next`].
    due: u64,
    /// Number of timers at the start.
    first: u32,
    /// Owners of the timers that were added.
    owners: Vec<(u32, u32)>,
}

impl Timers {
    /// Bytes of one timer.
    #[cfg(test)]
    pub(crate) const MEMORY: usize = size_of::<Timer>();
    /// Bytes of one that was added.
    #[cfg(test)]
    pub(crate) const OWNED: usize = Self::MEMORY + size_of::<(u32, u32)>();

    /// A number of timers, none of them set.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            timers: vec![Timer::UNSET; count],
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            levels: 0,
            turned: 0,
            due: u64::MAX,
            first: count as u32,
            owners: Vec::new(),
        }
    }

    /// One more timer, of `place` in `flow`. Returns its number.
    pub(crate) fn add(&mut self, flow: u32, place: u32) -> u32 {
        self.timers.push(Timer::UNSET);
        self.owners.push((flow, place));
        self.timers.len() as u32 - 1
    }
    /// Flow and place of a timer that was added.
    #[inline]
    pub(crate) fn owner(&self, timer: u32) -> Option<(u32, u32)> {
        let added = timer.checked_sub(self.first)?;
        self.owners.get(added as usize).copied()
    }

    /// At `now`, which never runs backwards, sets `timer` to `at`, [`Time::MAX`] for never. It replaces
    /// the earlier setting.
    #[inline]
    pub(crate) fn set(&mut self, timer: u32, at: Time, now: Time) {
        let entry = &mut self.timers[timer as usize];
        entry.wanted = at.as_nanos();
        if entry.wanted < entry.queued {
            self.requeue(timer, now);
        }
    }

    /// Prefetches `timer`, which will be set soon.
    #[inline]
    pub(crate) fn prefetch(&self, timer: u32) {
        prefetch(&self.timers[timer as usize]);
    }

    /// A time before which no timer rings.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        Time::from_nanos(self.due)
    }

    /// The next timer that rings by `now`, which never runs backwards. It is not set any more.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<u32> {
        while self.due <= now.as_nanos() && self.levels != 0 {
            let (level, slot) = self.first();
            let head = self.heads[level][slot];
            let Timer {
                wanted,
                queued,
                next,
                ..
            } = self.timers[head as usize];
            self.turned = self.due;
            if level == 0 || next == head {
                // Its time has come, or it was put off; others of the slot may ring.
                self.unlink(head, level, slot);
                if wanted <= queued {
                    let entry = &mut self.timers[head as usize];
                    (entry.wanted, entry.queued) = (u64::MAX, u64::MAX);
                    self.look();
                    return Some(head);
                }
                self.link(head);
            } else {
                self.move_down(level, slot);
            }
            self.look();
        }
        None
    }

    /// Level and slot of the earliest timers; only if there are any.
    fn first(&self) -> (usize, usize) {
        let level = self.levels.trailing_zeros() as usize;
        (level, self.occupied[level].trailing_zeros() as usize)
    }

    /// Finds the time of the first slot, or of the timer that is alone in it.
    #[inline]
    fn look(&mut self) {
        self.due = u64::MAX;
        if self.levels != 0 {
            let (level, slot) = self.first();
            let head = self.heads[level][slot];
            let Timer { queued, next, .. } = self.timers[head as usize];
            let below = BITS * level as u32;
            self.due = if next == head {
                queued
            } else {
                queued >> below << below
            };
        }
    }

    /// The first slot has come: its timers move to lower levels, or to the later times that were set.
    fn move_down(&mut self, level: usize, slot: usize) {
        let first = self.heads[level][slot];
        self.heads[level][slot] = NONE;
        self.leave(level, slot);
        let mut timer = first;
        loop {
            let next = self.timers[timer as usize].next;
            self.link(timer);
            if next == first {
                break;
            }
            timer = next;
        }
    }

    fn requeue(&mut self, timer: u32, now: Time) {
        if self.due > now.as_nanos() {
            self.turn_to(now.as_nanos());
        }
        let queued = self.timers[timer as usize].queued;
        if queued != u64::MAX {
            let (level, slot) = self.place(queued);
            self.unlink(timer, level, slot);
        }
        self.link(timer);
        self.look();
    }

    /// Moves the present to `now`, before anything is due. Every timer differs from `now` first at
    /// the level where it lies, except one that is alone in a slot that has begun.
    fn turn_to(&mut self, now: u64) {
        if self.levels != 0 {
            let (level, slot) = self.first();
            let head = self.heads[level][slot];
            let below = BITS * level as u32;
            if self.timers[head as usize].queued >> below << below <= now {
                self.unlink(head, level, slot);
                self.turned = now;
                self.link(head);
            }
        }
        self.turned = now;
    }

    /// Level and slot of a time that is not before the present.
    fn place(&self, at: u64) -> (usize, usize) {
        let differs = at ^ self.turned;
        let level = (63 - (differs | 1).leading_zeros()) / BITS;
        (level as usize, (at >> (BITS * level)) as usize % SLOTS)
    }

    /// Puts a timer that is not in the wheel to its wanted time, if it has one within the horizon.
    fn link(&mut self, timer: u32) {
        let wanted = self.timers[timer as usize].wanted;
        if wanted >= 1 << (BITS * LEVELS as u32) {
            self.timers[timer as usize].queued = u64::MAX;
            return;
        }
        // A time that has passed means at once.
        let at = wanted.max(self.turned);
        let (level, slot) = self.place(at);
        let head = self.heads[level][slot];
        let (next, previous) = if head == NONE {
            self.heads[level][slot] = timer;
            self.occupied[level] |= 1 << slot;
            self.levels |= 1 << level;
            (timer, timer)
        } else {
            let last = self.timers[head as usize].previous;
            self.timers[head as usize].previous = timer;
            self.timers[last as usize].next = timer;
            (head, last)
        };
        let entry = &mut self.timers[timer as usize];
        (entry.queued, entry.next, entry.previous) = (at, next, previous);
    }

    fn unlink(&mut self, timer: u32, level: usize, slot: usize) {
        let Timer { next, previous, .. } = self.timers[timer as usize];
        if next == timer {
            self.heads[level][slot] = NONE;
            self.leave(level, slot);
            return;
        }
        self.timers[next as usize].previous = previous;
        self.timers[previous as usize].next = next;
        if self.heads[level][slot] == timer {
            self.heads[level][slot] = next;
        }
    }

    fn leave(&mut self, level: usize, slot: usize) {
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every ring until `end`, with its time, in order.
    fn rings(timers: &mut Timers, end: u64) -> Vec<(u64, u32)> {
        let mut rings = Vec::new();
        while timers.next().as_nanos() <= end {
            let now = timers.next();
            while let Some(timer) = timers.pop(now) {
                rings.push((now.as_nanos(), timer));
            }
        }
        rings
    }

    #[test]
    fn rings_in_order_of_time_and_then_of_setting() {
        let mut timers = Timers::new(5);
        let ns = Time::from_nanos;
        for (timer, at) in [
            (3, 1_000_000_007),
            (1, 64),
            (0, 64),
            (4, 63),
            (2, 1_000_000_007),
        ] {
            timers.set(timer, ns(at), Time::ZERO);
        }
        let expected = [
            (63, 4),
            (64, 1),
            (64, 0),
            (1_000_000_007, 3),
            (1_000_000_007, 2),
        ];
        assert_eq!(rings(&mut timers, u64::MAX - 1), expected);
        assert_eq!(timers.next(), Time::MAX);
    }

    #[test]
    fn a_timer_put_off_rings_once_and_late() {
        let mut timers = Timers::new(2);
        let mut set = |timer, at| timers.set(timer, at, Time::ZERO);
        set(0, Time::from_micros(1));
        set(0, Time::from_secs(1));
        set(1, Time::from_micros(2));
        set(1, Time::MAX);
        assert_eq!(rings(&mut timers, 1 << 53), [(1_000_000_000, 0)]);
    }

    proptest! {
        /// Against the slow way: look at all of them.
        #[test]
        fn rings_as_a_sorted_list_would(steps in prop::collection::vec((0_u32..6, 0_u64..5_000_000_000, 0_u32..34), 1..200)) {
            let mut timers = Timers::new(6);
            let mut wanted = [u64::MAX; 6];
            let mut now = 0;
            for (timer, span, shift) in steps {
                let at = if span % 17 == 0 { u64::MAX } else { now + (span >> shift) };
                timers.set(timer, Time::from_nanos(at), Time::from_nanos(now));
                wanted[timer as usize] = at;
                // Go on by half the way to the next.
                let until = now + (span >> shift) / 2;
                let mut rang = Vec::new();
                while timers.next().as_nanos() <= until {
                    let at = timers.next();
                    prop_assert!(at.as_nanos() >= now);
                    while let Some(timer) = timers.pop(at) {
                        rang.push((at.as_nanos(), timer));
                    }
                }
                let mut expected: Vec<(u64, u32)> = (0..6).map(|t| (wanted[t as usize], t)).filter(|(at, _)| *at <= until).collect();
                for (_, timer) in &expected {
                    wanted[*timer as usize] = u64::MAX;
                }
                expected.sort_unstable();
                prop_assert!(rang.windows(2).all(|pair| pair[0].0 <= pair[1].0));
                rang.sort_unstable();
                prop_assert_eq!(rang, expected);
                now = until;
            }
        }
    }
}
