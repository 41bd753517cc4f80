//! The report of streaming: the user's picture, and the data that the network carried for it.
//!
//! Counts of segments are of those that began to play. Sums over them are kept, so that the reports of
//! several flows or stretches are added exactly; means, scores and shares are made when they are read.

use quell_units::Time;

use super::fixed_point::LN_BITS;
use super::ladder::Ladder;
use crate::{
    Column, Durations, Figure, FigureInfo, Form, FormInfo, KindReport, Notation, Part, Quantity,
    Times, Value,
};

/// Width of a step of the distribution of buffer levels.
const STEP: Time = Time::from_millis(50);

/// Cost of a second of stall in the linear score, in Mbit/s: Pensieve (SIGCOMM 2017).
const STALL_COST: f64 = 4.3;
/// γp, the weight of stalls in BOLA's score: Sabre (MMSys 2018).
const GAMMA: f64 = 5.0;

/// Figures of adaptive streaming, of one flow or of several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HasReport {
    /// Time from the beginning of a session to the first picture.
    pub startup: Durations,
    /// Time before the first picture.
    pub waited: Time,
    /// Time in which pictures played.
    pub played: Time,
    /// Time in which playback stood still after it had begun.
    pub stalled: Time,
    /// Number of stalls.
    pub stalls: u64,
    /// Segments that began to play.
    pub segments: u64,
    /// Playing time of these.
    pub content: Time,
    /// Sum of their rates, in bit/s.
    pub rates: u128,
    /// Sum of ln(rate / lowest rate), in units of 2^−40.
    pub utilities: i128,
    /// Those that had another level than the one before.
    pub switches: u64,
    /// Sum of the changes of rate, in bit/s.
    pub changes: u128,
    /// Segments that arrived, and the sum of their rates in bit/s.
    pub downloaded: (u64, u128),
    /// Downloads that were given up for a smaller one.
    pub abandoned: u64,
    /// Downloads whose connection broke.
    pub failed: u64,
    /// Payload bytes of segments that arrived, also of those that were given up.
    pub bytes: u64,
    /// Time with a request in flight.
    pub on: Time,
    /// Time without.
    pub off: Time,
    /// Times of requests, also of those that were given up.
    pub requests: Durations,
    /// Time from a request, with the connection that was opened for it, to the first byte of its answer.
    pub flow_startup: Durations,
    /// Times from the end of one to the next.
    pub pauses: Durations,
    /// Time at each level of the buffer, in steps of 50 ms, in ns.
    levels: Vec<u64>,
    /// Buffer level integrated over time, in ns².
    level_time: u128,
    /// The highest and the lowest level.
    extremes: Option<(Time, Time)>,
}

/// A report that grows.
pub type Watched = HasReport;

impl HasReport {
    /// A report with room for buffer levels up to `most`.
    pub(super) fn with_room(most: Time) -> Self {
        let steps = most.as_nanos() / STEP.as_nanos() + 2;
        Self {
            levels: vec![0; steps as usize],
            ..Self::default()
        }
    }

    /// Forgets what was counted, and keeps the room.
    pub(super) fn forget(&mut self) {
        let mut levels = std::mem::take(&mut self.levels);
        levels.fill(0);
        *self = Self {
            levels,
            ..Self::default()
        };
    }

    /// Before the first picture.
    pub(super) fn waited(&mut self, span: Time) {
        self.waited += span;
    }
    /// The first picture, this long after the beginning.
    pub(super) fn started(&mut self, after: Time) {
        self.startup.record(after);
    }
    /// A stall, and how long it has lasted.
    pub(super) fn stalled(&mut self, span: Time) {
        self.stalls += 1;
        self.stalled_on(span);
    }
    /// A stall went on.
    pub(super) fn stalled_on(&mut self, span: Time) {
        if !span.is_zero() {
            self.stalled += span;
            self.levels[0] += span.as_nanos();
            self.reach(Time::ZERO, Time::ZERO);
        }
    }

    /// The buffer fell from `level` by `span`, while it played.
    pub(super) fn played(&mut self, level: Time, span: Time) {
        if span.is_zero() {
            return;
        }
        self.played += span;
        let (from, to) = ((level - span).as_nanos(), level.as_nanos());
        self.level_time += u128::from(from + to) * u128::from(span.as_nanos()) / 2;
        let step = STEP.as_nanos();
        let last = self.levels.len() - 1;
        let mut below = from;
        while below < to {
            let next = to.min((below / step + 1) * step);
            self.levels[last.min((below / step) as usize)] += next - below;
            below = next;
        }
        self.reach(level - span, level);
    }

