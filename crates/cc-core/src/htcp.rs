//! `bpf/core/htcp.h`.

use crate::Window;

/// `struct htcp_rules`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HtcpRules {
    /// Jiffies per second.
    pub hz: u32,
    /// Whether alpha is in proportion to the RTT: 0 or 1.
    pub rtt_scaling: u8,
    /// Whether a change of throughput sets beta to one half: 0 or 1.
    pub bandwidth_switch: u8,
}

/// `struct htcp`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct Htcp {
    pub alpha: u32,
    pub beta: u8,
    pub modeswitch: u8,
    pub pkts_acked: u16,
    pub packetcount: u32,
    pub min_rtt: u32,
    pub max_rtt: u32,
    pub last_cong: u32,
    pub undo_last_cong: u32,
    pub undo_max_rtt: u32,
    pub undo_old_max_b: u32,
    pub min_b: u32,
    pub max_b: u32,
    pub old_max_b: u32,
    pub bi: u32,
    pub lasttime: u32,
}

unsafe extern "C" {
    fn core_htcp_size() -> u32;
    fn core_htcp_start(ca: *mut Htcp, now: u32);
    fn core_htcp_on_acked(
        ca: *mut Htcp,
        rules: *const HtcpRules,
        state: u32,
        acked: u32,
        rtt_us: u32,
        cwnd: u32,
        now: u32,
    );
    fn core_htcp_grow(ca: *mut Htcp, rules: *const HtcpRules, w: *mut Window, acked: u32, now: u32);
    fn core_htcp_threshold(ca: *mut Htcp, rules: *const HtcpRules, cwnd: u32, now: u32) -> u32;
    fn core_htcp_set_state(ca: *mut Htcp, state: u32, now: u32);
    fn core_htcp_undo(ca: *mut Htcp, w: *const Window) -> u32;
}

// In each call below the pointers are borrows of structs that have the layout of the header's (`size_in_c` and the comparison field by
// field check that), and the functions keep none of them.
impl Htcp {
    /// A new connection in jiffy `now` (`htcp_start`).
    pub fn new(now: u32) -> Self {
        let mut ca = Self::default();
        // SAFETY: see above.
        unsafe { core_htcp_start(&mut ca, now) };
        ca
    }
    /// Size of the C struct in bytes.
    pub fn size_in_c() -> usize {
        // SAFETY: it takes and touches nothing.
        unsafe { core_htcp_size() as usize }
    }
    /// `htcp_on_acked`; `rtt_us` is zero for none.
    pub fn on_acked(
        &mut self,
        rules: &HtcpRules,
        state: u32,
        acked: u32,
        rtt_us: u32,
        cwnd: u32,
        now: u32,
    ) {
        // SAFETY: see above.
        unsafe { core_htcp_on_acked(self, rules, state, acked, rtt_us, cwnd, now) }
    }
    /// `htcp_grow`.
    pub fn grow(&mut self, rules: &HtcpRules, window: &mut Window, acked: u32, now: u32) {
        // SAFETY: see above.
        unsafe { core_htcp_grow(self, rules, window, acked, now) }
    }
    /// `htcp_threshold`.
    pub fn threshold(&mut self, rules: &HtcpRules, cwnd: u32, now: u32) -> u32 {
        // SAFETY: see above.
        unsafe { core_htcp_threshold(self, rules, cwnd, now) }
    }
    /// `htcp_set_state`.
    pub fn set_state(&mut self, state: u32, now: u32) {
        // SAFETY: see above.
        unsafe { core_htcp_set_state(self, state, now) }
    }
    /// `htcp_undo`.
    pub fn undo(&mut self, window: &Window) -> u32 {
        // SAFETY: see above.
        unsafe { core_htcp_undo(self, window) }
    }
}
