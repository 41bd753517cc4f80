//! What the tests of 2020 found, and what RFC 9331 asks for, as bounds on figures.
//!
//! The figures of 2020 are in `s1_table.md` and `s6_steady_state.md` of github.com/heistp/l4s-tests and in its README. They are single
//! runs of another Prague, so bounds are wide and judge the direction:
//!
//! * S1, DualPI2, 50 Mbit/s: Prague 34.57 and 34.09 Mbit/s beside 12.65 and 13.04 of CUBIC at 10 ms; 32.39 and 31.85 beside 14.94 and
//!   15.51 at 20 ms; 29.58 and 29.92 beside 17.85 and 17.48 at 80 ms; Prague at 10 ms 45.46 beside Prague at 160 ms 1.56.
//! * S1, pfifo(1000): CUBIC has 3 to 5 times Prague's rate at 10 ms, 3 to 7 times at 20 ms, 11 times at 80 ms. Behind FQ-CoDel all have
//!   the same.
//! * S2, FQ-CoDel: the RTT of Prague rises to 4.3 s, and is high for more than 30 s, where the rate falls from 50 to 1 Mbit/s.
//! * S2 and S3 at 80 ms, FQ-CoDel: half of the rate makes a queue of 100 ms that lasts for 5 s with Prague, and a short one with CUBIC. S3
//!   has pictures and no figures: the README says to see there what Prague does where the rate varies several times. L4S is to have 1 ms.
//! * S6, one queue of FQ-CoDel, PIE or RED with ECN, 50 Mbit/s, 20 ms: 20 to 29 times the rate of CUBIC, 24 to 60 times that of Reno.

use crate::characterize::queue::{marks, number};

/// A bound on a figure of a scenario.
#[derive(Debug)]
pub struct Threshold {
    /// The scenario.
    pub id: &'static str,
    /// The figure of the whole.
    pub figure: &'static str,
    /// What is judged, in words.
    pub what: &'static str,
    /// Whose threshold it is.
    pub source: &'static str,
    /// The threshold.
    pub bound: f64,
    /// Its unit; empty of a ratio.
    pub unit: &'static str,
    /// Whether the figure is to be at most the threshold; else at least.
    pub at_most: bool,
    /// Which queues it holds for, by their specification.
    pub holds: fn(&str) -> bool,
}

const S1: &str = "Heist and Morton 2020, S1";
const S2: &str = "Heist and Morton 2020, S2";
const S2_80: &str = "Heist and Morton 2020, S2 at 80 ms";
const VARYING: &str = "quell, by S2 and S3 of Heist and Morton 2020";
const S6: &str = "Heist and Morton 2020, S6";
const OVER_TWO: &str = "quell, by S6 and S1 of Heist and Morton 2020";
const SEVERITY: &str = "RFC 9331 section 4.3.1";
const LOSS: &str = "quell, for RFC 9331 section 4.3, item 2";
const ROUND_TRIPS: &str = "quell, for RFC 9331 section 4.3, item 4";
const FEW: &str = "quell, for RFC 9331 section 4.3, item 5";
const RATIO: &str = "ratio";

