//! Report cards of queues: one command says what a queue does to every kind of traffic, by the scenarios of RFC 7928.
//!
//! * [`Profile`]: the path, and the number of flows that follows from it.
//! * [`Suite`]: the test cases and the thresholds, a file of `suites/` or of a user.
//! * [`Request`]: a request for a card; [`Prepared`]: the sweep that answers it, cell by cell.
//! * [`card()`] makes a [`Card`]: the figures over the seeds, beside drop-tail, with [verdicts](verdict) against named thresholds.
//! * [`document`]: the card as a page, with [distributions] and the [graph] of delay against goodput.
//!
//! Its runs are cells of `quell_lab::sweep`: a characterization resumes, runs in parallel, and keeps what is done.

mod build_card;
pub mod card;
mod directions;
pub mod distributions;
pub mod document;
mod error;
pub mod figures;
pub mod graph;
mod json;
mod judge;
pub mod losses;
pub mod measured;
mod notes;
mod packet_log;
pub mod prepared;
pub mod profile;
mod queue;
pub mod rates;
pub mod request;
mod run_figures;
mod runs;
mod schema;
mod seeds;
pub mod sheet;
pub mod suite;
pub mod test_case;
mod traffic;
pub mod verdict;

pub use build_card::{card, simulated};
pub use card::Card;
pub use error::{Error, ProfileFault};
pub use figures::{Beside, Figure};
pub use json::json;
pub use prepared::Prepared;
pub use profile::{Congestion, Profile};
pub use request::Request;
pub use schema::schema;
pub use suite::Suite;
pub use test_case::TestCase;
