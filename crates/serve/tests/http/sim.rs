//! Simulated runs: they are those of `quell run`, whoever watches.

use quell_serve::{Error, Page, Server, Settings, Speed};
use quell_watch::{Budget, Preparation, Watched};
use serde_json::{Value, json};

use crate::client::numbers;
use crate::{Running, SCENARIO, empty, page, small};

fn at(speed: Speed) -> Settings {
    Settings {
        speed,
        ..Settings::default()
    }
}

/// The summary of the scenario without a server, and the numbers of its flows.
fn alone(changes: &[&str]) -> (String, Value, Vec<f64>) {
    let mut run = Watched::open(
        "scenario.toml",
        SCENARIO,
        changes,
        None,
        Preparation::default(),
        Budget::PAGE,
    )
    .unwrap();
    run.advance(quell_units::Time::from_secs(60)).unwrap();
    let about = run.about();
    let (finished, mut over) = run.finish().unwrap();
    (
        finished.summary,
        about,
        over.rows.take(quell_watch::Series::Flows),
    )
}

/// Rows of the flows, row by row, in the order in which they came, whatever the messages.
fn flows(told: &[Value], run: usize, columns: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for rows in told.iter().filter(|told| told["type"] == "rows") {
        let (count, numbers) = numbers(&rows["runs"][run]["rows"]["flows"]);
        assert_eq!(numbers.len(), count * columns);
        for row in 0..count {
            all.extend((0..columns).map(|column| numbers[column * count + row]));
        }
    }
    all
}

#[test]
fn a_run_that_is_watched_gives_the_rows_and_the_summary_of_one_that_is_not() {
    let running = Running::start(small(), &at(Speed::Most));
    let about = running.get("/api/about").json();
    assert_eq!(about["mode"], "sim");
    assert_eq!(about["scenario"], SCENARIO);
    assert_eq!(about["name"], "small");
    assert_eq!(about["speed"], "max");
    assert_eq!(about["wasm"], false);
    let mut page = running.messages();
    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|last: &Value| last["type"] != "finished")
    {
        told.push(page.next().unwrap());
    }
    let (summary, about, expected) = alone(&[]);
    assert_eq!(told[0]["type"], "opened");
    assert_eq!(told[0]["runs"][0], about);
    assert_eq!(told.last().unwrap()["runs"][0]["summary"], summary);
    let before = &told[told.len() - 2];
    assert_eq!(before["frame"]["isOver"], true);
    assert_eq!(before["lost"], 0);
    let columns = about["columns"]["flows"].as_array().unwrap().len();
    let count = expected.len() / columns;
    let mut by_row = Vec::new();
    for row in 0..count {
        by_row.extend((0..columns).map(|column| expected[column * count + row]));
    }
    let bits = |numbers: Vec<f64>| numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(flows(&told, 0, columns)), bits(by_row));
    let (packets, _) = numbers(&before["runs"][0]["packets"]);
    assert!(packets > 0);
}

