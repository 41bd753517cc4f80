//! Finished runs, one small file each, so that a comparison goes on where it was stopped.
//!
//! A record holds what the result depends on: the resolved scenario, and the kernel of a world that
//! has one or the program of the simulator. It counts only while these are the same; a scenario that an
//! older version wrote is read again, so that a key added since has its default.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use quell_lab::Scenario;
use quell_lab::sim::Lateness;
use quell_measure::Summary;
use serde::{Deserialize, Serialize};

use crate::point::Point;

/// Where a run happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the simulator, over a link that is never late.
    Punctual,
    /// In the simulator, over a link as late as the live one was.
    Late(Lateness),
    /// With the TCP of this kernel.
    Live,
}

/// What is kept of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The resolved scenario.
    pub(crate) scenario: String,
    /// What made the result beside the scenario: a kernel's release, or a program's hash.
    pub(crate) maker: String,
    /// Runs that were thrown away before this one because the machine was late.
    pub(crate) late_runs: u32,
    pub(crate) summary: Summary,
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    program: String,
    kernel: String,
}

impl Store {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let program = fs::read(std::env::current_exe()?)?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&program);
        let system = rustix::system::uname();
        Ok(Self {
            folder: folder.to_owned(),
            program: format!("{:016x}", hasher.finish()),
            kernel: system.release().to_string_lossy().into_owned(),
        })
    }
    /// The kernel that runs here.
    pub(crate) fn kernel(&self) -> &str {
        &self.kernel
    }
    fn path(&self, point: &Point, kind: &Kind, seed: u64) -> PathBuf {
        let folder = match kind {
            Kind::Punctual => "sim",
            Kind::Late(_) => "sim-late",
            Kind::Live => "live",
        };
        let name = format!("{}-seed{seed}.json", point.id());
        self.folder.join(folder).join(name)
    }
    /// What makes results in a world.
    fn maker(&self, kind: &Kind) -> String {
        match kind {
            Kind::Punctual => self.program.clone(),
            Kind::Late(lateness) => format!("{} {lateness:?}", self.program),
            Kind::Live => self.kernel.clone(),
        }
    }
    /// The record of a run, if there is one that still counts.
    pub(crate) fn get(
        &self,
        point: &Point,
        kind: &Kind,
        seed: u64,
        scenario: &str,
    ) -> Option<Record> {
        let text = fs::read(self.path(point, kind, seed)).ok()?;
        // A record of another version of this program reads as none.
        let record: Record = serde_json::from_slice(&text).ok()?;
        let is_same = record.scenario == scenario
            || Scenario::parse(&record.scenario).is_ok_and(|old| old.to_toml() == scenario);
        (is_same && record.maker == self.maker(kind)).then_some(record)
    }
    /// Keeps a run: written whole, or not at all.
    pub(crate) fn put(
        &self,
        point: &Point,
        kind: &Kind,
        seed: u64,
        scenario: String,
        summary: Summary,
        late_runs: u32,
    ) -> io::Result<()> {
        let record = Record {
            scenario,
            maker: self.maker(kind),
            late_runs,
            summary,
        };
        let path = self.path(point, kind, seed);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(&record)?)?;
        fs::rename(&unfinished, &path)
    }
}
