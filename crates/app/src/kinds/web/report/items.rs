//! The report of items: counts, and how long the complete ones took.

use quell_units::{Bytes, Time};

use crate::{
    Cause, Causes, Column, Durations, Figure, Form, Notation, Part, Path, Quantity, SLOW, Times,
    Value,
};

/// Smallest size of each range of sizes, as in the evaluation of the DualQ Coupled AQM: items below
/// the first are in none.
pub const RANGES: [u64; 8] = [
    1_000, 3_000, 9_000, 27_000, 81_000, 243_000, 729_000, 1_000_000,
];
/// Parts of a normalised completion time.
const PARTS: u128 = 1_000_000;

/// The report of items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemsReport {
    /// Items that were asked for.
    pub started: u64,
    /// Items beyond the most at once.
    pub refused: u64,
    /// Items whose connection was reset, or could not be opened.
    pub failed: u64,
    /// Items whose connection was closed before all had arrived.
    pub cut_short: u64,
    /// Items that had begun and not ended when the report was made.
    pub in_flight: u64,
    /// Age of the oldest of these.
    pub oldest: Option<Time>,
    /// Payload of the complete items, in bytes.
    pub bytes: u64,
    /// Time from the request for the connection to the end of the file.
    pub completion: Durations,
    /// Time from the request for the connection to the last byte.
    pub last_byte: Durations,
    /// Time from the moment at which the connection was up to the end of the file.
    pub without_handshake: Durations,
    /// Time from the request for the connection, on a kept one from the item's request, to the first byte; also of items that did not complete.
    pub flow_startup: Durations,
    /// Complete items that took 0.2 s or longer, and 1 s or longer.
    pub slower: [u64; 2],
    /// The reasons for that.
    pub causes: Causes,
    /// Completion times by [`RANGES`].
    pub by_size: [BySize; RANGES.len()],
}

/// Items of a range of sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BySize {
    /// Completion times.
    pub completion: Durations,
    /// Ideal completion times over actual ones, with ms for 1.
    pub normalised: Durations,
}

/// A complete item.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Fetched {
    pub(in super::super) size: u64,
    pub(in super::super) asked: Time,
    pub(in super::super) established: Time,
    pub(in super::super) last: Time,
    pub(in super::super) ended: Time,
}

impl ItemsReport {
    /// Items that completed.
    pub fn completed(&self) -> u64 {
        self.completion.count()
    }
    /// Items that were cut short, or were still in flight at the end.
    pub fn unfinished(&self) -> u64 {
        self.cut_short + self.in_flight
    }

    pub(in super::super) fn complete(&mut self, item: &Fetched, ideal: Option<&Path>) {
        let completion = item.ended - item.asked;
        self.bytes += item.size;
        self.completion.record(completion);
        self.last_byte.record(item.last - item.asked);
        self.without_handshake.record(item.ended - item.established);
        for (count, least) in self.slower.iter_mut().zip(SLOW) {
            *count += u64::from(completion >= least);
        }
        let range = RANGES.partition_point(|least| *least <= item.size);
        let Some(by_size) = range.checked_sub(1).map(|range| &mut self.by_size[range]) else {
            return;
        };
        by_size.completion.record(completion);
        if let Some(ideal) = ideal {
            let best = ideal.rate.time_for(Bytes::new(item.size)) + ideal.rtt * 2;
            let parts =
                u128::from(best.as_nanos()) * PARTS / u128::from(completion.as_nanos().max(1));
            let parts = u64::try_from(parts).unwrap_or(u64::MAX);
            by_size.normalised.record(Time::from_nanos(parts));
        }
    }

    fn share(&self, count: u64) -> Value {
        let all = self.completed();
        Value::Number((all > 0).then(|| count as f64 / all as f64))
    }
}

