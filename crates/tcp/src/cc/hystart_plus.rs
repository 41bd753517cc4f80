//! HyStart++: RFC 9406. Slow start, and when a round's lowest RTT has risen by an eighth, up to five
//! rounds of conservative slow start, which find out whether it stays so.

use quell_units::Time;

use super::{AckSample, Window};

/// Bounds of the delay threshold (section 4.3, `MIN_RTT_THRESH` and `MAX_RTT_THRESH`).
const THRESHOLD: (Time, Time) = (Time::from_millis(4), Time::from_millis(16));
/// `MIN_RTT_DIVISOR`, `N_RTT_SAMPLE`, `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`.
const DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u32 = 4;
const ROUNDS: u32 = 5;
/// Segments counted per ACK where departures are not paced (`L`).
const LIMIT: u32 = 8;

/// HyStart++ of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStartPlus {
    round_end: u64,
    last_lowest: Option<Time>,
    lowest: Option<Time>,
    samples: u32,
    /// Conservative slow start: the RTT at which it began, and the rounds it has lasted.
    conservative: Option<(Time, u32)>,
    /// Growth of conservative slow start below one segment.
    fraction: u32,
}

impl HyStartPlus {
    /// An ACK in slow start grows the window; returns what is left for congestion avoidance.
    pub(super) fn slow_start(&mut self, ack: &AckSample, window: &mut Window) -> u32 {
        self.observe(ack, window);
        if !window.in_slow_start() {
            return ack.acked;
        }
        let limit = if ack.paced { u32::MAX } else { LIMIT };
        let mut acked = ack.acked.min(limit);
        if self.conservative.is_some() {
            self.fraction += acked;
            acked = self.fraction / GROWTH_DIVISOR;
            self.fraction %= GROWTH_DIVISOR;
        }
        window.slow_start(acked)
    }

    fn observe(&mut self, ack: &AckSample, window: &mut Window) {
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.last_lowest = self.lowest.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= ROUNDS {
                    window.ssthresh = window.cwnd;
                }
            }
        }
        let Some(rtt) = ack.rtt else { return };
        let lowest = self.lowest.map_or(rtt, |lowest| lowest.min(rtt));
        self.lowest = Some(lowest);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match (self.conservative, self.last_lowest) {
            (None, Some(last)) => {
                let threshold = (last / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1);
                if lowest >= last + threshold {
                    self.conservative = Some((lowest, 0));
                }
            }
            // The rise was jitter.
            (Some((baseline, _)), _) if lowest < baseline => self.conservative = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows at the starts of rounds of these RTTs.
    fn rounds(rtts: &[u64]) -> Vec<u32> {
        let mut hystart = HyStartPlus::default();
        let mut window = Window::new(16);
        let mut ack = AckSample {
            acked: 1,
            ..AckSample::default()
        };
        let mut windows = Vec::new();
        for rtt in rtts {
            windows.push(window.cwnd);
            ack.rtt = Some(Time::from_millis(*rtt));
            ack.next = ack.una + u64::from(window.cwnd);
            for _ in 0..window.cwnd {
                ack.una += 1;
                if window.in_slow_start() {
                    hystart.slow_start(&ack, &mut window);
                }
            }
        }
        windows.push(window.cwnd);
        windows
    }

    #[test]
    fn a_lasting_rise_ends_slow_start_after_five_slower_rounds() {
        let windows = rounds(&[100, 100, 100, 120, 120, 120, 120, 120, 120, 120]);
        assert_eq!(windows[..4], [16, 32, 64, 128]);
        let growth = f64::from(windows[6]) / f64::from(windows[5]);
        assert!((1.2..1.3).contains(&growth), "{windows:?}");
        assert_eq!(windows[9], windows[10], "{windows:?}");
    }

    #[test]
    fn a_rise_that_passes_does_not() {
        let windows = rounds(&[100, 100, 120, 100, 100, 100, 100]);
        let last = windows.len() - 1;
        assert_eq!(windows[last], 2 * windows[last - 1], "{windows:?}");
    }
}
