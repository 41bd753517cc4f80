//! Builds a kernel from source into the store.
//!
//! Everything happens in hidden folders of the store, and outside of the source tree (kbuild's `O=`). The new
//! kernel is asked what it supports, and takes its place with one rename. A build that ends before that leaves only its log, if
//! it failed, and the build tree of a developer's own source ([`kept`]), in which the next build continues.

mod kept;
mod make;
mod needs;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sha2::{Digest as _, Sha256};

use crate::config::{self, Outcome, Wishes};
use crate::hash::hex;
use crate::held::Held;
pub use crate::progress::{Progress, Stage, Told};
use crate::source::tree::{OLDEST, Tree, check_path};
use crate::source::{Source, Wanted, stem};
use crate::store::inspect::inspect;
use crate::store::work::Work;
use crate::store::{Kernel, Store, put};
use crate::{Error, Reason, Result, own_controls, process};
use kept::Kept;
pub use kept::MOST as MOST_TREES;
use make::Make;
use needs::{Environment, Missing};

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The source.
    pub source: Wanted,
    /// Name of the kernel; `None` for its version, followed by the folder's name for a tree of the user's own.
    pub name: Option<String>,
    /// A file of kernel options in addition to quell's.
    pub fragment: Option<PathBuf>,
    /// Whether to start from scratch, although there is a build tree of this source.
    pub clean: bool,
}

/// A kernel that was asked for.
#[derive(Debug)]
pub struct Built {
    /// The kernel.
    pub kernel: Kernel,
    /// What the kernel has and what it lacks; `None` if it was in the store already.
    pub outcome: Option<Outcome>,
    /// The build tree in which the next build of this source continues; only a source folder has one.
    pub tree: Option<PathBuf>,
}

/// Builds the requested kernel, or returns it at once if the store has it.
///
/// # Errors
///
/// A tool is missing, the source cannot be fetched, the build fails, or `stop` is set. Each says how to fix it.
pub fn build(
    store: &Store,
    request: &Request,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Told),
) -> Result<Built> {
    stage(tell, Stage::Looking);
    if let Some(name) = &request.name {
        put::check_form(name)?;
    }
    let fragment =
        match &request.fragment {
            Some(path) => Some(fs::read_to_string(path).map_err(|error| {
                Error::refused(format!("cannot read {}: {error}", path.display()))
            })?),
            None => None,
        };
    let wishes = Wishes::new(fragment.as_deref())?;
    let source = Source::find(&request.source)?;
    if request.clean && source.folder().is_none() {
        return Err(Error::refused(
            "--clean has an effect only with --source FOLDER: nothing else has a build tree that is kept".to_owned(),
        ));
    }
    let folder = std::path::absolute(store.folder()).map_err(Error::at("find", store.folder()))?;
    let tree = source
        .folder()
        .map(|source| kept::place(&folder, source, &wishes.identity()));
    let hash = identity(&source, &wishes, stop)?;
    if let Some(kernel) = there(store, &hash, request, tree.as_ref())? {
        return Ok(kernel);
    }
    check_path(
        &folder,
        "kernels are kept in",
        "let QUELL_KERNELS name another folder",
    )?;
    let missing = Missing::find()?;
    let work = Work::new(&folder, &hash[..16], stop, || stage(tell, Stage::Waiting))?;
    // What another process has built meanwhile.
    if let Some(kernel) = there(store, &hash, request, tree.as_ref())? {
        return Ok(kernel);
    }
    check_space(&folder, source.megabytes())?;
    let kept = match (tree, source.folder()) {
        (Some(tree), Some(source)) => Some(Kept::take(tree, source, request.clean, stop, || {
            stage(tell, Stage::Waiting);
        })?),
        _ => None,
    };
    let build = Build {
        store,
        request,
        work: &work,
        kept: kept.as_ref(),
        source: &source,
        wishes: &wishes,
        missing: &missing,
        hash: &hash,
        stop,
    };
    let built = build
        .run(tell)
        .map_err(|error| failed(error, &work, &folder, request));
    // A hundred thousand files.
    stage(tell, Stage::CleaningUp);
    drop(work);
    built
}

