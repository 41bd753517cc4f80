//! GSP against an exact account of the same run, and the invariants that follow from its equations.
//!
//! The account is written from the equations, not from the code: it keeps the whole history of a run and integrates it from its
//! beginning, with rational numbers, each time it is asked. A run agrees with it in every decision, and in cumulative time and
//! timeout to the nanosecond that a gauge shows.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Event, Ledger, TestPacket, discipline};
use num_rational::BigRational;
use num_traits::{One, Zero};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::Discipline;
use quell_aqm::qdisc::Gauge;
use quell_aqm::{
    Bottleneck, DropReason, Ecn, Observer, Packet, Qdisc, QueueId, Random, Rate, Time,
};

fn ratio(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}
fn nanos(value: &BigRational) -> u64 {
    u64::try_from(value.floor().to_integer()).unwrap()
}

/// Above or below, and whether it counts, from here on.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: u64,
    above: bool,
    counts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Clear,
    Overflow,
    Drained,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Accepted,
    Gsp,
    Limit,
}

/// Parameters of a run; sizes in bytes or packets, times in ns, alpha in thousandths.
#[derive(Debug, Clone, Copy)]
struct Plan {
    in_packets: bool,
    threshold: u64,
    limit: u64,
    interval: u64,
    tau: u64,
    alpha: u64,
    max_time: u64,
    count_arriving: bool,
    limit_first: bool,
    overflow_restarts: bool,
}

impl Plan {
    fn random(random: &mut Random) -> Self {
        let in_packets = random.below(2) == 0;
        // In bytes, the room above the threshold may be less than a packet.
        let (threshold, limit) = if in_packets {
            let threshold = 1 + random.below(8);
            (threshold, threshold + 1 + random.below(8))
        } else {
            let threshold = 1 + random.below(9_000);
            (threshold, (threshold + 1 + random.below(4_000)).max(1_500))
        };
        Self {
            in_packets,
            threshold,
            limit,
            interval: 1_000 + random.below(20_000_000),
            tau: 1_000 + random.below(100_000_000),
            // Both ends of the range, 1, and anything.
            alpha: [1, 1_000, 16_000, 1 + random.below(4_000)][random.below(4) as usize],
            max_time: 1_000 + random.below(300_000_000),
            count_arriving: random.below(4) == 0,
            limit_first: random.below(4) == 0,
            overflow_restarts: random.below(4) == 0,
        }
    }
    fn discipline(&self) -> Discipline<TestPacket> {
        let unit = if self.in_packets { "p" } else { "B" };
        let given = [
            ("adaptive", "true".to_owned()),
            ("threshold", format!("{}{unit}", self.threshold)),
            ("limit", format!("{}{unit}", self.limit)),
            ("interval", format!("{}ns", self.interval)),
            ("tau", format!("{}ns", self.tau)),
            (
                "alpha",
                format!("{}.{:03}", self.alpha / 1_000, self.alpha % 1_000),
            ),
            ("max_time", format!("{}ns", self.max_time)),
            ("count_arriving", self.count_arriving.to_string()),
            ("limit_first", self.limit_first.to_string()),
            ("overflow_restarts", self.overflow_restarts.to_string()),
        ];
        let given: Vec<_> = given.iter().map(|(k, v)| (*k, v.as_str())).collect();
        discipline("gsp", &given, Rate::from_mbps(10)).unwrap()
    }
}

/// What should have happened.
#[derive(Debug)]
struct Account {
    plan: Plan,
    queue: Vec<u64>,
    phase: Phase,
    history: Vec<Stretch>,
    /// The time in ns, not rounded.
    expiry: Option<BigRational>,
}

