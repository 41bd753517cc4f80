//! Scenarios: what runs over which link, and what changes when; and the step from a scenario to a simulated run.
//!
//! [`Scenario::load`] reads text and arguments into a tree, checks and types it by the table in [`keys`], and judges what no
//! single key can tell. Everything that is wrong is reported at once, with file, line, key, what was found and what would be
//! right. Any text gives a scenario or an error, never a panic.
//!
//! * [`Scenario`]: a scenario that passed every check; [`schema`]: the file format as JSON Schema, for editors.
//! * [`contract`]: what every [`World`] gives, [`columns`]: its series; [`figures`], [`lifetimes()`], [`markers()`]: what all of them measure and start.
//! * [`sim`]: the world of modelled hosts.
//! * [`Template`]: a file that is read once and resolved many times; [`tree`]: what it is read into.
//!
//! There is no file, thread, clock or socket in here, and sizes are the same on every platform: a page in a browser accepts and
//! refuses the same scenarios with the same words. The content of a file that a scenario names comes from the caller
//! ([`ReadFile`]), and the resolved scenario holds it.

#![forbid(unsafe_code)]

pub mod amended;
mod app;
mod canonical;
mod capacity;
mod carried;
pub mod causes;
mod changes;
mod check;
pub mod columns;
pub mod contract;
pub mod control;
mod domain;
pub mod figures;
pub mod find;
mod guesses;
mod hint;
mod hops;
mod impair;
pub mod kernel_options;
pub mod keys;
mod lifetimes;
mod markers;
mod medium;
pub mod memory;
mod overrides;
mod places;
mod printable;
mod problem;
mod programs;
mod queue;
mod rates_file;
mod read;
mod remark;
pub mod schema;
pub mod sim;
pub mod start;
mod template;
mod thresholds;
pub mod trace;
pub mod tree;
mod value;
mod view;
mod warn;
mod world;
mod write;
mod written;

use quell_app::AppChanges;
pub use quell_app::{
    AppConfig, Bulk, Cbr, Datagrams, Distribution, Interval, OnOff, Period, Transfer,
};
use quell_aqm::course::Course;
use quell_aqm::departure_clock::Framing;
use quell_aqm::medium::Medium;
use quell_aqm::value::CodeScale;
pub use quell_measure::{Direction, Hop, Hops};
use quell_units::{Bytes, Rate, Time};

pub use self::app::AppSpec;
pub use self::capacity::{
    all_flows, bytes_in_flight, bytes_in_flight_over, in_flight, largest_window, most_flows,
};
pub use self::carried::Carried;
pub use self::control::ControlSpec;
pub use self::domain::{Domain, LONGEST_NAME};
pub use self::impair::ImpairSpec;
pub use self::lifetimes::{Lifetime, lifetimes};
pub use self::markers::markers;
pub use self::memory::{MEMORY_BUDGET, Memory};
pub use self::overrides::{Override, with_colon};
pub use self::printable::{OneLine, printable};
pub use self::problem::{NamedLine, Origin, Problem, Problems, closest};
pub use self::programs::{NamedProgram, programs};
pub use self::queue::QueueSpec;
pub use self::remark::{Network, passage};
pub use self::template::Template;
pub use self::value::{DEFAULT_FUNCTION, FunctionSpec, ValueSpec, uses_values};
pub(crate) use self::value::{MOST_FUNCTIONS, PIECEWISE, UNMARKED};
pub use self::view::ReadFile;
pub use self::world::World;

/// A scenario that passed every check, with every default resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name, safe as part of a path.
    pub name: String,
    /// What it shows; may be empty.
    pub description: String,
    /// The links in a row, from the senders of a [`Direction::Forward`] group to its receivers: at least one. Names differ.
    pub links: Vec<Link>,
    /// Throughput-value functions of its own.
    pub functions: Vec<FunctionSpec>,
    /// At least one; names differ.
    pub groups: Vec<Group>,
    /// In the order of their time, which is after the start and before the end. What repeats is there each time.
    pub changes: Vec<TimedChange>,
    /// How long, and with which seeds.
    pub run: Run,
}

