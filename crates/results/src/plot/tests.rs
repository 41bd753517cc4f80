use std::path::Path;

use super::drawing::{Anchor, Drawing, Item};
use super::*;
use crate::parquet_table::{Values, write_parquet};

fn texts(values: &[&str]) -> Values {
    Values::Texts(values.iter().map(|text| Some((*text).to_owned())).collect())
}

fn integers(values: impl IntoIterator<Item = Option<i64>>) -> Values {
    Values::Integers(values.into_iter().collect())
}

/// A result of two queues and two groups with these mean delays in ms, ten rows each; everything by hand.
fn result(folder: &Path, seed: u64, delays: [i64; 2]) {
    std::fs::create_dir_all(folder).unwrap();
    let queue = |name: &str, marked: u64, dropped: u64| {
        serde_json::json!({
            "name": name, "direction": "forward", "packets": 1000, "marked": marked, "dropped": dropped,
            "marks": { "step": marked, "aqm": 0 }, "drops": { "limit": dropped, "aqm": 0 },
        })
    };
    let group =
        |name| serde_json::json!({ "name": name, "app": { "kind": "bulk" }, "goodput_bps": [3e6] });
    let groups = ["l4s", "classic"].map(group);
    let summary = serde_json::json!({
        "schema": 1, "scenario": "made", "world": "sim", "seed": seed, "warmup_s": 2.0,
        "queues": [queue("l4s", 250, 0), queue("classic", 0, 20)],
        "groups": groups,
        "phases": [{ "start_s": 2.0, "end_s": 5.0 }, { "start_s": 5.0, "end_s": 10.0 }],
    });
    std::fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    let of = |name: &str, delay: i64| {
        let delay = delay as u64 * 1_000_000;
        serde_json::json!({
            "name": name, "direction": "forward", "delay_ns": [[delay / 2, 90], [delay, 9], [delay * 4, 1]],
            "backlog_at_dequeue_bytes": [[0, 50], [1500, 30], [3001, 20]],
        })
    };
    let both = || vec![of("l4s", delays[0]), of("classic", delays[1])];
    let histograms = serde_json::json!({ "schema": 1, "queues": both(), "groups": both() });
    std::fs::write(folder.join("histograms.json"), histograms.to_string()).unwrap();
    let rows = || (0..20).map(|row| (row / 2 + 1, row % 2));
    let names: Vec<&str> = rows()
        .map(|(_, one)| ["l4s", "classic"][one as usize])
        .collect();
    let times = || integers(rows().map(|(time, _)| Some(time * 1_000_000_000)));
    let column = |name: &str, values: Values| (name.to_owned(), values);
    let delay = |(time, one): (i64, i64)| (time != 4).then(|| delays[one as usize] * 1_000_000);
    let queues = [
        column("time_ns", times()),
        column("direction", texts(&["forward"; 20])),
        column("queue", texts(&names)),
        column("packets", integers(rows().map(|_| Some(100)))),
        column(
            "marked",
            integers(rows().map(|(_, one)| Some(25 * (1 - one)))),
        ),
        column("dropped", integers(rows().map(|(_, one)| Some(2 * one)))),
        column("delay_mean_ns", integers(rows().map(delay))),
        column("length_ns", integers(rows().map(|_| Some(1_000_000_000)))),
        column("backlog_bytes", integers(rows().map(|_| Some(1_500)))),
    ];
    write_parquet(&folder.join("queues.parquet"), &queues).unwrap();
    let flows = [
        column("time_ns", times()),
        column("group", texts(&names)),
        column("flow", integers(rows().map(|(_, one)| Some(one)))),
        column(
            "goodput_bps",
            Values::Reals(
                rows()
                    .map(|(_, one)| Some(3e6 + 2e6 * one as f64))
                    .collect(),
            ),
        ),
        column(
            "congestion_window_bytes",
            integers(rows().map(|(time, _)| Some(time * 1_448))),
        ),
    ];
    write_parquet(&folder.join("flows.parquet"), &flows).unwrap();
    let item = |value: i64| integers([Some(value), Some(value), Some(value)]);
    let events = [
        column("group", texts(&["web", "web", "film"])),
        column("flow", item(2)),
        column("kind", texts(&["item", "item", "segment"])),
        column("started_ns", item(3_000_000_000)),
        column("ended_ns", item(3_250_000_000)),
        column("size_bytes", item(10_000)),
        column("outcome", texts(&["complete", "failed", "complete"])),
        column("value", item(4)),
    ];
    write_parquet(&folder.join("events.parquet"), &events).unwrap();
}

