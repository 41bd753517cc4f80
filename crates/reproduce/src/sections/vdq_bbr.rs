//! VDQ-CSAQM beside DualPI2 with BBRv2: experiments B, C2, D, the motivation and D at 10 Gbit/s of the slides of 2020, each with BBRv2 as
//! shipped, which mostly ignores marks on this path, and with one that responds to them.

mod cases;
mod said;

use quell_measure::Phase;

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::sections::vdq::tables::{counts, p99};
use crate::statement::{Expected, Statement};
use crate::table::Table;
use cases::{Cases, SETUPS, Setup, share, signals, spread};
use said::{
    OF_C2, OF_D, OF_E, OF_SHIPPED, Said, fairer, is_l4s, said_of_b, said_of_m, said_of_rates,
};

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "VDQ-CSAQM: experiments with BBR",
    experiments: &[
        Experiment {
            id: "vdq2020/bbr",
            title: "Experiments B to E with BBRv2 as shipped",
            source: "slides with BBRv2, and the conclusion",
            statements: &[Statement {
                id: "as-shipped",
                published: "VDQ-CSAQM works well with heterogeneous controls and RTTs and lets incompatible ones coexist; BBRv2 with default settings",
                bound: "largest over smallest mean rate of the classes below that behind DualPI2 in each phase of B, C2, D and E with several classes",
                expected: AS_SHIPPED,
            }],
            plan: plan_of_all,
            judge: judge_all,
            definition: None,
        },
        Experiment {
            id: "vdq2020/m",
            title: "The motivation: DCTCP and BBRv2 in one L4S queue",
            source: "slides \"DCTCP vs. BBRv2, 1 Gbps, 5 ms RTT\"; the numbers of flows are ours",
            statements: &[
                Statement {
                    id: "step",
                    published: "DCTCP and BBRv2 need different signal intensities; one marking probability for both leads to unfairness",
                    bound: "five of each behind DualPI2: marks of BBRv2 below 1.1 times those of DCTCP (1.12 in phases of 20 s), rates more than 1.5 to 1; BBRv2 responds to marks at any RTT",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "csaqm",
                    published: "CSAQM finds the right marking ratio for the controls to achieve fairness, without flow identification or per-flow queues",
                    bound: "the same behind CSAQM: marks of BBRv2 above 1.5 times those of DCTCP, and rates more equal than behind DualPI2",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "one-queue",
                    published: "CSAQM cannot satisfy the requirements of L4S and Classic traffic at the same time",
                    bound: "P99 of L4S above 1 ms in its one queue, with L4S alone, and below 1 ms in two (experiment B, 10-10)",
                    expected: Expected::Reproduced,
                },
                PLOTS,
            ],
            plan: plan_of_m,
            judge: judge_m,
            definition: None,
        },
        Experiment {
            id: "vdq2020/b",
            title: "BBRv2 beside CUBIC at 5 ms in nine phases",
            source: "slides \"Dynamic traffic – equal RTT (5ms), BBRv2 – Cubic CCs\", and the conclusion",
            statements: &[
                Statement {
                    id: "dominates",
                    published: "behind DualPI2 BBRv2 L4S flows dominate, suppressing Classic ones",
                    bound: "share of L4S above 0.6 with 10-10 and 50-50, as shipped and responding to marks at any RTT; the slides print no number",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "shares",
                    published: "VDQ-CSAQM lets incompatible controls coexist",
                    bound: "share of L4S nearer to 0.5 than behind DualPI2 with 10-10 and 50-50; BBRv2 responds to marks at any RTT",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "as-shipped",
                    published: "the same; BBRv2 with default settings",
                    bound: "the same with BBRv2 as shipped",
                    expected: AS_SHIPPED,
                },
                Statement {
                    id: "model",
                    published: "BBRv2 applies a model-based control, but what if the network works with a different model",
                    bound: "none",
                    expected: Expected::CannotBeJudged("a question that names no figure"),
                },
                Statement {
                    id: "latency",
                    published: "ultra-low latency for L4S flows",
                    bound: "P99 of the L4S queue up to 1 ms with 10-10, 50-10, 50-50, 10-50 and 1-10; BBRv2 responds to marks at any RTT",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "latency-few",
                    published: "the same with few flows",
                    bound: "the same with 1-0, 1-1 and 10-1; guarded at 2 ms",
                    expected: FEW,
                },
                Statement {
                    id: "utilisation",
                    published: "bottleneck utilisation reasonable: 98.4 %, caused by the virtual queues",
                    bound: "0.982 to 0.988 in the same phases; C_v = 63/64 of the rate was derived from this figure",
                    expected: Expected::Reproduced,
                },
                PLOTS,
            ],
            plan: plan_of_b,
            judge: judge_b,
            definition: None,
        },
        Experiment {
            id: "vdq2020/c2",
            title: "BBRv2 and CUBIC with base RTTs of 5 and 40 ms",
            source: "slides \"Heterogeneous RTT (5ms and 40ms)\", BBRv2 - Cubic, and the conclusion",
            statements: &[
                Statement {
                    id: "rates",
                    published: "VDQ-CSAQM works well with heterogeneous controls and RTTs",
                    bound: EQUAL,
                    expected: Expected::Reproduced,
                },
                SHIPPED,
                Statement {
                    id: "latency",
                    published: "ultra-low latency for L4S flows",
                    bound: "P99 of the L4S queue up to 1 ms in each phase, as in experiments A and B; BBRv2 responds to marks at any RTT; guarded at 15 ms",
                    expected: FEW,
                },
                PLOTS,
            ],
            plan: || plan_of(2),
            judge: judge_c2,
            definition: None,
        },
        Experiment {
            id: "vdq2020/d",
            title: "DCTCP and BBRv2 as L4S beside CUBIC and BBRv2 as Classic",
            source: "slides \"Heterogeneous CCs and equal RTT (5ms)\", and the conclusion; the numbers of flows are ours",
            statements: &[
                Statement {
                    id: "rates",
                    published: "VDQ-CSAQM supports the coexistence of even incompatible controls",
                    bound: EQUAL,
                    expected: Expected::Reproduced,
                },
                SHIPPED,
                Statement {
                    id: "signals",
                    published: "VDQ-CSAQM provides different signal intensities for various flows, without flow identification and per-flow queueing",
                    bound: "marks of BBRv2 and of DCTCP as 1.5 to 1 or more, either way, in each phase, as in the motivation; BBRv2 responds to marks at any RTT",
                    expected: Expected::Differs(
                        "in one of four phases BBRv2 and DCTCP get marks as 1.25 to 1; the cause was not examined",
                    ),
                },
                Statement {
                    id: "latency",
                    published: "ultra-low latency for L4S flows",
                    bound: "P99 of the L4S queue up to 1 ms in each phase, as in experiments A and B; BBRv2 responds to marks at any RTT; guarded at 1.5 ms",
                    expected: Expected::Reproduced,
                },
                PLOTS,
            ],
            plan: || plan_of(3),
            judge: judge_d,
            definition: None,
        },
        Experiment {
            id: "vdq2020/e",
            title: "Experiment D at 10 Gbit/s",
            source: "conclusion; what was run at 10 Gbit/s is not said, the numbers of flows are ours",
            statements: &[
                Statement {
                    id: "rates",
                    published: "VDQ-CSAQM supports the coexistence of even incompatible controls",
                    bound: EQUAL,
                    expected: Expected::Reproduced,
                },
                SHIPPED,
                Statement {
                    id: "latency",
                    published: "ultra-low latency for L4S flows",
                    bound: "P99 of the L4S queue up to 1 ms; BBRv2 responds to marks at any RTT",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "results",
                    published: "all the measurement results (incl. ones at 10 Gbps) are available",
                    bound: "none",
                    expected: Expected::CannotBeJudged("the published results are not at hand"),
                },
            ],
            plan: || plan_of(4),
            judge: judge_e,
            definition: None,
        },
    ],
};

