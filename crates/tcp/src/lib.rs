//! TCP without sockets: a sender and a receiver that behave like Linux's.
//!
//! Each is a state machine: its host hands it segments and the time, asks it for segments to send
//! ([`Sender::poll`], [`Receiver::poll`], until `None`), and wakes it when a timer is due. Nothing
//! here reads a clock, and every call takes a time that is not before that of the previous call.
//! Sequence numbers are 64-bit offsets into the stream, so they never wrap. SYN occupies no
//! sequence space; FIN occupies one number behind the last byte, as in RFC 9293.
//!
//! * [`segment`]: what the two exchange.
//! * [`config`]: how an end behaves.
//! * [`cc`]: congestion controls, one file each, behind one enum.
//! * [`sender`]: transmission, the scoreboard, loss recovery, timers.
//! * [`receiver`]: reassembly, acknowledgements, ECN feedback.
//!
//! Windows are counted in segments, as in Linux. Panics: only on a broken invariant of this crate,
//! never on what a caller or a segment says.

#![forbid(unsafe_code)]

pub mod cache;
pub mod cc;
pub mod config;
mod ecn;
pub mod receiver;
pub mod segment;
pub mod sender;
mod ticks;

pub use cc::CcConfig;
pub use config::{AccEcnOptionUse, Codepoint, EcnMode, EctScope, ReceiverConfig, SenderConfig};
pub use ecn::FeedbackMode;
pub use ecn::option::{AccEcnOption, Order};
pub use receiver::{ReceiveBuffer, Receiver};
pub use segment::{Flags, Sack, SackBlocks, Segment};
pub use sender::{Sender, SenderStats};
pub use ticks::Ticks;
