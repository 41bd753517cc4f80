//! The integers of H-TCP against tables that were computed from its definition, and its mean window against models of it.

use super::*;

const RULES: HtcpRules = HtcpRules {
    hz: 250,
    rtt_scaling: true,
    bandwidth_switch: true,
};
const UNSCALED: HtcpRules = HtcpRules {
    rtt_scaling: false,
    ..RULES
};
/// A jiffy at which tests begin.
const START: u32 = 1_000;

fn with_rtts(min: u32, max: u32) -> HtcpState {
    HtcpState {
        min_rtt: min,
        max_rtt: max,
        ..HtcpState::new(START)
    }
}

/// alpha in 1/128 after D jiffies of 250 Hz at beta = 1/2, RTT by RTT; computed from the definition with the draft's formula in
/// integers.
#[test]
fn alpha_grows_with_the_time_since_the_last_reduction() {
    let ages = [0, 250, 251, 275, 300, 375, 500, 750, 1_250, 2_750];
    let quarter = [128, 128, 128, 256, 384, 768, 1_408, 2_816, 5_760, 16_128];
    for (rules, rtt, alphas) in [
        (
            RULES,
            2,
            [128, 128, 128, 128, 128, 128, 128, 256, 512, 1_536],
        ),
        (
            RULES,
            3,
            [128, 128, 128, 128, 128, 128, 128, 256, 640, 1_920],
        ),
        (
            RULES,
            5,
            [128, 128, 128, 128, 128, 128, 256, 512, 1_152, 3_200],
        ),
        (
            RULES,
            10,
            [128, 128, 128, 128, 128, 256, 512, 1_024, 2_304, 6_400],
        ),
        (
            RULES,
            20,
            [128, 128, 128, 128, 256, 512, 1_024, 2_176, 4_608, 12_800],
        ),
        (RULES, 25, quarter),
        (UNSCALED, 5, quarter),
        (UNSCALED, 50, quarter),
        (
            RULES,
            50,
            [256, 256, 256, 512, 768, 1_536, 2_816, 5_632, 11_520, 32_256],
        ),
    ] {
        for (age, alpha) in ages.into_iter().zip(alphas) {
            let mut state = with_rtts(rtt, rtt);
            state.update_alpha(&rules, START + age);
            assert_eq!(state.alpha, alpha, "{rules:?} RTT {rtt} age {age}");
        }
    }
}

/// draft-leith-tcp-htcp-06: 1 + 10 (D - 1) + ((D - 1)/2)² with D in seconds. The integers are below it by what they round off.
#[test]
fn alpha_is_that_of_the_draft_rounded_down() {
    for (age, alpha) in [
        (375, 6.0625),
        (500, 11.25),
        (750, 22.0),
        (1_250, 45.0),
        (2_500, 111.25),
    ] {
        let mut state = with_rtts(25, 25);
        state.update_alpha(&UNSCALED, START + age);
        let ours = f64::from(state.alpha) / 128.0;
        assert!(ours <= alpha && alpha < ours + 1.0, "{age}: {ours}");
    }
}

#[test]
fn beta_is_the_ratio_of_the_rtts_between_a_half_and_four_fifths() {
    for (min, max, beta) in [
        (5, 10, 64),
        (5, 6, 102),
        (5, 8, 80),
        (3, 5, 64),
        (5, 15, 64),
    ] {
        let mut state = with_rtts(min, max);
        state.modeswitch = true;
        state.update_beta(&RULES);
        assert_eq!(state.beta, beta, "{min} {max}");
        assert!(state.modeswitch);
    }
}

#[test]
fn a_change_of_throughput_by_more_than_a_fifth_halves_and_switches_off() {
    for (before, now, is_kept) in [
        (833, 1_000, false),
        (834, 1_000, true),
        (1_000, 1_000, true),
        (1_250, 1_000, true),
        (1_251, 1_000, false),
        (0, 1_000, false),
    ] {
        let mut state = with_rtts(5, 8);
        (state.modeswitch, state.old_max_b, state.max_b) = (true, before, now);
        state.update_beta(&RULES);
        let expected = if is_kept { 80 } else { 64 };
        assert_eq!(
            (state.beta, state.modeswitch),
            (expected, is_kept),
            "{before} {now}"
        );
        assert_eq!(state.old_max_b, now);
    }
}

