//! The integers of Compound against tables that were computed from its definition, and its mean window against models of it.

use super::*;

const RULES: CompoundRules = CompoundRules {
    gamma: 30,
    gamma_low: 5,
    gamma_high: 30,
    low_window: 38,
    eta: 1,
    lambda: 16,
    paced: true,
};

#[test]
fn dwnd_grows_by_three_quarters_power_of_the_window() {
    for (segments, more) in [
        (0, 0),
        (38, 0),
        (39, 0),
        (40, 1),
        (50, 1),
        (64, 1),
        (81, 2),
        (100, 2),
        (150, 4),
        (200, 5),
        (256, 7),
        (300, 8),
        (500, 12),
        (1_000, 21),
        (2_000, 36),
        (5_000, 73),
        (10_000, 124),
    ] {
        assert_eq!(increment(segments), more, "{segments}");
    }
}

#[test]
fn what_waits_in_the_network_is_the_window_without_the_base_rtts_part() {
    for (segments, base, rtt, halves) in [
        (100, 20_001, 25_001, 40),
        (100, 20_001, 30_001, 67),
        (200, 20_001, 25_001, 80),
        (60, 20_001, 20_501, 3),
        (1_000, 100_001, 103_001, 59),
        (1_000, 100_001, 100_001, 0),
    ] {
        assert_eq!(diff(segments, base, rtt), halves, "{segments} {base} {rtt}");
    }
}

#[test]
fn dwnd_shrinks_by_what_waits_beyond_gamma() {
    for (waiting, dwnd) in [(59, 50), (67, 17), (80, 10), (101, 0)] {
        let mut state = CompoundState::new(&RULES, 0, 60);
        state.dwnd = 50;
        state.adapt(&RULES, waiting, 60, 110);
        assert_eq!(state.dwnd, dwnd, "{waiting}");
        assert_eq!(state.dwnd_left, u32::from(waiting < 60));
    }
    let hard = CompoundRules { eta: 2, ..RULES };
    let mut state = CompoundState::new(&hard, 0, 60);
    state.dwnd = 70;
    state.adapt(&hard, 67, 60, 130);
    assert_eq!(state.dwnd, 3);
}

#[test]
fn gamma_moves_a_quarter_of_the_way_and_stays_in_its_range() {
    let window = Window::new(100);
    for (gamma, halves, moved) in [
        (30, 0, 22),
        (30, 20, 24),
        (30, 40, 26),
        (30, 60, 28),
        (30, 80, 30),
        (30, 1_000, 30),
        (10, 0, 7),
        (10, 20, 9),
        (10, 40, 11),
        (10, 60, 13),
        (6, 0, 5),
    ] {
        let mut state = CompoundState::new(&RULES, 0, 60);
        (state.gamma, state.diff_reno) = (gamma, Some(halves));
        assert_eq!(state.threshold(&RULES, &window), 50);
        assert_eq!(
            (state.gamma, state.diff_reno),
            (moved, None),
            "{gamma} {halves}"
        );
        state.threshold(&RULES, &window);
        assert_eq!(state.gamma, moved, "a sample counts once");
    }
}

#[test]
fn a_reduction_shrinks_both_parts_alike() {
    for (cwnd, dwnd, reduced, parts) in [(60, 40, 50, (30, 20)), (50, 33, 41, (25, 16))] {
        let mut state = CompoundState::new(&RULES, 0, cwnd);
        state.dwnd = dwnd;
        let mut window = Window::new(reduced);
        window.ssthresh = reduced;
        state.grow(&RULES, &mut window, (0, 100), 1, 1);
        assert_eq!(
            (state.cwnd, state.dwnd, window.cwnd),
            (parts.0, parts.1, reduced)
        );
    }
}

/// A round of 200 segments with an RTT of 20 ms.
fn round(state: &mut CompoundState, window: &mut Window, rtts: u32) {
    let una = state.beg_snd_nxt;
    for _ in 0..rtts {
        state.on_rtt(20_000);
    }
    let nxt = una + 200;
    state.grow(&RULES, window, (una + 1, nxt), 1, 0);
}

