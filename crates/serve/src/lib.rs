//! The web server of quell: a page in a browser watches and steers a run, or watches a result.
//!
//! The page is the one that simulates by itself where it has WebAssembly; here the same messages come over HTTP. [`Server::bind`] opens
//! what is to be shown and listens, [`Server::run`] answers until it is told to stop. The protocol, its limits and who may ask what are
//! in `docs/reference/serve.md`.
//!
//! A page never makes a run wait: see [`hub`](crate::hub). What comes from a network is answered with an error at worst, never with a
//! panic.

#![forbid(unsafe_code)]

mod ask;
mod guard;
mod http;
mod hub;
mod listen;
mod pace;
mod page;
mod patient;
mod player;
mod series;
mod sim;
mod token;
mod told;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use quell_watch::Preparation;
use serde_json::Value;
use tokio::sync::Semaphore;

pub use ask::{SPEEDS, Speed};
pub use page::{Page, PageError, SIMULATOR};

use ask::{Ask, Opening};
use http::{Facts, Shared};
use hub::Hub;
use player::Player;
use sim::Sim;
use token::Token;

/// Asks that wait for a run.
const ASKS: usize = 64;
/// How long streams have for their last message.
const FAREWELL: Duration = Duration::from_millis(200);

/// What is shown.
#[derive(Debug, Clone)]
pub enum Show {
    /// Simulated runs: first of this scenario, if there is one, then of what a page opens.
    Sim {
        /// A scenario that names no file, as TOML.
        scenario: Option<String>,
    },
    /// The result in a folder, of one run or of several.
    Result(PathBuf),
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
    /// Connections at once; more are answered with 503.
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
    /// What the runs are asked.
    runs: Option<Receiver<Ask>>,
}

impl Server {
    /// Opens what is to be shown, and listens.
    ///
    /// # Errors
    ///
    /// The scenario or result is refused, or the address is taken.
    pub fn bind(page: Page, show: Show, settings: &Settings) -> Result<Self, Error> {
        let hub = Hub::new(hub::ROOM);
        let (asks, heard) = mpsc::sync_channel(ASKS);
        let player = OnceLock::new();
        let mut runs = None;
        let facts = match show {
            Show::Sim { scenario } => {
                let name = match &scenario {
                    Some(text) => {
                        let (name, first) = first_run(text)?;
                        // The channel is empty: there is room.
                        let _ = asks.try_send(first);
                        name
                    }
                    None => "quell".to_owned(),
                };
                runs = Some(heard);
                Facts {
                    mode: "sim",
                    world: "sim".to_owned(),
                    kernel: Value::Null,
                    scenario,
                    name,
                }
            }
            Show::Result(folder) => {
                let opened = Player::open(&folder, settings.speed).map_err(Error::Refused)?;
                let facts = Facts {
                    mode: "result",
                    world: opened.world.clone(),
                    kernel: opened.kernel.clone(),
                    scenario: Some(opened.text.clone()),
                    name: opened.name().to_owned(),
                };
                // It is empty before.
                let _ = player.set(Arc::new(opened));
                facts
            }
        };
        let (listeners, address) = listeners(settings.listen)?;
        let shared = Shared {
            page,
            token: Token::new()?,
            hub,
            asks: runs.is_some().then_some(asks),
            player,
            read_only: settings.read_only,
            speed: Mutex::new(settings.speed),
            facts,
            streams: Arc::new(Semaphore::new(settings.limits.streams)),
            limits: settings.limits,
        };
        Ok(Self {
            listeners,
            address,
            shared: Arc::new(shared),
            speed: settings.speed,
            runs,
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
            if let Some(asks) = runs {
                let (is_over, hub, speed) = (&is_over, shared.hub.clone(), speed);
                thread::Builder::new()
                    .name("quell-serve".to_owned())
                    .spawn_scoped(scope, move || Sim::new(hub, speed).carry_on(&asks, is_over))?;
            }
            runtime.block_on(answer(listeners, shared, stop))
        })
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
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut listeners = listeners.into_iter().map(|listener| {
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    });
    let first = listeners.next().transpose()?;
    let other = listeners.next().transpose()?;
    let accept = |listener| listen::accept(listener, router.clone(), limits, room.clone(), stop);
    match (first, other) {
        (Some(first), Some(other)) => {
            tokio::join!(accept(first), accept(other));
        }
        (Some(only), None) => accept(only).await,
        (None, _) => {}
    }
    shared.hub.close(&told::ended("quell serve was ended"));
    tokio::time::sleep(FAREWELL).await;
    Ok(())
}

/// The name of a scenario that a simulated run takes, and the ask that opens it.
fn first_run(text: &str) -> Result<(String, Ask), Error> {
    let opening = Opening {
        scenario: text.to_owned(),
        runs: vec![Vec::new()],
        seed: None,
        preparation: Preparation::default(),
    };
    // Runs do not go from thread to thread: this one only shows that the other will be there.
    let runs = sim::open(&opening).map_err(Error::Refused)?;
    let name = runs.first().map(|run| run.scenario().name.clone());
    Ok((name.unwrap_or_default(), Ask::Open(opening)))
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
