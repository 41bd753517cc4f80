//! The event loop.
//!
//! Order at equal times: events of the bottlenecks (end of transmission, departure, update; link by link, forward
//! before reverse), then planned stops, changes and starts, then packets from the wires between links, then those from the wires to
//! hosts (forward before reverse, link by link, the smaller delay first), then timers in the order in which they were set. An
//! answer to a packet or timer follows at once, before the next event.

use std::iter::repeat;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_app::{App, Recorded, Report, Transport};
use quell_aqm::impair::Counts;
use quell_aqm::{Discipline, Observer};
use quell_measure::{Direction, FlowId, FlowSample, GroupId, Hop, Hops};
use quell_tcp::SenderStats;
use quell_units::{Random, Rate, Time};

use crate::config::{Config, Error, FlowConfig, LinkChange, TransportConfig};
use crate::flow::{End, Flow};
use crate::network::{Announce, Impossible, Network, Path, Source};
use crate::options::OptionStore;
use crate::packet::Packet;
use crate::session::{Session, World};
use crate::sources::HORIZON;
use crate::timers::Timers;
use crate::wakeup_delay::{Lateness, WakeupDelay};
use crate::wire::path_of;

/// Events between two looks at the request to stop.
const LOOK: u32 = 1 << 12;
/// Number of flows from which on their state does not fit the processor's near caches and is
/// prefetched.
const MANY_FLOWS: usize = 256;
/// Positions in a lane, behind the packet that arrives, of the packets for which state is prefetched.
const AHEAD: [usize; 3] = [0, 2, 5];
/// The most flows: two timers each.
const MOST_FLOWS: usize = 1 << 30;

/// Bytes that a flow takes before it has sent anything: its state, timers, start and stop. The most on any platform, which
/// is where pointers have 64 bits, so that estimates of memory are the same everywhere.
pub const FLOW_MEMORY: u64 = 3_520;

/// A simulation in progress.
#[derive(Debug)]
pub struct Simulator<O> {
    now: Time,
    network: Network<O>,
    flows: Vec<Member>,
    timers: Timers,
    options: OptionStore,
    plan: Vec<(Time, Planned)>,
    /// Number of entries of the plan that have been carried out.
    done: usize,
    events: u64,
}

/// A flow.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "plain flows are the many, and lie in one array"
)]
enum Member {
    /// A flow with one connection at a time, or with datagrams.
    Plain(Flow),
    Session(Box<Session<App>>),
}

impl Member {
    fn new(flow: FlowId, config: &FlowConfig) -> Self {
        match (&config.transport, config.app.session()) {
            (TransportConfig::Session(ends), Some(kind)) => {
                Self::Session(Box::new(Session::new(flow, config, kind, ends)))
            }
            _ => Self::Plain(Flow::new(flow, config)),
        }
    }
    fn is_up(&self) -> bool {
        match self {
            Self::Plain(flow) => flow.is_up(),
            Self::Session(session) => session.is_up(),
        }
    }
    fn sample(&self) -> FlowSample {
        match self {
            Self::Plain(flow) => flow.sample(),
            Self::Session(session) => session.sample(),
        }
    }
}

/// A planned event.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Planned {
    Stop(u32),
    Change(LinkChange),
    Start(u32),
}

impl<O: Observer<Packet>> Simulator<O> {
    /// A simulation at time zero. `observer` is called once for each direction of each link, forward before reverse.
    pub fn new(
        config: Config,
        mut observer: impl FnMut(Hop, Direction) -> O,
    ) -> Result<Self, Error> {
        check(&config)?;
        let count = config.links.len();
        let hops = (0..count as u16).map(Hop);
        let sides = hops.flat_map(|hop| Direction::BOTH.map(|direction| (hop, direction)));
        let observers = sides.map(|(hop, direction)| observer(hop, direction));
        let groups = groups(&config);
        let network = Network::new(config.links, &groups, &config.jitter, observers.collect());
        let network = network.map_err(|why| match why {
            Impossible::Delays => Error::TooManyDelays,
            // The check has found none.
            Impossible::Path => Error::Path(GroupId(0)),
        })?;
        let lives = config.flows.iter().map(|flow| (flow.start, flow.stop));
        let plan = plan(lives, config.changes);
        let flows = || config.flows.iter().zip(0..);
        Ok(Self {
            now: Time::ZERO,
            network,
            timers: Timers::new(2 * config.flows.len()),
            flows: flows()
                .map(|(flow, id)| Member::new(FlowId(id), flow))
                .collect(),
            options: OptionStore::of(count > 1),
            plan,
            done: 0,
            events: 0,
        })
    }

