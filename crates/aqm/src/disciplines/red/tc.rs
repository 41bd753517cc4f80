//! Values that `tc` derives from RED's parameters before the kernel sees them (iproute2 `tc/tc_red.c`, `tc/q_red.c`).
//!
//! `tc` computes in `double`; here the same inequalities are decided in integers, exactly. Where they
//! could differ:
//!
//! 1. The transmission time of an average packet is rounded up to a clock tick exactly; in `double`
//!    a whole number of ticks may come out as one more. Before 2025 `tc` cut it to whole microseconds.
//! 2. Above 2³¹ ticks `tc`'s `i << clog` overflows and the end of its table is arbitrary; here it
//!    stays at the last shift, 31.

use crate::units::{Bytes, Probability, Rate};

/// Nanoseconds of a tick of the kernel's packet scheduler, the unit of `tc`'s times. The kernel
/// looks the idle table up with microseconds since 2012, so that a Linux RED forgets 15.625 times
/// more slowly than its parameters state; so does the form `linux`.
const TICK_NANOS: u64 = 64;
/// Fraction bits of the logarithm in [`idle_table`].
const LOGARITHM_BITS: u32 = 80;
/// The largest shift in the idle table.
const LONGEST_SHIFT: u8 = 31;
/// The parts of 1 in which probabilities are given.
pub(super) const PARTS: u64 = 1_000_000_000;

/// The smallest `w` from 1 to 31 with `burst + 1 − min/avpkt ≤ (1 − (1 − 2⁻ʷ)^burst) / 2⁻ʷ`
/// (`tc_red_eval_ewma`): a queue that grows from nothing by `burst` packets does not take the
/// average above `min`. `None` if there is none.
pub fn weight_log(min: u32, burst: u32, avpkt: u32) -> Option<u32> {
    let (min, burst, avpkt) = (u64::from(min), u64::from(burst), u64::from(avpkt));
    // Both sides times avpkt · 2⁶²: (2³² + 1) · 2³² · 2⁶² fits 128 bits.
    let left = ((burst + 1) * avpkt).checked_sub(min)?;
    if left < avpkt {
        return None;
    }
    let left = u128::from(left) << 62;
    (1..32).find(|w| {
        // Equality needs w·(burst − 1) ≤ 31, because 2^(w·(burst − 1)) divides avpkt then; so the
        // power, of w·burst bits, is exact in 62 bits wherever its last bit decides.
        let remaining = power(
            Probability::from_raw(Probability::ONE.raw() - (Probability::ONE.raw() >> w)),
            burst,
        );
        let forgotten = Probability::ONE.raw() - remaining.raw();
        left <= (u128::from(avpkt) * u128::from(forgotten)) << w
    })
}

/// `base^exponent`, each product rounded down.
pub(super) fn power(base: Probability, mut exponent: u64) -> Probability {
    let (mut base, mut product) = (base, Probability::ONE);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product.times(base);
        }
        base = base.squared();
        exponent >>= 1;
    }
    product
}

/// The smallest `i` below 32 with `probability · 2ⁱ > max − min`, 0 if both are equal
/// (`tc_red_eval_P`). `tc` refuses where there is none, although the kernel does not use it.
pub fn probability_log(min: u32, max: u32, parts: u64) -> Option<u32> {
    let range = u128::from(max.checked_sub(min)?) * u128::from(PARTS);
    if range == 0 {
        return Some(0);
    }
    (0..32).find(|i| u128::from(parts) << i > range)
}

/// The kernel's probability in parts of 2³², rounded down as `tc` does. `tc` sends 0 for a
/// probability of 1, which the kernel takes as "from Plog"; here 1 is the largest there is.
pub fn max_probability(parts: u64) -> u32 {
    u32::try_from((u128::from(parts) << 32) / u128::from(PARTS)).unwrap_or(u32::MAX)
}

/// The shift of the average after each length of an idle time (`tc_red_eval_idle_damping`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleTable {
    /// An entry covers 2^`cell_log` units of time.
    pub cell_log: u32,
    /// Shifts, up to 31.
    pub shifts: [u8; 256],
}

