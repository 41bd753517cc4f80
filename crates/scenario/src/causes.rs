//! Why events were slow, by group and part of the run.

use std::collections::BTreeMap;

use quell_app::{Causes, Recorded};
use quell_measure::Timeline;
use quell_units::Time;

use crate::contract::EventRow;

/// Counts the causes of events by the segment of the timeline in which they ended.
#[derive(Debug)]
pub struct SlowEvents {
    /// Where segments start.
    starts: Vec<Time>,
    /// The events by group, and by the start of the segment.
    counts: BTreeMap<(usize, Time), Causes>,
}

impl SlowEvents {
    /// An empty collection for a run with this timeline.
    pub fn new(timeline: &Timeline) -> Self {
        let segments = timeline.segments().iter();
        Self {
            starts: segments.map(|segment| segment.span.start).collect(),
            counts: BTreeMap::new(),
        }
    }

    /// Counts an event.
    pub fn note(&mut self, row: &EventRow) {
        let Some(ended) = row.event.ended else {
            return;
        };
        let before = self.starts.partition_point(|start| *start <= ended);
        let Some(start) = before.checked_sub(1).map(|index| self.starts[index]) else {
            return;
        };
        let counts = self
            .counts
            .entry((row.group.0 as usize, start))
            .or_default();
        counts.note(&Recorded {
            event: row.event,
            repairs: row.repairs,
        });
    }

    /// The events of a group in the segments that start at `from` or later and before `to`.
    pub(crate) fn between(&self, group: usize, from: Time, to: Time) -> Causes {
        let mut sum = Causes::default();
        if from < to {
            for (_, counts) in self.counts.range((group, from)..(group, to)) {
                sum.add(counts);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_app::{Carrier, Event, Outcome, Repairs, SLOW};
    use quell_measure::{FlowId, GroupId};

    #[test]
    fn an_event_counts_in_the_part_of_the_run_in_which_it_ended() {
        let seconds = Time::from_secs;
        let timeline = Timeline::new(seconds(5), &[seconds(20)], seconds(2), seconds(40));
        let mut slow = SlowEvents::new(&timeline);
        let event = |ended: Time| EventRow {
            group: GroupId(1),
            flow: FlowId(3),
            event: Event {
                kind: "item",
                number: 0,
                started: ended - SLOW[1],
                first: None,
                last: None,
                ended: Some(ended),
                size: 1,
                outcome: Outcome::Complete,
                value: 0,
                wait: None,
                carrier: Carrier::Flow,
                note: None,
            },
            repairs: Repairs::ZERO,
        };
        let before = |time: Time| time - Time::from_nanos(1);
        // In the warm-up, in the first phase, while the change settles, and in the second phase.
        for ended in [
            before(seconds(5)),
            seconds(5),
            before(seconds(20)),
            seconds(20),
            before(seconds(22)),
            seconds(22),
            seconds(39),
            before(seconds(40)),
        ] {
            slow.note(&event(ended));
        }
        let count = |group, from, to| slow.between(group, seconds(from), seconds(to)).of(1, None);
        assert_eq!(count(1, 5, 40), 7, "the whole");
        assert_eq!((count(1, 5, 20), count(1, 22, 40)), (2, 3), "phases");
        assert_eq!((count(0, 5, 40), count(1, 5, 5)), (0, 0));
    }
}
