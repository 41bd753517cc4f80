//! Packet values end to end in the simulator: what groups say of them is what the queue sees, and what they get.
//!
//! Two sources that send more than their share each, without congestion control: what comes through is what marker and queue
//! decide, and the weighted max-min shares are known in advance.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "values are in the comments, and in nothing else")]
use crate::pcapng;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quell_aqm::marker::MARKERS;
use serde_json::Value;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");

/// Each offers 40 Mbit/s to a link of 40 Mbit/s.
const SCENARIO: &str = r#"schema = 1
name = "values"
[value.own]
kind = "inverse"
[value.pieces]
kind = "piecewise"
points = [["1mbit", 50000], ["100mbit", 500]]
[link]
rate = "40mbit"
queue = { kind = "drop_min_value", limit = "100p" }
[[group]]
name = "a"
rtt = "10ms"
value = "gold"
app = { kind = "cbr", size = "1250B", interval = "250us" }
[[group]]
name = "b"
rtt = "10ms"
value = "gold"
app = { kind = "cbr", size = "1250B", interval = "250us" }
[run]
duration = "8s"
warmup = "2s"
"#;

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("values.toml"), SCENARIO).unwrap();
        Self { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The summary of a run with these settings.
    fn run(&self, settings: &[&str], more: &[&str]) -> Value {
        let mut command = Command::new(QUELL);
        command
            .arg("run")
            .arg(self.folder.path().join("values.toml"));
        command.args(["--json", "--out"]).arg(self.out()).args(more);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{settings:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn goodput(summary: &Value, group: usize) -> f64 {
    let flows = summary["groups"][group]["goodput_bps"].as_array().unwrap();
    flows.iter().map(|flow| flow.as_f64().unwrap()).sum()
}

fn ratio(settings: &[&str]) -> f64 {
    let summary = Case::new().run(settings, &[]);
    goodput(&summary, 0) / goodput(&summary, 1)
}

#[test]
fn shares_are_those_of_the_functions() {
    for (settings, expected) in [
        (&[][..], 1.0),
        (&["group.b.value=silver"], 2.0),
        // A twentieth: 38.1 of 40 Mbit/s for the other.
        (&["group.b.value=background"], 20.0),
        (&["group.b.value=own", "value.own.scale=4"], 4.0),
        (&["group.b.value=own", "value.own.reach=25gbit"], 4.0),
        // Half of what gold is worth at each rate.
        (&["group.b.value=pieces"], 2.0),
        (
            &[
                "group.b.value=pieces",
                "value.pieces.points=[[\"1mbit\", 25000], [\"100mbit\", 250]]",
            ],
            4.0,
        ),
        // x = half · (v/c − 1): twice the half, twice the rate.
        (
            &[
                "group.b.value=rational",
                "group.a.value=own",
                "value.own.kind=rational",
                "value.own.half=1440kbit",
            ],
            2.0,
        ),
        // x = zero · (1 − c/v): the default zero of 100 Mbit/s is 50 Mbit/s for twice the rate.
        (
            &[
                "group.a.value=linear",
                "group.b.value=own",
                "value.own.kind=linear",
                "value.own.zero=50mbit",
            ],
            2.0,
        ),
        // Half of the value: x + y = 50 (2 − 3c/v) = 40 at c/v = 0.4, so 30 and 10 Mbit/s.
        (
            &[
                "group.a.value=own",
                "value.own.kind=linear",
                "value.own.zero=50mbit",
                "group.b.value=pieces",
                "value.pieces.kind=linear",
                "value.pieces.zero=50mbit",
                "value.pieces.value=250000000",
            ],
            3.0,
        ),
        // Of several timescales the last is that of a flow that sends evenly.
        (
            &[
                "group.b.value={ function = [\"gold\", \"silver\"], marker = \"multi_timescale\", timescales = 2, longest = \"300ms\" }",
            ],
            2.0,
        ),
        (
            &[
                "group.b.value={ function = [\"silver\", \"gold\"], marker = \"multi_timescale\", timescales = 2, longest = \"300ms\" }",
            ],
            1.0,
        ),
        // Another queue that looks at values.
        (&["link.queue.kind=vdq_csaqm", "group.b.value=silver"], 2.0),
        // Two flows are two shares, unless they are marked as one.
        (&["group.a.count=2"], 2.0),
        (&["group.a.count=2", "group.a.value.per=aggregate"], 1.0),
    ] {
        let ratio = ratio(settings);
        // 3 %: the bound for gold to silver in open loop (AT1); a rate has 1.1 % between codes.
        let bound = if expected > 4.0 { 0.06 } else { 0.03 };
        assert!(
            (ratio / expected - 1.0).abs() < bound,
            "{settings:?}: {ratio}"
        );
    }
}

#[test]
fn without_a_value_a_group_is_worth_what_the_queue_says() {
    // The lowest value there is, beside gold.
    assert!(ratio(&["group.b.value=none"]) > 100.0);
    // As much as the dearest.
    assert!(ratio(&["group.b.value=none", "link.queue.default_value=65535"]) < 0.01);
}

#[test]
fn every_marker_keeps_the_shares_in_its_own_way() {
    let mut seen = BTreeSet::new();
    for marker in MARKERS {
        let case = Case::new();
        let mut settings = vec!["group.b.value.function=silver".to_owned()];
        for group in ["a", "b"] {
            settings.push(format!("group.{group}.value.marker={}", marker.name));
            if marker.name == "multi_timescale" {
                // By default 10 s: both flows would be new for the whole run.
                settings.push(format!("group.{group}.value.longest=300ms"));
            }
        }
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let summary = case.run(&settings, &["--packets"]);
        let ratio = goodput(&summary, 0) / goodput(&summary, 1);
        // Rates are drawn, or in regions of 30 a decade: 1.94 to 2.04 with the first three seeds.
        assert!((1.9..2.1).contains(&ratio), "{}: {ratio}", marker.name);
        let values = values_of(&case.out(), "a");
        assert!(values.len() > 10_000, "{}", marker.name);
        assert!(seen.insert(values), "{} marks like another", marker.name);
    }
}

/// The values of a group's data, in the order of arrival.
fn values_of(out: &Path, group: &str) -> Vec<u16> {
    let packets = pcapng::read(&out.join("packets.pcapng"));
    let of_group = packets
        .iter()
        .filter(|packet| packet.says("group") == group);
    let data = of_group.filter(|packet| packet.interface == "forward");
    data.map(|packet| packet.says("value").parse().unwrap())
        .collect()
}

#[test]
fn codes_follow_the_scale_of_the_link_and_draws_the_seed() {
    let run = |settings: &[&str], more: &[&str]| {
        let case = Case::new();
        case.run(
            settings,
            &[&["--packets", "--duration", "3s"], more].concat(),
        );
        ["a", "b"].map(|group| values_of(&case.out(), group))
    };
    let fine = run(&[], &[]);
    assert_eq!(fine, run(&[], &[]));
    assert_ne!(fine, run(&[], &["--seed", "2"]));
    // Each group draws for itself.
    assert_ne!(fine[0], fine[1]);
    // gold: 64·log₂(100 Gbit/s ÷ r) for r up to 40 Mbit/s, at least 722 once the rate is known.
    let half = fine[0].len() / 2;
    let lowest = fine[0][half..].iter().min().unwrap();
    assert!((715..=723).contains(lowest), "{lowest}");
    let coarse = run(&["link.bins-per-octave=32"], &[]);
    let halved = |(fine, coarse): (&u16, &u16)| (fine.abs_diff(2 * coarse)) <= 2;
    assert!(fine[0].iter().zip(&coarse[0]).all(halved));
}

#[test]
fn data_carry_values_and_acknowledgements_do_not() {
    for direction in ["forward", "reverse"] {
        let case = Case::new();
        let settings = [
            "group.a.app={ kind = \"bulk\" }",
            &format!("group.a.direction={direction}"),
            "link.reverse.rate=20mbit",
            "group.b.value=none",
            "group.b.stop=100ms",
        ];
        case.run(&settings, &["--packets", "--duration", "3s"]);
        let packets = pcapng::read(&case.out().join("packets.pcapng"));
        let a = packets.iter().filter(|packet| packet.says("group") == "a");
        let mut count = [0, 0];
        for packet in a {
            let is_data = packet.interface == direction;
            assert_eq!(!packet.says("value").is_empty(), is_data, "{direction}");
            count[usize::from(is_data)] += 1;
        }
        assert!(count.iter().all(|&count| count > 100), "{count:?}");
        let b = packets.iter().filter(|packet| packet.says("group") == "b");
        assert!(b.map(|packet| packet.says("value")).all(str::is_empty));
    }
}