/// The first reduction ever halves and switches adaptive backoff on; so does the next after it was switched off.
#[test]
fn adaptive_backoff_begins_with_the_second_reduction() {
    let mut state = with_rtts(5, 8);
    assert_eq!(state.threshold(&RULES, START, 100), 50);
    state.max_rtt = 8;
    assert_eq!(state.threshold(&RULES, START, 100), 62);
    state.max_rtt = 6;
    assert_eq!(state.threshold(&RULES, START, 100), 79);
    state.max_b = 1_000;
    assert_eq!(state.threshold(&RULES, START, 100), 50);
    assert_eq!(state.threshold(&RULES, START, 100), 50);
    // Without the switch, a change of throughput changes nothing.
    let rules = HtcpRules {
        bandwidth_switch: false,
        ..RULES
    };
    (state.max_b, state.max_rtt) = (1, 6);
    assert_eq!(state.threshold(&rules, START, 100), 79);
    assert_eq!(state.threshold(&rules, START, 2), 2);
}

#[test]
fn memory_of_the_highest_rtt_fades_by_a_twentieth_per_reduction() {
    for (min, max, faded) in [(5, 12, 11), (20, 60, 58), (5, 5, 5)] {
        let mut state = with_rtts(min, max);
        state.threshold(&RULES, START, 100);
        assert_eq!(state.max_rtt, faded, "{min} {max}");
    }
}

#[test]
fn rtts_are_rounded_up_to_jiffies_and_a_jump_of_more_than_20_ms_is_no_maximum() {
    let mut state = HtcpState::new(START);
    let sample = |state: &mut HtcpState, recovery, micros| {
        state.on_acked(&RULES, recovery, 1, Some(micros), 10, START);
        (state.min_rtt, state.max_rtt)
    };
    assert_eq!(sample(&mut state, CaState::Open, 5_000), (2, 2));
    assert_eq!(sample(&mut state, CaState::Open, 20_001), (2, 6));
    assert_eq!(
        sample(&mut state, CaState::Open, 48_000),
        (2, 6),
        "6 jiffies higher"
    );
    assert_eq!(sample(&mut state, CaState::Open, 44_000), (2, 11));
    assert_eq!(sample(&mut state, CaState::Disorder, 48_000), (2, 11));
    assert_eq!(sample(&mut state, CaState::Recovery, 1), (1, 11));
}

/// One step costs cwnd · 128/alpha segments and one ACK more.
#[test]
fn a_step_costs_a_window_and_one_ack() {
    let mut state = HtcpState::new(START);
    let mut window = Window::new(10);
    window.ssthresh = 10;
    for _ in 0..10 {
        state.on_acked(&RULES, CaState::Open, 1, None, window.cwnd, START);
        state.grow(&RULES, 1, START, &mut window);
        assert_eq!(window.cwnd, 10);
    }
    state.on_acked(&RULES, CaState::Open, 1, None, window.cwnd, START);
    state.grow(&RULES, 1, START, &mut window);
    assert_eq!((window.cwnd, window.cwnd_cnt), (11, 0));
}

#[test]
fn throughput_is_measured_once_per_round_and_begins_anew_after_a_reduction() {
    let mut state = with_rtts(5, 5);
    // 9 of 10 segments and 5 jiffies, since jiffy 0: 9 · 250 / 1 000.
    state.on_acked(&RULES, CaState::Open, 9, None, 10, START);
    assert_eq!((state.bi, state.min_b, state.max_b), (2, 2, 2));
    let mut now = START;
    for (acked, bi, max) in [(10, 500, 500), (20, 1_000, 1_000), (4, 1_000, 1_000)] {
        now += 5;
        state.on_acked(&RULES, CaState::Open, acked, None, 10, now);
        assert_eq!((state.bi, state.max_b), (bi, max), "{acked}: within 3 RTTs");
    }
    assert_eq!(state.packetcount, 4);
    now += 25;
    // 14 segments in 30 jiffies are 116 per second: a quarter of that.
    state.on_acked(&RULES, CaState::Open, 10, None, 10, now);
    assert_eq!((state.bi, state.max_b, state.min_b), (779, 1_000, 1_000));
    state.on_acked(&RULES, CaState::Recovery, 10, None, 10, now);
    assert_eq!((state.packetcount, state.lasttime), (0, now));
}

