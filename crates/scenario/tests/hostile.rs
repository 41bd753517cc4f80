//! Any text gives a scenario or an error, never a panic.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use quell_scenario::World;
use quell_scenario::{Origin, Override, Scenario};

/// Words and pieces of TOML that come together as nonsense of the right shape.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "schema = 1\n",
        "name = \"x\"\n",
        "[link]\n",
        "[link.queue]\n",
        "[link.reverse]\n",
        "[[group]]\n",
        "[[at]]\n",
        "[run]\n",
        "rate = \"40mbit\"\n",
        "rate = \"unlimited\"\n",
        "kind = \"fifo\"\n",
        "kind = \"dualpi2\"\n",
        "limit = \"100ms\"\n",
        "app = { kind = \"bulk\" }\n",
        "app = { kind = \"cbr\", size = \"186B\", interval = { mean = \"20ms\" } }\n",
        "count = 0\n",
        "rtt = \"7ms\"\n",
        "ecn = \"ect1\"\n",
        "congestion-control = \"dctcp\"\n",
        "time = \"5s\"\n",
        "set = { \"link.rate\" = \"1mbit\" }\n",
        "set = { \"group.x.count\" = 1, link.queue.limit = \"1s\" }\n",
        "duration = \"10s\"\n",
        "warmup = \"1s\"\n",
        "seeds = [1]\n",
        "\"\" = 1\n",
        "group = 1\n",
        "link = []\n",
        "at = [[]]\n",
        "18446744073709551615",
        "-0x8000",
        "1e999",
        "nan",
        "\u{0}",
        "'''",
        "{",
        "]",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[a-z.]{1,8} = [0-9a-z\"\\[\\]{},.=-]{0,12}\n",
        1 => any::<String>(),
    ]
}

/// Where problems are sorted by.
fn line(origin: &Origin) -> usize {
    match origin {
        Origin::Line(line) => *line,
        Origin::Named(_) => usize::MAX - 1,
        Origin::Argument(_) => usize::MAX,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_and_any_argument_is_answered(
        pieces in prop::collection::vec(piece(), 0..30),
        sets in prop::collection::vec(("[a-z.]{0,20}|link.queue.[a-z]{1,8}|group.x.[a-z]{1,8}", any::<String>()), 0..3),
    ) {
        let overrides: Vec<Override> =
            sets.iter().filter_map(|(key, value)| Override::set(&format!("{key}={value}")).ok()).collect();
        match Scenario::load("f", &pieces.concat(), &overrides, Some(World::Live)) {
            Ok(loaded) => {
                let text = loaded.scenario.to_toml();
                prop_assert_eq!(Scenario::parse(&text).map_err(|error| error.to_string()), Ok(loaded.scenario));
            }
            Err(problems) => {
                let all = problems.all();
                prop_assert!(!all.is_empty() && problems.to_string().lines().count() == all.len());
                prop_assert!(all.is_sorted_by_key(|problem| line(&problem.origin)), "{problems}");
            }
        }
    }

    #[test]
    fn a_right_scenario_reads_back_from_its_resolved_form(
        rate in 1_000_u64..1_000_000_000,
        rtt in 0_u64..1_000_000_000,
        count in 1_u32..100,
        queue in prop::sample::select(vec![
            "kind = \"fifo\"", "kind = \"fifo\"\nlimit = \"64kB\"", "kind = \"fifo\"\nrule = \"slots\"\nlimit = \"100p\"",
            "kind = \"dualpi2\"", "kind = \"dualpi2\"\nform = \"rfc9332\"", "kind = \"dualpi2\"\ntypical_rtt = \"10ms\"",
            "kind = \"dualpi2\"\nmax_rtt = \"200ms\"\nl4s_ect = false", "kind = \"dualpi2\"\nstep_thresh = \"5p\"",
        ]),
        description in any::<String>(),
        value in prop::option::of(1_u64..100),
    ) {
        let at = value.map_or(String::new(), |value| format!(
            "[[at]]\ntime = \"{value}ms\"\nset = {{ \"group.a.count\" = {value}, \"link.rate\" = \"{value}mbit\", \"link.reverse.queue.limit\" = \"{value}s\" }}\n"
        ));
        let text = format!(
            "schema = 1\nname = \"x\"\ndescription = {}\n[link]\nrate = \"{rate}bit\"\n[link.queue]\n{queue}\n[[group]]\nname = \"a\"\n\
             count = {count}\nrtt = \"{rtt}ns\"\napp = {{ kind = \"bulk\" }}\n{at}[run]\nduration = \"1s\"\n",
            toml::Value::String(description)
        );
        if let Ok(scenario) = Scenario::parse(&text) {
            let resolved = scenario.to_toml();
            let again = Scenario::parse(&resolved).map_err(|error| TestCaseError::fail(format!("{error}\n{resolved}")))?;
            prop_assert_eq!(&again, &scenario);
            prop_assert_eq!(again.to_toml(), resolved);
        } else {
            // Only a queue in time that is too small for a packet at such a rate.
            prop_assert!(rate < 1_000_000, "{}", Scenario::parse(&text).unwrap_err());
        }
    }
}
