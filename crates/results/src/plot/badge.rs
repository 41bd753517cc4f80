//! Verdicts as a picture for a README: a row for each thing that is judged, with a box for each verdict and the counts in words.

use super::drawing::{Anchor, Drawing, Ink, Item};
use super::palette::PALETTE;
use super::{svg, text};

/// A row: what is judged, and how many of its bounds are missed, cannot be judged, and hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdicts {
    /// What is judged.
    pub name: String,
    /// Missed, open, met.
    pub counts: [usize; 3],
}

/// What each count is called, the color of its boxes by its name in the palette, and their height: a missed bound stands out without color.
const KINDS: [(&str, &str, f64); 3] = [
    ("FAIL", "classic", 14.0),
    ("open", "drop-tail", 4.0),
    ("pass", "codel", 10.0),
];
/// Sizes in points: of the font, of a row, of a box with its gap, of the margin.
const FONT: f64 = 11.0;
const ROW: f64 = 20.0;
const STEP: f64 = 5.0;
const MARGIN: f64 = 6.0;

/// The file.
pub fn badge(title: &str, rows: &[Verdicts]) -> String {
    let widest = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
    // A bold letter is a tenth wider at most.
    let names = widest(&mut rows.iter().map(|row| 1.1 * text::width(&row.name, FONT)));
    let number = |row: &Verdicts| row.counts.iter().sum::<usize>() as f64;
    let boxes = widest(&mut rows.iter().map(number)) * STEP;
    let words = |row: &Verdicts| {
        let kinds = KINDS.iter().zip(row.counts);
        let words = kinds.map(|((kind, ..), count)| format!("{count} {kind}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let said = widest(&mut rows.iter().map(|row| text::width(&words(row), FONT)));
    let (first, last) = (2.0 * MARGIN + names, 3.0 * MARGIN + names + boxes);
    let mut items = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let middle = (place as f64 + 0.5) * ROW;
        let written = |left: f64, text: String, is_bold: bool| Item::Text {
            at: (left, middle + FONT / 3.0),
            text,
            size: FONT,
            anchor: Anchor::Start,
            is_bold,
            is_upright: false,
            ink: Ink::Text,
        };
        items.push(written(MARGIN, row.name.clone(), true));
        let each = KINDS.iter().zip(row.counts);
        let each = each.flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
        for (number, (_, color, height)) in each.enumerate() {
            let color = PALETTE.iter().position(|entry| entry.name == *color);
            items.push(Item::Box {
                corner: (first + STEP * number as f64, middle - height / 2.0),
                size: (STEP - 1.0, *height),
                ink: color.map_or(Ink::Faint, Ink::Series),
            });
        }
        items.push(written(last, words(row), false));
    }
    let sentence = |row: &Verdicts| format!("{}: {}.", row.name, words(row));
    let drawing = Drawing {
        width: last + said + MARGIN,
        height: rows.len() as f64 * ROW,
        title: title.to_owned(),
        description: rows.iter().map(sentence).collect::<Vec<_>>().join(" "),
        items,
        panels: Vec::new(),
    };
    svg::write(&drawing, "badge")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_has_a_box_for_each_verdict_and_its_words_fit() {
        let row = |name: &str, counts| Verdicts {
            name: name.to_owned(),
            counts,
        };
        let svg = badge("judged", &[row("a<b", [1, 2, 20]), row("c", [0, 0, 3])]);
        let texts = [
            "a&lt;b",
            "1 FAIL, 2 open, 20 pass",
            "0 FAIL, 0 open, 3 pass",
        ];
        for text in texts {
            assert!(svg.contains(&format!(">{text}</text>")), "{svg}");
        }
        // The paper is no verdict.
        assert_eq!(svg.matches("<rect").count(), 1 + 23 + 3, "{svg}");
        // The one that is missed is the tallest, and comes first.
        let first = svg.lines().find(|line| line.contains(" fill\"")).unwrap();
        assert!(first.contains("height=\"14\""), "{first}");
        assert_eq!(svg.matches("height=\"14\"").count(), 1, "{svg}");
        let wide = (10.0 + f64::from(23u8)) * STEP;
        let width = svg
            .split("width=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        assert!(width.unwrap().parse::<f64>().unwrap() > wide, "{svg}");
    }
}
