//! What a guest is given to do, and what it says of it.

use std::path::PathBuf;

use quell_measure::GroupControl;
use quell_results::facts::RunningKernel;
use serde::{Deserialize, Serialize};

use crate::guest_day::GuestDay;
use crate::options::LiveOptions;

/// This program once more, in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestProgram {
    /// Arguments of this very program, which it is.
    pub arguments: Vec<String>,
    /// Its working folder.
    pub directory: PathBuf,
    /// All of its environment.
    pub variables: Vec<(String, String)>,
    /// Files that it needs.
    pub reaches: Vec<PathBuf>,
    /// What people know it by.
    pub name: String,
    /// Whether it reads the standard input of this process; without, it finds the end of a file at once.
    pub input: bool,
    /// Whether its guest has IPv6, if the kernel knows it.
    pub ipv6: bool,
}

impl GuestProgram {
    /// What to say where its guest was killed: because the clock `stopped`, or because somebody asked for the end.
    pub(super) fn killed(&self, stopped: Option<&String>) -> String {
        let name = &self.name;
        match stopped {
            Some(stopped) => format!(
                "{stopped}: {name}, or what it started, computes without a pause. Work takes no time in a guest, so a loop that waits without \
                 sleeping never ends; --guest-timeout 10m gives a long computation more, --world live runs it in real time"
            ),
            None => format!(
                "{name} was killed: it computed, or waited for input, and no guest can be asked to end then; what was measured is lost"
            ),
        }
    }
}

/// The task of the guest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    /// Resolved, as TOML. Without one, and without a program, the guest just starts and ends.
    pub(super) scenario: Option<String>,
    /// What runs in place of a scenario.
    pub(super) program: Option<GuestProgram>,
    pub(super) seed: u64,
    /// The first bytes of the guest's random pool.
    pub(super) entropy: Vec<u8>,
    /// The folder of the result.
    pub(super) results: PathBuf,
    pub(super) packets: bool,
    pub(super) warnings: Vec<String>,
    pub(super) live: LiveOptions,
    /// Memory of the guest, in bytes.
    pub(super) memory: u64,
    /// When its clock begins.
    pub(super) day: GuestDay,
    /// Files and folders of the host that it must be able to reach.
    pub(super) reaches: Vec<PathBuf>,
    /// The user of its kernel, if that has one of its own.
    pub(super) user: Option<u32>,
}

/// What a guest says that has done its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) kernel: RunningKernel,
    /// Of the groups of its scenario.
    pub(super) controls: Vec<GroupControl>,
    /// The exit code of its program.
    pub(super) code: Option<u8>,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    /// The result's folder is filled.
    Done(Done),
    /// It could not begin.
    Refused { what: String, fix: Option<String> },
    /// It failed.
    Failed { why: String },
}
