//! The parameters of drop-minimum-value.

use crate::limit::LIMIT_ROW;
use crate::parameter::{Amount, Domain, Parameter};
use crate::units::{parameters, words};
use crate::virtual_queue::parameters::{ValueParameters, value_rows};

const FIFO: (&str, &str) = ("form", "fifo");
const ROW: Parameter = Parameter::LIVE.source("quell");

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
        /// Drop the packet of the lowest value where it stands, or condemn it to be dropped at the head.
        form: Form = ROW.default("ideal").fixed().source("ANRW 2020 (ideal); US 11,563,698 (fifo)"),
        /// What may wait to be sent: packets, bytes, or a time at the link's rate.
        limit: Amount = LIMIT_ROW.default("100ms").source("quell; as fifo"),
        /// So many times the limit may stand in the FIFO together with what is condemned.
        buffer: u64 = ROW.domain(Domain::Integer(1, 1_024)).default("4").only(FIFO),
        ..values: ValueParameters = value_rows(Some(FIFO)),
    }
}
