//! Programs of a scenario: started on the hosts as flows are, and ended with their group.
//!
//! One thread per program waits for its time in the namespace of its host. The server of a group starts with the group, its client once
//! the server listens. What they print goes to two files of the result each; what they write to `$RESULT` is kept. A program that still
//! runs at the stop of its group, or at the end of the run, is asked to end (SIGTERM), and killed some time later (SIGKILL), with all that
//! it started in its process group.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quell_app::kinds::program::{Ended, Part, Program};
use quell_app::{AppConfig, ProgramReport, Report};
use quell_hosts::topology::{GroupAddresses, Topology};
use quell_hosts::traffic::{Epoch, Host, RunEnd};
use quell_scenario::{Group, Scenario, programs};
use quell_units::{CommandLine, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::LiveError;
use super::listening::listens;
use super::plan::source;
use crate::options::LiveOptions;
use crate::surroundings::{FOLDER, Surroundings};

/// From the start of a server to that of its client, if it listens nowhere.
const LISTENS_WITHIN: Time = Time::from_secs(5);
/// Between two looks whether it listens.
const LOOK: Time = Time::from_millis(1);
/// The longest time until a run that ends early is noticed.
const SLICE: Time = Time::from_millis(100);
/// From asking a program to end until it is killed.
const PATIENCE: Time = Time::from_secs(1);

/// The programs of a group, if it is one of programs.
pub(super) fn of(group: &Group) -> Option<&Program> {
    match group.app.config() {
        AppConfig::Program(program) => Some(program),
        _ => None,
    }
}

/// The programs of a run.
#[derive(Debug, Default)]
pub(super) struct Programs {
    threads: Vec<(usize, Part, JoinHandle<Ran>)>,
    given_up: Arc<AtomicBool>,
    /// Folders of groups.
    kept: Vec<PathBuf>,
}

/// What became of a program.
#[derive(Debug)]
enum Ran {
    /// It did not start.
    Not(String),
    /// It ran for this time and ended by itself.
    Ended(ExitStatus, Time),
    /// It was ended with its group.
    WasEnded,
}

/// How the programs of the groups ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// By group.
    pub(super) reports: Vec<(usize, Report)>,
    /// What went wrong.
    pub(super) warnings: Vec<String>,
}

/// Refuses what does not go with programs.
pub(super) fn check(scenario: &Scenario, options: &LiveOptions) -> Result<(), LiveError> {
    if options.watches() && scenario.groups.iter().any(|group| of(group).is_some()) {
        return Err(LiveError::Scenario(
            "--watch and --kernel-queue know packets by their ports, and programs choose theirs: leave these options out".to_owned(),
        ));
    }
    Ok(())
}

impl Programs {
    /// Starts the threads that wait for the times of the programs; what these print goes to files in `folder`, which is made.
    pub(super) fn start(
        scenario: &Scenario,
        surroundings: Option<&Surroundings>,
        folder: Option<PathBuf>,
        topology: &Arc<Topology>,
        epoch: Epoch,
        end: &RunEnd,
    ) -> Result<Self, LiveError> {
        let mut started = Self::default();
        if !scenario.groups.iter().any(|group| of(group).is_some()) {
            return Ok(started);
        }
        let (Some(surroundings), Some(folder)) = (surroundings, folder) else {
            return Err(LiveError::Scenario(
                "programs of a scenario run in the virtual world only".to_owned(),
            ));
        };
        let make =
            |path: &Path| fs::create_dir_all(path).map_err(quell_results::Error::writing(path));
        make(&folder)?;
        let surroundings = Arc::new(surroundings.clone());
        for (index, group) in scenario.groups.iter().enumerate() {
            let Some(program) = of(group) else { continue };
            let kept = surroundings.kept.join(&group.name);
            make(&kept)?;
            let server = Arc::new(Server::default());
            if program.line(Part::Server).is_none() {
                server.tell(State::Listens);
            }
            let addresses = topology.groups[index];
            for (part, line) in programs(group) {
                let waiting = Waiting {
                    part,
                    words: substituted(line, program, group, addresses, &kept),
                    output: folder.join(format!("{}-{}", group.name, part.name())),
                    surroundings: surroundings.clone(),
                    start: group.start,
                    stop: group.stop.unwrap_or(Time::MAX),
                    epoch,
                    end: end.clone(),
                    server: server.clone(),
                    given_up: started.given_up.clone(),
                };
                let (topology, host) = (topology.clone(), host(program, group, part));
                let thread = thread::Builder::new().name("quell-program".into());
                let thread = thread.spawn(move || {
                    let namespace = match host {
                        Host::Sender => &topology.sender,
                        Host::Receiver => &topology.receiver,
                    };
                    let ran = match namespace.enter() {
                        Ok(()) => waiting
                            .run()
                            .unwrap_or_else(|error| Ran::Not(error.to_string())),
                        Err(error) => Ran::Not(format!("cannot enter its namespace: {error}")),
                    };
                    if waiting.part == Part::Server {
                        let success = matches!(&ran, Ran::Ended(status, _) if status.success());
                        waiting.server.tell(State::Ended(success));
                    }
                    ran
                });
                let thread = thread.map_err(|error| LiveError::Failed(error.to_string()))?;
                started.threads.push((index, part, thread));
            }
            started.kept.push(kept);
        }
        Ok(started)
    }

