//! A discipline with a standing queue, one packet in and one out per step.

#[allow(dead_code, reason = "for the benchmarks of markers")]
pub mod marking;

use std::hint::black_box;

use quell_aqm::disciplines::{self, Discipline};
use quell_aqm::{Bytes, Drop, Ecn, Link, Observer, Packet, Qdisc, Random, Rate, Settings, Time};

/// The golden ratio, of 2⁶⁴.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// 32 bytes, as on a real link. The small fields share one word, so that filling a packet in and
/// moving it into the queue at once does not stall on stores narrower than the loads.
#[derive(Debug, Clone)]
pub struct BenchPacket {
    arrival: Time,
    flow: u64,
    frame: u64,
    /// Length in bits 0 to 15, ECN in bits 16 and 17, value in bits 32 to 47.
    bits: u64,
}

impl Packet for BenchPacket {
    fn len(&self) -> Bytes {
        Bytes::new(self.bits & 0xffff)
    }
    fn memory(&self) -> Bytes {
        Bytes::new(2_304)
    }
    fn ecn(&self) -> Ecn {
        Ecn::from_bits((self.bits >> 16) as u8)
    }
    fn mark_ce(&mut self) {
        self.bits |= 3 << 16;
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn value(&self) -> u16 {
        (self.bits >> 32) as u16
    }
    fn set_value(&mut self, value: u16) {
        self.bits = self.bits & !(0xffff << 32) | u64::from(value) << 32;
    }
    fn arrival(&self) -> Time {
        self.arrival
    }
    fn set_arrival(&mut self, at: Time) {
        self.arrival = at;
    }
}

/// Counts drops, so that nothing is optimised away.
#[derive(Debug, Default)]
pub struct Counter(pub u64);

impl Observer<BenchPacket> for Counter {
    fn dropped(&mut self, packet: BenchPacket, _drop: Drop, _now: Time) {
        self.0 += packet.frame;
    }
}

/// A discipline on a 1 Gbit/s link with a standing queue: 100 packets, or two of each flow where that is more.
#[derive(Debug)]
pub struct Standing {
    qdisc: Discipline<BenchPacket>,
    observer: Counter,
    now: Time,
    frame: u64,
    /// The flow of the next packet, and how many take turns.
    flow: u64,
    flows: u64,
    /// Packets that come for each that leaves.
    arrivals: u64,
    /// Bits of the packets' values.
    value_bits: u32,
}

impl Standing {
    /// For the case of this name.
    pub fn of(name: &str) -> Self {
        let case = CASES.iter().find(|case| case.0 == name);
        let (_, kind, given, _) = case.expect("a case of this name");
        let flows = FLOWS.iter().find(|flows| flows.0 == name);
        let value_bits = if WIDE.contains(&name) { 16 } else { 11 };
        let flows = flows.map_or(16, |flows| flows.1);
        let mut standing = Self::new(kind, given, flows, value_bits);
        if FULL.contains(&name) {
            standing.arrivals = 2;
        }
        standing
    }

    fn new(kind: &str, given: &[(&str, &str)], flows: u64, value_bits: u32) -> Self {
        let entry = disciplines::find(kind).expect("a known kind");
        let mut settings = Settings::new(entry.parameters);
        for (key, value) in given {
            settings.set(key, value).expect("a known parameter");
        }
        let link = Link {
            rate: Rate::from_mbps(1_000),
            mtu: Bytes::new(1_500),
        };
        let random = Random::new(1, "queue");
        let qdisc = Discipline::new(kind, settings, link, random).expect("valid settings");
        let mut standing = Self {
            qdisc,
            observer: Counter::default(),
            now: Time::ZERO,
            frame: 0,
            flow: 0,
            flows,
            arrivals: 1,
            value_bits,
        };
        for _ in 0..(2 * flows).max(100) {
            standing.enqueue();
        }
        standing
    }

