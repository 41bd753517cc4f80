//! A sheet of small pictures: rows and columns of cells, each with delays on a logarithmic axis and a bar of shares.

use std::fmt::Write as _;

use quell_measure::Dist;

/// Ends of the axis of delay in ms, each ten times the one before.
const DECADES: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];
const LEFT: f64 = 118.0;
const TOP: f64 = 62.0;
const CELL: (f64, f64) = (116.0, 46.0);
/// The frame of what is drawn in a cell.
const INNER: f64 = 104.0;

/// What a cell shows.
pub(crate) struct Cell {
    /// Delays in the queue, from above, each with the class of its ink.
    pub(crate) delays: Vec<(Dist, &'static str)>,
    /// Parts of the whole bar, from the left, each with the class of its ink.
    pub(crate) shares: Vec<(f64, &'static str)>,
    /// The one figure.
    pub(crate) said: String,
}

/// The picture of cells in order, row by row.
pub(crate) fn draw(
    title: &str,
    legend: &str,
    columns: &[&str],
    rows: &[&str],
    cells: &[Cell],
) -> String {
    assert_eq!(cells.len(), rows.len() * columns.len());
    let (width, height) = (
        LEFT + CELL.0 * columns.len() as f64 + 8.0,
        TOP + CELL.1 * rows.len() as f64 + 12.0,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t\">\n\
         <title id=\"t\">{title}</title>\n<style>{}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"b\" x=\"10\" y=\"18\">{title}</text>\n\
         <text x=\"10\" y=\"34\">{legend}</text>\n",
        style()
    );
    let mut add = |line: String| {
        svg.push_str(&line);
        svg.push('\n');
    };
    for (column, name) in columns.iter().enumerate() {
        let x = LEFT + CELL.0 * column as f64;
        add(format!(
            "<text class=\"b\" x=\"{x}\" y=\"{}\">{name}</text>",
            TOP - 8.0,
        ));
    }
    for (row, name) in rows.iter().enumerate() {
        let y = TOP + CELL.1 * row as f64;
        add(format!(
            "<text class=\"b\" x=\"10\" y=\"{}\">{name}</text>",
            y + 22.0,
        ));
    }
    for (number, cell) in cells.iter().enumerate() {
        let (row, column) = (number / columns.len(), number % columns.len());
        add(cell.draw((LEFT + CELL.0 * column as f64, TOP + CELL.1 * row as f64)));
    }
    svg.push_str("</svg>\n");
    svg
}

impl Cell {
    fn draw(&self, (x, y): (f64, f64)) -> String {
        let mut out = format!(
            "<rect class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{INNER}\" height=\"{}\"/>",
            CELL.1 - 6.0
        );
        for decade in &DECADES[1..4] {
            let at = short(x + place(*decade));
            write!(
                out,
                "<path class=\"grid\" d=\"M{at} {y}v{}\"/>",
                CELL.1 - 6.0
            )
            .unwrap();
        }
        for (line, (delay, ink)) in self.delays.iter().enumerate() {
            out.push_str(&whisker((x, y + 17.0 + 8.0 * line as f64), delay, ink));
        }
        let mut from = 0.0;
        for (share, ink) in &self.shares {
            let wide = share.min(1.0 - from) * INNER;
            write!(
                out,
                "<rect class=\"{ink}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"5\"/>",
                short(x + from * INNER),
                y + CELL.1 - 12.0,
                short(wide)
            )
            .unwrap();
            from += share;
        }
        write!(
            out,
            "<text x=\"{}\" y=\"{}\">{}</text>",
            x + 2.0,
            y + 10.0,
            self.said
        )
        .unwrap();
        out
    }
}

/// Two digits that count.
pub(crate) fn ms(value: f64) -> String {
    match value {
        _ if value < 0.95 => format!("{value:.2}"),
        _ if value < 9.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn whisker((x, y): (f64, f64), delay: &Dist, ink: &str) -> String {
    let at = |value: f64| x + place(value);
    let (low, high) = (at(delay.p1), at(delay.p99));
    let (from, to) = (at(delay.p25), at(delay.p75));
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
fn style() -> String {
    let colours = include_str!("../../../results/src/plot/colours.json");
    let colours: serde_json::Value = serde_json::from_str(colours).unwrap();
    let inks = |paper: &str, ink: &str| -> String {
        let of = |class: usize| colours["traffic"][class][paper].as_str().unwrap();
        let all = [("l", of(0)), ("c", of(1)), ("f", ink)];
        let one = |(class, color): (&str, &str)| {
            format!(".{class}{{fill:{color}}}.w.{class}{{stroke:{color}}}")
        };
        all.map(one).concat()
    };
    format!(
        "text{{font:10px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#111}}.b{{font-weight:bold}}.paper{{fill:#fff}}\
         .frame{{fill:#f4f5f7}}.grid{{stroke:#d5d7dc;fill:none}}.w{{stroke-width:1.5}}{}\
         @media screen and (prefers-color-scheme:dark){{text{{fill:#eee}}.paper{{fill:#16181d}}.frame{{fill:#22252d}}.grid{{stroke:#3a3d45}}\
         {}}}",
        inks("light", "#111"),
        inks("dark", "#eee"),
    )
}