/// The figures of a range of sizes.
macro_rules! of_range {
    ($index:literal, $from:literal, $sizes:literal) => {
        [
            Figure::<ItemsReport>::new(
                concat!("completed_from_", $from),
                Quantity::Count,
                concat!("items of ", $sizes, " that completed"),
                |report| Value::Count(report.by_size[$index].completion.count()),
            ),
            Figure::<ItemsReport>::new(
                concat!("completion_from_", $from, "_ms"),
                Quantity::Times,
                concat!("`completion_ms` of items of ", $sizes),
                |report| Value::Times(Times::backed(&report.by_size[$index].completion)),
            ),
            Figure::<ItemsReport>::new(
                concat!("normalised_from_", $from),
                Quantity::Ratios,
                concat!(
                    "(size / `ideal-rate` + 2 `ideal-rtt`) / completion of items of ",
                    $sizes,
                    ": 1 is the best there is"
                ),
                |report| Value::Times(Times::backed(&report.by_size[$index].normalised)),
            ),
        ]
    };
}

/// [`FORM`]'s figures by ranges of sizes, three for each.
const BY_SIZE: [[Figure<ItemsReport>; 3]; RANGES.len()] = [
    of_range!(0, "1kB", "1 kB to below 3 kB"),
    of_range!(1, "3kB", "3 kB to below 9 kB"),
    of_range!(2, "9kB", "9 kB to below 27 kB"),
    of_range!(3, "27kB", "27 kB to below 81 kB"),
    of_range!(4, "81kB", "81 kB to below 243 kB"),
    of_range!(5, "243kB", "243 kB to below 729 kB"),
    of_range!(6, "729kB", "729 kB to below 1 MB"),
    of_range!(7, "1MB", "1 MB and more"),
];

const OVERALL: [Figure<ItemsReport>; 13] = [
    Figure::<ItemsReport>::new("bytes", Quantity::Count, "payload of the items that completed", |report| {
        Value::Count(report.bytes)
    }),
    Figure::<ItemsReport>::new("started", Quantity::Count, "items that were asked for", |report| {
        Value::Count(report.started)
    })
    .shown(&[Column::new("items", Notation::Plain(0)).rank(1)]),
    Figure::<ItemsReport>::new(
        "completed",
        Quantity::Count,
        "items that completed in the phase",
        |report| Value::Count(report.completed()),
    )
    .shown(&[Column::new("completed", Notation::Plain(0))]),
    Figure::<ItemsReport>::new(
        "unfinished",
        Quantity::Count,
        "items that had begun and not ended, or were cut short",
        |report| Value::Count(report.unfinished()),
    )
    .shown(&[Column::new("unfinished", Notation::Plain(0)).rank(2)]),
    Figure::<ItemsReport>::new(
        "refused",
        Quantity::Count,
        "items that arrived beyond `max-concurrent`",
        |report| Value::Count(report.refused),
    ),
    Figure::<ItemsReport>::new(
        "failed",
        Quantity::Count,
        "items whose connection was reset, or could not be opened",
        |report| Value::Count(report.failed),
    ),
    Figure::<ItemsReport>::new(
        "oldest_unfinished_ms",
        Quantity::MaybeNumber,
        "age of the oldest item that has not ended; null without one",
        |report| Value::Number(report.oldest.map(crate::in_ms)),
    ),
    Figure::<ItemsReport>::new(
        "completion_ms",
        Quantity::Times,
        "from the request for the connection (of a kept one: from the item's arrival) to the end of the file at the user",
        |report| Value::Times(Times::backed(&report.completion)),
    )
    .shown(&[
        Column::of("p50 ms", Part::P50, Notation::Plain(1)),
        Column::of("p99 ms", Part::P99, Notation::Plain(1)),
        Column::of("p99.9 ms", Part::P999, Notation::Plain(1)).rank(4),
        Column::of("max ms", Part::Max, Notation::Plain(1)).rank(3),
    ]),
    Figure::<ItemsReport>::new(
        "completion_last_byte_ms",
        Quantity::Times,
        "the same to the last byte: a lost FIN does not count",
        |report| Value::Times(Times::backed(&report.last_byte)),
    ),
    Figure::<ItemsReport>::new(
        "completion_wo_handshake_ms",
        Quantity::Times,
        "from the moment at which the connection is up at the user to the end of the file",
        |report| Value::Times(Times::backed(&report.without_handshake)),
    ),
    Figure::<ItemsReport>::new(
        "flow_startup_ms",
        Quantity::Times,
        "flow startup time: from the request for the connection (of a kept one that is up: from the item's request) to the first byte of the item, also of items that did not complete",
        |report| Value::Times(Times::backed(&report.flow_startup)),
    ),
    Figure::<ItemsReport>::new(
        "slower_than_200ms",
        Quantity::MaybeNumber,
        "share of the complete items that took 0.2 s or longer; null if none completed",
        |report| report.share(report.slower[0]),
    )
    .shown(&[Column::new("0.2 s %", Notation::Percent(2))]),
    Figure::<ItemsReport>::new(
        "slower_than_1s",
        Quantity::MaybeNumber,
        "share of the complete items that took 1 s or longer; null if none completed",
        |report| report.share(report.slower[1]),
    )
    .shown(&[Column::new("1 s %", Notation::Percent(2))]),
];

