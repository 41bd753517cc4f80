//! Packet values: functions, markers, and what groups say of them.

use super::*;

/// [`GOOD`] in front of a queue that looks at values.
fn valued() -> String {
    GOOD.replace(
        "kind = \"fifo\"\nlimit = \"100ms\"",
        "kind = \"drop_min_value\"\nlimit = \"100p\"",
    )
}

fn load(text: &str, arguments: &[&str]) -> Result<quell_scenario::Loaded, String> {
    let sets = arguments
        .iter()
        .map(|argument| Override::set(argument).unwrap());
    let sets: Vec<Override> = sets.collect();
    Scenario::load("f.toml", text, &sets, Some(World::Sim)).map_err(|error| error.to_string())
}

/// The names of the functions and the marker of each group.
fn values(scenario: &Scenario) -> Vec<Option<(String, &'static str)>> {
    let of = |group: &quell_scenario::Group| {
        let value = group.value.as_ref()?;
        let names: Vec<&str> = value
            .functions
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        Some((names.join("+"), value.marker))
    };
    scenario.groups.iter().map(of).collect()
}

fn some(function: &str, marker: &'static str) -> Option<(String, &'static str)> {
    Some((function.to_owned(), marker))
}

#[test]
fn every_group_is_gold_where_the_queue_looks_and_unmarked_where_not() {
    let gold = || some("gold", "random");
    let reverse = "[link.reverse]\nrate = \"1mbit\"\nqueue = { kind = \"drop_min_value\" }\n";
    for (text, expected) in [
        (GOOD.to_owned(), [None, None]),
        (valued(), [gold(), gold()]),
        (
            valued().replace("count = 2", "value = \"none\""),
            [None, gold()],
        ),
        (
            valued().replace("count = 2", "value = \"silver\""),
            [some("silver", "random"), gold()],
        ),
        (
            GOOD.replace("count = 2", "value = \"silver\""),
            [some("silver", "random"), None],
        ),
        // The queue that counts is that of the group's data.
        (
            GOOD.replace(
                "[[group]]\nname = \"a\"",
                &format!("{reverse}[[group]]\nname = \"a\""),
            )
            .replace("count = 2", "direction = \"reverse\""),
            [gold(), None],
        ),
    ] {
        let scenario = load(&text, &[]).unwrap().scenario;
        assert_eq!(values(&scenario), expected, "{text}");
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
    }
}

const OWN: &str = r#"[value.premium]
kind = "piecewise"
points = [["1mbit", 1000000], ["10mbit", 20000], ["10mbit", 200], ["1gbit", 1]]
[value.half]
kind = "inverse"
scale = 2
"#;

#[test]
fn own_functions_and_markers_with_parameters_read_back_as_they_are() {
    let text = valued().replace("[[at]]", &format!("{OWN}[[at]]")).replace(
        "count = 2",
        "value = { function = \"premium\", marker = \"random\", per = \"aggregate\", time_constant = \"50ms\" }",
    );
    let scenario = load(&text, &["group.voice.value=half"]).unwrap().scenario;
    assert_eq!(
        values(&scenario),
        [some("premium", "random"), some("half", "random")]
    );
    let resolved = scenario.to_toml();
    for line in [
        "points = [[\"1mbit\", 1000000], [\"10mbit\", 20000], [\"10mbit\", 200], [\"1gbit\", 1]]",
        "reach = \"100gbit\"",
        "value = { function = \"premium\", marker = \"random\", per = \"aggregate\", time_constant = \"50ms\" }",
    ] {
        assert!(resolved.contains(line), "{resolved}");
    }
    assert_eq!(Scenario::parse(&resolved).unwrap(), scenario);
    // A default that would have no effect is not written: boost is for one function.
    let text = valued().replace(
        "count = 2",
        "value = { function = [\"gold\", \"silver\"], marker = \"multi_timescale\", timescales = 2 }",
    );
    let scenario = load(&text, &[]).unwrap().scenario;
    let resolved = scenario.to_toml();
    assert!(
        !resolved.contains("boost") && resolved.contains("longest = \"10s\""),
        "{resolved}"
    );
    assert_eq!(Scenario::parse(&resolved).unwrap(), scenario);
}

