//! The web: items on connections of their own, as a user feels them beside downloads.
//!
//! `model = "items"` is the browsing of the L4S demonstration: items of random size arrive at random
//! times, whatever became of those before. Each is a TCP connection that the user's end opens. The
//! server sends the item as soon as it has accepted the connection, and closes; there is no request.
//! So on an idle path a small item takes two base RTTs from the SYN to the end of the file. With
//! `request` or `tls` connections carry messages: a request says how much is to be answered.
//!
//! Number n of a flow's connections carries the item of size n, drawn from the flow's stream and n
//! alone, so both ends know it, and a lost SYN shifts nothing. Arrival times come from a stream of
//! their own: another law of sizes leaves them as they are, and the reverse.

mod items;
mod report;

use quell_units::parameter::{Domain, Preset, Value};
use quell_units::{Bytes, Parameter, Random, Rate, Settings, Sizes, Time, parameters, words};

use crate::exchange::{self, Server, Tls};
use crate::kind::DAY;
use crate::laws::NumberedSizes;
use crate::{
    Action, Application, ApplicationKind, Data, Event, EventInfo, Input, Path, PresetSettings,
    Role, Session,
};

pub use items::Client;
pub use report::{BySize, ItemsReport, RANGES};

/// Parts of an item per second in [`Web::rate`].
const PARTS: u64 = 1_000_000;
/// The link for which the demonstration's rates were meant.
const DEMO_LINK: Rate = Rate::from_mbps(40);

words! {
    /// What a user does.
    pub enum Model {
        /// Single items at random times.
        Items = "items",
    }
}

words! {
    /// Which connection carries an item.
    pub enum Connection {
        /// One of its own.
        New = "new",
        /// The flow's only one, one item after the other.
        Kept = "kept",
    }
}

parameters! {
    /// The parameters of the web.
    pub struct Parameters {
        model: Model = Parameter {
            domain: Model::DOMAIN,
            default: Preset::Is("items"),
            help: "What a user does: items arrive at random times, whatever became of those before.",
            ..Parameter::FIXED
        },
        rate: u64 = Parameter {
            domain: Domain::Fraction(0, 10_000 * PARTS, PARTS),
            default: Preset::Is("10"),
            only: ITEMS,
            help: "Items per second and flow, on average.",
            source: DEMO,
            ..Parameter::FIXED
        },
        scale_with_link: bool = Parameter {
            name: "scale-with-link",
            only: ITEMS,
            help: "Take the rate for a link of 40 Mbit/s, and change it in proportion to the link's. The resolved scenario has the rate that results.",
            source: DEMO,
            ..Parameter::FIXED
        },
        size: Sizes = Parameter {
            domain: Domain::Sizes(1, MOST_BYTES),
            default: Preset::Is(r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#),
            only: ITEMS,
            help: "Payload of an item.",
            source: DEMO,
            ..Parameter::FIXED
        },
        connection: Connection = Parameter {
            domain: Connection::DOMAIN,
            default: Preset::Is("new"),
            only: ITEMS,
            help: "Each item on a new connection, which the server closes; or all on one that is kept, where an item waits for those before it.",
            ..Parameter::FIXED
        },
        max_concurrent: u32 = Parameter {
            name: "max-concurrent",
            domain: Domain::Integer(1, Session::MOST as u64),
            default: Preset::Is("10000"),
            only: ITEMS,
            help: "Most items of a flow at once; one that arrives beyond is refused, and counted.",
            ..Parameter::FIXED
        },
        request: Bytes = Parameter {
            source: DEMO,
            ..exchange::request(
                Preset::Is("0B"),
                "Request, headers included, at least 24 B. Without one the server sends as soon as the connection is up; where the size must be told all the same, that takes 24 B.",
            )
        },
        tls: Tls = Tls::parameter(Preset::Is("none")),
        ideal_rate: Option<Rate> = Parameter {
            name: "ideal-rate",
            domain: Domain::Rate(Rate::from_bps(1_000), Rate::from_mbps(1_000_000)),
            default: Preset::Derived("the link's at the start, in the direction of the data"),
            help: "Rate that normalised completion times assume: (size / rate + 2 RTT) / completion.",
            source: "Briscoe et al.: evaluation of DualQ Coupled AQM",
            ..Parameter::FIXED
        },
        ideal_rtt: Option<Time> = Parameter {
            name: "ideal-rtt",
            domain: Domain::Time(Time::from_nanos(1), DAY),
            default: Preset::Derived("the group's base RTT"),
            help: "RTT that normalised completion times assume.",
            source: "Briscoe et al.: evaluation of DualQ Coupled AQM",
            ..Parameter::FIXED
        },
    }
}

const ITEMS: Option<(&str, &str)> = Some(("model", "items"));
const DEMO: &str = "L4S demonstration (l4sdemo)";
const MOST_BYTES: u64 = Sizes::MOST.get();

/// Items of the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Web {
    /// Items per second, in millionths.
    pub rate: u64,
    /// Payload of an item; 1 GB at most.
    pub size: Sizes,
    /// Which connection carries an item.
    pub connection: Connection,
    /// Most items at once, from 1 to [`Session::MOST`].
    pub max_concurrent: u32,
    /// Length of a request; 0 for none.
    pub request: Bytes,
    /// Handshake after that of TCP.
    pub tls: Tls,
    /// What completion times are compared with; `None` where that is unknown.
    pub ideal: Option<Path>,
}

