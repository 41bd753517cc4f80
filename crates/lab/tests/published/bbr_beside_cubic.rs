//! One BBR flow beside CUBIC, behind buffers of 2 to 32 bandwidth-delay products, and with up to 16 CUBIC flows: the model of Ware et al.,
//! "Modeling BBR's Interactions with Loss-Based Congestion Control" (IMC 2019), and what is published of v2 and v3.

use quell_measure::Summary;

use super::evaluation::{Misses, group, rate_of, summaries};
use super::page;
use super::sweep::sweep;
use super::table::Table;

const TITLE: &str = "BBR beside CUBIC";

/// A bandwidth-delay product: 10 Mbit/s and 40 ms.
const BDP: u32 = 50_000;

/// Buffer in tenths of a bandwidth-delay product, CUBIC flows, and where it is known the share by the model and that of Linux 7.2's `bbr`
/// in the virtual world.
struct Point(u32, u32, Option<f64>, Option<f64>);

const POINTS: &[Point] = &[
    Point(5, 1, None, None),
    Point(10, 1, None, None),
    Point(10, 5, None, None),
    Point(20, 1, Some(0.78), Some(0.63)),
    Point(40, 1, Some(0.63), Some(0.49)),
    Point(80, 1, Some(0.55), Some(0.47)),
    Point(160, 1, Some(0.49), Some(0.40)),
    Point(320, 1, Some(0.44), Some(0.22)),
    Point(40, 2, None, Some(0.49)),
    Point(40, 4, None, Some(0.52)),
    Point(40, 8, None, Some(0.49)),
    Point(40, 16, None, Some(0.48)),
];
const VERSIONS: [&str; 3] = ["bbr1", "bbr2", "bbr3"];
/// Of v1; one of the others, which nothing but orders and inequalities judge.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Of one point and version, the mean of the seeds.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Of all that is delivered.
    share: f64,
    /// Dropped per packet that BBR offers, in %.
    dropped: f64,
}

fn run((version, point): &(&str, &Point)) -> Found {
    let sets = [
        format!("group.bbr.congestion-control={version}"),
        format!("link.queue.limit={}B", point.0 * BDP / 10),
        format!("group.cubic.count={}", point.1),
    ];
    let seeds = if *version == VERSIONS[0] {
        &SEEDS[..]
    } else {
        &SEEDS[..1]
    };
    let runs = summaries("bbr/beside-cubic.toml", &sets, seeds);
    let mean = |of: &dyn Fn(&Summary) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let rate = |run: &Summary, name| group(run, name).map_or(0.0, |group| rate_of(run, group));
    Found {
        share: mean(&|run| rate(run, "bbr") / (rate(run, "bbr") + rate(run, "cubic"))),
        dropped: mean(&|run| {
            let bbr = group(run, "bbr").unwrap();
            100.0 * bbr.dropped as f64 / (bbr.dropped + bbr.packets) as f64
        }),
    }
}

/// What all versions found at each point.
struct Grid(Vec<[Found; 3]>);

