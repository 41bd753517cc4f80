//! One end of a flow on one host: its application, its socket, and its pending work.

mod connecting;
mod context;
mod datagram_socket;
mod datagrams;
mod life;
mod records;
mod session;
mod stream;
mod stream_socket;

use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use quell_app::{Action, ConnectionId, Data, Input, Notes, Session};
use quell_units::Time;

use super::clock::{Alarm, Timers, Wish};
use super::endpoint::Host;
use super::error::{FlowFailure, doing};
use super::plan::{AnyEnd, FlowPlan};
use super::poller::{Readiness, Token};
use super::report::Stretch;
use super::shared::FlowShared;
use super::socket;
use super::tcp_info::TcpInfo;
pub(super) use context::Context;
pub(super) use datagram_socket::{DatagramEnd, Port, take};
use life::Life;
use session::{Lost, SessionEnd};
use stream_socket::StreamEnd;

/// The state of a flow.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "an end has one, for as long as it lives"
)]
enum State {
    /// It waits for its start, or for the other host to connect.
    Waiting,
    Connecting(OwnedFd),
    Stream(StreamEnd),
    Datagrams(DatagramEnd),
    Session(SessionEnd),
    Ended,
}

/// One end of a flow.
pub(super) struct End {
    /// Index of the flow's plan, and of this end on its host.
    index: usize,
    /// Whether this end sends the flow's data.
    source: bool,
    /// Whether both ends send datagrams.
    both_ways: bool,
    /// The host that opens connections.
    opener: Host,
    /// Of the host that opens connections, or sends datagrams from a port of its own.
    client: IpAddr,
    /// Of the other host, with the group's port.
    server: SocketAddr,
    session: Option<Session>,
    congestion_control: Option<String>,
    /// This end sends the data, and paces.
    paced: bool,
    /// Endless data is read some segments at a time.
    reads_in_pieces: bool,
    life: Life,
    app: AnyEnd,
    /// What it has had noted.
    notes: Notes,
    /// The application may open one connection after another.
    renews: bool,
    wish: Wish,
    /// When the flow was first up.
    up: Option<Time>,
    /// Number of connections that were announced to the application.
    told: u64,
    /// When the connection that is being opened must be up.
    connect_by: Time,
    /// The flow has reached its stop.
    stopped: bool,
    /// The flow has reached its stop or the application is done: this end sends nothing more on this connection.
    finished: bool,
    state: State,
    /// Of all connections so far.
    tcp: Option<TcpInfo>,
    /// Of those before the present one.
    tcp_before: TcpInfo,
    /// Of the flow, at the last regular tick.
    delivered_before: u64,
    stretches: Vec<Stretch>,
    lost: Lost,
    failure: Option<FlowFailure>,
}

/// The remains of an end when its host has stopped.
pub(super) struct Remains {
    pub(super) source: bool,
    pub(super) up: Option<Time>,
    pub(super) tcp: Option<TcpInfo>,
    pub(super) stretches: Vec<Stretch>,
    pub(super) lost: Lost,
    pub(super) failure: Option<FlowFailure>,
}

impl End {
    /// Polls in one turn; a host that is far behind serves its other flows in between.
    const POLLS_PER_TURN: usize = 256;

    pub(super) fn new(index: usize, plan: &FlowPlan, host: Host) -> Self {
        let source = plan.source == host;
        let datagrams = plan.app.datagrams();
        let both_ways = datagrams.is_some_and(|datagrams| datagrams.both_ways);
        Self {
            index,
            source,
            both_ways,
            opener: plan.opener(),
            client: plan.client(),
            server: plan.server(),
            session: plan.session(),
            congestion_control: plan.control_at(host).map(str::to_owned),
            paced: plan.paced && source,
            reads_in_pieces: plan.app.reads_in_pieces(),
            life: Life::new(plan, host),
            app: plan.end(host),
            notes: Notes::default(),
            renews: plan.app.renews(),
            wish: Wish::default(),
            up: None,
            told: 0,
            connect_by: Time::MAX,
            stopped: false,
            finished: false,
            state: State::Waiting,
            tcp: None,
            tcp_before: TcpInfo::default(),
            delivered_before: 0,
            stretches: Vec::new(),
            lost: Lost::default(),
            failure: None,
        }
    }