impl Web {
    /// Whether connections carry messages.
    fn is_framed(&self) -> bool {
        self.request.get() > 0 || self.tls != Tls::None || self.connection == Connection::Kept
    }
}

impl ApplicationKind for Web {
    const NAME: &'static str = "web";
    const SUMMARY: &'static str =
        "items of the web, which arrive at random times on connections that the user's end opens";
    const EXAMPLE: &'static str = r#"app = { kind = "web", model = "items", rate = 10, scale-with-link = true, size = { pareto = 0.9, min = "1kB", max = "1MB" }, connection = "new", max-concurrent = 1000, request = "350B", tls = "1.3", ideal-rate = "10mbit", ideal-rtt = "20ms" }"#;
    const PRESETS: &'static [PresetSettings] = &[
        PresetSettings {
            name: "l4s-demo",
            summary: "browsing of the L4S demonstration: 10 items/s at 40 Mbit/s, Pareto 0.9 from 1 kB to 1 MB",
            settings: &[
                ("model", "items"),
                ("rate", "10"),
                ("size", r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#),
            ],
        },
        PresetSettings {
            name: "ccafct",
            summary: "flow completion times of heistp/ccafct: 5 items/s, log-normal, 64 KiB (P5) to 2 MiB (P95)",
            settings: &[("model", "items"), ("rate", "5"), ("size", CCAFCT_SIZES)],
        },
        PresetSettings {
            name: "antler",
            summary: "flow completion times of heistp/antler at 100 Mbit/s: 20 items/s, sizes of ccafct",
            settings: &[("model", "items"), ("rate", "20"), ("size", CCAFCT_SIZES)],
        },
    ];
    const EVENTS: &'static [EventInfo] = &[EventInfo {
        kind: "item",
        meaning: "An item, from the request for its connection (of a kept one: from its arrival) to the end of the file.",
        value: "ns from its start until its connection was up",
    }];
    type Parameters = Parameters;
    type End = End;
    type Report = ItemsReport;

    fn new(parameters: Parameters) -> Self {
        let Model::Items = parameters.model;
        // It has been taken into the rate, where the link has one.
        let _ = parameters.scale_with_link;
        let ideal = parameters.ideal_rate.zip(parameters.ideal_rtt);
        Self {
            rate: parameters.rate,
            size: parameters.size,
            connection: parameters.connection,
            max_concurrent: parameters.max_concurrent,
            request: parameters.request,
            tls: parameters.tls,
            ideal: ideal.map(|(rate, rtt)| Path { rate, rtt }),
        }
    }
    fn settle(settings: &mut Settings, path: &Path) {
        let is_known = !path.rate.is_unlimited() && !path.rate.is_zero();
        let scale = settings.value("scale-with-link") == Some(Value::Flag(true));
        if let (true, true, Some(Value::Fraction(rate, _))) =
            (scale, is_known, settings.value("rate"))
        {
            give(
                settings,
                "rate",
                Value::Fraction(scaled(rate, path.rate), PARTS),
            );
            give(settings, "scale-with-link", Value::Flag(false));
        }
        if is_known && !settings.is_given("ideal-rate") {
            give(settings, "ideal-rate", Value::Rate(path.rate));
        }
        if !settings.is_given("ideal-rtt") {
            give(settings, "ideal-rtt", Value::Time(path.rtt));
        }
    }
    fn end(&self, role: Role, mut random: Random) -> End {
        let arrivals = Random::new(random.u64(), "arrival");
        let sizes = NumberedSizes::new(&self.size, &mut random);
        match role {
            Role::Receiver => End::Client(Box::new(Client::new(self, arrivals, sizes))),
            Role::Sender if self.is_framed() => End::Server(Server::default()),
            Role::Sender => End::Source(Box::new(sizes)),
        }
    }
    fn session(&self) -> Option<Session> {
        Some(Session {
            opener: Role::Receiver,
            framed: self.is_framed(),
            connections: match self.connection {
                Connection::New => self.max_concurrent,
                Connection::Kept => 1,
            },
        })
    }
    fn renews(&self) -> bool {
        true
    }
    fn most_payload(&self) -> Option<Bytes> {
        match self.connection {
            Connection::New => Some(self.size.range().1),
            Connection::Kept => None,
        }
    }
}

