//! What happens behind the queues, and base RTTs, changed during a run: each key has an effect, in both directions, and the same as
//! if it had been so from the start.

use std::sync::atomic::AtomicBool;

use quell_measure::Summary;
use quell_scenario::{Problems, Scenario, World, sim};
use quell_units::Time;

const PLAIN: &str = "rate = \"10mbit\"\n";

fn with(link: &str, changes: &[(&str, &str)]) -> String {
    let at: String = changes
        .iter()
        .map(|(time, set)| format!("[[at]]\ntime = \"{time}\"\nphase = false\nset = {{ {set} }}\n"))
        .collect();
    format!(
        "schema = 1\nname = \"changing\"\n[link]\n{link}queue = {{ kind = \"fifo\", limit = \"60p\" }}\n[[group]]\nname = \"a\"\n\
         rtt = \"20ms\"\nstart = \"10ms\"\napp = \"bulk\"\n[[group]]\nname = \"b\"\nrtt = \"40ms\"\nstart = \"10ms\"\n\
         app = {{ kind = \"cbr\", size = \"500B\", interval = \"5ms\" }}\n{at}[run]\nduration = \"4s\"\n"
    )
}

fn load(text: &str) -> Result<Scenario, Problems> {
    crate::rules::load(text, &[])
}

fn summary(text: &str) -> Summary {
    let scenario = load(text).unwrap_or_else(|why| panic!("{text}{why}"));
    sim::run(&scenario, 1, &AtomicBool::new(false), &mut ())
        .unwrap()
        .summary
}

fn result(text: &str) -> String {
    serde_json::to_string(&summary(text).figures).unwrap()
}

/// Each key of `impair`: what has to be there beside it, and a value.
const KEYS: [(&str, &str, &str); 11] = [
    ("loss", "jitter = \"1ms\"", "0.05"),
    ("enter", "loss = 0.01", "0.02"),
    ("leave", "enter = 0.01", "0.9"),
    ("bad", "enter = 0.01", "0.3"),
    ("reorder", "loss = 0.01", "0.1"),
    ("hold", "reorder = 0.1", "\"40ms\""),
    ("duplicate", "loss = 0.01", "0.1"),
    ("corrupt", "loss = 0.01", "0.02"),
    ("jitter", "loss = 0.01", "\"15ms\""),
    ("delay", "loss = 0.01", "\"30ms\""),
    (
        "rules.hole.probability",
        "rules = [{ name = \"hole\", to = \"drop\", probability = 0.01 }]",
        "0.1",
    ),
];

