//! `packets.pcapng`, packet by packet: what [`crate::packets`] has written of a run.
//!
//! Only what quell writes is read: one section in the byte order of the writer's machine, and a comment with the fate of each packet.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use pcap_parser::pcapng::{Block, EnhancedPacketBlock, parse_block_le};
use quell_units::{Bytes, Time};

use super::ReadError;

/// The longest block that is read: a packet has 100 bytes of header and a comment of a line.
const LONGEST: usize = 1 << 20;
/// The codes of options.
const COMMENT: u16 = 1;
const INTERFACE_NAME: u16 = 2;

/// A packet at a queue.
#[derive(Debug, Clone, Copy)]
pub struct Captured<'a> {
    /// `forward` or `reverse`; of several links with the link's name in front, as `wifi.forward`.
    pub interface: &'a str,
    /// When it arrived at the queue, since the start of the run.
    pub arrival: Time,
    /// What is kept of it, from its IP header on.
    pub header: &'a [u8],
    /// Length of the IP packet.
    pub length: Bytes,
    /// From its arrival to its fate.
    pub sojourn: Time,
    /// What became of it.
    pub fate: Fate,
    /// The discipline has marked it: its header says CE, whatever was sent.
    pub marked: bool,
    /// Its group, if it is of one.
    pub group: Option<&'a str>,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It left the queue, marked or not.
    Delivered,
    /// The discipline dropped it.
    Dropped,
    /// It was still there when the run ended.
    Queued,
}

