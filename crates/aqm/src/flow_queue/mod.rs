//! Packets in a queue per flow, served by a deficit round robin that prefers new flows: the store of every flow-queuing discipline.
//!
//! Sources: RFC 8290 sections 4.1 and 4.2; the lists, counters and the search for the fattest flow are those that Linux's
//! `sch_fq_codel.c` and `sch_fq_pie.c` (6.18) share. A flow is a bucket of a stochastic hash, so two flows of the world may share one.
//!
//! * A flow that gets its first packet joins the *new* flows with one quantum; new flows are served before old ones.
//! * A flow with no deficit left (`≤ 0`) gets one more quantum and goes to the end of the *old* flows.
//! * A flow that turns out to be empty leaves its list; a new one passes through the old flows first if there are any, so that a flow
//!   that always refills in time cannot starve them.
//!
//! Deviations: 1. lengths are IP lengths, without the link header that the kernel counts. 2. The bucket comes from the packet's 64-bit
//! flow key, salted from the discipline's own stream, instead of from the kernel's hash of the headers; no filters or classes.
//!
//! Packets of all flows stand in one slab, linked by index: it grows to the largest number that ever waited and is then reused, so
//! nothing is allocated per packet. An empty store costs 32 bytes per bucket (24 for its queue and place in a list, 8 for its backlog)
//! and the AQM's state: with 1 024 buckets 32 KiB and the states, for `fq_codel` 56 KiB together.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::random::{Random, split_mix};
use crate::units::{Bytes, Time};

/// No packet, no flow.
const NONE: u32 = u32::MAX;

/// A bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowId(u32);

impl FlowId {
    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the slab.
#[derive(Debug)]
struct Slot<P> {
    packet: Option<P>,
    /// The packet behind it in its flow, or the next free slot.
    next: u32,
}

/// The queue of a flow and its place in the round.
#[derive(Debug, Clone, Copy)]
struct Flow {
    head: u32,
    tail: u32,
    /// The flow behind it in its list.
    next: u32,
    /// Whether it is in a list.
    listed: bool,
    /// Bytes that it may still send in this turn.
    deficit: i64,
}

/// Flows in the order of their turns.
#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        len: 0,
    };

    #[inline]
    fn push(&mut self, flows: &mut [Flow], flow: FlowId) {
        flows[flow.index()].next = NONE;
        if self.tail == NONE {
            self.head = flow.0;
        } else {
            flows[self.tail as usize].next = flow.0;
        }
        self.tail = flow.0;
        self.len += 1;
    }
    /// Takes the first flow out.
    #[inline]
    fn advance(&mut self, flows: &[Flow]) {
        self.head = flows[self.head as usize].next;
        if self.head == NONE {
            self.tail = NONE;
        }
        self.len -= 1;
    }
    fn first(&self) -> Option<FlowId> {
        (self.head != NONE).then_some(FlowId(self.head))
    }
}

/// The packets of all flows, apart from the states of their AQMs.
#[derive(Debug)]
struct Store<P> {
    slots: Vec<Slot<P>>,
    /// The first free slot.
    free: u32,
    flows: Box<[Flow]>,
    /// Bytes per flow, apart from the flows because the search for the fattest reads them all.
    backlogs: Box<[u64]>,
    total: Backlog,
    memory: Bytes,
}

impl<P: Packet> Store<P> {
    #[inline]
    fn push(&mut self, flow: FlowId, packet: P) {
        self.total.add(packet.len());
        self.memory += packet.memory();
        self.backlogs[flow.index()] += packet.len().get();
        let slot = self.place(packet);
        let queue = &mut self.flows[flow.index()];
        if queue.head == NONE {
            queue.head = slot;
        } else {
            self.slots[queue.tail as usize].next = slot;
        }
        queue.tail = slot;
    }

