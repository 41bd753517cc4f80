//! What the sender owes a control that models the path: Prague, H-TCP, Compound, BBR v1, v2 and v3. Each
//! test is a scripted exchange; the facts are Linux's (`net/ipv4/tcp_input.c`, `tcp_output.c`,
//! `tcp_rate.c` of 6.18) and those of Google's trees where they are named.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::observer::{Call, Notes, Observer, all, concluded, observed, observer, path_of};
use common::{Fate, Path, drop_data, ms};
use quell_tcp::cc::{CaState, Connection, Event};
use quell_tcp::{EcnMode, Flags, Segment, Sender, SenderConfig};
use quell_units::{Rate, Time};

const MSS: u64 = 1_448;

fn off<'a>(observer: Observer) -> (Path<'a>, Notes) {
    observed(observer, EcnMode::Off)
}
fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

/// `tcp_is_cwnd_limited`: in slow start the window counts as the limit if it was half full; the flag
/// `is_cwnd_limited` has no such clause.
#[test]
fn a_control_that_sets_the_window_knows_whether_it_was_full() {
    for (cwnd, ssthresh, cwnd_limited, flag) in [
        (5, u32::MAX, true, true),
        (9, u32::MAX, true, false),
        (10, u32::MAX, false, false),
        (9, 4, false, false),
    ] {
        let (mut path, notes) = off(Observer {
            ssthresh: Some(ssthresh),
            ..observer(Some(cwnd))
        });
        path.sender.open(Time::ZERO);
        path.run_until(ms(200));
        // Five segments.
        path.write(5 * MSS);
        path.run_until(ms(400));
        let acks = concluded(&notes);
        assert_eq!(acks.len(), 5);
        let (first, connection, _) = acks[0];
        assert_eq!(first.cwnd_limited, cwnd_limited, "{cwnd} {ssthresh}");
        assert_eq!(connection.is_cwnd_limited, flag, "{cwnd} {ssthresh}");
    }
}

/// `undo_cwnd` may change the control's state, as those of H-TCP, BBR and Prague do. Two segments are late
/// enough to be taken for lost.
#[test]
fn an_undo_may_change_the_control() {
    let (mut path, notes) = off(observer(None));
    path.forward = Box::new(|segment, _, _| {
        let number = segment.sequence / MSS;
        let is_first = segment.payload > 0 && (number == 4 || number == 60);
        match is_first {
            true => Fate::Delay(ms(60)),
            false => Fate::Pass,
        }
    });
    path.transfer(120 * MSS);
    path.finish(Time::from_secs(10));
    let undone = all(&notes, |call| match call {
        Call::Undo(count, connection) => Some((*count, *connection)),
        _ => None,
    });
    let counts: Vec<_> = undone.iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, [1, 2]);
    for (_, connection) in undone {
        assert!(connection.state >= CaState::Disorder);
        assert!(connection.now > ms(200) && connection.delivered > 5);
    }
}

/// BBR's PROBE_RTT writes `app_limited = delivered + in_flight`: the samples of what leaves until that
/// much is delivered are limited by the application.
#[test]
fn a_control_may_declare_the_connection_limited_by_the_application() {
    let (mut path, notes) = off(Observer {
        declares: Some(8),
        ..observer(Some(4))
    });
    path.start();
    path.run_until(ms(805));
    let acks = concluded(&notes);
    // Declared with 3 in flight: until 3 more are delivered.
    for (n, (_, connection, _)) in acks.iter().enumerate() {
        assert_eq!(connection.app_limited, (9..=11).contains(&n), "{n}");
    }
    // What leaves with ACKs 8 to 11 is delivered by ACKs 12 to 15; the first flight left before anything
    // was delivered.
    for (n, (ack, ..)) in acks.iter().enumerate() {
        let expected = n < 4 || (12..=15).contains(&n);
        assert_eq!(ack.rate.app_limited, expected, "{n}");
    }
}

