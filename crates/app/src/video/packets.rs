//! The headers of video's datagrams, in the two numbers of their content.

use quell_units::Time;

use super::prague::Echo;
use crate::Content;

/// Bits of each number, beside the times.
const NUMBER: u32 = 20;
const COUNT: u32 = 12;
const INPUT: u32 = 16;
const SKIPPED: u32 = 16;
/// Bits of the time for which the server had the input, and of a packet's age.
const HOLD: u32 = 28;
const AGE: u32 = 35;
/// Nanoseconds in a unit of time.
const UNIT: u64 = 64;
/// Bits of the counters of an answer: packets received, marked, and the highest sequence number.
const COUNTER: u32 = 21;

/// The most packets of a frame.
pub(crate) const MOST_PACKETS: u64 = (1 << COUNT) - 1;

/// A packet of a frame, from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FramePacket {
    /// The frame's number; its low 20 bits travel.
    pub(crate) number: u32,
    /// Packets of the frame, 1 to [`MOST_PACKETS`].
    pub(crate) count: u32,
    /// The newest input that it shows; its low 16 bits travel.
    pub(crate) input: u32,
    /// Frames that the server has skipped so far; the low 16 bits travel.
    pub(crate) skipped: u32,
    /// Time from the arrival of the input to the hand-over of the frame, in units of 64 ns, 17 s at most.
    pub(crate) hold: Time,
    /// Time from the end of rendering to the sending of this packet, in units of 64 ns, 36 minutes at most.
    pub(crate) age: Time,
    /// Whether it is the last one of the frame.
    pub(crate) is_last: bool,
}

/// A datagram from the user's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FromUser {
    /// An input, with its number.
    Input(u32),
    /// Counters of arrivals so far, of which the low 21 bits travel.
    Echo(Echo),
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The number nearest to `near` whose low bits are `low`.
const fn unwrapped(low: u64, bits: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near) & mask(bits);
    let number = near.wrapping_add(ahead);
    if ahead > mask(bits) / 2 && number > mask(bits) {
        number - (1 << bits)
    } else {
        number
    }
}

impl FramePacket {
    pub(crate) fn pack(self) -> Content {
        let units = |time: Time, bits: u32| (time.as_nanos() / UNIT).min(mask(bits));
        let first = (u64::from(self.number) & mask(NUMBER)) << (64 - NUMBER)
            | (u64::from(self.count) & mask(COUNT)) << (INPUT + SKIPPED)
            | (u64::from(self.input) & mask(INPUT)) << SKIPPED
            | (u64::from(self.skipped) & mask(SKIPPED));
        let second = units(self.hold, HOLD) << (64 - HOLD)
            | u64::from(self.is_last) << AGE
            | units(self.age, AGE);
        [first, second]
    }

    /// The packet, at an end that expects frame `expected` and has made inputs up to `newest`.
    pub(crate) fn unpack([first, second]: Content, expected: u32, newest: u32) -> Self {
        let number = unwrapped(first >> (64 - NUMBER), NUMBER, u64::from(expected));
        let behind = u64::from(newest).wrapping_sub(first >> SKIPPED) & mask(INPUT);
        let time = |units: u64| Time::from_nanos(units * UNIT);
        Self {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            count: (first >> (INPUT + SKIPPED) & mask(COUNT)) as u32,
            // No input arrives before it was made.
            input: newest.saturating_sub(behind as u32),
            skipped: (first & mask(SKIPPED)) as u32,
            hold: time(second >> (64 - HOLD)),
            age: time(second & mask(AGE)),
            is_last: second >> AGE & 1 == 1,
        }
    }

    /// Frames that were skipped between this packet's frame and that of an earlier packet, if fewer than
    /// 65 536 were.
    pub(crate) const fn skipped_since(&self, earlier: u32) -> u32 {
        self.skipped.wrapping_sub(earlier) & mask(SKIPPED) as u32
    }
}

/// Set in the first number of an input.
const IS_INPUT: u64 = 1 << 63;

impl FromUser {
    pub(crate) fn pack(self) -> Content {
        match self {
            Self::Input(number) => [IS_INPUT | u64::from(number), 0],
            Self::Echo(echo) => [
                echo.sent.as_nanos() & !IS_INPUT,
                (echo.received & mask(COUNTER)) << (2 * COUNTER)
                    | (echo.marked & mask(COUNTER)) << COUNTER
                    | (echo.expected & mask(COUNTER)),
            ],
        }
    }

    /// The datagram, at an end that heard `last` before.
    pub(crate) fn unpack([first, second]: Content, last: &Echo) -> Self {
        if first & IS_INPUT != 0 {
            return Self::Input(first as u32);
        }
        let counter = |place: u32, before| {
            unwrapped(second >> (place * COUNTER) & mask(COUNTER), COUNTER, before)
        };
        Self::Echo(Echo {
            sent: Time::from_nanos(first),
            received: counter(2, last.received),
            marked: counter(1, last.marked),
            expected: counter(0, last.expected),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_of_a_frame_survives_the_wire(
            number in 0_u32..40_000_000,
            count in 1_u32..=4_095,
            input in 0_u32..400_000_000,
            newer in 0_u32..60_000,
            skipped: u32,
            hold in 0_u64..17_000_000_000,
            age in 0_u64..2_000_000_000_000,
            judged in 0_u32..400_000,
            is_last: bool,
        ) {
            let times = [hold, age].map(|ns| Time::from_nanos(ns / UNIT * UNIT));
            let packet = FramePacket {
                number, count, input, skipped, hold: times[0], age: times[1], is_last,
            };
            let told = FramePacket::unpack(packet.pack(), number.saturating_sub(judged), input + newer);
            prop_assert_eq!(told, FramePacket { skipped: skipped & 0xffff, ..packet });
            let late = FramePacket::unpack(packet.pack(), number + judged, input + newer);
            prop_assert_eq!(late.number, number);
            prop_assert_eq!(packet.skipped_since(skipped.wrapping_sub(9)), 9);
        }

        #[test]
        fn what_a_user_sends_survives_the_wire(
            sent in 0_u64..86_400_000_000_000,
            expected in 0_u64..100_000_000,
            lost in 0_u64..1_000,
            behind in 0_u64..1_000_000,
            number: u32,
        ) {
            let received = expected.saturating_sub(lost);
            let echo = Echo {
                sent: Time::from_nanos(sent),
                received,
                marked: received / 2,
                expected,
            };
            let last = Echo {
                sent: Time::ZERO,
                received: received.saturating_sub(behind),
                marked: (received / 2).saturating_sub(behind),
                expected: expected.saturating_sub(behind),
            };
            let told = FromUser::unpack(FromUser::Echo(echo).pack(), &last);
            prop_assert_eq!(told, FromUser::Echo(echo));
            let input = FromUser::Input(number);
            prop_assert_eq!(FromUser::unpack(input.pack(), &last), input);
        }
    }
}
