//! Counts of slow events, by what TCP repaired for them.

use quell_units::Time;

use crate::{Cause, Outcome, Recorded};

/// An event is slow, or very slow, from this time on: the least cost of a lost last packet, and of a lost SYN.
pub const SLOW: [Time; 2] = [Time::from_millis(200), Time::from_secs(1)];

/// Counts of complete events that took as long as each of [`SLOW`], by [`Cause`]; the last column is of those without a
/// repair that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Causes([[u64; Cause::ALL.len() + 1]; SLOW.len()]);

impl Causes {
    /// Counts an event if it was slow.
    pub fn note(&mut self, recorded: &Recorded) {
        let event = &recorded.event;
        let Some(ended) = event.ended.filter(|_| event.outcome == Outcome::Complete) else {
            return;
        };
        let cause = place(recorded.repairs.cause());
        for (counts, least) in self.0.iter_mut().zip(SLOW) {
            counts[cause] += u64::from(ended - event.started >= least);
        }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        let counts = self.0.iter_mut().flatten();
        for (sum, more) in counts.zip(other.0.iter().flatten()) {
            *sum += more;
        }
    }

    /// Events that took at least `SLOW[least]`, with this cause; `None` is no repair.
    pub fn of(&self, least: usize, cause: Option<Cause>) -> u64 {
        self.0[least][place(cause)]
    }
}

fn place(cause: Option<Cause>) -> usize {
    let known = Cause::ALL.iter().position(|one| Some(*one) == cause);
    known.unwrap_or(Cause::ALL.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carrier, EndRepairs, Event, Repairs};

    fn recorded(took: Time, outcome: Outcome, sender: EndRepairs) -> Recorded {
        Recorded {
            event: Event {
                kind: "item",
                number: 0,
                started: Time::from_secs(5),
                first: None,
                last: None,
                ended: Some(Time::from_secs(5) + took),
                size: 1,
                outcome,
                value: 0,
                wait: None,
                carrier: Carrier::Flow,
                note: None,
            },
            repairs: Repairs {
                sender,
                ..Repairs::ZERO
            },
        }
    }

    #[test]
    fn complete_events_count_from_each_bound_on_under_their_costliest_repair() {
        let with = |handshake, probes| EndRepairs {
            handshake: Some(handshake),
            probes: Some(probes),
            ..EndRepairs::ZERO
        };
        let nearly = |time: Time| time - Time::from_nanos(1);
        let mut causes = Causes::default();
        for (took, outcome, repairs) in [
            (nearly(SLOW[0]), Outcome::Complete, with(0, 1)),
            (SLOW[0], Outcome::Complete, with(0, 1)),
            (nearly(SLOW[1]), Outcome::Complete, EndRepairs::ZERO),
            (SLOW[1], Outcome::Complete, with(2, 1)),
            (SLOW[1], Outcome::Complete, EndRepairs::UNKNOWN),
            (SLOW[1], Outcome::Failed, with(2, 1)),
        ] {
            causes.note(&recorded(took, outcome, repairs));
        }
        let mut twice = causes;
        twice.add(&causes);
        for (cause, counts) in [
            (Some(Cause::Handshake), [1, 1]),
            (Some(Cause::Timeout), [0, 0]),
            (Some(Cause::Probe), [1, 0]),
            (Some(Cause::Recovery), [0, 0]),
            (None, [2, 1]),
        ] {
            assert_eq!([0, 1].map(|least| causes.of(least, cause)), counts);
            assert_eq!(
                [0, 1].map(|least| twice.of(least, cause)),
                counts.map(|count| 2 * count)
            );
        }
    }
}
