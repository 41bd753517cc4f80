//! One L4S and one Classic flow with unlike base RTTs behind DualPI2 (arXiv 2209.01078, `pcdualpi2_res_mr`).
//!
//! The source's control is TCP Prague 0.6, which is judged. Prague 0.7 and DCTCP run for comparison; DCTCP with 25 ms where Prague behaves
//! as if it had them.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::deviation::Deviations;
use crate::evaluation::{Figures, Ours, digits, ours};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "DualPI2: pairs with unlike RTTs",
    experiments: &[Experiment {
        id: "rfc9332/pairs",
        title: "A Prague and a CUBIC flow with base RTTs of 5 to 100 ms",
        source: "the evaluation behind arXiv 2209.01078 (github.com/olgaalb/dualpi2eval, `pcdualpi2_res_mr`); RFC 9332",
        statements: STATEMENTS,
        plan,
        judge: judge_all,
        definition: None,
    }],
};

const STATEMENTS: &[Statement] = &[
    Statement {
        id: "rate-l4s",
        published: "the Prague flow gets 9.20 to 40.0 Mbit/s",
        bound: "within 15 % in each of twelve rows",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "rate-classic",
        published: "the CUBIC flow gets 8.63 to 30.8 Mbit/s",
        bound: "within 15 % in each of nine rows, all but 5/100",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "rate-classic-5-100",
        published: "CUBIC with 100 ms beside Prague with 5 ms gets 5.64 Mbit/s",
        bound: "within 15 %; guarded at 20 %",
        expected: Expected::Differs(EMPTY),
    },
    Statement {
        id: "marks",
        published: "1.61 to 6.30 % of the L4S packets are marked beside CUBIC",
        bound: "within 15 % in each of ten rows",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "marks-alone-5",
        published: "6.45 % of the packets of a Prague flow alone with 5 ms are marked",
        bound: "within 15 %; guarded at 100 %",
        expected: Expected::Differs(CARRY),
    },
    Statement {
        id: "marks-alone-100",
        published: "3.90 % of the packets of a Prague flow alone with 100 ms are marked",
        bound: "within 15 %; guarded at 65 %",
        expected: Expected::Differs("unexplained: the step marks 6 % with Prague 0.6 and with 0.7"),
    },
    Statement {
        id: "drops",
        published: "0.018 to 0.127 % of the Classic packets are dropped",
        bound: "within 15 % in each of seven rows",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "drops-long-rtt",
        published: "0.089, 0.087 and 0.018 % of the Classic packets are dropped at 5/50, 5/100 and 100/50",
        bound: "within 15 %; guarded at 50, 30 and 20 %",
        expected: Expected::Differs(EMPTY),
    },
    Statement {
        id: "delay-l4s",
        published: "delay of L4S: mean 0.295 to 0.523 ms, P99 0.819 to 1.146 ms",
        bound: "within 15 % or 0.1 ms, a third of a packet's time, in each of twelve rows, but for the P99 of 5/–",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "delay-l4s-alone-5",
        published: "P99 of the delay of a Prague flow alone with 5 ms: 1.081 ms",
        bound: "within 15 %; guarded at 30 %",
        expected: Expected::Differs(CARRY),
    },
    Statement {
        id: "delay-classic",
        published: "delay of Classic: mean 6.63 to 14.85 ms, P99 19.8 to 33.3 ms",
        bound: "within 15 % in each of ten rows, but for the P99 of 5/50",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "delay-classic-5-50",
        published: "P99 of the delay of Classic at 5/50: 30.0 ms",
        bound: "within 15 %; guarded at 30 %",
        expected: Expected::Differs(EMPTY),
    },
    Statement {
        id: "utilisation",
        published: "99.1 to 99.95 % of the link is used",
        bound: "at most 1 percentage point less in each of twelve rows",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "l4s-drops",
        published: "no loss in L4S (RFC 9332 section 1.4)",
        bound: "no L4S drop in each of twelve rows",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "coupling",
        published: "p_C = (p_L / k)² with k = 2 (RFC 9332 section 2.1)",
        bound: "2√p_C / p_L of coupled marks from 1.0 to 1.8 in each of six rows with 20 ms or less for Classic: of one flow the mean of √p_C is below the root of the mean",
        expected: Expected::Reproduced,
    },
];

