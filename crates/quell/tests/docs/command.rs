//! Runs the commands that pages name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::markdown::Source;

/// Runs each command once, in a folder of its own with the project's scenarios.
pub(crate) struct Runner {
    scenarios: PathBuf,
    program: OsString,
    printed: HashMap<String, Result<String, String>>,
}

impl Runner {
    pub(crate) fn new(root: &Path) -> Self {
        // Both give the same bytes; the release is quicker.
        let program = std::env::var_os("QUELL_RELEASE");
        Self {
            scenarios: root.join("scenarios"),
            program: program.unwrap_or_else(|| env!("CARGO_BIN_EXE_quell").into()),
            printed: HashMap::new(),
        }
    }

    /// What a command prints on its standard output.
    pub(crate) fn print(&mut self, source: &Source) -> Result<String, String> {
        if let Some(printed) = self.printed.get(&source.command) {
            return printed.clone();
        }
        let printed = self.run(&source.command);
        self.printed.insert(source.command.clone(), printed.clone());
        printed
    }

    /// Whether the newest kernel of the store, which runs take, is of this version.
    pub(crate) fn has_kernel(&self, version: &str) -> Result<(), String> {
        let list = self.run("quell kernel list")?;
        let newest = list.lines().next().unwrap_or_default();
        let found = newest.contains(&format!("Linux {version}."));
        found
            .then_some(())
            .ok_or_else(|| format!("the newest kernel is not Linux {version}: {newest}"))
    }

    fn run(&self, command: &str) -> Result<String, String> {
        let mut words = command.split_whitespace();
        if words.next() != Some("quell") || command.contains("live") {
            return Err("only commands of quell that repeat can be compared".to_owned());
        }
        let folder = tempfile::tempdir().unwrap();
        symlink(&self.scenarios, folder.path().join("scenarios")).unwrap();
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
