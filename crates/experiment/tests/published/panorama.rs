//! The interactive panorama alone on the link: its latencies are closed forms.

use quell_measure::{AppSummary, AppTimes, Summary};

use super::evaluation::{Misses, group, summaries};

fn viewer(run: &Summary) -> &AppSummary {
    group(run, "viewer").unwrap().app.as_ref().unwrap()
}

fn mean(runs: &[Summary], figure: impl Fn(&Summary) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}

/// Of a distribution of the viewer's, mean of the runs.
fn times(runs: &[Summary], name: &str, part: fn(&AppTimes) -> f64) -> f64 {
    mean(runs, |run| part(viewer(run).times(name).unwrap()))
}

/// A packet of 1 500 bytes at 40 Mbit/s in ms, of which 1 448 are the frame's.
const PACKET: f64 = 0.3;
/// The same of an input: 100 bytes, and 52 of headers.
const INPUT: f64 = 152.0 * 8.0 / 40_000.0;

#[test]
fn interactive_video_alone_has_the_latencies_of_the_closed_form() {
    let mut misses = Misses::default();
    for packets in [1_u32, 5, 10] {
        // 30 frames per second, each of exactly so many packets. 997 inputs per second drift through
        // the frames.
        let sets = [
            format!("group.viewer.app.rate={}bit", packets * 1_448 * 8 * 30),
            "group.viewer.app.deviation=0".to_owned(),
            "group.viewer.app.input-rate=997".to_owned(),
        ];
        let runs = summaries("panorama/alone.toml", &sets, &[1, 2]);
        let name = |what: &str| format!("{packets} packets: {what}");
        let first = 7.0 + INPUT + PACKET;
        let last = first + f64::from(packets - 1) * PACKET;
        for (figure, expected) in [("network_latency_ms", first), ("view_latency_ms", last)] {
            let min = times(&runs, figure, |t| t.min);
            misses.unless(
                (min - expected).abs() < 1e-4,
                name(&format!("{figure} {min}")),
            );
            // Another packet of this end may be in front of an input.
            let p99 = times(&runs, figure, |t| t.p99.unwrap_or(f64::NAN));
            misses.unless(p99 - expected < 0.1, name(&format!("{figure} P99 {p99}")));
        }
        // The wait for the frame clock: uniform, half of 33.3 ms on average.
        let mean = times(&runs, "interaction_latency_ms", |t| t.mean);
        misses.within(name("wait"), mean - last, 1e3 / 60.0, 1.0);
        let late = mean_late(&runs);
        misses.unless(late == 0.0, name(&format!("{late} % late")));
    }
    misses.assert_none("");
}

/// Frames that were late, skipped or lost, in %.
fn mean_late(runs: &[Summary]) -> f64 {
    100.0 * mean(runs, |run| viewer(run).number("late_ratio").unwrap())
}
