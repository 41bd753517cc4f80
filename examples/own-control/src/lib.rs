//! A congestion control of one's own: [`gaimd`].
#![forbid(unsafe_code)]

pub mod gaimd;

pub use gaimd::Gaimd;

/// What this crate adds to quell.
pub fn extensions() -> quell::Extensions {
    quell::extensions!().control::<Gaimd>()
}
