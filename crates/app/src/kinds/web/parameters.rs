//! The parameters of the web.

use quell_units::parameter::{Domain, Preset};
use quell_units::{Bytes, Parameter, Period, Rate, Sizes, Time, parameters, words};

use super::recipe::Recipe;
use crate::Session;
use crate::exchange::{self, Tls};
use crate::kind::DAY;

/// Parts of an item per second in `rate`.
pub(super) const PARTS: u64 = 1_000_000;
/// The link for which the demonstration's rates were meant.
pub(super) const DEMO_LINK: Rate = Rate::from_mbps(40);

words! {
    /// The user's behaviour.
    pub enum Model {
        /// Single items at random times.
        Items = "items",
        /// Pages, which are read before the next one.
        Pages = "pages",
    }
}

words! {
    /// A browser's use of connections.
    pub enum Protocol {
        /// One object at a time on each of several connections.
        Http1 = "http1",
        /// All objects at once on one connection.
        Http2 = "http2",
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
            help: "What a user does: items arrive at random times, whatever became of those before; pages are loaded and read one after the other.",
            ..Parameter::FIXED
        },
        rate: u64 = Parameter {
            domain: Domain::Fraction(0, 10_000 * PARTS, PARTS),
            default: Preset::Is("10"),
            only: ITEMS,
            help: "Items per second and flow, on average.",
            source: DEMO,
            ..Parameter::LIVE
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
        recipe: Recipe = Parameter {
            domain: Recipe::DOMAIN,
            default: Preset::Is("median-2024"),
            only: PAGES,
            help: "What a page is made of: 71 objects with 2.65 MB, 66 with 2.31 MB, 179 with 6 MB (each a median or percentile of its year), the main and embedded objects of 3GPP, or a document and objects of one size.",
            source: "HTTP Archive, Web Almanac 2024 and 2019; ns-3 (three-gpp-http)",
            ..Parameter::FIXED
        },
        objects: u32 = Parameter {
            domain: Domain::Integer(0, 10_000),
            default: Preset::Is("30"),
            only: EQUAL,
            help: "Objects of a page besides its document.",
            ..Parameter::FIXED
        },
        object_size: Bytes = Parameter {
            name: "object-size",
            domain: Domain::Bytes(1, MOST_BYTES),
            default: Preset::Is("10kB"),
            only: EQUAL,
            help: "Size of the document and of each object.",
            ..Parameter::FIXED
        },
        protocol: Protocol = Parameter {
            domain: Protocol::DOMAIN,
            default: Preset::Is("http2"),
            only: PAGES,
            help: "One object at a time on each connection, or all at once on a single one, whose responses the server sends in frames of 16 KiB, in turn.",
            source: "RFC 9112, RFC 9113",
            ..Parameter::FIXED
        },
        connections: u32 = Parameter {
            domain: Domain::Integer(1, 32),
            default: Preset::Is("6"),
            only: Some(("protocol", "http1")),
            help: "Most connections of a browser.",
            source: "common browsers",
            ..Parameter::FIXED
        },
        reading: Period = Parameter {
            domain: Domain::Period(Time::ZERO, DAY),
            default: Preset::Is(r#"{ mean = "3s", distribution = "exponential" }"#),
            only: PAGES,
            help: "From the end of a page to the beginning of the next.",
            source: "CableLabs, docsis-ns3 (residential)",
            ..Parameter::LIVE
        },
        parse: Period = Parameter {
            domain: Domain::Period(Time::ZERO, DAY),
            default: Preset::Is(r#"{ mean = "130ms", distribution = "exponential" }"#),
            only: PAGES,
            help: "From the end of the document until its objects are known: time of the user's computer, which hides the network.",
            source: "3GPP, by ns-3 (three-gpp-http)",
            ..Parameter::FIXED
        },
        server_delay: Period = Parameter {
            name: "server-delay",
            domain: Domain::Period(Time::ZERO, DAY),
            default: Preset::Is("0s"),
            only: PAGES,
            help: "From the request for an object until the server sends.",
            ..Parameter::FIXED
        },
        response_header: Bytes = Parameter {
            name: "response-header",
            domain: Domain::Bytes(0, 64_000),
            default: Preset::Is("250B"),
            only: PAGES,
            help: "Sent in front of each object.",
            ..Parameter::FIXED
        },
        keep_alive: Time = Parameter {
            name: "keep-alive",
            domain: Domain::Time(Time::ZERO, DAY),
            default: Preset::Is("115s"),
            only: PAGES,
            help: "Connections are closed so long after the end of a page. At 0s each page begins with none.",
            source: "common browsers",
            ..Parameter::FIXED
        },
        pages: Option<u32> = Parameter {
            domain: Domain::Integer(1, 1_000_000),
            default: Preset::Derived("until the end"),
            only: PAGES,
            help: "Pages of a flow.",
            ..Parameter::FIXED
        },
        request: Bytes = Parameter {
            source: "L4S demonstration (l4sdemo); ns-3 (three-gpp-http)",
            ..exchange::request(
                Preset::By("model", &[("items", "0B"), ("pages", "350B")]),
                "Request, headers included, at least 24 B. Without one the server of items sends as soon as the connection is up; where the request must carry the size of the answer, it takes 24 B.",
            )
        },
        tls: Tls = Tls::parameter(Preset::By("model", &[("items", "none"), ("pages", "1.3")])),
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

const PAGES: Option<(&str, &str)> = Some(("model", "pages"));
const EQUAL: Option<(&str, &str)> = Some(("recipe", "equal"));
const ITEMS: Option<(&str, &str)> = Some(("model", "items"));
const DEMO: &str = "L4S demonstration (l4sdemo)";
const MOST_BYTES: u64 = Sizes::MOST.get();
