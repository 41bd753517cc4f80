//! Numbers with a unit, and the values of a range between two of them.
//!
//! A range is counted in whole units (ns, bit/s, bytes, packets, billionths), so that a value has one text and is the same on every
//! machine. Floating point is used for logarithmic ranges alone, and there only the operations that IEEE 754 fixes to the last bit:
//! products and square roots.

use quell_scenario::Origin;
use quell_scenario::tree::{Node, TomlType, Tree};
use quell_units::{Bytes, Rate, Time, notation};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nothing in particular.
    Whole,
    /// Billionths of one.
    Billionths,
    /// Nanoseconds.
    Time,
    /// bit/s.
    Rate,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

/// A number of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub(crate) unit: Unit,
    pub(crate) count: u64,
}

/// How the values of a range are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

/// From one number to another of the same unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) scale: Scale,
    pub(crate) unit: Unit,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A place between the ends of a range: `at` of `of`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub(crate) at: u64,
    pub(crate) of: u64,
}

const BILLION: u64 = 1_000_000_000;
/// Digits of a value between the ends of a logarithmic range, and of one that was drawn.
const DIGITS: u32 = 4;

impl Quantity {
    /// Of a value in a file: a number, or a text with a unit; `None` for anything else.
    pub(crate) fn of(node: &Node) -> Option<Self> {
        let of = |unit, count| Some(Self { unit, count });
        let Tree::Scalar(kind, text) = &node.value else {
            return None;
        };
        match kind {
            TomlType::Integer => of(Unit::Whole, notation::integer(text).ok()?),
            TomlType::Float => of(Unit::Billionths, notation::multiple(text, BILLION).ok()?),
            TomlType::String => {
                let time = || of(Unit::Time, notation::time(text).ok()?.as_nanos());
                let rate = || {
                    let rate = notation::rate(text).ok()?;
                    (!rate.is_unlimited()).then_some(Self {
                        unit: Unit::Rate,
                        count: rate.as_bps(),
                    })
                };
                let bytes = || of(Unit::Bytes, notation::bytes(text).ok()?.get());
                let packets = || of(Unit::Packets, notation::packets(text).ok()?);
                time().or_else(rate).or_else(bytes).or_else(packets)
            }
            TomlType::Boolean | TomlType::Other => None,
        }
    }

    /// In the notation of scenarios.
    pub(crate) fn text(self) -> String {
        match self.unit {
            Unit::Whole => self.count.to_string(),
            Unit::Billionths => notation::write_fraction(self.count, BILLION),
            Unit::Time => Time::from_nanos(self.count).to_string(),
            Unit::Rate => Rate::from_bps(self.count).to_string(),
            Unit::Bytes => Bytes::new(self.count).to_string(),
            Unit::Packets => format!("{}p", self.count),
        }
    }

    /// As a file would have it.
    pub(crate) fn node(self, origin: Origin) -> Node {
        let kind = match self.unit {
            Unit::Whole => TomlType::Integer,
            Unit::Billionths => TomlType::Float,
            Unit::Time | Unit::Rate | Unit::Bytes | Unit::Packets => TomlType::String,
        };
        Node {
            origin,
            value: Tree::Scalar(kind, self.text()),
        }
    }

    /// The number for a table, in ms, bit/s, bytes or packets.
    pub(crate) fn number(self) -> f64 {
        let count = self.count as f64;
        match self.unit {
            Unit::Billionths => count / BILLION as f64,
            Unit::Time => count / 1e6,
            Unit::Whole | Unit::Rate | Unit::Bytes | Unit::Packets => count,
        }
    }
}

impl Unit {
    /// What a column in this unit is called after its key.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Whole | Self::Billionths => "",
            Self::Time => "_ms",
            Self::Rate => "_bps",
            Self::Bytes => "_bytes",
            Self::Packets => "_packets",
        }
    }
}

impl Range {
    /// Between two numbers; `None` where their units differ, and for a logarithmic range from or to nothing.
    pub(crate) fn new(scale: Scale, from: Quantity, to: Quantity) -> Option<Self> {
        let (from, to) = match (from.unit, to.unit) {
            (Unit::Whole, Unit::Billionths) => (billionths(from)?, to),
            (Unit::Billionths, Unit::Whole) => (from, billionths(to)?),
            _ => (from, to),
        };
        let positive = scale == Scale::Linear || (from.count > 0 && to.count > 0);
        (from.unit == to.unit && positive).then_some(Self {
            scale,
            unit: from.unit,
            from: from.count,
            to: to.count,
        })
    }

