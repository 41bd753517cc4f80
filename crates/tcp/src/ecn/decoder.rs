//! The marks of an end's own packets, as AccECN reports them: RFC 9768 sections 3.2.2.2 to 3.2.2.5 and
//! 3.2.3, appendix A.2; Linux `net/ipv4/tcp_input.c` (`tcp_accecn_process`,
//! `tcp_accecn_process_option`).
//!
//! The ACE field has three bits. If an ACK delivers eight packets or more, the field may have wrapped;
//! the byte counters then show how often. Without them the decoder assumes the largest number that the
//! delivered packets allow, unless ACKs usually deliver many packets each.
//!
//! Deviations from Linux: 1. the first ACE field of a connection is tested for zero (section 3.2.2.4), if
//! zero cannot be its true value; 2. the decoder suspects mangling if bytes with CE grow while packets
//! with CE do not (section 3.2.3.2.5); 3. without an option, marked bytes are estimated from marked
//! packets (appendix A.3). Not done: a test for CE on every packet of the first rounds (section 3.2.2.3
//! advises one; Linux has none), because an L4S queue may well mark all of a flow's first packets.

use quell_units::Ecn;

use super::counters::place;
use super::option::AccEcnOption;
use super::{ACE_MASK, FIRST_BYTES, FIRST_CE_PACKETS, ace};
use crate::flags::Flags;

/// Mean packets per ACK above which the ACE field is not assumed to have wrapped (Linux
/// `ACK_COMP_THRESH`): ACKs that deliver this many packets are usually thinned on their way.
const MANY_PACKETS: u32 = 4;
/// Precision of the smoothed packets per ACK (Linux `PKTS_ACKED_PREC`), and the weight of one ACK in it
/// (`PKTS_ACKED_WEIGHT`), as powers of two.
const FRACTION_BITS: u32 = 6;
const WEIGHT_BITS: u32 = 6;
/// SAFETY_FACTOR of appendix A.2.2 is 2 (Linux `TCP_ACCECN_SAFETY_SHIFT`).
const SAFETY_FACTOR: u64 = 2;
/// Number of bytes sent before the first option from which on its counters may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;

/// The other end's options so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Options {
    /// None has arrived.
    Unseen,
    /// One without counters has arrived.
    Empty,
    /// Counters have arrived.
    Trusted,
    /// Their counters are wrong, or arrived too late.
    Ignored,
}

/// An ACK that no other ACK has superseded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack<'a> {
    pub(crate) flags: Flags,
    pub(crate) option: &'a AccEcnOption,
    /// Number of packets and bytes that it newly delivers.
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// Payload of a full packet in bytes.
    pub(crate) mss: u32,
    /// Number of payload bytes sent so far.
    pub(crate) sent: u64,
    /// Number of ECN-capable packets without payload sent so far.
    pub(crate) controls: u64,
}

/// The marks that an ACK reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Number of newly marked packets, with or without payload.
    pub(crate) packets: u32,
    /// Number of newly marked payload bytes.
    pub(crate) bytes: u64,
}