    /// Makes packets leave the wires late from now on, by times of this distribution drawn from `random`.
    pub fn set_lateness(&mut self, lateness: Lateness, random: Random) {
        self.network.wakeup_delay = Some(WakeupDelay::new(lateness, random));
    }

    /// Shows each packet that a host sends to the observer of its direction, before it is sent. The
    /// segment comes with it, if there is one, because a packet does not carry its options.
    pub fn announce(&mut self, announce: Announce<O>) {
        self.network.set_announce(announce);
    }

    /// Plans the future anew: when each flow starts and stops, by [`FlowId`], and the changes of links. The past
    /// stays as it was, whatever the plan contains.
    pub fn replan(&mut self, lives: &[(Time, Option<Time>)], changes: Vec<(Time, LinkChange)>) {
        self.plan = plan(lives.iter().copied(), changes);
        self.done = self.plan.partition_point(|(at, _)| *at < self.now);
    }

    /// Runs all events before `until`, but none at `until`. Ends soon after `stop` is set. Returns the
    /// time that has been reached.
    pub fn run(&mut self, until: Time, stop: &AtomicBool) -> Result<Time, Error> {
        loop {
            let planned = self.plan.get(self.done).map_or(Time::MAX, |(at, _)| *at);
            if !self.run_events(until.min(planned), stop) {
                return Ok(self.now);
            }
            if planned >= until {
                self.now = self.now.max(until);
                return Ok(self.now);
            }
            self.now = planned;
            let planned = self.plan[self.done].1.clone();
            self.done += 1;
            self.perform(planned)?;
        }
    }

