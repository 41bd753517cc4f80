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

use crate::error::{Error, Result};
use crate::plan::Plan;

/// A result in the making; it vanishes if it is dropped before it is finished.
#[derive(Debug)]
pub(crate) struct Results {
    folder: Folder,
    series: Series,
    started: Started,
    packets: bool,
    world: World,
    /// Why nothing more is written: the disk is full, most often.
    failed: Option<Error>,
}

/// The file of `--packets`.
const PACKETS: &str = "packets.pcapng";

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
            failed: None,
        })
    }

    /// The file for packets, where one was asked for.
    pub(crate) fn packets(&self) -> Result<Option<PacketFile>> {
        let path = self.folder.path().join(PACKETS);
        let file = self.packets.then(|| PacketFile::create(&path));
        Ok(file.transpose()?)
    }

    /// Removes that file, which could not be written, so that everything else has room.
    pub(crate) fn give_packets_up(&self) {
        // Without it the result says less, and nothing wrong.
        let _ = fs::remove_file(self.folder.path().join(PACKETS));
    }

    /// Adds rows. What cannot be written is reported at the end: the program goes on.
    pub(crate) fn rows(&mut self, rows: &[QueueRow]) {
        if self.failed.is_none() {
            let written = self.series.queues(rows.iter().copied());
            self.failed = written.err().map(Error::from);
        }
    }

    /// Completes it, and returns where it is.
    pub(crate) fn finish(
        self,
        plan: &Plan,
        summary: &Summary,
        histograms: &Histograms,
        exec: &Value,
    ) -> Result<PathBuf> {
        if let Some(error) = self.failed {
            return Err(error);
        }
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
pub(crate) fn scenario(plan: &Plan, exec: &Value) -> String {
    let words = exec["program"].as_array().into_iter().flatten();
    // The strings of JSON are strings of TOML, too.
    let words: Vec<String> = words.map(Value::to_string).collect();
    let list = |key: &str, texts: Vec<String>| match texts.is_empty() {
        true => String::new(),
        false => format!("{key} = [{}]\n", texts.join(", ")),
    };
    let rtts = plan.rtts().iter();
    let rtts = rtts.map(|(at, rtt)| format!("\"{at} {rtt}\"")).collect();
    let cuts = plan.cuts().iter();
    let cuts = cuts.map(|cut| format!("\"{}\"", cut.text)).collect();
    let lists = list("rtts", rtts) + &list("connections", cuts);
    format!(
        "{}\n# The traffic was that of a program.\n[exec]\nprogram = [{}]\nnet = {}\nrtt = \"{}\"\n{lists}",
        plan.scenario().to_toml(),
        words.join(", "),
        exec["net"],
        plan.rtt()
    )
}

/// The report of `--json`.
pub fn report_text(summary: &Summary, exec: &Value) -> String {
    let report = json!({ "exec": exec, "summary": summary });
    format!("{report:#}\n")
}
