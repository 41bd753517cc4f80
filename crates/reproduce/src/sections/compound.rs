//! Compound, H-TCP and LEDBAT beside Reno and CUBIC: what their authors and RFC 6817 claim, as orders and directions.
//!
//! No figure of these papers is at hand, so each claim is judged by its direction, with a wide bound.

mod paths;

use quell_measure::{Figures, GroupSummary, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::statistics::mean;
use crate::table::Table;
use paths::{
    judge_beside_reno, judge_second_flow, judge_slow_paths, plan_of_beside_reno,
    plan_of_second_flow, plan_of_slow_paths,
};

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "Compound, H-TCP and LEDBAT beside others",
    experiments: &[
        Experiment {
            id: "controls/compound-beside-reno",
            title: "What Reno loses to another control",
            source: "Tan, Song, Zhang and Sridharan (INFOCOM 2006), claims from memory",
            statements: &[
                Statement {
                    id: "compound",
                    published: "Compound takes little from Reno",
                    bound: "each of four Reno flows loses less than 15 % against five of Reno: the published figure, below 10 %, is from memory",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "cubic",
                    published: "a control for fast paths that does not look at the delay takes more",
                    bound: "Reno loses more to CUBIC than to Compound",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_beside_reno,
            judge: judge_beside_reno,
            definition: None,
        },
        Experiment {
            id: "controls/compound-slow-paths",
            title: "Compound on slow paths",
            source: "slides of 2015, plots of Compound and Reno without figures; Compound's window of 38 segments",
            statements: &[Statement {
                id: "equal",
                published: "below a window of 38 segments Compound is Reno",
                bound: "its goodput within 10 % of Reno's with five queues; eight seeds, 48 behind the FIFO, where the ratio scatters by a fifth",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_slow_paths,
            judge: judge_slow_paths,
            definition: None,
        },
        Experiment {
            id: "controls/compound-alone",
            title: "Compound alone",
            source: "its gamma of 30 packets",
            statements: &[Statement {
                id: "queue",
                published: "a lone flow holds gamma = 30 packets in the queue",
                bound: "median of 25 to 40 packets behind a quarter of the BDP; behind deeper queues Reno's part alone fills them",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_alone,
            judge: judge_alone,
            definition: None,
        },
        Experiment {
            id: "controls/htcp-second-flow",
            title: "A second flow of H-TCP, Reno and CUBIC",
            source: "Leith and Shorten (2004), Li, Leith and Shorten (ToN 2007), claims from memory",
            statements: &[
                Statement {
                    id: "htcp",
                    published: "H-TCP converges within seconds",
                    bound: "its second flow has 80 % of its share 20 to 30 s after it came; mean of eight seeds",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "reno",
                    published: "Reno takes minutes",
                    bound: "its second flow has less than 80 % of its share at the same time",
                    expected: Expected::Differs(
                        "it gets its share from the losses of its own slow start",
                    ),
                },
            ],
            plan: plan_of_second_flow,
            judge: judge_second_flow,
            definition: None,
        },
        Experiment {
            id: "controls/ledbat",
            title: "LEDBAT in the background",
            source: "RFC 6817, abstract",
            statements: &[
                Statement {
                    id: "bandwidth",
                    published: "it uses the bandwidth that is there",
                    bound: "alone, before and after a CUBIC download, 99 % of the link",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "delay",
                    published: "it limits the delay that it adds",
                    bound: "alone a median delay of 85 to 100.5 ms, with a target of 100 ms",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "yields",
                    published: "it yields to competing flows",
                    bound: "beside a CUBIC download less than a tenth of that",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "short-queue",
                    published: "no more aggressive than standard TCP",
                    bound: "at most a tenth more than Reno behind a FIFO of 50 ms, which never reaches the target",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_ledbat,
            judge: judge_ledbat,
            definition: None,
        },
    ],
};

/// Goodput of a flow of the group in Mbit/s, the mean of its flows and of the runs.
fn goodput(runs: &[Summary], name: &str) -> f64 {
    let flows =
        |run: &Summary| group(run, name).map_or_else(Vec::new, |group| group.goodput_bps.clone());
    mean(runs.iter().flat_map(flows)).value / 1e6
}

/// A group with another control.
fn with(control: &str, of: &str) -> String {
    format!("group.{of}.congestion-control={control}")
}

/// Rows of the file.
struct Grid(Table);

impl Grid {
    fn new() -> Self {
        Self(Table::new(&["experiment", "run", "figure", "value"]))
    }

    fn add(&mut self, experiment: &str, run: &str, figure: &str, value: f64) {
        self.0
            .row(&[experiment, run, figure, &digits(value)].map(str::to_owned));
    }

    fn give(self, out: &mut Findings) {
        out.csv("published-high-speed.csv", self.0);
    }
}

fn plan_of_alone() -> Vec<Cell> {
    vec![Cell::new("high-speed/compound-alone.toml")]
}

/// A lone Compound flow holds gamma segments in the queue.
fn judge_alone(cells: &Cells<'_>, out: &mut Findings) {
    let run = cells.summaries().remove(0);
    let delay = run.figures.queues[0].delay_ms;
    let bytes = delay.map_or(0.0, |delay| delay.p50) * 100e6 / 8e3;
    let packets = bytes / 1_500.0;
    let mut grid = Grid::new();
    grid.add(
        "compound-alone",
        "compound",
        "queue_median_packets",
        packets,
    );
    let checks = out.on("queue");
    checks.unless(
        (25.0..=40.0).contains(&packets),
        format!("a lone Compound flow holds {packets} packets"),
    );
    checks.ours(format!("{packets:.0} packets"));
    let figure = Figure::pairs("Queue of one Compound flow, median", "packets");
    out.draw(figure.pair("100 Mbit/s, 50 ms", Some(30.0), packets));
    grid.give(out);
    out.write(format!("{ALONE} Median: {packets:.0} packets."));
}

const LEDBAT: &str = "background/ledbat.toml";

fn plan_of_ledbat() -> Vec<Cell> {
    let short = [
        "link.queue.limit=50ms",
        "group.download.congestion-control=reno",
    ];
    vec![Cell::new(LEDBAT), Cell::new(LEDBAT).sets(short)]
}

/// Goodput of the group's flows, in Mbit/s.
fn rate(figures: &Figures, name: &str) -> f64 {
    let of = |group: &&GroupSummary| group.name == name;
    let found = figures.groups.iter().find(of);
    let flows = found.map(|group| group.goodput_bps.iter().sum::<f64>());
    // Without a flow the sum is -0.
    flows.unwrap_or(0.0) / 1e6 + 0.0
}

fn judge_ledbat(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let mut table = Table::new(&["", "LEDBAT", "CUBIC", "link, %", "delay median, ms"]);
    let mut figure = Figure::pairs("Goodput of LEDBAT and of what is beside it", "Mbit/s");
    let mut grid = Grid::new();
    let names = ["alone", "beside CUBIC", "alone again"];
    let (mut used, mut delays) = (Vec::new(), Vec::new());
    for (index, (name, phase)) in names.iter().zip(&runs[0].phases).enumerate() {
        let figures = &phase.figures;
        let delay = figures.queues[0].delay_ms.map_or(0.0, |delay| delay.p50);
        let (ledbat, cubic) = (rate(figures, "background"), rate(figures, "download"));
        let link = 100.0 * figures.link.utilisation;
        let cells = [
            digits(ledbat),
            digits(cubic),
            format!("{link:.1}"),
            digits(delay),
        ];
        table.row(&[&[(*name).to_owned()][..], &cells[..]].concat());
        grid.add("ledbat", name, "ledbat_goodput_mbps", ledbat);
        grid.add("ledbat", name, "cubic_goodput_mbps", cubic);
        grid.add("ledbat", name, "utilisation_percent", link);
        grid.add("ledbat", name, "delay_median_ms", delay);
        figure = figure.pair(&format!("LEDBAT {name}"), None, ledbat);
        if index == 1 {
            figure = figure.pair("CUBIC", None, cubic);
            let checks = out.on("yields");
            checks.unless(
                ledbat < 0.1 * cubic,
                format!("LEDBAT {ledbat} beside CUBIC {cubic}"),
            );
            checks.ours(format!(
                "{} against {} Mbit/s",
                digits(ledbat),
                digits(cubic)
            ));
        } else {
            out.on("bandwidth")
                .unless(link >= 99.0, format!("{name}: {link} % of the link"));
            let holds = (85.0..=100.5).contains(&delay);
            out.on("delay")
                .unless(holds, format!("{name}: a delay of {delay} ms"));
            used.push(format!("{link:.1} %"));
            delays.push(format!("{} ms", digits(delay)));
        }
    }
    out.on("bandwidth").ours(used.join(", "));
    out.on("delay").ours(delays.join(", "));
    let beside = runs[1].phases.get(1).map(|phase| &phase.figures);
    let [ledbat, reno] = ["background", "download"]
        .map(|name| beside.map_or(f64::NAN, |figures| rate(figures, name)));
    grid.add(
        "ledbat",
        "beside Reno, 50 ms",
        "ledbat_goodput_mbps",
        ledbat,
    );
    grid.add("ledbat", "beside Reno, 50 ms", "reno_goodput_mbps", reno);
    let checks = out.on("short-queue");
    checks.unless(
        ledbat <= 1.1 * reno,
        format!("LEDBAT {ledbat} beside Reno {reno} behind 50 ms"),
    );
    checks.ours(format!(
        "{} against {} Mbit/s",
        digits(ledbat),
        digits(reno)
    ));
    figure = figure.pair("LEDBAT beside Reno, 50 ms", None, ledbat);
    out.draw(figure.pair("Reno, 50 ms", None, reno));
    grid.give(out);
    out.write(format!(
        "{BACKGROUND}\n{table}\n{SHORT} LEDBAT {}, Reno {} Mbit/s.",
        digits(ledbat),
        digits(reno)
    ));
}

const HEAD: &str = "\
**Result.** Compound takes from Reno hardly more than another Reno would, H-TCP and CUBIC more; a second H-TCP flow has its share within 30 s; LEDBAT
holds its target alone, gives way to CUBIC, and takes no more than Reno where the queue is shorter than its target.

**Sources.** Tan, Song, Zhang, Sridharan, INFOCOM 2006 (Compound); Leith and Shorten 2004, and Li, Leith and Shorten, ToN 2007 (H-TCP): their
figures are not at hand and their claims are from memory, so directions are judged, with wide bounds. The abstract of RFC 6817 (LEDBAT).

**Runs.** The scenarios named below. [published-high-speed.csv](data/published-high-speed.csv) has the figures. Rates in Mbit/s of goodput.";

const BESIDE: &str = "\
### What Reno loses to another control

`high-speed/beside-reno.toml`: 100 Mbit/s, 50 ms, a FIFO of one bandwidth-delay product, four Reno flows and one of another control; three
seeds. Bounds: against five of Reno, each Reno flow loses less than 15 % to Compound, and more to CUBIC than to Compound.
";

const SLOW: &str = "\
### Compound on slow paths

`dualq2015/one-compound-one-reno.toml`: 40 Mbit/s, 7 ms, beside two DCTCP flows; eight seeds, 48 behind the FIFO, where each flow halves
its window about twenty times in a run and the ratio of two scatters by a fifth. The slides of 2015 also have 20 Mbit/s and 20 ms with four DCTCP
flows, Compound and Reno over PIE, FQ-CoDel and the DualQ, and a plot \"PIE: Ctcp + 10 Reno\", without figures: the rows with 10 Reno. Windows
below 38 segments are Reno's, and so are larger ones where the queue is deep. Bound: equal within 10 %.
";

const ALONE: &str = "\
### Compound alone

`high-speed/compound-alone.toml`: 100 Mbit/s, 50 ms, a FIFO of a quarter of the bandwidth-delay product. Bound: a median of 25 to 40 packets
in the queue, because gamma is 30; behind deeper queues Reno's part alone fills them.";

const SECOND: &str = "\
### A second flow

`high-speed/second-flow.toml`: 250 Mbit/s, 42 ms, a FIFO of a fifth of the bandwidth-delay product; goodput of the second flow in parts of half of
both, after it came; eight seeds of the first time, which scatters (H-TCP: 0.62 to 0.99), three of the second. Bound: H-TCP's second flow has
80 % of its share after 30 s. That Reno takes minutes does not come out: its second flow gets its share from the losses of its own slow start.
";

const BACKGROUND: &str = "\
### LEDBAT in the background

`background/ledbat.toml`: 20 Mbit/s, 40 ms, a FIFO of 300 ms, target 100 ms. Published: it uses the bandwidth that is there and limits the
delay that it adds, and yields to competing flows. Bounds: alone 99 % of the link and a median delay of 85 to 100.5 ms; beside a CUBIC
download less than a tenth of that.
";

const SHORT: &str = "\
Behind a FIFO of 50 ms, which never reaches the target, only losses stop it. Published: no more aggressive than standard TCP. Bound: at most a
tenth more than Reno.";
