//! Losses, jitter, reordering and the base RTT, changed while the program runs.

use super::*;

#[test]
fn changes_of_losses_and_of_the_rtt_have_short_keys_for_both_directions_and_for_one() {
    let changes = |at: &[(&str, &str)]| {
        let at = at
            .iter()
            .map(|(time, change)| ((*time).to_owned(), (*change).to_owned()));
        let options = LinkOptions {
            at: at.collect(),
            ..options(Some("20mbit"), None)
        };
        Plan::new(&options).map(|plan| plan.changes())
    };
    let sides = |change: &str| -> Vec<(Direction, String)> {
        let made = changes(&[("1s", change)]).unwrap_or_else(|why| panic!("{change}: {why}"));
        made.iter()
            .map(|(_, change)| (change.direction(), format!("{change:?}")))
            .collect()
    };
    let both = sides("loss=100%");
    assert_eq!(
        both.iter().map(|(way, _)| *way).collect::<Vec<_>>(),
        Direction::BOTH
    );
    assert_eq!(sides("down.loss=100%"), both[..1]);
    assert_eq!(sides("link.reverse.impair.loss=1"), both[1..]);
    assert_eq!(sides("link.reverse.impair.loss=100%"), both[1..]);
    let delay = sides("delay=40ms");
    assert_eq!((delay.len(), sides("rtt=80ms")), (2, delay));
    for (change, part) in [
        (
            "loss=1",
            "--at 1s loss=1: must be a share of the packets, such as 1% or 0.01",
        ),
        ("link.impair.loss=2", "must be"),
        ("rtt=80", "--at 1s rtt=80: "),
        ("rtt=20s", "at most 10 s"),
        ("down.hold=9ms", "has an effect only beside reorder"),
        ("mtu=900", "only the link can change"),
    ] {
        let why = changes(&[("1s", change)]).unwrap_err().to_string();
        assert!(why.contains(part), "{change}: {why}");
    }
    for (one, other) in [("loss=1%", "down.loss=2%"), ("rtt=1s", "delay=2s")] {
        let why = changes(&[("1s", one), ("1s", other)])
            .unwrap_err()
            .to_string();
        assert!(why.contains("is set twice at this time"), "{why}");
    }
    assert_eq!(
        changes(&[("2s", "rtt=1s"), ("1s", "loss=0.5")])
            .unwrap()
            .len(),
        4
    );
}

#[test]
fn a_wish_of_a_running_link_is_as_if_it_had_been_planned() {
    let options = |at: &[(&str, &str)]| LinkOptions {
        rtt: Some("20ms".to_owned()),
        at: at
            .iter()
            .map(|(time, change)| ((*time).to_owned(), (*change).to_owned()))
            .collect(),
        ..options(Some("20mbit"), None)
    };
    let plan = Plan::new(&options(&[("3s", "rtt=30ms")])).unwrap();
    let wishes = [("up.jitter", "4ms"), ("reorder", "5%"), ("delay", "20ms")];
    let wishes = wishes.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let (changed, made) = plan.with_changes(Time::from_secs(1), &wishes).unwrap();
    let planned = [
        ("1s", "up.jitter=4ms"),
        ("1s", "reorder=5%"),
        ("1s", "delay=20ms"),
        ("3s", "rtt=30ms"),
    ];
    let planned = Plan::new(&options(&planned)).unwrap();
    assert_eq!(changed.changes(), planned.changes());
    assert_eq!(
        (made.len(), planned.longest_rtt()),
        (5, Time::from_millis(40))
    );
    assert_eq!(plan.prepared_rtt(), Time::from_secs(1));
}

#[test]
fn connections_are_cut_and_new_ones_treated_at_their_times() {
    let plan = |set: &str, at: &[(&str, &str)], scenario: Option<String>| {
        let at = at.iter();
        let at = at.map(|(time, change)| ((*time).to_owned(), (*change).to_owned()));
        Plan::new(&LinkOptions {
            sets: vec![set.to_owned()],
            at: at.collect(),
            scenario: scenario.map(|text| ("result".to_owned(), text)),
            ..options(Some("20mbit"), None)
        })
    };
    let texts =
        |plan: &Plan| -> Vec<String> { plan.cuts().iter().map(|cut| cut.text.clone()).collect() };
    let at = [
        ("3s", "cut=fin older than 1s"),
        ("2s", "new = refuse  to\t:443"),
    ];
    let first = plan("new=accept-delay=1s", &at, None).unwrap();
    let start = "0s new=accept-delay=1s";
    let all = [start, "2s new=refuse to :443", "3s cut=fin older than 1s"];
    assert_eq!(texts(&first), all);
    assert!(first.needs_relay() && first.changes().is_empty());
    // Somebody may want more meanwhile, and the result repeats it.
    let wishes = [("new", "accept"), ("rtt", "9ms")];
    let wishes = wishes.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let changed = first.with_changes(Time::from_millis(2500), &wishes);
    let (second, made) = changed.unwrap();
    assert_eq!((made.len(), &*texts(&second)[2]), (2, "2.5s new=accept"));
    let result = crate::results::scenario(&second, &serde_json::json!({ "net": "relay" }));
    let again = plan("link.overhead=0", &[], Some(result)).unwrap();
    assert_eq!(texts(&again), texts(&second));
    for (set, at, part) in [
        (
            "link.overhead=0",
            Some(("1s", "new=rst")),
            "--at 1s new=rst: rst: must be rst, fin or silent",
        ),
        (
            "link.overhead=0",
            Some(("1s", "cut=refuse")),
            "must be rst, fin or silent",
        ),
        ("link.overhead=0", Some(("0s", "new=refuse")), "after 0 s"),
        ("new=no", None, "--set new=no: no: must be"),
        ("cut=rst", None, "only the link can be set"),
    ] {
        let why = plan(set, at.as_slice(), None).unwrap_err().to_string();
        assert!(why.contains(part) && !why.contains('\n'), "{why}");
    }
}