#[test]
fn a_trace_is_the_changes_that_say_the_same_and_a_delay_is_part_of_the_rtt() {
    let data = "time_s,delay_ms,loss,jitter_ms\\n0,30,0,0\\n1,5,0.02,2\\n2,60,0,0\\n2.5,60,1,0\\n2.7,1,0,0\\n4,,,\\n";
    for (side, key) in [("impair", "link"), ("reverse.impair", "link.reverse")] {
        let link = |impair: &str| match key {
            "link" => format!("{PLAIN}{side} = {{ {impair} }}\n"),
            _ => format!("{PLAIN}reverse = {{ rate = \"2mbit\", impair = {{ {impair} }} }}\n"),
        };
        let set = |delay: &str, loss: &str, jitter: &str| {
            let key = format!("{key}.impair");
            format!(
                "\"{key}.delay\" = \"{delay}\", \"{key}.loss\" = {loss}, \"{key}.jitter\" = \"{jitter}\""
            )
        };
        // What the trace does not say can change.
        let later = format!("\"{key}.impair.reorder\" = 0.1");
        let impair = format!("reorder = 0.01, trace = {{ data = \"{data}\" }}");
        let traced = with(&link(&impair), &[("3s", &later)]);
        let steps = [
            ("1s", set("5ms", "0.02", "2ms")),
            ("2s", set("60ms", "0", "0s")),
            ("2.5s", set("60ms", "1", "0s")),
            ("2.7s", set("1ms", "0", "0s")),
            ("3s", later.clone()),
        ];
        let steps: Vec<(&str, &str)> = steps.iter().map(|(at, set)| (*at, &**set)).collect();
        let changed = with(&link("reorder = 0.01, delay = \"30ms\""), &steps);
        assert_eq!(result(&traced), result(&changed));
        // Windows are those of the longest delay.
        let windows = |text: &str| quell_scenario::in_flight(&load(text).unwrap());
        assert_eq!(windows(&traced), windows(&changed));
        let longer = traced.replace("2,60", "2,900");
        assert!(windows(&longer)[0] > windows(&traced)[0]);
    }
    for (impair, expected) in [
        ("trace = \"none.csv\"", "files cannot be read"),
        (
            "trace = { data = \"1\\n2\\n\" }",
            "has no delays and no losses",
        ),
        (
            "trace = { data = \"time_s,loss\\n0,2\\n\" }",
            "must be a share",
        ),
        (
            "trace = { data = \"20\\n\", format = \"delays\" }",
            "how long each line lasts",
        ),
        (
            "trace = { data = \"20\\n\", format = \"delays\", interval = \"1s\", scale = 2 }",
            "effect on rates only",
        ),
        (
            "trace = { data = \"20\\n\", format = \"delays\", interval = \"1s\" }, delay = \"1ms\"",
            "the trace says it",
        ),
        (
            "trace = { data = \"20\\n\", format = \"delays\", interval = \"1s\", repeat = false, offset = \"1s\" }",
            "before the end of the trace",
        ),
        (
            "trace = { interval = \"1s\", format = \"delays\" }",
            "must be the name of a file",
        ),
    ] {
        let why = load(&with(&format!("{PLAIN}impair = {{ {impair} }}\n"), &[]))
            .unwrap_err()
            .to_string();
        assert!(why.contains(expected), "{impair}: {why}");
    }
    // Bursts of a trace, and the rest of their model beside it.
    let bursts = "bad = 0.5, trace = { data = \"time_s,enter,leave\\n0,0,0.1\\n1,0.02,0.3\\n\" }";
    let bursts = with(&format!("{PLAIN}impair = {{ {bursts} }}\n"), &[]);
    let all_lost = result(&bursts.replace("bad = 0.5", "bad = 1"));
    assert_ne!(result(&bursts), all_lost);
    let traced = format!("{PLAIN}impair = {{ trace = {{ data = \"{data}\" }} }}\n");
    let why = load(&with(&traced, &[("2s", "\"link.impair.loss\" = 0")]))
        .unwrap_err()
        .to_string();
    assert!(why.contains("follows a trace"), "{why}");
}

#[test]
fn each_key_changes_a_run_from_its_time_on_and_from_the_start_if_that_is_its_time() {
    for (key, beside, value) in KEYS {
        for (table, direction) in [("impair", "link"), ("reverse.impair", "link.reverse")] {
            let side = |keys: &str| match direction {
                "link" => format!("{PLAIN}{table} = {{ {keys} }}\n"),
                _ => format!("{PLAIN}reverse = {{ rate = \"2mbit\", impair = {{ {keys} }} }}\n"),
            };
            let after = match key.contains('.') {
                true => beside.replace("0.01", value),
                false => format!("{beside}, {key} = {value}"),
            };
            let (before, after) = (side(beside), side(&after));
            let set = format!("\"{direction}.impair.{key}\" = {value}");
            let constant = result(&with(&before, &[]));
            assert_ne!(result(&with(&before, &[("2s", &set)])), constant, "{set}");
            assert_eq!(
                result(&with(&before, &[("1ns", &set)])),
                result(&with(&after, &[])),
                "{set}"
            );
            // After the last packet it has no effect.
            assert_eq!(
                result(&with(&before, &[("3999999us", &set)])),
                constant,
                "{set}"
            );
        }
    }
}

#[test]
fn copies_and_damage_are_counted_beside_losses_and_are_not_there_without() {
    let text = with(
        &format!("{PLAIN}impair = {{ duplicate = 0.05, corrupt = 0.02 }}\n"),
        &[],
    );
    let figures = summary(&text).figures;
    let packets: u64 = figures.queues.iter().map(|queue| queue.packets).sum();
    let share = |count: u64| count as f64 / packets as f64;
    assert!(
        (0.035..0.065).contains(&share(figures.link.duplicated)),
        "{packets} {:?}",
        figures.link
    );
    assert!(
        (0.010..0.030).contains(&share(figures.link.corrupted)),
        "{packets} {:?}",
        figures.link
    );
    assert_eq!(figures.link.lost_outside, 0);
    let plain = result(&with(PLAIN, &[]));
    assert!(!plain.contains("duplicated") && !plain.contains("corrupted"));
}

