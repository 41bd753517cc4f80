//! `quell exec --world virtual`: the same command in a guest, where time is virtual, so that runs that are alike give the same bytes.
//!
//! The guest sees this host's files and runs this very program with the same arguments; the network inside is empty but for the link and
//! what `--far` starts. [`Inside`] is what that program knows.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use quell_exec::{Found, LinkMemory, Plan};
use quell_hosts::first_process::is_in_guest;
use quell_lab::results::folder::Folder;
use quell_lab::results::folder_lock::Claim;
use quell_lab::virtual_world::{
    GUEST_DAY, GUEST_FOLDER, GuestProgram, program_memory, run_program,
};

use rustix::fs::{fstat, makedev};

use crate::exec::arguments::{Behind, ExecWorld, NetArgument};
use crate::exec::failure::{ExecFailure, NoEffect};
use crate::exec::text::put_report;
use crate::interrupt::Interrupt;
use crate::output::files::write;
use crate::output::page;

/// The result and the report in the guest's folder.
const RESULT: &str = "result";
const REPORT: &str = "report.json";
const JUNIT: &str = "junit.xml";

/// The guest around this process.
#[derive(Debug)]
pub(crate) struct Inside {
    folder: PathBuf,
    /// The day on which its clock began.
    day: Option<String>,
}

impl Inside {
    /// The guest around this process, if it was started for these arguments.
    pub(crate) fn find(arguments: &Behind) -> Option<Self> {
        let folder = env::var_os(GUEST_FOLDER)?;
        (arguments.world == ExecWorld::Virtual && is_in_guest()).then(|| Self {
            folder: folder.into(),
            day: env::var(GUEST_DAY).ok(),
        })
    }

    /// The day on which the guest's clock began.
    pub(crate) fn day(&self) -> Option<String> {
        self.day.clone()
    }

    /// Where the result goes that the host was asked for.
    pub(crate) fn result(&self) -> PathBuf {
        self.folder.join(RESULT)
    }

    /// Where a socket is made that the host was asked for at `path`: the files of the host cannot change.
    pub(crate) fn socket(path: &Path) -> PathBuf {
        env::temp_dir().join(path.file_name().unwrap_or(path.as_os_str()))
    }

    /// Where the report goes.
    pub(crate) fn report(&self) -> PathBuf {
        self.folder.join(REPORT)
    }

    /// Where the file of `--junit` goes.
    pub(crate) fn junit(&self) -> PathBuf {
        self.folder.join(JUNIT)
    }
}

/// Refuses what makes no sense in a guest.
fn refuse(arguments: &Behind, plan: &Plan) -> Result<(), NoEffect> {
    NoEffect::check([
        (
            plan.needs_relay(),
            "cut and new: in the virtual world no relay joins connections; end them in the program of --far",
        ),
        (
            arguments.host_loopback.is_some(),
            "--host-loopback: in the virtual world there is no network but the far edge",
        ),
        (
            !arguments.publish.is_empty(),
            "--publish: a guest's time is not that of clients outside",
        ),
        (
            arguments.net == NetArgument::Nat,
            "--net: in the virtual world there is no network but the far edge",
        ),
        (
            arguments.user.is_some(),
            "--user: the programs of a guest have the user of the guest",
        ),
        (
            arguments.name.is_some(),
            "--name: nobody outside can ask a guest while its clock stands still; --control SOCKET makes a socket inside, at $QUELL_CONTROL of the program",
        ),
        (
            arguments.page.is_some(),
            "--page: nobody outside can ask a guest while its clock stands still; write the result with --out DIR, and quell serve DIR shows it on a page",
        ),
        (
            arguments.scenario.as_deref() == Some(Path::new("-")),
            "--scenario -: standard input is the program's: give a file",
        ),
    ])
}

/// Why a program does not run in a guest, or its result is not there.
#[derive(Debug)]
enum GuestError {
    /// A word of the command line is no UTF-8.
    NotUtf8(OsString),
    /// A file or folder of this host has no path; the text names it.
    NotFound(&'static str, io::Error),
    /// The folder of the result.
    Result(quell_lab::results::Error),
    /// No folder for temporary files.
    Temporary(io::Error),
    /// The report of the guest cannot be read.
    Report(PathBuf, io::Error),
    /// The result cannot be completed.
    Incomplete(PathBuf, io::Error),
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8(word) => write!(f, "{}: a guest takes UTF-8 only", word.display()),
            Self::NotFound(what, error) => write!(f, "cannot find {what}: {error}"),
            Self::Result(error) => error.fmt(f),
            Self::Temporary(error) => {
                write!(f, "cannot make a folder for temporary files: {error}")
            }
            Self::Report(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Incomplete(path, error) => {
                write!(f, "cannot complete {}: {error}", path.display())
            }
        }
    }
}

impl Error for GuestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotUtf8(_) => None,
            // It is the message already.
            Self::Result(error) => error.source(),
            Self::NotFound(_, error)
            | Self::Temporary(error)
            | Self::Report(_, error)
            | Self::Incomplete(_, error) => Some(error),
        }
    }
}

