//! One direction of the link without its sockets: queue, delay line, planned changes.
//!
//! No clock is read here: arrivals come with their times, and [`Path::decide`] is given the time up to
//! which all arrivals are known. Everything until then is replayed in the order of its own time, so the fate of every
//! packet depends on the arrivals alone and not on when, or how often, the caller comes.

pub(crate) mod chain;
mod collector;
mod delay_line;
mod header_values;

use std::collections::VecDeque;

use quell_aqm::impair::{Counts, Impairer, Impairment};
use quell_aqm::marker::{Marker, Passage};
use quell_aqm::{Bottleneck, Departure, Discipline, Observer};
use quell_units::{Bytes, ParameterError, Random, Rate, Time};

use crate::config::{DirectionConfig, LinkChange};
use crate::frames::{Descriptor, FrameId, Pool};
use collector::Collector;
use delay_line::DelayLine;
use header_values::HeaderValues;

type Queue<O> = Bottleneck<Descriptor, Discipline<Descriptor>, Collector<O>>;

/// One direction.
#[derive(Debug)]
pub(crate) struct Path<O> {
    /// The markers by group.
    markers: Vec<Option<Marker>>,
    passage: Option<Box<Passage>>,
    header_values: HeaderValues,
    queue: Queue<O>,
    behind: Behind,
    /// Changes in the order of their times.
    changes: VecDeque<(Time, LinkChange)>,
    /// The smallest delay of a group from here on.
    least_delay: Time,
    /// How much earlier than that a packet is at most, now or after a change that is planned.
    most_early: Time,
    /// Everything until here has happened.
    decided: Time,
    late_arrivals: u64,
}

