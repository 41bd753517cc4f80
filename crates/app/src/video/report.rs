//! The report of interactive video: how soon the user sees the effect of an input, and how smoothly.

use quell_units::Time;

use crate::{
    Column, Durations, Figure, FigureInfo, Form, FormInfo, KindReport, Notation, Part, Quantity,
    Times, Value, in_ms,
};

/// Frames, and how long the user waited for them. A frame counts if it was due after the counting
/// began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VideoReport {
    /// Frames that were due: `complete + skipped + lost + unfinished`.
    pub due: u64,
    /// Time for which these are to be shown, which is their number times the interval of the frame clock.
    pub span: Time,
    /// Frames that arrived whole.
    pub complete: u64,
    /// Those of `complete` that took longer than the deadline.
    pub late: u64,
    /// Frames that the server left out, because a newer one was ready before they could leave.
    pub skipped: u64,
    /// Frames of which a part never arrived.
    pub lost: u64,
    /// Payload bytes of the frames that arrived whole.
    pub bytes: u64,
    /// See [`video`](crate::video) for these.
    pub network_latency: Durations,
    /// To the last byte of the frame, without the time that the server had the input.
    pub view_latency: Durations,
    /// Time from the input to the picture on the screen.
    pub interaction_latency: Durations,
    /// Time from the end of rendering to the last byte.
    pub frame_delay: Durations,
    /// Time from the last byte of a frame to that of the next one that arrived whole.
    pub frame_interval: Durations,
    /// Intervals that a user sees as a freeze.
    pub freezes: u64,
    /// Their length, taken together.
    pub frozen: Time,
}

impl VideoReport {
    /// Frames in flight, or in the server, at the end.
    pub fn unfinished(&self) -> u64 {
        self.due
            .saturating_sub(self.complete + self.skipped + self.lost)
    }
    /// Late, skipped and lost frames over those that were due; 0 if none was.
    pub fn late_ratio(&self) -> f64 {
        (self.late + self.skipped + self.lost) as f64 / self.due.max(1) as f64
    }
    /// Bits of whole frames over the time for which they were due, mean of all flows; `None` if no frame
    /// was.
    pub fn bitrate_bps(&self) -> Option<f64> {
        let seconds = self.span.as_nanos() as f64 / 1e9;
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds)
    }
}

const COUNT: Notation = Notation::Plain(0);
const MS: Notation = Notation::Plain(1);

const FORM: Form<VideoReport> = Form {
    table: Some("interactive video"),
    figures: &[
        Figure::<VideoReport>::new(
            "frames",
            Quantity::Count,
            "frames that were due: ready to leave the server, whether they did or not",
            |report| Value::Count(report.due),
        )
        .shown(&[Column::new("frames", COUNT)]),
        Figure::<VideoReport>::new(
            "complete",
            Quantity::Count,
            "frames that arrived whole, late ones too",
            |report| Value::Count(report.complete),
        ),
        Figure::<VideoReport>::new(
            "late",
            Quantity::Count,
            "frames that arrived whole, more than the deadline after they were ready",
            |report| Value::Count(report.late),
        ),
        Figure::<VideoReport>::new(
            "skipped",
            Quantity::Count,
            "frames that the server left out, because a newer one was ready before they could leave",
            |report| Value::Count(report.skipped),
        )
        .shown(&[Column::new("skipped", COUNT).rank(5)]),
        Figure::<VideoReport>::new(
            "lost",
            Quantity::Count,
            "frames of which a part never arrived",
            |report| Value::Count(report.lost),
        )
        .shown(&[Column::new("lost", COUNT).rank(4)]),
        Figure::<VideoReport>::new(
            "unfinished",
            Quantity::Count,
            "frames that were in flight, or in the server, at the end",
            |report| Value::Count(report.unfinished()),
        ),
        Figure::<VideoReport>::new(
            "late_ratio",
            Quantity::Ratio,
            "(late + skipped + lost) / frames",
            |report| Value::Number(Some(report.late_ratio())),
        )
        .shown(&[Column::new("late %", Notation::Percent(2))]),
        Figure::<VideoReport>::new(
            "network_latency_ms",
            Quantity::Times,
            "ms; from an input to the first byte of the first frame that shows it, without the time that the server had the input; null if no frame showed one",
            |report| Value::Times(Times::of(&report.network_latency, None)),
        )
        .shown(&[
            Column::of("network P50 ms", Part::P50, MS),
            Column::of("network P99 ms", Part::P99, MS),
        ]),
        Figure::<VideoReport>::new(
            "view_latency_ms",
            Quantity::Times,
            "ms; the same to the last byte: the view can be shown; null if no frame showed an input",
            |report| Value::Times(Times::of(&report.view_latency, None)),
        )
        .shown(&[
            Column::of("view P50 ms", Part::P50, MS).rank(2),
            Column::of("view P99 ms", Part::P99, MS),
        ]),
        Figure::<VideoReport>::new(
            "interaction_latency_ms",
            Quantity::Times,
            "ms; from every input to the picture that shows it: with the wait for the frame clock, rendering, decoding, and the wait for the display; null if no frame showed one",
            |report| Value::Times(Times::of(&report.interaction_latency, None)),
        )
        .shown(&[
            Column::of("interaction P50 ms", Part::P50, MS).rank(1),
            Column::of("interaction P99 ms", Part::P99, MS),
        ]),
        Figure::<VideoReport>::new(
            "frame_delay_ms",
            Quantity::Times,
            "ms; from the end of rendering to the last byte at the user; null if no frame arrived whole",
            |report| Value::Times(Times::of(&report.frame_delay, None)),
        )
        .shown(&[Column::of("frame P99 ms", Part::P99, MS).rank(3)]),
        Figure::<VideoReport>::new(
            "frame_interval_ms",
            Quantity::Times,
            "ms; between frames that arrived whole; null if fewer than two did",
            |report| Value::Times(Times::of(&report.frame_interval, None)),
        ),
        Figure::<VideoReport>::new(
            "freezes",
            Quantity::Count,
            "intervals between frames above three of the frame clock's, and above one and 150 ms",
            |report| Value::Count(report.freezes),
        )
        .shown(&[Column::new("freezes", COUNT).rank(6)]),
        Figure::<VideoReport>::new(
            "freeze_s",
            Quantity::Number,
            "s; length of all freezes",
            |report| Value::Number(Some(in_ms(report.frozen) / 1e3)),
        ),
        Figure::<VideoReport>::new(
            "bitrate_bps",
            Quantity::MaybeNumber,
            "bit/s; payload of the frames that arrived whole, over the time for which frames were due; mean of all flows; null if none was",
            |report| Value::Number(report.bitrate_bps()),
        )
        .shown(&[Column::new("bitrate", Notation::Rate).rank(0)]),
    ],
};

impl KindReport for VideoReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.span += other.span;
        self.complete += other.complete;
        self.late += other.late;
        self.skipped += other.skipped;
        self.lost += other.lost;
        self.bytes += other.bytes;
        self.network_latency.merge(&other.network_latency);
        self.view_latency.merge(&other.view_latency);
        self.interaction_latency.merge(&other.interaction_latency);
        self.frame_delay.merge(&other.frame_delay);
        self.frame_interval.merge(&other.frame_interval);
        self.freezes += other.freezes;
        self.frozen += other.frozen;
    }
}
