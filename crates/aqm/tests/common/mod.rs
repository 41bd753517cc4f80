//! The packet and the ledger of the shared tests.
#![allow(unused_imports, unreachable_pub, reason = "each test uses its part")]

pub use quell_laws::queue::ledger::{Checked, Event, Ledger, TestPacket, discipline};
