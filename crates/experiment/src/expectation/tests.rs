use quell_lab::Scenario;
use serde_json::{Value as Json, json};

use super::*;

const TEXT: &str = r#"
schema = 1
name = "t"
[link]
rate = "40mbit"
queue = "dualpi2"
[[group]]
name = "web"
rtt = "20ms"
app = { kind = "transfer", size = "100kB" }
[[group]]
name = "down-1"
rtt = "20ms"
app = "bulk"
[[at]]
time = "500ms"
set = { "link.rate" = "2mbit" }
[run]
duration = "1s"
"#;

fn names() -> Names {
    Names::of(&Scenario::parse(TEXT).unwrap())
}

fn fit(text: &str) -> Result<Fitted, String> {
    Expectation::read(text)?.fit(&names())
}

/// A result in which the 90th percentile of completion times is this.
fn result(p90: impl Into<Json>) -> Json {
    json!({
        "warnings": [], "jain": 0.98, "duration_s": 1.0, "warmup_s": 0.0,
        "link": { "rate_bps": 40_000_000, "utilisation": 0.953, "lost_outside": 0, "reverse": null },
        "queues": [{ "name": "l4s", "hop": "link", "direction": "forward", "delay_ms": null, "drops": { "aqm": 3 } }],
        "groups": [
            { "name": "web", "congestion_control": "cubic", "goodput_bps": [1e6, 3e6], "app": { "kind": "transfer", "completion_ms": { "p90": p90.into() } } },
        ],
    })
}

fn judged(text: &str, results: &[f64]) -> (bool, String) {
    let runs = results.iter().enumerate();
    let runs: Vec<(u64, Json)> = runs
        .map(|(at, p90)| (at as u64 + 1, result(*p90)))
        .collect();
    let judged = fit(text).unwrap().judge(&runs);
    (judged.is_met, judged.found)
}

#[test]
fn the_line_says_what_came_out_and_by_how_much() {
    let p90 = "group.web.completion_ms.p90";
    for (condition, results, is_met, found) in [
        ("< 1s", &[1840.0][..], false, "1 840 ms, 84 % above"),
        ("< 1000", &[840.0], true, "840 ms"),
        (">= 2s", &[1840.4], false, "1 840 ms, 7.98 % below"),
        (
            "< 1s over worst",
            &[1610.0, 1840.0, 1705.0],
            false,
            "1 840 ms in the worst of 3 seeds (seed 2), 84 % above; others 1 705 ms, 1 610 ms",
        ),
        (
            "< 1s",
            &[500.0, 1840.0, 1100.0],
            false,
            "with 2 of 3 seeds: 1 840 ms, 84 % above (seed 2); 1 100 ms, 10 % above (seed 3)",
        ),
        (
            "< 2s",
            &[500.0, 900.0],
            true,
            "900 ms in the worst of 2 seeds (seed 2)",
        ),
        (
            "< 1s over mean",
            &[500.0, 1100.0],
            true,
            "800 ms in the mean of 2 seeds",
        ),
        (
            "< 1s over median",
            &[500.0, 1100.0, 1200.0],
            false,
            "1 100 ms in the median of 3 seeds, 10 % above",
        ),
        ("within 5 % of 1s", &[1049.0], true, "1 049 ms"),
        ("within 5% of 1s", &[1060.0], false, "1 060 ms, 6 % above"),
        (
            "< 2000 * jain / 0.98",
            &[2100.0],
            false,
            "2 100 ms against 2 000 ms, 5 % above",
        ),
    ] {
        let expected = (is_met, found.to_owned());
        let text = format!("{p90} {condition}");
        assert_eq!(judged(&text, results), expected, "{text}");
    }
    for (text, is_met, found) in [
        ("link.utilisation > 95%", true, "95.3 %"),
        ("link.utilisation > 0.96", false, "0.953, 0.729 % below"),
        ("link.rate_bps >= 41mbit", false, "40 Mbit/s, 2.44 % below"),
        ("group.web.goodput_bps.2 > 2mbit", true, "3 Mbit/s"),
        ("group.web.goodput_bps.mean == 2mbit", true, "2 Mbit/s"),
        ("group.web.congestion_control == 'cubic'", true, "cubic"),
        ("queue.l4s.drops.aqm == 0", false, "3"),
        ("queue.l4s.drops.limit == 0", true, "0"),
        (
            "warnings == 0 and jain > 0.99",
            false,
            "warnings.count is 0, jain is 0.98",
        ),
        (
            "warnings == 0 or jain > 0.99",
            true,
            "warnings.count is 0, jain is 0.98",
        ),
        ("not jain > 0.99", true, "jain is 0.98"),
        ("min(jain, link.utilisation) >= 0.9", true, "0.953"),
    ] {
        assert_eq!(judged(text, &[1.0]), (is_met, found.to_owned()), "{text}");
    }
}

