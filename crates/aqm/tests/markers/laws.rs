//! What holds for every marker and function, whatever comes.

use super::*;
use proptest::prelude::*;
use quell_aqm::marker::MARKERS;
use quell_aqm::parameter::{Parameter, Preset};
use quell_aqm::value::{Curve, FUNCTIONS};

/// Settings worth a run of their own, besides the defaults.
const FORMS: &[(&str, Given<'_>)] = &[
    ("random", &[("per", "aggregate"), ("time_constant", "100s")]),
    (
        "random",
        &[("flows", "16"), ("idle", "1ms"), ("time_constant", "1ms")],
    ),
    (
        "token_bucket",
        &[
            ("flows", "16"),
            ("from", "1kbit"),
            ("to", "4tbit"),
            ("depth", "10s"),
            ("least", "1MB"),
        ],
    ),
    (
        "token_bucket",
        &[
            ("per", "aggregate"),
            ("from", "4tbit"),
            ("to", "4tbit"),
            ("depth", "1us"),
            ("least", "64B"),
        ],
    ),
    (
        "fast_adapting",
        &[
            ("per", "aggregate"),
            ("bucket", "1GB"),
            ("step", "1GB"),
            ("time_constant", "1ms"),
        ],
    ),
    (
        "fast_adapting",
        &[("bucket", "1B"), ("step", "1B"), ("time_constant", "100s")],
    ),
    (
        "table",
        &[
            ("steps", "1"),
            ("table_bits", "4"),
            ("time_constant", "1ms"),
        ],
    ),
    (
        "table",
        &[("steps", "256"), ("table_bits", "16"), ("per", "aggregate")],
    ),
    (
        "multi_timescale",
        &[("timescales", "8"), ("boost", "1000"), ("longest", "100s")],
    ),
    (
        "multi_timescale",
        &[("timescales", "2"), ("boost", "1"), ("shortest", "1ms")],
    ),
];

/// Every kind with its defaults, and the forms above; small, as each is made often.
fn forms() -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
    let defaults = MARKERS
        .iter()
        .map(|entry| (entry.name, vec![("flows", "64")]));
    defaults.chain(FORMS.iter().map(|(kind, given)| {
        let aggregate = given.contains(&("per", "aggregate"));
        let flows = given.iter().any(|(key, _)| *key == "flows") || aggregate;
        let flows = (!flows).then_some(("flows", "64"));
        (*kind, given.iter().copied().chain(flows).collect())
    }))
}

/// Any number, with the ends and small ones often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        0..2_000_u64,
        any::<u32>().prop_map(u64::from),
        any::<u64>(),
        (0..64_u32).prop_map(|bits| 1 << bits),
    ]
}

