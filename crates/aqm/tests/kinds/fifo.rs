//! The drop-tail queue.

use quell_aqm::DropReason;

use super::{Given, Kind};

const BYTES: Given = &[("limit", "15kB")];

pub const FIFO: Kind = Kind {
    name: "fifo",
    forms: &[
        &[("limit", "20p")],
        &[
            ("limit", "20p"),
            ("rule", "slots"),
            ("count_in_service", "true"),
        ],
        &[("limit", "30kB"), ("rule", "bytes_strict")],
        &[
            ("limit", "30kB"),
            ("rule", "bytes_loose"),
            ("count_in_service", "true"),
        ],
    ],
    allows: |reason, queued, _| reason == DropReason::Limit && !queued,
    knobs: &[
        (&[], "limit", "10p", "20kB"),
        (BYTES, "rule", "bytes_strict", "bytes_loose"),
        (&[("limit", "15000B")], "rule", "linux", "bytes_loose"),
        (&[("limit", "10p")], "count_in_service", "false", "true"),
    ],
};
