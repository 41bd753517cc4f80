//! A table of text as wide as the page: more columns on a wide page, rows of several lines on a narrow one.
//!
//! A row stays together. Where the figures of several runs do not fit, what follows a mean (`± 0.05`) goes below it; where that is
//! not enough, headings and rows are broken at the same columns. Labels stand on the left. If they are too long they are shortened so
//! that they still differ, or each gets a line of its own.

use super::labels::{self, length};
use super::page::Page;
use crate::present::table::{Cell, Column, Mark, Role, Row, Table};

/// A shortened label has at least this many columns.
const LEAST_LABEL: usize = 12;
/// The first label keeps this width, however wide the figures beside it are.
const LEAST: usize = 6;
/// So many have the other labels.
const LEAST_GROUP: usize = 16;
/// Gap between columns where there is room; otherwise it is one space.
const APART: usize = 2;

/// Heads and texts of a table, as they are laid out.
struct Grid {
    columns: Vec<Column>,
    rows: Vec<Line>,
}

enum Line {
    Cells(Vec<String>),
    /// A note about the rows above.
    Note(String),
}

/// Prints a table.
pub(super) fn print(table: &Table, page: &mut Page) {
    let table = table.trimmed();
    let full = Grid::new(&table, true);
    let is_shown = |column: &usize| !matches!(table.columns[*column].role, Role::Extra(_));
    let shown: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    match full.total(&shown, APART) <= page.columns() {
        true => full.print(page),
        false => Grid::new(&table, false).print(page),
    }
}

/// How a row is laid out.
struct Layout {
    /// Of each line, the columns beside each other.
    lines: Vec<Vec<usize>>,
    /// The width of each place in a line.
    widths: Vec<usize>,
    gap: usize,
    indent: usize,
    /// How many places at the beginning of the first line are labels; the other lines have them blank.
    labels: usize,
}

impl Grid {
    /// The texts of a table, with the halves of intervals or without. A label that only repeats the one above is blank, if something behind it names the row.
    fn new(table: &Table, with_halves: bool) -> Self {
        let shown = |cell: &Cell| {
            let half = match with_halves && !cell.half.is_empty() {
                true => format!(" ± {}", cell.half),
                false => String::new(),
            };
            format!("{}{half}{}", cell.text, cell.mark.map_or("", Mark::arrow))
        };
        let names = |role: Role| matches!(role, Role::Label | Role::Word);
        let last = table.columns.iter().rposition(|column| names(column.role));
        let mut above: Vec<&str> = Vec::new();
        let rows = table.rows.iter().map(|row| match row {
            Row::Note(text) => {
                above.clear();
                Line::Note(text.clone())
            }
            Row::Below(cells) => Line::Cells(cells.iter().map(&shown).collect()),
            Row::Cells(cells) => {
                let texts = cells.iter().map(|cell| cell.text.as_str());
                let texts: Vec<&str> = texts.collect();
                let labels = table
                    .columns
                    .iter()
                    .take_while(|one| one.role == Role::Label);
                let labels = labels.count().min(last.unwrap_or(0));
                let same = texts
                    .iter()
                    .zip(&above)
                    .take_while(|(one, other)| one == other);
                let repeated = same.count().min(labels);
                above = texts;
                let mut cells: Vec<String> = cells.iter().map(&shown).collect();
                cells[..repeated].iter_mut().for_each(String::clear);
                Line::Cells(cells)
            }
        });
        Self {
            rows: rows.collect(),
            columns: table.columns.clone(),
        }
    }

