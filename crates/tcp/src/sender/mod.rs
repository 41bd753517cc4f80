//! The sending end: RFC 9293, 5681, 6298, 6675, 8985, 9937; Linux `net/ipv4/tcp_input.c`,
//! `tcp_output.c`, `tcp_timer.c`.
//!
//! After each other call the host calls [`Sender::poll`] until it returns `None`. One such run of
//! polls is one run of Linux's `tcp_write_xmit`.
//!
//! Deviations from Linux: 1. RTTs are in nanoseconds, not in microseconds; 2. the sender never gives
//! up a connection; 3. the receiver never takes back what it selectively acknowledged (reneging); 4.
//! segments keep their boundaries when they are retransmitted; 5. FIN is the only control flag with
//! a sequence number; 6. memory is limited by the send buffer alone; 7. PSH stands on the last of several
//! segments of new data that leave together, and neither at the end of each write (`tcp_push`) nor on
//! what is retransmitted together (`__tcp_transmit_skb`); 8. a sender alone discards an ACK whose timestamp
//! is out of date (PAWS), as Linux does, but does not answer it; 9. the timer of a closed window runs from
//! the last probe, not from its answer (`tcp_ack_probe`); 10. a window that was never open is probed with one
//! octet of new data, for numbers begin at zero and there is no old one. The scripts of `crates/replay` show
//! 7 and 9 beside Linux.

/// The control's view of the connection of a sender: not a function, so that a closure borrows what it reads and no more.
macro_rules! connection {
    ($sender:ident, $now:expr) => {
        $crate::cc::Connection {
            now: $now,
            state: $sender.recovery.state,
            snd_una: $sender.snd_una,
            snd_nxt: $sender.board.snd_nxt(),
            in_flight: $sender.board.in_flight(),
            delivered: $sender.delivery.delivered,
            delivered_ce: $sender.delivery.delivered_ce,
            delivered_mstamp_us: $sender.delivery.last_us,
            lost: $sender.board.lost_total(),
            srtt: $sender.rtt.srtt(),
            min_rtt: $sender.rtt.min_rtt(),
            mss: $sender.mss.full,
            mtu: $sender
                .mss
                .full
                .saturating_add($crate::segment::Segment::HEADERS.get() as u32),
            pacing_rate: $sender.pacing.rate(),
            next_departure: $sender.pacing.next(),
            app_limited: $sender.delivery.is_app_limited(),
            is_cwnd_limited: $sender.usage.is_cwnd_limited,
        }
    };
}

mod ack;
mod cwnd_usage;
mod delivery;
mod details;
mod ecn;
mod pacing;
#[cfg(test)]
mod plain;
mod queue;
mod rack;
mod receive_window;
mod recovery;
mod rtt;
mod sacktag;
mod scoreboard;
mod sent_segment;
mod stats;
mod timers;
mod transmit;
mod tso;
mod two_way;
mod undo;

pub use stats::SenderStats;

use quell_units::Time;

use crate::cc::{CaState, CongestionControl, Connection, Control, Custom, Event, Host, Window};
use crate::config::SenderConfig;
use crate::ecn::FeedbackMode;
use crate::flags::Flags;
use crate::prefetch::prefetch;
use crate::segment::Segment;
use cwnd_usage::Usage;
use delivery::Delivery;
use ecn::SenderEcn;
use pacing::Pacing;
use queue::SendQueue;
use rack::Rack;
use receive_window::Mss;
use recovery::Recovery;
use rtt::Rtt;
use scoreboard::Scoreboard;
use stats::Counters;
use timers::Timers;
use transmit::{Departures, Nagle, Pending};
use tso::Offload;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// SYN sent; `attempt` counts retransmissions, from 1 for the first SYN and 0 before it.
    SynSent {
        at: Time,
        attempt: u32,
    },
    Established,
}

/// The stream that the application writes.
#[derive(Debug, Clone, Default)]
struct Stream {
    /// Bytes written; `u64::MAX` if it never stops.
    write_seq: u64,
    is_closed: bool,
}

