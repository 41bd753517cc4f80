//! The sweep that answers a request: a sweep file and its scenarios.
//!
//! The runs of a characterization are cells of `quell_lab::sweep`, so it resumes, runs in parallel and keeps what is done.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use quell_lab::scenario::Direction;
use quell_lab::{RunError, Scenario, World};

use crate::characterize::error::Error;
use crate::characterize::queue::{numbers, scaled, with};
use crate::characterize::request::{DROP_TAIL, LOOKS, Queue, Request};
use crate::characterize::suite::{Values, of_path};
use crate::characterize::test_case::{Content, Run, TestCase};
use crate::characterize::traffic::Made;

/// The sweep file of a characterization, in its folder.
pub const SWEEP: &str = "sweep.toml";
/// Start of the sweep file, by which the folder of a characterization is recognised.
const HEAD: &str = "# A characterization by quell";

/// One scenario with one queue.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Test case that the cell belongs to.
    pub test_case: Arc<TestCase>,
    /// Congestion control of standard flows; `None` where the card has only one.
    pub control: Option<String>,
    /// Index among the queues of the card.
    pub queue: usize,
    /// Name and value of the parameter that is halved or doubled.
    pub variant: Option<(String, String)>,
    /// Path of the scenario file, below the folder.
    pub file: String,
    /// Queues that the sweep sets in the scenario, each with its key.
    set: Vec<(String, String)>,
}

/// A scenario file, and the buffer of the other direction of its link.
struct File {
    name: String,
    back: Option<u64>,
}

/// Everything that is to run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Request that this answers.
    pub request: Request,
    /// Queues of the card: the one it is about, drop-tail, the others.
    pub queues: Vec<Queue>,
    /// Cells, in the order of the card.
    pub cells: Vec<Cell>,
    /// Test cases that do not run, with the reason.
    pub not_run: Vec<(Arc<TestCase>, String)>,
    /// Scenario files, below the folder.
    files: Vec<(String, String)>,
}

impl Request {
    /// Checks the request, and makes its scenarios.
    ///
    /// # Errors
    ///
    /// A queue, a control or a name is wrong, or a scenario does not run; the error says what is allowed.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        let test_cases = self.test_cases()?;
        let controls = self.controls();
        for control in &controls {
            let checked = self.check(DROP_TAIL, control);
            checked.map_err(|error| Error::Control {
                control: control.clone(),
                source: Box::new(error),
            })?;
        }
        let buffer = self.profile.buffer();
        let mut queues = vec![self.queue(&self.queue, buffer)?];
        let others = [DROP_TAIL.to_owned()];
        for other in others.iter().chain(&self.against) {
            let other = self.queue(other, buffer)?;
            if queues.iter().all(|queue| queue.spec != other.spec) {
                queues.push(other);
            }
        }
        let mut prepared = Prepared {
            request: self.clone(),
            queues,
            cells: Vec::new(),
            not_run: Vec::new(),
            files: Vec::new(),
        };
        for test_case in test_cases {
            let added = prepared.add_any(&test_case, &controls);
            added.map_err(|error| match error {
                Error::TestCase { .. } => error,
                other => Error::TestCase {
                    id: test_case.shown(),
                    source: Box::new(other),
                },
            })?;
        }
        Ok(prepared)
    }
}

impl Cell {
    /// Run of the cell; `None` where nothing runs.
    pub(crate) fn run(&self) -> Option<&Run> {
        self.test_case.run()
    }

    /// The queue as it runs; of two links that of the second.
    pub(crate) fn queue_spec(&self) -> &str {
        self.set.first().map_or(DROP_TAIL, |(_, spec)| spec)
    }
}

impl Prepared {
    fn add_any(&mut self, test_case: &Arc<TestCase>, controls: &[String]) -> Result<(), Error> {
        match &test_case.content {
            Content::Description => Ok(()),
            Content::NotRun(why) => {
                self.not_run.push((test_case.clone(), why.clone()));
                Ok(())
            }
            Content::Runs(run) if run.any_control => {
                let mut controls = controls.iter();
                let many = controls.len() > 1;
                controls.try_for_each(|control| self.add(test_case, run, control, many))
            }
            Content::Runs(run) => self.add(test_case, run, &self.request.newreno(), false),
            Content::Parameters(run) => self.add_parameters(test_case, run),
        }
    }

