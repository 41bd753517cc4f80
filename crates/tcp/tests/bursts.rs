//! Segments that leave together, and what the receiver makes of the PSH at their end: Linux 6.12,
//! `net/ipv4/tcp_output.c` (`tcp_tso_autosize`, `tcp_cwnd_test`, `tcp_tso_should_defer`,
//! `__tcp_transmit_skb`), `tcp_input.c` (`tcp_measure_rcv_mss`), `tcp.c` (`__tcp_cleanup_rbuf`).

use crate::common;

use common::{config, ms};
use quell_tcp::{EcnMode, Flags, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
use quell_units::Time;

const MSS: u64 = 1_448;

fn us(n: u64) -> Time {
    Time::from_micros(n)
}

/// A sender that has opened over a path of this RTT, with its first flight: the PSH of each segment.
fn opened(config: &SenderConfig, rtt: Time) -> (Sender, Vec<bool>) {
    let mut sender = Sender::new(config);
    sender.open(Time::ZERO);
    sender.write_endless();
    while sender.poll(Time::ZERO).is_some() {}
    let syn_ack = Segment {
        window: 1 << 30,
        flags: Flags(Flags::SYN | Flags::ACK),
        timestamp: ms(1),
        ..Segment::default()
    };
    sender.on_segment(&syn_ack, rtt);
    let first = sent(&mut sender, rtt);
    (sender, first)
}

/// The PSH of each data segment that leaves now.
fn sent(sender: &mut Sender, now: Time) -> Vec<bool> {
    let data = std::iter::from_fn(|| sender.poll(now)).filter(|segment| segment.payload > 0);
    data.map(|segment| segment.flags.has(Flags::PSH)).collect()
}

/// So many segments are acknowledged in all.
fn acknowledge(sender: &mut Sender, segments: u64, now: Time) -> Vec<bool> {
    let ack = Segment {
        acknowledgement: segments * MSS,
        window: 1 << 30,
        flags: Flags(Flags::ACK),
        timestamp: ms(2),
        ..Segment::default()
    };
    sender.on_segment(&ack, now);
    sent(sender, now)
}

/// 200 % of the window per RTT, for 2⁻¹⁰ s, in whole segments; at least two, and at most half of the
/// window.
#[test]
fn a_burst_is_a_millisecond_of_the_pacing_rate_and_ends_with_psh() {
    // (window, RTT in ms, segments of a burst): 2 W · 1 448 / RTT / 1 024 bytes, and 64 KiB halved
    // for each 512 µs of the RTT.
    for (window, rtt, burst) in [(10, 100, 2), (10, 5, 3), (100, 20, 9), (10, 1, 5)] {
        let config = SenderConfig {
            initial_window: window,
            ..config("reno")
        };
        let (_, first) = opened(&config, ms(rtt));
        assert_eq!(first.len(), window as usize);
        for (index, &is_pushed) in first.iter().enumerate() {
            // A lone segment at the end of the flight is no burst.
            let ends_burst = (index + 1) % burst == 0;
            let ends_flight = index + 1 == first.len() && first.len() % burst > 1;
            assert_eq!(
                is_pushed,
                ends_burst || ends_flight,
                "{window} {rtt} {index}"
            );
        }
    }
}

#[test]
fn a_small_burst_waits_for_the_acks_that_are_due() {
    let wide = SenderConfig {
        initial_window: 100,
        ..config("reno")
    };
    let (mut sender, _) = opened(&wide, ms(20));
    // Nothing has left for more than 1 ms: what the window allows goes at once.
    assert_eq!(acknowledge(&mut sender, 1, ms(40)), [false, true]);
    // The window is not full now, so the send buffer grows with it, the application is woken, and fills the
    // buffer at the head of the queue: what the window allows leaves (`tcp_push_one`).
    assert_eq!(acknowledge(&mut sender, 2, ms(40) + us(100)), [false, true]);
    // From then on each ACK lets two segments go, which wait until there are ten: by then the window
    // is 107, and 2 · 107 · 1 448 bytes per 20 ms are 10.4 segments in 2⁻¹⁰ s.
    for n in 3..=6 {
        assert!(acknowledge(&mut sender, n, ms(40) + us(n * 50)).is_empty());
    }
    let burst = acknowledge(&mut sender, 7, ms(40) + us(350));
    assert_eq!(burst.len(), 10);
    assert!(burst[9] && !burst[..9].contains(&true));
    // After more than 1 ms nothing waits.
    assert_eq!(acknowledge(&mut sender, 8, ms(42)), [false, true]);
}

#[test]
fn an_ack_that_is_not_due_within_a_millisecond_is_not_waited_for() {
    let wide = SenderConfig {
        initial_window: 100,
        ..config("reno")
    };
    let (mut sender, _) = opened(&wide, ms(20));
    acknowledge(&mut sender, 1, ms(40));
    // All of the first flight is acknowledged; the oldest segment left at 40 ms, so its ACK is
    // expected at 60 ms.
    let released = acknowledge(&mut sender, 100, ms(40) + us(100));
    assert_eq!(released.len(), 198);
    assert!(!acknowledge(&mut sender, 101, ms(40) + us(200)).is_empty());
}

#[test]
fn without_offload_each_segment_leaves_at_once_and_alone() {
    let single = SenderConfig {
        initial_window: 100,
        gso: false,
        ..config("reno")
    };
    let (mut sender, first) = opened(&single, ms(20));
    assert!(!first.contains(&true));
    for n in 1..=5 {
        assert_eq!(acknowledge(&mut sender, n, ms(40) + us(n * 50)), [false; 2]);
    }
}

/// ACKs for one more segment, with or without PSH.
fn acks_of(payload: u32, flags: u16) -> usize {
    let plain = ReceiverConfig {
        quick_ack: false,
        ..ReceiverConfig::new(EcnMode::Off)
    };
    let mut receiver = Receiver::new(&plain);
    let syn = Segment {
        flags: Flags(Flags::SYN),
        ..Segment::default()
    };
    receiver.on_segment(&syn, ms(1));
    while receiver.poll(ms(1)).is_some() {}
    let segment = Segment {
        payload,
        flags: Flags(Flags::ACK | flags),
        timestamp: ms(2),
        ..Segment::default()
    };
    receiver.on_segment(&segment, ms(2));
    std::iter::from_fn(|| receiver.poll(ms(2))).count()
}

/// Linux 6.6 and later: a full segment with PSH is likely the end of a write, as a small one is, and
/// is acknowledged when the application has read it.
#[test]
fn a_lone_segment_is_acknowledged_at_once_if_it_ends_a_write() {
    assert_eq!(acks_of(1_448, 0), 0);
    assert_eq!(acks_of(1_448, Flags::PSH), 1);
    assert_eq!(acks_of(100, 0), 1);
}
