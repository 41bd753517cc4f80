//! The two instruments of the release process, which write `docs/evidence/validation.md`.
//!
//! * [`worlds`], `make validate` and `make validate-grid`: the same scenarios in several worlds.
//! * [`queues`], `make parity`: the same scenarios over quell's queues and over the kernel's own.
//!
//! Both keep each finished run ([`store`]) and write their part of the document ([`document`]), with the raw figures
//! as CSV files beside it ([`sheet`]); tests use their points and bounds.

mod document;
mod error;
pub mod queues;
mod sheet;
mod store;
pub mod worlds;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The first signal ends the comparison and keeps what is done; the second ends the process.
fn stop_at_ctrl_c() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
