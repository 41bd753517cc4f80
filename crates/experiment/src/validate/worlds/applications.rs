//! The figures that a user of an application notices, in the simulator and in a user-mode kernel: every application with state, behind four queues, beside downloads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::validate::document::Explanations;
use crate::validate::error::Error;
use crate::validate::sheet::{self, Sheet, digits};
use crate::validate::worlds::case::{Base, Case};
use crate::validate::worlds::figures::{APP_FIGURES, Difference, Figure};
use crate::validate::worlds::sim_and_virtual::{self, PointRuns};
use crate::validate::worlds::{Arguments, misses};

const FILE: Base = (
    "scenarios/validation/applications.toml",
    include_str!("../../../../../scenarios/validation/applications.toml"),
);

/// An application whose figures a user notices.
#[derive(Debug, PartialEq, Eq)]
struct Application {
    name: &'static str,
    /// A setting of its group.
    app: &'static str,
    /// The ECN field of its datagrams, where it is not the default.
    ecn: Option<&'static str>,
    /// The queues that it meets.
    queues: &'static [&'static str],
}

const fn application(name: &'static str, app: &'static str) -> Application {
    Application {
        name,
        app,
        ecn: None,
        queues: &["fifo", "pie", "fq_codel", "dualpi2"],
    }
}

