//! `include/net/codel.h`, `codel_impl.h` and `net/sched/sch_codel.c`.

use quell_aqm::Random;
use quell_aqm::disciplines::codel::Codel;
use quell_aqm::disciplines::codel::linux::{Vars, control_law, newton_step};

use crate::common::TestPacket;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::traffic::{self, Given, Reached, Wildness};

const SOURCE: Source = Source {
    shim: "codel",
    file: "net/sched/sch_codel.c",
    headers: &[
        "include/net/codel.h",
        "include/net/codel_impl.h",
        "include/net/codel_qdisc.h",
    ],
    pieces: &[],
    // Linux 7.2 drops at most so many packets for one that it sends, and never two in one tick.
    changed: &[("include/net/codel_impl.h", "CODEL_MAX_DROPS_PER_DEQUEUE")],
};

#[test]
fn the_inverse_root_and_the_control_law_are_the_kernels() {
    let mut random = Random::new(1, "numbers");
    let mut steps = Vec::new();
    for _ in 0..200_000 {
        let (root, count) = (
            traffic::number(&mut random, 16) as u16,
            traffic::number(&mut random, 32) as u32,
        );
        steps.push((
            format!("newton {root} {count}"),
            newton_step(root, count).to_string(),
        ));
        let (t, interval) = (
            traffic::number(&mut random, 32) as u32,
            traffic::number(&mut random, 32) as u32,
        );
        steps.push((
            format!("control {t} {interval} {root}"),
            control_law(t, interval, root).to_string(),
        ));
    }
    for law in kernels(
        "kernel::codel::the_inverse_root_and_the_control_law_are_the_kernels",
        &SOURCE,
    ) {
        law.compare("", &steps);
    }
}

/// The state in the words of the shim.
pub(crate) fn state(vars: &Vars) -> String {
    let Vars {
        count,
        last_count,
        inverse_root,
        first_above_time,
        drop_next,
        last_delay,
        ..
    } = *vars;
    let dropping = u8::from(vars.dropping);
    format!(
        "{count} {last_count} {dropping} {inverse_root} {first_above_time} {drop_next} {last_delay}"
    )
}

/// Where the qdisc starts.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[],
    &[("ecn", "true", 1)],
    &[("target", "1ms", 1_000), ("interval", "10ms", 10_000), ("limit", "30p", 30)],
    &[("target", "1us", 1), ("interval", "100us", 100)],
    &[("ecn", "true", 1), ("ce_threshold", "1ms", 1_000)],
    &[("ce_threshold", "0s", 0)],
    &[("target", "2000s", 2_000_000_000), ("interval", "2000s", 2_000_000_000)],
    &[("interval", "1us", 1), ("limit", "10000p", 10_000)],
];

/// What is changed while it lives.
#[rustfmt::skip]
const CHANGES: Given<'static> = &[
    ("target", "5ms", 5_000),
    ("target", "300us", 300),
    ("interval", "100ms", 100_000),
    ("interval", "20ms", 20_000),
    ("limit", "1000p", 1_000),
    ("limit", "5p", 5),
    ("ecn", "true", 1),
    ("ecn", "false", 0),
    ("ce_threshold", "2ms", 2_000),
];

#[test]
fn every_packet_and_the_whole_state_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::codel::every_packet_and_the_whole_state_go_as_in_the_kernel",
        &SOURCE,
    );
    // Pauses of 2⁴³ ns are two turns of the kernel's clock of 32 bits.
    let wildness = Wildness {
        pause_bits: 43,
        service_bits: 24,
        flows: 1,
        resets: true,
        start_bits: 45,
    };
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..4 {
            let changes = if seed % 2 == 0 { &[][..] } else { CHANGES };
            let steps = traffic::steps(seed + 10 * form as u64, 20_000, changes.len(), wildness);
            let random = Random::new(seed, "queue");
            let make = |settings, link| Codel::<TestPacket>::new(settings, link, random).unwrap();
            let answers = traffic::run(
                make,
                given,
                changes,
                &steps,
                |_| 0,
                |codel| state(codel.linux_vars().unwrap()),
            );
            reached.count(&answers);
            for law in &laws {
                law.compare("", &answers);
            }
        }
    }
    reached.assert(10_000, 10_000);
}
