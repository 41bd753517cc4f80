//! What this host lacks for a guest: a kernel, a control that the kernel was built with, room for the guest's memory.

use quell_kernel::Reason;
use quell_kernel::machine::has_room;
use quell_kernel::store::own_controls;

use super::host::Guest;
use super::memory::guest_memory;
use crate::options::GuestOptions;
use crate::requirements::{MissingRequirement, controls};
use crate::{RunError, Scenario, World};

/// The congestion controls of a kernel.
#[derive(Debug)]
pub(crate) struct Controls {
    kernel: String,
    names: Vec<String>,
}

impl Controls {
    /// Those of the kernel that runs in `world`: `None` where that is no guest's, or does not tell.
    ///
    /// # Errors
    ///
    /// The virtual world has no kernel.
    pub(crate) fn of(world: World, options: &GuestOptions) -> Result<Option<Self>, RunError> {
        match world {
            World::Virtual => Ok(Self::in_kernel(&Guest::new(options)?)),
            World::Sim | World::Live => Ok(None),
        }
    }

    fn in_kernel(guest: &Guest) -> Option<Self> {
        Some(Self {
            kernel: guest.kernel.name.clone(),
            names: guest.kernel.congestion_controls()?,
        })
    }

    /// Those that `scenario` needs and the kernel has not.
    pub(crate) fn missing_for(&self, scenario: &Scenario) -> Vec<MissingRequirement> {
        let needed = controls(scenario).into_iter();
        let missing = needed.filter(|&name| !self.names.iter().any(|known| known == name));
        let as_requirement = |name| MissingRequirement {
            what: format!(
                "the kernel {} has no {name} (it has {})",
                self.kernel,
                self.names.join(", ")
            ),
            fix: Some(fix(name)),
        };
        missing.map(as_requirement).collect()
    }
}

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
pub(crate) fn missing_requirements(
    scenario: &Scenario,
    options: &GuestOptions,
) -> Vec<MissingRequirement> {
    let guest = match Guest::new(options) {
        Ok(guest) => guest,
        Err(RunError::Refused(reason)) => return vec![reason.into()],
        Err(error) => return vec![Reason::from(error.to_string()).into()],
    };
    let there = Controls::in_kernel(&guest);
    let mut missing = there.map_or_else(Vec::new, |there| there.missing_for(scenario));
    if let Err(error) = has_room(guest_memory(scenario).get()) {
        missing.push(error.reason().into());
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_control_that_the_kernel_has_not_is_named_once_with_what_there_is() {
        let group = |name: &str, control: &str| {
            format!(
                "[[group]]\nname = \"{name}\"\ncongestion-control = \"{control}\"\nrtt = \"10ms\"\napp = {{ kind = \"bulk\" }}\n"
            )
        };
        let text = [
            "schema = 1\nname = \"a\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[run]\nduration = \"1s\"\n".to_owned(),
            group("a", "ledbat"),
            group("b", "cubic"),
            group("c", "prague"),
            group("d", "ledbat"),
        ];
        let loaded = Scenario::load("a.toml", &text.concat(), &[], Some(World::Virtual));
        let scenario = loaded.unwrap().scenario;
        let there = Controls {
            kernel: "6.1".to_owned(),
            names: vec!["cubic".to_owned(), "reno".to_owned()],
        };
        let missing: Vec<String> = there
            .missing_for(&scenario)
            .iter()
            .map(MissingRequirement::to_string)
            .collect();
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(
            missing[0]
                .starts_with("the kernel 6.1 has no ledbat (it has cubic, reno); fix: --kernel"),
            "{missing:?}"
        );
        // One of quell's own is built in.
        assert!(
            missing[1].contains("has no prague") && missing[1].contains("fix: quell kernel build"),
            "{missing:?}"
        );
    }
}
