//! SHA-256 of files, such as a kernel's image, and hashes as text.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use sha2::{Digest as _, Sha256};

/// The hash of everything in the file, in hexadecimal. Reads it from its start, and leaves it there.
pub fn of(mut file: &File) -> io::Result<String> {
    file.rewind()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    file.rewind()?;
    Ok(hex(&hash.finalize()))
}

/// Digits of a hash.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
