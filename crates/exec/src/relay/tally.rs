//! What the relay did and when: for the question who limited.
//!
//! Time is cut into bins as long as the rows of the link's series and from the same start, so that both can be laid side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use quell_measure::Direction;
use quell_units::Time;

/// One stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Its end.
    pub end: Time,
    /// How long a connection was open in it.
    pub open: Time,
    /// How long data waited at the relay because the next socket did not take it, by direction: towards the program its own TCP or reading
    /// limits, from the program the path beyond.
    pub held: [Time; 2],
    /// How long the window of a program that reads slowly, and nothing else, kept the far edge from sending: of all connections together.
    pub window_limited: Time,
}

/// Figures over the whole, shared with the thread that reports.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: AtomicU64,
    /// Connections that were refused because there were too many.
    pub refused: AtomicU64,
    /// Connections to addresses that the program may not reach.
    pub forbidden: AtomicU64,
    /// Connections that the other side refused, or that never came about.
    pub unreachable: AtomicU64,
    /// Connections that were reset.
    pub reset: AtomicU64,
    /// Connections that were cut because somebody asked.
    pub cut: AtomicU64,
    /// New connections that were reset, left without an answer, begun later, and given a limit, because somebody asked.
    pub treated: [AtomicU64; 4],
    /// Pairs of addresses that datagrams went between.
    pub exchanges: AtomicU64,
    /// Datagrams that a socket did not take.
    pub lost_datagrams: AtomicU64,
    /// Bytes of TCP payload, by direction.
    pub bytes: [AtomicU64; 2],
    /// Connections whose data from the program has not all been passed on.
    pub unfinished: AtomicU64,
    /// How often it has looked at all of its sockets. A round that began before this was read may have missed what had just arrived;
    /// the one after it has not.
    pub rounds: AtomicU64,
    /// Microseconds in which the windows of receivers limited the far edge, over the closed connections.
    pub window_limited: AtomicU64,
    /// Microseconds in which the far edge had something to send.
    pub busy: AtomicU64,
    /// Segments that the far edge sent again.
    pub retransmitted: AtomicU64,
}

impl Counts {
    pub(super) fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }

    /// The value of a counter.
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Acquire)
    }
}

/// Collects the bins.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counts: Arc<Counts>,
    bins: Sender<Bin>,
    length: Time,
    bin: Bin,
    /// Until when `bin` has been filled.
    until: Time,
    open: usize,
    held: [usize; 2],
}

impl Tally {
    pub(super) fn new(counts: Arc<Counts>, bins: Sender<Bin>, length: Time) -> Self {
        let bin = Bin {
            end: length,
            ..Bin::default()
        };
        Self {
            counts,
            bins,
            length,
            bin,
            until: Time::ZERO,
            open: 0,
            held: [0; 2],
        }
    }

    /// Connections are open, or one less than before.
    pub(super) fn opens(&mut self, now: Time, open: usize) {
        self.advance(now);
        self.open = open;
    }

    /// Whether a connection's data waits here has changed.
    pub(super) fn holds(&mut self, now: Time, direction: Direction, holds: bool) {
        self.advance(now);
        let held = &mut self.held[direction.index()];
        *held = match holds {
            true => *held + 1,
            false => held.saturating_sub(1),
        };
    }

    /// Whether the bin that is being filled ends by `now`.
    pub(super) fn ends_by(&self, now: Time) -> bool {
        now >= self.bin.end
    }

    /// The windows of programs kept the far edge from sending for so much longer.
    pub(super) fn was_window_limited(&mut self, more: Time) {
        self.bin.window_limited += more;
    }

    /// Everything until `now` is known.
    pub(super) fn advance(&mut self, now: Time) {
        while now >= self.bin.end {
            self.fill(self.bin.end);
            // Nobody listens any more at the end.
            let _ = self.bins.send(self.bin);
            self.bin = Bin {
                end: self.bin.end + self.length,
                ..Bin::default()
            };
        }
        self.fill(now);
    }

    fn fill(&mut self, to: Time) {
        let more = to - self.until;
        if self.open > 0 {
            self.bin.open += more;
        }
        for (time, held) in self.bin.held.iter_mut().zip(self.held) {
            if held > 0 {
                *time += more;
            }
        }
        self.until = self.until.max(to);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn bins_add_up_what_was_open_and_what_was_held() {
        let (bins, out) = std::sync::mpsc::channel();
        let ms = Time::from_millis;
        let mut tally = Tally::new(Arc::default(), bins, ms(100));
        tally.opens(ms(50), 1);
        tally.holds(ms(80), Direction::Forward, true);
        tally.holds(ms(230), Direction::Forward, false);
        tally.opens(ms(260), 0);
        tally.advance(ms(300));
        let bin = |end, open, held| Bin {
            end: ms(end),
            open: ms(open),
            held: [ms(held), Time::ZERO],
            window_limited: Time::ZERO,
        };
        let found: Vec<Bin> = out.try_iter().collect();
        assert_eq!(
            found,
            [bin(100, 50, 20), bin(200, 100, 100), bin(300, 60, 30)]
        );
    }
}
