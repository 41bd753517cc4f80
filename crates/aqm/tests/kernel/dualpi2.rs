//! `net/sched/sch_dualpi2.c`, which is in Linux from 6.17 on: one of the pinned sources is newer. With older ones only, this test does not run.
//!
//! Inputs stay where ours and the kernel promise the same: the head of `src/dualpi2/linux.rs` numbers what deviates. So there are no resets
//! and no changes of limits or of the scheduler here, and delays stay so short that no step of the probability exceeds one, which the
//! kernel wraps.

use std::fmt::Write as _;

use quell_aqm::disciplines::dualpi2::DualPi2;
use quell_aqm::qdisc::Gauge;
use quell_aqm::{Qdisc, Random, Time};

use crate::common::TestPacket;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::traffic::{self, Given, Reached, Wildness};

const SOURCE: Source = Source {
    shim: "dualpi2",
    file: "net/sched/sch_dualpi2.c",
    headers: &[],
    pieces: &[
        ("#define MAX_PROB", "static int dualpi2_dump("),
        ("static void dualpi2_reset(", "static void dualpi2_destroy("),
    ],
    changed: &[],
};

/// Where the qdisc starts.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[("limit", "150p", 150)],
    &[("limit", "100p", 100), ("drop_enqueue", "true", 1), ("coupling_factor", "1", 1)],
    &[("limit", "100p", 100), ("overflow|drop_overload", "true", 0), ("target", "5ms", 5_000)],
    &[("limit", "100p", 100), ("any_ect|ecn_mask", "true", 3), ("classic_protection", "50", 50)],
    &[("limit", "100p", 100), ("step_thresh|step_packets", "3p", 3), ("min_qlen_step", "2p", 2), ("coupling_factor", "255", 255)],
    &[("memlimit", "60kB", 60_000), ("classic_protection", "0", 0), ("alpha", "0.5", 128), ("beta", "1", 256), ("tupdate", "1ms", 1_000)],
    &[("limit", "60p", 60), ("classic_protection", "100", 100), ("step_thresh|step_us", "100us", 100)],
];

/// What is changed while it lives.
#[rustfmt::skip]
const CHANGES: Given<'static> = &[
    ("target", "15ms", 15_000),
    ("target", "1ms", 1_000),
    ("tupdate", "16ms", 16_000),
    ("tupdate", "2ms", 2_000),
    ("alpha", "0.16015625", 41),
    ("alpha", "0.00390625", 1),
    ("beta", "3.19921875", 819),
    ("beta", "0.5", 128),
    ("step_thresh|step_us", "1ms", 1_000),
    ("step_thresh|step_packets", "1p", 1),
    ("min_qlen_step", "0p", 0),
    ("min_qlen_step", "5p", 5),
    ("coupling_factor", "2", 2),
    ("coupling_factor", "8", 8),
    ("any_ect|ecn_mask", "true", 3),
    ("any_ect|ecn_mask", "false", 1),
    ("overflow|drop_overload", "false", 1),
    ("drop_enqueue", "true", 1),
    ("drop_enqueue", "false", 0),
];

/// Memory, probability and credit, which the gauges report exactly.
fn state(queue: &DualPi2<TestPacket>) -> String {
    let mut state = String::new();
    queue.status(Time::ZERO, &mut |name, gauge| match (name, gauge) {
        ("memory_bytes" | "credit", Gauge::Count(number)) => {
            let _ = write!(state, "{number} ");
        }
        // 32 bits in the 53 of the ratio.
        ("probability", Gauge::Ratio(ratio)) => {
            let _ = write!(state, "{} ", (ratio * f64::from(u32::MAX)).round() as u32);
        }
        _ => {}
    });
    state.trim().to_owned()
}

#[test]
fn every_packet_and_the_state_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::dualpi2::every_packet_and_the_state_go_as_in_the_kernel",
        &SOURCE,
    );
    let wildness = Wildness {
        pause_bits: 23,
        service_bits: 20,
        flows: 1,
        resets: false,
        start_bits: 30,
    };
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..6 {
            let changes = if seed % 2 == 0 { &[][..] } else { CHANGES };
            let steps = traffic::steps(seed + 100 * form as u64, 20_000, changes.len(), wildness);
            let mut random = Random::new(seed, "queue");
            let make = |settings, link| {
                DualPi2::<TestPacket>::new(settings, link, Random::new(seed, "queue")).unwrap()
            };
            let answers = traffic::run(make, given, changes, &steps, |_| 0, state);
            reached.count(&answers);
            // At most two for each packet, which is judged once.
            let draws = traffic::draws(|| random.u32().into(), 2 * steps.len());
            for law in &laws {
                law.compare(&draws, &answers);
            }
        }
    }
    reached.assert(10_000, 10_000);
}
