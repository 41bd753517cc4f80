//! Figures of one direction of one link, from the calls of its observer.
//!
//! A world that must free dropped packets has an observer of its own and calls the `on_...` methods;
//! any other world passes the recorder itself to the bottleneck.
//!
//! A packet counts as delivered when it leaves its queue. A group is counted where its data goes, not
//! where its acknowledgements go. Busy time is that of the link, so it includes the overhead of packets.
//!
//! Each call takes integer arithmetic only, and allocates only if rows are not drained.

use quell_aqm::{Departure, Drop, MarkReason, Observer, Packet, QueueId, impair};
use quell_units::{Bytes, Rate, Time};

use crate::counts::Counts;
use crate::distribution::Distribution;
use crate::figures::{GroupPackets, LinkFigures, LinkResults, MILLISECOND, QueueSummary};
use crate::label::{Direction, GroupId, Hop, Labelled};
use crate::link::{LinkTally, LinkUse};
use crate::queue::{BacklogTally, Tally, backlog_resolution, delay_resolution, group_resolution};
use crate::rows::QueueRow;
use crate::schedule::{Due, Schedule};
use crate::several::{Crossing, Several};
use crate::timeline::{Segment, Span, Timeline, Use};

/// The configuration of a [`Recorder`].
#[derive(Debug, Clone)]
pub struct RecorderConfig {
    /// The link.
    pub hop: Hop,
    /// Name of the link in results.
    pub hop_name: String,
    /// The direction of the link.
    pub direction: Direction,
    /// Names of the discipline's queues, by [`QueueId`].
    pub queues: &'static [&'static str],
    /// Whether the data of each group crosses the link in this direction, by [`GroupId`].
    pub groups: Vec<bool>,
    /// Whether the data of each group leaves the last of several queues here, by [`GroupId`].
    /// `None` if there is one link.
    pub ends: Option<Vec<bool>>,
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Warm-up and phases.
    pub timeline: Timeline,
    /// Interval between rows; `None` for no rows.
    pub interval: Option<Time>,
}

/// Bytes of the [`Tally`] of a group and of a [`Queue`], without their distributions, where pointers have 64 bits: estimates of
/// memory are the same on every platform.
const TALLY_MEMORY: u64 = 592;
const QUEUE_MEMORY: u64 = 1_040;

/// Measures one direction of one link.
#[derive(Debug, Clone)]
pub struct Recorder {
    hop: Hop,
    hop_name: String,
    direction: Direction,
    schedule: Schedule,
    /// Time at which an interval or segment closes next: a copy of [`Schedule::next`] for the per-packet path.
    next: Time,
    queues: Vec<Queue>,
    /// `None` for a group whose data goes elsewhere.
    groups: Vec<Option<Tally>>,
    link: LinkTally,
    several: Option<Box<Several>>,
    interval_start: Time,
    rows: Vec<QueueRow>,
    phases: Vec<LinkFigures>,
}

#[derive(Debug, Clone)]
struct Queue {
    name: &'static str,
    tally: Tally,
    backlog: BacklogTally,
    /// Counters at the start of the interval.
    interval: Counts,
    /// Longest sojourn time in the interval.
    interval_max: Time,
}

impl Queue {
    /// `packet` leaves after `sojourn`, which has this bucket.
    #[inline(always)]
    fn deliver<P: Packet + Labelled>(
        &mut self,
        groups: &mut [Option<Tally>],
        packet: &P,
        sojourn: Time,
        bucket: usize,
    ) {
        let bytes = packet.len().get();
        self.tally.deliver(bytes, sojourn, bucket);
        self.interval_max = self.interval_max.max(sojourn);
        let group = packet.group();
        if let Some(Some(group)) = group.and_then(|group| groups.get_mut(group.index())) {
            let delay = &self.tally.delay;
            let bucket = group.delay.bucket_as_in(delay, bucket, sojourn.as_nanos());
            group.deliver(bytes, sojourn, bucket);
        }
    }
}

impl Recorder {
    /// Memory of a recorder in bytes for `queues` queues and `groups` groups whose data crosses the link.
    pub fn memory(queues: usize, groups: usize) -> u64 {
        let group = TALLY_MEMORY + 2 * group_resolution(groups).memory();
        let queue =
            QUEUE_MEMORY + 2 * delay_resolution().memory() + 3 * backlog_resolution().memory();
        // Results are a copy of the counters of the whole.
        2 * (queues as u64 * queue + groups as u64 * group)
    }

