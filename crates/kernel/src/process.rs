//! Other programs: started in process groups of their own, watched, and ended with all their children when asked to stop.
//!
//! A program's output goes through a pipe into a log file. When this process is killed the pipe breaks, and the program ends at
//! its next write.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use crate::{Error, Result};

/// Between two looks at a program.
const LOOK: Duration = Duration::from_millis(50);
/// Attempts at starting a program that is still open for writing.
const BUSY: u32 = 20;
/// From asking a program to end until it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The variables that programs get of our environment: those that find programs and the user's files, and the proxies, which the
/// client of the distribution's packages may need.
const KEPT: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "APT_CONFIG",
];

/// A program with an environment of its own: the variables of [`KEPT`], and messages in English, which are searched. In
/// particular a surrounding make has no influence on it.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null());
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C");
    command
}

/// The system makes no thread.
pub(crate) fn no_thread(source: io::Error) -> Error {
    Error::System {
        doing: "start a thread (a limit of processes counts them: ulimit -u)".to_owned(),
        source,
    }
}

/// The standard output of a short program.
///
/// # Errors
///
/// It cannot be started, fails, or takes longer than `limit`.
pub(crate) fn output(command: &mut Command, limit: Duration) -> Result<String> {
    let name = name(command);
    let (mut reader, writer) = io::pipe().map_err(|source| starting(&name, source))?;
    let errors = writer
        .try_clone()
        .map_err(|source| starting(&name, source))?;
    command.stdout(writer).stderr(errors).process_group(0);
    let mut attempts = 0;
    let child = loop {
        match command.spawn() {
            // A file just written: a child of another thread may hold it open until it becomes its own program.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && attempts < BUSY => {
                attempts += 1;
                thread::sleep(LOOK);
            }
            other => break other.map_err(|source| starting(&name, source))?,
        }
    };
    // The command holds the writing end; without this the end of the output is never seen.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running(Some(child));
    let text = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut reader, &mut bytes).map(|_| bytes)
    });
    let text = text.map_err(no_thread)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = running.look().map_err(|source| starting(&name, source))? {
            break status;
        }
        if start.elapsed() > limit {
            return Err(Error::failed(format!(
                "{name} has not ended after {} s",
                limit.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = match text.join() {
        Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    };
    if status.success() {
        Ok(text)
    } else {
        Err(Error::failed(format!(
            "{name} failed ({status}): {}",
            text.trim()
        )))
    }
}

fn starting(name: &str, source: io::Error) -> Error {
    Error::System {
        doing: format!("start {name}"),
        source,
    }
}

/// The program; of one that is started by `nice -n NUMBER` the one behind it.
fn name(command: &Command) -> String {
    let program = match command.get_args().nth(2) {
        Some(program) if command.get_program() == "nice" => program,
        _ => command.get_program(),
    };
    Path::new(program).display().to_string()
}

/// Whether there is a program of this name on the path that `command` would use.
pub(crate) fn is_there(program: &str, path: Option<&OsString>) -> bool {
    let path = path.cloned().or_else(|| std::env::var_os("PATH"));
    std::env::split_paths(&path.unwrap_or_default()).any(|folder| {
        let file = folder.join(program);
        rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
    })
}

/// A program that is ended, with its children, when this is dropped.
struct Running(Option<Child>);

impl Running {
    /// Its exit status; `None` while it runs.
    fn look(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.0 else {
            return Ok(None);
        };
        let status = child.try_wait()?;
        if status.is_some() {
            self.0 = None;
        }
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else {
            return;
        };
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            end(group);
            let _ = child.wait();
            // What is being removed next must not be written to any more.
            let start = Instant::now();
            while test_kill_process_group(group).is_ok() && start.elapsed() < PATIENCE {
                thread::sleep(LOOK);
            }
        }
    }
}

/// Ends the process group of a child: first it is asked to, then it is killed.
fn end(group: Pid) {
    // The child is not waited for before its group is gone: until then its number cannot become that of another group. Whatever
    // fails here cannot be fixed here.
    let _ = kill_process_group(group, Signal::TERM);
    let ended = || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(group), options), Ok(None))
    };
    let start = Instant::now();
    while !ended() && start.elapsed() < PATIENCE {
        thread::sleep(LOOK);
    }
    // Its children may be deaf, or slow.
    let _ = kill_process_group(group, Signal::KILL);
}

