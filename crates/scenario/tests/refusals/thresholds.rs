//! Thresholds of queuing delay beside the grain of their link: which are doubtful, and what the warning advises.

use quell_aqm::disciplines;
use quell_scenario::Scenario;
use quell_units::parameter::{Domain, Threshold};

/// Prague and CUBIC over a link that `link` describes.
fn warnings(link: &str, rest: &str) -> Vec<(String, String)> {
    let group = |name: &str, control: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\ncongestion-control = \"{control}\"\nrtt = \"20ms\"\napp = \"bulk\"\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"t\"\n[link]\n{link}\n{}{}{rest}[run]\nduration = \"60s\"\n",
        group("l4s", "prague"),
        group("classic", "cubic")
    );
    let loaded =
        Scenario::load("t.toml", &text, &[], None).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let warnings = loaded.warnings.iter();
    let of_link = warnings.filter(|warning| warning.key.starts_with("link."));
    of_link
        .map(|warning| (warning.key.clone(), warning.allowed.clone()))
        .collect()
}

/// Each threshold of each discipline, as a time that is set, with what else it needs.
fn all() -> Vec<(&'static str, &'static str, Threshold, String)> {
    let mut all = Vec::new();
    for entry in disciplines::KINDS {
        for row in entry.parameters {
            let Some(kind) = row.threshold else { continue };
            let only = row.only.map(|(other, value)| match value {
                "true" | "false" => format!(", {other} = {value}"),
                word => format!(", {other} = \"{word}\""),
            });
            // What spares a short queue is off.
            let spares = match kind {
                Threshold::EachPacket {
                    spares: Some((other, _)),
                } => format!(", {other} = \"0p\""),
                _ => String::new(),
            };
            // The kernel refuses a min that holds no average packet.
            let form = if entry.name == "red" {
                ", form = \"floyd\""
            } else {
                ""
            };
            let with = only.unwrap_or_default() + &spares + form;
            all.push((entry.name, row.name, kind, with));
        }
    }
    all
}

#[test]
fn every_threshold_of_every_discipline_is_compared_with_the_grain() {
    assert!(all().len() > 12);
    for (queue, name, kind, with) in all() {
        let on = |rate: &str, more: &str| {
            let queue = format!("{{ kind = \"{queue}\", {name} = \"12ms\"{with} }}");
            let found = warnings(&format!("rate = \"{rate}\"\n{more}queue = {queue}"), "");
            let key = format!("link.queue.{name}");
            found
                .into_iter()
                .find(|(of, _)| *of == key)
                .map(|(_, why)| why)
        };
        let what = format!("{queue} {name}");
        // 12 ms, 14.1 ms, 15.4 ms and 30 ms.
        for (rate, is_doubtful) in [
            ("1mbit", false),
            ("850kbit", false),
            ("780kbit", true),
            ("400kbit", true),
        ] {
            let why = on(rate, "");
            assert_eq!(why.is_some(), is_doubtful, "{what} at {rate}: {why:?}");
        }
        let advised = match kind {
            Threshold::EachPacket { .. } => "30ms",
            Threshold::Standing => "45ms",
        };
        let why = on("400kbit", "").unwrap();
        assert!(why.contains("takes at 400kbit, 30ms"), "{what}: {why}");
        assert!(
            why.contains(&format!("{name} = {advised}")),
            "{what}: {why}"
        );
        // 3.84 ms of 32 packets, and up to 20 ms until the next; 12 ms on average.
        let busy =
            "access = { packets = 32, time = \"4ms\", delay = \"0s\", backoff = \"20ms\" }\n";
        let why = on("100mbit", busy);
        let is_each = matches!(kind, Threshold::EachPacket { .. });
        assert_eq!(why.is_some(), is_each, "{what}: {why:?}");
        let busier = busy.replace("20ms", "40ms");
        let why = on("100mbit", &busier).unwrap();
        assert!(why.contains("waits for its medium"), "{what}: {why}");
    }
}

#[test]
fn defaults_raise_no_doubt_at_usual_rates() {
    for entry in disciplines::KINDS {
        for rate in ["10mbit", "20mbit", "100mbit", "1gbit"] {
            let found = warnings(
                &format!("rate = \"{rate}\"\nqueue = \"{}\"", entry.name),
                "",
            );
            assert_eq!(found, [], "{} at {rate}", entry.name);
        }
    }
}

