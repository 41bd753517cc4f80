//! A session: a flow with several connections at once, between the two hosts of its applications.
//!
//! Either end may open connections and both may send on each. A host has no processing time: what
//! arrives is given to its application at once, which answers at the same instant. The data that one answer gives
//! to a connection is written together and leaves before anything else happens; what may leave has left
//! before a direction is closed, so that a FIN rides on data only where some has to wait (Linux
//! `tcp_send_fin`).
//!
//! A connection has a slot, with both of its ends, as long as either of them lives. Packets name the
//! slot and its generation, so that none is taken for one of a later connection. Where an end is gone
//! and the other one is not, what arrives is answered with a RST; where both are gone, nobody would
//! hear it, and the packet is dropped. The number that applications use is free earlier: at each end
//! when its application knows of the end. Should the opener use it again while the other end
//! does not know of the end yet, that end learns of the new connection afterwards.
//!
//! * `host.rs`: the inputs and the actions of applications.
//! * [`slots`]: connections by slot; [`side`]: an end of one, with what its application knows.

mod host;
mod side;
mod slots;

use std::collections::VecDeque;

use quell_app::{App, Application, ConnectionId, Input, Notes, Recorded, Repairs, Report, Role};
use quell_aqm::{Observer, Packet as _};
use quell_measure::{Direction, FlowId, FlowSample};
use quell_tcp::{Connection, Flags, ReceiverConfig, Segment, SenderConfig, SenderStats};
use quell_units::{Bytes, Time};

use crate::access::Access;
use crate::config::FlowConfig;
use crate::flow::{End, take_reports};
use crate::network::Network;
use crate::options::OptionStore;
use crate::packet::{Label, Packet};
use crate::timers::Timers;
use side::Phase;
pub use slots::CONNECTION_MEMORY;
use slots::Slots;

/// The surroundings of a session's hosts.
#[derive(Debug)]
pub(crate) struct World<'a, O> {
    pub(crate) now: Time,
    pub(crate) network: &'a mut Network<O>,
    pub(crate) options: &'a mut OptionStore,
    pub(crate) timers: &'a mut Timers,
}

impl<O> World<'_, O> {
    /// Sets a timer to `at`, but later than now: all that is due now has just been done.
    fn set_timer(&mut self, timer: u32, at: Time) {
        let at = at.max(self.now + Time::from_nanos(1));
        self.timers.set(timer, at, self.now);
    }
}

/// Configurations of a connection's end at the hosts of the sender and of the receiver.
pub(crate) type Ends = [(SenderConfig, ReceiverConfig); 2];

/// A flow of this kind.
#[derive(Debug)]
pub(crate) struct Session<A> {
    flow: FlowId,
    group: u16,
    /// Direction of the sender's data.
    direction: Direction,
    opener: End,
    framed: bool,
    is_up: bool,
    /// Stopped from outside: actions of the applications are not performed.
    is_stopped: bool,
    apps: [A; 2],
    /// When each application wishes to be polled.
    wishes: [Time; 2],
    ends: Box<Ends>,
    slots: Slots,
    /// Connections that were asked for.
    serial: u64,
    /// Connections whose number is not free yet at the end that accepts them.
    waiting: u32,
    /// Connections for which there was no slot.
    refused: VecDeque<ConnectionId>,
    /// Slots to look at, at the host at which something happens.
    work: VecDeque<u32>,
    /// The sender's own link, where it has a limit.
    access: Option<Box<Access>>,
    /// Payload that the receiver's application knows of, in bytes.
    delivered: u64,
    /// Figures of the sender's ends of connections that are over.
    ended: SenderStats,
    /// Repairs of TCP on connections that are over.
    repaired: Repairs,
    /// Notes of the application, by end.
    notes: [Notes; 2],
    /// The slot of the connection whose end the application learnt last, by end, until the slot is free.
    leaving: [Option<u32>; 2],
}

impl Session<App> {
    /// Bytes of one flow, without its connections.
    #[cfg(test)]
    pub(crate) const MEMORY: usize = size_of::<Self>() + size_of::<Ends>() + size_of::<Access>();

