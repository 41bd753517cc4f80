//! Test cases of PIE in both forms.

use super::PieController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

/// Gains and a target with which a few hundred packets move the probability far.
const QUICK: Given = &[
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
];
const QUICK_ECN: Given = &[
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("ecn", "true"),
];
const RFC: Given = &[("form", "rfc8033"), ("on_off", "false")];
const RFC_QUICK: Given = &[
    ("form", "rfc8033"),
    ("on_off", "false"),
    ("max_burst", "1ms"),
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
];

impl Tested for PieController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("limit", "20p"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("alpha", "32"),
                ("beta", "32"),
                ("ecn", "true"),
                ("bytemode", "true"),
            ],
            &[("dq_rate_estimator", "true"), ("limit", "30kB")],
            &[("form", "rfc8033"), ("limit", "30p"), ("target", "1ms")],
            &[
                ("form", "rfc8033"),
                ("on_off", "false"),
                ("max_burst", "0s"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("alpha", "32"),
                ("beta", "32"),
                ("limit", "50ms"),
            ],
            &[
                ("form", "rfc8033"),
                ("dq_rate_estimator", "true"),
                ("derandomize", "false"),
                ("cap_drop", "false"),
                ("decay", "zero"),
                ("ecn", "false"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit | DropReason::Aqm => !queued,
            // ECN packets too, but only where the probability has become too high for marks.
            DropReason::Overload => !queued && ecn != Ecn::NotEct,
            DropReason::Reconfigured => queued,
            _ => false,
        },
        sensitivity: &[
            (QUICK, "form", "linux", "rfc8033"),
            (QUICK, "limit", "5p", "1000p"),
            (RFC, "limit", "5p", "5kB"),
            (QUICK, "target", "2ms", "1ms"),
            (RFC_QUICK, "target", "2ms", "1ms"),
            (QUICK, "tupdate", "2ms", "4ms"),
            (RFC_QUICK, "tupdate", "2ms", "4ms"),
            (QUICK, "alpha", "32", "8"),
            (RFC_QUICK, "alpha", "32", "8"),
            (QUICK, "beta", "32", "8"),
            (RFC_QUICK, "beta", "32", "8"),
            (QUICK, "ecn", "false", "true"),
            (RFC_QUICK, "ecn", "false", "true"),
            (QUICK, "bytemode", "false", "true"),
            (QUICK, "dq_rate_estimator", "false", "true"),
            (RFC_QUICK, "dq_rate_estimator", "false", "true"),
            (RFC_QUICK, "max_burst", "150ms", "0s"),
            (RFC_QUICK, "max_ecnth", "0.1", "0.001"),
            (RFC_QUICK, "mean_pktsize", "1500B", "5kB"),
            (RFC_QUICK, "on_off", "true", "false"),
            (RFC_QUICK, "derandomize", "true", "false"),
            (RFC_QUICK, "cap_drop", "true", "false"),
            (RFC_QUICK, "decay", "below_half", "zero"),
            (QUICK_ECN, "target", "2ms", "1ms"),
        ],
    };
}
