//! The live world: real packets of this kernel's TCP through quell's bottleneck, in real time.
//!
//! Three namespaces (`quell-hosts`), a thread for each host and one for the link (`quell-link`);
//! the calling thread collects what they measure. Before the first packet each of these threads
//! drops the rights that it does not need: the hosts' threads keep CAP_NET_ADMIN, the others nothing. The
//! calling thread keeps its rights unless its listener drops them; [`privilege_separation`] does, in a process for each run.

mod commands;
mod error;
mod flows;
mod job;
mod kernel;
mod link;
mod listening;
mod outside;
mod plan;
pub mod privilege_separation;
mod programs;
mod steer;
mod suspend_check;
mod warnings;
mod watch;
pub mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use quell_confine::threads;
use quell_hosts::capabilities;
use quell_hosts::cc::Modules;
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{Epoch, RunEnd, Told, Traffic};
use quell_kernel::Reason;
use quell_link::Descriptor;
use quell_measure::{Histograms, RunInfo, Summary};
use quell_units::Time;

use commands::Commands;
pub(crate) use commands::unfinished as unfinished_commands;
pub use error::LiveError;
pub(crate) use job::live;

use crate::World;
use crate::options::LiveOptions;
use flows::Flows;
use link::LinkThread;
use outside::Outside;
use plan::Plan;
pub(crate) use plan::pool_bytes;
use programs::Programs;
use quell_results::packets::{LivePackets, PacketFile};
use quell_scenario::causes::SlowEvents;
use quell_scenario::contract::{Listener, Measurements, Row};
use quell_scenario::{Scenario, figures};
pub use steer::Prepared;
use steer::Steering;
use suspend_check::Clocks;

/// Time between the set-up and the run's time zero, so that no thread is late for it.
const HEAD_START: Time = Time::from_millis(50);
/// Time between two turns of the collecting thread.
const TURN: Duration = Duration::from_millis(50);
/// The same where somebody watches.
const WATCHED_TURN: Duration = Duration::from_millis(20);

impl LiveOptions {
    fn modules(&self) -> Modules {
        if self.load_modules {
            Modules::Load
        } else {
            Modules::Leave
        }
    }

    /// Whether packets are watched from outside.
    fn watches(&self) -> bool {
        self.watch || self.kernel_queue.is_some()
    }

    /// Before the end of the run packets that are watched no longer count.
    fn grace(&self) -> Time {
        if self.watches() {
            watch::GRACE
        } else {
            Time::ZERO
        }
    }
}

/// Receives what a live run gives while it goes on, and takes part in its set-up.
pub trait LiveListener: Listener {
    /// The file for every packet; asked once, before the run begins.
    fn packets(&mut self) -> Option<PacketFile> {
        None
    }
    /// The folder that is made for the output of commands; without one no command runs.
    fn commands(&mut self) -> Option<PathBuf> {
        None
    }
    /// The folder that is made for the output of programs; without one none starts.
    fn programs(&mut self) -> Option<PathBuf> {
        None
    }
    /// What the run is prepared for, if somebody watches and changes it; asked once, before the run begins.
    fn prepared(&self) -> Option<Prepared> {
        None
    }
    /// A change that somebody wants now: a key and its value. Asked often while such a run goes on.
    fn wished(&mut self) -> Option<(String, String)> {
        None
    }
    /// What came of it: the scenario as TOML that repeats the run, or why nothing was changed.
    fn answered(&mut self, _answer: Result<String, String>) {}
    /// The hosts and their networks exist, and no other thread of the run does yet.
    fn is_built(&mut self) -> Result<(), quell_confine::Error> {
        Ok(())
    }
    /// Every thread of the run exists and has what it needs; the calling thread needs no rights any more.
    fn has_begun(&mut self) -> Result<(), quell_confine::Error> {
        Ok(())
    }
}

impl LiveListener for () {}

