//! What options and files become.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod changing;
mod several_links;

use super::*;
use quell_measure::Direction;
use several_links::two;

const FORWARD: Side = side(Direction::Forward);
const REVERSE: Side = side(Direction::Reverse);

const fn side(direction: Direction) -> Side {
    Side {
        hop: quell_measure::Hop::FIRST,
        direction,
    }
}

fn options(down: Option<&str>, up: Option<&str>) -> LinkOptions {
    LinkOptions {
        down: down.map(str::to_owned),
        up: up.map(str::to_owned),
        ..LinkOptions::default()
    }
}

#[test]
fn a_direction_without_a_rate_is_unlimited() {
    for (down, up, line) in [
        (None, None, "unlimited"),
        (Some("20mbit"), None, "20mbit/unlimited fifo"),
        (None, Some("5mbit"), "unlimited/5mbit fifo"),
        (Some("20mbit"), Some("20mbit"), "20mbit fifo"),
    ] {
        let plan = Plan::new(&options(down, up)).unwrap();
        assert_eq!(plan.describe(), line);
        assert_eq!(plan.rate(FORWARD).is_some(), down.is_some());
        assert_eq!(plan.rate(REVERSE).is_some(), up.is_some());
    }
}

#[test]
fn a_direction_may_get_its_rate_later() {
    let mut later = options(Some("20mbit"), None);
    assert!(!Plan::new(&later).unwrap().is_ever_limited(REVERSE));
    later.at = vec![("2s".to_owned(), "up=5mbit".to_owned())];
    let plan = Plan::new(&later).unwrap();
    assert!(plan.is_ever_limited(FORWARD) && plan.is_ever_limited(REVERSE));
    assert_eq!(plan.rate(REVERSE), None);
}

#[test]
fn queues_delays_and_changes_are_those_that_were_asked_for() {
    let plan = Plan::new(&LinkOptions {
        rtt: Some("40ms".to_owned()),
        down_queues: vec!["dualpi2:target=5ms".to_owned()],
        up_queues: vec!["fq_codel".to_owned()],
        at: vec![
            ("2s".to_owned(), "up=1mbit".to_owned()),
            ("1s".to_owned(), "down.queue.target=9ms".to_owned()),
        ],
        ..options(Some("20mbit"), Some("5mbit"))
    })
    .unwrap();
    assert_eq!(plan.describe(), "20mbit/5mbit 40ms dualpi2/fq_codel");
    assert_eq!(plan.rtt(), Time::from_millis(40));
    let changes = plan.changes();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0].0, Time::from_secs(1));
    assert!(
        matches!(&changes[0].1, LinkChange::Configure { key, value, .. } if key == "target" && value == "9ms"),
        "{changes:?}"
    );
    let rate = LinkChange::SetRate {
        hop: quell_measure::Hop::FIRST,
        direction: Direction::Reverse,
        rate: Rate::from_mbps(1),
    };
    assert_eq!(changes[1], (Time::from_secs(2), rate));
}

#[test]
fn what_is_wrong_is_refused() {
    let wrong = |change: fn(&mut LinkOptions)| {
        let mut options = options(Some("20mbit"), None);
        change(&mut options);
        Plan::new(&options).unwrap_err().to_string()
    };
    assert!(wrong(|o| o.down = Some("20".into())).contains("rate"));
    assert!(wrong(|o| o.down_queues = vec!["no-such".into()]).contains("no-such"));
    assert!(wrong(|o| o.rtt = Some("40".into())).contains("--rtt"));
    assert!(wrong(|o| o.rtt = Some("11s".into())).contains("10 s"));
    assert!(wrong(|o| o.at = vec![("1s".into(), "down".into())]).contains("KEY=VALUE"));
    assert!(wrong(|o| o.at = vec![("1s".into(), "down=fast".into())]).contains("fast"));
    assert!(wrong(|o| o.at = vec![("1s".into(), "down=\"\n".into())]).contains("cannot"));
    assert!(wrong(|o| o.at = vec![("soon".into(), "down=1mbit".into())]).contains("soon"));
    let count = |o: &mut LinkOptions| o.at = vec![("1s".into(), "group.program.count=3".into())];
    assert!(wrong(count).contains("only the link"));
    let unlimited = LinkOptions {
        down_queues: vec!["dualpi2".into()],
        ..LinkOptions::default()
    };
    assert!(
        Plan::new(&unlimited)
            .unwrap_err()
            .to_string()
            .contains("--down")
    );
}

