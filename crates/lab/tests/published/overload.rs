//! Overload of DualPI2 by unresponsive UDP, row by row (arXiv 2209.01078, `pcdualpi2_res_overload`),
//! and the coupling of its two queues.
//!
//! Each row runs three times. *As measured* follows what the archive shows: the source's TCP Prague 0.6, and one flow of each class or more
//! that carried no packet during a whole run. The same with Prague 0.7 is shown beside it. *Five and five* has 5 DCTCP and 5 CUBIC flows,
//! for the coupling.

use super::evaluation::{Figures, Misses, Ours, beside, digits, run};
use super::page;
use super::sweep::sweep;
use super::table::Table;

/// Where the UDP goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Into {
    Classic,
    L4s,
}

impl Into {
    fn file(self) -> &'static str {
        match self {
            Self::Classic => "udp-into-classic.toml",
            Self::L4s => "udp-into-l4s.toml",
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Classic => "C",
            Self::L4s => "L",
        }
    }
}

/// Who runs.
#[derive(Debug, Clone, Copy)]
enum Who {
    AsMeasured,
    Prague07,
    FiveAndFive,
}

/// One row of the archive.
struct Row {
    /// Payload of the UDP, in % of the link's rate.
    load: u64,
    into: Into,
    /// Flows of L4S and Classic that carried packets.
    alive: [u64; 2],
    /// Totals of 250 s. Ratios and delays of a queue are those of the UDP where it is in that queue, else of TCP.
    published: Figures,
}

#[rustfmt::skip]
const ROWS: [Row; 10] = [
    row(50, Into::Classic, [3, 4], [51.14, 7.36, 6.69], [14.80, 0.0, 0.572], [[0.130, 0.425], [15.04, 23.07]]),
    row(70, Into::Classic, [3, 4], [71.05, 4.45, 3.90], [22.50, 0.0, 1.319], [[0.121, 0.360], [15.01, 24.64]]),
    row(100, Into::Classic, [3, 4], [90.06, 2.30, 0.763], [70.40, 0.0, 12.45], [[0.086, 0.262], [15.00, 19.66]]),
    row(140, Into::Classic, [4, 4], [98.42, 0.228, 0.164], [100.0, 31.94, 31.66], [[0.059, 0.196], [14.97, 20.45]]),
    row(200, Into::Classic, [4, 4], [99.86, 0.016, 0.015], [100.0, 52.21, 51.46], [[0.053, 0.196], [14.96, 19.53]]),
    row(50, Into::L4s, [4, 4], [51.43, 6.37, 5.77], [16.57, 0.0, 0.698], [[0.179, 0.589], [14.96, 24.90]]),
    row(70, Into::L4s, [4, 4], [72.00, 3.78, 3.21], [26.13, 0.0, 1.701], [[0.239, 0.753], [15.23, 27.00]]),
    row(100, Into::L4s, [4, 4], [95.29, 0.804, 0.371], [100.0, 7.36, 24.60], [[15.01, 17.43], [0.961, 2.392]]),
    row(140, Into::L4s, [3, 4], [98.61, 0.175, 0.214], [100.0, 31.52, 31.05], [[14.98, 20.05], [0.842, 2.293]]),
    row(200, Into::L4s, [4, 4], [99.79, 0.026, 0.021], [100.0, 51.49, 51.64], [[14.96, 19.40], [0.560, 1.212]]),
];

const fn row(
    load: u64,
    into: Into,
    alive: [u64; 2],
    [udp, l4s, classic]: [f64; 3],
    [mark_l4s, drop_l4s, drop_classic]: [f64; 3],
    delays: [[f64; 2]; 2],
) -> Row {
    let published = Figures {
        utilisation: 100.0,
        rates: [l4s, classic],
        udp,
        mark_l4s,
        drops: [drop_l4s, drop_classic],
        delays,
    };
    Row {
        load,
        into,
        alive,
        published,
    }
}

