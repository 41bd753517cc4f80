//! BOLA: the level whose segment is worth most for the buffer that it costs.
//!
//! K. Spiteri, R. Urgaonkar, R. K. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos",
//! INFOCOM 2016; K. Spiteri, R. K. Sitaraman, D. Sparacio, "From Theory to Practice: Improving Bitrate
//! Adaptation in the DASH Reference Player", MMSys 2018, and Sabre, the simulator of the latter.
//!
//! With buffer level Q the score of level q is (V (u_q + γp) − Q) / r_q, and the highest wins. With
//! v_q = ln(r_q / r₀), v_m that of the highest level and d the length of a segment:
//!
//! | form | u_q | γp | V |
//! | --- | --- | --- | --- |
//! | [`Basic`] | v_q | 5 | (buffer − d) / (v_m + γp) |
//! | [`Form::Sabre`] | v_q + 1 | 10 v_m / (B − 10 s) | (B − 10 s) / v_m |
//! | [`Form::DashJs`] | v_q | the same | the same |
//!
//! with B = max(buffer, 10 s + 2 s per level). The thresholds of the last two differ by V.
//!
//! In the basic form, as in Sabre's, a rise ends one level above what the throughput sustains, or at the
//! last level where that is above it; the paper calls this BOLA-U.
//!
//! BOLA-E adds a placeholder to the buffer level, for time that the network did not cost. As in Sabre:
//! the first decision takes what the throughput sustains and sets the placeholder to what would have
//! led to it; waits for room raise it, and a download keeps it between what leads to the level chosen
//! and what leads to waiting. A level above the last one and above what the throughput sustains is cut
//! to one above that ([`Form::Sabre`]), or to that ([`Form::DashJs`]). With [`Form::DashJs`] the
//! placeholder shrinks by 1 % with each segment, and is gone after a stall.

use quell_units::Time;

use super::fixed_point::LN_BITS;
use super::ladder::Ladder;
use super::situation::{Choice, Download, Progress, Situation};
use super::throughput::Shortage;

/// γp of the basic form.
const GAMMA: i128 = 5;
/// Below this BOLA-E adds no wait of its own.
const LOW: Time = Time::from_secs(10);
/// Buffer that BOLA-E wants for each level beyond [`LOW`].
const PER_LEVEL: Time = Time::from_secs(2);

/// The score, without its division.
#[derive(Debug, Clone)]
struct Scores {
    /// V is `span` / `divisor`: a time in ns, and a logarithm.
    span: i128,
    divisor: i128,
    /// u + γp of each level.
    weights: Vec<i128>,
}

impl Scores {
    /// The level with the highest score, the lowest of equals.
    fn best(&self, ladder: &Ladder, level: i128) -> usize {
        let mut best = 0;
        for other in 1..ladder.levels() {
            let ahead = self.value(other, level) * i128::from(ladder.rate(best))
                > self.value(best, level) * i128::from(ladder.rate(other));
            if ahead {
                best = other;
            }
        }
        best
    }

    /// V (u + γp) − Q, times the divisor.
    fn value(&self, quality: usize, level: i128) -> i128 {
        self.span * self.weights[quality] - level * self.divisor
    }

    /// The buffer level, in ns, above which the score of `quality` is negative.
    fn peak(&self, quality: usize) -> i128 {
        rounded(self.span * self.weights[quality], self.divisor)
    }

    /// The buffer level at which `lower` gives way to `quality`.
    fn threshold(&self, ladder: &Ladder, lower: usize, quality: usize) -> i128 {
        let [below, above] = [lower, quality].map(|level| i128::from(ladder.rate(level)));
        let weight =
            (above * self.weights[lower] - below * self.weights[quality]) / (above - below);
        rounded(self.span * weight, self.divisor)
    }

    /// The buffer level from which on `quality` is preferred to all lower ones.
    fn floor(&self, ladder: &Ladder, quality: usize) -> i128 {
        let thresholds = (0..quality).map(|lower| self.threshold(ladder, lower, quality));
        thresholds.fold(0, i128::max)
    }
}

fn rounded(dividend: i128, divisor: i128) -> i128 {
    (dividend + divisor / 2).div_euclid(divisor)
}

fn nanos(time: Time) -> i128 {
    i128::from(time.as_nanos())
}

