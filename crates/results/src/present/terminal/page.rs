//! A page of text: collected, then written at once.
//!
//! Everything printed goes through [`printable`]: no scenario, name or kernel can send control sequences to a terminal.
//! A reader that has seen enough (`quell queues | head -1`) closes the pipe, which is no error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use quell_scenario::printable;

/// Lines of words stay this short, however wide the terminal: an eye finds the next one.
const READABLE: usize = 100;

/// Lines for standard output.
#[derive(Debug)]
pub struct Page {
    text: String,
    columns: usize,
    /// The last line is a heading.
    is_headed: bool,
}

impl Page {
    /// An empty one of that width.
    pub fn new(columns: usize) -> Self {
        Self {
            text: String::new(),
            columns,
            is_headed: false,
        }
    }

    /// What is on it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How wide it is, in columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl Display) {
        self.text.push_str(&printable(&text.to_string()));
        self.text.push('\n');
        self.is_headed = false;
    }

    /// Adds an empty line, unless there is one already, or a heading, or nothing at all.
    pub fn gap(&mut self) {
        if !self.is_headed && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.line("");
        }
    }

    /// Adds a heading below an empty line.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        self.paragraph(0, text);
        self.is_headed = true;
    }

    /// Adds words broken at the page's width, or earlier on a wide one, each line after `indent` spaces.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.hanging(&" ".repeat(indent), text);
    }

    /// Adds words as [`Self::paragraph`] does, but the first line after `head` instead of spaces.
    pub fn hanging(&mut self, head: &str, text: &str) {
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

    /// Prints what is on it, and takes it off.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written to; a reader that has gone is no error.
    pub fn show(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out
            .write_all(std::mem::take(&mut self.text).as_bytes())
            .and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
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
