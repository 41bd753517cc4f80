//! A table: in Markdown with aligned columns, so that it reads in a terminal as well, or as CSV.

use std::fmt;

/// A table under construction.
#[derive(Debug, Clone)]
pub struct Table {
    columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column heads.
    pub fn new(heads: &[&str]) -> Self {
        Self {
            columns: heads.len(),
            rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()],
        }
    }

    /// One more row.
    pub fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.columns, "{cells:?}");
        self.rows.push(cells.to_vec());
    }

    /// Whether another table has the same heads.
    pub fn is_like(&self, other: &Self) -> bool {
        self.rows[0] == other.rows[0]
    }

    /// Adds the rows of a table with the same heads.
    ///
    /// # Panics
    ///
    /// Its heads are others.
    pub fn append(&mut self, other: &Self) {
        assert_eq!(self.rows[0], other.rows[0]);
        self.rows.extend_from_slice(&other.rows[1..]);
    }

    /// Characters of a line in Markdown.
    pub fn width(&self) -> usize {
        self.widths().iter().map(|width| width + 3).sum()
    }

    /// Lines, with that of the heads.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| self.rows.iter().map(|row| length(&row[column])).max();
        (0..self.columns)
            .map(|column| widest(column).unwrap_or_default().max(3))
            .collect()
    }

    /// The same as CSV (RFC 4180), heads first.
    pub fn to_csv(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            cells.join(",") + "\n"
        };
        self.rows.iter().map(line).collect()
    }
}

/// The cells of a line of CSV (RFC 4180, without line breaks in a cell).
pub(crate) fn split(line: &str) -> Vec<String> {
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

fn length(text: &str) -> usize {
    text.chars().count()
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (index, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:width$} ")?;
            }
            f.write_str("|\n")?;
            if index == 0 {
                for width in &widths {
                    write!(f, "| {:-<1$} ", "", width)?;
                }
                f.write_str("|\n")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["what", "±"]);
        table.row(&["a".to_owned(), "0.5".to_owned()]);
        assert_eq!(
            table.to_string(),
            "| what | ±   |\n| ---- | --- |\n| a    | 0.5 |\n"
        );
    }

    #[test]
    fn cells_with_commas_are_quoted_in_csv() {
        let mut table = Table::new(&["queue", "delay_ms"]);
        table.row(&["linux, \"adaptive\"".to_owned(), "0.5".to_owned()]);
        assert_eq!(
            table.to_csv(),
            "queue,delay_ms\n\"linux, \"\"adaptive\"\"\",0.5\n"
        );
    }
}