    fn reach(&mut self, low: Time, high: Time) {
        let (least, most) = self.extremes.unwrap_or((low, high));
        self.extremes = Some((least.min(low), most.max(high)));
    }

    /// A segment begins to play, after one of level `before`.
    pub(super) fn shown(&mut self, level: usize, before: Option<usize>, ladder: &Ladder) {
        let rate = ladder.rate(level);
        self.segments += 1;
        self.content += ladder.segment();
        self.rates += u128::from(rate);
        self.utilities += ladder.utility(level);
        let change = before.map_or(0, |before| rate.abs_diff(ladder.rate(before)));
        self.changes += u128::from(change);
        self.switches += u64::from(before.is_some_and(|before| before != level));
    }

    /// Sum of ln(rate / lowest rate).
    fn utility_sum(&self) -> f64 {
        self.utilities as f64 / (1_i64 << LN_BITS) as f64
    }
    fn per_segment(&self, sum: f64) -> Option<f64> {
        (self.segments > 0).then(|| sum / self.segments as f64)
    }
    /// Share of time after the first picture in which playback stood still.
    pub fn stall_ratio(&self) -> f64 {
        let all = in_s(self.played + self.stalled);
        if all > 0.0 {
            in_s(self.stalled) / all
        } else {
            0.0
        }
    }
    /// Mean rate of the segments that began to play, in bit/s.
    pub fn bitrate_bps(&self) -> Option<f64> {
        self.per_segment(self.rates as f64)
    }
    /// Mean rate of the segments that arrived, in bit/s.
    pub fn downloaded_bps(&self) -> Option<f64> {
        let (count, sum) = self.downloaded;
        (count > 0).then(|| sum as f64 / count as f64)
    }
    /// Mean of ln(rate / lowest rate).
    pub fn utility(&self) -> Option<f64> {
        self.per_segment(self.utility_sum())
    }
    /// Mean change of rate from one segment to the next, in bit/s.
    pub fn switch_magnitude_bps(&self) -> Option<f64> {
        self.per_segment(self.changes as f64)
    }
    /// BOLA's score: (Σ ln(rate / lowest rate) × segment − 5 × stalled) / time.
    pub fn score_bola(&self) -> Option<f64> {
        let segment = self.per_segment(in_s(self.content))?;
        let all = in_s(self.waited + self.played + self.stalled);
        let sum = self.utility_sum() * segment - GAMMA * in_s(self.stalled);
        (all > 0.0).then(|| sum / all)
    }
    /// Pensieve's linear score.
    pub fn qoe_linear(&self) -> Option<f64> {
        let rates = (self.rates as f64 - self.changes as f64) / 1e6;
        self.per_segment(rates - STALL_COST * in_s(self.stalled))
    }
    /// Share of time with a request in flight.
    pub fn on_ratio(&self) -> f64 {
        let all = in_s(self.on + self.off);
        if all > 0.0 { in_s(self.on) / all } else { 0.0 }
    }
    /// Payload over the time with a request in flight, in bit/s.
    pub fn on_bps(&self) -> Option<f64> {
        let on = in_s(self.on);
        (on > 0.0).then(|| self.bytes as f64 * 8.0 / on)
    }

    /// The buffer level over time, from the first picture on.
    pub fn buffer(&self) -> Option<Times> {
        let (least, most) = self.extremes?;
        let all = in_s(self.played + self.stalled);
        let quantile = |thousandths: u128| {
            let total: u128 = self.levels.iter().map(|&span| u128::from(span)).sum();
            let rank = (total * thousandths).div_ceil(1_000);
            let mut below = 0;
            let found = self.levels.iter().position(|&span| {
                below += u128::from(span);
                below >= rank
            });
            let middle = STEP * found.unwrap_or(0) as u64 + STEP / 2;
            in_s(middle.clamp(least, most)) * 1e3
        };
        Some(Times {
            mean: self.level_time as f64 / 1e12 / (all * 1e3).max(f64::MIN_POSITIVE),
            min: in_s(least) * 1e3,
            p1: quantile(10),
            p25: quantile(250),
            p50: quantile(500),
            p75: quantile(750),
            p90: quantile(900),
            p99: Some(quantile(990)),
            p999: Some(quantile(999)),
            max: in_s(most) * 1e3,
        })
    }
}

