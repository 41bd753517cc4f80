//! What parameters accept, refuse and print.

use super::*;
use crate::{Time, parameters, words};

words! {
    /// The word of `form`.
    enum Form {
        New = "new",
        Old = "old",
    }
}

const ROW: Parameter = Parameter::LIVE.source("a test").help("A parameter.");

parameters! {
    /// Parameters that two tables share.
    struct Shared {
        window: u8 = ROW.domain(Domain::Integer(1, 255)).default("4"),
    }
}

parameters! {
    /// A table with every kind of row.
    struct Parameters {
        form: Form = ROW.default("new").fixed(),
        target: Given<Time> = ROW.domain(Domain::Time(Time::from_nanos(1), Time::from_secs(1)))
            .default_by("form", &[("new", "16ms"), ("old", "15ms")]),
        any_ect: bool = ROW.opposite("l4s_ect").only(("form", "old")),
        limit: Amount = ROW.domain(Domain::Limit { plain_is_packets: true }).default("100ms"),
        memory: Option<Bytes> = ROW.domain(Domain::Bytes(1, 1_000)).derived("twice the limit"),
        ..shared: Shared = *Shared::ROWS.first_chunk::<1>().unwrap(),
    }
}

const TABLE: &[Parameter] = Parameters::ROWS;

fn settings(given: &[(&str, &str)]) -> Result<Settings, ParameterError> {
    let mut settings = Settings::new(TABLE);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    Ok(settings)
}

fn parameters(given: &[(&str, &str)]) -> Parameters {
    Parameters::of(&settings(given).unwrap())
}

#[test]
fn fields_hold_what_is_given_and_the_defaults_of_the_rest() {
    let names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    let expected = ["form", "target", "any_ect", "limit", "memory", "window"];
    assert_eq!(names, expected);
    let defaults = parameters(&[]);
    // A default is one where it is written down, too.
    for given in [&[][..], &[("limit", "100ms")]] {
        let usual = Amount::DefaultTime(Time::from_millis(100));
        assert_eq!(parameters(given).limit, usual, "{given:?}");
    }
    let another = parameters(&[("limit", "99ms")]).limit;
    assert_eq!(another, Amount::Time(Time::from_millis(99)));
    assert_eq!((defaults.memory, defaults.shared.window), (None, 4));
    let given = parameters(&[("limit", "20"), ("memory", "30B"), ("window", "9")]);
    assert_eq!(given.limit, Amount::Packets(20));
    let memory = Some(Bytes::new(30));
    assert_eq!((given.memory, given.shared.window), (memory, 9));
}

#[test]
fn defaults_follow_the_form() {
    let target = |given: &[_]| parameters(given).target;
    assert_eq!(target(&[]).value, Time::from_millis(16));
    let old = parameters(&[("form", "old")]);
    assert_eq!(old.form, Form::Old);
    assert_eq!(old.target.value, Time::from_millis(15));
    assert!(!old.target.is_given);
    assert!(target(&[("target", "15ms")]).is_given);
}

#[test]
fn the_opposite_name_of_a_flag_inverts_it() {
    let old = |key, value| parameters(&[("form", "old"), (key, value)]).any_ect;
    assert!(old("any_ect", "true"));
    assert!(!old("l4s_ect", "true"));
    assert!(old("l4s_ect", "false"));
}

#[test]
fn errors_name_key_found_and_allowed() {
    for (given, message) in [
        (
            &[("tarket", "1ms")][..],
            "tarket = 1ms: unknown parameter; known are form, target, any_ect, limit, memory, window",
        ),
        (
            &[("target", "2s")],
            "target = 2s: must be a time from 1ns to 1s",
        ),
        (
            &[("target", "15")],
            "target = 15: must be a time from 1ns to 1s",
        ),
        (
            &[("form", "newest")],
            "form = newest: must be one of \"new\", \"old\"",
        ),
        (
            &[("any_ect", "true")],
            "any_ect = true: has an effect only with form = \"old\"",
        ),
    ] {
        assert_eq!(settings(given).unwrap_err().to_string(), message);
    }
}

#[test]
fn only_living_parameters_change_on_a_living_queue() {
    let settings = settings(&[]).unwrap();
    let changed = settings.changed("target", "5ms").unwrap();
    assert_eq!(Parameters::of(&changed).target.value, Time::from_millis(5));
    let error = settings.changed("form", "old").unwrap_err();
    assert_eq!(error.allowed, "cannot change while the queue lives");
}

parameters! {
    /// A switch that lives, and what it turns off.
    struct Switched {
        adaptive: bool = ROW,
        gain: u8 = ROW.domain(Domain::Integer(1, 9)).default("3").only(("adaptive", "false")),
    }
}

#[test]
fn a_default_that_is_written_down_does_not_stand_in_the_way_of_a_change() {
    let given = |gain| {
        let mut settings = Settings::new(Switched::ROWS);
        settings.set("gain", gain).unwrap();
        settings.check().unwrap();
        settings
    };
    let changed = given("3").changed("adaptive", "true").unwrap();
    assert!(Switched::of(&changed).adaptive);
    let back = changed.changed("adaptive", "false").unwrap();
    assert_eq!(Switched::of(&back).gain, 3);
    // Another value was meant to have an effect.
    let refused = given("4").changed("adaptive", "true").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "adaptive = true: does not go with gain = 4, which has an effect only with adaptive = false"
    );
    // So was one that is changed itself.
    assert!(changed.changed("gain", "3").is_err());
}

#[test]
fn a_rate_says_its_unit_and_ends() {
    let domain = Domain::Rate(Rate::from_bps(1_000), Rate::from_mbps(10));
    assert_eq!(domain.to_string(), "a rate from 1kbit to 10mbit");
    for (text, bps) in [("1kbit", Some(1_000)), ("2.5mbit", Some(2_500_000))] {
        let value = bps.map(|bps| Value::Rate(Rate::from_bps(bps)));
        assert_eq!(domain.parse(text).ok(), value);
        assert_eq!(value.map(|value| value.to_string()).as_deref(), Some(text));
    }
    for text in ["999bit", "11mbit", "unlimited", "5000000", "10Mbps"] {
        assert!(domain.parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_limit_says_its_unit() {
    for (text, value) in [
        ("64kB", Some(Value::Bytes(Bytes::new(64_000)))),
        ("100p", Some(Value::Packets(100))),
        ("100ms", Some(Value::Time(Time::from_millis(100)))),
        ("100", None),
        ("0B", None),
        ("0p", None),
        ("0ms", None),
    ] {
        assert_eq!(
            Domain::Limit {
                plain_is_packets: false
            }
            .parse(text)
            .ok(),
            value,
            "{text}"
        );
    }
    let plain = Domain::Limit {
        plain_is_packets: true,
    };
    assert_eq!(plain.parse("100").ok(), Some(Value::Packets(100)));
}
