//! Events of a connection, chosen by bytes, and the laws that must hold meanwhile.
//!
//! The property tests draw the bytes at random, and shrink them; the fuzz target `connection` of `fuzz/` takes them from libFuzzer. A choice
//! of zero, and every choice after the last byte, is the plainest. Two worlds: in [`honest`](super::honest) both ends talk over a path that loses, marks,
//! repeats, delays and overtakes; in [`hostile`](super::hostile) each end receives any segment that can be written.
use std::collections::BTreeMap;

use quell_tcp::{
    AccEcnOptionUse, CcConfig, Codepoint, EcnMode, EctScope, ReceiveBuffer, Receiver,
    ReceiverConfig, Segment, Sender, SenderConfig, Ticks,
};
use quell_units::parameter::Domain;
use quell_units::{Bytes, Time};

use super::Subject;
use crate::choices::Choices;

/// Configurations of both ends.
#[derive(Debug, Clone)]
pub struct Ends {
    pub sender: SenderConfig,
    pub receiver: ReceiverConfig,
}

impl Ends {
    /// Any two ends with this congestion control.
    pub fn of(subject: &Subject, choices: &mut Choices<'_>) -> Self {
        let suggested = SenderConfig::new(control(subject, choices));
        let ecn = choices.of(&[
            suggested.ecn,
            EcnMode::Off,
            EcnMode::Classic(Codepoint::Ect0),
            EcnMode::Dctcp(Codepoint::Ect0),
            EcnMode::Accurate(Codepoint::Ect1),
            EcnMode::Accurate(Codepoint::Ect0),
        ]);
        let scope = choices.of(&[
            None,
            Some(EctScope::NewData),
            Some(EctScope::Established),
            Some(EctScope::Everything),
        ]);
        let option = |choices: &mut Choices<'_>| {
            choices.of(&[
                AccEcnOptionUse::Always,
                AccEcnOptionUse::Sparing,
                AccEcnOptionUse::Never,
            ])
        };
        let mss = choices.of(&[1_448, 1_000, 536, 100]);
        let ticks = |choices: &mut Choices<'_>| {
            let hz = choices.of(&[0, 250, 100, 1_000]);
            if hz == 0 {
                Ticks::EXACT
            } else {
                Ticks::new(hz, choices.time())
            }
        };
        let buffer = choices.of(&[None, Some(131_072), Some(20_000)]);
        Self {
            sender: SenderConfig {
                ecn,
                ect_scope: scope,
                accecn_option: option(choices),
                mss,
                initial_window: choices.of(&[10, 1, 2, 100, 0]),
                pacing: choices.of(&[None, Some(true), Some(false)]),
                gso: !choices.flag(),
                nagle: !choices.flag(),
                restart_after_idle: !choices.flag(),
                peer_window: Bytes::new(choices.of(&[65_535, 0, 3_000])),
                ticks: ticks(choices),
                ..suggested
            },
            receiver: ReceiverConfig {
                window: Bytes::new(choices.of(&[1 << 30, 10_000, 100])),
                ect_scope: scope,
                accecn_option: option(choices),
                mss,
                buffer: buffer.map(|initial| ReceiveBuffer {
                    initial: Bytes::new(initial),
                    most: Bytes::new(4 << 20),
                }),
                reads: choices.of(&[None, Some(Time::from_millis(1))]),
                ack_every: choices.of(&[2, 1, 0, 5]),
                quick_ack: !choices.flag(),
                compress_sacks: !choices.flag(),
                ticks: ticks(choices),
                // Mostly what the sender asks for.
                ..ReceiverConfig::new(choices.of(&[ecn, ecn, ecn, EcnMode::Off]))
            },
        }
    }
}

