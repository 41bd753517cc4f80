//! Programs of a scenario: started on the hosts as flows are, and ended with their group.
//!
//! One thread per program waits for its time in the namespace of its host. The server of a group starts with the group, its client once
//! the server listens. What they print goes to two files of the result each; what they write to `$RESULT` is kept. A program that still
//! runs at the stop of its group, or at the end of the run, is asked to end (SIGTERM), and killed some time later (SIGKILL), with all that
//! it started in its process group.
//!
//! In the live world the processes are made while this one has a single thread, give every right away, and end with it
//! ([`quell_hosts::pid_namespace`]); the files that they may write are those of this process. A guest ends with all that is in it, and its
//! programs are children of its only process, with root's rights over the guest.

mod command;
mod ran;
mod waiting;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use quell_app::kinds::program::Part;
use quell_app::{ProgramReport, Report};
use quell_hosts::child;
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::namespace::Namespace;
use quell_hosts::pid_namespace::{Keeping, Left, PidNamespace, Work};
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{Epoch, Host, RunEnd};
use quell_scenario::{Scenario, programs};
use quell_units::Time;

use super::error::LiveError;
use super::groups::{host, programs_of};
use crate::World;
use crate::options::LiveOptions;
use crate::program_env::{ProgramEnv, TEMPORARY, has_programs};
use command::{Line, substituted};
use ran::{NotRun, Ran};
use waiting::{Process, Server, State, Waiting};

/// The programs of a run before it begins.
#[derive(Default)]
pub(super) struct Prepared {
    all: Vec<One>,
    /// Folders that go if they are empty.
    kept: Vec<PathBuf>,
    /// A folder that goes with all that is in it.
    temporary: Option<PathBuf>,
    pid_namespace: Option<PidNamespace>,
}

/// One program.
struct One {
    group: usize,
    part: Part,
    host: Host,
    /// What it is called in messages.
    name: String,
    process: Process,
}

/// The programs of a run.
#[derive(Debug)]
pub(super) struct Programs {
    threads: Vec<(usize, Part, JoinHandle<Ran>)>,
    given_up: Arc<AtomicBool>,
    /// Folders that go if they are empty.
    kept: Vec<PathBuf>,
    /// A folder that goes with all that is in it.
    temporary: Option<PathBuf>,
    /// Those that have processes already, which end with it.
    pid_namespace: Option<PidNamespace>,
}

/// How the programs of the groups ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// By group.
    pub(super) reports: Vec<(usize, Report)>,
    /// What went wrong.
    pub(super) warnings: Vec<String>,
}

/// Refuses what does not go with programs, before anything is made.
pub(super) fn check(scenario: &Scenario, options: &LiveOptions) -> Result<(), LiveError> {
    let Some(group) = scenario
        .groups
        .iter()
        .find(|group| programs_of(group).is_some())
    else {
        return Ok(());
    };
    let refused = |why: String| Err(LiveError::Scenario(why));
    if options.programs.is_none() {
        return refused(format!(
            "group.{}.app.kind = \"program\": nobody has allowed the programs of this scenario to run; quell run and quell compare have \
             --allow-programs, and pages start none",
            group.name
        ));
    }
    if options.watches() {
        return refused(
            "--watch and --kernel-queue know packets by their ports, and programs choose theirs: leave these options out".to_owned(),
        );
    }
    Ok(())
}

/// The network of a host.
fn network(topology: &Topology, host: Host) -> &Namespace {
    match host {
        Host::Sender => &topology.sender,
        Host::Receiver => &topology.receiver,
    }
}

impl Prepared {
    /// Makes the folder for what programs print, and, in the live world, their processes. This one has a single thread there.
    pub(super) fn new(
        scenario: &Scenario,
        world: World,
        program_env: Option<&ProgramEnv>,
        folder: Option<PathBuf>,
        topology: &Topology,
    ) -> Result<Self, LiveError> {
        let mut prepared = Self::default();
        let (true, Some(program_env), Some(folder)) = (has_programs(scenario), program_env, folder)
        else {
            return Ok(prepared);
        };
        let make =
            |path: &Path| fs::create_dir_all(path).map_err(quell_results::Error::writing(path));
        make(&folder)?;
        if world == World::Live {
            let temporary = folder.join(TEMPORARY);
            make(&temporary)?;
            prepared.temporary = Some(temporary);
        }
        let program_env = Arc::new(program_env.clone());
        for (index, group) in scenario.groups.iter().enumerate() {
            let Some(program) = programs_of(group) else {
                continue;
            };
            let kept = program_env.kept.join(&group.name);
            make(&kept)?;
            for (part, line) in programs(group) {
                prepared.all.push(One {
                    group: index,
                    part,
                    host: host(program, group, part),
                    name: line.words().next().unwrap_or_default().to_owned(),
                    process: Process::New(Line {
                        words: substituted(line, program, group, topology.groups[index], &kept),
                        output: folder.join(format!("{}-{}", group.name, part.name())),
                        program_env: program_env.clone(),
                    }),
                });
            }
            prepared.kept.push(kept);
        }
        if world == World::Live {
            prepared.fork(topology)?;
        }
        Ok(prepared)
    }

