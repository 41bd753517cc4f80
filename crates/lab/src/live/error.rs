//! Why the live world cannot run, or why a run failed.

use quell_hosts::probe::{Need, probe};
use quell_hosts::traffic::TrafficError;
use quell_kernel::Reason;

use quell_scenario::contract::Unwritten;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// This machine, or this user, cannot run the live world as it is.
    #[error("{0}")]
    Environment(Reason),
    /// The scenario asks for what the live world does not have.
    #[error("{0}")]
    Scenario(String),
    /// The run failed.
    #[error("{0}")]
    Failed(String),
    /// The listener could not take a row.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    /// A result could not be written.
    #[error(transparent)]
    Results(#[from] quell_results::Error),
}

impl From<quell_hosts::confine::Error> for LiveError {
    fn from(error: quell_hosts::confine::Error) -> Self {
        Self::Failed(format!("cannot give rights away: {error}"))
    }
}

impl LiveError {
    /// Setting the hosts up failed. Adds what this machine lacks, found by trying.
    pub(super) fn host(error: quell_hosts::Error) -> Self {
        if matches!(error, quell_hosts::Error::KernelQueue(_)) {
            return Self::Environment(error.to_string().into());
        }
        // That the hosts cannot be set up is what is to be explained, and no run needs fq.
        let explains = |need: &Need| !need.is_of_bpf() && !matches!(need, Need::Hosts | Need::Fq);
        let lacking: Vec<_> = probe(&[])
            .into_iter()
            .filter(|finding| !finding.ok && explains(&finding.need))
            .collect();
        let mut what = format!("the hosts of the live world cannot be set up: {error}");
        if lacking
            .iter()
            .any(|finding| finding.need == Need::NetworkNamespaces)
        {
            what.push_str("; --world virtual needs none of this");
        }
        for finding in &lacking {
            what.push_str(&format!("\n  {}: {}", finding.need, finding.detail));
        }
        let fix = lacking.into_iter().find_map(|finding| finding.fix);
        Self::Environment(Reason {
            what,
            fix: fix.or_else(|| Some("quell doctor".to_owned())),
        })
    }

    /// The same of the kernel in a guest: what helps a host, such as loading a module, does not help there.
    pub(crate) fn in_guest(self) -> Self {
        match self {
            Self::Environment(reason) => Self::Environment(Reason {
                fix: reason.fix.map(|_| {
                    "quell kernel list -v, which shows what each kernel has; --kernel chooses one, quell kernel build makes one, with quell's own \
                     controls, which a kernel of an earlier quell lacks"
                        .to_owned()
                }),
                ..reason
            }),
            other => other,
        }
    }

    /// A congestion control cannot be used.
    pub(super) fn control(name: &str, error: &quell_hosts::Error) -> Self {
        let wanted = Need::CongestionControl(name.to_owned());
        let fix = probe(&[name])
            .into_iter()
            .filter(|finding| !finding.ok && (finding.need == wanted || finding.need.is_of_bpf()))
            .find_map(|finding| finding.fix);
        Self::Environment(Reason {
            what: error.to_string(),
            fix: fix.or_else(|| Some("quell doctor".to_owned())),
        })
    }

    /// The hosts' traffic could not start, or failed.
    pub(super) fn traffic(error: TrafficError) -> Self {
        match error {
            TrafficError::Plan { .. } | TrafficError::Interval => Self::Scenario(error.to_string()),
            TrafficError::NoSuchControl { ref name, .. } => Self::Environment(Reason::with_fix(
                error.to_string(),
                format!("modprobe tcp_{name}"),
            )),
            TrafficError::TooManyFlows { .. } | TrafficError::ControlRestricted { .. } => {
                Self::Environment(error.to_string().into())
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