/// Shows every packet of the file to `see`, in the order of the file: that of arrival.
///
/// # Errors
///
/// The file cannot be read, or is none of quell's.
pub fn packets(path: &Path, mut see: impl FnMut(Captured<'_>)) -> Result<(), ReadError> {
    let fail = ReadError::of::<String>(path);
    let broken = ReadError::of::<BlockError>(path);
    let file = File::open(path).map_err(ReadError::of(path))?;
    let mut file = BufReader::new(file);
    let mut interfaces: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    while next(&mut file, &mut bytes).map_err(&broken)? {
        let parsed = parse_block_le(&bytes);
        let (_, block) = parsed.map_err(|error| fail(format!("a broken block: {error:?}")))?;
        match block {
            Block::InterfaceDescription(interface) => {
                let options = interface.options.iter();
                let mut names = options.filter(|option| option.code.0 == INTERFACE_NAME);
                let name = names.next().map(|option| text(&option.value, option.len));
                interfaces.push(name.unwrap_or_default().to_owned());
            }
            Block::EnhancedPacket(packet) => {
                let seen = captured(&packet, &interfaces);
                see(seen.ok_or_else(|| fail("a packet without its fate".to_owned()))?);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Why a block cannot be read.
#[derive(Debug, thiserror::Error)]
enum BlockError {
    /// The system does not let it be read.
    #[error(transparent)]
    Unreadable(io::Error),
    /// The file ends within the block.
    #[error("it ends within a block: {0}")]
    Cut(#[source] io::Error),
    /// No block has this length.
    #[error("a block of {0} bytes")]
    Length(usize),
}

/// Reads the next block as it is; false at the end of the file.
fn next(file: &mut impl Read, block: &mut Vec<u8>) -> Result<bool, BlockError> {
    block.resize(8, 0);
    match file.read_exact(&mut block[..1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(BlockError::Unreadable(error)),
        Ok(()) => {}
    }
    file.read_exact(&mut block[1..]).map_err(BlockError::Cut)?;
    let length = [block[4], block[5], block[6], block[7]].map(usize::from);
    let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | byte);
    if !(12..=LONGEST).contains(&length) {
        return Err(BlockError::Length(length));
    }
    block.resize(length, 0);
    file.read_exact(&mut block[8..]).map_err(BlockError::Cut)?;
    Ok(true)
}

fn captured<'a>(
    packet: &'a EnhancedPacketBlock<'_>,
    interfaces: &'a [String],
) -> Option<Captured<'a>> {
    let mut options = packet.options.iter();
    let comment = options.find(|option| option.code.0 == COMMENT)?;
    let comment = text(&comment.value, comment.len);
    let says = |key: &str| {
        let mut words = comment.split(' ');
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    let fate = match says("fate")? {
        "delivered" => Fate::Delivered,
        "queued" => Fate::Queued,
        marked if marked.starts_with("marked:") => Fate::Delivered,
        dropped if dropped.starts_with("dropped:") => Fate::Dropped,
        _ => return None,
    };
    let at = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
    Some(Captured {
        interface: interfaces.get(packet.if_id as usize)?,
        arrival: Time::from_nanos(at),
        header: packet.data.get(..packet.caplen as usize)?,
        length: Bytes::new(u64::from(packet.origlen)),
        sojourn: milliseconds(says("sojourn_ms")?)?,
        fate,
        marked: says("fate").is_some_and(|fate| fate.starts_with("marked:")),
        group: says("group"),
    })
}

/// `15.023456`, exactly.
fn milliseconds(text: &str) -> Option<Time> {
    let (whole, part) = text.split_once('.')?;
    if part.len() != 6 {
        return None;
    }
    let (whole, part): (u64, u64) = (whole.parse().ok()?, part.parse().ok()?);
    Some(Time::from_nanos(
        whole.checked_mul(1_000_000)?.checked_add(part)?,
    ))
}

/// An option without its padding.
fn text(value: &[u8], length: u16) -> &str {
    let value = value.get(..usize::from(length)).unwrap_or(value);
    std::str::from_utf8(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::pcapng;

    fn file(comments: &[&str]) -> tempfile::NamedTempFile {
        let mut bytes = Vec::new();
        pcapng::section(&mut bytes, "a run");
        pcapng::interface(&mut bytes, "forward", Some(1), "fifo");
        pcapng::interface(&mut bytes, "reverse", None, "");
        for (number, comment) in (0..).zip(comments) {
            let packet = pcapng::Packet {
                interface: number % 2,
                at: Time::from_nanos((3 << 32) + u64::from(number)),
                data: &[7; 5],
                length: 1_500,
                comment,
            };
            pcapng::packet(&mut bytes, &packet);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        file
    }

    #[test]
    fn what_was_written_is_read_to_the_nanosecond() {
        let file = file(&[
            "queue=queue sojourn_ms=15.023456 fate=delivered group=bulk",
            "queue=queue sojourn_ms=0.000000 fate=dropped:limit group=bulk value=9",
            "queue=l4s sojourn_ms=0.000001 fate=marked:step",
            "queue=queue sojourn_ms=3.000000 fate=queued",
        ]);
        let mut seen = Vec::new();
        packets(file.path(), |packet| {
            assert_eq!(packet.header, &[7; 5]);
            assert_eq!(packet.length, Bytes::new(1_500));
            let times = (packet.arrival.as_nanos() & 3, packet.sojourn.as_nanos());
            seen.push((packet.interface.to_owned(), times, packet.fate));
        })
        .unwrap();
        let row = |name: &str, times, fate| (name.to_owned(), times, fate);
        assert_eq!(
            seen,
            [
                row("forward", (0, 15_023_456), Fate::Delivered),
                row("reverse", (1, 0), Fate::Dropped),
                row("forward", (2, 1), Fate::Delivered),
                row("reverse", (3, 3_000_000), Fate::Queued),
            ]
        );
    }

    #[test]
    fn what_is_no_capture_of_quell_is_an_error_that_names_the_file() {
        let fails = |file: &tempfile::NamedTempFile| {
            let error = packets(file.path(), |_| {}).unwrap_err();
            assert_eq!(error.path, file.path());
            error.why
        };
        for comment in [
            "",
            "sojourn_ms=1.5 fate=delivered",
            "sojourn_ms=1.000000 fate=lost",
        ] {
            assert_eq!(fails(&file(&[comment])), "a packet without its fate");
        }
        let whole = file(&["sojourn_ms=1.000000 fate=delivered"]);
        let bytes = std::fs::read(whole.path()).unwrap();
        for kept in [bytes.len() - 1, bytes.len() - 40] {
            std::fs::write(whole.path(), &bytes[..kept]).unwrap();
            assert!(fails(&whole).starts_with("it ends within a block"));
        }
        std::fs::write(whole.path(), [0xff; 64]).unwrap();
        assert!(fails(&whole).starts_with("a block of "));
        let missing = packets(Path::new("/no/such/file"), |_| {}).unwrap_err();
        assert!(missing.to_string().starts_with("cannot read /no/such/file"));
    }
}
