//! The server: it listens, and answers until it is to stop.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::ask::Speed;
use crate::error::Error;
use crate::http::{self, Shared};
use crate::hub::{self, Hub};
use crate::listen;
use crate::messages;
use crate::page::Page;
use crate::places::Places;
use crate::settings::Settings;
use crate::show::{Opened, Runs, Show};
use crate::token::Token;

/// How long streams have for their last message.
const FAREWELL: Duration = Duration::from_millis(200);

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    shared: Arc<Shared>,
    speed: Speed,
    runs: Option<Runs>,
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
            background: Arc::new(Semaphore::new(1)),
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
    shared.hub.close(&messages::ended(shared.facts.farewell));
    if shared.hub.is_watched() {
        tokio::time::sleep(FAREWELL).await;
    }
    Ok(())
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
