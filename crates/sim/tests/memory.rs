//! What a simulation takes from the allocator.

use crate::support;

use quell_measure::{Direction, Hop};
use quell_sim::FlowConfig;
use quell_units::{Rate, Time};
use support::*;

/// Runs with and without links of their own for the senders, some slower than their share.
#[test]
fn nothing_is_allocated_per_packet() {
    for access in [Rate::UNLIMITED, Rate::from_mbps(1_000), Rate::from_mbps(5)] {
        nothing_is_allocated_with(access);
    }
}

fn nothing_is_allocated_with(access: Rate) {
    let flows = (0..10_u64)
        .map(|n| FlowConfig {
            access: if n % 2 == 0 { access } else { Rate::UNLIMITED },
            ..bulk(0, "cubic", None, Time::from_millis(n))
        })
        .collect();
    let fifo = side("fifo", &[], Rate::from_mbps(100));
    let mut simulator = simulator(config(fifo, Time::from_millis(20), flows));
    run(&mut simulator, Time::from_secs(30));
    let before = simulator.observer(Hop::FIRST, Direction::Forward).delivered;
    let allocated = allocation_counter::measure(|| run(&mut simulator, Time::from_secs(60)));
    let packets = simulator.observer(Hop::FIRST, Direction::Forward).delivered - before;
    assert!(packets > 240_000, "{packets}");
    // Scoreboards may still grow to a longer queue than before.
    assert!(allocated.count_total < 100, "{allocated:?}");
}

#[test]
fn a_flow_takes_a_few_kilobytes() {
    let mut taken = Vec::new();
    let allocated = allocation_counter::measure(|| {
        let flows = (0..1_000_u64)
            .map(|n| bulk(0, "cubic", None, Time::from_micros(40 * n)))
            .collect();
        let fifo = side("fifo", &[], Rate::from_mbps(10_000));
        let mut simulator = simulator(config(fifo, Time::from_millis(20), flows));
        run(&mut simulator, Time::from_millis(500));
        taken.push(simulator);
    });
    // Of which the packets in flight, 40 ms and the queue of 100 ms, 64 bytes each: 7.5 kB.
    let per_flow = allocated.bytes_current / 1_000;
    assert!((1_000..40_000).contains(&per_flow), "{per_flow}");
}
