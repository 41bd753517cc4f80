//! The congestion threshold value (CTV) of a virtual queue, every interval: five readings of a law that is not published.
//!
//! | `variant`  | CTV | status |
//! | ---------- | --- | ------ |
//! | `b`        | the smallest value above which no more than C_v·D waits; 0 if the whole backlog is within C_v·D | the literal reading of the slides ("calculated from H_INi and D_i") |
//! | `b_smooth` | moves by an eighth of its distance to the CTV of `b`, on the scale of values | quell |
//! | `r`        | the smallest value above which the recent arrivals are no more than C_v serves in that time, corrected for the backlog's distance to C_v·D | quell |
//! | `q`        | the value below or at which a share p of the bytes of recent arrivals lies; p comes from a PI controller of the virtual queue's delay | quell, after PVPIE and US 12,021,756 |
//! | `v`        | the highest value that a virtual queue of C_v·D, which drops the lowest values first, dropped in the interval | quell, after US 11,563,698 |
//!
//! **b** swings: the packets that it drops leave the histogram from which the next quantile is taken. A share of arrivals has no such bias.
//! **b_smooth** moves by an eighth of the value itself, so it swings more the higher the scale of values begins.
//! **v** swings half as far as b. A packet that v condemns is often sent nevertheless: marked, or judged by a later threshold. So its record
//! stays in the virtual queue until it is served or its packet is dropped; otherwise more than C_v would be used.
//!
//! **q** has gains for an interval of 10 ms, which are not scaled. On a link so slow that a packet takes more than D (2.4 Mbit/s at 5 ms), each
//! packet moves p far; use a longer target.
//!
//! **r** needs no controller. Recent arrivals are half of the last interval's bytes, a quarter of those of the interval before, and so on. Of these,
//! r admits what C_v serves in the same, equally weighted time: more while less than C_v·D waits, and less while more waits, so
//! that the difference is made up within `recovery`. Marked bytes are admitted too; the virtual queue then settles at a delay above D at which the
//! correction compensates for them. That is no real delay. Because r takes a share of arrivals, dropped packets do not bias the
//! threshold, as they do in `b`; and an overload that has ended leaves nothing behind, as it does in the integral of `q`.
//!
//! Rounding: `b_smooth` has 16 fraction bits, moves by whole units of them toward zero, and is rounded to the nearest value when used. p is
//! that of [`Pi`]; a share of bytes is rounded down.

use super::parameters::Variant;
use crate::pi::Pi;
use crate::units::{Bytes, Frequency, Probability, Rate, Time};
use crate::value::ValueHistogram;

/// Gains and times of the laws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gains {
    /// Gains of the PI controller, per interval.
    pub(crate) alpha: Frequency,
    pub(crate) beta: Frequency,
    /// Time in which a difference between backlog and target is corrected; never zero.
    pub(crate) recovery: Time,
}

/// Fraction bits of a smoothed threshold.
const FRACTION_BITS: u32 = 16;

/// A virtual queue as a law sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    pub(super) now: Time,
    /// C_v
    pub(super) rate: Rate,
    pub(super) bytes: u64,
    /// C_v·D
    pub(super) target_bytes: u64,
    pub(super) mtu: u64,
}

impl Snapshot {
    fn delay(self) -> Time {
        self.rate.time_for(Bytes::new(self.bytes))
    }
}

/// A way to find the threshold.
#[derive(Debug)]
pub(crate) enum ThresholdLaw {
    /// b
    Backlog,
    /// b_smooth, with the smoothed threshold.
    Smoothed(i64),
    /// q
    Arrivals {
        pi: Pi,
        gains: Gains,
        /// Bytes that came, of each value; halved by every update.
        arrivals: ValueHistogram,
    },
    /// r
    Rates {
        recovery: Time,
        /// Bytes that came, of each value; halved by every update.
        arrivals: ValueHistogram,
        /// The time in which they came, in ns; halved likewise.
        span: u64,
        last: Time,
    },
    /// v
    DropMinimum {
        /// H_DROP: bytes of records that are to be dropped in place.
        condemned: ValueHistogram,
        /// The highest value dropped since the last update.
        dropped: u16,
    },
}

impl ThresholdLaw {
    /// The law `variant` for values up to `highest`.
    pub(crate) fn new(variant: Variant, gains: Gains, highest: u16) -> Self {
        match variant {
            Variant::B => Self::Backlog,
            Variant::BSmooth => Self::Smoothed(0),
            Variant::V => Self::DropMinimum {
                condemned: ValueHistogram::new(highest),
                dropped: 0,
            },
            Variant::R => Self::Rates {
                recovery: gains.recovery,
                arrivals: ValueHistogram::new(highest),
                span: 0,
                last: Time::ZERO,
            },
            Variant::Q => Self::Arrivals {
                pi: Pi::new(Time::ZERO, gains.alpha, gains.beta),
                gains,
                arrivals: ValueHistogram::new(highest),
            },
        }
    }

    pub(super) fn set_gains(&mut self, new: Gains, target: Time) {
        match self {
            Self::Arrivals { pi, gains, .. } => {
                *gains = new;
                pi.configure(target, new.alpha, new.beta);
            }
            Self::Rates { recovery, .. } => *recovery = new.recovery,
            _ => (),
        }
    }

