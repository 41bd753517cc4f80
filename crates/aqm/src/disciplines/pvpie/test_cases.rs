//! Test cases of PVPIE and TL-PVPIE.

use super::PvpieController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

/// Gains and a target with which a few hundred packets move the probability far.
const QUICK: Given = &[
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("max_burst", "1ms"),
];
const QUICK_ECN: Given = &[
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("max_burst", "1ms"),
    ("ecn", "true"),
];
const TWO: Given = &[
    ("levels", "2"),
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("max_burst", "1ms"),
];
/// All packets but some are worth the same.
const TIES: Given = &[
    ("highest_value", "2"),
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("max_burst", "1ms"),
];

impl Tested for PvpieController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("limit", "20p"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("alpha", "32"),
                ("beta", "32"),
                ("max_burst", "0s"),
                ("ecn", "true"),
                ("window", "20ms"),
                ("highest_value", "2047"),
            ],
            &[
                ("levels", "2"),
                ("limit", "30kB"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("threshold_update", "700us"),
                ("phi", "16"),
                ("psi", "0"),
                ("max_burst", "0s"),
                ("ecn", "true"),
                ("max_ecnth", "1"),
                ("highest_value", "2047"),
            ],
            &[
                ("limit", "50ms"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("max_burst", "0s"),
                ("ties", "pass"),
                ("highest_value", "300"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit | DropReason::Value => !queued,
            // ECN packets too, but only where the probability has become too high for marks.
            DropReason::Overload => !queued && ecn != Ecn::NotEct,
            DropReason::Reconfigured => queued,
            _ => false,
        },
        sensitivity: &[
            (QUICK, "levels", "1", "2"),
            (QUICK, "limit", "5p", "1000p"),
            (QUICK, "target", "2ms", "1ms"),
            (QUICK, "tupdate", "2ms", "4ms"),
            (QUICK, "alpha", "32", "8"),
            (QUICK, "beta", "32", "8"),
            (QUICK, "max_burst", "150ms", "0s"),
            (QUICK, "window", "1s", "50ms"),
            (TWO, "window", "1s", "50ms"),
            (TWO, "threshold_update", "10ms", "3ms"),
            (TWO, "phi", "0.125", "1"),
            (TWO, "psi", "1.25", "0"),
            (TIES, "ties", "share", "pass"),
            (QUICK, "ecn", "false", "true"),
            (QUICK_ECN, "max_ecnth", "0.1", "0.9"),
            (QUICK, "default_value", "1", "2000"),
            (QUICK, "highest_value", "300", "65535"),
        ],
    };
}
