//! `--expect` and `--junit`, and the `[[expect]]` of scenarios: read and checked before a run, judged and reported after it.

mod junit;

use std::path::{Path, PathBuf};

use clap::Args;
use quell_experiment::expectation::{Expectation, Fitted, Judged, Names};
use quell_lab::Outcome;
use quell_lab::scenario::{Scenario, closest};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::files::write;
use crate::output::page::{Page, say};

/// Exit code of a command whose run was fine, but not what was expected.
pub(crate) const UNMET: u8 = 3;

/// What is expected of results.
#[derive(Debug, Default, Args)]
pub(crate) struct Expected {
    /// Expect this of the results, or end with exit code 3: 'queue.queue.delay_ms.p99 < 20ms', 'jain > 0.9 over mean'. May be repeated; figures have
    /// the names of sweep tables
    #[arg(long = "expect", value_name = "CONDITION")]
    expects: Vec<String>,
    /// Write what was expected and what came out as JUnit XML into this file; one of that name is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// What was expected of some results, and came out.
pub(crate) struct Suite {
    /// The scenario, and the queue where several are compared.
    pub(crate) name: String,
    /// The queue; empty where there is one only.
    pub(crate) label: String,
    /// The time that the runs took, in seconds.
    pub(crate) seconds: f64,
    /// Where the results are.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) judged: Vec<Judged>,
}

impl Suite {
    /// Judges the runs of a scenario; `label` is its queue where several are compared.
    pub(crate) fn of_runs(
        scenario: &Scenario,
        label: &str,
        outcome: &Outcome,
        all: &[Fitted],
    ) -> Result<Self, Failure> {
        let runs = outcome.runs.iter().map(|run| {
            let json = serde_json::to_value(&run.summary).map_err(Failure::failed)?;
            Ok((run.seed, json))
        });
        let runs: Vec<(u64, Value)> = runs.collect::<Result<_, Failure>>()?;
        let folder = outcome.aggregate.as_ref().map(|(folder, _)| folder);
        let folder = folder.or(outcome.runs.first().map(|run| &run.folder));
        let name = match label {
            "" => scenario.name.clone(),
            label => format!("{} {label}", scenario.name),
        };
        Ok(Self {
            name,
            label: label.to_owned(),
            seconds: 0.0,
            folder: folder.cloned(),
            judged: all.iter().map(|one| one.judge(&runs)).collect(),
        })
    }

    /// The lines about it, or only those about what does not hold.
    fn lines(&self, only_unmet: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.judged.iter().filter(|one| !only_unmet || !one.is_met) {
            let word = match (one.is_met, one.is_error) {
                (true, _) => "met   ",
                (false, true) => "FAILED",
                (false, false) => "warned",
            };
            let label = match self.label.as_str() {
                "" => String::new(),
                label => format!("{label}: "),
            };
            let why = match one.why.as_str() {
                "" => String::new(),
                why => format!(" ({why})"),
            };
            lines.push(format!(
                "expect  {word}  {label}{}: {}{why}",
                one.text, one.found
            ));
            if let Some(folder) = self.folder.as_ref().filter(|_| !one.is_met) {
                lines.push(format!("        see: quell report {}", folder.display()));
            }
        }
        lines
    }
}

impl Expected {
    /// The expectations of a scenario, which `file` holds, and of the options; those of the options that name another one of `labels`, which are the
    /// queues that are compared, are left out. Refuses what the results cannot have.
    pub(crate) fn fit(
        &self,
        file: &Path,
        scenario: &Scenario,
        label: &str,
        labels: &[&str],
    ) -> Result<Vec<Fitted>, Failure> {
        let names = Names::of(scenario);
        let mut all = Vec::new();
        for (index, expect) in scenario.expects.iter().enumerate() {
            let wrong = |why| {
                let key = format!("expect.{}.that = \"{}\"", index + 1, expect.that);
                Failure::input(format!("{}: {key}: {why}", file.display()))
            };
            let read = Expectation::of(expect).map_err(wrong)?;
            if read.is_about(scenario).is_ok() {
                all.push(read.fit(&names).map_err(wrong)?);
            }
        }
        all.extend(self.fit_options(&names, scenario, label, labels)?);
        self.check_file(!scenario.expects.is_empty() || self.has_any())?;
        Ok(all)
    }

    /// The same of a program behind the link of a scenario, whose own expectations count as little as its groups.
    pub(crate) fn fit_program(&self, scenario: &Scenario) -> Result<Vec<Fitted>, Failure> {
        let names = Names::of_program(scenario);
        let all = self.fit_options(&names, scenario, "", &[])?;
        self.check_places(&[("", scenario)])?;
        self.check_file(self.has_any())?;
        Ok(all)
    }

