//! Finished runs, one small file each, so that a comparison goes on where it was stopped.
//!
//! A record holds the resolved scenario, and the *maker*: what else the result depends on, such as a kernel's release or the hash of a
//! program. It counts while both are the same; a scenario that an older version wrote is read again, so that a key added since has its
//! default.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use quell_lab::Scenario;
use quell_measure::Summary;
use serde::{Deserialize, Serialize};

/// What is kept of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The resolved scenario.
    pub(crate) scenario: String,
    /// What made the result beside the scenario.
    pub(crate) maker: String,
    /// Runs that were thrown away before this one because the machine was late.
    pub(crate) late_runs: u32,
    pub(crate) summary: Summary,
}

/// A folder of records.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The record under `name` if it is of this scenario, and of a maker that `counts`.
    pub(crate) fn get(
        &self,
        name: &Path,
        scenario: &str,
        counts: impl Fn(&str) -> bool,
    ) -> Option<Record> {
        let text = fs::read(self.0.join(name)).ok()?;
        // A record of another version of this program reads as none.
        let record: Record = serde_json::from_slice(&text).ok()?;
        let is_same = record.scenario == scenario
            || Scenario::parse(&record.scenario).is_ok_and(|old| old.to_toml() == scenario);
        (is_same && counts(&record.maker)).then_some(record)
    }

    /// Keeps a record: written whole, or not at all.
    pub(crate) fn put(&self, name: &Path, record: &Record) -> io::Result<()> {
        let path = self.0.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(record)?)?;
        fs::rename(&unfinished, &path)
    }
}

/// The hash of this program.
pub(crate) fn program() -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(std::env::current_exe()?)?);
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        let text = "schema = 1\nname = \"s\"\n[link]\nrate = \"1mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"g\"\nrtt = \"9ms\"\n\
                    app = \"bulk\"\n[run]\nduration = \"1s\"\n";
        let scenario = Scenario::parse(text).expect("a scenario");
        let stop = std::sync::atomic::AtomicBool::new(false);
        let run = quell_lab::sim::run_late(&scenario, 1, None, &stop, &mut ());
        run.expect("a run").summary
    }

    #[test]
    fn a_record_counts_for_its_scenario_and_its_maker_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(folder.path());
        let name = Path::new("sim/point-seed1.json");
        let record = Record {
            scenario: "one".to_owned(),
            maker: "program 1".to_owned(),
            late_runs: 2,
            summary: summary(),
        };
        assert!(folder.get(name, "one", |_| true).is_none());
        folder.put(name, &record).expect("a record");
        let of = |maker: &'static str| move |made: &str| made == maker;
        let found = folder.get(name, "one", of("program 1"));
        assert_eq!(found.map(|record| record.late_runs), Some(2));
        assert!(folder.get(name, "one", of("program 2")).is_none());
        assert!(folder.get(name, "two", of("program 1")).is_none());
    }
}
