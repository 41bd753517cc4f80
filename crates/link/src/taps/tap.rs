//! A tap: sees the IPv4 packets that arrive at an interface, with their receive stamps, and changes nothing.
//!
//! It is a packet socket (packet(7)) beside whatever else handles the frames, and reads only their headers. Two taps on one
//! machine have the same clock, so the difference of the two stamps is the time that a packet took between them; see
//! [`Crossing`](crate::Crossing). Frames with VLAN tags, IPv6 and frames that are not IP are ignored.

use std::io;
use std::os::fd::AsFd as _;

use quell_units::{Bytes, Ecn};

use crate::ports::{BATCH, Messages, Port};

/// Ethernet (14), the longest IPv4 header (60) and the first 8 bytes above it.
const HEADERS: usize = 82;
/// Buffer for arrivals between two looks, as the kernel counts it.
const BUFFER: Bytes = Bytes::new(32 << 20);

/// The fields of a packet that do not change in flight and that nearly no other packet shares: addresses, protocol,
/// identification (RFC 791: for fragments; Linux counts it up per socket, also in packets that may not be fragmented) and the
/// first eight bytes above IP (ports, and TCP's sequence number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity([u8; 20]);

#[cfg(test)]
impl Identity {
    /// One of 256, for tests.
    pub(crate) fn of(number: u8) -> Self {
        Self([number; 20])
    }
}

/// A packet that a tap saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The kernel's receive stamp: CLOCK_REALTIME, in nanoseconds.
    pub stamp: i64,
    /// Identity of the packet.
    pub identity: Identity,
    /// IP length in bytes.
    pub len: Bytes,
    /// The ECN field.
    pub ecn: Ecn,
    /// Source and destination port; `None` where there are none.
    pub ports: Option<(u16, u16)>,
}

/// A tap on one interface.
#[derive(Debug)]
pub struct Tap {
    port: Port,
    messages: Messages,
    slab: Vec<u8>,
}

impl Tap {
    /// Opens a tap on `interface` of the calling thread's network namespace. Needs CAP_NET_RAW there.
    pub fn open(interface: &str) -> io::Result<Self> {
        let port = Port::open(interface)?;
        port.set_buffer(BUFFER)?;
        Ok(Self {
            port,
            messages: Messages::new(),
            slab: vec![0; BATCH * HEADERS],
        })
    }

    /// Appends the packets that have arrived to `seen`.
    pub fn drain(&mut self, seen: &mut Vec<Seen>) -> io::Result<()> {
        loop {
            let places = (0..BATCH).map(|index| (index * HEADERS, HEADERS));
            let received =
                self.messages
                    .receive(self.port.as_fd(), &mut self.slab, &mut [], places);
            let received = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for index in 0..received {
                let (len, _) = self.messages.received(index);
                let auxiliary = self.messages.auxiliary(index);
                let start = index * HEADERS;
                let frame = &self.slab[start..start + len.min(HEADERS)];
                if let (Some(stamp), None) = (auxiliary.stamp, auxiliary.tag) {
                    seen.extend(parse(frame, stamp));
                }
            }
        }
    }

    /// Packets that the tap missed because the socket's buffer was full.
    pub fn missed(&mut self) -> io::Result<u64> {
        self.port.dropped()
    }
}

/// The packet in the first bytes of a frame.
fn parse(frame: &[u8], stamp: i64) -> Option<Seen> {
    let ip = match frame.split_at_checked(14)? {
        (ethernet, ip) if ethernet[12..] == [0x08, 0x00] => ip,
        _ => return None,
    };
    let first = ip.first_chunk::<20>()?;
    let header = usize::from(first[0] & 0x0f) * 4;
    if first[0] >> 4 != 4 || header < 20 {
        return None;
    }
    let mut identity = [0; 20];
    identity[..8].copy_from_slice(&first[12..]);
    identity[8..10].copy_from_slice(&first[4..6]);
    let above = ip.get(header..)?;
    let present = above.len().min(8);
    identity[10..10 + present].copy_from_slice(&above[..present]);
    identity[18] = first[9];
    let has_ports = matches!(first[9], 6 | 17) && present >= 4;
    Some(Seen {
        stamp,
        identity: Identity(identity),
        len: Bytes::new(u64::from(u16::from_be_bytes([first[2], first[3]]))),
        ecn: Ecn::from_bits(first[1]),
        ports: has_ports.then(|| {
            let port = |at| u16::from_be_bytes([above[at], above[at + 1]]);
            (port(0), port(2))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of TCP with `options` words of IP options, as RFC 791 and RFC 9293 lay it out.
    fn frame(options: u8, ecn: u8, id: u16, sequence: u32) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45 + options, ecn]);
        frame.extend(1_500_u16.to_be_bytes());
        frame.extend(id.to_be_bytes());
        frame.extend([0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 128, 1]);
        frame.extend(vec![1; usize::from(options) * 4]);
        frame.extend(40_000_u16.to_be_bytes());
        frame.extend(5_001_u16.to_be_bytes());
        frame.extend(sequence.to_be_bytes());
        frame
    }

    #[test]
    fn reads_what_tells_a_packet_from_others() {
        let plain = parse(&frame(0, 2, 7, 9), 5).unwrap();
        assert_eq!(
            (plain.stamp, plain.len.get(), plain.ports),
            (5, 1_500, Some((40_000, 5_001)))
        );
        assert_eq!(plain.ecn, Ecn::Ect0);
        for (other, is_same) in [
            (frame(0, 3, 7, 9), true),
            (frame(3, 2, 7, 9), true),
            (frame(0, 2, 8, 9), false),
            (frame(0, 2, 7, 10), false),
        ] {
            let other = parse(&other, 6).unwrap();
            assert_eq!(other.identity == plain.identity, is_same);
        }
        // A router takes one from the time to live, and sums anew.
        let mut routed = frame(0, 2, 7, 9);
        routed[22] -= 1;
        routed[24] = 0xff;
        assert_eq!(parse(&routed, 5), Some(plain));
    }

    #[test]
    fn passes_over_what_it_cannot_read() {
        let whole = frame(0, 2, 7, 9);
        for cut in 0..34 {
            assert_eq!(parse(&whole[..cut], 0), None, "{cut}");
        }
        let mut arp = whole.clone();
        arp[13] = 0x06;
        let mut six = whole.clone();
        six[14] = 0x65;
        let mut short = whole;
        short[14] = 0x44;
        for other in [arp, six, short] {
            assert_eq!(parse(&other, 0), None);
        }
    }
}
