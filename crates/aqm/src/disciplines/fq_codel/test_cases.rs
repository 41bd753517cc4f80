//! Test cases of FQ-CoDel.

use super::FqCodel;
use crate::observer::DropReason;
use crate::test_cases::{Given, TestCases, Tested};

const CE: Given = &[("ce_threshold", "1ms")];
const CE_MASKED: Given = &[("ce_threshold", "1ms"), ("ce_threshold_mask", "3")];

impl<P> Tested for FqCodel<P> {
    const TEST_CASES: TestCases = TestCases {
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
        sensitivity: &[
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
}
