//! Test cases of DualPI2 in both forms.

use super::DualPi2Controller;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const RFC: Given = &[("form", "rfc9332")];
/// Makes overload begin at p' = 1/20.
const K20: Given = &[("coupling_factor", "20")];
const RFC_K20: Given = &[("form", "rfc9332"), ("coupling_factor", "20")];
const RFC_TS_FIFO: Given = &[("form", "rfc9332"), ("scheduler", "ts_fifo")];
const PROTECTED: Given = &[("protection", "docsis")];
const ONE_BIT: Given = &[("protection", "docsis"), ("bucket_bits", "1")];

impl Tested for DualPi2Controller {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("limit", "30"),
                ("memlimit", "40kB"),
                ("drop_enqueue", "true"),
                ("any_ect", "true"),
            ],
            &[
                ("overflow", "true"),
                ("step_thresh", "5p"),
                ("target", "1ms"),
                ("tupdate", "1ms"),
            ],
            &[("form", "rfc9332")],
            &[
                ("form", "rfc9332"),
                ("scheduler", "ts_fifo"),
                ("target", "1ms"),
                ("limit", "40kB"),
            ],
            &[
                ("form", "rfc9332"),
                ("overflow", "true"),
                ("alpha", "10"),
                ("beta", "100"),
            ],
            &[
                ("protection", "docsis"),
                ("scheduler", "strict"),
                ("any_ect", "true"),
            ],
            &[
                ("form", "rfc9332"),
                ("protection", "docsis"),
                ("bucket_bits", "0"),
                ("wrr_unit", "packets"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit | DropReason::Memory => !queued,
            DropReason::Reconfigured => queued,
            // Only what cannot be marked is dropped by the AQM, and ECN packets only in overload.
            DropReason::Aqm => ecn == Ecn::NotEct,
            DropReason::Overload => ecn != Ecn::NotEct,
            DropReason::Value | DropReason::Drained => false,
        },
        sensitivity: &[
            (&[], "form", "linux", "rfc9332"),
            (&[], "limit", "10", "10000"),
            (RFC, "limit", "30kB", "250ms"),
            (&[], "memlimit", "20kB", "10MB"),
            (&[], "target", "15ms", "5ms"),
            (RFC, "target", "15ms", "5ms"),
            (&[], "tupdate", "16ms", "32ms"),
            (RFC, "tupdate", "15ms", "30ms"),
            (&[], "alpha", "0.16", "1"),
            (RFC, "alpha", "0.15", "1"),
            (&[], "beta", "3.2", "10"),
            (RFC, "beta", "3", "10"),
            (&[("max_rtt", "100ms")], "typical_rtt", "10ms", "20ms"),
            (&[("typical_rtt", "15ms")], "max_rtt", "60ms", "200ms"),
            (&[], "coupling_factor", "2", "8"),
            (RFC, "coupling_factor", "2", "8"),
            (&[], "any_ect", "false", "true"),
            (RFC, "any_ect", "false", "true"),
            (K20, "overflow", "false", "true"),
            (RFC_K20, "overflow", "false", "true"),
            (&[], "step_thresh", "1ms", "5ms"),
            (&[], "min_qlen_step", "0", "2"),
            (&[], "drop_enqueue", "false", "true"),
            (&[], "classic_protection", "10", "50"),
            (RFC, "min_th", "800us", "5ms"),
            (RFC, "range", "400us", "20ms"),
            (RFC, "th_len", "1p", "5p"),
            (&[], "scheduler", "credit", "ts_fifo"),
            (RFC, "scheduler", "wrr", "ts_fifo"),
            (RFC, "scheduler", "wrr", "strict"),
            (RFC, "wrr_ratio", "15", "1"),
            (RFC, "wrr_unit", "bytes", "packets"),
            (RFC_TS_FIFO, "tshift", "50ms", "1ms"),
            (&[], "protection", "none", "docsis"),
            (RFC, "protection", "none", "docsis"),
            (PROTECTED, "critical_ql", "1ms", "20ms"),
            (PROTECTED, "critical_ql_score", "4ms", "1s"),
            (PROTECTED, "lg_aging", "19", "25"),
            (PROTECTED, "max_ql_score", "5s", "1us"),
            (PROTECTED, "bucket_bits", "0", "5"),
            (ONE_BIT, "attempts", "1", "2"),
        ],
    };
}
