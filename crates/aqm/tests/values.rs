//! Resource nodes of Per Packet Value without congestion control: flows of constant rate, marked exactly, share by their functions.
//!
//! The oracle is the framework's own: with a threshold c the flow f keeps min(R_f, v_f⁻¹(c)), and the threshold of a link of rate C
//! is where these add up to C. Values are drawn here, v(r) of a rate r below that of the flow, and not by a marker, so that only
//! the node is judged.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::{
    Bottleneck, Drop, DropReason, Ecn, Observer, Packet, QueueId, Random, Rate, Time,
    ValueFunction, value::CodeScale,
};

/// Mbit/s.
const LINK: f64 = 1_000.0;
const SECOND: u64 = 1_000_000_000;

/// What was sent of each flow, and how.
#[derive(Debug)]
struct Sent {
    from: Time,
    bits: Vec<u64>,
    /// Σ value · bytes.
    value: u128,
    packets: u64,
    delay: u128,
    longest: Time,
    refused: u64,
}

impl Observer<TestPacket> for Sent {
    fn dequeued(&mut self, _: QueueId, packet: &TestPacket, now: Time) {
        if now < self.from {
            return;
        }
        self.bits[packet.flow as usize] += 8 * packet.len;
        self.value += u128::from(packet.value) * u128::from(packet.len);
        self.packets += 1;
        self.delay += u128::from(packet.sojourn(now).as_nanos());
        self.longest = self.longest.max(packet.sojourn(now));
    }
    fn dropped(&mut self, _: TestPacket, drop: Drop, _: Time) {
        self.refused += u64::from(drop.reason == DropReason::Limit);
    }
}

/// A flow: Mbit/s, and the name of its function.
type Flow = (f64, &'static str);

#[derive(Debug)]
struct Reported {
    /// Mbit/s of each flow.
    goodput: Vec<f64>,
    value: u128,
    delay_ms: f64,
    longest_ms: f64,
    refused: u64,
}

/// `seconds` of the flows through 1 Gbit/s, of which all but the first `settling` count: packets of `lens` bytes, each as likely, with
/// gaps uniform from nothing to twice the mean.
fn share(
    kind: &str,
    given: &[(&str, &str)],
    flows: &[Flow],
    lens: &[u64],
    (settling, seconds): (u64, u64),
) -> Reported {
    let rate = Rate::from_mbps(LINK as u64);
    let from = Time::from_secs(settling);
    let sent = Sent {
        from,
        bits: vec![0; flows.len()],
        value: 0,
        packets: 0,
        delay: 0,
        longest: Time::ZERO,
        refused: 0,
    };
    let qdisc = discipline(kind, given, rate).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), sent);
    let function = |name| ValueFunction::named(name, CodeScale::default()).unwrap();
    let functions: Vec<_> = flows.iter().map(|&(_, name)| function(name)).collect();
    let mut random = Random::new(17, "load");
    let mut next: Vec<u64> = flows.iter().map(|_| random.below(100_000)).collect();
    let mut id = 0;
    loop {
        let (flow, &at) = next.iter().enumerate().min_by_key(|(_, at)| **at).unwrap();
        if at >= seconds * SECOND {
            break;
        }
        let len = lens[random.below(lens.len() as u64) as usize];
        let bps = (flows[flow].0 * 1e6) as u64;
        let mut packet = TestPacket::new(id, flow as u64, len, Ecn::NotEct);
        packet.value = functions[flow].code_at(Rate::from_bps(1 + random.below(bps)));
        link.arrive(packet, Time::from_nanos(at), &mut |_, _| ());
        id += 1;
        next[flow] += 1 + random.below(2 * 8 * len * SECOND / bps);
    }
    let sent = link.observer();
    let time = (seconds - settling) as f64;
    Reported {
        goodput: sent
            .bits
            .iter()
            .map(|&bits| bits as f64 / 1e6 / time)
            .collect(),
        value: sent.value,
        delay_ms: sent.delay as f64 / sent.packets as f64 / 1e6,
        longest_ms: sent.longest.as_nanos() as f64 / 1e6,
        refused: sent.refused,
    }
}

const SEVEN: &[Flow] = &[
    (800.0, "gold"),
    (400.0, "gold"),
    (400.0, "gold"),
    (200.0, "gold"),
    (100.0, "gold"),
    (50.0, "gold"),
    (50.0, "gold"),
];
const WEIGHTED: &[Flow] = &[
    (800.0, "gold"),
    (400.0, "silver"),
    (400.0, "gold"),
    (200.0, "gold"),
    (100.0, "gold"),
    (50.0, "gold"),
    (50.0, "background"),
];

/// Σ min(R_f, x / scale_f) = C for x, by bisection: what each gets. Silver is gold of 2x, background of 20x.
fn fair(flows: &[Flow]) -> Vec<f64> {
    let get = |x: f64| -> Vec<f64> {
        let scale = |name| match name {
            "silver" => 2.0,
            "background" => 20.0,
            _ => 1.0,
        };
        let min = |&(rate, name): &Flow| f64::min(rate, x / scale(name));
        flows.iter().map(min).collect()
    };
    let (mut low, mut high) = (0.0, LINK);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if get(middle).iter().sum::<f64>() > LINK {
            high = middle;
        } else {
            low = middle;
        }
    }
    get(low)
}

