//! An interactive game: commands to a server, and states from it. [`game`](crate::game) describes its
//! parts.
//!
//! | traffic | commands: IP length, interval | states | source |
//! | --- | --- | --- | --- |
//! | `docsis` | N(110, 20) B, N(33, 3) ms | N(432, 120) B, N(33, 5) ms | CableLabs' residential model for ns-3; its Ethernet frames are 18 B longer |
//! | `status-sync` | LEV(66, 3.7) B, LEV(15, 5.7) ms | LEV(78, 11) B, LEV(13, 3.7) ms | IEEE 802.11 real-time applications report; UDP payloads with 28 B of headers |
//! | `lockstep` | LEV(120, 38) B, LEV(22, 3.4) ms | LEV(238, 35) B, LEV(28, 4.2) ms | the same |
//! | `fps-64` | 100 B, 1/64 s | 300 B, 1/64 s | the tick of many shooters |
//! | `fps-128` | 100 B, 1/128 s | 300 B, 1/128 s | of fast ones |
//! | `desktop`, over TCP | N(50.6, 5.08) B, Exp 48.287 ms | 70.6 % N(41, 3.2) B, 29.4 % N(1478.3, 11.6) B; Exp 60.2269 ms | virtual desktop of IEEE 802.11ax (TGax), by ns-3 |
//! | `ssh`, over TCP | 48 B, Exp 250 ms | 48 B for each command, at once | somebody types |
//!
//! N is the normal law, LEV the law of the largest extreme value, Exp an exponential interval. Over TCP a
//! size is that of a message, from 24 to 1 500 bytes, and [`stream`](crate::game::stream) has the rest.
//! Sizes of datagrams are drawn from 60 to 1 500 bytes: a
//! smaller one has no room for the contents of a datagram. That leaves out 0.6 % of the commands of
//! `docsis` and of `status-sync`, and the mean grows by 0.3 %.

use quell_units::parameter::{Domain, Preset};
use quell_units::{Bytes, Interval, Parameter, Random, Time, parameters, words};

use crate::datagrams::{self, MAX_DATAGRAM, Receiver};
use crate::game::random_value::RandomValue;
use crate::game::report::GameReport;
use crate::game::round::{Inbox, Outbox};
use crate::game::source::{Flow, LEAST, Source};
use crate::game::stream::OverStream;
use crate::{
    Action, Application, ApplicationKind, Content, Datagrams, Input, Message, Role, Session,
};

words! {
    /// Whose datagrams they are.
    pub enum Traffic {
        /// CableLabs' gaming model.
        Docsis = "docsis",
        /// Status synchronisation of the IEEE's report.
        StatusSync = "status-sync",
        /// Lockstep of the same.
        Lockstep = "lockstep",
        /// A shooter with 64 ticks in a second.
        Fps64 = "fps-64",
        /// A shooter with 128.
        Fps128 = "fps-128",
        /// A remote desktop, over TCP.
        Desktop = "desktop",
        /// A terminal, over TCP.
        Ssh = "ssh",
    }
}

parameters! {
    /// The parameters of a game.
    pub struct Parameters {
        /// Sizes and intervals of commands and states: of games, which send datagrams, and of a remote desktop and a
        /// terminal, which use TCP.
        traffic: Traffic = Parameter::FIXED.default("docsis"),
        /// IP length of a command.
        up_size: Option<Bytes> = SIZE.named("up-size"),
        /// Time between commands, from the receiver to the sender.
        up_interval: Option<Interval> = INTERVAL.named("up-interval"),
        /// IP length of a state.
        down_size: Option<Bytes> = SIZE.named("down-size"),
        /// Time between states, from the sender to the receiver.
        down_interval: Option<Interval> = INTERVAL.named("down-interval"),
        /// The server sends a state at exact intervals of this length; with 0 it answers each command at once.
        tick: Option<Time> = Parameter::FIXED.domain(Domain::Time(Time::ZERO, Time::from_secs(1)))
            .derived("none: a state when the traffic has one; 0s with ssh"),
        /// A command that takes longer than the quickest and this is late.
        deadline: Time = Parameter::FIXED.domain(Domain::Time(Time::from_millis(1), Time::from_secs(10)))
            .default("50ms"),
    }
}

