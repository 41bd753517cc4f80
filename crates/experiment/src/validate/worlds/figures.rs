//! What is compared, and how far two worlds may differ.
//!
//! A bound applies beyond the standard error of the difference of the two means: what differs by
//! less cannot be told from chance.

use quell_measure::{AppFigure as Reported, AppSummary, Estimate, Figures, GroupSummary, Summary};

/// What the simulator is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// This kernel in real time, with the noise of the machine.
    Live,
    /// A user-mode kernel in virtual time.
    Virtual,
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Goodput of the group under test, Mbit/s.
    TestGoodput,
    /// Goodput of the CUBIC flow, Mbit/s.
    CubicGoodput,
    /// Goodput per flow under test / goodput of the CUBIC flow.
    RateRatio,
    /// Mean queue delay of the group under test, ms.
    TestDelay,
    /// Mean queue delay of the CUBIC flow, ms.
    CubicDelay,
    /// 99th percentile of the queue delay of the group under test, ms.
    TestDelayP99,
    /// 99th percentile of the queue delay of the CUBIC flow, ms.
    CubicDelayP99,
    /// Newly marked / delivered, of the group under test, %.
    Marks,
    /// Dropped / (delivered + dropped), over all, %.
    Drops,
    /// Retransmitted beyond what was dropped / delivered, of the group under test, per thousand.
    Needless,
    /// What the application of the group under test reports.
    App(&'static AppFigure),
}

/// Of a distribution, which figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Median.
    P50,
    /// 99th percentile.
    P99,
}

/// A figure of an application's report. It may differ by the larger of its two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppFigure {
    /// The head of its column.
    pub title: &'static str,
    /// The kind of application.
    pub kind: &'static str,
    /// Its key in the report.
    pub name: &'static str,
    /// Of a distribution, which figure.
    pub part: Option<Part>,
    /// How much of the report makes one here.
    unit: u32,
    /// Bound in per cent of the value.
    percent: u32,
    /// Bound in thousandths of its unit.
    thousandths: u32,
}

/// What applications are compared by: medians within 8 %, 99th percentiles within 15 %, opinions within 0.1, stalls within one.
pub const APP_FIGURES: &[AppFigure] = &[
    AppFigure::p50("completion p50, ms", "web", "completion_ms"),
    AppFigure::p99("completion p99, ms", "web", "completion_ms"),
    AppFigure::p50("page load p50, ms", "web", "page_load_ms"),
    AppFigure::p99("page load p99, ms", "web", "page_load_ms"),
    AppFigure {
        unit: 1_000_000,
        ..AppFigure::number("picture, Mbit/s", "has", "bitrate_bps", [8, 0])
    },
    AppFigure::number("stalls", "has", "stalls", [0, 1_000]),
    AppFigure::p50("network latency p50, ms", "panorama", "network_latency_ms"),
    AppFigure::p99("network latency p99, ms", "panorama", "network_latency_ms"),
    AppFigure::p50("view latency p50, ms", "panorama", "view_latency_ms"),
    AppFigure::p99("view latency p99, ms", "panorama", "view_latency_ms"),
    AppFigure::p50("frame delay p50, ms", "rtc", "frame_delay_ms"),
    AppFigure::p99("frame delay p99, ms", "rtc", "frame_delay_ms"),
    AppFigure::number("MOS", "voice", "mos", [0, 100]),
    AppFigure::number("MOS back", "voice", "back_mos", [0, 100]),
    AppFigure::p50("command to state p50, ms", "game", "command_to_state_ms"),
    AppFigure::p99("command to state p99, ms", "game", "command_to_state_ms"),
];

impl AppFigure {
    const fn number(
        title: &'static str,
        kind: &'static str,
        name: &'static str,
        [percent, thousandths]: [u32; 2],
    ) -> Self {
        Self {
            title,
            kind,
            name,
            part: None,
            unit: 1,
            percent,
            thousandths,
        }
    }
    const fn p50(title: &'static str, kind: &'static str, name: &'static str) -> Self {
        Self {
            part: Some(Part::P50),
            ..Self::number(title, kind, name, [8, 0])
        }
    }
    const fn p99(title: &'static str, kind: &'static str, name: &'static str) -> Self {
        Self {
            part: Some(Part::P99),
            ..Self::number(title, kind, name, [15, 0])
        }
    }

    fn of(&self, app: &AppSummary) -> Option<f64> {
        if app.kind != self.kind {
            return None;
        }
        let value = match (app.figures.get(self.name)?, self.part) {
            (Reported::Count(count), None) => *count as f64,
            (Reported::Number(number), None) => *number,
            (Reported::Times(times), Some(Part::P50)) => times.p50,
            (Reported::Times(times), Some(Part::P99)) => times.p99?,
            _ => return None,
        };
        Some(value / f64::from(self.unit))
    }
}

