//! AccECN (RFC 9768) between two ends that have agreed on it: the counters, when ACKs and options
//! come, and what happens where the path meddles.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::ecn::*;
use common::{Fate, Path, config, ms};
use quell_tcp::cc::CaState;
use quell_tcp::{
    AccEcnOption, AccEcnOptionUse, Codepoint, EcnMode, EctScope, FeedbackMode, Flags, Order,
    ReceiverConfig, Segment, SenderConfig,
};
use quell_units::{Bytes, Ecn, Probability, Random, Time};

/// Whatever the marking, whichever codepoint and use of the option, and with ACKs for each packet or
/// for up to eight: the sender knows the number of packets with CE exactly, for the receiver
/// acknowledges each second of them at once.
#[test]
fn every_mark_is_counted() {
    for (seed, codepoint) in [(1, Codepoint::Ect0), (2, Codepoint::Ect1)] {
        for usage in [
            AccEcnOptionUse::Never,
            AccEcnOptionUse::Sparing,
            AccEcnOptionUse::Always,
        ] {
            for (percent, ack_every) in [(1, 1), (10, 2), (50, 2), (90, 8), (100, 8)] {
                let ecn = EcnMode::Accurate(codepoint);
                let truth = Rc::new(RefCell::new(Truth::default()));
                let receiver = ReceiverConfig {
                    accecn_option: usage,
                    ack_every,
                    ..ReceiverConfig::new(ecn)
                };
                let config = SenderConfig {
                    ecn,
                    ..config("cubic")
                };
                let mut path = Path::with_receiver(&config, &receiver, ms(20));
                let mut random = Random::new(seed, "marks");
                let p = Probability::ratio(percent, 100);
                path.forward = count_marks(&truth, move |_| random.chance(p));
                path.transfer(1_000 * MSS);
                path.finish(Time::from_secs(600));
                let stats = path.sender.stats();
                let what = format!("{codepoint:?} {usage:?} {percent} %");
                assert!(truth.borrow().packets > 0);
                assert_eq!(stats.delivered_ce, truth.borrow().packets, "{what}");
            }
        }
    }
}

/// RFC 9768 section 3.2.2.5.2: where ACKs are lost, byte counters tell how often the field wrapped. The
/// laws of both are in the crate, beside the counters.
#[test]
fn lost_acks_cost_no_count_where_there_are_options() {
    for (loss, percent) in [(30, 10), (50, 30), (60, 100)] {
        let truth = Rc::new(RefCell::new(Truth::default()));
        let config = SenderConfig {
            ecn: ACCURATE,
            initial_window: 200,
            ..config("reno")
        };
        let mut path = Path::new(&config, ms(20));
        let mut marks = Random::new(1, "marks");
        let mut losses = Random::new(1, "losses");
        path.forward = count_marks(&truth, move |_| marks.below(100) < percent);
        path.backward =
            Box::new(
                move |segment, _, _| match !is_syn(segment) && losses.below(100) < loss {
                    true => Fate::Drop,
                    false => Fate::Pass,
                },
            );
        path.transfer(400 * MSS);
        path.finish(Time::from_secs(60_000));
        let found = path.sender.stats().delivered_ce;
        assert_eq!(
            found,
            truth.borrow().packets,
            "{loss} % lost, {percent} % marked"
        );
    }
}

/// RFC 9768 section 3.2.2.5.1: a change of the field is acknowledged at once, though a single segment
/// would wait for a second one; n marks are, whatever delayed ACKs would do.
#[test]
fn changes_and_marks_trigger_acks() {
    // Eight segments at a time, one of eight acknowledged without cause.
    let acks = |marked: &'static [u64]| {
        // No bursts, whose ends would ask for ACKs of their own.
        let config = SenderConfig {
            ecn: ACCURATE,
            gso: false,
            ..config("reno")
        };
        let receiver = ReceiverConfig {
            ack_every: 100,
            quick_ack: false,
            ..ReceiverConfig::new(ACCURATE)
        };
        let (mut path, log) = noted(&config, &receiver, |_, _| {});
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            match segment.payload > 0 && marked.contains(&count) {
                true => Fate::Mark,
                false => Fate::Pass,
            }
        });
        path.sender.open(Time::ZERO);
        path.write(10 * MSS);
        path.run_until(ms(151));
        let acks = backward(&log);
        let acks: Vec<_> = acks[1..]
            .iter()
            .map(|s| (s.acknowledgement.div_ceil(MSS), ace(s)))
            .collect();
        acks
    };
    // The first data changes the field of the handshake, which is Not-ECT.
    assert_eq!(acks(&[]), [(1, 5)]);
    assert_eq!(acks(&[4]), [(1, 5), (4, 6), (5, 6)]);
    assert_eq!(
        acks(&[4, 5, 6, 7, 8]),
        [(1, 5), (4, 6), (6, 0), (8, 2), (9, 2)]
    );
}

