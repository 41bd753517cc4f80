//! The user's view of the frames, at the user's end.

use quell_units::parameter::Domain;
use quell_units::{Parameter, Random, Time};

use super::inputs::Inputs;
use super::report::VideoReport;
use super::{SECOND, beat};
use crate::{Action, Carrier, Event, EventInfo, Outcome};

/// The record of a viewer.
pub(crate) const FRAMES: &[EventInfo] = &[EventInfo {
    kind: "frame",
    meaning: "a frame of video: from the end of rendering over its first and last byte to the picture on the screen",
    value: "network latency of the newest input, in ns, if no frame showed it before; else 0",
}];

/// The display of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewing {
    /// Frames per second of the server's clock.
    pub fps: u32,
    /// Frames that take longer, from the end of rendering to the last byte, are late.
    pub deadline: Time,
    /// Time from the last byte of a frame to a picture.
    pub decode: Time,
    /// New pictures of the display per second; 0 for at once.
    pub refresh: u32,
}

impl Viewing {
    /// An interval between frames that is longer is a freeze: three intervals of the frame clock, and at
    /// least one and 150 ms. It is the rule of WebRTC's statistics, with the clock's interval in place
    /// of the mean of the last ones.
    fn freeze(&self) -> Time {
        let interval = beat(1, self.fps);
        (interval * 3).max(interval + Time::from_millis(150))
    }
}

/// A frame that has arrived whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number.
    pub number: u32,
    /// The newest input that it shows; 0 for none.
    pub input: u32,
    /// Time from the arrival of that input to the hand-over of the frame to the transport.
    pub hold: Time,
    /// Time of its rendering.
    pub ready: Time,
    /// Arrival of its first byte.
    pub first: Time,
    /// Arrival of its last byte.
    pub last: Time,
    /// Its length, in bytes.
    pub size: u64,
    /// Time that it waited in front of its transport; `None` for datagrams.
    pub wait: Option<Time>,
}

/// Counts what the user sees.
#[derive(Debug, Clone)]
pub struct Viewer {
    viewing: Viewing,
    carrier: Carrier,
    /// Place of the display's refresh in its interval.
    phase: Time,
    /// Frames before this one do not count.
    first: u32,
    /// One more than the newest frame whose fate is known.
    expected: u32,
    /// Time at which the newest frame was whole.
    last: Option<Time>,
    /// Beginning and end of the stretch that is counted.
    stretch: (Time, Time),
    report: VideoReport,
}

impl Viewer {
    /// A viewer of frames that this carries, with a phase from `random`.
    pub fn new(viewing: Viewing, carrier: Carrier, mut random: Random) -> Self {
        let phase = match viewing.refresh {
            0 => 0,
            refresh => random.below(beat(1, refresh).as_nanos()),
        };
        Self {
            viewing,
            carrier,
            phase: Time::from_nanos(phase),
            first: 0,
            expected: 0,
            last: None,
            stretch: (Time::ZERO, Time::ZERO),
            report: VideoReport::default(),
        }
    }

    /// One more than the newest frame whose fate is known.
    pub const fn expected(&self) -> u32 {
        self.expected
    }

    /// A frame has arrived whole. Frames before it of which nothing was said were skipped.
    pub fn see(&mut self, seen: Seen, inputs: &mut Inputs, actions: &mut Vec<Action>) {
        while self.expected < seen.number {
            let behind = self.since(self.expected, seen.number);
            self.miss(seen.ready - behind, Outcome::Skipped, actions);
        }
        if seen.number < self.expected {
            return;
        }
        self.expected = seen.number + 1;
        self.show(&seen, inputs, actions);
        if self.carrier != Carrier::Nothing {
            self.note(actions);
        }
    }

    /// Repairs from now on belong to the frames that follow.
    pub fn note(&self, actions: &mut Vec<Action>) {
        actions.push(Action::Note {
            note: 0,
            carrier: self.carrier,
        });
    }

