//! How two ends agree on ECN: RFC 3168 section 6.1.1, RFC 9768 sections 3.1 and 3.2.2.

use crate::common;

use common::ecn::*;
use common::{Fate, ms};
use quell_tcp::{EctScope, FeedbackMode, Segment};
use quell_units::{Ecn, Time};

/// RFC 9768 table 2, RFC 3168 section 6.1.1: which end knows what, the flags of SYN and SYN-ACK, what
/// comes of it, and the field of the data.
#[test]
fn the_two_ends_agree_on_what_both_know() {
    use FeedbackMode::{Accurate, Classic, Dctcp, Off};
    let cases = [
        (ACCURATE, ACCURATE, 0b111, 0b010, Accurate, Ecn::Ect1),
        (ACCURATE, CLASSIC, 0b111, 0b001, Classic, Ecn::Ect0),
        (ACCURATE, OFF, 0b111, 0b000, Off, Ecn::NotEct),
        (CLASSIC, ACCURATE, 0b011, 0b001, Classic, Ecn::Ect0),
        (CLASSIC, CLASSIC, 0b011, 0b001, Classic, Ecn::Ect0),
        (CLASSIC, OFF, 0b011, 0b000, Off, Ecn::NotEct),
        (DCTCP, DCTCP, 0b011, 0b001, Dctcp, Ecn::Ect0),
        (DCTCP, OFF, 0b011, 0b000, Off, Ecn::NotEct),
        (OFF, ACCURATE, 0b000, 0b000, Off, Ecn::NotEct),
        (OFF, CLASSIC, 0b000, 0b000, Off, Ecn::NotEct),
    ];
    for (client, server, syn, syn_ack, agreed, field) in cases {
        let what = format!("{client:?} {server:?}");
        let scope = EctScope::NewData;
        let (mut path, log) = noted(
            &sender("reno", client, scope),
            &receiver(server, scope),
            |_, _| {},
        );
        path.transfer(5 * MSS);
        path.finish(Time::from_secs(10));
        let (there, back) = (forward(&log), backward(&log));
        assert_eq!((ace(&there[0]), ace(&back[0])), (syn, syn_ack), "{what}");
        assert_eq!(path.sender.feedback(), agreed, "{what}");
        assert_eq!(path.receiver.feedback(), agreed, "{what}");
        let data = |s: &&Segment| s.payload > 0;
        assert!(there.iter().filter(data).all(|s| s.ecn == field), "{what}");
        let others = there.iter().filter(|s| s.payload == 0).chain(&back);
        assert!(others.copied().all(|s| s.ecn == Ecn::NotEct), "{what}");
    }
}

/// RFC 3168 sections 5.2 and 6.1; Linux `tcp_ecn_send`; draft-ietf-tcpm-generalized-ecn: whether SYN,
/// SYN-ACK, the handshake's ACK, a retransmission and an ACK are ECN-capable.
#[test]
fn the_scope_says_which_packets_are_ecn_capable() {
    let cases = [
        (CLASSIC, EctScope::NewData, [false; 5]),
        (
            CLASSIC,
            EctScope::Everything,
            [true, false, false, false, false],
        ),
        (ACCURATE, EctScope::NewData, [false; 5]),
        (
            ACCURATE,
            EctScope::Established,
            [false, false, true, true, true],
        ),
        (ACCURATE, EctScope::Everything, [true; 5]),
        (DCTCP, EctScope::NewData, [false; 5]),
        (DCTCP, EctScope::Everything, [true; 5]),
    ];
    for (ecn, scope, expected) in cases {
        let (sender, receiver) = (sender("reno", ecn, scope), receiver(ecn, scope));
        let (mut path, log) = noted(&sender, &receiver, |_, _| {});
        path.forward = common::drop_data(&[3]);
        path.transfer(20 * MSS);
        path.finish(Time::from_secs(10));
        let (there, back) = (forward(&log), backward(&log));
        let data: Vec<&Segment> = there.iter().filter(|s| s.payload > 0).collect();
        let is_first = |n: &usize| {
            data[..*n]
                .iter()
                .all(|before| before.sequence != data[*n].sequence)
        };
        let again = (0..data.len())
            .find(|n| !is_first(n))
            .expect("one was lost");
        for n in (0..data.len()).filter(is_first) {
            assert!(data[n].ecn.is_capable(), "new data always is");
        }
        let found = [&there[0], &back[0], &there[1], data[again], &back[3]];
        let found = found.map(|s| s.ecn.is_capable());
        assert_eq!(found, expected, "{ecn:?} {scope:?}");
    }
}

