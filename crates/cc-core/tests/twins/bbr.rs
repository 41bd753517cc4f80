//! BBR v2 and v3.

use quell_cc_core::{
    Bbr, BbrAck, BbrLost, BbrRules, BbrSock, BbrState, BbrVersion, bbr_sizes, seed_bbr_draws,
};
use quell_tcp::cc::bbr::bounded::{BbrState as OurState, Machine, Mode, Phase, Rules, Timing};
use quell_tcp::cc::bbr::{Ack, Draw, Lost, NO_RTT, Sock};
use quell_units::Random;

fn sock_in_c(sock: &Sock) -> BbrSock {
    BbrSock {
        now_us: sock.now_us,
        delivered_us: sock.delivered_us,
        pacing_rate: sock.pacing_rate,
        departure_us: sock.departure_us,
        jiffies: sock.jiffies,
        delivered: sock.delivered,
        delivered_ce: sock.delivered_ce,
        lost: sock.lost,
        in_flight: sock.in_flight,
        srtt_us: sock.srtt_us,
        min_rtt_us: sock.min_rtt_us,
        mss: sock.mss,
        cwnd: sock.cwnd,
        prior_cwnd: sock.prior_cwnd,
        ssthresh: sock.ssthresh,
        ca_state: sock.ca_state,
        is_cwnd_limited: sock.is_cwnd_limited,
        app_limited: sock.app_limited,
        can_use_ecn: sock.can_use_ecn,
        limits_samples: sock.limits_samples,
    }
}
fn ack_in_c(ack: &Ack) -> BbrAck {
    BbrAck {
        interval_us: ack.interval_us,
        delivered: ack.delivered,
        delivered_ce: ack.delivered_ce,
        prior_delivered: ack.prior_delivered,
        tx_in_flight: ack.tx_in_flight,
        lost: ack.lost,
        losses: ack.losses,
        acked: ack.acked,
        prior_in_flight: ack.prior_in_flight,
        rtt_us: ack.rtt_us,
        is_app_limited: ack.is_app_limited,
        is_ack_delayed: ack.is_ack_delayed,
        is_ece: ack.is_ece,
        is_probe_acked: ack.is_probe_acked,
    }
}
fn lost_in_c(lost: &Lost) -> BbrLost {
    BbrLost {
        tx_in_flight: lost.tx_in_flight,
        lost: lost.lost,
        is_app_limited: lost.is_app_limited,
    }
}
fn state_in_c(state: &OurState) -> BbrState {
    BbrState {
        cycle_us: state.cycle_us,
        ack_epoch_us: state.ack_epoch_us,
        min_rtt_us: state.min_rtt_us,
        min_rtt_stamp: state.min_rtt_stamp,
        probe_rtt_done_stamp: state.probe_rtt_done_stamp,
        probe_rtt_min_us: state.probe_rtt_min_us,
        probe_rtt_min_stamp: state.probe_rtt_min_stamp,
        next_rtt_delivered: state.next_rtt_delivered,
        prior_cwnd: state.prior_cwnd,
        full_bw: state.full_bw,
        extra_acked: state.extra_acked,
        ack_epoch_acked: state.ack_epoch_acked,
        loss_round_delivered: state.loss_round_delivered,
        undo_bw_lo: state.undo_bw_lo,
        undo_inflight_lo: state.undo_inflight_lo,
        undo_inflight_hi: state.undo_inflight_hi,
        bw_latest: state.bw_latest,
        inflight_latest: state.inflight_latest,
        bw_lo: state.bw_lo,
        bw_hi: state.bw_hi,
        max_bw: state.max_bw,
        inflight_lo: state.inflight_lo,
        inflight_hi: state.inflight_hi,
        bw_probe_up_cnt: state.bw_probe_up_cnt,
        bw_probe_up_acks: state.bw_probe_up_acks,
        probe_wait_us: state.probe_wait_us,
        alpha_last_delivered: state.alpha_last_delivered,
        alpha_last_delivered_ce: state.alpha_last_delivered_ce,
        ecn_alpha: state.ecn_alpha,
        pacing_gain: state.pacing_gain,
        cwnd_gain: state.cwnd_gain,
        init_cwnd: state.init_cwnd,
        mode: state.mode as u8,
        prev_ca_state: state.prev_ca_state,
        phase: state.phase as u8,
        ack_phase: state.ack_phase as u8,
        full_bw_cnt: state.full_bw_cnt,
        startup_ecn_rounds: state.startup_ecn_rounds,
        extra_acked_win_rtts: state.extra_acked_win_rtts,
        extra_acked_win_idx: state.extra_acked_win_idx,
        bw_probe_up_rounds: state.bw_probe_up_rounds,
        rounds_since_probe: state.rounds_since_probe,
        loss_events_in_round: state.loss_events_in_round,
        drain_rounds: state.drain_rounds,
        undo_state: state.undo_state as u8,
        round_start: state.round_start.into(),
        try_fast_path: state.try_fast_path.into(),
        idle_restart: state.idle_restart.into(),
        probe_rtt_round_done: state.probe_rtt_round_done.into(),
        full_bw_reached: state.full_bw_reached.into(),
        full_bw_now: state.full_bw_now.into(),
        has_seen_rtt: state.has_seen_rtt.into(),
        loss_in_cycle: state.loss_in_cycle.into(),
        ecn_in_cycle: state.ecn_in_cycle.into(),
        ecn_eligible: state.ecn_eligible.into(),
        bw_probe_samples: state.bw_probe_samples.into(),
        prev_probe_too_high: state.prev_probe_too_high.into(),
        stopped_risky_probe: state.stopped_risky_probe.into(),
        loss_round_start: state.loss_round_start.into(),
        loss_in_round: state.loss_in_round.into(),
        ecn_in_round: state.ecn_in_round.into(),
        got_ok_bw_probe_sample: state.got_ok_bw_probe_sample.into(),
        loss_yet_in_recovery: state.loss_yet_in_recovery.into(),
        reserved: state.reserved,
    }
}

