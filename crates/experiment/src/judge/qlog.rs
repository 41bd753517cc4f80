//! What a stack's own logs say: qlog, as its programs wrote it into the folder of a run.
//!
//! Contained JSON and JSON text sequences (RFC 7464), from draft-00 of qlog, whose events are lists, to 0.4, whose names begin with `quic:`
//! (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events). A program that is ended leaves its file cut, so what comes before
//! the cut counts. Files are read event by event; other events, fields and files are passed over.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value as Json, json};

/// Files of a run, bytes of a file and bytes of a line that are read.
const MOST_FILES: usize = 64;
const LONGEST: u64 = 256 << 20;
const LONGEST_LINE: u64 = 1 << 20;
/// How the names of both kinds of files end.
const CONTAINED: &str = "qlog";
const SEQUENCE: &str = "sqlog";
/// What begins a record of a text sequence.
const RECORD: u8 = 0x1e;

/// ECN counts of the space of 1-RTT packets, as an acknowledgement has them, each at the place of its code point less one.
pub(super) type Counts = [u64; 3];
const CODES: [&str; 3] = ["ect1", "ect0", "ce"];

/// Packets that are counted.
pub(super) fn total(counts: Counts) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The counts in acknowledgements of one direction: the seconds when they came, and what they were.
#[derive(Debug, Default)]
pub(super) struct Report(pub(super) Vec<(f64, Counts)>);

impl Report {
    /// An acknowledgement with these counts. Acknowledgements may overtake each other; their counts do not fall.
    pub(super) fn see(&mut self, at: f64, counts: Counts) {
        if total(counts) >= total(self.last().1) {
            self.0.push((at, counts));
        }
    }

    /// The last counts, and when they came.
    pub(super) fn last(&self) -> (f64, Counts) {
        self.0.last().copied().unwrap_or_default()
    }
}

/// What a sender said of itself.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When, in seconds since the log's first packet, or since the start of the run.
    pub at: f64,
    /// The congestion window, in bytes.
    pub cwnd: Option<f64>,
    /// The smoothed round-trip time, in milliseconds.
    pub smoothed_rtt_ms: Option<f64>,
}

/// A log of one end of a connection.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// None if the log does not say whose it is.
    pub(super) is_server: Option<bool>,
    /// In packets that it sent, and in those that it received, in seconds since its first packet.
    pub(super) sent: Report,
    pub(super) received: Report,
    /// When its validation of ECN failed.
    pub(super) ecn_failed: Option<f64>,
    /// In order of time.
    pub(super) samples: Vec<Sample>,
    /// 1-RTT packets that it sent.
    pub(super) packets: u64,
    /// Times count microseconds, or from event to event.
    is_micro: bool,
    is_delta: bool,
    now: f64,
    first: Option<f64>,
}

/// The logs in a folder and those below it, by name.
pub(super) fn logs(folder: &Path) -> Vec<Log> {
    let mut files = Vec::new();
    find(folder, 2, &mut files);
    files.sort();
    let logs = files.iter().take(MOST_FILES).filter_map(|path| {
        let is_sequence = path.extension().is_some_and(|end| end == SEQUENCE);
        Some(Log::read(File::open(path).ok()?, is_sequence))
    });
    logs.collect()
}

/// Plain files alone: what else has such a name may be without end.
fn find(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match (kind, path.extension().and_then(|end| end.to_str())) {
            (Ok(kind), _) if kind.is_dir() && depth > 0 => find(&path, depth - 1, files),
            (Ok(kind), Some(CONTAINED | SEQUENCE)) if kind.is_file() => files.push(path),
            _ => {}
        }
    }
}

impl Log {
    fn read(file: impl io::Read, is_sequence: bool) -> Self {
        let mut log = Self::default();
        let mut file = BufReader::new(file.take(LONGEST));
        // What breaks off was read until there.
        let _ = log.take(&mut file, is_sequence);
        log
    }

    fn take(&mut self, file: &mut impl BufRead, is_sequence: bool) -> io::Result<()> {
        if !is_sequence && file.fill_buf()?.first() != Some(&RECORD) {
            let mut document = serde_json::Deserializer::from_reader(file);
            return Ok(Walk(self, false).deserialize(&mut document)?);
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut rest = file.by_ref().take(LONGEST_LINE);
            if rest.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let text = line.strip_prefix(&[RECORD]).unwrap_or(&line);
            if let Ok(record) = serde_json::from_slice::<Json>(text) {
                match record.get("trace") {
                    Some(trace) => self.see_trace(trace),
                    None => self.see(&record),
                }
            }
        }
    }

