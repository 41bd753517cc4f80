//! How wide texts are, before anybody draws them.
//!
//! The fonts that pictures name (Helvetica, Arial, Liberation Sans, Nimbus Sans) have the same widths, those of Adobe's metrics of
//! Helvetica, so what is placed by them fits on every system that has one of them.

/// Widths of the characters from space to tilde, in thousandths of the size of the font.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Of any other character: as wide as most capitals.
const OTHER: u16 = 722;

/// Width of `text` in a font of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let all: f64 = text.chars().map(|char| f64::from(of(char))).sum();
    all * size / 1000.0
}

fn of(char: char) -> u16 {
    let index = (char as usize).checked_sub(0x20);
    let width = index.and_then(|index| WIDTHS.get(index));
    width.copied().unwrap_or(OTHER)
}

/// As much of `text` as fits into `room`, with an ellipsis where something is left out.
pub(super) fn fitting(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for char in text.chars() {
        kept.push(char);
        if width(&kept, size) + width("…", size) > room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        assert!((width("W", 1000.0) - 944.0).abs() < 1e-9);
        assert!((width("0123", 10.0) - 4.0 * 5.56).abs() < 1e-9);
        assert!(width("µ", 10.0) > 0.0);
    }

    #[test]
    fn a_text_that_does_not_fit_ends_with_an_ellipsis() {
        assert_eq!(fitting("dualpi2", 10.0, 100.0), "dualpi2");
        let cut = fitting("dualpi2:target=5ms", 10.0, 50.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 50.0, "{cut}");
    }
}