fn wishes(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    all.iter().map(pair).collect()
}

#[test]
fn what_changes_while_the_program_runs_is_checked_beside_all_other_changes() {
    let plan = Plan::new(&LinkOptions {
        down_queues: vec!["red:min=10ms,max=20ms".to_owned()],
        at: vec![("9s".to_owned(), "down=5mbit".to_owned())],
        ..options(Some("20mbit"), None)
    })
    .unwrap();
    assert_eq!(plan.fastest(), Rate::from_mbps(1_000));
    let at = Time::from_nanos(1_500_000_001);
    let both = wishes(&[("down", "7mbit"), ("down.queue.max", "60ms")]);
    let (next, made) = plan.with_changes(at, &both).unwrap();
    assert_eq!(made.len(), 2, "{made:?}");
    // What repeats it has all of it, in the order of the times.
    let times: Vec<Time> = next.scenario().changes.iter().map(|c| c.time).collect();
    assert_eq!(times, [at, Time::from_secs(9)]);
    // The second is allowed by the first alone.
    let min = wishes(&[("down.queue.min", "30ms")]);
    let later = at + Time::from_millis(1);
    assert!(next.with_changes(later, &min).is_ok());
    assert!(plan.with_changes(later, &min).is_err());
    for (key, value, part) in [
        ("down.queue.no-such", "1", "no-such"),
        ("down", "fast", "fast"),
        ("down", "\"", "quotes"),
        ("down\n", "1mbit\u{0}", "quotes"),
        ("group.program.count", "3", "only the link"),
        ("link.queue.kind", "pie", "kind"),
        ("run.duration", "3s", "duration"),
        ("", "", ""),
    ] {
        let error = plan.with_changes(at, &wishes(&[(key, value)])).unwrap_err();
        assert!(error.to_string().contains(part), "{key}={value}: {error}");
    }
    assert!(plan.with_changes(at, &[]).is_err());
}

/// Two links, of which the second has no rate back.
const TWO: &str = "schema = 1\nname = \"x\"\n[[link]]\nname = \"line\"\nrate = \"60mbit\"\ndelay = \"5ms\"\nqueue = \"dualpi2\"\nreverse = { rate = \"20mbit\", queue = \"fq_codel\" }\n[[link]]\nname = \"wifi\"\nrate = \"50mbit\"\nqueue = \"fifo\"\n[run]\nduration = \"5s\"\n";

#[test]
fn a_scenario_gives_its_link_whatever_its_groups() {
    let bare = "schema = 1\nname = \"x\"\n[link]\nrate = \"7mbit\"\nqueue = \"pie\"\n[run]\nduration = \"5s\"\n";
    let with = format!("{bare}[[group]]\nname = \"a\"\nrtt = \"30ms\"\napp = \"bulk\"\n");
    for (text, line) in [
        (bare.to_owned(), "7mbit/unlimited pie"),
        (
            bare.replace("\"7mbit\"", "{ data = \"1\\n\" }"),
            "trace/unlimited pie",
        ),
        (with, "7mbit/unlimited 30ms pie"),
    ] {
        let options = LinkOptions {
            scenario: Some(("x.toml".to_owned(), text)),
            ..LinkOptions::default()
        };
        assert_eq!(Plan::new(&options).unwrap().describe(), line);
    }
}

#[test]
fn what_links_do_with_values_of_packets_is_refused_by_its_key() {
    let group = "[[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\nvalue = \"gold\"\n";
    for (line, key) in [
        (
            "remark = [{ groups = [\"a\"], function = \"silver\" }]",
            "remark",
        ),
        ("values = \"header\"", "values = \"header\""),
    ] {
        let link = TWO.replacen("delay", &format!("{line}\ndelay"), 1);
        let refused = Plan::new(&LinkOptions {
            scenario: Some(("x.toml".to_owned(), format!("{link}{group}"))),
            ..LinkOptions::default()
        });
        let why = refused.unwrap_err().to_string();
        let expected = format!("link line: {key} is for groups with values");
        assert!(why.contains(&expected), "{why}");
    }
}

