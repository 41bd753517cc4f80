//! The live world, run as people run it: real TCP through the real bottleneck, and what happens
//! when something is missing, is killed, or runs beside it.
//!
//! Judged by ratios and orders, one at a time. Rates and delays are `bound!`s: a run that misses one on a busy machine is repeated, and
//! in the end named as not judged (`quell_testing::live`). Where this host cannot run a test it says so by name.
#![allow(clippy::unwrap_used)]

#[path = "../../../lab/tests/robustness/any/mod.rs"]
mod any;
mod applications;
mod breaks;
mod controls;
mod disciplines;
#[path = "../common/first_flight.rs"]
mod first_flight;
#[path = "../common/fits.rs"]
mod fits;
#[path = "../common/idle_items.rs"]
mod idle_items;
#[path = "../common/in_a_row.rs"]
mod in_a_row;
mod interrupts;
mod kernel_queue;
mod lacking;
mod links;
mod packets;
#[path = "../common/pcapng.rs"]
mod pcapng;
mod privileges;
mod programs;
#[path = "../common/recomputed.rs"]
mod recomputed;
mod senders;
mod serve;
mod starts;
mod support;
mod sweeps;
#[path = "../common/tshark.rs"]
mod tshark;
mod values;
mod vdq_csaqm;

use std::fs;
use std::process::{Child, Command};

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use support::*;

