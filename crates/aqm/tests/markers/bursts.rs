//! What a marker makes of a flow that does not send evenly.

use super::*;

/// Codes of packets of 1 500 bytes, sent at `mbps` from `from` to `to`, in milliseconds.
fn send(marker: &mut Marker, flow: u64, mbps: u64, from: u64, to: u64) -> Vec<u16> {
    let interval = 12_000_000 / mbps;
    let count = (to - from) * 1_000_000 / interval;
    let at = |n| Time::from_millis(from) + Time::from_nanos(n * interval);
    (0..count)
        .map(|n| mark(marker, flow, 1_500, at(n)))
        .collect()
}

fn median(mut codes: Vec<u16>) -> i32 {
    codes.sort_unstable();
    codes[codes.len() / 2].into()
}

#[test]
fn a_burst_after_silence_is_worth_more_on_several_timescales() {
    let gold = function("gold");
    // How much more, in codes, a flow that begins is worth than one that sends as fast for long: after 0.4 s, and after a minute.
    let advantage = |kind| {
        let mut marker = marker(kind, &[], &gold);
        let steady = median(send(&mut marker, 1, 10, 0, 60_000));
        let early = send(&mut marker, 2, 10, 60_000, 60_800);
        let late = median(send(&mut marker, 2, 10, 60_800, 120_000));
        (median(early[333..].to_vec()) - steady, late - steady)
    };
    // At 0.6 s the rates on 0.1, 1 and 10 s are 1, 0.45 and 0.06 of the flow's. The median, half of the rate, lies 0.39 of it above the
    // longest; the next function goes on there at a quarter of the slope, the shortest at a sixteenth: (0.06 + 0.39/4) R, 1.7 octaves.
    let (early, late) = advantage("multi_timescale");
    assert!((90..130).contains(&early), "{early}");
    assert!(late.abs() <= 3, "{late}");
    // One timescale of 0.1 s has forgotten the silence: e^(−4) is one code.
    let (early, late) = advantage("random");
    assert!(early.abs() <= 8 && late.abs() <= 3, "{early}, {late}");
}

#[test]
fn shorter_timescales_have_functions_of_their_own() {
    // Gold in the long run; whatever is faster than that is background traffic.
    let functions = [function("background"), function("gold")];
    let given = [("timescales", "2"), ("longest", "1s")];
    let settings = settings("multi_timescale", &given);
    let random = Random::new(1, "marker");
    let mut marker = Marker::new("multi_timescale", &settings, &functions, random).unwrap();
    let steady = median(send(&mut marker, 1, 10, 0, 10_000));
    // Half of 10 Mbit/s of gold.
    let gold = i32::from(functions[1].code_at(Rate::from_mbps(5)));
    assert!((steady - gold).abs() <= 5, "{steady} for {gold}");
    // The rate doubles: what exceeds 10 Mbit/s continues in the other function, from the value where gold stopped.
    let doubled = send(&mut marker, 1, 20, 10_000, 10_300);
    let end = i32::from(functions[1].code_at(Rate::from_mbps(10)));
    let beyond = doubled
        .iter()
        .filter(|&&code| i32::from(code) < end - 2 * 64);
    // Background falls an octave in 0.5 Mbit/s here; gold never gets two octaves below its end.
    assert!(beyond.count() > doubled.len() / 10);
}

#[test]
fn a_timescale_on_which_the_rate_did_not_rise_is_passed_over() {
    let gold = function("gold");
    let mut marker = marker("multi_timescale", &[], &gold);
    send(&mut marker, 1, 10, 0, 60_000);
    // After two seconds of silence 15 ms at 100 Mbit/s: the rates on 0.1, 1 and 10 s are 14, 3 and 8.3 Mbit/s.
    let burst = send(&mut marker, 1, 100, 62_000, 62_015);
    let end = &burst[burst.len() * 2 / 3..];
    // Four in ten draws are above 8.3 Mbit/s. They go on from the value there, at a sixteenth of the slope; by way of the second timescale they
    // would begin again at that of 7.2 Mbit/s.
    let beyond = gold.code_at(Rate::from_bps(7_900_000));
    let low = end.iter().filter(|&&code| code <= beyond).count();
    assert!(low * 4 > end.len(), "{low} of {}", end.len());
    let lowest = gold.code_at(Rate::from_bps(9_200_000));
    assert!(end.iter().all(|&code| code > lowest));
}

#[test]
fn what_overruns_the_measured_rate_is_worth_less_at_once() {
    let gold = function("gold");
    let usual = gold.code_at(Rate::from_mbps(20));
    // A flow of 20 Mbit/s sends ten times as fast for 28 ms; how much of that passes as what it always was?
    let passed = |kind, given| {
        let mut marker = marker(kind, given, &gold);
        send(&mut marker, 1, 20, 0, 5_000);
        let burst = send(&mut marker, 1, 200, 5_000, 5_028);
        burst.iter().filter(|&&code| code > usual).count() as f64 / burst.len() as f64
    };
    // The average of 100 ms follows as R₀(1 + 9(1 − e^(−t/τ))): R₀/R is 0.53 in the mean of 28 ms.
    let random = passed("random", &[]);
    assert!((random - 0.53).abs() < 0.07, "{random}");
    // 60 kB of 700 kB are in the bucket. Of the rest every other packet overruns: half of that.
    let fast = passed("fast_adapting", &[]);
    assert!(fast < 0.7 * random, "{fast}");
    // With less to overrun by and no more than that to add, nearly all that is too much is seen.
    let faster = passed("fast_adapting", &[("bucket", "6kB"), ("step", "1B")]);
    assert!(faster < 0.5 * random, "{faster}");
}

#[test]
fn a_silent_flow_saves_nothing_up() {
    let gold = function("gold");
    // Bursts of 100 packets at once, each 200 ms: 6 Mbit/s. A bucket that stayed full through the silence would let the first forty pass as the most
    // valuable there are.
    let mut marker = marker("fast_adapting", &[], &gold);
    let most = gold.code_at(Rate::from_bps(120_000));
    for burst in 0..20 {
        let now = Time::from_millis(200 * burst);
        let codes = (0..100).map(|_| mark(&mut marker, 1, 1_500, now));
        let dear = codes.filter(|&code| code > most).count();
        // Draws below 120 kbit/s: of the first packet half, of the n-th one in n.
        assert!(dear <= 15, "burst {burst}: {dear}");
    }
}
