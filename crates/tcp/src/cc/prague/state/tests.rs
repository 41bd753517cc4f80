//! The integers of Prague against tables that were computed from its definition.

use super::*;

const RULES: PragueRules = PragueRules {
    rtt_target_us: 25_000,
    rtt_transition: 4,
    alpha_one: false,
    first_ce_halves: false,
    burst_shift: 12,
    rate_mode: true,
};

fn path(rtt_us: u32) -> PraguePath {
    PraguePath {
        now_us: 1_000_000,
        srtt8: rtt_us * 8,
        mtu: 1_500,
        ..PraguePath::default()
    }
}

/// Long after slow start, with this window in segments.
fn settled(segments: f64, rtt_us: u32) -> (PragueState, PraguePath, Window) {
    let path = path(rtt_us);
    let mut window = Window::new(segments.ceil() as u32);
    window.ssthresh = window.cwnd;
    let mut state = PragueState::new(&RULES, &path, &window);
    state.frac_cwnd = (segments * ONE as f64) as u64;
    (state.round, state.saw_ce) = (100, true);
    state.update_increase(&RULES, &path);
    (state, path, window)
}

#[test]
fn growth_is_scaled_by_the_square_of_the_rtt_up_to_the_target() {
    for (rtt_us, increase) in [
        (500, 419),
        (1_000, 1_678),
        (2_000, 6_711),
        (5_000, 41_943),
        (10_000, 167_772),
        (15_000, 377_487),
        (20_000, 671_089),
        (24_900, 1_040_204),
        (25_000, 1_048_576),
        (100_000, 1_048_576),
        (101_000, 1_048_576),
    ] {
        let (mut state, path, _) = settled(10.0, rtt_us);
        assert_eq!(state.ai_ack_increase, increase, "{rtt_us}");
        state.round = 3;
        state.update_increase(&RULES, &path);
        assert_eq!(state.ai_ack_increase, ONE, "not so soon after slow start");
    }
}

#[test]
fn alpha_averages_the_marked_fraction_of_each_round() {
    let (mut state, mut path, window) = settled(10.0, 25_000);
    for (marked, delivered, upscaled, alpha) in [
        (20, 20, 16_777_216, 1_048_576),
        (0, 20, 15_728_640, 983_040),
        (5, 20, 18_939_904, 1_183_744),
        (1, 30, 18_315_400, 1_144_712),
    ] {
        path.delivered += delivered;
        path.delivered_ce += marked;
        state.update_alpha(&RULES, &path, &window);
        assert_eq!(state.upscaled_alpha, upscaled);
        assert_eq!(state.upscaled_alpha >> SHIFT_G, alpha);
    }
    state.upscaled_alpha = MAX_UPSCALED;
    for round in 1..=268 {
        assert!(state.upscaled_alpha >> SHIFT_G > 0, "{round}");
        path.delivered += 10;
        state.update_alpha(&RULES, &path, &window);
    }
    assert_eq!(state.upscaled_alpha, 15);
    state.update_alpha(&RULES, &path, &window);
    assert_eq!(state.upscaled_alpha, 15, "for ever");
}

#[test]
fn nothing_is_averaged_before_the_first_mark() {
    let (mut state, mut path, window) = settled(10.0, 25_000);
    (state.saw_ce, state.upscaled_alpha) = (false, 1_600);
    path.now_us += 1_000_000;
    path.delivered += 10;
    state.update_alpha(&RULES, &path, &window);
    assert_eq!(
        (state.upscaled_alpha, state.alpha_stamp),
        (1_600, 1_000_000)
    );
    assert_eq!(state.round, 101);
}

#[test]
fn marks_reduce_by_half_of_alpha() {
    let one = 1 << ALPHA_BITS;
    for (segments, alpha, frac) in [
        (10.0, one, 5_242_880),
        (10.0, one / 2, 7_864_320),
        (10.0, 1_677_721, 9_961_472),
        (33.5, one / 16, 34_029_568),
        (2.0, one, 1_048_576),
    ] {
        let (mut state, path, window) = settled(segments, 25_000);
        state.upscaled_alpha = alpha << SHIFT_G;
        state.on_marks(&RULES, &path, &window);
        assert_eq!(state.frac_cwnd, frac, "{segments} {alpha}");
        // Not again within the target.
        state.on_marks(&RULES, &path, &window);
        assert_eq!(state.frac_cwnd, frac);
    }
    let (mut state, _, _) = settled(33.5, 25_000);
    state.frac_cwnd = 34_029_568;
    assert_eq!(state.whole_cwnd(), 33);
    state.frac_cwnd = ONE;
    assert_eq!(state.whole_cwnd(), 2);
}

