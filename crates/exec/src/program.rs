//! The program: found before anything is made. `running` starts it.
//!
//! Exit codes are those of env(1): the program's own; 128 and the signal that ended it; 125 where quell itself fails, 126 where the program
//! cannot be executed, 127 where it is not found.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use quell_hosts::obstacle::{self, Obstacle};

pub use quell_hosts::spawn_handshake::{FAILED, NOT_EXECUTABLE, NOT_FOUND};

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotStarted {
    /// There is none of this name.
    #[error("{0}: no such program")]
    Missing(String),
    /// A folder is no program.
    #[error("{0}: is a folder")]
    Folder(String),
    /// A file is no program.
    #[error("{0}: cannot be executed")]
    NotExecutable(String),
    /// Something stands in the way to its path.
    #[error("{0}: you may not {1}")]
    Hidden(String, Obstacle),
    /// Something stands in the way to a folder of PATH.
    #[error("{0}: no such program where you may look; PATH has a folder where you may not {1}")]
    HiddenFolder(String, Obstacle),
    /// The kernel did not start it; what stands in the way of a program without rights, if that is known.
    #[error("{name}: {source}{}", without_rights(obstacle.as_ref()))]
    Refused {
        /// The program.
        name: String,
        /// The kernel's answer.
        source: io::Error,
        /// What stands in the way.
        obstacle: Option<Obstacle>,
    },
}

fn without_rights(obstacle: Option<&Obstacle>) -> String {
    obstacle.map_or_else(String::new, |obstacle| {
        format!("; a program behind a link has no right of root, and may not {obstacle}")
    })
}

impl NotStarted {
    /// The exit code that env(1) has for it: [`NOT_FOUND`] or [`NOT_EXECUTABLE`].
    pub fn code(&self) -> u8 {
        match self {
            Self::Missing(_) | Self::HiddenFolder(..) => NOT_FOUND,
            Self::Folder(_) | Self::NotExecutable(_) | Self::Hidden(..) => NOT_EXECUTABLE,
            Self::Refused { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            },
        }
    }
}

/// Why a command line cannot be split into words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// A backslash has nothing to keep.
    #[error("{0:?} ends with a backslash")]
    Backslash(String),
    /// A quote is not closed.
    #[error("{0:?} has an open quote")]
    OpenQuote(String),
}

/// A program that exists.
#[derive(Debug, Clone)]
pub struct Found {
    path: PathBuf,
    words: Vec<OsString>,
}

impl Found {
    /// Looks for the program of a command line as execvp(3) does.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be executed.
    pub fn new(words: &[OsString]) -> Result<Self, NotStarted> {
        let name = words.first().cloned().unwrap_or_default();
        let shown = name.to_string_lossy().into_owned();
        let found = |path| Self {
            path,
            words: words.to_vec(),
        };
        let missing = || NotStarted::Missing(shown.clone());
        let refused = |path: &Path| match path.is_dir() {
            true => NotStarted::Folder(shown.clone()),
            false => NotStarted::NotExecutable(shown.clone()),
        };
        if name.is_empty() {
            return Err(missing());
        }
        if shown.contains('/') {
            let path = PathBuf::from(&name);
            return match is_program(&path) {
                Some(true) => Ok(found(path)),
                Some(false) => Err(refused(&path)),
                None => Err(match hidden(&path) {
                    Some(obstacle) => NotStarted::Hidden(shown, obstacle),
                    None => missing(),
                }),
            };
        }
        let folders = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let (mut no_program, mut unseen) = (None, None);
        for folder in env::split_paths(&folders) {
            let path = folder.join(&name);
            match is_program(&path) {
                Some(true) => return Ok(found(path)),
                Some(false) => no_program = Some(path),
                None => unseen = unseen.or_else(|| hidden(&path)),
            }
        }
        Err(match (no_program, unseen) {
            (Some(path), _) => refused(&path),
            (None, None) => missing(),
            (None, Some(obstacle)) => NotStarted::HiddenFolder(shown, obstacle),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What executes it, with these variables beside those of this process.
    pub(crate) fn command(&self, variables: &[(String, String)]) -> io::Result<Command> {
        let (name, arguments) = self.words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(&self.path);
        let variables = variables.iter().map(|(name, value)| (name, value));
        command.arg0(name).args(arguments).envs(variables);
        Ok(command)
    }

    /// Its name as it was given.
    pub fn name(&self) -> String {
        let name = self.words.first().map(OsString::as_os_str);
        name.unwrap_or(OsStr::new(""))
            .to_string_lossy()
            .into_owned()
    }

    /// The command line.
    pub fn words(&self) -> Vec<String> {
        let words = self.words.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// Whether a file is one that can be executed; `None` where there is none.
fn is_program(path: &Path) -> Option<bool> {
    let file = fs::metadata(path).ok()?;
    Some(file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// What keeps this process from seeing a file, if anything does.
fn hidden(path: &Path) -> Option<Obstacle> {
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_hidden = fs::metadata(path).err().is_some_and(denied);
    let obstacle = is_hidden.then(|| obstacle::on_the_way_to(path));
    obstacle.flatten()
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// The exit code of a shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

/// Splits a command line into words: blanks separate, quotes of either kind and backslashes keep together. Nothing is replaced: there is no
/// shell.
///
/// # Errors
///
/// A quote or a backslash has no end.
pub fn words(text: &str) -> Result<Vec<OsString>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match characters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(WordsError::Backslash(text.to_owned())),
            },
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err(WordsError::OpenQuote(text.to_owned()));
    }
    words.extend(word);
    Ok(words.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_a_shell_finds_it_or_the_code_says_why_not() {
        let code = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            Found::new(&words)
                .map(|found| found.name())
                .map_err(|refused| refused.code())
        };
        assert_eq!(code(&["sh", "-c", "true"]), Ok("sh".to_owned()));
        assert_eq!(code(&["/bin/sh"]), Ok("/bin/sh".to_owned()));
        assert_eq!(code(&["no-such-program-of-quell"]), Err(NOT_FOUND));
        assert_eq!(code(&["/no/such/program"]), Err(NOT_FOUND));
        assert_eq!(code(&["/etc/passwd"]), Err(NOT_EXECUTABLE));
        assert_eq!(code(&["/tmp/"]), Err(NOT_EXECUTABLE));
        assert_eq!(code(&[""]), Err(NOT_FOUND));
        assert_eq!(code(&[]), Err(NOT_FOUND));
    }

    #[test]
    fn a_command_line_is_split_without_a_shell() {
        let split = |text: &str| -> Vec<String> {
            let words = words(text).unwrap().into_iter();
            words.map(|word| word.into_string().unwrap()).collect()
        };
        assert_eq!(split("iperf3 -s"), ["iperf3", "-s"]);
        assert_eq!(
            split(" a 'b c' \"d \\\" e\"'f' g\\ h '' "),
            ["a", "b c", "d \" ef", "g h", ""]
        );
        assert_eq!(split("$HOME `x` *"), ["$HOME", "`x`", "*"]);
        assert!(words("'a").is_err() && words("a\\").is_err());
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(Ended::Code(7).code(), 7);
        assert_eq!(Ended::Signal(15).code(), 143);
    }
}
