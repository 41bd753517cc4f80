//! Finished runs, one small file each, so that a comparison goes on where it was stopped.
//!
//! A record holds what the result depends on: the resolved scenario, and the kernel of a world that has one or the program of
//! the simulator; in the virtual world also what runs inside the guest, because it hangs on that to the digit. It counts only
//! while these are the same; a scenario that an older version wrote is read again, so that a key added since has its default.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use quell_kernel::store::Kernel;
use quell_lab::Scenario;
use quell_lab::sim::Lateness;
use quell_measure::Summary;
use serde::{Deserialize, Serialize};

use crate::case::Case;

/// The code that runs inside a guest: not the simulator and its TCP, which change while the reference stays.
const GUEST_CODE: [&str; 9] = [
    "crates/app/src",
    "crates/aqm/src",
    "crates/hosts/src",
    "crates/kernel/src/machine",
    "crates/lab/src/live",
    "crates/lab/src/scenario",
    "crates/lab/src/virtual_world",
    "crates/link/src",
    "crates/measure/src",
];

/// Where a run happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the simulator, over a link that is never late.
    Punctual,
    /// In the simulator, over a link as late as the live one was.
    Late(Lateness),
    /// With the TCP of a user-mode kernel, in virtual time.
    Virtual,
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
    guest: Option<Guest>,
}

/// What makes results in the virtual world.
#[derive(Debug)]
struct Guest {
    kernel: String,
    /// Hash of the code that runs inside.
    code: String,
    of_any_code: bool,
}

impl Store {
    /// `guest` is the kernel of the virtual world. With `of_any_code`, what it gave counts whatever ran inside.
    pub(crate) fn open(
        folder: &Path,
        guest: Option<&Kernel>,
        of_any_code: bool,
    ) -> io::Result<Self> {
        let program = fs::read(std::env::current_exe()?)?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&program);
        let system = rustix::system::uname();
        let guest = match guest {
            Some(kernel) => {
                let facts = &kernel.facts;
                Some(Guest {
                    kernel: format!("{} {}", facts.version, facts.config_hash),
                    code: format!("{:016x}", guest_code()?),
                    of_any_code,
                })
            }
            None => None,
        };
        Ok(Self {
            folder: folder.to_owned(),
            program: format!("{:016x}", hasher.finish()),
            kernel: system.release().to_string_lossy().into_owned(),
            guest,
        })
    }
    /// The kernel that runs here.
    pub(crate) fn kernel(&self) -> &str {
        &self.kernel
    }
    fn path(&self, case: &Case, kind: &Kind, seed: u64) -> PathBuf {
        let folder = match kind {
            Kind::Punctual => "sim",
            Kind::Late(_) => "sim-late",
            Kind::Virtual => "virtual",
            Kind::Live => "live",
        };
        let name = format!("{}-seed{seed}.json", case.id);
        self.folder.join(folder).join(name)
    }
    /// What makes results in a world.
    fn maker(&self, kind: &Kind) -> String {
        match (kind, &self.guest) {
            (Kind::Punctual, _) => self.program.clone(),
            (Kind::Late(lateness), _) => format!("{} {lateness:?}", self.program),
            (Kind::Virtual, Some(guest)) => format!("{} {}", guest.kernel, guest.code),
            (Kind::Virtual, None) => "no kernel".to_owned(),
            (Kind::Live, _) => self.kernel.clone(),
        }
    }
    /// Whether what `maker` made would be made the same now.
    fn counts(&self, kind: &Kind, maker: &str) -> bool {
        match (kind, &self.guest) {
            (Kind::Virtual, Some(guest)) if guest.of_any_code => maker.starts_with(&guest.kernel),
            _ => maker == self.maker(kind),
        }
    }
    /// The record of a run, if there is one that still counts.
    pub(crate) fn get(
        &self,
        case: &Case,
        kind: &Kind,
        seed: u64,
        scenario: &str,
    ) -> Option<Record> {
        let text = fs::read(self.path(case, kind, seed)).ok()?;
        // A record of another version of this program reads as none.
        let record: Record = serde_json::from_slice(&text).ok()?;
        let is_same = record.scenario == scenario
            || Scenario::parse(&record.scenario).is_ok_and(|old| old.to_toml() == scenario);
        (is_same && self.counts(kind, &record.maker)).then_some(record)
    }
    /// Keeps a run: written whole, or not at all.
    pub(crate) fn put(
        &self,
        case: &Case,
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
        let path = self.path(case, kind, seed);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(&record)?)?;
        fs::rename(&unfinished, &path)
    }
}

/// A hash of the files in [`GUEST_CODE`], and of what they are built with. `make validate` has just built them.
fn guest_code() -> io::Result<u64> {
    let mut files = vec![PathBuf::from("Cargo.lock")];
    for folder in GUEST_CODE {
        collect(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file)?);
    }
    Ok(hasher.finish())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
