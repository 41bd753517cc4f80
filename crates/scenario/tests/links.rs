//! Links that move: traces in files and in the scenario, access to a medium, impairments, changes that repeat. Each key changes
//! what a run gives.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_measure::Summary;
use quell_scenario::{Origin, Override, Scenario, Setting, Template, TimedChange, World, sim};
use quell_units::Time;

/// A file `moves.csv` beside the scenario, and one with an error in its third line.
fn files() -> quell_scenario::ReadFile {
    Box::new(|name: &str, _: &Origin| {
        match name {
        "moves.csv" => Ok("time_s,rate_mbps\n0,20\n0.3,5\n0.7,0\n0.8,\n".to_owned()),
        "chances" => Ok("1\n2\n2\n5\n9\n10\n".to_owned()),
        "constant" => Ok("1\n".to_owned()),
        "wrong.csv" => Ok("time_s,rate_mbps\n0,20\n1,fast\n".to_owned()),
        "bits" => Ok(r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"6Mbps","duration":"200ms"}},{"StaticBwConfig":{"bw":"18Mbps","duration":"200ms"}}],"count":0}}"#.to_owned()),
        _ => Err(format!("cannot read {name}").into()),
    }
    })
}

fn with(link: &str, more: &str) -> String {
    format!(
        "schema = 1\nname = \"moves\"\n[link]\n{link}queue = {{ kind = \"pie\", limit = \"100p\" }}\n[[group]]\nname = \"a\"\ncount = 2\n\
         rtt = \"20ms\"\napp = \"bulk\"\n{more}[run]\nduration = \"4s\"\nwarmup = \"1s\"\n"
    )
}

fn load(text: &str, sets: &[&str]) -> Result<quell_scenario::Loaded, String> {
    let sets: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let loaded = Scenario::load_with_files("f.toml", text, &sets, Some(World::Sim), files());
    loaded.map_err(|problems| problems.to_string())
}

fn run(scenario: &Scenario) -> Summary {
    sim::run(scenario, 1, &AtomicBool::new(false), &mut ())
        .unwrap()
        .summary
}

/// What a run gives, as text.
fn result(link: &str, more: &str) -> String {
    // The data goes where the keys are.
    let text = match link.contains("reverse = {") {
        true => {
            with(link, more).replace("app = \"bulk\"", "app = \"bulk\"\ndirection = \"reverse\"")
        }
        false => with(link, more),
    };
    let loaded = load(&text, &[]).unwrap_or_else(|why| panic!("{link}{more}: {why}"));
    serde_json::to_string(&run(&loaded.scenario)).unwrap()
}

