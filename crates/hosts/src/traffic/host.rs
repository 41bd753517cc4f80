//! One end host: a thread that serves all its flows from one wait, and sleeps whenever there is nothing to do.
//!
//! It never spins and never polls for progress: inside a machine with simulated time, time passes only while all threads wait.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use quell_units::{Bytes, Time};

use super::datagram::Incoming;
use super::end::{self, Context, End, Remains};
use super::error::TrafficError;
use super::poller::{self, Readiness, Token};
use super::report::{Sample, Told};
use super::run_end::RunEnd;
use super::shared::Addresses;
use super::socket;
use super::ticks::{Tick, Ticks};

/// Connections that are accepted from one listener in one turn.
const ACCEPTS_PER_TURN: usize = 64;

/// A host with all its sockets in place.
pub(super) struct Running {
    pub(super) context: Context,
    pub(super) ends: Vec<End>,
    pub(super) listeners: Vec<OwnedFd>,
    pub(super) ticks: Ticks,
    pub(super) interval: Time,
    pub(super) end: RunEnd,
    /// The end of the run, as far as this host knows it.
    pub(super) known_end: Time,
    /// Group and flow of each end.
    pub(super) names: Vec<(usize, usize)>,
    /// Ends whose last sample after the flow's end has been taken.
    pub(super) told: Vec<bool>,
    pub(super) last_boundary: Time,
    /// The tick for which all ends have read what had come, or at which none will have anything left to read.
    pub(super) caught_up: Option<Time>,
    /// How often the flows had been planned anew when this host heard of it last.
    pub(super) heard: u64,
}

/// So long before a tick the receivers of bulk data read what their sockets still hold: they are woken in large steps, and
/// the sample, which the other host may take, must not be late by one.
const BEFORE_TICK: Time = Time::from_micros(50);

/// The remains of a host. Dropping `sockets` closes what was still open. That waits until the other host has stopped, too, so
/// that neither takes the other's end for a failure.
pub(super) struct Left {
    pub(super) ends: Vec<Remains>,
    pub(super) receive_drops: u64,
    pub(super) ended: Time,
    /// Open until both hosts have stopped: a port that closes before the other host stops refuses what that still sends, and a
    /// listener the connections that it still opens.
    pub(super) sockets: (Vec<End>, Vec<end::Port>, Vec<OwnedFd>),
}

impl Running {
    /// Sets the timers of the flows that begin or end here.
    pub(super) fn set_timers(&mut self) {
        for end in &self.ends {
            end.set_alarms(&mut self.context.timers);
        }
    }

    /// Heeds what was planned anew, if anything was.
    fn heed_plan(&mut self) {
        let Some(lives) = self.context.shared.replanned(&mut self.heard) else {
            return;
        };
        for (end, &(start, stop)) in self.ends.iter_mut().zip(&*lives) {
            end.replan(&mut self.context.timers, start, stop);
        }
    }

    /// Serves the flows until the end of the run, or until the run is given up.
    pub(super) fn run(mut self) -> Result<Left, TrafficError> {
        let mut ready = Vec::new();
        let mut due = Vec::new();
        // A host that begins late has something to do at once.
        self.context.now();
        loop {
            if self.context.shared.is_abandoned() {
                break;
            }
            self.heed_end();
            // If nothing has read the clock, nothing is known to be due: the timer tells when something is.
            if let Some(now) = self.context.present.known() {
                self.context.timers.take_due(now, &mut due);
                for &(at, index, alarm) in &due {
                    self.ends[index].ring(&mut self.context, at, alarm);
                }
                self.catch_up(now);
                if let Some(tick) = self.ticks.take_due(now) {
                    self.tick(&tick);
                }
                if now >= self.known_end {
                    break;
                }
            }
            let until = self.context.present.instant(self.next_wake());
            self.context
                .poller
                .wait(until, &mut ready)
                .map_err(self.refused("wait for its sockets"))?;
            for &readiness in &ready {
                self.context.present.pass();
                self.serve(readiness)?;
            }
            if ready.iter().any(|ready| ready.token.is_for_the_host()) {
                self.context.now();
            }
        }
        Ok(self.leave())
    }

    /// The run may end earlier than planned. A boundary that this host has reached stays.
    fn heed_end(&mut self) {
        let end = self.end.at();
        if end < self.known_end {
            self.known_end = end;
            if end > self.last_boundary {
                self.ticks.end_at(end);
            }
        }
    }

    /// When there is something to do even without an event.
    fn next_wake(&self) -> Time {
        let tick = self.ticks.next();
        let tick = match self.caught_up {
            Some(done) if done == tick => tick,
            _ => tick - BEFORE_TICK,
        };
        self.context.timers.next().min(tick).min(self.known_end)
    }

    /// Shortly before a tick, once.
    fn catch_up(&mut self, now: Time) {
        let tick = self.ticks.next();
        if now + BEFORE_TICK >= tick && self.caught_up != Some(tick) {
            self.caught_up = Some(tick);
            for end in &mut self.ends {
                end.catch_up(&mut self.context);
            }
        }
    }