    /// Adds the cells of a test case with one congestion control, one for each queue. Where a world without a simulator cannot run them, the
    /// test case is noted as not run.
    fn add(
        &mut self,
        test_case: &Arc<TestCase>,
        run: &Run,
        control: &str,
        is_one_of_many: bool,
    ) -> Result<(), Error> {
        let file = self.file(test_case, run, control, is_one_of_many)?;
        let control = is_one_of_many.then(|| control.to_owned());
        let packets = buffer(test_case, run, &self.request);
        let specs = self.queues.iter();
        let specs = specs.map(|queue| self.request.of_run(queue, run, packets));
        let specs = specs.collect::<Result<Vec<String>, Error>>()?;
        for (queue, spec) in specs.iter().enumerate() {
            match self.check(&file, spec, run, queue) {
                Ok(()) => {}
                // The world cannot run it, whatever the queue.
                Err(why) if self.request.world != World::Sim => {
                    let why = first_line(&why.to_string());
                    self.not_run.push((test_case.clone(), why));
                    return Ok(());
                }
                Err(why) => return Err(why),
            }
        }
        for (queue, spec) in specs.iter().enumerate() {
            let cell = self.cell(test_case, run, &control, queue, None, &file, spec)?;
            self.cells.push(cell);
        }
        Ok(())
    }

