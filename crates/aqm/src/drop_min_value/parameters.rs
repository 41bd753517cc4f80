//! The parameter table of drop-minimum-value.

use crate::parameter::{Domain, Parameter, Preset};
use crate::virtual_queue::parameters::{DEFAULT_VALUE, HIGHEST_VALUE};

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "quell",
    help: "",
};

pub(super) const TABLE: &[Parameter] = &[
    Parameter {
        name: "form",
        domain: Domain::Word(&["ideal", "fifo"]),
        default: Preset::Is("ideal"),
        live: false,
        source: "ANRW 2020 (ideal); US 11,563,698 (fifo)",
        help: "Drop the packet of the lowest value where it stands, or condemn it to be dropped at the head.",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("100ms"),
        source: "quell; as fifo",
        help: "What may wait to be sent: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "buffer",
        domain: Domain::Integer(1, 1_024),
        default: Preset::Is("4"),
        only: Some(("form", "fifo")),
        help: "So many times the limit may stand in the FIFO together with what is condemned.",
        ..ROW
    },
    DEFAULT_VALUE,
    Parameter {
        only: Some(("form", "fifo")),
        ..HIGHEST_VALUE
    },
];