impl<O: Observer<Descriptor>> Path<O> {
    /// An empty queue, behind it the delay of each group. `changes` are those of this direction.
    pub(crate) fn new(
        config: DirectionConfig,
        delays: &[Time],
        mut changes: Vec<(Time, LinkChange)>,
        observer: O,
    ) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        let planned = changes.iter().map(|(_, change)| change.most_early());
        Self {
            most_early: planned.fold(config.impairer.most_early(), Time::max),
            markers: config.markers,
            passage: config.passage.map(Box::new),
            header_values: HeaderValues::new(config.values),
            queue: Bottleneck::new(
                config.discipline,
                config.rate,
                config.framing,
                Collector::new(observer),
            )
            .with_service(config.service),
            behind: Behind {
                delay_line: DelayLine::new(delays),
                onward: None,
                is_impaired: config.impairer.is_in_use(),
                impairer: config.impairer,
                lost: Vec::new(),
                too_long: VecDeque::new(),
                damaged: Vec::new(),
                copies: Vec::new(),
            },
            changes: changes.into(),
            least_delay: delays.iter().copied().min().unwrap_or(Time::ZERO),
            decided: Time::ZERO,
            late_arrivals: 0,
        }
    }

    /// Adds random times that packets wait behind their delay: `noise` has the longest one of each group, drawn from
    /// `random` of their lane.
    pub(crate) fn with_noise(
        mut self,
        delays: &[Time],
        noise: &[Time],
        random: impl FnMut(usize) -> Random,
    ) -> Self {
        self.behind.delay_line = DelayLine::with_noise(delays, noise, random);
        self
    }

    /// Sends packets of some groups on to the next link from now on.
    fn goes_on(&mut self, onward: Onward) {
        self.queue.observer_mut().sum_up(onward.ends.clone());
        self.behind.onward = Some(onward);
    }
    fn set_least_delay(&mut self, delay: Time) {
        self.least_delay = delay;
    }
    /// The smallest delay that a change gives a group.
    fn least_planned(&self) -> Time {
        let planned = self.changes.iter();
        let planned = planned.filter_map(|(_, change)| change.delay());
        planned.min().unwrap_or(Time::MAX)
    }
    /// A group is delayed by no more than this from some time on.
    fn may_be_delayed_by(&mut self, delay: Time) {
        self.least_delay = self.least_delay.min(delay);
    }
    fn least_delay(&self) -> Time {
        self.least_delay - self.most_early
    }
    /// The next packet that has arrived at the next link by `until`, with its arrival and the time that it has waited in all queues so far.
    fn pass_on(&mut self, until: Time) -> Option<(Time, Descriptor, Time)> {
        let items = &mut self.behind.onward.as_mut()?.items;
        let (at, packet) = items.pop_front_if(|(at, _)| *at <= until)?;
        let waited = self.queue.observer().waited(packet.frame().id);
        Some((at, packet, waited))
    }
    /// The time at which the next packet arrives at the next link.
    fn next_passed_on(&self) -> Option<Time> {
        let items = &self.behind.onward.as_ref()?.items;
        items.front().map(|(at, _)| *at)
    }

    /// `packet` arrived `at`, not before the one before it.
    pub(crate) fn arrive(&mut self, packet: Descriptor, at: Time) -> Result<(), ParameterError> {
        self.arrive_after(packet, at, Time::ZERO)
    }

    /// A packet arrives that has `waited` in queues before.
    fn arrive_after(
        &mut self,
        mut packet: Descriptor,
        at: Time,
        waited: Time,
    ) -> Result<(), ParameterError> {
        if self.behind.onward.is_some() {
            let id = packet.frame().id;
            self.queue.observer_mut().has_waited(id, waited);
        }
        self.change_until(at)?;
        self.late_arrivals += u64::from(at < self.decided);
        self.decided = self.decided.max(at);
        if let Some(group) = packet.group()
            && let Some(Some(marker)) = self.markers.get_mut(usize::from(group))
        {
            marker.mark(&mut packet, at);
        }
        if let Some(passage) = &mut self.passage
            && let Some(group) = packet.group()
        {
            // Not `at`: a packet that came to be known late must not turn the networks' time back.
            passage.mark(&mut packet, usize::from(group), self.decided);
        }
        self.queue.arrive(packet, at, &mut into(&mut self.behind));
        Ok(())
    }

    /// Lets everything happen that is due until `horizon`. Everything that arrives until then must have arrived.
    pub(crate) fn decide(&mut self, horizon: Time) -> Result<(), ParameterError> {
        self.change_until(horizon)?;
        self.decided = self.decided.max(horizon);
        self.queue.advance(horizon, &mut into(&mut self.behind));
        Ok(())
    }

    /// Plans one more change, after those of the same time. `at` is later than all that was decided.
    pub(crate) fn plan(&mut self, at: Time, change: LinkChange) {
        self.most_early = self.most_early.max(change.most_early());
        let place = self.changes.partition_point(|(before, _)| *before <= at);
        self.changes.insert(place, (at, change));
    }

    /// Makes the changes that are due until `until`, each at its own time.
    fn change_until(&mut self, until: Time) -> Result<(), ParameterError> {
        while let Some((at, change)) = self.changes.pop_front_if(|(at, _)| *at <= until) {
            let mut sink = into(&mut self.behind);
            match change {
                LinkChange::SetRate { rate, .. } => self.queue.set_rate(rate, at, &mut sink),
                LinkChange::Configure { key, value, .. } => {
                    self.queue.configure(&key, &value, at, &mut sink)?
                }
                LinkChange::Impair { impairment, .. } => {
                    self.queue.advance(at, &mut sink);
                    drop(sink);
                    self.behind.impair(impairment);
                }
                LinkChange::SetDelay { group, delay, .. } => {
                    self.queue.advance(at, &mut sink);
                    drop(sink);
                    self.behind.set_delay(group, delay);
                }
            }
        }
        Ok(())
    }

    /// Damages packets and makes copies of others, as was decided since this was last called. Without a free slot there is no copy.
    #[inline]
    fn touch_frames(&mut self, pool: &mut Pool) {
        if self.behind.is_impaired {
            self.copy_and_damage(pool);
        }
    }

    #[cold]
    fn copy_and_damage(&mut self, pool: &mut Pool) {
        let behind = &mut self.behind;
        // A copy is whole.
        for (original, at) in behind.copies.drain(..) {
            let Some(copy) = original.in_slot_of_its_own(pool) else {
                behind.impairer.is_not_doubled();
                continue;
            };
            if behind.onward.is_some() {
                let waited = self.queue.observer().waited(original.frame().id);
                let id = copy.frame().id;
                self.queue.observer_mut().has_waited(id, waited);
            }
            let group = copy.group();
            match behind.onward.as_mut().filter(|onward| onward.takes(group)) {
                None => behind.delay_line.insert_copy(copy, group, at),
                Some(onward) => onward.insert_at(copy, at),
            }
        }
        for (packet, place, is_hidden) in behind.damaged.drain(..) {
            packet.damage(pool, place, is_hidden);
        }
    }

    /// The next packet whose release is due at `now`, with that time.
    pub(crate) fn release(&mut self, now: Time) -> Option<(Time, Descriptor)> {
        self.behind.delay_line.pop(now)
    }
    /// When the next packet already decided on is released.
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.behind.delay_line.next_release()
    }
    /// When [`Path::decide`] has to be called next so that no release is missed; `None` if nothing
    /// waits in the queue. A packet is released at least the smallest delay after its decision.
    pub(crate) fn decide_by(&self) -> Option<Time> {
        if self.queue.backlog().packets == 0 {
            return None;
        }
        let change = self.changes.front().map(|(at, _)| *at);
        let event = self.queue.next_event();
        let next = event.into_iter().chain(change).min()?;
        Some(next + self.least_delay())
    }
    /// Slots of packets dropped since they were last asked for.
    pub(crate) fn dropped(&mut self) -> std::vec::Drain<'_, FrameId> {
        self.queue.observer_mut().dropped()
    }
    /// Slots of packets that were lost behind the queue since they were last asked for.
    pub(crate) fn lost(&mut self) -> std::vec::Drain<'_, FrameId> {
        self.behind.lost.drain(..)
    }
    /// Packets lost, copied and damaged behind the queue.
    pub(crate) fn impaired(&self) -> Counts {
        self.behind.impairer.counts()
    }
    /// Packets newly marked CE.
    pub(crate) fn marks(&self) -> u64 {
        self.queue.observer().marks()
    }
    /// Packets in the queue.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.backlog().packets
    }
    /// Packets in service, in the delay line, or on the way to the next link.
    pub(crate) fn delayed(&self) -> u64 {
        let onward = self
            .behind
            .onward
            .as_ref()
            .map_or(0, |onward| onward.items.len());
        (self.behind.delay_line.len() + onward) as u64
    }
    /// Arrivals that came to be known after their time had been decided on; they count as having
    /// arrived at the end of what was decided.
    pub(crate) fn late_arrivals(&self) -> u64 {
        self.late_arrivals
    }
    /// The discipline.
    pub(crate) fn discipline(&self) -> &Discipline<Descriptor> {
        self.queue.qdisc()
    }
    /// The rate.
    pub(crate) fn rate(&self) -> Rate {
        self.queue.rate()
    }
    /// Everything until here has happened.
    pub(crate) fn decided(&self) -> Time {
        self.decided
    }
    /// The caller's observer.
    pub(crate) fn observer(&self) -> &O {
        self.queue.observer().observer()
    }
    /// The caller's observer, to change.
    pub(crate) fn observer_mut(&mut self) -> &mut O {
        self.queue.observer_mut().observer_mut()
    }
    /// Gives the caller's observer back.
    pub(crate) fn into_observer(self) -> O {
        self.queue.into_observer().into_observer()
    }
}

