//! The width of the page that a command prints on.
//!
//! A terminal reports its width. Where standard output is not a terminal (a file, a pipe), the output must not depend on the window
//! that happens to be open: the environment variable `COLUMNS` decides, and 80 without it.

use std::env;
use std::io::{self, IsTerminal as _};

use rustix::termios::tcgetwinsize;

/// The width of paper and of most windows, used where no other is known.
const USUAL: usize = 80;
/// Tables cannot be read on a narrower page than the first, nor followed on a wider one than the second.
const USABLE: std::ops::RangeInclusive<usize> = 40..=400;

/// Columns of standard output.
pub(crate) fn columns() -> usize {
    let out = io::stdout();
    let window = || tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
    let window = out.is_terminal().then(window).flatten();
    choose(window, env::var("COLUMNS").ok().as_deref())
}

/// A window without columns is one that does not know its size.
fn choose(window: Option<usize>, variable: Option<&str>) -> usize {
    let variable = || variable?.trim().parse().ok();
    let known = window.filter(|&columns| columns > 0).or_else(variable);
    known
        .filter(|&columns| columns > 0)
        .unwrap_or(USUAL)
        .clamp(*USABLE.start(), *USABLE.end())
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn the_window_then_the_variable_then_eighty() {
        for (window, variable, expected) in [
            (Some(132), Some("60"), 132),
            (Some(0), Some("60"), 60),
            (None, Some(" 60 "), 60),
            (None, Some("many"), 80),
            (None, Some("0"), 80),
            (None, None, 80),
            (Some(3), None, 40),
            (None, Some("999999"), 400),
        ] {
            assert_eq!(
                choose(window, variable),
                expected,
                "{window:?} {variable:?}"
            );
        }
    }
}
