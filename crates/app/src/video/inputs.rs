//! The user's inputs: a constant rate during gestures, silence between them.

use std::collections::VecDeque;

use quell_units::parameter::Domain;
use quell_units::{Parameter, Random, Time};

use super::beat;
use crate::exponential::exponential_span;
use crate::kind::DAY;

/// The times of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acting {
    /// Inputs per second during a gesture; at least 1.
    pub rate: u32,
    /// Mean length of a gesture, which is exponentially distributed.
    pub gesture: Time,
    /// Mean length of the silence between gestures, also exponential; zero for one gesture without an end.
    pub pause: Time,
}

/// The user's inputs, numbered from 1, of which the newest that no frame has shown are remembered.
#[derive(Debug, Clone)]
pub struct Inputs {
    acting: Acting,
    random: Random,
    /// Place of the first input in an interval.
    phase: Time,
    /// Beginning and end of the gesture; `None` before the start.
    gesture: Option<(Time, Time)>,
    /// Inputs of the gesture so far.
    made: u64,
    /// Number of the newest input.
    newest: u32,
    /// Inputs that no frame has shown, with their times, in order.
    waiting: VecDeque<(u32, Time)>,
}

impl Inputs {
    /// Inputs that follow `acting`; their times come from `random` alone.
    pub fn new(acting: Acting, mut random: Random) -> Self {
        let phase = random.below(beat(1, acting.rate).as_nanos());
        Self {
            acting,
            random,
            phase: Time::from_nanos(phase),
            gesture: None,
            made: 0,
            newest: 0,
            waiting: VecDeque::new(),
        }
    }

    /// The user may act from `now` on. Does nothing if that is so already.
    pub fn start(&mut self, now: Time) {
        if self.gesture.is_none() {
            self.begin(now + self.phase);
        }
    }

    fn begin(&mut self, at: Time) {
        let end = if self.acting.pause.is_zero() {
            Time::MAX
        } else {
            at + exponential_span(self.acting.gesture, &mut self.random)
        };
        self.gesture = Some((at, end));
        self.made = 0;
    }

    /// Time of the next input; `None` before the start.
    pub fn due(&mut self) -> Option<Time> {
        loop {
            let (begin, end) = self.gesture?;
            let due = begin + beat(self.made, self.acting.rate);
            // The first input of a gesture is the gesture.
            if due < end || self.made == 0 {
                return Some(due);
            }
            let pause = exponential_span(self.acting.pause, &mut self.random);
            self.begin(due.max(end) + pause);
        }
    }

    /// The next input, if it is due at `now`, which is when it happened.
    pub fn take(&mut self, now: Time) -> Option<u32> {
        (self.due()? <= now).then(|| {
            self.made += 1;
            self.newest = self.newest.wrapping_add(1).max(1);
            self.waiting.push_back((self.newest, now));
            self.newest
        })
    }

    /// The number of the newest input; 0 before the first.
    pub const fn newest(&self) -> u32 {
        self.newest
    }

    /// A frame shows everything up to input `shown`: hands over each input that no earlier frame
    /// showed, with its time, in order.
    pub fn shown(&mut self, shown: u32) -> impl Iterator<Item = (u32, Time)> + '_ {
        std::iter::from_fn(move || self.waiting.pop_front_if(|(number, _)| *number <= shown))
    }
}

/// The parameter of a kind for the inputs of a gesture.
pub(crate) const RATE: Parameter = Parameter::FIXED
    .named("input-rate")
    .domain(Domain::Integer(1, 1_000))
    .default("60")
    .help("Inputs per second during a gesture.");

/// The parameter of a kind for the length of gestures.
pub(crate) const GESTURE: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::from_millis(1), DAY))
    .default("2s")
    .help("Mean length of a gesture, which is exponentially distributed.");

/// The parameter of a kind for the time between gestures.
pub(crate) const PAUSE: Parameter = Parameter::FIXED
        .domain(Domain::Time(Time::ZERO, DAY))
        .default("1s")
        .help("Mean time between gestures, which is exponentially distributed; 0s for one gesture without an end.");

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn inputs(pause: Time) -> Inputs {
        let acting = Acting {
            rate: 60,
            gesture: MS(2_000),
            pause,
        };
        Inputs::new(acting, Random::new(7, "inputs"))
    }

    fn times(inputs: &mut Inputs, start: Time, until: Time) -> Vec<Time> {
        inputs.start(start);
        let mut times = Vec::new();
        while let Some(due) = inputs.due().filter(|due| *due < until) {
            assert_eq!(inputs.take(due - Time::from_nanos(1)), None);
            assert_eq!(inputs.take(due), Some(times.len() as u32 + 1));
            times.push(due);
        }
        times
    }

    #[test]
    fn a_gesture_without_end_has_its_rate_and_a_phase_of_its_own() {
        let times = times(&mut inputs(Time::ZERO), MS(50), MS(10_050));
        assert_eq!(times.len(), 600);
        let interval = Time::from_nanos(16_666_666);
        assert!(times[0] > MS(50) && times[0] < MS(50) + interval);
        let (first, last) = (times[0], times[599]);
        assert_eq!((last - first).as_nanos(), 599 * 1_000_000_000 / 60);
    }

    #[test]
    fn gestures_and_pauses_have_their_means() {
        let long = Time::from_secs(30_000);
        let mut inputs = inputs(MS(1_000));
        let times = times(&mut inputs, Time::ZERO, long);
        let pauses = times.windows(2).filter(|w| w[1] - w[0] > MS(17)).count() as f64;
        // A gesture of 2 s and the rest of its last interval, half of one on average; a pause of 1 s,
        // of which one in 60 hides in the interval. Four deviations of some 10 000 cycles.
        let cycle = 30_000.0 / pauses;
        assert!((cycle / 3.0 - 1.0).abs() < 0.04, "{cycle}");
        let acting = times.len() as f64 / 60.0 / 30_000.0;
        assert!((acting * 1.5 - 1.0).abs() < 0.04, "{acting}");
    }

    #[test]
    fn an_input_is_shown_once_by_the_first_frame_that_can() {
        let mut inputs = inputs(Time::ZERO);
        let times = times(&mut inputs, Time::ZERO, MS(80));
        assert_eq!(inputs.shown(0).count(), 0);
        let shown: Vec<_> = inputs.shown(2).collect();
        assert_eq!(shown, [(1, times[0]), (2, times[1])]);
        assert_eq!(inputs.shown(2).count(), 0);
        assert_eq!(inputs.shown(u32::MAX).count(), times.len() - 2);
    }
}