/// RFC 9768 tables 2 and 3: the SYN-ACK tells how the SYN arrived, and the ACK how the SYN-ACK did.
/// Invalid transitions stop ECN-capable packets (section 3.2.2.3); a marked SYN starts the sender with
/// one segment; a marked SYN-ACK is counted once.
#[test]
fn the_handshake_tells_how_its_packets_arrived() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    // (SYN arrives as, SYN-ACK arrives as, flags of SYN-ACK and ACK, field of the client's data, its
    // first ACE, of an ACK of the server).
    let cases = [
        (Ect1, Ect1, 0b011, 0b011, Ect1, 5, Ect1),
        (Ect0, Ect1, 0b100, 0b011, Ect1, 5, Ect1),
        (Ce, Ect1, 0b110, 0b011, Ect1, 5, Ect1),
        (NotEct, Ect1, 0b010, 0b011, NotEct, 5, Ect1),
        (Ect1, Ce, 0b011, 0b110, Ect1, 6, Ect1),
        (Ect1, Ect0, 0b011, 0b100, Ect1, 5, Ect1),
        (Ect1, NotEct, 0b011, 0b010, Ect1, 5, NotEct),
    ];
    for (syn, syn_ack, answer, ack, data, counter, reply) in cases {
        let what = format!("{syn:?} {syn_ack:?}");
        let scope = EctScope::Everything;
        let (mut path, log) = noted(
            &sender("reno", ACCURATE, scope),
            &receiver(ACCURATE, scope),
            move |segment, is_forward| {
                if is_syn(segment) {
                    assert_eq!(segment.ecn, Ect1);
                    segment.ecn = if is_forward { syn } else { syn_ack };
                }
            },
        );
        path.transfer(30 * MSS);
        path.run_until(ms(149));
        assert_eq!(path.sender.stats().cwnd, if syn == Ce { 1 } else { 10 });
        path.finish(Time::from_secs(10));
        let (there, back) = (forward(&log), backward(&log));
        assert_eq!((ace(&back[0]), ace(&there[1])), (answer, ack), "{what}");
        assert_eq!((there[2].ecn, ace(&there[2])), (data, counter), "{what}");
        assert_eq!(back.last().map(|s| s.ecn), Some(reply), "{what}");
        assert_eq!(path.sender.feedback(), FeedbackMode::Accurate);
        assert_eq!(path.receiver.marked_acks(), u64::from(syn_ack == Ce));
        assert_eq!(path.sender.stats().delivered_ce, 0);
    }
}

/// RFC 9768 sections 3.1.4 and 3.2.3.2.2, RFC 3168 section 6.1.1.1: how many SYNs and SYN-ACKs are
/// lost, the flags of those that were sent, which of them had the option, and what comes of it.
#[test]
fn a_handshake_that_does_not_get_through_asks_for_less() {
    use FeedbackMode::{Accurate, Classic, Off};
    let cases = [
        (ACCURATE, 1, 0, &[7, 7][..], &[2][..], Accurate, Ecn::Ect1),
        (ACCURATE, 2, 0, &[7, 7, 0], &[0], Off, Ecn::NotEct),
        // Client and server time out at the same time: one SYN-ACK answers both.
        (ACCURATE, 0, 1, &[7, 7], &[2, 2], Accurate, Ecn::Ect1),
        (CLASSIC, 1, 0, &[3, 0], &[0], Off, Ecn::NotEct),
        // Here the server had agreed before the client gave up.
        (CLASSIC, 0, 1, &[3, 0], &[1, 1], Classic, Ecn::Ect0),
        (DCTCP, 1, 0, &[3, 0], &[0], Off, Ecn::NotEct),
        (OFF, 1, 1, &[0, 0], &[0, 0], Off, Ecn::NotEct),
    ];
    for (ecn, syns, syn_acks, sent, answered, agreed, field) in cases {
        let what = format!("{ecn:?} {syns} {syn_acks}");
        let scope = EctScope::NewData;
        let (mut path, log) = noted(
            &sender("dctcp", ecn, scope),
            &receiver(ecn, scope),
            |_, _| {},
        );
        path.forward = lose_syns(syns);
        path.backward = lose_syns(syn_acks);
        path.transfer(5 * MSS);
        path.finish(Time::from_secs(60));
        let (there, back) = (forward(&log), backward(&log));
        let flags = |segments: &[Segment]| -> Vec<u16> {
            segments.iter().filter(|s| is_syn(s)).map(ace).collect()
        };
        assert_eq!(flags(&there), sent, "{what}");
        assert_eq!(flags(&back), answered, "{what}");
        assert_eq!(path.sender.feedback(), agreed, "{what}");
        let data = there.iter().filter(|s| s.payload > 0);
        assert!(data.clone().all(|s| s.ecn == field), "{what}");
        let with_option = back.iter().filter(|s| is_syn(s) && s.accecn.is_present());
        let expected = usize::from(agreed == Accurate);
        assert_eq!(with_option.count(), expected, "{what}: only the first");
    }
}
fn lose_syns<'a>(count: u64) -> common::Script<'a> {
    let mut left = count;
    Box::new(move |segment, _, _| {
        if !is_syn(segment) || left == 0 {
            return Fate::Pass;
        }
        left -= 1;
        Fate::Drop
    })
}

