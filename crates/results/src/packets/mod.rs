//! `packets.pcapng`, on request: every packet with its queue, its sojourn time and its fate.
//!
//! In each direction an observer next to the recorder reports to one [`Trace`] for both directions; the code is the same in the simulated
//! and the live world. Without a capture a world runs with its recorder only, so the feature then costs nothing.
//! `docs/reference/results.md` describes the file.

mod connections;
mod header;
mod output;
pub(crate) mod pcapng;
mod trace;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quell_aqm::{Departure, Drop, MarkReason, Observer, Qdisc as _, QueueId};
use quell_measure::{Direction, Hop, Recorder, Recording};
use quell_tcp::Segment;
use quell_units::{Random, Rate, Time};

use quell_scenario::{Carried, DirectionSpec, Group, Link, Scenario, Side, World, figures};

use crate::Error;
use connections::Connections;
use header::Header;
use output::{Direct, Output, Threaded};
pub use trace::Traceable;
use trace::{Next, Trace};

pub use connections::FIRST_PORT;
pub use output::PacketFile;
pub use pcapng::add_secrets;

/// The trace of a simulation.
pub type SimPackets = Packets<<quell_sim::Packet as Traceable>::Id>;
/// The trace of a live run.
pub type LivePackets = Packets<<quell_link::Descriptor as Traceable>::Id>;

/// A shared handle to the trace of a run.
#[derive(Debug)]
pub struct Packets<I> {
    trace: Arc<Mutex<Trace<I>>>,
    /// Connections of modelled hosts; `None` in the live world, where packets have their own headers.
    connections: Option<Arc<Mutex<Connections>>>,
    failed: Arc<AtomicBool>,
}

impl<I> Clone for Packets<I> {
    fn clone(&self) -> Self {
        Self {
            trace: self.trace.clone(),
            connections: self.connections.clone(),
            failed: self.failed.clone(),
        }
    }
}

impl<I: Copy + Ord> Packets<I> {
    /// For the simulator. It waits for the disk, and both directions share one clock.
    pub fn of_sim<P: Traceable<Id = I>>(scenario: &Scenario, seed: u64, file: PacketFile) -> Self {
        let failed = Arc::new(AtomicBool::new(false));
        let output = Direct::new(file, &preamble(scenario), failed.clone());
        let connections = Connections::new(scenario, seed);
        Self {
            connections: Some(Arc::new(Mutex::new(connections))),
            ..Self::new::<P>(scenario, true, Box::new(output), failed)
        }
    }

    /// For real packets. In the live world the link never waits, so a thread writes. In the virtual world the clock stops while anything
    /// runs, so the link itself writes: another thread would take turns with the senders and receivers, and move the clock.
    pub fn of_live<P: Traceable<Id = I>>(
        scenario: &Scenario,
        world: World,
        file: PacketFile,
    ) -> Result<Self, Error> {
        let failed = Arc::new(AtomicBool::new(false));
        let preamble = preamble(scenario);
        let output: Box<dyn Output> = match world {
            World::Virtual => Box::new(Direct::new(file, &preamble, failed.clone())),
            World::Sim | World::Live => Box::new(Threaded::start(file, preamble, failed.clone())?),
        };
        Ok(Self::new::<P>(scenario, false, output, failed))
    }

    fn new<P: Traceable<Id = I>>(
        scenario: &Scenario,
        one_time: bool,
        output: Box<dyn Output>,
        failed: Arc<AtomicBool>,
    ) -> Self {
        let sides = scenario.links().iter().flat_map(sides);
        let queues =
            sides.map(|(_, side)| figures::discipline::<P>(side, Random::new(0, "names")).queues());
        let groups = scenario.groups.iter().map(|group| group.name.clone());
        let next = next_lanes(scenario);
        let trace = Trace::new(queues, groups.collect(), next, one_time, output);
        Self {
            trace: Arc::new(Mutex::new(trace)),
            connections: None,
            failed,
        }
    }

    /// Whether writing has failed. Takes no lock.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The error of the file, if any; returned only once.
    pub fn failure(&self) -> Option<Error> {
        self.lock().output().failure()
    }

    /// Completes the file of a run that ended at `now`, and returns the number of packets missing in it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn finish(&self, now: Time) -> Result<u64, Error> {
        let mut trace = self.lock();
        trace.end(now);
        trace.output().finish()
    }

    fn lock(&self) -> MutexGuard<'_, Trace<I>> {
        lock(&self.trace)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half done that matters: the run then gives no result.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both directions of a link, in the order of their interfaces.
fn sides(link: &Link) -> [(Direction, &DirectionSpec); 2] {
    Direction::BOTH.map(|direction| (direction, link.direction(direction)))
}

/// pcapng interface number of one direction of one link.
fn interface(hop: Hop, direction: Direction) -> usize {
    2 * hop.index() + usize::from(direction == Direction::Reverse)
}

