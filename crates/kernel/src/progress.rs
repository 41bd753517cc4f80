//! How far a build is.

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Looking whether this kernel is there already.
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

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// How much of it is done.
    pub done: u64,
    /// Out of how much, about; 0 where it is not known.
    pub total: u64,
}

/// What a build tells while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// How far it is.
    Progress(Progress),
    /// Something to know.
    Note(String),
}
