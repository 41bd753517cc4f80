//! Normally distributed spans, from an integer table of the inverse distribution function.
//!
//! One 64-bit draw makes a deviate: the top bit is its sign, the other 63 are a tail probability
//! p in (0, ½). The table holds z with Q(z) = p at 32 points in each octave of p, because z is
//! most nearly linear in the logarithm of p; z is interpolated linearly between them. 32 octaves
//! reach p = 2^-33, z = 6.23; rarer draws (one in 4 × 10^9) give that value. Elsewhere the error is
//! below 10^-4 standard deviations.
//!
//! The table is computed by the compiler, whose floating point is the same on every machine; the
//! running program uses integers only.

use quell_units::{Random, Time};

/// Octaves of the tail probability.
const OCTAVES: usize = 32;
/// Points in each octave.
const POINTS: usize = 32;
/// Fraction bits of a table entry. The largest, 6.23 × 2^28, fits 31 bits.
pub(crate) const FRACTION_BITS: u32 = 28;

/// z at p = 2^-(1 + octave) × (1 − point / 64), from p = ½ to p = 2^-33.
static TABLE: [u32; OCTAVES * POINTS + 1] = table();

/// A span drawn from the normal distribution with this mean and standard deviation; exactly `mean`
/// if `stddev` is zero, without a draw.
///
/// Cut off at 0 and 2 × `mean`: never negative, and symmetric, so that the mean is kept. If
/// `stddev` is not small compared with `mean`, the actual deviation is therefore smaller.
pub fn normal_span(mean: Time, stddev: Time, random: &mut Random) -> Time {
    if stddev.is_zero() {
        return mean;
    }
    let draw = random.u64();
    let deviation = u128::from(stddev.as_nanos()) * u128::from(quantile(draw << 1 >> 1));
    let deviation = Time::from_nanos(
        u64::try_from(deviation >> FRACTION_BITS)
            .unwrap_or(u64::MAX)
            .min(mean.as_nanos()),
    );
    if draw >> 63 == 0 {
        mean + deviation
    } else {
        mean - deviation
    }
}

/// A deviate of the standard normal distribution, in units of 2^-28.
pub(crate) fn deviate(random: &mut Random) -> i64 {
    let draw = random.u64();
    let size = i64::from(quantile(draw << 1 >> 1));
    if draw >> 63 == 0 { size } else { -size }
}

/// z with Q(z) = `tail` / 2^64, in units of 2^-28; `tail` is below 2^63.
fn quantile(tail: u64) -> u32 {
    let octave = (tail.leading_zeros() as usize).saturating_sub(1);
    if octave >= OCTAVES {
        return TABLE[OCTAVES * POINTS];
    }
    // The tail, scaled so that its octave runs from 2^63 to 2^64, counts up; the table runs from
    // large p to small.
    let down = !(tail << (octave + 1)) << 1;
    let point = octave * POINTS + (down >> 59) as usize;
    let fraction = u64::from((down << 5 >> 32) as u32);
    let (from, to) = (u64::from(TABLE[point]), u64::from(TABLE[point + 1]));
    (from + (((to - from) * fraction) >> 32)) as u32
}

/// Computes the table down the tail; each point is the start of Newton's method for the next.
const fn table() -> [u32; OCTAVES * POINTS + 1] {
    let mut table = [0; OCTAVES * POINTS + 1];
    let (mut z, mut octave_p, mut index) = (0.0, 0.5, 1);
    while index < table.len() {
        let point = index % POINTS;
        if point == 0 {
            octave_p /= 2.0;
        }
        let p = octave_p * (1.0 - point as f64 / (2 * POINTS) as f64);
        let mut step = 0;
        while step < 3 {
            let density = density(z);
            z += (upper_tail(z, density) - p) / density;
            step += 1;
        }
        table[index] = (z * (1_u64 << FRACTION_BITS) as f64 + 0.5) as u32;
        index += 1;
    }
    table
}

/// φ(z) = exp(−z²/2) / √(2π), by the series of exp at 1/64 of the exponent, squared six times.
const fn density(z: f64) -> f64 {
    const SQRT_TWO_PI: f64 = 2.506_628_274_631_000_5;
    let x = -z * z / 2.0 / 64.0;
    let (mut term, mut exp, mut n) = (1.0, 1.0, 1);
    while n < 16 {
        term *= x / n as f64;
        exp += term;
        n += 1;
    }
    let mut squared = 0;
    while squared < 6 {
        exp *= exp;
        squared += 1;
    }
    exp / SQRT_TWO_PI
}

