//! BBR v2 and v3 at work in a connection: the same but for options and rules.

use std::fmt;
use std::marker::PhantomData;

use quell_units::parameter::Table;
use quell_units::{Rate, Time};

use super::super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Event, Host,
    LostSegment, Window,
};
use super::bounded::{Machine, Rules, Timing};
use super::connect::{self, Link};
use super::sock::number;
use crate::Codepoint;
use crate::ecn::FeedbackMode;

/// One of the two.
pub trait Version: fmt::Debug + Clone + 'static {
    /// Its options.
    type Config: Table + fmt::Debug + Clone + Copy + PartialEq + Eq;
    /// The declaration of the control.
    const KIND: ControlKind;
    /// The rules that follow from the options.
    fn rules(config: &Self::Config, timing: Timing) -> Rules;
    /// Whether it responds to marks.
    fn has_ecn(config: &Self::Config) -> bool;
    /// Whether it decides how many segments leave together, not the stack.
    fn sizes_bursts(config: &Self::Config) -> bool;
}

/// BBR v2 or v3 of one connection.
#[derive(Debug, Clone)]
pub struct Bounded<V> {
    link: Link,
    rules: Rules,
    machine: Machine,
    has_ecn: bool,
    sizes_bursts: bool,
    version: PhantomData<V>,
}

impl<V: Version> Declared for Bounded<V> {
    type Config = V::Config;
    const KIND: ControlKind = V::KIND;
    /// DCTCP's, which reports the marks of each segment, as Google's modules ask of the receiver.
    fn feedback(config: &V::Config) -> FeedbackMode {
        match V::has_ecn(config) {
            true => FeedbackMode::Dctcp,
            false => FeedbackMode::Classic,
        }
    }
    fn responds_to_marks(config: &V::Config) -> bool {
        V::has_ecn(config)
    }
    fn codepoint(config: &V::Config) -> Option<Codepoint> {
        V::has_ecn(config).then_some(Codepoint::Ect0)
    }
    fn new(config: &V::Config, host: &Host, window: &mut Window) -> Self {
        let link = Link::new(host);
        let timing = Timing {
            min_rtt_window: link.jiffies(Time::from_secs(10)),
            probe_rtt_window: link.jiffies(Time::from_secs(5)),
            probe_rtt: link.jiffies(Time::from_millis(200)),
        };
        let rules = V::rules(config, timing);
        let machine = Machine::new(rules, &mut link.closed(window));
        Self {
            link,
            rules,
            machine,
            has_ecn: V::has_ecn(config),
            sizes_bursts: V::sizes_bursts(config),
            version: PhantomData,
        }
    }
}

impl<V: Version> CongestionControl for Bounded<V> {
    fn init(
        &mut self,
        agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        self.link.agree(self.has_ecn, agreed);
        let mut sock = self.link.sock(connection, window);
        self.machine = Machine::new(self.rules, &mut sock);
        self.link.settle(&sock, window);
        None
    }
    fn on_lost(&mut self, lost: &LostSegment, connection: &Connection, window: &mut Window) {
        let mut sock = self.link.sock(connection, window);
        self.machine
            .on_lost(&mut sock, &connect::lost(lost), &mut self.link.random);
        self.link.settle(&sock, window);
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        let mut sock = self.link.sock(connection, window);
        self.machine
            .on_ack(&mut sock, &connect::ack(ack), &mut self.link.random);
        self.link.settle(&sock, window);
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        let mut sock = self.link.sock(connection, window);
        self.machine
            .on_state(&mut sock, number(new), &mut self.link.random);
        self.link.settle(&sock, window);
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, window: &mut Window) {
        let mut sock = self.link.sock(connection, window);
        match event {
            Event::TxStart(_) => self.machine.on_restart(&mut sock, &mut self.link.random),
            Event::TlpRecovery(is_app_limited) => {
                self.machine
                    .on_probe_repair(&mut sock, is_app_limited, &mut self.link.random);
            }
            Event::Loss | Event::CwndRestart | Event::CompleteCwr => return,
        }
        self.link.settle(&sock, window);
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        let mut sock = self.link.sock(connection, window);
        self.machine.on_reduction(&mut sock, &mut self.link.random);
        window.ssthresh
    }
    fn undo_cwnd(&mut self, connection: &Connection, window: &mut Window) -> u32 {
        let mut sock = self.link.sock(connection, window);
        let cwnd = self.machine.on_undo(&mut sock, &mut self.link.random);
        self.link.settle(&sock, window);
        cwnd.clamp(1, Window::MAX)
    }
    fn has_cong_control(&self) -> bool {
        true
    }
    fn wants_details(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.link.rate())
    }
    fn min_tso_segs(&self) -> u32 {
        if self.rules.may_send_singles { 1 } else { 2 }
    }
    fn tso_segs(&self, bytes: u64, mss: u32) -> u32 {
        if self.sizes_bursts {
            return self.machine.tso_segs(self.link.pacing_rate, mss);
        }
        let segments = (bytes / u64::from(mss.max(1))).min(u32::MAX.into()) as u32;
        segments.max(self.min_tso_segs())
    }
    fn sndbuf_expand(&self) -> u32 {
        3
    }
}
