//! The delayed ACK: RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; Linux `tcp_input.c`
//! (`__tcp_ack_snd_check`, `tcp_event_data_recv`) and `tcp_output.c` (`tcp_send_delayed_ack`).
//!
//! Every second full segment is acknowledged at once, a single one after the ACK time-out (ato), which
//! adapts to the spacing of arrivals. In the quick-ack phase every segment is acknowledged at once: the
//! first 16 ACKs, and some after duplicates, after a first CE and after pauses.
//!
//! A host that answers what arrives within the ACK time-out is *interactive* (`inet_csk_in_pingpong_mode`,
//! `tcp_pingpong_thresh` = 1): its ACKs wait for the next answer, quick-ack phase or not, until one has waited
//! too long.

use quell_units::Time;

use crate::ticks::Ticks;

/// Least ACK time-out (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const MIN: Time = Time::from_millis(40);
/// Greatest delay of an ACK (`TCP_DELACK_MAX`).
const MAX: Time = Time::from_millis(200);
/// Greatest delay before an RTT is known.
const MAX_UNKNOWN: Time = Time::from_millis(500);
/// Length of a quick-ack phase (`TCP_MAX_QUICKACKS`).
pub(super) const QUICK_ACKS: u8 = 16;

/// The timer and its adaptation, in ticks of the host.
#[derive(Debug, Clone)]
pub(super) struct DelayedAck {
    ticks: Ticks,
    /// [`MIN`] in ticks.
    least: u32,
    /// Largest number of ACKs in a quick-ack phase; zero if there is no such phase.
    most_quick: u8,
    /// Number of ACKs left in the quick-ack phase (`icsk_ack.quick`).
    quick: u8,
    /// ACK time-out in ticks; zero before the first data.
    ato: u64,
    /// Tick of the last arrival of data.
    lrcvtime: u64,
    /// The application answers, or the other end has finished.
    is_interactive: bool,
    /// Tick at which the delayed ACK is due, and when the timer expires.
    due: Option<(u64, Time)>,
}

