//! What commands print: the page, its tables and pictures, and the progress of runs.

pub(crate) mod delay_picture;
pub(crate) mod files;
pub(crate) mod outcomes;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod terminal;
