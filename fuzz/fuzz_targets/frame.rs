//! Frames as the link reads them: any bytes are a packet or go past the queue, and rewriting the ECN field or the packet value changes nothing else.

#![no_main]

use quell_link::frame::{self, Contents, IpPacket};
use quell_link::{ecn_field, value_field};
use quell_units::Ecn;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Contents::Ip(packet) = frame::parse(bytes) else {
        return;
    };
    let start = usize::from(packet.offset);
    let before = &bytes[start..][..usize::from(packet.len)];
    for ecn in [Ecn::Ce, Ecn::Ect1, Ecn::NotEct] {
        let mut changed = bytes.to_vec();
        ecn_field::set(&mut changed[start..], ecn);
        let expected = IpPacket { ecn, ..packet };
        assert_eq!(frame::parse(&changed), Contents::Ip(expected));
        check_checksum(before, &changed[start..][..before.len()]);

        ecn_field::set(&mut changed[start..], packet.ecn);
        assert_eq!(
            with_canonical_checksum(&changed, start),
            with_canonical_checksum(bytes, start)
        );
    }

    let carried = value_field::get(&bytes[start..]);
    for value in [0, 1, 0x8000, !carried.unwrap_or(0), u16::MAX] {
        let mut changed = bytes.to_vec();
        assert_eq!(
            value_field::set(&mut changed[start..], value),
            carried.is_some()
        );
        if carried.is_none() {
            assert_eq!(changed, bytes, "what carries no value is left alone");
            continue;
        }
        assert_eq!(value_field::get(&changed[start..]), Some(value));
        // Neither length nor flow nor ECN field: the queue sees the same packet.
        assert_eq!(frame::parse(&changed), Contents::Ip(packet));
        check_checksum(before, &changed[start..][..before.len()]);
        value_field::set(&mut changed[start..], carried.unwrap_or(0));
        assert_eq!(
            with_canonical_checksum(&changed, start),
            with_canonical_checksum(bytes, start)
        );
    }
});

/// A right header checksum stays right, a wrong one wrong.
fn check_checksum(before: &[u8], after: &[u8]) {
    if before[0] >> 4 != 4 {
        return;
    }
    assert_eq!(
        is_valid(after),
        is_valid(before),
        "a wrong checksum stays wrong"
    );
    if stored(before) == computed(before) {
        assert_eq!(stored(after), computed(after));
    }
}

/// The header of an IPv4 packet, with its options.
fn header(packet: &[u8]) -> &[u8] {
    &packet[..usize::from(packet[0] & 15) * 4]
}

/// The ones' complement sum of the header, with its checksum (RFC 1071).
fn sum(header: &[u8]) -> u16 {
    let words = header.as_chunks::<2>().0.iter();
    let mut sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What a receiver checks.
fn is_valid(packet: &[u8]) -> bool {
    sum(header(packet)) == 0xffff
}

fn stored(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[10], packet[11]])
}

/// The checksum from nothing but the rest of the header.
fn computed(packet: &[u8]) -> u16 {
    let mut header = header(packet).to_vec();
    header[10..12].fill(0);
    !sum(&header)
}

/// 0x0000 and 0xffff are one number in ones' complement, and the way there and back may swap them.
fn with_canonical_checksum(bytes: &[u8], start: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let packet = &mut bytes[start..];
    if packet[0] >> 4 == 4 && packet[10..12] == [0xff, 0xff] {
        packet[10..12].fill(0);
    }
    bytes
}
