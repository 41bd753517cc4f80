//! One direction through several links in a row: a [`Path`] for each.
//!
//! A packet that leaves a queue arrives at the next one at the end of its transmission plus the link's delay: at that logical time, so
//! no stamp is taken in between and lateness does not add up. [`Chain::decide`] goes along the links: once everything up to a
//! time has happened at one of them, everything that arrives at the next one by then is known. At the same instant packets from the
//! link before arrive first, then those from outside.
//!
//! A packet's value goes along beside the packet, or in its header alone where the link before writes it there ([`HeaderValues`]).
//!
//! [`HeaderValues`]: super::header_values::HeaderValues
//!
//! A single link is only its [`Path`].

use quell_aqm::impair::{Counts, Fate};
use quell_aqm::{Discipline, Observer};
use quell_measure::{Direction, Hop, Hops};
use quell_units::{Bytes, ParameterError, Random, Rate, Time};

use super::{Onward, Path};
use crate::config::{DirectionConfig, LinkChange};
use crate::frames::{Descriptor, FrameId, Pool};
use crate::report::WireValues;

/// A link of a chain in one direction.
#[derive(Debug)]
pub(crate) struct Member<O> {
    pub(crate) config: DirectionConfig,
    /// The delay from here to the next link of a packet's way.
    pub(crate) delay: Time,
    /// Changes of this link in this direction.
    pub(crate) changes: Vec<(Time, LinkChange)>,
    pub(crate) observer: O,
}

/// All links in one direction.
#[derive(Debug)]
pub(crate) struct Chain<O> {
    direction: Direction,
    /// The paths in the order in which packets cross them.
    paths: Vec<Path<O>>,
    /// The path that packets of a group come to first.
    entries: Vec<usize>,
}

/// Random times that packets wait behind the delays of groups.
pub(crate) struct Spans<'a> {
    /// The longest of each group.
    pub(crate) spans: &'a [Time],
    pub(crate) seed: u64,
}

impl<O: Observer<Descriptor>> Chain<O> {
    /// A chain of `members`, which are in forward order. Each of `groups` has its one-way delay, which includes those of the links, and its path.
    pub(crate) fn new(
        direction: Direction,
        mut members: Vec<Member<O>>,
        groups: &[(Time, Hops)],
        noise: &Spans<'_>,
    ) -> Self {
        let links: Vec<Time> = members.iter().map(|member| member.delay).collect();
        let count = members.len();
        if direction == Direction::Reverse {
            members.reverse();
        }
        // The place of a link in the order in which packets cross it.
        let place = |hop: Hop| match direction {
            Direction::Forward => hop.index(),
            Direction::Reverse => count - 1 - hop.index(),
        };
        let ways: Vec<(Time, usize, usize)> = groups
            .iter()
            .map(|&(delay, hops)| {
                let (first, last) = (hops.entry(direction), hops.exit(direction));
                let between = hops.iter().filter(|hop| *hop != last);
                let between = between.map(|hop| links[hop.index()]);
                let rest = between.fold(delay, |rest, link| rest - link);
                (rest, place(first), place(last))
            })
            .collect();
        let delays: Vec<Time> = ways.iter().map(|(rest, ..)| *rest).collect();
        let member = |(place_here, member): (usize, Member<O>)| {
            // It is its own inverse.
            let hop = place(Hop(place_here as u16));
            let random = |lane| {
                let component = match place_here + 1 == count {
                    true => format!("noise.{}.{lane}", direction.index()),
                    false => format!("noise.{}.{hop}.{lane}", direction.index()),
                };
                Random::new(noise.seed, &component)
            };
            let mut path = Path::new(member.config, &delays, member.changes, member.observer)
                .with_noise(&delays, noise.spans, random);
            if count > 1 {
                path.goes_on(Onward::new(place_here, count, member.delay, &ways));
            }
            path
        };
        let has_rules = members.iter().any(|one| one.config.impairer.has_rules());
        let mut paths: Vec<Path<O>> = members.into_iter().enumerate().map(member).collect();
        for path in &mut paths {
            path.header_values.looks |= has_rules;
        }
        if count > 1 {
            // From a queue on there are the delays of the links that follow, and what is left at the end.
            let delay_of = |at: usize| match direction {
                Direction::Forward => links[at],
                Direction::Reverse => links[count - 1 - at],
            };
            for (at, path) in paths.iter_mut().enumerate() {
                let here = ways
                    .iter()
                    .filter(|(_, first, last)| (*first..=*last).contains(&at));
                let left = here.map(|&(rest, _, last)| {
                    (at..last)
                        .map(delay_of)
                        .fold(rest, |sum, delay| sum + delay)
                });
                path.set_least_delay(left.min().unwrap_or(Time::ZERO));
            }
        }
        let mut chain = Self {
            direction,
            paths,
            entries: ways.iter().map(|(_, first, _)| *first).collect(),
        };
        let planned = chain.paths.iter().map(Path::least_planned).min();
        chain.may_be_delayed_by(planned.unwrap_or(Time::MAX));
        chain
    }

