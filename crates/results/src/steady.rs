//! Whether one run says how its scenario behaves, or only how one seed came out.
//!
//! Two signs, both cheap. The figures still move: from the series of the result, the first half of the measured time is compared with
//! the second, the mean sojourn time of each queue and the goodput of each group that sends all it can. Or the seeds are known to part:
//! packets are held back for longer than a round trip, which the recovery of TCP learns in one run and not in the next.
//!
//! Nothing is judged where the scenario itself changes meanwhile: with timed changes, a trace, or a flow that starts or stops within the
//! measured time.

use std::path::Path;

use quell_measure::Summary;
use quell_scenario::{Link, Scenario};

use crate::bottleneck::is_greedy;
use crate::read::ReadError;
use crate::read::columns::{self, Cell};

/// A figure moves if one half has so many times that of the other.
pub const MOVES: f64 = 1.5;
/// A delay moves by no less than this.
const LEAST_MS: f64 = 1.0;
/// Flows that are alive for less of the measured time are not there in both halves alike.
const ALIVE: f64 = 0.9;
/// The series of more flows take long to read.
const MOST_FLOWS: usize = 1_000;
const NS_PER_MS: f64 = 1e6;

/// Why the figures of the run in `folder` may be those of one seed only, each reason in words; empty where nothing says so.
///
/// # Errors
///
/// A series of the result cannot be read.
pub fn doubts(
    folder: &Path,
    summary: &Summary,
    scenario: &Scenario,
) -> Result<Vec<String>, ReadError> {
    let mut doubts: Vec<String> = parts(scenario).into_iter().collect();
    if is_even(summary, scenario) {
        doubts.extend(queues(folder, summary)?);
        doubts.extend(groups(folder, summary)?);
    }
    Ok(doubts)
}

/// Whether the same flows share the same link in both halves.
fn is_even(summary: &Summary, scenario: &Scenario) -> bool {
    let measured = summary.duration_s - summary.warmup_s;
    let follows_trace =
        |link: &Link| link.forward.course.is_some() || link.reverse.course.is_some();
    let mut greedy = summary
        .figures
        .groups
        .iter()
        .filter(|group| is_greedy(group))
        .peekable();
    summary.has_measured()
        && scenario.changes.is_empty()
        && !scenario.links.iter().any(follows_trace)
        && greedy.peek().is_some()
        && greedy.all(|group| group.alive_s.iter().all(|&alive| alive >= ALIVE * measured))
}

/// Packets that come later than everything sent a round trip after them look lost; whether a sender adapts is chance.
fn parts(scenario: &Scenario) -> Option<String> {
    let held = |link: &Link| {
        let sides = [&link.forward.impair, &link.reverse.impair];
        let held = sides.into_iter().flatten();
        let held = held.filter(|impair| impair.reorder > 0);
        held.map(|impair| impair.hold).max()
    };
    let hold = scenario.links.iter().filter_map(held).max()?;
    let tcp = scenario.groups.iter();
    let mut tcp = tcp.filter(|group| group.congestion_control.is_some() && hold >= group.rtt);
    let group = tcp.next()?;
    Some(format!(
        "packets are held back for {hold}, not less than the base RTT of group {} ({}), and whether its TCP learns that is chance",
        group.name, group.rtt
    ))
}

/// A sum of one half and of the other.
#[derive(Debug, Clone, Copy, Default)]
struct Halves([f64; 2]);

/// The halves of each of several things, in the order of their first rows.
#[derive(Debug, Default)]
struct ByName(Vec<(String, Halves, Halves)>);

impl ByName {
    /// Adds `value` and its `weight` to the half that has the middle of the interval, unless that is in the warm-up.
    fn add(&mut self, name: String, summary: &Summary, time: [&Cell; 2], value: f64, weight: f64) {
        let middle = (time[0].number() - time[1].number() / 2.0) / 1e9;
        let (start, end) = (summary.warmup_s, summary.duration_s);
        if middle < start || middle > end || !value.is_finite() {
            return;
        }
        let half = usize::from(middle > (start + end) / 2.0);
        let known = self.0.iter().position(|(known, ..)| *known == name);
        let known = known.unwrap_or_else(|| {
            self.0.push((name, Halves::default(), Halves::default()));
            self.0.len() - 1
        });
        let (_, values, weights) = &mut self.0[known];
        values.0[half] += value;
        weights.0[half] += weight;
    }
}

fn moves([first, second]: [f64; 2]) -> bool {
    first.max(second) > MOVES * first.min(second)
}

/// The mean sojourn time of each queue whose halves differ.
fn queues(folder: &Path, summary: &Summary) -> Result<Vec<String>, ReadError> {
    let wanted = [
        "time_ns",
        "length_ns",
        "direction",
        "hop",
        "queue",
        "packets",
        "delay_mean_ns",
    ];
    let mut all = ByName::default();
    for [time, length, direction, hop, queue, packets, delay] in
        columns::read(&folder.join("queues.parquet"), wanted)?
    {
        let mut name = queue.text().to_owned();
        if !summary.figures.links.is_empty() {
            name = format!("{} {name}", hop.text());
        }
        if direction.text() == "reverse" {
            name += " (reverse)";
        }
        let packets = packets.number();
        let sum = delay.number() / NS_PER_MS * packets;
        all.add(name, summary, [&time, &length], sum, packets);
    }
    let moved = all.0.into_iter().filter_map(|(name, sums, packets)| {
        let means = [0, 1].map(|half| sums.0[half] / packets.0[half].max(1.0));
        let differ = moves(means) && (means[0] - means[1]).abs() > LEAST_MS;
        let [first, second] = means;
        differ.then(|| {
            format!("{name} had {first:.1} ms of mean delay in the first half of the measured time and {second:.1} ms in the second")
        })
    });
    Ok(moved.collect())
}