/// The draws of the C side, again.
struct Draws(u64);

impl Draw for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// How often each thing happened, so that a test that compares nothing fails.
#[derive(Debug, Default)]
struct Counts {
    acks: u64,
    lost: u64,
    timeouts: u64,
    undos: u64,
    repairs: u64,
    restarts: u64,
    eligible: u64,
    cut_by_marks: u64,
    /// ACKs in each mode, and in each phase of `PROBE_BW`.
    modes: [u64; 4],
    phases: [u64; 4],
}

/// Both machines in the same connection, which a crude path drives: it delivers at a rate, queues, loses and marks.
struct Pair {
    ours: Machine,
    theirs: Bbr,
    sock: Sock,
    draws: Draws,
    random: Random,
    counts: Counts,
    /// Bandwidth of the path in packets per second, its RTT in µs.
    packets_per_s: u64,
    rtt_us: u64,
    /// One packet in so many is lost, or marked; 0 for none.
    loss: u64,
    mark: u64,
    is_app_limited: bool,
    /// Packets delivered when the flight began that is being delivered.
    prior_delivered: u32,
    flight_left: u32,
    state: u32,
}

impl Pair {
    fn new(
        version: BbrVersion,
        rules: Rules,
        adjust: impl FnOnce(&mut BbrRules),
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed, "path");
        let mut sock = Sock {
            now_us: random.below(1 << 40),
            jiffies: random.u32(),
            delivered: random.u32(),
            lost: random.u32(),
            srtt_us: random.below(2) as u32 * 10_000,
            min_rtt_us: if random.below(2) == 0 { NO_RTT } else { 10_000 },
            mss: 1_448,
            cwnd: 10,
            can_use_ecn: 1,
            ..Sock::default()
        };
        sock.delivered_us = sock.now_us;
        let mut c_sock = sock_in_c(&sock);
        seed_bbr_draws(seed);
        let theirs = Bbr::new(version, 250, adjust, &mut c_sock);
        let ours = Machine::new(rules, &mut sock);
        assert_eq!(sock_in_c(&sock), c_sock);
        let prior_delivered = sock.delivered;
        Self {
            ours,
            theirs,
            sock,
            draws: Draws(seed),
            random,
            counts: Counts::default(),
            packets_per_s: 1_000,
            rtt_us: 10_000,
            loss: 0,
            mark: 0,
            is_app_limited: false,
            prior_delivered,
            flight_left: 10,
            state: 0,
        }
    }
    fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.random.below(count) == 0
    }
    fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.random.below(from.len() as u64) as usize]
    }
    fn change_path(&mut self) {
        self.packets_per_s = self.pick(&[50, 800, 8_000, 80_000, 800_000]);
        self.rtt_us = self.pick(&[200, 900, 4_000, 5_000, 20_000, 100_000]);
        self.loss = self.pick(&[0, 0, 20, 100, 1_000, 10_000]);
        self.mark = self.pick(&[0, 0, 2, 5, 20, 200]);
        self.is_app_limited = self.one_in(4);
    }
    /// Calls both, and compares all that they have changed.
    fn both(
        &mut self,
        ours: impl FnOnce(&mut Machine, &mut Sock, &mut Draws) -> u32,
        theirs: impl FnOnce(&mut Bbr, &mut BbrSock) -> u32,
    ) -> u32 {
        let before = *self.ours.state();
        self.sock.limits_samples = 0;
        let mut c_sock = sock_in_c(&self.sock);
        let c_answer = theirs(&mut self.theirs, &mut c_sock);
        let answer = ours(&mut self.ours, &mut self.sock, &mut self.draws);
        let state = self.ours.state();
        assert_eq!(
            state_in_c(state),
            self.theirs.state,
            "from {before:?} with {:?}",
            self.sock
        );
        assert_eq!(sock_in_c(&self.sock), c_sock, "from {before:?}");
        assert_eq!(answer, c_answer);
        answer
    }
    fn advance(&mut self, us: u64) {
        let jiffies = |us: u64| us / 4_000;
        let passed = jiffies(self.sock.now_us + us) - jiffies(self.sock.now_us);
        self.sock.now_us += us;
        self.sock.jiffies = self.sock.jiffies.wrapping_add(passed as u32);
    }
    fn set_state(&mut self, new: u32) {
        if new != self.state {
            self.both(
                |machine, sock, draws| {
                    machine.on_state(sock, new, draws);
                    0
                },
                |bbr, sock| {
                    bbr.on_state(sock, new);
                    0
                },
            );
            self.state = new;
            self.sock.ca_state = new;
        }
    }
    fn reduce(&mut self) {
        self.sock.prior_cwnd = self.sock.cwnd;
        self.both(
            |machine, sock, draws| {
                machine.on_reduction(sock, draws);
                0
            },
            |bbr, sock| {
                bbr.on_reduction(sock);
                0
            },
        );
    }
    /// Losses of an ACK, each with the flight in which it left.
    fn lose(&mut self, losses: u32) {
        let in_flight = self.sock.in_flight;
        for n in 1..=losses {
            self.counts.lost += 1;
            self.sock.lost = self.sock.lost.wrapping_add(1);
            let lost = Lost {
                tx_in_flight: in_flight.max(1) + self.random.below(3) as u32,
                lost: n + self.random.below(2) as u32,
                is_app_limited: self.is_app_limited.into(),
            };
            let c_lost = lost_in_c(&lost);
            self.both(
                |machine, sock, draws| {
                    machine.on_lost(sock, &lost, draws);
                    0
                },
                |bbr, sock| {
                    bbr.on_lost(sock, &c_lost);
                    0
                },
            );
        }
    }
    fn ack(&mut self) {
        let acked = self.pick(&[0, 1, 1, 2, 2, 2, 8, 44]) as u32;
        let acked = acked.min(self.sock.in_flight.max(1));
        let spacing = 1_000_000 * u64::from(acked.max(1)) / self.packets_per_s;
        let jitter = self.random.below(20);
        self.advance(spacing + jitter);
        let losses: u32 = (0..acked).map(|_| u32::from(self.one_in(self.loss))).sum();
        let marked: u32 = (0..acked).map(|_| u32::from(self.one_in(self.mark))).sum();
        if acked > 0 {
            self.sock.delivered_us = self.sock.now_us;
        }
        self.sock.delivered = self.sock.delivered.wrapping_add(acked);
        self.sock.delivered_ce = self.sock.delivered_ce.wrapping_add(marked);
        self.flight_left = self.flight_left.saturating_sub(acked);
        let prior_in_flight = self.sock.in_flight;
        let delivered = self.sock.delivered.wrapping_sub(self.prior_delivered);
        let queue = u64::from(prior_in_flight) * 1_000_000 / self.packets_per_s;
        let rtt = self.rtt_us.max(queue) + self.random.below(30);
        let is_valid = acked > 0 && !self.one_in(50);
        let interval = rtt.max(u64::from(delivered) * 1_000_000 / self.packets_per_s);
        let ack = Ack {
            interval_us: if is_valid {
                interval.min(1 << 31) as u32
            } else {
                0
            },
            delivered: if acked > 0 { delivered } else { 0 },
            delivered_ce: if acked > 0 { marked * 2 } else { 0 },
            prior_delivered: if acked > 0 { self.prior_delivered } else { 0 },
            tx_in_flight: if acked > 0 { prior_in_flight } else { 0 },
            lost: losses,
            losses,
            acked,
            prior_in_flight,
            rtt_us: if self.one_in(8) { NO_RTT } else { rtt as u32 },
            is_app_limited: self.is_app_limited.into(),
            is_ack_delayed: self.one_in(10).into(),
            is_ece: (marked > 0 || self.one_in(500)).into(),
            is_probe_acked: self.one_in(100).into(),
        };
        self.sock.srtt_us = rtt as u32;
        self.sock.departure_us = self.random.below(2) as u32 * self.random.below(rtt) as u32;
        self.sock.is_cwnd_limited = u32::from(!self.is_app_limited && !self.one_in(10));
        self.sock.app_limited = self.is_app_limited.into();
        if losses > 0 {
            self.lose(losses);
            if self.state < 3 {
                self.reduce();
                self.set_state(3);
            }
        } else if self.state >= 2 && self.flight_left == 0 {
            if self.one_in(3) && self.state != 2 {
                self.undo();
            }
            self.set_state(0);
        } else if marked > 0 && self.state < 2 && self.one_in(20) {
            self.reduce();
            self.set_state(2);
        }
        let c_ack = ack_in_c(&ack);
        self.counts.acks += 1;
        self.both(
            |machine, sock, draws| {
                machine.on_ack(sock, &ack, draws);
                0
            },
            |bbr, sock| {
                bbr.on_ack(sock, &c_ack);
                0
            },
        );
        if self.flight_left == 0 {
            self.prior_delivered = self.sock.delivered;
            self.flight_left = self.sock.cwnd;
        }
        let most = if self.is_app_limited { 20 } else { u32::MAX };
        self.sock.in_flight = self.sock.cwnd.min(most).min(1 << 20);
    }
    fn undo(&mut self) {
        self.counts.undos += 1;
        let cwnd = self.both(
            |machine, sock, draws| machine.on_undo(sock, draws),
            |bbr, sock| bbr.on_undo(sock),
        );
        self.sock.cwnd = cwnd.clamp(1, 1 << 30);
    }
    fn time_out(&mut self) {
        self.counts.timeouts += 1;
        self.advance(300_000);
        self.lose(3);
        if self.state < 3 {
            self.reduce();
        }
        self.sock.cwnd = 1;
        self.sock.in_flight = 0;
        self.set_state(4);
        self.flight_left = 1;
    }
    fn rest(&mut self) {
        self.counts.restarts += 1;
        let most = self.pick(&[1_000, 1_000_000, 20_000_000]);
        let pause = self.random.below(most);
        self.advance(pause);
        self.sock.app_limited = 1;
        self.both(
            |machine, sock, draws| {
                machine.on_restart(sock, draws);
                0
            },
            |bbr, sock| {
                bbr.on_restart(sock);
                0
            },
        );
    }
    fn repair(&mut self) {
        self.counts.repairs += 1;
        let is_app_limited = self.is_app_limited;
        self.both(
            |machine, sock, draws| {
                machine.on_probe_repair(sock, is_app_limited, draws);
                0
            },
            |bbr, sock| {
                bbr.on_probe_repair(sock, is_app_limited);
                0
            },
        );
    }
    fn turn(&mut self) {
        if self.one_in(3_000) {
            self.change_path();
        }
        if self.one_in(20_000) {
            self.time_out();
        } else if self.one_in(5_000) {
            self.rest();
        } else if self.one_in(2_000) {
            self.repair();
        } else {
            self.ack();
        }
        let state = self.ours.state();
        self.counts.modes[state.mode as usize] += 1;
        self.counts.phases[state.phase as usize] += u64::from(state.mode == Mode::ProbeBw);
        self.counts.eligible += u64::from(state.ecn_eligible);
        self.counts.cut_by_marks += u64::from(state.ecn_in_round && state.is_in(Phase::Cruise));
    }
}

