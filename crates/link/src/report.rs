//! The report of a link and of its precision: the evidence for or against trusting a run.

use quell_aqm::impair::Counts;
use quell_units::{Ecn, Time};

use crate::time::Lateness;
use quell_measure::Direction;

/// Frames that bypassed the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bypassed {
    /// Frames of ARP.
    pub arp: u64,
    /// Packets of IPv6 neighbour and router discovery.
    pub neighbour_discovery: u64,
    /// Frames that are not IP, or cannot be read as IP.
    pub other: u64,
    /// Packets that the link is not for ([`Only`](crate::Only)).
    pub others: u64,
}

/// Frames that something other than the discipline lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Frames that a full ingress socket dropped, a super-packet as one. They do not count as received.
    pub socket: u64,
    /// Frames longer than the MTU allows, and not to be cut into TCP segments. They count as received.
    pub truncated: u64,
    /// Frames that the egress interface refused permanently.
    pub refused: u64,
}

impl Lost {
    /// Their sum.
    pub fn total(&self) -> u64 {
        self.socket + self.truncated + self.refused
    }
}

/// Packet values in headers ([`OnWire`](crate::OnWire)); a packet counts once for each link that it crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireValues {
    /// Packets that arrived with a value other than 0, where values are read.
    pub read: u64,
    /// Packets whose value was written, where values are written.
    pub written: u64,
    /// Packets with a value other than 0 that left without it, because their header cannot carry one.
    pub not_carried: u64,
}

impl WireValues {
    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            written: self.written + other.written,
            not_carried: self.not_carried + other.not_carried,
        }
    }
}

/// Packets by their ECN field (RFC 3168 section 5, RFC 9331).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodePoints {
    /// Packets of a transport without ECN.
    pub not_ect: u64,
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion Experienced.
    pub ce: u64,
}

impl CodePoints {
    /// One more.
    pub(crate) fn count(&mut self, ecn: Ecn) {
        *match ecn {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        } += 1;
    }
}

/// Frames that have not left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
    /// Packets in the queue.
    pub queue: u64,
    /// Packets in service or in the delay line, with those that the kernel holds until their release.
    pub delay_line: u64,
    /// Frames that wait for the egress interface.
    pub egress: u64,
}

impl Inside {
    /// Their sum.
    pub fn total(&self) -> u64 {
        self.queue + self.delay_line + self.egress
    }
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionReport {
    /// Packets read from the ingress port, and answers to what was too long for the other direction.
    pub received: u64,
    /// Frames that left through the egress port, those that bypassed the queue included.
    pub transmitted: u64,
    /// Frames that bypassed the queue.
    pub bypassed: Bypassed,
    /// Packets of no group, which are not delayed.
    pub unclassified: u64,
    /// Packets whose ECT(0) became ECT(1).
    pub ect1_rewritten: u64,
    /// Packets by the ECN field with which they came, before ECT(0) became ECT(1).
    pub came: CodePoints,
    /// Packets that were handed to the egress port, by the ECN field with which they left.
    pub left: CodePoints,
    /// Packet values in headers.
    pub values: WireValues,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Packets dropped by the discipline.
    pub dropped: u64,
    /// Packets lost, copied and damaged behind the queue because the configuration says so.
    pub impaired: Counts,
    /// Frames lost by anything else.
    pub lost: Lost,
    /// Frames that have not left yet.
    pub inside: Inside,
    /// Packets that were read after everything up to their stamp had been decided; they count as
    /// arriving at the end of that time. The stamp is taken on the sender's processor, a little before
    /// the socket has the frame.
    pub late_arrivals: u64,
    /// The number of temporary refusals by the egress port; the frame was kept.
    pub retried: u64,
    /// The lateness of frames that were handed to the egress port after their release: packets of groups, or
    /// all if there are no groups. It does not affect their queueing. A frame that was handed over
    /// ahead of its time is not late here; the link cannot know how late the kernel's timer is.
    pub lateness: Lateness,
}

impl DirectionReport {
    /// Whether each frame received or copied was transmitted, dropped or lost, or is still inside.
    pub fn is_conserved(&self) -> bool {
        let gone = self.transmitted
            + self.dropped
            + self.impaired.lost
            + self.lost.truncated
            + self.lost.refused;
        self.received + self.impaired.duplicated == gone + self.inside.total()
    }
}

/// A link, over all calls of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkReport {
    /// The direction from port A to port B.
    pub forward: DirectionReport,
    /// The direction from port B to port A.
    pub reverse: DirectionReport,
    /// The number of times that the thread woke from sleep.
    pub wakeups: u64,
    /// The number of times that the thread looked at the sockets.
    pub looks: u64,
    /// Whether packets were handed to the kernel ahead of their release ([`Wakeup::Ahead`](crate::Wakeup::Ahead)).
    pub ahead: bool,
    /// The lateness of the thread when a time woke it, not a frame.
    pub oversleep: Lateness,
    /// The number of times that a frame had to wait in a socket because the pool had no slot.
    pub pool_exhausted: u64,
    /// Processor time of the thread, with that of the receiving hosts' stacks where the kernel runs
    /// them in the sender's context, as on veth.
    pub cpu: Time,
    /// Time for which the thread ran the link.
    pub wall: Time,
}

impl LinkReport {
    /// One direction.
    pub fn direction(&self, direction: Direction) -> &DirectionReport {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
    /// Packets that something other than the discipline lost, in both directions.
    pub fn lost_outside(&self) -> u64 {
        let of = |direction: &DirectionReport| direction.lost.total() + direction.impaired.lost;
        of(&self.forward) + of(&self.reverse)
    }
    /// Share of one processor that the thread used.
    pub fn cpu_share(&self) -> f64 {
        if self.wall.is_zero() {
            return 0.0;
        }
        self.cpu.as_nanos() as f64 / self.wall.as_nanos() as f64
    }
}