/// A link with its two directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name in results and in keys.
    pub name: String,
    /// What it delays a packet before the next link of its way, in either direction; a part of the base RTT.
    pub delay: Time,
    /// The networks whose packets get new values in front of its queues.
    pub remark: Vec<Network>,
    /// How packets that leave it, in either direction, carry their values.
    pub values: Carried,
    /// From the senders of a [`Direction::Forward`] group to its receivers.
    pub forward: DirectionSpec,
    /// Back.
    pub reverse: DirectionSpec,
}

impl Link {
    /// Its name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One direction of it.
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// The link.
    pub hop: Hop,
    /// Which way.
    pub direction: Direction,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionSpec {
    /// Its rate at the start; where there is one link, only the reverse one may be unlimited. Of a trace:
    /// [`Course::first_rate`].
    pub rate: Rate,
    /// The trace that it follows.
    pub course: Option<Course>,
    /// The medium that it shares with others.
    pub medium: Option<Medium>,
    /// What happens to packets behind the queue.
    pub impair: Option<ImpairSpec>,
    /// What a packet occupies on the link.
    pub framing: Framing,
    /// The queue discipline.
    pub queue: QueueSpec,
    /// Of the packet values in front of it.
    pub codes: CodeScale,
}

/// Flows that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name, without dots.
    pub name: String,
    /// Flows at the start.
    pub count: u32,
    /// The congestion control with its options; `None` for datagrams.
    pub congestion_control: Option<ControlSpec>,
    /// What data packets carry.
    pub ecn: EcnSetting,
    /// Base RTT; half of it in each direction, after the queue.
    pub rtt: Time,
    /// What the flows do.
    pub app: AppSpec,
    /// Which way the data goes.
    pub direction: Direction,
    /// The links that its packets cross, in both directions.
    pub path: Hops,
    /// When the flows start.
    pub start: Time,
    /// When they stop; `None` is the end of the run.
    pub stop: Option<Time>,
    /// Rate of each sender's own link.
    pub access_rate: Rate,
    /// How its data packets get a value; `None` leaves them unmarked.
    pub value: Option<ValueSpec>,
    /// Whether TCP senders pace; `None` leaves it to the congestion control.
    pub pacing: Option<bool>,
    /// Whether TCP senders use segmentation offload.
    pub gso: bool,
    /// Initial window of TCP senders, in segments.
    pub initial_window: u32,
    /// Maximum segment size of TCP: bytes of payload and options in a full packet.
    pub mss: Bytes,
}

/// What data packets carry in the ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnSetting {
    /// Not-ECT.
    Off,
    /// ECT(0): Classic ECN (RFC 3168).
    Ect0,
    /// ECT(1): L4S (RFC 9331).
    Ect1,
}

impl Group {
    /// Payload of a full segment, which carries a timestamp.
    pub fn full_payload(&self) -> Bytes {
        Bytes::new(self.mss.get().saturating_sub(keys::TIMESTAMPS.get()))
    }
    /// IP length of a full segment.
    pub fn full_packet(&self) -> Bytes {
        self.mss + keys::HEADERS
    }
    /// Name of the congestion control; `None` for datagrams.
    pub fn control_name(&self) -> Option<&str> {
        self.congestion_control.as_ref().map(ControlSpec::name)
    }
    /// Name of the congestion control in Linux; `None` for datagrams.
    pub fn kernel_control(&self) -> Option<&str> {
        let control = self.congestion_control.as_ref();
        control.map(ControlSpec::kernel_name)
    }
    /// Whether the control is one of quell's own whose response to marks is scalable (RFC 9331).
    pub fn is_scalable(&self) -> bool {
        let control = self.congestion_control.as_ref();
        control
            .and_then(ControlSpec::known)
            .is_some_and(|known| known.scalable)
    }
}

impl EcnSetting {
    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ect0 => "ect0",
            Self::Ect1 => "ect1",
        }
    }
}

