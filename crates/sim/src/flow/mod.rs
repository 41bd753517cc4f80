//! The two ends of one flow on their hosts: applications over TCP or datagrams.
//!
//! A host has no processing time: what arrives is answered at the same instant. The sender's host
//! opens connections; its application learns of one when the handshake is over, the receiver's as
//! the connection is asked for. The data of a stream goes in one direction: the application of its
//! receiver asks for nothing. Datagrams may go both ways.
//!
//! A flow may open one connection after another. Each starts with nothing known of the path;
//! segments of an earlier connection that are still in flight are dropped on arrival, and the
//! flow's counters go on.

use quell_app::recent::Recent;
use quell_app::{
    Action, App, Application as _, ConnectionId, Data, Event, Input, Recorded, Repairs, Role,
    UNSENT,
};
use quell_aqm::{Observer, Packet as _};
use quell_measure::{Direction, FlowId};
use quell_tcp::prefetch::prefetch;
use quell_tcp::{Receiver, ReceiverConfig, Sender, SenderConfig, SenderStats};
use quell_units::{Ecn, Random, Time};

use crate::access::Access;
use crate::config::{FlowConfig, TransportConfig};
use crate::network::Network;
use crate::options::OptionStore;
use crate::packet::{CONNECTIONS, DATAGRAM_HEADERS, Label, Packet};

/// The end of the connection.
const CLOSED: Input = Input::Closed {
    connection: ConnectionId::ONLY,
};

/// An end of a flow: the lowest bit of a timer's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The end that sends the data.
    Sender = 0,
    /// The end that receives it.
    Receiver = 1,
}

impl End {
    pub(crate) const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];

    /// The direction in which this end of a flow sends, whose data goes in `direction`.
    pub(crate) const fn sends(self, direction: Direction) -> Direction {
        match (self, direction) {
            (Self::Sender, direction) => direction,
            (Self::Receiver, Direction::Forward) => Direction::Reverse,
            (Self::Receiver, Direction::Reverse) => Direction::Forward,
        }
    }
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    flow: FlowId,
    group: u16,
    /// Direction of its data.
    direction: Direction,
    state: ConnectionState,
    /// Number of the connection, as in [`Label::connection`].
    connection: u8,
    /// Connections before the present one.
    serial: u64,
    /// When the sender's and the receiver's application wish to be polled.
    wishes: [Time; 2],
    sender_app: App,
    receiver_app: App,
    transport: Transport,
    /// The sender's own link, where it has a limit.
    access: Option<Box<Access>>,
    /// Set if a connection may follow another.
    renewal: Option<Box<Renewal>>,
}

/// State of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Waiting,
    /// No connection: before the first, between two, or after the last one.
    Idle,
    /// Waits for the end of the handshake.
    Opening,
    Up,
    /// Its application has finished; TCP still owes something.
    Closing,
    /// Stopped from outside; packets in flight still arrive.
    Stopped,
}

/// State that outlives a connection.
#[derive(Debug)]
struct Renewal {
    /// The control of each connection draws from a stream of its own.
    ends: (SenderConfig, ReceiverConfig),
    /// Payload that all earlier connections have delivered, in bytes.
    delivered: u64,
    stats: SenderStats,
}

#[derive(Debug)]
enum Transport {
    Stream(Box<Stream>),
    Datagrams(Datagrams),
}

#[derive(Debug)]
struct Stream {
    sender: Sender,
    receiver: Receiver,
    /// When the connection was asked for; [`Time::MAX`] before that.
    asked: Time,
    /// Bytes that the receiver's application knows of.
    known: u64,
    /// Whether it knows of the end.
    knows_end: bool,
}

impl Stream {
    fn new(ends: &(SenderConfig, ReceiverConfig)) -> Self {
        Self {
            sender: Sender::new(&ends.0),
            receiver: Receiver::new(&ends.1),
            asked: Time::MAX,
            known: 0,
            knows_end: false,
        }
    }
}

#[derive(Debug)]
struct Datagrams {
    ecn: Ecn,
    /// Numbers of datagrams that the sender and the receiver have sent.
    sent: [u64; 2],
    /// Payload that has arrived at the receiver, in bytes.
    delivered: u64,
    /// What has arrived at each end.
    recent: Box<[Recent; 2]>,
}

impl Flow {
    /// Bytes of one flow, without its outstanding data.
    #[cfg(test)]
    pub(crate) const MEMORY: usize =
        size_of::<Self>() + size_of::<Stream>() + size_of::<Access>() + size_of::<Renewal>();

