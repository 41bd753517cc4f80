//! Why a link was not full, in one line: only what the figures and warnings of the summary itself say.

use quell_measure::{Direction, Figures, GroupSummary, NamedLink, Summary};

/// From this utilisation on a link counts as full.
const FULL: f64 = 0.9;
/// A flow without a signal for this many round trips has left its start.
const START_ROUNDS: f64 = 200.0;
/// The most groups that are named.
const NAMED: usize = 3;

/// What kept the forward link of a run from being full; `None` if it was full, had no limit, or carried nothing. Of several links
/// one that is full is enough.
pub fn why_idle(summary: &Summary) -> Option<String> {
    let figures = &summary.figures;
    let carried = figures.queues.iter().any(|queue| queue.packets > 0);
    let back = |link: &NamedLink| link.reverse.is_some_and(|back| back.utilisation >= FULL);
    if figures
        .links
        .iter()
        .any(|link| link.utilisation >= FULL || back(link))
    {
        return None;
    }
    if figures.link.rate_bps.is_none() || figures.link.utilisation >= FULL || !carried {
        return None;
    }
    if let Some(reverse) = reverse(figures) {
        return Some(reverse);
    }
    let mut reasons: Vec<String> = [
        ("receive window", "limited by its receive window"),
        ("send buffer", "limited by its send buffer"),
    ]
    .into_iter()
    .filter_map(|(name, words)| buffers(summary, name, words))
    .collect();
    if warned(summary, "the senders' own links carry") {
        reasons.push("the senders' own links are slower than this one".to_owned());
    }
    let greedy = figures.groups.iter().any(is_greedy);
    if !greedy {
        reasons.extend(applications(figures));
    }
    if figures.link.lost_outside > 0 {
        let lost = figures.link.lost_outside;
        reasons.push(format!("{lost} packets were lost outside its queue"));
    }
    if greedy && let Some(signals) = signals(figures) {
        reasons.push(signals);
    }
    if summary.warmup_s == 0.0 && greedy {
        let start = "the start of the flows counts, because there is no warm-up";
        reasons.push(start.to_owned());
    } else if reasons.is_empty() {
        reasons.push(start(summary));
    }
    Some(reasons.join("; "))
}

/// Data or acknowledgements that go the other way wait there.
fn reverse(figures: &Figures) -> Option<String> {
    let reverse = figures
        .link
        .reverse
        .filter(|link| link.utilisation >= FULL)?;
    let queues = figures.queues.iter();
    let queues = queues.filter(|queue| queue.direction == Direction::Reverse);
    let delays = queues.filter_map(|queue| queue.delay_ms.map(|delay| delay.mean));
    let delay = delays.fold(0.0, f64::max);
    Some(format!(
        "the reverse link is the bottleneck: {:.1} % utilised, {delay:.1} ms of mean delay in its queue",
        reverse.utilisation * 100.0
    ))
}

/// Flows that the worlds warn of: they had no room for what they would have sent.
fn buffers(summary: &Summary, name: &str, words: &str) -> Option<String> {
    let mut groups: Vec<&str> = Vec::new();
    for warning in summary.warnings.iter().filter(|text| text.contains(words)) {
        let group = warning
            .strip_prefix("group ")
            .and_then(|rest| rest.split(' ').next());
        if let Some(group) = group.filter(|group| !groups.contains(group)) {
            groups.push(group);
        }
    }
    let first = groups.first()?;
    Some(match groups.len() {
        1 => format!("flows of group {first} were limited by their {name}"),
        _ => format!(
            "flows of groups {} were limited by their {name}",
            named(&groups)
        ),
    })
}

fn warned(summary: &Summary, words: &str) -> bool {
    summary
        .warnings
        .iter()
        .any(|warning| warning.contains(words))
}

fn kind(group: &GroupSummary) -> &str {
    group.app.as_ref().map_or("", |app| &app.kind)
}

fn is_greedy(group: &GroupSummary) -> bool {
    let kind = quell_app::find(kind(group));
    kind.is_some_and(|kind| kind.greedy) && group.count > 0
}

