//! The delay of the queue: what a packet took, less the least that any took (RFC 6817).
//!
//! * The average rises slowly and falls at once; above half of the target it counts as marks.
//! * Averages of the greatest and of the least delay say how much it varies. The more it does, the less the
//!   window grows and the less may be in flight beyond it (an option of the draft, which its authors' program
//!   always has).
//! * A delay that stands above a quarter of the target is that of a queue that never drained, or of
//!   clocks that drift: the least is measured anew.

use quell_units::Time;

use super::reports::Report;
use super::{DELAY_TARGET, ONE, VIRTUAL_RTT, ratio};

/// Number and length of the stretches whose minima are kept (RFC 6817 section 2.4.2: at least 10 minutes).
const STRETCHES: usize = 10;
const STRETCH: Time = Time::from_secs(60);
/// A variation of this leaves nothing of the steadiness.
const VARIATION: Time = Time::from_millis(10);

/// The queue delay.
#[derive(Debug, Clone)]
pub struct QueueDelay {
    /// The least delay of the last stretches, a ring; the newest is not over.
    least: [Time; STRETCHES],
    stretch: usize,
    began: Time,
    /// The newest queue delay.
    now: Time,
    average: Time,
    /// Averages of the greatest and the least one, and of their difference.
    most: Time,
    fewest: Time,
    variation: Time,
    updated: Time,
    /// The least one in this round trip, its average, and when the round trip began.
    round: (Time, Time, Time),
}

/// Moves an average by 1/`parts` of the way to a sample.
fn toward(average: Time, sample: Time, parts: u64) -> Time {
    (average * (parts - 1) + sample) / parts
}

impl QueueDelay {
    /// The state of a flow that begins at `now`.
    pub fn new(now: Time) -> Self {
        Self {
            least: [Time::MAX; STRETCHES],
            stretch: 0,
            began: now,
            now: Time::ZERO,
            average: Time::ZERO,
            most: DELAY_TARGET,
            fewest: Time::ZERO,
            variation: Time::ZERO,
            updated: now,
            round: (Time::MAX, Time::ZERO, now),
        }
    }

    /// A report of packets that took some time arrived.
    pub fn sample(&mut self, report: &Report, srtt: Time, now: Time) {
        if now >= self.began + STRETCH {
            self.stretch = (self.stretch + 1) % STRETCHES;
            self.began = now;
            self.least[self.stretch] = Time::MAX;
        }
        let (low, high) = report.span();
        let least = &mut self.least[self.stretch];
        *least = (*least).min(low);
        let base = self
            .least
            .iter()
            .fold(Time::MAX, |least, of| least.min(*of));
        self.now = report.delay - base;
        self.most = self.most.max(high - base).min(DELAY_TARGET);
        self.fewest = self.fewest.min(low - base);
        self.round.0 = self.round.0.min(low - base);
        if now < self.updated + VIRTUAL_RTT.min(srtt) {
            return;
        }
        self.updated = now;
        self.average = match self.now < self.average {
            true => self.now,
            false => toward(self.average, self.now, 4),
        };
        self.most = self.most * 15 / 16;
        self.fewest = toward(self.fewest, self.most, 16);
        self.variation = toward(self.variation, self.most - self.fewest, 32);
        if now >= self.round.2 + srtt {
            let (least, average, _) = self.round;
            self.round = (Time::MAX, toward(average, least, 256), now);
        }
    }

    /// The least delay stands above a quarter of the target; it is measured anew from now on.
    pub fn stands(&mut self, now: Time) -> bool {
        let stands = self.round.1 > DELAY_TARGET / 4;
        if stands {
            self.least = [Time::MAX; STRETCHES];
            self.began = now;
            self.round = (Time::MAX, Time::ZERO, now);
        }
        stands
    }

    /// The average is above a `parts`th of the target.
    pub fn is_above(&self, parts: u64) -> bool {
        self.average > DELAY_TARGET / parts
    }

