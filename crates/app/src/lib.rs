//! Applications without sockets: the same code runs over modelled and over real hosts.
//!
//! An application is two ends of a flow. Each end is a state machine: its host polls it with what
//! happened and carries out the [`Action`]s that come back. An end never reads a clock and cannot
//! know whether its host is real.
//!
//! * [`kinds`]: every kind of application, one file and one line each; [`kind`]: what a kind declares,
//!   with its presets ([`PresetSettings`]) and what it takes from the path ([`ApplicationKind::settle`]).
//! * [`kinds`]: every kind of application, one file and one line each; [`kind`]: the declaration of a kind,
//! * [`contract`]: what passes between an end and its host; [`message`]: messages on a stream;
//! * [`datagrams`]: the common part of kinds that send datagrams.
//! * [`contract`]: the calls between an end and its host; [`message`]: messages on a stream;
//! * [`repairs`]: what TCP repaired while it carried an event.
//! * [`report`]: the figures that kinds report; [`durations`]: how long things took.
//! * [`repairs`]: the repairs of TCP while it carried an event.
//! * [`normal`], [`exponential`]: random lengths of time, from integer tables; [`random_sizes`]: random sizes.
//!* [`video`]: the common part of interactive video.
//! # The life of a flow
//!
//! 1. [`Input::Started`]: the flow begins. It goes to both ends of datagrams. Of a stream it goes to
//!    the end whose host opens connections, which answers [`Action::Open`], now or later.
//! 2. [`Input::Opened`] at both ends: a connection is up.
//! 3. Wakes and arrivals, in any number.
//! 4. An end that has no more to send on a connection says [`Action::Finish`]. When both directions
//!    are closed, [`Input::Closed`] goes to both ends.
//! 5. The end that opens connections may open the next one at any time after that.
//!
//! A flow that is stopped from outside ends as if its sender had finished.
//!
//! # Sessions
//!
//! A kind whose flow is more than that declares a [`Session`]: connections that either end may open,
//! several at once, with data in both directions and messages.
//!
//! 1. [`Input::Started`] goes to the end that opens connections. It may [`Action::Open`] any that is
//!    free, at any time.
//! 2. [`Input::Opened`] at each end: the connection is up there. Either end may send at once.
//! 3. Each end says [`Action::Finish`] when it has no more to send; [`Input::Ended`] goes to the other
//!    end when everything has arrived. When both have, [`Input::Closed`] goes to both.
//! 4. Either end may [`Action::Abort`] instead; [`Input::Failed`] goes to the other one.
//!
//! An end that prefers new data to old gives its connection one piece at a time, and asks with
//! [`Action::WhenSent`] when the next may follow.
//!
//! Wakes belong to the flow, not to a connection, at either end. A flow of a session that is stopped
//! from outside sends and opens nothing more.
//!
//! Datagrams may go both ways, if the kind says so ([`Datagrams::both_ways`]).
//!
//! # Changes during a run
//!
//! A scenario knows them before the run begins, and so does each end: it is made with all of them
//! ([`AppConfig::end_with`]), and no host does anything when their time comes. What an end plans depends on
//! its seed and on these times only, in every world.

#![forbid(unsafe_code)]

pub mod causes;
pub mod contract;
pub mod datagrams;
pub mod durations;
mod elementary;
pub mod event;
pub mod exchange;
pub mod exponential;
pub mod game;
pub mod kind;
pub mod kinds;
pub mod message;
pub mod normal;
pub mod random_sizes;
pub mod recent;
pub mod repairs;
pub mod report;
mod timed_value;
pub mod video;
pub mod voice;

pub use causes::{Causes, SLOW};
pub use contract::{
    Action, Application, Content, Data, Ends, Input, Role, Session, Transport, UNSENT,
};
pub use datagrams::{DatagramReport, Datagrams, Delays, Earlier, MAX_DATAGRAM, MIN_DATAGRAM};
pub use durations::Durations;
pub use event::{Carrier, ConnectionId, Event, EventInfo, Outcome};
pub use kind::{ApplicationKind, Path, PresetSettings};
pub use kinds::bulk::BulkReport;
pub use kinds::on_off::{BurstReport, OnOffReport};
pub use kinds::program::ProgramReport;
pub use kinds::transfer::TransferReport;
pub use kinds::web::{ItemsReport, PagesReport, WebReport};
pub use kinds::{
    App, AppChanges, AppConfig, Bulk, Cbr, Entry, Game, KINDS, NAMES, OnOff, Program, Report,
    Transfer, Voice, Web, find,
};
pub use message::{Arrived, Deframer, Message, Piece};
pub use quell_units::{Distribution, Interval, Period};
pub use random_sizes::{NumberedSizes, RandomSize};
pub use repairs::{Cause, Counted, EndRepairs, Notes, Recorded, Repairs};
pub use report::{
    Column, Figure, FigureInfo, Form, FormInfo, KindReport, Notation, Part, Quantity, Times, Value,
    in_ms,
};

#[cfg(test)]
mod scripted;

#[cfg(test)]
pub(crate) use contract::answer;
