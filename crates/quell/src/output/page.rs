//! The standard output of a command: collected, then written at once.
//!
//! Everything printed goes through [`printable`]: no scenario, name or kernel can send control sequences to a terminal.
//! A reader that has seen enough (`quell queues | head -1`) closes the pipe, which is no error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use quell_lab::printable;

/// Lines of words stay this short, however wide the terminal: an eye finds the next one.
const READABLE: usize = 100;

/// Lines for standard output.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    columns: usize,
}

impl Page {
    /// An empty one of that width.
    pub(crate) fn new(columns: usize) -> Self {
        let text = String::new();
        Self { text, columns }
    }

    /// What is on it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How wide it is, in columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.text.push_str(&printable(&text.to_string()));
        self.text.push('\n');
    }

    /// Adds words broken at the page's width, or earlier on a wide one, each line after `indent` spaces.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.hanging(&" ".repeat(indent), text);
    }

    /// The same, but the first line after `head` instead of spaces.
    pub(crate) fn hanging(&mut self, head: &str, text: &str) {
        let indent = head.chars().count();
        let columns = self.columns.min(READABLE.max(indent + READABLE / 2));
        let mut line = head.to_owned();
        let mut empty = true;
        for word in text.split_whitespace() {
            if !empty && line.chars().count() + 1 + word.chars().count() > columns {
                self.line(&line);
                line = " ".repeat(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        if !empty {
            self.line(line);
        }
    }

    /// Writes it all.
    pub(crate) fn show(self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out
            .write_all(self.text.as_bytes())
            .and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Reports an error on standard error.
pub(crate) fn complain(message: &str) {
    say(&format!("quell: {message}"));
}

/// Prints a line on standard error. A failure is ignored: there is no place left to report it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// With `--verbose`, prints from now on the log messages of quell's crates.
pub(crate) fn say_more(wanted: bool) {
    if wanted && log::set_logger(&Besides).is_ok() {
        log::set_max_level(log::LevelFilter::Info);
    }
}

/// Prints the log messages of quell's own crates.
struct Besides;

impl log::Log for Besides {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("quell")
    }
    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            complain(&record.args().to_string());
        }
    }
    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stay_within_the_page() {
        for (columns, most) in [(40, 40), (80, 80), (200, 100)] {
            let mut page = Page::new(columns);
            page.paragraph(4, &"words µs ".repeat(40));
            let text = page.text;
            let fits = |line: &str| {
                line.chars().count() <= most
                    && line.starts_with("    w") | line.starts_with("    µ")
            };
            assert!(text.lines().all(fits), "{text}");
            assert_eq!(text.split_whitespace().count(), 80);
        }
    }
}
