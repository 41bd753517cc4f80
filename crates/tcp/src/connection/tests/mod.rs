//! Two ends of a connection over a path in virtual time.

mod acknowledgements;
mod ending;
mod handshake;
mod lossy;

use std::collections::BTreeMap;

use super::*;
use crate::cc::CcConfig;
use crate::ecn::EcnMode;
use quell_units::Ecn;

/// The end that opens, and the other one.
const CLIENT: usize = 0;
const SERVER: usize = 1;

const MSS: u64 = 1_448;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// The fate of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Drop,
    Mark,
    Delay(Time),
    Twice(Time),
}

/// Decides it: who sends, the segment, its number from 1 among those of the sender.
type Script = Box<dyn FnMut(usize, &Segment, u64) -> Fate>;

/// A segment that left: when, of which end.
type Departure = (Time, usize, Segment);

struct Path {
    ends: [Connection; 2],
    now: Time,
    rtt: Time,
    script: Script,
    left: Vec<Departure>,
    counts: [u64; 2],
    arriving: BTreeMap<(Time, u64), (usize, Segment)>,
    order: u64,
}

fn configuration(ecn: EcnMode) -> (SenderConfig, ReceiverConfig) {
    let mut sender = SenderConfig::new(CcConfig::Reno(Default::default()));
    sender.ecn = ecn;
    sender.ect_scope = None;
    sender.nagle = false;
    (sender, ReceiverConfig::new(ecn))
}

impl Path {
    fn new(rtt: Time) -> Self {
        Self::with_ecn(rtt, EcnMode::Off)
    }
    fn with_ecn(rtt: Time, ecn: EcnMode) -> Self {
        let (sender, receiver) = configuration(ecn);
        let end = || Connection::new(&sender, &receiver);
        Self::of([end(), end()], rtt)
    }
    fn of(ends: [Connection; 2], rtt: Time) -> Self {
        Self {
            ends,
            now: Time::ZERO,
            rtt,
            script: Box::new(|_, _, _| Fate::Pass),
            left: Vec::new(),
            counts: [0; 2],
            arriving: BTreeMap::new(),
            order: 0,
        }
    }
    fn with(mut self, script: impl FnMut(usize, &Segment, u64) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }
    /// A path that is opened at time zero, after the handshake.
    fn opened(mut self) -> Self {
        self.open();
        self.run_until(self.rtt * 2);
        assert!(self.ends.iter().all(Connection::is_established));
        self
    }
    fn open(&mut self) {
        self.ends[CLIENT].open(self.now);
        self.poll(CLIENT);
    }
    fn write(&mut self, end: usize, bytes: u64) {
        self.ends[end].write(bytes);
        self.poll(end);
    }
    fn close(&mut self, end: usize) {
        self.ends[end].close();
        self.poll(end);
    }
    fn poll(&mut self, end: usize) {
        self.check_idle(end);
        while let Some(segment) = self.ends[end].poll(self.now) {
            assert!(segment.ip_length() <= Bytes::new(1_500), "{segment:?}");
            self.left.push((self.now, end, segment));
            self.counts[end] += 1;
            let fate = (self.script)(end, &segment, self.counts[end]);
            self.send(end, segment, fate);
        }
    }
    /// A poll of a sender that says that it is idle finds nothing, and leaves it as `poll_idle` does.
    fn check_idle(&self, end: usize) {
        let sender = self.ends[end].sender();
        if self.order.is_multiple_of(16) && sender.is_established() && sender.is_idle() {
            let (mut polled, mut idle) = (sender.clone(), sender.clone());
            assert_eq!(polled.poll(self.now), None);
            idle.poll_idle(self.now);
            assert_eq!(format!("{polled:?}"), format!("{idle:?}"));
        }
    }
    fn send(&mut self, end: usize, mut segment: Segment, fate: Fate) {
        let mut arrive = |later| {
            self.order += 1;
            let at = self.now + self.rtt / 2 + later;
            self.arriving.insert((at, self.order), (1 - end, segment));
        };
        match fate {
            Fate::Pass => arrive(Time::ZERO),
            Fate::Drop => {}
            Fate::Mark => {
                if segment.ecn.is_capable() {
                    segment.ecn = Ecn::Ce;
                }
                self.send(end, segment, Fate::Pass);
            }
            Fate::Delay(later) => arrive(later),
            Fate::Twice(later) => {
                arrive(Time::ZERO);
                arrive(later);
            }
        }
    }
    /// Time of the next event.
    fn next(&self) -> Option<Time> {
        let arrival = self.arriving.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().filter_map(Connection::next_timer);
        timers.chain(arrival).min()
    }
    /// Lets what is due next happen.
    fn step(&mut self, at: Time) {
        self.now = self.now.max(at);
        if let Some(first) = self.arriving.first_entry()
            && first.key().0 <= self.now
        {
            let (end, segment) = first.remove();
            self.ends[end].on_segment(&segment, self.now);
            self.poll(end);
            return;
        }
        for end in [CLIENT, SERVER] {
            if self.ends[end]
                .next_timer()
                .is_some_and(|due| due <= self.now)
            {
                self.ends[end].on_timer(self.now);
                self.poll(end);
            }
        }
    }
    fn run_until(&mut self, until: Time) {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.step(at);
        }
        self.now = until;
    }
    /// Until nothing happens any more, or for a time.
    fn run_out(&mut self, patience: Time) {
        let end = self.now + patience;
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.step(at);
        }
    }
    /// The segments that `end` sent since `from`, in words.
    fn sent(&self, end: usize, from: Time) -> Vec<String> {
        self.left
            .iter()
            .filter(|(at, who, _)| *who == end && *at >= from)
            .map(|(at, _, segment)| describe(*at, segment))
            .collect()
    }
}

/// `25 0+100 ack 200 PSH`: at 25 ms 100 bytes from number 0 on.
fn describe(at: Time, segment: &Segment) -> String {
    let mut text = format!("{} {}", at.as_nanos() as f64 / 1e6, segment.sequence);
    if segment.payload > 0 {
        text += &format!("+{}", segment.payload);
    }
    for (flag, name) in [
        (Flags::SYN, " SYN"),
        (Flags::FIN, " FIN"),
        (Flags::RST, " RST"),
        (Flags::AE, " AE"),
        (Flags::CWR, " CWR"),
        (Flags::ECE, " ECE"),
    ] {
        if segment.flags.has(flag) {
            text += name;
        }
    }
    if segment.flags.has(Flags::ACK) {
        text += &format!(" ack {}", segment.acknowledgement);
    }
    for block in segment.sack_blocks() {
        text += &format!(" {}-{}", block.start, block.end);
    }
    text
}