    /// The newest delay is not below a `parts`th of the target.
    pub fn is_now_above(&self, parts: u64) -> bool {
        self.now >= DELAY_TARGET / parts
    }

    /// The part of the packets that would be marked if the queue marked from half of the target on, and all
    /// of them from the target on; `None` below.
    pub fn virtual_alpha(&self) -> Option<u64> {
        let half = DELAY_TARGET / 2;
        let above = self.average - half;
        (!above.is_zero()).then(|| ratio(above.as_nanos(), half.as_nanos()).min(ONE))
    }

    /// One without variation of the delay, and zero with much.
    pub fn steadiness(&self) -> u64 {
        ONE.saturating_sub(ratio(self.variation.as_nanos(), VARIATION.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// Reports of these delays, one in 10 ms, over a path of 20 ms.
    fn after(delays: impl Iterator<Item = u64>) -> QueueDelay {
        let mut delay = QueueDelay::new(Time::ZERO);
        for (n, ms) in delays.enumerate() {
            let report = Report {
                delay: MS(ms),
                ..Report::default()
            };
            delay.sample(&report, MS(10), MS(10 * (n as u64 + 1)));
        }
        delay
    }

    #[test]
    fn the_queue_delay_is_what_exceeds_the_least_of_ten_minutes() {
        let delay = after([20, 25, 28].into_iter());
        assert_eq!(delay.now, MS(8));
        // 21 ms was the least since, and 20 ms is forgotten after ten stretches.
        let mut later = delay;
        for minute in 1..=12 {
            let report = Report {
                delay: MS(21),
                ..Report::default()
            };
            later.sample(&report, MS(10), Time::from_secs(60 * minute) + MS(40));
            let expected = if minute < 10 { MS(1) } else { MS(0) };
            assert_eq!(later.now, expected, "minute {minute}");
        }
    }

    #[test]
    fn the_average_rises_by_a_quarter_and_falls_at_once() {
        let delay = after([20, 60].into_iter());
        assert_eq!(delay.average, MS(10));
        assert_eq!(
            after([20, 60, 60].into_iter()).average,
            Time::from_micros(17_500)
        );
        assert_eq!(after([20, 60, 25].into_iter()).average, MS(5));
    }

    #[test]
    fn delay_above_half_of_the_target_counts_as_marks_up_to_the_target() {
        // It takes some samples for the average to be there.
        let of = |ms: u64| after([20].into_iter().chain([20 + ms; 60])).virtual_alpha();
        assert_eq!(of(29), None);
        let quarter = of(37).unwrap() as f64 / ONE as f64;
        assert!((quarter - 7.0 / 30.0).abs() < 1e-3, "{quarter}");
        assert_eq!(of(90), Some(ONE));
    }

    #[test]
    fn steadiness_returns_where_the_delay_does_not_vary() {
        // The averages begin apart; 400 samples are enough to forget it.
        let steady = after(std::iter::repeat_n(20, 400)).steadiness();
        assert!(steady > ONE * 99 / 100, "{steady}");
        // The greatest average keeps near 9 ms and the least near 0: 1 - (8.6 - 0.5) / 10 and so on.
        let saw = after((0..400).map(|n| 20 + 9 * (n % 2))).steadiness();
        assert!((ONE / 10..ONE / 2).contains(&saw), "{saw}");
        let wild = after((0..400).map(|n| 20 + 40 * (n % 2))).steadiness();
        assert_eq!(wild, 0);
    }

    #[test]
    fn a_delay_that_never_falls_becomes_the_least_again() {
        let mut delay = after([20].into_iter().chain([50; 300]));
        assert!(delay.stands(MS(3_020)));
        let report = Report {
            delay: MS(50),
            ..Report::default()
        };
        delay.sample(&report, MS(10), MS(3_040));
        assert_eq!(delay.now, Time::ZERO);
        let mut short = after([20].into_iter().chain([34; 3_000]));
        assert!(!short.stands(MS(30_020)));
    }
}
