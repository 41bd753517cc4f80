//! What a receiver answers, and when, with timers that are exact to the nanosecond. Whole exchanges, beside
//! Linux's, are the scripts of `crates/replay`.

use quell_tcp::{Codepoint, EcnMode, Flags, Receiver, ReceiverConfig, Segment};
use quell_units::{Ecn, Time};

const MSS: u64 = 1_000;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// What a receiver answers to segments of 1 000 bytes: each arrival is (millisecond, first segment, CE,
/// CWR), each ACK (millisecond, everything up to, ECE).
fn answers(
    receiver: &ReceiverConfig,
    arrivals: &[(u64, u64, bool, bool)],
) -> Vec<(u64, u64, bool)> {
    let mut receiver = Receiver::new(receiver);
    let syn = Segment {
        flags: Flags(Flags::SYN | Flags::ECE | Flags::CWR),
        ..Segment::default()
    };
    receiver.on_segment(&syn, Time::ZERO);
    while receiver.poll(Time::ZERO).is_some() {}
    let handshake = Segment {
        flags: Flags(Flags::ACK),
        ..Segment::default()
    };
    receiver.on_segment(&handshake, Time::ZERO);
    let mut acks = Vec::new();
    let mut pass = |receiver: &mut Receiver, now: Time| {
        while let Some(ack) = receiver.poll(now) {
            let millis = now.as_nanos() / 1_000_000;
            acks.push((millis, ack.acknowledgement / MSS, ack.flags.has(Flags::ECE)));
        }
    };
    for &(at, number, ce, cwr) in arrivals {
        while let Some(due) = receiver.next_timer().filter(|due| *due <= ms(at)) {
            receiver.on_timer(due);
            pass(&mut receiver, due);
        }
        let segment = Segment {
            sequence: number * MSS,
            payload: MSS as u32,
            flags: Flags(Flags::ACK | if cwr { Flags::CWR } else { 0 }),
            ecn: if ce { Ecn::Ce } else { Ecn::Ect0 },
            ..Segment::default()
        };
        receiver.on_segment(&segment, ms(at));
        pass(&mut receiver, ms(at));
    }
    while let Some(due) = receiver.next_timer() {
        receiver.on_timer(due);
        pass(&mut receiver, due);
    }
    acks
}
fn receiver(quick_ack: bool, ecn: EcnMode) -> ReceiverConfig {
    ReceiverConfig {
        mss: MSS as u32,
        quick_ack,
        ..ReceiverConfig::new(ecn)
    }
}

/// RFC 5681 section 4.2 and Linux's `TCP_ATO_MIN`, `__tcp_ack_snd_check`: each segment at once in the
/// quick-ack phase; afterwards every second one, or one after 40 ms; one beyond a gap and one that
/// fills it at once.
#[test]
fn acks_wait_for_a_second_segment_or_forty_milliseconds() {
    let plain = |at, number| (at, number, false, false);
    for (quick, arrivals, expected) in [
        (
            true,
            &[plain(0, 0), plain(1, 1), plain(2, 2)][..],
            &[(0, 1), (1, 2), (2, 3)][..],
        ),
        (
            false,
            &[plain(0, 0), plain(1, 1), plain(2, 2)],
            &[(1, 2), (42, 3)],
        ),
        (false, &[plain(0, 0)], &[(40, 1)]),
        (false, &[plain(0, 0), plain(39, 1)], &[(39, 2)]),
        (false, &[plain(0, 1), plain(5, 0)], &[(0, 0), (5, 2)]),
    ] {
        let found: Vec<_> = answers(&receiver(quick, EcnMode::Off), arrivals)
            .into_iter()
            .map(|(at, ack, _)| (at, ack))
            .collect();
        assert_eq!(found, expected, "{quick} {arrivals:?}");
    }
}

/// RFC 3168 section 6.1.3: ECE from the first CE until CWR, also on ACKs of what had none; a CE beside
/// CWR begins anew. Linux acknowledges CWR at once, and two segments after the first CE.
#[test]
fn ece_lasts_until_cwr() {
    let classic = receiver(false, EcnMode::Classic(Codepoint::Ect0));
    let arrivals = [
        (0, 0, false, false),
        (1, 1, false, false),
        (2, 2, true, false),
        (3, 3, false, false),
        (4, 4, false, false),
        (5, 5, false, false),
        (6, 6, false, true),
        (7, 7, false, false),
        (8, 8, false, false),
        (9, 9, true, true),
    ];
    let acks = answers(&classic, &arrivals);
    let echoed: Vec<_> = acks.iter().map(|(_, ack, ece)| (*ack, *ece)).collect();
    for (ack, ece) in &echoed {
        let expected = (3..=6).contains(ack) || *ack == 10;
        assert_eq!(*ece, expected, "{echoed:?}");
    }
    assert!(
        acks.contains(&(6, 7, false)),
        "CWR is acknowledged at once: {acks:?}"
    );
}

/// RFC 7323 section 5.3 with the tick that Linux allows (`TCP_PAWS_WINDOW`): a segment whose timestamp is older than that of what has been
/// acknowledged is discarded, from two milliseconds on.
#[test]
fn a_timestamp_may_be_older_by_one_tick() {
    for (older, segments) in [(0, 2), (1, 2), (2, 1), (9, 1)] {
        let mut receiver = Receiver::new(&receiver(true, EcnMode::Off));
        let mut arrives = |flags: u16, number: u64, payload: u64, stamp: u64| {
            let segment = Segment {
                sequence: number * MSS,
                payload: payload as u32,
                flags: Flags(flags),
                timestamp: ms(stamp),
                ..Segment::default()
            };
            receiver.on_segment(&segment, ms(20));
            while receiver.poll(ms(20)).is_some() {}
            receiver.delivered()
        };
        arrives(Flags::SYN, 0, 0, 1);
        arrives(Flags::ACK, 0, 0, 2);
        assert_eq!(arrives(Flags::ACK, 0, MSS, 10), MSS);
        let delivered = arrives(Flags::ACK, 1, MSS, 10 - older);
        assert_eq!(delivered, segments * MSS, "{older} ms older");
    }
}
