//! An unpacked kernel source: whether it is one, which version, and whether it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};

use crate::hash::hex;
use crate::store::Version;
use crate::{Error, Reason, Result};

/// The oldest version that is built and started in quell's own tests.
pub const OLDEST: &str = "6.1";

/// A source tree.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) folder: PathBuf,
    /// `7.2.13`, as in the first lines of its Makefile.
    pub(crate) version: String,
}

impl Tree {
    /// The tree in `folder`.
    ///
    /// # Errors
    ///
    /// It is no kernel source, or lies where the kernel's makefiles cannot work.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .map_err(Error::at("find the kernel source", folder))?;
        let shown = folder.display().to_string();
        let makefile = fs::read(folder.join("Makefile")).unwrap_or_default();
        let version = version(&String::from_utf8_lossy(&makefile));
        let um = folder.join("arch/um/Kconfig").is_file() && folder.join("Kconfig").is_file();
        let (Some(version), true) = (version, um) else {
            return Err(Error::refused(format!(
                "{shown} is no Linux kernel source: Makefile with VERSION, Kconfig and arch/um/Kconfig are expected"
            )));
        };
        check_path(
            &folder,
            "the kernel source lies in",
            "move it, or reach it through a path without (a bind mount)",
        )?;
        Ok(Self { folder, version })
    }

    /// Whether quell's tests cover kernels as old as this one.
    pub(crate) fn is_old(&self) -> bool {
        Version::new(&self.version) < Version::new(OLDEST)
    }

    /// Checks that nothing was built in the tree: the kernel's makefiles refuse to build elsewhere from such a tree.
    ///
    /// # Errors
    ///
    /// Something was built in it.
    pub(crate) fn check_clean(&self) -> Result<()> {
        let built = [".config", "include/config", "arch/um/include/generated"]
            .into_iter()
            .find(|left| self.folder.join(left).exists());
        let Some(left) = built else {
            return Ok(());
        };
        let shown = self.folder.display();
        Err(Error::refused(Reason::with_fix(
            format!(
                "something was built inside of the kernel source {shown} ({left} is there), and from such a tree the kernel's \
                 makefiles build nowhere else"
            ),
            format!(
                "make -C {shown} ARCH=um mrproper (this removes .config and all that was built); or, to keep it, give quell a \
                 second tree: git -C {shown} worktree add ../quell-tree"
            ),
        )))
    }

    /// Names, sizes and modification times of all files, so that a change is noticed.
    ///
    /// # Errors
    ///
    /// A folder cannot be read; `stop` is set.
    pub(crate) fn fingerprint(&self, stop: &AtomicBool) -> Result<String> {
        let mut hash = Sha256::new();
        let mut left = vec![self.folder.clone()];
        while let Some(folder) = left.pop() {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let read = Error::at("read", &folder);
            let entries: std::io::Result<Vec<_>> =
                fs::read_dir(&folder).and_then(Iterator::collect);
            let mut entries = entries.map_err(read)?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let path = entry.path();
                if entry.file_name() == ".git" {
                    continue;
                }
                let metadata = entry.metadata().map_err(Error::at("read", &path))?;
                if metadata.is_dir() {
                    left.push(path);
                    continue;
                }
                let name = path.strip_prefix(&self.folder).unwrap_or(&path);
                hash.update(name.as_os_str().as_encoded_bytes());
                hash.update([0]);
                for number in [
                    metadata.size() as i64,
                    metadata.mtime(),
                    metadata.mtime_nsec(),
                    i64::from(metadata.mode()),
                ] {
                    hash.update(number.to_le_bytes());
                }
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

/// Checks a path: the kernel's makefiles work in no path with spaces or colons.
pub(crate) fn check_path(path: &Path, where_: &str, fix: &str) -> Result<()> {
    let shown = path.display().to_string();
    if shown.contains([' ', '\t', '\n', ':', '\'', '"', '#', '$', '%', '\\']) {
        return Err(Error::refused(Reason::with_fix(
            format!(
                "{where_} {shown}, and the kernel's makefiles work in no path with spaces, colons or the like"
            ),
            fix,
        )));
    }
    Ok(())
}

/// The version that the Makefile of a kernel states at its top.
fn version(makefile: &str) -> Option<String> {
    let value = |name: &str| {
        makefile.lines().take(20).find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let [version, patchlevel] = ["VERSION", "PATCHLEVEL"].map(value);
    let (version, patchlevel) = (version?, patchlevel?);
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !number(&version) || !number(&patchlevel) {
        return None;
    }
    let sublevel = value("SUBLEVEL").filter(|text| number(text));
    let sublevel = sublevel.map_or_else(String::new, |sublevel| format!(".{sublevel}"));
    let extra = value("EXTRAVERSION").unwrap_or_default();
    Some(format!("{version}.{patchlevel}{sublevel}{extra}"))
}
