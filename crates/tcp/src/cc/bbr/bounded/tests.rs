//! The golden tables of BBR v2 and v3.

use super::super::integers::{UNIT, bandwidth_up, rate};
use super::*;

mod draft;
mod path;

/// Draws in this order, and then zeros.
struct Draws(Vec<u32>);

impl Draw for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        match self.0.is_empty() {
            true => 0,
            false => self.0.remove(0).min(bound - 1),
        }
    }
}

/// Jiffies of 4 ms.
const TIMING: Timing = Timing {
    min_rtt_window: 2_500,
    probe_rtt_window: 1_250,
    probe_rtt: 50,
};

fn sock() -> Sock {
    Sock {
        mss: 1_448,
        cwnd: 10,
        min_rtt_us: NO_RTT,
        ..Sock::default()
    }
}

/// A machine in use: what a test looks at or changes.
struct Bench {
    machine: Machine,
    sock: Sock,
    draws: Draws,
}

impl Bench {
    fn new(rules: Rules) -> Self {
        let mut sock = sock();
        let machine = Machine::new(rules, &mut sock);
        Self {
            machine,
            sock,
            draws: Draws(Vec::new()),
        }
    }
    /// After start-up, in CRUISE, with this many packets per RTT of 10 ms.
    fn cruising(rules: Rules, packets: u32) -> Self {
        let mut bench = Self::new(rules);
        let s = &mut bench.machine.state;
        (s.mode, s.phase) = (Mode::ProbeBw, Phase::Cruise);
        s.full_bw_reached = true;
        s.max_bw = [bandwidth_up(packets, 10_000), 0];
        (s.min_rtt_us, s.probe_rtt_min_us) = (10_000, 10_000);
        (s.pacing_gain, s.cwnd_gain) = (UNIT, 2 * UNIT);
        s.probe_wait_us = 10_000_000;
        bench.sock.cwnd = 2 * packets;
        bench.sock.pacing_rate = rate(s.max_bw(), bench.sock.mss, UNIT);
        bench
    }
    fn turn(&mut self) -> Turn<'_, Draws> {
        self.machine.turn(&mut self.sock, &mut self.draws)
    }
    fn s(&self) -> &BbrState {
        &self.machine.state
    }
    fn lose(&mut self, tx_in_flight: u32, lost: u32) {
        let lost = Lost {
            tx_in_flight,
            lost,
            is_app_limited: 0,
        };
        self.machine.on_lost(&mut self.sock, &lost, &mut self.draws);
    }
}

/// v2 and v3 of 2023; where they agree, both are tested.
fn both() -> [Rules; 2] {
    [Rules::v2(TIMING), Rules::v3_2023(TIMING)]
}

#[test]
fn constants_are_those_of_the_modules() {
    let v2 = Rules::v2(TIMING);
    assert_eq!((v2.startup_gain, v2.startup_cwnd_gain), (739, 739));
    assert_eq!(
        (v2.drain_gain, v2.down_gain, v2.up_cwnd_gain),
        (88, 192, 512)
    );
    assert_eq!((v2.loss_threshold, v2.beta), (5, 76));
    let v3 = Rules::v3_2023(TIMING);
    assert_eq!((v3.startup_gain, v3.startup_cwnd_gain), (710, 512));
    assert_eq!(
        (v3.drain_gain, v3.down_gain, v3.up_cwnd_gain),
        (88, 232, 576)
    );
    assert_eq!(v3.ecn_reprobe_gain, 128);
    assert_eq!(Rules::v3_2026(TIMING).drain_gain, 128);
    assert_eq!(Rules::v3_draft(TIMING).down_gain, 230);
}