const CSV: &str = "time_s,rate_mbps\n0,12\n1,6\n2,\n";

/// A folder with traces and a scenario that names one.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("steps.csv", CSV);
    write("ms", "1\n2\n3\n");
    write("bad.csv", "time_s,rate_mbps\n0,12\n1,fast\n");
    folder
}

#[test]
fn a_trace_as_an_option_is_the_rate_of_its_direction() {
    use quell_aqm::link_trace::{ChanceFraming, Trace};
    let folder = folder();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let traced = LinkOptions {
        down_trace: Some(file("steps.csv:repeat=false,offset=500ms,scale=0.5")),
        up_trace: Some(file("ms:framing=mahimahi")),
        queues: vec!["pie".to_owned()],
        ..LinkOptions::default()
    };
    let plan = Plan::new(&traced).unwrap();
    assert_eq!(plan.describe(), "trace pie");
    let link = &plan.scenario().links()[0];
    let down = link.forward.course.clone().unwrap();
    assert_eq!((down.repeat, down.scale), (false, 500));
    assert_eq!(down.offset, Time::from_millis(500));
    let up = link.reverse.course.clone().unwrap();
    assert!(matches!(up.trace, Trace::Chances(_)) && up.repeat);
    assert_eq!(up.framing, ChanceFraming::Mahimahi);
    // What repeats it needs no file, and neither do changes while the program runs.
    drop(folder);
    let text = plan.scenario().to_toml();
    let again = LinkOptions {
        scenario: Some(("scenario.toml".to_owned(), text)),
        ..LinkOptions::default()
    };
    assert_eq!(Plan::new(&again).unwrap().scenario(), plan.scenario());
    let at = Time::from_secs(1);
    let wish = wishes(&[("down.queue.target", "9ms")]);
    assert_eq!(plan.with_changes(at, &wish).unwrap().1.len(), 1);
    let why = plan.with_changes(at, &wishes(&[("down", "3mbit")]));
    assert!(why.unwrap_err().to_string().contains("follows a trace"));
}

#[test]
fn a_slow_link_is_not_refused_for_a_default_and_doubtful_thresholds_are_named() {
    let plan = |options: LinkOptions| Plan::new(&options).unwrap();
    let slow = || LinkOptions {
        down: Some("100kbit".to_owned()),
        up: Some("20kbit".to_owned()),
        ..LinkOptions::default()
    };
    assert_eq!(plan(slow()).describe(), "100kbit/20kbit fifo");
    assert_eq!(plan(slow()).warnings(), [] as [&str; 0]);
    let written = LinkOptions {
        queues: vec!["fifo:limit=90ms".to_owned()],
        ..slow()
    };
    let why = Plan::new(&written).unwrap_err().to_string();
    assert!(
        why.contains("at 100kbit it must be 120ms or more, or an amount such as 3kB"),
        "{why}"
    );
    let step = plan(LinkOptions {
        down: Some("5mbit".to_owned()),
        queues: vec!["dualpi2".to_owned()],
        ..LinkOptions::default()
    });
    let [warning] = step.warnings() else {
        panic!("{:?}", step.warnings());
    };
    assert!(
        warning.contains("step_thresh = 2.4ms or min_qlen_step = 1p"),
        "{warning}"
    );
}

#[test]
fn what_was_understood_of_a_trace_is_said_and_a_guess_that_fits_badly_is_refused() {
    let folder = folder();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let kbit = file("kbit.txt", "30000\n20\n9000\n");
    let traced = |trace: String| {
        Plan::new(&LinkOptions {
            down_trace: Some(trace),
            ..LinkOptions::default()
        })
    };
    let why = traced(kbit.clone()).unwrap_err().to_string();
    assert!(
        why.contains("format = \"rates\" with unit = \"kbit\""),
        "{why}"
    );
    let plan = traced(format!("{kbit}:format=rates,unit=kbit,interval=1s")).unwrap();
    let [line] = plan.traces() else {
        panic!("{:?}", plan.traces());
    };
    assert!(
        line.ends_with("kbit.txt, rates: 3 rates in 3s, 20 kbit/s to 30 Mbit/s, mean 13 Mbit/s"),
        "{line}"
    );
}

