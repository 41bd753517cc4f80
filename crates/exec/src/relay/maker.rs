//! A thread in the namespace of the far edge that makes sockets there: the one place of a relay that needs a right (CAP_NET_RAW,
//! and CAP_NET_BIND_SERVICE where settings cannot be written).
//!
//! It reads no data of anybody: it gets two addresses and returns a socket between them, for datagrams or a stream.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use quell_hosts::confine::capabilities::{CapabilitySet, effective, keep_only};
use quell_hosts::namespace::Namespace;
use quell_hosts::relayed;

use crate::error::{Doing as _, Error, Result};

/// Why the relay cannot answer in the name of a remote host's port.
const NO_PORTS: &str = "/proc/sys cannot be written here, as in most containers, and without CAP_NET_BIND_SERVICE the relay cannot answer from ports \
     below 1024: start the container with --cap-add NET_BIND_SERVICE, or use --world virtual";

/// What makes a socket between two addresses.
type Make = fn(SocketAddr, SocketAddr) -> io::Result<OwnedFd>;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Maker {
    asked: Sender<(Make, SocketAddr, SocketAddr)>,
    made: Receiver<io::Result<OwnedFd>>,
}

impl Maker {
    /// Starts it in `outside`, where a port below 1024 may need a right.
    pub(super) fn start(outside: &Namespace, needs_right_to_ports: bool) -> Result<Self> {
        let mut rights = CapabilitySet::NET_RAW;
        if needs_right_to_ports {
            rights |= CapabilitySet::NET_BIND_SERVICE;
            let has = effective().doing("read capabilities")?;
            if !has.contains(rights) {
                return Err(Error::NoPorts(NO_PORTS));
            }
        }
        let (asked, asks) = mpsc::channel::<(Make, SocketAddr, SocketAddr)>();
        let (makes, made) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let namespace = Namespace::clone_of(outside).doing("keep a network namespace")?;
        let thread = thread::Builder::new().name("quell-sockets".to_owned());
        thread
            .spawn(move || {
                let entered = namespace.enter().and_then(|()| {
                    keep_only(rights).map_err(io::Error::other)?;
                    Ok(())
                });
                let failed = entered.is_err();
                if ready.send(entered).is_err() || failed {
                    return;
                }
                for (make, local, remote) in asks {
                    if makes.send(make(local, remote)).is_err() {
                        return;
                    }
                }
            })
            .doing("start a thread")?;
        let entered = is_ready
            .recv()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        entered.doing("enter the namespace of the far edge")?;
        Ok(Self { asked, made })
    }

    /// A socket for datagrams that talks with `remote` in the name of `local`.
    pub(super) fn between(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
        self.make(relayed::datagrams_between, local, remote)
    }

    /// A stream to `remote` in the name of `local`, whose connection has begun.
    pub(super) fn stream(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
        self.make(relayed::stream_between, local, remote)
    }

    fn make(&self, make: Make, local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let asked = self.asked.send((make, local, remote));
        asked.map_err(|_| gone())?;
        self.made.recv().map_err(|_| gone())?
    }
}
