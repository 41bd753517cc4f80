//! Watches the packets of the forward direction from outside: in front of quell's link, and at the receiver.
//!
//! The figures do not depend on what a queue reports of itself, and are found in the same way for quell's queues and for the
//! kernel's. It looks rarely, so that it costs little: the kernel stamps and keeps the packets until then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{Epoch, RunEnd};
use quell_link::{Crossed, Crossing, Tap};
use quell_units::Time;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::error::LiveError;
use super::plan::Plan;
use crate::options::LiveOptions;

/// Between two looks.
const TURN: Duration = Duration::from_millis(20);
/// Before the end of the run packets no longer count: they might not come out in time.
const GRACE: Time = Time::from_secs(1);

/// Before the end of the run packets that are watched no longer count.
pub(super) fn grace(options: &LiveOptions) -> Time {
    match options.watches() {
        true => GRACE,
        false => Time::ZERO,
    }
}

/// The thread that watches. It ends at once if it is dropped before it is finished.
pub(super) struct Watch {
    thread: Option<JoinHandle<Result<Watched, LiveError>>>,
    stop: Arc<AtomicBool>,
}

/// The figures.
pub(super) struct Watched {
    /// Figures of each group.
    pub(super) groups: Vec<Crossed>,
    /// Packets that a tap had no room for.
    pub(super) missed: u64,
    /// Packets that the second tap saw and the first did not.
    pub(super) unknown: u64,
}

impl Watch {
    /// Starts watching.
    pub(super) fn start(
        plan: &Plan<'_>,
        topology: &Topology,
        epoch: Epoch,
        end: RunEnd,
    ) -> Result<Self, LiveError> {
        let run = &plan.scenario().run;
        let links = plan.scenario().links.len();
        if links > 1 {
            return Err(LiveError::Scenario(format!(
                "--watch measures one link from outside, and the scenario has {links}: leave it out"
            )));
        }
        if run.duration <= run.warmup + GRACE {
            return Err(LiveError::Scenario(format!(
                "packets cannot be watched: the run must go on for more than {GRACE} after its warm-up"
            )));
        }
        let failed = |error: io::Error| LiveError::Failed(format!("cannot watch packets: {error}"));
        let tap = |namespace: &quell_hosts::namespace::Namespace, interface: &'static str| {
            namespace
                .run(|| Tap::open(interface))
                .and_then(|opened| opened)
                .map_err(failed)
        };
        let before = tap(&topology.link, topology.to_sender.name)?;
        let after = tap(&topology.receiver, Topology::HOST_PORT)?;
        let zero = epoch.monotonic().as_nanos() as i64 + realtime_less_monotonic();
        let at = move |time: Time| zero + time.as_nanos() as i64;
        let crossing = Crossing::new(plan.crossing(at(run.warmup), at(run.duration - GRACE)));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name("quell-watch".to_owned())
            .spawn(move || {
                keep_only(CapabilitySet::empty())?;
                let until = || at(end.at() - GRACE);
                let watched = watch(before, after, crossing, until, &stopped);
                watched
                    .map_err(|error| LiveError::Failed(format!("watching packets failed: {error}")))
            })
            .map_err(failed)?;
        Ok(Self {
            thread: Some(thread),
            stop,
        })
    }

    /// Looks a last time, and returns what was found.
    pub(super) fn finish(mut self) -> Result<Watched, LiveError> {
        match self.join() {
            Some(Ok(watched)) => watched,
            Some(Err(_)) | None => Err(LiveError::Failed(
                "the thread that watches packets panicked".to_owned(),
            )),
        }
    }

    fn join(&mut self) -> Option<thread::Result<Result<Watched, LiveError>>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.join();
    }
}

impl Watched {
    /// The time in which packets counted, of a run that ended at `ended`.
    pub(super) fn measured(plan: &Plan<'_>, ended: Time) -> Time {
        (ended - GRACE) - plan.scenario().run.warmup
    }

    /// For `link.path` of the summary.
    pub(super) fn told(&self, plan: &Plan<'_>) -> Value {
        let groups = plan.scenario().groups.iter().zip(&self.groups);
        let groups = groups.map(|(group, crossed)| {
            json!({
                "name": group.name,
                "packets": crossed.delivered,
                "marked": crossed.marked,
                "dropped": crossed.lost,
                "delay_ms": crossed.delay.dist(1e6),
            })
        });
        json!({
            "groups": groups.collect::<Vec<_>>(),
            "missed": self.missed,
            "unknown": self.unknown,
        })
    }
}

fn watch(
    mut before: Tap,
    mut after: Tap,
    mut crossing: Crossing,
    until: impl Fn() -> i64,
    stop: &AtomicBool,
) -> io::Result<Watched> {
    let (mut entered, mut left) = (Vec::new(), Vec::new());
    loop {
        let is_last = stop.load(Ordering::Relaxed);
        // A run that ends early has announced it for so long that nothing that came later has been told.
        crossing.count_until(until());
        // The second tap first: whatever it has seen by now the first one has seen before.
        after.drain(&mut left)?;
        before.drain(&mut entered)?;
        entered.drain(..).for_each(|seen| crossing.entered(&seen));
        left.drain(..).for_each(|seen| crossing.left(&seen));
        if is_last {
            break;
        }
        thread::sleep(TURN);
    }
    Ok(Watched {
        missed: before.missed()? + after.missed()?,
        unknown: crossing.unknown(),
        groups: crossing.finish(nanos(ClockId::Realtime) - GRACE.as_nanos() as i64),
    })
}

/// The kernel stamps packets on CLOCK_REALTIME. The run's times are found to a microsecond, which only decides on which
/// side of the warm-up's end a packet lies.
fn realtime_less_monotonic() -> i64 {
    nanos(ClockId::Realtime) - nanos(ClockId::Monotonic)
}

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