    /// Waits for the end of all programs, which comes soon after that of the run.
    pub(super) fn finish(mut self, scenario: &Scenario) -> Outcome {
        let mut outcome = Outcome::default();
        for (index, part, thread) in std::mem::take(&mut self.threads) {
            let ran = thread
                .join()
                .unwrap_or_else(|_| Ran::Not("its thread failed".to_owned()));
            let group = &scenario.groups[index];
            outcome.warnings.extend(ran.warning(group, part));
            let mut report = ProgramReport::default();
            report.ended[part as usize] = Some(ran.ended());
            match outcome.reports.last_mut() {
                Some((last, sum)) if *last == index => sum.merge(&Report::Program(report)),
                _ => outcome.reports.push((index, Report::Program(report))),
            }
        }
        for kept in &self.kept {
            // It stays if something is in it.
            let _ = fs::remove_dir(kept);
        }
        outcome
    }
}

impl Drop for Programs {
    /// Of a run that failed.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        for (_, _, thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Ran {
    fn ended(&self) -> Ended {
        match self {
            Self::Not(_) => Ended {
                failed: true,
                ..Ended::default()
            },
            Self::Ended(status, ran) => Ended {
                code: Some(code(*status)),
                ran: Some(*ran),
                failed: !status.success(),
            },
            Self::WasEnded => Ended::default(),
        }
    }

    /// Why the program did not do what was asked of it.
    fn warning(&self, group: &Group, part: Part) -> Option<String> {
        let (name, part) = (&group.name, part.name());
        match self {
            Self::Not(why) => Some(format!("group {name}: its {part} did not start: {why}")),
            Self::Ended(status, _) if !status.success() => Some(format!(
                "group {name}: its {part} failed with {}; see {FOLDER}/{name}-{part}.err",
                match (status.code(), status.signal()) {
                    (None, Some(signal)) => format!("signal {signal}"),
                    _ => format!("exit code {}", code(*status)),
                }
            )),
            Self::Ended(..) | Self::WasEnded => None,
        }
    }
}

/// The exit code, or 128 and the signal.
fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signal);
    u8::try_from(code.unwrap_or(255)).unwrap_or(255)
}

/// Where a program runs.
fn host(program: &Program, group: &Group, part: Part) -> Host {
    let source = source(group);
    match program.is_source(part) {
        true => source,
        false => source.other(),
    }
}

/// The words of a command line, with what stands for addresses and folders.
fn substituted(
    line: &CommandLine,
    program: &Program,
    group: &Group,
    addresses: GroupAddresses,
    kept: &Path,
) -> Vec<String> {
    let address = |part| match host(program, group, part) {
        Host::Sender => addresses.sender.to_string(),
        Host::Receiver => addresses.receiver.to_string(),
    };
    let names = [
        ("SERVER", address(Part::Server)),
        ("CLIENT", address(Part::Client)),
        ("RESULT", kept.display().to_string()),
    ];
    line.words().map(|word| substitute(word, &names)).collect()
}

/// Puts the values in place of their names behind a `$`. What else has a `$` stays.
fn substitute(word: &str, names: &[(&str, String)]) -> String {
    let mut parts = word.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(part.len());
        match names.iter().find(|(name, _)| *name == &part[..end]) {
            Some((_, value)) => out.extend([value, &part[end..]]),
            None => out.extend(["$", part]),
        }
    }
    out
}

