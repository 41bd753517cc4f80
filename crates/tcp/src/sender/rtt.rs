//! Round-trip time and retransmission time-out: RFC 6298; Linux `tcp_input.c`
//! (`tcp_rtt_estimator`), `include/net/tcp.h` (`__tcp_set_rto`), `lib/win_minmax.c`.
//!
//! Linux differs from RFC 6298: 1. the least time-out applies to the variance term alone,
//! rto = srtt + max(4 rttvar, 200 ms); 2. a falling RTT raises the variance an eighth as fast; 3. the
//! variance falls only once per round. Deviation from Linux: times are in nanoseconds.

use quell_units::Time;

/// Time-out before the first sample. RFC 6298 section 2.1: "the sender SHOULD set RTO <- 1 second".
pub(super) const INITIAL_RTO: Time = Time::from_secs(1);
/// Longest time-out (`TCP_RTO_MAX`).
pub(super) const MAX_RTO: Time = Time::from_secs(120);
/// Period over which the lowest RTT is taken (`tcp_min_rtt_wlen`).
const MIN_RTT_WLEN: Time = Time::from_secs(300);

/// The estimator; its terms are scaled as in Linux.
#[derive(Debug, Clone)]
pub(super) struct Rtt {
    /// Eight times the smoothed RTT; zero before the first sample.
    srtt: u64,
    /// Four times the mean deviation.
    mdev: u64,
    /// Greatest `mdev` of this round.
    mdev_max: u64,
    /// The variance term of the time-out.
    rttvar: u64,
    /// The round ends when this number is acknowledged (`rtt_seq`).
    round_end: u64,
    rto_min: u64,
    min_rtt: MinFilter,
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
            min_rtt: MinFilter::default(),
        }
    }
    /// Takes a sample (`tcp_rtt_estimator`). RFC 6298 section 2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta
    /// * |SRTT - R'|" and "SRTT <- (1 - alpha) * SRTT + alpha * R'", alpha = 1/8, beta = 1/4.
    pub(super) fn on_sample(&mut self, rtt: Time, snd_una: u64, snd_nxt: u64) {
        let sample = rtt.as_nanos().min(MAX_RTO.as_nanos());
        if self.srtt == 0 {
            self.srtt = (sample << 3).max(1);
            self.mdev = sample << 1;
            self.rttvar = self.mdev.max(self.rto_min);
            self.mdev_max = self.rttvar;
            self.round_end = snd_nxt;
            return;
        }
        let error = sample as i64 - (self.srtt >> 3) as i64;
        self.srtt = self.srtt.saturating_add_signed(error).max(1);
        let excess = error.abs() - (self.mdev >> 2) as i64;
        // A falling RTT raises the deviation an eighth as fast: else the time-out would rise because
        // the RTT falls.
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
        if snd_una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.round_end = snd_nxt;
            self.mdev_max = self.rto_min;
        }
    }
    /// Takes a sample for the lowest RTT (`tcp_update_rtt_min`).
    pub(super) fn update_min_rtt(&mut self, rtt: Time, now: Time) {
        self.min_rtt.update(rtt, now);
    }
    /// Smoothed RTT; `None` before the first sample.
    pub(super) fn srtt(&self) -> Option<Time> {
        (self.srtt > 0).then(|| Time::from_nanos(self.srtt >> 3))
    }
    /// Lowest RTT of the last five minutes; `None` before the first sample.
    pub(super) fn min_rtt(&self) -> Option<Time> {
        self.min_rtt.get()
    }
    /// rto = srtt + rttvar, where rttvar is at least `rto_min`.
    pub(super) fn rto(&self) -> Time {
        match self.srtt() {
            Some(srtt) => (srtt + Time::from_nanos(self.rttvar)).min(MAX_RTO),
            None => INITIAL_RTO,
        }
    }
    pub(super) fn rto_min(&self) -> Time {
        Time::from_nanos(self.rto_min)
    }
}

/// The minimum over a sliding window, from its three best samples (Kathleen Nichols; Linux
/// `lib/win_minmax.c`).
#[derive(Debug, Clone, Default)]
struct MinFilter {
    /// (value, taken at), from the best to the latest.
    samples: [(Time, Time); 3],
    is_set: bool,
}

