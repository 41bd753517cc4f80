//! Laws of random sizes: what items, pages or frames weigh.
//!
//! A fixed size prints as an amount of data, everything else as an inline table of a scenario file;
//! [`Sizes::parse`] reads both. `quell-app` draws from them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::inline::{self, between, parts, unquoted};
use crate::{Bytes, notation};

/// Parts that make 1, in shapes and shares.
const MILLION: u64 = 1_000_000;

/// A distribution of sizes. Every size lies in [`Sizes::range`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Each is this one.
    Fixed(Bytes),
    /// Pareto from `min` on, cut off at `max`:
    /// P(size > x) is proportional to x^−α − max^−α.
    Pareto {
        /// α, in millionths.
        alpha: u32,
        /// The smallest size.
        min: Bytes,
        /// Above all sizes.
        max: Bytes,
    },
    /// Log-normal, cut off below `min` and from `max` on.
    LogNormal {
        /// Median and width, before the ends are cut off.
        spread: Spread,
        /// The smallest size.
        min: Bytes,
        /// Above all sizes.
        max: Bytes,
    },
    /// A measured distribution.
    Empirical(Steps),
}

/// Median and width of a log-normal law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// As they are.
    Median {
        /// Median.
        median: Bytes,
        /// Standard deviation of the natural logarithm, in millionths.
        sigma: u32,
    },
    /// Two of its percentiles define it.
    Percentiles {
        /// 5th percentile.
        p5: Bytes,
        /// 95th percentile.
        p95: Bytes,
    },
}

/// An empirical law: sizes with the share of all that are not larger. Between two of them the share
/// grows with the logarithm of the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Bytes, and the share in millionths; both rise.
    points: [(u32, u32); Self::MOST],
    count: u8,
}

impl Steps {
    /// The most points.
    pub const MOST: usize = 16;

    /// The points: bytes, and the share in millionths that is not larger, of which the last is all.
    pub fn points(&self) -> &[(u32, u32)] {
        &self.points[..usize::from(self.count)]
    }

    /// `None` unless sizes and shares rise, and the last share is all.
    fn new(list: &[(u64, u64)]) -> Option<Self> {
        let rise = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1;
        let count = u8::try_from(list.len()).ok()?;
        let is_whole = list.last()?.1 == MILLION;
        if list.len() > Self::MOST || !is_whole || !list.windows(2).all(rise) {
            return None;
        }
        let mut points = [(0, 0); Self::MOST];
        for (point, (size, share)) in points.iter_mut().zip(list) {
            *point = (u32::try_from(*size).ok()?, u32::try_from(*share).ok()?);
        }
        Some(Self { points, count })
    }
}

impl Sizes {
    /// The largest size that any law may have: 1 GB.
    pub const MOST: Bytes = Bytes::new(1_000_000_000);
    /// The notation of laws, which follows the range of a plain size.
    pub(crate) const FORMS: &'static str = "or a law of such sizes: \
        { pareto = 0.9, min = \"1kB\", max = \"1MB\" }, { p5 = \"64KiB\", p95 = \"2MiB\" } or \
        { median = \"370kB\", sigma = 1.05 } for log-normal sizes (from min to max, if given), \
        { empirical = [[\"1kB\", 0.5], [\"1MB\", 1]] } with the share of sizes up to each";

    /// The smallest and the largest size.
    pub fn range(&self) -> (Bytes, Bytes) {
        match self {
            Self::Fixed(size) => (*size, *size),
            Self::Pareto { min, max, .. } | Self::LogNormal { min, max, .. } => {
                (*min, Bytes::new(max.get() - 1))
            }
            Self::Empirical(steps) => {
                let end = |point: Option<&(u32, u32)>| point.map_or(0, |point| point.0.into());
                let points = steps.points();
                (
                    Bytes::new(end(points.first())),
                    Bytes::new(end(points.last())),
                )
            }
        }
    }

    /// Reads an amount of data, or the inline table of a law; `None` if it is neither, or a law that has
    /// no sizes.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with('{') {
            let size = notation::bytes(text).ok()?;
            return within(size).then_some(Self::Fixed(size));
        }
        let entries = inline::entries(text)?;
        let value = |key| inline::value(&entries, key);
        let known = |keys: &[&str]| entries.iter().all(|(name, _)| keys.contains(name));
        let bound = |key, default: Bytes| match value(key) {
            Some(text) => size(text),
            None => Some(default),
        };
        let (min, max) = (bound("min", Bytes::new(1))?, bound("max", Self::MOST)?);
        let law = if let Some(alpha) = value("pareto") {
            let alpha = parts_of_one(alpha)?;
            let complete = entries.len() == 3 && known(&["pareto", "min", "max"]);
            let fits = (10_000..=10 * MILLION as u32).contains(&alpha) && min < max;
            (complete && fits).then_some(Self::Pareto { alpha, min, max })?
        } else if let Some(list) = value("empirical") {
            let mut points = Vec::new();
            for pair in parts(between(list, '[', ']')?) {
                let [bytes, share] = parts(between(pair.trim(), '[', ']')?)[..] else {
                    return None;
                };
                points.push((
                    size(bytes.trim())?.get(),
                    parts_of_one(share.trim())?.into(),
                ));
            }
            (entries.len() == 1).then_some(Self::Empirical(Steps::new(&points)?))?
        } else {
            let (spread, middle) = match (value("median"), value("sigma")) {
                (Some(median), Some(sigma)) if known(&["median", "sigma", "min", "max"]) => {
                    let (median, sigma) = (size(median)?, parts_of_one(sigma)?);
                    let fits = (1..=4 * MILLION as u32).contains(&sigma);
                    (fits.then_some(Spread::Median { median, sigma })?, median)
                }
                (None, None) if known(&["p5", "p95", "min", "max"]) => {
                    let (p5, p95) = (size(value("p5")?)?, size(value("p95")?)?);
                    let fits = p5 < p95 && p95.get() / p5.get() < 500_000;
                    (fits.then_some(Spread::Percentiles { p5, p95 })?, p5)
                }
                _ => return None,
            };
            // Sizes are redrawn until one fits: enough of them must.
            let fits = min <= middle && middle < max && max.get() >= 2 * min.get();
            fits.then_some(Self::LogNormal { spread, min, max })?
        };
        Some(law)
    }
}

