//! Holds an experiment file against the section of Rust that it replaces.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quell_lab::scenario::Override;
use quell_lab::sweep::{Plan, Store, Stored, Wanted, stored};
use quell_lab::{GuestOptions, Scenario, World};
use quell_measure::Summary;
use serde_json::Value as Json;

use crate::cell::{self, Cell, Length};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Checks, Expected, Judge};

/// What differs.
#[derive(Default)]
pub struct Differences(pub Vec<String>);

impl Differences {
    fn add(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }
    fn texts(&mut self, what: &str, rust: &str, file: &str) {
        if rust == file {
            return;
        }
        let mut shown = 0;
        if rust.contains('\n') || file.contains('\n') {
            let (a, b): (Vec<&str>, Vec<&str>) = (rust.lines().collect(), file.lines().collect());
            for line in 0..a.len().max(b.len()) {
                let (one, other) = (a.get(line).copied().unwrap_or("<end>"), b.get(line).copied().unwrap_or("<end>"));
                if one != other && shown < 4 {
                    shown += 1;
                    self.add(format!("{what}, line {}:\n      rust: {one}\n      file: {other}", line + 1));
                }
            }
            if shown == 0 {
                self.add(format!("{what}: differs in line ends"));
            }
        } else {
            self.add(format!("{what}:\n      rust: {rust}\n      file: {file}"));
        }
    }
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Compares the definitions: statements and plans in two worlds.
pub fn definitions(rust: &Experiment, file: &Experiment) -> Differences {
    let mut out = Differences::default();
    out.texts("title", rust.title, file.title);
    out.texts("source", rust.source, file.source);
    let ids = |one: &Experiment| one.statements.iter().map(|one| one.id).collect::<Vec<_>>().join(" ");
    out.texts("IDs", &ids(rust), &ids(file));
    for statement in rust.statements {
        let Some(other) = file.statements.iter().find(|other| other.id == statement.id) else {
            continue;
        };
        let id = statement.id;
        out.texts(&format!("{id}: published"), statement.published, other.published);
        out.texts(&format!("{id}: bound"), statement.bound, other.bound);
        let expected = |expected: Expected| match expected {
            Expected::Reproduced => "reproduced".to_owned(),
            Expected::Differs(why) => format!("differs: {why}"),
            Expected::CannotBeJudged(why) => format!("cannot: {why}"),
        };
        out.texts(&format!("{id}: expected"), &expected(statement.expected), &expected(other.expected));
    }
    if let Some(Err(why)) = file.definition.map(|file| file.try_cells()) {
        out.add(format!("plan: {why}"));
        return out;
    }
    let (a, b) = ((rust.plan)(), file.cells());
    for world in [World::Sim, World::Virtual] {
        let [one, other] = [&a, &b].map(|cells| resolved(cells, world));
        for (what, from, to) in [("missing", &one, &other), ("too much", &other, &one)] {
            let lacking = from.iter().filter(|(text, _)| !to.contains_key(*text));
            for (_, shown) in lacking.take(3) {
                out.add(format!("plan, {}: {what}: {shown}", world.name()));
            }
        }
    }
    out
}

/// What each run is, whole and short, with how it is shown.
fn resolved(cells: &[Cell], world: World) -> BTreeMap<String, String> {
    let wanted = cell::wanted("twin", cells, Length::Full, world);
    let quick = cell::wanted("twin", cells, Length::Quick, world);
    let one = |(wanted, quick): (&Wanted, &Wanted)| {
        let shown = format!("{} seed {} {}", wanted.file, wanted.seed, wanted.sets.join(" "));
        (identity(wanted, Some(quick)), shown)
    };
    wanted.iter().zip(&quick).map(one).collect()
}

fn identity(wanted: &Wanted, quick: Option<&Wanted>) -> String {
    let sets: Vec<_> = wanted.sets.iter().filter_map(|set| Override::set(set).ok()).collect();
    let loaded = Scenario::load(&wanted.file, wanted.text, &sets, None);
    let mut text = match loaded {
        Ok(mut loaded) => {
            let mut text = loaded.scenario.to_toml();
            if let Some(adapt) = quick.and_then(|quick| quick.adapt) {
                adapt(&mut loaded.scenario);
                text += &loaded.scenario.to_toml();
            }
            text
        }
        Err(problems) => problems.to_string(),
    };
    text += wanted.probe.map_or("summary", |probe| probe.name);
    format!("{} {} {text}", wanted.file, wanted.seed)
}

/// The stored results of an experiment.
pub fn results(experiment: &Experiment, store: &Store) -> Result<(Vec<String>, Vec<Stored>), String> {
    let cells = experiment.cells();
    let wanted = cell::wanted(experiment.id, &cells, Length::Full, World::Sim);
    let plan = Plan::of("twin", &wanted, World::Sim, &GuestOptions::default()).map_err(|error| error.to_string())?;
    let found = stored(&plan, store).map_err(|error| error.to_string())?;
    let ids = wanted.iter().map(|wanted| identity(wanted, None));
    Ok((ids.collect(), found))
}

/// Numbers that stay: what a run was.
const KEPT: [&str; 12] = [
    "schema", "seed", "duration_s", "warmup_s", "start_s", "end_s", "length_ns", "count", "rate_bps", "flows", "maximum", "events",
];

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn shaken(json: &Json, dice: &mut Dice) -> Json {
    match json {
        Json::Object(fields) => {
            let one = |(key, value): (&String, &Json)| {
                let value = if KEPT.contains(&key.as_str()) { value.clone() } else { shaken(value, dice) };
                (key.clone(), value)
            };
            Json::Object(fields.iter().map(one).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(|item| shaken(item, dice)).collect()),
        Json::Number(number) => {
            let factor = 0.4 + 1.6 * dice.next();
            match number.as_u64() {
                Some(whole) if whole < 8 => number.clone().into(),
                Some(whole) => Json::from((whole as f64 * factor) as u64),
                None => number.as_f64().map_or(Json::Null, |value| Json::from(value * factor)),
            }
        }
        other => other.clone(),
    }
}

/// The results with every figure changed, equal ones equally.
pub fn perturbed(ids: &[String], results: &[Stored], round: u64) -> Vec<Stored> {
    let one = |(cell, stored): (&String, &Stored)| {
        let mut hash = round;
        for byte in cell.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut dice = Dice(hash);
        match stored {
            Stored::Summary(summary) => {
                let json = serde_json::to_value(summary).unwrap_or_default();
                let shaken = serde_json::from_value::<Summary>(shaken(&json, &mut dice));
                shaken.map_or_else(|_| stored.clone(), |summary| Stored::Summary(Box::new(summary)))
            }
            Stored::Figures(text) => {
                let json: Json = serde_json::from_str(text).unwrap_or_default();
                Stored::Figures(shaken(&json, &mut dice).to_string())
            }
            other => other.clone(),
        }
    };
    ids.iter().zip(results).map(one).collect()
}

/// The results with every figure moved by a factor, to a power of its own between -1 and 1: a sweep over the factor crosses every bound.
pub fn swept(ids: &[String], results: &[Stored], factor: f64, round: u64) -> Vec<Stored> {
    fn moved(json: &Json, factor: f64, hash: u64) -> Json {
        let step = |hash: u64, text: &str| {
            text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        };
        match json {
            Json::Object(fields) => {
                let one = |(key, value): (&String, &Json)| match KEPT.contains(&key.as_str()) {
                    true => (key.clone(), value.clone()),
                    false => (key.clone(), moved(value, factor, step(hash, key))),
                };
                Json::Object(fields.iter().map(one).collect())
            }
            Json::Array(items) => {
                let items = items.iter().enumerate();
                let one = |(place, item): (usize, &Json)| {
                    let name = item.get("name").and_then(Json::as_str).map_or(place.to_string(), str::to_owned);
                    moved(item, factor, step(hash, &name))
                };
                Json::Array(items.map(one).collect())
            }
            Json::Number(number) => {
                let mut dice = Dice(hash);
                dice.next();
                let power = 2.0 * dice.next() - 1.0;
                let factor = factor.powf(power);
                match number.as_u64() {
                    Some(whole) => Json::from((whole as f64 * factor) as u64),
                    None => number.as_f64().map_or(Json::Null, |value| Json::from(value * factor)),
                }
            }
            other => other.clone(),
        }
    }
    let one = |(id, stored): (&String, &Stored)| {
        let hash = id.bytes().fold(round, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        match stored {
            Stored::Summary(summary) => {
                let json = moved(&serde_json::to_value(summary).unwrap_or_default(), factor, hash);
                let read = serde_json::from_value::<Summary>(json);
                read.map_or_else(|_| stored.clone(), |summary| Stored::Summary(Box::new(summary)))
            }
            Stored::Figures(text) => {
                let json: Json = serde_json::from_str(text).unwrap_or_default();
                Stored::Figures(moved(&json, factor, hash).to_string())
            }
            other => other.clone(),
        }
    };
    ids.iter().zip(results).map(one).collect()
}

/// Which checks and guards hold with both.
pub fn verdicts(
    rust: &'static Experiment,
    rust_results: &[Stored],
    file: &'static Experiment,
    file_results: &[Stored],
) -> Differences {
    let mut out = Differences::default();
    let (Ok(a), Ok(b)) = (find(rust, rust_results), find(file, file_results)) else {
        return out;
    };
    for (statement, one) in rust.statements.iter().zip(&a.checks) {
        let Some(place) = file.statements.iter().position(|other| other.id == statement.id) else {
            continue;
        };
        let held = |checks: &Checks| format!("{} of {} missed, {} of {} guards broken", checks.misses.len(), checks.made, checks.broken_guards.len(), checks.guarded);
        out.texts(&format!("{}: sweep", statement.id), &held(one), &held(&b.checks[place]));
    }
    out
}

fn find(experiment: &'static Experiment, results: &[Stored]) -> Result<Findings, String> {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut findings = Findings::new(experiment, Judge::Simulated);
        experiment.find(results, &mut findings);
        findings
    }));
    found.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

fn checks(out: &mut Differences, notes: &mut Vec<String>, id: &str, rust: &Checks, file: &Checks) {
    let counts = |checks: &Checks| format!("{} checks, {} misses, {} guards, {} broken", checks.made, checks.misses.len(), checks.guarded, checks.broken_guards.len());
    out.texts(&format!("{id}: counts"), &counts(rust), &counts(file));
    for (a, b) in rust.off.iter().zip(&file.off) {
        if a.0 != b.0 || !near(a.1, b.1) || !near(a.2, b.2) {
            out.texts(&format!("{id}: deviation"), &format!("{a:?}"), &format!("{b:?}"));
            break;
        }
    }
    if rust.off.len() != file.off.len() {
        out.add(format!("{id}: {} deviations in Rust, {} in the file", rust.off.len(), file.off.len()));
    }
    out.texts(&format!("{id}: shown"), &rust.shown(), &file.shown());
    for (a, b) in rust.misses.iter().zip(&file.misses) {
        if a != b {
            notes.push(format!("{id}: text of a miss\n      rust: {a}\n      file: {b}"));
            break;
        }
    }
    if rust.broken_guards.len() != file.broken_guards.len() {
        notes.push(format!("{id}: broken guards\n      rust: {:?}\n      file: {:?}", rust.broken_guards.first(), file.broken_guards.first()));
    }
}

fn figures(out: &mut Differences, rust: &[Figure], file: &[Figure]) {
    if rust.len() != file.len() {
        out.add(format!("{} pictures in Rust, {} in the file", rust.len(), file.len()));
    }
    for (number, (a, b)) in rust.iter().zip(file).enumerate() {
        let rounded = |figure: &Figure| {
            let number = |x: f64| format!("{x:.9e}");
            match figure {
                Figure::Curves { title, axes, curves } => {
                    let mut text = format!("{title} {axes:?}");
                    for curve in curves {
                        text += &format!("\n{} {}", curve.name, curve.published);
                        for (x, y) in &curve.points {
                            text += &format!("\n{} {}", number(*x), number(*y));
                        }
                    }
                    text
                }
                Figure::Pairs { title, axis, pairs } => {
                    let mut text = format!("{title} {axis}");
                    for pair in pairs {
                        text += &format!("\n{} {:?} {}", pair.label, pair.published.map(number), number(pair.ours));
                    }
                    text
                }
            }
        };
        out.texts(&format!("picture {}", number + 1), &rounded(a), &rounded(b));
    }
}

/// Compares what both find; the second list has what may differ.
pub fn findings(
    rust: &'static Experiment,
    rust_results: &[Stored],
    file: &'static Experiment,
    file_results: &[Stored],
) -> (Differences, Vec<String>) {
    let (mut out, mut notes) = (Differences::default(), Vec::new());
    let (a, b) = match (find(rust, rust_results), find(file, file_results)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), _) => {
            notes.push(format!("Rust panics: {why}"));
            return (out, notes);
        }
        (_, Err(why)) => {
            out.add(format!("the file panics: {why}"));
            return (out, notes);
        }
    };
    for fault in &b.faults {
        out.add(format!("fault: {fault}"));
    }
    for (statement, one) in rust.statements.iter().zip(&a.checks) {
        if let Some(place) = file.statements.iter().position(|other| other.id == statement.id) {
            checks(&mut out, &mut notes, statement.id, one, &b.checks[place]);
        }
    }
    out.texts("page", &a.text, &b.text);
    let names = |findings: &Findings| findings.tables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ");
    out.texts("files", &names(&a), &names(&b));
    for ((name, one), (_, other)) in a.tables.iter().zip(&b.tables) {
        out.texts(name, &one.to_csv(), &other.to_csv());
    }
    figures(&mut out, &a.figures, &b.figures);
    (out, notes)
}
