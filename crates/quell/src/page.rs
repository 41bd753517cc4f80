//! What a command prints on standard output: collected, then written at once.
//!
//! Everything printed goes through [`printable`]: a terminal obeys nothing that a scenario, a name or a kernel says.
//! A reader that has seen enough (`quell queues | head -1`) closes the pipe, which is no error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use quell_lab::printable;

/// Lines for standard output.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.0.push_str(&printable(&text.to_string()));
        self.0.push('\n');
    }

    /// Adds words broken at 80 columns, each line after `indent` spaces.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        const COLUMNS: usize = 80;
        let mut line = " ".repeat(indent);
        let mut empty = true;
        for word in text.split_whitespace() {
            if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
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
        let written = out.write_all(self.0.as_bytes()).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Says on standard error what went wrong.
pub(crate) fn complain(message: &str) {
    say(&format!("quell: {message}"));
}

/// A line on standard error. If nobody reads that, there is nobody left to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// From now on also says what is done besides, if that is wanted.
pub(crate) fn say_more(wanted: bool) {
    if wanted && log::set_logger(&Besides).is_ok() {
        log::set_max_level(log::LevelFilter::Info);
    }
}

/// Prints what quell's own crates have to say.
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
    fn paragraphs_stay_within_eighty_columns() {
        let mut page = Page::default();
        page.paragraph(4, &"words µs ".repeat(40));
        assert!(page.0.lines().all(|line| line.chars().count() <= 80
            && line.starts_with("    w") | line.starts_with("    µ")));
        assert_eq!(page.0.split_whitespace().count(), 80);
    }
}
