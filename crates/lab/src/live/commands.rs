//! Commands of the user that run in the hosts' namespaces at given times of the run: `ss`, `tc`, a look into tracefs.
//!
//! One thread per command waits for its times in its namespace; what it starts is `sh -c COMMAND`, in the folder of the result that
//! keeps what it prints, one file per time:
//!
//! ```text
//! # sender at 10.000000256 s: ss -tin
//! ...
//! # ended at 10.000012800 s: exit code 0
//! ```
//!
//! A command that is not done at the end of the run is ended then, with all that it started. One that fails, or had to be ended, is
//! reported, and the run goes on. Commands come from the command line, never from a scenario.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quell_hosts::namespace::Namespace;
use quell_hosts::topology::Topology;
use quell_hosts::traffic::Epoch;
use quell_units::Time;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::error::LiveError;
use crate::guest_command::{FOLDER, GuestCommand, Where};

/// How the last line of a file begins, once its command has ended.
const ENDED: &str = "# ended";
/// From asking a command to end until it is killed.
const PATIENCE: Duration = Duration::from_millis(100);

/// The namespace of `place`.
fn namespace(place: Where, topology: &Topology) -> &Namespace {
    match place {
        Where::Sender => &topology.sender,
        Where::Receiver => &topology.receiver,
        Where::Link => &topology.link,
    }
}

/// The commands of a run.
#[derive(Debug, Default)]
pub(super) struct Commands {
    threads: Vec<JoinHandle<Vec<String>>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    /// The process groups of commands that run.
    running: Vec<Pid>,
}

impl Commands {
    /// Starts the threads that wait for the times of `commands`; what these print goes to files in `folder`, which is made.
    pub(super) fn start(
        commands: &[GuestCommand],
        folder: Option<&Path>,
        topology: &Arc<Topology>,
        epoch: Epoch,
        duration: Time,
    ) -> Result<Self, LiveError> {
        let mut started = Self::default();
        let (Some(folder), [_, ..]) = (folder, commands) else {
            return Ok(started);
        };
        fs::create_dir(folder).map_err(quell_results::Error::writing(folder))?;
        for (index, command) in commands.iter().enumerate() {
            let waiting = Waiting {
                number: index + 1,
                times: command
                    .times(duration)
                    .map_err(|why| LiveError::Scenario(why.to_string()))?,
                command: command.clone(),
                folder: folder.to_owned(),
                epoch,
                shared: started.shared.clone(),
            };
            let topology = topology.clone();
            let thread = thread::Builder::new().name("quell-exec".into());
            let thread =
                thread.spawn(
                    move || match namespace(waiting.command.place, &topology).enter() {
                        Ok(()) => waiting.run(),
                        Err(error) => {
                            vec![waiting.said(&format!("cannot enter its namespace: {error}"))]
                        }
                    },
                );
            started
                .threads
                .push(thread.map_err(|error| LiveError::Failed(error.to_string()))?);
        }
        Ok(started)
    }