fn in_s(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

const COUNT: Notation = Notation::Plain(0);
const MS: Notation = Notation::Plain(0);

const FORM: Form<HasReport> = Form {
    table: Some("adaptive streaming"),
    figures: &[
        Figure::<HasReport>::new(
            "startup_ms",
            Quantity::Times,
            "ms; from the beginning of a session (the request for its connection) to the first picture; null if none began to play",
            |report| Value::Times(Times::of(&report.startup, None)),
        )
        .shown(&[Column::of("startup ms", Part::Mean, MS).rank(1)]),
        Figure::<HasReport>::new(
            "segments",
            Quantity::Count,
            "segments that began to play",
            |report| Value::Count(report.segments),
        ),
        Figure::<HasReport>::new(
            "bitrate_bps",
            Quantity::MaybeNumber,
            "bit/s; mean rate of these segments; null if none played",
            |report| Value::Number(report.bitrate_bps()),
        )
        .shown(&[Column::new("level", Notation::Rate)]),
        Figure::<HasReport>::new(
            "downloaded_bps",
            Quantity::MaybeNumber,
            "bit/s; mean rate of the segments that arrived; null if none did",
            |report| Value::Number(report.downloaded_bps()),
        ),
        Figure::<HasReport>::new(
            "stalls",
            Quantity::Count,
            "how often playback stood still after it had begun",
            |report| Value::Count(report.stalls),
        )
        .shown(&[Column::new("stalls", COUNT)]),
        Figure::<HasReport>::new(
            "stall_s",
            Quantity::Number,
            "s; how long it stood still in all",
            |report| Value::Number(Some(in_s(report.stalled))),
        ),
        Figure::<HasReport>::new(
            "stall_ratio",
            Quantity::Ratio,
            "share of the time from the first picture on in which playback stood still",
            |report| Value::Number(Some(report.stall_ratio())),
        )
        .shown(&[Column::new("stalled", Notation::Percent(1))]),
        Figure::<HasReport>::new(
            "utility",
            Quantity::MaybeNumber,
            "mean of ln(rate / lowest rate) over the segments that played; null if none did",
            |report| Value::Number(report.utility()),
        ),
        Figure::<HasReport>::new(
            "switches",
            Quantity::Count,
            "segments of another level than the one played before",
            |report| Value::Count(report.switches),
        )
        .shown(&[Column::new("switches", COUNT).rank(2)]),
        Figure::<HasReport>::new(
            "switch_magnitude_bps",
            Quantity::MaybeNumber,
            "bit/s; mean change of rate from one segment played to the next, 0 where it stays; null if none played",
            |report| Value::Number(report.switch_magnitude_bps()),
        ),
        Figure::<HasReport>::new(
            "qoe_linear",
            Quantity::MaybeNumber,
            "mean over the segments that played of rate − 4.3 × stall in s − change of rate, rates in Mbit/s (Pensieve, SIGCOMM 2017); null if none played",
            |report| Value::Number(report.qoe_linear()),
        )
        .shown(&[Column::new("QoE", Notation::Plain(2)).rank(0)]),
        Figure::<HasReport>::new(
            "score_bola",
            Quantity::MaybeNumber,
            "(sum of ln(rate / lowest rate) × segment − 5 × stall) / time, startup included (Sabre, MMSys 2018); null if none played",
            |report| Value::Number(report.score_bola()),
        ),
        Figure::<HasReport>::new(
            "buffer_ms",
            Quantity::Times,
            "ms; what the buffer holds, over the time from the first picture on; null before it",
            |report| Value::Times(report.buffer()),
        )
        .shown(&[Column::of("buffer ms", Part::P50, MS).rank(3)]),
        Figure::<HasReport>::new(
            "on_ratio",
            Quantity::Ratio,
            "share of time with a request in flight",
            |report| Value::Number(Some(report.on_ratio())),
        ),
        Figure::<HasReport>::new(
            "on_bps",
            Quantity::MaybeNumber,
            "bit/s; payload of segments over the time with a request in flight; null without such time",
            |report| Value::Number(report.on_bps()),
        ),
        Figure::<HasReport>::new(
            "on_ms",
            Quantity::Times,
            "ms; from a request to the last byte of its answer, or to its end; null without one",
            |report| Value::Times(Times::of(&report.requests, None)),
        ),
        Figure::<HasReport>::new(
            "off_ms",
            Quantity::Times,
            "ms; from the end of a request to the next one, where they differ; null without one",
            |report| Value::Times(Times::of(&report.pauses, None)),
        ),
        Figure::<HasReport>::new(
            "flow_startup_ms",
            Quantity::Times,
            "ms; flow startup time: from a request, of the first one on a connection from the request for that connection, to the first byte of the answer; null without one",
            |report| Value::Times(Times::backed(&report.flow_startup)),
        ),
        Figure::<HasReport>::new(
            "abandoned",
            Quantity::Count,
            "downloads that were given up for a smaller one",
            |report| Value::Count(report.abandoned),
        ),
        Figure::<HasReport>::new(
            "failed",
            Quantity::Count,
            "downloads whose connection was reset, or could not be opened",
            |report| Value::Count(report.failed),
        ),
        Figure::<HasReport>::new(
            "bytes",
            Quantity::Count,
            "payload bytes of segments that arrived, also of downloads that were given up",
            |report| Value::Count(report.bytes),
        ),
    ],
};

impl KindReport for HasReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        self.startup.merge(&other.startup);
        self.waited += other.waited;
        self.played += other.played;
        self.stalled += other.stalled;
        self.stalls += other.stalls;
        self.segments += other.segments;
        self.content += other.content;
        self.rates += other.rates;
        self.utilities += other.utilities;
        self.switches += other.switches;
        self.changes += other.changes;
        self.downloaded.0 += other.downloaded.0;
        self.downloaded.1 += other.downloaded.1;
        self.abandoned += other.abandoned;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.on += other.on;
        self.off += other.off;
        self.requests.merge(&other.requests);
        self.flow_startup.merge(&other.flow_startup);
        self.pauses.merge(&other.pauses);
        if self.levels.len() < other.levels.len() {
            self.levels.resize(other.levels.len(), 0);
        }
        for (mine, others) in self.levels.iter_mut().zip(&other.levels) {
            *mine += others;
        }
        self.level_time += other.level_time;
        if let Some((low, high)) = other.extremes {
            self.reach(low, high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// Levels 0.3, 0.75 and 0.75 Mbit/s, and half a second of stall before the third:
    /// 0.3 + (0.75 − 0.45) + (0.75 − 4.3 × 0.5) = −0.8.
    #[test]
    fn the_linear_score_is_what_it_is_by_hand() {
        let ladder = Ladder::new([300_000, 750_000], Time::from_secs(4));
        let mut report = HasReport::with_room(Time::from_secs(25));
        report.shown(0, None, &ladder);
        report.shown(1, Some(0), &ladder);
        report.stalled(MS(500));
        report.shown(1, Some(1), &ladder);
        let score = report.qoe_linear().unwrap() * 3.0;
        assert!((score + 0.8).abs() < 1e-12, "{score}");
        assert_eq!((report.switches, report.stalls), (1, 1));
        assert_eq!(report.switch_magnitude_bps(), Some(150_000.0));
        assert_eq!(report.bitrate_bps(), Some(600_000.0));
    }

    /// A buffer that falls from 20 to 10 s, then a stall of 10 s: half of the time at 0, the other half even.
    #[test]
    fn the_buffer_is_weighed_by_time() {
        let mut report = HasReport::with_room(Time::from_secs(25));
        assert_eq!(report.buffer(), None);
        report.played(MS(20_000), MS(10_000));
        report.stalled(MS(10_000));
        let buffer = report.buffer().unwrap();
        assert_eq!(
            (buffer.min, buffer.max, buffer.mean),
            (0.0, 20_000.0, 7_500.0)
        );
        assert_eq!(buffer.p25, 25.0, "the middle of the lowest step");
        assert!((buffer.p75 - 15_000.0).abs() <= 50.0, "{}", buffer.p75);
        assert!((buffer.p90 - 18_000.0).abs() <= 50.0, "{}", buffer.p90);
        assert_eq!(report.stall_ratio(), 0.5);
    }

    #[test]
    fn parts_added_are_the_whole() {
        let ladder = Ladder::new([300_000, 750_000], Time::from_secs(4));
        let mut whole = HasReport::with_room(Time::from_secs(25));
        let mut parts = [whole.clone(), whole.clone()];
        for (index, part) in parts.iter_mut().enumerate() {
            for report in [part, &mut whole] {
                report.started(MS(40));
                report.played(MS(9_000 + 7 * index as u64), MS(3_333));
                report.stalled(MS(17));
                report.shown(index, Some(0), &ladder);
                report.bytes += 1_000;
                report.on += MS(9);
                report.off += MS(4);
            }
        }
        let mut sum = HasReport::default();
        parts.iter().for_each(|part| sum.merge(part));
        assert_eq!(sum, whole);
        sum.forget();
        assert_eq!((sum.buffer(), sum.score_bola(), sum.bytes), (None, None, 0));
    }
}
