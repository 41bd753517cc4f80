//! Everything between the hosts: the bottlenecks and their wires.

use quell_app::{Action, Recorded};
use quell_aqm::Departure;
use quell_aqm::impair::Counts;
use quell_aqm::marker::{Marker, Passage};
use quell_aqm::{Bottleneck, Discipline, Drop, MarkReason, Observer, QueueId};
use quell_measure::{Direction, FlowId, Hops};
use quell_tcp::Segment;
use quell_units::ParameterError;
use quell_units::{Rate, Time};

use crate::config::{DirectionConfig, Jitter, LinkChange, LinkConfig};
use crate::options::OptionStore;
use crate::packet::Packet;
use crate::sources::{MOST_SOURCES, Sources};
use crate::wakeup_delay::WakeupDelay;
use crate::wire::{Way, Wires, path_of};

/// Shows an observer a packet that a host sends, with its segment if it is one: the packet itself
/// does not carry the options.
pub type Announce<O> = fn(&mut O, &Packet, Option<&Segment>);

/// All links in both directions, and the sources of all events.
#[derive(Debug)]
pub(crate) struct Network<O> {
    announce: Option<Announce<O>>,
    /// Link by link, the forward direction and then the reverse one.
    pub(crate) paths: Vec<Path<O>>,
    pub(crate) wires: Wires,
    /// The path that packets of a group come to first, by direction and group.
    entries: [Vec<u16>; 2],
    pub(crate) sources: Sources,
    /// The first source that is a lane to hosts.
    first_lane: usize,
    timers: usize,
    /// The earliest timer of the hosts.
    timers_at: Time,
    /// The thread that wakes late for packets due at the ends of wires; `None` is never late.
    pub(crate) wakeup_delay: Option<WakeupDelay>,
    /// Room for the actions of an application, so that none is allocated each time.
    pub(crate) actions: Vec<Action>,
    /// Events that applications have recorded and nobody has taken.
    pub(crate) events: Vec<(FlowId, Recorded)>,
}

/// The meaning of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Bottleneck(usize),
    /// A lane that leads to another queue.
    Between(usize),
    Lane(usize),
    Timers,
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Path<O> {
    /// The markers, by group.
    markers: Vec<Option<Marker>>,
    passage: Option<Box<Passage>>,
    queue: Bottleneck<Packet, Discipline<Packet>, Collector<O>>,
    /// The way of packets behind the queue, by group.
    ways: Vec<Way>,
    /// The bottleneck as a source, and the time that it has there.
    source: usize,
    planned: Time,
    /// Whether packets are marked with values on their way to the queue.
    marks: bool,
}

/// Why there is no such network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Impossible {
    /// Too many different delays.
    Delays,
    /// The links of a group delay more than the group does.
    Path,
}

impl<O: Observer<Packet>> Network<O> {
    /// A network of `links`, with an observer for each direction of each. Of each group, by index: its one-way delay and where it
    /// goes.
    pub(crate) fn new(
        links: Vec<LinkConfig>,
        groups: &[(Time, Hops)],
        jitter: &Jitter,
        observers: Vec<O>,
    ) -> Result<Self, Impossible> {
        let delays: Vec<Time> = links.iter().map(|link| link.delay).collect();
        let count = 2 * links.len();
        let sides = links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let impairers = sides.map(|side| side.impairer.clone()).collect();
        let (wires, ways) =
            Wires::new(&delays, groups, jitter, impairers, count).ok_or(Impossible::Path)?;
        let (lanes, between) = wires.lanes();
        let timers = count + lanes;
        if timers >= MOST_SOURCES {
            return Err(Impossible::Delays);
        }
        let sides = links
            .into_iter()
            .flat_map(|link| [link.forward, link.reverse]);
        let paths = sides.zip(ways).zip(observers).enumerate();
        let mut paths: Vec<Path<O>> = paths
            .map(|(source, ((side, ways), observer))| Path::new(side, ways, observer, source))
            .collect();
        let mut sources = Sources::new(timers + 1);
        for path in &mut paths {
            path.plan(&mut sources);
        }
        let entries = Direction::BOTH.map(|direction| {
            let groups = groups.iter();
            let entries = groups.map(|(_, hops)| path_of(hops.entry(direction), direction) as u16);
            entries.collect()
        });
        Ok(Self {
            announce: None,
            paths,
            wires,
            entries,
            sources,
            first_lane: count + between,
            timers,
            timers_at: Time::MAX,
            wakeup_delay: None,
            actions: Vec::new(),
            events: Vec::new(),
        })
    }

