//! ECN counts in acknowledgements of QUIC, read with the keys that a program logged: RFC 9001 sections 5 (protection) and 6 (key update), RFC
//! 9000 sections 17.3.1 (short header) and 19 (frames).
//!
//! The log has the format that NSS began (`SSLKEYLOGFILE`): a label, the client's random, a secret, in hexadecimal. Read are packets of 1-RTT
//! that are captured whole and begin a datagram. Counts only grow, so that one which is missed is in the next.

use std::fs;
use std::path::Path;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::aes::cipher::{Block, BlockCipherEncrypt};
use aes_gcm::aes::{Aes128, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use chacha20poly1305::ChaCha20Poly1305;
use data_encoding::HEXLOWER_PERMISSIVE;
use hkdf::Hkdf;
use quell_lab::results::read;
use sha2::{Sha256, Sha384};

use super::qlog::{Counts, Report};

/// The file below the folder of a run's programs, bytes of it, and secrets in it that are read.
pub(super) const FILE: &str = "keys";
const LONGEST: u64 = 512 << 10;
const MOST_SECRETS: usize = 64;
/// How labels of the secrets of 1-RTT packets end, one for each end.
const LABEL: &str = "_TRAFFIC_SECRET_0";
/// The longest connection ID: a short header does not say how long its own is.
const LONGEST_ID: usize = 20;
/// Bytes that hide the header of a packet.
const SAMPLE: usize = 16;
/// Packets that no secret opens, after which no other is tried on a new flow.
const MOST_CLOSED: u32 = 1_000;
/// Bits of the first byte: of a long header, and the one that changes with the keys.
const LONG_HEADER: u8 = 128;
const KEY_PHASE: u8 = 4;

type Mask = Box<dyn Fn(&[u8; SAMPLE]) -> [u8; SAMPLE]>;
type Open = Box<dyn Fn(&[u8], Payload<'_, '_>) -> Option<Vec<u8>>>;

/// The secrets of a run, and the connections whose packets they open.
#[derive(Default)]
pub(super) struct Keys {
    secrets: Vec<Vec<u8>>,
    ends: Vec<End>,
    closed: u32,
}

/// An end of a connection that sends acknowledgements.
struct End {
    suite: Suite,
    secret: Vec<u8>,
    mask: Mask,
    /// Of this key phase.
    open: Open,
    iv: Vec<u8>,
    phase: u8,
    /// Bytes of the connection ID.
    id: usize,
    largest: u64,
    report: Report,
}

/// How packets are protected, by the length of the key and how it is used.
#[derive(Clone, Copy, PartialEq)]
enum Suite {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

/// What the programs in `folder` logged; empty if they did not.
pub(super) fn read(folder: &Path) -> String {
    let path = folder.join(FILE);
    // What else has such a name may be without end.
    let is_plain = fs::symlink_metadata(&path).is_ok_and(|file| file.is_file());
    let text = is_plain.then(|| read::text(&path, LONGEST).ok()).flatten();
    text.unwrap_or_default()
}

impl Keys {
    pub(super) fn of(log: &str) -> Self {
        let mut keys = Self::default();
        for line in log.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [label, _, secret] = words[..] else {
                continue;
            };
            let secret = HEXLOWER_PERMISSIVE.decode(secret.as_bytes()).ok();
            let secret = secret.filter(|_| label.ends_with(LABEL));
            // Both ends may write the same line.
            keys.secrets
                .extend(secret.filter(|secret| !keys.secrets.contains(secret)));
        }
        keys.secrets.truncate(MOST_SECRETS);
        keys
    }

    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// A datagram was sent at this second.
    pub(super) fn see(&mut self, at: f64, datagram: &[u8]) {
        if let Some((place, frames)) = self.frames(datagram)
            && let Some(counts) = counts(&frames)
        {
            self.ends[place].report.see(at, counts);
        }
    }

    fn frames(&mut self, datagram: &[u8]) -> Option<(usize, Vec<u8>)> {
        if datagram.first()? & LONG_HEADER != 0 {
            return None;
        }
        let known = self.ends.iter_mut().enumerate();
        let mut known = known.filter_map(|(place, end)| Some((place, end.open(datagram)?)));
        known.next().or_else(|| self.new_end(datagram))
    }

    /// Tries the secrets that opened nothing yet.
    fn new_end(&mut self, datagram: &[u8]) -> Option<(usize, Vec<u8>)> {
        if self.closed >= MOST_CLOSED {
            return None;
        }
        for (place, secret) in self.secrets.iter().enumerate() {
            for suite in Suite::of(secret) {
                let mut end = End::new(secret, suite)?;
                for id in 0..=LONGEST_ID {
                    end.id = id;
                    if let Some(frames) = end.open(datagram) {
                        self.secrets.remove(place);
                        self.ends.push(end);
                        return Some((self.ends.len() - 1, frames));
                    }
                }
            }
        }
        self.closed += 1;
        None
    }

    /// What each end reported, at seconds of the run.
    pub(super) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.ends.iter().map(|end| &end.report)
    }
}

