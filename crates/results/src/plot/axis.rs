//! Where values lie on an axis, and which of them have a tick.

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios. Values of 0 and below have no place.
    Logarithmic,
}

/// An axis with its ends: values between them lie from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    /// Over these values, with the ends that are given, or else a little beyond the outermost ones.
    pub(super) fn new(
        scale: Scale,
        ends: (Option<f64>, Option<f64>),
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let has_place = |value: f64| value.is_finite() && (scale == Scale::Linear || value > 0.0);
        let (low, high) = values
            .filter(|&value| has_place(value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        match scale {
            Scale::Linear => {
                let (from, to) = (ends.0.unwrap_or(low), ends.1.unwrap_or(high));
                let to = if to > from {
                    to
                } else {
                    from + from.abs().max(1.0)
                };
                let step = step(from, to);
                let low = ends.0.unwrap_or_else(|| (from / step).floor() * step);
                let high = ends.1.unwrap_or_else(|| (to / step).ceil() * step);
                Self { scale, low, high }
            }
            Scale::Logarithmic => {
                let low = ends.0.unwrap_or(low / 1.1);
                let high = ends.1.unwrap_or(high * 1.1).max(low * 2.0);
                Self { scale, low, high }
            }
        }
    }

    /// The lower end.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// The higher end.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Where a value lies: 0 at the lower end, 1 at the higher one; `None` for what has no place on the axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic if value > 0.0 => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
            Scale::Logarithmic => return None,
        };
        place.is_finite().then_some(place)
    }

    /// Values with a tick, at most about so many.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.even(most.max(2)),
            Scale::Logarithmic => self.ratios(most.max(2)),
        }
    }

    fn even(&self, most: usize) -> Vec<f64> {
        let step = nice((self.high - self.low) / most as f64);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }

    /// 1, 2 and 5 of each decade where there is room, else 1, else every second or third decade. Without two of these, even steps.
    fn ratios(&self, most: usize) -> Vec<f64> {
        let decades = (
            (self.low.log10() - 1e-9).floor() as i32,
            (self.high.log10() + 1e-9).ceil() as i32,
        );
        let within = |value: &f64| {
            let slack = 1.0 + 1e-9;
            *value >= self.low / slack && *value <= self.high * slack
        };
        for digits in [&[1.0, 2.0, 5.0][..], &[1.0]] {
            for every in 1..=4 {
                let powers = (decades.0..=decades.1).filter(|power| power % every == 0);
                let values = powers.flat_map(|power| {
                    let decade = 10_f64.powi(power);
                    digits.iter().map(move |digit| digit * decade)
                });
                let values: Vec<f64> = values.filter(within).collect();
                let fits = values.len() <= most + 1;
                if fits && values.len() >= 2 {
                    return values;
                }
                if digits.len() > 1 {
                    break;
                }
            }
        }
        self.even(most)
    }
}

/// The step of a linear axis whose ends are rounded.
fn step(low: f64, high: f64) -> f64 {
    nice((high - low) / 10.0)
}

/// The smallest of 1, 2, 5, 10, 20 … that is not below `value`.
pub(super) fn nice(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * decade >= value * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// A number for a reader: up to so many digits that matter, without zeros that say nothing.
pub(crate) fn number(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() {
            "0".to_owned()
        } else {
            "–".to_owned()
        };
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-6..9).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(scale: Scale, values: &[f64]) -> Span {
        Span::new(scale, (None, None), values.iter().copied())
    }

    #[test]
    fn a_linear_axis_ends_at_round_values_and_has_round_ticks() {
        let axis = span(Scale::Linear, &[3.1, 97.0, f64::NAN]);
        assert_eq!((axis.low(), axis.high()), (0.0, 100.0));
        assert_eq!(axis.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(axis.place(25.0), Some(0.25));
        let axis = Span::new(Scale::Linear, (Some(0.0), None), [0.07].into_iter());
        assert_eq!(axis.ticks(4).len(), 5, "0 to 0.08");
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_at_one_two_five_or_at_decades() {
        let axis = span(Scale::Logarithmic, &[1.0, 100.0, 0.0, -5.0]);
        assert_eq!(axis.ticks(8), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(axis.ticks(4), [1.0, 10.0, 100.0]);
        assert_eq!(axis.place(0.0), None);
        let wide = span(Scale::Logarithmic, &[1e-6, 1e6]);
        assert!((2..=7).contains(&wide.ticks(6).len()));
        let narrow = span(Scale::Logarithmic, &[30.0, 40.0]);
        assert!(narrow.ticks(6).len() >= 2);
    }

    #[test]
    fn an_axis_without_values_or_with_one_is_still_an_axis() {
        for values in [&[][..], &[5.0], &[0.0], &[f64::INFINITY]] {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let axis = span(scale, values);
                assert!(axis.high() > axis.low(), "{values:?}");
                assert!(!axis.ticks(6).is_empty());
                assert!(axis.ticks(6).len() < 20);
            }
        }
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (1234.5, "1234"),
            (99.96, "100"),
            (0.012_345, "0.0123"),
            (20.0, "20"),
            (1e12, "1.00e12"),
        ] {
            assert_eq!(number(value, 3), text);
        }
    }
}
