//! `bpf/core/bbr2.h` and `bbr3.h`.

/// `struct bbr_rules`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct BbrRules {
    pub min_rtt_window: u32,
    pub probe_rtt_window: u32,
    pub probe_rtt: u32,
    pub startup_gain: u32,
    pub startup_cwnd_gain: u32,
    pub drain_gain: u32,
    pub drain_rounds: u32,
    pub down_gain: u32,
    pub up_cwnd_gain: u32,
    pub full_loss_count: u32,
    pub loss_threshold: u32,
    pub beta: u32,
    pub largest: u32,
    pub ecn_max_rtt_us: u32,
    pub ecn_reprobe_gain: u32,
    pub marks: u8,
    pub is_v3: u8,
    pub saves_before_loss: u8,
    pub marks_cut_bw: u8,
}

/// `struct bbr_sock`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct BbrSock {
    pub now_us: u64,
    pub delivered_us: u64,
    pub pacing_rate: u64,
    pub departure_us: u32,
    pub jiffies: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    pub in_flight: u32,
    pub srtt_us: u32,
    pub min_rtt_us: u32,
    pub mss: u32,
    pub cwnd: u32,
    pub prior_cwnd: u32,
    pub ssthresh: u32,
    pub ca_state: u32,
    pub is_cwnd_limited: u32,
    pub app_limited: u32,
    pub can_use_ecn: u32,
    pub limits_samples: u32,
}

/// `struct bbr_ack`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct BbrAck {
    pub interval_us: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub prior_delivered: u32,
    pub tx_in_flight: u32,
    pub lost: u32,
    pub losses: u32,
    pub acked: u32,
    pub prior_in_flight: u32,
    pub rtt_us: u32,
    pub is_app_limited: u32,
    pub is_ack_delayed: u32,
    pub is_ece: u32,
    pub is_probe_acked: u32,
}

/// `struct bbr_lost`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct BbrLost {
    pub tx_in_flight: u32,
    pub lost: u32,
    pub is_app_limited: u32,
}

/// `struct bbr_state`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct BbrState {
    pub cycle_us: u64,
    pub ack_epoch_us: u64,
    pub min_rtt_us: u32,
    pub min_rtt_stamp: u32,
    pub probe_rtt_done_stamp: u32,
    pub probe_rtt_min_us: u32,
    pub probe_rtt_min_stamp: u32,
    pub next_rtt_delivered: u32,
    pub prior_cwnd: u32,
    pub full_bw: u32,
    pub extra_acked: [u32; 2],
    pub ack_epoch_acked: u32,
    pub loss_round_delivered: u32,
    pub undo_bw_lo: u32,
    pub undo_inflight_lo: u32,
    pub undo_inflight_hi: u32,
    pub bw_latest: u32,
    pub inflight_latest: u32,
    pub bw_lo: u32,
    pub bw_hi: u32,
    pub max_bw: [u32; 2],
    pub inflight_lo: u32,
    pub inflight_hi: u32,
    pub bw_probe_up_cnt: u32,
    pub bw_probe_up_acks: u32,
    pub probe_wait_us: u32,
    pub alpha_last_delivered: u32,
    pub alpha_last_delivered_ce: u32,
    pub ecn_alpha: u32,
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
    pub init_cwnd: u32,
    pub mode: u8,
    pub prev_ca_state: u8,
    pub phase: u8,
    pub ack_phase: u8,
    pub full_bw_cnt: u8,
    pub startup_ecn_rounds: u8,
    pub extra_acked_win_rtts: u8,
    pub extra_acked_win_idx: u8,
    pub bw_probe_up_rounds: u8,
    pub rounds_since_probe: u8,
    pub loss_events_in_round: u8,
    pub drain_rounds: u8,
    pub undo_state: u8,
    pub round_start: u8,
    pub try_fast_path: u8,
    pub idle_restart: u8,
    pub probe_rtt_round_done: u8,
    pub full_bw_reached: u8,
    pub full_bw_now: u8,
    pub has_seen_rtt: u8,
    pub loss_in_cycle: u8,
    pub ecn_in_cycle: u8,
    pub ecn_eligible: u8,
    pub bw_probe_samples: u8,
    pub prev_probe_too_high: u8,
    pub stopped_risky_probe: u8,
    pub loss_round_start: u8,
    pub loss_in_round: u8,
    pub ecn_in_round: u8,
    pub got_ok_bw_probe_sample: u8,
    pub loss_yet_in_recovery: u8,
    pub reserved: u8,
}

/// Which of the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BbrVersion {
    /// v2 alpha.
    V2 = 2,
    /// v3 of 2023 and 2025.
    V3Of2023 = 2023,
    /// v3 of 2026.
    V3Of2026 = 2026,
}

