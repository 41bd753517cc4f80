//! The commands of the tutorial and the guides, run as a reader runs them: in the order of the page, in one folder for each page.
//!
//! ```text
//! <!-- file: mine.toml -->              the code block below is this file, and lies in the folder from the beginning
//! <!-- not run: REASON -->              the commands below are not run by this test
//! <!-- needs: COMMAND -->               they are run where COMMAND succeeds, and listed as not run where it fails
//! ```
//!
//! `FILE` is a small scenario, as on the pages.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::docs::markdown::Page;
use quell_testing::not_run;

/// What `FILE` stands for.
const FILE: &str = "schema = 1\nname = \"file\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n\
    [[group]]\nname = \"downloads\"\nrtt = \"20ms\"\ncount = 2\napp = \"bulk\"\n\
    [run]\nduration = \"3s\"\nwarmup = \"1s\"\n";

/// A block of commands.
#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    line: usize,
    commands: &'a str,
    when: When<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum When<'a> {
    Always,
    /// If this command succeeds.
    If(&'a str),
    Never,
}

/// The blocks of commands of a page.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let fence = "```sh\n";
    for (at, _) in text
        .match_indices(fence)
        .filter(|(at, _)| text[..*at].ends_with('\n'))
    {
        let begin = at + fence.len();
        let length = text[begin..].find("```").unwrap_or(text.len() - begin);
        let above = text[..at]
            .trim_end_matches('\n')
            .lines()
            .next_back()
            .unwrap_or_default();
        let marker = |kind: &str| {
            let rest = above.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
            rest.strip_prefix(kind)?.strip_prefix(": ")
        };
        let when = match (marker("needs"), marker("not run")) {
            (Some(command), _) => When::If(command),
            (None, Some(_)) => When::Never,
            (None, None) => When::Always,
        };
        found.push(Block {
            line: text[..begin].matches('\n').count() + 1,
            commands: &text[begin..begin + length],
            when,
        });
    }
    found
}

/// A folder for a page, with its files, the project's scenarios, and a shell that finds quell.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    path: OsString,
}

impl Folder {
    pub(crate) fn new(page: &Page, root: &Path, program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join(".bin");
        fs::create_dir(&bin).unwrap();
        symlink(program, bin.join("quell")).unwrap();
        symlink(root.join("scenarios"), folder.path().join("scenarios")).unwrap();
        fs::write(folder.path().join("FILE"), FILE).unwrap();
        for (name, text) in page.files() {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Self { folder, path }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn shell(&self, root: &Path, commands: &str) -> Output {
        let kernels = std::env::var_os("QUELL_KERNELS");
        let kernels = kernels.unwrap_or_else(|| root.join("target/kernels").into());
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", commands])
            .current_dir(self.path())
            .env("PATH", &self.path)
            .env("HOME", self.path())
            .env("QUELL_KERNELS", kernels)
            .env("COLUMNS", "80")
            .env("NO_COLOR", "1")
            .output()
            .unwrap()
    }
}

/// Whether a page's commands are run.
fn is_followed(page: &Page) -> bool {
    page.name == "docs/tutorial.md" || page.name.starts_with("docs/guides/")
}

#[test]
fn the_commands_of_tutorial_and_guides_work() {
    let root = crate::docs::root();
    let program = crate::docs::command::program();
    let mut ran = 0;
    for page in crate::docs::pages().iter().filter(|page| is_followed(page)) {
        let folder = Folder::new(page, &root, Path::new(&program));
        for block in blocks(&page.text) {
            let place = format!("{}:{}", page.name, block.line);
            match block.when {
                When::Never => continue,
                When::If(needed) if !folder.shell(&root, needed).status.success() => {
                    not_run(&format!("commands of {place}"), &format!("needs {needed}"));
                    continue;
                }
                When::If(_) | When::Always => {}
            }
            let output = folder.shell(&root, block.commands);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{place}: {}{said}", block.commands);
            ran += 1;
        }
    }
    assert!(ran > 10, "only {ran} blocks of commands were run");
}

#[test]
fn blocks_know_when_they_run() {
    let text = "# T\n\n```sh\na\n```\n\n<!-- not run: x -->\n```sh\nb\n```\n\n<!-- needs: c | d -->\n```sh\ne \\\n  f\n```\n";
    let block = |line, commands, when| Block {
        line,
        commands,
        when,
    };
    assert_eq!(
        blocks(text),
        [
            block(4, "a\n", When::Always),
            block(9, "b\n", When::Never),
            block(14, "e \\\n  f\n", When::If("c | d")),
        ]
    );
}
