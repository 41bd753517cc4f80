//! A hidden folder in which a kernel is put together, beside the finished ones.
//!
//! Whoever works in it holds a lock on a file inside, and so do the programs that it starts. It is removed when dropped, below its
//! descriptor ([`Held`]). A folder that a killed process of the same user left is not locked, and the next process that makes one
//! removes it.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, TryLockError};
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::geteuid;

use crate::held::{Held, Own};
use crate::{Error, Reason, Result};

/// How the names begin.
const PREFIX: &str = ".new-";
/// The file that is locked.
const LOCK: &str = "lock";

/// The folder.
#[derive(Debug)]
pub(crate) struct Work {
    own: Own,
    _lock: File,
}

impl Work {
    /// Makes the folder for `purpose` in `store`, which is made where it does not exist. While another process works for the same
    /// purpose, this waits, after a call of `waiting`.
    ///
    /// # Errors
    ///
    /// The store cannot be written; `stop` is set.
    pub(crate) fn new(
        store: &Path,
        purpose: &str,
        stop: &AtomicBool,
        waiting: impl FnOnce(),
    ) -> Result<Self> {
        make_store(store).map_err(Error::at("make", store))?;
        let mut waiting = Some(waiting);
        loop {
            if let Some(work) = Self::attempt(store, purpose)? {
                return Ok(work);
            }
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// `None` if another process has it.
    fn attempt(store: &Path, purpose: &str) -> Result<Option<Self>> {
        // Until the return: between making a folder and locking it nobody may take it for abandoned.
        let _gate = gate(store)?;
        let around = Held::open(store).map_err(Error::at("read", store))?;
        for name in around.names().map_err(Error::at("read", store))? {
            if name.to_string_lossy().starts_with(PREFIX) {
                remove_abandoned(&around, &name)?;
            }
        }
        let name = OsString::from(format!("{PREFIX}{purpose}"));
        if let Ok(other) = around.inside(&name) {
            return belongs_to_us(&other).map(|()| None);
        }
        let folder = store.join(&name);
        let own = Own::make(around, &name, 0o700).map_err(Error::at("make", &folder))?;
        let path = folder.join(LOCK);
        let lock = own
            .folder()
            .file(LOCK, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL);
        let lock = lock.map_err(Error::at("write", &path))?;
        lock.lock().map_err(Error::at("lock", &path))?;
        // Children inherit it: what they do after this process was killed keeps the folder.
        fcntl_setfd(lock.as_fd(), FdFlags::empty())
            .map_err(|errno| Error::at("lock", &path)(errno.into()))?;
        Ok(Some(Self { own, _lock: lock }))
    }

    /// The folder itself, by its name: for programs that work in it.
    pub(crate) fn folder(&self) -> &Path {
        self.own.folder().named()
    }

    /// The open folder, for what this process does in it.
    pub(crate) fn held(&self) -> &Held {
        self.own.folder()
    }

    /// A path inside.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Not while another process looks for what is abandoned. What cannot be removed now is removed as abandoned later.
        let gate = self.folder().parent().map(gate);
        self.own.remove();
        drop(gate);
    }
}

/// Makes the store where it does not exist; nobody else may write in what is made.
fn make_store(store: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(store)
}

/// Waits until no other process makes or removes folders of this kind.
fn gate(store: &Path) -> Result<File> {
    let path = store.join(".lock");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(Error::at("write", &path))?;
    file.lock().map_err(Error::at("lock", &path))?;
    Ok(file)
}

/// One of another user stays: its lock may be anything.
fn remove_abandoned(around: &Held, name: &OsStr) -> Result<()> {
    let Ok(folder) = around.inside(name) else {
        return Ok(());
    };
    let is_held = match folder.file(LOCK, OFlags::RDONLY) {
        Ok(lock) => matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    };
    if is_held || belongs_to_us(&folder).is_err() {
        return Ok(());
    }
    let removed = folder.empty(None).and_then(|()| around.remove_empty(name));
    removed.map_err(Error::at("remove", folder.named()))
}

/// Waiting for another user's folder to go could take forever.
fn belongs_to_us(folder: &Held) -> Result<()> {
    let owner = folder
        .owner()
        .map_err(Error::at("look at", folder.named()))?;
    if owner == geteuid().as_raw() {
        return Ok(());
    }
    let shown = folder.named().display();
    Err(Error::refused(Reason::with_fix(
        format!(
            "{shown} belongs to user {owner}, who builds or adds the same kernel, or has left it"
        ),
        format!("wait until that has ended, or remove {shown}"),
    )))
}