/// The table for the weight 2⁻ʷ and packets of `avpkt` sent at `bandwidth`: entry `i` is
/// `⌊−ln(1 − 2⁻ʷ) · i · 2^cell_log / t⌋` for a packet's transmission time `t`, at most 31. `None` if
/// the table cannot reach 31, or at less than 8 bit/s.
pub fn idle_table(weight_log: u32, avpkt: u32, bandwidth: Rate) -> Option<IdleTable> {
    let ticks = ticks_of(avpkt, bandwidth)?;
    let rate = minus_ln_one_minus(weight_log);
    // 31 · 2³² · 2⁸⁰ and 2⁹ · 2³¹ · 2⁸⁰ stay below 2¹²⁸.
    let longest = (u128::from(ticks) * u128::from(LONGEST_SHIFT)) << LOGARITHM_BITS;
    let cell_log = (0..32).find(|log| longest < (512_u128 << log) * rate)?;
    let mut shifts = [LONGEST_SHIFT; 256];
    for (index, shift) in (0_u128..255).zip(&mut shifts) {
        // 2⁸ · 2³¹ · 2⁸⁰ fits.
        let exact = ((index << cell_log) * rate / u128::from(ticks)) >> LOGARITHM_BITS;
        *shift = u8::try_from(exact).map_or(LONGEST_SHIFT, |shift| shift.min(LONGEST_SHIFT));
    }
    Some(IdleTable { cell_log, shifts })
}

/// The time that `avpkt` bytes take in ticks, rounded up, at most 2³² − 1. `tc` keeps rates in whole bytes/s.
fn ticks_of(avpkt: u32, bandwidth: Rate) -> Option<u32> {
    let bytes_per_second = bandwidth.as_bps() / 8;
    let ticks_in_a_second = 1_000_000_000 / TICK_NANOS;
    let ticks = (Bytes::new(avpkt.into()).get() * ticks_in_a_second)
        .checked_next_multiple_of(bytes_per_second)?;
    Some(u32::try_from(ticks / bytes_per_second).unwrap_or(u32::MAX))
}

