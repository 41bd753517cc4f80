//! `include/net/red.h` with `lib/math/reciprocal_div.c`: the law, driven as `sch_red.c` drives it; and what `sch_red.c` does to packets.

use quell_aqm::disciplines::red::Red;
use quell_aqm::disciplines::red::linux::{Action, LinuxRed, Parameters};
use quell_aqm::disciplines::red::tc::IdleTable;
use quell_aqm::kind::QueueKind as _;
use quell_aqm::parameter::Settings;
use quell_aqm::qdisc::Link;
use quell_aqm::{Bytes, Random, Rate, Time};

use crate::common::TestPacket;
use crate::kernel::harness::{Source, kernels};
use crate::kernel::traffic::{self, Given, MTU, Reached, Wildness, number};

const SOURCE: Source = Source {
    shim: "red",
    file: "include/net/red.h",
    headers: &[
        "include/linux/reciprocal_div.h",
        "lib/math/reciprocal_div.c",
    ],
    pieces: &[],
    changed: &[],
};

/// Parameters that the kernel takes, from everywhere.
fn parameters(random: &mut Random) -> Parameters {
    loop {
        let mut shifts = [0; 256];
        // A table of `tc` rises slowly; the kernel takes any.
        let (steepness, any) = (1 + random.below(24), random.below(4) == 0);
        for (index, shift) in shifts.iter_mut().enumerate() {
            *shift = if any {
                random.below(32)
            } else {
                (index as u64 / steepness).min(31)
            } as u8;
        }
        let one = number(random, 30) as u32;
        let other = if random.below(16) == 0 {
            one
        } else {
            number(random, 30) as u32
        };
        let parameters = Parameters {
            min: one.min(other),
            max: one.max(other),
            weight_log: random.below(32) as u32,
            max_probability: number(random, 32).max(1) as u32,
            idle: IdleTable {
                cell_log: random.below(32) as u32,
                shifts,
            },
        };
        if parameters.are_valid() {
            return parameters;
        }
    }
}

#[test]
fn the_law_is_the_kernels() {
    let mut random = Random::new(1, "red");
    let mut steps = Vec::new();
    let (mut early, mut forced, mut adapted) = (0, 0, 0);
    for _ in 0..1_000 {
        let parameters = parameters(&mut random);
        let Parameters {
            min,
            max,
            weight_log,
            max_probability,
            ..
        } = parameters;
        let table = parameters
            .idle
            .shifts
            .map(|shift| shift.to_string())
            .join(" ");
        let command = format!(
            "law {min} {max} {weight_log} 0 {} {max_probability} {table}",
            parameters.idle.cell_log
        );
        let mut law = LinuxRed::new(parameters);
        let mut now = 1 + number(&mut random, 50);
        let mut step = |command: String, action: u8, law: &LinuxRed| {
            let (average, count, threshold) = law.variables();
            steps.push((
                command,
                format!(
                    "{action} {average} {count} {threshold} {}",
                    law.probability()
                ),
            ));
        };
        step(command, 0, &law);
        // The backlog wanders about both thresholds, such that the average meets them too.
        let far = 2 * u64::from(max) + 3_000;
        let mut backlog = 0;
        for _ in 0..300 {
            now += number(&mut random, 40);
            let at = Time::from_nanos(now);
            match random.below(16) {
                0 => {
                    law.idle(at);
                    step(format!("idle {now}"), 0, &law);
                }
                1 => {
                    let before = law.probability();
                    law.adapt(at);
                    adapted += usize::from(law.probability() != before);
                    step(format!("adapt {now}"), 0, &law);
                }
                2 if random.below(16) == 0 => {
                    law.restart();
                    step("restart".to_owned(), 0, &law);
                }
                _ => {
                    backlog = match random.below(8) {
                        0 => random.below(far),
                        1 => 0,
                        _ => backlog + random.below(1_500),
                    }
                    .min(u32::MAX.into());
                    let drawn = random.u32();
                    let mut draw = String::new();
                    let action = law.arrival(backlog, at, || {
                        draw = format!("random 1 {drawn}\n");
                        drawn
                    });
                    early += usize::from(action == Action::Early);
                    forced += usize::from(action == Action::Forced);
                    step(format!("{draw}arrive {now} {backlog}"), action as u8, &law);
                }
            }
        }
    }
    assert!(
        early > 1_000 && forced > 10_000 && adapted > 1_000,
        "{early} {forced} {adapted}"
    );
    for law in kernels("kernel::red::the_law_is_the_kernels", &SOURCE) {
        law.compare("", &steps);
    }
}

