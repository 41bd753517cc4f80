//! The state that the two hosts share: a few counters per flow, and which client port belongs to which flow.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use quell_units::Time;

use super::endpoint::Host;
use super::poller;
use super::report::Told;

/// Counters that one end of a flow shares with the other.
#[derive(Debug, Default)]
pub(super) struct FlowShared {
    /// Payload that the data's receiver has read.
    pub(super) delivered: AtomicU64,
    /// [`Application::sent`](quell_app::Application::sent) of the data's sender and of its receiver.
    pub(super) sent: [AtomicU64; 2],
    /// The data's sender has declared that it always has more.
    pub(super) endless: AtomicBool,
    /// Connections that the sender host has asked for.
    connections: AtomicU64,
    /// When it asked for the last connection, in ns.
    opened: AtomicU64,
    /// Where the sender host's datagram socket is bound.
    pub(super) datagram_client: OnceLock<SocketAddr>,
}

impl FlowShared {
    /// The sender host asks for a connection at `now`.
    pub(super) fn open(&self, now: Time) {
        self.opened.store(now.as_nanos(), Ordering::Relaxed);
        self.connections.fetch_add(1, Ordering::Release);
    }

    /// How many connections have been asked for, and when the last one was.
    pub(super) fn opened(&self) -> (u64, Time) {
        let connections = self.connections.load(Ordering::Acquire);
        (
            connections,
            Time::from_nanos(self.opened.load(Ordering::Relaxed)),
        )
    }
}

/// The identity of a connection: connections to different receivers may come from one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Addresses {
    pub(super) sender: SocketAddr,
    pub(super) receiver: SocketAddr,
}

/// Receives the samples and events of both hosts.
pub(super) type Listener = Box<dyn FnMut(Told) + Send>;

/// Common to both hosts.
pub(super) struct Shared {
    pub(super) flows: Box<[FlowShared]>,
    /// Flows whose connection the receiver host has yet to accept.
    announced: Mutex<HashMap<Addresses, usize>>,
    listener: Mutex<Listener>,
    abandoned: AtomicBool,
    wakers: [OwnedFd; 2],
}

impl Shared {
    pub(super) fn new(flows: usize, listener: Listener) -> io::Result<Self> {
        Ok(Self {
            flows: (0..flows).map(|_| FlowShared::default()).collect(),
            announced: Mutex::default(),
            listener: Mutex::new(listener),
            abandoned: AtomicBool::new(false),
            wakers: [poller::waker()?, poller::waker()?],
        })
    }

    /// Registers the connection that `connect` opens as that of `flow`; `connect` returns its addresses. The other host
    /// may accept the connection before `connect` returns, but cannot claim it earlier.
    pub(super) fn announce<E>(
        &self,
        flow: usize,
        connect: impl FnOnce() -> Result<Addresses, E>,
    ) -> Result<(), E> {
        let mut announced = lock(&self.announced);
        announced.insert(connect()?, flow);
        Ok(())
    }

    /// The flow that a connection belongs to; `None` for a connection of another program.
    pub(super) fn claim(&self, addresses: Addresses) -> Option<usize> {
        lock(&self.announced).remove(&addresses)
    }

    /// The receiver of samples and events, for a whole tick.
    pub(super) fn listener(&self) -> MutexGuard<'_, Listener> {
        lock(&self.listener)
    }

    /// Makes both hosts check whether they must end.
    pub(super) fn wake(&self) {
        self.wakers.iter().for_each(poller::wake);
    }

    /// Ends both hosts at once, without results.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    pub(super) fn waker(&self, host: Host) -> &OwnedFd {
        &self.wakers[usize::from(host == Host::Receiver)]
    }
}

/// What a panicking holder leaves behind is whole: it panicked in the caller's code, and its host ends the run.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_from_one_port_to_two_receivers_are_told_apart() {
        let shared = Shared::new(2, Box::new(|_| ())).unwrap();
        let to = |receiver: &str| Addresses {
            sender: "127.0.0.1:40000".parse().unwrap(),
            receiver: receiver.parse().unwrap(),
        };
        let (first, second) = (to("127.0.0.2:5001"), to("127.0.0.2:5002"));
        for (flow, addresses) in [(0, first), (1, second)] {
            shared.announce(flow, || Ok::<_, ()>(addresses)).unwrap();
        }
        assert_eq!(shared.claim(to("127.0.0.2:5003")), None);
        assert_eq!(shared.claim(first), Some(0));
        assert_eq!(shared.claim(second), Some(1));
        assert_eq!(shared.claim(second), None, "each is claimed once");
    }
}