/// RFC 9768 section 3.2.3.3 and Linux `tcp_options_fit_accecn`: options take 40 bytes at most, two
/// SACK blocks stay, and what changed is told.
#[test]
fn options_fit_beside_sack_blocks() {
    let (sender, receiver) = (
        sender("cubic", ACCURATE, EctScope::Established),
        receiver(ACCURATE, EctScope::Established),
    );
    let (mut path, log) = noted(&sender, &receiver, |_, _| {});
    let mut random = Random::new(3, "fate");
    path.forward = Box::new(move |_, _, _| match random.below(100) {
        0..5 => Fate::Drop,
        5..30 => Fate::Mark,
        _ => Fate::Pass,
    });
    path.transfer(3_000 * MSS);
    path.finish(Time::from_secs(600));
    let mut shapes = std::collections::BTreeSet::new();
    for (_, segment) in log.borrow().iter() {
        let options = segment.ip_length() - Bytes::new(u64::from(segment.payload) + 40);
        assert!(options <= Bytes::new(40), "{segment:?}");
        assert!(segment.ip_length() <= Bytes::new(1_500), "{segment:?}");
        if !is_syn(segment) {
            let fields = segment.accecn.is_present().then(|| segment.accecn.len());
            shapes.insert((segment.sacks.len(), fields));
        }
    }
    // All bytes are ECT(1) or CE, which is two fields; three blocks leave no room, and none is needed
    // for what the last option said.
    for shape in [(0, Some(2)), (1, Some(2)), (2, Some(2))] {
        assert!(shapes.contains(&shape), "{shapes:?}");
    }
    assert!(!shapes.contains(&(3, Some(2))), "{shapes:?}");
}

/// RFC 9768 section 3.2.3.2.1: the option is on the first SYN-ACK, its ACK and the first data.
#[test]
fn the_handshake_tries_the_option() {
    for (usage, expected) in [
        (AccEcnOptionUse::Never, [true, false, false, false]),
        (AccEcnOptionUse::Sparing, [true, true, true, false]),
        (AccEcnOptionUse::Always, [true, true, true, true]),
    ] {
        let sender = SenderConfig {
            accecn_option: usage,
            ..sender("reno", ACCURATE, EctScope::NewData)
        };
        let (mut path, log) = noted(&sender, &ReceiverConfig::new(ACCURATE), |_, _| {});
        path.transfer(20 * MSS);
        path.finish(Time::from_secs(10));
        let there = forward(&log);
        assert!(!there[0].accecn.is_present(), "never on a SYN");
        let found = [&backward(&log)[0], &there[1], &there[2], &there[3]];
        assert_eq!(found.map(|s| s.accecn.is_present()), expected, "{usage:?}");
        // A packet is not longer for its option: three counters take 12 bytes of payload.
        for segment in &there[2..4] {
            let room = if segment.accecn.is_present() { 12 } else { 0 };
            assert_eq!(segment.payload, MSS as u32 - room);
        }
        assert_eq!(path.receiver.delivered(), 20 * MSS);
    }
}

/// What the path does to options and flags, whether marks are still told of, and whether the data
/// after the tenth segment is ECN-capable (RFC 9768 sections 3.2.2.4, 3.2.3.2.3, 3.2.3.2.4, 3.2.3.2.5).
#[test]
fn meddling_is_found_out() {
    type Meddle = fn(&mut Segment, bool);
    let cases: [(&str, Meddle, bool, bool); 6] = [
        ("nothing", |_, _| {}, true, true),
        (
            "options removed",
            |s, _| s.accecn = AccEcnOption::NONE,
            true,
            true,
        ),
        (
            "byte counters zeroed",
            |s, _| {
                if s.accecn.is_present() {
                    s.accecn = AccEcnOption::new(Order::One, &[0; 3]);
                }
            },
            true,
            true,
        ),
        (
            "flags zeroed",
            |s, _| {
                if !is_syn(s) {
                    set_ace(s, 0);
                }
            },
            false,
            false,
        ),
        (
            "flags frozen",
            |s, is_forward| {
                if !is_syn(s) && !is_forward {
                    set_ace(s, 5);
                }
            },
            false,
            false,
        ),
        (
            "the field of the SYN cleared",
            |s, is_forward| {
                if is_syn(s) && is_forward {
                    s.ecn = Ecn::NotEct;
                }
            },
            false,
            false,
        ),
    ];
    for (what, meddle, is_told, is_capable) in cases {
        let scope = EctScope::Everything;
        let (sender, receiver) = (sender("reno", ACCURATE, scope), receiver(ACCURATE, scope));
        let (mut path, log) = noted(&sender, &receiver, meddle);
        let truth = Rc::new(RefCell::new(Truth::default()));
        path.forward = count_marks(&truth, |n| n > 4 && n % 10 == 0);
        path.transfer(500 * MSS);
        path.finish(Time::from_secs(60));
        assert_eq!(path.sender.feedback(), FeedbackMode::Accurate, "{what}");
        let marks = truth.borrow().packets;
        let told = path.sender.stats().delivered_ce;
        assert_eq!(
            told == marks && told > 10,
            is_told,
            "{what}: {told} of {marks}"
        );
        let data: Vec<_> = forward(&log)
            .into_iter()
            .filter(|s| s.payload > 0)
            .collect();
        let late = &data[100..];
        assert!(
            late.iter().all(|s| s.ecn.is_capable() == is_capable),
            "{what}"
        );
    }
}

