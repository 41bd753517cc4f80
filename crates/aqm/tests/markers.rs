//! What every marker promises, through the public interface: the marker requirement, monotony, bounds.
#![allow(missing_docs)]

use quell_aqm::marker::{self, Marker};
use quell_aqm::value::CodeScale;
use quell_aqm::{Bytes, Ecn, Packet, Random, Rate, Settings, Time, ValueFunction};

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

fn marker(kind: &str, given: &[(&str, &str)], functions: &[ValueFunction]) -> Marker {
    let mut settings = Settings::new(marker::find(kind).expect("a kind").parameters);
    for (key, value) in given {
        settings.set(key, value).expect("a parameter");
    }
    Marker::new(kind, &settings, functions, Random::new(1, "marker")).expect("settings")
}

#[test]
fn what_survives_a_threshold_has_the_rate_of_the_function() {
    let gold = ValueFunction::named("gold", CodeScale::default()).unwrap();
    let mut random = marker("random", &[], std::slice::from_ref(&gold));
    // 100 Mbit/s for 10 s after 1 s.
    let mut codes = Vec::new();
    for n in 0..91_667_u64 {
        let now = Time::from_nanos(n * 120_000);
        let mut packet = Sent {
            len: 1_500,
            flow: 7,
            value: 0,
        };
        random.mark(&mut packet, now);
        if n >= 8_333 {
            codes.push(packet.value());
        }
    }
    for mbps in [10, 50, 90] {
        let threshold = gold.code_at(Rate::from_mbps(mbps));
        let kept = codes.iter().filter(|&&code| code > threshold).count() as f64;
        let share = gold.rate_above(threshold).as_bps() as f64 / 100e6;
        let expected = share * codes.len() as f64;
        let sigma = (expected * (1.0 - share)).sqrt();
        assert!(
            (kept - expected).abs() < 3.0 * sigma,
            "{mbps}: {kept} of {expected}"
        );
    }
}
