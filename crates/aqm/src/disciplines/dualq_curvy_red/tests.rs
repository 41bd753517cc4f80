//! Golden vectors of both arithmetics, the coupling law by counting, overload, and the traps of the RFC.

use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::Qdisc as _;
use crate::observer::Drop;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Bytes;
use crate::units::Rate;

#[derive(Debug, Default)]
struct Count {
    marks: Vec<(QueueId, MarkReason)>,
    drops: Vec<(QueueId, DropReason)>,
}

impl Count {
    fn marks(&self, queue: QueueId, reason: MarkReason) -> usize {
        self.marks
            .iter()
            .filter(|mark| **mark == (queue, reason))
            .count()
    }
    fn drops(&self, queue: QueueId, reason: DropReason) -> usize {
        self.drops
            .iter()
            .filter(|drop| **drop == (queue, reason))
            .count()
    }
}

impl Observer<TestPacket> for Count {
    fn marked(&mut self, queue: QueueId, _: &TestPacket, reason: MarkReason, _now: Time) {
        self.marks.push((queue, reason));
    }
    fn dropped(&mut self, _packet: TestPacket, drop: Drop, _now: Time) {
        self.drops.push((drop.queue, drop.reason));
    }
}

fn try_dualq(given: &[(&str, &str)]) -> Result<DualQCurvyRed<TestPacket>, ParameterError> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    let link = Link {
        rate: Rate::from_mbps(12),
        mtu: Bytes::new(1_500),
    };
    DualQCurvyRed::new(settings, link, Random::new(1, "queue"))
}

fn dualq(given: &[(&str, &str)]) -> DualQCurvyRed<TestPacket> {
    try_dualq(given).unwrap()
}

/// Long after the origin, so that any packet can have waited.
const NOW: Time = Time::from_secs(100);

/// A packet that has waited for `delay` arrives in an empty discipline and leaves.
fn one(q: &mut DualQCurvyRed<TestPacket>, ecn: Ecn, delay: Time, obs: &mut Count) {
    let mut packet = TestPacket::new(0, 1_500, ecn);
    packet.set_arrival(NOW - delay);
    q.enqueue(packet, NOW, obs);
    q.dequeue(NOW, obs);
}

