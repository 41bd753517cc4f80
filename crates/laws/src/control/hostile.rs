//! Tests in which an end receives any segment that can be written: old and new numbers, any flags, blocks, windows, counters, timestamps.
//!
//! Data that a liar acknowledges is not delivered, so there is no law about delivery; all others hold.

use quell_tcp::{AccEcnOption, Flags, Order, Sack, Segment};
use quell_units::{Ecn, Time};

use super::ends::{Ends, WatchedReceiver, WatchedSender};
use crate::choices::Choices;

/// Sequence numbers that are tried are about this far apart.
const STEP: u64 = 1_448;

/// A number of the stream: mostly one that makes sense.
fn position(choices: &mut Choices<'_>, next: u64) -> u64 {
    match choices.byte() {
        0..160 => (next / STEP).saturating_sub(choices.byte() % 40) * STEP,
        160..200 => next + choices.byte() % 3,
        200..230 => choices.number(3),
        230..245 => next.saturating_add(choices.number(4)),
        _ => choices.of(&[0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 32) - 1]),
    }
}

fn segment(choices: &mut Choices<'_>, next: u64, now: Time) -> Segment {
    let acknowledgement = position(choices, next);
    let usual = Flags::ACK;
    let flags = match choices.byte() {
        0..160 => usual,
        160..200 => {
            usual | choices.of(&[Flags::ECE, Flags::CWR, Flags::AE, Flags::FIN, Flags::PSH])
        }
        _ => choices.number(2) as u16,
    };
    let mut segment = Segment {
        sequence: position(choices, next),
        acknowledgement,
        flags: Flags(flags),
        window: choices.of(&[1 << 30, 65_535, 3_000, 1, 0, u32::MAX]),
        payload: choices.of(&[0, 1_448, 1, 3_000, u32::MAX]),
        ecn: Ecn::from_bits(choices.byte() as u8),
        timestamp: choices.of(&[now, Time::ZERO, Time::MAX]),
        echo: choices.of(&[now, Time::ZERO, Time::from_nanos(1), Time::MAX]),
        ..Segment::default()
    };
    for _ in 0..choices.byte() % 4 {
        let start = position(choices, next);
        let end = start.saturating_add((1 + choices.byte() % 8) * STEP);
        segment.sacks.push(acknowledgement, Sack { start, end });
    }
    if choices.byte() % 4 == 1 {
        let counters = [choices.number(3), choices.number(3), choices.number(3)];
        let order = choices.of(&[Order::Zero, Order::One]);
        segment.accecn = AccEcnOption::new(order, &counters[..choices.byte() as usize % 4]);
    }
    segment
}

/// A sender that receives lies.
pub fn sender_keeps_the_laws(ends: &Ends, choices: &mut Choices<'_>) {
    let mut sender = WatchedSender::new(&ends.sender);
    let mut now = Time::ZERO;
    let mut next = 0;
    sender.tcp.open(now);
    let serve = |sender: &mut WatchedSender, now, next: &mut u64| {
        sender.serve(now, |segment| *next = segment.end().max(*next));
    };
    serve(&mut sender, now, &mut next);
    let syn_ack = Segment {
        flags: Flags(Flags::SYN | Flags::ACK),
        window: 65_535,
        ..Segment::default()
    };
    sender.arrive(&syn_ack, now);
    while !choices.is_empty() {
        match choices.byte() % 8 {
            0 => sender.write(choices.byte() % 40 * STEP),
            1 => {
                let until = now + choices.time();
                while let Some(due) = sender.tcp.next_timer().filter(|due| *due <= until) {
                    now = now.max(due);
                    serve(&mut sender, now, &mut next);
                }
                now = until;
            }
            2 if choices.byte() == 7 => sender.close(),
            _ => {
                let segment = segment(choices, next, now);
                sender.arrive(&segment, now);
            }
        }
        serve(&mut sender, now, &mut next);
    }
}

/// A receiver that receives lies.
pub fn receiver_keeps_the_laws(ends: &Ends, choices: &mut Choices<'_>) {
    let mut receiver = WatchedReceiver::new(&ends.receiver);
    let mut now = Time::ZERO;
    let mut next = 0;
    let syn = Segment {
        flags: Flags(Flags::SYN),
        ..Segment::default()
    };
    receiver.arrive(&syn, now);
    receiver.serve(now, |_| {});
    while !choices.is_empty() {
        match choices.byte() % 8 {
            0 | 1 => {
                let until = now + choices.time();
                while let Some(due) = receiver.tcp.next_timer().filter(|due| *due <= until) {
                    now = now.max(due);
                    receiver.serve(now, |_| {});
                }
                now = until;
            }
            2..5 => {
                let plain = Segment {
                    sequence: next,
                    payload: 1_448,
                    flags: Flags(Flags::ACK),
                    timestamp: now,
                    ..Segment::default()
                };
                next += STEP;
                receiver.arrive(&plain, now);
            }
            _ => {
                let segment = segment(choices, next, now);
                receiver.arrive(&segment, now);
            }
        }
        receiver.serve(now, |_| {});
    }
}
