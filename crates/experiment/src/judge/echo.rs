//! ECN counts that a receiver of QUIC echoes, beside the codes that its packets arrived with (RFC 9000 sections 13.4.1 and 19.3.2).
//!
//! Counts come with no time of the link, so they are put beside as many packets as they have. That hides a count of too few packets: the
//! other figure is how many arrived well before the last counts and are not among them. Counts of 1-RTT packets are read alone. A datagram
//! that begins with a long header may have one of them behind it; whether it has, the counts decide.

use std::path::Path;

use quell_units::Time;
use serde_json::{Value as Json, json};

use super::qlog::{Counts, Log, Report, logs, total};
use super::stack::Stack;

/// Seconds before the last counts from which on a packet need not be among them: the way to the receiver, the delay of acknowledgements, and
/// what the clocks of a log and of the link are apart: some 50 ms, because a first packet waits until its host knows the way.
const SETTLED: f64 = 0.2;
/// Datagrams with a long header that may have a 1-RTT packet.
const MOST_LONG: usize = 16;

/// The logs of a run, and what the link delivered.
#[derive(Debug)]
pub(super) struct Echo {
    logs: Vec<Log>,
    is_sent_by_server: bool,
    /// The last link gives ECT(1) back the code with which it was sent.
    is_relabelled: bool,
    /// When a datagram left for the receiver, and with which code: 1-RTT packets, and those with a long header.
    short: Vec<(Time, u8)>,
    long: Vec<u8>,
}

impl Echo {
    /// What the programs of a stack logged in `folder`, if they did.
    pub(super) fn read(folder: &Path, stack: &Stack) -> Option<Self> {
        let logs = logs(folder);
        (!logs.is_empty()).then_some(Self {
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

    /// The counts that the receiver sent, or else those that its sender got: one for each connection.
    fn reports(&self) -> Vec<Report> {
        let of = |is_sender: bool| {
            let is_server = Some(is_sender == self.is_sent_by_server);
            let own = self.logs.iter().filter(|log| log.is_server == is_server);
            let own = own.map(|log| if is_sender { log.received } else { log.sent });
            own.filter(|report| report.acks > 0).collect::<Vec<_>>()
        };
        let sent = of(false);
        if sent.is_empty() { of(true) } else { sent }
    }

    /// The figures; the flow's first packet came at this second of the run.
    pub(super) fn figures(&self, first_s: f64) -> Json {
        let reports = self.reports();
        let Report { at, counts, acks } = reports.first().copied().unwrap_or_default();
        let until = first_s + at - SETTLED;
        let settled = self.short.iter();
        let settled = settled.filter(|(left, _)| left.as_nanos() as f64 / 1e9 <= until);
        let (arrived, off) = self.beside(counts);
        let failed = self.logs.iter().filter_map(|log| log.ecn_failed);
        json!({
            "connections": reports.len(),
            "acks": acks,
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