    /// Sets the alarms for its start and its stop.
    pub(super) fn set_alarms(&self, timers: &mut Timers) {
        self.life.set_alarms(self.index, timers);
    }

    /// Its flow starts and stops at other times than planned before.
    pub(super) fn replan(&mut self, timers: &mut Timers, start: Time, stop: Option<Time>) {
        self.life.replan(self.index, timers, start, stop);
    }

    pub(super) fn use_datagrams(&mut self, datagrams: DatagramEnd) {
        self.state = State::Datagrams(datagrams);
    }

    pub(super) fn is_source(&self) -> bool {
        self.source
    }

    /// Whether this end sends data or datagrams.
    pub(super) fn sends(&self) -> bool {
        self.source || self.both_ways || self.session.is_some()
    }

    pub(super) fn is_up(&self) -> bool {
        self.up.is_some()
    }

    /// Whether a connection is up.
    pub(super) fn is_connected(&self) -> bool {
        match &self.state {
            State::Stream(_) => true,
            State::Session(session) => session.is_connected(),
            _ => false,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Whether it sends nothing more and has told all that there is. What is in flight to it may still arrive.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended() || self.both_ways && self.stopped
    }

    fn token(&self) -> Token {
        Token::End(self.index)
    }

    fn shared<'a>(&self, context: &'a Context) -> &'a FlowShared {
        &context.shared.flows[self.index]
    }

    /// A timer of this end is due.
    pub(super) fn ring(&mut self, context: &mut Context, at: Time, alarm: Alarm) {
        if !self.life.is_due(at, alarm) {
            return;
        }
        match (alarm, &mut self.state) {
            (Alarm::Start, State::Waiting) if let Some(session) = self.session => {
                self.begin_session(context, session);
            }
            (Alarm::Start, State::Waiting) => {
                self.poll(context, Input::Started);
                self.drive(context);
            }
            (Alarm::Start, State::Datagrams(_)) => self.go_up(context),
            (Alarm::Wake, _) => {
                self.wish.rang(at);
                self.drive(context);
            }
            (Alarm::Stop, _) => self.stop(context),
            // The alarm of an earlier connection is not of this one.
            (Alarm::ConnectBy, State::Connecting(_)) if at == self.connect_by => {
                self.fail(FlowFailure::NotConnected {
                    within: context.connect_within,
                });
            }
            (Alarm::ConnectBy, State::Session(session)) => {
                session.give_up(context);
                self.drive(context);
            }
            (Alarm::Start | Alarm::ConnectBy, _) => {}
        }
    }

    /// Something happened at this end's own socket.
    pub(super) fn serve(&mut self, context: &mut Context, readiness: Readiness) {
        match &self.state {
            State::Connecting(_) => self.finish_connecting(context),
            State::Stream(_) => self.serve_stream(context, readiness),
            State::Datagrams(_) => self.serve_datagrams(context, readiness),
            State::Waiting | State::Session(_) | State::Ended => {}
        }
    }

    /// Announces to the application, once, that datagrams can be sent.
    fn go_up(&mut self, context: &mut Context) {
        if self.up.is_none() {
            self.up = Some(context.now());
            self.poll(context, Input::Started);
            self.drive(context);
        }
    }

    /// Tells the application what happened, and does what it asks for.
    fn poll(&mut self, context: &mut Context, input: Input) {
        if self.has_ended() {
            return;
        }
        let mut actions = mem::take(&mut context.actions);
        let now = match input {
            // Who reads in pieces learns late of what has arrived: the exact time of that would mean nothing.
            Input::Bytes { .. } if self.reads_in_pieces => context.present.last(),
            _ => context.present.now(),
        };
        self.app.poll(now.unwrap_or_default(), input, &mut actions);
        for action in actions.drain(..) {
            // Nothing follows the end, nor what the application has finished with.
            if self.finished && !matches!(action, Action::Record(_)) {
                continue;
            }
            if let Err(failure) = self.obey(context, action) {
                self.fail(failure);
            }
        }
        context.actions = actions;
    }

    fn obey(&mut self, context: &mut Context, action: Action) -> Result<(), FlowFailure> {
        match (action, &mut self.state) {
            (Action::WakeAt(at), _) => {
                self.wish.replace(Some(at));
                Ok(())
            }
            (Action::Record(event), _) => {
                let recorded = self.recorded(event);
                context.events.push((self.index, recorded));
                Ok(())
            }
            (Action::Note { note, carrier }, state) => {
                self.notes.put(note, state.counters(carrier));
                Ok(())
            }
            (Action::Open(connection), State::Session(_)) => {
                self.open_connection(context, connection)
            }
            (Action::Send(connection, data), State::Session(session)) => {
                session.send(connection, data);
                Ok(())
            }
            (Action::WhenSent(connection), State::Session(session)) => {
                session.tell_when_sent(connection);
                Ok(())
            }
            (Action::Finish(connection), State::Session(session)) => {
                session.finish(connection);
                Ok(())
            }
            (Action::Abort(connection), State::Session(session)) => {
                session.abort(context, connection);
                Ok(())
            }
            (Action::Open(_), State::Waiting) => self.connect(context),
            (Action::Send(_, data), State::Stream(stream)) => match data {
                Data::Bytes(bytes) => {
                    stream.queue(bytes);
                    Ok(())
                }
                Data::Message(_) => Err(FlowFailure::WrongTransport),
                Data::Endless => {
                    context.shared.flows[self.index]
                        .endless
                        .store(true, Ordering::Relaxed);
                    stream
                        .queue_endless()
                        .map_err(doing("prepare a socket for bulk data"))
                }
                Data::Resume => stream
                    .resume()
                    .map_err(doing("prepare a socket for data in bursts")),
                Data::Pause => {
                    // The poller reports a connection that is gone as well.
                    let _ = stream.pause();
                    Ok(())
                }
            },
            (Action::Finish(_), State::Stream(_)) => {
                self.finished = true;
                Ok(())
            }
            (Action::Datagram { size, content }, State::Datagrams(datagrams)) => {
                datagrams.queue(context.now(), size, content)
            }
            _ => Err(FlowFailure::WrongTransport),
        }
    }

    /// Polls the application until it has caught up with the time, sends, and sets a timer for its next poll.
    fn drive(&mut self, context: &mut Context) {
        while let Some(input) = self.next_input() {
            self.poll(context, input);
        }
        for _ in 0..Self::POLLS_PER_TURN {
            if !self.poll_if_due(context) {
                break;
            }
        }
        self.tell_sent(context);
        self.flush(context);
        if !self.finished
            && !self.is_blocked()
            && let Some(at) = self.wish.arm()
        {
            context.timers.set(at, self.index, Alarm::Wake);
        }
    }

    fn poll_if_due(&mut self, context: &mut Context) -> bool {
        let stop = self.life.stop();
        let due = !self.has_ended()
            && !self.finished
            && self.has_room(context)
            && self.wish.is_before(stop)
            && self.wish.take_due(context.now(), stop);
        if due {
            self.poll(context, Input::Wake);
        }
        due
    }

    fn tell_sent(&self, context: &Context) {
        if self.sends() {
            let sent = self.app.sent();
            let shared = &self.shared(context).sent[usize::from(!self.source)];
            shared.store(sent, Ordering::Relaxed);
        }
    }

    /// Whether another datagram can be taken; makes room by sending.
    fn has_room(&mut self, context: &mut Context) -> bool {
        if matches!(&self.state, State::Datagrams(datagrams) if datagrams.is_full()) {
            self.flush(context);
        }
        !self.is_blocked()
    }

    fn is_blocked(&self) -> bool {
        match &self.state {
            State::Datagrams(datagrams) => datagrams.is_blocked(),
            _ => false,
        }
    }

    fn flush(&mut self, context: &mut Context) {
        match &self.state {
            State::Stream(_) => self.flush_stream(context),
            State::Datagrams(_) => self.flush_datagrams(context),
            State::Session(_) => self.flush_session(context),
            State::Waiting | State::Connecting(_) | State::Ended => {}
        }
    }

    /// The flow has reached its stop: data that was due before is sent, and nothing else.
    fn stop(&mut self, context: &mut Context) {
        if self.up.is_some() {
            while self.poll_if_due(context) {}
            self.tell_sent(context);
        }
        self.stopped = true;
        self.finished = true;
        match &mut self.state {
            State::Waiting => self.end(),
            // A flow that has been up before lacks nothing.
            State::Connecting(_) if self.up.is_some() => self.end(),
            State::Connecting(_) => {
                let within = self.tried(context);
                self.fail(FlowFailure::NotConnected { within });
            }
            State::Stream(stream) => {
                stream.forget_unwritten();
                self.flush_stream(context);
            }
            State::Datagrams(_) => {
                self.flush_datagrams(context);
                // What is in flight from the other end still counts.
                if !self.both_ways {
                    self.end();
                }
            }
            State::Session(session) => {
                session.stop(context);
                self.flush_session(context);
            }
            State::Ended => {}
        }
    }

    /// Ends this end, for a reason that will be reported.
    fn fail(&mut self, failure: FlowFailure) {
        self.failure.get_or_insert(failure);
        self.end();
    }

    /// The connection is over. Another one may follow while the flow lives.
    fn closed(&mut self, context: &mut Context) {
        self.tcp_before = self.refresh_tcp().unwrap_or_default();
        self.state = State::Waiting;
        self.finished = self.stopped || context.now() >= self.life.flow_stop();
        self.wish.replace(None);
        let connection = ConnectionId::ONLY;
        self.poll(context, Input::Closed { connection });
        // The other host waits for what this one opens.
        let follows = match context.host {
            Host::Sender => {
                self.wish.is_before(self.life.flow_stop())
                    || matches!(self.state, State::Connecting(_))
            }
            Host::Receiver => self.renews,
        };
        if self.finished || !follows {
            self.end();
        } else if let Some(at) = self.wish.arm() {
            context.timers.set(at, self.index, Alarm::Wake);
        }
    }

    fn end(&mut self) {
        self.refresh_tcp();
        if let State::Session(session) = &mut self.state {
            self.lost = mem::take(&mut session.lost);
        }
        self.state = State::Ended;
        // No timer is set for a wish that nobody will grant.
        self.finished = true;
    }

    /// The kernel's report of the connection, as of now or of its end. `None` unless this is the data sender of a stream.
    pub(super) fn refresh_tcp(&mut self) -> Option<TcpInfo> {
        match &self.state {
            State::Stream(stream) if self.source => {
                if let Ok(info) = TcpInfo::of(stream.socket()) {
                    self.tcp = Some(info.following(&self.tcp_before));
                }
            }
            State::Session(session) if self.source => self.tcp = session.tcp(),
            _ => {}
        }
        self.tcp
    }

    /// A boundary: what the application saw since the last one is a stretch of its own.
    pub(super) fn mark_boundary(&mut self, context: &Context, from: Time, to: Time) {
        if self.source && !self.both_ways && self.session.is_none() {
            return;
        }
        // A connection that has been asked for and is not here yet is something under way, too.
        let (connections, opened) = self.shared(context).opened();
        if matches!(self.state, State::Waiting | State::Connecting(_)) && connections > self.told {
            self.told = connections;
            self.tell_early(context, opened);
        }
        if self.up.is_none() && self.told == 0 {
            return;
        }
        let of_other = &self.shared(context).sent[usize::from(self.source)];
        let sent = of_other.load(Ordering::Relaxed);
        self.app.advance(to);
        if let Some(report) = self.app.report(sent) {
            self.stretches.push(Stretch { from, to, report });
        }
        self.app.start_counting(sent);
    }

    /// A connection has been asked for. An application that receives answers nothing.
    fn tell_early(&mut self, context: &Context, asked: Time) {
        let opened = self.opened(asked);
        self.app.poll(context.now(), opened, &mut Vec::new());
    }

    /// What the application is told of the connection that is announced now.
    fn opened(&self, asked: Time) -> Input {
        Input::Opened {
            connection: ConnectionId::ONLY,
            serial: self.told.saturating_sub(1),
            asked,
        }
    }

    /// The run is over. The socket stays open until [`End`] is dropped, but closing it will send nothing more than a reset.
    pub(super) fn remains(&mut self) -> Remains {
        let tcp = self.refresh_tcp();
        if let State::Stream(stream) = &self.state {
            // If it fails, the kernel drops what is left when the namespace goes.
            let _ = socket::set_abort_on_close(stream.socket());
        }
        if let State::Session(session) = &mut self.state {
            session.abort_on_close();
            self.lost = mem::take(&mut session.lost);
        }
        Remains {
            source: self.source,
            up: self.up,
            tcp,
            stretches: mem::take(&mut self.stretches),
            lost: mem::take(&mut self.lost),
            failure: self.failure.take(),
        }
    }
}