#[test]
fn what_has_no_value_never_passes() {
    for text in [
        "queue.l4s.delay_ms.p99 < 1s",
        "not queue.l4s.delay_ms.p99 > 1s",
        "queue.l4s.delay_ms.p99 != 3",
        "jain > 0 or queue.l4s.delay_ms.p99 < 1s",
    ] {
        let expected = "queue.l4s.delay_ms.p99 has no value".to_owned();
        assert_eq!(judged(text, &[1.0]), (false, expected), "{text}");
    }
    // What stands in default may lack one.
    assert!(judged("default(queue.l4s.delay_ms.p99, 0) < 1s", &[1.0]).0);
    let runs = [(1, result(900.0)), (2, result(Json::Null))];
    for over in ["", " over mean", " over median", " over worst"] {
        let fitted = fit(&format!("group.web.app.completion_ms.p90 < 1s{over}")).unwrap();
        let judged = fitted.judge(&runs);
        let expected = "group.web.app.completion_ms.p90 has no value with seed 2";
        assert_eq!((judged.is_met, judged.found.as_str()), (false, expected));
    }
    let nothing = fit("jain > 0").unwrap().judge(&[]);
    assert_eq!(
        (nothing.is_met, nothing.found.as_str()),
        (false, "there is no result")
    );
}

