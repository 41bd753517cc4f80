//! The position of a recorder on its timeline, and the interval or segment that closes next.

use quell_units::Time;

use crate::timeline::{Segment, Span, Timeline, Use};

/// A walk along a timeline and a grid of intervals.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    timeline: Timeline,
    segment: usize,
    interval: Option<Time>,
    interval_end: Time,
    end: Time,
    next: Time,
}

/// The interval, the segment, or both, that close at one time, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Time,
    pub(crate) interval: bool,
    pub(crate) segment: Option<Segment>,
}

impl Schedule {
    /// Intervals start at zero; the last ends with the run. An interval of zero means no intervals.
    pub(crate) fn new(timeline: Timeline, interval: Option<Time>) -> Self {
        let interval = interval.filter(|interval| !interval.is_zero());
        let mut schedule = Self {
            end: timeline.whole().end,
            timeline,
            segment: 0,
            interval,
            interval_end: interval.unwrap_or(Time::MAX),
            next: Time::ZERO,
        };
        schedule.plan();
        schedule
    }

    /// Time at which something closes next; [`Time::MAX`] after the end.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes the next closing, if it is due by `now`.
    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        let open = *self.timeline.segments().get(self.segment)?;
        let at = self.next;
        if at > now {
            return None;
        }
        Some(self.close(open, at))
    }

    /// Ends the run early, at `end`, as if that had always been its planned end. Closed segments stay closed.
    pub(crate) fn end_at(&mut self, end: Time) {
        self.timeline.end_at(end);
        self.end = self.timeline.whole().end;
        self.plan();
    }

    /// True while events count for the whole.
    pub(crate) fn measures(&self) -> bool {
        let open = self.timeline.segments().get(self.segment);
        open.is_some_and(|segment| segment.counts_for != Use::Nothing)
    }

    /// The measured part of the run, up to its actual end.
    pub(crate) fn whole(&self) -> Span {
        self.timeline.whole()
    }

    fn close(&mut self, open: Segment, at: Time) -> Due {
        let due = Due {
            at,
            interval: self.interval.is_some_and(|interval| {
                let begun = self.interval_end - interval;
                at >= self.interval_end || (at == self.end && at > begun)
            }),
            segment: (at >= open.span.end).then_some(open),
        };
        if due.segment.is_some() {
            self.segment += 1;
        }
        if let Some(interval) = self.interval.filter(|_| due.interval) {
            self.interval_end += interval;
        }
        self.plan();
        due
    }

    fn plan(&mut self) {
        self.next = match self.timeline.segments().get(self.segment) {
            Some(open) => open.span.end.min(self.interval_end),
            None => Time::MAX,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closings(schedule: &mut Schedule, now: Time) -> Vec<(u64, bool, bool)> {
        std::iter::from_fn(|| schedule.due(now))
            .map(|due| (due.at.as_nanos(), due.interval, due.segment.is_some()))
            .collect()
    }

    #[test]
    fn closes_intervals_and_segments_in_order_and_ends_with_the_run() {
        let nanos = Time::from_nanos;
        let timeline = Timeline::new(nanos(15), &[nanos(30)], nanos(0), nanos(35));
        let mut schedule = Schedule::new(timeline, Some(nanos(10)));
        assert_eq!(closings(&mut schedule, nanos(9)), []);
        assert!(!schedule.measures());
        assert_eq!(
            closings(&mut schedule, nanos(15)),
            [(10, true, false), (15, false, true)]
        );
        assert!(schedule.measures());
        assert_eq!(
            closings(&mut schedule, nanos(99)),
            [(20, true, false), (30, true, true), (35, true, true)]
        );
        assert_eq!((schedule.next(), schedule.measures()), (Time::MAX, false));
        schedule.end_at(nanos(99));
        assert_eq!(schedule.due(nanos(99)), None);
    }

    #[test]
    fn a_run_that_ends_early_closes_what_is_open_then_and_nothing_after() {
        let nanos = Time::from_nanos;
        let timeline = Timeline::new(nanos(10), &[nanos(40)], nanos(0), nanos(50));
        let schedule = || {
            let mut schedule = Schedule::new(timeline.clone(), Some(nanos(20)));
            closings(&mut schedule, nanos(25));
            schedule
        };
        for (end, expected) in [(25, (25, true, true)), (40, (40, true, true))] {
            let mut schedule = schedule();
            schedule.end_at(nanos(end));
            assert_eq!(closings(&mut schedule, nanos(99)), [expected]);
            assert_eq!(schedule.whole().length(), nanos(end - 10));
            assert_eq!((schedule.next(), schedule.measures()), (Time::MAX, false));
        }
        // An interval, or a segment, that has closed at the end does not close again.
        let mut late = schedule();
        closings(&mut late, nanos(20));
        late.end_at(nanos(20));
        assert_eq!(closings(&mut late, nanos(99)), [(20, false, true)]);
        let mut late = Schedule::new(timeline.clone(), Some(nanos(20)));
        closings(&mut late, nanos(10));
        late.end_at(nanos(10));
        assert_eq!(closings(&mut late, nanos(99)), []);
        assert!(late.whole().length().is_zero());
    }
}
