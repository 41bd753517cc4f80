//! The virtual world: the live world inside a user-mode kernel whose clock is simulated.
//!
//! The host's half ([`host`]) finds the kernel, makes a folder of its own in which both sides talk ([`control`]), starts the
//! kernel with this very program as its first process ([`guest`]), and watches it. The guest fills the folder of the result
//! itself, through the host's file system; the host adds `run.json` and the kernel's messages. Nothing of the live world is
//! written twice: what runs inside is [`crate::live::run`].

mod control;
mod guest;
mod guest_files;
mod host;
mod memory;
mod modules;
mod program;
mod requirements;
mod task;
mod user;

use std::process::ExitCode;
use std::time::Instant;

use quell_hosts::confine::landlock::{self, Enforced};
use quell_hosts::namespace::own_mounts;
use quell_hosts::probe::{Finding, Need};
use quell_kernel::Reason;
use quell_kernel::machine::launch;

use crate::RunError;
use crate::options::GuestOptions;
pub use guest::scenario as guest_scenario;
pub(crate) use host::Guest;
pub use host::KERNEL_LOG;
use host::{GUEST, GUEST_KERNEL};
pub use memory::{guest_memory, program_memory};
pub use program::{DAY as GUEST_DAY, FOLDER as GUEST_FOLDER, GuestProgramEnd, run_program};
pub(crate) use requirements::{Controls, missing_requirements};
pub use task::GuestProgram;

/// Carries out the hidden words of the command line. Programs that run the virtual world call this first, because the
/// kernel and its first process are started as this program.
pub fn entry() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if word == GUEST {
        Some(guest::main(words))
    } else if word == GUEST_KERNEL {
        let error = launch::become_kernel(words, own_mounts);
        eprintln!("quell: cannot become the kernel: {error}");
        Some(ExitCode::FAILURE)
    } else {
        None
    }
}

/// SHA-256 of the kernel that runs with these options.
pub(crate) fn image(options: &GuestOptions) -> Result<String, RunError> {
    Ok(Guest::new(options)?.kernel.facts.sha256)
}

/// Whether the virtual world runs here: starts the newest kernel, which then ends.
pub fn probe() -> Vec<Finding> {
    let finding = |need: Need, tried: Result<String, RunError>| {
        let ok = tried.is_ok();
        let build = || Some("quell kernel build".to_owned());
        let (detail, fix) = match tried {
            Ok(detail) => (detail, None),
            Err(RunError::Refused(Reason { what, fix })) => (what, fix.or_else(build)),
            Err(error) => (error.to_string(), build()),
        };
        Finding {
            need,
            ok,
            detail,
            fix,
        }
    };
    match Guest::new(&GuestOptions::default()) {
        // Landlock is the host's, and asked for before there is a kernel to confine.
        Err(error) => vec![finding(Need::UserModeKernel, Err(error)), confinement()],
        Ok(guest) => {
            let kernel = format!("{} ({})", guest.kernel.name, guest.kernel.facts.version);
            let began = Instant::now();
            let tried = guest.try_out().map(|release| {
                let took = began.elapsed().as_secs_f64();
                format!("Linux {release} started and ended in {took:.2} s")
            });
            vec![
                finding(Need::UserModeKernel, Ok(kernel)),
                finding(Need::VirtualTime, tried),
                confinement(),
            ]
        }
    }
}

/// How far the host confines a guest's kernel.
fn confinement() -> Finding {
    let (ok, detail) = match landlock::probe() {
        Ok(Enforced::Wholly) => (true, "a guest writes in its own folders only".to_owned()),
        Ok(Enforced::Partly) => (
            true,
            "a guest writes in its own folders only; this kernel's version does not keep it from TCP or from signals".to_owned(),
        ),
        Ok(Enforced::Not) => (false, "a guest may write what its user may".to_owned()),
        Err(error) => (false, format!("a guest may write what its user may: {error}")),
    };
    Finding {
        need: Need::Landlock,
        ok,
        detail,
        fix: (!ok).then(|| "Linux 5.13 or later, booted with landlock in its list lsm=".to_owned()),
    }
}