    fn print(mut self, page: &mut Page) {
        let width = page.columns();
        let all = |columns: &[Column], wanted: fn(Role) -> bool| -> Vec<usize> {
            let found = columns
                .iter()
                .enumerate()
                .filter(|(_, column)| wanted(column.role));
            found.map(|(index, _)| index).collect()
        };
        let named = all(&self.columns, |kind| kind == Role::Label);
        let shown = all(&self.columns, |kind| !matches!(kind, Role::Extra(_)));
        for &label in named.iter().skip(1) {
            self.shorten(label, LEAST_GROUP.max(width / 5));
        }
        if self.total(&shown, 1) > width && self.can_fit(&named, &shown, width) {
            self.shorten_first(&named, &shown, width);
        }
        if self.total(&shown, 1) > width {
            self.stack_if_it_fits(&named, &shown, width);
            self.shorten_first(&named, &shown, width);
        }
        if self.total(&shown, 1) <= width {
            let columns = self.with_extras(shown, width);
            let gap = if self.total(&columns, APART) <= width {
                APART
            } else {
                1
            };
            let layout = Layout {
                widths: columns.iter().map(|&column| self.width(column)).collect(),
                labels: columns.len(),
                lines: vec![columns],
                gap,
                indent: 0,
            };
            self.lay_out(&layout, false, page);
            return;
        }
        // Not all columns fit beside each other. Labels before the last get a line of their own.
        let headed = named.len() > 1;
        let left: Vec<usize> = shown.into_iter().filter(|c| !named.contains(c)).collect();
        let indent = if headed { 2 } else { 0 };
        let widest = left.iter().map(|&column| self.width(column)).max();
        let beside = indent + 1 + widest.unwrap_or(0);
        let label = named.last().copied();
        if let Some(label) = label {
            self.shorten(label, width.saturating_sub(beside).max(LEAST));
        }
        self.lay_out(&self.broken(label, &left, indent, width), headed, page);
    }

    /// The layout with as many columns in a line as fit: those at the same place of each line are as wide as the widest.
    fn broken(&self, label: Option<usize>, left: &[usize], indent: usize, width: usize) -> Layout {
        let labels = usize::from(label.is_some());
        let layout = |count: usize| {
            let lines = left.chunks(count).map(|columns| {
                let columns = columns.iter().copied();
                label.into_iter().chain(columns).collect::<Vec<usize>>()
            });
            let lines: Vec<Vec<usize>> = lines.collect();
            let place = |place: usize| {
                let columns = lines.iter().filter_map(|line| line.get(place));
                columns.map(|&column| self.width(column)).max().unwrap_or(0)
            };
            Layout {
                widths: (0..count + labels).map(place).collect(),
                lines,
                gap: 1,
                indent,
                labels,
            }
        };
        let fits = |layout: &Layout| {
            let gaps = layout.widths.len().saturating_sub(1);
            indent + layout.widths.iter().sum::<usize>() + gaps <= width
        };
        let counts = (2..=left.len()).rev().map(layout);
        counts.into_iter().find(fits).unwrap_or_else(|| layout(1))
    }

    /// Whether a shorter first label would make room.
    fn can_fit(&self, named: &[usize], shown: &[usize], width: usize) -> bool {
        let first = named.first().map_or(0, |&first| self.width(first));
        self.total(shown, 1) - first + LEAST_LABEL.min(first) <= width
    }

    /// Puts the spread of each figure below its mean, if the rows then fit.
    fn stack_if_it_fits(&mut self, named: &[usize], shown: &[usize], width: usize) {
        let mut stacked = Vec::new();
        for row in &self.rows {
            match row {
                Line::Cells(cells) => {
                    let (above, below) = self.stacked(cells);
                    stacked.push(Line::Cells(above));
                    if below.iter().any(|cell| !cell.is_empty()) {
                        stacked.push(Line::Cells(below));
                    }
                }
                Line::Note(text) => stacked.push(Line::Note(text.clone())),
            }
        }
        let other = Self {
            columns: self.columns.clone(),
            rows: stacked,
        };
        if other.can_fit(named, shown, width) {
            *self = other;
        }
    }

    /// A row as two lines.
    fn stacked(&self, cells: &[String]) -> (Vec<String>, Vec<String>) {
        let cells = cells.iter().zip(&self.columns);
        let cells = cells.map(|(cell, column)| match column.role {
            Role::Label | Role::Word => (cell.clone(), String::new()),
            Role::Figure | Role::Extra(_) => stacked(cell),
        });
        cells.unzip()
    }

