//! The web: items on connections of their own, or pages of many objects.
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
//!
//! `model = "pages"` is a browser and somebody who reads: see `pages.rs`, and `recipe.rs` for what
//! pages are made of. HTTP/2 has its frames and streams here; header compression, priorities and its
//! flow control, whose windows are taken to be large enough, have no counterpart. All objects come from
//! one host.

mod items;
mod pages;
mod parameters;
mod presets;
mod recipe;
mod report;

use quell_units::parameter::Value;
use quell_units::{Bytes, Period, Random, Rate, Settings, Sizes, Time};

use crate::exchange::{Delays, Server, Tls};
use crate::random_sizes::NumberedSizes;
use crate::{
    Action, Application, ApplicationKind, Data, Event, EventInfo, Input, Path, PresetSettings,
    Role, Session,
};

pub use items::Client;
pub use pages::Browser;
pub use parameters::{Connection, Model, Parameters, Protocol};
use parameters::{DEMO_LINK, PARTS};
use presets::PRESETS;
pub use recipe::Recipe;
pub use report::{BySize, ItemsReport, PagesReport, RANGES, WebReport};

/// Items or pages of the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Web {
    /// The user's behaviour.
    pub model: Model,
    /// Items per second, in millionths.
    pub rate: u64,
    /// Payload of an item; 1 GB at most.
    pub size: Sizes,
    /// Which connection carries an item.
    pub connection: Connection,
    /// Most items at once, from 1 to [`Session::MOST`].
    pub max_concurrent: u32,
    /// The objects of a page.
    pub recipe: Recipe,
    /// Objects of a page of equal ones, besides its document.
    pub objects: u32,
    /// Size of each of these.
    pub object_size: Bytes,
    /// A browser's use of connections.
    pub protocol: Protocol,
    /// Most connections of a browser over HTTP/1.1, from 1 to 32.
    pub connections: u32,
    /// Time from the end of a page to the beginning of the next.
    pub reading: Period,
    /// Time from the end of a document until its objects are known.
    pub parse: Period,
    /// Time from the request for an object until the server sends.
    pub server_delay: Period,
    /// Bytes in front of each object.
    pub response_header: Bytes,
    /// Time from a page to the closing of its connections.
    pub keep_alive: Time,
    /// Pages of a flow; `None` for no end.
    pub pages: Option<u32>,
    /// Length of a request; 0 for none.
    pub request: Bytes,
    /// Handshake after that of TCP.
    pub tls: Tls,
    /// The rate that completion times are compared with; `None` where that is unknown.
    pub ideal: Option<Path>,
}

impl Web {
    /// Whether connections carry messages.
    fn is_framed(&self) -> bool {
        self.model == Model::Pages
            || self.request.get() > 0
            || self.tls != Tls::None
            || self.connection == Connection::Kept
    }

    /// Most connections of a browser that carry requests.
    fn most_connections(&self) -> usize {
        match self.protocol {
            Protocol::Http1 => self.connections as usize,
            Protocol::Http2 => 1,
        }
    }
}

