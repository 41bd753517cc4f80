//! The far edge's relay: one thread in the host's namespace, without any right, around one epoll.
//!
//! What TPROXY hands to the listeners of the far edge gets an ordinary socket of the host. At most [`MOST_CONNECTIONS`] connections; more
//! are reset and counted.

pub mod cut;
mod cutting;
mod datagrams;
mod doors;
mod events;
mod maker;
mod newcomers;
mod tally;
pub mod targets;
mod tcp;
mod udp;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quell_hosts::relayed;
use quell_link::monotonic;
use quell_measure::Direction;
use quell_units::Time;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Doing as _, Error, Result};
use crate::network::{Network, RELAY_PORT, within};
use crate::publish::Door;
use cut::{Cut, Cuts, Scissors};
use doors::Later;
use events::{CLIENT, DATAGRAMS, DOORS, FAR, NEAR, OF_PAIRS, SERVER, STREAMS, WAKE, watch};
use maker::Maker;
use newcomers::Newcomers;
use tally::Tally;
pub use tally::{Bin, Counts};
use targets::Targets;
pub use tcp::Connection;
use tcp::{Next, Pair, Pipe};
use udp::Exchanges;

/// The most connections at once.
pub const MOST_CONNECTIONS: usize = 4_096;
/// The most connections that a result lists.
const MOST_LISTED: usize = 10_000;
/// Descriptors of a connection: two sockets, and two pipes while it holds something.
const PER_CONNECTION: u64 = 6;
/// Descriptors for everything else, datagrams included.
const RESERVED: u64 = 256;
/// Between two looks at what is silent, and the longest wait.
const SWEEP: Time = Time::from_secs(1);

/// A relay that runs.
#[derive(Debug)]
pub struct Relay {
    thread: Option<JoinHandle<Vec<Connection>>>,
    stop: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
    /// Where connections are cut.
    pub(crate) scissors: Scissors,
    /// What it did so far.
    pub counts: Arc<Counts>,
}

/// What a relay needs.
#[derive(Debug)]
pub struct RelayConfig {
    /// Where connections go.
    pub targets: Targets,
    /// IPv6 beside IPv4.
    pub ipv6: bool,
    /// The instant of CLOCK_MONOTONIC that times count from.
    pub epoch: Time,
    /// Length of a bin.
    pub bin: Time,
    /// Where bins go.
    pub bins: Sender<Bin>,
    /// Cuts, and their times in order.
    pub planned: Vec<(Time, Cut)>,
}

/// The sockets of a relay, made while the process still had the right to.
#[derive(Debug)]
pub struct Sockets {
    streams: Vec<OwnedFd>,
    datagrams: Vec<OwnedFd>,
    maker: Maker,
    doors: Vec<Door>,
}

impl Sockets {
    /// Listens at the far edge, and for clients at `doors` of the host. Needs CAP_NET_RAW there and CAP_SYS_ADMIN to enter it.
    ///
    /// # Errors
    ///
    /// A socket is refused.
    pub fn open(network: &Network, ipv6: bool, doors: Vec<Door>) -> Result<Self> {
        let outside = &network.outside;
        let families: &[bool] = if ipv6 { &[true, false] } else { &[true] };
        let (streams, datagrams) = within(outside, || {
            let listen = |is_ipv4: &bool| {
                let streams = relayed::stream_listener(*is_ipv4, RELAY_PORT, None)?;
                Ok((streams, relayed::datagram_listener(*is_ipv4, RELAY_PORT)?))
            };
            let both: io::Result<Vec<_>> = families.iter().map(listen).collect();
            Ok(both.doing("listen at the far edge")?.into_iter().unzip())
        })?;
        Ok(Self {
            streams,
            datagrams,
            maker: Maker::start(outside, network.needs_right_to_ports)?,
            doors,
        })
    }
}