const OF_TRAFFIC: Preset = Preset::Derived("that of the traffic");

const SIZE: Parameter = datagrams::SIZE
    .preset(OF_TRAFFIC)
    .domain(Domain::Bytes(LEAST, MAX_DATAGRAM.get()));

const INTERVAL: Parameter = datagrams::INTERVAL.preset(OF_TRAFFIC);

/// A game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Game {
    /// Commands.
    pub up: Flow,
    /// States.
    pub down: Flow,
    /// A state for each command, at once.
    pub echo: bool,
    /// Over TCP.
    pub is_stream: bool,
    /// See [`Parameters`].
    pub deadline: Time,
}

impl Traffic {
    const fn is_stream(self) -> bool {
        matches!(self, Self::Desktop | Self::Ssh)
    }

    fn flows(self) -> (Flow, Flow) {
        let ethernet = |mean: u64, stddev: u64| {
            (
                RandomValue::Normal {
                    mean: mean * 1_000,
                    stddev: stddev * 1_000,
                },
                -18,
            )
        };
        let udp = |from: u64, scale| {
            (
                RandomValue::Extreme {
                    from: from * 1_000,
                    scale,
                },
                28,
            )
        };
        let fixed = |size: u64| (RandomValue::Fixed(size * 1_000), 0);
        let normal = |mean: u64, stddev: u64| RandomValue::Normal {
            mean: mean * 1_000_000,
            stddev: stddev * 1_000_000,
        };
        let extreme = |from: u64, micros: u64| RandomValue::Extreme {
            from: from * 1_000_000,
            scale: micros * 1_000,
        };
        let exponential = |micros: u64| RandomValue::Exponential {
            mean: micros * 1_000,
        };
        let ticks = |per_second: u64| RandomValue::Fixed(1_000_000_000 / per_second);
        let flow = |size, interval| Flow { size, interval };
        match self {
            Self::Docsis => (
                flow(ethernet(128, 20), normal(33, 3)),
                flow(ethernet(450, 120), normal(33, 5)),
            ),
            Self::StatusSync => (
                flow(udp(38, 3_700), extreme(15, 5_700)),
                flow(udp(50, 11_000), extreme(13, 3_700)),
            ),
            Self::Lockstep => (
                flow(udp(92, 38_000), extreme(22, 3_400)),
                flow(udp(210, 35_000), extreme(28, 4_200)),
            ),
            Self::Fps64 => (flow(fixed(100), ticks(64)), flow(fixed(300), ticks(64))),
            Self::Fps128 => (flow(fixed(100), ticks(128)), flow(fixed(300), ticks(128))),
            Self::Desktop => {
                let up = RandomValue::Normal {
                    mean: 50_600,
                    stddev: 5_080,
                };
                let down = RandomValue::Either {
                    first: 706,
                    laws: [(41_000, 3_200), (1_478_300, 11_600)],
                };
                (
                    flow((up, 0), exponential(48_287)),
                    flow((down, 0), exponential(60_227)),
                )
            }
            Self::Ssh => (
                flow(fixed(48), exponential(250_000)),
                flow(fixed(48), exponential(250_000)),
            ),
        }
    }
}

/// `flow`, with what a scenario gives instead.
fn with(flow: Flow, size: Option<Bytes>, interval: Option<Interval>) -> Flow {
    let own = |size: Bytes| (RandomValue::Fixed(size.get() * 1_000), 0);
    let spaced = |interval: Interval| match interval.stddev.as_nanos() {
        0 => RandomValue::Fixed(interval.mean.as_nanos()),
        stddev => RandomValue::Normal {
            mean: interval.mean.as_nanos(),
            stddev,
        },
    };
    Flow {
        size: size.map_or(flow.size, own),
        interval: interval.map_or(flow.interval, spaced),
    }
}

impl ApplicationKind for Game {
    const NAME: &'static str = "game";
    const SUMMARY: &'static str =
        "an interactive game, remote desktop or terminal: commands, and states that show them";
    const EXAMPLE: &'static str = r#"app = { kind = "game", traffic = "docsis", up-size = "100B", up-interval = "20ms", down-size = "300B", down-interval = "30ms", tick = "50ms", deadline = "50ms" }"#;
    type Parameters = Parameters;
    type End = End;
    type Report = GameReport;

