//! Test cases of the DualQ with Curvy RED of RFC 9332 appendix B.

use super::DualQCurvyRedController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const WRR: Given = &[("scheduler", "wrr")];
const INTEGER: Given = &[("arithmetic", "integer")];
const PROTECTED: Given = &[("protection", "docsis")];
const ONE_BIT: Given = &[("protection", "docsis"), ("bucket_bits", "1")];
/// Overload within the buffer.
const SHORT: Given = &[("range_c", "20ms")];

impl Tested for DualQCurvyRedController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("arithmetic", "integer"),
                ("range_c", "62.5ms"),
                ("u", "2"),
                ("any_ect", "true"),
                ("limit", "40kB"),
            ],
            &[
                ("range_c", "20ms"),
                ("input", "classic"),
                ("overflow", "true"),
                ("scheduler", "credit"),
            ],
            &[
                ("range_c", "20ms"),
                ("asymmetric", "true"),
                ("scheduler", "strict"),
                ("protection", "docsis"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            DropReason::Reconfigured => queued,
            // Only what cannot be marked is dropped by the AQM, and ECN packets only in overload.
            DropReason::Aqm => queued && ecn == Ecn::NotEct,
            DropReason::Overload => queued && ecn != Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (&[], "limit", "30kB", "250ms"),
            (&[], "arithmetic", "exact", "integer"),
            (&[], "coupling_exponent", "1", "3"),
            (&[], "g_c", "5", "1"),
            (INTEGER, "g_c", "5", "1"),
            (&[], "range_c", "500ms", "100ms"),
            (INTEGER, "range_c", "500ms", "125ms"),
            (&[], "min_th", "500us", "50ms"),
            (&[], "threshold", "1ms", "5ms"),
            (&[], "threshold", "1ms", "5p"),
            (&[], "u", "1", "2"),
            (&[], "any_ect", "false", "true"),
            (SHORT, "overflow", "false", "true"),
            (SHORT, "input", "longest", "classic"),
            (&[], "asymmetric", "false", "true"),
            (&[], "scheduler", "ts_fifo", "wrr"),
            (&[], "scheduler", "ts_fifo", "strict"),
            (&[("scheduler", "credit")], "classic_protection", "10", "50"),
            (WRR, "wrr_ratio", "15", "1"),
            (WRR, "wrr_unit", "bytes", "packets"),
            (&[], "tshift", "50ms", "1ms"),
            (&[], "protection", "none", "docsis"),
            (PROTECTED, "critical_ql", "1ms", "20ms"),
            (PROTECTED, "critical_ql_score", "4ms", "1s"),
            (PROTECTED, "lg_aging", "19", "25"),
            (PROTECTED, "max_ql_score", "5s", "1us"),
            (PROTECTED, "bucket_bits", "0", "5"),
            (ONE_BIT, "attempts", "1", "2"),
        ],
    };
}
