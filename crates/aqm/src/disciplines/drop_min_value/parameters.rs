//! The parameters of drop-minimum-value.

use crate::limit::limit_row;
use crate::parameter::{Amount, Domain, Parameter, Preset};
use crate::units::{parameters, words};
use crate::virtual_queue::parameters::{ValueParameters, value_rows};

const FIFO: Option<(&str, &str)> = Some(("form", "fifo"));
const ROW: Parameter = Parameter {
    source: "quell",
    ..Parameter::LIVE
};

words! {
    /// The word of `form`.
    pub(crate) enum Form {
        Ideal = "ideal",
        Fifo = "fifo",
    }
}

parameters! {
    /// The parameters of drop-minimum-value.
    pub struct Parameters {
        form: Form = Parameter {
            domain: Form::DOMAIN,
            default: Preset::Is("ideal"),
            live: false,
            source: "ANRW 2020 (ideal); US 11,563,698 (fifo)",
            help: "Drop the packet of the lowest value where it stands, or condemn it to be dropped at the head.",
            ..ROW
        },
        limit: Amount = Parameter {
            help: "What may wait to be sent: packets, bytes, or a time at the link's rate.",
            ..limit_row("100ms", "quell; as fifo")
        },
        buffer: u64 = Parameter {
            domain: Domain::Integer(1, 1_024),
            default: Preset::Is("4"),
            only: FIFO,
            help: "So many times the limit may stand in the FIFO together with what is condemned.",
            ..ROW
        },
        ..values: ValueParameters = value_rows(FIFO),
    }
}
