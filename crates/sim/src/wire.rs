//! The wires behind the queues. Behind the last queue of its way each packet waits for what its group's constant delay leaves, and
//! for the host at the end of it, which takes a random time (see [`Jitter`]); behind any other for the delay of the
//! link, and arrives at the next queue.
//!
//! Packets of one delay and jitter leave a queue in the order in which they came, so each such pair is a plain first-in-first-out
//! lane whose head alone is a source of events. Lanes between queues come first, then those to hosts, the forward direction before
//! the reverse one, in the order of links and by ascending delay: at equal times the smaller delay goes first, as in the live world.

use std::collections::VecDeque;

use quell_aqm::Departure;
use quell_aqm::impair::{Counts, Fate, Impairer, Impairment};
use quell_measure::{Direction, Hop, Hops};
use quell_units::{Random, Time};

use crate::config::Jitter;
use crate::options::OptionStore;
use crate::packet::Packet;
use crate::sources::Sources;

/// The wires of all links.
#[derive(Debug)]
pub(crate) struct Wires {
    /// Lanes in the order of their sources.
    lanes: Vec<Lane>,
    /// Number of lanes from queue to queue; they are the first ones.
    between: usize,
    /// The source of the first lane.
    source: usize,
    /// What happens behind each queue, by path.
    impairers: Vec<Impairer>,
    /// Groups whose delay has changed.
    moved: Vec<Moved>,
    /// Places of the options of packets that were dropped or lost; [`OptionStore::NONE`] stands for a copy to be made.
    lost: Vec<u32>,
    /// Packets of which a copy is to be made, each with its lane.
    copies: Vec<(usize, Packet)>,
    /// Waiting times of packets that cross several queues.
    waits: Option<Waits>,
}

#[derive(Debug)]
struct Lane {
    delay: Time,
    /// The longest time that a host takes, in ns.
    jitter: u64,
    random: Random,
    /// Release time of the last packet.
    last: Time,
    packets: VecDeque<Packet>,
    /// The queue that it begins behind, as an index of a path.
    behind: usize,
    /// Packets may be lost, overtaken or damaged here, or the delay of a group has changed.
    is_impaired: bool,
    /// The queue that it leads to; `None` to hosts.
    to: Option<usize>,
}

/// The delay that a group has got at the end of its way.
#[derive(Debug)]
struct Moved {
    lane: u16,
    group: usize,
    delay: Time,
    /// The last release of a packet that was not held back.
    last: Time,
}

/// Sojourn times of packets that cross several queues.
#[derive(Debug, Default)]
struct Waits {
    /// Sojourn time in the previous queues, by the packet's place among the options.
    before: Vec<Time>,
    /// Packets that start their last transmission now, each with its sojourn time in all queues together.
    whole: Vec<(Packet, Time)>,
}

/// The way of a group's packets behind a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    lane: u16,
    place: Place,
}

/// The position of a queue among those that its group crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Only,
    First,
    Middle,
    Last,
}

/// The index of a path.
pub(crate) const fn path_of(hop: Hop, direction: Direction) -> usize {
    2 * hop.index() + direction.index()
}

impl Wires {
    /// The wires of `links`, which are given by their delays. Each of `groups` has its one-way delay and the links that it crosses. Sources
    /// are numbered from `source`. The second value lists, by path and group, where packets go behind the queue of the path. Returns `None`
    /// if a group crosses a link that does not exist, or its links delay more than the group.
    pub(crate) fn new(
        links: &[Time],
        groups: &[(Time, Hops)],
        jitter: &Jitter,
        impairers: Vec<Impairer>,
        source: usize,
    ) -> Option<(Self, Vec<Vec<Way>>)> {
        // Groups that do not pass a queue have no packets there.
        let nowhere = Way {
            lane: 0,
            place: Place::Only,
        };
        let mut layout = Layout {
            links,
            groups,
            lanes: Vec::new(),
            ways: vec![vec![nowhere; groups.len()]; 2 * links.len()],
        };
        let hops = || (0..links.len() as u16).map(Hop);
        for hop in hops() {
            for direction in Direction::BOTH {
                layout.add_lane_to_queue(hop, direction);
            }
        }
        let between = layout.lanes.len();
        for direction in Direction::BOTH {
            for hop in hops() {
                layout.add_lanes_to_hosts(hop, direction, jitter)?;
            }
        }
        let mut wires = Self {
            lanes: layout.lanes,
            between,
            source,
            impairers,
            moved: Vec::new(),
            lost: Vec::new(),
            copies: Vec::new(),
            waits: (links.len() > 1).then(Waits::default),
        };
        for path in 0..wires.impairers.len() {
            if wires.impairers[path].is_in_use() {
                wires.look_closely(path);
            }
        }
        Some((wires, layout.ways))
    }

