//! The receiver of everything that a discipline does to packets, with the reason.
//!
//! A discipline keeps no statistics that a user reads: it reports to its observer, and `quell-measure`
//! counts. The order of calls for one packet is `dropped` alone, or `enqueued`, then at most one
//! `marked`, then `dequeued` followed by `departed`, or `dropped`. With an AQM that acts at enqueue
//! the mark comes before `enqueued`.

use alloc::boxed::Box;

use crate::departure_clock::Departure;
use crate::units::{Rate, Time};

/// A queue of a discipline: an index into [`Qdisc::queues`](crate::Qdisc::queues).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QueueId(pub u8);

impl QueueId {
    /// The only queue of a single-queue discipline.
    pub const SINGLE: Self = Self(0);
    /// The low-latency queue of a dual-queue discipline.
    pub const L4S: Self = Self(0);
    /// The Classic queue of a dual-queue discipline.
    pub const CLASSIC: Self = Self(1);

    /// The queue as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Declares an enum of reasons with the names that results use, in one place.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every reason, in the order in which results list them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// The name in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
            /// Position in [`Self::ALL`].
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

reasons! {
    /// Why a packet was newly marked CE.
    MarkReason {
        /// Marked by the AQM of a single queue, or of the Classic queue.
        Aqm => "aqm",
        /// Marked by the probability coupled from the Classic queue (p_CL of RFC 9332).
        Coupled => "coupled",
        /// Marked by a fixed threshold of the L4S queue.
        Step => "step",
        /// Marked by the native ramp of the L4S queue (p'_L above p_CL in RFC 9332).
        Ramp => "ramp",
        /// Marked because the coupled probability is saturated.
        Overload => "overload",
        /// Its packet value was not above the congestion threshold value.
        Value => "value",
    }
}

reasons! {
    /// Why a packet was dropped.
    DropReason {
        /// Dropped by the AQM's probability.
        Aqm => "aqm",
        /// Dropped by the AQM where it would have marked, because overload disabled ECN.
        Overload => "overload",
        /// Its packet value was not above the congestion threshold value, or was the lowest in a full queue.
        Value => "value",
        /// The queue was full.
        Limit => "limit",
        /// The memory limit was reached.
        Memory => "memory",
        /// A limit was lowered below what was queued.
        Reconfigured => "reconfigured",
        /// The queue was emptied on request.
        Drained => "drained",
    }
}

/// One drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drop {
    /// The queue that the packet was in, or was offered to.
    pub queue: QueueId,
    /// Reason of the drop.
    pub reason: DropReason,
    /// Whether the packet had been accepted (`enqueued`) before.
    pub queued: bool,
}

/// Receives everything that happens to packets. Every method does nothing unless overridden,
/// except [`Observer::dropped`]: it owns the packet now, and a world may have to free it.
pub trait Observer<P> {
    /// `packet` was accepted; its backlog counts from now on.
    fn enqueued(&mut self, _queue: QueueId, _packet: &P, _now: Time) {}
    /// `packet` left the queue at the start of its transmission; its sojourn time is final.
    fn dequeued(&mut self, _queue: QueueId, _packet: &P, _now: Time) {}
    /// `packet` passed a queue in which nothing waits: [`Observer::enqueued`] and then [`Observer::dequeued`] at one time. An override does the
    /// same with less work.
    #[inline]
    fn passed(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.enqueued(queue, packet, now);
        self.dequeued(queue, packet, now);
    }
    /// `packet` was newly marked CE. A packet that carried CE before is not reported.
    fn marked(&mut self, _queue: QueueId, _packet: &P, _reason: MarkReason, _now: Time) {}
    /// `packet` was dropped, before or after it was accepted.
    fn dropped(&mut self, packet: P, drop: Drop, now: Time);
    /// The link transmits `packet` during `departure`. Reported by the bottleneck.
    fn departed(&mut self, _packet: &P, _departure: &Departure) {}
    /// Transmissions that start from `now` on have this rate. Reported by the bottleneck.
    fn rate_changed(&mut self, _rate: Rate, _now: Time) {}
    /// `packet` starts its transmission behind the last of several queues in a row, in all of which it has waited this long
    /// together. Reported by worlds with several links, after `departed`; never where a packet crosses one queue.
    fn crossed(&mut self, _packet: &P, _waited: Time, _now: Time) {}
}

/// Whoever may write to an observer, or owns one, can pass it on.
macro_rules! passes_on {
    ($holder:ty) => {
        impl<P, O: Observer<P> + ?Sized> Observer<P> for $holder {
            fn enqueued(&mut self, queue: QueueId, packet: &P, now: Time) {
                (**self).enqueued(queue, packet, now);
            }
            fn dequeued(&mut self, queue: QueueId, packet: &P, now: Time) {
                (**self).dequeued(queue, packet, now);
            }
            fn passed(&mut self, queue: QueueId, packet: &P, now: Time) {
                (**self).passed(queue, packet, now);
            }
            fn marked(&mut self, queue: QueueId, packet: &P, reason: MarkReason, now: Time) {
                (**self).marked(queue, packet, reason, now);
            }
            fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
                (**self).dropped(packet, drop, now);
            }
            fn departed(&mut self, packet: &P, departure: &Departure) {
                (**self).departed(packet, departure);
            }
            fn rate_changed(&mut self, rate: Rate, now: Time) {
                (**self).rate_changed(rate, now);
            }
            fn crossed(&mut self, packet: &P, waited: Time, now: Time) {
                (**self).crossed(packet, waited, now);
            }
        }
    };
}

passes_on!(&mut O);
passes_on!(Box<O>);
