//! Whatever happens to a connection, with every congestion control, its laws hold: nothing negative in flight, a window of at least one
//! segment, no timer in the past, nothing sent that was not written or not allowed, every byte delivered once, and an end.

mod operations;

use operations::{Choices, Ends, honest, hostile};
use proptest::prelude::*;
use quell_tcp::cc::KINDS;
use quell_units::Random;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_delivered_once_whatever_the_path_does(ends in bytes(60), happens in bytes(700)) {
        let operations = honest::of(&mut Choices(&happens));
        for control in 0..KINDS.len() {
            honest::keep_the_laws(&Ends::of(control, &mut Choices(&ends)), &operations);
        }
    }

    #[test]
    fn a_sender_keeps_the_laws_whatever_it_is_told(ends in bytes(60), happens in bytes(900)) {
        for control in 0..KINDS.len() {
            hostile::sender_keeps_the_laws(&Ends::of(control, &mut Choices(&ends)), &mut Choices(&happens));
        }
    }

    #[test]
    fn a_receiver_keeps_the_laws_whatever_it_is_told(ends in bytes(60), happens in bytes(900)) {
        hostile::receiver_keeps_the_laws(&Ends::of(0, &mut Choices(&ends)), &mut Choices(&happens));
    }
}

/// What is drawn comes to every mechanism that the laws are about.
#[test]
fn what_is_drawn_reaches_every_mechanism() {
    let mut random = Random::new(1, "connections");
    let mut bytes = |count| -> Vec<u8> { (0..count).map(|_| random.below(256) as u8).collect() };
    let mut reached = [0_u64; 7];
    for round in 0..200 {
        let (ends, happens) = (bytes(60), bytes(700));
        let operations = honest::of(&mut Choices(&happens));
        let ends = Ends::of(round, &mut Choices(&ends));
        let stats = honest::keep_the_laws(&ends, &operations);
        let counts = [
            stats.retransmitted,
            stats.recoveries,
            stats.rto_count,
            stats.probes,
            stats.undone,
            stats.ecn_reductions,
            stats.rwnd_limited,
        ];
        for (sum, count) in reached.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    assert!(reached.iter().all(|count| *count >= 50), "{reached:?}");
}