/// Decoder of one end.
#[derive(Debug, Clone)]
pub(crate) struct Decoder {
    /// s.cep.
    ce_packets: u64,
    /// s.e0b, s.ceb and s.e1b.
    bytes: [u64; 3],
    options: Options,
    /// Index of the counter that grows with what ACKs without option deliver, if that is clear.
    growing: Option<usize>,
    /// Smoothed packets per ACK, in 1/64.
    packets_per_ack: u32,
    /// Marked bytes reported so far, counted or estimated.
    reported: u64,
    /// s.cep and s.ceb at the last option with both, and the number of packets delivered since.
    matched: (u64, u64),
    since_match: u64,
    has_seen_ace: bool,
    /// The network alters the fields: no further packet may be ECN-capable.
    is_mangled: bool,
    /// The reports of the other end mean nothing either.
    is_deaf: bool,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            ce_packets: FIRST_CE_PACKETS,
            bytes: FIRST_BYTES,
            options: Options::Unseen,
            growing: None,
            packets_per_ack: 0,
            reported: 0,
            matched: (FIRST_CE_PACKETS, 0),
            since_match: 0,
            has_seen_ace: false,
            is_mangled: false,
            is_deaf: false,
        }
    }
    /// The handshake has shown an invalid transition of the IP-ECN field (section 3.2.2.3).
    pub(crate) fn on_invalid_transition(&mut self) {
        self.is_mangled = true;
    }
    /// The server's SYN-ACK arrived with CE (table 4).
    pub(crate) fn on_ce_syn_ack(&mut self) {
        self.ce_packets += 1;
    }
    /// The other end may have no ECN: neither send ECT nor believe reports (table 4, note 1).
    pub(crate) fn give_up(&mut self) {
        self.is_mangled = true;
        self.is_deaf = true;
    }
    /// Whether the network alters fields, so that no packet may be ECN-capable.
    pub(crate) fn is_mangled(&self) -> bool {
        self.is_mangled
    }
    /// Number of packets with CE since the start, without the SYN.
    pub(crate) fn ce_packets(&self) -> u64 {
        self.ce_packets - FIRST_CE_PACKETS
    }

    /// Whether an option has arrived (`saw_accecn_opt`), or so much was sent without one that it would be
    /// ignored, which Linux takes for the same.
    #[inline]
    pub(crate) fn has_seen_option(&self) -> bool {
        self.options != Options::Unseen
    }
    /// Reads the option of the SYN-ACK, or of the handshake's last packet.
    pub(crate) fn on_first_option(&mut self, option: &AccEcnOption) {
        if option.is_present() && matches!(self.options, Options::Unseen | Options::Empty) {
            // Section 3.2.3.2.4: "MAY check that the initial value of the EE0B field or the EE1B
            // field is non-zero".
            let is_zeroed = |(ecn, counter)| ecn != Ecn::Ce && counter == 0;
            self.options = if option.counters().any(is_zeroed) {
                Options::Ignored
            } else if option.is_empty() {
                Options::Empty
            } else {
                Options::Trusted
            };
        }
    }

    /// Reads an ACK with SYN=0 that is newer than those before.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>) -> Marks {
        let old_ce_bytes = self.ce_bytes();
        let are_bytes_known = self.on_option(ack);
        self.smooth(ack.packets);
        let field = ace(ack.flags);
        self.test_first(field, ack);
        // Section 3.2.2.2: "the minimum positive increment".
        let least = field.wrapping_sub(self.ce_packets) & ACE_MASK;
        let packets = if u64::from(ack.packets) <= ACE_MASK {
            least
        } else {
            let ce_bytes = self.ce_bytes().saturating_sub(old_ce_bytes);
            self.unwrap(least, are_bytes_known.then_some(ce_bytes), ack)
        };
        self.ce_packets += packets;
        self.test_consistency(ack);
        let bytes = self.marked_bytes(packets, are_bytes_known, ack);
        if self.is_deaf {
            return Marks::default();
        }
        Marks {
            packets: packets as u32,
            bytes,
        }
    }

    /// Reads the byte counters. Returns true if their growth is known for this ACK.
    fn on_option(&mut self, ack: &Ack<'_>) -> bool {
        if self.options == Options::Ignored {
            return false;
        }
        if !ack.option.is_present() {
            return self.estimate(ack);
        }
        self.on_first_option(ack.option);
        if self.options == Options::Ignored {
            return false;
        }
        let mut is_known = self.growing.is_some();
        let mut first = None;
        for (ecn, counter) in ack.option.counters() {
            let Some(place) = place(ecn) else { continue };
            let grown = growth(self.bytes[place], counter);
            self.bytes[place] = self.bytes[place].saturating_add_signed(grown);
            if grown == 0 {
                continue;
            }
            // The estimate was too high, or several counters have grown.
            if grown < 0 || (first.is_some() && Some(place) != self.growing) {
                is_known = false;
                first = Some(None);
            } else if Some(place) != self.growing {
                first = Some(Some(place));
            }
        }
        if let Some(growing) = first {
            self.growing = growing;
        }
        is_known
    }
    /// An ACK without option: assumes that the counter grows that grew before.
    fn estimate(&mut self, ack: &Ack<'_>) -> bool {
        if self.options == Options::Unseen {
            if ack.sent >= TOO_LATE {
                self.options = Options::Ignored;
            }
            return false;
        }
        let Some(place) = self.growing else {
            return false;
        };
        self.bytes[place] += ack.bytes;
        true
    }

    fn smooth(&mut self, packets: u32) {
        if packets == 0 {
            return;
        }
        let sample = u64::from(packets) << FRACTION_BITS;
        let smoothed = u64::from(self.packets_per_ack);
        let next = match smoothed {
            0 => sample,
            _ => ((smoothed << WEIGHT_BITS) - smoothed + sample) >> WEIGHT_BITS,
        };
        self.packets_per_ack = next.min(u64::from(u16::MAX)) as u32;
    }

    /// The increment if the field may have wrapped (section 3.2.2.5.2, appendix A.2).
    fn unwrap(&self, least: u64, ce_bytes: Option<u64>, ack: &Ack<'_>) -> u64 {
        let (delivered, mss) = (u64::from(ack.packets), u64::from(ack.mss));
        let most = delivered - ((delivered - least) & ACE_MASK);
        let Some(ce_bytes) = ce_bytes else {
            let is_usual = self.packets_per_ack > MANY_PACKETS << FRACTION_BITS;
            return if is_usual { least } else { most };
        };
        if ce_bytes == 0 {
            return least;
        }
        // It may have wrapped more than once.
        if delivered >= 2 * (ACE_MASK + 1) {
            if ack.bytes <= ce_bytes {
                return most;
            }
            let estimate = (ce_bytes.saturating_mul(delivered)).div_ceil(ack.bytes);
            return most.min(least + (estimate & !ACE_MASK));
        }
        if ce_bytes > least * mss {
            return most;
        }
        if ce_bytes < most * mss / SAFETY_FACTOR {
            return least;
        }
        most
    }

    /// Section 3.2.2.4: if the first ACE field after the handshake is zero, something clears the field,
    /// unless three of the packets so far had CE.
    fn test_first(&mut self, field: u64, ack: &Ack<'_>) {
        if !self.has_seen_ace {
            self.has_seen_ace = true;
            let packets = u64::from(ack.packets) + ack.controls;
            if field == 0 && FIRST_CE_PACKETS + packets <= ACE_MASK {
                self.give_up();
            }
        }
    }
    /// Section 3.2.3.2.5: "s.ceb counter has increased but the s.cep has not (and by testing ACK
    /// coverage it is certain how much the ACE field has wrapped)".
    fn test_consistency(&mut self, ack: &Ack<'_>) {
        self.since_match += u64::from(ack.packets);
        if self.options == Options::Trusted && ack.option.len() >= 2 {
            let (ce_packets, ce_bytes) = self.matched;
            self.is_mangled |= self.ce_bytes() > ce_bytes
                && self.ce_packets == ce_packets
                && self.since_match <= ACE_MASK;
            self.matched = (self.ce_packets, self.ce_bytes());
            self.since_match = 0;
        }
    }

    fn marked_bytes(&mut self, packets: u64, are_bytes_known: bool, ack: &Ack<'_>) -> u64 {
        let is_counted = self.options == Options::Trusted && ack.option.len() >= 2;
        let total = if is_counted || are_bytes_known {
            self.ce_bytes()
        } else {
            let estimate = packets.saturating_mul(u64::from(ack.mss));
            self.reported + estimate.min(ack.bytes)
        };
        let news = total.saturating_sub(self.reported);
        self.reported = self.reported.max(total);
        news
    }
    fn ce_bytes(&self) -> u64 {
        // The counter of CE begins at zero.
        self.bytes[1]
    }
}

