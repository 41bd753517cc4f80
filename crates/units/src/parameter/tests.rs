//! What parameters accept, refuse and print.

use super::*;

const TABLE: &[Parameter] = &[
    Parameter {
        name: "form",
        opposite: None,
        domain: Domain::Word(&["new", "old"]),
        default: Preset::Is("new"),
        only: None,
        live: false,
        source: "",
        help: "",
    },
    Parameter {
        name: "target",
        opposite: None,
        domain: Domain::Time(Time::from_nanos(1), Time::from_secs(1)),
        default: Preset::By("form", &[("new", "16ms"), ("old", "15ms")]),
        only: None,
        live: true,
        source: "",
        help: "",
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        domain: Domain::Flag,
        default: Preset::Is("false"),
        only: Some(("form", "old")),
        live: true,
        source: "",
        help: "",
    },
];

fn settings(given: &[(&str, &str)]) -> Result<Settings, ParameterError> {
    let mut settings = Settings::new(TABLE);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    Ok(settings)
}

#[test]
fn defaults_follow_the_form() {
    assert_eq!(settings(&[]).unwrap().time("target"), Time::from_millis(16));
    let old = settings(&[("form", "old")]).unwrap();
    assert_eq!(old.time("target"), Time::from_millis(15));
    assert!(!old.is_given("target"));
}

#[test]
fn the_opposite_name_of_a_flag_inverts_it() {
    let old = |key, value| settings(&[("form", "old"), (key, value)]).unwrap();
    assert!(old("any_ect", "true").flag("any_ect"));
    assert!(!old("l4s_ect", "true").flag("any_ect"));
    assert!(old("l4s_ect", "false").flag("any_ect"));
}

#[test]
fn errors_name_key_found_and_allowed() {
    for (given, message) in [
        (
            &[("tarket", "1ms")][..],
            "tarket = 1ms: unknown parameter; known are form, target, any_ect",
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
    assert_eq!(
        settings.changed("target", "5ms").unwrap().time("target"),
        Time::from_millis(5)
    );
    let error = settings.changed("form", "old").unwrap_err();
    assert_eq!(error.allowed, "cannot change while the queue lives");
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
    assert_eq!(plain.parse("100"), Ok(Value::Packets(100)));
}
