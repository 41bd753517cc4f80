#![allow(clippy::unwrap_used)]

use super::*;
use crate::rows::Series;
use serde_json::{Value, json};

const TEXT: &str = r#"
schema = 1
name = "small"
[link]
rate = "10mbit"
queue = { kind = "dualpi2" }
[[group]]
name = "l4s"
congestion-control = "dctcp"
ecn = "ect1"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "web"
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "web", preset = "l4s-demo" }
[run]
duration = "6s"
warmup = "1s"
seeds = [7, 8]
"#;

fn open(changes: &[&str]) -> Result<Watched, Refused> {
    Watched::open(
        "small.toml",
        TEXT,
        changes,
        None,
        Preparation::default(),
        Budget::PAGE,
    )
}

/// The files, and the rows as text: missing numbers differ from each other.
fn whole(mut run: Watched, step: Time) -> (Finished, Vec<String>) {
    let mut until = Time::ZERO;
    while !run.is_over() {
        until += step;
        run.advance(until).unwrap();
    }
    let (finished, mut over) = run.finish().unwrap();
    let rows = Series::ALL.map(|series| format!("{:?}", over.rows.take(series)));
    (finished, rows.to_vec())
}

#[test]
fn slices_change_no_byte() {
    let at_once = whole(open(&[]).unwrap(), Time::from_secs(10));
    assert!(at_once.1.iter().all(|rows| rows.len() > 1_000));
    for step in [
        Time::from_micros(1_700),
        Time::from_millis(100),
        Time::from_millis(333),
    ] {
        assert!(whole(open(&[]).unwrap(), step) == at_once, "{step}");
    }
}

#[test]
fn the_first_seed_is_taken_unless_another_is_asked_for() {
    assert_eq!(open(&[]).unwrap().seed(), 7);
    let other = Watched::open(
        "small.toml",
        TEXT,
        &[],
        Some(9),
        Preparation::default(),
        Budget::PAGE,
    )
    .unwrap();
    assert_eq!(other.seed(), 9);
    let step = Time::from_secs(10);
    assert!(whole(other, step).0 != whole(open(&[]).unwrap(), step).0);
}

#[test]
fn a_run_that_is_left_early_has_the_figures_of_the_time_that_it_ran() {
    let mut run = open(&[]).unwrap();
    let reached = run.advance(Time::from_millis(2_345)).unwrap();
    assert_eq!(reached, Time::from_millis(2_345));
    let (finished, _) = run.finish().unwrap();
    let summary: serde_json::Value = serde_json::from_str(&finished.summary).unwrap();
    assert_eq!(summary["partial"], true);
    assert_eq!(summary["duration_s"], 2.345);
}

#[test]
fn what_is_refused_is_said_in_words() {
    let error = |changes: &[&str]| open(changes).unwrap_err().to_string();
    assert!(error(&["link.rate"]).contains("must be KEY=VALUE"));
    assert!(error(&["link.rate=fast"]).contains("--set link.rate=fast"));
    let small = Budget(Bytes::new(20_000_000));
    let refused =
        Watched::open("small.toml", TEXT, &[], None, Preparation::default(), small).unwrap_err();
    assert!(
        refused.to_string().contains("a page gives it 20 MB"),
        "{refused}"
    );
}

#[test]
fn of_several_links_each_has_its_rows_and_packets_and_changes_by_its_name() {
    let two = TEXT.replacen(
        "[link]",
        "[[link]]\nname = \"line\"\nrate = \"9mbit\"\nqueue = \"pie\"\n[[link]]\nname = \"wifi\"",
        1,
    );
    let preparation = Preparation::default();
    let mut run = Watched::open("two.toml", &two, &[], None, preparation, Budget::PAGE).unwrap();
    let about = run.about();
    let links = json!([
        {
            "name": "line", "rate": "9mbit", "queue": "pie", "queues": ["queue"],
            "reverse_queue": "fifo", "reverse_queues": ["queue"],
            "overhead_bytes": [0, 0], "rates": [[[0, 9_000_000]], [[0, null]]],
        },
        {
            "name": "wifi", "rate": "10mbit", "queue": "dualpi2", "queues": ["l4s", "classic"],
            "reverse_queue": "fifo", "reverse_queues": ["queue"],
            "overhead_bytes": [0, 0], "rates": [[[0, 10_000_000]], [[0, null]]],
        },
    ]);
    assert_eq!(about["links"], links);
    assert_eq!(about["paths"], json!([[0, 1], [0, 1]]));
    // The longest mean delay of the rows of each link since the last call, in ms.
    let waited = |run: &mut Watched| {
        let place = |name: &str| {
            let columns = Series::Queues.columns();
            columns.iter().position(|one| one.name == name).unwrap()
        };
        let count = run.rows().waiting(Series::Queues);
        let rows = run.rows().take(Series::Queues);
        let column = |name: &str| &rows[place(name) * count..][..count];
        [0.0, 1.0].map(|hop| {
            let rows = column("hop").iter().zip(column("delay_mean_ns"));
            let here = rows.filter(|(of, delay)| **of == hop && !delay.is_nan());
            here.map(|(_, delay)| delay / 1e6).fold(0.0, f64::max)
        })
    };
    run.advance(Time::from_secs(3)).unwrap();
    let [line, wifi] = waited(&mut run);
    assert!(line > 5.0 && line > 4.0 * wifi, "{line} {wifi}");
    let (count, columns) = run.packets();
    let hops = &columns[7 * count..8 * count];
    assert!(hops.contains(&0.0) && hops.contains(&1.0));
    run.change("link.wifi.rate", "3mbit").unwrap();
    run.advance(Time::from_secs(4)).unwrap();
    let _ = waited(&mut run);
    run.advance(Time::from_secs(6)).unwrap();
    let [line, wifi] = waited(&mut run);
    assert!(wifi > 5.0 && wifi > 4.0 * line, "{line} {wifi}");
}

