//! Times and lengths of frames.

use std::collections::VecDeque;

use quell_units::parameter::Domain;
use quell_units::{Parameter, Random, Rate, Time};

use super::{SECOND, beat};
use crate::normal::normal_span;

/// The length of a frame follows a normal distribution that is cut off, as in the traffic models of
/// 3GPP: 10.5 % of the mean as standard deviation, within 50 and 150 % (TR 38.838).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSizes {
    /// Standard deviation, in thousandths of the mean.
    pub deviation: u32,
    /// The shortest, in thousandths of the mean.
    pub smallest: u32,
    /// The longest, in thousandths of the mean.
    pub largest: u32,
}

impl FrameSizes {
    /// A length around `mean`. What falls outside is drawn again; 100 such draws in a row, which no law
    /// worth the name has, are cut.
    pub fn draw(&self, mean: u64, random: &mut Random) -> u64 {
        if self.deviation == 0 {
            return mean;
        }
        let part = |thousandths: u32| {
            (u128::from(mean) * u128::from(thousandths) / 1_000).min(u128::from(u64::MAX)) as u64
        };
        let (low, high) = (part(self.smallest), part(self.largest));
        // As spans of a nanosecond to the byte. The mean is raised, because spans end at 0 and at
        // twice their mean.
        let raised = Time::from_nanos(mean.saturating_mul(8));
        let deviation = Time::from_nanos(part(self.deviation));
        let mut size = mean;
        for _ in 0..100 {
            let span = normal_span(raised, deviation, random).as_nanos();
            size = span.saturating_sub(mean.saturating_mul(7));
            if (low..=high).contains(&size) {
                return size;
            }
        }
        size.clamp(low, high)
    }
}

/// The mean length of a frame, in bytes.
pub fn mean_size(rate: Rate, per_second: u32) -> u64 {
    rate.as_bps() / 8 / u64::from(per_second.max(1))
}

/// The plan at a tick of the frame clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFrame {
    /// Time from the tick to the frame.
    pub takes: Time,
    /// The frame's length, in bytes.
    pub size: u64,
    /// Difference of the interval to the next tick to the clock's, in ns; not below minus that interval.
    pub longer: i64,
}

/// A frame that is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Counts the ticks from 0.
    pub number: u32,
    /// The newest input that it shows, and when that arrived; 0 for none.
    pub input: (u32, Time),
    /// Time at which it is rendered and encoded.
    pub ready: Time,
    /// Its length, in bytes.
    pub size: u64,
}

/// The frame clock of a server, and the frames in its renderer.
#[derive(Debug, Clone)]
pub struct Renderer {
    per_second: u32,
    /// Place of the first tick in an interval.
    phase: Time,
    /// Tick 0; `None` before the start.
    origin: Option<Time>,
    /// The number of the next tick, and how much later than the clock's it is, in ns.
    next: u32,
    later: i64,
    /// The newest input and when it arrived; 0 before the first.
    input: (u32, Time),
    rendering: VecDeque<Frame>,
}

impl Renderer {
    /// A clock of `per_second` ticks, with a phase from `random`.
    pub fn new(per_second: u32, random: &mut Random) -> Self {
        let phase = random.below(beat(1, per_second).as_nanos());
        Self {
            per_second,
            phase: Time::from_nanos(phase),
            origin: None,
            next: 0,
            later: 0,
            input: (0, Time::ZERO),
            rendering: VecDeque::new(),
        }
    }

    /// The clock runs from `now` on. Does nothing if it does already.
    pub fn start(&mut self, now: Time) {
        self.origin.get_or_insert(now + self.phase);
    }

    /// Input `number` arrived.
    pub fn take_input(&mut self, number: u32, now: Time) {
        if number > self.input.0 {
            self.input = (number, now);
        }
    }

    /// The next tick.
    fn tick(&self) -> Time {
        self.origin.map_or(Time::MAX, |origin| {
            let tick = origin + beat(u64::from(self.next), self.per_second);
            Time::from_nanos(tick.as_nanos().saturating_add_signed(self.later))
        })
    }

    /// Time of the next thing to do; [`Time::MAX`] before the start.
    pub fn due(&self) -> Time {
        let ready = self
            .rendering
            .front()
            .map_or(Time::MAX, |frame| frame.ready);
        ready.min(self.tick())
    }

    /// Does what is due at `now`, in order: the next frame that is ready, after the ticks before it.
    /// `plan` gives the frame of each tick, by the time of the tick.
    pub fn ready(
        &mut self,
        now: Time,
        mut plan: impl FnMut(Time) -> PlannedFrame,
    ) -> Option<Frame> {
        loop {
            let tick = self.tick();
            let first = self.rendering.front().filter(|frame| frame.ready <= now);
            if first.is_some_and(|frame| frame.ready <= tick) {
                return self.rendering.pop_front();
            }
            if tick > now {
                return None;
            }
            let PlannedFrame {
                takes,
                size,
                longer,
            } = plan(tick);
            // Frames leave in their order, whatever their times.
            let last = self
                .rendering
                .back()
                .map_or(Time::ZERO, |frame| frame.ready);
            self.rendering.push_back(Frame {
                number: self.next,
                input: self.input,
                ready: (tick + takes).max(last),
                size,
            });
            self.next += 1;
            self.later = self.later.saturating_add(longer);
        }
    }
}