#[test]
fn each_key_changes_what_a_run_gives() {
    let trace = |more: &str| format!("rate = {{ trace = \"moves.csv\"{more} }}\n");
    let chances = |more: &str| format!("rate = {{ trace = \"chances\"{more} }}\n");
    let spaced = |format: &str, unit: &str| {
        format!(
            "rate = {{ data = \"5\\n9\\n\"{format}, unit = \"{unit}\", interval = \"500ms\" }}\n"
        )
    };
    let plain = "rate = \"10mbit\"\n";
    let loss = |more: &str| format!("{plain}impair = {{ enter = 0.01{more} }}\n");
    let access = |more: &str| format!("{plain}access = {{ packets = 20{more} }}\n");
    let rate = |more: &str| {
        format!(
            "[[at]]\ntime = \"2s\"\n{more}set = {{ \"link.rate\" = \"5mbit\" }}\n[[at]]\ntime = \"2200ms\"\n{more}set = {{ \"link.rate\" = \"10mbit\" }}\n"
        )
    };
    for (name, from, to) in [
        ("trace", plain.to_owned(), trace("")),
        (
            "data",
            plain.to_owned(),
            "rate = { data = \"time_s,rate_mbps\\n0,12\\n1,6\\n\" }\n".to_owned(),
        ),
        (
            "format",
            chances(""),
            chances(", format = \"csv\"")
                .replace("chances", "bits")
                .replace("csv", "netem-trace"),
        ),
        ("unit", spaced("", "kbit"), spaced("", "mbit")),
        (
            "interval",
            spaced("", "mbit"),
            spaced("", "mbit").replace("500ms", "200ms"),
        ),
        ("mode", trace(""), trace(", mode = \"opportunities\"")),
        ("mode", chances(""), chances(", mode = \"rate\"")),
        ("repeat", trace(""), trace(", repeat = false")),
        ("repeat", chances(""), chances(", repeat = false")),
        ("offset", trace(""), trace(", offset = \"250ms\"")),
        ("offset", chances(""), chances(", offset = \"3ms\"")),
        ("scale", trace(""), trace(", scale = 0.5")),
        ("scale", chances(""), chances(", scale = 2")),
        ("framing", chances(""), chances(", framing = \"mahimahi\"")),
        ("access", plain.to_owned(), access("")),
        ("packets", access(""), access("").replace("20", "3")),
        ("time", access(""), access(", time = \"3ms\"")),
        ("delay", access(""), access(", delay = \"1ms\"")),
        ("backoff", access(""), access(", backoff = \"2ms\"")),
        ("impair", plain.to_owned(), loss("")),
        ("loss", loss(""), loss(", loss = 0.05")),
        ("enter", loss(""), loss("").replace("0.01", "0.02")),
        ("leave", loss(""), loss(", leave = 0.5")),
        ("bad", loss(""), loss(", bad = 0.5")),
        ("reorder", loss(""), loss(", reorder = 0.01")),
        (
            "hold",
            loss(", reorder = 0.01"),
            loss(", reorder = 0.01, hold = \"1ms\""),
        ),
        ("jitter", loss(""), loss(", jitter = \"2ms\"")),
    ] {
        assert_ne!(result(&from, ""), result(&to, ""), "{name}");
        // The other direction has the same keys.
        let reverse = |side: &str| {
            format!(
                "{plain}reverse = {{ {} }}\n",
                side.trim().replace('\n', ", ")
            )
        };
        assert_ne!(
            result(&reverse(&from), ""),
            result(&reverse(&to), ""),
            "{name}"
        );
    }
    for (name, from, to) in [
        (
            "repeat",
            rate(""),
            rate("repeat = \"400ms\"\nphase = true\n"),
        ),
        ("phase", rate(""), rate("phase = false\n")),
    ] {
        assert_ne!(result(plain, &from), result(plain, &to), "{name}");
    }
}