    /// A group is delayed by no more than this behind its last queue, from some time on.
    fn may_be_delayed_by(&mut self, delay: Time) {
        for path in &mut self.paths {
            path.may_be_delayed_by(delay);
        }
    }

    fn entry(&self, group: Option<u16>) -> usize {
        let entry = group.and_then(|group| self.entries.get(usize::from(group)));
        entry.copied().unwrap_or(0)
    }

    fn at(&self, hop: Hop) -> &Path<O> {
        match self.direction {
            Direction::Forward => &self.paths[hop.index()],
            Direction::Reverse => &self.paths[self.paths.len() - 1 - hop.index()],
        }
    }

    fn at_mut(&mut self, hop: Hop) -> &mut Path<O> {
        match self.direction {
            Direction::Forward => &mut self.paths[hop.index()],
            Direction::Reverse => {
                let last = self.paths.len() - 1;
                &mut self.paths[last - hop.index()]
            }
        }
    }

    /// `packet` arrived `at`, not before the one before it.
    pub(crate) fn arrive(
        &mut self,
        mut packet: Descriptor,
        at: Time,
        pool: &mut Pool,
    ) -> Result<(), ParameterError> {
        let entry = self.entry(packet.group());
        if self.paths.len() > 1 {
            self.decide_until(entry, at, pool)?;
        }
        let path = &mut self.paths[entry];
        path.header_values.enters(&mut packet, pool);
        path.arrive(packet, at)?;
        path.touch_frames(pool);
        Ok(())
    }

    /// Lets everything happen that is due until `horizon`. Everything that arrives until then must have arrived.
    pub(crate) fn decide(&mut self, horizon: Time, pool: &mut Pool) -> Result<(), ParameterError> {
        self.decide_until(self.paths.len() - 1, horizon, pool)
    }

    /// Lets everything happen that is due until `horizon`, up to the path with this place.
    fn decide_until(
        &mut self,
        last: usize,
        horizon: Time,
        pool: &mut Pool,
    ) -> Result<(), ParameterError> {
        for at in 0..=last {
            if let [.., before, here] = &mut self.paths[..=at] {
                while let Some((arrival, mut packet, waited)) = before.pass_on(horizon) {
                    before
                        .header_values
                        .hand_over(&mut here.header_values, &mut packet, pool);
                    here.arrive_after(packet, arrival, waited)?;
                }
            }
            self.paths[at].decide(horizon)?;
            self.paths[at].touch_frames(pool);
        }
        Ok(())
    }

