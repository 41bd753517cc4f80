//! A machine over a path: one bottleneck, one flow, an ACK for each packet, in µs.
//!
//! Just enough for the example test cases of the draft: no receive window, no retransmission (a lost
//! packet's place is taken by a new one), ACKs in order.

use std::collections::VecDeque;

use super::super::super::integers::BW_SCALE;
use super::*;

/// A packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent_us: u64,
    /// The connection when it left.
    delivered: u32,
    delivered_us: u64,
    first_sent_us: u64,
    in_flight: u32,
    lost: u32,
    is_app_limited: bool,
    /// Arrival of its ACK; `None` if it is dropped.
    ack_us: Option<u64>,
}

/// The flow and its path.
pub(super) struct Path {
    pub(super) machine: Machine,
    pub(super) sock: Sock,
    pub(super) draws: Draws,
    /// Packets per second, RTT without queue, room in the queue in packets.
    pub(super) rate: u64,
    pub(super) rtt_us: u64,
    pub(super) buffer: u64,
    /// ACKs come in bunches of this length; 0 for at once.
    pub(super) bunch_us: u64,
    /// Most packets that the application lets be in flight.
    pub(super) app_limit: Option<u32>,
    /// Drops each packet of which this is true, by its number.
    pub(super) drops: fn(u64) -> bool,
    busy_ns: u64,
    next_departure_us: u64,
    flight: VecDeque<Packet>,
    sent: u64,
    first_sent_us: u64,
    app_limited_until: u32,
    recovery_ends: Option<u64>,
    /// Packets dropped.
    pub(super) dropped: u64,
}

