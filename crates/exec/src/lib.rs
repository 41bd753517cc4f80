//! Any program behind a link of quell: real packets of real programs through a real bottleneck, without root.
//!
//! ```text
//!  inside (program)          link (quell)            outside (far edge)                              host's namespace
//!  [ eth0 10.77.d.2 ]──veth──[ Link ]──veth──[ kernel TCP: accepts every connection ]──relay──[ connect() ]→ Internet
//! ```
//!
//! * [`plan`]: the link that was asked for, as a scenario without groups;
//! * [`memory`]: what the link holds at most;
//! * [`network`], [`subnet`]: three namespaces and the wires between them;
//! * [`attach`]: a link in front of what runs already, with none of these;
//! * [`publish`]: ports of the host whose clients reach the program;
//! * [`relay`]: joins what the far edge accepts to ordinary sockets of the host; TCP by splice(2), UDP with its TOS byte;
//! * [`program`], `running`, `files`, [`resolver`]: the program, without any right, with process ids of its own and a name server behind the link;
//! * [`remote`]: changes of the link while the program runs; [`control`]: the socket on which they are asked for, [`named`]: where others find it; [`mod@join`]: a second program behind it; [`watcher`]: whoever watches;
//! * [`experience`]: what the user felt, from what was measured;
//! * [`Config`]: what to run; [`mod@run`]: all of it in five steps, from the first namespace to the report.
//!
//! Why a relay: the far edge of a download is the *sender* at the bottleneck. It has to be a real TCP, with the congestion control that
//! was asked for; a user-space NAT has none. What the link does not show is the remote server's own congestion control.
//!
//! Nothing of the host changes: no address, route, rule, sysctl or file. All namespaces are held by descriptors and processes that end with
//! quell, so nothing is left after kill -9 either, and no process. The program runs without capabilities; it is no sandbox beyond that.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod attach;
pub mod attach_error;
mod bypass;
mod capacity;
mod changes;
mod config;
pub mod control;
mod controls;
mod error;
pub mod experience;
mod far_ready;
mod files;
pub mod join;
mod link;
pub mod memory;
mod mounts;
pub mod name_error;
pub mod named;
mod net;
pub mod network;
pub mod option_error;
pub mod plan;
pub mod program;
pub mod publish;
pub mod relay;
pub mod remote;
mod report;
pub mod resolver;
pub mod results;
pub mod run;
mod running;
pub mod subnet;
mod summary;
mod verdict;
pub mod watcher;

pub use attach::{Attachment, Target};
pub use config::{Announcement, Config, Ecn, Names};
pub use control::ControlSocket;
pub use error::{AnyError, Error, Result};
pub use experience::UserImpact;
pub use join::join;
pub use memory::LinkMemory;
pub use net::Net;
pub use option_error::OptionError;
pub use plan::{LinkOptions, Plan};
pub use program::{Ended, Found, NotStarted};
pub use publish::{Door, Published};
pub use relay::targets::Loopback;
pub use run::{Outcome, run};
pub use verdict::{Limits, LinkShare, Shares};
pub use watcher::{News, Watched, Watcher};
