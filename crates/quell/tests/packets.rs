//! `quell run --packets` in the simulator: the file agrees with the summary, packet by packet.
#![allow(clippy::unwrap_used)]

use crate::pcapng;
use crate::tshark;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use pcapng::Packet;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");
const COEXISTENCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/dualq2015/coexistence.toml"
);
/// The whole run is measured, as the whole run is traced.
const SHORT: [&str; 4] = ["--duration", "3s", "--set", "run.warmup=0s"];

fn run(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(QUELL);
    command
        .args(["run", COEXISTENCE, "--json", "--out"])
        .arg(out);
    command.args(SHORT).args(arguments).output().unwrap()
}

fn summary(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn of_queue<'a>(packets: &'a [Packet], queue: &'a str) -> impl Iterator<Item = &'a Packet> {
    packets
        .iter()
        .filter(move |packet| packet.interface == "forward" && packet.says("queue") == queue)
}

#[test]
fn every_packet_of_the_summary_is_in_the_file_with_its_fate() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let summary = summary(&run(&out, &["--packets"]));
    let packets = pcapng::read(&out.join("packets.pcapng"));
    assert!(packets.is_sorted_by_key(|packet| packet.at));
    for queue in summary["queues"].as_array().unwrap() {
        let name = queue["name"].as_str().unwrap();
        let delivered: Vec<&Packet> = of_queue(&packets, name)
            .filter(|packet| {
                packet.says("fate") == "delivered" || packet.says("fate").starts_with("marked:")
            })
            .collect();
        assert_eq!(
            delivered.len() as u64,
            queue["packets"].as_u64().unwrap(),
            "{name}"
        );
        let bytes: u64 = delivered.iter().map(|packet| packet.length).sum();
        assert_eq!(bytes, queue["bytes"].as_u64().unwrap(), "{name}");
        for (kind, word) in [("marks", "marked"), ("drops", "dropped")] {
            for (reason, count) in queue[kind].as_object().unwrap() {
                let fate = format!("{word}:{reason}");
                let told = of_queue(&packets, name).filter(|packet| packet.says("fate") == fate);
                assert_eq!(
                    told.count() as u64,
                    count.as_u64().unwrap(),
                    "{name} {fate}"
                );
            }
        }
        let sojourn: f64 = delivered.iter().map(|packet| packet.sojourn_ms()).sum();
        let mean = sojourn / delivered.len() as f64;
        let measured = queue["delay_ms"]["mean"].as_f64().unwrap();
        assert!((mean - measured).abs() < 1e-6, "{name} {mean} {measured}");
    }
    // CE where it was marked; what was dropped is as it came.
    for packet in &packets {
        match packet.says("fate") {
            fate if fate.starts_with("marked:") => assert_eq!(packet.ecn(), 3),
            _ => assert_ne!(packet.ecn(), 3, "nobody else marks"),
        }
    }
    // Acknowledgements cross the unlimited reverse direction.
    let reverse = packets
        .iter()
        .filter(|packet| packet.interface == "reverse");
    let mut reverse = reverse.peekable();
    assert!(reverse.peek().is_some());
    assert!(reverse.all(|packet| packet.sojourn_ms() == 0.0 && packet.says("fate") == "delivered"));
}

#[test]
fn headers_reach_the_queue_through_a_link_of_the_senders_own() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let slow = ["--packets", "--set", "group.classic.access-rate=5mbit"];
    summary(&run(&out, &slow));
    let packets = pcapng::read(&out.join("packets.pcapng"));
    let data: Vec<&Packet> = of_queue(&packets, "classic")
        .filter(|packet| packet.length == 1_500)
        .collect();
    assert!(data.len() > 500, "{}", data.len());
    // Each has its own sequence number, however long it waited at its host.
    let sequence = |packet: &Packet| packet.data[24..28].to_vec();
    assert!(packets.iter().all(|packet| packet.data.len() >= 52));
    let port = data[0].data[20..22].to_vec();
    let flow = data.iter().filter(|packet| packet.data[20..22] == port);
    let numbers: Vec<Vec<u8>> = flow.map(|packet| sequence(packet)).collect();
    let mut distinct = numbers.clone();
    distinct.sort();
    distinct.dedup();
    // But for what was sent again.
    assert!(distinct.len() * 10 > numbers.len() * 9);
}

