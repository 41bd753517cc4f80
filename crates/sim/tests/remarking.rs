//! Packet values across networks: in front of a link the data of each network get values of the network's own function.

use crate::support;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use quell_aqm::marker::{self, Marker, PERIOD, Passage, Remarker};
use quell_aqm::value::{CodeScale, ValueFunction, function};
use quell_aqm::{Drop, Observer, Packet as _, QueueId};
use quell_measure::{Direction, Hop};
use quell_sim::{Config, LinkConfig, Packet, Simulator};
use quell_units::{Random, Rate, Settings, Time};
use support::{bulk, cbr, free, side};

const MS: fn(u64) -> Time = Time::from_millis;

/// Each packet that arrives at a queue, in order: when, group, flow, sequence number and value; and what became of them.
#[derive(Debug, Default)]
struct Log {
    arrived: Vec<(Time, usize, u32, u64, u16)>,
    delivered: u64,
    dropped: u64,
}

impl Log {
    fn note(&mut self, packet: &Packet, now: Time) {
        let flow = packet.flow_id().0;
        let group = flow as usize;
        self.arrived
            .push((now, group, flow, packet.sequence(), packet.value()));
    }
}

impl Observer<Packet> for Log {
    fn enqueued(&mut self, _queue: QueueId, packet: &Packet, now: Time) {
        self.note(packet, now);
    }
    fn dequeued(&mut self, _queue: QueueId, _packet: &Packet, _now: Time) {
        self.delivered += 1;
    }
    fn dropped(&mut self, packet: Packet, drop: Drop, now: Time) {
        if !drop.queued {
            self.note(&packet, now);
        }
        self.dropped += 1;
    }
}

fn value(name: &str) -> ValueFunction {
    let settings = Settings::new(function::find(name).expect("a function").parameters);
    ValueFunction::new(name, &settings, &[], CodeScale::default()).expect("a function")
}

fn random_marker(name: &str) -> Option<Marker> {
    let settings = Settings::new(marker::find("random").expect("a marker").parameters);
    let random = Random::new(1, name);
    Marker::new("random", &settings, &[value(name)], random).ok()
}

/// Group 0 is worth gold and group 1 silver in their own network, group 2 comes from another one, and group 3 from none.
fn config(remarked: bool) -> Config {
    let flows = vec![
        cbr(0, 1_500, Time::from_micros(700), MS(0), MS(0)),
        cbr(1, 1_500, Time::from_micros(500), MS(0), MS(1)),
        cbr(2, 1_500, Time::from_micros(600), MS(0), MS(2)),
        bulk(3, "cubic", None, MS(3)),
    ];
    let mut config = support::config(free(), MS(10), flows);
    let mut first = LinkConfig::new(free(), free());
    first.forward.markers = ["gold", "silver", "gold", "gold"].map(random_marker).into();
    first.delay = MS(2);
    let mut second = LinkConfig::new(side("csaqm", &[], Rate::from_mbps(40)), free());
    second.forward.passage = remarked.then(|| Passage {
        remarker: Remarker::new(
            &[value("gold"), value("background")],
            value("gold").highest(),
            PERIOD,
            1,
            Random::new(1, "remark"),
        ),
        networks: vec![Some(0), Some(0), Some(1)],
    });
    config.links = vec![first, second];
    config.delays = vec![MS(10); 4];
    config
}

fn run(remarked: bool, until: Time) -> Simulator<Log> {
    let mut simulator = Simulator::new(config(remarked), |_, _| Log::default()).expect("one");
    let reached = simulator.run(until, &AtomicBool::new(false));
    assert_eq!(reached.expect("a run"), until);
    simulator
}

/// The values that packets came with, by flow and sequence number in the order of their arrival.
fn values(log: &Log) -> BTreeMap<(u32, u64), Vec<u16>> {
    let mut all: BTreeMap<(u32, u64), Vec<u16>> = BTreeMap::new();
    for &(_, _, flow, sequence, value) in &log.arrived {
        all.entry((flow, sequence)).or_default().push(value);
    }
    all
}

#[test]
fn what_was_worth_more_within_a_network_stays_so_and_others_keep_their_values() {
    let simulator = run(true, Time::from_secs(2));
    let before = values(simulator.observer(Hop::FIRST, Direction::Forward));
    let behind = simulator.observer(Hop(1), Direction::Forward);
    let (mut compared, mut kept, mut lowered) = (0, 0, 0);
    let mut since: [Option<Time>; 2] = [None; 2];
    let mut periods: BTreeMap<(usize, u64), Vec<(u16, u16)>> = BTreeMap::new();
    let mut seen: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for &(now, group, flow, sequence, new) in &behind.arrived {
        let nth = seen.entry((flow, sequence)).or_default();
        let old = before[&(flow, sequence)][*nth];
        *nth += 1;
        let network = match group {
            0 | 1 => 0,
            2 => 1,
            _ => {
                assert_eq!(new, old, "no network");
                kept += 1;
                continue;
            }
        };
        lowered += u32::from(new != old);
        let start = *since[network].get_or_insert(now);
        let period = (now - start).as_nanos() / PERIOD.as_nanos();
        periods
            .entry((network, period))
            .or_default()
            .push((old, new));
    }
    for ((_, period), mut packets) in periods {
        packets.sort_unstable();
        for pair in packets.windows(2) {
            let [(old, new), (next_old, next)] = pair else {
                continue;
            };
            if old < next_old {
                assert!(new <= next, "period {period}: {pair:?}");
                compared += 1;
            }
        }
    }
    assert!(
        compared > 5_000 && kept > 500 && lowered > 5_000,
        "{compared} {kept} {lowered}"
    );
}

#[test]
fn remarking_loses_and_reorders_nothing_and_changes_nothing_before_its_link() {
    for until in [MS(333), MS(1_777)] {
        let simulator = run(true, until);
        let mut entered = None;
        for hop in [Hop(0), Hop(1)] {
            let log = simulator.observer(hop, Direction::Forward);
            let arrived = log.arrived.len() as u64;
            let (queued, on_wires) = simulator.in_flight(hop, Direction::Forward);
            assert_eq!(arrived, log.delivered + log.dropped + queued);
            assert_eq!(entered.unwrap_or(arrived), arrived);
            entered = Some(log.delivered - on_wires);
            let mut last: BTreeMap<u32, u64> = BTreeMap::new();
            for &(_, group, flow, sequence, _) in log.arrived.iter().filter(|one| one.1 < 3) {
                let before = last.insert(flow, sequence);
                assert!(before.is_none_or(|before| before < sequence), "{group}");
            }
        }
        let plain = run(false, until);
        let count = |simulator: &Simulator<Log>, flow: u32| {
            let log = simulator.observer(Hop::FIRST, Direction::Forward);
            let all = log.arrived.iter().filter(|one| one.2 == flow);
            all.copied().collect::<Vec<_>>()
        };
        for flow in 0..3 {
            assert_eq!(count(&plain, flow), count(&simulator, flow));
        }
    }
}
