//! Makes files, and the names that lead to them, survive a loss of power.
//!
//! A file that was synced is found again only if the folder that names it was synced too (fsync(2)), and a rename only once the folder
//! in which it happened was.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Every file in `folder` and below, and every folder, is on the disk.
///
/// # Errors
///
/// One of them cannot be read, or the disk has lost something of it.
pub fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_names(folder)
}

/// The names in `folder` are on the disk.
///
/// # Errors
///
/// It cannot be read, or the disk has lost something of it.
pub fn sync_names(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems have nothing of the kind, and say so.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}
