//! What it costs to watch: a simulation beside one that nobody watches, and the server alone at ten messages a second.
//!
//! Processor time of threads (`schedstat`, in ns), in pairs that take turns; what is judged are ratios of medians. A bound that is missed
//! fails the benchmark. `QUELL_BENCH_ROUNDS` (9) is the number of pairs.
#![allow(missing_docs, unreachable_pub)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quell_scenario::{Scenario, sim};
use quell_serve::{Page, Server, Settings, Show, Speed};

/// "a watched simulation is slowed by ≤ 2 %".
const SLOWER_PERCENT: f64 = 2.0;
/// "10 rows/s of 100 groups ≤ 3 % of a core": a scenario has 64 at most, so fifty with two flows each, which are as many rows.
const CORE_PERCENT: f64 = 3.0;
const WATCHED: Duration = Duration::from_secs(20);

const SCENARIO: &str = quell_testing::l4s_beside_classic!(
    name: "watched",
    link: r#"rate = "100mbit"
queue = { kind = "dualpi2" }
"#,
    flows: [5, 5],
    rtts: ["20ms", "20ms"],
    then: r#"[run]
duration = "120s"
warmup = "1s"
"#,
);

/// A hundred flows, which simulate almost nothing.
fn groups() -> String {
    let mut text =
        "schema = 1\nname = \"groups\"\n[link]\nrate = \"100mbit\"\nqueue = { kind = \"pie\" }\n"
            .to_owned();
    for group in 0..50 {
        text += &format!(
            "[[group]]\nname = \"g{group}\"\ncount = 2\nrtt = \"20ms\"\n\
             app = {{ kind = \"cbr\", size = \"200B\", interval = {{ mean = \"500ms\", stddev = \"1ms\" }} }}\n"
        );
    }
    text + "[run]\nduration = \"600s\"\nwarmup = \"0s\"\n"
}

fn main() -> ExitCode {
    let rounds = std::env::var("QUELL_BENCH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut is_met = slowed(rounds.unwrap_or(9_usize).max(1));
    is_met &= alone();
    if is_met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn slowed(rounds: usize) -> bool {
    let scenario = Scenario::parse(SCENARIO).expect("the scenario is right");
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let seed = scenario.run.seeds[0];
        let before = processor_time("self");
        sim::run(&scenario, seed, &AtomicBool::new(false), &mut ()).expect("it runs");
        times[0].push(processor_time("self") - before);
        let mut watched = 0.0;
        served(SCENARIO, Speed::Most, |told| {
            watched = of_thread("quell-serve").unwrap_or(watched);
            !told.contains("\"type\":\"finished\"")
        });
        times[1].push(watched);
    }
    let [alone, watched] = times.map(median);
    let slower = (watched / alone - 1.0) * 100.0;
    let is_met = slower <= SLOWER_PERCENT;
    println!(
        "a simulation of 120 s: {alone:.3} s of a processor, watched {watched:.3} s: {slower:+.1} % (bound {SLOWER_PERCENT} %){}",
        missed(is_met)
    );
    is_met
}

fn alone() -> bool {
    let began = Instant::now();
    let (mut first, mut last, mut messages) = (None, 0.0, 0);
    served(&groups(), Speed::Times(1.0), |told| {
        if told.contains("\"type\":\"rows\"") {
            messages += 1;
            last = of_process();
            first.get_or_insert((last, Instant::now()));
        }
        began.elapsed() < WATCHED
    });
    let (before, at) = first.unwrap_or((last, began));
    let share = (last - before) / at.elapsed().as_secs_f64() * 100.0;
    let is_met = share <= CORE_PERCENT;
    println!(
        "{messages} messages of 100 flows in {:.0} s, with their simulation and the page that reads them: {share:.2} % of a core (bound {CORE_PERCENT} %){}",
        at.elapsed().as_secs_f64(),
        missed(is_met)
    );
    is_met
}

fn missed(is_met: bool) -> &'static str {
    if is_met { "" } else { ": MISSED" }
}

/// Serves a scenario to a page that reads everything, until `goes_on` is false for an event.
fn served(scenario: &str, speed: Speed, mut goes_on: impl FnMut(&str) -> bool) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("index.html"), "<!doctype html>").expect("a page");
    let page = Page::of_folder(folder.path()).expect("a page");
    let show = Show::Sim {
        scenario: Some(scenario.to_owned()),
    };
    let settings = Settings {
        speed,
        ..Settings::default()
    };
    let server = Server::bind(page, show, &settings).expect("a server");
    let (url, address) = (server.url(), server.address());
    let token = url.split_once("token=").map_or("", |(_, token)| token);
    let stop = Arc::new(AtomicBool::new(false));
    let its = stop.clone();
    let running = thread::spawn(move || server.run(&its));
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!(
        "GET /api/messages HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).expect("an event") == 0
            || (line.starts_with("data: ") && !goes_on(&line))
        {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    running
        .join()
        .expect("no panic")
        .expect("the server ends well");
}

/// Processor time of a thread of this process in seconds: its number, or `self`.
fn processor_time(thread: &str) -> f64 {
    let path = match thread {
        "self" => "/proc/thread-self/schedstat".to_owned(),
        number => format!("/proc/self/task/{number}/schedstat"),
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let first = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    first.unwrap_or(0.0) / 1e9
}

/// The same of the thread of this name, if there is one.
fn of_thread(name: &str) -> Option<f64> {
    let mut all = threads();
    let number = all.find(|number| {
        let path = format!("/proc/self/task/{number}/comm");
        fs::read_to_string(path).is_ok_and(|comm| comm.trim() == name)
    });
    number.map(|number| processor_time(&number))
}

fn of_process() -> f64 {
    threads().map(|number| processor_time(&number)).sum()
}

fn threads() -> impl Iterator<Item = String> {
    let all = fs::read_dir("/proc/self/task").into_iter().flatten();
    all.flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
