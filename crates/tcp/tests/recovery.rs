//! Loss recovery as scripted exchanges: what is sent when, in words.
//!
//! A line is a time in milliseconds, `>` and the number of the segment sent, or `<` and the number
//! up to which everything is acknowledged, with SACK blocks; the first block of a duplicate is a
//! D-SACK. The RTT is 100 ms.

use crate::common;

use common::{Fate, Path, config, drop_data, ms};
use quell_tcp::cc::CaState;
use quell_tcp::{EcnMode, ReceiverConfig, SenderConfig};
use quell_units::Time;

fn reno(initial_window: u32) -> SenderConfig {
    SenderConfig {
        initial_window,
        ..config("reno")
    }
}

fn recorded<'a>(config: &SenderConfig) -> Path<'a> {
    let mut path = Path::new(config, ms(100));
    path.record = Some(String::new());
    path
}

#[track_caller]
fn assert_record(path: &Path<'_>, expected: &str) {
    let record = path.record.clone().unwrap_or_default();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_string).collect()
    };
    assert_eq!(lines(&record), lines(expected), "\n{record}");
}

/// Delays data segment `number` by so much.
fn delay_data<'a>(number: u64, delay: Time) -> common::Script<'a> {
    let mut count = 0;
    Box::new(move |segment, _, _| {
        count += u64::from(segment.payload > 0);
        let is_it = segment.payload > 0 && count == number;
        if is_it {
            Fate::Delay(delay)
        } else {
            Fate::Pass
        }
    })
}

/// RFC 6298: RTO = SRTT + max(4 RTTVAR, 200 ms) = 300 ms, doubled each time (5.5). The probe comes
/// first, and with one segment out only at the RTO (RFC 8985 section 7.2 adds the receiver's delay),
/// and the RTO then runs from the probe.
#[test]
fn a_lone_segment_is_repeated_by_a_probe_and_then_after_doubling_time_outs() {
    let mut path = recorded(&reno(10));
    path.forward = drop_data(&[1, 2, 3, 4]);
    path.transfer(1_448);
    path.finish(Time::from_secs(60));
    assert_record(
        &path,
        "0.0 > 0 empty SYN
         50.0 < 0 SYN
         100.0 > 0 empty
         100.0 > 0 FIN lost
         400.0 > 0 FIN lost
         700.0 > 0 FIN lost
         1300.0 > 0 FIN lost
         2500.0 > 0 FIN
         2550.0 < 1 FIN",
    );
    assert_eq!(path.sender.stats().rto_count, 3);
}

/// RFC 8985 section 7: after 2 SRTT and Linux's 2 ms the last segment goes again; its SACK shows the
/// holes. Then PRR (RFC 9937): nothing is in flight, so one segment leaves for the one delivered,
/// and two for the next, as it moved the acknowledgement and nothing more was lost.
#[test]
fn a_probe_turns_a_lost_tail_into_fast_recovery() {
    let mut path = recorded(&reno(10));
    path.forward = drop_data(&[7, 8, 9, 10]);
    path.transfer(10 * 1_448);
    path.finish(Time::from_secs(60));
    let record = path.record.take().unwrap_or_default();
    path.record = record.split_once("150.0 < 6\n").map(|(_, end)| end.into());
    assert_record(
        &path,
        "402.0 > 9 FIN
         452.0 < 6 9-10
         502.0 > 6
         552.0 < 7 9-10
         602.0 > 7
         602.0 > 8
         652.0 < 8 9-10
         652.0 < 10 FIN",
    );
    let stats = path.sender.stats();
    assert_eq!((stats.rto_count, stats.recoveries, stats.probes), (0, 1, 1));
}

