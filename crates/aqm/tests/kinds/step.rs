//! Step marking.

use quell_aqm::{DropReason, Ecn};

use super::Kind;

pub const STEP: Kind = Kind {
    name: "step",
    forms: &[
        &[],
        &[("limit", "30kB"), ("threshold", "3p"), ("at", "enqueue")],
        &[
            ("limit", "50ms"),
            ("threshold", "5ms"),
            ("at", "enqueue"),
            ("not_ect", "pass"),
        ],
        &[("threshold", "0p"), ("limit", "20p")],
    ],
    allows: |reason, queued, ecn| match reason {
        DropReason::Limit => !queued,
        // Only what cannot be marked.
        DropReason::Aqm => ecn == Ecn::NotEct,
        _ => false,
    },
    knobs: &[
        (&[("threshold", "20ms")], "limit", "5", "1000"),
        (&[], "threshold", "1ms", "5p"),
        (&[], "at", "dequeue", "enqueue"),
        (&[], "not_ect", "drop", "pass"),
    ],
};
