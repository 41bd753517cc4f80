//! Warns if a run did not have the time that it counts: its machine was suspended, or its process stopped.
//!
//! CLOCK_MONOTONIC stands still while a machine is suspended, and CLOCK_BOOTTIME does not (clock_gettime(2)). If their
//! difference grows during a run, the machine was suspended for as long. While a process is stopped its packets pile up and the
//! clock of the run goes on; its threads wake late once, which no percentile shows.

use quell_link::LinkReport;
use quell_measure::Direction;
use quell_measure::Summary;
use quell_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// A smaller difference is the uncertainty of two readings on a busy machine.
const SUSPENDED: Time = Time::from_millis(100);
/// The share of the shortest phase for which the link may sleep too long.
const TOLERABLE_SLEEP_PERCENT: u64 = 5;
/// Attempts to read both clocks without a pause in between.
const ATTEMPTS: usize = 5;

/// What two clocks show at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    /// Goes on while the machine is suspended.
    boot: Time,
    /// Stands still then.
    monotonic: Time,
}

impl Clocks {
    /// The present moment.
    pub(super) fn now() -> Self {
        let attempt = |_| {
            let before = reading(ClockId::Monotonic);
            let boot = reading(ClockId::Boottime);
            let pause = reading(ClockId::Monotonic) - before;
            let monotonic = before + pause / 2;
            (pause, Self { boot, monotonic })
        };
        let best = (0..ATTEMPTS).map(attempt).min_by_key(|(pause, _)| *pause);
        best.map_or(
            Self {
                boot: Time::ZERO,
                monotonic: Time::ZERO,
            },
            |(_, clocks)| clocks,
        )
    }

    /// For how long the machine was suspended between this moment and a later one; `None` if it was not.
    fn suspended_until(self, later: Self) -> Option<Time> {
        let passed = later.boot - self.boot;
        let counted = later.monotonic - self.monotonic;
        Some(passed - counted).filter(|&suspended| suspended > SUSPENDED)
    }

    /// Warns if the machine was suspended between this moment and `later`.
    pub(super) fn warn(self, later: Self, warnings: &mut Vec<String>) {
        if let Some(suspended) = self.suspended_until(later) {
            warnings.push(format!(
                "the machine was suspended for {:.1} s during the run",
                seconds(suspended)
            ));
        }
    }
}

fn reading(clock: ClockId) -> Time {
    let now = clock_gettime(clock);
    Time::from_secs(now.tv_sec.unsigned_abs()) + Time::from_nanos(now.tv_nsec.unsigned_abs())
}

/// Warns if the link's thread slept through a noteworthy part of what was measured.
pub(super) fn warn_of_sleep(report: &LinkReport, summary: &Summary, warnings: &mut Vec<String>) {
    let late = Direction::BOTH.map(|direction| report.direction(direction).lateness.max);
    let slept = late.into_iter().fold(report.oversleep.max, Time::max);
    let shortest = shortest_phase(summary);
    if shortest > 0.0 && seconds(slept) > shortest * TOLERABLE_SLEEP_PERCENT as f64 / 100.0 {
        warnings.push(format!(
            "the link slept for {:.2} s too long, above {TOLERABLE_SLEEP_PERCENT} % of the {shortest:.1} s that its shortest phase measures: this process was stopped, or the machine is too busy",
            seconds(slept)
        ));
    }
}

/// In seconds; without phases the whole, 0 if nothing was measured.
fn shortest_phase(summary: &Summary) -> f64 {
    let phases = summary.phases.iter();
    let phases = phases.map(|phase| phase.end_s - phase.start_s);
    phases.fold(summary.duration_s - summary.warmup_s, f64::min)
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot_ms: u64, monotonic_ms: u64) -> Clocks {
        Clocks {
            boot: Time::from_millis(boot_ms),
            monotonic: Time::from_millis(monotonic_ms),
        }
    }

    fn warnings(from: Clocks, to: Clocks) -> Vec<String> {
        let mut warnings = Vec::new();
        from.warn(to, &mut warnings);
        warnings
    }

    #[test]
    fn a_machine_that_was_suspended_lacks_time_on_one_clock() {
        // It had been suspended for 40 s before the run: that does not count.
        let start = at(100_000, 60_000);
        for (boot, monotonic, told) in [
            (160_000, 120_000, None),
            (160_099, 120_000, None),
            // The clocks were read the other way round, with a pause.
            (160_000, 120_050, None),
            (172_345, 120_000, Some("12.3 s")),
        ] {
            let warnings = warnings(start, at(boot, monotonic));
            match told {
                None => assert_eq!(warnings, [] as [&str; 0]),
                Some(told) => assert!(
                    warnings.len() == 1 && warnings[0].contains(told),
                    "{warnings:?}"
                ),
            }
        }
    }

    #[test]
    fn this_machine_is_not_suspended_while_it_runs() {
        let start = Clocks::now();
        assert!(start.monotonic > Time::ZERO && start.boot >= start.monotonic - SUSPENDED);
        assert_eq!(start.suspended_until(Clocks::now()), None);
    }

    #[test]
    fn a_sleep_is_judged_by_the_shortest_phase() {
        let summary = |phases: &[(f64, f64)], duration: f64| -> Summary {
            let figures = serde_json::json!({ "link": { "rate_bps": null, "utilisation": 0.0, "lost_outside": 0 },
                "queues": [], "groups": [], "jain": null });
            let mut value = figures.clone();
            value["phases"] = phases
                .iter()
                .map(|(start, end)| {
                    let mut phase = figures.clone();
                    phase["start_s"] = (*start).into();
                    phase["end_s"] = (*end).into();
                    phase
                })
                .collect();
            for (key, of) in [("schema", 1), ("seed", 1), ("warmup_s", 10)] {
                value[key] = of.into();
            }
            value["duration_s"] = duration.into();
            value["scenario"] = "t".into();
            value["world"] = "live".into();
            value["partial"] = false.into();
            value["warnings"] = serde_json::json!([]);
            serde_json::from_value(value).unwrap()
        };
        let slept = |millis: u64, summary: &Summary| {
            let mut report = LinkReport::default();
            report.oversleep.max = Time::from_millis(millis);
            let mut warnings = Vec::new();
            warn_of_sleep(&report, summary, &mut warnings);
            warnings.len()
        };
        // 50 s, and phases of 10 and 25 s.
        let (whole, phases) = (
            summary(&[], 60.0),
            summary(&[(10.0, 20.0), (25.0, 50.0)], 60.0),
        );
        assert_eq!((slept(2_400, &whole), slept(2_600, &whole)), (0, 1));
        assert_eq!((slept(400, &phases), slept(600, &phases)), (0, 1));
        // Nothing was measured.
        assert_eq!(slept(5_000, &summary(&[], 9.0)), 0);
    }
}