    /// When the next event happens, and where.
    #[inline]
    pub(crate) fn next(&self) -> (Time, Source) {
        let (at, source) = self.sources.first();
        let source = match source {
            lane if lane >= self.first_lane && lane < self.timers => Source::Lane(lane),
            timers if timers == self.timers => Source::Timers,
            path if path < self.paths.len() => Source::Bottleneck(path),
            lane => Source::Between(lane),
        };
        (at, source)
    }

    /// The earliest timer of the hosts.
    #[inline]
    pub(crate) fn set_timers(&mut self, at: Time) {
        if at != self.timers_at {
            self.timers_at = at;
            self.sources.set(self.timers, at);
        }
    }

    pub(crate) fn set_announce(&mut self, announce: Announce<O>) {
        self.announce = Some(announce);
    }

    /// A host has made `packet`, from `segment` if it is one; it arrives in its own time.
    #[inline]
    pub(crate) fn announce(&mut self, packet: &Packet, segment: Option<&Segment>) {
        if let Some(announce) = self.announce {
            // Copies, so that the originals need not lie in memory if nobody asks for them.
            self.announce_copy(announce, *packet, segment.copied());
        }
    }
    #[cold]
    fn announce_copy(&mut self, announce: Announce<O>, packet: Packet, segment: Option<Segment>) {
        let path = &mut self.paths
            [usize::from(self.entries[packet.direction().index()][packet.group_index()])];
        announce(path.observer_mut(), &packet, segment.as_ref());
    }

    /// A host sends `packet` at `now`.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet, now: Time) {
        let entry = self.entries[packet.direction().index()][packet.group_index()];
        let path = &mut self.paths[usize::from(entry)];
        path.arrive(packet, now, &mut self.wires, &mut self.sources);
    }

    /// The first packet of a lane between queues arrives at the next one.
    #[inline(never)]
    pub(crate) fn pass_on(&mut self, lane: usize, now: Time) {
        let Some(to) = self.wires.to(lane) else {
            return;
        };
        if let Some(packet) = self.wires.pop(lane, now, &mut self.sources) {
            self.paths[to].arrive(packet, now, &mut self.wires, &mut self.sources);
        }
    }

    /// Lets everything happen that is due at a bottleneck.
    #[inline]
    pub(crate) fn advance(&mut self, path: usize, now: Time) {
        self.paths[path].advance(now, &mut self.wires, &mut self.sources);
    }

    /// The first packet of a lane has come to the end of its wire at `now`; `None` if it has to wait
    /// until the link's thread wakes.
    #[inline]
    pub(crate) fn release(&mut self, lane: usize, now: Time) -> Option<Packet> {
        if let Some(wakeup_delay) = &mut self.wakeup_delay {
            let wakes = wakeup_delay.wake(now);
            if wakes > now {
                self.sources.set(lane, wakes);
                return None;
            }
        }
        self.wires.pop(lane, now, &mut self.sources)
    }

    /// The packet of a lane that has a number of `others` in front of it.
    #[inline]
    pub(crate) fn behind(&self, lane: usize, others: usize) -> Option<&Packet> {
        self.wires.behind(lane, others)
    }

    /// Packets that were lost, copied and damaged on those wires, ever, and the observer, by path.
    pub(crate) fn impaired(&mut self) -> impl Iterator<Item = (Counts, &mut O)> {
        let wires = &self.wires;
        let paths = self.paths.iter_mut().enumerate();
        paths.map(|(index, path)| (wires.impaired(index), path.observer_mut()))
    }

    /// Gives back the options of packets that were dropped or lost, and makes the copies of others.
    #[inline]
    pub(crate) fn settle(&mut self, options: &mut OptionStore) {
        self.wires.settle(options, &mut self.sources);
    }

    /// Packets on the wires behind the queue of a path.
    pub(crate) fn on_wires(&self, path: usize) -> usize {
        self.wires.len(path)
    }

    pub(crate) fn change(&mut self, change: &LinkChange, at: Time) -> Result<(), ParameterError> {
        let (hop, direction) = change.side();
        let path = &mut self.paths[path_of(hop, direction)];
        path.change(change, at, &mut self.wires, &mut self.sources)
    }
}

impl<O: Observer<Packet>> Path<O> {
    fn new(side: DirectionConfig, ways: Vec<Way>, observer: O, source: usize) -> Self {
        let collector = Collector {
            observer,
            dropped: Vec::new(),
        };
        Self {
            marks: side.passage.is_some() || side.markers.iter().any(Option::is_some),
            planned: Time::MAX,
            markers: side.markers,
            passage: side.passage.map(Box::new),
            queue: Bottleneck::new(side.discipline, side.rate, side.framing, collector)
                .with_service(side.service),
            ways,
            source,
        }
    }