    /// Returns `false` if it was stopped.
    fn run_events(&mut self, until: Time, stop: &AtomicBool) -> bool {
        let until = until.min(HORIZON);
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..LOOK {
                let (at, source) = self.network.next();
                if at >= until {
                    return true;
                }
                self.now = at;
                self.events += 1;
                self.step(source);
            }
        }
        false
    }

    #[inline]
    fn step(&mut self, source: Source) {
        match source {
            Source::Bottleneck(path) => self.network.advance(path, self.now),
            Source::Between(lane) => {
                // A copy goes right behind its original.
                self.network.settle(&mut self.options);
                self.network.pass_on(lane, self.now);
            }
            Source::Lane(lane) => self.release(lane),
            Source::Timers => self.ring(),
        }
    }

    #[inline]
    fn release(&mut self, lane: usize) {
        let Some(packet) = self.network.release(lane, self.now) else {
            return;
        };
        if self.flows.len() >= MANY_FLOWS {
            self.prefetch(lane);
        }
        let id = packet.flow_id().0;
        match &mut self.flows[id as usize] {
            Member::Plain(flow) => {
                let end = flow.receive(&packet, self.now, &mut self.network, &mut self.options);
                set_timer(&mut self.timers, flow, id, end, self.now);
                self.settled();
            }
            Member::Session(_) => self.at_session(id, |session, world| {
                session.receive(&packet, world);
            }),
        }
    }

    /// Something happens at a flow that is a session.
    fn at_session(&mut self, id: u32, act: impl FnOnce(&mut Session<App>, &mut World<'_, O>)) {
        if let Member::Session(session) = &mut self.flows[id as usize] {
            let mut world = World {
                now: self.now,
                network: &mut self.network,
                options: &mut self.options,
                timers: &mut self.timers,
            };
            act(session, &mut world);
        }
        self.settled();
    }

    /// Prefetches state for the packets that leave a lane next, in three steps of which each needs the
    /// one before.
    #[inline]
    fn prefetch(&self, lane: usize) {
        let [now, soon, later] = AHEAD.map(|others| self.network.behind(lane, others));
        let flow = |packet: &Packet| match &self.flows[packet.flow_id().index()] {
            Member::Plain(flow) => Some(flow),
            Member::Session(_) => None,
        };
        if let Some(packet) = later
            && let Some(flow) = flow(packet)
        {
            flow.prefetch();
            self.timers.prefetch(2 * packet.flow_id().0);
        }
        if let Some(packet) = soon
            && let Some(flow) = flow(packet)
        {
            flow.prefetch_end(packet.direction());
        }
        if let Some(packet) = now
            && let Some(flow) = flow(packet)
        {
            flow.prefetch_segments(packet.direction());
        }
    }

    fn ring(&mut self) {
        while let Some(timer) = self.timers.pop(self.now) {
            if let Some((id, place)) = self.timers.owner(timer) {
                self.at_session(id, |session, world| session.ring_connection(place, world));
                continue;
            }
            let id = timer / 2;
            let end = End::BOTH[timer as usize % 2];
            match &mut self.flows[id as usize] {
                Member::Plain(flow) => {
                    flow.ring(end, self.now, &mut self.network, &mut self.options);
                    set_timer(&mut self.timers, flow, id, end, self.now);
                    self.settled();
                }
                Member::Session(_) => self.at_session(id, |session, world| {
                    session.ring(end, world);
                }),
            }
        }
        self.network.set_timers(self.timers.next());
    }

    /// Follows up an event, once the timers are set.
    #[inline]
    fn settled(&mut self) {
        self.network.settle(&mut self.options);
        self.network.set_timers(self.timers.next());
    }

    fn perform(&mut self, planned: Planned) -> Result<(), Error> {
        match planned {
            Planned::Start(id) => {
                match &mut self.flows[id as usize] {
                    Member::Plain(flow) => {
                        flow.start(self.now, &mut self.network, &mut self.options);
                        // The receiver of most kinds only waits.
                        if flow.next_timer(End::Receiver) < Time::MAX {
                            set_timer(&mut self.timers, flow, id, End::Receiver, self.now);
                        }
                        set_timer(&mut self.timers, flow, id, End::Sender, self.now);
                        self.settled();
                    }
                    Member::Session(_) => self.at_session(id, Session::start),
                }
            }
            Planned::Stop(id) => match &mut self.flows[id as usize] {
                Member::Plain(flow) => {
                    flow.stop(self.now, &mut self.network, &mut self.options);
                    set_timer(&mut self.timers, flow, id, End::Sender, self.now);
                    self.settled();
                }
                Member::Session(_) => self.at_session(id, Session::stop),
            },
            Planned::Change(change) => self
                .network
                .change(&change, self.now)
                .map_err(Error::Change)?,
        }
        Ok(())
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Events so far. Each is a turn of the loop, which may handle several packets.
    pub fn events(&self) -> u64 {
        self.events
    }
    /// Measured values of a flow at the present time; `None` before its start.
    pub fn sample(&self, flow: FlowId) -> Option<FlowSample> {
        let flow = self.flows.get(flow.index())?;
        flow.is_up().then(|| flow.sample())
    }
    /// Report of a flow's application since the last call; `None` before its start.
    pub fn take_report(&mut self, flow: FlowId) -> Option<Report> {
        match self.flows.get_mut(flow.index())? {
            Member::Plain(flow) => flow.take_report(self.now),
            Member::Session(session) => session.take_report(self.now),
        }
    }
    /// Takes the events that applications have recorded since the last call, in their order.
    pub fn drain_events(&mut self) -> impl Iterator<Item = (FlowId, Recorded)> + '_ {
        self.network.events.drain(..)
    }
    /// Events that applications have begun and not ended, by flow.
    pub fn unfinished_events(&self) -> Vec<(FlowId, Recorded)> {
        let (mut events, mut records) = (Vec::new(), Vec::new());
        for (id, flow) in (0..).zip(&self.flows) {
            match flow {
                Member::Plain(flow) => flow.unfinished(&mut records),
                Member::Session(session) => session.unfinished(&mut records),
            }
            events.extend(records.drain(..).map(|event| (FlowId(id), event)));
        }
        events
    }
    /// Counters and state of a flow's TCP sender; `None` for datagrams.
    pub fn tcp(&self, flow: FlowId) -> Option<SenderStats> {
        match self.flows.get(flow.index())? {
            Member::Plain(flow) => flow.stats(),
            Member::Session(session) => Some(session.stats()),
        }
    }
    /// All observers, in the order in which they were made.
    pub fn observers_mut(&mut self) -> impl Iterator<Item = &mut O> {
        self.network.paths.iter_mut().map(Path::observer_mut)
    }

    /// The observer of a queue. Like the three below it panics where there is no such link.
    pub fn observer(&self, hop: Hop, direction: Direction) -> &O {
        self.path(hop, direction).observer()
    }
    /// The discipline of a queue.
    pub fn discipline(&self, hop: Hop, direction: Direction) -> &Discipline<Packet> {
        self.path(hop, direction).discipline()
    }
    /// The rate of a link in one direction.
    pub fn rate(&self, hop: Hop, direction: Direction) -> Rate {
        self.path(hop, direction).rate()
    }
    /// Packets that wait in a queue, and packets in service or on a wire behind it.
    pub fn in_flight(&self, hop: Hop, direction: Direction) -> (u64, u64) {
        let path = path_of(hop, direction);
        let queued = self.network.paths[path].queued();
        (queued, self.network.on_wires(path) as u64)
    }

    /// Packets lost, copied and damaged behind each queue since the start, in the order of [`Simulator::observers_mut`], and the observer.
    pub fn impaired(&mut self) -> impl Iterator<Item = (Counts, &mut O)> {
        self.network.impaired()
    }

    fn path(&self, hop: Hop, direction: Direction) -> &Path<O> {
        &self.network.paths[path_of(hop, direction)]
    }
}

