//! What the released program does for a packet, counted in instructions: a bound that needs no quiet machine.
//!
//! Counts are slopes between two durations, so that start and end do not matter. Whoever moves one by more than 1 % writes the new one here,
//! and why in the commit: for a bound that rises a reason that a user would accept.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use quell_testing::not_run;
use serde_json::Value;

/// A connection of this application on each link in turn.
struct Counted {
    name: &'static str,
    links: &'static [(&'static str, &'static str)],
    /// Number, control and application.
    groups: &'static [(u32, &'static str, &'static str)],
    /// Durations in tenths of a second.
    spans: [u32; 2],
    /// Instructions for each packet that leaves the first queue forward.
    instructions: f64,
}

const TAIL: &str = "{ kind = \"fifo\", limit = \"500kB\" }";
const PAGES: &str = "{ kind = \"web\", preset = \"median-2024\" }";

const ALL: &[Counted] = &[
    Counted {
        name: "drop-tail",
        links: &[("100mbit", TAIL)],
        groups: &[(10, "cubic", "\"bulk\"")],
        spans: [60, 140],
        // The simulator is compiled for a page's observer too, and its units are cut otherwise: 2839 before.
        instructions: 2868.0,
    },
    Counted {
        name: "fq_codel",
        links: &[("100mbit", "\"fq_codel\"")],
        groups: &[(10, "cubic", "\"bulk\"")],
        spans: [60, 140],
        instructions: 3216.0,
    },
    Counted {
        name: "dualpi2",
        links: &[("100mbit", "\"dualpi2\"")],
        groups: &[(4, "dctcp", "\"bulk\""), (2, "cubic", "\"bulk\"")],
        spans: [60, 140],
        instructions: 3331.0,
    },
    Counted {
        name: "1 000 flows",
        links: &[("10gbit", "{ kind = \"fifo\", limit = \"50MB\" }")],
        groups: &[(1_000, "cubic", "\"bulk\"")],
        spans: [6, 8],
        instructions: 3068.0,
    },
    Counted {
        name: "pages over sessions",
        links: &[("100mbit", TAIL)],
        groups: &[(20, "cubic", PAGES)],
        spans: [200, 400],
        instructions: 5001.0,
    },
    Counted {
        name: "two links",
        links: &[("100mbit", TAIL), ("100mbit", TAIL)],
        groups: &[(10, "cubic", "\"bulk\"")],
        spans: [60, 140],
        instructions: 4594.0,
    },
];

impl Counted {
    fn scenario(&self) -> String {
        let mut text = "schema = 1\nname = \"counted\"\n".to_owned();
        for (index, (rate, queue)) in self.links.iter().enumerate() {
            text += &format!("[[link]]\nname = \"l{index}\"\nrate = \"{rate}\"\nqueue = {queue}\n");
        }
        for (index, (count, control, app)) in self.groups.iter().enumerate() {
            text += &format!(
                "[[group]]\nname = \"g{index}\"\ncount = {count}\ncongestion-control = \"{control}\"\nrtt = \"40ms\"\napp = {app}\n"
            );
        }
        text + "[run]\nduration = \"1s\"\nwarmup = \"100ms\"\n"
    }

    /// Instructions and packets of a run.
    fn run(&self, program: &Path, tenths: u32) -> (f64, f64) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("counted.toml");
        fs::write(&file, self.scenario()).unwrap();
        let out = folder.path().join("out");
        let ran = Command::new("valgrind")
            .args(["--tool=cachegrind", "--cache-sim=no"])
            .arg("--cachegrind-out-file=/dev/null")
            .arg(program)
            .args(["run", "--duration", &format!("{}ms", 100 * tenths), "--out"])
            .args([&out, &file])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let refs = said.lines().find(|line| line.contains(" refs:"));
        let digits = refs.unwrap_or_else(|| panic!("{said}")).split(':').nth(1);
        let counted: String = digits
            .unwrap()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let summary = fs::read(out.join("summary.json")).unwrap();
        let summary: Value = serde_json::from_slice(&summary).unwrap();
        let queues = summary["queues"].as_array().unwrap().iter();
        let first = |queue: &&Value| queue["direction"] == "forward" && queue["hop"] == "l0";
        let packets: f64 = queues
            .filter(first)
            .map(|queue| queue["packets"].as_f64().unwrap())
            .sum();
        (counted.parse().unwrap(), packets)
    }

    fn per_packet(&self, program: &Path) -> f64 {
        let [short, long] = self.spans.map(|tenths| self.run(program, tenths));
        (long.0 - short.0) / (long.1 - short.1)
    }
}

/// The optimised program, where this machine can count what it does.
fn countable(test: &str) -> Option<std::ffi::OsString> {
    let missing = if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        "the bounds are those of x86-64"
    } else if Command::new("valgrind").arg("--version").output().is_err() {
        "there is no valgrind"
    } else if std::env::var_os("QUELL_RELEASE").is_none() {
        "needs an optimised quell, named in QUELL_RELEASE; make test builds one"
    } else {
        return std::env::var_os("QUELL_RELEASE");
    };
    not_run(test, missing);
    None
}

#[test]
fn a_packet_takes_as_many_instructions_as_before() {
    let Some(program) = countable("a_packet_takes_as_many_instructions_as_before") else {
        return;
    };
    let program = Path::new(&program);
    let found: Vec<f64> = thread::scope(|scope| {
        let runs: Vec<_> = ALL
            .iter()
            .map(|counted| scope.spawn(|| counted.per_packet(program)))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let moved: Vec<String> = ALL
        .iter()
        .zip(found)
        .filter(|(counted, found)| (found / counted.instructions - 1.0).abs() > 0.01)
        .map(|(counted, found)| {
            format!(
                "{}: {found:.0}, not {:.0}",
                counted.name, counted.instructions
            )
        })
        .collect();
    assert!(
        moved.is_empty(),
        "instructions per packet, as `make build` builds it:\n{}",
        moved.join("\n")
    );
}

/// A function that is generic over the observer is compiled for each of them: only what a packet passes may be.
#[test]
fn what_no_packet_passes_is_compiled_once() {
    let test = "what_no_packet_passes_is_compiled_once";
    let Some(program) = countable(test) else {
        return;
    };
    let listed = Command::new("nm").arg("--demangle").arg(&program).output();
    let Ok(listed) = listed else {
        return not_run(test, "there is no nm");
    };
    let listed = String::from_utf8_lossy(&listed.stdout);
    // With some room for what the compiler makes part of its caller. Three observers of the simulator: a page's behind a pointer took 10 % more.
    for (what, most) in [
        ("as quell_aqm::qdisc::Qdisc<P>>", 145),
        ("quell_aqm::bottleneck::Bottleneck<", 54),
        ("quell_sim::network::Path<", 18),
        ("quell_sim::simulator::Simulator<", 21),
    ] {
        let count = listed.lines().filter(|line| line.contains(what)).count();
        assert!(count <= most, "{count} instances of {what}…, {most} before");
    }
}