    /// The value at a position. A logarithmic range has four digits between its ends, and so has a drawn value.
    pub(crate) fn value(self, position: Position, drawn: bool) -> Quantity {
        let Position { at, of } = position;
        let (from, to) = (u128::from(self.from), u128::from(self.to));
        let (at, of) = (u128::from(at), u128::from(of.max(1)));
        let exact = match self.scale {
            _ if at == 0 => from,
            _ if at >= of => to,
            Scale::Linear => (from * (of - at) + to * at + of / 2) / of,
            Scale::Logarithmic => {
                let ratio = self.to as f64 / self.from as f64;
                let value = self.from as f64 * power(ratio, at, of);
                // Towards zero after a half was added: the nearest, without a function of the C library.
                (value + 0.5) as u128
            }
        };
        let inside = at > 0 && at < of;
        let count = match self.scale {
            Scale::Logarithmic if inside => rounded(exact),
            Scale::Linear if inside && drawn => rounded(exact),
            Scale::Linear | Scale::Logarithmic => exact,
        };
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        Quantity {
            unit: self.unit,
            count: u64::try_from(count).unwrap_or(high).clamp(low, high),
        }
    }
}

fn billionths(whole: Quantity) -> Option<Quantity> {
    Some(Quantity {
        unit: Unit::Billionths,
        count: whole.count.checked_mul(BILLION)?,
    })
}

/// `base` to the power of `at`/`of`, which is between 0 and 1: the product of the square roots of its square roots that the
/// exponent's binary digits choose.
fn power(base: f64, at: u128, of: u128) -> f64 {
    let (mut result, mut root, mut rest) = (1.0, base, at);
    for _ in 0..48 {
        root = root.sqrt();
        rest *= 2;
        if rest >= of {
            rest -= of;
            result *= root;
        }
    }
    result
}

/// The nearest number with [`DIGITS`] digits.
fn rounded(value: u128) -> u128 {
    let mut unit = 1;
    while value / unit >= 10_u128.pow(DIGITS) {
        unit *= 10;
    }
    (value + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(value: &str) -> Option<Quantity> {
        let root = quell_scenario::tree::read("f", &format!("a = {value}")).unwrap();
        let Tree::Table(table) = &root.value else {
            return None;
        };
        Quantity::of(table.get("a")?)
    }

    #[test]
    fn a_number_keeps_its_meaning_and_its_text() {
        for (value, unit, count, text, number) in [
            ("17", Unit::Whole, 17, "17", 17.0),
            ("0.7", Unit::Billionths, 700_000_000, "0.7", 0.7),
            ("\"5ms\"", Unit::Time, 5_000_000, "5ms", 5.0),
            ("\"40mbit\"", Unit::Rate, 40_000_000, "40mbit", 40e6),
            ("\"64kB\"", Unit::Bytes, 64_000, "64kB", 64e3),
            ("\"100p\"", Unit::Packets, 100, "100p", 100.0),
        ] {
            let found = quantity(value).unwrap();
            assert_eq!(found, Quantity { unit, count }, "{value}");
            assert_eq!((found.text().as_str(), found.number()), (text, number));
        }
        for none in ["\"pie\"", "true", "\"unlimited\"", "-3", "[1]", "\"\""] {
            assert_eq!(quantity(none), None, "{none}");
        }
    }

    fn values(scale: Scale, from: &str, to: &str, steps: u64) -> Vec<String> {
        let range = Range::new(scale, quantity(from).unwrap(), quantity(to).unwrap()).unwrap();
        let of = steps - 1;
        let at = (0..steps).map(|at| range.value(Position { at, of }, false).text());
        at.collect()
    }

    #[test]
    fn steps_are_even_on_their_scale() {
        assert_eq!(
            values(Scale::Linear, "\"4mbit\"", "\"40mbit\"", 4),
            ["4mbit", "16mbit", "28mbit", "40mbit"]
        );
        assert_eq!(values(Scale::Linear, "10", "1", 4), ["10", "7", "4", "1"]);
        assert_eq!(
            values(Scale::Linear, "1", "2.5", 4),
            ["1", "1.5", "2", "2.5"]
        );
        // 5·20^(k/4): 10.5737, 22.3607, 47.2871 ms.
        assert_eq!(
            values(Scale::Logarithmic, "\"5ms\"", "\"100ms\"", 5),
            ["5ms", "10.57ms", "22.36ms", "47.29ms", "100ms"]
        );
        assert_eq!(
            values(Scale::Logarithmic, "\"100mbit\"", "\"1mbit\"", 3),
            ["100mbit", "10mbit", "1mbit"]
        );
    }

    #[test]
    fn a_power_is_that_of_the_library() {
        for (base, at, of) in [(20.0, 1, 4), (1e-6, 2, 3), (1e9, 17, 65_536), (3.0, 1, 7)] {
            let expected = f64::powf(base, at as f64 / of as f64);
            let found = power(base, at, of);
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{base} {at}/{of}: {found}"
            );
        }
    }

    #[test]
    fn a_range_has_one_unit_and_a_logarithm() {
        let of =
            |scale, from, to| Range::new(scale, quantity(from).unwrap(), quantity(to).unwrap());
        assert!(of(Scale::Linear, "\"5ms\"", "\"5mbit\"").is_none());
        assert!(of(Scale::Logarithmic, "0", "5").is_none());
        assert!(of(Scale::Linear, "0", "5").is_some());
        assert!(of(Scale::Linear, "0", "0.5").is_some());
    }
}
