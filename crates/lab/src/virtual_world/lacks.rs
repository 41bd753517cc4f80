//! What this host lacks for a guest: a kernel, a control that the kernel was built with, room for the guest's memory.

use quell_kernel::machine::has_room;

use super::{Guest, guest_memory};
use crate::Scenario;
use crate::lack::{Lack, controls};
use crate::options::GuestOptions;

/// Of `scenario`, which the check has accepted for the virtual world.
pub(crate) fn lacks(scenario: &Scenario, options: &GuestOptions) -> Vec<Lack> {
    let guest = match Guest::new(options) {
        Ok(guest) => guest,
        Err(error) => return vec![lack(&error.to_string())],
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
                    fix: Some("--kernel with another one (quell kernel list), or quell kernel build --config FRAGMENT".to_owned()),
                });
            }
        }
    }
    if let Err(error) = has_room(guest_memory(scenario).get()) {
        lacks.push(lack(&error.to_string()));
    }
    lacks
}

/// A message whose second line, if it has one, names what to do after a colon.
fn lack(message: &str) -> Lack {
    let (what, rest) = message.split_once('\n').unwrap_or((message, ""));
    let fix = rest.split_once(": ").map(|(_, fix)| fix.to_owned());
    Lack {
        what: what.to_owned(),
        fix,
    }
}
