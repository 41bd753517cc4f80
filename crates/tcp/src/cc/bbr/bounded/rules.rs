//! The rules that distinguish one BBR v2 or v3 from another; `struct bbr_rules` in `bpf/core/bbr.h`.

use super::super::integers::{LARGEST, UNIT};

/// Windows in jiffies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Age at which the lowest RTT expires: 10 s.
    pub min_rtt_window: u32,
    /// Age of the lowest RTT at which `PROBE_RTT` begins: 5 s.
    pub probe_rtt_window: u32,
    /// Length of `PROBE_RTT`: 200 ms.
    pub probe_rtt: u32,
}

/// The response to marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Not at all.
    Ignored,
    /// v2: alpha follows the marks even where they are not responded to, and an echo always counts; half
    /// of a sample marked is too much.
    V2,
    /// v3: nothing counts before the connection is eligible; more than half of a sample is too much.
    V3,
}

/// The rules; all gains and fractions are in 1/256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Windows in jiffies.
    pub timing: Timing,
    /// Gains of start-up, for pacing and window.
    pub startup_gain: u32,
    /// See [`startup_gain`](Self::startup_gain).
    pub startup_cwnd_gain: u32,
    /// Pacing gain of DRAIN.
    pub drain_gain: u32,
    /// Rounds after which DRAIN ends even if the queue has not drained; 0 for never.
    pub drain_rounds: u32,
    /// Whether the ACK with which DRAIN begins may count as the first of its rounds.
    pub drain_counts_entry: bool,
    /// Whether the pipe counts as full if the sample has not grown, tested on each ACK or on each round;
    /// v2 compares the maximum.
    pub full_by_sample: bool,
    /// Whether a sample may begin a new count in the middle of a round.
    pub full_resets_early: bool,
    /// Whether the memory of the last round is kept until the end of an ACK (v3).
    pub latest_to_the_end: bool,
    /// Whether an app-limited ACK that changes nothing is passed over.
    pub fast_path: bool,
    /// Whether UP ends when bandwidth no longer grows, and not when a queue of 1/4 BDP stands.
    pub up_to_plateau: bool,
    /// Whether growth of `inflight_hi` forgets the ACKs that did not count.
    pub up_forgets_acks: bool,
    /// Whether an ACK may show that too much is in flight, besides the losses themselves.
    pub judges_acks: bool,
    /// Whether start-up that ends by loss keeps at least what the last round delivered.
    pub startup_keeps_latest: bool,
    /// Whether an equal RTT renews the lowest.
    pub equal_rtt_renews: bool,
    /// Whether a time-out and an undo reset all of the test for a full pipe, and `inflight_lo` is at
    /// least the window (v3).
    pub resets_full: bool,
    /// Whether a loss that a tail loss probe has repaired counts.
    pub counts_probe_repair: bool,
    /// Whether the state before an episode of loss is saved before its first loss, and an undo returns to
    /// the phase of then.
    pub saves_before_loss: bool,
    /// Whether marks also cut the bounds of bandwidth (v2 of 2020).
    pub marks_cut_bw: bool,
    /// Whether super-segments are 1 ms at the pacing rate, without an allowance for close peers.
    pub bursts_of_1_ms: bool,
    /// Whether super-segments may be of one segment below 1.2 Mbit/s.
    pub may_send_singles: bool,
    /// Pacing gain of DOWN.
    pub down_gain: u32,
    /// Window gain of UP.
    pub up_cwnd_gain: u32,
    /// Lossy ACKs in a round that end start-up.
    pub full_loss_count: u32,
    /// Share of a flight that may be lost.
    pub loss_threshold: u32,
    /// Share of which loss cuts the bounds.
    pub beta: u32,
    /// Longest time at full bandwidth that extra ACKs are worth, in µs; 0 for no limit.
    pub extra_acked_max_us: u32,
    /// Payload in bytes of the largest super-segment.
    pub largest: u32,
    /// The response to marks.
    pub marks: Marks,
    /// Longest RTT in µs at which marks are responded to; 0 for any.
    pub ecn_max_rtt_us: u32,
    /// Share of `inflight_hi` that the first round of a probe after marks adds; 0 for no such probe.
    pub ecn_reprobe_gain: u32,
}

impl Rules {
    /// BBR v2 alpha: `google/bbr` `tcp_bbr2.c` of 2019 and 2021.
    pub fn v2(timing: Timing) -> Self {
        Self {
            timing,
            startup_gain: UNIT * 2_885 / 1_000 + 1,
            startup_cwnd_gain: UNIT * 2_885 / 1_000 + 1,
            drain_gain: UNIT * 1_000 / 2_885,
            drain_rounds: 0,
            drain_counts_entry: false,
            full_by_sample: false,
            full_resets_early: false,
            latest_to_the_end: false,
            fast_path: true,
            up_to_plateau: false,
            up_forgets_acks: true,
            judges_acks: true,
            startup_keeps_latest: false,
            equal_rtt_renews: true,
            resets_full: false,
            counts_probe_repair: false,
            saves_before_loss: false,
            marks_cut_bw: false,
            bursts_of_1_ms: false,
            may_send_singles: true,
            down_gain: UNIT * 3 / 4,
            up_cwnd_gain: UNIT * 2,
            full_loss_count: 8,
            loss_threshold: UNIT * 2 / 100,
            beta: UNIT * 30 / 100,
            extra_acked_max_us: 100_000,
            largest: LARGEST,
            marks: Marks::V2,
            ecn_max_rtt_us: 5_000,
            ecn_reprobe_gain: 0,
        }
    }
    /// BBR v3 of 2023 and 2025: `google/bbr` `tcp_bbr.c`.
    pub fn v3_2023(timing: Timing) -> Self {
        Self {
            startup_gain: UNIT * 277 / 100 + 1,
            startup_cwnd_gain: UNIT * 2,
            full_by_sample: true,
            full_resets_early: true,
            latest_to_the_end: true,
            up_to_plateau: true,
            up_forgets_acks: false,
            startup_keeps_latest: true,
            equal_rtt_renews: false,
            resets_full: true,
            counts_probe_repair: true,
            may_send_singles: false,
            down_gain: UNIT * 91 / 100,
            up_cwnd_gain: UNIT * 2 + UNIT / 4,
            full_loss_count: 6,
            marks: Marks::V3,
            ecn_reprobe_gain: UNIT / 2,
            ..Self::v2(timing)
        }
    }
    /// BBR v3 of 2026: `google/bbr` `tcp_bbr3.c`.
    pub fn v3_2026(timing: Timing) -> Self {
        Self {
            drain_gain: UNIT / 2,
            drain_rounds: 3,
            drain_counts_entry: true,
            saves_before_loss: true,
            largest: 1 << 16,
            marks: Marks::Ignored,
            ecn_reprobe_gain: 0,
            ..Self::v3_2023(timing)
        }
    }
    /// draft-ietf-ccwg-bbr. Where it has real numbers and bytes, this takes Linux's 1/256 and packets: the
    /// gain of start-up, 2.77, and the shares of loss (2 %), cut (0.3) and headroom (0.15) are those of v3;
    /// DOWN's 0.90 is 230/256. Its filter of extra ACKs over ten rounds is Linux's pair of slots of
    /// five.
    pub fn v3_draft(timing: Timing) -> Self {
        Self {
            drain_counts_entry: false,
            full_resets_early: false,
            fast_path: false,
            judges_acks: false,
            bursts_of_1_ms: true,
            down_gain: UNIT * 90 / 100,
            extra_acked_max_us: 0,
            ..Self::v3_2026(timing)
        }
    }
}
