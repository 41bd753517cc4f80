//! A marker in front of a link of 1 Gbit/s: packets of flows in turn.

use quell_aqm::marker::{self, Marker};
use quell_aqm::value::CodeScale;
use quell_aqm::{Packet, Random, Settings, Time, ValueFunction};

use super::BenchPacket;

/// A marker and what comes to it.
#[derive(Debug)]
pub struct Marking {
    marker: Marker,
    now: u64,
    frame: u64,
    flow: u64,
    flows: u64,
}

impl Marking {
    /// For the case of this name.
    pub fn of(name: &str) -> Self {
        let case = MARKINGS.iter().find(|case| case.0 == name);
        let (_, kind, given, flows) = case.expect("a case of this name");
        let mut settings = Settings::new(marker::find(kind).expect("a known kind").parameters);
        for (key, value) in *given {
            settings.set(key, value).expect("a known parameter");
        }
        let gold = ValueFunction::named("gold", CodeScale::default()).expect("a known function");
        let marker = Marker::new(kind, &settings, &[gold], Random::new(1, "marker"));
        let mut marking = Self {
            marker: marker.expect("valid settings"),
            now: 0,
            frame: 0,
            flow: 0,
            flows: *flows,
        };
        // Until the rates are known: two seconds.
        for _ in 0..166_667 {
            marking.step();
        }
        marking
    }

    /// One packet; its value.
    #[inline]
    pub fn step(&mut self) -> u16 {
        self.now += 12_000;
        self.frame = self.frame.wrapping_add(1);
        self.flow = if self.flow + 1 < self.flows {
            self.flow + 1
        } else {
            0
        };
        let now = Time::from_nanos(self.now);
        let mut packet = BenchPacket {
            arrival: now,
            flow: self.flow,
            frame: self.frame,
            bits: 1_500,
        };
        self.marker.mark(&mut packet, now);
        packet.value()
    }
}

/// Nanoseconds that the design allows a marker.
pub const BOUND: u32 = 30;

/// A name, the kind, its parameters, and how many flows take turns.
pub type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    u64,
);

#[rustfmt::skip] // One line for each.
pub const MARKINGS: &[Case] = &[
    ("random", "random", &[], 16),
    ("random_1000", "random", &[], 1_000),
    ("random_aggregate", "random", &[("per", "aggregate")], 16),
    ("token_bucket", "token_bucket", &[], 16),
    ("token_bucket_30", "token_bucket", &[("steps", "30")], 16),
    ("fast_adapting", "fast_adapting", &[], 16),
    ("table", "table", &[], 16),
    ("multi_timescale", "multi_timescale", &[], 16),
];
