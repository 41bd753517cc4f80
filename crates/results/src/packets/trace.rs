//! Turns the events of an observer into one record per packet, in the order of arrival.
//!
//! A record is complete when the packet's fate is known. With two queues a later packet may leave earlier, and acknowledgements cross in
//! the other direction meanwhile. So each direction of each link has a line of its packets in the order of arrival. The oldest head of
//! all lines is written once its fate is known and the other lines have reached its time. A line contains the queued packets, and the
//! packets that left before an older one. Above [`MOST_KEPT`], packets with a known fate are written although an older one is
//! still queued; that one then follows them in the file. So memory is bounded by that number and the queue's own length.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use quell_aqm::{Drop, DropReason, MarkReason, Packet, QueueId};
use quell_measure::Labelled;
use quell_units::{Ecn, Time};

use super::header::Header;
use super::output::Output;
use super::pcapng;

/// Length of a line above which packets are written out of order.
const MOST_KEPT: usize = 1 << 17;

/// A packet that can be distinguished from all others in its world that arrive at the same instant.
pub trait Traceable: Packet + Labelled {
    /// Its identity.
    type Id: Copy + Ord + Send;
    /// This packet's identity.
    fn id(&self) -> Self::Id;
}

impl Traceable for quell_sim::Packet {
    /// Flow, sequence number and acknowledgement; packets with all of them equal are
    /// interchangeable.
    type Id = (u64, u64, u64);
    fn id(&self) -> Self::Id {
        (self.flow(), self.sequence(), self.acknowledgement())
    }
}

impl Traceable for quell_link::Descriptor {
    /// Its slot in the frame pool, which it keeps until it has left.
    type Id = quell_link::FrameId;
    fn id(&self) -> Self::Id {
        self.frame().id
    }
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Left the queue, perhaps marked.
    Delivered,
    Dropped(DropReason),
    /// Was still queued when the run ended.
    Queued,
}

#[derive(Debug)]
struct Entry<I> {
    arrival: Time,
    id: I,
    queue: QueueId,
    group: Option<usize>,
    length: u32,
    value: u16,
    header: Header,
    mark: Option<MarkReason>,
    /// With the sojourn time.
    fate: Option<(Fate, Time)>,
}

/// One direction of one link.
#[derive(Debug)]
struct Lane<I> {
    queues: &'static [&'static str],
    /// In the order of arrival.
    line: VecDeque<Entry<I>>,
    /// Announced but not yet arrived, for example behind a sender's own link; packets of one id in their order.
    announced: BTreeMap<(I, u64), Header>,
    announcements: u64,
    /// Mark of the packet that is about to be accepted.
    mark: Option<MarkReason>,
    /// No packet arrives before this time any more.
    now: Time,
    /// Length of the line above which packets are written out of order.
    relief: usize,
}

impl<I: Copy + Ord> Lane<I> {
    fn new(queues: &'static [&'static str]) -> Self {
        Self {
            queues,
            line: VecDeque::new(),
            announced: BTreeMap::new(),
            announcements: 0,
            mark: None,
            now: Time::ZERO,
            relief: MOST_KEPT,
        }
    }

    fn first_announced(&self, id: I) -> Option<(I, u64)> {
        let all = self.announced.range((id, 0)..=(id, u64::MAX));
        all.map(|(key, _)| *key).next()
    }

    fn enter(&mut self, queue: QueueId, packet: &impl Traceable<Id = I>) -> &mut Entry<I> {
        let id = packet.id();
        let mut header = self
            .first_announced(id)
            .and_then(|key| self.announced.remove(&key));
        // Rules behind the last link may have changed it.
        if let Some(header) = &mut header {
            header.set_ecn(packet.ecn());
        }
        self.line.push_back(Entry {
            arrival: packet.arrival(),
            id,
            queue,
            group: packet.group().map(quell_measure::GroupId::index),
            length: packet.len().get() as u32,
            value: packet.value(),
            header: header.unwrap_or_else(|| Header::captured(&[])),
            mark: self.mark.take(),
            fate: None,
        });
        self.line.back_mut().expect("it was just put there")
    }

    /// The packet in the line with this id whose fate is not known yet. An acknowledgement has the id of data that arrives with it.
    fn find(&mut self, packet: &impl Traceable<Id = I>) -> Option<&mut Entry<I>> {
        let (id, arrival) = (packet.id(), packet.arrival());
        let length = packet.len().get() as u32;
        let first = self.line.partition_point(|entry| entry.arrival < arrival);
        self.line
            .range_mut(first..)
            .take_while(|entry| entry.arrival == arrival)
            .find(|entry| entry.fate.is_none() && entry.id == id && entry.length == length)
    }

    /// Removes the first packet if it arrived by `bound` and its fate is known.
    fn pop(&mut self, bound: Time) -> Option<Entry<I>> {
        self.line
            .pop_front_if(|entry| entry.fate.is_some() && entry.arrival <= bound)
    }

    /// Before this time no packet arrives, and no event of an earlier packet is reported.
    fn bound(&self) -> Time {
        self.line.front().map_or(self.now, |entry| entry.arrival)
    }
}

