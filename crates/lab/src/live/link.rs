//! The link's thread: a real bottleneck in the middle namespace, with a recorder on each direction.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use quell_aqm::impair::Counts;
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::topology::Topology;
use quell_hosts::traffic::{Epoch, RunEnd, Sample};
use quell_link::{Link, LinkChange, LinkConfig, LinkReport, Port, Watching, WireValues};
use quell_measure::{Direction, LinkResults, QueueRow, Recorder};
use quell_results::packets::{LivePackets, Traced};
use quell_scenario::Side;
use quell_units::{Bytes, Time};
use serde_json::{Value, json};

use super::error::LiveError;
use super::plan::Plan;
use super::watch::grace;
use crate::options::LiveOptions;

/// The longest time between two looks at losses and rows.
const SLICE: Time = Time::from_millis(500);

/// The same where somebody watches.
const WATCHED_SLICE: Time = Time::from_millis(50);

/// Time between the decision to end early and the end, so that the hosts know of it before it comes.
const NOTICE: Time = Time::from_millis(20);

/// A link that runs. It ends at once if it is dropped before it was joined.
pub(super) struct LinkThread {
    thread: Option<JoinHandle<Result<Linked, LinkFailure>>>,
    asked: Arc<Asked>,
    /// A message when the end has been brought forward.
    heard: Receiver<()>,
    /// What is to change now.
    changes: Sender<Vec<LinkChange>>,
    /// When that happened.
    made: Receiver<Time>,
}

/// Why the link's thread ended before the run did.
#[derive(Debug, thiserror::Error)]
enum LinkFailure {
    #[error("no real-time priority {priority}: {source}")]
    Realtime { priority: u8, source: io::Error },
    #[error(transparent)]
    Link(#[from] quell_link::Error),
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("cannot give rights away: {0}")]
    Rights(#[from] quell_hosts::confine::Error),
    #[error("the run was given up")]
    GivenUp,
}

/// Requests to the link's thread.
#[derive(Debug, Default)]
struct Asked {
    /// To look what is asked. Set last, and reset before looking.
    to_look: AtomicBool,
    /// To end soon, with what was measured until then. Also set together with `to_give_up`.
    to_end: AtomicBool,
    /// To end at once, without results.
    to_give_up: AtomicBool,
}

/// What a link measured.
#[derive(Debug)]
pub(super) struct Linked {
    /// Of each link, forward and reverse.
    pub(super) results: Vec<LinkResults>,
    pub(super) report: LinkReport,
    /// Payload of each group of programs, forward and reverse.
    pub(super) passed: Vec<(usize, [u64; 2])>,
    /// Packet values in headers, by side of a link.
    pub(super) header_values: Vec<(Side, WireValues)>,
}

impl LinkThread {
    /// Starts the thread; returns when its ports are open.
    pub(super) fn start(
        plan: &Plan,
        topology: Arc<Topology>,
        epoch: Epoch,
        options: LiveOptions,
        packets: Option<LivePackets>,
        (rows, samples): (Sender<QueueRow>, Sender<Sample>),
        end: RunEnd,
    ) -> Result<Self, LiveError> {
        let config = plan.link(epoch)?;
        let recorders = plan.recorders();
        let asked = Arc::new(Asked::default());
        let (ready, is_ready) = mpsc::channel();
        let (hears, heard) = mpsc::channel();
        let (changes, to_change) = mpsc::channel();
        let (makes, made) = mpsc::channel();
        let carrier = Carrier {
            cuts: plan.cuts(),
            slice: match plan.is_watched() {
                true => WATCHED_SLICE,
                false => SLICE,
            },
            to_change,
            makes,
            notice: NOTICE + grace(&options),
            end,
            asked: asked.clone(),
            hears,
            rows,
            programs: plan.programs().collect(),
            sides: plan.scenario().sides().collect(),
            interval: plan.interval,
            samples,
        };
        let thread = thread::Builder::new()
            .name("quell-link".to_owned())
            .spawn(move || {
                let packets = packets.as_ref();
                let observers = recorders.into_iter();
                let observers = observers.map(|recorder| -> Box<dyn Watching> {
                    Box::new(Traced::new(recorder, packets))
                });
                let mut link = open(config, &topology, options, observers)?;
                if packets.is_some() {
                    link.announce(|observer, packet, bytes| observer.announced(packet, bytes));
                }
                carrier.carry(link, ready)
            })
            .map_err(|error| {
                LiveError::Failed(format!("cannot start the link's thread: {error}"))
            })?;
        let link = Self {
            thread: Some(thread),
            asked,
            heard,
            changes,
            made,
        };
        // The channel closes without a message when the link could not be opened.
        if is_ready.recv().is_err() {
            return match link.join() {
                Err(error) => Err(error),
                Ok(_) => Err(LiveError::Failed(
                    "the link ended before it began".to_owned(),
                )),
            };
        }
        Ok(link)
    }

