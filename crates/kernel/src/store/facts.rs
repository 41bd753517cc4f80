//! `kernel.json`: the facts of a kernel.

use serde::{Deserialize, Serialize};

/// The facts of a kernel. Keys that a later version adds are ignored by an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its name in the store.
    pub name: String,
    /// Its version, as `linux --version` prints it.
    pub version: String,
    /// Its source, for people: a package with its version, a folder, a file.
    pub source: String,
    /// What `source` has in common with a later or changed one of the same kind: the name of the package, the path. A build
    /// replaces a kernel of the same name and origin and no other.
    #[serde(default)]
    pub origin: String,
    /// When it was built or added, in seconds since 1970 (UTC).
    pub built_at: u64,
    /// SHA-256 of everything that decides what is built: the source's fingerprint and the configuration. Empty for a
    /// kernel that was added.
    pub config_hash: String,
    /// SHA-256 of the image, in hexadecimal; empty where an earlier version put it into the store.
    #[serde(default)]
    pub sha256: String,
    /// Steps that its build took, for the progress of the next one; 0 where it was added.
    #[serde(default)]
    pub build_steps: u64,
    /// Its congestion controls; empty where an earlier version put it into the store, or where an option says not how its control is called.
    #[serde(default)]
    pub congestion_controls: Vec<String>,
    /// Whether its clock can be simulated (`time-travel=inf-cpu`).
    pub time_travel: bool,
    /// Whether it can run processes under seccomp instead of ptrace, which is faster.
    pub seccomp: bool,
}
