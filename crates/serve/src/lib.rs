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
mod background;
mod error;
mod exec_link;
#[doc(hidden)]
pub mod fuzz_session;
mod guard;
mod http;
mod hub;
mod listen;
mod live;
mod messages;
mod pace;
mod page;
mod places;
mod player;
mod series;
mod server;
mod settings;
mod show;
mod sim;
mod token;
mod virtual_run;
mod write_timeout;

pub use ask::{SPEEDS, Speed};
pub use error::{AskError, Error, ResultError, SessionError};
pub use exec_link::{ExecLink, Happened, NoChange};
pub use page::{Page, PageError, SIMULATOR};
pub use quell_watch::Finished;
pub use server::Server;
pub use settings::{Limits, Settings};
pub use show::Show;