    fn new(parameters: Parameters) -> Self {
        let (up, down) = parameters.traffic.flows();
        let up = with(up, parameters.up_size, parameters.up_interval);
        let mut down = with(down, parameters.down_size, parameters.down_interval);
        let is_typed = parameters.traffic == Traffic::Ssh;
        let echo = parameters.tick.map_or(is_typed, Time::is_zero);
        if let Some(tick) = parameters.tick.filter(|tick| !tick.is_zero()) {
            down.interval = RandomValue::Fixed(tick.as_nanos());
        }
        Self {
            up,
            down,
            echo,
            is_stream: parameters.traffic.is_stream(),
            deadline: parameters.deadline,
        }
    }

    fn end(&self, role: Role, mut random: Random) -> Self::End {
        // Both ends draw these in the same order, so that no parameter of one moves the other.
        let mut stream = |purpose| Random::new(random.u64(), purpose);
        let up = (stream("size"), stream("interval"));
        let down = (stream("size"), stream("interval"));
        let least = if self.is_stream {
            Message::HEADER
        } else {
            LEAST
        };
        match role {
            Role::Sender => {
                let server = Server {
                    source: Source::new(self.down, least, down),
                    echo: self.echo,
                    inbox: Inbox::default(),
                    commands: Receiver::default(),
                };
                match self.is_stream {
                    false => End::Server(Box::new(server)),
                    true => End::StreamServer(Box::new(OverStream::new(server, role))),
                }
            }
            Role::Receiver => {
                let source = Source::new(self.up, least, up);
                let outbox = match self.is_stream {
                    false => Outbox::default(),
                    true => Outbox::ordered(),
                };
                let client = Client::new(source, outbox, self.deadline);
                match self.is_stream {
                    false => End::Client(Box::new(client)),
                    true => End::StreamClient(Box::new(OverStream::new(client, role))),
                }
            }
        }
    }

    fn session(&self) -> Option<Session> {
        self.is_stream.then_some(Session {
            opener: Role::Receiver,
            framed: true,
            connections: 1,
        })
    }

    fn datagrams(&self) -> Option<Datagrams> {
        if self.is_stream {
            return None;
        }
        let sizes = [self.up.size, self.down.size].map(|(law, headers)| match law {
            RandomValue::Fixed(size) => {
                let size = (size / 1_000).saturating_add_signed(headers);
                (size, size)
            }
            _ => (LEAST, MAX_DATAGRAM.get()),
        });
        let up = self.up.interval.mean();
        let gap = if self.echo {
            up
        } else {
            up.min(self.down.interval.mean())
        };
        Some(Datagrams {
            size: Bytes::new(sizes[0].1.max(sizes[1].1)),
            least: Bytes::new(sizes[0].0.min(sizes[1].0)),
            interval: Interval {
                mean: Time::from_nanos(gap),
                stddev: Time::ZERO,
            },
            both_ways: true,
            content: true,
        })
    }
}

/// Either end.
#[derive(Debug, Clone)]
pub enum End {
    /// The world's, with datagrams.
    Server(Box<Server>),
    /// The player's, with datagrams.
    Client(Box<Client>),
    /// The server's over TCP.
    StreamServer(Box<OverStream<Server>>),
    /// The user's over TCP.
    StreamClient(Box<OverStream<Client>>),
}

/// A call of whichever end it is.
macro_rules! of_end {
    ($end:ident, $inner:ident => $call:expr) => {
        match $end {
            End::Server($inner) => $call,
            End::Client($inner) => $call,
            End::StreamServer($inner) => $call,
            End::StreamClient($inner) => $call,
        }
    };
}

impl Application for End {
    type Report = GameReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        of_end!(self, end => end.poll(now, input, actions));
    }
    fn sent(&self) -> u64 {
        of_end!(self, end => end.sent())
    }
    fn advance(&mut self, now: Time) {
        of_end!(self, end => end.advance(now));
    }
    fn start_counting(&mut self, sent: u64) {
        of_end!(self, end => end.start_counting(sent));
    }
    fn report(&self, sent: u64) -> Option<GameReport> {
        of_end!(self, end => end.report(sent))
    }
}

