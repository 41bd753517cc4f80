//! The runs with quell's queue and with the kernel's.

use std::io;
use std::path::{Path, PathBuf};

use quell_measure::Summary;

use crate::validate::queues::point::Point;
use crate::validate::store::{self, Folder, Record};

/// What stands at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bottleneck {
    Quell,
    Kernel,
}

impl Bottleneck {
    pub(crate) const BOTH: [Self; 2] = [Self::Quell, Self::Kernel];
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Store {
    folder: Folder,
    program: String,
    kernel: String,
    any_program: bool,
}

impl Store {
    /// `kernel` is the name or release of the one whose TCP and queues run. With `any_program` also other builds of this program count.
    pub(crate) fn open(folder: &Path, kernel: String, any_program: bool) -> io::Result<Self> {
        Ok(Self {
            folder: Folder::new(&folder.join(&kernel)),
            program: store::program()?,
            kernel,
            any_program,
        })
    }

    fn name(point: &Point, side: Bottleneck, seed: u64) -> PathBuf {
        let side = match side {
            Bottleneck::Quell => "quell",
            Bottleneck::Kernel => "kernel",
        };
        format!("{}-{side}-seed{seed}.json", point.id()).into()
    }

    /// The kernel, and its queue if that stands at the bottleneck: what makes a result beside the program.
    fn maker(&self, point: &Point, side: Bottleneck) -> String {
        match side {
            Bottleneck::Quell => format!("{}; ", self.kernel),
            Bottleneck::Kernel => format!("{} {}; ", self.kernel, point.kernel()),
        }
    }

    /// The summary of a run, if there is one that still counts.
    pub(crate) fn get(
        &self,
        point: &Point,
        side: Bottleneck,
        seed: u64,
        scenario: &str,
    ) -> Option<Summary> {
        let maker = self.maker(point, side);
        let counts = |made: &str| {
            made.strip_prefix(&maker)
                .is_some_and(|program| self.any_program || program == self.program)
        };
        let record = self
            .folder
            .get(&Self::name(point, side, seed), scenario, counts);
        record.map(|record| record.summary)
    }

    pub(crate) fn put(
        &self,
        point: &Point,
        side: Bottleneck,
        seed: u64,
        scenario: &str,
        summary: Summary,
    ) -> io::Result<()> {
        let record = Record {
            scenario: scenario.to_owned(),
            maker: self.maker(point, side) + &self.program,
            late_runs: 0,
            summary,
        };
        self.folder.put(&Self::name(point, side, seed), &record)
    }
}
