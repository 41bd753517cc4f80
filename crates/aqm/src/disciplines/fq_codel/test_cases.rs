//! Trials of FQ-CoDel.

use crate::kind::{Given, Trials};
use crate::observer::DropReason;

const CE: Given = &[("ce_threshold", "1ms")];
const CE_MASKED: Given = &[("ce_threshold", "1ms"), ("ce_threshold_mask", "3")];

/// What the shared tests need to know.
pub(super) const TRIALS: Trials = Trials {
    forms: &[
        &[],
        &[
            ("flows", "2"),
            ("quantum", "256B"),
            ("limit", "20"),
            ("ecn", "false"),
        ],
        &[
            ("memory_limit", "40kB"),
            ("drop_batch", "3"),
            ("target", "1us"),
            ("interval", "1us"),
        ],
        &[
            ("flows", "1"),
            ("ce_threshold", "1ms"),
            ("ce_threshold_selector", "1"),
            ("ce_threshold_mask", "1"),
        ],
    ],
    allows: |reason, queued, _| match reason {
        // A full queue drops what it had accepted, and with noecn CoDel drops ECN-capable packets too.
        DropReason::Aqm | DropReason::Limit | DropReason::Memory | DropReason::Reconfigured => {
            queued
        }
        DropReason::Overload | DropReason::Value | DropReason::Drained => false,
    },
    knobs: &[
        (&[], "limit", "20", "10240"),
        (&[], "memory_limit", "20kB", "32MiB"),
        (&[], "flows", "1", "1024"),
        (&[], "quantum", "300B", "1514B"),
        (&[("limit", "30")], "drop_batch", "1", "64"),
        (&[], "target", "5ms", "20ms"),
        (&[], "interval", "100ms", "50ms"),
        (&[], "ecn", "true", "false"),
        (&[], "ce_threshold", "1ms", "10ms"),
        (CE_MASKED, "ce_threshold_selector", "1", "2"),
        (CE, "ce_threshold_mask", "0", "1"),
    ],
};