/// The kernel of the store that was asked for, if there is one.
fn there(
    store: &Store,
    hash: &str,
    request: &Request,
    tree: Option<&PathBuf>,
) -> Result<Option<Built>> {
    if request.clean {
        return Ok(None);
    }
    let kernels = store.list()?.kernels;
    let same = kernels.into_iter().find(|kernel| {
        kernel.facts.config_hash == hash
            && request
                .name
                .as_ref()
                .is_none_or(|name| *name == kernel.name)
    });
    let Some(mut kernel) = same else {
        return Ok(None);
    };
    // One that others could have replaced is no kernel that is there, but one to be built again.
    match store.adopt(&mut kernel) {
        Err(Error::Refused(_)) => Ok(None),
        // A store that is read only serves as it is.
        Ok(()) | Err(_) => Ok(Some(Built {
            kernel,
            outcome: None,
            tree: tree.filter(|tree| tree.exists()).cloned(),
        })),
    }
}

/// A hash of everything that decides which kernel is built.
fn identity(source: &Source, wishes: &Wishes, stop: &AtomicBool) -> Result<String> {
    let mut hash = Sha256::new();
    let controls = source.is_unpacked().then(own_controls::identity);
    let parts = [
        source.origin(),
        source.fingerprint(stop)?,
        wishes.identity(),
    ];
    for part in parts.into_iter().chain(controls) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Ok(hex(&hash.finalize()))
}

fn stage(tell: &mut dyn FnMut(Told), stage: Stage) {
    tell(Told::Progress(Progress {
        stage,
        done: 0,
        total: 0,
    }));
}

/// A build that runs.
struct Build<'a> {
    store: &'a Store,
    request: &'a Request,
    work: &'a Work,
    kept: Option<&'a Kept>,
    source: &'a Source,
    wishes: &'a Wishes,
    missing: &'a Missing,
    hash: &'a str,
    stop: &'a AtomicBool,
}

impl Build<'_> {
    fn run(&self, tell: &mut dyn FnMut(Told)) -> Result<Built> {
        if !self.missing.is_empty() {
            stage(tell, Stage::FetchingTools);
        }
        let log = self.work.path("log");
        let tools = self
            .missing
            .fetch(&self.work.path("tools"), &log, self.stop)?;
        let tree = &self.source.obtain(self.work, self.stop, tell)?;
        if tree.is_old() {
            tell(Told::Note(format!(
                "Linux {} is older than {OLDEST}, the oldest version that quell is tested with",
                tree.version
            )));
        }
        let name = self.name(tree);
        let replace = self.may_replace(&name)?;

        let has_own = self.source.is_unpacked() && !tree.is_old();
        if has_own {
            own_controls::add(&tree.folder)?;
        }
        let (make, outcome, fresh) = self.configure(tree, log.clone(), tools, has_own, tell)?;
        let steps = self.compile(&make, fresh, tell)?;
        let (name, kernel) = (name.as_str(), &make.kernel());
        let kernel = self.put(name, replace, kernel, &log, steps)?;
        Ok(Built {
            kernel,
            outcome: Some(outcome),
            tree: self.kept.map(|kept| kept.folder().to_owned()),
        })
    }

    /// Configures `tree` and checks what came of it. Also whether nothing is compiled yet.
    fn configure<'t>(
        &self,
        tree: &'t Tree,
        log: PathBuf,
        tools: Environment,
        has_own: bool,
        tell: &mut dyn FnMut(Told),
    ) -> Result<(Make<'t>, Outcome, bool)> {
        stage(tell, Stage::Configuring);
        let mut wishes = self.wishes.with_tree(&tree.folder, true)?;
        let place = self.kept.map_or(self.work.folder(), Kept::folder);
        let make = Make::new(&tree.folder, place, log, tools)?;
        if self.kept.is_some() {
            make.write_makefile()?;
        }
        // What is compiled already is not compiled again, and how much that is nobody knows before.
        let fresh = !make.kernel().exists();
        make.configure(&wishes, self.stop)?;
        // A later kernel may have changed what they call, and is of use without them.
        if has_own && !make.compiles(own_controls::FOLDER, self.stop)? {
            tell(Told::Note(format!(
                "quell's own congestion controls ({}) do not compile with Linux {}: the kernel is built without them",
                own_controls::names().join(", "),
                tree.version
            )));
            wishes = self.wishes.with_tree(&tree.folder, false)?;
            make.configure(&wishes, self.stop)?;
        }
        let whose = format!("the configuration of {}", self.source.describe());
        let outcome = wishes.verify(&make.config()?, &whose)?;
        config::verify_clock(&make.config()?)?;
        Ok((make, outcome, fresh))
    }

    /// Compiles, and returns how many steps that takes.
    fn compile(&self, make: &Make<'_>, fresh: bool, tell: &mut dyn FnMut(Told)) -> Result<u64> {
        let before = self.store.list()?.kernels;
        let total = before
            .iter()
            .map(|kernel| kernel.facts.build_steps)
            .find(|&n| n > 0);
        let usual = total.unwrap_or(make::STEPS);
        let total = if fresh { usual } else { 0 };
        let steps = make.compile(self.stop, |done| {
            tell(Told::Progress(Progress {
                stage: Stage::Compiling,
                done: if fresh { done.min(total) } else { done },
                total,
            }));
        })?;
        Ok(if fresh { steps } else { usual })
    }

    /// Puts the kernel that was built into the store.
    fn put(
        &self,
        name: &str,
        replace: bool,
        built: &Path,
        log: &Path,
        steps: u64,
    ) -> Result<Kernel> {
        // The kernel tells itself what it is.
        let inspected = inspect(built)?;
        if !inspected.time_travel {
            return Err(Error::failed(
                "the kernel that was built has no time travel".to_owned(),
            ));
        }
        let folder = self.work.path(put::NEW);
        let new = self.work.held().make(put::NEW, 0o755);
        // Open as long as something is put into it: its path leads through the descriptor.
        let new = new.map_err(Error::at("make", &folder))?;
        let take = |from: &Path, name: &str| {
            fs::rename(from, new.path().join(name)).map_err(Error::at("move", from))
        };
        if self.kept.is_some() {
            fs::copy(built, new.path().join("linux")).map_err(Error::at("copy", built))?;
        } else {
            take(built, "linux")?;
        }
        take(log, "log")?;
        let mut facts = put::facts(
            name,
            &inspected,
            self.source.describe(),
            self.source.origin(),
        );
        facts.config_hash = self.hash.to_owned();
        facts.build_steps = steps;
        let kernel = self
            .store
            .put(self.work, &inspected.config, facts, replace)?;
        let _ = fs::remove_file(failed_log(self.store.folder(), self.request));
        Ok(kernel)
    }

    /// As asked for, else of the version, the source and the fragment.
    fn name(&self, tree: &Tree) -> String {
        if let Some(name) = &self.request.name {
            return name.clone();
        }
        let name = self.source.name(&tree.version);
        match &self.request.fragment {
            Some(fragment) => format!("{name}-{}", stem(fragment)),
            None => name,
        }
    }

    /// Whether a kernel called `name` is an earlier one of the same source.
    fn may_replace(&self, name: &str) -> Result<bool> {
        let kernels = self.store.list()?.kernels;
        let earlier = kernels.iter().any(|kernel| {
            kernel.name == name
                && !kernel.facts.config_hash.is_empty()
                && kernel.facts.origin == self.source.origin()
        });
        if !earlier {
            self.store.check_name(name)?;
        }
        Ok(earlier)
    }
}

