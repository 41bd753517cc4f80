//! The columns of the series: names, types, units, meanings, and what a row has in each.
//!
//! A result folder has them as Parquet files, a page as typed arrays.

use quell_measure::{FlowRow, GroupId, Hop, QueueRow};
use quell_units::{Bytes, Time};

use crate::contract::EventRow;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A number.
    Integer,
    /// A number, where there is one.
    OptionalInteger,
    /// A number with digits after the point.
    Real,
    /// A word.
    Text,
}

/// A column of a file.
#[derive(Debug, Clone, Copy)]
pub struct ColumnInfo {
    /// Its name, which ends with the unit where there is one.
    pub name: &'static str,
    /// The type of its values.
    pub column_type: ColumnType,
    /// `ns`, `bytes`, `bit/s`, `packets` …; empty for words and numbers of things.
    pub unit: &'static str,
    /// Its content.
    pub meaning: &'static str,
}

impl ColumnInfo {
    /// Its type in the file.
    pub const fn type_name(&self) -> &'static str {
        match self.column_type {
            ColumnType::Integer => "int64",
            ColumnType::OptionalInteger => "int64 or null",
            ColumnType::Real => "double",
            ColumnType::Text => "string",
        }
    }
}

const fn column(
    name: &'static str,
    column_type: ColumnType,
    unit: &'static str,
    meaning: &'static str,
) -> ColumnInfo {
    ColumnInfo {
        name,
        column_type,
        unit,
        meaning,
    }
}

/// The columns of `queues.parquet`.
pub const QUEUE_COLUMNS: &[ColumnInfo] = &[
    column(
        "time_ns",
        ColumnType::Integer,
        "ns",
        "end of the interval, since the start of the run",
    ),
    column(
        "length_ns",
        ColumnType::Integer,
        "ns",
        "length of the interval: it began at `time_ns` − `length_ns`",
    ),
    column("direction", ColumnType::Text, "", "`forward` or `reverse`"),
    column("queue", ColumnType::Text, "", "name within the discipline"),
    column(
        "packets",
        ColumnType::Integer,
        "packets",
        "delivered in the interval",
    ),
    column(
        "bytes",
        ColumnType::Integer,
        "bytes",
        "IP bytes delivered in the interval",
    ),
    column(
        "marked",
        ColumnType::Integer,
        "packets",
        "newly marked CE in the interval",
    ),
    column(
        "dropped",
        ColumnType::Integer,
        "packets",
        "dropped in the interval",
    ),
    column(
        "delay_mean_ns",
        ColumnType::OptionalInteger,
        "ns",
        "mean sojourn time of the packets delivered in the interval; null if there was none",
    ),
    column(
        "delay_max_ns",
        ColumnType::OptionalInteger,
        "ns",
        "longest sojourn time of the packets delivered in the interval; null if there was none",
    ),
    column(
        "backlog_bytes",
        ColumnType::Integer,
        "bytes",
        "backlog in IP bytes at the end of the interval, without the packet in service",
    ),
    // The last one: readers that count columns find the others where they were.
    column(
        "hop",
        ColumnType::Text,
        "",
        "name of the link behind the queue; `link` if there is only one",
    ),
];

/// The columns of `flows.parquet`.
pub const FLOW_COLUMNS: &[ColumnInfo] = &[
    column(
        "time_ns",
        ColumnType::Integer,
        "ns",
        "end of the interval, since the start of the run",
    ),
    column(
        "length_ns",
        ColumnType::Integer,
        "ns",
        "time since the flow's previous row, or since its start",
    ),
    column(
        "group",
        ColumnType::Text,
        "",
        "name of the group in the scenario",
    ),
    column(
        "flow",
        ColumnType::Integer,
        "",
        "number of the flow among all groups, from 0 in the order of their start",
    ),
    column(
        "delivered_bytes",
        ColumnType::Integer,
        "bytes",
        "payload that reached the application in the interval",
    ),
    column(
        "goodput_bps",
        ColumnType::Real,
        "bit/s",
        "`delivered_bytes` over `length_ns`",
    ),
    column(
        "rtt_ns",
        ColumnType::OptionalInteger,
        "ns",
        "smoothed RTT at the end of the interval; null before the first measurement, and for datagrams",
    ),
    column(
        "congestion_window_bytes",
        ColumnType::OptionalInteger,
        "bytes",
        "congestion window at the end of the interval; null for datagrams",
    ),
    column(
        "retransmitted",
        ColumnType::OptionalInteger,
        "segments",
        "retransmitted in the interval; null for programs, of whose TCP nothing is known",
    ),
];

