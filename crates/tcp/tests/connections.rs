//! Whatever happens to a connection, with every congestion control, its laws hold: nothing negative in flight, a window of at least one
//! segment, no timer in the past, nothing sent that was not written or not allowed, every byte delivered once, and an end.

use proptest::prelude::*;
use quell_laws::choices::Choices;
use quell_laws::control::ends::Ends;
use quell_laws::control::{self, Subject, honest, hostile};
use quell_units::Random;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..most)
}

fn first() -> Subject {
    Subject::all().next().expect("a control")
}

#[test]
fn every_byte_is_delivered_once_whatever_the_path_does() {
    for subject in Subject::all() {
        control::delivers_every_byte_once_whatever_the_path_does(&subject, 256);
    }
}

#[test]
fn a_sender_keeps_the_laws_whatever_it_is_told() {
    for subject in Subject::all() {
        control::keeps_the_laws_whatever_it_is_told(&subject, 256);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_receiver_keeps_the_laws_whatever_it_is_told(ends in bytes(60), happens in bytes(900)) {
        hostile::receiver_keeps_the_laws(&Ends::of(&first(), &mut Choices(&ends)), &mut Choices(&happens));
    }
}

/// What is drawn comes to every mechanism that the laws are about.
#[test]
fn what_is_drawn_reaches_every_mechanism() {
    let mut random = Random::new(1, "connections");
    let mut bytes = |count| -> Vec<u8> { (0..count).map(|_| random.below(256) as u8).collect() };
    let mut reached = [0_u64; 7];
    for subject in Subject::all().cycle().take(200) {
        let (ends, happens) = (bytes(60), bytes(700));
        let operations = honest::of(&mut Choices(&happens));
        let ends = Ends::of(&subject, &mut Choices(&ends));
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
