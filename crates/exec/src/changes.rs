//! Changes of the link that were made while the program ran.

use std::collections::BTreeMap;

use serde::Serialize;

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Made {
    /// When, in seconds since the link began.
    pub(crate) time_s: f64,
    /// What has changed, as it was asked for.
    pub(crate) set: BTreeMap<String, String>,
    /// Who asked: `control` or `page`.
    pub(crate) by: &'static str,
}