    #[inline]
    fn plan(&mut self, sources: &mut Sources) {
        let next = self.queue.next_event().unwrap_or(Time::MAX);
        if next != self.planned {
            self.planned = next;
            sources.set(self.source, next);
        }
    }

    #[inline]
    fn arrive(&mut self, mut packet: Packet, now: Time, wires: &mut Wires, sources: &mut Sources) {
        if self.marks {
            self.mark(&mut packet, now);
        }
        let ways = &self.ways;
        let sink = &mut |packet: Packet, departure: Departure| {
            wires.push(packet, ways[packet.group_index()], departure, sources);
        };
        self.queue.arrive(packet, now, sink);
        self.report(wires, now);
        self.plan(sources);
    }

    #[inline]
    fn advance(&mut self, now: Time, wires: &mut Wires, sources: &mut Sources) {
        let ways = &self.ways;
        let sink = &mut |packet: Packet, departure: Departure| {
            wires.push(packet, ways[packet.group_index()], departure, sources);
        };
        self.queue.advance(now, sink);
        self.report(wires, now);
        self.plan(sources);
    }

    #[inline(never)]
    fn mark(&mut self, packet: &mut Packet, now: Time) {
        let group = packet.group_index();
        if let Some(Some(marker)) = self.markers.get_mut(group) {
            marker.mark(packet, now);
        }
        if let Some(passage) = &mut self.passage {
            passage.mark(packet, group, now);
        }
    }

    /// Shows the observer the waiting times of packets that start their last transmission of several, and leaves the options of dropped
    /// packets with those of lost ones.
    #[inline]
    fn report(&mut self, wires: &mut Wires, now: Time) {
        while let Some((packet, waited)) = wires.waited() {
            self.observer_mut().crossed(&packet, waited, now);
        }
        let dropped = &mut self.queue.observer_mut().dropped;
        if !dropped.is_empty() {
            wires.lose(dropped);
        }
    }

    fn change(
        &mut self,
        change: &LinkChange,
        at: Time,
        wires: &mut Wires,
        sources: &mut Sources,
    ) -> Result<(), ParameterError> {
        let ways = &self.ways;
        let sink = &mut |packet: Packet, departure: Departure| {
            wires.push(packet, ways[packet.group_index()], departure, sources);
        };
        let done = match change {
            LinkChange::Rate { rate, .. } => {
                self.queue.set_rate(*rate, at, sink);
                Ok(())
            }
            LinkChange::Queue { key, value, .. } => self.queue.configure(key, value, at, sink),
            LinkChange::Impair { impairment, .. } => {
                self.queue.advance(at, sink);
                wires.impair(self.source, (**impairment).clone());
                Ok(())
            }
            LinkChange::Delay { group, delay, .. } => {
                self.queue.advance(at, sink);
                if let Some(way) = self.ways.get(group.index()) {
                    wires.set_delay(*way, group.index(), *delay);
                }
                Ok(())
            }
        };
        self.report(wires, at);
        self.plan(sources);
        done
    }

    /// Packets in the queue, without the one in service.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.backlog().packets
    }
    pub(crate) fn rate(&self) -> Rate {
        self.queue.rate()
    }
    pub(crate) fn discipline(&self) -> &Discipline<Packet> {
        self.queue.qdisc()
    }
    pub(crate) fn observer(&self) -> &O {
        &self.queue.observer().observer
    }
    pub(crate) fn observer_mut(&mut self) -> &mut O {
        &mut self.queue.observer_mut().observer
    }
}

/// The caller's observer, and the options of dropped packets.
#[derive(Debug)]
struct Collector<O> {
    observer: O,
    /// Places of their options.
    dropped: Vec<u32>,
}

impl<O: Observer<Packet>> Observer<Packet> for Collector<O> {
    #[inline]
    fn enqueued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.observer.enqueued(queue, packet, now);
    }
    #[inline]
    fn dequeued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.observer.dequeued(queue, packet, now);
    }
    #[inline]
    fn passed(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.observer.passed(queue, packet, now);
    }
    #[inline]
    fn marked(&mut self, queue: QueueId, packet: &Packet, reason: MarkReason, now: Time) {
        self.observer.marked(queue, packet, reason, now);
    }
    #[inline]
    fn dropped(&mut self, packet: Packet, drop: Drop, now: Time) {
        if packet.options() != OptionStore::NONE {
            self.dropped.push(packet.options());
        }
        self.observer.dropped(packet, drop, now);
    }
    #[inline]
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        self.observer.departed(packet, departure);
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.observer.rate_changed(rate, now);
    }
}
