//! Chances to send: the packet-delivery traces of mahimahi.
//!
//! The rules, as mahimahi's `link_queue.cc` has them:
//!
//! 1. Each entry is a chance to send a fixed number of bytes at that time. Equal times are several chances.
//! 2. At its time, before anything that arrives then, a chance goes to the packet in transit, or else to the next one of the queue. A
//!    packet larger than what is left takes further chances; what a packet leaves of a chance goes to the next packets of the queue.
//!    The packet leaves the link at the time of its last chance.
//! 3. The part of a chance that nobody uses at that time is lost.
//! 4. After the last entry the trace starts again, and the time of its last entry becomes the new zero.
//!
//! Differences: times are exact, where mahimahi takes whole milliseconds; a chance carries 1 500 bytes of IP packets unless
//! [`ChanceFraming::Mahimahi`](super::ChanceFraming) is asked for; a packet may be larger than a chance.
//!
//! A discipline that needs the link's rate hears the mean of the last 100 ms, every 10 ms; in the first 100 ms the mean of the trace.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{LinkTrace, SHORTEST, TraceError, UNSCALED};
use crate::units::{Bytes, Rate, Time};

/// Chances to send, in the order of their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChanceTrace {
    times: Arc<Vec<Time>>,
    /// The most chances within [`WINDOW`].
    peak: u64,
}

/// Chances are counted in steps of this length.
const WINDOW: Time = Time::from_millis(10);
/// A discipline hears the mean of this number of steps.
const HEARD: usize = 10;

impl ChanceTrace {
    /// One chance at each of these times; the trace lasts until the last one.
    ///
    /// # Errors
    ///
    /// There is none, a time is before the one in front of it, or the trace is too short.
    pub fn new(mut times: Vec<Time>) -> Result<Self, TraceError> {
        let last = *times.last().ok_or(TraceError::Empty)?;
        let pairs = times.windows(2);
        if let Some(index) = pairs.into_iter().position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Order(index + 1));
        }
        if last < SHORTEST {
            return Err(TraceError::Short);
        }
        times.shrink_to_fit();
        let (mut peak, mut first) = (0, 0);
        for (index, at) in times.iter().enumerate() {
            while times[first] + WINDOW <= *at {
                first += 1;
            }
            peak = peak.max((index + 1 - first) as u64);
        }
        Ok(Self {
            times: Arc::new(times),
            peak,
        })
    }

    /// When chances come.
    pub fn times(&self) -> &[Time] {
        &self.times
    }
    /// The time of the last one, after which the trace starts again.
    pub fn length(&self) -> Time {
        self.times.last().copied().unwrap_or(SHORTEST)
    }

    /// The mean rate if a chance carried `bytes`.
    pub(super) fn mean_of(&self, bytes: u64) -> Rate {
        let bits = self.times.len() as u128 * u128::from(bytes) * 8_000_000_000;
        Rate::from_bps((bits / u128::from(self.length().as_nanos())).max(1) as u64)
    }
    /// The highest rate in a [`WINDOW`].
    pub(super) fn peak_of(&self, bytes: u64) -> Rate {
        rate(self.peak * bytes, WINDOW)
    }
    pub(super) fn longest_gap(&self) -> Time {
        let pairs = self.times.windows(2).map(|pair| pair[1] - pair[0]);
        let first = self.times.first().copied();
        pairs.chain(first).max().unwrap_or(Time::ZERO)
    }
}

fn rate(bytes: u64, span: Time) -> Rate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(span.as_nanos());
    Rate::from_bps(bits.min(u128::from(u64::MAX - 1)) as u64)
}

/// A position in the chances.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    index: usize,
    base: Time,
}

