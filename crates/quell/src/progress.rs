//! How far a run is: a bar on a terminal, a line now and then elsewhere; always on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quell_aqm::Time;
use quell_lab::Progress;

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows progress.
pub(crate) enum Shown {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere: when the last line was.
    Lines(Instant),
}

impl Shown {
    /// For standard error as it is.
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Lines(Instant::now());
        }
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix}{wide_bar} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self::Bar(bar)
    }

    /// A run is so far.
    pub(crate) fn tell(&mut self, progress: &Progress) {
        let which = if progress.runs > 1 {
            format!("run {} of {}: ", progress.run + 1, progress.runs)
        } else {
            String::new()
        };
        let state = format!(
            "{:.1} of {:.1} s",
            seconds(progress.elapsed),
            seconds(progress.duration)
        );
        match self {
            Self::Bar(bar) => {
                bar.set_length(progress.duration.as_nanos());
                bar.set_position(progress.elapsed.as_nanos());
                bar.set_prefix(which);
                let left = bar.eta().as_secs();
                bar.set_message(format!("{state}, {left} s left"));
            }
            Self::Lines(last) => {
                if last.elapsed() >= BETWEEN_LINES {
                    // A reader that went away misses nothing that matters.
                    let _ = writeln!(std::io::stderr(), "{which}{state}");
                    *last = Instant::now();
                }
            }
        }
    }

    /// Nothing more comes.
    pub(crate) fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
