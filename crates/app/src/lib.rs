//! Applications without sockets: the same code runs over modelled and over real hosts.
//!
//! An application is two ends of a flow. Each end is a state machine: its host polls it with what
//! happened and carries out the [`Action`]s that come back. An end never reads a clock and cannot
//! tell whether its host is real.
//!
//! * [`kinds`]: every kind of application, one file and one line each; [`kind`]: what a kind declares.
//! * [`datagrams`]: what kinds that send datagrams share.
//! * [`contract`]: what passes between an end and its host.
//! * [`report`]: the figures that kinds report; [`durations`]: how long things took.
//! * [`normal`], [`exponential`]: random lengths of time, from integer tables.
//!
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
//! # What the contract leaves room for
//!
//! Inputs and actions name their connection, either end may send, and an answer may have several
//! actions, so these need no other contract:
//!
//! * **Several connections at once** (a browser): the end opens further [`ConnectionId`]s. Today's
//!   hosts carry one connection of a flow at a time.
//! * **Requests and responses**: [`Action::Send`] at either end of one connection. Real hosts can; the
//!   modelled TCP has data in one direction only. Message boundaries come from a framer in this crate,
//!   as a variant of [`Data`] and one of [`Input`] that carry a message's header.
//! * **A client that opens connections**: hosts send [`Input::Started`] to the receiving end, where a
//!   kind says so.
//! * **Datagrams in both directions**: [`Action::Datagram`] at either end, [`Application::sent`] at
//!   both. Today's modelled host sends those of the sending end only.
//! * **Think times**: [`Action::WakeAt`], at any time, connected or not.
//! * **Records of single events**: an action that hands one to the host's observer.

#![forbid(unsafe_code)]

pub mod contract;
pub mod datagrams;
pub mod durations;
pub mod exponential;
pub mod kind;
pub mod kinds;
pub mod normal;
pub mod report;

pub use contract::{Action, Application, ConnectionId, Data, Ends, Input, Role, Transport, UNSENT};
pub use datagrams::{DatagramReport, Datagrams, Delays, MAX_DATAGRAM, MIN_DATAGRAM};
pub use durations::Durations;
pub use kind::ApplicationKind;
pub use kinds::bulk::BulkReport;
pub use kinds::on_off::{BurstReport, OnOffReport};
pub use kinds::transfer::TransferReport;
pub use kinds::{App, AppConfig, Bulk, Cbr, Entry, KINDS, NAMES, OnOff, Report, Transfer, find};
pub use quell_units::{Distribution, Interval, Period};
pub use report::{
    Column, Figure, FigureInfo, Form, FormInfo, KindReport, Notation, Part, Quantity, Times, Value,
    in_ms,
};

#[cfg(test)]
pub(crate) use contract::answer;
