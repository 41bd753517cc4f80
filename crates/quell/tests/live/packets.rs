//! `--packets` in the live world: what the link carried, with the headers that it had.

use quell_testing::{Missed, Run, bound, live};

use crate::pcapng::{self, Packet};
use crate::support::*;
use crate::tshark;

#[test]
fn every_packet_is_written_with_its_own_headers() {
    let test = "every_packet_is_written_with_its_own_headers";
    live(test, |run| captured(test, run));
}

fn captured(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = [
        &CUBIC[..],
        &["--packets", "--duration", "4s", "--set", "run.warmup=0s"],
    ]
    .concat();
    let summary = json_run(&out, &arguments);
    note(run, &summary, 7.0);
    let warnings = summary["warnings"].to_string();
    assert!(!warnings.contains("packets.pcapng"), "{warnings}");
    let packets = pcapng::read(&out.join("packets.pcapng"));
    assert!(packets.is_sorted_by_key(|packet| packet.at));

    for (index, name) in [(0, "l4s"), (1, "classic")] {
        let of_queue = || {
            packets
                .iter()
                .filter(|packet| packet.interface == "forward" && packet.says("queue") == name)
        };
        let fate = |word: &str| {
            of_queue()
                .filter(|packet| packet.says("fate").starts_with(word))
                .count() as f64
        };
        let figure = |what: &str| number(&summary, &format!("/queues/{index}/{what}"));
        // The link decides a little beyond the end of the run.
        let near = |told: f64, measured: f64| (told - measured).abs() <= 50.0 + measured / 100.0;
        let delivered = fate("delivered") + fate("marked:");
        let sojourn: f64 = of_queue()
            .filter(|packet| !packet.says("fate").starts_with("dropped:"))
            .map(Packet::sojourn_ms)
            .sum();
        let (mean, measured) = (sojourn / delivered, figure("delay_ms/mean"));
        assert!(
            (mean / measured - 1.0).abs() < 0.05,
            "{name} {mean} {measured}"
        );
        assert!(
            near(delivered, figure("packets")),
            "{name} {delivered} {}",
            figure("packets")
        );
        assert!(
            near(fate("marked:"), figure("marked")),
            "{name} {}",
            fate("marked:")
        );
        assert!(
            near(fate("dropped:"), figure("dropped")),
            "{name} {}",
            fate("dropped:")
        );
    }
    let data: Vec<&Packet> = packets
        .iter()
        .filter(|packet| packet.interface == "forward")
        .collect();
    assert!(
        data.iter()
            .all(|packet| packet.says("group") == "l4s" || packet.says("group") == "classic")
    );
    for packet in &packets {
        let header = &packet.data;
        assert_eq!(
            (header[0], header[9]),
            (0x45, 6),
            "IPv4 and TCP: {packet:?}"
        );
        assert_eq!(
            u64::from(u16::from_be_bytes([header[2], header[3]])),
            packet.length
        );
        assert_eq!(checksum(&header[..20]), 0, "{packet:?}");
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (near, far) = (port(20), port(22));
        let receiver = if packet.interface == "forward" {
            far
        } else {
            near
        };
        assert!((5_001..=5_002).contains(&receiver), "{packet:?}");
    }
    let marked = packets
        .iter()
        .filter(|packet| packet.says("fate").starts_with("marked:"));
    assert!(marked.clone().count() > 0 && marked.clone().all(|packet| packet.ecn() == 3));
    // What the link did not see, the capture has not.
    if number(&summary, "/link/lost_outside") == 0.0 && tshark::is_here("tshark, of a live capture")
    {
        let (mut odd, _) = tshark::odd(&out.join("packets.pcapng"));
        // Hosts whose time is over reset what is still open; the link reads on for as long as it takes to end.
        let end = (number(&summary, "/duration_s") * 1e9) as u64;
        odd.retain(|(at, text)| *at < end || !text.contains("Connection reset"));
        // A reader that waits for a processor lets its window fill.
        let full = "TCP window specified by the receiver is now completely full";
        let (full, others): (Vec<_>, Vec<_>) =
            odd.iter().partition(|(_, text)| text.contains(full));
        assert!(others.is_empty(), "{others:#?}");
        bound!(full.is_empty(), "{} windows are full", full.len());
    }
    Ok(())
}

/// RFC 1071: 0 over a header whose checksum is right.
fn checksum(header: &[u8]) -> u16 {
    let (pairs, _) = header.as_chunks::<2>();
    let sum: u32 = pairs
        .iter()
        .map(|&pair| u32::from(u16::from_be_bytes(pair)))
        .sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}
