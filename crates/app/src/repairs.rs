//! The repairs of TCP while it carried something: why that was slow.
//!
//! An application says what carries an event ([`Event::carrier`]) and since when ([`Event::note`]). Its host
//! knows the counters of TCP, and adds to the record how much they have grown since.

use crate::{Carrier, ConnectionId, Event};

/// Counters of one end's TCP. `None` is what its host cannot know; `Some(0)` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndRepairs {
    /// SYNs of the end that opens, or SYN-ACKs of the other one, that left again.
    pub handshake: Option<u64>,
    /// Retransmission time-outs (RTO) after the handshake.
    pub timeouts: Option<u64>,
    /// Episodes of fast recovery (RFC 6675), whatever began them.
    pub recoveries: Option<u64>,
    /// Tail loss probes (RFC 8985).
    pub probes: Option<u64>,
    /// Segments that left again after the handshake, for whatever reason.
    pub retransmitted: Option<u64>,
}

impl EndRepairs {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        handshake: None,
        timeouts: None,
        recoveries: None,
        probes: None,
        retransmitted: None,
    };
    /// Nothing repaired, where all is known.
    pub const ZERO: Self = Self {
        handshake: Some(0),
        timeouts: Some(0),
        recoveries: Some(0),
        probes: Some(0),
        retransmitted: Some(0),
    };

    fn with(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        let of = |mine: Option<u64>, other: Option<u64>| Some(combine(mine?, other?));
        Self {
            handshake: of(self.handshake, other.handshake),
            timeouts: of(self.timeouts, other.timeouts),
            recoveries: of(self.recoveries, other.recoveries),
            probes: of(self.probes, other.probes),
            retransmitted: of(self.retransmitted, other.retransmitted),
        }
    }
}

/// Counters of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// The sender's, where most of the data comes from.
    pub sender: EndRepairs,
    /// The receiver's, where the user is.
    pub receiver: EndRepairs,
}

impl Repairs {
    /// None, where no TCP carries the data.
    pub const UNKNOWN: Self = Self {
        sender: EndRepairs::UNKNOWN,
        receiver: EndRepairs::UNKNOWN,
    };
    /// None, before the connection begins.
    pub const ZERO: Self = Self {
        sender: EndRepairs::ZERO,
        receiver: EndRepairs::ZERO,
    };

    /// Those of two connections.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }
    /// The repairs since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }
    fn with(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            sender: self.sender.with(other.sender, combine),
            receiver: self.receiver.with(other.receiver, combine),
        }
    }

    /// The reason why something took long, by the costliest repair of either end; `None` if there was none that is known.
    pub fn cause(&self) -> Option<Cause> {
        let ends = [&self.sender, &self.receiver];
        let any = |count: fn(&EndRepairs) -> Option<u64>| {
            ends.iter().any(|end| count(end).is_some_and(|n| n > 0))
        };
        if any(|end| end.handshake) {
            Some(Cause::Handshake)
        } else if any(|end| end.timeouts) {
            Some(Cause::Timeout)
        } else if any(|end| end.probes) {
            Some(Cause::Probe)
        } else if any(|end| end.recoveries.max(end.retransmitted)) {
            Some(Cause::Recovery)
        } else {
            None
        }
    }
}

/// The costliest repair of what was carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A SYN or a SYN-ACK was lost: 1 s and more.
    Handshake,
    /// A retransmission time-out: 200 ms and more.
    Timeout,
    /// A tail loss probe: the last packets were lost. It costs 2 SRTT, and 200 ms more where one was alone.
    Probe,
    /// A loss that later packets showed: about one RTT. Where a host does not count probes, they are here.
    Recovery,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Handshake, Self::Timeout, Self::Probe, Self::Recovery];
}

/// A host's knowledge of the counters of its connections.
pub trait Counted {
    /// Those of a connection, since it was asked for; `None` if there is none with this number.
    fn of_connection(&self, connection: ConnectionId) -> Option<Repairs>;
    /// The sum over all connections so far.
    fn of_flow(&self) -> Repairs;

