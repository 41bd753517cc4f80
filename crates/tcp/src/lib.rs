//! Sans-I/O TCP: a sender and a receiver that behave like Linux's, and an end that has both.
//!
//! Each is a state machine. Its host passes it segments and the time, asks it for segments to send
//! ([`Sender::poll`], [`Receiver::poll`], until they return `None`), and wakes it when a timer is due.
//! Nothing here reads a clock; the time of a call is never before that of the previous call. Sequence
//! numbers are 64-bit offsets into the stream, so they never wrap. SYN occupies no sequence space; FIN
//! occupies one number after the last byte, as in RFC 9293.
//!
//! * [`segment`]: the segments that they exchange.
//! * [`config`]: how an end behaves.
//! * [`cc`]: congestion controls, one file each, with static dispatch.
//! * [`sender`]: transmission, the scoreboard, loss recovery, timers.
//! * [`receiver`]: reassembly, acknowledgements, ECN feedback.
//! * [`connection`]: an end that has both, for data in both directions.
//!
//! Functions and fields have the names of RFCs and of Linux (`snd_una`, `ssthresh`, `tso_should_defer`),
//! so that the code can be read beside them. Congestion windows are counted in segments, as in Linux.
//! The crate panics only on a broken invariant of its own, never because of a caller or a segment.

#![forbid(unsafe_code)]

pub mod cc;
mod challenge;
pub mod config;
pub mod connection;
mod ecn;
mod flags;
pub mod prefetch;
pub mod receiver;
pub mod segment;
pub mod sender;
mod ticks;

pub use cc::CcConfig;
pub use config::{ReceiveBuffer, ReceiverConfig, SenderConfig};
pub use connection::Connection;
pub use ecn::option::{AccEcnOption, Order};
pub use ecn::{AccEcnOptionUse, Codepoint, EcnMode, EctScope, FeedbackMode};
pub use flags::Flags;
pub use receiver::Receiver;
pub use segment::{Sack, SackBlocks, Segment};
pub use sender::{Sender, SenderStats};
pub use ticks::Ticks;