const QDISC: Source = Source {
    shim: "sch_red",
    file: "net/sched/sch_red.c",
    headers: &[
        "include/net/red.h",
        "include/linux/reciprocal_div.h",
        "lib/math/reciprocal_div.c",
    ],
    pieces: &[
        (
            "struct red_sched_data {",
            "static struct sk_buff *red_peek(",
        ),
        (
            "static inline void red_adaptative_timer(",
            "static int red_init(",
        ),
    ],
    changed: &[],
};

/// Settings with which the qdisc starts. With ECN the limit is out of reach: a packet that the kernel marks and then refuses is not reported as marked here.
#[rustfmt::skip]
const FORMS: &[Given<'static>] = &[
    &[("min", "30kB", 30_000), ("max", "90kB", 90_000), ("limit", "200kB", 200_000)],
    &[("min", "5kB", 5_000), ("max", "15kB", 15_000), ("limit", "20kB", 20_000), ("probability", "0.5", 0), ("adaptive", "true", 0)],
    &[("min", "5kB", 5_000), ("max", "50kB", 50_000), ("limit", "1GB", 1_000_000_000), ("ecn", "true", 1), ("burst", "20", 0)],
    &[("min", "4kB", 4_000), ("max", "60kB", 60_000), ("limit", "1GB", 1_000_000_000), ("ecn", "true", 1), ("nodrop", "true", 1), ("adaptive", "true", 0)],
    &[("min", "4kB", 4_000), ("max", "9kB", 9_000), ("limit", "1GB", 1_000_000_000), ("ecn", "true", 1), ("harddrop", "true", 1)],
];

#[test]
fn every_packet_and_the_whole_state_go_as_in_the_kernel() {
    let laws = kernels(
        "kernel::red::every_packet_and_the_whole_state_go_as_in_the_kernel",
        &QDISC,
    );
    let wildness = Wildness {
        pause_bits: 33,
        service_bits: 22,
        flows: 1,
        resets: false,
        start_bits: 30,
    };
    let mut reached = Reached::default();
    for (form, given) in FORMS.iter().enumerate() {
        for seed in 0..4 {
            let steps = traffic::steps(seed + 100 * form as u64, 20_000, 0, wildness);
            let make = |settings, link| {
                Red::<TestPacket>::new(settings, link, Random::new(seed, "queue")).unwrap()
            };
            let answers = traffic::run(
                make,
                given,
                &[],
                &steps,
                |_| 0,
                |red| {
                    let law = red.linux_law().unwrap();
                    let (average, count, threshold) = law.variables();
                    format!("{average} {count} {threshold} {}", law.probability())
                },
            );
            reached.count(&answers);
            let mut random = Random::new(seed, "queue");
            let draws = traffic::draws(|| random.u32().into(), steps.len());
            let preparation = derived(given) + &draws;
            for law in &laws {
                law.compare(&preparation, &answers);
            }
        }
    }
    reached.assert(10_000, 2_000);
}

/// What `tc` derives from the parameters, for the shim.
fn derived(given: Given<'_>) -> String {
    let mut settings = Settings::new(Red::<TestPacket>::ENTRY.parameters);
    for (key, value, _) in given {
        settings.set(key, value).unwrap();
    }
    let link = Link {
        rate: Rate::from_mbps(100),
        mtu: Bytes::new(MTU),
    };
    let red = Red::<TestPacket>::new(settings, link, Random::new(0, "")).unwrap();
    let Parameters {
        weight_log,
        max_probability,
        idle,
        ..
    } = red.linux_law().unwrap().parameters();
    let table = idle.shifts.map(|shift| shift.to_string()).join(" ");
    format!(
        "derived {weight_log} {} {max_probability} {table}\n",
        idle.cell_log
    )
}