#[test]
fn arguments_choose_functions_and_markers_and_give_them_parameters() {
    let text = valued().replace("[[at]]", &format!("{OWN}[[at]]"));
    let group = |arguments: &[&str], text: &str| {
        let scenario = load(text, arguments).unwrap().scenario;
        let value = scenario.groups[0].value.clone().unwrap();
        let parameters = value.settings.applicable();
        let given = parameters.filter(|(row, _)| value.settings.is_given(row.name));
        let given: Vec<String> = given
            .map(|(row, value)| format!("{} = {}", row.name, value.unwrap()))
            .collect();
        (values(&scenario)[0].clone(), given.join(", "))
    };
    let plain = |function| (some(function, "random"), String::new());
    assert_eq!(group(&["group.a.value=silver"], &text), plain("silver"));
    assert_eq!(group(&["group.a.value=premium"], &text), plain("premium"));
    let silver = text.replace("count = 2", "value = \"silver\"");
    let slow = "group.a.value.time_constant=1s";
    // Silver remains what a table is made for, and a group that said nothing is gold.
    for (text, function) in [(&text, "gold"), (&silver, "silver")] {
        assert_eq!(
            group(&[slow], text),
            (some(function, "random"), "time_constant = 1s".to_owned())
        );
    }
    assert_eq!(
        group(&[slow, "group.a.value.function=half"], &silver),
        (some("half", "random"), "time_constant = 1s".to_owned())
    );
    // An own function, too.
    let scenario = load(&text, &["value.half.scale=4"]).unwrap().scenario;
    assert!(scenario.to_toml().contains("scale = 4"));
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let functions = "gold, silver, background, inverse, linear, rational";
    let kinds = "\"gold\", \"silver\", \"background\", \"inverse\", \"linear\", \"rational\", \"piecewise\"";
    let points = "[[\"1mbit\", 1000000], [\"1gbit\", 1]]";
    let form = "the name of a throughput-value function, \"none\", or a table with a marker: \
         { function = \"gold\", marker = \"token_bucket\" }";
    // Of a group, on line 10.
    for (value, message) in [
        (
            "\"golf\"",
            format!("group.a.value = \"golf\": there is no value function golf (did you mean gold?); there are {functions}, half, and what [value.NAME] defines"),
        ),
        ("1", format!("group.a.value = 1: must be {form}")),
        ("[\"gold\"]", format!("group.a.value = [\"gold\"]: must be {form}")),
        (
            "{ function = \"none\" }",
            "group.a.value.function = \"none\": a group without values has no marker either; give value = \"none\" alone".to_owned(),
        ),
        (
            "{ function = [\"gold\", \"silver\"] }",
            "group.a.value.function = 2: must be one value function".to_owned(),
        ),
        (
            "{ tau = \"1s\" }",
            "group.a.value.tau = \"1s\": unknown key; \"random\" has per, flows, idle, time_constant".to_owned(),
        ),
        (
            "{ time_constant = \"1us\" }",
            "group.a.value.time_constant = \"1us\": must be a time from 1ms to 100s".to_owned(),
        ),
        (
            "{ per = \"aggregate\", flows = 100 }",
            "group.a.value.flows = 100: has an effect only with per = \"flow\"".to_owned(),
        ),
    ] {
        let text = valued()
            .replace("count = 2", &format!("value = {value}"))
            .replace("[[at]]", "[value.half]\nkind = \"inverse\"\nscale = 2\n[[at]]");
        assert_eq!(load(&text, &[]).unwrap_err(), format!("f.toml:10: {message}"));
    }
    // What the library says of several functions.
    let several = valued().replace(
        "count = 2",
        "value = { function = [\"gold\", \"silver\"], marker = \"multi_timescale\" }",
    );
    assert_eq!(
        load(&several, &[]).unwrap_err(),
        "f.toml:10: group.a.value.function = 2: must be one, or one for each timescale"
    );
    // Of a function, whose table is on line 18.
    for (name, function, message) in [
        (
            "gold",
            "kind = \"inverse\"",
            "18: value.gold = a table: is the name of something else; choose another".to_owned(),
        ),
        (
            "own",
            "scale = 2",
            format!("18: value.own.kind: is missing; must be one of {kinds}"),
        ),
        (
            "own",
            "kind = \"liner\"",
            format!("19: value.own.kind = \"liner\": must be one of {kinds}; did you mean \"linear\"?"),
        ),
        (
            "own",
            "kind = \"linear\"\nreach = \"1mbit\"",
            "20: value.own.reach = \"1mbit\": unknown key; \"linear\" has value, zero, scale".to_owned(),
        ),
        (
            "own",
            "kind = \"gold\"\nscale = 2",
            "20: value.own.scale = 2: unknown key; \"gold\" has no parameter".to_owned(),
        ),
        (
            "own",
            "kind = \"linear\"\npoints = []",
            "20: value.own.points = []: has an effect only with kind = \"piecewise\"".to_owned(),
        ),
        (
            "own",
            "kind = \"piecewise\"",
            format!("18: value.own.points: is missing; must be a list of points, each a rate and its value: {points}"),
        ),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"1mbit\", 1, 2]]",
            format!("20: value.own.points.1 = [\"1mbit\", 1, 2]: must be a list of points, each a rate and its value: {points}"),
        ),
        // Not decreasing.
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"1mbit\", 9], [\"2mbit\", 9]]",
            "20: value.own.points = [\"2mbit\", 9]: must have values that fall: a higher rate is worth less; [\"1mbit\", 9] comes before it".to_owned(),
        ),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"2mbit\", 9], [\"1mbit\", 8]]",
            "20: value.own.points = [\"1mbit\", 8]: must have rates that do not fall; [\"2mbit\", 9] comes before it".to_owned(),
        ),
    ] {
        let text = valued().replace("[[at]]", &format!("[value.{name}]\n{function}\n[[at]]"));
        assert_eq!(load(&text, &[]).unwrap_err(), format!("f.toml:{message}"));
    }
    // A value is not for changes.
    let timed = valued().replace(
        "\"link.rate\" = \"20mbit\"",
        "\"group.a.value\" = \"silver\"",
    );
    assert!(
        load(&timed, &[])
            .unwrap_err()
            .contains("at.1.set.group.a.value")
    );
}

