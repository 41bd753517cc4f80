use quell_lab::Scenario;
use serde_json::{Value as Json, json};

use super::*;

const TEXT: &str = r#"
schema = 1
name = "t"
link = { rate = "40mbit", queue = "dualpi2" }
run = { duration = "1s" }
at = [{ time = "500ms", set = { "link.rate" = "2mbit" } }]
group = [
    { name = "web", rtt = "20ms", app = { kind = "transfer", size = "100kB" } },
    { name = "down-1", rtt = "20ms", app = "bulk" },
]
"#;

fn fit(text: &str) -> Result<Fitted, String> {
    let names = Names::of(&Scenario::parse(TEXT).unwrap());
    let fitted = Expectation::read(text).and_then(|one| one.fit(&names));
    fitted.map_err(|why| why.to_string())
}

/// A result in which the 90th percentile of completion times is this.
fn result(p90: Option<f64>) -> Json {
    json!({
        "warnings": [], "jain": 0.98, "duration_s": 1.0, "warmup_s": 0.0,
        "link": { "rate_bps": 40_000_000, "utilisation": 0.953, "lost_outside": 0, "reverse": null },
        "queues": [{ "name": "l4s", "hop": "link", "direction": "forward", "delay_ms": null, "drops": { "aqm": 3 } }],
        "groups": [{
            "name": "web", "congestion_control": "cubic", "goodput_bps": [1e6, 3e6],
            "app": { "kind": "transfer", "completion_ms": { "p90": p90 } },
        }],
    })
}

fn judged(text: &str, results: &[Option<f64>]) -> (bool, String) {
    let runs = results.iter().zip(1..);
    let runs: Vec<(u64, Json)> = runs.map(|(p90, seed)| (seed, result(*p90))).collect();
    let judged = fit(text).unwrap().judge(&runs);
    (judged.is_met, judged.found)
}

/// Rows of a text with columns between bars.
fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells.try_into().unwrap()
    })
}

