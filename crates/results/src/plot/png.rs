//! A picture as PNG, on light paper.
//!
//! The font is part of the program, so that the bytes depend on the results alone: DejaVu Sans Condensed, whose letters are a few
//! percent wider than those that texts are placed by. Where one is, its text is narrowed to the width that it was given.

use tiny_skia::{
    FillRule, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use super::Error;
use super::drawing::{Drawing, Frame, Ink, Item, Shape};
use super::pdf::color;
use super::text::width;

/// Of dots, so that many of them are seen apart, as in SVG.
const DOTS: f32 = 0.6;

/// The file, with so many pixels for each point.
pub(super) fn write(drawing: &Drawing, scale: f64) -> Result<Vec<u8>, Error> {
    let pixels = |points: f64| (points.ceil() * scale).ceil() as u32;
    let fail = |why: &str| Error::Nothing(format!("the picture cannot be painted: {why}"));
    let pixmap = Pixmap::new(pixels(drawing.width), pixels(drawing.height));
    let mut pixmap = pixmap.ok_or_else(|| fail("it has no size, or too large a one"))?;
    pixmap.fill(tiny_skia::Color::WHITE);
    let face = |bytes| Face::parse(bytes, 0).map_err(|error| fail(&error.to_string()));
    let mut canvas = Canvas {
        pixmap,
        scale: Transform::from_scale(scale as f32, scale as f32),
        plain: face(dejavu::sans_condensed::regular())?,
        bold: face(dejavu::sans_condensed::bold())?,
        clip: None,
    };
    for item in &drawing.items {
        canvas.item(item);
    }
    let file = canvas.pixmap.encode_png();
    file.map_err(|error| fail(&error.to_string()))
}

struct Canvas {
    pixmap: Pixmap,
    scale: Transform,
    plain: Face<'static>,
    bold: Face<'static>,
    /// The frame that the latest series was clipped to.
    clip: Option<(Frame, Mask)>,
}

impl Canvas {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Line {
                from,
                to,
                ink,
                width,
                dashes,
            } => {
                if let Some(path) = polyline(&[*from, *to]) {
                    self.stroke(&path, *ink, *width, dashes, None);
                }
            }
            Item::Box { corner, size, ink } => {
                let frame = Frame {
                    left: corner.0,
                    top: corner.1,
                    width: size.0,
                    height: size.1,
                };
                self.fill(rectangle(&frame).as_ref(), *ink, 1.0, None);
            }
            Item::Text { .. } => self.text(item),
            Item::Series {
                ink, clip, shape, ..
            } => {
                let known = self.clip.take().filter(|(frame, _)| frame == clip);
                let known = known.or_else(|| Some((*clip, self.mask(clip)?)));
                self.shape(*ink, shape, known.as_ref().map(|(_, mask)| mask));
                self.clip = known;
            }
        }
    }

    /// Lets through what is in the frame, and a point above and below it.
    fn mask(&self, frame: &Frame) -> Option<Mask> {
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
        let room = Frame {
            top: frame.top - 1.0,
            height: frame.height + 2.0,
            ..*frame
        };
        let path = rectangle(&room)?;
        mask.fill_path(&path, FillRule::Winding, true, self.scale);
        Some(mask)
    }

    fn shape(&mut self, ink: Ink, shape: &Shape, mask: Option<&Mask>) {
        match shape {
            Shape::Lines {
                lines,
                width,
                dashes,
            } => {
                for line in lines {
                    match &line[..] {
                        // A point alone.
                        [at] => self.fill(circle(*at, width / 2.0).as_ref(), ink, 1.0, mask),
                        line => {
                            if let Some(path) = polyline(line) {
                                self.stroke(&path, ink, *width, dashes, mask);
                            }
                        }
                    }
                }
            }
            Shape::Dots { at, radius } => {
                for point in at {
                    self.fill(circle(*point, *radius).as_ref(), ink, DOTS, mask);
                }
            }
            Shape::Areas { areas, opacity } => {
                for area in areas {
                    self.fill(polyline(area).as_ref(), ink, *opacity, mask);
                }
            }
            Shape::Bars(bars) => {
                for bar in bars {
                    self.fill(rectangle(bar).as_ref(), ink, 1.0, mask);
                }
            }
        }
    }

    fn fill(&mut self, path: Option<&Path>, ink: Ink, opacity: f32, mask: Option<&Mask>) {
        if let Some(path) = path {
            let paint = paint(ink, opacity);
            let rule = FillRule::Winding;
            self.pixmap.fill_path(path, &paint, rule, self.scale, mask);
        }
    }

    fn stroke(&mut self, path: &Path, ink: Ink, width: f64, dashes: &[f64], mask: Option<&Mask>) {
        let dashes = dashes.iter().map(|&length| length as f32).collect();
        let stroke = Stroke {
            width: width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dashes, 0.0),
            ..Stroke::default()
        };
        let paint = paint(ink, 1.0);
        self.pixmap
            .stroke_path(path, &paint, &stroke, self.scale, mask);
    }

    fn text(&mut self, item: &Item) {
        let Item::Text {
            at,
            text,
            size,
            anchor,
            is_bold,
            is_upright,
            ink,
        } = item
        else {
            return;
        };
        let face = if *is_bold { &self.bold } else { &self.plain };
        let (letters, long) = outlines(face, text, *size, width(text, *size));
        let shift = anchor.shift(long);
        let turn = if *is_upright { -90.0 } else { 0.0 };
        let place = Transform::from_translate(-shift as f32, 0.0)
            .post_rotate(turn)
            .post_translate(at.0 as f32, at.1 as f32);
        let letters = letters.and_then(|letters| letters.transform(place));
        self.fill(letters.as_ref(), *ink, 1.0, None);
    }
}