/// The congestion control with some of its options, as far as they go together.
fn control(subject: &Subject, choices: &mut Choices<'_>) -> CcConfig {
    let mut given = Vec::new();
    for parameter in subject.kind.parameters {
        let values: &[&str] = match parameter.domain {
            Domain::Flag => &["true", "false"],
            Domain::Word(words) => words,
            _ => &[],
        };
        // Mostly its default.
        if let (1, Some(_)) = (choices.byte() % 4, values.first()) {
            given.push((parameter.name, choices.of(values)));
        }
    }
    // Options that exclude each other are refused.
    subject
        .config(&given)
        .or_else(|_| subject.config(&[]))
        .expect("the defaults of a control")
}

/// Events at one instant after which a connection is taken to go round in circles.
const MOST_AT_ONCE: usize = 100_000;

/// A sender, with the state that follows from its packets and their acknowledgements.
pub struct WatchedSender {
    pub tcp: Sender,
    mss: u32,
    pub written: u64,
    pub is_closed: bool,
    /// Payload bytes by first number, of data that was sent and not acknowledged.
    outstanding: BTreeMap<u64, u64>,
    acknowledged: u64,
    retransmitted: u64,
    /// The first number that the receiver has never allowed.
    edge: u64,
}

impl WatchedSender {
    pub fn new(config: &SenderConfig) -> Self {
        Self {
            tcp: Sender::new(config),
            mss: config.mss,
            written: 0,
            is_closed: false,
            outstanding: BTreeMap::new(),
            acknowledged: 0,
            retransmitted: 0,
            edge: config.peer_window.get(),
        }
    }
    pub fn write(&mut self, bytes: u64) {
        if !self.is_closed {
            self.written += bytes;
        }
        self.tcp.write(bytes);
    }
    pub fn close(&mut self) {
        self.is_closed = true;
        self.tcp.close();
    }
    pub fn arrive(&mut self, segment: &Segment, now: Time) {
        self.tcp.on_segment(segment, now);
        // What it believes is up to it; that the window was allowed is not.
        self.edge = self.edge.max(
            segment
                .acknowledgement
                .saturating_add(segment.window.into()),
        );
    }
    /// Serves the timers that are due, and polls; returns the segments that leave.
    pub fn serve(&mut self, now: Time, mut sink: impl FnMut(Segment)) {
        for round in 0.. {
            assert!(
                round < MOST_AT_ONCE,
                "the sender goes round in circles at {now:?}: {:?}",
                self.tcp.stats()
            );
            while let Some(segment) = self.tcp.poll(now) {
                self.check_departure(&segment);
                sink(segment);
            }
            self.check(now);
            if self.tcp.next_timer().is_none_or(|due| due > now) {
                return;
            }
            self.tcp.on_timer(now);
        }
    }
    fn check_departure(&mut self, segment: &Segment) {
        let end = segment.sequence.saturating_add(segment.payload.into());
        assert!(segment.payload <= self.mss, "{segment:?}: more than an MSS");
        if segment.end() > segment.sequence {
            assert!(
                end <= self.written,
                "{segment:?}: {} bytes were written",
                self.written
            );
            assert!(
                segment.payload == 0 || end <= self.edge,
                "{segment:?}: beyond the window, which ends at {}",
                self.edge
            );
            self.outstanding.insert(segment.sequence, segment.end());
        }
    }
    /// The laws of a sender at rest.
    fn check(&mut self, now: Time) {
        let stats = self.tcp.stats();
        assert!(stats.cwnd >= 1, "{now:?}: {stats:?}");
        assert!(stats.ssthresh >= 1, "{now:?}: {stats:?}");
        assert!(
            stats.acknowledged >= self.acknowledged,
            "{now:?}: what is acknowledged stays so: {stats:?}"
        );
        assert!(stats.acknowledged <= self.written, "{now:?}: {stats:?}");
        assert!(
            stats.retransmitted >= self.retransmitted && stats.retransmitted <= stats.sent,
            "{now:?}: {stats:?}"
        );
        (self.acknowledged, self.retransmitted) = (stats.acknowledged, stats.retransmitted);
        while let Some(first) = self
            .outstanding
            .first_entry()
            .filter(|first| *first.get() <= self.acknowledged)
        {
            first.remove();
        }
        // Each may be in flight twice: as itself and as its retransmission.
        let most = 2 * self.outstanding.len() as u64;
        assert!(
            u64::from(stats.in_flight) <= most,
            "{now:?}: at most {most} in flight: {stats:?}"
        );
        // A timer that is due is served at once, so whatever was set since is not in the past.
        if let Some(due) = self.tcp.next_timer() {
            assert!(due >= now, "{now:?}: a timer at {due:?}");
        }
    }
    pub fn is_done(&self) -> bool {
        self.tcp.is_done()
    }
}

