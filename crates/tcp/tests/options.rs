//! Every option changes something that can be seen, and what it should.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{Fate, Path, config, control, drop_data, ms, window};
use quell_tcp::{Codepoint, EcnMode, ReceiverConfig, SenderConfig};
use quell_units::Time;

/// A receiver with a window of so many full segments.
fn window_of(segments: u64, ecn: EcnMode) -> ReceiverConfig {
    window(segments * 1_448, ecn)
}

/// Departures of data and ACKs of a transfer.
fn departures(config: &SenderConfig, receiver: &ReceiverConfig, segments: u64) -> (Vec<Time>, u64) {
    let data = Rc::new(RefCell::new(Vec::new()));
    let acks = Rc::new(RefCell::new(0));
    let (seen, counted) = (Rc::clone(&data), Rc::clone(&acks));
    let mut path = Path::with_receiver(config, receiver, ms(100));
    path.forward = Box::new(move |segment, _, now| {
        if segment.payload > 0 {
            seen.borrow_mut().push(now);
        }
        Fate::Pass
    });
    path.backward = Box::new(move |_, _, _| {
        *counted.borrow_mut() += 1;
        Fate::Pass
    });
    path.transfer(segments * 1_448);
    path.finish(Time::from_secs(600));
    let times = data.borrow().clone();
    let count = *acks.borrow();
    (times, count)
}

#[test]
fn the_initial_window_leaves_at_once() {
    for initial_window in [1, 4, 10, 100] {
        let config = SenderConfig {
            initial_window,
            ..config("reno")
        };
        let (times, _) = departures(&config, &ReceiverConfig::new(config.ecn), 200);
        let first = times.iter().filter(|&&at| at == ms(100)).count();
        assert_eq!(first, initial_window as usize);
    }
}

/// Linux: twice the window per RTT in slow start, after the first ten segments.
#[test]
fn pacing_spreads_departures_over_half_a_round_in_slow_start() {
    let config = SenderConfig {
        pacing: Some(true),
        gso: false,
        initial_window: 30,
        ..config("cubic")
    };
    let (times, _) = departures(&config, &ReceiverConfig::new(config.ecn), 30);
    assert!(times[..10].iter().all(|&at| at == ms(100)));
    // 30 segments per 100 ms, twice as fast: 1.67 ms each.
    for pair in times[9..].windows(2) {
        let gap = (pair[1] - pair[0]).as_nanos() as f64 / 1e6;
        assert!((1.6..1.7).contains(&gap), "{gap}");
    }
}

/// Lengths of runs of departures at one instant.
fn bursts(times: &[Time]) -> Vec<usize> {
    let mut bursts = vec![1];
    for pair in times.windows(2) {
        match (pair[0] == pair[1], bursts.last_mut()) {
            (true, Some(last)) => *last += 1,
            _ => bursts.push(1),
        }
    }
    bursts
}

/// Linux `tcp_tso_autosize`: 2⁻¹⁰ s of the pacing rate, which is 200 % of a window per RTT, or
/// 120 % near the slow-start threshold (100 segments in this CUBIC); and 64 KiB halved for each
/// 512 µs of RTT. 2 segments at least, 45 at most, and half of the window.
#[test]
fn paced_bursts_are_a_millisecond_long_and_longer_for_close_peers() {
    for (control_name, rtt_us, window, expected) in [
        // 2 · 100 · 1 448 B / 100 ms / 1 024 = 1.95 segments.
        ("reno", 100_000, 100, 2),
        ("reno", 100_000, 1_000, 19),
        ("reno", 20_000, 200, 19),
        ("reno", 20_000, 20, 2),
        // 39.06 segments, and 65 215 B >> 5 are 1.41.
        ("old cubic", 3_000, 100, 40),
        // A rate of 78 segments per 2⁻¹⁰ s.
        ("old cubic", 3_000, 200, 45),
        // 26 segments, but half of the window is less.
        ("reno", 3_000, 41, 20),
    ] {
        let control = match control_name {
            "old cubic" => control("cubic", &[("variant", "linux_2_0")]),
            name => control(name, &[]),
        };
        let config = SenderConfig {
            pacing: Some(true),
            initial_window: window,
            ..SenderConfig::new(control)
        };
        let data = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&data);
        let rtt = Time::from_micros(rtt_us);
        let mut path = Path::new(&config, rtt);
        path.forward = Box::new(move |segment, _, now| {
            if segment.payload > 0 && now < rtt * 2 {
                seen.borrow_mut().push(now);
            }
            Fate::Pass
        });
        path.start();
        path.run_until(rtt * 2);
        // Pacing begins behind the tenth segment.
        let mut later = bursts(&data.borrow());
        later.remove(0);
        later.pop();
        let is_right = later.iter().all(|&burst| burst == expected);
        assert!(
            is_right && !later.is_empty(),
            "{control_name} {rtt_us} µs, {window}: {later:?}"
        );
    }
}