/// Linux `tcp_ecn_send_syn`, `tcp_ecn_clear_syn`: a control that needs ECN sends each SYN with ECT, those that no longer ask for ECN too.
/// Without such a control the advice of RFC 9768 section 3.1.4.1 holds.
#[test]
fn repeated_syns_stay_ecn_capable_where_the_control_needs_ecn() {
    for (control, ecn, lost, expected) in [
        ("prague", ACCURATE, 3, &[Ecn::Ect1; 4][..]),
        ("dctcp", DCTCP, 2, &[Ecn::Ect0; 3]),
        ("reno", ACCURATE, 2, &[Ecn::Ect1, Ecn::Ect1, Ecn::NotEct]),
    ] {
        let scope = EctScope::Everything;
        let (mut path, log) = noted(
            &sender(control, ecn, scope),
            &receiver(ecn, scope),
            |_, _| {},
        );
        path.forward = lose_syns(lost);
        path.transfer(5 * MSS);
        path.finish(Time::from_secs(60));
        let there = forward(&log);
        let syns: Vec<Ecn> = there.iter().filter(|s| is_syn(s)).map(|s| s.ecn).collect();
        assert_eq!(syns, expected, "{control}");
        assert_eq!(path.sender.feedback(), FeedbackMode::Off, "{control}");
        let mut data = there.iter().filter(|s| s.payload > 0);
        assert!(data.all(|s| s.ecn == Ecn::NotEct), "{control}");
    }
}

/// RFC 9768 section 3.2.3.2.2: the second time-out of the SYN-ACK clears the flags; section 3.1.5: the
/// server stays in its mode and sends nothing ECN-capable.
#[test]
fn a_server_that_timed_out_twice_clears_the_flags_and_stays() {
    let scope = EctScope::Everything;
    let (sender, receiver) = (sender("reno", ACCURATE, scope), receiver(ACCURATE, scope));
    let (mut path, log) = noted(&sender, &receiver, |_, _| {});
    // Only the third reaches the client, and no SYN is repeated before.
    path.forward = Box::new(|segment, n, _| match is_syn(segment) && n > 1 {
        true => Fate::Drop,
        false => Fate::Pass,
    });
    path.backward = lose_syns(2);
    path.transfer(5 * MSS);
    path.finish(Time::from_secs(60));
    let back = backward(&log);
    let syn_acks: Vec<_> = back
        .iter()
        .filter(|s| is_syn(s))
        .map(|s| (ace(s), s.ecn.is_capable(), s.accecn.is_present()))
        .collect();
    assert_eq!(
        syn_acks,
        [(3, true, true), (3, true, false), (0, false, false)]
    );
    assert_eq!(path.receiver.feedback(), FeedbackMode::Accurate);
    assert_eq!(path.sender.feedback(), FeedbackMode::Off);
    assert!(back.iter().skip(2).all(|s| s.ecn == Ecn::NotEct));
}

/// What a middlebox makes of the flags of the SYN-ACK (RFC 9768 table 2; section 3.1.3 for 101).
#[test]
fn the_flags_of_the_syn_ack_decide_whoever_wrote_them() {
    use FeedbackMode::{Accurate, Classic, Off};
    for (bits, expected) in [
        (0b000, Off),
        (0b001, Classic),
        (0b010, Accurate),
        (0b101, Accurate),
        (0b111, Off),
    ] {
        let scope = EctScope::NewData;
        let (mut path, log) = noted(
            &sender("reno", ACCURATE, scope),
            &receiver(ACCURATE, scope),
            move |segment, is_forward| {
                if is_syn(segment) && !is_forward {
                    set_ace(segment, bits);
                }
            },
        );
        path.transfer(20 * MSS);
        path.finish(Time::from_secs(10));
        assert_eq!(path.sender.feedback(), expected, "{bits:03b}");
        let is_capable = forward(&log).iter().any(|s| s.ecn.is_capable());
        assert_eq!(is_capable, expected != Off, "{bits:03b}");
    }
}
