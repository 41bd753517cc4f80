//! Test cases of PI2.

use super::Pi2Controller;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

/// Makes overload begin at p' = 1/20.
const K20: Given = &[("coupling_factor", "20")];

impl Tested for Pi2Controller {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("limit", "30p"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
                ("alpha", "10"),
                ("beta", "100"),
                ("any_ect", "true"),
            ],
            &[
                ("limit", "40kB"),
                ("overflow", "true"),
                ("drop_dequeue", "true"),
                ("target", "1ms"),
                ("alpha", "10"),
            ],
            &[
                ("ecn", "false"),
                ("limit", "50ms"),
                ("drop_dequeue", "true"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            DropReason::Reconfigured => queued,
            // ECN packets too with noecn.
            DropReason::Aqm => true,
            DropReason::Overload => ecn != Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (&[], "limit", "10", "1000"),
            (&[], "target", "20ms", "5ms"),
            (&[], "tupdate", "32ms", "10ms"),
            (&[], "alpha", "0.3", "2"),
            (&[], "beta", "3", "10"),
            (&[], "coupling_factor", "2", "8"),
            (&[], "ecn", "true", "false"),
            (&[], "any_ect", "false", "true"),
            (K20, "overflow", "false", "true"),
            (&[], "drop_dequeue", "false", "true"),
        ],
    };
}
