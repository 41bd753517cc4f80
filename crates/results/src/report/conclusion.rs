//! The answer of a report in three to six sentences, made by rule: what was asked, what won for whom, what it cost, which direction is
//! narrow, and what limits trust.
//!
//! A case is the best for somebody only where [`differ`] says that another one is worse, the printed figures differ too, and no other
//! figure of that person contradicts it. With one seed nothing can be judged, and figures stand without a winner.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use quell_measure::{Figures, QueueSummary, differ};
use quell_scenario::felt::{BULK, Better, Felt, sentence, upload_is_narrow};
use quell_scenario::{Direction, Scenario};

use crate::plot::queue_text;
use crate::present::Block;
use crate::summary::{Case, Form, Spread, felt_or_waits, queue_name, warnings};

/// The most names in a list.
const NAMED: usize = 4;
/// What [`Felt::application`] is of a figure of the line.
const LINE: &str = "line";

/// A case with something measured: what people feel in it, and figures of its line.
struct Side<'a> {
    case: &'a Case<'a>,
    figures: Vec<&'a Figures>,
    rows: Vec<Felt>,
}

/// A figure in every case.
struct Row<'a> {
    felt: &'a Felt,
    values: Vec<&'a [f64]>,
}

/// Three to six sentences about cases; `remarks` are their warnings, each with its case.
pub(super) fn sentences(cases: &[Case<'_>], remarks: &[(&str, &str)]) -> Vec<String> {
    let sides = cases.iter().map(Side::new);
    let sides: Vec<Side<'_>> = sides.filter(|side| !side.figures.is_empty()).collect();
    let mut said = vec![asked(cases)];
    match &sides[..] {
        [] => said.push("Nothing was measured.".to_owned()),
        [alone] => said.extend(single(alone)),
        several => said.extend(compared(several)),
    }
    said.extend(narrow(&sides));
    said.push(trust(cases, remarks));
    said
}

/// What ran, on which line, with which traffic: what all cases share.
fn asked(cases: &[Case<'_>]) -> String {
    let of_each = |of: fn(&Scenario) -> String| -> BTreeSet<String> {
        let scenarios = cases.iter().filter_map(|case| case.scenario);
        scenarios.map(of).collect()
    };
    let common = |of: fn(&Scenario) -> String, word: &str| {
        let all = of_each(of);
        let text = all.first().filter(|_| all.len() == 1);
        text.map_or_else(String::new, |text| format!(" {word} {text}"))
    };
    let queues = of_each(|scenario| {
        let links = scenario.links().iter();
        let all = links.map(|link| queue_text(&link.forward.queue));
        all.collect::<Vec<_>>().join(" → ")
    });
    let labels: Vec<&str> = cases.iter().map(|case| case.label).collect();
    let what = match (cases.len(), queues.first()) {
        (1, Some(queue)) => queue.clone(),
        (1, None) => "one result".to_owned(),
        (many, _) if queues.len() == many => format!("{many} queues ({})", listed(&labels)),
        (many, _) => format!("{many} results ({})", listed(&labels)),
    };
    let (line, traffic) = (common(line, "on"), common(traffic, "for"));
    let runs = cases.iter().flat_map(|case| &case.runs);
    let measured = span(runs.map(|run| run.duration_s - run.warmup_s), 0);
    let seeds = match span(cases.iter().map(|case| case.runs.len() as f64), 0).as_str() {
        "1" => "one seed".to_owned(),
        many => format!("{many} seeds"),
    };
    format!("Asked: {what}{line}{traffic}; {seeds}, {measured} s measured.")
}

/// `a line of 100 Mbit/s down, 20 Mbit/s up`
fn line(scenario: &Scenario) -> String {
    let rate = |rate: quell_units::Rate| Form::Rate.text(rate.as_bps() as f64).replace(".00 ", " ");
    match scenario.links() {
        [link] if link.forward.course.is_some() => "a line whose rate follows a trace".to_owned(),
        [link] if link.forward.rate.is_unlimited() => "a line without a limit".to_owned(),
        [link] if link.reverse.rate.is_unlimited() => {
            format!("a line of {}", rate(link.forward.rate))
        }
        [link] => {
            let [down, up] = [&link.forward, &link.reverse].map(|side| rate(side.rate));
            format!("a line of {down} down, {up} up")
        }
        many => format!("{} links", many.len()),
    }
}

/// `downloads (2 bulk), backup (bulk, up), film (has)`
fn traffic(scenario: &Scenario) -> String {
    let groups = scenario.groups.iter().map(|group| {
        let flows = match group.count {
            1 => group.app.config().kind().to_owned(),
            many => format!("{many} {}", group.app.config().kind()),
        };
        let is_up = group.direction == Direction::Reverse;
        format!(
            "{} ({flows}{})",
            group.name,
            if is_up { ", up" } else { "" }
        )
    });
    listed(&groups.collect::<Vec<_>>())
}

/// What people say of the only case, or how long packets wait in its queues; and what was dropped.
fn single(side: &Side<'_>) -> Vec<String> {
    let mut words = sentence(&side.rows, &side.figures);
    if words.is_empty() {
        let queues = side.figures[0].queues.iter().enumerate();
        let waits = queues.filter_map(|(index, queue)| {
            let of_runs = side
                .figures
                .iter()
                .map(|figures| figures.queues.get(index)?.delay_ms);
            let means: Option<Vec<f64>> = of_runs.map(|delay| Some(delay?.mean)).collect();
            let name = queue_name(queue, &side.figures[0].queues);
            Some(format!("{} ms ({name})", number(&means?, 2)))
        });
        words = match &waits.collect::<Vec<_>>()[..] {
            [] => "no packet waited".to_owned(),
            waits => format!("on average a packet waits {}", listed(waits)),
        };
    }
    let dropped = side.rows.iter().rfind(|row| row.application == LINE);
    let dropped = dropped.map(|row| said_of(row, &row.values));
    let said = [words].into_iter().chain(dropped);
    said.map(|text| format!("{}.", capital(&text))).collect()
}

/// What won for whom, and what it cost.
fn compared(sides: &[Side<'_>]) -> Vec<String> {
    let rows = rows(sides);
    if sides.iter().any(|side| side.figures.len() < 2) {
        let people = people(&rows).into_iter().map(|of_one| of_one[0]);
        let spans = people.map(|row| format!("{}: {}", row.felt.who, row.span(sides)));
        let spans: Vec<String> = spans.collect();
        let spans = (!spans.is_empty()).then(|| format!("{}.", capital(&listed(&spans))));
        let why = "With one seed no difference can be judged: --set run.seeds=[1,2,3] shows whether it is more than chance.";
        return spans.into_iter().chain([why.to_owned()]).collect();
    }
    let label = |index: usize| sides[index].case.label;
    let (mut alike, mut mixed) = (Vec::new(), Vec::new());
    let mut wins: Vec<(usize, Vec<String>)> = Vec::new();
    for of_one in people(&rows) {
        let who = of_one[0].felt.who.as_str();
        let Some((row, best)) = best_of(&of_one, sides.len()) else {
            alike.push(who);
            continue;
        };
        let Some((&first, rest)) = best.split_first() else {
            mixed.push(who);
            continue;
        };
        let rest: Vec<&str> = rest.iter().map(|&index| label(index)).collect();
        let rest = match rest.is_empty() {
            true => String::new(),
            false => format!("; {} not clearly behind", listed(&rest)),
        };
        let text = format!("{who} ({}{rest})", row.beside(sides, first));
        match wins.iter_mut().find(|(winner, _)| *winner == first) {
            Some((_, people)) => people.push(text),
            None => wins.push((first, vec![text])),
        }
    }
    wins.sort_by_key(|(_, people)| Reverse(people.len()));
    let best = wins
        .iter()
        .map(|(winner, people)| format!("{} is best for {}", label(*winner), listed(people)));
    let best: Vec<String> = best.collect();
    let others = [
        ("there is no clear difference for", alike),
        ("it depends on the figure for", mixed),
    ];
    let others = others.iter().filter(|(_, people)| !people.is_empty());
    let others = others.map(|(what, people)| format!("{what} {}", listed(people)));
    let others = capital(&others.collect::<Vec<_>>().join("; "));
    let said = [best.join("; "), others];
    let said = said.iter().filter(|text| !text.is_empty());
    let mut said: Vec<String> = said.map(|text| format!("{text}.")).collect();
    said.extend(wins.first().map(|(winner, _)| cost(sides, &rows, *winner)));
    said
}

/// The figures that every case has in every run.
fn rows<'a>(sides: &'a [Side<'a>]) -> Vec<Row<'a>> {
    let rows = sides[0].rows.iter().filter_map(|felt| {
        let values = sides.iter().map(|side| {
            let mut found = side.rows.iter();
            let found = found.find(|row| (&row.who, &row.what) == (&felt.who, &felt.what))?;
            (found.values.len() == side.figures.len()).then_some(&found.values[..])
        });
        let values = values.collect::<Option<_>>()?;
        Some(Row { felt, values })
    });
    rows.collect()
}

/// The figures of each person.
fn people<'a, 'b>(rows: &'b [Row<'a>]) -> Vec<Vec<&'b Row<'a>>> {
    let people: Vec<&Row<'_>> = rows.iter().filter(|row| is_person(row.felt)).collect();
    let of_each = people.chunk_by(|one, next| one.felt.who == next.felt.who);
    of_each.map(<[_]>::to_vec).collect()
}

fn is_person(row: &Felt) -> bool {
    ![BULK, LINE].contains(&row.application)
}

/// The cases that are clearly behind another one in no figure of somebody, and the first figure that is clear. `None` where none is.
fn best_of<'a, 'b>(all: &[&'b Row<'a>], cases: usize) -> Option<(&'b Row<'a>, Vec<usize>)> {
    let best = all.iter().map(|row| (*row, row.best()));
    let mut clear = best.filter(|(_, best)| best.len() < cases);
    let (first, mut best) = clear.next()?;
    for (_, other) in clear {
        best.retain(|index| other.contains(index));
    }
    Some((first, best))
}

impl Row<'_> {
    /// Whether `one` is clearly the better case, also as printed.
    fn is_better(&self, one: usize, other: usize) -> bool {
        let values = [one, other].map(|index| self.values[index]);
        let [a, b] = values.map(mean);
        let is_better = match self.felt.better {
            Better::Higher => a > b,
            Better::Lower => a < b,
        };
        let digits = self.felt.digits;
        is_better
            && differ(values[0], values[1]) == Some(true)
            && format!("{a:.digits$}") != format!("{b:.digits$}")
    }

    /// The cases from the best mean to the worst.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| {
            let order = mean(self.values[a]).total_cmp(&mean(self.values[b]));
            match self.felt.better {
                Better::Higher => order.reverse(),
                Better::Lower => order,
            }
        });
        order
    }

    /// The first of [`Row::order`] that is clearly better than `one`.
    fn ahead(&self, one: usize) -> Option<usize> {
        let mut order = self.order().into_iter();
        order.find(|&other| self.is_better(other, one))
    }

    /// The cases that are not clearly behind another one.
    fn best(&self) -> Vec<usize> {
        let mut order = self.order();
        order.retain(|&one| self.ahead(one).is_none());
        order
    }

    /// `0.52 ± 0.01 s with pie`
    fn of(&self, sides: &[Side<'_>], index: usize) -> String {
        let text = value(self.felt, self.values[index]);
        format!("{text} with {}", sides[index].case.label)
    }

    /// `a page loads in 0.52 ± 0.01 s, in 1.43 ± 0.05 s with fifo`: the last case that is clearly behind.
    fn beside(&self, sides: &[Side<'_>], best: usize) -> String {
        let mut order = self.order().into_iter().rev();
        let behind = order.find(|&other| self.is_better(best, other));
        let behind = behind.map(|other| format!(", {}", self.of(sides, other)));
        let text = value(self.felt, self.values[best]);
        format!("{} {text}{}", self.felt.what, behind.unwrap_or_default())
    }

    /// `a page loads in 0.52 s with pie to 1.43 s with fifo`
    fn span(&self, sides: &[Side<'_>]) -> String {
        let order = self.order();
        let [first, last] = [order[0], order[order.len() - 1]].map(|index| self.of(sides, index));
        format!("{} {first} to {last}", self.felt.what)
    }
}

/// Where the winner is clearly behind another case: rates of bulk data, use of the line, drops.
fn cost(sides: &[Side<'_>], rows: &[Row<'_>], winner: usize) -> String {
    let costs = rows.iter().filter(|row| !is_person(row.felt));
    let costs = costs.filter_map(|row| {
        let ahead = row.ahead(winner)?;
        let own = said_of(row.felt, row.values[winner]);
        Some(format!("{own} ({})", row.of(sides, ahead)))
    });
    let costs: Vec<String> = costs.collect();
    let label = sides[winner].case.label;
    match costs.is_empty() {
        true => format!(
            "{label} costs nothing that is clear: no bulk rate, use of the line or share of drops is clearly worse than with another."
        ),
        false => format!("What {label} costs: {}.", costs.join("; ")),
    }
}

impl<'a> Side<'a> {
    fn new(case: &'a Case<'a>) -> Self {
        let figures = case.measured();
        let rows = case
            .scenario
            .map(|scenario| felt_or_waits(&figures, scenario));
        let mut side = Self {
            case,
            figures,
            rows: rows.unwrap_or_default(),
        };
        let sum = |figures: &Figures, of: fn(&QueueSummary) -> u64| {
            figures.queues.iter().map(of).sum::<u64>() as f64
        };
        let used = side.each(|figures| {
            let links = figures.links.iter().map(|link| link.utilisation);
            links.fold(figures.link.utilisation, f64::max) * 100.0
        });
        let dropped = side.each(|figures| {
            let dropped = sum(figures, |queue| queue.dropped);
            dropped / (sum(figures, |queue| queue.packets) + dropped).max(1.0) * 100.0
        });
        let row = |what: &str, unit, better, values| Felt {
            who: String::new(),
            application: LINE,
            what: what.to_owned(),
            unit,
            digits: 2,
            better,
            n: 1,
            values,
        };
        side.rows.extend([
            row("of the line is used", "%", Better::Higher, used),
            row("of all packets are dropped", "%", Better::Lower, dropped),
        ]);
        side
    }

    fn each(&self, of: impl Fn(&Figures) -> f64) -> Vec<f64> {
        self.figures.iter().map(|figures| of(figures)).collect()
    }
}

/// Use of the forward direction, in percent.
fn down(side: &Side<'_>) -> f64 {
    let mut lines = side.rows.iter().filter(|row| row.application == LINE);
    lines.next().map_or(0.0, |used| mean(&used.values))
}

/// Use of the reverse direction, in percent.
fn up(side: &Side<'_>) -> f64 {
    let up = |figures: &Figures| figures.link.reverse.map_or(0.0, |back| back.utilisation);
    mean(&side.each(|figures| up(figures) * 100.0))
}

/// Mean delay in ms in the queue of the reverse direction in which packets wait longest.
fn wait_for_upload(side: &Side<'_>) -> f64 {
    mean(&side.each(|figures| {
        let queues = figures.queues.iter();
        let queues = queues.filter(|queue| queue.direction == Direction::Reverse);
        let waits = queues.filter_map(|queue| queue.delay_ms.map(|delay| delay.mean));
        waits.fold(0.0, f64::max)
    }))
}

/// How much of each direction is used, and why it is no more.
fn narrow(sides: &[Side<'_>]) -> Option<String> {
    let span = |of: fn(&Side<'_>) -> f64| span(sides.iter().map(of), 1);
    let mut all = sides.iter().flat_map(|side| &side.figures);
    let first = *all.clone().next()?;
    first.link.rate_bps?;
    let (down, up) = (span(down), span(up));
    if first.links.is_empty() && all.all(|figures| upload_is_narrow(figures)) {
        let wait = span(wait_for_upload);
        return Some(format!(
            "The upload is the narrow direction: {up} % of it is used, and packets wait {wait} ms for it; of the download {down} % is used."
        ));
    }
    let line = if first.links.is_empty() {
        "line"
    } else {
        "busiest link"
    };
    let up = first.link.reverse.map(|_| format!(", the upload {up} %"));
    let idle = sides.iter().find(|side| !side.case.idle.is_empty());
    let idle = idle.map(|side| match side.case.label {
        "" => format!("; not full, because {}", side.case.idle),
        label => format!("; with {label} not full, because {}", side.case.idle),
    });
    let [up, idle] = [up, idle].map(Option::unwrap_or_default);
    Some(format!("The {line} is {down} % used{up}{idle}."))
}

/// What limits trust.
fn trust(cases: &[Case<'_>], remarks: &[(&str, &str)]) -> String {
    let runs: Vec<_> = cases.iter().flat_map(|case| &case.runs).collect();
    let early = runs.iter().filter(|run| run.partial).count();
    let doubts = [
        (runs.len() == 1).then(|| "one seed, and another may give other figures".to_owned()),
        (early > 0).then(|| format!("{early} of {} runs ended early", runs.len())),
        runs.iter()
            .any(|run| run.world == "sim")
            .then(|| "the hosts of the simulator are models".to_owned()),
    ];
    let mut doubts: Vec<String> = doubts.into_iter().flatten().collect();
    if let Block::Warnings(lines) = warnings(remarks.iter().copied()) {
        doubts.push(match &lines[..] {
            [] => "no warnings".to_owned(),
            [one] => format!("a warning: {one}"),
            [first, ..] => format!("{} warnings, the first: {first}", lines.len()),
        });
    }
    format!("Trust: {}.", doubts.join("; "))
}

/// `downloads: 55.8 ± 0.5 Mbit/s down`, `84.2 ± 0.5 % of the line is used`
fn said_of(felt: &Felt, values: &[f64]) -> String {
    let text = format!("{} {}", value(felt, values), felt.what);
    match felt.who.as_str() {
        "" => text,
        who => format!("{who} {text}"),
    }
}

/// `0.52 ± 0.01 s`
fn value(felt: &Felt, values: &[f64]) -> String {
    let number = number(values, felt.digits);
    match felt.unit {
        unit if unit.starts_with("MOS") => format!("with MOS {number}"),
        unit => format!("{number} {unit}"),
    }
}

/// `0.52 ± 0.01`
fn number(values: &[f64], digits: usize) -> String {
    Spread::new(None, false).cell(Form::Plain(digits), values.len(), values)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `84.2 to 100.0`
fn span(values: impl Iterator<Item = f64> + Clone, digits: usize) -> String {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    let [least, most] = [least, most].map(|value| format!("{value:.digits$}"));
    match least == most {
        true => most,
        false => format!("{least} to {most}"),
    }
}

/// `a, b and 3 more`; one more takes no more room than its number.
fn listed<T: AsRef<str>>(all: &[T]) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match all.len() {
        few if few <= NAMED + 2 => all.join(", "),
        many => format!("{} and {} more", all[..NAMED].join(", "), many - NAMED),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
