//! Packets that come from other networks get the same new values and the same fates as in the simulator.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::frames::Pool;
use crate::path::chain::{Chain, Member, Spans};
use quell_app::{Cbr, Interval};
use quell_aqm::QueueId;
use quell_aqm::marker::{PERIOD, Remarker};
use quell_measure::{GroupId, Hops};
use quell_sim::{Config, FlowConfig, Jitter, LinkConfig, Simulator, TransportConfig};

/// Whatever happens at a queue: what, when, and to which packet with which value.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log(Vec<(&'static str, Time, u64, Bytes, u16)>);

impl Log {
    fn note(&mut self, what: &'static str, packet: &impl quell_aqm::Packet, now: Time) {
        let (flow, len, value) = (packet.flow(), packet.len(), packet.value());
        self.0.push((what, now, flow, len, value));
    }
}

impl<P: quell_aqm::Packet> Observer<P> for Log {
    fn enqueued(&mut self, _queue: QueueId, packet: &P, now: Time) {
        self.note("in", packet, now);
    }
    fn dequeued(&mut self, _queue: QueueId, packet: &P, now: Time) {
        self.note("out", packet, now);
    }
    fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
        // Those that were refused did not come in.
        self.note(if drop.queued { "lost" } else { "refused" }, &packet, now);
    }
}

/// Groups: the size of their datagrams, which distinguishes them, and the microseconds between two: from 11 to 21 Mbit/s.
const GROUPS: [(u64, u64); 4] = [(1_500, 601), (1_400, 709), (1_300, 503), (600, 449)];
const END: Time = Time::from_secs(2);

/// Two flow groups of a network and one without a network cross both links; one of another network crosses the second alone.
fn paths() -> [Hops; 4] {
    let both = Hops::all(2);
    let second = Hops {
        first: Hop(1),
        last: Hop(1),
    };
    [both, both, second, both]
}

fn function(name: &str) -> ValueFunction {
    ValueFunction::named(name, CodeScale::default()).unwrap()
}

/// The markers in front of the queues of groups that come to a link first: a function each, or none.
fn markers(functions: [Option<&str>; 4]) -> Vec<Option<Marker>> {
    let marker = |(group, name): (usize, Option<&str>)| {
        let settings = Settings::new(MARKERS[0].parameters);
        let random = Random::new(1, &format!("marker.{group}"));
        Marker::new(MARKERS[0].name, &settings, &[function(name?)], random).ok()
    };
    functions.into_iter().enumerate().map(marker).collect()
}

/// The network of each group in front of a link, and the passage of these.
fn passage(hop: u16, networks: [Option<usize>; 4]) -> Passage {
    let functions = [function("gold"), function("silver")];
    let highest = function("gold").highest();
    let random = Random::new(1, &format!("remark.{hop}"));
    Passage {
        remarker: Remarker::new(&functions, highest, PERIOD, 1, random),
        networks: networks.into(),
    }
}

fn discipline<P: quell_aqm::Packet>(kind: &str, rate: Rate) -> Discipline<P> {
    let settings = Settings::new(disciplines::find(kind).unwrap().parameters);
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    Discipline::new(kind, settings, link, Random::new(1, "queue")).unwrap()
}

