//! What the calling thread does while the program runs: it passes signals on, judges who limits, writes rows, and waits for the end of it all.

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use quell_link::monotonic;
use quell_measure::Direction;
use quell_results::packets::LivePackets;
use quell_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::attach::Detour;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::link::{LinkThread, Linked};
use crate::program::{Ended, FAILED};
use crate::relay::{Bin, Counts, Relay};
use crate::remote::Remote;
use crate::results::Results;
use crate::running::Running;
use crate::verdict::{Judge, Limits};
use crate::watcher::Watching;

/// Between two looks at what the threads have measured.
const TURN: i64 = 50_000_000;
/// What the program has sent may take so long to leave after its end.
const LINGER: Duration = Duration::from_secs(5);

/// The calling thread, while the program runs.
pub(super) struct MainLoop {
    pub(super) link: LinkThread,
    /// Where the link is in front of what runs already.
    pub(super) detour: Option<Detour>,
    /// That this is gone, in words.
    pub(super) gone: Option<String>,
    pub(super) remote: Remote,
    /// Changes that the judge and a watcher know of.
    pub(super) changes: usize,
    pub(super) watching: Option<Watching>,
    /// Packets lost outside of the queues that the judge knows of.
    pub(super) lost: [u64; 2],
    pub(super) epoch: Time,
    pub(super) judge: Judge,
    pub(super) bins: Receiver<Bin>,
    pub(super) results: Option<Results>,
    /// Until they cannot be written any more.
    pub(super) packets: Option<LivePackets>,
    pub(super) signals: Signals,
}

/// What is left of it at the end.
pub(super) struct End {
    pub(super) linked: Linked,
    pub(super) limits: Limits,
    pub(super) gone: Option<String>,
    pub(super) results: Option<Results>,
    pub(super) watching: Option<Watching>,
}

impl MainLoop {
    /// Until the program, its descendants and what they have sent are gone. How many descendants there were to wait for.
    pub(super) fn look_after(
        &mut self,
        running: Option<&Running>,
        config: &Config,
        relay: Option<&Relay>,
        far: Option<&Running>,
    ) -> Result<(Ended, usize)> {
        let descriptor = running.map(Running::descriptor);
        let ended = loop {
            if let Some(attachment) = &config.attachment {
                self.gone = self.gone.take().or_else(|| attachment.gone());
            }
            let ended = match running {
                Some(running) => running.ended()?,
                None => self.gone.is_some().then_some(Ended::Code(FAILED)),
            };
            if let Some(ended) = ended {
                break ended;
            }
            let ready = descriptor.iter();
            let mut ready: Vec<PollFd<'_>> = ready
                .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
                .collect();
            let patience = Timespec {
                tv_sec: 0,
                tv_nsec: TURN,
            };
            // A signal interrupts it, too.
            let _ = poll(&mut ready, Some(&patience));
            let mut signals = self.signals.pending();
            match running {
                Some(running) => signals.for_each(|signal| running.signal(signal)),
                None if signals.next().is_some() => break Ended::Code(0),
                None => {}
            }
            self.take_rows()?;
        };
        let spare = far.map(Running::id);
        let descendants = running.map_or(0, |running| {
            running.end_descendants(config.wait, spare, || {
                let _ = self.take_rows();
            })
        });
        self.detour.iter_mut().for_each(Detour::end);
        self.pass_on_the_rest(relay);
        if let Some(far) = far {
            far.signal(SIGTERM);
            far.end_descendants(Duration::ZERO, None, || {});
        }
        Ok((ended, descendants))
    }

    /// Waits until all that the program has sent is through the link and passed on, for at most [`LINGER`]. What it sent last may be in a
    /// socket that nobody has looked at since: the link must have had a full turn, and then the relay.
    fn pass_on_the_rest(&self, relay: Option<&Relay>) {
        let began = Instant::now();
        self.link.hurry();
        let wait = |is_there: &dyn Fn() -> bool| {
            while !is_there() {
                if began.elapsed() >= LINGER || self.link.has_failed() {
                    return false;
                }
                thread::sleep(Duration::from_millis(1));
            }
            true
        };
        loop {
            let slices = self.link.slices();
            let through = || self.link.slices() >= slices + 2 && !self.link.holds_packets();
            let (true, Some(relay)) = (wait(&through), relay) else {
                return;
            };
            let rounds = Counts::get(&relay.counts.rounds);
            let looked = || {
                relay.wake();
                Counts::get(&relay.counts.rounds) >= rounds + 2
            };
            if !wait(&looked) || Counts::get(&relay.counts.unfinished) == 0 {
                return;
            }
            // The rest of it may have to come through the link first.
        }
    }

    fn take_rows(&mut self) -> Result<()> {
        let changes = self.remote.changes();
        if changes != std::mem::replace(&mut self.changes, changes) {
            let plan = self.remote.plan();
            self.judge.follow(&plan.changes(), plan.later());
            if let Some(watching) = &self.watching {
                watching.changed(plan.scenario().clone());
            }
        }
        let rows = self.link.rows();
        for row in &rows {
            self.judge.row(row);
        }
        for bin in self.bins.try_iter() {
            self.judge.bin(bin);
        }
        let now = monotonic() - self.epoch;
        for way in Direction::BOTH {
            let lost = self.link.lost(way);
            let before = std::mem::replace(&mut self.lost[way.index()], lost);
            self.judge.lost(way, now, lost - before);
        }
        self.judge.advance();
        if self.judge.has_data() {
            self.remote.data_flows();
        }
        if let Some(results) = &mut self.results {
            if self.packets.as_ref().is_some_and(LivePackets::has_failed) {
                self.packets = None;
                results.give_packets_up();
            }
            results.rows(&rows);
        }
        if let Some(watching) = &mut self.watching
            && !rows.is_empty()
        {
            watching.rows(monotonic() - self.epoch, rows);
        }
        if self.link.has_failed() {
            return Err(Error::Gone("the link"));
        }
        Ok(())
    }

    /// Ends the link.
    pub(super) fn finish(mut self) -> Result<End> {
        let rows = self.link.rows();
        let (linked, last) = self.link.finish()?;
        for row in rows.iter().chain(&last) {
            self.judge.row(row);
        }
        for bin in self.bins.try_iter() {
            self.judge.bin(bin);
        }
        if let Some(results) = &mut self.results {
            results.rows(&rows);
            results.rows(&last);
        }
        Ok(End {
            linked,
            limits: self.judge.finish(),
            gone: self.gone,
            results: self.results,
            watching: self.watching,
        })
    }
}