    fn enqueue(&mut self) {
        self.frame = self.frame.wrapping_add(1);
        self.now = Time::from_nanos(self.now.as_nanos() + 12_000);
        self.flow = if self.flow + 1 < self.flows {
            self.flow + 1
        } else {
            0
        };
        let packet = BenchPacket {
            arrival: self.now,
            flow: self.flow,
            frame: self.frame,
            // All four code points in turn: half L4S, half Classic. One of 2 048 values, in no order.
            bits: 1_500
                | (self.frame & 3) << 16
                | self.frame.wrapping_mul(GOLDEN) >> (64 - self.value_bits) << 32,
        };
        self.qdisc.enqueue(packet, self.now, &mut self.observer);
    }

    /// One packet in, one out, the clock passed in (two in where the queue is [`FULL`]); updates when they are due. Returns something
    /// of the packet that left, as a link would look at it.
    #[inline]
    pub fn step(&mut self) -> u64 {
        for _ in 0..self.arrivals {
            self.enqueue();
        }
        if let Some(due) = self.qdisc.next_update()
            && due <= self.now
        {
            self.qdisc.update(due);
        }
        let packet = self.qdisc.dequeue(self.now, &mut self.observer);
        self.qdisc.transmitted(self.now);
        packet.map_or(0, |packet| packet.frame)
    }
}

/// What is measured: a name, the kind, its parameters, and the bound of the design in nanoseconds.
pub type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    u32,
);

/// The 100 packets that stand in the queue are 150 kB: between the thresholds, where RED has most to do; it
/// drops none of them, so that they go on standing.
const BETWEEN: &[(&str, &str)] = &[
    ("min", "50kB"),
    ("max", "500kB"),
    ("limit", "1MB"),
    ("ecn", "true"),
    ("nodrop", "true"),
];
const FLOYD: &[(&str, &str)] = &[
    ("form", "floyd"),
    ("min", "50kB"),
    ("max", "500kB"),
    ("limit", "1MB"),
    ("ecn", "true"),
    ("nodrop", "true"),
];

/// The standing queue waits about as long: above half of the target, so that PIE and its kin decide on
/// each packet instead of waving it through.
const AT_TARGET: &[(&str, &str)] = &[("target", "1ms")];
const AWAKE_AT_TARGET: &[(&str, &str)] =
    &[("form", "rfc8033"), ("on_off", "false"), ("target", "1ms")];

/// As [`AT_TARGET`], without the allowance that would spare the first packets.
const NO_BURST: &[(&str, &str)] = &[("target", "1ms"), ("max_burst", "0s")];
const NO_BURST_2: &[(&str, &str)] = &[("target", "1ms"), ("max_burst", "0s"), ("levels", "2")];

/// The load is that of the link: at C_v = C nothing is dropped, and the packets that stand in the queue go on standing. At the default
/// C_v the drops empty it.
const UNDROPPED: &[(&str, &str)] = &[("serving_rate_0", "1"), ("serving_rate_1", "1")];
const UNDROPPED_B: &[(&str, &str)] = &[
    ("serving_rate_0", "1"),
    ("serving_rate_1", "1"),
    ("variant", "b"),
];

