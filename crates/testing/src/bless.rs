//! Files of the project that a test generates: each is compared with what it should be now, or written anew.
//!
//! This is the only place that decides between the two. `make bless` runs the tests that generate files with `QUELL_BLESS=1`; what it changed is
//! then read as any other change.

use std::path::Path;
use std::{env, fs};

/// Whether files are written anew instead of compared.
#[must_use]
pub fn blesses() -> bool {
    env::var_os("QUELL_BLESS").is_some()
}

/// Compares the file at `path` with `current`, or writes it where files are written anew.
///
/// # Panics
///
/// The file differs: the message names it, its first line that differs, and how to accept the difference. Or it cannot be written.
#[track_caller]
pub fn compare_or_bless(path: &Path, current: &str) {
    let shown = path.display();
    if blesses() {
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(path, current));
        written.unwrap_or_else(|error| panic!("{shown}: {error}"));
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    if let Some(what) = difference(&kept, current) {
        panic!("{shown} is not current: {what}\n`make bless` writes it anew");
    }
}

/// Characters that are shown before the first one that differs in its line, and altogether.
const SHOWN: (usize, usize) = (40, 120);

/// The first line that differs between the file and what it should be, if any does.
#[must_use]
pub fn difference(kept: &str, current: &str) -> Option<String> {
    if kept == current {
        return None;
    }
    let alike = kept.lines().zip(current.lines());
    let alike = alike.take_while(|(kept, current)| kept == current).count();
    let lines = [kept, current].map(|text| text.lines().nth(alike));
    if lines == [None, None] {
        return Some("lines end otherwise".to_owned());
    }
    let [kept, current] = lines.map(Option::unwrap_or_default);
    let begin = kept.chars().zip(current.chars());
    let begin = begin.take_while(|(kept, current)| kept == current).count();
    let shown = lines.map(|line| {
        let Some(line) = line else {
            return "(no such line)".to_owned();
        };
        let part = line.chars().skip(begin.saturating_sub(SHOWN.0));
        format!("{:?}", part.take(SHOWN.1).collect::<String>())
    });
    Some(format!(
        "line {}\n  in the file: {}\n  now:         {}",
        alike + 1,
        shown[0],
        shown[1]
    ))
}
