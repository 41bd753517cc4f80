//! Results are played as they are, from the beginning for each page.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use quell_lab::{Options, Scenario, World};
use quell_serve::{Error, Server, Settings, Show, Speed};
use serde_json::Value;

use crate::client::numbers;
use crate::{Running, SCENARIO, page};

fn at(speed: Speed) -> Settings {
    Settings {
        speed,
        ..Settings::default()
    }
}

/// Writes the result of the small scenario into a folder.
fn write(folder: &Path, seeds: &str) {
    let text = SCENARIO.replace("duration", &format!("seeds = {seeds}\nduration"));
    let scenario = Scenario::parse(&text).unwrap();
    let stop = AtomicBool::new(false);
    let options = Options {
        out: Some(folder.to_owned()),
        ..Options::new(World::Sim, &stop)
    };
    quell_lab::run(&scenario, options, &mut |_| ()).unwrap();
}

fn until_finished(running: &Running) -> Vec<Value> {
    let mut page = running.messages();
    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|last: &Value| last["type"] != "finished")
    {
        told.push(page.next().unwrap());
    }
    told
}

/// The numbers of a column of the flows, in the order in which they came.
fn column(told: &[Value], run: usize, series: &str, name: &str) -> Vec<f64> {
    let names = told[0]["runs"][run]["columns"][series].as_array().unwrap();
    let place = names.iter().position(|column| column["name"] == name);
    let place = place.unwrap();
    let mut all = Vec::new();
    for rows in told.iter().filter(|told| told["type"] == "rows") {
        let (count, numbers) = numbers(&rows["runs"][run]["rows"][series]);
        assert_eq!(numbers.len(), count * names.len());
        all.extend_from_slice(&numbers[place * count..(place + 1) * count]);
    }
    all
}

#[test]
fn a_result_gives_each_page_every_row_and_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("one");
    write(&result, "[3]");
    let running = Running::start(Show::Result(result.clone()), &at(Speed::Most));
    let about = running.get("/api/about").json();
    assert_eq!(about["mode"], "result");
    assert_eq!(about["world"], "sim");
    assert_eq!(about["name"], "small");
    for _ in 0..2 {
        let told = until_finished(&running);
        assert_eq!(told[0]["type"], "opened");
        assert_eq!(told[0]["runs"][0]["seed"], 3);
        let read = |name: &str| std::fs::read_to_string(result.join(name)).unwrap();
        let finished = &told.last().unwrap()["runs"][0];
        assert_eq!(finished["summary"], read("summary.json"));
        assert_eq!(finished["histograms"], read("histograms.json"));
        // 60 intervals of two flows, and of two queues and one behind.
        let times = column(&told, 0, "flows", "time_ns");
        assert_eq!(times.len(), 120);
        assert!(times.is_sorted());
        assert_eq!(times.last(), Some(&6e9));
        let groups = column(&told, 0, "flows", "group");
        assert_eq!(
            groups.iter().sum::<f64>(),
            60.0,
            "half of them are of group 1"
        );
        let last = told.iter().rfind(|told| told["type"] == "rows").unwrap();
        let words: Vec<&str> = last["runs"][0]["words"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        for word in ["forward", "reverse", "l4s", "classic"] {
            assert!(words.contains(&word), "{words:?}");
        }
        let queues = column(&told, 0, "queues", "queue");
        assert!(queues.iter().all(|word| (*word as usize) < words.len()));
        // Nothing waited in the first interval of some queue: what is missing is no number.
        let delays = column(&told, 0, "queues", "delay_mean_ns");
        assert!(delays.iter().any(|delay| delay.is_finite() && *delay > 0.0));
        assert!(
            column(&told, 0, "queues", "hop")
                .iter()
                .all(|hop| *hop == 0.0)
        );
    }
}

/// The same run, watched and played, has the same rows.
#[test]
fn a_play_has_the_rows_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("one");
    write(&result, "[1]");
    let played = until_finished(&Running::start(Show::Result(result), &at(Speed::Most)));
    let watched = until_finished(&Running::start(crate::small(), &at(Speed::Most)));
    for (series, name) in [
        ("flows", "time_ns"),
        ("flows", "goodput_bps"),
        ("flows", "rtt_ns"),
        ("flows", "group"),
        ("queues", "delay_mean_ns"),
        ("queues", "marked"),
    ] {
        let bits = |told| {
            let numbers: Vec<f64> = column(told, 0, series, name);
            numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        assert!(bits(&played) == bits(&watched), "{series} {name}");
    }
}

#[test]
fn it_is_played_on_a_clock_which_pages_set_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("one");
    write(&result, "[1]");
    let running = Running::start(Show::Result(result), &at(Speed::Times(0.1)));
    let mut page = running.messages();
    page.until("opened");
    assert_eq!(running.ask(r#"{"ask":"speed","speed":0}"#).status, 204);
    assert_eq!(running.ask(r#"{"ask":"step","step":3e9}"#).status, 204);
    let rows = loop {
        let rows = page.until("rows");
        if rows["frame"]["now"].as_f64().unwrap() >= 3e9 {
            break rows;
        }
    };
    assert!(
        rows["frame"]["now"].as_f64().unwrap() < 5e9,
        "{}",
        rows["frame"]
    );
    assert_eq!(rows["frame"]["isOver"], false);
    for ask in [
        r#"{"ask":"change","key":"link.rate","value":"5mbit"}"#,
        r#"{"ask":"open","scenario":"","runs":[[]]}"#,
    ] {
        let answer = running.ask(ask);
        assert_eq!(answer.status, 409);
        assert!(answer.why().contains("result"), "{}", answer.text());
    }
    assert_eq!(running.ask(r#"{"ask":"finish"}"#).status, 204);
    page.until("finished");
}

#[test]
fn several_seeds_are_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("two");
    write(&result, "[4, 9]");
    let running = Running::start(Show::Result(result), &at(Speed::Most));
    let told = until_finished(&running);
    let seeds = told[0]["runs"].as_array().unwrap().iter();
    let seeds: Vec<u64> = seeds.map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [4, 9]);
    assert_ne!(
        column(&told, 0, "flows", "goodput_bps"),
        column(&told, 1, "flows", "goodput_bps")
    );
}

#[test]
fn what_is_no_result_is_refused_and_a_broken_one_ends_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let bind = |folder: &Path| {
        let show = Show::Result(folder.to_owned());
        Server::bind(page(), show, &Settings::default()).map(drop)
    };
    assert!(matches!(bind(folder.path()), Err(Error::Refused(_))));
    let result = folder.path().join("one");
    write(&result, "[1]");
    std::fs::write(result.join("flows.parquet"), "no Parquet").unwrap();
    let running = Running::start(Show::Result(result.clone()), &Settings::default());
    let ended = running.messages().until("ended");
    assert!(ended["why"].as_str().unwrap().contains("flows.parquet"));
    std::fs::write(result.join("scenario.toml"), "schema = 1").unwrap();
    assert!(matches!(bind(&result), Err(Error::Refused(_))));
}