/// Where packets go on from a lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) lane: usize,
    /// Whether their values go there in their headers.
    pub(super) in_headers: bool,
}

/// The packets of all links in both directions.
#[derive(Debug)]
pub(crate) struct Trace<I> {
    /// By interface.
    lanes: Vec<Lane<I>>,
    groups: Vec<String>,
    /// Where there are several links: where packets of a group come to next, by lane and group.
    next: Vec<Vec<Option<Next>>>,
    output: Box<dyn Output>,
    /// All lanes share one clock, as in the simulator.
    one_time: bool,
    block: Vec<u8>,
    comment: String,
}

impl<I: Copy + Ord> Trace<I> {
    pub(super) fn new(
        queues: impl IntoIterator<Item = &'static [&'static str]>,
        groups: Vec<String>,
        next: Vec<Vec<Option<Next>>>,
        one_time: bool,
        output: Box<dyn Output>,
    ) -> Self {
        Self {
            lanes: queues.into_iter().map(Lane::new).collect(),
            groups,
            next,
            output,
            one_time,
            block: Vec::new(),
            comment: String::new(),
        }
    }

    /// `packet` will arrive with this header.
    pub(super) fn announce(&mut self, lane: usize, id: I, header: Header) {
        let lane = &mut self.lanes[lane];
        // A real packet has its slot for itself: what was announced with it before was lost on its way from the last link.
        if !self.one_time
            && let Some(lost) = lane.first_announced(id)
        {
            lane.announced.remove(&lost);
        }
        lane.announced.insert((id, lane.announcements), header);
        lane.announcements += 1;
    }

    pub(super) fn enqueued(
        &mut self,
        lane: usize,
        queue: QueueId,
        packet: &impl Traceable<Id = I>,
        now: Time,
    ) {
        self.lanes[lane].enter(queue, packet);
        self.advance(lane, now);
    }

    pub(super) fn marked(
        &mut self,
        lane: usize,
        packet: &impl Traceable<Id = I>,
        reason: MarkReason,
    ) {
        let lane = &mut self.lanes[lane];
        match lane.find(packet) {
            Some(entry) => entry.mark = Some(reason),
            // An AQM that acts on arrival marks before it accepts.
            None => lane.mark = Some(reason),
        }
    }

    pub(super) fn dequeued(&mut self, lane: usize, packet: &impl Traceable<Id = I>, now: Time) {
        let group = packet.group().map(quell_measure::GroupId::index);
        let next = self.next.get(lane).zip(group);
        let next = next.and_then(|(next, group)| *next.get(group)?);
        let mut going_on = None;
        if let Some(entry) = self.lanes[lane].find(packet) {
            entry.fate = Some((Fate::Delivered, packet.sojourn(now)));
            going_on = next.map(|next| {
                let mut header = entry.header.clone();
                if entry.mark.is_some() {
                    header.set_ecn(Ecn::Ce);
                }
                if next.in_headers {
                    header.set_value(packet.value());
                }
                (next.lane, header)
            });
        }
        if let Some((next, header)) = going_on {
            self.announce(next, packet.id(), header);
        }
        self.advance(lane, now);
    }

    pub(super) fn dropped(
        &mut self,
        lane: usize,
        packet: &impl Traceable<Id = I>,
        drop: &Drop,
        now: Time,
    ) {
        let fate = Some((Fate::Dropped(drop.reason), packet.sojourn(now)));
        let direction = &mut self.lanes[lane];
        if !drop.queued {
            direction.enter(drop.queue, packet).fate = fate;
        } else if let Some(entry) = direction.find(packet) {
            entry.fate = fate;
        }
        self.advance(lane, now);
    }

    /// Nothing happens in `lane` before `now` any more.
    pub(crate) fn advance(&mut self, lane: usize, now: Time) {
        for (index, other) in self.lanes.iter_mut().enumerate() {
            if index == lane || self.one_time {
                other.now = other.now.max(now);
            }
        }
        self.write_known();
        if self.lanes[lane].line.len() >= self.lanes[lane].relief {
            self.relieve(lane);
        }
    }

    /// Ends the run at `now`: packets still queued are written too.
    pub(super) fn end(&mut self, now: Time) {
        for lane in &mut self.lanes {
            lane.now = Time::MAX;
            for entry in lane.line.iter_mut().filter(|entry| entry.fate.is_none()) {
                entry.fate = Some((Fate::Queued, now - entry.arrival));
            }
        }
        self.write_known();
    }

    pub(super) fn output(&mut self) -> &mut dyn Output {
        &mut *self.output
    }

    /// Writes heads, oldest first, while their fate is known; of equal times the first lane goes first.
    fn write_known(&mut self) {
        while let Some(bound) = self.lanes.iter().map(Lane::bound).min() {
            let mut lanes = self.lanes.iter_mut().enumerate();
            let Some((lane, entry)) = lanes.find_map(|(lane, one)| Some((lane, one.pop(bound)?)))
            else {
                return;
            };
            self.write(lane, entry);
        }
    }

    fn relieve(&mut self, lane: usize) {
        let line = std::mem::take(&mut self.lanes[lane].line);
        for entry in line {
            if entry.fate.is_some() {
                self.write(lane, entry);
            } else {
                self.lanes[lane].line.push_back(entry);
            }
        }
        let lane = &mut self.lanes[lane];
        lane.relief = MOST_KEPT.max(2 * lane.line.len());
    }

    fn write(&mut self, lane: usize, mut entry: Entry<I>) {
        let Some((fate, sojourn)) = entry.fate else {
            return;
        };
        if entry.mark.is_some() {
            entry.header.set_ecn(Ecn::Ce);
        }
        self.comment.clear();
        let queue = self.lanes[lane].queues.get(entry.queue.index());
        let group = entry.group.and_then(|group| self.groups.get(group));
        let (whole, part) = (
            sojourn.as_nanos() / 1_000_000,
            sojourn.as_nanos() % 1_000_000,
        );
        let written = write!(
            self.comment,
            "queue={} sojourn_ms={whole}.{part:06} fate=",
            queue.unwrap_or(&"?")
        )
        .and_then(|()| match (fate, entry.mark) {
            (Fate::Dropped(reason), _) => write!(self.comment, "dropped:{}", reason.name()),
            (Fate::Queued, _) => self.comment.write_str("queued"),
            (Fate::Delivered, Some(reason)) => write!(self.comment, "marked:{}", reason.name()),
            (Fate::Delivered, None) => self.comment.write_str("delivered"),
        })
        .and_then(|()| match group {
            Some(group) => write!(self.comment, " group={group}"),
            None => Ok(()),
        })
        .and_then(|()| match entry.value {
            0 => Ok(()),
            value => write!(self.comment, " value={value}"),
        });
        debug_assert!(written.is_ok(), "a string takes everything");
        self.block.clear();
        pcapng::packet(
            &mut self.block,
            &pcapng::Packet {
                interface: lane as u32,
                at: entry.arrival,
                data: entry.header.bytes(),
                length: entry.length,
                comment: &self.comment,
            },
        );
        self.output.packet(&self.block);
    }
}

#[cfg(test)]
mod tests;
