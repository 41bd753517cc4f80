//! The virtual world: how many times faster than real time, and how many system calls of the guest per packet.
//!
//! 2 CUBIC flows over a drop-tail queue of 20 ms, base RTT 40 ms, at 100 Mbit/s and 1 Gbit/s, by `quell run --world virtual`
//! with the newest kernel of the store, from the start of the kernel to the last file. Expected of the median: 5 times real
//! time at 100 Mbit/s, and more than real time at 1 Gbit/s. Guest and kernel take turns, so on a machine that does nothing else
//! the wall time is little more than the processor time of both; the latter is judged, because others may be at work.
//!
//! A guest's process waits on the host while the kernel serves one of its system calls or page faults, so what the host
//! counts as its voluntary switches is their number; it is looked up while the run goes on, and the last look counts. Of a
//! guest without `seccomp` (ptrace) it is higher: two or three per call.
//!
//! `QUELL_BENCH_ROUNDS` (3) is how often each is run. Without a kernel the benchmark says so and passes.
#![allow(missing_docs, unreachable_pub)]

#[path = "common/mod.rs"]
mod common;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Scenario, median};
use quell_kernel::store::Store;
use serde_json::Value;

/// Rate, virtual seconds, and what is expected of virtual time / processor time.
const RUNS: [(u64, u64, f64); 2] = [(100_000_000, 20, 5.0), (1_000_000_000, 10, 1.0)];
/// Between two looks at the guest's processes.
const LOOK: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let kernel = match Store::open().and_then(|store| store.find(None)) {
        Ok(kernel) => kernel,
        Err(why) => {
            println!("not run: virtual: {why}");
            return ExitCode::SUCCESS;
        }
    };
    println!("kernel {}", kernel.facts.version);
    let rounds = std::env::var("QUELL_BENCH_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(3_usize);
    let mut good = true;
    for (rate_bps, seconds, expected) in RUNS {
        let runs: Result<Vec<_>, _> = (0..rounds.max(1)).map(|_| run(rate_bps, seconds)).collect();
        let runs = match runs {
            Ok(runs) => runs,
            Err(error) => {
                eprintln!("virtual: {error}");
                return ExitCode::FAILURE;
            }
        };
        let of = |figure: fn(&Figures) -> f64| median(runs.iter().map(figure).collect());
        let ratio = of(|figures| figures.ratio);
        println!(
            "{:>5} Mbit/s: {ratio:.1} virtual seconds per second of processor (expected: {expected}), {:.1} per second; \
             {:.2} system calls of the guest and {:.4} wake-ups of the link per packet",
            rate_bps / 1_000_000,
            of(|figures| figures.by_wall),
            of(|figures| figures.calls),
            of(|figures| figures.wakeups),
        );
        good &= ratio >= expected;
    }
    if !good {
        println!("slower than expected");
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Figures {
    /// Virtual time / processor time of everything that ran.
    ratio: f64,
    /// Virtual time / wall time.
    by_wall: f64,
    /// System calls and page faults of the guest per packet that the queue delivered.
    calls: f64,
    wakeups: f64,
}

fn run(rate_bps: u64, seconds: u64) -> Result<Figures, String> {
    let scenario = Scenario {
        flows: 2,
        rate_bps,
        queue_ms: 20,
        warmup: 0,
        seconds,
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (file, out) = (
        folder.path().join("virtual.toml"),
        folder.path().join("out"),
    );
    fs::write(&file, scenario.text()).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut quell = Command::new(env!("CARGO_BIN_EXE_quell"));
    quell.args(["run", "--world", "virtual"]).arg(&file);
    quell.arg("--out").arg(&out).stdout(Stdio::null());
    let mut quell = quell.spawn().map_err(|error| error.to_string())?;
    let seen = watch(&mut quell)?;
    let wall = began.elapsed().as_secs_f64();
    let summary =
        fs::read_to_string(out.join("summary.json")).map_err(|error| error.to_string())?;
    let summary: Value = serde_json::from_str(&summary).map_err(|error| error.to_string())?;
    let number = |path: &str| {
        let found = summary.pointer(path).and_then(Value::as_f64);
        found.ok_or_else(|| format!("the results have no {path}"))
    };
    let packets = number("/queues/0/packets")?;
    Ok(Figures {
        ratio: seconds as f64 / (seen.values().map(|seen| seen.ticks).sum::<u64>() as f64 / TICKS),
        by_wall: seconds as f64 / wall,
        calls: seen.values().map(|seen| seen.waits).sum::<u64>() as f64 / packets,
        wakeups: number("/link/wakeups")? / packets,
    })
}

/// Of /proc/PID/stat in a second (USER_HZ).
const TICKS: f64 = 100.0;

/// What a process had done when it was last looked at.
#[derive(Clone, Copy)]
struct Seen {
    /// Processor time, user and system.
    ticks: u64,
    /// Voluntary switches, where it is a guest's.
    waits: u64,
}

/// Until it ends; returns what each of its processes did.
fn watch(quell: &mut Child) -> Result<BTreeMap<u32, Seen>, String> {
    let mut seen = BTreeMap::new();
    loop {
        if let Some(status) = quell.try_wait().map_err(|error| error.to_string())? {
            return if status.success() {
                Ok(seen)
            } else {
                Err(format!("quell run: {status}"))
            };
        }
        look(quell.id(), &mut seen);
        thread::sleep(LOOK);
    }
}

/// Notes what `root` and its descendants have done.
fn look(root: u32, seen: &mut BTreeMap<u32, Seen>) {
    let Ok(entries) = fs::read_dir("/proc") else {
        return;
    };
    let mut processes = HashMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // It may be gone by now.
        let read = |file| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        processes.insert(id, process(&read("stat"), &read("status")));
    }
    for (&id, &(_, of)) in &processes {
        let mut ancestor = id;
        while let Some((parent, _)) = processes.get(&ancestor)
            && ancestor != root
        {
            ancestor = *parent;
        }
        if ancestor == root {
            seen.insert(id, of);
        }
    }
}

/// The parent of a process, and what it has done (proc_pid_stat(5), proc_pid_status(5)).
fn process(stat: &str, status: &str) -> (u32, Seen) {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).unwrap_or_default()
    };
    // Behind the name, which may hold anything, comes the third field; user and system time are the 14th and 15th.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let times = behind.split_whitespace().skip(11).take(2);
    // The kernel names them so (arch/um/kernel/skas/stub_exe.c); older ones have the kernel's own name.
    let is_guests = field("Name:").contains("uml-userspace");
    let waits = field("voluntary_ctxt_switches:").parse().unwrap_or(0);
    let seen = Seen {
        ticks: times.filter_map(|time| time.parse::<u64>().ok()).sum(),
        waits: if is_guests { waits } else { 0 },
    };
    (field("PPid:").parse().unwrap_or(0), seen)
}
