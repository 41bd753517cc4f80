//! One TCP connection of the program, joined to one of the host; who has begun it is told apart by [`Pair::is_served`].
//!
//! Bytes go from socket to pipe to socket by splice(2) and are never read. A direction reads again only when its pipe is empty, so what
//! waits is in the sockets, where TCP's own flow control sees it. The end of a direction (FIN) is passed on when everything before it has
//! been; a reset of either side resets the other.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use quell_hosts::traffic::TcpInfo;
use quell_measure::Direction;
use quell_units::Time;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use serde::Serialize;

use super::cut::Way;

/// Bytes that a pipe holds, where the host lets it be so large.
const PIPE: usize = 256 << 10;
/// Bytes of one direction before others have their turn.
const TURN: usize = 1 << 20;

/// Both ends of a pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    fn new() -> rustix::io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A user with many pipes gets small ones, which only costs time.
        let _ = fcntl_setpipe_size(&write, PIPE);
        Ok(Self { read, write })
    }
}

/// A socket, and what it would do now as far as is known.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) socket: OwnedFd,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl Side {
    fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            readable: false,
            writable: false,
        }
    }
}

/// One direction.
#[derive(Debug, Default)]
struct Flow {
    /// While it holds something.
    pipe: Option<Pipe>,
    held: usize,
    moved: u64,
    /// The source has nothing more.
    ended: bool,
    /// The destination knows.
    told: bool,
}

/// What a connection needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// To wait for an event.
    Wait,
    /// Another turn.
    Turn,
    /// To be closed: both directions are complete.
    Close,
    /// To be reset.
    Reset,
    /// To be reset as soon as the other end has what was passed on.
    Spent,
}

/// A connection; [`Direction::Forward`] is towards the program.
#[derive(Debug)]
pub(super) struct Pair {
    /// The far edge's socket, which the program talks with.
    pub(super) client: Side,
    /// The host's socket.
    pub(super) server: Side,
    pub(super) is_connected: bool,
    /// A client of a published port has begun it, not the program.
    pub(super) is_served: bool,
    /// Nothing is passed on any more.
    pub(super) is_silent: bool,
    /// Bytes that are still passed on, in both directions together.
    pub(super) left: u64,
    /// Where the program wanted to go, or the client that it serves.
    pub(super) to: SocketAddr,
    /// Where else its service may be, if it is refused; of one that is served, where the program serves.
    pub(super) other: Option<SocketAddr>,
    /// When it was accepted, in ns of the run.
    pub(super) began: u64,
    flows: [Flow; 2],
    /// How long the program's window has kept the far edge from sending, as of the last look.
    window_limited: Time,
}

/// A connection in `connections.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Connection {
    /// Where the program connected to, or the client that it served.
    pub to: SocketAddr,
    /// A client of a published port has begun it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// When it was accepted, in seconds of the run.
    pub start_s: f64,
    /// When it was over.
    pub end_s: f64,
    /// Bytes towards the program.
    pub down_bytes: u64,
    /// Bytes of the program.
    pub up_bytes: u64,
    /// Congestion control of the far edge.
    pub far_control: Option<String>,
    /// Segments that the far edge sent again.
    pub retransmitted: u64,
    /// Last smoothed RTT of the far edge to the program, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// How it ended: `closed`, `reset`, `refused`, `cut`, at its `limit`, or `open` at the end of the run.
    pub end: &'static str,
}

impl Pair {
    pub(super) fn new(client: OwnedFd, server: OwnedFd, to: SocketAddr, began: u64) -> Self {
        Self {
            client: Side::new(client),
            server: Side::new(server),
            is_connected: false,
            is_served: false,
            is_silent: false,
            left: u64::MAX,
            to,
            other: None,
            began,
            flows: Default::default(),
            window_limited: Time::ZERO,
        }
    }

    /// What it leads to.
    pub(super) fn way(&self) -> Way {
        Way {
            to: self.to,
            inside: self.other.filter(|_| self.is_served),
        }
    }

    /// Takes another socket of the host's, where the first one was refused.
    pub(super) fn turn_to(&mut self, server: OwnedFd) {
        self.server = Side::new(server);
    }

    /// Takes another socket towards the program, where the first one was refused.
    pub(super) fn turn_client_to(&mut self, client: OwnedFd) {
        self.client = Side::new(client);
    }

    /// How much longer the program's window has kept the far edge from sending since the last look.
    pub(super) fn more_window_limited(&mut self) -> Time {
        let now = self.tcp().map(|tcp| tcp.receive_window_limited);
        let now = now.unwrap_or(self.window_limited);
        now - std::mem::replace(&mut self.window_limited, now)
    }