#[test]
fn each_unmarked_segment_adds_its_part_of_the_increase() {
    for (segments, acked, rtt_us, gain) in [
        (10.0, 1, 5_000, 4_194),
        (10.0, 2, 25_000, 209_715),
        (100.0, 2, 10_000, 3_355),
        (2.0, 1, 1_000, 839),
        (20.0, 1, 40_000, 52_429),
    ] {
        let (mut state, path, window) = settled(segments, rtt_us);
        let before = state.frac_cwnd;
        state.grow(&RULES, &path, &window, acked);
        assert_eq!(
            state.frac_cwnd - before,
            gain,
            "{segments} {acked} {rtt_us}"
        );
    }
}

#[test]
fn the_pace_is_the_flight_of_whole_packets_per_rtt() {
    for (rtt_us, flight, rate) in [
        (10_000, 20, 3_000_000),
        (5_000, 10, 3_000_000),
        (25_000, 100, 6_000_000),
        (40_000, 300, 11_250_000),
        (1_000, 2, 3_000_000),
    ] {
        let (mut state, mut path, window) = settled(2.0, rtt_us);
        path.in_flight = flight;
        state.update_pacing(&RULES, &path, &window);
        assert_eq!((state.pacing_rate, state.max_tso_burst), (rate, 1));
        let mut slow = window;
        slow.ssthresh = Window::INFINITE_SSTHRESH;
        state.update_pacing(&RULES, &path, &slow);
        assert_eq!(state.pacing_rate, 2 * rate, "in slow start");
        assert_eq!(state.rate_bytes, rate);
    }
    let (mut state, mut path, window) = settled(1_000.0, 25_000);
    path.in_flight = 1_000;
    state.update_pacing(&RULES, &path, &window);
    // 40 000 packets per second: 9.8 in 2⁻¹² s.
    assert_eq!(state.max_tso_burst, 9);
}

#[test]
fn a_rate_becomes_a_window_that_is_4_6_percent_smaller() {
    for (rtt_us, segments, rate, frac) in [
        (10_000, 3.0, 450_000, 3_000_000),
        (5_000, 2.0, 600_000, 2_000_000),
        (25_000, 4.0, 240_000, 4_000_000),
    ] {
        let (mut state, path, _) = settled(segments, rtt_us);
        state.rate_bytes = state.frac_to_rate(&path);
        assert_eq!(state.rate_bytes, rate);
        assert_eq!(state.rate_to_frac(&path), frac);
    }
    let (mut state, path, _) = settled(1.0, 25_000);
    state.frac_cwnd = 1;
    assert_eq!(state.frac_to_rate(&path), MIN_RATE);
}

#[test]
fn the_rate_leads_where_the_window_is_four_packets_or_less() {
    for (rate, gain) in [(120_000, 31_457), (60_000, 62_914)] {
        let (mut state, path, window) = settled(2.0, 25_000);
        (state.by_rate, state.rate_bytes) = (true, rate);
        state.grow(&RULES, &path, &window, 1);
        assert_eq!(state.rate_bytes - rate, gain);
    }
    let (mut state, mut path, window) = settled(2.0, 25_000);
    (state.by_rate, state.rate_bytes) = (true, 120_000);
    state.alpha_stamp = path.now_us;
    state.update_pacing(&RULES, &path, &window);
    assert_eq!(state.pacing_rate, 123_750, "3 % above in the first half");
    path.now_us += 12_500;
    state.update_pacing(&RULES, &path, &window);
    assert_eq!(state.pacing_rate, 116_250, "and below in the second");

    for (cwnd, by_rate) in [(4, true), (5, false)] {
        let (mut state, path, mut window) = settled(f64::from(cwnd), 25_000);
        state.on_ack(&RULES, &path, &mut window, 1, 1, true);
        assert_eq!(state.by_rate, by_rate, "{cwnd}");
        let rules = PragueRules {
            rate_mode: false,
            ..RULES
        };
        let (mut state, path, mut window) = settled(f64::from(cwnd), 25_000);
        state.on_ack(&rules, &path, &mut window, 1, 1, true);
        assert!(!state.by_rate);
    }
}