const AS_SHIPPED: Expected = Expected::Differs(
    "as shipped BBRv2 responds to marks only up to a lowest RTT of 5 ms, which this path exceeds by 12 µs; VDQ-CSAQM only marks L4S packets and serves them first, so Classic starves; that it was not starved in the plots of the slides says that their BBRv2 responded",
);
const FEW: Expected = Expected::Differs(
    "the cause was not examined: the starts and probes of BBRv2 send more than the link carries, which few flows show most; the slides print no delay",
);
const EQUAL: &str = "largest over smallest mean rate of the classes below that behind DualPI2 in each phase; BBRv2 responds to marks at any RTT";
const SHIPPED: Statement = Statement {
    id: "as-shipped",
    published: "the same; BBRv2 with default settings",
    bound: "the same with BBRv2 as shipped",
    expected: AS_SHIPPED,
};
const PLOTS: Statement = Statement {
    id: "plots",
    published: "throughput and delay over time (plots)",
    bound: "none",
    expected: Expected::CannotBeJudged("the values of the plots are lost"),
};

fn plan_of(place: usize) -> Vec<Cell> {
    SETUPS[place].cells().to_vec()
}

fn plan_of_all() -> Vec<Cell> {
    SETUPS.iter().flat_map(Setup::cells).collect()
}