impl Grid {
    fn measure() -> Self {
        let all = POINTS
            .iter()
            .flat_map(|point| VERSIONS.map(|version| (version, point)));
        let points: Vec<_> = all.collect();
        let found = sweep(&points, run);
        let rows = found.chunks_exact(3).map(|row| [row[0], row[1], row[2]]);
        Self(rows.collect())
    }
    fn at(&self, tenths: u32, cubic: u32) -> [Found; 3] {
        let place = POINTS
            .iter()
            .position(|point| (point.0, point.1) == (tenths, cubic));
        self.0[place.unwrap()]
    }
    fn csv(&self) -> Table {
        let mut table = Table::new(&[
            "buffer_bdp",
            "cubic_flows",
            "model_share",
            "bbr1_linux_7.2_share",
            "bbr1_share",
            "bbr2_share",
            "bbr3_share",
            "bbr1_drops_percent",
            "bbr2_drops_percent",
            "bbr3_drops_percent",
        ]);
        for (Point(tenths, cubic, model, linux), found) in POINTS.iter().zip(&self.0) {
            let known = |share: &Option<f64>| share.map_or_else(String::new, |x| format!("{x:.3}"));
            let mut row = vec![
                format!("{}", f64::from(*tenths) / 10.0),
                cubic.to_string(),
                known(model),
                known(linux),
            ];
            row.extend(found.map(|found| format!("{:.3}", found.share)));
            row.extend(found.map(|found| format!("{:.3}", found.dropped)));
            table.row(&row);
        }
        table
    }
    /// On the page.
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "buffer, BDP",
            "CUBIC flows",
            "model of v1",
            "Linux 7.2",
            "v1",
            "v2",
            "v3",
        ]);
        for (Point(tenths, cubic, model, linux), found) in POINTS.iter().zip(&self.0) {
            let known = |share: &Option<f64>| share.map_or("–".to_owned(), |x| format!("{x:.2}"));
            let mut row = vec![
                format!("{}", f64::from(*tenths) / 10.0),
                cubic.to_string(),
                known(model),
                known(linux),
            ];
            row.extend(found.map(|found| format!("{:.3}", found.share)));
            table.row(&row);
        }
        table
    }
    fn judge(&self, misses: &mut Misses) {
        for (Point(tenths, cubic, _, linux), found) in POINTS.iter().zip(&self.0) {
            let v1 = found[0].share;
            if let Some(linux) = linux {
                let place = format!("{tenths} tenths of a BDP, {cubic} CUBIC");
                let is_near = (v1 - linux).abs() <= 0.04;
                misses.unless(is_near, format!("{place}: {v1:.3}, Linux {linux}"));
            }
        }
        let alone = self.at(40, 1)[0].share;
        for cubic in [2, 4, 8, 16] {
            let found = self.at(40, cubic)[0].share;
            let is_near = (found - alone).abs() <= 0.06;
            misses.unless(
                is_near,
                format!("{cubic} CUBIC flows: {found:.3}, one: {alone:.3}"),
            );
        }
        let [v1, v2, _] = self.at(10, 1).map(|found| found.share);
        let is_nearer = (v2 - 0.5).abs() < (v1 - 0.5).abs();
        misses.unless(is_nearer, format!("1 BDP: v1 {v1:.3}, v2 {v2:.3}"));
        let v3 = self.at(10, 5)[2].share;
        misses.unless(v3 < 0.5, format!("1 BDP, five CUBIC: v3 {v3:.3}"));
        let [v1, v2, _] = self.at(5, 1).map(|found| found.dropped);
        misses.unless(
            v2 <= v1 / 3.0,
            format!("drops at half a BDP: v1 {v1:.3}, v2 {v2:.3}"),
        );
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_share_depends_on_the_buffer_and_not_on_the_number_of_flows() {
    let grid = Grid::measure();
    let [v1, v2, v3] = grid.at(5, 1).map(|found| format!("{:.2}", found.dropped));
    let body = format!(
        "{RESULT}\n{}\n{TEXT}\nAt half a BDP, v1 loses {v1} % of its packets, v2 {v2} % and v3 {v3} %.\n",
        grid.table()
    );
    let mut misses = Misses::default();
    grid.judge(&mut misses);
    misses.assert_none(&body);
    page::check(
        TITLE,
        &body,
        &[("published-bbr-beside-cubic.csv", &grid.csv())],
    );
}

const RESULT: &str = "\
**Result.** v1 has the share that `bbr` of Linux 7.2 has, within 0.04, and as published it does not depend on the number of CUBIC flows. It is
0.09 to 0.19 below the published model. v2 is nearer to an equal share than v1 behind one bandwidth-delay product and loses less, as published;
it gets less than CUBIC behind every buffer.

BBR's share of all that is delivered:
";

const TEXT: &str = "\
**Sources.** Ware et al., \"Modeling BBR's Interactions with Loss-Based Congestion Control\" (IMC 2019): one v1 flow has the share
(1 − s)(d − P)/d beside any number of CUBIC flows, with s = 1/2 − 1/(2X) − 4N/q behind a buffer of q packets or X bandwidth-delay products,
and P the part of d seconds in PROBE_RTT. Its authors state a median error of 5 % beside CUBIC. The paper could not be read, and the form is
from memory; so the model is shown and judges nothing. Of v2: Kfoury et al. (2020, abstract), less loss than v1 and a share beside CUBIC that is
nearer to equal. Of v3: Sarpkaya et al. (2025, abstract), the model does not fit v3, which these figures cannot judge either; Zeynali et al.
(2024, abstract), beside five CUBIC flows.

**Runs.** `scenarios/bbr/beside-cubic.toml`: 10 Mbit/s and 40 ms, 200 s after 40 s; v1 is the mean of three seeds, v2 and v3 one seed.
[published-bbr-beside-cubic.csv](data/published-bbr-beside-cubic.csv) has the drops too. Linux 7.2 is its `bbr` and `cubic` in the virtual
world, one seed (`quell run scenarios/bbr/beside-cubic.toml --world virtual --seed 1`).

**Bounds.** v1: within 0.04 of Linux 7.2, and within 0.06 of its share beside one CUBIC flow behind four bandwidth-delay products. v2: nearer to
0.5 than v1 at 1, and a third of v1's drops at 0.5. v3: below 0.5 beside five CUBIC flows at 1.

**The distance from the model is unexplained**, except that Linux 7.2 has it too. The 1 % by which today's v1 paces below its estimate is not the
reason: without it the five shares are 0.66, 0.49, 0.47, 0.39 and 0.28. At 32 bandwidth-delay products a part of it is time: over 600 s instead
of 240 s the share is 0.32.
";
