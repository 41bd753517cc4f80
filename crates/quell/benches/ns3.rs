//! The simulator against ns-3, on the same scenarios: 10 CUBIC downloads over 100 Mbit/s, and 1 000 over 1 Gbit/s; base RTT
//! 40 ms, drop-tail of 100 ms, SACK, delayed ACKs.
//!
//! `quell run`, with all its measurement and result files, against the three forms of `ns3/twin.cc`,
//! whose head tells what they leave out. The bound is judged by the `dumbbell`, which simulates what
//! quell does, with hosts for each flow, and measures some of what quell measures. A packet counts
//! when the bottleneck has delivered it; acknowledgements, which meet no limit, do not count. Where a
//! choice remains ns-3 gets the better of it: its user time counts, from the first event on; quell's
//! user and system time, from scenario to files. All run in turns, quell for longer since it is
//! so much faster, and the median of the turns' ratios counts.
//!
//! `QUELL_BENCH_ROUNDS` (3) is how many turns; one takes about a minute. Without ns-3 or a C++ compiler
//! the benchmark says so and passes.
#![allow(missing_docs, unreachable_pub)]

#[path = "common/mod.rs"]
mod common;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use common::{RTT_US, Run, Scenario, median};

/// Expected of the ratio.
const EXPECTED: f64 = 100.0;
const TWIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ns3/twin.cc");
/// The forms of the twin, the one that is judged first.
const FORMS: [&str; 3] = ["dumbbell", "monitored", "bare"];
const LIBRARIES: [&str; 6] = [
    "-lns3-core",
    "-lns3-network",
    "-lns3-internet",
    "-lns3-point-to-point",
    "-lns3-applications",
    "-lns3-flow-monitor",
];
/// What quell simulates, the seconds of ns-3 and its forms; the first is judged.
const TWINS: [(Scenario, u64, &[&str]); 2] = [
    (
        Scenario {
            flows: 10,
            rate_bps: 100_000_000,
            queue_ms: 100,
            warmup: 10,
            seconds: 600,
        },
        60,
        &FORMS,
    ),
    (
        Scenario {
            flows: 1_000,
            rate_bps: 1_000_000_000,
            queue_ms: 100,
            warmup: 2,
            seconds: 60,
        },
        6,
        &["dumbbell"],
    ),
];

fn main() -> ExitCode {
    let version = match version() {
        Ok(version) => version,
        Err(why) => {
            println!("not run: ns3: {why}");
            return ExitCode::SUCCESS;
        }
    };
    match benchmark(&version) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ns3: {error}");
            ExitCode::FAILURE
        }
    }
}

/// ns-3's version, or why it cannot be used.
fn version() -> Result<String, String> {
    let asked = Command::new("pkg-config")
        .args(["--modversion", "ns3-core"])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => Err("ns-3 is missing; on Debian or Ubuntu this fixes it: sudo apt-get install libns3-dev pkg-config".to_owned()),
    }
}

/// Prints everything, and returns whether the ratio is as expected.
fn benchmark(version: &str) -> Result<bool, String> {
    let rounds = match std::env::var("QUELL_BENCH_ROUNDS") {
        Ok(text) => text
            .parse()
            .ok()
            .filter(|&rounds: &u32| rounds > 0)
            .ok_or_else(|| {
                format!("QUELL_BENCH_ROUNDS={text}: must be a whole number, 1 or more")
            })?,
        Err(_) => 3,
    };
    let twin = Twin::build()?;
    println!("ns-3 {version} of this system: {}", twin.build_kind()?);
    let mut ratios = Vec::new();
    for (scenario, seconds, forms) in TWINS {
        println!(
            "\n{} CUBIC downloads, {} Mbit/s, base RTT 40 ms, drop-tail of 100 ms, in {rounds} turns",
            scenario.flows,
            scenario.rate_bps / 1_000_000
        );
        ratios.push(compare(&twin, &scenario, seconds, forms, rounds)?);
    }
    let ratio = ratios[0];
    let verdict = if ratio >= EXPECTED { "" } else { ": MISSED" };
    println!(
        "\nquell is {ratio:.0} times as fast as ns-3's {}, {EXPECTED:.0} expected{verdict}",
        FORMS[0]
    );
    Ok(ratio >= EXPECTED)
}

