//! The text of a page in the making.

use std::fmt::Write as _;

/// Adds formatted text.
pub(super) fn add(body: &mut String, text: std::fmt::Arguments<'_>) {
    body.write_fmt(text).expect("a string takes everything");
}
