//! Linux's CoDel, to the integer: `include/net/codel.h` and `codel_impl.h` of Linux 6.18 with the fix "codel: fix stale state for empty
//! flows in fq_codel" (7.0, in the stable kernels since March 2026).
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! Time is counted in units of 1 024 ns in 32 bits that wrap (after 73 min) and are compared by their difference. `1/√count` is a
//! 16-bit fraction, kept up to date by one Newton step per signal.
//!
//! Two things of the kernel that surprise, and are kept:
//!
//! * A Newton step from 0 gives 0. The fraction is 0 until the state is first entered, so a flow of FQ-CoDel whose `count` was raised
//!   by drops of the full queue before that, within 16 intervals after the clock's zero, enters with a spacing of 0 and drops down to
//!   the MTU. The clock's zero is the kernel's boot there, the start of the run here.
//! * `first_above_time` is 0 for "not above"; at one tick in 2³² that is a time as well.
//!
//! Not in here: Linux 7.2 drops at most `CODEL_MAX_DROPS_PER_DEQUEUE` packets for one that it sends and then begins its schedule anew, and
//! two of its drops are a tick apart at least. Both matter only after a standstill, or with an `interval` of a few ticks.
//!
//! Deviation: a packet that carries CE already is not reported as marked, where the kernel counts it.

use super::Source;
use super::parameters::{CeThreshold, Parameters};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::ParameterError;
use crate::qdisc::mark;
use crate::single_queue::drop_queued;
use crate::units::{Bytes, Time};

/// Nanoseconds are shifted by this.
const SHIFT: u32 = 10;
/// A threshold that stands for none.
const DISABLED: u32 = i32::MAX as u32;

/// `time` on the kernel's clock.
#[inline]
pub fn ticks(time: Time) -> u32 {
    (time.as_nanos() >> SHIFT) as u32
}

/// Whether `a` is later than `b`, as serial numbers (RFC 1982).
#[inline]
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// One Newton step for `1/√count`: `x·(3 − count·x²)/2` with `x` in units of 2⁻¹⁶.
///
/// Arithmetic is modulo 2⁶⁴, as in the kernel: a `count` that has grown by more than the steps follow makes the bracket negative.
#[inline]
pub fn newton_step(inverse_root: u16, count: u32) -> u16 {
    let x = u64::from(inverse_root) << 16;
    let squared = (x * x) >> 32;
    // Two bits are given up before the product so that it fits 64.
    let bracket = (3_u64 << 32).wrapping_sub(u64::from(count) * squared) >> 2;
    (bracket.wrapping_mul(x) >> (32 - 2 + 1) >> 16) as u16
}

/// `t + interval/√count`, with the root as a fraction in units of 2⁻¹⁶.
#[inline]
pub fn control_law(t: u32, interval: u32, inverse_root: u16) -> u32 {
    let spacing = (u64::from(interval) * (u64::from(inverse_root) << 16)) >> 32;
    t.wrapping_add(spacing as u32)
}

/// The state of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vars {
    /// Signals since the dropping state was entered, and those of the last time if it was not long ago.
    pub count: u32,
    /// `count` when the dropping state was entered.
    pub last_count: u32,
    /// Whether the queue is in the dropping state.
    pub dropping: bool,
    /// `1/√count` in units of 2⁻¹⁶.
    pub inverse_root: u16,
    /// When the delay will have been above target for an interval; 0 if it is not above.
    pub first_above_time: u32,
    /// When the next signal is due, or when the last one was.
    pub drop_next: u32,
    /// Sojourn time of the last packet taken out.
    pub last_delay: u32,
}

impl Vars {
    /// An empty queue was served.
    #[inline]
    pub(crate) fn found_empty(&mut self) {
        self.first_above_time = 0;
        self.dropping = false;
    }

    fn newton_step(&mut self) {
        self.inverse_root = newton_step(self.inverse_root, self.count);
    }
}

/// The parameters, in the kernel's units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinuxCodel {
    target: u32,
    interval: u32,
    ecn: bool,
    ce_threshold: u32,
    selector: u8,
    mask: u8,
    /// Nothing is dropped if no more than this is left behind the head.
    mtu: Bytes,
}

impl LinuxCodel {
    /// Refuses a selection of `ce_threshold` that has no effect or no meaning.
    pub(crate) fn of(parameters: &Parameters, mtu: Bytes) -> Result<Self, ParameterError> {
        let ce = CeThreshold::of(parameters)?;
        Ok(Self {
            target: ticks(parameters.target),
            interval: ticks(parameters.interval),
            ecn: parameters.ecn,
            ce_threshold: ce.delay.map_or(DISABLED, ticks),
            selector: ce.selector,
            mask: ce.mask,
            mtu,
        })
    }