/// A program that runs, or several that pass their output on.
pub(crate) struct Job {
    running: Vec<(String, Running)>,
    lines: Arc<AtomicU64>,
    logger: Option<JoinHandle<io::Result<()>>>,
}

impl Job {
    /// Starts `commands`, the output of each being the input of the next. What the last one prints, and every error, goes to
    /// the end of `log`; those lines are counted that begin with `counted`.
    pub(crate) fn start(commands: Vec<Command>, log: &Path, counted: &'static str) -> Result<Self> {
        let file = File::options().append(true).create(true).open(log);
        let file = file.map_err(Error::at("write", log))?;
        let pipe = |source| Error::System {
            doing: "make a pipe".to_owned(),
            source,
        };
        let (reader, writer) = io::pipe().map_err(pipe)?;
        let lines = Arc::new(AtomicU64::new(0));
        let count = lines.clone();
        let logger = thread::Builder::new().spawn(move || copy(reader, file, counted, &count));
        let logger = logger.map_err(no_thread)?;
        let mut job = Self {
            running: Vec::new(),
            lines,
            logger: Some(logger),
        };
        let last = commands.len().saturating_sub(1);
        let mut input = Stdio::null();
        for (index, mut command) in commands.into_iter().enumerate() {
            let name = name(&command);
            command
                .stdin(input)
                .stderr(writer.try_clone().map_err(pipe)?)
                .process_group(0);
            if index == last {
                command.stdout(writer.try_clone().map_err(pipe)?);
            } else {
                command.stdout(Stdio::piped());
            }
            let mut child = command.spawn().map_err(|source| starting(&name, source))?;
            input = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            job.running.push((name, Running(Some(child))));
        }
        Ok(job)
    }

    /// Waits for the end; calls `look` with the number of counted lines now and then.
    ///
    /// # Errors
    ///
    /// A program fails; `stop` is set.
    pub(crate) fn finish(mut self, stop: &AtomicBool, mut look: impl FnMut(u64)) -> Result<()> {
        let mut failure = None;
        while !self.running.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let mut still = Vec::new();
            for (name, mut running) in self.running.drain(..) {
                match running.look() {
                    Ok(None) => still.push((name, running)),
                    Ok(Some(status)) if status.success() => {}
                    Ok(Some(status)) => {
                        // Of a chain, the first that failed on its own tells why; a broken pipe is a consequence.
                        failure.get_or_insert(format!("{name} failed ({status})"));
                    }
                    Err(source) => return Err(starting(&name, source)),
                }
            }
            self.running = still;
            look(self.lines.load(Ordering::Relaxed));
            if !self.running.is_empty() {
                thread::sleep(LOOK);
            }
        }
        // The log is whole, or the disk is full.
        if let Some(Ok(Err(source))) = self.logger.take().map(JoinHandle::join) {
            return Err(Error::System {
                doing: "write the log".to_owned(),
                source,
            });
        }
        // A signal, which also reached the programs, may have ended them before it was seen here.
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        failure.map_or(Ok(()), |failure| Err(Error::failed(failure)))
    }
}

fn copy(reader: io::PipeReader, mut log: File, counted: &str, lines: &AtomicU64) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut written = Ok(());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return written;
        }
        if line.starts_with(counted.as_bytes()) {
            lines.fetch_add(1, Ordering::Relaxed);
        }
        // On a full disk the programs must not wait for a reader; they find out by themselves.
        if written.is_ok() {
            written = log.write_all(&line);
        }
    }
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
