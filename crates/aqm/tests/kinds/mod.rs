//! What the shared tests know of each kind: where it starts, which drops its source allows, and what each parameter changes.
//! One file for each family, one line each here; a kind that is missing fails the tests.
// Each test binary uses its part, and none of it is part of an interface.
#![allow(dead_code, unreachable_pub)]

mod cobalt;
mod codel;
mod csaqm;
mod curvy_red;
mod drop_min_value;
mod dualpi2;
mod dualq_2015;
mod dualq_curvy_red;
mod fifo;
mod fq_codel;
mod fq_pie;
mod gsp;
mod pi2;
mod pie;
mod pvpie;
mod red;
mod step;
mod vdq_csaqm;

use quell_aqm::{DropReason, Ecn};

/// Parameters and their values.
pub type Given = &'static [(&'static str, &'static str)];

/// What there is to know of a kind.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// Starting points worth a run of their own.
    pub forms: &'static [Given],
    /// Whether the source allows this drop of a packet that was offered with this code point; `queued` if it had been accepted.
    pub allows: fn(reason: DropReason, queued: bool, ecn: Ecn) -> bool,
    /// Context, parameter, and two values that must lead to different fates.
    pub knobs: &'static [(Given, &'static str, &'static str, &'static str)],
}

#[rustfmt::skip] // One line for each, so that additions do not collide.
const KINDS: &[&Kind] = &[
    &fifo::FIFO,
    &dualpi2::DUALPI2,
    &dualq_2015::DUALQ_2015,
    &dualq_curvy_red::DUALQ_CURVY_RED,
    &codel::CODEL,
    &pie::PIE,
    &gsp::GSP,
    &fq_codel::FQ_CODEL,
    &pi2::PI2,
    &step::STEP,
    &red::RED,
    &cobalt::COBALT,
    &curvy_red::CURVY_RED,
    &fq_pie::FQ_PIE,
    &drop_min_value::DROP_MIN_VALUE,
    &csaqm::CSAQM,
    &pvpie::PVPIE,
    &vdq_csaqm::VDQ_CSAQM,
];

/// What is known of `kind`.
pub fn of(kind: &str) -> &'static Kind {
    let known = KINDS.iter().find(|known| known.name == kind);
    known.unwrap_or_else(|| panic!("the shared tests do not know {kind}"))
}

/// Whether the source of `kind` allows this drop.
pub fn allows(kind: &str, reason: DropReason, queued: bool, ecn: Ecn) -> bool {
    match reason {
        DropReason::Drained => queued,
        _ => (of(kind).allows)(reason, queued, ecn),
    }
}

/// Kind, context, parameter and the two values, of all kinds.
pub fn knobs() -> impl Iterator<
    Item = (
        &'static str,
        Given,
        &'static str,
        &'static str,
        &'static str,
    ),
> {
    KINDS.iter().flat_map(|kind| {
        let knobs = kind.knobs.iter();
        knobs.map(|&(context, key, one, other)| (kind.name, context, key, one, other))
    })
}
