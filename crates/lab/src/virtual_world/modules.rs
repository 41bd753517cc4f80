//! Options of controls, which the guest writes into the parameters of its kernel's modules before there is any connection.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use quell_kernel::Reason;
use quell_scenario::kernel_options::{is_given, module, number};

use crate::{RunError, Scenario};

/// Gives the kernel the options of `scenario` that differ from its own.
pub(super) fn set_options(scenario: &Scenario) -> Result<(), RunError> {
    for group in &scenario.groups {
        let Some(control) = &group.congestion_control else {
            continue;
        };
        for (parameter, value, _) in control.changed() {
            let name = parameter.name;
            if is_given(control.name(), name, value) {
                continue;
            }
            let setting = module(control.name(), name).zip(number(parameter, value));
            let Some((module, number)) = setting else {
                return Err(RunError::refused(format!(
                    "no kernel takes {name} of {}",
                    control.name()
                )));
            };
            let folder = format!("/sys/module/{module}");
            if !Path::new(&folder).exists() {
                // Whoever looks for the control says that it is missing.
                continue;
            }
            let file = format!("{folder}/parameters/{name}");
            fs::write(&file, number.to_string()).map_err(|error| match error.kind() {
                // The folder is not the guest's to write: a missing file cannot be made either.
                ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                    RunError::Refused(Reason::with_fix(
                        format!("{} of this kernel has no option {name}", control.name()),
                        "quell kernel build",
                    ))
                }
                _ => RunError::Failed(format!("in the guest: cannot write {file}: {error}")),
            })?;
        }
    }
    Ok(())
}