/// The plan of a run: at equal times stops, then changes, then starts.
fn plan(
    lives: impl Iterator<Item = (Time, Option<Time>)> + Clone,
    changes: Vec<(Time, LinkChange)>,
) -> Vec<(Time, Planned)> {
    let lives = || lives.clone().zip(0..);
    let stops = lives().filter_map(|((_, stop), id)| Some((stop?, Planned::Stop(id))));
    let changes = changes
        .into_iter()
        .map(|(at, change)| (at, Planned::Change(change)));
    let starts = lives().map(|((start, _), id)| (start, Planned::Start(id)));
    let mut plan: Vec<_> = stops.chain(changes).chain(starts).collect();
    // Stable.
    plan.sort_by_key(|(at, _)| *at);
    plan
}

/// The most links.
const MOST_LINKS: usize = 64;

/// The one-way delay of each group, and where it goes.
fn groups(config: &Config) -> Vec<(Time, Hops)> {
    let all = Hops::all(config.links.len());
    let paths = config.paths.iter().copied().chain(repeat(all));
    config.delays.iter().copied().zip(paths).collect()
}

fn check(config: &Config) -> Result<(), Error> {
    let links = config.links.len();
    if links == 0 || links > MOST_LINKS {
        return Err(Error::Links);
    }
    for (index, (delay, hops)) in (0..).zip(groups(config)) {
        let is_there = hops.first <= hops.last && hops.last.index() < links;
        let delays = || config.links[hops.first.index()..=hops.last.index()].iter();
        if !is_there || delays().fold(Time::ZERO, |sum, link| sum + link.delay) > delay {
            return Err(Error::Path(GroupId(index)));
        }
    }
    if config.flows.len() > MOST_FLOWS || config.delays.len() > usize::from(u16::MAX) {
        return Err(Error::TooManyFlows);
    }
    for flow in &config.flows {
        if flow.group.index() >= config.delays.len() {
            return Err(Error::NoSuchGroup(flow.group));
        }
        if flow.access.is_zero() {
            return Err(Error::NoAccess(flow.group));
        }
        let transport = match flow.transport {
            TransportConfig::Stream(_) | TransportConfig::Session(_) => Transport::Stream,
            TransportConfig::Datagrams(_) => Transport::Datagram,
        };
        let is_session = matches!(flow.transport, TransportConfig::Session(_));
        if flow.app.transport() != transport || flow.app.session().is_some() != is_session {
            return Err(Error::WrongTransport(flow.group));
        }
    }
    Ok(())
}

/// Sets the timer of an end at which something happened `now`.
#[inline]
fn set_timer(timers: &mut Timers, flow: &Flow, id: u32, end: End, now: Time) {
    // All that is due was done just now: a timer never rings twice at one instant.
    let at = flow.next_timer(end).max(now + Time::from_nanos(1));
    timers.set(2 * id + end as u32, at, now);
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_flow_is_what_it_takes_and_not_much_more() {
        let taken = Flow::MEMORY + 2 * Timers::MEMORY + 2 * size_of::<(Time, Planned)>();
        let taken = taken as u64;
        let range = taken..=taken + taken / 16;
        assert!(range.contains(&FLOW_MEMORY), "{taken}");
        const { assert!(Session::<App>::MEMORY <= Flow::MEMORY, "no more") };
    }
}