#[test]
fn runs_side_by_side_have_one_clock_and_changes_of_their_own() {
    let running = Running::start(empty(), &at(Speed::Times(100.0)));
    let mut page = running.messages();
    let open = serde_json::json!({
        "ask": "open", "scenario": SCENARIO, "runs": [[], ["link.rate=20mbit"]], "seed": 5, "moreFlows": 3, "fastest": 3e7,
    });
    assert_eq!(running.ask(&open.to_string()).status, 204);
    let opened = page.until("opened");
    assert_eq!(opened["runs"][0]["seed"], 5);
    let rate = |run: usize| opened["runs"][run]["scenario"].as_str().unwrap().to_owned();
    assert!(rate(0).contains("rate = \"10mbit\"") && rate(1).contains("rate = \"20mbit\""));
    let change = r#"{"ask":"change","key":"group.l4s.count","value":"3","run":1}"#;
    assert_eq!(running.ask(change).status, 204);
    let changed = page.until("changed");
    assert_eq!(changed["run"], 1);
    assert!(changed["scenario"].as_str().unwrap().contains("[[at]]"));
    // A page that comes now is told of the run as it is now.
    let mut later = running.messages();
    let opened = later.until("opened");
    assert!(
        opened["runs"][1]["scenario"]
            .as_str()
            .unwrap()
            .contains("[[at]]")
    );
    let finished = page.until("finished");
    assert_eq!(finished["runs"].as_array().unwrap().len(), 2);
    assert_eq!(later.until("finished"), finished);
    // Once it is over, too, and whoever asks is told again.
    assert_eq!(running.messages().until("finished"), finished);
    assert_eq!(running.ask(r#"{"ask":"finish"}"#).status, 204);
    assert_eq!(page.until("finished"), finished);
}

#[test]
fn what_the_runs_refuse_is_told_in_words_and_changes_nothing() {
    let running = Running::start(small(), &at(Speed::Times(0.5)));
    let mut page = running.messages();
    page.until("opened");
    for (ask, why) in [
        (
            r#"{"ask":"change","key":"link.rate","value":"fast"}"#,
            "link.rate",
        ),
        (
            r#"{"ask":"change","key":"group.l4s.mss","value":"600B"}"#,
            "mss",
        ),
        (
            r#"{"ask":"change","key":"link.rate","value":"5mbit","run":3}"#,
            "no run 3",
        ),
        (
            r#"{"ask":"open","scenario":"schema = 1","runs":[[]]}"#,
            "link",
        ),
        (
            r#"{"ask":"open","scenario":"","runs":[["x"]]}"#,
            "KEY=VALUE",
        ),
    ] {
        assert_eq!(running.ask(ask).status, 204);
        let refused = page.until("refused");
        let told = refused["why"].as_str().unwrap();
        assert!(told.contains(why), "{ask}: {told}");
    }
    assert_eq!(running.ask(r#"{"ask":"speed","speed":100}"#).status, 204);
    let finished = page.until("finished");
    assert_eq!(finished["runs"][0]["summary"], alone(&[]).0);
}

#[test]
fn a_pause_stands_still_and_a_step_goes_on_exactly_so_far() {
    let running = Running::start(small(), &at(Speed::Times(1.0)));
    assert_eq!(running.ask(r#"{"ask":"speed","speed":0}"#).status, 204);
    assert_eq!(running.get("/api/about").json()["speed"], 0.0);
    let mut page = running.messages();
    page.until("opened");
    for step in [250_000_000_u64, 1] {
        let before = running.ask(&format!(r#"{{"ask":"step","step":{step}}}"#));
        assert_eq!(before.status, 204);
        let rows = page.until("rows");
        assert_eq!(rows["frame"]["wished"], 0.0);
        let expected = if step == 1 { 250_000_001 } else { step };
        assert_eq!(rows["frame"]["now"], expected);
    }
    assert_eq!(running.ask(r#"{"ask":"finish"}"#).status, 204);
    let finished = page.until("finished");
    let summary = finished["runs"][0]["summary"].as_str().unwrap();
    let summary: Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["partial"], true);
}

#[test]
fn nothing_is_simulated_while_nobody_watches() {
    let running = Running::start(small(), &at(Speed::Most));
    std::thread::sleep(std::time::Duration::from_millis(500));
    // Had it gone on, it would be over.
    let mut page = running.messages();
    assert_eq!(page.next().unwrap()["type"], "opened");
    assert_eq!(page.next().unwrap()["type"], "rows");
}

#[test]
fn a_server_that_only_shows_takes_speed_and_step() {
    let settings = Settings {
        read_only: true,
        ..Settings::default()
    };
    let running = Running::start(small(), &settings);
    assert_eq!(running.get("/api/about").json()["read_only"], true);
    for (ask, status) in [
        (r#"{"ask":"speed","speed":2}"#, 204),
        (r#"{"ask":"step","step":1}"#, 204),
        (r#"{"ask":"change","key":"link.rate","value":"5mbit"}"#, 403),
        (r#"{"ask":"open","scenario":"","runs":[[]]}"#, 403),
        (r#"{"ask":"finish"}"#, 403),
    ] {
        let answer = running.ask(ask);
        assert_eq!(answer.status, status, "{ask}");
        if status == 403 {
            assert!(answer.why().contains("--read-only"), "{}", answer.text());
        }
    }
}

#[test]
fn the_end_of_the_server_is_told() {
    let mut running = Running::start(small(), &Settings::default());
    let mut page = running.messages();
    page.until("opened");
    running.end();
    let ended = page.until("ended");
    assert!(ended["why"].as_str().unwrap().contains("ended"));
    assert!(page.next().is_none());
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_listens() {
    let bind = |show, settings: &Settings| Server::bind(page(), show, settings).map(drop);
    let wrong = quell_serve::Show::Sim {
        scenario: Some("schema = 1".to_owned()),
    };
    assert!(matches!(
        bind(wrong, &Settings::default()),
        Err(Error::Refused(why)) if why.to_string().contains("link")
    ));
    let taken = Running::start(empty(), &Settings::default());
    let settings = Settings {
        listen: taken.address,
        ..Settings::default()
    };
    let error = bind(empty(), &settings).unwrap_err();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    assert!(error.to_string().contains(&taken.host()), "{error}");
    let folder = tempfile::tempdir().unwrap();
    assert!(Page::of_folder(folder.path()).is_err());
}

#[test]
fn what_a_page_has_simulated_out_of_sight_is_what_quell_run_gives() {
    let running = Running::start(empty(), &Settings::default());
    let task = |more: Value| {
        let mut task =
            json!({ "scenario": SCENARIO, "runs": [["link.queue.kind=pie"], []], "length": 60e9 });
        let fields = more.as_object().unwrap().clone();
        task.as_object_mut().unwrap().extend(fields);
        running.post("/api/background", &task.to_string())
    };
    let done = task(json!({ "queues": 2 })).json();
    assert_eq!(done["type"], "finished");
    assert_eq!(
        done["runs"][0]["summary"],
        alone(&["link.queue.kind=pie"]).0
    );
    assert_eq!(done["runs"][1]["summary"], alone(&[]).0);
    assert_eq!(done["felt"]["words"].as_array().unwrap().len(), 2);
    assert!(task(json!({})).json()["felt"].is_null());
    for (wrong, why) in [
        (json!({ "queues": 0 }), "queues"),
        (json!({ "runs": [[], [], []], "queues": 2 }), "3 runs"),
        (json!({ "runs": [] }), "0 runs"),
        (json!({ "length": 1e18 }), "hour"),
        (json!({ "scenario": "schema = 1" }), "name"),
        (json!({ "runs": [["link.queue.kind=none"]] }), "none"),
        (json!({ "more": 1 }), "more"),
    ] {
        let refused = task(wrong);
        assert!(
            refused.status == 400 && refused.why().contains(why),
            "{}",
            refused.why()
        );
    }
    let settings = Settings {
        read_only: true,
        ..Settings::default()
    };
    let running = Running::start(small(), &settings);
    let task = json!({ "scenario": SCENARIO, "runs": [[]], "length": 1e9 });
    assert_eq!(
        running.post("/api/background", &task.to_string()).status,
        403
    );
}
