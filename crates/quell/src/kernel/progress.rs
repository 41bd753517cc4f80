//! Shows the progress of a kernel build on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quell_kernel::build::{Progress, Stage};

use crate::output::page::say;

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows progress.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    begun: Instant,
    last: Instant,
}

impl Shown {
    /// A display that suits standard error.
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix} {wide_bar} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let now = Instant::now();
        Self {
            bar,
            stage: None,
            begun: now,
            last: now,
        }
    }

    /// Shows the progress of the build.
    pub(crate) fn tell(&mut self, progress: Progress) {
        let new = self.stage.replace(progress.stage) != Some(progress.stage);
        if new {
            self.begun = Instant::now();
        }
        let what = what(progress.stage);
        let state = state(progress, self.begun.elapsed());
        if let Some(bar) = &self.bar {
            if new {
                bar.reset();
                bar.set_prefix(what);
            }
            bar.set_length(progress.total.max(1));
            bar.set_position(progress.done);
            bar.set_message(state);
        } else if new && progress.stage != Stage::Looking {
            say(what);
            self.last = Instant::now();
        } else if self.last.elapsed() >= BETWEEN_LINES {
            say(&format!("{what}: {state}"));
            self.last = Instant::now();
        }
    }

    /// Prints a note.
    pub(crate) fn note(&self, note: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(note)),
            None => say(note),
        }
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn what(stage: Stage) -> &'static str {
    match stage {
        Stage::Looking => "looking",
        Stage::Waiting => "waiting for another quell to build the same kernel",
        Stage::FetchingTools => "downloading tools",
        Stage::Fetching => "downloading the source",
        Stage::Unpacking => "unpacking the source",
        Stage::Configuring => "configuring",
        Stage::Compiling => "compiling",
        Stage::CleaningUp => "cleaning up",
    }
}

fn state(progress: Progress, elapsed: Duration) -> String {
    let Progress { stage, done, total } = progress;
    let elapsed = elapsed.as_secs();
    match (stage, total) {
        (Stage::Fetching, 1..) => format!("{} of {} MB", done >> 20, total >> 20),
        (Stage::Compiling, 1..) => format!("{done} of about {total} steps, {elapsed} s"),
        _ => format!("{elapsed} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_far_it_is_in_the_unit_of_the_stage() {
        for (stage, done, total, expected) in [
            (Stage::Fetching, 3 << 20, 164 << 20, "3 of 164 MB"),
            (Stage::Fetching, 0, 0, "7 s"),
            (Stage::Compiling, 40, 1_200, "40 of about 1200 steps, 7 s"),
            (Stage::Unpacking, 0, 0, "7 s"),
        ] {
            let progress = Progress { stage, done, total };
            assert_eq!(state(progress, Duration::from_secs(7)), expected);
        }
    }
}
