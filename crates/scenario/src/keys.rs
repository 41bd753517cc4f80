//! Every key of a scenario, in one table.
//!
//! Checks, suggestions, defaults, JSON Schema, `--set`, `[[at]]` and the documentation come from here; the parameters of
//! applications come from the tables of `quell-app`, those of queues, markers and throughput-value functions from `quell-aqm`, the options of congestion controls from
//! those of `quell-tcp`. Every key has an effect in some world.

use std::sync::LazyLock;

use quell_app::{Distribution, Entry, KINDS, MAX_DATAGRAM};
use quell_aqm::value::code::BINS_PER_OCTAVE;
use quell_units::parameter::{Domain as D, Preset};
use quell_units::{Bytes, Rate, Time};

use super::domain::{Domain, bytes, time};
use crate::Carried;
use crate::world::{MOST_FLOWS, World};

/// The format of scenario files.
pub const SCHEMA: u64 = 1;
/// The largest IP packet. Every world uses Ethernet's.
pub const MTU: Bytes = MAX_DATAGRAM;
/// IPv4 and TCP headers without options.
pub const HEADERS: Bytes = Bytes::new(40);
/// TCP's timestamps, which every segment carries.
pub const TIMESTAMPS: Bytes = Bytes::new(12);
/// Largest maximum segment size, which fills a packet, and the smallest (Linux `min_adv_mss`).
pub const MOST_MSS: Bytes = Bytes::new(MTU.get() - HEADERS.get());
const LEAST_MSS: Bytes = Bytes::new(256);
/// The control of TCP flows for which nobody names one: Linux's default.
pub const DEFAULT_CONTROL: &str = "cubic";
/// The most groups.
pub const MOST_GROUPS: usize = 64;
const SLOWEST: Rate = Rate::from_bps(1_000);
const FASTEST: Rate = Rate::from_mbps(1_000_000);
const DAY: Time = Time::from_secs(86_400);

/// A table of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The top of the file.
    Root,
    /// `[link]`
    Link,
    /// `[link.reverse]`
    Reverse,
    /// `rate = { … }`
    Trace,
    /// `access = { … }`
    Medium,
    /// `impair = { … }`
    Impair,
    /// `remark = [{ … }]`
    Remark,
    /// `[[group]]`
    Group,
    /// `congestion-control = { … }`
    CongestionControl,
    /// `value = { … }`
    Value,
    /// `app = { … }`
    App,
    /// `interval = { … }` of datagrams.
    Interval,
    /// `on`, `off` and `repeat` as a table.
    Period,
    /// `[[at]]`
    At,
    /// `[run]`
    Run,
}

impl Section {
    /// Every section.
    pub const ALL: &'static [Self] = &[
        Self::Root,
        Self::Link,
        Self::Reverse,
        Self::Trace,
        Self::Medium,
        Self::Impair,
        Self::Remark,
        Self::Group,
        Self::CongestionControl,
        Self::Value,
        Self::App,
        Self::Interval,
        Self::Period,
        Self::At,
        Self::Run,
    ];

    /// As people know it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Root => "a scenario",
            Self::Link => "[link]",
            Self::Reverse => "[link.reverse]",
            Self::Trace => "rate",
            Self::Medium => "access",
            Self::Impair => "impair",
            Self::Remark => "a network of remark",
            Self::Group => "[[group]]",
            Self::CongestionControl => "congestion-control",
            Self::Value => "value",
            Self::App => "app",
            Self::Interval => "interval",
            Self::Period => "a period",
            Self::At => "[[at]]",
            Self::Run => "[run]",
        }
    }

    /// The heading in a file under which the examples of its keys stand; empty at the top of the file.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::Link | Self::Trace | Self::Medium | Self::Impair | Self::Remark => "[link]",
            Self::Reverse => "[link.reverse]",
            Self::Group
            | Self::CongestionControl
            | Self::Value
            | Self::App
            | Self::Interval
            | Self::Period => "[[group]]",
            Self::At => "[[at]]",
            Self::Run => "[run]",
        }
    }

    /// The rows of this section.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        KEYS.iter().filter(move |key| key.section == self)
    }
}

