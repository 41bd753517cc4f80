//! A session of scripted applications, and the network around it.

use quell_app::{Action, Application, ConnectionId, Input, Message, Role};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::find;
use quell_aqm::impair::Impairer;
use quell_aqm::{Discipline, Link, Observer};
use quell_measure::{Direction, FlowId, GroupId, Hops};
use quell_tcp::{CcConfig, ReceiverConfig, SenderConfig};
use quell_units::{Bytes, Random, Rate, Settings, Time};

use super::super::{Session, World};
use crate::config::{DirectionConfig, FlowConfig, Jitter, LinkConfig, TransportConfig};
use crate::flow::End;
use crate::network::{Network, Source};
use crate::options::OptionStore;
use crate::packet::Packet;
use crate::timers::Timers;

pub(super) const MS: fn(u64) -> Time = Time::from_millis;
/// Payload of a full segment, its packet, and one without payload.
pub(super) const MSS: u64 = 1_448;
pub(super) const FULL: u64 = 1_500;
pub(super) const BARE: u64 = 52;

pub(super) const fn id(number: u32) -> ConnectionId {
    ConnectionId(number)
}

/// Whether a packet is lost, by its number in its direction.
pub(super) type Loses = Box<dyn FnMut(&Packet, u64) -> bool>;

/// Sees nothing.
#[derive(Debug)]
pub(super) struct Blind;
impl Observer<Packet> for Blind {
    fn dropped(&mut self, _packet: Packet, _drop: quell_aqm::Drop, _now: Time) {}
}

type Script = Box<dyn FnMut(Time, Input, &mut Vec<Action>)>;

/// An application that follows its script, and notes its inputs.
pub(super) struct Scripted {
    pub(super) log: Vec<(Time, Input)>,
    script: Script,
}

impl Application for Scripted {
    type Report = u64;
    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        self.log.push((now, input));
        (self.script)(now, input, actions);
    }
}

/// A session and all around it.
pub(super) struct Bench {
    pub(super) session: Session<Scripted>,
    network: Network<Blind>,
    options: OptionStore,
    timers: Timers,
    now: Time,
    /// Whether the wire loses this packet, the so-manieth of its direction.
    pub(super) loses: Loses,
    /// Packets that came to the end of a wire, by direction.
    seen: [u64; 2],
}

pub(super) const RTT: Time = Time::from_millis(7);

impl Bench {
    /// 40 Mbit/s to the client and no limit back, with a base RTT of 7 ms.
    pub(super) fn new(
        opener: Role,
        framed: bool,
        server: impl FnMut(Time, Input, &mut Vec<Action>) + 'static,
        client: impl FnMut(Time, Input, &mut Vec<Action>) + 'static,
    ) -> Self {
        Self::with_access(Rate::UNLIMITED, opener, framed, server, client)
    }

    pub(super) fn with_access(
        access: Rate,
        opener: Role,
        framed: bool,
        server: impl FnMut(Time, Input, &mut Vec<Action>) + 'static,
        client: impl FnMut(Time, Input, &mut Vec<Action>) + 'static,
    ) -> Self {
        let side = |rate| {
            let settings = Settings::new(find("fifo").unwrap().parameters);
            let link = Link {
                rate,
                mtu: Bytes::new(FULL),
            };
            DirectionConfig {
                rate,
                framing: Framing::default(),
                service: Default::default(),
                impairer: Impairer::new(None, 0, "none"),
                markers: Vec::new(),
                passage: None,
                discipline: Discipline::new("fifo", settings, link, Random::new(1, "queue"))
                    .unwrap(),
            }
        };
        let link = LinkConfig::new(side(Rate::from_mbps(40)), side(Rate::UNLIMITED));
        let groups = [(RTT / 2, Hops::all(1))];
        let jitter = Jitter::default();
        let sender = SenderConfig {
            nagle: false,
            ..SenderConfig::new(CcConfig::new("reno", &[]).unwrap().unwrap())
        };
        let receiver = ReceiverConfig::new(sender.ecn);
        let ends = [
            (sender.clone(), receiver.clone()),
            (sender.clone(), receiver.clone()),
        ];
        let config = FlowConfig {
            group: GroupId(0),
            direction: Direction::Forward,
            app: quell_app::Bulk::default().into(),
            changes: Default::default(),
            random: Random::new(1, "app"),
            access,
            transport: TransportConfig::Session(Box::new(ends.clone())),
            start: Time::ZERO,
            stop: None,
        };
        let kind = quell_app::Session {
            opener,
            framed,
            connections: quell_app::Session::MOST,
        };
        let app = |script: Script| Scripted {
            log: Vec::new(),
            script,
        };
        let apps = [app(Box::new(server)), app(Box::new(client))];
        let mut bench = Self {
            session: Session::of(FlowId(0), &config, kind, &ends, apps),
            network: Network::new(vec![link], &groups, &jitter, vec![Blind, Blind]).unwrap(),
            options: OptionStore::default(),
            timers: Timers::new(2),
            now: Time::ZERO,
            loses: Box::new(|_, _| false),
            seen: [0; 2],
        };
        bench.act(Session::start);
        bench
    }

