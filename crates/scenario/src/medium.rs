//! `access = { … }`: how a link gets hold of its medium.

use quell_aqm::medium::Medium;
use quell_units::Time;
use quell_units::parameter::Domain as D;

use super::domain::{Domain, time};
use super::view::Keys as _;

keys! {
    impl Medium in Medium {
        /// The most packets that the link sends at one access.
        packets: u32 = { default: Is("64"), domain: Domain::Value(D::Integer(1, 1_024)), source: "IEEE 802.11-2020 A-MPDU", example: r#"access = { packets = 32 }"#, }
        /// How long one access lasts at most. A packet joins while a full-sized one would still fit; the first always does.
        time: Time = { default: Is("5.484ms"), domain: time(Time::from_nanos(1), Time::from_secs(1)), source: "IEEE 802.11-2020 aPPDUMaxTime", example: r#"access = { time = "2ms" }"#, }
        /// Fixed time before each access, and for what follows it: interframe space, preamble, acknowledgement.
        delay: Time = { default: Is("100us"), domain: time(Time::ZERO, Time::from_secs(1)), source: "ours", example: r#"access = { delay = "200us" }"#, }
        /// The longest random time before each access beside the fixed one, uniform from zero: 15 slots of 9 us on a quiet medium, more where others send.
        backoff: Time = { default: Is("135us"), domain: time(Time::ZERO, Time::from_secs(1)), source: "IEEE 802.11-2020 CWmin", example: r#"access = { backoff = "2ms" }"#, }
    }
}

/// On one line.
pub(super) fn write(medium: &Medium) -> String {
    let keys = medium.written().filter_map(|(key, value)| {
        let value = value?.toml;
        Some(format!("{} = {value}", key.name))
    });
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}
