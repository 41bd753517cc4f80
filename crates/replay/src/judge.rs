//! Compares what an end has done with what its script says.

use std::fmt::Write as _;

use quell_tcp::{AccEcnOption, Segment};
use quell_units::{Ecn, Time};

use crate::script::{Event, Expected, Line, Script, Subject};
use crate::state::SenderState;
use crate::transcript::{Departure, Transcript, describe, millis};

/// The model keeps the times of a script to its last decimal, but for numbers that it rounds itself: a microsecond.
pub const MODEL_TOLERANCE: Time = Time::from_micros(1);

/// Linux keeps them to this. Each look at the clock of a guest moves it by 256 ns, and an arrival, the segments that answer it and their
/// reading take some of them. Its TCP counts in microseconds.
pub const LINUX_TOLERANCE: Time = Time::from_micros(20);

impl Subject {
    /// How exactly it keeps the times of a script.
    pub fn tolerance(&self) -> Time {
        match self {
            Self::Model => MODEL_TOLERANCE,
            Self::Linux(_) => LINUX_TOLERANCE,
        }
    }
}

/// Every difference between what `subject` has done and what `script` says, a line of text each; none if they agree.
///
/// After the first departure that differs the others are not compared: they follow from it.
pub fn judge(script: &Script, transcript: &Transcript, subject: &Subject) -> Vec<String> {
    let mut differences = Vec::new();
    let mut departures = transcript.departures.iter();
    let mut counters = Counters::initial();
    let expected = script
        .lines_for(subject)
        .flat_map(|line| match &line.event {
            Event::Leave(segments) => segments.iter().map(|segment| (line, segment)).collect(),
            _ => Vec::new(),
        });
    let show = |departure: &Departure| describe(&[*departure], transcript.carries);
    for (line, expected) in expected {
        let wanted = Departure {
            at: line.at,
            segment: expected.segment,
        };
        let found = departures.next();
        let is_right = found.is_some_and(|found| {
            counters.learn(&found.segment);
            is_as_expected(found, line, expected, subject.tolerance())
                && counters.are(&expected.segment)
        });
        if is_right {
            continue;
        }
        let mut text = format!("line {}: `{}` is expected", line.number, show(&wanted));
        if let Some(window) = expected.window {
            let _ = write!(text, " with a window of {window} bytes");
        }
        let _ = match found {
            None => write!(text, ", and nothing leaves"),
            Some(found) => {
                write!(
                    text,
                    ", and `{}` leaves with a window of {} bytes",
                    show(found),
                    found.segment.window
                )
            }
        };
        differences.push(text);
        break;
    }
    if differences.is_empty()
        && let Some(more) = departures.next()
    {
        differences.push(format!("`{}` leaves, which no line expects", show(more)));
    }
    let claims = script
        .lines_for(subject)
        .filter_map(|line| match &line.event {
            Event::Is(claims) => Some((line, claims)),
            _ => None,
        });
    for ((line, claims), (_, state)) in claims.zip(&transcript.states) {
        if !SenderState::keeps(state, claims) {
            differences.push(format!(
                "line {}: at {} it {state}",
                line.number,
                millis(line.at)
            ));
        }
    }
    differences
}

/// The byte counters of AccECN that the peer knows, by the codepoint that they count: what the options so far have said.
struct Counters([u32; 4]);

impl Counters {
    /// RFC 9768 section 3.2.1: two of them begin with 1.
    fn initial() -> Self {
        let mut known = [0; 4];
        known[Ecn::Ect0 as usize] = 1;
        known[Ecn::Ect1 as usize] = 1;
        Self(known)
    }
    fn learn(&mut self, segment: &Segment) {
        for (ecn, count) in segment.accecn.counters() {
            self.0[ecn as usize] = count;
        }
    }
    /// Whether they are as a script says; it need not name all of them.
    fn are(&self, expected: &Segment) -> bool {
        let mut named = expected.accecn.counters();
        named.all(|(ecn, count)| self.0[ecn as usize] == count)
    }
}

fn is_as_expected(found: &Departure, line: &Line, expected: &Expected, tolerance: Time) -> bool {
    // One of the differences is zero.
    let apart = (found.at - line.at).max(line.at - found.at);
    let bare = |segment: &Segment| Segment {
        timestamp: Time::ZERO,
        echo: Time::ZERO,
        window: 0,
        accecn: AccEcnOption::NONE,
        ..*segment
    };
    apart <= tolerance
        && bare(&found.segment) == bare(&expected.segment)
        && expected
            .window
            .is_none_or(|window| window == found.segment.window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;
    use quell_tcp::Flags;

    const SCRIPT: &str = "sender reno\n10 > 0-1P\n20 > 2 ect0\n30 is cwnd 7 ssthresh none Open\n";

    /// What a script expects, as if it had happened.
    fn as_expected(script: &Script) -> Transcript {
        let leave = script.lines.iter().flat_map(|line| match &line.event {
            Event::Leave(segments) => segments
                .iter()
                .map(|one| Departure {
                    at: line.at,
                    segment: one.segment,
                })
                .collect(),
            _ => Vec::new(),
        });
        let state = SenderState {
            cwnd: 7,
            ssthresh: None,
            resent: 3,
            state: State::Open,
        };
        Transcript {
            carries: crate::script::Carries::Data,
            departures: leave.collect(),
            states: vec![(Time::from_millis(30), state)],
        }
    }

    #[test]
    fn what_is_as_the_script_says_has_no_differences() {
        let script = Script::parse(SCRIPT).unwrap();
        assert_eq!(
            judge(&script, &as_expected(&script), &Subject::Model),
            [""; 0]
        );
    }

    type Change = fn(&mut Transcript);

    #[test]
    fn every_kind_of_difference_is_found() {
        let script = Script::parse(SCRIPT).unwrap();
        let changes: [(Change, &str); 9] = [
            (
                |done| done.departures[0].at += Time::from_micros(2),
                "line 2",
            ),
            (|done| done.departures[0].segment.payload = 999, "line 2"),
            (
                |done| done.departures[1].segment.flags.0 |= Flags::CWR,
                "line 2",
            ),
            (
                |done| done.departures[1].segment.flags.0 &= !Flags::PSH,
                "line 2",
            ),
            (
                |done| done.departures[2].segment.ecn = quell_units::Ecn::NotEct,
                "line 3",
            ),
            (|done| done.departures.truncate(2), "nothing leaves"),
            (
                |done| done.departures.push(done.departures[0]),
                "no line expects",
            ),
            (|done| done.states[0].1.cwnd = 8, "line 4"),
            (|done| done.states[0].1.ssthresh = Some(4), "line 4"),
        ];
        for (number, (change, expected)) in changes.into_iter().enumerate() {
            let mut done = as_expected(&script);
            change(&mut done);
            let differences = judge(&script, &done, &Subject::Model);
            assert!(
                differences.len() == 1 && differences[0].contains(expected),
                "{number}: {differences:?}"
            );
        }
    }

    #[test]
    fn linux_may_be_a_few_microseconds_late() {
        let script = Script::parse(SCRIPT).unwrap();
        let mut done = as_expected(&script);
        done.departures[2].at += LINUX_TOLERANCE;
        assert_eq!(
            judge(&script, &done, &Subject::Linux("7.2".into())),
            [""; 0]
        );
        assert_eq!(judge(&script, &done, &Subject::Model).len(), 1);
    }
}
