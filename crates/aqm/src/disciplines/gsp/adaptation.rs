//! The adaptive timeout: cumulative time above and below the threshold, and the overflow exception.
//!
//! Sources: HPSR 2015 (arXiv 1602.05333), as the README of github.com/Tarun-Karthik/Implementation-of-GSP-in-NS3 restates it and
//! `adaptive-gsp-prototype.p4` of github.com/sibanez12/P4-examples quotes it. With the time above and below since the last look
//!
//! ```text
//! cumulative := clamp(cumulative + alpha · above − below, 0, max_time)
//! timeout     = interval / (1 + cumulative / tau)
//! ```
//!
//! Time below counts unless a packet was lost to the limit, until the queue has been empty and then above the threshold again.
//! Both equations are exact: cumulative time is kept in thousandths of a nanosecond, the unit in which alpha is a whole number,
//! and the timeout is rounded down to a nanosecond, which changes no decision of a clock that counts nanoseconds.

use crate::units::Time;

/// Parts of a nanosecond in which time accumulates, and of 1 in which alpha is given.
pub(super) const PARTS: u64 = 1_000;

/// The parameters of the adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coefficients {
    /// Emphasis of time above the threshold, in [`PARTS`].
    alpha: u64,
    /// Cumulative time that halves the timeout.
    tau: Time,
    /// The largest cumulative time, in [`PARTS`] of a nanosecond. An hour is 3.6·10¹⁵ of them.
    most: u64,
}

impl Coefficients {
    /// `alpha` counts in [`PARTS`].
    pub(super) fn new(alpha: u64, tau: Time, max_time: Time) -> Self {
        Self {
            alpha,
            tau,
            most: max_time.as_nanos().saturating_mul(PARTS),
        }
    }
}

/// Whether time below the threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Time below the threshold counts.
    Clear,
    /// It does not count, because a packet was lost to the limit.
    Overflow,
    /// It does not count yet, although the queue has been empty since that loss.
    Drained,
}

/// The state of the adaptation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adaptation {
    coefficients: Coefficients,
    /// Cumulative time in [`PARTS`] of a nanosecond.
    cumulative: u64,
    /// Time of the last [`touch`](Self::touch): the time until then is counted.
    last: Time,
    /// Whether the queue has been above its threshold since then.
    above: bool,
    pub(super) mode: Mode,
}

impl Adaptation {
    /// Nothing is counted yet.
    pub(super) fn new(coefficients: Coefficients, now: Time, above: bool) -> Self {
        Self {
            coefficients,
            cumulative: 0,
            last: now,
            above,
            mode: Mode::Clear,
        }
    }

    /// Changes the coefficients; the cumulative time stays, up to the new maximum.
    pub(super) fn set_coefficients(&mut self, coefficients: Coefficients) {
        self.coefficients = coefficients;
        self.cumulative = self.cumulative.min(coefficients.most);
    }

    /// Counts the time since the last call. Must be called before anything changes.
    #[inline]
    pub(super) fn touch(&mut self, now: Time) {
        self.cumulative = self.cumulative_parts(now);
        self.last = now;
    }

    /// The queue has changed, or may have.
    #[inline]
    pub(super) fn moved(&mut self, above: bool, empty: bool) {
        self.above = above;
        match self.mode {
            Mode::Overflow if empty => self.mode = Mode::Drained,
            Mode::Drained if above => self.mode = Mode::Clear,
            _ => {}
        }
    }

    /// A packet was lost to the limit.
    pub(super) fn overflowed(&mut self, empty: bool) {
        self.mode = if empty { Mode::Drained } else { Mode::Overflow };
    }

    /// Cumulative time, rounded down to a nanosecond.
    pub(super) fn cumulative(&self, now: Time) -> Time {
        Time::from_nanos(self.cumulative_parts(now) / PARTS)
    }

    /// The timeout of a drop at `now`, rounded down.
    pub(super) fn timeout(&self, interval: Time, now: Time) -> Time {
        let tau = u128::from(self.coefficients.tau.as_nanos()) * u128::from(PARTS);
        let cumulative = u128::from(self.cumulative_parts(now));
        // tau is above zero and at most five hours, below 2⁵⁵ parts; the interval at most an hour, below 2⁴² ns.
        let timeout = u128::from(interval.as_nanos()) * tau / (tau + cumulative);
        // At most the interval.
        Time::from_nanos(timeout as u64)
    }

    /// Saturation is exact: what does not fit 64 bits is beyond every clamp.
    #[inline]
    fn cumulative_parts(&self, now: Time) -> u64 {
        let span = (now - self.last).as_nanos();
        if self.above {
            let above = span.saturating_mul(self.coefficients.alpha);
            self.cumulative
                .saturating_add(above)
                .min(self.coefficients.most)
        } else if self.mode == Mode::Clear {
            self.cumulative.saturating_sub(span.saturating_mul(PARTS))
        } else {
            self.cumulative
        }
    }
}