pub const CASES: &[Case] = &[
    ("fifo", "fifo", &[("limit", "1000p")], 8),
    ("red_linux", "red", BETWEEN, 12),
    ("red_floyd", "red", FLOYD, 12),
    ("curvy_red", "curvy_red", &[], 15),
    ("dualpi2_linux", "dualpi2", &[], 25),
    ("dualpi2_rfc9332", "dualpi2", &[("form", "rfc9332")], 25),
    ("dualq_2015", "dualq_2015", &[], 25),
    ("dualq_2015_time", "dualq_2015", &[("unit", "time")], 25),
    ("dualq_curvy_red", "dualq_curvy_red", &[], 25),
    ("codel_linux", "codel", &[], 15),
    ("codel_rfc8289", "codel", &[("form", "rfc8289")], 15),
    ("cobalt", "cobalt", &[], 15),
    ("fq_codel_1", "fq_codel", &[], 40),
    ("fq_codel_100", "fq_codel", &[], 40),
    // 2 000 packets wait 24 ms.
    ("fq_codel_1000", "fq_codel", &[("target", "100ms")], 40),
    ("pie_linux", "pie", AT_TARGET, 15),
    ("pie_rfc8033", "pie", AWAKE_AT_TARGET, 15),
    ("gsp", "gsp", &[("interval", "1ms")], 15),
    ("gsp_adaptive", "gsp", &[("adaptive", "true")], 15),
    ("pi2", "pi2", AT_TARGET, 15),
    ("step", "step", &[("not_ect", "pass")], 15),
    ("fq_pie", "fq_pie", AT_TARGET, 40),
    ("vdq_csaqm", "vdq_csaqm", UNDROPPED, 60),
    ("vdq_csaqm_wide", "vdq_csaqm", UNDROPPED, 60),
    ("vdq_csaqm_b", "vdq_csaqm", UNDROPPED_B, 60),
    ("vdq_csaqm_signals", "vdq_csaqm", &[], 60),
    ("pvpie", "pvpie", NO_BURST, 40),
    ("pvpie_2", "pvpie", NO_BURST_2, 40),
    ("drop_min_value", "drop_min_value", &[], 40),
    ("drop_min_value_full", "drop_min_value", FULL_AT_100, 80),
    (
        "drop_min_value_fifo",
        "drop_min_value",
        &[("form", "fifo")],
        40,
    ),
    (
        "drop_min_value_fifo_full",
        "drop_min_value",
        &[("form", "fifo"), ("limit", "100p")],
        80,
    ),
];

const FULL_AT_100: &[(&str, &str)] = &[("limit", "100p")];

/// Queues that are always full: two packets come for each that leaves, and one of them or another is dropped.
const FULL: &[&str] = &["drop_min_value_full", "drop_min_value_fifo_full"];

/// How many flows take turns, where it is not 16.
const FLOWS: &[(&str, u64)] = &[
    ("fq_codel_1", 1),
    ("fq_codel_100", 100),
    ("fq_codel_1000", 1_000),
];

/// Whose packets have values of all 16 bits, where others have 2 048: more than 30 octaves of 64.
const WIDE: &[&str] = &["vdq_csaqm_wide"];

/// A VDQ-CSAQM on 1 Gbit/s in whose virtual queues so many packets wait, with values of all 16 bits.
#[derive(Debug)]
#[allow(dead_code, reason = "some benchmarks do without")]
pub struct Crowded {
    standing: Standing,
}

#[allow(dead_code, reason = "likewise")]
impl Crowded {
    /// A queue in `variant`, after the first update.
    pub fn new(variant: &str, packets: u64) -> Self {
        let given = [
            ("variant", variant),
            ("vq_limit", "10s"),
            ("limit_l4s", "1000000p"),
            ("limit_classic", "1000000p"),
            ("any_ect", "true"),
        ];
        let mut crowded = Self {
            standing: Standing::new("vdq_csaqm", &given, 16, 16),
        };
        crowded.arrive(packets);
        crowded.update();
        crowded.arrive(1_000);
        crowded
    }
    /// So many packets at once, and everything that waits leaves; the virtual queues keep what was not dropped.
    pub fn arrive(&mut self, packets: u64) {
        let now = self.standing.now;
        for _ in 0..packets {
            self.standing.enqueue();
            self.standing.now = now;
            let _ = black_box(
                self.standing
                    .qdisc
                    .dequeue(now, &mut self.standing.observer),
            );
        }
    }
    /// The periodic computation, at the present time: nothing is served meanwhile.
    #[inline(never)]
    pub fn update(&mut self) {
        self.standing.qdisc.update(self.standing.now);
    }
}