/// BOLA of the first paper, as Sabre plays it with a constant V: without abandonment.
#[derive(Debug, Clone)]
pub struct Basic {
    scores: Scores,
}

impl Basic {
    /// For a buffer of at most `buffer`.
    pub fn new(ladder: &Ladder, buffer: Time) -> Self {
        let gamma = GAMMA << LN_BITS;
        let weights = (0..ladder.levels()).map(|level| ladder.utility(level) + gamma);
        Self {
            scores: Scores {
                span: nanos(buffer - ladder.segment()),
                divisor: ladder.utility(ladder.top()) + gamma,
                weights: weights.collect(),
            },
        }
    }

    pub(super) fn decide(&self, situation: &Situation<'_>) -> Choice {
        let (ladder, last) = (situation.ladder, situation.last);
        let mut quality = self.scores.best(ladder, nanos(situation.buffer));
        if let Some(estimate) = situation.estimate
            && quality > last
        {
            let sustained = ladder.sustained(estimate.throughput, (1, 1), estimate.latency);
            quality = if last > sustained {
                last
            } else {
                quality.min(sustained + 1)
            };
        }
        Choice::at_once(quality)
    }
}

/// Two players of BOLA-E.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Sabre's.
    Sabre,
    /// dash.js's.
    DashJs,
}

/// BOLA-E.
#[derive(Debug, Clone)]
pub struct Enhanced {
    form: Form,
    scores: Scores,
    /// Time in ns; `None` before the first decision with an estimate.
    placeholder: Option<i128>,
    shortage: Shortage,
}

impl Enhanced {
    /// For a buffer of at most `buffer` and a ladder of at least two levels.
    pub fn new(form: Form, ladder: &Ladder, buffer: Time) -> Self {
        let wanted = (LOW + PER_LEVEL * ladder.levels() as u64).max(buffer);
        let span = nanos(wanted - LOW);
        let top = ladder.utility(ladder.top());
        let offset = match form {
            Form::Sabre => 1 << LN_BITS,
            Form::DashJs => 0,
        };
        let gamma = rounded(nanos(LOW) * top, span);
        let weights = (0..ladder.levels()).map(|level| ladder.utility(level) + offset + gamma);
        Self {
            form,
            scores: Scores {
                span,
                divisor: top,
                weights: weights.collect(),
            },
            placeholder: None,
            shortage: Shortage::default(),
        }
    }

    pub(super) fn decide(&mut self, situation: &Situation<'_>) -> Choice {
        let (ladder, buffer) = (situation.ladder, nanos(situation.buffer));
        let Some(estimate) = situation.estimate else {
            return Choice::at_once(situation.last);
        };
        let sustained = ladder.sustained(estimate.throughput, (1, 1), estimate.latency);
        let Some(mut placeholder) = self.placeholder else {
            let missing = self.scores.floor(ladder, sustained) - buffer;
            self.placeholder = Some(missing.max(0));
            return Choice::at_once(sustained);
        };
        let mut quality = self.scores.best(ladder, buffer + placeholder);
        if quality > situation.last && quality > sustained {
            quality = sustained.max(situation.last);
            quality += usize::from(self.form == Form::Sabre);
        }
        let above = (buffer + placeholder - self.scores.peak(quality)).max(0);
        let taken = above.min(placeholder);
        placeholder -= taken;
        let mut wait = if quality == ladder.top() {
            0
        } else {
            above - taken
        };
        if let Some(less) = self.shortage.limit(situation, &estimate, quality) {
            quality = less;
            wait = 0;
            placeholder = placeholder.min((self.scores.floor(ladder, less) - buffer).max(0));
        }
        self.placeholder = Some(placeholder);
        Choice {
            quality,
            wait: Time::from_nanos(wait as u64),
        }
    }

    /// A wait for room in the buffer was over.
    pub(super) fn waited(&mut self, span: Time) {
        if let Some(placeholder) = &mut self.placeholder {
            *placeholder += nanos(span);
        }
    }

    /// The buffer ran dry.
    pub(super) fn stalled(&mut self) {
        if self.form == Form::DashJs
            && let Some(placeholder) = &mut self.placeholder
        {
            *placeholder = 0;
        }
    }