/// Jiffies of 4 ms.
const TIMING: Timing = Timing {
    min_rtt_window: 2_500,
    probe_rtt_window: 1_250,
    probe_rtt: 50,
};

#[test]
fn the_layout_is_that_of_the_header() {
    let sizes = [
        size_of::<BbrRules>(),
        size_of::<BbrSock>(),
        size_of::<BbrAck>(),
        size_of::<BbrLost>(),
        size_of::<BbrState>(),
    ];
    assert_eq!(bbr_sizes(), sizes);
    assert_eq!(size_of::<OurState>(), size_of::<BbrState>());
}

/// A million turns for each, in several connections.
fn compare(version: BbrVersion, rules: Rules, adjust: impl Fn(&mut BbrRules)) -> Counts {
    let mut total = Counts::default();
    for seed in 0..20 {
        let mut pair = Pair::new(version, rules, &adjust, seed);
        for _ in 0..55_000 {
            pair.turn();
        }
        let counts = pair.counts;
        total.acks += counts.acks;
        total.lost += counts.lost;
        total.timeouts += counts.timeouts;
        total.undos += counts.undos;
        total.repairs += counts.repairs;
        total.restarts += counts.restarts;
        total.eligible += counts.eligible;
        total.cut_by_marks += counts.cut_by_marks;
        for n in 0..4 {
            total.modes[n] += counts.modes[n];
            total.phases[n] += counts.phases[n];
        }
    }
    assert!(total.acks > 1_000_000, "{total:?}");
    let rare = [total.lost, total.undos, total.repairs];
    assert!(rare.iter().all(|count| *count > 300), "{total:?}");
    assert!(total.timeouts > 20 && total.restarts > 100, "{total:?}");
    let visited = total.modes.iter().chain(&total.phases);
    assert!(visited.clone().all(|count| *count > 100), "{total:?}");
    total
}