    /// A recorder at time zero, of empty queues.
    pub fn new(config: RecorderConfig) -> Self {
        let resolution = group_resolution(config.groups.iter().filter(|&&here| here).count());
        let schedule = Schedule::new(config.timeline, config.interval);
        let measured = schedule.measures();
        let queue = |&name: &&'static str| Queue {
            name,
            tally: Tally::new(delay_resolution()),
            backlog: BacklogTally::new(measured),
            interval: Counts::default(),
            interval_max: Time::ZERO,
        };
        let group = |&here: &bool| here.then(|| Tally::new(resolution));
        Self {
            hop: config.hop,
            hop_name: config.hop_name,
            direction: config.direction,
            next: schedule.next(),
            schedule,
            queues: config.queues.iter().map(queue).collect(),
            groups: config.groups.iter().map(group).collect(),
            link: LinkTally::new(config.rate),
            several: config
                .ends
                .map(|ends| Box::new(Several::new(&ends, resolution))),
            interval_start: Time::ZERO,
            rows: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Makes this the recorder of a link that follows a trace. Its utilisation is the share of the trace's offer that it carried, in link bytes.
    #[must_use]
    pub fn judged_by_offer(mut self) -> Self {
        self.link.judge_by_offer();
        self
    }

    /// The link.
    pub fn hop(&self) -> Hop {
        self.hop
    }
    /// The direction of the link.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// See [`Observer::enqueued`].
    #[inline]
    pub fn on_enqueued<P: Packet>(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.advance(now);
        if let Some(queue) = self.queues.get_mut(queue.index()) {
            queue.backlog.add(packet.len().get(), now);
        }
        if let Some(several) = &mut self.several {
            several.add(packet.len().get(), now);
        }
    }

    /// See [`Observer::dequeued`].
    #[inline]
    pub fn on_dequeued<P: Packet + Labelled>(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.advance(now);
        let (bytes, sojourn) = (packet.len().get(), packet.sojourn(now));
        if let Some(queue) = self.queues.get_mut(queue.index()) {
            queue.backlog.deliver(bytes, now);
            let bucket = queue.tally.delay.bucket(sojourn.as_nanos());
            queue.deliver(&mut self.groups, packet, sojourn, bucket);
        }
        if let Some(several) = &mut self.several {
            several.remove(bytes, now);
        }
    }

    /// See [`Observer::passed`]: the backlog is what it was, and the packet has waited for no time.
    #[inline]
    pub fn on_passed<P: Packet + Labelled>(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.advance(now);
        if let Some(queue) = self.queues.get_mut(queue.index()) {
            queue.backlog.pass(now);
            queue.deliver(&mut self.groups, packet, Time::ZERO, 0);
        }
        if let Some(several) = &mut self.several {
            several.add(packet.len().get(), now);
            several.remove(packet.len().get(), now);
        }
    }

    /// See [`Observer::marked`].
    #[inline]
    pub fn on_marked<P: Labelled>(
        &mut self,
        queue: QueueId,
        packet: &P,
        reason: MarkReason,
        now: Time,
    ) {
        self.advance(now);
        if let Some(queue) = self.queues.get_mut(queue.index()) {
            queue.tally.counts.marks[reason.index()] += 1;
        }
        if let Some(group) = self.group(packet.group()) {
            group.counts.marks[reason.index()] += 1;
        }
    }

    /// See [`Observer::dropped`]; the caller keeps the packet.
    #[inline]
    pub fn on_dropped<P: Packet + Labelled>(&mut self, packet: &P, drop: &Drop, now: Time) {
        self.advance(now);
        if let Some(queue) = self.queues.get_mut(drop.queue.index()) {
            if drop.queued {
                queue.backlog.remove(packet.len().get(), now);
            }
            queue.tally.counts.drops[drop.reason.index()] += 1;
        }
        if let (Some(several), true) = (&mut self.several, drop.queued) {
            several.remove(packet.len().get(), now);
        }
        if let Some(group) = self.group(packet.group()) {
            group.counts.drops[drop.reason.index()] += 1;
        }
    }

    /// See [`Observer::departed`].
    #[inline]
    pub fn on_departed(&mut self, departure: &Departure) {
        self.advance(departure.start);
        self.link.transmit(departure);
    }

    /// See [`Observer::rate_changed`].
    pub fn on_rate(&mut self, rate: Rate, now: Time) {
        self.advance(now);
        self.link.set_rate(rate, now);
    }

    /// See [`Observer::crossed`].
    pub fn on_crossed<P: Labelled>(&mut self, packet: &P, waited: Time, now: Time) {
        self.advance(now);
        if let Some(several) = &mut self.several {
            several.cross(packet.group(), waited);
        }
    }

    /// Counts packets that were lost, copied or damaged outside the queue discipline.
    pub fn on_outside(&mut self, counts: &impair::Counts, now: Time) {
        self.advance(now);
        self.link.count_outside(counts);
    }

    /// Adds packets that were lost, copied or damaged outside before the open segment ends.
    pub fn add_outside(&mut self, counts: &impair::Counts) {
        self.link.count_outside(counts);
    }

    /// Closes every interval and segment that ends by `now`. Each other call does this first; a caller
    /// needs it only to get rows while no packet moves.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now >= self.next {
            self.close_until(now);
        }
    }

    /// Packets delivered since the start of the run, including the warm-up.
    pub fn delivered(&self) -> u64 {
        let queues = self.queues.iter();
        queues.map(|queue| queue.tally.counts.packets).sum()
    }

    /// Takes the rows of the intervals that have ended.
    pub fn drain_rows(&mut self) -> impl Iterator<Item = QueueRow> + '_ {
        self.rows.drain(..)
    }

    /// Ends the run early, at `end`, as if that had always been its planned end. Must be called before any call with a time
    /// after `end`; an `end` after the planned one changes nothing.
    pub fn end_at(&mut self, end: Time) {
        self.schedule.end_at(end);
        self.next = self.schedule.next();
    }

    /// The results of a run that ended at `end`, its planned end or earlier. Later calls do not count.
    pub fn finish(&mut self, end: Time) -> LinkResults {
        self.end_at(end);
        self.advance(end);
        LinkResults {
            whole: self.whole(),
            phases: std::mem::take(&mut self.phases),
            queue_delays: self
                .queues
                .iter()
                .map(|q| q.tally.whole_delay.clone())
                .collect(),
            backlogs_at_dequeue: self
                .queues
                .iter()
                .map(|q| q.backlog.at_dequeue.clone())
                .collect(),
            group_delays: self
                .groups
                .iter()
                .map(|group| group.as_ref().map(|group| group.whole_delay.clone()))
                .collect(),
            group_crossings: self
                .several
                .as_ref()
                .map_or_else(Vec::new, |several| several.crossings()),
        }
    }

    #[inline]
    fn group(&mut self, group: Option<GroupId>) -> Option<&mut Tally> {
        self.groups.get_mut(group?.index())?.as_mut()
    }

    #[cold]
    fn close_until(&mut self, now: Time) {
        while let Some(due) = self.schedule.due(now) {
            self.close(due);
        }
        self.next = self.schedule.next();
    }

    fn close(&mut self, due: Due) {
        if due.interval {
            self.close_interval(due.at);
        }
        if let Some(segment) = due.segment {
            self.close_segment(segment);
        }
    }

    fn close_interval(&mut self, at: Time) {
        let length = at - self.interval_start;
        self.interval_start = at;
        for queue in &mut self.queues {
            let counts = queue.tally.counts().since(&queue.interval);
            let any = counts.packets > 0;
            self.rows.push(QueueRow {
                time: at,
                length,
                hop: self.hop,
                queue: queue.name,
                direction: self.direction,
                packets: counts.packets,
                bytes: Bytes::new(counts.bytes),
                marked: counts.marked(),
                dropped: counts.dropped(),
                delay_mean: any
                    .then(|| Time::from_nanos((counts.delay / u128::from(counts.packets)) as u64)),
                delay_max: any.then_some(queue.interval_max),
                backlog: Bytes::new(queue.backlog.bytes()),
            });
            queue.interval = queue.tally.counts();
            queue.interval_max = Time::ZERO;
        }
    }

    fn close_segment(&mut self, segment: Segment) {
        let at = segment.span.end;
        let measured = segment.counts_for != Use::Nothing;
        for queue in &mut self.queues {
            queue.backlog.end_segment(at);
        }
        if let Some(several) = &mut self.several {
            several.end_segment(at);
        }
        let used = self.link.close_segment(at, measured);
        if segment.counts_for == Use::Phase {
            let figures = self.phase(segment.span, &used);
            self.phases.push(figures);
        }
        for queue in &mut self.queues {
            queue.tally.close_segment(measured);
            queue.backlog.close_segment(self.schedule.measures());
        }
        for group in self.groups.iter_mut().flatten() {
            group.close_segment(measured);
        }
        if let Some(several) = &mut self.several {
            several.close_segment(measured);
        }
    }

    /// Figures of the segment that is about to close.
    fn phase(&self, span: Span, used: &LinkUse) -> LinkFigures {
        self.figures(
            span,
            used,
            Part {
                tally: |tally| (tally.segment(), &tally.delay),
                weighted: |backlog| &backlog.weighted,
                crossing: |crossing| &crossing.delay,
                backlogged: Several::backlogged,
            },
        )
    }

    /// Figures of all measured segments that have closed.
    fn whole(&self) -> LinkFigures {
        self.figures(
            self.schedule.whole(),
            &self.link.whole(),
            Part {
                tally: |tally| (tally.whole(), &tally.whole_delay),
                weighted: |backlog| &backlog.whole_weighted,
                crossing: |crossing| &crossing.whole,
                backlogged: Several::whole_backlogged,
            },
        )
    }

    /// Figures of the counters and distributions selected by `part`.
    fn figures(&self, span: Span, used: &LinkUse, part: Part) -> LinkFigures {
        let queues = self.queues.iter().map(|queue| {
            let (counts, delay) = (part.tally)(&queue.tally);
            self.queue_summary(queue, &counts, delay, (part.weighted)(&queue.backlog))
        });
        let several = self.several.as_deref();
        let groups = self.groups.iter().enumerate().map(|(index, tally)| {
            let (counts, delay) = (part.tally)(tally.as_ref()?);
            let crossing = several.and_then(|several| several.crossing(index));
            Some(GroupPackets::new(
                &counts,
                delay,
                crossing.map(part.crossing),
            ))
        });
        LinkFigures {
            hop: self.hop,
            direction: self.direction,
            span,
            rate: used.mean_rate(span, self.link.rate()),
            busy: used.busy,
            share: self.link.share(used),
            backlogged: several.map(part.backlogged),
            outside: used.outside.clone(),
            queues: queues.collect(),
            groups: groups.collect(),
        }
    }

    fn queue_summary(
        &self,
        queue: &Queue,
        counts: &Counts,
        delay: &Distribution,
        weighted: &Distribution,
    ) -> QueueSummary {
        QueueSummary {
            name: queue.name.to_owned(),
            hop: self.hop_name.clone(),
            direction: self.direction,
            packets: counts.packets,
            bytes: counts.bytes,
            marked: counts.marked(),
            dropped: counts.dropped(),
            mark_ratio: counts.mark_ratio(),
            drop_ratio: counts.drop_ratio(),
            marks: counts.marks_by_reason(),
            drops: counts.drops_by_reason(),
            delay_ms: delay.dist(MILLISECOND),
            backlog_bytes: weighted.dist(1.0),
        }
    }
}