/// A link that sends when it has a chance.
#[derive(Debug, Clone)]
pub(crate) struct Chances {
    times: Arc<Vec<Time>>,
    repeat: bool,
    offset: Time,
    /// Bytes of a chance.
    size: u64,
    /// Bytes of each packet beside its link bytes.
    per_packet: u64,
    sending: Walk,
    /// The rest of the chance whose time it is, in bytes.
    left: u64,
    /// The position up to which chances are counted, in front of those that are sent.
    counting: Walk,
    /// When the next window begins.
    window: Time,
    /// Chances of the last windows.
    counts: [u64; HEARD],
    windows: usize,
}

/// The rates at the start of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The link's offer from now on, until the next window.
    pub(crate) offered: Rate,
    /// The mean of the last 100 ms, once they are over.
    pub(crate) heard: Option<Rate>,
}

impl Chances {
    pub(crate) fn new(trace: &ChanceTrace, link_trace: &LinkTrace) -> Self {
        let offset = link_trace.phase();
        let size = link_trace.framing.chance() * u64::from(link_trace.scale) / u64::from(UNSCALED);
        let start = Walk {
            index: trace.times.partition_point(|at| *at < offset),
            base: Time::ZERO,
        };
        let mut chances = Self {
            times: trace.times.clone(),
            repeat: link_trace.repeat,
            offset,
            size: size.max(1),
            per_packet: link_trace.framing.per_packet(),
            sending: start,
            left: 0,
            counting: start,
            window: Time::ZERO,
            counts: [0; HEARD],
            windows: 0,
        };
        for walk in [&mut chances.sending, &mut chances.counting] {
            wrap(walk, &chances.times, chances.repeat);
        }
        chances
    }

    /// The time of the next chance; [`Time::MAX`] if none comes any more.
    pub(crate) fn next(&self) -> Time {
        self.time(self.sending)
    }

    fn time(&self, walk: Walk) -> Time {
        let at = self.times.get(walk.index);
        at.map_or(Time::MAX, |at| walk.base + *at - self.offset)
    }

    /// The time of the next chance has come.
    pub(crate) fn open(&mut self) {
        self.step();
        self.left = self.size;
    }

    fn step(&mut self) {
        self.sending.index += 1;
        wrap(&mut self.sending, &self.times, self.repeat);
    }

    /// Whether something is left of a chance whose time it is.
    pub(crate) fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Loses the rest of the open chance, because nobody uses it.
    pub(crate) fn lose(&mut self) {
        self.left = 0;
    }

    /// Lets all chances up to `now` pass unused.
    pub(crate) fn pass(&mut self, now: Time) {
        while self.next() <= now {
            self.step();
        }
    }

    /// Sends a packet of `bytes` on the link from `now` on, which is the time of the open chance. Returns the time at which it has left, and the
    /// bytes that it takes of chances.
    pub(crate) fn send(&mut self, now: Time, bytes: Bytes) -> (Time, Bytes) {
        let all = bytes.get() + self.per_packet;
        let (mut need, mut end) = (all, now);
        loop {
            let used = need.min(self.left);
            need -= used;
            self.left -= used;
            if need == 0 {
                return (end, Bytes::new(all));
            }
            end = self.next();
            if end == Time::MAX {
                return (Time::MAX, Bytes::new(all));
            }
            self.open();
        }
    }

    /// When the next window begins.
    pub(crate) fn next_window(&self) -> Time {
        self.window
    }

    /// A window begins.
    pub(crate) fn count(&mut self) -> Window {
        let heard = (self.windows >= HEARD).then(|| {
            let sum: u64 = self.counts.iter().sum();
            rate(sum * self.size, WINDOW * HEARD as u64)
        });
        self.window += WINDOW;
        let mut count = 0;
        while self.time(self.counting) < self.window {
            self.counting.index += 1;
            wrap(&mut self.counting, &self.times, self.repeat);
            count += 1;
        }
        self.counts[self.windows % HEARD] = count;
        self.windows += 1;
        Window {
            offered: rate(count * self.size, WINDOW),
            heard,
        }
    }
}

