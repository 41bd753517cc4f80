//! Opening: RFC 9293 section 3.5, Linux 7.2 `tcp_input.c` (`tcp_rcv_synsent_state_process`,
//! `tcp_rcv_state_process`), `tcp_minisocks.c` (`tcp_check_req`).

use super::*;
use crate::cc::CcConfig;
use crate::ecn::FeedbackMode;
use crate::ecn::{Codepoint, EctScope};

#[test]
fn three_segments_open_and_both_ends_know_the_rtt() {
    let mut path = Path::new(ms(50));
    path.open();
    path.run_until(ms(49));
    assert!(!path.ends[CLIENT].is_established() && !path.ends[SERVER].is_established());
    path.run_until(ms(50));
    assert!(path.ends[CLIENT].is_established() && !path.ends[SERVER].is_established());
    path.run_until(ms(75));
    assert!(path.ends[SERVER].is_established());
    assert_eq!(path.sent(CLIENT, ms(0)), ["0 0 SYN", "50 0 ack 0"]);
    assert_eq!(path.sent(SERVER, ms(0)), ["25 0 SYN ack 0"]);
    for end in &path.ends {
        let stats = end.sender().stats();
        assert_eq!((stats.srtt, stats.cwnd), (ms(50), 10));
        assert_eq!(end.next_timer(), None);
    }
}

#[test]
fn each_end_learns_the_window_of_the_other() {
    let (sender, mut receiver) = configuration(EcnMode::Off);
    receiver.window = Bytes::new(5 * MSS);
    let small = Connection::new(&sender, &receiver);
    receiver.window = Bytes::new(7 * MSS);
    let large = Connection::new(&sender, &receiver);
    let mut path = Path::of([small, large], ms(50)).opened();
    path.write(CLIENT, 100 * MSS);
    path.write(SERVER, 100 * MSS);
    let out = |end: &Connection| end.sender().stats().in_flight;
    assert_eq!([out(&path.ends[CLIENT]), out(&path.ends[SERVER])], [7, 5]);
}

#[test]
fn a_server_that_speaks_first_sends_when_the_ack_arrives() {
    let mut path = Path::new(ms(50));
    path.ends[SERVER].write(100);
    path.open();
    path.run_until(ms(80));
    assert_eq!(path.sent(SERVER, ms(26)), ["75 0+100 ack 0"]);
    path.run_until(ms(200));
    assert_eq!(path.ends[CLIENT].delivered(), 100);
}