/// Counters and distributions of the open segment, or of the whole.
#[derive(Clone, Copy)]
struct Part {
    tally: fn(&Tally) -> (Counts, &Distribution),
    weighted: fn(&BacklogTally) -> &Distribution,
    crossing: fn(&Crossing) -> &Distribution,
    backlogged: fn(&Several) -> Time,
}

/// An observer with a recorder in it.
pub trait Recording {
    /// The recorder.
    fn recorder(&mut self) -> &mut Recorder;
    /// Nothing of this direction happens before `now` any more.
    fn decided(&mut self, now: Time) {
        self.recorder().advance(now);
    }
}

impl Recording for Recorder {
    fn recorder(&mut self) -> &mut Recorder {
        self
    }
}

impl<P: Packet + Labelled> Observer<P> for Recorder {
    fn enqueued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.on_enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.on_dequeued(queue, packet, now);
    }
    #[inline]
    fn passed(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.on_passed(queue, packet, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &P, reason: MarkReason, now: Time) {
        self.on_marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
        self.on_dropped(&packet, &drop, now);
    }
    fn departed(&mut self, _packet: &P, departure: &Departure) {
        self.on_departed(departure);
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.on_rate(rate, now);
    }
    fn crossed(&mut self, packet: &P, waited: Time, now: Time) {
        self.on_crossed(packet, waited, now);
    }
}

#[cfg(test)]
mod tests;
