//! Sleeping until a time or until a port is ready, whichever comes first: epoll_pwait2(2), whose
//! time-out is given to the nanosecond.
//!
//! The events that a port is watched for change rarely (an idle link, a full socket), and the kernel is called
//! only then. If nothing is watched, which is most of the time of a link that looks once
//! per interval, clock_nanosleep(2) sleeps until an instant: it needs no reading of the clock, and
//! is not late by the thousandth of the time-out that epoll allows itself
//! (select_estimate_accuracy() of fs/select.c).

use std::io;
use std::os::fd::OwnedFd;

use quell_units::Time;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::port::Port;
use crate::time::Clock;

/// The events that a port is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Interest {
    /// A frame has arrived.
    pub(crate) readable: bool,
    /// The socket has room for one to send.
    pub(crate) writable: bool,
}

/// Watches two ports.
#[derive(Debug)]
pub(crate) struct Waiting {
    epoll: OwnedFd,
    interests: [Interest; 2],
}

impl Waiting {
    pub(crate) fn new(ports: &[Port; 2]) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, port) in ports.iter().enumerate() {
            epoll::add(
                &epoll,
                port,
                EventData::new_u64(index as u64),
                EventFlags::empty(),
            )?;
        }
        Ok(Self {
            epoll,
            interests: [Interest::default(); 2],
        })
    }

    /// Sleeps until `wake` or until one of `ports` is ready as `wanted`; returns which port is
    /// ready for what. An error of a port makes it readable if anything is watched, and reading returns
    /// the error.
    pub(crate) fn wait(
        &mut self,
        ports: &[Port; 2],
        wanted: [Interest; 2],
        wake: Time,
        clock: &Clock,
    ) -> io::Result<[Interest; 2]> {
        let nothing = [Interest::default(); 2];
        if wanted == nothing {
            // The ports stay registered for what they were: nobody asks epoll meanwhile.
            let wake = timespec(Time::from_nanos(clock.monotonic(wake)));
            return match clock_nanosleep_absolute(ClockId::Monotonic, &wake) {
                Ok(()) | Err(Errno::INTR) => Ok(nothing),
                Err(error) => Err(error.into()),
            };
        }
        for (index, port) in ports.iter().enumerate() {
            if wanted[index] != self.interests[index] {
                let mut flags = EventFlags::empty();
                flags.set(EventFlags::IN, wanted[index].readable);
                flags.set(EventFlags::OUT, wanted[index].writable);
                epoll::modify(&self.epoll, port, EventData::new_u64(index as u64), flags)?;
                self.interests[index] = wanted[index];
            }
        }
        let timeout = timespec(wake - clock.read());
        let mut events = [Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        }; 2];
        let count = match epoll::wait(&self.epoll, &mut events[..], Some(&timeout)) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut ready = nothing;
        for event in &events[..count] {
            let (flags, data) = (event.flags, event.data);
            if let Some(port) = ready.get_mut(data.u64() as usize) {
                port.readable =
                    flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP);
                port.writable = flags.contains(EventFlags::OUT);
            }
        }
        Ok(ready)
    }
}

fn timespec(span: Time) -> Timespec {
    Timespec {
        tv_sec: (span.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (span.as_nanos() % 1_000_000_000) as _,
    }
}