    /// Impairs packets behind the queue of `path` like this from now on.
    pub(crate) fn impair(&mut self, path: usize, impairment: Impairment) {
        self.impairers[path].set(impairment);
        self.look_closely(path);
    }

    /// Looks at each packet behind the queue of `path`, and behind all others in its direction, to which damaged ones may come.
    fn look_closely(&mut self, path: usize) {
        let damages = self.impairers[path].damages();
        for lane in &mut self.lanes {
            if lane.behind == path || damages && lane.behind % 2 == path % 2 {
                lane.look_closely();
            }
        }
    }

    /// Delays packets of `group` behind the last queue of their `way` by `delay` from now on.
    pub(crate) fn set_delay(&mut self, way: Way, group: usize, delay: Time) {
        let lane = &mut self.lanes[usize::from(way.lane)];
        lane.look_closely();
        let mut moved = self.moved.iter_mut();
        match moved.find(|moved| (moved.lane, moved.group) == (way.lane, group)) {
            Some(moved) => moved.delay = delay,
            None => self.moved.push(Moved {
                lane: way.lane,
                group,
                delay,
                last: lane.last,
            }),
        }
    }

    /// Packets that were lost, copied and damaged behind the queue of `path`, ever.
    pub(crate) fn impaired(&self, path: usize) -> Counts {
        self.impairers[path].counts()
    }

    /// Takes places of options that dropped packets leave behind.
    #[cold]
    pub(crate) fn lose(&mut self, dropped: &mut Vec<u32>) {
        self.lost.append(dropped);
    }

    /// Gives back the options of packets that were dropped or lost, and makes the copies of others.
    #[inline]
    pub(crate) fn settle(&mut self, options: &mut OptionStore, sources: &mut Sources) {
        while let Some(place) = self.lost.pop() {
            if place == OptionStore::NONE {
                self.make_copies(options, sources);
            } else {
                options.take(place);
            }
        }
    }

    #[cold]
    fn make_copies(&mut self, options: &mut OptionStore, sources: &mut Sources) {
        for (index, mut packet) in std::mem::take(&mut self.copies) {
            let original = packet.options();
            packet.set_options(options.copy(original));
            if let Some(waits) = &mut self.waits {
                waits.copy(original, packet.options());
            }
            self.insert(index, packet, sources);
        }
    }

    /// The number of lanes, and the number of those from queue to queue.
    pub(crate) fn lanes(&self) -> (usize, usize) {
        (self.lanes.len(), self.between)
    }

