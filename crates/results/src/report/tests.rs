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
        "What came out",
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
        crate::base64::encode(&Sha256::digest(SCRIPT.as_bytes()))
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
