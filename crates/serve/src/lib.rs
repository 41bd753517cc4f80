//! The web server of quell: a page in a browser watches and steers a run, or watches a result.
//!
//! The page is the one that simulates by itself where it has WebAssembly; here the same messages come over HTTP. [`Server::bind`] opens
//! what is to be shown and listens, [`Server::run`] answers until it is told to stop. The protocol, its limits and who may ask what are
//! in `docs/reference/serve.md`.
//!
//! A page never makes a run wait: see [`hub`]. What comes from a network is answered with an error at worst, never with a
//! panic.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod ask;
#[doc(hidden)]
pub mod bare;
mod carried;
mod guard;
mod http;
mod hub;
mod inside;
mod listen;
mod live;
mod pace;
mod page;
mod patient;
mod places;
mod player;
mod series;
mod sim;
mod token;
mod told;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use quell_lab::{GuestOptions, LiveOptions};
use quell_scenario::Scenario;
use quell_watch::Preparation;
use serde_json::Value;
use tokio::sync::Semaphore;

pub use ask::{SPEEDS, Speed};
pub use carried::{Carried, Happened};
pub use page::{Page, PageError, SIMULATOR};
pub use quell_watch::Finished;

use ask::{Ask, Opening};
use http::{Facts, Shared};
use hub::Hub;
use inside::Inside;
use live::Live;
use places::Places;
use player::Player;
use sim::Sim;
use token::Token;

/// Asks that wait for a run.
const ASKS: usize = 64;
/// How long streams have for their last message.
const FAREWELL: Duration = Duration::from_millis(200);
/// That message.
const FAREWELL_WORDS: &str = "quell serve was ended";

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
    Carried(Box<Carried>),
}

/// How a server serves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 is any free one.
    pub listen: SocketAddr,
    /// Whether pages may open and change nothing.
    pub read_only: bool,
    /// How fast runs go on, until a page changes it.
    pub speed: Speed,
    /// What it may take.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            read_only: false,
            speed: Speed::Times(1.0),
            limits: Limits::default(),
        }
    }
}

/// The limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once: for one more the oldest that has not shown the token ends; if all have, it is answered with 503.
    pub connections: usize,
    /// Streams of events at once; more are answered with 503.
    pub streams: usize,
    /// Bytes of the body of a request.
    pub body: usize,
    /// How long the head of a request may take, and its body again.
    pub head: Duration,
    /// How long the other end of a connection may take nothing of an answer.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            streams: 8,
            body: 64 << 10,
            head: Duration::from_secs(10),
            stall: Duration::from_secs(60),
        }
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is to be shown cannot be.
    #[error("{0}")]
    Refused(String),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system gives no randomness, or no thread.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    shared: Arc<Shared>,
    speed: Speed,
    runs: Option<Runs>,
}

/// What a thread of its own does.
#[derive(Debug)]
enum Runs {
    /// Simulates what it is asked.
    Sim(Receiver<Ask>),
    /// Runs what it is asked with real packets.
    Live(Receiver<Ask>, LiveOptions),
    /// Runs inside a kernel, to the end.
    Virtual(Box<Inside>),
    /// A program runs, elsewhere.
    Carried(Receiver<Ask>, Box<Carried>),
}

/// What [`Server::bind`] makes of what is to be shown.
struct Opened {
    facts: Facts,
    asks: Option<SyncSender<Ask>>,
    runs: Option<Runs>,
    player: OnceLock<Arc<Player>>,
}

impl Opened {
    fn of(show: Show, speed: Speed) -> Result<Self, Error> {
        let (asks, heard) = mpsc::sync_channel(ASKS);
        let first = |scenario: &Option<String>, name_of: fn(&Opening) -> Result<String, String>| {
            let Some(text) = scenario else {
                return Ok::<_, Error>("quell".to_owned());
            };
            let opening = opening(text);
            let name = name_of(&opening).map_err(Error::Refused)?;
            // The channel is empty: there is room.
            let _ = asks.try_send(Ask::Open(opening));
            Ok(name)
        };
        let kernel = || {
            let system = rustix::system::uname();
            system.release().to_string_lossy().into()
        };
        let world = |world: &str, mode, name, scenario| Facts {
            mode,
            world: world.to_owned(),
            kernel: Value::Null,
            scenario,
            name,
            farewell: FAREWELL_WORDS,
        };
        let player = OnceLock::new();
        let (facts, runs) = match show {
            Show::Sim { scenario } => {
                let name = first(&scenario, sim::name_of)?;
                (world("sim", "sim", name, scenario), Some(Runs::Sim(heard)))
            }
            Show::Live { scenario, options } => {
                let name = first(&scenario, live::name_of)?;
                let mut facts = world("live", "live", name, scenario);
                facts.kernel = kernel();
                (facts, Some(Runs::Live(heard, options)))
            }
            Show::Virtual {
                mut scenario,
                warnings,
                guest,
                out,
            } => {
                scenario.run.seeds.truncate(1);
                let (name, text) = (scenario.name.clone(), scenario.to_toml());
                let inside = Inside {
                    scenario: *scenario,
                    warnings,
                    guest,
                    out,
                };
                let facts = world("virtual", "virtual", name, Some(text));
                (facts, Some(Runs::Virtual(Box::new(inside))))
            }
            Show::Carried(carried) => {
                let text = carried.scenario.to_toml();
                let mut facts = world("live", "live", "exec".to_owned(), Some(text));
                facts.kernel = kernel();
                facts.farewell = "the program behind this link has ended";
                (facts, Some(Runs::Carried(heard, carried)))
            }
            Show::Result(folder) => {
                let opened = Player::open(&folder, speed).map_err(Error::Refused)?;
                let facts = Facts {
                    mode: "result",
                    world: opened.world.clone(),
                    kernel: opened.kernel.clone(),
                    scenario: Some(opened.text.clone()),
                    name: opened.name().to_owned(),
                    farewell: FAREWELL_WORDS,
                };
                // It is empty before.
                let _ = player.set(Arc::new(opened));
                (facts, None)
            }
        };
        let hears = matches!(
            runs,
            Some(Runs::Sim(_) | Runs::Live(..) | Runs::Carried(..))
        );
        Ok(Self {
            facts,
            asks: hears.then_some(asks),
            runs,
            player,
        })
    }
}