    /// `packet` leaves a queue at the end of `departure`; these times never run backwards.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        packet: Packet,
        way: Way,
        departure: Departure,
        sources: &mut Sources,
    ) {
        if let (Some(waits), true) = (&mut self.waits, way.place != Place::Only) {
            waits.add(&packet, way.place, departure.start);
        }
        let index = usize::from(way.lane);
        let lane = &mut self.lanes[index];
        if lane.is_impaired {
            self.push_impaired(index, packet, departure, sources);
            return;
        }
        let mut release = departure.end + lane.delay;
        if lane.jitter > 0 {
            // Below 2³² ns, draws are finer than nanoseconds.
            let draw = u128::from(lane.random.u32());
            let later = Time::from_nanos(((draw * u128::from(lane.jitter)) >> 32) as u64);
            release = (release + later).max(lane.last);
            lane.last = release;
        }
        if lane.packets.is_empty() {
            sources.set(self.source + index, release);
        }
        // Set in its place: a copy of what was just written in parts makes the processor wait.
        lane.packets.push_back(packet);
        if let Some(packet) = lane.packets.back_mut() {
            packet.set_release(release);
        }
    }

    /// Does what [`push`](Self::push) does, on a lane where packets may be lost or overtaken.
    #[cold]
    fn push_impaired(
        &mut self,
        index: usize,
        mut packet: Packet,
        departure: Departure,
        sources: &mut Sources,
    ) {
        let lane = &mut self.lanes[index];
        let impairer = &mut self.impairers[lane.behind];
        impairer.start(departure.start);
        let end = departure.end;
        let may_delay = impairer.may_delay();
        let fate = match impairer.is_in_use() {
            true => packet.judged_by(|header| impairer.judge(end, header)),
            false => Some(Fate::of(end)),
        };
        let Some(fate) = fate else {
            self.lose_one(&packet);
            return;
        };
        let draw = u128::from(lane.random.u32());
        let later = Time::from_nanos(((draw * u128::from(lane.jitter)) >> 32) as u64);
        let after = |delay| (fate.at + delay + later - fate.early).max(end);
        let mut release = after(lane.delay);
        let of_packet = |moved: &&mut Moved| {
            (usize::from(moved.lane), moved.group) == (index, packet.group_index())
        };
        if let Some(moved) = self.moved.iter_mut().find(of_packet) {
            release = after(moved.delay);
            if !fate.is_held {
                release = release.max(moved.last);
                moved.last = release;
            }
        } else if !fate.is_held {
            if !may_delay {
                release = release.max(lane.last);
            }
            lane.last = lane.last.max(release);
        }
        packet.set_release(release);
        if fate.is_doubled {
            // A copy is whole, and there is none of a copy.
            self.copies.push((index, packet));
            self.lost.push(OptionStore::NONE);
        }
        if fate.damage.is_some() {
            packet.damage();
        }
        self.insert(index, packet, sources);
    }

    /// The packet does not go on.
    fn lose_one(&mut self, packet: &Packet) {
        if packet.options() != OptionStore::NONE {
            self.lost.push(packet.options());
        }
    }

    /// Puts a packet among those of a lane by its release. Of damaged ones none comes to a host.
    fn insert(&mut self, index: usize, packet: Packet, sources: &mut Sources) {
        let lane = &mut self.lanes[index];
        if packet.is_damaged() && lane.to.is_none() {
            self.lose_one(&packet);
            return;
        }
        let release = packet.release();
        // Few are overtaken, and those are near the end.
        let behind = lane.packets.iter().rev();
        let overtaken = behind.take_while(|other| other.release() > release).count();
        let place = lane.packets.len() - overtaken;
        lane.packets.insert(place, packet);
        if place == 0 {
            sources.set(self.source + index, release);
        }
    }

    /// A packet that has just started its last transmission of several, with its sojourn time in all queues together.
    #[inline]
    pub(crate) fn waited(&mut self) -> Option<(Packet, Time)> {
        self.waits.as_mut()?.whole.pop()
    }

    /// Takes the first packet of the lane that is `source`. The one behind it may be due already, if
    /// this one was late.
    #[inline(always)]
    pub(crate) fn pop(
        &mut self,
        source: usize,
        now: Time,
        sources: &mut Sources,
    ) -> Option<Packet> {
        let lane = &mut self.lanes[source - self.source];
        let packet = lane.packets.pop_front()?;
        let next = lane.packets.front().map_or(Time::MAX, Packet::release);
        sources.set(source, next.max(now));
        Some(packet)
    }

    /// The queue that the lane `source` leads to; `None` to hosts.
    pub(crate) fn to(&self, source: usize) -> Option<usize> {
        self.lanes[source - self.source].to
    }

    /// The packet of the lane `source` that has this number of `others` in front of it.
    #[inline]
    pub(crate) fn behind(&self, source: usize, others: usize) -> Option<&Packet> {
        self.lanes[source - self.source].packets.get(others)
    }

    /// Packets on the wires behind the queue of `path`.
    pub(crate) fn len(&self, path: usize) -> usize {
        let copies = self.copies.iter();
        let copies = copies.filter(|(lane, _)| self.lanes[*lane].behind == path);
        let lanes = self.lanes.iter().filter(|lane| lane.behind == path);
        lanes.map(|lane| lane.packets.len()).sum::<usize>() + copies.count()
    }
}

/// Lanes while they are numbered.
struct Layout<'a> {
    links: &'a [Time],
    groups: &'a [(Time, Hops)],
    lanes: Vec<Lane>,
    ways: Vec<Vec<Way>>,
}

