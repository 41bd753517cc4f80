//! The link's thread: a real bottleneck in a namespace of its own, with a recorder on each direction.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use quell_aqm::impair::Counts;
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::fd_holder::FdHolder;
use quell_hosts::namespace::Namespace;
use quell_link::{
    Ect1, GroupConfig, Link, LinkChange, LinkConfig, LinkReport, NextLink, Only, Port,
    Side as PortSide, Watching,
};
use quell_measure::{Direction, Hop, LinkResults, QueueRow, Recorder};
use quell_results::packets::{LivePackets, Traced};
use quell_scenario::{Side, figures};
use quell_units::{Rate, Time};

use crate::error::{Doing as _, Error, Result};
use crate::experience::lost_outside;
use crate::memory::frames;
use crate::network::{TO_INSIDE, TO_OUTSIDE};
use crate::plan::Plan;
use crate::plan::repeats::Later;

/// The longest time between two looks at losses, rows and requests.
const SLICE: Time = Time::from_millis(5);

/// The same once the program has ended, and only what it left is waited for.
const LAST_SLICES: Time = Time::from_millis(1);

/// A link that runs. It ends at once if it is dropped before it was finished.
#[derive(Debug)]
pub(crate) struct LinkThread {
    thread: Option<JoinHandle<Result<Linked>>>,
    stop: Arc<AtomicBool>,
    rows: Receiver<QueueRow>,
    asks: Sender<Ask>,
    /// The thread waits until it is told, or this is gone.
    begin: Option<Sender<Time>>,
    /// Whether packets are in the link that have to come out before its end.
    inside: Arc<AtomicBool>,
    slices: Arc<Slices>,
    /// Packets lost outside of the queues so far, forward and reverse.
    lost: Arc<[AtomicU64; 2]>,
}

/// How far the thread is.
#[derive(Debug, Default)]
struct Slices {
    /// Slices that are over.
    over: AtomicU64,
    /// Short ones are wanted.
    short: AtomicBool,
}

/// What the link is asked while it runs. It answers within a [`SLICE`]; an answer does not come where it has ended.
#[derive(Debug)]
pub(crate) enum Ask {
    /// To make changes now, all at the time that is the answer.
    Change(Vec<LinkChange>, Sender<Time>),
    /// What it has measured so far.
    Measure(Sender<Measured>),
}

/// What a link has measured so far.
#[derive(Debug)]
pub(crate) struct Measured {
    recorders: Vec<Recorder>,
    report: LinkReport,
    now: Time,
}

impl Measured {
    /// As if it had ended then.
    pub(crate) fn linked(self) -> Linked {
        let recorders = self.recorders.into_iter();
        let results = recorders.map(|mut recorder| recorder.finish(self.now));
        Linked {
            results: results.collect(),
            report: self.report,
            ended: self.now,
        }
    }
}

/// What a link needs.
pub(crate) struct Start<'a> {
    pub(crate) plan: &'a Plan,
    /// Of its ports.
    pub(crate) namespace: &'a Namespace,
    /// Largest packet, in bytes.
    pub(crate) mtu: u16,
    /// Directions whose packets have to come out before its end.
    pub(crate) awaited: &'static [Direction],
    /// Whether somebody may change it.
    pub(crate) changes: bool,
    /// The packets that it is for.
    pub(crate) only: Option<Only>,
    /// Ports of remote hosts whose packets continue with ECT(1) where they arrive with ECT(0); an empty list is all.
    pub(crate) ect1: Option<&'a [u16]>,
    /// Whether the far edge and the program's side have a control for L4S, whose data continues with ECT(1) too.
    pub(crate) is_l4s: [bool; 2],
    pub(crate) fd_holder: Option<Arc<FdHolder>>,
    pub(crate) packets: Option<LivePackets>,
}

/// What a link measured.
#[derive(Debug)]
pub(crate) struct Linked {
    /// Of each link, forward and reverse.
    pub(crate) results: Vec<LinkResults>,
    pub(crate) report: LinkReport,
    /// When it ended.
    pub(crate) ended: Time,
}