/// The value of a key that nobody gave.
#[derive(Debug, Clone, Copy)]
pub enum KeyDefault {
    /// There is none: the key must be given.
    Required,
    /// This, in the notation of the file.
    Is(&'static str),
    /// It follows from other keys, or is nothing; the text says how.
    Derived(&'static str),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The table in which it stands.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// Kind, unit and range.
    pub domain: Domain,
    /// What it is when nobody says.
    pub default: KeyDefault,
    /// The key exists only where the key `kind` of the same table has this value. A name may have a row for each of several
    /// kinds.
    pub only: Option<&'static str>,
    /// Whether an `[[at]]` can change it.
    pub live: bool,
    /// Where name and default come from; empty if from quell itself.
    pub source: &'static str,
    /// What it does.
    pub help: &'static str,
    /// A line of a file that gives it, in the table that [`Section::heading`] names.
    pub example: &'static str,
    /// Where it works; elsewhere it is refused.
    pub worlds: &'static [World],
}

/// Worlds with modelled hosts.
const MODELLED: &[World] = &[World::Sim];
/// The worlds that start programs.
const PROGRAMS: &[World] = &[World::Virtual, World::Live];

/// A row with nothing special about it.
const fn key(
    section: Section,
    name: &'static str,
    domain: Domain,
    default: KeyDefault,
    help: &'static str,
    example: &'static str,
) -> Key {
    Key {
        section,
        name,
        domain,
        default,
        only: None,
        live: false,
        source: "",
        help,
        example,
        worlds: World::ALL,
    }
}

impl KeyDefault {
    /// In words: a value, or how it follows; `None` where the key must be given.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Required => None,
            Self::Is("") => Some("empty"),
            Self::Is(text) | Self::Derived(text) => Some(text),
        }
    }
}

impl Key {
    /// The heading in a file under which its example stands; empty at the top of the file.
    pub fn heading(&self) -> &'static str {
        match (self.section, self.name) {
            // Only where there are several.
            (Section::Link, "delay") => "[[link]]",
            (section, _) => section.heading(),
        }
    }

    /// The dotted path from the top of a file, as errors print it and `--set` takes it. `NAME` stands for the name of a
    /// group, `PERIOD` for a key of an application that is a period.
    pub fn path(&self) -> String {
        let table = match self.section {
            Section::Root => return self.name.to_owned(),
            Section::Link => "link",
            Section::Reverse => "link.reverse",
            Section::Trace => "link.rate",
            Section::Medium => "link.access",
            Section::Impair => "link.impair",
            Section::Remark => "link.remark",
            Section::Group => "group.NAME",
            Section::CongestionControl => "group.NAME.congestion-control",
            Section::Value => "group.NAME.value",
            Section::App => "group.NAME.app",
            Section::Interval => "group.NAME.app.interval",
            Section::Period => "group.NAME.app.PERIOD",
            Section::At => "at",
            Section::Run => "run",
        };
        format!("{table}.{}", self.name)
    }
}

use self::KeyDefault::{Derived, Is, Required};
use self::Section::{
    App, At, CongestionControl, Group, Impair, Interval, Link, Medium, Period, Remark, Reverse,
    Root, Run, Trace, Value,
};

const OVERHEAD: &str = "Bytes that the link adds to each IP packet when it serialises it; 14 equals tc's accounting on Ethernet.";
/// Of a queue discipline.
pub(super) const QUEUE: Domain = Domain::Table(
    "the name of a queue, or a table with its parameters: { kind = \"fifo\", limit = \"100ms\" }",
);
const PROBABILITY: Domain = Domain::Value(D::Fraction(0, 1_000_000, 1_000_000));
/// Of what happens behind the queue.
const IMPAIR: Domain =
    Domain::Table("a table such as { loss = 0.001, reorder = 0.01, jitter = \"1ms\" }");