    /// What holds for all events of a trace.
    fn see_trace(&mut self, trace: &Json) {
        let text = |part: &str, name: &str| trace[part][name].as_str();
        match text("vantage_point", "type") {
            Some("server") => self.is_server = Some(true),
            Some("client") => self.is_server = Some(false),
            _ => {}
        }
        let units = text("configuration", "time_units").or(text("common_fields", "time_units"));
        self.is_micro |= units == Some("us");
        let format = text("common_fields", "time_format");
        self.is_delta |= matches!(format, Some("delta" | "relative_to_previous_event"));
    }

    fn see(&mut self, event: &Json) {
        let (time, name, data) = match event {
            // Time, category, name, perhaps a trigger, and what there is to say.
            Json::Array(fields) => (
                fields.first().and_then(number),
                fields.get(2).and_then(Json::as_str),
                fields.last(),
            ),
            _ => {
                let time = number(&event["time"]);
                (time, event["name"].as_str(), event.get("data"))
            }
        };
        let (Some(time), Some(name), Some(data)) = (time, name, data) else {
            return;
        };
        let seconds = time / if self.is_micro { 1e6 } else { 1e3 };
        self.now = seconds + if self.is_delta { self.now } else { 0.0 };
        let name = name.rsplit(':').next().unwrap_or(name);
        match name {
            "packet_sent" | "packet_received" => self.see_packet(name == "packet_sent", data),
            "metrics_updated" | "recovery_metrics_updated" => {
                let at = self.at();
                self.samples.push(Sample {
                    at,
                    // Before draft-01 the window had its short name.
                    cwnd: number(&data["congestion_window"]).or_else(|| number(&data["cwnd"])),
                    smoothed_rtt_ms: number(&data["smoothed_rtt"])
                        .map(|rtt| if self.is_micro { rtt / 1e3 } else { rtt }),
                });
            }
            "ecn_state_updated" if data["new"] == "failed" => self.ecn_failed = Some(self.at()),
            _ => {}
        }
    }

    /// Seconds since the first packet.
    fn at(&mut self) -> f64 {
        self.now - *self.first.get_or_insert(self.now)
    }

    fn see_packet(&mut self, is_sent: bool, data: &Json) {
        let at = self.at();
        let kinds = [&data["header"]["packet_type"], &data["packet_type"]];
        // Each space of packet numbers has counts of its own; a handshake's are small.
        let mut kinds = kinds.into_iter().filter_map(Json::as_str);
        if !kinds.all(|kind| kind.eq_ignore_ascii_case("1rtt")) {
            return;
        }
        self.packets += u64::from(is_sent);
        let report = if is_sent {
            &mut self.sent
        } else {
            &mut self.received
        };
        for frame in data["frames"].as_array().into_iter().flatten() {
            let found = CODES.map(|code| number(&frame[code]));
            if frame["frame_type"] != "ack" || found == [None; 3] {
                continue;
            }
            report.see(at, found.map(|count| count.unwrap_or(0.0) as u64));
        }
    }
}

/// A number, which old drafts also write as a text.
fn number(of: &Json) -> Option<f64> {
    let text = || of.as_str()?.parse().ok();
    let number: Option<f64> = of.as_f64().or_else(text);
    number.filter(|number| number.is_finite())
}

/// A walk through a contained log, or its events; each is forgotten once it is seen.
struct Walk<'l>(&'l mut Log, bool);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("traces or events")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(log, _) = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traces" | "events" => map.next_value_seed(Walk(log, key == "events"))?,
                "vantage_point" | "common_fields" | "configuration" => {
                    let value: Json = map.next_value()?;
                    log.see_trace(&json!({ key: value }));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self(log, is_events) = self;
        if !is_events {
            while elements.next_element_seed(Walk(log, false))?.is_some() {}
            return Ok(());
        }
        while let Some(event) = elements.next_element::<Json>()? {
            log.see(&event);
        }
        Ok(())
    }
}