/// Timestamps of the peer (RFC 7323).
#[derive(Debug, Clone, Default)]
struct Timestamps {
    /// The latest (TS.Recent).
    recent: Time,
    /// The one of this end that it echoed last (`rcv_tsecr`).
    echoed: Time,
}

/// The sending end of a connection; Linux `struct tcp_sock`.
#[derive(Debug, Clone)]
pub struct Sender {
    phase: Phase,
    /// It is half of a [`Connection`](crate::Connection).
    is_half: bool,
    /// First number not acknowledged (SND.UNA).
    snd_una: u64,
    /// First number beyond the receive window (SND.UNA + SND.WND).
    wnd_end: u64,
    stream: Stream,
    queue: SendQueue,
    board: Scoreboard,
    mss: Mss,
    timestamps: Timestamps,
    ecn: SenderEcn,
    control: Control,
    window: Window,
    usage: Usage,
    recovery: Recovery,
    rack: Rack,
    rtt: Rtt,
    delivery: Delivery,
    timers: Timers,
    pending: Pending,
    nagle: Nagle,
    offload: Offload,
    pacing: Pacing,
    departures: Departures,
    counters: Counters,
    /// Of two copies, the one that knows no shorter way for what is usual.
    #[cfg(test)]
    takes_all_as_unusual: bool,
}

