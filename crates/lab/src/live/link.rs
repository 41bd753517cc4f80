//! The link's thread: a real bottleneck in the middle namespace, with a recorder on each direction.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use quell_aqm::{Observer, Time};
use quell_hosts::topology::Topology;
use quell_hosts::traffic::Epoch;
use quell_link::{Descriptor, Direction, Link, LinkConfig, LinkReport, Port};
use quell_measure::{LinkResults, QueueRow, Recorder};
use serde_json::{Value, json};

use super::plan::Plan;
use super::{LiveError, LiveOptions};
use crate::packets::{self, LivePackets, Recording};

/// Between two looks at losses, rows and requests to stop, at the most.
const SLICE: Time = Time::from_millis(500);

/// A link that runs.
pub(super) struct LinkThread {
    thread: JoinHandle<io::Result<Linked>>,
    stop: Arc<AtomicBool>,
}

/// What a link measured.
#[derive(Debug)]
pub(super) struct Linked {
    /// Forward and reverse.
    pub(super) results: [LinkResults; 2],
    pub(super) report: LinkReport,
}

impl LinkThread {
    /// Starts the thread; returns when its ports are open.
    pub(super) fn start(
        plan: &Plan,
        topology: Arc<Topology>,
        epoch: Epoch,
        options: LiveOptions,
        packets: Option<LivePackets>,
        rows: Sender<QueueRow>,
    ) -> Result<Self, LiveError> {
        let config = plan.link(epoch)?;
        let recorders = plan.recorders();
        let cuts = plan.cuts();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (ready, is_ready) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("quell-link".to_owned())
            .spawn(move || match packets {
                None => {
                    let link = open(config, &topology, options, recorders)?;
                    carry(link, ready, &cuts, &stopped, &rows)
                }
                Some(packets) => {
                    let observers = packets.beside(recorders);
                    let mut link = open(config, &topology, options, observers)?;
                    link.announce(packets::announce_captured);
                    carry(link, ready, &cuts, &stopped, &rows)
                }
            })
            .map_err(|error| {
                LiveError::Failed(format!("cannot start the link's thread: {error}"))
            })?;
        let link = Self { thread, stop };
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

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the thread has ended, in time or by an error.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn join(self) -> Result<Linked, LiveError> {
        match self.thread.join() {
            Ok(Ok(linked)) => Ok(linked),
            Ok(Err(error)) => Err(LiveError::Failed(format!("the link failed: {error}"))),
            Err(_) => Err(LiveError::Failed("the link's thread panicked".to_owned())),
        }
    }
}

/// Carries packets until the last of `cuts`.
fn carry<O: Observer<Descriptor> + Recording>(
    mut link: Link<O>,
    ready: Sender<()>,
    cuts: &[Time],
    stopped: &AtomicBool,
    rows: &Sender<QueueRow>,
) -> io::Result<Linked> {
    // Whoever waits for it is told otherwise when it is dropped.
    let _ = ready.send(());
    pace(&mut link, cuts, stopped, rows)?;
    let ended = cuts.last().copied().unwrap_or_default();
    let ended = if stopped.load(Ordering::Relaxed) {
        link.now().min(ended)
    } else {
        ended
    };
    let (report, observers) = link.finish()?;
    let results = observers.map(|mut observer| {
        let recorder = observer.recorder();
        let results = recorder.finish(ended);
        send(recorder, rows);
        results
    });
    Ok(Linked { results, report })
}

/// Enters the middle namespace, opens both ports, and gives up every right that running does not
/// need.
fn open<O: Observer<Descriptor>>(
    config: LinkConfig,
    topology: &Topology,
    options: LiveOptions,
    observers: [O; 2],
) -> io::Result<Link<O>> {
    topology.link.enter()?;
    if let Some(priority) = options.realtime {
        quell_link::become_realtime(priority).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("no real-time priority {priority}: {error}"),
            )
        })?;
    }
    let ports = [
        Port::open(topology.to_sender.name)?,
        Port::open(topology.to_receiver.name)?,
    ];
    let [port_a, port_b] = ports;
    let link = Link::new(config, port_a, port_b, observers)?;
    quell_hosts::capabilities::drop_to_network().map_err(io::Error::other)?;
    Ok(link)
}

/// Runs slice by slice up to the last of `cuts`, so that losses count where they happened and rows
/// leave while the run goes on.
fn pace<O: Observer<Descriptor> + Recording>(
    link: &mut Link<O>,
    cuts: &[Time],
    stop: &AtomicBool,
    rows: &Sender<QueueRow>,
) -> io::Result<()> {
    let mut lost = 0;
    for &cut in cuts {
        while link.now() < cut && !stop.load(Ordering::Relaxed) {
            let until = cut.min(link.now() + SLICE);
            link.run(until, stop)?;
            let now = link.now().min(until);
            let total = link.report()?.lost_outside();
            // Counted once, whatever the direction: the summary adds both up.
            link.observer_mut(Direction::Forward)
                .recorder()
                .on_lost_outside(total - lost, now);
            lost = total;
            for direction in Direction::BOTH {
                let decided = link.decided(direction).min(now);
                let observer = link.observer_mut(direction);
                observer.decided(decided);
                send(observer.recorder(), rows);
            }
        }
    }
    Ok(())
}

fn send(recorder: &mut Recorder, rows: &Sender<QueueRow>) {
    for row in recorder.drain_rows() {
        // Nobody listens any more when the run is being given up.
        let _ = rows.send(row);
    }
}

impl Linked {
    /// What only a real link can tell, for `link` of the summary. Over the whole run with its
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
        BTreeMap::from([
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
        ])
    }
}

fn ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}
