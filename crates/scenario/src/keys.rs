//! Every key of a scenario, in one table.
//!
//! Checks, suggestions, defaults, JSON Schema, `--set`, `[[at]]` and the documentation come from here; the parameters of
//! applications come from the tables of `quell-app`, those of queues, markers and throughput-value functions from `quell-aqm`, the options of congestion controls from
//! those of `quell-tcp`. Every key has an effect in some world.

use std::slice::from_ref;
use std::sync::LazyLock;

use quell_app::{Distribution, Entry, Interval, KINDS, MAX_DATAGRAM, Period};
use quell_aqm::impair::rules::Rule;
use quell_aqm::medium::Medium;
use quell_units::parameter::{Domain as D, Preset};
use quell_units::{Bytes, Rate, Time};

use super::domain::{Domain, time};
pub use super::section::{Key, KeyDefault, Section};
use super::view::Keys as _;
use super::written::{Field, Written};
use crate::world::World;
use crate::{DirectionSpec, Expect, Group, ImpairSpec, Network, ReceiverSpec, Run, Scenario};

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
pub(crate) const LEAST_MSS: Bytes = Bytes::new(256);
/// The control of TCP flows that name none: Linux's default.
pub const DEFAULT_CONTROL: &str = "cubic";
/// The most groups.
pub const MOST_GROUPS: usize = 64;
pub(crate) const SLOWEST: Rate = Rate::from_bps(1_000);
pub(crate) const FASTEST: Rate = Rate::from_mbps(1_000_000);
pub(crate) const DAY: Time = Time::from_secs(86_400);

/// Worlds with modelled hosts.
pub(crate) const MODELLED: &[World] = &[World::Sim];
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
        domain,
        default,
        example,
        ..Key::new(section, name, help)
    }
}

impl Section {
    /// The rows of this section.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        rows(self).iter()
    }
}

/// The rows of a section.
pub(crate) fn rows(section: Section) -> &'static [Key] {
    let mut of_section = KEYS.chunk_by(|one, next| one.section == next.section);
    of_section
        .find(|rows| rows[0].section == section)
        .unwrap_or_default()
}

use self::KeyDefault::{Derived, Is, Required};
use self::Section::{App, At, CongestionControl, Root, Trace, Value};

/// The domain of a queue discipline.
pub(super) const QUEUE: Domain = Domain::Table(
    "the name of a queue, or a table with its parameters: { kind = \"fifo\", limit = \"100ms\" }",
);
pub(crate) const APP: Domain =
    Domain::Table("\"bulk\", or a table such as { kind = \"transfer\", size = \"1MB\" }");

/// The key of an application that names a preset.
pub(crate) const PRESET: &str = "preset";