impl ApplicationKind for Web {
    const NAME: &'static str = "web";
    const SUMMARY: &'static str = "items of the web at random times, or pages one after the other, on connections that the user's end opens";
    const EXAMPLE: &'static str = r#"app = { kind = "web", model = "items", rate = 10, scale-with-link = true, size = { pareto = 0.9, min = "1kB", max = "1MB" }, connection = "new", max-concurrent = 1000, request = "350B", tls = "1.3", ideal-rate = "10mbit", ideal-rtt = "20ms" }"#;
    const MORE_EXAMPLES: &'static [&'static str] = &[
        r#"app = { kind = "web", model = "pages", recipe = "equal", objects = 26, object-size = "10kB", protocol = "http1", connections = 6, reading = "1s", parse = "100ms", server-delay = "10ms", response-header = "250B", keep-alive = "0s", pages = 100 }"#,
    ];
    const PRESETS: &'static [PresetSettings] = PRESETS;
    const EVENTS: &'static [EventInfo] = &[
        EventInfo {
            kind: "item",
            meaning: "An item, from the request for its connection (of a kept one: from its arrival) to the end of the file.",
            value: "ns from its start until its connection was up",
        },
        EventInfo {
            kind: "page",
            meaning: "A page, from the request for its document, with the connection that it needs, to the last byte of its last object.",
            value: "connections that it opened",
        },
        EventInfo {
            kind: "object",
            meaning: "An object of a page, from its request to its last byte.",
            value: "number of its page",
        },
    ];
    type Parameters = Parameters;
    type End = End;
    type Report = WebReport;

    fn new(parameters: Parameters) -> Self {
        // It has been taken into the rate, where the link has one.
        let _ = parameters.scale_with_link;
        let ideal = parameters.ideal_rate.zip(parameters.ideal_rtt);
        Self {
            model: parameters.model,
            rate: parameters.rate,
            size: parameters.size,
            connection: parameters.connection,
            max_concurrent: parameters.max_concurrent,
            recipe: parameters.recipe,
            objects: parameters.objects,
            object_size: parameters.object_size,
            protocol: parameters.protocol,
            connections: parameters.connections,
            reading: parameters.reading,
            parse: parameters.parse,
            server_delay: parameters.server_delay,
            response_header: parameters.response_header,
            keep_alive: parameters.keep_alive,
            pages: parameters.pages,
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
        let delays = Delays {
            length: self.server_delay,
            seed: random.u64(),
        };
        match (self.model, role) {
            (Model::Items, Role::Receiver) => {
                End::Client(Box::new(Client::new(self, arrivals, sizes)))
            }
            (Model::Items, Role::Sender) if self.is_framed() => {
                End::Server(Server::new(Delays::NONE, false))
            }
            (Model::Items, Role::Sender) => End::Source(Box::new(sizes)),
            (Model::Pages, Role::Receiver) => {
                End::Browser(Box::new(Browser::new(self, &mut random, delays)))
            }
            (Model::Pages, Role::Sender) => {
                End::Server(Server::new(delays, self.protocol == Protocol::Http2))
            }
        }
    }
    fn change(&self, end: &mut End, at: Time) {
        match end {
            End::Client(client) => client.change(at, self),
            End::Browser(browser) => browser.change(at, self),
            // A server does what it is asked for.
            End::Server(_) | End::Source(_) => {}
        }
    }
    fn session(&self) -> Option<Session> {
        Some(Session {
            opener: Role::Receiver,
            framed: self.is_framed(),
            connections: match (self.model, self.connection) {
                (Model::Items, Connection::New) => self.max_concurrent,
                (Model::Items, Connection::Kept) => 1,
                // While those of the page before are being closed.
                (Model::Pages, _) => 2 * self.most_connections() as u32,
            },
        })
    }
    fn renews(&self) -> bool {
        true
    }
    /// For items the mean of Poisson arrivals, and ten deviations more.
    fn most_opened(&self, span: Time) -> Option<u64> {
        match (self.model, self.connection) {
            (Model::Items, Connection::New) => {
                let per_ns = u128::from(self.rate) * u128::from(span.as_nanos());
                let mean = u64::try_from(per_ns / u128::from(PARTS) / 1_000_000_000);
                let mean = mean.unwrap_or(u64::MAX / 2);
                Some(mean + 10 * mean.isqrt() + 32)
            }
            (Model::Items, Connection::Kept) => Some(1),
            (Model::Pages, _) => None,
        }
    }
    fn most_payload(&self) -> Option<Bytes> {
        match (self.model, self.connection) {
            (Model::Items, Connection::New) => Some(self.size.range().1),
            (Model::Items, Connection::Kept) | (Model::Pages, _) => None,
        }
    }
}

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
    /// The user's of items.
    Client(Box<Client>),
    /// The user's of pages.
    Browser(Box<Browser>),
    /// A server that answers requests.
    Server(Server),
    /// A server that speaks first: each connection carries one item.
    Source(Box<NumberedSizes>),
}

impl Application for End {
    type Report = WebReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match self {
            Self::Client(client) => client.poll(now, input, actions),
            Self::Browser(browser) => browser.poll(now, input, actions),
            Self::Server(server) => server.poll(now, input, actions),
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
        match self {
            Self::Client(client) => client.advance(now),
            Self::Browser(browser) => browser.advance(now),
            Self::Server(_) | Self::Source(_) => {}
        }
    }
    fn unfinished(&self, records: &mut Vec<Event>) {
        match self {
            Self::Client(client) => client.unfinished(records),
            Self::Browser(browser) => browser.unfinished(records),
            Self::Server(_) | Self::Source(_) => {}
        }
    }
    fn start_counting(&mut self, _sent: u64) {
        match self {
            Self::Client(client) => client.start_counting(),
            Self::Browser(browser) => browser.start_counting(),
            Self::Server(_) | Self::Source(_) => {}
        }
    }
    fn report(&self, _sent: u64) -> Option<WebReport> {
        match self {
            Self::Client(client) => Some(WebReport::Items(Box::new(client.report()))),
            Self::Browser(browser) => Some(WebReport::Pages(Box::new(browser.report()))),
            Self::Server(_) | Self::Source(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
