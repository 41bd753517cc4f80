//! What a receiver of RTP reports of each packet, beside the code with which it was delivered (RFC 8888 section 3.1).
//!
//! A report is an RTCP packet of type 205 and format 11. Behind the SSRC of its sender there are for each stream its SSRC, the first sequence
//! number, how many blocks follow, and these in whole words: R, ECN and the time of arrival in 16 bits. A time stamp ends it.
//! The RFC's "begin_seq+num_reports inclusive" would be one block more than `num_reports`, which its other sentences and programs do not have.
//! SRTCP (RFC 3711) encrypts all but the first 8 bytes and has a trailer, with which the lengths in a compound packet do not add up.

use std::collections::BTreeMap;

use quell_units::Time;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Packets of one SSRC from which on it is a stream: something else may look like RTP now and then.
const LEAST: u64 = 20;
/// What was delivered so long before a report has reached its program.
const SETTLED: Time = Time::from_millis(200);
/// The longest time that a block can state, 8189/1024 seconds; sequence numbers come again later.
const KNOWN: Time = Time::from_millis(8_000);

/// RTP that was delivered, and its reports.
#[derive(Debug, Default, Serialize)]
pub(super) struct Rtp {
    packets: u64,
    ect: u64,
    ce: u64,
    /// Packets that a report has with CE.
    ce_reported: u64,
    reports: u64,
    /// Blocks of received packets, and of them those with another code than that of the packet.
    blocks: u64,
    wrong: u64,
    /// Reported as received but not delivered, and the reverse.
    absent: u64,
    missed: u64,
    /// Reports whose lengths do not add up.
    malformed: u64,
    /// From report to report, in milliseconds.
    interval_ms: f64,
    interval_max_ms: f64,
    /// Transport-wide feedback, which has no ECN.
    twcc: u64,
    /// Packets of SRTCP.
    encrypted: u64,
    #[serde(skip)]
    delivered: BTreeMap<(u32, u16), Delivered>,
    #[serde(skip)]
    streams: BTreeMap<u32, u64>,
    /// The first report and the last one.
    #[serde(skip)]
    span: Option<(Time, Time)>,
}

#[derive(Debug)]
struct Delivered {
    at: Time,
    code: u8,
    is_reported: bool,
}

impl Rtp {
    /// A datagram left the last link for the receiver.
    pub(super) fn deliver(&mut self, at: Time, datagram: &[u8], code: u8) {
        // Payload types that RTCP has with a marker are not RTP's (RFC 5761 section 4).
        let [first, kind, n1, n2, _, _, _, _, s1, s2, s3, s4, ..] = *datagram else {
            return;
        };
        if first >> 6 != 2 || (64..96).contains(&(kind & 127)) {
            return;
        }
        let ssrc = u32::from_be_bytes([s1, s2, s3, s4]);
        *self.streams.entry(ssrc).or_default() += 1;
        self.packets += 1;
        self.ect += u64::from(code != 0);
        self.ce += u64::from(code == 3);
        let packet = Delivered {
            at,
            code,
            is_reported: false,
        };
        let number = (ssrc, u16::from_be_bytes([n1, n2]));
        match self.delivered.get_mut(&number) {
            // Of copies, one with CE decides, or else the first one.
            Some(copy) if at < copy.at + KNOWN => copy.code |= if code == 3 { 3 } else { 0 },
            _ => {
                self.delivered.insert(number, packet);
            }
        }
    }

    /// A datagram left the receiver.
    pub(super) fn report(&mut self, at: Time, datagram: &[u8]) {
        let (mut rest, mut parts) = (datagram, Vec::new());
        while let Some(&[first, kind, high, low]) = rest.first_chunk() {
            let length = 4 * (1 + usize::from(u16::from_be_bytes([high, low])));
            let is_rtcp = first >> 6 == 2 && (200..208).contains(&kind);
            let Some((part, others)) = rest.split_at_checked(length).filter(|_| is_rtcp) else {
                break;
            };
            parts.push((kind, first & 31, part));
            rest = others;
        }
        let wide = parts.iter().filter(|part| (part.0, part.1) == (205, 15));
        self.twcc += wide.count() as u64;
        if !rest.is_empty() {
            self.encrypted += u64::from(!parts.is_empty());
            return;
        }
        for (.., part) in parts.iter().filter(|part| (part.0, part.1) == (205, 11)) {
            let (first, last) = self.span.unwrap_or((at, at));
            self.interval_max_ms = self.interval_max_ms.max(milliseconds(last, at));
            self.interval_ms = milliseconds(first, at) / self.reports.max(1) as f64;
            self.span = Some((first, at));
            self.reports += 1;
            self.malformed += u64::from(self.see(at, part).is_none());
        }
    }