/// Of the motivation, and experiment B behind VDQ-CSAQM.
fn plan_of_m() -> Vec<Cell> {
    let mut cells = plan_of(0);
    cells.push(SETUPS[1].cells()[1].clone());
    cells
}

fn plan_of_b() -> Vec<Cell> {
    plan_of(1)
}

/// What every experiment writes.
fn write(setup: &Setup, cases: &Cases, out: &mut Findings) {
    out.csv("published-vdq-bbr.csv", cases.csv(setup));
    out.write(format!(
        "### Experiment {}\n\n{}",
        setup.name,
        cases.table()
    ));
}

fn judge_m(cells: &Cells<'_>, out: &mut Findings) {
    let (own, of_b) = cells.split_at(4);
    let (m, of_b) = (Cases::of(own), cases::phases(of_b).remove(0));
    let said = said_of_m(&m, &of_b);
    for (id, said) in ["step", "csaqm", "one-queue"].iter().zip(&said) {
        said.judge(id, out);
    }
    let mut marks = Figure::pairs("DCTCP and BBRv2, five flows of each", "ratio");
    for (case, name) in [(3, "DualPI2"), (1, "CSAQM")] {
        if let Some(phase) = m.phase(case, "5-5") {
            let [dctcp, bbr] = [0, 1].map(|at| signals(&phase.figures.groups[at]));
            let label = format!("{name}: marks of BBRv2 over DCTCP");
            marks = marks.pair(&label, None, bbr / dctcp);
            let label = format!("{name}: larger over smaller rate");
            marks = marks.pair(&label, None, spread(phase));
        }
    }
    out.draw(marks);
    write(&SETUPS[0], &m, out);
}

fn judge_b(cells: &Cells<'_>, out: &mut Findings) {
    let b = Cases::of(*cells);
    let said = said_of_b(&b);
    let ids = [
        "dominates",
        "shares",
        "as-shipped",
        "latency",
        "utilisation",
    ];
    for (id, said) in ids.iter().zip(&said) {
        said.judge(id, out);
    }
    let [_, better, shipped, latency, used] = &said;
    for (id, said) in [("shares", better), ("as-shipped", shipped)] {
        let ours = said
            .found
            .replace("the same:", "share of L4S with 10-10 and 50-50:");
        out.on(id).ours(ours);
    }
    out.on("latency")
        .ours(latency.found.replace("B with", "with"));
    out.on("utilisation")
        .ours(used.found.replace("the same phases: ", ""));
    let few = ["1-0", "1-1", "10-1"];
    let few = few.into_iter().filter_map(|flows| b.phase(1, flows));
    judge_latency("latency-few", few, 2.0, out);
    let mut figure = Figure::pairs("Share of L4S with 10-10 and 50-50", "share of the goodput");
    let names = [
        "VDQ-CSAQM, as shipped",
        "VDQ-CSAQM",
        "DualPI2, as shipped",
        "DualPI2",
    ];
    for (case, name) in names.into_iter().enumerate() {
        for flows in ["10-10", "50-50"] {
            if let Some(phase) = b.phase(case, flows) {
                let label = format!("{name}: {flows}");
                figure = figure.pair(&label, None, share(phase, is_l4s));
            }
        }
    }
    out.draw(figure);
    write(&SETUPS[1], &b, out);
}

