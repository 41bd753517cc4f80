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

/// What the control sees of the connection of a sender: not a function, so that a closure borrows what it reads and no more.
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
            mss: $sender.mss,
            mtu: $sender
                .mss
                .saturating_add($crate::segment::Segment::HEADERS.get() as u32),
            pacing_rate: $sender.pacing.rate(),
            next_departure: $sender.pacing.next(),
            app_limited: $sender.delivery.is_app_limited(),
            is_cwnd_limited: $sender.usage.is_cwnd_limited,
        }
    };
}

mod ack;

mod delivery;
mod details;
mod ecn;
mod queue;
mod rack;
mod receive_window;
mod recovery;
mod rtt;
mod scoreboard;
mod sent_segment;
mod stats;
mod timers;
mod transmit;
mod tso;
mod two_way;
mod undo;

pub use stats::SenderStats;

use quell_units::{Bytes, Rate, Time};

use crate::cache::prefetch;
use crate::cc::{CaState, CongestionControl, Connection, Control, Custom, Event, Host, Window};
use crate::challenge::AnswerLimit;
use crate::config::SenderConfig;
use crate::ecn::FeedbackMode;
use crate::flags::Flags;
use crate::segment::Segment;
use delivery::Delivery;
use ecn::SenderEcn;
use queue::SendQueue;
use rack::Rack;
use recovery::Recovery;
use rtt::Rtt;
use scoreboard::Scoreboard;
use stats::Counters;
use timers::{Forced, Timers};
use transmit::{Pacing, Usage};
use tso::Burst;

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

