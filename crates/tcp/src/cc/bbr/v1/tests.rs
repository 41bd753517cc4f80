//! The golden tables of BBR v1.

use super::*;

struct Fixed(u32);

impl Draw for Fixed {
    fn below(&mut self, bound: u32) -> u32 {
        self.0.min(bound - 1)
    }
}

const TIMING: Timing = Timing {
    min_rtt_window: 2_500,
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

/// Rate in Mbit/s, RTT in ms; super-segment, window at gain 2, in flight at 5/4 in its phase, at 1.
#[test]
fn windows_have_room_for_three_super_segments() {
    for (mbps, ms, windows) in [
        (10, 40, [2, 72, 50, 40]),
        (40, 20, [3, 142, 94, 76]),
        (100, 10, [8, 190, 130, 108]),
        (1_000, 5, [45, 968, 658, 552]),
        (1, 40, [1, 10, 10, 6]),
    ] {
        let us = ms * 1_000;
        let packets = mbps * us / 8 / 1_500;
        let bw = bandwidth_down(packets, us);
        let mut sock = sock();
        let mut machine = Machine::new(TIMING, &mut sock);
        sock.pacing_rate = integers::rate(bw, sock.mss, UNIT);
        machine.min_rtt_us = us;
        machine.mode = Mode::ProbeBw;
        machine.cycle = 2;
        let window = machine.inflight(&sock, bw, CWND_GAIN);
        let at_one = machine.inflight(&sock, bw, UNIT);
        machine.cycle = 0;
        let probing = machine.inflight(&sock, bw, CYCLE[0]);
        let goal = Machine::tso_goal(&sock);
        assert_eq!([goal, window, probing, at_one], windows, "{mbps} {ms}");
    }
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut sock = sock();
    let mut machine = Machine::new(TIMING, &mut sock);
    machine.round_start = true;
    let mut found = Vec::new();
    for max_bw in [100, 200, 240, 245, 250, 251] {
        machine.bw = WindowedMax::default();
        machine.bw.take(BW_ROUNDS, 1, max_bw);
        machine.check_full_bw_reached(&Ack::default());
        found.push((machine.full_bw, machine.full_bw_cnt));
    }
    let expected = [(100, 0), (200, 0), (200, 1), (200, 2), (250, 0), (250, 1)];
    assert_eq!(found, expected);
    for _ in 0..2 {
        assert!(!machine.full_bw_reached);
        machine.check_full_bw_reached(&Ack::default());
    }
    assert!(machine.full_bw_reached);
}

#[test]
fn the_first_phase_is_random_and_never_the_one_that_drains() {
    let mut sock = sock();
    let mut machine = Machine::new(TIMING, &mut sock);
    let first = |draw| {
        machine.enter_probe_bw(&sock, &mut Fixed(draw));
        machine.cycle
    };
    assert_eq!((0..7).map(first).collect::<Vec<_>>(), [0, 7, 6, 5, 4, 3, 2]);
}

/// "10 s" ends at the 2501st tick of 4 ms, "200 ms" at the 51st.
#[test]
fn probe_rtt_begins_after_ten_seconds_and_lasts_200_ms_and_a_round() {
    let mut sock = sock();
    sock.cwnd = 50;
    sock.in_flight = 20;
    let mut machine = Machine::new(TIMING, &mut sock);
    machine.full_bw_reached = true;
    let mut ack = Ack {
        rtt_us: 20_000,
        delivered: 1,
        ..Ack::default()
    };
    machine.mode = Mode::ProbeBw;
    machine.update_min_rtt(&mut sock, &ack, &mut Fixed(0));
    ack.rtt_us = 30_000;
    for (jiffies, mode) in [(2_500, Mode::ProbeBw), (2_501, Mode::ProbeRtt)] {
        sock.jiffies = jiffies;
        machine.update_min_rtt(&mut sock, &ack, &mut Fixed(0));
        assert_eq!(machine.mode, mode);
        assert_eq!(sock.limits_samples, u32::from(mode == Mode::ProbeRtt));
    }
    assert_eq!(machine.min_rtt_us, 30_000, "the old one has expired");
    sock.in_flight = 4;
    sock.cwnd = 4;
    machine.update_min_rtt(&mut sock, &ack, &mut Fixed(0));
    for (jiffies, round_start, mode) in [
        (2_552, false, Mode::ProbeRtt),
        (2_551, true, Mode::ProbeRtt),
        (2_552, false, Mode::ProbeBw),
    ] {
        sock.jiffies = jiffies;
        machine.round_start = round_start;
        machine.update_min_rtt(&mut sock, &ack, &mut Fixed(0));
        assert_eq!(machine.mode, mode, "{jiffies}");
    }
    assert_eq!(sock.cwnd, 50, "restored");
}

/// Packet conservation for a round, minus the losses of its first ACK; then the window returns.
#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut sock = sock();
    let mut machine = Machine::new(TIMING, &mut sock);
    machine.full_bw_reached = true;
    machine.min_rtt_us = 10_000;
    machine.mode = Mode::ProbeBw;
    machine.cwnd_gain = CWND_GAIN;
    let bw = bandwidth_down(100, 10_000);
    sock.cwnd = 200;
    machine.on_reduction(&sock);
    sock.ca_state = state::RECOVERY;
    sock.in_flight = 150;
    sock.delivered = 1_000;
    let mut ack = Ack {
        acked: 1,
        losses: 3,
        ..Ack::default()
    };
    machine.set_cwnd(&mut sock, &ack, bw);
    assert_eq!(sock.cwnd, 151);
    assert_eq!(machine.next_rtt_delivered, 1_000);
    ack.losses = 0;
    sock.in_flight = 140;
    machine.set_cwnd(&mut sock, &ack, bw);
    assert_eq!(sock.cwnd, 151, "never below what is in flight");
    // The round is over: towards the target, one for each.
    machine.packet_conservation = false;
    machine.set_cwnd(&mut sock, &ack, bw);
    assert_eq!(sock.cwnd, 152);
    sock.ca_state = state::OPEN;
    machine.set_cwnd(&mut sock, &ack, bw);
    assert_eq!(sock.cwnd, 201);
}

/// A restart from idle paces at the bandwidth, whatever the phase.
#[test]
fn a_restart_from_idle_paces_at_the_bandwidth() {
    let mut sock = sock();
    let mut machine = Machine::new(TIMING, &mut sock);
    machine.full_bw_reached = true;
    machine.mode = Mode::ProbeBw;
    let bw = bandwidth_down(100, 10_000);
    machine.bw.take(BW_ROUNDS, 1, bw);
    machine.on_restart(&mut sock, &mut Fixed(0));
    assert!(!machine.idle_restart, "the application did not limit it");
    sock.app_limited = 1;
    machine.on_restart(&mut sock, &mut Fixed(0));
    assert!(machine.idle_restart);
    assert_eq!(sock.pacing_rate, integers::rate(bw, sock.mss, UNIT));
}
