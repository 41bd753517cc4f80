//! Adaptive streaming beside downloads, as the demonstration of 2015 set it up: what each queue and each control gives a player.

mod tables;
mod texts;

use quell_measure::{GroupSummary, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::statistics::{Mean, mean};
use tables::{controls, extras, queues, sheet};
use texts::{BETWEEN, RESULT, TEXT};

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Adaptive streaming beside downloads, as set up in 2015",
    experiments: &[Experiment {
        id: "dualq2015/streaming",
        title: "Adaptive streaming beside downloads, by queue, rule and control",
        source: "slides \"HTTP Adaptive Streaming (HAS) Experiments\" and \"PIE: Ctcp + 10 Reno\", which have no figures; the expectations are ours",
        statements: STATEMENTS,
        plan,
        judge,
        definition: None,
    }],
};

const STATEMENTS: &[Statement] = &[
    Statement {
        id: "plot",
        published: "PIE: Ctcp + 10 Reno (plot)",
        bound: "none",
        expected: Expected::CannotBeJudged(
            "only the title of the plot is left; ladder, rules, lengths and the number of players are not given",
        ),
    },
    Statement {
        id: "share",
        published: "nothing; expected: drop-tail gives a player the smallest share while it loads",
        bound: "below 0.85 of the fair share behind drop-tail, 0.88 to 1.05 behind four other queues, with one level",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "initial-window",
        published: "nothing; expected: a short initial window costs a share where the queue is shared",
        bound: "an initial window of two costs more than 0.015 of the share behind PIE and DualPI2, and less than 0.01 behind FQ-CoDel",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "level",
        published: "nothing; expected: drop-tail gives the lowest level",
        bound: "below each of four other queues with the rules throughput and bola-basic and with a buffer of 4 s, beyond two standard errors",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "bola",
        published: "nothing; expected: a rule that looks at the buffer alone takes its share behind each AQM",
        bound: "levels with bola-basic within 3 % of FQ-CoDel's",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "fq-codel",
        published: "nothing; expected: FQ-CoDel gives the highest level",
        bound: "with the rule dynamic at least the level of PIE and both DualQs; guarded: below 0.9 of each",
        expected: Expected::Differs(
            "a rule that keeps a margin of a tenth never leaves 0.991 Mbit/s where each segment arrives as quickly as the one before; behind the others some arrive quickly by chance, and the rule keeps the level that it then takes",
        ),
    },
    Statement {
        id: "switches",
        published: "nothing; expected: FQ-CoDel makes levels steadiest",
        bound: "fewest switches of five queues with each of three rules",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "stalls",
        published: "nothing; expected: drop-tail stalls a player with a short buffer",
        bound: "none with a rule and 25 s of buffer; with 4 s above 0.3 per minute behind drop-tail and below 0.1 behind four other queues",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "isolation",
        published: "nothing; expected: FQ-CoDel isolates players from any control",
        bound: "levels beside DCTCP and Prague within 3 % of those beside Reno",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "marks",
        published: "nothing; expected: DCTCP that a single queue marks takes more than its share",
        bound: "levels behind PIE that marks below 0.9 of those behind PIE that drops",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "l4s",
        published: "nothing; expected: L4S players get higher levels than Classic ones",
        bound: "a fifth higher behind the DualQ of 2015, and behind DualPI2 with a step of 5 ms",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "l4s-default",
        published: "the same behind DualPI2 with its default step",
        bound: "higher; guarded below 0.85 of them, at a mean delay below 2 ms",
        expected: Expected::Differs(
            "its step of 1 ms is less than two packets at 20 Mbit/s, and marks L4S flows more than the coupling does",
        ),
    },
];

const SEEDS: [u64; 4] = [1, 2, 3, 4];
/// The link's rate for payload, in Mbit/s: 1 448 of 1 500 bytes of a packet are payload.
const LINK: f64 = 20.0 * 1_448.0 / 1_500.0;