impl Relay {
    /// Starts the thread. The caller has given its rights away, so the thread has none.
    ///
    /// # Errors
    ///
    /// The system refuses the thread or its epoll.
    pub fn start(sockets: Sockets, config: RelayConfig) -> Result<Self> {
        let counts = Arc::new(Counts::default());
        let stop = Arc::new(AtomicBool::new(false));
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = Arc::new(wake.doing("make an event descriptor")?);
        let (scissors, cuts) = Scissors::new(wake.clone());
        let work = Work::new(
            sockets,
            config,
            counts.clone(),
            stop.clone(),
            (wake.clone(), cuts),
        )
        .doing("prepare the relay")?;
        let thread = thread::Builder::new()
            .name("quell-relay".to_owned())
            .spawn(move || work.run())
            .doing("start a thread")?;
        Ok(Self {
            thread: Some(thread),
            stop,
            wake,
            scissors,
            counts,
        })
    }

    /// Ends it; returns the connections that it had, those that are open last.
    ///
    /// # Errors
    ///
    /// The thread has panicked.
    pub fn finish(mut self) -> Result<Vec<Connection>> {
        self.end();
        let thread = self.thread.take().ok_or(Error::Gone("the relay"))?;
        thread.join().map_err(|_| Error::Gone("the relay"))
    }

    /// Lets it look at its sockets now, whether anything is there or not: see [`Counts::rounds`].
    pub fn wake(&self) {
        // It wakes by itself within a second.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            // Nobody is left to report it to.
            let _ = thread.join();
        }
    }
}

/// Raises the limit of open files of this process as far as it may; returns the number of connections that it has room for.
fn room() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let wanted = RESERVED + (MOST_CONNECTIONS as u64 + udp::MOST as u64) * PER_CONNECTION;
    if limit.current.is_some_and(|current| current < wanted) {
        // What is left is what there is room for.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted.min(most)),
                maximum: limit.maximum,
            },
        );
    }
    let has = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // A quarter is for datagrams.
    let connections = (has.saturating_sub(RESERVED) / 4 * 3 / PER_CONNECTION).max(16);
    usize::try_from(connections).map_or(MOST_CONNECTIONS, |room| room.min(MOST_CONNECTIONS))
}

/// The thread's.
struct Work {
    epoll: OwnedFd,
    streams: Vec<OwnedFd>,
    datagrams: Vec<OwnedFd>,
    maker: Maker,
    doors: Vec<Door>,
    later: Later,
    cuts: Cuts,
    /// Those whose time has not come.
    planned: VecDeque<(Time, Cut)>,
    newcomers: Newcomers,
    targets: Targets,
    epoch: Time,
    tally: Tally,
    stop: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
    pairs: Vec<Option<Pair>>,
    /// Places of pairs that are gone; those of the current round are not used again before the next.
    free: Vec<usize>,
    gone: Vec<usize>,
    open: usize,
    most: usize,
    /// Connections that want another turn.
    turns: Vec<usize>,
    spare: Vec<Pipe>,
    exchanges: Exchanges,
    closed: Vec<Connection>,
    swept: Time,
}

