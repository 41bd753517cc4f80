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
use quell_units::notation;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize};

use super::LiveError;

/// The folder of a result that keeps what commands print.
pub const FOLDER: &str = "guest-exec";
/// How the last line of a file begins, once its command has ended.
const ENDED: &str = "# ended";
/// Most times of one command.
const MOST: usize = 1_000;
/// From asking a command to end until it is killed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Where {
    /// The host that sends in forward direction.
    Sender,
    /// The host that receives in forward direction.
    Receiver,
    /// Between them, where quell's link has its ports.
    Link,
}

impl Where {
    const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Link];

    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Link => "link",
        }
    }

    fn of(self, topology: &Topology) -> &Namespace {
        match self {
            Self::Sender => &topology.sender,
            Self::Receiver => &topology.receiver,
            Self::Link => &topology.link,
        }
    }
}

/// When a command runs, in nanoseconds of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum When {
    /// At these times, in their order.
    At(Vec<u64>),
    /// First at one time, and again and again until the run ends.
    Every { first: u64, interval: u64 },
}

/// A command with its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    when: When,
    place: Where,
    command: String,
}

impl GuestCommand {
    /// Reads `AT:NAMESPACE:COMMAND`. AT is a time, several (`5s,10s`), or `FIRST/INTERVAL`; NAMESPACE is `sender`, `receiver` or `link`;
    /// all that follows is the shell's.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (Some(at), Some(place), Some(command)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(format!(
                "{text}: must be AT:NAMESPACE:COMMAND, such as 10s:sender:ss -tin"
            ));
        };
        let time = |text: &str| {
            let time = notation::time(text.trim()).map_err(|error| format!("{text}: {error}"))?;
            Ok::<u64, String>(time.as_nanos())
        };
        let when = match at.split_once('/') {
            Some((first, interval)) => When::Every {
                first: time(first)?,
                interval: match time(interval)? {
                    0 => return Err(format!("{at}: the interval must be longer than 0")),
                    interval => interval,
                },
            },
            None => {
                let mut times = at.split(',').map(time).collect::<Result<Vec<_>, _>>()?;
                times.sort_unstable();
                times.dedup();
                When::At(times)
            }
        };
        let Some(place) = Where::ALL
            .into_iter()
            .find(|one| one.name() == place.trim())
        else {
            return Err(format!(
                "{place}: the namespaces are sender, receiver and link"
            ));
        };
        if command.trim().is_empty() {
            return Err(format!("{text}: the command is empty"));
        }
        Ok(Self {
            when,
            place,
            command: command.trim().to_owned(),
        })
    }

    /// Its times in a run of `duration`.
    ///
    /// # Errors
    ///
    /// One is not within the run; there are too many.
    pub fn times(&self, duration: Time) -> Result<Vec<Time>, String> {
        let end = duration.as_nanos();
        let times: Vec<u64> = match &self.when {
            When::At(times) => times.clone(),
            When::Every { first, interval } => {
                // With the first, so that one that lies behind the end is noticed.
                let count = end.saturating_sub(*first).div_ceil(*interval).max(1);
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                (0..count.min(MOST + 1) as u64)
                    .map(|index| first + index * interval)
                    .collect()
            }
        };
        if let Some(late) = times.iter().find(|&&at| at >= end) {
            return Err(format!(
                "{}: {} is not within the run of {duration}",
                self.command,
                Time::from_nanos(*late)
            ));
        }
        if times.len() > MOST {
            return Err(format!("{}: at most {MOST} times", self.command));
        }
        Ok(times.into_iter().map(Time::from_nanos).collect())
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
        fs::create_dir(folder).map_err(LiveError::Results)?;
        for (index, command) in commands.iter().enumerate() {
            let waiting = Waiting {
                number: index + 1,
                times: command.times(duration).map_err(LiveError::Scenario)?,
                command: command.clone(),
                folder: folder.to_owned(),
                epoch,
                shared: started.shared.clone(),
            };
            let topology = topology.clone();
            let thread = thread::Builder::new().name("quell-exec".into());
            let thread = thread.spawn(move || match waiting.command.place.of(&topology).enter() {
                Ok(()) => waiting.run(),
                Err(error) => vec![waiting.said(&format!("cannot enter its namespace: {error}"))],
            });
            started
                .threads
                .push(thread.map_err(|error| LiveError::Failed(error.to_string()))?);
        }
        Ok(started)
    }

    /// Ends what still runs; what there is to report.
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
                Err(_) => reports.push("a thread of --guest-exec broke off".to_owned()),
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

    /// Nothing begins any more, and what runs gets `signal`.
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
    /// What there is to report.
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

    /// Runs the command; says what was wrong with it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Result<Vec<u64>, String> {
        let times = GuestCommand::parse(text)?.times(Time::from_secs(20))?;
        Ok(times.iter().map(|at| at.as_nanos() / 1_000_000).collect())
    }

    #[test]
    fn a_command_has_times_a_namespace_and_the_rest_of_the_text() {
        let command = GuestCommand::parse("10s:sender:ss -tin 'dst :80' | head").unwrap();
        assert_eq!(command.command, "ss -tin 'dst :80' | head");
        assert_eq!(command.place, Where::Sender);
        assert_eq!(times("10s:link:x"), Ok(vec![10_000]));
        assert_eq!(times("5s,1500ms,5s:link:x"), Ok(vec![1_500, 5_000]));
        assert_eq!(
            times("1s/5s:receiver:x"),
            Ok(vec![1_000, 6_000, 11_000, 16_000])
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_be_right() {
        for (text, why) in [
            ("ss -tin", "must be AT:NAMESPACE:COMMAND"),
            ("10s:ss -tin", "must be AT:NAMESPACE:COMMAND"),
            ("10:sender:ss", "10: "),
            ("10s:host:ss", "sender, receiver and link"),
            ("10s:sender: ", "the command is empty"),
            ("0s/0s:sender:ss", "longer than 0"),
            ("20s:sender:ss", "is not within the run of 20s"),
            ("30s/1s:sender:ss", "is not within the run of 20s"),
            ("0s/1ms:sender:ss", "at most 1000 times"),
        ] {
            let error = times(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