#[test]
fn a_base_rtt_changes_for_its_group_alone_and_counts_in_windows() {
    let change = [("2s", "\"group.b.rtt\" = \"200ms\"")];
    let moved = summary(&with(PLAIN, &change));
    let still = summary(&with(PLAIN, &[("2s", "\"group.b.rtt\" = \"40ms\"")]));
    let plain = summary(&with(PLAIN, &[]));
    let delay = |summary: &Summary, of: &str| {
        let app = serde_json::to_value(&summary.figures.groups).unwrap();
        app[1]["app"]["one_way_delay_ms"][of]
            .as_f64()
            .unwrap_or_else(|| panic!("{app:#}"))
    };
    assert_eq!(delay(&plain, "max"), delay(&still, "max"));
    // 20 ms and a queue of up to 60 packets before, 100 ms afterwards.
    assert!(delay(&moved, "max") >= 100.0 && delay(&moved, "p25") < 100.0);
    // Hosts know the longest from the start.
    let windows = |rtt: &str| {
        let set = format!("\"group.a.rtt\" = \"{rtt}\"");
        quell_scenario::largest_window(quell_scenario::in_flight(
            &load(&with(PLAIN, &[("2s", &set)])).unwrap(),
        ))
    };
    assert!(windows("2s") > windows("30ms"));
}

#[test]
fn what_cannot_change_is_refused_with_its_line() {
    for (set, expected) in [
        (
            "\"link.impair.loss\" = 1.5",
            "link.impair.loss = 1.5: must be",
        ),
        (
            "\"link.impair.loss\" = \"5%\"",
            "link.impair.loss = \"5%\": must be",
        ),
        (
            "\"link.impair.hold\" = \"9ms\"",
            "has an effect only beside reorder",
        ),
        (
            "\"link.impair.leave\" = 0.5",
            "has an effect only beside enter",
        ),
        (
            "\"link.impair.lots\" = 0.5",
            "cannot change during a run; what can: link.rate",
        ),
        (
            "\"link.loss\" = 0.5",
            "link.impair.{loss, enter, leave, bad, reorder, hold",
        ),
        (
            "\"group.a.rtt\" = \"11s\"",
            "group.a.rtt = \"11s\": must be",
        ),
        ("\"group.c.rtt\" = \"1s\"", "there is no group c"),
    ] {
        let why = load(&with(PLAIN, &[("1s", set)])).unwrap_err().to_string();
        assert!(
            why.contains(expected) && why.contains("f.toml:"),
            "{set}: {why}"
        );
    }
    let near = with(PLAIN, &[("1s", "\"group.a.rtt\" = \"1us\"")]);
    let why = Scenario::load("f.toml", &near, &[], Some(World::Live))
        .unwrap_err()
        .to_string();
    assert!(
        why.to_string()
            .contains("the smallest RTT of the live world"),
        "{why}"
    );
    // What gives it an effect may come later.
    let both = [
        ("1s", "\"link.impair.hold\" = \"9ms\""),
        ("2s", "\"link.impair.reorder\" = 0.1"),
    ];
    assert!(load(&with(PLAIN, &both)).is_ok());
    let several = "schema = 1\nname = \"several\"\n[[link]]\nname = \"one\"\nrate = \"10mbit\"\ndelay = \"15ms\"\nqueue = \"fifo\"\n\
         [[link]]\nname = \"two\"\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"40ms\"\napp = \"bulk\"\n\
         [[at]]\ntime = \"1s\"\nset = { \"group.a.rtt\" = \"29ms\" }\n[run]\nduration = \"2s\"\n";
    let why = load(several).unwrap_err().to_string();
    assert!(
        why.contains("must be at least 30ms, what the links of its path delay"),
        "{why}"
    );
    assert!(load(&several.replace("29ms", "31ms")).is_ok());
}

#[test]
fn a_run_that_goes_on_as_another_scenario_takes_a_shorter_rtt_and_refuses_a_longer_one() {
    let given = load(&with(PLAIN, &[])).unwrap();
    let next = |rtt: &str| {
        let set = format!("\"group.a.rtt\" = \"{rtt}\"");
        let after = load(&with(PLAIN, &[("2s", &set)])).unwrap();
        let lives = quell_scenario::amended::with_spare(&given, 1, &[]);
        quell_scenario::amended::replanned(&given, &after, 1, Time::from_secs(2), &lives)
    };
    assert!(next("5ms").is_ok() && next("40ms").is_ok());
    let why = next("41ms").unwrap_err().to_string();
    assert!(why.contains("a base RTT of 40ms at most"), "{why}");
}