/// Rate, queue, markers and passage of each link; the first one gives new values behind its own markers.
fn links() -> [(Rate, &'static str, Vec<Option<Marker>>, Passage); 2] {
    [
        (
            Rate::from_mbps(40),
            "csaqm",
            markers([Some("gold"), Some("silver"), None, None]),
            passage(0, [None, Some(1), None, None]),
        ),
        (
            Rate::from_mbps(30),
            "drop_min_value",
            markers([None, None, Some("gold"), None]),
            passage(1, [Some(0), Some(0), Some(1), None]),
        ),
    ]
}

const DELAY: Time = Time::from_millis(2);
const ONE_WAY: Time = Time::from_millis(10);

fn simulated() -> [Log; 2] {
    let free = || quell_sim::DirectionConfig {
        rate: Rate::UNLIMITED,
        framing: Default::default(),
        service: Default::default(),
        impairer: Impairer::new(None, 0, "none"),
        markers: Vec::new(),
        passage: None,
        discipline: discipline("fifo", Rate::UNLIMITED),
    };
    let link = |(rate, kind, markers, passage)| {
        let forward = quell_sim::DirectionConfig {
            rate,
            markers,
            passage: Some(passage),
            discipline: discipline(kind, rate),
            ..free()
        };
        LinkConfig {
            delay: DELAY,
            ..LinkConfig::new(forward, free())
        }
    };
    let flow = |(group, (size, gap)): (usize, (u64, u64))| FlowConfig {
        group: GroupId(group as u32),
        direction: Direction::Forward,
        app: Cbr {
            size: Bytes::new(size),
            interval: Interval {
                mean: US(gap),
                stddev: US(gap / 5),
            },
        }
        .into(),
        changes: Default::default(),
        random: Random::new(1, &format!("app.{group}")),
        transport: TransportConfig::Datagrams(Ecn::NotEct),
        access: Rate::UNLIMITED,
        start: US(100 * group as u64),
        stop: None,
    };
    let config = Config {
        links: links().map(link).into(),
        delays: vec![ONE_WAY; 4],
        paths: paths().into(),
        jitter: Jitter::default(),
        flows: GROUPS.into_iter().enumerate().map(flow).collect(),
        changes: Vec::new(),
    };
    let mut simulator = Simulator::new(config, |_, _| Log::default()).unwrap();
    simulator.run(END, &AtomicBool::new(false)).unwrap();
    [Hop(0), Hop(1)].map(|hop| {
        let mut logs = simulator.observers_mut();
        let place = 2 * hop.index();
        std::mem::take(logs.nth(place).unwrap())
    })
}

fn group_of(len: Bytes) -> u16 {
    let place = GROUPS.iter().position(|(size, _)| *size == len.get());
    place.unwrap() as u16
}

/// Packets of `arrivals` through a chain of the same two links; those that come late in `late` are known only after a look at that time.
fn carried(arrivals: &[(Time, u64, Bytes)], looks: impl Iterator<Item = Time>) -> [Log; 2] {
    let member = |(rate, kind, markers, passage)| Member {
        config: DirectionConfig {
            rate,
            markers,
            passage: Some(passage),
            discipline: discipline(kind, rate),
            ..DirectionConfig::unlimited(1_500)
        },
        delay: DELAY,
        changes: Vec::new(),
        observer: Log::default(),
    };
    let groups = paths().map(|path| (ONE_WAY, path));
    let quiet = Spans {
        spans: &[],
        seed: 1,
    };
    let members = links().map(member).into();
    let mut chain = Chain::new(Direction::Forward, members, &groups, &quiet);
    // Values are beside the packets: no frame is looked at.
    let mut pool = Pool::new(0, 1_500).unwrap();
    let mut next = 0;
    for look in looks.chain([END]) {
        while let Some(&(at, flow, len)) = arrivals.get(next).filter(|(at, ..)| *at <= look) {
            let frame = Frame {
                id: FrameId::for_test(next as u32),
                len: len.get() as u16 + 14,
                start: 16,
            };
            let ip = IpPacket {
                offset: 14,
                len: len.get() as u16,
                ecn: Ecn::NotEct,
                protocol: 17,
                ports: None,
                flow,
            };
            let packet = Descriptor::new(frame, &ip, Some(group_of(len)));
            chain.arrive(packet, at, &mut pool).unwrap();
            next += 1;
        }
        chain.decide(look, &mut pool).unwrap();
    }
    let logs = chain.into_observers();
    logs.try_into().unwrap()
}

#[test]
fn packets_get_the_same_new_values_and_fates_as_in_the_simulator() {
    let simulated = simulated();
    // What came from hosts, whatever became of it.
    let mut arrivals: Vec<(Time, u64, Bytes)> = Vec::new();
    for (hop, log) in simulated.iter().enumerate() {
        let came = log.0.iter().filter(|one| matches!(one.0, "in" | "refused"));
        let here =
            came.filter(|one| paths()[usize::from(group_of(one.3))].first == Hop(hop as u16));
        arrivals.extend(here.map(|&(_, at, flow, len, _)| (at, flow, len)));
    }
    arrivals.sort_unstable_by_key(|(at, ..)| *at);
    let looks = (1..400).map(|look| US(4_987) * look);
    let carried = carried(&arrivals, looks);
    for (hop, (simulated, carried)) in simulated.iter().zip(&carried).enumerate() {
        // The two worlds end in the middle of what happens at the last instant.
        let before = |log: &Log| {
            let log = log.0.iter().filter(|one| one.1 < END);
            log.copied().collect::<Vec<_>>()
        };
        assert_eq!(before(simulated), before(carried), "link {hop}");
        // Both links are too slow for what comes, and the second one knows more values than markers gave.
        let lost = simulated.0.iter().filter(|one| one.0 == "lost").count();
        assert!(lost > 200, "{hop}: {lost}");
    }
    let values = |log: &Log, size: u64| {
        let of = log
            .0
            .iter()
            .filter(|one| one.0 == "in" && one.3.get() == size);
        of.map(|one| one.4).collect::<Vec<_>>()
    };
    let [first, second] = &carried;
    // Those of no network keep what they had, which is nothing; the others have not what their markers gave.
    assert!(values(second, 600).iter().all(|value| *value == 0));
    assert_ne!(values(first, 1_500), values(second, 1_500));
}

/// The networks count over periods of their own time, which a packet that comes to be known late must not turn back: they would forget all,
/// and give the next packets the highest value.
#[test]
fn a_packet_that_comes_to_be_known_late_makes_no_network_begin_anew() {
    let config = || DirectionConfig {
        rate: Rate::from_mbps(100),
        passage: Some(passage(0, [Some(0), None, None, None])),
        ..DirectionConfig::unlimited(1_500)
    };
    let values = |late: &[u64]| {
        let mut path = Path::new(config(), &[US(5_000)], Vec::new(), Log::default());
        for index in 0..300_u64 {
            let at = US(100 * index);
            // Everything until here is decided on when the late ones come to be known.
            path.decide(at).unwrap();
            let back = US(if late.contains(&index) { 90 } else { 0 });
            let mut packet = packet(index as u32, 1_000, Some(0));
            packet.set_value(500);
            path.arrive(packet, at - back).unwrap();
        }
        assert_eq!(path.late_arrivals(), late.len() as u64);
        let log = path.into_observer();
        let values = log.0.iter().filter(|one| one.0 == "in");
        values.map(|one| one.4).collect::<Vec<_>>()
    };
    // 200 is the first packet of a period, which begins with it.
    assert_eq!(values(&[150, 200, 201]), values(&[]));
}