/// Q(z) = ½ − φ(z) (z + z³/3 + z⁵/(3·5) + …), Abramowitz and Stegun 26.2.11.
const fn upper_tail(z: f64, density: f64) -> f64 {
    let (mut term, mut sum, mut n) = (z, z, 3);
    while term > sum * 1e-17 {
        term *= z * z / n as f64;
        sum += term;
        n += 2;
    }
    0.5 - density * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z in standard deviations for an upper tail of `p`.
    fn z(p: f64) -> f64 {
        f64::from(quantile((p * 2_f64.powi(64)) as u64)) / f64::from(1 << FRACTION_BITS)
    }

    /// Q(z) by Simpson's rule over [z, z + 12].
    fn slow_tail(z: f64) -> f64 {
        let steps = 20_000;
        let width = 12.0 / f64::from(steps);
        let sum: f64 = (0..=steps)
            .map(|i| {
                let x = z + width * f64::from(i);
                let weight = match i {
                    _ if i == 0 || i == steps => 1.0,
                    _ if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * (-x * x / 2.0).exp()
            })
            .sum();
        sum * width / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn gives_the_tabulated_quantiles() {
        // Abramowitz and Stegun, table 26.5 and 26.6.
        for (p, expected) in [
            (0.25, 0.674_489_750),
            (0.158_655_253_931, 1.0),
            (0.05, 1.644_853_627),
            (0.025, 1.959_963_985),
            (0.01, 2.326_347_874),
            (0.001, 3.090_232_306),
            (1e-6, 4.753_424_309),
            (1e-9, 5.997_807_015),
        ] {
            assert!((z(p) - expected).abs() < 1e-4, "{p}: {}", z(p));
        }
        assert_eq!(quantile((1 << 63) - 1), 0);
        assert_eq!(quantile(0), TABLE[OCTAVES * POINTS]);
    }

    #[test]
    fn inverts_the_integral_of_the_density() {
        for i in 1..=300 {
            let p = 0.5 * 0.93_f64.powi(i) * 0.999;
            let error = (slow_tail(z(p)) / p - 1.0).abs();
            // A relative error of p is z + 1/z times the error of z.
            assert!(error < 7e-4, "{p}: {error}");
        }
    }

    #[test]
    fn a_rarer_draw_never_lies_nearer_to_the_mean() {
        assert!(TABLE.windows(2).all(|pair| pair[0] < pair[1]));
        let mut before = u32::MAX;
        for i in 0..1_000_000_u64 {
            let now = quantile(i.pow(3) * 9);
            assert!(now <= before);
            before = now;
        }
    }

    #[test]
    fn has_mean_zero_and_variance_one() {
        // Midpoints of 2^20 equal steps of p; both signs occur alike.
        let count = 1 << 20;
        let squares: f64 = (0..count)
            .map(|i| z((f64::from(i) + 0.5) / f64::from(count) / 2.0).powi(2))
            .sum();
        let variance = squares / f64::from(count);
        assert!((variance - 1.0).abs() < 1e-4, "{variance}");

        let (mean, stddev) = (Time::from_secs(1), Time::from_millis(1));
        let mut random = Random::new(3, "normal");
        let draws = 1_000_000;
        let sum: i64 = (0..draws)
            .map(|_| normal_span(mean, stddev, &mut random).signed_since(mean))
            .sum();
        // Four standard errors.
        assert!(sum.abs() < 4 * 1_000 * 1_000_000, "{sum}");
    }

    #[test]
    fn a_span_is_never_negative_and_keeps_its_mean_when_cut() {
        let mean = Time::from_millis(1);
        let mut random = Random::new(3, "normal");
        let mut sum = 0;
        let count = 100_000;
        for _ in 0..count {
            let span = normal_span(mean, Time::from_secs(1), &mut random);
            assert!(span <= mean * 2);
            sum += span.as_nanos();
        }
        // Nearly all lie at one end or the other: standard deviation 1 ms, four standard errors.
        assert!((sum / count).abs_diff(1_000_000) < 4 * 1_000_000 / 316);
        assert_eq!(normal_span(mean, Time::ZERO, &mut random), mean);
        normal_span(Time::MAX, Time::MAX, &mut random);
    }
}