    /// Columns side by side with this gap.
    fn total(&self, columns: &[usize], gap: usize) -> usize {
        let widths: usize = columns.iter().map(|&column| self.width(column)).sum();
        widths + gap * columns.len().saturating_sub(1)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.cells().map(|cells| length(&cells[column])).max();
        cells.unwrap_or(0).max(length(&self.columns[column].head))
    }

    fn cells(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows.iter().filter_map(|row| match row {
            Line::Cells(cells) => Some(cells),
            Line::Note(_) => None,
        })
    }

    /// The extra columns that there is room for, in their order.
    fn with_extras(&self, mut columns: Vec<usize>, width: usize) -> Vec<usize> {
        let mut extras: Vec<(Role, usize)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            if matches!(column.role, Role::Extra(_)) {
                extras.push((column.role, index));
            }
        }
        extras.sort_unstable();
        for (_, extra) in extras {
            columns.push(extra);
            if self.total(&columns, APART) > width {
                columns.pop();
                break;
            }
        }
        columns.sort_unstable();
        columns
    }

    /// Gives the first label the room that the other columns leave, if that is enough; a lone label is cut if necessary.
    fn shorten_first(&mut self, named: &[usize], shown: &[usize], width: usize) {
        let Some(&first) = named.first() else { return };
        let others = self.total(shown, 1) - self.width(first);
        let room = width.saturating_sub(others);
        let texts = self.texts(first);
        if room >= length(&self.columns[first].head).max(LEAST_LABEL.min(self.width(first)))
            && labels::distinct(&texts, room).is_some()
        {
            self.shorten(first, room);
        } else if named.len() == 1 {
            self.shorten(first, room.max(LEAST_LABEL).max(width * 2 / 5));
        }
    }

    /// The different texts of a column.
    fn texts(&self, column: usize) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for cells in self.cells() {
            let text = &cells[column];
            if !text.is_empty() && !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        texts
    }

    fn shorten(&mut self, column: usize, room: usize) {
        let texts = self.texts(column);
        let short = labels::forced(&texts, room);
        for row in &mut self.rows {
            if let Line::Cells(cells) = row
                && let Some(index) = texts.iter().position(|text| *text == cells[column])
            {
                cells[column].clone_from(&short[index]);
            }
        }
    }

    fn lay_out(&self, layout: &Layout, headed: bool, page: &mut Page) {
        self.row_of(layout, |column| &self.columns[column].head, page);
        for row in &self.rows {
            match row {
                Line::Cells(cells) => {
                    if headed && !cells[0].is_empty() {
                        let label = labels::forced(&cells[..1], page.columns());
                        page.line(&label[0]);
                    }
                    self.row_of(layout, |column| &cells[column], page);
                }
                Line::Note(text) => {
                    let beside = layout.widths.first().map_or(0, |width| width + layout.gap);
                    let room = page.columns().saturating_sub(beside);
                    let indent = if headed || room < 40 { 2 } else { beside };
                    page.paragraph(indent, text);
                }
            }
        }
    }

    fn row_of<'b>(&self, layout: &Layout, cell: impl Fn(usize) -> &'b str, page: &mut Page) {
        for (number, columns) in layout.lines.iter().enumerate() {
            let mut line = " ".repeat(layout.indent);
            for (place, (&column, &width)) in columns.iter().zip(&layout.widths).enumerate() {
                if place > 0 {
                    line.push_str(&" ".repeat(layout.gap));
                }
                let is_repeated = number > 0 && place < layout.labels;
                let text = if is_repeated { "" } else { cell(column) };
                let blank = " ".repeat(width.saturating_sub(length(text)));
                match self.columns[column].role {
                    Role::Label | Role::Word => line.extend([text, &blank]),
                    Role::Figure | Role::Extra(_) => line.extend([&blank, text]),
                }
            }
            // A row of ranges may have none here.
            if !line.trim().is_empty() {
                page.line(line.trim_end());
            }
        }
    }
}