    #[inline]
    fn place(&mut self, packet: P) -> u32 {
        let slot = self.free;
        if let Some(free) = self.slots.get_mut(slot as usize) {
            self.free = free.next;
            free.packet = Some(packet);
            free.next = NONE;
            return slot;
        }
        self.slots.push(Slot {
            packet: Some(packet),
            next: NONE,
        });
        (self.slots.len() - 1) as u32
    }

    #[inline]
    fn pop(&mut self, flow: FlowId) -> Option<P> {
        let queue = &mut self.flows[flow.index()];
        let head = queue.head;
        let slot = self.slots.get_mut(head as usize)?;
        queue.head = slot.next;
        slot.next = self.free;
        self.free = head;
        let packet = slot.packet.take()?;
        self.total.remove(packet.len());
        self.memory -= packet.memory();
        self.backlogs[flow.index()] -= packet.len().get();
        Some(packet)
    }
}

/// One flow in the hands of its AQM.
#[derive(Debug)]
pub(crate) struct FlowHead<'a, P> {
    store: &'a mut Store<P>,
    flow: FlowId,
}

impl<P: Packet> FlowHead<'_, P> {
    /// Removes the head without a word to the observer.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<P> {
        self.store.pop(self.flow)
    }
    /// Bytes that wait in all flows together.
    #[inline]
    pub(crate) fn total_backlog(&self) -> Bytes {
        self.store.total.bytes
    }
}

/// All flows, each with a state `S` of its AQM.
#[derive(Debug)]
pub(crate) struct FlowQueue<P, S> {
    store: Store<P>,
    states: Box<[S]>,
    new: List,
    old: List,
    quantum: i64,
    salt: u64,
}

impl<P: Packet, S: Clone + Default> FlowQueue<P, S> {
    /// `buckets` empty flows, at least one; `quantum` are the bytes that a flow sends in one turn.
    pub(crate) fn new(buckets: u32, quantum: Bytes, random: &mut Random) -> Self {
        let buckets = buckets.clamp(1, NONE - 1) as usize;
        let flow = Flow {
            head: NONE,
            tail: NONE,
            next: NONE,
            listed: false,
            deficit: 0,
        };
        let mut queue = Self {
            store: Store {
                slots: Vec::new(),
                free: NONE,
                flows: vec![flow; buckets].into_boxed_slice(),
                backlogs: vec![0; buckets].into_boxed_slice(),
                total: Backlog::default(),
                memory: Bytes::ZERO,
            },
            states: vec![S::default(); buckets].into_boxed_slice(),
            new: List::EMPTY,
            old: List::EMPTY,
            quantum: 0,
            salt: random.u64(),
        };
        queue.set_quantum(quantum);
        queue
    }

    /// Changes the quantum of later turns; at least one byte.
    pub(crate) fn set_quantum(&mut self, quantum: Bytes) {
        self.quantum = i64::try_from(quantum.get()).unwrap_or(i64::MAX).max(1);
    }

    /// The flow of packets with this key: the salted key's hash, scaled to the number of buckets.
    #[inline]
    pub(crate) fn flow_of(&self, key: u64) -> FlowId {
        let hash = split_mix(key ^ self.salt) >> 32;
        // Both factors are below 2³².
        FlowId(((hash * self.states.len() as u64) >> 32) as u32)
    }

    /// Puts `packet` at the end of `flow`, which becomes new if it was in neither list.
    #[inline]
    pub(crate) fn push(&mut self, flow: FlowId, packet: P) {
        self.store.push(flow, packet);
        let queue = &mut self.store.flows[flow.index()];
        if !queue.listed {
            queue.listed = true;
            queue.deficit = self.quantum;
            self.new.push(&mut self.store.flows, flow);
        }
    }

