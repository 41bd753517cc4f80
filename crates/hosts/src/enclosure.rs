//! Programs that end together with the process that started them, however it ends.
//!
//! They have process ids of their own (pid_namespaces(7)): when the first process of such a namespace is gone, the kernel kills all others,
//! with what they started in the background and what became nobody's child. That first process is a copy of ours, which starts each
//! program and reaps what ends. It is killed with the process between, and that one with ours (PR_SET_PDEATHSIG), so that kill -9 of
//! any of them leaves nothing.
//!
//! ```text
//!   process ─┬─ between (same ids as the process; waits)
//!            │     └─ first process of the new ids ─┬─ program
//!            └───────── lines ──────────────────────┴─ program
//! ```
//!
//! Every program waits in its network, without any right, until it is told to start.
//!
//! Deviation: `/proc` stays the caller's, because a process under Landlock may mount nothing. `/proc/self` is right in it, and whoever looks
//! for the number that getpid(2) gives finds another process there.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use quell_confine::capabilities::{CapabilitySet, keep_only};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, wait,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::child::{self, Child};
use crate::error::Doing as _;
use crate::namespace::Namespace;
use crate::start_line::{self, FAILED, FarEnd, Heard, Line};
use crate::{Error, Result};

/// What becomes a program.
pub struct Work<'a> {
    /// Its network.
    pub network: &'a Namespace,
    /// What it executes; asked for when it is to start.
    pub command: Box<dyn FnOnce() -> io::Result<Command> + 'a>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// Programs with process ids of their own. All of them are killed when this is dropped.
#[derive(Debug)]
pub struct Enclosure {
    /// The first process; none where it never was.
    first: Option<OwnedFd>,
    between: Child,
}

/// A program that waits for its start.
#[derive(Debug)]
pub struct Waiting {
    line: Line,
    ends: UnixStream,
    id: Pid,
}

/// A program that was started.
#[derive(Debug)]
pub struct Started {
    id: Pid,
    ends: UnixStream,
}

/// One program, as the first process has it.
struct Inside<'a> {
    work: Work<'a>,
    line: FarEnd,
}

impl Enclosure {
    /// Makes the processes of some programs, which wait in the order of `works`. The caller has a single thread, and needs CAP_SYS_ADMIN.
    ///
    /// # Errors
    ///
    /// There is another thread, or the kernel refuses processes, their ids or their networks.
    pub fn fork(works: Vec<Work<'_>>) -> Result<(Self, Vec<Waiting>)> {
        let sockets = || "make a pair of sockets";
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for work in works {
            let (line, far_line) = start_line::pair().doing(sockets)?;
            let (ends, far_ends) = UnixStream::pair().doing(sockets)?;
            near.push((line, ends));
            far.push((
                Inside {
                    work,
                    line: far_line,
                },
                far_ends,
            ));
        }
        let (told, tells) = UnixStream::pair().doing(sockets)?;
        let mut near = Some((near, told));
        // What a copy is given is dropped here, so that this process sees when the copy has closed it.
        let between = child::fork(|| {
            // The copies see by their ends of the lines that this process is gone.
            near = None;
            stand_between(far, tells)
        })?;
        let Some((near, mut told)) = near else {
            return Err(gone()).doing(|| "start programs");
        };
        let mut enclosure = Self {
            first: None,
            between,
        };
        let mut answer = [0; 4];
        let answered = told.read_exact(&mut answer);
        answered.doing(|| "hear of the process that starts programs")?;
        let first = match i32::from_ne_bytes(answer) {
            id @ 1.. => Pid::from_raw(id).ok_or_else(gone),
            errno => Err(io::Error::from_raw_os_error(-errno)),
        };
        let first = first.doing(|| "give programs process ids of their own")?;
        let first = pidfd_open(first, PidfdFlags::empty());
        enclosure.first = Some(first.doing(|| "watch the process that starts programs")?);
        let mut waiting = Vec::new();
        for (mut line, ends) in near {
            let heard = line.hear().and_then(|heard| match heard {
                Heard::Ready(id) => Ok(id),
                Heard::Refused(error) => Err(error),
                Heard::Closed => Err(gone()),
            });
            let id = heard.doing(|| "prepare a program")?;
            ends.set_nonblocking(true).doing(|| "watch a program")?;
            waiting.push(Waiting { line, ends, id });
        }
        Ok((enclosure, waiting))
    }
}

