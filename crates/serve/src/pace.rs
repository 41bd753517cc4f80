//! How far runs are simulated, as `web/src/pace.ts` has it for a page without a server.
//!
//! Runs follow the wall clock at a chosen speed. A frame takes only so long, so that what a page asks is heard soon: slices are as long
//! as the last ones say that there is time for. A machine that cannot keep up falls behind, and says so; it never tries to catch up
//! later.

use std::time::{Duration, Instant};

use quell_units::Time;
use serde_json::{Value, json};

use crate::ask::Speed;
use crate::error::SessionError;

/// The longest that a frame simulates for.
const BUDGET: Duration = Duration::from_millis(20);
/// The first slice: nothing is known yet of its cost.
const FIRST: f64 = 1e6;
/// The shortest slice in ns, so that a frame ends.
const LEAST: f64 = 1e4;
/// How fast the memory of the speed that was reached fades, in seconds.
const FADES: f64 = 2.0;

/// What can be simulated.
pub(crate) trait Simulated {
    /// Goes on until `until`, or to the end of all runs, and returns the time that is reached.
    ///
    /// # Errors
    ///
    /// A run fails.
    fn advance(&mut self, until: Time) -> Result<Time, SessionError>;
    /// Whether every run is over.
    fn is_over(&self) -> bool;
}

/// How a frame went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub(crate) now: Time,
    pub(crate) wished: f64,
    pub(crate) reached: f64,
    pub(crate) is_over: bool,
}

impl Frame {
    pub(crate) fn json(self) -> Value {
        json!({
            "now": self.now.as_nanos(),
            "wished": self.wished,
            "reached": self.reached,
            "isOver": self.is_over,
        })
    }
}

/// Paces runs on one clock.
#[derive(Debug)]
pub(crate) struct Pace {
    speed: Speed,
    now: Time,
    /// Where a step leads, if one was asked for.
    step_to: Option<Time>,
    before: Option<Instant>,
    /// Simulated ns in a second of this machine.
    rate: Option<f64>,
    reached: f64,
}

impl Pace {
    pub(crate) fn new(speed: Speed) -> Self {
        let mut pace = Self {
            speed,
            now: Time::ZERO,
            step_to: None,
            before: None,
            rate: None,
            reached: 0.0,
        };
        pace.set_speed(speed);
        pace
    }

    pub(crate) fn set_speed(&mut self, speed: Speed) {
        self.speed = speed;
        self.reached = match speed {
            Speed::Times(times) => times,
            Speed::Most => 0.0,
        };
        self.before = None;
    }

