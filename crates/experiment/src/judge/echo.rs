//! ECN counts that a receiver of QUIC echoes, beside the codes that its packets arrived with (RFC 9000 sections 13.4.1 and 19.3.2).
//!
//! Counts are read with the keys of TLS, or from logs. They are put beside as many packets as they have. That hides a count of too few
//! packets: the other figure is how many arrived well before the last counts and are not among them. Counts of 1-RTT packets are read
//! alone. A datagram that begins with a long header may have one of them behind it; whether it has, the counts decide.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use quell_lab::results::read;
use quell_units::Time;
use serde_json::{Value as Json, json};

use super::keys::Keys;
use super::qlog::{Counts, Log, Report, logs, total};
use super::stack::Stack;

/// Seconds before the last counts from which on a packet need not be among them: the way to the receiver, the delay of acknowledgements, and
/// what the clocks of a log and of the link are apart: some 50 ms, because a first packet waits until its host knows the way.
const SETTLED: f64 = 0.2;
/// Datagrams with a long header that may have a 1-RTT packet.
const MOST_LONG: usize = 16;
/// The file of a run with all of it, and the bytes of it that are read.
const FILE: &str = "echo.csv";
const LONGEST: u64 = 64 << 20;
/// Its second column.
const DELIVERED: &str = "delivered";
const REPORTED: &str = "reported";

/// The keys and logs of a run, and what the link delivered.
pub(super) struct Echo {
    keys: Keys,
    logs: Vec<Log>,
    is_sent_by_server: bool,
    /// The last link gives ECT(1) back the code with which it was sent.
    is_relabelled: bool,
    /// When a datagram left for the receiver, and with which code: 1-RTT packets, and those with a long header.
    short: Vec<(Time, u8)>,
    long: Vec<u8>,
}

impl Echo {
    /// What the programs of a stack logged in `folder`, if they did, with this log of keys.
    pub(super) fn read(folder: &Path, keys: &str, stack: &Stack) -> Option<Self> {
        let (keys, logs) = (Keys::of(keys), logs(folder));
        (!keys.is_empty() || !logs.is_empty()).then_some(Self {
            keys,
            logs,
            is_sent_by_server: stack.is_sent_by_server(),
            is_relabelled: stack.is_relabelled,
            short: Vec::new(),
            long: Vec::new(),
        })
    }

    /// A datagram of the sender with ECT or CE was delivered.
    pub(super) fn see(&mut self, left: Time, code: u8, is_long: bool) {
        match (code + u8::from(self.is_relabelled && code == 1), is_long) {
            (0, _) => {}
            (code, true) => self.long.push(code),
            (code, false) => self.short.push((left, code)),
        }
    }

    /// The receiver sent a datagram, at this second of the run.
    pub(super) fn hear(&mut self, at: f64, datagram: &[u8]) {
        self.keys.see(at, datagram);
    }

    /// The counts that the receiver sent as its keys open them, or as it logs them, or else those that its sender got, one for each
    /// connection; with what is to be added to their times.
    fn reports(&self, first_s: f64) -> (&'static str, f64, Vec<&Report>) {
        let of = |is_sender: bool| {
            let is_server = Some(is_sender == self.is_sent_by_server);
            let own = self.logs.iter().filter(|log| log.is_server == is_server);
            let own = own.map(|log| if is_sender { &log.received } else { &log.sent });
            own.collect::<Vec<_>>()
        };
        let ways = [("keys", 0.0, self.keys.reports().collect())];
        let ways = ways
            .into_iter()
            .chain([false, true].map(|end| ("qlog", first_s, of(end))));
        let mut ways = ways.map(|(by, added, mut all)| {
            all.retain(|report| !report.0.is_empty());
            (by, added, all)
        });
        let found = ways.find(|(.., all)| !all.is_empty());
        found.unwrap_or(("", 0.0, Vec::new()))
    }

    /// The figures, and the file in the `folder` of the run; the flow's first packet came at this second of the run.
    pub(super) fn figures(&mut self, first_s: f64, folder: &Path) -> Json {
        // Packets are seen in the order in which they reached the queue, where CE overtakes.
        self.short.sort_by_key(|(left, _)| *left);
        let (by, added, reports) = self.reports(first_s);
        let report = reports.first().copied();
        let (at, counts) = report.map(Report::last).unwrap_or_default();
        let until = at + added - SETTLED;
        let settled = self.short.iter();
        let settled = settled.filter(|(left, _)| seconds(*left) <= until);
        let (arrived, off) = self.beside(counts);
        let failed = self.logs.iter().filter_map(|log| log.ecn_failed);
        // Who wants to see more finds less, and the verdict stands.
        let _ = report.map(|report| fs::write(folder.join(FILE), self.table(report, added)));
        json!({
            "by": by,
            "connections": reports.len(),
            "acks": report.map_or(0, |report| report.0.len()),
            "ect1": counts[0],
            "ect0": counts[1],
            "ce": counts[2],
            "arrived_ect1": arrived[0],
            "arrived_ect0": arrived[1],
            "arrived_ce": arrived[2],
            "off": off,
            "missing": (settled.count() as u64).saturating_sub(total(counts)),
            "ecn_failed_s": failed.reduce(f64::min).map(|at| first_s + at),
        })
    }

    /// The counts of what was delivered and of what was reported, each at its second.
    fn table(&self, report: &Report, added: f64) -> String {
        let mut table = "second,what,ect1,ect0,ce\n".to_owned();
        let mut arrived = Counts::default();
        let delivered = self.short.iter().map(|(left, code)| {
            arrived[usize::from(*code) - 1] += 1;
            (seconds(*left), DELIVERED, arrived)
        });
        let reported = report.0.iter();
        let reported = reported.map(|(at, counts)| (at + added, REPORTED, *counts));
        let mut rows: Vec<_> = delivered.chain(reported).collect();
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (at, what, [ect1, ect0, ce]) in rows {
            let _ = writeln!(table, "{at:.6},{what},{ect1},{ect0},{ce}");
        }
        table
    }

    /// The codes of as many packets as were counted, and how many of the counts differ: with that number of packets behind a long header
    /// for which this is least.
    fn beside(&self, counted: Counts) -> (Counts, u64) {
        let all = (0..=self.long.len().min(MOST_LONG)).map(|behind| {
            let wanted = total(counted).saturating_sub(behind as u64) as usize;
            let short = self.short.iter().map(|(_, code)| code).take(wanted);
            let mut arrived = Counts::default();
            for code in short.chain(self.long.iter().take(behind)) {
                arrived[usize::from(*code) - 1] += 1;
            }
            let off = [0, 1, 2].map(|code| u64::abs_diff(arrived[code], counted[code]));
            (arrived, total(off))
        });
        all.min_by_key(|(_, off)| *off).unwrap_or_default()
    }
}

pub(super) fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// CE that reached the receiver of the run in `folder`, and CE that it reported, each at its second; nothing where nobody can say.
pub fn echoed(folder: &Path) -> [Vec<(f64, f64)>; 2] {
    let text = read::text(&folder.join(FILE), LONGEST).unwrap_or_default();
    [DELIVERED, REPORTED].map(|what| {
        let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let rows = rows.filter(|row| row.get(1) == Some(&what));
        let number = |text: &str| text.parse::<f64>().ok();
        rows.filter_map(|row| number(row[0]).zip(number(row.last()?)))
            .collect()
    })
}
