//! VDQ-CSAQM and CSAQM in an open loop: sources of constant rate share a link by packet values, without congestion control.
//!
//! Seven sources, 800, 400, 400, 200, 100, 50 and 50 Mbit/s with jitter, none of them ECN-capable, into 1 Gbit/s. What must come
//! out is not ours to choose: a threshold c leaves each source min(R, v⁻¹(c)), so all get their weighted max-min share of C_v.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::marker::{self, Marker};
use quell_aqm::qdisc::Gauge;
use quell_aqm::value::{CodeScale, ValueFunction};
use quell_aqm::{Bottleneck, Departure, Drop, Ecn, Observer, Packet, Qdisc, QueueId};
use quell_aqm::{Random, Rate, Settings, Time};

/// Offered, in Mbit/s.
const OFFERED: [f64; 7] = [800.0, 400.0, 400.0, 200.0, 100.0, 50.0, 50.0];
/// 63/64 of 1 Gbit/s.
const SERVING_RATE: f64 = 984.375;
/// Bytes that each source got through from `from` on, and how long they waited.
#[derive(Debug, Default)]
struct Sums {
    from: Time,
    bytes: [u64; 7],
    packets: u64,
    delay: Time,
    longest_delay: Time,
}

impl Observer<TestPacket> for Sums {
    fn dequeued(&mut self, _queue: QueueId, packet: &TestPacket, now: Time) {
        if now >= self.from {
            self.bytes[packet.flow as usize] += packet.len;
            self.packets += 1;
            self.delay += packet.sojourn(now);
            self.longest_delay = self.longest_delay.max(packet.sojourn(now));
        }
    }
    fn dropped(&mut self, _packet: TestPacket, _drop: Drop, _now: Time) {}
}

/// Mbit/s of each source, and what the queue did meanwhile.
#[derive(Debug)]
struct Outcome {
    goodput: [f64; 7],
    thresholds: (i64, i64),
    mean_delay_ms: f64,
    longest_delay_ms: f64,
}

impl Outcome {
    fn total(&self) -> f64 {
        self.goodput.iter().sum()
    }
}

/// Who gives packets their values.
enum Marking {
    /// The random marker in front of the link, each source with its function.
    Random(Vec<Marker>),
    /// A rate drawn below the true one, x, and 1 + 64·log2(10 Gbit/s / x): what the model of the specification had.
    Exact(Random),
}

impl Marking {
    fn random(functions: [&str; 7]) -> Self {
        let codes = CodeScale::new(64);
        let settings = Settings::new(marker::find("random").unwrap().parameters);
        let markers = functions.iter().enumerate().map(|(source, name)| {
            let function = ValueFunction::named(name, codes).unwrap();
            let random = Random::new(source as u64, "marker");
            Marker::new("random", &settings, &[function], random).unwrap()
        });
        Self::Random(markers.collect())
    }
    fn mark(&mut self, packet: &mut TestPacket, now: Time) {
        let source = packet.flow as usize;
        match self {
            Self::Random(markers) => markers[source].mark(packet, now),
            Self::Exact(random) => {
                let part = (f64::from(random.u32()) + 1.0) / 4_294_967_296.0;
                let octaves = (10_000.0 / (OFFERED[source] * part)).log2();
                packet.value = (1.0 + 64.0 * octaves).round().clamp(1.0, 65_535.0) as u16;
            }
        }
    }
}