/// Every one, by scenario.
pub const ALL: &[Threshold] = &[
    least(
        "s1-10",
        "as published: Prague has at least 2 times CUBIC's rate",
        S1,
        2.0,
        is_dualpi2,
    ),
    most(
        "s1-10",
        "as published: and at most 3 times",
        S1,
        3.0,
        is_dualpi2,
    ),
    most(
        "s1-10",
        "as published: Prague has less than CUBIC",
        S1,
        1.0,
        is_drop_tail,
    ),
    least(
        "s1-20",
        "as published: Prague has more than CUBIC",
        S1,
        1.0,
        is_dualpi2,
    ),
    most(
        "s1-20",
        "as published: Prague has less than CUBIC",
        S1,
        1.0,
        is_drop_tail,
    ),
    least(
        "s1-20",
        "as published: equal shares, Prague not below 0.9",
        S1,
        0.9,
        is_fair,
    ),
    most(
        "s1-20",
        "as published: equal shares, Prague not above 1.1",
        S1,
        1.1,
        is_fair,
    ),
    least(
        "s1-80",
        "as published: Prague has more than CUBIC",
        S1,
        1.0,
        is_dualpi2,
    ),
    most(
        "s1-80",
        "as published: Prague has less than CUBIC",
        S1,
        1.0,
        is_drop_tail,
    ),
    least(
        "s1-unequal",
        "as published: more than the ratio of the RTTs, 16",
        S1,
        16.0,
        is_dualpi2,
    ),
    Threshold {
        figure: "delay_ms.p99",
        unit: "ms",
        ..least(
            "s2-1",
            "as published: the delay reaches seconds, P99 above 1 s",
            S2,
            1_000.0,
            is_fair,
        )
    },
    Threshold {
        figure: "delay_ms.p99",
        unit: "ms",
        ..least(
            "s3-80",
            "as published: the delay exceeds 100 ms, P99",
            S2_80,
            100.0,
            is_fair,
        )
    },
    Threshold {
        figure: "delay_ms.mean",
        unit: "ms",
        ..least(
            "s3-80",
            "long queues of Prague: a mean of at least 3 targets of CoDel, 15 ms",
            VARYING,
            15.0,
            is_fair,
        )
    },
    Threshold {
        figure: "delay_ms.mean",
        unit: "ms",
        ..most(
            "s3-80-cubic",
            "short queues of CUBIC: a mean of at most 3 targets of CoDel, 15 ms",
            VARYING,
            15.0,
            is_fair,
        )
    },
    Threshold {
        figure: "delay_ms.mean",
        unit: "ms",
        ..most(
            "s3",
            "about the 1 ms that L4S is to have: a mean of at most 2 ms",
            VARYING,
            2.0,
            is_dualpi2,
        )
    },
    Threshold {
        figure: "delay_ms.mean",
        unit: "ms",
        ..most(
            "s3-80",
            "about the 1 ms that L4S is to have: a mean of at most 2 ms",
            VARYING,
            2.0,
            is_dualpi2,
        )
    },
    least(
        "s6-ecn",
        "as published: Prague has more than 10 times CUBIC's rate",
        S6,
        10.0,
        is_rfc3168,
    ),
    least(
        "s6-drop",
        "as published: Prague has more than 10 times CUBIC's rate",
        S6,
        10.0,
        is_rfc3168,
    ),
    most(
        "loss",
        "Prague has at most 2 times Reno's rate",
        LOSS,
        2.0,
        is_drop_tail,
    ),
    least(
        "s6-first",
        "the first queue decides: Prague has more than 10 times CUBIC's rate",
        OVER_TWO,
        10.0,
        is_any,
    ),
    most(
        "s6-second",
        "the second queue decides: Prague has at most 3 times CUBIC's rate",
        OVER_TWO,
        3.0,
        is_l4s,
    ),
    most(
        "shared-4",
        "below 20 ms Prague has less than 5 times Reno's rate",
        SEVERITY,
        5.0,
        is_rfc3168,
    ),
    most(
        "round-trips",
        "at 5 ms at most 2 times the rate at 25 ms",
        ROUND_TRIPS,
        2.0,
        is_l4s,
    ),
    Threshold {
        figure: "loss_ratio",
        ..most(
            "few",
            "marks alone hold the queue: at most 0.1 % lost",
            FEW,
            0.001,
            is_l4s,
        )
    },
];

const fn least(
    id: &'static str,
    what: &'static str,
    source: &'static str,
    bound: f64,
    holds: fn(&str) -> bool,
) -> Threshold {
    Threshold {
        id,
        figure: RATIO,
        what,
        source,
        bound,
        unit: "",
        at_most: false,
        holds,
    }
}

const fn most(
    id: &'static str,
    what: &'static str,
    source: &'static str,
    bound: f64,
    holds: fn(&str) -> bool,
) -> Threshold {
    Threshold {
        at_most: true,
        ..least(id, what, source, bound, holds)
    }
}

fn kind(spec: &str) -> &str {
    spec.split(':').next().unwrap_or(spec)
}

fn is_any(_spec: &str) -> bool {
    true
}

fn is_dualpi2(spec: &str) -> bool {
    kind(spec) == "dualpi2"
}

fn is_drop_tail(spec: &str) -> bool {
    kind(spec) == "fifo"
}

/// FQ-CoDel that keeps flows apart.
fn is_fair(spec: &str) -> bool {
    kind(spec) == "fq_codel" && !is_rfc3168(spec)
}

/// One queue for every flow, whose marks mean what RFC 3168 says.
fn is_rfc3168(spec: &str) -> bool {
    let is_single = match kind(spec) {
        "codel" | "pie" | "red" | "cobalt" => true,
        "fq_codel" | "fq_pie" => number(spec, "flows") == Some(1),
        _ => false,
    };
    is_single && marks(spec) == Some(true)
}

/// It has a queue apart for L4S, or marks only what is L4S, at a shallow threshold (RFC 9332).
fn is_l4s(spec: &str) -> bool {
    ["dualpi2", "dualq_2015", "dualq_curvy_red", "vdq_csaqm"].contains(&kind(spec))
}

/// Why a requirement has no verdict with a queue, where a verdict depends on the queue.
pub fn why_not(id: &str) -> Option<&'static str> {
    match id {
        "shared-4" => Some(
            "not judged: the queue keeps L4S apart or does not mark; RFC 9331 means one queue with RFC 3168 marks",
        ),
        "round-trips" | "few" => {
            Some("not judged: it is a requirement on Prague behind a queue for L4S (RFC 9332)")
        }
        _ => None,
    }
}