/// The interface that packets of a group come to next, by interface and group; empty where there is one link.
fn next_lanes(scenario: &Scenario) -> Vec<Vec<Option<Next>>> {
    if scenario.links().len() == 1 {
        return Vec::new();
    }
    let next = |side: Side, group: &Group| {
        let mut way: Vec<Hop> = group.path.iter().collect();
        if side.direction == Direction::Reverse {
            way.reverse();
        }
        let place = way.iter().position(|hop| *hop == side.hop)?;
        way.get(place + 1).map(|hop| Next {
            lane: interface(*hop, side.direction),
            in_headers: scenario.links[side.hop.index()].values == Carried::Header,
        })
    };
    let of_side = |side: Side| {
        let groups = scenario.groups.iter();
        groups.map(|group| next(side, group)).collect()
    };
    scenario.sides().map(of_side).collect()
}

/// Name of the interface: the direction, preceded by the link's name if there are several links.
fn interface_name(link: &str, links: usize, direction: Direction) -> String {
    match links {
        1 => direction.name().to_owned(),
        _ => format!("{link}.{}", direction.name()),
    }
}

/// Section header and interface descriptions.
fn preamble(scenario: &Scenario) -> Vec<u8> {
    let mut out = Vec::new();
    let comment = format!("scenario {}, seed {:?}", scenario.name, scenario.run.seeds);
    pcapng::section(&mut out, &comment);
    let links = scenario.links();
    for link in links {
        for (direction, side) in sides(link) {
            let name = interface_name(link.name(), links.len(), direction);
            let speed = (!side.rate.is_unlimited()).then(|| side.rate.as_bps());
            pcapng::interface(&mut out, &name, speed, side.queue.kind);
        }
    }
    out
}

/// An observer that measures, and traces where a trace is wanted.
#[derive(Debug)]
pub struct Traced<I> {
    recorder: Recorder,
    trace: Option<Lane<I>>,
}

/// The observer of a real link.
pub type LiveTraced = Traced<<quell_link::Descriptor as Traceable>::Id>;

/// The observer of a modelled one.
pub type SimTraced = Traced<<quell_sim::Packet as Traceable>::Id>;

/// The trace of one direction of one link.
#[derive(Debug)]
struct Lane<I> {
    packets: Packets<I>,
    /// [`interface`] of the recorder's queue.
    lane: usize,
}

impl<I: Copy + Ord> Traced<I> {
    /// Combines the recorder of one direction of one link with the trace, if there is one.
    pub fn new(recorder: Recorder, packets: Option<&Packets<I>>) -> Self {
        let lane = interface(recorder.hop(), recorder.direction());
        let trace = packets.cloned().map(|packets| Lane { packets, lane });
        Self { recorder, trace }
    }
    /// Tells the trace, if there is one.
    #[inline]
    fn trace(&self, tell: impl FnOnce(&mut Trace<I>, usize)) {
        if let Some(Lane { packets, lane }) = &self.trace {
            tell(&mut packets.lock(), *lane);
        }
    }
}

/// What [`quell_sim::Simulator::announce`] calls.
pub fn announce_modelled(
    traced: &mut SimTraced,
    packet: &quell_sim::Packet,
    segment: Option<&Segment>,
) {
    let lane = traced.trace.as_ref();
    let Some(connections) = lane.and_then(|lane| lane.packets.connections.as_ref()) else {
        return;
    };
    let connection = lock(connections).of(packet);
    let header = Header::modelled(packet, segment, &connection);
    traced.trace(|trace, lane| trace.announce(lane, packet.id(), header));
}

impl quell_link::Watching for LiveTraced {
    fn announced(&mut self, packet: &quell_link::Descriptor, bytes: &[u8]) {
        self.trace(|trace, lane| trace.announce(lane, packet.id(), Header::captured(bytes)));
    }
}

impl<I: Copy + Ord> Recording for Traced<I> {
    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
    fn decided(&mut self, now: Time) {
        self.trace(|trace, lane| trace.advance(lane, now));
        self.recorder.advance(now);
    }
}

impl<P: Traceable> Observer<P> for Traced<P::Id> {
    fn enqueued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.trace(|trace, lane| trace.enqueued(lane, queue, packet, now));
        self.recorder.on_enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.trace(|trace, lane| trace.dequeued(lane, packet, now));
        self.recorder.on_dequeued(queue, packet, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &P, reason: MarkReason, now: Time) {
        self.trace(|trace, lane| trace.marked(lane, packet, reason));
        self.recorder.on_marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
        self.trace(|trace, lane| trace.dropped(lane, &packet, &drop, now));
        self.recorder.on_dropped(&packet, &drop, now);
    }
    fn departed(&mut self, _packet: &P, departure: &Departure) {
        self.recorder.on_departed(departure);
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.recorder.on_rate(rate, now);
    }
    fn crossed(&mut self, packet: &P, waited: Time, now: Time) {
        self.recorder.on_crossed(packet, waited, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_called_by_its_direction_and_by_its_link_where_there_are_several() {
        let names = |links: &[&str]| -> Vec<String> {
            let of = |link| Direction::BOTH.map(|way| interface_name(link, links.len(), way));
            links.iter().copied().flat_map(of).collect()
        };
        assert_eq!(names(&["link"]), ["forward", "reverse"]);
        let two = names(&["wifi", "access"]);
        let expected = [
            "wifi.forward",
            "wifi.reverse",
            "access.forward",
            "access.reverse",
        ];
        assert_eq!(two, expected);
        assert_eq!(two[interface(Hop(1), Direction::Reverse)], "access.reverse");
    }
}