/// Makes this process able to run the live world without root: moves it into a user namespace of
/// its own. As root it changes nothing.
///
/// # Errors
///
/// The process has several threads, whoever it belongs to; or the system allows no user namespaces.
pub fn prepare() -> Result<(), LiveError> {
    threads::require_one()?;
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    quell_hosts::user_namespace::enter().map_err(|error| {
        LiveError::Environment(Reason {
            fix: error.fix(),
            what: error.to_string(),
        })
    })
}

/// Runs `scenario` once with `seed`, until its end or soon after `stop` is set. `world` says whether the time of this machine
/// is real: where it stands still while anything runs, the link needs nothing in reserve for waking late. Beside that and the
/// name in the summary only the bucket of a kernel's queue depends on it.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    world: World,
    options: &LiveOptions,
    stop: &AtomicBool,
    listener: &mut dyn LiveListener,
) -> Result<Measurements, LiveError> {
    let kernel_queue = kernel::queue(scenario, world, options)?;
    programs::check(scenario, options)?;
    let plan = Plan::new(
        scenario,
        seed,
        world,
        kernel_queue.as_ref(),
        options.modules(),
        listener.prepared(),
    )?;
    let mut steering = match plan.is_watched() {
        true => Some(Steering::new(&plan, seed)?),
        false => None,
    };
    let topology = Arc::new(Topology::new(&plan.topology).map_err(LiveError::host)?);
    listener.is_built()?;
    // Their processes are copies of this one, which has a single thread yet.
    let prepared = programs::Prepared::new(
        scenario,
        world,
        options.programs.as_ref(),
        listener.programs(),
        &topology,
    )?;
    let packets = listener
        .packets()
        .map(|file| LivePackets::of_live::<Descriptor>(scenario, world, file));
    let packets = packets.transpose()?;
    let epoch = Epoch::now().after(HEAD_START);
    let end = RunEnd::planned(plan.duration);
    let mut outside = Outside::start(kernel_queue, options, &plan, &topology, epoch, &end)?;
    let (queue_rows, queue_rows_out) = mpsc::channel();
    let (samples, samples_out) = mpsc::channel();
    let (events, events_out) = mpsc::channel();
    let link = LinkThread::start(
        &plan,
        topology.clone(),
        epoch,
        options.clone(),
        packets.clone(),
        (queue_rows, samples.clone()),
        end.clone(),
    )?;
    let enter = |namespace: fn(&Topology) -> &quell_hosts::namespace::Namespace| {
        let topology = topology.clone();
        let realtime = options.realtime;
        move || {
            namespace(&topology).enter()?;
            if let Some(priority) = realtime {
                // A receiver that reads late acknowledges late and in lumps. The link goes first.
                quell_link::become_realtime(priority.saturating_sub(1).max(1))?;
            }
            capabilities::keep_only(capabilities::HOST)?;
            Ok(())
        }
    };
    let traffic = Traffic::start(
        plan.traffic(epoch, &topology, end.clone()),
        enter(|topology| &topology.sender),
        enter(|topology| &topology.receiver),
        move |told| {
            // Nobody listens any more once the run has ended.
            let _ = match told {
                Told::Sample(sample) => samples.send(sample).is_ok(),
                Told::Event { group, flow, event } => events.send((group, flow, event)).is_ok(),
            };
        },
    )
    .map_err(LiveError::traffic)?;
    let commands = Commands::start(
        &options.commands,
        listener.commands().as_deref(),
        &topology,
        epoch,
        plan.duration,
    )?;
    let programs = Programs::start(prepared, scenario, &topology, epoch, &end)?;
    listener.has_begun()?;

    let clocks = Clocks::now();
    let mut flows = Flows::new(&plan);
    let mut slow = SlowEvents::new(&plan.timeline);
    let mut interrupted = false;
    loop {
        let failed = packets.as_ref().is_some_and(LivePackets::has_failed);
        if !interrupted && (stop.load(Ordering::Relaxed) || failed) {
            interrupted = true;
            link.bring_end_forward();
            traffic.heed_end();
        }
        let now = epoch.elapsed().unwrap_or_default();
        if now >= end.at() || link.has_ended() || traffic.has_ended() {
            break;
        }
        outside.look(&plan, &topology, now)?;
        std::thread::sleep(match steering {
            Some(_) => WATCHED_TURN,
            None => TURN,
        });
        // The clock first: whoever reads a time behind the end knows the end.
        let now = epoch.elapsed().unwrap_or_default();
        flows.end_at(end.at());
        flows.take(&samples_out, now);
        for row in queue_rows_out.try_iter().filter(|row| outside.is_told(row)) {
            listener.row(Row::Queue(row))?;
        }
        for row in flows.drain_rows() {
            listener.row(Row::Flow(row))?;
        }
        for (group, flow, event) in events_out.try_iter() {
            let row = flows.event_row(group, flow, event);
            slow.note(&row);
            listener.row(Row::Event(row))?;
        }
        listener.progress(now.min(plan.duration));
        if let Some(steering) = steering.as_mut().filter(|_| !interrupted) {
            while let Some((key, value)) = listener.wished() {
                let now = epoch.elapsed().unwrap_or_default();
                let wish = (key.as_str(), value.as_str());
                let answer = steering.change(wish, now, &link, &traffic, &mut flows);
                listener.answered(answer);
            }
        }
    }
    // Whichever ended first may have failed, and tells why; the other one is then given up.
    let (report, linked) = if link.has_ended() {
        let linked = link.join()?;
        (traffic.join().map_err(LiveError::traffic)?, linked)
    } else {
        let report = traffic.join().map_err(LiveError::traffic)?;
        (report, link.join()?)
    };
    let commands = commands.finish();
    let programs = programs.finish(scenario);
    let ended = end.at();
    let untraced = match &packets {
        Some(packets) => packets.finish(ended)?,
        None => 0,
    };
    let flow_results = flows.finish(&samples_out, ended);
    for row in queue_rows_out.try_iter().filter(|row| outside.is_told(row)) {
        listener.row(Row::Queue(row))?;
    }
    for row in flows.drain_rows() {
        listener.row(Row::Flow(row))?;
    }
    for (group, flow, event) in events_out.try_iter() {
        let row = flows.event_row(group, flow, event);
        slow.note(&row);
        listener.row(Row::Event(row))?;
    }
    listener.progress(ended);
    let seen = outside.finish(&topology)?;

    let links = figures::shown(scenario, &linked.results);
    let infos = plan.group_infos();
    let mut histograms = Histograms::new(&infos, &links);
    let info = RunInfo {
        scenario: scenario.name.clone(),
        world: world.name().to_owned(),
        seed,
        duration: ended,
        warmup: scenario.run.warmup,
        partial: end.is_early(),
        warnings: Vec::new(),
        groups: infos,
    };
    let mut summary = Summary::new(info, &links, &flow_results);
    plan.add_app_reports(&mut summary, &report, (&programs.reports, ended), &slow);
    summary.figures.link.extra = linked.extra();
    seen.tell(&plan, ended, &mut summary, &mut histograms);
    let mut warnings = warnings::warnings(&plan, &summary, &linked, &report);
    warnings.extend(topology.without.warning(plan.needed_window()));
    warnings.extend(seen.warning());
    warnings.extend(commands);
    warnings.extend(programs.warnings);
    warnings.extend(plan.turned_round(&linked.passed));
    clocks.warn(Clocks::now(), &mut warnings);
    suspend_check::warn_of_sleep(&linked.report, &summary, &mut warnings);
    if untraced > 0 {
        warnings.push(format!(
            "{untraced} packets are missing in packets.pcapng: the disk was too slow"
        ));
    }
    summary.warnings = warnings;
    Ok(Measurements {
        summary,
        histograms,
        controls: plan.ran(&report),
        work: None,
    })
}