    /// Asks the link to end soon. Returns when the run's end is known: a moment ahead, or the planned one if that is nearer
    /// or the thread has ended.
    pub(super) fn bring_end_forward(&self) {
        self.asked.to_end.store(true, Ordering::Relaxed);
        self.asked.to_look.store(true, Ordering::Release);
        // The channel closes without a message when the thread ends.
        let _ = self.heard.recv();
    }

    /// Makes `changes` now. Returns when they happen, which the link says: the first time that it has not decided on yet. `None`
    /// once the thread has ended.
    pub(super) fn change(&self, changes: Vec<LinkChange>) -> Option<Time> {
        self.changes.send(changes).ok()?;
        self.asked.to_look.store(true, Ordering::Release);
        self.made.recv().ok()
    }

    /// Whether the thread has ended, in time or by an error.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the run.
    pub(super) fn join(mut self) -> Result<Linked, LiveError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Ok(linked))) => Ok(linked),
            Some(Ok(Err(error))) => Err(LiveError::Failed(format!("the link failed: {error}"))),
            Some(Err(_)) | None => Err(LiveError::Failed("the link's thread panicked".to_owned())),
        }
    }
}

impl Drop for LinkThread {
    fn drop(&mut self) {
        self.asked.to_give_up.store(true, Ordering::Relaxed);
        self.asked.to_end.store(true, Ordering::Relaxed);
        self.asked.to_look.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // Nobody is left to report it to.
            let _ = thread.join();
        }
    }
}

/// Packets that were lost outside the queues and have been counted.
#[derive(Debug, Default)]
struct Losses {
    /// By side of a link.
    impaired: Vec<Counts>,
    /// By sockets and interfaces.
    others: u64,
}

/// What the link's thread works with, besides the link.
struct Carrier {
    /// Ends of segments, the last of which is the planned end of the run.
    cuts: Vec<Time>,
    /// The longest time between two looks at losses and rows.
    slice: Time,
    to_change: Receiver<Vec<LinkChange>>,
    makes: Sender<Time>,
    /// See [`NOTICE`].
    notice: Time,
    end: RunEnd,
    asked: Arc<Asked>,
    hears: Sender<()>,
    rows: Sender<QueueRow>,
    /// Groups of programs, whose payload the link counts, with the direction of their data.
    programs: Vec<(usize, Direction)>,
    /// Both directions of each link.
    sides: Vec<Side>,
    /// Time between two samples of these.
    interval: Time,
    samples: Sender<Sample>,
}