impl Suite {
    /// Those that have secrets of this length.
    fn of(secret: &[u8]) -> Vec<Self> {
        match secret.len() {
            32 => vec![Self::Aes128Gcm, Self::ChaCha20Poly1305],
            48 => vec![Self::Aes256Gcm],
            _ => Vec::new(),
        }
    }

    fn key(self, secret: &[u8], label: &str) -> Option<Vec<u8>> {
        let length = if self == Self::Aes128Gcm { 16 } else { 32 };
        expand(secret, label, length)
    }

    fn opener(self, secret: &[u8]) -> Option<Open> {
        let key = self.key(secret, "quic key")?;
        match self {
            Self::Aes128Gcm => opener::<Aes128Gcm>(&key),
            Self::Aes256Gcm => opener::<Aes256Gcm>(&key),
            Self::ChaCha20Poly1305 => opener::<ChaCha20Poly1305>(&key),
        }
    }

    fn mask(self, secret: &[u8]) -> Option<Mask> {
        let key = self.key(secret, "quic hp")?;
        match self {
            Self::Aes128Gcm => mask::<Aes128>(&key),
            Self::Aes256Gcm => mask::<Aes256>(&key),
            Self::ChaCha20Poly1305 => chacha20_mask(&key),
        }
    }
}

fn opener<A: Aead + KeyInit + 'static>(key: &[u8]) -> Option<Open> {
    let cipher = A::new_from_slice(key).ok()?;
    Some(Box::new(move |nonce, payload| {
        cipher.decrypt(nonce.try_into().ok()?, payload).ok()
    }))
}

/// RFC 9001 section 5.4.3.
fn mask<C: BlockCipherEncrypt + KeyInit + 'static>(key: &[u8]) -> Option<Mask> {
    let cipher = C::new_from_slice(key).ok()?;
    Some(Box::new(move |sample| {
        let mut block = Block::<C>::default();
        block.copy_from_slice(sample);
        cipher.encrypt_block(&mut block);
        let mut mask = [0; SAMPLE];
        mask.copy_from_slice(&block);
        mask
    }))
}

/// RFC 9001 section 5.4.4: a counter, and then the nonce.
fn chacha20_mask(key: &[u8]) -> Option<Mask> {
    let key: [u8; 32] = key.try_into().ok()?;
    Some(Box::new(move |sample| {
        let (counter, nonce) = sample.split_at(4);
        let counter = counter
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mut mask = [0; SAMPLE];
        let nonce: Option<[u8; 12]> = nonce.try_into().ok();
        let mut cipher = ChaCha20::new(&key.into(), &nonce.unwrap_or_default().into());
        cipher.seek(64 * counter);
        cipher.apply_keystream(&mut mask);
        mask
    }))
}

/// HKDF-Expand-Label (RFC 8446 section 7.1), with the hash that has secrets of this length.
fn expand(secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    let label = format!("tls13 {label}");
    let mut info = vec![0, length as u8, label.len() as u8];
    info.extend(label.bytes());
    info.push(0);
    let mut key = vec![0; length];
    match secret.len() {
        32 => Hkdf::<Sha256>::from_prk(secret)
            .ok()?
            .expand(&info, &mut key),
        _ => Hkdf::<Sha384>::from_prk(secret)
            .ok()?
            .expand(&info, &mut key),
    }
    .ok()?;
    Some(key)
}

impl End {
    fn new(secret: &[u8], suite: Suite) -> Option<Self> {
        Some(Self {
            suite,
            mask: suite.mask(secret)?,
            open: suite.opener(secret)?,
            iv: expand(secret, "quic iv", 12)?,
            secret: secret.to_owned(),
            phase: 0,
            id: 0,
            largest: 0,
            report: Report::default(),
        })
    }

    /// The frames of a packet that this end sent.
    fn open(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let at = 1 + self.id;
        let sample = datagram.get(at + 4..at + 4 + SAMPLE)?;
        let mask = (self.mask)(sample.try_into().ok()?);
        let mut header = datagram[..at + 4].to_vec();
        header[0] ^= mask[0] & 31;
        let length = usize::from(header[0] & 3) + 1;
        header.truncate(at + length);
        for (byte, mask) in header[at..].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
        let bytes = header[at..].iter();
        let truncated = bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let number = packet_number(self.largest, truncated, 8 * length as u32);
        let payload = Payload {
            msg: &datagram[at + length..],
            aad: &header,
        };
        let phase = header[0] & KEY_PHASE;
        if phase != self.phase {
            self.update(phase, number, payload)
        } else {
            let frames = (self.open)(&nonce(&self.iv, number), payload)?;
            self.largest = self.largest.max(number);
            Some(frames)
        }
    }

