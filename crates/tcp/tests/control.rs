//! Every call that a control gets, in scripted exchanges: enough for Prague, H-TCP, Compound, and BBR v1,
//! v2 and v3.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::observer::{
    Call, Observer, all, concluded, events, losses, observed, observer, states,
};
use common::{Fate, drop_data, ms};
use quell_tcp::cc::{CaState, Event};
use quell_tcp::{Codepoint, EcnMode, FeedbackMode};
use quell_units::{Rate, Time};

const MSS: u64 = 1_448;

/// Within 5 µs: departures are recorded 1 ns apart, and intervals are kept in 1.024 µs.
fn is_near(time: Time, millis: u64) -> bool {
    time.as_nanos().abs_diff(millis * 1_000_000) < 5_000
}

/// Four segments leave each 100 ms and are delivered together: four in 100 ms, by either interval
/// (draft-cheng-iccrg-delivery-rate-estimation section 3; Linux `tcp_rate.c`).
#[test]
fn rate_samples_hold_what_was_delivered_in_which_time() {
    let (mut path, notes) = observed(observer(Some(4)), EcnMode::Off);
    path.start();
    path.run_until(ms(1_005));
    let acks = concluded(&notes);
    // From 200 ms on, each 100 ms.
    assert_eq!(acks.len(), 4 * 9);
    for (n, (ack, connection, rounds)) in acks.iter().enumerate() {
        let (round, place) = (n / 4, n % 4);
        assert_eq!(ack.now, ms(200 + 100 * round as u64));
        assert_eq!((ack.acked, ack.acked_bytes), (1, MSS));
        assert_eq!((ack.acked_ce, ack.acked_ce_bytes, ack.ece), (0, 0, false));
        assert_eq!((ack.delivered, ack.prior_in_flight), (n as u64 + 2, 4));
        assert_eq!((ack.lost, ack.rate.lost, connection.lost), (0, 0, 0));
        assert!(!ack.is_ack_delayed);
        assert_eq!(*rounds, round as u64 + 1, "{n}");
        let rate = &ack.rate;
        let first_flight = place as u32 + 1;
        let in_flight = if round == 0 { first_flight } else { 4 };
        assert_eq!(rate.tx_in_flight, in_flight, "{n}");
        // Linux considers the first flight as limited by the application, which had written nothing
        // before.
        assert_eq!(
            (rate.app_limited, rate.retransmitted),
            (n <= 3, false),
            "{n}"
        );
        let send_interval = if round == 0 { 0 } else { 100_000 };
        assert_eq!(
            (rate.interval_us, rate.rcv_interval_us, rate.snd_interval_us),
            (100_000, 100_000, send_interval)
        );
        // Segment n left when n - 3 and the SYN had been delivered.
        let prior = n.saturating_sub(3) as u64 + 1;
        assert_eq!(rate.prior_delivered, prior, "{n}");
        assert_eq!(u64::from(rate.delivered), ack.delivered - prior, "{n}");
        assert!(ack.rtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert!(connection.srtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert!(connection.min_rtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert_eq!((connection.state, connection.mss), (CaState::Open, 1_448));
        assert_eq!((connection.in_flight, connection.app_limited), (3, false));
    }
    let is_growth =
        |call: &Call| matches!(call, Call::CongAvoid(_) | Call::Ssthresh(_)).then_some(());
    assert!(
        all(&notes, is_growth).is_empty(),
        "it sets the window itself"
    );
}

/// BBR v2 and v3 (`google/bbr`, `skb_marked_lost`): the third of ten is lost, and so is its
/// retransmission.
#[test]
fn each_loss_is_reported_with_the_state_at_departure() {
    let (mut path, notes) = observed(observer(Some(10)), EcnMode::Off);
    // The retransmission leaves as the 15th: ten, one for each of two in order, and for two of the
    // three SACKs that it takes.
    path.forward = drop_data(&[3, 15]);
    path.transfer(60 * MSS);
    path.finish(Time::from_secs(10));
    assert_eq!(path.sender.stats().retransmitted, 2);
    let lost = losses(&notes);
    assert_eq!(lost.len(), 2);
    let [first, second] = [lost[0], lost[1]];
    assert_eq!((first.in_flight, first.delivered), (3, 1));
    assert_eq!((first.prior_lost, first.lost), (0, 1));
    assert!(is_near(first.sent, 100));
    assert_eq!((second.prior_lost, second.lost), (1, 2));
    assert!(is_near(second.sent, 200), "{second:?}");
    assert_eq!((second.in_flight, second.delivered), (9, 6));
    assert_eq!((first.app_limited, second.app_limited), (true, false));
    // If the newest segment of a sample left before the loss was found, the loss is in its interval,
    // and the ACK that shows the loss reports it.
    let acks = concluded(&notes);
    let found: Vec<_> = acks.iter().filter(|(ack, ..)| ack.lost > 0).collect();
    assert_eq!(found.len(), 2);
    for (n, (ack, connection, _)) in found.iter().enumerate() {
        assert_eq!((ack.lost, ack.rate.lost), (1, 1));
        assert_eq!(
            (connection.lost, connection.state),
            (n as u64 + 1, CaState::Recovery)
        );
    }
    let last = acks.last().expect("acks");
    assert_eq!((last.0.rate.lost, last.1.lost), (0, 2));
    use CaState::{Disorder, Open, Recovery};
    assert_eq!(
        states(&notes),
        [(Open, Disorder), (Disorder, Recovery), (Recovery, Open)]
    );
}

/// The ring of details grows with the scoreboard's, and keeps what it has.
#[test]
fn details_survive_a_growing_window() {
    let (mut path, notes) = observed(observer(Some(500)), EcnMode::Off);
    path.forward = drop_data(&[400]);
    path.start();
    path.run_until(ms(450));
    let acks = concluded(&notes);
    for (n, (ack, ..)) in acks.iter().enumerate().take(399) {
        assert_eq!(ack.rate.tx_in_flight, n as u32 + 1);
    }
    assert_eq!(losses(&notes)[0].in_flight, 400);
}

/// Linux's `cwnd_event`s, in order.
#[test]
fn events_report_what_happens_besides_acks() {
    // A probe repairs a tail loss. Only the ACK of data that leaves after it shows that.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.forward = drop_data(&[10]);
    path.sender.open(Time::ZERO);
    path.write(10 * MSS);
    path.run_until(ms(550));
    assert_eq!(path.sender.stats().probes, 1);
    path.write(5 * MSS);
    path.run_until(Time::from_secs(2));
    assert_eq!(
        events(&notes),
        [Event::TlpRecovery(true), Event::CompleteCwr]
    );
    assert!(states(&notes).contains(&(CaState::Open, CaState::Cwr)));

    // Everything is lost for two seconds.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.forward = Box::new(|segment, _, now| {
        let is_lost = segment.payload > 0 && now < ms(2_000);
        if is_lost { Fate::Drop } else { Fate::Pass }
    });
    path.transfer(10 * MSS);
    path.finish(Time::from_secs(30));
    let found = events(&notes);
    assert_eq!(found[0], Event::Loss);
    assert!(found.iter().all(|event| *event == Event::Loss), "{found:?}");
    assert!(states(&notes).contains(&(CaState::Open, CaState::Loss)));

    // Fast recovery ends, with an undo where the loss was only reordering.
    for (delay, undone) in [(None, false), (Some(ms(60)), true)] {
        let (mut path, notes) = observed(observer(None), EcnMode::Off);
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            match (segment.payload > 0 && count == 5, delay) {
                (true, None) => Fate::Drop,
                (true, Some(delay)) => Fate::Delay(delay),
                _ => Fate::Pass,
            }
        });
        path.transfer(40 * MSS);
        path.finish(Time::from_secs(10));
        let until = path.now + ms(300);
        path.run_until(until);
        let is_undo = |call: &Call| matches!(call, Call::Undo(..)).then_some(());
        assert_eq!(!all(&notes, is_undo).is_empty(), undone);
        assert!(events(&notes).contains(&Event::CompleteCwr) || undone);
        let is_threshold = |call: &Call| matches!(call, Call::Ssthresh(_)).then_some(());
        assert_eq!(all(&notes, is_threshold).len(), 1);
    }

    // Silence, and then data.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.sender.open(Time::ZERO);
    path.write(40 * MSS);
    path.run_until(Time::from_secs(10));
    path.write(MSS);
    let pauses = events(&notes);
    let [.., Event::CwndRestart, Event::TxStart(pause)] = pauses[..] else {
        panic!("{pauses:?}");
    };
    assert!(pause > Time::from_secs(9));
}

