//! Data for the tests that every kind of discipline must pass, in this crate and in others. The product does not read it.

use crate::kind::QueueKind;
use crate::observer::DropReason;
use crate::packet::Ecn;

/// A kind of discipline with data for the shared tests.
pub trait Tested: QueueKind {
    /// The data.
    const TEST_CASES: TestCases;
}

/// Parameters with their values.
pub type Given = &'static [(&'static str, &'static str)];

/// Settings that the shared tests try, and drops that they accept.
#[derive(Debug, Clone, Copy)]
pub struct TestCases {
    /// Settings with which the tests start.
    pub forms: &'static [Given],
    /// Whether the source of the discipline allows this drop of a packet that arrived with this code point. `queued` says that the packet had
    /// been accepted. Drops by [`Qdisc::drain`](crate::Qdisc::drain) are always allowed.
    pub allows: fn(reason: DropReason, queued: bool, ecn: Ecn) -> bool,
    /// For each parameter: other settings, the parameter, and two values with which packets must fare differently.
    pub sensitivity: &'static [(Given, &'static str, &'static str, &'static str)],
}