    pub(super) fn act(&mut self, act: impl FnOnce(&mut Session<Scripted>, &mut World<'_, Blind>)) {
        let mut world = World {
            now: self.now,
            network: &mut self.network,
            options: &mut self.options,
            timers: &mut self.timers,
        };
        act(&mut self.session, &mut world);
        self.network.settle(&mut self.options);
        self.network.set_timers(self.timers.next());
    }

    /// Everything before `until`, as the simulator does it.
    pub(super) fn run(&mut self, until: Time) {
        loop {
            let (at, source) = self.network.next();
            if at >= until {
                self.now = until;
                return;
            }
            self.now = at;
            match source {
                Source::Bottleneck(path) => self.network.advance(path, at),
                Source::Between(lane) => self.network.pass_on(lane, at),
                Source::Lane(lane) => {
                    let packet = self.network.release(lane, at).unwrap();
                    let direction = packet.direction().index();
                    self.seen[direction] += 1;
                    if (self.loses)(&packet, self.seen[direction]) {
                        packet.session_segment(&mut self.options);
                        continue;
                    }
                    self.act(|session, world| session.receive(&packet, world));
                }
                Source::Timers => {
                    while let Some(timer) = self.timers.pop(self.now) {
                        match self.timers.owner(timer) {
                            Some((_, place)) => {
                                self.act(|s, world| s.ring_connection(place, world))
                            }
                            None => {
                                let end = End::BOTH[timer as usize % 2];
                                self.act(|session, world| session.ring(end, world));
                            }
                        }
                    }
                    self.network.set_timers(self.timers.next());
                }
            }
        }
    }

    pub(super) fn log(&self, end: End) -> &[(Time, Input)] {
        &self.session.apps[end as usize].log
    }
    /// The time at which the client learnt of the end of a connection.
    pub(super) fn ends(&self, end: End) -> Vec<(Time, u32)> {
        let ended = |&(at, input): &(Time, Input)| match input {
            Input::Closed { connection } => Some((at, connection.0)),
            _ => None,
        };
        self.log(end).iter().filter_map(ended).collect()
    }
    pub(super) fn bytes(&self, end: End) -> u64 {
        let count = |(_, input): &(Time, Input)| match input {
            Input::Bytes { count, .. } => *count,
            Input::Message { .. } => Message::HEADER,
            _ => 0,
        };
        self.log(end).iter().map(count).sum()
    }
    /// What applications have recorded.
    pub(super) fn records(&self) -> Vec<quell_app::Recorded> {
        let records = self.network.events.iter();
        records.map(|(_, recorded)| *recorded).collect()
    }
    pub(super) fn failures(&self, end: End) -> usize {
        let failed = |(_, input): &&(Time, Input)| matches!(input, Input::Failed { .. });
        self.log(end).iter().filter(failed).count()
    }
    pub(super) fn has_nothing_left(&self) -> bool {
        self.session.slots.in_use().count() == 0
            && self.session.waiting == 0
            && self.options.in_use() == 0
            && self.timers.next() == Time::MAX
    }
}
