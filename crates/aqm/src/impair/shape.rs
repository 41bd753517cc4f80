//! How delays scatter around their mean: a quantile for each of 4 096 equal shares, made of integers, or a table of tc.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::units::Time;

/// The shares.
const SHARES: u64 = 4_096;
/// A spread has 2¹³ units, as in netem.
const UNITS: u32 = 13;
/// Fixed point of the calculations.
const ONE: i64 = 1 << 30;

/// A distribution of delays, by what a spread of one is to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shape {
    /// As likely anywhere from the mean less the spread to the mean and the spread.
    #[default]
    Uniform,
    /// The normal distribution, with this standard deviation.
    Normal,
    /// The Pareto distribution with exponent 3, with this standard deviation: most are a little early, and few very late.
    Pareto,
    /// As a table says.
    Table(Table),
}

/// A distribution as tc(8) has it in its files: numbers that are drawn alike, in 2⁻¹³ of the spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table(Arc<Numbers>);

#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    values: Vec<i16>,
    /// As of [`Shape`], in tenths of the spread.
    least_delay: u64,
    reach: [u64; 2],
}

impl Table {
    /// The most numbers, as in the kernel.
    pub const MOST: usize = 16_384;

    /// The distribution of these numbers; `None` if there are none, or more than [`Table::MOST`].
    pub fn new(values: Vec<i16>) -> Option<Self> {
        // The smallest that so many are not above, found by halves, which takes less code than sorting.
        let up_to = |most: i64| values.iter().filter(|&&one| i64::from(one) <= most).count();
        let nth = |wanted: usize| {
            let (mut low, mut high) = (i64::from(i16::MIN), i64::from(i16::MAX));
            while low < high {
                let middle = (low + high).div_euclid(2);
                match up_to(middle) > wanted {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            low
        };
        let last = values.len().checked_sub(1)?;
        if last >= Self::MOST {
            return None;
        }
        let tenths = |parts: i64| (10 * parts.max(0)).unsigned_abs().div_ceil(1 << UNITS);
        let reach = [tenths(-nth(0)), tenths(nth(last))];
        let least_delay = tenths(-nth(values.len() / 100));
        Some(Self(Arc::new(Numbers {
            values,
            least_delay,
            reach,
        })))
    }

    /// The numbers, in the order in which they were given.
    pub fn values(&self) -> &[i16] {
        &self.0.values
    }
}

impl Shape {
    /// Those with a name.
    pub(super) const ALL: [Self; 3] = [Self::Uniform, Self::Normal, Self::Pareto];

    /// Its name; of a table nothing.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::Table(_) => "",
        }
    }

    /// The shape of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// The delay below which more than one packet in 100 would be there before it left, in tenths of the spread.
    pub fn least_delay(&self) -> u64 {
        match self {
            Self::Uniform => 10,
            Self::Normal => 24,
            Self::Pareto => 7,
            Self::Table(table) => table.0.least_delay,
        }
    }

    /// How much earlier and later than the mean a packet is at most, in tenths of the spread.
    pub fn reach(&self) -> [u64; 2] {
        match self {
            Self::Uniform => [10, 10],
            Self::Normal => [38, 38],
            Self::Pareto => [7, 230],
            Self::Table(table) => table.0.reach,
        }
    }

    /// The quantiles in 2⁻¹³ of the spread, which deviate by one spread; none where they follow a line.
    pub(super) fn quantiles(&self) -> Vec<i64> {
        let raw: Vec<i64> = match self {
            Self::Uniform => return Vec::new(),
            Self::Table(table) => {
                return table.values().iter().map(|&value| value.into()).collect();
            }
            Self::Normal => normal(),
            Self::Pareto => (0..SHARES).map(pareto).collect(),
        };
        let count = SHARES as i64;
        let mean = raw.iter().sum::<i64>() / count;
        let squares = raw.iter().map(|x| (x - mean).pow(2)).sum::<i64>();
        let deviation = (squares / count).unsigned_abs().isqrt().max(1) as i64;
        let unit = |x: &i64| ((x - mean) << UNITS) / deviation;
        raw.iter().map(unit).collect()
    }
}

/// How far a packet deviates, which drew this, in nanoseconds.
pub(super) fn deviation(draw: u64, spread: Time, quantiles: &[i64]) -> i64 {
    let spread = spread.as_nanos();
    let scaled = |whole: u64| ((u128::from(draw) * u128::from(whole)) >> 64) as i64;
    match quantiles.get(scaled(quantiles.len() as u64) as usize) {
        Some(quantile) => (spread as i64 * quantile) >> UNITS,
        None => scaled(2 * spread) - spread as i64,
    }
}

