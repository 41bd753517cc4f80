//! Where the source of a kernel comes from: a package of the distribution, a file, a developer's own tree.

pub(crate) mod tree;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::{Error, Result};
pub use tree::OLDEST;
use tree::Tree;

/// What the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The newest `linux-source-VERSION` that apt knows.
    #[default]
    Newest,
    /// That of a name (`linux-source-6.1`), or a version (`6.1`); `=VERSION` after it chooses a version of the package.
    Package(String),
    /// A folder with a kernel source, which is never written to; a package or an archive of one.
    Path(PathBuf),
}

/// Where the source is, before anything is fetched or unpacked.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A tree of somebody else.
    Tree(Tree),
}

impl Source {
    /// Finds what is wanted.
    pub(crate) fn find(wanted: &Wanted) -> Result<Self> {
        match wanted {
            Wanted::Path(path) if path.is_dir() => {
                let tree = Tree::open(path)?;
                tree.check_clean()?;
                Ok(Self::Tree(tree))
            }
            _ => Err(Error::Refused("not yet".to_owned())),
        }
    }

    /// For people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Tree(tree) => format!("Linux {} in {}", tree.version, tree.folder.display()),
        }
    }

    /// What stays the same when the source gets newer.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Tree(tree) => tree.folder.display().to_string(),
        }
    }

    /// What changes when the source does.
    pub(crate) fn fingerprint(&self, stop: &AtomicBool) -> Result<String> {
        match self {
            Self::Tree(tree) => tree.fingerprint(stop),
        }
    }

    /// The name of a kernel of `version` from here, unless the user chooses one.
    pub(crate) fn name(&self, version: &str) -> String {
        match self {
            Self::Tree(tree) => {
                let folder = tree.folder.file_name().unwrap_or_default();
                format!("{version}-{}", plain(&folder.to_string_lossy()))
            }
        }
    }

    /// Space that fetching and building takes, in MB.
    pub(crate) fn megabytes(&self) -> u64 {
        match self {
            Self::Tree(_) => 250,
        }
    }
}

/// With nothing in it that the name of a kernel cannot have.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._+~-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// The part of a path's name before its last dot.
pub(crate) fn stem(path: &Path) -> String {
    plain(&path.file_stem().unwrap_or_default().to_string_lossy())
}
