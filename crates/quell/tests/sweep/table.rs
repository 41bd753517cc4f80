//! What a table says.

use std::fs;
use std::process::Command;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;

use crate::sweep::support::{CELLS, Place, QUELL, SWEEP};

/// A CSV without quotes: the names of the columns, and the rows.
fn csv(text: &str) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

fn column<'a>(names: &[&str], rows: &[Vec<&'a str>], name: &str) -> Vec<&'a str> {
    let index = names.iter().position(|one| *one == name);
    let index = index.unwrap_or_else(|| panic!("there is no {name}"));
    rows.iter().map(|row| row[index]).collect()
}

fn numbers(texts: &[&str]) -> Vec<f64> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_row_per_cell_has_its_parameters_and_the_figures_of_its_summary() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store s");
    let said = place.ok("table s --out t.csv");
    assert!(said.starts_with(&format!("{CELLS} rows, ")), "{said}");
    let text = fs::read_to_string(place.path("t.csv")).unwrap();
    let (names, rows) = csv(&text);
    assert_eq!(rows.len(), CELLS);
    // A report of the store has a result for each point, over its seeds.
    let mut report = Command::new(QUELL);
    let report = report.args(["report", "s", "-o", "r.html"]);
    let ended = report.current_dir(place.path("")).output().unwrap();
    let page = fs::read_to_string(place.path("r.html")).unwrap();
    assert!(
        ended.status.success() && page.contains("13 results ("),
        "{page}"
    );
    assert_eq!(
        names[..11],
        [
            "cell",
            "experiment",
            "link.rate",
            "link.rate_bps",
            "group.*.rtt",
            "group.*.rtt_ms",
            "link.queue",
            "group.a.congestion-control",
            "group.a.count",
            "run.duration",
            "run.duration_ms"
        ]
    );
    assert_eq!(
        rows[0][1..9],
        [
            "",
            "2mbit",
            "2000000",
            "10ms",
            "10",
            "pie",
            "cubic:beta=0.8",
            "1"
        ]
    );
    assert_eq!(rows[CELLS - 1][1..3], ["short", ""]);
    assert_eq!(rows[CELLS - 1][10], "700");
    for values in &rows {
        let cell = place.path("s/cells").join(&values[0][..2]).join(values[0]);
        let summary = fs::read_to_string(cell.join("summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let of = |name: &str| {
            let index = names.iter().position(|one| *one == name)?;
            values[index].parse::<f64>().ok()
        };
        assert_eq!(of("seed"), summary["seed"].as_f64());
        assert_eq!(
            of("link.utilisation"),
            summary["link"]["utilisation"].as_f64()
        );
        assert_eq!(
            of("group.voice.delay_ms.p99"),
            summary["groups"][1]["delay_ms"]["p99"].as_f64()
        );
        let goodput = summary["groups"][0]["goodput_bps"].as_array().unwrap();
        let total: f64 = goodput.iter().filter_map(Value::as_f64).sum();
        assert_eq!(of("group.a.goodput_bps.total"), Some(total));
        for queue in summary["queues"].as_array().unwrap() {
            let p99 = of(&format!(
                "queue.{}.delay_ms.p99",
                queue["name"].as_str().unwrap()
            ));
            assert_eq!(p99, queue["delay_ms"]["p99"].as_f64());
        }
    }
    place.ok("table s --out t.parquet");
    let reader =
        SerializedFileReader::new(fs::File::open(place.path("t.parquet")).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata();
    let columns = schema
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned());
    assert_eq!(columns.collect::<Vec<_>>(), names);
    assert_eq!(schema.num_rows() as usize, CELLS);
}