#[test]
fn an_undo_restores_the_epoch() {
    let mut state = with_rtts(5, 12);
    state.old_max_b = 7;
    let mut window = Window::new(50);
    state.set_state(CaState::Recovery, START + 500);
    state.threshold(&RULES, START + 500, 100);
    window.prior_cwnd = 100;
    assert_eq!(state.last_cong, START + 500);
    assert_eq!(state.undo(&window), 100);
    assert_eq!((state.last_cong, state.old_max_b), (START, 7));
    // The threshold comes before the state in Linux, so the faded maximum is what is saved.
    let mut state = with_rtts(5, 12);
    state.threshold(&RULES, START, 100);
    state.set_state(CaState::Recovery, START);
    assert_eq!(state.undo_max_rtt, 11);
    // Recovery over: the epoch begins there, and nothing is left to undo.
    state.set_state(CaState::Open, START + 30);
    assert_eq!((state.last_cong, state.undo_last_cong), (START + 30, 0));
    state.undo(&window);
    assert_eq!(state.last_cong, START + 30);
}

/// Mean window over ACKs with one loss each N segments and a constant RTT, with an ACK for each segment, no queue and no reduction
/// but by the control. Figures of a model of its own that was computed from the definition; ± 5 %. The RTT is constant, so beta
/// becomes 0.8.
#[test]
fn the_mean_window_follows_the_response_function() {
    let unscaled = HtcpRules {
        rtt_scaling: false,
        ..RULES
    };
    for (rules, rtt_ms, every, mean) in [
        (RULES, 20, 1_000, 40.6),
        (RULES, 20, 10_000, 133.0),
        (RULES, 20, 100_000, 586.0),
        (RULES, 100, 1_000, 58.9),
        (RULES, 100, 10_000, 343.0),
        (RULES, 100, 100_000, 1_845.0),
        (unscaled, 20, 1_000, 40.6),
        (unscaled, 20, 10_000, 149.0),
        (unscaled, 20, 100_000, 871.0),
    ] {
        let ours = mean_window(&rules, rtt_ms, every);
        println!("RTT {rtt_ms} N {every}: {ours:.1} expected {mean}");
        assert!(
            (ours / mean - 1.0).abs() < 0.05,
            "RTT {rtt_ms} N {every}: {ours} not {mean}"
        );
    }
}

/// The window evolves ACK by ACK; the time is that of windows per RTT.
fn mean_window(rules: &HtcpRules, rtt_ms: u64, every: u64) -> f64 {
    let mut state = HtcpState::new(START);
    let mut window = Window::new(20);
    window.ssthresh = 20;
    let (mut nanos, mut sum, losses) = (0_u64, 0_u64, 60);
    let total = losses * every;
    for n in 1..=total {
        nanos += rtt_ms * 1_000_000 / u64::from(window.cwnd);
        let now = START + (nanos / 4_000_000) as u32;
        let rtt = (rtt_ms * 1_000) as u32;
        state.on_acked(rules, CaState::Open, 1, Some(rtt), window.cwnd, now);
        state.grow(rules, 1, now, &mut window);
        if n % every == 0 {
            window.cwnd = state.threshold(rules, now, window.cwnd);
            window.ssthresh = window.cwnd;
            window.cwnd_cnt = 0;
            state.set_state(CaState::Recovery, now);
            state.set_state(CaState::Open, now);
        }
        if n > total / 3 {
            sum += u64::from(window.cwnd);
        }
    }
    sum as f64 / (total - total / 3) as f64
}
