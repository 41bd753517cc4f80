//! Tables as Markdown with aligned columns, so that they read in a terminal as well, and as CSV.

use std::fmt::Write as _;

use super::table::{Cell, Role, Row, Table};

impl Table {
    /// A table of words under these heads.
    pub fn of_words(heads: &[&str]) -> Self {
        Self::new(heads.iter().map(|head| (*head, Role::Word)))
    }

    /// Whether another table has the same heads.
    pub fn is_like(&self, other: &Self) -> bool {
        self.columns == other.columns
    }

    /// Adds the rows of a table with the same heads.
    ///
    /// # Panics
    ///
    /// Its heads are others.
    pub fn append(&mut self, other: &Self) {
        assert!(self.is_like(other), "{:?}", other.columns);
        self.rows.extend_from_slice(&other.rows);
    }

    /// Characters of a line in Markdown.
    pub fn width(&self) -> usize {
        self.widths().iter().map(|width| width + 3).sum()
    }

    /// Lines, with that of the heads.
    pub fn height(&self) -> usize {
        self.rows.len() + 1
    }

    /// The heads, then the texts of each row; notes have none.
    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        let heads = self.columns.iter().map(|column| column.head.as_str());
        fn texts(cells: &[Cell]) -> Vec<&str> {
            cells.iter().map(|cell| cell.text.as_str()).collect()
        }
        let rows = self.rows.iter().filter_map(Row::cells).map(texts);
        std::iter::once(heads.collect()).chain(rows)
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![3; self.columns.len()];
        for line in self.lines() {
            for (width, text) in widths.iter_mut().zip(line) {
                *width = (*width).max(text.chars().count());
            }
        }
        widths
    }

    /// The table as CSV (RFC 4180), heads first.
    pub fn to_csv(&self) -> String {
        let line = |line: Vec<&str>| {
            let cells: Vec<String> = line.into_iter().map(quoted).collect();
            cells.join(",") + "\n"
        };
        self.lines().map(line).collect()
    }

    /// The table as Markdown.
    pub fn to_markdown(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (index, line) in self.lines().enumerate() {
            // Writing to a String cannot fail.
            for (cell, width) in line.iter().zip(&widths) {
                let _ = write!(text, "| {cell:width$} ");
            }
            text.push_str("|\n");
            if index == 0 {
                for width in &widths {
                    let _ = write!(text, "| {:-<1$} ", "", width);
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// The cells of a line of CSV (RFC 4180, without line breaks in a cell).
pub fn csv_cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.trim_end_matches('\r').chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '"' if is_quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(next),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_markdown_are_aligned() {
        let mut table = Table::of_words(&["what", "±"]);
        table.row(["a", "0.5"]);
        assert_eq!(
            table.to_markdown(),
            "| what | ±   |\n| ---- | --- |\n| a    | 0.5 |\n"
        );
        assert_eq!((table.width(), table.height()), (13, 2));
    }

    #[test]
    fn cells_with_commas_are_quoted_in_csv_and_read_again() {
        let mut table = Table::of_words(&["queue", "delay_ms"]);
        table.row(["linux, \"adaptive\"", "0.5"]);
        let csv = table.to_csv();
        assert_eq!(csv, "queue,delay_ms\n\"linux, \"\"adaptive\"\"\",0.5\n");
        let line = csv.lines().nth(1).expect("two lines");
        assert_eq!(csv_cells(line), ["linux, \"adaptive\"", "0.5"]);
    }
}