    /// The next packet to send, after the drops and with the mark that are due.
    #[inline]
    pub(crate) fn dequeue<P: Packet>(
        &self,
        vars: &mut Vars,
        source: &mut impl Source<P>,
        at: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let Some(packet) = source.pop() else {
            vars.found_empty();
            return None;
        };
        let now = ticks(at);
        let ok_to_drop = self.is_ok_to_drop(vars, Some(&packet), source.backlog(), now);
        let mut packet = if !ok_to_drop {
            vars.dropping = false;
            packet
        } else if vars.dropping {
            self.signal_while_due(vars, packet, source, at, obs)?
        } else {
            self.enter(vars, packet, source, at, obs)?
        };
        if is_after(vars.last_delay, self.ce_threshold)
            && packet.ecn().bits() & self.mask == self.selector
            && packet.ecn().is_capable()
        {
            mark(&mut packet, QueueId::SINGLE, MarkReason::Step, at, obs);
        }
        Some(packet)
    }

    /// Whether the delay has been above target for an interval. A short queue that empties every RTT is good queue, however long its
    /// packets wait now and then; only what stands for longer than an RTT is worth a drop (RFC 8289 section 3).
    #[inline]
    fn is_ok_to_drop<P: Packet>(
        &self,
        vars: &mut Vars,
        packet: Option<&P>,
        backlog: Bytes,
        now: u32,
    ) -> bool {
        let Some(packet) = packet else {
            vars.first_above_time = 0;
            return false;
        };
        vars.last_delay = now.wrapping_sub(ticks(packet.arrival()));
        if is_after(self.target, vars.last_delay) || backlog <= self.mtu {
            vars.first_above_time = 0;
            return false;
        }
        if vars.first_above_time == 0 {
            vars.first_above_time = now.wrapping_add(self.interval);
            return false;
        }
        is_after(now, vars.first_above_time)
    }

    /// Signals, in the dropping state, as many packets as are due; leaves the state with the first packet that is not late.
    fn signal_while_due<P: Packet>(
        &self,
        vars: &mut Vars,
        mut packet: P,
        source: &mut impl Source<P>,
        at: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let now = ticks(at);
        while !is_after(vars.drop_next, now) {
            vars.count = vars.count.wrapping_add(1);
            vars.newton_step();
            let drop_next = control_law(vars.drop_next, self.interval, vars.inverse_root);
            if self.marks(&mut packet, at, obs) {
                // One mark for each packet sent: what else is due waits for the next.
                vars.drop_next = drop_next;
                break;
            }
            drop_queued(packet, DropReason::Aqm, at, obs);
            let next = source.pop();
            if !self.is_ok_to_drop(vars, next.as_ref(), source.backlog(), now) {
                vars.dropping = false;
                return next;
            }
            vars.drop_next = drop_next;
            packet = next?;
        }
        Some(packet)
    }

    /// Enters the dropping state with a first signal, at the rate of the last time if that was not long ago.
    fn enter<P: Packet>(
        &self,
        vars: &mut Vars,
        mut packet: P,
        source: &mut impl Source<P>,
        at: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let now = ticks(at);
        let sent = if self.marks(&mut packet, at, obs) {
            Some(packet)
        } else {
            drop_queued(packet, DropReason::Aqm, at, obs);
            let next = source.pop();
            self.is_ok_to_drop(vars, next.as_ref(), source.backlog(), now);
            next
        };
        vars.dropping = true;
        // "if min went above target close to when we last went below it assume that the drop rate that controlled the queue on the last
        // cycle is a good starting point to control it now" (codel_impl.h). A fresh start would take as long as the last time to find
        // that rate, with the queue above target all the while. `delta` and not `count`: what the last cycle added is about the rate
        // that it needed, while `count` itself would only ever grow (RFC 8289 section 4.1).
        let delta = vars.count.wrapping_sub(vars.last_count);
        let since_last = now.wrapping_sub(vars.drop_next);
        if delta > 1 && is_after(self.interval.wrapping_mul(16), since_last) {
            vars.count = delta;
            vars.newton_step();
        } else {
            vars.count = 1;
            vars.inverse_root = u16::MAX;
        }
        vars.last_count = vars.count;
        vars.drop_next = control_law(now, self.interval, vars.inverse_root);
        sent
    }

    /// Marks `packet` if that is how it is signalled.
    fn marks<P: Packet>(&self, packet: &mut P, at: Time, obs: &mut impl Observer<P>) -> bool {
        let marks = self.ecn && packet.ecn().is_capable();
        if marks {
            mark(packet, QueueId::SINGLE, MarkReason::Aqm, at, obs);
        }
        marks
    }
}

#[cfg(test)]
mod tests;
