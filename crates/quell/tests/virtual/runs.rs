//! What runs give, and that they give it again.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use crate::first_flight;
use crate::pcapng::{self, Packet};
use crate::stage::Stage;
use crate::tshark;

/// Every file of a result that tells of the network; the others tell of the machine.
const FILES: [&str; 5] = [
    "summary.json",
    "histograms.json",
    "flows.parquet",
    "queues.parquet",
    "scenario.toml",
];

#[test]
fn two_runs_at_once_with_one_seed_give_the_same_bytes_and_another_seed_does_not() {
    let Some(stage) =
        Stage::new("two_runs_at_once_with_one_seed_give_the_same_bytes_and_another_seed_does_not")
    else {
        return;
    };
    thread::scope(|scope| {
        for (out, seed) in [("a", "7"), ("b", "7"), ("c", "8")] {
            let stage = &stage;
            scope.spawn(move || {
                let output = stage.run(&["--out", out, "--seed", seed]);
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{errors}");
            });
        }
    });
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    let bytes = |out: &str, file: &str| fs::read(stage.path().join(out).join(file)).unwrap();
    for file in FILES {
        assert!(bytes("a", file) == bytes("b", file), "{file} differs");
    }
    assert!(bytes("a", "summary.json") != bytes("c", "summary.json"));

    let summary = stage.json("a/summary.json");
    assert_eq!(
        (&summary["world"], &summary["seed"]),
        (&"virtual".into(), &7.into())
    );
    assert_eq!(summary["partial"], false);
    assert_eq!(summary["warnings"], serde_json::json!([]));
    assert_eq!(summary["link"]["lost_outside"], 0);
    let utilisation = summary["link"]["utilisation"].as_f64().unwrap();
    assert!(utilisation > 0.95, "{utilisation}");
    // DualPI2 does what it is for: L4S waits a fraction of the time, and is never dropped.
    let delay = |queue: usize| {
        summary["queues"][queue]["delay_ms"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(delay(0) * 5.0 < delay(1), "{} {}", delay(0), delay(1));
    assert_eq!(summary["queues"][0]["dropped"], 0);

    // The kernel inside is named, and so is what it was given.
    let facts = stage.json("a/run.json");
    let kernel = stage.json("kernels/true/kernel.json");
    let version = kernel["version"].as_str().unwrap();
    assert!(
        version.starts_with(facts["kernel"].as_str().unwrap()),
        "{facts:#}"
    );
    assert_ne!(facts["kernel"], facts["guest"]["host_kernel"]);
    // What `make kernel` configures, where the kernel came with its configuration.
    let config = fs::read_to_string(stage.path().join("kernels/true/config"));
    let hz = config.ok().and_then(|config| {
        let value = config
            .lines()
            .find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
        value.parse::<u64>().ok()
    });
    assert!(facts["kernel_hz"].is_u64(), "{facts:#}");
    assert!(
        hz.is_none() || facts["kernel_hz"].as_u64() == hz,
        "{facts:#}"
    );
    assert!(facts["guest"]["memory_bytes"].as_u64() > Some(64 << 20));
    let log = fs::read_to_string(stage.path().join("a/kernel.log")).unwrap();
    assert!(
        log.contains("Linux version") && log.contains("Power down"),
        "{log}"
    );
}

/// Ports, which the guest draws, decide which of few buckets a flow gets, and every other number of TCP is in the capture.
#[test]
fn what_the_guest_draws_comes_from_the_seed() {
    let Some(stage) = Stage::new("what_the_guest_draws_comes_from_the_seed") else {
        return;
    };
    let queue = r#"link.queue={ kind = "fq_codel", flows = 16 }"#;
    for (out, seed) in [("a", "7"), ("b", "7"), ("c", "8")] {
        let run = ["--out", out, "--seed", seed, "--packets", "--set", queue];
        stage.succeed(&[&run[..], &["--duration", "2s"]].concat());
    }
    let bytes = |out: &str, file: &str| fs::read(stage.path().join(out).join(file)).unwrap();
    for file in FILES.iter().chain(&["packets.pcapng"]) {
        assert!(bytes("a", file) == bytes("b", file), "{file} differs");
    }
    // Source and destination port follow the 20 bytes of an IPv4 header without options.
    let ports = |out: &str| -> BTreeSet<Vec<u8>> {
        let packets = pcapng::read(&stage.path().join(out).join("packets.pcapng"));
        packets.iter().map(|p| p.data[20..24].to_vec()).collect()
    };
    assert_ne!(ports("a"), ports("c"));
}

#[test]
fn a_seed_gives_the_same_alone_and_among_others() {
    let Some(stage) = Stage::new("a_seed_gives_the_same_alone_and_among_others") else {
        return;
    };
    let seeds = ["--set", "run.seeds=[3, 4]"];
    stage.succeed(&[&seeds[..], &["--jobs", "2", "--out", "both"]].concat());
    stage.succeed(&["--seed", "4", "--out", "alone"]);
    assert_eq!(
        stage.json("both/seed4/summary.json"),
        stage.json("alone/summary.json")
    );
    assert_eq!(
        stage.json("both/aggregate.json")["seeds"],
        serde_json::json!([3, 4])
    );
}

#[test]
fn worlds_stand_side_by_side_in_one_table() {
    let Some(stage) = Stage::new("worlds_stand_side_by_side_in_one_table") else {
        return;
    };
    let mut command = stage.quell(&["compare", "scenario.toml", "--world", "sim,virtual"]);
    let output = command
        .args(["--kernel", "true", "--queue", "dualpi2,fifo", "--seed", "1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for row in ["dualpi2 sim", "dualpi2 virtual", "fifo sim", "fifo virtual"] {
        assert!(text.contains(row), "no {row} in\n{text}");
    }
    let mut table = text.lines().take_while(|line| !line.contains("results in"));
    assert!(table.all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn every_packet_is_in_the_trace_with_its_fate_and_sojourn_time() {
    let Some(stage) = Stage::new("every_packet_is_in_the_trace_with_its_fate_and_sojourn_time")
    else {
        return;
    };
    let whole = ["--duration", "2s", "--set", "run.warmup=0s"];
    stage.succeed(&[&whole[..], &["--packets", "--out", "traced"]].concat());
    stage.succeed(&[&whole[..], &["--out", "plain"]].concat());
    // Whoever records moves no clock: not one figure changes.
    let bytes = |out: &str, file: &str| fs::read(stage.path().join(out).join(file)).unwrap();
    for file in FILES {
        let is_same = bytes("traced", file) == bytes("plain", file);
        assert!(is_same, "{file} differs with --packets");
    }

    let traced = stage.json("traced/summary.json");
    let packets = pcapng::read(&stage.path().join("traced/packets.pcapng"));
    for queue in traced["queues"].as_array().unwrap() {
        let name = queue["name"].as_str().unwrap();
        let of_queue: Vec<&Packet> = packets
            .iter()
            .filter(|packet| packet.interface == "forward" && packet.says("queue") == name)
            .collect();
        let with = |fate: &'static str| {
            let of_queue = of_queue.iter().copied();
            of_queue.filter(move |packet| packet.says("fate").starts_with(fate))
        };
        // What is in the queue at the end is in the file too, as such.
        let delivered: Vec<&Packet> = with("delivered").chain(with("marked:")).collect();
        let count = |key: &str| queue[key].as_u64().unwrap();
        assert_eq!(delivered.len() as u64, count("packets"), "{name}");
        assert_eq!(with("dropped:").count() as u64, count("dropped"), "{name}");
        let marked = delivered.iter().filter(|packet| packet.ecn() == 3);
        assert_eq!(marked.count() as u64, count("marked"), "{name}");
        let bytes: u64 = delivered.iter().map(|packet| packet.length).sum();
        assert_eq!(bytes, count("bytes"), "{name}");
        let sum: f64 = delivered.iter().map(|packet| packet.sojourn_ms()).sum();
        let measured = queue["delay_ms"]["mean"].as_f64().unwrap();
        assert!(
            (sum / delivered.len() as f64 - measured).abs() < 1e-6,
            "{name} {measured}"
        );
    }
    assert!(packets.is_sorted_by_key(|packet| packet.at));
    assert!(packets.iter().all(|packet| packet.data.len() >= 40));
}

#[test]
fn wireshark_remarks_on_nothing_but_what_was_lost_and_sent_again() {
    let test = "virtual wireshark_remarks_on_nothing_but_what_was_lost_and_sent_again";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !tshark::is_here(test) {
        return;
    }
    stage.succeed(&["--packets", "--out", "traced"]);
    tshark::is_quiet(&stage.path().join("traced/packets.pcapng"));
}

#[test]
fn initial_window_and_segment_size_shape_the_first_flight() {
    let test = "initial_window_and_segment_size_shape_the_first_flight";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    fs::write(stage.path().join("scenario.toml"), first_flight::SCENARIO).unwrap();
    for case in first_flight::CASES {
        let arguments = first_flight::arguments(case);
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.push("--json");
        let summary = serde_json::from_str(&stage.succeed(&arguments)).unwrap();
        first_flight::check("virtual", case, &summary);
    }
}
