//! What runs came out with, as tables: links, queues, groups, applications, phases; and why their figures may mislead.
//!
//! One case is shown by itself, or several side by side: one scenario over several queues, or in several worlds.

mod applications;
mod felt;
mod group_figures;
mod headline;
mod links;
mod merge_warnings;
mod spread;

use std::path::Path;

use quell_measure::{Direction, Dist, Figures, GroupSummary, Phase, QueueSummary, Summary};

use quell_scenario::Scenario;

use crate::bottleneck::{self, Sending};
use crate::present::{Block, Cell, Role, Table};

use applications::Group;
use group_figures::{drop_ratio, each, mark_ratio, per_flow};
use merge_warnings::{Alike, Remark};

pub use felt::People;
pub(crate) use felt::{PEOPLE, felt_or_waits};
pub use headline::doubts;
pub use spread::{Form, Spread};

const MS: Form = Form::Plain(2);

/// The runs of a scenario, one for each seed.
#[derive(Debug)]
pub struct Case<'a> {
    /// Its name beside others, such as that of its queue; empty where it stands alone.
    pub label: &'a str,
    /// What ran; without it nobody is known to feel anything.
    pub scenario: Option<&'a Scenario>,
    /// What came out.
    pub runs: Vec<&'a Summary>,
    /// Why its link was idle, by [`idle`]; empty where it was not.
    pub idle: String,
}

impl<'a> Case<'a> {
    /// Figures of the runs that measured something: zeros would look like figures, and a warning says why there are none.
    pub(crate) fn measured(&self) -> Vec<&'a Figures> {
        let measured = self.runs.iter().filter(|summary| summary.has_measured());
        measured.map(|summary| &summary.figures).collect()
    }

    /// A phase of each run that has it.
    fn phases(&self, index: usize) -> impl Iterator<Item = &'a Phase> {
        let runs = self.runs.iter();
        runs.filter_map(move |summary| summary.phases.get(index))
    }
}

/// Figures of a stretch of time of a case.
struct Part<'a> {
    label: &'a str,
    scenario: Option<&'a Scenario>,
    idle: &'a str,
    all: Vec<&'a Figures>,
}

/// Why the link was idle in runs with their folders; empty where it was not.
pub fn idle<'a>(runs: impl Iterator<Item = (&'a Path, &'a Summary)>) -> String {
    let remarks = runs.filter_map(|(folder, summary)| {
        // Without its series a run is judged as a whole.
        let sending = bottleneck::may_be_idle(&summary.figures)
            .then(|| Sending::read(folder, summary).ok().flatten());
        let text = bottleneck::why_idle(summary, sending.flatten().as_ref())?;
        let of = String::new();
        Some(Remark { of, text })
    });
    let reasons: Vec<String> = merge_warnings::merged(remarks)
        .iter()
        .map(Alike::words)
        .collect();
    reasons.join("; ")
}

/// `coexistence: sim world, seeds 1, 2, 3, 60.0 s with 10.0 s of warm-up`
pub fn title(summaries: &[&Summary]) -> String {
    let Some(first) = summaries.first() else {
        return String::new();
    };
    let seeds: Vec<String> = summaries.iter().map(|run| run.seed.to_string()).collect();
    let seeds = match seeds.len() {
        1 => format!("seed {}", seeds[0]),
        many @ 9.. => format!("{many} seeds from {} to {}", seeds[0], seeds[many - 1]),
        _ => format!("seeds {}", seeds.join(", ")),
    };
    let early = summaries.iter().filter(|summary| summary.partial).count();
    let partial = match (early, summaries.len()) {
        (0, _) => String::new(),
        (1, 1) => ", ended early".to_owned(),
        (early, runs) => format!(", {early} of {runs} ended early"),
    };
    let longest = summaries.iter().map(|summary| summary.duration_s);
    format!(
        "{}: {} world, {seeds}, {:.1} s with {:.1} s of warm-up{partial}",
        first.scenario,
        first.world,
        longest.fold(0.0, f64::max),
        first.warmup_s
    )
}

