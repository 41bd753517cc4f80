//! The feedback that the two ends agree on, and what the handshake itself reports: RFC 3168 section
//! 6.1.1, RFC 9768 section 3.1 and 3.2.2.1; Linux `include/net/tcp_ecn.h`.
//!
//! Not modelled: RST after a mix of Classic and AccECN handshakes (RFC 9768 section 3.1.5), which
//! needs a host that changes its mind; simultaneous open; a cache of failures.

use quell_units::Ecn;

use super::{FeedbackMode, ace, ace_flags};
use crate::ecn::EcnMode;
use crate::flags::Flags;

/// AE, CWR and ECE.
const ALL: u16 = Flags::AE | Flags::CWR | Flags::ECE;
/// Flags of a Classic ECN-setup SYN (RFC 3168 section 6.1.1).
const CLASSIC: u16 = Flags::CWR | Flags::ECE;

/// The flags of the client's `attempt`th SYN, counted from 1.
///
/// Linux falls back to a SYN without ECN at the first retransmission (RFC 3168 section 6.1.1.1,
/// `tcp_ecn_fallback`), and with AccECN at the second (`__tcp_retransmit_skb`): RFC 9768 section 3.1.4.1,
/// "SHOULD attempt to negotiate the use of AccECN at least one more time".
pub(crate) fn syn_flags(mode: EcnMode, attempt: u32) -> u16 {
    match mode {
        EcnMode::Classic(_) | EcnMode::Dctcp(_) if attempt <= 1 => CLASSIC,
        EcnMode::Accurate(_) if attempt <= 2 => ALL,
        _ => 0,
    }
}

/// The server's feedback after the first SYN (RFC 9768 table 2).
pub(crate) fn accept(mode: EcnMode, syn: Flags) -> FeedbackMode {
    match mode {
        EcnMode::Off => FeedbackMode::Off,
        // A host of RFC 3168 ignores the AE flag.
        EcnMode::Classic(_) if syn.has(CLASSIC) => FeedbackMode::Classic,
        EcnMode::Dctcp(_) if syn.has(CLASSIC) => FeedbackMode::Dctcp,
        EcnMode::Classic(_) | EcnMode::Dctcp(_) => FeedbackMode::Off,
        // Section 3.1.3: any combination other than 000 and 011 counts as 111.
        EcnMode::Accurate(_) => match ace(syn) {
            0b000 => FeedbackMode::Off,
            0b011 => FeedbackMode::Classic,
            _ => FeedbackMode::Accurate,
        },
    }
}

/// The flags of a SYN-ACK; `arrived` is the IP-ECN field of the latest SYN.
///
/// An AccECN server clears the flags after two time-outs, and keeps its mode (RFC 9768 section
/// 3.2.3.2.2).
pub(crate) fn syn_ack_flags(feedback: FeedbackMode, arrived: Ecn, timeouts: u32) -> u16 {
    match feedback {
        FeedbackMode::Off => 0,
        FeedbackMode::Classic | FeedbackMode::Dctcp => Flags::ECE,
        FeedbackMode::Accurate if timeouts >= 2 => 0,
        FeedbackMode::Accurate => echo(arrived),
    }
}

/// The client's feedback after the first SYN-ACK (RFC 9768 table 2).
pub(crate) fn confirm(mode: EcnMode, syn_ack: Flags) -> FeedbackMode {
    match (mode, ace(syn_ack)) {
        (EcnMode::Off, _) => FeedbackMode::Off,
        // RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE set and CWR cleared.
        (EcnMode::Classic(_), 0b001 | 0b101) => FeedbackMode::Classic,
        (EcnMode::Dctcp(_), 0b001 | 0b101) => FeedbackMode::Dctcp,
        (EcnMode::Classic(_) | EcnMode::Dctcp(_), _) => FeedbackMode::Off,
        // No ECN, or a broken server that reflects the flags of the SYN.
        (EcnMode::Accurate(_), 0b000 | 0b111) => FeedbackMode::Off,
        (EcnMode::Accurate(_), 0b001) => FeedbackMode::Classic,
        // 101 is reserved: AccECN, as if the SYN had arrived unchanged (section 3.1.3; Linux since
        // c5ff6b837159, which took it for Classic before).
        (EcnMode::Accurate(_), _) => FeedbackMode::Accurate,
    }
}

