//! Tests in real time run one at a time.
//!
//! An advisory lock (flock(2)) on one file of the machine: test programs that run side by side, threads of one of them, and several
//! checkouts wait for each other. The kernel releases it with the process that holds it, however that ends.

use std::fmt::Display;
use std::fs::{File, Permissions, TryLockError};
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

/// The right to use this machine's processors in real time, alone or with others, until it is dropped.
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
        waiting(Self::of)
    }

    /// The right to run beside others that share it, and beside no test that has the turn: for tests that judge no rate and no delay.
    ///
    /// # Panics
    ///
    /// As [`Turn::take`].
    #[must_use]
    pub fn share() -> Self {
        waiting(Self::share_of)
    }

    /// The same as [`Turn::take`], by the lock of the file `path`.
    ///
    /// # Errors
    ///
    /// The file can neither be opened nor made.
    pub fn of(path: &Path) -> Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self { _file: file })
    }

    /// The same as [`Turn::share`], by the lock of the file `path`.
    ///
    /// # Errors
    ///
    /// The file can neither be opened nor made.
    pub fn share_of(path: &Path) -> Result<Self> {
        let file = open(path)?;
        file.lock_shared()?;
        Ok(Self { _file: file })
    }

    /// The same as [`Turn::of`], or `None` where somebody else has the turn or a share of it.
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

/// Waits for the lock of the machine. That it waits goes to the file that QUELL_WAITED names, `waiting TEST`, and then how long it did,
/// `MILLISECONDS TEST`, so that `make test` takes a test that waits for others neither for a slow one nor for one that hangs.
fn waiting(wait: fn(&Path) -> Result<Turn>) -> Turn {
    let path = std::env::temp_dir().join("quell-live-tests.lock");
    note_wait("waiting");
    let began = Instant::now();
    let turn = wait(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    note_wait(began.elapsed().as_millis());
    turn
}

fn note_wait(what: impl Display) {
    // The harness gives each test a thread of its name.
    let thread = thread::current();
    if let (Some(path), Some(test)) = (std::env::var_os("QUELL_WAITED"), thread.name()) {
        let file = File::options().append(true).create(true).open(path);
        // One write, so that lines of concurrent tests do not mix.
        file.and_then(|mut file| file.write_all(format!("{what} {test}\n").as_bytes()))
            .expect("QUELL_WAITED names a file that can be written");
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
