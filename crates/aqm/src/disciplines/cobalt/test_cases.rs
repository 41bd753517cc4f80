//! Test cases of COBALT.

use super::CobaltController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

/// Keeps BLUE busy.
const FULL: Given = &[("limit", "10")];
/// Keeps BLUE busy and lets it fall.
const TENSE: Given = &[("limit", "10"), ("p_inc", "0.1"), ("target", "1ms")];

impl Tested for CobaltController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("limit", "20"), ("p_inc", "0.2"), ("ecn", "false")],
            &[("memlimit", "30kB"), ("target", "1us"), ("interval", "1us")],
            &[("limit", "20ms"), ("p_dec", "0.9"), ("target", "1ms")],
        ],
        allows: |reason, queued, ecn| match reason {
            // A full queue drops what it had accepted, and with noecn CoDel drops ECN-capable packets too.
            DropReason::Limit | DropReason::Memory | DropReason::Aqm => queued,
            // BLUE drops what CoDel would mark.
            DropReason::Overload => queued && ecn != Ecn::NotEct,
            DropReason::Reconfigured | DropReason::Value | DropReason::Drained => false,
        },
        sensitivity: &[
            (&[], "limit", "20", "10240"),
            (&[], "memlimit", "20kB", "10MB"),
            (&[], "target", "5ms", "20ms"),
            (&[], "interval", "100ms", "50ms"),
            (&[], "ecn", "true", "false"),
            (FULL, "p_inc", "0.00390625", "0.1"),
            (TENSE, "p_dec", "0.000244140625", "0.1"),
        ],
    };
}
