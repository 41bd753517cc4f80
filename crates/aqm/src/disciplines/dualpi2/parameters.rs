//! The parameters of DualPI2, and the gains that several of them determine together.

use crate::parameter::{self, Amount, Domain, Given, Parameter, ParameterError, Preset};
use crate::queue_protection;
use crate::scheduler;
use crate::threshold::Threshold;
use crate::units::{Bytes, Frequency, Time, name_of, parameters, words};

const LINUX: Option<(&str, &str)> = Some(("form", "linux"));
const RFC9332: Option<(&str, &str)> = Some(("form", "rfc9332"));
const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds and stores intervals as 32-bit nanoseconds.
const LONGEST: Time = Time::from_nanos(u32::MAX as u64);
const LEAST_GAIN: Frequency = Frequency::from_nanohertz(1);
/// Linux: at most 2³¹ − 1 units of 1/256 Hz.
const LARGEST_GAIN: Frequency = Frequency::from_256ths((1 << 31) - 1);

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter {
    source: "tc-dualpi2(8)",
    ..Parameter::LIVE
};

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
        form: Form = Parameter {
            domain: Form::DOMAIN,
            default: Preset::Is("linux"),
            live: false,
            source: "quell",
            help: "Linux's sch_dualpi2 to the integer, or RFC 9332 appendix A.",
            ..ROW
        },
        limit: Amount = Parameter {
            domain: Domain::Limit {
                plain_is_packets: true,
            },
            default: Preset::By("form", &[("linux", "10000p"), ("rfc9332", "250ms")]),
            source: "tc-dualpi2(8); RFC 9332 figure 2 (250 ms at the link's highest rate)",
            help: "What both queues together may hold: packets (linux), bytes or time (rfc9332).",
            ..ROW
        },
        memlimit: Option<Bytes> = Parameter {
            domain: Domain::Bytes(1, u32::MAX as u64),
            default: Preset::Derived("limit × 2 × MTU"),
            only: LINUX,
            source: "tc-dualpi2(8); the kernel doubles what the page states",
            help: "Memory that both queues together may occupy.",
            ..ROW
        },
        target: Given<Time> = Parameter {
            threshold: Some(parameter::Threshold::Standing),
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("15ms"),
            source: "tc-dualpi2(8); RFC 9332 figure 2",
            help: "Queue delay that the PI controller holds.",
            ..ROW
        },
        tupdate: Given<Time> = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::By("form", &[("linux", "16ms"), ("rfc9332", "15ms")]),
            source: "sch_dualpi2.c; RFC 9332 figure 2: min(target, RTT_max/3)",
            help: "Interval between two updates of the probability.",
            ..ROW
        },
        alpha: Given<Frequency> = Parameter {
            domain: Domain::Frequency(LEAST_GAIN, LARGEST_GAIN),
            default: Preset::By("form", &[("linux", "0.16015625"), ("rfc9332", "0.15")]),
            source: "sch_dualpi2.c: 41/256 Hz; RFC 9332 figure 2: 0.1·Tupdate/RTT_max²",
            help: "Integral gain.",
            ..ROW
        },
        beta: Given<Frequency> = Parameter {
            domain: Domain::Frequency(LEAST_GAIN, LARGEST_GAIN),
            default: Preset::By("form", &[("linux", "3.19921875"), ("rfc9332", "3")]),
            source: "sch_dualpi2.c: 819/256 Hz; RFC 9332 figure 2: 0.3/RTT_max",
            help: "Proportional gain.",
            ..ROW
        },
        typical_rtt: Option<Time> = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Derived("max_rtt / 6 where that is given"),
            help: "With max_rtt, sets target, tupdate, alpha and beta.",
            ..ROW
        },
        max_rtt: Option<Time> = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Derived("6 × typical_rtt where that is given"),
            help: "With typical_rtt, sets target, tupdate, alpha and beta.",
            ..ROW
        },
        coupling_factor: u64 = Parameter {
            domain: Domain::Integer(1, 255),
            default: Preset::Is("2"),
            source: "tc-dualpi2(8); RFC 9332 figure 2 (k)",
            help: "How much more often L4S is marked than the square root of Classic's probability.",
            ..ROW
        },
        any_ect: bool = Parameter {
            opposite: Some("l4s_ect"),
            help: "Every ECN-capable packet is L4S, not only ECT(1) and CE: for DCTCP in laboratories.",
            ..ROW
        },
        overflow: bool = Parameter {
            opposite: Some("drop_on_overload"),
            source: "tc-dualpi2(8); RFC 9332 section 4.2.3 (delay on saturation)",
            help: "On overload let the queues grow to their limit instead of dropping ECN packets too.",
            ..ROW
        },
        step_thresh: Threshold = Parameter {
            threshold: Some(parameter::Threshold::EachPacket { spares: Some(("min_qlen_step", 1)) }),
            domain: Domain::TimeOrPackets((Time::ZERO, LONGEST), (0, u32::MAX as u64)),
            default: Preset::Is("1ms"),
            only: LINUX,
            help: "Above this sojourn time, or number of packets left in the L4S queue, L4S is marked.",
            ..ROW
        },
        min_qlen_step: u64 = Parameter {
            domain: Domain::Packets(0, u32::MAX as u64),
            default: Preset::Is("0p"),
            only: LINUX,
            help: "The step applies to a packet that found at least this many in the L4S queue.",
            ..ROW
        },
        drop_enqueue: bool = Parameter {
            opposite: Some("drop_dequeue"),
            only: LINUX,
            help: "The PI2 AQM acts when a packet arrives instead of when it leaves.",
            ..ROW
        },
        min_th: Time = Parameter {
            threshold: Some(parameter::Threshold::EachPacket { spares: Some(("th_len", 1)) }),
            domain: Domain::Time(Time::ZERO, LONGEST),
            default: Preset::Is("800us"),
            only: RFC9332,
            source: "RFC 9332 figure 2 (minTh)",
            help: "Sojourn time at which the native L4S marking begins.",
            ..ROW
        },
        range: Time = Parameter {
            domain: Domain::Time(Time::ZERO, LONGEST),
            default: Preset::Is("400us"),
            only: RFC9332,
            source: "RFC 9332 figure 2",
            help: "Over this range the native marking rises from 0 to 1; 0 is a step at min_th.",
            ..ROW
        },
        th_len: u64 = Parameter {
            domain: Domain::Packets(0, u32::MAX as u64),
            default: Preset::Is("1p"),
            only: RFC9332,
            source: "RFC 9332 figure 2 (Th_len)",
            help: "With no more packets than this in the L4S queue, native marking is suppressed.",
            ..ROW
        },
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
