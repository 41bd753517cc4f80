//! A picture as SVG 1.1 with a style that follows light and dark paper, and texts that screen readers read.

use std::fmt::Write as _;

use super::drawing::{Anchor, Drawing, Frame, Ink, Item, Shape};
use super::palette::PALETTE;

/// The fonts have one set of widths, see [`super::text`].
const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif";

/// The file. `name` makes the ids of a picture different from those of others on one page.
pub(super) fn write(drawing: &Drawing, name: &str) -> String {
    let mut svg = String::new();
    let (wide, high) = (drawing.width.ceil(), drawing.height.ceil());
    let add = |svg: &mut String, text: std::fmt::Arguments<'_>| {
        svg.write_fmt(text).expect("a string takes everything");
    };
    add(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"quell-plot\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             role=\"img\" aria-labelledby=\"{name}-title {name}-description\">\n\
             <title id=\"{name}-title\">{}</title>\n<desc id=\"{name}-description\">{}</desc>\n<style>{}</style>\n\
             <rect class=\"paper\" width=\"{wide}\" height=\"{high}\"/>\n",
            escaped(&drawing.title),
            escaped(&drawing.description),
            style(),
        ),
    );
    let mut clips: Vec<Frame> = Vec::new();
    for item in &drawing.items {
        if let Item::Series { clip, .. } = item
            && !clips.contains(clip)
        {
            let Frame {
                left,
                top,
                width,
                height,
            } = *clip;
            add(
                &mut svg,
                format_args!(
                    "<clipPath id=\"{name}-panel{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
                    clips.len(),
                    short(left),
                    short(top - 1.0),
                    short(width),
                    short(height + 2.0),
                ),
            );
            clips.push(*clip);
        }
        item_to(&mut svg, item, name, &clips);
    }
    svg.push_str("</svg>\n");
    svg
}

fn style() -> String {
    let mut style = format!(
        ".quell-plot{{font-family:{FONTS}}}\
         .quell-plot .paper{{fill:#fff}}.quell-plot .text{{fill:#111}}.quell-plot .faint{{fill:#555}}\
         .quell-plot line.text{{stroke:#111}}.quell-plot line.faint{{stroke:#555}}.quell-plot .grid{{stroke:#ddd}}.quell-plot .shade{{fill:#f1f1f4}}"
    );
    for (index, entry) in PALETTE.iter().enumerate() {
        style.push_str(&format!(".quell-plot .s{index}{{color:{}}}", entry.light));
    }
    style.push_str(
        ".quell-plot .path{fill:none;stroke:currentColor;stroke-linejoin:round}.quell-plot .fill{fill:currentColor}\
         @media screen and (prefers-color-scheme:dark){.quell-plot .paper{fill:#16181d}.quell-plot .text{fill:#eee}.quell-plot .faint{fill:#aaa}\
         .quell-plot line.text{stroke:#eee}.quell-plot line.faint{stroke:#aaa}.quell-plot .grid{stroke:#3a3d45}.quell-plot .shade{fill:#22252d}",
    );
    for (index, entry) in PALETTE.iter().enumerate() {
        style.push_str(&format!(".quell-plot .s{index}{{color:{}}}", entry.dark));
    }
    style.push('}');
    style
}

fn class(ink: Ink) -> String {
    match ink {
        Ink::Text => "text".to_owned(),
        Ink::Faint => "faint".to_owned(),
        Ink::Grid => "grid".to_owned(),
        Ink::Shade => "shade".to_owned(),
        Ink::Series(color) => format!("s{color}"),
    }
}