    /// Whether data of a direction waits here for its next socket.
    pub(super) fn holds(&self, direction: Direction) -> bool {
        self.flows[direction.index()].held > 0
    }

    /// Bytes of a direction that were passed on.
    pub(super) fn moved(&self, direction: Direction) -> u64 {
        self.flows[direction.index()].moved
    }

    /// Whether everything that the program sent has been passed on, its end included, or nothing will be.
    pub(super) fn is_sent(&self) -> bool {
        self.is_silent || self.flows[Direction::Reverse.index()].told
    }

    /// Moves what can be moved. `spare` keeps pipes that are empty.
    pub(super) fn advance(&mut self, spare: &mut Vec<Pipe>) -> Next {
        if !self.is_connected || self.is_silent {
            return Next::Wait;
        }
        let mut next = Next::Wait;
        for direction in Direction::BOTH {
            let (source, sink) = match direction {
                Direction::Forward => (&mut self.server, &mut self.client),
                Direction::Reverse => (&mut self.client, &mut self.server),
            };
            match self.flows[direction.index()].advance(source, sink, spare, &mut self.left) {
                Ok(true) => next = Next::Turn,
                Ok(false) => {}
                Err(_) => return Next::Reset,
            }
        }
        if self.flows.iter().all(|flow| flow.told) {
            return Next::Close;
        }
        if self.is_spent() {
            return Next::Spent;
        }
        next
    }

    /// Whether it has passed on as much as it may.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0 && self.flows.iter().all(|flow| flow.held == 0)
    }

    /// Nothing more is read of either side.
    pub(super) fn end(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.ended = true);
    }

    /// Has both sockets reset their connections when they are closed.
    pub(super) fn reset(&self) {
        for side in [&self.client, &self.server] {
            // A connection that is gone needs no reset.
            let _ = sockopt::set_socket_linger(&side.socket, Some(Duration::ZERO));
        }
    }

    /// The kernel's figures of the far edge.
    pub(super) fn tcp(&self) -> Option<TcpInfo> {
        TcpInfo::of(&self.client.socket).ok()
    }

    /// What is reported of it.
    pub(super) fn report(&self, now: u64, end: &'static str) -> Connection {
        let tcp = self.tcp();
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        Connection {
            to: self.to,
            served: self.is_served,
            start_s: seconds(self.began),
            end_s: seconds(now),
            down_bytes: self.moved(Direction::Forward),
            up_bytes: self.moved(Direction::Reverse),
            far_control: sockopt::tcp_congestion(&self.client.socket).ok(),
            retransmitted: tcp.map_or(0, |tcp| tcp.retransmitted),
            rtt_ms: tcp
                .and_then(|tcp| tcp.rtt)
                .map(|rtt| rtt.as_nanos() as f64 / 1e6),
            end,
        }
    }
}

impl Flow {
    /// Whether it wants another turn.
    fn advance(
        &mut self,
        source: &mut Side,
        sink: &mut Side,
        spare: &mut Vec<Pipe>,
        left: &mut u64,
    ) -> rustix::io::Result<bool> {
        const HOW: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);
        let mut moved = 0;
        loop {
            if self.held > 0 {
                let Some(pipe) = self.pipe.as_ref().filter(|_| sink.writable) else {
                    return Ok(false);
                };
                match splice(&pipe.read, None, &sink.socket, None, self.held, HOW) {
                    Ok(sent) => {
                        self.held -= sent;
                        self.moved += sent as u64;
                        moved += sent;
                    }
                    Err(Errno::AGAIN) => sink.writable = false,
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
                if self.held == 0 {
                    spare.extend(self.pipe.take());
                }
                if moved >= TURN {
                    return Ok(true);
                }
            } else if self.ended {
                if !self.told {
                    self.told = true;
                    match shutdown(&sink.socket, Shutdown::Write) {
                        // The other side has closed already.
                        Ok(()) | Err(Errno::NOTCONN) => {}
                        Err(errno) => return Err(errno),
                    }
                }
                return Ok(false);
            } else if source.readable && *left > 0 {
                let most = usize::try_from(*left).map_or(PIPE, |left| left.min(PIPE));
                let pipe = match self.pipe.take().or_else(|| spare.pop()) {
                    Some(pipe) => pipe,
                    None => Pipe::new()?,
                };
                match splice(&source.socket, None, &pipe.write, None, most, HOW) {
                    Ok(0) => self.ended = true,
                    Ok(read) => {
                        self.held = read;
                        *left = left.saturating_sub(read as u64);
                    }
                    Err(Errno::AGAIN) => source.readable = false,
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
                match self.held {
                    0 => spare.push(pipe),
                    _ => self.pipe = Some(pipe),
                }
            } else {
                return Ok(false);
            }
        }
    }
}
