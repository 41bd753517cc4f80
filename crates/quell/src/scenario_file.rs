//! The reading of scenario files.

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use quell_experiment::link_profile::LinkProfile;
use quell_lab::scenario::{Loaded, Origin, Override, Problem, Problems, ReadFile, Scenario};
use quell_lab::{World, find_program};
use serde_json::{Value, json};

use crate::arguments::{Changes, Consent};
use crate::failure::Failure;
use crate::output::page::Page;

/// Longest scenario file, which may hold a trace; a longer one is the wrong file.
const LONGEST_FILE: u64 = 512 << 20;
/// Longest file that a scenario names.
const LONGEST_NAMED: u64 = 512 << 20;

/// Reads and checks a scenario file.
pub(crate) fn load(
    file: &Path,
    changes: &Changes,
    first: Vec<Override>,
    world: Option<World>,
) -> Result<Loaded, Failure> {
    Text::read(file)?.load_with(changes, first, world)
}

/// A scenario file as it was written. It is read once: standard input has it only once.
pub(crate) struct Text {
    name: String,
    text: String,
    /// Where the files are that it names.
    folder: PathBuf,
}

impl Text {
    /// Reads `file`; `-` is standard input.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let (name, text) = if file == Path::new("-") {
            (
                "standard input".to_owned(),
                within_bounds(io::stdin().lock(), LONGEST_FILE),
            )
        } else {
            let text = File::open(file).and_then(|file| within_bounds(file, LONGEST_FILE));
            (file.display().to_string(), text)
        };
        let text = text.map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { name, text, folder })
    }

    /// Reads what the scenario names: relative to its folder, or, in an argument, to the current one.
    fn files(&self) -> ReadFile {
        let folder = self.folder.clone();
        Box::new(move |name, origin| {
            let path = match origin {
                Origin::Argument(_) => PathBuf::from(name),
                _ => folder.join(name),
            };
            named(&path).map_err(|why| format!("cannot read {}: {why}", path.display()).into())
        })
    }

    /// Checks it, with `first` applied before what the command line changes.
    pub(crate) fn load_with(
        &self,
        changes: &Changes,
        first: Vec<Override>,
        world: Option<World>,
    ) -> Result<Loaded, Failure> {
        let profile = changes.profile.as_deref().map(LinkProfile::named);
        let profile = profile.transpose().map_err(Failure::input)?;
        let mut overrides = match profile {
            Some(profile) => profile.overrides(&self.text).ok_or_else(|| {
                let why = "the links of the scenario have names, which its groups use; a profile takes the place of a single [link]";
                Failure::input(format!("--profile {}: {why}", profile.name))
            })?,
            None => Vec::new(),
        };
        overrides.extend(first);
        for set in &changes.sets {
            overrides.push(Override::set(set).map_err(Failure::input)?);
        }
        overrides.extend(changes.duration.as_deref().map(Override::duration));
        overrides.extend(changes.seed.map(Override::seed));
        let (name, text, files) = (&self.name, &self.text, self.files());
        let loaded = Scenario::load_with_files(name, text, &overrides, world, files);
        let loaded = loaded.and_then(|loaded| with_programs(loaded, world));
        loaded.map_err(refusal)
    }
}

/// Refuses a scenario whose programs this host does not have, where they would be started.
fn with_programs(loaded: Loaded, world: Option<World>) -> Result<Loaded, Problems> {
    let all = loaded.programs.iter();
    let all = all.filter(|_| matches!(world, Some(World::Virtual | World::Live)));
    let missing: Vec<Problem> = all
        .filter_map(|one| {
            let why = find_program(&one.program).err()?;
            Some(one.problem(why.to_string()))
        })
        .collect();
    match missing.is_empty() {
        true => Ok(loaded),
        false => Err(Problems::new(missing)),
    }
}

