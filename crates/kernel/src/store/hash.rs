//! SHA-256 of a kernel's image.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use sha2::{Digest as _, Sha256};

use crate::source::tree::hex;

/// Of everything in the file, in hexadecimal. It is read from its start, and stands there again afterwards.
pub(crate) fn of(mut file: &File) -> io::Result<String> {
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
