//! The two ends over a path with a delay each way, and downstream a rate with a queue that marks.

use super::*;
use crate::{Action, Application as _, Event, Input, Outcome};
use quell_units::parameter::Table as _;
use quell_units::{Ecn, Settings};
use std::collections::VecDeque;

const MS: fn(u64) -> Time = Time::from_millis;

/// Downstream.
#[derive(Clone, Copy)]
struct Link {
    rate: Rate,
    /// Half of the base RTT.
    half: Time,
    /// A packet that waits longer is marked.
    mark: Time,
    /// A packet that would wait longer is dropped.
    most: Time,
}

const FAST: Link = Link {
    rate: Rate::from_mbps(1_000),
    half: Time::from_millis(5),
    mark: Time::MAX,
    most: Time::MAX,
};

struct Path {
    server: Box<Server>,
    client: Box<Client>,
    link: Link,
    now: Time,
    free: Time,
    wakes: [Time; 2],
    up: VecDeque<(Time, Input)>,
    down: VecDeque<(Time, Input)>,
    /// Datagrams of each end so far.
    counts: [u64; 2],
    /// Datagrams of the server that are lost, by their numbers.
    drops: Vec<u64>,
    /// Times of sending and lengths.
    sent: Vec<(Time, u64)>,
    dropped: u64,
    events: Vec<Event>,
}

fn rtc(settings: &[(&str, &str)]) -> Result<Rtc, ParameterError> {
    let mut all = Settings::new(Parameters::ROWS);
    for (key, value) in settings {
        all.set(key, value).unwrap();
    }
    all.check().unwrap();
    let parameters = Parameters::of(&all);
    Rtc::check(&parameters)?;
    Ok(Rtc::new(parameters))
}

impl Path {
    fn new(settings: &[(&str, &str)], link: Link) -> Self {
        let rtc = rtc(settings).unwrap();
        let end = |role| rtc.end(role, Random::new(7, "flow"));
        let (Ends::Sender(server), Ends::Receiver(client)) =
            (end(Role::Sender), end(Role::Receiver))
        else {
            panic!("ends are mixed up")
        };
        let mut path = Self {
            server,
            client,
            link,
            now: Time::ZERO,
            free: Time::ZERO,
            wakes: [Time::MAX; 2],
            up: VecDeque::new(),
            down: VecDeque::new(),
            counts: [0; 2],
            drops: Vec::new(),
            sent: Vec::new(),
            dropped: 0,
            events: Vec::new(),
        };
        path.tell(0, Input::Started);
        path.tell(1, Input::Started);
        path
    }

    /// Tells the server (0) or the client (1).
    fn tell(&mut self, end: usize, input: Input) {
        let mut actions = Vec::new();
        match end {
            0 => self.server.poll(self.now, input, &mut actions),
            _ => self.client.poll(self.now, input, &mut actions),
        }
        for action in actions {
            match action {
                Action::WakeAt(at) => self.wakes[end] = at,
                Action::Record(event) => self.events.push(event),
                Action::Datagram { size, content } => self.carry(end, size, content),
                other => panic!("{other:?}"),
            }
        }
    }

    fn carry(&mut self, end: usize, size: Bytes, content: crate::Content) {
        let sequence = self.counts[end];
        self.counts[end] += 1;
        let datagram = |ecn| Input::Datagram {
            sequence,
            sent: self.now,
            size,
            ecn,
            content,
        };
        if end == 1 {
            let input = datagram(Ecn::Ect1);
            self.up.push_back((self.now + self.link.half, input));
            return;
        }
        self.sent.push((self.now, size.get()));
        let begin = self.free.max(self.now);
        let waits = begin - self.now;
        if self.drops.contains(&sequence) || waits > self.link.most {
            self.dropped += 1;
            return;
        }
        let ecn = match waits > self.link.mark {
            true => Ecn::Ce,
            false => Ecn::Ect1,
        };
        let input = datagram(ecn);
        self.free = begin + self.link.rate.time_for(size);
        self.down.push_back((self.free + self.link.half, input));
    }

    fn run(&mut self, end: Time) {
        loop {
            let at = |queue: &VecDeque<(Time, Input)>| queue.front().map_or(Time::MAX, |x| x.0);
            let (up, down) = (at(&self.up), at(&self.down));
            let [server, client] = self.wakes;
            let next = up.min(down).min(server).min(client);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if next == up {
                let (_, input) = self.up.pop_front().unwrap();
                self.tell(0, input);
            } else if next == down {
                let (_, input) = self.down.pop_front().unwrap();
                self.tell(1, input);
            } else {
                let end = usize::from(next != server);
                self.wakes[end] = Time::MAX;
                self.tell(end, Input::Wake);
            }
        }
    }

