//! Test cases of CoDel in both forms.

use super::CodelController;
use crate::observer::DropReason;
use crate::test_cases::{Given, TestCases, Tested};

const RFC: Given = &[("form", "rfc8289")];
const CE: Given = &[("ce_threshold", "1ms")];
const CE_MASKED: Given = &[("ce_threshold", "1ms"), ("ce_threshold_mask", "3")];

impl Tested for CodelController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("ecn", "true"), ("limit", "20"), ("ce_threshold", "1ms")],
            &[("target", "1us"), ("interval", "1us"), ("limit", "30kB")],
            &[("form", "rfc8289")],
            &[
                ("form", "rfc8289"),
                ("ecn", "true"),
                ("target", "1us"),
                ("interval", "1ms"),
                ("limit", "20ms"),
            ],
        ],
        allows: |reason, queued, _| match reason {
            DropReason::Limit => !queued,
            // Without ecn it drops ECN-capable packets too.
            DropReason::Aqm | DropReason::Reconfigured => queued,
            DropReason::Memory | DropReason::Overload | DropReason::Value | DropReason::Drained => {
                false
            }
        },
        sensitivity: &[
            (&[], "form", "linux", "rfc8289"),
            (&[], "limit", "20p", "1000"),
            (RFC, "limit", "20p", "30kB"),
            (&[], "target", "5ms", "20ms"),
            (RFC, "target", "5ms", "20ms"),
            (&[], "interval", "100ms", "50ms"),
            (RFC, "interval", "100ms", "50ms"),
            (&[], "ecn", "false", "true"),
            (RFC, "ecn", "false", "true"),
            (&[], "ce_threshold", "1ms", "10ms"),
            (CE_MASKED, "ce_threshold_selector", "1", "2"),
            (CE, "ce_threshold_mask", "0", "1"),
        ],
    };
}