fn sources(paths: &[std::path::PathBuf]) -> Vec<Source> {
    read(paths).unwrap()
}

/// Where a text is: left, top, right, bottom.
fn place(item: &Item) -> Option<(f64, f64, f64, f64)> {
    let Item::Text {
        at,
        text,
        size,
        anchor,
        is_upright,
        ..
    } = item
    else {
        return None;
    };
    let wide = super::text::width(text, *size);
    let from = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -wide / 2.0,
        Anchor::End => -wide,
    };
    Some(match is_upright {
        // Turned to the left: it goes upwards.
        true => (
            at.0 - size,
            at.1 - from - wide,
            at.0 + size * 0.2,
            at.1 - from,
        ),
        false => (
            at.0 + from,
            at.1 - size * 0.8,
            at.0 + from + wide,
            at.1 + size * 0.2,
        ),
    })
}

fn assert_texts_are_apart(drawing: &Drawing) {
    let places: Vec<_> = drawing.items.iter().filter_map(place).collect();
    for (index, a) in places.iter().enumerate() {
        assert!(a.0 >= 0.0 && a.1 >= 0.0, "{a:?} is cut");
        assert!(
            a.2 <= drawing.width && a.3 <= drawing.height,
            "{a:?} is cut"
        );
        for b in &places[index + 1..] {
            let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
            assert!(apart, "{a:?} and {b:?} in {:?}", drawing.items);
        }
    }
}

#[test]
fn every_kind_draws_its_series_with_axes_and_units_and_no_text_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    result(&one, 1, [1, 20]);
    result(&two, 2, [2, 90]);
    for (paths, many) in [(vec![one.clone()], 1), (vec![one.clone(), two.clone()], 2)] {
        let sources = sources(&paths);
        for kind in KINDS {
            let figure = figure(kind.name, &sources).unwrap();
            let drawing = layout::lay_out(&figure);
            assert_texts_are_apart(&drawing);
            let svg = svg(&figure, "t");
            for panel in &figure.panels {
                assert!(
                    panel.series.len() >= many.min(panel.series.len().max(1)),
                    "{}",
                    kind.name
                );
                assert!(
                    svg.contains(&format!(">{}</text>", panel.y.text())),
                    "{}",
                    kind.name
                );
            }
            let pdf = pdf(&figure);
            assert!(pdf.starts_with(b"%PDF-1") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
            let drawn = svg.matches("data-series=").count();
            let wanted: usize = figure.panels.iter().map(|panel| panel.series.len()).sum();
            assert_eq!(drawn, wanted, "{}", kind.name);
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{}",
                kind.name
            );
            assert!(
                !svg.contains("http") || svg.matches("http").count() == 1,
                "asks for nothing"
            );
        }
        // Nobody feels anything without a scenario.
        let overview = figure("overview", &sources).unwrap();
        assert_eq!(overview.panels.len(), 3);
        assert_texts_are_apart(&layout::lay_out(&overview));
    }
}