#[test]
fn a_scalable_group_that_lands_in_the_classic_queue_is_warned_of() {
    let vdq = |more: &str| {
        let queue = format!("kind = \"vdq_csaqm\"\n{more}");
        let text = GOOD.replace("kind = \"fifo\"\nlimit = \"100ms\"", &queue);
        let loaded = load(&text, &[]).unwrap();
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    // DCTCP sends ECT(0), as Linux does.
    assert_eq!(vdq("any_ect = true"), [""; 0]);
    assert_eq!(
        vdq("any_ect = false"),
        [
            "f.toml:8: group.a.ecn = ect0: this scalable group uses the Classic queue of vdq_csaqm; give it ecn = \"ect1\", or the \
             queue any_ect = true"
        ]
    );
    assert_eq!(vdq("l4s_ect = true").len(), 1);
}

/// Two packets per 25 ms are 0.97 Mbit/s with their Ethernet headers.
#[test]
fn prague_below_two_packets_per_target_is_warned_of() {
    let warnings = |control: &str, rate: &str, rtt: &str, count: u32| {
        let text = format!(
            "schema = 1\nname = \"share\"\n[link]\nrate = \"{rate}\"\nqueue = \"dualpi2\"\n[[group]]\nname = \"a\"\ncount = {count}\n\
             rtt = \"{rtt}\"\napp = \"bulk\"\ncongestion-control = {control}\n[run]\nduration = \"10s\"\n"
        );
        let loaded = load(&text, &[]).unwrap();
        let texts = loaded.warnings.iter().map(ToString::to_string);
        texts
            .filter(|text| text.contains("fair share"))
            .collect::<Vec<_>>()
    };
    let prague = "\"prague\"";
    for (control, rate, rtt, count, is_warned) in [
        (prague, "10mbit", "10ms", 10, false),
        (prague, "9600kbit", "10ms", 10, true),
        (prague, "970kbit", "25ms", 1, false),
        (prague, "960kbit", "25ms", 1, true),
        // A longer round trip is the longer target.
        (prague, "960kbit", "40ms", 1, false),
        (
            "{ name = \"prague\", rtt_target = \"5ms\" }",
            "960kbit",
            "5ms",
            1,
            true,
        ),
        (
            "{ name = \"prague\", rtt_target = \"5ms\" }",
            "5mbit",
            "5ms",
            1,
            false,
        ),
        ("\"dctcp\"", "960kbit", "5ms", 1, false),
    ] {
        let found = warnings(control, rate, rtt, count);
        assert_eq!(
            !found.is_empty(),
            is_warned,
            "{control} {rate} {rtt}: {found:?}"
        );
    }
}

#[test]
fn values_that_do_nothing_are_warned_of() {
    let warnings = |text: &str| -> Vec<String> {
        let loaded = load(text, &[]).unwrap();
        let texts = loaded.warnings.iter().map(ToString::to_string);
        texts
            .filter(|text| text.contains("value") || text.contains("bins"))
            .collect()
    };
    assert_eq!(warnings(&valued()), [""; 0]);
    assert_eq!(warnings(GOOD), [""; 0]);
    assert_eq!(
        warnings(&GOOD.replace("count = 2", "value = \"silver\"")),
        [
            "f.toml:10: group.a.value = \"silver\": fifo does not look at packet values, so this has no effect"
        ]
    );
    assert_eq!(
        warnings(&valued().replace("count = 2", "value = \"none\"")),
        [
            "f.toml:10: group.a.value = \"none\": the packets of this group carry no value, so drop_min_value gives all of \
             them its default_value; name a function"
        ]
    );
    let coarse = "rate = \"40mbit\"\nbins-per-octave = 9";
    assert_eq!(
        warnings(&GOOD.replace("rate = \"40mbit\"", coarse)),
        [
            "f.toml:5: link.bins-per-octave = 9: no group whose data goes this way has a value, so this has no effect"
        ]
    );
    assert_eq!(
        warnings(&valued().replace("rate = \"40mbit\"", coarse)),
        [""; 0]
    );
    assert_eq!(
        warnings(&valued().replace("[[at]]", "[value.half]\nkind = \"inverse\"\n[[at]]")),
        ["f.toml:18: value.half: no group and no network uses this function"]
    );
}

/// What markers remember is memory of a run, in every world.
#[test]
fn markers_that_remember_too_many_flows_are_refused() {
    let mut text = valued().replace("count = 2\n", "");
    for index in 0..20 {
        let group = format!(
            "[[group]]\nname = \"g{index}\"\nrtt = \"7ms\"\napp = {{ kind = \"bulk\" }}\n\
             value = {{ marker = \"token_bucket\", flows = 65_536, steps = 100 }}\n[[at]]"
        );
        text = text.replacen("[[at]]", &group, 1);
    }
    for world in [World::Sim, World::Live] {
        let error = Scenario::load("f.toml", &text, &[], Some(world)).unwrap_err();
        let told = error.to_string();
        // 601 buckets of 8 bytes for each flow, and its place.
        assert!(
            told.starts_with("f.toml:116: group.g19.value.flows = 65536: ")
                && told.contains("markers")
                && told.ends_with("let markers remember fewer flows"),
            "{told}"
        );
    }
    let few = text.replace("flows = 65_536", "flows = 4_096");
    for world in [World::Sim, World::Live] {
        assert!(Scenario::load("f.toml", &few, &[], Some(world)).is_ok());
    }
}
