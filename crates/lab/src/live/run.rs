//! One live run: set up, started, collected, finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use quell_app::Recorded;
use quell_hosts::confine::capabilities;
use quell_hosts::kernel_queue::KernelQueue;
use quell_hosts::namespace::Namespace;
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{EnterError, Epoch, RunEnd, Sample, Told, Traffic};
use quell_link::Descriptor;
use quell_measure::{FlowResults, Histograms, QueueRow, RunInfo, Summary};
use quell_results::packets::LivePackets;
use quell_scenario::causes::SlowEvents;
use quell_scenario::contract::{Measurements, Row, Unwritten};
use quell_scenario::{Scenario, figures};
use quell_units::Time;

use super::commands::Commands;
use super::error::LiveError;
use super::flows::Flows;
use super::link::{LinkThread, Linked};
use super::listener::LiveListener;
use super::outside::Outside;
use super::plan::Plan;
use super::programs::{self, Programs};
use super::steer::Steering;
use super::suspend_check::{Clocks, warn_of_sleep};
use super::{kernel, warnings};
use crate::World;
use crate::options::LiveOptions;

/// Time between the set-up and the run's time zero, so that no thread is late for it.
const HEAD_START: Time = Time::from_millis(50);
/// Time between two turns of the collecting thread.
const TURN: Duration = Duration::from_millis(50);
/// The same where somebody watches.
const WATCHED_TURN: Duration = Duration::from_millis(20);

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
    let asked = Asked {
        scenario,
        seed,
        world,
        options,
    };
    let set_up = SetUp::new(asked, listener)?;
    let mut running = Running::start(asked, set_up, listener)?;
    running.collect(stop, listener)?;
    running.finish(listener)
}

/// What is to run.
#[derive(Clone, Copy)]
struct Asked<'a> {
    scenario: &'a Scenario,
    seed: u64,
    world: World,
    options: &'a LiveOptions,
}

/// The hosts and their networks, while there is a single thread.
struct SetUp<'a> {
    programs: programs::Prepared,
    packets: Option<LivePackets>,
    topology: Arc<Topology>,
    steering: Option<Steering>,
    plan: Plan<'a>,
    kernel_queue: Option<KernelQueue>,
}

impl<'a> SetUp<'a> {
    fn new(asked: Asked<'a>, listener: &mut dyn LiveListener) -> Result<Self, LiveError> {
        let Asked {
            scenario,
            seed,
            world,
            options,
        } = asked;
        let kernel_queue = kernel::queue(scenario, world, options)?;
        programs::check(scenario, options)?;
        let mut plan = Plan::new(
            scenario,
            seed,
            world,
            kernel_queue.as_ref(),
            options.modules(),
            listener.prepared(),
        )?;
        if !options.watches() {
            // Who watches wants wire packets.
            plan.topology.offloads = &quell_hosts::offload::LINK_TAKES;
        }
        let steering = match plan.is_watched() {
            true => Some(Steering::new(&plan, seed)?),
            false => None,
        };
        let topology = Arc::new(Topology::new(&plan.topology).map_err(LiveError::host)?);
        listener.is_built()?;
        // Their processes are copies of this one, which has a single thread yet.
        let programs = programs::Prepared::new(
            scenario,
            world,
            options.programs.as_ref(),
            listener.programs(),
            &topology,
        )?;
        let packets = listener
            .packets()
            .map(|file| LivePackets::of_live::<Descriptor>(scenario, world, file));
        Ok(Self {
            programs,
            packets: packets.transpose()?,
            topology,
            steering,
            plan,
            kernel_queue,
        })
    }
}

/// A run whose threads are there. They end, one after the other, when it is dropped.
struct Running<'a> {
    inbox: Inbox,
    clocks: Clocks,
    programs: Programs,
    commands: Commands,
    traffic: Traffic,
    link: LinkThread,
    outside: Outside,
    epoch: Epoch,
    end: RunEnd,
    packets: Option<LivePackets>,
    topology: Arc<Topology>,
    steering: Option<Steering>,
    plan: Plan<'a>,
    asked: Asked<'a>,
}

