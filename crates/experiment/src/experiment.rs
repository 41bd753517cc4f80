//! What an experiment is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use quell_lab::scenario::{Origin, Problem, Problems};
use quell_lab::sweep::{Key, Stored};

use crate::cell::Cell;
use crate::evaluate::{Engine, Estimates, Fault};
use crate::file::{self, Definition};
use crate::found::Found;
use crate::reference::Compared;
use crate::ruling::Verdict;
use crate::shipped;
use crate::statement::{Checks, Expected, Statement};

/// An experiment: what its source says, the runs that repeat it, and how the results are judged. It is a file, of
/// [`experiments/`](crate::shipped) or a user's.
#[derive(Clone)]
pub struct Experiment {
    /// Its name: a [`Chapter`](crate::registry::Chapter) and a name in it, as `gsp2014/e4`; a user's has the name of its file.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where the values and statements stand: the publication, and the slide, section or table.
    pub source: String,
    /// What the source says.
    pub statements: Vec<Statement>,
    definition: Definition,
    cells: Vec<Cell>,
    /// Texts of the scenarios that lie beside the file.
    beside: BTreeMap<String, String>,
    /// Paths of the files that were read, each with the hash of its text.
    files: Vec<(String, Key)>,
    pub(crate) folder: PathBuf,
}

/// Experiments that share a section of the book, which has their texts in this order.
#[derive(Debug)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// The experiments.
    pub experiments: Vec<Experiment>,
}

/// The same with the seeds of its file, where a record decides how many there are: a record without points has no runs, but may get them.
fn without_recorded_seeds(definition: &Definition) -> Option<Definition> {
    let mut anew = definition.clone();
    anew.reference.as_mut()?.seeds = None;
    Some(anew)
}

impl Experiment {
    /// Reads the text of the experiment `id`; `files` has the text of what lies beside it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn read(
        id: &str,
        text: &str,
        files: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Problems> {
        let name = format!("{id}.toml");
        let chapter = id
            .rsplit_once('/')
            .map_or(String::new(), |(chapter, _)| format!("{chapter}/"));
        let read = RefCell::new(vec![(name.clone(), Key::of(text))]);
        let files = |name: &str| match file::is_beside(name) {
            true => files(name).filter(|text| text.len() <= file::MOST_BYTES),
            false => None,
        };
        let noted = |name: &str| {
            let text = files(name)?;
            let path = format!("{chapter}{name}");
            read.borrow_mut().push((path, Key::of(&text)));
            Some(text)
        };
        let definition = file::read(&name, text, &noted)?;
        let refused = |why: String| {
            Problems::new(vec![Problem {
                file: name.clone(),
                origin: Origin::Line(1),
                key: "axis".to_owned(),
                found: None,
                allowed: why,
            }])
        };
        let cells = Engine::new(&definition).and_then(|engine| engine.cells());
        let cells = cells.map_err(|fault| refused(fault.why))?;
        let mut beside = BTreeMap::new();
        let anew = without_recorded_seeds(&definition);
        let anew = anew.as_ref().map(|anew| Engine::new(anew)?.cells());
        let anew = anew.transpose().map_err(|fault| refused(fault.why))?;
        for cell in cells.iter().chain(anew.iter().flatten()) {
            if !beside.contains_key(cell.file()) {
                match files(cell.file()) {
                    Some(text) => drop(beside.insert(cell.file().to_owned(), text)),
                    None if shipped::scenario(cell.file()).is_some() => {}
                    None => {
                        let scenario = cell.file();
                        let why = format!(
                            "there is no scenario {scenario:?}, neither beside the experiment nor among those of quell"
                        );
                        return Err(refused(why));
                    }
                }
            }
        }
        Ok(Self {
            id: id.to_owned(),
            title: definition.title.clone(),
            source: definition.source.clone(),
            statements: definition.statements.iter().map(statement).collect(),
            definition,
            cells,
            beside,
            files: read.into_inner(),
            folder: PathBuf::new(),
        })
    }

