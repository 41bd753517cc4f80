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

/// Judges `file` in the simulator, which nothing excuses, and live where this host can; and both together with `compare`. The base
/// RTT is in milliseconds.
fn in_both_worlds(
    (test, run): (&str, &mut Run),
    (file, rtt_ms, more): (&str, f64, &[&str]),
    each: impl Fn(&Value) -> Result<(), Missed>,
    compare: impl Fn(&Value, &Value) -> Result<(), Missed>,
) -> Result<(), Missed> {
    let folder = tempfile::tempdir().unwrap();
    let sim = summary_in("sim", file, folder.path(), more);
    each(&sim).unwrap();
    if can_run(test) {
        let live = summary_in("live", file, folder.path(), more);
        note(run, &live, rtt_ms);
        each(&live)?;
        compare(&sim, &live)?;
    }
    Ok(())
}

#[test]
fn transfers_take_alike_long_beside_downloads_in_both_worlds() {
    let test = "transfers_take_alike_long_beside_downloads_in_both_worlds";
    let file = format!("{SCENARIOS}transfers.toml");
    let more = ["--duration", "10s", "--set", "run.warmup=2s"];
    let each = |summary: &Value| {
        let app = |figure: &str| number(summary, &format!("/groups/0/app/{figure}"));
        // Ten users in 8 s: 0.5 s of reading and 0.15 s or more of fetching.
        bound!((60.0..150.0).contains(&app("completed")), "{summary:#}");
        bound!(app("unfinished") <= 10.0, "{summary:#}");
        // Not faster than 100 kB over an empty link: a handshake, and windows of 10, 20 and 40.
        assert!(app("completion_ms/min") > 80.0, "{summary:#}");
        assert!(app("completion_ms/p50") < app("completion_ms/p99"));
        assert_eq!(summary["groups"][1]["app"]["kind"], "bulk");
        bound!(number(summary, "/link/utilisation") > 0.9, "{summary:#}");
        Ok(())
    };
    let compare = |sim: &Value, live: &Value| {
        // Over 20 s it was 135 and 140 ms. The queue that they share differs with the downloads' phases and the seed: within a half.
        let median = |summary| number(summary, "/groups/0/app/completion_ms/p50");
        let ratio = median(live) / median(sim);
        bound!((1.0 / 1.5..1.5).contains(&ratio), "{ratio}");
        Ok(())
    };
    live(test, |run| {
        in_both_worlds((test, run), (&file, 20.0, &more), each, compare)
    });
}

#[test]
fn sources_that_pause_do_so_in_both_worlds() {
    let test = "sources_that_pause_do_so_in_both_worlds";
    let file = format!("{SCENARIOS}on-off.toml");
    let more = ["--duration", "12s", "--set", "run.warmup=2s"];
    let sent = |summary: &Value| number(summary, "/groups/1/app/sent");
    let each = |summary: &Value| {
        // Three flows whose cycle takes 4 s begin at 0, 4 and 8 s; the first is over before the warm-up is.
        bound!(
            number(summary, "/groups/0/app/bursts") == 6.0,
            "{summary:#}"
        );
        // 20 Mbit/s for half of the time, shared with a download: between a tenth and a half.
        let chunks = number(summary, "/groups/0/app/bytes") * 8.0 / 10.0 / 20e6;
        bound!((0.1..0.5).contains(&chunks), "{chunks}");
        // Five talkers speak for 39 % of the time, 50 packets a second: 970, with long spurts.
        bound!((400.0..2_000.0).contains(&sent(summary)), "{summary:#}");
        bound!(
            number(summary, "/groups/1/app/loss_ratio") < 0.1,
            "{summary:#}"
        );
        Ok(())
    };
    let compare = |sim: &Value, live: &Value| {
        // The same draws: only what a late wake-up moves over an end differs.
        bound!((sent(sim) - sent(live)).abs() <= 10.0, "{sim:#} {live:#}");
        Ok(())
    };
    live(test, |run| {
        in_both_worlds((test, run), (&file, 30.0, &more), each, compare)
    });
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
duration = "3s"
"#,
    )
    .unwrap();
    let file = file.to_str().unwrap();
    live(test, |run| {
        for size in ["10kB", "100kB", "1MB"] {
            let set = format!("group.g.app.size={size}");
            // The shortest: 38.4 and 38.6, 122.2 and 122.5, 868.0 and 868.4 ms. A disturbance lengthens single ones; among several one
            // is undisturbed.
            let compare = |sim: &Value, live: &Value| {
                let least = |summary| number(summary, "/groups/0/app/completion_ms/min");
                let ratio = least(live) / least(sim);
                bound!((0.99..1.03).contains(&ratio), "{size}: {ratio}");
                Ok(())
            };
            let what = (file, 20.0, &["--set", &set][..]);
            in_both_worlds((test, run), what, |_| Ok(()), compare)?;
        }
        Ok(())
    });
}
