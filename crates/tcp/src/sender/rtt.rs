//! Round-trip time and retransmission time-out: RFC 6298; Linux `tcp_input.c`
//! (`tcp_rtt_estimator`), `include/net/tcp.h` (`__tcp_set_rto`), `lib/win_minmax.c`.
//!
//! Linux differs from RFC 6298 in that the least time-out applies to the variance term alone (rto =
//! srtt + max(4 rttvar, 200 ms)), in that a falling RTT raises the variance an eighth as fast, and
//! in that the variance falls once per round only. Here in nanoseconds instead of microseconds.

use quell_units::Time;

/// Before the first sample (RFC 6298 section 2.1).
pub(super) const INITIAL_RTO: Time = Time::from_secs(1);
/// Longest time-out (`TCP_RTO_MAX`).
pub(super) const MAX_RTO: Time = Time::from_secs(120);
/// The lowest RTT is that of so long (`tcp_min_rtt_wlen`).
const LOWEST_WINDOW: Time = Time::from_secs(300);

/// The estimator; its terms are scaled as in Linux.
#[derive(Debug, Clone)]
pub(super) struct Rtt {
    /// Eight times the smoothed RTT; zero before the first sample.
    srtt: u64,
    /// Four times the mean deviation.
    mdev: u64,
    /// Greatest of this round.
    mdev_max: u64,
    /// The variance term.
    rttvar: u64,
    /// The round ends when this is acknowledged.
    round_end: u64,
    rto_min: u64,
    lowest: Lowest,
}

impl Rtt {
    pub(super) fn new(rto_min: Time) -> Self {
        let rto_min = rto_min.as_nanos();
        Self {
            srtt: 0,
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            rto_min,
            lowest: Lowest::default(),
        }
    }
    /// A sample, with what is acknowledged and what has been sent.
    pub(super) fn on_sample(&mut self, rtt: Time, una: u64, next: u64) {
        let sample = rtt.as_nanos().min(MAX_RTO.as_nanos());
        if self.srtt == 0 {
            self.srtt = (sample << 3).max(1);
            self.mdev = sample << 1;
            self.rttvar = self.mdev.max(self.rto_min);
            self.mdev_max = self.rttvar;
            self.round_end = next;
            return;
        }
        let error = sample as i64 - (self.srtt >> 3) as i64;
        self.srtt = self.srtt.saturating_add_signed(error).max(1);
        let excess = error.abs() - (self.mdev >> 2) as i64;
        let step = if error < 0 && excess > 0 {
            excess >> 3
        } else {
            excess
        };
        self.mdev = self.mdev.saturating_add_signed(step);
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.round_end = next;
            self.mdev_max = self.rto_min;
        }
    }
    /// A sample for the lowest RTT.
    pub(super) fn on_lowest(&mut self, rtt: Time, now: Time) {
        self.lowest.update(rtt, now);
    }
    /// Smoothed RTT; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Time> {
        (self.srtt > 0).then(|| Time::from_nanos(self.srtt >> 3))
    }
    /// Lowest RTT of the last five minutes; `None` before the first sample.
    pub(super) fn lowest(&self) -> Option<Time> {
        self.lowest.get()
    }
    /// rto = srtt + rttvar, where rttvar is at least `rto_min`.
    pub(super) fn timeout(&self) -> Time {
        match self.smoothed() {
            Some(srtt) => (srtt + Time::from_nanos(self.rttvar)).min(MAX_RTO),
            None => INITIAL_RTO,
        }
    }
    pub(super) fn rto_min(&self) -> Time {
        Time::from_nanos(self.rto_min)
    }
}

/// The minimum over a sliding window, from its three best samples (Nichols).
#[derive(Debug, Clone, Default)]
struct Lowest {
    /// (value, taken at), from the best to the latest.
    samples: [(Time, Time); 3],
    is_set: bool,
}

impl Lowest {
    fn get(&self) -> Option<Time> {
        self.is_set.then_some(self.samples[0].0)
    }
    #[inline]
    fn update(&mut self, value: Time, now: Time) {
        let sample = (value, now);
        let [best, second, third] = &mut self.samples;
        if !self.is_set || value <= best.0 || now - third.1 > LOWEST_WINDOW {
            self.is_set = true;
            self.samples = [sample; 3];
            return;
        }
        if value <= second.0 {
            (*second, *third) = (sample, sample);
        } else if value <= third.0 {
            *third = sample;
        }
        let age = now - best.1;
        if age > LOWEST_WINDOW {
            (*best, *second, *third) = (*second, *third, sample);
            if now - best.1 > LOWEST_WINDOW {
                (*best, *second) = (*second, *third);
            }
        } else if second.1 == best.1 && age > LOWEST_WINDOW / 4 {
            (*second, *third) = (sample, sample);
        } else if third.1 == second.1 && age > LOWEST_WINDOW / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn the_least_time_out_applies_to_the_variance_term() {
        let mut rtt = Rtt::new(MS(200));
        assert_eq!(rtt.timeout(), MS(1_000));
        rtt.on_sample(MS(100), 0, 1);
        // RTTVAR = R/2, times four is 200 ms.
        assert_eq!(rtt.timeout(), MS(300));
        for n in 1..1_000 {
            rtt.on_sample(MS(100), n, n);
        }
        assert_eq!(rtt.timeout(), MS(300));
        let mut rtt = Rtt::new(MS(200));
        rtt.on_sample(MS(400), 0, 1);
        assert_eq!(rtt.timeout(), MS(400 + 800));
    }

    #[test]
    fn the_smoothed_rtt_moves_an_eighth() {
        let mut rtt = Rtt::new(MS(200));
        rtt.on_sample(MS(80), 0, 1);
        rtt.on_sample(MS(160), 0, 1);
        assert_eq!(rtt.smoothed(), Some(MS(90)));
        rtt.on_sample(MS(10), 0, 1);
        assert_eq!(rtt.smoothed(), Some(MS(80)));
    }

    #[test]
    fn the_lowest_rtt_is_forgotten_after_five_minutes() {
        let mut rtt = Rtt::new(MS(200));
        rtt.on_lowest(MS(10), Time::ZERO);
        for second in 1..300 {
            rtt.on_lowest(MS(20), Time::from_secs(second));
            assert_eq!(rtt.lowest(), Some(MS(10)));
        }
        rtt.on_lowest(MS(20), Time::from_secs(302));
        assert_eq!(rtt.lowest(), Some(MS(20)));
    }
}
