//! How a quantity is printed: in the largest unit that gives a number from 1 on.

use alloc::format;
use core::fmt;

/// A unit's spelling and how many base units it holds.
pub(crate) type Unit = (&'static str, u64);

/// Writes `value` in the largest of `units` (largest first) that it reaches, with the exact decimal fraction; with a precision,
/// `{:.3}`, rounded to a number of significant digits.
pub(crate) fn format_in(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let value = f.precision().map_or(value, |digits| rounded(value, digits));
    let (name, size) = units
        .iter()
        .find(|(_, size)| value >= *size)
        .or(if value == 0 {
            units.first()
        } else {
            units.last()
        })
        .copied()
        .unwrap_or(("", 1));
    let mut text = format!("{}", value / size);
    let mut rest = value % size;
    if rest > 0 {
        text.push('.');
        let mut size = size;
        while rest > 0 && size > 1 {
            size /= 10;
            text.push(char::from(b'0' + (rest / size) as u8));
            rest %= size;
        }
    }
    text.push_str(if value == 0 && name == "tbit" {
        "bit"
    } else {
        name
    });
    match f.precision() {
        // `pad` would cut the text there.
        Some(_) => f.write_str(&text),
        // It honours the width that tables ask for.
        None => f.pad(&text),
    }
}

/// `value`, rounded to a number of significant digits.
fn rounded(value: u64, digits: usize) -> u64 {
    let mut place = 1_u64;
    while value / place >= 10_u64.saturating_pow(digits.clamp(1, 19) as u32) {
        place *= 10;
    }
    value.saturating_add(place / 2) / place * place
}