    /// A report; None if its lengths do not add up.
    fn see(&mut self, at: Time, report: &[u8]) -> Option<()> {
        let padding = match report[0] & 32 {
            0 => 0,
            _ => usize::from(*report.last()?),
        };
        let end = report.len().checked_sub(4 + padding)?;
        let mut rest = report.get(8..end)?;
        while !rest.is_empty() {
            let ([s1, s2, s3, s4, n1, n2, c1, c2], blocks) = rest.split_first_chunk()?;
            let ssrc = u32::from_be_bytes([*s1, *s2, *s3, *s4]);
            let first = u16::from_be_bytes([*n1, *n2]);
            let count = u16::from_be_bytes([*c1, *c2]);
            rest = blocks.get(usize::from(count).div_ceil(2) * 4..)?;
            for (place, block) in (0..count).zip(blocks.as_chunks::<2>().0) {
                self.see_block(at, (ssrc, first.wrapping_add(place)), block[0]);
            }
        }
        Some(())
    }

    /// `block` has R and ECN in its upper three bits.
    fn see_block(&mut self, at: Time, number: (u32, u16), block: u8) {
        let (is_received, code) = (block & 128 != 0, block >> 5 & 3);
        self.blocks += u64::from(is_received);
        match self.delivered.get_mut(&number) {
            None => self.absent += u64::from(is_received),
            Some(packet) if at > packet.at + KNOWN => {}
            Some(packet) if is_received => {
                self.wrong += u64::from(code != packet.code);
                let is_new = !std::mem::replace(&mut packet.is_reported, true);
                self.ce_reported += u64::from(is_new && code == 3);
            }
            Some(packet) => self.missed += u64::from(at > packet.at + SETTLED),
        }
    }

    /// The figures, if there was RTP.
    pub(super) fn figures(&self) -> Option<Json> {
        let is_rtp = self.streams.values().any(|packets| *packets >= LEAST);
        is_rtp.then(|| json!(self))
    }
}