/// The figures of a cause, of items from both of [`SLOW`] on.
macro_rules! of_cause {
    ($name:literal, $cause:expr, $what:literal) => {
        [
            Figure::<ItemsReport>::new(
                concat!("slow_200ms_", $name),
                Quantity::Count,
                concat!("complete items that took 0.2 s or longer, ", $what),
                |report| Value::Count(report.causes.of(0, $cause)),
            ),
            Figure::<ItemsReport>::new(
                concat!("slow_1s_", $name),
                Quantity::Count,
                concat!("complete items that took 1 s or longer, ", $what),
                |report| Value::Count(report.causes.of(1, $cause)),
            ),
        ]
    };
}

/// Counts by the costliest repair of an item's connection.
const BY_CAUSE: [[Figure<ItemsReport>; 2]; 5] = [
    of_cause!(
        "handshake",
        Some(Cause::Handshake),
        "with a SYN or SYN-ACK that was sent again"
    ),
    of_cause!(
        "timeout",
        Some(Cause::Timeout),
        "else with a retransmission time-out"
    ),
    of_cause!("probe", Some(Cause::Probe), "else with a tail loss probe"),
    of_cause!(
        "recovery",
        Some(Cause::Recovery),
        "else with segments that were sent again"
    ),
    of_cause!(
        "unrepaired",
        None,
        "without a repair that the host knows of"
    ),
];

const FIGURES: [Figure<ItemsReport>; OVERALL.len() + 2 * BY_CAUSE.len() + 3 * RANGES.len()] = {
    let mut all = [OVERALL[0]; OVERALL.len() + 2 * BY_CAUSE.len() + 3 * RANGES.len()];
    let mut index = 0;
    while index < all.len() {
        let of_causes = 2 * BY_CAUSE.len();
        all[index] = match index.checked_sub(OVERALL.len()) {
            None => OVERALL[index],
            Some(further) if further < of_causes => BY_CAUSE[further / 2][further % 2],
            Some(further) => BY_SIZE[(further - of_causes) / 3][(further - of_causes) % 3],
        };
        index += 1;
    }
    all
};

pub(super) const FORM: Form<ItemsReport> = Form {
    table: Some("web items"),
    figures: &FIGURES,
};

impl ItemsReport {
    /// Adds everything but what is in flight.
    pub(super) fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.refused += other.refused;
        self.failed += other.failed;
        self.cut_short += other.cut_short;
        self.bytes += other.bytes;
        self.completion.merge(&other.completion);
        self.last_byte.merge(&other.last_byte);
        self.without_handshake.merge(&other.without_handshake);
        self.flow_startup.merge(&other.flow_startup);
        for (sum, more) in self.slower.iter_mut().zip(&other.slower) {
            *sum += more;
        }
        self.causes.add(&other.causes);
        for (sum, more) in self.by_size.iter_mut().zip(&other.by_size) {
            sum.completion.merge(&more.completion);
            sum.normalised.merge(&more.normalised);
        }
    }
}