/// A discipline says which of its delays is a threshold; what is named like one and is none is listed here.
#[test]
fn what_is_named_like_a_threshold_is_declared() {
    // Of virtual queues, which hold a packet at least; smoothed ramps that begin here; an interval.
    let none = [
        "csaqm.target",
        "vdq_csaqm.target_0",
        "vdq_csaqm.target_1",
        "curvy_red.min_th",
        "dualq_curvy_red.min_th",
        "pvpie.threshold_update",
        "red.max",
    ];
    for entry in disciplines::KINDS {
        for row in entry.parameters {
            let is_delay = matches!(
                row.domain,
                Domain::Time(..) | Domain::TimeOrPackets(..) | Domain::Limit { .. }
            );
            let named = ["target", "thresh", "min_th", "max"]
                .iter()
                .any(|word| row.name.contains(word));
            let named = named || row.name == "min";
            let named =
                named && !["max_rtt", "max_burst", "max_time", "max_ql_score"].contains(&row.name);
            let what = format!("{}.{}", entry.name, row.name);
            if is_delay && named && !none.contains(&what.as_str()) {
                assert!(row.threshold.is_some(), "{what}");
            }
        }
    }
}

#[test]
fn the_remedy_of_a_step_is_a_longer_one_or_one_that_spares_a_packet() {
    let found = warnings("rate = \"5mbit\"\nqueue = \"dualpi2\"", "");
    let [(key, why)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(key, "link.queue.step_thresh");
    assert!(
        why.ends_with("step_thresh = 2.4ms or min_qlen_step = 1p avoids that"),
        "{why}"
    );
    for remedy in [
        "step_thresh = \"2.4ms\"",
        "min_qlen_step = \"1p\"",
        "form = \"rfc9332\"",
    ] {
        let link = format!("rate = \"5mbit\"\nqueue = {{ kind = \"dualpi2\", {remedy} }}");
        assert_eq!(warnings(&link, ""), [], "{remedy}");
    }
    // Nothing spares a packet from waiting for the medium.
    let access = "access = { packets = 32, time = \"4ms\", backoff = \"4ms\" }";
    let link = format!(
        "rate = \"50mbit\"\n{access}\nqueue = {{ kind = \"dualpi2\", min_qlen_step = \"9p\" }}"
    );
    let found = warnings(&link, "");
    assert!(
        found[0].1.ends_with("step_thresh = 8.1ms avoids that"),
        "{found:?}"
    );
}

#[test]
fn a_limit_that_the_advised_threshold_would_not_reach_is_advised_with_it() {
    for (limit, advice) in [
        ("30ms", "target = 45ms with limit = 90ms avoids that"),
        ("1p", "target = 45ms with limit = 3p avoids that"),
        ("1500B", "target = 45ms with limit = 4500B avoids that"),
        ("3kB", "target = 45ms avoids that"),
        ("1s", "target = 45ms avoids that"),
    ] {
        let link = format!("rate = \"400kbit\"\nqueue = {{ kind = \"pi2\", limit = \"{limit}\" }}");
        let found = warnings(&link, "");
        assert!(
            found.iter().any(|(_, why)| why.ends_with(advice)),
            "{found:?}"
        );
    }
}

#[test]
fn the_rate_of_half_of_the_time_counts() {
    let at = |times: &[(u64, &str)]| -> String {
        let at = times.iter();
        at.map(|(time, rate)| {
            format!("[[at]]\ntime = \"{time}s\"\nset = {{ \"link.rate\" = \"{rate}\" }}\n")
        })
        .collect()
    };
    let doubtful = |rate: &str, rest: &str| {
        !warnings(&format!("rate = {rate}\nqueue = \"dualpi2\""), rest).is_empty()
    };
    for (rate, changes, expected) in [
        ("\"50mbit\"", &[][..], false),
        ("\"50mbit\"", &[(40, "5mbit")], false),
        ("\"50mbit\"", &[(20, "5mbit")], true),
        ("\"5mbit\"", &[(10, "0bit"), (50, "50mbit")], true),
        (
            "{ data = \"time_s,rate_mbps\\n0,50\\n6,5\\n10,\" }",
            &[],
            false,
        ),
        (
            "{ data = \"time_s,rate_mbps\\n0,50\\n4,5\\n10,\" }",
            &[],
            true,
        ),
        ("{ data = \"time_ms\\n5\\n10\\n\" }", &[], true),
    ] {
        assert_eq!(doubtful(rate, &at(changes)), expected, "{rate} {changes:?}");
    }
}

#[test]
fn a_step_matters_where_packets_share_the_link_that_it_does_not_judge() {
    let text = |second: &str| {
        format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"5mbit\"\nqueue = \"dualpi2\"\n[[group]]\nname = \"a\"\n\
             congestion-control = \"prague\"\nrtt = \"20ms\"\napp = \"bulk\"\n{second}[run]\nduration = \"60s\"\n"
        )
    };
    let cubic = |direction: &str| {
        format!(
            "[[group]]\nname = \"b\"\nrtt = \"20ms\"\napp = \"bulk\"\ndirection = \"{direction}\"\n"
        )
    };
    for (second, expected) in [
        (String::new(), 0),
        (cubic("reverse"), 0),
        (cubic("forward"), 1),
    ] {
        let loaded = Scenario::load("t.toml", &text(&second), &[], None).unwrap();
        assert_eq!(
            loaded.warnings.len(),
            expected,
            "{second}: {:?}",
            loaded.warnings
        );
    }
}
