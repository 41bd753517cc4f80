//! Reads `packets.pcapng` with a parser that is not ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pcap_parser::pcapng::{Block, parse_block_le};

/// A packet of the file.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    /// `forward` or `reverse`; of several links with the link's name in front, as `wifi.forward`.
    pub(crate) interface: String,
    /// Nanoseconds since the start of the run.
    pub(crate) at: u64,
    /// What is kept of it, from its IP header on.
    pub(crate) data: Vec<u8>,
    /// Bytes that it had.
    pub(crate) length: u64,
    /// Of its comment, by key.
    pub(crate) comment: BTreeMap<String, String>,
}

impl Packet {
    /// `queue`, `fate`, `group` …
    pub(crate) fn says(&self, key: &str) -> &str {
        self.comment.get(key).map_or("", String::as_str)
    }
    pub(crate) fn sojourn_ms(&self) -> f64 {
        self.says("sojourn_ms").parse().unwrap()
    }
    /// The two bits of the ECN field.
    pub(crate) fn ecn(&self) -> u8 {
        self.data[1] & 3
    }
}

/// Every packet of `file`, in the order of the file.
pub(crate) fn read(file: &Path) -> Vec<Packet> {
    let bytes = fs::read(file).unwrap();
    let mut rest = &bytes[..];
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (left, block) = parse_block_le(rest).unwrap();
        rest = left;
        match block {
            Block::SectionHeader(section) => assert_eq!(section.major_version, 1),
            Block::InterfaceDescription(interface) => {
                // Raw IP, nanoseconds.
                assert_eq!(interface.linktype.0, 101);
                assert_eq!(interface.ts_resolution(), Some(1_000_000_000));
                let name = interface.options.iter().find(|option| option.code.0 == 2);
                interfaces.push(text(&name.unwrap().value, name.unwrap().len));
            }
            Block::EnhancedPacket(packet) => {
                let comment = &packet.options[0];
                assert_eq!(comment.code.0, 1);
                let comment = text(&comment.value, comment.len);
                let pairs = comment.split(' ').map(|pair| pair.split_once('=').unwrap());
                packets.push(Packet {
                    interface: interfaces[packet.if_id as usize].clone(),
                    at: u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                    data: packet.data[..packet.caplen as usize].to_vec(),
                    length: u64::from(packet.origlen),
                    comment: pairs
                        .map(|(key, value)| (key.to_owned(), value.to_owned()))
                        .collect(),
                });
            }
            other => panic!("{other:?}"),
        }
    }
    // Of several links both directions of each, by the link's name.
    for (index, name) in interfaces.iter().enumerate() {
        let direction = name.rsplit('.').next().unwrap();
        assert_eq!(direction, ["forward", "reverse"][index % 2]);
    }
    assert!(!interfaces.is_empty() && interfaces.len().is_multiple_of(2));
    packets
}

fn text(value: &[u8], len: u16) -> String {
    String::from_utf8(value[..usize::from(len)].to_vec()).unwrap()
}
