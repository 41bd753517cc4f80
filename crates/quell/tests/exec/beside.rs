//! What programs of other people take beside a download, behind drop-tail and behind DualPI2.

use std::process::Command;
use std::time::Instant;

use quell_testing::program::text;
use quell_testing::{Missed, bound, live, not_run};
use serde_json::Value;

use crate::Case;
use crate::clients::{fill_the_queue, median};
use crate::fixture::{Fake, SERVER, WEB};
use crate::programs::{Iperf3, Repository, has};

pub(crate) const CASES: &[Case] = &[
    (
        "wget_loads_a_page_sooner_behind_dualpi2",
        wget_loads_a_page_sooner_behind_dualpi2,
    ),
    (
        "curl_loads_a_page_sooner_behind_dualpi2",
        curl_loads_a_page_sooner_behind_dualpi2,
    ),
    (
        "git_clones_sooner_behind_dualpi2",
        git_clones_sooner_behind_dualpi2,
    ),
    (
        "iperf3_has_a_shorter_round_trip_behind_dualpi2",
        iperf3_has_a_shorter_round_trip_behind_dualpi2,
    ),
];

const DROP_TAIL: &str = "fifo:limit=250ms";
const DUALPI2: &str = "dualpi2";
/// Runs of a program behind one queue; the median counts.
const TIMES: usize = 5;
/// Bytes of the page, or of the file of the repository: a few round trips of a new connection.
const BYTES: u64 = 60_000;
/// What drop-tail takes, over what DualPI2 takes: at least. Full, a queue of 250 ms makes a round trip of 270 ms of one of 20 ms; after a loss
/// Reno leaves nearly half of it, 115 ms, and DualPI2 aims at 15 ms.
const FACTOR: f64 = 2.0;

/// Runs a program beside a download that has filled the queue. `{}` in its words is the number of the run. Prints of each run the
/// milliseconds that it took, the bytes that it printed, and the first word of these.
pub(crate) fn run(times: usize, words: &[&str]) {
    fill_the_queue();
    for number in 0..times {
        let words = words
            .iter()
            .map(|word| word.replace("{}", &number.to_string()));
        let began = Instant::now();
        let output = Command::new("timeout").arg("60").args(words).output();
        let took = began.elapsed().as_secs_f64() * 1e3;
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        let first = printed.split_whitespace().next().unwrap_or("-");
        println!("{took:.1} {} {first:.20}", printed.len());
    }
}

/// A run, as [`run`] prints it.
struct Took {
    ms: f64,
    printed: u64,
    first: String,
}

/// The runs of a program beside a download, behind this queue.
fn beside(fake: &Fake, queue: &str, program: &[&str]) -> Vec<Took> {
    let link = [
        "--down", "10mbit", "--up", "5mbit", "--rtt", "20ms", "--queue", queue,
        // Its slow start goes on until the queue is full; that of CUBIC ends before.
        "--far-cc", "reno",
    ];
    let words = format!("{TIMES} {}", program.join(" "));
    let (said, _) = fake.role(&link, "beside", &words);
    let runs: Vec<Took> = said
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            Took {
                ms: words[0].parse().unwrap(),
                printed: words[1].parse().unwrap(),
                first: words[2].to_owned(),
            }
        })
        .collect();
    assert_eq!(runs.len(), TIMES, "{queue}: {said}");
    runs
}

/// `figure` behind either queue, which is the smaller one behind DualPI2.
fn compare(test: &str, what: &str, mut figure: impl FnMut(&str) -> f64) {
    live(test, |_| {
        let (drop_tail, dualpi2) = (figure(DROP_TAIL), figure(DUALPI2));
        println!(
            "{test}: {what} {drop_tail:.0} ms behind drop-tail of 250 ms, {dualpi2:.0} ms behind DualPI2"
        );
        bound!(
            drop_tail > FACTOR * dualpi2,
            "{what}: {drop_tail} and {dualpi2} ms"
        );
        Ok::<(), Missed>(())
    });
}

fn wget_loads_a_page_sooner_behind_dualpi2(fake: &Fake) {
    let test = "wget_loads_a_page_sooner_behind_dualpi2";
    if !has("wget") {
        return not_run(test, "wget is missing");
    }
    let url = format!("http://page.test:{WEB}/{BYTES}");
    // No proxy of this machine's, and one attempt.
    let wget = ["wget", "-q", "-O", "-", "--no-proxy", "-t", "1", &url];
    compare(test, "page", |queue| {
        let runs = beside(fake, queue, &wget);
        assert!(runs.iter().all(|run| run.printed == BYTES), "{queue}");
        median(runs.iter().map(|run| run.ms).collect())
    });
}

fn curl_loads_a_page_sooner_behind_dualpi2(fake: &Fake) {
    let test = "curl_loads_a_page_sooner_behind_dualpi2";
    if !has("curl") {
        return not_run(test, "curl is missing");
    }
    let url = format!("http://page.test:{WEB}/{BYTES}");
    let own = "%{size_download}/%{time_total}";
    let curl = [
        "curl",
        "-s",
        "-o",
        "/dev/null",
        "--noproxy",
        "*",
        "-w",
        own,
        &url,
    ];
    compare(test, "page", |queue| {
        let runs = beside(fake, queue, &curl);
        let own = runs.iter().map(|run| {
            let (bytes, seconds) = run.first.split_once('/').unwrap();
            assert_eq!(bytes.parse(), Ok(BYTES), "{queue}");
            1e3 * seconds.parse::<f64>().unwrap()
        });
        median(own.collect())
    });
}

fn git_clones_sooner_behind_dualpi2(fake: &Fake) {
    let test = "git_clones_sooner_behind_dualpi2";
    let repository = match Repository::serve(fake, BYTES) {
        Ok(repository) => repository,
        Err(why) => return not_run(test, why),
    };
    let url = repository.url();
    // `live` may repeat all of it, and nothing is cloned into what is there.
    let mut repeats = 0;
    compare(test, "clone", |queue| {
        repeats += 1;
        let into = repository.place(&format!("clone-{repeats}-"));
        let clone = ["git", "clone", "-q", &url, &format!("{into}{{}}")];
        let runs = beside(fake, queue, &clone);
        let last = format!("{into}{}/file", TIMES - 1);
        assert_eq!(std::fs::metadata(last).unwrap().len(), BYTES, "{queue}");
        median(runs.iter().map(|run| run.ms).collect())
    });
}

/// iperf3 fills the queue itself, and says what its own packets waited.
fn iperf3_has_a_shorter_round_trip_behind_dualpi2(fake: &Fake) {
    let test = "iperf3_has_a_shorter_round_trip_behind_dualpi2";
    let _server = match Iperf3::serve(fake) {
        Ok(server) => server,
        Err(why) => return not_run(test, why),
    };
    let upload = [
        "iperf3", "-c", SERVER, "-p", "5201", "-J", "-t", "5", "-C", "reno",
    ];
    compare(test, "mean round trip", |queue| {
        let link = ["exec", "--quiet", "--rate", "10mbit", "--rtt", "20ms"];
        let arguments = [&link[..], &["--queue", queue, "--"], &upload].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rtt_us = report.pointer("/end/streams/0/sender/mean_rtt");
        let rtt_us = rtt_us.and_then(Value::as_f64);
        rtt_us.unwrap_or_else(|| panic!("{report:#}")) / 1e3
    });
}
