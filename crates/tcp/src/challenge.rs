//! Answers to what an honest peer does not send: RFC 5961 sections 5 and 7; Linux `tcp_input.c`
//! (`__tcp_oow_rate_limited`, `tcp_send_challenge_ack`).
//!
//! A challenge ACK shows the peer the numbers that this end expects. Two ends that disagree would challenge each
//! other for ever, so their number is limited. `tcp_challenge_ack_limit` of a host is without limit by default, and
//! not modelled.

use quell_units::Time;

use crate::ticks::Ticks;

/// Least time between two answers (`tcp_invalid_ratelimit`).
const LEAST_INTERVAL: Time = Time::from_millis(500);

/// Limits answers to segments outside the window, and challenge ACKs.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerLimit {
    /// Tick of the last answer (`last_oow_ack_time`).
    last: Option<u64>,
}

impl AnswerLimit {
    /// Whether an answer may leave now, on a host of this clock. If so, it is the last one.
    #[cold]
    pub(crate) fn allows(&mut self, ticks: Ticks, now: Time) -> bool {
        let (tick, least) = (ticks.at(now), ticks.count(LEAST_INTERVAL));
        let is_due = self.last.is_none_or(|last| tick - last >= least);
        if is_due {
            self.last = Some(tick);
        }
        is_due
    }
}