/// Linux `tcp_tso_should_defer`: at 40 Mbit/s and 120 % of it a millisecond is four segments long,
/// so two ACKs open the window for one departure; a few are shorter, where a buffer of 45 segments ends.
/// Where ACKs are rarer than that nothing waits, and without offload each ACK is answered.
#[test]
fn unpaced_senders_wait_for_a_full_burst_where_acknowledgements_are_near() {
    for (gso, gap_us, expected) in [
        (true, 300, 3.65),
        (true, 1_200, 2.0),
        (false, 300, 2.0),
        (false, 1_200, 2.0),
    ] {
        let config = SenderConfig {
            gso,
            ..config("reno")
        };
        let data = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&data);
        // The receive window keeps a queue of half a window.
        let receiver = window_of(200, config.ecn);
        let mut path = Path::with_receiver(&config, &receiver, Time::from_micros(100 * gap_us));
        let mut free = Time::ZERO;
        path.forward = Box::new(move |segment, _, now| {
            if segment.payload > 0 {
                seen.borrow_mut().push(now);
                free = free.max(now) + Time::from_micros(gap_us);
            }
            Fate::Delay(free - now)
        });
        path.start();
        path.run_until(Time::from_secs(20));
        let times = data.borrow();
        let late = &times[times.len() / 2..];
        let mean = late.len() as f64 / bursts(late).len() as f64;
        let off: f64 = mean - expected;
        assert!(off.abs() < 0.1, "{gso} {gap_us}: {mean}");
    }
}

/// The last segments of what was written do not wait for more.
#[test]
fn the_end_of_a_stream_does_not_wait_for_company() {
    for segments in [11, 12, 13, 14] {
        let config = config("reno");
        let (times, _) = departures(&config, &ReceiverConfig::new(config.ecn), segments);
        let second = times.iter().filter(|&&at| at == ms(200)).count();
        assert_eq!(second as u64, segments - 10);
    }
}

#[test]
fn the_receive_window_limits_what_is_in_flight() {
    let config = config("reno");
    let receiver = window(5 * 1_448, config.ecn);
    let mut path = Path::with_receiver(&config, &receiver, ms(100));
    path.start();
    path.run_until(Time::from_secs(10));
    let stats = path.sender.stats();
    assert_eq!(stats.in_flight, 5);
    assert!(stats.rwnd_limited > 50);
}

#[test]
fn acknowledgements_come_for_each_segment_or_for_two() {
    let acks = |ack_every, quick_ack| {
        let config = config("reno");
        let receiver = ReceiverConfig {
            ack_every,
            quick_ack,
            ..ReceiverConfig::new(config.ecn)
        };
        departures(&config, &receiver, 1_000).1 as f64
    };
    let each = acks(1, true);
    assert!((each - 1_001.0).abs() <= 2.0, "{each}");
    let (quick, slow) = (acks(2, true), acks(2, false));
    assert!((500.0..600.0).contains(&slow), "{slow}");
    // 16 segments acknowledged one by one are eight ACKs more.
    assert!((6.0..=10.0).contains(&(quick - slow)), "{quick} {slow}");
}

#[test]
fn compressed_sacks_are_fewer() {
    let acks = |compress_sacks| {
        let config = SenderConfig {
            initial_window: 100,
            ..config("reno")
        };
        let receiver = ReceiverConfig {
            compress_sacks,
            quick_ack: false,
            ..ReceiverConfig::new(config.ecn)
        };
        let count = Rc::new(RefCell::new(0));
        let counted = Rc::clone(&count);
        let mut path = Path::with_receiver(&config, &receiver, ms(100));
        path.forward = drop_data(&[1]);
        path.backward = Box::new(move |_, _, _| {
            *counted.borrow_mut() += 1;
            Fate::Pass
        });
        path.transfer(100 * 1_448);
        path.finish(Time::from_secs(10));
        *count.borrow()
    };
    let (compressed, each): (u64, u64) = (acks(true), acks(false));
    // 99 out of order: three, two times 44 together, and the rest.
    assert!(each >= 99 && compressed <= 15, "{each} {compressed}");
}