impl Account {
    fn new(plan: Plan) -> Self {
        let start = Stretch {
            from: 0,
            above: false,
            counts: true,
        };
        Self {
            plan,
            queue: Vec::new(),
            phase: Phase::Clear,
            history: vec![start],
            expiry: None,
        }
    }
    fn size(&self, packet: u64) -> u64 {
        if self.plan.in_packets { 1 } else { packet }
    }
    fn occupancy(&self) -> u64 {
        self.queue.iter().map(|&packet| self.size(packet)).sum()
    }
    /// cum = clamp(cum + alpha·above − below, 0, max_time), stretch by stretch.
    fn cumulative(&self, now: u64) -> BigRational {
        let most = ratio(self.plan.max_time, 1);
        let ends = self.history.iter().skip(1).map(|next| next.from);
        let mut cumulative = BigRational::zero();
        for (stretch, end) in self.history.iter().zip(ends.chain([now])) {
            let span = ratio(end - stretch.from, 1);
            if stretch.above {
                cumulative += ratio(self.plan.alpha, 1_000) * span;
            } else if stretch.counts {
                cumulative -= span;
            }
            cumulative = cumulative.max(BigRational::zero()).min(most.clone());
        }
        cumulative
    }
    /// interval / (1 + cum/tau)
    fn timeout(&self, now: u64) -> BigRational {
        let share = self.cumulative(now) / ratio(self.plan.tau, 1);
        ratio(self.plan.interval, 1) / (BigRational::one() + share)
    }
    fn arrive(&mut self, packet: u64, now: u64) -> Fate {
        let plan = self.plan;
        let fits = self.occupancy() + self.size(packet) <= plan.limit;
        let mut seen = self.occupancy();
        if plan.count_arriving {
            seen += self.size(packet);
        }
        let free = self
            .expiry
            .as_ref()
            .is_none_or(|expiry| ratio(now, 1) > *expiry);
        let fate = if seen > plan.threshold && free && (fits || !plan.limit_first) {
            Fate::Gsp
        } else if fits {
            Fate::Accepted
        } else {
            Fate::Limit
        };
        if fate == Fate::Gsp || (fate == Fate::Limit && plan.overflow_restarts) {
            self.expiry = Some(ratio(now, 1) + self.timeout(now));
        }
        match fate {
            Fate::Accepted => self.queue.push(packet),
            Fate::Limit => self.phase = Phase::Overflow,
            Fate::Gsp => {}
        }
        self.changed(now);
        fate
    }
    fn depart(&mut self, now: u64) {
        if !self.queue.is_empty() {
            self.queue.remove(0);
            self.changed(now);
        }
    }
    fn changed(&mut self, now: u64) {
        let above = self.occupancy() > self.plan.threshold;
        if self.phase == Phase::Overflow && self.queue.is_empty() {
            self.phase = Phase::Drained;
        }
        if self.phase == Phase::Drained && above {
            self.phase = Phase::Clear;
        }
        self.history.push(Stretch {
            from: now,
            above,
            counts: self.phase == Phase::Clear,
        });
    }
}

fn delay(qdisc: &Discipline<TestPacket>, name: &str, now: Time) -> Time {
    let mut found = None;
    qdisc.status(now, &mut |gauge, value| match value {
        Gauge::Delay(time) if gauge == name => found = Some(time),
        _ => {}
    });
    found.unwrap_or_else(|| panic!("no gauge {name}"))
}

/// T3, and every decision: loads below and above the link, overflows, idle times, both units, all options.
#[test]
fn every_decision_and_every_nanosecond_agrees_with_an_exact_account() {
    let mut random = Random::new(1, "gsp");
    let (mut fates, mut phases) = ([0; 3], [0; 3]);
    for run in 0..120 {
        let plan = Plan::random(&mut random);
        let (mut qdisc, mut account) = (plan.discipline(), Account::new(plan));
        let mut ledger = Ledger::default();
        let mut now = 0;
        // Arrivals in a hundred operations.
        let mut load = 50;
        for id in 0..150 {
            now += match random.below(40) {
                0 => random.below(200_000_000),
                1 => 0,
                _ => random.below(4_000_000),
            };
            if random.below(30) == 0 {
                load = [20, 50, 80][random.below(3) as usize];
            }
            let at = Time::from_nanos(now);
            if random.below(100) < load {
                let len = if random.below(3) == 0 { 186 } else { 1_500 };
                let mut packet = TestPacket::new(id, 0, len, Ecn::NotEct);
                if now > 0 {
                    packet.set_arrival(at);
                }
                qdisc.enqueue(packet, at, &mut ledger);
                let fate = match ledger.events.last().unwrap() {
                    Event::Enqueued(..) => Fate::Accepted,
                    Event::Dropped(_, drop) if drop.reason == DropReason::Aqm => Fate::Gsp,
                    Event::Dropped(..) => Fate::Limit,
                    other => panic!("{other:?}"),
                };
                assert_eq!(
                    fate,
                    account.arrive(len, now),
                    "run {run}, packet {id}: {plan:?}"
                );
                fates[fate as usize] += 1;
            } else {
                let _left = qdisc.dequeue(at, &mut ledger);
                account.depart(now);
            }
            phases[account.phase as usize] += 1;
            // Between two changes too.
            for later in [now, now + random.below(10_000_000)] {
                let at = Time::from_nanos(later);
                let (cumulative, timeout) = (account.cumulative(later), account.timeout(later));
                let shown =
                    ["cumulative_time", "timeout"].map(|name| delay(&qdisc, name, at).as_nanos());
                assert_eq!(
                    shown,
                    [nanos(&cumulative), nanos(&timeout)],
                    "run {run}: {plan:?}"
                );
            }
        }
    }
    // The runs went everywhere: what is accepted, dropped by GSP, lost; clear, overflow, drained.
    assert!(
        fates.iter().chain(&phases).all(|&count| count > 1_000),
        "{fates:?} {phases:?}"
    );
}

