//! Applications over real TCP in virtual time, beside the simulator: the same code over modelled and real hosts.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;

use crate::idle_items::{END_OF_LINUX, LAST_BYTE, SCENARIO, assert_complete, medians};
use crate::stage::Stage;

/// In ms. The closed form counts the last packet as a full one (0.07 ms for 1 kB) and is rounded to 0.1 ms.
const TOLERANCE: f64 = 0.13;

#[test]
fn items_over_an_idle_link_take_what_a_closed_form_says() {
    let Some(stage) = Stage::new("items_over_an_idle_link_take_what_a_closed_form_says") else {
        return;
    };
    fs::write(stage.path().join("items.toml"), SCENARIO).unwrap();
    for world in ["sim", "virtual"] {
        let mut command = stage.quell(&["run", "items.toml", "--json", "--world", world]);
        let output = command.args(["--out", world]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{world}: {said}");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_complete(&summary);
        let check = |figure, expected: [f64; 4]| {
            let found = medians(&summary, figure);
            let is_close = |(found, expected): (&f64, &f64)| (found - expected).abs() < TOLERANCE;
            assert!(
                found.iter().zip(&expected).all(is_close),
                "{world}, {figure}: {found:?} instead of {expected:?}"
            );
        };
        check("completion_last_byte_ms", LAST_BYTE);
        if world == "virtual" {
            check("completion_ms", END_OF_LINUX);
        }
    }
}

/// Items whose rate changes to 0, to more and to less.
const CHANGING: &str = r#"schema = 1
name = "changing"
[link]
rate = "40mbit"
queue = { kind = "fifo", limit = "1s" }
[[group]]
name = "user"
count = 2
rtt = "7ms"
app = { kind = "web", rate = 20 }
[[at]]
time = "2s"
set = { "group.user.app.rate" = 0 }
[[at]]
time = "3s"
set = { "group.user.app.rate" = 100 }
[[at]]
time = "5s"
set = { "group.user.app.rate" = 5 }
[run]
duration = "8s"
warmup = "0s"
"#;

/// Flow, number, size and time of asking of each item, in the order of the first three.
fn items(folder: &Path) -> Vec<(String, u64, u64, u64)> {
    let file = File::open(folder.join("events.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr();
    let place = |name: &str| {
        let mut all = columns.columns().iter();
        all.position(|column| column.name() == name).unwrap()
    };
    let places = ["flow", "number", "size_bytes", "started_ns"].map(place);
    let mut items: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            let number = |column: usize| {
                row.get_ulong(column)
                    .or(row.get_long(column).map(|n| n as u64))
            };
            let flow = row.get_column_iter().nth(places[0]).unwrap().1.to_string();
            let [_, number, size, started] = places.map(|column| number(column).unwrap_or(0));
            (flow, number, size, started)
        })
        .collect();
    items.sort_unstable();
    items
}

#[test]
fn items_of_a_changing_rate_are_the_same_as_in_the_simulator() {
    let Some(stage) = Stage::new("items_of_a_changing_rate_are_the_same_as_in_the_simulator")
    else {
        return;
    };
    fs::write(stage.path().join("changing.toml"), CHANGING).unwrap();
    let [sim, real] = ["sim", "virtual"].map(|world| {
        let mut command = stage.quell(&["run", "changing.toml", "--world", world]);
        let output = command.args(["--out", world]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{world}: {said}");
        items(&stage.path().join(world))
    });
    // Of two users 40 before the first change, 200 a second from 3 s on, and 15 at the end.
    assert!((300..700).contains(&sim.len()), "{}", sim.len());
    let plan = |items: &[(String, u64, u64, u64)]| -> Vec<_> {
        let all = items.iter();
        all.map(|(flow, number, size, _)| (flow.clone(), *number, *size))
            .collect()
    };
    assert_eq!(plan(&sim), plan(&real));
    for (planned, found) in sim.iter().zip(&real) {
        // A host asks when it has woken.
        assert!(
            planned.3.abs_diff(found.3) < 2_000_000,
            "{planned:?} {found:?}"
        );
    }
    let quiet = sim
        .iter()
        .filter(|item| (2_000_000_000..3_000_000_000).contains(&item.3));
    assert_eq!(quiet.count(), 0);
}
