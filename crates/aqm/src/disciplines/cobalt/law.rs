//! The state machine of COBALT: `cobalt_*` of Linux's `sch_cake.c` (6.18), to the integer.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! Times are nanoseconds and `1/√count` is a 32-bit fraction: from a table below 16, by one Newton step per change of `count` above.
//!
//! Four things of the kernel that surprise, and are kept:
//!
//! * The fraction is 0 until `count` first changes, so the first signal of all comes at the second late packet, not after an interval.
//! * While `count` is not 0, a late call that signals nothing moves `drop_next` up to now: what was missed is not made up for.
//! * After a pause of more than an interval the next late packet but one is signalled at once.
//! * Only the low 32 bits of the interval reach the control law: above 4.29 s, which needs less than 6 kbit/s, it is shorter than set.

use crate::units::{Bytes, Rate, Time};

/// `1/√count` in units of 2⁻³² for `count` below 16, as the kernel has it: within one unit. 0 counts as 1, and 1 is as near to it as fits.
pub const INVERSE_ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// One Newton step for `1/√count`: `x·(3 − count·x²)/2` with `x` in units of 2⁻³², modulo 2⁶⁴ as in the kernel.
#[inline]
pub fn newton_step(inverse_root: u32, count: u32) -> u32 {
    let x = u64::from(inverse_root);
    let squared = (x * x) >> 32;
    // Two bits are given up before the product so that it fits 64.
    let bracket = (3_u64 << 32).wrapping_sub(u64::from(count) * squared) >> 2;
    (bracket.wrapping_mul(x) >> (32 - 2 + 1)) as u32
}

/// `t + interval/√count`; of the interval, the low 32 bits.
#[inline]
pub fn control_law(t: Time, interval: Time, inverse_root: u32) -> Time {
    let interval = u64::from(interval.as_nanos() as u32);
    t + Time::from_nanos((interval * u64::from(inverse_root)) >> 32)
}

/// The parameters as the state machine uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Largest delay that may last, and the shortest time between two steps of BLUE.
    pub target: Time,
    /// The time for which the delay must last before CoDel signals, and the unit of its spacing.
    pub interval: Time,
    /// Serialisation of a packet of the MTU.
    pub mtu_time: Time,
    /// Step up of BLUE's probability, in units of 2⁻³².
    pub p_inc: u32,
    /// Step down of BLUE's probability, in units of 2⁻³².
    pub p_dec: u32,
}

impl Params {
    /// Target and interval for a link (`cake_set_rate`): at low rates the target is at least one and a half MTUs, and the interval grows
    /// with it. An unlimited link serialises in no time.
    pub fn new(target: Time, interval: Time, steps: (u32, u32), rate: Rate, mtu: Bytes) -> Self {
        let mtu_time = mtu_time(rate, mtu);
        let raised = (mtu_time * 3 / 2).max(target);
        Self {
            target: raised,
            interval: (interval + raised - target).max(raised * 2),
            mtu_time,
            p_inc: steps.0,
            p_dec: steps.1,
        }
    }
}

/// The kernel's time per byte is a fraction of at most 34 bits, and no rate is below 64 bytes/s.
fn mtu_time(rate: Rate, mtu: Bytes) -> Time {
    if rate.is_unlimited() {
        return Time::ZERO;
    }
    let mut shift = 34;
    // 10⁹·2³⁴ < 2⁶⁴.
    let mut per_byte = (1_000_000_000_u64 << shift) / (rate.as_bps() / 8).max(64);
    while per_byte >> 34 != 0 {
        per_byte >>= 1;
        shift -= 1;
    }
    let scaled = u128::from(mtu.get()) * u128::from(per_byte);
    Time::from_nanos((scaled >> shift) as u64)
}

/// The fate of a packet at the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// CoDel signals, by a mark.
    pub mark: bool,
    /// CoDel signals, by a drop.
    pub drop: bool,
    /// BLUE drops, whether or not the packet is ECN-capable.
    pub blue: bool,
}

/// The state of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vars {
    /// CoDel's frequency of signals.
    pub count: u32,
    /// `1/√count` in units of 2⁻³².
    pub inverse_root: u32,
    /// When the next signal is due, when the last one was, or until when the state counts as active.
    pub drop_next: Time,
    /// When BLUE last stepped.
    pub blue_timer: Time,
    /// BLUE's probability, in units of 2⁻³².
    pub p_drop: u32,
    /// Whether the delay is above target.
    pub dropping: bool,
}

impl Vars {
    /// A packet had to be dropped because the queue was full.
    pub fn queue_full(&mut self, params: &Params, now: Time) {
        if now - self.blue_timer > params.target {
            self.p_drop = self.p_drop.saturating_add(params.p_inc);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    /// The queue was served but turned out to be empty. That alone shows that the load is below the link's rate, as a full queue shows that
    /// it is above: BLUE looks at nothing else, because traffic that does not respond may keep any delay.
    pub fn queue_empty(&mut self, params: &Params, now: Time) {
        if self.p_drop > 0 && now - self.blue_timer > params.target {
            self.p_drop = self.p_drop.saturating_sub(params.p_dec);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.step(params, self.count - 1);
        }
    }

    /// The fate of a packet that waited for `sojourn`; `draw` is a uniform number, asked for only while BLUE is active.
    #[inline]
    pub fn judge(
        &mut self,
        params: &Params,
        now: Time,
        sojourn: Time,
        can_mark: bool,
        draw: impl FnOnce() -> u32,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let due = |vars: &Self| vars.count > 0 && now >= vars.drop_next;
        let mut next_due = due(self);
        let mut overdue = now > self.drop_next;
        if sojourn > params.target && sojourn > params.mtu_time * 4 {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, params.interval, self.inverse_root);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if next_due && self.dropping {
            verdict.mark = can_mark;
            verdict.drop = !can_mark;
            self.step(params, self.count.saturating_add(1));
            overdue = now > self.drop_next;
        } else {
            while next_due {
                self.step(params, self.count - 1);
                overdue = now > self.drop_next;
                next_due = due(self);
            }
        }
        if self.p_drop > 0 {
            verdict.blue = draw() < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if overdue && !verdict.drop && !verdict.blue {
            self.drop_next = now;
        }
        verdict
    }

    /// Changes `count`, and schedules the next signal from the last one.
    #[inline]
    fn step(&mut self, params: &Params, count: u32) {
        self.count = count;
        self.inverse_root = match INVERSE_ROOTS.get(count as usize) {
            Some(&root) => root,
            None => newton_step(self.inverse_root, count),
        };
        self.drop_next = control_law(self.drop_next, params.interval, self.inverse_root);
    }
}

#[cfg(test)]
mod tests;
