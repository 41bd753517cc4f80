//! The real bottleneck: frames between two packet sockets, through a queue discipline and a delay
//! line in each direction.
//!
//! A frame is written by the kernel into a slot of one pool and read from there again by the kernel;
//! what queues is a 32-byte [`Descriptor`]. Every decision is taken by `quell-aqm`, at the logical
//! time it belongs to: an arrival at the kernel's receive stamp, a departure at the departure
//! clock's time. When the thread wakes later, the frame leaves later, and that is measured
//! ([`DirectionReport::lateness`]); but it never becomes queueing delay, marks or drops.
//!
//! ```no_run
//! # fn main() -> Result<(), quell_link::Error> {
//! use std::sync::atomic::AtomicBool;
//! use quell_aqm::{Drop, Observer, Rate, Time};
//! use quell_link::{Descriptor, DirectionConfig, GroupConfig, Link, LinkConfig, Port};
//!
//! struct Unobserved;
//! impl Observer<Descriptor> for Unobserved {
//!     fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
//! }
//!
//! let mut forward = DirectionConfig::unlimited(1_500);
//! forward.rate = Rate::from_mbps(40);
//! let mut config = LinkConfig::new(forward, DirectionConfig::unlimited(1_500));
//! config.groups.push(GroupConfig { port: 5_001, delay: Time::from_millis(5), ..GroupConfig::default() });
//! let mut link = Link::new(config, Port::open("left")?, Port::open("right")?, [Unobserved, Unobserved])?;
//! link.run(Time::from_secs(10), &AtomicBool::new(false))?;
//! let (report, _observers) = link.finish()?;
//! assert!(report.forward.is_conserved());
//! # Ok(())
//! # }
//! ```
//!
//! Goals: exact decisions, no loss that the discipline did not decide, honest figures about itself,
//! no busy waiting. Super-packets of TCP are wire packets to the queue. Not goals: routing or bridging
//! between more than two ports; super-packets of other protocols.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod config;
mod error;
mod frames;
mod lane;
mod link;
mod only;
mod pace;
mod path;
mod ports;
mod report;
mod taps;
mod time;
mod watching;

pub use config::{
    ConfigError, DirectionConfig, Ect1, GroupConfig, LinkChange, LinkConfig, NextLink, Noise,
    Wakeup,
};
pub use error::Error;
pub use frames::{Descriptor, FrameId, OnWire, Side};
pub use frames::{ecn_field, frame, value_field};
pub use link::{Announce, Link};
pub use only::{Kind, Only};
pub use ports::Port;
pub use report::{Bypassed, CodePoints, DirectionReport, Inside, LinkReport, Lost, WireValues};
pub use taps::{Crossed, Crossing, CrossingConfig, Identity, Seen, Tap};
pub use time::{Lateness, become_realtime, monotonic};
pub use watching::Watching;

// Of the public items above.
pub use quell_measure::{Direction, Hop, Hops};