    /// Opens a packet of the next key phase, and keeps its keys if that is one (RFC 9001 section 6.1).
    fn update(&mut self, phase: u8, number: u64, payload: Payload<'_, '_>) -> Option<Vec<u8>> {
        let secret = expand(&self.secret, "quic ku", self.secret.len())?;
        let (open, iv) = (self.suite.opener(&secret)?, expand(&secret, "quic iv", 12)?);
        let frames = open(&nonce(&iv, number), payload)?;
        (self.secret, self.open, self.iv) = (secret, open, iv);
        (self.phase, self.largest) = (phase, self.largest.max(number));
        Some(frames)
    }
}

/// RFC 9001 section 5.3.
fn nonce(iv: &[u8], number: u64) -> Vec<u8> {
    let mut nonce = iv.to_vec();
    for (byte, number) in nonce.iter_mut().rev().zip(number.to_le_bytes()) {
        *byte ^= number;
    }
    nonce
}

/// The number next to the one expected that ends with these bits (RFC 9000 section A.3).
fn packet_number(largest: u64, truncated: u64, bits: u32) -> u64 {
    let (window, expected) = (1 << bits, largest + 1);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// The counts of the last acknowledgement with counts among frames; what comes behind a frame that is not known is not read.
fn counts(mut frames: &[u8]) -> Option<Counts> {
    let mut last = None;
    // Frames of one length are passed over by their numbers, others by the bytes behind these.
    while let Some(kind) = number(&mut frames) {
        let passed = match kind {
            // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x00 | 0x01 | 0x1e | 0x1f => Some(()),
            0x02 | 0x03 => acknowledgement(&mut frames, kind == 3).map(|counts| {
                last = counts.or(last);
            }),
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID; TIME_STAMP (draft-huitema-quic-ts)
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 | 0x2f5 => numbers(&mut frames, 1),
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x05 | 0x11 | 0x15 => numbers(&mut frames, 2),
            // RESET_STREAM, ACK_FREQUENCY
            0x04 => numbers(&mut frames, 3),
            0xaf => numbers(&mut frames, 4),
            // CRYPTO, NEW_TOKEN, DATAGRAM with a length
            0x06 => numbers(&mut frames, 1).and_then(|()| text(&mut frames)),
            0x07 | 0x31 => text(&mut frames),
            // STREAM, with an offset or without, if it has a length.
            0x0a | 0x0b => numbers(&mut frames, 1).and_then(|()| text(&mut frames)),
            0x0e | 0x0f => numbers(&mut frames, 2).and_then(|()| text(&mut frames)),
            // NEW_CONNECTION_ID, whose length has one byte; the token is behind it.
            0x18 => numbers(&mut frames, 2)
                .and_then(|()| text(&mut frames))
                .and_then(|()| pass(&mut frames, 16)),
            // PATH_CHALLENGE, PATH_RESPONSE
            0x1a | 0x1b => pass(&mut frames, 8),
            _ => None,
        };
        if passed.is_none() {
            break;
        }
    }
    last
}

/// An acknowledgement behind its type (RFC 9000 section 19.3): its counts, if it has any.
fn acknowledgement(frames: &mut &[u8], has_counts: bool) -> Option<Option<Counts>> {
    numbers(frames, 2)?;
    let ranges = number(frames)?;
    numbers(frames, ranges.checked_mul(2)?.checked_add(1)?)?;
    if !has_counts {
        return Some(None);
    }
    let (ect0, ect1, ce) = (number(frames)?, number(frames)?, number(frames)?);
    Some(Some([ect1, ect0, ce]))
}

fn pass(frames: &mut &[u8], bytes: u64) -> Option<()> {
    *frames = frames.get(usize::try_from(bytes).ok()?..)?;
    Some(())
}

fn numbers(frames: &mut &[u8], count: u64) -> Option<()> {
    (0..count).try_for_each(|_| number(frames).map(drop))
}

fn text(frames: &mut &[u8]) -> Option<()> {
    let length = number(frames)?;
    pass(frames, length)
}

/// A number of 1, 2, 4 or 8 bytes (RFC 9000 section 16).
fn number(frames: &mut &[u8]) -> Option<u64> {
    let length = 1 << (frames.first()? >> 6);
    let bytes = frames.get(..length)?.iter();
    let number = bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    *frames = &frames[length..];
    Some(number & (u64::MAX >> (64 - 8 * length + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        HEXLOWER_PERMISSIVE.decode(text.as_bytes()).unwrap()
    }

    /// RFC 9001 section A.5: a packet of a PING alone, with the number 654360564.
    #[test]
    fn the_example_of_the_rfc_opens_and_so_do_its_next_keys() {
        let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let mut end = End::new(&secret, Suite::ChaCha20Poly1305).unwrap();
        end.largest = 654_360_563;
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        assert_eq!(end.open(&packet), Some(vec![1]));
        let next = bytes("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9");
        assert_eq!(expand(&secret, "quic ku", 32), Some(next));
        let mut wrong = packet;
        wrong[20] ^= 1;
        assert_eq!(end.open(&wrong), None);
    }

    /// Of quic-go 0.65.0 at a DualQ, which takes new keys after 100 packets; Wireshark reads the same counts.
    #[test]
    fn counts_are_read_on_both_sides_of_a_key_update() {
        let secret = "0a71b035bacb0ac83e2a743664035d5a32f78062328ad084ff51c6d2a31f578d";
        let log =
            format!("x\nSERVER_TRAFFIC_SECRET_0 ab 00\nCLIENT_TRAFFIC_SECRET_0 ab {secret}\n");
        let mut keys = Keys::of(&format!("{log}{log}"));
        assert!(!keys.is_empty());
        for (at, packet) in [
            (
                0.5,
                "58791111e2077af84dc33aaffb1e2e789bf21c4e52eaca76fad5b5700bd3c23f0920c1ef",
            ),
            (
                0.6,
                "59791111e20387b4aec8ee86aa43d10137dfc98b5f7f1d86459753b90d4128d0ca6e3372",
            ),
            // Overtaken by the next.
            (
                0.7,
                "57791111e2c8f84fd038cc4192cfb7593d76f751b7c6768eee0e1dcf72196e9b6a71a581d2",
            ),
            (
                0.8,
                "44791111e20707878774b607004676eb0fec609fc25464fc3c88b1d839468ff5b8fd4cb0",
            ),
            (0.9, "c0"),
        ] {
            keys.see(at, &bytes(packet));
        }
        let all: Vec<_> = keys.reports().map(|report| report.0.clone()).collect();
        assert_eq!(
            all,
            [[(0.5, [0, 74, 0]), (0.6, [0, 76, 0]), (0.7, [0, 175, 1])]]
        );
    }

    /// RFC 9000 section A.3.
    #[test]
    fn the_number_of_a_packet_is_the_nearest_that_ends_so() {
        assert_eq!(packet_number(0xa82f_30ea, 0x9b32, 16), 0xa82f_9b32);
        assert_eq!(packet_number(255, 1, 8), 257);
        assert_eq!(packet_number(256, 254, 8), 254);
        assert_eq!(packet_number(0, 3, 8), 3);
    }

    #[test]
    fn counts_are_found_behind_other_frames_and_nothing_behind_what_is_cut() {
        let counted: &[u8] = &[3, 9, 0, 0, 2, 4, 1, 0x40, 5];
        let found = Some([1, 4, 5]);
        for before in [
            &[0, 0, 1, 0x1e][..],
            &[2, 9, 0, 0, 2],
            &[0x42, 0xf5, 9, 0x10, 0x80, 0, 0, 9, 0x11, 1, 7, 0x19, 3],
            &[6, 0, 2, 8, 8, 7, 1, 9, 0x31, 1, 9],
            &[0x0a, 0, 1, 9, 0x0f, 0, 0x41, 0, 2, 9, 9],
            &[
                0x40, 0xaf, 1, 2, 3, 4, 4, 1, 2, 3, 5, 1, 2, 0x1a, 1, 2, 3, 4, 5, 6, 7, 8,
            ],
        ] {
            let all = [before, counted].concat();
            assert_eq!(counts(&all), found, "{before:?}");
            // Whatever is cut, nothing is read that is not there.
            let cut = (0..all.len()).filter_map(|end| counts(&all[..end]));
            assert_eq!(cut.count(), 0, "{before:?}");
        }
        let token = [&[0x18, 1, 0, 4, 1, 2, 3, 4][..], &[7; 16], counted].concat();
        assert_eq!(counts(&token), found);
        assert_eq!(counts(&[0x08, 0, 3, 9, 0, 0, 2, 4, 1, 5]), None);
        assert_eq!(counts(&[3, 9, 0, 0xff, 0xff]), None);
    }
}