/// What the thread works with.
struct Carrier {
    /// What changes after all that the link knows from the start.
    later: Later,
    /// Both directions of each link.
    sides: Vec<Side>,
    stop: Arc<AtomicBool>,
    asks: Receiver<Ask>,
    begins: Receiver<Time>,
    awaited: &'static [Direction],
    inside: Arc<AtomicBool>,
    slices: Arc<Slices>,
    lost: Arc<[AtomicU64; 2]>,
    rows: Sender<QueueRow>,
    ready: Sender<()>,
}

impl LinkThread {
    /// Starts the thread; returns when its ports are open. Packets wait in them until it [begins](Self::begin).
    pub(crate) fn start(start: Start<'_>) -> Result<Self> {
        let config = config(&start);
        let Start {
            plan,
            namespace,
            awaited,
            fd_holder,
            packets,
            ..
        } = start;
        let scenario = plan.scenario().clone();
        let timeline = figures::timeline(&scenario);
        let sides: Vec<Side> = scenario.sides().collect();
        let recorders = sides
            .iter()
            .map(|side| figures::recorder(&scenario, &timeline, side.hop, side.direction));
        let recorders: Vec<Recorder> = recorders.collect();
        let stop = Arc::new(AtomicBool::new(false));
        let inside = Arc::new(AtomicBool::new(false));
        let slices = Arc::new(Slices::default());
        let lost = Arc::<[AtomicU64; 2]>::default();
        let (rows, rows_out) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let (asks, asked) = mpsc::channel();
        let (begin, begins) = mpsc::channel();
        let carrier = Carrier {
            later: plan.later(),
            sides,
            stop: stop.clone(),
            asks: asked,
            begins,
            awaited,
            inside: inside.clone(),
            slices: slices.clone(),
            lost: lost.clone(),
            rows,
            ready,
        };
        let namespace = Namespace::clone_of(namespace).doing("keep a network namespace")?;
        let thread = thread::Builder::new()
            .name("quell-link".to_owned())
            .spawn(move || {
                let packets = packets.as_ref();
                let observers = recorders.into_iter();
                let observers = observers.map(|recorder| -> Box<dyn Watching> {
                    Box::new(Traced::new(recorder, packets))
                });
                let mut link = open(config, &namespace, fd_holder.as_deref(), observers)?;
                if packets.is_some() {
                    link.announce(|observer, packet, bytes| observer.announced(packet, bytes));
                }
                carrier.carry(link)
            })
            .doing("start the link's thread")?;
        let link = Self {
            thread: Some(thread),
            stop,
            rows: rows_out,
            asks,
            begin: Some(begin),
            inside,
            slices,
            lost,
        };
        // The channel closes without a message when the link could not be opened.
        match is_ready.recv() {
            Ok(()) => Ok(link),
            Err(_) => Err(link.finish().err().unwrap_or(Error::Gone("the link"))),
        }
    }

    /// Whether the thread has ended by itself, which only an error makes it do.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// It carries packets from now on. Times count from `epoch`, of CLOCK_MONOTONIC.
    pub(crate) fn begin(&self, epoch: Time) {
        // A thread that has ended says why when it is joined.
        let _ = self.begin.as_ref().map(|begin| begin.send(epoch));
    }

    /// Where it is asked.
    pub(crate) fn asks(&self) -> Sender<Ask> {
        self.asks.clone()
    }

    /// The rows that came since they were last asked for.
    pub(crate) fn rows(&self) -> Vec<QueueRow> {
        self.rows.try_iter().collect()
    }

    /// How many slices of time are over. One that began before this call may have read nothing of what the program sent last; the one
    /// after it has.
    pub(crate) fn slices(&self) -> u64 {
        self.slices.over.load(Ordering::Acquire)
    }

    /// Packets that were lost outside of the queues of a direction so far.
    pub(crate) fn lost(&self, direction: Direction) -> u64 {
        self.lost[direction.index()].load(Ordering::Relaxed)
    }

