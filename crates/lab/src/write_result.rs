//! Fills the folder of a result with what a world measures.

use std::path::PathBuf;

use quell_measure::{GroupControl, Summary};
use quell_results::facts::{Facts, Started};
use quell_results::packets::PacketFile;
use quell_results::series::Series;
use quell_results::{write_json, write_text};
use quell_scenario::contract::{Listener, Measurements, Row, Unwritten, Work};
use quell_units::Time;

use crate::RunError;
use crate::guest_command::FOLDER;
use crate::job::{Job, Order};
use crate::program_env::FOLDER as PROGRAMS;

/// Fills a folder with what `world` measures, and with the facts of this machine.
pub(crate) fn write_result(
    order: Order<'_>,
    world: &mut dyn FnMut(Job<'_>) -> Result<Measurements, RunError>,
) -> Result<Summary, RunError> {
    let (path, seed) = (order.folder.join("run.json"), order.seed);
    let (world_name, started) = (order.options.world, Started::now(order.options.world));
    let (summary, work, controls) = measure(order, world)?;
    let mut facts = Facts::new(world_name, seed, started);
    facts.add_work(work);
    facts.controls = controls;
    write_json(&path, &facts)?;
    Ok(summary)
}

/// The same without `run.json`, which holds the facts of the machine.
pub(crate) fn measure(
    order: Order<'_>,
    world: &mut dyn FnMut(Job<'_>) -> Result<Measurements, RunError>,
) -> Result<(Summary, Option<Work>, Vec<GroupControl>), RunError> {
    let (options, folder) = (order.options, order.folder);
    let resolved = order.resolved();
    let mut series = Series::create(
        folder,
        resolved.links().iter().map(|link| link.name()),
        resolved.groups.iter().map(|group| group.name.as_str()),
        resolved.records_events(),
    )?;
    let packets = options
        .packets
        .then(|| PacketFile::create(&folder.join("packets.pcapng")));
    let job = Job {
        scenario: &resolved,
        seed: order.seed,
        stop: options.stop,
        progress: order.progress,
        series: &mut series,
        packets: packets.transpose()?,
        folder,
    };
    let mut measured = world(job)?;
    measured.add_warnings_of_check(&options.warnings);
    let Measurements {
        summary,
        histograms,
        controls,
        work,
    } = measured;
    series.finish()?;
    let file = |name: &str| folder.join(name);
    write_text(&file("scenario.toml"), &resolved.to_toml())?;
    write_json(&file("summary.json"), &summary)?;
    write_json(&file("histograms.json"), &histograms)?;
    Ok((summary, work, controls))
}

/// Writes what a world gives while it runs.
pub(crate) struct ToDisk<'a> {
    job: Job<'a>,
    /// Why a row could not be written.
    error: Option<RunError>,
}

impl<'a> ToDisk<'a> {
    pub(crate) fn new(job: Job<'a>) -> Self {
        Self { job, error: None }
    }

    /// The file for every packet, where one was asked for; once.
    pub(crate) fn packets(&mut self) -> Option<PacketFile> {
        self.job.packets.take()
    }

    /// The folder for the output of commands.
    pub(crate) fn commands(&self) -> PathBuf {
        self.job.folder.join(FOLDER)
    }

    /// The folder for the output of programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.job.folder.join(PROGRAMS)
    }

    /// Why the world got [`Unwritten`].
    pub(crate) fn error(self) -> RunError {
        let unknown = || RunError::Failed(Unwritten.to_string());
        self.error.unwrap_or_else(unknown)
    }
}

impl Listener for ToDisk<'_> {
    fn progress(&mut self, now: Time) {
        (self.job.progress)(now);
    }
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        let written = match row {
            Row::Queue(row) => self.job.series.queues([row]),
            Row::Flow(row) => self.job.series.flows([row]),
            Row::Event(row) => self.job.series.event(&row),
        };
        written.map_err(|error| {
            self.error = Some(error.into());
            Unwritten
        })
    }
}