/// The handshake encoding of an IP-ECN field (RFC 9768 tables 2 and 3; Linux
/// `tcp_accecn_reflector_flags`).
pub(crate) fn echo(arrived: Ecn) -> u16 {
    ace_flags(match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// The IP-ECN field that the handshake encoding echoes; `None` for the other four values (RFC 9768 table
/// 4).
pub(crate) fn echoed(flags: Flags) -> Option<Ecn> {
    match ace(flags) {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether the network may change the field from `sent` to `arrived` (RFC 3168 section 18, RFC 9768
/// section 3.2.2.3; Linux `tcp_ect_transition_valid`). ECT(0) and ECT(1) may change into each other,
/// because RFC 3168 does not forbid it.
pub(crate) fn is_valid(sent: Ecn, arrived: Ecn) -> bool {
    sent == arrived || (sent != Ecn::NotEct && arrived != Ecn::NotEct && sent != Ecn::Ce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::Codepoint;

    const OFF: EcnMode = EcnMode::Off;
    const CLASSIC_MODE: EcnMode = EcnMode::Classic(Codepoint::Ect0);
    const DCTCP: EcnMode = EcnMode::Dctcp(Codepoint::Ect0);
    const ACCURATE: EcnMode = EcnMode::Accurate(Codepoint::Ect1);

    fn flags(bits: u64) -> Flags {
        Flags(ace_flags(bits))
    }

    /// RFC 9768 table 2, rows of a client with AccECN; Linux packetdrill `tcp_accecn_serverside_*`.
    #[test]
    fn the_client_enters_the_mode_of_the_first_syn_ack() {
        let cases = [
            (ACCURATE, 0b010, FeedbackMode::Accurate),
            (ACCURATE, 0b011, FeedbackMode::Accurate),
            (ACCURATE, 0b100, FeedbackMode::Accurate),
            (ACCURATE, 0b110, FeedbackMode::Accurate),
            (ACCURATE, 0b101, FeedbackMode::Accurate),
            (ACCURATE, 0b001, FeedbackMode::Classic),
            (ACCURATE, 0b000, FeedbackMode::Off),
            (ACCURATE, 0b111, FeedbackMode::Off),
            (CLASSIC_MODE, 0b001, FeedbackMode::Classic),
            (CLASSIC_MODE, 0b000, FeedbackMode::Off),
            (CLASSIC_MODE, 0b011, FeedbackMode::Off),
            (DCTCP, 0b001, FeedbackMode::Dctcp),
            (OFF, 0b001, FeedbackMode::Off),
        ];
        for (mode, ace, expected) in cases {
            assert_eq!(confirm(mode, flags(ace)), expected, "{mode:?} {ace:03b}");
        }
    }

    /// RFC 9768 table 2 and section 3.1.3, a server with AccECN; RFC 3168 section 6.1.1, one without.
    #[test]
    fn the_server_enters_the_mode_that_the_first_syn_asks_for() {
        for ace in 0..8 {
            let expected = match ace {
                0b000 => FeedbackMode::Off,
                0b011 => FeedbackMode::Classic,
                _ => FeedbackMode::Accurate,
            };
            assert_eq!(accept(ACCURATE, flags(ace)), expected, "{ace:03b}");
            let is_setup = matches!(ace, 0b011 | 0b111);
            let classic = [FeedbackMode::Off, FeedbackMode::Classic][usize::from(is_setup)];
            assert_eq!(accept(CLASSIC_MODE, flags(ace)), classic, "{ace:03b}");
            let dctcp = [FeedbackMode::Off, FeedbackMode::Dctcp][usize::from(is_setup)];
            assert_eq!(accept(DCTCP, flags(ace)), dctcp, "{ace:03b}");
            assert_eq!(accept(OFF, flags(ace)), FeedbackMode::Off, "{ace:03b}");
        }
    }

    /// RFC 9768 tables 2, 3 and 4.
    #[test]
    fn the_handshake_encoding_is_decoded_as_it_was_encoded() {
        for (ecn, bits) in [
            (Ecn::NotEct, 0b010),
            (Ecn::Ect1, 0b011),
            (Ecn::Ect0, 0b100),
            (Ecn::Ce, 0b110),
        ] {
            assert_eq!(ace(Flags(echo(ecn))), bits);
            assert_eq!(echoed(flags(bits)), Some(ecn));
            let syn_ack = Flags(syn_ack_flags(FeedbackMode::Accurate, ecn, 1));
            assert_eq!(ace(syn_ack), bits);
            assert_eq!(syn_ack_flags(FeedbackMode::Accurate, ecn, 2), 0);
        }
        for bits in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(echoed(flags(bits)), None);
        }
        assert_eq!(syn_ack_flags(FeedbackMode::Classic, Ecn::Ce, 0), Flags::ECE);
    }

    #[test]
    fn a_syn_that_does_not_get_through_asks_for_less() {
        let ask = |mode| [1, 2, 3].map(|attempt| ace(Flags(syn_flags(mode, attempt))));
        assert_eq!(ask(OFF), [0, 0, 0]);
        assert_eq!(ask(CLASSIC_MODE), [0b011, 0, 0]);
        assert_eq!(ask(DCTCP), [0b011, 0, 0]);
        assert_eq!(ask(ACCURATE), [0b111, 0b111, 0]);
    }

    /// RFC 9768 section 3.2.2.3: Not-ECT changes, ECT becomes Not-ECT, CE changes.
    #[test]
    fn three_kinds_of_transition_are_invalid() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (sent, valid) in [
            (NotEct, &[NotEct][..]),
            (Ect0, &[Ect0, Ect1, Ce]),
            (Ect1, &[Ect0, Ect1, Ce]),
            (Ce, &[Ce]),
        ] {
            for arrived in [NotEct, Ect0, Ect1, Ce] {
                assert_eq!(is_valid(sent, arrived), valid.contains(&arrived));
            }
        }
    }
}