    fn report(&self) -> VideoReport {
        self.client.report(self.server.sent()).unwrap()
    }
}

/// Frames of ten packets of 1 000 bytes, 50 a second, and a user who never rests.
const TEN: [(&str, &str); 8] = [
    ("fps", "50"),
    ("rate", "4mbit"),
    ("deviation", "0"),
    ("jitter", "0s"),
    ("packet", "1028B"),
    ("residence", "0s"),
    ("pause", "0s"),
    ("input-rate", "997"),
];

#[test]
fn latencies_on_an_idle_link_are_a_round_trip_and_the_frames_own_time() {
    let link = Link {
        rate: Rate::from_bps(8_224_000),
        ..FAST
    };
    // 1 028 bytes take 1 ms; all ten leave at once.
    let mut path = Path::new(&[&TEN[..], &[("pace", "0")]].concat(), link);
    path.run(Time::from_secs(300));
    let report = path.report();
    let near = |durations: &crate::Durations, expected: Time| {
        let (min, max) = (durations.min().unwrap(), durations.max().unwrap());
        // Times travel in units of 64 ns.
        let off = |time: Time| time.as_nanos().abs_diff(expected.as_nanos());
        assert!(off(min) < 128 && off(max) < 128, "{min} {max} {expected}");
    };
    near(&report.network_latency, MS(11));
    near(&report.view_latency, MS(20));
    near(&report.frame_delay, MS(15));
    let wait = report.interaction_latency.mean_ns().unwrap() / 1e6 - 20.0;
    assert!((wait - 10.0).abs() < 0.1, "{wait}");
    assert_eq!((report.late, report.skipped, report.lost), (0, 0, 0));
    assert!((report.bitrate_bps().unwrap() / 4e6 - 1.0).abs() < 1e-3);
}

#[test]
fn the_packets_of_a_frame_are_spread_over_its_share_of_the_interval() {
    let mut path = Path::new(&TEN, FAST);
    path.run(Time::from_secs(10));
    let times: Vec<u64> = path.sent.iter().map(|(at, _)| at.as_nanos()).collect();
    for frame in times.chunks_exact(10) {
        // Ten packets over half of 20 ms.
        assert!(frame.windows(2).all(|w| w[1] - w[0] == 1_000_000));
    }
    assert!(path.sent.iter().all(|(_, size)| *size == 1_028));
    let each: Vec<u64> = times.chunks_exact(10).map(|frame| frame[0]).collect();
    assert!(each.windows(2).all(|w| w[1] - w[0] == 20_000_000));
}

#[test]
fn a_frame_that_does_not_divide_is_cut_into_packets_that_differ_by_a_byte() {
    let settings = [
        ("fps", "50"),
        ("rate", "4mbit"),
        ("packet", "1228B"),
        ("pause", "0s"),
    ];
    let mut path = Path::new(&settings, FAST);
    path.run(Time::from_secs(20));
    let mut packets = path.sent.iter().map(|(_, size)| size - HEADERS);
    for event in &path.events {
        let count = event.size.div_ceil(1_200);
        let sizes: Vec<u64> = packets.by_ref().take(count as usize).collect();
        assert_eq!(sizes.iter().sum::<u64>(), event.size);
        assert!(
            sizes
                .iter()
                .all(|size| size.abs_diff(event.size / count) <= 1)
        );
    }
    assert!(path.events.len() > 900);
}

#[test]
fn a_frame_with_a_missing_packet_is_lost_and_its_input_shown_by_the_next() {
    let mut path = Path::new(&TEN, FAST);
    // One packet of frame 3, the last of 7, all of 9 and 10, and then of each of a row of frames.
    path.drops = vec![34, 79];
    path.drops.extend(90..110);
    path.drops.extend((20..40).map(|frame| 10 * frame + 5));
    path.run(Time::from_secs(2));
    let report = path.report();
    assert_eq!((report.lost, report.skipped), (4 + 20, 0));
    let lost: Vec<_> = path
        .events
        .iter()
        .filter(|event| event.outcome == Outcome::Lost)
        .collect();
    let expected: Vec<u64> = [3, 7, 9, 10].into_iter().chain(20..40).collect();
    assert_eq!(lost.iter().map(|e| e.number).collect::<Vec<_>>(), expected);
    // Each with the time at which it was ready.
    let first = path.events[0].started;
    for event in &path.events {
        let ready = first + MS(20) * event.number;
        assert!(event.started.as_nanos().abs_diff(ready.as_nanos()) < 128);
    }
    assert_eq!(
        report.due,
        report.complete + report.lost + report.unfinished()
    );
    assert!(report.unfinished() <= 1);
    // Every input is shown: those of the row by the frame behind it.
    let inputs = report.interaction_latency.count();
    assert!(inputs.abs_diff(2 * 997) < 50, "{inputs}");
    assert!(report.interaction_latency.max().unwrap() > MS(20 * 20));
    assert_eq!(report.freezes, 1);
}