/// Rate in Mbit/s, RTT in ms; super-segment, window at gain 2, in UP, in flight at 1, in `PROBE_RTT`.
#[test]
fn windows_are_at_least_three_super_segments() {
    for (rules, up_gain, mbps, ms, windows) in [
        (both()[1], 576, 10, 40, [2, 67, 77, 34, 17]),
        (both()[1], 576, 40, 20, [3, 133, 151, 67, 34]),
        (both()[1], 576, 100, 10, [8, 167, 189, 84, 42]),
        (both()[1], 576, 1_000, 5, [45, 833, 939, 417, 209]),
        (both()[1], 576, 1, 40, [2, 7, 9, 6, 4]),
        (both()[0], 512, 1, 40, [1, 7, 9, 4, 4]),
    ] {
        let us = ms * 1_000;
        let bw = bandwidth_up(mbps * us / 8 / 1_500, us);
        let mut bench = Bench::new(rules);
        bench.machine.state.min_rtt_us = us;
        bench.machine.state.max_bw[1] = bw;
        bench.machine.state.mode = Mode::ProbeBw;
        bench.machine.state.phase = Phase::Cruise;
        bench.sock.pacing_rate = rate(bw, bench.sock.mss, UNIT);
        let turn = bench.turn();
        let (goal, window) = (turn.tso_goal(), turn.inflight(bw, 512));
        let (at_one, probe_rtt) = (turn.inflight(bw, UNIT), turn.probe_rtt_cwnd());
        bench.machine.state.phase = Phase::Up;
        let up = bench.turn().inflight(bw, up_gain);
        let found = [goal, window, up, at_one, probe_rtt];
        assert_eq!(found, windows, "{mbps} Mbit/s, {ms} ms");
    }
}

/// Alpha in 1/256 after a round with this share of marks.
fn alpha_after(bench: &mut Bench, delivered: u32, marked: u32) -> u32 {
    bench.sock.delivered += delivered;
    bench.sock.delivered_ce += marked;
    let ack = Ack {
        interval_us: 10_000,
        prior_delivered: bench.sock.delivered - delivered,
        ..Ack::default()
    };
    bench.machine.state.next_rtt_delivered = ack.prior_delivered;
    bench.turn().update_round(&ack);
    bench.s().ecn_alpha
}
fn marked(rules: Rules) -> Bench {
    let rules = Rules {
        ecn_max_rtt_us: 0,
        ..rules
    };
    let mut bench = Bench::cruising(rules, 100);
    bench.sock.can_use_ecn = 1;
    bench
}

#[test]
fn alpha_falls_by_a_sixteenth_and_is_zero_after_53_rounds() {
    let published = [
        240, 225, 210, 196, 183, 171, 160, 150, 140, 131, 122, 114, 106, 99, 92, 86, 80, 75, 70,
        65, 60, 56, 52, 48, 45, 42, 39, 36, 33, 30, 28, 26, 24, 22, 20, 18, 16, 15, 14,
    ];
    for rules in both() {
        // No marks, and the most that rounds to nothing.
        for marks in [0, 15] {
            let mut bench = marked(rules);
            let found: Vec<_> = (0..53)
                .map(|_| alpha_after(&mut bench, 256, marks))
                .collect();
            assert_eq!(found[..published.len()], published);
            assert_eq!((found[51], found[52]), (1, 0));
        }
    }
}

#[test]
fn alpha_rests_at_another_level_from_above_than_from_below() {
    for (ratio, above, below) in [
        (16, 16, 1),
        (32, 32, 17),
        (64, 64, 49),
        (128, 128, 113),
        (256, 256, 241),
    ] {
        for rules in both() {
            let mut bench = marked(rules);
            for _ in 0..300 {
                alpha_after(&mut bench, 256, ratio);
            }
            assert_eq!(bench.s().ecn_alpha, above, "{ratio} from above");
            bench.machine.state.ecn_alpha = 0;
            for _ in 0..300 {
                alpha_after(&mut bench, 256, ratio);
            }
            assert_eq!(bench.s().ecn_alpha, below, "{ratio} from below");
        }
    }
}

/// T12: in rounds of 120 and 800 packets, each 20th marked, and each 8th.
#[test]
fn marks_below_a_sixteenth_are_ignored_for_ever() {
    for rules in both() {
        for packets in [120, 800] {
            let mut bench = marked(rules);
            for _ in 0..53 {
                alpha_after(&mut bench, packets, packets / 20);
            }
            assert_eq!(bench.s().ecn_alpha, 0);
            let s = &mut bench.machine.state;
            s.ecn_in_round = true;
            bench.sock.cwnd = 100;
            bench.turn().note_echo(&Ack::default());
            end_round(&mut bench);
            assert_eq!(bench.s().inflight_lo, 100, "no reduction");
            for _ in 0..300 {
                alpha_after(&mut bench, packets, packets / 8);
            }
            assert!((17..=32).contains(&bench.s().ecn_alpha));
        }
    }
}