/// What is known of CUBIC with a long RTT.
const EMPTY: &str = "unexplained: with 50 or 100 ms CUBIC empties its queue in each cycle, and p' is zero for long stretches in which L4S sends most; there quell's CUBIC gets less than the source's and loses more packets";

/// What is known of a flow alone on the step.
const CARRY: &str = "alone only the step marks; the whole window of Prague 0.6 moves only when its carry has reached a segment, so it stays above the step during several reductions; the project replaced that window within version 0.6, perhaps before these measurements";

/// One row of the archive.
struct Row {
    /// Base RTT of the L4S flow in ms.
    l4s: u64,
    /// Of the Classic flow; `None` if there was none.
    classic: Option<u64>,
    published: Figures,
}

/// Means of the 250 s. The archive's own means of rates count two seconds after the end as well.
#[rustfmt::skip]
static ROWS: [Row; 12] = [
    row(5, None, 99.93, [40.0, 0.0], [6.45, 0.0], [[0.523, 1.081], [0.0, 0.0]]),
    row(5, Some(5), 99.92, [20.1, 19.9], [6.30, 0.127], [[0.324, 0.884], [14.85, 24.12]]),
    row(5, Some(10), 99.94, [22.4, 17.6], [5.87, 0.106], [[0.337, 0.851], [14.49, 24.25]]),
    row(5, Some(20), 99.95, [25.9, 14.1], [5.33, 0.094], [[0.344, 0.884], [13.54, 25.56]]),
    row(5, Some(50), 99.74, [31.3, 8.63], [4.93, 0.089], [[0.411, 0.983], [9.74, 30.02]]),
    row(5, Some(100), 99.43, [34.1, 5.64], [5.15, 0.087], [[0.443, 1.015], [6.63, 33.29]]),
    row(100, None, 99.14, [39.7, 0.0], [3.90, 0.0], [[0.393, 1.146], [0.0, 0.0]]),
    row(100, Some(5), 99.94, [9.20, 30.8], [3.79, 0.058], [[0.308, 0.851], [14.70, 21.89]]),
    row(100, Some(10), 99.93, [11.6, 28.4], [3.09, 0.047], [[0.323, 0.851], [14.05, 21.76]]),
    row(100, Some(20), 99.92, [14.9, 25.1], [2.53, 0.035], [[0.295, 0.851], [13.15, 21.23]]),
    row(100, Some(50), 99.51, [19.9, 19.9], [1.97, 0.018], [[0.300, 0.819], [10.45, 19.79]]),
    row(100, Some(100), 99.10, [25.5, 14.2], [1.61, 0.018], [[0.335, 0.884], [9.50, 19.92]]),
];

const fn row(
    l4s: u64,
    classic: Option<u64>,
    utilisation: f64,
    rates: [f64; 2],
    [mark_l4s, drop_classic]: [f64; 2],
    delays: [[f64; 2]; 2],
) -> Row {
    let published = Figures {
        utilisation,
        rates,
        udp: 0.0,
        mark_l4s,
        drops: [0.0, drop_classic],
        delays,
    };
    Row {
        l4s,
        classic,
        published,
    }
}

/// Who runs in the place of the source's L4S flow.
#[derive(Debug, Clone, Copy)]
enum Who {
    Prague06,
    Prague07,
    Dctcp,
}

impl Who {
    const ALL: [Self; 3] = [Self::Prague06, Self::Prague07, Self::Dctcp];
}

