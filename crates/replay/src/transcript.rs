//! What the end under test has done: the segments that left it, with their times, and its state where a script asks for it.
//!
//! Its text is in the language of scripts, so that it can be copied into one.

use std::fmt::{self, Write as _};

use quell_tcp::{Flags, Order, Segment};
use quell_units::{Ecn, Time};

use crate::script::{Carries, MSS};
use crate::state::SenderState;

/// A segment that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When, since the script began.
    pub at: Time,
    /// The segment, without its timestamps.
    pub segment: Segment,
}

/// What the end under test has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// What its segments say.
    pub carries: Carries,
    /// In the order in which they left.
    pub departures: Vec<Departure>,
    /// For each line of the script that says `is`: when, and the state.
    pub states: Vec<(Time, SenderState)>,
}

/// What left together, as one line of a script: same time, flags but PSH, and everything else but the numbers. Its end under test sends the
/// data, or acknowledges it.
pub(crate) fn describe(together: &[Departure], carries: Carries) -> String {
    let Some(first) = together.first() else {
        return String::new();
    };
    let mut line = format!("{} >", millis(first.at));
    let mut rest = together;
    while let Some(Departure { segment, .. }) = rest.first() {
        // A run of full segments, up to one with PSH.
        let continues = |pair: &[Departure]| {
            let [a, b] = [pair[0].segment, pair[1].segment];
            is_full(&a) && is_full(&b) && a.end() == b.sequence && !a.flags.has(Flags::PSH)
        };
        let run = 1 + rest.windows(2).take_while(|pair| continues(pair)).count();
        let last = rest[run - 1].segment;
        let _ = match segment.payload {
            _ if is_full(segment) && run == 1 => write!(line, " {}", number(segment.sequence)),
            _ if is_full(segment) => {
                write!(
                    line,
                    " {}-{}",
                    number(segment.sequence),
                    number(last.sequence)
                )
            }
            0 if segment.flags.has(Flags::SYN) => write!(line, " SYN"),
            0 if is_lone_fin(segment, carries) => write!(line, " FIN"),
            0 if is_lone_rst(segment, carries) => write!(line, " RST"),
            0 if carries == Carries::Acknowledgements => {
                write!(line, " ack {}", position(segment.acknowledgement))
            }
            // Streams are written in whole segments, so an old number is that of a probe.
            0 if carries == Carries::Data
                && number(segment.sequence + 1) > number(segment.sequence) =>
            {
                write!(line, " probe")
            }
            0 => write!(line, " empty"),
            payload => {
                let end = segment.sequence + u64::from(payload);
                write!(line, " {}:{end}", segment.sequence)
            }
        };
        if last.payload > 0 && last.flags.has(Flags::PSH) {
            line.push('P');
        }
        rest = &rest[run..];
    }
    if carries == Carries::Both && first.segment.flags.has(Flags::ACK) {
        let _ = write!(line, " ack {}", position(first.segment.acknowledgement));
    }
    let mut rest = first.segment;
    if is_lone_fin(&rest, carries) {
        rest.flags.0 &= !Flags::FIN;
    }
    if is_lone_rst(&rest, carries) {
        rest.flags.0 &= !Flags::RST;
    }
    line.push_str(&attributes(&rest));
    if carries == Carries::Acknowledgements {
        let _ = write!(line, " win {}B", first.segment.window);
    }
    line
}

fn is_lone_fin(segment: &Segment, carries: Carries) -> bool {
    carries == Carries::Both && segment.payload == 0 && segment.flags.has(Flags::FIN)
}

fn is_lone_rst(segment: &Segment, carries: Carries) -> bool {
    carries == Carries::Both && segment.flags.0 & (Flags::RST | Flags::ACK) == Flags::RST
}

fn number(byte: u64) -> u64 {
    byte / u64::from(MSS)
}

/// Whether both may stand in one line.
pub(crate) fn is_alike(a: &Departure, b: &Departure) -> bool {
    let bare = |departure: &Departure| Segment {
        sequence: 0,
        payload: 0,
        flags: Flags(departure.segment.flags.0 & !Flags::PSH),
        ..departure.segment
    };
    a.at == b.at && a.segment.payload > 0 && b.segment.payload > 0 && bare(a) == bare(b)
}

fn is_full(segment: &Segment) -> bool {
    segment.payload == MSS && segment.sequence.is_multiple_of(u64::from(MSS))
}

fn attributes(segment: &Segment) -> String {
    let mut text = String::new();
    if !segment.sacks.is_empty() {
        text.push_str(" sack");
        for block in segment.sack_blocks() {
            let mss = u64::from(MSS);
            let is_whole = block.start.is_multiple_of(mss) && block.end.is_multiple_of(mss);
            let _ = if is_whole {
                write!(text, " {}-{}", block.start / mss, block.end / mss - 1)
            } else {
                write!(text, " {}:{}", block.start, block.end)
            };
        }
    }
    for (name, flag) in crate::script::FLAGS {
        if segment.flags.has(flag) && !(flag == Flags::PSH && segment.payload > 0) {
            let _ = write!(text, " {name}");
        }
    }
    text.push_str(match segment.ecn {
        Ecn::NotEct => "",
        Ecn::Ect0 => " ect0",
        Ecn::Ect1 => " ect1",
        Ecn::Ce => " ce",
    });
    let names = match segment.accecn.order() {
        Some(Order::Zero) => ["e0b", "ceb", "e1b"],
        _ => ["e1b", "ceb", "e0b"],
    };
    for (name, (_, count)) in names.iter().zip(segment.accecn.counters()) {
        let _ = write!(text, " {name} {count}");
    }
    text
}

fn position(byte: u64) -> String {
    match byte.is_multiple_of(u64::from(MSS)) {
        true => (byte / u64::from(MSS)).to_string(),
        false => format!("{byte}B"),
    }
}

/// Milliseconds, without zeroes at the end.
pub(crate) fn millis(time: Time) -> String {
    let nanos = time.as_nanos();
    let text = format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let together = self.departures.chunk_by(is_alike);
        let mut lines: Vec<(Time, String)> = together
            .map(|part| (part[0].at, describe(part, self.carries)))
            .collect();
        let states = self.states.iter();
        lines.extend(states.map(|(at, state)| (*at, format!("{} {state}", millis(*at)))));
        // Stable: what left at the instant of a look comes first.
        lines.sort_by_key(|(at, _)| *at);
        lines.iter().try_for_each(|(_, line)| writeln!(f, "{line}"))
    }
}
