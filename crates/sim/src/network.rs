//! Everything between the hosts: a bottleneck and its wires in each direction.

use quell_app::{Action, Recorded};
use quell_aqm::Departure;
use quell_aqm::impair::Impairer;
use quell_aqm::marker::Marker;
use quell_aqm::{Bottleneck, Discipline, Drop, MarkReason, Observer, QueueId};
use quell_measure::FlowId;
use quell_tcp::Segment;
use quell_units::ParameterError;
use quell_units::{Random, Rate, Time};

use crate::config::{DirectionConfig, Jitter, LinkChange};
use crate::options::OptionStore;
use crate::packet::Packet;
use crate::sleeper::Sleeper;
use crate::sources::{MOST_SOURCES, Sources};
use crate::wire::Wires;

/// Shows an observer a packet that a host sends, with its segment if it is one: the packet itself
/// does not carry the options.
pub type Announce<O> = fn(&mut O, &Packet, Option<&Segment>);

/// Both directions, and the sources of all events.
#[derive(Debug)]
pub(crate) struct Network<O> {
    announce: Option<Announce<O>>,
    pub(crate) paths: [Path<O>; 2],
    pub(crate) sources: Sources,
    timers: usize,
    /// Wakes late for what is due at the ends of wires; `None` is never late.
    pub(crate) sleeper: Option<Sleeper>,
    /// Room for what an application asks for, so that none is allocated each time.
    pub(crate) actions: Vec<Action>,
    /// What applications have recorded and nobody has taken.
    pub(crate) events: Vec<(FlowId, Recorded)>,
}

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Bottleneck(usize),
    Lane(usize),
    Timers,
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Path<O> {
    /// By group.
    markers: Vec<Option<Marker>>,
    queue: Bottleneck<Packet, Discipline<Packet>, Collector<O>>,
    pub(crate) wires: Wires,
    /// The bottleneck as a source.
    source: usize,
}

impl<O: Observer<Packet>> Network<O> {
    /// `None` if there are too many different delays.
    pub(crate) fn new(
        sides: [DirectionConfig; 2],
        delays: &[Time],
        jitter: &Jitter,
        observers: [O; 2],
    ) -> Option<Self> {
        let [forward, reverse] = sides;
        let [observe_forward, observe_reverse] = observers;
        let wires = |path: usize, source| {
            let spans = &jitter.spans[path];
            let random = |lane| Random::new(jitter.seed, &format!("phase.{path}.{lane}"));
            Wires::new(delays, spans, random, source)
        };
        let forward = Path::new(forward, wires(0, 2), observe_forward, 0);
        let reverse_lanes = 2 + forward.wires.lanes();
        let reverse = Path::new(reverse, wires(1, reverse_lanes), observe_reverse, 1);
        let timers = reverse_lanes + reverse.wires.lanes();
        (timers < MOST_SOURCES).then(|| {
            let mut sources = Sources::new(timers + 1);
            for path in [&forward, &reverse] {
                path.plan(&mut sources);
            }
            Self {
                announce: None,
                paths: [forward, reverse],
                sources,
                timers,
                sleeper: None,
                actions: Vec::new(),
                events: Vec::new(),
            }
        })
    }

    /// When the next event happens, and where.
    #[inline]
    pub(crate) fn next(&self) -> (Time, Source) {
        let (at, source) = self.sources.first();
        let source = match source {
            0 | 1 => Source::Bottleneck(source),
            timers if timers == self.timers => Source::Timers,
            lane => Source::Lane(lane),
        };
        (at, source)
    }

    /// The earliest timer of the hosts.
    #[inline]
    pub(crate) fn set_timers(&mut self, at: Time) {
        self.sources.set(self.timers, at);
    }

    pub(crate) fn set_announce(&mut self, announce: Announce<O>) {
        self.announce = Some(announce);
    }

    /// A host has made `packet`, from `segment` if it is one; it arrives in its own time.
    #[inline]
    pub(crate) fn tell(&mut self, packet: &Packet, segment: Option<&Segment>) {
        if let Some(announce) = self.announce {
            // Copies, so that what is told to nobody need not lie in memory.
            self.announce_copy(announce, *packet, segment.copied());
        }
    }
    #[cold]
    fn announce_copy(&mut self, announce: Announce<O>, packet: Packet, segment: Option<Segment>) {
        let path = &mut self.paths[packet.direction().index()];
        announce(path.observer_mut(), &packet, segment.as_ref());
    }

