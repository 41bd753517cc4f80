//! A host's coarse clock: the ticks that Linux calls jiffies, and the timer wheel that runs on them;
//! Linux 6.18 `kernel/time/timer.c` (`calc_index`, `calc_wheel_index`), `kernel/time/time.c`
//! (`usecs_to_jiffies`).
//!
//! All timers of TCP use it, except pacing and SACK compression. A time-out is a whole number of ticks,
//! rounded up. A timer set between two ticks counts from the earlier one and takes one tick more, so it
//! is never early. From 63 ticks on it expires at multiples of 8 ticks, from 504 ticks on at multiples
//! of 64, and so on.
//!
//! Deviation: ticks have a fixed phase relative to the start of the run; timers of the same tick expire
//! in the order of the host's other events.

use quell_units::Time;

/// Number of bits by which each level of the wheel is coarser (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Number of ticks ahead that the finest level holds (`LVL_START(1)`).
const FINEST: u64 = 63;
/// The coarsest level, counted from zero (`LVL_DEPTH`).
const COARSEST: u32 = 8;

/// The ticks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Nanoseconds from one tick to the next; 1 if timers are exact.
    period: u32,
    /// 2^(64 + [`shift`](Self::shift))/`period`, rounded up: a product instead of a division for each packet.
    reciprocal: u64,
    /// Nanoseconds from the last tick before the origin of time to the origin; less than the period.
    phase: u32,
}

impl Ticks {
    /// Timers that expire to the nanosecond.
    pub const EXACT: Self = Self {
        period: 1,
        reciprocal: 0,
        phase: 0,
    };

    /// `hz` ticks per second, at least 1 (Linux `CONFIG_HZ`: 100, 250, 300 or 1000); one tick is `phase`
    /// before the origin of time.
    pub fn new(hz: u32, phase: Time) -> Self {
        let period = (1_000_000_000 / hz.max(1)).max(1);
        if period == 1 {
            return Self::EXACT;
        }
        let mut ticks = Self {
            period,
            reciprocal: 0,
            phase: (phase.as_nanos() % u64::from(period)) as u32,
        };
        let whole = 1_u128 << (64 + ticks.shift());
        ticks.reciprocal = whole.div_ceil(u128::from(period)) as u64;
        ticks
    }
    #[inline]
    fn shift(&self) -> u32 {
        (self.period - 1).ilog2()
    }
    /// Whole ticks in a time below 2⁶³ ns. With e = `reciprocal` · `period` - 2^(64 + `shift`) < `period` ≤ 2^(`shift` + 1) the product is
    /// at most nanos · e/(2^(64 + `shift`) · `period`) < 1/`period` too large, which never reaches the next whole number.
    #[inline]
    fn ticks_in(&self, nanos: u64) -> u64 {
        match self.period {
            1 => nanos,
            // WebAssembly has no product of 128 bits.
            _ if nanos >> 63 != 0 || cfg!(target_family = "wasm") => nanos / u64::from(self.period),
            _ => ((u128::from(nanos) * u128::from(self.reciprocal)) >> 64) as u64 >> self.shift(),
        }
    }
    /// These ticks, or `hz` per second if timers are exact: for clocks that are coarse on every host.
    pub(crate) fn or_hz(self, hz: u32) -> Self {
        match self {
            Self::EXACT => Self::new(hz, Time::ZERO),
            ticks => ticks,
        }
    }
    /// Ticks per second.
    #[inline]
    pub(crate) fn hz(&self) -> u64 {
        1_000_000_000 / u64::from(self.period)
    }
    /// The number of the last tick.
    #[inline]
    pub(crate) fn at(&self, now: Time) -> u64 {
        self.ticks_in(now.as_nanos() + u64::from(self.phase))
    }
    /// Number of ticks in `wait`, rounded up (`usecs_to_jiffies`).
    #[inline]
    pub(crate) fn count(&self, wait: Time) -> u64 {
        self.ticks_in(wait.as_nanos().saturating_add(u64::from(self.period - 1)))
    }
    /// `wait` rounded up to whole ticks.
    #[inline]
    pub(crate) fn whole(&self, wait: Time) -> Time {
        Time::from_nanos(self.count(wait) * u64::from(self.period))
    }
    /// Expiry of a timer that is set now for tick number `expires`.
    #[inline]
    pub(crate) fn due(&self, now: Time, expires: u64) -> Time {
        self.due_from(self.at(now), expires)
    }
    #[inline]
    fn due_from(&self, tick: u64, expires: u64) -> Time {
        if self.period == 1 {
            return Time::from_nanos(expires);
        }
        let mut ahead = expires.saturating_sub(tick);
        let mut level = 0;
        while ahead >= FINEST && level < COARSEST {
            ahead >>= LEVEL_SHIFT;
            level += 1;
        }
        let shift = level * LEVEL_SHIFT;
        let tick = ((expires >> shift) + 1) << shift;
        Time::from_nanos((tick * u64::from(self.period)).saturating_sub(self.phase.into()))
    }
    /// Expiry of a timer that is set now for `wait`.
    #[inline]
    pub(crate) fn after(&self, now: Time, wait: Time) -> Time {
        let tick = self.at(now);
        self.due_from(tick, tick + self.count(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// Linux 6.18, `calc_index`: each level rounds up to the next multiple of its granularity, and
    /// one further if the time is already a multiple.
    #[test]
    fn a_timer_expires_at_a_tick_and_never_early() {
        let us = Time::from_micros;
        for (hz, phase, now, wait, due) in [
            // 3.25 ms are one tick of 4 ms, counted from the one before.
            (250, 0, us(9_000), us(3_250), MS(16)),
            (250, 0, us(8_000), us(3_250), MS(16)),
            (250, 1, us(9_000), us(3_250), MS(15)),
            // The least delay of an ACK: 40 to 44 ms.
            (250, 0, us(3_999), MS(40), MS(44)),
            (250, 0, us(4_000), MS(40), MS(48)),
            (1_000, 0, us(4_000), MS(40), MS(45)),
            // 62 ticks fit the finest level; 63 expire at a multiple of 8.
            (250, 0, MS(4), MS(248), MS(256)),
            (250, 0, MS(4), MS(252), MS(288)),
            (250, 0, MS(0), MS(252), MS(256)),
            // 504 ticks at a multiple of 64.
            (250, 0, MS(0), MS(2_016), MS(2_048)),
            (250, 0, MS(32), MS(2_016), MS(2_304)),
        ] {
            let ticks = Ticks::new(hz, MS(phase));
            assert_eq!(
                ticks.after(now, wait),
                due,
                "{hz} Hz {phase} {now:?} {wait:?}"
            );
        }
        assert_eq!(Ticks::EXACT.after(us(9), us(3)), us(12));
    }

    proptest! {
        #[test]
        fn a_product_counts_what_a_division_counts(hz in 1_u32..=1_000_000_000, nanos: u64, shift in 0_u32..64, steps in -1_i64..=1) {
            let ticks = Ticks::new(hz, Time::ZERO);
            let (nanos, period) = (nanos >> shift, u64::from(ticks.period));
            let edge = (nanos - nanos % period).saturating_add_signed(steps);
            for nanos in [nanos, edge] {
                prop_assert_eq!(ticks.ticks_in(nanos), nanos / period);
                let wait = Time::from_nanos(nanos >> 1);
                prop_assert_eq!(ticks.count(wait), wait.as_nanos().div_ceil(period));
            }
        }
    }
}