/// A control that leaves the window to the sender grows it, and only where the window is the limit.
#[test]
fn growth_is_requested_ack_by_ack() {
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.transfer(100 * MSS);
    path.finish(Time::from_secs(10));
    assert!(concluded(&notes).is_empty());
    let growths = all(&notes, |call| match call {
        Call::CongAvoid(ack) => Some(*ack),
        _ => None,
    });
    assert!(growths.len() > 60);
    assert!(growths.iter().all(|ack| ack.acked == 1 && ack.cwnd_limited));
    let acks = all(&notes, |call| match call {
        Call::Ack(ack) => Some(ack.delivered),
        _ => None,
    });
    assert!(acks.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(path.sender.stats().cwnd > 70);
}

/// Prague and BBR v2: marks as packets, bytes and per flight; the feedback that was agreed on.
#[test]
fn marks_are_reported_per_ack_and_per_flight() {
    for (ecn, agreed) in [
        (EcnMode::Accurate(Codepoint::Ect1), FeedbackMode::Accurate),
        (EcnMode::Dctcp(Codepoint::Ect0), FeedbackMode::Dctcp),
    ] {
        let (mut path, notes) = observed(observer(Some(8)), ecn);
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            // Two of each eight.
            match segment.payload > 0 && count > 8 && count % 4 == 0 {
                true => Fate::Mark,
                false => Fate::Pass,
            }
        });
        path.start();
        path.run_until(ms(1_005));
        let open = all(&notes, |call| match call {
            Call::Init(agreed, connection) => Some((*agreed, *connection)),
            _ => None,
        });
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].0, agreed);
        assert!(
            open[0].1.srtt.is_some_and(|rtt| is_near(rtt, 100)),
            "of the SYN"
        );
        let acks = concluded(&notes);
        let mut total = 0;
        for (n, (ack, ..)) in acks.iter().enumerate() {
            let is_marked = n >= 8 && n % 4 == 3;
            assert_eq!(ack.acked_ce, u32::from(is_marked), "{ecn:?} {n}");
            assert_eq!(ack.ece, is_marked);
            let bytes = if is_marked { ack.acked_bytes } else { 0 };
            assert_eq!(ack.acked_ce_bytes, bytes, "{ecn:?} {n}");
            total += u64::from(is_marked);
            assert_eq!(ack.delivered_ce, total);
            if n >= 24 {
                assert_eq!((ack.rate.delivered, ack.rate.delivered_ce), (8, 2), "{n}");
            }
        }
    }
}

