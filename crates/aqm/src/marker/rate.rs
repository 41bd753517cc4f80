//! The rate of a flow: its time-decaying average.
//!
//! Source: the estimator of Core-Stateless Fair Queueing (Stoica, Shenker and Zhang, SIGCOMM 1998), R ← (1 − k)·S/Δt + k·R with
//! k = e^(−Δt/τ), here with τ = 100 ms: evenly spaced packets give the exact rate whatever their spacing,
//! and of a Poisson stream E[1/R], on which the marker requirement hangs, is the inverse of the rate where packets come more or much less
//! often than once in τ (within 0.4 % to ten in τ; 4 % too much at one in τ, seen in the test below). The usual average of S/Δt per packet is biased upwards by bursts.
//!
//! With x = Δt/τ and g(x) = (1 − e^(−x))/x this is R ← R + g·(S/τ − x·R): one table, no division, and Δt = 0 is nothing special. g comes from
//! 1 025 points up to x = 32 with straight lines between them (off by 4·10⁻⁵ at most, which changes how fast R follows by as much and not
//! where it settles); longer pauses forget all that was before.
//!
//! **Start.** A flow begins at R = 0 with Δt = 0: its first packet makes R = S/τ (120 kbit/s for 1 500 B and 100 ms), as does each further one
//! of a burst. For about 3τ R is too low by a factor 1 − e^(−t/τ), so the packets of a young flow are worth more than its function says.

use crate::units::{Bytes, Rate, Time};

/// Rates are kept in units of 2⁻¹⁶ bit/s and stay below 2⁴² bit/s.
const RATE_BITS: u32 = 16;
const LARGEST: u64 = 1 << (42 + RATE_BITS);
/// Fraction bits of x, and how many of them choose a point of the table.
const TIME_BITS: u32 = 40;
const STEP_BITS: u32 = TIME_BITS - 5;
/// The end of the table: e^(−32) is 10⁻¹⁴.
const END: u64 = 32 << TIME_BITS;
/// Fraction bits of g.
const GAIN_BITS: u32 = 31;

/// g at each 32nd, in units of 2⁻³¹.
const GAIN: [u32; 1_026] = {
    const ONE: u128 = 1 << 62;
    // e^(−1/32) by its series.
    let (mut step, mut term, mut n) = (ONE, ONE, 1);
    while n < 16 {
        term /= 32 * n;
        step = if n % 2 == 1 { step - term } else { step + term };
        n += 1;
    }
    let mut table = [1 << GAIN_BITS; 1_026];
    let (mut decay, mut index) = (ONE, 1);
    while index < table.len() {
        decay = (decay * step) >> 62;
        let gain = (ONE - decay) * 32 / index as u128;
        table[index] = (gain >> (62 - GAIN_BITS)) as u32;
        index += 1;
    }
    table
};

/// Factors that follow from the time constant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    /// 2⁶⁴/τ, for Δt/τ with [`TIME_BITS`].
    inverse: u64,
    /// The rate that a byte at once adds, 8/τ, in units of 2⁻³² bit/s.
    per_byte: u64,
}

impl Decay {
    /// τ from 1 ms to 100 s; others are brought into that.
    pub(crate) fn new(time_constant: Time) -> Self {
        let tau = time_constant.as_nanos().clamp(1_000_000, 100_000_000_000);
        Self {
            inverse: u64::MAX / tau,
            per_byte: ((8_000_000_000_u128 << 32) / u128::from(tau)) as u64,
        }
    }
}

/// The measured rate of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Estimate {
    /// The rate in units of 2⁻¹⁶ bit/s.
    rate: u64,
}

