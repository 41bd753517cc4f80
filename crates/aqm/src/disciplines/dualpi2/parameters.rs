//! The parameters of DualPI2, and the gains that several of them determine together.

use crate::parameter::{self, Amount, Domain, Given, Parameter, ParameterError, Preset};
use crate::queue_protection;
use crate::scheduler;
use crate::threshold::Threshold;
use crate::units::{Bytes, Frequency, Time, name_of, parameters, words};

const LINUX: (&str, &str) = ("form", "linux");
const RFC9332: (&str, &str) = ("form", "rfc9332");
const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds and stores intervals as 32-bit nanoseconds.
const LONGEST: Time = Time::from_nanos(u32::MAX as u64);
const LEAST_GAIN: Frequency = Frequency::from_nanohertz(1);
/// Linux: at most 2³¹ − 1 units of 1/256 Hz.
const LARGEST_GAIN: Frequency = Frequency::from_256ths((1 << 31) - 1);

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter::LIVE.source("tc-dualpi2(8)");

words! {
    /// The word of `form`.
    pub(crate) enum Form {
        Linux = "linux",
        Rfc9332 = "rfc9332",
    }
}

parameters! {
    /// The parameters of DualPI2.
    pub struct Parameters {
        /// Linux's sch_dualpi2 to the integer, or RFC 9332 appendix A.
        form: Form = ROW.default("linux").fixed().source("quell"),
        /// What both queues together may hold: packets (linux), bytes or time (rfc9332).
        limit: Amount = ROW.domain(Domain::Limit { plain_is_packets: true })
            .default_by("form", &[("linux", "10000p"), ("rfc9332", "250ms")])
            .source("tc-dualpi2(8); RFC 9332 figure 2 (250 ms at the link's highest rate)"),
        /// Memory that both queues together may occupy.
        memlimit: Option<Bytes> = ROW.domain(Domain::Bytes(1, u32::MAX as u64)).derived("limit × 2 × MTU")
            .only(LINUX).source("tc-dualpi2(8); the kernel doubles what the page states"),
        /// Queue delay that the PI controller holds.
        target: Given<Time> = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("15ms").source("tc-dualpi2(8); RFC 9332 figure 2"),
        /// Interval between two updates of the probability.
        tupdate: Given<Time> = ROW.domain(Domain::Time(SHORTEST, LONGEST))
            .default_by("form", &[("linux", "16ms"), ("rfc9332", "15ms")])
            .source("sch_dualpi2.c; RFC 9332 figure 2: min(target, RTT_max/3)"),
        /// Integral gain.
        alpha: Given<Frequency> = ROW.domain(Domain::Frequency(LEAST_GAIN, LARGEST_GAIN))
            .default_by("form", &[("linux", "0.16015625"), ("rfc9332", "0.15")])
            .source("sch_dualpi2.c: 41/256 Hz; RFC 9332 figure 2: 0.1·Tupdate/RTT_max²"),
        /// Proportional gain.
        beta: Given<Frequency> = ROW.domain(Domain::Frequency(LEAST_GAIN, LARGEST_GAIN))
            .default_by("form", &[("linux", "3.19921875"), ("rfc9332", "3")])
            .source("sch_dualpi2.c: 819/256 Hz; RFC 9332 figure 2: 0.3/RTT_max"),
        /// With max_rtt, sets target, tupdate, alpha and beta.
        typical_rtt: Option<Time> = ROW.domain(Domain::Time(SHORTEST, LONGEST))
            .derived("max_rtt / 6 where that is given"),
        /// With typical_rtt, sets target, tupdate, alpha and beta.
        max_rtt: Option<Time> = ROW.domain(Domain::Time(SHORTEST, LONGEST))
            .derived("6 × typical_rtt where that is given"),
        /// How much more often L4S is marked than the square root of Classic's probability.
        coupling_factor: u64 = ROW.domain(Domain::Integer(1, 255)).default("2")
            .source("tc-dualpi2(8); RFC 9332 figure 2 (k)"),
        /// Every ECN-capable packet is L4S, not only ECT(1) and CE: for DCTCP in laboratories.
        any_ect: bool = ROW.opposite("l4s_ect"),
        /// On overload let the queues grow to their limit instead of dropping ECN packets too.
        overflow: bool = ROW.opposite("drop_on_overload")
            .source("tc-dualpi2(8); RFC 9332 section 4.2.3 (delay on saturation)"),
        /// Above this sojourn time, or number of packets left in the L4S queue, L4S is marked.
        step_thresh: Threshold = ROW.threshold(parameter::Threshold::EachPacket { spares: Some(("min_qlen_step", 1)) })
            .domain(Domain::TimeOrPackets((Time::ZERO, LONGEST), (0, u32::MAX as u64))).default("1ms").only(LINUX),
        /// The step applies to a packet that found at least this many in the L4S queue.
        min_qlen_step: u64 = ROW.domain(Domain::Packets(0, u32::MAX as u64)).default("0p").only(LINUX),
        /// The PI2 AQM acts when a packet arrives instead of when it leaves.
        drop_enqueue: bool = ROW.opposite("drop_dequeue").only(LINUX),
        /// Sojourn time at which the native L4S marking begins.
        min_th: Time = ROW.threshold(parameter::Threshold::EachPacket { spares: Some(("th_len", 1)) })
            .domain(Domain::Time(Time::ZERO, LONGEST)).default("800us").only(RFC9332)
            .source("RFC 9332 figure 2 (minTh)"),
        /// Over this range the native marking rises from 0 to 1; 0 is a step at min_th.
        range: Time = ROW.domain(Domain::Time(Time::ZERO, LONGEST)).default("400us").only(RFC9332)
            .source("RFC 9332 figure 2"),
        /// With no more packets than this in the L4S queue, native marking is suppressed.
        th_len: u64 = ROW.domain(Domain::Packets(0, u32::MAX as u64)).default("1p").only(RFC9332)
            .source("RFC 9332 figure 2 (Th_len)"),
        ..scheduler: scheduler::Parameters = scheduler::rows(
            Preset::By("form", &[("linux", "credit"), ("rfc9332", "wrr")]),
            "sch_dualpi2.c; RFC 9332 appendix A.2",
        ),
        ..protection: queue_protection::Parameters = queue_protection::ROWS,
    }
}

