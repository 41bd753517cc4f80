//! Source packages of Debian and Ubuntu: finding, reading and fetching them.
//!
//! None of it needs root: `apt-get download` verifies the checksum and the signature chain of what it fetches and puts it into the
//! current folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::process::{Job, command, is_there, output};
use crate::store::Version;
use crate::{Error, Reason, Result};

/// The name of the packages begins so, and ends with the kernel's version.
const PREFIX: &str = "linux-source-";
/// How long a look at apt's lists or a package's head may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A source package that apt can fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// `linux-source-6.1`.
    pub(crate) name: String,
    /// `6.1.192-2`.
    pub(crate) version: String,
    /// Size of the file in bytes; 0 if apt does not report it.
    pub(crate) size: u64,
}

impl Package {
    /// The newest package that apt knows.
    ///
    /// # Errors
    ///
    /// There is no apt, or it knows none.
    pub(crate) fn newest() -> Result<Self> {
        check_apt()?;
        let mut search = command("apt-cache");
        search.args([
            "search",
            "--names-only",
            "^linux-source-[0-9]+([.][0-9]+)+$",
        ]);
        let found = output(&mut search, LIMIT)?;
        let name = newest(&found).ok_or_else(|| unknown("no package linux-source-VERSION"))?;
        Self::of(&name)
    }

    /// The package that the user names: `linux-source-6.1`, `6.1`, `6.1=6.1.192-2`.
    ///
    /// # Errors
    ///
    /// There is no apt, or it does not know the package.
    pub(crate) fn named(wish: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-.:~=".contains(c);
        if wish.is_empty()
            || !wish.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !wish.chars().all(plain)
        {
            return Err(Error::refused(format!(
                "--package {wish}: must be a package such as linux-source-6.1, or its version, 6.1"
            )));
        }
        check_apt()?;
        if wish.starts_with(|c: char| c.is_ascii_digit()) {
            return Self::of(&format!("{PREFIX}{wish}"));
        }
        Self::of(wish)
    }

    fn of(wish: &str) -> Result<Self> {
        let mut show = command("apt-cache");
        show.args(["show", "--no-all-versions", wish]);
        let unknown = || unknown(&format!("no package {wish}"));
        let shown = output(&mut show, LIMIT).map_err(|_| unknown())?;
        let field = |name| field(&shown, name);
        let name = field("Package").ok_or_else(unknown)?;
        let version = field("Version").ok_or_else(unknown)?;
        if !name.starts_with(PREFIX) {
            return Err(Error::refused(format!(
                "{name} is no package of a kernel source; those are called {PREFIX}VERSION: apt-cache search {PREFIX}"
            )));
        }
        Ok(Self {
            size: field("Size")
                .and_then(|size| size.parse().ok())
                .unwrap_or(0),
            name,
            version,
        })
    }

    /// Fetches it into `folder`; calls `progress` with the number of bytes so far.
    ///
    /// # Errors
    ///
    /// It cannot be fetched; `stop` is set.
    pub(crate) fn fetch(
        &self,
        folder: &Path,
        log: &Path,
        stop: &AtomicBool,
        mut progress: impl FnMut(u64),
    ) -> Result<PathBuf> {
        let mut get = download(folder);
        get.arg(format!("{}={}", self.name, self.version));
        let fetched = Job::start(vec![get], log, "")?.finish(stop, |_| progress(size_of(folder)));
        let file = package_in(folder);
        match (fetched, file) {
            (Ok(()), Some(file)) => Ok(file),
            (Err(Error::Stopped), _) => Err(Error::Stopped),
            (failed, _) => Err(Error::failed(format!(
                "{} {} could not be fetched ({}); is the network there, and are the package lists fresh (sudo apt-get update)? A \
                 package file that was fetched elsewhere serves too: --source FILE.deb",
                self.name,
                self.version,
                failed.err().map_or_else(
                    || "apt-get left no file".to_owned(),
                    |error| error.to_string()
                ),
            ))),
        }
    }
}

/// `apt-get download` into `folder`.
pub(crate) fn download(folder: &Path) -> std::process::Command {
    let mut get = command("apt-get");
    get.args(["-q", "-o", "Acquire::Retries=3", "download"])
        .current_dir(folder);
    get
}

