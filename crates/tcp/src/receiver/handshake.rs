//! The receiver's part in the handshake, as the end that listens; Linux `tcp_minisocks.c`
//! (`tcp_check_req`), `inet_connection_sock.c` (`reqsk_timer_handler`).

use quell_units::Time;

use super::{Phase, Receiver, timestamp};
use crate::flags::Flags;
use crate::segment::Segment;

/// Time-out of the SYN-ACK (RFC 6298 section 2.1), doubled each time up to 64 times.
const SYN_ACK_TIMEOUT: Time = Time::from_secs(1);

/// Retransmission time-out of an end after one RTT sample.
pub(super) fn rto(rtt: Option<Time>) -> Time {
    rtt.map_or(SYN_ACK_TIMEOUT, |rtt| {
        rtt + (rtt * 2).max(Time::from_millis(200))
    })
}

impl Receiver {
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        if self.phase == Phase::Established {
            self.ack_wanted = true;
        } else {
            self.syn_ack_wanted = true;
            self.ts_recent = segment.timestamp;
            self.feedback.on_syn(segment);
        }
    }

    pub(super) fn syn_ack(&mut self, now: Time) -> Segment {
        let attempt = match self.phase {
            Phase::SynReceived { attempt, .. } => attempt + 1,
            _ => 1,
        };
        self.phase = Phase::SynReceived { at: now, attempt };
        self.syn_ack_wanted = false;
        self.syn_acks += 1;
        if attempt == 1 {
            self.first_syn_ack = timestamp(now);
        }
        let wait = |doublings: u32| SYN_ACK_TIMEOUT * (1 << doublings.min(6));
        // Only time-outs double it (`reqsk_timeout`), and it counts ticks. A receiver alone counts
        // repeated SYNs too, and nanoseconds.
        self.syn_ack_due = Some(if self.is_half {
            self.ticks().after(now, wait(self.syn_ack_timeouts))
        } else {
            now + wait(attempt - 1)
        });
        let (flags, ecn, option) = self.feedback.syn_ack(attempt, self.syn_ack_timeouts);
        let mut segment = self.ack(0, Flags(Flags::SYN | flags), now);
        segment.ecn = ecn;
        segment.accecn = option;
        segment
    }

    /// The first segment after the SYN arrived; the last SYN-ACK was the `attempt`th and left at `sent`.
    /// Returns true if its flags echo the SYN-ACK.
    pub(super) fn on_first_ack(
        &mut self,
        segment: &Segment,
        sent: Time,
        attempt: u32,
        now: Time,
    ) -> bool {
        // Karn's algorithm: no sample if the SYN-ACK was retransmitted.
        if attempt == 1 {
            self.rtt = Some(now - sent);
        }
        self.establish(now);
        self.syn_ack_due = None;
        self.syn_ack_wanted = false;
        self.feedback.on_first_ack(segment)
    }
    pub(super) fn establish(&mut self, now: Time) {
        self.phase = Phase::Established;
        if let Some(buffer) = &mut self.buffer {
            buffer.init_buffer_space(now);
        }
    }
}
