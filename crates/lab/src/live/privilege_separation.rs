//! The live world in separate processes, so that no thread that handles packets, results or input keeps a right for long.
//!
//! | process | keeps, once set up |
//! | --- | --- |
//! | the program: reads scenarios, makes folders, prints | nothing |
//! | the broker: waits, and makes workers | the rights that a set-up needs ([`SET_UP`]) |
//! | a worker, one per run: namespaces, sockets, the link, the result's files | CAP_NET_ADMIN in the threads of the two hosts, which open sockets while the run goes on; nothing in all others |
//!
//! All of them have no_new_privs. The program and the workers write as one user: the caller, or, if the caller is root and the
//! results go into another user's folder, that user. So root without its capabilities needs only the ordinary rights to files.
//! A worker that has built its namespaces writes only into the folder of its result (Landlock, if the host has it). The worker
//! loads BPF before that, and BPF is unloaded with the worker.
//!
//! [`super::run()`] itself knows nothing of this: the guest of the virtual world, benchmarks and examples call it as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quell_hosts::broker::{Answer, Broker, Line};
use quell_hosts::confine::capabilities::{CapabilitySet, forbid_new, keep_only};
use quell_hosts::confine::landlock::{Outside, write_only_beneath};
use quell_hosts::confine::user::become_user;
use quell_kernel::Reason;
use quell_kernel::held::{Held, real};
use quell_measure::Summary;
use quell_results::packets::PacketFile;
use quell_results::read::{LONGEST, text};
use quell_scenario::contract::{Listener, Measurements, Row, Unwritten};
use quell_units::Time;
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::error::LiveError;
use super::job::of_run;
use super::listener::LiveListener;
use super::prepare::prepare;
use super::run::run as run_live;
use super::watched;
use super::worker::{FillTask, Work, broker_of_this_process, failed, resolved};
use crate::job::{Job, Order};
use crate::options::{LiveOptions, Options};
use crate::program_env::of_live;
use crate::write_result::{ToDisk, write_result};
use crate::writer::{self, Writer};
use crate::{RunError, World};

/// The rights that setting up a run may need: namespaces, networks, packet sockets, BPF, real-time priorities, open files, the change to
/// the user who writes, and ending a worker of that user.
const SET_UP: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::KILL);

/// Time between two looks at the requests of the caller.
const TURN: Duration = Duration::from_millis(50);
/// Time of the run between two reports of progress.
const MENTION: Time = Time::from_millis(100);

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// Time of the run that has passed, in nanoseconds.
    Progress(u64),
    /// The result's folder is filled.
    Done,
    /// It could not begin.
    Refused { what: String, fix: Option<String> },
    /// It failed.
    Failed(String),
}

/// Makes this process ready for live runs whose results go to `results`, and takes every right from it: without root it enters
/// a user namespace first, in which the broker has rights over the networks made there.
///
/// # Errors
///
/// The process has several threads, user namespaces are forbidden, or the results could not be written afterwards.
pub fn separate(results: &Path) -> Result<(), LiveError> {
    let place = writer::existing(results);
    stand_apart(&place)?;
    if access(&place, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Err(LiveError::Environment(Reason::with_fix(
            format!(
                "results cannot be written to {}: live runs give up root's right to write anywhere, and user {} may not",
                place.display(),
                geteuid().as_raw()
            ),
            "quell run … --out FOLDER, in a folder of your own",
        )));
    }
    Ok(())
}

/// The same for runs that are only watched: they write nothing.
///
/// # Errors
///
/// The process has several threads, or user namespaces are forbidden.
pub fn separate_to_watch() -> Result<(), LiveError> {
    stand_apart(Path::new("."))
}

/// Gives every right away, and becomes the owner of `place` if that is root's to do.
fn stand_apart(place: &Path) -> Result<(), LiveError> {
    prepare()?;
    let writer = writer::of(place).map_err(|error| {
        LiveError::Failed(format!("cannot look at {}: {error}", place.display()))
    })?;
    forbid_new()?;
    let broker = Broker::start(
        || keep_only(SET_UP).map(drop),
        move |task, line| work(writer, task, &line),
    );
    let broker = broker.map_err(|error| LiveError::Failed(error.to_string()))?;
    if let Some((user, group)) = writer {
        become_user(user, group, false)?;
    }
    keep_only(CapabilitySet::empty())?;
    *broker_of_this_process() = Some(broker);
    Ok(())
}

/// Lets a worker fill the folder of one run; `None` where this process has no broker.
pub(crate) fn order(order: &mut Order<'_>) -> Option<Result<Summary, RunError>> {
    let mut broker = broker_of_this_process();
    Some(carry_out(broker.as_mut()?, order))
}

