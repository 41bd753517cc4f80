//! The program: found before anything is made, started without any right, looked after until it and its descendants are gone.
//!
//! Exit codes are those of env(1): the program's own; 128 and the signal that ended it; 125 where quell itself fails, 126 where the program
//! cannot be executed, 127 where it is not found. The program owns standard input and both outputs, and is in quell's process group, so the
//! keys of the terminal reach it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use quell_confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::child::{self, Child};
use quell_hosts::namespace::Namespace;
use quell_hosts::obstacle;
use quell_hosts::start_line::{self, FarEnd, Heard, Line};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, pidfd_send_signal,
    set_parent_process_death_signal,
};

use crate::error::Doing as _;
use crate::{Result, resolver};

pub use quell_hosts::start_line::{FAILED, NOT_EXECUTABLE, NOT_FOUND};

/// What was refused where mounts are (AppArmor's profile of container engines refuses them).
const NO_MOUNTS: &str = "make a network for the program and give it a resolv.conf of its own (--dns direct does without; in a container, \
     --security-opt apparmor=unconfined allows it)";

/// From asking the descendants of a program to end until they are killed.
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// The exit code and the reason: [`NOT_FOUND`] or [`NOT_EXECUTABLE`].
    pub fn new(words: &[OsString]) -> std::result::Result<Self, (u8, String)> {
        let name = words.first().cloned().unwrap_or_default();
        let shown = name.to_string_lossy().into_owned();
        let found = |path| Self {
            path,
            words: words.to_vec(),
        };
        let missing = || (NOT_FOUND, format!("{shown}: no such program"));
        let refused = |path: &Path| {
            let why = match path.is_dir() {
                true => "is a folder",
                false => "cannot be executed",
            };
            (NOT_EXECUTABLE, format!("{shown}: {why}"))
        };
        if name.is_empty() {
            return Err(missing());
        }
        if shown.contains('/') {
            let path = PathBuf::from(&name);
            return match is_program(&path) {
                Some(true) => Ok(found(path)),
                Some(false) => Err(refused(&path)),
                None => Err(hidden(&path).map_or_else(missing, |why| {
                    (NOT_EXECUTABLE, format!("{shown}: you may not {why}"))
                })),
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
            (None, Some(why)) => (
                NOT_FOUND,
                format!(
                    "{shown}: no such program where you may look; PATH has a folder where you may not {why}"
                ),
            ),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
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
fn hidden(path: &Path) -> Option<String> {
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_hidden = fs::metadata(path).err().is_some_and(denied);
    let obstacle = is_hidden.then(|| obstacle::on_the_way_to(path));
    obstacle.flatten().map(|obstacle| obstacle.to_string())
}

/// What a program is started with.
#[derive(Debug)]
pub struct Start {
    /// The program.
    pub program: Found,
    /// Variables for its environment.
    pub environment: Vec<(String, String)>,
    /// Content of its resolv.conf; `None` leaves the host's.
    pub names: Option<String>,
}

/// A program in a network of its own, which waits for its start.
#[derive(Debug)]
pub struct Waiting {
    child: Child,
    line: Line,
    name: String,
    path: PathBuf,
}

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Of this process and no later one of its number.
    descriptor: OwnedFd,
    /// What a program is called in messages.
    name: String,
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

impl Waiting {
    /// Makes a process with an empty network of its own, which waits. The caller has a single thread.
    ///
    /// # Errors
    ///
    /// There are other threads, or the system refuses the process or its network.
    pub fn fork(start: Start) -> Result<Self> {
        let (line, far) = start_line::pair().doing("make a pair of sockets")?;
        let (name, path) = (start.program.name(), start.program.path.clone());
        let has_names = start.names.is_some();
        let mut line = Some(line);
        let child = child::fork(|| {
            // The copy holds both ends; without its own quell's end it sees when quell is gone.
            line = None;
            become_program(start, far)
        })?;
        let Some(mut line) = line else {
            return Err(crate::Error::Gone("the program's line"));
        };
        match line.hear().doing("hear of the program")? {
            Heard::Ready(_) => Ok(Self {
                child,
                line,
                name,
                path,
            }),
            Heard::Refused(error)
                if has_names && error.kind() == io::ErrorKind::PermissionDenied =>
            {
                Err(error).doing(NO_MOUNTS)
            }
            Heard::Refused(error) => Err(error).doing("make a network for the program"),
            Heard::Closed => Err(crate::Error::Gone("the process of the program")),
        }
    }

    /// Its network.
    pub fn network(&self) -> Result<Namespace> {
        Namespace::of_process(self.child.id()).doing("open the network of the program")
    }

    /// Starts the program; the exit code and the reason where that fails.
    pub fn start(mut self) -> Result<std::result::Result<Running, (u8, String)>> {
        self.line.go().doing("start the program")?;
        let name = self.name;
        let error = match self.line.hear().doing("hear of the program")? {
            // The line is closed by the program that took its place.
            Heard::Closed => {
                return Ok(Ok(Running {
                    descriptor: self.child.descriptor().doing("watch the program")?,
                    child: self.child,
                    name,
                }));
            }
            Heard::Refused(error) => error,
            Heard::Ready(_) => io::ErrorKind::InvalidData.into(),
        };
        let code = self.child.wait().unwrap_or(FAILED);
        // This process, too, has given its rights away.
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        let obstacle = denied.then(|| obstacle::on_the_way_to(&self.path));
        let why = obstacle.flatten().map_or_else(String::new, |obstacle| {
            format!("; a program behind a link has no right of root, and may not {obstacle}")
        });
        Ok(Err((code, format!("{name}: {error}{why}"))))
    }
}

/// In the copy: makes its network, waits, gives every right away, and becomes the program.
fn become_program(start: Start, line: FarEnd) -> u8 {
    let Start {
        program,
        environment,
        names,
    } = start;
    let prepare = || {
        // With quell the network is gone: the program ends with it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Namespace::enter_new()?;
        if let Some(text) = &names {
            resolver::replace(text)?;
        }
        keep_only(CapabilitySet::empty())
            .map(drop)
            .map_err(io::Error::other)
    };
    let command = || {
        let (name, arguments) = program.words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(&program.path);
        command.arg0(name).args(arguments).envs(environment);
        Ok(command)
    };
    line.become_program(prepare, command)
}

impl Running {
    /// Its process.
    pub fn id(&self) -> Pid {
        self.child.id()
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A descriptor that can be read once it has ended.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Passes a signal on.
    pub fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It may have ended by itself.
            let _ = pidfd_send_signal(&self.descriptor, signal);
        }
    }
}

/// Takes the ends of processes that have ended; that of `program` is returned. `None` while it runs. Children of every process group count
/// (`wait` and not `waitpid(None)`): shells and timeout(1) make groups of their own.
pub fn reap(program: Pid) -> Option<Ended> {
    let mut ended = None;
    while let Ok(Some((id, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if id == program {
            ended = Some(how(status));
        }
    }
    ended
}

fn how(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (_, Some(signal)) => Ended::Signal(signal),
        (Some(code), None) => Ended::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, None) => Ended::Code(u8::MAX),
    }
}

/// Ends the descendants of this process that are left: waits for `wait`, then TERM, [`PATIENCE`], KILL. Descendants whose own parents have
/// ended are children of this process, where it is their subreaper. `spare` and what it started are left alone. Returns how many there were.
pub fn end_descendants(wait: Duration, spare: Option<Pid>, mut meanwhile: impl FnMut()) -> usize {
    // Most programs leave nobody, and then no list of all processes is needed.
    if matches!(
        rustix::process::wait(WaitOptions::NOHANG),
        Err(Errno::CHILD)
    ) {
        return 0;
    }
    let most = descendants(spare).len();
    if most == 0 {
        return 0;
    }
    for (patience, signal) in [
        (wait, None),
        (PATIENCE, Some(Signal::TERM)),
        (PATIENCE, Some(Signal::KILL)),
    ] {
        let began = Instant::now();
        loop {
            // Whatever ended meanwhile; its own end is of no interest.
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            let left = descendants(spare);
            if left.is_empty() {
                return most;
            }
            if let Some(signal) = signal {
                for id in left {
                    let _ = kill_process(id, signal);
                }
            }
            if began.elapsed() >= patience {
                break;
            }
            meanwhile();
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    most
}

/// All processes below this one, zombies left out.
fn descendants(spare: Option<Pid>) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(i32, i32)> = entries
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let status = fs::read_to_string(entry.path().join("stat")).ok()?;
            // proc_pid_stat(5): the name is in parentheses and may contain any.
            let mut words = status.rsplit_once(')')?.1.split_whitespace();
            let state = words.next()?;
            let parent = words.next()?.parse().ok()?;
            (state != "Z").then_some((id, parent))
        })
        .collect();
    let spare = spare.map(|id| id.as_raw_nonzero().get());
    let mut below = vec![getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&parent) = below.get(next) {
        next += 1;
        let children = all
            .iter()
            .filter(|(id, of)| *of == parent && Some(*id) != spare);
        below.extend(children.map(|(id, _)| *id));
    }
    below[1..]
        .iter()
        .filter_map(|&id| Pid::from_raw(id))
        .collect()
}

/// Splits a command line into words: blanks separate, quotes of either kind and backslashes keep together. Nothing is replaced: there is no
/// shell.
pub fn words(text: &str) -> std::result::Result<Vec<OsString>, String> {
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
                None => return Err(format!("{text:?} ends with a backslash")),
            },
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err(format!("{text:?} has an open quote"));
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
                .map_err(|(code, _)| code)
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
