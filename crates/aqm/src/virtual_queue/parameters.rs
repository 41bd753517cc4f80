//! The rows that disciplines with virtual queues share, and the checks of several together.

use alloc::format;

use crate::parameter::{Domain, Parameter, ParameterError, Table as _};
use crate::units::{Frequency, Time, parameters, words};

/// The parts of the link's rate in which C_v and the like are kept: 63/64 is exact.
pub(crate) const PARTS: u64 = 1 << 16;

const SHORTEST: Time = Time::from_micros(1);
const LONGEST: Time = Time::from_micros(u32::MAX as u64);
const LARGEST_GAIN: Frequency = Frequency::from_nanohertz(1_000_000 * 1_000_000_000);

pub(crate) const ROW: Parameter = Parameter::LIVE.source("quell");

words! {
    /// The way in which a threshold follows from a virtual queue; see [`law`](super::law).
    pub(crate) enum Variant {
        R = "r",
        Q = "q",
        B = "b",
        BSmooth = "b_smooth",
        V = "v",
    }
}

pub(crate) const VARIANT: Parameter = ROW.default("r").fixed()
    .source("derived: the formula is not published; b is the literal reading of the slides")
    .help("How a threshold follows from a virtual queue: what C_v serves of the rates that arrive, a share of arrivals by a PI controller, a quantile of the backlog, the same smoothed, or what a drop-minimum-value queue would drop.");

pub(crate) const INTERVAL: Parameter = ROW
    .domain(Domain::Time(SHORTEST, LONGEST))
    .default("10ms")
    .source("slides of ANRW 2020: every 10 ms")
    .help("Interval between two computations of the thresholds.");

pub(crate) const TARGET: Parameter = ROW
    .domain(Domain::Time(SHORTEST, LONGEST))
    .default("5ms")
    .source("slides of ANRW 2020 (D_i); value derived");

/// The target of a virtual queue that Classic traffic passes through.
pub(crate) const TARGET_OF_CLASSIC: Parameter = TARGET.default_by(
    "variant",
    &[
        ("r", "10ms"),
        ("q", "5ms"),
        ("b", "5ms"),
        ("b_smooth", "5ms"),
        ("v", "5ms"),
    ],
);

pub(crate) const SERVING_RATE: Parameter = ROW
    .domain(Domain::Fraction(1, PARTS, PARTS))
    .default("0.984375")
    .source(
        "slides of ANRW 2020 (C_vi <= C); value derived: 63/64 for their utilisation of 98.4 %",
    );

pub(crate) const VQ_LIMIT: Parameter = ROW
    .domain(Domain::Time(SHORTEST, LONGEST))
    .default("200ms")
    .source("slides of ANRW 2020 (max. size); value derived")
    .help("What a virtual queue holds at most, as a delay at its serving rate.");

pub(crate) const ALPHA: Parameter = ROW.domain(Domain::Frequency(Frequency::from_nanohertz(0), LARGEST_GAIN))
    .default("0.32").only(("variant", "q")).source("derived, for an interval of 10 ms")
    .help("Integral gain: what each interval adds to p for a second of virtual delay above the target.");

pub(crate) const BETA: Parameter = ALPHA.default("6.4").help(
    "Proportional gain: what each interval adds to p for a second by which the virtual delay grew.",
);

pub(crate) const RECOVERY: Parameter = ROW
    .domain(Domain::Time(SHORTEST, LONGEST))
    .default("40ms")
    .only(("variant", "r"))
    .source("quell: chosen by the phases 1-0, 1-1 and 0-1 of experiment A")
    .help("Time in which a virtual queue that is not at its target is brought back to it.");

parameters! {
    /// The values of packets.
    pub struct ValueParameters {
        /// What a packet without a value (0) counts as; 1 is the lowest there is.
        default_value: u16 = ROW.domain(Domain::Integer(1, u16::MAX as u64)).default("1"),
        /// The highest value that is distinguished, which sizes the histograms; larger ones count as this one.
        highest_value: u16 = ROW.domain(Domain::Integer(1, u16::MAX as u64)).default("65535").fixed(),
    }
}

/// The rows, for a discipline whose `highest_value` exists only under a condition.
pub(crate) const fn value_rows(
    highest_only: Option<(&'static str, &'static str)>,
) -> [Parameter; 2] {
    let Some(rows) = ValueParameters::ROWS.first_chunk() else {
        panic!("there are two rows");
    };
    let mut rows = *rows;
    rows[1].only = highest_only;
    rows
}

/// The values as which packets count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    default: u16,
    highest: u16,
}

impl Values {
    pub(crate) fn of(parameters: &ValueParameters) -> Self {
        let highest = parameters.highest_value;
        Self {
            default: parameters.default_value.min(highest),
            highest,
        }
    }
    #[inline]
    pub(crate) fn count(self, value: u16) -> u16 {
        if value == 0 {
            self.default
        } else {
            value.min(self.highest)
        }
    }
    pub(crate) fn highest(self) -> u16 {
        self.highest
    }
}

/// Refuses a target, the parameter `name`, that a virtual queue with this maximum can never exceed.
pub(crate) fn check_target(name: &str, target: Time, limit: Time) -> Result<(), ParameterError> {
    if target < limit {
        return Ok(());
    }
    let allowed = format!(
        "must be below vq_limit, which is {limit}: a virtual queue that never holds more than its target gives no signal"
    );
    Err(ParameterError::new(name, target, allowed))
}