/// Name and version that the package file `path` states.
///
/// # Errors
///
/// It is no package, or a broken one.
pub(crate) fn head(path: &Path) -> Result<(String, String)> {
    if !is_there("dpkg-deb", None) {
        return Err(Error::failed(format!(
            "opening {} needs dpkg-deb; where there is none, unpack the archive of the source inside elsewhere and use --source DIR",
            path.display()
        )));
    }
    let mut show = command("dpkg-deb");
    show.arg("--field").arg(path).args(["Package", "Version"]);
    let broken = |why: &str| {
        Error::refused(format!(
            "{} is no whole package ({why}); fetch it again",
            path.display()
        ))
    };
    let shown = output(&mut show, LIMIT).map_err(|error| broken(&error.to_string()))?;
    match (field(&shown, "Package"), field(&shown, "Version")) {
        (Some(name), Some(version)) => Ok((name, version)),
        _ => Err(broken("it has no name or version")),
    }
}

/// The archive of the kernel source in the package file `path`, by its name there.
///
/// # Errors
///
/// There is none.
pub(crate) fn archive(path: &Path) -> Result<String> {
    let mut list = command("dpkg-deb");
    list.arg("--contents").arg(path);
    let listed = output(&mut list, LIMIT).map_err(|error| {
        Error::failed(format!(
            "{} is broken ({error}); fetch it again",
            path.display()
        ))
    })?;
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let mut archives = names.filter(|name| {
        let file = name.rsplit('/').next().unwrap_or(name);
        file.starts_with("linux-source-") && file.contains(".tar.")
    });
    archives.next().map(str::to_owned).ok_or_else(|| {
        Error::refused(format!(
            "{} holds no archive linux-source-VERSION.tar; packages of kernel sources do, those of headers or images do not",
            path.display()
        ))
    })
}

fn check_apt() -> Result<()> {
    if ["apt-get", "apt-cache", "dpkg-deb"]
        .iter()
        .all(|program| is_there(program, None))
    {
        return Ok(());
    }
    Err(Error::refused(Reason::with_fix(
        "there is no apt here to fetch a kernel source with",
        "name a source: --source DIR, --source linux-VERSION.tar.xz (kernel.org has them), or --source FILE.deb",
    )))
}

fn unknown(what: &str) -> Error {
    Error::refused(Reason::with_fix(
        format!("apt knows {what}"),
        "sudo apt-get update (on Debian the section main has them); or name a source: --source DIR, \
         --source linux-VERSION.tar.xz (kernel.org has them), --source FILE.deb",
    ))
}

/// The newest package of what `apt-cache search` prints: `NAME - description` on each line.
fn newest(found: &str) -> Option<String> {
    let names = found
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let versions = names.filter_map(|name| Some((Version::new(name.strip_prefix(PREFIX)?), name)));
    let newest = versions.max_by(|one, other| one.0.cmp(&other.0))?;
    Some(newest.1.to_owned())
}

/// The first field of a name in what apt and dpkg print.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(value.trim().to_owned())
    })
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

/// Bytes of all files, also of one that is still being fetched.
fn size_of(folder: &Path) -> u64 {
    files(folder)
        .filter_map(|path| path.metadata().ok())
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len())
        .sum()
}

fn package_in(folder: &Path) -> Option<PathBuf> {
    files(folder).find(|path| path.extension().is_some_and(|extension| extension == "deb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_is_that_of_the_newest_kernel() {
        let found = "linux-source-6.9 - Linux kernel source\nlinux-source-6.12 - Linux kernel source\n\
                     linux-source-5.10 - Linux kernel source\n";
        assert_eq!(newest(found).unwrap(), "linux-source-6.12");
        assert_eq!(newest(""), None);
        // Ubuntu's have three numbers.
        assert_eq!(
            newest("linux-source-6.8.0 - x\nlinux-source-6.11.0 - y\n").unwrap(),
            "linux-source-6.11.0"
        );
    }

    #[test]
    fn what_cannot_be_a_package_is_refused_before_apt_sees_it() {
        for wish in ["", "-o=Dir=/", "6.1;true", "linux source", "=1"] {
            let error = Package::named(wish).unwrap_err();
            assert!(error.is_refusal(), "{error}");
            assert!(error.to_string().contains("must be a package"), "{error}");
        }
    }
}
