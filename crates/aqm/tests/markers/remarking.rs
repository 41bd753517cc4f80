//! The passage between networks: each network gets its own function, and what was worth more within it stays so.

use super::*;
use quell_aqm::marker::{PERIOD, Remarker};
use std::collections::BTreeMap;

const HIGHEST: u16 = 2_339;

fn remark(remarker: &mut Remarker, network: usize, value: u16, now: Time) -> u16 {
    let mut packet = Sent {
        len: 1_500,
        flow: 0,
        value,
    };
    remarker.remark(&mut packet, network, now);
    packet.value
}

fn remarker(functions: &[ValueFunction], width: u16) -> Remarker {
    Remarker::new(
        functions,
        HIGHEST,
        PERIOD,
        width,
        Random::new(2, "remarker"),
    )
}

/// What a network of three flows sends in five seconds after one, 240 Mbit/s together: time, flow and value.
fn traffic(seed: u64) -> Vec<(Time, u64, u16)> {
    let functions = [function("gold"), function("silver"), function("gold")];
    let marker = |(n, function)| {
        let random = Random::new(seed + n as u64 * 1_000, "marker");
        let settings = settings("random", &[]);
        Marker::new("random", &settings, std::slice::from_ref(function), random).unwrap()
    };
    let mut markers: Vec<Marker> = functions.iter().enumerate().map(marker).collect();
    let mut sent = Vec::new();
    // Rates of 80 Mbit/s each, 50 µs apart in turn.
    for n in 0..120_000_u64 {
        let (now, flow) = (Time::from_micros(50 * n), n % 3);
        let value = mark(&mut markers[flow as usize], flow, 1_500, now);
        if n >= 20_000 {
            sent.push((now, flow, value));
        }
    }
    sent
}

#[test]
fn the_sum_of_a_network_gets_its_function_and_shares_within_it_stay() {
    let functions = [
        ("gold", function("gold")),
        ("silver", function("silver")),
        ("piecewise", guaranteed()),
    ];
    let sent = traffic(1);
    for (name, function) in functions {
        for width in [1, 16] {
            let mut remarker = remarker(std::slice::from_ref(&function), width);
            let mut marked = Vec::new();
            for &(now, flow, value) in &sent {
                marked.push((flow, remark(&mut remarker, 0, value, now)));
            }
            // After the first period of 200 packets.
            let marked = &marked[200..];
            let seconds = marked.len() as f64 * 50e-6;
            for mbps in [15, 60, 120, 200] {
                let threshold = function.code_at(Rate::from_mbps(mbps));
                let mut kept = [0.0; 3];
                for &(flow, _) in marked.iter().filter(|(_, value)| *value > threshold) {
                    kept[flow as usize] += 12_000.0 / seconds;
                }
                let sum: f64 = kept.iter().sum();
                let exact = function.rate_above(threshold).as_bps() as f64;
                // Three standard deviations of the draws of a period and of those of the period before, against which it is measured; and up to a
                // packet per period too much.
                let share = exact / 240e6;
                let sigma = (2.0 * share * (1.0 - share) / marked.len() as f64).sqrt() * 240e6;
                let excess = sum - exact;
                assert!(
                    -3.0 * sigma < excess && excess < 3.0 * sigma + 1.2e6,
                    "{name} {width} {mbps}: {sum} for {exact}"
                );
                // Within it gold has twice what silver has, as long as neither comes near all that it sends.
                let ratio = (kept[0] + kept[2]) / 2.0 / kept[1];
                let constrained = mbps < 200;
                assert!(
                    !constrained || (ratio - 2.0).abs() < 0.1,
                    "{name} {width} {mbps}: {ratio}"
                );
            }
        }
    }
}

#[test]
fn what_was_worth_more_within_a_period_stays_worth_more() {
    for width in [1, 16, 468] {
        let mut remarker = remarker(&[function("rational")], width);
        // Least and most of the new values for each bin, by period.
        let mut seen: BTreeMap<(u64, u16), (u16, u16)> = BTreeMap::new();
        let mut start = None;
        for (now, _, value) in traffic(3) {
            let start = *start.get_or_insert(now);
            let period = (now - start).as_nanos() / PERIOD.as_nanos();
            let new = remark(&mut remarker, 0, value, now);
            let range = seen.entry((period, value / width)).or_insert((new, new));
            *range = (range.0.min(new), range.1.max(new));
        }
        let mut compared = 0;
        for (((period, bin), low), ((next_period, next_bin), high)) in
            seen.iter().zip(seen.iter().skip(1))
        {
            if period == next_period && *period > 0 {
                assert!(
                    low.1 <= high.0,
                    "width {width}, period {period}: bins {bin} and {next_bin}"
                );
                compared += 1;
            }
        }
        assert!(compared > 400, "{compared}");
    }
}

