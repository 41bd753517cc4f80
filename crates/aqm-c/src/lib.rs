//! The C interface to `quell-aqm`: every queue discipline, alone or behind a link, for programs that are not written in Rust.
//!
//! * [`queue`]: a discipline for programs that send packets themselves, such as a poll loop of DPDK, VPP or BESS.
//! * [`link`]: a discipline behind a link of a given rate, for simulators.
//! * [`packet`], [`observer`], [`config`]: their arguments; [`kinds`]: the list of disciplines and parameters.
//! * [`error`]: how calls fail; [`handle`]: keeps calls from interfering with each other.
//!
//! The header is `include/quell_aqm.h`, generated and compared by `tests/header.rs`; `docs/guides/c-interface.md` is the guide. Rules that
//! hold for all of it:
//!
//! * Times are nanoseconds on a clock of the caller's choice that does not run backwards; a time before the latest one counts as that.
//! * A handle is used by one thread at a time, and may move between threads. Different handles are independent. A callback does not
//!   call a function of its own handle: that call fails with `QUELL_ERROR_BUSY`.
//! * Packets are copied in and out. Once a discipline and its buffers are warm, no call on the packet path allocates.
//! * A panic never crosses the border: the call fails with `QUELL_ERROR_PANIC`, as does each later one on the same handle but `free`.
//!   Callbacks, in turn, do not unwind into here: that ends the process.
//!
//! A C interface needs `unsafe`: each function trusts the pointers that its section "Safety" names, and nothing else.

pub mod config;
pub mod error;
pub mod handle;
pub mod kinds;
pub mod link;
pub mod observer;
pub mod packet;
pub mod queue;

use std::ffi::{CStr, c_char};

/// Changes whenever a program has to be compiled anew to use the library.
pub const QUELL_ABI: u32 = 1;

/// The value of QUELL_ABI that the library was built with, to be compared with the header's.
#[unsafe(no_mangle)]
pub extern "C" fn quell_abi() -> u32 {
    QUELL_ABI
}

/// The version of the library, such as "0.1.0". Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn quell_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("no NUL within a version"),
        };
    VERSION.as_ptr()
}
