//! What the packets of a stack say: code points as sent, trains, the longest silence, and what its receiver reported.
//!
//! Packets are those of the group `stack` at the first queue of their way, so its sender alone decides when they come and, unless that queue
//! marked them, with which code. A queue that marks changes CE alone.

use std::path::Path;

use quell_lab::results::read::captured::{Captured, Fate, packets};
use quell_lab::results::read::{self, LONGEST};
use quell_lab::{RunError, Scenario};
use quell_measure::{Direction, Hop, Hops};
use quell_units::Time;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::echo::{Echo, seconds};
use super::rtp::Rtp;

/// The group that is judged.
pub(super) const GROUP: &str = "stack";
/// The folder of a run with what its programs wrote.
pub(super) const PROGRAMS: &str = "programs";
/// Its file of packets.
pub(super) const PACKETS: &str = "packets.pcapng";
/// Packets that come within this time of the first one are a train: the burst that RFC 9331 section 4.3 tolerates.
const TRAIN: Time = Time::from_micros(250);
/// Bytes of an IP packet from which on it carries data rather than feedback.
const DATA: u64 = 300;
/// Kinds of the AccECN option (RFC 9768 section 3.2.3): E0B first, E1B first.
const ACCECN: [u8; 2] = [172, 174];

/// What the packets of a stack say, both ways.
#[derive(Debug, Default, Serialize)]
struct Traffic {
    /// From the sender of the data.
    forward: Way,
    /// From its receiver.
    reverse: Way,
    /// What a receiver of TCP reported.
    feedback: Feedback,
}

/// One direction.
#[derive(Debug, Default, Serialize)]
struct Way {
    packets: u64,
    /// Packets that carry data, by code, as sent.
    data: Codes,
    /// The others.
    control: Codes,
    /// Of TCP, with data that was sent before.
    again: Codes,
    syn: Codes,
    /// ECT packets since the first one that the receiver can have answered, and when the last one came.
    ect: u64,
    last_ect_s: Option<f64>,
    first_s: Option<f64>,
    last_s: Option<f64>,
    /// The longest time without a packet, in seconds; to the end of the run.
    silence_s: f64,
    /// Packets of the longest train, and of that which one in a hundred exceeds.
    train_max: u64,
    train_p99: u64,
    #[serde(skip)]
    trains: Vec<u64>,
    #[serde(skip)]
    train: Option<(Time, u64)>,
    /// Of TCP: behind the highest byte sent.
    #[serde(skip)]
    sent: Option<u32>,
    /// Bytes of packets with the DSCP of NQB (45) beyond a bucket of 500 kbit/s that holds one packet (RFC 9956 section 4).
    nqb: u64,
    nqb_beyond: u64,
    #[serde(skip)]
    bucket: (Time, f64),
}

/// Packets by code point. What the queue marked was ECT(0) or ECT(1), whichever that sender uses.
#[derive(Debug, Default, Serialize)]
struct Codes {
    not_ect: u64,
    ect0: u64,
    ect1: u64,
    ce: u64,
    marked: u64,
}

impl Codes {
    fn count(&mut self, code: u8, marked: bool) {
        *match (marked, code) {
            (true, _) => &mut self.marked,
            (_, 0) => &mut self.not_ect,
            (_, 1) => &mut self.ect1,
            (_, 2) => &mut self.ect0,
            _ => &mut self.ce,
        } += 1;
    }
}

/// What the receiver of TCP reported (RFC 9768), beside what reached it.
#[derive(Debug, Default, Serialize)]
struct Feedback {
    /// AE, CWR and ECE of the SYN as one number, and of the SYN/ACK.
    syn: Option<u8>,
    syn_ack: Option<u8>,
    /// CE packets by the counter of three bits, which begins with 5.
    ace: u64,
    #[serde(skip)]
    last_ace: Option<u8>,
    /// The largest step between two acknowledgements.
    ace_step_max: u64,
    /// CE packets among what it acknowledged: what was still on its way at the end may have had them too.
    ce: u64,
    /// ACKs, and of them those with ECE.
    acks: u64,
    ece: u64,
    /// ACKs with the option; the bytes of CE that the last one reports, and those among what it acknowledged until then.
    options: u64,
    option_ce: u64,
    bytes_ce: u64,
    /// By how many bytes it is wrong about a code at most, modulo 2²⁴.
    option_off: u64,
    #[serde(skip)]
    reported: [u64; 4],
    /// Data that reached it and is not acknowledged: the number after it, its code, its length.
    #[serde(skip)]
    waiting: Vec<(u32, u8, u64)>,
    /// Bytes that are acknowledged, by code.
    #[serde(skip)]
    acknowledged: [u64; 4],
}

