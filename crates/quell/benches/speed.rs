//! How fast `quell run` is, with every measurement and result file, and what memory it takes.
//!
//! The first line is the scenario that ns-3 is compared by. Then, with a queue of 40 ms, 10 Mbit/s per
//! flow from one flow to 10 000, and 10 flows from 10 Mbit/s to 100 Gbit/s. Last, the memory of runs of
//! four lengths, of which the shorter ones do not fill the buffers of the result files, and of short
//! runs with few and many flows. A packet counts when the forward bottleneck has delivered it:
//! acknowledgements do not count, their direction is unlimited. Time is the process's own, user and
//! system. Best of `QUELL_BENCH_ROUNDS` (3).
//!
//! `QUELL_BENCH_BESIDE` names other programs, as `NAME=PATH` separated by spaces: the last table has this one's time over theirs, runs in
//! turn, the median of three times as many rounds; for cards, the guest and the real link the median of as many, all processes counted.
#![allow(missing_docs, unreachable_pub)]

#[path = "common/mod.rs"]
mod common;

use std::path::Path;
use std::process::ExitCode;

use common::{Run, Scenario, median};

/// "≥ 5 million bottleneck packets per second".
const LEAST_SPEED: f64 = 5e6;
/// "Cost per packet within 2×".
const SPREAD: f64 = 2.0;
/// "A run's memory does not grow with its length"; a tenth leaves room for the allocator.
const GROWTH: f64 = 1.1;
/// Flows and Mbit/s: 10 Mbit/s per flow.
const FLOWS: [(u32, u64); 5] = [
    (1, 10),
    (10, 100),
    (100, 1_000),
    (1_000, 10_000),
    (10_000, 100_000),
];
/// Flows and Mbit/s: 10 flows.
const RATES: [(u32, u64); 5] = [
    (10, 10),
    (10, 100),
    (10, 1_000),
    (10, 10_000),
    (10, 100_000),
];
/// Packets that a run is long for, so that its start does not matter.
const PACKETS: u64 = 4_000_000;

