//! Test cases of Drop-minimum-value in both forms.

use super::DropMinValue;
use crate::observer::DropReason;
use crate::test_cases::{Given, TestCases, Tested};

const FIFO: Given = &[("form", "fifo"), ("limit", "20p")];

impl<P> Tested for DropMinValue<P> {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("limit", "20p"), ("default_value", "1000")],
            &[("limit", "30kB")],
            &[("limit", "1000p")],
            &[("limit", "1p")],
            &[
                ("form", "fifo"),
                ("limit", "20p"),
                ("default_value", "1000"),
            ],
            &[
                ("form", "fifo"),
                ("limit", "10ms"),
                ("buffer", "2"),
                ("highest_value", "300"),
            ],
            &[("form", "fifo"), ("limit", "1500B"), ("buffer", "1")],
        ],
        allows: |reason, queued, _| match reason {
            // What never fits, and what finds the FIFO itself full.
            DropReason::Limit => !queued,
            // The arriving packet, another one, or one that was condemned.
            DropReason::Value => true,
            DropReason::Reconfigured => queued,
            _ => false,
        },
        sensitivity: &[
            (&[("limit", "20p")], "form", "ideal", "fifo"),
            (&[], "limit", "20p", "30kB"),
            (FIFO, "limit", "20p", "30kB"),
            (FIFO, "buffer", "1", "4"),
            (FIFO, "highest_value", "100", "65535"),
            (
                &[("form", "fifo"), ("limit", "1p")],
                "default_value",
                "1",
                "3000",
            ),
            (&[("limit", "1p")], "default_value", "1", "3000"),
        ],
    };
}