#[test]
fn the_line_says_what_came_out_and_by_how_much() {
    let table = "
        P90 < 1s                     | 1840             | no  | 1 840 ms, 84 % above
        P90 < 1000                   | 840              | yes | 840 ms
        P90 >= 2s                    | 1840.4           | no  | 1 840 ms, 7.98 % below
        P90 < 1s over worst          | 1610 1840 1705   | no  | 1 840 ms in the worst of 3 seeds (seed 2), 84 % above; others 1 705 ms, 1 610 ms
        P90 < 1s                     | 500 1840 1100    | no  | with 2 of 3 seeds: 1 840 ms, 84 % above (seed 2); 1 100 ms, 10 % above (seed 3)
        P90 < 2s                     | 500 900          | yes | 900 ms in the worst of 2 seeds (seed 2)
        P90 < 1s over mean           | 500 1100         | yes | 800 ms in the mean of 2 seeds
        P90 < 1s over median         | 500 1100 1200    | no  | 1 100 ms in the median of 3 seeds, 10 % above
        P90 within 5 % of 1s         | 1049             | yes | 1 049 ms
        P90 within 5% of 1s          | 1060             | no  | 1 060 ms, 6 % above
        P90 < 2000 * jain / 0.98     | 2100             | no  | 2 100 ms against 2 000 ms, 5 % above
        P90 - 1ms < 1ms              | 1.9              | yes | 0.9 ms
        P90 < 2000us                 | 2.1              | no  | 2.1 ms, 5 % above
        P90 / 2ms < 1                | 2.1              | no  | 1.05, 5 % above
        P90 in [2ms, 0.003s]         | 3                | yes | 3 ms
        P90 / (jain - jain) != 3     | 1                | no  | a side of the comparison has no value
        not default(queue.l4s.delay_ms.p99, none) > 3 | 1 | no | a side of the comparison has no value
        P90 < 12345678ms over mean   | 12345678 12345678 | no | 12 345 678 ms in the mean of 2 seeds
        max(P90, 5ms) == 5           | 3                | yes | 5 ms
        link.utilisation > 95%       | 1                | yes | 95.3 %
        link.utilisation > 0.96      | 1                | no  | 0.953, 0.729 % below
        link.rate_bps >= 41mbit      | 1                | no  | 40 Mbit/s, 2.44 % below
        group.web.goodput_bps.2 > 2mbit             | 1 | yes | 3 Mbit/s
        group.web.goodput_bps.mean == 2mbit         | 1 | yes | 2 Mbit/s
        group.web.congestion_control == 'cubic'     | 1 | yes | cubic
        queue.l4s.drops.aqm == 0                    | 1 | no  | 3
        queue.l4s.drops.limit == 0                  | 1 | yes | 0
        warnings == 0 and jain > 0.99               | 1 | no  | warnings.count is 0, jain is 0.98
        warnings == 0 or jain > 0.99                | 1 | yes | warnings.count is 0, jain is 0.98
        not jain > 0.99                             | 1 | yes | jain is 0.98
        min(jain, link.utilisation) >= 0.9          | 1 | yes | 0.953
        default(queue.l4s.delay_ms.p99, 0) < 1s     | 1 | yes | 0 ms";
    for [text, results, met, found] in rows(table) {
        let text = text.replace("P90", "group.web.completion_ms.p90");
        let results = results.split(' ').map(|number| number.parse().ok());
        let results: Vec<Option<f64>> = results.collect();
        assert_eq!(
            judged(&text, &results),
            (met == "yes", found.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn what_has_no_value_never_passes() {
    let p99 = "queue.l4s.delay_ms.p99";
    for text in ["P < 1s", "not P > 1s", "P != 3", "jain > 0 or P < 1s"] {
        let expected = (false, format!("{p99} has no value"));
        assert_eq!(
            judged(&text.replace('P', p99), &[Some(1.0)]),
            expected,
            "{text}"
        );
    }
    for over in ["", " over mean", " over median", " over worst"] {
        let text = format!("group.web.app.completion_ms.p90 < 1s{over}");
        let (is_met, found) = judged(&text, &[Some(900.0), None]);
        assert!(
            !is_met && found.ends_with("p90 has no value with seed 2"),
            "{found}"
        );
    }
    assert_eq!(
        judged("jain > 0", &[]),
        (false, "there is no result".to_owned())
    );
}

#[test]
fn a_percentile_of_few_values_is_no_value() {
    let p90 = "group.web.completion_ms.p90 < 1s";
    let p99 = "queue.l4s.delay_ms.p99 < 10ms";
    let p50 = "group.web.completion_ms.p50 < 1s";
    for (count, text, found) in [
        (
            7,
            p90,
            "group.web.app.completion_ms.p90 has no value: completed is 7, a p90 needs 10",
        ),
        (10, p90, "900 ms"),
        (7, p50, "700 ms"),
        (
            99,
            p99,
            "queue.l4s.delay_ms.p99 has no value: packets is 99, a p99 needs 100",
        ),
        (100, p99, "5 ms"),
    ] {
        let mut result = result(Some(900.0));
        result["groups"][0]["app"]["completed"] = json!(count);
        result["groups"][0]["app"]["completion_ms"]["p50"] = json!(700.0);
        result["queues"][0]["packets"] = json!(count);
        result["queues"][0]["delay_ms"] = json!({ "p99": 5.0 });
        let judged = fit(text).unwrap().judge(&[(1, result)]);
        assert_eq!(
            (judged.is_met, &*judged.found),
            (found.ends_with("ms"), found)
        );
    }
}

#[test]
fn an_expectation_is_about_the_scenarios_that_its_place_names() {
    let table = "
        link.rate == 40mbit                             |
        link.rate == 0.04gbit over mean                 |
        link.rate > 9mbit and not link.rate > 50mbit    |
        link.queue.kind in ['pie', 'dualpi2']           |
        group.down-1.rtt <= 20ms                        |
        group.web.app.size == 100kB                     |
        link.queue.any_ect == false                     |
        link.rate == 4mbit                              | link.rate is 40mbit
        link.rat == 4mbit                               | the scenario has no link.rat; did you mean link.rate?
        link.rate                                       | compares nothing
        link.rate ==                                    | where: at character 13";
    let scenario = Scenario::parse(TEXT).unwrap();
    for [place, why] in rows(table) {
        let read = Expectation::read(&format!("jain > 0 where {place}"));
        let about = read.map_err(|why| why.to_string());
        let about = about.and_then(|one| one.is_about(&scenario).map_err(|why| why.to_string()));
        let found = about.err().unwrap_or_default();
        assert!(
            found.starts_with(why) && found.is_empty() == why.is_empty(),
            "{place}: {found}"
        );
    }
}

#[test]
fn every_figure_that_is_listed_can_be_named() {
    let scenario = Scenario::parse(TEXT).unwrap();
    for names in [Names::of(&scenario), Names::of_program(&scenario)] {
        let listed = names.list(&[result(Some(1840.0)), result(None)]);
        let full = listed.iter().map(|one| names.find(&one[0]).unwrap().0);
        let full: std::collections::BTreeSet<String> = full.collect();
        assert!(
            full.len() == listed.len() && listed.len() > 100,
            "none comes twice"
        );
        let p90 = ["group.web.completion_ms.p90", "1 840 ms, -"].map(str::to_owned);
        assert!(listed.contains(&p90), "{listed:?}");
    }
}

#[test]
fn what_results_cannot_have_is_refused_with_what_was_meant() {
    let table = "
        group.web.completoin_ms.p90 < 1s       | at character 1: there is no figure group.web.completoin_ms.p90; did you mean group.web.completion_ms.p90?
        jain > 0 and queue.l5s.packets < 1     | at character 14: there is no figure queue.l5s.packets; did you mean queue.l4s.packets?
        phase.1.link.utilisaton > 0            | did you mean phase.1.link.utilisation?
        phase.3.jain > 0                       | there is no figure phase.3.jain: phases are 1 to 2
        queue.l4s.drops.amq == 0               | did you mean queue.l4s.drops.aqm?
        group.voice.packets > 0                | there is no figure group.voice.packets
        xyz > 0                                | such as link.utilisation, group.down-1.delay_ms.p99
        queue.l4s.delay_ms.p99 < 5mbit         | at character 26: 5mbit does not fit: the figure is a time
        link.rate_bps > 5ms                    | the figure is a rate: write bit, kbit, mbit or gbit
        queue.l4s.backlog_bytes.max < 5ms      | the figure is an amount of data
        queue.l4s.dropped < 5%                 | the figure is a number of things, which has no unit
        link.utilisation > 5ms                 | the figure is a share
        jain > 5mbps                           | 5mbps has no unit that quell knows
        5ms < 6ms                              | no figure stands beside 5ms
        1 < 2                                  | has no figure of the results
        group.web.completion_ms.p90 < duration_s | what stands beside it is a time
        link.rate_bps > queue.l4s.delay_ms.p99 | what stands beside it is a rate
        group.web.congestion_control < 'x'     | only == and != fit
        group.web.congestion_control == 3      | a number does not fit: the figure is a word
        jain == 'x'                            | 'x' does not fit
        jain                                   | compares nothing
        jain > 0 and link.utilisation          | compares nothing
        jain > 0 over best                     | over best: must be one of each, worst, mean, median
        jian > 0                               | did you mean jain?
        jain >                                 | at character 7: the expression has no end
        median(jain) > 0                       | median is no function of expectations
        min(jain) > 0                          | min takes 2 values, not 1
        path.goodput(1) > 0                    | only experiment files have this
        jain[seed = 1] > 0                     | only experiment files have this";
    for [text, expected] in rows(table) {
        let error = fit(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_program_has_directions_and_several_links_have_names() {
    let links = r#"link = [{ name = "line", rate = "9mbit", queue = "pie" },
        { name = "wifi", rate = "8mbit", queue = "dualpi2", reverse = { rate = "1mbit" } }]"#;
    let two = TEXT.replace(r#"link = { rate = "40mbit", queue = "dualpi2" }"#, links);
    let two = two.replace("link.rate", "link.line.rate");
    let names = Names::of(&Scenario::parse(&two).unwrap());
    for name in [
        "wifi.queue.l4s.packets",
        "wifi.reverse.queue.queue.bytes",
        "links.line.utilisation",
        "group.web.links.wifi.delay_ms.p99",
    ] {
        assert_eq!(names.find(name).unwrap().0, name);
    }
    assert!(names.find("queue.queue.packets").is_err() && names.find("down.packets").is_err());
    let names = Names::of_program(&Scenario::parse(TEXT).unwrap());
    for (name, full) in [
        ("down.l4s.delay_ms.p99", "queue.l4s.delay_ms.p99"),
        ("down.lost_percent", "down.lost_percent"),
        ("program.seconds", "program.seconds"),
        ("felt.longer_ms_p99", "felt.longer_ms_p99"),
        ("felt.classic.one_way_ms_up", "felt.classic.one_way_ms_up"),
    ] {
        assert_eq!(names.find(name).unwrap().0, full);
    }
    // Without a limit nothing is measured of it.
    assert!(names.find("up.queue.packets").is_err());
}
