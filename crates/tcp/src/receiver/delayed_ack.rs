//! When to acknowledge: RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; Linux `tcp_input.c`
//! (`__tcp_ack_snd_check`, `tcp_event_data_recv`) and `tcp_output.c` (`tcp_send_delayed_ack`).
//!
//! Every second full segment is acknowledged at once, a single one after the ACK time-out, which
//! adapts to the spacing of arrivals. In the quick-ack phase (the first 16 ACKs, and some after
//! duplicates, a first CE and pauses) every segment is.

use quell_aqm::Time;

/// Least ACK time-out (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const MIN: Time = Time::from_millis(40);
/// Greatest delay of an ACK (`TCP_DELACK_MAX`).
const MAX: Time = Time::from_millis(200);
/// Length of a quick-ack phase (`TCP_MAX_QUICKACKS`).
pub(super) const QUICK_ACKS: u32 = 16;

/// The timer and its adaptation.
#[derive(Debug, Clone, Default)]
pub(super) struct DelayedAck {
    /// Most ACKs in a quick-ack phase; zero where there is none.
    most_quick: u32,
    /// ACKs left in the quick-ack phase.
    quick: u32,
    /// ACK time-out; zero before the first data.
    timeout: Time,
    last_data: Time,
    /// When the ACK that waits is due.
    due: Option<Time>,
}

impl DelayedAck {
    /// `window_segments` is the receive window in segments.
    pub(super) fn new(quick_ack: bool, window_segments: u64) -> Self {
        let most_quick = (window_segments / 2).clamp(2, u64::from(QUICK_ACKS)) as u32;
        Self {
            most_quick: if quick_ack { most_quick } else { 0 },
            ..Self::default()
        }
    }
    /// Data arrived in order; `rto` is this end's own time-out.
    pub(super) fn on_data(&mut self, now: Time, rto: Time) {
        if self.timeout.is_zero() {
            self.lengthen_quick_phase(QUICK_ACKS);
            self.timeout = MIN;
        } else {
            let spacing = now - self.last_data;
            if spacing <= MIN / 2 {
                self.timeout = self.timeout / 2 + MIN / 2;
            } else if spacing < self.timeout {
                self.timeout = (self.timeout / 2 + spacing).min(rto);
            } else if spacing > rto {
                self.lengthen_quick_phase(QUICK_ACKS);
            }
        }
        self.last_data = now;
    }
    fn lengthen_quick_phase(&mut self, acks: u32) {
        self.quick = self.quick.max(acks.min(self.most_quick));
    }
    /// Begins a quick-ack phase.
    pub(super) fn enter_quick_phase(&mut self, acks: u32) {
        self.lengthen_quick_phase(acks);
        self.timeout = MIN;
    }
    /// Whether each segment is acknowledged.
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0
    }
    /// Schedules an ACK; true if the one that waits is so nearly due that it may go now.
    pub(super) fn schedule(&mut self, now: Time, rtt: Option<Time>) -> bool {
        let mut wait = self.timeout.max(Time::from_nanos(1));
        if wait > MIN {
            let most = rtt.map_or(Time::from_millis(500), |rtt| {
                rtt.clamp(MIN, Time::from_millis(500))
            });
            wait = wait.min(most);
        }
        let at = now + wait.min(MAX);
        match self.due {
            Some(due) if due <= now + wait / 4 => return true,
            Some(due) => self.due = Some(due.min(at)),
            None => self.due = Some(at),
        }
        false
    }
    /// When the ACK that waits is due.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }
    /// The timer ran out.
    pub(super) fn on_timer(&mut self, rto: Time) {
        self.due = None;
        self.timeout = (self.timeout * 2).min(rto);
    }
    /// An ACK leaves.
    pub(super) fn on_ack_sent(&mut self, was_scheduled: bool) {
        self.due = None;
        if self.quick > 0 && was_scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = MIN;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Time = Time::from_secs(1);

    #[test]
    fn the_time_out_follows_the_spacing_of_arrivals_between_40_and_200_ms() {
        let mut ack = DelayedAck::new(true, 1_000);
        ack.on_data(Time::ZERO, RTO);
        assert!(!ack.schedule(Time::ZERO, None));
        assert_eq!(ack.due(), Some(MIN));
        ack.on_timer(RTO);
        // Doubled to 80 ms; 60 ms between arrivals give 80/2 + 60.
        ack.on_data(Time::from_millis(60), RTO);
        ack.schedule(Time::from_millis(60), None);
        assert_eq!(ack.due(), Some(Time::from_millis(160)));
        // Not longer than the RTT, and at least 40 ms.
        ack.on_ack_sent(true);
        ack.schedule(Time::from_millis(60), Some(Time::from_millis(10)));
        assert_eq!(ack.due(), Some(Time::from_millis(100)));
    }

    #[test]
    fn the_quick_phase_lasts_sixteen_acks_and_returns_after_a_pause() {
        let mut ack = DelayedAck::new(true, 1_000);
        ack.on_data(Time::ZERO, RTO);
        for _ in 0..16 {
            assert!(ack.is_quick());
            ack.on_ack_sent(true);
        }
        assert!(!ack.is_quick());
        ack.on_data(Time::from_secs(3), RTO);
        assert!(ack.is_quick());
    }
}
