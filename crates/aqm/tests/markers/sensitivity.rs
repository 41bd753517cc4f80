//! Each parameter of each marker and of each function changes what comes out.

use super::*;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::FUNCTIONS;
use quell_aqm::value::code::BINS_PER_OCTAVE;

/// Kind, what else is given, the parameter, and two values.
const KNOBS: &[(&str, Given<'_>, &str, &str, &str)] = &[
    ("random", &[], "per", "flow", "aggregate"),
    ("random", &[], "flows", "16", "1024"),
    ("random", &[("flows", "16")], "idle", "10ms", "10s"),
    ("random", &[], "time_constant", "50ms", "200ms"),
    ("token_bucket", &[], "per", "flow", "aggregate"),
    ("token_bucket", &[], "flows", "16", "1024"),
    ("token_bucket", &[("flows", "16")], "idle", "10ms", "10s"),
    ("token_bucket", &[], "from", "10kbit", "300kbit"),
    ("token_bucket", &[], "to", "1mbit", "1gbit"),
    ("token_bucket", &[], "steps", "10", "30"),
    ("token_bucket", &[], "depth", "10ms", "30ms"),
    ("token_bucket", &[("depth", "1ms")], "least", "3kB", "6kB"),
    ("fast_adapting", &[], "per", "flow", "aggregate"),
    ("fast_adapting", &[], "flows", "16", "1024"),
    ("fast_adapting", &[("flows", "16")], "idle", "10ms", "10s"),
    ("fast_adapting", &[], "time_constant", "50ms", "200ms"),
    ("fast_adapting", &[], "bucket", "3kB", "60kB"),
    ("fast_adapting", &[], "step", "1B", "3kB"),
    ("table", &[], "per", "flow", "aggregate"),
    ("table", &[], "flows", "16", "1024"),
    ("table", &[("flows", "16")], "idle", "10ms", "10s"),
    ("table", &[], "time_constant", "50ms", "200ms"),
    ("table", &[], "steps", "32", "64"),
    ("table", &[], "table_bits", "8", "12"),
    ("multi_timescale", &[], "per", "flow", "aggregate"),
    ("multi_timescale", &[], "flows", "16", "1024"),
    ("multi_timescale", &[("flows", "16")], "idle", "10ms", "10s"),
    ("multi_timescale", &[], "timescales", "2", "4"),
    ("multi_timescale", &[], "shortest", "50ms", "100ms"),
    ("multi_timescale", &[], "longest", "1s", "10s"),
    ("multi_timescale", &[], "boost", "2", "8"),
];

/// What 40 flows get that send by fits and starts.
fn values(kind: &str, given: Given<'_>, knob: (&str, &str)) -> Vec<u16> {
    let given: Vec<_> = given.iter().copied().chain([knob]).collect();
    let mut marker = marker(kind, &given, &function("gold"));
    let mut random = Random::new(5, "traffic");
    let mut now = Time::ZERO;
    let mut next = |_| {
        // A pause of up to 20 ms now and then.
        let pause = if random.below(50) == 0 { 20_000 } else { 20 };
        now += Time::from_micros(random.below(pause));
        let len = 64 + random.below(1_437);
        // Two flows send half of it all.
        let flow = random.below(80).saturating_sub(40) + random.below(2);
        mark(&mut marker, flow, len, now)
    };
    (0..20_000).map(&mut next).collect()
}

#[test]
fn every_parameter_of_every_marker_changes_what_packets_are_worth() {
    for (kind, given, key, one, other) in KNOBS {
        let (first, second) = (
            values(kind, given, (key, one)),
            values(kind, given, (key, other)),
        );
        assert_ne!(first, second, "{kind}: {key} = {one} or {other}");
    }
    for entry in MARKERS {
        for parameter in entry.parameters {
            let tested = KNOBS
                .iter()
                .any(|knob| knob.0 == entry.name && knob.2 == parameter.name);
            assert!(tested, "{}: {} has no test", entry.name, parameter.name);
        }
    }
}

#[test]
fn every_parameter_of_every_function_changes_it() {
    let knobs = [
        ("inverse", "reach", "10gbit", "100gbit"),
        ("inverse", "scale", "1", "2"),
        ("linear", "value", "1000000", "2000000"),
        ("linear", "zero", "50mbit", "100mbit"),
        ("linear", "scale", "0.5", "1"),
        ("rational", "value", "32768", "65535"),
        ("rational", "half", "720kbit", "1mbit"),
        ("rational", "scale", "1", "1.001"),
        ("piecewise", "scale", "1", "20"),
    ];
    let line = [(1_000_000, 10_000), (10_000_000, 100)].map(|(bps, value)| CurvePoint {
        rate: Rate::from_bps(bps),
        value,
    });
    let rates = |kind: &str, key: &str, value: &str| -> Vec<Rate> {
        let mut settings =
            Settings::new(quell_aqm::value::function::find(kind).unwrap().parameters);
        settings.set(key, value).unwrap();
        let points = if kind == "piecewise" { &line[..] } else { &[] };
        let function = ValueFunction::new(kind, &settings, points, CodeScale::default());
        let function = function.unwrap();
        (0..2_400).map(|code| function.rate_above(code)).collect()
    };
    for (kind, key, one, other) in knobs {
        assert_ne!(
            rates(kind, key, one),
            rates(kind, key, other),
            "{kind}: {key}"
        );
    }
    for entry in FUNCTIONS {
        for parameter in entry.parameters {
            let tested = knobs
                .iter()
                .any(|knob| knob.0 == entry.name && knob.1 == parameter.name);
            assert!(tested, "{}: {} has no test", entry.name, parameter.name);
        }
    }
    // And the row that belongs to all of them.
    let highest = |bins| {
        ValueFunction::named("gold", CodeScale::new(bins))
            .unwrap()
            .highest()
    };
    assert_eq!(
        BINS_PER_OCTAVE
            .domain
            .parse("64")
            .ok()
            .map(|value| value.to_string())
            .as_deref(),
        Some("64")
    );
    // log₂ 10¹¹ is 36.5412.
    assert_eq!(
        (highest(32), highest(64), highest(1_024)),
        (1_169, 2_339, 37_418)
    );
}
