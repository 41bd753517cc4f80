//! What a link did, and how well: the evidence for or against trusting a run.

use quell_units::Time;

use crate::direction::Direction;
use crate::time::Lateness;

/// Frames that went past the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bypassed {
    /// ARP.
    pub arp: u64,
    /// IPv6 neighbour and router discovery.
    pub neighbour_discovery: u64,
    /// What is not IP, or not readable as such.
    pub other: u64,
}

/// Frames lost by anything but the discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// The ingress socket was full. Such frames were never received.
    pub socket: u64,
    /// Longer than the MTU allows for. Received, by [`DirectionReport::received`].
    pub truncated: u64,
    /// The egress interface refused them for good.
    pub refused: u64,
}

impl Lost {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.socket + self.truncated + self.refused
    }
}

/// Packet values in headers ([`OnWire`](crate::OnWire)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireValues {
    /// Packets that came in with a value other than 0 in a field that was to be read.
    pub read: u64,
    /// Packets whose value was to be written when they left, and was.
    pub written: u64,
    /// Packets with a value other than 0 that left without it, because their header cannot carry one.
    pub not_carried: u64,
}

/// Frames that have not left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
    /// In the queue.
    pub queue: u64,
    /// In service, or in the delay line: also the part of it that the kernel holds, released to it
    /// ahead of its time.
    pub delay_line: u64,
    /// Waiting for the egress interface.
    pub egress: u64,
}

impl Inside {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.queue + self.delay_line + self.egress
    }
}

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionReport {
    /// Frames read from the ingress port.
    pub received: u64,
    /// Frames that have left by the egress port, bypassing ones included.
    pub transmitted: u64,
    /// Frames that went past the queue.
    pub bypassed: Bypassed,
    /// Packets of no group: not delayed.
    pub unclassified: u64,
    /// Packets whose ECT(0) became ECT(1).
    pub ect1_rewritten: u64,
    /// Packet values in headers.
    pub values: WireValues,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Packets dropped by the discipline.
    pub dropped: u64,
    /// Frames lost by anything else.
    pub lost: Lost,
    /// Frames that have not left yet.
    pub inside: Inside,
    /// Arrivals that were read after their time had been decided on, and count as arrived then. The
    /// stamp is taken on the sender's processor, a little before the socket has the frame.
    pub late_arrivals: u64,
    /// Frames whose checksum was left to hardware and is not there: offload is on at the host.
    pub checksum_missing: u64,
    /// How often the egress port refused for the time being, and the frame was kept.
    pub retried: u64,
    /// By how much frames were handed to the egress port after their release: the packets of
    /// groups, or all if there are none. Their queueing is not affected by it. A frame that was
    /// handed over ahead of its time is not late here; by how much the kernel's timer is, the link
    /// cannot know.
    pub lateness: Lateness,
}

impl DirectionReport {
    /// Whether each frame received was transmitted, dropped or lost, or is still inside.
    pub fn is_conserved(&self) -> bool {
        let gone = self.transmitted + self.dropped + self.lost.truncated + self.lost.refused;
        self.received == gone + self.inside.total()
    }
}

/// A link, over all calls of `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkReport {
    /// From port A to port B.
    pub forward: DirectionReport,
    /// From port B to port A.
    pub reverse: DirectionReport,
    /// How often the thread slept and woke.
    pub wakeups: u64,
    /// How often it looked at the sockets.
    pub looks: u64,
    /// Whether packets were handed to the kernel ahead of their release ([`Wakeup::Ahead`](crate::Wakeup::Ahead)).
    pub ahead: bool,
    /// How late the thread woke where time woke it, and not a frame.
    pub oversleep: Lateness,
    /// How often a frame had to wait in a socket because the pool had no slot.
    pub pool_exhausted: u64,
    /// CPU time of the thread, with that of the receiving hosts' stacks where the kernel runs them
    /// in the sender's context, as on veth.
    pub cpu: Time,
    /// Time that the thread ran the link.
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
    /// Packets lost anywhere but by the discipline, in both directions.
    pub fn lost_outside(&self) -> u64 {
        self.forward.lost.total() + self.reverse.lost.total()
    }
    /// Share of one processor that the thread used.
    pub fn cpu_share(&self) -> f64 {
        if self.wall.is_zero() {
            return 0.0;
        }
        self.cpu.as_nanos() as f64 / self.wall.as_nanos() as f64
    }
}
