//! A queue discipline of one's own: [`blue`].
#![forbid(unsafe_code)]

pub mod blue;

pub use blue::Blue;
