//! RED and PIE beside DPDK's `rte_red` and `rte_pie`, in one run: the same overload in front of each, and of
//! the bare queues that they guard.
//!
//! Packets of 1 500 bytes come at 105 % of 1 Gbit/s and do not respond; the clock is passed in. What
//! counts is the time per arriving packet: its decision, a place in the queue, and its departure. DPDK's
//! are pure decisions, so `dpdk/twin.c` puts a ring of packets of the same 32 bytes behind them; ours are
//! whole disciplines behind their registry, with limits, accounts and observer. The schemes run in turns,
//! and the median of the turns counts. What was dropped, and the mean queue, show that each does its work.
//!
//! `QUELL_BENCH_ROUNDS` (11) is how many turns. Without DPDK or a C compiler the benchmark says so and
//! passes.
#![allow(missing_docs, unreachable_pub)]

// The other benchmarks use the rest of it.
#[allow(dead_code)]
mod common;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use common::BenchPacket;
use quell_aqm::disciplines::{self, Discipline};
use quell_aqm::{Bytes, Drop, Link, Observer, Qdisc, QueueId, Random, Rate, Settings, Time};

const TWIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/dpdk/twin.c");
/// As in the twin.
const BETWEEN_ARRIVALS: Time = Time::from_nanos(11_428);
const BETWEEN_DEPARTURES: Time = Time::from_nanos(12_000);
/// Half a minute of the link, in which PIE settles, and as much to measure.
const PACKETS: u64 = 2_500_000;

/// What is compared: its name, and how it runs.
type Scheme = (&'static str, Runs);

#[derive(Clone, Copy)]
enum Runs {
    Twin(&'static str),
    Quell(&'static str, &'static [(&'static str, &'static str)]),
}

/// The thresholds are those of the twin: 100 and 300 packets, a fifth at the upper one.
const SCHEMES: &[Scheme] = &[
    ("ring of packets in C", Runs::Twin("ring")),
    ("rte_red", Runs::Twin("red")),
    ("rte_pie", Runs::Twin("pie")),
    ("fifo", Runs::Quell("fifo", &[("limit", "1000p")])),
    (
        "red, linux",
        Runs::Quell(
            "red",
            &[
                ("min", "150kB"),
                ("max", "450kB"),
                ("limit", "3MB"),
                ("avpkt", "1500B"),
                ("probability", "0.2"),
            ],
        ),
    ),
    (
        "red, floyd",
        Runs::Quell(
            "red",
            &[
                ("form", "floyd"),
                ("min", "100p"),
                ("max", "300p"),
                ("limit", "2000p"),
                ("probability", "0.2"),
                ("weight", "0.001953125"),
            ],
        ),
    ),
    (
        "pie, linux",
        Runs::Quell(
            "pie",
            &[("form", "linux"), ("limit", "2000p"), ("target", "15ms")],
        ),
    ),
    (
        "pie, rfc8033",
        Runs::Quell(
            "pie",
            &[("form", "rfc8033"), ("limit", "2000p"), ("target", "15ms")],
        ),
    ),
];

/// What a run tells.
#[derive(Debug, Clone, Copy)]
struct Figures {
    nanoseconds: f64,
    dropped_percent: f64,
    queue: f64,
}

fn main() -> ExitCode {
    let dpdk = match Dpdk::find() {
        Ok(dpdk) => dpdk,
        Err(why) => {
            println!("not run: dpdk: {why}");
            return ExitCode::SUCCESS;
        }
    };
    match benchmark(&dpdk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dpdk: {error}");
            ExitCode::FAILURE
        }
    }
}

fn benchmark(dpdk: &Dpdk) -> Result<(), String> {
    let rounds = match std::env::var("QUELL_BENCH_ROUNDS") {
        Ok(text) => text
            .parse()
            .ok()
            .filter(|&rounds: &u32| rounds > 0)
            .ok_or_else(|| {
                format!("QUELL_BENCH_ROUNDS={text}: must be a whole number, 1 or more")
            })?,
        Err(_) => 11,
    };
    let twin = dpdk.build()?;
    println!(
        "DPDK {}, cc -O3 -march=native; 105 % of 1 Gbit/s in packets of 1500 bytes, {rounds} turns\n",
        dpdk.version
    );
    let mut figures: Vec<Vec<Figures>> = SCHEMES.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for ((_, runs), figures) in SCHEMES.iter().zip(&mut figures) {
            figures.push(match *runs {
                Runs::Twin(scheme) => run_twin(&twin, scheme)?,
                Runs::Quell(kind, given) => run_quell(kind, given)?,
            });
        }
    }
    println!("                       ns/packet   dropped %   mean queue");
    for ((name, _), figures) in SCHEMES.iter().zip(&figures) {
        let nanoseconds = median(figures, |figures| figures.nanoseconds);
        let Figures {
            dropped_percent,
            queue,
            ..
        } = figures[0];
        println!("{name:22} {nanoseconds:>9.1} {dropped_percent:>11.2} {queue:>12.0}");
    }
    println!(
        "\nmedians of the turns: time over time, and what a scheme takes more than its bare queue"
    );
    let of = |name: &str| {
        let index = SCHEMES.iter().position(|(known, _)| *known == name);
        index
            .map(|index| &figures[index])
            .ok_or_else(|| format!("no scheme {name}"))
    };
    let (ring, fifo) = (of("ring of packets in C")?, of("fifo")?);
    for (ours, theirs) in [
        ("red, linux", "rte_red"),
        ("red, floyd", "rte_red"),
        ("pie, linux", "rte_pie"),
        ("pie, rfc8033", "rte_pie"),
    ] {
        let (ours_all, theirs_all) = (of(ours)?, of(theirs)?);
        let whole = ratios(ours_all, theirs_all);
        let more = |all: &[Figures], bare: &[Figures]| {
            let mut more: Vec<f64> = all
                .iter()
                .zip(bare)
                .map(|(all, bare)| all.nanoseconds - bare.nanoseconds)
                .collect();
            middle(&mut more)
        };
        println!(
            "{ours:14} / {theirs}: {whole:.2}; decision alone {:.1} ns against {:.1} ns",
            more(ours_all, fifo),
            more(theirs_all, ring)
        );
    }
    Ok(())
}