impl Sender {
    /// A sender that has not opened yet.
    pub fn new(config: &SenderConfig) -> Self {
        let mut window = Window::new(config.initial_window);
        let host = Host {
            ticks: config.ticks,
            random: config.random.clone(),
        };
        let control = Control::new(&config.congestion_control, &host, &mut window);
        Self::build(config, control, window)
    }
    /// A sender with this control at work instead of the one that `config` names, whose pacing and ECN
    /// remain the defaults.
    pub fn with_control(config: &SenderConfig, control: Box<dyn CongestionControl>) -> Self {
        let window = Window::new(config.initial_window);
        Self::build(config, Control::Custom(Custom(control)), window)
    }
    fn build(config: &SenderConfig, control: Control, window: Window) -> Self {
        let mss = config.mss.max(1);
        let mut board = Scoreboard::new(mss);
        board.details = control.wants_details().then(Default::default);
        Self {
            phase: Phase::Closed,
            is_half: false,
            snd_una: 0,
            wnd_end: config.peer_window.get(),
            stream: Stream::default(),
            queue: SendQueue::default(),
            board,
            mss: Mss::new(mss),
            timestamps: Timestamps::default(),
            ecn: SenderEcn::new(config),
            control,
            window,
            usage: Usage::new(config),
            recovery: Recovery::default(),
            rack: Rack::new(),
            rtt: Rtt::new(config.rto_min),
            delivery: Delivery::default(),
            timers: Timers::new(config.ticks),
            pending: Pending::default(),
            nagle: Nagle::new(config.nagle),
            offload: Offload::new(config.gso),
            pacing: Pacing::new(config.is_paced()),
            departures: Departures::default(),
            counters: Counters::default(),
            #[cfg(test)]
            takes_all_as_unusual: false,
        }
    }
    /// Opens the connection: `poll` will return the SYN.
    pub fn open(&mut self, now: Time) {
        if self.phase == Phase::Closed {
            self.phase = Phase::SynSent {
                at: now,
                attempt: 0,
            };
            self.pending.syn = true;
        }
    }
    /// The application writes `bytes` more bytes; without effect after [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        if !self.stream.is_closed {
            // `tcp_sendmsg_locked`: all that was written before has left.
            if self.stream.write_seq.saturating_sub(self.board.snd_nxt()) < u64::from(self.mss.full)
            {
                self.check_app_limited();
            }
            self.stream.write_seq = self.stream.write_seq.saturating_add(bytes);
            self.queue.has_news = true;
        }
    }
    /// The application writes without end.
    pub fn write_endless(&mut self) {
        self.write(u64::MAX);
    }
    /// The application writes without end, but will [`retract`](Self::retract) some of it.
    pub fn write_until_retracted(&mut self) {
        self.queue.pause();
        self.write_endless();
    }
    /// Takes back what was written, except the next `unsent` bytes to send: those that a socket's
    /// buffer would hold.
    pub fn retract(&mut self, unsent: u64) {
        let kept = self.board.snd_nxt().saturating_add(unsent);
        self.stream.write_seq = self.stream.write_seq.min(kept);
        self.queue.pause();
    }
    /// The application closes: nothing follows what was written. An endless stream ends with what has
    /// been sent.
    pub fn close(&mut self) {
        if self.stream.write_seq == u64::MAX {
            self.stream.write_seq = self.board.snd_nxt();
        }
        self.stream.is_closed = true;
    }
    /// A segment arrived.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent { at, attempt } => {
                if segment.flags.has(Flags::SYN | Flags::ACK) {
                    self.on_syn_ack(segment, at, attempt, now);
                }
            }
            // The SYN-ACK again: the handshake's last ACK was lost.
            Phase::Established if segment.flags.has(Flags::SYN) => {
                self.ecn.on_repeated_syn_ack(segment);
                self.pending.ack |= self.pending.answers.allows(self.timers.ticks(), now);
            }
            Phase::Established => {
                self.ecn.on_arrival(segment);
                if segment.flags.has(Flags::ACK) {
                    self.on_ack(segment, now);
                }
            }
        }
    }
    fn on_syn_ack(&mut self, segment: &Segment, syn_sent: Time, attempt: u32, now: Time) {
        self.pending.ack = true;
        let rtt = if attempt == 1 {
            Some(now - syn_sent)
        } else {
            self.rtt_of_echo(segment, now)
        };
        // RFC 9768 section 3.2.2.2: after a SYN with CE, "the TCP Client still triggers the congestion
        // control actions necessary". The initial window becomes one segment, as RFC 5562 requires
        // after a marked SYN-ACK, and as after a SYN that was lost twice. Linux 7.2 does nothing of the kind (`tcp_ecn_rcv_synack`).
        let is_marked = self.ecn.on_syn_ack(segment);
        self.establish(segment, rtt, attempt > 2 || is_marked, now);
    }
    /// The peer has answered the SYN or the SYN-ACK with this segment. The initial window is one segment
    /// if that `was_hard`. RFC 5681 section 3.1: "if the SYN or SYN/ACK is lost, the initial window used
    /// by a sender after a correctly transmitted SYN MUST be one segment"; Linux forgives one loss, which
    /// may be a spurious time-out (`tcp_init_transfer`).
    fn establish(&mut self, segment: &Segment, rtt: Option<Time>, was_hard: bool, now: Time) {
        self.phase = Phase::Established;
        self.pending.syn = false;
        self.timestamps.recent = segment.timestamp;
        self.wnd_end = segment.window.into();
        self.queue.on_ack(segment.window.into());
        self.sync_mss();
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt, 0, 0);
            self.rtt.update_min_rtt(rtt, now);
        }
        if was_hard {
            self.window.cwnd = 1;
        }
        self.timers.on_established(self.rtt.rto());
        self.delivery.on_established(now);
        self.update_pacing();
        let (agreed, connection) = (self.ecn.agreed, self.connection(now));
        self.control.init(agreed, &connection, &mut self.window);
        self.update_pacing();
    }
    /// Time of the next call of [`on_timer`](Self::on_timer); any other call may change it.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        match (self.timers.due(), self.pacing.release()) {
            (Some(due), Some(release)) => Some(due.min(release)),
            (due, release) => due.or(release),
        }
    }
    /// An ACK will arrive soon: prefetches what it will need, except the outstanding segments.
    #[inline]
    pub fn prefetch(&self) {
        // One of each cache line, or nearly so.
        prefetch(&self.recovery);
        prefetch(&self.recovery.state);
        prefetch(&self.timers);
        prefetch(&self.control);
        self.board.prefetch();
        prefetch(&self.phase);
        prefetch(&self.rack);
        prefetch(&self.pacing);
        prefetch(&self.rtt);
        prefetch(&self.ecn);
        prefetch(&self.snd_una);
        prefetch(&self.timestamps.echoed);
        prefetch(&self.delivery);
        prefetch(&self.counters);
        prefetch(&self.mss.full);
        prefetch(&self.queue);
    }
    /// Prefetches the outstanding segments, once what [`prefetch`](Self::prefetch) asked for may have
    /// arrived.
    #[inline]
    pub fn prefetch_segments(&self) {
        self.board.prefetch_segments();
    }
    /// Whether the handshake is over.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }
    /// Whether everything written has been acknowledged, and the FIN too if closed.
    pub fn is_done(&self) -> bool {
        self.snd_una
            >= self
                .stream
                .write_seq
                .saturating_add(u64::from(self.stream.is_closed))
    }
    /// ECN feedback that the handshake has agreed on.
    pub fn feedback(&self) -> FeedbackMode {
        self.ecn.agreed
    }
    /// Frees the memory for outstanding segments if there will never be any again.
    #[inline]
    pub fn release_if_finished(&mut self) {
        if self.stream.is_closed && self.is_done() {
            self.board.release();
        }
    }
    /// Payload of a full segment in bytes, which a small receive window reduces; the congestion window is
    /// counted in these.
    pub fn mss(&self) -> u32 {
        self.mss.full
    }
    /// State of loss recovery.
    pub fn state(&self) -> CaState {
        self.recovery.state
    }
    /// Counters and current state.
    pub fn stats(&self) -> SenderStats {
        let counters = &self.counters;
        SenderStats {
            srtt: self.rtt.srtt().unwrap_or_default(),
            min_rtt: self.rtt.min_rtt().unwrap_or_default(),
            rto: self.timers.rto(),
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            in_flight: self.board.in_flight(),
            pacing_rate: self.pacing.is_on.then(|| self.pacing.rate()),
            sent: counters.sent,
            retransmitted: counters.retransmitted,
            delivered: self.delivery.data_segments(),
            delivered_ce: self.delivery.delivered_ce,
            acknowledged: self.snd_una.min(self.stream.write_seq),
            recoveries: counters.recoveries,
            ecn_reductions: counters.ecn_reductions,
            rto_count: counters.rto_count,
            probes: counters.probes,
            undone: counters.undone,
            cwnd_limited: counters.cwnd_limited,
            rwnd_limited: counters.rwnd_limited,
            app_limited: counters.app_limited,
        }
    }
    /// The control's view of the connection.
    #[inline]
    fn connection(&self, now: Time) -> Connection {
        connection!(self, now)
    }
    /// Reports an event to the control (`tcp_ca_event`).
    fn ca_event(&mut self, event: Event, now: Time) {
        let connection = self.connection(now);
        self.control
            .cwnd_event(event, &connection, &mut self.window);
        self.heed_app_limit();
        self.heed_pacing();
    }
    /// The control's threshold for a reduction that begins now.
    fn ssthresh(&mut self, now: Time) -> u32 {
        let connection = self.connection(now);
        self.control.ssthresh(&connection, &self.window)
    }
    /// The control may have declared what is in flight limited by the application.
    #[inline]
    fn heed_app_limit(&mut self) {
        if std::mem::take(&mut self.window.app_limited) {
            self.delivery.on_app_limited(self.board.in_flight());
        }
    }
    /// Changes the state of loss recovery (`tcp_set_ca_state`).
    fn set_state(&mut self, new: CaState, now: Time) {
        let connection = self.connection(now);
        self.control.set_state(new, &connection, &mut self.window);
        self.recovery.state = new;
        self.heed_pacing();
    }
}