    /// The flow whose turn it is; `None` if no flow is in a list. It may be empty: then
    /// [`retire`](Self::retire) it and ask again.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<FlowId> {
        let flows = &mut self.store.flows;
        loop {
            let list = if self.new.head == NONE {
                &mut self.old
            } else {
                &mut self.new
            };
            let flow = list.first()?;
            if flows[flow.index()].deficit > 0 {
                return Some(flow);
            }
            flows[flow.index()].deficit += self.quantum;
            list.advance(flows);
            self.old.push(flows, flow);
        }
    }

    /// Charges the flow whose turn it is for a packet that it sends.
    #[inline]
    pub(crate) fn charge(&mut self, flow: FlowId, len: Bytes) {
        let deficit = &mut self.store.flows[flow.index()].deficit;
        *deficit = deficit.saturating_sub(i64::try_from(len.get()).unwrap_or(i64::MAX));
    }

    /// The flow whose turn it is had nothing to send.
    #[inline]
    pub(crate) fn retire(&mut self) {
        let flows = &mut self.store.flows;
        let was_new = self.new.head != NONE;
        let list = if was_new {
            &mut self.new
        } else {
            &mut self.old
        };
        let Some(flow) = list.first() else { return };
        list.advance(flows);
        if was_new && self.old.head != NONE {
            self.old.push(flows, flow);
        } else {
            flows[flow.index()].listed = false;
        }
    }

    /// The state of `flow`, and its packets.
    #[inline]
    pub(crate) fn flow(&mut self, flow: FlowId) -> (&mut S, FlowHead<'_, P>) {
        let state = &mut self.states[flow.index()];
        let store = &mut self.store;
        (state, FlowHead { store, flow })
    }

    /// Every flow's state with the bytes that wait in it, for periodic control.
    pub(crate) fn states(&mut self) -> impl Iterator<Item = (&mut S, Bytes)> {
        let backlogs = self.store.backlogs.iter().copied().map(Bytes::new);
        self.states.iter_mut().zip(backlogs)
    }

    /// Every flow's state, for reports.
    pub(crate) fn all_states(&self) -> &[S] {
        &self.states
    }

    /// The flow with the most bytes, the first of them if there are several.
    pub(crate) fn fattest(&self) -> FlowId {
        let most = self.store.backlogs.iter().copied().max().unwrap_or(0);
        let found = self.store.backlogs.iter().position(|&b| b == most);
        FlowId(found.unwrap_or(0) as u32)
    }

    /// Bytes that wait in `flow`.
    #[inline]
    pub(crate) fn backlog_of(&self, flow: FlowId) -> Bytes {
        Bytes::new(self.store.backlogs[flow.index()])
    }
    /// The packets that wait in all flows.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.store.total
    }
    /// Memory of all packets.
    #[inline]
    pub(crate) fn memory(&self) -> Bytes {
        self.store.memory
    }
    /// The numbers of new and of old flows.
    pub(crate) fn active(&self) -> (u32, u32) {
        (self.new.len, self.old.len)
    }

    /// The longest time that the head of a flow has waited; zero if nothing waits. Looks at every active flow.
    pub(crate) fn longest_head_sojourn(&self, now: Time) -> Time {
        let mut longest = Time::ZERO;
        for list in [self.new, self.old] {
            let mut at = list.head;
            while let Some(flow) = self.store.flows.get(at as usize) {
                let head = self.store.slots.get(flow.head as usize);
                if let Some(packet) = head.and_then(|slot| slot.packet.as_ref()) {
                    longest = longest.max(packet.sojourn(now));
                }
                at = flow.next;
            }
        }
        longest
    }

    /// Hands every packet to `take`, flow by flow in the order of the buckets, and forgets all turns and states, as the kernel's
    /// `reset` does.
    pub(crate) fn reset(&mut self, mut take: impl FnMut(P)) {
        for flow in 0..self.states.len() as u32 {
            while let Some(packet) = self.store.pop(FlowId(flow)) {
                take(packet);
            }
            self.store.flows[flow as usize].listed = false;
        }
        self.states.fill(S::default());
        self.new = List::EMPTY;
        self.old = List::EMPTY;
    }
}

#[cfg(test)]
mod tests;
