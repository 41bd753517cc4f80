//! Test cases of Curvy RED.

use super::CurvyRedController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const STEEP: Given = &[("range", "20ms")];

impl Tested for CurvyRedController {
    const TEST_CASES: TestCases = TestCases {
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
        sensitivity: &[
            (&[], "limit", "20p", "200p"),
            (&[], "range", "500ms", "50ms"),
            (STEEP, "min_th", "0s", "10ms"),
            (STEEP, "g_c", "5", "2"),
            (STEEP, "u", "1", "2"),
            (STEEP, "ecn", "true", "false"),
        ],
    };
}
