//! Explicit congestion notification between two hosts: RFC 3168, RFC 8257 and RFC 9768 (AccECN);
//! Linux `include/net/tcp_ecn.h` and `net/ipv4/tcp_input.c`.
//!
//! * [`mode`]: what a host asks for.
//! * [`handshake`]: how the two ends agree on a feedback.
//! * [`counters`]: what an end with AccECN counts of arrivals, and when and how it reports it.
//! * [`decoder`]: what it learns from the reports of the other end.
//! * [`option`]: the option that carries the byte counters.
//!
//! Both ends of a connection use all of it: the sender reports on the receiver's ACKs in its data
//! packets, since ACKs may be marked too.

pub(crate) mod counters;
pub(crate) mod decoder;
pub(crate) mod handshake;
mod mode;
pub(crate) mod option;

pub use mode::{AccEcnOptionUse, Codepoint, EcnMode, EctScope};

use quell_units::Ecn;

use crate::flags::Flags;

/// The ECN feedback that the two ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum FeedbackMode {
    /// No ECN, or nothing agreed on yet.
    #[default]
    Off,
    /// RFC 3168: ECE until CWR.
    Classic,
    /// RFC 8257: the ECE flag of each ACK reports on the segments that it acknowledges.
    Dctcp,
    /// RFC 9768 (AccECN).
    Accurate,
}

/// The IP-ECN fields of the packets that a host sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    /// For new data.
    pub(crate) new_data: Ecn,
    /// For ACKs and retransmissions.
    pub(crate) others: Ecn,
}

impl Fields {
    /// Nothing is ECN-capable.
    pub(crate) const NOT_ECT: Self = Self {
        new_data: Ecn::NotEct,
        others: Ecn::NotEct,
    };
    /// The fields once the two ends have agreed on a feedback.
    pub(crate) fn new(mode: EcnMode, scope: EctScope, agreed: FeedbackMode) -> Self {
        let new_data = match (agreed, mode) {
            (FeedbackMode::Off, _) => return Self::NOT_ECT,
            // ECT(1) asks for L4S, which needs more than Classic feedback (RFC 9331 section 4.2).
            (FeedbackMode::Classic, EcnMode::Accurate(_)) => Ecn::Ect0,
            _ => mode.codepoint(),
        };
        // RFC 3168 section 6.1: never with Classic feedback, which could not report a mark on them.
        let are_all = agreed != FeedbackMode::Classic && scope >= EctScope::Established;
        let others = if are_all { new_data } else { Ecn::NotEct };
        Self { new_data, others }
    }
}

/// Initial values of the counters. RFC 9768 section 3.2.1: "r.cep = 5, r.e0b = r.e1b = 1 and r.ceb = 0"
/// (Linux `TCP_ACCECN_CEP_INIT_OFFSET`, `_E0B_`, `_E1B_` and `_CEB_INIT_OFFSET`).
pub(crate) const FIRST_CE_PACKETS: u64 = 5;
/// ECT(0), CE, ECT(1), as in [`Order::Zero`](option::Order::Zero).
pub(crate) const FIRST_BYTES: [u64; 3] = [1, 0, 1];
/// The three bits of the ACE counter (Linux `TCP_ACCECN_CEP_ACE_MASK`).
pub(crate) const ACE_MASK: u64 = 7;

/// The three low bits of a counter as flags. RFC 9768 section 3.2.2: "The least significant bit is at
/// bit offset 9", where ECE is.
pub(crate) fn ace_flags(count: u64) -> u16 {
    // ECE, CWR and AE are adjacent bits in `Flags`.
    (count & ACE_MASK) as u16 * Flags::ECE
}

/// The ACE field of a segment.
pub(crate) fn ace(flags: Flags) -> u64 {
    u64::from(flags.0 / Flags::ECE) & ACE_MASK
}

#[cfg(test)]
mod tests {
    use quell_units::{Random, Time};

    use super::counters::{Counters, SackRoom};
    use super::decoder::{Ack, Decoder};
    use super::*;