/// The end that has the world.
#[derive(Debug, Clone)]
pub struct Server {
    source: Source,
    echo: bool,
    inbox: Inbox,
    commands: Receiver,
}

impl Application for Server {
    type Report = GameReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let is_command = matches!(input, Input::Datagram { .. });
        if let Input::Datagram { sequence, .. } = input {
            self.commands.poll(now, input, actions);
            self.inbox.put(sequence, now);
        }
        let sends = if self.echo {
            is_command
        } else {
            self.source.is_due(now, input, actions)
        };
        if sends {
            let size = self.source.next();
            let content = self.inbox.content(now);
            actions.push(Action::Datagram { size, content });
        }
    }

    fn sent(&self) -> u64 {
        self.source.sent
    }

    fn start_counting(&mut self, sent: u64) {
        self.commands.start_counting(sent);
    }

    fn report(&self, sent: u64) -> Option<GameReport> {
        Some(GameReport {
            commands: self.commands.report(sent)?,
            ..GameReport::default()
        })
    }
}

/// A state is late if it takes this much longer than the quickest.
const SPIKE: Time = Time::from_millis(100);
/// Number of late states in a row that make a lag spike.
const SPIKE_STATES: u32 = 3;

/// The end that plays.
#[derive(Debug, Clone)]
pub struct Client {
    source: Source,
    deadline: Time,
    states: Receiver,
    outbox: Outbox,
    /// The quickest command and the quickest state so far.
    quickest: [Time; 2],
    /// Late states in a row.
    late_states: u32,
    arrived: Option<Time>,
    /// Since when it counts; `None` before the start.
    since: Option<Time>,
    seen: GameReport,
}

impl Client {
    fn new(source: Source, outbox: Outbox, deadline: Time) -> Self {
        Self {
            source,
            deadline,
            states: Receiver::default(),
            outbox,
            quickest: [Time::MAX; 2],
            late_states: 0,
            arrived: None,
            since: None,
            seen: GameReport::default(),
        }
    }

    fn state(&mut self, now: Time, sent: Time, content: Content) {
        let seen = &mut self.seen;
        if let Some(before) = self.arrived.replace(now) {
            seen.longest_gap = seen.longest_gap.max(now - before);
        }
        let delay = now - sent;
        let [quickest_command, quickest_state] = &mut self.quickest;
        *quickest_state = delay.min(*quickest_state);
        self.late_states = if delay > *quickest_state + SPIKE {
            self.late_states + 1
        } else {
            0
        };
        seen.spikes += u64::from(self.late_states == SPIKE_STATES);
        seen.lost += self.outbox.settle(content, |shown| {
            let took = now - shown.sent;
            *quickest_command = took.min(*quickest_command);
            seen.late += u64::from(took > *quickest_command + self.deadline);
            seen.command_to_state.record(took);
            if let Some(held) = shown.held {
                seen.network_rtt.record(took - held);
            }
        });
    }
}

impl Application for Client {
    type Report = GameReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        self.since.get_or_insert(now);
        if let Input::Datagram { sent, content, .. } = input {
            self.states.poll(now, input, actions);
            self.state(now, sent, content);
        }
        if self.source.is_due(now, input, actions) {
            let size = self.source.next();
            let content = [0; 2];
            actions.push(Action::Datagram { size, content });
            self.seen.lost += self.outbox.put(now);
        }
    }

    fn sent(&self) -> u64 {
        self.source.sent
    }

    fn advance(&mut self, now: Time) {
        if let Some(since) = &mut self.since {
            self.seen.span += now - *since;
            *since = now;
        }
    }

    fn start_counting(&mut self, sent: u64) {
        self.states.start_counting(sent);
        self.seen = GameReport::default();
    }

    fn report(&self, sent: u64) -> Option<GameReport> {
        Some(GameReport {
            states: self.states.report(sent)?,
            ..self.seen.clone()
        })
    }
}

#[cfg(test)]
mod tests;
