//! `bpf/core/prague.h`.

use crate::Window;

/// `struct prague_rules`; flags are 0 or 1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "those of the header")]
pub struct PragueRules {
    pub rtt_target_us: u32,
    pub rtt_transition: u32,
    pub alpha_one: u8,
    pub first_ce_halves: u8,
    pub burst_shift: u8,
    pub rate_mode: u8,
}

/// `struct prague_path`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "those of the header")]
pub struct PraguePath {
    pub now_us: u64,
    pub srtt8: u32,
    pub mtu: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub in_flight: u32,
}

/// `struct prague`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct Prague {
    pub cwr_stamp: u64,
    pub alpha_stamp: u64,
    pub upscaled_alpha: u64,
    pub ai_ack_increase: u64,
    pub frac_cwnd: u64,
    pub rate_bytes: u64,
    pub loss_rate_bytes: u64,
    pub hsrtt: u64,
    pub loss_cwnd: u32,
    pub old_delivered: u32,
    pub old_delivered_ce: u32,
    pub next_seq: u32,
    pub round: u32,
    pub max_tso_burst: u32,
    pub saw_ce: u8,
    pub in_loss: u8,
    pub cwnd_mode: u8,
    pub unused: u8,
}

unsafe extern "C" {
    fn core_prague_size() -> u32;
    fn core_prague_start(
        ca: *mut Prague,
        rules: *const PragueRules,
        p: *const PraguePath,
        w: *const Window,
    ) -> u64;
    fn core_prague_on_ack(
        ca: *mut Prague,
        rules: *const PragueRules,
        p: *const PraguePath,
        w: *mut Window,
        acked: u32,
        marked: u32,
        is_limited: u32,
    ) -> u64;
    fn core_prague_on_loss(
        ca: *mut Prague,
        rules: *const PragueRules,
        p: *const PraguePath,
        w: *const Window,
    );
    fn core_prague_set_state(
        ca: *mut Prague,
        rules: *const PragueRules,
        p: *const PraguePath,
        w: *const Window,
        state: u32,
    );
    fn core_prague_undo(ca: *mut Prague, p: *const PraguePath, w: *const Window) -> u32;
}

// In each call below the pointers are borrows of structs that have the layout of the header's (`size_in_c` and the comparison field by
// field check that), and the functions keep none of them.
impl Prague {
    /// A connection that has agreed on ECN, and its pacing rate in bytes per second (`prague_start`).
    pub fn new(rules: &PragueRules, path: &PraguePath, window: &Window) -> (Self, u64) {
        let mut ca = Self::default();
        // SAFETY: see above.
        let rate = unsafe { core_prague_start(&mut ca, rules, path, window) };
        (ca, rate)
    }
    /// Size of the C struct in bytes.
    pub fn size_in_c() -> usize {
        // SAFETY: it takes and touches nothing.
        unsafe { core_prague_size() as usize }
    }
    /// `prague_on_ack`; returns the pacing rate in bytes per second.
    pub fn on_ack(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &mut Window,
        acked: u32,
        marked: u32,
        is_limited: bool,
    ) -> u64 {
        let is_limited = is_limited.into();
        // SAFETY: see above.
        unsafe { core_prague_on_ack(self, rules, path, window, acked, marked, is_limited) }
    }
    /// `prague_on_loss`.
    pub fn on_loss(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        // SAFETY: see above.
        unsafe { core_prague_on_loss(self, rules, path, window) }
    }
    /// `prague_set_state`.
    pub fn set_state(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &Window,
        state: u32,
    ) {
        // SAFETY: see above.
        unsafe { core_prague_set_state(self, rules, path, window, state) }
    }
    /// `prague_undo`.
    pub fn undo(&mut self, path: &PraguePath, window: &Window) -> u32 {
        // SAFETY: see above.
        unsafe { core_prague_undo(self, path, window) }
    }
}