#[test]
fn without_control_the_plan_is_the_same_whatever_the_link_does() {
    for model in ["gaussian", "rfc8593"] {
        let run = |link| {
            let mut path = Path::new(&[("model", model), ("rate", "4mbit")], link);
            path.run(Time::from_secs(20));
            path.sent
        };
        let full = Link {
            rate: Rate::from_mbps(3),
            most: MS(50),
            ..FAST
        };
        assert_eq!(run(FAST), run(full));
    }
}

#[test]
fn video_that_does_not_fit_and_does_not_respond_loses_frames() {
    let link = Link {
        rate: Rate::from_mbps(3),
        most: MS(50),
        ..FAST
    };
    let mut path = Path::new(&TEN, link);
    path.run(Time::from_secs(20));
    let report = path.report();
    assert!(
        report.lost > report.due / 2,
        "{} of {}",
        report.lost,
        report.due
    );
    assert!(report.late_ratio() > 0.5);
}

const CONTROLLED: [(&str, &str); 5] = [
    ("fps", "50"),
    ("rate", "30mbit"),
    ("control", "prague-rt"),
    ("pace", "0.8"),
    ("pause", "0s"),
];

/// A third of the video's rate, with marks from 1 ms of queue on.
const MARKING: Link = Link {
    rate: Rate::from_mbps(10),
    half: Time::from_millis(10),
    mark: Time::from_millis(1),
    most: Time::from_millis(200),
};

#[test]
fn prague_fills_a_marking_link_without_loss_and_with_short_queues() {
    let mut path = Path::new(&CONTROLLED, MARKING);
    path.run(MS(5_000));
    path.client.start_counting(path.server.sent());
    path.run(Time::from_secs(35));
    let report = path.report();
    assert_eq!((report.lost, path.dropped), (0, 0));
    let bitrate = report.bitrate_bps().unwrap() / 1e6;
    assert!((7.0..10.0).contains(&bitrate), "{bitrate}");
    // The way, an interval for the frame itself, a little for the queue.
    let p99 = report.frame_delay.quantile(990).unwrap();
    assert!(p99 < MS(10 + 20 + 15), "{p99}");
    let skipped = report.skipped as f64 / report.due as f64;
    assert!(skipped < 0.05, "{skipped}");
}

#[test]
fn prague_is_bounded_by_the_rate_of_the_video() {
    let mut path = Path::new(&CONTROLLED, FAST);
    path.run(Time::from_secs(20));
    path.client.start_counting(path.server.sent());
    path.run(Time::from_secs(40));
    let report = path.report();
    let bitrate = report.bitrate_bps().unwrap() / 30e6;
    assert!((bitrate - 1.0).abs() < 0.01, "{bitrate}");
    assert_eq!((report.skipped, report.lost), (0, 0));
}

#[test]
fn prague_skips_frames_where_a_link_stalls_and_starts_again_after_silence() {
    let mut path = Path::new(&CONTROLLED, FAST);
    path.run(Time::from_secs(10));
    let before = path.report();
    // 3 s without a packet.
    path.drops = (path.counts[0]..path.counts[0] + 1_000).collect();
    path.run(Time::from_secs(13));
    path.drops.clear();
    path.run(Time::from_secs(30));
    let report = path.report();
    let (skipped, lost) = (report.skipped - before.skipped, report.lost);
    assert!(skipped > 100, "{skipped}");
    // Two frames before the silence, and two after each second of it.
    assert!((2..=8).contains(&lost), "{lost}");
    assert_eq!(
        report.due,
        report.complete + report.skipped + report.lost + report.unfinished()
    );
    assert!(report.unfinished() <= 3);
}

const SCREAM: [(&str, &str); 4] = [
    ("fps", "50"),
    ("rate", "30mbit"),
    ("control", "scream"),
    ("pause", "0s"),
];