impl Row {
    fn name(&self) -> String {
        let classic = self
            .classic
            .map_or_else(|| "–".to_owned(), |rtt| rtt.to_string());
        format!("{}/{classic}", self.l4s)
    }
    /// The RTT of DCTCP: that as which Prague behaves.
    fn virtual_rtt(&self) -> u64 {
        self.l4s.max(PRAGUE_RTT)
    }
    fn seeds(&self, who: Who) -> &'static [u64] {
        match (who, self.l4s, self.classic) {
            // A hundred drops in a run: six runs decide their share to 2 %, two to 7 %.
            (Who::Prague06, 5, Some(100)) => &[1, 2, 3, 4, 5, 6],
            (Who::Prague06, ..) => &[1, 2],
            // Alone at 100 ms the seed decides which of several patterns DCTCP's bursts settle in.
            (Who::Dctcp, 100, None) => &[1, 2, 3, 4, 5, 6],
            _ => &[1],
        }
    }
    fn cells(&self, who: Who) -> Vec<Cell> {
        let file = match (who, self.classic) {
            (Who::Dctcp, Some(_)) => "rtt-pairs/pair.toml",
            (Who::Dctcp, None) => "rtt-pairs/alone.toml",
            (_, Some(_)) => "prague/pair.toml",
            (_, None) => "prague/alone.toml",
        };
        let rtt = match who {
            Who::Dctcp => self.virtual_rtt(),
            Who::Prague06 | Who::Prague07 => self.l4s,
        };
        let mut cell = Cell::new(file).set(format!("group.l4s.rtt={rtt}ms"));
        if let Who::Prague07 = who {
            let control = "{ name = \"prague\", rtt_transition = 500 }";
            cell = cell.set(format!("group.l4s.congestion-control={control}"));
        }
        if let Some(classic) = self.classic {
            cell = cell.set(format!("group.classic.rtt={classic}ms"));
        }
        cell.seeds(self.seeds(who).iter().copied())
    }
    /// Name, published and ours of each figure.
    fn figures(&self, ours: &Figures) -> Vec<(&'static str, f64, f64)> {
        let published = &self.published;
        let of = |name, get: fn(&Figures) -> f64| (name, get(published), get(ours));
        let mut figures = vec![
            of("rate L, Mbit/s", |f| f.rates[0]),
            of("marks L, %", |f| f.mark_l4s),
            of("mean delay L, ms", |f| f.delays[0][0]),
            of("P99 delay L, ms", |f| f.delays[0][1]),
        ];
        if self.classic.is_some() {
            figures.extend([
                of("rate C, Mbit/s", |f| f.rates[1]),
                of("drops C, %", |f| f.drops[1]),
                of("mean delay C, ms", |f| f.delays[1][0]),
                of("P99 delay C, ms", |f| f.delays[1][1]),
            ]);
        }
        figures
    }
}

/// The RTT target of the source's Prague, in ms.
const PRAGUE_RTT: u64 = 25;
/// Bound in %.
const BAND: f64 = 15.0;
/// What the delay of L may be off besides, in ms: a third of a packet's time on the link.
const THIRD_OF_A_PACKET: f64 = 0.1;
/// Figures that the text names as misses, with their statements and guards in %.
#[rustfmt::skip]
const KNOWN: &[(&str, &str, &str, f64)] = &[
    ("5/–", "marks L, %", "marks-alone-5", 100.0),
    ("5/–", "P99 delay L, ms", "delay-l4s-alone-5", 30.0),
    ("100/–", "marks L, %", "marks-alone-100", 65.0),
    ("5/50", "drops C, %", "drops-long-rtt", 50.0),
    ("5/50", "P99 delay C, ms", "delay-classic-5-50", 30.0),
    ("5/100", "rate C, Mbit/s", "rate-classic-5-100", 20.0),
    ("5/100", "drops C, %", "drops-long-rtt", 30.0),
    ("100/50", "drops C, %", "drops-long-rtt", 20.0),
];

fn plan() -> Vec<Cell> {
    let runs = |row: &Row| Who::ALL.map(|who| row.cells(who)).concat();
    ROWS.iter().flat_map(runs).collect()
}

