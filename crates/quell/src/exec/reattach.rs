//! A link in front of what runs already, and with `--wait` again in front of what comes back under its name.
//!
//! A link has given up its rights once it stands. So each of several is a copy of this process, which keeps them, and looks whether what is gone
//! is there again. Ctrl-C is for the copy, as long as there is one. It ends with this process, however that ends.

use std::thread;
use std::time::{Duration, Instant};

use quell_exec::run::OWN_FAILURE;
use quell_exec::{Attachment, Target};
use quell_hosts::child;
use quell_units::notation;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use crate::exec::arguments::Exec;
use crate::exec::failure::{ExecFailure, NoEffect};
use crate::output::page::complain;

/// How often it looks for what is gone.
const TURN: Duration = Duration::from_millis(200);

/// Puts the `link` in front of what runs already, again and again with `--wait`; the exit code of this process.
pub(super) fn in_front(
    all: &Exec,
    target: &Target,
    link: impl Fn() -> u8,
) -> Result<u8, ExecFailure> {
    // A wrong one is refused where it is read.
    let patience = notation::time(&all.behind.wait).unwrap_or_default();
    let patience = Duration::from_nanos(patience.as_nanos());
    if patience.is_zero() || !all.program.is_empty() {
        return Ok(link());
    }
    NoEffect::check([
        (
            matches!(target, Target::Process(_)),
            "--wait: a process that has ended does not come back; name a container, or a file of --netns",
        ),
        (
            all.behind.out.is_some(),
            "--out: with --wait there may be several links, each with a result; leave one of both out",
        ),
    ])
    .map_err(ExecFailure::own)?;
    let find = || Attachment::find(target.clone(), all.attach.interface.as_deref());
    let mut found = find().map_err(ExecFailure::own)?;
    let own = getpid();
    loop {
        child::leave_keys_to_others();
        let copy = child::fork(|| copy(&link, own)).map_err(ExecFailure::own)?;
        let code = copy.wait().map_err(ExecFailure::own)?;
        let Some(gone) = found.gone().filter(|_| code == OWN_FAILURE) else {
            return Ok(code);
        };
        child::heed_signals_again();
        complain(&format!("{gone}: waits for it for {}", all.behind.wait));
        let began = Instant::now();
        found = loop {
            match find() {
                Ok(found) => break found,
                Err(error) if began.elapsed() > patience => return Err(ExecFailure::own(error)),
                Err(_) => thread::sleep(TURN),
            }
        };
    }
}

/// The link, in a copy that ends with the process that has made it.
fn copy(link: impl Fn() -> u8, parent: Pid) -> u8 {
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    if bound.is_err() || getppid() != Some(parent) {
        return OWN_FAILURE;
    }
    link()
}