/// If alpha = 1 and there is no overflow, cumulative time is the largest excess of time above over time below of any stretch up to now: it
/// is positive exactly while time above exceeds time below, the criterion of the slides.
#[test]
fn with_alpha_1_cumulative_time_tells_whether_time_above_exceeds_time_below() {
    let mut random = Random::new(2, "gsp");
    let mut signs = [0, 0];
    for _ in 0..40 {
        let given = [
            ("adaptive", "true"),
            ("alpha", "1"),
            ("max_time", "1h"),
            ("threshold", "5p"),
            ("limit", "1000p"),
        ];
        let mut qdisc = discipline("gsp", &given, Rate::from_mbps(10)).unwrap();
        let mut ledger = Ledger::default();
        let mut now = 0;
        // (start, whether above) of each stretch.
        let mut stretches = vec![(0, false)];
        for id in 0..200 {
            now += 1 + random.below(3_000_000);
            let at = Time::from_nanos(now);
            if random.below(2) == 0 {
                let mut packet = TestPacket::new(id, 0, 1_500, Ecn::NotEct);
                packet.set_arrival(at);
                qdisc.enqueue(packet, at, &mut ledger);
            } else {
                let _left = qdisc.dequeue(at, &mut ledger);
            }
            let ends = stretches.iter().skip(1).map(|next| next.0).chain([now]);
            let signed = stretches.iter().zip(ends).map(|(&(from, above), to)| {
                let span = (to - from) as i64;
                if above { span } else { -span }
            });
            // The largest sum of the latest stretches, or none.
            let signed: Vec<i64> = signed.collect();
            let sums = signed.iter().rev().scan(0, |sum, span| {
                *sum += span;
                Some(*sum)
            });
            let excess = sums.max().unwrap_or(0).max(0);
            let shown = delay(&qdisc, "cumulative_time", at).as_nanos();
            assert_eq!(shown, excess as u64);
            signs[usize::from(excess > 0)] += 1;
            stretches.push((now, qdisc.backlog().packets > 5));
        }
        assert_eq!(ledger.drops(DropReason::Limit), 0);
    }
    assert!(signs.iter().all(|&count| count > 500), "{signs:?}");
}

/// A queue of one packet that is above its threshold until `until`, and then empty.
fn above_until(until: Time, given: &[(&str, &str)]) -> Discipline<TestPacket> {
    let given: Vec<_> = [("adaptive", "true"), ("threshold", "100B")]
        .into_iter()
        .chain(given.iter().copied())
        .collect();
    let mut qdisc = discipline("gsp", &given, Rate::from_mbps(10)).unwrap();
    let mut ledger = Ledger::default();
    let packet = TestPacket::new(0, 0, 1_500, Ecn::NotEct);
    qdisc.enqueue(packet, Time::ZERO, &mut ledger);
    let _left = qdisc.dequeue(until, &mut ledger);
    qdisc
}

#[test]
fn idle_time_clears_one_second_per_second() {
    // 40 s above count 80 s, of which 60 s are kept.
    let qdisc = above_until(Time::from_secs(40), &[]);
    for (second, left) in [(40, 60), (41, 59), (70, 30), (99, 1), (100, 0), (101, 0)] {
        let cumulative = delay(&qdisc, "cumulative_time", Time::from_secs(second));
        assert_eq!(cumulative, Time::from_secs(left), "{second} s");
    }
    // Half a second before the end half a second is left.
    let at = Time::from_millis(99_500);
    assert_eq!(delay(&qdisc, "cumulative_time", at), Time::from_millis(500));
    // Years later nothing has gone wrong.
    assert_eq!(delay(&qdisc, "timeout", Time::MAX), Time::from_millis(200));
}

#[test]
fn the_timeout_falls_with_cumulative_time_and_stays_in_its_range() {
    for (given, shortest) in [
        // 0.2 s / (1 + 60 s / 1 s) = 3.279 ms.
        (&[][..], 3_278_688),
        (
            &[("interval", "10ms"), ("tau", "1ms"), ("max_time", "99ms")],
            100_000,
        ),
        // A nanosecond does not hold it: one drop at each packet that comes later.
        (
            &[("interval", "1us"), ("tau", "1us"), ("max_time", "1h")],
            0,
        ),
        (
            &[
                ("interval", "1h"),
                ("tau", "1h"),
                ("max_time", "1h"),
                ("alpha", "16"),
            ],
            1_800_000_000_000,
        ),
    ] {
        let mut previous = Time::MAX;
        for step in 0..200_u64 {
            // From nothing to beyond every max_time.
            let until = Time::from_nanos(step * step * step * 1_000_000);
            let timeout = delay(&above_until(until, given), "timeout", until);
            assert!(timeout <= previous, "{given:?}: {timeout} after {previous}");
            previous = timeout;
        }
        assert_eq!(previous, Time::from_nanos(shortest), "{given:?}");
    }
}

