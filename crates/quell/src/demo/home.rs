//! `quell demo home`: what each person of a household feels behind three queues.

use quell_experiment::shipped;
use quell_lab::results::present::{Block, Role, Table};
use quell_lab::results::summary::{Form, Spread, differ};
use quell_lab::scenario::{Override, Scenario};
use quell_lab::{Outcome, World};
use quell_measure::{AppFigure, AppTimes, Figures, GroupSummary};

use crate::compare::side_by_side::{self, Case, Place};
use crate::demo::arguments::Demo;
use crate::demo::worlds::{place, seeds, tcp};
use crate::failure::Failure;
use crate::output::outcomes;
use crate::output::page::Page;

/// The household, which the binary carries.
const SCENARIO: (&str, &str) = (
    "scenarios/home/evening.toml",
    shipped::text("home/evening.toml"),
);
/// Today's line with a fifth of a second of buffer, and its remedies; in both directions.
const QUEUES: &[(&str, &str)] = &[
    ("drop-tail", "fifo:limit=200ms"),
    ("fq_codel", "fq_codel"),
    ("dualpi2", "dualpi2"),
];
/// How long one run takes in real time, unless another duration is asked for: the buffer of a film, and some pages.
const LIVE_DURATION: &str = "70s";
/// Seeds in the simulator: what one evening brings over drop-tail is mostly chance.
const EVENINGS: u64 = 5;
/// Behind a figure that does not differ from the one over drop-tail.
const ALIKE: &str = " ~";

/// A figure that somebody feels.
struct Feeling {
    /// The group of the person.
    group: &'static str,
    /// What they feel.
    what: &'static str,
    figure: Figure,
    digits: usize,
}

/// Where the figure is found.
enum Figure {
    /// Of what the application reports: its key, and how many of it make one of the unit shown.
    App(&'static str, f64),
    /// The same of a distribution.
    Part(&'static str, fn(&AppTimes) -> Option<f64>, f64),
    /// Goodput of all flows of the group, Mbit/s.
    Goodput,
}

const MS_PER_S: f64 = 1_000.0;

const FEELINGS: &[Feeling] = &[
    Feeling {
        group: "browser",
        what: "a page loads in, s",
        figure: Figure::Part("page_load_ms", |times| Some(times.p50), MS_PER_S),
        digits: 2,
    },
    Feeling {
        group: "browser",
        what: "one page in ten takes over, s",
        figure: Figure::Part("page_load_ms", |times| Some(times.p90), MS_PER_S),
        digits: 2,
    },
    Feeling {
        group: "film",
        what: "picture, Mbit/s",
        figure: Figure::App("bitrate_bps", 1e6),
        digits: 1,
    },
    Feeling {
        group: "film",
        what: "stops, times",
        figure: Figure::App("stalls", 1.0),
        digits: 0,
    },
    Feeling {
        group: "call",
        what: "words arrive after, ms",
        figure: Figure::Part("mouth_to_ear_ms", |times| Some(times.mean), 1.0),
        digits: 0,
    },
    Feeling {
        group: "call",
        what: "hears, MOS of 1 to 4.5",
        figure: Figure::App("mos", 1.0),
        digits: 2,
    },
    Feeling {
        group: "call",
        what: "is heard, MOS of 1 to 4.5",
        figure: Figure::App("back_mos", 1.0),
        digits: 2,
    },
    Feeling {
        group: "game",
        what: "answers a command after, ms",
        figure: Figure::Part("command_to_state_ms", |times| Some(times.p50), 1.0),
        digits: 0,
    },
    Feeling {
        group: "game",
        what: "one command in 100 over, ms",
        figure: Figure::Part("command_to_state_ms", |times| times.p99, 1.0),
        digits: 0,
    },
    Feeling {
        group: "downloads",
        what: "together, Mbit/s",
        figure: Figure::Goodput,
        digits: 1,
    },
    Feeling {
        group: "backup",
        what: "Mbit/s",
        figure: Figure::Goodput,
        digits: 1,
    },
];

impl Feeling {
    /// Of each run that has it.
    fn of_all(&self, outcome: &Outcome) -> Vec<f64> {
        let runs = outcome.runs.iter();
        runs.filter_map(|run| self.of(&run.summary.figures))
            .collect()
    }

    fn of(&self, figures: &Figures) -> Option<f64> {
        let group = figures
            .groups
            .iter()
            .find(|group| group.name == self.group)?;
        match self.figure {
            Figure::App(key, unit) => match reported(group, key)? {
                AppFigure::Count(count) => Some(*count as f64 / unit),
                AppFigure::Number(number) => Some(number / unit),
                AppFigure::Times(_) | AppFigure::Nothing => None,
            },
            Figure::Part(key, part, unit) => match reported(group, key)? {
                AppFigure::Times(times) => Some(part(times)? / unit),
                _ => None,
            },
            Figure::Goodput => Some(group.goodput_bps.iter().sum::<f64>() / 1e6),
        }
    }
}

fn reported<'a>(group: &'a GroupSummary, key: &str) -> Option<&'a AppFigure> {
    group.app.as_ref()?.figures.get(key)
}

