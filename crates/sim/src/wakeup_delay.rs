//! A link whose thread wakes late, as a real one does.
//!
//! In the live world a thread sleeps until the next packet is due at the end of a wire, and wakes a
//! little later. All packets that have become due by then, in either direction, leave together. Queues
//! do not notice, because they work in logical time. TCP does: its ACK clock loses the exactness
//! that lets modelled flows fall into step. The live world measures how late its thread woke
//! (`link.oversleep_ms` of a live summary); this module gives that lateness to the simulator.

use quell_units::{Random, Time};

/// The distribution of lateness of wake-ups, by its quantiles and linear between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    /// (share of wake-ups in 2⁻³², no later than this), ascending; from (0, 0) to (1, max).
    points: Vec<(u64, Time)>,
}

/// The share of all wake-ups.
const ALL: u64 = 1 << 32;

impl Lateness {
    /// The distribution with these quantiles, such as `(0.5, median)`; the last one is taken as the greatest lateness.
    /// Entries out of order, and shares that are not between 0 and 1, are left out.
    pub fn from_quantiles(quantiles: &[(f64, Time)]) -> Self {
        let mut points = vec![(0, Time::ZERO)];
        let mut greatest = Time::ZERO;
        for &(share, late) in quantiles {
            greatest = greatest.max(late);
            let share = (share * ALL as f64) as u64;
            let last = points.last().map_or(0, |(share, _)| *share);
            if (last + 1..ALL).contains(&share) {
                points.push((share, greatest));
            }
        }
        points.push((ALL, greatest));
        Self { points }
    }
    fn draw(&self, random: &mut Random) -> Time {
        let share = random.below(ALL);
        let above = self.points.partition_point(|(point, _)| *point <= share);
        let (Some(&(low, least)), Some(&(high, most))) =
            (self.points.get(above - 1), self.points.get(above))
        else {
            return Time::ZERO;
        };
        // Shares are below 2³³ and a lateness below 2⁶³.
        let span = u128::from((most - least).as_nanos()) * u128::from(share - low);
        least + Time::from_nanos((span / u128::from(high - low)) as u64)
    }
}

/// The thread that wakes late.
#[derive(Debug)]
pub(crate) struct WakeupDelay {
    lateness: Lateness,
    random: Random,
    /// The time at which the thread wakes. Everything that is due by then leaves then.
    wakes: Time,
}

impl WakeupDelay {
    pub(crate) fn new(lateness: Lateness, random: Random) -> Self {
        Self {
            lateness,
            random,
            wakes: Time::ZERO,
        }
    }
    /// The time at which a packet that is due at `now` leaves.
    pub(crate) fn wake(&mut self, now: Time) -> Time {
        if now > self.wakes {
            self.wakes = now + self.lateness.draw(&mut self.random);
        }
        self.wakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    #[test]
    fn draws_follow_the_quantiles() {
        let lateness =
            Lateness::from_quantiles(&[(0.5, US(40)), (0.99, US(100)), (1.0, US(2_000))]);
        let mut random = Random::new(1, "lateness");
        let mut all: Vec<Time> = (0..100_000).map(|_| lateness.draw(&mut random)).collect();
        all.sort();
        // Four standard errors of a share of 100 000 draws, times the local slope.
        let near = |index: usize, wanted: u64, by: u64| {
            let found = all[index].as_nanos();
            assert!(
                found.abs_diff(wanted * 1_000) <= by * 1_000,
                "{index}: {found}"
            );
        };
        near(25_000, 20, 1);
        near(50_000, 40, 1);
        near(99_000, 100, 60);
        near(99_500, 1_050, 220);
        assert!(all[99_999] <= US(2_000) && all[99_999] > US(1_800));
    }

    #[test]
    fn what_falls_due_while_the_thread_sleeps_leaves_when_it_wakes() {
        let lateness = Lateness::from_quantiles(&[(0.0, US(50)), (1.0, US(50))]);
        let mut wakeup_delay = WakeupDelay::new(lateness, Random::new(1, "lateness"));
        let wakes = wakeup_delay.wake(US(100));
        assert!(wakes > US(100) && wakes <= US(150));
        for due in [US(100), wakes] {
            assert_eq!(wakeup_delay.wake(due), wakes);
        }
        assert!(wakeup_delay.wake(wakes + US(1)) > wakes);
    }

    #[test]
    fn nonsense_is_left_out_and_nothing_is_never_late() {
        let lateness = Lateness::from_quantiles(&[(2.0, US(5)), (f64::NAN, US(1)), (-1.0, US(1))]);
        assert_eq!(lateness.points, [(0, Time::ZERO), (ALL, US(5))]);
        let never = Lateness::from_quantiles(&[]);
        assert_eq!(never.draw(&mut Random::new(1, "lateness")), Time::ZERO);
    }
}