#[test]
fn what_results_cannot_have_is_refused_with_what_was_meant() {
    for (text, expected) in [
        (
            "group.web.completoin_ms.p90 < 1s",
            "at character 1: there is no figure group.web.completoin_ms.p90; did you mean group.web.completion_ms.p90?",
        ),
        (
            "jain > 0 and queue.l5s.delay_ms.p99 < 1s",
            "at character 14: there is no figure queue.l5s.delay_ms.p99; did you mean queue.l4s.delay_ms.p99?",
        ),
        (
            "phase.1.link.utilisaton > 0",
            "did you mean phase.1.link.utilisation?",
        ),
        (
            "phase.3.jain > 0",
            "there is no figure phase.3.jain: phases are 1 to 2",
        ),
        (
            "queue.l4s.drops.amq == 0",
            "did you mean queue.l4s.drops.aqm?",
        ),
        (
            "group.voice.packets > 0",
            "there is no figure group.voice.packets",
        ),
        (
            "xyz > 0",
            "such as link.utilisation, group.down-1.delay_ms.p99",
        ),
        (
            "queue.l4s.delay_ms.p99 < 5mbit",
            "at character 26: 5mbit does not fit: the figure is a time",
        ),
        (
            "link.rate_bps > 5ms",
            "the figure is a rate: write bit, kbit, mbit or gbit",
        ),
        (
            "queue.l4s.backlog_bytes.max < 5ms",
            "the figure is an amount of data",
        ),
        (
            "queue.l4s.dropped < 5%",
            "the figure is a number of things, which has no unit",
        ),
        ("link.utilisation > 5ms", "the figure is a share"),
        ("jain > 5mbps", "5mbps has no unit that quell knows"),
        ("5ms < 6ms", "no figure stands beside 5ms"),
        ("1 < 2", "has no figure of the results"),
        (
            "group.web.completion_ms.p90 < duration_s",
            "what stands beside it is a time",
        ),
        (
            "link.rate_bps > queue.l4s.delay_ms.p99",
            "what stands beside it is a rate",
        ),
        ("group.web.congestion_control < 'x'", "only == and != fit"),
        (
            "group.web.congestion_control == 3",
            "a number does not fit: the figure is a word",
        ),
        ("jain == 'x'", "'x' does not fit"),
        ("jain", "compares nothing"),
        ("jain > 0 and link.utilisation", "compares nothing"),
        (
            "jain > 0 over best",
            "over best: must be one of each, worst, mean, median",
        ),
        ("jian > 0", "did you mean jain?"),
        ("jain >", "at character 7: the expression has no end"),
        ("median(jain) > 0", "median is no function of expectations"),
        ("min(jain) > 0", "min takes 2 values, not 1"),
        ("path.goodput(1) > 0", "only experiment files have this"),
        ("jain[seed = 1] > 0", "only experiment files have this"),
    ] {
        let error = fit(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_program_has_directions_and_several_links_have_names() {
    let two = "schema = 1\nname = \"t\"\n[[link]]\nname = \"line\"\nrate = \"9mbit\"\nqueue = \"pie\"\n[[link]]\nname = \"wifi\"\nrate = \"8mbit\"\nqueue = \"dualpi2\"\n\
        [link.reverse]\nrate = \"1mbit\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n";
    let two = Scenario::parse(two).unwrap();
    let names = Names::of(&two);
    for (name, full) in [
        ("wifi.queue.l4s.packets", "wifi.queue.l4s.packets"),
        (
            "wifi.reverse.queue.queue.bytes",
            "wifi.reverse.queue.queue.bytes",
        ),
        ("links.line.utilisation", "links.line.utilisation"),
        (
            "group.a.links.wifi.delay_ms.p99",
            "group.a.links.wifi.delay_ms.p99",
        ),
    ] {
        assert_eq!(names.find(name).unwrap().0, full);
    }
    assert!(names.find("queue.queue.packets").is_err() && names.find("down.packets").is_err());
    let one = Scenario::parse(TEXT).unwrap();
    let names = Names::of_program(&one);
    for (name, full) in [
        ("down.l4s.delay_ms.p99", "queue.l4s.delay_ms.p99"),
        ("down.lost_percent", "down.lost_percent"),
        ("down.utilisation", "down.utilisation"),
        ("program.seconds", "program.seconds"),
    ] {
        assert_eq!(names.find(name).unwrap().0, full);
    }
    // Without a limit nothing is measured of it.
    assert!(names.find("up.queue.packets").is_err());
}

#[test]
fn units_become_those_of_the_figure() {
    let same = |one: &str, other: &str| {
        let both = [one, other].map(|text| fit(text).unwrap().resolved.node);
        let text = both.map(|node| format!("{node:?}").replace(char::is_numeric, ""));
        assert_eq!(text[0], text[1]);
        for p90 in [1.9, 2.1] {
            assert_eq!(
                judged(one, &[p90]).0,
                judged(other, &[p90]).0,
                "{one} {other} {p90}"
            );
        }
    };
    let p90 = "group.web.completion_ms.p90";
    same(&format!("{p90} < 2ms"), &format!("{p90} < 2000us"));
    same(&format!("{p90} < 2ms"), &format!("{p90} < 0.002s"));
    same(&format!("{p90} - 1ms < 1ms"), &format!("{p90} - 1 < 1"));
    same(&format!("{p90} / 2ms < 1"), &format!("{p90} / 2 < 1"));
    same(&format!("2ms > {p90}"), &format!("2 > {p90}"));
    assert!(judged(&format!("{p90} in [2ms, 3ms]"), &[3.0]).0);
    assert!(judged(&format!("max({p90}, 5ms) == 5"), &[3.0]).0);
}
