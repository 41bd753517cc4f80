//! Golden vectors of the shifts, the coupling law by counting, and the traps of the slides.

use std::vec::Vec;

use super::*;
use crate::Qdisc as _;
use crate::ewma::{FRACTION, LARGEST};
use crate::observer::Drop;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Bytes;
use crate::units::Rate;

#[derive(Debug, Default)]
struct Count {
    marks: Vec<(QueueId, MarkReason)>,
    drops: usize,
}

impl Observer<TestPacket> for Count {
    fn marked(&mut self, queue: QueueId, _: &TestPacket, reason: MarkReason, _now: Time) {
        self.marks.push((queue, reason));
    }
    fn dropped(&mut self, _packet: TestPacket, drop: Drop, _now: Time) {
        assert_eq!(
            (drop.queue, drop.reason),
            (QueueId::CLASSIC, DropReason::Aqm)
        );
        self.drops += 1;
    }
}

fn dualq(given: &[(&str, &str)]) -> DualQ2015<TestPacket> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    settings.check().unwrap();
    let link = Link {
        rate: Rate::from_mbps(12),
        mtu: Bytes::new(1_500),
    };
    DualQ2015::new(settings, link, Random::new(1, "queue")).unwrap()
}

fn arrive(q: &mut DualQ2015<TestPacket>, ecn: Ecn, now: Time, obs: &mut Count) {
    let mut packet = TestPacket::new(0, 1_500, ecn);
    packet.set_arrival(now);
    q.enqueue(packet, now, obs);
}

fn curves(given: &[(&str, &str)]) -> Curves {
    dualq(given).law.curves
}

/// Lets Q_C settle at `q_c`.
fn settled(given: &[(&str, &str)], q_c: u64) -> Curves {
    let mut curves = curves(given);
    (0..5_000).for_each(|_| curves.smoothed.update(q_c));
    curves
}

#[test]
fn shifts_are_to_the_left_of_a_32_bit_random() {
    // (S, queue, value to be above R below 2³²): q · 2^S.
    for (s, q, value) in [
        (0, 1, 1),
        (22, 1, 4_194_304),
        (22, 1_023, 4_290_772_992),
        // 1024 packets at S_L = 22: certain.
        (22, 1_024, 1 << 32),
        (21, 2_048, 1 << 32),
        // 250 and 500 ms in ns: 0.931 of the RFC's certainty, because 2²⁸ ns are 268 ms.
        (4, 250_000_000, 4_000_000_000),
        (3, 500_000_000, 4_000_000_000),
        (3, 1 << 29, 1 << 32),
        (32, u64::MAX, u128::from(u64::MAX) << 32),
    ] {
        let s = std::format!("{s}");
        assert_eq!(curves(&[("s_l", &s)]).coupled(q), value, "S_L {s}, {q}");
        let classic = settled(&[("s_c", &s), ("f", "0")], q).classic();
        let most = u128::from(LARGEST) << s.parse::<u32>().unwrap();
        assert_eq!(classic, value.min(most), "S_C {s}, {q}");
    }
}

#[test]
fn k_is_the_l4s_slope_less_the_classic_one() {
    // Trap 1: k = S_L − S_C, and a larger S is steeper. p_L = 2^k·√p_C below saturation.
    for (s_l, s_c, k) in [("22", "21", 1), ("22", "22", 0), ("24", "20", 4)] {
        for q_c in [1, 5, 30, 100] {
            let curves = settled(&[("s_l", s_l), ("s_c", s_c)], q_c);
            let (coupled, classic) = (curves.coupled(q_c), curves.classic());
            // Q_C comes within 2⁻¹⁶ packets of q_C, from below.
            let difference = coupled - (classic << k);
            let rounding = 1_u128 << (curves.s_c + k - FRACTION);
            assert!(difference <= rounding, "{s_l} {s_c} {q_c}: {difference}");
        }
    }
    let (flat, steep) = (curves(&[("s_l", "21")]), curves(&[("s_l", "22")]));
    assert_eq!(steep.coupled(7), 2 * flat.coupled(7));
}