#[test]
fn a_trace_says_what_is_in_it_and_a_rate_stands_beside_delays_alone() {
    let folder = folder();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let both = file("leo.csv", "time_s,rate_mbps,delay_ms\n0,12,20\n1,6,45\n");
    let delays = file("delays.txt", "20\n61\n");
    let plan = |down: Option<&str>, trace: String| {
        Plan::new(&LinkOptions {
            down: down.map(str::to_owned),
            down_trace: Some(trace.clone()),
            up_trace: Some(trace),
            ..LinkOptions::default()
        })
    };
    let leo = plan(None, format!("{both}:scale=0.5,offset=1s")).unwrap();
    assert_eq!(
        (leo.describe(), leo.traces().len()),
        ("trace fifo".to_owned(), 4)
    );
    for side in [
        &leo.scenario().links()[0].forward,
        &leo.scenario().links()[0].reverse,
    ] {
        let path = side.impair.as_ref().unwrap().trace.as_ref().unwrap();
        assert_eq!((path.offset, path.values.len()), (Time::from_secs(1), 2));
        assert_eq!(side.course.as_ref().unwrap().scale, 500);
    }
    let why = plan(Some("9mbit"), both).unwrap_err().to_string();
    assert!(
        why.contains("--down-trace")
            && why.ends_with("has rates, so --rate, --down and --up cannot stand beside it"),
        "{why}"
    );
    let named = format!("{delays}:format=delays,interval=10ms");
    let plan = plan(Some("9mbit"), named).unwrap();
    assert!(
        plan.describe().starts_with("9mbit/unlimited"),
        "{}",
        plan.describe()
    );
    assert!(
        plan.traces()[0].contains("delays.txt, delays: 2 lines in 20ms, delay 20ms to 61ms"),
        "{:?}",
        plan.traces()
    );
}

#[test]
fn a_trace_takes_the_place_of_the_rate_of_a_file() {
    let folder = folder();
    let scenario = folder.path().join("x.toml").to_str().unwrap().to_owned();
    let text = "schema = 1\nname = \"x\"\n[link]\nrate = { trace = \"steps.csv\" }\nqueue = \"pie\"\n[run]\nduration = \"5s\"\n";
    let mut options = LinkOptions {
        scenario: Some((scenario, text.to_owned())),
        ..LinkOptions::default()
    };
    // The file's own stands beside the file.
    assert_eq!(
        Plan::new(&options).unwrap().describe(),
        "trace/unlimited pie"
    );
    options.up_trace = folder.path().join("ms").to_str().map(str::to_owned);
    options.down = Some("3mbit".to_owned());
    assert_eq!(
        Plan::new(&options).unwrap().describe(),
        "3mbit/trace pie/fifo"
    );
    let bad = folder.path().join("bad.csv").to_str().unwrap().to_owned();
    options.down = None;
    options.down_trace = Some(bad.clone());
    let why = Plan::new(&options).unwrap_err().to_string();
    assert!(why.starts_with(&format!("{bad}:3: ")), "{why}");
}

