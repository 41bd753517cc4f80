//! Numbers as people read them.

/// Three significant digits, and no more than three decimals.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let shown = [0.0, 0.1304, 6.447, 14.96, 99.94, 99.97, 100.0].map(digits);
        assert_eq!(
            shown,
            ["0.000", "0.130", "6.45", "15.0", "99.9", "100", "100"]
        );
    }
}