/// What is known of the server of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It has not begun, or listens nowhere yet.
    #[default]
    Begins,
    /// Its client may begin.
    Listens,
    /// It has ended, perhaps with success, as one that goes on in the background.
    Ended(bool),
}

#[derive(Debug, Default)]
struct Server {
    state: Mutex<State>,
    changed: Condvar,
}

impl Server {
    fn tell(&self, new: State) {
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

/// One program in its thread.
struct Waiting {
    part: Part,
    words: Vec<String>,
    /// Where its output goes, without the extension.
    output: PathBuf,
    surroundings: Arc<Surroundings>,
    start: Time,
    stop: Time,
    epoch: Epoch,
    end: RunEnd,
    server: Arc<Server>,
    given_up: Arc<AtomicBool>,
}

impl Waiting {
    /// Runs the program at its time.
    fn run(&self) -> io::Result<Ran> {
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
                        return Ok(Ran::Not("its server had ended".to_owned()));
                    }
                    State::Begins if self.now() >= self.ends_at() => return Ok(Ran::WasEnded),
                    State::Begins => {}
                }
            }
        }
        self.carry_out()
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

    fn command(&self) -> io::Result<Command> {
        let output = |extension: &str| File::create_new(self.output.with_extension(extension));
        let Surroundings {
            directory,
            variables,
            ..
        } = &*self.surroundings;
        // The user of a guest may not enter every folder of its host.
        let can_enter = fs::metadata(directory.join(".")).is_ok();
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .current_dir(if can_enter { directory } else { Path::new("/") })
            .env_clear()
            .envs(variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(output("out")?)
            .stderr(output("err")?)
            .process_group(0);
        Ok(command)
    }

    fn carry_out(&self) -> io::Result<Ran> {
        let began = self.now();
        let mut child = match self.command()?.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Ran::Not(format!("{}: {error}", self.words[0]))),
        };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or(io::ErrorKind::InvalidData)?;
        let send = |signal| {
            // Whoever is gone needs no signal.
            let _ = kill_process_group(id, signal);
        };
        let watched = pidfd_open(id, PidfdFlags::empty());
        let mut told = self.part == Part::Client;
        let mut asked: Option<Time> = None;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let now = self.now();
            let ends_at = self.ends_at();
            let wake = match asked {
                None if now >= ends_at => {
                    asked = Some(now);
                    send(Signal::TERM);
                    now + PATIENCE
                }
                None => ends_at,
                Some(at) => {
                    if now >= at + PATIENCE {
                        send(Signal::KILL);
                    }
                    at + PATIENCE
                }
            };
            let mut slice = SLICE.min(wake - now).max(LOOK);
            if !told {
                if now >= began + LISTENS_WITHIN || listens(id) {
                    told = true;
                    self.server.tell(State::Listens);
                } else {
                    slice = LOOK;
                }
            }
            match &watched {
                Ok(watched) => {
                    let timeout = Timespec {
                        tv_sec: 0,
                        tv_nsec: slice.as_nanos() as _,
                    };
                    match poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&timeout)) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(_) => thread::sleep(Duration::from_nanos(LOOK.as_nanos())),
            }
        };
        let ran = self.now() - began;
        // What it left behind.
        send(Signal::KILL);
        Ok(match asked {
            None => Ran::Ended(status, ran),
            Some(_) => Ran::WasEnded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_where_their_names_stood() {
        let names = [
            ("SERVER", "10.0.0.1".to_owned()),
            ("RESULT", "/r".to_owned()),
        ];
        for (word, expected) in [
            ("$SERVER", "10.0.0.1"),
            ("http://$SERVER:80/$RESULT", "http://10.0.0.1:80//r"),
            ("$SERVERS $HOME $ $$SERVER", "$SERVERS $HOME $ $10.0.0.1"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(substitute(word, &names), expected, "{word}");
        }
    }

    #[test]
    fn an_exit_code_tells_a_signal_from_a_failure() {
        for (raw, expected) in [(0, 0), (7 << 8, 7), (9, 137)] {
            assert_eq!(code(ExitStatus::from_raw(raw)), expected);
        }
    }
}