/// The goodput of each greedy group whose halves differ.
fn groups(folder: &Path, summary: &Summary) -> Result<Vec<String>, ReadError> {
    let flows: usize = summary.figures.groups.iter().map(|group| group.count).sum();
    if flows > MOST_FLOWS {
        return Ok(Vec::new());
    }
    let wanted = ["time_ns", "length_ns", "group", "delivered_bytes"];
    let mut all = ByName::default();
    for [time, length, group, bytes] in columns::read(&folder.join("flows.parquet"), wanted)? {
        let bits = bytes.number() * 8.0;
        all.add(
            group.text().to_owned(),
            summary,
            [&time, &length],
            bits,
            0.0,
        );
    }
    let half_s = (summary.duration_s - summary.warmup_s) / 2.0;
    let moved = all.0.into_iter().filter_map(|(name, bits, _)| {
        let mut groups = summary.figures.groups.iter();
        let greedy = groups.any(|group| group.name == name && is_greedy(group));
        let [first, second] = bits.0.map(|bits| rate(bits / half_s / 1e6));
        (greedy && moves(bits.0)).then(|| {
            format!("group {name} had {first} Mbit/s in the first half of the measured time and {second} Mbit/s in the second")
        })
    });
    Ok(moved.collect())
}

/// A rate in Mbit/s with a decimal, and a slow one with two digits that say something.
fn rate(mbps: f64) -> String {
    let decimals = match mbps {
        0.0 => 1.0,
        _ => (1.0 - mbps.log10().floor()).clamp(1.0, 6.0),
    };
    format!("{mbps:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::tests::{Interval, folder, summary};

    #[test]
    fn a_slow_rate_has_digits_that_say_something() {
        for (mbps, text) in [
            (40.04, "40.0"),
            (4.0, "4.0"),
            (0.032, "0.032"),
            (0.5, "0.50"),
            (0.0, "0.0"),
        ] {
            assert_eq!(rate(mbps), text);
        }
    }

    const SCENARIO: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"100mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\n\
        rtt = \"20ms\"\napp = \"bulk\"\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\n";

    /// What is said of a run of 60 s with 10 s of warm-up, whose delay and rate have these values in the warm-up and in each half.
    fn said(delays_ms: [f64; 3], mbits: [f64; 3], more: &str) -> Vec<String> {
        let parts = [(0..10, 0), (10..35, 1), (35..60, 2)];
        let rows = parts.into_iter().flat_map(|(seconds, part)| {
            seconds.map(move |second| Interval {
                second,
                delay_ms: delays_ms[part],
                bytes: (mbits[part] * 1e6 / 8.0) as i64,
                backlog: 0,
            })
        });
        let folder = folder(&rows.collect::<Vec<_>>());
        let summary = summary(0.3, |value| {
            value["groups"][0]["alive_s"] = serde_json::json!([50.0]);
        });
        let scenario = Scenario::parse(&format!("{SCENARIO}{more}")).unwrap();
        doubts(folder.path(), &summary, &scenario).unwrap()
    }

    #[test]
    fn a_transient_in_the_window_is_said_and_a_steady_state_is_not() {
        // What happened in the warm-up does not count.
        assert_eq!(said([700.0, 20.0, 18.0], [1.0, 9.0, 9.5], ""), [""; 0]);
        assert_eq!(
            said([700.0, 235.0, 7.3], [9.0; 3], ""),
            [
                "queue had 235.0 ms of mean delay in the first half of the measured time and 7.3 ms in the second"
            ]
        );
        // Small delays may double.
        assert_eq!(said([0.3, 0.3, 0.9], [9.0; 3], ""), [""; 0]);
        assert_eq!(
            said([20.0; 3], [3.0, 4.0, 7.0], ""),
            [
                "group a had 4.0 Mbit/s in the first half of the measured time and 7.0 Mbit/s in the second"
            ]
        );
        // Where the scenario changes, the figures are meant to.
        let change = "[[at]]\ntime = \"30s\"\nset = { \"link.rate\" = \"20mbit\" }\n";
        assert_eq!(said([20.0, 20.0, 90.0], [9.0; 3], change), [""; 0]);
    }

    #[test]
    fn packets_that_are_held_for_a_round_trip_part_the_seeds() {
        let held = |hold: &str| {
            let impair =
                format!("impair = {{ reorder = 0.3, hold = \"{hold}\" }}\nqueue = \"fifo\"");
            let text = SCENARIO.replace("queue = \"fifo\"", &impair);
            parts(&Scenario::parse(&text).unwrap())
        };
        assert_eq!(held("19ms"), None);
        let said = held("20ms").unwrap();
        assert!(
            said.contains("20ms, not less than the base RTT of group a"),
            "{said}"
        );
    }
}
