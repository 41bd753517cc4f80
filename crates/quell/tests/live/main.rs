//! The live world, run as people run it: real TCP through the real bottleneck, and what happens
//! when something is missing, is killed, or runs beside it.
//!
//! Judged by ratios and orders, with room for a busy machine; published figures are checked by hand
//! with the commands that the README gives. Where this host cannot run a test it says so by name.
#![allow(clippy::unwrap_used)]

mod applications;
mod disciplines;
#[path = "../common/fits.rs"]
mod fits;
mod kernel_queue;
mod lacking;
#[path = "../common/not_run.rs"]
mod not_run;
mod packets;
#[path = "../common/pcapng.rs"]
mod pcapng;
mod senders;
mod support;
#[path = "../common/tshark.rs"]
mod tshark;
mod values;
mod vdq_csaqm;

use std::fs;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use support::*;

#[test]
fn dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not() {
    let test = "dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not";
    let _alone = alone();
    if !can_run(test) || !has_dctcp(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let time = ["--duration", "12s", "--set", "run.warmup=4s"];
    let dual = json_run(&folder.path().join("dual"), &time);
    let (l4s, classic) = ("/queues/0", "/queues/1");
    assert_eq!(dual["queues"][0]["name"], "l4s");
    assert_eq!(number(&dual, "/link/lost_outside"), 0.0);
    assert!(
        number(&dual, "/link/utilisation") > 0.9,
        "{:#}",
        dual["link"]
    );
    // The target of 15 ms is Classic's; L4S waits for a step of 1 ms.
    let delay = |queue: &str, figure: &str| number(&dual, &format!("{queue}/delay_ms/{figure}"));
    assert!(
        delay(l4s, "p50") < delay(classic, "p50") / 4.0,
        "{:#}",
        dual["queues"]
    );
    // Signals: L4S by marks alone, Classic by drops of the AQM alone.
    let count = |queue: &str, what: &str| number(&dual, &format!("{queue}/{what}"));
    assert!(count(l4s, "marks/coupled") > 0.0 && count(l4s, "marks/step") > 0.0);
    assert_eq!(count(l4s, "dropped"), 0.0);
    assert!(count(classic, "drops/aqm") > 0.0);
    assert_eq!(
        count(classic, "marked") + count(classic, "drops/limit"),
        0.0
    );
    // k = 2 couples p_L to 2·√p_C. Few flows and a noisy machine: within a factor of two.
    let p_l = count(l4s, "marks/coupled") / count(l4s, "packets");
    let drops = count(classic, "drops/aqm");
    let p_c = drops / (count(classic, "packets") + drops);
    let coupling = 2.0 * p_c.sqrt() / p_l;
    assert!((0.5..2.0).contains(&coupling), "{coupling}");

    let tail = json_run(
        &folder.path().join("tail"),
        &[
            "--duration",
            "12s",
            "--set",
            "run.warmup=4s",
            "--set",
            "link.queue.kind=fifo",
            "--set",
            "link.queue.limit=100ms",
        ],
    );
    assert_eq!(tail["queues"][0]["name"], "queue");
    let tail_delay = number(&tail, "/groups/0/delay_ms/p50");
    assert!(tail_delay > 5.0 * delay(l4s, "p50"), "{tail_delay}");
    assert!(number(&tail, "/queues/0/drops/limit") > 0.0);
}

#[test]
fn changes_take_effect_and_each_phase_has_its_figures() {
    let test = "changes_take_effect_and_each_phase_has_its_figures";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("phases.toml");
    fs::write(
        &file,
        r#"
schema = 1
name = "phases"
[link]
rate = "20mbit"
queue = { kind = "fifo", limit = "20ms" }
[link.reverse]
rate = "10mbit"
queue = { kind = "fifo", limit = "10ms" }
[[group]]
name = "down"
count = 1
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "up"
rtt = "10ms"
direction = "reverse"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "4ms"
ecn = "ect0"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms", stddev = "1ms" } }
[[at]]
time = "3s"
set = { "link.rate" = "5mbit", "group.down.count" = 3 }
[run]
duration = "6s"
warmup = "1s"
settle = "1s"
"#,
    )
    .unwrap();
    let out = folder.path().join("out");
    let output = Command::new(QUELL)
        .args([
            "run",
            file.to_str().unwrap(),
            "--world",
            "live",
            "--json",
            "--realtime",
            "10",
            "--out",
        ])
        .arg(&out)
        .output()
        .unwrap();
    if !output.status.success() && !is_root() {
        return not_run(test, "real-time priority needs root or RLIMIT_RTPRIO");
    }
    let summary = summary(&output);
    let phases = summary["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    assert_eq!(number(&phases[0], "/link/rate_bps"), 20e6);
    assert_eq!(number(&phases[1], "/link/rate_bps"), 5e6);
    assert_eq!(phases[0]["groups"][0]["count"], 1);
    assert_eq!(phases[1]["groups"][0]["count"], 3);
    let [before, after] = [goodput(&phases[0], 0), goodput(&phases[1], 0)];
    assert!(before > 2.0 * after && after > 2e6, "{before} {after}");
    // The reverse direction has its own rate, below its 10 Mbit/s in payload.
    let up = goodput(&summary, 1);
    assert!((5e6..10e6).contains(&up), "{up}");
    let voice = &summary["groups"][2];
    assert_eq!(voice["app"]["kind"], "cbr");
    // 50 datagrams a second for 5 s.
    assert!(
        (200.0..=260.0).contains(&number(voice, "/app/sent")),
        "{voice:#}"
    );
    assert_eq!(number(&summary, "/link/lost_outside"), 0.0);
    // The queue of 20 ms, and half the base RTT, bound the one-way delay from below and above, with
    // room for late wake-ups on one side only.
    assert!(number(voice, "/app/one_way_delay_ms/min") >= 2.0);
    for file in [
        "scenario.toml",
        "run.json",
        "summary.json",
        "flows.parquet",
        "queues.parquet",
        "histograms.json",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let again = Command::new(QUELL)
        .args(["check"])
        .arg(out.join("scenario.toml"))
        .status()
        .unwrap();
    assert!(again.success(), "the resolved scenario runs again");
}

#[test]
fn an_interrupt_ends_a_run_cleanly_with_what_was_measured() {
    let test = "an_interrupt_ends_a_run_cleanly_with_what_was_measured";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let child = start(&[
        "--json",
        "--set",
        "run.warmup=1s",
        "--out",
        out.to_str().unwrap(),
    ]);
    sleep(Duration::from_secs(4));
    signal(&child, rustix::process::Signal::INT);
    let summary = summary(&child.wait_with_output().unwrap());
    assert_eq!(summary["partial"], true);
    let duration = number(&summary, "/duration_s");
    assert!((1.0..30.0).contains(&duration), "{duration}");
    assert!(goodput(&summary, 0) > 0.0);
    assert!(out.join("summary.json").is_file());
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let test = "two_runs_at_once_do_not_disturb_each_other";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let outs = ["a", "b"].map(|name| folder.path().join(name));
    let children: Vec<Child> = outs
        .iter()
        .zip(["10mbit", "20mbit"])
        .map(|(out, rate)| {
            let rate = format!("link.rate={rate}");
            let out = out.to_str().unwrap();
            start(&[
                "--json",
                "--duration",
                "6s",
                "--set",
                "run.warmup=2s",
                "--set",
                &rate,
                "--out",
                out,
            ])
        })
        .collect();
    let summaries: Vec<Value> = children
        .into_iter()
        .map(|child| summary(&child.wait_with_output().unwrap()))
        .collect();
    for (summary, rate) in summaries.iter().zip([10e6, 20e6]) {
        assert_eq!(number(summary, "/link/rate_bps"), rate);
        let both = goodput(summary, 0) + goodput(summary, 1);
        // Payload is 1448 of 1500 bytes of the rate at most; less where the machine is busy.
        assert!(
            (0.7 * rate..0.97 * rate).contains(&both),
            "{both} at {rate}"
        );
        assert_eq!(number(summary, "/link/lost_outside"), 0.0);
    }
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, signal).unwrap();
}
