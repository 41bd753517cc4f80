//! What Wireshark's expert says of a capture (tshark), and what of it real losses account for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::pcapng::{self, Packet};
use quell_testing::not_run;

/// Remarks that need no loss: connections open and end, and windows grow.
const ALWAYS: [&str; 6] = [
    "Connection establish request (SYN)",
    "Connection establish acknowledge (SYN+ACK)",
    "Connection finish (FIN)",
    "This frame initiates the connection closing",
    "This frame undergoes the connection closing",
    "TCP window update",
];
/// Remarks on a segment that carries what its host has sent before. A retransmission within 3 ms, or an RTT, of newer data is
/// taken for one that came out of order, and one of data that has been acknowledged is spurious.
const SENT_AGAIN: [&str; 4] = [
    "This frame is a (suspected) retransmission",
    "This frame is a (suspected) fast retransmission",
    "This frame is a (suspected) spurious retransmission",
    "This frame is a (suspected) out-of-order segment",
];
/// Remarks on an acknowledgement that tells by SACK of a gap or of what came twice, or that answers what its peer sent again, such as
/// a SYN-ACK. Linux also acknowledges twice where it hears of the first mark (ECE).
const ANSWERS: [&str; 2] = ["Duplicate ACK", "D-SACK Sequence"];

/// Whether tshark is here; if not, `test` is named as not run.
pub(crate) fn is_here(test: &str) -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        not_run(test, "tshark is missing");
    }
    found
}

/// Fails unless each remark on `file` follows from what hosts really sent again. The number of segments of data that they did.
#[allow(dead_code, reason = "real hosts on a busy machine need `odd`")]
pub(crate) fn is_quiet(file: &Path) -> usize {
    let (odd, again) = odd(file);
    let texts: Vec<&str> = odd.iter().map(|(_, text)| text.as_str()).take(20).collect();
    assert!(odd.is_empty(), "{} remarks: {texts:#?}", odd.len());
    again
}

/// Every remark on `file` but those that follow from what hosts really sent again, each with the time of its packet in nanoseconds, and
/// the number of segments of data that they sent again.
pub(crate) fn odd(file: &Path) -> (Vec<(u64, String)>, usize) {
    let packets = pcapng::read(file);
    let again = sent_again(&packets);
    let has_sent_again = |peer: &Packet, before: usize| {
        let of_peer = |packet: &Packet| {
            packet.data[12..16] == peer.data[16..20] && packet.data[20..22] == peer.data[22..24]
        };
        let mut before = packets[..before].iter().zip(&again);
        before.any(|(packet, again)| again.is_some() && of_peer(packet))
    };
    let mut odd = Vec::new();
    for (frame, remark) in remarks(file) {
        let (packet, again) = (&packets[frame - 1], again[frame - 1]);
        let is_of = |known: &[&str]| known.iter().any(|known| remark.starts_with(known));
        let explained = is_of(&ALWAYS)
            || is_of(&SENT_AGAIN) && again.is_some()
            || is_of(&ANSWERS)
                && (has_sack(packet) || has_ece(packet) || has_sent_again(packet, frame));
        if !explained {
            odd.push((packet.at, format!("frame {frame}: {remark}")));
        }
    }
    let data = again
        .into_iter()
        .filter(|payload| payload.is_some_and(|payload| payload > 0));
    (odd, data.count())
}

/// The expert's remarks, of every severity but comments, each with the number of its frame.
fn remarks(file: &Path) -> Vec<(usize, String)> {
    const COMMENT: &str = "1048576";
    let settings = tempfile::tempdir().unwrap();
    let output = Command::new("tshark")
        .env("WIRESHARK_CONFIG_DIR", settings.path())
        .args([
            "-n",
            "-T",
            "fields",
            "-E",
            "aggregator=;",
            "-e",
            "frame.number",
        ])
        .args([
            "-e",
            "_ws.expert.severity",
            "-e",
            "_ws.expert.message",
            "-r",
        ])
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let mut remarks = Vec::new();
    for line in text.lines() {
        let [frame, severities, messages] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?}");
        };
        let (severities, messages) = (severities.split(';'), messages.split(';'));
        for (severity, message) in severities.zip(messages) {
            if severity != COMMENT {
                remarks.push((frame.parse().unwrap(), message.to_owned()));
            }
        }
    }
    remarks
}

/// Of each packet that carries a byte, a SYN or a FIN that its host has sent before in this connection: its payload.
fn sent_again(packets: &[Packet]) -> Vec<Option<usize>> {
    // By addresses and ports: the number behind the last that was sent.
    let mut sent: BTreeMap<&[u8], u32> = BTreeMap::new();
    let each = packets.iter().map(|packet| {
        let tcp = tcp(packet)?;
        let number = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
        let header = 20 + usize::from(tcp[12] >> 4) * 4;
        let (syn, fin) = (tcp[13] >> 1 & 1, tcp[13] & 1);
        let payload = packet.length as usize - header;
        let length = payload as u32 + u32::from(syn) + u32::from(fin);
        if length == 0 {
            return None;
        }
        let next = sent.entry(&packet.data[12..24]).or_insert(number);
        if syn == 1 && number.wrapping_add(1) != *next {
            // A connection of its own with the ports of an earlier one, or the first.
            *next = number;
        }
        let is_again = (number.wrapping_sub(*next) as i32) < 0;
        let end = number.wrapping_add(length);
        if (end.wrapping_sub(*next) as i32) > 0 {
            *next = end;
        }
        is_again.then_some(payload)
    });
    each.collect()
}

fn has_ece(packet: &Packet) -> bool {
    tcp(packet).is_some_and(|tcp| tcp[13] & 0x40 != 0)
}

fn has_sack(packet: &Packet) -> bool {
    let Some(tcp) = tcp(packet) else { return false };
    let mut options = &tcp[20..usize::from(tcp[12] >> 4) * 4];
    while let [kind, rest @ ..] = options {
        options = match (kind, rest) {
            (0, _) => return false,
            (1, rest) => rest,
            (5, _) => return true,
            (_, [length, ..]) => &options[usize::from(*length)..],
            _ => return false,
        };
    }
    false
}

/// The TCP header, if there is one; IP headers have no options here.
fn tcp(packet: &Packet) -> Option<&[u8]> {
    assert_eq!(packet.data[0], 0x45);
    (packet.data[9] == 6).then(|| &packet.data[20..])
}