/// −ln(1 − 2⁻ʷ) = Σ 2⁻ʷᵏ/k in units of 2⁻⁸⁰, below the truth by at most 80 units.
fn minus_ln_one_minus(w: u32) -> u128 {
    (1..=LOGARITHM_BITS / w)
        .map(|k| (1_u128 << (LOGARITHM_BITS - w * k)) / u128::from(k))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, ToPrimitive};
    use std::vec::Vec;

    fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }

    #[test]
    fn derives_what_tc_sends() {
        // Messages of iproute2 6.1 to the kernel, where a packet takes whole microseconds (see the
        // first deviation): Wlog, Plog, Scell_log, max_P, and of Stab the sum of (i + 1)·Stab[i] and three entries.
        type Sent = (u32, u32, u32, u32, [u64; 4]);
        #[rustfmt::skip]
        const SENT: &[([u32; 4], u64, u64, Sent)] = &[
            // min, max, avpkt, burst; probability in 10⁻⁹; bandwidth in bit/s
            ([30_000, 90_000, 1_000, 55], 20_000_000, 10_000_000, (5, 22, 15, 85_899_345, [450_805, 1, 10, 21])),
            ([120_000, 360_000, 1_000, 220], 20_000_000, 40_000_000, (7, 24, 15, 85_899_345, [445_916, 1, 10, 20])),
            ([5_000, 15_000, 1_500, 5], 100_000_000, 64_000, (2, 17, 20, 429_496_729, [560_812, 1, 13, 26])),
            ([83_333, 250_000, 1_000, 138], 20_000_000, 1_000_000_000, (6, 23, 9, 85_899_345, [347_792, 0, 8, 16])),
            ([15_000, 15_000, 1_500, 11], 900_000_000, 10_000_000, (2, 0, 12, 3_865_470_566, [338_720, 0, 7, 15])),
            ([1_500, 4_500, 1_000, 2], 1_000_000, 1_000_000, (1, 22, 14, 4_294_967, [492_477, 1, 11, 23])),
            ([3_000, 9_000, 2_000, 2], 250_000_000, 1_000_000_000, (1, 15, 5, 1_073_741_824, [482_252, 1, 11, 22])),
        ];
        for &([min, max, avpkt, burst], parts, bps, sent) in SENT {
            let weight = weight_log(min, burst, avpkt).unwrap();
            let idle = idle_table(weight, avpkt, Rate::from_bps(bps)).unwrap();
            let digest: u64 = (1..)
                .zip(idle.shifts)
                .map(|(i, shift)| i * u64::from(shift))
                .sum();
            let entries = [13, 127, 254].map(|index: usize| u64::from(idle.shifts[index]));
            let [at13, at127, at254] = entries;
            let derived = (
                weight,
                probability_log(min, max, parts).unwrap(),
                idle.cell_log,
                max_probability(parts),
                [digest, at13, at127, at254],
            );
            assert_eq!(derived, sent, "{min} {max} {avpkt} {burst}");
        }
    }

    #[test]
    fn refuses_what_tc_refuses() {
        // "burst 10 is too small ? Try burst 16"; min below avpkt; a probability of 10⁻⁴ over 449.5 MB.
        assert_eq!(weight_log(15_000, 10, 1_000), None);
        assert!(weight_log(15_000, 16, 1_000).is_some());
        assert_eq!(weight_log(500, 10, 1_000), None);
        assert_eq!(probability_log(500_000, 450_000_000, 100_000), None);
        assert_eq!(probability_log(0, 1, 1), Some(30));
        assert_eq!(probability_log(2, 1, PARTS), None);
        // tc overflows to 0 here.
        assert_eq!(max_probability(PARTS), u32::MAX);
    }

    /// `burst + 1 − min/avpkt ≤ (1 − (1 − W)^burst)/W`, exactly.
    fn allows(w: u32, min: u32, burst: u32, avpkt: u32) -> bool {
        let weight = ratio(1, BigInt::one() << w);
        let kept = (BigRational::one() - &weight).pow(burst as i32);
        let left = ratio(burst, 1) + BigRational::one() - ratio(min, avpkt);
        left >= BigRational::one() && left <= (BigRational::one() - kept) / weight
    }

    #[test]
    fn the_weight_is_the_largest_that_allows_the_burst() {
        let mut random = Random::new(1, "weights");
        // Equality: burst 2 allows min = (1 + W)·avpkt and no less.
        let mut cases: Vec<[u32; 3]> = (1..12)
            .flat_map(|w: u32| {
                let avpkt = 4_096;
                let min = avpkt + (avpkt >> w);
                [[min, 2, avpkt], [min - 1, 2, avpkt], [min + 1, 2, avpkt]]
            })
            .collect();
        for _ in 0..300 {
            let avpkt = 1 + random.below(3_000) as u32;
            let burst = 1 + random.below(200) as u32;
            let min = random.below(u64::from(avpkt) * u64::from(burst + 3)) as u32;
            cases.push([min, burst, avpkt]);
        }
        let mut found = 0;
        for [min, burst, avpkt] in cases {
            let smallest = (1..32).find(|&w| allows(w, min, burst, avpkt));
            assert_eq!(
                weight_log(min, burst, avpkt),
                smallest,
                "{min} {burst} {avpkt}"
            );
            found += usize::from(smallest.is_some());
        }
        assert!(found > 200, "{found}");
    }

    /// −ln(1 − 2⁻ʷ) in units of 2⁻²⁵⁶, from below and from above.
    fn logarithm(w: u32) -> (BigInt, BigInt) {
        let terms = 256 / w + 1;
        let sum = (1..=terms)
            .map(|k| (BigInt::one() << 256) / (BigInt::from(k) << (w * k)))
            .sum::<BigInt>();
        // Each term lost less than a unit, and the rest is below two.
        (sum.clone(), sum + terms + 2)
    }

    #[test]
    fn the_idle_table_is_the_exact_one_rounded_down() {
        let mut random = Random::new(2, "tables");
        let (mut made, mut refused) = (0, 0);
        // The first packet takes a tick, so that the table is past 31 before its end.
        let first = core::iter::once((1, 100, 30_000_000_000));
        let any = (0..200).map(|_| {
            let w = 1 + random.below(31) as u32;
            let avpkt = 1 + random.below(3_000) as u32;
            (w, avpkt, 8_u64 << random.below(33))
        });
        for (w, avpkt, bps) in first.chain(any) {
            let ticks = (u64::from(avpkt) * 15_625_000).div_ceil(bps / 8);
            let ticks = BigInt::from(ticks.min(u32::MAX.into()));
            let (low, high) = logarithm(w);
            // 31 · ticks / −ln(1 − 2⁻ʷ) < 512 · 2^cell_log
            let fits = |log: u32, logarithm: &BigInt| {
                (&ticks * 31) << 256 < (BigInt::from(512) << log) * logarithm
            };
            let Some(table) = idle_table(w, avpkt, Rate::from_bps(bps)) else {
                assert!(!fits(31, &high));
                refused += 1;
                continue;
            };
            assert!(fits(table.cell_log, &low));
            assert!(table.cell_log == 0 || !fits(table.cell_log - 1, &high));
            for (index, &shift) in table.shifts.iter().enumerate() {
                let exact = |logarithm: &BigInt| {
                    ((BigInt::from(index) << table.cell_log) * logarithm / &ticks) >> 256_u32
                };
                let (low, high): (BigInt, BigInt) = (exact(&low), exact(&high));
                assert_eq!(low, high, "the bounds decide");
                let expected = if index == 255 {
                    31
                } else {
                    low.to_u8().unwrap_or(31).min(31)
                };
                assert_eq!(shift, expected, "{w} {avpkt} {bps}: {index}");
            }
            made += 1;
        }
        assert!(made > 100 && refused > 5, "{made} {refused}");
        assert_eq!(idle_table(9, 1_000, Rate::from_bps(7)), None);
    }
}
