//! Shows the progress of runs on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quell_lab::Progress;
use quell_units::Time;

use crate::output::page::say;

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows progress.
pub(crate) struct Shown {
    how: How,
    /// Simulated time of each run; several may be running.
    elapsed: Vec<Time>,
}

enum How {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere: time of the last line.
    Lines(Instant),
}

impl Shown {
    /// A display that suits standard error.
    pub(crate) fn new() -> Self {
        let how = if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix}{wide_bar} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            How::Bar(bar)
        } else {
            How::Lines(Instant::now())
        };
        Self {
            how,
            elapsed: Vec::new(),
        }
    }

    /// Shows the progress of a run.
    pub(crate) fn tell(&mut self, progress: &Progress) {
        self.elapsed.resize(progress.runs, Time::ZERO);
        self.elapsed[progress.run] = progress.elapsed;
        let elapsed = self.elapsed.iter().fold(Time::ZERO, |sum, &run| sum + run);
        let duration = progress.duration * progress.runs as u64;
        let which = which(&self.elapsed, progress.duration);
        let state = format!("{:.1} of {:.1} s", seconds(elapsed), seconds(duration));
        match &mut self.how {
            How::Bar(bar) => {
                bar.set_length(duration.as_nanos());
                bar.set_position(elapsed.as_nanos());
                bar.set_prefix(which);
                let left = bar.eta().as_secs();
                bar.set_message(format!("{state}, {left} s left"));
            }
            How::Lines(last) => {
                if last.elapsed() >= BETWEEN_LINES {
                    say(&format!("{which}{state}"));
                    *last = Instant::now();
                }
            }
        }
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let How::Bar(bar) = &self.how {
            bar.finish_and_clear();
        }
    }
}

/// The numbers of the runs that are running.
fn which(elapsed: &[Time], duration: Time) -> String {
    if elapsed.len() < 2 {
        return String::new();
    }
    let done = elapsed.iter().filter(|&&run| run >= duration).count();
    let begun = elapsed.iter().filter(|run| !run.is_zero()).count();
    match begun - done {
        0 | 1 => format!("run {} of {}: ", begun.max(1), elapsed.len()),
        _ => format!("runs {} to {begun} of {}: ", done + 1, elapsed.len()),
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_runs_that_are_running() {
        let ms = Time::from_millis;
        for (elapsed, expected) in [
            (&[5][..], ""),
            (&[0, 0, 0], "run 1 of 3: "),
            (&[4, 0, 0], "run 1 of 3: "),
            (&[9, 2, 0], "run 2 of 3: "),
            (&[9, 2, 7], "runs 2 to 3 of 3: "),
            (&[9, 9, 9], "run 3 of 3: "),
        ] {
            let elapsed: Vec<Time> = elapsed.iter().copied().map(ms).collect();
            assert_eq!(which(&elapsed, ms(9)), expected);
        }
    }
}