/// The parameters of the PI controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gains {
    pub(super) target: Time,
    pub(super) update_interval: Time,
    pub(super) alpha: Frequency,
    pub(super) beta: Frequency,
}

impl Gains {
    /// The gains from `target`, `tupdate`, `alpha`, `beta`, or else all four from `typical_rtt` and
    /// `max_rtt`. `tc` lets the latter override the former with a remark; here giving both is an
    /// error, because one of them would do nothing.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, ParameterError> {
        let Parameters {
            target,
            tupdate,
            alpha,
            beta,
            ..
        } = *parameters;
        let (typical, max) = match (parameters.typical_rtt, parameters.max_rtt) {
            (None, None) => {
                return Ok(Self {
                    target: target.value,
                    update_interval: tupdate.value,
                    alpha: alpha.value,
                    beta: beta.value,
                });
            }
            (Some(typical), None) => (typical, typical * 6),
            (None, Some(max)) => ((max / 6).max(SHORTEST), max),
            (Some(typical), Some(max)) => (typical, max),
        };
        let refuse = |name, found: &dyn core::fmt::Display| {
            let allowed = "is determined by typical_rtt and max_rtt; give one or the other";
            Err(ParameterError::new(name, found, allowed))
        };
        if target.is_given {
            return refuse(name_of!(Parameters, target), &target.value);
        }
        if tupdate.is_given {
            return refuse(name_of!(Parameters, tupdate), &tupdate.value);
        }
        if alpha.is_given {
            return refuse(name_of!(Parameters, alpha), &alpha.value);
        }
        if beta.is_given {
            return refuse(name_of!(Parameters, beta), &beta.value);
        }
        Ok(Self::from_rtts(typical, max))
    }

    /// RFC 9332 figure 2: Tupdate = min(target, RTT_max/3), alpha = 0.1·Tupdate/RTT_max²,
    /// beta = 0.3/RTT_max; `tc` takes the typical RTT as the target.
    fn from_rtts(typical: Time, max: Time) -> Self {
        let update_interval = typical.min(max / 3).max(SHORTEST);
        let (tupdate, max) = (
            u128::from(update_interval.as_nanos()),
            u128::from(max.as_nanos()),
        );
        // In nanohertz with t, m in ns: 0.1·t/m² · 10⁹ · 10⁹ and 0.3/m · 10⁹ · 10⁹. Times are
        // below 2³⁵ ns, so the products stay below 2⁹².
        let nanohertz = |value: u128| {
            let largest = u128::from(LARGEST_GAIN.as_nanohertz());
            Frequency::from_nanohertz(value.clamp(1, largest) as u64)
        };
        Self {
            target: typical,
            update_interval,
            alpha: nanohertz(tupdate * 100_000_000_000_000_000 / (max * max)),
            beta: nanohertz(300_000_000_000_000_000 / max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{Settings, Table as _};

    #[test]
    fn rtts_give_the_gains_of_the_rfc() {
        // RFC 9332 figure 2 with RTT_max = 100 ms and target 15 ms: 15 ms, 0.15 Hz, 3 Hz.
        let gains = Gains::from_rtts(Time::from_millis(15), Time::from_millis(100));
        assert_eq!(gains.update_interval, Time::from_millis(15));
        assert_eq!(gains.alpha, Frequency::from_nanohertz(150_000_000));
        assert_eq!(gains.beta, Frequency::from_nanohertz(3_000_000_000));
        // A third of the maximum is the shorter: 10 ms, 0.1·0.01/0.03² = 1.111 Hz, 10 Hz.
        let gains = Gains::from_rtts(Time::from_millis(15), Time::from_millis(30));
        assert_eq!(gains.update_interval, Time::from_millis(10));
        assert_eq!(gains.alpha, Frequency::from_nanohertz(1_111_111_111));
        assert_eq!(gains.beta, Frequency::from_nanohertz(10_000_000_000));
    }

    #[test]
    fn one_rtt_determines_the_other() {
        let gains = |key, value| {
            let mut settings = Settings::new(Parameters::ROWS);
            settings.set(key, value).unwrap();
            Gains::of(&Parameters::of(&settings)).unwrap()
        };
        assert_eq!(
            gains("typical_rtt", "15ms"),
            Gains::from_rtts(Time::from_millis(15), Time::from_millis(90))
        );
        assert_eq!(
            gains("max_rtt", "90ms"),
            Gains::from_rtts(Time::from_millis(15), Time::from_millis(90))
        );
    }

    #[test]
    fn rtts_and_gains_together_are_refused() {
        let mut settings = Settings::new(Parameters::ROWS);
        settings.set("max_rtt", "100ms").unwrap();
        settings.set("target", "5ms").unwrap();
        let error = Gains::of(&Parameters::of(&settings)).unwrap_err();
        assert_eq!(
            (error.key.as_str(), error.found.as_str()),
            ("target", "5ms")
        );
    }
}