const CCAFCT_SIZES: &str = r#"{ p5 = "64KiB", p95 = "2MiB", min = "1B", max = "1GB" }"#;

/// A rate for [`DEMO_LINK`] at another link.
fn scaled(rate: u64, link: Rate) -> u64 {
    let scaled = u128::from(rate) * u128::from(link.as_bps()) / u128::from(DEMO_LINK.as_bps());
    u64::try_from(scaled).map_or(u64::MAX, |rate| rate.min(10_000 * PARTS))
}

/// Gives a parameter a value of its table; one that is out of range stays as it was.
fn give(settings: &mut Settings, name: &str, value: Value) {
    let _ = settings.give(name, value);
}

/// Either end.
#[derive(Debug, Clone)]
pub enum End {
    /// The user's.
    Client(Box<Client>),
    /// A server that answers requests.
    Server(Server),
    /// A server that speaks first: each connection carries one item.
    Source(Box<NumberedSizes>),
}

impl Application for End {
    type Report = ItemsReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match self {
            Self::Client(client) => client.poll(now, input, actions),
            Self::Server(server) => server.poll(input, actions),
            Self::Source(sizes) => {
                if let Input::Opened {
                    connection, serial, ..
                } = input
                {
                    let data = Data::Bytes(sizes.of(serial));
                    actions.push(Action::Send(connection, data));
                    actions.push(Action::Finish(connection));
                }
            }
        }
    }
    fn advance(&mut self, now: Time) {
        if let Self::Client(client) = self {
            client.advance(now);
        }
    }
    fn unfinished(&self, records: &mut Vec<Event>) {
        if let Self::Client(client) = self {
            client.unfinished(records);
        }
    }
    fn start_counting(&mut self, _sent: u64) {
        if let Self::Client(client) = self {
            client.start_counting();
        }
    }
    fn report(&self, _sent: u64) -> Option<ItemsReport> {
        match self {
            Self::Client(client) => Some(client.report()),
            Self::Server(_) | Self::Source(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