fn judge_all(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let mut rest = runs.as_slice();
    let (mut grid, mut deviations) = (grid(), Deviations::default());
    let mut short_delays = Vec::new();
    let mut rates = Figure::pairs("Rate of L in parts of C's", "ratio");
    let mut marks = Figure::pairs("Marks of L", "% of the packets");
    let mut delays = Figure::pairs("Mean delay of C", "ms");
    for row in &ROWS {
        let source = &row.published;
        grid.row(&line(row, "published", source, theirs(source)));
        for who in Who::ALL {
            let seeds = row.seeds(who).len();
            let ours = ours(rest.split_off(..seeds).unwrap_or_default());
            let name = match who {
                Who::Prague06 => "Prague 0.6".to_owned(),
                Who::Prague07 => "Prague 0.7".to_owned(),
                Who::Dctcp => format!("DCTCP {} ms", row.virtual_rtt()),
            };
            grid.row(&line(row, &name, &ours.figures, ours.coupling()));
            let Who::Prague06 = who else { continue };
            let place = row.name();
            for (figure, published, ours) in row.figures(&ours.figures) {
                deviations.add(figure, &place, published, ours);
                if statement_of(&place, figure).0 == "delay-l4s" {
                    short_delays.push((published, ours));
                }
            }
            judge(row, &ours, out);
            marks = marks.pair(&place, Some(source.mark_l4s), ours.figures.mark_l4s);
            if row.classic.is_some() {
                let ratio = |figures: &Figures| figures.rates[0] / figures.rates[1];
                rates = rates.pair(&place, Some(ratio(source)), ratio(&ours.figures));
                let delay = |figures: &Figures| figures.delays[1][0];
                delays = delays.pair(&place, Some(delay(source)), delay(&ours.figures));
            }
        }
    }
    out.on("delay-l4s").ours(short(&short_delays));
    out.draw(rates);
    out.draw(marks);
    out.draw(delays);
    out.csv("published-rtt-pairs.csv", grid);
    let table = deviations.table(BAND, &digits);
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

/// How far the delays of L are off: published and ours.
fn short(delays: &[(f64, f64)]) -> String {
    let far = delays.iter();
    let far = far.filter(|(published, ours)| (ours - published).abs() > THIRD_OF_A_PACKET);
    let far: Vec<f64> = far
        .map(|(published, ours)| 100.0 * (ours / published - 1.0))
        .collect();
    let furthest = far.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let near = delays.len() - far.len();
    format!(
        "{near} of {} within 0.1 ms, the others up to {furthest:.1} % off",
        delays.len()
    )
}

/// The statement about a figure of a row, and the guard of a known miss.
fn statement_of(place: &str, figure: &str) -> (&'static str, Option<f64>) {
    let mut known = KNOWN.iter();
    let known = known.find(|known| (known.0, known.1) == (place, figure));
    if let Some(known) = known {
        return (known.2, Some(known.3));
    }
    let usual = match figure {
        "rate L, Mbit/s" => "rate-l4s",
        "rate C, Mbit/s" => "rate-classic",
        "marks L, %" => "marks",
        "drops C, %" => "drops",
        "mean delay L, ms" | "P99 delay L, ms" => "delay-l4s",
        _ => "delay-classic",
    };
    (usual, None)
}

fn judge(row: &Row, ours: &Ours, out: &mut Findings) {
    let place = row.name();
    let name = |what: &str| format!("{place}: {what}");
    let figures = &ours.figures;
    out.on("l4s-drops")
        .unless(figures.drops[0] == 0.0, name("drops of L4S"));
    let lost = row.published.utilisation - figures.utilisation;
    let what = name(&format!("{lost} % less of the link used"));
    out.on("utilisation").unless(lost <= 1.0, what);
    for (figure, published, ours) in row.figures(figures) {
        let (statement, guard) = statement_of(&place, figure);
        let checks = out.on(statement);
        let is_tiny =
            figure.ends_with("delay L, ms") && (ours - published).abs() <= THIRD_OF_A_PACKET;
        if is_tiny {
            checks.unless(true, name(figure));
            continue;
        }
        checks.within(name(figure), ours, published, BAND);
        if let Some(guard) = guard {
            checks.guard_within(name(figure), ours, published, guard);
        }
    }
    if row.classic.is_some_and(|rtt| rtt <= 20) {
        let coupling = ours.coupling();
        let what = name(&format!("2√p_C / p_L is {coupling:.3}"));
        let checks = out.on("coupling");
        checks.unless((1.0..=1.8).contains(&coupling), what);
    }
}

/// The source does not separate coupled marks from those of the step: all of them.
fn theirs(published: &Figures) -> f64 {
    2.0 * (published.drops[1] / 100.0).sqrt() / (published.mark_l4s / 100.0)
}

fn grid() -> Table {
    Table::new(&[
        "l4s_rtt_ms",
        "classic_rtt_ms",
        "run",
        "l4s_mbps",
        "classic_mbps",
        "l4s_delay_mean_ms",
        "l4s_delay_p99_ms",
        "classic_delay_mean_ms",
        "classic_delay_p99_ms",
        "l4s_marks_percent",
        "classic_drops_percent",
        "utilisation_percent",
        "coupling",
    ])
}

fn line(row: &Row, who: &str, figures: &Figures, coupling: f64) -> Vec<String> {
    let of_pair = |text: String| row.classic.map_or_else(String::new, |_| text);
    let [l4s, classic] = figures.delays.map(|delays| delays.map(digits));
    let mut cells = vec![
        row.l4s.to_string(),
        row.classic.map_or_else(String::new, |rtt| rtt.to_string()),
        who.to_owned(),
        digits(figures.rates[0]),
        of_pair(digits(figures.rates[1])),
    ];
    cells.extend(l4s);
    cells.extend(classic.map(of_pair));
    cells.extend([
        digits(figures.mark_l4s),
        of_pair(digits(figures.drops[1])),
        format!("{:.1}", figures.utilisation),
        of_pair(format!("{coupling:.2}")),
    ]);
    cells
}

const RESULT: &str = "\
**Result.** With the source's Prague the pairs agree: eight of ten have both rates within 8 % and marks within 9 %. What does not agree:
marks of a flow alone on the step; rate and drops of CUBIC with 50 or 100 ms beside a short flow, by up to 16 and 35 %; and the mean delay
of L with 100 ms, by a quarter of a packet's time.
";

const TEXT: &str = "\
**Source.** The same evaluation (`pcdualpi2_res_mr`): 40 Mbit/s, one TCP Prague 0.6 flow (L) with an RTT target of 25 ms and a transition of
500 rounds, alone or beside one CUBIC flow (C), base RTTs of 5 to 100 ms, 250 s. Rates, marks and drops are totals of its files for
these 250 s; the archive's own averages of rates include two seconds after the end.

**Runs.** `scenarios/prague/`, 250 s after 200 s, two seeds, six of 5/100. [published-rtt-pairs.csv](data/published-rtt-pairs.csv) has every figure, and
those of Prague 0.7 and of DCTCP in its place; DCTCP has 25 ms of RTT where Prague has 5 ms.

**Bounds.** 15 % for each figure, or a third of a packet's time (0.1 ms) for the delay of L. No drop in L. Use of the link no more than 1
percentage point below the source. With 20 ms or less for Classic, 2\u{221a}p_C / p_L from 1.0 to 1.8, with p_L from coupled marks.
The misses below have bounds of their own, 20 to 100 %.

**What differs, and why.**

* Bursts decide the delay of L. Prague 0.6 sends at least two packets at a time; with that, quell has the source's P99. Prague 0.7 sends
  them one by one, and its queue is 40 % shorter. With 100 ms the source's mean is 0.30 ms and quell's 0.38 ms, with the same P99: some of
  its bursts had one packet. Why is unexplained.
* Rates and marks of Prague 0.6 and 0.7 are alike. DCTCP at 25 ms takes a fifth less: Prague answers marks only with a new round trip that
  starts 25 ms after the last answer, so less often.
* With 50 or 100 ms of RTT CUBIC empties its queue in each cycle, and p' is zero for long stretches in which L4S sends most. There quell's
  CUBIC gets less than the source's and loses more packets. Unexplained; with Prague 0.7 it differs otherwise.
* Alone, only the step marks. At 5 ms the source marks 6.4 %, quell 10 % with Prague 0.6 and 8 % with 0.7, and the P99 is 1.35 instead of
  1.08 ms. The whole window of 0.6 moves only when its carry has reached a segment, so it stays above the step during several
  reductions. The project replaced that window within version 0.6, perhaps before these measurements; the full link of the section
  above has it still. At 100 ms the source marks 3.9 % and quell 6 % with both versions. Unexplained.
";
