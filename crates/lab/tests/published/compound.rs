//! Compound, H-TCP and LEDBAT beside Reno and CUBIC: what their authors and RFC 6817 claim, as orders and directions.
//!
//! No figure of these papers is at hand, so each claim is judged by its direction, with a wide bound.

use quell_measure::{Figures, GroupSummary, Summary};

use super::evaluation::{Misses, digits, group, summaries};
use super::page;
use super::statistics::mean;
use super::table::Table;

const TITLE: &str = "Compound, H-TCP and LEDBAT beside others";

/// Goodput of a flow of the group in Mbit/s, the mean of its flows and of the runs.
fn goodput(runs: &[Summary], name: &str) -> f64 {
    let flows =
        |run: &Summary| group(run, name).map_or_else(Vec::new, |group| group.goodput_bps.clone());
    mean(runs.iter().flat_map(flows)).value / 1e6
}

fn with(control: &str, of: &str) -> String {
    format!("group.{of}.congestion-control={control}")
}

#[test]
#[ignore = "takes long: make test-all"]
fn controls_for_fast_paths_and_for_the_background_do_as_claimed() {
    let mut misses = Misses::default();
    let mut grid = Table::new(&["experiment", "run", "figure", "value"]);
    let body = [
        HEAD.to_owned(),
        beside_reno(&mut misses, &mut grid),
        slow_paths(&mut misses, &mut grid),
        alone(&mut misses, &mut grid),
        second_flow(&mut misses, &mut grid),
        background(&mut misses, &mut grid),
    ]
    .join("\n\n");
    misses.assert_none(&body);
    page::check(TITLE, &body, &[("published-high-speed.csv", &grid)]);
}

/// A line of the grid.
fn add(grid: &mut Table, experiment: &str, run: &str, figure: &str, value: f64) {
    grid.row(&[experiment, run, figure, &digits(value)].map(str::to_owned));
}

/// What four Reno flows lose to one of another control.
fn beside_reno(misses: &mut Misses, grid: &mut Table) -> String {
    let seeds = [1, 2, 3];
    let file = "high-speed/beside-reno.toml";
    let of = |control: &str| {
        let runs = summaries(file, &[with(control, "one")], &seeds);
        (goodput(&runs, "one"), goodput(&runs, "reno"))
    };
    let fair = {
        let (one, four) = of("reno");
        (one + 4.0 * four) / 5.0
    };
    let mut table = Table::new(&["control", "its flow", "each of Reno", "Reno loses, %"]);
    let mut lost = Vec::new();
    for control in ["reno", "compound", "htcp", "cubic"] {
        let (one, four) = of(control);
        let loses = 100.0 * (1.0 - four / fair);
        table.row(&[
            control.to_owned(),
            digits(one),
            digits(four),
            format!("{loses:.1}"),
        ]);
        let file = "beside-reno";
        add(grid, file, control, "goodput_mbps", one);
        add(grid, file, control, "reno_goodput_mbps", four);
        lost.push(loses);
    }
    misses.unless(
        lost[1] < 15.0,
        format!("Reno loses {} % to Compound", lost[1]),
    );
    misses.unless(
        lost[3] > lost[1],
        format!("Reno loses {} % to CUBIC", lost[3]),
    );
    format!("{BESIDE}\n{table}")
}