static APPLICATIONS: &[Application] = &[
    application(
        "items",
        r#"{ kind = "web", preset = "l4s-demo", rate = 20 }"#,
    ),
    application(
        "pages",
        r#"{ kind = "web", preset = "median-2024", reading = "500ms" }"#,
    ),
    application("has", r#"{ kind = "has", preset = "4k" }"#),
    application("panorama", r#"{ kind = "panorama" }"#),
    application("rtc", r#"{ kind = "rtc", preset = "video-call" }"#),
    Application {
        ecn: Some("ect1"),
        queues: &["fifo", "dualpi2"],
        ..application(
            "scream",
            r#"{ kind = "rtc", fps = 50, rate = "20mbit", control = "scream" }"#,
        )
    },
    application("voice", r#"{ kind = "voice" }"#),
    application("game", r#"{ kind = "game" }"#),
];
/// Queues, with the settings of each.
const QUEUES: [(&str, &[&str]); 4] = [
    ("fifo", &["link.queue.limit=100ms"]),
    ("pie", &[]),
    ("fq_codel", &[]),
    ("dualpi2", &[]),
];
/// Warm-up and duration.
const SECONDS: [u32; 2] = [10, 70];
const RATE_MBPS: u32 = 20;

/// One point: an application behind a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    application: &'static Application,
    queue: (&'static str, &'static [&'static str]),
}

/// Every point.
pub(crate) fn points() -> Vec<Point> {
    let of = |application: &'static Application| {
        let met = move |queue: &(&str, _)| application.queues.contains(&queue.0);
        let queues = QUEUES.into_iter().filter(met);
        queues.map(move |queue| Point { application, queue })
    };
    APPLICATIONS.iter().flat_map(of).collect()
}

impl Point {
    /// Of its application and its queue.
    pub(crate) fn names(&self) -> [&'static str; 2] {
        [self.application.name, self.queue.0]
    }

    /// What is compared.
    pub(crate) fn case(&self) -> Case {
        let Application { name, app, ecn, .. } = self.application;
        let (queue, settings) = self.queue;
        let [warmup, duration] = SECONDS;
        let mut all = vec![
            format!("group.test.app={app}"),
            format!("link.rate={RATE_MBPS}mbit"),
            format!("link.queue.kind={queue}"),
            format!("run.warmup={warmup}s"),
            format!("run.duration={duration}s"),
        ];
        all.extend(ecn.map(|ecn| format!("group.test.ecn={ecn}")));
        all.extend(settings.iter().map(|setting| (*setting).to_owned()));
        Case {
            id: format!("{name}-{queue}"),
            base: FILE,
            settings: all,
            rate_mbps: RATE_MBPS,
        }
    }
}

/// Whether a figure says what a person feels, rather than what the link does.
fn is_felt(one: &Difference) -> bool {
    matches!(one.figure, Figure::App(_))
}

/// What the points say together: a row for each application.
pub(crate) fn summary(measured: &[(Point, PointRuns)], arguments: &Arguments) -> String {
    let mut shares: BTreeMap<usize, [[usize; 2]; 2]> = BTreeMap::new();
    let (mut runs, mut left_out) = (0, String::new());
    for (point, of_point) in measured {
        let differences = of_point.differences();
        if differences.is_empty() {
            let _ = write!(left_out, " Not run: {}.", point.case().id);
            continue;
        }
        runs += of_point.runs();
        let index = APPLICATIONS
            .iter()
            .position(|application| application == point.application);
        let of_application = shares.entry(index.unwrap_or_default()).or_default();
        for one in &differences {
            let [held, all] = &mut of_application[usize::from(!is_felt(one))];
            *held += usize::from(one.holds());
            *all += 1;
        }
    }
    let mut text = format!(
        "With Linux {}, {runs} runs at {} points, {} of each, of {} s with {} s of warm-up, and as many simulations with the same \
         seeds.{left_out}\n\n\
         | application | bounds of what is felt | of the link |\n| --- | --- | --- |\n",
        arguments.guest_version,
        measured.len(),
        arguments.seeds,
        SECONDS[1],
        SECONDS[0],
    );
    let of = |[inside, all]: [usize; 2]| format!("{inside} of {all}");
    for (index, [felt, link]) in shares {
        let name = APPLICATIONS[index].name;
        let _ = writeln!(text, "| {name} | {} | {} |", of(felt), of(link));
    }
    text.push('\n');
    text
}

/// The table with a row for each figure that a user notices: the means of both worlds behind each queue.
fn means_of_applications(measured: &[(Point, PointRuns)]) -> String {
    let mut text = String::from("sim / virtual, means:\n\n| application | figure |");
    for (queue, _) in QUEUES {
        let _ = write!(text, " {queue} |");
    }
    text.push_str("\n| --- | --- |");
    text.push_str(&" --- |".repeat(QUEUES.len()));
    text.push('\n');
    for application in APPLICATIONS {
        let of_queue = |(queue, _): (&str, _)| {
            let is_it = |point: &Point| point.names() == [application.name, queue];
            let found = measured.iter().find(|(point, _)| is_it(point));
            found.map_or(Vec::new(), |(_, runs)| runs.differences())
        };
        let queues = QUEUES.map(of_queue);
        for figure in APP_FIGURES.iter().map(Figure::App) {
            let cells = queues.each_ref().map(|differences| {
                let one = differences.iter().find(|one| one.figure == figure);
                one.map_or("–".to_owned(), both)
            });
            if cells.iter().any(|cell| cell != "–") {
                let cells = cells.join(" | ");
                let _ = writeln!(
                    text,
                    "| {} | {} | {cells} |",
                    application.name,
                    figure.title()
                );
            }
        }
    }
    text.push('\n');
    text
}

/// Three digits of either mean.
fn both(one: &Difference) -> String {
    let [sim, other] = [one.sim.mean, one.other.mean].map(|mean| {
        let digits = digits(mean);
        format!("{mean:.digits$}")
    });
    format!("{sim} / {other}")
}

/// The generated part of the document.
pub(crate) fn part(
    measured: &[(Point, PointRuns)],
    live: &str,
    arguments: &Arguments,
    explanations: &Explanations,
) -> String {
    let mut text = summary(measured, arguments);
    text.push_str(&means_of_applications(measured));
    text.push_str("[applications.csv](data/applications.csv) has each figure of each point.\n\n");
    let all: Vec<_> = measured
        .iter()
        .flat_map(|(point, of_point)| sim_and_virtual::named(&point.case(), of_point))
        .collect();
    text.push_str(&misses::misses(&all, explanations));
    text.push('\n');
    text.push_str(live);
    text
}

/// Every point: those of `measured`, and the others as `sheet` has them, with rounded figures.
pub(crate) fn with_kept(
    measured: Vec<(Point, PointRuns)>,
    sheet: &str,
) -> Result<Vec<(Point, PointRuns)>, Error> {
    let mut kept: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for row in sheet::rows(sheet).into_iter().skip(1) {
        if let Some(id) = row.first() {
            kept.entry(id.clone()).or_default().push(row);
        }
    }
    let mut measured = measured.into_iter().peekable();
    let point = |point: Point| {
        if let Some(found) = measured.next_if(|(next, _)| *next == point) {
            return Ok(found);
        }
        let id = point.case().id;
        let rows = kept.get(&id).ok_or_else(|| Error::NoPoint {
            sheet: SHEET,
            point: id.clone(),
        })?;
        Ok((point, sim_and_virtual::read(rows)?))
    };
    points().into_iter().map(point).collect()
}

/// The name of the sheet.
pub(crate) const SHEET: &str = "applications.csv";

/// Each figure of each point.
pub(crate) fn sheet(measured: &[(Point, PointRuns)]) -> Sheet {
    let mut sheet = sim_and_virtual::sheet_of(SHEET, &["point", "seeds"]);
    for (point, of_point) in measured {
        for (id, one) in sim_and_virtual::named(&point.case(), of_point) {
            let point = vec![id, of_point.runs().to_string()];
            sheet.row(&[point, sim_and_virtual::cells(&one)].concat());
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quell_lab::World;
    use quell_measure::Estimate;

    use crate::validate::worlds::figures::Reference;

    use super::*;

    #[test]
    fn every_application_meets_every_queue_and_each_point_is_a_scenario() {
        let points = points();
        let ids: BTreeSet<String> = points.iter().map(|point| point.case().id).collect();
        let met = APPLICATIONS
            .iter()
            .map(|application| application.queues.len());
        assert_eq!(ids.len(), met.sum::<usize>());
        let names = QUEUES.map(|(name, _)| name);
        let mut queues = APPLICATIONS
            .iter()
            .flat_map(|application| application.queues);
        assert!(queues.all(|queue| names.contains(queue)));
        for point in points {
            let scenario = point.case().scenario(World::Virtual, 1);
            scenario.expect("a scenario");
        }
    }

    #[test]
    fn points_that_were_not_asked_for_are_those_of_the_sheet() {
        let rows = points().into_iter().skip(1).map(|point| {
            let id = point.case().id;
            format!(
                "{id},5,\"test, Mbit/s\",1.39,0.06,1.40,0.05,\n{id},5,rate ratio,1.00,,2.00,0.01,virtual\n"
            )
        });
        let sheet = format!(
            "point,seeds,figure,sim,sim_error,virtual,virtual_error,missed\n{}",
            rows.collect::<String>()
        );
        let first = || vec![(points()[0], PointRuns::default())];
        let all = with_kept(first(), &sheet).expect("points");
        assert_eq!(all.len(), points().len());
        assert!(all[0].1.differences().is_empty());
        assert_eq!(all[1].1.runs(), 5);
        let [goodput, ratio] = all[1].1.differences()[..] else {
            panic!("two figures");
        };
        assert_eq!(goodput.figure, Figure::TestGoodput);
        assert_eq!(goodput.sim.standard_error, Some(0.06));
        assert!(goodput.holds() && !ratio.holds());
        assert_eq!(ratio.sim.standard_error, None);
        // Written again they are what they were.
        let again = super::sheet(&all);
        assert_eq!(again.text(), sheet);
        // A verdict that the rounded figures do not give, and a point that is missing.
        let other = sheet.replace("0.05,\n", "0.05,virtual\n");
        assert!(with_kept(first(), &other).is_err());
        assert!(with_kept(Vec::new(), &sheet).is_err());
    }

    #[test]
    fn means_stand_side_by_side_and_what_was_not_run_has_no_row() {
        let one = Difference {
            figure: Figure::App(&APP_FIGURES[0]),
            reference: Reference::Virtual,
            sim: Estimate::new(&[204.9, 205.3]).expect("values"),
            other: Estimate::new(&[42.41]).expect("values"),
        };
        assert_eq!(both(&one), "205 / 42.4");
        let nothing = [(points()[0], PointRuns::default())];
        assert!(!means_of_applications(&nothing).contains("| items |"));
    }
}