#[test]
fn a_rule_is_one_of_both_directions_or_of_one_and_its_probability_may_change() {
    let ruled = |rules: &[(&str, &str)], at: &[(&str, &str)]| {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(one, other)| ((*one).to_owned(), (*other).to_owned()))
                .collect()
        };
        let wanted = LinkOptions {
            impairments: owned(rules),
            at: owned(at),
            ..options(Some("20mbit"), None)
        };
        Plan::new(&wanted).map_err(|why| why.to_string())
    };
    let text = [
        ("rule", "ect0, ect1>ce:probability=5%,match=syn+data"),
        (
            "down-rule",
            "any>not-ect:to-dscp=0,dscp=45,name=bleach,every=3s,packets=9",
        ),
    ];
    let plan = ruled(&text, &[("1s", "rules.rule1.probability=10%")]).unwrap();
    let toml = plan.scenario().to_toml();
    let rule = "{ name = \"rule1\", from = [\"ect1\", \"ect0\"], match = [\"syn\", \"data\"], to = \"ce\", probability = 0.05 }";
    let bleach = "{ name = \"bleach\", dscp = 45, to = \"not-ect\", to-dscp = 0, every = \"3s\", packets = 9 }";
    assert_eq!(toml.matches(rule).count(), 2, "{toml}");
    assert!(
        toml.contains(&format!("rules = [{rule}, {bleach}]")),
        "{toml}"
    );
    assert_eq!(plan.changes().len(), 2);
    for (option, text, part) in [
        (
            "rule",
            "ect0>ce:loud",
            "--rule ect0>ce:loud: must be FROM>TO:KEY=VALUE",
        ),
        ("rule", "ect0>ce:name=x.y", "must be FROM>TO"),
        ("up-rule", ">ce", "must be FROM>TO"),
        ("rule", "any", "must be FROM>TO"),
        ("rule", "ect0>drop:probability=5", "1% or 0.01"),
        ("rule", "any>ce", "unsafe = true"),
        ("rule", "ect0>loss", "must be one of"),
    ] {
        let why = ruled(&[(option, text)], &[]).err().unwrap();
        assert!(why.contains(part), "{text}: {why}");
    }
    let twice = [("rule", "ect0>ce:name=x"), ("rule", "ect1>ce:name=x")];
    assert!(ruled(&twice, &[]).err().unwrap().contains("x is set twice"));
}

#[test]
fn jitter_around_the_delay_needs_one() {
    let wanted = |jitter: &str| LinkOptions {
        delay: Some("20ms".to_owned()),
        impairments: vec![("jitter".to_owned(), jitter.to_owned())],
        ..options(Some("20mbit"), None)
    };
    for (jitter, shape) in [("around:9ms", "uniform"), ("around:9ms:pareto", "pareto")] {
        let plan = Plan::new(&wanted(jitter)).unwrap();
        for side in plan.scenario().sides() {
            let impair = plan.scenario().side(side).impair.as_ref().unwrap();
            assert_eq!(impair.spread, Time::from_millis(9));
            assert_eq!(impair.shape.name(), shape);
        }
    }
    // A table of tc, which the scenario then holds, and a change while it runs.
    let file = tempfile::NamedTempFile::with_suffix(".dist").unwrap();
    std::fs::write(file.path(), "# a few\n-8192 0 0\n8192 16384\n").unwrap();
    let table = format!("around:9ms:{}", file.path().display());
    let changed = LinkOptions {
        at: vec![("5s".to_owned(), "spread=3ms".to_owned())],
        ..wanted(&table)
    };
    let plan = Plan::new(&changed).unwrap();
    let text = plan.scenario().to_toml();
    assert!(
        text.contains("spread = \"9ms\", shape = [-8192, 0, 0, 8192, 16384]"),
        "{text}"
    );
    assert!(text.contains("\"link.impair.spread\" = \"3ms\""), "{text}");
    for (jitter, part) in [
        ("around:21ms", "must be at most 20ms"),
        ("around:9ms:normal", "must be at most 8.333333ms"),
        ("around", "spread"),
        ("around:9ms:gauss", "uniform"),
        ("around:9ms:absent.dist", "absent.dist"),
    ] {
        let why = Plan::new(&wanted(jitter)).unwrap_err();
        assert!(why.to_string().contains(part), "{why}");
    }
    for (change, part) in [
        ("spread=21ms", "must be at most 20ms"),
        ("jitter=1ms", "set the other one to 0s first"),
    ] {
        let at = vec![("5s".to_owned(), change.to_owned())];
        let why = Plan::new(&LinkOptions {
            at,
            ..wanted("around:9ms")
        })
        .unwrap_err();
        assert!(why.to_string().contains(part), "{why}");
    }
}