/// A receiver, with the state that follows from its arrivals.
pub struct WatchedReceiver {
    pub tcp: Receiver,
    /// Ranges of numbers that have arrived, FIN included: the first, and the first that is not part of it.
    arrived: BTreeMap<u64, u64>,
    delivered: u64,
}

impl WatchedReceiver {
    pub fn new(config: &ReceiverConfig) -> Self {
        Self {
            tcp: Receiver::new(config),
            arrived: BTreeMap::new(),
            delivered: 0,
        }
    }
    pub fn arrive(&mut self, segment: &Segment, now: Time) {
        if segment.end() > segment.sequence && !segment.flags.has(quell_tcp::Flags::SYN) {
            self.insert(segment.sequence, segment.end());
        }
        self.tcp.on_segment(segment, now);
    }
    fn insert(&mut self, mut start: u64, mut end: u64) {
        let touched: Vec<(u64, u64)> = self
            .arrived
            .range(..=end)
            .map(|(a, b)| (*a, *b))
            .filter(|(_, b)| *b >= start)
            .collect();
        for (first, last) in touched {
            self.arrived.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.arrived.insert(start, end);
    }
    /// The count of numbers that have arrived without a gap.
    fn complete(&self) -> u64 {
        self.arrived.get(&0).copied().unwrap_or(0)
    }
    /// Serves the timers that are due, and polls; returns the segments that leave.
    pub fn serve(&mut self, now: Time, mut sink: impl FnMut(Segment)) {
        for round in 0.. {
            assert!(
                round < MOST_AT_ONCE,
                "the receiver goes round in circles at {now:?}"
            );
            while let Some(segment) = self.tcp.poll(now) {
                self.check_departure(&segment);
                sink(segment);
            }
            let delivered = self.tcp.delivered();
            assert!(
                delivered >= self.delivered,
                "{now:?}: what is delivered stays so"
            );
            // Each byte once: as many as have arrived in order, by a second computation, and none that has not arrived. What
            // does not fit the window is refused.
            assert!(
                delivered <= self.complete(),
                "{now:?}: {delivered} of {} bytes",
                self.complete()
            );
            self.delivered = delivered;
            let Some(due) = self.tcp.next_timer() else {
                return;
            };
            assert!(due >= now, "{now:?}: a timer at {due:?}");
            if due > now {
                return;
            }
            self.tcp.on_timer(now);
        }
    }
    fn check_departure(&mut self, ack: &Segment) {
        assert_eq!(ack.payload, 0, "{ack:?}");
        assert!(
            ack.acknowledgement <= self.complete(),
            "{ack:?}: {} bytes have arrived",
            self.complete()
        );
        for block in ack.sack_blocks() {
            let arrived = self.arrived.range(..=block.start).next_back();
            let holds = arrived.is_some_and(|(_, end)| *end >= block.end);
            assert!(
                holds && block.start < block.end,
                "{ack:?}: {block:?} has not arrived"
            );
        }
    }
    /// Whether it has delivered a stream of `written` bytes, each once, and knows that it ends there.
    pub fn has_all_of(&self, written: u64) -> bool {
        self.tcp.delivered() == written && self.tcp.is_finished() && self.complete() == written + 1
    }
}