/// Both in turns: how many times as fast quell is as the first of the forms.
fn compare(
    twin: &Twin,
    scenario: &Scenario,
    seconds: u64,
    forms: &[&str],
    rounds: u32,
) -> Result<f64, String> {
    let mut quell = Vec::new();
    let mut ns3 = vec![Vec::new(); forms.len()];
    for _ in 0..rounds {
        quell.push(scenario.run()?);
        for (form, runs) in forms.iter().zip(&mut ns3) {
            runs.push(twin.run(form, scenario, seconds)?);
        }
    }
    println!(
        "                 packets/s of CPU   utilisation   mean delay   goodput Mbit/s   dropped %   quell is faster"
    );
    tell("quell", &quell, "");
    let mut ratios = Vec::new();
    for (form, runs) in forms.iter().zip(&ns3) {
        let pairs = quell.iter().zip(runs);
        let ratio = median(
            pairs
                .map(|(quell, ns3)| speed(quell) / speed(ns3))
                .collect(),
        );
        tell(&format!("ns-3 {form}"), runs, &format!("{ratio:.0} times"));
        ratios.push(ratio);
    }
    Ok(ratios[0])
}

fn speed(run: &Run) -> f64 {
    run.packets / run.cpu_s
}

fn tell(name: &str, runs: &[Run], ratio: &str) {
    let packets = median(runs.iter().map(speed).collect());
    let Some(run) = runs.first() else { return };
    println!(
        "{name:15} {packets:>17.0} {:>13.4} {:>9.2} ms {:>16.2} {:>11.3} {ratio:>17}",
        run.utilisation,
        run.delay_ms,
        run.goodput_bps / 1e6,
        run.drop_ratio * 100.0
    );
}

/// The program for ns-3.
struct Twin {
    _folder: tempfile::TempDir,
    program: PathBuf,
}

impl Twin {
    fn build() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = folder.path().join("twin");
        let mut compiler = Command::new("c++");
        compiler
            .args(["-std=c++17", "-O3", "-DNDEBUG", TWIN, "-o"])
            .arg(&program)
            .args(LIBRARIES);
        let output = compiler.output().map_err(|error| format!("c++: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Self {
            _folder: folder,
            program,
        })
    }

    /// What the libraries were built with, as far as they show it: an assertion carries its text, and
    /// a log statement asks whether it is on. Either costs ns-3 time.
    fn build_kind(&self) -> Result<String, String> {
        let output = Command::new("ldd").arg(&self.program).output();
        let output = output.map_err(|error| format!("ldd: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let library = text.lines().find_map(|line| {
            let path = line.split_whitespace().nth(2)?;
            path.contains("ns3-internet").then(|| path.to_owned())
        });
        let library = library.ok_or("the program does not use libns3-internet")?;
        let bytes = std::fs::read(&library).map_err(|error| format!("{library}: {error}"))?;
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        let tell = |present| if present { "with" } else { "without" };
        Ok(format!(
            "{} assertions, {} log statements",
            tell(has(b"assert failed. cond=")),
            tell(has(b"LogComponent9IsEnabled"))
        ))
    }

    fn run(&self, form: &str, scenario: &Scenario, seconds: u64) -> Result<Run, String> {
        let arguments = [
            u64::from(scenario.flows),
            scenario.rate_bps,
            RTT_US,
            scenario.limit(),
            scenario.warmup,
            seconds,
        ];
        let arguments = arguments.map(|argument| argument.to_string());
        let output = Command::new(&self.program)
            .arg(form)
            .args(arguments)
            .output();
        let output = output.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let value = |key: &str| {
            let mut words = text.split_whitespace();
            let word = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            let number = word.and_then(|word| word.parse::<f64>().ok());
            number.ok_or_else(|| format!("the program for ns-3 told no {key}"))
        };
        Ok(Run {
            packets: value("packets")?,
            events: value("events")?,
            cpu_s: value("cpu_s")?,
            peak_memory: f64::NAN,
            utilisation: value("utilisation")?,
            delay_ms: value("delay_ms")?,
            goodput_bps: value("goodput_bps")?,
            drop_ratio: value("drop_ratio")?,
        })
    }
}