    /// Makes the processes, which wait.
    fn fork(&mut self, topology: &Topology) -> Result<(), LiveError> {
        let works = self.all.iter().filter_map(|one| match &one.process {
            Process::New(line) => Some(Work {
                prepare: Box::new(|| {
                    // What starts programs has left these to others.
                    child::heed_signals_again();
                    network(topology, one.host).enter()
                }),
                command: Box::new(|| line.command()),
            }),
            Process::Waits(_) => None,
        });
        let keeping = Keeping {
            left: Left::GroupKilled,
            rights: CapabilitySet::empty(),
        };
        let (pid_namespace, waiting) = PidNamespace::fork(works.collect(), keeping)
            .map_err(|error| LiveError::Failed(format!("programs of the scenario: {error}")))?;
        for (one, waiting) in self.all.iter_mut().zip(waiting) {
            one.process = Process::Waits(waiting);
        }
        self.pid_namespace = Some(pid_namespace);
        Ok(())
    }
}

impl Programs {
    /// Starts the threads that wait for the times of the programs. None of them keeps a right in the live world.
    pub(super) fn start(
        prepared: Prepared,
        scenario: &Scenario,
        topology: &Arc<Topology>,
        epoch: Epoch,
        end: &RunEnd,
    ) -> Result<Self, LiveError> {
        let mut started = Self {
            threads: Vec::new(),
            given_up: Arc::default(),
            kept: prepared.kept,
            temporary: prepared.temporary,
            pid_namespace: prepared.pid_namespace,
        };
        let mut server = Arc::new(Server::default());
        let mut of_group = None;
        for one in prepared.all {
            let One {
                group: index,
                part,
                host,
                name,
                process,
            } = one;
            let group = &scenario.groups[index];
            if of_group != Some(index) {
                of_group = Some(index);
                server = Arc::new(Server::default());
                if part != Part::Server {
                    server.tell(State::Listens);
                }
            }
            let waiting = Waiting {
                part,
                name,
                start: group.start,
                stop: group.stop.unwrap_or(Time::MAX),
                epoch,
                end: end.clone(),
                server: server.clone(),
                given_up: started.given_up.clone(),
            };
            let topology = topology.clone();
            let thread = thread::Builder::new().name("quell-program".into());
            let thread = thread.spawn(move || {
                let ran = match enter(network(&topology, host), &process) {
                    Ok(()) => waiting
                        .run(process)
                        .unwrap_or_else(|error| Ran::Not(error.into())),
                    Err(why) => Ran::Not(why),
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
        Ok(started)
    }

    /// Waits for the end of all programs, which comes soon after that of the run.
    pub(super) fn finish(mut self, scenario: &Scenario) -> Outcome {
        let mut outcome = Outcome::default();
        for (index, part, thread) in std::mem::take(&mut self.threads) {
            let ran = thread.join().unwrap_or(Ran::Not(NotRun::Thread));
            let group = &scenario.groups[index];
            outcome.warnings.extend(ran.warning(group, part));
            let mut report = ProgramReport::default();
            report.ended[part as usize] = Some(ran.ended());
            match outcome.reports.last_mut() {
                Some((last, sum)) if *last == index => sum.merge(&Report::Program(report)),
                _ => outcome.reports.push((index, Report::Program(report))),
            }
        }
        // With what is left of them, before files go that they may still write.
        self.pid_namespace = None;
        for kept in &self.kept {
            // It stays if something is in it.
            let _ = fs::remove_dir(kept);
        }
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_dir_all(temporary);
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

/// Moves this thread to its program's network, and takes its rights where the program has its process already.
fn enter(network: &Namespace, process: &Process) -> Result<(), NotRun> {
    network.enter().map_err(NotRun::Namespace)?;
    if let Process::Waits(_) = process {
        keep_only(CapabilitySet::empty())?;
    }
    Ok(())
}
