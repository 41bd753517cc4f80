//! The server over real sockets: what it answers, to whom, and what it makes of those who mean it harm.
#![allow(clippy::unwrap_used)]

mod client;
mod hostile;
mod limits;
mod result;
mod security;
mod sim;

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use quell_serve::{Page, Server, Settings, Show};

/// A server in a thread, which ends with this value.
struct Running {
    address: SocketAddr,
    token: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    fn start(show: Show, settings: &Settings) -> Self {
        let server = Server::bind(page(), show, settings).unwrap();
        let address = server.address();
        let url = server.url();
        let token = url.split_once("/#token=").unwrap().1.to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let its = stop.clone();
        let thread = std::thread::spawn(move || server.run(&its));
        Self {
            address,
            token,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it, and fails if it did not end well.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Longer than what a socket takes at once, and badly compressible.
fn script() -> String {
    let mut state = 1_u64;
    let mut number = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    (0..200_000)
        .map(|_| format!("{:08x}\n", number()))
        .collect()
}

fn page() -> Page {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("index.html"),
        "<!doctype html><p>page</p>",
    )
    .unwrap();
    fs::write(folder.path().join("page.js"), script()).unwrap();
    Page::of_folder(folder.path()).unwrap()
}

/// Two flows over a small link, for six seconds.
const SCENARIO: &str = quell_testing::l4s_beside_classic!(
    name: "small",
    link: r#"rate = "10mbit"
queue = { kind = "dualpi2" }
"#,
    flows: [1, 1],
    rtts: ["10ms", "10ms"],
    then: r#"[run]
duration = "6s"
warmup = "1s"
"#,
);

fn small() -> Show {
    Show::Sim {
        scenario: Some(SCENARIO.to_owned()),
    }
}

fn empty() -> Show {
    Show::Sim { scenario: None }
}