/// P99 of L4S in these phases: up to 1 ms, or at most the guard.
fn judge_latency<'a>(
    id: &str,
    phases: impl IntoIterator<Item = &'a Phase>,
    guard: f64,
    out: &mut Findings,
) {
    let checks = out.on(id);
    let mut shown = Vec::new();
    for phase in phases {
        let longest = p99(phase, "l4s");
        let name = || format!("{}: P99 of L4S {longest} ms", counts(phase));
        checks.unless(longest <= 1.0, name());
        checks.guard(longest <= guard, name());
        shown.push(format!("{}: {}", counts(phase), digits(longest)));
    }
    checks.ours(format!("{} ms", shown.join(", ")));
}

/// C2, D and E.
fn judge_rates(
    statement: &'static str,
    place: usize,
    cells: Cells<'_>,
    out: &mut Findings,
) -> Cases {
    let cases = Cases::of(cells);
    said_of_rates(statement, fairer(&cases, true)).judge("rates", out);
    said_of_rates(OF_SHIPPED, fairer(&cases, false)).judge("as-shipped", out);
    let ours = SETUPS[place].queue((true, true));
    let mut figure = Figure::pairs("Largest over smallest mean rate of the classes", "ratio");
    for (number, (own, theirs)) in cases.0[1].iter().zip(&cases.0[3]).enumerate() {
        for (queue, phase) in [(ours, own), ("dualpi2", theirs)] {
            let label = format!("phase {}: {queue}", number + 1);
            figure = figure.pair(&label, None, spread(phase));
        }
    }
    out.draw(figure);
    write(&SETUPS[place], &cases, out);
    cases
}

fn judge_c2(cells: &Cells<'_>, out: &mut Findings) {
    let cases = judge_rates(OF_C2, 2, *cells, out);
    judge_latency("latency", &cases.0[1], 15.0, out);
}

fn judge_d(cells: &Cells<'_>, out: &mut Findings) {
    let cases = judge_rates(OF_D, 3, *cells, out);
    judge_latency("latency", &cases.0[1], 1.5, out);
    let checks = out.on("signals");
    let mut least = f64::INFINITY;
    for (number, phase) in cases.0[1].iter().enumerate() {
        let [dctcp, bbr] = [0, 1].map(|at| signals(&phase.figures.groups[at]));
        let apart = (bbr / dctcp).max(dctcp / bbr);
        checks.unless(
            apart > 1.5,
            format!("phase {}: {apart:.2} to 1", number + 1),
        );
        least = least.min(apart);
    }
    checks.ours(format!("at least {least:.2} to 1"));
}

fn judge_e(cells: &Cells<'_>, out: &mut Findings) {
    let cases = judge_rates(OF_E, 4, *cells, out);
    judge_latency("latency", &cases.0[1], 1.0, out);
}