impl Work {
    fn new(
        sockets: Sockets,
        config: RelayConfig,
        counts: Arc<Counts>,
        stop: Arc<AtomicBool>,
        (wake, cuts): (Arc<OwnedFd>, Cuts),
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, socket) in sockets.streams.iter().enumerate() {
            watch(&epoll, socket, (STREAMS, index), EventFlags::IN)?;
        }
        for (index, socket) in sockets.datagrams.iter().enumerate() {
            watch(&epoll, socket, (DATAGRAMS, index), EventFlags::IN)?;
        }
        for (index, door) in sockets.doors.iter().enumerate() {
            watch(&epoll, &door.socket, (DOORS, index), EventFlags::IN)?;
        }
        watch(&epoll, &wake, (WAKE, 0), EventFlags::IN)?;
        let most = room();
        Ok(Self {
            epoll,
            streams: sockets.streams,
            datagrams: sockets.datagrams,
            maker: sockets.maker,
            doors: sockets.doors,
            later: Later::default(),
            cuts,
            planned: config.planned.into(),
            newcomers: Newcomers::default(),
            targets: config.targets,
            epoch: config.epoch,
            tally: Tally::new(counts, config.bins, config.bin),
            stop,
            wake,
            pairs: Vec::new(),
            free: Vec::new(),
            gone: Vec::new(),
            open: 0,
            most,
            turns: Vec::new(),
            spare: Vec::new(),
            exchanges: Exchanges::new(most),
            closed: Vec::new(),
            swept: Time::ZERO,
        })
    }

    fn now(&self) -> Time {
        monotonic() - self.epoch
    }

    fn run(mut self) -> Vec<Connection> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        while !self.stop.load(Ordering::Relaxed) {
            let timeout = match self.turns.is_empty() {
                true => {
                    let planned = self.planned.front().map(|(at, _)| *at);
                    self.newcomers.patience(self.now(), planned)
                }
                false => Duration::ZERO,
            };
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(timeout.subsec_nanos()),
            };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                // The descriptor is ours and valid.
                Err(_) => break,
            }
            self.cut_planned();
            for place in std::mem::take(&mut self.turns) {
                self.advance(place);
            }
            for event in &events {
                let (kind, place) = events::of(event);
                self.heed(kind, place, event.flags);
            }
            self.free.append(&mut self.gone);
            self.tally.counts.rounds.fetch_add(1, Ordering::Release);
            let now = self.now();
            self.begin_again(now);
            self.begin_held(now);
            if self.tally.ends_by(now) {
                self.look_at_windows();
            }
            self.tally.advance(now);
            if now >= self.swept + SWEEP {
                self.swept = now;
                self.exchanges.forget_silent(now);
                self.newcomers.forget_closed();
                self.count_open(now);
                // Pipes for the next burst; more would only hold memory.
                self.spare.truncate(16);
            }
        }
        let now = self.now();
        self.tally.advance(now);
        let pairs = std::mem::take(&mut self.pairs);
        for pair in pairs.iter().flatten() {
            self.list(pair, "open");
            // The program is gone, or would wait for nothing.
            pair.reset();
        }
        self.closed
    }

    /// Asks the kernel why what waits for the program is not sent, of so many connections at most.
    fn look_at_windows(&mut self) {
        const MOST_ASKED: usize = 64;
        let pairs = self.pairs.iter_mut().flatten();
        let waiting = pairs.filter(|pair| pair.holds(Direction::Forward));
        for pair in waiting.take(MOST_ASKED) {
            self.tally.was_window_limited(pair.more_window_limited());
        }
    }

    fn heed(&mut self, kind: u64, index: usize, flags: EventFlags) {
        match kind {
            STREAMS => self.accept(index),
            DATAGRAMS => self.begin_exchanges(index),
            DOORS => self.welcome(index),
            CLIENT | SERVER => self.touch(index, kind == CLIENT, flags),
            NEAR | FAR => {
                let now = self.now();
                match self.exchanges.pass(index, kind == FAR, now) {
                    Ok(lost) => Counts::add(&self.tally.counts.lost_datagrams, lost),
                    Err(_) => self.exchanges.forget(index),
                }
            }
            _ => {
                let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
                self.cut_asked();
            }
        }
    }

    /// Gives a connection its place.
    fn admit(&mut self, pair: Pair) -> std::result::Result<(), Refusal> {
        let place = self.free.pop().unwrap_or(self.pairs.len());
        for (socket, kind) in [(&pair.client.socket, CLIENT), (&pair.server.socket, SERVER)] {
            if watch(&self.epoll, socket, (kind, place), OF_PAIRS).is_err() {
                if place < self.pairs.len() {
                    self.free.push(place);
                }
                pair.reset();
                return Err(Refusal::Full);
            }
        }
        match self.pairs.get_mut(place) {
            Some(free) => *free = Some(pair),
            None => self.pairs.push(Some(pair)),
        }
        self.open += 1;
        Counts::add(&self.tally.counts.unfinished, 1);
        self.count_open(self.now());
        Ok(())
    }

    /// Something has happened at one side of a connection.
    fn touch(&mut self, place: usize, is_client: bool, flags: EventFlags) {
        let Some(pair) = self.pairs.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let failed = flags.contains(EventFlags::ERR);
        let over = failed || flags.intersects(EventFlags::HUP);
        let side = match is_client {
            true => &mut pair.client,
            false => &mut pair.server,
        };
        side.readable |= over || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        side.writable |= over || flags.contains(EventFlags::OUT);
        let error = match sockopt::socket_error(&side.socket) {
            _ if !failed => None,
            Ok(Ok(())) => None,
            Ok(Err(errno)) | Err(errno) => Some(errno),
        };
        let connects = is_client == pair.is_served;
        if !pair.is_connected && connects && (over || flags.contains(EventFlags::OUT)) {
            if over {
                if self.turn_to_other(place) || self.knocks_again(place) {
                    return;
                }
                Counts::add(&self.tally.counts.unreachable, 1);
                return self.close(place, "refused");
            }
            pair.is_connected = true;
        } else if error.is_some() {
            return self.close(place, "reset");
        }
        self.advance(place);
    }

    /// Connects to where else a connection's service may be, where there is such a place.
    fn turn_to_other(&mut self, place: usize) -> bool {
        let Some(pair) = self.pairs.get_mut(place).and_then(Option::as_mut) else {
            return false;
        };
        if pair.is_served {
            return false;
        }
        let Some(Ok(server)) = pair.other.take().map(relayed::stream_to) else {
            return false;
        };
        let is_watched = watch(&self.epoll, &server, (SERVER, place), OF_PAIRS).is_ok();
        if is_watched {
            pair.turn_to(server);
        }
        is_watched
    }

    fn advance(&mut self, place: usize) {
        let Some(pair) = self.pairs.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let before =
            Direction::BOTH.map(|direction| (pair.holds(direction), pair.moved(direction)));
        let was_sent = pair.is_sent();
        let next = pair.advance(&mut self.spare);
        let now = monotonic() - self.epoch;
        for (direction, (held, moved)) in Direction::BOTH.into_iter().zip(before) {
            if pair.holds(direction) != held {
                self.tally.holds(now, direction, !held);
            }
            let bytes = &self.tally.counts.bytes[direction.index()];
            Counts::add(bytes, pair.moved(direction) - moved);
        }
        if pair.is_sent() && !was_sent {
            self.tally.counts.unfinished.fetch_sub(1, Ordering::Relaxed);
        }
        match next {
            Next::Wait => {}
            Next::Turn => self.turns.push(place),
            Next::Close => self.close(place, "closed"),
            Next::Reset => self.close(place, "reset"),
            Next::Spent => _ = self.newcomers.spent.insert(place),
        }
    }

    fn close(&mut self, place: usize, how: &'static str) {
        let Some(pair) = self.pairs.get_mut(place).and_then(Option::take) else {
            return;
        };
        self.later.forget(place);
        let now = self.now();
        for direction in Direction::BOTH {
            if pair.holds(direction) {
                self.tally.holds(now, direction, false);
            }
        }
        if !pair.is_sent() {
            self.tally.counts.unfinished.fetch_sub(1, Ordering::Relaxed);
        }
        if how == "reset" {
            Counts::add(&self.tally.counts.reset, 1);
        }
        self.list(&pair, how);
        if how != "closed" {
            pair.reset();
        }
        self.gone.push(place);
        self.open -= 1;
        self.count_open(now);
    }

    fn list(&mut self, pair: &Pair, how: &'static str) {
        if let Some(tcp) = pair.tcp() {
            let micros = |time: Time| time.as_nanos() / 1_000;
            let counts = &self.tally.counts;
            Counts::add(&counts.busy, micros(tcp.busy));
            Counts::add(&counts.window_limited, micros(tcp.receive_window_limited));
            Counts::add(&counts.retransmitted, tcp.retransmitted);
        }
        if self.closed.len() < MOST_LISTED {
            let now = self.now().as_nanos();
            self.closed.push(pair.report(now, how));
        }
    }

    fn count_open(&mut self, now: Time) {
        self.tally.opens(now, self.open + self.exchanges.len());
    }
}

/// Whether there is room for one connection more.
fn has_room(open: usize, most: usize) -> bool {
    open < most
}

/// Resets a connection that is not begun.
fn refuse(client: &OwnedFd, why: Refusal) -> Refusal {
    let _ = sockopt::set_socket_linger(client, Some(Duration::ZERO));
    why
}

/// Why a connection was not begun.
enum Refusal {
    Asked,
    Full,
    Forbidden,
    Unreachable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_connections_as_there_is_room_for_are_open_and_no_more() {
        let mut open = 0;
        while has_room(open, 16) {
            open += 1;
        }
        assert_eq!(open, 16);
        assert!(!has_room(17, 16) && !has_room(0, 0));
        assert!((16..=MOST_CONNECTIONS).contains(&room()));
    }
}
