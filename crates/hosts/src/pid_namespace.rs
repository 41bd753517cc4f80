//! Programs that end together with the process that started them, however it ends.
//!
//! They have process ids of their own (pid_namespaces(7)): when the first process of such a namespace is gone, the kernel kills all others,
//! with what they started in the background, in sessions of their own, and what became nobody's child. That first process is a copy of ours,
//! which starts each program, reaps what ends, and signals on request: for it, all processes are those of the namespace. It is killed with the
//! process between, and that one with ours (PR_SET_PDEATHSIG); it also ends itself when its line to our process does. So kill -9 of any of
//! them leaves nothing.
//!
//! ```text
//!   process ─┬─ between (same ids as the process; waits)
//!            │     └─ first process of the new ids ─┬─ program
//!            └───────── lines ──────────────────────┴─ program
//! ```
//!
//! Every program waits, prepared and without any right, until it is told to start.
//!
//! What a program sees of it: its own ids are small, its parent is 1, and the group and the session of its caller are 0. Whether `/proc` is that
//! of its own ids is for [`Work::prepare`] to decide: a process under Landlock may mount nothing. In the caller's `/proc`, `/proc/self` is right,
//! and whoever looks for the number that getpid(2) gives finds another process there.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::confine::capabilities::{CapabilitySet, keep_only};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, set_parent_process_death_signal, wait,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::child::{self, Answered, Child};
use crate::error::Doing as _;
use crate::spawn_handshake::{self, FAILED, FarEnd, Heard, Line};
use crate::{Error, Result};

/// What becomes a program.
pub struct Work<'a> {
    /// What its process does with the caller's rights, which it gives away next: it enters a network, mounts, changes its user.
    pub prepare: Box<dyn FnOnce() -> io::Result<()> + 'a>,
    /// What it executes; asked for when it is to start.
    pub command: Box<dyn FnOnce() -> io::Result<Command> + 'a>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").finish_non_exhaustive()
    }
}

/// What happens to what a program has started when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Its process group is killed. Only for a program that leads one of its own.
    GroupKilled,
    /// It goes on, until it is ended with the [`PidNamespace`].
    Running,
}

/// How programs are kept.
#[derive(Debug, Clone, Copy)]
pub struct Keeping {
    /// What becomes of what they leave behind.
    pub left: Left,
    /// Rights that the first process keeps: CAP_KILL, where a program has another user.
    pub rights: CapabilitySet,
}

