//! `net/sched/sch_fq_pie.c` with the controller of `sch_pie.c`: turns and lists of flows, and each flow's PIE.
//!
//! Inputs stay where ours and the kernel promise the same, as in `pie`. So there is no memory limit here, which the kernel only counts,
//! and no reset, after which its states stay.

use quell_aqm::Random;
use quell_aqm::disciplines::fq_pie::FqPie;

use crate::common::TestPacket;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::pie;
use crate::kernel::traffic::{self, Given, Reached, Wildness};

const SOURCE: Source = Source {
    shim: "fq_pie",
    file: "net/sched/sch_fq_pie.c",
    headers: &["include/net/pie.h", "net/sched/sch_pie.c"],
    pieces: &[("struct fq_pie_flow {", "static int fq_pie_dump(")],
    changed: &[],
};

/// Where the qdisc starts.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[("flows", "1", 1), ("limit", "1000p", 1_000)],
    &[("flows", "8", 8), ("limit", "1000p", 1_000), ("ecn", "true", 1)],
    &[("flows", "8", 8), ("limit", "4000p", 4_000), ("ecn", "true", 1), ("ecn_prob", "100", 100), ("quantum", "300B", 300)],
    &[("flows", "5", 5), ("limit", "1000p", 1_000), ("bytemode", "true", 1), ("target", "1ms", 1_000)],
    &[("flows", "3", 3), ("limit", "4000p", 4_000), ("dq_rate_estimator", "true", 1), ("ecn", "true", 1), ("ecn_prob", "50", 50)],
];

/// What is changed while it lives.
#[rustfmt::skip]
const CHANGES: Given<'static> = &[
    ("target", "15ms", 15_000),
    ("target", "500us", 500),
    ("tupdate", "3ms", 3_000),
    ("alpha", "32", 32),
    ("beta", "0", 0),
    ("quantum", "1500B", 1_500),
    ("quantum", "256B", 256),
    ("limit", "1000p", 1_000),
    ("limit", "7p", 7),
    ("ecn_prob", "100", 100),
    ("ecn_prob", "1", 1),
];

#[test]
fn every_packet_and_every_flow_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::fq_pie::every_packet_and_every_flow_go_as_in_the_kernel",
        &SOURCE,
    );
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..4 {
            let changes = if seed % 2 == 0 { &[][..] } else { CHANGES };
            let (service_bits, pause_bits) = [(21, 20), (22, 30)][form % 2];
            let wildness = Wildness {
                pause_bits,
                service_bits,
                flows: 12,
                resets: false,
                start_bits: 30,
            };
            let steps = traffic::steps(seed + 100 * form as u64, 10_000, changes.len(), wildness);
            let mut random = Random::new(seed, "queue");
            let make = |settings, link| {
                FqPie::<TestPacket>::new(settings, link, Random::new(seed, "queue")).unwrap()
            };
            let salt = random.u64();
            let hash = |flow| traffic::hash(flow, salt);
            let answers = traffic::run(make, given, changes, &steps, hash, |queue| {
                let (memory, states) = queue.linux_vars();
                states.iter().fold(memory.to_string(), |all, vars| {
                    all + " " + &pie::state(vars)
                })
            });
            reached.count(&answers);
            let draws = traffic::draws(|| random.u64(), steps.len());
            for law in &laws {
                law.compare(&draws, &answers);
            }
        }
    }
    reached.assert(5_000, 50);
}