/// Limited transmit for two SACKs, fast retransmit at the third (RFC 5681 section 3.2), then one
/// segment for two delivered while more than ssthresh = 6 are in flight (RFC 9937 section 6), and
/// afterwards a window of 6. The ACKs are one per segment: quick-ack phase, then out of order; at the
/// end segment 22 has an ACK of its own, since it is the last of a burst and carries PSH.
#[test]
fn proportional_rate_reduction_sends_one_segment_for_two() {
    let mut path = recorded(&reno(10));
    path.forward = drop_data(&[3]);
    path.transfer(24 * 1_448);
    path.finish(Time::from_secs(60));
    let record = path.record.take().unwrap_or_default();
    path.record = record.split_once("100.0 > 9\n").map(|(_, end)| end.into());
    assert_record(
        &path,
        "150.0 < 1
         150.0 < 2
         150.0 < 2 3-4
         150.0 < 2 3-5
         150.0 < 2 3-6
         150.0 < 2 3-7
         150.0 < 2 3-8
         150.0 < 2 3-9
         150.0 < 2 3-10
         200.0 > 10
         200.0 > 11
         200.0 > 12
         200.0 > 13
         200.0 > 14
         200.0 > 15
         200.0 > 2
         200.0 > 16
         200.0 > 17
         250.0 < 2 3-11
         250.0 < 2 3-12
         250.0 < 2 3-13
         250.0 < 2 3-14
         250.0 < 2 3-15
         250.0 < 2 3-16
         250.0 < 16
         250.0 < 18
         300.0 > 18
         300.0 > 19
         300.0 > 20
         300.0 > 21
         300.0 > 22
         300.0 > 23 FIN
         350.0 < 20
         350.0 < 22
         350.0 < 23
         350.0 < 24 FIN",
    );
    let stats = path.sender.stats();
    assert_eq!((stats.ssthresh, stats.retransmitted), (6, 1));
}

/// RFC 8985: the retransmission is lost as well; the first delivery of something sent after it
/// shows that, one RTT later and without a time-out.
#[test]
fn rack_finds_a_lost_retransmission() {
    let mut path = recorded(&reno(10));
    path.forward = drop_data(&[3, 17]);
    path.transfer(30 * 1_448);
    path.finish(Time::from_secs(60));
    let record = path.record.clone().unwrap_or_default();
    let repeats: Vec<&str> = record
        .lines()
        .filter(|line| line.contains("> 2 "))
        .collect();
    assert_eq!(repeats, ["100.0 > 2 lost", "200.0 > 2 lost"]);
    assert!(record.contains("300.0 > 2\n"), "{record}");
    assert_eq!(path.sender.stats().rto_count, 0);
}

/// RFC 8985 section 6.2.4: a segment may come min_rtt/4 = 25 ms late before it is taken for lost.
/// Then the reorder timer repeats it (25 ms after the SACK at 200 ms, and Linux's 2 ms), the
/// original arrives, and the D-SACK undoes the reduction (RFC 3708).
#[test]
fn rack_waits_for_a_quarter_of_the_lowest_rtt_and_a_dsack_undoes() {
    for (delay, retransmitted, undone) in [(15, 0, 0), (60, 1, 1)] {
        let mut path = recorded(&reno(10));
        path.forward = delay_data(8, ms(delay));
        path.transfer(14 * 1_448);
        path.finish(Time::from_secs(60));
        let until = path.now + ms(200);
        path.run_until(until);
        let stats = path.sender.stats();
        assert_eq!((stats.retransmitted, stats.undone), (retransmitted, undone));
        assert_eq!(stats.ssthresh, u32::MAX, "nothing is left of the reduction");
        assert!(stats.cwnd >= 17, "{}", stats.cwnd);
        let record = path.record.unwrap_or_default();
        assert_eq!(
            record.contains("227.0 > 7\n"),
            retransmitted == 1,
            "{record}"
        );
        assert_eq!(record.contains("< 14 7-8"), undone == 1, "{record}");
    }
}

/// Everything sent before 700 ms arrives at 750 ms, in order: a delay spike. The time-out repeats
/// the first segment; the ACK of the original echoes an older timestamp (Eifel, RFC 3522), and the
/// window is what it was.
#[test]
fn a_delay_spike_costs_one_retransmission_and_no_window() {
    let mut path = recorded(&reno(10));
    path.forward = Box::new(|segment, _, now| {
        if segment.payload > 0 && now < ms(700) {
            Fate::Delay(ms(700) - now)
        } else {
            Fate::Pass
        }
    });
    path.transfer(40 * 1_448);
    path.finish(Time::from_secs(60));
    let stats = path.sender.stats();
    assert_eq!(
        (stats.rto_count, stats.retransmitted, stats.undone),
        (1, 1, 1)
    );
    assert_eq!(stats.ssthresh, u32::MAX);
    assert!(stats.cwnd >= 20);
}

