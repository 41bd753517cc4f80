//! HyStart leaves slow start before loss: Ha and Rhee 2011; Linux `net/ipv4/tcp_cubic.c`
//! (`hystart_*`).
//!
//! Two signs show that the path is full: ACKs arrive back to back for longer than half the lowest
//! RTT (the train), or the lowest RTT of a round exceeds the lowest ever by an eighth (the delay). A
//! round ends when everything that was outstanding at its start is acknowledged.

use quell_units::Time;

use crate::cc::{AckSample, Window};

/// Smallest window at which slow start may end, in segments (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// RTT samples per round before the delay counts (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u8 = 8;
/// Largest spacing of ACKs in a train (`hystart_ack_delta_us`).
const ACK_DELTA: Time = Time::from_millis(2);
/// Bounds of the delay threshold (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_BOUNDS: (Time, Time) = (Time::from_millis(4), Time::from_millis(16));

/// HyStart of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    round_start: Time,
    last_ack: Time,
    /// The round ends when this number is acknowledged.
    end_seq: u64,
    /// Lowest RTT of this round.
    curr_rtt: Option<Time>,
    /// RTT samples of this round, counted up to [`MIN_SAMPLES`].
    sample_cnt: u8,
    found: bool,
}

impl HyStart {
    /// Starts again after a time-out (`bictcp_hystart_reset`).
    pub(super) fn reset(&mut self, now: Time, snd_nxt: u64) {
        self.found = false;
        self.begin_round(now, snd_nxt);
    }
    fn begin_round(&mut self, now: Time, snd_nxt: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.end_seq = snd_nxt;
        self.curr_rtt = None;
        self.sample_cnt = 0;
    }
    /// Takes an RTT sample in slow start (`hystart_update`). `delay_min` is the lowest RTT of the
    /// connection; the delay threshold is `delay_min` / 2^`shift`: 3 today, 4 in Linux 3.x.
    pub(super) fn update(
        &mut self,
        rtt: Time,
        delay_min: Time,
        shift: u32,
        ack: &AckSample,
        window: &mut Window,
    ) {
        if self.found || !window.in_slow_start() {
            return;
        }
        // Rounds are counted below the lowest window too: else the first round would begin in the
        // middle of a flight, when the path is full already.
        if ack.snd_una > self.end_seq {
            self.begin_round(ack.now, ack.snd_nxt);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if ack.now - self.last_ack <= ACK_DELTA {
            self.last_ack = ack.now;
            // Pacing alone spreads the ACKs over half a round, so half the lowest RTT would always
            // be a train.
            let limit = delay_min + ack.burst_time;
            let limit = if ack.paced { limit } else { limit / 2 };
            self.found |= ack.now - self.round_start > limit;
        }
        self.curr_rtt = Some(self.curr_rtt.map_or(rtt, |curr_rtt| curr_rtt.min(rtt)));
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else {
            let threshold = Time::from_nanos(delay_min.as_nanos() >> shift)
                .clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1);
            self.found |= self.curr_rtt > Some(delay_min + threshold);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window at which slow start ends when the ACKs of each round come `spacing` apart and the
    /// RTT at each window is `rtt(window)`.
    fn exit(spacing: Time, rtt: impl Fn(u32) -> Time) -> Option<u32> {
        let mut hystart = HyStart::default();
        let mut window = Window::new(10);
        let mut ack = AckSample::default();
        let mut round_start = Time::ZERO;
        let delay_min = rtt(0);
        while window.cwnd < 10_000 {
            let (first, last) = (ack.snd_nxt, ack.snd_nxt + u64::from(window.cwnd));
            ack.snd_nxt = last;
            ack.now = round_start;
            for n in first..last {
                ack.snd_una = n + 1;
                hystart.update(rtt(window.cwnd), delay_min, 3, &ack, &mut window);
                if !window.in_slow_start() {
                    return Some(window.cwnd);
                }
                window.cwnd += 1;
                ack.snd_nxt += 2;
                ack.now += spacing;
            }
            round_start += rtt(window.cwnd).max(spacing * (last - first));
        }
        None
    }

    #[test]
    fn leaves_when_the_train_of_acks_is_longer_than_half_the_lowest_rtt() {
        // 1 ms apart, 100 ms RTT: the train passes 50 ms in the round that begins with 40.
        let cwnd = exit(Time::from_millis(1), |_| Time::from_millis(100));
        assert!(
            cwnd.is_some_and(|cwnd| (80..=160).contains(&cwnd)),
            "{cwnd:?}"
        );
    }

    /// Linux 6.18, `hystart_update`: the comparison with `end_seq` comes before the one with
    /// `hystart_low_window`, so the round that ends the initial window begins with its first ACK.
    #[test]
    fn rounds_begin_with_their_first_ack_below_the_lowest_window_too() {
        let mut hystart = HyStart::default();
        let mut window = Window::new(10);
        let rtt = Time::from_millis(80);
        // The ACKs of ten segments, 1 ms apart.
        for n in 1..=10_u64 {
            let ack = AckSample {
                now: rtt + Time::from_millis(n),
                snd_una: n,
                snd_nxt: 10 + 2 * (n - 1),
                ..AckSample::default()
            };
            hystart.update(rtt, rtt, 3, &ack, &mut window);
            window.cwnd += 1;
        }
        assert_eq!(hystart.round_start, rtt + Time::from_millis(1));
        assert_eq!(hystart.end_seq, 10);
    }

    #[test]
    fn leaves_when_the_delay_of_a_round_has_risen_by_an_eighth() {
        let queueing = |cwnd: u32| Time::from_millis(if cwnd > 200 { 113 } else { 100 });
        let cwnd = exit(Time::from_millis(3), queueing);
        assert!(
            cwnd.is_some_and(|cwnd| (200..=420).contains(&cwnd)),
            "{cwnd:?}"
        );
        let below = |cwnd: u32| Time::from_millis(if cwnd > 200 { 112 } else { 100 });
        assert_eq!(exit(Time::from_millis(3), below), None);
    }
}