/// A discipline whose Q_C has settled at `delay`.
fn settled(given: &[(&str, &str)], delay: Time) -> DualQCurvyRed<TestPacket> {
    let mut q = dualq(given);
    (0..5_000).for_each(|_| q.law.average.update(delay));
    q
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

#[test]
fn the_l4s_range_is_shorter_by_the_coupling() {
    // range_L = 2^(S_C − k') s: p_CL is 1 there. (k', range_L in ms, S_C = −1)
    for (exponent, range_l) in [("0", 500), ("1", 250), ("2", 125), ("8", 1)] {
        let given = [("coupling_exponent", exponent), ("min_th", "0ms")];
        let curves = dualq(&given).law.curves;
        let root = ms(range_l).as_nanos() << FRACTION;
        let below = ms(range_l - 1).as_nanos() << FRACTION;
        // 500 ms / 2⁸ are 1.953 ms.
        assert_eq!(curves.is_saturated(root), exponent != "8", "{exponent}");
        assert!(!curves.is_saturated(below), "{exponent}");
    }
}

#[test]
fn the_integer_form_is_7_4_percent_wider() {
    let exact = dualq(&[]).law.curves.range_c;
    let integer = dualq(&[("arithmetic", "integer")]).law.curves.range_c;
    assert_eq!((exact, integer), (500_000_000, 1 << 29));
    // 2³⁰ ns are 1.0737 s.
    assert_eq!(integer * 10_000 / exact, 10_737);
    for (range, allowed) in [
        ("4s", true),
        ("1s", true),
        ("125ms", true),
        ("300ms", false),
    ] {
        let made = try_dualq(&[("arithmetic", "integer"), ("range_c", range)]);
        assert_eq!(made.is_ok(), allowed, "{range}");
    }
}

#[test]
fn the_integer_form_equals_its_listing() {
    // Figure 11: `(Q_C >> (S_L-2)) > rand` and `(Q_C >> (S_C-2)) > maxrand(2*U)`, 32-bit randoms,
    // a right shift by a negative number being one to the left; Q_C += (cq.ns() − Q_C) >> g_C.
    for (s_c, range) in [(-1_i32, "500ms"), (0, "1s"), (2, "4s"), (-4, "62.5ms")] {
        let mut q = dualq(&[("arithmetic", "integer"), ("range_c", range)]);
        let mut delays = Random::new(9, "delays");
        let mut q_c = 0_i64;
        for n in 0..20_000 {
            // Now long, now short, now what it was.
            let most = [10_000_000_000, 1_000_000, 600_000_000][n % 3];
            let delay = delays.below(most);
            q_c += (delay as i64 - q_c) >> 5;
            q.law.average.update(Time::from_nanos(delay));
            let value = q.law.curves.root(q.law.average.get(), Time::MAX);
            let shifted = |shift: i32| i128::from(q_c) << -(shift - 2);
            let mut ours = Random::new(n as u64, "draw");
            let mut theirs = ours.clone();
            let l4s = q
                .law
                .curves
                .exceeds(q.law.curves.coupled(value), 1, &mut ours);
            assert_eq!(l4s, shifted(s_c - 1) > i128::from(theirs.u32()), "L {q_c}");
            let most = ours.clone().u32().max({
                let mut second = ours.clone();
                second.u32();
                second.u32()
            });
            let classic = q.law.curves.exceeds(value, 2, &mut ours);
            assert_eq!(classic, shifted(s_c) > i128::from(most), "C {q_c}");
        }
    }
}

#[test]
fn the_integer_average_stalls_within_31_ns() {
    // Trap: (q − Q) >> 5 is nothing for a difference of 31, and −1 for one of −1.
    for (from, to, stays) in [
        (0, 31, 0),
        (0, 32, 1),
        (1_000, 1_031, 1_000),
        (1_000, 999, 999),
    ] {
        let mut average = Average::Integer(from, 5);
        (0..1_000).for_each(|_| average.update(Time::from_nanos(to)));
        assert_eq!(average.get(), stays << FRACTION, "{from} {to}");
        // The exact form gets there, within 2⁻¹⁶ ns.
        let mut average = Average::Exact(Ewma::new(5));
        (0..2_000).for_each(|_| average.update(Time::from_nanos(to)));
        assert!(average.get().abs_diff(to << FRACTION) <= 1);
    }
}

#[test]
fn the_delays_of_common_drop_probabilities() {
    // With minTh = 0: 4 % at 0.2 · 0.5 s, 1 % at 50 ms, 0.36 % at 30 ms.
    for (delay, root) in [(100, 20), (50, 10), (30, 6)] {
        let q = settled(&[("min_th", "0ms")], ms(delay));
        let value = q.law.curves.root(q.law.average.get(), Time::MAX) + 1;
        assert_eq!(value * 100 / q.law.curves.one(), root, "{delay} ms");
    }
}

#[test]
fn the_ramps_begin_at_min_th() {
    // Trap 3: both readings that make sense.
    for (min_th, delay_us, above_us) in [
        ("0ms", 0, 0),
        ("0ms", 400, 400),
        ("500us", 400, 0),
        ("500us", 500, 0),
        ("500us", 501, 1),
        ("500us", 100_500, 100_000),
    ] {
        let q = settled(&[("min_th", min_th)], Time::from_micros(delay_us));
        let root = q.law.curves.root(q.law.average.get(), Time::MAX);
        let above = Time::from_micros(above_us).as_nanos() << FRACTION;
        assert!(
            above - root <= 1 << 10,
            "{min_th} {delay_us}: {root} {above}"
        );
    }
}

#[test]
fn the_printed_min_th_would_never_signal() {
    // Trap 3: 500 ms is beyond the buffer of 250 ms, so that the AQM is a drop-tail queue.
    for (min_th, signals) in [("500ms", false), ("500us", true)] {
        let mut q = dualq(&[("min_th", min_th)]);
        let mut obs = Count::default();
        let mut now = Time::ZERO;
        // Ten leave for eleven that come, which takes 9 % drops: at 150 ms.
        for n in 0..8_000 {
            let mut packet = TestPacket::new(n, 1_500, Ecn::NotEct);
            packet.set_arrival(now);
            q.enqueue(packet, now, &mut obs);
            if n % 11 != 0 {
                now += ms(1);
                q.dequeue(now, &mut obs);
            }
        }
        let aqm = obs.drops(QueueId::CLASSIC, DropReason::Aqm);
        assert_eq!(aqm > 0, signals, "{min_th}: {aqm}");
        assert_eq!(obs.drops(QueueId::CLASSIC, DropReason::Limit) > 0, !signals);
    }
}

#[test]
fn marks_and_drops_obey_the_square_law() {
    const N: u64 = 200_000;
    for (given, delay, coupled, u) in [
        (&[][..], 100, 1, 1),
        (&[("coupling_exponent", "0")], 150, 0, 1),
        (&[("coupling_exponent", "2")], 40, 2, 1),
        (&[("u", "2")], 200, 1, 2),
        (&[("arithmetic", "integer")], 100, 1, 1),
    ] {
        let mut q = settled(given, ms(delay));
        let mut obs = Count::default();
        for _ in 0..N {
            one(&mut q, Ecn::NotEct, ms(delay), &mut obs);
        }
        let p_c = obs.drops(QueueId::CLASSIC, DropReason::Aqm) as f64 / N as f64;
        // L4S packets that have not waited move nothing with this input.
        q.law.curves.input = Input::Classic;
        for _ in 0..N {
            one(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        }
        let p_l = obs.marks(QueueId::L4S, MarkReason::Coupled) as f64 / N as f64;
        let (range, min_th) = match given {
            [("arithmetic", _)] => (0.536_870_912, 0.0),
            _ => (0.5, 0.0005),
        };
        let root = (delay as f64 / 1e3 - min_th) / range;
        let exact_l = (root * f64::from(1 << coupled)).powi(u);
        let exact_c = root.powi(2 * u);
        // Four standard deviations of a binomial.
        let error = |p: f64| 4.0 * (p * (1.0 - p) / N as f64).sqrt();
        assert!(
            (p_l - exact_l).abs() < error(exact_l),
            "{given:?} p_CL {p_l} {exact_l}"
        );
        assert!(
            (p_c - exact_c).abs() < error(exact_c),
            "{given:?} p_C {p_c} {exact_c}"
        );
    }
}

#[test]
fn both_queues_feel_the_smoothed_delay() {
    // Trap 4: a Classic packet that has waited 400 ms, and L4S feels nothing before it has left.
    let mut q = dualq(&[("tshift", "1s"), ("min_th", "0ms")]);
    let mut obs = Count::default();
    let mut packet = TestPacket::new(0, 1_500, Ecn::NotEct);
    packet.set_arrival(NOW - ms(400));
    q.enqueue(packet, NOW, &mut obs);
    for _ in 0..1_000 {
        one(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
    }
    assert_eq!((obs.marks.len(), q.backlog().packets), (0, 1));
    q.dequeue(NOW, &mut obs);
    // Q_C = 400 ms / 32.
    let q_c = q.law.average.get() >> FRACTION;
    assert!(q_c.abs_diff(12_500_000) <= 1, "{q_c}");
}

#[test]
fn without_classic_packets_the_listing_stands_still_and_the_longest_queue_does_not() {
    for (input, stands) in [("classic", true), ("longest", false)] {
        let mut q = settled(&[("input", input)], ms(100));
        let mut obs = Count::default();
        for _ in 0..1_000 {
            one(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        }
        let left = q.law.average.get() >> FRACTION;
        assert_eq!(left > 99_000_000, stands, "{input}: {left}");
        // An L4S flood of 300 ms saturates only the latter.
        for _ in 0..1_000 {
            one(&mut q, Ecn::Ect1, ms(300), &mut obs);
        }
        let dropped = obs.drops(QueueId::L4S, DropReason::Overload);
        assert_eq!(dropped == 0, stands, "{input}: {dropped}");
    }
}

#[test]
fn a_classic_departure_reads_the_longer_queue() {
    for (input, expected_ms) in [("longest", 300), ("classic", 40)] {
        let mut q = dualq(&[
            ("input", input),
            ("g_c", "0"),
            ("scheduler", "wrr"),
            ("wrr_ratio", "1"),
        ]);
        let mut obs = Count::default();
        for (ecn, delay) in [(Ecn::Ect1, 300), (Ecn::Ect1, 300), (Ecn::NotEct, 40)] {
            let mut packet = TestPacket::new(0, 1_500, ecn);
            packet.set_arrival(NOW - ms(delay));
            q.enqueue(packet, NOW, &mut obs);
        }
        while q.queues.packets(QueueId::CLASSIC) > 0 {
            q.dequeue(NOW, &mut obs);
        }
        let q_c = q.law.average.get() >> FRACTION;
        assert_eq!(Time::from_nanos(q_c), ms(expected_ms), "{input}");
    }
}

#[test]
fn overload_drops_from_where_l4s_is_always_marked() {
    // p_CL = 1 and p_C = 1/k² = 0.25 at range_L: 250 ms above minTh.
    const N: usize = 20_000;
    let near = |count: usize, p: f64| {
        // Four standard deviations.
        let error = 4.0 * (p * (1.0 - p) * N as f64).sqrt();
        (count as f64 - p * N as f64).abs() <= error
    };
    for (delay, saturated, overflow) in
        [(240, false, false), (400, true, false), (400, false, true)]
    {
        let given = [
            ("overflow", if overflow { "true" } else { "false" }),
            ("input", "classic"),
        ];
        let root = (delay as f64 - 0.5) / 500.0;
        let p_c = (if overflow { root.min(0.5) } else { root }).powi(2);
        let mut q = settled(&given, ms(delay));
        let mut obs = Count::default();
        for _ in 0..N {
            one(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        }
        let dropped = obs.drops(QueueId::L4S, DropReason::Overload);
        assert!(
            near(dropped, if saturated { p_c } else { 0.0 }),
            "L {delay}: {dropped}"
        );
        if saturated {
            let marked = obs.marks(QueueId::L4S, MarkReason::Overload);
            assert_eq!(marked + dropped, N, "what is not dropped is marked");
        }
        let mut obs = Count::default();
        for _ in 0..N {
            one(&mut q, Ecn::Ect0, ms(delay), &mut obs);
        }
        let dropped = obs.drops(QueueId::CLASSIC, DropReason::Overload);
        let marked = obs.marks(QueueId::CLASSIC, MarkReason::Aqm);
        assert!(near(dropped + marked, p_c), "C {delay}: {dropped} {marked}");
        assert_eq!((dropped > 0, marked > 0), (saturated, !saturated));
        let mut obs = Count::default();
        for _ in 0..N {
            one(&mut q, Ecn::NotEct, ms(delay), &mut obs);
        }
        let dropped = obs.drops(QueueId::CLASSIC, DropReason::Aqm);
        assert!(near(dropped, p_c), "Not-ECT {delay}: {dropped} {p_c}");
    }
}

#[test]
fn the_asymmetric_filter_forgets_at_once() {
    let mut q = settled(&[("asymmetric", "true"), ("input", "classic")], ms(200));
    let mut obs = Count::default();
    for _ in 0..1_000 {
        one(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
    }
    assert_eq!(obs.marks.len(), 0, "no Classic packet waits");
    one(&mut q, Ecn::NotEct, ms(1), &mut obs);
    assert!(
        q.law.average.get() >> FRACTION > 190_000_000,
        "and the average remembers"
    );
}

#[test]
fn the_native_threshold_is_that_of_the_packet() {
    for (given, delay_us, marked) in [
        (&[][..], 1_000, 0),
        (&[], 1_001, 1),
        (&[("threshold", "0p")], 0, 1),
        (&[("threshold", "1p")], 9_000, 0),
    ] {
        let mut q = dualq(given);
        let mut obs = Count::default();
        one(&mut q, Ecn::Ect1, Time::from_micros(delay_us), &mut obs);
        assert_eq!(
            obs.marks(QueueId::L4S, MarkReason::Step),
            marked,
            "{given:?} {delay_us}"
        );
    }
}

#[test]
fn the_buffer_is_shared_and_has_room_for_an_mtu() {
    // 250 ms at 12 Mbit/s: 375 kB.
    let mut q = dualq(&[]);
    let mut obs = Count::default();
    for n in 0..600 {
        let ecn = if n % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 };
        q.enqueue(TestPacket::new(n, 1_000, ecn), Time::ZERO, &mut obs);
    }
    // 374 packets: with one more than 373 500 B there is no room for 1500.
    assert_eq!(q.backlog().bytes, Bytes::new(374_000));
    assert_eq!(obs.drops.len(), 600 - 374);
    q.set_rate(Rate::from_mbps(6), Time::ZERO, &mut obs);
    assert_eq!(
        q.limit,
        QueueLimit::Bytes(Bytes::new(375_000)),
        "of the highest rate"
    );
    q.set_rate(Rate::from_mbps(24), Time::ZERO, &mut obs);
    assert_eq!(q.limit, QueueLimit::Bytes(Bytes::new(750_000)));
}

#[test]
fn nothing_overflows() {
    for arithmetic in ["exact", "integer"] {
        let range: String = ms(4_000).to_string();
        let given = [
            ("arithmetic", arithmetic),
            ("range_c", &*range),
            ("coupling_exponent", "8"),
            ("g_c", "20"),
            ("u", "4"),
        ];
        let mut q = dualq(&given);
        let mut obs = Count::default();
        (0..10_000).for_each(|_| q.law.average.update(Time::MAX));
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            q.enqueue(TestPacket::new(0, 1_500, ecn), Time::ZERO, &mut obs);
        }
        q.configure("g_c", "0", Time::MAX, &mut obs).unwrap();
        while q.dequeue(Time::MAX, &mut obs).is_some() {}
        q.configure("g_c", "20", Time::MAX, &mut obs).unwrap();
        q.status(Time::MAX, &mut |_, _| ());
    }
}

#[test]
fn an_idle_queue_is_small() {
    // The module's head says so.
    assert_eq!(core::mem::size_of::<DualQCurvyRed<TestPacket>>(), 448);
}
