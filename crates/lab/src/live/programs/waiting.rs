//! A program in a thread of its own: it waits for its time, for its server, and for its end.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use quell_app::kinds::program::Part;
use quell_hosts::pid_namespace;
use quell_hosts::traffic::{Epoch, RunEnd};
use quell_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::command::Line;
use super::ran::{NotRun, Ran};
use crate::live::listening::listens;

/// From the start of a server to that of its client, if it listens nowhere.
const LISTENS_WITHIN: Time = Time::from_secs(5);
/// Between two looks whether it listens.
const LOOK: Time = Time::from_millis(1);
/// The longest time until a run that ends early is noticed.
const SLICE: Time = Time::from_millis(100);
/// From asking a program to end until it is killed.
const PATIENCE: Time = Time::from_secs(1);

/// What is known of the server of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// It has not begun, or listens nowhere yet.
    #[default]
    Begins,
    /// Its client may begin.
    Listens,
    /// It has ended, perhaps with success, as one that goes on in the background.
    Ended(bool),
}

/// The server of a group, as its client hears of it.
#[derive(Debug, Default)]
pub(super) struct Server {
    state: Mutex<State>,
    changed: Condvar,
}

impl Server {
    pub(super) fn tell(&self, new: State) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that may begin does, whatever comes later.
        if *state == State::Begins {
            *state = new;
        }
        self.changed.notify_all();
    }

    /// Waits for news for some time.
    fn hear(&self) -> State {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let slice = Duration::from_nanos(SLICE.as_nanos());
        let begins = |state: &mut State| *state == State::Begins;
        let waited = self.changed.wait_timeout_while(state, slice, begins);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A process that becomes the program.
pub(super) enum Process {
    /// It is made when its time has come: in a guest, with which everything ends.
    New(Line),
    /// It waits already, without rights, and ends with the process that carries packets.
    Waits(pid_namespace::Waiting),
}

/// One program in its thread.
pub(super) struct Waiting {
    pub(super) part: Part,
    /// What it is called in messages.
    pub(super) name: String,
    pub(super) start: Time,
    pub(super) stop: Time,
    pub(super) epoch: Epoch,
    pub(super) end: RunEnd,
    pub(super) server: Arc<Server>,
    pub(super) given_up: Arc<AtomicBool>,
}

/// A program that runs.
enum Running {
    /// A child of this process.
    Child(Child, Pid, Option<OwnedFd>),
    /// One that another process looks after.
    Enclosed(pid_namespace::Started),
}

impl Process {
    fn start(self) -> io::Result<Running> {
        match self {
            Self::New(line) => {
                let child = line.command()?.spawn()?;
                let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let id = id.ok_or(io::ErrorKind::InvalidData)?;
                let watched = pidfd_open(id, PidfdFlags::empty()).ok();
                Ok(Running::Child(child, id, watched))
            }
            Self::Waits(waiting) => Ok(Running::Enclosed(waiting.start()?)),
        }
    }
}

impl Running {
    fn id(&self) -> Pid {
        match self {
            Self::Child(_, id, _) => *id,
            Self::Enclosed(started) => started.id(),
        }
    }

    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Child(child, ..) => child.try_wait(),
            Self::Enclosed(started) => started.ended(),
        }
    }

    /// Can be read once it has ended.
    fn watched(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Child(_, _, watched) => watched.as_ref().map(OwnedFd::as_fd),
            Self::Enclosed(started) => Some(started.as_fd()),
        }
    }

    fn send(&self, signal: Signal) {
        // Whoever is gone needs no signal.
        let _ = kill_process_group(self.id(), signal);
    }
}

impl Waiting {
    /// Runs the program at its time.
    pub(super) fn run(&self, process: Process) -> io::Result<Ran> {
        loop {
            let now = self.now();
            if now >= self.ends_at() {
                return Ok(Ran::WasEnded);
            }
            if now >= self.start {
                break;
            }
            thread::sleep(Duration::from_nanos(
                (self.start - now).min(SLICE).as_nanos(),
            ));
        }
        if self.part == Part::Client {
            loop {
                match self.server.hear() {
                    State::Listens | State::Ended(true) => break,
                    State::Ended(false) => {
                        return Ok(Ran::Not(NotRun::NoServer));
                    }
                    State::Begins if self.now() >= self.ends_at() => return Ok(Ran::WasEnded),
                    State::Begins => {}
                }
            }
        }
        self.carry_out(process)
    }

    fn now(&self) -> Time {
        self.epoch.elapsed().unwrap_or_default()
    }

    /// When it is asked to end.
    fn ends_at(&self) -> Time {
        match self.given_up.load(Ordering::Relaxed) {
            true => Time::ZERO,
            false => self.stop.min(self.end.at()),
        }
    }

    fn carry_out(&self, process: Process) -> io::Result<Ran> {
        let began = self.now();
        let mut running = match process.start() {
            Ok(running) => running,
            Err(source) => {
                let name = self.name.clone();
                return Ok(Ran::Not(NotRun::NotStarted { name, source }));
            }
        };
        let mut told = self.part == Part::Client;
        let mut asked: Option<Time> = None;
        let status = loop {
            if let Some(status) = running.ended()? {
                break status;
            }
            let now = self.now();
            let ends_at = self.ends_at();
            let wake = match asked {
                None if now >= ends_at => {
                    asked = Some(now);
                    running.send(Signal::TERM);
                    now + PATIENCE
                }
                None => ends_at,
                Some(at) => {
                    if now >= at + PATIENCE {
                        running.send(Signal::KILL);
                    }
                    at + PATIENCE
                }
            };
            let mut slice = SLICE.min(wake - now).max(LOOK);
            if !told {
                if now >= began + LISTENS_WITHIN || listens(running.id()) {
                    told = true;
                    self.server.tell(State::Listens);
                } else {
                    slice = LOOK;
                }
            }
            match running.watched() {
                Some(watched) => {
                    let timeout = Timespec {
                        tv_sec: 0,
                        tv_nsec: slice.as_nanos() as _,
                    };
                    match poll(&mut [PollFd::new(&watched, PollFlags::IN)], Some(&timeout)) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                None => thread::sleep(Duration::from_nanos(LOOK.as_nanos())),
            }
        };
        let ran = self.now() - began;
        if let Running::Child(..) = running {
            // What it left behind; others are looked after where they are reaped.
            running.send(Signal::KILL);
        }
        Ok(match asked {
            None => Ran::Ended(status, ran),
            Some(_) => Ran::WasEnded,
        })
    }
}