    const MSS: u64 = 1_448;

    /// Passes 20 000 packets, `percent` of them with CE, to the counters, and to the decoder each ACK
    /// that `survives`, which gets the number of packets that the ACK delivers. Returns what was marked
    /// and what the decoder found, in packets and bytes.
    fn thinned(
        usage: AccEcnOptionUse,
        percent: u64,
        seed: u64,
        mut survives: impl FnMut(&mut Random, u32) -> bool,
    ) -> ([u64; 2], [u64; 2]) {
        let mut random = Random::new(seed, "marks");
        let mut counters = Counters::new(usage, Ecn::NotEct);
        counters.on_option_seen();
        let mut decoder = Decoder::new();
        decoder.on_first_option(&counters.syn_ack_option());
        let (mut were, mut found) = ([0; 2], [0; 2]);
        let (mut packets, mut sent) = (0, 0);
        for n in 0..20_000 {
            // The first ones show that there are options, and which counter grows.
            let is_marked = n > 10 && random.below(100) < percent;
            let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect1 };
            counters.on_packet(ecn, MSS);
            were[0] += u64::from(is_marked);
            were[1] += if is_marked { MSS } else { 0 };
            packets += 1;
            sent += MSS;
            let flags = Flags(counters.ace_flags());
            let (option, _) = counters.option(SackRoom::NO_BLOCKS, None, None, Time::ZERO);
            if n > 10 && n < 19_999 && !survives(&mut random, packets) {
                continue;
            }
            let marks = decoder.on_ack(&Ack {
                flags,
                option: &option,
                packets,
                bytes: u64::from(packets) * MSS,
                mss: MSS as u32,
                sent,
                controls: 0,
            });
            found[0] += u64::from(marks.packets);
            found[1] += marks.bytes;
            packets = 0;
        }
        (were, found)
    }

    /// RFC 9768 section 3.2.2.5.2 with options, whatever the pattern of lost ACKs.
    #[test]
    fn byte_counters_make_up_for_lost_acks() {
        for seed in 0..20 {
            for percent in [1, 10, 50, 90, 100] {
                for kept in [1, 5, 20, 50, 100] {
                    let (were, found) =
                        thinned(AccEcnOptionUse::Always, percent, seed, |random, _| {
                            random.below(100) < kept
                        });
                    assert_eq!(found, were, "{percent} % marked, {kept} % kept");
                }
            }
        }
    }

    /// Without options, and with ACKs that deliver two packets except in gaps of 8 to 40: never too few,
    /// and exact without gaps.
    #[test]
    fn caution_makes_up_for_lost_acks() {
        for seed in 0..20 {
            for percent in [1, 10, 50, 90, 100] {
                for (gaps, is_exact) in [(0, true), (20, false)] {
                    let mut until = 2;
                    let survives = |random: &mut Random, packets: u32| {
                        let is_sent = packets >= until;
                        if is_sent {
                            let is_gap = random.below(1_000) < gaps;
                            until = if is_gap {
                                8 + random.below(33) as u32
                            } else {
                                2
                            };
                        }
                        is_sent
                    };
                    let never = AccEcnOptionUse::Never;
                    let (were, found) = thinned(never, percent, seed, survives);
                    let what = format!("{percent} % marked: {were:?}, found {found:?}");
                    assert!(found[0] >= were[0] && found[1] >= were[1], "{what}");
                    assert!(!is_exact || found == were, "{what}");
                }
            }
        }
    }

    #[test]
    fn the_ace_field_is_the_three_flags() {
        for (value, flags) in [
            (0, 0),
            (1, Flags::ECE),
            (2, Flags::CWR),
            (4, Flags::AE),
            (13, Flags::AE | Flags::ECE),
        ] {
            assert_eq!(ace_flags(value), flags);
            assert_eq!(ace(Flags(flags | Flags::ACK | Flags::FIN)), value & 7);
        }
    }
}
