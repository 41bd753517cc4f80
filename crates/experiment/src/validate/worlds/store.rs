//! The runs in each world.
//!
//! What makes a result beside the scenario is the kernel of a world that has one, or the program of the simulator; in the virtual world
//! also what runs inside the guest, because the result depends on that to the digit.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use quell_kernel::store::Kernel;
use quell_lab::sim::Lateness;
use quell_measure::Summary;

use crate::validate::store::{self, Folder, Record};
use crate::validate::worlds::case::Case;

/// The code that runs inside a guest: not the simulator and its TCP, which change while the reference stays.
const GUEST_CODE: [&str; 10] = [
    "crates/app/src",
    "crates/aqm/src",
    "crates/hosts/src",
    "crates/kernel/src/machine",
    "crates/lab/src/live",
    "crates/lab/src/virtual_world",
    "crates/link/src",
    "crates/measure/src",
    "crates/scenario/src",
    "crates/units/src",
];

/// Where a run happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the simulator, over a link that is never late.
    Punctual,
    /// In the simulator, over a link as late as the live one was.
    Late(Lateness),
    /// With the TCP of a user-mode kernel, in virtual time.
    Virtual,
    /// With the TCP of this kernel.
    Live,
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Store {
    folder: Folder,
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
            folder: Folder::new(folder),
            program: store::program()?,
            kernel: system.release().to_string_lossy().into_owned(),
            guest,
        })
    }
    /// The kernel that runs here.
    pub(crate) fn kernel(&self) -> &str {
        &self.kernel
    }
    fn name(case: &Case, kind: &Place, seed: u64) -> PathBuf {
        let folder = match kind {
            Place::Punctual => "sim",
            Place::Late(_) => "sim-late",
            Place::Virtual => "virtual",
            Place::Live => "live",
        };
        Path::new(folder).join(format!("{}-seed{seed}.json", case.id))
    }
    /// What makes results in a world.
    fn maker(&self, kind: &Place) -> String {
        match (kind, &self.guest) {
            (Place::Punctual, _) => self.program.clone(),
            (Place::Late(lateness), _) => format!("{} {lateness:?}", self.program),
            (Place::Virtual, Some(guest)) => format!("{} {}", guest.kernel, guest.code),
            (Place::Virtual, None) => "no kernel".to_owned(),
            (Place::Live, _) => self.kernel.clone(),
        }
    }
    /// Whether what `maker` made would be made the same now.
    fn counts(&self, kind: &Place, maker: &str) -> bool {
        match (kind, &self.guest) {
            (Place::Virtual, Some(guest)) if guest.of_any_code => maker.starts_with(&guest.kernel),
            _ => maker == self.maker(kind),
        }
    }
    /// The record of a run, if there is one that still counts.
    pub(crate) fn get(
        &self,
        case: &Case,
        kind: &Place,
        seed: u64,
        scenario: &str,
    ) -> Option<Record> {
        self.folder
            .get(&Self::name(case, kind, seed), scenario, |maker| {
                self.counts(kind, maker)
            })
    }
    pub(crate) fn put(
        &self,
        case: &Case,
        kind: &Place,
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
        self.folder.put(&Self::name(case, kind, seed), &record)
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
