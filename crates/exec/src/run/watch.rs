//! From the start of the program until all that it has started and sent is gone, or a link in front of something else is to end.

use std::time::Duration;

use quell_hosts::terminal::Front;
use signal_hook::consts::SIGTERM;

use super::start::Started;
use crate::config::Config;
use crate::error::Result;
use crate::program::Ended;

/// The program has ended.
pub(super) struct Watched {
    pub(super) ended: Ended,
    /// How many descendants it left.
    pub(super) descendants: usize,
}

/// Looks after the program. Where that fails, the program is ended.
pub(super) fn watch(config: &Config, started: &mut Started) -> Result<Watched> {
    let (program, far) = (started.program.as_ref(), started.far.as_ref());
    let looked_after = started
        .main_loop
        .look_after(program, config, started.relay.as_ref(), far);
    if let (Err(_), Some(program)) = (&looked_after, program) {
        program.signal(SIGTERM);
        program.end_descendants(Duration::ZERO, None, || {});
    }
    started.front.iter().for_each(Front::take_back);
    let (ended, descendants) = looked_after?;
    Ok(Watched { ended, descendants })
}
