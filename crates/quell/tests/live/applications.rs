//! Applications that end or pause, in both worlds: the same code over modelled and real hosts.
//!
//! The simulated half runs anywhere.

use super::*;

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/applications/");

/// The summary of `file` in `world`.
fn summary_in(world: &str, file: &str, folder: &std::path::Path, more: &[&str]) -> Value {
    let out = folder.join(world);
    let output = Command::new(QUELL)
        .args(["run", file, "--world", world, "--json", "--out"])
        .arg(out)
        .args(more)
        .output()
        .unwrap();
    summary(&output)
}

/// In the simulator, and live where this host can.
fn in_both_worlds(test: &str, file: &str, more: &[&str]) -> Vec<Value> {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut summaries = vec![summary_in("sim", file, folder.path(), more)];
    if can_run(test) {
        summaries.push(summary_in("live", file, folder.path(), more));
    }
    summaries
}

const SHORT: [&str; 4] = ["--duration", "12s", "--set", "run.warmup=2s"];

#[test]
fn transfers_take_alike_long_beside_downloads_in_both_worlds() {
    let test = "transfers_take_alike_long_beside_downloads_in_both_worlds";
    let file = format!("{SCENARIOS}transfers.toml");
    let all = in_both_worlds(test, &file, &SHORT);
    for summary in &all {
        let app = |figure: &str| number(summary, &format!("/groups/0/app/{figure}"));
        // Ten users in 10 s: 0.5 s of reading and 0.15 s or more of fetching.
        assert!((50.0..200.0).contains(&app("completed")), "{summary:#}");
        assert!(app("unfinished") <= 10.0);
        // Not faster than 100 kB over an empty link: a handshake, and windows of 10, 20 and 40.
        assert!(app("completion_ms/min") > 80.0, "{summary:#}");
        assert!(app("completion_ms/p50") < app("completion_ms/p99"));
        assert_eq!(summary["groups"][1]["app"]["kind"], "bulk");
        assert!(number(summary, "/link/utilisation") > 0.8);
    }
    if let [sim, live] = &all[..] {
        // Over 20 s it was 135 and 140 ms. The queue that they share differs with the downloads' phases and the seed, and a
        // busy machine adds to the live one: within a half.
        let median = |summary| number(summary, "/groups/0/app/completion_ms/p50");
        let ratio = median(live) / median(sim);
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{ratio}");
    }
}

#[test]
fn sources_that_pause_do_so_in_both_worlds() {
    let test = "sources_that_pause_do_so_in_both_worlds";
    let file = format!("{SCENARIOS}on-off.toml");
    let all = in_both_worlds(test, &file, &SHORT);
    let sent = |summary: &Value| number(summary, "/groups/1/app/sent");
    for summary in &all {
        // Three flows whose cycle takes 4 s begin at 0, 4 and 8 s; the first is over before the warm-up is.
        assert_eq!(number(summary, "/groups/0/app/bursts"), 6.0, "{summary:#}");
        // 20 Mbit/s for half of the time, shared with a download: between a tenth and a half.
        let chunks = number(summary, "/groups/0/app/bytes") * 8.0 / 10.0 / 20e6;
        assert!((0.1..0.5).contains(&chunks), "{chunks}");
        // Five talkers speak for 39 % of the time, 50 packets a second: 970, with long spurts.
        assert!((400.0..2_000.0).contains(&sent(summary)), "{summary:#}");
        assert!(number(summary, "/groups/1/app/loss_ratio") < 0.1);
    }
    if let [sim, live] = &all[..] {
        // The same draws: only what a late wake-up moves over an end differs.
        assert!((sent(sim) - sent(live)).abs() <= 10.0, "{sim:#} {live:#}");
    }
}

#[test]
fn a_transfer_over_an_idle_link_takes_the_same_time_in_both_worlds() {
    let test = "a_transfer_over_an_idle_link_takes_the_same_time_in_both_worlds";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alone.toml");
    fs::write(
        &file,
        r#"
schema = 1
name = "alone"
[link]
rate = "10mbit"
queue = { kind = "fifo", limit = "1000p" }
[[group]]
name = "g"
rtt = "20ms"
app = { kind = "transfer", size = "10kB", repeat = "100ms" }
[run]
duration = "5s"
"#,
    )
    .unwrap();
    for size in ["10kB", "100kB", "1MB"] {
        let set = format!("group.g.app.size={size}");
        let all = in_both_worlds(test, file.to_str().unwrap(), &["--set", &set]);
        if let [sim, live] = &all[..] {
            // The shortest: 38.4 and 38.6, 122.2 and 122.5, 868.0 and 868.4 ms. What a busy machine adds to single ones is its
            // own; among several one is undisturbed. 5 % for its wake-ups.
            let least = |summary| number(summary, "/groups/0/app/completion_ms/min");
            let ratio = least(live) / least(sim);
            assert!((0.99..1.05).contains(&ratio), "{size}: {ratio}");
        }
    }
}
