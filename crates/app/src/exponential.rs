//! Exponentially distributed spans, from an integer table of the logarithm.
//!
//! A 64-bit draw u, read as a number in (0, 1], gives −ln u. The position of its highest set bit gives
//! a multiple of ln 2; the bits below it give the logarithm of a number in [1, 2), from 256 points
//! with linear interpolation. The error is below 2 × 10^-6 of the mean. The largest span, 44.4 times
//! the mean, occurs once in 2^64 draws.
//!
//! As in [`normal`](crate::normal) the table is computed by the compiler, and the running program
//! uses integers only.

use std::f64::consts::LN_2;

use quell_units::{Distribution, Period, Random, Time};

/// Points in the octave from 1 to 2.
const POINTS: usize = 256;
/// Fraction bits of a table entry; −ln u is below 2^6, so 38 bits hold it.
const FRACTION_BITS: u32 = 32;

/// ln(1 + point / 256) in units of 2^-32.
static TABLE: [u64; POINTS + 1] = table();

/// A span drawn from the exponential distribution with this mean. It may be zero.
pub fn exponential_span(mean: Time, random: &mut Random) -> Time {
    let span = u128::from(mean.as_nanos()) * u128::from(minus_ln(random.u64()));
    Time::from_nanos(u64::try_from(span >> FRACTION_BITS).unwrap_or(u64::MAX))
}

/// The next length of `period`; without a draw if it is fixed.
pub fn draw(period: Period, random: &mut Random) -> Time {
    match period.distribution {
        Distribution::Fixed => period.mean,
        Distribution::Exponential => exponential_span(period.mean, random),
    }
}

/// −ln(`draw` / 2^64) in units of 2^-32; 0 counts as 1.
pub(crate) fn minus_ln(draw: u64) -> u64 {
    let draw = draw.max(1);
    let octave = u64::from(draw.leading_zeros());
    // The bits below the highest one, as a fraction of 2^64.
    let below = draw << octave << 1;
    let point = (below >> 56) as usize;
    let fraction = u128::from(below << 8);
    let (from, to) = (TABLE[point], TABLE[point + 1]);
    let ln = from + ((u128::from(to - from) * fraction) >> 64) as u64;
    (octave + 1) * TABLE[POINTS] - ln
}

const fn table() -> [u64; POINTS + 1] {
    let mut table = [0; POINTS + 1];
    let mut point = 1;
    while point < POINTS {
        let ln = ln_one_plus(point as f64 / POINTS as f64);
        table[point] = (ln * (1_u64 << FRACTION_BITS) as f64 + 0.5) as u64;
        point += 1;
    }
    table[POINTS] = (LN_2 * (1_u64 << FRACTION_BITS) as f64 + 0.5) as u64;
    table
}

/// ln(1 + x) = 2 (y + y³/3 + y⁵/5 + …) with y = x / (2 + x), Abramowitz and Stegun 4.1.27.
const fn ln_one_plus(x: f64) -> f64 {
    let y = x / (2.0 + x);
    let (mut power, mut sum, mut n) = (y, y, 3);
    while power > 1e-18 {
        power *= y * y;
        sum += power / n as f64;
        n += 2;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_logarithm_of_the_draw() {
        let mut random = Random::new(5, "exponential");
        let draws = (0..200_000).map(|_| random.u64());
        // And every octave, down to the rarest.
        let ends = (0..64).flat_map(|bit| [1 << bit, (1 << bit) | ((1 << bit) - 1)]);
        for draw in draws.chain(ends) {
            let expected = 64.0 * LN_2 - (draw as f64).ln();
            let found = minus_ln(draw) as f64 / (1_u64 << FRACTION_BITS) as f64;
            assert!(
                (found - expected).abs() < 2e-6,
                "{draw}: {found} {expected}"
            );
        }
        assert_eq!(minus_ln(0), minus_ln(1));
    }

    #[test]
    fn a_smaller_draw_never_gives_a_shorter_span() {
        let mut before = u64::MAX;
        for i in 1..1_000_000_u64 {
            let now = minus_ln(i.pow(3) * 18);
            assert!(now <= before);
            before = now;
        }
    }

    #[test]
    fn has_the_mean_the_deviation_and_the_tail_of_its_distribution() {
        let mean = Time::from_millis(10);
        let mut random = Random::new(3, "exponential");
        let draws = 1_000_000;
        let spans: Vec<f64> = (0..draws)
            .map(|_| exponential_span(mean, &mut random).as_nanos() as f64 / 1e7)
            .collect();
        let average = spans.iter().sum::<f64>() / f64::from(draws);
        let squares = spans.iter().map(|x| x * x).sum::<f64>() / f64::from(draws);
        // The mean has a deviation of 1/√n, the mean square 2 one of √20/√n; four of each.
        assert!((average - 1.0).abs() < 0.004, "{average}");
        assert!((squares - 2.0).abs() < 0.018, "{squares}");
        let tail = spans.iter().filter(|x| **x > 3.0).count() as f64;
        let expected = (-3.0_f64).exp() * f64::from(draws);
        assert!(
            (tail - expected).abs() < 4.0 * expected.sqrt(),
            "{tail} {expected}"
        );
    }

    #[test]
    fn a_fixed_period_draws_nothing_and_an_exponential_one_varies() {
        let mut random = Random::new(1, "period");
        let mean = Time::from_secs(1);
        assert_eq!(draw(Period::fixed(mean), &mut random), mean);
        assert_eq!(random.clone().u64(), Random::new(1, "period").u64());
        let mut lengths = || draw(Period::exponential(mean), &mut random);
        assert_ne!(lengths(), lengths());
    }

    #[test]
    fn no_mean_is_too_long() {
        let mut random = Random::new(3, "exponential");
        for _ in 0..1_000 {
            exponential_span(Time::MAX, &mut random);
            assert_eq!(exponential_span(Time::ZERO, &mut random), Time::ZERO);
        }
    }
}