/// The headers of a packet, as far as they are kept.
struct Header<'a>(&'a [u8]);

impl Header<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }
    fn is_6(&self) -> bool {
        self.byte(0) >> 4 == 6
    }
    /// Traffic class, or type of service.
    fn tos(&self) -> u8 {
        match self.is_6() {
            true => self.byte(0) << 4 | self.byte(1) >> 4,
            false => self.byte(1),
        }
    }
    /// The protocol, and where it begins.
    fn transport(&self) -> (u8, usize) {
        match self.is_6() {
            true => (self.byte(6), 40),
            false => (self.byte(9), usize::from(self.byte(0) & 15) * 4),
        }
    }
    /// ICMP: the kernel answers what reaches a program that has ended, with the ECN field of the packet that it answers.
    fn is_icmp(&self) -> bool {
        matches!(self.transport().0, 1 | 58)
    }
    /// Where TCP begins, if it is TCP.
    fn tcp(&self) -> Option<usize> {
        let (protocol, begin) = self.transport();
        (protocol == 6).then_some(begin)
    }
    /// What is kept of the payload of a datagram.
    fn datagram(&self) -> Option<&[u8]> {
        let (protocol, begin) = self.transport();
        self.0.get(begin + 8..).filter(|_| protocol == 17)
    }
    /// Whether it begins with a long header of QUIC.
    fn has_long(&self) -> Option<bool> {
        self.datagram()?.first().map(|first| first & 128 != 0)
    }
    fn number(&self, at: usize, bytes: usize) -> u64 {
        (at..at + bytes).fold(0, |sum, at| sum << 8 | u64::from(self.byte(at)))
    }
}

impl Way {
    fn see(&mut self, packet: &Captured<'_>, header: &Header<'_>, warmup: Time) {
        let at = packet.arrival;
        let seconds = seconds(at);
        if let Some(last) = self.last_s {
            self.silence_s = self.silence_s.max(seconds - last);
        }
        self.packets += 1;
        self.first_s.get_or_insert(seconds);
        self.last_s = Some(seconds);
        let (tos, length) = (header.tos(), packet.length.get());
        let code = tos & 3;
        if packet.marked || code == 1 || code == 2 {
            self.ect += 1;
            self.last_ect_s = Some(seconds);
        }
        match (self.segment(header, length), length >= DATA) {
            (Some(Segment::Syn), _) => &mut self.syn,
            (Some(Segment::Again), _) => &mut self.again,
            (Some(Segment::Data), _) | (None, true) => &mut self.data,
            (Some(Segment::Acknowledgement), _) | (None, false) => &mut self.control,
        }
        .count(code, packet.marked);
        if at >= warmup {
            match &mut self.train {
                Some((begin, packets)) if at < *begin + TRAIN => *packets += 1,
                _ => self.end_train(Some((at, 1))),
            }
        }
        if tos >> 2 == 45 {
            self.fill(at, length);
        }
    }

    /// Half a megabit a second and one packet of full size; what is beyond takes nothing out of the bucket.
    fn fill(&mut self, at: Time, length: u64) {
        let (before, held) = match self.nqb {
            0 => (at, 1_500.0),
            _ => self.bucket,
        };
        self.nqb += length;
        let passed = (at.as_nanos() - before.as_nanos()) as f64 * 500_000.0 / 8e9;
        let held = (held + passed).min(1_500.0);
        let is_within = held >= length as f64;
        if !is_within {
            self.nqb_beyond += length;
        }
        self.bucket = (
            at,
            if is_within {
                held - length as f64
            } else {
                held
            },
        );
    }

