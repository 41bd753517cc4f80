//! A table of text as wide as the page: more columns on a wide page, several tables below each other on a narrow one.
//!
//! Labels stand on the left and are in every part of a table. If they are too long they are shortened so that they still differ,
//! or each gets a line of its own.

use crate::labels::{self, length};
use crate::page::Page;

/// A shortened label has at least this many columns.
const LEAST_LABEL: usize = 12;
/// The first label keeps this width, however wide the figures beside it are.
const LEAST: usize = 6;
/// The same for the other labels.
const LEAST_GROUP: usize = 16;
/// Gap between columns where there is room; otherwise it is one space.
const APART: usize = 2;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Names the row; the first label may be empty where it repeats that of the row above.
    Label,
    /// Always shown; words begin on the left.
    Word,
    /// Always shown.
    Figure,
    /// Shown where there is room, the lowest rank first.
    Extra(u8),
}

/// A column: its heading and kind.
pub(crate) type Column<'a> = (&'a str, Role);

/// A table under construction.
pub(crate) struct Grid<'a> {
    columns: Vec<Column<'a>>,
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    /// Notes, each below the rows that it is about.
    Note(String),
}

/// Which columns stand beside each other, and how wide each is.
struct Band {
    columns: Vec<usize>,
    widths: Vec<usize>,
    gap: usize,
    indent: usize,
}

impl<'a> Grid<'a> {
    /// A table without rows.
    pub(crate) fn new(columns: &[Column<'a>]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a note about the rows above.
    pub(crate) fn note(&mut self, text: String) {
        self.rows.push(Row::Note(text));
    }

    /// Whether there is nothing to print.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it.
    pub(crate) fn print(mut self, page: &mut Page) {
        let width = page.columns();
        let all = |columns: &[Column<'_>], wanted: fn(Role) -> bool| -> Vec<usize> {
            let found = columns
                .iter()
                .enumerate()
                .filter(|(_, column)| wanted(column.1));
            found.map(|(index, _)| index).collect()
        };
        let named = all(&self.columns, |kind| kind == Role::Label);
        let shown = all(&self.columns, |kind| !matches!(kind, Role::Extra(_)));
        for &label in named.iter().skip(1) {
            self.shorten(label, LEAST_GROUP.max(width / 5));
        }
        if self.total(&shown, 1) > width {
            self.shorten_first(&named, &shown, width);
        }
        if self.total(&shown, 1) <= width {
            let columns = self.with_extras(shown, width);
            let gap = if self.total(&columns, APART) <= width {
                APART
            } else {
                1
            };
            self.band(&self.laid_out(columns, gap, 0), false, true, page);
            return;
        }
        // Not all columns fit. Labels before the last get a line of their own.
        let headed = named.len() > 1;
        let fixed: Vec<usize> = named.last().copied().into_iter().collect();
        let mut left: Vec<usize> = shown.into_iter().filter(|c| !named.contains(c)).collect();
        let indent = if headed { 2 } else { 0 };
        let widest = left.iter().map(|&column| self.width(column)).max();
        let beside = indent + 1 + widest.unwrap_or(0);
        for &label in &fixed {
            self.shorten(label, width.saturating_sub(beside).max(LEAST));
        }
        let mut first = true;
        while !left.is_empty() {
            let mut columns = fixed.clone();
            let fits = |columns: &[usize]| indent + self.total(columns, 1) <= width;
            while let Some(&next) = left.first() {
                columns.push(next);
                if columns.len() > fixed.len() + 1 && !fits(&columns) {
                    columns.pop();
                    break;
                }
                left.remove(0);
            }
            if !first {
                page.line("");
            }
            self.band(&self.laid_out(columns, 1, indent), headed, first, page);
            first = false;
        }
    }

    /// Columns side by side with this gap.
    fn total(&self, columns: &[usize], gap: usize) -> usize {
        let widths: usize = columns.iter().map(|&column| self.width(column)).sum();
        widths + gap * columns.len().saturating_sub(1)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.cells().map(|cells| length(&cells[column])).max();
        cells.unwrap_or(0).max(length(self.columns[column].0))
    }

    fn cells(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => Some(cells),
            Row::Note(_) => None,
        })
    }