/// The C machine of one connection.
#[derive(Debug, Clone)]
pub struct Bbr {
    /// The rules.
    pub rules: BbrRules,
    /// The state.
    pub state: BbrState,
}

unsafe extern "C" {
    fn core_bbr_size(which: u32) -> u32;
    fn core_bbr_seed(seed: u64);
    fn core_bbr_rules(rules: *mut BbrRules, which: u32, hz: u32);
    fn core_bbr_start(rules: *const BbrRules, state: *mut BbrState, sock: *mut BbrSock);
    fn core_bbr_on_ack(
        rules: *const BbrRules,
        state: *mut BbrState,
        sock: *mut BbrSock,
        ack: *const BbrAck,
    );
    fn core_bbr_on_lost(
        rules: *const BbrRules,
        state: *mut BbrState,
        sock: *mut BbrSock,
        lost: *const BbrLost,
    );
    fn core_bbr_on_probe_repair(
        rules: *const BbrRules,
        state: *mut BbrState,
        sock: *mut BbrSock,
        is_app_limited: u32,
    );
    fn core_bbr_on_reduction(rules: *const BbrRules, state: *mut BbrState, sock: *mut BbrSock);
    fn core_bbr_on_state(
        rules: *const BbrRules,
        state: *mut BbrState,
        sock: *mut BbrSock,
        new: u32,
    );
    fn core_bbr_on_undo(rules: *const BbrRules, state: *mut BbrState, sock: *mut BbrSock) -> u32;
    fn core_bbr_on_restart(rules: *const BbrRules, state: *mut BbrState, sock: *mut BbrSock);
}

/// Sets what the C machines of this thread draw from: each draw makes x·6364136223846793005 + 1442695040888963407 of x, whose
/// upper half times the bound is the result.
pub fn seed_bbr_draws(seed: u64) {
    // SAFETY: it sets a number of this thread.
    unsafe { core_bbr_seed(seed) }
}

/// Sizes in bytes of what this file mirrors, in C: rules, connection, ACK, loss, state.
pub fn bbr_sizes() -> [usize; 5] {
    // SAFETY: it takes and touches nothing.
    [0, 1, 2, 3, 4].map(|which| unsafe { core_bbr_size(which) } as usize)
}

// In each call below the pointers are borrows of structs that have the layout of the header's (`bbr_sizes` and the comparison field by field
// check that), and the functions keep none of them.
impl Bbr {
    /// A new connection; `adjust` may change the rules.
    pub fn new(
        version: BbrVersion,
        hz: u32,
        adjust: impl FnOnce(&mut BbrRules),
        sock: &mut BbrSock,
    ) -> Self {
        let mut rules = BbrRules::default();
        // SAFETY: see above.
        unsafe { core_bbr_rules(&mut rules, version as u32, hz) };
        adjust(&mut rules);
        let mut state = BbrState::default();
        // SAFETY: see above.
        unsafe { core_bbr_start(&rules, &mut state, sock) };
        Self { rules, state }
    }
    /// `bbr_on_ack`.
    pub fn on_ack(&mut self, sock: &mut BbrSock, ack: &BbrAck) {
        // SAFETY: see above.
        unsafe { core_bbr_on_ack(&self.rules, &mut self.state, sock, ack) }
    }
    /// `bbr_on_lost`.
    pub fn on_lost(&mut self, sock: &mut BbrSock, lost: &BbrLost) {
        // SAFETY: see above.
        unsafe { core_bbr_on_lost(&self.rules, &mut self.state, sock, lost) }
    }
    /// `bbr_on_probe_repair`.
    pub fn on_probe_repair(&mut self, sock: &mut BbrSock, is_app_limited: bool) {
        let is_app_limited = is_app_limited.into();
        // SAFETY: see above.
        unsafe { core_bbr_on_probe_repair(&self.rules, &mut self.state, sock, is_app_limited) }
    }
    /// `bbr_on_reduction`.
    pub fn on_reduction(&mut self, sock: &mut BbrSock) {
        // SAFETY: see above.
        unsafe { core_bbr_on_reduction(&self.rules, &mut self.state, sock) }
    }
    /// `bbr_on_state`.
    pub fn on_state(&mut self, sock: &mut BbrSock, new: u32) {
        // SAFETY: see above.
        unsafe { core_bbr_on_state(&self.rules, &mut self.state, sock, new) }
    }
    /// `bbr_on_undo`.
    pub fn on_undo(&mut self, sock: &mut BbrSock) -> u32 {
        // SAFETY: see above.
        unsafe { core_bbr_on_undo(&self.rules, &mut self.state, sock) }
    }
    /// `bbr_on_restart`.
    pub fn on_restart(&mut self, sock: &mut BbrSock) {
        // SAFETY: see above.
        unsafe { core_bbr_on_restart(&self.rules, &mut self.state, sock) }
    }
}
