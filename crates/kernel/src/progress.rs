//! How far a build is.

/// A step of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Looking for this kernel in the store.
    Looking,
    /// Another process builds the same kernel.
    Waiting,
    /// Getting tools that are not installed.
    FetchingTools,
    /// Getting the package; counted in bytes.
    Fetching,
    /// Unpacking it.
    Unpacking,
    /// Finding out which options the tree has.
    Configuring,
    /// Compiling; counted in files.
    Compiling,
    /// Removing the source and what it was compiled to.
    CleaningUp,
}

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current step.
    pub stage: Stage,
    /// The part of it that is done.
    pub done: u64,
    /// The approximate whole; 0 if it is not known.
    pub total: u64,
}

/// What a build reports while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// How far it is.
    Progress(Progress),
    /// A remark.
    Note(String),
}
