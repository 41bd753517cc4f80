//! `net/sched/sch_fq_codel.c`: turns and lists of flows, the fattest flow, and each flow's CoDel.

use quell_aqm::Random;
use quell_aqm::disciplines::fq_codel::FqCodel;

use crate::common::TestPacket;
use crate::kernel::codel;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::traffic::{self, Given, Reached, Wildness};

const SOURCE: Source = Source {
    shim: "fq_codel",
    file: "net/sched/sch_fq_codel.c",
    headers: &[
        "include/net/codel.h",
        "include/net/codel_impl.h",
        "include/net/codel_qdisc.h",
    ],
    pieces: &[
        ("struct fq_codel_flow {", "static void fq_codel_destroy"),
        ("static int fq_codel_init", "static int fq_codel_dump("),
    ],
    // Linux 7.2 drops at most so many packets for one that it sends, and never two in one tick.
    changed: &[("include/net/codel_impl.h", "CODEL_MAX_DROPS_PER_DEQUEUE")],
};

/// Where the qdisc starts.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[("flows", "1", 1)],
    &[("flows", "8", 8)],
    &[("flows", "8", 8), ("limit", "40p", 40), ("drop_batch", "4", 4)],
    &[("flows", "5", 5), ("memory_limit", "30000B", 30_000), ("quantum", "300B", 300), ("ecn", "false", 0)],
    &[("flows", "16", 16), ("target", "1ms", 1_000), ("interval", "10ms", 10_000)],
    &[("flows", "8", 8), ("ce_threshold", "1ms", 1_000), ("ce_threshold_selector", "1", 1), ("ce_threshold_mask", "1", 1)],
    &[("flows", "3", 3), ("target", "1us", 1), ("interval", "100us", 100), ("ecn", "false", 0), ("quantum", "1MiB", 1 << 20)],
];

/// What is changed while it lives.
#[rustfmt::skip]
const CHANGES: Given<'static> = &[
    ("target", "5ms", 5_000),
    ("target", "300us", 300),
    ("interval", "20ms", 20_000),
    ("quantum", "1500B", 1_500),
    ("quantum", "256B", 256),
    ("limit", "10240p", 10_240),
    ("limit", "7p", 7),
    ("memory_limit", "32MiB", 32 << 20),
    ("memory_limit", "9kB", 9_000),
    ("drop_batch", "1", 1),
    ("drop_batch", "64", 64),
    ("ecn", "true", 1),
    ("ecn", "false", 0),
];

#[test]
fn every_packet_and_every_flow_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::fq_codel::every_packet_and_every_flow_go_as_in_the_kernel",
        &SOURCE,
    );
    let wildness = Wildness {
        pause_bits: 40,
        service_bits: 24,
        flows: 12,
        resets: true,
        start_bits: 45,
    };
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..4 {
            let changes = if seed % 2 == 0 { &[][..] } else { CHANGES };
            let steps = traffic::steps(seed + 100 * form as u64, 10_000, changes.len(), wildness);
            let random = Random::new(seed, "queue");
            let salt = random.clone().u64();
            let make = |settings, link| FqCodel::<TestPacket>::new(settings, link, random).unwrap();
            let hash = |flow| traffic::hash(flow, salt);
            let answers = traffic::run(make, given, changes, &steps, hash, |queue| {
                let (memory, states) = queue.linux_vars();
                states.iter().fold(memory.to_string(), |all, vars| {
                    all + " " + &codel::state(vars)
                })
            });
            reached.count(&answers);
            for law in &laws {
                law.compare("", &answers);
            }
        }
    }
    reached.assert(20_000, 3_000);
}