/// The rows of a run that is changed at 2 s and 4 s, and of the scenario that it says repeats it.
fn changed(first: [&str; 2], second: [&str; 2], preparation: Preparation) -> [Vec<String>; 2] {
    let mut run = Watched::open("small.toml", TEXT, &[], None, preparation, Budget::PAGE).unwrap();
    for (at, [key, value]) in [(2, first), (4, second)] {
        run.advance(Time::from_secs(at)).unwrap();
        run.change(key, value).unwrap();
    }
    let text = run.scenario().to_toml();
    let again = Watched::open("again.toml", &text, &[], None, preparation, Budget::PAGE).unwrap();
    let step = Time::from_millis(50);
    [run, again].map(|run| {
        let (_, rows) = whole(run, step);
        rows
    })
}

#[test]
fn what_a_watcher_changes_is_a_scenario_that_gives_the_same_rows() {
    for (first, second) in [
        (["link.rate", "4mbit"], ["link.rate", "12mbit"]),
        (
            ["link.impair.loss", "0.02"],
            ["link.impair.duplicate", "0.1"],
        ),
        (["group.l4s.rtt", "4ms"], ["group.l4s.rtt", "8ms"]),
        (["link.queue.target", "5ms"], ["link.rate", "6mbit"]),
        (["group.l4s.count", "0"], ["link.rate", "6mbit"]),
        (["group.l4s.count", "0"], ["group.l4s.count", "2"]),
    ] {
        let preparation = Preparation {
            flows: 2,
            rate: None,
        };
        let [run, again] = changed(first, second, preparation);
        // Flows that the scenario names have lower numbers than those that there is only room for.
        let series = if first[0] == second[0] && first[1] == "0" {
            1
        } else {
            3
        };
        assert!(run[..series] == again[..series], "{first:?} {second:?}");
        assert!(run != whole(open(&[]).unwrap(), Time::from_secs(10)).1);
    }
}

#[test]
fn a_change_that_cannot_be_made_changes_nothing() {
    let mut run = open(&[]).unwrap();
    run.advance(Time::from_secs(2)).unwrap();
    let before = run.scenario().to_toml();
    for (key, value, why) in [
        ("link.rate", "fast", "link.rate"),
        ("group.l4s.mss", "600B", "mss"),
        ("group.nobody.count", "2", "nobody"),
        (
            "group.l4s.count",
            "5",
            "more flows than this run is prepared for",
        ),
    ] {
        let error = run.change(key, value).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(run.scenario().to_toml(), before);
    let step = Time::from_millis(50);
    assert!(whole(run, step) == whole(open(&[]).unwrap(), step));
}

/// Every packet of the summary is among those that were seen, with its queue, its group and what it waited.
#[test]
fn packets_are_those_of_the_summary() {
    let mut run = open(&["run.warmup=0s"]).unwrap();
    let names = run.about();
    assert_eq!(names["links"][0]["queues"], json!(["l4s", "classic"]));
    let (mut counts, mut waited, mut marked, mut dropped) = ([0.0; 2], [0.0; 2], 0.0, 0.0);
    let (mut until, mut reverse) = (Time::ZERO, 0);
    while !run.is_over() {
        until += Time::from_millis(200);
        run.advance(until).unwrap();
        let (count, columns) = run.packets();
        let column = |place: usize| &columns[place * count..(place + 1) * count];
        for row in 0..count {
            assert!(column(0)[row] <= until.as_nanos() as f64);
            assert_eq!(column(6)[row], 1.0, "a slice is too short for a sample");
            if column(8)[row] == 1.0 {
                reverse += 1;
                continue;
            }
            if column(5)[row] == 2.0 {
                dropped += 1.0;
                continue;
            }
            let queue = column(2)[row] as usize;
            // The group of the L4S queue is the first.
            assert_eq!(column(3)[row], queue as f64);
            counts[queue] += 1.0;
            waited[queue] += column(1)[row];
            let is_marked = column(5)[row] == 1.0;
            marked += f64::from(u8::from(is_marked));
            let (left, wait, mark) = (column(0)[row], column(1)[row], column(9)[row]);
            let while_here = (left - wait..=left).contains(&mark);
            assert_eq!(while_here, is_marked, "{left} {wait} {mark}");
        }
    }
    let (files, _) = run.finish().unwrap();
    let summary: Value = serde_json::from_str(&files.summary).unwrap();
    let queues = summary["queues"].as_array().unwrap().clone();
    let sum = |key: &str| {
        queues
            .iter()
            .map(|queue| queue[key].as_f64().unwrap())
            .sum::<f64>()
    };
    for (place, queue) in queues.iter().enumerate() {
        assert_eq!(queue["packets"].as_f64(), Some(counts[place]));
    }
    assert!(dropped + marked > 0.0, "{summary}");
    assert_eq!(sum("marked"), marked);
    assert_eq!(sum("dropped"), dropped);
    assert!(reverse > 100, "{reverse} acknowledgements");
    assert!(waited.iter().all(|waited| *waited > 0.0));
}