    /// Refuses an option that is about none of these scenarios, each with its label, and says which `[[expect]]` is.
    pub(crate) fn check_places(&self, all: &[(&str, &Scenario)]) -> Result<(), Failure> {
        let labels = all.iter().map(|(label, _)| *label);
        let labels: Vec<&str> = labels.filter(|label| !label.is_empty()).collect();
        let nowhere = |read: Expectation, of: Option<&str>| {
            let meant = all
                .iter()
                .filter(|(label, _)| of.is_none_or(|of| of == *label));
            let elsewhere = meant.map(|(_, scenario)| read.is_about(scenario).err());
            let elsewhere: Option<Vec<_>> = elsewhere.collect();
            let why = elsewhere?.into_iter().next()?;
            Some(format!("is about nothing here: {why}"))
        };
        for text in &self.expects {
            let (of, condition) = split(text, &labels)?;
            let read = Expectation::read(condition).ok();
            if let Some(why) = read.and_then(|read| nowhere(read, of)) {
                return Err(Failure::input(format!("--expect '{text}' {why}")));
            }
        }
        // What one scenario leaves out may be about others.
        let first = all.first().filter(|_| all.len() > 1);
        for expect in first.iter().flat_map(|(_, scenario)| &scenario.expects) {
            let read = Expectation::of(expect).ok();
            if let Some(why) = read.and_then(|read| nowhere(read, None)) {
                say(&format!("warning: '{}' {why}", expect.that));
            }
        }
        Ok(())
    }

    fn fit_options(
        &self,
        names: &Names,
        scenario: &Scenario,
        label: &str,
        labels: &[&str],
    ) -> Result<Vec<Fitted>, Failure> {
        let mut all = Vec::new();
        for text in &self.expects {
            let (of, condition) = split(text, labels)?;
            if of.is_some_and(|of| of != label) {
                continue;
            }
            let wrong = |why| {
                let queue = match label {
                    "" => String::new(),
                    label => format!(" with {label}"),
                };
                Failure::input(format!("--expect '{condition}'{queue}: {why}"))
            };
            let read = Expectation::read(condition).map_err(wrong)?;
            if read.is_about(scenario).is_ok() {
                all.push(read.fit(names).map_err(wrong)?);
            }
        }
        Ok(all)
    }

    /// Whether an option expects something.
    pub(crate) fn has_any(&self) -> bool {
        !self.expects.is_empty()
    }

    /// Refuses a file that cannot be written, or would be empty.
    pub(crate) fn check_file(&self, has_any: bool) -> Result<(), Failure> {
        check_junit(self.junit.as_deref())?;
        match &self.junit {
            Some(file) if !has_any => {
                let shown = file.display();
                let why = format!("--junit {shown}: nothing is expected; give --expect");
                Err(Failure::input(why))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a file of `--junit` that cannot be written.
pub(crate) fn check_junit(file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else {
        return Ok(());
    };
    let around = file.parent().filter(|around| *around != Path::new(""));
    let why = if !around.unwrap_or(Path::new(".")).is_dir() {
        "there is no such folder; make it first"
    } else if file.is_dir() || file.file_name().is_none() {
        "is a folder; name a file in it"
    } else {
        return Ok(());
    };
    Err(Failure::input(format!("--junit {}: {why}", file.display())))
}

/// Where the lines about expectations go.
pub(crate) enum Lines<'p> {
    /// To standard output.
    Page(&'p mut Page),
    /// To standard error.
    Besides,
    /// There, but for those about what holds.
    Unmet,
    /// Nowhere.
    None,
}

/// Prints the lines, and writes the file of `--junit`.
///
/// # Errors
///
/// The file cannot be written, or with exit code 3 something is not as expected.
pub(crate) fn report(suites: &[Suite], junit: Option<&Path>, to: Lines<'_>) -> Result<(), Failure> {
    let only_unmet = matches!(to, Lines::Unmet);
    let lines = suites.iter().flat_map(|suite| suite.lines(only_unmet));
    match to {
        Lines::None => {}
        Lines::Page(page) => {
            page.gap();
            lines.for_each(|line| page.line(line));
        }
        _ => lines.for_each(|line| say(&line)),
    }
    if let Some(file) = junit {
        write(file, junit::document(suites).as_bytes())?;
    }
    let all = suites.iter().flat_map(|suite| &suite.judged);
    let failed = all
        .clone()
        .filter(|one| !one.is_met && one.is_error)
        .count();
    match failed {
        0 => Ok(()),
        _ => Err(Failure {
            code: UNMET,
            ..Failure::failed(format!("{failed} of {} expectations failed", all.count()))
        }),
    }
}

/// `QUEUE: CONDITION` of a comparison.
fn split<'t>(text: &'t str, labels: &[&str]) -> Result<(Option<&'t str>, &'t str), Failure> {
    let own = labels.iter().find_map(|label| {
        let rest = text.strip_prefix(label)?.strip_prefix(':')?;
        rest.starts_with(' ')
            .then(|| (&text[..label.len()], rest.trim()))
    });
    if let Some((label, rest)) = own {
        return Ok((Some(label), rest));
    }
    let Some((label, _)) = text
        .split_once(": ")
        .filter(|(label, _)| !label.contains('\''))
    else {
        return Ok((None, text));
    };
    let meant = closest(label, labels.iter().copied());
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
    Err(Failure::input(match labels {
        [] => format!("--expect '{text}': QUEUE: has an effect only with quell compare"),
        labels => format!(
            "--expect '{text}': there is no queue {label}, but {}{meant}",
            labels.join(", ")
        ),
    }))
}
