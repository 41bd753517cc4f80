//! The times that pages took to load.

use quell_units::Time;

use crate::{Column, Durations, Figure, Form, Notation, Part, Quantity, Times, Value, in_ms};

/// The times that pages took to load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PagesReport {
    /// Pages that have begun.
    pub started: u64,
    /// Pages of which a connection was reset, or could not be opened.
    pub failed: u64,
    /// Pages whose server stopped.
    pub cut_short: u64,
    /// Pages that had begun and not ended when the report was made.
    pub in_flight: u64,
    /// Age of the oldest of these.
    pub oldest: Option<Time>,
    /// Payload of complete pages, in bytes.
    pub bytes: u64,
    /// Objects of complete pages, with the document.
    pub page_objects: u64,
    /// Connections that complete pages opened.
    pub opened: u64,
    /// Objects that completed, also of pages that did not.
    pub objects: u64,
    /// Time from the request for the document to the last byte of the last object.
    pub load: Durations,
    /// That time for pages that opened a connection for their document, and for those that did not.
    pub by_start: [Durations; 2],
    /// To the last byte of the document.
    pub document: Durations,
    /// To the first byte of the document.
    pub first_byte: Durations,
    /// `load` without what parsing and the server took on the way to the last object.
    pub network: Durations,
    /// To half of the page's bytes.
    pub half: Durations,
    /// Time from the request for an object to its last byte.
    pub object: Durations,
    /// Time from the request for an object, with the connection that was opened for it, to its first byte.
    pub flow_startup: Durations,
}

/// A complete page; times are since its start.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct LoadedPage {
    pub(in super::super) load: Time,
    pub(in super::super) document: Time,
    pub(in super::super) first_byte: Time,
    pub(in super::super) half: Time,
    pub(in super::super) besides: Time,
    pub(in super::super) bytes: u64,
    pub(in super::super) objects: u64,
    pub(in super::super) opened: u64,
    pub(in super::super) is_cold: bool,
}

impl PagesReport {
    /// Pages that completed.
    pub fn completed(&self) -> u64 {
        self.load.count()
    }
    /// Pages that were cut short, or were still loading at the end.
    pub fn unfinished(&self) -> u64 {
        self.cut_short + self.in_flight
    }

    pub(in super::super) fn complete(&mut self, page: &LoadedPage) {
        self.bytes += page.bytes;
        self.page_objects += page.objects;
        self.opened += page.opened;
        self.load.record(page.load);
        self.by_start[usize::from(!page.is_cold)].record(page.load);
        self.document.record(page.document);
        self.first_byte.record(page.first_byte);
        self.network
            .record(page.load.max(page.besides) - page.besides);
        self.half.record(page.half);
    }

    fn per_page(&self, sum: u64) -> Value {
        let all = self.completed();
        Value::Number((all > 0).then(|| sum as f64 / all as f64))
    }

    /// Adds everything but what is loading.
    pub(super) fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.failed += other.failed;
        self.cut_short += other.cut_short;
        self.bytes += other.bytes;
        self.page_objects += other.page_objects;
        self.opened += other.opened;
        self.objects += other.objects;
        for (sum, more) in self.by_start.iter_mut().zip(&other.by_start) {
            sum.merge(more);
        }
        self.load.merge(&other.load);
        self.document.merge(&other.document);
        self.first_byte.merge(&other.first_byte);
        self.network.merge(&other.network);
        self.half.merge(&other.half);
        self.object.merge(&other.object);
        self.flow_startup.merge(&other.flow_startup);
    }
}

const fn count(
    name: &'static str,
    meaning: &'static str,
    value: fn(&PagesReport) -> Value,
) -> Figure<PagesReport> {
    Figure::new(name, Quantity::Count, meaning, value)
}

const fn number(
    name: &'static str,
    meaning: &'static str,
    value: fn(&PagesReport) -> Value,
) -> Figure<PagesReport> {
    Figure::new(name, Quantity::MaybeNumber, meaning, value)
}

const fn times(
    name: &'static str,
    meaning: &'static str,
    value: fn(&PagesReport) -> Value,
) -> Figure<PagesReport> {
    Figure::new(name, Quantity::Times, meaning, value)
}

pub(super) const FORM: Form<PagesReport> = Form {
    table: Some("web pages"),
    figures: &[
        count("bytes", "payload of the pages that completed", |report| {
            Value::Count(report.bytes)
        }),
        count("pages_started", "pages that have begun", |report| {
            Value::Count(report.started)
        }),
        count("pages_completed", "pages that completed in the phase", |report| {
            Value::Count(report.completed())
        })
        .shown(&[Column::new("pages", Notation::Plain(0))]),
        count(
            "pages_unfinished",
            "pages that were loading at the end, or whose server stopped",
            |report| Value::Count(report.unfinished()),
        )
        .shown(&[Column::new("unfinished", Notation::Plain(0)).rank(3)]),
        count(
            "pages_failed",
            "pages of which a connection was reset, or could not be opened",
            |report| Value::Count(report.failed),
        ),
        number(
            "oldest_unfinished_ms",
            "age of the oldest page that is still loading; null without one",
            |report| Value::Number(report.oldest.map(in_ms)),
        ),
        times(
            "page_load_ms",
            "from the request for the document, with the connection that it needs, to the last byte of the last object",
            |report| Value::Times(Times::backed(&report.load)),
        )
        .shown(&[
            Column::of("load p50 ms", Part::P50, Notation::Plain(0)),
            Column::of("load p99 ms", Part::P99, Notation::Plain(0)),
            Column::of("load mean ms", Part::Mean, Notation::Plain(0)).rank(2),
        ]),
        times(
            "page_load_cold_ms",
            "`page_load_ms` of pages whose document opened a connection",
            |report| Value::Times(Times::backed(&report.by_start[0])),
        ),
        times(
            "page_load_warm_ms",
            "`page_load_ms` of pages that found a connection of an earlier page",
            |report| Value::Times(Times::backed(&report.by_start[1])),
        ),
        times(
            "document_ms",
            "from the same moment to the last byte of the document",
            |report| Value::Times(Times::backed(&report.document)),
        )
        .shown(&[Column::of("document p50 ms", Part::P50, Notation::Plain(0)).rank(1)]),
        times(
            "first_byte_ms",
            "from the same moment to the first byte of the document",
            |report| Value::Times(Times::backed(&report.first_byte)),
        ),
        times(
            "network_ms",
            "`page_load_ms` without what parsing and the server took on the way to the last object",
            |report| Value::Times(Times::backed(&report.network)),
        ),
        times(
            "half_bytes_ms",
            "from the same moment until half of the page's bytes had arrived",
            |report| Value::Times(Times::backed(&report.half)),
        ),
        number("objects", "objects of a complete page on average, with its document", |report| {
            report.per_page(report.page_objects)
        }),
        number(
            "connections",
            "connections that a complete page opened on average",
            |report| report.per_page(report.opened),
        ),
        count(
            "objects_completed",
            "objects that completed, also of pages that did not",
            |report| Value::Count(report.objects),
        ),
        times(
            "object_ms",
            "from the request for an object to its last byte",
            |report| Value::Times(Times::backed(&report.object)),
        ),
        times(
            "flow_startup_ms",
            "flow startup time: from the request for an object, of the first one on a connection from the request for that connection, to its first byte, also of pages that did not complete",
            |report| Value::Times(Times::backed(&report.flow_startup)),
        ),
    ],
};
