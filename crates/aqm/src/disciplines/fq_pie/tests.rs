//! FQ-PIE beside PIE, and what is its own.

use super::*;
use crate::disciplines::pie::Pie;
use crate::observer::Drop;
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use crate::units::Rate;
use std::vec::Vec;

const LINK: Link = Link {
    rate: Rate::from_mbps(12),
    mtu: Bytes::new(1_500),
};

/// What happened to each packet, in the order of events.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log(Vec<(u64, What)>);

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum What {
    Left(Time),
    Marked,
    Dropped(DropReason, bool),
}

impl Observer<TestPacket> for Log {
    fn dequeued(&mut self, _: QueueId, packet: &TestPacket, now: Time) {
        self.0.push((packet.id, What::Left(now)));
    }
    fn marked(&mut self, _: QueueId, packet: &TestPacket, _: MarkReason, _: Time) {
        self.0.push((packet.id, What::Marked));
    }
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _: Time) {
        self.0
            .push((packet.id, What::Dropped(drop.reason, drop.queued)));
    }
}

impl Log {
    fn count(&self, matches: impl Fn(u64, What) -> bool) -> usize {
        self.0
            .iter()
            .filter(|(id, what)| matches(*id, *what))
            .count()
    }
}

fn settings(table: &'static [Parameter], given: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(table);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    settings
}

fn fq_pie(given: &[(&str, &str)]) -> FqPie<TestPacket> {
    FqPie::new(
        settings(Parameters::ROWS, given),
        LINK,
        Random::new(1, "fq_pie"),
    )
    .unwrap()
}

fn packet(id: u64, flow: u64, ecn: Ecn, now: Time) -> TestPacket {
    let mut packet = TestPacket::new(id, 1_500, ecn);
    packet.flow = flow;
    packet.set_arrival(now);
    packet
}

/// Ten seconds of packets every `gap`, of the flow that `flow` names for each, at a link that sends
/// one a millisecond.
fn run(qdisc: &mut impl Qdisc<TestPacket>, gap: Time, ecn: Ecn, flow: impl Fn(u64) -> u64) -> Log {
    let mut log = Log::default();
    let (mut now, mut next_arrival, mut id) = (Time::ZERO, Time::ZERO, 0);
    while now < Time::from_secs(10) {
        while let Some(due) = qdisc.next_update().filter(|due| *due <= now) {
            qdisc.update(due);
        }
        while next_arrival <= now {
            qdisc.enqueue(packet(id, flow(id), ecn, next_arrival), now, &mut log);
            id += 1;
            next_arrival += gap;
        }
        let _ = qdisc.dequeue(now, &mut log);
        now += Time::from_millis(1);
    }
    log
}

#[test]
fn a_single_flow_is_pie() {
    for given in [
        &[][..],
        &[("ecn", "true"), ("target", "5ms")],
        &[("bytemode", "true"), ("alpha", "8"), ("tupdate", "5ms")],
        &[("dq_rate_estimator", "true"), ("limit", "60p")],
    ] {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            // The salt is the first number that FQ-PIE draws.
            let mut random = Random::new(1, "fq_pie");
            let _ = random.u64();
            let limit = [("limit", "10240p")];
            let pie = settings(
                crate::disciplines::pie::Parameters::ROWS,
                &[&limit, given].concat(),
            );
            let mut pie = Pie::new(pie, LINK, random).unwrap();
            let mut one = fq_pie(&[&[("flows", "1")], given].concat());
            let gap = Time::from_micros(900);
            let log = run(&mut one, gap, ecn, |id| id % 7);
            assert!(
                log.count(|_, what| !matches!(what, What::Left(_))) > 50,
                "{given:?}"
            );
            assert_eq!(log, run(&mut pie, gap, ecn, |id| id % 7), "{given:?}");
        }
    }
}

#[test]
fn a_flow_within_its_share_is_not_signalled() {
    // Nine of ten packets are of a flow that takes twice the link; the tenth has a fifth of it.
    let mut qdisc = fq_pie(&[]);
    let log = run(&mut qdisc, Time::from_micros(500), Ecn::NotEct, |id| {
        u64::from(id % 10 == 0)
    });
    let dropped = |light: bool| {
        log.count(|id, what| matches!(what, What::Dropped(..)) && (id % 10 == 0) == light)
    };
    assert_eq!(dropped(true), 0);
    assert!(dropped(false) > 5_000, "{}", dropped(false));
    // And it waits for the packet in service and one quantum of the other flow at most.
    for (id, what) in &log.0 {
        if let (0, What::Left(at)) = (id % 10, what) {
            let arrival = Time::from_micros(500 * id);
            assert!(*at <= arrival + Time::from_millis(3), "{id}: {at}");
        }
    }
}