impl Path {
    pub(super) fn new(rules: Rules, rate: u64, rtt_us: u64) -> Self {
        let mut sock = Sock {
            now_us: 1_000_000,
            delivered_us: 1_000_000,
            delivered: 1,
            srtt_us: rtt_us as u32,
            min_rtt_us: rtt_us as u32,
            ..super::sock()
        };
        let machine = Machine::new(rules, &mut sock);
        Self {
            machine,
            sock,
            draws: Draws(Vec::new()),
            rate,
            rtt_us,
            buffer: 1_000_000,
            bunch_us: 0,
            app_limit: None,
            drops: |_| false,
            busy_ns: 0,
            next_departure_us: 0,
            flight: VecDeque::new(),
            sent: 0,
            first_sent_us: 1_000_000,
            app_limited_until: 0,
            recovery_ends: None,
            dropped: 0,
        }
    }
    pub(super) fn s(&self) -> &BbrState {
        self.machine.state()
    }
    /// Bandwidth of the path in the machine's unit.
    pub(super) fn bandwidth(&self) -> u32 {
        ((self.rate << BW_SCALE) / 1_000_000) as u32
    }
    /// Packets that fill the path.
    pub(super) fn bdp(&self) -> u32 {
        (self.rate * self.rtt_us / 1_000_000) as u32
    }
    pub(super) fn queue(&self) -> u64 {
        let ahead = self.busy_ns.saturating_sub(self.sock.now_us * 1_000);
        ahead * self.rate / 1_000_000_000
    }
    fn may_send(&self) -> bool {
        let app = self.app_limit.unwrap_or(u32::MAX);
        self.sock.in_flight < self.sock.cwnd.min(app)
    }
    fn at(&mut self, now_us: u64) {
        self.sock.now_us = now_us;
        self.sock.jiffies = (now_us / 4_000) as u32;
        self.sock.departure_us = self.next_departure_us.saturating_sub(now_us) as u32;
        let until = self.app_limited_until;
        let is_limited = until > 0 && until >= self.sock.delivered;
        self.sock.app_limited = is_limited.into();
    }
    fn send(&mut self) {
        let now = self.sock.now_us;
        if self.flight.is_empty() {
            self.first_sent_us = now;
            self.sock.delivered_us = now;
        }
        if self.sock.in_flight == 0 && self.sent > 0 {
            self.machine.on_restart(&mut self.sock, &mut self.draws);
        }
        self.sock.in_flight += 1;
        let number = self.sent;
        self.sent += 1;
        let is_dropped = self.queue() >= self.buffer || (self.drops)(number);
        let ack_us = if is_dropped {
            self.dropped += 1;
            None
        } else {
            self.busy_ns = self.busy_ns.max(now * 1_000) + 1_000_000_000 / self.rate;
            let at = self.busy_ns / 1_000 + self.rtt_us;
            Some(at.next_multiple_of(self.bunch_us.max(1)))
        };
        self.flight.push_back(Packet {
            number,
            sent_us: now,
            delivered: self.sock.delivered,
            delivered_us: self.sock.delivered_us,
            first_sent_us: self.first_sent_us,
            in_flight: self.sock.in_flight,
            lost: self.sock.lost,
            is_app_limited: self.sock.app_limited != 0,
            ack_us,
        });
        let gap = u64::from(self.sock.mss) * 1_000_000 / self.sock.pacing_rate.max(1);
        self.next_departure_us = self.next_departure_us.max(now) + gap;
    }
    /// All dropped packets before `number` are found lost.
    fn find_losses(&mut self, number: u64) -> u32 {
        let mut found = 0;
        while let Some(packet) = self.flight.front().copied()
            && packet.ack_us.is_none()
            && packet.number + 3 <= number
        {
            self.flight.pop_front();
            self.lose(&packet);
            found += 1;
        }
        found
    }
    fn lose(&mut self, packet: &Packet) {
        self.sock.lost += 1;
        self.sock.in_flight -= 1;
        let lost = Lost {
            tx_in_flight: packet.in_flight,
            lost: self.sock.lost - packet.lost,
            is_app_limited: packet.is_app_limited.into(),
        };
        self.machine.on_lost(&mut self.sock, &lost, &mut self.draws);
    }
    fn set_state(&mut self, new: u32) {
        self.machine.on_state(&mut self.sock, new, &mut self.draws);
        self.sock.ca_state = new;
    }
    fn enter_recovery(&mut self) {
        if self.sock.ca_state < ca::RECOVERY {
            self.sock.prior_cwnd = self.sock.cwnd;
            self.machine.on_reduction(&mut self.sock, &mut self.draws);
            self.set_state(ca::RECOVERY);
            self.recovery_ends = Some(self.sent);
        }
    }
    /// Everything in flight is found lost by a time-out; its ACKs will still come.
    pub(super) fn time_out(&mut self) {
        let flight: Vec<Packet> = self.flight.iter().copied().collect();
        for packet in &flight {
            self.lose(packet);
        }
        self.sock.prior_cwnd = self.sock.cwnd;
        self.machine.on_reduction(&mut self.sock, &mut self.draws);
        self.sock.cwnd = 1;
        self.set_state(ca::LOSS);
        self.sock.in_flight = flight.len() as u32;
    }
    /// The last reduction proves spurious.
    pub(super) fn undo(&mut self) {
        self.recovery_ends = None;
        self.sock.cwnd = self.machine.on_undo(&mut self.sock, &mut self.draws);
        self.set_state(ca::OPEN);
    }
    fn on_ack(&mut self, packet: &Packet) {
        let prior_in_flight = self.sock.in_flight;
        self.sock.in_flight -= 1;
        self.sock.delivered += 1;
        let now = self.sock.now_us;
        let interval = (packet.sent_us - packet.first_sent_us).max(now - packet.delivered_us);
        self.first_sent_us = packet.sent_us;
        self.sock.delivered_us = now;
        let losses = self.find_losses(packet.number);
        if losses > 0 {
            self.enter_recovery();
        } else if self.recovery_ends.is_some_and(|end| packet.number >= end) {
            self.recovery_ends = None;
            self.set_state(ca::OPEN);
        }
        self.sock.is_cwnd_limited = u32::from(self.app_limit.is_none());
        let ack = Ack {
            interval_us: interval as u32,
            delivered: self.sock.delivered - packet.delivered,
            prior_delivered: packet.delivered,
            tx_in_flight: packet.in_flight,
            lost: self.sock.lost - packet.lost,
            losses,
            acked: 1,
            prior_in_flight,
            rtt_us: (now - packet.sent_us) as u32,
            is_app_limited: packet.is_app_limited.into(),
            ..Ack::default()
        };
        self.sock.limits_samples = 0;
        self.machine.on_ack(&mut self.sock, &ack, &mut self.draws);
        if self.sock.limits_samples != 0 {
            self.app_limited_until = self.sock.delivered + self.sock.in_flight;
        }
    }
    /// One departure or one ACK. Returns false if nothing will ever happen.
    fn step(&mut self) -> bool {
        let ack = self.flight.iter().find_map(|packet| packet.ack_us);
        let departure = self
            .may_send()
            .then(|| self.next_departure_us.max(self.sock.now_us));
        let next = match (ack, departure) {
            (Some(ack), Some(departure)) => ack.min(departure),
            (ack, departure) => match ack.or(departure) {
                Some(next) => next,
                None => return false,
            },
        };
        self.at(next);
        if departure == Some(next) {
            self.send();
            if self.app_limit.is_some_and(|app| self.sock.in_flight >= app)
                && self.sock.in_flight < self.sock.cwnd
            {
                self.app_limited_until = self.sock.delivered + self.sock.in_flight;
            }
        } else if let Some(index) = self.flight.iter().position(|p| p.ack_us.is_some())
            && let Some(packet) = self.flight.remove(index)
        {
            self.on_ack(&packet);
        }
        true
    }
    /// Runs for this long.
    pub(super) fn run_ms(&mut self, ms: u64) {
        let end = self.sock.now_us + ms * 1_000;
        while self.sock.now_us < end && self.step() {}
        self.at(end.max(self.sock.now_us));
    }
    /// Runs until this holds. Returns how long that took in µs; panics after a minute.
    pub(super) fn run_until(&mut self, mut is_reached: impl FnMut(&Self) -> bool) -> u64 {
        let start = self.sock.now_us;
        while !is_reached(self) {
            assert!(self.step(), "stuck in {:?}", self.s().mode);
            let took = self.sock.now_us - start;
            assert!(
                took < 60_000_000,
                "{:?} {:?}",
                self.s().mode,
                self.s().phase
            );
        }
        self.sock.now_us - start
    }
    pub(super) fn run_until_mode(&mut self, mode: Mode) -> u64 {
        self.run_until(|path| path.s().mode == mode)
    }
    pub(super) fn run_until_phase(&mut self, phase: Phase) -> u64 {
        self.run_until(|path| path.s().is_in(phase))
    }
    /// Nothing is sent until all has arrived and `ms` have passed.
    pub(super) fn idle_ms(&mut self, ms: u64) {
        self.app_limit = Some(0);
        self.run_ms(ms);
        self.app_limited_until = self.sock.delivered.max(1);
        self.app_limit = None;
    }
    /// Whole base RTTs in `us`.
    pub(super) fn rounds(&self, us: u64) -> u64 {
        us / self.rtt_us
    }
}
