//! A hidden folder in which a kernel is put together, beside the finished ones.
//!
//! Whoever works in it holds a lock on a file inside, and so do the programs that it starts. It is removed when dropped. A
//! folder that a killed process left is not locked, and the next process that makes one removes it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::{Error, Result};

/// How the names begin.
const PREFIX: &str = ".new-";

/// The folder.
#[derive(Debug)]
pub(crate) struct Work {
    folder: PathBuf,
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
        for entry in fs::read_dir(store).map_err(Error::at("read", store))? {
            let entry = entry.map_err(Error::at("read", store))?;
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                remove_abandoned(&entry.path())?;
            }
        }
        let folder = store.join(format!("{PREFIX}{purpose}"));
        if folder.exists() {
            return Ok(None);
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(Error::at("make", &folder))?;
        let path = folder.join("lock");
        let lock = File::create_new(&path).map_err(Error::at("write", &path))?;
        lock.lock().map_err(Error::at("lock", &path))?;
        // Children inherit it: what they do after this process was killed keeps the folder.
        fcntl_setfd(lock.as_fd(), FdFlags::empty())
            .map_err(|errno| Error::at("lock", &path)(errno.into()))?;
        Ok(Some(Self {
            folder,
            _lock: lock,
        }))
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path inside.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Not while another process looks for what is abandoned. What cannot be removed now is removed as abandoned later.
        let gate = self.folder.parent().map(gate);
        let _ = fs::remove_dir_all(&self.folder);
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

fn remove_abandoned(folder: &Path) -> Result<()> {
    let held = match File::open(folder.join("lock")) {
        Ok(lock) => matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    };
    if held {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(Error::at("remove", folder))
}