/// 20 s of which the last 18 count.
fn open_loop(kind: &str, given: &[(&str, &str)], mut marking: Marking) -> Outcome {
    let rate = Rate::from_mbps(1_000);
    let (from, until) = (Time::from_secs(2), Time::from_secs(20));
    let sums = Sums {
        from,
        ..Sums::default()
    };
    let qdisc = discipline(kind, given, rate).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), sums);
    let mut random = Random::new(5, "sources");
    // Packets of 1500 bytes, their gaps uniform between half and one and a half of the mean.
    let gaps = OFFERED.map(|offered| (12_000_000.0 / offered) as u64);
    let mut due = gaps.map(|gap| random.below(gap));
    let (mut id, mut sampled) = (0, Time::ZERO);
    let mut thresholds = (i64::MAX, 0);
    let mut sink = |_: TestPacket, _: Departure| ();
    loop {
        let source = (0..7).min_by_key(|&source| due[source]).unwrap();
        let now = Time::from_nanos(due[source]);
        if now >= until {
            break;
        }
        let mut packet = TestPacket::new(id, source as u64, 1_500, Ecn::NotEct);
        marking.mark(&mut packet, now);
        link.arrive(packet, now, &mut sink);
        id += 1;
        due[source] += gaps[source] / 2 + random.below(gaps[source]);
        if now >= from && now - sampled >= Time::from_millis(10) {
            sampled = now;
            link.qdisc().status(now, &mut |name, gauge| {
                if let ("ctv_1" | "ctv", Gauge::Count(threshold)) = (name, gauge) {
                    thresholds = (threshold.min(thresholds.0), threshold.max(thresholds.1));
                }
            });
        }
    }
    let sums = link.observer();
    let seconds = (until - from).as_nanos() as f64 / 1e9;
    Outcome {
        goodput: sums.bytes.map(|bytes| bytes as f64 * 8.0 / 1e6 / seconds),
        thresholds,
        mean_delay_ms: sums.delay.as_nanos() as f64 / 1e6 / sums.packets as f64,
        longest_delay_ms: sums.longest_delay.as_nanos() as f64 / 1e6,
    }
}

/// Σ min(R, x / scale) = C_v, solved for each source's share by bisection.
fn shares(scales: [f64; 7]) -> [f64; 7] {
    shares_of(scales, SERVING_RATE)
}