/// Runs this command in a guest; the exit code of the program.
pub(crate) fn run(arguments: &Behind, plan: &Plan, programs: &[&Found]) -> Result<u8, ExecFailure> {
    refuse(arguments, plan).map_err(ExecFailure::own)?;
    let options = arguments.patience.options(arguments.kernel.clone());
    let options = arguments.place.set(options.map_err(ExecFailure::own)?);
    let folder = Place::new(arguments.out.as_deref()).map_err(ExecFailure::own)?;
    let interrupt = Interrupt::listen().map_err(|failure| ExecFailure::own(failure.message))?;
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let link = LinkMemory::of(plan, arguments.mtu, arguments.control.is_some());
    let ended = run_program(
        &options,
        &program(arguments, programs).map_err(ExecFailure::own)?,
        program_memory(link.pool, link.in_flight),
        &folder.path(),
        [&mut stdout, &mut stderr],
        interrupt.stop(),
    )
    .map_err(|error| ExecFailure::own_or_by(interrupt.signal(), error))?;
    if let Some(kernel) = &ended.without_input {
        page::say(&format!(
            "warning: the kernel {kernel} has no device for standard input, so the program found none; quell kernel build makes one that has"
        ));
    }
    let report = folder.path().join(REPORT);
    if let Some(path) = arguments.json.as_ref().filter(|_| report.is_file()) {
        let text = fs::read_to_string(&report)
            .map_err(|error| ExecFailure::own(GuestError::Report(report, error)))?;
        put_report(path, &text).map_err(ExecFailure::own)?;
    }
    let junit = folder.path().join(JUNIT);
    if let Some(path) = arguments
        .expected
        .junit
        .as_ref()
        .filter(|_| junit.is_file())
    {
        let text = fs::read(&junit).and_then(|text| fs::remove_file(&junit).map(|()| text));
        let text = text.map_err(|error| ExecFailure::own(GuestError::Report(junit, error)))?;
        write(path, &text).map_err(|failure| ExecFailure::own(failure.message))?;
    }
    let kept = folder.finish().map_err(ExecFailure::own)?;
    if let Some(kept) = kept.filter(|_| !arguments.quiet) {
        page::say(&format!("results in {}", kept.display()));
    }
    Ok(ended.code)
}

/// This program with the arguments and the environment that it has.
fn program(arguments: &Behind, programs: &[&Found]) -> Result<GuestProgram, GuestError> {
    let text = |word: OsString| word.into_string().map_err(GuestError::NotUtf8);
    let place =
        |what, path: io::Result<PathBuf>| path.map_err(|error| GuestError::NotFound(what, error));
    let words = env::args_os().skip(1).map(text);
    let names: Vec<String> = programs.iter().map(|program| program.name()).collect();
    let programs = programs.iter().map(|program| program.path());
    // Absolute: the first process of a guest stands elsewhere.
    let reaches = programs.chain(arguments.scenario.as_deref());
    let reaches = reaches.map(|file| place("a file", std::path::absolute(file)));
    let variables = env::vars_os().filter_map(|(name, value)| {
        let both = (name.into_string().ok()?, value.into_string().ok()?);
        (!["QUELL_DEPTH", "QUELL_CONTROL"].contains(&&*both.0)).then_some(both)
    });
    Ok(GuestProgram {
        arguments: words.collect::<Result<_, _>>()?,
        directory: place("the working folder", env::current_dir())?,
        variables: variables.collect(),
        reaches: reaches.collect::<Result<_, _>>()?,
        name: names.join(", "),
        input: has_input(),
        ipv6: !arguments.ipv4_only,
    })
}

/// Whether there is something to read: a terminal's keys belong to whoever is in front of it, which a guest is not.
fn has_input() -> bool {
    let nothing = makedev(1, 3);
    let input = io::stdin();
    !input.is_terminal() && fstat(input).is_ok_and(|file| file.st_rdev != nothing)
}

/// The folder in which the guest writes.
enum Place {
    /// The result, unfinished.
    Kept(Folder),
    /// Gone at the end.
    Passing(Claim),
}

impl Place {
    fn new(out: Option<&Path>) -> Result<Self, GuestError> {
        match out {
            Some(out) => Folder::exactly(out)
                .map(Self::Kept)
                .map_err(GuestError::Result),
            None => Claim::temporary(&env::temp_dir(), "quell-exec-")
                .map(Self::Passing)
                .map_err(GuestError::Temporary),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Kept(folder) => folder.path(),
            Self::Passing(claim) => claim.folder().path(),
        }
    }

    /// Puts the result where it was asked for, beside what the program printed and the kernel's messages. Nothing, if no result was asked
    /// for, or there is none.
    fn finish(self) -> Result<Option<PathBuf>, GuestError> {
        let path = self.path();
        let result = path.join(RESULT);
        let Self::Kept(folder) = self else {
            return Ok(None);
        };
        if !result.is_dir() {
            return Ok(None);
        }
        let move_up = || -> io::Result<()> {
            for entry in fs::read_dir(&result)? {
                let entry = entry?;
                fs::rename(entry.path(), path.join(entry.file_name()))?;
            }
            fs::remove_dir(&result)?;
            match fs::remove_file(path.join(REPORT)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        move_up().map_err(|error| GuestError::Incomplete(path, error))?;
        let kept = folder.finish().map_err(GuestError::Result)?;
        Ok(Some(kept))
    }
}