impl Figure {
    /// In the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::TestGoodput,
        Self::CubicGoodput,
        Self::RateRatio,
        Self::TestDelay,
        Self::CubicDelay,
        Self::TestDelayP99,
        Self::CubicDelayP99,
        Self::Marks,
        Self::Drops,
    ];

    /// The head of its column.
    pub fn title(self) -> &'static str {
        match self {
            Self::TestGoodput => "test, Mbit/s",
            Self::CubicGoodput => "CUBIC, Mbit/s",
            Self::RateRatio => "rate ratio",
            Self::TestDelay => "test delay, ms",
            Self::CubicDelay => "CUBIC delay, ms",
            Self::TestDelayP99 => "test delay p99, ms",
            Self::CubicDelayP99 => "CUBIC delay p99, ms",
            Self::Marks => "marks, %",
            Self::Drops => "drops, %",
            Self::Needless => "sent again for each packet held back",
            Self::App(figure) => figure.title,
        }
    }

    /// Whether it counts what may not happen at all.
    pub fn counts_events(self) -> bool {
        match self {
            Self::Marks | Self::Drops => true,
            Self::App(figure) => figure.name == "stalls",
            _ => false,
        }
    }

    /// The figure of a column.
    pub fn named(title: &str) -> Option<Self> {
        let of_apps = APP_FIGURES.iter().map(Self::App);
        let all = Self::ALL.into_iter().chain([Self::Needless]);
        all.chain(of_apps).find(|figure| figure.title() == title)
    }

    /// How far the simulator may be from a reference of value `value`, standard errors apart; `None` where nothing is asked.
    pub fn bound(self, reference: Reference, value: f64) -> Option<f64> {
        let relative = |share: f64| share * value.abs();
        Some(match (self, reference) {
            (Self::TestGoodput | Self::CubicGoodput, Reference::Live) => relative(0.03),
            (Self::TestGoodput | Self::CubicGoodput, Reference::Virtual) => relative(0.02),
            (Self::RateRatio, Reference::Live) => relative(0.20),
            (Self::RateRatio, Reference::Virtual) => relative(0.10),
            (Self::TestDelay | Self::CubicDelay, Reference::Live) => relative(0.10).max(0.3),
            (Self::TestDelay | Self::CubicDelay, Reference::Virtual) => relative(0.08).max(0.2),
            // A stall of the live link is in the one packet of a hundred.
            (Self::TestDelayP99 | Self::CubicDelayP99, Reference::Live) => return None,
            (Self::TestDelayP99 | Self::CubicDelayP99, Reference::Virtual) => {
                relative(0.15).max(0.5)
            }
            (Self::Marks | Self::Drops | Self::Needless, Reference::Live) => relative(0.25),
            (Self::Marks | Self::Drops, Reference::Virtual) => relative(0.20),
            // One in a hundred at least: of so few a single recovery decides.
            (Self::Needless, Reference::Virtual) => relative(0.20).max(0.01),
            (Self::App(figure), _) => relative(f64::from(figure.percent) / 100.0)
                .max(f64::from(figure.thousandths) / 1_000.0),
        })
    }

    /// Its value in a run; `None` where the run does not have it.
    pub fn of(self, summary: &Summary) -> Option<f64> {
        let figures = &summary.figures;
        let (test, others) = figures.groups.split_first()?;
        let cubic = others.first();
        let goodput = |group: &GroupSummary| group.goodput_bps.iter().sum::<f64>() / 1e6;
        let delay = |group: &GroupSummary| group.delay_ms.map(|dist| dist.mean);
        let p99 = |group: &GroupSummary| group.delay_ms.map(|dist| dist.p99);
        match self {
            Self::TestGoodput => Some(goodput(test)),
            Self::CubicGoodput => cubic.map(goodput),
            Self::RateRatio => {
                let flows = test.goodput_bps.len().max(1) as f64;
                cubic.map(|cubic| goodput(test) / flows / goodput(cubic))
            }
            Self::TestDelay => delay(test),
            Self::CubicDelay => delay(cubic?),
            Self::TestDelayP99 => p99(test),
            Self::CubicDelayP99 => p99(cubic?),
            Self::Marks => Some(percent(test.marked, test.packets)),
            Self::Drops => Some(drops(figures)),
            Self::Needless => {
                let again = test.retransmitted? as f64 - test.dropped as f64;
                Some(1_000.0 * again / test.packets.max(1) as f64)
            }
            Self::App(figure) => figure.of(test.app.as_ref()?),
        }
    }
}

