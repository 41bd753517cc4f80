//! Segments as Ethernet frames of IPv4: RFC 9293 section 3.1, RFC 7323, 2018, 9768.
//!
//! Numbers in a [`Segment`] count from the first byte of the stream; on the wire they count from the initial sequence numbers of both ends,
//! of which that of the end under test is known when its SYN has left.

use std::net::Ipv4Addr;

use quell_tcp::{AccEcnOption, Flags, Order, Sack, Segment};
use quell_units::{Ecn, Time};

use crate::script::{MSS, WINDOW_SCALE};

/// Address of the end under test, and its port where it is connected to.
pub(crate) const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
/// Address of the script's end.
pub(crate) const REMOTE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// The port of both.
pub(crate) const PORT: u16 = 4_000;
/// Ethernet addresses of both.
pub(crate) const LOCAL_MAC: [u8; 6] = [0x02, 0x78, 0, 0, 0, 1];
pub(crate) const REMOTE_MAC: [u8; 6] = [0x02, 0x78, 0, 0, 0, 2];

/// Initial sequence number of the script's end.
const REMOTE_ISN: u32 = 0x4000_0000;

const ETHERNET: usize = 14;
const IP: usize = 20;
const TCP: usize = 20;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_TCP: u8 = 6;

const NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;
/// Bytes of the timestamps with their padding, which an MSS does not count.
pub(crate) const TIMESTAMPS: u32 = 12;

/// The bits of a TCP header's bytes 12 and 13, and what they are in a segment.
const FLAGS: [(u16, u16); 8] = [
    (0x001, Flags::FIN),
    (0x002, Flags::SYN),
    (0x004, Flags::RST),
    (0x008, Flags::PSH),
    (0x010, Flags::ACK),
    (0x040, Flags::ECE),
    (0x080, Flags::CWR),
    (0x100, Flags::AE),
];

/// What both ends have said of themselves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers {
    /// Initial sequence number of the end under test.
    local: Option<u32>,
    /// Bits by which it scales its window.
    scale: u8,
}

/// A segment that left, with its own timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) segment: Segment,
    pub(crate) timestamp: u32,
}

impl Numbers {
    /// The frame of a segment that arrives; `timestamps` are its own and the one that it echoes.
    pub(crate) fn encode(&self, segment: &Segment, timestamps: Option<(u32, u32)>) -> Vec<u8> {
        let is_syn = segment.flags.has(Flags::SYN);
        let options = options(segment, timestamps, |byte| self.to_local(byte));
        let header = TCP + options.len();
        let length = IP + header + segment.payload as usize;
        let mut frame = [&LOCAL_MAC[..], &REMOTE_MAC, &ETHERTYPE_IPV4].concat();

        let mut ip = vec![0x45, segment.ecn as u8];
        ip.extend((length as u16).to_be_bytes());
        // Never in fragments; the checksum follows.
        ip.extend([0, 0, 0x40, 0, 64, PROTOCOL_TCP, 0, 0]);
        ip.extend(REMOTE.octets());
        ip.extend(LOCAL.octets());
        let sum = checksum(&ip, 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ip);

        let mut flags = 0;
        for (bit, flag) in FLAGS {
            flags |= if segment.flags.has(flag) { bit } else { 0 };
        }
        let sequence = if is_syn {
            REMOTE_ISN
        } else {
            first(REMOTE_ISN).wrapping_add(segment.sequence as u32)
        };
        let has_ack = segment.flags.has(Flags::ACK);
        let acknowledgement = if has_ack {
            self.to_local(segment.acknowledgement)
        } else {
            0
        };
        let window = if is_syn {
            segment.window
        } else {
            segment.window >> WINDOW_SCALE
        };
        let mut tcp = [PORT.to_be_bytes(), PORT.to_be_bytes()].concat();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend(acknowledgement.to_be_bytes());
        tcp.extend(((header as u16 / 4) << 12 | flags).to_be_bytes());
        tcp.extend((window.min(65_535) as u16).to_be_bytes());
        // The checksum, and no urgent pointer.
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(header + segment.payload as usize, 0);
        let pseudo = [
            &REMOTE.octets()[..],
            &LOCAL.octets(),
            &[0, PROTOCOL_TCP],
            &(tcp.len() as u16).to_be_bytes(),
        ];
        let sum = checksum(&tcp, sum_of(&pseudo.concat()));
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        frame.extend(tcp);
        frame
    }
    fn to_local(self, byte: u64) -> u32 {
        self.local.map_or(0, first).wrapping_add(byte as u32)
    }

