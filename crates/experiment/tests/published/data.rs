//! Files of `docs/evidence/data` that keep some lines for each experiment, the experiments in the order of the book.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use quell_experiment::Judged;
use quell_experiment::registry::all;

pub(crate) const OUTDATED: &str = "is not current: QUELL_BLESS=1 cargo test -p quell-experiment --test published -- --include-ignored";

pub(crate) fn blesses() -> bool {
    std::env::var_os("QUELL_BLESS").is_some()
}

pub(crate) fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Tests of a binary are threads: who writes a file reads it under the same lock.
pub(crate) fn lock() -> MutexGuard<'static, ()> {
    static WRITING: Mutex<()> = Mutex::new(());
    WRITING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A CSV file whose rows begin with the ID of an experiment.
pub(crate) struct Lines {
    pub(crate) name: &'static str,
    pub(crate) head: &'static str,
}

impl Lines {
    fn path(&self) -> PathBuf {
        docs().join("evidence/data").join(self.name)
    }

    /// The rows of an experiment as the file has them.
    pub(crate) fn written(&self, id: &str) -> Vec<String> {
        of(&fs::read_to_string(self.path()).unwrap_or_default(), id)
    }

    /// Checks the rows of an experiment, each without its ID; with `QUELL_BLESS=1` writes them.
    pub(crate) fn check(&self, id: &str, rows: &[Vec<String>]) {
        let rows: Vec<String> = rows.iter().map(|row| line(id, row)).collect();
        let _lock = lock();
        if !blesses() {
            let name = self.name;
            assert!(
                self.written(id) == rows,
                "docs/evidence/data/{name}, {id}, {OUTDATED}\n{}",
                rows.join("\n")
            );
            return;
        }
        let known = fs::read_to_string(self.path()).unwrap_or_default();
        let mut text = format!("{}\n", self.head);
        for one in all() {
            let rows = match one.id == id {
                true => rows.clone(),
                false => of(&known, &one.id),
            };
            text.extend(rows.into_iter().map(|row| row + "\n"));
        }
        fs::write(self.path(), text).unwrap();
    }
}

fn of(text: &str, id: &str) -> Vec<String> {
    let begin = format!("{id},");
    let own = text.lines().filter(|line| line.starts_with(&begin));
    own.map(str::to_owned).collect()
}

fn line(id: &str, cells: &[String]) -> String {
    let quoted = |cell: &String| {
        let cell = cell.replace('\n', " ");
        match cell.contains([',', '"']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        }
    };
    let cells: Vec<String> = cells.iter().map(quoted).collect();
    format!("{id},{}", cells.join(","))
}

/// The cells of a statement in `statements.csv`.
pub(crate) fn row(judged: Judged) -> Vec<String> {
    let (_, name) = judged.id.split_once('#').unwrap();
    vec![
        name.to_owned(),
        judged.verdict.name().to_owned(),
        judged.verdict.why().unwrap_or_default().to_owned(),
        judged.published,
        judged.ours,
        judged.bound,
    ]
}

/// The cells of a row.
pub(crate) fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = cells.last_mut().unwrap();
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => last.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => last.push(other),
        }
    }
    cells
}

#[test]
fn a_row_has_the_cells_that_it_was_written_from() {
    let texts = ["plain", "one, two", "\"quoted\"", ""].map(str::to_owned);
    let row = line("a/b", &texts);
    assert_eq!(row, "a/b,plain,\"one, two\",\"\"\"quoted\"\"\",");
    assert_eq!(cells(&row)[1..], texts);
    assert_eq!(of(&format!("x\n{row}\na/bc,1\n"), "a/b"), [row]);
}
