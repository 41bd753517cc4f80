use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::*;
use crate::present::html::{SCRIPT, STYLE};

/// A result of one queue and one group, made by hand.
fn result(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let dist = |p99: f64| {
        serde_json::json!({ "mean": 12.5, "p1": 1.0, "p25": 6.0, "p50": 12.0, "p75": 14.0, "p90": 16.0, "p99": p99, "p999": 21.0,
            "max": 21.0 })
    };
    let summary = serde_json::json!({
        "schema": 1, "scenario": "a<b>", "world": "virtual", "seed": 7, "duration_s": 3.0, "warmup_s": 1.0, "partial": true,
        "warnings": ["the link was <late>"], "jain": 0.75,
        "link": { "rate_bps": 4_000_000, "utilisation": 0.5, "lost_outside": 0 },
        "queues": [{
            "name": "queue", "direction": "forward", "packets": 4000, "bytes": 0, "marked": 100, "dropped": 10, "mark_ratio": 0.025,
            "drop_ratio": 0.0025, "marks": { "aqm": 100 }, "drops": { "limit": 10 }, "delay_ms": dist(20.25), "backlog_bytes": null,
        }],
        "groups": [{
            "name": "web", "count": 2, "congestion_control": "cubic", "goodput_bps": [2e6, 4e6], "jain": 0.9, "packets": 4000,
            "marked": 100, "dropped": 10, "retransmitted": 3, "delay_ms": dist(20.5), "rtt_ms": dist(30.0),
            "app": { "kind": "web", "completed": 31 },
        }],
        "phases": [],
    });
    std::fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    let queue = serde_json::json!({
        "name": "queue", "direction": "forward", "delay_ns": [[12_000_000, 3], [20_000_000, 1]], "backlog_at_dequeue_bytes": [[1500, 4]],
    });
    let histograms = serde_json::json!({ "queues": [queue.clone()], "groups": [queue] });
    std::fs::write(folder.join("histograms.json"), histograms.to_string()).unwrap();
    let facts = serde_json::json!({
        "version": "0.1.0", "build": "abc", "kernel": "7.2.0", "machine": "x86_64", "started": "2026-11-23T00:00:00Z", "wall_s": 1.5,
        "command": ["quell", "run", "it's here.toml", "--set", "link.rate=4mbit"],
    });
    std::fs::write(folder.join("run.json"), facts.to_string()).unwrap();
    std::fs::write(
        folder.join("scenario.toml"),
        "name = \"a<b>\" # </pre><script>alert(1)</script>\n",
    )
    .unwrap();
}

fn page() -> String {
    let folder = tempfile::tempdir().unwrap();
    result(&folder.path().join("one"));
    html(&plot::read(&[folder.path().join("one")]).unwrap()).unwrap()
}