fn milliseconds(from: Time, to: Time) -> f64 {
    to.as_nanos().saturating_sub(from.as_nanos()) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use quell_lab::sweep::Stored;
    use quell_lab::{GuestOptions, World};

    use super::super::{Stack, Trial, Wanted};
    use super::*;

    /// Sequence numbers begin near their end.
    const FIRST: u16 = 65_530;
    /// The time from packet to packet.
    const STEP: Time = Time::from_millis(10);

    /// A stream of 60 packets: each fifth is lost, each third arrives with CE, and the others with ECT(1).
    fn code(place: u16) -> Option<u8> {
        (place % 5 != 4).then_some(if place.is_multiple_of(3) { 3 } else { 1 })
    }

    fn packet(place: u16) -> Vec<u8> {
        let number = FIRST.wrapping_add(place).to_be_bytes();
        [&[0x80, 0xe0, number[0], number[1], 0, 0, 0, 0], &[9; 4][..]].concat()
    }

    /// A report of these blocks, with another stream in front of it that has had no packets.
    fn report(format: u8, begin: u16, blocks: &[u8]) -> Vec<u8> {
        let mut body = vec![205, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 0, 5, 0, 0, 9, 9, 9, 9];
        body.extend(FIRST.wrapping_add(begin).to_be_bytes());
        body.extend((blocks.len() as u16).to_be_bytes());
        body.extend(blocks.iter().flat_map(|block| [*block, 7]));
        body.resize((body.len() + 1).next_multiple_of(4) - 1 + 4, 0);
        body[2] = (body.len() / 4) as u8;
        [&[0x80 | format], &body[..]].concat()
    }

    /// What is reported by a receiver that puts these into its blocks, every 100 ms and each time from the beginning.
    fn reported(block: impl Fn(u16, Option<u8>) -> u8) -> Rtp {
        let mut rtp = Rtp::default();
        for place in 0..60 {
            let at = Time::from_nanos(STEP.as_nanos() * u64::from(place));
            if let Some(code) = code(place) {
                rtp.deliver(at, &packet(place), code);
            }
            if place % 10 == 9 {
                let blocks: Vec<u8> = (0..=place).map(|one| block(one, code(one))).collect();
                let receiver = [0x80, 201, 0, 1, 0, 0, 0, 8];
                rtp.report(at, &[&receiver, &report(11, 0, &blocks)[..]].concat());
            }
        }
        rtp
    }

    fn honest(_: u16, code: Option<u8>) -> u8 {
        code.map_or(0, |code| 0x80 | code << 5)
    }

    /// The verdict on programs whose packets say this.
    fn verdict(rtp: &Rtp) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.toml");
        let text = "schema = 1\nname = \"s\"\nclaims = \"none\"\nclient = [\"true\"]\n";
        std::fs::write(&file, text).unwrap();
        let stack = Stack::open(&file).unwrap();
        let wanted = Wanted::named(&["fb-rtp".to_owned()]).unwrap();
        let guest = GuestOptions::default();
        let trial = Trial::new(stack, &wanted, 1, World::Virtual, &guest).unwrap();
        assert_eq!(trial.runs().len(), 1);
        let mut summary = json!({ "groups": [{ "name": "stack", "packets": 60 }], "traffic": {} });
        if let Some(figures) = rtp.figures() {
            summary["traffic"]["rtp"] = figures;
        }
        let results = [Stored::Figures(summary.to_string())];
        let judged = trial.judged(&results, folder.path()).remove(0);
        let why = judged.verdict.why().unwrap_or_default();
        format!("{} {why}", judged.verdict.name())
    }

    #[test]
    fn each_defect_of_a_receiver_is_found() {
        let sound = reported(honest);
        assert_eq!((sound.packets, sound.ce, sound.ce_reported), (48, 16, 16));
        assert_eq!(
            (sound.reports, sound.blocks),
            (6, 8 + 16 + 24 + 32 + 40 + 48)
        );
        assert_eq!((sound.interval_ms, sound.interval_max_ms), (100.0, 100.0));
        let figures = |rtp: &Rtp| [rtp.wrong, rtp.absent, rtp.missed];
        assert_eq!(figures(&sound), [0, 0, 0], "{sound:?}");
        assert_eq!(verdict(&sound), "pass ");
        type Defect = fn(u16, Option<u8>) -> u8;
        let half: Defect = |place, code| match place % 6 {
            0 => honest(place, code.and(Some(1))),
            _ => honest(place, code),
        };
        let all_ce: Defect = |place, code| honest(place, code.map(|code| code | 2));
        // Blocks with another code, of packets not delivered, and of packets wrongly missing.
        let defects: [(Defect, [u64; 3]); 5] = [
            // Not-ECT for all, as pion's interceptor; ECT(1) for each second CE; CE for all ECT(1): of 168, 58 are CE.
            (|_, code| code.map_or(0, |_| 0x80), [168, 0, 0]),
            (half, [32, 0, 0]),
            (all_ce, [110, 0, 0]),
            // What was lost; not a packet that came, which three reports are late enough to have.
            (|_, code| honest(0, code.or(Some(1))), [0, 42, 0]),
            (
                |place, code| honest(place, code.filter(|_| place != 10)),
                [0, 0, 3],
            ),
        ];
        for (defect, expected) in defects {
            let rtp = reported(defect);
            assert_eq!(figures(&rtp), expected, "{rtp:?}");
            assert_eq!(verdict(&rtp), "FAIL ", "{rtp:?}");
        }
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let mut rtp = reported(honest);
        // Without the word that the blocks are filled up to.
        let whole = report(11, 0, &[0xa0; 3]);
        let mut short = whole[..whole.len() - 4].to_vec();
        short[3] -= 1;
        rtp.report(STEP, &short);
        assert_eq!((rtp.malformed, verdict(&rtp).as_str()), (1, "FAIL "));
        let with = |others: &[Vec<u8>]| {
            let mut rtp = Rtp::default();
            let all = (0..60).map(|place| (place, code(place).unwrap_or(1)));
            all.for_each(|(place, code)| rtp.deliver(STEP, &packet(place), code));
            others.iter().for_each(|one| rtp.report(STEP, one));
            verdict(&rtp)
        };
        // SRTCP ends with its number and a tag of 10 or 16 bytes; the first packet's type can be read.
        let tagged =
            |format: u8, tag: usize| [report(format, 0, &[0x55; 9]), vec![0x91; 4 + tag]].concat();
        assert_eq!(
            with(&[tagged(11, 10), tagged(11, 16)]),
            "open its RTCP is encrypted"
        );
        let wide = "n/a its feedback is transport-wide (format 15), which has no ECN";
        assert_eq!(with(&[tagged(15, 10)]), wide);
        assert_eq!(with(&[report(15, 0, &[])]), wide);
        assert_eq!(
            with(&[vec![0x81, 201, 0, 0]]),
            "n/a its receiver sends no such feedback"
        );
        // Handshake and data of QUIC, STUN, and what begins as RTP with another SSRC each time.
        let mut rtp = Rtp::default();
        for packet in 0..100 {
            for first in [0xc3, 0x43, 0, 0x80] {
                rtp.deliver(STEP, &[[first; 8], [packet; 8]].concat(), 2);
            }
        }
        assert_eq!(verdict(&rtp), "n/a it sends no RTP");
    }

    #[test]
    fn a_copy_with_ce_decides_and_numbers_come_again() {
        let mut rtp = Rtp::default();
        for (seconds, code) in [(1, 1), (1, 3), (1, 1), (20, 1)] {
            rtp.deliver(Time::from_millis(1_000 * seconds), &packet(0), code);
            rtp.report(Time::from_millis(1_000 * seconds), &report(11, 0, &[0xe0]));
        }
        // The first report and that of the second round are wrong.
        assert_eq!((rtp.blocks, rtp.wrong), (4, 2), "{rtp:?}");
    }
}