    /// The extra columns that there is room for, in their order.
    fn with_extras(&self, mut columns: Vec<usize>, width: usize) -> Vec<usize> {
        let mut extras: Vec<(Role, usize)> = Vec::new();
        for (index, (_, kind)) in self.columns.iter().enumerate() {
            if matches!(kind, Role::Extra(_)) {
                extras.push((*kind, index));
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
        if room >= length(self.columns[first].0).max(LEAST_LABEL.min(self.width(first)))
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
            if let Row::Cells(cells) = row
                && let Some(index) = texts.iter().position(|text| *text == cells[column])
            {
                cells[column].clone_from(&short[index]);
            }
        }
    }

    fn laid_out(&self, columns: Vec<usize>, gap: usize, indent: usize) -> Band {
        let widths = columns.iter().map(|&column| self.width(column)).collect();
        Band {
            columns,
            widths,
            gap,
            indent,
        }
    }

    fn band(&self, band: &Band, headed: bool, notes: bool, page: &mut Page) {
        let heads: Vec<&str> = self.columns.iter().map(|column| column.0).collect();
        self.line(band, |column| heads[column], page);
        for row in &self.rows {
            match row {
                Row::Cells(cells) => {
                    if headed && !cells[0].is_empty() {
                        let label = labels::forced(&cells[..1], page.columns());
                        page.line(&label[0]);
                    }
                    self.line(band, |column| &cells[column], page);
                }
                Row::Note(text) if notes => {
                    let beside = band.widths.first().map_or(0, |width| width + band.gap);
                    let room = page.columns().saturating_sub(beside);
                    let indent = if headed || room < 40 { 2 } else { beside };
                    page.paragraph(indent, text);
                }
                Row::Note(_) => {}
            }
        }
    }

    fn line<'b>(&self, band: &Band, cell: impl Fn(usize) -> &'b str, page: &mut Page) {
        let mut line = " ".repeat(band.indent);
        for (place, (&column, &width)) in band.columns.iter().zip(&band.widths).enumerate() {
            if place > 0 {
                line.push_str(&" ".repeat(band.gap));
            }
            let text = cell(column);
            let blank = " ".repeat(width.saturating_sub(length(text)));
            match self.columns[column].1 {
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

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column<'static>; 6] = [
        ("queue", Role::Label),
        ("group", Role::Label),
        ("per flow", Role::Figure),
        ("mean ms", Role::Figure),
        ("P99 ms", Role::Figure),
        ("max ms", Role::Extra(0)),
    ];

    fn printed(columns: usize, queues: [&str; 2]) -> String {
        let mut grid = Grid::new(&COLUMNS);
        for queue in queues {
            for (queue, group) in [(queue, "l4s"), ("", "classic")] {
                let cells = [queue, group, "7.24 ± 0.05 Mbit/s", "0.61", "1.69", "3.02"];
                grid.row(cells.map(str::to_owned).to_vec());
            }
            grid.note("link 100.0 % utilised".to_owned());
        }
        let mut page = Page::new(columns);
        grid.print(&mut page);
        page.text().to_owned()
    }

    #[test]
    fn a_wide_page_has_more_columns_and_a_narrow_one_more_tables() {
        let queues = ["dualpi2:step_thresh=1ms", "dualpi2:step_thresh=5ms"];
        for columns in 40..=120 {
            let text = printed(columns, queues);
            let widest = text.lines().map(length).max().unwrap();
            assert!(widest <= columns, "{columns}\n{text}");
            assert_eq!(text.contains("max ms"), columns >= 77, "{columns}\n{text}");
            for part in [
                "1ms",
                "5ms",
                "l4s",
                "classic",
                "7.24 ± 0.05 Mbit/s",
                "0.61",
                "1.69",
            ] {
                assert!(text.contains(part), "{part}\n{text}");
            }
            assert_eq!(text.matches("link 100.0 % utilised").count(), 2, "{text}");
        }
        // In parts, each with its labels.
        let narrow = printed(40, queues);
        assert!(
            narrow.starts_with(
                "  group             per flow mean ms\ndualpi2:step_thresh=1ms\n  l4s "
            ),
            "{narrow}"
        );
        assert_eq!(
            narrow.matches("dualpi2:step_thresh=5ms\n").count(),
            2,
            "{narrow}"
        );
    }
}