/// Warnings, each with its result; those that differ only in their numbers become one.
pub fn warnings<'a>(warnings: impl Iterator<Item = (&'a str, &'a str)>) -> Block {
    let remarks = warnings.map(|(of, text)| Remark {
        of: of.to_owned(),
        text: text.to_owned(),
    });
    let all = merge_warnings::merged(remarks);
    Block::Warnings(all.iter().map(Alike::line).collect())
}

/// What cases came out with.
pub fn blocks(cases: &[Case<'_>], spread: &Spread) -> Vec<Block> {
    let whole: Vec<Part<'_>> = cases.iter().map(Part::whole).collect();
    let named = whole.iter().map(|part| (part.label, part.all.clone()));
    let most = cases.iter().map(|case| case.runs.len()).max();
    let lines = headline::lines(&named.collect::<Vec<_>>());
    let heading = spread.heading(most.unwrap_or(0));
    let mut blocks: Vec<Block> = lines.into_iter().chain(heading).map(Block::Text).collect();
    blocks.extend(figures(&whole, spread));
    let phases = cases.iter().flat_map(|case| &case.runs);
    let phases = phases.map(|summary| summary.phases.len()).max();
    blocks.extend((0..phases.unwrap_or(0)).filter_map(|index| phase(cases, index, spread)));
    blocks
}

/// Figures of one case with all that is known of its links, or of several beside each other.
fn figures(parts: &[Part<'_>], spread: &Spread) -> Vec<Block> {
    let mut blocks = match parts {
        [alone] if alone.label.is_empty() => {
            let mut blocks: Vec<Block> = links::lines(&alone.all, spread)
                .into_iter()
                .map(Block::Text)
                .collect();
            if !alone.idle.is_empty() {
                blocks.push(Block::Text(format!("link not full: {}", alone.idle)));
            }
            blocks.push(Block::Table(queues(parts, spread)));
            blocks.push(Block::Table(groups(parts, &ALONE, |_| true, spread)));
            blocks
        }
        _ => vec![
            Block::Table(groups(parts, &BESIDE, |_| true, spread)),
            Block::Table(queues(parts, spread)),
        ],
    };
    let groups = parts.iter().flat_map(|part| {
        let names = part.all.first().map_or(&[][..], |first| &first.groups);
        names.iter().enumerate().map(|(index, group)| Group {
            case: part.label,
            name: &group.name,
            runs: part.groups(index),
        })
    });
    let people = People::new(parts, false, spread);
    let groups: Vec<Group<'_>> = groups.collect();
    blocks.extend(applications::blocks(&groups, people.is_some(), spread));
    blocks.extend(people.into_iter().flat_map(People::blocks));
    blocks
}

/// The time between two changes: the effect of each queue on each group that had flows.
fn phase(cases: &[Case<'_>], index: usize, spread: &Spread) -> Option<Block> {
    let first = cases.iter().find_map(|case| case.phases(index).next())?;
    let parts: Vec<Part<'_>> = cases
        .iter()
        .map(|case| Part {
            label: case.label,
            scenario: case.scenario,
            idle: "",
            all: case.phases(index).map(|phase| &phase.figures).collect(),
        })
        .collect();
    let span = format!("from {:.1} s to {:.1} s", first.start_s, first.end_s);
    Some(match parts.as_slice() {
        [alone] if alone.label.is_empty() => Block::Section(span, figures(&parts, spread)),
        _ => {
            let counts = first.figures.groups.iter();
            let counts: Vec<String> = counts
                .map(|group| format!("{} {}", group.name, group.count))
                .collect();
            let table = groups(&parts, &BESIDE, |group| group.count > 0, spread);
            let heading = format!("{span}: {}", counts.join(", "));
            Block::Section(heading, vec![Block::Table(table)])
        }
    })
}

/// Adds a row of figures behind `labels`, and with `--range` their ranges below.
fn row(
    table: &mut Table,
    labels: &[&str],
    figures: &[(Form, Vec<f64>)],
    runs: usize,
    spread: &Spread,
) {
    let labelled = labels.iter().map(|label| Cell::from(*label));
    let cells = figures
        .iter()
        .map(|(form, values)| spread.cell(*form, runs, values).into());
    table.row(labelled.chain(cells));
    if spread.has_range() {
        let blank = labels.iter().map(|_| Cell::default());
        let ranges = figures
            .iter()
            .map(|(form, values)| Spread::range(*form, values).into());
        table.below(blank.chain(ranges));
    }
}

/// A figure of a queue: its head, its role in a table, its form, and where it stands in a summary.
type OfQueue = (&'static str, Role, Form, fn(&QueueSummary) -> Option<f64>);

const QUEUE: [OfQueue; 10] = [
    ("packets", Role::Figure, Form::Plain(0), |queue| {
        Some(queue.packets as f64)
    }),
    ("marked %", Role::Figure, Form::Percent(3), |queue| {
        Some(queue.mark_ratio)
    }),
    ("dropped %", Role::Figure, Form::Percent(3), |queue| {
        Some(queue.drop_ratio)
    }),
    ("mean ms", Role::Figure, MS, |queue| {
        delay(queue.delay_ms, |dist| dist.mean)
    }),
    ("P50 ms", Role::Extra(0), MS, |queue| {
        delay(queue.delay_ms, |dist| dist.p50)
    }),
    ("P90 ms", Role::Extra(2), MS, |queue| {
        delay(queue.delay_ms, |dist| dist.p90)
    }),
    ("P99 ms", Role::Figure, MS, |queue| {
        delay(queue.delay_ms, |dist| dist.p99)
    }),
    ("P99.9 ms", Role::Extra(3), MS, |queue| {
        delay(queue.delay_ms, |dist| dist.p999)
    }),
    ("max ms", Role::Extra(1), MS, |queue| {
        delay(queue.delay_ms, |dist| dist.max)
    }),
    ("backlog kB", Role::Extra(4), Form::Plain(1), |queue| {
        queue.backlog_bytes.map(|dist| dist.mean / 1e3)
    }),
];

fn delay(dist: Option<Dist>, which: fn(Dist) -> f64) -> Option<f64> {
    dist.map(which)
}

/// A row for each queue of both directions, and of several links. Beside other cases only where a group waits in more than one of them.
fn queues(parts: &[Part<'_>], spread: &Spread) -> Table {
    let is_alone = matches!(parts, [alone] if alone.label.is_empty());
    let inside = if is_alone { "queue" } else { "inside" };
    let labels = [("queue", Role::Label), (inside, Role::Label)];
    let columns = QUEUE.iter().map(|(head, role, ..)| (*head, *role));
    let caption = "Delay in the queues";
    let mut table = Table::new(labels.into_iter().chain(columns)).captioned(caption);
    for part in parts {
        let several =
            |figures: &&&Figures| figures.link.reverse.is_some() || !figures.links.is_empty();
        let Some(first) = part.all.first() else {
            continue;
        };
        if !is_alone && !part.all.iter().any(|figures| several(&figures)) {
            continue;
        }
        for (index, queue) in first.queues.iter().enumerate() {
            let found = part.all.iter().filter_map(|all| all.queues.get(index));
            let found: Vec<&QueueSummary> = found.collect();
            let values = QUEUE.iter().map(|(_, _, form, of)| {
                let values = found.iter().filter_map(|queue| of(queue));
                (*form, values.collect())
            });
            let values: Vec<(Form, Vec<f64>)> = values.collect();
            let name = queue_name(queue, &first.queues);
            row(
                &mut table,
                &[part.label, &name],
                &values,
                part.all.len(),
                spread,
            );
        }
    }
    table
}

/// What a queue is called beside these others: with its direction where that is the reverse one, with its link where there are
/// several.
pub(crate) fn queue_name(queue: &QueueSummary, all: &[QueueSummary]) -> String {
    let mut name = queue.name.clone();
    if all.iter().any(|other| other.hop != queue.hop) {
        name = format!("{} {name}", queue.hop);
    }
    match queue.direction {
        Direction::Reverse => name + " (reverse)",
        Direction::Forward => name,
    }
}

/// A figure of a group: its head, its form, and where it stands in a summary.
type OfGroup = (&'static str, Form, fn(&GroupSummary) -> Option<f64>);

/// Figures of a group, by their heads.
const GROUP: [OfGroup; 13] = [
    ("flows", Form::Plain(0), |group| Some(group.count as f64)),
    ("per flow", Form::Rate, per_flow),
    ("Jain", Form::Plain(3), |group| group.jain),
    ("mean ms", MS, |group| {
        delay(group.delay_ms, |dist| dist.mean)
    }),
    ("P50 ms", MS, |group| delay(group.delay_ms, |dist| dist.p50)),
    ("P90 ms", MS, |group| delay(group.delay_ms, |dist| dist.p90)),
    ("P99 ms", MS, |group| delay(group.delay_ms, |dist| dist.p99)),
    ("P99.9 ms", MS, |group| {
        delay(group.delay_ms, |dist| dist.p999)
    }),
    ("max ms", MS, |group| delay(group.delay_ms, |dist| dist.max)),
    ("RTT ms", MS, |group| delay(group.rtt_ms, |dist| dist.mean)),
    ("marked %", Form::Percent(3), |group| {
        Some(mark_ratio(group))
    }),
    ("dropped %", Form::Percent(3), |group| {
        Some(drop_ratio(group))
    }),
    ("resent", Form::Plain(0), |group| {
        group.retransmitted.map(|segments| segments as f64)
    }),
];

/// What the table of a case alone has of them.
const ALONE: [(&str, Role); 12] = [
    ("flows", Role::Figure),
    ("per flow", Role::Figure),
    ("Jain", Role::Figure),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(0)),
    ("P99 ms", Role::Figure),
    ("P99.9 ms", Role::Extra(5)),
    ("max ms", Role::Extra(1)),
    ("RTT ms", Role::Figure),
    ("marked %", Role::Extra(2)),
    ("dropped %", Role::Extra(3)),
    ("resent", Role::Extra(4)),
];

/// What the table of several cases has of them.
const BESIDE: [(&str, Role); 12] = [
    ("flows", Role::Extra(6)),
    ("per flow", Role::Figure),
    ("Jain", Role::Extra(3)),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(1)),
    ("P90 ms", Role::Extra(4)),
    ("P99 ms", Role::Figure),
    ("P99.9 ms", Role::Extra(7)),
    ("max ms", Role::Extra(5)),
    ("marked %", Role::Figure),
    ("dropped %", Role::Figure),
    ("RTT ms", Role::Extra(2)),
];

/// The effect of each queue on each group, and beside other cases the use of the link.
fn groups(
    parts: &[Part<'_>],
    shown: &[(&'static str, Role)],
    is_wanted: fn(&GroupSummary) -> bool,
    spread: &Spread,
) -> Table {
    let is_alone = matches!(parts, [alone] if alone.label.is_empty());
    let several = !is_alone && parts.iter().any(|part| part.all.len() > 1);
    // The control of a case alone; the number of runs, if it may be above one.
    let own = match (is_alone, several) {
        (true, _) => Some(("control", Role::Word)),
        (false, true) => Some(("n", Role::Figure)),
        (false, false) => None,
    };
    let labels = [("queue", Role::Label), ("group", Role::Label)];
    let columns = labels.into_iter().chain(own).chain(shown.iter().copied());
    let mut table = Table::new(columns).captioned("Groups of flows");
    for part in parts {
        let Some(first) = part.all.first() else {
            if !is_alone {
                table.note(format!("{}: nothing was measured", part.label));
            }
            continue;
        };
        for (index, group) in first.groups.iter().enumerate() {
            if !is_wanted(group) {
                continue;
            }
            let found = part.groups(index);
            let values = shown.iter().filter_map(|(head, _)| {
                let (_, form, of) = GROUP.iter().find(|(name, ..)| name == head)?;
                Some((*form, each(&found, *of)))
            });
            let values: Vec<(Form, Vec<f64>)> = values.collect();
            let n = found.len().to_string();
            let control = group.congestion_control.as_deref().unwrap_or("-");
            let own = own.map(|(head, _)| if head == "n" { n.as_str() } else { control });
            let labels = [part.label, &group.name].into_iter().chain(own);
            row(
                &mut table,
                &labels.collect::<Vec<_>>(),
                &values,
                found.len(),
                spread,
            );
        }
        if !is_alone {
            table.note(links::used(&part.all, part.idle, spread));
        }
    }
    table
}

impl<'a> Part<'a> {
    /// All of a case.
    fn whole(case: &'a Case<'a>) -> Self {
        Self {
            label: case.label,
            scenario: case.scenario,
            idle: &case.idle,
            all: case.measured(),
        }
    }

    /// A group in each run.
    fn groups(&self, index: usize) -> Vec<&'a GroupSummary> {
        let all = self.all.iter();
        all.filter_map(|figures| figures.groups.get(index))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::terminal::Page;

    fn value(seed: u64) -> serde_json::Value {
        let dist = serde_json::json!({ "mean": 12345.678, "p1": 0.0, "p25": 0.0, "p50": 0.0, "p75": 0.0, "p90": 0.0,
            "p99": 98765.4, "p999": 0.0, "max": 0.0 });
        let mut completion = dist.clone();
        completion["min"] = 0.0.into();
        let name = "a-name-that-is-as-long-as-no-table-can-hold";
        serde_json::json!({
            "schema": 1, "scenario": name, "world": "live", "seed": seed, "duration_s": 86400.0, "warmup_s": 10.0,
            "partial": true, "warnings": ["words ".repeat(40)],
            "link": { "rate_bps": 1_000_000_000_000_u64, "utilisation": 0.999, "lost_outside": 12345678 },
            "queues": [{ "name": "classic", "direction": "reverse", "packets": 12345678901_u64, "bytes": 0, "marked": 0,
                "dropped": 0, "mark_ratio": 1.0, "drop_ratio": 0.5, "marks": {}, "drops": {}, "delay_ms": dist,
                "backlog_bytes": null }],
            "groups": [{ "name": name, "count": 10000, "congestion_control": "westwood-plus", "goodput_bps": [999.9e6],
                "jain": 1.0, "packets": 0, "marked": 0, "dropped": 0, "retransmitted": 0,
                "delay_ms": null, "rtt_ms": dist, "app": { "kind": "transfer", "completed": 123456789_u64,
                "bytes": 0, "unfinished": 10000, "completion_ms": completion, "goodput_bps": null } }],
            "jain": null, "phases": [],
        })
    }

    #[test]
    fn a_queue_is_named_by_its_link_where_there_are_several() {
        let mut of_two = value(1);
        let mut second = of_two["queues"][0].clone();
        second["direction"] = "forward".into();
        let names = |value: &serde_json::Value| -> Vec<String> {
            let read: Summary = serde_json::from_value(value.clone()).unwrap();
            let queues = &read.figures.queues;
            queues
                .iter()
                .map(|queue| queue_name(queue, queues))
                .collect()
        };
        of_two["queues"].as_array_mut().unwrap().push(second);
        assert_eq!(names(&of_two), ["classic (reverse)", "classic"]);
        of_two["queues"][0]["hop"] = "wifi".into();
        of_two["queues"][1]["hop"] = "access".into();
        assert_eq!(names(&of_two), ["wifi classic (reverse)", "access classic"]);
    }

    #[test]
    fn every_head_of_a_table_is_that_of_a_figure() {
        for (head, _) in ALONE.iter().chain(&BESIDE) {
            assert!(GROUP.iter().any(|(name, ..)| name == head), "{head}");
        }
    }

    #[test]
    fn fits_every_page_even_with_long_names_and_large_numbers() {
        let one: Summary = serde_json::from_value(value(u64::MAX)).unwrap();
        let two: Summary = serde_json::from_value(value(1)).unwrap();
        for columns in [40, 60, 80, 120, 200] {
            for summaries in [&[&one][..], &[&one, &two]] {
                let mut page = Page::new(columns);
                let spread = Spread::new(None, true);
                let runs = summaries.to_vec();
                let case = Case {
                    label: "",
                    scenario: None,
                    runs,
                    idle: String::new(),
                };
                page.paragraph(0, &title(summaries));
                page.blocks(&blocks(&[case], &spread));
                let all = summaries.iter().flat_map(|summary| &summary.warnings);
                page.blocks(&[warnings(all.map(|text| ("", text.as_str())))]);
                let text = page.text();
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                for line in text.lines() {
                    let fits = line.chars().count() <= columns;
                    assert!(fits || !line.contains(' '), "{columns}: {line}\n{text}");
                }
                for part in [
                    "verse)",
                    "100.000",
                    "999.90",
                    "ended early",
                    "123456789",
                    "12345.7",
                    "warning: words",
                ] {
                    assert!(flat.contains(part), "{part} in {text}");
                }
            }
        }
    }
}
