//! The two ends over a pipe with a delay each way and a rate downstream.

use super::*;
use crate::{Event, Outcome};
use quell_units::Settings;
use quell_units::parameter::Table as _;
use std::collections::VecDeque;

const MS: fn(u64) -> Time = Time::from_millis;
const SEGMENT: u64 = 1_448;

/// A connection without losses or acknowledgements: segments downstream leave at a rate, and take
/// half of the RTT each way.
struct Pipe {
    server: Box<Server>,
    client: Box<Client>,
    now: Time,
    half: Time,
    /// Time from a segment to the next one, whether or not it is full.
    each: Time,
    /// Time at which the sender of segments is free.
    free: Time,
    wakes: [Time; 2],
    is_asked: bool,
    /// Bytes that have not left, message by message.
    unsent: VecDeque<(Option<Message>, u64)>,
    up: VecDeque<(Time, Message)>,
    down: VecDeque<(Time, Option<Message>, u64)>,
    events: Vec<Event>,
    opened: u64,
}

impl Pipe {
    fn new(settings: &[(&str, &str)], seed: u64, half: Time, each: Time) -> Self {
        let mut all = Settings::new(Parameters::ROWS);
        for (key, value) in settings {
            all.set(key, value).unwrap();
        }
        let panorama = Panorama::new(Parameters::of(&all));
        let end = |role| panorama.end(role, Random::new(seed, "flow"));
        let (Ends::Sender(server), Ends::Receiver(client)) =
            (end(Role::Sender), end(Role::Receiver))
        else {
            panic!("ends are mixed up")
        };
        let mut pipe = Self {
            server,
            client,
            now: Time::ZERO,
            half,
            each,
            free: Time::ZERO,
            wakes: [Time::MAX; 2],
            is_asked: false,
            unsent: VecDeque::new(),
            up: VecDeque::new(),
            down: VecDeque::new(),
            events: Vec::new(),
            opened: 0,
        };
        pipe.tell_client(Input::Started);
        assert_eq!(pipe.opened, 1);
        pipe.open();
        pipe
    }

    fn open(&mut self) {
        let opened = Input::Opened {
            connection: ONLY,
            serial: self.opened - 1,
            asked: self.now,
        };
        self.tell_client(opened);
        self.tell_server(opened);
    }