/// Returns an error if the disk is too full, before hundreds of megabytes are written to it.
fn check_space(folder: &Path, megabytes: u64) -> Result<()> {
    // A file system that does not tell is tried.
    let Ok(space) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = space.f_bavail.saturating_mul(space.f_frsize) >> 20;
    if free >= megabytes {
        return Ok(());
    }
    Err(Error::failed(Reason::with_fix(
        format!(
            "building takes {megabytes} MB for a while, and {} has {free} MB free",
            folder.display()
        ),
        "free some space, or let QUELL_KERNELS name a folder on another disk",
    )))
}

/// The file for the log of a failed build.
fn failed_log(store: &Path, request: &Request) -> PathBuf {
    let name = request.name.as_deref().unwrap_or("build");
    store.join(format!("failed-{name}.log"))
}

/// Keeps the log of a failed build, and adds its last lines to the error.
fn failed(error: Error, work: &Work, store: &Path, request: &Request) -> Error {
    let Error::Failed(why) = &error else {
        return error;
    };
    let tail = process::tail(&work.path("log"), 15);
    if tail.is_empty() {
        return error;
    }
    let kept = failed_log(store, request);
    let name = kept.file_name().unwrap_or_default();
    let moved = Held::open(store).and_then(|store| work.held().rename("log", &store, name));
    let whole = match moved {
        Ok(()) => format!("; the whole log: {}", kept.display()),
        Err(_) => String::new(),
    };
    let (cause, fix) =
        if tail.contains("No space left on device") || tail.contains("Disk quota exceeded") {
            let fix = "free some space, or let QUELL_KERNELS name a folder on another disk";
            ("; the disk is full", Some(fix.to_owned()))
        } else if tail.contains("Killed signal") || tail.contains("Cannot allocate memory") {
            let fix = "end other programs";
            ("; the memory did not suffice", Some(fix.to_owned()))
        } else {
            ("", why.fix.clone())
        };
    Error::Failed(Reason {
        what: format!("{}{cause}{whole}; it ends with:\n{tail}", why.what),
        fix,
    })
}
