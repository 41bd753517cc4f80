//! Writes the blocks of a trace to disk.
//!
//! The simulator may wait for the disk, so it writes the blocks itself. So does the link of the virtual world, whose clock stops
//! while it writes; another thread would move that clock (a new process reads it, and each reading takes 256 ns). The link of the live
//! world must not wait, so a thread writes, and blocks reach it in chunks through a bounded channel. If the disk falls behind by more than
//! the channel holds, a chunk is discarded, and the number of its packets becomes a warning of the run. A disk error is stored until
//! [`Output::failure`] or [`Output::finish`] returns it; nothing is written after it.

use std::fmt::Debug;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};

use crate::Error;

/// Size of a chunk in bytes.
const CHUNK: usize = 64 << 10;
/// Chunks in the channel at most: 16 MiB.
const CHUNKS: usize = 256;

/// The file of a trace, new and empty.
#[derive(Debug)]
pub struct PacketFile {
    file: File,
    path: PathBuf,
}

impl PacketFile {
    /// Creates a new file.
    ///
    /// # Errors
    ///
    /// The file exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            file: File::create_new(path).map_err(Error::writing(path))?,
            path: path.to_owned(),
        })
    }
}

/// Accepts the blocks of a trace, one packet each.
pub(crate) trait Output: Debug + Send {
    /// Writes the block of one packet.
    fn packet(&mut self, block: &[u8]);
    /// The error since the last call, if any.
    fn failure(&mut self) -> Option<Error>;
    /// Flushes everything to disk and returns the number of missing packets.
    fn finish(&mut self) -> Result<u64, Error>;
}

/// An output that waits for the disk.
#[derive(Debug)]
pub(crate) struct Direct {
    file: BufWriter<File>,
    path: PathBuf,
    error: Option<Error>,
    failed: Arc<AtomicBool>,
}

impl Direct {
    /// Writes `preamble` first. `failed` is set when the disk fails.
    pub(crate) fn new(file: PacketFile, preamble: &[u8], failed: Arc<AtomicBool>) -> Self {
        let mut direct = Self {
            file: BufWriter::with_capacity(CHUNK, file.file),
            path: file.path,
            error: None,
            failed,
        };
        direct.packet(preamble);
        direct
    }
}

impl Output for Direct {
    fn packet(&mut self, block: &[u8]) {
        if !self.failed.load(Ordering::Relaxed)
            && let Err(error) = self.file.write_all(block)
        {
            self.failed.store(true, Ordering::Relaxed);
            self.error = Some(Error::writing(&self.path)(error));
        }
    }
    fn failure(&mut self) -> Option<Error> {
        self.error.take()
    }
    fn finish(&mut self) -> Result<u64, Error> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let flushed = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(Error::writing(&self.path))?;
        Ok(0)
    }
}