#[test]
fn changes_are_put_between_those_of_the_file_and_errors_name_the_option() {
    let text = "schema = 1\nname = \"x\"\n[link]\nrate = \"7mbit\"\nqueue = \"pie\"\n[[at]]\ntime = \"10s\"\nset = { \"link.rate\" = \"1mbit\" }\n[run]\nduration = \"50s\"\n";
    let mut options = LinkOptions {
        scenario: Some(("x.toml".to_owned(), text.to_owned())),
        at: vec![("3s".to_owned(), "down=5mbit".to_owned())],
        ..LinkOptions::default()
    };
    let plan = Plan::new(&options).unwrap();
    let times: Vec<Time> = plan.changes().into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, [Time::from_secs(3), Time::from_secs(10)]);
    let at = Time::from_secs(5);
    assert!(plan.with_changes(at, &wishes(&[("down", "2mbit")])).is_ok());
    for (change, expected) in [
        ("down=fast", "--at 3s down=fast: link.rate = fast: must be"),
        ("group.a.count=3", "only the link can change"),
    ] {
        options.at = vec![("3s".to_owned(), change.to_owned())];
        let why = Plan::new(&options).unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
    }
    options.at = vec![("0s".to_owned(), "down=5mbit".to_owned())];
    let why = Plan::new(&options).unwrap_err().to_string();
    assert!(why.starts_with("--at 0s down=5mbit: time = 0s: "), "{why}");
    let twice = ("3s".to_owned(), "link.rate=2mbit".to_owned());
    options.at = vec![("3s".to_owned(), "down=5mbit".to_owned()), twice];
    let why = Plan::new(&options).unwrap_err().to_string();
    assert!(why.contains("twice"), "{why}");
    options.at.clear();
    options.down = Some("fast".to_owned());
    let why = Plan::new(&options).unwrap_err().to_string();
    assert!(
        why.starts_with("--down fast: link.rate = fast: must be a rate"),
        "{why}"
    );
}

#[test]
fn a_queue_for_both_directions_is_that_of_each_that_has_a_rate() {
    let mut all = options(Some("20mbit"), None);
    all.queues = vec!["dualpi2".to_owned()];
    assert_eq!(
        Plan::new(&all).unwrap().describe(),
        "20mbit/unlimited dualpi2"
    );
    all.sets = vec!["up=5mbit".to_owned()];
    assert_eq!(Plan::new(&all).unwrap().describe(), "20mbit/5mbit dualpi2");
    let text = "schema = 1\nname = \"x\"\n[link]\nrate = \"7mbit\"\nqueue = \"pie\"\nreverse = { rate = \"1mbit\" }\n[run]\nduration = \"5s\"\n";
    let of_file = LinkOptions {
        scenario: Some(("x.toml".to_owned(), text.to_owned())),
        queues: vec!["codel".to_owned()],
        ..LinkOptions::default()
    };
    assert_eq!(Plan::new(&of_file).unwrap().describe(), "7mbit/1mbit codel");
    for (queues, down, part) in [
        (vec!["pie"], None, "--queue pie: needs a rate"),
        (vec!["pie", "codel"], Some("7mbit"), "has a queue already"),
        (vec!["wifi=pie"], Some("7mbit"), "there is no link wifi"),
    ] {
        let mut all = options(down, None);
        all.queues = queues.into_iter().map(str::to_owned).collect();
        let why = Plan::new(&all).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    }
    for (set, works) in [
        ("run.interval=50ms", true),
        ("link.overhead=14", true),
        ("run.duration=3s", false),
        ("group.program.rtt=3s", false),
        ("name=x", false),
    ] {
        let mut options = options(Some("7mbit"), None);
        options.sets = vec![set.to_owned()];
        assert_eq!(Plan::new(&options).is_ok(), works, "{set}");
    }
    let mut only_set = options(None, None);
    only_set.sets = vec!["down=3mbit".to_owned()];
    assert_eq!(
        Plan::new(&only_set).unwrap().describe(),
        "3mbit/unlimited fifo"
    );
}