    /// From now on the thread looks at its packets more often.
    pub(crate) fn hurry(&self) {
        self.slices.short.store(true, Ordering::Relaxed);
    }

    /// Whether packets that have to come out are in the link, as of the end of the last slice.
    pub(crate) fn holds_packets(&self) -> bool {
        self.inside.load(Ordering::Relaxed)
    }

    /// Ends the link; returns what it measured, and the rows that came since they were last asked for.
    pub(crate) fn finish(mut self) -> Result<(Linked, Vec<QueueRow>)> {
        self.begin = None;
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(Error::Gone("the link"))?;
        let linked = thread.join().map_err(|_| Error::Gone("the link"))??;
        Ok((linked, self.rows()))
    }
}

impl Drop for LinkThread {
    fn drop(&mut self) {
        self.begin = None;
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nobody is left to report it to.
            let _ = thread.join();
        }
    }
}

fn config(start: &Start<'_>) -> LinkConfig {
    let (plan, mtu) = (start.plan, start.mtu);
    let links = plan.scenario().links();
    let of = |hop| Direction::BOTH.map(|direction| plan.direction(Side { hop, direction }, mtu));
    let [forward, reverse] = of(Hop::FIRST);
    let mut config = LinkConfig::new(forward, reverse);
    config.delay = links[0].delay;
    let behind = plan.scenario().hops().iter().skip(1).map(|hop| {
        let [forward, reverse] = of(hop);
        NextLink {
            forward,
            reverse,
            delay: links[hop.index()].delay,
        }
    });
    config.behind = behind.collect();
    config.mtu = mtu;
    // All packets are the program's; port 0 is nobody's. Some ports of remote hosts may be treated in another way.
    let ports = start.ect1.unwrap_or(&[]);
    let all = GroupConfig {
        delay: plan.rtt() / 2,
        ect1: match start.ect1 {
            Some([]) => Ect1::All,
            _ => Ect1::Tcp(start.is_l4s),
        },
        ..GroupConfig::default()
    };
    let remote = |&port: &u16| GroupConfig {
        port,
        listens: PortSide::A,
        ect1: Ect1::All,
        ..all
    };
    config.groups = vec![all];
    config.groups.extend(ports.iter().map(remote));
    config.others = Some(0);
    config.only = start.only.clone();
    config.changes = plan.changes();
    config.fastest = match start.changes {
        true => plan.fastest(),
        false => Rate::ZERO,
    };
    config.frames = frames(plan, config.fastest);
    config
}

/// Enters the link's namespace, opens both ports, and drops every right.
fn open(
    config: LinkConfig,
    namespace: &Namespace,
    fd_holder: Option<&FdHolder>,
    observers: impl IntoIterator<Item = Box<dyn Watching>>,
) -> Result<Link<Box<dyn Watching>>> {
    namespace.enter().doing("enter the link's namespace")?;
    // Forward is towards the program.
    let from_outside = Port::open(TO_OUTSIDE).doing("open a packet socket")?;
    let to_inside = Port::open(TO_INSIDE).doing("open a packet socket")?;
    for port in [&from_outside, &to_inside] {
        // Without, their end takes longer, and nothing else changes.
        let _ = fd_holder.map(|fd_holder| fd_holder.hold(port.as_fd()));
    }
    let link = Link::new(config, from_outside, to_inside, observers)?;
    keep_only(CapabilitySet::empty())?;
    Ok(link)
}