fn drops(figures: &Figures) -> f64 {
    let sum = |of: fn(&GroupSummary) -> u64| figures.groups.iter().map(of).sum::<u64>();
    let dropped = sum(|group| group.dropped);
    percent(dropped, dropped + sum(|group| group.packets))
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// One figure in the simulator and in another world.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// What is compared.
    pub figure: Figure,
    /// The world that the simulator is compared with.
    pub reference: Reference,
    /// In the simulator.
    pub sim: Estimate,
    /// In the other world.
    pub other: Estimate,
}

impl Difference {
    /// From the runs of each world; `None` where either has none, or nothing is asked.
    pub fn new(
        figure: Figure,
        reference: Reference,
        sim: &[Summary],
        other: &[Summary],
    ) -> Option<Self> {
        let estimate = |runs: &[Summary]| Estimate::new(&values(figure, runs));
        let other = estimate(other)?;
        figure.bound(reference, other.mean)?;
        Some(Self {
            figure,
            reference,
            sim: estimate(sim)?,
            other,
        })
    }

    /// Every figure that both have; not those that are zero in both, which agree trivially.
    pub fn all(reference: Reference, sim: &[Summary], other: &[Summary]) -> Vec<Self> {
        let of_apps = APP_FIGURES.iter().map(Figure::App);
        let figures = Figure::ALL.into_iter().chain(of_apps);
        figures
            .filter_map(|figure| Self::new(figure, reference, sim, other))
            .filter(|one| one.sim.mean != 0.0 || one.other.mean != 0.0)
            .collect()
    }

    /// The standard error of the difference of the means.
    pub fn standard_error(&self) -> f64 {
        let [sim, other] = [self.sim, self.other].map(|mean| mean.standard_error.unwrap_or(0.0));
        sim.hypot(other)
    }

    /// What the bound allows, standard errors apart.
    pub fn bound(&self) -> f64 {
        self.figure
            .bound(self.reference, self.other.mean)
            .unwrap_or(f64::INFINITY)
    }

    /// How far the two means lie apart.
    pub fn distance(&self) -> f64 {
        (self.sim.mean - self.other.mean).abs()
    }

    /// Whether the means differ by no more than the bound and the standard error.
    pub fn holds(&self) -> bool {
        self.distance() <= self.bound() + self.standard_error()
    }

    /// How far beyond the standard error the means differ, in bounds: above 1 it is a miss.
    pub fn bounds_off(&self) -> f64 {
        (self.distance() - self.standard_error()).max(0.0) / self.bound()
    }
}

/// A figure's value in each run that has it.
pub fn values(figure: Figure, runs: &[Summary]) -> Vec<f64> {
    runs.iter().filter_map(|run| figure.of(run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(
        figure: Figure,
        reference: Reference,
        sim: [f64; 2],
        other: [f64; 2],
    ) -> Difference {
        Difference {
            figure,
            reference,
            sim: Estimate::new(&sim).expect("values"),
            other: Estimate::new(&other).expect("values"),
        }
    }

    #[test]
    fn a_bound_applies_beyond_the_standard_errors() {
        use Reference::{Live, Virtual};
        // (figure, reference, sim, other, holds); no spread, then the means' errors are 0.5 each.
        for (figure, reference, sim, other, holds) in [
            (Figure::TestGoodput, Live, [102.9; 2], [100.0; 2], true),
            (Figure::TestGoodput, Live, [103.1; 2], [100.0; 2], false),
            (
                Figure::TestGoodput,
                Live,
                [103.2, 104.2],
                [99.5, 100.5],
                true,
            ),
            (Figure::RateRatio, Live, [0.81; 2], [1.0; 2], true),
            (Figure::RateRatio, Live, [0.79; 2], [1.0; 2], false),
            (Figure::TestDelay, Live, [0.49; 2], [0.2; 2], true),
            (Figure::CubicDelay, Live, [16.6; 2], [15.0; 2], false),
            (Figure::Drops, Live, [1.24; 2], [1.0; 2], true),
            (Figure::Marks, Live, [1.26; 2], [1.0; 2], false),
            (Figure::TestGoodput, Virtual, [97.9; 2], [100.0; 2], false),
            (Figure::RateRatio, Virtual, [1.09; 2], [1.0; 2], true),
            (Figure::TestDelay, Virtual, [0.39; 2], [0.2; 2], true),
            (Figure::TestDelayP99, Virtual, [17.4; 2], [15.0; 2], false),
            (Figure::CubicDelayP99, Virtual, [1.49; 2], [1.0; 2], true),
            (Figure::Drops, Virtual, [1.21; 2], [1.0; 2], false),
        ] {
            let difference = difference(figure, reference, sim, other);
            let found = difference.holds();
            assert_eq!(found, holds, "{figure:?} {sim:?} {other:?}");
            assert_eq!(difference.bounds_off() <= 1.0, holds);
        }
    }
}