    /// Ends the commands that still run; returns the reports.
    pub(super) fn finish(mut self) -> Vec<String> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        let mut reports = vec![
            "commands ran inside the guest (--guest-exec): what they do takes some of its time, and figures can differ from those of a \
             run without them"
                .to_owned(),
        ];
        for thread in self.end() {
            match thread.join() {
                Ok(said) => reports.extend(said),
                Err(_) => reports.push("a thread of --guest-exec failed".to_owned()),
            }
        }
        reports
    }

    fn end(&mut self) -> Vec<JoinHandle<Vec<String>>> {
        self.shared.end(Signal::TERM);
        let mut state = self.shared.lock();
        if !state.running.is_empty() {
            // Woken with each one that ends.
            let running = |state: &mut State| !state.running.is_empty();
            let waited = self
                .shared
                .ended
                .wait_timeout_while(state, PATIENCE, running);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.shared.end(Signal::KILL);
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Commands {
    /// Of a run that failed.
    fn drop(&mut self) {
        for thread in self.end() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No command starts any more, and those that run get `signal`.
    fn end(&self, signal: Signal) {
        let mut state = self.lock();
        state.ended = true;
        for group in &state.running {
            // One that is gone needs no signal.
            let _ = kill_process_group(*group, signal);
        }
        self.ended.notify_all();
    }
}

/// One command in its thread.
struct Waiting {
    number: usize,
    times: Vec<Time>,
    command: GuestCommand,
    folder: PathBuf,
    epoch: Epoch,
    shared: Arc<Shared>,
}

impl Waiting {
    /// Runs the command at its times; returns the reports.
    fn run(&self) -> Vec<String> {
        let mut reports = Vec::new();
        for &at in &self.times {
            if !self.wait_until(at) {
                reports.push(self.said(&format!("the run ended before {at}")));
                break;
            }
            let place = self.command.place.name();
            let name = format!("{}-{place}-{at}.txt", self.number);
            match self.once(&self.folder.join(&name)) {
                Ok(None) => {}
                Ok(Some(why)) => {
                    reports.push(self.said(&format!("at {at}: {why}; see {FOLDER}/{name}")))
                }
                Err(error) => reports.push(self.said(&format!("at {at}: {error}"))),
            }
        }
        reports
    }

    fn said(&self, what: &str) -> String {
        format!("--guest-exec {:?}: {what}", self.command.command)
    }

    /// Whether the run still goes on at `at`.
    fn wait_until(&self, at: Time) -> bool {
        let mut state = self.shared.lock();
        while !state.ended {
            let now = self.epoch.elapsed();
            if now.is_some_and(|now| now >= at) {
                return true;
            }
            // Before the run begins its time is not known: a look some time later.
            let left = now.map_or(Time::from_millis(1), |now| at - now);
            let left = Duration::from_nanos(left.as_nanos());
            let waited = self.shared.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    fn now(&self) -> f64 {
        self.epoch.elapsed().unwrap_or_default().as_nanos() as f64 / 1e9
    }

    /// Runs the command; returns what was wrong with it.
    fn once(&self, path: &Path) -> io::Result<Option<String>> {
        let mut file = File::create_new(path)?;
        let GuestCommand { place, command, .. } = &self.command;
        writeln!(file, "# {} at {:.9} s: {command}", place.name(), self.now())?;
        let mut program = Command::new("sh");
        program
            .args(["-c", command])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file.try_clone()?)
            .process_group(0);
        let (status, was_ended) = self.watch(program.spawn()?)?;
        let how = describe(status);
        writeln!(file, "{ENDED} at {:.9} s: {how}", self.now())?;
        Ok(match (status.success(), was_ended) {
            (_, true) => Some("it had not ended when the run did, and was ended".to_owned()),
            (true, false) => None,
            (false, false) => Some(how),
        })
    }

    /// Waits for the end of a command; whether it was made to end.
    fn watch(&self, mut child: Child) -> io::Result<(ExitStatus, bool)> {
        let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return child.wait().map(|status| (status, false));
        };
        {
            let mut state = self.shared.lock();
            state.running.push(group);
            if state.ended {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        // It is not reaped before it is off the list: until then its number is that of no other.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(group), options) {}
        let was_ended = {
            let mut state = self.shared.lock();
            state.running.retain(|other| *other != group);
            state.ended
        };
        self.shared.ended.notify_all();
        // What it left in the background.
        let _ = kill_process_group(group, Signal::KILL);
        Ok((child.wait()?, was_ended))
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The commands that had begun and not ended, by what is in the folder of a result.
pub(crate) fn unfinished(results: &Path) -> Vec<String> {
    let entries = fs::read_dir(results.join(FOLDER)).into_iter().flatten();
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let text = fs::read(entry.path()).ok()?;
            let text = String::from_utf8_lossy(&text);
            let ended = text.lines().last()?.starts_with(ENDED);
            let first = text.lines().next()?.strip_prefix("# ")?.to_owned();
            (!ended).then_some(first)
        })
        .collect();
    found.sort();
    found
}
