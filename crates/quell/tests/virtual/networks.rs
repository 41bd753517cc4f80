//! Packet values across networks with real TCP in virtual time: new values where packets come into another network, and values that
//! packets carry in their own headers.

use std::fs;

use serde_json::Value;

use crate::in_a_row::number;
use crate::pcapng::{self, Packet};
use crate::stage::Stage;

const TRANSIT: &str = include_str!("../../../../scenarios/networks/transit.toml");
const HEADERS: &str = include_str!("../../../../scenarios/networks/headers.toml");

fn run(stage: &Stage, world: &str, out: &str, more: &[&str]) -> Value {
    let arguments = ["run", "scenario.toml", "--world", world, "--out", out];
    let mut command = stage.quell(&[&arguments[..], more].concat());
    // An ordinary user has no programs in root's folders.
    let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    stage.json(&format!("{out}/summary.json"))
}

/// Goodput of each group, in Mbit/s.
fn goodput(summary: &Value) -> Vec<f64> {
    let groups = summary["groups"].as_array().unwrap().iter();
    let flows = groups.map(|group| group["goodput_bps"].as_array().unwrap().iter());
    flows
        .map(|flows| flows.filter_map(Value::as_f64).sum::<f64>() / 1e6)
        .collect()
}

#[test]
fn real_tcp_shares_by_network_as_simulated_tcp_does() {
    let Some(stage) = Stage::new("real_tcp_shares_by_network_as_simulated_tcp_does") else {
        return;
    };
    fs::write(stage.path().join("scenario.toml"), TRANSIT).unwrap();
    let short = ["--set", "run.duration=16s", "--set", "run.warmup=6s"];
    let found = ["sim", "virtual"].map(|world| {
        let summary = run(&stage, world, world, &short);
        let [gold, silver, other] = goodput(&summary)[..] else {
            panic!("{summary:#}");
        };
        assert!(number(&summary, "/links/1/bottleneck_share") > 0.8);
        [(gold + silver) / other, gold / silver]
    });
    let [sim, real] = found;
    for (sim, real, [low, high]) in [
        // 2 by policy, and 0.75 if nobody gave new values; CUBIC flows stay below a share for a while after each drop.
        (sim[0], real[0], [1.6, 2.3]),
        (sim[1], real[1], [1.5, 2.3]),
    ] {
        assert!((low..high).contains(&sim), "{found:?}");
        // Over 30 s one run deviates by 1 % from the mean of five (docs/evidence/validation.md), so over 10 s by 2 %, and the ratio of
        // two runs by 3 %: three times that.
        assert!((real / sim - 1.0).abs() < 0.09, "{found:?}");
    }
}

/// Packets of the file that came to one direction of a link, of one group.
fn at<'a>(packets: &'a [Packet], interface: &str, group: &str) -> Vec<&'a Packet> {
    let all = packets.iter().filter(|one| one.interface == interface);
    all.filter(|one| one.says("group") == group).collect()
}

fn value(packet: &Packet) -> u16 {
    packet.says("value").parse().unwrap_or(0)
}

/// The identification of an atomic IPv4 datagram: DF set, and no fragment (RFC 6864 section 4).
fn in_header(packet: &Packet) -> Option<u16> {
    let word = |at: usize| u16::from_be_bytes([packet.data[at], packet.data[at + 1]]);
    (word(6) == 0x4000).then(|| word(4))
}

