//! Results on disk: one new folder per run, never over an old one.
//!
//! | file | holds |
//! | --- | --- |
//! | `scenario.toml` | the resolved scenario, every default explicit |
//! | `run.json` | [`facts`]: version, build, host, kernel, world, seed, times |
//! | `summary.json` | [`quell_measure::Summary`] |
//! | `histograms.json` | [`quell_measure::Histograms`] |
//! | `packets.pcapng` | [`packets`]: every packet, with `--packets` |
//! | any `.parquet` of a sweep | [`wide`]: columns that are known only then |
//! | `queues.parquet`, `flows.parquet` | [`series`]: a row per queue or flow and interval |

#![forbid(unsafe_code)]

pub mod claim;
pub mod confidence;
mod error;
pub mod facts;
pub mod folder;
pub mod limits;
pub mod packets;
pub mod series;
mod summary_schema;
pub mod wide;

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde::Serialize;

pub use error::Error;
pub use summary_schema::summary_schema;

/// Writes `value` as indented JSON, and knows that it is on the disk. The text is never in memory as a whole.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Writes `text`, and knows that it is on the disk.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write(path, |file| file.write_all(text.as_bytes()))
}

fn write(
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