fn shares_of(scales: [f64; 7], capacity: f64) -> [f64; 7] {
    let at = |x: f64| -> [f64; 7] { core::array::from_fn(|i| OFFERED[i].min(x / scales[i])) };
    let (mut low, mut high) = (0.0, 10_000.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if at(middle).iter().sum::<f64>() < capacity {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(low)
}

fn print(name: &str, outcome: &Outcome) {
    print!("{name:24}");
    for goodput in outcome.goodput {
        print!("{goodput:7.1}");
    }
    println!(
        "{:9.2} {:5}..{:<5} {:6.2} / {:.2}",
        outcome.total(),
        outcome.thresholds.0,
        outcome.thresholds.1,
        outcome.mean_delay_ms,
        outcome.longest_delay_ms
    );
}

const VARIANTS: [&str; 5] = ["r", "q", "b", "b_smooth", "v"];

/// How far `goodput` is from `share`, as a part of it.
fn error(goodput: f64, share: f64) -> f64 {
    (goodput / share - 1.0).abs()
}

/// How far a source may be from its share, at these demands: what section 2.7 allows, and for b_smooth and v what they come to.
/// b swings, because its histogram lacks what it made to be dropped; what it gives the largest source is 25 % above.
fn bound(variant: &str) -> f64 {
    match variant {
        "r" | "q" => 0.02,
        "b" => 0.25,
        _ => 0.14,
    }
}

/// AT1: the random marker, every source gold.
#[test]
fn equal_values_give_max_min_shares_of_the_serving_rate() {
    let shares = shares([1.0; 7]);
    println!("gold                    Mbit/s of each source, total, CTV, queue mean / max ms");
    for variant in VARIANTS {
        let marking = Marking::random(["gold"; 7]);
        let outcome = open_loop("vdq_csaqm", &[("variant", variant)], marking);
        print(variant, &outcome);
        for (goodput, share) in outcome.goodput.into_iter().zip(shares) {
            assert!(error(goodput, share) < bound(variant), "{outcome:?}");
        }
        // No source gets less than one that asks for less, up to noise.
        let mut pairs = outcome.goodput.windows(2);
        assert!(pairs.all(|pair| pair[0] > 0.99 * pair[1]), "{outcome:?}");
        match variant {
            // Virtual drops of v are a little more than what has to go.
            "v" => {
                assert!((0.99 * SERVING_RATE..=SERVING_RATE * 1.0001).contains(&outcome.total()))
            }
            _ => assert!(error(outcome.total(), SERVING_RATE) < 0.002, "{outcome:?}"),
        }
    }
}

/// AT2: the second source is silver, v(x) = gold(2x).
#[test]
fn silver_gets_half_of_gold() {
    let shares = shares([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    println!("gold, the second silver");
    for variant in VARIANTS {
        let functions = ["gold", "silver", "gold", "gold", "gold", "gold", "gold"];
        let marking = Marking::random(functions);
        let outcome = open_loop("vdq_csaqm", &[("variant", variant)], marking);
        print(variant, &outcome);
        if matches!(variant, "r" | "q") {
            let [gold, silver, same_demand, ..] = outcome.goodput;
            assert!(error(gold, 2.0 * silver) < 0.03, "{outcome:?}");
            assert!(error(same_demand, 2.0 * silver) < 0.03, "{outcome:?}");
            for (goodput, share) in outcome.goodput.into_iter().zip(shares) {
                assert!(error(goodput, share) < 0.02, "{outcome:?}");
            }
        }
    }
}

/// Section 2.9 of the specification has a model's figures for the first four sources, with true rates and codes that begin at 10 Gbit/s.
/// The gap is that of another random stream and of its jitter, which is not published; b, which swings all the way, feels it most. b_smooth needs that scale: it moves by an eighth of the code,
/// so that a scale which begins higher makes it swing wider (above: 175 instead of 183 Mbit/s for the fourth source).
#[test]
fn it_comes_out_as_in_the_model_of_the_specification() {
    println!("exact rates, codes from 10 Gbit/s");
    for (variant, model, gap, thresholds) in [
        ("q", [196.4, 196.0, 196.2, 195.8], 0.005, 355..=373),
        ("b", [241.7, 193.1, 193.1, 156.5], 0.02, 0..=430),
        ("b_smooth", [200.5, 200.2, 200.4, 183.3], 0.01, 315..=400),
    ] {
        let marking = Marking::Exact(Random::new(9, "values"));
        let outcome = open_loop("vdq_csaqm", &[("variant", variant)], marking);
        print(variant, &outcome);
        for (goodput, model) in outcome.goodput.into_iter().zip(model) {
            assert!(error(goodput, model) < gap, "{outcome:?}");
        }
        let (low, high) = outcome.thresholds;
        assert!(
            thresholds.contains(&low) && thresholds.contains(&high),
            "{outcome:?}"
        );
    }
}

/// CSAQM on a virtual queue is the Classic part of VDQ-CSAQM, to the packet. On the queue itself the link is used whole; q holds the backlog at
/// 5 ms, half of which is dropped in no time when its turn comes, so that what is sent has waited for 2.5 ms.
#[test]
fn the_single_queue_shares_by_values_too() {
    println!("gold, csaqm: on a virtual queue, on the queue itself");
    let whole = shares_of([1.0; 7], 1_000.0);
    for variant in VARIANTS {
        let gold = || Marking::random(["gold"; 7]);
        let given = [("variant", variant), ("measure", "virtual")];
        let outcome = open_loop("csaqm", &given, gold());
        print(variant, &outcome);
        let classic = open_loop("vdq_csaqm", &[("variant", variant)], gold());
        assert_eq!(outcome.goodput, classic.goodput, "{variant}");

        let given = [("variant", variant), ("measure", "queue")];
        let outcome = open_loop("csaqm", &given, gold());
        print(variant, &outcome);
        assert!(error(outcome.total(), 1_000.0) < 0.0005, "{outcome:?}");
        for (goodput, share) in outcome.goodput.into_iter().zip(whole) {
            assert!(error(goodput, share) < bound(variant), "{outcome:?}");
        }
        if variant == "q" {
            assert!(error(outcome.mean_delay_ms, 2.5) < 0.02, "{outcome:?}");
        }
    }
}

/// Mbit/s of L4S and Classic, and the mean Classic delay in ms.
fn both_classes(given: &[(&str, &str)], l4s: u64) -> (f64, f64, f64) {
    #[derive(Debug, Default)]
    struct Classes {
        bytes: [u64; 2],
        delay: Time,
        packets: u64,
    }
    impl Observer<TestPacket> for Classes {
        fn dequeued(&mut self, queue: QueueId, packet: &TestPacket, now: Time) {
            if now >= Time::from_secs(5) {
                self.bytes[queue.index()] += packet.len;
                if queue == QueueId::CLASSIC {
                    self.delay += packet.sojourn(now);
                    self.packets += 1;
                }
            }
        }
        fn dropped(&mut self, _packet: TestPacket, _drop: Drop, _now: Time) {}
    }
    let rate = Rate::from_mbps(100);
    let qdisc = discipline("vdq_csaqm", given, rate).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Classes::default());
    let gold = |seed| {
        let settings = Settings::new(marker::find("random").unwrap().parameters);
        let function = ValueFunction::named("gold", CodeScale::new(64)).unwrap();
        Marker::new(
            "random",
            &settings,
            &[function],
            Random::new(seed, "marker"),
        )
        .unwrap()
    };
    let mut markers = [gold(1), gold(2)];
    let mut random = Random::new(3, "sources");
    // Packets of 1500 bytes; Classic offers 80 Mbit/s.
    let gaps = [12_000_000 / l4s, 150_000];
    let mut due = gaps.map(|gap| random.below(gap));
    for id in 0.. {
        let source = usize::from(due[1] < due[0]);
        let now = Time::from_nanos(due[source]);
        if now >= Time::from_secs(25) {
            break;
        }
        let ecn = [Ecn::Ect1, Ecn::NotEct][source];
        let mut packet = TestPacket::new(id, source as u64, 1_500, ecn);
        markers[source].mark(&mut packet, now);
        link.arrive(packet, now, &mut |_, _| ());
        due[source] += gaps[source] / 2 + random.below(gaps[source]);
    }
    let classes = link.observer();
    let [l4s, classic] = classes.bytes.map(|bytes| bytes as f64 * 8.0 / 20e6);
    let delay = classes.delay.as_nanos() as f64 / 1e6 / classes.packets.max(1) as f64;
    (l4s, classic, delay)
}

/// L4S that does not respond sends 60 of 100 Mbit/s, Classic 80: marked L4S uses the link, so that Classic gets what C_v leaves of it. If
/// marked packets leave the virtual queues (the mistake of AT11), these see too little: more than C_v is used, and Classic waits longer. Here
/// it is the delay of Classic itself that makes drops again; senders that respond to their marks go on until Classic starves.
#[test]
fn marked_packets_count_as_long_as_they_use_the_link() {
    let serving_rate = 98.4375;
    for variant in VARIANTS {
        let (l4s, classic, delay) = both_classes(&[("variant", variant)], 60);
        let given = [("variant", variant), ("remove_marked", "true")];
        let (ablated_l4s, ablated_classic, ablated_delay) = both_classes(&given, 60);
        println!(
            "{variant:9} L4S {l4s:.2} Classic {classic:.2} Mbit/s, {delay:.1} ms; without marked packets {ablated_l4s:.2} {ablated_classic:.2}, {ablated_delay:.1} ms"
        );
        // b_smooth swings so far at this mix that C_v is not used up.
        let least = if variant == "b_smooth" { 0.95 } else { 0.995 };
        let used = (l4s + classic) / serving_rate;
        assert!((least..1.001).contains(&used), "{variant}: {used}");
        let ablated = (ablated_l4s + ablated_classic) / serving_rate;
        assert!(ablated > 1.005, "{variant}: {ablated}");
        assert!(
            ablated_delay > 1.5 * delay,
            "{variant}: {delay} {ablated_delay}"
        );
    }
}

/// L4S that does not respond at 120 of 100 Mbit/s takes all of the link by strict priority; with the extension it gets its share by value.
#[test]
fn the_overload_extension_keeps_unresponsive_l4s_from_starving_classic() {
    let (l4s, classic, _) = both_classes(&[], 120);
    assert!(l4s > 99.0 && classic < 1.0, "{l4s} {classic}");
    for variant in VARIANTS {
        let given = [("variant", variant), ("drop_on_overload", "true")];
        let (l4s, classic, delay) = both_classes(&given, 120);
        println!(
            "{variant:10} L4S {l4s:.2} Classic {classic:.2} Mbit/s, Classic delay {delay:.1} ms"
        );
    }
}
