//! Scenarios: what runs over which link, and what changes when; and the step from a scenario to a simulated run.
//!
//! [`Scenario::load`] reads text and arguments into a tree, checks and types it by the table in [`keys`], and judges what no
//! single key can show. Everything that is wrong is reported at once, with file, line, key, what was found and what would be
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

#[macro_use]
mod declare;

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
pub mod expect;
pub mod felt;
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
pub mod memory;
mod overrides;
pub mod path_course;
mod places;
mod printable;
mod problem;
mod programs;
mod queue;
mod rates_file;
mod read;
mod receiver;
mod refusal;
mod remark;
mod rules;
pub mod schema;
mod section;
mod shape;
pub mod sim;
pub mod start;
mod template;
mod thresholds;
pub mod trace;
pub mod tree;
mod trial_queue;
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
use quell_aqm::departure_clock::Framing;
use quell_aqm::link_trace::LinkTrace;
use quell_aqm::medium::Medium;
use quell_aqm::value::CodeScale;
use quell_aqm::value::code::BINS_PER_OCTAVE;
pub use quell_measure::{Direction, Hop, Hops};
use quell_units::{Bytes, Rate, Time};

use self::domain::{bytes, time};
use self::keys::{APP, DAY, FASTEST, LEAST_MSS, MODELLED, MOST_MSS, MTU, QUEUE, SLOWEST};
use self::world::MOST_FLOWS;
use quell_units::parameter::Domain as D;

pub use self::app::AppSpec;
pub use self::capacity::{
    all_flows, bytes_in_flight, bytes_in_flight_over, in_flight, largest_window, most_flows,
};
pub use self::carried::Carried;
pub use self::control::ControlSpec;
pub use self::domain::{Domain, LONGEST_NAME};
pub use self::expect::Expect;
pub use self::impair::ImpairSpec;
pub use self::lifetimes::{Lifetime, lifetimes};
pub use self::markers::markers;
pub use self::memory::{MEMORY_BUDGET, Memory};
pub use self::overrides::{ArgumentError, Override, with_colon};
pub use self::printable::{OneLine, printable};
pub use self::problem::{NamedLine, Origin, Problem, Problems, closest};
pub use self::programs::{NamedProgram, programs};
pub use self::queue::QueueSpec;
pub use self::remark::passage;
pub use self::template::Template;
pub use self::value::{DEFAULT_FUNCTION, FunctionSpec, ValueSpec, uses_values};
pub(crate) use self::value::{MOST_FUNCTIONS, PIECEWISE, UNMARKED};
pub use self::view::ReadFile;
pub use self::world::World;