    pub(crate) fn new(flow: FlowId, config: &FlowConfig) -> Self {
        let transport = match &config.transport {
            TransportConfig::Stream(ends) => Transport::Stream(Box::new(Stream::new(ends))),
            // A flow of that kind is a `Session`, not one of these.
            TransportConfig::Session(ends) => Transport::Stream(Box::new(Stream::new(&ends[0]))),
            TransportConfig::Datagrams(ecn) => Transport::Datagrams(Datagrams {
                ecn: *ecn,
                sent: [0; 2],
                delivered: 0,
                recent: Box::default(),
            }),
        };
        let renewal = match &config.transport {
            TransportConfig::Stream(ends) if config.app.renews() => Some(Box::new(Renewal {
                ends: (**ends).clone(),
                delivered: 0,
                stats: SenderStats::default(),
            })),
            _ => None,
        };
        Self {
            flow,
            group: config.group.0 as u16,
            direction: config.direction,
            state: ConnectionState::Waiting,
            connection: 0,
            serial: 0,
            wishes: [Time::MAX; 2],
            sender_app: config.end(Role::Sender),
            receiver_app: config.end(Role::Receiver),
            transport,
            access: Access::new(config.access),
            renewal,
        }
    }

    fn label(&self, end: End) -> Label {
        Label {
            flow: self.flow,
            group: self.group,
            direction: end.sends(self.direction),
            connection: self.connection,
        }
    }

    /// The flow begins.
    pub(crate) fn start<O: Observer<Packet>>(
        &mut self,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        self.state = match self.transport {
            Transport::Stream(_) => ConnectionState::Idle,
            Transport::Datagrams(_) => {
                self.poll_app(End::Receiver, Input::Started, now, network, options);
                self.wake_app(End::Receiver, now, network, options);
                ConnectionState::Up
            }
        };
        self.poll_app(End::Sender, Input::Started, now, network, options);
        self.wake_app(End::Sender, now, network, options);
        self.flush(End::Sender, now, network, options);
    }

    /// The flow stops: it sends nothing more, except retransmissions and the FIN.
    pub(crate) fn stop<O: Observer<Packet>>(
        &mut self,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        self.state = ConnectionState::Stopped;
        self.wishes = [Time::MAX; 2];
        if let Transport::Stream(stream) = &mut self.transport {
            stream.sender.retract(0);
            stream.sender.close();
        }
        self.flush(End::Sender, now, network, options);
    }