/// The sending end of a connection; Linux `struct tcp_sock`.
#[derive(Debug, Clone)]
pub struct Sender {
    // Each segment and ACK touches these.
    board: Scoreboard,
    window: Window,
    /// First number not acknowledged (SND.UNA).
    snd_una: u64,
    /// First number beyond the receive window (SND.UNA + SND.WND).
    wnd_end: u64,
    /// Bytes that the application has written; `u64::MAX` if it never stops.
    write_seq: u64,
    /// Payload of a full segment (`mss_cache`).
    mss: u32,
    /// The same as far as the path goes, whatever the receive window.
    path_mss: u32,
    /// `mss` without the options of the other half of a connection (`tcp_current_mss`).
    mss_now: u32,
    phase: Phase,
    is_closed: bool,
    /// It is half of a [`Connection`](crate::Connection).
    is_half: bool,
    /// The SYN-ACK must be acknowledged.
    ack_wanted: bool,
    /// A challenge ACK must be sent; half of a connection leaves that to the connection.
    challenge_wanted: bool,
    syn_wanted: bool,
    /// The next new segment carries CWR (`TCP_ECN_QUEUE_CWR`).
    queue_cwr: bool,
    nagle: bool,
    restart_after_idle: bool,
    is_paced: bool,
    ecn: SenderEcn,
    gso: bool,
    initial_window: u32,
    /// End of the last segment that was smaller than a full one.
    snd_sml: u64,
    /// Departure time recorded for the last segment.
    last_stamp: Time,
    /// Time of the last departure of data (`lsndtime`).
    last_departure: Time,
    /// Time of the last departure of an ACK without data of the other half of a connection.
    last_control: Time,
    forced: Option<Forced>,
    /// The peer's latest timestamp, and the timestamp that it echoed last.
    ts_recent: Time,
    rcv_tsecr: Time,
    /// SACK blocks of the last ACK, which need no second look.
    recv_sack_cache: [crate::segment::Sack; 3],
    control: Control,
    recovery: Recovery,
    rtt: Rtt,
    rack: Rack,
    delivery: Delivery,
    timers: Timers,
    usage: Usage,
    burst: Burst,
    queue: SendQueue,
    pacing: Pacing,
    local_queue: Bytes,
    counters: Counters,
    answers: AnswerLimit,
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
    /// The same with this control at work instead of the one that `config` names, whose pacing and ECN
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
            board,
            window,
            snd_una: 0,
            wnd_end: config.peer_window.get(),
            write_seq: 0,
            mss,
            path_mss: mss,
            mss_now: mss,
            phase: Phase::Closed,
            is_closed: false,
            is_half: false,
            ack_wanted: false,
            challenge_wanted: false,
            answers: AnswerLimit::default(),
            syn_wanted: false,
            queue_cwr: false,
            nagle: config.nagle,
            restart_after_idle: config.restart_after_idle,
            is_paced: config.is_paced(),
            ecn: SenderEcn::new(config),
            gso: config.gso,
            initial_window: config.initial_window.max(1),
            snd_sml: 0,
            last_stamp: Time::ZERO,
            last_departure: Time::ZERO,
            last_control: Time::ZERO,
            forced: None,
            ts_recent: Time::ZERO,
            rcv_tsecr: Time::ZERO,
            recv_sack_cache: Default::default(),
            control,
            recovery: Recovery::default(),
            rtt: Rtt::new(config.rto_min),
            rack: Rack::new(),
            delivery: Delivery::default(),
            timers: Timers::new(config.ticks),
            usage: Usage::default(),
            burst: Burst::default(),
            queue: SendQueue::default(),
            local_queue: Bytes::ZERO,
            pacing: Pacing::default(),
            counters: Counters::default(),
        }
    }
    /// Opens the connection: `poll` will return the SYN.
    pub fn open(&mut self, now: Time) {
        if self.phase == Phase::Closed {
            self.phase = Phase::SynSent {
                at: now,
                attempt: 0,
            };
            self.syn_wanted = true;
        }
    }
    /// The application writes `bytes` more bytes; without effect after [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        if !self.is_closed {
            // `tcp_sendmsg_locked`: all that was written before has left.
            if self.write_seq.saturating_sub(self.board.snd_nxt()) < u64::from(self.mss) {
                self.check_app_limited();
            }
            self.write_seq = self.write_seq.saturating_add(bytes);
            self.queue.has_news = true;
        }
    }
    /// The application writes without end.
    pub fn write_endless(&mut self) {
        self.write(u64::MAX);
    }
    /// The same for an application that will [`retract`](Self::retract) some of it.
    pub fn write_until_retracted(&mut self) {
        self.queue.pause();
        self.write_endless();
    }
    /// Takes back what was written, except the next `unsent` bytes to send: those that a socket's
    /// buffer would hold.
    pub fn retract(&mut self, unsent: u64) {
        let kept = self.board.snd_nxt().saturating_add(unsent);
        self.write_seq = self.write_seq.min(kept);
        self.queue.pause();
    }
    /// The application closes: nothing follows what was written. An endless stream ends with what has
    /// been sent.
    pub fn close(&mut self) {
        if self.write_seq == u64::MAX {
            self.write_seq = self.board.snd_nxt();
        }
        self.is_closed = true;
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
                self.ack_wanted |= self.answers.allows(self.timers.ticks(), now);
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
        self.ack_wanted = true;
        let rtt = if attempt == 1 {
            Some(now - syn_sent)
        } else {
            self.rtt_of_echo(segment, now)
        };
        // RFC 9768 section 3.2.2.2: after a SYN with CE, "the TCP Client still triggers the congestion
        // control actions necessary". The initial window becomes one segment, as RFC 5562 requires
        // after a marked SYN-ACK, and as after a SYN that was lost twice.
        let is_marked = self.ecn.on_syn_ack(segment);
        self.establish(segment, rtt, attempt > 2 || is_marked, now);
    }
    /// The peer has answered the SYN or the SYN-ACK with this segment. The initial window is one segment
    /// if that `was_hard`. RFC 5681 section 3.1: "if the SYN or SYN/ACK is lost, the initial window used
    /// by a sender after a correctly transmitted SYN MUST be one segment"; Linux forgives one loss, which
    /// may be a spurious time-out (`tcp_init_transfer`).
    fn establish(&mut self, segment: &Segment, rtt: Option<Time>, was_hard: bool, now: Time) {
        self.phase = Phase::Established;
        self.syn_wanted = false;
        self.ts_recent = segment.timestamp;
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
    /// When to call [`on_timer`](Self::on_timer) next; any other call may change it.
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
        prefetch(&self.rcv_tsecr);
        prefetch(&self.delivery);
        prefetch(&self.counters);
        prefetch(&self.mss);
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
        self.snd_una >= self.write_seq.saturating_add(u64::from(self.is_closed))
    }
    /// ECN feedback that the handshake has agreed on.
    pub fn feedback(&self) -> FeedbackMode {
        self.ecn.agreed
    }
    /// Frees the memory for outstanding segments if there will never be any again.
    #[inline]
    pub fn release_if_finished(&mut self) {
        if self.is_closed && self.is_done() {
            self.board.release();
        }
    }
    /// Payload of a full segment in bytes, which a small receive window reduces; the congestion window is
    /// counted in these.
    pub fn mss(&self) -> u32 {
        self.mss
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
            pacing_rate: self.is_paced.then(|| self.pacing.rate()),
            sent: counters.sent,
            retransmitted: counters.retransmitted,
            delivered: self.delivery.data_segments(),
            delivered_ce: self.delivery.delivered_ce,
            acknowledged: self.snd_una.min(self.write_seq),
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
    /// What the control sees of the connection.
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
    /// The control may have changed the pacing rate that it sets.
    fn heed_pacing(&mut self) {
        if self.is_paced
            && let Some(rate) = self.control.pacing_rate()
        {
            self.pacing.set_rate(rate);
        }
    }
    /// Sets the pacing rate: the control's, or else that of the window.
    fn update_pacing(&mut self) {
        if self.is_paced {
            let rate = self
                .control
                .pacing_rate()
                .unwrap_or_else(|| self.window_rate());
            self.pacing.set_rate(rate);
        }
    }
    /// 200 % of a window per RTT in slow start, 120 % afterwards (`tcp_update_pacing_rate`).
    fn window_rate(&self) -> Rate {
        let Some(srtt) = self.rtt.srtt() else {
            return Rate::UNLIMITED;
        };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let segments = u64::from(self.window.cwnd.max(self.board.packets_out()));
        let srtt = srtt.as_nanos().max(1);
        let bits = segments.saturating_mul(u64::from(self.mss)) * 8;
        // 10⁹ ns, percent: fits 64 bits up to a window of 1.9 GB.
        let rate = match bits.checked_mul(percent * 10_000_000) {
            Some(scaled) => scaled / srtt,
            None => (bits / srtt).saturating_mul(percent * 10_000_000),
        };
        Rate::from_bps(rate.clamp(1, u64::MAX - 1))
    }
    /// Changes the state of loss recovery (`tcp_set_ca_state`).
    fn set_state(&mut self, new: CaState, now: Time) {
        let connection = self.connection(now);
        self.control.set_state(new, &connection, &mut self.window);
        self.recovery.state = new;
        self.heed_pacing();
    }
}
