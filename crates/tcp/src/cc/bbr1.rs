//! BBR v1: Linux `net/ipv4/tcp_bbr.c`, in its integers; Cardwell et al., "BBR: Congestion-Based Congestion
//! Control", ACM Queue 2016.
//!
//! It models the path by the largest bandwidth of ten rounds and the lowest RTT of ten seconds, paces at
//! that bandwidth, and keeps about two bandwidth-delay products in flight. Loss and marks do not matter to
//! it, except for a policer's. The state machine is in [`bbr::v1`].
//!
//! Its name in Linux is `bbr`, which on some hosts is another BBR; so its name here says which it is.

use quell_units::parameter::Table as _;
use quell_units::{Rate, Time, parameters};

use super::bbr::v1::{Machine, Timing};
use super::bbr::{self, Link};
use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Event, Host,
    Window,
};
use crate::ecn::FeedbackMode;

parameters! {
    /// BBR v1 has no options, as in Linux.
    #[derive(PartialEq, Eq, Default)]
    pub struct Bbr1Config {}
}

/// BBR v1 of one connection.
#[derive(Debug, Clone)]
pub struct Bbr1 {
    link: Link,
    machine: Machine,
}

impl Declared for Bbr1 {
    type Config = Bbr1Config;
    const KIND: ControlKind = ControlKind {
        name: "bbr1",
        kernel: Some("bbr"),
        summary: "Paces at the bandwidth that it measures, whatever is lost.",
        source: "Cardwell et al. 2016; Linux tcp_bbr.c",
        paced: true,
        parameters: Bbr1Config::ROWS,
        ..ControlKind::PLAIN
    };
    fn responds_to_marks(_config: &Bbr1Config) -> bool {
        false
    }
    fn new(_config: &Bbr1Config, host: &Host, window: &mut Window) -> Self {
        let link = Link::new(host);
        let timing = Timing {
            min_rtt_window: link.jiffies(Time::from_secs(10)),
            probe_rtt: link.jiffies(Time::from_millis(200)),
        };
        let machine = Machine::new(timing, &mut link.closed(window));
        Self { link, machine }
    }
}

impl CongestionControl for Bbr1 {
    fn init(
        &mut self,
        _agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        let mut sock = self.link.sock(connection, window);
        self.machine = Machine::new(self.machine.timing(), &mut sock);
        self.link.settle(&sock, window);
        None
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        let mut sock = self.link.sock(connection, window);
        self.machine
            .on_ack(&mut sock, &bbr::ack(ack), &mut self.link.random);
        self.link.settle(&sock, window);
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        if new == CaState::Loss {
            let sock = self.link.sock(connection, window);
            self.machine.on_timeout(&sock, &mut self.link.random);
        }
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, window: &mut Window) {
        if let Event::TxStart(_) = event {
            let mut sock = self.link.sock(connection, window);
            self.machine.on_restart(&mut sock, &mut self.link.random);
            self.link.settle(&sock, window);
        }
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        self.machine
            .on_reduction(&self.link.sock(connection, window));
        window.ssthresh
    }
    fn undo_cwnd(&mut self, connection: &Connection, window: &mut Window) -> u32 {
        self.machine.on_undo(&self.link.sock(connection, window));
        window.cwnd
    }
    fn has_cong_control(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.link.rate())
    }
    fn min_tso_segs(&self) -> u32 {
        bbr::integers::min_tso_segs(self.link.pacing_rate)
    }
    fn sndbuf_expand(&self) -> u32 {
        3
    }
}