impl Layout<'_> {
    /// Adds the lane from the queue of `hop` to the next one, if a group goes on there.
    fn add_lane_to_queue(&mut self, hop: Hop, direction: Direction) {
        let Some(to) = next(hop, direction, self.links.len()) else {
            return;
        };
        let path = path_of(hop, direction);
        let lane = self.lanes.len() as u16;
        let mut used = false;
        for ((_, hops), way) in self.groups.iter().zip(&mut self.ways[path]) {
            if hops.contain(hop) && hops.exit(direction) != hop {
                used = true;
                let place = match hops.entry(direction) == hop {
                    true => Place::First,
                    false => Place::Middle,
                };
                *way = Way { lane, place };
            }
        }
        if used {
            let delay = self.links[hop.index()];
            self.lanes.push(Lane::new(delay, path, Some(to)));
        }
    }

    /// Adds the lanes from the queue of `hop` to hosts: one for each delay and jitter.
    fn add_lanes_to_hosts(
        &mut self,
        hop: Hop,
        direction: Direction,
        jitter: &Jitter,
    ) -> Option<()> {
        let path = path_of(hop, direction);
        let side = direction.index();
        let ending = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, (_, hops))| hops.exit(direction) == hop)
            .map(|(index, &(delay, hops))| {
                let spans = &jitter.spans[side];
                let span = spans.get(index).copied().unwrap_or(Time::ZERO);
                let rest = rest_of(delay, hops, direction, self.links)?;
                Some((index, (rest, span), hops))
            })
            .collect::<Option<Vec<_>>>()?;
        let mut distinct: Vec<(Time, Time)> = ending.iter().map(|(_, lane, _)| *lane).collect();
        distinct.sort_unstable();
        distinct.dedup();
        for (index, lane, hops) in ending {
            let place = match hops.count() {
                1 => Place::Only,
                _ => Place::Last,
            };
            let lane = self.lanes.len() + distinct.partition_point(|other| *other < lane);
            self.ways[path][index] = Way {
                lane: lane as u16,
                place,
            };
        }
        let is_end = next(hop, direction, self.links.len()).is_none();
        for (index, &(delay, span)) in distinct.iter().enumerate() {
            let component = match is_end {
                true => format!("phase.{side}.{index}"),
                false => format!("phase.{side}.{}.{index}", hop.index()),
            };
            self.lanes.push(Lane {
                jitter: span.as_nanos(),
                random: Random::new(jitter.seed, &component),
                ..Lane::new(delay, path, None)
            });
        }
        Some(())
    }
}

impl Lane {
    /// Looks at each packet from now on. What is on its way was not held back.
    fn look_closely(&mut self) {
        if !self.is_impaired {
            let last = self.packets.back().map_or(Time::ZERO, Packet::release);
            self.last = self.last.max(last);
        }
        self.is_impaired = true;
    }

    fn new(delay: Time, behind: usize, to: Option<usize>) -> Self {
        Self {
            delay,
            jitter: 0,
            random: Random::new(0, "none"),
            last: Time::ZERO,
            packets: VecDeque::new(),
            behind,
            is_impaired: false,
            to,
        }
    }
}

impl Waits {
    /// A copy of the packet with the options `original` has waited as long.
    fn copy(&mut self, original: u32, copy: u32) {
        let before = self.before.get(original as usize).copied();
        let index = copy as usize;
        if self.before.len() <= index {
            self.before.resize(index + 1, Time::ZERO);
        }
        self.before[index] = before.unwrap_or(Time::ZERO);
    }

    /// `packet`, which still has the time of its arrival at the queue at this place of its way, leaves it at `start`.
    #[inline(never)]
    fn add(&mut self, packet: &Packet, place: Place, start: Time) {
        let here = start - quell_aqm::Packet::arrival(packet);
        let index = packet.options() as usize;
        if self.before.len() <= index {
            self.before.resize(index + 1, Time::ZERO);
        }
        let before = &mut self.before[index];
        match place {
            Place::First => *before = here,
            Place::Only | Place::Middle => *before += here,
            Place::Last => self.whole.push((*packet, *before + here)),
        }
    }
}

/// The path of the next link in this direction.
fn next(hop: Hop, direction: Direction, links: usize) -> Option<usize> {
    let next = match direction {
        Direction::Forward => Some(hop.0 + 1).filter(|next| usize::from(*next) < links),
        Direction::Reverse => hop.0.checked_sub(1),
    };
    next.map(|next| path_of(Hop(next), direction))
}

/// The rest of a group's one-way `delay` behind its last queue, once the links before have taken theirs.
fn rest_of(delay: Time, hops: Hops, direction: Direction, links: &[Time]) -> Option<Time> {
    let mut rest = delay;
    for hop in hops.iter().filter(|hop| *hop != hops.exit(direction)) {
        let link = *links.get(hop.index())?;
        if link > rest {
            return None;
        }
        rest = rest - link;
    }
    Some(rest)
}

#[cfg(test)]
mod tests;
