//! The parameters of the web.

use quell_units::parameter::Domain;
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
        /// What a user does: items arrive at random times, whatever became of those before; pages are loaded and read
        /// one after the other.
        model: Model = Parameter::FIXED.default("items"),
        /// Items per second and flow, on average.
        rate: u64 = Parameter::LIVE.domain(Domain::Fraction(0, 10_000 * PARTS, PARTS)).default("10").only(ITEMS)
            .source(DEMO),
        /// Take the rate for a link of 40 Mbit/s, and change it in proportion to the link's. The resolved scenario has
        /// the rate that results.
        scale_with_link: bool = Parameter::FIXED.named("scale-with-link").only(ITEMS).source(DEMO),
        /// Payload of an item.
        size: Sizes = Parameter::FIXED.domain(Domain::Sizes(1, MOST_BYTES))
            .default(r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#).only(ITEMS).source(DEMO),
        /// Each item on a new connection, which the server closes; or all on one that is kept, where an item waits for
        /// those before it.
        connection: Connection = Parameter::FIXED.default("new").only(ITEMS),
        /// Most items of a flow at once; one that arrives beyond is refused, and counted.
        max_concurrent: u32 = Parameter::FIXED.named("max-concurrent").domain(Domain::Integer(1, Session::MOST as u64))
            .default("10000").only(ITEMS),
        /// What a page is made of: 71 objects with 2.65 MB, 66 with 2.31 MB, 179 with 6 MB (each a median or percentile
        /// of its year), the main and embedded objects of 3GPP, or a document and objects of one size.
        recipe: Recipe = Parameter::FIXED.default("median-2024").only(PAGES)
            .source("HTTP Archive, Web Almanac 2024 and 2019; ns-3 (three-gpp-http)"),
        /// Objects of a page besides its document.
        objects: u32 = Parameter::FIXED.domain(Domain::Integer(0, 10_000)).default("30").only(EQUAL),
        /// Size of the document and of each object.
        object_size: Bytes = Parameter::FIXED.named("object-size").domain(Domain::Bytes(1, MOST_BYTES)).default("10kB")
            .only(EQUAL),
        /// One object at a time on each connection, or all at once on a single one, whose responses the server sends in
        /// frames of 16 KiB, in turn.
        protocol: Protocol = Parameter::FIXED.default("http2").only(PAGES).source("RFC 9112, RFC 9113"),
        /// Most connections of a browser.
        connections: u32 = Parameter::FIXED.domain(Domain::Integer(1, 32)).default("6").only(("protocol", "http1"))
            .source("common browsers"),
        /// From the end of a page to the beginning of the next.
        reading: Period = Parameter::LIVE.domain(Domain::Period(Time::ZERO, DAY))
            .default(r#"{ mean = "3s", distribution = "exponential" }"#).only(PAGES)
            .source("CableLabs, docsis-ns3 (residential)"),
        /// From the end of the document until its objects are known: time of the user's computer, which hides the
        /// network.
        parse: Period = Parameter::FIXED.domain(Domain::Period(Time::ZERO, DAY))
            .default(r#"{ mean = "130ms", distribution = "exponential" }"#).only(PAGES)
            .source("3GPP, by ns-3 (three-gpp-http)"),
        /// From the request for an object until the server sends.
        server_delay: Period = Parameter::FIXED.named("server-delay").domain(Domain::Period(Time::ZERO, DAY))
            .default("0s").only(PAGES),
        /// Sent in front of each object.
        response_header: Bytes = Parameter::FIXED.named("response-header").domain(Domain::Bytes(0, 64_000))
            .default("250B").only(PAGES),
        /// Connections are closed so long after the end of a page. At 0s each page begins with none.
        keep_alive: Time = Parameter::FIXED.named("keep-alive").domain(Domain::Time(Time::ZERO, DAY)).default("115s")
            .only(PAGES).source("common browsers"),
        /// Pages of a flow.
        pages: Option<u32> = Parameter::FIXED.domain(Domain::Integer(1, 1_000_000)).derived("until the end")
            .only(PAGES),
        /// Request, headers included, at least 24 B. Without one the server of items sends as soon as the connection is
        /// up; where the request must carry the size of the answer, it takes 24 B.
        request: Bytes = exchange::REQUEST_ROW.default_by("model", &[("items", "0B"), ("pages", "350B")])
            .source("L4S demonstration (l4sdemo); ns-3 (three-gpp-http)"),
        tls: Tls = Tls::ROW.default_by("model", &[("items", "none"), ("pages", "1.3")]),
        /// Rate that normalised completion times assume: (size / rate + 2 RTT) / completion.
        ideal_rate: Option<Rate> = Parameter::FIXED.named("ideal-rate")
            .domain(Domain::Rate(Rate::from_bps(1_000), Rate::from_mbps(1_000_000)))
            .derived("the link's at the start, in the direction of the data")
            .source("Briscoe et al.: evaluation of DualQ Coupled AQM"),
        /// RTT that normalised completion times assume.
        ideal_rtt: Option<Time> = Parameter::FIXED.named("ideal-rtt").domain(Domain::Time(Time::from_nanos(1), DAY))
            .derived("the group's base RTT").source("Briscoe et al.: evaluation of DualQ Coupled AQM"),
    }
}

const PAGES: (&str, &str) = ("model", "pages");
const EQUAL: (&str, &str) = ("recipe", "equal");
const ITEMS: (&str, &str) = ("model", "items");
const DEMO: &str = "L4S demonstration (l4sdemo)";
const MOST_BYTES: u64 = Sizes::MOST.get();
