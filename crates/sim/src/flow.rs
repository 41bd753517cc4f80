//! The two ends of one flow on their hosts: applications over TCP or datagrams.
//!
//! A host has no processing time: what arrives is answered at the same instant. The sender opens
//! connections; its application starts when the handshake is over, the receiver's hears of a
//! connection as it is asked for. What a receiver's application wishes to send is ignored: no
//! application does yet.
//!
//! A flow may open one connection after another. Each starts with nothing known of the path;
//! segments of an earlier connection that are still under way are dropped on arrival, and the
//! flow's counters go on.

use quell_app::{Action, App, Application as _, Input, Report, Send, UNSENT};
use quell_aqm::Observer;
use quell_measure::{Direction, FlowId, FlowSample};
use quell_tcp::cache::prefetch;
use quell_tcp::{Receiver, ReceiverConfig, Sender, SenderConfig, SenderStats};
use quell_units::{Bytes, Ecn, Time};

use crate::access::Access;
use crate::config::{FlowConfig, TransportConfig};
use crate::network::Network;
use crate::options::OptionStore;
use crate::packet::{CONNECTIONS, DATAGRAM_HEADERS, Label, Packet};

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
    /// As in [`Label::connection`].
    connection: u8,
    /// When the sender's application wishes to be polled, or when the next connection opens.
    wish: Time,
    sender_app: App,
    receiver_app: App,
    transport: Transport,
    /// The sender's own link, where it has a limit.
    access: Option<Box<Access>>,
    /// Where a connection may follow another.
    renewal: Option<Box<Renewal>>,
}

/// How far the sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// The handshake is under way.
    Opening,
    Up,
    /// Its application is done; TCP still owes something.
    Closing,
    /// Between two connections, or behind the last one.
    Idle,
    /// Told to stop; what is under way still arrives.
    Stopped,
}

/// What outlives a connection.
#[derive(Debug)]
struct Renewal {
    ends: (SenderConfig, ReceiverConfig),
    /// Of all earlier connections.
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
    /// When the connection was asked for.
    opened: Time,
    /// What the receiver's application has been told of.
    told: u64,
    /// Whether it has been told of the end.
    told_end: bool,
}

impl Stream {
    fn new(ends: &(SenderConfig, ReceiverConfig)) -> Self {
        Self {
            sender: Sender::new(&ends.0),
            receiver: Receiver::new(&ends.1),
            opened: Time::ZERO,
            told: 0,
            told_end: false,
        }
    }
}

#[derive(Debug)]
struct Datagrams {
    ecn: Ecn,
    next: u64,
    /// Payload that has arrived.
    delivered: u64,
}

impl Flow {
    /// Bytes of one flow, without what it has outstanding.
    #[cfg(test)]
    pub(crate) const MEMORY: usize =
        size_of::<Self>() + size_of::<Stream>() + size_of::<Access>() + size_of::<Renewal>();