/// `skb_marked_lost`, `ssthresh`, `set_state`, `cwnd_event` and `undo_cwnd` get the socket in Linux.
#[test]
fn every_call_comes_with_the_connection_as_it_is_then() {
    let (mut path, notes) = off(observer(None));
    path.forward = drop_data(&[3]);
    path.sender.open(Time::ZERO);
    path.write(10 * MSS);
    path.run_until(Time::from_secs(1));
    let found = all(&notes, |call| match call {
        Call::Lost(_, connection) => Some(("lost", *connection)),
        Call::Ssthresh(connection) => Some(("ssthresh", *connection)),
        Call::State(CaState::Recovery, connection) => Some(("recovery", *connection)),
        _ => None,
    });
    let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["lost", "ssthresh", "recovery"]);
    for (name, connection) in found {
        let Connection {
            now,
            state,
            snd_una,
            snd_nxt,
            delivered,
            delivered_mstamp_us,
            lost,
            mss,
            mtu,
            ..
        } = connection;
        // The SYN, two in order and three SACKs; the third SACK shows the loss.
        assert_eq!((now, state), (ms(200), CaState::Disorder), "{name}");
        assert_eq!((snd_una, snd_nxt), (2 * MSS, 10 * MSS), "{name}");
        assert_eq!((delivered, delivered_mstamp_us), (6, 200_000), "{name}");
        assert_eq!((lost, mss, mtu), (1, 1_448, 1_500), "{name}");
    }
    // Silence, and then data: the application was the limit.
    path.write(MSS);
    let started = all(&notes, |call| match call {
        Call::Event(Event::TxStart(_), connection) => Some(*connection),
        _ => None,
    });
    let connection = started.last().expect("a start");
    assert!(connection.app_limited);
    assert_eq!((connection.in_flight, connection.delivered), (0, 11));
}

/// `in_ack_event` and `pkts_acked` come before the end of a tail loss probe and the change of state.
#[test]
fn the_call_for_an_ack_comes_before_what_the_ack_changes() {
    let (mut path, notes) = off(observer(None));
    path.forward = drop_data(&[10]);
    path.sender.open(Time::ZERO);
    path.write(10 * MSS);
    path.run_until(ms(550));
    path.write(5 * MSS);
    path.run_until(Time::from_secs(2));
    let notes = notes.borrow();
    let is_cwr = |call: &Call| matches!(call, Call::State(CaState::Cwr, _));
    let at = notes.iter().position(is_cwr).expect("a reduction");
    let [
        ..,
        Call::Ack(ack),
        Call::Event(Event::TlpRecovery(limited), _),
        Call::Ssthresh(_),
    ] = notes[..at]
    else {
        panic!("{:?}", &notes[at.saturating_sub(4)..at]);
    };
    assert!(ack.snd_una > 10 * MSS);
    // `tlp_orig_data_app_limited`: all ten left before anything was delivered.
    assert!(limited);
}

/// `interval_us` is -1 where it would be shorter than the lowest RTT (`tcp_rate_gen`), and then BBR's rounds
/// (`next_rtt_delivered`) stand still. After a needless time-out the originals are acknowledged each 5 ms,
/// and each retransmission leaves just before.
#[test]
fn an_unusable_rate_sample_begins_no_round() {
    let notes = Notes::default();
    let observer = Observer {
        notes: Rc::clone(&notes),
        ..observer(Some(4))
    };
    let config = SenderConfig {
        gso: false,
        ..SenderConfig::new(common::control("reno", &[]))
    };
    let mut sender = Sender::with_control(&config, Box::new(observer));
    // Without timestamps, so that no echo shows the time-out to be needless.
    let answer = |number: u64, flags: u16| Segment {
        acknowledgement: number * MSS,
        window: 1 << 20,
        flags: Flags(Flags::ACK | flags),
        ..Segment::default()
    };
    let poll = |sender: &mut Sender, now| std::iter::from_fn(|| sender.poll(now)).count();
    sender.open(ms(0));
    poll(&mut sender, ms(0));
    sender.on_segment(&answer(0, Flags::SYN), ms(100));
    sender.write(4 * MSS);
    poll(&mut sender, ms(100));
    let mut now = ms(100);
    while sender.stats().rto_count == 0 {
        now = sender.next_timer().expect("a timer");
        sender.on_timer(now);
        poll(&mut sender, now);
    }
    for number in 1..=4 {
        now += ms(5);
        sender.on_segment(&answer(number, 0), now);
        poll(&mut sender, now);
    }
    let acks = concluded(&notes);
    let found: Vec<_> = acks
        .iter()
        .map(|(ack, _, rounds)| (ack.rate.interval_us > 0, *rounds))
        .collect();
    // The first retransmission left long after the flight had begun.
    assert_eq!(found[0], (true, 1));
    assert!(found[1..].iter().all(|ack| *ack == (false, 1)), "{found:?}");
    assert!(acks[1].0.rate.prior_delivered >= acks[0].0.delivered);
}

