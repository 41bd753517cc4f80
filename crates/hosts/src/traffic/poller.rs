//! epoll: one wait for all sockets of a host and for an instant, and a way to wake a host from outside.
//!
//! The instant is that of a timerfd: it is set only when it changes, so that a wait needs no reading of the clock; and it is
//! not late by the thousandth of the timeout that epoll allows itself (select_estimate_accuracy() of the kernel's fs/select.c).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use quell_units::Time;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// The owner of an event; indices are those of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The end of a flow.
    End(usize),
    /// A connection of a session: the end of the flow, the place that the connection has there, and how often that place has been
    /// taken, so that no event of an earlier connection is taken for one of this.
    Connection {
        end: usize,
        slot: usize,
        generation: u32,
    },
    /// The listener of a group of streams.
    Listener(usize),
    /// The socket of a group of datagrams.
    Port(usize),
    /// Another thread has woken the host.
    Waker,
    /// The timer is due.
    Timer,
}

impl Token {
    /// Bits of the kind, of an end, of a place and of its generation: more ends than a run has flows, and twice as many places as
    /// a session has connections, since one that closes may overlap with its successor.
    const BITS: [u32; 4] = [3, 20, 20, 21];

    /// Generations differ in these bits.
    pub(super) const GENERATIONS: u32 = (1 << Self::BITS[3]) - 1;

    /// Whether it tells the host to look at what is due, or at a new plan or end.
    pub(super) fn is_for_the_host(self) -> bool {
        matches!(self, Self::Timer | Self::Waker)
    }

    fn pack(self) -> u64 {
        let (kind, index, rest) = match self {
            Self::End(index) => (0, index, 0),
            Self::Listener(index) => (1, index, 0),
            Self::Port(index) => (2, index, 0),
            Self::Waker => (3, 0, 0),
            Self::Timer => (4, 0, 0),
            Self::Connection {
                end,
                slot,
                generation,
            } => (
                5,
                end,
                (slot as u64) << Self::BITS[3] | u64::from(generation & Self::GENERATIONS),
            ),
        };
        rest << (Self::BITS[0] + Self::BITS[1]) | (index as u64) << Self::BITS[0] | kind
    }

    fn unpack(packed: u64) -> Self {
        let index = (packed >> Self::BITS[0]) as usize & ((1 << Self::BITS[1]) - 1);
        let rest = packed >> (Self::BITS[0] + Self::BITS[1]);
        match packed & ((1 << Self::BITS[0]) - 1) {
            0 => Self::End(index),
            1 => Self::Listener(index),
            2 => Self::Port(index),
            3 => Self::Waker,
            4 => Self::Timer,
            _ => Self::Connection {
                end: index,
                slot: (rest >> Self::BITS[3]) as usize,
                generation: rest as u32 & Self::GENERATIONS,
            },
        }
    }
}

/// The state of a socket that caused an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readiness {
    pub(super) token: Token,
    /// There is something to read, an end of stream or an error.
    pub(super) readable: bool,
    /// There is room to write, or an error.
    pub(super) writable: bool,
    /// An error, or both directions are closed. Reported even without interest, and until the socket is closed.
    pub(super) over: bool,
}

/// The readiness that is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Interest {
    pub(super) read: bool,
    pub(super) write: bool,
}

impl Interest {
    pub(super) const READ: Self = Self {
        read: true,
        write: false,
    };
    pub(super) const WRITE: Self = Self {
        read: false,
        write: true,
    };

    fn flags(self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.read);
        flags.set(EventFlags::OUT, self.write);
        flags
    }
}

/// The sockets of one host. Level-triggered: what is not served now is reported again.
pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The time that the timer is set to.
    set_to: Option<Time>,
    events: Vec<Event>,
}

impl Poller {
    /// Events served per wait; the rest come with the next.
    const BATCH: usize = 256;

    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        // Told once each time that it expires: nobody needs to read it.
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(
            &epoll,
            &timer,
            EventData::new_u64(Token::Timer.pack()),
            flags,
        )?;
        Ok(Self {
            epoll,
            timer,
            set_to: None,
            events: Vec::with_capacity(Self::BATCH),
        })
    }

    /// Closing `socket` ends this.
    pub(super) fn add(
        &self,
        socket: impl AsFd,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(token.pack()),
            interest.flags(),
        )?)
    }

    pub(super) fn change(
        &self,
        socket: impl AsFd,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            socket,
            EventData::new_u64(token.pack()),
            interest.flags(),
        )?)
    }

    /// From now on tells once of each change, and only of what needs no interest: errors, and the end of both directions.
    pub(super) fn watch_for_close(&self, socket: impl AsFd, token: Token) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            socket,
            EventData::new_u64(token.pack()),
            EventFlags::ET,
        )?)
    }

    /// Waits until something happens, at most until CLOCK_MONOTONIC shows `until`.
    pub(super) fn wait(&mut self, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        ready.clear();
        self.events.clear();
        if self.set_to != Some(until) {
            self.set(until)?;
        }
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let failed = EventFlags::ERR | EventFlags::HUP;
        ready.extend(self.events.iter().map(|event| {
            // Copied out: the kernel's structure is packed.
            let (flags, data) = (event.flags, event.data);
            Readiness {
                token: Token::unpack(data.u64()),
                readable: flags.intersects(EventFlags::IN | failed),
                writable: flags.intersects(EventFlags::OUT | failed),
                over: flags.intersects(failed),
            }
        }));
        Ok(())
    }
}

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl Poller {
    /// An instant that has passed expires at once.
    fn set(&mut self, until: Time) -> io::Result<()> {
        // Zero would turn the timer off; the furthest that the kernel knows is some 292 years.
        let nanos = until.as_nanos().clamp(1, i64::MAX as u64);
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let at = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: (nanos / SECOND) as _,
                tv_nsec: (nanos % SECOND) as _,
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at)?;
        self.set_to = Some(until);
        Ok(())
    }
}

