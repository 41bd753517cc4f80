//! The build tree of a developer's source: kept, so that the next build compiles what has changed since.
//!
//! One folder per source folder and configuration, `.trees/NAME-KEY` in the store:
//!
//! | file | is |
//! | --- | --- |
//! | `build` | kbuild's output (`O=`) |
//! | `Makefile` | what calls the source's own makefiles as quell does, for a build by hand |
//! | `Kconfig`, `fragment.config` | what the configuration is made of |
//! | `source` | the path of the source; its time is that of the last build |
//! | `lock` | held while somebody builds |
//!
//! The [`MOST`] trees that were used last stay, except those whose source is gone.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use sha2::{Digest as _, Sha256};

use crate::hash::hex;
use crate::held::Held;
use crate::source::plain;
use crate::{Error, Result};

/// The most build trees that are kept; one takes some 100 MB.
pub const MOST: usize = 4;

/// In the store.
const FOLDER: &str = ".trees";

/// A build tree, held by this process.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    /// The folder around it.
    all: Held,
    _lock: File,
}

/// Where the build tree of `source` with the configuration `identity` is, or would be.
pub(super) fn place(store: &Path, source: &Path, identity: &str) -> PathBuf {
    let mut hash = Sha256::new();
    for part in [source.as_os_str().as_encoded_bytes(), identity.as_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let name = plain(&source.file_name().unwrap_or_default().to_string_lossy());
    let key = &hex(&hash.finalize())[..8];
    store.join(FOLDER).join(format!("{name}-{key}"))
}

impl Kept {
    /// Takes the tree at `folder`, which is made where there is none; with `clean` everything in it is removed first. While another
    /// process has it this waits, after a call of `waiting`. Surplus trees are removed.
    ///
    /// # Errors
    ///
    /// The store cannot be written; `stop` is set.
    pub(super) fn take(
        folder: PathBuf,
        source: &Path,
        clean: bool,
        stop: &AtomicBool,
        waiting: impl FnOnce(),
    ) -> Result<Self> {
        let mut waiting = Some(waiting);
        let kept = loop {
            if let Some(kept) = Self::attempt(&folder)? {
                break kept;
            }
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            thread::sleep(Duration::from_millis(200));
        };
        if clean {
            let own = kept.all.inside(folder.file_name().unwrap_or_default());
            let emptied = own.and_then(|own| own.empty(Some("lock")));
            emptied.map_err(Error::at("remove", &folder))?;
        }
        let path = folder.join("source");
        fs::write(&path, source.as_os_str().as_encoded_bytes())
            .map_err(Error::at("write", &path))?;
        kept.remove_old()?;
        Ok(kept)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `None` if another process has it.
    fn attempt(folder: &Path) -> Result<Option<Self>> {
        let all = folder.parent().unwrap_or(folder);
        fs::create_dir_all(all).map_err(Error::at("make", all))?;
        let _gate = gate(all)?;
        let around = Held::open(all).map_err(Error::at("read", all))?;
        let own = around.inside_or_made(folder.file_name().unwrap_or_default());
        let own = own.map_err(Error::at("make", folder))?;
        let path = folder.join("lock");
        let lock = own.file("lock", OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND);
        let lock = lock.map_err(Error::at("write", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::at("lock", &path)(error)),
        }
        // Children inherit it: what make does after this process was killed keeps others away.
        fcntl_setfd(lock.as_fd(), FdFlags::empty())
            .map_err(|errno| Error::at("lock", &path)(errno.into()))?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            all: around,
            _lock: lock,
        }))
    }

    /// Removes trees whose source is gone, and those used longest ago beyond [`MOST`].
    fn remove_old(&self) -> Result<()> {
        let all = self.folder.parent().unwrap_or(&self.folder);
        let _gate = gate(all)?;
        let mut others: Vec<(SystemTime, OsString, bool)> = Vec::new();
        for name in self.all.names().map_err(Error::at("read", all))? {
            let folder = all.join(&name);
            if folder == self.folder || self.all.inside(&name).is_err() {
                continue;
            }
            let note = folder.join("source");
            let used = fs::metadata(&note).and_then(|metadata| metadata.modified());
            let source = fs::read_to_string(&note).unwrap_or_default();
            others.push((
                used.unwrap_or(SystemTime::UNIX_EPOCH),
                name,
                Path::new(&source).is_dir(),
            ));
        }
        others.sort();
        let mut room = MOST - 1;
        for (_, name, has_source) in others.into_iter().rev() {
            if has_source && room > 0 {
                room -= 1;
                continue;
            }
            let shown = all.join(&name);
            let folder = self.all.inside(&name).map_err(Error::at("read", &shown))?;
            let lock = folder.file("lock", OFlags::RDONLY);
            if lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock))) {
                continue;
            }
            let removed = folder
                .empty(None)
                .and_then(|()| self.all.remove_empty(&name));
            removed.map_err(Error::at("remove", &shown))?;
        }
        Ok(())
    }
}

/// Waits until no other process takes or removes trees.
fn gate(all: &Path) -> Result<File> {
    let path = all.join(".lock");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(Error::at("write", &path))?;
    file.lock().map_err(Error::at("lock", &path))?;
    Ok(file)
}
