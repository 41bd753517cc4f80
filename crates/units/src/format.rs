//! How a quantity is printed: in the largest unit that gives a number from 1 on.

use alloc::format;
use core::fmt;

/// A unit's spelling and how many base units it holds.
pub(crate) type Unit = (&'static str, u64);

/// Writes `value` in the largest of `units` (largest first) that it reaches, with the exact
/// decimal fraction.
pub(crate) fn format_in(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
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
    // `pad` honours the width that tables ask for.
    text.push_str(if value == 0 && name == "tbit" {
        "bit"
    } else {
        name
    });
    f.pad(&text)
}