    /// A flow whose application uses connections as `kind` says.
    pub(crate) fn new(
        flow: FlowId,
        config: &FlowConfig,
        kind: quell_app::Session,
        ends: &Ends,
    ) -> Self {
        let apps = [config.end(Role::Sender), config.end(Role::Receiver)];
        Self::of(flow, config, kind, ends, apps)
    }

    /// Report of its applications since the last call, or since the start; `None` before that.
    pub(crate) fn take_report(&mut self, now: Time) -> Option<Report> {
        let [sender, receiver] = &mut self.apps;
        let is_up = self.is_up;
        is_up.then(|| take_reports(sender, receiver, now)).flatten()
    }
}

impl<A: Application> Session<A> {
    fn of(
        flow: FlowId,
        config: &FlowConfig,
        kind: quell_app::Session,
        ends: &Ends,
        apps: [A; 2],
    ) -> Self {
        Self {
            flow,
            group: config.group.0 as u16,
            direction: config.direction,
            opener: match kind.opener {
                Role::Sender => End::Sender,
                Role::Receiver => End::Receiver,
            },
            framed: kind.framed,
            is_up: false,
            is_stopped: false,
            apps,
            wishes: [Time::MAX; 2],
            ends: Box::new(ends.clone()),
            slots: Slots::default(),
            serial: 0,
            waiting: 0,
            refused: VecDeque::new(),
            work: VecDeque::new(),
            access: Access::new(config.access),
            delivered: 0,
            ended: SenderStats::default(),
            repaired: Repairs::ZERO,
            notes: Default::default(),
            leaving: [None; 2],
        }
    }

    /// The flow begins.
    pub(crate) fn start<O: Observer<Packet>>(&mut self, world: &mut World<'_, O>) {
        self.is_up = true;
        self.notify(self.opener, Input::Started, world);
        self.settle(self.opener, world);
    }

    /// Neither end sends anything more, except retransmissions and FINs, and none opens connections.
    pub(crate) fn stop<O: Observer<Packet>>(&mut self, world: &mut World<'_, O>) {
        self.is_stopped = true;
        self.wishes = [Time::MAX; 2];
        for end in End::BOTH {
            for slot in 0..self.slots.len() {
                let side = &mut self.slots[slot].sides[end as usize];
                if side.phase == Phase::Live {
                    side.tcp.retract(0);
                    side.tcp.close();
                    side.has_finished = true;
                    self.work.push_back(slot);
                }
            }
            self.settle(end, world);
        }
    }

    /// `packet` has arrived.
    pub(crate) fn receive<O: Observer<Packet>>(
        &mut self,
        packet: &Packet,
        world: &mut World<'_, O>,
    ) {
        let end = if packet.direction() == self.direction {
            End::Receiver
        } else {
            End::Sender
        };
        let segment = packet.session_segment(world.options);
        let Some(slot) = self.slots.of_port(packet.connection()) else {
            return;
        };
        if self.slots[slot].sides[end as usize].phase == Phase::Unborn
            && segment.flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN
            && !self.is_stopped
        {
            let (sender, receiver) = &mut self.ends[end as usize];
            self.slots[slot].sides[end as usize].begin(sender, receiver);
        }
        let side = &mut self.slots[slot].sides[end as usize];
        if side.phase == Phase::Live {
            side.tcp.on_segment(&segment, world.now);
            self.work.push_back(slot);
            self.settle(end, world);
        } else if !segment.flags.has(Flags::RST) {
            let reset = Connection::reset_for(&segment);
            self.send(slot, end, &reset, world);
            if end == End::Sender {
                self.leave_access(world);
            }
            self.settle(end, world);
        }
    }

    /// The timer of a connection's end rings, see [`Slots::owner`].
    pub(crate) fn ring_connection<O: Observer<Packet>>(
        &mut self,
        place: u32,
        world: &mut World<'_, O>,
    ) {
        let (slot, end) = Slots::owner(place);
        let side = &mut self.slots[slot].sides[end as usize];
        if side.phase == Phase::Live {
            side.tcp.on_timer(world.now);
            self.work.push_back(slot);
            self.settle(end, world);
        }
    }

