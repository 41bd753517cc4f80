//! The virtual world: a run inside a kernel whose time is simulated, played once it is over.
//!
//! Its time stands still while its machine works, and nobody outside can change it: so it runs to its end, and pages are told how far it
//! is. What they see then is its result, in the folder that `quell run` would have made.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quell_lab::{GuestOptions, Options, World};
use quell_scenario::Scenario;

use crate::error::SessionError;
use crate::http::Shared;
use crate::messages;
use crate::player::Player;

/// Time between two messages of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// What is to run.
#[derive(Debug)]
pub(crate) struct VirtualRun {
    pub(crate) scenario: Scenario,
    pub(crate) warnings: Vec<String>,
    pub(crate) guest: GuestOptions,
    /// A new folder; without one a new one in `results`.
    pub(crate) out: Option<PathBuf>,
}

impl VirtualRun {
    /// Runs until the end, or soon after `stop` is set; then `shared` has what can be played, or the pages learn why not.
    pub(crate) fn carry_on(self, shared: &Shared, stop: &AtomicBool) {
        let played = self.run(shared, stop);
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match played {
            Ok(player) => {
                shared.hub.greet(Vec::new());
                // Nobody else sets it.
                let _ = shared.player.set(Arc::new(player));
                shared.hub.wake();
            }
            Err(why) => {
                let ended = messages::ended(&why.to_string());
                shared.hub.greet(vec![ended.clone()]);
                shared.hub.tell(&ended);
            }
        }
    }

    fn run(self, shared: &Shared, stop: &AtomicBool) -> Result<Player, SessionError> {
        let options = Options {
            out: self.out,
            warnings: self.warnings,
            guest: self.guest,
            ..Options::new(World::Virtual, stop)
        };
        let mut shown_at: Option<Instant> = None;
        let outcome = quell_lab::run(&self.scenario, options, &mut |progress| {
            if shown_at.is_none_or(|before| before.elapsed() >= PROGRESS_INTERVAL) {
                shown_at = Some(Instant::now());
                let message = messages::progress(progress.elapsed, progress.duration);
                shared.hub.greet(vec![message.clone()]);
                shared.hub.tell(&message);
            }
        });
        let outcome = outcome?;
        let run = outcome.runs.first().ok_or(SessionError::NotBegun)?;
        Ok(Player::open(&run.folder, shared.speed())?)
    }
}