    /// Adds the cells of a test case that halves and doubles each parameter of the queue.
    fn add_parameters(&mut self, test_case: &Arc<TestCase>, run: &Run) -> Result<(), Error> {
        let control = self.request.newreno();
        let file = self.file(test_case, run, &control, false)?;
        let base = self.queues[0].clone();
        if let Err(why) = self.check(&file, &base.spec, run, 0) {
            let why = first_line(&why.to_string());
            self.not_run.push((test_case.clone(), why));
            return Ok(());
        }
        let mut cells = vec![self.cell(test_case, run, &None, 0, None, &file, &base.spec)?];
        for (name, value) in numbers(&base.spec)? {
            for (word, scaled) in [
                ("half", scaled(value, 1, 2)),
                ("double", scaled(value, 2, 1)),
            ] {
                let Some(scaled) = scaled else { continue };
                let spec = with(&base.spec, name, &scaled.to_string());
                if self.check(&file, &spec, run, 0).is_ok() {
                    let variant = Some((name.to_owned(), format!("{scaled} ({word})")));
                    cells.push(self.cell(test_case, run, &None, 0, variant, &file, &spec)?);
                }
            }
        }
        match cells.len() {
            1 => {
                let why = "the queue has no parameter that is a number, besides its buffer";
                self.not_run.push((test_case.clone(), why.to_owned()));
            }
            _ => self.cells.extend(cells),
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of the cell")]
    fn cell(
        &self,
        test_case: &Arc<TestCase>,
        run: &Run,
        control: &Option<String>,
        queue: usize,
        variant: Option<(String, String)>,
        file: &File,
        spec: &str,
    ) -> Result<Cell, Error> {
        let set = self
            .request
            .set(run, spec, &self.queues[queue], file.back)?;
        Ok(Cell {
            test_case: test_case.clone(),
            control: control.clone(),
            queue,
            variant,
            file: file.name.clone(),
            set,
        })
    }

    /// Makes the scenario file of a test case.
    fn file(
        &mut self,
        test_case: &TestCase,
        run: &Run,
        control: &str,
        is_one_of_many: bool,
    ) -> Result<File, Error> {
        let mut name = test_case.id.clone();
        if is_one_of_many {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let plain = control.replace(|c: char| !is_plain(c), "-");
            name = format!("{name}-{plain}");
        }
        let path = test_case.path(&self.request.profile);
        let given = of_path(&path, &self.request.newreno(), control);
        let values = Values::new(&test_case.definition, given);
        let packets = buffer(test_case, run, &self.request);
        let head = head(test_case);
        let made = run
            .traffic
            .scenario(&name, &head, &path, packets, &values.engine()?)?;
        let Made { text, back } = made;
        let name = format!("scenarios/{name}.toml");
        if self.files.iter().all(|(present, _)| *present != name) {
            self.files.push((name.clone(), text));
        }
        Ok(File { name, back })
    }

    fn check(&self, file: &File, spec: &str, run: &Run, queue: usize) -> Result<(), Error> {
        let found = self.files.iter().find(|(name, _)| *name == file.name);
        let text = found.map_or("", |(_, text)| text.as_str());
        let set = self
            .request
            .set(run, spec, &self.queues[queue], file.back)?;
        self.request.resolve(&file.name, text, &set).map(drop)
    }

    /// Writes the sweep file and its scenarios into `folder`, which is made. Files that have the same content already are not written again.
    ///
    /// # Errors
    ///
    /// The folder holds something else, or cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RunError> {
        let sweep = folder.join(SWEEP);
        let is_ours = fs::read_to_string(&sweep).is_ok_and(|text| text.starts_with(HEAD));
        let mut entries = fs::read_dir(folder).into_iter().flatten();
        if !is_ours && (entries.next().is_some() || folder.is_file()) {
            let why = format!(
                "{} exists and is no characterization; name another folder with --out",
                folder.display()
            );
            return Err(RunError::refused(why));
        }
        let scenarios = folder.join("scenarios");
        fs::create_dir_all(&scenarios).map_err(|source| unwritten(&scenarios, &source))?;
        for (name, text) in &self.files {
            put(&folder.join(name), text)?;
        }
        put(&sweep, &self.sweep())
    }

    /// The sweep file.
    fn sweep(&self) -> String {
        let request = &self.request;
        let mut text = format!(
            "{HEAD}, as a sweep. Of the virtual world it runs parts elsewhere: quell sweep sweep.toml --store store --shard 1/2\n\n\
             schema = 1\nname = \"characterize\"\nworld = \"{}\"\nseeds = {{ from = 1, count = {} }}\n",
            request.world.name(),
            request.seeds.unwrap_or(LOOKS[0].0)
        );
        for cell in &self.cells {
            let set: Vec<String> = cell
                .set
                .iter()
                .map(|(key, value)| format!("\"{key}\" = \"{value}\""))
                .collect();
            text.push_str(&format!(
                "\n[[experiment]]\nname = \"{}\"\nscenario = \"{}\"\nset = {{ {} }}\n",
                self.label(cell),
                cell.file,
                set.join(", ")
            ));
        }
        text
    }

    /// A name that no other cell has.
    pub(crate) fn label(&self, cell: &Cell) -> String {
        let queue = &self.queues[cell.queue].name;
        let variant = cell
            .variant
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        let parts = [cell.test_case.id.clone()].into_iter();
        let parts = parts
            .chain(cell.control.clone())
            .chain([queue.clone()])
            .chain(variant);
        parts.collect::<Vec<_>>().join(" ")
    }

    /// Every scenario file, below the folder, with its text.
    pub fn files(&self) -> &[(String, String)] {
        &self.files
    }

    /// The text of the scenario of a cell, with drop-tail.
    pub fn scenario(&self, cell: &Cell) -> &str {
        let found = self.files.iter().find(|(name, _)| *name == cell.file);
        found.map_or("", |(_, text)| text)
    }

    /// The groups of a cell whose data goes in the reverse direction.
    pub(crate) fn back(&self, cell: &Cell) -> Result<Vec<String>, Error> {
        let scenario = self.resolved(cell)?;
        let groups = scenario.groups.into_iter();
        let back = groups.filter(|group| group.direction == Direction::Reverse);
        Ok(back.map(|group| group.name).collect())
    }

    /// The scenario of a cell as it runs.
    ///
    /// # Errors
    ///
    /// The cell was not checked before.
    pub fn resolved(&self, cell: &Cell) -> Result<Scenario, Error> {
        self.request
            .resolve(&cell.file, self.scenario(cell), &cell.set)
    }
}

/// Packets that every queue of a run holds.
fn buffer(test_case: &TestCase, run: &Run, request: &Request) -> u64 {
    let usual = || test_case.path(&request.profile).buffer();
    run.buffer.unwrap_or_else(usual)
}

/// Comment at the head of the scenario file of a test case.
fn head(test_case: &TestCase) -> Vec<String> {
    vec![
        format!(
            "{} ({}): {}.",
            test_case.source, test_case.weight, test_case.title
        ),
        "Made by quell characterize from the file of its suite.".to_owned(),
    ]
}

fn put(path: &Path, text: &str) -> Result<(), RunError> {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    quell_lab::results::replace(path, |new| quell_lab::results::write_text(new, text))
        .map_err(RunError::from)
}

fn unwritten(path: &Path, error: &std::io::Error) -> RunError {
    RunError::Failed(format!("cannot write {}: {error}", path.display()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
