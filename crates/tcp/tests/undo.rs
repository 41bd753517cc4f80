//! Reductions that D-SACKs show to be needless (Linux `tcp_init_undo`, `tcp_try_undo_dsack`), with tail loss
//! probes among the retransmissions. The ACKs are written by hand and have no timestamps, so that
//! nothing else shows it.

use crate::common;

use common::{config, ms};
use quell_tcp::cc::CaState;
use quell_tcp::{Flags, Sack, Segment, Sender, SenderConfig};
use quell_units::Time;

const MSS: u64 = 1_448;

/// A sender after ten segments, of which seven were acknowledged at 200 ms.
struct Exchange {
    sender: Sender,
    now: Time,
}

impl Exchange {
    fn new() -> Self {
        let sender = Sender::new(&SenderConfig {
            gso: false,
            ..config("reno")
        });
        let mut exchange = Self {
            sender,
            now: Time::ZERO,
        };
        exchange.sender.open(Time::ZERO);
        exchange.sent();
        exchange.ack(100, 0, Flags::SYN, &[]);
        exchange.sender.write(10 * MSS);
        assert_eq!(exchange.sent().len(), 10);
        exchange.ack(200, 7, 0, &[]);
        exchange
    }
    /// What leaves now, by number.
    fn sent(&mut self) -> Vec<u64> {
        let polled = std::iter::from_fn(|| self.sender.poll(self.now));
        let data = polled.filter(|segment| segment.payload > 0);
        data.map(|segment| segment.sequence / MSS).collect()
    }
    /// An ACK of the first `number` segments, with these ranges.
    fn ack(&mut self, millis: u64, number: u64, flags: u16, ranges: &[(u64, u64)]) -> Vec<u64> {
        self.now = ms(millis);
        let mut segment = Segment {
            acknowledgement: number * MSS,
            window: 1 << 20,
            flags: Flags(Flags::ACK | flags),
            ..Segment::default()
        };
        for &(start, end) in ranges {
            let (start, end) = (start * MSS, end * MSS);
            segment.sacks.push(number * MSS, Sack { start, end });
        }
        self.sender.on_segment(&segment, self.now);
        self.sent()
    }
    fn timer(&mut self) -> Vec<u64> {
        self.now = self.sender.next_timer().expect("a timer");
        self.sender.on_timer(self.now);
        self.sent()
    }
}

/// The probe is in flight when recovery begins: one retransmission among two, not among three.
#[test]
fn a_probe_in_flight_counts_once() {
    let mut exchange = Exchange::new();
    assert_eq!(exchange.timer(), [9], "the probe");
    let cwnd = exchange.sender.stats().cwnd;
    // The originals are late. The eighth segment overtakes the seventh by more than a quarter of the RTT.
    exchange.ack(420, 7, 0, &[(8, 9)]);
    assert_eq!(exchange.timer(), [7], "a fast retransmission");
    assert_eq!(exchange.sender.state(), CaState::Recovery);
    exchange.ack(460, 9, 0, &[]);
    exchange.ack(470, 9, 0, &[(7, 8)]);
    exchange.ack(480, 10, 0, &[]);
    let stats = exchange.sender.stats();
    assert_eq!((stats.undone, stats.retransmitted), (0, 2));
    assert!(stats.cwnd < cwnd);
    exchange.ack(490, 10, 0, &[(9, 10)]);
    let stats = exchange.sender.stats();
    assert_eq!((stats.undone, stats.cwnd), (1, cwnd));
}

/// The probe leaves after recovery: it is none of the retransmissions that the reduction has caused.
#[test]
fn a_probe_after_recovery_does_not_count() {
    let mut exchange = Exchange::new();
    let cwnd = exchange.sender.stats().cwnd;
    exchange.ack(320, 7, 0, &[(8, 10)]);
    assert_eq!(exchange.timer(), [7], "a fast retransmission");
    exchange.ack(380, 10, 0, &[]);
    assert_eq!(exchange.sender.state(), CaState::Open);
    exchange.sender.write(MSS);
    assert_eq!(exchange.sent(), [10]);
    assert_eq!(exchange.timer(), [10], "the probe");
    let millis = exchange.now.as_nanos() / 1_000_000 + 5;
    exchange.ack(millis, 10, 0, &[(7, 8)]);
    let stats = exchange.sender.stats();
    assert_eq!((stats.undone, stats.probes), (1, 1));
    assert_eq!(stats.cwnd, cwnd);
}