/// Refuses the programs of a scenario for the live world, unless the caller has allowed them.
pub(crate) fn with_consent(
    loaded: Loaded,
    world: World,
    consent: &Consent,
) -> Result<Loaded, Failure> {
    if consent.allow_programs || world != World::Live {
        return Ok(loaded);
    }
    without_programs(
        loaded,
        "--world live would run it as you; read the scenario as you would a script, and give --allow-programs",
    )
}

/// Refuses each program of a scenario; `why` finishes the line.
pub(crate) fn without_programs(loaded: Loaded, why: &str) -> Result<Loaded, Failure> {
    let all: Vec<Problem> = loaded.programs.iter().map(|one| one.problem(why)).collect();
    match all.is_empty() {
        true => Ok(loaded),
        false => Err(refusal(Problems::new(all))),
    }
}

/// A scenario with problems.
fn refusal(problems: Problems) -> Failure {
    let count = problems.all().len();
    let what = if count == 1 {
        "1 error".to_owned()
    } else {
        format!("{count} errors")
    };
    Failure {
        problems: Some(problems.clone()),
        ..Failure::input(format!("the scenario has {what}\n{problems}"))
    }
}

/// With `--json`, puts the errors of a scenario on the page, beside the message of `result`.
pub(crate) fn with_errors<T>(
    result: Result<T, Failure>,
    json: bool,
    page: &mut Page,
) -> Result<T, Failure> {
    let problems = result.as_ref().err().and_then(|it| it.problems.as_ref());
    if let Some(problems) = problems.filter(|_| json) {
        let errors: Vec<Value> = problems.all().iter().map(as_json).collect();
        let errors = json!({ "errors": errors });
        page.line(serde_json::to_string_pretty(&errors).map_err(Failure::failed)?);
    }
    result
}

fn as_json(problem: &Problem) -> Value {
    let (file, line, argument) = match &problem.origin {
        Origin::Line(line) => (&problem.file, Some(line), None),
        Origin::Named(named) => (&named.file, Some(&named.line), None),
        Origin::Argument(argument) => (&problem.file, None, Some(argument)),
    };
    json!({
        "file": file,
        "line": line,
        "argument": argument,
        "key": problem.key,
        "found": problem.found,
        "allowed": problem.allowed,
    })
}

/// Why a file that a scenario names cannot be read.
#[derive(Debug)]
enum NamedFileError {
    /// There is none of that name.
    Missing(io::Error),
    /// It is a folder, a device or a pipe.
    NoFile,
    /// It is longer than any that is meant.
    TooLong,
    /// Its bytes are no text.
    NoText(io::Error),
    /// The system does not let it be read.
    Unreadable(io::Error),
}

impl fmt::Display for NamedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(_) => f.write_str(
                "there is no such file; a name in a scenario is relative to the scenario's folder",
            ),
            Self::NoFile => f.write_str("it is not a file"),
            Self::TooLong => write!(f, "it is longer than {} MiB", LONGEST_NAMED >> 20),
            Self::NoText(_) => f.write_str("it is not a text"),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

impl Error for NamedFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Missing(error) | Self::NoText(error) => Some(error),
            // The last one is the message already.
            Self::NoFile | Self::TooLong | Self::Unreadable(_) => None,
        }
    }
}

/// A file that a scenario names. One that is no plain file could keep quell waiting.
fn named(path: &Path) -> Result<String, NamedFileError> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NamedFileError::Missing(error),
        _ => NamedFileError::Unreadable(error),
    })?;
    if !metadata.is_file() {
        return Err(NamedFileError::NoFile);
    }
    // Before its content takes memory.
    let text = match metadata.len() {
        length if length > LONGEST_NAMED => Err(io::ErrorKind::FileTooLarge.into()),
        _ => File::open(path).and_then(|file| within_bounds(file, LONGEST_NAMED)),
    };
    text.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => NamedFileError::TooLong,
        io::ErrorKind::InvalidData => NamedFileError::NoText(error),
        _ => NamedFileError::Unreadable(error),
    })
}

fn within_bounds(from: impl io::Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let length = from.take(most + 1).read_to_string(&mut text)?;
    if length as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}
