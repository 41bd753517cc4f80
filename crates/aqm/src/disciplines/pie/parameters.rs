//! The parameters of PIE.

use crate::limit::LIMIT_ROW;
use crate::parameter::{self, Amount, Domain, Parameter};
use crate::units::{Bytes, Time, parameters, words};

const LINUX: (&str, &str) = ("form", "linux");
const RFC8033: (&str, &str) = ("form", "rfc8033");
pub(crate) const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds.
pub(crate) const LONGEST: Time = Time::from_micros(u32::MAX as u64);
/// The parts of 1 in which `max_ecnth` is kept.
pub(super) const FRACTIONS: u64 = 1 << 20;

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter::LIVE.source("tc-pie(8)");

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
        /// Linux's sch_pie to the integer, or RFC 8033 appendix B.
        form: Form = ROW.default("linux").fixed().source("quell"),
        limit: Amount = LIMIT_ROW.default("1000p").source("tc-pie(8); RFC 8033 names none (TAIL_DROP)"),
        /// Queue delay that the controller holds.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("15ms").source("tc-pie(8); RFC 8033 section 4.2 (QDELAY_REF)"),
        /// Interval between two updates of the probability.
        tupdate: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("15ms")
            .source("tc-pie(8); RFC 8033 section 4.2 (T_UPDATE)"),
        /// Integral gain, in sixteenths of 1 Hz.
        alpha: u64 = ROW.domain(Domain::Integer(0, 32)).default("2")
            .source("tc-pie(8), in 1/16 Hz; RFC 8033 section 4.2: 1/8 Hz"),
        /// Proportional gain, in sixteenths of 1 Hz.
        beta: u64 = ROW.domain(Domain::Integer(0, 32)).default("20")
            .source("tc-pie(8), in 1/16 Hz; RFC 8033 section 4.2: 1 1/4 Hz"),
        /// Mark ECN-capable packets while the probability is low, instead of dropping them.
        ecn: bool = ROW.opposite("noecn").default_by("form", &[("linux", "false"), ("rfc8033", "true")])
            .source("tc-pie(8); RFC 8033 section 5.1"),
        /// Scale the probability by the packet's length in MTUs.
        bytemode: bool = ROW.opposite("nobytemode").only(LINUX),
        /// Estimate the delay from backlog and departure rate instead of measuring it.
        dq_rate_estimator: bool = ROW.opposite("no_dq_rate_estimator").source("tc-pie(8); RFC 8033 section 5.2"),
        /// How long a burst after a calm time passes without signals.
        max_burst: Time = ROW.domain(Domain::Time(Time::ZERO, LONGEST)).default("150ms").only(RFC8033)
            .source("RFC 8033 section 4.4 (MAX_BURST); Linux: fixed"),
        /// From this probability on ECN-capable packets are dropped too.
        max_ecnth: u64 = ROW.domain(Domain::Fraction(0, FRACTIONS, FRACTIONS)).default("0.1").only(RFC8033)
            .source("RFC 8033 section 5.1 (MAX_ECNTH); Linux: fixed"),
        /// No signal while no more than twice this is queued.
        mean_pktsize: Option<Bytes> = ROW.domain(Domain::Bytes(1, u32::MAX as u64)).derived("the MTU").only(RFC8033)
            .source("RFC 8033 section 4.1 (MEAN_PKTSIZE), which gives no value"),
        /// Rest until a third of the limit is used, and again once the queue has been calm.
        on_off: bool = ROW.default("true").only(RFC8033).source("RFC 8033 section 5.3"),
        /// Space signals: none below an accumulated probability of 0.85, always from 8.5.
        derandomize: bool = ROW.default("true").only(RFC8033).source("RFC 8033 section 5.4"),
        /// From a probability of 10 % on, raise it by at most 2 % at a time.
        cap_drop: bool = ROW.default("true").only(RFC8033).source("RFC 8033 section 5.5"),
        /// The probability decays while two delays are below half the target, or zero.
        decay: Decay = ROW.default("below_half").only(RFC8033).source("RFC 8033 appendix B, appendix A"),
    }
}
