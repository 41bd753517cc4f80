//! `include/net/pie.h` and `net/sched/sch_pie.c`: the controller in any state, and the whole qdisc.
//!
//! Inputs stay where ours and the kernel promise the same: the head of `src/pie/linux.rs` numbers what deviates. So there are no resets
//! here (the kernel's keeps the measured delay), delays stay below 30 s and departures less than 275 s apart (the kernel wraps), and
//! the estimator sees less than 16 MiB.

use quell_aqm::Random;
use quell_aqm::disciplines::pie::Pie;
use quell_aqm::disciplines::pie::linux::{MAX_PROB, Params, Vars};

use crate::common::TestPacket;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::traffic::{self, Given, MTU, Reached, Wildness};

const SOURCE: Source = Source {
    shim: "pie",
    file: "net/sched/sch_pie.c",
    headers: &["include/net/pie.h"],
    pieces: &[],
    changed: &[],
};

/// 30 s in the kernel's ticks.
const LONGEST_DELAY: u64 = 30_000_000_000 >> 6;

/// The state in the words of the shim.
pub(crate) fn state(vars: &Vars) -> String {
    // The kernel's "not yet" is all ones.
    let or_none = |value: Option<u64>| value.unwrap_or(u64::MAX);
    let Vars {
        qdelay,
        qdelay_old,
        burst_time,
        prob,
        accu_prob,
        avg_dq_rate,
        ..
    } = *vars;
    let (stamp, count) = (or_none(vars.dq_tstamp), or_none(vars.dq_count));
    format!("{qdelay} {qdelay_old} {burst_time} {stamp} {prob} {accu_prob} {count} {avg_dq_rate}")
}

/// Any parameters and any state that the kernel can come into, at `now` in ticks.
fn any(random: &mut Random, now: u64) -> (Params, Vars) {
    let params = Params {
        target: 1 + traffic::number(random, 28),
        alpha: random.below(33),
        beta: random.below(33),
        bytemode: random.below(2) == 1,
        dq_rate_estimator: random.below(2) == 1,
    };
    let delay = |random: &mut Random| traffic::number(random, 29).min(LONGEST_DELAY);
    let probability = |random: &mut Random| match random.below(8) {
        // Each step of the auto-tuning, and one beside it.
        0 => (MAX_PROB / 10_u64.pow(random.below(8) as u32)).wrapping_add(random.below(3)) - 1,
        1 => MAX_PROB / 100 * 85 + random.below(3) - 1,
        2 => MAX_PROB / 2 * 17 - random.below(3),
        3 => u64::MAX - random.below(1 << 40),
        _ => traffic::number(random, 57),
    };
    let stamped = random.below(4) > 0;
    let vars = Vars {
        qdelay: delay(random),
        qdelay_old: delay(random),
        burst_time: [0, 0, delay(random)][random.below(3) as usize],
        dq_tstamp: stamped.then(|| now - traffic::number(random, 32)),
        prob: probability(random),
        accu_prob: probability(random),
        // Counting starts with a time.
        dq_count: (stamped && random.below(4) > 0).then(|| traffic::number(random, 15)),
        // Such that 16 MiB are not estimated to take longer.
        avg_dq_rate: [0, traffic::number(random, 32).max(10)][random.below(2) as usize],
    };
    (params, vars)
}

