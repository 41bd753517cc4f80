//! The link's clock, and the kernel's receive stamps on it.
//!
//! Everything is decided on CLOCK_MONOTONIC, as time since the run's epoch. The kernel stamps
//! received packets on CLOCK_REALTIME (socket(7), SO_TIMESTAMPNS), which is stepped and slewed. The
//! offset between the two is sampled anew before each look at the sockets, so a slew does no harm,
//! and a stamp never lies before its predecessor nor in the future, so a step in between moves the
//! few packets that it falls on by at most the time since the last look. In a machine with simulated
//! time nobody sets the clock, and the offset stays what it was at the start.

use std::cell::Cell;

use quell_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// The time of CLOCK_MONOTONIC now: an epoch for a link.
pub fn monotonic() -> Time {
    Time::from_nanos(nanos(ClockId::Monotonic) as u64)
}

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// CPU time that the calling thread has used, as RUSAGE_THREAD counts it.
pub(crate) fn thread_cpu_time() -> Time {
    Time::from_nanos(nanos(ClockId::ThreadCPUTime) as u64)
}

/// CLOCK_MONOTONIC since an epoch, with its distance from CLOCK_REALTIME.
#[derive(Debug)]
pub(crate) struct Clock {
    epoch: Time,
    /// CLOCK_REALTIME − CLOCK_MONOTONIC, in nanoseconds.
    offset: i64,
    /// Whether it stands still while anything runs, and nobody sets CLOCK_REALTIME.
    exact: bool,
    /// The time that an exact clock has shown since the thread woke.
    shown: Cell<Option<Time>>,
}

impl Clock {
    /// A clock that shows zero at the monotonic instant `epoch`, and before. An `exact` one stands still while anything runs, as in a
    /// machine with simulated time ([`LinkConfig::exact_clock`](crate::LinkConfig::exact_clock)): it is read once after each sleep,
    /// because a reading is a call of the kernel there, and moves the time.
    pub(crate) fn new(epoch: Time, exact: bool) -> Self {
        let mut clock = Self {
            epoch,
            offset: 0,
            exact,
            shown: Cell::new(None),
        };
        clock.measure_offset();
        clock
    }
    /// It shows zero at the monotonic instant `epoch`.
    pub(crate) fn begin_at(&mut self, epoch: Time) {
        self.epoch = epoch;
    }

    /// Time since the epoch; of an exact clock as of the first reading since [`Clock::slept`].
    pub(crate) fn now(&self) -> Time {
        if !self.exact {
            return self.read();
        }
        let shown = self.shown.get().unwrap_or_else(|| self.read());
        self.shown.set(Some(shown));
        shown
    }
    /// The thread has slept, or did something else than run the link.
    pub(crate) fn slept(&self) {
        self.shown.set(None);
    }
    /// Time since the epoch, read anew.
    pub(crate) fn read(&self) -> Time {
        monotonic() - self.epoch
    }
    /// The reading of CLOCK_MONOTONIC at `time`, in nanoseconds.
    pub(crate) fn monotonic(&self, time: Time) -> u64 {
        (self.epoch + time).as_nanos()
    }
    /// Measures the offset between the two clocks where it may change, and returns the time.
    pub(crate) fn resample(&mut self) -> Time {
        if self.exact {
            self.now()
        } else {
            self.measure_offset()
        }
    }
    fn measure_offset(&mut self) -> Time {
        // A reading that was interrupted says little: of three, take the fastest.
        let mut fastest = i64::MAX;
        let mut before = nanos(ClockId::Monotonic);
        for _ in 0..3 {
            let real = nanos(ClockId::Realtime);
            let after = nanos(ClockId::Monotonic);
            if after - before < fastest {
                fastest = after - before;
                self.offset = real - before - fastest / 2;
            }
            before = after;
            if fastest < 1_000 {
                break;
            }
        }
        Time::from_nanos(before as u64) - self.epoch
    }
    /// The instant of a stamp of CLOCK_REALTIME in nanoseconds; zero before the epoch.
    pub(crate) fn at(&self, stamp: i64) -> Time {
        let monotonic = stamp.saturating_sub(self.offset);
        Time::from_nanos(u64::try_from(monotonic).unwrap_or(0)) - self.epoch
    }
}

/// Receive stamps in order: never backwards, never in the future.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    latest: Time,
}

impl Stamps {
    /// The arrival time of a packet with this stamp that was read by `now`; without a stamp, `now`. The
    /// clock is read only where that matters: if the stamp lies after `earlier`, a reading before that
    /// of the packet.
    pub(crate) fn order(
        &mut self,
        stamp: Option<Time>,
        earlier: Time,
        now: impl FnOnce() -> Time,
    ) -> Time {
        let stamp = match stamp {
            Some(stamp) if stamp <= earlier => stamp,
            Some(stamp) => stamp.min(now()),
            None => now(),
        };
        self.latest = stamp.max(self.latest);
        self.latest
    }
    /// The last answer.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_run_neither_backwards_nor_into_the_future() {
        let us = Time::from_micros;
        let mut stamps = Stamps::default();
        for (stamp, now, expected) in [
            (Some(10), 20, 10),
            (Some(15), 20, 15),
            (Some(5), 20, 15),  // the wall clock was set back
            (Some(90), 30, 30), // the wall clock was set forward
            (None, 40, 40),     // no stamp
            (Some(35), 50, 40),
        ] {
            assert_eq!(
                stamps.order(stamp.map(us), Time::ZERO, || us(now)),
                us(expected),
                "{stamp:?} at {now}"
            );
        }
        // What an earlier reading says already needs no other one.
        let unread = || -> Time { panic!("read") };
        assert_eq!(stamps.order(Some(us(55)), us(60), unread), us(55));
        assert_eq!(stamps.order(Some(us(53)), us(60), unread), us(55));
    }

    #[test]
    fn a_clock_that_stands_still_is_read_once_after_each_sleep() {
        for exact in [false, true] {
            let mut clock = Clock::new(monotonic(), exact);
            let first = clock.now();
            while clock.read() == first {}
            assert_eq!(clock.now() == first, exact);
            assert_eq!(clock.resample() == first, exact);
            clock.slept();
            let now = clock.now();
            assert!(now > first && clock.read() >= now);
        }
    }

    #[test]
    fn a_stamp_of_the_wall_clock_lands_between_the_readings_around_it() {
        let mut clock = Clock::new(monotonic(), false);
        let before = clock.now();
        let stamp = nanos(ClockId::Realtime);
        let after = clock.resample();
        let slack = Time::from_micros(50);
        let at = clock.at(stamp);
        assert!(
            before <= at + slack && at <= after + slack,
            "{before} {at} {after}"
        );
        assert_eq!(clock.at(0), Time::ZERO);
    }
}