impl Carrier {
    /// Carries packets until the end of the run.
    fn carry(
        self,
        mut link: Link<Box<dyn Watching>>,
        ready: Sender<()>,
    ) -> Result<Linked, LinkFailure> {
        // Whoever waits for it is told otherwise when it is dropped.
        let _ = ready.send(());
        self.pace(&mut link)?;
        let ended = self.end.at();
        let passed = self.programs.iter().map(|&(group, _)| {
            let passed = |direction| link.passed(direction, group as u16);
            (group, Direction::BOTH.map(passed))
        });
        let passed = passed.collect();
        let sides = self.sides.iter();
        let header_values = sides.map(|side| (*side, link.header_values(side.hop, side.direction)));
        let header_values: Vec<_> = header_values.collect();
        let (report, observers) = link.finish()?;
        let results = observers.into_iter().map(|mut observer| {
            let recorder = observer.recorder();
            let results = recorder.finish(ended);
            send(recorder, &self.rows);
            results
        });
        let results = results.collect();
        Ok(Linked {
            results,
            report,
            passed,
            header_values,
        })
    }

    /// Runs slice by slice up to the last cut, or to an end that comes before, so that losses count where they happened and
    /// rows leave while the run goes on.
    fn pace(&self, link: &mut Link<Box<dyn Watching>>) -> Result<(), LinkFailure> {
        let mut lost = Losses::default();
        let mut heard = false;
        for &cut in &self.cuts {
            while link.now() < cut.min(self.end.at()) {
                let until = cut.min(self.end.at()).min(link.now() + self.slice);
                let until = until.min(self.next_sample(link.now()));
                link.carry(until, &self.asked.to_look)?;
                if self.asked.to_look.swap(false, Ordering::AcqRel) {
                    if self.asked.to_give_up.load(Ordering::Relaxed) {
                        return Err(LinkFailure::GivenUp);
                    }
                    self.change(link);
                    if !heard && self.asked.to_end.load(Ordering::Relaxed) {
                        heard = true;
                        self.bring_end_forward(link);
                    }
                }
                self.sample(link);
                let now = link.now().min(until);
                self.count_lost(link, &mut lost, now)?;
                for &side in &self.sides {
                    let decided = link.decided(side.direction).min(now);
                    let observer = link.observer_mut(side.hop, side.direction);
                    observer.decided(decided);
                    send(observer.recorder(), &self.rows);
                }
            }
        }
        Ok(())
    }

    /// Counts what was lost until `now` that is not in `lost` yet. What the configuration loses counts at its link; what sockets and
    /// interfaces lose counts once, at the first one, whatever the direction: the summary adds all up.
    fn count_lost(
        &self,
        link: &mut Link<Box<dyn Watching>>,
        lost: &mut Losses,
        now: Time,
    ) -> Result<(), LinkFailure> {
        let total = link.report()?.lost_outside();
        let sides = self.sides.iter();
        let impaired: Vec<Counts> = sides
            .map(|side| link.impaired(side.hop, side.direction))
            .collect();
        let others = total - impaired.iter().map(|counts| counts.lost).sum::<u64>();
        lost.impaired.resize(impaired.len(), Counts::default());
        for (index, side) in self.sides.iter().enumerate() {
            let mut new = impaired[index].clone().since(&lost.impaired[index]);
            if index == 0 {
                new.lost += others - lost.others;
            }
            let recorder = link.observer_mut(side.hop, side.direction).recorder();
            match new.rules.is_empty() {
                true => recorder.on_outside(&new, now),
                // What came to a rule until the end of a stretch belongs to it.
                false => recorder.add_outside(&new),
            }
        }
        *lost = Losses { impaired, others };
        Ok(())
    }

    /// When the programs are to be sampled next, as flows of the hosts are.
    fn next_sample(&self, now: Time) -> Time {
        match self.programs.is_empty() {
            true => Time::MAX,
            false => self.interval * (now.as_nanos() / self.interval.as_nanos() + 1),
        }
    }

    /// Samples the programs: what is known of them is what has passed here.
    fn sample(&self, link: &Link<Box<dyn Watching>>) {
        for &(group, direction) in &self.programs {
            let sample = Sample {
                at: link.now(),
                group,
                flow: 0,
                delivered: Bytes::new(link.passed(direction, group as u16)),
                rtt: None,
                cwnd: None,
                retransmitted: None,
            };
            // Nobody listens any more when the run is being given up.
            let _ = self.samples.send(sample);
        }
    }