impl Estimate {
    /// A packet of `len` came `since` after the one before it.
    #[inline]
    pub(crate) fn packet(&mut self, decay: &Decay, len: Bytes, since: Time) {
        let since = since.as_nanos();
        // No IP packet is longer.
        let len = len.get().min(0xffff);
        let x = ((u128::from(since) * u128::from(decay.inverse)) >> (64 - TIME_BITS)) as u64;
        // Long pauses do not fit; nothing that fits is near 2⁶⁴.
        if since >> 40 != 0 || x >= END {
            let bits = (len * 8) << RATE_BITS;
            self.rate = (u128::from(bits) * 1_000_000_000 / u128::from(since)) as u64;
            return;
        }
        let (index, part) = ((x >> STEP_BITS) as usize, x & ((1 << STEP_BITS) - 1));
        let (from, to) = (u64::from(GAIN[index]), u64::from(GAIN[index + 1]));
        // A difference of neighbours is below 2²⁶.
        let gain = from - (((from - to) * (part >> 10)) >> (STEP_BITS - 10));
        let lost = (u128::from(self.rate) * u128::from(x)) >> TIME_BITS;
        let lost = (lost * u128::from(gain)) >> GAIN_BITS;
        let added = (len * decay.per_byte) >> (32 - RATE_BITS);
        let added = ((u128::from(added) * u128::from(gain)) >> GAIN_BITS) as u64;
        self.rate = (self.rate.saturating_sub(lost as u64) + added).min(LARGEST);
    }
    /// The rate in whole bit/s, rounded up, so that it is never 0 once a packet has come.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate.div_ceil(1 << RATE_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn tau() -> Decay {
        Decay::new(Time::from_millis(100))
    }

    #[test]
    fn the_gain_is_that_of_the_exponential() {
        let decay = tau();
        for nanos in [
            1,
            999,
            12_000,
            1_562_500,
            3_000_000,
            31_250_000,
            99_999_999,
            777_777_777,
            3_199_999_999_u64,
        ] {
            // A rate of 2⁴⁰ bit/s decays, and a byte is added.
            let mut rate = Estimate { rate: 1 << 56 };
            rate.packet(&decay, Bytes::new(0), Time::from_nanos(nanos));
            let x = nanos as f64 / 1e8;
            let left = rate.rate as f64 / 2_f64.powi(56);
            assert!((left - (-x).exp()).abs() < 4e-5, "{nanos}: {left}");
            let mut rate = Estimate { rate: 0 };
            rate.packet(&decay, Bytes::new(1_500), Time::from_nanos(nanos));
            let added = rate.rate as f64 / 65_536.0;
            let exact = 12_000.0 / 0.1 * (1.0 - (-x).exp()) / x;
            assert!(
                (added / exact - 1.0).abs() < 1e-4,
                "{nanos}: {added} for {exact}"
            );
        }
    }

    #[test]
    fn evenly_spaced_packets_give_their_rate_whatever_their_spacing() {
        for millis in [1, 100, 10_000] {
            let decay = Decay::new(Time::from_millis(millis));
            for (len, nanos) in [
                (64, 51),
                (1_500, 1_200),
                (1_500, 120_000),
                (1_500, 12_000_000),
                (40, 1_000_000_000),
                (1_500, 86_400_000_000_000_u64),
            ] {
                let mut rate = Estimate::default();
                // Fifteen time constants, of a rate of which e^(−15) is 3·10⁻⁷.
                let packets = 15_000_000 * millis / nanos;
                if packets > 2_000_000 {
                    continue;
                }
                for _ in 0..packets.max(2) {
                    rate.packet(&decay, Bytes::new(len), Time::from_nanos(nanos));
                }
                let exact = (len * 8) as f64 * 1e9 / nanos as f64;
                // The interval in units of 2⁻⁴⁰ of the time constant.
                let unit = millis as f64 * 1e6 / 2_f64.powi(40) / nanos as f64;
                let error = (rate.rate().as_bps() as f64 - exact).abs();
                assert!(
                    error <= 1.1 + exact * (1e-6 + unit),
                    "{len} B each {nanos} ns, {millis} ms: {rate:?} for {exact}"
                );
            }
        }
    }

    #[test]
    fn of_a_poisson_stream_the_inverse_of_the_rate_is_right() {
        // Packets far apart are measured one by one; between, where they come about once in τ, nothing is exact.
        for (micros, exact, tolerance) in [
            (100, 1.0, 0.004),
            (1_000, 1.0, 0.004),
            (10_000, 1.0, 0.004),
            (100_000, 1.038, 0.01),
            (1_000_000, 1.007, 0.01),
            (10_000_000, 1.0, 0.01),
        ] {
            let (mut random, mut rate) = (Random::new(3, "test"), Estimate::default());
            let (mut sum, count) = (0.0, 200_000);
            let sent = 12_000.0 * 1e6 / f64::from(micros);
            for n in 0..count + 10_000 {
                let even = (f64::from(random.u32()) + 0.5) / 2_f64.powi(32);
                let since = -even.ln() * f64::from(micros) * 1e3;
                rate.packet(&tau(), Bytes::new(1_500), Time::from_nanos(since as u64));
                if n >= 10_000 {
                    sum += sent / rate.rate().as_bps() as f64;
                }
            }
            let mean = sum / f64::from(count);
            assert!((mean - exact).abs() < tolerance, "{micros}: {mean}");
        }
    }

    #[test]
    fn a_flow_begins_with_the_packet_spread_over_the_time_constant() {
        let mut rate = Estimate::default();
        for n in 1..=10 {
            rate.packet(&tau(), Bytes::new(1_500), Time::ZERO);
            assert_eq!(rate.rate(), Rate::from_bps(n * 120_000));
        }
        // And then follows as 1 − e^(−t/τ): 63 % after a time constant, 95 % after three.
        let mut rate = Estimate::default();
        for n in 1..=3_000 {
            rate.packet(&tau(), Bytes::new(1_500), Time::from_micros(100));
            let exact = 120e6 * (1.0 - (-f64::from(n) / 1_000.0).exp());
            let error = rate.rate().as_bps() as f64 / exact - 1.0;
            assert!(error.abs() < 1e-3, "{n}: {rate:?} for {exact}");
        }
    }
}
