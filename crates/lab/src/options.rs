//! How to run a scenario, in which world.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use quell_hosts::cc::Modules;
use serde::{Deserialize, Serialize};

use crate::World;
use crate::guest_command::GuestCommand;
use crate::guest_day::GuestDay;
use crate::program_env::ProgramEnv;

/// How to run.
#[derive(Debug)]
pub struct Options<'a> {
    /// The world to run in.
    pub world: World,
    /// Exactly this folder, which must not exist; without it a new one in `results`.
    pub out: Option<PathBuf>,
    /// Set to end the run early, with what was measured until then.
    pub stop: &'a AtomicBool,
    /// Warnings of the scenario, for the summary.
    pub warnings: Vec<String>,
    /// Whether to write `packets.pcapng`: every packet with what became of it.
    pub packets: bool,
    /// Options of the live and the virtual world.
    pub live: LiveOptions,
    /// Options of the virtual world alone.
    pub guest: GuestOptions,
}

impl<'a> Options<'a> {
    /// Everything as by default: results in a new folder of `results`, no packets.
    pub fn new(world: World, stop: &'a AtomicBool) -> Self {
        Self {
            world,
            out: None,
            stop,
            warnings: Vec::new(),
            packets: false,
            live: LiveOptions::default(),
            guest: GuestOptions::default(),
        }
    }
}

/// Options of the worlds that carry real packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveOptions {
    /// Priority of the link's thread under SCHED_FIFO; the hosts' threads get one less.
    pub realtime: Option<u8>,
    /// A queue discipline of the kernel, in tc's words, in place of quell's queue of the forward direction.
    pub kernel_queue: Option<String>,
    /// Whether to measure the packets of the forward direction from outside as well: `path` in `link` of the summary. A
    /// kernel's queue is always measured so.
    pub watch: bool,
    /// Commands that run in the hosts' namespaces, where the listener has a folder for their output.
    pub commands: Vec<GuestCommand>,
    /// Whether the host may load a module for a congestion control that its kernel does not have; the module stays loaded.
    pub load_modules: bool,
    /// Whether the live world may run the programs that a scenario names; the virtual world always may.
    pub allow_programs: bool,
    /// The folder in which these programs run, with little of quell's environment; without it quell's folder and environment.
    pub directory: Option<PathBuf>,
    /// What programs of the scenario find. A world that may run them fills it in; without it none starts.
    pub programs: Option<ProgramEnv>,
}

impl LiveOptions {
    /// Whether the kernel may load modules of congestion controls.
    pub(crate) fn modules(&self) -> Modules {
        match self.load_modules {
            true => Modules::Load,
            false => Modules::Leave,
        }
    }

    /// Whether packets are watched from outside.
    pub(crate) fn watches(&self) -> bool {
        self.watch || self.kernel_queue.is_some()
    }
}

/// Options of the virtual world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestOptions {
    /// Name of the kernel; `None` for the newest.
    pub kernel: Option<String>,
    /// A guest whose clock stops for this long, in the host's time, is killed.
    pub patience: Duration,
    /// The day on which it begins; `None` for a day that is ahead, where programs run, and for the first one, where none do.
    pub day: Option<GuestDay>,
    /// The user of its kernel where root starts it.
    pub user: GuestUser,
}

/// The user of a guest's kernel where root starts it. An ordinary user's is always that user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuestUser {
    /// One of its own, or the owner of the kernel.
    #[default]
    Own,
    /// Root, without capabilities: it may read what root's files are.
    Caller,
}

impl Default for GuestOptions {
    fn default() -> Self {
        Self {
            kernel: None,
            patience: Duration::from_secs(60),
            day: None,
            user: GuestUser::default(),
        }
    }
}