fn carry_out(broker: &mut Broker, order: &mut Order<'_>) -> Result<Summary, RunError> {
    let lost = |error: io::Error| RunError::Failed(format!("the live run was lost: {error}"));
    let mut live = order.options.live.clone();
    live.programs = of_live(
        order.scenario,
        live.allow_programs,
        live.directory.as_deref(),
        order.folder,
    )?;
    let identity = Held::open(order.folder).and_then(|held| held.identity());
    let task = FillTask {
        scenario: order.resolved().to_toml(),
        seed: order.seed,
        results: real(order.folder),
        identity: identity.map_err(RunError::writing(order.folder))?,
        packets: order.options.packets,
        warnings: order.options.warnings.clone(),
        live,
    };
    let text = serde_json::to_vec(&Work::Fill(task)).map_err(|error| lost(error.into()))?;
    broker.begin(&text).map_err(lost)?;
    let mut ending = None;
    let mut asked = false;
    let code = loop {
        if order.options.stop.load(Ordering::Relaxed) && !asked {
            broker.ask(b"stop").map_err(lost)?;
            asked = true;
        }
        match broker.next(TURN).map_err(lost)? {
            None => {}
            Some(Answer::Ended(code)) => break code,
            Some(Answer::Said(what)) => match serde_json::from_slice(&what) {
                Ok(Said::Progress(now)) => (order.progress)(Time::from_nanos(now)),
                Ok(other) => ending = Some(other),
                Err(error) => return Err(lost(error.into())),
            },
        }
    };
    match ending {
        Some(Said::Done) => read_summary(&order.folder.join("summary.json")),
        Some(Said::Refused { what, fix }) => Err(RunError::Refused(Reason { what, fix })),
        Some(Said::Failed(why)) => Err(RunError::Failed(why)),
        Some(Said::Progress(_)) | None => Err(RunError::Failed(format!(
            "the process of the live run ended early, with code {code}"
        ))),
    }
}

fn read_summary(path: &Path) -> Result<Summary, RunError> {
    let read = || -> io::Result<Summary> { Ok(serde_json::from_str(&text(path, LONGEST)?)?) };
    read().map_err(|error| RunError::Failed(format!("{} cannot be read: {error}", path.display())))
}

/// The work of a worker. It has the broker's rights and a single thread.
fn work(writer: Option<Writer>, task: &[u8], line: &Line<'_>) -> u8 {
    let said = match begin(writer, task) {
        Ok(Work::Watch(task)) => return watched::work(task, line),
        Ok(Work::Fill(task)) => match run(task, line) {
            Ok(()) => Said::Done,
            Err(RunError::Refused(Reason { what, fix })) => Said::Refused { what, fix },
            Err(error) => Said::Failed(error.to_string()),
        },
        Err(error) => Said::Failed(error.to_string()),
    };
    let told = serde_json::to_vec(&said)
        .map_err(io::Error::from)
        .and_then(|text| line.say(&text));
    u8::from(told.is_err())
}

/// Becomes the one who writes, and reads the task.
fn begin(writer: Option<Writer>, task: &[u8]) -> Result<Work, RunError> {
    if let Some((user, group)) = writer {
        // What was permitted stays so, and is used for the set-up only.
        let confined = become_user(user, group, true).and_then(|()| keep_only(SET_UP));
        confined.map_err(|error| failed(&error))?;
    }
    serde_json::from_slice(task).map_err(|error| failed(&error))
}

fn run(task: FillTask, line: &Line<'_>) -> Result<(), RunError> {
    let scenario = resolved(&task.scenario)?;
    let held = Held::open_same(&task.results, task.identity);
    let held = held.map_err(RunError::writing(&task.results))?;
    let folder = held.path();
    let stop = AtomicBool::new(false);
    let mut mentioned = None;
    let mut progress = |now: Time| {
        if line.is_called() {
            stop.store(true, Ordering::Relaxed);
        }
        if mentioned.is_none_or(|before| now >= before + MENTION) {
            mentioned = Some(now);
            if let Ok(text) = serde_json::to_vec(&Said::Progress(now.as_nanos())) {
                line.mention(&text);
            }
        }
    };
    let options = Options {
        warnings: task.warnings,
        packets: task.packets,
        live: task.live,
        ..Options::new(World::Live, &stop)
    };
    let order = Order {
        scenario: &scenario,
        seed: task.seed,
        options: &options,
        folder: &folder,
        progress: &mut progress,
    };
    write_result(order, &mut |job| run_confined(job, &options.live, &folder)).map(drop)
}

fn run_confined(
    job: Job<'_>,
    options: &LiveOptions,
    folder: &Path,
) -> Result<Measurements, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    let mut listener = Confined {
        inner: ToDisk::new(job),
        folder,
    };
    let measured = run_live(scenario, seed, World::Live, options, stop, &mut listener);
    measured.map_err(|error| of_run(error, listener.inner))
}

/// A listener that gives the rights of the process away as the run advances.
struct Confined<'a, 'b> {
    inner: ToDisk<'a>,
    folder: &'b Path,
}

impl Listener for Confined<'_, '_> {
    fn progress(&mut self, now: Time) {
        self.inner.progress(now);
    }
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        self.inner.row(row)
    }
}

impl LiveListener for Confined<'_, '_> {
    fn packets(&mut self) -> Option<PacketFile> {
        self.inner.packets()
    }
    fn commands(&mut self) -> Option<PathBuf> {
        Some(self.inner.commands())
    }
    fn programs(&mut self) -> Option<PathBuf> {
        Some(self.inner.programs())
    }
    fn is_built(&mut self) -> Result<(), quell_hosts::confine::Error> {
        // The hosts' connections are TCP, so nothing but files is refused.
        let enforced = write_only_beneath(&[self.folder, Path::new("/dev/null")], Outside::Allowed);
        enforced.map(drop)
    }
    fn has_begun(&mut self) -> Result<(), quell_hosts::confine::Error> {
        keep_only(CapabilitySet::empty()).map(drop)
    }
}