fn judge_all(cells: &Cells<'_>, out: &mut Findings) {
    let mut rest = *cells;
    let all = SETUPS.each_ref().map(|_| {
        let (own, others) = rest.split_at(4);
        rest = others;
        Cases::of(own)
    });
    let [m, b, c2, d, e] = &all;
    let several = [b, c2, d, e];
    let won = several.map(|cases| fairer(cases, false));
    let total = won
        .iter()
        .fold((0, 0), |sum, won| (sum.0 + won.0, sum.1 + won.1));
    let shipped = said_of_rates(OF_SHIPPED, total);
    shipped.judge("as-shipped", out);
    let mut figure = Figure::pairs(
        "Phases with more equal rates than behind DualPI2, BBRv2 as shipped",
        "%",
    );
    for (setup, (better, all)) in SETUPS[1..].iter().zip(won) {
        let percent = 100.0 * better as f64 / all.max(1) as f64;
        figure = figure.pair(setup.name, None, percent);
    }
    out.draw(figure);

    let of_b = said_of_b(b);
    let [dominates, better, as_shipped, latency, used] = of_b;
    let mut said: Vec<Said> = said_of_m(m, &b.0[1]).into();
    said.extend([dominates, better, as_shipped]);
    for (statement, cases) in [(OF_C2, c2), (OF_D, d), (OF_E, e)] {
        said.push(said_of_rates(statement, fairer(cases, true)));
    }
    said.extend([shipped, latency, used]);
    let mut table = Table::new(&["statement of the slides", "quell", "holds"]);
    for one in said {
        let verdict = if one.holds { "yes" } else { "**no**" };
        table.row(&[one.statement.to_owned(), one.found, verdict.to_owned()]);
    }
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

const RESULT: &str = "\
**Result.** With a BBRv2 that responds to marks, the statements of the slides on rates hold where they are checked, in B with 10-10 and 50-50 flows and
in each phase of C2, D and E: VDQ-CSAQM gives unlike controls nearly equal rates where DualPI2 gives some ten times what it gives others. The
slides also promise ultra-low latency for L4S: its P99 is up to 1 ms in B with ten or more flows of a kind and in E, and longer in phases of B, C2
and D with fewer. They print no delay, and the values of their plots are lost. BBRv2 as shipped does not respond on this path, and then VDQ-CSAQM is worse than DualPI2:
it only marks L4S packets and serves them first, so Classic starves. DualPI2 drops in overload and leaves Classic a tenth.
";

const TEXT: &str = "\
**Source.** Slides \"A Congestion Control Independent L4S Scheduler\" (ANRW 2020), with BBRv2's alpha of Linux 5.4-rc6. They print no number of
these experiments but the utilisation, neither the lengths of phases nor, for M and D, the numbers of flows. Their remark on B, that BBRv2
models a network that works by another model, names no figure.

**BBRv2 and marks.** As shipped it responds only if the lowest RTT is at most 5 ms. The base RTT is 5 ms and a data packet takes 12 µs more;
only a handshake alone on the link can be as short, to the microsecond in which it starts. Both are run: as shipped, and with
`ecn_max_rtt = \"0s\"`, for any RTT. With 6 ms B and D are the same as with 0 s to the last digit. Whether the source's BBRv2 responded is not
known; that Classic was not starved in its plots of VDQ-CSAQM says that it did.

**Runs.** `scenarios/vdq2020/m.toml`, `b.toml`, `c2.toml`, `d.toml` and `e.toml` (D at 10 Gbit/s), one seed, phases of 6 s in B, 3 s in E and 5 s
in the others, without the first 1 or 2 s. All were also run once at full length, phases of 20 s without the first 5 s, and E over 10 s: every line
of the table below has the same answer, except that in M the marks of BBRv2 over those of DCTCP are 1.12 behind DualPI2. With `ecn_max_rtt = \"6ms\"` the flows
of C2 with 40 ms still do not respond, and starve Classic in both queues.
[published-vdq-bbr.csv](data/published-vdq-bbr.csv) has each class with its goodput and its marks or drops.

**Bounds.** M with five flows of each: marks of BBRv2 over those of DCTCP below 1.1 behind DualPI2 and above 1.5 behind CSAQM, and rates more
equal there. B: share of L4S above 0.6 behind DualPI2 with 10-10 and 50-50, and nearer to 0.5 behind VDQ-CSAQM; P99 of L4S up to 1 ms and
utilisation from 0.982 to 0.988 with ten or more flows of a kind, one to ten of the other included. C2, D and E: rates more equal than behind DualPI2 in
every phase. The two refutations are checked too.

In the tables, *largest over smallest rate* is of the means of the classes. Each cell has VDQ-CSAQM (in M, CSAQM in one queue) and then
DualPI2; all but the last column are with BBRv2 that responds at any RTT.
";