/// What the threads have measured and the listener has not heard of yet.
struct Inbox {
    queue_rows: Receiver<QueueRow>,
    samples: Receiver<Sample>,
    events: Receiver<(usize, usize, Recorded)>,
    flows: Flows,
    slow: SlowEvents,
}

impl Inbox {
    /// Hands on what has come.
    fn deliver(
        &mut self,
        outside: &Outside,
        listener: &mut dyn LiveListener,
    ) -> Result<(), Unwritten> {
        let rows = self.queue_rows.try_iter();
        for row in rows.filter(|row| outside.is_told(row)) {
            listener.row(Row::Queue(row))?;
        }
        for row in self.flows.drain_rows() {
            listener.row(Row::Flow(row))?;
        }
        for (group, flow, event) in self.events.try_iter() {
            let row = self.flows.event_row(group, flow, event);
            self.slow.note(&row);
            listener.row(Row::Event(row))?;
        }
        Ok(())
    }
}

impl<'a> Running<'a> {
    /// Starts all threads, which begin at a time that is soon.
    fn start(
        asked: Asked<'a>,
        set_up: SetUp<'a>,
        listener: &mut dyn LiveListener,
    ) -> Result<Self, LiveError> {
        let SetUp {
            programs,
            packets,
            topology,
            steering,
            plan,
            kernel_queue,
        } = set_up;
        let options = asked.options;
        let epoch = Epoch::now().after(HEAD_START);
        let end = RunEnd::planned(plan.duration);
        let outside = Outside::start(kernel_queue, options, &plan, &topology, epoch, &end)?;
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
        let hear = move |told| {
            // Nobody listens any more once the run has ended.
            let _ = match told {
                Told::Sample(sample) => samples.send(sample).is_ok(),
                Told::Event { group, flow, event } => events.send((group, flow, event)).is_ok(),
            };
        };
        let traffic = plan.traffic(epoch, &topology, end.clone());
        let enter = |namespace| enter(namespace, &topology, options.realtime);
        let traffic = Traffic::start(
            traffic,
            enter(|topology| &topology.sender),
            enter(|topology| &topology.receiver),
            hear,
        )
        .map_err(LiveError::traffic)?;
        let commands = Commands::start(
            &options.commands,
            listener.commands().as_deref(),
            &topology,
            epoch,
            plan.duration,
        )?;
        let programs = Programs::start(programs, asked.scenario, &topology, epoch, &end)?;
        listener.has_begun()?;
        Ok(Self {
            inbox: Inbox {
                queue_rows: queue_rows_out,
                samples: samples_out,
                events: events_out,
                flows: Flows::new(&plan),
                slow: SlowEvents::new(&plan.timeline),
            },
            clocks: Clocks::now(),
            programs,
            commands,
            traffic,
            link,
            outside,
            epoch,
            end,
            packets,
            topology,
            steering,
            plan,
            asked,
        })
    }

    fn now(&self) -> Time {
        self.epoch.elapsed().unwrap_or_default()
    }

    /// Hands on what is measured, until the end of the run or of one of its threads.
    fn collect(
        &mut self,
        stop: &AtomicBool,
        listener: &mut dyn LiveListener,
    ) -> Result<(), LiveError> {
        let turn = match self.steering {
            Some(_) => WATCHED_TURN,
            None => TURN,
        };
        let mut interrupted = false;
        loop {
            let failed = self.packets.as_ref().is_some_and(LivePackets::has_failed);
            if !interrupted && (stop.load(Ordering::Relaxed) || failed) {
                interrupted = true;
                self.link.bring_end_forward();
                self.traffic.heed_end();
            }
            let now = self.now();
            if now >= self.end.at() || self.link.has_ended() || self.traffic.has_ended() {
                return Ok(());
            }
            self.outside.look(&self.plan, &self.topology, now)?;
            std::thread::sleep(turn);
            // The clock first: whoever reads a time behind the end knows the end.
            let now = self.now();
            self.inbox.flows.end_at(self.end.at());
            self.inbox.flows.take(&self.inbox.samples, now);
            self.inbox.deliver(&self.outside, listener)?;
            listener.progress(now.min(self.plan.duration));
            if !interrupted {
                self.heed_wishes(listener);
            }
        }
    }