#[test]
fn the_file_repeats_to_the_byte_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, without] =
        ["first", "second", "without"].map(|name| folder.path().join(name));
    for (out, arguments) in [
        (&first, &["--packets"][..]),
        (&second, &["--packets"]),
        (&without, &[]),
    ] {
        summary(&run(out, arguments));
    }
    let file = |out: &Path, name: &str| fs::read(out.join(name)).unwrap();
    assert!(file(&first, "packets.pcapng") == file(&second, "packets.pcapng"));
    assert!(!without.join("packets.pcapng").exists());
    for name in [
        "summary.json",
        "histograms.json",
        "queues.parquet",
        "flows.parquet",
    ] {
        assert!(file(&first, name) == file(&without, name), "{name}");
    }
}

/// Every kind of traffic, both ways, over queues that drop: connections that last, that follow one another on one flow, that speak
/// AccECN, and datagrams.
const MIXED: &str = quell_testing::l4s_beside_classic!(
    name: "mixed",
    link: r#"rate = "20mbit"
queue = { kind = "dualpi2" }
reverse = { rate = "5mbit", queue = { kind = "fifo", limit = "40p" } }
"#,
    flows: [2, 2],
    rtts: ["10ms", "20ms"],
    then: r#"
[[group]]
name = "upload"
direction = "reverse"
congestion-control = "cubic"
rtt = "15ms"
app = { kind = "bulk" }

[[group]]
name = "pages"
count = 10
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "transfer", size = "30kB", repeat = "50ms" }

[[group]]
name = "bursts"
congestion-control = "reno"
rtt = "10ms"
app = { kind = "on-off", on = "200ms", off = "200ms" }

[[group]]
name = "voice"
rtt = "10ms"
app = { kind = "cbr", size = "186B", interval = "20ms" }

[run]
duration = "8s"
warmup = "0s"
"#,
);

#[test]
fn wireshark_remarks_on_nothing_but_what_was_lost_and_sent_again() {
    if !tshark::is_here("wireshark_remarks_on_nothing_but_what_was_lost_and_sent_again") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mixed = folder.path().join("mixed.toml");
    fs::write(&mixed, MIXED).unwrap();
    for (name, scenario) in [("coexistence", Path::new(COEXISTENCE)), ("mixed", &mixed)] {
        let out = folder.path().join(name);
        let mut command = Command::new(QUELL);
        command
            .arg("run")
            .arg(scenario)
            .args(["--json", "--packets", "--out"]);
        command
            .arg(&out)
            .args(["--set", "run.warmup=0s", "--duration", "8s"]);
        let summary = summary(&command.output().unwrap());
        let again = tshark::is_quiet(&out.join("packets.pcapng"));
        let groups = summary["groups"].as_array().unwrap();
        let told = groups
            .iter()
            .map(|group| group["retransmitted"].as_u64().unwrap_or(0));
        assert_eq!(again as u64, told.sum::<u64>(), "{name}");
    }
}

#[test]
fn each_seed_has_its_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = run(&out, &["--packets", "--set", "run.seeds=[1, 2]"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let file = |seed: &str| fs::read(out.join(seed).join("packets.pcapng")).unwrap();
    let (one, two) = (file("seed1"), file("seed2"));
    assert!(!one.is_empty() && one != two);
}

#[test]
fn a_file_that_cannot_grow_ends_the_run_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    // At most 256 blocks a file; with the signal ignored the write itself fails, as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            script,
            QUELL,
            "run",
            COEXISTENCE,
            "--packets",
            "--out",
        ])
        .arg(&out)
        .args(SHORT);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("cannot write") && errors.contains("packets.pcapng"),
        "{errors}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
