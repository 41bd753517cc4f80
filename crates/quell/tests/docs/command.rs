//! Runs the commands that pages name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::markdown::{Page, Source};
use crate::docs::session::Folder;

/// The program to run. A release and a debug build print the same; the release is quicker.
pub(crate) fn program() -> OsString {
    let program = std::env::var_os("QUELL_RELEASE");
    program.unwrap_or_else(|| env!("CARGO_BIN_EXE_quell").into())
}

/// Runs each command of a page once, in a folder of its own with the page's files and the project's scenarios.
pub(crate) struct Runner {
    root: PathBuf,
    program: OsString,
    /// By page and command. Pages without files of their own share.
    printed: HashMap<(String, String), Result<String, String>>,
}

impl Runner {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            program: program(),
            printed: HashMap::new(),
        }
    }

    /// What a command of a page prints on its standard output.
    pub(crate) fn print(&mut self, page: &Page, source: &Source) -> Result<String, String> {
        let own = if page.files().is_empty() {
            ""
        } else {
            &page.name
        };
        let key = (own.to_owned(), source.command.clone());
        if let Some(printed) = self.printed.get(&key) {
            return printed.clone();
        }
        let printed = self.run(page, &source.command);
        self.printed.insert(key, printed.clone());
        printed
    }

    /// Whether the newest kernel of the store, which runs take, is of this version.
    pub(crate) fn has_kernel(&self, page: &Page, version: &str) -> Result<(), String> {
        let list = self.run(page, "quell kernel list")?;
        let newest = list.lines().next().unwrap_or_default();
        let found = newest.contains(&format!("Linux {version}."));
        found
            .then_some(())
            .ok_or_else(|| format!("the newest kernel is not Linux {version}: {newest}"))
    }

    fn run(&self, page: &Page, command: &str) -> Result<String, String> {
        let mut words = command.split_whitespace();
        if words.next() != Some("quell") || command.contains("live") {
            return Err("only commands of quell that repeat can be compared".to_owned());
        }
        let folder = Folder::new(page, &self.root, Path::new(&self.program));
        let output = Command::new(&self.program)
            .args(words)
            .current_dir(folder.path())
            .env("COLUMNS", "80")
            .env("NO_COLOR", "1")
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("failed: {said}"));
        }
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    }
}
