//! A sheet of small pictures: rows and columns of cells, each with delays on a logarithmic axis and a bar of shares.

use quell_lab::results::plot::escaped;
use quell_measure::Dist;

/// Ends of the axis of delay in ms, each ten times the one before.
const DECADES: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];
const LEFT: f64 = 118.0;
const TOP: f64 = 62.0;
const CELL: (f64, f64) = (116.0, 46.0);
/// Columns for which there is room, so that the legend has it.
const LEAST: usize = 5;
/// Between columns and those below them.
const BETWEEN: f64 = 22.0;
/// The frame of what is drawn in a cell.
const INNER: f64 = 104.0;

/// What a cell shows.
#[derive(Debug)]
pub struct Cell {
    /// P1, P25, P75 and P99 of delays in ms, from above, each with the class of its ink.
    pub delays: Vec<([f64; 4], &'static str)>,
    /// Parts of the whole bar, from the left, each with the class of its ink.
    pub shares: Vec<(f64, &'static str)>,
    /// The one figure.
    pub said: String,
}

/// P1, P25, P75 and P99.
pub fn quarters(delay: &Dist) -> [f64; 4] {
    [delay.p1, delay.p25, delay.p75, delay.p99]
}

/// The picture of cells in order, row by row, with so many columns `across` and the others below. Its style is that of what is in the
/// element `scope`, a selector with a space behind, or of everything.
pub fn draw(
    scope: &str,
    [title, legend]: [&str; 2],
    columns: &[&str],
    rows: &[&str],
    across: usize,
    cells: &[Cell],
) -> String {
    assert_eq!(cells.len(), rows.len() * columns.len());
    let band = CELL.1 * rows.len() as f64 + BETWEEN;
    let bands = columns.len().div_ceil(across.max(1));
    let (width, height) = (
        LEFT + CELL.0 * columns.len().min(across).max(LEAST) as f64 + 8.0,
        TOP + band * bands as f64 - BETWEEN + 12.0,
    );
    let [title, legend] = [title, legend].map(escaped);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t\">\n\
         <title id=\"t\">{title}</title>\n<style>{}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"b\" x=\"10\" y=\"18\">{title}</text>\n\
         <text x=\"10\" y=\"34\">{legend}</text>\n",
        style(scope)
    );
    let mut add = |line: String| {
        svg.push_str(&line);
        svg.push('\n');
    };
    let at = |column: usize| LEFT + CELL.0 * (column % across) as f64;
    let top = |column: usize| TOP + band * (column / across) as f64;
    for (column, name) in columns.iter().enumerate() {
        let (x, y, name) = (at(column), top(column) - 8.0, escaped(name));
        add(format!(
            "<text class=\"b\" x=\"{x}\" y=\"{y}\">{name}</text>"
        ));
    }
    for first in (0..columns.len()).step_by(across) {
        for (row, name) in rows.iter().enumerate() {
            let (y, name) = (top(first) + CELL.1 * row as f64 + 22.0, escaped(name));
            add(format!(
                "<text class=\"b\" x=\"10\" y=\"{y}\">{name}</text>"
            ));
        }
    }
    for (number, cell) in cells.iter().enumerate() {
        let (row, column) = (number / columns.len(), number % columns.len());
        add(cell.draw((at(column), top(column) + CELL.1 * row as f64)));
    }
    svg.push_str("</svg>\n");
    svg
}

impl Cell {
    /// Nothing but words.
    pub fn empty(said: &str) -> Self {
        Self {
            delays: Vec::new(),
            shares: Vec::new(),
            said: said.to_owned(),
        }
    }

    fn draw(&self, (x, y): (f64, f64)) -> String {
        let mut out = format!(
            "<rect class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{INNER}\" height=\"{}\"/>",
            CELL.1 - 6.0
        );
        for decade in &DECADES[1..4] {
            let at = short(x + place(*decade));
            let height = CELL.1 - 6.0;
            out += &format!("<path class=\"grid\" d=\"M{at} {y}v{height}\"/>");
        }
        for (line, (delay, ink)) in self.delays.iter().enumerate() {
            out.push_str(&whisker((x, y + 17.0 + 8.0 * line as f64), delay, ink));
        }
        let mut from = 0.0;
        for (share, ink) in &self.shares {
            let wide = share.min(1.0 - from) * INNER;
            out += &format!(
                "<rect class=\"{ink}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"5\"/>",
                short(x + from * INNER),
                y + CELL.1 - 12.0,
                short(wide)
            );
            from += share;
        }
        let (x, y, said) = (x + 2.0, y + 10.0, escaped(&self.said));
        out += &format!("<text x=\"{x}\" y=\"{y}\">{said}</text>");
        out
    }
}

/// Two digits that count.
pub fn ms(value: f64) -> String {
    match value {
        _ if value < 0.95 => format!("{value:.2}"),
        _ if value < 9.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn whisker((x, y): (f64, f64), delays: &[f64; 4], ink: &str) -> String {
    let [low, from, to, high] = delays.map(|delay| x + place(delay));
    format!(
        "<path class=\"w {ink}\" d=\"M{} {y}H{}\"/><rect class=\"{ink}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"5\"/>",
        short(low),
        short(high.max(low + 1.0)),
        short(from),
        y - 2.5,
        short((to - from).max(1.5))
    )
}

/// Where a delay lies within the frame of a cell, on a logarithmic axis.
fn place(ms: f64) -> f64 {
    let ends = (DECADES[0], DECADES[4]);
    let value = ms.clamp(ends.0, ends.1);
    INNER * (value / ends.0).log10() / 4.0
}

/// Tenths, without an end of zeros: the same on every machine, however its logarithm rounds.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Blue is L4S and orange Classic traffic, as everywhere; ink is what a cell is about.
fn style(scope: &str) -> String {
    let colours = include_str!("../../../results/src/plot/colours.json");
    let colours: serde_json::Value = serde_json::from_str(colours).unwrap_or_default();
    let inks = |paper: &str, ink: &str| -> String {
        let of = |class: usize| {
            colours["traffic"][class][paper]
                .as_str()
                .unwrap_or_default()
        };
        let all = [("l", of(0)), ("c", of(1)), ("f", ink)];
        let one = |(class, color): (&str, &str)| {
            format!("{scope}.{class}{{fill:{color}}}{scope}.w.{class}{{stroke:{color}}}")
        };
        all.map(one).concat()
    };
    format!(
        "{scope}text{{font:10px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#111}}{scope}.b{{font-weight:bold}}{scope}.paper{{fill:#fff}}\
         {scope}.frame{{fill:#f4f5f7}}{scope}.grid{{stroke:#d5d7dc;fill:none}}{scope}.w{{stroke-width:1.5}}{}\
         @media screen and (prefers-color-scheme:dark){{{scope}text{{fill:#eee}}{scope}.paper{{fill:#16181d}}{scope}.frame{{fill:#22252d}}{scope}.grid{{stroke:#3a3d45}}\
         {}}}",
        inks("light", "#111"),
        inks("dark", "#eee"),
    )
}
