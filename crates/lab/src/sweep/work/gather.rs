//! Cells on several threads, and what became of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use quell_scenario::World;

use super::{Ended, Sweep};
use crate::RunError;
use crate::at_once::start;
use crate::sweep::store::Put;

/// Between two looks at the clock and at the request to stop.
const LOOK: Duration = Duration::from_millis(20);

/// What became of the cells that ran.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) made: usize,
    pub(super) conflicts: Vec<PathBuf>,
    /// Places of cells without a result, each with the reason.
    pub(super) failed: Vec<(usize, String)>,
    /// Cells that ran.
    pub(super) taken: usize,
    /// Whether the time was over.
    pub(super) late: bool,
    /// The first error after which nothing can go on.
    pub(super) error: Option<RunError>,
}

impl Gathered {
    /// Whether others can go on.
    fn take(&mut self, ended: Ended) -> bool {
        match ended {
            Ended::Made(Put::Conflict(path)) => self.conflicts.push(path),
            Ended::Made(_) => self.made += 1,
            Ended::Failed(index, why) => self.failed.push((index, why)),
            Ended::Stopped => return true,
            Ended::Broken(error) => {
                self.error.get_or_insert(error);
                return false;
            }
        }
        self.taken += 1;
        true
    }
}

impl Sweep<'_> {
    fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Runs these cells, on as many threads as there can be, and listens until all have ended.
    pub(super) fn gather(&self, cells: &[usize], show: &mut dyn FnMut(usize)) -> Gathered {
        let threads = match self.plan.world {
            // One after the other, on this thread.
            World::Live => 0,
            World::Sim | World::Virtual => self.options.jobs.get().min(cells.len()),
        };
        // Whoever has no time at all runs no cell.
        let mut gathered = Gathered {
            late: self.is_late(),
            ..Gathered::default()
        };
        self.halt.store(gathered.late, Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, ended) = mpsc::channel();
            let next = &next;
            let work = move || {
                while !self.halt.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&index) = cells.get(number) else {
                        break;
                    };
                    // The caller listens until all have ended.
                    let _ = sender.send(self.carry_out(index, &self.halt));
                }
            };
            if start(scope, threads, work) == 0 {
                self.one_after_the_other(cells, &mut gathered, show);
            } else {
                self.listen(&ended, &mut gathered, show);
            }
        });
        gathered
    }

    fn one_after_the_other(
        &self,
        cells: &[usize],
        gathered: &mut Gathered,
        show: &mut dyn FnMut(usize),
    ) {
        for &index in cells {
            gathered.late |= self.is_late();
            if gathered.late || self.is_stopped() {
                break;
            }
            if !gathered.take(self.carry_out(index, self.options.stop)) {
                break;
            }
            show(gathered.taken);
        }
    }

    /// Takes what the threads send until the last of them has ended.
    fn listen(
        &self,
        ended: &mpsc::Receiver<Ended>,
        gathered: &mut Gathered,
        show: &mut dyn FnMut(usize),
    ) {
        loop {
            let late = self.is_late();
            if late || self.is_stopped() {
                gathered.late |= late && !self.halt.load(Ordering::Relaxed);
                self.halt.store(true, Ordering::Relaxed);
            }
            match ended.recv_timeout(LOOK) {
                Ok(ended) => {
                    if !gathered.take(ended) {
                        self.halt.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            show(gathered.taken);
        }
    }
}