    /// The timer of a host rings: its application's wish, or its own link.
    pub(crate) fn ring<O: Observer<Packet>>(&mut self, end: End, world: &mut World<'_, O>) {
        if end == End::Sender {
            self.leave_access(world);
        }
        if end == self.opener {
            while let Some(connection) = self.refused.pop_front() {
                self.notify(end, Input::Failed { connection }, world);
            }
        }
        self.settle(end, world);
    }

    /// Hands packets that have left the sender's own link to the bottleneck.
    fn leave_access<O: Observer<Packet>>(&mut self, world: &mut World<'_, O>) {
        let Some(access) = &mut self.access else {
            return;
        };
        while let Some(packet) = access.pop(world.now) {
            if let Some(slot) = self.slots.of_port(packet.connection()) {
                let side = &mut self.slots[slot].sides[End::Sender as usize];
                side.local -= packet.len();
                side.tcp.set_local_queue(side.local);
                self.work.push_back(slot);
            }
            world.network.send(packet, world.now);
        }
    }

    /// Sends everything that an end of a connection has to send now.
    fn transmit<O: Observer<Packet>>(&mut self, slot: u32, end: End, world: &mut World<'_, O>) {
        while let Some(segment) = self.slots[slot].sides[end as usize].tcp.poll(world.now) {
            self.send(slot, end, &segment, world);
        }
        if end == End::Sender {
            self.leave_access(world);
        }
    }

    fn send<O: Observer<Packet>>(
        &mut self,
        slot: u32,
        end: End,
        segment: &Segment,
        world: &mut World<'_, O>,
    ) {
        let label = Label {
            flow: self.flow,
            group: self.group,
            direction: end.sends(self.direction),
            connection: 0,
        };
        let port = self.slots.port(slot);
        let packet = Packet::session(label, port, segment, world.options);
        world.network.announce(&packet, Some(segment));
        match &mut self.access {
            Some(access) if end == End::Sender => {
                let side = &mut self.slots[slot].sides[end as usize];
                side.local += packet.len();
                side.tcp.set_local_queue(side.local);
                access.queue(packet, world.now);
            }
            _ => world.network.send(packet, world.now),
        }
    }

    /// Whether it has started.
    pub(crate) fn is_up(&self) -> bool {
        self.is_up
    }

    /// Measured values at the present time.
    pub(crate) fn sample(&self) -> FlowSample {
        let mut sample = FlowSample {
            delivered: Bytes::new(self.delivered),
            ..FlowSample::default()
        };
        let mut retransmitted = self.ended.retransmitted;
        let mut last = None;
        for slot in self.slots.in_use() {
            let slot = &self.slots[slot];
            let side = &slot.sides[End::Sender as usize];
            if side.phase == Phase::Unborn {
                continue;
            }
            let sender = side.tcp.sender();
            let stats = sender.stats();
            retransmitted += stats.retransmitted;
            if side.is_alive() && side.tcp.is_established() {
                let window = u64::from(stats.cwnd) * u64::from(sender.mss());
                let all = sample.congestion_window.get_or_insert(Bytes::ZERO);
                *all += Bytes::new(window);
                if !stats.srtt.is_zero() && last.is_none_or(|last| slot.serial > last) {
                    last = Some(slot.serial);
                    sample.rtt = Some(stats.srtt);
                }
            }
        }
        sample.retransmitted = Some(retransmitted);
        sample
    }

    /// Counters of the sender's ends of all connections, with the state of the one that was opened last.
    pub(crate) fn stats(&self) -> SenderStats {
        let mut all = self.ended;
        let mut last = None;
        for slot in self.slots.in_use() {
            let slot = &self.slots[slot];
            let side = &slot.sides[End::Sender as usize];
            if side.phase == Phase::Unborn {
                continue;
            }
            let stats = side.tcp.sender().stats();
            all = if last.is_none_or(|last| slot.serial > last) {
                last = Some(slot.serial);
                stats.following(&all)
            } else {
                all.following(&stats)
            };
        }
        all
    }

    /// Adds a record of each event that its applications have begun and not ended.
    pub(crate) fn unfinished(&self, records: &mut Vec<Recorded>) {
        if self.is_up {
            let mut events = Vec::new();
            for (app, end) in self.apps.iter().zip(End::BOTH) {
                app.unfinished(&mut events);
                records.extend(events.drain(..).map(|event| self.recorded(event, end)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
