//! Tests in real time run one at a time.
//!
//! An advisory lock (flock(2)) on one file of the machine: test programs that run side by side, threads of one of them, and several
//! checkouts wait for each other. The kernel releases it with the process that holds it, however that ends.

use std::fs::{File, Permissions, TryLockError};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The right to use this machine's processors in real time, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    // Closing it releases the lock.
    _file: File,
}

impl Turn {
    /// Waits until no other test of this machine has the turn.
    ///
    /// Takes no part in the lock of another test that it calls: one test takes one turn.
    ///
    /// # Panics
    ///
    /// The temporary folder can neither be read nor written.
    #[must_use]
    pub fn take() -> Self {
        let path = std::env::temp_dir().join("quell-live-tests.lock");
        Self::of(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The same, by the lock of the file `path`.
    ///
    /// # Errors
    ///
    /// The file can neither be opened nor made.
    pub fn of(path: &Path) -> Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self { _file: file })
    }

    /// The same, or `None` where somebody else has the turn.
    ///
    /// # Errors
    ///
    /// The file can neither be opened nor made.
    pub fn try_of(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Reading is enough to lock, so that users share a file that one of them made.
fn open(path: &Path) -> Result<File> {
    loop {
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        match File::create_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => {
                let file = made?;
                // Whatever this user's umask is.
                file.set_permissions(Permissions::from_mode(0o644))?;
                return Ok(file);
            }
        }
    }
}