    pub(super) fn downloaded(&mut self, ladder: &Ladder, download: &Download) {
        let Some(placeholder) = &mut self.placeholder else {
            return;
        };
        if self.form == Form::DashJs {
            *placeholder = *placeholder * 99 / 100;
        }
        let before = nanos(download.buffer + download.took);
        let most = (self.scores.peak(download.quality) - before).max(0);
        let least = self.scores.floor(ladder, download.quality) - before;
        *placeholder = (*placeholder).min(most).max(least);
    }

    pub(super) fn abandoned(&mut self, ladder: &Ladder, to: usize, buffer: Time) {
        let Some(placeholder) = &mut self.placeholder else {
            return;
        };
        let wanted = match to {
            0 => nanos(LOW),
            to => self.scores.floor(ladder, to),
        };
        *placeholder = (*placeholder).min((wanted - nanos(buffer)).max(0));
    }

    /// The level whose whole segment is worth more than the rest of this one, if any.
    pub(super) fn abandon(&self, ladder: &Ladder, progress: &Progress) -> Option<usize> {
        let first = progress.first_byte;
        let span = progress.elapsed - first;
        if progress.arrived == 0 || span.is_zero() {
            return None;
        }
        // A new request costs the latency once more, in which the rest goes on arriving.
        let meanwhile = u128::from(first.as_nanos()) * u128::from(progress.arrived)
            / u128::from(span.as_nanos());
        let rest = u128::from(progress.size - progress.arrived).checked_sub(meanwhile)?;
        let buffer = (nanos(progress.buffer) + self.placeholder.unwrap_or(0) - nanos(first)).max(0);
        let value = |quality: usize| self.scores.value(quality, buffer);
        let mut best = (progress.quality, rest as i128);
        for quality in 0..progress.quality {
            let other = ladder.scaled(progress.size, progress.quality, quality);
            let ahead = value(quality) * best.1 > value(best.0) * i128::from(other);
            if u128::from(other) < rest && ahead {
                best = (quality, i128::from(other));
            }
        }
        (best.0 != progress.quality).then_some(best.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 500 to 8 000 kbit/s, each twice the one before.
    fn doubling() -> Ladder {
        let rates = [500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000];
        Ladder::new(rates, Time::from_secs(4))
    }

    fn thresholds(scores: &Scores) -> Vec<f64> {
        let ladder = doubling();
        let of = |level| scores.threshold(&ladder, level - 1, level) as f64 / 1e6;
        (1..ladder.levels()).map(of).collect()
    }

    fn near(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= tolerance, "{found} {expected}");
        }
    }

    /// V is 21 s / (ln 16 + 5) = 2 701.8 ms; a level gives way at V (5 + (i − 2) ln 2), i from 1, and
    /// its score is 0 at V (5 + i ln 2), i from 0. Sabre prints the same to 1 ms.
    #[test]
    fn the_thresholds_of_the_basic_form_are_those_of_the_closed_form() {
        let basic = Basic::new(&doubling(), Time::from_secs(25));
        near(
            &thresholds(&basic.scores),
            &[11_636.0, 13_509.0, 15_382.0, 17_255.0],
            1.0,
        );
        let peaks: Vec<f64> = (0..5)
            .map(|level| basic.scores.peak(level) as f64 / 1e6)
            .collect();
        near(
            &peaks,
            &[13_509.0, 15_382.0, 17_255.0, 19_127.0, 21_000.0],
            1.0,
        );
    }

    /// B is 20 s, γp 2.7726 and V 3.6067 s; the two forms differ by V.
    #[test]
    fn the_two_forms_of_bola_e_differ_by_v() {
        let buffer = Time::from_secs(18);
        let of = |form| thresholds(&Enhanced::new(form, &doubling(), buffer).scores);
        near(
            &of(Form::DashJs),
            &[7_500.0, 10_000.0, 12_500.0, 15_000.0],
            0.001,
        );
        near(
            &of(Form::Sabre),
            &[11_106.7, 13_606.7, 16_106.7, 18_606.7],
            0.1,
        );
    }

    #[test]
    fn a_decision_changes_exactly_at_the_threshold() {
        let ladder = doubling();
        let scores = Basic::new(&ladder, Time::from_secs(25)).scores;
        for level in 1..ladder.levels() {
            let at = scores.threshold(&ladder, level - 1, level);
            assert_eq!(scores.best(&ladder, at - 2), level - 1);
            assert_eq!(scores.best(&ladder, at + 2), level);
        }
    }
}