#[test]
fn data_opens_if_the_last_ack_is_lost() {
    let mut path = Path::new(ms(50)).with(|end, _, n| {
        if end == CLIENT && n == 2 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    path.ends[CLIENT].write(300);
    path.open();
    path.run_until(ms(80));
    assert_eq!(path.sent(CLIENT, ms(1)), ["50 0 ack 0", "50 0+300 ack 0"]);
    assert!(path.ends[SERVER].is_established());
    assert_eq!(path.ends[SERVER].delivered(), 300);
    assert_eq!(path.ends[SERVER].sender().stats().srtt, ms(50));
}

/// The server repeats the SYN-ACK, and the client answers it (`tcp_send_challenge_ack`).
#[test]
fn without_data_the_lost_last_ack_is_repeated() {
    let mut path = Path::new(ms(50)).with(|end, _, n| {
        if end == CLIENT && n == 2 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    path.ends[SERVER].write(10);
    path.open();
    path.run_until(ms(1_200));
    assert_eq!(
        path.sent(SERVER, ms(0)),
        ["25 0 SYN ack 0", "1025 0 SYN ack 0", "1075 0+10 ack 0"]
    );
    assert_eq!(path.sent(CLIENT, ms(51)), ["1050 0 ack 0", "1100 0 ack 10"]);
    // Repeated, so the RTT is that of the timestamp (`tcp_rtt_tsopt_us`).
    assert_eq!(path.ends[SERVER].sender().stats().min_rtt, ms(50));
}

/// `tcp_syn_linear_timeouts` = 4 (Linux 6.5 and later).
#[test]
fn a_syn_is_repeated_each_second_five_times_then_at_doubled_intervals() {
    let mut path = Path::new(ms(50)).with(|_, _, _| Fate::Drop);
    path.open();
    path.run_until(Time::from_secs(30));
    let times: Vec<u64> = path
        .left
        .iter()
        .map(|(at, _, _)| at.as_nanos() / 1_000_000_000)
        .collect();
    assert_eq!(times, [0, 1, 2, 3, 4, 5, 7, 11, 19]);
}

/// `reqsk_timeout`: the time-outs double, whatever the client repeats. `tcp_init_transfer`: more than one
/// of them leaves a window of one segment, unless the first SYN-ACK is what is answered.
#[test]
fn a_syn_ack_is_repeated_after_one_two_and_four_seconds() {
    let lost = |count: u64| {
        let mut path = Path::new(ms(50)).with(move |end, segment, n| match end {
            CLIENT if segment.flags.has(Flags::SYN) && n > 1 => Fate::Drop,
            SERVER if n <= count => Fate::Drop,
            _ => Fate::Pass,
        });
        path.open();
        path.run_until(Time::from_secs(20));
        path
    };
    for (count, cwnd, times) in [
        (1, 10, &[25, 1_025][..]),
        (2, 1, &[25, 1_025, 3_025]),
        (3, 1, &[25, 1_025, 3_025, 7_025]),
    ] {
        let path = lost(count);
        let left = path.left.iter().filter(|(_, end, _)| *end == SERVER);
        let left: Vec<u64> = left.map(|(at, _, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(left, times);
        assert_eq!(path.ends[SERVER].sender().stats().cwnd, cwnd, "{count}");
    }
    // All of them are late.
    let mut path = Path::new(ms(50)).with(|end, segment, n| match end {
        CLIENT if segment.flags.has(Flags::SYN) && n > 1 => Fate::Drop,
        SERVER if n == 1 => Fate::Delay(ms(3_500)),
        SERVER if n <= 3 => Fate::Drop,
        _ => Fate::Pass,
    });
    path.open();
    path.run_until(ms(3_700));
    assert_eq!(path.ends[SERVER].sender().stats().cwnd, 10);
}

#[test]
fn a_repeated_syn_is_answered_at_once() {
    let mut path = Path::new(ms(50)).with(|end, segment, _| {
        let is_first = end == CLIENT && segment.flags.has(Flags::SYN);
        if is_first {
            Fate::Twice(ms(5))
        } else {
            Fate::Pass
        }
    });
    path.open();
    path.run_until(ms(2_000));
    assert_eq!(
        path.sent(SERVER, ms(0)),
        ["25 0 SYN ack 0", "30 0 SYN ack 0"]
    );
    assert_eq!(path.sent(CLIENT, ms(1)), ["50 0 ack 0", "55 0 ack 0"]);
}

const MODES: [(EcnMode, FeedbackMode); 4] = [
    (EcnMode::Off, FeedbackMode::Off),
    (EcnMode::Classic(Codepoint::Ect0), FeedbackMode::Classic),
    (EcnMode::Dctcp(Codepoint::Ect0), FeedbackMode::Dctcp),
    (EcnMode::Accurate(Codepoint::Ect1), FeedbackMode::Accurate),
];

#[test]
fn both_halves_of_both_ends_agree_on_ecn() {
    for (mode, agreed) in MODES {
        let mut path = Path::with_ecn(ms(50), mode).opened();
        for end in &path.ends {
            assert_eq!(end.sender().feedback(), agreed);
            assert_eq!(end.receiver().feedback(), agreed);
        }
        for end in [CLIENT, SERVER] {
            path.write(end, 100);
            let (_, _, segment) = path.left.last().unwrap();
            assert_eq!(segment.ecn, mode.codepoint(), "{mode:?} {end}");
        }
    }
}

/// An end that does not know a feedback gets what it knows.
#[test]
fn accurate_and_classic_agree_on_classic() {
    let accurate = configuration(EcnMode::Accurate(Codepoint::Ect1));
    let classic = configuration(EcnMode::Classic(Codepoint::Ect0));
    for pair in [[&accurate, &classic], [&classic, &accurate]] {
        let ends = pair.map(|(sender, receiver)| Connection::new(sender, receiver));
        let mut path = Path::of(ends, ms(50)).opened();
        for end in [CLIENT, SERVER] {
            assert_eq!(path.ends[end].sender().feedback(), FeedbackMode::Classic);
            path.write(end, 100);
            assert_eq!(path.left.last().unwrap().2.ecn, Ecn::Ect0);
        }
    }
}

/// A scalable response goes on without ECN where the other end knows RFC 3168's feedback alone, whichever end opens; and a host of RFC 3168
/// refuses a SYN that is ECN-capable itself.
#[test]
fn a_scalable_control_has_no_ecn_without_feedback_for_each_mark() {
    let (mut scalable, mut server) = configuration(EcnMode::Accurate(Codepoint::Ect1));
    scalable.congestion_control = CcConfig::new("prague", &[]).unwrap().unwrap();
    server.needs_more_feedback = true;
    let scalable = (scalable, server);
    let classic = configuration(EcnMode::Classic(Codepoint::Ect0));
    let mut dctcp = configuration(EcnMode::Dctcp(Codepoint::Ect0));
    dctcp.0.ect_scope = Some(EctScope::Everything);
    for (pair, off) in [
        ([&scalable, &classic], &[CLIENT, SERVER][..1]),
        ([&classic, &scalable], &[SERVER]),
        ([&dctcp, &classic], &[CLIENT, SERVER]),
        ([&scalable, &scalable], &[]),
        ([&dctcp, &dctcp], &[]),
    ] {
        let ends = pair.map(|(sender, receiver)| Connection::new(sender, receiver));
        let mut path = Path::of(ends, ms(50)).opened();
        for end in [CLIENT, SERVER] {
            path.write(end, 100);
            let is_off = path.left.last().unwrap().2.ecn == Ecn::NotEct;
            assert_eq!(is_off, off.contains(&end), "{pair:?}");
        }
    }
}

/// RFC 9768 section 3.2.2: each end counts the marks of all that arrives, and learns those of all that it
/// sent.
#[test]
fn marks_are_counted_in_both_directions() {
    for (mode, agreed) in MODES.into_iter().skip(1) {
        let marked = std::rc::Rc::new(std::cell::RefCell::new([0_u64; 2]));
        let count = marked.clone();
        let mut path = Path::with_ecn(ms(20), mode)
            .opened()
            .with(move |end, segment, n| {
                let is_due = n % [7, 5][end] == 0 && segment.payload > 0;
                if is_due && segment.ecn.is_capable() {
                    count.borrow_mut()[end] += 1;
                    return Fate::Mark;
                }
                Fate::Pass
            });
        for end in [CLIENT, SERVER] {
            path.write(end, 400 * MSS);
        }
        path.run_out(Time::from_secs(60));
        for end in [CLIENT, SERVER] {
            assert_eq!(path.ends[1 - end].delivered(), 400 * MSS);
            let stats = path.ends[end].sender().stats();
            assert!(stats.ecn_reductions > 0, "{mode:?} {end} {stats:?}");
            assert_eq!(stats.retransmitted, 0);
            if agreed == FeedbackMode::Accurate {
                assert_eq!(stats.delivered_ce, marked.borrow()[end]);
            }
        }
    }
}
