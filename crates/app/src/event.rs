//! Records of single events: one item, page, segment, frame or call interval each.

use quell_units::Time;

/// One connection of a flow. The end that opens it chooses the number, which is small and free
/// again after `Input::Closed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// The connection of a flow that has one at a time.
    pub const ONLY: Self = Self(0);
}

/// The end of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// As intended.
    Complete,
    /// Not ended when the run did.
    Unfinished,
    /// Its connection was reset, or could not be opened.
    Failed,
    /// Never begun, for want of room.
    Refused,
    /// Complete, but too late to be of use.
    Late,
    /// Left out by its source, because something newer was there.
    Skipped,
    /// A part of it never arrived.
    Lost,
    /// Given up by its user.
    Abandoned,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Complete,
        Self::Unfinished,
        Self::Failed,
        Self::Refused,
        Self::Late,
        Self::Skipped,
        Self::Lost,
        Self::Abandoned,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unfinished => "unfinished",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Late => "late",
            Self::Skipped => "skipped",
            Self::Lost => "lost",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Information about the events that a kind of application records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventInfo {
    /// As [`Event::kind`].
    pub kind: &'static str,
    /// The meaning of one event, from when to when.
    pub meaning: &'static str,
    /// The meaning of [`Event::value`], with its unit; empty if there is none.
    pub value: &'static str,
}

/// The carrier of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Carrier {
    /// Datagrams, or nothing yet.
    #[default]
    Nothing,
    /// This connection.
    Connection(ConnectionId),
    /// All connections of the flow.
    Flow,
}

/// One event of an application. Times are those of the run, at the end that records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its kind: `item`, `page`, `segment`, `frame`, `interval`.
    pub kind: &'static str,
    /// Counts the events of this kind and flow from 0, as planned: the same in every world.
    pub number: u64,
    /// Its beginning: the user asked for it.
    pub started: Time,
    /// Arrival of its first byte.
    pub first: Option<Time>,
    /// Arrival of its last byte.
    pub last: Option<Time>,
    /// Its end.
    pub ended: Option<Time>,
    /// Bytes of payload that were asked for.
    pub size: u64,
    /// Its outcome.
    pub outcome: Outcome,
    /// A figure that the kind defines, such as the level of a segment; 0 without one.
    pub value: u64,
    /// Time that it waited for its connection, or behind others, before its request or its data could
    /// leave; `None` where nothing left, and for datagrams.
    pub wait: Option<Time>,
    /// Its carrier.
    pub carrier: Carrier,
    /// Repairs of its carrier count since this note ([`Action::Note`](crate::Action::Note)); without one
    /// since the carrier began.
    pub note: Option<u32>,
}
