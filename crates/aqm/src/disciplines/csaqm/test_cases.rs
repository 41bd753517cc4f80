//! Test cases of CSAQM on a virtual queue and on the queue itself.

use super::CsaqmController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const QUEUE: Given = &[("measure", "queue")];
const Q: Given = &[("variant", "q")];
const V: Given = &[("variant", "v")];

impl Tested for CsaqmController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("variant", "b"), ("measure", "queue"), ("limit", "20p")],
            &[
                ("variant", "b_smooth"),
                ("ecn", "false"),
                ("default_value", "900"),
                ("serving_rate", "0.5"),
            ],
            &[
                ("variant", "v"),
                ("interval", "1ms"),
                ("vq_limit", "20ms"),
                ("highest_value", "1000"),
            ],
            &[("variant", "v"), ("measure", "queue")],
            &[("variant", "q"), ("measure", "queue")],
            &[("measure", "queue"), ("ecn", "false"), ("target", "1ms")],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            // Whether the rest may be dropped hangs on `ecn`; the tests of the discipline look.
            DropReason::Value => queued || ecn == Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (&[], "variant", "r", "q"),
            (&[], "variant", "q", "b"),
            (&[], "variant", "b_smooth", "v"),
            (&[], "measure", "virtual", "queue"),
            (&[], "target", "10ms", "5ms"),
            (QUEUE, "target", "5ms", "10ms"),
            (&[], "serving_rate", "0.984375", "0.5"),
            (Q, "vq_limit", "200ms", "10ms"),
            (V, "vq_limit", "200ms", "6ms"),
            (&[], "interval", "10ms", "1ms"),
            (&[], "recovery", "40ms", "20ms"),
            (Q, "alpha", "0.32", "3"),
            (Q, "beta", "6.4", "1"),
            (&[], "limit", "250ms", "3p"),
            (&[], "ecn", "true", "false"),
            (&[], "default_value", "1", "65535"),
            (&[], "highest_value", "65535", "500"),
        ],
    };
}
