//! The sending end: RFC 9293, 5681, 6298, 6675, 8985, 9937; Linux `net/ipv4/tcp_input.c`,
//! `tcp_output.c`, `tcp_timer.c`.
//!
//! Its host calls [`Sender::poll`] until `None` after each other call; one such run of polls is
//! what a run of Linux's `tcp_write_xmit` is.
//!
//! Deviations from Linux: 1. RTTs are in nanoseconds, not in microseconds;
//! 2. a connection is never given up; 3. the receiver never takes back what it selectively
//! acknowledged; 4. segments keep their boundaries when they are sent again; 5. FIN is the only
//! control flag with a sequence number; 6. there are no limits of memory but of the send buffer.

mod ack;
mod bursts;
mod delivery;
mod details;
mod ecn;
mod queue;
mod rack;
mod recovery;
mod rtt;
mod scoreboard;
mod stats;
mod timers;
mod transmit;
mod undo;

pub use stats::SenderStats;

use quell_units::{Bytes, Rate, Time};

use crate::cache::prefetch;
use crate::cc::{AckSample, CongestionControl, Connection, Control, State, Window};
use crate::config::SenderConfig;
use crate::ecn::FeedbackMode;
use crate::segment::{Flags, Segment};
use bursts::Burst;
use delivery::Delivery;
use ecn::SenderEcn;
use queue::SendQueue;
use rack::Rack;
use recovery::Recovery;
use rtt::Rtt;
use scoreboard::Scoreboard;
use stats::Counters;
use timers::Timers;
use transmit::{Forced, Pacing, Usage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// The SYN was sent at this time, the how manieth.
    Opening(Time, u32),
    Established,
}

/// The sending end of a connection.
#[derive(Debug, Clone)]
pub struct Sender {
    // What every segment and ACK touches.
    board: Scoreboard,
    window: Window,
    una: u64,
    /// First number behind the receive window.
    window_end: u64,
    /// Bytes that the application has written; `u64::MAX` where it never ends.
    written: u64,
    mss: u32,
    phase: Phase,
    is_closed: bool,
    /// The SYN-ACK is to be acknowledged.
    ack_wanted: bool,
    syn_wanted: bool,
    /// The next new segment says that the window was reduced.
    announce_reduction: bool,
    nagle: bool,
    restart_after_idle: bool,
    is_paced: bool,
    ecn: SenderEcn,
    gso: bool,
    initial_window: u32,
    /// Where the last segment ended that was smaller than a full one.
    small_end: u64,
    /// What the last departure has in the books.
    last_stamp: Time,
    /// When data was last sent.
    last_departure: Time,
    forced: Option<Forced>,
    /// The peer's timestamp, and the one it echoed last.
    echo: Time,
    echoed: Time,
    /// Blocks of the last ACK, not looked at again.
    known_sacks: [crate::segment::Sack; 3],
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
}

