//! BBR v2 and v3: Google's Linux modules `tcp_bbr2.c` and `tcp_bbr.c` (`google/bbr`), and
//! draft-ietf-ccwg-bbr.
//!
//! Both bound what is in flight. `inflight_hi` is what probes have found to be safe; `inflight_lo` and
//! `bw_lo` give way to loss and marks between two probes. One machine is enough, because v3 is v2 with
//! other constants, another test for a full pipe and another memory of the last round: [`Rules`] holds
//! each difference, under the name of what differs.
//!
//! The C cores in `bpf/core` are the same machine, and [`BbrState`] has their layout. Deviations: 1. no
//! protective load balancing (PLB), which rehashes the path and is off by default; 2. the sizes of what
//! the draft counts in bytes are in packets.

mod losses;
mod main_loop;
mod model;
mod probe;
mod probe_rtt;
mod rules;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;

pub use rules::{Marks, Rules, Timing};
pub use state::{AckPhase, BbrState, Mode, Phase, Undo};

use super::{Ack, Draw, Lost, NO_RTT, Sock, state as ca};

/// Not set yet: a bound that bounds nothing.
pub const UNSET: u32 = u32::MAX;
/// Least window in segments.
const MIN_CWND: u32 = 4;

/// The operands of a call of the machine.
struct Turn<'a, D> {
    rules: &'a Rules,
    s: &'a mut BbrState,
    sock: &'a mut Sock,
    draw: &'a mut D,
}

/// BBR v2 or v3 of one connection.
#[derive(Debug, Clone)]
pub struct Machine {
    rules: Rules,
    state: BbrState,
}

impl Machine {
    /// A new connection (`bbr2_init`, `bbr_init`, `bbr3_init`).
    pub fn new(rules: Rules, sock: &mut Sock) -> Self {
        let state = BbrState::new(&rules, sock);
        Self { rules, state }
    }
    /// Its state, for comparison.
    pub fn state(&self) -> &BbrState {
        &self.state
    }
    /// An ACK whose losses are known (`cong_control`).
    pub fn on_ack<D: Draw>(&mut self, sock: &mut Sock, ack: &Ack, draw: &mut D) {
        self.turn(sock, draw).on_ack(ack);
    }
    /// A segment was found lost (`skb_marked_lost`). Comes before the change of state that follows from
    /// it, and before [`on_ack`](Self::on_ack).
    pub fn on_lost<D: Draw>(&mut self, sock: &mut Sock, lost: &Lost, draw: &mut D) {
        self.turn(sock, draw).on_lost(lost);
    }
    /// A tail loss probe has repaired the loss of a segment (`CA_EVENT_TLP_RECOVERY`).
    pub fn on_probe_repair<D: Draw>(
        &mut self,
        sock: &mut Sock,
        is_app_limited: bool,
        draw: &mut D,
    ) {
        self.turn(sock, draw).on_probe_repair(is_app_limited);
    }
    /// A reduction begins; the threshold stays (`ssthresh`).
    pub fn on_reduction<D: Draw>(&mut self, sock: &mut Sock, draw: &mut D) {
        if !self.rules.saves_before_loss {
            self.turn(sock, draw).save();
        }
    }
    /// The state of loss recovery becomes `new` (`set_state`).
    pub fn on_state<D: Draw>(&mut self, sock: &mut Sock, new: u32, draw: &mut D) {
        self.turn(sock, draw).on_state(new);
    }
    /// A reduction was spurious. Returns the window to go on with (`undo_cwnd`).
    pub fn on_undo<D: Draw>(&mut self, sock: &mut Sock, draw: &mut D) -> u32 {
        self.turn(sock, draw).on_undo()
    }
    /// The first segment leaves after a pause (`CA_EVENT_TX_START`).
    pub fn on_restart<D: Draw>(&mut self, sock: &mut Sock, draw: &mut D) {
        self.turn(sock, draw).on_restart();
    }
    /// Number of segments that leave together.
    pub fn tso_segs(&self, pacing_rate: u64, mss: u32) -> u32 {
        model::tso_segs(&self.rules, self.state.min_rtt_us, pacing_rate, mss)
    }
    fn turn<'a, D>(&'a mut self, sock: &'a mut Sock, draw: &'a mut D) -> Turn<'a, D> {
        Turn {
            rules: &self.rules,
            s: &mut self.state,
            sock,
            draw,
        }
    }
}
