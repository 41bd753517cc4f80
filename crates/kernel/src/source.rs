//! Where the source of a kernel comes from: a package of the distribution, a file at hand, a developer's own tree.
//!
//! A source is identified without fetching or unpacking it, so that a kernel that was built before is found at once.

mod package;
pub(crate) mod tree;
mod unpack;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::progress::{Progress, Stage, Told};
use crate::store::work::Work;
use crate::{Error, Result};
use package::Package;
pub(crate) use package::download;
pub use tree::OLDEST;
use tree::Tree;

/// The source that the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The newest `linux-source-VERSION` that apt knows.
    #[default]
    Newest,
    /// That of a name (`linux-source-6.1`) or a version (`6.1`); `=VERSION` after it chooses a version of the package.
    Package(String),
    /// A folder with a kernel source, which is never written to; a package or an archive of one.
    Path(PathBuf),
}

/// A source, before anything is fetched or unpacked.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A package that must be fetched.
    Package(Package),
    /// A package file: its path, the package's name and version.
    PackageFile(PathBuf, String, String),
    /// An archive.
    Archive(PathBuf),
    /// A tree that belongs to the user.
    Tree(Tree),
}

impl Source {
    /// Finds what is wanted.
    ///
    /// # Errors
    ///
    /// It does not exist, or is not a kernel source.
    pub(crate) fn find(wanted: &Wanted) -> Result<Self> {
        let path = match wanted {
            Wanted::Newest => return Package::newest().map(Self::Package),
            Wanted::Package(name) => return Package::named(name).map(Self::Package),
            Wanted::Path(path) => path,
        };
        if path.is_dir() {
            let tree = Tree::open(path)?;
            tree.check_clean()?;
            return Ok(Self::Tree(tree));
        }
        let path = path.canonicalize().map_err(|error| {
            Error::refused(format!(
                "cannot find the source {}: {error}",
                path.display()
            ))
        })?;
        unpack::check_kind(&path)?;
        if unpack::is_package(&path) {
            let (name, version) = package::head(&path)?;
            return Ok(Self::PackageFile(path, name, version));
        }
        Ok(Self::Archive(path))
    }

    /// The folder of the user's tree.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Tree(tree) => Some(&tree.folder),
            _ => None,
        }
    }

    /// Whether quell unpacks it into a folder of its own, to which it may write.
    pub(crate) fn is_unpacked(&self) -> bool {
        self.folder().is_none()
    }

    /// A description for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Package(package) => format!("{} {}", package.name, package.version),
            Self::PackageFile(_, name, version) => format!("{name} {version}"),
            Self::Archive(path) => path.display().to_string(),
            Self::Tree(tree) => tree.folder.display().to_string(),
        }
    }

    /// What stays the same when the source gets newer.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Package(package) => package.name.clone(),
            Self::PackageFile(_, name, _) => name.clone(),
            Self::Archive(path) => path.display().to_string(),
            Self::Tree(tree) => tree.folder.display().to_string(),
        }
    }

    /// What changes when the source does.
    ///
    /// # Errors
    ///
    /// It cannot be read; `stop` is set.
    pub(crate) fn fingerprint(&self, stop: &AtomicBool) -> Result<String> {
        match self {
            Self::Package(package) => Ok(package.version.clone()),
            // The same package, whether fetched here or elsewhere.
            Self::PackageFile(_, _, version) => Ok(version.clone()),
            Self::Archive(path) => {
                let metadata = fs::metadata(path).map_err(Error::at("read", path))?;
                let (size, seconds) = (metadata.size(), metadata.mtime());
                Ok(format!("{size} {seconds} {}", metadata.mtime_nsec()))
            }
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
            _ => version.to_owned(),
        }
    }

    /// Space that fetching, unpacking and building take, in MB. Measured with 7.2: package 164, source 1 092, build
    /// 80; and room for later versions.
    pub(crate) fn megabytes(&self) -> u64 {
        match self {
            Self::Package(_) => 1_700,
            Self::PackageFile(..) | Self::Archive(_) => 1_500,
            Self::Tree(_) => 200,
        }
    }

    /// Fetches and unpacks it into `work`, as far as necessary.
    ///
    /// # Errors
    ///
    /// It cannot be fetched, or is not a kernel source; `stop` is set.
    pub(crate) fn obtain(
        &self,
        work: &Work,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Tree> {
        let log = work.path("log");
        let mut told = |stage, done, total| {
            tell(Told::Progress(Progress { stage, done, total }));
        };
        let fetched;
        let file = match self {
            Self::Tree(tree) => return Ok(tree.clone()),
            Self::PackageFile(path, ..) | Self::Archive(path) => path,
            Self::Package(package) => {
                told(Stage::Fetching, 0, package.size);
                let folder = work.path("package");
                fs::create_dir(&folder).map_err(Error::at("make", &folder))?;
                fetched = package.fetch(&folder, &log, stop, |done| {
                    told(Stage::Fetching, done.min(package.size), package.size);
                })?;
                &fetched
            }
        };
        told(Stage::Unpacking, 0, 0);
        let tree = unpack::unpack(file, &work.path("source"), &log, stop)?;
        Tree::open(&tree)
    }
}

/// With nothing in it that the name of a kernel cannot have.
pub(crate) fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    text.chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect()
}

/// The name of a file without its last ending, as a part of a kernel's name.
pub(crate) fn stem(path: &Path) -> String {
    plain(&path.file_stem().unwrap_or_default().to_string_lossy())
}