/// Computed a second time here, from the table of cells.
#[test]
fn a_row_over_seeds_has_mean_error_and_interval() {
    let place = Place::new(&SWEEP.replace("count = 2 }", "count = 4 }"));
    place.ok("s.toml --store s");
    place.ok("table s --out cells.csv");
    place.ok("table s --out points.csv --over-seeds --confidence 0.9");
    let texts =
        ["cells.csv", "points.csv"].map(|name| fs::read_to_string(place.path(name)).unwrap());
    let ((names, cells), (means, points)) = (csv(&texts[0]), csv(&texts[1]));
    assert_eq!(points.len(), CELLS / 2);
    for figure in [
        "link.utilisation",
        "group.a.goodput_bps.mean",
        "queue.queue.delay_ms.p99",
    ] {
        let all = column(&names, &cells, figure);
        for (row, seeds) in all.chunks(4).enumerate() {
            let of = |part: &str| column(&means, &points, &format!("{figure}{part}"))[row];
            if seeds.contains(&"") {
                assert_eq!((of(""), of(".low")), ("", ""));
                continue;
            }
            let values = numbers(seeds);
            let mean = values.iter().sum::<f64>() / 4.0;
            let squares: f64 = values
                .iter()
                .map(|value| (value - mean) * (value - mean))
                .sum();
            let error = (squares / 3.0 / 4.0).sqrt();
            // t(0.9, 3) of every table.
            let expected = [mean, error, mean - 2.353 * error, mean + 2.353 * error];
            let found = numbers(&["", ".standard_error", ".low", ".high"].map(of));
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() <= 1e-3 * error + 1e-9 * mean.abs(),
                    "{figure}: {found} {expected}"
                );
            }
        }
    }
    // The percentile of all packets lies between those of the seeds.
    let p99 = "group.voice.delay_ms.p99";
    let all = numbers(&column(&names, &cells, p99));
    let pooled = numbers(&column(&means, &points, &format!("{p99}.pooled")));
    for (seeds, pooled) in all.chunks(4).zip(pooled) {
        let (low, high) = (
            seeds.iter().fold(f64::MAX, |a, b| a.min(*b)),
            seeds.iter().fold(0.0, |a: f64, b| a.max(*b)),
        );
        assert!(
            (low * 0.998..=high * 1.002).contains(&pooled),
            "{seeds:?} {pooled}"
        );
    }
    assert_eq!(column(&means, &points, "seeds"), vec!["4"; points.len()]);
}

#[test]
fn the_objective_marks_the_rows_that_no_other_beats() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store s");
    place.ok("table s --out t.csv");
    let text = fs::read_to_string(place.path("t.csv")).unwrap();
    let (names, rows) = csv(&text);
    let (delay, used) = ("queue.*.delay_ms.p99", "link.utilisation");
    let values = |name: &str| numbers(&column(&names, &rows, name));
    let (delay, used, seeds) = (values(delay), values(used), values("seed"));
    let marks = column(&names, &rows, "not_dominated");
    for row in 0..rows.len() {
        let beats = |other: usize| {
            let as_good = delay[other] <= delay[row] && used[other] >= used[row];
            as_good
                && seeds[other] == seeds[row]
                && (delay[other] < delay[row] || used[other] > used[row])
        };
        let best = !(0..rows.len()).any(beats);
        assert_eq!(marks[row], best.to_string(), "{row}");
    }
    assert!(marks.contains(&"true") && marks.contains(&"false"));
}

#[test]
fn columns_are_chosen_by_name() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store s");
    place.ok("table s --columns seed,queue.*.delay_ms.p99 --out t.csv");
    let text = fs::read_to_string(place.path("t.csv")).unwrap();
    assert_eq!(
        csv(&text).0,
        [
            "seed",
            "queue.queue.delay_ms.p99",
            "queue.classic.delay_ms.p99",
            "queue.*.delay_ms.p99"
        ]
    );
    let said = place.fails(2, "table s --columns link.utilization");
    assert!(said.contains("did you mean link.utilisation?"), "{said}");
    assert!(
        place
            .fails(2, "table s --out t.xlsx")
            .contains("must end with .csv or .parquet")
    );
    assert!(
        place
            .fails(2, "table s --confidence 0.9")
            .contains("--over-seeds")
    );
    let printed = place.ok("table s");
    assert!(
        printed.contains("short") && printed.lines().all(|line| line.chars().count() <= 80),
        "{printed}"
    );
}