#[test]
fn scream_fills_a_marking_link_without_loss_and_with_short_queues() {
    let mut path = Path::new(&SCREAM, MARKING);
    path.run(MS(10_000));
    path.client.start_counting(path.server.sent());
    path.run(Time::from_secs(40));
    let report = path.report();
    assert_eq!((report.lost, report.skipped, path.dropped), (0, 0, 0));
    let bitrate = report.bitrate_bps().unwrap() / 1e6;
    assert!((5.5..10.0).contains(&bitrate), "{bitrate}");
    let p99 = report.frame_delay.quantile(990).unwrap();
    assert!(p99 < MS(10 + 20 + 20), "{p99}");
    // Reports are no more than packets need.
    assert!(
        path.counts[1] < path.counts[0] / 2 + 40 * 60,
        "{:?}",
        path.counts
    );
}

#[test]
fn scream_keeps_a_queue_that_does_not_mark_near_its_target() {
    let link = Link {
        rate: Rate::from_mbps(10),
        half: MS(10),
        mark: Time::MAX,
        most: MS(400),
    };
    let mut path = Path::new(&SCREAM, link);
    path.run(MS(10_000));
    path.client.start_counting(path.server.sent());
    path.run(Time::from_secs(60));
    let report = path.report();
    assert_eq!(path.dropped, 0);
    let bitrate = report.bitrate_bps().unwrap() / 1e6;
    assert!((6.0..10.0).contains(&bitrate), "{bitrate}");
    let p99 = report.frame_delay.quantile(990).unwrap();
    assert!(p99 < MS(10 + 20 + 90), "{p99}");
}

#[test]
fn scream_is_bounded_by_the_rates_of_the_video() {
    let mut path = Path::new(&SCREAM, FAST);
    path.run(Time::from_secs(20));
    path.client.start_counting(path.server.sent());
    path.run(Time::from_secs(40));
    let report = path.report();
    let bitrate = report.bitrate_bps().unwrap() / 30e6;
    assert!((bitrate - 1.0).abs() < 0.01, "{bitrate}");
    assert_eq!((report.skipped, report.lost), (0, 0));
    let slow = Link {
        rate: Rate::from_bps(50_000),
        half: MS(10),
        mark: MS(1),
        most: MS(200),
    };
    let mut path = Path::new(&SCREAM, slow);
    path.run(Time::from_secs(40));
    // The encoder goes on at the least rate: 250 bytes and headers, 50 times per second.
    let offered = path.sent.iter().map(|(_, size)| size).sum::<u64>();
    assert!(offered.abs_diff(40 * 50 * 278) < 20_000, "{offered}");
    assert!(path.dropped > path.counts[0] / 3, "{}", path.dropped);
}

#[test]
fn scream_discards_an_old_queue_and_goes_on_after_silence() {
    let mut path = Path::new(&SCREAM, FAST);
    path.run(Time::from_secs(10));
    let before = path.report();
    // No packet of the next 600 arrives.
    path.drops = (path.counts[0]..path.counts[0] + 600).collect();
    path.run(Time::from_secs(14));
    path.drops.clear();
    path.run(Time::from_secs(40));
    let report = path.report();
    assert!(report.skipped > before.skipped + 5, "{}", report.skipped);
    assert!(report.lost > 1, "{}", report.lost);
    assert_eq!(
        report.due,
        report.complete + report.skipped + report.lost + report.unfinished()
    );
    assert!(report.unfinished() <= 3);
    assert!(report.freezes >= 1);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let error = rtc(&[("fps", "1"), ("rate", "1gbit")]).unwrap_err();
    assert_eq!(error.key, "rate");
    let error = rtc(&[("control", "prague-rt"), ("pace", "0")]).unwrap_err();
    assert_eq!(error.key, "pace");
    assert!(rtc(&[("fps", "240"), ("rate", "1gbit")]).is_ok());
    assert!(rtc(&[("control", "scream"), ("pace", "0")]).is_ok());
}

#[test]
fn hosts_are_told_the_bounds_of_what_is_sent() {
    let all = [
        &TEN[..],
        &CONTROLLED[..],
        &SCREAM[..],
        &[("model", "rfc8593")],
    ];
    for settings in all {
        let mut path = Path::new(settings, FAST);
        let datagrams = rtc(settings).unwrap().datagrams().unwrap();
        assert!(datagrams.both_ways && datagrams.content);
        path.run(Time::from_secs(20));
        for (_, size) in &path.sent {
            assert!((datagrams.least.get()..=datagrams.size.get()).contains(size));
        }
        let most = 20_000_000_000 / datagrams.interval.mean.as_nanos();
        assert!(path.counts[0] <= most, "{} {most}", path.counts[0]);
        // Answers are as many as packets.
        assert!(path.counts[1] <= most + 20 * 60 + 1);
    }
}