#[test]
fn a_resolved_scenario_holds_its_trace_and_runs_without_the_file() {
    for link in [
        "rate = { trace = \"moves.csv\", offset = \"100ms\", scale = 0.75, repeat = false }\n",
        "rate = { trace = \"chances\", framing = \"mahimahi\", scale = 1.5 }\nimpair = { loss = 0.01, jitter = \"1ms\", reorder = 0.001 }\n",
        "rate = { trace = \"bits\" }\naccess = { packets = 4, backoff = \"2ms\" }\nreverse = { rate = { trace = \"moves.csv\" } }\n",
    ] {
        let given = load(&with(link, ""), &[]).unwrap().scenario;
        let text = given.to_toml();
        let again = Scenario::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert_eq!(again, given);
        assert_eq!(again.to_toml(), text);
        assert_eq!(again.canonical(), given.canonical());
        let results = [&given, &again].map(|one| serde_json::to_string(&run(one)).unwrap());
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn changes_that_repeat_come_each_time_and_resolve_to_all_of_them() {
    let more = "[[at]]\ntime = \"1s\"\nrepeat = \"1s\"\nset = { \"link.rate\" = \"5mbit\" }\n\
                [[at]]\ntime = \"1500ms\"\nrepeat = \"1s\"\nset = { \"link.rate\" = \"10mbit\" }\n\
                [[at]]\ntime = \"3s\"\nset = { \"group.a.count\" = 1 }\n";
    let given = load(&with("rate = \"10mbit\"\n", more), &[])
        .unwrap()
        .scenario;
    let times: Vec<u64> = given
        .changes
        .iter()
        .map(|change| change.time.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(times, [1_000, 1_500, 2_000, 2_500, 3_000, 3_500]);
    let at_three = &given.changes[4];
    assert_eq!((at_three.set.len(), at_three.phase), (2, true));
    assert_eq!(given.phases().count(), 1);
    assert_eq!(run(&given).phases.len(), 2);
    let again = Scenario::parse(&given.to_toml()).unwrap();
    assert_eq!(again, given);
    // The mean of 10, 5, 10, 5, … over three seconds.
    assert_eq!(run(&given).figures.link.rate_bps, Some(7_500_000));
}

#[test]
fn a_change_during_a_run_happens_once_beside_what_repeats() {
    let more = "[[at]]\ntime = \"1s\"\nrepeat = \"1s\"\nset = { \"link.rate\" = \"5mbit\" }\n";
    let file = Template::read("f.toml", &with("rate = \"10mbit\"\n", more)).unwrap();
    let second = Time::from_secs(1);
    let changed = file.with_change(second, "link.rate", "8mbit");
    let changed = changed.with_change(second, "group.a.count", "1");
    let given = changed.scenario(&[], None, files()).unwrap();
    let sizes = given.changes.iter().map(|change| change.set.len());
    assert_eq!(sizes.collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(rates(&given.changes[0]), [8], "what comes later counts");
}

fn rates(change: &TimedChange) -> Vec<u64> {
    let rates = change.set.iter().filter_map(|set| match set {
        Setting::Rate(_, rate) => Some(rate.as_bps() / 1_000_000),
        _ => None,
    });
    rates.collect()
}

#[test]
fn of_two_values_of_a_key_at_one_time_the_later_in_the_file_counts() {
    let at = |time: &str, repeat: &str, set: &str| {
        format!("[[at]]\ntime = \"{time}\"\nrepeat = \"{repeat}\"\nset = {{ {set} }}\n")
    };
    let more = [
        at("1s", "400ms", "\"link.rate\" = \"5mbit\""),
        at(
            "1200ms",
            "300ms",
            "\"link.link.rate\" = \"1mbit\", \"group.a.count\" = 1",
        ),
        at("1500ms", "500ms", "\"group.a.count\" = 2"),
    ];
    let given = load(&with("rate = \"10mbit\"\n", &more.concat()), &[])
        .unwrap()
        .scenario;
    let at = |millis| {
        let mut changes = given.changes.iter();
        changes.find(|change| change.time == Time::from_millis(millis))
    };
    let [both, three] = [1_800, 3_000].map(|millis| at(millis).unwrap());
    assert_eq!((rates(both), both.set.len()), (vec![1], 2));
    assert_eq!((rates(three), three.set.len()), (vec![1], 2));
    assert_eq!(Scenario::parse(&given.to_toml()).unwrap(), given);
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let plain = "rate = \"10mbit\"\n";
    for (link, more, expected) in [
        (
            "rate = { trace = \"none\" }\n",
            "",
            "f.toml:4: link.rate.trace = \"none\": cannot read none",
        ),
        (
            "rate = { trace = \"wrong.csv\" }\n",
            "",
            "wrong.csv:3: link.rate.trace = fast: must be a rate from 0 to 1tbit",
        ),
        (
            "rate = { data = \"3\\n2\\n\" }\n",
            "",
            "f.toml:4: link.rate.data = 3: is no trace: line 1: could be times, rates or delays (as mahimahi its line 2 is below the line before; times \
             must not fall); name the format: format = \"rates\" with unit = \"kbit\" and interval = \"1s\"",
        ),
        (
            "rate = { data = \"3\\n2\\n\", format = \"rates\", unit = \"kbit\" }\n",
            "",
            "link.rate.interval: is missing; must be how long each line lasts",
        ),
        (
            "rate = { trace = \"moves.csv\", format = \"csv\", unit = \"kbit\" }\n",
            "",
            "link.rate.unit = \"kbit\": has an effect only with format = \"rates\"",
        ),
        (
            "rate = { repeat = true }\n",
            "",
            "f.toml:4: link.rate.trace: is missing; must be the name of a file",
        ),
        (
            "rate = { trace = \"moves.csv\", data = \"1\" }\n",
            "",
            "link.rate.data = a text: stands beside trace",
        ),
        (
            "rate = { trace = \"moves.csv\", speed = 1 }\n",
            "",
            "link.rate.speed = 1: unknown key; rate has trace, data, format",
        ),
        (
            "rate = { trace = \"moves.csv\", format = \"pcap\" }\n",
            "",
            "must be one of \"csv\", \"pensieve\", \"rates\", \"mahimahi\", \"iperf3\", \"netem-trace\"",
        ),
        (
            "rate = { trace = \"moves.csv\", format = \"mahimahi\" }\n",
            "",
            "moves.csv:1: link.rate.trace = time_s,rate_mbps: must be a whole number",
        ),
        (
            "rate = { trace = \"moves.csv\", framing = \"ip\" }\n",
            "",
            "has an effect only with mode = \"opportunities\"",
        ),
        (
            "rate = { trace = \"moves.csv\", repeat = false, offset = \"2s\" }\n",
            "",
            "must be before the end of the trace, which lasts for 800ms",
        ),
        (
            "rate = { trace = \"chances\" }\naccess = { packets = 2 }\n",
            "",
            "f.toml:5: link.access = a table: cannot be together with a trace of opportunities",
        ),
        (
            "rate = { trace = \"moves.csv\" }\n",
            "[[at]]\ntime = \"1s\"\nset = { \"link.rate\" = \"1mbit\" }\n",
            "cannot be set: the link follows a trace",
        ),
        (
            "rate = \"10mbit\"\nimpair = { leave = 0.5 }\n",
            "",
            "link.impair.leave = 0.5: has an effect only beside enter",
        ),
        (
            "rate = \"10mbit\"\nimpair = { hold = \"1ms\" }\n",
            "",
            "has an effect only beside reorder",
        ),
        (
            "rate = \"10mbit\"\nimpair = { loss = 1.5 }\n",
            "",
            "link.impair.loss = 1.5: must be",
        ),
        (
            "rate = \"10mbit\"\naccess = { packets = 0 }\n",
            "",
            "link.access.packets = 0: must be",
        ),
        (
            plain,
            "[[at]]\ntime = \"1s\"\nrepeat = \"3s\"\nset = { \"link.rate\" = \"1mbit\" }\n",
            "has no effect: the run ends at 4s",
        ),
        (
            plain,
            "[[at]]\ntime = \"9s\"\nset = { \"link.rate\" = \"1mbit\" }\n",
            "f.toml:12: at.1.time = \"9s\": must be before the end of the run",
        ),
        // The only link has two names.
        (
            plain,
            "[[at]]\ntime = \"1s\"\nset = { \"link.rate\" = \"1mbit\", \"link.link.rate\" = \"2mbit\" }\n",
            "f.toml:13: at.1.set.link.link.rate = \"2mbit\": is set twice",
        ),
    ] {
        let refused = load(&with(link, more), &[]).map(|_| ()).unwrap_err();
        assert!(
            refused.contains(expected),
            "{link}{more}\n{refused}\n{expected}"
        );
    }
    let many = "[[at]]\ntime = \"1s\"\nrepeat = \"1ms\"\nset = { \"link.rate\" = \"1mbit\" }\n";
    let refused = load(&with(plain, many), &["run.duration=1min"]).unwrap_err();
    assert!(
        refused.contains("gives more than 10000 changes"),
        "{refused}"
    );
    // What is wrong each time is reported once.
    let wrong = "[[at]]\ntime = \"1s\"\nrepeat = \"1s\"\nset = { \"link.rate\" = \"soon\" }\n";
    assert_eq!(
        load(&with(plain, wrong), &[]).unwrap_err().lines().count(),
        1
    );
    // A page without files says so.
    let alone = Scenario::parse(&with("rate = { trace = \"moves.csv\" }\n", "")).unwrap_err();
    assert!(
        alone.to_string().contains("files cannot be read here"),
        "{alone}"
    );
}

#[test]
fn what_is_possible_but_strange_is_a_warning() {
    let long = "rate = { data = \"time_s,rate_mbps\\n0,10\\n5,0\\n70,\\n\" }\n";
    let shallow = with(
        "rate = { data = \"time_s,rate_mbps\\n0,10\\n5,0.1\\n\" }\n",
        "",
    )
    .replace(
        "{ kind = \"pie\", limit = \"100p\" }",
        "{ kind = \"fifo\", limit = \"50ms\" }",
    );
    for (text, expected) in [
        (
            with(long, ""),
            "the trace has no capacity for 65s: flows will time out",
        ),
        (
            shallow,
            "where the trace has only 100kbit, the queue holds one packet: limit = 50ms is 625B at 100kbit and never accepts a packet of 1500B; \
             at 100kbit it must be 120ms or more",
        ),
        (
            // Also where the trace begins slowly.
            with(
                "rate = { data = \"time_s,rate_mbps\\n0,0.1\\n5,10\\n9,\" }\n",
                "",
            )
            .replace("limit = \"100p\"", "limit = \"50ms\""),
            "where the trace has only 100kbit, the queue holds one packet",
        ),
        (
            with(
                "rate = { data = \"time_s,rate_mbps\\n0,1\\n1,5\\n2,\" }\n",
                "",
            )
            .replace("kind = \"pie\", limit = \"100p\"", "kind = \"dualpi2\""),
            "",
        ),
    ] {
        let warnings = load(&text, &[]).unwrap().warnings;
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.join("\n").contains(expected), "{warnings:?}");
    }
}

/// A default in time was chosen for usual rates. A trace, an `[[at]]` or a reverse link for acknowledgements may be slower.
#[test]
fn no_default_of_a_queue_is_refused_or_blamed_for_a_slow_link() {
    for entry in quell_aqm::disciplines::KINDS {
        let queue = |text: &str| {
            text.replace(
                "{ kind = \"pie\", limit = \"100p\" }",
                &format!("\"{}\"", entry.name),
            )
        };
        for rate in ["1kbit", "20kbit", "100kbit", "400kbit"] {
            let mbps = quell_units::notation::rate(rate).unwrap().as_bps() as f64 / 1e6;
            let at = format!("[[at]]\ntime = \"1s\"\nset = {{ \"link.rate\" = \"{rate}\" }}\n");
            let slow = format!("rate = \"{rate}\"\n");
            let back = format!(
                "rate = \"10mbit\"\nreverse = {{ rate = \"{rate}\", queue = \"{}\" }}\n",
                entry.name
            );
            let dips = format!("rate = {{ data = \"time_s,rate_mbps\\n0,20\\n5,{mbps}\\n6,\" }}\n");
            let begins =
                format!("rate = {{ data = \"time_s,rate_mbps\\n0,{mbps}\\n1,20\\n6,\" }}\n");
            for (link, more) in [
                (&slow, ""),
                (&back, ""),
                (&"rate = \"10mbit\"\n".to_owned(), &*at),
                (&dips, ""),
                (&begins, ""),
            ] {
                let text = queue(&with(link, more));
                let loaded = load(&text, &[]).unwrap_or_else(|why| panic!("{text}{why}"));
                let blamed = loaded.warnings.iter();
                let mut blamed = blamed.filter(|warning| warning.allowed.contains("accepts"));
                assert_eq!(blamed.next(), None, "{text}");
                // Resolved, with its defaults written down, it is the same.
                let again = load(&loaded.scenario.to_toml(), &[]).unwrap();
                assert_eq!(again.scenario, loaded.scenario);
            }
        }
    }
}

#[test]
fn a_trace_that_becomes_slow_still_carries_packets() {
    // 100 ms at 20 kbit/s are 250 bytes, and every packet has 1 400. After the first second only the slow rate counts.
    let link = "rate = { data = \"time_s,rate_kbps\\n0,5000\\n1,20\\n60,\", repeat = false }\n";
    for (limit, packets) in [("100ms", 4), ("50ms", 1)] {
        let text = with(link, "")
            .replace(
                "kind = \"pie\", limit = \"100p\"",
                &format!("kind = \"fifo\", limit = \"{limit}\""),
            )
            .replace(
                "app = \"bulk\"",
                "app = { kind = \"cbr\", size = \"1400B\", interval = \"100ms\" }",
            )
            .replace("4s", "60s")
            .replace("warmup = \"1s\"", "warmup = \"5s\"");
        let summary = run(&load(&text, &[]).unwrap().scenario);
        let link = &summary.figures.link;
        assert!(link.utilisation > 0.95, "{limit}: {}", link.utilisation);
        // 1 400 bytes take 560 ms.
        let waited = summary.figures.groups[0].delay_ms.unwrap().p99 / 560.0;
        let expected = f64::from(packets);
        assert!(
            (expected - 1.0..=expected * 1.05).contains(&waited),
            "{limit}: {waited}"
        );
    }
}

#[test]
fn utilisation_is_what_was_carried_of_what_the_trace_offered() {
    // 20, 5 and 0 Mbit/s for 300, 400 and 100 ms: 10 Mbit/s on average. Two CUBIC flows fill it but for their backing off.
    let loaded = load(
        &with("rate = { trace = \"moves.csv\" }\n", ""),
        &["run.duration=17s"],
    )
    .unwrap();
    let link = run(&loaded.scenario).figures.link;
    assert_eq!(link.rate_bps, Some(10_000_000));
    assert!(
        (0.6..=1.01).contains(&link.utilisation),
        "{}",
        link.utilisation
    );
    // Mahimahi's line for each millisecond is 12 Mbit/s constant: the same figures within a percent.
    let constant = load(
        &with("rate = { trace = \"constant\" }\n", ""),
        &["run.duration=20s"],
    )
    .unwrap();
    let steady = load(&with("rate = \"12mbit\"\n", ""), &["run.duration=20s"]).unwrap();
    let [chances, rate] = [constant, steady].map(|loaded| run(&loaded.scenario).figures);
    assert_eq!(chances.link.rate_bps, rate.link.rate_bps);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
    assert!(
        near(chances.link.utilisation, rate.link.utilisation),
        "{} {}",
        chances.link.utilisation,
        rate.link.utilisation
    );
    let goodput =
        |figures: &quell_measure::Figures| figures.groups[0].goodput_bps.iter().sum::<f64>();
    assert!(
        near(goodput(&chances), goodput(&rate)),
        "{} {}",
        goodput(&chances),
        goodput(&rate)
    );
}

#[test]
fn losses_behind_the_queue_are_counted_apart_and_are_as_many_as_asked_for() {
    let text = with("rate = \"20mbit\"\nimpair = { loss = 0.01 }\n", "");
    let figures = run(&load(&text, &["run.duration=31s"]).unwrap().scenario).figures;
    let packets: u64 = figures
        .queues
        .iter()
        .filter(|queue| queue.direction == quell_measure::Direction::Forward)
        .map(|queue| queue.packets)
        .sum();
    let share = figures.link.lost_outside as f64 / packets as f64;
    assert!((0.008..0.012).contains(&share), "{share}");
    let plain = run(&load(&with("rate = \"20mbit\"\n", ""), &[])
        .unwrap()
        .scenario);
    assert_eq!(plain.figures.link.lost_outside, 0);
}
