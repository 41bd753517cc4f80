//! The two ends of one flow on their hosts: applications over TCP or datagrams.
//!
//! A host has no processing time: what arrives is answered at the same instant. The sender's
//! application starts as the flow does; what it writes before the connection is up leaves as soon
//! as it is. What a receiver's application wishes to send is ignored: no application does yet.

use quell_app::{Action, App, Application as _, Input, Report, Send};
use quell_aqm::{Bytes, Ecn, Observer, Time};
use quell_measure::{Direction, FlowId, FlowSample};
use quell_tcp::{Receiver, Sender, SenderStats};

use crate::access::Access;
use crate::config::{FlowConfig, TransportConfig};
use crate::network::Network;
use crate::options::OptionStore;
use crate::packet::{DATAGRAM_HEADERS, Label, Packet};

/// Payload of a full segment; the congestion window is counted in these.
const MSS: u64 = 1_448;

/// An end of a flow: what the lowest bit of a timer's number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Where the data comes from.
    Sender = 0,
    /// Where it goes.
    Receiver = 1,
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    flow: FlowId,
    group: u16,
    /// Of its data.
    direction: Direction,
    state: State,
    /// When the sender's application wishes to be polled.
    wish: Time,
    sender_app: App,
    receiver_app: App,
    transport: Transport,
    /// The sender's own link, where it has a limit.
    access: Option<Box<Access>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Up,
    /// The sender has stopped; what is under way still arrives.
    Stopped,
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
    /// What the receiver's application has been told of.
    told: u64,
}

#[derive(Debug)]
struct Datagrams {
    ecn: Ecn,
    next: u64,
    /// Payload that has arrived.
    delivered: u64,
}

impl Flow {
    pub(crate) fn new(flow: FlowId, config: &FlowConfig) -> Self {
        let transport = match &config.transport {
            TransportConfig::Stream(ends) => Transport::Stream(Box::new(Stream {
                sender: Sender::new(&ends.0),
                receiver: Receiver::new(&ends.1),
                told: 0,
            })),
            TransportConfig::Datagrams(ecn) => Transport::Datagrams(Datagrams {
                ecn: *ecn,
                next: 0,
                delivered: 0,
            }),
        };
        Self {
            flow,
            group: config.group.0 as u16,
            direction: config.direction,
            state: State::Waiting,
            wish: Time::MAX,
            sender_app: config.app.sender(config.random.clone()),
            receiver_app: config.app.receiver(),
            transport,
            access: Access::new(config.access),
        }
    }

    fn label(&self, end: End) -> Label {
        let direction = match (end, self.direction) {
            (End::Sender, direction) => direction,
            (End::Receiver, Direction::Forward) => Direction::Reverse,
            (End::Receiver, Direction::Reverse) => Direction::Forward,
        };
        Label {
            flow: self.flow,
            group: self.group,
            direction,
        }
    }

    /// The flow begins.
    pub(crate) fn start<O: Observer<Packet>>(
        &mut self,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        self.state = State::Up;
        if let Transport::Stream(stream) = &mut self.transport {
            stream.sender.open(now);
        }
        self.receiver_app.poll(now, Input::Started);
        self.poll_sender_app(Input::Started, now, network);
        self.wake_sender_app(now, network);
        self.flush(End::Sender, now, network, options);
    }

    /// The sender stops: nothing is sent any more but what TCP owes.
    pub(crate) fn stop<O: Observer<Packet>>(
        &mut self,
        now: Time,
        network: &mut Network<O>,
        options: &mut OptionStore,
    ) {
        self.state = State::Stopped;
        self.wish = Time::MAX;
        if let Transport::Stream(stream) = &mut self.transport {
            stream.sender.close();
        }
        self.flush(End::Sender, now, network, options);
    }