/// A round of loss ends, in which nothing was delivered that bounds the cut.
fn end_round(bench: &mut Bench) {
    let delivered = bench.sock.delivered;
    let ack = Ack {
        interval_us: 10_000,
        acked: 1,
        prior_delivered: delivered,
        is_app_limited: 1,
        ..Ack::default()
    };
    bench.machine.state.loss_round_delivered = delivered;
    let mut turn = bench.turn();
    turn.update_latest(&ack, 0);
    turn.update_signals(&ack, 0);
}

#[test]
fn a_marked_round_cuts_in_proportion_to_alpha() {
    for rules in both() {
        for (alpha, left) in [(16, 98), (32, 96), (64, 91), (128, 83), (256, 66)] {
            let mut bench = marked(rules);
            bench.sock.cwnd = 100;
            let s = &mut bench.machine.state;
            (s.ecn_alpha, s.ecn_eligible, s.ecn_in_round) = (alpha, true, true);
            end_round(&mut bench);
            assert_eq!(bench.s().inflight_lo, left, "{alpha}");
            assert_eq!(bench.s().bw_lo, UNSET, "bandwidth is not cut");
        }
    }
    let rules = Rules {
        marks_cut_bw: true,
        ..Rules::v2(TIMING)
    };
    let mut bench = marked(rules);
    let s = &mut bench.machine.state;
    (s.ecn_eligible, s.ecn_in_round) = (true, true);
    let max_bw = s.max_bw();
    end_round(&mut bench);
    let cut = (u64::from(max_bw) * (256 - 85)) >> 8;
    assert_eq!(u64::from(bench.s().bw_lo), cut);
}

#[test]
fn a_lossy_round_keeps_seven_tenths_and_what_was_delivered() {
    for rules in both() {
        for (cwnd, latest, left) in [(100, 0, 70), (1_000, 0, 703), (100, 90, 90)] {
            let mut bench = Bench::cruising(rules, 100);
            bench.sock.cwnd = cwnd;
            let s = &mut bench.machine.state;
            (s.loss_in_round, s.inflight_latest) = (true, latest);
            let max_bw = s.max_bw();
            end_round(&mut bench);
            assert_eq!(bench.s().inflight_lo, left);
            assert_eq!(bench.s().bw_lo, ((u64::from(max_bw) * 180) >> 8) as u32);
        }
    }
}

/// First count of losses in a flight that is too many, and the level that follows from it.
#[test]
fn two_percent_of_a_flight_may_be_lost() {
    for (flight, first, level) in [
        (4, 1, 4),
        (20, 1, 20),
        (51, 1, 51),
        (52, 2, 51),
        (100, 2, 100),
        (200, 4, 200),
        (1_000, 20, 1_000),
    ] {
        for rules in both() {
            // The flight is the larger bound: the target in flight is small.
            let probing = || {
                let mut bench = Bench::cruising(rules, 4);
                bench.machine.state.bw_probe_samples = true;
                bench
            };
            let mut bench = probing();
            bench.lose(flight, first - 1);
            assert_eq!(bench.s().inflight_hi, UNSET, "{flight}");
            bench.lose(flight, first);
            assert_eq!(bench.s().inflight_hi, level, "{flight}");
            assert!(!bench.s().bw_probe_samples, "once per probe");
            bench.lose(flight, first + 1);
            assert_eq!(bench.s().inflight_hi, level, "{flight}");
            let mut bench = probing();
            bench.lose(flight, first + 1);
            assert_eq!(bench.s().inflight_hi, (flight - 1).max(4), "{flight}");
        }
    }
}

#[test]
fn headroom_is_fifteen_percent() {
    for (hi, left) in [
        (4, 4),
        (5, 4),
        (6, 5),
        (10, 9),
        (27, 23),
        (100, 86),
        (1_000, 852),
        (UNSET, UNSET),
    ] {
        let mut bench = Bench::new(both()[0]);
        bench.machine.state.inflight_hi = hi;
        assert_eq!(bench.s().with_headroom(), left);
    }
}

