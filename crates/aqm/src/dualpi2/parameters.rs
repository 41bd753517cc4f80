//! The parameter table of DualPI2, and the gains that several parameters determine together.

use alloc::string::ToString;

use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::queue_protection;
use crate::scheduler;
use crate::units::{Frequency, Time};

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
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "tc-dualpi2(8)",
    help: "",
};

pub(super) const TABLE: &[Parameter] =
    &queue_protection::with_rows::<{ OWN.len() + queue_protection::ROWS.len() }>(OWN);

const OWN: &[Parameter] = &[
    Parameter {
        name: "form",
        domain: Domain::Word(&["linux", "rfc9332"]),
        default: Preset::Is("linux"),
        live: false,
        source: "quell",
        help: "Linux's sch_dualpi2 to the integer, or RFC 9332 appendix A.",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::By("form", &[("linux", "10000p"), ("rfc9332", "250ms")]),
        source: "tc-dualpi2(8); RFC 9332 figure 2 (250 ms at the link's highest rate)",
        help: "What both queues together may hold: packets (linux), bytes or time (rfc9332).",
        ..ROW
    },
    Parameter {
        name: "memlimit",
        domain: Domain::Bytes(1, u32::MAX as u64),
        default: Preset::Derived("limit × 2 × MTU"),
        only: LINUX,
        source: "tc-dualpi2(8); the kernel doubles what the page states",
        help: "Memory that both queues together may occupy.",
        ..ROW
    },
    Parameter {
        name: "target",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("15ms"),
        source: "tc-dualpi2(8); RFC 9332 figure 2",
        help: "Queue delay that the PI controller holds.",
        ..ROW
    },
    Parameter {
        name: "tupdate",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::By("form", &[("linux", "16ms"), ("rfc9332", "15ms")]),
        source: "sch_dualpi2.c; RFC 9332 figure 2: min(target, RTT_max/3)",
        help: "Interval between two updates of the probability.",
        ..ROW
    },
    Parameter {
        name: "alpha",
        domain: Domain::Frequency(LEAST_GAIN, LARGEST_GAIN),
        default: Preset::By("form", &[("linux", "0.16015625"), ("rfc9332", "0.15")]),
        source: "sch_dualpi2.c: 41/256 Hz; RFC 9332 figure 2: 0.1·Tupdate/RTT_max²",
        help: "Integral gain.",
        ..ROW
    },
    Parameter {
        name: "beta",
        domain: Domain::Frequency(LEAST_GAIN, LARGEST_GAIN),
        default: Preset::By("form", &[("linux", "3.19921875"), ("rfc9332", "3")]),
        source: "sch_dualpi2.c: 819/256 Hz; RFC 9332 figure 2: 0.3/RTT_max",
        help: "Proportional gain.",
        ..ROW
    },
    Parameter {
        name: "typical_rtt",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Derived("max_rtt / 6 where that is given"),
        help: "With max_rtt, sets target, tupdate, alpha and beta.",
        ..ROW
    },
    Parameter {
        name: "max_rtt",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Derived("6 × typical_rtt where that is given"),
        help: "With typical_rtt, sets target, tupdate, alpha and beta.",
        ..ROW
    },
    Parameter {
        name: "coupling_factor",
        domain: Domain::Integer(1, 255),
        default: Preset::Is("2"),
        source: "tc-dualpi2(8); RFC 9332 figure 2 (k)",
        help: "How much more often L4S is marked than the square root of Classic's probability.",
        ..ROW
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        help: "Every ECN-capable packet is L4S, not only ECT(1) and CE: for DCTCP in laboratories.",
        ..ROW
    },
    Parameter {
        name: "overflow",
        opposite: Some("drop_on_overload"),
        source: "tc-dualpi2(8); RFC 9332 section 4.2.3 (delay on saturation)",
        help: "On overload let the queues grow to their limit instead of dropping ECN packets too.",
        ..ROW
    },
    Parameter {
        name: "step_thresh",
        domain: Domain::TimeOrPackets((Time::ZERO, LONGEST), (0, u32::MAX as u64)),
        default: Preset::Is("1ms"),
        only: LINUX,
        help: "Above this sojourn time, or number of packets left in the L4S queue, L4S is marked.",
        ..ROW
    },
    Parameter {
        name: "min_qlen_step",
        domain: Domain::Packets(0, u32::MAX as u64),
        default: Preset::Is("0p"),
        only: LINUX,
        help: "The step applies to a packet that found at least so many in the L4S queue.",
        ..ROW
    },
    Parameter {
        name: "drop_enqueue",
        opposite: Some("drop_dequeue"),
        only: LINUX,
        help: "The PI2 AQM acts when a packet arrives instead of when it leaves.",
        ..ROW
    },
    Parameter {
        name: "min_th",
        domain: Domain::Time(Time::ZERO, LONGEST),
        default: Preset::Is("800us"),
        only: RFC9332,
        source: "RFC 9332 figure 2 (minTh)",
        help: "Sojourn time at which the native L4S marking begins.",
        ..ROW
    },
    Parameter {
        name: "range",
        domain: Domain::Time(Time::ZERO, LONGEST),
        default: Preset::Is("400us"),
        only: RFC9332,
        source: "RFC 9332 figure 2",
        help: "Over this range the native marking rises from 0 to 1; 0 is a step at min_th.",
        ..ROW
    },
    Parameter {
        name: "th_len",
        domain: Domain::Packets(0, u32::MAX as u64),
        default: Preset::Is("1p"),
        only: RFC9332,
        source: "RFC 9332 figure 2 (Th_len)",
        help: "With no more packets than this in the L4S queue, native marking is suppressed.",
        ..ROW
    },
    Parameter {
        default: Preset::By("form", &[("linux", "credit"), ("rfc9332", "wrr")]),
        source: "sch_dualpi2.c; RFC 9332 appendix A.2",
        ..scheduler::SCHEDULER
    },
    scheduler::CLASSIC_PROTECTION,
    scheduler::WRR_RATIO,
    scheduler::WRR_UNIT,
    scheduler::TSHIFT,
];

