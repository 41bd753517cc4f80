//! HyStart: when to leave slow start before loss. Ha and Rhee 2011; Linux `net/ipv4/tcp_cubic.c`
//! (`hystart_*`).
//!
//! Two signs of a full path: ACKs that arrive back to back for longer than half the lowest RTT (the
//! train), and a round whose lowest RTT exceeds the lowest ever by an eighth (the delay). Rounds
//! end when what was outstanding at their start is acknowledged.

use quell_units::Time;

use super::{AckSample, Window};

/// Not below this window (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// RTT samples per round before the delay counts (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u8 = 8;
/// ACKs closer than this are a train (`hystart_ack_delta_us`).
const ACK_SPACING: Time = Time::from_millis(2);
/// Bounds of the delay threshold (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_BOUNDS: (Time, Time) = (Time::from_millis(4), Time::from_millis(16));

/// HyStart of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    round_start: Time,
    last_ack: Time,
    round_end: u64,
    /// Lowest RTT of this round.
    lowest: Option<Time>,
    samples: u8,
    found: bool,
}

impl HyStart {
    /// Begins again, after a time-out.
    pub(super) fn reset(&mut self, now: Time, next: u64) {
        self.found = false;
        self.begin_round(now, next);
    }
    fn begin_round(&mut self, now: Time, next: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = next;
        self.lowest = None;
        self.samples = 0;
    }
    /// An RTT sample in slow start. `lowest_ever` is the lowest of the connection; the delay
    /// threshold is that divided by 2 to the power of `shift`: 3 today, 4 in Linux 3.x.
    pub(super) fn on_sample(
        &mut self,
        rtt: Time,
        lowest_ever: Time,
        shift: u32,
        ack: &AckSample,
        window: &mut Window,
    ) {
        if self.found || !window.in_slow_start() {
            return;
        }
        // Rounds are counted below the lowest window too (`hystart_update`): else the first would
        // begin in the middle of a flight, where the path is full already.
        if ack.una > self.round_end {
            self.begin_round(ack.now, ack.next);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if ack.now - self.last_ack <= ACK_SPACING {
            self.last_ack = ack.now;
            // Pacing alone spreads the ACKs over half a round.
            let limit = lowest_ever + ack.burst_time;
            let limit = if ack.paced { limit } else { limit / 2 };
            self.found |= ack.now - self.round_start > limit;
        }
        self.lowest = Some(self.lowest.map_or(rtt, |lowest| lowest.min(rtt)));
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let threshold = Time::from_nanos(lowest_ever.as_nanos() >> shift)
                .clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1);
            self.found |= self.lowest > Some(lowest_ever + threshold);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window at which slow start ends when each round's ACKs come `spacing` apart and the RTT
    /// is as `rtt` says for the window.
    fn exit(spacing: Time, rtt: impl Fn(u32) -> Time) -> Option<u32> {
        let mut hystart = HyStart::default();
        let mut window = Window::new(10);
        let mut ack = AckSample::default();
        let mut round_start = Time::ZERO;
        let lowest_ever = rtt(0);
        while window.cwnd < 10_000 {
            let (first, last) = (ack.next, ack.next + u64::from(window.cwnd));
            ack.next = last;
            ack.now = round_start;
            for n in first..last {
                ack.una = n + 1;
                hystart.on_sample(rtt(window.cwnd), lowest_ever, 3, &ack, &mut window);
                if !window.in_slow_start() {
                    return Some(window.cwnd);
                }
                window.cwnd += 1;
                ack.next += 2;
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
                una: n,
                next: 10 + 2 * (n - 1),
                ..AckSample::default()
            };
            hystart.on_sample(rtt, rtt, 3, &ack, &mut window);
            window.cwnd += 1;
        }
        assert_eq!(hystart.round_start, rtt + Time::from_millis(1));
        assert_eq!(hystart.round_end, 10);
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