    /// Makes the changes that somebody wants. Nobody is waited for.
    fn change(&self, link: &mut Link<Box<dyn Watching>>) {
        for changes in self.to_change.try_iter() {
            // Nobody listens any more when the run is being given up.
            let _ = self.makes.send(link.change(changes));
        }
    }

    /// Ends the run a moment from now. The link chooses the time, because its recorders cannot take anything back: it has decided
    /// on nothing yet that happens in the future.
    fn bring_end_forward(&self, link: &mut Link<Box<dyn Watching>>) {
        self.end.bring_forward(link.now() + self.notice);
        for &side in &self.sides {
            let recorder = link.observer_mut(side.hop, side.direction).recorder();
            recorder.end_at(self.end.at());
        }
        // Nobody listens any more when the run is being given up.
        let _ = self.hears.send(());
    }
}

/// Enters the middle namespace, opens both ports, and drops every right that running does not need.
fn open(
    config: LinkConfig,
    topology: &Topology,
    options: LiveOptions,
    observers: impl IntoIterator<Item = Box<dyn Watching>>,
) -> Result<Link<Box<dyn Watching>>, LinkFailure> {
    topology.link.enter()?;
    if let Some(priority) = options.realtime {
        quell_link::become_realtime(priority)
            .map_err(|source| LinkFailure::Realtime { priority, source })?;
    }
    let ports = [
        Port::open(topology.to_sender.name)?,
        Port::open(topology.to_receiver.name)?,
    ];
    let [port_a, port_b] = ports;
    let link = Link::new(config, port_a, port_b, observers)?;
    // Both ports are open, and the sockets' rights are in them.
    keep_only(CapabilitySet::empty())?;
    Ok(link)
}

fn send(recorder: &mut Recorder, rows: &Sender<QueueRow>) {
    for row in recorder.drain_rows() {
        // Nobody listens any more when the run is being given up.
        let _ = rows.send(row);
    }
}

impl Linked {
    /// The figures that only a real link has, for `link` of the summary; over the whole run, with its
    /// warm-up.
    pub(super) fn extra(&self) -> BTreeMap<String, Value> {
        let report = &self.report;
        let lateness = |direction: Direction| {
            let late = report.direction(direction).lateness;
            json!({ "p50": ms(late.p50), "p99": ms(late.p99), "max": ms(late.max) })
        };
        let bypassed = [&report.forward.bypassed, &report.reverse.bypassed];
        let bypassed = bypassed
            .map(|b| b.arp + b.neighbour_discovery + b.other)
            .iter()
            .sum::<u64>();
        let sleep = report.oversleep;
        let oversleep = json!({
            "p50": ms(sleep.p50), "p90": ms(sleep.p90), "p99": ms(sleep.p99), "p999": ms(sleep.p999),
            "p9999": ms(sleep.p9999), "max": ms(sleep.max), "count": sleep.count,
        });
        let mut all = BTreeMap::from([
            ("oversleep_ms".to_owned(), oversleep),
            ("lateness_ms".to_owned(), lateness(Direction::Forward)),
            (
                "reverse_lateness_ms".to_owned(),
                lateness(Direction::Reverse),
            ),
            ("cpu_share".to_owned(), json!(report.cpu_share())),
            ("looks_ahead".to_owned(), json!(report.ahead)),
            ("wakeups".to_owned(), json!(report.wakeups)),
            ("bypassed".to_owned(), json!(bypassed)),
            (
                "unclassified".to_owned(),
                json!(report.forward.unclassified + report.reverse.unclassified),
            ),
        ]);
        let values = report.forward.values.plus(report.reverse.values);
        if values != WireValues::default() {
            let values = json!({
                "written": values.written, "read": values.read, "not_carried": values.not_carried,
            });
            all.insert("header_values".to_owned(), values);
        }
        all
    }
}

fn ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}
