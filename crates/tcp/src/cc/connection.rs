//! The view of a connection that a control of a modelled path, such as BBR and Prague, has: the state of
//! the connection, each loss, and rounds.
//!
//! Linux passes to such a control the whole `struct sock` (`tcp_congestion_ops::cong_control`); BBR v2 and v3
//! add `skb_marked_lost` and the state of each packet at its departure (`google/bbr`, `tcp_rate.c`).

use quell_units::{Rate, Time};

use super::AckSample;

/// State of loss recovery (Linux `enum tcp_ca_state`), in rising order of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CaState {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have arrived, and nothing is lost yet.
    Disorder,
    /// Congestion window reduced: it shrinks because of ECN echo or a tail loss.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission time-out.
    Loss,
}

/// A connection, as its control sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Now.
    pub now: Time,
    /// State of loss recovery; the old one while it changes
    /// ([`set_state`](super::CongestionControl::set_state)).
    pub state: CaState,
    /// First number not acknowledged (SND.UNA).
    pub snd_una: u64,
    /// First number never sent (SND.NXT).
    pub snd_nxt: u64,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments delivered since the start, and one for the SYN, as in Linux.
    pub delivered: u64,
    /// Segments with CE among them.
    pub delivered_ce: u64,
    /// Time of the last delivery in µs, rounded down, or of the departure of a flight's first segment if
    /// that is later (`delivered_mstamp`).
    pub delivered_mstamp_us: u64,
    /// Segments found lost since the start; a segment lost twice counts twice.
    pub lost: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Time>,
    /// Lowest RTT of the last five minutes; `None` before the first sample.
    pub min_rtt: Option<Time>,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Length of a full segment's IP packet in bytes.
    pub mtu: u32,
    /// Rate at which departures are paced, in bit/s of payload.
    pub pacing_rate: Rate,
    /// Time at which pacing allows the next departure; in the past if it does now.
    pub next_departure: Time,
    /// Whether the application limited the sender when the segments in flight were sent.
    pub app_limited: bool,
    /// Whether the window was full in this round or the last (`tcp_sock::is_cwnd_limited`, without the
    /// clause for slow start that [`AckSample::cwnd_limited`] has).
    pub is_cwnd_limited: bool,
}

impl Default for Connection {
    /// A connection with packets of 1 500 bytes before its handshake.
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            state: CaState::Open,
            snd_una: 0,
            snd_nxt: 0,
            in_flight: 0,
            delivered: 0,
            delivered_ce: 0,
            delivered_mstamp_us: 0,
            lost: 0,
            srtt: None,
            min_rtt: None,
            mss: 1_448,
            mtu: 1_500,
            pacing_rate: Rate::UNLIMITED,
            next_departure: Time::ZERO,
            app_limited: false,
            is_cwnd_limited: false,
        }
    }
}

/// A segment just found lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostSegment {
    /// Time of its last departure.
    pub sent: Time,
    /// Segments delivered by then, modulo 2³².
    pub delivered: u32,
    /// Segments with CE among them.
    pub delivered_ce: u32,
    /// Segments found lost by then, modulo 2³².
    pub prior_lost: u32,
    /// Segments in flight then, itself included.
    pub in_flight: u32,
    /// Whether the application limited the sender then.
    pub app_limited: bool,
    /// Segments found lost since the start, itself included.
    pub lost: u64,
}

/// Counts round trips by packets: a round ends with the delivery of a segment sent after the end of
/// the round before (BBR's `next_rtt_delivered`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rounds {
    /// Segments delivered when the round began.
    end: u64,
    count: u64,
}

impl Rounds {
    /// An ACK arrived. Returns true if a round begins with it; an ACK without a usable rate sample begins
    /// none.
    pub fn on_ack(&mut self, ack: &AckSample) -> bool {
        let begins = ack.rate.interval_us > 0 && ack.rate.prior_delivered >= self.end;
        if begins {
            self.restart(ack.delivered);
            self.count += 1;
        }
        begins
    }
    /// The round ends with the delivery of what leaves from now on, `delivered` segments being delivered.
    pub fn restart(&mut self, delivered: u64) {
        self.end = delivered;
    }
    /// Number of rounds begun.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;

    #[test]
    fn a_round_ends_with_what_left_after_the_one_before() {
        let mut rounds = Rounds::default();
        // (delivered, delivered when the newest of them had left): ten in flight all the time.
        for (delivered, prior, begins) in [
            (1, 0, true),
            (2, 0, false),
            (10, 0, false),
            (11, 1, true),
            (20, 10, false),
            (21, 11, true),
        ] {
            let ack = AckSample {
                delivered,
                rate: RateSample {
                    prior_delivered: prior,
                    delivered: (delivered - prior) as u32,
                    interval_us: 1,
                    ..RateSample::default()
                },
                ..AckSample::default()
            };
            let mut unusable = ack;
            unusable.rate.interval_us = 0;
            assert!(!rounds.on_ack(&unusable), "{delivered}: no interval");
            assert_eq!(rounds.on_ack(&ack), begins, "{delivered}");
        }
        assert_eq!(rounds.count(), 3);
    }
}
