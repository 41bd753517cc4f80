//! The run's clock and its timers: `Time` counts from an epoch on CLOCK_MONOTONIC, which every host of the machine shares.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quell_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// The origin of a run's `Time`: an instant of CLOCK_MONOTONIC, in the past or the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(Time);

impl Epoch {
    /// What CLOCK_MONOTONIC shows at the origin.
    pub const fn monotonic(self) -> Time {
        self.0
    }

    /// An epoch now.
    pub fn now() -> Self {
        Self(monotonic_now())
    }

    /// The epoch `span` later. A run whose epoch lies a little ahead starts its flows exactly at their times.
    pub fn after(self, span: Time) -> Self {
        Self(self.0 + span)
    }

    /// Time since the epoch; `None` before it.
    pub fn elapsed(self) -> Option<Time> {
        let now = monotonic_now();
        (now >= self.0).then(|| now - self.0)
    }

    /// What CLOCK_MONOTONIC shows at the time `at` of the run.
    fn instant(self, at: Time) -> Time {
        self.0 + at
    }
}

fn monotonic_now() -> Time {
    let reading = clock_gettime(ClockId::Monotonic);
    Time::from_secs(reading.tv_sec.unsigned_abs())
        + Time::from_nanos(reading.tv_nsec.unsigned_abs())
}

/// The time of the run at the event that a host serves: all that follows from it happens at its time. It is read when it is first asked for,
/// since where time is simulated each reading is a call of the kernel.
#[derive(Debug)]
pub(super) struct Present {
    epoch: Epoch,
    /// As of the last reading; `None` before the run has begun.
    read: Cell<Option<Time>>,
    /// Whether that was at this event.
    is_known: Cell<bool>,
}

impl Present {
    pub(super) fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            read: Cell::new(None),
            is_known: Cell::new(false),
        }
    }

    /// What CLOCK_MONOTONIC shows at the time `at` of the run.
    pub(super) fn instant(&self, at: Time) -> Time {
        self.epoch.instant(at)
    }

    /// Another event is served from now on.
    pub(super) fn pass(&self) {
        self.is_known.set(false);
    }

    /// The time; `None` before the run has begun.
    pub(super) fn now(&self) -> Option<Time> {
        if !self.is_known.replace(true) {
            self.read.set(self.epoch.elapsed());
        }
        self.read.get()
    }

    /// The time if it has been read at this event and the run has begun.
    pub(super) fn known(&self) -> Option<Time> {
        self.read.get().filter(|_| self.is_known.get())
    }

    /// The time of the last reading, at this event or before; `None` before the run has begun.
    pub(super) fn last(&self) -> Option<Time> {
        self.read.get()
    }
}

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The flow begins.
    Start,
    /// The application asked to be polled.
    Wake,
    /// The sending end closes.
    Stop,
    /// A connection that is not up by now has failed.
    ConnectBy,
}

/// Alarms in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Time, usize, Alarm)>>);

impl Timers {
    pub(super) fn set(&mut self, at: Time, end: usize, alarm: Alarm) {
        self.0.push(Reverse((at, end, alarm)));
    }

    /// When the first alarm is due; [`Time::MAX`] if there is none.
    pub(super) fn next(&self) -> Time {
        self.0.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Moves the alarms that are due into `due`; those set while these are served wait for the next call.
    pub(super) fn take_due(&mut self, now: Time, due: &mut Vec<(Time, usize, Alarm)>) {
        due.clear();
        while self.next() <= now
            && let Some(Reverse(alarm)) = self.0.pop()
        {
            due.push(alarm);
        }
    }
}

/// When an application wants to be polled, with at most a few timers however often that changes.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Wish {
    wanted: Option<Time>,
    /// The earliest timer that is set for it.
    armed: Option<Time>,
}

impl Wish {
    pub(super) fn replace(&mut self, wanted: Option<Time>) {
        self.wanted = wanted;
    }

    /// Takes the request if it is due at `now`, and before `stop`.
    pub(super) fn take_due(&mut self, now: Time, stop: Time) -> bool {
        self.wanted.take_if(|at| *at <= now && *at < stop).is_some()
    }

    /// Whether there is a wish, for before `stop`.
    pub(super) fn is_before(&self, stop: Time) -> bool {
        self.wanted.is_some_and(|at| at < stop)
    }

    /// A timer set for `at` has rung.
    pub(super) fn rang(&mut self, at: Time) {
        if self.armed == Some(at) {
            self.armed = None;
        }
    }

    /// When a timer must be set, if the ones that are set do not serve.
    pub(super) fn arm(&mut self) -> Option<Time> {
        let wanted = self.wanted?;
        if self.armed.is_some_and(|armed| armed <= wanted) {
            return None;
        }
        self.armed = Some(wanted);
        Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_has_not_begun_before_its_epoch() {
        let ahead = Epoch::now().after(Time::from_secs(3_600));
        assert_eq!(ahead.elapsed(), None);
        assert_eq!(
            ahead.instant(Time::from_secs(1)),
            ahead.monotonic() + Time::from_secs(1)
        );
        let past = Epoch::now();
        assert!(past.elapsed().is_some());
        assert_eq!(past.instant(Time::ZERO), past.monotonic());
    }

    #[test]
    fn the_present_is_read_when_it_is_asked_for_and_once_for_each_event() {
        let present = Present::new(Epoch::now());
        assert_eq!((present.known(), present.last()), (None, None));
        let first = present.now();
        assert!(first.is_some());
        let later = present.epoch.elapsed();
        while present.epoch.elapsed() == later {}
        assert_eq!([present.now(), present.known(), present.last()], [first; 3]);
        present.pass();
        assert_eq!((present.known(), present.last()), (None, first));
        assert!(present.now() > first);

        let ahead = Present::new(Epoch::now().after(Time::from_secs(3_600)));
        assert_eq!((ahead.now(), ahead.known()), (None, None));
    }

    #[test]
    fn alarms_ring_in_order_and_each_once() {
        let mut timers = Timers::default();
        for (millis, end) in [(30, 0), (10, 1), (20, 2)] {
            timers.set(Time::from_millis(millis), end, Alarm::Wake);
        }
        let mut due = Vec::new();
        timers.take_due(Time::from_millis(20), &mut due);
        assert_eq!(due.iter().map(|alarm| alarm.1).collect::<Vec<_>>(), [1, 2]);
        timers.take_due(Time::from_millis(20), &mut due);
        assert!(due.is_empty());
        assert_eq!(timers.next(), Time::from_millis(30));
    }

    #[test]
    fn a_wish_that_moves_later_and_later_needs_one_timer() {
        let mut wish = Wish::default();
        let mut timers = 0;
        for millis in 1..1_000 {
            wish.replace(Some(Time::from_millis(millis)));
            timers += usize::from(wish.arm().is_some());
        }
        assert_eq!(timers, 1);
        wish.rang(Time::from_millis(1));
        assert!(!wish.take_due(Time::from_millis(1), Time::MAX));
        assert_eq!(wish.arm(), Some(Time::from_millis(999)));
        assert!(
            !wish.take_due(Time::from_secs(1), Time::from_millis(999)),
            "the stop comes first"
        );
        assert!(wish.take_due(Time::from_millis(999), Time::MAX));
        assert!(!wish.take_due(Time::from_millis(999), Time::MAX));
    }
}
