//! The parameters of PIE.

use crate::limit::limit_row;
use crate::parameter::{self, Amount, Domain, Parameter, Preset};
use crate::units::{Bytes, Time, parameters, words};

const LINUX: Option<(&str, &str)> = Some(("form", "linux"));
const RFC8033: Option<(&str, &str)> = Some(("form", "rfc8033"));
pub(crate) const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds.
pub(crate) const LONGEST: Time = Time::from_micros(u32::MAX as u64);
/// The parts of 1 in which `max_ecnth` is kept.
pub(super) const FRACTIONS: u64 = 1 << 20;

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter {
    source: "tc-pie(8)",
    ..Parameter::LIVE
};

words! {
    /// The word of `form`.
    pub(crate) enum Form {
        Linux = "linux",
        Rfc8033 = "rfc8033",
    }
}
words! {
    /// When the probability decays.
    pub(crate) enum Decay {
        /// Both delays are below half the target (appendix B).
        BelowHalf = "below_half",
        /// Both delays are zero (section 4.2, appendix A).
        Zero = "zero",
    }
}
parameters! {
    /// The parameters of PIE.
    pub struct Parameters {
        form: Form = Parameter {
            domain: Form::DOMAIN,
            default: Preset::Is("linux"),
            live: false,
            source: "quell",
            help: "Linux's sch_pie to the integer, or RFC 8033 appendix B.",
            ..ROW
        },
        limit: Amount = limit_row("1000p", "tc-pie(8); RFC 8033 names none (TAIL_DROP)"),
        target: Time = Parameter {
            threshold: Some(parameter::Threshold::Standing),
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("15ms"),
            source: "tc-pie(8); RFC 8033 section 4.2 (QDELAY_REF)",
            help: "Queue delay that the controller holds.",
            ..ROW
        },
        tupdate: Time = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("15ms"),
            source: "tc-pie(8); RFC 8033 section 4.2 (T_UPDATE)",
            help: "Interval between two updates of the probability.",
            ..ROW
        },
        alpha: u64 = Parameter {
            domain: Domain::Integer(0, 32),
            default: Preset::Is("2"),
            source: "tc-pie(8), in 1/16 Hz; RFC 8033 section 4.2: 1/8 Hz",
            help: "Integral gain, in sixteenths of 1 Hz.",
            ..ROW
        },
        beta: u64 = Parameter {
            domain: Domain::Integer(0, 32),
            default: Preset::Is("20"),
            source: "tc-pie(8), in 1/16 Hz; RFC 8033 section 4.2: 1 1/4 Hz",
            help: "Proportional gain, in sixteenths of 1 Hz.",
            ..ROW
        },
        ecn: bool = Parameter {
            opposite: Some("noecn"),
            default: Preset::By("form", &[("linux", "false"), ("rfc8033", "true")]),
            source: "tc-pie(8); RFC 8033 section 5.1",
            help: "Mark ECN-capable packets while the probability is low, instead of dropping them.",
            ..ROW
        },
        bytemode: bool = Parameter {
            opposite: Some("nobytemode"),
            only: LINUX,
            help: "Scale the probability by the packet's length in MTUs.",
            ..ROW
        },
        dq_rate_estimator: bool = Parameter {
            opposite: Some("no_dq_rate_estimator"),
            source: "tc-pie(8); RFC 8033 section 5.2",
            help: "Estimate the delay from backlog and departure rate instead of measuring it.",
            ..ROW
        },
        max_burst: Time = Parameter {
            domain: Domain::Time(Time::ZERO, LONGEST),
            default: Preset::Is("150ms"),
            only: RFC8033,
            source: "RFC 8033 section 4.4 (MAX_BURST); Linux: fixed",
            help: "How long a burst after a calm time passes without signals.",
            ..ROW
        },
        max_ecnth: u64 = Parameter {
            domain: Domain::Fraction(0, FRACTIONS, FRACTIONS),
            default: Preset::Is("0.1"),
            only: RFC8033,
            source: "RFC 8033 section 5.1 (MAX_ECNTH); Linux: fixed",
            help: "From this probability on ECN-capable packets are dropped too.",
            ..ROW
        },
        mean_pktsize: Option<Bytes> = Parameter {
            domain: Domain::Bytes(1, u32::MAX as u64),
            default: Preset::Derived("the MTU"),
            only: RFC8033,
            source: "RFC 8033 section 4.1 (MEAN_PKTSIZE), which gives no value",
            help: "No signal while no more than twice this is queued.",
            ..ROW
        },
        on_off: bool = Parameter {
            default: Preset::Is("true"),
            only: RFC8033,
            source: "RFC 8033 section 5.3",
            help: "Rest until a third of the limit is used, and again once the queue has been calm.",
            ..ROW
        },
        derandomize: bool = Parameter {
            default: Preset::Is("true"),
            only: RFC8033,
            source: "RFC 8033 section 5.4",
            help: "Space signals: none below an accumulated probability of 0.85, always from 8.5.",
            ..ROW
        },
        cap_drop: bool = Parameter {
            default: Preset::Is("true"),
            only: RFC8033,
            source: "RFC 8033 section 5.5",
            help: "From a probability of 10 % on, raise it by at most 2 % at a time.",
            ..ROW
        },
        decay: Decay = Parameter {
            domain: Decay::DOMAIN,
            default: Preset::Is("below_half"),
            only: RFC8033,
            source: "RFC 8033 appendix B, appendix A",
            help: "The probability decays while two delays are below half the target, or zero.",
            ..ROW
        },
    }
}
