//! What this host lacks for a guest: a kernel, a control that the kernel was built with, room for the guest's memory.

use quell_kernel::Reason;
use quell_kernel::machine::has_room;
use quell_kernel::store::own_controls;

use super::{Guest, guest_memory};
use crate::lack::{Lack, controls};
use crate::options::GuestOptions;
use crate::{RunError, Scenario};

/// How to get a kernel with the control `name`.
fn fix(name: &str) -> String {
    if own_controls().iter().any(|own| own == name) {
        return "quell kernel build, which adds it to the kernels that it builds (not from a folder: --source FOLDER); or --kernel with one \
                that has it (quell kernel list)"
            .to_owned();
    }
    "--kernel with another one (quell kernel list), or quell kernel build --config FRAGMENT"
        .to_owned()
}

/// What is missing for `scenario`, which the check has accepted for the virtual world.
pub(crate) fn lacks(scenario: &Scenario, options: &GuestOptions) -> Vec<Lack> {
    let guest = match Guest::new(options) {
        Ok(guest) => guest,
        Err(RunError::Refused(reason)) => return vec![reason.into()],
        Err(error) => return vec![Reason::from(error.to_string()).into()],
    };
    let mut lacks = Vec::new();
    if let Some(there) = guest.kernel.congestion_controls() {
        for name in controls(scenario) {
            if !there.iter().any(|known| known == name) {
                lacks.push(Lack {
                    what: format!(
                        "the kernel {} has no {name} (it has {})",
                        guest.kernel.name,
                        there.join(", ")
                    ),
                    fix: Some(fix(name)),
                });
            }
        }
    }
    if let Err(error) = has_room(guest_memory(scenario).get()) {
        lacks.push(error.reason().into());
    }
    lacks
}