#[test]
fn each_round_of_a_probe_doubles_the_growth() {
    for rules in both() {
        let mut bench = Bench::cruising(rules, 50);
        bench.sock.cwnd = 100;
        bench.sock.is_cwnd_limited = 1;
        let s = &mut bench.machine.state;
        (s.phase, s.inflight_hi, s.round_start) = (Phase::Refill, 100, true);
        let ack = Ack {
            acked: 1,
            ..Ack::default()
        };
        let mut found = Vec::new();
        for _ in 0..8 {
            bench.turn().update_cycle(&ack, 0);
            found.push(bench.s().bw_probe_up_cnt);
            let s = &mut bench.machine.state;
            (s.inflight_hi, s.round_start) = (100, true);
        }
        assert_eq!(found, [100, 50, 25, 12, 6, 3, 1, 1]);
    }
}

/// (sample, round start) and (bandwidth to beat, rounds without growth).
#[test]
fn v3_starts_the_test_for_a_full_pipe_again_on_any_ack() {
    let mut bench = Bench::new(both()[1]);
    for (sample, round_start, expected) in [
        (100, true, (100, 0)),
        (130, false, (130, 0)),
        (150, false, (130, 0)),
        (170, true, (170, 0)),
        (180, false, (170, 0)),
        (200, true, (170, 1)),
        (210, true, (170, 2)),
        (212, false, (212, 0)),
        (205, true, (212, 1)),
    ] {
        bench.machine.state.round_start = round_start;
        bench.turn().check_full_bw(&Ack::default(), sample);
        let s = bench.s();
        assert_eq!((s.full_bw, s.full_bw_cnt), expected, "{sample}");
    }
}

#[test]
fn a_probe_after_marks_begins_steep() {
    for (hi, rounds) in [(UNSET, 30), (100, 5), (4, 1)] {
        let mut bench = Bench::cruising(both()[1], 100);
        let s = &mut bench.machine.state;
        (s.ecn_eligible, s.ecn_in_cycle, s.inflight_hi) = (true, true, hi);
        bench.turn().update_cycle(&Ack::default(), 0);
        assert!(bench.s().is_in(Phase::Refill));
        assert_eq!(bench.s().bw_probe_up_rounds, rounds);
    }
    let mut bench = Bench::cruising(both()[0], 100);
    let s = &mut bench.machine.state;
    (s.ecn_eligible, s.ecn_in_cycle) = (true, true);
    bench.turn().update_cycle(&Ack::default(), 0);
    assert!(bench.s().is_in(Phase::Cruise), "not in v2");
}

/// Fields that Linux keeps in few bits.
#[test]
fn narrow_counters_keep_their_width() {
    let mut bench = Bench::cruising(both()[0], 100);
    let s = &mut bench.machine.state;
    (s.rounds_since_probe, s.bw_probe_up_rounds) = (255, 30);
    let ack = Ack {
        interval_us: 10_000,
        acked: 70_000,
        ..Ack::default()
    };
    bench.turn().update_round(&ack);
    assert_eq!(bench.s().rounds_since_probe, 255);
    // 16 bits of extra ACKs, 20 of the epoch.
    bench.sock.cwnd = 1 << 20;
    bench.turn().update_ack_aggregation(&ack);
    assert_eq!(bench.s().ack_epoch_acked, 70_000);
    assert_eq!(bench.s().extra_acked, [70_000 - 65_536, 0]);
    for _ in 0..14 {
        bench.turn().update_ack_aggregation(&ack);
    }
    assert_eq!(bench.s().ack_epoch_acked, 70_000, "a new epoch before 2^20");
    let s = &mut bench.machine.state;
    (s.full_bw_reached, s.mode) = (false, Mode::Startup);
    let lossy = Ack { losses: 1, ..ack };
    for _ in 0..20 {
        bench.turn().check_startup_loss(&lossy);
    }
    assert_eq!(bench.s().loss_events_in_round, 15);
    let mut large = sock();
    large.cwnd = 1_000;
    assert_eq!(BbrState::new(&both()[0], &mut large).init_cwnd, 127);
}
