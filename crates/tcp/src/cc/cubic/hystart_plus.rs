//! HyStart++: RFC 9406. When the lowest RTT of a round has risen by an eighth, slow start becomes
//! conservative slow start (CSS) for up to five rounds, which find out whether the RTT stays high.

use quell_units::Time;

use crate::cc::{AckSample, Window};

// Constants of section 4.3.
const MIN_RTT_THRESH: Time = Time::from_millis(4);
const MAX_RTT_THRESH: Time = Time::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Largest number of segments counted per ACK where departures are not paced.
const L: u32 = 8;

/// HyStart++ of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStartPlus {
    /// The round ends when this number is acknowledged (windowEnd).
    window_end: u64,
    last_round_min_rtt: Option<Time>,
    current_round_min_rtt: Option<Time>,
    /// RTT samples of this round (rttSampleCount).
    rtt_sample_count: u32,
    /// Conservative slow start: the RTT at which it began (cssBaselineMinRtt), and the number of
    /// rounds it has lasted.
    css: Option<(Time, u32)>,
    /// Segments acknowledged in conservative slow start towards the next increment.
    fraction: u32,
}

impl HyStartPlus {
    /// Grows the window for an ACK in slow start; returns the segments left for congestion
    /// avoidance. Section 4.2: "cwnd = cwnd + min(N, L * SMSS)", and in CSS "cwnd = cwnd + (min(N, L *
    /// SMSS) / CSS_GROWTH_DIVISOR)".
    pub(super) fn slow_start(&mut self, ack: &AckSample, window: &mut Window) -> u32 {
        self.observe(ack, window);
        if !window.in_slow_start() {
            return ack.acked;
        }
        let limit = if ack.paced { u32::MAX } else { L };
        let mut acked = ack.acked.min(limit);
        if self.css.is_some() {
            self.fraction += acked;
            acked = self.fraction / CSS_GROWTH_DIVISOR;
            self.fraction %= CSS_GROWTH_DIVISOR;
        }
        window.slow_start(acked)
    }

    fn observe(&mut self, ack: &AckSample, window: &mut Window) {
        if ack.snd_una > self.window_end {
            self.window_end = ack.snd_nxt;
            self.last_round_min_rtt = self.current_round_min_rtt.take();
            self.rtt_sample_count = 0;
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                // "If CSS_ROUNDS rounds are complete, enter congestion avoidance by setting the
                // ssthresh to the current cwnd."
                if *rounds >= CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                }
            }
        }
        let Some(rtt) = ack.rtt else { return };
        let lowest = self
            .current_round_min_rtt
            .map_or(rtt, |lowest| lowest.min(rtt));
        self.current_round_min_rtt = Some(lowest);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match (self.css, self.last_round_min_rtt) {
            (None, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if lowest >= last + threshold {
                    self.css = Some((lowest, 0));
                }
            }
            // The RTT did not stay high: the exit was spurious, and slow start resumes.
            (Some((baseline, _)), _) if lowest < baseline => self.css = None,
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
            ack.snd_nxt = ack.snd_una + u64::from(window.cwnd);
            for _ in 0..window.cwnd {
                ack.snd_una += 1;
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
