//! Reads what lies in a result: its texts, which have bounds, [`columns`] of its series, and its [`captured`] packets.
//!
//! A result may be somebody else's, and a file of no content as long as its file system allows.

pub mod captured;
pub mod columns;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Longest text of a result, in bytes: more than a thousand times those of a large scenario.
pub const LONGEST: u64 = 64 << 20;

/// A file of a result that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {why}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

impl ReadError {
    fn of<E: ToString>(path: &Path) -> impl Fn(E) -> Self {
        move |why| Self {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

/// The text of a plain file of at most `most` bytes. Nothing is waited for.
///
/// # Errors
///
/// There is none, it is no plain file, longer, or no text.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let too_large = || {
        let most = most >> 20;
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {most} MiB"),
        )
    };
    if found.len() > most {
        return Err(too_large());
    }
    let mut text = String::new();
    let length = file.take(most + 1).read_to_string(&mut text)?;
    if length as u64 > most {
        return Err(too_large());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_plain_file_of_some_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(text(&path, 3).unwrap(), "abc");
        assert!(text(&path, 2).is_err());
        // Of no content, but longer than memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = text(&path, LONGEST).unwrap_err().to_string();
        assert!(error.contains("longer than 64 MiB"), "{error}");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        for path in [&pipe, folder.path(), Path::new("/dev/zero")] {
            assert!(text(path, LONGEST).is_err(), "{}", path.display());
        }
    }
}
