//! The live world: real packets of this kernel's TCP through quell's bottleneck, in real time.
//!
//! Three namespaces (`quell-hosts`), a thread for each host and one for the link (`quell-link`);
//! the calling thread collects what they measure. Before the first packet each of these threads
//! drops the rights that it does not need: the hosts' threads keep CAP_NET_ADMIN, the others nothing. The
//! calling thread keeps its rights unless its listener drops them; [`privilege_separation`] does, in a process for each run.

mod commands;
mod error;
mod flows;
mod groups;
mod job;
mod kernel;
mod link;
mod listener;
mod listening;
mod outside;
mod plan;
mod prepare;
mod prepared;
pub mod privilege_separation;
mod programs;
mod run;
mod steer;
mod suspend_check;
mod warnings;
mod watch;
pub mod watched;
mod worker;

pub(crate) use commands::unfinished as unfinished_commands;
pub use error::LiveError;
pub(crate) use job::live;
pub use listener::LiveListener;
pub(crate) use plan::pool_bytes;
pub use prepare::prepare;
pub use prepared::Prepared;
pub use run::run;
pub use steer::NotChanged;
