//! Byte for byte the same, whoever ran which part when.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::sweep::support::{CELLS, Place, SWEEP, cells};

#[test]
fn jobs_and_shards_in_any_order_give_the_same_store_and_table() {
    let place = Place::new(SWEEP);
    let said = place.ok("s.toml --store one --jobs 1");
    assert!(
        said.starts_with(&format!("{CELLS} cells, {CELLS} ran: results in one")),
        "{said}"
    );
    let (store, tables) = (place.tree("one"), place.tables("one"));
    assert_eq!(cells(&store), CELLS);
    assert!(
        place
            .ok("s.toml --store one")
            .starts_with(&format!("{CELLS} cells, {CELLS} were there, 0 ran"))
    );
    place.ok("s.toml --store two --jobs 2");
    assert!(place.tree("two") == store);
    // Into stores of their own, merged in another order, and into one.
    for shard in [3, 1, 2] {
        place.ok(&format!("s.toml --store part{shard} --shard {shard}/3"));
        place.ok(&format!("s.toml --store same --shard {shard}/3"));
    }
    assert!(place.tree("same") == store);
    let parts = [1, 2, 3].map(|shard| cells(&place.tree(&format!("part{shard}"))));
    assert_eq!(parts.iter().sum::<usize>(), CELLS);
    assert!(parts.iter().all(|&part| part > 5), "{parts:?}");
    place.ok("merge all part2 part3");
    let said = place.ok("merge all part1 part2");
    assert!(said.contains(&format!("{} were there", parts[1])), "{said}");
    assert!(place.tree("all") == store);
    for other in ["two", "same", "all"] {
        assert!(place.tables(other) == tables, "{other}");
        place.ok(&format!("check {other}"));
    }
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_as_one_that_is_not() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    let mut calls = 0;
    loop {
        calls += 1;
        let mut child = place
            .command("s.toml --store killed --jobs 2")
            .spawn()
            .unwrap();
        // From before the first cell until behind some of them.
        let ended = {
            sleep(Duration::from_millis(10 * calls));
            child.try_wait().unwrap()
        };
        if ended.is_some_and(|status| status.success()) {
            break;
        }
        assert!(ended.is_none(), "{ended:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(calls < 300);
    }
    assert!(calls > 1, "it was never killed");
    place.ok("s.toml --store killed");
    assert!(place.tree("killed") == place.tree("whole"));
    assert!(place.tables("killed") == place.tables("whole"));
}

#[test]
fn several_writers_of_one_store_agree() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store alone");
    let writers: Vec<_> = (0..3)
        .map(|_| {
            place
                .command("s.toml --store shared --jobs 1")
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(place.tree("shared") == place.tree("alone"));
}

#[test]
fn a_cell_does_not_depend_on_where_its_scenario_lies() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store one");
    fs::create_dir(place.path("elsewhere")).unwrap();
    for name in ["s.toml", "small.toml"] {
        // Lines move, and the meaning stays.
        let text = fs::read_to_string(place.path(name)).unwrap();
        fs::write(
            place.path("elsewhere").join(name),
            format!("# A comment.\n\n{text}"),
        )
        .unwrap();
    }
    place.ok("elsewhere/s.toml --store two");
    assert!(place.tree("one") == place.tree("two"));
}

#[test]
fn series_can_be_added_later_and_a_cell_is_what_a_run_gives() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store at-once --keep series");
    place.ok("s.toml --store later");
    let said = place.ok("s.toml --store later --keep series");
    assert!(said.contains(&format!("{CELLS} ran")), "{said}");
    assert!(place.tree("at-once") == place.tree("later"));
    assert!(
        place
            .tree("later")
            .keys()
            .any(|name| name.ends_with("flows.parquet"))
    );
    // What a cell has without series, it has with them.
    assert!(place.ok("s.toml --store later").contains(", 0 ran"));
    place.ok("check later");
    let cell = place.first_cell("later");
    let scenario = cell.join("scenario.toml");
    let run = std::process::Command::new(crate::sweep::support::QUELL)
        .args(["run", "scenario.toml", "--out"])
        .arg(place.path("run"))
        .current_dir(scenario.parent().unwrap())
        .output()
        .unwrap();
    assert!(run.status.success());
    for name in [
        "scenario.toml",
        "summary.json",
        "histograms.json",
        "flows.parquet",
    ] {
        let of_run = fs::read(place.path("run").join(name)).unwrap();
        assert!(of_run == fs::read(cell.join(name)).unwrap(), "{name}");
    }
}
