//! A program as a process: started without any right, looked after until it and its descendants are gone.
//!
//! The program owns standard input and both outputs, and is in quell's process group, so the keys of the terminal reach it. On this host it has
//! process ids of its own ([`quell_hosts::pid_namespace`]), so nothing that it has started can outlive quell, however that ends. A guest ends with
//! all that is in it: there the program is a child of quell.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use quell_hosts::account::Account;
use quell_hosts::child::{self, Child};
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::namespace::Namespace;
use quell_hosts::obstacle;
use quell_hosts::pid_namespace::{self, Keeping, Left, PidNamespace, Work};
use quell_hosts::spawn_handshake::{self, Heard, Line};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, geteuid, getpid, kill_process, pidfd_send_signal,
    set_parent_process_death_signal,
};

use crate::error::{Doing as _, Error, Result};
use crate::files;
use crate::program::{Ended, FAILED, Found, NotStarted};

/// What was refused where mounts are (AppArmor's profile of container engines refuses them).
const NO_MOUNTS: &str = "make a network for the program and give it a resolv.conf of its own (--dns direct does without; in a container, \
     --security-opt apparmor=unconfined allows it)";

/// From asking the descendants of a program to end until they are killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at what is left of them.
const LOOK: Duration = Duration::from_millis(10);

/// What a program is started with.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) program: Found,
    /// Its network; `None` leaves it where it is, with the caller's rights.
    pub(crate) network: Option<&'a Namespace>,
    /// Variables for its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Content of its resolv.conf; `None` leaves the host's.
    pub(crate) names: Option<String>,
    /// Whose rights it has; `None` for those of the caller.
    pub(crate) user: Option<Account>,
    /// Whether it has process ids of its own.
    pub(crate) own_ids: bool,
}

/// A program in a network of its own, which waits for its start.
#[derive(Debug)]
pub(crate) struct Waiting {
    kept: Kept<pid_namespace::Waiting, Line>,
    /// What a program is called in messages.
    name: String,
    path: PathBuf,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    kept: Kept<pid_namespace::Started, OwnedFd>,
}

/// Who keeps it, and what is known of it there.
#[derive(Debug)]
enum Kept<E, C> {
    Enclosed(PidNamespace, E),
    /// A child of this process; of a running one, a descriptor of this process and no later one of its number.
    Child(Child, C),
}

impl Waiting {
    /// Makes a process that waits in its network. The caller has a single thread.
    ///
    /// # Errors
    ///
    /// There are other threads, or the system refuses the process or its network.
    pub(crate) fn fork(start: Start<'_>) -> Result<Self> {
        let (name, path) = (start.program.name(), start.program.path().to_owned());
        let kept = match start.own_ids {
            true => enclosed(start)?,
            false => own_child(start)?,
        };
        Ok(Self { kept, name, path })
    }

    /// Starts the program; the inner error says why that fails.
    pub(crate) fn start(self) -> Result<Result<Running, NotStarted>> {
        let name = self.name;
        let started = match self.kept {
            Kept::Enclosed(pid_namespace, waiting) => {
                let started = waiting.start();
                started.map(|started| Kept::Enclosed(pid_namespace, started))
            }
            Kept::Child(child, mut line) => {
                line.go().doing("start the program")?;
                match line.hear().doing("hear of the program")? {
                    // The line is closed by the program that took its place.
                    Heard::Closed => {
                        let descriptor = child.descriptor().doing("watch the program")?;
                        Ok(Kept::Child(child, descriptor))
                    }
                    Heard::Refused(error) => Err(error),
                    Heard::Ready(_) => Err(io::ErrorKind::InvalidData.into()),
                }
            }
        };
        Ok(match started {
            Ok(kept) => Ok(Running { kept }),
            Err(source) => {
                // This process, too, has given its rights away.
                let obstacle = is_denied(&source).then(|| obstacle::on_the_way_to(&self.path));
                Err(NotStarted::Refused {
                    name,
                    source,
                    obstacle: obstacle.flatten(),
                })
            }
        })
    }
}

fn enclosed(start: Start<'_>) -> Result<Kept<pid_namespace::Waiting, Line>> {
    let (program, has_names) = (start.program.clone(), start.names.is_some());
    let environment = start.environment.clone();
    let keeping = Keeping {
        left: Left::Running,
        rights: match &start.user {
            // The first process keeps the user of quell.
            Some(_) => CapabilitySet::KILL,
            None => CapabilitySet::empty(),
        },
    };
    let work = Work {
        prepare: Box::new(move || prepare(&start)),
        command: Box::new(move || program.command(&environment)),
    };
    let forked = PidNamespace::fork(vec![work], keeping);
    let (pid_namespace, mut waiting) = forked.map_err(|error| match error {
        quell_hosts::Error::System { source, .. } if has_names && is_denied(&source) => {
            no_mounts(source)
        }
        error => error.into(),
    })?;
    let waiting = waiting.pop().ok_or(Error::Gone("the program's process"))?;
    Ok(Kept::Enclosed(pid_namespace, waiting))
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn no_mounts(source: io::Error) -> Error {
    Error::System {
        doing: NO_MOUNTS.to_owned(),
        source,
    }
}

fn own_child(start: Start<'_>) -> Result<Kept<pid_namespace::Waiting, Line>> {
    let (line, far) = spawn_handshake::pair().doing("make a pair of sockets")?;
    let mut line = Some(line);
    let child = child::fork(|| {
        // The copy holds both ends; without its own quell's end it sees when quell is gone.
        line = None;
        let ready = || {
            // With quell the network is gone: the program ends with it.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if start.network.is_none() {
                return Ok(());
            }
            prepare(&start)?;
            keep_only(CapabilitySet::empty())
                .map(drop)
                .map_err(io::Error::other)
        };
        far.become_program(ready, || start.program.command(&start.environment))
    })?;
    let Some(mut line) = line else {
        return Err(Error::Gone("the program's line"));
    };
    match line.hear().doing("hear of the program")? {
        Heard::Ready(_) => Ok(Kept::Child(child, line)),
        Heard::Refused(error) if start.names.is_some() && is_denied(&error) => {
            Err(no_mounts(error))
        }
        Heard::Refused(error) => Err(error).doing("prepare the program"),
        Heard::Closed => Err(Error::Gone("the process of the program")),
    }
}