#[test]
fn marks_turn_into_drops_above_ecn_prob() {
    // The load is 25 % too much and heeds no mark, so the probability rises through every limit, even past one: the kernel's does.
    let outcome = |ecn_prob: &str| {
        let mut qdisc = fq_pie(&[
            ("ecn", "true"),
            ("ecn_prob", ecn_prob),
            ("limit", "100000p"),
        ]);
        let log = run(&mut qdisc, Time::from_micros(800), Ecn::Ect1, |_| 0);
        let overload = |what| what == What::Dropped(DropReason::Overload, false);
        let first = log.0.iter().find(|(_, what)| overload(*what)).unwrap().0;
        let others = |_, what| matches!(what, What::Dropped(..)) && !overload(what);
        assert_eq!(log.count(others), 0);
        (log.count(|_, what| what == What::Marked), first)
    };
    let (never, tenth, always) = (outcome("0"), outcome("10"), outcome("100"));
    assert_eq!(never.0, 0);
    assert!(0 < tenth.0 && tenth.0 < always.0, "{tenth:?} {always:?}");
    assert!(
        never.1 < tenth.1 && tenth.1 < always.1,
        "{tenth:?} {always:?}"
    );
}

#[test]
fn memory_is_a_limit_of_its_own() {
    // A test packet occupies its length and 256 bytes: 17 of 1756 fit into 30 kB.
    let mut qdisc = fq_pie(&[("memory_limit", "30kB")]);
    let mut log = Log::default();
    for id in 0..20 {
        qdisc.enqueue(
            packet(id, id, Ecn::NotEct, Time::ZERO),
            Time::ZERO,
            &mut log,
        );
    }
    assert_eq!(qdisc.backlog().packets, 17);
    let refused = |_, what| what == What::Dropped(DropReason::Memory, false);
    assert_eq!(log.count(refused), 3);
}

#[test]
fn many_flows_are_walked_in_rounds() {
    let mut qdisc = fq_pie(&[("flows", "5000")]);
    let mut due = Vec::new();
    for _ in 0..5 {
        let at = qdisc.next_update().unwrap();
        due.push(at.as_nanos() / 1_000_000);
        qdisc.update(at);
    }
    assert_eq!(due, [500, 501, 502, 517, 518]);
    // Each flow once: all have a delay when the walk begins and none is passed twice.
    let mut qdisc = fq_pie(&[("flows", "5000")]);
    qdisc.at_rest = false;
    for (vars, _) in qdisc.flows.states() {
        vars.qdelay = ticks(Time::from_secs(1));
    }
    for walked in [2_048, 4_096, 5_000] {
        qdisc.update(qdisc.next_update().unwrap());
        let raised = qdisc
            .flows
            .all_states()
            .iter()
            .filter(|vars| vars.prob > 0)
            .count();
        assert_eq!(raised, walked);
    }
    let first = qdisc.flows.all_states()[0].prob;
    assert!(
        qdisc
            .flows
            .all_states()
            .iter()
            .all(|vars| vars.prob == first)
    );
}

/// Left out walks change nothing: afterwards every flow is as it was made, and stays so.
#[test]
fn a_queue_at_rest_is_not_walked() {
    let mut qdisc = fq_pie(&[("flows", "5000")]);
    let mut log = Log::default();
    assert!(qdisc.at_rest);
    let mut now = Time::ZERO;
    for id in 0..400 {
        now += Time::from_micros(500);
        qdisc.enqueue(packet(id, id, Ecn::NotEct, now), now, &mut log);
    }
    assert!(!qdisc.at_rest);
    while qdisc.dequeue(now, &mut log).is_some() {
        now += Time::from_millis(1);
    }
    while qdisc.next_update().unwrap() < now + Time::from_secs(60) {
        qdisc.update(qdisc.next_update().unwrap());
    }
    assert!(qdisc.at_rest);
    for (vars, backlog) in qdisc.flows.states() {
        let before = *vars;
        let idle = Config::of(&Parameters::of(&settings(Parameters::ROWS, &[])), LINK);
        vars.calculate_probability(&idle.params, backlog.get());
        assert_eq!((*vars, before), (Vars::default(), Vars::default()));
    }
}

#[test]
fn lowering_the_limit_dequeues_until_it_fits() {
    let mut qdisc = fq_pie(&[]);
    let mut log = Log::default();
    for id in 0..30 {
        qdisc.enqueue(
            packet(id, id % 3, Ecn::NotEct, Time::ZERO),
            Time::ZERO,
            &mut log,
        );
    }
    let now = Time::from_millis(40);
    qdisc.configure("limit", "12", now, &mut log).unwrap();
    assert_eq!(qdisc.backlog().packets, 12);
    // In the order of the round robin: six of each flow, all with a measured delay.
    for flow in 0..3 {
        let dropped =
            |id: u64, what| id % 3 == flow && what == What::Dropped(DropReason::Reconfigured, true);
        assert_eq!(log.count(dropped), 6);
    }
    let delayed = qdisc
        .flows
        .all_states()
        .iter()
        .filter(|vars| vars.qdelay == ticks(now));
    assert_eq!(delayed.count(), 3);
}