impl Server {
    /// Opens what is to be shown, and listens.
    ///
    /// # Errors
    ///
    /// The scenario or result is refused, or the address is taken.
    pub fn bind(page: Page, show: Show, settings: &Settings) -> Result<Self, Error> {
        let opened = Opened::of(show, settings.speed)?;
        let (listeners, address) = listeners(settings.listen)?;
        let shared = Shared {
            page,
            token: Token::new()?,
            hub: Hub::new(hub::ROOM),
            asks: opened.asks,
            player: opened.player,
            read_only: settings.read_only,
            speed: Mutex::new(settings.speed),
            facts: opened.facts,
            streams: Arc::new(Semaphore::new(settings.limits.streams)),
            limits: settings.limits,
        };
        Ok(Self {
            listeners,
            address,
            shared: Arc::new(shared),
            speed: settings.speed,
            runs: opened.runs,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a browser opens. Whoever has it may do what the page can.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::from([127, 0, 0, 1]));
        }
        format!("http://{address}/#token={}", self.shared.token.text())
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    ///
    /// The system gives it no thread or no timer.
    pub fn run(self, stop: &AtomicBool) -> io::Result<()> {
        let Self {
            listeners,
            shared,
            runs,
            speed,
            ..
        } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            // Also where answering panics, so that the scope ends.
            let _end = SetAtEnd(&is_over);
            if let Some(runs) = runs {
                let (is_over, shared) = (&is_over, shared.clone());
                thread::Builder::new()
                    .name("quell-serve".to_owned())
                    .spawn_scoped(scope, move || runs.carry_on(&shared, speed, is_over))?;
            }
            runtime.block_on(answer(listeners, shared, stop))
        })
    }
}

impl Runs {
    fn carry_on(self, shared: &Shared, speed: Speed, stop: &AtomicBool) {
        let hub = shared.hub.clone();
        match self {
            Self::Sim(asks) => Sim::new(hub, speed).carry_on(&asks, stop),
            Self::Live(asks, options) => Live::new(hub, options).carry_on(&asks, stop),
            Self::Virtual(inside) => inside.carry_on(shared, stop),
            Self::Carried(asks, carried) => carried.carry_on(&hub, &asks, stop),
        }
    }
}

/// Sets a flag when it is dropped.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn answer(
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let limits = shared.limits;
    let router = http::router(shared.clone());
    let places = Places::new(limits.connections);
    let mut listeners = listeners.into_iter().map(|listener| {
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    });
    let first = listeners.next().transpose()?;
    let other = listeners.next().transpose()?;
    let accept = |listener| listen::accept(listener, router.clone(), limits, places.clone(), stop);
    match (first, other) {
        (Some(first), Some(other)) => {
            tokio::join!(accept(first), accept(other));
        }
        (Some(only), None) => accept(only).await,
        (None, _) => {}
    }
    shared.hub.close(&told::ended(shared.facts.farewell));
    if shared.hub.is_watched() {
        tokio::time::sleep(FAREWELL).await;
    }
    Ok(())
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

/// Listens at `address`, and where that is a loopback one of IPv4 also at the one of IPv6, if that is free: `localhost` may be either.
fn listeners(address: SocketAddr) -> Result<(Vec<TcpListener>, SocketAddr), Error> {
    let bound =
        TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (bound, listener) = bound.map_err(|source| Error::Listen { address, source })?;
    let mut all = vec![listener];
    if bound.ip() == IpAddr::from([127, 0, 0, 1]) {
        let other = SocketAddr::from((Ipv6Addr::LOCALHOST, bound.port()));
        all.extend(TcpListener::bind(other));
    }
    Ok((all, bound))
}