    fn show(&mut self, seen: &Seen, inputs: &mut Inputs, actions: &mut Vec<Action>) {
        let shown = self.shown(seen.last + self.viewing.decode);
        let before = self.last.replace(seen.last);
        let counts = seen.number >= self.first;
        let mut network = Time::ZERO;
        for (number, at) in inputs.shown(seen.input) {
            if !counts {
                continue;
            }
            self.report.interaction_latency.record(shown - at);
            if number == seen.input {
                network = seen.first - at - seen.hold;
                self.report.network_latency.record(network);
                self.report.view_latency.record(seen.last - at - seen.hold);
            }
        }
        if !counts {
            return;
        }
        let delay = seen.last - seen.ready;
        let is_late = delay > self.viewing.deadline;
        self.report.complete += 1;
        self.report.late += u64::from(is_late);
        self.report.bytes += seen.size;
        self.report.frame_delay.record(delay);
        if let Some(before) = before {
            self.report.frame_interval.record(seen.last - before);
            let frozen = self.frozen(before, seen.last);
            self.report.freezes += u64::from(!frozen.is_zero());
            self.report.frozen += frozen;
        }
        actions.push(Action::Record(Event {
            kind: "frame",
            number: u64::from(seen.number),
            started: seen.ready,
            first: Some(seen.first),
            last: Some(seen.last),
            ended: Some(shown),
            size: seen.size,
            outcome: match is_late {
                true => Outcome::Late,
                false => Outcome::Complete,
            },
            value: network.as_nanos(),
            wait: seen.wait,
            carrier: self.carrier,
            note: Some(0),
        }));
    }

    /// The next frame, which was ready at about `ready`, will never be whole.
    pub fn miss(&mut self, ready: Time, outcome: Outcome, actions: &mut Vec<Action>) {
        let number = self.expected;
        self.expected += 1;
        if number < self.first {
            return;
        }
        match outcome {
            Outcome::Skipped => self.report.skipped += 1,
            _ => self.report.lost += 1,
        }
        actions.push(Action::Record(Event {
            kind: "frame",
            number: u64::from(number),
            started: ready,
            first: None,
            last: None,
            ended: None,
            size: 0,
            outcome,
            value: 0,
            wait: None,
            carrier: self.carrier,
            note: Some(0),
        }));
    }

    /// Time from the tick of one frame to that of a later one.
    pub fn since(&self, frame: u32, later: u32) -> Time {
        let tick = |number: u32| beat(u64::from(number), self.viewing.fps);
        tick(later) - tick(frame)
    }

    /// Time at which the display shows a picture decoded at `at`.
    fn shown(&self, at: Time) -> Time {
        if self.viewing.refresh == 0 {
            return at;
        }
        let refresh = u128::from(self.viewing.refresh);
        let since = u128::from((at - self.phase).as_nanos());
        // The first refresh that is not before it.
        let mut number = (since * refresh / u128::from(SECOND)) as u64;
        while self.phase + beat(number, self.viewing.refresh) < at {
            number += 1;
        }
        self.phase + beat(number, self.viewing.refresh)
    }

    /// The part of a freeze that the stretch has; zero if the interval is none.
    fn frozen(&self, before: Time, until: Time) -> Time {
        if until - before <= self.viewing.freeze() {
            return Time::ZERO;
        }
        until - before.max(self.stretch.0)
    }

    /// The stretch ends at `now`.
    pub fn advance(&mut self, now: Time) {
        self.stretch.1 = now;
    }

    /// Forgets what was counted. `due` frames were due so far.
    pub fn start_counting(&mut self, due: u64) {
        self.first = u32::try_from(due).unwrap_or(u32::MAX);
        self.stretch.0 = self.stretch.1;
        self.report = VideoReport::default();
    }

    /// The record of `due` frames since the start.
    pub fn report(&self, due: u64) -> VideoReport {
        // The other end cannot have made fewer than have arrived.
        let due = due.max(u64::from(self.expected));
        let due = due.saturating_sub(u64::from(self.first));
        let frozen = self.last.map_or(Time::ZERO, |last| {
            self.frozen(last, self.stretch.1.max(last))
        });
        VideoReport {
            due,
            span: beat(due, self.viewing.fps),
            freezes: self.report.freezes + u64::from(!frozen.is_zero()),
            frozen: self.report.frozen + frozen,
            ..self.report.clone()
        }
    }
}

