//! Putting kernels into the store, and removing them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use super::controls::controls;
use super::inspect::{Inspected, inspect};
use super::work::Work;
use super::{Facts, Kernel, Store};
use crate::config::{Outcome, Wishes};
use crate::durable::{sync_names, sync_tree};
use crate::hash;
use crate::held::Held;
use crate::{Error, Result};

/// A kernel in the folder in which it is put together.
pub(crate) const NEW: &str = "kernel";
/// The facts of a kernel, in its folder.
const FACTS: &str = "kernel.json";
/// Longest text of them, in bytes.
const LONGEST_FACTS: u64 = 1 << 20;
/// Longest name.
const LONGEST: usize = 100;

impl Store {
    /// Copies the user-mode kernel at `path` into the store, under `name` or, without one, its version. The folder of a kernel in another
    /// store keeps its name and the facts of its build. With `replace` it takes the place of a kernel of that name; runs that use it
    /// continue with it.
    ///
    /// # Errors
    ///
    /// The file is no user-mode kernel that the virtual world can use, or the name is taken or impossible.
    pub fn add(
        &self,
        path: &Path,
        name: Option<&str>,
        replace: bool,
        stop: &AtomicBool,
    ) -> Result<(Kernel, Outcome)> {
        let check = |name| {
            if replace {
                check_form(name)
            } else {
                self.check_name(name)
            }
        };
        if let Some(name) = name {
            check(name)?;
        }
        let known = of_other_store(path)?;
        let image = path.join("linux");
        let path = if known.is_some() { &image } else { path };
        let inspected = inspect(path)?;
        let outcome = usable(&inspected, &format!("{}", path.display()))?;
        let there = known.as_ref().map_or(&inspected.version, |it| &it.name);
        let name = &name.unwrap_or(there).to_owned();
        check(name)?;
        let process = std::process::id();
        let work = Work::new(self.folder(), &format!("add-{process}-{name}"), stop, || {})?;
        let folder = work.path(NEW);
        let new = work.held().make(NEW, 0o755);
        let new = new.map_err(Error::at("make", &folder))?;
        let source = std::path::absolute(path).map_err(Error::at("find", path))?;
        fs::copy(&source, new.path().join("linux")).map_err(Error::at("copy", path))?;
        let shown = source.display().to_string();
        let facts = match known {
            None => facts(name, &inspected, format!("added from {shown}"), shown),
            Some(known) => Facts {
                origin: known.origin.clone(),
                built_at: known.built_at,
                config_hash: known.config_hash,
                build_steps: known.build_steps,
                ..facts(name, &inspected, known.source, known.origin)
            },
        };
        self.put(&work, &inspected.config, facts, replace)
            .map(|kernel| (kernel, outcome))
    }