/// Movement of a counter of which the 24 low bits are known: up or down by less than half their
/// range (Linux `tcp_update_ecn_bytes`).
fn growth(known: u64, counter: u32) -> i64 {
    let modulus = i64::from(AccEcnOption::MODULUS);
    let difference = (i64::from(counter) - (known % u64::from(AccEcnOption::MODULUS)) as i64)
        .rem_euclid(modulus);
    if difference >= modulus / 2 {
        difference - modulus
    } else {
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::ace_flags;
    use crate::ecn::option::Order;

    const MSS: u32 = 1_460;

    /// An ACK that delivers `packets` full packets, with this ACE field and this option.
    fn ack<'a>(packets: u32, field: u64, option: &'a AccEcnOption) -> Ack<'a> {
        Ack {
            flags: Flags(ace_flags(field)),
            option,
            packets,
            bytes: u64::from(packets * MSS),
            mss: MSS,
            sent: 100_000,
            controls: 0,
        }
    }
    fn zero(counters: &[u64]) -> AccEcnOption {
        AccEcnOption::new(Order::Zero, counters)
    }

    /// Linux's packetdrill tests `tcp_accecn_delivered_updates`, `_maxack`, `_largeack`,
    /// `_largeack2` and `_2ndlargeack`: ACKs as (packets, ACE), and packets with CE at the end.
    #[test]
    fn the_field_alone_counts_up_to_seven_and_then_guesses() {
        for (acks, expected) in [
            (&[(1, 5), (1, 6), (1, 6), (1, 7), (1, 0)][..], 3),
            (&[(10, 4)], 7),
            (&[(10, 5)], 0),
            (&[(10, 6)], 1),
            (&[(1, 5), (9, 5)], 8),
        ] {
            let mut decoder = Decoder::new();
            let mut total = 0;
            for &(packets, field) in acks {
                let marks = decoder.on_ack(&ack(packets, field, &AccEcnOption::NONE));
                total += u64::from(marks.packets);
            }
            assert_eq!((total, decoder.ce_packets()), (expected, expected));
        }
    }

    /// RFC 9768 appendix A.2.1: 9 packets and an increment of 2 are 2, 10 packets are 10.
    #[test]
    fn without_options_the_safest_likely_case_is_assumed() {
        for (packets, expected) in [(9, 2), (10, 10), (15, 10), (18, 18)] {
            let mut decoder = Decoder::new();
            decoder.on_ack(&ack(1, 5, &AccEcnOption::NONE));
            let marks = decoder.on_ack(&ack(packets, 7, &AccEcnOption::NONE));
            assert_eq!(marks.packets, expected, "{packets}");
        }
    }

    /// RFC 9768 appendix A.2.2: (least increment, packets, newly marked bytes), MSS 1 460. The
    /// third example has 10 200 bytes for 7 or 15 packets.
    #[test]
    fn with_options_the_marked_bytes_decide() {
        for (least, packets, ce_bytes, expected) in [
            (0, 8, 1_460, 8),
            (2, 10, 1_460, 2),
            (7, 15, 10_200, 7),
            (2, 10, 0, 2),
            (0, 8, 0, 0),
            (2, 10, 10 * 1_460, 10),
            // More than one wrap: in proportion to the bytes delivered.
            (1, 33, 33 * 1_460, 33),
            (1, 33, 17 * 1_460, 17),
            (1, 33, 9 * 1_460, 9),
            (1, 33, 1_460, 1),
        ] {
            let mut decoder = Decoder::new();
            // Twice ECT(0) alone, so that it is clear what grows.
            decoder.on_ack(&ack(1, 5, &zero(&[1_461, 0])));
            let marks = decoder.on_ack(&ack(1, 5, &zero(&[2_921, 0])));
            assert_eq!(marks, Marks::default());
            let other = u64::from(packets * MSS) - ce_bytes;
            let option = zero(&[2_921 + other, ce_bytes]);
            let marks = decoder.on_ack(&ack(packets, 5 + least, &option));
            let expected = Marks {
                packets: expected,
                bytes: ce_bytes,
            };
            assert_eq!(marks, expected, "{least} {packets}");
        }
    }

    #[test]
    fn counters_go_round_and_may_go_back() {
        for (known, counter, expected) in [
            (33_554_433, 1_461, 1_460), // The example of RFC 9768 appendix A.1.
            (0, 0, 0),
            ((1 << 24) - 1, 0, 1),
            (1 << 24, (1 << 24) - 1, -1),
            (0, (1 << 23) - 1, (1 << 23) - 1),
            (0, 1 << 23, -(1 << 23)),
        ] {
            assert_eq!(growth(known, counter), expected, "{known} {counter}");
        }
    }

    /// Linux's packetdrill test `tcp_accecn_delivered_falseoverflow_detect`.
    #[test]
    fn an_option_rules_out_a_wrap() {
        let mut decoder = Decoder::new();
        decoder.on_first_option(&zero(&[1, 0, 1]));
        decoder.on_ack(&ack(1, 5, &zero(&[1_461, 0, 1])));
        let marks = decoder.on_ack(&ack(9, 5, &zero(&[14_601, 0, 1])));
        assert_eq!(marks, Marks::default());
    }

    #[test]
    fn without_option_bytes_are_added_to_the_counter_that_grew_last() {
        let mut decoder = Decoder::new();
        decoder.on_ack(&ack(1, 6, &zero(&[1, 1_460])));
        let marks = decoder.on_ack(&ack(10, 0, &AccEcnOption::NONE));
        let expected = Marks {
            packets: 10,
            bytes: 14_600,
        };
        assert_eq!(
            marks, expected,
            "all ten bytes count as CE, and 2 + 8 packets"
        );
        // The next option shows that three of them were ECT(0).
        decoder.on_ack(&ack(1, 0, &zero(&[1 + 4 * 1_460, 8 * 1_460])));
        assert_eq!(decoder.growing, None);
        assert_eq!(decoder.ce_bytes(), 8 * 1_460);
    }

    #[test]
    fn marked_bytes_are_counted_once_with_or_without_options() {
        let mut decoder = Decoder::new();
        decoder.on_first_option(&zero(&[1, 0, 1]));
        let mut total = 0;
        for (field, option) in [
            (5, zero(&[1_461, 0])),
            (6, AccEcnOption::NONE),
            (7, AccEcnOption::NONE),
            (7, zero(&[2 * 1_460 + 1, 2 * 1_460])),
            (0, zero(&[2 * 1_460 + 1, 3 * 1_460])),
        ] {
            total += decoder.on_ack(&ack(1, field, &option)).bytes;
        }
        assert_eq!(total, 3 * 1_460);
        assert_eq!(decoder.ce_packets(), 3);
    }

    /// Section 3.2.2.4. With three packets delivered, zero may be the true value.
    #[test]
    fn a_zero_at_the_start_means_that_something_clears_the_field() {
        for (packets, controls, is_mangled) in [
            (1, 0, true),
            (2, 0, true),
            (3, 0, false),
            (1, 1, true),
            (2, 1, false),
        ] {
            let mut decoder = Decoder::new();
            let mut first = ack(packets, 0, &AccEcnOption::NONE);
            first.controls = controls;
            let marks = decoder.on_ack(&first);
            assert_eq!(decoder.is_mangled(), is_mangled, "{packets} {controls}");
            assert_eq!(marks.packets == 0, is_mangled);
        }
        let mut decoder = Decoder::new();
        decoder.on_ack(&ack(1, 5, &AccEcnOption::NONE));
        for field in [6, 7, 0] {
            assert_eq!(
                decoder.on_ack(&ack(1, field, &AccEcnOption::NONE)).packets,
                1
            );
        }
        assert!(!decoder.is_mangled(), "only the first is tested");
    }

    /// Section 3.2.3.2.4.
    #[test]
    fn zeroed_byte_counters_are_ignored() {
        for first in [zero(&[0, 0, 1]), zero(&[1, 0, 0]), zero(&[0])] {
            let mut decoder = Decoder::new();
            decoder.on_first_option(&first);
            assert_eq!(decoder.options, Options::Ignored);
            // Ten packets: without the option, the safest case.
            decoder.on_ack(&ack(1, 5, &AccEcnOption::NONE));
            let marks = decoder.on_ack(&ack(10, 7, &zero(&[14_601, 0])));
            assert_eq!(marks.packets, 10);
        }
        let mut decoder = Decoder::new();
        decoder.on_first_option(&zero(&[]));
        assert_eq!(decoder.options, Options::Empty);
    }

    #[test]
    fn options_that_begin_too_late_are_ignored() {
        let mut decoder = Decoder::new();
        let mut late = ack(1, 5, &AccEcnOption::NONE);
        late.sent = TOO_LATE;
        decoder.on_ack(&late);
        assert_eq!(decoder.options, Options::Ignored);
    }

    /// Section 3.2.3.2.5.
    #[test]
    fn marked_bytes_without_marked_packets_are_mangling() {
        for (packets, field, is_mangled) in [(1, 5, true), (1, 6, false), (8, 5, false)] {
            let mut decoder = Decoder::new();
            decoder.on_ack(&ack(1, 5, &zero(&[1_461, 0])));
            decoder.on_ack(&ack(packets, field, &zero(&[1_461, 1_460])));
            assert_eq!(decoder.is_mangled(), is_mangled, "{packets} {field}");
            assert!(!decoder.is_deaf);
        }
        // The packets may have been reported before the bytes.
        let mut decoder = Decoder::new();
        decoder.on_ack(&ack(1, 5, &zero(&[1_461, 0])));
        decoder.on_ack(&ack(1, 6, &AccEcnOption::NONE));
        decoder.on_ack(&ack(1, 6, &zero(&[2_921, 1_460])));
        assert!(!decoder.is_mangled());
    }
}