/// `tcp_tso_autosize` asks for the least number before it rounds; a control may want single segments, where
/// the window allows two together as well.
#[test]
fn a_control_sees_the_bytes_of_a_burst_and_may_send_single_segments() {
    for (bps, most) in [(1_000_000, 122), (2_000_000_000, 65_215)] {
        for (burst, together) in [(None, 2), (Some(1), 1)] {
            let observer = Observer {
                pacing: Some(Rate::from_bps(bps)),
                burst,
                ..observer(Some(100))
            };
            let offered = Rc::clone(&observer.offered);
            let (mut path, _) = path_of(observer, EcnMode::Off, true);
            let departures = Rc::new(RefCell::new(Vec::new()));
            let seen = Rc::clone(&departures);
            path.forward = Box::new(move |segment, _, now| {
                if segment.payload > 0 {
                    seen.borrow_mut().push(now);
                }
                Fate::Pass
            });
            path.start();
            path.run_until(Time::from_secs(1));
            // 10⁶ bit/s are 122 bytes in 2⁻¹⁰ s; at an RTT of 100 ms there is no allowance for close peers.
            assert!(offered.borrow().iter().all(|bytes| *bytes == most));
            if bps == 1_000_000 {
                // The first ten are not paced.
                let departures = departures.borrow();
                let later = &departures[20..40];
                let bursts = later.chunk_by(|a, b| a == b).collect::<Vec<_>>();
                let inner = &bursts[1..bursts.len() - 1];
                assert!(inner.iter().all(|burst| burst.len() == together));
            }
        }
    }
    // A window of four: at most half of it leaves together.
    let (mut path, _) = path_of(
        Observer {
            pacing: Some(Rate::from_bps(1_000_000)),
            burst: Some(1),
            ..observer(Some(4))
        },
        EcnMode::Off,
        true,
    );
    let mut last = Time::ZERO;
    let count = Rc::new(RefCell::new((0, 0)));
    let counted = Rc::clone(&count);
    path.forward = Box::new(move |segment, _, now| {
        if segment.payload > 0 {
            let (all, pairs) = &mut *counted.borrow_mut();
            *all += 1;
            *pairs += u32::from(*all > 12 && now == last);
            last = now;
        }
        Fate::Pass
    });
    path.start();
    path.run_until(Time::from_secs(3));
    assert!(count.borrow().0 > 40);
    assert_eq!(count.borrow().1, 0);
}

/// `tcp_rate_gen`: instants are rounded down to microseconds before they are subtracted, and compared with
/// the lowest RTT in microseconds. Of an RTT of 100 000.7 µs some intervals have 100 000 and some 100 001.
#[test]
fn intervals_are_differences_of_whole_microseconds() {
    let (mut path, notes) = off(observer(Some(1)));
    path.rtt = Time::from_nanos(100_000_700);
    path.start();
    path.run_until(Time::from_secs(3));
    let acks = concluded(&notes);
    assert!(acks.len() > 20);
    let mut seen = [0; 2];
    for (n, (ack, connection, _)) in acks.iter().enumerate() {
        // Each leaves when the one before is acknowledged.
        let now = ms(100) * (n as u64 + 2) + Time::from_nanos(700 * (n as u64 + 2));
        assert_eq!(ack.now, now);
        let sent = now - path.rtt;
        let rate = &ack.rate;
        assert_eq!(rate.rcv_interval_us, micros(now) - micros(sent), "{n}");
        assert_eq!(rate.interval_us, rate.rcv_interval_us, "{n}");
        assert_eq!(connection.delivered_mstamp_us, micros(now));
        seen[(rate.interval_us - 100_000) as usize] += 1;
    }
    assert!(seen[0] > 5 && seen[1] > 10, "{seen:?}");
}