/// Without data that has no end the applications decide how much there is.
fn applications(figures: &Figures) -> Option<String> {
    let active = figures.groups.iter().filter(|group| group.count > 0);
    let kinds: Vec<String> = active
        .map(|group| format!("{} is {}", group.name, kind(group)))
        .collect();
    if kinds.is_empty() {
        return Some("no group had a flow".to_owned());
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    Some(format!(
        "the applications had no more to send ({})",
        named(&kinds)
    ))
}

/// Each signal is a window reduced.
fn signals(figures: &Figures) -> Option<String> {
    let sum = |of: fn(&quell_measure::QueueSummary) -> u64| -> f64 {
        figures.queues.iter().map(of).sum::<u64>() as f64
    };
    let (packets, marked) = (sum(|queue| queue.packets), sum(|queue| queue.marked));
    let dropped = sum(|queue| queue.dropped);
    (marked + dropped > 0.0).then(|| {
        format!(
            "its queue signalled, and the flows backed off: {:.3} % of the packets marked, {:.3} % dropped",
            marked / packets.max(1.0) * 100.0,
            dropped / (packets + dropped).max(1.0) * 100.0
        )
    })
}

/// Neither queue nor windows limited anyone.
fn start(summary: &Summary) -> String {
    let greedy = summary
        .figures
        .groups
        .iter()
        .filter(|group| is_greedy(group));
    let rtt = greedy.filter_map(|group| group.rtt_ms.map(|rtt| rtt.mean));
    let rtt = rtt.fold(0.0, f64::max);
    let rounds = (summary.duration_s - summary.warmup_s) * 1e3 / rtt;
    if rtt > 0.0 && rounds < START_ROUNDS {
        format!(
            "its queue never signalled, and the measured time is {rounds:.0} round trips: the flows were still growing"
        )
    } else {
        "its queue never signalled, and nothing in the summary says what limited the flows"
            .to_owned()
    }
}

fn named(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names[..names.len() - more].join(", ");
    match more {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary(utilisation: f64, change: impl Fn(&mut Value)) -> Summary {
        let dist = json!({ "mean": 20.0, "p1": 0.0, "p25": 0.0, "p50": 0.0, "p75": 0.0, "p90": 0.0,
            "p99": 9.0, "p999": 0.0, "max": 0.0 });
        let queue = |direction, dropped: u64| {
            json!({ "name": "queue", "direction": direction, "packets": 900, "bytes": 0, "marked": 0, "dropped": dropped,
                "mark_ratio": 0.0, "drop_ratio": 0.0, "marks": {}, "drops": {}, "delay_ms": dist, "backlog_bytes": null })
        };
        let mut value = json!({
            "schema": 1, "scenario": "t", "world": "sim", "seed": 1, "duration_s": 60.0, "warmup_s": 10.0,
            "partial": false, "warnings": [],
            "link": { "rate_bps": 100_000_000, "utilisation": utilisation, "lost_outside": 0 },
            "queues": [queue("forward", 0), queue("reverse", 0)],
            "groups": [{ "name": "a", "count": 1, "congestion_control": "cubic", "goodput_bps": [1e6],
                "jain": 1.0, "packets": 0, "marked": 0, "dropped": 0, "retransmitted": 0,
                "delay_ms": dist, "rtt_ms": dist, "app": { "kind": "bulk" } }],
            "jain": null, "phases": [],
        });
        change(&mut value);
        serde_json::from_value(value).unwrap()
    }

    fn why(change: impl Fn(&mut Value)) -> String {
        why_idle(&summary(0.3, change)).unwrap()
    }

    #[test]
    fn says_only_what_the_summary_shows() {
        let reverse = json!({ "rate_bps": 20_000_000, "utilisation": 0.998 });
        assert_eq!(
            why(|v| v["link"]["reverse"] = reverse.clone()),
            "the reverse link is the bottleneck: 99.8 % utilised, 20.0 ms of mean delay in its queue"
        );
        assert_eq!(
            why(|v| v["warnings"] = json!([
                "group a flow 0: limited by its receive window for 90 % of its rounds",
                "group a flow 1: limited by its receive window for 80 % of its rounds"
            ])),
            "flows of group a were limited by their receive window"
        );
        assert_eq!(
            why(|v| v["groups"][0]["app"] = json!({ "kind": "cbr" })),
            "the applications had no more to send (a is cbr)"
        );
        assert_eq!(
            why(|v| v["queues"][0]["dropped"] = json!(200)),
            "its queue signalled, and the flows backed off: 0.000 % of the packets marked, 10.000 % dropped"
        );
        assert!(why(|v| v["warmup_s"] = json!(0.0)).contains("there is no warm-up"));
        // 50 s of 20 ms are 2500 round trips, 2 s are 100.
        assert!(why(|_| ()).ends_with("nothing in the summary says what limited the flows"));
        let short = why(|v| v["duration_s"] = json!(12.0));
        assert!(
            short.contains("100 round trips: the flows were still growing"),
            "{short}"
        );
        assert!(
            why(|v| v["link"]["lost_outside"] = json!(7)).contains("7 packets were lost outside")
        );
    }

    #[test]
    fn a_full_link_or_one_without_a_limit_needs_no_reason() {
        assert_eq!(why_idle(&summary(0.95, |_| ())), None);
        assert_eq!(
            why_idle(&summary(0.3, |v| v["link"]["rate_bps"] = Value::Null)),
            None
        );
        let empty = |v: &mut Value| v["queues"] = json!([]);
        assert_eq!(why_idle(&summary(0.0, empty)), None);
    }
}
