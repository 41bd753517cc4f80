//! quell's queues against the kernel's own, in virtual time: the one check that does not use quell to judge quell.
//!
//! A short form of `make parity`, whose table is in docs/evidence/validation.md: one point of each discipline, two seeds.

use std::fs;

use serde_json::Value;

use crate::stage::Stage;
use quell_testing::not_run;

const LINK: &str = r#"schema = 1
name = "parity"
[link]
rate = "10mbit"
overhead = 14
"#;
const RUN: &str = r#"
[run]
duration = "16s"
warmup = "4s"
seeds = [1, 2]
"#;

fn group(name: &str, count: u32, control: &str, ecn: &str) -> String {
    format!(
        "[[group]]\nname = \"{name}\"\ncount = {count}\ncongestion-control = \"{control}\"\necn = \"{ecn}\"\nrtt = \"20ms\"\n\
         app = {{ kind = \"bulk\" }}\n"
    )
}

/// What two runs gave together, seen from outside the queue: packets of each group that came out, those dropped and
/// marked, and the sums of their delays (ms) and of the group's goodput (bit/s).
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    packets: f64,
    dropped: f64,
    marked: f64,
    delays: f64,
    goodput: f64,
}

impl Seen {
    fn delay(&self) -> f64 {
        self.delays / self.packets
    }
}

/// Runs both seeds; `None`, having said so, where the kernel or this machine does not have the queue.
fn run(test: &str, stage: &Stage, scenario: &str, out: &str, how: &[&str]) -> Option<Vec<Seen>> {
    let name = format!("{out}.toml");
    fs::write(stage.path().join(&name), scenario).unwrap();
    let mut command = stage.quell(&["run", &name, "--world", "virtual", "--jobs", "1"]);
    let output = command.args(["--out", out]).args(how).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let lacks = ["no such discipline", "install iproute2"];
    if lacks.iter().any(|why| errors.contains(why)) {
        not_run(test, errors.trim());
        return None;
    }
    assert!(output.status.success(), "{errors}");
    let mut groups: Vec<Seen> = Vec::new();
    for seed in ["seed1", "seed2"] {
        let told: Value = stage.json(&format!("{out}/{seed}/summary.json"));
        assert_eq!(told["link"]["path"]["missed"], 0, "{told:#}");
        for (index, group) in told["link"]["path"]["groups"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            if groups.len() <= index {
                groups.push(Seen::default());
            }
            let count = |key: &str| group[key].as_f64().unwrap();
            let flows = told["groups"][index]["goodput_bps"].as_array().unwrap();
            let seen = &mut groups[index];
            seen.packets += count("packets");
            seen.dropped += count("dropped");
            seen.marked += count("marked");
            seen.delays += count("packets") * group["delay_ms"]["mean"].as_f64().unwrap();
            seen.goodput += flows.iter().map(|flow| flow.as_f64().unwrap()).sum::<f64>();
        }
    }
    Some(groups)
}

/// Goodput and delay within a tenth. Two seeds tell little of the scatter of signals, of which there are dozens: they may differ
/// by three times the root of their number, too. On one kernel nothing here changes from one time to the next.
fn agree(test: &str, queue: &str, groups: &str, kernel: &str) {
    let Some(stage) = Stage::new(test) else {
        return;
    };
    let scenario = format!("{LINK}{queue}\n{groups}{RUN}");
    let run = |name, how: &[&str]| run(test, &stage, &scenario, name, how);
    let Some(theirs) = run("theirs", &["--kernel-queue", kernel]) else {
        return;
    };
    let ours = run("ours", &["--watch"]).unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let told = format!("{ours:?} with quell's queue, {theirs:?} with the kernel's");
        let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.1;
        assert!(near(ours.goodput, theirs.goodput), "goodput: {told}");
        assert!(near(ours.delay(), theirs.delay()), "delay: {told}");
        for (what, ours, theirs) in [
            ("drops", ours.dropped, theirs.dropped),
            ("marks", ours.marked, theirs.marked),
        ] {
            let chance = 3.0 * (ours + theirs).sqrt();
            assert!(
                (ours - theirs).abs() <= 0.1 * theirs + chance,
                "{what}: {told}"
            );
        }
        assert!(theirs.dropped + theirs.marked > 0.0, "no signal: {told}");
    }
}

fn cubic(ecn: &str) -> String {
    group("test", 4, "cubic", ecn)
}

#[test]
fn bfifo_does_what_the_kernels_does() {
    agree(
        "bfifo_does_what_the_kernels_does",
        "queue = { kind = \"fifo\", limit = \"75000B\" }",
        &cubic("off"),
        "bfifo limit 75700",
    );
}

#[test]
fn red_does_what_the_kernels_does() {
    agree(
        "red_does_what_the_kernels_does",
        "queue = { kind = \"red\", limit = \"300000B\", min = \"15000B\", max = \"45000B\", avpkt = \"1500B\", burst = \"17p\", \
         probability = 0.1, bandwidth = \"10mbit\", ecn = true }",
        &cubic("ect0"),
        "red limit 302800 min 15140 max 45420 avpkt 1514 burst 17 probability 0.1 bandwidth 10mbit ecn",
    );
}

#[test]
fn codel_does_what_the_kernels_does() {
    agree(
        "codel_does_what_the_kernels_does",
        "queue = { kind = \"codel\" }",
        &cubic("off"),
        "codel limit 1000 target 5ms interval 100ms noecn",
    );
}

#[test]
fn pie_does_what_the_kernels_does() {
    // 15 ms are four ticks of 4 ms, and its timer rings at the tick after. Without ECN: with it, three runs of a hundred mark
    // hundreds of packets in a row, in both, because sch_pie does not reset its accumulated probability at a mark.
    agree(
        "pie_does_what_the_kernels_does",
        "queue = { kind = \"pie\", tupdate = \"20ms\" }",
        &cubic("off"),
        "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn",
    );
}

#[test]
fn fq_codel_does_what_the_kernels_does() {
    agree(
        "fq_codel_does_what_the_kernels_does",
        "queue = { kind = \"fq_codel\", quantum = \"1500B\", ecn = true }",
        &cubic("ect0"),
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms ecn",
    );
}

#[test]
fn dualpi2_does_what_the_kernels_does() {
    agree(
        "dualpi2_does_what_the_kernels_does",
        "queue = { kind = \"dualpi2\" }",
        &format!(
            "{}{}",
            group("l4s", 2, "dctcp", "ect1"),
            group("classic", 2, "cubic", "off")
        ),
        "dualpi2",
    );
}
