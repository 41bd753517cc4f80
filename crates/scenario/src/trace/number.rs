//! Lines, and decimal numbers, exactly.

/// The lines that say something, from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let content = lines.map(|(index, line)| {
        let content = line.split('#').next().unwrap_or_default();
        (index + 1, content.trim())
    });
    content.filter(|(_, line)| !line.is_empty())
}

/// `text` times `unit`, rounded to the nearest whole number; `None` if it is no number from zero on, or too large. Takes what programs
/// write: `12`, `0.25`, `1.5e-3`.
pub(super) fn scaled(text: &str, unit: u64) -> Option<u64> {
    let bytes = text.as_bytes();
    let (mut value, mut places, mut at) = (0_u64, 0_i32, 0);
    let (mut digits, mut point) = (0_u32, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                // What 19 digits cannot hold is below every unit.
                if value < 1_000_000_000_000_000_000 {
                    value = value * 10 + u64::from(byte - b'0');
                    places += i32::from(point);
                } else if !point {
                    return None;
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' => break,
            _ => return None,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    let exponent = match bytes.get(at) {
        None => 0,
        Some(_) => text
            .get(at + 1..)?
            .parse::<i32>()
            .ok()
            .filter(|e| e.abs() < 1_000)?,
    };
    let shift = exponent - places;
    let mut product = u128::from(value) * u128::from(unit);
    if shift >= 0 {
        for _ in 0..shift {
            if product == 0 {
                break;
            }
            product = product.checked_mul(10)?;
        }
    } else {
        // 19 digits of value and 20 of unit.
        let divisor = 10_u128.pow(shift.unsigned_abs().min(38));
        product = product / divisor + u128::from(product % divisor * 2 >= divisor);
    }
    u64::try_from(product).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        for (text, unit, expected) in [
            ("12", 1_000, Some(12_000)),
            ("0.25", 1_000_000_000, Some(250_000_000)),
            (".5", 10, Some(5)),
            ("5.", 10, Some(50)),
            ("1.5e-3", 1_000_000, Some(1_500)),
            ("2E3", 1, Some(2_000)),
            ("4.03768755221", 1_000_000, Some(4_037_688)),
            (
                "1700000000.123456789",
                1_000_000_000,
                Some(1_700_000_000_123_456_789),
            ),
            ("0e999", 1, Some(0)),
            ("1e999", 1, None),
            ("1e-999", 1, Some(0)),
            ("-1", 1, None),
            ("", 1, None),
            (".", 1, None),
            ("1.2.3", 1, None),
            ("1e", 1, None),
            ("é", 1, None),
            ("123456789012345678901234", 1, None),
        ] {
            assert_eq!(scaled(text, unit), expected, "{text}");
        }
    }
}