/// Below 38 segments Compound is Reno.
fn slow_paths(misses: &mut Misses, grid: &mut Table) -> String {
    let file = "dualq2015/one-compound-one-reno.toml";
    let mut table = Table::new(&["queue", "Compound", "Reno"]);
    let fifo = ["link.queue.kind=fifo", "link.queue.limit=100ms"].map(str::to_owned);
    let slow = |queue: &str| {
        let mut sets = [
            "link.rate=20mbit",
            queue,
            "group.reno.count=10",
            "group.l4s.count=4",
        ]
        .map(str::to_owned)
        .to_vec();
        sets.extend(["l4s", "compound", "reno"].map(|group| format!("group.{group}.rtt=20ms")));
        sets
    };
    let (ten, pie, fq) = (
        slow("link.queue.kind=dualq_2015"),
        slow("link.queue.kind=pie"),
        slow("link.queue.kind=fq_codel"),
    );
    for (queue, sets) in [
        ("DualQ of 2015", &[][..]),
        ("FIFO of 100 ms", &fifo[..]),
        ("DualQ of 2015, 10 Reno", &ten),
        ("PIE, 10 Reno", &pie),
        ("FQ-CoDel, 10 Reno", &fq),
    ] {
        let runs = summaries(file, sets, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let (compound, reno) = (goodput(&runs, "compound"), goodput(&runs, "reno"));
        table.row(&[queue.to_owned(), digits(compound), digits(reno)]);
        add(
            grid,
            "one-compound-one-reno",
            queue,
            "compound_goodput_mbps",
            compound,
        );
        add(
            grid,
            "one-compound-one-reno",
            queue,
            "reno_goodput_mbps",
            reno,
        );
        misses.unless(
            (0.9..=1.1).contains(&(compound / reno)),
            format!("{queue}: Compound {compound}, Reno {reno}"),
        );
    }
    format!("{SLOW}\n{table}")
}

/// A lone Compound flow holds gamma segments in the queue.
fn alone(misses: &mut Misses, grid: &mut Table) -> String {
    let runs = summaries("high-speed/compound-alone.toml", &[], &[1]);
    let bytes = runs[0].figures.queues[0]
        .delay_ms
        .map_or(0.0, |delay| delay.p50)
        * 100e6
        / 8e3;
    let packets = bytes / 1_500.0;
    add(
        grid,
        "compound-alone",
        "compound",
        "queue_median_packets",
        packets,
    );
    misses.unless(
        (25.0..=40.0).contains(&packets),
        format!("a lone Compound flow holds {packets} packets"),
    );
    format!("{ALONE} Median: {packets:.0} packets.")
}

/// Goodput of the second flow, in parts of half the link, so many seconds after it came.
fn share(control: &str, after: u64, seeds: &[u64]) -> f64 {
    let sets = [
        with(control, "first"),
        with(control, "second"),
        format!("run.warmup={}s", 90 + after),
        format!("run.duration={}s", 100 + after),
    ];
    let runs = summaries("high-speed/second-flow.toml", &sets, seeds);
    let (first, second) = (goodput(&runs, "first"), goodput(&runs, "second"));
    2.0 * second / (first + second)
}

fn second_flow(misses: &mut Misses, grid: &mut Table) -> String {
    let mut table = Table::new(&["control", "20 to 30 s", "80 to 90 s"]);
    let mut shares = Vec::new();
    for control in ["htcp", "reno", "cubic"] {
        let seeds = [1, 2, 3, 4, 5, 6, 7, 8];
        let (early, late) = (share(control, 30, &seeds), share(control, 90, &seeds[..3]));
        table.row(&[
            control.to_owned(),
            format!("{early:.2}"),
            format!("{late:.2}"),
        ]);
        add(grid, "second-flow", control, "share_20_to_30_s", early);
        add(grid, "second-flow", control, "share_80_to_90_s", late);
        shares.push((early, late));
    }
    misses.unless(
        shares[0].0 >= 0.8,
        format!("H-TCP has {} after 30 s", shares[0].0),
    );
    format!("{SECOND}\n{table}")
}

fn background(misses: &mut Misses, grid: &mut Table) -> String {
    let runs = summaries("background/ledbat.toml", &[], &[1]);
    let phases: Vec<&Figures> = runs[0].phases.iter().map(|phase| &phase.figures).collect();
    let mut table = Table::new(&["", "LEDBAT", "CUBIC", "link, %", "delay median, ms"]);
    let rate = |figures: &Figures, name: &str| {
        let of = |group: &&GroupSummary| group.name == name;
        let flows = figures
            .groups
            .iter()
            .find(of)
            .map(|group| group.goodput_bps.iter().sum::<f64>());
        // Without a flow the sum is -0.
        flows.unwrap_or(0.0) / 1e6 + 0.0
    };
    let mut seen = Vec::new();
    for (name, figures) in ["alone", "beside CUBIC", "alone again"].iter().zip(&phases) {
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
        add(grid, "ledbat", name, "ledbat_goodput_mbps", ledbat);
        add(grid, "ledbat", name, "cubic_goodput_mbps", cubic);
        add(grid, "ledbat", name, "utilisation_percent", link);
        add(grid, "ledbat", name, "delay_median_ms", delay);
        seen.push((ledbat, cubic, link, delay));
    }
    for (index, what) in [(0, "alone"), (2, "alone again")] {
        let (_, _, link, delay) = seen[index];
        misses.unless(link >= 99.0, format!("{what}: {link} % of the link"));
        let holds = (85.0..=100.5).contains(&delay);
        misses.unless(holds, format!("{what}: a delay of {delay} ms"));
    }
    let (ledbat, cubic, ..) = seen[1];
    misses.unless(
        ledbat < 0.1 * cubic,
        format!("LEDBAT {ledbat} beside CUBIC {cubic}"),
    );
    let short = [
        "link.queue.limit=50ms",
        "group.download.congestion-control=reno",
    ]
    .map(str::to_owned);
    let runs = summaries("background/ledbat.toml", &short, &[1]);
    let figures = &runs[0].phases[1].figures;
    let (ledbat, reno) = (rate(figures, "background"), rate(figures, "download"));
    add(
        grid,
        "ledbat",
        "beside Reno, 50 ms",
        "ledbat_goodput_mbps",
        ledbat,
    );
    add(
        grid,
        "ledbat",
        "beside Reno, 50 ms",
        "reno_goodput_mbps",
        reno,
    );
    misses.unless(
        ledbat <= 1.1 * reno,
        format!("LEDBAT {ledbat} beside Reno {reno} behind 50 ms"),
    );
    format!(
        "{BACKGROUND}\n{table}\n{SHORT} LEDBAT {}, Reno {} Mbit/s.",
        digits(ledbat),
        digits(reno)
    )
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

`dualq2015/one-compound-one-reno.toml`: 40 Mbit/s, 7 ms, beside two DCTCP flows; eight seeds. The slides of 2015 also have 20 Mbit/s and 20 ms
with four DCTCP flows, Compound and Reno over PIE, FQ-CoDel and the DualQ, and a plot \"PIE: Ctcp + 10 Reno\", without figures: the rows with 10
Reno. Windows below 38 segments are Reno's, and so are larger ones where the queue is deep. Bound: equal within 10 %.
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
