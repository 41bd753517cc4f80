//! Standard output, as a page, and standard error, line by line.
//!
//! Everything printed goes through [`printable`]: no scenario, name or kernel can send control sequences to a terminal.

use std::io::{self, Write as _};

use quell_lab::printable;

pub(crate) use quell_lab::results::present::terminal::Page;

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