/// A function of any shape that is accepted.
fn any_function() -> impl Strategy<Value = ValueFunction> {
    let rate = || {
        (1..=4_000_000_000_000_u64, 0..42_u32)
            .prop_map(|(rate, shift)| Rate::from_bps((rate >> shift).max(1)))
    };
    let value =
        || (2..=Curve::DEAREST, 0..59_u32).prop_map(|(value, shift)| (value >> shift).max(2));
    let point = (rate(), value()).prop_map(|(rate, value)| CurvePoint { rate, value });
    let curve = prop_oneof![
        rate().prop_map(|reach| Curve::Inverse { reach }),
        (value(), rate()).prop_map(|(value, zero)| Curve::Linear { value, zero }),
        (value(), rate()).prop_map(|(value, half)| Curve::Rational { value, half }),
        prop::collection::vec(point, 2..8).prop_map(|mut points| {
            points.sort_by_key(|point| point.rate);
            let mut values: Vec<u64> = points.iter().map(|point| point.value).collect();
            values.sort_unstable_by(|a, b| b.cmp(a));
            values
                .iter()
                .zip(&mut points)
                .for_each(|(&value, point)| point.value = value);
            Curve::Piecewise(points)
        }),
    ];
    let bins = prop_oneof![Just(64), 1..=1_024_u64];
    (curve, 1..=1_000_000_u64, bins)
        .prop_filter_map("a falling function", |(curve, scale, bins)| {
            ValueFunction::of(&curve, scale, CodeScale::new(bins)).ok()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_marker_panics_and_each_packet_gets_a_value(
        packets in prop::collection::vec((number(), number(), number()), 1..300),
    ) {
        for (kind, given) in forms() {
            let mut marker = marker(kind, &given, &function("gold"));
            for &(flow, len, now) in &packets {
                mark(&mut marker, flow, len, Time::from_nanos(now));
            }
            let memory = marker.memory();
            prop_assert!(memory.taken <= memory.places);
        }
    }

    #[test]
    fn a_higher_rate_is_worth_no_more_and_codes_agree_with_rates(
        function in any_function(),
        rates in prop::collection::vec(number(), 1..200),
        codes in prop::collection::vec(any::<u16>(), 1..200),
    ) {
        let at = |bps| function.code_at(Rate::from_bps(bps));
        let above = |code| function.rate_above(code).as_bps();
        for &rate in &rates {
            let code = at(rate);
            prop_assert!(code >= 1 && code <= function.highest());
            prop_assert!(at(rate.saturating_add(1)) <= code);
            // The threshold just below lets this rate pass, its own code does not.
            prop_assert!(above(code - 1) >= rate);
            prop_assert!(above(code) < rate.max(1));
        }
        for &code in codes.iter().chain([&0, &1, &function.highest()]) {
            let rate = above(code);
            prop_assert!(rate == 0 || at(rate) > code);
            prop_assert!(rate == u64::MAX || at(rate + 1) <= code);
            prop_assert!(code == 0 || above(code - 1) >= rate);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_values() {
    for entry in MARKERS {
        let values = |seed| {
            let settings = settings(entry.name, &[]);
            let functions = [function("gold")];
            let random = Random::new(seed, "marker");
            let mut marker = Marker::new(entry.name, &settings, &functions, random).unwrap();
            let at = |n| Time::from_micros(n * 100);
            (0..2_000)
                .map(|n| mark(&mut marker, n % 7, 1_500, at(n)))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(1), values(1), "{}", entry.name);
        // Buckets draw nothing.
        assert_eq!(
            values(1) == values(2),
            entry.name == "token_bucket",
            "{}",
            entry.name
        );
    }
}

#[test]
fn tables_are_consistent_and_defaults_work() {
    let check = |parameters: &'static [Parameter]| {
        for parameter in parameters {
            assert!(
                !parameter.help.is_empty() && !parameter.source.is_empty(),
                "{}",
                parameter.name
            );
            let Preset::Is(text) = parameter.default else {
                panic!("{} has a default", parameter.name);
            };
            assert!(parameter.domain.parse(text).is_ok(), "{}", parameter.name);
        }
    };
    assert_eq!(MARKERS[0].name, "random");
    for entry in MARKERS {
        check(entry.parameters);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty());
        let mut marker = marker(entry.name, &[], &function("gold"));
        mark(&mut marker, 1, 1_500, Time::ZERO);
    }
    for entry in FUNCTIONS {
        check(entry.parameters);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty());
        if entry.name != "piecewise" {
            assert!(function(entry.name).highest() > 1, "{}", entry.name);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let gold = function("gold");
    let refused = |kind: &str, given: Given<'_>, functions: &[ValueFunction]| {
        let random = Random::new(1, "marker");
        let parameters = marker::find(kind).map_or(MARKERS[0].parameters, |entry| entry.parameters);
        let mut settings = Settings::new(parameters);
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        Marker::new(kind, &settings, functions, random)
            .unwrap_err()
            .to_string()
    };
    let one = std::slice::from_ref(&gold);
    let three = [gold.clone(), gold.clone(), gold.clone()];
    for (kind, given, functions, reason) in [
        (
            "rondom",
            &[][..],
            one,
            "kind = rondom: must be one of \"random\", \"token_bucket\", \"fast_adapting\", \"table\", \"multi_timescale\"",
        ),
        (
            "random",
            &[],
            &[][..],
            "functions = 0: must be one value function",
        ),
        (
            "table",
            &[],
            &three[..],
            "functions = 3: must be one value function",
        ),
        (
            "random",
            &[("per", "aggregate"), ("flows", "64")],
            one,
            "flows = 64: has an effect only with per = \"flow\"",
        ),
        (
            "token_bucket",
            &[("from", "2mbit"), ("to", "1mbit")],
            one,
            "from = 2mbit: must not be above to",
        ),
        (
            "multi_timescale",
            &[("shortest", "1s"), ("longest", "1s")],
            one,
            "shortest = 1s: must be below longest",
        ),
        (
            "multi_timescale",
            &[("timescales", "2")],
            &three,
            "functions = 3: must be one, or one for each timescale",
        ),
        (
            "multi_timescale",
            &[("boost", "2")],
            &three,
            "boost = 2: has an effect only with one function",
        ),
    ] {
        assert_eq!(refused(kind, given, functions), reason);
    }
}

#[test]
fn functions_that_do_not_fall_are_refused_with_the_reason() {
    let point = |kbps, value| CurvePoint {
        rate: Rate::from_bps(kbps * 1_000),
        value,
    };
    let piecewise = |points: &[(u64, u64)]| {
        Curve::Piecewise(
            points
                .iter()
                .map(|&(kbps, value)| point(kbps, value))
                .collect(),
        )
    };
    let bps = Rate::from_bps;
    for (curve, scale, reason) in [
        (
            piecewise(&[]),
            1_000,
            "points = 0: needs at least two points, each a rate and its value",
        ),
        (
            piecewise(&[(10, 10)]),
            1_000,
            "points = 1: needs at least two points, each a rate and its value",
        ),
        (
            piecewise(&[(10, 10), (20, 10)]),
            1_000,
            "points = [\"20kbit\", 10]: must have values that fall: a higher rate is worth less; [\"10kbit\", 10] comes before it",
        ),
        (
            piecewise(&[(10, 10), (20, 11)]),
            1_000,
            "points = [\"20kbit\", 11]: must have values that fall: a higher rate is worth less; [\"10kbit\", 10] comes before it",
        ),
        (
            piecewise(&[(10, 10), (9, 9)]),
            1_000,
            "points = [\"9kbit\", 9]: must have rates that do not fall; [\"10kbit\", 10] comes before it",
        ),
        (
            piecewise(&[(10, 10), (10, 9), (20, 8)]),
            1_000,
            "points = [\"10kbit\", 10]: must not begin or end with a jump: the piece beyond it has no slope",
        ),
        (
            piecewise(&[(10, 10), (20, 9), (20, 8)]),
            1_000,
            "points = [\"20kbit\", 8]: must not begin or end with a jump: the piece beyond it has no slope",
        ),
        (
            piecewise(&[(10, 10), (20, 0)]),
            1_000,
            "points = 0: must be from 1 to 1000000000000000000",
        ),
        (
            piecewise(&[(0, 10), (20, 1)]),
            1_000,
            "points = 0bit: must be a rate from 1bit to 4tbit",
        ),
        (
            Curve::Inverse { reach: bps(0) },
            1_000,
            "reach = 0bit: must be a rate from 1bit to 4tbit",
        ),
        (
            Curve::Inverse {
                reach: Rate::UNLIMITED,
            },
            1_000,
            "reach = unlimited: must be a rate from 1bit to 4tbit",
        ),
        (
            Curve::Inverse { reach: bps(5) },
            0,
            "scale = 0: must be from 1 to 1000000 thousandths",
        ),
        (
            Curve::Inverse { reach: bps(5) },
            1_000_001,
            "scale = 1000001: must be from 1 to 1000000 thousandths",
        ),
        (
            Curve::Linear {
                value: 1,
                zero: bps(5),
            },
            1_000,
            "value = 1: must be from 2 to 1000000000000000000",
        ),
        (
            Curve::Linear {
                value: 2,
                zero: bps(0),
            },
            1_000,
            "zero = 0bit: must be a rate from 1bit to 4tbit",
        ),
        (
            Curve::Rational {
                value: 2,
                half: bps(0),
            },
            1_000,
            "half = 0bit: must be a rate from 1bit to 4tbit",
        ),
    ] {
        let error = ValueFunction::of(&curve, scale, CodeScale::default()).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }
    let many: Vec<(u64, u64)> = (0..1_001).map(|n| (n + 1, 2_000 - n)).collect();
    let error = ValueFunction::of(&piecewise(&many), 1_000, CodeScale::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "points = 1001: must be at most 1000 points"
    );
    let settings = Settings::new(&[]);
    let points = [point(1, 2), point(2, 1)];
    let error = ValueFunction::new("gold", &settings, &points, CodeScale::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "points = 2: has an effect only with kind = \"piecewise\""
    );
    let error = ValueFunction::named("bronze", CodeScale::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("kind = bronze: must be one of \"gold\", \"silver\""),
        "{error}"
    );
}