/// Programs with process ids of their own. All of them are killed when this is dropped.
#[derive(Debug)]
pub struct PidNamespace {
    /// The first process; none where it never was.
    first: Option<(Pid, OwnedFd)>,
    between: Child,
    /// What the first process is asked.
    orders: UnixStream,
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

/// What the first process has: its programs, where it says how each ended, and where it is asked.
struct Kept<'a> {
    works: Vec<(Inside<'a>, UnixStream)>,
    orders: UnixStream,
    keeping: Keeping,
    /// The signals of the caller, which programs have again.
    answered: Answered,
}

/// A signal, in the order of the bytes: for the program of this index, or for all processes.
const ORDER: usize = 8;
const ALL: i32 = -1;

impl PidNamespace {
    /// Makes the processes of some programs, which wait in the order of `works`. The caller has a single thread, and needs CAP_SYS_ADMIN.
    ///
    /// # Errors
    ///
    /// There is another thread, or the kernel refuses processes, their ids or what they prepare.
    pub fn fork(works: Vec<Work<'_>>, keeping: Keeping) -> Result<(Self, Vec<Waiting>)> {
        let sockets = || "make a pair of sockets";
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for work in works {
            let (line, far_line) = spawn_handshake::pair().doing(sockets)?;
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
        let (orders, far_orders) = UnixStream::pair().doing(sockets)?;
        let mut near = Some((near, told, orders));
        // What a copy is given is dropped here, so that this process sees when the copy has closed it.
        let between = child::fork(|| {
            // The copies see by their ends of the lines that this process is gone.
            near = None;
            let answered = child::leave_signals_to_others();
            let kept = Kept {
                works: far,
                orders: far_orders,
                keeping,
                answered,
            };
            stand_between(kept, tells)
        })?;
        let Some((near, mut told, orders)) = near else {
            return Err(gone()).doing(|| "start programs");
        };
        let mut pid_namespace = Self {
            first: None,
            between,
            orders,
        };
        let mut answer = [0; 4];
        let answered = told.read_exact(&mut answer);
        answered.doing(|| "hear of the process that starts programs")?;
        let first = match i32::from_ne_bytes(answer) {
            id @ 1.. => Pid::from_raw(id).ok_or_else(gone),
            errno => Err(io::Error::from_raw_os_error(-errno)),
        };
        let id = first.doing(|| "give programs process ids of their own")?;
        let first = pidfd_open(id, PidfdFlags::empty());
        let first = first.doing(|| "watch the process that starts programs")?;
        pid_namespace.first = Some((id, first));
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
        Ok((pid_namespace, waiting))
    }

    /// The first process of the programs' ids, in those of the caller.
    pub fn first(&self) -> Option<Pid> {
        self.first.as_ref().map(|(id, _)| *id)
    }

    /// Sends a signal to the program of this index, unless it has ended.
    pub fn signal(&self, index: usize, signal: Signal) {
        if let Ok(index) = i32::try_from(index) {
            self.order(index, signal);
        }
    }

    /// Sends a signal to every process with these ids: programs and whatever they started.
    pub fn signal_all(&self, signal: Signal) {
        self.order(ALL, signal);
    }

    fn order(&self, whom: i32, signal: Signal) {
        let order = [whom.to_ne_bytes(), signal.as_raw().to_ne_bytes()].concat();
        // Nobody is left to be signalled where nobody hears.
        let _ = (&self.orders).write_all(&order);
    }

    /// Waits for at most `patience` until no process with these ids is left; whether that is so. A signal to the caller interrupts it.
    pub fn is_empty_within(&self, patience: Duration) -> bool {
        let Some((_, first)) = &self.first else {
            return true;
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        matches!(
            poll(&mut [PollFd::new(first, PollFlags::IN)], Some(&timeout)),
            Ok(1..)
        )
    }

    /// Kills every process with these ids, and waits until they are gone: the kernel ends a first process only when it has ended all others.
    pub fn kill(&self) {
        if let Some((_, first)) = &self.first {
            // It may be gone, which is as good.
            let _ = pidfd_send_signal(first, Signal::KILL);
            while poll(&mut [PollFd::new(first, PollFlags::IN)], None)
                == Err(rustix::io::Errno::INTR)
            {}
        }
    }
}

impl Drop for PidNamespace {
    fn drop(&mut self) {
        self.kill();
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
    /// Its process: an id of the caller's.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// How it ended; `None` while it runs.
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
fn stand_between(kept: Kept<'_>, mut tells: UnixStream) -> u8 {
    let made = (|| -> io::Result<Child> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // SAFETY: NEWPID changes only the ids of processes that are made from now on.
        unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?;
        let first = child::fork(|| start_and_reap(kept));
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
            child::keep_out_of_sight();
            child::close_all_but(&[]);
            first.wait().unwrap_or(FAILED)
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let _ = tells.write_all(&(-errno).to_ne_bytes());
            FAILED
        }
    }
}

/// In the second copy, the first process of its ids: makes the processes of all programs, says how each ended, and signals on request. It ends
/// when nobody is left, or nobody can ask any more.
fn start_and_reap(kept: Kept<'_>) -> u8 {
    let Kept {
        works,
        mut orders,
        keeping,
        answered,
    } = kept;
    let (mut insides, mut ends): (Vec<_>, Vec<_>) = works
        .into_iter()
        .map(|(inside, ends)| (Some(inside), Some(ends)))
        .unzip();
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
            mine.map_or(FAILED, |mine| become_program(mine, &answered))
        });
        if let (Err(_), Some(inside)) = (&made, &mut insides[index]) {
            inside.line.refuse(&io::ErrorKind::WouldBlock.into());
        }
        insides[index] = None;
        ids.push(made.map(|child| child.id()).ok());
    }
    let _ = keep_only(keeping.rights);
    child::keep_out_of_sight();
    let mut held: Vec<BorrowedFd<'_>> = ends.iter().flatten().map(AsFd::as_fd).collect();
    held.push(orders.as_fd());
    child::close_all_but(&held);
    let Ok(children) = child::watch_children() else {
        return FAILED;
    };
    loop {
        let is_over = reap(&mut ids, |index, id, status| {
            if keeping.left == Left::GroupKilled {
                // What it left behind. These numbers are nobody else's.
                let _ = kill_process_group(id, Signal::KILL);
            }
            if let Some(mut ends) = ends[index].take() {
                let _ = ends.write_all(&status.to_ne_bytes());
            }
        });
        if is_over {
            return 0;
        }
        let mut ready = [
            PollFd::new(&children, PollFlags::IN),
            PollFd::new(&orders, PollFlags::IN),
        ];
        if poll(&mut ready, None).is_err() {
            continue;
        }
        let [children_ready, asked] = ready.map(|one| !one.revents().is_empty());
        if children_ready {
            child::forget_ends(&children);
        }
        if asked {
            let mut order = [0; ORDER];
            // Whoever could ask is gone: with this process the kernel ends all others.
            if orders.read_exact(&mut order).is_err() {
                return FAILED;
            }
            obey(order, &ids);
        }
    }
}

/// Takes the ends of all children that have ended; whether nobody is left. `heard` is called with those of programs.
fn reap(ids: &mut [Option<Pid>], mut heard: impl FnMut(usize, Pid, i32)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((id, status))) => {
                if let Some(index) = ids.iter().position(|one| *one == Some(id)) {
                    heard(index, id, status.as_raw());
                    ids[index] = None;
                }
            }
            Ok(None) => return false,
            Err(rustix::io::Errno::INTR) => {}
            // There is nobody left.
            Err(_) => return true,
        }
    }
}

fn obey(order: [u8; ORDER], ids: &[Option<Pid>]) {
    let (whom, signal) = order.split_at(ORDER / 2);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    let (whom, Some(signal)) = (number(whom), Signal::from_named_raw(number(signal))) else {
        return;
    };
    // Whoever has ended meanwhile needs no signal.
    let _ = match usize::try_from(whom) {
        Ok(index) => match ids.get(index) {
            Some(Some(id)) => kill_process(*id, signal),
            _ => Ok(()),
        },
        Err(_) => child::signal_everybody(signal),
    };
}

fn become_program(inside: Inside<'_>, answered: &Answered) -> u8 {
    let Inside { work, line } = inside;
    let prepare = || {
        answered.again();
        (work.prepare)()?;
        keep_only(CapabilitySet::empty())
            .map(drop)
            .map_err(io::Error::other)
    };
    line.become_program(prepare, work.command)
}
