//! Looks for a token-bucket policer: two intervals in a row with heavy loss and the same rate.

use super::super::Sock;
use super::super::integers::{UNIT, bandwidth_down, rate};

/// Rounds of an interval: at least, and at most.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Losses per delivered segment that an interval must have, in 1/256 (`bbr_lt_loss_thresh`).
const LOSS_THRESH: u32 = 50;
/// Rates are the same if they differ by no more than an eighth, or by 4 kbit/s.
const RATIO: u32 = UNIT / 8;
const DIFFERENCE: u64 = 4_000 / 8;
/// Rounds at the policer's rate before more is tried.
const USE_ROUNDS: u32 = 48;

/// The long-term sampling of bandwidth (`lt_bw`).
#[derive(Debug, Clone, Default)]
pub(super) struct Police {
    is_sampling: bool,
    is_found: bool,
    bw: u32,
    /// Rounds of this interval, or at this rate.
    rounds: u32,
    /// Start of the interval: ms, segments delivered and lost by then.
    since_ms: u32,
    delivered: u32,
    lost: u32,
}

impl Police {
    /// Whether a policer was found.
    pub(super) fn is_found(&self) -> bool {
        self.is_found
    }
    /// The rate of the policer that was found.
    pub(super) fn bw(&self) -> Option<u32> {
        self.is_found.then_some(self.bw)
    }
    /// A round at the policer's rate begins. Returns true if it was the last.
    pub(super) fn has_served(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= USE_ROUNDS
    }
    pub(super) fn reset(&mut self, sock: &Sock) {
        *self = Self::default();
        self.begin_interval(sock);
    }
    fn begin_interval(&mut self, sock: &Sock) {
        self.since_ms = (sock.delivered_us / 1_000) as u32;
        self.delivered = sock.delivered;
        self.lost = sock.lost;
        self.rounds = 0;
    }
    /// An ACK or a time-out with this many `losses`. Returns true if a policer was found.
    pub(super) fn sample(
        &mut self,
        sock: &Sock,
        losses: u32,
        is_app_limited: bool,
        round_start: bool,
    ) -> bool {
        if !self.is_sampling {
            if losses == 0 {
                return false;
            }
            self.begin_interval(sock);
            self.is_sampling = true;
        }
        if is_app_limited {
            self.reset(sock);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if self.rounds > MAX_ROUNDS {
            self.reset(sock);
            return false;
        }
        if losses == 0 {
            return false;
        }
        let lost = sock.lost.wrapping_sub(self.lost);
        let delivered = sock.delivered.wrapping_sub(self.delivered);
        if delivered == 0 || lost << 8 < LOSS_THRESH.wrapping_mul(delivered) {
            return false;
        }
        let elapsed_ms = ((sock.delivered_us / 1_000) as u32).wrapping_sub(self.since_ms);
        if (elapsed_ms as i32) < 1 {
            return false;
        }
        if elapsed_ms >= u32::MAX / 1_000 {
            self.reset(sock);
            return false;
        }
        self.compare(bandwidth_down(delivered, elapsed_ms * 1_000), sock)
    }
    /// An interval had this bandwidth.
    fn compare(&mut self, bw: u32, sock: &Sock) -> bool {
        if self.bw != 0 {
            let difference = bw.abs_diff(self.bw);
            let is_close = difference.wrapping_mul(UNIT) <= RATIO.wrapping_mul(self.bw)
                || rate(difference, sock.mss, UNIT) <= DIFFERENCE;
            if is_close {
                self.bw = (bw.wrapping_add(self.bw)) >> 1;
                self.is_found = true;
                self.rounds = 0;
                return true;
            }
        }
        self.bw = bw;
        self.begin_interval(sock);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An eighth, or 4 kbit/s, in packets of 1 448 bytes of payload.
    #[test]
    fn two_intervals_of_the_same_rate_show_a_policer() {
        let sock = Sock {
            mss: 1_448,
            ..Sock::default()
        };
        for (first, second, found) in [
            (1_125, 1_000, Some(1_062)),
            (1_150, 1_000, None),
            (10, 5, Some(7)),
        ] {
            let mut police = Police::default();
            assert!(!police.compare(first, &sock));
            assert_eq!(police.compare(second, &sock), found.is_some());
            assert_eq!(police.bw(), found, "{first} {second}");
        }
    }
}