#[test]
fn small_writes_wait_for_company_only_with_nagle() {
    for (nagle, expected) in [(true, 2), (false, 5)] {
        let config = SenderConfig {
            nagle,
            ..config("reno")
        };
        let mut path = Path::new(&config, ms(100));
        path.sender.open(Time::ZERO);
        path.write(0);
        path.run_until(ms(500));
        for _ in 0..5 {
            path.write(100);
        }
        path.run_until(Time::from_secs(2));
        assert_eq!(path.receiver.delivered(), 500);
        assert_eq!(path.sender.stats().sent, expected);
    }
}

#[test]
fn a_longer_least_time_out_and_no_restart_after_idle() {
    let patient = SenderConfig {
        rto_min: Time::from_secs(1),
        restart_after_idle: false,
        ..config("reno")
    };
    let mut path = Path::new(&patient, ms(100));
    path.sender.open(Time::ZERO);
    path.write(200 * 1_448);
    path.run_until(Time::from_secs(20));
    let before = path.sender.stats();
    assert!((1_090..=1_200).contains(&(before.rto.as_nanos() / 1_000_000)));
    path.write(1_448);
    assert_eq!(path.sender.stats().cwnd, before.cwnd);
}

/// Without a queue HyStart still ends slow start, at the length of the ACK train: here never, as
/// nothing spreads the ACKs; on a path whose delay grows with the window it does.
#[test]
fn hystart_ends_slow_start_when_the_delay_rises() {
    let run = |hystart| {
        let config = SenderConfig::new(control("cubic", &[("hystart", hystart)]));
        let mut path = Path::new(&config, ms(100));
        let mut free = Time::ZERO;
        path.forward = Box::new(move |_, _, now| {
            // 10 000 segments a second: a window of 1 000 fills the path.
            free = free.max(now) + Time::from_micros(100);
            Fate::Delay(free - now)
        });
        path.start();
        path.run_until(Time::from_secs(2));
        path.sender.stats().ssthresh
    };
    assert_eq!(run("false"), u32::MAX);
    assert!((300..=1_500).contains(&run("true")), "{}", run("true"));
}

/// The sender knows of every mark, and every packet of DCTCP is ECN-capable. AccECN's counts are in
/// `accecn.rs`.
#[test]
fn dctcp_feedback_counts_every_mark() {
    let config = SenderConfig {
        ecn: EcnMode::Dctcp(Codepoint::Ect1),
        ..config("dctcp")
    };
    let marks = Rc::new(RefCell::new(0));
    let marked = Rc::clone(&marks);
    let mut path = Path::new(&config, ms(20));
    path.forward = Box::new(move |segment, n, _| {
        assert_eq!(segment.ecn, quell_units::Ecn::Ect1);
        if segment.payload == 0 || n % 7 > 1 {
            return Fate::Pass;
        }
        *marked.borrow_mut() += 1;
        Fate::Mark
    });
    path.transfer(3_000 * 1_448);
    path.finish(Time::from_secs(600));
    let stats = path.sender.stats();
    assert_eq!(stats.delivered_ce, *marks.borrow());
    assert_eq!(stats.retransmitted, 0);
}

#[test]
fn alpha_of_the_start_sets_the_first_reduction() {
    for (alpha, cwnd) in [("1", 5), ("0", 10)] {
        let config = SenderConfig::new(control("dctcp", &[("alpha_on_init", alpha)]));
        let mut path = Path::new(&config, ms(20));
        path.forward = Box::new(|segment, n, _| match segment.payload > 0 && n == 3 {
            true => Fate::Mark,
            false => Fate::Pass,
        });
        path.transfer(20 * 1_448);
        path.finish(Time::from_secs(60));
        let threshold = path.sender.stats().ssthresh;
        assert!(threshold.abs_diff(cwnd) <= 1, "{alpha}: {threshold}");
    }
}