keys! {
    /// A scenario that passed every check, with every default resolved.
    ///
    /// It has at least one link and one group, whose names differ; [`Scenario::name`] is safe as part of a path. Changes stand in the order
    /// of their time, which is after the start and before the end; a change that repeats is there each time.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Scenario in Root {
        /// Name of the scenario; results carry it.
        name: String = { default: Required, domain: Domain::Name, example: r#"name = "evening""#, }
        /// What the scenario shows, in a sentence.
        description: String = { default: Is(""), example: r#"description = "Two downloads and a call share an access link.""#, }
        /// The bottleneck, or several links in a row from sender to receiver.
        links: Vec<Link> = by hand { name: "link", default: Required, domain: Domain::Table("a table [link], or a list of tables [[link]] for several links in a row"), example: r#"link = { rate = "40mbit", queue = "dualpi2" }"#, }
        /// Throughput-value functions of the scenario's own; quell values lists the kinds.
        functions: Vec<FunctionSpec> = by hand { name: "value", default: Derived("no function of its own"), domain: Domain::Table("tables [value.NAME], one for each function"), example: r#"value.premium = { kind = "linear", zero = "100mbit" }"#, }
        /// Flows that are alike.
        groups: Vec<Group> = by hand { name: "group", default: Required, domain: Domain::Table("a list of tables [[group]]"), example: r#"group = [{ name = "downloads", rtt = "20ms", app = "bulk" }]"#, }
        /// What changes during the run; each starts a phase of the summary.
        changes: Vec<TimedChange> = by hand { name: "at", default: Derived("nothing changes"), domain: Domain::Table("a list of tables [[at]]"), example: r#"at = [{ time = "30s", set = { "link.rate" = "20mbit" } }]"#, }
        /// Conditions on the results. quell run and compare judge them.
        expects: Vec<Expect> = by hand { name: "expect", default: Derived("nothing is expected"), domain: Domain::Table("a list of tables [[expect]]"), example: r#"expect = [{ that = "link.utilisation > 90%", why = "the link is full" }]"#, }
        /// How long, and with which randomness.
        run: Run = by hand { default: Required, domain: Domain::Table("a table [run]"), example: r#"run = { duration = "60s", warmup = "10s" }"#, }
    }
}

keys! {
    /// A link with its two directions. The keys of the forward direction stand in the table of the link.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Link in Link {
        /// Name of the link, in results and in keys: link.NAME.rate.
        name: String = by hand { default: Derived("link, or of several link1, link2 and so on"), domain: Domain::Word, source: "ours", example: r#"name = "wifi""#, }
        /// Delay between this link and the next one of a packet's way, in either direction. It is a part of the groups' base RTT. Only where there are several links.
        delay: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(5)), source: "ours", example: r#"delay = "2ms""#, }
        /// Networks whose packets get new values where they come to the link. All data of a network together get those of its function, and what was worth more within it stays worth more.
        remark: Vec<Network> = by hand { default: Derived("packets keep the values that they have"), domain: Domain::Table("a list of networks such as { groups = [\"a\", \"b\"], function = \"silver\" }"), source: "ICC 2019 (10.1109/ICC.2019.8761720), P4 remarker of ELTE", example: r#"remark = [{ groups = ["downloads"], function = "silver" }]"#, }
        /// How packets carry their values on from here, in either direction. beside: in the program, beside the packet. header: in the packet's own header, as between two machines, in the identification of IPv4 or the flow label of IPv6; the next link reads it there and knows nothing else, and a packet that cannot carry a value (IPv4 that may be fragmented) comes there without one.
        values: Carried = { default: Is("beside"), domain: Domain::Value(D::Word(Carried::WORDS)), source: "ours", example: r#"values = "header""#, }
        /// The other direction.
        reverse: DirectionSpec = by hand { default: Derived("unlimited"), domain: Domain::Table("a table [link.reverse]"), example: r#"reverse = { rate = "20mbit", queue = "fq_codel" }"#, }
    } and {
        /// The direction from the senders of a [`Direction::Forward`] group to its receivers.
        forward: DirectionSpec,
    }
}

impl Link {
    /// The name of the link in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One direction of the link.
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
}

keys! {
    /// A network in front of a link: at least one group, by its place in [`Scenario::groups`], whose packets get new values.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Network in Remark {
        /// Groups whose data comes from the network, in whichever direction.
        groups: Vec<usize> = by hand { default: Required, domain: Domain::Table("a list of names of groups that cross the link and have values"), example: r#"remark = [{ groups = ["downloads"], function = "gold" }]"#, }
        /// Worth of the marginal bit by the rate of the whole network. It is a throughput-value function.
        function: FunctionSpec = by hand { default: Required, domain: Domain::Word, example: r#"remark = [{ groups = ["downloads"], function = "background" }]"#, }
        /// Over which the rates of the network are measured. A short one takes from a network whose traffic comes in bursts.
        period: Time = { default: Is("100ms"), domain: time(Time::from_millis(1), Time::from_secs(10)), source: "ours, as the time constant of markers; the P4 remarker has 10 ms", example: r#"remark = [{ groups = ["downloads"], function = "gold", period = "10ms" }]"#, }
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// The link.
    pub hop: Hop,
    /// The direction of the packets.
    pub direction: Direction,
}

keys! {
    /// One direction of a link at the start of a run. What a comment says of the forward direction holds for the reverse one too.
    #[derive(Debug, Clone, PartialEq)]
    pub struct DirectionSpec in Link, Reverse {
        /// Rate of the link in the forward direction.
        rate: Rate = by hand { default: Required, domain: Domain::Rate(SLOWEST, FASTEST, None), live: true, example: r#"rate = "100mbit""#, }
            in Reverse { default: Is("unlimited"), domain: Domain::Rate(SLOWEST, FASTEST, Some(Rate::UNLIMITED)), help: "Rate of the link in the reverse direction.", example: r#"rate = "20mbit""#, }
        /// Bytes that the link adds to each IP packet when it serialises it; 14 equals tc's accounting on Ethernet.
        overhead: i32 = { default: Is("0"), domain: Domain::Signed(-1_000, 1_000), source: "tc-stab(8)", example: "overhead = 18", }
        /// Fewest bytes that a packet occupies on the link.
        mpu: Bytes = { default: Is("0B"), domain: bytes(Bytes::ZERO, MTU), source: "tc-stab(8)", example: r#"mpu = "64B""#, }
        /// Codes of packet values for a factor of two of the value. They say how finely values are distinguished.
        codes: CodeScale = { name: "bins-per-octave", default: Is("64"), domain: Domain::Value(BINS_PER_OCTAVE.domain), source: "ours", example: "bins-per-octave = 32", }
        /// Access to a shared medium for several packets at once. As Wi-Fi does it: the link waits for it, and they arrive together.
        medium: Option<Medium> = by hand { name: "access", default: Derived("the link is always free to send"), domain: Domain::Table("a table such as { packets = 32, time = \"4ms\", delay = \"100us\", backoff = \"1ms\" }"), example: r#"access = { packets = 32, time = "4ms", backoff = "1ms" }"#, }
        /// What the path does to packets behind the queue: losses, reordering, jitter.
        impair: Option<ImpairSpec> = by hand { default: Derived("nothing happens"), domain: Domain::Table("a table such as { loss = 0.001, reorder = 0.01, jitter = \"1ms\" }"), example: r#"impair = { loss = 0.001, jitter = "1ms" }"#, }
        /// Queue discipline of the forward direction, with its parameters.
        queue: QueueSpec = by hand { default: Required, domain: QUEUE, example: r#"queue = { kind = "dualpi2", target = "15ms" }"#, }
            in Reverse { default: Derived("\"fifo\""), help: "Queue discipline of the reverse direction, with its parameters.", example: r#"queue = { kind = "pie", target = "10ms" }"#, }
    } and {
        /// The trace that the link follows; `rate` is then the [first rate](LinkTrace::first_rate) of the trace.
        course: Option<LinkTrace>,
    }
}

impl DirectionSpec {
    /// The bytes that a packet occupies on the link.
    pub fn framing(&self) -> Framing {
        Framing {
            overhead: self.overhead,
            mpu: self.mpu,
        }
    }
}

/// Why keys of pacing do not have any effect on datagrams.
const NOT_PACED: &str = "has no effect: datagrams leave when the application sends them";

keys! {
    /// Flows that are alike.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Group in Group {
        /// Name of the group; results, --set and [[at]] use it.
        name: String = { default: Required, domain: Domain::Word, example: r#"name = "downloads""#, }
        /// Number of flows. 0 is allowed where an [[at]] changes it; flows stop newest first.
        count: u32 = { default: Is("1"), domain: Domain::Value(D::Integer(0, MOST_FLOWS)), live: true, example: "count = 4", }
        /// Congestion control of the senders.
        congestion_control: Option<ControlSpec> = by hand { default: Derived("cubic, where the application uses TCP"), domain: Domain::Table("the name of a congestion control, or a table with its options: { name = \"cubic\", beta = 0.8 }"), example: r#"congestion-control = "dctcp""#, }
        /// ECN field of the data packets; ect1 claims L4S (RFC 9331).
        ecn: EcnSetting = by hand { default: Derived("what the control declares (quell cc), else off"), domain: Domain::Value(D::Word(&["off", "ect0", "ect1"])), example: r#"ecn = "ect1""#, }
        /// Base RTT, without queueing. Half of it in each direction, after the queue.
        rtt: Time = { default: Required, domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"rtt = "20ms""#, }
        /// What the receiving host has of its own. Without it both hosts are alike.
        receiver: Option<ReceiverSpec> = by hand { default: Derived("as the sending host"), domain: Domain::Table("a table such as { accecn = false }"), source: "ours", datagrams: Some("has no effect: datagrams are not acknowledged"), example: r#"receiver = { accecn = false }"#, }
        /// What the flows send.
        app: AppSpec = by hand { default: Required, domain: APP, example: r#"app = "bulk""#, }
        /// Direction of the data. It says which of the link's two queues it crosses.
        direction: Direction = { default: Is("forward"), domain: Domain::Value(D::Word(&["forward", "reverse"])), example: r#"direction = "reverse""#, }
        /// Links that its packets cross, in both directions. Only where there are several.
        path: Hops = by hand { default: Derived("all links"), domain: Domain::Table("a list of names of links that follow one another, such as [\"wifi\", \"access\"]"), source: "ours", example: r#"path = ["link"]"#, }
        /// When the flows start.
        start: Time = { default: Is("0s"), domain: time(Time::ZERO, DAY), example: r#"start = "5s""#, }
        /// When the flows stop.
        stop: Option<Time> = { default: Derived("the end of the run"), domain: time(Time::from_nanos(1), DAY), example: r#"stop = "25s""#, }
        /// Rate of each sender's own link, which its packets cross one by one in front of the queue.
        access_rate: Rate = { default: Is("unlimited"), domain: Domain::Rate(SLOWEST, FASTEST, Some(Rate::UNLIMITED)), worlds: MODELLED, example: r#"access-rate = "100mbit""#, }
        /// What the packets of the data are worth to a queue that looks at packet values.
        value: Option<ValueSpec> = by hand { default: Derived("gold where the queue looks at packet values, else none"), domain: Domain::Table("the name of a throughput-value function, \"none\", or a table with a marker: { function = \"gold\", marker = \"token_bucket\" }"), source: "Per Packet Value", example: r#"value = "silver""#, }
        /// Whether TCP senders pace. At 200 % of a window per RTT in slow start, at 120 % afterwards.
        pacing: Option<bool> = { default: Derived("as the congestion control does"), domain: Domain::Value(D::Flag), source: "Linux sk_pacing_rate", datagrams: Some(NOT_PACED), example: "pacing = true", }
        /// Whether TCP senders use segmentation offload. About a millisecond's worth leaves at once, in bursts of full-sized packets.
        gso: bool = { default: Is("true"), domain: Domain::Value(D::Flag), source: "Linux tcp_tso_autosize", datagrams: Some(NOT_PACED), example: "gso = false", }
        /// Initial congestion window of TCP senders, in segments; also what a window shrinks to after idle time.
        initial_window: u32 = { default: Is("10"), domain: Domain::Value(D::Integer(1, 1_000)), source: "RFC 6928, Linux initcwnd", datagrams: Some("has no effect: datagrams have no window"), example: "initial-window = 3", }
        /// Maximum segment size of TCP. A full packet is 40 bytes longer, and 12 bytes of it are the timestamp.
        mss: Bytes = { default: Is("1460B"), domain: bytes(LEAST_MSS, MOST_MSS), source: "RFC 9293 section 3.7.1, Linux advmss", datagrams: Some("has no effect: the application says how long datagrams are"), example: r#"mss = "536B""#, }
    }
}

keys! {
    /// The keys of `receiver`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ReceiverSpec in Receiver {
        /// Congestion control of the receiving host. It decides how marks are reported.
        congestion_control: Option<ControlSpec> = by hand { default: Derived("the group's; cubic where that reports marks in a way that ecn or accecn forbids"), domain: Domain::Word, example: r#"receiver = { congestion-control = "cubic" }"#, }
        /// Whether the receiving host takes part in ECN.
        ecn: bool = { default: Is("true"), domain: Domain::Value(D::Flag), source: "RFC 3168, Linux tcp_ecn", example: "receiver = { ecn = false }", }
        /// Whether it reports marks by AccECN to a sender that asks for it. Otherwise it does so as of RFC 3168.
        accecn: bool = { default: Is("true"), domain: Domain::Value(D::Flag), source: "RFC 9768", example: "receiver = { accecn = false }", }
        /// Whether an ACK waits for a second segment. Otherwise each segment is acknowledged at once.
        delayed_ack: bool = { default: Is("true"), domain: Domain::Value(D::Flag), source: "RFC 5681 section 4.2, Linux quickack of a route", example: "receiver = { delayed-ack = false }", }
    }
}

/// The ECN field of data packets.
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
    /// Whether the control is one of quell's own whose response to marks is scalable (RFC 9331).
    pub fn is_scalable(&self) -> bool {
        let control = self.congestion_control.as_ref();
        control
            .and_then(ControlSpec::known)
            .is_some_and(|known| known.scalable)
    }
}

impl EcnSetting {
    const ALL: [Self; 3] = [Self::Off, Self::Ect0, Self::Ect1];

    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ect0 => "ect0",
            Self::Ect1 => "ect1",
        }
    }
}

/// The changes at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedChange {
    /// The time of the changes from the start of the run.
    pub time: Time,
    /// Whether a phase of the summary starts with the changes.
    pub phase: bool,
    /// The new values, in the order written.
    pub set: Vec<Setting>,
}

/// One new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// The rate of a direction.
    Rate(Side, Rate),
    /// A living parameter of a queue, as [`Qdisc::configure`](quell_aqm::Qdisc::configure) takes it.
    Queue {
        /// The direction of the queue.
        side: Side,
        /// The parameter.
        key: String,
        /// The value of the parameter in text.
        value: String,
    },
    /// What a direction does to packets behind its queue.
    Impair {
        /// The direction.
        side: Side,
        /// The key of `impair` that changes.
        key: String,
        /// All of its keys from then on.
        spec: ImpairSpec,
    },
    /// The base RTT of a group. What is in flight keeps its delay, and the order is kept.
    Rtt {
        /// Index into [`Scenario::groups`].
        group: usize,
        /// The base RTT from then on.
        rtt: Time,
    },
    /// The number of flows of a group; flows stop newest first.
    Count {
        /// Index into [`Scenario::groups`].
        group: usize,
        /// Number of flows from then on.
        count: u32,
    },
    /// A living parameter of a group's application.
    App {
        /// Index into [`Scenario::groups`].
        group: usize,
        /// The parameter.
        key: &'static str,
        /// The application from then on.
        app: Box<AppSpec>,
    },
}

keys! {
    /// How long, and with which seeds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Run in Run {
        /// How long, with the warm-up.
        duration: Time = { default: Required, domain: time(Time::from_millis(1), DAY), example: r#"duration = "60s""#, }
        /// What is left out of all figures at the start.
        warmup: Time = { default: Is("0s"), domain: time(Time::ZERO, DAY), example: r#"warmup = "10s""#, }
        /// What is left out of each phase's figures at its start.
        settle: Time = { default: Is("0s"), domain: time(Time::ZERO, DAY), example: r#"settle = "2s""#, }
        /// Time between rows of the series.
        interval: Time = { default: Is("100ms"), domain: time(Time::from_millis(1), Time::from_secs(3_600)), example: r#"interval = "50ms""#, }
        /// Seeds of the randomness. One result each, and their mean with its standard error.
        seeds: Vec<u64> = { default: Is("[1]"), domain: Domain::Seeds, example: "seeds = [1, 2, 3]", }
    }
}

/// A scenario, and warnings about it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Warnings: what is possible, but probably an error.
    pub warnings: Vec<Problem>,
    /// A summary of each trace that a link follows.
    pub traces: Vec<String>,
    /// The programs that the scenario starts; the caller has to find them.
    pub programs: Vec<NamedProgram>,
}

impl Scenario {
    /// Whether an application of the scenario records events.
    pub fn records_events(&self) -> bool {
        let kinds = self.groups.iter().map(|group| group.app.config().kind());
        kinds
            .filter_map(quell_app::kinds::find)
            .any(|entry| !entry.events.is_empty())
    }

    /// The applications of a group during the run, with the times of the changes.
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

    /// The times at which phases of the summary start, but for the first phase.
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