/// Marks of `n` L4S packets and drops of `n` Classic packets at a standing Classic queue of `q_c`.
fn counted(given: &[(&str, &str)], q_c: u64, n: u64) -> (f64, f64) {
    let mut q = dualq(given);
    let mut obs = Count::default();
    let now = Time::from_secs(1);
    for _ in 0..n + 1_000 {
        while q.queues.packets(QueueId::CLASSIC) < q_c {
            arrive(&mut q, Ecn::NotEct, now, &mut obs);
        }
        // The drop loop takes more than one at a time: each sees the queue as it is then.
        q.dequeue(now, &mut obs);
    }
    let mut obs = Count::default();
    let mut offered = 0;
    while offered < n {
        while q.queues.packets(QueueId::CLASSIC) < q_c {
            arrive(&mut q, Ecn::NotEct, now, &mut obs);
            offered += 1;
        }
        q.dequeue(now, &mut obs);
    }
    let dropped = obs.drops as f64 / n as f64;
    let mut obs = Count::default();
    while q.queues.packets(QueueId::CLASSIC) < q_c {
        arrive(&mut q, Ecn::NotEct, now, &mut obs);
    }
    for _ in 0..n {
        arrive(&mut q, Ecn::Ect1, now, &mut obs);
        q.dequeue(now, &mut obs);
    }
    assert!(
        obs.marks
            .iter()
            .all(|mark| *mark == (QueueId::L4S, MarkReason::Coupled))
    );
    (obs.marks.len() as f64 / n as f64, dropped)
}

#[test]
fn marks_and_drops_obey_the_square_law() {
    const N: u64 = 200_000;
    for (s_l, s_c, k, q_c) in [(24, 23, 1, 100), (24, 24, 0, 50), (25, 23, 2, 64)] {
        let (s_l, s_c) = (std::format!("{s_l}"), std::format!("{s_c}"));
        let given = [("s_l", &*s_l), ("s_c", &*s_c)];
        let (p_l, p_c) = counted(&given, q_c, N);
        let exact_l = q_c as f64 * 2_f64.powi(s_l.parse::<i32>().unwrap() - 32);
        let exact_c = (exact_l / f64::from(1 << k)).powi(2);
        // Four standard deviations of a binomial.
        let error = |p: f64| 4.0 * (p * (1.0 - p) / N as f64).sqrt();
        assert!(
            (p_l - exact_l).abs() < error(exact_l),
            "p_L {p_l} {exact_l}"
        );
        // A drop lets the next packet see one packet less: at most p_C / q_C of p_C, twice.
        let loop_bias = 2.0 * exact_c * exact_c / q_c as f64;
        assert!(
            (p_c - exact_c).abs() < error(exact_c) + loop_bias,
            "p_C {p_c} {exact_c}"
        );
    }
}

#[test]
fn twenty_percent_marks_and_four_percent_drops_are_k_of_zero() {
    // Trap 2: the screen of the demonstration. p_L = 0.2 at k = 0 gives 4 %, at k = 1 one.
    let root =
        |k: &str, q| settled(&[("s_l", "22"), ("s_c", k)], q).classic() as f64 / 2_f64.powi(32);
    let q = 205; // 0.2 · 1024 packets
    assert!((root("22", q).powi(2) - 0.04).abs() < 0.0002);
    assert!((root("21", q).powi(2) - 0.01).abs() < 0.0001);
}