#[test]
fn points_are_the_values_of_the_result() {
    let folder = tempfile::tempdir().unwrap();
    result(folder.path(), 1, [1, 20]);
    let sources = sources(&[folder.path().to_owned()]);
    let delay = figure("delay", &sources).unwrap();
    let panel = &delay.panels[0];
    assert_eq!(panel.series[1].label, "classic");
    assert_eq!(panel.series[1].points[0], (1.0, 20.0));
    assert!(
        panel.series[1].points[3].1.is_nan(),
        "a queue without packets has no delay"
    );
    let shades: Vec<(f64, f64)> = panel.shades.iter().map(|one| (one.from, one.to)).collect();
    assert_eq!(shades, [(0.0, 2.0), (5.0, 10.0)]);
    // 90 of 100 packets at half the delay, 9 at the delay, 1 at four times.
    let cdf = figure("cdf", &sources).unwrap();
    assert_eq!(
        cdf.panels[0].series[0].points,
        [(0.5, 90.0), (1.0, 99.0), (4.0, 100.0)]
    );
    let ccdf = figure("ccdf", &sources).unwrap();
    assert_eq!(ccdf.panels[0].series[1].points, [(10.0, 10.0), (20.0, 1.0)]);
    let rates = figure("rates", &sources).unwrap();
    let share = rates.panels[0].series.last().unwrap();
    assert_eq!(
        (share.label.as_str(), share.points[0]),
        ("equal share", (1.0, 4.0))
    );
    let signals = figure("signals", &sources).unwrap();
    let labels: Vec<&str> = signals.panels[0]
        .series
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["l4s marked", "classic dropped"]);
    assert_eq!(signals.panels[0].series[0].points[0].1, 25.0);
    let reasons = figure("reasons", &sources).unwrap();
    assert_eq!(reasons.panels.len(), 2);
    assert_eq!(reasons.panels[0].x.words, ["step"]);
    assert_eq!(reasons.panels[0].series[0].points, [(0.0, 25.0)]);
    let backlog = figure("backlog", &sources).unwrap();
    assert_eq!(backlog.panels[0].series[0].label, "l4s (p = 25 %)");
    let shares: Vec<f64> = backlog.panels[0].series[0]
        .points
        .iter()
        .map(|(_, share)| *share)
        .collect();
    assert_eq!(shares[..3], [50.0, 30.0, 20.0]);
    let completion = figure("completion", &sources).unwrap();
    assert_eq!(completion.panels[0].series[0].points, [(10.0, 250.0)]);
    assert!(completion.panels[0].title.contains("1 did not end"));
    let levels = figure("levels", &sources).unwrap();
    assert_eq!(levels.panels[0].series[0].points, [(3.0, 4.0)]);
}

/// Worked by hand: of each interval the end, the packets, marks and drops, and the backlog at the end, in packets of 1500 bytes. The
/// warm-up ends at 2 s.
#[test]
fn the_probability_at_a_backlog_is_that_of_the_intervals_with_this_backlog() {
    let folder = tempfile::tempdir().unwrap();
    result(folder.path(), 1, [1, 20]);
    let rows = [
        // In the warm-up, though it ends behind it.
        (1_000, 100, 100, 0, 0),
        (2_500, 100, 100, 0, 0),
        // Mean backlogs of 1, 1, and 2 packets.
        (3_500, 100, 10, 0, 2),
        (4_500, 98, 0, 2, 0),
        (5_500, 200, 60, 0, 4),
        // Of 3, with too few packets; and of 1 again.
        (6_500, 99, 99, 0, 2),
        (7_500, 100, 20, 0, 0),
    ];
    let numbers =
        |of: fn(&(i64, i64, i64, i64, i64)) -> i64| integers(rows.iter().map(|row| Some(of(row))));
    let column = |name: &str, values: Values| (name.to_owned(), values);
    let queues = [
        column("time_ns", numbers(|row| row.0 * 1_000_000)),
        column("length_ns", numbers(|_| 1_000_000_000)),
        column("direction", texts(&["forward"; 7])),
        column("queue", texts(&["l4s"; 7])),
        column("packets", numbers(|row| row.1)),
        column("marked", numbers(|row| row.2)),
        column("dropped", numbers(|row| row.3)),
        column("backlog_bytes", numbers(|row| row.4 * 1_500)),
    ];
    let path = folder.path().join("queues.parquet");
    std::fs::remove_file(&path).unwrap();
    write_parquet(&path, &queues).unwrap();
    let drawn = figure("backlog", &sources(&[folder.path().to_owned()])).unwrap();
    let panel = &drawn.panels[0];
    assert_eq!(
        panel.right.as_ref().unwrap().text(),
        "marked or dropped (p), %"
    );
    let right: Vec<&Series> = panel
        .series
        .iter()
        .filter(|series| series.is_right)
        .collect();
    assert_eq!(right.len(), 1, "the other queue has no interval");
    assert_eq!(right[0].label, "l4s p at this backlog");
    // 10 + 2 + 20 of 100 + 100 + 100, and 60 of 200.
    let points = [(1.5, 100.0 * 32.0 / 300.0), (3.0, 30.0)];
    assert_eq!(right[0].points, points);
    let same = panel.series.iter().find(|series| series.of == right[0].of);
    let same = same.unwrap();
    assert_eq!(same.color, right[0].color);
    assert_ne!(same.dashes, right[0].dashes);
    // The axis at the right has its own numbers, within the panel's place.
    let drawing = layout::lay_out(&drawn);
    let (frame, _) = drawing.panels[0];
    let beside = drawing.items.iter().filter_map(place);
    let beside = beside
        .filter(|(left, top, ..)| *left > frame.left + frame.width && *top > frame.top - 12.0);
    assert!(beside.clone().count() >= 4);
    assert!(
        beside
            .map(|(.., right, _)| right)
            .all(|right| right <= drawing.width)
    );
}

