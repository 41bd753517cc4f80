//! A picture as PDF: one page of its size, with the fonts that every reader has.

use pdf_writer::{Content, Finish as _, Name, Pdf, Rect, Ref, Str};

use super::drawing::{BAND, Drawing, Frame, Ink, Item, Shape};
use super::palette::{PALETTE, channels};
use super::text::width;

/// Light paper.
const INK: [f32; 3] = [0.07; 3];
const FAINT: [f32; 3] = [0.33; 3];
const GRID: [f32; 3] = [0.87; 3];
const SHADE: [f32; 3] = [0.945, 0.945, 0.957];
const PLAIN: Name<'static> = Name(b"F1");
const BOLD: Name<'static> = Name(b"F2");
/// What areas are seen through.
const CLEAR: Name<'static> = Name(b"G1");

/// The file.
pub(super) fn write(drawing: &Drawing) -> Vec<u8> {
    let (high, mut pdf) = (drawing.height.ceil(), Pdf::new());
    let mut next = 1;
    let mut new = || {
        next += 1;
        Ref::new(next - 1)
    };
    let (catalog, pages, page, content) = (new(), new(), new(), new());
    let (plain, bold, info, clear) = (new(), new(), new(), new());
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    let size = Rect::new(0.0, 0.0, drawing.width.ceil() as f32, high as f32);
    sheet.media_box(size).parent(pages).contents(content);
    let mut resources = sheet.resources();
    resources.fonts().pair(PLAIN, plain).pair(BOLD, bold);
    resources.ext_g_states().pair(CLEAR, clear);
    resources.finish();
    sheet.finish();
    pdf.ext_graphics(clear).non_stroking_alpha(BAND);
    for (font, name) in [(plain, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
        let mut font = pdf.type1_font(font);
        font.base_font(Name(name));
        font.encoding_predefined(Name(b"WinAnsiEncoding"));
    }
    let mut paper = Paper {
        content: Content::new(),
        high,
    };
    for item in &drawing.items {
        paper.item(item);
    }
    pdf.stream(content, &paper.content.finish());
    let title = pdf_writer::TextStr(&drawing.title);
    pdf.document_info(info).title(title);
    pdf.finish()
}

/// The page as it is drawn; its y grows upwards.
struct Paper {
    content: Content,
    high: f64,
}

impl Paper {
    fn at(&self, (x, y): (f64, f64)) -> (f32, f32) {
        (x as f32, (self.high - y) as f32)
    }

    fn stroke(&mut self, ink: Ink, width: f64, dashes: &[f64]) {
        let [red, green, blue] = color(ink);
        let dashes = dashes.iter().map(|&length| length as f32);
        self.content
            .set_stroke_rgb(red, green, blue)
            .set_line_width(width as f32)
            .set_dash_pattern(dashes, 0.0);
    }

    fn fill(&mut self, ink: Ink) {
        let [red, green, blue] = color(ink);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn frame(&mut self, frame: &Frame) {
        let (x, y) = self.at((frame.left, frame.top + frame.height));
        self.content
            .rect(x, y, frame.width as f32, frame.height as f32);
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Line {
                from,
                to,
                ink,
                width,
                dashes,
            } => {
                self.stroke(*ink, *width, dashes);
                self.line(&[*from, *to]);
            }
            Item::Box { corner, size, ink } => {
                self.fill(*ink);
                self.frame(&Frame {
                    left: corner.0,
                    top: corner.1,
                    width: size.0,
                    height: size.1,
                });
                self.content.fill_nonzero();
            }
            Item::Text { .. } => self.text(item),
            Item::Series {
                ink, clip, shape, ..
            } => {
                self.content.save_state();
                self.frame(clip);
                self.content.clip_nonzero().end_path();
                self.shape(*ink, shape);
                self.content.restore_state();
            }
        }
    }

    fn line(&mut self, points: &[(f64, f64)]) {
        self.path(points);
        self.content.stroke();
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        for (index, point) in points.iter().enumerate() {
            let (x, y) = self.at(*point);
            match index {
                0 => self.content.move_to(x, y),
                _ => self.content.line_to(x, y),
            };
        }
    }

    fn shape(&mut self, ink: Ink, shape: &Shape) {
        match shape {
            Shape::Lines {
                lines,
                width,
                dashes,
            } => {
                self.stroke(ink, *width, dashes);
                for line in lines {
                    match &line[..] {
                        // A point alone: a square as wide as the line.
                        [(x, y)] => self.dot((*x, *y), width / 2.0, ink),
                        line => self.line(line),
                    }
                }
            }
            Shape::Dots { at, radius } => {
                for point in at {
                    self.dot(*point, *radius, ink);
                }
            }
            Shape::Areas { areas, opacity } => {
                self.fill(ink);
                if *opacity < 1.0 {
                    self.content.set_parameters(CLEAR);
                }
                for area in areas {
                    self.path(area);
                    self.content.fill_nonzero();
                }
            }
            Shape::Bars(bars) => {
                self.fill(ink);
                for bar in bars {
                    self.frame(bar);
                    self.content.fill_nonzero();
                }
            }
        }
    }

    fn dot(&mut self, (x, y): (f64, f64), radius: f64, ink: Ink) {
        self.fill(ink);
        self.frame(&Frame {
            left: x - radius,
            top: y - radius,
            width: 2.0 * radius,
            height: 2.0 * radius,
        });
        self.content.fill_nonzero();
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
        let shift = anchor.shift(width(text, *size));
        let (x, y) = if *is_upright {
            (at.0, at.1 + shift)
        } else {
            (at.0 - shift, at.1)
        };
        let (x, y) = self.at((x, y));
        let turned = if *is_upright {
            [0.0, 1.0, -1.0, 0.0, x, y]
        } else {
            [1.0, 0.0, 0.0, 1.0, x, y]
        };
        self.fill(*ink);
        self.content
            .begin_text()
            .set_font(if *is_bold { BOLD } else { PLAIN }, *size as f32)
            .set_text_matrix(turned)
            .show(Str(&encoded(text)))
            .end_text();
    }
}

/// On light paper; each part from 0 to 1.
pub(super) fn color(ink: Ink) -> [f32; 3] {
    match ink {
        Ink::Text => INK,
        Ink::Faint => FAINT,
        Ink::Grid => GRID,
        Ink::Shade => SHADE,
        Ink::Series(index) => {
            let light = PALETTE.get(index).map_or("", |entry| &entry.light);
            channels(light).map(|part| f32::from(part) / 255.0)
        }
    }
}

/// In WinAnsiEncoding (ISO 32000, annex D); a question mark stands for what that does not have.
fn encoded(text: &str) -> Vec<u8> {
    let byte = |char: char| match char {
        ' '..='~' | '\u{a1}'..='\u{ff}' => u8::try_from(u32::from(char)).unwrap_or(b'?'),
        '…' => 0x85,
        '–' => 0x96,
        '—' => 0x97,
        '’' => 0x92,
        _ => b'?',
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_as_the_fonts_are() {
        assert_eq!(encoded("a–µ…≤"), [b'a', 0x96, 0xb5, 0x85, b'?']);
        assert_eq!(color(Ink::Series(3)), [102.0 / 255.0, 68.0 / 255.0, 0.0]);
    }
}
