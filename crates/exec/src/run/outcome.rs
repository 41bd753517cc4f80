//! What a run was.

use std::path::PathBuf;

use quell_measure::{LinkResults, Summary};
use serde_json::Value;

use crate::error::Error;
use crate::experience::UserImpact;
use crate::program::Ended;
use crate::verdict::Limits;

/// What a run was.
#[derive(Debug)]
pub struct Outcome {
    /// How the program ended.
    pub ended: Ended,
    /// Its figures.
    pub summary: Summary,
    /// Figures of each direction of the link, limited or not.
    pub links: Vec<LinkResults>,
    /// Who limited.
    pub limits: Limits,
    /// What the user felt.
    pub impact: UserImpact,
    /// All that is in `exec.json`.
    pub exec: Value,
    /// That what the link was in front of is gone, in words.
    pub gone: Option<String>,
    /// Where the result is.
    pub folder: Option<PathBuf>,
    /// Why it is nowhere although it was asked for: the program has run all the same.
    pub unwritten: Option<Error>,
}
