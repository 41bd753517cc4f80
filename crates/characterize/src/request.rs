//! What is asked for, and the sweep that answers it: a sweep file and its scenarios.
//!
//! A characterization is a sweep of `quell_lab::sweep`, so it resumes, runs in parallel and keeps what is done.

use std::fs;
use std::path::Path;

use quell_aqm::disciplines;
use quell_lab::scenario::{Direction, Override};
use quell_lab::sweep::Plan;
use quell_lab::{GuestOptions, RunError, Scenario, World};

use crate::access;
use crate::profile::{PACKET, Profile};
use crate::queue::{is_given, marks, numbers, scaled, with};
use crate::rfc7928::NEWRENO;
use crate::suite::Suite;
use crate::test_case::{Content, First, Item, Run, Setting};
use crate::traffic::{FIRST, Group, SECOND, Traffic};

/// What every card compares with.
pub const DROP_TAIL: &str = "fifo";
/// The sweep file of a characterization, in its folder.
pub const SWEEP: &str = "sweep.toml";
/// Starts it, so that the folder is known again.
const HEAD: &str = "# A characterization by quell.";

/// The key of the queue where there is one link, and that of its other direction.
const LINK: &str = "link.queue";
const BACK: &str = "link.reverse.queue";

/// The key of the queue of one of two links.
fn of_link(name: &str) -> String {
    format!("link.{name}.queue")
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The queue, `KIND[:KEY=VALUE,…]`.
    pub queue: String,
    /// Others beside drop-tail.
    pub against: Vec<String>,
    /// The path.
    pub profile: Profile,
    /// Which scenarios.
    pub suite: Suite,
    /// Only these of them; all if there are none.
    pub only: Vec<String>,
    /// Where they run.
    pub world: World,
    /// Congestion controls of standard flows, `NAME[:KEY=VALUE,…]`; NewReno if there are none.
    pub controls: Vec<String>,
    /// Runs of each cell, with seeds from 1 on.
    pub seeds: u64,
}

/// A queue of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// As it was asked for.
    pub name: String,
    /// With the buffer of the card.
    pub spec: String,
    /// What of the buffer it has, if not that of the card.
    pub note: Option<String>,
}

/// One scenario with one queue.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What it belongs to.
    pub item: &'static Item,
    /// The congestion control of standard flows, where several may be.
    pub control: Option<String>,
    /// Place among the queues.
    pub queue: usize,
    /// The parameter that differs, with its value.
    pub variant: Option<(String, String)>,
    /// Its scenario file, below the folder.
    pub file: String,
    /// What the sweep sets.
    set: Vec<(String, String)>,
}

/// Everything that is to run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What was asked for.
    pub request: Request,
    /// The queue, drop-tail, the others.
    pub queues: Vec<Queue>,
    /// In the order of the card.
    pub cells: Vec<Cell>,
    /// Items that do not run, with the reason.
    pub not_run: Vec<(&'static Item, String)>,
    /// Scenario files, below the folder.
    files: Vec<(String, String)>,
}