/// An output that never waits for the disk.
#[derive(Debug)]
pub(crate) struct Threaded {
    chunk: Vec<u8>,
    /// Packets in the chunk.
    packets: u64,
    lost: u64,
    full: Option<SyncSender<Vec<u8>>>,
    /// Empty chunks for reuse.
    empty: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Threaded {
    /// Writes `preamble` first. `failed` is set when the disk fails.
    pub(crate) fn start(
        file: PacketFile,
        preamble: Vec<u8>,
        failed: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let PacketFile { mut file, path } = file;
        // An empty chunk means the end.
        let write = move |chunk: &[u8]| {
            let written = match chunk {
                [] => file.sync_all(),
                chunk => file.write_all(chunk),
            };
            written.map_err(Error::writing(&path))
        };
        Self::with(write, preamble, failed)
    }

    fn with(
        mut write: impl FnMut(&[u8]) -> Result<(), Error> + Send + 'static,
        preamble: Vec<u8>,
        failed: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let (full, full_out) = sync_channel::<Vec<u8>>(CHUNKS);
        let (empty, empty_out) = sync_channel(CHUNKS);
        let run = move || {
            let write_all = || {
                keep_only(CapabilitySet::empty()).map_err(Error::Rights)?;
                write(&preamble)?;
                for mut chunk in full_out {
                    write(&chunk)?;
                    chunk.clear();
                    // If there are enough empty chunks, this one is dropped.
                    let _ = empty.try_send(chunk);
                }
                write(&[])
            };
            let result = write_all();
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        let thread = thread::Builder::new()
            .name("quell-packets".to_owned())
            .spawn(run)
            .map_err(Error::Thread)?;
        Ok(Self {
            chunk: Vec::with_capacity(CHUNK),
            packets: 0,
            lost: 0,
            full: Some(full),
            empty: empty_out,
            thread: Some(thread),
        })
    }

    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        let packets = std::mem::take(&mut self.packets);
        let Some(full) = &self.full else { return };
        if let Err(error) = full.try_send(chunk) {
            self.lost += packets;
            let (TrySendError::Full(mut chunk) | TrySendError::Disconnected(mut chunk)) = error;
            chunk.clear();
            self.chunk = chunk;
        }
    }
}

impl Output for Threaded {
    fn packet(&mut self, block: &[u8]) {
        if self.chunk.len() + block.len() > CHUNK {
            self.hand_over();
        }
        self.chunk.extend_from_slice(block);
        self.packets += 1;
    }
    fn failure(&mut self) -> Option<Error> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        match thread.join() {
            Ok(result) => result.err(),
            Err(_) => Some(Error::Panicked),
        }
    }
    fn finish(&mut self) -> Result<u64, Error> {
        if let Some(full) = self.full.take() {
            // At the end waiting is allowed. If the thread has ended, the reason follows below.
            let _ = full.send(std::mem::take(&mut self.chunk));
        }
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            result.map_err(|_| Error::Panicked)??;
        }
        Ok(self.lost)
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            // No caller is left to receive the error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, mpsc};

    #[test]
    fn a_slow_disk_loses_whole_packets_and_counts_them() {
        let (go, wait) = mpsc::channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = written.clone();
        let write = move |chunk: &[u8]| {
            // Blocks until the other end is dropped.
            let _ = wait.recv();
            sink.lock().unwrap().extend_from_slice(chunk);
            Ok(())
        };
        let mut output = Threaded::with(write, vec![0; 4], Arc::default()).unwrap();
        let block = [7; 4 << 10];
        let total = 3 * (CHUNK * CHUNKS / block.len()) as u64;
        for _ in 0..total {
            output.packet(&block);
        }
        assert!(output.failure().is_none());
        drop(go);
        let lost = output.finish().unwrap();
        let kept = (written.lock().unwrap().len() - 4) / block.len();
        assert!(lost > 0 && lost + kept as u64 == total, "{lost} {kept}");
    }

    #[test]
    fn a_disk_that_fails_is_told_once_and_ends_the_thread() {
        let failed = Arc::new(AtomicBool::new(false));
        let write = |_: &[u8]| Err(Error::writing(Path::new("file"))("full"));
        let mut output = Threaded::with(write, vec![0; 4], failed.clone()).unwrap();
        output.packet(&[1]);
        let error = output.finish().unwrap_err();
        assert_eq!(error.to_string(), "cannot write file: full");
        assert!(failed.load(Ordering::Relaxed));
    }

    #[test]
    fn a_full_disk_names_the_file() {
        // Every write to this device fails with ENOSPC (full(4)).
        let path = Path::new("/dev/full");
        let open = || File::options().write(true).open(path).unwrap();
        let file = || PacketFile {
            file: open(),
            path: path.to_owned(),
        };
        let mut direct = Direct::new(file(), &[0; 4], Arc::default());
        let error = direct.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full: "), "{error}");
        let mut threaded = Threaded::start(file(), vec![0; 4], Arc::default()).unwrap();
        let error = threaded.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full: "), "{error}");
    }
}
