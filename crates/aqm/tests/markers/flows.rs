//! What is remembered of flows: bounded, whatever comes.

use super::*;

#[test]
fn a_flood_of_new_flows_costs_no_memory_and_no_place_of_those_that_send() {
    let gold = function("gold");
    for (kind, tolerance) in [
        ("random", 0.0),
        ("token_bucket", 0.21),
        ("fast_adapting", 0.006),
        ("table", 0.011),
        ("multi_timescale", 0.0),
    ] {
        // Timescales that a short test settles on.
        let given: Given<'_> = match kind {
            "multi_timescale" => &[("flows", "1024"), ("idle", "1s"), ("longest", "1s")],
            _ => &[("flows", "1024")],
        };
        let mut marker = marker(kind, given, &gold);
        // One flow of 100 Mbit/s for six seconds, and then with a million new flows in twelve, of one packet each: 1 Gbit/s.
        let mut codes = Vec::with_capacity(200_000);
        let mut dear = 0_u64;
        let threshold = gold.code_at(Rate::from_mbps(50));
        let mut step = |marker: &mut Marker, n: u64, codes: &mut Vec<u16>| {
            let now = Time::from_nanos(n * 12_000);
            if n.is_multiple_of(10) {
                codes.push(mark(marker, 7, 1_500, now));
            }
            if n >= 500_000 {
                dear += u64::from(mark(marker, n << 17, 1_500, now) > threshold);
            }
        };
        for n in 0..500_000 {
            step(&mut marker, n, &mut codes);
        }
        codes.clear();
        let allocated = allocation_counter::measure(|| {
            for n in 500_000..1_500_000 {
                step(&mut marker, n, &mut codes);
            }
        });
        assert_eq!(allocated.count_total, 0, "{kind} allocates");
        let memory = marker.memory();
        assert_eq!((memory.places, memory.taken), (1_024, 1_024), "{kind}");
        // The flow that was there is marked as if nothing had happened.
        let kept = codes.iter().filter(|&&code| code > threshold).count() as f64;
        let exact = gold.rate_above(threshold).as_bps() as f64 / 100e6 * codes.len() as f64;
        let allowed = 3.0 * (codes.len() as f64 * 0.25).sqrt() + tolerance * exact;
        assert!((kept - exact).abs() < allowed, "{kind}: {kept} for {exact}");
        // The flood is measured as one flow: 50 Mbit/s of it survive, and one packet of each flow that got a place, a thousand a second. While that
        // one flow begins it is worth more: three packets in a hundred of 0.3 s.
        let seconds = 12.0;
        let own = (memory.taken as f64 * seconds).min(1e6 - memory.crowded as f64);
        let most = 50e6 / 12_000.0 * seconds * 1.01 + own + 8_000.0;
        assert!((dear as f64) < most, "{kind}: {dear} for {most}");
        assert!(dear > 10_000, "{kind}: {dear}");
        // A second after the flood a new flow finds a place again.
        let now = Time::from_nanos(1_500_000 * 12_000) + Time::from_secs(2);
        let before = marker.memory().crowded;
        for flow in 0..100 {
            mark(&mut marker, flow, 1_500, now);
        }
        assert_eq!(marker.memory().crowded, before, "{kind}");
    }
}

#[test]
fn no_flow_loses_its_place_while_there_are_free_ones() {
    let gold = function("gold");
    let mut marker = marker("random", &[("flows", "65536")], &gold);
    let day = Time::from_secs(86_400);
    for flow in 0..1_000 {
        mark(&mut marker, flow, 1_500, Time::ZERO);
    }
    for flow in 0..1_000 {
        mark(&mut marker, flow + 1_000, 1_500, day);
    }
    assert_eq!(marker.memory().taken, 2_000);
    for flow in 0..2_000 {
        mark(&mut marker, flow, 1_500, day);
    }
    let memory = marker.memory();
    assert_eq!((memory.taken, memory.crowded), (2_000, 0));
}

#[test]
fn flows_are_told_apart_or_taken_together() {
    let gold = function("gold");
    // Two flows of 30 and 60 Mbit/s.
    let kept = |per| {
        let mut marker = marker("random", &[("per", per)], &gold);
        let threshold = gold.code_at(Rate::from_mbps(45));
        let mut kept = [0_u32; 2];
        for n in 0..120_000_u64 {
            let now = Time::from_nanos(n * 133_333);
            let flow = u64::from(n % 3 > 0);
            if mark(&mut marker, flow, 1_500, now) > threshold && n >= 20_000 {
                kept[flow as usize] += 1;
            }
        }
        // In Mbit/s.
        kept.map(|kept| f64::from(kept) * 0.012 / (100_000.0 * 133_333e-9))
    };
    // Each its own rate up to the threshold, or half of everything; three standard deviations of 100 000 draws are 0.4.
    for (per, exact) in [("flow", [30.0, 45.0]), ("aggregate", [15.0, 30.0])] {
        let kept = kept(per);
        for (kept, exact) in kept.iter().zip(exact) {
            assert!((kept - exact).abs() < 0.6, "{per}: {kept} for {exact}");
        }
    }
}
