//! Why a link was not full, in one line: only what the figures and warnings of the summary say, and the series of when somebody sent.

mod sending;

use quell_measure::{Direction, Figures, GroupSummary, Hop, NamedLink, Summary};

pub use sending::Sending;

/// From this utilisation on a link counts as full.
const FULL: f64 = 0.9;
/// Shorter pauses are not worth a word.
const PAUSE: f64 = 0.05;
/// A flow without a signal for this many round trips has left its start.
const START_ROUNDS: f64 = 200.0;
/// The most groups that are named.
const NAMED: usize = 3;

/// What kept the forward link of a run from being full while somebody sent; `None` if it was full, had no limit, or carried nothing. Of
/// several links one that is full is enough. Without `sending` the whole measured time is judged.
pub fn why_idle(summary: &Summary, sending: Option<&Sending>) -> Option<String> {
    let figures = &summary.figures;
    let carried = figures.queues.iter().any(|queue| queue.packets > 0);
    if !may_be_idle(figures) || !carried {
        return None;
    }
    let pause = sending.map_or(0.0, |sending| 1.0 - sending.share());
    let while_sending = |why: String| match pause > PAUSE {
        true => format!(
            "nobody sent for {:.1} % of the time; while somebody did, {why}",
            pause * 100.0
        ),
        false => why,
    };
    let used = utilisations(figures, sending);
    let full = used.iter().find(|used| used.utilisation >= FULL);
    Some(while_sending(match full {
        Some(full) if full.direction == Direction::Reverse => reverse(figures, full),
        Some(full) if pause > PAUSE => format!(
            "{} was {:.1} % utilised",
            full.name,
            full.utilisation * 100.0
        ),
        // The parts of what is almost full are.
        Some(_) => return None,
        None => reasons(summary, sending),
    }))
}

/// Whether [`why_idle`] may have something to say: over the whole time no link was full.
pub fn may_be_idle(figures: &Figures) -> bool {
    let back = |link: &NamedLink| link.reverse.is_some_and(|back| back.utilisation >= FULL);
    let mut links = figures.links.iter();
    figures.link.rate_bps.is_some()
        && figures.link.utilisation < FULL
        && !links.any(|link| link.utilisation >= FULL || back(link))
}

/// A direction of a link, and its utilisation while somebody sent.
struct Used {
    name: String,
    hop: String,
    direction: Direction,
    utilisation: f64,
}

/// Of each link; the reverse directions first, because what is full there starves the others.
fn utilisations(figures: &Figures, sending: Option<&Sending>) -> Vec<Used> {
    let one = |hop: &str, name: &str, direction, whole: f64| Used {
        name: name.to_owned(),
        hop: hop.to_owned(),
        direction,
        utilisation: sending.map_or(whole, |sending| sending.used(hop, direction, whole)),
    };
    let (mut forward, mut reverse) = (Vec::new(), Vec::new());
    for link in &figures.links {
        let name = format!("link {}", link.name);
        forward.push(one(&link.name, &name, Direction::Forward, link.utilisation));
        let back = link.reverse.map(|back| back.utilisation);
        let name = format!("reverse direction of {name}");
        reverse.extend(back.map(|whole| one(&link.name, &name, Direction::Reverse, whole)));
    }
    if figures.links.is_empty() {
        let (link, hop) = (&figures.link, Hop::ONLY_NAME);
        forward.push(one(hop, "it", Direction::Forward, link.utilisation));
        let back = link.reverse.map(|back| back.utilisation);
        reverse.extend(back.map(|whole| one(hop, "reverse link", Direction::Reverse, whole)));
    }
    reverse.into_iter().chain(forward).collect()
}

/// Why no link was full, though somebody sent.
fn reasons(summary: &Summary, sending: Option<&Sending>) -> String {
    let figures = &summary.figures;
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
    // Where it is known when somebody sent, the pauses are no reason for the rest.
    let eager = greedy || sending.is_some() && figures.groups.iter().any(sending::is_eager);
    if !eager {
        reasons.extend(applications(figures));
    }
    if figures.link.lost_outside > 0 {
        let lost = figures.link.lost_outside;
        reasons.push(format!("{lost} packets were lost outside its queue"));
    }
    if eager && let Some(signals) = signals(figures) {
        reasons.push(signals);
    }
    if eager
        && !greedy
        && let Some(short) = short(figures)
    {
        reasons.push(short);
    }
    if summary.warmup_s == 0.0 && greedy {
        let start = "the start of the flows counts, because there is no warm-up";
        reasons.push(start.to_owned());
    } else if reasons.is_empty() {
        reasons.push(start(summary));
    }
    reasons.join("; ")
}

/// Transfers that end before their window has grown.
fn short(figures: &Figures) -> Option<String> {
    let rounds = figures.groups.iter().filter_map(|group| {
        let rtt = group.rtt_ms?.mean;
        let took = group.app.as_ref()?.times("completion_ms")?.mean;
        let rounds = took / rtt;
        (rtt > 0.0 && rounds < START_ROUNDS).then_some((&group.name, rounds))
    });
    let (name, rounds) = rounds.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "a transfer of group {name} takes {rounds:.0} round trips on average, in which its window still grows"
    ))
}

