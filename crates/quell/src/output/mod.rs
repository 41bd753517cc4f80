//! What commands print: the page, its tables and pictures, and the progress of runs.

pub(crate) mod applications;
pub(crate) mod delay_picture;
pub(crate) mod grid;
pub(crate) mod group_figures;
pub(crate) mod headline;
pub(crate) mod labels;
pub(crate) mod merge_warnings;
pub(crate) mod outcomes;
pub(crate) mod page;
pub(crate) mod phases;
pub(crate) mod progress;
pub(crate) mod spread;
pub(crate) mod summary_table;
pub(crate) mod terminal;
