//! What a connection costs: sender and receiver, joined by a drop-tail link and a delay line that
//! do as little as possible themselves. Prints nanoseconds per data segment, everything included,
//! and what the path alone costs.
//!
//! `cargo bench -p quell-tcp --bench connection`; with `-- --only dctcp 10000` one control and this number
//! of segments, for a count of instructions by `valgrind --tool=callgrind`. A third argument is the number of
//! segments that the link holds, 100 otherwise: less than BBR v1 needs.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use quell_tcp::{CcConfig, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
use quell_units::{Ecn, Time};

/// A link of fixed rate with room for `limit` segments, which marks beyond `mark`, and the path
/// back.
struct Link {
    gap: u64,
    limit: u64,
    mark: u64,
    delay: u64,
    busy_until: u64,
    forward: VecDeque<(u64, Segment)>,
    backward: VecDeque<(u64, Segment)>,
    carried: u64,
    dropped: u64,
}

impl Link {
    fn send(&mut self, mut segment: Segment, now: u64) {
        let start = self.busy_until.max(now);
        let backlog = (start - now) / self.gap;
        if backlog >= self.limit {
            self.dropped += 1;
            return;
        }
        if backlog >= self.mark && segment.ecn.is_capable() {
            segment.ecn = Ecn::Ce;
        }
        self.busy_until = start + self.gap;
        self.carried += 1;
        self.forward
            .push_back((self.busy_until + self.delay, segment));
    }
}

/// A connection over a link that takes `gap` nanoseconds for a segment, and 4 ms there and back, or
/// 40 ms where it is fast.
fn run(name: &str, pacing: bool, segments: u64, gap: u64, limit: u64, mark: u64) -> String {
    let cc = CcConfig::new(name, &[])
        .expect("known")
        .expect("no options");
    let mut config = SenderConfig::new(cc);
    config.pacing = Some(pacing);
    let mut sender = Sender::new(&config);
    let mut receiver = Receiver::new(&ReceiverConfig::new(config.ecn));
    let mut link = Link {
        gap,
        limit,
        mark,
        delay: if gap < 10_000 { 20_000_000 } else { 2_000_000 },
        busy_until: 0,
        forward: VecDeque::with_capacity(4_096),
        backward: VecDeque::with_capacity(4_096),
        carried: 0,
        dropped: 0,
    };
    sender.open(Time::ZERO);
    sender.write_endless();
    let mut now = 0;
    let mut begin = Instant::now();
    let warmup = segments / 10;
    let mut is_warm = false;
    while link.carried < segments + warmup {
        if !is_warm && link.carried >= warmup {
            is_warm = true;
            begin = Instant::now();
        }
        while let Some(segment) = sender.poll(Time::from_nanos(now)) {
            link.send(segment, now);
        }
        while let Some(segment) = receiver.poll(Time::from_nanos(now)) {
            link.backward.push_back((now + link.delay, segment));
        }
        let never = u64::MAX;
        let forward = link.forward.front().map_or(never, |(at, _)| *at);
        let backward = link.backward.front().map_or(never, |(at, _)| *at);
        let timer = |timer: Option<Time>| timer.map_or(never, |at| at.as_nanos());
        let timers = timer(sender.next_timer()).min(timer(receiver.next_timer()));
        let next = forward.min(backward).min(timers);
        now = now.max(next);
        if next == forward {
            if let Some((_, segment)) = link.forward.pop_front() {
                receiver.on_segment(&segment, Time::from_nanos(now));
            }
        } else if next == backward {
            if let Some((_, segment)) = link.backward.pop_front() {
                sender.on_segment(&segment, Time::from_nanos(now));
            }
        } else {
            sender.on_timer(Time::from_nanos(now));
            receiver.on_timer(Time::from_nanos(now));
        }
    }
    let nanos = begin.elapsed().as_nanos() as f64 / segments as f64;
    let stats = black_box(sender.stats());
    format!(
        "{name:6} {:7} {nanos:6.1} ns/segment  cwnd {:4}  lost {:.4} %  time-outs {}",
        if pacing { "paced" } else { "" },
        stats.cwnd,
        100.0 * link.dropped as f64 / link.carried as f64,
        stats.rto_count,
    )
}

/// The same path without TCP: two segments one way, one back.
fn path_alone(segments: u64) -> f64 {
    let mut forward = VecDeque::with_capacity(4_096);
    let mut backward = VecDeque::with_capacity(4_096);
    for n in 0..400 {
        forward.push_back((n, Segment::default()));
        backward.push_back((n, Segment::default()));
    }
    let begin = Instant::now();
    for n in 0..segments {
        if let Some((at, segment)) = forward.pop_front() {
            forward.push_back((at + n, black_box(segment)));
        }
        if n % 2 == 0
            && let Some((at, segment)) = backward.pop_front()
        {
            backward.push_back((at + n, black_box(segment)));
        }
    }
    begin.elapsed().as_nanos() as f64 / segments as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--test") {
        println!("{}", run("cubic", false, 10_000, 12_000, 100, u64::MAX));
        return;
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--only") {
        let number = |text: &String| text.parse().expect("a number");
        let limit = arguments.get(at + 3).map_or(100, number);
        let [name, segments] = &arguments[at + 1..=at + 2] else {
            unreachable!("two arguments");
        };
        println!("{}", run(name, false, number(segments), 12_000, limit, 40));
        return;
    }
    println!(
        "sender {} bytes, receiver {} bytes, and 32 for each segment in flight",
        size_of::<Sender>(),
        size_of::<Receiver>()
    );
    let segments = 5_000_000;
    for (name, pacing, gap, limit, mark) in [
        ("reno", false, 12_000, 100, u64::MAX),
        ("cubic", false, 12_000, 100, u64::MAX),
        ("cubic", true, 12_000, 100, u64::MAX),
        ("dctcp", false, 12_000, 1_000, 40),
        // 10 Gbit/s: a window of 33 000 segments, and as many lost at once.
        ("reno", false, 1_200, 33_000, u64::MAX),
        ("cubic", false, 1_200, 3_000, u64::MAX),
    ] {
        println!("{}", run(name, pacing, segments, gap, limit, mark));
    }
    println!("path alone     {:6.1} ns/segment", path_alone(segments));
}
