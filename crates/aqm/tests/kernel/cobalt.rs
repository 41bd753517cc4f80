//! The state machine of COBALT in `net/sched/sch_cake.c`.

use quell_aqm::disciplines::cobalt::law::{INVERSE_ROOTS, Params, Vars, Verdict};
use quell_aqm::{Random, Time};

use crate::kernel::harness::{CompiledLaw, Source, kernels};
use crate::kernel::traffic::number;

const SOURCE: Source = Source {
    shim: "cobalt",
    file: "net/sched/sch_cake.c",
    headers: &[],
    // Parameters and state; the time that a packet carries; the functions.
    pieces: &[
        ("struct cobalt_params {", "enum {"),
        ("struct cobalt_skb_cb {", "static u16 quantum_div"),
        (
            "#define REC_INV_SQRT_CACHE",
            "static bool cake_update_flowkeys",
        ),
    ],
    changed: &[],
};

fn answer(verdict: Verdict, vars: &Vars) -> String {
    let drop = u8::from(verdict.drop || verdict.blue);
    let Vars {
        count,
        inverse_root,
        p_drop,
        ..
    } = *vars;
    let times = format!(
        "{} {}",
        vars.drop_next.as_nanos(),
        vars.blue_timer.as_nanos()
    );
    format!(
        "{drop} {} {count} {inverse_root} {times} {p_drop} {}",
        u8::from(verdict.mark),
        u8::from(vars.dropping)
    )
}

#[test]
fn the_state_machine_is_the_kernels() {
    let mut random = Random::new(1, "cobalt");
    let mut steps = Vec::new();
    let (mut drops, mut marks, mut blue, mut most) = (0, 0, 0, 0);
    for _ in 0..1_500 {
        let target = number(&mut random, 33);
        let params = Params {
            target: Time::from_nanos(target),
            interval: Time::from_nanos(number(&mut random, 34)),
            mtu_time: Time::from_nanos(number(&mut random, 34)),
            p_inc: number(&mut random, 32) as u32,
            p_dec: number(&mut random, 32) as u32,
        };
        let mut vars = Vars::default();
        let mut now = number(&mut random, 50);
        let Params { p_inc, p_dec, .. } = params;
        let times = [params.interval, params.target, params.mtu_time]
            .map(|time| time.as_nanos().to_string())
            .join(" ");
        steps.push((
            format!("law {times} {p_inc} {p_dec}"),
            answer(Verdict::default(), &vars),
        ));
        if random.below(2) == 0 {
            // A state far from the start; counts are lowered one by one, so that large ones are for signals only.
            vars = Vars {
                count: if random.below(4) == 0 {
                    u32::MAX - random.below(3) as u32
                } else {
                    number(&mut random, 12) as u32
                },
                inverse_root: number(&mut random, 32) as u32,
                drop_next: Time::from_nanos(now + number(&mut random, 33)),
                blue_timer: Time::from_nanos(now.saturating_sub(number(&mut random, 33))),
                p_drop: number(&mut random, 32) as u32,
                dropping: random.below(2) == 1,
            };
            let Vars {
                count,
                inverse_root,
                p_drop,
                ..
            } = vars;
            let (next, timer) = (vars.drop_next.as_nanos(), vars.blue_timer.as_nanos());
            let command = format!(
                "vars {count} {inverse_root} {next} {timer} {p_drop} {}",
                u8::from(vars.dropping)
            );
            steps.push((command, answer(Verdict::default(), &vars)));
        }
        let huge = vars.count > 1 << 20;
        // Late packets for a while, then early ones; pauses up to a few intervals.
        let mut late = true;
        for _ in 0..200 {
            let pause = random.below(8) as u32;
            now += number(&mut random, 33).min(params.interval.as_nanos() >> pause);
            late ^= random.below(24) == 0;
            let at = Time::from_nanos(now);
            match random.below(16) {
                0 => {
                    vars.queue_full(&params, at);
                    steps.push((format!("full {now}"), answer(Verdict::default(), &vars)));
                }
                1 => {
                    vars.queue_empty(&params, at);
                    steps.push((format!("empty {now}"), answer(Verdict::default(), &vars)));
                }
                _ => {
                    let slack = number(&mut random, 33);
                    let limit = target.max(4 * params.mtu_time.as_nanos());
                    let sojourn = if late || huge {
                        limit + slack
                    } else {
                        slack.min(limit)
                    }
                    .min(now);
                    // An early packet takes a huge count down for minutes.
                    if huge && sojourn <= limit {
                        continue;
                    }
                    let (ecn, drawn) = (random.below(2) == 1, random.u32());
                    let mut draw = String::new();
                    let verdict = vars.judge(&params, at, Time::from_nanos(sojourn), ecn, || {
                        draw = format!("random 1 {drawn}\n");
                        drawn
                    });
                    drops += usize::from(verdict.drop);
                    marks += usize::from(verdict.mark);
                    blue += usize::from(verdict.blue);
                    most = most.max(vars.count);
                    let arrival = now - sojourn;
                    steps.push((
                        format!("{draw}judge {now} {arrival} {}", u8::from(ecn)),
                        answer(verdict, &vars),
                    ));
                }
            }
        }
    }
    assert!(
        drops > 5_000 && marks > 5_000 && blue > 5_000 && most == u32::MAX,
        "{drops} {marks} {blue} {most}"
    );
    for law in kernels("kernel::cobalt::the_state_machine_is_the_kernels", &SOURCE) {
        if !has_our_table(&law) {
            continue;
        }
        law.compare("", &steps);
    }
}

/// Whether the kernel's table of inverse roots is ours, which is that of 6.12 and 6.18. Linux 6.1 computes its own with four Newton
/// steps, which ends up to 0.06 % away (for `count` 2); then no time after is the same.
fn has_our_table(law: &CompiledLaw) -> bool {
    let questions = (0..16).fold(String::new(), |all, count| all + &format!("root {count}\n"));
    let theirs: Vec<u32> = law
        .answers(&questions)
        .iter()
        .map(|root| root.parse().unwrap())
        .collect();
    let is_old = law.version.starts_with("6.1.");
    assert_eq!(
        theirs == INVERSE_ROOTS,
        !is_old,
        "Linux {}: {theirs:?}",
        law.version
    );
    for (theirs, ours) in theirs.iter().zip(INVERSE_ROOTS) {
        assert!(
            theirs.abs_diff(ours) <= ours / 1_000,
            "Linux {}: {theirs} {ours}",
            law.version
        );
    }
    !is_old
}