#[test]
fn v2_is_equal_to_the_bit() {
    let rules = Rules::v2(TIMING);
    let counts = compare(BbrVersion::V2, rules, |_| {});
    assert!(
        counts.eligible > 1_000 && counts.cut_by_marks > 10,
        "{counts:?}"
    );
}

#[test]
fn v2_of_2020_with_options_is_equal_to_the_bit() {
    let rules = Rules {
        marks_cut_bw: true,
        ecn_max_rtt_us: 0,
        ecn_reprobe_gain: 128,
        loss_threshold: 20,
        beta: 128,
        ..Rules::v2(TIMING)
    };
    compare(BbrVersion::V2, rules, |rules| {
        rules.marks_cut_bw = 1;
        rules.ecn_max_rtt_us = 0;
        rules.ecn_reprobe_gain = 128;
        rules.loss_threshold = 20;
        rules.beta = 128;
    });
}

#[test]
fn v3_of_2023_is_equal_to_the_bit() {
    let counts = compare(BbrVersion::V3Of2023, Rules::v3_2023(TIMING), |_| {});
    assert!(
        counts.eligible > 1_000 && counts.cut_by_marks > 10,
        "{counts:?}"
    );
}

#[test]
fn v3_of_2026_is_equal_to_the_bit() {
    compare(BbrVersion::V3Of2026, Rules::v3_2026(TIMING), |_| {});
}
