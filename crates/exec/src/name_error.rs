//! Why a link is not reached by its name.

use std::path::PathBuf;

/// The longest name.
pub(crate) const LONGEST: usize = 64;

/// Why a link is not reached by its name.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// No file has such a name.
    #[error(
        "{0:?} is no name of a link: letters, digits, '-', '_' and '.' inside, at most {LONGEST}"
    )]
    Form(String),
    /// Nobody listens.
    #[error("no link called {name} is running{}", that_run(.others))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that run.
        others: Vec<String>,
    },
    /// A link of this name runs.
    #[error(
        "a link called {name} is running already, as process {pid}: `quell link stop {name}` ends it"
    )]
    Taken {
        /// The name.
        name: String,
        /// Whose it is.
        pid: i32,
    },
    /// The folder belongs to somebody else, or others may write to it.
    #[error("{} is not this user's alone: remove it, or set XDG_RUNTIME_DIR", .0.display())]
    Foreign(PathBuf),
    /// A program of one user does not run with what is another's.
    #[error("the link {0} belongs to another user")]
    NotOwn(String),
    /// The link is in front of something else, or its program has not begun.
    #[error("there is no program behind this link to join")]
    NoProgram,
    /// The link has refused what was asked.
    #[error("{0}")]
    Refused(String),
}

fn that_run(names: &[String]) -> String {
    match names {
        [] => "; `quell exec --name NAME` gives one a name".to_owned(),
        names => format!("; there is {}", names.join(", ")),
    }
}