    /// Reads the experiment file at `path`; its name is that of the file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or everything that is wrong with it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let text = text_of(path).map_err(|error| OpenError::Unreadable(path.to_owned(), error))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let files = |name: &str| text_of(&folder.join(name)).ok();
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let read = Self::read(&id, &text, &files).map_err(OpenError::Wrong)?;
        Ok(Self { folder, ..read })
    }

    /// The points that are compared with a record, each with its runs.
    ///
    /// # Errors
    ///
    /// An expression has no value.
    pub fn points(&self) -> Result<Vec<(String, &[Cell])>, Unevaluated> {
        let mut rest = &self.cells[..];
        let point = |(name, seeds): (String, u64)| {
            let (own, others) = rest.split_at(rest.len().min(seeds as usize));
            rest = others;
            (name, own)
        };
        let points = Engine::new(&self.definition)?.points()?;
        Ok(points.into_iter().map(point).collect())
    }

    /// The worlds of which figures are recorded.
    pub fn recorded_worlds(&self) -> &[String] {
        let reference = self.definition.reference.as_ref();
        reference.map_or(&[], |reference| &reference.worlds)
    }

    /// The name of the record.
    pub fn record(&self) -> Option<&str> {
        let reference = self.definition.reference.as_ref();
        reference.map(|reference| reference.file.as_str())
    }

    /// Seeds at most of a point whose runs scatter.
    pub fn most_seeds(&self) -> Option<u64> {
        self.definition.most_seeds
    }

    /// Every point with so many seeds, and without any with those of the file: to record them anew.
    ///
    /// # Errors
    ///
    /// An expression has no value.
    pub fn with_seeds(&self, seeds: Option<BTreeMap<String, u64>>) -> Result<Self, Unevaluated> {
        let mut other = self.clone();
        if let Some(reference) = &mut other.definition.reference {
            reference.seeds = seeds;
        }
        other.cells = Engine::new(&other.definition)?.cells()?;
        Ok(other)
    }

    /// Each point in the simulator beside another world, from the results of its cells in both.
    ///
    /// # Errors
    ///
    /// An expression has no value.
    pub fn compare(
        &self,
        sim: &[Stored],
        other: &[Stored],
        world: &str,
    ) -> Result<Vec<Compared>, Unevaluated> {
        let mut engine = Engine::new(&self.definition)?;
        engine.take(other)?;
        let recorded = engine.record(world)?;
        let mut engine = Engine::new(&self.definition)?;
        engine.take(sim)?;
        Ok(engine.compared_with(&recorded)?)
    }

    /// Names of its figures.
    pub fn figures(&self) -> impl Iterator<Item = &str> {
        let figures = self.definition.figures.iter();
        figures.map(|figure| figure.name.as_str())
    }

    /// The axes that make runs, and at each of their points the values of these and the mean of a figure, from the results of its cells.
    ///
    /// # Errors
    ///
    /// An expression has no value.
    pub fn estimates(&self, results: &[Stored], figure: &str) -> Result<Estimates, Unevaluated> {
        let mut engine = Engine::new(&self.definition)?;
        engine.take(results)?;
        Ok(engine.estimates(figure)?)
    }

    /// The runs that repeat it, in their order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The files that make it, below `experiments/`, each with the hash of its text: its own, those that it names, and those that these name.
    pub(crate) fn files(&self) -> &[(String, Key)] {
        &self.files
    }

    /// The CSV files that it writes.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        let files = self.definition.files.iter();
        files.map(|(name, _)| name.as_str())
    }

    /// What it is made of.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The text of a scenario that it runs.
    pub(crate) fn scenario(&self, file: &str) -> Option<&str> {
        let beside = self.beside.get(file).map(String::as_str);
        beside.or_else(|| shipped::scenario(file))
    }

    /// Where its file lies, and those that its scenarios name; nowhere for one of the program.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The scenarios that it runs, in order.
    pub fn scenarios(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.cells.iter().map(Cell::file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Whether a clause is decided by what its file says alone.
    pub(crate) fn is_decided(&self, id: &str) -> bool {
        let engine = Engine::new(&self.definition);
        let mut all = self.definition.statements.iter();
        let own = all.find(|one| one.id == id);
        engine.is_ok_and(|engine| own.is_some_and(|own| engine.is_decided(own)))
    }

    /// The verdict on each statement that is a clause, from the results of [`Experiment::cells`] with this seed.
    pub(crate) fn ruled(&self, results: &[Stored], seed: u64) -> Vec<(Verdict, String)> {
        let own = self.cells.iter().zip(results);
        let own = own.map(|(cell, stored)| match cell.own_seed() == seed {
            true => stored.clone(),
            false => Stored::Missing,
        });
        let own: Vec<Stored> = own.collect();
        let engine = Engine::new(&self.definition).and_then(|mut engine| {
            engine.take(&own)?;
            Ok(engine)
        });
        let open = |fault: &Fault| (Verdict::Open(fault.why.clone()), String::new());
        let all = self.definition.statements.iter();
        let clauses = all.filter(|one| one.clause.is_some());
        let ruled = |statement| match &engine {
            Ok(engine) => engine.ruled(statement).unwrap_or_else(|fault| open(&fault)),
            Err(fault) => open(fault),
        };
        clauses.map(ruled).collect()
    }

    /// What its file says of the results of [`Experiment::cells`].
    pub(crate) fn found(&self, results: &[Stored]) -> Found {
        let engine = Engine::new(&self.definition).and_then(|mut engine| {
            engine.take(results)?;
            Ok(engine)
        });
        match engine {
            Ok(engine) => engine.find(),
            Err(fault) => {
                let mut found = Found {
                    checks: self.statements.iter().map(|_| Checks::default()).collect(),
                    ..Found::default()
                };
                found.fault("axis", &fault.why);
                found
            }
        }
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// An expression of an experiment has no value: why.
#[derive(Debug)]
pub struct Unevaluated(String);

impl From<Fault> for Unevaluated {
    fn from(fault: Fault) -> Self {
        Self(fault.why)
    }
}

impl fmt::Display for Unevaluated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unevaluated {}

/// Why an experiment file was not read.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// What is wrong with it.
    Wrong(Problems),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Wrong(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(_, error) => Some(error),
            Self::Wrong(problems) => Some(problems),
        }
    }
}

/// The text of a file; of one that is too long so much that it is refused. What is no file, such as `/dev/zero`, has none.
pub(crate) fn text_of(path: &Path) -> std::io::Result<String> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let mut text = String::new();
    file.take(file::MOST_BYTES as u64 + 1)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn statement(statement: &file::Statement) -> Statement {
    let expected = match (&statement.differs, &statement.cannot) {
        (_, Some(why)) => Expected::CannotBeJudged(why.clone()),
        (Some(why), None) => Expected::Differs(why.clone()),
        (None, None) => Expected::Reproduced,
    };
    Statement {
        id: statement.id.clone(),
        published: statement.published.clone(),
        bound: statement.checked.clone(),
        expected,
    }
}