/// The parameter of a kind for frames per second.
pub(crate) const FPS: Parameter = Parameter::FIXED
    .domain(Domain::Integer(1, 240))
    .help("Frames per second.");

/// The parameter of a kind for the rate of its video.
pub(crate) const RATE: Parameter = Parameter::LIVE
    .domain(Domain::Rate(
        Rate::from_bps(100_000),
        Rate::from_mbps(1_000),
    ))
    .help("Mean rate of the video: the mean length of a frame is this over fps.");

/// The parameter of a kind for the deviation of lengths.
pub(crate) const DEVIATION: Parameter = Parameter::FIXED
    .domain(Domain::Fraction(0, 500, 1_000))
    .default("0.105")
    .source("3GPP TR 38.838")
    .help("Standard deviation of a frame's length, as a part of its mean.");

/// The parameter of a kind for the shortest length.
pub(crate) const SMALLEST: Parameter = DEVIATION
    .domain(Domain::Fraction(0, 1_000, 1_000))
    .default("0.5")
    .help("The shortest frame, as a part of the mean length.");

/// The parameter of a kind for the greatest length.
pub(crate) const LARGEST: Parameter = DEVIATION
    .domain(Domain::Fraction(1_000, 4_000, 1_000))
    .default("1.5")
    .help("The longest frame, as a part of the mean length.");

/// The parameter of a kind for the time that rendering takes.
pub(crate) const RESIDENCE: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::ZERO, Time::from_nanos(SECOND)))
    .help("Time to render and encode a frame, from its tick.");

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn lengths_of_the_3gpp_model_have_its_mean_deviation_and_ends() {
        // 30 Mbit/s at 60 frames/s: 62 500 B, deviation 6 562 B, within 31 250 and 93 750 B.
        let law = FrameSizes {
            deviation: 105,
            smallest: 500,
            largest: 1_500,
        };
        let mean = mean_size(Rate::from_mbps(30), 60);
        assert_eq!(mean, 62_500);
        let mut random = Random::new(1, "size");
        let count = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        let (mut low, mut high) = (u64::MAX, 0);
        for _ in 0..count {
            let size = law.draw(mean, &mut random);
            (low, high) = (low.min(size), high.max(size));
            let off = size as f64 - 62_500.0;
            (sum, squares) = (sum + off, squares + off * off);
        }
        let count = f64::from(count);
        // Four standard errors, and the half byte that whole bytes lose.
        let standard = 6_562.5 / count.sqrt();
        assert!(
            (sum / count).abs() < 4.0 * standard + 0.5,
            "{}",
            sum / count
        );
        let deviation = (squares / count).sqrt();
        assert!((deviation - 6_562.5).abs() < 4.0 * standard, "{deviation}");
        assert!(low >= 31_250 && high <= 93_750, "{low} {high}");
        // 4.76 deviations: two draws in a million lie beyond the ends.
        assert!(low < 35_000 && high > 90_000, "{low} {high}");
    }

    #[test]
    fn a_narrow_law_draws_again_and_keeps_its_ends() {
        let law = FrameSizes {
            deviation: 500,
            smallest: 900,
            largest: 1_100,
        };
        let mut random = Random::new(1, "size");
        let sizes: Vec<u64> = (0..2_000).map(|_| law.draw(1_000, &mut random)).collect();
        assert!(sizes.iter().all(|size| (900..=1_100).contains(size)));
        // Nearly uniform between the ends; cutting instead would leave most at them.
        let at_ends = sizes.iter().filter(|s| **s == 900 || **s == 1_100).count();
        assert!(at_ends < 40, "{at_ends}");
    }

    #[test]
    fn a_frame_shows_the_newest_input_of_its_tick_and_is_ready_later() {
        let mut renderer = Renderer::new(10, &mut Random::new(3, "clock"));
        let mut plan = |_| PlannedFrame {
            takes: MS(250),
            size: 1_000,
            longer: 0,
        };
        assert_eq!(renderer.due(), Time::MAX);
        assert_eq!(renderer.ready(MS(900), &mut plan), None);
        renderer.start(MS(1_000));
        renderer.start(MS(2_000));
        let first = renderer.due();
        assert!(first >= MS(1_000) && first < MS(1_100), "{first}");
        renderer.take_input(4, first - MS(1));
        renderer.take_input(3, first - MS(1));
        assert_eq!(renderer.ready(first, &mut plan), None);
        renderer.take_input(5, first + MS(1));
        // Three ticks before the first frame is ready, and the inputs of each.
        assert_eq!(renderer.ready(first + MS(249), &mut plan), None);
        let frame = renderer.ready(first + MS(250), &mut plan).unwrap();
        assert_eq!((frame.number, frame.input), (0, (4, first - MS(1))));
        assert_eq!((frame.ready, frame.size), (first + MS(250), 1_000));
        assert_eq!(renderer.due(), first + MS(300));
        // A late host is given everything that was due.
        let mut late = Vec::new();
        while let Some(frame) = renderer.ready(first + MS(1_000), &mut plan) {
            late.push((frame.number, frame.ready));
        }
        let expected: Vec<_> = (1..=7)
            .map(|n| (n, first + MS(100) * u64::from(n) + MS(250)))
            .collect();
        assert_eq!(late, expected);
    }
}
