//! Whoever watches a link while the program runs: a page.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use quell_measure::{Histograms, QueueRow, Summary};
use quell_scenario::Scenario;
use quell_units::Time;

use crate::error::{AnyError, Doing as _, Error, Result};
use crate::remote::Remote;

/// News that may wait for a watcher; those of rows are lost beyond it, and counted.
const ROOM: usize = 64;

/// What a watcher hears.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Rows of the series, up to the time `now` of the link.
    Rows {
        /// Time since the link began.
        now: Time,
        /// What happened.
        rows: Vec<QueueRow>,
        /// How many messages of rows were lost so far.
        lost: u64,
    },
    /// The link has changed; this scenario has all of its changes.
    Changed(Box<Scenario>),
    /// The program has ended; nothing follows.
    Finished {
        /// `summary.json`.
        summary: String,
        /// `histograms.json`.
        histograms: String,
    },
}

/// A link that can be watched.
#[derive(Debug)]
pub struct Watched {
    /// To change it.
    pub remote: Remote,
    /// What happens; closed at the end.
    pub news: Receiver<News>,
}

/// What begins a watcher.
type Begin = Box<dyn FnOnce(Watched) -> Result<JoinHandle<()>, AnyError> + Send>;

/// Begins to watch once the link stands, before the program starts, in a process that has no right any more and in the host's network.
/// The thread that it returns ends soon after the news do; it is waited for.
pub struct Watcher(pub Begin);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// A watcher that watches.
#[derive(Debug)]
pub(crate) struct Watching {
    news: SyncSender<News>,
    thread: JoinHandle<()>,
    lost: u64,
}

impl Watching {
    pub(crate) fn begin(watcher: Watcher, remote: Remote) -> Result<Self> {
        let (news, heard) = sync_channel(ROOM);
        let thread = (watcher.0)(Watched {
            remote,
            news: heard,
        });
        Ok(Self {
            news,
            thread: thread.map_err(Error::Watcher)?,
            lost: 0,
        })
    }

    /// Nobody is waited for.
    pub(crate) fn rows(&mut self, now: Time, rows: Vec<QueueRow>) {
        let lost = self.lost;
        let sent = self.news.try_send(News::Rows { now, rows, lost });
        if let Err(TrySendError::Full(_)) = sent {
            self.lost += 1;
        }
    }

    pub(crate) fn changed(&self, scenario: Scenario) {
        // A watcher that has ended needs no news.
        let _ = self.news.send(News::Changed(Box::new(scenario)));
    }

    /// Waits until it has heard the end and ended.
    pub(crate) fn finish(self, summary: &Summary, histograms: &Histograms) -> Result<()> {
        let failed = |error: serde_json::Error| std::io::Error::from(error);
        let finished = News::Finished {
            summary: serde_json::to_string_pretty(summary)
                .map_err(failed)
                .doing("write a summary")?,
            histograms: serde_json::to_string_pretty(histograms)
                .map_err(failed)
                .doing("write histograms")?,
        };
        let _ = self.news.send(finished);
        drop(self.news);
        // It has said itself what went wrong.
        let _ = self.thread.join();
        Ok(())
    }
}