/// In the copy, with quell's rights.
fn prepare(start: &Start<'_>) -> io::Result<()> {
    let user = start.user.as_ref().map(|user| user.user);
    let is_root = user.unwrap_or(geteuid().as_raw()) == 0;
    files::prepare(start.names.as_deref(), start.own_ids, is_root)?;
    start.network.map_or(Ok(()), Namespace::enter)?;
    match &start.user {
        Some(user) => user.become_it(),
        None => Ok(()),
    }
}

impl Running {
    /// Its process.
    pub(crate) fn id(&self) -> Pid {
        match &self.kept {
            Kept::Enclosed(_, started) => started.id(),
            Kept::Child(child, _) => child.id(),
        }
    }

    /// A descriptor that can be read once it has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kept {
            Kept::Enclosed(_, started) => started.as_fd(),
            Kept::Child(_, descriptor) => descriptor.as_fd(),
        }
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn ended(&self) -> Result<Option<Ended>> {
        match &self.kept {
            Kept::Enclosed(_, started) => {
                let status = started.ended().doing("hear of the program")?;
                Ok(status.map(of_status))
            }
            Kept::Child(child, _) => Ok(reap(child.id())),
        }
    }

    /// Passes a signal on.
    pub(crate) fn signal(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return;
        };
        match &self.kept {
            Kept::Enclosed(pid_namespace, _) => pid_namespace.signal(0, signal),
            Kept::Child(_, descriptor) => {
                // It may have ended by itself.
                let _ = pidfd_send_signal(descriptor, signal);
            }
        }
    }

    /// Ends what the program has left: waits for `wait`, then TERM, [`PATIENCE`], KILL. Of children of this process, `spare` and what it
    /// started are left alone. Returns how many there were.
    pub(crate) fn end_descendants(
        &self,
        wait: Duration,
        spare: Option<Pid>,
        meanwhile: impl FnMut(),
    ) -> usize {
        match &self.kept {
            Kept::Enclosed(pid_namespace, _) => end_enclosed(pid_namespace, wait, meanwhile),
            Kept::Child(..) => end_children(wait, spare, meanwhile),
        }
    }
}

/// How a process ended whose status another one has taken.
pub(crate) fn of_status(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (_, Some(signal)) => Ended::Signal(signal),
        (code, None) => Ended::Code(
            code.and_then(|code| u8::try_from(code).ok())
                .unwrap_or(FAILED),
        ),
    }
}

fn end_enclosed(
    pid_namespace: &PidNamespace,
    wait: Duration,
    mut meanwhile: impl FnMut(),
) -> usize {
    // Most programs leave nobody, and then no list of all processes is needed.
    if pid_namespace.is_empty_within(LOOK) {
        return 0;
    }
    let Some(first) = pid_namespace.first() else {
        return 0;
    };
    let most = descendants(first, None).len();
    for (patience, signal) in [(wait, None), (PATIENCE, Some(Signal::TERM))] {
        let began = Instant::now();
        if let Some(signal) = signal {
            pid_namespace.signal_all(signal);
        }
        loop {
            let left = patience.saturating_sub(began.elapsed());
            if pid_namespace.is_empty_within(LOOK.min(left)) {
                return most;
            }
            if left.is_zero() {
                break;
            }
            meanwhile();
        }
    }
    pid_namespace.kill();
    most
}

/// Takes the ends of processes that have ended; that of `program` is returned. `None` while it runs. Children of every process group count
/// (`wait` and not `waitpid(None)`): shells and timeout(1) make groups of their own.
fn reap(program: Pid) -> Option<Ended> {
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

/// The descendants of this process: those whose own parents have ended are its children, where it is their subreaper.
fn end_children(wait: Duration, spare: Option<Pid>, mut meanwhile: impl FnMut()) -> usize {
    // Most programs leave nobody, and then no list of all processes is needed.
    if matches!(
        rustix::process::wait(WaitOptions::NOHANG),
        Err(Errno::CHILD)
    ) {
        return 0;
    }
    let most = descendants(getpid(), spare).len();
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
            let left = descendants(getpid(), spare);
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
            std::thread::sleep(LOOK);
        }
    }
    most
}

/// All processes below this one, zombies left out.
fn descendants(of: Pid, spare: Option<Pid>) -> Vec<Pid> {
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
    let mut below = vec![of.as_raw_nonzero().get()];
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
