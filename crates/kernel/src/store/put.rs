//! Putting kernels into the store, and removing them.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::controls::controls;
use super::inspect::{Inspected, inspect};
use super::work::Work;
use super::{Facts, Kernel, Store};
use crate::config::{Outcome, Wishes};
use crate::durable::{sync_names, sync_tree};
use crate::hash;
use crate::{Error, Result};

/// Longest name.
const LONGEST: usize = 100;

impl Store {
    /// Copies the user-mode kernel at `path` into the store, under `name` or, without one, its version. With `replace` it takes the
    /// place of a kernel of that name; runs that use it continue with it.
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
        let inspected = inspect(path)?;
        let outcome = usable(&inspected, &format!("{}", path.display()))?;
        let name = name.unwrap_or(&inspected.version);
        check(name)?;
        let process = std::process::id();
        let work = Work::new(self.folder(), &format!("add-{process}-{name}"), stop, || {})?;
        let folder = work.path("kernel");
        fs::create_dir(&folder).map_err(Error::at("make", &folder))?;
        let source = std::path::absolute(path).map_err(Error::at("find", path))?;
        let copy = folder.join("linux");
        fs::copy(&source, &copy).map_err(Error::at("copy", path))?;
        let source = source.display().to_string();
        let facts = facts(name, &inspected, format!("added from {source}"), source);
        self.put(&folder, &inspected.config, facts, replace)
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
        fs::rename(&folder, work.path("kernel")).map_err(Error::at("remove", &folder))
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
        let (path, new) = (
            kernel.folder.join("kernel.json"),
            kernel.folder.join(".kernel.json"),
        );
        fs::write(&new, text + "\n").map_err(Error::at("write", &new))?;
        fs::rename(&new, &path).map_err(Error::at("write", &path))
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

    /// Completes `folder`, which holds `linux`, and gives it its place. With `replace` it takes that of a kernel of the same name.
    /// Whatever the umask, nobody else may write it.
    pub(crate) fn put(
        &self,
        folder: &Path,
        config: &str,
        mut facts: Facts,
        replace: bool,
    ) -> Result<Kernel> {
        let image = folder.join("linux");
        let mode = |path: &Path, mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(path, permissions).map_err(Error::at("set the mode of", path))
        };
        mode(folder, 0o755)?;
        mode(&image, 0o755)?;
        let opened = File::open(&image).map_err(Error::at("read", &image))?;
        facts.sha256 = hash::of(&opened).map_err(Error::at("read", &image))?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::at("write", &path))?;
            mode(&path, 0o644)
        };
        write("config", config)?;
        let text = serde_json::to_string_pretty(&facts)
            .map_err(|error| Error::failed(format!("kernel.json: {error}")))?;
        write("kernel.json", &(text + "\n"))?;
        sync_tree(folder).map_err(Error::at("write", folder))?;
        let place = self.folder().join(&facts.name);
        let rename = |flags| renameat_with(CWD, folder, CWD, &place, flags);
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
                if replace && place.exists() {
                    let aside = folder.with_file_name("replaced");
                    fs::rename(&place, &aside).map_err(Error::at("replace", &place))?;
                }
                fs::rename(folder, &place).map_err(|error| match error.kind() {
                    ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
                        taken(&facts.name, &place)
                    }
                    _ => Error::at("make", &place)(error),
                })
            }
            Err(errno) => Err(Error::at("make", &place)(errno.into())),
        }?;
        sync_names(self.folder()).map_err(Error::at("write", self.folder()))?;
        Ok(Kernel {
            name: facts.name.clone(),
            folder: place,
            facts,
        })
    }
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