fn item_to(svg: &mut String, item: &Item, name: &str, clips: &[Frame]) {
    let text = match item {
        Item::Line {
            from,
            to,
            ink,
            width,
            dashes,
        } => {
            let class = match ink {
                Ink::Series(_) => format!("{} path", class(*ink)),
                ink => class(*ink),
            };
            format!(
                "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke-width=\"{width}\"{}/>\n",
                short(from.0),
                short(from.1),
                short(to.0),
                short(to.1),
                dashes_of(dashes),
            )
        }
        Item::Box { corner, size, ink } => format!(
            "<rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
            class(*ink),
            if matches!(ink, Ink::Series(_)) {
                " fill"
            } else {
                ""
            },
            short(corner.0),
            short(corner.1),
            short(size.0),
            short(size.1),
        ),
        Item::Text {
            at,
            text,
            size,
            anchor,
            is_bold,
            is_upright,
            ink,
        } => {
            let (x, y) = (short(at.0), short(at.1));
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            format!(
                "<text class=\"{}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{}{}>{}</text>\n",
                class(*ink),
                if *is_bold {
                    " font-weight=\"bold\""
                } else {
                    ""
                },
                turned(*is_upright, &x, &y),
                escaped(text),
            )
        }
        Item::Series {
            label,
            ink,
            clip,
            shape,
        } => {
            let number = clips.iter().position(|one| one == clip).unwrap_or(0);
            format!(
                "<g class=\"{} series\" data-series=\"{}\" clip-path=\"url(#{name}-panel{number})\">{}</g>\n",
                class(*ink),
                escaped(label),
                shape_text(shape),
            )
        }
    };
    svg.push_str(&text);
}

/// Turns a text that goes upwards.
fn turned(is_upright: bool, x: &str, y: &str) -> String {
    match is_upright {
        true => format!(" transform=\"rotate(-90 {x} {y})\""),
        false => String::new(),
    }
}

fn shape_text(shape: &Shape) -> String {
    match shape {
        Shape::Lines {
            lines,
            width,
            dashes,
        } => {
            let mut path = String::new();
            for line in lines {
                for (index, (x, y)) in line.iter().enumerate() {
                    path.push(if index == 0 { 'M' } else { 'L' });
                    path.push_str(&format!("{} {}", short(*x), short(*y)));
                }
                // A point alone is a line of no length, which round ends make visible.
                if line.len() == 1 {
                    path.push_str("h0");
                }
            }
            let round = if lines.iter().any(|line| line.len() == 1) {
                " stroke-linecap=\"round\""
            } else {
                ""
            };
            format!(
                "<path class=\"path\" stroke-width=\"{width}\"{}{round} d=\"{path}\"/>",
                dashes_of(dashes)
            )
        }
        Shape::Areas { areas, opacity } => {
            let mut path = String::new();
            for (index, (x, y)) in areas.iter().flat_map(|area| area.iter().enumerate()) {
                path.push_str(if index == 0 { "zM" } else { "L" });
                path.push_str(&format!("{} {}", short(*x), short(*y)));
            }
            let path = path.trim_start_matches('z');
            format!("<path class=\"fill\" fill-opacity=\"{opacity}\" d=\"{path}z\"/>")
        }
        Shape::Dots { at, radius } => {
            let dots = at.iter().map(|(x, y)| {
                format!(
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\"/>",
                    short(*x),
                    short(*y)
                )
            });
            format!(
                "<g class=\"fill\" fill-opacity=\"0.6\">{}</g>",
                dots.collect::<String>()
            )
        }
        Shape::Bars(bars) => {
            let bars = bars.iter().map(|bar| {
                format!(
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    short(bar.left),
                    short(bar.top),
                    short(bar.width),
                    short(bar.height),
                )
            });
            format!("<g class=\"fill\">{}</g>", bars.collect::<String>())
        }
    }
}

fn dashes_of(dashes: &[f64]) -> String {
    match dashes {
        [] => String::new(),
        dashes => {
            let all: Vec<String> = dashes.iter().map(ToString::to_string).collect();
            format!(" stroke-dasharray=\"{}\"", all.join(" "))
        }
    }
}

/// To a tenth of a unit: finer than anybody sees.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Text within an element or an attribute. What XML forbids becomes a replacement character.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            char if char.is_control() && !matches!(char, '\t' | '\n' | '\r') => {
                safe.push('\u{fffd}')
            }
            char => safe.push(char),
        }
    }
    safe
}
