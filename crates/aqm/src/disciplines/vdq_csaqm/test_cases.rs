//! Test cases of VDQ-CSAQM in its five variants.

use super::VdqCsaqm;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const Q: Given = &[("variant", "q")];
const V: Given = &[("variant", "v")];
const STRICT: Given = &[("any_ect", "false")];
/// VQ0 overflows.
const FULL: Given = &[("variant", "q"), ("vq_limit", "6ms")];
const OVERLOAD: Given = &[("drop_on_overload", "true")];
/// A link on which VQ0 alone counts, because VQ1 never has more than its target.
const ONLY_0: Given = &[("target_1", "190ms"), ("variant", "b")];

impl<P> Tested for VdqCsaqm<P> {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("variant", "b"),
                ("highest_value", "1000"),
                ("any_ect", "false"),
            ],
            &[("variant", "q"), ("interval", "3ms")],
            &[
                ("compensation", "8"),
                ("recovery", "1us"),
                ("any_ect", "false"),
            ],
            &[
                ("variant", "b_smooth"),
                ("limit_l4s", "20p"),
                ("limit_classic", "30kB"),
                ("default_value", "900"),
            ],
            &[("variant", "v"), ("interval", "1ms"), ("vq_limit", "20ms")],
            &[
                ("variant", "q"),
                ("drop_on_overload", "true"),
                ("overload_delay", "1ms"),
                ("any_ect", "false"),
                ("ecn", "false"),
            ],
            &[
                ("variant", "b"),
                ("remove_marked", "true"),
                ("target_0", "1ms"),
                ("serving_rate_0", "0.5"),
                ("serving_rate_1", "1"),
            ],
            &[
                ("variant", "v"),
                ("drop_on_overload", "true"),
                ("overload_delay", "0s"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            // Without ECN for Classic, ECT(0) is dropped too; what carries ECT(1) or CE is always L4S.
            DropReason::Value => queued && matches!(ecn, Ecn::NotEct | Ecn::Ect0),
            DropReason::Overload => queued && ecn != Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (&[], "variant", "r", "q"),
            (&[], "variant", "q", "b"),
            (&[], "variant", "b", "b_smooth"),
            (&[], "variant", "b", "v"),
            (ONLY_0, "target_0", "5ms", "1ms"),
            (&[], "target_1", "10ms", "5ms"),
            (V, "target_1", "5ms", "10ms"),
            (ONLY_0, "serving_rate_0", "0.5", "0.25"),
            (&[], "serving_rate_1", "0.984375", "0.5"),
            (Q, "vq_limit", "200ms", "10ms"),
            (V, "vq_limit", "200ms", "6ms"),
            (&[], "interval", "10ms", "1ms"),
            (&[], "recovery", "40ms", "20ms"),
            (&[], "compensation", "2", "0"),
            (Q, "alpha", "0.32", "3"),
            (Q, "beta", "6.4", "1"),
            (&[], "limit_l4s", "250ms", "3p"),
            (&[], "limit_classic", "250ms", "3p"),
            (&[], "any_ect", "true", "false"),
            (STRICT, "ecn", "true", "false"),
            (Q, "default_value", "1", "65535"),
            (&[], "highest_value", "65535", "500"),
            (FULL, "drop_on_overload", "false", "true"),
            (OVERLOAD, "overload_delay", "20ms", "1ms"),
            (&[], "remove_marked", "false", "true"),
        ],
    };
}
