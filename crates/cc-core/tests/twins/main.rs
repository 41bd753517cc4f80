//! The arithmetic in C and the controls of `quell-tcp` compute the same.
//!
//! Both get the same random ACKs, marks, losses, time-outs, pauses and undos. After each the whole state must be equal to the bit.

mod bbr;
mod compound;
mod htcp;
mod prague;
mod ring;
mod weather;

use quell_tcp::cc::Window;

/// The window, as the C struct holds it.
fn in_c(window: &Window) -> quell_cc_core::Window {
    quell_cc_core::Window {
        cwnd: window.cwnd,
        ssthresh: window.ssthresh,
        cwnd_cnt: window.cwnd_cnt,
        prior_cwnd: window.prior_cwnd,
    }
}

fn is_equal(window: &Window, other: &quell_cc_core::Window) -> bool {
    in_c(window) == *other
}
