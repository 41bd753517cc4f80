//! Datagrams whose sizes and intervals are drawn. The plan depends on the random streams alone.

use quell_units::{Bytes, Random, Time};

use super::random_value::RandomValue;
use crate::{Action, Input};

/// The datagrams of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// IP length, over TCP length of a message, in thousandths of a byte, with what the protocol's headers add to it in bytes.
    pub size: (RandomValue, i64),
    /// Time between datagrams, in ns.
    pub interval: RandomValue,
}

/// The smallest IP length: it has room for the contents of a datagram in every world.
pub const LEAST: u64 = 60;
/// The largest.
pub const MOST: u64 = 1_500;
/// Intervals are from 10 µs to 60 s.
const INTERVALS: (u64, u64) = (10_000, 60_000_000_000);

/// One that sends.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    flow: Flow,
    /// The smallest and the largest length.
    lengths: (u64, u64),
    sizes: Random,
    intervals: Random,
    /// Time of the next datagram; `None` before the start.
    due: Option<Time>,
    pub(crate) sent: u64,
}

impl Source {
    /// Lengths from `least` to [`MOST`].
    pub(crate) fn new(flow: Flow, least: u64, (sizes, intervals): (Random, Random)) -> Self {
        Self {
            flow,
            lengths: (least, MOST),
            sizes,
            intervals,
            due: None,
            sent: 0,
        }
    }

    /// The size of a datagram that is to be sent now.
    pub(crate) fn next(&mut self) -> Bytes {
        self.sent += 1;
        let (law, headers) = self.flow.size;
        let bound = |size: u64| (size as i64 - headers).max(0) as u64 * 1_000;
        let (least, most) = self.lengths;
        let size = law.draw((bound(least), bound(most)), &mut self.sizes);
        Bytes::new(
            ((size + 500) / 1_000)
                .saturating_add_signed(headers)
                .clamp(least, most),
        )
    }

    /// Whether a datagram is due; asks to be woken for the next one.
    pub(crate) fn is_due(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) -> bool {
        let due = match (self.due, input) {
            (None, Input::Started) => now,
            (Some(due), Input::Wake) => due,
            _ => return false,
        };
        let is_due = due <= now;
        let next = if is_due {
            let gap = self.flow.interval.draw(INTERVALS, &mut self.intervals);
            due + Time::from_nanos(gap)
        } else {
            due
        };
        self.due = Some(next);
        actions.push(Action::WakeAt(next));
        is_due
    }
}