impl fmt::Display for Sizes {
    /// Prints the notation of scenario files, which reads back as the same law.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = |parts: u32| notation::write_fraction(parts.into(), MILLION);
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::Pareto { alpha, min, max } => {
                let alpha = decimal(*alpha);
                write!(
                    f,
                    "{{ pareto = {alpha}, min = \"{min}\", max = \"{max}\" }}"
                )
            }
            Self::LogNormal { spread, min, max } => {
                match spread {
                    Spread::Median { median, sigma } => {
                        write!(f, "{{ median = \"{median}\", sigma = {}", decimal(*sigma))?;
                    }
                    Spread::Percentiles { p5, p95 } => {
                        write!(f, "{{ p5 = \"{p5}\", p95 = \"{p95}\"")?;
                    }
                }
                write!(f, ", min = \"{min}\", max = \"{max}\" }}")
            }
            Self::Empirical(steps) => {
                let mut text = String::new();
                for (size, share) in steps.points() {
                    let (size, share) = (Bytes::new((*size).into()), decimal(*share));
                    let comma = if text.is_empty() { "" } else { ", " };
                    text += &alloc::format!("{comma}[\"{size}\", {share}]");
                }
                write!(f, "{{ empirical = [{text}] }}")
            }
        }
    }
}

fn within(size: Bytes) -> bool {
    (1..=Sizes::MOST.get()).contains(&size.get())
}

/// A size in quotes.
fn size(text: &str) -> Option<Bytes> {
    let size = notation::bytes(unquoted(text)?);
    size.ok().filter(|size| within(*size))
}

/// A decimal in millionths.
fn parts_of_one(text: &str) -> Option<u32> {
    notation::multiple(text, MILLION).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn laws_are_read_and_written_alike() {
        for text in [
            "100kB",
            r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#,
            r#"{ p5 = "64KiB", p95 = "2MiB", min = "1B", max = "1GB" }"#,
            r#"{ median = "370728B", sigma = 1.0534, min = "50B", max = "2MB" }"#,
            r#"{ empirical = [["1kB", 0], ["10kB", 0.5], ["1MB", 1]] }"#,
        ] {
            let law = Sizes::parse(text).unwrap();
            assert_eq!(law.to_string(), text);
        }
        let short = Sizes::parse(r#"{p95="2MiB",p5="64KiB"}"#).unwrap();
        let (min, max) = (Bytes::new(1), Sizes::MOST);
        let (p5, p95) = (Bytes::new(64 << 10), Bytes::new(2 << 20));
        let spread = Spread::Percentiles { p5, p95 };
        assert_eq!(short, Sizes::LogNormal { spread, min, max });
    }

    #[test]
    fn a_law_says_which_sizes_it_has() {
        let range = |text| Sizes::parse(text).unwrap().range();
        let of = |low, high| (Bytes::new(low), Bytes::new(high));
        assert_eq!(range("100kB"), of(100_000, 100_000));
        let pareto = r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#;
        assert_eq!(range(pareto), of(1_000, 999_999));
        let empirical = r#"{ empirical = [["1kB", 0.5], ["1MB", 1]] }"#;
        assert_eq!(range(empirical), of(1_000, 1_000_000));
    }

    #[test]
    fn what_is_no_law_is_refused() {
        for text in [
            "",
            "0B",
            "2GB",
            "1000",
            "{ }",
            r#"{ pareto = 0.9, min = "1MB", max = "1MB" }"#,
            r#"{ pareto = 0, min = "1kB", max = "1MB" }"#,
            r#"{ pareto = 0.9, min = "1kB" }"#,
            r#"{ pareto = 0.9, min = 1000, max = "1MB" }"#,
            r#"{ pareto = 0.9, min = "1kB", max = "1MB", sigma = 1 }"#,
            r#"{ p5 = "2MiB", p95 = "64KiB" }"#,
            r#"{ p5 = "64KiB" }"#,
            r#"{ p5 = "1B", p95 = "1GB" }"#,
            r#"{ median = "1MB", sigma = 1, max = "1MB" }"#,
            r#"{ median = "1kB", sigma = 1, p5 = "1kB" }"#,
            r#"{ median = "1kB", sigma = 9 }"#,
            r#"{ empirical = [] }"#,
            r#"{ empirical = [["1kB", 0.5]] }"#,
            r#"{ empirical = [["1kB", 0.5], ["1kB", 1]] }"#,
            r#"{ empirical = [["1kB", 0.5], ["2kB", 0.5], ["3kB", 1]] }"#,
        ] {
            assert_eq!(Sizes::parse(text), None, "{text}");
        }
    }
}