    /// Makes the changes that somebody wants now.
    fn heed_wishes(&mut self, listener: &mut dyn LiveListener) {
        let Some(steering) = &mut self.steering else {
            return;
        };
        while let Some((key, value)) = listener.wished() {
            let now = self.epoch.elapsed().unwrap_or_default();
            let (wish, flows) = ((key.as_str(), value.as_str()), &mut self.inbox.flows);
            let answer = steering.change(wish, now, &self.link, &self.traffic, flows);
            listener.answered(answer);
        }
    }

    /// Waits for the threads, and sums up what they measured.
    fn finish(self, listener: &mut dyn LiveListener) -> Result<Measurements, LiveError> {
        let Self {
            asked,
            plan,
            topology,
            end,
            outside,
            mut inbox,
            ..
        } = self;
        // Whichever ended first may have failed, and tells why; the other one is then given up.
        let (report, linked) = if self.link.has_ended() {
            let linked = self.link.join()?;
            (self.traffic.join().map_err(LiveError::traffic)?, linked)
        } else {
            let report = self.traffic.join().map_err(LiveError::traffic)?;
            (report, self.link.join()?)
        };
        let commands = self.commands.finish();
        let programs = self.programs.finish(asked.scenario);
        let ended = end.at();
        let untraced = match &self.packets {
            Some(packets) => packets.finish(ended)?,
            None => 0,
        };
        let flows = inbox.flows.finish(&inbox.samples, ended);
        inbox.deliver(&outside, listener)?;
        listener.progress(ended);
        let seen = outside.finish(&topology)?;

        let (mut summary, mut histograms) = sum_up(asked, &plan, &end, &linked, &flows);
        let of_programs = (&programs.reports[..], ended);
        plan.add_app_reports(&mut summary, &report, of_programs, &inbox.slow);
        summary.figures.link.extra = linked.extra();
        seen.tell(&plan, ended, &mut summary, &mut histograms);
        let mut warnings = warnings::warnings(&plan, &summary, &linked, &report);
        warnings.extend(topology.without.warning(plan.needed_window()));
        warnings.extend(seen.warning());
        warnings.extend(commands);
        warnings.extend(programs.warnings);
        warnings.extend(plan.turned_round(&linked.passed));
        self.clocks.warn(Clocks::now(), &mut warnings);
        warn_of_sleep(&linked.report, &summary, &mut warnings);
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
}

/// What a thread of a host does first: it goes to its network, and gives up what it does not need.
fn enter(
    namespace: fn(&Topology) -> &Namespace,
    topology: &Arc<Topology>,
    realtime: Option<u8>,
) -> impl FnOnce() -> Result<(), EnterError> + Send + 'static + use<> {
    let topology = topology.clone();
    move || {
        namespace(&topology).enter()?;
        if let Some(priority) = realtime {
            // A receiver that reads late acknowledges late and in lumps. The link goes first.
            quell_link::become_realtime(priority.saturating_sub(1).max(1))?;
        }
        capabilities::keep_only(capabilities::HOST)?;
        Ok(())
    }
}

/// The figures of the link and of the flows.
fn sum_up(
    asked: Asked<'_>,
    plan: &Plan<'_>,
    end: &RunEnd,
    linked: &Linked,
    flows: &FlowResults,
) -> (Summary, Histograms) {
    let links = figures::shown(asked.scenario, &linked.results);
    let groups = plan.group_infos();
    let histograms = Histograms::new(&groups, &links);
    let info = RunInfo {
        scenario: asked.scenario.name.clone(),
        world: asked.world.name().to_owned(),
        seed: asked.seed,
        duration: end.at(),
        warmup: asked.scenario.run.warmup,
        partial: end.is_early(),
        warnings: Vec::new(),
        groups,
    };
    (Summary::new(info, &links, flows), histograms)
}