    /// A host sends `packet` at `now`.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet, now: Time) {
        let path = &mut self.paths[packet.direction().index()];
        path.arrive(packet, now, &mut self.sources);
    }

    /// What is due at a bottleneck happens.
    #[inline]
    pub(crate) fn advance(&mut self, path: usize, now: Time) {
        self.paths[path].advance(now, &mut self.sources);
    }

    /// The first packet of a lane has come to the end of its wire at `now`; `None` if it has to wait
    /// until the link's thread wakes.
    #[inline]
    pub(crate) fn release(&mut self, lane: usize, now: Time) -> Option<Packet> {
        if let Some(sleeper) = &mut self.sleeper {
            let wakes = sleeper.wake(now);
            if wakes > now {
                self.sources.set(lane, wakes);
                return None;
            }
        }
        let path = self.path_of(lane);
        self.paths[path].wires.pop(lane, now, &mut self.sources)
    }

    #[inline]
    fn path_of(&self, lane: usize) -> usize {
        usize::from(lane >= 2 + self.paths[0].wires.lanes())
    }

    /// The packet of a lane that has so many `others` in front of it.
    #[inline]
    pub(crate) fn behind(&self, lane: usize, others: usize) -> Option<&Packet> {
        self.paths[self.path_of(lane)].wires.behind(lane, others)
    }

    pub(crate) fn change(&mut self, change: &LinkChange, at: Time) -> Result<(), ParameterError> {
        let path = &mut self.paths[change.direction().index()];
        path.change(change, at, &mut self.sources)
    }
}

impl<O: Observer<Packet>> Path<O> {
    fn new(side: DirectionConfig, wires: Wires, observer: O, source: usize) -> Self {
        let collector = Collector {
            observer,
            dropped: Vec::new(),
        };
        let impairer = side
            .impairment
            .map(|(impairment, random)| Impairer::new(impairment, random));
        Self {
            markers: side.markers,
            queue: Bottleneck::new(side.discipline, side.rate, side.framing, collector)
                .with_service(side.service),
            wires: wires.impaired(impairer),
            source,
        }
    }

    #[inline]
    fn plan(&self, sources: &mut Sources) {
        sources.set(self.source, self.queue.next_event().unwrap_or(Time::MAX));
    }

    #[inline]
    fn arrive(&mut self, mut packet: Packet, now: Time, sources: &mut Sources) {
        if let Some(Some(marker)) = self.markers.get_mut(packet.group_index()) {
            marker.mark(&mut packet, now);
        }
        let wires = &mut self.wires;
        let sink = &mut |packet, departure: Departure| wires.push(packet, departure, sources);
        self.queue.arrive(packet, now, sink);
        self.plan(sources);
    }

    #[inline]
    fn advance(&mut self, now: Time, sources: &mut Sources) {
        let wires = &mut self.wires;
        let sink = &mut |packet, departure: Departure| wires.push(packet, departure, sources);
        self.queue.advance(now, sink);
        self.plan(sources);
    }

    fn change(
        &mut self,
        change: &LinkChange,
        at: Time,
        sources: &mut Sources,
    ) -> Result<(), ParameterError> {
        let wires = &mut self.wires;
        let sink = &mut |packet, departure: Departure| wires.push(packet, departure, sources);
        let done = match change {
            LinkChange::Rate { rate, .. } => {
                self.queue.set_rate(*rate, at, sink);
                Ok(())
            }
            LinkChange::Queue { key, value, .. } => self.queue.configure(key, value, at, sink),
        };
        self.plan(sources);
        done
    }

    /// Gives back what dropped packets held.
    #[inline]
    pub(crate) fn free_dropped(&mut self, options: &mut OptionStore) {
        let dropped = &mut self.queue.observer_mut().dropped;
        while let Some(place) = dropped.pop() {
            options.take(place);
        }
        while let Some(place) = self.wires.take_lost() {
            options.take(place);
        }
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

/// The caller's observer, and what dropped packets leave behind.
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