#[test]
fn each_step_of_the_controller_is_the_kernels() {
    let mut random = Random::new(1, "states");
    let mut steps = Vec::new();
    let (mut signals, mut draws, mut restarts) = (0, 0, 0);
    for _ in 0..150_000 {
        let now = (1 << 33) + traffic::number(&mut random, 48);
        let (params, mut vars) = any(&mut random, now);
        let Params {
            target,
            alpha,
            beta,
            ..
        } = params;
        let (bytemode, estimates) = (
            u8::from(params.bytemode),
            u8::from(params.dq_rate_estimator),
        );
        let law = format!(
            "law {target} {alpha} {beta} {bytemode} {estimates} {}",
            state(&vars)
        );
        let backlog = traffic::number(&mut random, 24);
        let len = 1 + traffic::number(&mut random, 13);
        let mut signal = false;
        let command = match random.below(3) {
            0 => {
                let number = random.u64();
                let mut drawn = String::new();
                let draw = || {
                    drawn = format!("random 1 {number}\n");
                    number
                };
                signal = vars.drop_early(&params, backlog, len, MTU, draw);
                signals += usize::from(signal);
                draws += usize::from(!drawn.is_empty());
                format!("{drawn}{law} drop {backlog} {len}")
            }
            1 => {
                let arrival = now - traffic::number(&mut random, 32);
                let backlog = [0, backlog][random.below(2) as usize];
                vars.process_dequeue(&params, now, arrival, len, backlog);
                format!("{law} process {now} {arrival} {len} {backlog}")
            }
            _ => {
                let backlog = [0, backlog][random.below(2) as usize];
                let before = vars.burst_time;
                vars.calculate_probability(&params, backlog);
                restarts += usize::from(vars.burst_time != before);
                format!("{law} calculate {backlog}")
            }
        };
        steps.push((command, format!("{} {}", u8::from(signal), state(&vars))));
    }
    assert!(
        signals > 1_000 && draws > 1_000 && restarts > 100,
        "{signals} {draws} {restarts}"
    );
    for law in kernels(
        "kernel::pie::each_step_of_the_controller_is_the_kernels",
        &SOURCE,
    ) {
        law.compare("", &steps);
    }
}

/// Where the qdisc starts.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[],
    &[("ecn", "true", 1)],
    &[("limit", "10000p", 10_000), ("ecn", "true", 1)],
    &[("target", "1ms", 1_000), ("alpha", "32", 32), ("beta", "32", 32), ("ecn", "true", 1)],
    &[("bytemode", "true", 1), ("target", "5ms", 5_000)],
    &[("alpha", "0", 0), ("beta", "1", 1), ("ecn", "true", 1)],
    &[("alpha", "1", 1), ("beta", "1", 1), ("ecn", "true", 1), ("limit", "10000p", 10_000), ("bytemode", "true", 1)],
    &[("dq_rate_estimator", "true", 1)],
    &[("dq_rate_estimator", "true", 1), ("limit", "10000p", 10_000), ("ecn", "true", 1)],
    &[("dq_rate_estimator", "true", 1), ("target", "2ms", 2_000), ("limit", "10000p", 10_000), ("ecn", "true", 1)],
    &[("limit", "30p", 30), ("tupdate", "1ms", 1_000), ("target", "1us", 1)],
];

/// What is changed while it lives; `dq_rate_estimator` is not among them, because packets of the kernel carry no time then.
#[rustfmt::skip]
const CHANGES: Given<'static> = &[
    ("target", "15ms", 15_000),
    ("target", "500us", 500),
    ("tupdate", "16ms", 16_000),
    ("tupdate", "3ms", 3_000),
    ("alpha", "0", 0),
    ("alpha", "2", 2),
    ("beta", "20", 20),
    ("beta", "0", 0),
    ("limit", "1000p", 1_000),
    ("limit", "5p", 5),
    ("ecn", "true", 1),
    ("ecn", "false", 0),
    ("bytemode", "true", 1),
    ("bytemode", "false", 0),
];

#[test]
fn every_packet_and_the_whole_state_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::pie::every_packet_and_the_whole_state_go_as_in_the_kernel",
        &SOURCE,
    );
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..6 {
            let changes = if seed % 2 == 0 { &[][..] } else { CHANGES };
            // Short pauses, in which the measured delay is not taken for one that goes on: the probability stays below the 10 % up to
            // which packets are marked.
            let (service_bits, pause_bits) = [(21, 20), (24, 32)][form % 2];
            let wildness = Wildness {
                pause_bits,
                service_bits,
                flows: 1,
                resets: false,
                start_bits: 30,
            };
            let steps = traffic::steps(seed + 100 * form as u64, 20_000, changes.len(), wildness);
            let mut random = Random::new(seed, "queue");
            let make =
                |settings, link| Pie::<TestPacket>::new(settings, link, random.clone()).unwrap();
            let answers = traffic::run(
                make,
                given,
                changes,
                &steps,
                |_| 0,
                |pie| state(pie.linux_vars().unwrap()),
            );
            reached.count(&answers);
            // At most one for each arrival.
            let draws = traffic::draws(|| random.u64(), steps.len());
            for law in &laws {
                law.compare(&draws, &answers);
            }
        }
    }
    reached.assert(50_000, 30);
}
