//! The experiments, by the section of `docs/evidence/published.md` that has their text.

pub mod bbr;
pub mod bbr_beside_cubic;
pub mod bbr_bounded;
pub mod call;
pub mod compound;
pub mod cubic;
pub mod dualq2015;
pub mod fq_codel;
pub mod gateway;
pub mod gateway_controls;
pub mod gateway_sweep;
pub mod independence;
pub mod overload;
pub mod pairs;
pub mod pie;
pub mod prague;
pub mod protection;
pub mod red;
pub mod slides;
pub mod step;
pub mod synchronisation;
pub mod vdq;
pub mod vdq_bbr;
