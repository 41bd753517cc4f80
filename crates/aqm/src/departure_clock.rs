//! When transmissions end: exact serialisation in integer arithmetic.
//!
//! A packet of `n` link bytes at `r` bit/s takes n·8·10⁹/r ns. The quotient moves the clock, the
//! remainder is carried to the next back-to-back packet, so a busy period of any length ends within
//! one nanosecond of its exact value. An idle link starts anew: its remainder, less than 1 ns, is
//! forgotten.
//!
//! Only here do link bytes count: IP length plus `overhead` (signed: 14 equals what `tc` counts on
//! Ethernet, 38 what Ethernet occupies on the wire), and at least `mpu`, the minimum packet unit of
//! `tc stab`.

use crate::units::{Bytes, Rate, Time};

/// The bytes of a packet on the link beyond its IP length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes added to each packet; may be negative.
    pub overhead: i32,
    /// Smallest number of bytes that a packet occupies.
    pub mpu: Bytes,
}

impl Framing {
    /// Link bytes of an IP packet of `len`; at least 1.
    #[inline]
    pub fn link_bytes(&self, len: Bytes) -> Bytes {
        let framed = len.get().saturating_add_signed(i64::from(self.overhead));
        Bytes::new(framed.max(self.mpu.get()).max(1))
    }
}

/// The transmission of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Start of transmission: the packet leaves the queue.
    pub start: Time,
    /// End of transmission: its last bit leaves the link.
    pub end: Time,
    /// Bytes that it occupies on the link.
    pub link_bytes: Bytes,
}

/// The clock of one link.
#[derive(Debug, Clone)]
pub struct DepartureClock {
    rate: Rate,
    framing: Framing,
    /// End of the last transmission, rounded down.
    free_at: Time,
    /// The remainder of rounding down, in units of 1/rate ns; below the rate.
    remainder: u64,
}

impl DepartureClock {
    /// A link that is free now.
    pub fn new(rate: Rate, framing: Framing) -> Self {
        Self {
            rate,
            framing,
            free_at: Time::ZERO,
            remainder: 0,
        }
    }
    /// The rate of the next transmission.
    pub fn rate(&self) -> Rate {
        self.rate
    }
    /// The framing of packets.
    pub fn framing(&self) -> Framing {
        self.framing
    }
    /// Changes the rate of transmissions that start from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        // The carried fraction of a nanosecond keeps its length.
        self.remainder = if self.rate.is_zero() || self.rate.is_unlimited() || rate.is_unlimited() {
            0
        } else {
            (u128::from(self.remainder) * u128::from(rate.as_bps())
                / u128::from(self.rate.as_bps())) as u64
        };
        self.rate = rate;
    }
    /// Transmits a packet of IP length `len` from `start`, at or after the last end; returns its
    /// end and its link bytes. The rate must not be zero.
    #[inline]
    pub fn transmit(&mut self, start: Time, len: Bytes) -> (Time, Bytes) {
        let link_bytes = self.framing.link_bytes(len);
        if start > self.free_at {
            self.remainder = 0;
        }
        if self.rate.is_unlimited() {
            self.free_at = start;
            return (start, link_bytes);
        }
        // Link bytes come from 16-bit lengths and an i32: below 2³³, so 2³³·8·10⁹ < 2⁶⁶ needs 128
        // bits; ordinary packets (below 2³⁰) stay in 64 and divide faster.
        let rate = self.rate.as_bps();
        let nanos = if link_bytes.get() < 1 << 30 && self.remainder < 1 << 62 {
            let amount = link_bytes.get() * 8_000_000_000 + self.remainder;
            self.remainder = amount % rate;
            amount / rate
        } else {
            let amount = u128::from(link_bytes.get()) * 8_000_000_000 + u128::from(self.remainder);
            self.remainder = (amount % u128::from(rate)) as u64;
            u64::try_from(amount / u128::from(rate)).unwrap_or(u64::MAX)
        };
        self.free_at = start + Time::from_nanos(nanos);
        (self.free_at, link_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_of_any_length_does_not_drift() {
        // 1 000 000 packets of 1 500 bytes at 7 Mbit/s take 12·10⁹ bit / 7·10⁶ bit/s.
        let mut clock = DepartureClock::new(Rate::from_mbps(7), Framing::default());
        let mut now = Time::ZERO;
        for _ in 0..1_000_000 {
            now = clock.transmit(now, Bytes::new(1_500)).0;
        }
        assert_eq!(
            now.as_nanos(),
            (12_000_000_000_u128 * 1_000_000_000 / 7_000_000) as u64
        );
    }

    #[test]
    fn a_changing_rate_carries_the_fraction_of_a_nanosecond() {
        // 3 bit/s: 8/3 s a byte. The second byte at 6 bit/s ends at 8/3 + 8/6 = 4 s exactly.
        let mut clock = DepartureClock::new(Rate::from_bps(3), Framing::default());
        let (end, _) = clock.transmit(Time::ZERO, Bytes::new(1));
        assert_eq!(end, Time::from_nanos(2_666_666_666));
        clock.set_rate(Rate::from_bps(6));
        let (end, _) = clock.transmit(end, Bytes::new(1));
        assert_eq!(end, Time::from_secs(4));
    }

    #[test]
    fn idle_time_forgets_the_fraction() {
        let mut clock = DepartureClock::new(Rate::from_bps(3), Framing::default());
        clock.transmit(Time::ZERO, Bytes::new(1));
        let (end, _) = clock.transmit(Time::from_secs(10), Bytes::new(1));
        assert_eq!(end, Time::from_nanos(12_666_666_666));
    }

    #[test]
    fn framing_adds_overhead_and_pads_to_the_minimum() {
        let framing = |overhead, mpu| Framing {
            overhead,
            mpu: Bytes::new(mpu),
        };
        for (framing, len, expected) in [
            (framing(0, 0), 1_500, 1_500),
            (framing(14, 0), 1_500, 1_514),
            (framing(38, 84), 40, 84),
            (framing(-20, 0), 60, 40),
            (framing(-100, 0), 60, 1),
        ] {
            assert_eq!(framing.link_bytes(Bytes::new(len)), Bytes::new(expected));
        }
    }

    #[test]
    fn huge_packets_and_rates_do_not_overflow() {
        let mut clock = DepartureClock::new(
            Rate::from_bps(u64::MAX - 1),
            Framing {
                overhead: i32::MAX,
                mpu: Bytes::ZERO,
            },
        );
        for _ in 0..3 {
            let (end, _) = clock.transmit(Time::ZERO, Bytes::new(65_535));
            assert!(end < Time::from_nanos(10));
        }
        let mut clock = DepartureClock::new(
            Rate::from_bps(1),
            Framing {
                overhead: i32::MAX,
                mpu: Bytes::ZERO,
            },
        );
        assert!(clock.transmit(Time::ZERO, Bytes::new(1)).0 > Time::from_secs(17_000_000_000));
    }

    #[test]
    fn an_unlimited_link_takes_no_time() {
        let mut clock = DepartureClock::new(Rate::UNLIMITED, Framing::default());
        let at = Time::from_millis(3);
        assert_eq!(
            clock.transmit(at, Bytes::new(1_500)),
            (at, Bytes::new(1_500))
        );
    }
}