/// BBR v3 (`is_acking_tlp_retrans_seq`): the ACK that ends with a repeated probe.
#[test]
fn an_ack_that_ends_with_a_repeated_probe_is_known() {
    for (new_data, lost, expected) in [(false, 10, 1), (true, 10, 0)] {
        let lost = [lost];
        let (mut path, notes) = off(observer(Some(10)));
        path.forward = drop_data(&lost);
        path.sender.open(Time::ZERO);
        path.write(10 * MSS);
        if new_data {
            // The probe carries new data, for which the window had no room.
            path.write(MSS);
            path.forward = Box::new(|segment, _, now| {
                let is_lost = segment.payload > 0 && now < ms(150);
                if is_lost { Fate::Drop } else { Fate::Pass }
            });
        }
        path.run_until(Time::from_secs(3));
        assert!(path.sender.is_done());
        assert_eq!(path.sender.stats().probes, 1);
        let found: Vec<_> = concluded(&notes)
            .iter()
            .filter(|(ack, ..)| ack.is_acking_tlp_retrans_seq)
            .map(|(ack, ..)| (ack.snd_una, ack.acked))
            .collect();
        assert_eq!(found.len(), expected, "{found:?}");
        assert!(found.iter().all(|ack| *ack == (10 * MSS, 1)));
    }
}

/// The SYN counts as a segment delivered, as in Linux: BBR v1 compares with 10.
#[test]
fn the_syn_is_the_first_segment_delivered() {
    let (mut path, notes) = off(observer(Some(4)));
    path.start();
    path.run_until(ms(205));
    let opened = all(&notes, |call| match call {
        Call::Init(_, connection) => Some(connection.delivered),
        _ => None,
    });
    assert_eq!(opened, [1]);
    let delivered: Vec<_> = concluded(&notes)
        .iter()
        .map(|(ack, connection, _)| (ack.delivered, connection.delivered))
        .collect();
    assert_eq!(delivered, [(2, 2), (3, 3), (4, 4), (5, 5)]);
    assert_eq!(path.sender.stats().delivered, 4);
}

/// `ack_sample::pkts_acked`: what the acknowledgement number passes, whether it was delivered now or
/// selectively acknowledged before.
#[test]
fn segments_acknowledged_in_order_are_counted_apart() {
    let (mut path, notes) = off(observer(None));
    path.forward = drop_data(&[3]);
    path.transfer(10 * MSS);
    path.finish(Time::from_secs(5));
    let acks = all(&notes, |call| match call {
        Call::Ack(ack) => Some((ack.acked, ack.acked_in_order)),
        _ => None,
    });
    let sacked = [(1, 0); 7];
    let mut expected = vec![(1, 1), (1, 1)];
    expected.extend(sacked);
    expected.push((1, 8));
    // The FIN's number is acknowledged with the last segment.
    assert_eq!(acks, expected);
}

/// BBR paces at its estimate when it starts again after a pause (`bbr_set_pacing_rate` at TX_START), and
/// that holds for the segment that starts.
#[test]
fn a_pacing_rate_set_after_a_pause_holds_at_once() {
    let slow = Rate::from_bps(MSS * 8 * 100);
    let (mut path, _) = off(Observer {
        pacing: Some(Rate::from_bps(MSS * 8 * 1_000)),
        restart: Some(slow),
        ..observer(Some(40))
    });
    path.sender.open(Time::ZERO);
    path.write(20 * MSS);
    path.run_until(Time::from_secs(1));
    path.write(2 * MSS);
    assert_eq!(path.sender.stats().pacing_rate, Some(slow));
    assert_eq!(path.sender.stats().in_flight, 1);
    // A late start is made up for by half a gap.
    path.run_until(ms(1_004));
    assert_eq!(path.sender.stats().in_flight, 1);
    path.run_until(ms(1_006));
    assert_eq!(path.sender.stats().in_flight, 2);
}