    fn serve(&mut self, readiness: Readiness) -> Result<(), TrafficError> {
        match readiness.token {
            Token::End(index) => self.ends[index].serve(&mut self.context, readiness),
            Token::Connection {
                end,
                slot,
                generation,
            } => {
                let context = &mut self.context;
                self.ends[end].serve_connection(context, slot, generation, readiness);
            }
            Token::Listener(index) => self.accept(index)?,
            Token::Port(index) => self.serve_port(index, readiness)?,
            // The loop looks whether it is to end, and what is due.
            Token::Waker => {
                poller::fall_asleep(self.context.shared.waker(self.context.host));
                self.heed_plan();
            }
            Token::Timer => {}
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Result<(), TrafficError> {
        for _ in 0..ACCEPTS_PER_TURN {
            let accepted = socket::accept(&self.listeners[listener])
                .map_err(self.refused("accept a connection"))?;
            let Some((connection, client)) = accepted else {
                break;
            };
            let server = socket::local_address(&connection)
                .map_err(self.refused("learn a connection's address"))?;
            let addresses = Addresses { client, server };
            if let Some(claimed) = self.context.shared.claim(addresses) {
                let end = &mut self.ends[claimed.flow];
                end.accepted(&mut self.context, connection, claimed.opening);
            }
        }
        Ok(())
    }

    fn serve_port(&mut self, index: usize, readiness: Readiness) -> Result<(), TrafficError> {
        let port = &mut self.context.ports[index];
        if readiness.writable && !port.blocked.is_empty() {
            let blocked = std::mem::take(&mut port.blocked);
            let changed = self.context.poller.change(
                &port.socket,
                readiness.token,
                super::poller::Interest::READ,
            );
            changed.map_err(self.refused("watch a socket"))?;
            for end in blocked {
                self.ends[end].unblock(&mut self.context);
            }
        }
        if readiness.readable {
            let mut arrived: Vec<Incoming> = Vec::new();
            let port = &self.context.ports[index];
            let taken = end::take(&port.socket, false, port.layout, &mut arrived);
            taken.map_err(self.refused("receive datagrams"))?;
            // Some may have been sent since this turn began.
            self.context.present.pass();
            for incoming in &arrived {
                let flow = incoming
                    .from
                    .and_then(|from| self.context.ports[index].flows.get(&from).copied());
                if let Some(flow) = flow {
                    self.ends[flow].deliver(&mut self.context, incoming);
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, tick: &Tick) {
        for &to in &tick.boundaries {
            for end in &mut self.ends {
                end.mark_boundary(&self.context, self.last_boundary, to);
            }
            self.last_boundary = to;
        }
        self.sample(!tick.boundaries.is_empty());
        self.hand_out_events();
        if tick.regular {
            for end in &mut self.ends {
                end.adapt(&self.context, self.interval);
            }
        }
        // Only adapting makes a reader late, so what is found here holds until the next tick.
        if !self.ends.iter().any(End::reads_late) {
            self.caught_up = Some(self.ticks.next());
        }
    }

    /// Hands out what applications have recorded since the last tick.
    fn hand_out_events(&mut self) {
        if self.context.events.is_empty() {
            return;
        }
        let mut listener = self.context.shared.listener();
        for (index, event) in self.context.events.drain(..) {
            let (group, flow) = self.names[index];
            listener(Told::Event { group, flow, event });
        }
    }

    /// Hands out a sample of each flow whose data comes from here.
    fn sample(&mut self, boundary: bool) {
        let mut listener = self.context.shared.listener();
        for (index, end) in self.ends.iter_mut().enumerate() {
            let ended = end.is_over();
            if !end.is_source() || !end.is_up() || (ended && self.told[index] && !boundary) {
                continue;
            }
            self.told[index] = ended;
            let tcp = end.refresh_tcp();
            let alive = tcp.filter(|_| end.is_connected());
            let (group, flow) = self.names[index];
            listener(Told::Sample(Sample {
                at: self.context.now(),
                group,
                flow,
                delivered: Bytes::new(
                    self.context.shared.flows[index]
                        .delivered
                        .load(Ordering::Relaxed),
                ),
                rtt: alive.and_then(|tcp| tcp.rtt),
                cwnd: alive.map(|tcp| tcp.cwnd),
                retransmitted: Some(tcp.map_or(0, |tcp| tcp.retransmitted)),
            }));
        }
    }

    fn leave(mut self) -> Left {
        self.context.present.pass();
        for end in &self.ends {
            end.record_unfinished(&mut self.context);
        }
        self.hand_out_events();
        let ports = self.context.ports.iter().map(|port| &port.socket);
        let own = self.ends.iter().filter_map(End::own_datagram_socket);
        let receive_drops = ports
            .chain(own)
            .filter_map(|socket| socket::receive_drops(socket).ok())
            .sum();
        Left {
            ends: self.ends.iter_mut().map(End::remains).collect(),
            receive_drops,
            ended: self.context.now(),
            sockets: (self.ends, self.context.ports, self.listeners),
        }
    }

    fn refused(&self, doing: &'static str) -> impl FnOnce(io::Error) -> TrafficError + use<> {
        let host = self.context.host;
        move |source| TrafficError::System {
            host,
            doing,
            source,
        }
    }
}
