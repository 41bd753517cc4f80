//! `bpf/core/bbr_ring.h`.

/// `BBR_RING_SIZE`.
const SIZE: usize = 2048;

/// `struct bbr_flight`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct Flight {
    pub snd_nxt: u32,
    pub delivered: u32,
    pub in_flight: u32,
    pub lost: u32,
}

/// `struct bbr_departure`; the header says what the fields hold.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "those of the header")]
pub struct Departure {
    pub in_flight: u32,
    pub lost: u32,
    pub is_app_limited: u32,
}

/// `struct bbr_ring`.
#[repr(C)]
#[derive(Debug)]
pub struct Ring {
    next: u32,
    count: u32,
    at: [Flight; SIZE],
}

unsafe extern "C" {
    fn core_ring_size() -> u32;
    fn core_ring_push(ring: *mut Ring, now: *const Flight);
    fn core_ring_first(ring: *const Ring, end_seq: u32, mss: u32, out: *mut Departure);
    fn core_ring_again(ring: *const Ring, delivered: u32, out: *mut Departure);
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            next: 0,
            count: 0,
            at: [Flight::default(); SIZE],
        }
    }
}

// In each call below the pointers are borrows of structs that have the layout of the header's (`size_in_c` checks that), and the functions
// keep none of them.
impl Ring {
    /// Entries that it holds at most.
    pub const MOST: usize = SIZE - 1;
    /// `BBR_RING_LIMITED`.
    pub const LIMITED: u32 = 1 << 31;

    /// Bytes of the C struct.
    pub fn size_in_c() -> usize {
        // SAFETY: it has no arguments.
        unsafe { core_ring_size() as usize }
    }

    /// `bbr_ring_push`.
    pub fn push(&mut self, now: &Flight) {
        // SAFETY: see above.
        unsafe { core_ring_push(self, now) }
    }

    /// `bbr_ring_first`.
    pub fn first(&self, end_seq: u32, mss: u32) -> Departure {
        let mut out = Departure::default();
        // SAFETY: see above.
        unsafe { core_ring_first(self, end_seq, mss, &mut out) }
        out
    }

    /// `bbr_ring_again`.
    pub fn again(&self, delivered: u32) -> Departure {
        let mut out = Departure::default();
        // SAFETY: see above.
        unsafe { core_ring_again(self, delivered, &mut out) }
        out
    }
}
