//! The ECN mode of a host: the feedback, the codepoint of its packets, and which of them carry it.

use quell_units::Ecn;

use super::FeedbackMode;

/// The ECN-capable codepoint that a host sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codepoint {
    /// ECT(0): Classic (RFC 3168), and Linux's DCTCP.
    Ect0,
    /// ECT(1): L4S (RFC 9331).
    Ect1,
}

impl Codepoint {
    /// The field in the IP header.
    pub const fn ecn(self) -> Ecn {
        match self {
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

/// The ECN feedback that a host asks for or agrees to, and the codepoint of its packets. The handshake
/// decides which feedback the two ends use, see [`FeedbackMode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnMode {
    /// No ECN: packets are Not-ECT.
    #[default]
    Off,
    /// RFC 3168: ECE until CWR.
    Classic(Codepoint),
    /// RFC 8257: the ECE flag of each ACK reports on the segments that it acknowledges. The handshake is
    /// that of RFC 3168, so the peer must have the same configuration.
    Dctcp(Codepoint),
    /// RFC 9768 (AccECN): three flag bits carry the number of packets with CE, modulo 8, and an option
    /// carries numbers of bytes. Falls back to RFC 3168, with ECT(0), if the peer supports no more.
    Accurate(Codepoint),
}

impl EcnMode {
    /// This feedback with packets of this codepoint.
    pub const fn new(feedback: FeedbackMode, codepoint: Codepoint) -> Self {
        match feedback {
            FeedbackMode::Off => Self::Off,
            FeedbackMode::Classic => Self::Classic(codepoint),
            FeedbackMode::Dctcp => Self::Dctcp(codepoint),
            FeedbackMode::Accurate => Self::Accurate(codepoint),
        }
    }
    /// The codepoint of ECN-capable packets; Not-ECT if ECN is off.
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Classic(codepoint) | Self::Dctcp(codepoint) | Self::Accurate(codepoint) => {
                codepoint.ecn()
            }
        }
    }
    /// Which packets are ECN-capable unless the configuration says otherwise: all of them with DCTCP's
    /// feedback, as with each control of Linux that needs ECN; else new data.
    pub const fn scope(self) -> EctScope {
        match self {
            Self::Dctcp(_) => EctScope::Everything,
            _ => EctScope::NewData,
        }
    }
}

/// Which packets are ECN-capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EctScope {
    /// New data, not retransmissions (RFC 3168 sections 5.2 and 6.1).
    NewData,
    /// Also ACKs and retransmissions, once the connection is open, as Linux does with AccECN.
    Established,
    /// Also SYN and SYN-ACK, as with ECN++ (draft-ietf-tcpm-generalized-ecn), which needs AccECN, and in
    /// Linux with a control that needs ECN.
    Everything,
}

/// Use of the option of RFC 9768 section 3.2.3 by a host with AccECN (Linux `tcp_ecn_option`): on its first
/// SYN-ACK unless never, and then only to a host that has sent it too (`saw_accecn_opt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccEcnOptionUse {
    /// Never. The option of the other end is read all the same.
    Never,
    /// Sends it in the handshake and on the first data; after each CE and each change of the IP-ECN field; three
    /// times per RTT while a counter grows; once per 4 MiB.
    Sparing,
    /// On every packet that has room for it; Linux's default.
    Always,
}
