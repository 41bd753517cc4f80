//! The level that the throughput sustains, and less while the buffer is short.
//!
//! The rule is Sabre's `ThroughputRule`, with its constants, which are also those of dash.js.

use quell_units::Time;

use super::estimator::{Estimate, RATE_BITS, throughput};
use super::ladder::Ladder;
use super::situation::{Choice, Progress, Situation};

/// The part of the throughput that is counted on.
const SAFETY: (u64, u64) = (9, 10);
/// No download is given up before it has lasted this long.
const GRACE: Time = Time::from_millis(500);

/// Fraction bits of the part of the buffer that is counted on.
const SHORTAGE_BITS: u32 = 20;

/// The insufficient-buffer rule: no level of which a segment is more than what arrives until the buffer
/// is dry, at a safety that falls by a tenth with each decision, from 0.9 to 0.5.
#[derive(Debug, Clone)]
pub(super) struct Shortage {
    /// Safety factor in units of 2^−20.
    safety: u32,
}

impl Default for Shortage {
    fn default() -> Self {
        Self {
            safety: (9 << SHORTAGE_BITS) / 10,
        }
    }
}

impl Shortage {
    /// The highest level that is allowed, if it is below `quality`.
    pub(super) fn limit(
        &mut self,
        situation: &Situation<'_>,
        estimate: &Estimate,
        quality: usize,
    ) -> Option<usize> {
        let ladder = situation.ladder;
        let left = situation.buffer - estimate.latency;
        let safe =
            u128::from(left.as_nanos()) * u128::from(estimate.throughput) * u128::from(self.safety);
        self.safety = (self.safety / 10 * 9).max(1 << (SHORTAGE_BITS - 1));
        let needed = |level: usize| {
            let bits = u128::from(ladder.rate(level)) * u128::from(ladder.segment().as_nanos());
            bits << (RATE_BITS + SHORTAGE_BITS)
        };
        (0..quality).find(|&level| needed(level + 1) > safe)
    }
}

/// The rule.
#[derive(Debug, Clone, Default)]
pub(super) struct Throughput {
    shortage: Shortage,
}

impl Throughput {
    pub(super) fn decide(&mut self, situation: &Situation<'_>) -> Choice {
        let Some(estimate) = situation.estimate else {
            return Choice::at_once(situation.last);
        };
        let ladder = situation.ladder;
        let quality = ladder.sustained(estimate.throughput, SAFETY, estimate.latency);
        let limit = self.shortage.limit(situation, &estimate, quality);
        Choice::at_once(limit.unwrap_or(quality))
    }

    /// The level that is sustained now, if this segment takes longer than 1.8 times its length and one
    /// of that level is smaller than the rest.
    pub(super) fn abandon(ladder: &Ladder, progress: &Progress) -> Option<usize> {
        let span = progress.elapsed - progress.first_byte;
        if progress.elapsed < GRACE || span.is_zero() || progress.arrived == 0 {
            return None;
        }
        let rest = progress.size - progress.arrived;
        let left = u128::from(rest) * u128::from(span.as_nanos()) / u128::from(progress.arrived);
        let whole = u128::from(progress.elapsed.as_nanos()) + left;
        if whole * 10 <= u128::from(ladder.segment().as_nanos()) * 18 {
            return None;
        }
        let rate = throughput(progress.arrived, span);
        let quality = ladder.sustained(rate, SAFETY, progress.estimate?.latency);
        let other = ladder.scaled(progress.size, progress.quality, quality);
        (quality < progress.quality && other < rest).then_some(quality)
    }
}
