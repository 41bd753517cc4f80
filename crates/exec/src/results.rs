//! The folder of a result: that of `quell run`, with `exec.json` for what only a program has.

use std::fs;
use std::path::{Path, PathBuf};

use quell_measure::{Histograms, QueueRow, Summary};
use quell_results::facts::{Facts, Started};
use quell_results::folder::Folder;
use quell_results::packets::PacketFile;
use quell_results::series::Series;
use quell_results::{write_json, write_text};
use quell_scenario::World;
use serde_json::{Value, json};

use crate::Plan;
use crate::Result;
use crate::error::Doing as _;

/// A result in the making; it vanishes if it is dropped before it is finished.
#[derive(Debug)]
pub(crate) struct Results {
    folder: Folder,
    series: Series,
    started: Started,
    packets: bool,
    world: World,
}

impl Results {
    /// In the folder `path`, which must not exist yet.
    pub(crate) fn create(path: &Path, plan: &Plan, packets: bool, world: World) -> Result<Self> {
        let folder = Folder::exactly(path)?;
        let links = plan.scenario().links().iter().map(|link| link.name());
        let series = Series::create(&folder.path(), links, [], false)?;
        Ok(Self {
            folder,
            series,
            started: Started::now(world),
            packets,
            world,
        })
    }

    /// The file for packets, where one was asked for.
    pub(crate) fn packets(&self) -> Result<Option<PacketFile>> {
        let path = self.folder.path().join("packets.pcapng");
        let file = self.packets.then(|| PacketFile::create(&path));
        Ok(file.transpose()?)
    }

    pub(crate) fn rows(&mut self, rows: &[QueueRow]) -> Result<()> {
        Ok(self.series.queues(rows.iter().copied())?)
    }

    /// Completes it, and returns where it is.
    pub(crate) fn finish(
        self,
        plan: &Plan,
        summary: &Summary,
        histograms: &Histograms,
        exec: &Value,
    ) -> Result<PathBuf> {
        let path = self.folder.path();
        let file = |name: &str| path.join(name);
        self.series.finish()?;
        write_text(&file("scenario.toml"), &scenario(plan, exec))?;
        write_json(&file("summary.json"), summary)?;
        write_json(&file("histograms.json"), histograms)?;
        write_json(&file("exec.json"), exec)?;
        let seed = summary.seed;
        write_json(
            &file("run.json"),
            &Facts::new(self.world, seed, self.started),
        )?;
        Ok(self.folder.finish()?)
    }
}

/// The link as a scenario without groups, and the program.
fn scenario(plan: &Plan, exec: &Value) -> String {
    let words = exec["program"].as_array().into_iter().flatten();
    // The strings of JSON are strings of TOML, too.
    let words: Vec<String> = words.map(Value::to_string).collect();
    format!(
        "{}\n# The traffic was that of a program.\n[exec]\nprogram = [{}]\nnet = {}\nrtt = \"{}\"\n",
        plan.scenario().to_toml(),
        words.join(", "),
        exec["net"],
        plan.rtt()
    )
}

/// Writes the report of `--json` to `path`, replacing what is there.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_report(path: &Path, summary: &Summary, exec: &Value) -> Result<()> {
    let report = json!({ "exec": exec, "summary": summary });
    fs::write(path, format!("{report:#}\n")).doing("write the report of --json")
}