/// Starts the trace again after the last chance.
fn wrap(walk: &mut Walk, times: &[Time], repeat: bool) {
    if walk.index == times.len() && repeat {
        walk.index = 0;
        walk.base += times.last().copied().unwrap_or(Time::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChanceFraming, Trace};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn trace(times: &[u64]) -> ChanceTrace {
        ChanceTrace::new(times.iter().copied().map(MS).collect()).unwrap()
    }

    fn link_trace(times: &[u64]) -> LinkTrace {
        LinkTrace::new(Trace::Chances(trace(times)))
    }

    fn chances(times: &[u64], link_trace: &LinkTrace) -> Chances {
        Chances::new(&trace(times), link_trace)
    }

    #[test]
    fn the_last_entry_is_the_new_zero() {
        let times = [0, 2, 2, 5];
        let mut walk = chances(&times, &link_trace(&times));
        let mut seen = Vec::new();
        for _ in 0..9 {
            seen.push(walk.next().as_nanos() / 1_000_000);
            walk.open();
        }
        // The entry 0 falls on the last one of the repetition before.
        assert_eq!(seen, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
        let once = LinkTrace {
            repeat: false,
            ..link_trace(&times)
        };
        let mut walk = chances(&times, &once);
        walk.pass(MS(5));
        assert_eq!(walk.next(), Time::MAX);
        let late = LinkTrace {
            offset: MS(8),
            ..link_trace(&times)
        };
        assert_eq!(
            chances(&times, &late).next(),
            MS(2),
            "8 ms are 3 into the second time"
        );
    }

    #[test]
    fn a_packet_takes_several_chances_and_a_chance_several_packets() {
        let times = [1, 2, 7];
        let mut walk = chances(&times, &link_trace(&times));
        walk.open();
        assert_eq!(walk.send(MS(1), Bytes::new(400)), (MS(1), Bytes::new(400)));
        // 1 100 bytes are left, and 400 more come with the next chance.
        assert_eq!(
            walk.send(MS(1), Bytes::new(1_500)),
            (MS(2), Bytes::new(1_500))
        );
        assert_eq!(
            walk.send(MS(2), Bytes::new(2_700)),
            (MS(8), Bytes::new(2_700))
        );
        assert!(walk.is_open());
        let tun = LinkTrace {
            framing: ChanceFraming::Mahimahi,
            ..link_trace(&times)
        };
        let mut walk = chances(&times, &tun);
        walk.open();
        assert_eq!(
            walk.send(MS(1), Bytes::new(1_500)),
            (MS(1), Bytes::new(1_504))
        );
        assert!(!walk.is_open());
    }

    #[test]
    fn windows_count_what_is_offered_and_the_mean_of_the_last_ten_is_heard() {
        // Two chances in the first 10 ms of each 20.
        let times: Vec<u64> = (0..10)
            .flat_map(|n| [20 * n + 1, 20 * n + 2])
            .chain([200])
            .collect();
        let mut walk = chances(&times, &link_trace(&times));
        let two = Rate::from_bps(2 * 1_500 * 8 * 100);
        for n in 0..10 {
            let expected = if n % 2 == 0 { two } else { Rate::ZERO };
            assert_eq!(walk.next_window(), MS(10 * n));
            let Window { offered, heard } = walk.count();
            assert_eq!((offered, heard), (expected, None));
        }
        // 10 chances in 100 ms.
        assert_eq!(walk.count().heard, Some(Rate::from_bps(10 * 1_500 * 80)));
        let link_trace = link_trace(&times);
        assert_eq!(link_trace.fastest(), two);
        assert_eq!(link_trace.mean_rate(), Rate::from_bps(21 * 1_500 * 8 * 5));
        assert_eq!(link_trace.longest_outage(), MS(19));
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert_eq!(ChanceTrace::new(Vec::new()), Err(TraceError::Empty));
        let new = |times: &[u64]| ChanceTrace::new(times.iter().copied().map(MS).collect());
        assert_eq!(new(&[3, 2]), Err(TraceError::Order(1)));
        assert_eq!(new(&[0, 0]), Err(TraceError::Short));
    }
}
