//! What TCP has repaired on a connection of a session: the counters of both ends' sockets, for whichever host records an event.
//!
//! The kernel counts segments that it sent again and, since Linux 6.7, time-outs, SYNs and SYN-ACKs among them. What it had sent
//! again when a connection came up is of the handshake. It counts neither probes nor episodes of fast recovery by connection.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quell_app::{EndRepairs, Repairs, Role};

use super::tcp_info::SentAgain;

/// One end of a connection.
#[derive(Debug, Default)]
enum Socket {
    /// It has none yet.
    #[default]
    Unborn,
    Open {
        socket: Arc<OwnedFd>,
        /// Of the handshake, once that is over.
        handshake: Option<SentAgain>,
    },
    Gone(EndRepairs),
}

impl Socket {
    fn repairs(&self) -> EndRepairs {
        match self {
            Self::Unborn => EndRepairs {
                handshake: Some(0),
                timeouts: Some(0),
                retransmitted: Some(0),
                ..EndRepairs::UNKNOWN
            },
            Self::Open { socket, handshake } => {
                SentAgain::of(socket).map_or(EndRepairs::UNKNOWN, |now| since(*handshake, now))
            }
            Self::Gone(repairs) => *repairs,
        }
    }
}

/// All of it is of the handshake as long as that lasts.
fn since(handshake: Option<SentAgain>, now: SentAgain) -> EndRepairs {
    let before = handshake.unwrap_or(now);
    EndRepairs {
        handshake: Some(before.segments),
        timeouts: now
            .timeouts
            .zip(before.timeouts)
            .map(|(now, before)| now.saturating_sub(before)),
        retransmitted: Some(now.segments.saturating_sub(before.segments)),
        ..EndRepairs::UNKNOWN
    }
}

/// Both ends of a connection, the sender first.
#[derive(Debug, Default)]
pub(super) struct Sockets([Mutex<Socket>; 2]);

impl Sockets {
    /// The counters of both ends.
    pub(super) fn repairs(&self) -> Repairs {
        Repairs {
            sender: self.end(Role::Sender).repairs(),
            receiver: self.end(Role::Receiver).repairs(),
        }
    }

    fn end(&self, role: Role) -> MutexGuard<'_, Socket> {
        let end = &self.0[usize::from(role == Role::Receiver)];
        // Each change is one assignment.
        end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An end whose counters both hosts may read. Dropped with the end's socket, it keeps the last ones.
#[derive(Debug)]
pub(super) struct Registered {
    sockets: Arc<Sockets>,
    role: Role,
}

impl Registered {
    pub(super) fn new(sockets: Arc<Sockets>, role: Role, socket: &Arc<OwnedFd>) -> Self {
        *sockets.end(role) = Socket::Open {
            socket: socket.clone(),
            handshake: None,
        };
        Self { sockets, role }
    }

    /// The handshake is over.
    pub(super) fn is_up(&self) {
        if let Socket::Open { socket, handshake } = &mut *self.sockets.end(self.role) {
            *handshake = SentAgain::of(socket).ok();
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut end = self.sockets.end(self.role);
        *end = Socket::Gone(end.repairs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    const NONE: EndRepairs = EndRepairs {
        handshake: Some(0),
        timeouts: Some(0),
        retransmitted: Some(0),
        ..EndRepairs::UNKNOWN
    };

    #[test]
    fn what_was_sent_again_before_a_connection_came_up_is_of_its_handshake() {
        let again = |segments, timeouts| SentAgain { segments, timeouts };
        let opening = since(None, again(2, Some(2)));
        assert_eq!(
            (opening.handshake, opening.retransmitted),
            (Some(2), Some(0))
        );
        let up = since(Some(again(2, Some(2))), again(7, Some(3)));
        assert_eq!(
            (up.handshake, up.timeouts, up.retransmitted),
            (Some(2), Some(1), Some(5))
        );
        assert_eq!((up.probes, up.recoveries), (None, None));
        assert_eq!(since(Some(again(0, None)), again(1, None)).timeouts, None);
    }

    #[test]
    fn counters_outlive_the_socket_and_do_not_hold_it_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = Arc::new(Sockets::default());
        assert_eq!(sockets.repairs().sender, NONE);
        let socket = Arc::new(OwnedFd::from(client));
        let registered = Registered::new(sockets.clone(), Role::Receiver, &socket);
        registered.is_up();
        let known = |end: EndRepairs| (end.handshake, end.retransmitted);
        assert_eq!(known(sockets.repairs().receiver), known(NONE));
        drop(registered);
        assert_eq!(Arc::strong_count(&socket), 1);
        drop(socket);
        assert_eq!(known(sockets.repairs().receiver), known(NONE));
    }
}
