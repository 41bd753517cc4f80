//! `bpf/core/compound.h`.

use crate::Window;

/// `struct compound_rules`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "those of the header")]
pub struct CompoundRules {
    pub gamma: u32,
    pub gamma_low: u32,
    pub gamma_high: u32,
    pub low_window: u32,
    pub eta: u32,
    pub lambda: u32,
    pub paced: u8,
}

/// `struct compound`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct Compound {
    pub beg_snd_una: u32,
    pub beg_snd_nxt: u32,
    pub beg_cwnd: u32,
    pub cnt_rtt: u32,
    pub min_rtt: u32,
    pub base_rtt: u32,
    pub cwnd: u32,
    pub dwnd: u32,
    pub diff_reno: u32,
    pub gamma: u32,
    pub incr_interval: u32,
    pub dwnd_left: u32,
    pub ack_since_dwnd_inc: u32,
}

unsafe extern "C" {
    fn core_compound_size() -> u32;
    fn core_compound_start(ca: *mut Compound, rules: *const CompoundRules, snd_nxt: u32, cwnd: u32);
    fn core_compound_restart(
        ca: *mut Compound,
        rules: *const CompoundRules,
        snd_nxt: u32,
        cwnd: u32,
    );
    fn core_compound_on_rtt(ca: *mut Compound, rtt_us: u32);
    fn core_compound_threshold(ca: *mut Compound, rules: *const CompoundRules, cwnd: u32) -> u32;
    fn core_compound_set_state(ca: *mut Compound, state: u32, snd_nxt: u32);
    fn core_compound_grow(
        ca: *mut Compound,
        rules: *const CompoundRules,
        w: *mut Window,
        snd_una: u32,
        snd_nxt: u32,
        mss: u32,
        acked: u32,
    );
}

// In each call below the pointers are borrows of structs that have the layout of the header's (`size_in_c` and the comparison field by
// field check that), and the functions keep none of them.
impl Compound {
    /// A new connection (`compound_start`).
    pub fn new(rules: &CompoundRules, snd_nxt: u32, cwnd: u32) -> Self {
        let mut ca = Self::default();
        // SAFETY: see above.
        unsafe { core_compound_start(&mut ca, rules, snd_nxt, cwnd) };
        ca
    }
    /// Size of the C struct in bytes.
    pub fn size_in_c() -> usize {
        // SAFETY: it takes and touches nothing.
        unsafe { core_compound_size() as usize }
    }
    /// `compound_restart`.
    pub fn restart(&mut self, rules: &CompoundRules, snd_nxt: u32, cwnd: u32) {
        // SAFETY: see above.
        unsafe { core_compound_restart(self, rules, snd_nxt, cwnd) }
    }
    /// `compound_on_rtt`.
    pub fn on_rtt(&mut self, rtt_us: u32) {
        // SAFETY: see above.
        unsafe { core_compound_on_rtt(self, rtt_us) }
    }
    /// `compound_threshold`.
    pub fn threshold(&mut self, rules: &CompoundRules, cwnd: u32) -> u32 {
        // SAFETY: see above.
        unsafe { core_compound_threshold(self, rules, cwnd) }
    }
    /// `compound_set_state`.
    pub fn set_state(&mut self, state: u32, snd_nxt: u32) {
        // SAFETY: see above.
        unsafe { core_compound_set_state(self, state, snd_nxt) }
    }
    /// `compound_grow`; the numbers are SND.UNA and SND.NXT.
    pub fn grow(
        &mut self,
        rules: &CompoundRules,
        window: &mut Window,
        (snd_una, snd_nxt): (u32, u32),
        mss: u32,
        acked: u32,
    ) {
        // SAFETY: see above.
        unsafe { core_compound_grow(self, rules, window, snd_una, snd_nxt, mss, acked) }
    }
}