fn main() -> ExitCode {
    match benchmark() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("\nbounds missed: {missed}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("speed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn benchmark() -> Result<u32, String> {
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
    let mut missed = 0;
    let mut judge = |holds: bool| {
        missed += u32::from(!holds);
        if holds { "" } else { " MISSED" }
    };
    println!(" flows   Mbit/s  seconds  Mpackets/s  Mevents/s  ns/packet  peak MB  utilisation");
    let first = best(10, 100, 100, None, rounds)?;
    let speed = first.packets / first.cpu_s;
    println!(
        "at least {} Mpackets/s{}\n",
        LEAST_SPEED / 1e6,
        judge(speed >= LEAST_SPEED)
    );

    for table in [FLOWS, RATES] {
        let runs = table.map(|(flows, mbps)| best(flows, mbps, 40, None, rounds));
        let spread = spread(&runs.into_iter().collect::<Result<Vec<_>, _>>()?);
        println!(
            "cost per packet within {spread:.2}, bound {SPREAD}{}\n",
            judge(spread <= SPREAD)
        );
    }

    let mut peaks = Vec::new();
    for seconds in [86, 864, 8_640, 86_400] {
        peaks.push(best(10, 1, 40, Some(seconds), 1)?.peak_memory);
    }
    let growth = peaks[3] / peaks[2];
    println!(
        "memory of the longest run is {growth:.2} times that of a tenth of it, bound {GROWTH}{}\n",
        judge(growth <= GROWTH)
    );

    let mut peaks = Vec::new();
    for flows in [1, 100, 10_000] {
        peaks.push(best(flows, 10 * u64::from(flows), 40, Some(3), 1)?.peak_memory);
    }
    println!(
        "{:.0} bytes for each of 100 flows, {:.0} for each of 10 000, packets included",
        (peaks[1] - peaks[0]) / 99.0,
        (peaks[2] - peaks[0]) / 9_999.0
    );
    let named = std::env::var("QUELL_BENCH_BESIDE").unwrap_or_default();
    let programs: Vec<(&str, &str)> = named
        .split_whitespace()
        .filter_map(|one| one.split_once('='))
        .collect();
    beside(&programs, 3 * rounds)?;
    for (name, program) in programs {
        whole_commands(name, program, rounds)?;
    }
    Ok(missed)
}

/// Arguments, and the scenario beside them.
type Wait = (Vec<&'static str>, Option<String>);

/// Cards, the guest and the real link: this build's processor time over that of `program`, and both, in seconds.
fn whole_commands(name: &str, program: &str, rounds: u32) -> Result<(), String> {
    const LAST: usize = 5;
    let runs = |world, mbps: u64, flows, seconds| {
        let scenario = Scenario {
            flows,
            rate_bps: mbps * 1_000_000,
            queue_ms: 20,
            warmup: 1,
            seconds,
        };
        let run = ["run", "--world", world, "speed.toml", "--out", "out"].to_vec();
        (run, Some(scenario.text().replace("40ms", "10ms")))
    };
    let commands: [(&str, Wait); LAST] = [
        (
            "first card, of dualpi2",
            (vec!["characterize", "dualpi2"], None),
        ),
        ("next card, of codel", (vec!["characterize", "codel"], None)),
        (
            "guest, 1 Gbit/s, 2 flows, 10 s",
            runs("virtual", 1_000, 2, 10),
        ),
        (
            "guest, 100 Mbit/s, 10 flows, 20 s",
            runs("virtual", 100, 10, 20),
        ),
        ("link, 1 Gbit/s, 1 flow, 10 s", runs("live", 1_000, 1, 10)),
    ];
    let mut times = [const { (Vec::new(), Vec::new()) }; LAST];
    for _ in 0..rounds {
        let folder = || tempfile::tempdir().map_err(|error| error.to_string());
        let (own, other) = (folder()?, folder()?);
        for ((what, (arguments, scenario)), (owns, others)) in commands.iter().zip(&mut times) {
            let run = |program: &str, folder: &Path| {
                let spent = common::processor_time(program, arguments, scenario.as_deref(), folder);
                spent
                    .map_err(|why| println!("not run: {what}: {program}: {why}"))
                    .ok()
            };
            owns.extend(run(env!("CARGO_BIN_EXE_quell"), own.path()));
            others.extend(run(program, other.path()));
        }
    }
    for ((what, _), (owns, others)) in commands.iter().zip(times) {
        let (own, other) = (median(owns), median(others));
        println!(
            "{what}: {:.3} of the time of {name} ({own:.1} and {other:.1} s)",
            own / other
        );
    }
    Ok(())
}

/// What this build takes of the time of other programs.
fn beside(programs: &[(&str, &str)], rounds: u32) -> Result<(), String> {
    let dualpi2 = ["--queue", "dualpi2", "--set", "group.bulk.ecn=ect1"];
    for (what, flows, mbps, more) in [
        ("10 flows, drop-tail", 10, 100, &[][..]),
        ("10 flows, fq_codel", 10, 100, &["--queue", "fq_codel"]),
        ("10 flows, dualpi2", 10, 100, &dualpi2),
        ("1 000 flows", 1_000, 10_000, &[]),
        ("10 000 flows", 10_000, 100_000, &[]),
    ] {
        let scenario = Scenario {
            flows,
            rate_bps: mbps * 1_000_000,
            queue_ms: 40,
            warmup: 1,
            seconds: (PACKETS * 3 / (1_000 * mbps)).max(3),
        };
        let mut ratios = vec![Vec::new(); programs.len()];
        for _ in 0..rounds {
            let own = Path::new(env!("CARGO_BIN_EXE_quell"));
            let own = scenario.run_in(own, more)?;
            for ((_, program), ratios) in programs.iter().zip(&mut ratios) {
                let other = scenario.run_in(Path::new(program), more)?;
                ratios.push(own.cpu_s / own.packets * other.packets / other.cpu_s);
            }
        }
        for ((name, _), ratios) in programs.iter().zip(ratios) {
            println!("{what}: {:.3} of the time of {name}", median(ratios));
        }
    }
    Ok(())
}

/// The dearest packet by the cheapest.
fn spread(runs: &[Run]) -> f64 {
    let costs: Vec<f64> = runs.iter().map(|run| run.cpu_s / run.packets).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    costs.iter().copied().fold(0.0, f64::max) / least
}

/// The fastest of some runs, told as a line.
fn best(
    flows: u32,
    mbps: u64,
    queue_ms: u64,
    seconds: Option<u64>,
    rounds: u32,
) -> Result<Run, String> {
    // A packet of 1 500 bytes is 12 000 bit; 100 Gbit/s need some seconds to be filled.
    let seconds = seconds.unwrap_or((PACKETS * 12 / (1_000 * mbps)).max(3));
    let scenario = Scenario {
        flows,
        rate_bps: mbps * 1_000_000,
        queue_ms,
        warmup: 1,
        seconds,
    };
    let runs = (0..rounds)
        .map(|_| scenario.run())
        .collect::<Result<Vec<_>, _>>()?;
    let best = runs.into_iter().min_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    let run = best.ok_or("no run")?;
    println!(
        "{flows:>6} {mbps:>8} {seconds:>8} {:>11.2} {:>10.2} {:>10.0} {:>8.1} {:>12.4}",
        run.packets / run.cpu_s / 1e6,
        run.events / run.cpu_s / 1e6,
        run.cpu_s / run.packets * 1e9,
        run.peak_memory / 1e6,
        run.utilisation
    );
    Ok(run)
}