/// Runs the household behind each queue.
pub(crate) fn home(arguments: &Demo, page: &mut Page) -> Result<(), Failure> {
    let world = World::from(arguments.world);
    let mut cases = Vec::new();
    for &(label, queue) in QUEUES {
        let mut overrides = Override::queue(queue).map_err(Failure::failed)?;
        overrides.extend(Override::reverse_queue(queue).map_err(Failure::failed)?);
        let of_world = (world == World::Live).then_some(LIVE_DURATION);
        let duration = arguments.duration.as_deref().or(of_world);
        overrides.extend(duration.map(Override::duration));
        overrides.push(seeds(arguments.seed, EVENINGS, world));
        let mut loaded = Scenario::load(SCENARIO.0, SCENARIO.1, &overrides, Some(world))
            .map_err(Failure::input)?;
        // That a queue without L4S has no use for the mark of the call and the game is the point.
        loaded.warnings.clear();
        cases.push(Case {
            label: label.to_owned(),
            loaded,
            place: Place::new(world),
        });
    }
    arguments.reported.check()?;
    let ran = side_by_side::run(&cases, &arguments.jobs, arguments.out.as_ref())?;
    if arguments.json {
        side_by_side::json(&ran.columns, None, page)?;
        arguments.reported.make(ran.outcomes(), None)?;
        return ran.check(&arguments.strict);
    }
    page.paragraph(0, &introduction(world));
    page.line("");
    table(&ran.columns, page);
    page.line("");
    for (queue, outcome) in &ran.columns {
        if !outcome.runs.is_empty() {
            page.paragraph(0, &format!("{queue}: {}", in_words(outcome)));
        }
    }
    page.line("");
    page.paragraph(0, CONCLUSION);
    page.line(format_args!("  quell run {}{}", SCENARIO.0, place(world)));
    arguments.reported.make(ran.outcomes(), Some(page))?;
    ran.check(&arguments.strict)
}

fn introduction(world: World) -> String {
    format!(
        "An evening at home: a line of 100 Mbit/s down and 20 Mbit/s up, base RTT 20 ms, {}. Two downloads and a backup \
         run all the time. Beside them somebody reads the web, somebody watches a film, somebody calls and somebody plays. \
         First over drop-tail with 200 ms of buffer, as many lines have it, then over FQ-CoDel, which gives each flow a queue of its \
         own, and over DualPI2, which has a queue for those who send evenly.",
        tcp(world)
    )
}