    pub(super) fn set_target(&mut self, target: Time) {
        if let Self::Arrivals { pi, gains, .. } = self {
            pi.configure(target, gains.alpha, gains.beta);
        }
    }

    pub(super) fn probability(&self) -> Option<Probability> {
        match self {
            Self::Arrivals { pi, .. } => Some(pi.probability()),
            _ => None,
        }
    }

    /// A packet arrived; its record may be refused.
    #[inline]
    pub(super) fn arrived(&mut self, value: u16, bytes: u64) {
        if let Self::Arrivals { arrivals, .. } | Self::Rates { arrivals, .. } = self {
            arrivals.add(value, bytes);
        }
    }

    /// Counts a record, either in `present` or among the condemned.
    #[inline]
    pub(super) fn count(
        &mut self,
        present: &mut ValueHistogram,
        value: u16,
        bytes: u64,
        target_bytes: u64,
    ) {
        if let Self::DropMinimum { condemned, dropped } = self
            && !makes_room(present, condemned, dropped, (value, bytes), target_bytes)
        {
            return condemned.add(value, bytes);
        }
        present.add(value, bytes);
    }

    /// A record leaves: takes its bytes from the condemned first, and returns the remainder.
    #[inline]
    pub(super) fn forget_condemned(&mut self, value: u16, bytes: u64) -> u64 {
        match self {
            Self::DropMinimum { condemned, .. } => {
                let taken = bytes.min(condemned.bytes_of(value));
                condemned.remove(value, taken);
                bytes - taken
            }
            _ => bytes,
        }
    }

    /// The new threshold.
    pub(super) fn update(&mut self, present: &ValueHistogram, queue: Snapshot) -> u16 {
        let target_bytes = queue.target_bytes;
        match self {
            Self::Backlog => present.quantile_from_top(target_bytes),
            Self::Smoothed(threshold) => {
                let raw = i64::from(present.quantile_from_top(target_bytes)) << FRACTION_BITS;
                *threshold += (raw - *threshold) / 8;
                // Between 0 and the highest value, which raw never passes.
                ((*threshold + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS) as u16
            }
            Self::Arrivals { pi, arrivals, .. } => {
                pi.update(queue.delay());
                let threshold = arrivals.quantile(pi.probability());
                arrivals.age();
                threshold
            }
            Self::Rates {
                recovery,
                arrivals,
                span,
                last,
            } => {
                let interval = (queue.now - *last).as_nanos();
                *last = queue.now;
                // Halved before it is looked at instead of afterwards: shares are the same.
                arrivals.age();
                *span = (*span / 2).saturating_add(interval / 2);
                let served = queue.rate.bytes_in(Time::from_nanos(*span)).get();
                // Differences of 64-bit numbers, times 64 bits, divided by at least 1.
                let missing = i128::from(target_bytes) - i128::from(queue.bytes);
                let recovered = missing.saturating_mul(i128::from(*span))
                    / i128::from(recovery.as_nanos().max(1));
                let allowed = i128::from(served).saturating_add(recovered);
                // A slow link may have served less than one packet.
                let allowed = allowed.max(i128::from(queue.mtu));
                arrivals.quantile_from_top(u64::try_from(allowed).unwrap_or(u64::MAX))
            }
            Self::DropMinimum { dropped, .. } => core::mem::take(dropped),
        }
    }

    /// The threshold that leaves the share s^(1 + `times`) of what came lately, where `threshold` leaves the share s.
    pub(super) fn raised(&self, threshold: u16, times: u64) -> u16 {
        let Self::Rates { arrivals, .. } = self else {
            return threshold;
        };
        if threshold == 0 || times == 0 {
            return threshold;
        }
        let (total, above) = (arrivals.total(), arrivals.bytes_above(threshold));
        // Both below 2⁶⁴, and `above` is not above the total.
        let share = |left: u64| u128::from(left) * u128::from(above) / u128::from(total.max(1));
        let left = (0..times).fold(above, |left, _| share(left) as u64);
        arrivals.quantile_from_top(left).max(threshold)
    }

    /// The condemned bytes of `value`.
    #[cfg(test)]
    pub(super) fn condemned_bytes_of(&self, value: u16) -> u64 {
        match self {
            Self::DropMinimum { condemned, .. } => condemned.bytes_of(value),
            _ => 0,
        }
    }

    /// Bytes of records that are not in `present`.
    #[cfg(test)]
    pub(super) fn condemned_bytes(&self) -> u64 {
        match self {
            Self::DropMinimum { condemned, .. } => condemned.total(),
            _ => 0,
        }
    }
}

/// Condemns the lowest values until `value` fits into `limit`, unless it is no better itself.
fn makes_room(
    present: &mut ValueHistogram,
    condemned: &mut ValueHistogram,
    dropped: &mut u16,
    (value, bytes): (u16, u64),
    limit: u64,
) -> bool {
    loop {
        let excess = present.total().saturating_add(bytes).saturating_sub(limit);
        if excess == 0 {
            return true;
        }
        let Some(lowest) = present.lowest().filter(|&lowest| lowest < value) else {
            *dropped = (*dropped).max(value);
            return false;
        };
        let moved = excess.min(present.bytes_of(lowest));
        present.remove(lowest, moved);
        condemned.add(lowest, moved);
        *dropped = (*dropped).max(lowest);
    }
}
