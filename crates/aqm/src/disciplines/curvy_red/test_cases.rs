//! Trials of Curvy RED.

use crate::kind::{Given, Trials};
use crate::observer::DropReason;
use crate::packet::Ecn;

const STEEP: Given = &[("range", "20ms")];

/// What the shared tests need to know.
pub(super) const TRIALS: Trials = Trials {
    forms: &[
        &[],
        &[("range", "10ms"), ("ecn", "false"), ("limit", "30p")],
        &[
            ("range", "2ms"),
            ("min_th", "1ms"),
            ("g_c", "0"),
            ("u", "2"),
        ],
    ],
    allows: |reason, queued, ecn| match reason {
        DropReason::Aqm => queued,
        // Where every packet is signalled.
        DropReason::Overload => queued && ecn != Ecn::NotEct,
        DropReason::Limit => !queued,
        _ => false,
    },
    knobs: &[
        (&[], "limit", "20p", "200p"),
        (&[], "range", "500ms", "50ms"),
        (STEEP, "min_th", "0s", "10ms"),
        (STEEP, "g_c", "5", "2"),
        (STEEP, "u", "1", "2"),
        (STEEP, "ecn", "true", "false"),
    ],
};