impl DelayedAck {
    /// `window_segments` is the receive window in segments.
    pub(super) fn new(quick_ack: bool, window_segments: u64, ticks: Ticks) -> Self {
        let most_quick = (window_segments / 2).clamp(2, u64::from(QUICK_ACKS)) as u8;
        Self {
            least: ticks.count(MIN) as u32,
            ticks,
            most_quick: if quick_ack { most_quick } else { 0 },
            quick: 0,
            ato: 0,
            lrcvtime: 0,
            is_interactive: false,
            due: None,
        }
    }
    pub(super) fn ticks(&self) -> Ticks {
        self.ticks
    }
    fn least(&self) -> u64 {
        self.least.into()
    }
    /// Data arrived in order (`tcp_event_data_recv`); `rto` is this end's retransmission time-out.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, rto: impl FnOnce() -> Time) {
        let (now, min) = (self.ticks.at(now), self.least());
        if self.ato == 0 {
            self.lengthen_quick_phase(QUICK_ACKS);
            self.ato = min;
        } else {
            let spacing = now - self.lrcvtime;
            if spacing <= min / 2 {
                self.ato = self.ato / 2 + min / 2;
            } else if spacing < self.ato {
                self.ato = (self.ato / 2 + spacing).min(self.ticks.count(rto()));
            } else if spacing > self.ticks.count(rto()) {
                self.lengthen_quick_phase(QUICK_ACKS);
            }
        }
        self.lrcvtime = now;
    }
    fn lengthen_quick_phase(&mut self, acks: u8) {
        self.quick = self.quick.max(acks.min(self.most_quick));
    }
    /// Begins a quick-ack phase (`tcp_enter_quickack_mode`).
    pub(super) fn enter_quick_phase(&mut self, acks: u8) {
        self.lengthen_quick_phase(acks);
        self.is_interactive = false;
        self.ato = self.least();
    }
    /// Data left (`tcp_event_data_sent`): an answer, if it follows an arrival within the ACK time-out.
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.is_interactive |= self.ticks.at(now) - self.lrcvtime < self.ato;
    }
    /// The other end has finished (`tcp_fin`): the ACK waits for this end's own FIN.
    pub(super) fn on_finished(&mut self) {
        self.is_interactive = true;
    }
    /// Whether ACKs wait for answers.
    pub(super) fn is_interactive(&self) -> bool {
        self.is_interactive
    }
    /// The window has grown: one more segment is acknowledged at once (`tcp_grow_window`).
    #[inline]
    pub(super) fn on_window_grown(&mut self) {
        if self.most_quick > 0 {
            self.quick |= 1;
        }
    }
    /// Ends the quick-ack phase, because the buffer is half full (`__tcp_select_window`).
    pub(super) fn end_quick_phase(&mut self) {
        self.quick = 0;
    }
    /// Whether each segment is acknowledged.
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive
    }
    /// Schedules an ACK (`tcp_send_delayed_ack`). Returns true if an ACK is delayed already and so nearly
    /// due that it may leave now.
    pub(super) fn schedule(&mut self, now: Time, rtt: Option<Time>) -> bool {
        let mut wait = self.ato.max(1);
        if wait > self.least() {
            let most = rtt.map_or(MAX_UNKNOWN, |rtt| rtt.clamp(MIN, MAX_UNKNOWN));
            wait = wait.min(self.ticks.count(most));
        }
        wait = wait.min(self.ticks.count(MAX));
        let tick = self.ticks.at(now);
        let mut expires = tick + wait;
        if let Some((earlier, _)) = self.due {
            if earlier <= tick + wait / 4 {
                return true;
            }
            expires = expires.min(earlier);
        }
        self.due = Some((expires, self.ticks.due(now, expires)));
        false
    }
    /// Expiry of the timer of the delayed ACK.
    pub(super) fn due(&self) -> Option<Time> {
        self.due.map(|(_, rings)| rings)
    }
    /// The timer expired.
    pub(super) fn on_timer(&mut self, rto: Time) {
        self.due = None;
        if std::mem::take(&mut self.is_interactive) {
            self.ato = self.least();
        } else {
            self.ato = (self.ato * 2).min(self.ticks.count(rto));
        }
    }
    /// An ACK leaves.
    pub(super) fn on_ack_sent(&mut self, was_scheduled: bool) {
        self.due = None;
        if self.quick > 0 && was_scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.least();
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
        let mut ack = DelayedAck::new(true, 1_000, Ticks::EXACT);
        ack.on_data(Time::ZERO, || RTO);
        assert!(!ack.schedule(Time::ZERO, None));
        assert_eq!(ack.due(), Some(MIN));
        ack.on_timer(RTO);
        // Doubled to 80 ms; 60 ms between arrivals give 80/2 + 60.
        ack.on_data(Time::from_millis(60), || RTO);
        ack.schedule(Time::from_millis(60), None);
        assert_eq!(ack.due(), Some(Time::from_millis(160)));
        // Not longer than the RTT, and at least 40 ms.
        ack.on_ack_sent(true);
        ack.schedule(Time::from_millis(60), Some(Time::from_millis(10)));
        assert_eq!(ack.due(), Some(Time::from_millis(100)));
    }

    /// Linux 6.18, HZ = 250: `tcp_send_delayed_ack` counts from the last jiffy, `calc_index` adds one.
    #[test]
    fn a_lone_segment_waits_for_40_to_44_ms_of_ticks() {
        for (now, due) in [(4_000, 48), (7_999, 48), (8_000, 52)] {
            let now = Time::from_micros(now);
            let mut ack = DelayedAck::new(true, 1_000, Ticks::new(250, Time::ZERO));
            ack.on_data(now, || RTO);
            assert!(!ack.schedule(now, None));
            assert_eq!(ack.due(), Some(Time::from_millis(due)));
            // Two of ten ticks before it is due, whatever the wheel adds, it leaves at once.
            assert!(!ack.schedule(Time::from_millis(due - 13), None));
            assert!(ack.schedule(Time::from_millis(due - 12), None));
        }
    }

    #[test]
    fn the_quick_phase_lasts_sixteen_acks_and_returns_after_a_pause() {
        let mut ack = DelayedAck::new(true, 1_000, Ticks::EXACT);
        ack.on_data(Time::ZERO, || RTO);
        for _ in 0..16 {
            assert!(ack.is_quick());
            ack.on_ack_sent(true);
        }
        assert!(!ack.is_quick());
        ack.on_data(Time::from_secs(3), || RTO);
        assert!(ack.is_quick());
    }
}