#[test]
fn growth_is_paced_over_the_round_and_its_rest_is_added_once() {
    let mut state = CompoundState::new(&RULES, 0, 200);
    let mut window = Window::new(200);
    window.ssthresh = 200;
    round(&mut state, &mut window, 3);
    round(&mut state, &mut window, 3);
    // W = 200: 5 in the round, one each 200/10 + 1 ACKs.
    assert_eq!(
        (state.dwnd_left, state.incr_interval, state.dwnd),
        (5, Some(20), 0)
    );
    for n in 1..=42 {
        state.grow(&RULES, &mut window, (state.beg_snd_una, 0), 1, 0);
        assert_eq!(u64::from(state.dwnd), n / 21);
    }
    assert_eq!((window.cwnd, state.cwnd, state.dwnd_left), (202, 200, 3));
    // Two samples are too few to judge.
    round(&mut state, &mut window, 2);
    assert_eq!((window.cwnd, state.dwnd, state.dwnd_left), (205, 5, 0));
    round(&mut state, &mut window, 2);
    assert_eq!((window.cwnd, state.dwnd), (205, 5));
    let at_once = CompoundRules {
        paced: false,
        ..RULES
    };
    state.adapt(&at_once, 0, 200, 205);
    assert_eq!((state.dwnd, state.dwnd_left), (10, 0));
}

#[test]
fn below_the_low_window_reno_is_alone() {
    for (cwnd, dwnd) in [(37, 0), (38, 5)] {
        let mut state = CompoundState::new(&RULES, 0, cwnd - 5);
        state.dwnd = 5;
        let mut window = Window::new(cwnd);
        window.ssthresh = 2;
        round(&mut state, &mut window, 0);
        assert_eq!((state.dwnd, window.cwnd), (dwnd, cwnd - 5 + dwnd));
    }
}

#[test]
fn a_pause_forgets_all_but_the_lowest_rtt() {
    let mut state = CompoundState::new(&RULES, 0, 60);
    state.on_rtt(20_000);
    state.on_rtt(30_000);
    (state.dwnd, state.gamma, state.dwnd_left) = (40, 7, 3);
    state.restart(&RULES, 500, 50);
    assert_eq!((state.base_rtt, state.min_rtt), (Some(20_001), None));
    assert_eq!((state.dwnd, state.cwnd, state.gamma), (0, 50, 30));
    assert_eq!(
        (state.beg_snd_nxt, state.dwnd_left, state.cnt_rtt),
        (500, 0, 0)
    );
    state.on_rtt(40_000);
    state.set_state(CaState::Recovery, 900);
    assert_eq!(state.beg_snd_nxt, 500);
    state.set_state(CaState::Open, 1_000);
    assert_eq!((state.beg_snd_nxt, state.min_rtt), (1_000, None));
}

/// Mean window over rounds with one loss each N segments, no queue and an ACK for each segment: figures of a model of its own
/// that was computed from the definition; ± 5 %.
#[test]
fn the_mean_window_follows_the_response_function() {
    for (every, mean) in [(3_000, 136.0), (10_000, 378.0), (100_000, 2_476.0)] {
        let ours = mean_window(every, 40);
        println!("N {every}: {ours:.1} expected {mean}");
        assert!(
            (ours / mean - 1.0).abs() < 0.05,
            "N {every}: {ours} not {mean}"
        );
    }
}

/// At N = 1 000 the window cycles around the low window, and there are two cycles: with the delay-based part from a window of 40 on, and
/// nearly without it, which is Reno's (38.6) and up to a tenth more, as losses meet rounds. Another model of the definition has the same
/// two, at 55.1 and 39.9. The 47.6 of the first model is the mean of both.
#[test]
fn near_the_low_window_there_are_two_cycles() {
    let (with, without) = (mean_window(1_000, 40), mean_window(1_000, 30));
    println!("{with:.1} {without:.1}");
    assert!((with / 55.1 - 1.0).abs() < 0.05, "{with}");
    assert!((38.6..1.12 * 38.6).contains(&without), "{without}");
    let mean = (with + without) / 2.0;
    assert!((mean / 47.6 - 1.0).abs() < 0.05, "{mean}");
}

fn mean_window(every: u64, initial: u32) -> f64 {
    let mut state = CompoundState::new(&RULES, 0, initial);
    let mut window = Window::new(initial);
    window.ssthresh = 20;
    let (mut una, mut nxt, mut end) = (0_u64, u64::from(initial), u64::from(initial));
    let (mut sum, mut rounds) = (0_u64, 0_u64);
    let total = 60 * every.max(5_000);
    while una < total {
        una += 1;
        state.on_rtt(50_000);
        if una >= end {
            end = nxt.max(una + u64::from(window.cwnd));
            if una > total / 3 {
                sum += u64::from(window.cwnd);
                rounds += 1;
            }
        }
        if una % every == 0 {
            let half = state.threshold(&RULES, &window);
            (window.cwnd, window.ssthresh, window.cwnd_cnt) = (half, half, 0);
            state.set_state(CaState::Recovery, nxt);
            state.set_state(CaState::Open, nxt);
        }
        state.grow(&RULES, &mut window, (una, nxt), 1, 1);
        nxt = nxt.max(una + u64::from(window.cwnd));
    }
    sum as f64 / rounds as f64
}