/// RFC 5682 section 3.1 after a real loss of everything: the first ACK lets new data go (step 2b),
/// the duplicate that it causes proves the loss (step 3a), and slow start repeats the rest.
#[test]
fn forward_rto_recovery_sends_new_data_before_it_repeats() {
    let mut path = recorded(&reno(10));
    path.forward = drop_data(&(1..=12).collect::<Vec<_>>().leak()[..]);
    path.transfer(12 * 1_448);
    path.finish(Time::from_secs(60));
    let record = path.record.take().unwrap_or_default();
    path.record = record
        .split_once("602.0 > 0 lost\n")
        .map(|(_, end)| end.into());
    assert_record(
        &path,
        "1202.0 > 0
         1252.0 < 1
         1302.0 > 11 FIN
         1352.0 < 1 11-12
         1402.0 > 1
         1402.0 > 2
         1452.0 < 2 11-12
         1452.0 < 3 11-12
         1502.0 > 3
         1502.0 > 4
         1502.0 > 5
         1502.0 > 6
         1552.0 < 4 11-12
         1552.0 < 5 11-12
         1552.0 < 6 11-12
         1552.0 < 7 11-12
         1602.0 > 7
         1602.0 > 8
         1602.0 > 9
         1602.0 > 10
         1652.0 < 8 11-12
         1652.0 < 9 11-12
         1652.0 < 10 11-12
         1652.0 < 12 FIN",
    );
}

/// RFC 3168 section 6.1: one mark, ECE until CWR, one reduction.
#[test]
fn classic_ecn_reduces_once_per_window() {
    let mut config = reno(10);
    config.ecn = EcnMode::Classic(quell_tcp::Codepoint::Ect0);
    let mut path = recorded(&config);
    let mut count = 0;
    path.forward = Box::new(move |segment, _, _| {
        count += u64::from(segment.payload > 0);
        let is_marked = segment.payload > 0 && (3..6).contains(&count);
        if is_marked { Fate::Mark } else { Fate::Pass }
    });
    path.transfer(60 * 1_448);
    path.finish(Time::from_secs(60));
    let stats = path.sender.stats();
    assert_eq!((stats.ecn_reductions, stats.retransmitted), (1, 0));
    assert_eq!(stats.ssthresh, 6, "half of the 12 that two ACKs had made");
    assert_eq!(path.sender.state(), CaState::Open);
    let record = path.record.unwrap_or_default();
    let told = |line: &&str| line.contains("CWR") && !line.contains("SYN");
    assert_eq!(record.lines().filter(told).count(), 1, "{record}");
}

/// RFC 2861: an idle sender begins with the initial window again.
#[test]
fn an_idle_sender_starts_again_with_the_initial_window() {
    let mut path = Path::new(&reno(10), ms(100));
    path.sender.open(Time::ZERO);
    path.write(200 * 1_448);
    path.run_until(Time::from_secs(2));
    assert!(path.sender.stats().cwnd >= 100);
    path.run_until(Time::from_secs(20));
    path.write(1_448);
    assert_eq!(path.sender.stats().cwnd, 10);
}

/// Where the application limits the sender, the window does not grow (RFC 7661).
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut path = Path::new(&reno(10), ms(100));
    path.sender.open(Time::ZERO);
    for second in 0..40 {
        path.write(4 * 1_448);
        path.run_until(ms(second * 150));
    }
    assert_eq!(path.sender.stats().cwnd, 10);
}

/// Linux `tcp_cwnd_application_limited` (RFC 2861): each time-out during which a trickle leaves most of
/// the window unused, it moves half-way to what was used, but not below the initial window.
#[test]
fn an_unused_window_shrinks_towards_what_is_used() {
    let each = ReceiverConfig {
        ack_every: 1,
        ..ReceiverConfig::new(EcnMode::Off)
    };
    let mut path = Path::with_receiver(&reno(10), &each, ms(100));
    path.sender.open(Time::ZERO);
    path.write(70 * 1_448);
    path.run_until(ms(400));
    let first = path.sender.stats().cwnd;
    let mut windows = vec![first];
    for _ in 0..50 {
        path.write(1_448);
        let until = path.now + ms(100);
        path.run_until(until);
        let cwnd = path.sender.stats().cwnd;
        if windows.last() != Some(&cwnd) {
            windows.push(cwnd);
        }
    }
    let mut expected = vec![first];
    let mut window = first;
    while window > 11 {
        window = (window + 10) / 2;
        expected.push(window);
    }
    assert!(
        first >= 40 && windows.starts_with(&expected[..expected.len() - 1]),
        "{windows:?}"
    );
}