fn ratios(ours: &[Figures], theirs: &[Figures]) -> f64 {
    let mut ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| ours.nanoseconds / theirs.nanoseconds)
        .collect();
    middle(&mut ratios)
}

fn median(figures: &[Figures], of: impl Fn(&Figures) -> f64) -> f64 {
    middle(&mut figures.iter().map(of).collect::<Vec<f64>>())
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The DPDK of this system.
struct Dpdk {
    version: String,
    flags: Vec<String>,
}

impl Dpdk {
    /// Or why it cannot be used.
    fn find() -> Result<Self, String> {
        let ask = |what: &str| {
            let output = Command::new("pkg-config")
                .args([what, "libdpdk"])
                .output()
                .ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let (Some(version), Some(flags)) = (ask("--modversion"), ask("--cflags")) else {
            return Err("DPDK is missing; on Debian or Ubuntu this fixes it: sudo apt-get install libdpdk-dev pkg-config".to_owned());
        };
        if Command::new("cc").arg("--version").output().is_err() {
            return Err("a C compiler is missing".to_owned());
        }
        let flags = flags.split_whitespace();
        // For the oldest machine that DPDK runs on; this one counts.
        let flags = flags
            .filter(|flag| !flag.starts_with("-march"))
            .map(str::to_owned)
            .collect();
        Ok(Self { version, flags })
    }

    /// The program of the twin.
    fn build(&self) -> Result<PathBuf, String> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dpdk-twin");
        let output = Command::new("cc")
            .args(["-O3", "-march=native", "-DALLOW_EXPERIMENTAL_API"])
            .args(&self.flags)
            .arg(TWIN)
            .arg("-o")
            .arg(&program)
            .args(["-lrte_sched", "-lrte_eal"])
            .output()
            .map_err(|error| format!("cc: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(program)
    }
}

fn run_twin(program: &Path, scheme: &str) -> Result<Figures, String> {
    let packets = PACKETS.to_string();
    let output = Command::new(program)
        .args([scheme, &packets, &packets])
        .output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [nanoseconds, dropped_percent, queue] if output.status.success() => Ok(Figures {
            nanoseconds,
            dropped_percent,
            queue,
        }),
        _ => Err(format!("{scheme}: {text}")),
    }
}

/// Counts what waits and what was dropped.
#[derive(Debug, Default)]
struct Counts {
    waiting: u64,
    dropped: u64,
}

impl Observer<BenchPacket> for Counts {
    fn enqueued(&mut self, _queue: QueueId, _packet: &BenchPacket, _now: Time) {
        self.waiting += 1;
    }
    fn dequeued(&mut self, _queue: QueueId, _packet: &BenchPacket, _now: Time) {
        self.waiting -= 1;
    }
    fn dropped(&mut self, _packet: BenchPacket, drop: Drop, _now: Time) {
        self.waiting -= u64::from(drop.queued);
        self.dropped += 1;
    }
}

/// The same load, in front of a discipline.
struct Load {
    qdisc: Discipline<BenchPacket>,
    observer: Counts,
    now: Time,
    departs: Time,
    frame: u64,
    queue: u64,
    left: u64,
}

impl Load {
    #[inline]
    fn step(&mut self) {
        self.now += BETWEEN_ARRIVALS;
        while self.observer.waiting > 0 && self.departs <= self.now {
            if let Some(packet) = self.qdisc.dequeue(self.departs, &mut self.observer) {
                self.left = self.left.wrapping_add(packet.frame());
                self.qdisc.transmitted(self.departs);
            }
            self.departs += BETWEEN_DEPARTURES;
        }
        if let Some(due) = self.qdisc.next_update()
            && due <= self.now
        {
            self.qdisc.update(due);
        }
        let queue = self.observer.waiting;
        if queue == 0 {
            self.departs = self.now + BETWEEN_DEPARTURES;
        }
        self.queue += queue;
        self.frame += 1;
        let packet = BenchPacket::new(self.now, self.frame, 1_500);
        self.qdisc.enqueue(packet, self.now, &mut self.observer);
    }

    #[inline(never)]
    fn run(&mut self, packets: u64) {
        (self.queue, self.observer.dropped) = (0, 0);
        for _ in 0..packets {
            self.step();
        }
    }
}

fn run_quell(kind: &str, given: &[(&str, &str)]) -> Result<Figures, String> {
    let entry = disciplines::find(kind).map_err(|error| error.to_string())?;
    let mut settings = Settings::new(entry.parameters);
    for (key, value) in given {
        settings
            .set(key, value)
            .map_err(|error| error.to_string())?;
    }
    let link = Link {
        rate: Rate::from_mbps(1_000),
        mtu: Bytes::new(1_500),
    };
    let qdisc = Discipline::new(kind, settings, link, Random::new(1, "queue"));
    let mut load = Load {
        qdisc: qdisc.map_err(|error| error.to_string())?,
        observer: Counts::default(),
        now: Time::ZERO,
        departs: Time::ZERO,
        frame: 0,
        queue: 0,
        left: 0,
    };
    load.run(PACKETS);
    let before = Instant::now();
    load.run(PACKETS);
    let spent = before.elapsed().as_nanos() as f64;
    black_box(load.left);
    let packets = PACKETS as f64;
    Ok(Figures {
        nanoseconds: spent / packets,
        dropped_percent: 100.0 * load.observer.dropped as f64 / packets,
        queue: load.queue as f64 / packets,
    })
}