/// A row for each feeling, a column for each queue; below, what the numbers and marks are.
fn table(columns: &[outcomes::Column<'_>], page: &mut Page) {
    let mut heads = vec![("who", Role::Label), ("feels", Role::Word)];
    let shown = QUEUES
        .iter()
        .filter(|(label, _)| columns.iter().any(|(ran, _)| ran == label));
    heads.extend(shown.map(|(label, _)| (*label, Role::Figure)));
    let mut table = Table::new(heads);
    let spread = Spread::new(None, false);
    let mut is_marked = false;
    for feeling in FEELINGS {
        let mut cells = vec![feeling.group.to_owned(), feeling.what.to_owned()];
        let all: Vec<Vec<f64>> = columns
            .iter()
            .map(|(_, outcome)| feeling.of_all(outcome))
            .collect();
        for (index, values) in all.iter().enumerate() {
            let runs = columns[index].1.runs.len();
            let mut cell = spread.cell(Form::Plain(feeling.digits), runs, values);
            if index > 0 && differ(&all[0], values) == Some(false) {
                cell += ALIKE;
                is_marked = true;
            }
            cells.push(cell);
        }
        table.row(cells);
    }
    page.blocks(&[Block::Table(table)]);
    let most = columns.iter().map(|(_, outcome)| outcome.runs.len()).max();
    if let Some(heading) = spread.heading(most.unwrap_or(0)) {
        page.line("");
        page.paragraph(0, &heading);
    }
    if is_marked {
        page.paragraph(0, MARKED);
    }
    if let Some(note) = spread.footnote() {
        page.paragraph(0, note);
    }
}

/// What a family would say, where its evenings agree.
fn in_words(outcome: &Outcome) -> String {
    let values = |group: &str, nth: usize| -> Vec<f64> {
        let mut of_group = FEELINGS.iter().filter(|feeling| feeling.group == group);
        let feeling = of_group.nth(nth);
        feeling.map_or_else(Vec::new, |feeling| feeling.of_all(outcome))
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut sentences = Vec::new();
    let pages = values("browser", 0);
    if !pages.is_empty() {
        sentences.push(format!("a page takes {:.1} s", mean(&pages)));
    }
    sentences.extend(film(&values("film", 1)));
    let (here, there) = (values("call", 1), values("call", 2));
    let mut worse: Vec<f64> = here.iter().zip(&there).map(|(a, b)| a.min(*b)).collect();
    worse.sort_by(f64::total_cmp);
    if let (Some(&least), Some(&most)) = (worse.first(), worse.last()) {
        let (bad, good) = (satisfaction(least), satisfaction(most));
        sentences.push(match bad == good {
            true => format!("on the phone {bad}"),
            false => format!("on the phone {good} in one evening, and {bad} in another"),
        });
    }
    let answers = values("game", 1);
    if !answers.is_empty() {
        let answer = mean(&answers);
        sentences.push(format!("the game answers within {answer:.0} ms"));
    }
    sentences.join("; ") + "."
}

/// How often the film stopped in each evening.
fn film(stops: &[f64]) -> Option<String> {
    let (evenings, stopped) = (
        stops.len(),
        stops.iter().filter(|stops| **stops > 0.0).count(),
    );
    Some(match (stopped, stops) {
        (_, []) => return None,
        (0, _) => "the film never stops".to_owned(),
        (1, [stops]) if *stops < 2.0 => "the film stops once".to_owned(),
        (1, [stops]) => format!("the film stops {stops:.0} times"),
        (stopped, _) if stopped == evenings => "the film stops every evening".to_owned(),
        (stopped, _) => format!("the film stops in {stopped} of {evenings} evenings"),
    })
}

/// What users of a call think, by its MOS (ITU-T G.107 annex B).
fn satisfaction(mos: f64) -> &'static str {
    match mos {
        mos if mos >= 4.34 => "everybody is very satisfied",
        mos if mos >= 4.03 => "everybody is satisfied",
        mos if mos >= 3.60 => "some are dissatisfied",
        mos if mos >= 3.10 => "many are dissatisfied",
        mos if mos >= 2.58 => "nearly all are dissatisfied",
        _ => "talking is hardly possible",
    }
}

const MARKED: &str = "~: no clear difference from drop-tail; it is less than two standard errors, so another set of evenings may turn it \
    around.";
const CONCLUSION: &str = "The flows and the line are the same each time; only the queue differs, in both directions. A page is one \
    of 71 objects (the median of 2024). MOS is the opinion of callers by ITU-T G.107, and its words are those of its annex B. An evening \
    is a seed, and evenings differ most over drop-tail (--seed 1 shows one). Every figure behind one queue:";