/// The part of a path behind the queue.
#[derive(Debug)]
struct Behind {
    delay_line: DelayLine<Descriptor>,
    /// The way to the next link, where there are several.
    onward: Option<Onward>,
    /// Whether the impairer decides on packets.
    is_impaired: bool,
    impairer: Impairer,
    /// Slots of packets that were lost.
    lost: Vec<FrameId>,
    /// Packets that were lost because they are too long, each with what is long enough, and the end of its transmission.
    too_long: VecDeque<(Time, Descriptor, Bytes)>,
    /// Packets that are still to be damaged, each with the place, and whether its checksum hides it.
    damaged: Vec<(Descriptor, u64, bool)>,
    /// Packets that are still to be copied, each with the release of the copy, or its arrival at the next link.
    copies: Vec<(Descriptor, Time)>,
}

impl Behind {
    /// Impairs packets like this from now on.
    fn impair(&mut self, impairment: Impairment) {
        if !self.is_impaired {
            self.delay_line.remember();
        }
        self.impairer.set(impairment);
        self.is_impaired = true;
    }

    /// Delays a group by `delay` from now on.
    fn set_delay(&mut self, group: Option<u16>, delay: Time) {
        if !self.is_impaired {
            self.delay_line.remember();
        }
        match group {
            Some(group) => self.delay_line.set_delay(group.into(), delay),
            None => {
                for group in 0..self.delay_line.groups() {
                    self.delay_line.set_delay(group, delay);
                }
            }
        }
    }