impl Sender {
    /// A sender that has not opened yet.
    pub fn new(config: &SenderConfig) -> Self {
        let mut window = Window::new(config.initial_window);
        let control = Control::new(&config.congestion_control, config.ticks, &mut window);
        Self::build(config, control, window)
    }
    /// The same with this control instead of the one that `config` names.
    pub fn with_control(config: &SenderConfig, control: Box<dyn CongestionControl>) -> Self {
        let window = Window::new(config.initial_window);
        Self::build(config, Control::custom(control), window)
    }
    fn build(config: &SenderConfig, control: Control, window: Window) -> Self {
        let mss = config.mss.max(1);
        let mut board = Scoreboard::new(mss);
        board.details = control.wants_details().then(Default::default);
        Self {
            board,
            window,
            una: 0,
            window_end: config.peer_window.get(),
            written: 0,
            mss,
            phase: Phase::Closed,
            is_closed: false,
            ack_wanted: false,
            syn_wanted: false,
            announce_reduction: false,
            nagle: config.nagle,
            restart_after_idle: config.restart_after_idle,
            is_paced: config.pacing.unwrap_or(control.wants_pacing()),
            ecn: SenderEcn::new(config),
            gso: config.gso,
            initial_window: config.initial_window.max(1),
            small_end: 0,
            last_stamp: Time::ZERO,
            last_departure: Time::ZERO,
            forced: None,
            echo: Time::ZERO,
            echoed: Time::ZERO,
            known_sacks: Default::default(),
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
    /// Opens the connection: the SYN is ready to send.
    pub fn open(&mut self, now: Time) {
        if self.phase == Phase::Closed {
            self.phase = Phase::Opening(now, 0);
            self.syn_wanted = true;
        }
    }
    /// The application hands over so many more bytes; nothing after [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        if !self.is_closed {
            // `tcp_sendmsg_locked`: what was written before had all left.
            if self.written.saturating_sub(self.board.next()) < u64::from(self.mss) {
                self.check_app_limited();
            }
            self.written = self.written.saturating_add(bytes);
            self.queue.has_news = true;
        }
    }
    /// The application never runs out of bytes.
    pub fn write_endless(&mut self) {
        self.write(u64::MAX);
    }
    /// The same of an application that will [`retract`](Self::retract) some of it.
    pub fn write_until_retracted(&mut self) {
        self.queue.pause();
        self.write_endless();
    }
    /// Takes back what was written and is not among the next `unsent` bytes to send: those that a
    /// socket's buffer would hold. What was never written does not come back.
    pub fn retract(&mut self, unsent: u64) {
        let kept = self.board.next().saturating_add(unsent);
        self.written = self.written.min(kept);
        self.queue.pause();
    }
    /// Nothing follows what was written; an endless stream ends with what has been sent.
    pub fn close(&mut self) {
        if self.written == u64::MAX {
            self.written = self.board.next();
        }
        self.is_closed = true;
    }
    /// A segment arrived.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        match self.phase {
            Phase::Closed => {}
            Phase::Opening(sent, attempts) => {
                if segment.flags.has(Flags::SYN | Flags::ACK) {
                    self.on_syn_ack(segment, sent, attempts, now);
                }
            }
            // The SYN-ACK came again: the handshake's last ACK was lost.
            Phase::Established if segment.flags.has(Flags::SYN) => {
                self.ecn.on_repeated_syn_ack(segment.ecn);
                self.ack_wanted = true;
            }
            Phase::Established => {
                self.ecn.on_arrival(segment);
                if segment.flags.has(Flags::ACK) {
                    self.on_ack(segment, now);
                }
            }
        }
    }
    fn on_syn_ack(&mut self, segment: &Segment, sent: Time, attempts: u32, now: Time) {
        self.phase = Phase::Established;
        self.syn_wanted = false;
        self.ack_wanted = true;
        self.echo = segment.timestamp;
        self.window_end = segment.window.into();
        self.queue.on_ack(segment.window.into());
        if attempts == 1 {
            self.rtt.on_sample(now - sent, 0, 0);
            self.rtt.on_lowest(now - sent, now);
        } else if attempts > 2 {
            self.window.cwnd = 1;
        }
        if self.ecn.on_syn_ack(segment) {
            self.on_marked_syn();
        }
        self.timers.on_established(self.rtt.timeout());
        self.delivery.on_established(now);
        self.update_pacing();
        let (agreed, connection) = (self.ecn.agreed, self.connection());
        self.control.on_open(agreed, &connection, &mut self.window);
        self.update_pacing();
    }
    /// The SYN had CE (RFC 9768 section 3.2.2.2: "the TCP Client still triggers the congestion control
    /// actions necessary"): the initial window is one segment, as RFC 5562 has it for a marked SYN-ACK,
    /// and as after a SYN that was lost twice.
    fn on_marked_syn(&mut self) {
        self.window.cwnd = 1;
    }
    /// When to call [`on_timer`](Self::on_timer) next; it may change with every other call.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        match (self.timers.due(), self.pacing.release()) {
            (Some(due), Some(release)) => Some(due.min(release)),
            (due, release) => due.or(release),
        }
    }
    /// An ACK will arrive soon: asks for what it will need, but for the segments outstanding.
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
        prefetch(&self.una);
        prefetch(&self.echoed);
        prefetch(&self.delivery);
        prefetch(&self.counters);
        prefetch(&self.mss);
        prefetch(&self.queue);
    }
    /// The same of the segments outstanding, once what [`prefetch`](Self::prefetch) asked for may be
    /// there.
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
        self.una >= self.written.saturating_add(u64::from(self.is_closed))
    }
    /// What the handshake has agreed on.
    pub fn feedback(&self) -> FeedbackMode {
        self.ecn.agreed
    }
    /// Gives back the memory of segments outstanding, once nothing will ever be outstanding again.
    #[inline]
    pub fn release_if_finished(&mut self) {
        if self.is_closed && self.is_done() {
            self.board.release();
        }
    }
    /// State of loss recovery.
    pub fn state(&self) -> State {
        self.recovery.state
    }
    /// How it goes.
    pub fn stats(&self) -> SenderStats {
        let counters = &self.counters;
        SenderStats {
            srtt: self.rtt.smoothed().unwrap_or_default(),
            min_rtt: self.rtt.lowest().unwrap_or_default(),
            rto: self.timers.rto(),
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            in_flight: self.board.in_flight(),
            pacing_rate: self.is_paced.then(|| self.pacing.rate()),
            sent: counters.sent,
            retransmitted: counters.retransmitted,
            delivered: self.delivery.delivered,
            delivered_ce: self.delivery.delivered_ce,
            acknowledged: self.una.min(self.written),
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
    /// What the control may look at.
    fn connection(&self) -> Connection {
        Connection {
            state: self.recovery.state,
            in_flight: self.board.in_flight(),
            lost: self.board.lost_total(),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.lowest(),
            mss: self.mss,
            pacing_rate: self.pacing.rate(),
            next_departure: self.pacing.next(),
            app_limited: self.delivery.is_app_limited(),
        }
    }
    /// The pacing rate that the sender would use.
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
        let Some(srtt) = self.rtt.smoothed() else {
            return Rate::UNLIMITED;
        };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let segments = u64::from(self.window.cwnd.max(self.board.outstanding()));
        let srtt = srtt.as_nanos().max(1);
        let bits = segments.saturating_mul(u64::from(self.mss)) * 8;
        // 10⁹ ns, percent: fits 64 bits up to a window of 1.9 GB.
        let rate = match bits.checked_mul(percent * 10_000_000) {
            Some(scaled) => scaled / srtt,
            None => (bits / srtt).saturating_mul(percent * 10_000_000),
        };
        Rate::from_bps(rate.clamp(1, u64::MAX - 1))
    }
    /// Changes the state of loss recovery.
    fn set_state(&mut self, new: State, now: Time) {
        let old = self.recovery.state;
        let ack = AckSample {
            now,
            una: self.una,
            next: self.board.next(),
            ..AckSample::default()
        };
        self.control.on_state(old, new, &ack, &mut self.window);
        self.recovery.state = new;
    }
}