    /// Opens the flow's only connection at this time.
    fn open<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        let Transport::Stream(stream) = &mut self.transport else {
            return;
        };
        debug_assert_eq!(
            self.state,
            ConnectionState::Idle,
            "one connection at a time"
        );
        if stream.asked < Time::MAX {
            let Some(renewal) = &mut self.renewal else {
                return;
            };
            renewal.delivered += stream.receiver.delivered();
            renewal.stats = stream.sender.stats().following(&renewal.stats);
            let random = &mut renewal.ends.0.random;
            *random = Random::new(random.u64(), "control");
            **stream = Stream::new(&renewal.ends);
            self.connection = (self.connection + 1) % CONNECTIONS;
            self.serial += 1;
        }
        stream.asked = now;
        stream.sender.open(now);
        if let Some(access) = &self.access {
            stream.sender.set_local_queue(access.bytes());
        }
        self.state = ConnectionState::Opening;
        let connection = ConnectionId::ONLY;
        let opened = Input::Opened {
            connection,
            serial: self.serial,
            asked: now,
        };
        self.tell_receiver_app(opened, now, network);
    }

    /// A packet will arrive: prefetches the line that leads to the rest.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.transport);
        prefetch(&self.direction);
        prefetch(&self.receiver_app);
    }
    /// A packet of `direction` will arrive soon: prefetches the state of its end.
    #[inline]
    pub(crate) fn prefetch_end(&self, direction: Direction) {
        if let Transport::Stream(stream) = &self.transport {
            if direction == self.direction {
                stream.receiver.prefetch();
                prefetch(&stream.known);
            } else {
                stream.sender.prefetch();
            }
        }
    }
    /// A packet of `direction` will arrive next: prefetches the segments that it acknowledges.
    #[inline]
    pub(crate) fn prefetch_segments(&self, direction: Direction) {
        if let Transport::Stream(stream) = &self.transport
            && direction != self.direction
        {
            stream.sender.prefetch_segments();
        }
    }

    /// `packet` has arrived. Returns the end at which it did.
    #[inline]
    pub(crate) fn receive<O: Observer<Packet>>(
        &mut self,
        packet: &Packet,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) -> End {
        let end = if packet.direction() == self.direction {
            End::Receiver
        } else {
            End::Sender
        };
        match &mut self.transport {
            Transport::Stream(stream) => {
                let segment = packet.segment(options);
                if packet.connection() != u32::from(self.connection) {
                    return end;
                }
                match end {
                    End::Sender => {
                        stream.sender.on_segment(&segment, now);
                        if self.state != ConnectionState::Up {
                            stream.sender.release_if_finished();
                            self.proceed(now, network, options);
                        }
                    }
                    End::Receiver => {
                        stream.receiver.on_segment(&segment, now);
                        let delivered = stream.receiver.delivered();
                        if delivered > stream.known {
                            let news = delivered - stream.known;
                            stream.known = delivered;
                            let bytes = Input::Bytes {
                                connection: ConnectionId::ONLY,
                                count: news,
                            };
                            self.receiver_app.poll(now, bytes, &mut network.actions);
                        }
                        if stream.receiver.is_finished() && !stream.knows_end {
                            stream.knows_end = true;
                            self.tell_receiver_app(CLOSED, now, network);
                        }
                    }
                }
                self.flush(end, now, network, options);
            }
            Transport::Datagrams(datagrams) => {
                options.take(packet.options());
                if !datagrams.recent[end as usize].is_new(packet.sequence()) {
                    return end;
                }
                if end == End::Receiver {
                    datagrams.delivered += packet.payload().get();
                }
                let input = Input::Datagram {
                    sequence: packet.sequence(),
                    sent: packet.timestamp(),
                    size: packet.payload() + DATAGRAM_HEADERS,
                    ecn: packet.ecn(),
                    content: packet.content(),
                };
                self.poll_app(end, input, now, network, options);
                self.wake_app(end, now, network, options);
            }
        }
        end
    }

    #[inline]
    fn tell_receiver_app<O: Observer<Packet>>(
        &mut self,
        input: Input,
        now: Time,
        network: &mut Network<O>,
    ) {
        self.receiver_app.poll(now, input, &mut network.actions);
        debug_assert!(
            network.actions.is_empty(),
            "{:?} at a receiver",
            network.actions
        );
    }

    /// Follows the state of the connection after an arrival at the sender.
    fn proceed<O: Observer<Packet>>(
        &mut self,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        let Transport::Stream(stream) = &self.transport else {
            return;
        };
        match self.state {
            ConnectionState::Opening if stream.sender.is_established() => {
                let opened = Input::Opened {
                    connection: ConnectionId::ONLY,
                    serial: self.serial,
                    asked: stream.asked,
                };
                self.state = ConnectionState::Up;
                self.poll_app(End::Sender, opened, now, network, options);
                self.wake_app(End::Sender, now, network, options);
            }
            ConnectionState::Closing if stream.sender.is_done() => {
                self.state = ConnectionState::Idle;
                self.poll_app(End::Sender, CLOSED, now, network, options);
            }
            _ => {}
        }
    }

    /// The timer of `end` rings.
    pub(crate) fn ring<O: Observer<Packet>>(
        &mut self,
        end: End,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        if end == End::Sender {
            self.leave_access(now, network);
        }
        self.wake_app(end, now, network, options);
        if let Transport::Stream(stream) = &mut self.transport {
            match end {
                End::Sender => stream.sender.on_timer(now),
                End::Receiver => stream.receiver.on_timer(now),
            }
            self.flush(end, now, network, options);
        }
    }

    /// Time at which the timer of `end` is to ring; [`Time::MAX`] for never.
    #[inline]
    pub(crate) fn next_timer(&self, end: End) -> Time {
        let stream = match (&self.transport, end) {
            (Transport::Stream(stream), End::Sender) => stream.sender.next_timer(),
            (Transport::Stream(stream), End::Receiver) => stream.receiver.next_timer(),
            (Transport::Datagrams(_), _) => None,
        };
        let timer = stream.unwrap_or(Time::MAX);
        match end {
            End::Sender => {
                let access = self
                    .access
                    .as_ref()
                    .map_or(Time::MAX, |access| access.next());
                timer.min(self.wishes[0]).min(access)
            }
            End::Receiver => timer.min(self.wishes[1]),
        }
    }

    /// Sends the segments that `end` has to send now.
    #[inline]
    fn flush<O: Observer<Packet>>(
        &mut self,
        end: End,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        let label = self.label(end);
        let Transport::Stream(stream) = &mut self.transport else {
            return;
        };
        match end {
            End::Sender => {
                while let Some(segment) = stream.sender.poll(now) {
                    let packet = Packet::stream(label, &segment, options);
                    network.announce(&packet, Some(&segment));
                    match &mut self.access {
                        Some(access) => {
                            access.push(packet, now, network);
                            stream.sender.set_local_queue(access.bytes());
                        }
                        None => network.send(packet, now),
                    }
                }
            }
            End::Receiver => {
                while let Some(segment) = stream.receiver.poll(now) {
                    let packet = Packet::stream(label, &segment, options);
                    network.announce(&packet, Some(&segment));
                    network.send(packet, now);
                }
            }
        }
    }

    /// Hands packets that have left the sender's own link to the bottleneck.
    fn leave_access<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        let Some(access) = &mut self.access else {
            return;
        };
        access.advance(now, network);
        if let Transport::Stream(stream) = &mut self.transport {
            stream.sender.set_local_queue(access.bytes());
        }
    }

    fn poll_app<O: Observer<Packet>>(
        &mut self,
        end: End,
        input: Input,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        let mut actions = std::mem::take(&mut network.actions);
        match end {
            End::Sender => self.sender_app.poll(now, input, &mut actions),
            End::Receiver => self.receiver_app.poll(now, input, &mut actions),
        }
        let mut has_written = false;
        for action in actions.drain(..) {
            // A write sends what may leave before the application shuts down: the FIN stands on data
            // only where some has to wait (Linux `tcp_send_fin`).
            if has_written && matches!(action, Action::Finish(_)) {
                self.flush(end, now, network, options);
            }
            has_written |= matches!(action, Action::Send(..));
            self.obey(end, action, now, network, options);
        }
        network.actions = actions;
    }

    /// Performs the actions of the application of `end`. An action of the other transport cannot come: its
    /// applications are refused before anything starts. Nor does the receiver of a stream ask for
    /// anything.
    fn obey<O: Observer<Packet>>(
        &mut self,
        end: End,
        action: Action,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        let label = self.label(end);
        match (action, &mut self.transport) {
            // Packets that arrive at a flow that was stopped are not answered.
            (Action::WakeAt(_) | Action::Datagram { .. }, _)
                if self.state == ConnectionState::Stopped => {}
            (Action::WakeAt(at), _) => self.wishes[end as usize] = at,
            (Action::Open(_), _) => self.open(now, network),
            (Action::Send(_, data), Transport::Stream(stream)) => match data {
                Data::Bytes(bytes) => stream.sender.write(bytes),
                Data::Message(message) => stream.sender.write(message.length),
                Data::Endless => stream.sender.write_endless(),
                Data::Resume => stream.sender.write_until_retracted(),
                // The socket's buffer was full: the application is never slower than the transport.
                Data::Pause => stream.sender.retract(UNSENT.get()),
            },
            (Action::Finish(_), Transport::Stream(stream)) => {
                stream.sender.close();
                self.state = ConnectionState::Closing;
            }
            (Action::Datagram { size, content }, Transport::Datagrams(datagrams)) => {
                let sent = &mut datagrams.sent[end as usize];
                let packet = Packet::datagram(label, *sent, now, size, datagrams.ecn)
                    .with_content(content)
                    .placed(options);
                *sent += 1;
                network.announce(&packet, None);
                match &mut self.access {
                    Some(access) if end == End::Sender => access.push(packet, now, network),
                    _ => network.send(packet, now),
                }
            }
            (Action::Record(event), _) => network.events.push((self.flow, recorded(event))),
            _ => {}
        }
    }

    /// Polls the application of `end` until it has caught up with the time.
    #[inline]
    fn wake_app<O: Observer<Packet>>(
        &mut self,
        end: End,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        while self.wishes[end as usize] <= now {
            self.wishes[end as usize] = Time::MAX;
            self.poll_app(end, Input::Wake, now, network, options);
        }
    }
}

/// An event that no connection of a session carries.
fn recorded(event: Event) -> Recorded {
    let repairs = Repairs::UNKNOWN;
    Recorded { event, repairs }
}

mod figures;
pub(crate) use figures::take_reports;
#[cfg(test)]
mod tests;
