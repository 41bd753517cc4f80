//! What every marker promises, through the public interface.
//!
//! `requirement` holds each to the marker requirement, `bursts` to what sets it apart, `flows` to bounded memory, `sensitivity` each of its
//! parameters to an effect, `laws` all to determinism and to surviving anything; `remarking` is the passage between networks.
#![allow(missing_docs, clippy::unwrap_used)]

mod bursts;
mod flows;
mod laws;
mod remarking;
mod requirement;
mod sensitivity;

use quell_aqm::marker::{self, Marker};
use quell_aqm::value::{CodeScale, CurvePoint};
use quell_aqm::{Bytes, Ecn, Packet, Random, Rate, Settings, Time, ValueFunction};

/// A packet that nobody queues.
#[derive(Debug, Clone)]
struct Sent {
    len: u64,
    flow: u64,
    value: u16,
}

impl Packet for Sent {
    fn len(&self) -> Bytes {
        Bytes::new(self.len)
    }
    fn memory(&self) -> Bytes {
        Bytes::new(self.len)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn flow(&self) -> u64 {
        self.flow
    }
    fn value(&self) -> u16 {
        self.value
    }
    fn set_value(&mut self, value: u16) {
        self.value = value;
    }
    fn arrival(&self) -> Time {
        Time::ZERO
    }
    fn set_arrival(&mut self, _at: Time) {}
}

/// Parameters and their values.
type Given<'a> = &'a [(&'a str, &'a str)];

fn settings(kind: &str, given: Given<'_>) -> Settings {
    let mut settings = Settings::new(marker::find(kind).unwrap().parameters);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    settings
}

fn marker(kind: &str, given: Given<'_>, function: &ValueFunction) -> Marker {
    let functions = std::slice::from_ref(function);
    let random = Random::new(1, "marker");
    Marker::new(kind, &settings(kind, given), functions, random).unwrap()
}

fn function(name: &str) -> ValueFunction {
    ValueFunction::named(name, CodeScale::default()).unwrap()
}

/// A plateau for the first 20 Mbit/s, strictly above what comes behind it.
fn guaranteed() -> ValueFunction {
    let point = |mbps, value| CurvePoint {
        rate: Rate::from_mbps(mbps),
        value,
    };
    let points = [
        point(1, 1_000_000),
        point(20, 50_000),
        point(20, 500),
        point(200, 20),
    ];
    let settings = Settings::new(
        quell_aqm::value::function::find("piecewise")
            .unwrap()
            .parameters,
    );
    ValueFunction::new("piecewise", &settings, &points, CodeScale::default()).unwrap()
}

/// The value that a marker gives a packet.
fn mark(marker: &mut Marker, flow: u64, len: u64, now: Time) -> u16 {
    let mut packet = Sent {
        len,
        flow,
        value: 0,
    };
    marker.mark(&mut packet, now);
    assert_ne!(packet.value, 0, "a marked packet has a value");
    packet.value
}
