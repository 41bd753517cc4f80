//! Test cases of FQ-PIE.

use super::FqPie;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

/// Gains and a target with which a few hundred packets move the probability far.
const QUICK: Given = &[
    ("flows", "2"),
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
];
const QUICK_ECN: Given = &[
    ("flows", "2"),
    ("target", "2ms"),
    ("tupdate", "2ms"),
    ("alpha", "32"),
    ("beta", "32"),
    ("ecn", "true"),
];

impl<P> Tested for FqPie<P> {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("flows", "2"),
                ("quantum", "1B"),
                ("limit", "20"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("alpha", "32"),
                ("beta", "32"),
                ("ecn", "true"),
            ],
            &[
                ("flows", "1"),
                ("memory_limit", "30kB"),
                ("dq_rate_estimator", "true"),
            ],
            &[("flows", "4097"), ("bytemode", "true"), ("quantum", "1MB")],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit | DropReason::Memory | DropReason::Aqm => !queued,
            // ECN packets too, but only where the probability has become too high for marks.
            DropReason::Overload => !queued && ecn != Ecn::NotEct,
            DropReason::Reconfigured => queued,
            DropReason::Value | DropReason::Drained => false,
        },
        sensitivity: &[
            (QUICK, "limit", "5", "10240"),
            (QUICK, "memory_limit", "10kB", "32MiB"),
            (&[], "flows", "1", "1024"),
            (&[], "quantum", "300B", "3000B"),
            (QUICK, "target", "2ms", "1ms"),
            (QUICK, "tupdate", "2ms", "4ms"),
            (QUICK, "alpha", "32", "8"),
            (QUICK, "beta", "32", "8"),
            (QUICK, "ecn", "false", "true"),
            (QUICK_ECN, "ecn_prob", "10", "1"),
            (QUICK, "bytemode", "false", "true"),
            (QUICK, "dq_rate_estimator", "false", "true"),
        ],
    };
}