impl Row {
    fn name(&self) -> String {
        format!("{} → {}", self.load, self.into.name())
    }
    /// Whether the responsive flows still have a say.
    fn is_light(&self) -> bool {
        self.load < 100
    }
    /// Whether the controller is held above the saturation of p_L, or goes to and fro across it.
    fn is_saturated(&self) -> bool {
        self.load > 100 || (self.load == 100 && self.into == Into::L4s)
    }
    /// Whether the L4S queue is the longer one.
    fn l4s_is_longer(&self) -> bool {
        self.load >= 100 && self.into == Into::L4s
    }
    /// The settings of a run with so many flows of L4S and Classic. Where UDP fills the link, half
    /// the time gives the figures as well.
    fn sets(&self, flows: [u64; 2]) -> Vec<String> {
        let duration = if self.load > 100 { "60s" } else { "110s" };
        // iperf's 1 470 bytes at this share of 100 Mbit/s: 11 760 bits.
        let interval = 11_760_000 / self.load;
        vec![
            format!("group.udp.app.interval={interval}ns"),
            format!("group.l4s.count={}", flows[0]),
            format!("group.classic.count={}", flows[1]),
            format!("run.duration={duration}"),
        ]
    }
    fn run(&self, who: Who) -> Ours {
        let prague = format!("prague/{}", self.into.file());
        let dctcp = format!("overload/{}", self.into.file());
        let mut sets = self.sets(self.alive);
        match who {
            Who::AsMeasured => run(&prague, &sets, &[1]),
            Who::Prague07 => {
                let control = "{ name = \"prague\", rtt_transition = 500 }";
                sets.push(format!("group.l4s.congestion-control={control}"));
                run(&prague, &sets, &[1])
            }
            // 3 400 drops in 100 s decide p_C of a light row to 1.7 %; four seeds halve that.
            Who::FiveAndFive => {
                let seeds: &[u64] = if self.is_light() { &[1, 2, 3, 4] } else { &[1] };
                run(&dctcp, &self.sets([5, 5]), seeds)
            }
        }
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn overload_is_as_published() {
    let who = [Who::AsMeasured, Who::Prague07, Who::FiveAndFive];
    let points: Vec<(&Row, Who)> = ROWS
        .iter()
        .flat_map(|row| who.into_iter().map(move |who| (row, who)))
        .collect();
    let results = sweep(&points, |(row, who)| row.run(*who));
    let mut misses = Misses::default();
    let (mut grid, mut rows, mut coupling) = (grid(), figures(), couplings());
    for (row, results) in ROWS.iter().zip(results.chunks_exact(who.len())) {
        let [like, newer, five] = results else {
            unreachable!()
        };
        grid.row(&line(row, "published", row.alive, &row.published));
        grid.row(&line(row, "as measured", row.alive, &like.figures));
        grid.row(&line(row, "Prague 0.7", row.alive, &newer.figures));
        grid.row(&line(row, "five and five", [5, 5], &five.figures));
        rows.row(&compare(row, &like.figures));
        if !row.is_saturated() {
            coupling.row(&couple(row, like, five));
        }
        for (who, ours) in [
            ("as measured", like),
            ("Prague 0.7", newer),
            ("five and five", five),
        ] {
            judge_states(row, who, ours, &mut misses);
        }
        judge_figures(row, &like.figures, &mut misses);
        judge_coupling(row, five, &mut misses);
    }
    let body = format!("{RESULT}\n{rows}\n{TEXT}\n{COUPLING}\n{coupling}\n{SCHEDULER}");
    misses.assert_none(&body);
    page::check(
        "DualPI2: overload and coupling",
        &body,
        &[("published-overload.csv", &grid)],
    );
}

/// What follows from the design, whoever the senders are.
fn judge_states(row: &Row, who: &str, ours: &Ours, misses: &mut Misses) {
    let name = |what: &str| format!("{}, {who}: {what}", row.name());
    let figures = &ours.figures;
    let [l4s, classic] = figures.delays;
    misses.within(name("utilisation"), figures.utilisation, 100.0, 0.1);
    // "drop L 0 until p_C >= 25 %": p_L is full at p' = 1/2.
    if row.is_saturated() {
        misses.unless(
            figures.drops[0] > 0.0 && figures.mark_l4s > 99.9,
            name("no overload of L4S"),
        );
        misses.unless(
            figures.drops[1] > 20.0,
            name("overload while p_C is below 1/4"),
        );
    } else {
        misses.unless(
            figures.drops[0] == 0.0 && ours.overload == 0,
            name("L4S is overloaded"),
        );
        misses.unless(
            figures.drops[1] < 25.0,
            name("p_C above 1/4 without overload"),
        );
    }
    if row.load > 100 {
        misses.unless(ours.coupled == 0, name("coupled marks in saturation"));
    }
    // The longer queue is held at the target. The other one stays within the claims of RFC 9332
    // section 1.4, or where Classic is the shorter, gets its tenth of the link at once.
    let (held, other) = if row.l4s_is_longer() {
        (l4s, classic)
    } else {
        (classic, l4s)
    };
    misses.within(name("delay of the longer queue"), held[0], 15.0, 5.0);
    let most = if row.l4s_is_longer() {
        [2.0, 4.0]
    } else {
        [1.0, 2.0]
    };
    misses.unless(
        other[0] < most[0] && other[1] <= most[1],
        name("delay of the shorter queue"),
    );
}

/// Band in %.
const BAND: f64 = 15.0;
/// Band of the delays of the shorter queue in %.
const SHORT: f64 = 20.0;
/// The source resolves so many milliseconds, so a smaller difference says nothing: of the smallest
/// mean published, 0.053 ms, the band alone would be half of that.
const RESOLUTION: f64 = 0.033;

/// Beside the published figure.
fn judge_figures(row: &Row, ours: &Figures, misses: &mut Misses) {
    let name = |what: &str| format!("{}: {what}", row.name());
    let published = &row.published;
    misses.within(name("UDP"), ours.udp, published.udp, 3.0);
    misses.within(name("mark L"), ours.mark_l4s, published.mark_l4s, BAND);
    misses.within(name("drop C"), ours.drops[1], published.drops[1], BAND);
    if row.is_saturated() {
        misses.within(name("drop L"), ours.drops[0], published.drops[0], BAND);
    }
    if row.is_light() {
        for (index, queue) in ["L", "C"].into_iter().enumerate() {
            let what = name(&format!("rate of {queue}"));
            misses.within(what, ours.rates[index], published.rates[index], BAND);
        }
    }
    // Mean and P99 of the queue that the controller looks at, and of the other: a packet or two.
    let held = usize::from(!row.l4s_is_longer());
    let bands = [[5.0, 15.0], [SHORT, SHORT]];
    for (bands, queue) in bands.into_iter().zip([held, 1 - held]) {
        for (index, what) in ["mean", "P99"].into_iter().enumerate() {
            let (ours, published) = (ours.delays[queue][index], published.delays[queue][index]);
            let what = name(&format!("{what} delay of {}", ["L", "C"][queue]));
            if queue == held || (ours - published).abs() > RESOLUTION {
                misses.within(what, ours, published, bands[index]);
            }
        }
    }
}

fn judge_coupling(row: &Row, ours: &Ours, misses: &mut Misses) {
    if !row.is_saturated() {
        misses.within(
            format!("{}: 2√p_C / p_L", row.name()),
            ours.coupling(),
            1.0,
            3.0,
        );
    }
}

fn grid() -> Table {
    Table::new(&[
        "load_percent",
        "udp_into",
        "run",
        "l4s_flows",
        "classic_flows",
        "udp_mbps",
        "l4s_mbps_per_flow",
        "classic_mbps_per_flow",
        "l4s_marks_percent",
        "l4s_drops_percent",
        "classic_drops_percent",
        "l4s_delay_mean_ms",
        "l4s_delay_p99_ms",
        "classic_delay_mean_ms",
        "classic_delay_p99_ms",
    ])
}

fn line(row: &Row, who: &str, flows: [u64; 2], figures: &Figures) -> Vec<String> {
    let mut cells = vec![
        row.load.to_string(),
        row.into.name().to_owned(),
        who.to_owned(),
    ];
    cells.extend(flows.map(|flows| flows.to_string()));
    cells.push(digits(figures.udp));
    cells.extend(figures.rates.map(digits));
    cells.push(digits(figures.mark_l4s));
    cells.extend(figures.drops.map(digits));
    cells.extend(figures.delays.as_flattened().iter().copied().map(digits));
    cells
}

fn figures() -> Table {
    Table::new(&[
        "load",
        "UDP, Mbit/s",
        "rate L",
        "rate C",
        "marks L, %",
        "drops L, %",
        "drops C, %",
        "mean delay L, ms",
        "mean delay C, ms",
    ])
}

/// Published beside *as measured*.
fn compare(row: &Row, ours: &Figures) -> Vec<String> {
    let published = &row.published;
    vec![
        row.name(),
        beside(published.udp, ours.udp),
        beside(published.rates[0], ours.rates[0]),
        beside(published.rates[1], ours.rates[1]),
        beside(published.mark_l4s, ours.mark_l4s),
        beside(published.drops[0], ours.drops[0]),
        beside(published.drops[1], ours.drops[1]),
        beside(published.delays[0][0], ours.delays[0][0]),
        beside(published.delays[1][0], ours.delays[1][0]),
    ]
}

fn couplings() -> Table {
    Table::new(&[
        "load",
        "p_C",
        "p_L",
        "2√p_C / p_L",
        "as measured",
        "published",
        "step marks, %",
    ])
}

fn couple(row: &Row, like: &Ours, five: &Ours) -> Vec<String> {
    let published = &row.published;
    let theirs = 2.0 * (published.drops[1] / 100.0).sqrt() / (published.mark_l4s / 100.0);
    let step = 100.0 * five.step as f64 / five.delivered as f64;
    vec![
        row.name(),
        digits(100.0 * five.p_classic()),
        digits(100.0 * five.p_l4s()),
        format!("{:.3}", five.coupling()),
        format!("{:.3}", like.coupling()),
        format!("{theirs:.3}"),
        digits(step),
    ]
}

const RESULT: &str = "\
**Result.** UDP, delays, marks and drops are within 20 % in every row, nearly all within 15 %, and below 100 % of load the rates of TCP
too. Both queues hold what RFC 9332 promises under overload, and the coupling 2\u{221a}p_C / p_L is 1 within 3 %.

Published / quell, for UDP of 50 to 200 % of the link into Classic (C) or, as ECT(1), into L4S (L); rates are those of a TCP flow:
";

const TEXT: &str = "\
**Source.** The evaluation behind arXiv 2209.01078 (github.com/olgaalb/dualpi2eval, `pcdualpi2_res_overload`, May 2022): 100 Mbit/s, base
RTT 10 ms, Linux 5.10, 5 TCP Prague 0.6 and 5 CUBIC flows beside the UDP. The figures are totals of its files for 250 s.
They count the UDP apart from TCP. Where both are in L4S, the archive has the same marks for either (16.6 and 16.7 %, 26.1 and
26.1 %), so the UDP does not dilute them.

**Runs.** In every run of the archive some TCP flows carried no packet at all. *As measured*, shown above, has the flows that did, with the
source's Prague (`scenarios/prague/`); Prague 0.7 runs beside it. *Five and five* has five flows of DCTCP and CUBIC each, for the
coupling (`scenarios/overload/`). [published-overload.csv](data/published-overload.csv) has all of them, with the P99 of the delays.

**Bounds, all runs.** A full link. In L4S, no drop and no saturation until p_C reaches 25 %, and both from there on. The longer queue at
15 ms \u{b1} 5 %. The shorter queue: mean below 1 ms, P99 up to 2 ms (RFC 9332 section 1.4); 2 and 4 ms where it is Classic.

**Bounds of *as measured*, beside the source.**

| figure | bound | reason |
| --- | --- | --- |
| UDP | 3 % | |
| marks, drops; below 100 % of load the rates of TCP | 15 % | |
| delay of the longer queue | mean 5 %, P99 15 % | |
| delay of the shorter queue | 20 %, or 0.033 ms | a packet or two; the source resolves 0.033 ms |

**What differs, and why.**

* In the full link Prague 0.6 is at its least, two packets per round trip, which its pace never undercuts. The source's flows have exactly
  that: 2.299 Mbit/s in each of 250 s, a round trip of 10.5 ms. In quell some ACKs wait for the second packet of a pair that
  has come apart, so that a round takes 12.7 ms, and its flows get a fifth less.
* Prague 0.7 has no such floor: a rate takes the place of small windows. With it UDP of 100 % gets 3 % more than in the source, marks of L4S
  fall from 70 to 61 % and drops in Classic from 12.5 to 9.3 %.

**Not checked.** The rates of TCP from 100 % of load on, and the figures of Prague 0.7 and of *five and five* beside the source.
";

const COUPLING: &str = "\
### Coupling

p_L is the coupled marks per packet that the L4S queue delivered, without those of the step. p_C is the AQM's drops per packet that met
it in Classic. Both are pooled over all packets after the warm-up, so that a second with few packets does not weigh as much as one with
many. p_C, p_L (in %) and the first ratio are of *five and five* over 400 s (100 s in the full link), with a bound of 1 \u{b1} 3 %. With
few flows p' varies, and the root of the mean is larger than the mean of the root; *as measured* shows it. In saturation there is no
coupled mark to compare.
";

const SCHEDULER: &str = "\
The scheduler alone, with both queues backlogged and no AQM, gives Classic 10.0 % and 1/16 of the bytes, and its credit does not move
while one queue is empty (`backlogged_queues_share_bytes_by_weight`, `the_credit_stands_still_while_one_queue_is_backlogged` and
`backlogged_queues_share_the_link_by_the_schedulers_weights` in `quell-aqm`).
";