    /// What a packet of TCP is.
    fn segment(&mut self, header: &Header<'_>, length: u64) -> Option<Segment> {
        let begin = header.tcp()?;
        let flags = header.byte(begin + 13);
        let headers = begin + usize::from(header.byte(begin + 12) >> 4) * 4;
        let payload = length.saturating_sub(headers as u64);
        if flags & 2 != 0 {
            return Some(Segment::Syn);
        }
        if payload == 0 {
            return Some(Segment::Acknowledgement);
        }
        let first = header.number(begin + 4, 4) as u32;
        let sent = self.sent.get_or_insert(first);
        if (first.wrapping_sub(*sent) as i32) < 0 {
            return Some(Segment::Again);
        }
        *sent = first.wrapping_add(payload as u32);
        Some(Segment::Data)
    }

    fn end_train(&mut self, next: Option<(Time, u64)>) {
        let ended = std::mem::replace(&mut self.train, next);
        self.trains.extend(ended.map(|(_, packets)| packets));
    }

    fn finish(&mut self, end: Time) {
        self.silence_s = self
            .silence_s
            .max(seconds(end) - self.last_s.unwrap_or(0.0));
        self.end_train(None);
        self.trains.sort_unstable();
        self.train_max = self.trains.last().copied().unwrap_or(0);
        let place = self.trains.len() * 99 / 100;
        self.train_p99 = self.trains.get(place).copied().unwrap_or(0);
    }
}

enum Segment {
    Syn,
    Acknowledgement,
    Data,
    Again,
}

impl Feedback {
    fn sent(&mut self, packet: &Captured<'_>, header: &Header<'_>) {
        let Some(begin) = header.tcp() else { return };
        if header.byte(begin + 13) & 2 != 0 {
            self.note_handshake(header, begin);
            return;
        }
        if packet.fate != Fate::Delivered {
            return;
        }
        let headers = begin + usize::from(header.byte(begin + 12) >> 4) * 4;
        let payload = packet.length.get().saturating_sub(headers as u64);
        let end = (header.number(begin + 4, 4) as u32).wrapping_add(payload as u32);
        self.waiting.push((end, header.tos() & 3, payload));
    }

    fn note_handshake(&mut self, header: &Header<'_>, begin: usize) {
        let place = match header.byte(begin + 13) & 16 {
            0 => &mut self.syn,
            _ => &mut self.syn_ack,
        };
        *place = place.or(Some(ace(header, begin)));
    }

    fn received(&mut self, header: &Header<'_>) {
        let Some(begin) = header.tcp() else { return };
        let flags = header.byte(begin + 13);
        if flags & 2 != 0 {
            self.note_handshake(header, begin);
            return;
        }
        self.acks += 1;
        self.ece += u64::from(flags & 64 != 0);
        let number = header.number(begin + 8, 4) as u32;
        for (_, code, payload) in self
            .waiting
            .extract_if(.., |(end, ..)| number.wrapping_sub(*end) as i32 >= 0)
        {
            self.ce += u64::from(code == 3);
            self.acknowledged[usize::from(code)] += payload;
        }
        let now = ace(header, begin);
        let before = self.last_ace.replace(now).unwrap_or(5);
        let step = u64::from(now.wrapping_sub(before) & 7);
        self.ace += step;
        self.ace_step_max = self.ace_step_max.max(step);
        self.options(header, begin);
    }

    /// The AccECN option, with one to three counters of 24 bits.
    fn options(&mut self, header: &Header<'_>, begin: usize) {
        let end = begin + usize::from(header.byte(begin + 12) >> 4) * 4;
        let mut at = begin + 20;
        while at < end {
            let (kind, length) = (header.byte(at), usize::from(header.byte(at + 1)));
            match kind {
                0 => return,
                1 => at += 1,
                _ if length < 2 => return,
                _ => {
                    if ACCECN.contains(&kind) {
                        self.options += 1;
                        // In the second kind the two codes of ECT change places.
                        let [first, last] = if kind == ACCECN[0] { [2, 1] } else { [1, 2] };
                        for (place, code) in [first, 3, last].into_iter().enumerate() {
                            if length >= 5 + place * 3 {
                                let counter = header.number(at + 2 + place * 3, 3);
                                let least = u64::from(code != 3);
                                self.reported[code] = counter.wrapping_sub(least) & 0xff_ffff;
                            }
                        }
                        let off = self.reported.into_iter().zip(self.acknowledged).skip(1);
                        let off = off.map(|(said, is)| {
                            let more = said.wrapping_sub(is) & 0xff_ffff;
                            more.min(0x100_0000 - more)
                        });
                        self.option_off = off.max().unwrap_or(0);
                        [.., self.option_ce] = self.reported;
                        [.., self.bytes_ce] = self.acknowledged;
                    }
                    at += length;
                }
            }
        }
    }
}

