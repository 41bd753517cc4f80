//! A table in Markdown whose columns are aligned, so that it reads in a terminal as well.

use std::fmt;

/// A table under construction.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column heads.
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self {
            columns: heads.len(),
            rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()],
        }
    }

    /// One more row.
    pub(crate) fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.columns, "{cells:?}");
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |text: &String| text.chars().count();
        let widest = |column: usize| self.rows.iter().map(|row| length(&row[column])).max();
        let widths: Vec<usize> = (0..self.columns)
            .map(|column| widest(column).unwrap_or_default().max(3))
            .collect();
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

#[test]
fn columns_are_aligned() {
    let mut table = Table::new(&["what", "±"]);
    table.row(&["a".to_owned(), "0.5".to_owned()]);
    assert_eq!(
        table.to_string(),
        "| what | ±   |\n| ---- | --- |\n| a    | 0.5 |\n"
    );
}