/// RFC 9768 section 3.2.2.1, note 1: a zero in the handshake's last ACK ends ECN-capable ACKs, not the
/// counting.
#[test]
fn a_server_that_is_told_nothing_keeps_counting() {
    let scope = EctScope::Everything;
    let (mut path, log) = noted(
        &sender("reno", ACCURATE, scope),
        &receiver(ACCURATE, scope),
        |segment, is_forward| {
            let is_bare = segment.payload == 0 && !is_syn(segment);
            if is_forward && is_bare && !segment.flags.has(Flags::FIN) {
                set_ace(segment, 0);
            }
        },
    );
    let truth = Rc::new(RefCell::new(Truth::default()));
    path.forward = count_marks(&truth, |n| n > 2 && n % 3 == 0);
    path.transfer(100 * MSS);
    path.finish(Time::from_secs(60));
    let marks = truth.borrow().packets;
    assert_eq!(path.sender.stats().delivered_ce, marks);
    let back = backward(&log);
    assert!(back[0].ecn.is_capable() && back[1..].iter().all(|s| s.ecn == Ecn::NotEct));
}

/// RFC 9768 section 3.2.2.5.1: marks on pure ACKs are counted, and told in the data; a sender without
/// data tells of the third in an ACK of ACKs, which has no SACK blocks and is no duplicate ACK.
#[test]
fn marks_on_acks_are_told_in_data_or_in_an_ack_of_acks() {
    let scope = EctScope::Established;
    let (sender, receiver) = (sender("reno", ACCURATE, scope), receiver(ACCURATE, scope));
    let (mut path, log) = noted(&sender, &receiver, |_, _| {});
    let truth = Rc::new(RefCell::new(Truth::default()));
    path.backward = count_marks(&truth, |_| true);
    path.sender.open(Time::ZERO);
    path.write(30 * MSS);
    path.run_until(Time::from_secs(5));
    let marks = truth.borrow().packets;
    let bare = |s: &&Segment| s.payload == 0 && !is_syn(s);
    let there = forward(&log);
    let acks: Vec<&Segment> = there.iter().filter(bare).skip(1).collect();
    assert!(
        !acks.is_empty(),
        "the last ACKs find no data to travel with"
    );
    assert!(acks.iter().all(|s| s.sacks.is_empty()));
    // Two may remain untold, which an idle end owes no ACK for.
    let told = path.receiver.marked_acks();
    assert!(marks > 15 && marks - told <= 2, "{told} of {marks}");
    assert_eq!(path.sender.state(), CaState::Open);
    assert_eq!(
        path.sender.stats().ecn_reductions,
        0,
        "ACKs are not its data"
    );
    // They are damped: each of three marks, and no more.
    assert!(acks.len() as u64 <= marks / 3 + 1);
}

/// RFC 9768 section 3.1.5: a host in AccECN mode responds to marks as RFC 3168 section 6.1.2 says, and
/// "MUST NOT set CWR" to tell so.
#[test]
fn any_control_answers_marks_once_per_window_and_never_says_so() {
    for name in ["reno", "cubic"] {
        let (mut path, log) = noted(
            &sender(name, ACCURATE, EctScope::NewData),
            &receiver(ACCURATE, EctScope::NewData),
            |_, _| {},
        );
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            match segment.payload > 0 && (3..6).contains(&count) {
                true => Fate::Mark,
                false => Fate::Pass,
            }
        });
        path.transfer(60 * MSS);
        path.finish(Time::from_secs(60));
        let stats = path.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.delivered_ce), (1, 3), "{name}");
        assert_eq!(stats.retransmitted, 0);
        // Three marks make 8 = 000; CWR stands in the data only as a bit of the counter, which stays
        // at 5 = 101 for there are no marks on ACKs.
        let data = forward(&log);
        assert!(data.iter().filter(|s| s.payload > 0).all(|s| ace(s) == 5));
    }
}

/// A segment that leaves again has the counter of the host as each other one (RFC 9768 section 3.2.2).
#[test]
fn what_is_sent_again_carries_the_counter_too() {
    let scope = EctScope::NewData;
    let (sender, receiver) = (sender("cubic", ACCURATE, scope), receiver(ACCURATE, scope));
    let (mut path, log) = noted(&sender, &receiver, |_, _| {});
    let mut count = 0;
    path.forward = Box::new(move |segment, _, _| {
        count += u64::from(segment.payload > 0);
        match segment.payload > 0 && count == 10 {
            true => Fate::Drop,
            false => Fate::Pass,
        }
    });
    path.transfer(60 * MSS);
    path.finish(Time::from_secs(60));
    assert_eq!(path.sender.stats().retransmitted, 1);
    let data = forward(&log);
    assert!(data.iter().filter(|s| s.payload > 0).all(|s| ace(s) == 5));
}