    /// Removes a kernel, also a damaged one. A kernel that runs keeps running.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub fn remove(&self, name: &str) -> Result<()> {
        let folder = self.folder().join(name);
        if check_form(name).is_err() || !folder.is_dir() {
            return Err(match self.find(Some(name)) {
                Err(error) => error,
                Ok(_) => Error::refused(format!("there is no kernel {name}")),
            });
        }
        // First out of sight, so that nobody sees half a kernel.
        let stop = AtomicBool::new(false);
        let process = std::process::id();
        let work = Work::new(
            self.folder(),
            &format!("remove-{process}-{name}"),
            &stop,
            || {},
        )?;
        let store = self.held()?;
        let moved = store.rename(name, work.held(), NEW);
        moved.map_err(Error::at("remove", &folder))
    }

    /// Enters the SHA-256 of a kernel that an earlier version put here, if nobody else could have replaced it.
    pub(crate) fn adopt(&self, kernel: &mut Kernel) -> Result<()> {
        if !kernel.facts.sha256.is_empty() {
            return Ok(());
        }
        kernel.check()?;
        let image = kernel.executable();
        let opened = File::open(&image).map_err(Error::at("read", &image))?;
        kernel.facts.sha256 = hash::of(&opened).map_err(Error::at("read", &image))?;
        let text = serde_json::to_string_pretty(&kernel.facts)
            .map_err(|error| Error::failed(format!("kernel.json: {error}")))?;
        let folder = self.held()?.inside(&kernel.name);
        let folder = folder.map_err(Error::at("read", &kernel.folder))?;
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut new = folder
            .file(".kernel.json", how)
            .map_err(Error::at("write", &kernel.folder))?;
        let written = writeln!(new, "{text}");
        let written = written.and_then(|()| folder.rename(".kernel.json", &folder, FACTS));
        written.map_err(Error::at("write", &kernel.folder))
    }

    /// The open folder of the store.
    fn held(&self) -> Result<Held> {
        Held::open(self.folder()).map_err(Error::at("read", self.folder()))
    }

    /// Checks that a new kernel can have this name.
    ///
    /// # Errors
    ///
    /// The name is impossible or taken.
    pub(crate) fn check_name(&self, name: &str) -> Result<()> {
        check_form(name)?;
        let folder = self.folder().join(name);
        if folder.exists() {
            return Err(taken(name, &folder));
        }
        Ok(())
    }

    /// Completes the folder [`NEW`] of `work`, which holds `linux`, and gives it its place. With `replace` it takes that of a kernel of
    /// the same name. Whatever the umask, nobody else may write it.
    pub(crate) fn put(
        &self,
        work: &Work,
        config: &str,
        mut facts: Facts,
        replace: bool,
    ) -> Result<Kernel> {
        let path = work.path(NEW);
        let folder = work.held().inside(NEW).map_err(Error::at("read", &path))?;
        let file = |name: &str, mode, how| {
            let file = folder.file(name, how);
            let file = file.and_then(|file| {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
                Ok(file)
            });
            file.map_err(Error::at("write", &path.join(name)))
        };
        folder
            .set_mode(0o755)
            .map_err(Error::at("set the mode of", &path))?;
        let image = file("linux", 0o755, OFlags::RDONLY)?;
        facts.sha256 = hash::of(&image).map_err(Error::at("read", &path))?;
        let write = |name: &str, text: &str| {
            let mut file = file(name, 0o644, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
            file.write_all(text.as_bytes())
                .map_err(Error::at("write", &path.join(name)))
        };
        write("config", config)?;
        let text = serde_json::to_string_pretty(&facts)
            .map_err(|error| Error::failed(format!("kernel.json: {error}")))?;
        write(FACTS, &(text + "\n"))?;
        sync_tree(&folder.path()).map_err(Error::at("write", &path))?;
        let (store, place) = (self.held()?, self.folder().join(&facts.name));
        let name = OsStr::new(&facts.name);
        let rename = |flags| {
            work.held()
                .rename_with(OsStr::new(NEW), &store, name, flags)
        };
        let mut done = rename(RenameFlags::NOREPLACE);
        if done == Err(Errno::EXIST) && replace {
            // What was there comes to lie in the working folder, which is removed.
            done = rename(RenameFlags::EXCHANGE);
        }
        match done {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(taken(&facts.name, &place)),
            // Some file systems know no flags.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if replace && store.has(name) {
                    let moved = store.rename(name, work.held(), "replaced");
                    moved.map_err(Error::at("replace", &place))?;
                }
                let moved = work.held().rename(NEW, &store, name);
                moved.map_err(|error| match error.kind() {
                    ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
                        taken(&facts.name, &place)
                    }
                    _ => Error::at("make", &place)(error),
                })
            }
            Err(errno) => Err(Error::at("make", &place)(errno.into())),
        }?;
        sync_names(&store.path()).map_err(Error::at("write", self.folder()))?;
        Ok(Kernel {
            name: facts.name.clone(),
            folder: place,
            facts,
        })
    }
}

/// The facts of the kernel in a folder of another store; `None` of anything else. They say nothing about the image: that is asked.
fn of_other_store(path: &Path) -> Result<Option<Facts>> {
    let Ok(file) = Held::open(path).and_then(|folder| folder.file(FACTS, OFlags::RDONLY)) else {
        return Ok(None);
    };
    let read = serde_json::from_reader(file.take(LONGEST_FACTS));
    let read =
        read.map_err(|error| Error::refused(format!("{}: {error}", path.join(FACTS).display())));
    read.map(Some)
}

/// The facts of a kernel that was made now.
pub(crate) fn facts(name: &str, inspected: &Inspected, source: String, origin: String) -> Facts {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Facts {
        name: name.to_owned(),
        version: inspected.version.clone(),
        source,
        origin,
        built_at: now.map_or(0, |now| now.as_secs()),
        config_hash: String::new(),
        sha256: String::new(),
        build_steps: 0,
        congestion_controls: controls(&inspected.config).unwrap_or_default(),
        time_travel: inspected.time_travel,
        seccomp: inspected.seccomp,
    }
}

/// Checks that the virtual world can use the kernel that gave these answers; returns the optional options that it lacks.
fn usable(inspected: &Inspected, whose: &str) -> Result<Outcome> {
    if !inspected.time_travel {
        return Err(Error::refused(format!(
            "{whose} (Linux {}) has no time travel, so its clock cannot be simulated; build it with \
             CONFIG_UML_TIME_TRAVEL_SUPPORT=y, or let quell do it: quell kernel build --source TREE",
            inspected.version
        )));
    }
    let wishes = Wishes::new(None)?;
    wishes
        .verify(&inspected.config, whose)
        .map_err(|error| Error::refused(error.to_string()))
}

fn taken(name: &str, place: &Path) -> Error {
    Error::refused(format!(
        "there is a kernel {name} already ({}); choose another name with --name, let `quell kernel add` --replace it, or remove it: quell kernel remove {name}",
        place.display()
    ))
}

/// Checks the form of a name: names are folders, are typed, and appear in reports.
pub(crate) fn check_form(name: &str) -> Result<()> {
    let right = name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._+~-".contains(c));
    if right {
        return Ok(());
    }
    Err(Error::refused(format!(
        "{name:?} cannot be the name of a kernel: at most {LONGEST} letters, digits and . _ + ~ -, a letter or digit first; \
         --name chooses one"
    )))
}
