//! Test cases of Global Synchronization Protection.

use super::GspController;
use crate::observer::DropReason;
use crate::test_cases::{Given, TestCases, Tested};

const TIGHT: Given = &[("threshold", "2p"), ("limit", "6p"), ("interval", "4ms")];
const ADAPTIVE: Given = &[("adaptive", "true"), ("interval", "20ms"), ("limit", "1s")];

impl Tested for GspController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[("threshold", "5p"), ("limit", "20p"), ("interval", "1ms")],
            &[
                ("threshold", "1500B"),
                ("limit", "30kB"),
                ("adaptive", "true"),
                ("count_arriving", "true"),
                ("ecn", "true"),
            ],
            &[
                ("threshold", "1ms"),
                ("limit", "20ms"),
                ("delay", "sojourn"),
                ("interval", "2ms"),
                ("limit_first", "true"),
                ("overflow_restarts", "true"),
            ],
        ],
        // Both before the packet is accepted; one that could be marked is dropped where it does not fit.
        allows: |reason, queued, _| {
            matches!(reason, DropReason::Aqm | DropReason::Limit) && !queued
        },
        sensitivity: &[
            (&[], "threshold", "5ms", "100kB"),
            (&[], "interval", "200ms", "50ms"),
            (&[], "limit", "20ms", "40p"),
            (&[], "adaptive", "false", "true"),
            (ADAPTIVE, "tau", "1s", "10ms"),
            (ADAPTIVE, "alpha", "2", "0.5"),
            (ADAPTIVE, "max_time", "60s", "10ms"),
            (&[], "delay", "backlog", "sojourn"),
            (TIGHT, "count_arriving", "false", "true"),
            (TIGHT, "limit_first", "false", "true"),
            (TIGHT, "overflow_restarts", "false", "true"),
            (&[], "ecn", "false", "true"),
        ],
    };
}
