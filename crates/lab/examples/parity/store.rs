//! Finished runs, one small file each, so that a comparison goes on where it was stopped.
//!
//! A record holds what the result depends on: the scenario, the kernel's queue or none, the kernel, and the program. It counts
//! only while these are the same, or with `any_program` the first three.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use quell_measure::Summary;
use serde::{Deserialize, Serialize};

use crate::point::Point;

/// What stands at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Quell,
    Kernel,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Quell, Self::Kernel];
}

/// What is kept of one run.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Scenario, kernel's queue, kernel and program.
    made_of: [String; 4],
    summary: Summary,
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    program: String,
    kernel: String,
    any_program: bool,
}

impl Store {
    /// `kernel` is the name or release of the one whose TCP and queues run.
    pub(crate) fn open(folder: &Path, kernel: String, any_program: bool) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(std::env::current_exe()?)?);
        Ok(Self {
            folder: folder.join(&kernel),
            program: format!("{:016x}", hasher.finish()),
            kernel,
            any_program,
        })
    }

    fn path(&self, point: &Point, side: Side, seed: u64) -> PathBuf {
        let side = match side {
            Side::Quell => "quell",
            Side::Kernel => "kernel",
        };
        self.folder
            .join(format!("{}-{side}-seed{seed}.json", point.id()))
    }

    fn made_of(&self, point: &Point, side: Side, scenario: &str) -> [String; 4] {
        let queue = match side {
            Side::Quell => String::new(),
            Side::Kernel => point.kernel(),
        };
        [
            scenario.to_owned(),
            queue,
            self.kernel.clone(),
            self.program.clone(),
        ]
    }

    /// The record of a run, if there is one that still counts.
    pub(crate) fn get(
        &self,
        point: &Point,
        side: Side,
        seed: u64,
        scenario: &str,
    ) -> Option<Summary> {
        let text = fs::read(self.path(point, side, seed)).ok()?;
        // A record of another version of this program reads as none.
        let record: Record = serde_json::from_slice(&text).ok()?;
        let made_of = self.made_of(point, side, scenario);
        let compared = if self.any_program { 3 } else { 4 };
        (record.made_of[..compared] == made_of[..compared]).then_some(record.summary)
    }

    /// Keeps a run: written whole, or not at all.
    pub(crate) fn put(
        &self,
        point: &Point,
        side: Side,
        seed: u64,
        scenario: &str,
        summary: Summary,
    ) -> io::Result<()> {
        let record = Record {
            made_of: self.made_of(point, side, scenario),
            summary,
        };
        fs::create_dir_all(&self.folder)?;
        let path = self.path(point, side, seed);
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(&record)?)?;
        fs::rename(&unfinished, &path)
    }
}