const IMPAIR_HELP: &str =
    "What the path does to packets behind the queue: losses, reordering, jitter.";
/// Of the access to a medium.
const ACCESS: Domain = Domain::Table(
    "a table such as { packets = 32, time = \"4ms\", delay = \"100us\", backoff = \"1ms\" }",
);
const ACCESS_HELP: &str = "Access to a shared medium: the link waits for it, and then sends several packets at once, which arrive together. As Wi-Fi does it.";
const APP: Domain =
    Domain::Table("\"bulk\", or a table such as { kind = \"transfer\", size = \"1MB\" }");
const BINS: Domain = Domain::Value(BINS_PER_OCTAVE.domain);
const BINS_HELP: &str =
    "Codes of packet values for a factor of two of the value: how finely values are distinguished.";
const MPU: &str = "Smallest number of bytes that a packet occupies on the link.";

/// The key of an application that names a preset.
pub(crate) const PRESET: &str = "preset";

/// Every key there is, in the order in which a resolved scenario lists them.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    for key in OWN {
        if (key.section, key.name) == (App, "kind") {
            keys.push(kinds_of_applications(*key));
            keys.extend(KINDS.iter().filter_map(presets));
            keys.extend(KINDS.iter().flat_map(of_application));
        } else {
            keys.push(*key);
        }
    }
    keys
});

/// The row of `kind`, with what the kinds are.
fn kinds_of_applications(row: Key) -> Key {
    let each = KINDS.iter();
    let each: Vec<String> = each
        .map(|kind| format!("{}: {}.", kind.name, kind.summary))
        .collect();
    // Made once.
    let help = each.join(" ").leak();
    Key { help, ..row }
}

/// The parameters of a kind of application.
fn of_application(kind: &'static Entry) -> impl Iterator<Item = Key> {
    kind.parameters.iter().map(|row| Key {
        only: Some(kind.name),
        live: row.live,
        source: row.source,
        worlds: match kind.modelled {
            true => World::ALL,
            false => PROGRAMS,
        },
        ..key(
            App,
            row.name,
            Domain::Value(row.domain),
            match row.default {
                Preset::Required => Required,
                Preset::Is(text) => Is(text),
                Preset::By(other, _) => Derived(other),
                Preset::Derived(how) => Derived(how),
            },
            row.help,
            kind.example_of(row.name),
        )
    })
}

/// The key that names a preset of a kind which has some.
fn presets(kind: &'static Entry) -> Option<Key> {
    let first = kind.presets.first()?;
    let all = kind.presets.iter();
    let each = all.clone();
    let each: Vec<String> = each
        .map(|preset| format!("{}: {}.", preset.name, preset.summary))
        .collect();
    let names: Vec<&str> = all.map(|preset| preset.name).collect();
    let (kind, name) = (kind.name, first.name);
    let example = format!("app = {{ kind = \"{kind}\", preset = \"{name}\" }}");
    let help = format!(
        "Settings under one name, for parameters that are not given. {}",
        each.join(" ")
    );
    Some(Key {
        only: Some(kind),
        // Made once.
        ..key(
            App,
            PRESET,
            Domain::Value(D::Word(names.leak())),
            Derived("none"),
            help.leak(),
            example.leak(),
        )
    })
}

