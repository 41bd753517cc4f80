//! Links with names: the control socket of `quell exec --name NAME` lies in a folder of its user's, where others find it.
//!
//! The folder is `$XDG_RUNTIME_DIR/quell/links`, or `quell-UID/links` among the temporary files, which must be the user's alone.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use crate::error::{Doing as _, Error, Result};
use crate::name_error::{LONGEST, NameError};

/// How long a link may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the links of this user are.
fn folder() -> PathBuf {
    let given = env::var_os("XDG_RUNTIME_DIR").filter(|place| Path::new(place).is_absolute());
    let around = match given {
        Some(place) => PathBuf::from(place).join("quell"),
        None => env::temp_dir().join(format!("quell-{}", geteuid().as_raw())),
    };
    around.join("links")
}

/// Where the control socket of the link called `name` is to be; makes the folder for it.
///
/// # Errors
///
/// The name cannot be one, a link of this name runs, or the folder cannot be made or is not this user's alone.
pub fn place(name: &str) -> Result<PathBuf> {
    let socket = socket(name)?;
    if let Ok(link) = NamedLink::connect(name) {
        let (name, pid) = (name.to_owned(), link.pid);
        return Err(NameError::Taken { name, pid }.into());
    }
    let links = folder();
    for part in [links.parent().unwrap_or(&links), &links] {
        match DirBuilder::new().mode(0o700).create(part) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).doing(&format!("make {}", part.display()));
            }
            _ => {}
        }
        let found = fs::symlink_metadata(part).doing(&format!("look at {}", part.display()))?;
        let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
        if !is_own || found.mode() & 0o022 != 0 {
            return Err(NameError::Foreign(part.to_owned()).into());
        }
    }
    Ok(socket)
}

fn socket(name: &str) -> Result<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.len() > LONGEST
        || !name.bytes().all(is_plain)
        || name.trim_start_matches('.') != name
        || name.is_empty()
    {
        return Err(NameError::Form(name.to_owned()).into());
    }
    Ok(folder().join(name))
}

/// The names in the folder, in order, whether or not somebody listens.
pub fn names() -> Vec<String> {
    let found = fs::read_dir(folder()).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| socket(name).is_ok()).collect();
    names.sort_unstable();
    names
}

/// A link that runs.
#[derive(Debug)]
pub struct NamedLink {
    stream: UnixStream,
    /// The quell around it; 0 where it cannot be seen.
    pub pid: i32,
    /// Whether it belongs to the user of this process.
    pub(crate) is_own: bool,
}

impl NamedLink {
    /// The link called `name`, or the one whose control socket has this path, which begins with `/`.
    ///
    /// # Errors
    ///
    /// Nobody listens there; the error names those that run.
    pub fn connect(name: &str) -> Result<Self> {
        let place = match name.starts_with('/') {
            true => name.into(),
            false => socket(name)?,
        };
        let stream = UnixStream::connect(place).map_err(|_| {
            let runs = |other: &String| {
                *other != name && socket(other).is_ok_and(|path| UnixStream::connect(path).is_ok())
            };
            NameError::Unknown {
                name: name.to_owned(),
                others: names().into_iter().filter(runs).collect(),
            }
        })?;
        // For programs behind the link, which have process ids of their own, it has no number.
        let listener = rustix::net::sockopt::socket_peercred(&stream).ok();
        let patience = stream.set_read_timeout(Some(PATIENCE));
        patience.doing("talk to the link")?;
        Ok(Self {
            stream,
            pid: Pid::as_raw(listener.as_ref().map(|of| of.pid)),
            is_own: listener.is_some_and(|of| of.uid == geteuid()),
        })
    }

    /// What the link answers to a request of [`crate::control`].
    ///
    /// # Errors
    ///
    /// It refuses, ends meanwhile, or does not answer.
    pub fn ask(&mut self, request: &Value) -> Result<Value> {
        let mut answer = String::new();
        let asked = writeln!(self.stream, "{request}");
        let read = asked.and_then(|()| BufReader::new(&self.stream).read_line(&mut answer));
        read.doing("talk to the link")?;
        let answer: Value = serde_json::from_str(&answer).map_err(|_| Error::Gone("the link"))?;
        match answer["error"].as_str() {
            Some(why) => Err(NameError::Refused(why.to_owned()).into()),
            None => Ok(answer),
        }
    }

    /// The link in a few words.
    ///
    /// # Errors
    ///
    /// As of [`Self::ask`].
    pub fn describe(&mut self) -> Result<String> {
        let answer = self.ask(&json!({ "get": "link" }))?;
        Ok(answer["link"].as_str().unwrap_or_default().to_owned())
    }

    /// Ends the program behind the link, as SIGTERM to quell does, and with it the link.
    ///
    /// # Errors
    ///
    /// It belongs to somebody else, or has gone.
    pub fn stop(&self) -> Result<()> {
        let pid = Pid::from_raw(self.pid).ok_or(Error::Gone("the link"))?;
        kill_process(pid, Signal::TERM).doing("end the link")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_file_in_the_folder() {
        for name in ["office", "test_1.a-b", "0"] {
            assert!(
                socket(name).unwrap().ends_with(format!("links/{name}")),
                "{name}"
            );
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "ä", &"x".repeat(65)] {
            let why = socket(name).unwrap_err().to_string();
            assert!(why.contains("no name of a link"), "{name}: {why}");
        }
    }
}