#[test]
fn seeds_are_one_result_and_what_differs_names_results() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in [("a/seed10", 10), ("a/seed2", 2), ("b", 1)] {
        result(&folder.path().join(name), seed, [1, 20]);
    }
    let both = sources(&[folder.path().to_owned()]);
    let labels: Vec<&str> = both.iter().map(|source| source.label.as_str()).collect();
    assert_eq!(labels, ["2 seeds", "seed 1"]);
    assert_eq!(both[0].runs[0].summary["seed"], 2);
    // Counts of both seeds are one distribution.
    let cdf = figure("cdf", &both[..1]).unwrap();
    assert_eq!(cdf.panels[0].series[0].points[0], (0.5, 90.0));
    let same = sources(&[folder.path().join("b"), folder.path().join("b")]);
    assert_eq!(same[0].label, "b");
    assert_eq!(sources(&[folder.path().join("b")])[0].label, "");
}

#[test]
fn many_lines_are_a_frame_for_each_result_with_the_same_axes() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=4 {
        let delays = [1, 20 * seed as i64];
        result(&folder.path().join(format!("{seed}")), seed, delays);
    }
    let figure = figure("ccdf", &sources(&[folder.path().to_owned()])).unwrap();
    let titles: Vec<&str> = figure.panels.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["seed 1", "seed 2", "seed 3", "seed 4"]);
    let drawing = layout::lay_out(&figure);
    assert_texts_are_apart(&drawing);
    assert!(
        drawing
            .panels
            .iter()
            .all(|one| one.1 == drawing.panels[0].1)
    );
    for panel in &figure.panels {
        assert_eq!(panel.y.ends, figure.panels[0].y.ends);
        let lines: Vec<_> = panel
            .series
            .iter()
            .map(|one| (&*one.label, one.color))
            .collect();
        assert_eq!(
            lines,
            [("l4s", palette::L4S), ("classic", palette::CLASSIC)]
        );
    }
}

#[test]
fn what_is_no_result_or_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &Path, kind: &str| {
        let sources = read(&[path.to_owned()]);
        let drawn = sources.and_then(|sources| figure(kind, &sources));
        drawn.unwrap_err().to_string()
    };
    let empty = said(folder.path(), "delay");
    assert!(
        empty.contains("is no result: it has neither summary.json"),
        "{empty}"
    );
    let missing = said(&folder.path().join("none"), "delay");
    assert!(
        missing.contains("cannot read") && missing.contains("none"),
        "{missing}"
    );
    let result_folder = folder.path().join("r");
    result(&result_folder, 1, [1, 2]);
    assert!(
        said(&result_folder, "pie").contains("there is no kind pie; there are overview, delay")
    );
    std::fs::remove_file(result_folder.join("events.parquet")).unwrap();
    assert!(said(&result_folder, "completion").contains("no web item ended"));
    std::fs::write(result_folder.join("queues.parquet"), "cut").unwrap();
    assert!(said(&result_folder, "delay").contains("queues.parquet: "));
    std::fs::write(result_folder.join("summary.json"), "{").unwrap();
    assert!(said(&result_folder, "delay").contains("summary.json: it is no JSON"));
}

/// Names come from scenarios: they cannot break out of the file.
#[test]
fn names_are_texts_and_nothing_else() {
    let axis = || Axis::new("<x>", "");
    let mut panel = Panel::new("a & b\u{1b}", axis(), axis());
    let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)];
    let label = "\"/><script>alert(1)</script>";
    let of = (300, String::new());
    panel.series = vec![Series::new(label, of, Mark::Line, points)];
    let figure = Figure {
        title: "t".to_owned(),
        panels: vec![panel],
        columns: 1,
    };
    let svg = svg(&figure, "t");
    assert!(!svg.contains("<script") && !svg.contains('\u{1b}'));
    assert!(svg.contains("a &amp; b\u{fffd}") && svg.contains("&lt;x&gt;"));
    // The gap breaks the line in two points.
    assert!(svg.contains("h0M"), "{svg}");
}
