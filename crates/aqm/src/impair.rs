//! Impairments of a path behind its queue: it loses some packets, delays them unequally, and lets some be overtaken.
//!
//! Losses follow the model of Gilbert and Elliott: the path is good or bad, changes at each packet with the probabilities `enter` and
//! `leave`, and loses a packet with a probability of the state it is then in (Gilbert 1960, Elliott 1963; as `loss gemodel` of
//! tc-netem(8), whose `1-h` is `bad` and `1-k` is `good`). With `enter` zero it stays good, and losses are independent.
//!
//! Jitter keeps the order: a packet never leaves before the one in front of it. A packet that is held back leaves later by a fixed
//! time, and those behind it overtake it. Where tc-netem sends some packets early, here some are late: what is decided never has to
//! leave before its time.
//!
//! Everything is drawn from one stream, a fixed number of draws for each packet, in integers.

use crate::units::{Probability, Random, Time};

/// The impairments of packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Impairment {
    /// Losses.
    pub loss: Loss,
    /// The share of packets that are held back.
    pub reorder: Probability,
    /// The time for which they are held.
    pub hold: Time,
    /// The longest random delay; uniform from zero.
    pub jitter: Time,
}

/// Probabilities of the model of Gilbert and Elliott.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Probability of a change from good to bad.
    pub enter: Probability,
    /// Probability of a change from bad to good.
    pub leave: Probability,
    /// Probability of a loss in the bad state.
    pub bad: Probability,
    /// Probability of a loss in the good state.
    pub good: Probability,
}

impl Impairment {
    /// The longest that a packet is delayed.
    pub fn most_delay(&self) -> Time {
        let hold = if self.reorder == Probability::ZERO {
            Time::ZERO
        } else {
            self.hold
        };
        self.jitter + hold
    }
}

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct Impairer {
    impairment: Impairment,
    random: Random,
    is_bad: bool,
    /// When the last packet left that was not held back.
    last: Time,
    lost: u64,
}

impl Impairer {
    /// A path in its good state.
    pub fn new(impairment: Impairment, random: Random) -> Self {
        Self {
            impairment,
            random,
            is_bad: false,
            last: Time::ZERO,
            lost: 0,
        }
    }

    /// When the packet that leaves the link at `end` goes on; `None` if it is lost. Ends never run backwards.
    pub fn judge(&mut self, end: Time) -> Option<Time> {
        let Impairment {
            loss,
            reorder,
            hold,
            jitter,
        } = self.impairment;
        let change = if self.is_bad { loss.leave } else { loss.enter };
        self.is_bad ^= self.random.chance(change);
        let chance = if self.is_bad { loss.bad } else { loss.good };
        let is_lost = self.random.chance(chance);
        let is_held = self.random.chance(reorder);
        // Draws are finer than nanoseconds.
        let draw = u128::from(self.random.u64()) * u128::from(jitter.as_nanos());
        let later = Time::from_nanos((draw >> 64) as u64);
        if is_lost {
            self.lost += 1;
            return None;
        }
        let at = (end + later).max(self.last);
        if is_held {
            return Some(at + hold);
        }
        self.last = at;
        Some(at)
    }

    /// Packets lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const US: fn(u64) -> Time = Time::from_micros;
    const PACKETS: u64 = 200_000;

    /// What becomes of packets 10 µs apart.
    fn fates(impairment: Impairment) -> Vec<Option<Time>> {
        let mut path = Impairer::new(impairment, Random::new(3, "impair"));
        (0..PACKETS).map(|n| path.judge(US(10 * n))).collect()
    }

    #[test]
    fn losses_are_as_many_and_as_long_as_the_model_says() {
        let part = |parts| Probability::ratio(parts, 1_000);
        // Independent; then Gilbert: bad for 1/leave packets, for enter / (enter + leave) of all; then losses in both states.
        for (enter, leave, bad, good, share, burst) in [
            (0, 0, 0, 20, 0.02, 1.0 / 0.98),
            (10, 250, 1_000, 0, 10.0 / 260.0, 4.0),
            (100, 100, 500, 100, 0.3, 0.0),
        ] {
            let loss = Loss {
                enter: part(enter),
                leave: part(leave),
                bad: part(bad),
                good: part(good),
            };
            let fates = fates(Impairment {
                loss,
                ..Impairment::default()
            });
            let lost = fates.iter().filter(|fate| fate.is_none()).count() as f64;
            // Bursts make the count vary: its standard error is 2.9 % with Gilbert's, and 12 % are four of them.
            assert!((lost / PACKETS as f64 / share - 1.0).abs() < 0.12, "{lost}");
            let starts = fates
                .windows(2)
                .filter(|two| two[0].is_some() && two[1].is_none());
            let mean = lost / starts.count() as f64;
            assert!(burst == 0.0 || (mean / burst - 1.0).abs() < 0.12, "{mean}");
        }
    }

    #[test]
    fn jitter_keeps_the_order_and_what_is_held_back_is_overtaken() {
        let fates = fates(Impairment {
            reorder: Probability::ratio(1, 100),
            hold: US(500),
            jitter: US(100),
            ..Impairment::default()
        });
        let times: Vec<Time> = fates.into_iter().flatten().collect();
        let held = |(n, at): &(u64, &Time)| **at - US(10 * n) >= US(500);
        let all = || (0..).zip(&times);
        let count = all().filter(held).count();
        assert!((1_800..2_200).contains(&count), "{count}");
        let rest: Vec<&Time> = all().filter(|one| !held(one)).map(|(_, at)| at).collect();
        assert!(rest.is_sorted());
        assert!(all().all(|(n, at)| *at >= US(10 * n) && *at <= US(10 * n) + US(600)));
    }
}