impl Drop for Enclosure {
    /// The kernel ends a first process only when it has ended all others.
    fn drop(&mut self) {
        if let Some(first) = &self.first {
            // It may be gone, which is as good.
            let _ = pidfd_send_signal(first, Signal::KILL);
        }
        let _ = self.between.wait();
    }
}

impl Waiting {
    /// Starts the program.
    ///
    /// # Errors
    ///
    /// It cannot be executed, or its process is gone.
    pub fn start(mut self) -> io::Result<Started> {
        self.line.go()?;
        match self.line.hear()? {
            Heard::Closed => Ok(Started {
                id: self.id,
                ends: self.ends,
            }),
            Heard::Refused(error) => Err(error),
            Heard::Ready(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Started {
    /// Its process, which leads a group: an id of the caller's.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// How it ended; `None` while it runs. Its group has been killed then.
    ///
    /// # Errors
    ///
    /// What looked after it is gone.
    pub fn ended(&self) -> io::Result<Option<ExitStatus>> {
        let mut status = [0; 4];
        match (&self.ends).read(&mut status) {
            Ok(4) => Ok(Some(ExitStatus::from_raw(i32::from_ne_bytes(status)))),
            Ok(_) => Err(gone()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Can be read once it has ended.
impl AsFd for Started {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ends.as_fd()
    }
}

fn gone() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the process that starts programs is gone",
    )
}

/// In the first copy: makes the second one, with new process ids, and waits for its end.
fn stand_between(works: Vec<(Inside<'_>, UnixStream)>, mut tells: UnixStream) -> u8 {
    child::leave_signals_to_others();
    let made = (|| -> io::Result<Child> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // SAFETY: NEWPID changes only the ids of processes that are made from now on.
        unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?;
        let first = child::fork(|| start_and_reap(works));
        first.map_err(|error| match error {
            Error::System { source, .. } => source,
            other => io::Error::other(other),
        })
    })();
    match made {
        Ok(first) => {
            let told = tells.write_all(&first.id().as_raw_nonzero().get().to_ne_bytes());
            let _ = keep_only(CapabilitySet::empty());
            if told.is_err() {
                first.kill();
            }
            first.wait().unwrap_or(FAILED)
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let _ = tells.write_all(&(-errno).to_ne_bytes());
            FAILED
        }
    }
}

/// In the second copy, the first process of its ids: makes the processes of all programs, and says how each ended.
fn start_and_reap(works: Vec<(Inside<'_>, UnixStream)>) -> u8 {
    let (insides, mut ends): (Vec<_>, Vec<_>) = works
        .into_iter()
        .map(|(inside, ends)| (Some(inside), Some(ends)))
        .unzip();
    let mut insides: Vec<Option<Inside<'_>>> = insides;
    if let Err(errno) = set_parent_process_death_signal(Some(Signal::KILL)) {
        for inside in insides.iter_mut().flatten() {
            inside.line.refuse(&errno.into());
        }
        return FAILED;
    }
    let mut ids = Vec::new();
    for index in 0..insides.len() {
        let made = child::fork(|| {
            let mine = insides.get_mut(index).and_then(Option::take);
            // The ends of the others: an end of a line is heard once nobody holds it.
            insides.clear();
            ends.clear();
            mine.map_or(FAILED, become_program)
        });
        if let (Err(_), Some(inside)) = (&made, &mut insides[index]) {
            inside.line.refuse(&io::ErrorKind::WouldBlock.into());
        }
        insides[index] = None;
        ids.push(made.map(|child| child.id()).ok());
    }
    let _ = keep_only(CapabilitySet::empty());
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) => {
                let Some(index) = ids.iter().position(|one| *one == Some(id)) else {
                    continue;
                };
                // What it left behind. These numbers are nobody else's.
                let _ = kill_process_group(id, Signal::KILL);
                if let Some(mut ends) = ends[index].take() {
                    let _ = ends.write_all(&status.as_raw().to_ne_bytes());
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // There is nobody left.
            Err(_) => return 0,
        }
    }
}

fn become_program(inside: Inside<'_>) -> u8 {
    let Inside { work, line } = inside;
    let prepare = || {
        work.network.enter()?;
        child::heed_signals_again();
        keep_only(CapabilitySet::empty())
            .map(drop)
            .map_err(io::Error::other)
    };
    line.become_program(prepare, work.command)
}
