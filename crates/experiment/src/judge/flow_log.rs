//! What the hosts and the link of a run say of the judged flow, as qlog 0.3 in JSON text sequences (draft-ietf-quic-qlog-main-schema-02): the
//! window and the smoothed round-trip time of modelled flows and of the TCP of Linux, and each packet that a queue marked or dropped.
//!
//! A stack's own log can be opened beside it. Times are milliseconds since the start of the run. qlog has no events of TCP, so its window has
//! the event of QUIC's recovery; `sojourn_ms` and `ecn` of a packet at a queue are ours.

use std::fs;
use std::path::Path;

use quell_lab::results::read::captured::{Captured, Fate, packets};
use quell_lab::results::read::columns::{self, Cell};
use quell_lab::{RunError, World};
use quell_units::Time;
use serde_json::{Value as Json, json};

use super::traffic::{GROUP, PACKETS};

/// The file in the folder of a run.
const FILE: &str = "flow.sqlog";
/// The file with the window of each flow, and its columns.
const FLOWS: &str = "flows.parquet";
const COLUMNS: [&str; 4] = ["time_ns", "group", "congestion_window_bytes", "rtt_ns"];

/// Writes the log of the run in `folder`.
pub(super) fn write(folder: &Path, world: World) -> Result<(), RunError> {
    let failed = |error: &dyn ToString| RunError::Failed(error.to_string());
    let rows = columns::read(&folder.join(FLOWS), COLUMNS).map_err(|error| failed(&error))?;
    let own = rows.iter().filter(|[_, group, ..]| group.text() == GROUP);
    let mut events: Vec<(f64, Json)> = own.filter_map(metrics).collect();
    let see = |packet: Captured<'_>| events.extend(at_queue(&packet));
    packets(&folder.join(PACKETS), see).map_err(|error| failed(&error))?;
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    let head = json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": format!("a flow of quell's {} world, as its hosts and its link saw it", world.name()),
        "trace": {
            "vantage_point": { "type": "network", "flow": "server" },
            "common_fields": { "time_format": "relative", "reference_time": 0 },
        },
    });
    let records = [head]
        .into_iter()
        .chain(events.into_iter().map(|(_, event)| event));
    let text: String = records.map(|record| format!("\u{1e}{record}\n")).collect();
    fs::write(folder.join(FILE), text).map_err(|error| failed(&error))
}

/// The window of a flow at the end of an interval; nothing of datagrams.
fn metrics([time, _, window, rtt]: &[Cell; 4]) -> Option<(f64, Json)> {
    let number = |cell: &Cell| Some(cell.number()).filter(|number| number.is_finite());
    let (at, window) = (time.number() / 1e6, number(window)?);
    let data = json!({
        "congestion_window": window,
        "smoothed_rtt": number(rtt).map(|rtt| rtt / 1e6),
    });
    let event = json!({ "time": at, "name": "recovery:metrics_updated", "data": data });
    Some((at, event))
}

/// What a queue did to a packet of the flow, when it did so; nothing if it let it pass.
fn at_queue(packet: &Captured<'_>) -> Option<(f64, Json)> {
    if packet.group != Some(GROUP) {
        return None;
    }
    let name = match packet.fate {
        Fate::Dropped => "transport:datagram_dropped",
        Fate::Delivered if packet.marked => "transport:datagrams_received",
        _ => return None,
    };
    let milliseconds = |time: Time| time.as_nanos() as f64 / 1e6;
    let at = milliseconds(packet.arrival + packet.sojourn);
    let mut data = json!({
        "raw": { "length": packet.length.get() },
        "interface": packet.interface,
        "sojourn_ms": milliseconds(packet.sojourn),
    });
    if packet.marked {
        data["ecn"] = json!("CE");
    }
    Some((at, json!({ "time": at, "name": name, "data": data })))
}