/// The columns of `events.parquet`.
pub const EVENT_COLUMNS: &[ColumnInfo] = &[
    column(
        "group",
        ColumnType::Text,
        "",
        "name of the group in the scenario",
    ),
    column(
        "flow",
        ColumnType::Integer,
        "",
        "number of the flow, as in `flows.parquet`",
    ),
    column("kind", ColumnType::Text, "", "what it is: see below"),
    column(
        "number",
        ColumnType::Integer,
        "",
        "counts the events of this kind and flow from 0 as planned: the same in every world",
    ),
    column(
        "started_ns",
        ColumnType::Integer,
        "ns",
        "when the user asked for it, since the start of the run",
    ),
    column(
        "first_byte_ns",
        ColumnType::OptionalInteger,
        "ns",
        "when its first byte was there; null if it never was",
    ),
    column(
        "last_byte_ns",
        ColumnType::OptionalInteger,
        "ns",
        "when its last byte was there; null if it never was",
    ),
    column(
        "ended_ns",
        ColumnType::OptionalInteger,
        "ns",
        "when it was over, well or not; null if not before the end of the run",
    ),
    column(
        "size_bytes",
        ColumnType::Integer,
        "bytes",
        "payload that was asked for",
    ),
    column(
        "outcome",
        ColumnType::Text,
        "",
        "`complete`, `unfinished` at the end of the run, `failed` (its connection was reset or never came up), `refused` (no room), `late`, `skipped` by its source, `lost` in part, `abandoned` by its user",
    ),
    column(
        "value",
        ColumnType::Integer,
        "",
        "what the kind of event says below; 0 otherwise",
    ),
    column(
        "wait_ns",
        ColumnType::OptionalInteger,
        "ns",
        "how long it waited for its connection, or behind others, before its request or its data could leave; null if nothing left, and for datagrams",
    ),
    column(
        "syn_retries",
        ColumnType::OptionalInteger,
        "segments",
        "SYNs that the user's end sent again",
    ),
    column(
        "syn_ack_retries",
        ColumnType::OptionalInteger,
        "segments",
        "SYN-ACKs that the server sent again",
    ),
    column(
        "timeouts",
        ColumnType::OptionalInteger,
        "",
        "retransmission time-outs (RTO) of the server after the handshake",
    ),
    column(
        "probes",
        ColumnType::OptionalInteger,
        "segments",
        "tail loss probes (RFC 8985) of the server; null outside the simulator",
    ),
    column(
        "recoveries",
        ColumnType::OptionalInteger,
        "",
        "episodes of fast recovery of the server; null outside the simulator",
    ),
    column(
        "retransmitted",
        ColumnType::OptionalInteger,
        "segments",
        "that the server sent again after the handshake, probes and spurious ones included",
    ),
    column(
        "timeouts_up",
        ColumnType::OptionalInteger,
        "",
        "as `timeouts`, of the user's end",
    ),
    column(
        "probes_up",
        ColumnType::OptionalInteger,
        "segments",
        "as `probes`, of the user's end",
    ),
    column(
        "recoveries_up",
        ColumnType::OptionalInteger,
        "",
        "as `recoveries`, of the user's end",
    ),
    column(
        "retransmitted_up",
        ColumnType::OptionalInteger,
        "segments",
        "as `retransmitted`, of the user's end",
    ),
];

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// A number.
    Integer(u64),
    /// A number, where there is one.
    Optional(Option<u64>),
    /// A number with digits after the point.
    Real(f64),
    /// A word that the program knows.
    Word(&'static str),
    /// The name of a group.
    Group(GroupId),
    /// The name of a link.
    Link(Hop),
}

fn time(time: Time) -> Cell {
    Cell::Integer(time.as_nanos())
}
fn maybe(time: Option<Time>) -> Cell {
    Cell::Optional(time.map(Time::as_nanos))
}
fn bytes(bytes: Bytes) -> Cell {
    Cell::Integer(bytes.get())
}

/// A row of [`QUEUE_COLUMNS`].
pub fn queue(row: &QueueRow) -> [Cell; QUEUE_COLUMNS.len()] {
    [
        time(row.time),
        time(row.length),
        Cell::Word(row.direction.name()),
        Cell::Word(row.queue),
        Cell::Integer(row.packets),
        bytes(row.bytes),
        Cell::Integer(row.marked),
        Cell::Integer(row.dropped),
        maybe(row.delay_mean),
        maybe(row.delay_max),
        bytes(row.backlog),
        Cell::Link(row.hop),
    ]
}

/// A row of [`FLOW_COLUMNS`].
pub fn flow(row: &FlowRow) -> [Cell; FLOW_COLUMNS.len()] {
    [
        time(row.time),
        time(row.length),
        Cell::Group(row.group),
        Cell::Integer(u64::from(row.flow.0)),
        bytes(row.delivered),
        Cell::Real(row.goodput_bps()),
        maybe(row.rtt),
        Cell::Optional(row.congestion_window.map(Bytes::get)),
        Cell::Optional(row.retransmitted),
    ]
}

/// A row of [`EVENT_COLUMNS`].
pub fn event(row: &EventRow) -> [Cell; EVENT_COLUMNS.len()] {
    let event = &row.event;
    let (down, up) = (&row.repairs.sender, &row.repairs.receiver);
    [
        Cell::Group(row.group),
        Cell::Integer(u64::from(row.flow.0)),
        Cell::Word(event.kind),
        Cell::Integer(event.number),
        time(event.started),
        maybe(event.first),
        maybe(event.last),
        maybe(event.ended),
        Cell::Integer(event.size),
        Cell::Word(event.outcome.name()),
        Cell::Integer(event.value),
        maybe(event.wait),
        Cell::Optional(up.handshake),
        Cell::Optional(down.handshake),
        Cell::Optional(down.timeouts),
        Cell::Optional(down.probes),
        Cell::Optional(down.recoveries),
        Cell::Optional(down.retransmitted),
        Cell::Optional(up.timeouts),
        Cell::Optional(up.probes),
        Cell::Optional(up.recoveries),
        Cell::Optional(up.retransmitted),
    ]
}