    /// Those of what carries an event.
    fn of(&self, carrier: Carrier) -> Option<Repairs> {
        match carrier {
            Carrier::Nothing => None,
            Carrier::Connection(connection) => self.of_connection(connection),
            Carrier::Flow => Some(self.of_flow()),
        }
    }
}

/// The notes of an end: counters at the time, by the number of the note.
#[derive(Debug, Clone, Default)]
pub struct Notes(Vec<Repairs>);

impl Notes {
    /// Carries out [`Action::Note`](crate::Action::Note).
    pub fn put(&mut self, note: u32, now: Option<Repairs>) {
        let index = note as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Repairs::ZERO);
        }
        self.0[index] = now.unwrap_or(Repairs::ZERO);
    }
    /// The repairs of an event whose carrier has these counters now.
    pub fn repairs(&self, event: &Event, now: Option<Repairs>) -> Repairs {
        let Some(now) = now else {
            return Repairs::UNKNOWN;
        };
        let noted = event.note.and_then(|note| self.0.get(note as usize));
        noted.map_or(now, |noted| now.since(*noted))
    }
}

/// An event as a host hands it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The application's record.
    pub event: Event,
    /// TCP's repairs meanwhile.
    pub repairs: Repairs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use quell_units::Time;

    const END: EndRepairs = EndRepairs {
        handshake: Some(0),
        timeouts: Some(2),
        recoveries: None,
        probes: Some(1),
        retransmitted: Some(7),
    };

    fn event(note: Option<u32>) -> Event {
        Event {
            kind: "item",
            number: 0,
            started: Time::ZERO,
            first: None,
            last: None,
            ended: None,
            size: 1,
            outcome: Outcome::Complete,
            value: 0,
            wait: None,
            carrier: Carrier::Flow,
            note,
        }
    }

    #[test]
    fn counts_since_a_note_and_keeps_unknown_apart_from_none() {
        let mut notes = Notes::default();
        let now = Repairs {
            sender: END,
            receiver: EndRepairs::ZERO,
        };
        let earlier = Repairs {
            sender: EndRepairs {
                retransmitted: Some(4),
                ..EndRepairs::ZERO
            },
            ..Repairs::ZERO
        };
        notes.put(3, Some(earlier));
        let since = notes.repairs(&event(Some(3)), Some(now));
        assert_eq!(since.sender.retransmitted, Some(3));
        assert_eq!(since.sender.recoveries, None);
        assert_eq!(since.receiver, EndRepairs::ZERO);
        // Without a note, or with one that was never made, since the beginning.
        assert_eq!(notes.repairs(&event(None), Some(now)), now);
        assert_eq!(notes.repairs(&event(Some(9)), Some(now)), now);
        assert_eq!(notes.repairs(&event(Some(3)), None), Repairs::UNKNOWN);
        // Of a connection that does not exist yet.
        notes.put(3, None);
        assert_eq!(notes.repairs(&event(Some(3)), Some(now)), now);
        assert_eq!(now.plus(now).sender.timeouts, Some(4));
    }

    #[test]
    fn the_costliest_repair_of_either_end_is_the_cause() {
        let of = |sender: EndRepairs, receiver: EndRepairs| Repairs { sender, receiver }.cause();
        let one = |change: fn(&mut EndRepairs)| {
            let mut end = EndRepairs::ZERO;
            change(&mut end);
            end
        };
        let zero = EndRepairs::ZERO;
        assert_eq!(Repairs::UNKNOWN.cause(), None);
        assert_eq!(of(zero, zero), None);
        let recovery = one(|end| end.recoveries = Some(1));
        assert_eq!(of(recovery, zero), Some(Cause::Recovery));
        let sent_again = one(|end| end.retransmitted = Some(1));
        assert_eq!(of(zero, sent_again), Some(Cause::Recovery));
        assert_eq!(of(END, recovery), Some(Cause::Timeout));
        assert_eq!(
            of(recovery, one(|end| end.probes = Some(1))),
            Some(Cause::Probe)
        );
        assert_eq!(
            of(END, one(|end| end.handshake = Some(1))),
            Some(Cause::Handshake)
        );
    }
}