#[test]
fn networks_have_counters_of_their_own() {
    let functions = [function("gold"), function("gold")];
    let mut remarker = remarker(&functions, 1);
    let mut sums = [[0_u64; 2]; 2];
    // One packet of network 1 for nine of network 0, 100 Mbit/s together, all with the same values.
    for n in 0..60_000_u64 {
        let network = usize::from(n % 10 == 0);
        let new = remark(&mut remarker, network, 500, Time::from_micros(120 * n));
        if n >= 1_000 {
            sums[network][0] += 1;
            sums[network][1] += u64::from(new > functions[0].code_at(Rate::from_mbps(5)));
        }
    }
    let share = |network: usize| sums[network][1] as f64 / sums[network][0] as f64;
    // 5 of 90 and of 10 Mbit/s.
    assert!((share(0) - 0.056).abs() < 0.01, "{}", share(0));
    assert!((share(1) - 0.5).abs() < 0.03, "{}", share(1));
}

#[test]
fn a_network_may_have_a_period_of_its_own() {
    let functions = [function("gold"), function("gold")];
    let mut remarker = remarker(&functions, 1).with_period(1, PERIOD * 3);
    let mut at = |network, ms| remark(&mut remarker, network, 500, Time::from_millis(ms));
    // The highest value as long as nothing is known: until the first period has passed.
    let known = |new: u16| new < HIGHEST;
    for (ms, expected) in [(0, [false; 2]), (11, [true, false]), (20, [true, false])] {
        assert_eq!(
            [0, 1].map(|network| known(at(network, ms))),
            expected,
            "{ms}"
        );
    }
    assert!(known(at(1, 31)));
}

#[test]
fn what_is_not_known_yet_is_worth_the_most_and_unknown_networks_pass() {
    let gold = function("gold");
    let mut remarker = remarker(std::slice::from_ref(&gold), 1);
    let mut at = |micros, value| remark(&mut remarker, 0, value, Time::from_micros(micros));
    let code = |kbps: u64| gold.code_at(Rate::from_bps(kbps * 1_000));
    let between = |new: u16, low, high| assert!((code(high)..=code(low)).contains(&new), "{new}");
    // The first period, by packets with and without a value.
    assert_eq!((at(0, 100), at(1, 0), at(2, 2_000)), (2_339, 2_339, 2_339));
    // The second knows those three. What has no value is the last of them.
    between(at(10_000, 2_000), 0, 1_200);
    between(at(10_001, 100), 1_200, 2_400);
    between(at(10_002, 0), 2_400, 3_600);
    // Behind the first, and behind the second.
    assert_eq!(
        (at(10_003, 500), at(10_004, 50)),
        (code(1_200), code(2_400))
    );
    // Codes above all that is configured count as the highest.
    assert_eq!(at(10_005, u16::MAX), 2_339);
    // After a silent period nothing is known again, nor after a clock that went back.
    assert_eq!(at(40_000, 100), 2_339);
    assert_eq!(at(5_000, 100), 2_339);
    between(at(15_000, 100), 0, 1_200);
    assert_eq!(remark(&mut remarker, 1, 77, Time::ZERO), 77);
}

#[test]
fn nothing_overflows() {
    for (highest, period, width) in [
        (0, Time::ZERO, 0),
        (u16::MAX, Time::MAX, u16::MAX),
        (u16::MAX, Time::from_nanos(1), 1),
    ] {
        let random = Random::new(1, "remarker");
        let mut remarker = Remarker::new(&[function("gold")], highest, period, width, random);
        for (n, now) in [0, u64::MAX, 1, 0, 5_000, u64::MAX, u64::MAX, 7]
            .into_iter()
            .enumerate()
        {
            let mut packet = Sent {
                len: u64::MAX,
                flow: 0,
                value: (n * 9_999) as u16,
            };
            remarker.remark(&mut packet, 0, Time::from_nanos(now));
            assert_ne!(packet.value, 0);
        }
    }
}