/// (1 − share)^(−1/3) in 2⁻¹⁶, which is the distribution that begins at one.
fn pareto(share: u64) -> i64 {
    let cube = ((2 * SHARES) << 48) / (2 * (SHARES - share) - 1);
    // Newton's method from above; it never rises.
    let mut root = 1_u64 << 21;
    loop {
        let next = (2 * root + cube / (root * root)) / 3;
        if next >= root {
            return root as i64;
        }
        root = next;
    }
}

/// Where the area under exp(−x²/2) reaches the middle of each share, in 2⁻²⁰: the density is multiplied from step to step.
fn normal() -> Vec<i64> {
    const STEP: i64 = ONE >> 10;
    /// √(2π).
    const WHOLE: i64 = 2_691_471_616;
    let (mut x, mut density, mut area) = (0_i64, ONE, 0_i64);
    let half = SHARES as i64 / 2;
    let mut upper = Vec::new();
    while (upper.len() as i64) < half {
        let wanted = WHOLE / SHARES as i64 * upper.len() as i64 + WHOLE / SHARES as i64 / 2;
        // exp(−a) by its first terms; a is below 0.004.
        let a = ((x >> 10) + (STEP >> 11)).max(0);
        let (square, cube) = (a * a / ONE, a * a / ONE * a / ONE);
        let next = density * (ONE - a + square / 2 - cube / 6) / ONE;
        let more = (density + next) >> 11;
        if area + more < wanted {
            (x, density, area) = (x + STEP, next, area + more);
            continue;
        }
        upper.push((x + STEP * (wanted - area) / more.max(1)) >> 10);
    }
    let lower = upper.iter().rev().map(|x| -x);
    lower.chain(upper.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// As netem has it: x = (s mod 2¹³)·t, half a unit away from zero, / 2¹³, and (s / 2¹³)·t more.
    #[test]
    fn a_table_deviates_as_in_the_kernel() {
        let values: Vec<i16> = (0..4_096).map(|n| (n * 13 - 27_000) as i16).collect();
        let table = Table::new(values.clone()).unwrap();
        assert_eq!(table.0.reach, [33, 33]);
        assert_eq!(table.0.least_delay, 33);
        let quantiles = Shape::Table(table).quantiles();
        for (place, &value) in values.iter().enumerate() {
            let draw = (place as u64) << 52;
            let spread = 20_000_123_u64;
            let rest = (spread % 8_192) as i64 * i64::from(value);
            let half = if rest >= 0 { 4_096 } else { -4_096 };
            let netem = (rest + half) / 8_192 + (spread / 8_192) as i64 * i64::from(value);
            let own = deviation(draw, Time::from_nanos(spread), &quantiles);
            assert!((own - netem).abs() <= 1, "{value}: {own} ns, {netem} ns");
        }
        assert_eq!(Table::new(Vec::new()), None);
        assert_eq!(Table::new(vec![0; Table::MOST + 1]), None);
        // What is never early needs no delay.
        let late = Table::new(vec![0, 8_192]).unwrap();
        assert_eq!((late.0.least_delay, late.0.reach), (0, [0, 10]));
    }

    #[test]
    fn quantiles_are_those_of_their_distributions() {
        let unit = f64::from(1 << UNITS);
        let of = |shape: &Shape, share: usize| shape.quantiles()[share] as f64 / unit;
        // Φ⁻¹(0.5 + 0.5/4096), of 0.841 345, of 0.977 250 and of the last one.
        for (share, expected) in [
            (2_048, 0.000_306),
            (3_446, 1.0),
            (4_002, 2.0),
            (4_095, 3.6687),
        ] {
            let found = of(&Shape::Normal, share);
            assert!((found - expected).abs() < 0.003, "{share}: {found}");
        }
        // (1 − p)^(−1/3), less the mean of 1.5, by the deviation of the table.
        let spread = of(&Shape::Pareto, 3_584) - of(&Shape::Pareto, 0);
        let last = of(&Shape::Pareto, 4_095) - of(&Shape::Pareto, 0);
        assert!(
            (last / spread / ((20.159 - 1.0) / (2.0 - 1.0)) - 1.0).abs() < 0.01,
            "{last} {spread}"
        );
        for shape in [Shape::Normal, Shape::Pareto] {
            let all = shape.quantiles();
            assert!(all.is_sorted() && all.len() == 4_096);
            let mean = all.iter().sum::<i64>() as f64 / unit / 4_096.0;
            let squares: f64 = all.iter().map(|&x| (x as f64 / unit).powi(2)).sum();
            assert!(
                mean.abs() < 1e-3 && (squares / 4_096.0 - 1.0).abs() < 1e-3,
                "{mean}"
            );
            let [early, late] = shape.reach().map(|tenths| tenths as f64 / 10.0);
            assert!(
                -of(&shape, 0) <= early && of(&shape, 4_095) <= late,
                "{shape:?}"
            );
        }
    }
}
