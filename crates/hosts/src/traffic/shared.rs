//! The state that the two hosts share: a few counters per flow, and which client port belongs to which flow and connection.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use quell_app::ConnectionId;
use quell_units::Time;

use super::endpoint::Host;
use super::poller;
use super::repaired::Sockets;
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
    /// Connections that the sender host has asked for, except those of sessions.
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
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

/// What the end that opens a connection of a session tells the other one, which it is accepted by.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) connection: ConnectionId,
    pub(super) serial: u64,
    pub(super) asked: Time,
    /// The sockets of both ends.
    pub(super) sockets: Arc<Sockets>,
    /// For the end's socket.
    pub(super) _place: Place,
}

/// Room for one open file, given back when dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicU64>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection that the other host has yet to accept.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) flow: usize,
    /// Of sessions.
    pub(super) opening: Option<Opening>,
}

/// Receives the samples and events of both hosts.
pub(super) type Listener = Box<dyn FnMut(Told) + Send>;

/// When each flow starts and stops, in the order of the plans.
pub(super) type Lives = Arc<[(Time, Option<Time>)]>;

/// Common to both hosts.
pub(super) struct Shared {
    pub(super) flows: Box<[FlowShared]>,
    announced: Mutex<HashMap<Addresses, Announcement>>,
    /// Open files that are left for connections of sessions.
    places: Arc<AtomicU64>,
    listener: Mutex<Listener>,
    abandoned: AtomicBool,
    /// The lives of the flows as last planned anew, and how often that was.
    lives: Mutex<(u64, Lives)>,
    wakers: [OwnedFd; 2],
}

impl Shared {
    /// `places` is the number of open files that sessions may have.
    pub(super) fn new(flows: usize, places: u64, listener: Listener) -> io::Result<Self> {
        Ok(Self {
            flows: (0..flows).map(|_| FlowShared::default()).collect(),
            announced: Mutex::default(),
            places: Arc::new(AtomicU64::new(places)),
            listener: Mutex::new(listener),
            abandoned: AtomicBool::new(false),
            lives: Mutex::new((0, Lives::default())),
            wakers: [poller::waker()?, poller::waker()?],
        })
    }

    /// Registers the connection that `connect` opens, and returns its addresses as `connect` does. The other host may accept the
    /// connection before `connect` returns, but cannot claim it earlier.
    pub(super) fn announce<E>(
        &self,
        announcement: Announcement,
        connect: impl FnOnce() -> Result<Addresses, E>,
    ) -> Result<Addresses, E> {
        let mut announced = lock(&self.announced);
        let addresses = connect()?;
        announced.insert(addresses, announcement);
        Ok(addresses)
    }

    /// The flow that a connection belongs to; `None` for a connection of another program, or one that has been given up.
    pub(super) fn claim(&self, addresses: Addresses) -> Option<Announcement> {
        lock(&self.announced).remove(&addresses)
    }

    /// Forgets a connection of a session that was announced and has been given up.
    pub(super) fn retract(&self, addresses: Addresses, serial: u64) {
        let mut announced = lock(&self.announced);
        // The port may belong to another connection by now.
        let is_mine = announced
            .get(&addresses)
            .and_then(|announcement| announcement.opening.as_ref())
            .is_some_and(|opening| opening.serial == serial);
        if is_mine {
            announced.remove(&addresses);
        }
    }

    /// Room for the two sockets of a connection; `None` if this process may not open more.
    pub(super) fn take_places(&self) -> Option<[Place; 2]> {
        self.places
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                free.checked_sub(2)
            })
            .ok()
            .map(|_| [Place(self.places.clone()), Place(self.places.clone())])
    }

    /// The receiver of samples and events, for a whole tick.
    pub(super) fn listener(&self) -> MutexGuard<'_, Listener> {
        lock(&self.listener)
    }

    /// Makes both hosts check whether they must end.
    pub(super) fn wake(&self) {
        self.wakers.iter().for_each(poller::wake);
    }

    /// Plans all flows anew, and makes both hosts heed it.
    pub(super) fn replan(&self, lives: Lives) {
        let mut planned = lock(&self.lives);
        *planned = (planned.0 + 1, lives);
        drop(planned);
        self.wake();
    }

    /// The lives of the flows if they have been planned anew more often than `heard` says, which then says so too.
    pub(super) fn replanned(&self, heard: &mut u64) -> Option<Lives> {
        let planned = lock(&self.lives);
        (std::mem::replace(heard, planned.0) < planned.0).then(|| planned.1.clone())
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
        let shared = Shared::new(2, 0, Box::new(|_| ())).unwrap();
        let to = |server: &str| Addresses {
            client: "127.0.0.1:40000".parse().unwrap(),
            server: server.parse().unwrap(),
        };
        let (first, second) = (to("127.0.0.2:5001"), to("127.0.0.2:5002"));
        for (flow, addresses) in [(0, first), (1, second)] {
            let announcement = Announcement {
                flow,
                opening: None,
            };
            shared
                .announce(announcement, || Ok::<_, ()>(addresses))
                .unwrap();
        }
        let claim = |addresses| shared.claim(addresses).map(|announced| announced.flow);
        assert_eq!(claim(to("127.0.0.2:5003")), None);
        assert_eq!(claim(first), Some(0));
        assert_eq!(claim(second), Some(1));
        assert_eq!(claim(second), None, "each is claimed once");
    }

    #[test]
    fn a_connection_has_two_places_or_none() {
        let shared = Shared::new(1, 5, Box::new(|_| ())).unwrap();
        let first = shared.take_places().unwrap();
        let [mine, theirs] = shared.take_places().unwrap();
        assert!(shared.take_places().is_none());
        drop(mine);
        assert!(shared.take_places().is_some());
        drop((first, theirs));
        let two = [shared.take_places(), shared.take_places()];
        assert!(two.iter().all(Option::is_some) && shared.take_places().is_none());
    }
}