/// Data or acknowledgements that go the other way wait there.
fn reverse(figures: &Figures, full: &Used) -> String {
    let queues = figures.queues.iter();
    let queues =
        queues.filter(|queue| queue.direction == Direction::Reverse && queue.hop == full.hop);
    let delays = queues.filter_map(|queue| queue.delay_ms.map(|delay| delay.mean));
    let delay = delays.fold(0.0, f64::max);
    format!(
        "the {} is the bottleneck: {:.1} % utilised, {delay:.1} ms of mean delay in its queue",
        full.name,
        full.utilisation * 100.0
    )
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

pub(crate) fn is_greedy(group: &GroupSummary) -> bool {
    let kind = quell_app::find(sending::kind(group));
    kind.is_some_and(|kind| kind.greedy) && group.count > 0
}

/// Without data that has no end the applications decide how much there is.
fn applications(figures: &Figures) -> Option<String> {
    let active = figures.groups.iter().filter(|group| group.count > 0);
    let kinds: Vec<String> = active
        .map(|group| format!("{} is {}", group.name, sending::kind(group)))
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
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::parquet_table::{Values, write_parquet};

    /// One interval of a second with one queue and one flow, of group `a`.
    pub(crate) struct Interval {
        /// Its number.
        pub(crate) second: i64,
        pub(crate) delay_ms: f64,
        pub(crate) bytes: i64,
        pub(crate) backlog: i64,
    }

    /// A folder with series of these intervals, in both directions: the acknowledgements are as many.
    pub(crate) fn folder(rows: &[Interval]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let integers = |of: &dyn Fn(&Interval) -> i64| {
            Values::Integers(rows.iter().map(|row| Some(of(row))).collect())
        };
        let texts =
            |text: &str| Values::Texts(rows.iter().map(|_| Some(text.to_owned())).collect());
        let columns = |more: Vec<(&str, Values)>| -> Vec<(String, Values)> {
            let time = integers(&|row| (row.second + 1) * 1_000_000_000);
            let length = integers(&|_| 1_000_000_000);
            let all = [("time_ns", time), ("length_ns", length)].into_iter();
            all.chain(more)
                .map(|(name, values)| (name.to_owned(), values))
                .collect()
        };
        let queues = columns(vec![
            ("direction", texts("forward")),
            ("queue", texts("queue")),
            ("hop", texts("link")),
            ("packets", integers(&|row| row.bytes / 1_500)),
            ("bytes", integers(&|row| row.bytes)),
            ("backlog_bytes", integers(&|row| row.backlog)),
            (
                "delay_mean_ns",
                integers(&|row| (row.delay_ms * 1e6) as i64),
            ),
        ]);
        let flows = columns(vec![
            ("group", texts("a")),
            ("delivered_bytes", integers(&|row| row.bytes)),
        ]);
        write_parquet(&folder.path().join("queues.parquet"), &queues).unwrap();
        write_parquet(&folder.path().join("flows.parquet"), &flows).unwrap();
        folder
    }

    pub(crate) fn summary(utilisation: f64, change: impl Fn(&mut Value)) -> Summary {
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
        why_idle(&summary(0.3, change), None).unwrap()
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
        assert_eq!(why_idle(&summary(0.95, |_| ()), None), None);
        assert_eq!(
            why_idle(&summary(0.3, |v| v["link"]["rate_bps"] = Value::Null), None),
            None
        );
        let empty = |v: &mut Value| v["queues"] = json!([]);
        assert_eq!(why_idle(&summary(0.0, empty), None), None);
    }

    /// Why a link was idle that was used for this share of 50 s, and its reverse direction for that, where a transfer sent in the first
    /// ten of them.
    fn why_of_a_transfer(forward: f64, reverse: f64) -> Option<String> {
        let rows = (0..60).map(|second| Interval {
            second,
            delay_ms: 1.0,
            bytes: if (10..20).contains(&second) {
                150_000
            } else {
                0
            },
            backlog: 0,
        });
        let folder = folder(&rows.collect::<Vec<_>>());
        let back = json!({ "rate_bps": 50_000, "utilisation": reverse });
        let summary = summary(forward, |value| {
            value["groups"][0]["app"] = json!({ "kind": "transfer" });
            value["link"]["reverse"] = back.clone();
            value["queues"][1]["hop"] = json!("link");
        });
        let sending = Sending::read(folder.path(), &summary).unwrap();
        assert!((sending.as_ref().unwrap().share() - 0.2).abs() < 1e-9);
        why_idle(&summary, sending.as_ref())
    }

    #[test]
    fn a_link_is_judged_while_somebody_sends() {
        // 0.19 of 50 s is 0.95 of the 10 s.
        let pause = "nobody sent for 80.0 % of the time; while somebody did, ";
        assert_eq!(
            why_of_a_transfer(0.06, 0.19).unwrap(),
            format!(
                "{pause}the reverse link is the bottleneck: 95.0 % utilised, 20.0 ms of mean delay in its queue"
            )
        );
        assert_eq!(
            why_of_a_transfer(0.19, 0.01).unwrap(),
            format!("{pause}it was 95.0 % utilised")
        );
        let neither = why_of_a_transfer(0.06, 0.01).unwrap();
        assert!(neither.starts_with(pause), "{neither}");
        assert!(!neither.contains("no more to send"), "{neither}");
    }

    #[test]
    fn what_waits_in_a_queue_is_sent_too() {
        // Nothing is delivered for 20 s, because acknowledgements or repairs wait.
        let rows = (0..60).map(|second| Interval {
            second,
            delay_ms: 1.0,
            bytes: if second == 10 { 150_000 } else { 0 },
            backlog: if second < 30 { 1_500 } else { 0 },
        });
        let folder = folder(&rows.collect::<Vec<_>>());
        let sending = Sending::read(folder.path(), &summary(0.3, |_| ())).unwrap();
        assert!((sending.unwrap().share() - 0.4).abs() < 1e-9);
        // A call sends at its own rate: there is no time in which it could have filled the link.
        let call = summary(0.3, |value| {
            value["groups"][0]["app"] = json!({ "kind": "voice" })
        });
        assert_eq!(Sending::read(folder.path(), &call).unwrap(), None);
    }
}
