//! Between the sender's types and the integers of the state machines.

use quell_units::{Random, Rate, Time};

use super::super::{AckSample, Connection, Host, LostSegment, Window};
use super::sock::number;
use super::{Ack, Lost, NO_RTT, Sock};
use crate::ecn::FeedbackMode;
use crate::ticks::Ticks;

/// The state of a control beside its machine.
#[derive(Debug, Clone)]
pub(in super::super) struct Link {
    ticks: Ticks,
    /// The machine's random numbers.
    pub(in super::super) random: Random,
    /// Pacing rate in bytes of payload per second.
    pub(in super::super) pacing_rate: u64,
    /// Whether it may respond to ECN.
    pub(in super::super) can_use_ecn: bool,
}

impl Link {
    pub(in super::super) fn new(host: &Host) -> Self {
        Self {
            // Jiffies of 4 ms where the host's timers are exact.
            ticks: host.ticks.or_hz(250),
            random: host.random.clone(),
            pacing_rate: u64::MAX,
            can_use_ecn: false,
        }
    }
    /// Jiffies in `time`, rounded up (`msecs_to_jiffies`).
    pub(in super::super) fn jiffies(&self, time: Time) -> u32 {
        self.ticks.count(time) as u32
    }
    /// The connection before it is open.
    pub(in super::super) fn closed(&self, window: &Window) -> Sock {
        self.sock(&Connection::default(), window)
    }
    /// The connection as it is now.
    #[inline]
    pub(in super::super) fn sock(&self, connection: &Connection, window: &Window) -> Sock {
        let wait = connection.next_departure - connection.now;
        Sock {
            now_us: micros(connection.now),
            delivered_us: connection.delivered_mstamp_us,
            pacing_rate: self.pacing_rate,
            departure_us: short(wait),
            jiffies: self.ticks.at(connection.now) as u32,
            delivered: connection.delivered as u32,
            delivered_ce: connection.delivered_ce as u32,
            lost: connection.lost as u32,
            in_flight: connection.in_flight,
            srtt_us: connection.srtt.map_or(0, |rtt| short(rtt).max(1)),
            min_rtt_us: connection.min_rtt.map_or(NO_RTT, short),
            mss: connection.mss,
            cwnd: window.cwnd,
            prior_cwnd: window.prior_cwnd,
            ssthresh: window.ssthresh,
            ca_state: number(connection.state),
            is_cwnd_limited: connection.is_cwnd_limited.into(),
            app_limited: connection.app_limited.into(),
            can_use_ecn: self.can_use_ecn.into(),
            limits_samples: 0,
        }
    }
    /// Takes over what the machine has set.
    #[inline]
    pub(in super::super) fn settle(&mut self, sock: &Sock, window: &mut Window) {
        self.pacing_rate = sock.pacing_rate;
        window.cwnd = sock.cwnd.clamp(1, Window::MAX);
        window.ssthresh = sock.ssthresh;
        window.app_limited |= sock.limits_samples != 0;
    }
    pub(in super::super) fn rate(&self) -> Rate {
        Rate::from_bps(self.pacing_rate.saturating_mul(8).min(u64::MAX - 1))
    }
    /// The handshake has agreed on this feedback; a control with ECN needs marks of each segment.
    pub(in super::super) fn agree(&mut self, wants_ecn: bool, agreed: FeedbackMode) {
        self.can_use_ecn = wants_ecn && agreed != FeedbackMode::Off;
    }
}

/// The values of an ACK, in the machine's integers.
#[inline]
pub(in super::super) fn ack(sample: &AckSample) -> Ack {
    let rate = &sample.rate;
    Ack {
        interval_us: rate.interval_us.min(u32::MAX.into()) as u32,
        delivered: rate.delivered,
        delivered_ce: rate.delivered_ce,
        prior_delivered: rate.prior_delivered as u32,
        tx_in_flight: rate.tx_in_flight,
        lost: rate.lost,
        losses: sample.lost,
        acked: sample.acked,
        prior_in_flight: sample.prior_in_flight,
        rtt_us: sample.rtt.map_or(NO_RTT, short),
        is_app_limited: rate.app_limited.into(),
        is_ack_delayed: sample.is_ack_delayed.into(),
        is_ece: sample.ece.into(),
        is_probe_acked: sample.is_acking_tlp_retrans_seq.into(),
    }
}
pub(in super::super) fn lost(segment: &LostSegment) -> Lost {
    Lost {
        tx_in_flight: segment.in_flight,
        lost: (segment.lost as u32).wrapping_sub(segment.prior_lost),
        is_app_limited: segment.app_limited.into(),
    }
}

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}
/// Time in µs, at most an hour.
fn short(time: Time) -> u32 {
    micros(time).min((NO_RTT - 1).into()) as u32
}