#[test]
fn dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not() {
    let test = "dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not";
    live(test, |run| {
        if !can_run(test) || !has_dctcp(test) {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let time = ["--duration", "9s", "--set", "run.warmup=3s"];
        // Side by side: what is compared is a quarter, a fifth.
        let drop_tail = [
            &time[..],
            &["--set", "link.queue.kind=fifo"],
            &["--set", "link.queue.limit=100ms"],
        ]
        .concat();
        let [dual, tail] = [("dual", &time[..]), ("tail", &drop_tail)]
            .map(|(name, arguments)| {
                let out = folder.path().join(name);
                let out = ["--json", "--out", out.to_str().unwrap()];
                support::run(&out).args(arguments).spawn().unwrap()
            })
            .map(|child| summary(&child.wait_with_output().unwrap()));
        note(run, &dual, 7.0);
        note(run, &tail, 7.0);
        let (l4s, classic) = ("/queues/0", "/queues/1");
        assert_eq!(dual["queues"][0]["name"], "l4s");
        // Signals: L4S by marks alone, Classic by drops of the AQM alone.
        let count = |queue: &str, what: &str| number(&dual, &format!("{queue}/{what}"));
        assert!(count(l4s, "marks/coupled") > 0.0);
        assert_eq!(count(l4s, "dropped"), 0.0);
        assert!(count(classic, "drops/aqm") > 0.0);
        assert_eq!(
            count(classic, "marked") + count(classic, "drops/limit"),
            0.0
        );
        bound!(count(l4s, "marks/step") > 0.0, "{:#}", dual["queues"]);
        bound!(
            number(&dual, "/link/lost_outside") == 0.0,
            "{:#}",
            dual["link"]
        );
        bound!(
            number(&dual, "/link/utilisation") > 0.97,
            "{:#}",
            dual["link"]
        );
        // The target of 15 ms is Classic's; L4S waits for a step of 1 ms.
        let delay =
            |queue: &str, figure: &str| number(&dual, &format!("{queue}/delay_ms/{figure}"));
        bound!(
            delay(l4s, "p50") < delay(classic, "p50") / 4.0,
            "{:#}",
            dual["queues"]
        );
        // k = 2 couples p_L to 2·√p_C. Few flows: within a factor of two.
        let p_l = count(l4s, "marks/coupled") / count(l4s, "packets");
        let drops = count(classic, "drops/aqm");
        let p_c = drops / (count(classic, "packets") + drops);
        let coupling = 2.0 * p_c.sqrt() / p_l;
        bound!((0.5..2.0).contains(&coupling), "{coupling}");

        assert_eq!(tail["queues"][0]["name"], "queue");
        let tail_delay = number(&tail, "/groups/0/delay_ms/p50");
        bound!(tail_delay > 5.0 * delay(l4s, "p50"), "{tail_delay}");
        bound!(
            number(&tail, "/queues/0/drops/limit") > 0.0,
            "{:#}",
            tail["queues"]
        );
        Ok(())
    });
}

/// Excused only by what others had of the processors, and not by its own lateness: that is what it judges. So a link that is late by
/// its own fault cannot hide behind the excuse that lateness is elsewhere.
#[test]
fn the_link_is_on_time_on_a_machine_that_is_left_alone() {
    let test = "the_link_is_on_time_on_a_machine_that_is_left_alone";
    live(test, |run| {
        if !can_run(test) {
            return Ok(());
        }
        run.judges_a_percentile();
        let folder = tempfile::tempdir().unwrap();
        let arguments = [&CUBIC[..], &["--duration", "3s", "--set", "run.warmup=1s"]].concat();
        let summary = json_run(&folder.path().join("out"), &arguments);
        for direction in ["lateness_ms", "reverse_lateness_ms"] {
            let late = number(&summary, &format!("/link/{direction}/p99"));
            // A twentieth of the base RTT of 7 ms, above which a run warns.
            bound!(late <= 0.35, "{:#}", summary["link"]);
        }
        let warnings = summary["warnings"].to_string();
        bound!(!warnings.contains("the link was late"), "{warnings}");
        Ok(())
    });
}

#[test]
fn changes_take_effect_and_each_phase_has_its_figures() {
    let test = "changes_take_effect_and_each_phase_has_its_figures";
    live(test, |run| phases(test, run));
}

fn phases(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
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
        not_run(test, "real-time priority needs root or RLIMIT_RTPRIO");
        return Ok(());
    }
    let summary = summary(&output);
    note(run, &summary, 4.0);
    let phases = summary["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    assert_eq!(number(&phases[0], "/link/rate_bps"), 20e6);
    assert_eq!(number(&phases[1], "/link/rate_bps"), 5e6);
    assert_eq!(phases[0]["groups"][0]["count"], 1);
    assert_eq!(phases[1]["groups"][0]["count"], 3);
    let [before, after] = [goodput(&phases[0], 0), goodput(&phases[1], 0)];
    bound!(before > 2.0 * after && after > 4e6, "{before} {after}");
    // The reverse direction has its own rate. CUBIC does not fill it with 10 ms of buffer: its ACKs wait for up to 80 ms in the forward
    // queue once that has 5 Mbit/s. 5.6 to 6.2 Mbit/s in the simulator (six seeds), 6.6 to 6.9 here on an idle machine.
    let up = goodput(&summary, 1);
    bound!((5e6..8.5e6).contains(&up), "{up}");
    let voice = &summary["groups"][2];
    assert_eq!(voice["app"]["kind"], "cbr");
    // 50 datagrams a second for 5 s.
    bound!(
        (240.0..=260.0).contains(&number(voice, "/app/sent")),
        "{voice:#}"
    );
    bound!(
        number(&summary, "/link/lost_outside") == 0.0,
        "{:#}",
        summary["link"]
    );
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
    Ok(())
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let test = "two_runs_at_once_do_not_disturb_each_other";
    live(test, |run| {
        if !can_run(test) {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let outs = ["a", "b"].map(|name| folder.path().join(name));
        let children: Vec<Child> = outs
            .iter()
            .zip(["10mbit", "20mbit"])
            .map(|(out, rate)| {
                let rate = format!("link.rate={rate}");
                let out = out.to_str().unwrap();
                let time = ["--json", "--duration", "5s", "--set", "run.warmup=2s"];
                start(&[&time[..], &["--set", &rate, "--out", out]].concat())
            })
            .collect();
        let summaries: Vec<Value> = children
            .into_iter()
            .map(|child| summary(&child.wait_with_output().unwrap()))
            .collect();
        for (summary, rate) in summaries.iter().zip([10e6, 20e6]) {
            note(run, summary, 7.0);
            assert_eq!(number(summary, "/link/rate_bps"), rate);
            let both = goodput(summary, 0) + goodput(summary, 1);
            // Payload is 1448 of 1500 bytes of the rate at most.
            assert!(both < 0.97 * rate, "{both} at {rate}");
            bound!(both > 0.85 * rate, "{both} at {rate}");
            bound!(
                number(summary, "/link/lost_outside") == 0.0,
                "{:#}",
                summary["link"]
            );
        }
        Ok(())
    });
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, signal).unwrap();
}
