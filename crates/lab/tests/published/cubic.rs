//! T15: one CUBIC flow is back at the window of its last loss after K = cbrt(Wmax (1 − β)/C).
//!
//! Where the cubic is one segment below and one above Wmax, it is as far before K as behind it, so
//! the middle of the two is K, without the plateau's width in it. Linux rounds the distance to Wmax
//! down to segments: its target is Wmax already where the cubic is one segment below.

use std::sync::atomic::AtomicBool;

use quell_aqm::{Drop, Observer};
use quell_measure::{Direction, FlowId};
use quell_sim::{Config, LinkChange, Packet, Simulator};
use quell_units::Time;

use crate::evaluation::Misses;
use crate::experiment::{scenario, simulation};
use crate::page;
use crate::table::Table;

const TITLE: &str = "CUBIC: back to the last maximum";

struct Nothing;

impl Observer<Packet> for Nothing {
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
}

/// The return of a window after a loss.
#[derive(Debug, Clone, Copy)]
struct Return {
    maximum: u32,
    /// From the end of recovery to the middle of the plateau, in seconds.
    took: f64,
}

fn config(variant: &str) -> Config {
    let control = format!(
        "group.flows.congestion-control={{ name = \"cubic\", variant = \"{variant}\", fast_convergence = false }}"
    );
    let sets = [
        "group.flows.count=1",
        // 83 segments, and 16 in the queue.
        "link.rate=10mbit",
        "link.queue.limit=24kB",
        &control,
    ];
    simulation(
        &scenario("gsp2014/e1-taildrop.toml", &sets.map(str::to_owned)),
        1,
    )
}

fn step(simulator: &mut Simulator<Nothing>) -> u64 {
    let next = simulator.now() + Time::from_millis(1);
    simulator.run(next, &AtomicBool::new(false)).unwrap();
    simulator.tcp(FlowId(0)).map_or(0, |tcp| tcp.recoveries)
}

/// The first loss after 40 s.
fn loss(variant: &str) -> Time {
    let mut simulator = Simulator::new(config(variant), |_, _| Nothing).unwrap();
    let mut before = 0;
    loop {
        let cuts = step(&mut simulator);
        if simulator.now() > Time::from_secs(40) && cuts > before {
            return simulator.now();
        }
        before = cuts;
    }
}

/// Runs again, and makes room for more right after that loss.
fn return_of(variant: &str, rounds: bool) -> Return {
    let loss = loss(variant);
    let mut config = config(variant);
    let room = LinkChange::Queue {
        direction: Direction::Forward,
        key: "limit".to_owned(),
        value: "1MB".to_owned(),
    };
    config.changes.push((loss, room));
    let mut simulator = Simulator::new(config, |_, _| Nothing).unwrap();
    let mut maximum = 0;
    while simulator.now() < loss {
        maximum = simulator.tcp(FlowId(0)).map_or(0, |tcp| tcp.cwnd);
        step(&mut simulator);
    }
    let tcp = simulator.tcp(FlowId(0)).unwrap();
    let sent = (tcp.sent - tcp.retransmitted) * 1_448;
    let mut passes = |reached: &dyn Fn(u64, u32) -> bool| {
        loop {
            step(&mut simulator);
            let tcp = simulator.tcp(FlowId(0)).unwrap();
            if reached(tcp.acknowledged, tcp.cwnd) {
                return simulator.now().as_nanos() as f64 / 1e9;
            }
        }
    };
    let recovered = passes(&|acknowledged, _| acknowledged >= sent);
    let first = if rounds { maximum } else { maximum - 1 };
    let below = passes(&|_, window| window >= first);
    let above = passes(&|_, window| window > maximum);
    Return {
        maximum,
        took: (below + above) / 2.0 - recovered,
    }
}

#[test]
fn the_window_is_back_after_k() {
    let mut misses = Misses::default();
    let mut table = Table::new(&["variant", "β", "Wmax", "K, s", "quell, s", "off"]);
    for (variant, beta, rounds) in [
        ("linux", 0.7, true),
        ("linux_3", 0.7, true),
        ("linux_2_0", 0.8, true),
        ("rfc_9438", 0.7, false),
        ("freebsd_2010", 0.8, false),
    ] {
        let Return { maximum, took } = return_of(variant, rounds);
        let k = f64::from(maximum) * (1.0 - beta) / 0.4;
        let k = k.cbrt();
        table.row(&[
            variant.to_owned(),
            beta.to_string(),
            maximum.to_string(),
            format!("{k:.2}"),
            format!("{took:.2}"),
            format!("{:+.1} %", 100.0 * (took / k - 1.0)),
        ]);
        misses.within(format!("{variant}: K"), took, k, 6.0);
    }
    let text = format!(
        "**Result.** Each variant is back at its last maximum after the time that the equation gives, within 1.4 % (bound: 6 %).\n\n{table}\n\
         **Source.** RFC 9438 equation 2: K = cbrt(Wmax (1 − β)/C) with C = 0.4, which is 4.22 s from 100 segments with β = 0.7.\n\n\
         **Runs.** One flow, an RTT of 100 ms and more. Measured is the time from the end of recovery to the middle of the cubic's plateau, \
         between one segment below Wmax and one above."
    );
    misses.assert_none(&text);
    page::check(TITLE, &text, &[]);
}
