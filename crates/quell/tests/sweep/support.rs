//! A sweep in a folder of its own, and what a store holds.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const QUELL: &str = env!("CARGO_BIN_EXE_quell");

const SCENARIO: &str = r#"
schema = 1
name = "small"
[link]
rate = "4mbit"
queue = { kind = "pie", target = "9ms" }
[[group]]
name = "a"
count = 2
rtt = "20ms"
app = "bulk"
[[group]]
name = "voice"
rtt = "20ms"
app = { kind = "cbr", size = "186B", interval = "20ms" }
[run]
duration = "1s"
warmup = "200ms"
"#;

/// Every kind of axis, a constraint, an experiment and an objective: 26 cells.
pub(crate) const SWEEP: &str = r#"
schema = 1
scenario = "small.toml"
seeds = { from = 1, count = 2 }
[axis]
"link.rate" = ["2mbit", "8mbit"]
"group.*.rtt" = { log = ["10ms", "40ms"], steps = 3 }
"link.queue" = ["pie", "dualpi2:target=5ms"]
"group.a.congestion-control" = [{ name = "cubic", beta = 0.8 }]
"group.a.count" = { from = 1, to = 2, steps = 2 }
[[constraint]]
skip = { "link.rate" = "2mbit", "group.a.count" = 2 }
[[constraint]]
skip = { "link.rate" = "8mbit", "group.a.count" = 1, "link.queue" = ["pie", "dualpi2:target=5ms"] }
[[experiment]]
name = "short"
set = { "run.duration" = "700ms" }
[objective]
minimise = ["queue.*.delay_ms.p99"]
maximise = ["link.utilisation"]
"#;

/// Cells of [`SWEEP`].
pub(crate) const CELLS: usize = 26;

/// A folder with a sweep file and its scenario.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new(sweep: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.toml"), SCENARIO).unwrap();
        fs::write(folder.path().join("s.toml"), sweep).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(QUELL);
        command
            .arg("sweep")
            .args(words.split(' '))
            .current_dir(self.folder.path());
        command.env("COLUMNS", "80");
        command
    }

    /// Output of `quell sweep WORDS`.
    pub(crate) fn sweep(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// The same, which has to succeed; its standard output.
    pub(crate) fn ok(&self, words: &str) -> String {
        let output = self.sweep(words);
        assert!(output.status.success(), "{words}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, which has to end with this code; its standard error.
    pub(crate) fn fails(&self, code: i32, words: &str) -> String {
        let output = self.sweep(words);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        said
    }

    /// Everything in a store, by path.
    pub(crate) fn tree(&self, store: &str) -> BTreeMap<String, Vec<u8>> {
        tree(&self.path(store))
    }

    /// The tables of a store: cells and points, as CSV and Parquet.
    pub(crate) fn tables(&self, store: &str) -> Vec<Vec<u8>> {
        let tables = [("csv", ""), ("parquet", ""), ("csv", " --over-seeds")];
        let tables = tables.map(|(end, more)| {
            let out = format!("table.{end}");
            self.ok(&format!("table {store} --out {out}{more}"));
            fs::read(self.path(&out)).unwrap()
        });
        tables.to_vec()
    }

    /// The folder of the first cell of a store, by name.
    pub(crate) fn first_cell(&self, store: &str) -> PathBuf {
        let first = self
            .tree(store)
            .into_keys()
            .find(|name| name.ends_with("cell.json"));
        self.path(store)
            .join(first.unwrap())
            .parent()
            .unwrap()
            .to_owned()
    }
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A sweep that runs may move a file or folder between a look at its name and one at what it holds: such a file is left out.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                match fs::read(&path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    content => found.insert(name, content.unwrap()),
                };
            }
        }
    }
    found
}

/// Number of cells in a store.
pub(crate) fn cells(tree: &BTreeMap<String, Vec<u8>>) -> usize {
    tree.keys()
        .filter(|name| name.starts_with("cells/") && name.ends_with("cell.json"))
        .count()
}
