//! Test cases of the DualQ of 2015.

use super::DualQ2015Controller;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const L4S_ECT: Given = &[("any_ect", "false")];
const TIME: Given = &[("unit", "time")];
const WRR: Given = &[("scheduler", "wrr")];
const PROTECTED: Given = &[("protection", "docsis")];
const ONE_BIT: Given = &[("protection", "docsis"), ("bucket_bits", "1")];

impl Tested for DualQ2015Controller {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("limit", "30kB"), ("s_l", "30"), ("s_c", "28")],
            &[
                ("unit", "time"),
                ("scheduler", "ts_fifo"),
                ("tshift", "5ms"),
                ("protection", "docsis"),
            ],
            &[
                ("any_ect", "false"),
                ("ecn", "true"),
                ("s_c", "28"),
                ("scheduler", "credit"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            DropReason::Reconfigured => queued,
            // With `ecn` only what cannot be marked; L4S is never dropped.
            DropReason::Aqm => queued && matches!(ecn, Ecn::NotEct | Ecn::Ect0),
            _ => false,
        },
        sensitivity: &[
            (&[], "limit", "20p", "30kB"),
            (&[], "unit", "packets", "time"),
            (&[], "s_l", "27", "29"),
            (TIME, "s_l", "4", "6"),
            (&[], "threshold", "5p", "20p"),
            (TIME, "threshold", "1ms", "5ms"),
            (&[], "s_c", "26", "28"),
            (TIME, "s_c", "3", "6"),
            (&[], "f", "5", "1"),
            (&[], "any_ect", "true", "false"),
            (L4S_ECT, "ecn", "false", "true"),
            (&[], "scheduler", "strict", "ts_fifo"),
            (&[], "scheduler", "strict", "wrr"),
            (&[("scheduler", "credit")], "classic_protection", "10", "50"),
            (WRR, "wrr_ratio", "15", "1"),
            (WRR, "wrr_unit", "bytes", "packets"),
            (&[("scheduler", "ts_fifo")], "tshift", "50ms", "1ms"),
            (&[], "protection", "none", "docsis"),
            (PROTECTED, "critical_ql", "5ms", "50ms"),
            (PROTECTED, "critical_ql_score", "4ms", "10s"),
            (PROTECTED, "lg_aging", "19", "25"),
            (PROTECTED, "max_ql_score", "5s", "1us"),
            (PROTECTED, "bucket_bits", "0", "5"),
            (ONE_BIT, "attempts", "1", "2"),
        ],
    };
}
