//! What is shown, and what runs for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, OnceLock};

use quell_lab::{GuestOptions, LiveOptions};
use quell_scenario::Scenario;
use quell_watch::Preparation;
use serde_json::Value;

use crate::ask::{Ask, Opening, Speed};
use crate::error::SessionError;
use crate::exec_link::ExecLink;
use crate::http::{Facts, Shared};
use crate::live::{self, Live};
use crate::player::Player;
use crate::sim::{self, Sim};
use crate::virtual_run::VirtualRun;

/// Asks that wait for a run.
const ASKS: usize = 64;
/// The last message of a stream.
const FAREWELL: &str = "quell serve was ended";

/// What is shown.
#[derive(Debug)]
pub enum Show {
    /// Simulated runs: first of this scenario, if there is one, then of what a page opens.
    Sim {
        /// A scenario that names no file, as TOML.
        scenario: Option<String>,
    },
    /// Runs of the live world: first of this scenario, if there is one, then of what a page opens. This process has been set apart
    /// (`quell_lab::live::privilege_separation::separate_to_watch`).
    Live {
        /// A scenario that names no file, as TOML.
        scenario: Option<String>,
        /// How they run.
        options: LiveOptions,
    },
    /// A run of the virtual world, played once it is over.
    Virtual {
        /// What runs, with its first seed.
        scenario: Box<Scenario>,
        /// Warnings of its check.
        warnings: Vec<String>,
        /// The kernel.
        guest: GuestOptions,
        /// A new folder for the result; without one a new one in `results`.
        out: Option<PathBuf>,
    },
    /// The result in a folder, of one run or of several.
    Result(PathBuf),
    /// A link that carries a program.
    ExecLink(Box<ExecLink>),
}

/// What a thread of its own does.
#[derive(Debug)]
pub(crate) enum Runs {
    /// Simulates what it is asked.
    Sim(Receiver<Ask>),
    /// Runs what it is asked with real packets.
    Live(Receiver<Ask>, LiveOptions),
    /// Runs inside a kernel, to the end.
    Virtual(Box<VirtualRun>),
    /// A program runs, elsewhere.
    ExecLink(Receiver<Ask>, Box<ExecLink>),
}

impl Runs {
    /// Runs until the end, or until `stop` is set.
    pub(crate) fn carry_on(self, shared: &Shared, speed: Speed, stop: &AtomicBool) {
        let hub = shared.hub.clone();
        match self {
            Self::Sim(asks) => Sim::new(hub, speed).carry_on(&asks, stop),
            Self::Live(asks, options) => Live::new(hub, options).carry_on(&asks, stop),
            Self::Virtual(run) => run.carry_on(shared, stop),
            Self::ExecLink(asks, link) => link.carry_on(&hub, &asks, stop),
        }
    }
}

/// What a server makes of what is to be shown.
pub(crate) struct Opened {
    pub(crate) facts: Facts,
    /// To the runs, where they can be asked.
    pub(crate) asks: Option<SyncSender<Ask>>,
    pub(crate) runs: Option<Runs>,
    pub(crate) player: OnceLock<Arc<Player>>,
}

impl Opened {
    pub(crate) fn of(show: Show, speed: Speed) -> Result<Self, SessionError> {
        match show {
            Show::Sim { scenario } => {
                Self::asked("sim", Value::Null, scenario, sim::name_of, Runs::Sim)
            }
            Show::Live { scenario, options } => {
                let runs = |heard| Runs::Live(heard, options);
                Self::asked("live", kernel(), scenario, live::name_of, runs)
            }
            Show::Virtual {
                mut scenario,
                warnings,
                guest,
                out,
            } => {
                scenario.run.seeds.truncate(1);
                Ok(Self::in_guest(VirtualRun {
                    scenario: *scenario,
                    warnings,
                    guest,
                    out,
                }))
            }
            Show::ExecLink(link) => Ok(Self::of_link(link)),
            Show::Result(folder) => Self::of_result(&folder, speed),
        }
    }

    /// Runs of what pages ask, first of `scenario`.
    fn asked(
        world: &'static str,
        kernel: Value,
        scenario: Option<String>,
        name_of: fn(&Opening) -> Result<String, SessionError>,
        runs: impl FnOnce(Receiver<Ask>) -> Runs,
    ) -> Result<Self, SessionError> {
        let (asks, heard) = mpsc::sync_channel(ASKS);
        let mut name = "quell".to_owned();
        if let Some(text) = &scenario {
            let opening = opening(text);
            name = name_of(&opening)?;
            // The channel is empty: there is room.
            let _ = asks.try_send(Ask::Open(opening));
        }
        let facts = Facts {
            kernel,
            ..facts(world, name, scenario)
        };
        Ok(Self {
            facts,
            asks: Some(asks),
            runs: Some(runs(heard)),
            player: OnceLock::new(),
        })
    }

    /// A run of the virtual world, which nobody can ask.
    fn in_guest(run: VirtualRun) -> Self {
        let (name, text) = (run.scenario.name.clone(), run.scenario.to_toml());
        Self {
            facts: facts("virtual", name, Some(text)),
            asks: None,
            runs: Some(Runs::Virtual(Box::new(run))),
            player: OnceLock::new(),
        }
    }

    /// A link that carries a program.
    fn of_link(link: Box<ExecLink>) -> Self {
        let (asks, heard) = mpsc::sync_channel(ASKS);
        let facts = Facts {
            kernel: kernel(),
            farewell: "the program behind this link has ended",
            ..facts("live", "exec".to_owned(), Some(link.scenario.to_toml()))
        };
        Self {
            facts,
            asks: Some(asks),
            runs: Some(Runs::ExecLink(heard, link)),
            player: OnceLock::new(),
        }
    }

    /// What happened, for which nothing runs.
    fn of_result(folder: &Path, speed: Speed) -> Result<Self, SessionError> {
        let player = Player::open(folder, speed)?;
        let facts = Facts {
            mode: "result",
            world: player.world.clone(),
            kernel: player.kernel.clone(),
            ..facts("", player.name().to_owned(), Some(player.text.clone()))
        };
        Ok(Self {
            facts,
            asks: None,
            runs: None,
            player: OnceLock::from(Arc::new(player)),
        })
    }
}

/// The facts of runs in this world.
fn facts(world: &'static str, name: String, scenario: Option<String>) -> Facts {
    Facts {
        mode: world,
        world: world.to_owned(),
        kernel: Value::Null,
        scenario,
        name,
        farewell: FAREWELL,
    }
}

/// The kernel of this machine.
fn kernel() -> Value {
    let system = rustix::system::uname();
    system.release().to_string_lossy().into()
}

/// One run of a scenario, as it is written.
fn opening(text: &str) -> Opening {
    Opening {
        scenario: text.to_owned(),
        runs: vec![Vec::new()],
        seed: None,
        preparation: Preparation::default(),
    }
}