/// `7.24 ± 0.05 Mbit/s` as `7.24 Mbit/s` and `± 0.05`, `1.0 to 4.0` as `1.0 to` and `4.0`.
fn stacked(cell: &str) -> (String, String) {
    if let Some((mean, rest)) = cell.split_once(" ± ") {
        let end = rest.find(' ').unwrap_or(rest.len());
        let (half, unit) = rest.split_at(end);
        return (format!("{mean}{unit}"), format!("± {half}"));
    }
    match cell.split_once(" to ") {
        Some((least, greatest)) => (format!("{least} to"), greatest.to_owned()),
        None => (cell.to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [(&str, Role); 6] = [
        ("queue", Role::Label),
        ("group", Role::Label),
        ("per flow", Role::Figure),
        ("mean ms", Role::Figure),
        ("P99 ms", Role::Figure),
        ("max ms", Role::Extra(0)),
    ];

    fn printed(columns: usize, queues: [&str; 2]) -> String {
        let mut table = Table::new(COLUMNS);
        for queue in queues {
            for group in ["l4s", "classic"] {
                let cells = [queue, group, "7.24 ± 0.05 Mbit/s", "0.61", "1.69", "3.02"];
                table.row(cells);
            }
            table.note("link 100.0 % utilised");
        }
        let mut page = Page::new(columns);
        print(&table, &mut page);
        page.text().to_owned()
    }

    /// What stands in the table of a page.
    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn a_row_stays_together_however_narrow_the_page() {
        let columns = [
            ("group", Role::Label),
            ("per flow", Role::Figure),
            ("mean ms", Role::Figure),
            ("P99 ms", Role::Figure),
            ("marked %", Role::Figure),
        ];
        let cells = [
            "7.24 ± 0.05 Mbit/s",
            "0.61 ± 0.02",
            "1.69 ± 0.11",
            "34.1 ± 0.2",
        ];
        // On a narrower page labels are shortened.
        for width in 26..=120 {
            let mut table = Table::new(columns);
            for group in ["l4s", "classic"] {
                let cells = [group].into_iter().chain(cells);
                table.row(cells);
            }
            let mut page = Page::new(width);
            print(&table, &mut page);
            let text = page.text();
            // One table: each heading once, each label once, and all of a row before the next label.
            for head in columns.map(|(head, _)| head) {
                assert_eq!(text.matches(head).count(), 1, "{width}\n{text}");
            }
            assert!(!text.contains("\n\n"), "{width}\n{text}");
            let rows: Vec<&str> = text.split("l4s").nth(1).unwrap().split("classic").collect();
            assert_eq!(rows.len(), 2, "{width}\n{text}");
            for row in rows {
                let mut found = words(row);
                let mut expected = words("7.24 0.61 1.69 34.1 Mbit/s ± ± ± ± 0.05 0.02 0.11 0.2");
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{width}\n{text}");
            }
            // A line for each row where its 61 characters fit, otherwise one more for what is below the means.
            let lines = text.lines().count();
            assert!(
                lines == if width >= 61 { 3 } else { lines.max(5) },
                "{width}\n{text}"
            );
            assert!(width < 45 || lines <= 5, "{width}\n{text}");
        }
    }

    #[test]
    fn a_wide_page_has_more_columns_and_a_narrow_one_more_lines() {
        let queues = ["dualpi2:step_thresh=1ms", "dualpi2:step_thresh=5ms"];
        for columns in 40..=120 {
            let text = printed(columns, queues);
            let widest = text.lines().map(length).max().unwrap();
            assert!(widest <= columns, "{columns}\n{text}");
            assert_eq!(text.contains("max ms"), columns >= 77, "{columns}\n{text}");
            for part in [
                "1ms", "5ms", "l4s", "classic", "7.24", "± 0.05", "0.61", "1.69",
            ] {
                assert!(text.contains(part), "{part}\n{text}");
            }
            assert_eq!(text.matches("link 100.0 % utilised").count(), 2, "{text}");
        }
        // In lines, below each other.
        let narrow = printed(40, queues);
        assert!(narrow.starts_with("  group "), "{narrow}");
        assert_eq!(
            narrow.matches("dualpi2:step_thresh=5ms\n").count(),
            1,
            "{narrow}"
        );
    }
}
