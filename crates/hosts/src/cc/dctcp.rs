//! What a DCTCP loaded by quell shows of itself: the last round and the last reduction.
//!
//! The order of the fields is that of `struct dctcp_view` in `bpf/dctcp.bpf.c`.

/// State of one DCTCP socket. All windows in packets, alpha in units of 1/1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DctcpView {
    /// Whole rounds (windows of data) so far.
    pub rounds: u32,
    /// Alpha before the last round's update.
    pub alpha_before: u32,
    /// Alpha now: 1024 is a mark on every packet.
    pub alpha: u32,
    /// Packets delivered in the last round.
    pub round_delivered: u32,
    /// Of these, marked CE.
    pub round_ce: u32,
    /// Reductions by marks so far.
    pub reductions: u32,
    /// Alpha at the last of them.
    pub reduction_alpha: u32,
    /// Window before it.
    pub reduction_cwnd: u32,
    /// Threshold, and so the window, after it.
    pub reduction_ssthresh: u32,
    /// Reductions by loss so far.
    pub losses: u32,
}

#[cfg(feature = "bpf-cc")]
impl DctcpView {
    /// From the bytes of the map.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| word.try_into().map_or(0, u32::from_ne_bytes));
        let mut next = || words.next();
        Some(Self {
            rounds: next()?,
            alpha_before: next()?,
            alpha: next()?,
            round_delivered: next()?,
            round_ce: next()?,
            reductions: next()?,
            reduction_alpha: next()?,
            reduction_cwnd: next()?,
            reduction_ssthresh: next()?,
            losses: next()?,
        })
    }
}