/// AE, CWR and ECE as one number.
fn ace(header: &Header<'_>, begin: usize) -> u8 {
    (header.byte(begin + 12) & 1) << 2 | header.byte(begin + 13) >> 6
}

/// Takes in the packets of a run.
pub(super) struct Watch {
    traffic: Traffic,
    /// The queues that data reaches first and last, and its acknowledgements first.
    to: String,
    arrives: String,
    from: String,
    warmup: Time,
    /// What programs logged.
    echo: Option<Echo>,
    rtp: Rtp,
}

impl Watch {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let group = scenario.groups.iter().find(|group| group.name == GROUP);
        let way = group.map_or(Direction::Forward, |group| group.direction);
        let back = match way {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        let links = scenario.links();
        let path = group.map_or_else(|| Hops::all(links.len()), |group| group.path);
        let interface = |hop: Hop, way: Direction| match links.len() {
            1 => way.name().to_owned(),
            _ => format!("{}.{}", links[hop.index()].name(), way.name()),
        };
        Self {
            traffic: Traffic::default(),
            to: interface(path.entry(way), way),
            arrives: interface(path.exit(way), way),
            from: interface(path.entry(back), back),
            warmup: scenario.run.warmup,
            echo: None,
            rtp: Rtp::default(),
        }
    }

    pub(super) fn see(&mut self, packet: &Captured<'_>) {
        if packet.group != Some(GROUP) {
            return;
        }
        let header = Header(packet.header);
        if header.is_icmp() {
            return;
        }
        if packet.interface == self.to {
            self.traffic.forward.see(packet, &header, self.warmup);
        }
        if packet.interface == self.arrives {
            self.traffic.feedback.sent(packet, &header);
            if packet.fate != Fate::Delivered {
                return;
            }
            let (left, code) = (packet.arrival + packet.sojourn, header.tos() & 3);
            if let (Some(echo), Some(is_long)) = (&mut self.echo, header.has_long()) {
                echo.see(left, code, is_long);
            }
            if let Some(payload) = header.datagram() {
                self.rtp.deliver(left, payload, code);
            }
        } else if packet.interface == self.from {
            self.traffic.reverse.see(packet, &header, self.warmup);
            self.traffic.feedback.received(&header);
            if let Some(datagram) = header.datagram() {
                self.rtp.report(packet.arrival, datagram);
                let is_whole = packet.header.len() as u64 == packet.length.get();
                if let Some(echo) = self.echo.as_mut().filter(|_| is_whole) {
                    echo.hear(seconds(packet.arrival), datagram);
                }
            }
        }
    }

    /// What they said, at the end of the run.
    pub(super) fn finish(mut self, end: Time, folder: &Path) -> Json {
        for way in [&mut self.traffic.forward, &mut self.traffic.reverse] {
            way.finish(end);
        }
        let mut said = json!(self.traffic);
        if let Some(echo) = &mut self.echo {
            let ways = [&self.traffic.forward, &self.traffic.reverse];
            let first = ways.into_iter().filter_map(|way| way.first_s);
            said["echo"] = echo.figures(first.fold(f64::INFINITY, f64::min), folder);
        }
        if let Some(rtp) = self.rtp.figures() {
            said["rtp"] = rtp;
        }
        said
    }
}

/// The summary of a run in `folder`, with what its packets say, and these logs of it, as `traffic`.
pub(super) fn figures(
    scenario: &Scenario,
    folder: &Path,
    echo: Option<Echo>,
) -> Result<String, RunError> {
    let failed = |error: &dyn ToString| RunError::Failed(error.to_string());
    let text = read::text(&folder.join("summary.json"), LONGEST).map_err(|error| failed(&error))?;
    let mut summary: Json = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let mut watch = Watch::new(scenario);
    watch.echo = echo;
    let file = folder.join(PACKETS);
    packets(&file, |packet| watch.see(&packet)).map_err(|error| failed(&error))?;
    summary["traffic"] = watch.finish(scenario.run.duration, folder);
    Ok(summary.to_string())
}
