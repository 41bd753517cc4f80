//! Use of the congestion window: a window that the sender does not fill shrinks (RFC 2861, RFC 7661;
//! Linux `tcp_cwnd_validate`, `tcp_cwnd_restart`).

use quell_units::Time;

use super::Sender;
use crate::cc::{CaState, CongestionControl as _, Event};
use crate::config::SenderConfig;

/// Use of the congestion window.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    /// Whether the window shrinks after idle time (`tcp_slow_start_after_idle`).
    restart_after_idle: bool,
    /// The window that it shrinks to, in segments.
    initial_window: u32,
    /// Whether the window was full in the round that ends at `cwnd_usage_seq`.
    pub(super) is_cwnd_limited: bool,
    /// Largest number of outstanding segments in that round.
    pub(super) max_packets_out: u32,
    cwnd_usage_seq: u64,
    /// Largest number of outstanding segments since `cwnd_stamp`, while the window was not full
    /// (`snd_cwnd_used`).
    cwnd_used: u32,
    /// Time at which the window was last full, or last changed for another reason (`snd_cwnd_stamp`).
    pub(super) cwnd_stamp: Time,
    /// Whether this run of polls has sent new data.
    pub(super) has_sent: bool,
}

impl Usage {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            restart_after_idle: config.restart_after_idle,
            initial_window: config.initial_window.max(1),
            ..Self::default()
        }
    }
}

impl Sender {
    /// `tcp_cwnd_validate`: records how full the window was, and shrinks a window that was not full
    /// for a whole time-out (RFC 2861).
    pub(super) fn cwnd_validate(&mut self, is_limited: bool, now: Time) {
        let outstanding = self.board.packets_out();
        let usage = &mut self.usage;
        if self.snd_una >= usage.cwnd_usage_seq
            || is_limited
            || (!usage.is_cwnd_limited && outstanding > usage.max_packets_out)
        {
            usage.is_cwnd_limited = is_limited;
            usage.max_packets_out = outstanding;
            usage.cwnd_usage_seq = self.board.snd_nxt();
        }
        if self.is_cwnd_limited() {
            self.usage.cwnd_used = 0;
            self.usage.cwnd_stamp = now;
            return;
        }
        self.usage.cwnd_used = self.usage.cwnd_used.max(outstanding);
        if self.usage.restart_after_idle
            && now - self.usage.cwnd_stamp >= self.timers.rto()
            && !self.control.has_cong_control()
        {
            self.cwnd_application_limited(now);
        }
    }
    /// `tcp_cwnd_application_limited`.
    fn cwnd_application_limited(&mut self, now: Time) {
        if self.recovery.state == CaState::Open {
            let used = self.usage.cwnd_used.max(self.usage.initial_window);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) / 2;
            }
            self.usage.cwnd_used = 0;
        }
        self.usage.cwnd_stamp = now;
    }
    /// `tcp_is_cwnd_limited`. In slow start the window may grow to twice what was outstanding, since it
    /// must be able to double in each round.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.is_cwnd_limited
            || (self.window.in_slow_start()
                && self.window.cwnd < self.usage.max_packets_out.saturating_mul(2))
    }

    /// `tcp_cwnd_restart`: the window halves for each time-out of silence, down to the initial window.
    pub(super) fn cwnd_restart(&mut self, now: Time) {
        let rto = self.timers.rto();
        let mut idle = now - self.departures.data;
        if !self.usage.restart_after_idle
            || self.counters.sent == 0
            || idle <= rto
            || self.control.has_cong_control()
        {
            return;
        }
        self.ca_event(Event::CwndRestart, now);
        self.window.ssthresh = self.current_ssthresh();
        let floor = self.usage.initial_window.min(self.window.cwnd);
        let mut cwnd = self.window.cwnd;
        while idle > rto && cwnd > floor {
            idle = idle - rto;
            cwnd /= 2;
        }
        self.window.cwnd = cwnd.max(floor);
        self.usage.cwnd_stamp = now;
        self.usage.cwnd_used = 0;
    }
    /// `tcp_current_ssthresh`: three quarters of the window are known to fit the path.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.recovery.is_reducing() {
            self.window.ssthresh
        } else {
            let cwnd = self.window.cwnd;
            self.window.ssthresh.max(cwnd / 2 + cwnd / 4)
        }
    }
}