/// The letters of a text that starts at the origin, and how long it is: as long as the font makes it, but not longer than `room`.
fn outlines(face: &Face<'_>, text: &str, size: f64, room: f64) -> (Option<Path>, f64) {
    let unit = size / f64::from(face.units_per_em());
    let glyphs: Vec<_> = text
        .chars()
        .map(|char| face.glyph_index(char).unwrap_or_default())
        .collect();
    let advance = |glyph| f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * unit;
    let natural: f64 = glyphs.iter().map(|glyph| advance(*glyph)).sum();
    let narrower = if natural > room { room / natural } else { 1.0 };
    let mut letters = Letters {
        path: PathBuilder::new(),
        at: 0.0,
        unit: ((unit * narrower) as f32, unit as f32),
    };
    let mut along = 0.0;
    for glyph in glyphs {
        letters.at = along as f32;
        face.outline_glyph(glyph, &mut letters);
        along += advance(glyph) * narrower;
    }
    (letters.path.finish(), along)
}

/// Outlines of letters beside each other; y grows downwards.
struct Letters {
    path: PathBuilder,
    at: f32,
    /// Points for a unit of the font, across and upwards.
    unit: (f32, f32),
}

impl Letters {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at + x * self.unit.0, -y * self.unit.1)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.path
            .cubic_to(first.0, first.1, second.0, second.1, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

fn paint(ink: Ink, opacity: f32) -> Paint<'static> {
    let [red, green, blue] = color(ink).map(|part| (part * 255.0).round() as u8);
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn polyline(points: &[(f64, f64)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        match index {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    path.finish()
}

fn rectangle(frame: &Frame) -> Option<Path> {
    let [left, top, width, height] =
        [frame.left, frame.top, frame.width, frame.height].map(|value| value as f32);
    Rect::from_xywh(left, top, width, height).map(PathBuilder::from_rect)
}

fn circle((x, y): (f64, f64), radius: f64) -> Option<Path> {
    PathBuilder::from_circle(x as f32, y as f32, radius as f32)
}

#[cfg(test)]
mod tests {
    use super::super::drawing::Anchor;
    use super::*;

    const FRAME: Frame = Frame {
        left: 20.0,
        top: 20.0,
        width: 40.0,
        height: 20.0,
    };

    fn painted(items: Vec<Item>, scale: f64) -> Pixmap {
        let drawing = Drawing {
            width: 99.5,
            height: 60.0,
            title: String::new(),
            description: String::new(),
            items,
            panels: Vec::new(),
        };
        let file = write(&drawing, scale).unwrap();
        assert_eq!(write(&drawing, scale).unwrap(), file, "the same each time");
        Pixmap::decode_png(&file).unwrap()
    }

    /// Left, top, right and bottom of what is not white.
    fn extent(pixmap: &Pixmap) -> (u32, u32, u32, u32) {
        let width = pixmap.width();
        let inked = pixmap
            .pixels()
            .iter()
            .enumerate()
            .filter(|(_, pixel)| [pixel.red(), pixel.green(), pixel.blue()] != [255; 3]);
        inked.fold((u32::MAX, u32::MAX, 0, 0), |found, (index, _)| {
            let (x, y) = (index as u32 % width, index as u32 / width);
            (
                found.0.min(x),
                found.1.min(y),
                found.2.max(x),
                found.3.max(y),
            )
        })
    }

    fn text(words: &str, anchor: Anchor, is_upright: bool) -> Item {
        Item::Text {
            at: (50.0, 30.0),
            text: words.to_owned(),
            size: 10.0,
            anchor,
            is_bold: false,
            is_upright,
            ink: Ink::Text,
        }
    }

    #[test]
    fn each_point_has_as_many_pixels_as_the_scale_says() {
        for (scale, size) in [(1.0, (100, 60)), (2.0, (200, 120)), (0.5, (50, 30))] {
            let pixmap = painted(Vec::new(), scale);
            assert_eq!((pixmap.width(), pixmap.height()), size);
        }
    }

    #[test]
    fn a_series_has_its_colour_and_ends_at_its_panel() {
        let series = Item::Series {
            label: String::new(),
            ink: Ink::Series(0),
            clip: FRAME,
            shape: Shape::Lines {
                lines: vec![vec![(0.0, 30.0), (99.0, 30.0)]],
                width: 4.0,
                dashes: &[],
            },
        };
        let pixmap = painted(vec![series], 1.0);
        assert_eq!(extent(&pixmap), (20, 28, 59, 31));
        let middle = pixmap.pixel(40, 30).unwrap();
        // #2a1b6e
        assert_eq!(
            (middle.red(), middle.green(), middle.blue()),
            (0x2a, 0x1b, 0x6e)
        );
    }

    #[test]
    fn a_text_takes_no_more_room_than_it_was_given() {
        for words in ["mean ms", "WWWW", "iiiiiiii", "0.001 %"] {
            let room = width(words, 10.0).ceil() as u32;
            for (anchor, from) in [
                (Anchor::Start, 50),
                (Anchor::End, 50 - room),
                (Anchor::Middle, 50 - room / 2),
            ] {
                let pixmap = painted(vec![text(words, anchor, false)], 1.0);
                let (left, top, right, bottom) = extent(&pixmap);
                let to = from + room;
                assert!(
                    left + 1 >= from && right <= to + 1,
                    "{words}: {left} to {right}, given {from} to {to}"
                );
                assert!(top >= 20 && bottom <= 33, "{words}: {top} to {bottom}");
            }
        }
        // Turned to the left: it begins at its place and goes up.
        let (left, top, right, bottom) =
            extent(&painted(vec![text("Wave", Anchor::Start, true)], 1.0));
        assert!(left >= 40 && right <= 51 && top < 12 && (28..=31).contains(&bottom));
    }

    #[test]
    fn the_font_has_every_character_that_pictures_are_made_of() {
        for face in [
            dejavu::sans_condensed::regular(),
            dejavu::sans_condensed::bold(),
        ] {
            let face = Face::parse(face, 0).unwrap();
            for char in (' '..='~').chain("µ–—…’≤≥×²′°".chars()) {
                assert!(face.glyph_index(char).is_some(), "{char}");
            }
        }
    }
}
