//! Measurements outside of quell's link: by the taps of [`super::watch`], and by the kernel's queue if there is one.

use quell_hosts::kernel_queue::{KernelQueue, Statistics};
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{Epoch, RunEnd};
use quell_measure::{Direction, Histograms, QueueRow, Summary};
use quell_units::Time;

use super::error::LiveError;
use super::kernel;
use super::plan::Plan;
use super::watch::{Watch, Watched};
use crate::options::LiveOptions;

/// A measurement that runs.
pub(super) struct Outside {
    queue: Option<KernelQueue>,
    watch: Option<Watch>,
    /// Counters of the kernel's queue at the end of the warm-up.
    warm: Option<Statistics>,
}

/// A finished measurement.
pub(super) struct Seen {
    queue: Option<KernelQueue>,
    watched: Option<Watched>,
    /// Counters of the kernel's queue at the end of the warm-up and at the end of the run.
    counted: Option<(Statistics, Statistics)>,
}

impl Outside {
    /// Begins before the link and the traffic do.
    pub(super) fn start(
        queue: Option<KernelQueue>,
        options: &LiveOptions,
        plan: &Plan<'_>,
        topology: &Topology,
        epoch: Epoch,
        end: &RunEnd,
    ) -> Result<Self, LiveError> {
        let watches = options.watches();
        let watch = watches.then(|| Watch::start(plan, topology, epoch, end.clone()));
        Ok(Self {
            queue,
            watch: watch.transpose()?,
            warm: None,
        })
    }

    /// Call this now and then.
    pub(super) fn look(
        &mut self,
        plan: &Plan<'_>,
        topology: &Topology,
        now: Time,
    ) -> Result<(), LiveError> {
        let is_due = self.warm.is_none() && now >= plan.scenario().run.warmup;
        if self.queue.is_some() && is_due {
            self.warm = topology
                .kernel_queue_statistics()
                .map_err(LiveError::host)?;
        }
        Ok(())
    }

    /// Whether a row of quell's queues means anything: not that of a link without a rate in front of the kernel's queue.
    pub(super) fn is_told(&self, row: &QueueRow) -> bool {
        self.queue.is_none() || row.direction == Direction::Reverse
    }

    /// After the link has ended.
    pub(super) fn finish(self, topology: &Topology) -> Result<Seen, LiveError> {
        let end = topology
            .kernel_queue_statistics()
            .map_err(LiveError::host)?;
        Ok(Seen {
            queue: self.queue,
            watched: self.watch.map(Watch::finish).transpose()?,
            counted: self.warm.zip(end),
        })
    }
}

impl Seen {
    /// Adds everything to the results of a run that went on until `ended`.
    pub(super) fn tell(
        &self,
        plan: &Plan<'_>,
        ended: Time,
        summary: &mut Summary,
        histograms: &mut Histograms,
    ) {
        let Some(watched) = &self.watched else {
            return;
        };
        let extra = &mut summary.figures.link.extra;
        extra.insert("path".to_owned(), watched.told(plan));
        let Some(queue) = &self.queue else {
            return;
        };
        if let Some((warm, end)) = &self.counted {
            let counted = kernel::counted(queue, warm, end);
            extra.insert("kernel_queue".to_owned(), counted);
        }
        let measured = Watched::measured(plan, ended);
        let (scenario, groups) = (plan.scenario(), &watched.groups);
        kernel::replace(summary, histograms, scenario, queue, groups, measured);
    }

    /// What puts the figures in doubt.
    pub(super) fn warning(&self) -> Option<String> {
        let missed = self.watched.as_ref()?.missed;
        (missed > 0).then(|| {
            format!(
                "{missed} packets passed unobserved: the measurement from outside is incomplete"
            )
        })
    }
}