    /// The next packet whose release is due at `now`, with that time.
    pub(crate) fn release(&mut self, now: Time, pool: &mut Pool) -> Option<(Time, Descriptor)> {
        let path = match &mut self.paths[..] {
            [path] => path,
            paths => {
                let next = |path: &Path<O>| path.next_release().unwrap_or(Time::MAX);
                paths.iter_mut().min_by_key(|path| next(path))?
            }
        };
        let (at, packet) = path.release(now)?;
        path.header_values.leaves(&packet, pool);
        Some((at, packet))
    }
    /// When the next packet already decided on is released.
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.paths.iter().filter_map(Path::next_release).min()
    }
    /// When [`Chain::decide`] has to be called next so that no release is missed; `None` if nothing waits.
    pub(crate) fn decide_by(&self) -> Option<Time> {
        let queued = self.paths.iter().filter_map(Path::decide_by);
        // What is on its way to a queue is released that one's delays later.
        let on_way = self.paths.windows(2).filter_map(|pair| {
            let arrival = pair[0].next_passed_on()?;
            Some(arrival + pair[1].least_delay())
        });
        let too_long = self.paths.iter();
        let too_long = too_long.filter_map(|path| Some(path.behind.too_long.front()?.0));
        queued.chain(on_way).chain(too_long).min()
    }
    /// Plans one more change, after those of the same time. `at` is later than all that was decided.
    pub(crate) fn plan(&mut self, at: Time, change: LinkChange) {
        self.may_be_delayed_by(change.delay().unwrap_or(Time::MAX));
        self.at_mut(change.side().0).plan(at, change);
    }
    /// Slots of packets dropped since they were last asked for.
    pub(crate) fn dropped(&mut self) -> impl Iterator<Item = FrameId> + '_ {
        self.paths.iter_mut().flat_map(|path| path.dropped())
    }
    /// Slots of packets that were lost behind a queue since they were last asked for.
    pub(crate) fn lost(&mut self) -> impl Iterator<Item = FrameId> + '_ {
        self.paths.iter_mut().flat_map(|path| path.lost())
    }
    /// The next packet that was too long, and has left its queue by `until`: when, and what is not too long.
    pub(crate) fn too_long(&mut self, until: Time) -> Option<(Time, Descriptor, Bytes)> {
        let mut all = self.paths.iter_mut().map(|path| &mut path.behind.too_long);
        all.find_map(|all| all.pop_front_if(|(end, ..)| *end <= until))
    }
    /// `answer` to a packet of the other direction, which left a queue there at `end`: it crosses none here.
    pub(crate) fn answer(&mut self, answer: Descriptor, end: Time) {
        if let Some(path) = self.paths.last_mut() {
            let (group, fate) = (answer.group(), Fate::of(end));
            path.behind.delay_line.insert(answer, group, end, fate);
        }
    }
    /// Packets lost, copied and damaged behind the queues.
    pub(crate) fn impaired(&self) -> Counts {
        let paths = self.paths.iter().map(Path::impaired);
        paths.fold(Counts::default(), |sum, counts| sum.plus(&counts))
    }
    /// Packets lost, copied and damaged behind the queue of a link.
    pub(crate) fn impaired_at(&self, hop: Hop) -> Counts {
        self.at(hop).impaired()
    }
    /// Packet values in headers, by all links together.
    pub(crate) fn header_values(&self) -> WireValues {
        let links = self.paths.iter().map(|path| path.header_values.counts());
        links.fold(WireValues::default(), WireValues::plus)
    }
    /// Packet values in headers, by one link.
    pub(crate) fn header_values_at(&self, hop: Hop) -> WireValues {
        self.at(hop).header_values.counts()
    }
    /// Packets newly marked CE.
    pub(crate) fn marks(&self) -> u64 {
        self.paths.iter().map(Path::marks).sum()
    }
    /// Packets in the queues.
    pub(crate) fn queued(&self) -> u64 {
        self.paths.iter().map(Path::queued).sum()
    }
    /// Packets in service or in the delay lines.
    pub(crate) fn delayed(&self) -> u64 {
        self.paths.iter().map(Path::delayed).sum()
    }
    /// Whether nothing has to be decided unless something arrives.
    pub(crate) fn is_quiet(&self) -> bool {
        self.queued() == 0
            && self
                .paths
                .iter()
                .all(|path| path.next_passed_on().is_none())
    }
    /// Arrivals that came to be known after their time had been decided on; they count as having
    /// arrived at the end of what was decided.
    pub(crate) fn late_arrivals(&self) -> u64 {
        self.paths.iter().map(Path::late_arrivals).sum()
    }
    /// The discipline of a link.
    pub(crate) fn discipline(&self, hop: Hop) -> &Discipline<Descriptor> {
        self.at(hop).discipline()
    }
    /// The rate of a link.
    pub(crate) fn rate(&self, hop: Hop) -> Rate {
        self.at(hop).rate()
    }
    /// Everything until here has happened.
    pub(crate) fn decided(&self) -> Time {
        self.paths
            .iter()
            .map(Path::decided)
            .min()
            .unwrap_or(Time::ZERO)
    }
    /// The time of the latest event.
    pub(crate) fn latest_decided(&self) -> Time {
        let all = self.paths.iter().map(Path::decided);
        all.max().unwrap_or(Time::ZERO)
    }
    /// The caller's observer of a link.
    pub(crate) fn observer(&self, hop: Hop) -> &O {
        self.at(hop).observer()
    }
    /// The observer of `hop`, to change.
    pub(crate) fn observer_mut(&mut self, hop: Hop) -> &mut O {
        self.at_mut(hop).observer_mut()
    }
    /// The observer of the link that packets of a group come to first.
    pub(crate) fn observer_at_entry(&mut self, group: Option<u16>) -> &mut O {
        let entry = self.entry(group);
        self.paths[entry].observer_mut()
    }
    /// Gives the caller's observers back, in forward order.
    pub(crate) fn into_observers(mut self) -> Vec<O> {
        if self.direction == Direction::Reverse {
            self.paths.reverse();
        }
        self.paths.into_iter().map(Path::into_observer).collect()
    }
}