impl Carrier {
    fn carry(mut self, mut link: Link<Box<dyn Watching>>) -> Result<Linked> {
        let _ = self.ready.send(());
        match self.begins.recv() {
            Ok(epoch) => link.begin_at(epoch),
            // It is given up.
            Err(_) => self.stop.store(true, Ordering::Relaxed),
        }
        let mut lost = Losses::default();
        loop {
            let last = self.stop.load(Ordering::Relaxed);
            if !last {
                let slice = match self.slices.short.load(Ordering::Relaxed) {
                    true => LAST_SLICES,
                    false => SLICE,
                };
                let until = link.now() + slice;
                let due = self.later.next_time().map_or(until, |due| due.min(until));
                link.carry(due, &self.stop)?;
                let now = link.now() + Time::from_nanos(1);
                while let Some((_, change)) = self.later.next_before(now) {
                    link.change(vec![change]);
                }
            }
            self.answer(&mut link)?;
            let now = link.now();
            let report = link.report().doing("read the link's counters")?;
            let mut awaited = self.awaited.iter();
            let is_inside = awaited.any(|way| report.direction(*way).inside.total() > 0);
            self.inside.store(is_inside, Ordering::Relaxed);
            self.slices.over.fetch_add(1, Ordering::Release);
            for way in Direction::BOTH {
                let counted = lost_outside(&report, way);
                self.lost[way.index()].store(counted, Ordering::Relaxed);
            }
            lost.count(&mut link, &self.sides, report.lost_outside(), now);
            for &side in &self.sides {
                let decided = link.decided(side.direction).min(now);
                let observer = link.observer_mut(side.hop, side.direction);
                observer.decided(decided);
                self.send(&mut **observer);
            }
            if last {
                break;
            }
        }
        // Nothing is decided on that is later.
        let decided = Direction::BOTH.map(|direction| link.decided(direction));
        let ended = decided.into_iter().fold(link.now(), Time::max);
        let (report, observers) = link.finish().doing("read the link's counters")?;
        let results = observers.into_iter().map(|mut observer| {
            let results = observer.recorder().finish(ended);
            self.send(&mut *observer);
            results
        });
        let results = results.collect();
        Ok(Linked {
            results,
            report,
            ended,
        })
    }

    /// Does what was asked meanwhile. Nobody is waited for.
    fn answer(&self, link: &mut Link<Box<dyn Watching>>) -> Result<()> {
        for ask in self.asks.try_iter() {
            // Whoever asked may have gone.
            match ask {
                Ask::Change(changes, made) => drop(made.send(link.change(changes))),
                Ask::Measure(measured) => {
                    let report = link.report().doing("read the link's counters")?;
                    // Nothing is decided on that is later.
                    let decided = Direction::BOTH.map(|direction| link.decided(direction));
                    let now = decided.into_iter().fold(link.now(), Time::max);
                    let sides = self.sides.iter();
                    let recorders = sides.map(|side| {
                        let observer = link.observer_mut(side.hop, side.direction);
                        observer.recorder().clone()
                    });
                    let so_far = Measured {
                        recorders: recorders.collect(),
                        report,
                        now,
                    };
                    drop(measured.send(so_far));
                }
            }
        }
        Ok(())
    }

    fn send(&self, observer: &mut dyn Watching) {
        for row in observer.recorder().drain_rows() {
            // Nobody listens any more when the run is being given up.
            let _ = self.rows.send(row);
        }
    }
}

/// Packets that were lost outside of the queues and have been counted.
#[derive(Debug, Default)]
struct Losses {
    /// By side of a link, because the configuration says so.
    impaired: Vec<Counts>,
    /// By sockets and interfaces.
    others: u64,
}

impl Losses {
    /// Counts what is new of `total`. What the configuration loses counts at its link; what sockets and interfaces lose counts once, at the
    /// first one, whatever the direction: the summary adds all up.
    fn count(&mut self, link: &mut Link<Box<dyn Watching>>, sides: &[Side], total: u64, now: Time) {
        let all = sides.iter();
        let impaired: Vec<Counts> = all
            .map(|side| link.impaired(side.hop, side.direction))
            .collect();
        let others = total.saturating_sub(impaired.iter().map(|counts| counts.lost).sum());
        self.impaired.resize(impaired.len(), Counts::default());
        for (index, side) in sides.iter().enumerate() {
            let mut new = impaired[index].clone().since(&self.impaired[index]);
            if index == 0 {
                new.lost += others - self.others;
            }
            let observer = link.observer_mut(side.hop, side.direction);
            observer.recorder().on_outside(&new, now);
        }
        *self = Self { impaired, others };
    }
}