/// The trap: an ACK of a marked and an unmarked segment in slow start loses the halving for ever.
#[test]
fn slow_start_overwrites_the_halving_by_the_first_mark() {
    let path = path(10_000);
    let fresh = |rules: &PragueRules| {
        let window = Window::new(20);
        (PragueState::new(rules, &path, &window), window)
    };
    let (mut state, mut window) = fresh(&RULES);
    state.on_ack(&RULES, &path, &mut window, 1, 1, true);
    assert_eq!(
        (state.frac_cwnd, window.cwnd, window.ssthresh),
        (10_485_760, 19, 19)
    );
    for cwnd in [18, 17, 16, 15, 14, 13, 12, 11, 10, 10, 10] {
        state.on_ack(&RULES, &path, &mut window, 0, 0, true);
        assert_eq!(window.cwnd, cwnd);
    }

    let (mut state, mut window) = fresh(&RULES);
    state.on_ack(&RULES, &path, &mut window, 2, 1, true);
    assert_eq!((state.frac_cwnd, window.cwnd), (22_020_096, 21));
    assert_eq!(window.ssthresh, Window::INFINITE_SSTHRESH);
    state.on_ack(&RULES, &path, &mut window, 1, 1, true);
    assert_eq!(state.frac_cwnd, 22_020_096, "it never comes again");

    let repaired = PragueRules {
        first_ce_halves: true,
        ..RULES
    };
    let (mut state, mut window) = fresh(&repaired);
    state.on_ack(&repaired, &path, &mut window, 2, 1, true);
    assert_eq!(
        (state.frac_cwnd, window.cwnd, window.ssthresh),
        (10_485_760, 19, 19)
    );

    let certain = PragueRules {
        alpha_one: true,
        ..RULES
    };
    let (mut state, mut window) = fresh(&certain);
    assert_eq!(state.upscaled_alpha, MAX_UPSCALED);
    state.on_ack(&certain, &path, &mut window, 1, 1, true);
    assert_eq!(state.frac_cwnd, 20 * ONE, "left to the reduction");
}

#[test]
fn a_loss_halves_and_an_undo_restores() {
    let (mut state, path, mut window) = settled(20.0, 25_000);
    state.rate_bytes = state.frac_to_rate(&path);
    let rate = state.rate_bytes;
    state.set_state(&RULES, &path, &window, CaState::Recovery);
    assert_eq!((state.frac_cwnd, state.in_loss), (10 * ONE, true));
    state.on_ack(&RULES, &path, &mut window, 1, 0, true);
    assert_eq!(
        (window.cwnd, state.frac_cwnd),
        (19, 10 * ONE),
        "no growth, one step"
    );
    assert_eq!(state.undo(&path, &window), 20);
    assert_eq!((state.rate_bytes, state.in_loss), (rate, false));
    // The way through the rate costs 4.6 %.
    assert_eq!(state.frac_cwnd, 20_000_000);
    state.in_loss = true;
    state.set_state(&RULES, &path, &window, CaState::Open);
    assert!(!state.in_loss);
}

#[test]
fn alpha_is_updated_once_per_round_and_target() {
    let (mut state, mut path, mut window) = settled(20.0, 10_000);
    state.next_seq = 1_000;
    state.alpha_stamp = path.now_us;
    for (una, after_us, updated) in [
        (999, 30_000, false),
        (1_000, 24_999, false),
        (1_000, 25_000, true),
    ] {
        let mut state = state;
        (path.snd_una, path.now_us) = (una, 1_000_000 + after_us);
        state.on_ack(&RULES, &path, &mut window, 1, 0, true);
        assert_eq!(
            state.alpha_stamp == path.now_us,
            updated,
            "{una} {after_us}"
        );
    }
}