impl MinFilter {
    fn get(&self) -> Option<Time> {
        self.is_set.then_some(self.samples[0].0)
    }
    #[inline]
    fn update(&mut self, value: Time, now: Time) {
        let sample = (value, now);
        let [best, second, third] = &mut self.samples;
        if !self.is_set || value <= best.0 || now - third.1 > MIN_RTT_WLEN {
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
        if age > MIN_RTT_WLEN {
            (*best, *second, *third) = (*second, *third, sample);
            if now - best.1 > MIN_RTT_WLEN {
                (*best, *second) = (*second, *third);
            }
        } else if second.1 == best.1 && age > MIN_RTT_WLEN / 4 {
            (*second, *third) = (sample, sample);
        } else if third.1 == second.1 && age > MIN_RTT_WLEN / 2 {
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
        assert_eq!(rtt.rto(), MS(1_000));
        rtt.on_sample(MS(100), 0, 1);
        // RTTVAR = R/2, times four is 200 ms.
        assert_eq!(rtt.rto(), MS(300));
        for n in 1..1_000 {
            rtt.on_sample(MS(100), n, n);
        }
        assert_eq!(rtt.rto(), MS(300));
        let mut rtt = Rtt::new(MS(200));
        rtt.on_sample(MS(400), 0, 1);
        assert_eq!(rtt.rto(), MS(400 + 800));
    }

    #[test]
    fn the_smoothed_rtt_moves_an_eighth() {
        let mut rtt = Rtt::new(MS(200));
        rtt.on_sample(MS(80), 0, 1);
        rtt.on_sample(MS(160), 0, 1);
        assert_eq!(rtt.srtt(), Some(MS(90)));
        rtt.on_sample(MS(10), 0, 1);
        assert_eq!(rtt.srtt(), Some(MS(80)));
    }

    #[test]
    fn the_lowest_rtt_is_forgotten_after_five_minutes() {
        let mut rtt = Rtt::new(MS(200));
        rtt.update_min_rtt(MS(10), Time::ZERO);
        for second in 1..300 {
            rtt.update_min_rtt(MS(20), Time::from_secs(second));
            assert_eq!(rtt.min_rtt(), Some(MS(10)));
        }
        rtt.update_min_rtt(MS(20), Time::from_secs(302));
        assert_eq!(rtt.min_rtt(), Some(MS(20)));
    }

    /// `tcp_rtt_estimator`: `after(tp->snd_una, tp->rtt_seq)`.
    #[test]
    fn the_variance_falls_when_more_is_acknowledged_than_had_left_at_the_rounds_start() {
        let mut rtt = Rtt::new(MS(200));
        rtt.on_sample(MS(400), 0, 10);
        rtt.on_sample(MS(400), 11, 20);
        for _ in 0..20 {
            rtt.on_sample(MS(400), 20, 30);
            assert_eq!(rtt.rto(), MS(400 + 800));
        }
        // The deviation of the round was 800 ms · (3/4)² at most, and a quarter of the difference goes.
        rtt.on_sample(MS(400), 21, 30);
        assert_eq!(rtt.rto(), Time::from_micros(400_000 + 712_500));
    }

    /// `minmax_subwin_update`: the second best is renewed after a quarter of the window, the third after a half;
    /// each takes over when the one before it has left the window.
    #[test]
    fn the_lowest_rtt_falls_back_on_that_of_a_later_part_of_the_window() {
        let mut rtt = Rtt::new(MS(200));
        for (second, sample, lowest) in [
            (0, 10, 10),
            // Not yet more than a quarter, or a half.
            (75, 20, 10),
            (80, 30, 10),
            (150, 35, 10),
            (155, 38, 10),
            (300, 50, 10),
            (301, 50, 30),
            (380, 50, 30),
            (381, 50, 38),
            (600, 50, 50),
        ] {
            rtt.update_min_rtt(MS(sample), Time::from_secs(second));
            assert_eq!(rtt.min_rtt(), Some(MS(lowest)), "{second} s");
        }
    }
}