/// Each within `within` of its share, and nothing of the link unused.
fn assert_fair(kind: &str, given: &[(&str, &str)], time: (u64, u64), within: f64) -> (f64, f64) {
    let mut delays = (0.0, 0.0);
    for flows in [SEVEN, WEIGHTED] {
        for lens in [EQUAL, MIXED] {
            let reported = share(kind, given, flows, lens, time);
            let of = format!("{kind} {given:?} {} lengths: {reported:.1?}", lens.len());
            for (got, fair) in reported.goodput.iter().zip(fair(flows)) {
                assert!((got - fair).abs() < within * fair, "{fair} Mbit/s, {of}");
            }
            let all: f64 = reported.goodput.iter().sum();
            assert!((all - LINK).abs() < 0.0005 * LINK, "{all} Mbit/s, {of}");
            delays = (reported.delay_ms, reported.longest_ms);
        }
    }
    delays
}

const EQUAL: &[u64] = &[1_500];
const MIXED: &[u64] = &[1_500, 1_500, 600, 100];

/// The queue holds what is worth most. Where the fair rate is that of a flow itself (200 Mbit/s of the fourth), its lowest values are at the
/// threshold and go when it wavers: measured 1.1 % less than its share in bytes, 1.6 % in packets of mixed lengths, else 0.6 %.
#[test]
fn drop_minimum_value_gives_the_weighted_max_min_shares() {
    for form in ["ideal", "fifo"] {
        for limit in ["10ms", "800p"] {
            let given = [("form", form), ("limit", limit)];
            let (_, longest_ms) = assert_fair("drop_min_value", &given, (1, 11), 0.02);
            // 800 packets of 925 bytes on average; and the last bit of the packet in service.
            assert!(longest_ms < 10.02, "{longest_ms}");
        }
    }
}

/// The threshold is of what arrived, to a code of 1.1 %.
#[test]
fn pvpie_gives_the_weighted_max_min_shares_at_its_target() {
    // Measured: 0.4 % (the least flow of the weighted ones 1.2 %) with one level, 2.9 % (the fourth of seven) with two.
    for (levels, within) in [("1", 0.02), ("2", 0.04)] {
        // PIE's probability takes some seconds.
        let (delay_ms, _) = assert_fair("pvpie", &[("levels", levels)], (15, 35), within);
        // Measured: 19.98 to 20.03.
        assert!((delay_ms - 20.0).abs() < 0.5, "{delay_ms} ms");
    }
}

/// Where nothing has to go in part, because the limit is one of packets or all packets are of one length, the FIFO condemns the
/// packets that the ideal queue drops, and both send the same ones at the same times. Half of the values are the same two.
#[test]
fn the_fifo_form_sends_what_the_ideal_form_sends() {
    /// Who was sent when.
    #[derive(Debug, Default, PartialEq)]
    struct Log(Vec<(u64, Time)>);
    impl Observer<TestPacket> for Log {
        fn dequeued(&mut self, _: QueueId, packet: &TestPacket, now: Time) {
            self.0.push((packet.id, now));
        }
        fn dropped(&mut self, _: TestPacket, _: Drop, _: Time) {}
    }
    for (limit, lens) in [
        ("50p", MIXED),
        ("1p", MIXED),
        ("75kB", EQUAL),
        ("5ms", EQUAL),
    ] {
        let of = |form| {
            let rate = Rate::from_mbps(10);
            // Of bursts that come while the link stands still more is condemned than the default buffer holds.
            let mut given = vec![("limit", limit), ("form", form)];
            if form == "fifo" {
                given.push(("buffer", "1024"));
            }
            let qdisc = discipline("drop_min_value", &given, rate).unwrap();
            let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Log::default());
            let (mut random, mut now) = (Random::new(9, "load"), Time::ZERO);
            for id in 0..100_000 {
                now += Time::from_nanos(random.below(1_500_000));
                let len = lens[random.below(lens.len() as u64) as usize];
                let mut packet = TestPacket::new(id, 0, len, Ecn::NotEct);
                if random.below(2) == 0 {
                    packet.value = 500 + random.below(2) as u16;
                }
                link.arrive(packet, now, &mut |_, _| ());
                // Now and then it stands, and once the queue runs empty.
                if random.below(1_000) == 0 {
                    let rate = link.rate();
                    link.set_rate(Rate::ZERO, now, &mut |_, _| ());
                    for late in 0..400 {
                        let packet =
                            TestPacket::new((1 << 40) + id * 400 + late, 0, 1_500, Ecn::NotEct);
                        link.arrive(packet, now, &mut |_, _| ());
                    }
                    link.set_rate(rate, now, &mut |_, _| ());
                }
                if id == 50_000 {
                    now += Time::from_secs(5);
                }
            }
            link.into_observer()
        };
        let (ideal, fifo) = (of("ideal"), of("fifo"));
        assert!(ideal.0.len() > 50_000, "{limit}: {}", ideal.0.len());
        assert!(ideal == fifo, "{limit}");
    }
}

/// In bytes of mixed lengths a packet goes whole of which a part was condemned, and then there is room for another: not the same
/// packets, but worth the same. Measured over 4 s: from 1 in 100 000 less to 2 in 100 000 more.
#[test]
fn in_bytes_what_the_fifo_form_sends_is_worth_as_much() {
    for flows in [SEVEN, WEIGHTED] {
        for limit in ["1ms", "10ms", "100ms"] {
            let of = |form| {
                let given = [("form", form), ("limit", limit)];
                share("drop_min_value", &given, flows, MIXED, (1, 5))
            };
            let (ideal, fifo) = (of("ideal"), of("fifo"));
            let ratio = fifo.value as f64 / ideal.value as f64;
            assert!((ratio - 1.0).abs() < 1e-4, "{limit}: {ratio}");
            // The FIFO itself is never full.
            assert_eq!(fifo.refused, 0);
        }
    }
}
