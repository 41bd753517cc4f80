//! CoDel as the pseudocode of RFC 8289 section 5 has it, with exact time and an exact square root.
//!
//! Deviations: 1. `interval/√count` is rounded down to a nanosecond. 2. `count` stays at its largest value instead of wrapping to 0.
//! 3. "Not above target" is `None`, so that no instant is mistaken for it. 4. `maxpacket` is the link's MTU, as the RFC advises.
//! 5. The RFC's code only drops. With `ecn` an ECN-capable packet is marked where it would be dropped, and sent: at most one mark for
//! each packet sent, the next one scheduled as after a drop.

use super::Source;
use super::parameters::Parameters;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::qdisc::mark;
use crate::single_queue::drop_queued;
use crate::units::{Bytes, Time};

/// `t + interval/√count`; a count of 0 counts as 1.
pub(super) fn control_law(t: Time, interval: Time, count: u32) -> Time {
    let interval = u128::from(interval.as_nanos());
    // ⌊I/√n⌋ = ⌊√⌊I²/n⌋⌋. I < 2⁶⁴, so the square fits, and the root fits 64 bits.
    let spacing = (interval * interval / u128::from(count.max(1))).isqrt();
    t + Time::from_nanos(spacing as u64)
}

/// The state of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vars {
    pub(super) count: u32,
    pub(super) last_count: u32,
    pub(super) dropping: bool,
    first_above_time: Option<Time>,
    pub(super) drop_next: Time,
}

impl Vars {
    /// An empty queue was served.
    #[inline]
    pub(super) fn found_empty(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }
}

/// The parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rfc8289Codel {
    target: Time,
    interval: Time,
    ecn: bool,
    mtu: Bytes,
}

impl Rfc8289Codel {
    pub(super) fn of(parameters: &Parameters, mtu: Bytes) -> Self {
        Self {
            target: parameters.target,
            interval: parameters.interval,
            ecn: parameters.ecn,
            mtu,
        }
    }

    /// The next packet to send (`CoDelQueue::dequeue`).
    #[inline]
    pub(super) fn dequeue<P: Packet>(
        &self,
        vars: &mut Vars,
        source: &mut impl Source<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let (packet, ok_to_drop) = self.take(vars, source, now);
        if !ok_to_drop {
            vars.dropping = false;
            return packet;
        }
        if vars.dropping {
            self.signal_while_due(vars, packet?, source, now, obs)
        } else {
            self.enter(vars, packet?, source, now, obs)
        }
    }

    /// Removes a packet, and whether the delay has been above target for an interval (`dodequeue`).
    #[inline]
    fn take<P: Packet>(
        &self,
        vars: &mut Vars,
        source: &mut impl Source<P>,
        now: Time,
    ) -> (Option<P>, bool) {
        let Some(packet) = source.pop() else {
            vars.found_empty();
            return (None, false);
        };
        let mut ok_to_drop = false;
        if packet.sojourn(now) < self.target || source.backlog() <= self.mtu {
            vars.first_above_time = None;
        } else if let Some(first_above_time) = vars.first_above_time {
            ok_to_drop = now >= first_above_time;
        } else {
            vars.first_above_time = Some(now + self.interval);
        }
        (Some(packet), ok_to_drop)
    }

    fn signal_while_due<P: Packet>(
        &self,
        vars: &mut Vars,
        mut packet: P,
        source: &mut impl Source<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        while now >= vars.drop_next {
            vars.count = vars.count.saturating_add(1);
            let drop_next = control_law(vars.drop_next, self.interval, vars.count);
            if self.marks(&mut packet, now, obs) {
                vars.drop_next = drop_next;
                break;
            }
            drop_queued(packet, DropReason::Aqm, now, obs);
            let (next, ok_to_drop) = self.take(vars, source, now);
            if !ok_to_drop {
                vars.dropping = false;
                return next;
            }
            vars.drop_next = drop_next;
            packet = next?;
        }
        Some(packet)
    }

    fn enter<P: Packet>(
        &self,
        vars: &mut Vars,
        mut packet: P,
        source: &mut impl Source<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let sent = if self.marks(&mut packet, now, obs) {
            Some(packet)
        } else {
            drop_queued(packet, DropReason::Aqm, now, obs);
            self.take(vars, source, now).0
        };
        vars.dropping = true;
        // "If min went above target close to when it last went below, assume that the drop rate that controlled the queue on the last
        // cycle is a good starting point to control it now" (section 5.5). `count` itself would grow from cycle to cycle, so only what
        // the last one added counts.
        let delta = vars.count.saturating_sub(vars.last_count);
        let recent = now - vars.drop_next < self.interval * 16;
        vars.count = if delta > 1 && recent { delta } else { 1 };
        vars.last_count = vars.count;
        vars.drop_next = control_law(now, self.interval, vars.count);
        sent
    }

    fn marks<P: Packet>(&self, packet: &mut P, now: Time, obs: &mut impl Observer<P>) -> bool {
        let marks = self.ecn && packet.ecn().is_capable();
        if marks {
            mark(packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        marks
    }
}