    /// The segment of a frame that left; `None` if it is none of TCP.
    pub(crate) fn decode(&mut self, frame: &[u8]) -> Option<Decoded> {
        let packet = frame.get(ETHERNET..)?;
        let is_tcp = frame.get(12..ETHERNET)? == ETHERTYPE_IPV4
            && packet.first()? == &0x45
            && packet.get(9)? == &PROTOCOL_TCP;
        let length = usize::from(u16::from_be_bytes(*packet.get(2..)?.first_chunk()?));
        let tcp = packet.get(IP..length).filter(|_| is_tcp)?;
        let word = |at: usize| Some(u32::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u16::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
        let bits = short(12)?;
        let header = usize::from(bits >> 12) * 4;
        let mut flags = 0;
        for (bit, flag) in FLAGS {
            flags |= if bits & bit > 0 { flag } else { 0 };
        }
        let flags = Flags(flags);
        let is_syn = flags.has(Flags::SYN);
        if is_syn {
            self.local = Some(word(4)?);
        }
        let since =
            |number: u32, isn: u32| i64::from(number.wrapping_sub(first(isn)) as i32) as u64;
        let mut segment = Segment {
            sequence: if is_syn {
                0
            } else {
                since(word(4)?, self.local?)
            },
            acknowledgement: if flags.has(Flags::ACK) {
                since(word(8)?, REMOTE_ISN)
            } else {
                0
            },
            payload: tcp.len().checked_sub(header)? as u32,
            window: u32::from(short(14)?) << if is_syn { 0 } else { self.scale },
            ecn: Ecn::from_bits(packet[1]),
            flags,
            ..Segment::default()
        };
        let mut timestamp = 0;
        let mut rest = tcp.get(TCP..header)?;
        while let Some((&kind, behind)) = rest.split_first() {
            let length = match kind {
                0 => break,
                NOP => 1,
                _ => usize::from(*behind.first()?).max(2),
            };
            let value = rest.get(2..length).unwrap_or_default();
            match kind {
                OPTION_WINDOW_SCALE => self.scale = *value.first()?,
                OPTION_TIMESTAMPS => timestamp = u32::from_be_bytes(*value.first_chunk()?),
                OPTION_SACK => {
                    for block in value.as_chunks::<8>().0 {
                        let [start, end] = [0, 4].map(|at| {
                            u32::from_be_bytes([
                                block[at],
                                block[at + 1],
                                block[at + 2],
                                block[at + 3],
                            ])
                        });
                        let block = Sack {
                            start: since(start, REMOTE_ISN),
                            end: since(end, REMOTE_ISN),
                        };
                        segment.sacks.push(segment.acknowledgement, block);
                    }
                }
                172 | 174 => segment.accecn = counters(kind, value),
                _ => {}
            }
            rest = rest.get(length..)?;
        }
        Some(Decoded { segment, timestamp })
    }
}

/// Of the first byte behind a SYN.
fn first(isn: u32) -> u32 {
    isn.wrapping_add(1)
}

fn counters(kind: u8, value: &[u8]) -> AccEcnOption {
    let order = if kind == Order::Zero.kind() {
        Order::Zero
    } else {
        Order::One
    };
    let fields = value.as_chunks::<3>().0.iter();
    let counters: Vec<u64> = fields
        .map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]).into())
        .collect();
    AccEcnOption::new(order, &counters)
}