#[test]
fn a_report_has_the_figures_the_doubts_and_the_way_to_repeat_it() {
    let page = page();
    for text in [
        "All tables",
        "What limits trust",
        "How to repeat it",
        "<td class=\"number\">20.25</td>",
        "<td class=\"number\">2.500</td>",
        "<td class=\"number\">3.00 Mbit/s</td>",
        "link 4.00 Mbit/s, 50.0 % utilised, 0 packets lost outside its queue, Jain 0.750",
        "<td class=\"word\">completed</td><td class=\"number\">31.000</td>",
        "the link was &lt;late&gt;",
        "the run ended early",
        "7.2.0",
        "0.1.0 (abc)",
        "quell run 'it'\\''s here.toml' --set link.rate=4mbit",
        "&lt;/pre&gt;&lt;script&gt;alert(1)",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert_eq!(
        page.matches("<figure ").count(),
        3,
        "ccdf, reasons, backlog"
    );
}

#[test]
fn fairness_stands_beside_the_direction_that_was_shared() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one");
    result(&one);
    let file = one.join("summary.json");
    let mut summary: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let of = |direction, jain| serde_json::json!({ "hop": "link", "direction": direction, "flows": 2, "jain": jain });
    summary["jain"] = Value::Null;
    summary["link"]["reverse"] = serde_json::json!({ "rate_bps": 1, "utilisation": 0.875 });
    summary["fairness"] = serde_json::json!([of("forward", 0.625), of("reverse", 0.75)]);
    std::fs::write(&file, summary.to_string()).unwrap();
    let page = html(&plot::read(&[one]).unwrap()).unwrap();
    for line in [
        "link 4.00 Mbit/s, 50.0 % utilised, 0 packets lost outside its queue, Jain 0.625",
        "reverse link 0.0 kbit/s, 87.5 % utilised, Jain 0.750",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

/// Nothing is asked for, and only the page's own script runs.
#[test]
fn a_report_is_alone_and_only_its_own_script_runs() {
    let page = page();
    assert!(
        !page.contains("src=") && !page.contains("href=") && !page.contains("url(http"),
        "{page}"
    );
    let addresses = page.matches("http").count() - page.matches("http-equiv").count();
    let names = page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses, names, "the name of SVG is no address");
    let policy = format!(
        "script-src 'sha256-{}'",
        data_encoding::BASE64.encode(&Sha256::digest(SCRIPT.as_bytes()))
    );
    assert!(page.contains(&policy) && page.contains(&format!("<script>{SCRIPT}</script>")));
    assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
}

/// What the pointer shows is what the result says.
#[test]
fn values_are_those_of_the_result() {
    let page = page();
    let begin = page.find("id=\"plot-ccdf-values\">").unwrap() + "id=\"plot-ccdf-values\">".len();
    let text = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    let panels: Value = serde_json::from_str(text).unwrap();
    // One of four packets waited longer than 12 ms.
    assert_eq!(
        panels[0]["series"][0]["points"],
        serde_json::json!([[12.0, 25.0]])
    );
    assert_eq!(panels[0]["spanX"]["log"], true);
}

mod rules {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use quell_measure::differ;
    use quell_scenario::felt::{BULK, Better, Felt};
    use quell_scenario::{Override, Scenario, World, sim};

    use super::*;
    use crate::report::conclusion::sentences;
    use crate::summary::felt_or_waits;

    /// A line of 10 Mbit/s with a download and a page.
    fn scenario(queue: &str) -> Scenario {
        let group = |name: &str, app: &str| {
            format!("[[group]]\nname = \"{name}\"\nrtt = \"20ms\"\napp = {app}\n")
        };
        let page = "{ kind = \"web\", preset = \"median-2024\" }";
        let text = format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = \"{queue}\"\n{}{}[run]\nduration = \"9s\"\n",
            group("page", page),
            group("download", "\"bulk\"")
        );
        Scenario::parse(&text).unwrap()
    }

    /// Runs in which a page takes so many seconds at the median and so many at P90, and the download has so many Mbit/s.
    fn runs(figures: &[(f64, f64, f64)]) -> Vec<Summary> {
        let run = |&(median, p90, rate): &(f64, f64, f64)| {
            let ms = |s: f64| s * 1e3;
            let dist = serde_json::json!({ "mean": ms(median), "min": 0.0, "p1": 0.0, "p25": 0.0, "p50": ms(median), "p75": 0.0, "p90": ms(p90),
                "p99": ms(p90), "p999": ms(p90), "max": ms(p90) });
            let web = serde_json::json!({ "kind": "web", "page_load_ms": dist });
            let bulk = serde_json::json!({ "kind": "bulk" });
            crate::bottleneck::tests::summary(0.95, |value| {
                let group = value["groups"][0].clone();
                value["groups"] = serde_json::json!([group.clone(), group]);
                value["groups"][0]["app"] = web.clone();
                value["groups"][1]["app"] = bulk.clone();
                value["groups"][1]["goodput_bps"] = serde_json::json!([rate * 1e6]);
            })
        };
        figures.iter().map(run).collect()
    }

    /// What is said of fifo and pie with these runs.
    fn said(fifo: &[(f64, f64, f64)], pie: &[(f64, f64, f64)]) -> String {
        let scenarios = ["fifo", "pie"].map(scenario);
        let runs = [fifo, pie].map(runs);
        let case = |index: usize| Case {
            label: ["fifo", "pie"][index],
            scenario: Some(&scenarios[index]),
            runs: runs[index].iter().collect(),
            idle: String::new(),
        };
        let said = sentences(&[case(0), case(1)], &[("pie", "the link was late")]);
        assert!((3..=6).contains(&said.len()), "{said:?}");
        said.join("\n")
    }

    #[test]
    fn a_queue_is_best_only_where_it_is_clear() {
        let slow = [(2.0, 4.0, 9.0), (2.2, 4.2, 9.2)];
        let quick = [(1.0, 2.0, 8.0), (1.1, 2.1, 8.2)];
        let clear = said(&slow, &quick);
        for text in [
            "2 queues (fifo, pie) on a line of 10 Mbit/s for page (web), download (bulk); 2 seeds, 50 s measured.",
            "pie is best for page (a page loads in 1.05 ± 0.05 s, 2.10 ± 0.10 s with fifo).",
            "What pie costs: download 8.1 ± 0.1 Mbit/s down (9.1 ± 0.1 Mbit/s with fifo).",
            "The line is 95.0 % used.",
            "Trust: the hosts of the simulator are models; a warning: pie: the link was late.",
        ] {
            assert!(clear.contains(text), "{text}: {clear}");
        }
        // Chance may be all of it, or the two figures say different things.
        let wide = said(&[(0.5, 1.0, 9.0), (2.5, 4.0, 9.0)], &quick);
        assert!(
            wide.contains("There is no clear difference for page.") && !wide.contains("best"),
            "{wide}"
        );
        let mixed = said(&[(2.0, 1.0, 9.0), (2.2, 1.1, 9.1)], &quick);
        assert!(
            mixed.contains("It depends on the figure for page.") && !mixed.contains("best"),
            "{mixed}"
        );
        let free = said(&slow, &[(1.0, 2.0, 9.0), (1.1, 2.1, 9.2)]);
        assert!(free.contains("pie costs nothing that is clear"), "{free}");
    }

    #[test]
    fn one_seed_has_figures_and_no_winner() {
        let one = said(&[(2.0, 4.0, 9.0)], &[(1.0, 2.0, 8.0)]);
        let figures = "Page: a page loads in 1.00 s with pie to 2.00 s with fifo.";
        assert!(
            one.contains(figures) && one.contains("With one seed no difference can be judged"),
            "{one}"
        );
        assert!(!one.contains("best") && !one.contains("costs"), "{one}");
    }

    #[test]
    fn the_narrow_direction_and_what_limits_trust_are_named() {
        let scenario = scenario("fifo");
        let said = |idle: &str, change: &dyn Fn(&mut Value)| {
            let run = crate::bottleneck::tests::summary(0.3, change);
            let case = Case {
                label: "",
                scenario: Some(&scenario),
                runs: vec![&run],
                idle: idle.to_owned(),
            };
            sentences(&[case], &[("", "late"), ("", "lost")]).join("\n")
        };
        let up = said("", &|value| {
            value["link"]["reverse"] = serde_json::json!({ "rate_bps": 1, "utilisation": 0.99 });
            value["queues"][0]["delay_ms"]["mean"] = 5.0.into();
            value["partial"] = true.into();
        });
        for text in [
            "The upload is the narrow direction: 99.0 % of it is used, and packets wait 20.0 ms for it; of the download 30.0 % is used.",
            "one seed, and another may give other figures; 1 of 1 runs ended early",
            "2 warnings, the first: late.",
            "On average a packet waits 5.00 ms (queue), 20.00 ms (queue (reverse)).",
        ] {
            assert!(up.contains(text), "{text}: {up}");
        }
        let idle = said("nobody sent", &|_| ());
        let text = "The line is 30.0 % used; not full, because nobody sent.";
        assert!(
            idle.contains(text) && !idle.contains("upload") && !idle.contains("early"),
            "{idle}"
        );
    }

    /// The scenarios in the repository that the simulator can run, cut short.
    fn shipped() -> Vec<Scenario> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let (mut found, mut folders) = (Vec::new(), vec![root]);
        let short = [
            Override::duration("600ms"),
            Override::set("run.warmup=100ms").unwrap(),
        ];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    // Some change later than that, and some need programs or traces.
                    let loaded = Scenario::load("f", &text, &short, Some(World::Sim));
                    found.extend(loaded.map(|loaded| loaded.scenario));
                }
            }
        }
        assert!(found.len() > 60, "{}", found.len());
        found
    }

    /// Whether the first of two cases has clearly the better figure, and prints it differently.
    fn is_better(row: &Felt, one: &[f64], other: &[f64]) -> bool {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (one_mean, other_mean) = (mean(one), mean(other));
        let sign = if row.better == Better::Higher {
            1.0
        } else {
            -1.0
        };
        let printed = [one_mean, other_mean].map(|mean| format!("{mean:.*}", row.digits));
        differ(one, other) == Some(true)
            && sign * (one_mean - other_mean) > 0.0
            && printed[0] != printed[1]
    }

    /// Whoever is said to be the best is behind in no figure and ahead in that which is shown; who is alike is in all.
    #[test]
    fn no_sentence_about_a_shipped_scenario_is_false() {
        let (mut best, mut alike) = (0, 0);
        for own in shipped() {
            let fifo = Scenario::load("f", &own.to_toml(), &Override::queue("fifo").unwrap(), None);
            let Ok(fifo) = fifo else { continue };
            let scenarios = [own, fifo.scenario];
            let ran = scenarios.each_ref().map(|scenario| {
                [1, 2].map(|seed| {
                    let ran = sim::run(scenario, seed, &AtomicBool::new(false), &mut ());
                    ran.unwrap().summary
                })
            });
            let case = |index: usize| Case {
                label: ["own", "fifo"][index],
                scenario: Some(&scenarios[index]),
                runs: ran[index].iter().collect(),
                idle: String::new(),
            };
            let name = &scenarios[0].name;
            let said = sentences(&[case(0), case(1)], &[]);
            assert!((3..=6).contains(&said.len()), "{name}: {said:?}");
            if ran[0][0].figures.link.rate_bps.is_some() {
                for ran in &ran {
                    let used = ran.iter().map(|run| {
                        let links = run.figures.links.iter().map(|link| link.utilisation);
                        links.fold(run.figures.link.utilisation, f64::max)
                    });
                    let used = format!("{:.1}", used.sum::<f64>() / 2.0 * 100.0);
                    let is_said = said.iter().any(|text| text.contains(&used));
                    assert!(is_said, "{name} {used}: {said:?}");
                }
            }
            let rows =
                [0, 1].map(|index| felt_or_waits(&case(index).measured(), &scenarios[index]));
            for (row, other) in rows[0].iter().zip(&rows[1]) {
                if row.application == BULK || [row, other].iter().any(|row| row.values.len() < 2) {
                    continue;
                }
                let values = [&row.values, &other.values];
                let text = said.join("\n");
                let won = ["own", "fifo"].map(|label| {
                    let claims = text.split("; ").flat_map(|part| part.split('\n'));
                    let claim = format!("{label} is best for ");
                    let mut claims = claims.filter(|part| part.starts_with(&claim));
                    claims.any(|part| part.contains(&format!("{} (", row.who)))
                });
                for (winner, _) in won.iter().enumerate().filter(|(_, won)| **won) {
                    let is_behind = is_better(row, values[1 - winner], values[winner]);
                    assert!(!is_behind, "{name} {}: {text}", row.what);
                    if is_better(row, values[winner], values[1 - winner]) {
                        best += 1;
                        // The first figure that is clear is shown, of both.
                        let shown = values.map(|values| values.iter().sum::<f64>() / 2.0);
                        let shown = shown.map(|mean| format!("{mean:.*}", row.digits));
                        let is_shown = text.contains(&format!("{} ({} ", row.who, row.what));
                        assert!(
                            !is_shown || shown.iter().all(|mean| text.contains(mean)),
                            "{name}: {text}"
                        );
                    }
                }
                let none = said
                    .iter()
                    .find(|text| text.contains("no clear difference for "));
                if none.is_some_and(|text| text.contains(&row.who) && won == [false; 2]) {
                    let is_clear = [0, 1].map(|one| is_better(row, values[one], values[1 - one]));
                    assert_eq!(is_clear, [false; 2], "{name} {}: {text}", row.what);
                    alike += 1;
                }
            }
        }
        assert!(best > 20 && alike > 5, "{best} {alike}");
    }
}
