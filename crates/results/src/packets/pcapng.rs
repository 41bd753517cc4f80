//! The blocks of a pcapng file (draft-ietf-opsawg-pcapng), as bytes: section header, interface
//! descriptions, enhanced packets. Little-endian, one section of unknown length, times in
//! nanoseconds since the start of the run.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use quell_units::Time;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;
/// Their type, a log of TLS keys: "TLSK".
const TLS_KEY_LOG: u32 = 0x544c_534b;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// LINKTYPE_RAW: packets begin with their IPv4 or IPv6 header.
const RAW_IP: u16 = 101;

/// Option codes.
mod option {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;
    pub(crate) const SECTION_APPLICATION: u16 = 4;
    pub(crate) const INTERFACE_NAME: u16 = 2;
    pub(crate) const INTERFACE_SPEED: u16 = 8;
    pub(crate) const TIME_RESOLUTION: u16 = 9;
}

/// Times count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Appends the section header, with the writing program and a comment.
pub(crate) fn section(out: &mut Vec<u8>, comment: &str) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend(1_u16.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out.extend(u64::MAX.to_le_bytes());
        let application = concat!("quell ", env!("CARGO_PKG_VERSION"));
        option(out, option::COMMENT, comment.as_bytes());
        option(out, option::SECTION_APPLICATION, application.as_bytes());
        option(out, option::END, &[]);
    });
}

/// An interface; they are numbered from 0. `speed` in bit/s.
pub(crate) fn interface(out: &mut Vec<u8>, name: &str, speed: Option<u64>, comment: &str) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(RAW_IP.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        // No limit: each packet has its own captured length.
        out.extend(0_u32.to_le_bytes());
        option(out, option::COMMENT, comment.as_bytes());
        option(out, option::INTERFACE_NAME, name.as_bytes());
        if let Some(speed) = speed {
            option(out, option::INTERFACE_SPEED, &speed.to_le_bytes());
        }
        option(out, option::TIME_RESOLUTION, &[NANOSECONDS]);
        option(out, option::END, &[]);
    });
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// Number of its interface.
    pub(crate) interface: u32,
    pub(crate) at: Time,
    /// Captured bytes.
    pub(crate) data: &'a [u8],
    /// Original length in bytes.
    pub(crate) length: u32,
    pub(crate) comment: &'a str,
}

/// Appends a packet.
pub(crate) fn packet(out: &mut Vec<u8>, packet: &Packet<'_>) {
    block(out, ENHANCED_PACKET, |out| {
        let at = packet.at.as_nanos();
        out.extend(packet.interface.to_le_bytes());
        out.extend(((at >> 32) as u32).to_le_bytes());
        out.extend((at as u32).to_le_bytes());
        out.extend((packet.data.len() as u32).to_le_bytes());
        out.extend(packet.length.to_le_bytes());
        padded(out, packet.data);
        option(out, option::COMMENT, packet.comment.as_bytes());
        option(out, option::END, &[]);
    });
}

/// Puts a log of TLS keys behind the section header of a file, so that programs that open it decrypt its packets.
///
/// # Errors
///
/// The file cannot be read, or not be replaced by another one.
pub fn add_secrets(path: &Path, log: &[u8]) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut begin = [0; 8];
    file.read_exact(&mut begin)?;
    let length = u32::from_le_bytes([begin[4], begin[5], begin[6], begin[7]]);
    let mut out = begin.to_vec();
    (&mut file)
        .take(u64::from(length).saturating_sub(8))
        .read_to_end(&mut out)?;
    block(&mut out, DECRYPTION_SECRETS, |out| {
        out.extend(TLS_KEY_LOG.to_le_bytes());
        out.extend((log.len() as u32).to_le_bytes());
        padded(out, log);
    });
    let with = path.with_extension("new");
    let mut written = File::create_new(&with)?;
    written.write_all(&out)?;
    io::copy(&mut file, &mut written)?;
    fs::rename(with, path)
}

/// Appends a block of this type around what `body` appends; its length stands before and after it.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

/// Appends an option, cut off at its maximum length of 16 bits.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(out, value);
}

/// Appends bytes, padded to a multiple of four.
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().wrapping_neg() % 4, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_parser::pcapng::{Block, parse_block_le};

    #[test]
    fn a_parser_of_others_reads_what_was_written() {
        let mut out = Vec::new();
        section(&mut out, "ABC");
        interface(&mut out, "forward", Some(40_000_000), "dualpi2");
        interface(&mut out, "reverse", None, "");
        let at = Time::from_nanos((7 << 32) + 5);
        for length in 0..9 {
            packet(
                &mut out,
                &Packet {
                    interface: 1,
                    at,
                    data: &[0xab; 8][..length.min(8)],
                    length: 1_500,
                    comment: &"x".repeat(length),
                },
            );
        }
        let mut rest = &out[..];
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let (left, block) = parse_block_le(rest).unwrap();
            blocks.push(block);
            rest = left;
        }
        assert_eq!(blocks.len(), 12);
        let Block::SectionHeader(section) = &blocks[0] else {
            panic!("{:?}", blocks[0]);
        };
        assert_eq!((section.major_version, section.section_len), (1, -1));
        assert_eq!(section.options[0].value[..3], *b"ABC");
        for (block, speed) in blocks[1..3].iter().zip([true, false]) {
            let Block::InterfaceDescription(interface) = block else {
                panic!("{block:?}");
            };
            assert_eq!(interface.linktype.0, 101);
            assert_eq!(interface.ts_resolution(), Some(1_000_000_000));
            let has_speed = interface.options.iter().any(|option| option.code.0 == 8);
            assert_eq!(has_speed, speed);
        }
        for (length, block) in blocks[3..].iter().enumerate() {
            let Block::EnhancedPacket(read) = block else {
                panic!("{block:?}");
            };
            assert_eq!((read.if_id, read.ts_high, read.ts_low), (1, 7, 5));
            assert_eq!((read.caplen, read.origlen), (length.min(8) as u32, 1_500));
            assert_eq!(&read.data[..length.min(8)], &[0xab; 8][..length.min(8)]);
            let comment = &read.options[0];
            assert_eq!(comment.value[..length], *"x".repeat(length).as_bytes());
        }
    }
}