/// What the PI controller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gains {
    pub(super) target: Time,
    pub(super) update_interval: Time,
    pub(super) alpha: Frequency,
    pub(super) beta: Frequency,
}

impl Gains {
    /// From `target`, `tupdate`, `alpha`, `beta`, or else all four from `typical_rtt` and
    /// `max_rtt`. `tc` lets the latter override the former with a remark; here giving both is an
    /// error, because one of them would do nothing.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, ParameterError> {
        let rtt = |name| settings.is_given(name).then(|| settings.time(name));
        let (typical, max) = match (rtt("typical_rtt"), rtt("max_rtt")) {
            (None, None) => {
                return Ok(Self {
                    target: settings.time("target"),
                    update_interval: settings.time("tupdate"),
                    alpha: settings.frequency("alpha"),
                    beta: settings.frequency("beta"),
                });
            }
            (Some(typical), None) => (typical, typical * 6),
            (None, Some(max)) => ((max / 6).max(SHORTEST), max),
            (Some(typical), Some(max)) => (typical, max),
        };
        for name in ["target", "tupdate", "alpha", "beta"] {
            if settings.is_given(name) {
                return Err(ParameterError {
                    key: name.to_string(),
                    found: settings
                        .value(name)
                        .map(|v| v.to_string())
                        .unwrap_or_default(),
                    allowed: "is determined by typical_rtt and max_rtt; give one or the other"
                        .to_string(),
                });
            }
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
            let mut settings = Settings::new(TABLE);
            settings.set(key, value).unwrap();
            Gains::from_settings(&settings).unwrap()
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
        let mut settings = Settings::new(TABLE);
        settings.set("max_rtt", "100ms").unwrap();
        settings.set("target", "5ms").unwrap();
        let error = Gains::from_settings(&settings).unwrap_err();
        assert_eq!(
            (error.key.as_str(), error.found.as_str()),
            ("target", "5ms")
        );
    }
}
