//! Results on disk: one new folder per run, never over an old one.
//!
//! | file | holds |
//! | --- | --- |
//! | `scenario.toml` | the resolved scenario, every default explicit |
//! | `run.json` | [`facts`]: version, build, host, kernel, world, seed, times |
//! | `summary.json` | [`quell_measure::Summary`] |
//! | `histograms.json` | [`quell_measure::Histograms`] |
//! | `packets.pcapng` | [`packets`]: every packet, with `--packets` |
//! | any `.parquet` of a sweep | [`parquet_table`]: columns that are known only then |
//! | `queues.parquet`, `flows.parquet` | [`series`]: a row per queue or flow and interval |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod bottleneck;
pub mod confidence;
mod error;
pub mod facts;
pub mod folder;
pub mod folder_lock;

pub mod packets;
pub mod parquet_table;
pub mod plot;
pub mod present;
pub mod program;
pub mod read;
pub mod report;
pub mod series;
pub mod steady;
pub mod summary;
mod summary_schema;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use quell_kernel::held::{Held, parent};
use serde::Serialize;

pub use error::Error;
pub use quell_kernel::held;
pub use summary_schema::summary_schema;

/// Writes `value` as indented JSON, and knows that it is on the disk. The text is never in memory as a whole.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_with(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Writes `text`, and knows that it is on the disk.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// The same for bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_with(path, |file| file.write_all(bytes))
}

/// Makes the file at `path` anew, whole or not at all: `write` fills a file of another name, which then takes its place.
///
/// # Errors
///
/// It cannot be written; nothing half-written stays.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let mut hidden = OsString::from(".");
    hidden.push(path.file_name().unwrap_or_default());
    hidden.push(format!(".{}.unfinished", std::process::id()));
    let name = path.file_name().unwrap_or_default();
    // Whoever may rename the folder around it sends neither the new file nor its name elsewhere.
    let around = Held::open(parent(path)).map_err(Error::writing(path))?;
    let placed = write(&around.path().join(&hidden)).and_then(|()| {
        let renamed = around.rename(&hidden, &around, name);
        renamed.map_err(Error::writing(path))
    });
    placed.map_err(|error| {
        // What cannot be removed was not made.
        let _ = around.remove_file(&hidden);
        match error {
            Error::Write { source, .. } => Error::writing(path)(source),
            other => other,
        }
    })
}

/// Fills a new file, and knows that it is on the disk.
///
/// # Errors
///
/// It exists, or cannot be written.
pub fn write_with(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let write = || {
        let mut file = BufWriter::new(File::create_new(path)?);
        content(&mut file)?;
        file.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    };
    write().map_err(Error::writing(path))
}
