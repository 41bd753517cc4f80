//! The kernels of this user: a folder with one folder per kernel, `NAME/linux`, `NAME/config` and `NAME/kernel.json`.
//!
//! A kernel appears whole or not at all: it is put together in a hidden folder beside the others and renamed. Names that
//! begin with a dot are such folders; those that a killed process left are removed by the next process that makes one.

mod controls;
mod facts;
pub(crate) mod inspect;
pub(crate) mod put;
mod trust;
pub(crate) mod work;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use crate::version::Version;
pub use controls::own_controls;
pub use facts::Facts;
pub use trust::Trusted;

use crate::{Error, Reason, Result, config, hash};

/// Where kernels are kept.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// A kernel of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The facts of its build.
    pub facts: Facts,
}

impl Kernel {
    /// The program to start.
    pub fn executable(&self) -> PathBuf {
        self.folder.join("linux")
    }

    /// The file with its configuration.
    pub fn config(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// Its congestion controls and queue disciplines, by the names of their options: `CUBIC`, `FQ` …
    ///
    /// # Errors
    ///
    /// Its configuration cannot be read.
    pub fn offered(&self) -> Result<(Vec<String>, Vec<String>)> {
        let path = self.config();
        let text = fs::read_to_string(&path).map_err(Error::at("read", &path))?;
        Ok(config::offered(&text))
    }

    /// The congestion controls of its configuration, by their names; `None` where the configuration cannot be read, or has
    /// options whose names are not known.
    pub fn congestion_controls(&self) -> Option<Vec<String>> {
        controls::controls(&fs::read_to_string(self.config()).ok()?)
    }

    /// Whether programs in it can read the standard input of the host; an earlier quell, and a tree of the user's, has no device for it.
    pub fn has_input(&self) -> bool {
        let config = fs::read_to_string(self.config());
        config.is_ok_and(|text| text.lines().any(|line| line == "CONFIG_QUELL_INPUT=y"))
    }

    /// Checks that it may be started: nobody else could have replaced it, and it has not changed since it was put into the store. A
    /// kernel of an earlier version of quell has no SHA-256, and is judged by its owner and mode alone.
    ///
    /// # Errors
    ///
    /// Others could have replaced it, or it has changed.
    pub fn check(&self) -> Result<Trusted> {
        let image = self.executable();
        let trusted = trust::judge(&self.name, &[&image, &self.folder.join("kernel.json")])?;
        let expected = &self.facts.sha256;
        let file = File::open(&image).map_err(Error::at("read", &image))?;
        if !expected.is_empty() && hash::of(&file).map_err(Error::at("read", &image))? != *expected
        {
            let name = &self.name;
            return Err(Error::refused(Reason::with_fix(
                format!(
                    "kernel {name} is not started: {} has changed since it was put into the store",
                    image.display()
                ),
                format!("quell kernel remove {name}, and build or add it again"),
            )));
        }
        Ok(trusted)
    }

    fn read(folder: PathBuf, name: &str) -> Result<Self> {
        let path = folder.join("kernel.json");
        let text = fs::read_to_string(&path).map_err(Error::at("read", &path))?;
        let facts: Facts = serde_json::from_str(&text)
            .map_err(|error| Error::failed(format!("{}: {error}", path.display())))?;
        let kernel = Self {
            name: name.to_owned(),
            folder,
            facts,
        };
        let executable = kernel.executable();
        fs::metadata(&executable).map_err(Error::at("find", &executable))?;
        Ok(kernel)
    }
}

/// The content of a store.
#[derive(Debug, Default)]
pub struct Listing {
    /// The kernels. The newest version comes first, which is the default; among equal versions the one that was built last.
    pub kernels: Vec<Kernel>,
    /// Folders that should hold a kernel and do not, with the reason.
    pub damaged: Vec<(String, Error)>,
}

impl Store {
    /// The store of this user: `$QUELL_KERNELS`, else `$XDG_CACHE_HOME/quell/kernels`, else `~/.cache/quell/kernels`.
    /// It need not exist.
    ///
    /// # Errors
    ///
    /// None of the three variables is set.
    pub fn open() -> Result<Self> {
        place(|name| std::env::var_os(name)).map(Self::at)
    }

    /// The store in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every kernel.
    ///
    /// # Errors
    ///
    /// The folder exists and cannot be read.
    pub fn list(&self) -> Result<Listing> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Listing::default()),
            other => other.map_err(Error::at("read", &self.folder))?,
        };
        let mut listing = Listing::default();
        for entry in entries {
            let entry = entry.map_err(Error::at("read", &self.folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || !entry.path().is_dir() {
                continue;
            }
            match Kernel::read(entry.path(), &name) {
                Ok(kernel) => listing.kernels.push(kernel),
                Err(why) => listing.damaged.push((name, why)),
            }
        }
        listing.kernels.sort_by(|one, other| {
            let key =
                |kernel: &Kernel| (Version::new(&kernel.facts.version), kernel.facts.built_at);
            key(other).cmp(&key(one)).then(one.name.cmp(&other.name))
        });
        listing.damaged.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(listing)
    }

    /// The kernel called `name`; without a name the newest.
    ///
    /// # Errors
    ///
    /// There is none, or it is damaged.
    pub fn find(&self, name: Option<&str>) -> Result<Kernel> {
        let listing = self.list()?;
        let Some(name) = name else {
            return listing.kernels.into_iter().next().ok_or_else(|| {
                Error::refused(format!(
                    "there is no kernel in {}; `quell kernel build` builds one in some minutes",
                    self.folder.display()
                ))
            });
        };
        if let Some((_, why)) = listing.damaged.into_iter().find(|(other, _)| other == name) {
            return Err(Error::failed(format!(
                "kernel {name} is damaged: {why}; `quell kernel remove {name}` removes what is left of it"
            )));
        }
        let names: Vec<&str> = listing.kernels.iter().map(|kernel| &*kernel.name).collect();
        let there = match &names[..] {
            [] => "none; `quell kernel build` builds one in some minutes".to_owned(),
            names => names.join(", "),
        };
        let missing = Error::refused(format!(
            "there is no kernel {name} in {}; there is: {there}",
            self.folder.display()
        ));
        listing
            .kernels
            .into_iter()
            .find(|kernel| kernel.name == name)
            .ok_or(missing)
    }
}

fn place(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = set("QUELL_KERNELS") {
        return Ok(folder.into());
    }
    // The XDG base directory specification: a relative path is invalid and ignored.
    let cache = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let cache = cache.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache
        .map(|cache| cache.join("quell/kernels"))
        .ok_or_else(|| {
            Error::refused(Reason::with_fix(
                "it is not known where kernels are kept: HOME is not set",
                "let QUELL_KERNELS name a folder",
            ))
        })
}