#[test]
fn l4s_feels_the_classic_queue_at_once_and_classic_smoothed() {
    // Trap 4: a burst of 1024 Classic packets makes p_L 1 while Q_C has not moved.
    let mut q = dualq(&[("limit", "2000p"), ("s_l", "22"), ("s_c", "21")]);
    let mut obs = Count::default();
    for _ in 0..1_024 {
        arrive(&mut q, Ecn::NotEct, Time::ZERO, &mut obs);
    }
    for _ in 0..100 {
        arrive(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        q.dequeue(Time::ZERO, &mut obs);
    }
    assert_eq!(obs.marks.len(), 100);
    assert_eq!(q.law.curves.classic(), 0);
    // One Classic packet leaves: Q_C = 1024 / 2⁵, so √p_C = 32 / 2048.
    q.dequeue(Time::ZERO, &mut obs);
    assert_eq!(q.law.curves.classic(), 1 << 26);
    // And as soon as the Classic queue is empty, L4S feels nothing.
    while q.queues.packets(QueueId::CLASSIC) > 0 {
        q.dequeue(Time::ZERO, &mut obs);
    }
    assert!(q.law.curves.classic() > 0);
    let before = obs.marks.len();
    for _ in 0..1_000 {
        arrive(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        q.dequeue(Time::ZERO, &mut obs);
    }
    assert_eq!(obs.marks.len(), before);
}

#[test]
fn the_native_threshold_marks_above_it_without_classic_traffic() {
    for (given, reached, marked) in [
        (&[("threshold", "5p")][..], 5, 0),
        (&[("threshold", "5p")], 6, 1),
        (&[("threshold", "5p")], 9, 4),
        (&[("threshold", "0p")], 3, 3),
    ] {
        let mut q = dualq(given);
        let mut obs = Count::default();
        for _ in 0..reached {
            arrive(&mut q, Ecn::Ect0, Time::ZERO, &mut obs);
        }
        while q.dequeue(Time::ZERO, &mut obs).is_some() {}
        assert_eq!(
            obs.marks,
            std::vec![(QueueId::L4S, MarkReason::Step); marked]
        );
    }
    for (waited_us, marked) in [(1_000, 0), (1_001, 1)] {
        let mut q = dualq(&[("unit", "time")]);
        let mut obs = Count::default();
        arrive(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
        q.dequeue(Time::from_micros(waited_us), &mut obs);
        assert_eq!(obs.marks.len(), marked, "{waited_us}");
    }
}

#[test]
fn time_is_what_the_classic_head_has_waited() {
    let mut q = dualq(&[("unit", "time")]);
    let mut obs = Count::default();
    arrive(&mut q, Ecn::NotEct, Time::ZERO, &mut obs);
    // 2²⁸ ns at S_L = 4: certain.
    let now = Time::from_nanos(1 << 28);
    for _ in 0..100 {
        arrive(&mut q, Ecn::Ect1, now, &mut obs);
        q.dequeue(now, &mut obs);
    }
    assert_eq!(obs.marks.len(), 100);
    q.dequeue(now, &mut obs);
    assert_eq!(q.law.curves.classic(), 1 << (28 + 3 - 5));
}

#[test]
fn a_redirected_packet_is_marked_with_the_coupled_probability_in_the_classic_queue() {
    let mut q = dualq(&[
        ("protection", "docsis"),
        ("s_l", "22"),
        ("threshold", "2p"),
        ("limit", "5000p"),
    ]);
    let mut obs = Count::default();
    for _ in 0..2_000 {
        arrive(&mut q, Ecn::Ect1, Time::ZERO, &mut obs);
    }
    // At 12 Mbit/s two packets are 2 ms; the third is worth 3.072 ms at 3 ms, more than 2 · 4 ms².
    assert_eq!(q.queues.packets(QueueId::L4S), 2);
    while q.dequeue(Time::ZERO, &mut obs).is_some() {}
    let coupled = obs
        .marks
        .iter()
        .filter(|mark| **mark == (QueueId::CLASSIC, MarkReason::Coupled));
    // p_L falls from 1 at 1024 packets to 0: all of the first half, half of the second.
    let coupled = coupled.count();
    assert!((1_430..=1_540).contains(&coupled), "{coupled}");
    assert_eq!(obs.drops, 0, "DCTCP is not dropped for its own queue");
}

#[test]
fn nothing_overflows() {
    for unit in ["packets", "time"] {
        let mut q = dualq(&[("unit", unit), ("s_l", "32"), ("s_c", "32"), ("f", "20")]);
        let mut obs = Count::default();
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::NotEct] {
            arrive(&mut q, ecn, Time::ZERO, &mut obs);
        }
        (0..100_000).for_each(|_| q.law.curves.smoothed.update(u64::MAX));
        while q.dequeue(Time::MAX, &mut obs).is_some() {}
        q.configure("f", "0", Time::MAX, &mut obs).unwrap();
        q.configure("f", "20", Time::MAX, &mut obs).unwrap();
        q.law.curves.classic();
    }
}

#[test]
fn an_idle_queue_is_small() {
    // The module's head says so.
    assert_eq!(core::mem::size_of::<DualQ2015<TestPacket>>(), 416);
}