/// The keys but for the parameters of applications, which `quell-app` declares.
#[rustfmt::skip]
const OWN: &[Key] = &[
    key(Root, "schema", Domain::Value(D::Integer(SCHEMA, SCHEMA)), Required, "Format of this file.", "schema = 1"),
    key(Root, "name", Domain::Name, Required, "Name of the scenario; results carry it.", r#"name = "evening""#),
    key(Root, "description", Domain::Text, Is(""), "What the scenario shows, in a sentence.", r#"description = "Two downloads and a call share an access link.""#),
    key(Root, "link", Domain::Table("a table [link], or a list of tables [[link]] for several links in a row"), Required, "The bottleneck, or several links in a row from sender to receiver.", r#"link = { rate = "40mbit", queue = "dualpi2" }"#),
    key(Root, "value", Domain::Table("tables [value.NAME], one for each function"), Derived("no function of its own"), "Throughput-value functions of the scenario's own; quell values lists the kinds.", r#"value.premium = { kind = "linear", zero = "100mbit" }"#),
    key(Root, "group", Domain::Table("a list of tables [[group]]"), Required, "Flows that are alike.", r#"group = [{ name = "downloads", rtt = "20ms", app = "bulk" }]"#),
    key(Root, "at", Domain::Table("a list of tables [[at]]"), Derived("nothing changes"), "What changes during the run; each starts a phase of the summary.", r#"at = [{ time = "30s", set = { "link.rate" = "20mbit" } }]"#),
    key(Root, "run", Domain::Table("a table [run]"), Required, "How long, and with which randomness.", r#"run = { duration = "60s", warmup = "10s" }"#),
    Key { source: "ours", ..key(Link, "name", Domain::Word, Derived("link, or of several link1, link2 and so on"), "Name of the link, in results and in keys: link.NAME.rate.", r#"name = "wifi""#) },
    Key { live: true, ..key(Link, "rate", Domain::Rate(SLOWEST, FASTEST, None), Required, "Rate of the link in the forward direction.", r#"rate = "100mbit""#) },
    Key { source: "tc-stab(8)", ..key(Link, "overhead", Domain::Signed(-1_000, 1_000), Is("0"), OVERHEAD, "overhead = 18") },
    Key { source: "tc-stab(8)", ..key(Link, "mpu", bytes(Bytes::ZERO, MTU), Is("0B"), MPU, r#"mpu = "64B""#) },
    Key { source: "ours", ..key(Link, "bins-per-octave", BINS, Is("64"), BINS_HELP, "bins-per-octave = 32") },
    key(Link, "access", ACCESS, Derived("the link is always free to send"), ACCESS_HELP, r#"access = { packets = 32, time = "4ms", backoff = "1ms" }"#),
    key(Link, "impair", IMPAIR, Derived("nothing happens"), IMPAIR_HELP, r#"impair = { loss = 0.001, jitter = "1ms" }"#),
    Key { source: "ours", ..key(Link, "delay", time(Time::ZERO, Time::from_secs(5)), Is("0s"), "Delay between this link and the next one of a packet's way, in either direction: a part of the groups' base RTT. Only where there are several links.", r#"delay = "2ms""#) },
    Key { source: "ICC 2019 (10.1109/ICC.2019.8761720), P4 remarker of ELTE", ..key(Link, "remark", Domain::Table("a list of networks such as { groups = [\"a\", \"b\"], function = \"silver\" }"), Derived("packets keep the values that they have"), "Networks whose packets get new values where they come to the link: all data of a network together get those of its function, and what was worth more within it stays worth more.", r#"remark = [{ groups = ["downloads"], function = "silver" }]"#) },
    Key { source: "ours", ..key(Link, "values", Domain::Value(D::Word(Carried::WORDS)), Is("beside"), "How packets carry their values on from here, in either direction. beside: in the program, beside the packet. header: in the packet's own header, as between two machines, in the identification of IPv4 or the flow label of IPv6; the next link reads it there and knows nothing else, and a packet that cannot carry a value (IPv4 that may be fragmented) comes there without one.", r#"values = "header""#) },
    key(Link, "queue", QUEUE, Required, "Queue discipline of the forward direction, with its parameters.", r#"queue = { kind = "dualpi2", target = "15ms" }"#),
    key(Link, "reverse", Domain::Table("a table [link.reverse]"), Derived("unlimited"), "The other direction.", r#"reverse = { rate = "20mbit", queue = "fq_codel" }"#),
    Key { live: true, ..key(Reverse, "rate", Domain::Rate(SLOWEST, FASTEST, Some(Rate::UNLIMITED)), Is("unlimited"), "Rate of the link in the reverse direction.", r#"rate = "20mbit""#) },
    Key { source: "tc-stab(8)", ..key(Reverse, "overhead", Domain::Signed(-1_000, 1_000), Is("0"), OVERHEAD, "overhead = 18") },
    Key { source: "tc-stab(8)", ..key(Reverse, "mpu", bytes(Bytes::ZERO, MTU), Is("0B"), MPU, r#"mpu = "64B""#) },
    Key { source: "ours", ..key(Reverse, "bins-per-octave", BINS, Is("64"), BINS_HELP, "bins-per-octave = 32") },
    key(Reverse, "access", ACCESS, Derived("the link is always free to send"), ACCESS_HELP, r#"access = { packets = 32, time = "4ms", backoff = "1ms" }"#),
    key(Reverse, "impair", IMPAIR, Derived("nothing happens"), IMPAIR_HELP, r#"impair = { loss = 0.001, jitter = "1ms" }"#),
    key(Reverse, "queue", QUEUE, Derived("\"fifo\""), "Queue discipline of the reverse direction, with its parameters.", r#"queue = { kind = "pie", target = "10ms" }"#),
    key(Remark, "groups", Domain::Table("a list of names of groups that cross the link and have values"), Required, "Groups whose data comes from the network, in whichever direction.", r#"remark = [{ groups = ["downloads"], function = "gold" }]"#),
    key(Remark, "function", Domain::Word, Required, "Worth of the marginal bit by the rate of the whole network: a throughput-value function.", r#"remark = [{ groups = ["downloads"], function = "background" }]"#),
    Key { source: "ours, as the time constant of markers; the P4 remarker has 10 ms", ..key(Remark, "period", time(Time::from_millis(1), Time::from_secs(10)), Is("100ms"), "Over which the rates of the network are measured. A short one takes from a network whose traffic comes in bursts.", r#"remark = [{ groups = ["downloads"], function = "gold", period = "10ms" }]"#) },
    key(Impair, "loss", PROBABILITY, Is("0"), "Probability that a packet is lost behind the queue; with enter, while the path is good.", "impair = { loss = 0.001 }"),
    Key { source: "Gilbert 1960, Elliott 1963", ..key(Impair, "enter", PROBABILITY, Is("0"), "Probability at each packet that a good path becomes bad.", "impair = { enter = 0.001, leave = 0.2 }") },
    Key { source: "Gilbert 1960, Elliott 1963", ..key(Impair, "leave", PROBABILITY, Is("0.1"), "Probability at each packet that a bad path becomes good: it stays bad for 1 / leave packets on average.", "impair = { enter = 0.001, leave = 0.2 }") },
    Key { source: "Gilbert 1960, Elliott 1963", ..key(Impair, "bad", PROBABILITY, Is("1"), "Probability that a packet is lost while the path is bad.", "impair = { enter = 0.001, bad = 0.5 }") },
    key(Impair, "reorder", PROBABILITY, Is("0"), "Share of packets that are held back, so that others overtake them.", r#"impair = { reorder = 0.01, hold = "2ms" }"#),
    key(Impair, "hold", time(Time::ZERO, Time::from_secs(10)), Is("5ms"), "How long they are held back.", r#"impair = { reorder = 0.01, hold = "2ms" }"#),
    key(Impair, "jitter", time(Time::ZERO, Time::from_secs(10)), Is("0s"), "Longest random delay behind the queue, uniform from zero. Packets keep their order.", r#"impair = { jitter = "1ms" }"#),
    key(Trace, "trace", Domain::Text, Derived("data holds the trace"), "Name of a file with a trace of the link, beside the scenario, in a format of format. Results hold what was read.", r#"rate = { trace = "lte.csv" }"#),
    key(Trace, "data", Domain::Text, Derived("trace names the file"), "The text of a trace, instead of a file.", r#"rate = { data = "time_s,rate_mbps\n0,12\n1,6\n" }"#),
    key(Trace, "format", Domain::Value(D::Word(&["csv", "pensieve", "rates", "mahimahi", "iperf3", "netem-trace"])), Derived("told by the content; what could be another one is refused"), "Format of the trace. csv: times and rates from then on, with a header. pensieve: seconds and Mbit/s until then, without one. rates: one rate in each line. mahimahi: milliseconds of chances. iperf3: the report of iperf3 --json. netem-trace: patterns in JSON.", r#"rate = { trace = "lte.csv", format = "csv" }"#),
    key(Trace, "unit", Domain::Value(D::Word(&["bit", "kbit", "mbit", "gbit"])), Derived("each line has its own"), "Of format rates: the unit of all lines, a second.", r#"rate = { data = "5000\n20\n", format = "rates", unit = "kbit", interval = "1s" }"#),
    key(Trace, "interval", time(Time::from_millis(1), DAY), Derived("must be given with format rates"), "Of format rates, which it implies: how long each rate lasts.", r#"rate = { data = "5mbit\n800kbit\n", interval = "500ms" }"#),
    key(Trace, "mode", Domain::Value(D::Word(&["rate", "opportunities"])), Derived("what the trace holds: opportunities for mahimahi, else rate"), "How the link follows the trace. rate: it sends at the rate of the moment. opportunities: it sends when it has a chance, and what nobody uses is lost. A trace of the other kind is converted.", r#"rate = { trace = "lte.csv", mode = "opportunities" }"#),
    key(Trace, "repeat", Domain::Value(D::Flag), Is("true"), "Whether the trace starts again at its end. Otherwise the last rate stays, or there are no chances any more.", r#"rate = { trace = "lte.csv", repeat = false }"#),
    key(Trace, "offset", time(Time::ZERO, DAY), Is("0s"), "Where in the trace the run starts.", r#"rate = { trace = "lte.csv", offset = "2s" }"#),
    key(Trace, "scale", Domain::Value(D::Fraction(1, 1_000_000, 1_000)), Is("1"), "Factor of all rates, or of the bytes of a chance, in thousandths.", r#"rate = { trace = "lte.csv", scale = 0.5 }"#),
    Key { source: "mahimahi link_queue.cc", ..key(Trace, "framing", Domain::Value(D::Word(&["ip", "mahimahi"])), Is("ip"), "What counts against a chance. ip: 1500 bytes of IP packets and the link's overhead. mahimahi: 1504 bytes, and 4 more for each packet.", r#"rate = { trace = "lte.csv", mode = "opportunities", framing = "mahimahi" }"#) },
    Key { source: "IEEE 802.11-2020 A-MPDU", ..key(Medium, "packets", Domain::Value(D::Integer(1, 1_024)), Is("64"), "The most packets that the link sends at one access.", r#"access = { packets = 32 }"#) },
    Key { source: "IEEE 802.11-2020 aPPDUMaxTime", ..key(Medium, "time", time(Time::from_nanos(1), Time::from_secs(1)), Is("5.484ms"), "How long one access lasts at most. A packet joins while a full-sized one would still fit; the first always does.", r#"access = { time = "2ms" }"#) },
    Key { source: "ours", ..key(Medium, "delay", time(Time::ZERO, Time::from_secs(1)), Is("100us"), "Fixed time before each access, and for what follows it: interframe space, preamble, acknowledgement.", r#"access = { delay = "200us" }"#) },
    Key { source: "IEEE 802.11-2020 CWmin", ..key(Medium, "backoff", time(Time::ZERO, Time::from_secs(1)), Is("135us"), "The longest random time before each access beside the fixed one, uniform from zero: 15 slots of 9 us on a quiet medium, more where others send.", r#"access = { backoff = "2ms" }"#) },
    key(Group, "name", Domain::Word, Required, "Name of the group; results, --set and [[at]] use it.", r#"name = "downloads""#),
    Key { live: true, ..key(Group, "count", Domain::Value(D::Integer(0, MOST_FLOWS)), Is("1"), "Number of flows. 0 is allowed where an [[at]] changes it; flows stop newest first.", "count = 4") },
    key(Group, "congestion-control", Domain::Table("the name of a congestion control, or a table with its options: { name = \"cubic\", beta = 0.8 }"), Derived("cubic, where the application uses TCP"), "Congestion control of the senders.", r#"congestion-control = "dctcp""#),
    key(Group, "ecn", Domain::Value(D::Word(&["off", "ect0", "ect1"])), Derived("what the control declares (quell cc), else off"), "ECN field of the data packets; ect1 claims L4S (RFC 9331).", r#"ecn = "ect1""#),
    key(Group, "rtt", time(Time::ZERO, Time::from_secs(10)), Required, "Base RTT, without queueing: half of it in each direction, after the queue.", r#"rtt = "20ms""#),
    key(Group, "app", APP, Required, "Application: what the flows send.", r#"app = "bulk""#),
    key(Group, "direction", Domain::Value(D::Word(&["forward", "reverse"])), Is("forward"), "Direction of the data: which of the link's two queues it crosses.", r#"direction = "reverse""#),
    Key { source: "ours", ..key(Group, "path", Domain::Table("a list of names of links that follow one another, such as [\"wifi\", \"access\"]"), Derived("all links"), "Links that the packets of the group cross, in both directions. Only where there are several.", r#"path = ["link"]"#) },
    key(Group, "start", time(Time::ZERO, DAY), Is("0s"), "When the flows start.", r#"start = "5s""#),
    key(Group, "stop", time(Time::from_nanos(1), DAY), Derived("the end of the run"), "When the flows stop.", r#"stop = "25s""#),
    Key { worlds: MODELLED, ..key(Group, "access-rate", Domain::Rate(SLOWEST, FASTEST, Some(Rate::UNLIMITED)), Is("unlimited"), "Rate of each sender's own link, which its packets cross one by one in front of the queue.", r#"access-rate = "100mbit""#) },
    Key { source: "Per Packet Value", ..key(Group, "value", Domain::Table("the name of a throughput-value function, \"none\", or a table with a marker: { function = \"gold\", marker = \"token_bucket\" }"), Derived("gold where the queue looks at packet values, else none"), "What the packets of the data are worth to a queue that looks at packet values.", r#"value = "silver""#) },
    Key { source: "Linux sk_pacing_rate", ..key(Group, "pacing", Domain::Value(D::Flag), Derived("as the congestion control does"), "Whether TCP senders pace: at 200 % of a window per RTT in slow start, at 120 % afterwards.", "pacing = true") },
    Key { source: "Linux tcp_tso_autosize", ..key(Group, "gso", Domain::Value(D::Flag), Is("true"), "Whether TCP senders use segmentation offload: about a millisecond's worth leaves at once, in bursts of full-sized packets.", "gso = false") },
    Key { source: "RFC 6928, Linux initcwnd", ..key(Group, "initial-window", Domain::Value(D::Integer(1, 1_000)), Is("10"), "Initial congestion window of TCP senders, in segments; also what a window shrinks to after idle time.", "initial-window = 3") },
    Key { source: "RFC 9293 section 3.7.1, Linux advmss", ..key(Group, "mss", bytes(LEAST_MSS, MOST_MSS), Is("1460B"), "Maximum segment size of TCP: a full packet is 40 bytes longer, and 12 bytes of it are the timestamp.", r#"mss = "536B""#) },
    key(CongestionControl, "name", Domain::Word, Is(DEFAULT_CONTROL), "Name of the congestion control.", r#"congestion-control = { name = "cubic", hystart = true }"#),
    key(Value, "function", Domain::Table("the name of a throughput-value function, or a list of them for a marker of several timescales"), Derived("gold"), "Worth of the marginal bit by the rate of a flow.", r#"value = { function = "gold", marker = "token_bucket" }"#),
    key(Value, "marker", Domain::Word, Derived("random"), "What gives each packet its value; quell values lists the kinds with their parameters.", r#"value = { function = "gold", marker = "random" }"#),
    key(App, "kind", Domain::Value(D::Word(quell_app::NAMES)), Required, "Kind of application.", r#"app = { kind = "bulk" }"#),
    key(Interval, "mean", time(Time::from_micros(10), Time::from_secs(60)), Required, "Mean time between datagrams.", r#"app = { kind = "cbr", size = "200B", interval = { mean = "20ms" } }"#),
    key(Interval, "stddev", time(Time::ZERO, Time::from_secs(60)), Is("0s"), "Standard deviation of the time between datagrams.", r#"app = { kind = "cbr", size = "200B", interval = { mean = "20ms", stddev = "1ms" } }"#),
    key(Period, "mean", time(Time::ZERO, DAY), Required, "Mean length.", r#"app = { kind = "transfer", size = "100kB", repeat = { mean = "2s" } }"#),
    key(Period, "distribution", Domain::Value(D::Word(&[Distribution::ALL[0].name(), Distribution::ALL[1].name()])), Is("fixed"), "How single lengths deviate from the mean.", r#"app = { kind = "transfer", size = "100kB", repeat = { mean = "2s", distribution = "exponential" } }"#),
    key(At, "time", time(Time::from_nanos(1), DAY), Required, "When.", r#"time = "30s""#),
    key(At, "repeat", time(Time::from_millis(1), DAY), Derived("the change happens once"), "The change happens again each time so much later, until the end of the run.", r#"repeat = "20s""#),
    key(At, "phase", Domain::Value(D::Flag), Derived("true, or false for a change that repeats"), "Whether a phase of the summary starts with the change.", r#"phase = false"#),
    key(At, "set", Domain::Table("a table such as { \"link.rate\" = \"20mbit\" }"), Required, "New values, each under its dotted key.", r#"set = { "link.rate" = "20mbit", "group.downloads.count" = 8 }"#),
    key(Run, "duration", time(Time::from_millis(1), DAY), Required, "How long, with the warm-up.", r#"duration = "60s""#),
    key(Run, "warmup", time(Time::ZERO, DAY), Is("0s"), "What is left out of all figures at the start.", r#"warmup = "10s""#),
    key(Run, "settle", time(Time::ZERO, DAY), Is("0s"), "What is left out of each phase's figures at its start.", r#"settle = "2s""#),
    key(Run, "interval", time(Time::from_millis(1), Time::from_secs(3_600)), Is("100ms"), "Time between rows of the series.", r#"interval = "50ms""#),
    key(Run, "seeds", Domain::Seeds, Is("[1]"), "Seeds of the randomness: one result each, and their mean with its standard error.", "seeds = [1, 2, 3]"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(!key.help.is_empty(), "{}", key.name);
            let twin = KEYS[..index].iter().any(|other| {
                (other.section, other.name) == (key.section, key.name)
                    && (other.only.is_none() || other.only == key.only)
            });
            assert!(!twin, "{:?}.{} appears twice", key.section, key.name);
            if let (KeyDefault::Is(text), false) =
                (key.default, matches!(key.domain, Domain::Seeds))
            {
                assert!(key.domain.parse(text).is_some(), "{}", key.name);
            }
        }
        for section in Section::ALL {
            assert!(section.keys().next().is_some(), "{section:?}");
        }
    }
}