/// Wakes a host that waits, until it has read it.
pub(super) fn waker() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Makes a waker readable.
pub(super) fn wake(waker: &OwnedFd) {
    // It can fail only by overflow, when it is readable already.
    let _ = rustix::io::write(waker, &1_u64.to_ne_bytes());
}

/// Reads a waker, so that it wakes no more.
pub(super) fn fall_asleep(waker: &OwnedFd) {
    // It fails only where nobody has woken it since.
    let _ = rustix::io::read(waker, &mut [0; 8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Epoch;

    #[test]
    fn tokens_survive_the_kernel() {
        for token in [
            Token::End(0),
            Token::End(123_456),
            Token::Connection {
                end: 0,
                slot: 0,
                generation: 0,
            },
            Token::Connection {
                end: (1 << 20) - 1,
                slot: (1 << 20) - 1,
                generation: Token::GENERATIONS,
            },
            Token::Connection {
                end: 1,
                slot: 2,
                generation: 3,
            },
            Token::Listener(7),
            Token::Port(3),
            Token::Waker,
            Token::Timer,
        ] {
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }

    fn soon(nanos: u64) -> Time {
        Epoch::now().monotonic() + Time::from_nanos(nanos)
    }

    #[test]
    fn a_waker_ends_a_long_wait_and_an_instant_a_wait_without_events() {
        let mut poller = Poller::new().unwrap();
        let waker = waker().unwrap();
        poller.add(&waker, Token::Waker, Interest::READ).unwrap();
        let mut ready = Vec::new();
        let until = soon(1_234_567);
        poller.wait(until, &mut ready).unwrap();
        assert_eq!(ready.len(), 1);
        assert_eq!(ready[0].token, Token::Timer);
        assert!(soon(0) >= until);
        wake(&waker);
        poller.wait(soon(3_600 * SECOND), &mut ready).unwrap();
        assert_eq!(ready.len(), 1);
        assert_eq!(ready[0].token, Token::Waker);
        assert!(ready[0].readable && !ready[0].writable);
        // Once read, it lets its host sleep again.
        fall_asleep(&waker);
        fall_asleep(&waker);
        poller.wait(soon(20_000), &mut ready).unwrap();
        assert_eq!((ready.len(), ready[0].token), (1, Token::Timer));
    }

    #[test]
    fn an_instant_that_has_passed_ends_a_wait_at_once_and_the_same_instant_only_one() {
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        for until in [Time::ZERO, Time::from_nanos(5), soon(0)] {
            poller.wait(until, &mut ready).unwrap();
            assert_eq!(ready[0].token, Token::Timer, "{until}");
        }
        // It has been told: only the waker ends the wait for what has been waited for.
        let waker = waker().unwrap();
        poller.add(&waker, Token::Waker, Interest::READ).unwrap();
        wake(&waker);
        let until = poller.set_to.unwrap();
        poller.wait(until, &mut ready).unwrap();
        assert_eq!((ready.len(), ready[0].token), (1, Token::Waker));
    }

    #[test]
    fn the_end_of_time_is_far_away() {
        let mut poller = Poller::new().unwrap();
        let waker = waker().unwrap();
        poller.add(&waker, Token::Waker, Interest::READ).unwrap();
        wake(&waker);
        let mut ready = Vec::new();
        poller.wait(Time::MAX, &mut ready).unwrap();
        assert_eq!((ready.len(), ready[0].token), (1, Token::Waker));
    }

    #[test]
    fn short_waits_are_not_rounded_to_milliseconds() {
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        let shortest = (0..100).map(|_| {
            let before = std::time::Instant::now();
            poller.wait(soon(20_000), &mut ready).unwrap();
            before.elapsed()
        });
        let shortest = shortest.min().unwrap();
        // Of a hundred waits one is undisturbed, on any machine.
        assert!(shortest.as_micros() < 900, "{shortest:?}");
    }
}
