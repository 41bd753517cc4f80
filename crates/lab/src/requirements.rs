//! What this host is missing for a scenario.

use quell_kernel::Reason;

use quell_scenario::{ControlSpec, Scenario};

/// What is missing, and the command that fixes it where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRequirement {
    /// What is missing, in a line.
    pub what: String,
    /// The command or step that would fix it.
    pub fix: Option<String>,
}

impl From<Reason> for MissingRequirement {
    fn from(Reason { what, fix }: Reason) -> Self {
        Self { what, fix }
    }
}

impl std::fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.fix {
            Some(fix) => write!(f, "{}; fix: {fix}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The names of the congestion controls that a scenario needs, each once.
pub(crate) fn controls(scenario: &Scenario) -> Vec<&str> {
    let mut names: Vec<&str> = scenario
        .groups
        .iter()
        .flat_map(|group| [group.congestion_control.as_ref(), group.receiver_control()])
        .flatten()
        .map(ControlSpec::kernel_name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