    /// Puts a packet that leaves the queue at `end` where it goes, if it is not lost.
    #[cold]
    fn judge(&mut self, mut packet: Descriptor, end: Time) {
        let (fate, fits) = packet.judged_by(|header| {
            let fate = self.impairer.judge(end, header);
            (fate, header.fits)
        });
        let Some(fate) = fate else {
            match fits {
                Some(fits) => self.too_long.push_back((end, packet, fits)),
                None => self.lost.push(packet.frame().id),
            }
            return;
        };
        let group = packet.group();
        let is_touched = fate.is_doubled || fate.damage.is_some() || fate.flip.is_some();
        let twin = is_touched.then(|| [packet.twin(), packet.twin()]);
        let onward = self.onward.as_mut().filter(|onward| onward.takes(group));
        let at = match onward {
            None => self.delay_line.insert(packet, group, end, fate),
            // Of several links none lets packets be early.
            Some(onward) => onward.insert(packet, fate.at),
        };
        let Some([copy, damaged]) = twin else {
            return;
        };
        if fate.is_doubled {
            self.copies.push((copy, at));
        }
        if let Some(place) = fate.damage.or(fate.flip) {
            self.damaged.push((damaged, place, fate.damage.is_none()));
        }
    }
}

/// Packets enter the delay line as they start, planned from their end; or the way to the next link.
fn into(behind: &mut Behind) -> impl FnMut(Descriptor, Departure) {
    |packet, departure| {
        let group = packet.group();
        if behind.is_impaired {
            behind.impairer.start(departure.start);
            behind.judge(packet, departure.end);
            return;
        }
        match behind.onward.as_mut().filter(|onward| onward.takes(group)) {
            None => behind.delay_line.push(packet, group, departure.end),
            Some(onward) => onward.push(packet, departure.end),
        }
    }
}

/// The way of packets that cross another queue behind this one.
#[derive(Debug)]
struct Onward {
    /// The delay from the end of transmission to the next link.
    delay: Time,
    /// Whether the group goes on, and whether this is the last of several queues of its way; both by group.
    goes_on: Vec<bool>,
    ends: Vec<bool>,
    /// There is no link behind this one.
    is_last: bool,
    /// Packets with their arrival there.
    items: VecDeque<(Time, Descriptor)>,
}

impl Onward {
    /// The way behind the link at `place` of `links`. `ways` has for each group the places of its first and last link.
    fn new(place: usize, links: usize, delay: Time, ways: &[(Time, usize, usize)]) -> Self {
        let of = |is: fn(usize, usize, usize) -> bool| {
            let ways = ways.iter();
            ways.map(|&(_, first, last)| is(place, first, last))
                .collect()
        };
        Self {
            delay,
            goes_on: of(|place, first, last| first <= place && place < last),
            ends: of(|place, first, last| first < place && place == last),
            is_last: place + 1 == links,
            items: VecDeque::new(),
        }
    }

    /// Whether packets of the group go on. A packet without a group crosses every link.
    fn takes(&self, group: Option<u16>) -> bool {
        match group {
            Some(group) => self.goes_on.get(usize::from(group)) == Some(&true),
            None => !self.is_last,
        }
    }

    /// `packet` leaves the queue at `end`; these times never run backwards.
    fn push(&mut self, packet: Descriptor, end: Time) {
        self.items.push_back((end + self.delay, packet));
    }

    /// `packet` leaves the queue at `end`, and may overtake others. Returns its arrival.
    fn insert(&mut self, packet: Descriptor, end: Time) -> Time {
        let arrival = end + self.delay;
        self.insert_at(packet, arrival);
        arrival
    }

    fn insert_at(&mut self, packet: Descriptor, arrival: Time) {
        let behind = self.items.iter().rev();
        let overtaken = behind.take_while(|(at, _)| *at > arrival).count();
        let place = self.items.len() - overtaken;
        self.items.insert(place, (arrival, packet));
    }
}

#[cfg(test)]
mod tests;