/// BBR paces at a rate of its own and sets the size of bursts (`sk_pacing_rate`, `tso_segs`).
#[test]
fn pacing_and_bursts_follow_the_control() {
    for burst in [1, 3] {
        let (mut path, notes) = observed(
            Observer {
                // One segment per millisecond.
                pacing: Some(Rate::from_bps(MSS * 8 * 1_000)),
                burst: Some(burst),
                ..observer(Some(1_000))
            },
            EcnMode::Off,
        );
        let departures = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&departures);
        path.forward = Box::new(move |segment, _, now| {
            if segment.payload > 0 {
                seen.borrow_mut().push(now);
            }
            Fate::Pass
        });
        path.start();
        path.run_until(ms(400));
        let departures = departures.borrow();
        // The first ten are not paced, as with Linux's fq.
        let later = &departures[30..];
        let starts: Vec<_> = later.windows(2).filter(|pair| pair[0] != pair[1]).collect();
        for pair in &starts {
            assert!(is_near(pair[1] - pair[0], u64::from(burst)), "{pair:?}");
        }
        let mean = later.len() as f64 / (starts.len() + 1) as f64;
        assert!((mean - f64::from(burst)).abs() < 0.1, "{mean}");
        let acks = concluded(&notes);
        let (ack, connection, _) = acks.last().expect("acks");
        assert_eq!(connection.pacing_rate, Rate::from_bps(MSS * 8 * 1_000));
        assert!(connection.next_departure >= ack.now);
        assert_eq!(
            path.sender.stats().pacing_rate,
            Some(connection.pacing_rate)
        );
    }
}

/// A sample shows that the application had nothing to send, and that an ACK may have waited for the
/// receiver's timer.
#[test]
fn limits_of_the_application_and_delayed_acks_are_reported() {
    let (mut path, notes) = observed(observer(Some(50)), EcnMode::Off);
    path.sender.open(Time::ZERO);
    path.run_until(ms(500));
    for _ in 0..3 {
        path.write(100);
        let until = path.now + ms(500);
        path.run_until(until);
    }
    path.write(5 * MSS);
    let until = path.now + ms(500);
    path.run_until(until);
    let acks = concluded(&notes);
    let found: Vec<_> = acks.iter().map(|(ack, ..)| ack.is_ack_delayed).collect();
    assert_eq!(found[..3], [true; 3], "alone on its way, and small");
    assert!(!found[4..].iter().any(|delayed| *delayed));
    let limited: Vec<_> = acks.iter().map(|(ack, ..)| ack.rate.app_limited).collect();
    assert_eq!(limited, [true; 8]);
}

/// A connection may be cloned while it runs, and each copy has a control of its own.
#[test]
fn a_sender_is_cloned_with_its_control() {
    let (mut path, notes) = observed(observer(Some(4)), EcnMode::Off);
    path.start();
    path.run_until(ms(505));
    let copy = path.sender.clone();
    assert_eq!(copy.stats(), path.sender.stats());
    let count = notes.borrow().len();
    path.run_until(ms(705));
    assert!(notes.borrow().len() > count);
    assert_eq!(copy.stats().delivered, 16);
}
