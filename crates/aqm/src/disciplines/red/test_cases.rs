//! Test cases of RED in both forms.

use super::RedController;
use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::test_cases::{Given, TestCases, Tested};

const FLOYD: Given = &[("form", "floyd"), ("min", "5p"), ("max", "15p")];
/// Thresholds that an overloaded link passes at once.
const TIGHT: Given = &[("min", "5kB"), ("max", "15kB")];
const TIGHT_ECN: Given = &[("min", "5kB"), ("max", "15kB"), ("ecn", "true")];
/// Thresholds that the average passes, and stays below twice the upper one.
const GENTLE: Given = &[
    ("form", "floyd"),
    ("min", "2p"),
    ("max", "4p"),
    ("weight", "0.1"),
];
/// Signals between the thresholds only, so that the size and the count matter.
const EARLY: Given = &[
    ("form", "floyd"),
    ("min", "2p"),
    ("max", "200p"),
    ("probability", "1"),
    ("weight", "0.1"),
];

impl Tested for RedController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[
                ("min", "5kB"),
                ("max", "15kB"),
                ("limit", "20kB"),
                ("ecn", "true"),
                ("harddrop", "true"),
            ],
            &[
                ("min", "4kB"),
                ("max", "60kB"),
                ("burst", "6"),
                ("probability", "0.5"),
                ("ecn", "true"),
                ("nodrop", "true"),
                ("adaptive", "true"),
            ],
            &[("form", "floyd"), ("ecn", "true"), ("adaptive", "true")],
            &[
                ("form", "floyd"),
                ("limit", "20p"),
                ("weight", "0.25"),
                ("wait", "true"),
            ],
            &[
                ("form", "floyd"),
                ("min", "3kB"),
                ("max", "9kB"),
                ("gentle", "false"),
                ("byte_mode", "true"),
                ("ecn", "true"),
                ("harddrop", "true"),
                ("weight", "1"),
            ],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Aqm | DropReason::Limit => !queued,
            // harddrop, where it would have marked.
            DropReason::Overload => !queued && ecn != Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (TIGHT, "form", "linux", "floyd"),
            (TIGHT, "limit", "16kB", "400kB"),
            (&[], "min", "5kB", "9kB"),
            (FLOYD, "min", "2p", "9p"),
            (&[], "max", "30kB", "60kB"),
            (FLOYD, "max", "10p", "20p"),
            (TIGHT, "avpkt", "1000B", "3000B"),
            (TIGHT, "burst", "6", "100"),
            (FLOYD, "weight", "0.002", "0.1"),
            (TIGHT, "probability", "0.02", "0.5"),
            (FLOYD, "probability", "0.1", "0.5"),
            (TIGHT, "bandwidth", "10mbit", "100kbit"),
            (FLOYD, "bandwidth", "10mbit", "1kbit"),
            (TIGHT, "ecn", "false", "true"),
            (TIGHT_ECN, "harddrop", "false", "true"),
            (TIGHT_ECN, "nodrop", "false", "true"),
            (TIGHT, "adaptive", "false", "true"),
            (FLOYD, "adaptive", "false", "true"),
            (GENTLE, "gentle", "false", "true"),
            (EARLY, "wait", "false", "true"),
            (EARLY, "byte_mode", "false", "true"),
        ],
    };
}