    fn tell_client(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.client.poll(self.now, input, &mut actions);
        for action in actions {
            match action {
                Action::Open(ONLY) => self.opened += 1,
                Action::Send(ONLY, Data::Message(message)) => {
                    self.up.push_back((self.now + self.half, message));
                }
                Action::WakeAt(at) => self.wakes[1] = at,
                Action::Record(event) => self.events.push(event),
                Action::Note { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn tell_server(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.server.poll(self.now, input, &mut actions);
        for action in actions {
            match action {
                Action::Send(ONLY, Data::Message(message)) => {
                    self.unsent.push_back((Some(message), message.length));
                }
                Action::WhenSent(ONLY) => self.is_asked = true,
                Action::WakeAt(at) => self.wakes[0] = at,
                other => panic!("{other:?}"),
            }
        }
    }

    /// One segment leaves: what is left of the stream, up to its size.
    fn leave(&mut self) {
        self.free = self.now + self.each;
        let at = self.free + self.half;
        let mut room = SEGMENT;
        while let Some((message, left)) = self.unsent.front_mut().filter(|_| room > 0) {
            let count = room.min(*left);
            self.down.push_back((at, message.take(), count));
            room -= count;
            *left -= count;
            if *left == 0 {
                self.unsent.pop_front();
            }
        }
        if self.unsent.is_empty() && std::mem::take(&mut self.is_asked) {
            self.tell_server(Input::Sent { connection: ONLY });
        }
    }

    /// Runs until `end`.
    fn run(&mut self, end: Time) {
        loop {
            let leave = match self.unsent.is_empty() {
                true => Time::MAX,
                false => self.free.max(self.now),
            };
            let up = self.up.front().map_or(Time::MAX, |(at, _)| *at);
            let down = self.down.front().map_or(Time::MAX, |(at, ..)| *at);
            let [server, client] = self.wakes;
            let next = leave.min(up).min(down).min(server).min(client);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if next == up {
                let (_, message) = self.up.pop_front().unwrap();
                self.tell_server(Input::Message {
                    connection: ONLY,
                    message,
                });
            } else if next == down {
                let (_, message, count) = self.down.pop_front().unwrap();
                let mut body = count;
                if let Some(message) = message {
                    body -= Message::HEADER;
                    self.tell_client(Input::Message {
                        connection: ONLY,
                        message,
                    });
                }
                if body > 0 {
                    self.tell_client(Input::Bytes {
                        connection: ONLY,
                        count: body,
                    });
                }
            } else if next == leave {
                self.leave();
            } else if next == server {
                self.wakes[0] = Time::MAX;
                self.tell_server(Input::Wake);
            } else {
                self.wakes[1] = Time::MAX;
                self.tell_client(Input::Wake);
            }
        }
    }

    fn report(&self) -> VideoReport {
        self.client.report(self.server.sent()).unwrap()
    }
}

/// Frames of exactly 10 segments, 30 of them a second, and a user who never rests.
const TEN: [(&str, &str); 5] = [
    ("rate", "3.475200mbit"),
    ("deviation", "0"),
    ("residence", "0s"),
    ("pause", "0s"),
    ("input-rate", "997"),
];

#[test]
fn latencies_on_an_idle_link_are_a_round_trip_and_the_frames_own_time() {
    let each = Time::from_micros(300);
    let mut pipe = Pipe::new(&TEN, 7, Time::from_micros(3_500), each);
    pipe.run(Time::from_secs(600));
    let report = pipe.report();
    let ends = |durations: &crate::Durations| (durations.min().unwrap(), durations.max().unwrap());
    let rtt = Time::from_millis(7);
    assert_eq!(ends(&report.network_latency), (rtt + each, rtt + each));
    assert_eq!(
        ends(&report.view_latency),
        (rtt + each * 10, rtt + each * 10)
    );
    let delay = Time::from_micros(3_500) + each * 10;
    assert_eq!(ends(&report.frame_delay), (delay, delay));
    // The wait for the frame clock is uniform between 0 and an interval: 997 inputs a second drift
    // through 30 frames. So its mean is half of 33.3 ms, to 1 %.
    let wait = report.interaction_latency.mean_ns().unwrap() / 1e6 - 10.0;
    assert!((wait - 16.667).abs() < 0.1667, "{wait}");
    assert_eq!((report.late, report.skipped, report.lost), (0, 0, 0));
    assert!(report.due.abs_diff(18_000) <= 1 && report.unfinished() <= 1);
    let bitrate = report.bitrate_bps().unwrap();
    assert!((bitrate / 3_475_200.0 - 1.0).abs() < 1e-3, "{bitrate}");
    assert_eq!(pipe.events.len() as u64, report.complete);
}

#[test]
fn a_renderer_and_a_display_add_their_times_to_the_interaction_only() {
    let mut settings = TEN.to_vec();
    settings[2] = ("residence", "80ms");
    settings.push(("decode", "4ms"));
    let each = Time::from_micros(300);
    let mut pipe = Pipe::new(&settings, 7, Time::from_micros(3_500), each);
    pipe.run(Time::from_secs(600));
    let report = pipe.report();
    let network = Time::from_micros(7_300);
    assert_eq!(report.network_latency.min(), Some(network));
    assert_eq!(report.network_latency.max(), Some(network));
    let rest = report.interaction_latency.mean_ns().unwrap() / 1e6 - 10.0 - 16.667;
    assert!((rest - 84.0).abs() < 0.1667, "{rest}");
}

#[test]
fn a_transport_that_is_too_slow_costs_frames_and_not_time() {
    // A frame takes 50 ms to leave, and frames are ready every 33.3 ms.
    let mut pipe = Pipe::new(&TEN, 7, MS(5), MS(5));
    pipe.run(Time::from_secs(60));
    let skip = pipe.report();
    let share = skip.complete as f64 / skip.due as f64;
    assert!((share - 2.0 / 3.0).abs() < 0.01, "{share}");
    assert_eq!(skip.due, skip.complete + skip.skipped + skip.unfinished());
    assert!(skip.unfinished() <= 3, "{}", skip.unfinished());
    // At most an interval in wait, the frame's own time, and the way.
    assert!(skip.frame_delay.max().unwrap() < MS(34 + 50 + 5));
    let skipped: Vec<_> = pipe
        .events
        .iter()
        .filter(|e| e.outcome == Outcome::Skipped)
        .collect();
    assert_eq!(skipped.len() as u64, skip.skipped);
    // One of three, at their own times.
    assert!(skipped.windows(2).all(|w| w[1].number - w[0].number == 3));
    let apart = skipped[1].started - skipped[0].started;
    assert!(apart.as_nanos().abs_diff(100_000_000) < 10, "{apart}");

    let mut settings = TEN.to_vec();
    settings.push(("late", "queue"));
    let mut pipe = Pipe::new(&settings, 7, MS(5), MS(5));
    pipe.run(Time::from_secs(60));
    let queue = pipe.report();
    assert_eq!(queue.skipped, 0);
    // After 60 s the sender owes a third of what was due.
    assert!(queue.frame_delay.max().unwrap() > Time::from_secs(19));
    assert!(queue.late_ratio() > 0.6, "{}", queue.late_ratio());
    assert!(queue.unfinished() > 590, "{}", queue.unfinished());
}

#[test]
fn the_plan_is_the_same_however_fast_the_transport_is() {
    let run = |each| {
        let mut pipe = Pipe::new(&[], 7, MS(5), each);
        pipe.run(Time::from_secs(60));
        let (mut sizes, mut inputs) = (Vec::new(), pipe.client.inputs.clone());
        for event in &pipe.events {
            sizes.push((event.number, event.started, event.size));
        }
        (sizes, inputs.due(), inputs.newest())
    };
    let (fast, inputs, newest) = run(Time::from_micros(300));
    let (slow, others, number) = run(MS(4));
    assert_eq!((inputs, newest), (others, number));
    let mut compared = 0;
    for frame in slow.iter().filter(|(.., size)| *size > 0) {
        assert_eq!(fast[frame.0 as usize], *frame);
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
    assert!(slow.iter().any(|(.., size)| *size == 0), "none was skipped");
}

#[test]
fn flows_have_phases_of_their_own() {
    let first = |seed| {
        let mut pipe = Pipe::new(&TEN, seed, MS(5), Time::from_micros(300));
        pipe.run(MS(200));
        pipe.events[0].started
    };
    let firsts: Vec<Time> = (0..8).map(first).collect();
    assert!(firsts.iter().all(|at| *at < Time::from_nanos(33_333_334)));
    let mut distinct = firsts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 8, "{firsts:?}");
}

#[test]
fn a_connection_that_fails_is_opened_again_and_its_frames_are_missed() {
    let mut pipe = Pipe::new(&TEN, 7, MS(5), Time::from_micros(300));
    pipe.run(MS(10_000));
    let before = pipe.report();
    let failed = Input::Failed { connection: ONLY };
    (pipe.up, pipe.down, pipe.unsent) = Default::default();
    pipe.is_asked = false;
    pipe.tell_client(failed);
    pipe.tell_server(failed);
    pipe.run(MS(11_000));
    assert_eq!(pipe.opened, 2);
    pipe.open();
    pipe.run(MS(20_000));
    let report = pipe.report();
    // A second without a connection.
    assert!(report.skipped.abs_diff(30) <= 1, "{}", report.skipped);
    assert!(report.complete - before.complete >= 269);
    assert_eq!(report.freezes, 1);
    assert!(report.frozen > MS(1_000) && report.frozen < MS(1_080));
}

#[test]
fn two_times_fit_a_number() {
    let held = Held {
        input: Time::from_secs(17),
        frame: Time::from_nanos(1_073_741_823),
    };
    assert_eq!(Held::unpack(held.pack()), held);
    let longest = Held::unpack(
        Held {
            input: Time::MAX,
            frame: Time::MAX,
        }
        .pack(),
    );
    assert_eq!(longest.pack(), u64::MAX);
}
