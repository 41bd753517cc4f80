//! Impairments and delays that change during a run, and what becomes of copies and damaged packets.

use crate::support::*;

use quell_aqm::impair::rules::{Outcome, Rule};
use quell_aqm::impair::{Counts, Impairer, Impairment, Loss};
use quell_measure::{Direction, GroupId, Hop, Hops};
use quell_sim::{Config, LinkChange, LinkConfig};
use quell_units::{Ecn, Probability, Rate, Time};

const MS: fn(u64) -> Time = Time::from_millis;
const FAST: Rate = Rate::from_mbps(10);

fn impair(impairment: Impairment) -> LinkChange {
    LinkChange::Impair {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        impairment: Box::new(impairment),
    }
}

fn delay(group: u32, delay: Time) -> LinkChange {
    LinkChange::Delay {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        group: GroupId(group),
        delay,
    }
}

fn losing(share: Probability) -> Impairment {
    Impairment {
        loss: Loss {
            good: share,
            ..Loss::default()
        },
        ..Impairment::default()
    }
}

fn rule(to: Outcome, percent: u64) -> Rule {
    Rule {
        is_unsafe: true,
        probability: Probability::ratio(percent, 100),
        ..Rule::all(format!("{to:?}"), to)
    }
}

fn touching(percent: u64) -> Impairment {
    let share = Probability::ratio(percent, 100);
    Impairment {
        duplicate: share,
        corrupt: share,
        rules: [Outcome::Drop, Outcome::Copy, Outcome::Code(Ecn::Ce)]
            .map(|to| rule(to, percent / 2))
            .to_vec(),
        ..losing(share)
    }
}

/// 10 ms of delay, and a datagram a millisecond in each of two groups.
fn calls(changes: Vec<(Time, LinkChange)>) -> Config {
    let flows = [0, 1].map(|group| cbr(group, 200, MS(1), Time::ZERO, Time::ZERO));
    Config {
        delays: vec![MS(10); 2],
        changes,
        ..config(side("fifo", &[], FAST), MS(10), flows.to_vec())
    }
}

#[test]
fn a_loss_of_one_is_an_outage_that_loses_and_is_over_as_it_began() {
    let changes = vec![
        (MS(2_000), impair(losing(Probability::ONE))),
        (MS(3_000), impair(losing(Probability::ZERO))),
    ];
    let mut simulator = simulator(calls(changes));
    run(&mut simulator, MS(5_100));
    let lost = simulator.impaired().next().map(|(counts, _)| counts.lost);
    assert_eq!(lost, Some(2_000));
    for flow in 0..2 {
        let report = cbr_report(&mut simulator, flow);
        assert_eq!(report.lost - report.lost_last, 1_000);
    }
}

#[test]
fn a_new_delay_is_that_of_one_group_and_keeps_its_order() {
    let changes = vec![(MS(1_000), delay(1, MS(2))), (MS(2_000), delay(1, MS(30)))];
    let mut simulator = simulator(calls(changes));
    run(&mut simulator, MS(3_030));
    let [still, moved] = [0, 1].map(|flow| cbr_report(&mut simulator, flow));
    // Each waits for its own 160 µs, and the second for the first.
    let us = |delay: Option<Time>| delay.map(|delay| delay.as_nanos() / 1_000);
    assert_eq!(
        (us(still.delays.min()), us(still.delays.max())),
        (Some(10_160), Some(10_160))
    );
    assert_eq!(
        (us(moved.delays.min()), us(moved.delays.max())),
        (Some(2_320), Some(30_320))
    );
    assert_eq!(
        (
            still.reordered,
            moved.reordered,
            moved.lost - moved.lost_last
        ),
        (0, 0, 0)
    );
    // The mean of the three, and 36 ms more for the eight that wait for those of before.
    let mean = us(moved.mean_delay).unwrap();
    assert!((14_325..14_345).contains(&mean), "{mean}");
}

#[test]
fn every_packet_and_copy_is_lost_or_on_its_way_or_at_the_next_queue_and_the_host_takes_one_of_each()
{
    let changes = vec![
        (MS(500), impair(touching(30))),
        (MS(1_500), impair(touching(5))),
    ];
    let mut config = calls(changes);
    config
        .links
        .push(LinkConfig::new(side("fifo", &[], FAST), free()));
    config.links[0].forward.impairer = Impairer::new(Some(touching(10)), 3, "path");
    let mut simulator = simulator(config);
    let mut before = Counts::default();
    let second = Hop(1);
    for until in [400, 900, 1_700, 2_600] {
        run(&mut simulator, MS(until));
        let counts = simulator.impaired().next().unwrap().0;
        assert!(counts.lost > before.lost && counts.corrupted > before.corrupted);
        before.clone_from(&counts);
        let left = simulator.observer(Hop::FIRST, Direction::Forward).delivered;
        let (_, wires) = simulator.in_flight(Hop::FIRST, Direction::Forward);
        let next = simulator.observer(second, Direction::Forward);
        let came =
            next.delivered + next.dropped + simulator.in_flight(second, Direction::Forward).0;
        assert_eq!(left + counts.duplicated, counts.lost + wires + came);
        let rules = &counts.rules;
        let reached = |at: usize| rules[at].codes.as_flattened().iter().sum::<u64>();
        assert!(rules[2].matched > 0 && reached(0) - rules[0].matched == reached(1));
    }
    for flow in 0..2 {
        let report = cbr_report(&mut simulator, flow);
        assert!(report.received + report.lost == report.sent && report.reordered == 0);
        // Of about 18 % lost and as many damaged, some in both copies.
        let share = (report.lost - report.lost_last) as f64 / report.sent as f64;
        assert!((0.15..0.35).contains(&share), "{share}");
    }
}

#[test]
fn tcp_gets_everything_through_copies_and_damage_over_several_links() {
    let sides = |percent| {
        let side = || {
            let mut side = side("fifo", &[("limit", "50p")], FAST);
            side.impairer = Impairer::new(Some(touching(percent)), 5, "path");
            side
        };
        LinkConfig {
            forward: side(),
            reverse: side(),
            delay: MS(2),
        }
    };
    let controls = ["cubic", "prague", "bbr3"];
    let flows = controls.map(|control| bulk(0, control, None, Time::ZERO));
    let config = Config {
        links: vec![sides(1), sides(2), sides(0)],
        delays: vec![MS(20)],
        paths: vec![Hops::all(3)],
        changes: vec![
            (MS(1_000), impair(touching(3))),
            (
                MS(2_000),
                LinkChange::Delay {
                    hop: Hop(2),
                    direction: Direction::Forward,
                    group: GroupId(0),
                    delay: MS(1),
                },
            ),
        ],
        ..config(side("fifo", &[], FAST), MS(20), flows.to_vec())
    };
    let mut simulator = simulator(config);
    run(&mut simulator, MS(20_000));
    for flow in 0..3 {
        let sample = simulator.sample(quell_measure::FlowId(flow)).unwrap();
        assert!(sample.delivered.get() > 100_000, "{flow}: {sample:?}");
    }
    let counts: Vec<Counts> = simulator.impaired().map(|(counts, _)| counts).collect();
    assert!(
        counts[..4]
            .iter()
            .all(|counts| counts.corrupted > 0 && counts.duplicated > 0)
    );
    let is_idle = |counts: &Counts| counts.lost + counts.duplicated + counts.corrupted == 0;
    assert!(counts[4..].iter().all(is_idle));
}