/// Integrates the time above a threshold in packets.
#[derive(Debug, Default)]
struct Above {
    packets: u64,
    threshold: u64,
    since: Time,
    above: u64,
    drops: Vec<(u64, Time)>,
    lost: u64,
}

impl Above {
    fn book(&mut self, now: Time) {
        if self.packets > self.threshold {
            self.above += (now - self.since).as_nanos();
        }
        self.since = now;
    }
}

impl Observer<TestPacket> for Above {
    fn enqueued(&mut self, _queue: QueueId, _packet: &TestPacket, now: Time) {
        self.book(now);
        self.packets += 1;
    }
    fn dequeued(&mut self, _queue: QueueId, _packet: &TestPacket, now: Time) {
        self.book(now);
        self.packets -= 1;
    }
    fn dropped(&mut self, packet: TestPacket, drop: quell_aqm::Drop, now: Time) {
        self.lost += u64::from(drop.reason == DropReason::Limit);
        self.drops.push((packet.flow, now));
    }
}

/// Sources that add a packet to their windows in each round trip, of 20 ms and the queue, and halve them when they learn of a drop, a
/// round trip later. The share of time that the queue is above its threshold, from 40 s to 160 s.
fn share_above(sources: u64, alpha: &str) -> f64 {
    const STEP: u64 = 200_000;
    const BASE: u64 = 20_000_000;
    // 1 000 bytes take 100 µs.
    const PACKET: u64 = 100_000;
    let rate = Rate::from_mbps(80);
    let given = [
        ("adaptive", "true"),
        ("alpha", alpha),
        ("interval", "40ms"),
        ("threshold", "50p"),
        ("limit", "100000p"),
    ];
    let qdisc = discipline("gsp", &given, rate).unwrap();
    let observer = Above {
        threshold: 50,
        ..Above::default()
    };
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), observer);
    // In millionths of a packet.
    let mut windows: Vec<u64> = (0..sources)
        .map(|flow| 2_000_000 + 100_000 * flow)
        .collect();
    let mut credits = vec![0; sources as usize];
    let (mut id, mut learnt, mut start) = (1, 0, None);
    for step in 1..=800_000 {
        let now = Time::from_nanos(STEP * step);
        let round = BASE + PACKET * link.backlog().packets;
        for flow in 0..sources as usize {
            credits[flow] += windows[flow] * STEP / round;
            while credits[flow] >= 1_000_000 {
                credits[flow] -= 1_000_000;
                let packet = TestPacket::new(id, flow as u64, 1_000, Ecn::NotEct);
                link.arrive(packet, now, &mut |_, _| ());
                id += 1;
            }
            windows[flow] += 1_000_000 * STEP / round;
        }
        while let Some(&(flow, at)) = link.observer().drops.get(learnt)
            && at + Time::from_nanos(round) <= now
        {
            let window = &mut windows[flow as usize];
            *window = (*window / 2).max(500_000);
            learnt += 1;
        }
        // Once the timeout has settled.
        if step == 200_000 {
            link.observer_mut().book(now);
            start = Some((now, link.observer().above));
        }
        if step > 200_000 {
            let cumulative = delay(link.qdisc(), "cumulative_time", now);
            assert!(
                cumulative > Time::ZERO && cumulative < Time::from_secs(60),
                "{sources} sources, alpha {alpha}: {cumulative} at {now}"
            );
        }
    }
    let end = Time::from_nanos(STEP * 800_000);
    link.observer_mut().book(end);
    assert_eq!(link.observer().lost, 0);
    let (from, above) = start.unwrap();
    (link.observer().above - above) as f64 / (end - from).as_nanos() as f64
}

/// In sustained overload alpha · above = below: the queue is above a fraction 1/(1 + alpha) of the time.
///
/// 16 sources need a drop in 6 ms, seven in an interval. With many more the windows are a few packets and what is dropped within one
/// round trip is too much: the queue swings by itself, is above for 22 % of the time however short the timeout, and alpha = 4 asks
/// for 20 % in vain.
#[test]
fn in_overload_the_queue_is_above_its_threshold_the_share_that_alpha_says() {
    for alpha in ["0.5", "1", "2", "4"] {
        let value: f64 = alpha.parse().unwrap();
        let share = share_above(16, alpha);
        let off = share - 1.0 / (1.0 + value);
        println!("alpha {alpha}: above for {share:.4} of the time");
        assert!(off.abs() < 0.01, "alpha {alpha}: {share}");
    }
}