/// Every key there is, in the order in which a resolved scenario lists them.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    for key in OWN.iter().copied().flatten() {
        if (key.section, key.name) == (App, "kind") {
            keys.push(kinds_of_applications(*key));
            keys.extend(KINDS.iter().filter_map(presets));
            keys.extend(KINDS.iter().flat_map(parameters_of));
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
fn parameters_of(kind: &'static Entry) -> impl Iterator<Item = Key> {
    kind.parameters.iter().map(|row| Key {
        only: Some(kind.name),
        live: row.live,
        source: row.source,
        worlds: if kind.modelled { World::ALL } else { PROGRAMS },
        domain: Domain::Value(row.domain),
        default: match row.default {
            Preset::Required => Required,
            Preset::Is(text) => Is(text),
            Preset::By(how, _) | Preset::Derived(how) => Derived(how),
        },
        example: kind.example_of(row.name),
        ..Key::new(App, row.name, row.help)
    })
}

/// The key that names a preset of a kind which has some.
fn presets(kind: &'static Entry) -> Option<Key> {
    let first = kind.presets.first()?;
    let names: Vec<&str> = kind.presets.iter().map(|preset| preset.name).collect();
    let mut help = "Settings under one name, for parameters that are not given.".to_owned();
    for preset in kind.presets {
        help += &format!(" {}: {}.", preset.name, preset.summary);
    }
    let (kind, name) = (kind.name, first.name);
    let example = format!("app = {{ kind = \"{kind}\", preset = \"{name}\" }}");
    Some(Key {
        only: Some(kind),
        // Made once.
        domain: Domain::Value(D::Word(names.leak())),
        default: Derived("none"),
        example: example.leak(),
        ..Key::new(App, PRESET, help.leak())
    })
}

/// The keys but for the parameters of applications, which `quell-app` declares.
const OWN: &[&[Key]] = {
    let ([name, of_link @ .., reverse], [of_side @ .., queue]) =
        (crate::Link::ROWS, DirectionSpec::ROWS)
    else {
        panic!()
    };
    &[
        &[SCHEMA_KEY],
        Scenario::ROWS,
        from_ref(name),
        of_side,
        of_link,
        from_ref(queue),
        from_ref(reverse),
        DirectionSpec::TABLES[1],
        Network::ROWS,
        ImpairSpec::ROWS,
        Rule::ROWS,
        TRACE,
        Medium::ROWS,
        Group::ROWS,
        from_ref(&NAME_OF_CONTROL),
        ReceiverSpec::ROWS,
        OF_GROUPS,
        Interval::ROWS,
        Period::ROWS,
        AT,
        Expect::ROWS,
        Run::ROWS,
    ]
};

/// The only key of a file that is no part of the scenario.
#[rustfmt::skip]
const SCHEMA_KEY: Key = key(Root, "schema", Domain::Value(D::Integer(SCHEMA, SCHEMA)), Required, "Format of this file.", "schema = 1");

/// `rate = { … }`
#[rustfmt::skip]
const TRACE: &[Key] = &[
    key(Trace, "trace", Domain::Text, Derived("data holds the trace"), "Name of a file with a trace of the link, beside the scenario, in a format of format. Results hold what was read.", r#"rate = { trace = "lte.csv" }"#),
    key(Trace, "data", Domain::Text, Derived("trace names the file"), "The text of a trace, instead of a file.", r#"rate = { data = "time_s,rate_mbps\n0,12\n1,6\n" }"#),
    key(Trace, "format", Domain::Value(D::Word(&["csv", "pensieve", "rates", "mahimahi", "iperf3", "netem-trace", "delays"])), Derived("recognised from the content; a text that fits several formats is refused"), "Format of the trace. csv: times and rates from then on, with a header. pensieve: seconds and Mbit/s until then, without one. rates: one rate in each line. delays: one delay in each line, in ms one way. mahimahi: milliseconds of chances. iperf3: the report of iperf3 --json. netem-trace: patterns in JSON.", r#"rate = { trace = "lte.csv", format = "csv" }"#),
    key(Trace, "unit", Domain::Value(D::Word(&["bit", "kbit", "mbit", "gbit"])), Derived("each line has its own"), "Of format rates: the unit of all lines, a second.", r#"rate = { data = "5000\n20\n", format = "rates", unit = "kbit", interval = "1s" }"#),
    key(Trace, "interval", time(Time::from_millis(1), DAY), Derived("must be given with formats rates and delays"), "Of formats rates, which it implies, and delays: how long each line lasts.", r#"rate = { data = "5mbit\n800kbit\n", interval = "500ms" }"#),
    key(Trace, "mode", Domain::Value(D::Word(&["rate", "opportunities"])), Derived("what the trace holds: opportunities for mahimahi, else rate"), "How the link follows the trace. rate: it sends at the rate of the moment. opportunities: it sends when it has a chance, and what nobody uses is lost. A trace of the other kind is converted.", r#"rate = { trace = "lte.csv", mode = "opportunities" }"#),
    key(Trace, "repeat", Domain::Value(D::Flag), Is("true"), "Whether the trace starts again at its end. Otherwise the last rate stays, or there are no chances any more.", r#"rate = { trace = "lte.csv", repeat = false }"#),
    key(Trace, "offset", time(Time::ZERO, DAY), Is("0s"), "Where in the trace the run starts.", r#"rate = { trace = "lte.csv", offset = "2s" }"#),
    key(Trace, "scale", Domain::Value(D::Fraction(1, 1_000_000, 1_000)), Is("1"), "Factor of all rates, or of the bytes of a chance, in thousandths.", r#"rate = { trace = "lte.csv", scale = 0.5 }"#),
    Key { source: "mahimahi link_queue.cc", ..key(Trace, "framing", Domain::Value(D::Word(&["ip", "mahimahi"])), Is("ip"), "What counts against a chance. ip: 1500 bytes of IP packets and the link's overhead. mahimahi: 1504 bytes, and 4 more for each packet.", r#"rate = { trace = "lte.csv", mode = "opportunities", framing = "mahimahi" }"#) },
];

/// The tables within a group.
#[rustfmt::skip]
const NAME_OF_CONTROL: Key =
    key(CongestionControl, "name", Domain::Word, Is(DEFAULT_CONTROL), "Name of the congestion control.", r#"congestion-control = { name = "cubic", hystart = true }"#);
#[rustfmt::skip]
const OF_GROUPS: &[Key] = &[
    key(Value, "function", Domain::Table("the name of a throughput-value function, or a list of them for a marker of several timescales"), Derived("gold"), "Worth of the marginal bit by the rate of a flow.", r#"value = { function = "gold", marker = "token_bucket" }"#),
    key(Value, "marker", Domain::Word, Derived("random"), "What gives each packet its value; quell values lists the kinds with their parameters.", r#"value = { function = "gold", marker = "random" }"#),
    key(App, "kind", Domain::Value(D::Word(quell_app::NAMES)), Required, "Kind of application.", r#"app = { kind = "bulk" }"#),
];

/// `[[at]]`
#[rustfmt::skip]
const AT: &[Key] = &[
    key(At, "time", time(Time::from_nanos(1), DAY), Required, "When.", r#"time = "30s""#),
    key(At, "repeat", time(Time::from_millis(1), DAY), Derived("the change happens once"), "The change happens again each time so much later, until the end of the run.", r#"repeat = "20s""#),
    key(At, "phase", Domain::Value(D::Flag), Derived("true, or false for a change that repeats"), "Whether a phase of the summary starts with the change.", r#"phase = false"#),
    key(At, "set", Domain::Table("a table such as { \"link.rate\" = \"20mbit\" }"), Required, "New values, each under its dotted key. Of two of a key at one time the later in the file counts.", r#"set = { "link.rate" = "20mbit", "group.downloads.count" = 8 }"#),
];

keys! {
    impl Medium in Medium {
        /// The most packets that the link sends at one access.
        packets: u32 = { default: Is("64"), domain: Domain::Value(D::Integer(1, 1_024)), source: "IEEE 802.11-2020 A-MPDU", example: r#"access = { packets = 32 }"#, }
        /// How long one access lasts at most. A packet joins while a full-sized one would still fit; the first always does.
        time: Time = { default: Is("5.484ms"), domain: time(Time::from_nanos(1), Time::from_secs(1)), source: "IEEE 802.11-2020 aPPDUMaxTime", example: r#"access = { time = "2ms" }"#, }
        /// Fixed time before each access, and for what follows it. Interframe space, preamble, acknowledgement.
        delay: Time = { default: Is("100us"), domain: time(Time::ZERO, Time::from_secs(1)), source: "ours", example: r#"access = { delay = "200us" }"#, }
        /// The longest random time before each access beside the fixed one, uniform from zero. 15 slots of 9 us on a quiet medium, more where others send.
        backoff: Time = { default: Is("135us"), domain: time(Time::ZERO, Time::from_secs(1)), source: "IEEE 802.11-2020 CWmin", example: r#"access = { backoff = "2ms" }"#, }
    }
}

impl Field for Medium {
    fn written(&self) -> Option<Written> {
        Some(Written::alike(self.inline()))
    }
}

keys! {
    impl Period in Period {
        /// Mean length.
        mean: Time = { default: Required, domain: time(Time::ZERO, DAY), example: r#"app = { kind = "transfer", size = "100kB", repeat = { mean = "2s" } }"#, }
        /// How single lengths deviate from the mean.
        distribution: Distribution = { default: Is("fixed"), domain: Domain::Value(D::Word(const { &[Distribution::ALL[0].name(), Distribution::ALL[1].name()] })), example: r#"app = { kind = "transfer", size = "100kB", repeat = { mean = "2s", distribution = "exponential" } }"#, }
    }
}

keys! {
    impl Interval in Interval {
        /// Mean time between datagrams.
        mean: Time = { default: Required, domain: time(Time::from_micros(10), Time::from_secs(60)), example: r#"app = { kind = "cbr", size = "200B", interval = { mean = "20ms" } }"#, }
        /// Standard deviation of the time between datagrams.
        stddev: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(60)), example: r#"app = { kind = "cbr", size = "200B", interval = { mean = "20ms", stddev = "1ms" } }"#, }
    }
}

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