fn options(
    segment: &Segment,
    timestamps: Option<(u32, u32)>,
    number: impl Fn(u64) -> u32,
) -> Vec<u8> {
    let mut options = Vec::new();
    if segment.flags.has(Flags::SYN) {
        let mss = MSS + timestamps.map_or(0, |_| TIMESTAMPS);
        options.extend([OPTION_MSS, 4]);
        options.extend((mss as u16).to_be_bytes());
        options.extend([NOP, NOP, OPTION_SACK_PERMITTED, 2]);
        options.extend([NOP, OPTION_WINDOW_SCALE, 3, WINDOW_SCALE]);
    }
    if let Some((own, echo)) = timestamps {
        options.extend([NOP, NOP, OPTION_TIMESTAMPS, 10]);
        options.extend(own.to_be_bytes());
        options.extend(echo.to_be_bytes());
    }
    if !segment.sacks.is_empty() {
        options.extend([NOP, NOP, OPTION_SACK, 2 + 8 * segment.sacks.len() as u8]);
        for block in segment.sack_blocks() {
            options.extend(number(block.start).to_be_bytes());
            options.extend(number(block.end).to_be_bytes());
        }
    }
    if let Some(order) = segment.accecn.order() {
        options.extend([order.kind(), segment.accecn.length() as u8]);
        for (_, count) in segment.accecn.counters() {
            options.extend(&count.to_be_bytes()[1..]);
        }
    }
    options.resize(options.len().next_multiple_of(4), NOP);
    options
}

/// The sum of 16-bit words (RFC 1071).
fn sum_of(bytes: &[u8]) -> u32 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    words.sum()
}

/// Internet checksum (RFC 1071) of `bytes`, and of words whose sum is `other`.
fn checksum(bytes: &[u8], other: u32) -> u16 {
    let mut sum = sum_of(bytes) + other;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A timestamp of the script's end: milliseconds, never zero.
pub(crate) fn timestamp(now: Time) -> u32 {
    1 + (now.as_nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_its_segment_says() {
        let mut numbers = Numbers::default();
        let syn = Segment {
            flags: Flags(Flags::SYN | Flags::ECE | Flags::CWR),
            window: 60_000,
            ..Segment::default()
        };
        // Both ends count from the same number here, so what was encoded can be decoded.
        let decoded = numbers.decode(&numbers.encode(&syn, Some((7, 0)))).unwrap();
        assert_eq!(
            decoded,
            Decoded {
                segment: syn,
                timestamp: 7
            }
        );
        let mut data = Segment {
            sequence: 5_000,
            acknowledgement: 9_000,
            window: 80_000,
            payload: 1_000,
            flags: Flags(Flags::ACK | Flags::PSH | Flags::AE),
            ecn: Ecn::Ect1,
            accecn: AccEcnOption::new(Order::One, &[1, 1_001, 3]),
            ..Segment::default()
        };
        data.sacks.push(
            9_000,
            Sack {
                start: 2_000,
                end: 3_000,
            },
        );
        for timestamps in [None, Some((9, 8))] {
            let frame = numbers.encode(&data, timestamps);
            let decoded = numbers.decode(&frame).unwrap();
            assert_eq!(
                decoded,
                Decoded {
                    segment: data,
                    timestamp: timestamps.map_or(0, |(own, _)| own)
                }
            );
        }
    }

    /// RFC 1071 section 2: a checksum over what it is part of is zero.
    #[test]
    fn checksums_are_right() {
        let segment = Segment {
            payload: 333,
            flags: Flags(Flags::ACK),
            ..Segment::default()
        };
        let frame = Numbers::default().encode(&segment, Some((1, 2)));
        assert_eq!(checksum(&frame[ETHERNET..ETHERNET + IP], 0), 0);
        let tcp = &frame[ETHERNET + IP..];
        let pseudo = [
            &frame[26..34],
            &[0, PROTOCOL_TCP],
            &(tcp.len() as u16).to_be_bytes(),
        ]
        .concat();
        assert_eq!(checksum(tcp, sum_of(&pseudo)), 0);
    }

    #[test]
    fn what_is_no_tcp_is_no_segment() {
        let whole = Numbers::default().encode(
            &Segment {
                flags: Flags(Flags::SYN),
                ..Segment::default()
            },
            Some((1, 0)),
        );
        for cut in 0..whole.len() {
            assert_eq!(Numbers::default().decode(&whole[..cut]), None, "{cut}");
        }
        let mut arp = whole;
        arp[13] = 6;
        assert_eq!(Numbers::default().decode(&arp), None);
    }
}