    /// Begins again at time zero, at the same speed.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.speed);
    }

    /// The time until the next frame does not count: nobody watches.
    pub(crate) fn stand_still(&mut self) {
        self.before = None;
    }

    /// Goes on by `step` in the next frames, as fast as the machine can.
    pub(crate) fn step(&mut self, step: Time) {
        self.step_to = Some(self.step_to.unwrap_or(self.now) + step);
    }

    /// Whether a frame would do anything.
    pub(crate) fn goes_on(&self) -> bool {
        self.step_to.is_some() || !self.speed.is_pause()
    }

    /// One frame: simulates what the clock and the budget allow. Returns whether the wish was reached.
    pub(crate) fn frame(
        &mut self,
        runs: &mut impl Simulated,
        clock: &mut impl FnMut() -> Instant,
    ) -> Result<bool, SessionError> {
        let began = clock();
        let elapsed = self.before.map_or(0.0, |before| {
            began.saturating_duration_since(before).as_secs_f64()
        });
        self.before = Some(began);
        let start = self.now;
        let target = match (self.step_to, self.speed) {
            (Some(step_to), _) => step_to,
            (None, Speed::Most) => Time::MAX,
            (None, Speed::Times(times)) => start + Time::from_nanos((elapsed * times * 1e9) as u64),
        };
        self.until(runs, target, began, clock)?;
        let is_there = self.now >= target || runs.is_over();
        if self.step_to.is_some() {
            // A step is as long as it takes, and says nothing about the speed.
            self.before = None;
            if is_there {
                self.step_to = None;
            }
        } else if elapsed > 0.0 {
            let speed = (self.now - start).as_nanos() as f64 / (elapsed * 1e9);
            let weight = (elapsed / FADES).min(1.0);
            self.reached += weight * (speed - self.reached);
        }
        Ok(is_there)
    }

    fn until(
        &mut self,
        runs: &mut impl Simulated,
        target: Time,
        began: Instant,
        clock: &mut impl FnMut() -> Instant,
    ) -> Result<(), SessionError> {
        let mut at = began;
        while self.now < target && !runs.is_over() {
            let left = BUDGET.saturating_sub(at.saturating_duration_since(began));
            if left.is_zero() {
                break;
            }
            let slice = self
                .rate
                .map_or(FIRST, |rate| (rate * left.as_secs_f64() / 2.0).max(LEAST));
            let until = target.min(self.now + Time::from_nanos(slice as u64));
            let reached = runs.advance(until)?;
            let after = clock();
            let took = after.saturating_duration_since(at).as_secs_f64();
            let rate = (until - self.now).as_nanos() as f64 / took.max(1e-9);
            self.rate = Some(
                self.rate
                    .map_or(rate, |before| 0.7 * before + 0.3 * rate)
                    .min(1e15),
            );
            // Nothing is later than the end of the runs.
            self.now = reached;
            at = after;
        }
        Ok(())
    }

    /// How it stands.
    pub(crate) fn frame_now(&self, is_over: bool) -> Frame {
        let wished = match self.speed {
            Speed::Times(times) => times,
            // As fast as it can is what it reaches.
            Speed::Most => self.reached,
        };
        Frame {
            now: self.now,
            wished,
            reached: self.reached,
            is_over,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A run of which a simulated second takes `cost` seconds of a clock that only it moves.
    struct Run<'a> {
        clock: &'a Cell<Instant>,
        cost: f64,
        now: Time,
        end: Time,
    }

    impl Simulated for Run<'_> {
        fn advance(&mut self, until: Time) -> Result<Time, SessionError> {
            let until = until.min(self.end);
            let took = (until - self.now).as_nanos() as f64 * self.cost;
            let took = Duration::from_nanos(took as u64);
            self.clock.set(self.clock.get() + took);
            self.now = until;
            Ok(until)
        }
        fn is_over(&self) -> bool {
            self.now >= self.end
        }
    }

    fn run(clock: &Cell<Instant>, cost: f64) -> Run<'_> {
        Run {
            clock,
            cost,
            now: Time::ZERO,
            end: Time::from_secs(1_000),
        }
    }

    /// Frames every 16 ms, or as soon as one is over, for ten seconds.
    fn ten_seconds(pace: &mut Pace, run: &mut Run<'_>) -> Duration {
        let clock = run.clock;
        let began = clock.get();
        let mut longest = Duration::ZERO;
        while clock.get() - began < Duration::from_secs(10) {
            let frame = clock.get();
            pace.frame(run, &mut || clock.get()).unwrap();
            longest = longest.max(clock.get() - frame);
            clock.set(clock.get().max(frame + Duration::from_millis(16)));
        }
        longest
    }

    #[test]
    fn a_fast_machine_follows_the_clock_at_the_wished_speed() {
        for speed in [0.1, 1.0, 7.0] {
            let clock = Cell::new(Instant::now());
            let mut pace = Pace::new(Speed::Times(speed));
            ten_seconds(&mut pace, &mut run(&clock, 0.001));
            let frame = pace.frame_now(false);
            let passed = frame.now.as_nanos() as f64 / 1e9;
            assert!((passed - 10.0 * speed).abs() < 0.1 * speed, "{frame:?}");
            assert!((frame.reached - speed).abs() < 0.02 * speed, "{frame:?}");
            assert_eq!(frame.wished, speed);
        }
    }

    #[test]
    fn a_slow_machine_falls_behind_says_so_and_catches_nothing_up() {
        let clock = Cell::new(Instant::now());
        let mut pace = Pace::new(Speed::Times(1.0));
        let mut slow = run(&clock, 4.0);
        let longest = ten_seconds(&mut pace, &mut slow);
        let behind = pace.frame_now(false);
        assert!(
            (0.15..0.3).contains(&behind.reached),
            "a quarter: {behind:?}"
        );
        assert!(longest < 3 * BUDGET, "{longest:?}");
        slow.cost = 0.01;
        ten_seconds(&mut pace, &mut slow);
        let passed = (pace.now - behind.now).as_nanos() as f64 / 1e9;
        assert!((passed - 10.0).abs() < 0.2, "{passed}");
    }

    #[test]
    fn a_step_goes_as_far_as_it_says_however_long_that_takes_in_frames_that_end() {
        let clock = Cell::new(Instant::now());
        let mut pace = Pace::new(Speed::Times(0.0));
        let mut run = run(&clock, 2.0);
        assert!(!pace.goes_on());
        pace.step(Time::from_secs(1));
        let mut frames = 0;
        while pace.goes_on() {
            let began = clock.get();
            pace.frame(&mut run, &mut || clock.get()).unwrap();
            assert!(clock.get() - began < 3 * BUDGET);
            frames += 1;
        }
        assert_eq!(pace.now, Time::from_secs(1));
        assert!(frames > 10, "{frames}");
    }

    #[test]
    fn as_fast_as_it_can_ends_at_the_end() {
        let clock = Cell::new(Instant::now());
        let mut pace = Pace::new(Speed::Most);
        let mut run = run(&clock, 0.001);
        while !run.is_over() {
            pace.frame(&mut run, &mut || clock.get()).unwrap();
        }
        let frame = pace.frame_now(true);
        assert!(frame.reached > 100.0, "{frame:?}");
        assert_eq!(frame.now, run.end, "not a slice later");
        assert_eq!(frame.wished, frame.reached);
    }
}