/// The header's own checksum, added up.
fn is_intact(header: &[u8]) -> bool {
    let words = header[..20]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

#[test]
fn the_core_reads_what_the_edge_wrote_into_the_headers_of_real_tcp() {
    let Some(stage) = Stage::new("the_core_reads_what_the_edge_wrote_into_the_headers_of_real_tcp")
    else {
        return;
    };
    fs::write(stage.path().join("scenario.toml"), HEADERS).unwrap();
    let more = ["--packets", "--duration", "12s"];
    let beside = ["--set", "link.edge.values=beside"];
    let beside = run(&stage, "virtual", "beside", &[&more[..], &beside].concat());
    for world in ["sim", "virtual"] {
        let summary = run(&stage, world, world, &more);
        // The hosts' TCP does not notice: nobody looks at the identification of a datagram that is no fragment (RFC 6864 section 4.1).
        if world == "virtual" {
            assert_eq!(summary["groups"], beside["groups"]);
        }
        let [gold, silver] = goodput(&summary)[..] else {
            panic!("{summary:#}");
        };
        // 2 by policy; seven seconds of three flows each.
        assert!((1.5..2.5).contains(&(gold / silver)), "{gold} {silver}");
        assert!(gold + silver > 26.0, "{gold} {silver}");
        assert_eq!(number(&summary, "/links/0/lost_outside"), 0.0);
        let packets = pcapng::read(&stage.path().join(format!("{world}/packets.pcapng")));
        for group in ["gold", "silver"] {
            let before = at(&packets, "edge.forward", group);
            let behind = at(&packets, "core.forward", group);
            assert!(behind.len() > 5_000, "{}", behind.len());
            for packet in before.iter().chain(&behind) {
                assert!(value(packet) > 0 && is_intact(&packet.data));
            }
            // What the queue knew of a packet is what stood in its header.
            for packet in &behind {
                assert_eq!(in_header(packet), Some(value(packet)), "{world}");
            }
            // The edge never refuses a packet, and keeps their order: each has the value that its marker gave it.
            let same = before.iter().zip(&behind);
            assert!(same.clone().all(|(a, b)| value(a) == value(b)), "{world}");
            // Hosts write other numbers.
            let hosts = same.filter(|(a, _)| in_header(a) != Some(value(a)));
            assert!(hosts.count() > behind.len() / 2);
        }
        let told = summary.pointer("/link/header_values");
        assert_eq!(told.is_some(), world == "virtual");
        if let Some(told) = told {
            let count = |name: &str| told[name].as_u64().unwrap() as usize;
            let behind = ["gold", "silver"].map(|group| at(&packets, "core.forward", group).len());
            assert_eq!(count("read"), behind.iter().sum::<usize>(), "{told}");
            // Both directions: acknowledgements leave with a 0.
            assert!(
                count("written") > count("read") && count("not_carried") == 0,
                "{told}"
            );
        }
    }
}

/// A sender that clears DF, so that its packets may be fragmented and keep their identification.
const SENDER: &str = "import socket, sys, time
time.sleep(0.3)
listener = socket.create_server((sys.argv[1], 4321))
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_IP, 10, 0) # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
connection.sendall(bytes(3_000_000))
time.sleep(60)
";
const RECEIVER: &str = "import socket, sys
connection = socket.create_connection((sys.argv[1], 4321))
while connection.recv(65536):
    pass
";

#[test]
fn packets_that_may_be_fragmented_come_without_their_value_and_that_is_told() {
    let test = "packets_that_may_be_fragmented_come_without_their_value_and_that_is_told";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !fs::exists("/usr/bin/python3").unwrap() {
        quell_testing::not_run(test, "python3 is missing");
        return;
    }
    let group = "[[group]]\nname = \"fragmentable\"\nrtt = \"20ms\"\nvalue = \"gold\"\ncongestion-control = \"cubic\"\n\
                 app = { kind = \"program\", sends = \"server\", server = [\"python3\", \"sender.py\", \"$SERVER\"], \
                 client = [\"python3\", \"receiver.py\", \"$SERVER\"] }\n[run]\n";
    let text = HEADERS.replacen("[run]\n", group, 1);
    fs::write(stage.path().join("scenario.toml"), text).unwrap();
    fs::write(stage.path().join("sender.py"), SENDER).unwrap();
    fs::write(stage.path().join("receiver.py"), RECEIVER).unwrap();
    let more = ["--packets", "--duration", "6s", "--set", "run.warmup=2s"];
    let summary = run(&stage, "virtual", "out", &more);
    let packets = pcapng::read(&stage.path().join("out/packets.pcapng"));
    let behind = at(&packets, "core.forward", "fragmentable");
    let without: Vec<_> = behind.iter().filter(|one| one.length > 1_000).collect();
    assert!(without.len() > 100, "{}", without.len());
    for packet in &without {
        assert_eq!((value(packet), in_header(packet)), (0, None));
    }
    // At the edge they had one, and others still do.
    let before = at(&packets, "edge.forward", "fragmentable");
    assert!(before.iter().all(|one| value(one) > 0));
    assert!(
        at(&packets, "core.forward", "gold")
            .iter()
            .all(|one| value(one) > 0)
    );
    let told = number(&summary, "/link/header_values/not_carried");
    assert!(told >= without.len() as f64, "{told} {}", without.len());
    let warnings = summary["warnings"].as_array().unwrap().iter();
    let mut warnings = warnings.filter_map(Value::as_str);
    let text = format!("{told} of ");
    let told = warnings.find(|one| one.starts_with(&text)).unwrap();
    assert!(
        told.contains("packets left edge (forward) without their value"),
        "{told}"
    );
}
