//! Why the live world cannot run, or broke off.

use quell_hosts::traffic::TrafficError;

use quell_scenario::contract::Unwritten;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// This machine, or this user, cannot run the live world as it is.
    #[error("{why}{}", mend.as_ref().map(|mend| format!("\n  what mends it: {mend}")).unwrap_or_default())]
    Environment {
        /// What is missing.
        why: String,
        /// The command that mends it, if there is one.
        mend: Option<String>,
    },
    /// The scenario asks for what cannot be.
    #[error("{0}")]
    Scenario(String),
    /// The run broke off.
    #[error("{0}")]
    Failed(String),
    /// The listener could not take a row.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    /// A result could not be written.
    #[error(transparent)]
    Results(#[from] quell_results::Error),
}

impl LiveError {
    /// Setting the hosts up failed: says what this machine lacks, found by trying, if that explains
    /// it.
    pub(super) fn host(error: quell_hosts::Error) -> Self {
        if matches!(error, quell_hosts::Error::KernelQueue(_)) {
            return Self::Environment {
                why: error.to_string(),
                mend: None,
            };
        }
        let lacking: Vec<_> = quell_hosts::probe::probe(&[])
            .into_iter()
            .filter(|finding| !finding.ok && !finding.what.contains("BPF"))
            .filter(|finding| finding.what != quell_hosts::probe::RELEASES)
            // That they cannot be set up is what is to be explained.
            .filter(|finding| finding.what != quell_hosts::probe::HOSTS)
            .collect();
        let mut why = format!("the hosts of the live world cannot be set up: {error}");
        for finding in &lacking {
            why.push_str(&format!("\n  {}: {}", finding.what, finding.detail));
        }
        let mend = lacking.into_iter().find_map(|finding| finding.mend);
        Self::Environment {
            why,
            mend: mend.or_else(|| Some("quell doctor".to_owned())),
        }
    }

    /// The same of the kernel in a guest: what helps a host, such as loading a module, does not help there.
    pub(crate) fn in_guest(self) -> Self {
        match self {
            Self::Environment { why, mend } => Self::Environment {
                why,
                mend: mend.map(|_| {
                    "quell kernel list -v, which shows what each kernel has; --kernel chooses one, quell kernel build makes one"
                        .to_owned()
                }),
            },
            other => other,
        }
    }

    /// A congestion control is not to be had.
    pub(super) fn control(name: &str, error: &quell_hosts::Error) -> Self {
        let found = quell_hosts::probe::probe(&[name]);
        let mend = found
            .into_iter()
            .filter(|finding| !finding.ok)
            .filter(|finding| finding.what.contains(name) || finding.what.contains("BPF"))
            .find_map(|finding| finding.mend);
        Self::Environment {
            why: error.to_string(),
            mend: mend.or_else(|| Some("quell doctor".to_owned())),
        }
    }

    /// The hosts' traffic could not start, or broke off.
    pub(super) fn traffic(error: TrafficError) -> Self {
        match error {
            TrafficError::Plan { .. } | TrafficError::Interval => Self::Scenario(error.to_string()),
            TrafficError::NoSuchControl { ref name, .. } => Self::Environment {
                mend: Some(format!("modprobe tcp_{name}")),
                why: error.to_string(),
            },
            TrafficError::TooManyFlows { .. } | TrafficError::ControlRestricted { .. } => {
                Self::Environment {
                    why: error.to_string(),
                    mend: None,
                }
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_a_guest_no_module_is_to_be_loaded() {
        let lacking = || {
            LiveError::traffic(TrafficError::NoSuchControl {
                group: 0,
                name: "bbr".to_owned(),
            })
        };
        let outside = lacking().to_string();
        assert!(outside.contains("modprobe tcp_bbr"), "{outside}");
        let inside = lacking().in_guest().to_string();
        assert!(!inside.contains("modprobe"), "{inside}");
        assert!(
            inside.contains("no congestion control bbr") && inside.contains("quell kernel list -v"),
            "{inside}"
        );
    }
}
