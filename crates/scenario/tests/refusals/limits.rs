//! Warnings, and what the simulator cannot take.

use super::*;

#[test]
fn what_is_probably_a_mistake_is_a_warning() {
    let warnings = |from: &str, to: &str| {
        let text = GOOD
            .replacen(from, to, 1)
            .replace("limit = \"100ms\"\n", "\n");
        let loaded = Scenario::load("f.toml", &text, &[], None).unwrap();
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        warnings("kind = \"fifo\"", "kind = \"dualpi2\""),
        [
            "f.toml:8: group.a.ecn = ect0: this scalable group uses the Classic queue of dualpi2; give it ecn = \"ect1\", \
          or the queue any_ect = true"
        ]
    );
    for good in [
        "kind = \"dualpi2\"\nany_ect = true",
        "kind = \"dualpi2\"\nl4s_ect = false",
    ] {
        assert_eq!(warnings("kind = \"fifo\"", good), [] as [&str; 0]);
    }
    assert_eq!(
        warnings("name = \"good\"", "name = \"good\""),
        [
            "f.toml:8: group.a.ecn = ect0: a fifo never marks, so this scalable group sees only drops"
        ]
    );
    assert_eq!(
        warnings("kind = \"fifo\"", "kind = \"gsp\""),
        [
            "f.toml:8: group.a.ecn = ect0: gsp marks only with ecn = true; without, this scalable group sees only drops"
        ]
    );
    assert_eq!(
        warnings("kind = \"fifo\"", "kind = \"gsp\"\necn = true"),
        [] as [&str; 0]
    );
    assert_eq!(
        warnings("\"dctcp\"", "\"westwood\""),
        [format!(
            "f.toml:11: group.a.congestion-control = \"westwood\": is not one of quell's own ({}); only a host whose kernel has it can \
             run it",
            controls()
        )]
    );
    assert_eq!(
        warnings("\"dctcp\"", "\"cubic\"\necn = \"ect1\""),
        [
            "f.toml:12: group.a.ecn = \"ect1\": cubic is not scalable: in an L4S queue it starves, or takes more than its share"
        ]
    );
}

#[test]
fn the_simulator_has_limits_of_its_own() {
    let budget = "the memory budget is 4294 MB; ";
    for (changes, words) in [
        (&[("count = 2", "count = 99_999")][..], &["accepted"][..]),
        (
            &[("count = 2", "count = 100_000")],
            &["f.toml:8: group = 100001 flows: at most 100000 flows are allowed in the sim world"],
        ),
        // The most of the published speed (`docs/evidence/speed.md`).
        (
            &[
                ("count = 2", "count = 10_000"),
                ("\"40mbit\"", "\"100gbit\""),
                ("\"100ms\"", "\"40ms\""),
                ("rtt = \"7ms\"", "rtt = \"40ms\""),
            ],
            &["accepted"],
        ),
        // Real frames would not fit; a simulated packet has no content.
        (&[("\"40mbit\"", "\"100gbit\"")], &["accepted"]),
        (
            &[
                ("\"40mbit\"", "\"1tbit\""),
                ("rtt = \"7ms\"", "rtt = \"10s\""),
                ("count = 2", "count = 20"),
            ],
            &[
                "f.toml:4: link.rate = \"1tbit\": the run would take ",
                budget,
                "lower the rate, the RTT or the queue's limit",
            ],
        ),
        // As much counts if it comes later.
        (
            &[
                ("20mbit", "1tbit"),
                ("rtt = \"7ms\"", "rtt = \"10s\""),
                ("count = 2", "count = 20"),
            ],
            &["f.toml:4: link.rate = \"40mbit\": the run would take "],
        ),
        (
            &[
                ("\"100ms\"", "\"1h\""),
                ("\"40mbit\"", "\"40gbit\""),
                ("count = 2", "count = 20"),
            ],
            &["f.toml:7: link.queue.limit = \"1h\": the run would take "],
        ),
        // Two windows of 1 GiB fit, and so does a queue that nobody can fill.
        (
            &[("\"100ms\"", "\"1h\""), ("\"40mbit\"", "\"40gbit\"")],
            &["accepted"],
        ),
        (
            &[
                ("\"100ms\"", "\"1h\""),
                ("\"40mbit\"", "\"40gbit\""),
                (
                    "app = { kind = \"bulk\" }",
                    "app = { kind = \"cbr\", size = \"1kB\", interval = \"1s\" }",
                ),
                ("congestion-control = \"dctcp\"\n", ""),
            ],
            &["accepted"],
        ),
        (
            &[(
                "duration = \"10s\"",
                "duration = \"1d\"\ninterval = \"1ms\"",
            )],
            &["f.toml:22: run.duration = \"1d\": must be a time from 1ms to 86400s"],
        ),
        (
            &[
                ("count = 2", "count = 10_000"),
                (
                    "duration = \"10s\"",
                    "duration = \"24h\"\ninterval = \"1ms\"",
                ),
            ],
            &[
                "f.toml:23: run.interval = \"1ms\": the run would take ",
                budget,
                "have a longer interval, or fewer flows or seeds",
            ],
        ),
        (
            &[("count = 2", "count = 2\ndirection = \"reverse\"")],
            &[
                "link.reverse.rate = unlimited: must be a rate: data of TCP flows (group a) goes this way",
            ],
        ),
    ] {
        let told = simulated(changes);
        for word in words {
            assert!(told.contains(word), "{changes:?}: {told}");
        }
    }
}

#[test]
fn flows_that_changes_start_count() {
    // 500 times 2 000 flows, two thousand after the other.
    let mut changes = String::new();
    for time in 1..500 {
        let (first, second) = (10 * time, 10 * time + 5);
        changes += &format!(
            "[[at]]\ntime = \"{first}ms\"\nset = {{ \"group.a.count\" = 0 }}\n\
             [[at]]\ntime = \"{second}ms\"\nset = {{ \"group.a.count\" = 2000 }}\n"
        );
    }
    let told = simulated(&[
        ("count = 2", "count = 2000"),
        (
            "[[at]]\ntime = \"5s\"\nset = { \"link.rate\" = \"20mbit\" }\n",
            &changes,
        ),
    ]);
    assert!(
        told.contains("group = 1000001 flows: the run would take "),
        "{told}"
    );
}