/// What happens at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedChange {
    /// When, from the start of the run.
    pub time: Time,
    /// Whether a phase of the summary starts here.
    pub phase: bool,
    /// What, in the order written.
    pub set: Vec<Setting>,
}

/// One new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// The rate of a direction.
    Rate(Side, Rate),
    /// A living parameter of a queue, as [`Qdisc::configure`](quell_aqm::Qdisc::configure) takes it.
    Queue {
        /// Which queue.
        side: Side,
        /// The parameter.
        key: String,
        /// Its value in text.
        value: String,
    },
    /// The number of flows of a group; flows stop newest first.
    Count {
        /// Index into [`Scenario::groups`].
        group: usize,
        /// Flows from now on.
        count: u32,
    },
    /// A living parameter of a group's application.
    App {
        /// Index into [`Scenario::groups`].
        group: usize,
        /// The parameter.
        key: &'static str,
        /// The application from now on.
        app: Box<AppSpec>,
    },
}

/// How long, and with which seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// With the warm-up.
    pub duration: Time,
    /// Left out of all figures.
    pub warmup: Time,
    /// Left out of each phase's figures at its start.
    pub settle: Time,
    /// Time between rows of the series.
    pub interval: Time,
    /// At least one; all differ.
    pub seeds: Vec<u64>,
}

/// A scenario, and warnings about it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// What is possible, but probably an error.
    pub warnings: Vec<Problem>,
    /// What was understood of each trace that a link follows.
    pub traces: Vec<String>,
    /// The programs that it starts, which somebody else has to find.
    pub programs: Vec<NamedProgram>,
}

impl Scenario {
    /// Whether an application of it records events.
    pub fn records_events(&self) -> bool {
        let kinds = self.groups.iter().map(|group| group.app.config().kind());
        kinds
            .filter_map(quell_app::kinds::find)
            .any(|entry| !entry.events.is_empty())
    }

    /// What the application of a group becomes during the run.
    pub fn app_changes(&self, group: usize) -> AppChanges {
        let changed = self.changes.iter().flat_map(|change| {
            let set = change.set.iter();
            set.filter_map(|setting| match setting {
                Setting::App { group: of, app, .. } if *of == group => {
                    Some((change.time, app.config().clone()))
                }
                _ => None,
            })
        });
        changed.collect()
    }

    /// Every application that a group has during the run, one after the other.
    pub(crate) fn apps<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a AppSpec> {
        let later = self.changes.iter().flat_map(|change| &change.set);
        let later = later.filter_map(move |setting| match setting {
            Setting::App { group: of, app, .. } if self.groups[*of].name == group.name => {
                Some(&**app)
            }
            _ => None,
        });
        std::iter::once(&group.app).chain(later)
    }

    /// When phases of the summary start, but for the first.
    pub fn phases(&self) -> impl Iterator<Item = Time> + '_ {
        let starts = self.changes.iter().filter(|change| change.phase);
        starts.map(|change| change.time)
    }

    /// The links of the path, by [`Hop`].
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Reads `text`, the content of `file`, which errors name. `overrides` are applied in order before anything is checked.
    /// With a `world`, what that world cannot do, or has no memory for, is refused too: what is accepted starts there. Without
    /// one only what no world could run is refused. A scenario that names a file is refused: see [`Scenario::load_with_files`].
    pub fn load(
        file: &str,
        text: &str,
        overrides: &[Override],
        world: Option<World>,
    ) -> Result<Loaded, Problems> {
        Self::load_with_files(file, text, overrides, world, view::no_files())
    }

    /// [`Scenario::load`], where a scenario may name files: `files` reads them.
    pub fn load_with_files(
        file: &str,
        text: &str,
        overrides: &[Override],
        world: Option<World>,
        files: ReadFile,
    ) -> Result<Loaded, Problems> {
        Template::read(file, text)?.into_loaded(overrides, world, files)
    }

    /// Reads `text` alone, under the name `scenario`, for no world in particular.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        Self::load("scenario", text, &[], None).map(|loaded| loaded.scenario)
    }
}