impl Request {
    /// Checks everything, and makes the scenarios.
    ///
    /// # Errors
    ///
    /// What is wrong, with what would be right.
    pub fn prepare(&self) -> Result<Prepared, String> {
        let items = self.items()?;
        let controls = self.controls();
        for control in &controls {
            self.check(DROP_TAIL, control).map_err(|why| {
                // What follows the place in a file that nobody has written.
                let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
                format!("--cc {control}: {why}")
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
        for item in items {
            match &item.content {
                Content::Description => {}
                Content::NotRun(why) => prepared.not_run.push((item, (*why).to_owned())),
                Content::Runs(run) if run.any_control => {
                    for control in &controls {
                        prepared.add(item, run, control, controls.len() > 1)?;
                    }
                }
                Content::Runs(run) => prepared.add(item, run, &self.newreno(), false)?,
                Content::Parameters(run) => prepared.add_parameters(item, run)?,
            }
        }
        Ok(prepared)
    }

    /// The items, in the order of the card.
    fn items(&self) -> Result<Vec<&'static Item>, String> {
        let mut items = self.suite.items();
        for word in &self.only {
            if !items.iter().any(|item| item.is_called(word)) {
                let ids: Vec<&str> = items.iter().map(|item| item.id).collect();
                let meant = quell_lab::scenario::closest(word, ids.iter().copied());
                let meant = meant.map_or(String::new(), |id| format!("; did you mean {id}?"));
                return Err(format!(
                    "--only {word}: the suite {} has {}{meant}",
                    self.suite.name(),
                    ids.join(", ")
                ));
            }
        }
        if !self.only.is_empty() {
            items.retain(|item| self.only.iter().any(|word| item.is_called(word)));
        }
        Ok(items)
    }

    /// NewReno as this world has it: a real kernel counts segments.
    fn newreno(&self) -> String {
        let name = if self.world == World::Sim {
            NEWRENO
        } else {
            "reno"
        };
        name.to_owned()
    }

    fn controls(&self) -> Vec<String> {
        if self.controls.is_empty() {
            vec![self.newreno()]
        } else {
            self.controls.clone()
        }
    }

    /// Gives a queue so many packets of buffer where it was not given another.
    fn queue(&self, name: &str, packets: u64) -> Result<Queue, String> {
        let kind = name.split(':').next().unwrap_or(name);
        let entry = disciplines::find(kind).map_err(|error| {
            let names = disciplines::kinds().map(|entry| entry.name);
            let meant = quell_lab::scenario::closest(kind, names);
            let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
            format!("there is no queue {kind}: {}{meant}", error.allowed)
        })?;
        let of = |spec: String, note: Option<&str>| Queue {
            name: name.to_owned(),
            spec,
            note: note.map(str::to_owned),
        };
        self.check_queue(name)?;
        if is_given(name, "limit") {
            return Ok(of(name.to_owned(), Some("a buffer of its own, as given")));
        }
        if entry.parameters.iter().all(|one| one.name != "limit") {
            let note = "a buffer of its own: it has no parameter limit";
            return Ok(of(name.to_owned(), Some(note)));
        }
        let join = if name.contains(':') { "," } else { ":" };
        let limits = [format!("{packets}p"), format!("{}B", packets * PACKET)];
        let mut specs = limits
            .map(|limit| format!("{name}{join}limit={limit}"))
            .into_iter();
        match specs.find(|spec| self.check_queue(spec).is_ok()) {
            Some(spec) => Ok(of(spec, None)),
            None => {
                let note = "a buffer of its own: its other parameters do not fit that of the card";
                Ok(of(name.to_owned(), Some(note)))
            }
        }
    }

    /// A queue as a run has it: with a buffer of the run's own, and with ECN where the run wants marks and nobody has decided.
    fn of_run(&self, queue: &Queue, run: &Run) -> Result<String, String> {
        let own = run.home.then(|| access::paths(&self.profile)[0].buffer());
        let spec = match run.buffer.or(own) {
            Some(packets) => self.queue(&queue.name, packets)?.spec,
            None => queue.spec.clone(),
        };
        let is_asked = is_given(&queue.name, "ecn") || is_given(&queue.name, "noecn");
        if run.marks && !is_asked && marks(&spec) == Some(false) {
            let marking = with(&spec, "ecn", "true");
            if self.check_queue(&marking).is_ok() {
                return Ok(marking);
            }
        }
        Ok(spec)
    }

    /// The queues of a run with `spec`, each under its key. The first of two links comes last. `queue` is the same without a buffer.
    fn set(&self, run: &Run, spec: &str, queue: &Queue) -> Result<Vec<(String, String)>, String> {
        let mut set = Vec::new();
        let mut add = |key: String, spec: &str| set.push((key, spec.to_owned()));
        match run.first {
            None => add(LINK.to_owned(), spec),
            Some(first) => {
                add(of_link(SECOND), spec);
                match first {
                    First::Written => {}
                    First::Same => add(of_link(FIRST), spec),
                    First::Doubled => add(of_link(FIRST), &self.doubled(spec)),
                }
            }
        }
        if run.home {
            let packets = access::paths(&self.profile)[1].buffer();
            add(BACK.to_owned(), &self.queue(&queue.name, packets)?.spec);
        } else if run.both_ways {
            add(BACK.to_owned(), spec);
        }
        Ok(set)
    }

    /// A queue with one parameter doubled: its target, if that may be, else the first that may.
    fn doubled(&self, spec: &str) -> String {
        let mut all = numbers(spec).unwrap_or_default();
        all.sort_by_key(|(name, _)| *name != "target");
        let double = |(name, value)| {
            let value = scaled(value, 2, 1)?;
            let spec = with(spec, name, &value.to_string());
            self.check_queue(&spec).is_ok().then_some(spec)
        };
        all.into_iter()
            .find_map(double)
            .unwrap_or_else(|| spec.to_owned())
    }

    /// Whether a plain scenario runs with the queue.
    fn check_queue(&self, spec: &str) -> Result<(), String> {
        let checked = self.check(spec, "reno");
        checked.map_err(|why| why.trim_start_matches("--queue ").to_owned())
    }

    /// Whether a plain scenario runs with the queue and the control.
    fn check(&self, queue: &str, control: &str) -> Result<(), String> {
        let bulk = Group::bulk("bulk", self.profile.rtt, control);
        let text = Traffic::of([bulk]).scenario("queue", &[], &self.profile);
        let set = [(LINK.to_owned(), queue.to_owned())];
        self.resolve("queue.toml", &text, &set).map(drop)
    }

    /// A scenario with queues, each under its key.
    fn resolve(
        &self,
        file: &str,
        text: &str,
        set: &[(String, String)],
    ) -> Result<Scenario, String> {
        let mut overrides = Vec::new();
        for (key, spec) in set {
            overrides.extend(match key.as_str() {
                LINK => Override::queue(spec)?,
                BACK => Override::reverse_queue(spec)?,
                key => {
                    let link = key.trim_start_matches("link.").trim_end_matches(".queue");
                    Override::queue(&format!("{link}={spec}"))?
                }
            });
        }
        let loaded = Scenario::load(file, text, &overrides, Some(self.world));
        loaded
            .map(|loaded| loaded.scenario)
            .map_err(|problems| problems.to_string())
    }
}

impl Cell {
    /// What runs.
    pub(crate) fn run(&self) -> Option<&'static Run> {
        match &self.item.content {
            Content::Runs(run) | Content::Parameters(run) => Some(run),
            Content::Description | Content::NotRun(_) => None,
        }
    }

    /// The queue as it runs; of two links that of the second.
    pub(crate) fn queue_spec(&self) -> &str {
        self.set.first().map_or(DROP_TAIL, |(_, spec)| spec)
    }
}

impl Prepared {
    /// The label of a cell's control: of several, its name.
    fn add(
        &mut self,
        item: &'static Item,
        run: &'static Run,
        control: &str,
        is_one_of_many: bool,
    ) -> Result<(), String> {
        let file = self.file(item, run, control, is_one_of_many);
        let control = is_one_of_many.then(|| control.to_owned());
        let specs = self.queues.iter();
        let specs = specs.map(|queue| self.request.of_run(queue, run));
        let specs = specs.collect::<Result<Vec<String>, String>>()?;
        for (queue, spec) in specs.iter().enumerate() {
            match self.check(&file, spec, run, queue) {
                Ok(()) => {}
                // The world cannot run it, whatever the queue.
                Err(why) if self.request.world != World::Sim => {
                    self.not_run.push((item, first_line(&why)));
                    return Ok(());
                }
                Err(why) => return Err(format!("{}: {why}", item.id)),
            }
        }
        for (queue, spec) in specs.iter().enumerate() {
            self.push(item, run, &control, queue, None, &file, spec)?;
        }
        Ok(())
    }