#[test]
fn what_repeats_more_often_than_a_scenario_holds_is_worked_out_as_it_comes() {
    // 864 000 changes in 24 h, and the two of the middle step.
    let text = "schema = 1\nname = \"x\"\n[link]\nrate = \"8mbit\"\nqueue = \"fifo\"\n\
        [[at]]\ntime = \"50ms\"\nrepeat = \"200ms\"\nset = { \"link.rate\" = \"1mbit\" }\n\
        [[at]]\ntime = \"150ms\"\nrepeat = \"200ms\"\nset = { \"link.rate\" = \"8mbit\" }\n\
        [[at]]\ntime = \"1s\"\nset = { \"link.queue.limit\" = \"50ms\" }\n\
        [run]\nduration = \"50s\"\n";
    let options = LinkOptions {
        scenario: Some(("x.toml".to_owned(), text.to_owned())),
        at: vec![("3s".to_owned(), "down.queue.limit=70ms".to_owned())],
        ..LinkOptions::default()
    };
    let plan = Plan::new(&options).unwrap();
    let mut all = plan.changes();
    let mut later = plan.later();
    let horizon = Time::from_secs(100);
    while let Some(change) = later.next_before(horizon) {
        all.push(change);
    }
    // The list that a scenario of 100 s has, computed one by one.
    let ms = Time::from_millis;
    let mut expected: Vec<(Time, Option<Rate>)> = vec![(ms(1_000), None), (ms(3_000), None)];
    for n in 0..500 {
        expected.push((ms(50 + 200 * n), Some(Rate::from_mbps(1))));
        expected.push((ms(150 + 200 * n), Some(Rate::from_mbps(8))));
    }
    expected.sort();
    let found = all.into_iter().map(|(at, change)| match change {
        LinkChange::SetRate { rate, .. } => (at, Some(rate)),
        _ => (at, None),
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(plan.scenario().run.duration, Time::from_secs(24 * 3_600));
    // It goes on for a day and no longer.
    while later.next_before(Time::MAX).is_some() {}
    assert_eq!(later.next_before(Time::MAX), None);
    // Steps without a common multiple within a day are refused as before.
    let odd = text
        .replacen("200ms", "199.999999ms", 1)
        .replacen("200ms", "200.000001ms", 1);
    let options = LinkOptions {
        scenario: Some(("x.toml".to_owned(), odd)),
        ..LinkOptions::default()
    };
    let why = Plan::new(&options).unwrap_err().to_string();
    assert!(why.contains("10000 changes"), "{why}");
}

#[test]
fn delays_one_way_losses_and_jitter_are_those_of_both_directions() {
    let wanted = |delay: &str, loss: &str, jitter: &str| LinkOptions {
        delay: Some(delay.to_owned()),
        impairments: vec![
            ("loss".to_owned(), loss.to_owned()),
            ("jitter".to_owned(), jitter.to_owned()),
        ],
        ..options(Some("20mbit"), None)
    };
    for (loss, parts) in [
        ("1%", 10_000),
        ("0.01", 10_000),
        ("0.05 %", 500),
        ("100%", 1_000_000),
    ] {
        let plan = Plan::new(&wanted("20ms", loss, "3ms")).unwrap();
        assert_eq!(plan.rtt(), Time::from_millis(40));
        for side in plan.scenario().sides() {
            let impair = plan.scenario().side(side).impair.as_ref().unwrap();
            assert_eq!((impair.loss, impair.jitter), (parts, Time::from_millis(3)));
            assert!(plan.direction(side, 1_500).impairer.is_in_use());
        }
    }
    for (loss, part) in [
        (
            "1",
            "--loss 1: must be a share of the packets, such as 1% or 0.01",
        ),
        ("5", "1% or 0.01"),
        ("101%", "1% or 0.01"),
        ("-1%", "1% or 0.01"),
        ("much", "1% or 0.01"),
    ] {
        let why = Plan::new(&wanted("20ms", loss, "3ms"))
            .unwrap_err()
            .to_string();
        assert!(why.contains(part), "{why}");
    }
    let why = Plan::new(&wanted("20", "1%", "3ms"))
        .unwrap_err()
        .to_string();
    assert!(why.starts_with("--delay 20: "), "{why}");
    let why = Plan::new(&wanted("20ms", "1%", "3"))
        .unwrap_err()
        .to_string();
    assert!(why.starts_with("--jitter 3: link.impair.jitter"), "{why}");
    let several = LinkOptions {
        impairments: vec![("loss".to_owned(), "1%".to_owned())],
        ..two()
    };
    let why = Plan::new(&several).unwrap_err().to_string();
    assert!(why.contains("--set 'link.line.impair.loss=0.01'"), "{why}");
    // An outage may be written in any unit.
    for outage in ["0", "0mbit", "0bit"] {
        let mut options = options(Some("20mbit"), None);
        options.at = vec![("1s".to_owned(), format!("down={outage}"))];
        let changes = Plan::new(&options).unwrap().changes();
        assert!(
            matches!(
                changes[..],
                [(
                    _,
                    LinkChange::SetRate {
                        rate: Rate::ZERO,
                        ..
                    }
                )]
            ),
            "{outage}: {changes:?}"
        );
    }
}
