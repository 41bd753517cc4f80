//! Report cards of queues: one command says what a queue does to every kind of traffic, by the scenarios of RFC 7928.
//!
//! * [`Profile`]: the path, and the number of flows that follows from it.
//! * [`suite`]: what there is to run; each scenario is in a table, [`rfc7928`], [`l4s`] or [`access`].
//! * [`Request`]: what is asked for; [`Prepared`]: the sweep that answers it, cell by cell.
//! * [`card()`] makes a [`Card`]: the figures over the seeds, beside drop-tail, with [verdicts](verdict) against named thresholds.
//! * [`html`]: the card as a page, with [distributions] and the [graph] of delay against goodput.
//!
//! A characterization is a sweep of `quell_lab::sweep`: it resumes, runs in parallel, and keeps what is done.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod access;
pub mod card;
mod directions;
pub mod distributions;
pub mod figures;
pub mod graph;
pub mod html;
pub mod item;
mod json;
mod judge;
pub mod l4s;
mod look;
pub mod losses;
mod make;
pub mod profile;
mod queue;
pub mod rates;
pub mod request;
pub mod rfc7928;
mod schema;
pub mod suite;
pub mod traffic;
pub mod verdict;

pub use card::Card;
pub use figures::{Beside, Figure};
pub use item::Item;
pub use json::json;
pub use make::{card, simulated};
pub use profile::{Congestion, Profile};
pub use request::{Prepared, Request};
pub use schema::schema;
pub use suite::Suite;