    fn add_parameters(&mut self, item: &'static Item, run: &'static Run) -> Result<(), String> {
        let control = self.request.newreno();
        let file = self.file(item, run, &control, false);
        let base = self.queues[0].clone();
        if let Err(why) = self.check(&file, &base.spec, run, 0) {
            self.not_run.push((item, first_line(&why)));
            return Ok(());
        }
        self.push(item, run, &None, 0, None, &file, &base.spec)?;
        let before = self.cells.len();
        for (name, value) in numbers(&base.spec)? {
            for (word, scaled) in [
                ("half", scaled(value, 1, 2)),
                ("double", scaled(value, 2, 1)),
            ] {
                let Some(scaled) = scaled else { continue };
                let spec = with(&base.spec, name, &scaled.to_string());
                if self.check(&file, &spec, run, 0).is_ok() {
                    let variant = Some((name.to_owned(), format!("{scaled} ({word})")));
                    self.push(item, run, &None, 0, variant, &file, &spec)?;
                }
            }
        }
        if self.cells.len() == before {
            self.cells.pop();
            let why = "the queue has no parameter that is a number, besides its buffer";
            self.not_run.push((item, why.to_owned()));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of the cell")]
    fn push(
        &mut self,
        item: &'static Item,
        run: &Run,
        control: &Option<String>,
        queue: usize,
        variant: Option<(String, String)>,
        file: &str,
        spec: &str,
    ) -> Result<(), String> {
        let set = self.request.set(run, spec, &self.queues[queue])?;
        self.cells.push(Cell {
            item,
            control: control.clone(),
            queue,
            variant,
            file: file.to_owned(),
            set,
        });
        Ok(())
    }

    /// Makes the scenario file of an item, and returns its name.
    fn file(&mut self, item: &Item, run: &Run, control: &str, is_one_of_many: bool) -> String {
        let mut name = item.id.to_owned();
        if is_one_of_many {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let plain = control.replace(|c: char| !is_plain(c), "-");
            name = format!("{name}-{plain}");
        }
        let setting = Setting {
            profile: &self.request.profile,
            control,
        };
        let head = head(item);
        let [home, _] = access::paths(&self.request.profile);
        let path = if run.home {
            &home
        } else {
            &self.request.profile
        };
        let text = (run.traffic)(&setting).scenario(&name, &head, path);
        let file = format!("scenarios/{name}.toml");
        if self.files.iter().all(|(present, _)| *present != file) {
            self.files.push((file.clone(), text));
        }
        file
    }

    fn check(&self, file: &str, spec: &str, run: &Run, queue: usize) -> Result<(), String> {
        let found = self.files.iter().find(|(name, _)| name == file);
        let text = found.map_or("", |(_, text)| text.as_str());
        let set = self.request.set(run, spec, &self.queues[queue])?;
        self.request.resolve(file, text, &set).map(drop)
    }

    /// Writes the sweep file and its scenarios into `folder`, which is made. What is there already stays if it is the same.
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
            "{HEAD} `quell sweep` runs parts of it elsewhere: quell sweep sweep.toml --store store --shard 1/2\n\n\
             schema = 1\nname = \"characterize\"\nworld = \"{}\"\nseeds = {{ from = 1, count = {} }}\n",
            request.world.name(),
            request.seeds
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
    fn label(&self, cell: &Cell) -> String {
        let queue = &self.queues[cell.queue].name;
        let variant = cell
            .variant
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        let parts = [cell.item.id.to_owned()].into_iter();
        let parts = parts
            .chain(cell.control.clone())
            .chain([queue.clone()])
            .chain(variant);
        parts.collect::<Vec<_>>().join(" ")
    }

    /// The plan of the sweep that [`Prepared::write`] has written.
    ///
    /// # Errors
    ///
    /// As of [`Plan::read`].
    pub fn plan(&self, folder: &Path, guest: &GuestOptions) -> Result<Plan, RunError> {
        Plan::read(&folder.join(SWEEP), None, guest)
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
    pub(crate) fn back(&self, cell: &Cell) -> Result<Vec<String>, String> {
        let scenario = self.resolved(cell)?;
        let groups = scenario.groups.into_iter();
        let back = groups.filter(|group| group.direction == Direction::Reverse);
        Ok(back.map(|group| group.name).collect())
    }

    /// The scenario of a cell as it runs.
    ///
    /// # Errors
    ///
    /// It was not checked before.
    pub fn resolved(&self, cell: &Cell) -> Result<Scenario, String> {
        self.request
            .resolve(&cell.file, self.scenario(cell), &cell.set)
    }
}

/// What a scenario file says of itself.
pub fn head(item: &Item) -> Vec<String> {
    vec![
        format!("{} ({}): {}.", item.source, item.weight, item.title),
        "Made by quell characterize; crates/characterize/src has the table.".to_owned(),
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
