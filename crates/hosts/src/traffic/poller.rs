//! epoll: one wait for all sockets of a host, with a timeout to the nanosecond, and a way to wake a host from outside.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use quell_aqm::Time;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

/// What an event belongs to; indices are the host's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The end of a flow.
    End(usize),
    /// The listener of a group of streams.
    Listener(usize),
    /// The socket of a group of datagrams.
    Port(usize),
    /// Somebody wants the host's attention.
    Waker,
}

impl Token {
    fn pack(self) -> u64 {
        let (kind, index) = match self {
            Self::End(index) => (0, index),
            Self::Listener(index) => (1, index),
            Self::Port(index) => (2, index),
            Self::Waker => (3, 0),
        };
        (index as u64) << 2 | kind
    }

    fn unpack(packed: u64) -> Self {
        let index = (packed >> 2) as usize;
        match packed & 3 {
            0 => Self::End(index),
            1 => Self::Listener(index),
            2 => Self::Port(index),
            _ => Self::Waker,
        }
    }
}

/// What happened to a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readiness {
    pub(super) token: Token,
    /// There is something to read, an end of stream or an error.
    pub(super) readable: bool,
    /// There is room to write, or an error.
    pub(super) writable: bool,
    /// An error, or both directions are over. Told even where nothing is of interest, and until the socket is closed.
    pub(super) over: bool,
}

/// Which readiness is of interest.
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

/// The sockets of one host. Level-triggered: what is not served now is told again.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// Events served per wait; the rest come with the next.
    const BATCH: usize = 256;

    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
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

    /// Waits until something happens, at most for `timeout`.
    pub(super) fn wait(&mut self, timeout: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        ready.clear();
        self.events.clear();
        let nanos = timeout.as_nanos();
        let timeout = Timespec {
            tv_sec: (nanos / 1_000_000_000) as _,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
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

/// Wakes a host that waits; once awake it is always readable, as a host is woken only to end.
pub(super) fn waker() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Makes a waker readable.
pub(super) fn wake(waker: &OwnedFd) {
    // It can fail only by overflow, when it is readable already.
    let _ = rustix::io::write(waker, &1_u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_kernel() {
        for token in [
            Token::End(0),
            Token::End(123_456),
            Token::Listener(7),
            Token::Port(3),
            Token::Waker,
        ] {
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }

    #[test]
    fn a_waker_ends_a_long_wait_and_a_short_wait_ends_by_itself() {
        let mut poller = Poller::new().unwrap();
        let waker = waker().unwrap();
        poller.add(&waker, Token::Waker, Interest::READ).unwrap();
        let mut ready = Vec::new();
        poller
            .wait(Time::from_nanos(1_234_567), &mut ready)
            .unwrap();
        assert!(ready.is_empty());
        wake(&waker);
        poller.wait(Time::from_secs(3_600), &mut ready).unwrap();
        assert_eq!(ready[0].token, Token::Waker);
        assert!(ready[0].readable && !ready[0].writable);
    }

    #[test]
    fn short_waits_are_not_rounded_to_milliseconds() {
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        let shortest = (0..100).map(|_| {
            let before = std::time::Instant::now();
            poller.wait(Time::from_micros(20), &mut ready).unwrap();
            before.elapsed()
        });
        let shortest = shortest.min().unwrap();
        // Of a hundred waits one is undisturbed, on any machine.
        assert!(shortest.as_micros() < 900, "{shortest:?}");
    }
}
