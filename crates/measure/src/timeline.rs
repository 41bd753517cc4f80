//! The parts of a run: warm-up, whole and phases.
//!
//! A run is cut at the end of the warm-up, at each change and at the end of the settling time after a
//! change. Between two cuts lies a [`Segment`], which includes its start and excludes its end: an event
//! exactly at a cut belongs to the later segment.
//!
//! The whole is everything after the warm-up. Changes divide the run into stretches, the first from
//! the start of the run. Each stretch is a phase, without its settling time (the first has the warm-up
//! instead) and without its part in the warm-up. A stretch of which nothing is left is no phase, and a
//! run without changes has no phases. So each phase is one segment.

use quell_units::Time;

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first instant.
    pub start: Time,
    /// The first instant after it.
    pub end: Time,
}

impl Span {
    /// `end` − `start`.
    pub fn length(self) -> Time {
        self.end - self.start
    }
}

/// The use of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Nothing: it is part of the warm-up.
    Nothing,
    /// The whole.
    Whole,
    /// The whole and a phase of its own.
    Phase,
}

/// A part of the run between two cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Start and end of the segment.
    pub span: Span,
    /// Use of the segment.
    pub counts_for: Use,
}

/// The segments of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    segments: Vec<Segment>,
    whole: Span,
}

impl Timeline {
    /// The timeline of a run up to `end`. `changes` are the times of the changes of the scenario in any
    /// order; those at zero, at `end` or later have no effect.
    pub fn new(warmup: Time, changes: &[Time], settle: Time, end: Time) -> Self {
        let mut starts: Vec<Time> = changes.iter().copied().filter(|&at| at < end).collect();
        starts.push(Time::ZERO);
        starts.sort_unstable();
        starts.dedup();
        let phases: Vec<Span> = starts
            .iter()
            .enumerate()
            .map(|(i, &start)| Span {
                start: if i == 0 {
                    warmup
                } else {
                    warmup.max(start + settle)
                },
                end: starts.get(i + 1).copied().unwrap_or(end),
            })
            .filter(|phase| starts.len() > 1 && phase.start < phase.end)
            .collect();

        let mut cuts: Vec<Time> = phases
            .iter()
            .flat_map(|phase| [phase.start, phase.end])
            .collect();
        cuts.extend([Time::ZERO, warmup.min(end), end]);
        cuts.sort_unstable();
        cuts.dedup();
        // Phases are sorted by their starts, which all differ.
        let is_phase = |span: &Span| {
            let place = phases.binary_search_by_key(&span.start, |phase| phase.start);
            place.is_ok_and(|place| phases[place] == *span)
        };
        let segments = cuts.windows(2).map(|pair| {
            let span = Span {
                start: pair[0],
                end: pair[1],
            };
            let counts_for = if span.start < warmup {
                Use::Nothing
            } else if is_phase(&span) {
                Use::Phase
            } else {
                Use::Whole
            };
            Segment { span, counts_for }
        });
        Self {
            segments: segments.collect(),
            whole: Span {
                start: warmup.min(end),
                end,
            },
        }
    }

    /// Ends the run early, at `end`, and removes everything after it. An `end` after the planned one changes nothing.
    pub fn end_at(&mut self, end: Time) {
        self.segments.retain(|segment| segment.span.start < end);
        if let Some(last) = self.segments.last_mut() {
            last.span.end = last.span.end.min(end);
        }
        self.whole.end = self.whole.end.min(end);
        self.whole.start = self.whole.start.min(self.whole.end);
    }

    /// The segments in order, without gaps, from zero to the end of the run.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// The time from the end of the warm-up to the end of the run.
    pub fn whole(&self) -> Span {
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments as `(start, end, use)` in seconds.
    fn segments(warmup: u64, changes: &[u64], settle: u64, end: u64) -> Vec<(u64, u64, Use)> {
        let changes: Vec<Time> = changes.iter().map(|&s| Time::from_secs(s)).collect();
        let secs = Time::from_secs;
        let seconds = |time: Time| time.as_nanos() / 1_000_000_000;
        Timeline::new(secs(warmup), &changes, secs(settle), secs(end))
            .segments()
            .iter()
            .map(|s| (seconds(s.span.start), seconds(s.span.end), s.counts_for))
            .collect()
    }

    #[test]
    fn a_run_that_ends_early_has_the_segments_up_to_there() {
        use Use::{Nothing, Phase, Whole};
        let seconds = Time::from_secs;
        let all = || Timeline::new(seconds(10), &[seconds(30)], seconds(5), seconds(60));
        let of = |timeline: &Timeline| -> Vec<(Time, Time, Use)> {
            let segments = timeline.segments().iter();
            segments
                .map(|s| (s.span.start, s.span.end, s.counts_for))
                .collect()
        };
        for (end, expected) in [
            (3, vec![(0, 3, Nothing)]),
            (10, vec![(0, 10, Nothing)]),
            (20, vec![(0, 10, Nothing), (10, 20, Phase)]),
            (30, vec![(0, 10, Nothing), (10, 30, Phase)]),
            (32, vec![(0, 10, Nothing), (10, 30, Phase), (30, 32, Whole)]),
        ] {
            let mut timeline = all();
            timeline.end_at(seconds(end));
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(from, to, counts_for)| (seconds(from), seconds(to), counts_for))
                .collect();
            assert_eq!(of(&timeline), expected, "{end}");
            let whole = Span {
                start: seconds(end.min(10)),
                end: seconds(end),
            };
            assert_eq!(timeline.whole(), whole, "{end}");
        }
        let mut timeline = all();
        timeline.end_at(seconds(70));
        assert_eq!(timeline, all());
    }

    #[test]
    fn cuts_at_the_warm_up_the_changes_and_the_ends_of_settling() {
        use Use::{Nothing, Phase, Whole};
        for (warmup, changes, settle, end, expected) in [
            (10, &[][..], 5, 60, vec![(0, 10, Nothing), (10, 60, Whole)]),
            (0, &[], 0, 60, vec![(0, 60, Whole)]),
            (
                10,
                &[30],
                5,
                60,
                vec![
                    (0, 10, Nothing),
                    (10, 30, Phase),
                    (30, 35, Whole),
                    (35, 60, Phase),
                ],
            ),
            // A change during the warm-up: the stretch before it is no phase.
            (
                10,
                &[7],
                5,
                60,
                vec![(0, 10, Nothing), (10, 12, Whole), (12, 60, Phase)],
            ),
            (10, &[3], 5, 60, vec![(0, 10, Nothing), (10, 60, Phase)]),
            // Changes nearer to each other than the settling time; a change given twice.
            (
                0,
                &[22, 20, 22],
                5,
                30,
                vec![(0, 20, Phase), (20, 27, Whole), (27, 30, Phase)],
            ),
            // Changes that never happen, and one at the start.
            (0, &[0, 60, 70], 5, 60, vec![(0, 60, Whole)]),
            (70, &[30], 5, 60, vec![(0, 60, Nothing)]),
        ] {
            assert_eq!(
                segments(warmup, changes, settle, end),
                expected,
                "{warmup} {changes:?}"
            );
        }
    }
}
