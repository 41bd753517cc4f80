//! Raw figures beside a document: a CSV file (RFC 4180) with a head, one row for each figure at each point.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quell_measure::Estimate;

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Sheet {
    name: &'static str,
    columns: usize,
    text: String,
}

impl Sheet {
    /// Only its head: the columns.
    pub(crate) fn new(name: &'static str, columns: &[&str]) -> Self {
        let mut sheet = Self {
            name,
            columns: columns.len(),
            text: String::new(),
        };
        sheet.row(columns);
        sheet
    }

    /// # Panics
    ///
    /// The row has more or fewer cells than there are columns.
    pub(crate) fn row(&mut self, cells: &[impl AsRef<str>]) {
        assert_eq!(cells.len(), self.columns, "{}", self.name);
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell.as_ref())).collect();
        self.text += &cells.join(",");
        self.text.push('\n');
    }

    /// The whole file.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where it is, in the folder `data` beside `document`.
    pub(crate) fn place(document: &Path, name: &str) -> PathBuf {
        document.with_file_name("data").join(name)
    }

    /// Writes it into the folder `data` beside `document`.
    pub(crate) fn write_beside(&self, document: &Path) -> io::Result<PathBuf> {
        let folder = document.with_file_name("data");
        fs::create_dir_all(&folder)?;
        let path = folder.join(self.name);
        fs::write(&path, &self.text)?;
        Ok(path)
    }
}

/// The cells of each row of a file.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(letter),
        }
    }
    rows
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Three significant digits of `value`, of which at most three are behind the point.
pub(crate) fn digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    }
}

/// A mean and its standard error, to three significant digits of the mean; empty where there is none.
pub(crate) fn cells(mean: Option<&Estimate>) -> [String; 2] {
    let Some(mean) = mean else {
        return [String::new(), String::new()];
    };
    let digits = digits(mean.mean);
    let error = mean.standard_error;
    [
        format!("{:.digits$}", mean.mean),
        error.map_or(String::new(), |error| format!("{error:.digits$}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_written_beside_its_document() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sheet = Sheet::new("x.csv", &["figure", "sim", "sim_error"]);
        let mean = Estimate::new(&[9.0, 11.0]).expect("values");
        let [sim, error] = cells(Some(&mean));
        sheet.row(&["marks, %".to_owned(), sim, error]);
        let [none, nothing] = cells(None);
        sheet.row(&["the \"rest\"".to_owned(), none, nothing]);
        let page = folder.path().join("page.md");
        let path = sheet.write_beside(&page).expect("a file");
        assert_eq!(path, Sheet::place(&page, "x.csv"));
        assert!(path.ends_with("data/x.csv"));
        let text = fs::read_to_string(path).expect("the file");
        assert_eq!(
            rows(&text)[1..],
            [
                ["marks, %", "10.0", "1.0"].map(str::to_owned),
                ["the \"rest\"", "", ""].map(str::to_owned),
            ]
        );
        assert_eq!(
            text,
            "figure,sim,sim_error\n\"marks, %\",10.0,1.0\n\"the \"\"rest\"\"\",,\n"
        );
    }
}