/// A queue, with its settings.
type Queue = (&'static str, &'static [&'static str]);

const DROP_TAIL: usize = 0;
const PIE: usize = 1;
const FQ_CODEL: usize = 2;
const DUALQ_2015: usize = 3;
const DUALPI2: usize = 4;
const QUEUES: [Queue; 5] = [
    (
        "drop-tail, 200 ms",
        &["link.queue.kind=fifo", "link.queue.limit=200ms"],
    ),
    ("PIE", &["link.queue.kind=pie"]),
    ("FQ-CoDel", &["link.queue.kind=fq_codel"]),
    ("DualQ of 2015", &["link.queue.kind=dualq_2015"]),
    ("DualPI2", &["link.queue.kind=dualpi2"]),
];
/// Besides these.
const PIE_MARKS: Queue = ("PIE, ecn", &["link.queue.kind=pie", "link.queue.ecn=true"]);
const LATE_STEP: Queue = (
    "DualPI2, step 5 ms",
    &["link.queue.kind=dualpi2", "link.queue.step_thresh=5ms"],
);

/// Beside ten Reno downloads: players of one level, the same with a short initial window, three rules, and a short buffer.
const PLAYERS: [&[&str]; 6] = [
    &[r#"group.players.app={ kind = "has", segment = "2s", ladder = ["991kbit"] }"#],
    &[
        r#"group.players.app={ kind = "has", segment = "2s", ladder = ["991kbit"] }"#,
        "group.players.initial-window=2",
    ],
    &["group.players.app.abr=throughput"],
    &[],
    &["group.players.app.abr=bola-basic"],
    &["group.players.app.max-buffer=4s"],
];

/// Controls: scenario, players, downloads, settings.
struct Controls(
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const TEN: &str = "has/ten-downloads.toml";
const DEMONSTRATION: &str = "has/demonstration.toml";

const RENO: usize = 0;
const DCTCP: usize = 2;
const PRAGUE: usize = 3;
const DCTCP_PLAYERS: usize = 4;
const COMPOUND_PLAYERS: usize = 5;
const CONTROLS: [Controls; 7] = [
    Controls(TEN, "Compound", "10 Reno", &[]),
    Controls(
        TEN,
        "Compound",
        "10 Compound",
        &["group.downloads.congestion-control=compound"],
    ),
    Controls(
        TEN,
        "Compound",
        "10 DCTCP",
        &[
            "group.downloads.congestion-control=dctcp",
            "group.downloads.ecn=ect1",
        ],
    ),
    Controls(
        TEN,
        "Compound",
        "10 Prague",
        &[
            "group.downloads.congestion-control=prague",
            "group.downloads.ecn=ect1",
        ],
    ),
    Controls(DEMONSTRATION, "DCTCP", "4 DCTCP, 2 Reno", &[]),
    Controls(
        DEMONSTRATION,
        "Compound",
        "4 DCTCP, 2 Reno",
        &[
            "group.players.congestion-control=compound",
            "group.players.ecn=off",
        ],
    ),
    Controls(
        DEMONSTRATION,
        "Prague",
        "4 Prague, 2 Reno",
        &[
            "group.players.congestion-control=prague",
            "group.l4s.congestion-control=prague",
        ],
    ),
];

/// What players saw; means over the seeds, of all players of a run together.
struct Seen {
    /// Of what played, Mbit/s.
    level: Mean,
    /// Payload while a request is in flight, over the fair share of the flows that are active then.
    share: Mean,
    /// Per player and minute.
    stalls: Mean,
    switches: Mean,
    /// Of the time after the first picture, in %.
    stalled: Mean,
    /// Sojourn of the players' packets in ms.
    delay: Mean,
    /// Goodput of a download, by group behind the players, Mbit/s.
    downloads: Vec<Mean>,
}

fn players(run: &Summary) -> Option<&GroupSummary> {
    group(run, "players")
}

/// A figure of the players' report; not a number without one.
fn number(run: &Summary, name: &str) -> f64 {
    let report = players(run).and_then(|players| players.app.as_ref());
    report
        .and_then(|report| report.number(name))
        .unwrap_or(f64::NAN)
}

fn seen(runs: &[Summary]) -> Seen {
    let of = |figure: &dyn Fn(&Summary) -> f64| mean(runs.iter().map(figure));
    let count = |run: &Summary| players(run).map_or(0, |players| players.count) as f64;
    let per_minute = |name: &'static str| {
        move |run: &Summary| {
            let minutes = (run.duration_s - run.warmup_s) / 60.0;
            number(run, name) / count(run) / minutes
        }
    };
    // A player that is on shares with all downloads, and with the others while they are on.
    let share = |run: &Summary| {
        let groups = &run.figures.groups;
        let flows: usize = groups.iter().map(|group| group.count).sum();
        let others = count(run) - 1.0;
        let active = flows as f64 - others * (1.0 - number(run, "on_ratio"));
        number(run, "on_bps") / 1e6 / (LINK / active)
    };
    let goodput = |index: usize| {
        of(&|run| {
            let rates = &run.figures.groups[index].goodput_bps;
            rates.iter().sum::<f64>() / rates.len() as f64 / 1e6
        })
    };
    Seen {
        level: of(&|run| number(run, "bitrate_bps") / 1e6),
        share: of(&share),
        stalls: of(&per_minute("stalls")),
        switches: of(&per_minute("switches")),
        stalled: of(&|run| 100.0 * number(run, "stall_ratio")),
        delay: of(&|run| {
            let delay = players(run).and_then(|players| players.delay_ms);
            delay.map_or(f64::NAN, |delay| delay.mean)
        }),
        downloads: (1..runs.first().map_or(0, |run| run.figures.groups.len()))
            .map(goodput)
            .collect(),
    }
}

/// Scenario, queue and settings of each point: by queue, by control, and those besides.
fn points() -> Vec<(&'static str, Queue, &'static [&'static str])> {
    let by_queue = QUEUES
        .into_iter()
        .flat_map(|queue| PLAYERS.map(|sets| (TEN, queue, sets)));
    let by_control = CONTROLS
        .iter()
        .flat_map(|Controls(file, .., sets)| QUEUES.map(|queue| (*file, queue, *sets)));
    let extra = [
        (TEN, PIE_MARKS, CONTROLS[DCTCP].3),
        (DEMONSTRATION, LATE_STEP, CONTROLS[DCTCP_PLAYERS].3),
        (DEMONSTRATION, LATE_STEP, CONTROLS[COMPOUND_PLAYERS].3),
    ];
    by_queue.chain(by_control).chain(extra).collect()
}

fn plan() -> Vec<Cell> {
    let of_point = |(file, queue, sets): (_, Queue, &[&'static str])| {
        let cell = Cell::new(file).sets(queue.1.iter().copied());
        cell.sets(sets.iter().copied()).slow().seeds(SEEDS)
    };
    points().into_iter().flat_map(of_point).collect()
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let results: Vec<Seen> = runs.chunks(SEEDS.len()).map(seen).collect();
    let (by_queue, rest) = results.split_at(QUEUES.len() * PLAYERS.len());
    let (by_control, extra) = rest.split_at(CONTROLS.len() * QUEUES.len());
    let by_queue: Vec<&[Seen]> = by_queue.chunks(PLAYERS.len()).collect();
    let by_control: Vec<&[Seen]> = by_control.chunks(QUEUES.len()).collect();
    judge_queues(out, &by_queue);
    judge_rules(out, &by_queue);
    judge_controls(out, &by_control, extra);
    let mut figure = Figure::pairs("Level of players beside ten Reno downloads", "Mbit/s");
    for (queue, seen) in QUEUES.iter().zip(&by_queue) {
        for (rule, seen) in ["throughput", "dynamic", "bola-basic"]
            .iter()
            .zip(&seen[2..])
        {
            figure = figure.pair(
                &format!("{}: {rule}", queue.0),
                None,
                seen.level.value.max(0.0),
            );
        }
    }
    out.draw(figure);
    let pie = &by_queue[PIE];
    out.on("plot").ours(format!(
        "behind PIE beside ten Reno downloads: {}, {} and {} Mbit/s with three rules",
        digits(pie[2].level.value),
        digits(pie[3].level.value),
        digits(pie[4].level.value)
    ));
    out.csv(
        "published-streaming.csv",
        sheet(&by_queue, &by_control, extra),
    );
    out.write(format!(
        "{RESULT}\n{}\n{BETWEEN}\n{}\n{}\n{TEXT}",
        queues(&by_queue),
        controls(&by_control),
        extras(extra),
    ));
}

const ACTIVE: [usize; 4] = [PIE, FQ_CODEL, DUALQ_2015, DUALPI2];

fn judge_queues(out: &mut Findings, by_queue: &[&[Seen]]) {
    let tail = by_queue[DROP_TAIL];
    let name = |queue: usize| QUEUES[queue].0;
    for queue in ACTIVE {
        for rule in [2, 4, 5] {
            let (ours, tails) = (by_queue[queue][rule].level, tail[rule].level);
            let margin = 2.0 * (ours.error + tails.error);
            let what = format!(
                "rule {rule}, {}: {ours:.3?}, drop-tail {tails:.3?}",
                name(queue)
            );
            out.on("level")
                .unless(ours.value > tails.value + margin, what);
        }
    }
    let what = format!("drop-tail share {:.3?}", tail[0].share);
    out.on("share").unless(tail[0].share.value < 0.85, what);
    for queue in ACTIVE {
        let [one, short, _, _, bola, hurried] = by_queue[queue] else {
            panic!("six cases");
        };
        let holds = (0.88..=1.05).contains(&one.share.value);
        let what = format!("{} share {:.3?}", name(queue), one.share);
        out.on("share").unless(holds, what);
        let lost = one.share.value - short.share.value;
        let what = format!("{}: IW 2 costs {lost}", name(queue));
        match queue {
            FQ_CODEL => out.on("initial-window").unless(lost.abs() < 0.01, what),
            PIE | DUALPI2 => out.on("initial-window").unless(lost > 0.015, what),
            _ => {}
        }
        let best = by_queue[FQ_CODEL][4].level.value;
        let what = format!("bola-basic, {}", name(queue));
        out.on("bola").within(what, bola.level.value, best, 3.0);
        let holds = hurried.stalls.value < 0.1 && tail[5].stalls.value > 0.3;
        let what = format!(
            "{} stalls {:.3?} {:.3?}",
            name(queue),
            hurried.stalls,
            tail[5].stalls
        );
        out.on("stalls").unless(holds, what);
    }
}

fn judge_rules(out: &mut Findings, by_queue: &[&[Seen]]) {
    for rule in [2, 3, 4] {
        let of = |queue: usize| by_queue[queue][rule].switches.value;
        for queue in [DROP_TAIL, PIE, DUALQ_2015, DUALPI2] {
            let what = format!("rule {rule}: switches {} {}", of(FQ_CODEL), of(queue));
            out.on("switches").unless(of(FQ_CODEL) < of(queue), what);
        }
    }
    let dynamic = |queue: usize| by_queue[queue][3].level.value;
    for queue in [PIE, DUALQ_2015, DUALPI2] {
        let [fair, other] = [FQ_CODEL, queue].map(dynamic);
        let what = format!("dynamic: {fair} {other}");
        let checks = out.on("fq-codel");
        checks.unless(fair >= other, what.clone());
        checks.guard(fair < 0.9 * other, what);
    }
    let levels = ACTIVE.map(|queue| format!("{} {}", QUEUES[queue].0, digits(dynamic(queue))));
    out.on("fq-codel")
        .ours(format!("{} Mbit/s", levels.join(", ")));
    let mut unhurried = by_queue.iter().flat_map(|seen| &seen[2..5]);
    let is_smooth = unhurried.all(|seen| seen.stalls.value == 0.0);
    let what = "a buffer of 25 s ran dry".to_owned();
    out.on("stalls").unless(is_smooth, what);
}

fn judge_controls(out: &mut Findings, by_control: &[&[Seen]], extra: &[Seen]) {
    let level = |control: usize, queue: usize| by_control[control][queue].level.value;
    for control in [DCTCP, PRAGUE] {
        let name = CONTROLS[control].2;
        let (beside, reno) = (level(control, FQ_CODEL), level(RENO, FQ_CODEL));
        let what = format!("FQ-CoDel beside {name}");
        out.on("isolation").within(what, beside, reno, 3.0);
    }
    let [marked, late_l4s, late_classic] = extra else {
        panic!("three cases");
    };
    let (marked, unmarked) = (marked.level.value, level(DCTCP, PIE));
    let what = format!("PIE with marks {marked} and without {unmarked}");
    out.on("marks").unless(marked < 0.9 * unmarked, what);
    let both = |queue| (level(DCTCP_PLAYERS, queue), level(COMPOUND_PLAYERS, queue));
    let (l4s, classic) = both(DUALQ_2015);
    let what = format!("2015: {l4s} {classic}");
    out.on("l4s").unless(l4s > 1.2 * classic, what);
    let (l4s, classic) = (late_l4s.level.value, late_classic.level.value);
    let what = format!("a late step: {l4s} {classic}");
    out.on("l4s").unless(l4s > 1.2 * classic, what);
    let (l4s, classic) = both(DUALPI2);
    let what = format!("DualPI2: {l4s} {classic}");
    let slow = by_control[DCTCP_PLAYERS][DUALPI2].delay.value;
    let checks = out.on("l4s-default");
    checks.unless(l4s > classic, what.clone());
    checks.guard(l4s < 0.85 * classic, what);
    checks.guard(slow < 2.0, format!("{slow} ms in the L4S queue"));
    checks.ours(format!(
        "{} Mbit/s, Classic {} Mbit/s",
        digits(l4s),
        digits(classic)
    ));
}