    /// `packet` has arrived; tells at which end.
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
                match end {
                    End::Sender => stream.sender.on_segment(&segment, now),
                    End::Receiver => {
                        stream.receiver.on_segment(&segment, now);
                        let delivered = stream.receiver.delivered();
                        if delivered > stream.told {
                            let news = delivered - stream.told;
                            stream.told = delivered;
                            self.receiver_app.poll(now, Input::Bytes(news));
                        }
                    }
                }
                self.flush(end, now, network, options);
            }
            Transport::Datagrams(datagrams) => {
                datagrams.delivered += packet.payload().get();
                let input = Input::Datagram {
                    sequence: packet.sequence(),
                    sent: packet.timestamp(),
                    size: packet.payload() + DATAGRAM_HEADERS,
                };
                self.receiver_app.poll(now, input);
            }
        }
        end
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
            self.wake_sender_app(now, network);
        }
        if let Transport::Stream(stream) = &mut self.transport {
            match end {
                End::Sender => stream.sender.on_timer(now),
                End::Receiver => stream.receiver.on_timer(now),
            }
            self.flush(end, now, network, options);
        }
    }

    /// When the timer of `end` shall ring; [`Time::MAX`] for never.
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
                timer.min(self.wish).min(access)
            }
            End::Receiver => timer,
        }
    }

    /// Sends what `end` has to send now.
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
                    network.tell(&packet, Some(&segment));
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
                    network.tell(&packet, Some(&segment));
                    network.send(packet, now);
                }
            }
        }
    }

    /// What has left the sender's own link arrives at the bottleneck.
    fn leave_access<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        let Some(access) = &mut self.access else {
            return;
        };
        access.advance(now, network);
        if let Transport::Stream(stream) = &mut self.transport {
            stream.sender.set_local_queue(access.bytes());
        }
    }

    fn poll_sender_app<O: Observer<Packet>>(
        &mut self,
        input: Input,
        now: Time,
        network: &mut Network<O>,
    ) {
        let Action { send, wake, done } = self.sender_app.poll(now, input);
        self.wish = if done {
            Time::MAX
        } else {
            wake.unwrap_or(Time::MAX)
        };
        let label = self.label(End::Sender);
        match (send, &mut self.transport) {
            (Send::Bytes(bytes), Transport::Stream(stream)) => stream.sender.write(bytes),
            (Send::Endless, Transport::Stream(stream)) => stream.sender.write_endless(),
            (Send::Datagram(size), Transport::Datagrams(datagrams)) => {
                let packet = Packet::datagram(label, datagrams.next, now, size, datagrams.ecn);
                datagrams.next += 1;
                network.tell(&packet, None);
                match &mut self.access {
                    Some(access) => access.push(packet, now, network),
                    None => network.send(packet, now),
                }
            }
            // An application of the other transport is refused before anything starts.
            (Send::Nothing | Send::Bytes(_) | Send::Endless | Send::Datagram(_), _) => {}
        }
        if done && let Transport::Stream(stream) = &mut self.transport {
            stream.sender.close();
        }
    }

    /// Polls the sender's application until it has caught up with the time.
    fn wake_sender_app<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        while self.wish <= now {
            self.poll_sender_app(Input::Wake, now, network);
        }
    }

    /// What there is to measure now.
    pub(crate) fn sample(&self) -> FlowSample {
        match &self.transport {
            Transport::Stream(stream) => {
                let stats = stream.sender.stats();
                let living = self.state == State::Up || !stream.sender.is_done();
                FlowSample {
                    delivered: Bytes::new(stream.receiver.delivered()),
                    retransmitted: stats.retransmitted,
                    rtt: Some(stats.srtt).filter(|rtt| living && !rtt.is_zero()),
                    congestion_window: living.then(|| Bytes::new(u64::from(stats.cwnd) * MSS)),
                }
            }
            Transport::Datagrams(datagrams) => FlowSample {
                delivered: Bytes::new(datagrams.delivered),
                ..FlowSample::default()
            },
        }
    }

    /// What TCP's sender says of itself; `None` for datagrams.
    pub(crate) fn stats(&self) -> Option<SenderStats> {
        match &self.transport {
            Transport::Stream(stream) => Some(stream.sender.stats()),
            Transport::Datagrams(_) => None,
        }
    }

    /// Whether it has started.
    pub(crate) fn is_up(&self) -> bool {
        self.state != State::Waiting
    }

    /// What the receiver's application saw since the last call, or since the start.
    pub(crate) fn take_report(&mut self) -> Option<Report> {
        if !self.is_up() {
            return None;
        }
        let sent = self.sender_app.sent();
        let report = self.receiver_app.report(sent);
        self.receiver_app.start_counting(sent);
        report
    }
}