/// The parameter of a kind for its deadline.
pub(crate) const DEADLINE: Parameter = Parameter::FIXED
        .domain(Domain::Time(Time::from_millis(1), Time::from_secs(60)))
        .help("A frame that takes longer, from the end of rendering to its last byte at the user, is late.");

/// The parameter of a kind for decoding.
pub(crate) const DECODE: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::ZERO, Time::from_secs(1)))
    .default("0s")
    .help("Time from the last byte of a frame to a picture.");

/// The parameter of a kind for the display.
pub(crate) const REFRESH: Parameter = Parameter::FIXED
    .domain(Domain::Integer(0, 1_000))
    .default("0")
    .help("How often the display shows a new picture, per second; 0 for at once.");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::inputs::Acting;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn viewer(refresh: u32) -> Viewer {
        let viewing = Viewing {
            fps: 10,
            deadline: MS(100),
            decode: MS(5),
            refresh,
        };
        Viewer::new(viewing, Carrier::Nothing, Random::new(1, "display"))
    }

    /// Inputs at 100, 200, … ms.
    fn inputs(count: u64) -> Inputs {
        let acting = Acting {
            rate: 10,
            gesture: MS(1),
            pause: Time::ZERO,
        };
        let mut inputs = Inputs::new(acting, Random::new(1, "inputs"));
        inputs.start(Time::ZERO);
        for n in 1..=count {
            assert_eq!(inputs.take(MS(100 * n)), Some(n as u32));
        }
        inputs
    }

    fn seen(number: u32, input: u32, ready: u64, last: u64) -> Seen {
        Seen {
            number,
            input,
            hold: MS(30),
            ready: MS(ready),
            first: MS(last - 3),
            last: MS(last),
            size: 1_000,
            wait: None,
        }
    }

    fn events(actions: Vec<Action>) -> Vec<(u64, Time, Outcome)> {
        let of = |action| match action {
            Action::Record(event) => {
                let Event {
                    number,
                    started,
                    outcome,
                    ..
                } = event;
                (number, started, outcome)
            }
            other => panic!("{other:?}"),
        };
        actions.into_iter().map(of).collect()
    }

    #[test]
    fn latencies_are_those_of_the_first_frame_that_shows_an_input() {
        let (mut viewer, mut inputs) = (viewer(0), inputs(3));
        let mut actions = Vec::new();
        // Shows inputs 1 (at 100 ms) and 2 (at 200 ms); the next shows nothing new.
        viewer.see(seen(0, 2, 235, 250), &mut inputs, &mut actions);
        viewer.see(seen(1, 2, 335, 350), &mut inputs, &mut actions);
        let report = viewer.report(2);
        let of =
            |durations: &crate::Durations| (durations.count(), durations.min(), durations.max());
        // 247 - 200 - 30, 250 - 200 - 30; 255 - 200 and 255 - 100.
        assert_eq!(of(&report.network_latency), (1, Some(MS(17)), Some(MS(17))));
        assert_eq!(of(&report.view_latency), (1, Some(MS(20)), Some(MS(20))));
        assert_eq!(
            of(&report.interaction_latency),
            (2, Some(MS(55)), Some(MS(155)))
        );
        assert_eq!(of(&report.frame_delay), (2, Some(MS(15)), Some(MS(15))));
        assert_eq!(
            of(&report.frame_interval),
            (1, Some(MS(100)), Some(MS(100)))
        );
        // 2 000 bytes in two intervals of 100 ms.
        assert_eq!(report.bitrate_bps(), Some(80_000.0));
        let Action::Record(event) = actions[0] else {
            panic!("{actions:?}")
        };
        assert_eq!((event.ended, event.value), (Some(MS(255)), 17_000_000));
    }

    #[test]
    fn frames_are_complete_late_skipped_lost_or_unfinished() {
        let (mut viewer, mut inputs) = (viewer(0), inputs(0));
        let mut actions = Vec::new();
        viewer.see(seen(0, 0, 10, 20), &mut inputs, &mut actions);
        viewer.miss(MS(110), Outcome::Lost, &mut actions);
        // 2 and 3 were skipped, and 4 came 101 ms after it was ready: 491 ms after frame 0.
        viewer.see(seen(4, 0, 410, 511), &mut inputs, &mut actions);
        let report = viewer.report(7);
        assert_eq!((report.due, report.complete, report.late), (7, 2, 1));
        assert_eq!(
            (report.skipped, report.lost, report.unfinished()),
            (2, 1, 2)
        );
        assert_eq!(report.late_ratio(), 4.0 / 7.0);
        assert_eq!((report.freezes, report.frozen), (1, MS(491)));
        assert_eq!(
            events(actions),
            [
                (0, MS(10), Outcome::Complete),
                (1, MS(110), Outcome::Lost),
                (2, MS(210), Outcome::Skipped),
                (3, MS(310), Outcome::Skipped),
                (4, MS(410), Outcome::Late),
            ]
        );
    }

    #[test]
    fn an_interval_is_a_freeze_above_three_of_the_clock_and_above_one_and_150_ms() {
        for (fps, longest) in [(10, MS(300)), (30, Time::from_nanos(183_333_333))] {
            let viewing = Viewing {
                fps,
                ..viewer(0).viewing
            };
            assert_eq!(viewing.freeze(), longest);
        }
    }

    #[test]
    fn a_freeze_belongs_to_each_stretch_with_its_part_of_it() {
        let (mut viewer, mut inputs) = (viewer(0), inputs(0));
        let mut actions = Vec::new();
        viewer.see(seen(0, 0, 10, 20), &mut inputs, &mut actions);
        viewer.advance(MS(320));
        assert_eq!(viewer.report(3).freezes, 0);
        viewer.advance(MS(420));
        let report = viewer.report(4);
        assert_eq!((report.freezes, report.frozen), (1, MS(400)));
        viewer.start_counting(4);
        viewer.see(seen(4, 0, 410, 500), &mut inputs, &mut actions);
        viewer.advance(MS(600));
        let report = viewer.report(5);
        assert_eq!((report.freezes, report.frozen), (1, MS(80)));
    }

    #[test]
    fn what_was_due_before_counting_started_does_not_count_but_is_seen() {
        let (mut viewer, mut inputs) = (viewer(0), inputs(2));
        let mut actions = Vec::new();
        viewer.see(seen(0, 0, 10, 20), &mut inputs, &mut actions);
        viewer.start_counting(2);
        actions.clear();
        // Frame 1 was due when counting started, and shows input 1.
        viewer.see(seen(1, 1, 110, 150), &mut inputs, &mut actions);
        assert_eq!(actions, []);
        viewer.see(seen(2, 2, 235, 250), &mut inputs, &mut actions);
        let report = viewer.report(3);
        assert_eq!((report.due, report.complete), (1, 1));
        assert_eq!(report.interaction_latency.count(), 1);
        assert_eq!(report.frame_interval.max(), Some(MS(100)));
        assert_eq!(viewer.report(2).due, 1, "one has arrived");
    }

    #[test]
    fn a_display_shows_a_picture_at_its_next_refresh() {
        let viewer = viewer(60);
        let interval = beat(1, 60);
        let (mut waited, steps) = (0, 100_000);
        for step in 0..steps {
            let at = MS(1_000) + Time::from_nanos(step * 337_777);
            let shown = viewer.shown(at);
            assert!(shown >= at && shown <= at + interval + Time::from_nanos(1));
            waited += (shown - at).as_nanos();
        }
        // Half an interval on average.
        let mean = waited / steps;
        assert!(mean.abs_diff(interval.as_nanos() / 2) < 50_000, "{mean}");
        let refresh = viewer.shown(MS(1_000));
        assert_eq!(viewer.shown(refresh), refresh);
    }
}