    pub(crate) fn new(flow: FlowId, config: &FlowConfig) -> Self {
        let transport = match &config.transport {
            TransportConfig::Stream(ends) => Transport::Stream(Box::new(Stream::new(ends))),
            TransportConfig::Datagrams(ecn) => Transport::Datagrams(Datagrams {
                ecn: *ecn,
                next: 0,
                delivered: 0,
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
            state: State::Waiting,
            connection: 0,
            wish: Time::MAX,
            sender_app: config.app.sender(config.random.clone()),
            receiver_app: config.app.receiver(config.random.clone()),
            transport,
            access: Access::new(config.access),
            renewal,
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
        let started = Input::Started { opened: now };
        self.receiver_app.poll(now, started);
        match &mut self.transport {
            Transport::Stream(stream) => {
                self.state = State::Opening;
                stream.opened = now;
                stream.sender.open(now);
                self.flush(End::Sender, now, network, options);
            }
            Transport::Datagrams(_) => {
                self.state = State::Up;
                self.poll_sender_app(started, now, network);
                self.wake_sender_app(now, network);
            }
        }
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
            stream.sender.retract(0);
            stream.sender.close();
        }
        self.flush(End::Sender, now, network, options);
    }

    /// The next connection opens.
    fn reopen(&mut self, now: Time) {
        let (Transport::Stream(stream), Some(renewal)) = (&mut self.transport, &mut self.renewal)
        else {
            return;
        };
        renewal.delivered += stream.receiver.delivered();
        renewal.stats = stream.sender.stats().following(&renewal.stats);
        **stream = Stream::new(&renewal.ends);
        stream.opened = now;
        stream.sender.open(now);
        if let Some(access) = &self.access {
            stream.sender.set_local_queue(access.bytes());
        }
        self.connection = (self.connection + 1) % CONNECTIONS;
        self.state = State::Opening;
        self.wish = Time::MAX;
        self.receiver_app.poll(now, Input::Started { opened: now });
    }

    /// A packet will arrive: asks for the line that tells where the rest is.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.transport);
        prefetch(&self.direction);
        prefetch(&self.receiver_app);
    }
    /// A packet of `direction` will arrive soon: asks for what its end needs.
    #[inline]
    pub(crate) fn prefetch_end(&self, direction: Direction) {
        if let Transport::Stream(stream) = &self.transport {
            if direction == self.direction {
                stream.receiver.prefetch();
                prefetch(&stream.told);
            } else {
                stream.sender.prefetch();
            }
        }
    }
    /// A packet of `direction` will arrive at once.
    #[inline]
    pub(crate) fn prefetch_segments(&self, direction: Direction) {
        if let Transport::Stream(stream) = &self.transport
            && direction != self.direction
        {
            stream.sender.prefetch_segments();
        }
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
                if packet.connection() != self.connection {
                    return end;
                }
                match end {
                    End::Sender => {
                        stream.sender.on_segment(&segment, now);
                        if self.state != State::Up {
                            stream.sender.release_if_finished();
                            self.proceed(now, network);
                        }
                    }
                    End::Receiver => {
                        stream.receiver.on_segment(&segment, now);
                        let delivered = stream.receiver.delivered();
                        if delivered > stream.told {
                            let news = delivered - stream.told;
                            stream.told = delivered;
                            self.receiver_app.poll(now, Input::Bytes(news));
                        }
                        if stream.receiver.is_finished() && !stream.told_end {
                            stream.told_end = true;
                            self.receiver_app.poll(now, Input::Closed);
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

    /// What an arrival at the sender has changed while its connection was not simply up.
    fn proceed<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        let Transport::Stream(stream) = &self.transport else {
            return;
        };
        let opened = stream.opened;
        match self.state {
            State::Opening if stream.sender.is_established() => {
                self.state = State::Up;
                self.poll_sender_app(Input::Started { opened }, now, network);
                self.wake_sender_app(now, network);
            }
            State::Closing if stream.sender.is_done() => {
                self.state = State::Idle;
                let again = self.sender_app.poll(now, Input::Closed).again;
                self.wish = again.unwrap_or(Time::MAX);
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
        if end == End::Sender && self.wish <= now {
            match self.state {
                State::Idle => self.reopen(now),
                _ => self.wake_sender_app(now, network),
            }
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
        let Action {
            send, wake, done, ..
        } = self.sender_app.poll(now, input);
        self.wish = if done {
            Time::MAX
        } else {
            wake.unwrap_or(Time::MAX)
        };
        let label = self.label(End::Sender);
        match (send, &mut self.transport) {
            (Send::Bytes(bytes), Transport::Stream(stream)) => stream.sender.write(bytes),
            (Send::Endless, Transport::Stream(stream)) => stream.sender.write_endless(),
            (Send::Resume, Transport::Stream(stream)) => stream.sender.write_until_retracted(),
            // The socket's buffer was full: the application is never slower than the transport.
            (Send::Pause, Transport::Stream(stream)) => stream.sender.retract(UNSENT.get()),
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
            (Send::Bytes(_) | Send::Endless | Send::Resume | Send::Pause, _)
            | (Send::Nothing | Send::Datagram(_), _) => {}
        }
        if done && let Transport::Stream(stream) = &mut self.transport {
            stream.sender.close();
            self.state = State::Closing;
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
                let is_up = matches!(self.state, State::Opening | State::Up);
                let living = is_up || !stream.sender.is_done();
                let (delivered, retransmitted) = match &self.renewal {
                    Some(renewal) => (renewal.delivered, renewal.stats.retransmitted),
                    None => (0, 0),
                };
                FlowSample {
                    delivered: Bytes::new(delivered + stream.receiver.delivered()),
                    retransmitted: retransmitted + stats.retransmitted,
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

    /// What TCP's sender says of itself, over all connections; `None` for datagrams.
    pub(crate) fn stats(&self) -> Option<SenderStats> {
        match &self.transport {
            Transport::Stream(stream) => Some(match &self.renewal {
                Some(renewal) => stream.sender.stats().following(&renewal.stats),
                None => stream.sender.stats(),
            }),
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

#[cfg(test)]
mod tests;
