//! The link: two ports, one pool, a queue and a delay line in each direction, and the thread's loop.
//!
//! A turn of the loop: take the time; if it is time to, look at the sockets (read what has arrived,
//! replay it at its stamps, decide everything up to the time taken *before* reading, since all that
//! arrived until then is now known); hand out what is released, or will be soon where the kernel
//! waits for its time; sleep until the next release, the next decision, the next look or a packet's
//! arrival, as [`Wakeup`] says. Nothing is allocated or locked per packet once the
//! queues have had their first fill, nothing spins, and the clock is read per batch and not per
//! packet: where time is simulated, each reading is a system call.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_aqm::impair::Counts;
use quell_aqm::{Discipline, Observer, Packet as _};
use quell_units::{Ecn, ParameterError, Rate, Time};

use crate::config::{ConfigError, Ect1, GroupConfig, LinkChange, LinkConfig, NextLink, Wakeup};
use crate::error::Error;
use crate::frames::frame::{self, Bypass, Contents};
use crate::frames::{Addressed, Classifier, Descriptor, Pool, ecn_field, too_long};
use crate::lane::Lane;
use crate::only::Only;
use crate::pace::Pace;
use crate::path::chain::{Chain, Member, Spans};
use crate::ports::{BATCH, Blocked, Interest, Outgoing, Port, Received, Remains, Waiting};
use crate::report::{LinkReport, WireValues};
use crate::time::{Clock, LatenessHistogram, PacingThread, thread_cpu_time};
use quell_measure::{Direction, Hop, Hops};

/// The longest sleep, so that a request to stop is noticed soon.
const LONGEST_SLEEP: Time = Time::from_millis(100);

/// Batches read from one port before releases get their turn.
const BATCHES_PER_LOOK: usize = 8;

/// Announces a packet that is about to arrive to an observer, with the bytes of its IP packet, which
/// its descriptor does not hold.
pub type Announce<O> = fn(&mut O, &Descriptor, &[u8]);

/// A real bottleneck between two ports.
#[derive(Debug)]
pub struct Link<O> {
    announce: Option<Announce<O>>,
    only: Option<Only>,
    clock: Clock,
    ports: [Port; 2],
    lanes: [Lane<O>; 2],
    pool: Pool,
    groups: Vec<GroupConfig>,
    others: Option<u16>,
    classifier: Classifier,
    addressed: Addressed,
    waiting: Waiting,
    pace: Pace,
    /// Frames of one look at one port; empty in between.
    arrived: Vec<Received>,
    last_look: LastLook,
    wakeups: u64,
    looks: u64,
    /// Lateness of the thread when a time woke it.
    oversleep: LatenessHistogram,
    cpu: Time,
    wall: Time,
}

/// The state after the last look.
#[derive(Debug, Clone, Copy, Default)]
struct LastLook {
    looked: Time,
    /// Nothing arrived and nothing is queued.
    quiet: bool,
    /// Frames wait in the sockets because the pool is empty.
    starved: bool,
    /// Frames may wait in the sockets although the pool is not empty.
    more: bool,
    /// A port has something to read.
    readable: bool,
}

impl<O: Observer<Descriptor>> Link<O> {
    /// A link whose forward direction goes from `port_a` to `port_b`, with an observer for each
    /// direction: forward, then reverse; of several links in a row link by link.
    ///
    /// # Errors
    ///
    /// The configuration cannot work, or the system refuses something.
    pub fn new(
        config: LinkConfig,
        port_a: Port,
        port_b: Port,
        observers: impl IntoIterator<Item = O>,
    ) -> Result<Self, Error> {
        config.check()?;
        let ports = [port_a, port_b];
        let buffers = [
            ports[0].set_buffer(config.receive_buffer)?,
            ports[1].set_buffer(config.receive_buffer)?,
        ];
        let fq = ports.iter().all(Port::has_fq);
        if config.wakeup == Some(Wakeup::Ahead) && !fq {
            return Err(ConfigError::NoFq.into());
        }
        let pace = Pace::new(&config, buffers, fq);
        if !pace.ahead.is_zero() {
            ports.iter().try_for_each(Port::send_at_times)?;
        }
        let links = 1 + config.behind.len();
        let groups: Vec<(Time, Hops)> = config
            .groups
            .iter()
            .map(|group| (group.delay, group.path.unwrap_or(Hops::all(links))))
            .collect();
        let first = NextLink {
            forward: config.forward,
            reverse: config.reverse,
            delay: config.delay,
        };
        let all = std::iter::once(first).chain(config.behind);
        let [forward, reverse] = members(all, config.changes, observers)?;
        let noise = &config.noise;
        let spans = |direction: Direction| Spans {
            spans: &noise.spans[direction.index()],
            seed: noise.seed,
        };
        let chain = |direction: Direction, members| {
            Chain::new(direction, members, &groups, &spans(direction))
        };
        ports.iter().try_for_each(Port::describe_offloads)?;
        let lanes = [
            Lane::new(chain(Direction::Forward, forward), config.zeros),
            Lane::new(chain(Direction::Reverse, reverse), config.zeros),
        ];
        Ok(Self {
            announce: None,
            only: config.only,
            clock: Clock::new(config.epoch, config.exact_clock),
            waiting: Waiting::new(&ports)?,
            ports,
            lanes,
            pool: Pool::new(config.frames, usize::from(config.mtu))?,
            classifier: Classifier::new(
                config
                    .groups
                    .iter()
                    .map(|group| (group.port, group.listens)),
            ),
            addressed: Addressed::new(config.groups.iter().map(|group| group.addresses)),
            groups: config.groups,
            others: config.others,
            pace,
            arrived: Vec::with_capacity(BATCH),
            last_look: LastLook::default(),
            wakeups: 0,
            looks: 0,
            oversleep: LatenessHistogram::new(),
            cpu: Time::ZERO,
            wall: Time::ZERO,
        })
    }

    /// Announces each packet that arrives from now on to the observer of its direction first. The bytes
    /// are those on the wire, with the ECN field that the queue will see.
    pub fn announce(&mut self, announce: Announce<O>) {
        self.announce = Some(announce);
    }

    /// Runs the link on the calling thread until the time `until`, or soon after `stop` is set. May
    /// be called again to continue; frames that arrive in between wait in the sockets.
    ///
    /// # Errors
    ///
    /// The discipline refuses a planned change, or a port fails, for example because its interface is
    /// gone.
    pub fn run(&mut self, until: Time, stop: &AtomicBool) -> Result<(), Error> {
        let _thread = PacingThread::enter()?;
        let (wall, cpu) = (self.clock.read(), thread_cpu_time());
        self.clock.slept();
        let result = self.pace(until, stop);
        self.wall += self.clock.read() - wall;
        self.cpu += thread_cpu_time() - cpu;
        result
    }

    fn pace(&mut self, until: Time, stop: &AtomicBool) -> Result<(), Error> {
        let mut now = self.clock.now();
        loop {
            let last = now >= until || stop.load(Ordering::Relaxed);
            if last || self.is_time_to_look(now) {
                self.look()?;
            }
            self.release(now);
            if last {
                return Ok(());
            }
            now = if self.frames_wait() {
                self.clock.now()
            } else {
                self.sleep(until, now)?
            };
        }
    }

    fn is_time_to_look(&self, now: Time) -> bool {
        let state = &self.last_look;
        let decide = self
            .lanes
            .iter()
            .filter_map(|lane| lane.path.decide_by())
            .min();
        self.frames_wait()
            || state.readable
            || decide.is_some_and(|at| at <= now)
            || self
                .pace
                .interval
                .is_some_and(|interval| !state.quiet && state.looked + interval <= now)
    }

    /// Whether frames wait in the sockets that could be read now.
    fn frames_wait(&self) -> bool {
        self.last_look.more || (self.last_look.starved && self.pool.free() >= BATCH / 2)
    }

    /// Reads the frames that have arrived and decides all that can be decided.
    fn look(&mut self) -> Result<(), Error> {
        self.looks += 1;
        let now = self.clock.resample();
        let mut state = LastLook {
            looked: now,
            quiet: true,
            ..LastLook::default()
        };
        for direction in Direction::BOTH {
            let remains = self.read(direction, &mut state)?;
            let lane = &mut self.lanes[direction.index()];
            // What still waits in the socket was stamped after the last frame that was read.
            let horizon = if remains == Remains::Perhaps {
                lane.stamps.latest()
            } else {
                now
            };
            lane.path.decide(horizon, &mut self.pool)?;
            lane.collect_dropped(&mut self.pool);
            state.more |= remains == Remains::Perhaps;
            state.starved |= remains == Remains::NoSlot;
            state.quiet &= lane.path.is_quiet();
        }
        for direction in Direction::BOTH {
            self.answer_what_is_too_long(direction, now);
        }
        self.last_look = state;
        Ok(())
    }

    /// Tells the senders of packets that were too long, and have left their queue by `now`.
    fn answer_what_is_too_long(&mut self, direction: Direction, now: Time) {
        let [lane, back] = match (direction, &mut self.lanes) {
            (Direction::Forward, [forward, reverse]) => [forward, reverse],
            (Direction::Reverse, [forward, reverse]) => [reverse, forward],
        };
        while let Some((end, packet, fits)) = lane.path.too_long(now) {
            match too_long::answer(&packet, fits, &mut self.pool) {
                Some(answer) => {
                    back.counts.received += 1;
                    back.counts.came.count(answer.ecn());
                    back.path.answer(answer, end);
                }
                None => self.pool.give_back(packet.frame().id),
            }
        }
    }

    /// Reads from the ingress port of `direction` until it is empty, the pool is, or the other port
    /// gets its turn.
    fn read(&mut self, direction: Direction, state: &mut LastLook) -> Result<Remains, Error> {
        let mut remains = Remains::Perhaps;
        for _ in 0..BATCHES_PER_LOOK {
            let lane = &mut self.lanes[direction.index()];
            let port = &self.ports[direction.index()];
            let mut arrived = std::mem::take(&mut self.arrived);
            remains = lane.ingress.receive(
                rustix::fd::AsFd::as_fd(port),
                &mut self.pool,
                &mut arrived,
            )?;
            if !arrived.is_empty() {
                state.quiet = false;
                let mut now = state.looked;
                for received in arrived.drain(..) {
                    self.admit(received, direction, &mut now)?;
                }
            }
            self.arrived = arrived;
            self.lanes[direction.index()].collect_dropped(&mut self.pool);
            if remains != Remains::Perhaps {
                break;
            }
        }
        Ok(remains)
    }

    /// Puts a frame that was just read into the queue, or lets it bypass the queue. `now` is the last
    /// reading of the clock for its batch.
    fn admit(
        &mut self,
        received: Received,
        direction: Direction,
        now: &mut Time,
    ) -> Result<(), ParameterError> {
        let lane = &mut self.lanes[direction.index()];
        let frame = received.frame;
        lane.counts.received += 1;
        let mut ip = match frame::parse(self.pool.bytes(frame)) {
            Contents::Ip(ip) => ip,
            Contents::Bypass(why) => {
                match why {
                    Bypass::Arp => lane.counts.bypassed.arp += 1,
                    Bypass::NeighbourDiscovery => lane.counts.bypassed.neighbour_discovery += 1,
                    Bypass::Other => lane.counts.bypassed.other += 1,
                }
                lane.egress.push(Outgoing::at_once(frame));
                return Ok(());
            }
        };
        if let Some(only) = &self.only
            && !only.takes(&ip, &self.pool.bytes(frame)[usize::from(ip.offset)..])
        {
            lane.counts.bypassed.others += 1;
            lane.egress.push(Outgoing::at_once(frame));
            return Ok(());
        }
        let addressed = self
            .addressed
            .group(&self.pool.bytes(frame)[usize::from(ip.offset)..], direction);
        let group = addressed
            .or_else(|| self.classifier.group(&ip, direction))
            .or(self.others);
        lane.counts.unclassified += u64::from(group.is_none());
        lane.counts.came.count(ip.ecn);
        let ect1 = group.map_or(Ect1::None, |group| self.groups[usize::from(group)].ect1);
        if ip.ecn == Ecn::Ect0 && ect1.is_for(direction, ip.is_tcp()) {
            ip.ecn = Ecn::Ect1;
            ecn_field::set(
                &mut self.pool.bytes_mut(frame)[usize::from(ip.offset)..],
                Ecn::Ect1,
            );
            lane.counts.ect1_rewritten += 1;
        }
        let stamp = received.stamp.map(|stamp| self.clock.at(stamp));
        let at = lane.stamps.order(stamp, *now, || {
            *now = self.clock.read();
            *now
        });
        let packet = Descriptor::new(frame, &ip, group);
        if let Some(announce) = self.announce {
            // What is recorded has its checksum, and what goes on has what its host left to do.
            let mut checksum = self.pool.offload(frame).checksum(self.pool.bytes(frame));
            let bytes = self.pool.bytes_mut(frame);
            let exchange = |bytes: &mut [u8], checksum: &mut Option<(usize, [u8; 2])>| {
                if let Some((at, sum)) = checksum {
                    bytes[*at..*at + 2].swap_with_slice(sum);
                }
            };
            exchange(bytes, &mut checksum);
            let observer = lane.path.observer_at_entry(group);
            announce(observer, &packet, &bytes[packet.ip_offset()..]);
            exchange(bytes, &mut checksum);
        }
        lane.path.arrive(packet, at, &mut self.pool)
    }

    /// Hands out the packets that are due, and those that are due soon where the kernel waits for
    /// their time. This turn of the loop began at `turn`.
    fn release(&mut self, turn: Time) {
        let judge_all = self.groups.is_empty();
        let ahead = !self.pace.ahead.is_zero();
        for direction in Direction::BOTH {
            let lane = &mut self.lanes[direction.index()];
            let port = &self.ports[1 - direction.index()];
            // Ahead of time, a little more or less ahead is all the same.
            let until = if ahead {
                turn + self.pace.ahead
            } else {
                self.clock.now()
            };
            while let Some((release, packet)) = lane.path.release(until, &mut self.pool) {
                let frame = packet.frame();
                let bytes = &self.pool.bytes(frame)[packet.ip_offset()..];
                self.addressed.pass(bytes, packet.group(), direction);
                lane.counts.left.count(packet.ecn());
                if packet.is_marked() {
                    packet.write(&mut self.pool);
                }
                lane.egress.push(Outgoing {
                    frame,
                    release: Some(release),
                    judged: judge_all || packet.group().is_some(),
                    ahead,
                });
            }
            lane.egress
                .flush(rustix::fd::AsFd::as_fd(port), &mut self.pool, &self.clock);
        }
    }

    /// Sleeps until there is something to do; returns the time. This turn of the loop began at
    /// `turn`.
    fn sleep(&mut self, until: Time, turn: Time) -> io::Result<Time> {
        let state = &mut self.last_look;
        let watch = !state.starved && (self.pace.interval.is_none() || state.quiet);
        let mut wanted = [Interest {
            readable: watch,
            writable: false,
        }; 2];
        let mut wake = until.min(turn + LONGEST_SLEEP);
        if let Some(interval) = self.pace.interval.filter(|_| !state.quiet) {
            wake = wake.min(state.looked + interval);
        }
        for direction in Direction::BOTH {
            let lane = &self.lanes[direction.index()];
            // Where the kernel waits for releases, those that had too long to go are handed out
            // well before their time.
            let hand_out = lane.path.next_release().map(|at| at - self.pace.ahead / 2);
            for at in hand_out.into_iter().chain(lane.path.decide_by()) {
                wake = wake.min(at);
            }
            match lane.egress.blocked() {
                Some(Blocked::Until(at)) => wake = wake.min(at),
                Some(Blocked::UntilWritable) => wanted[1 - direction.index()].writable = true,
                None => {}
            }
        }
        let ready = self.waiting.wait(&self.ports, wanted, wake, &self.clock)?;
        self.clock.slept();
        self.wakeups += 1;
        let woken = self.clock.now();
        if woken >= wake {
            self.oversleep.record(woken - wake);
        }
        state.readable = ready.iter().any(|port| port.readable);
        for direction in Direction::BOTH {
            if ready[1 - direction.index()].writable {
                self.lanes[direction.index()].egress.writable();
            }
        }
        Ok(woken)
    }

    /// Times count from this instant of CLOCK_MONOTONIC, and not from that of the configuration. For a link that has not run yet.
    pub fn begin_at(&mut self, epoch: Time) {
        self.clock.begin_at(epoch);
    }
    /// Time since the epoch.
    pub fn now(&self) -> Time {
        self.clock.read()
    }
    /// The discipline of one direction of a link, as of [`Link::decided`]. Like the three others it panics where there is no such
    /// link.
    pub fn discipline(&self, hop: Hop, direction: Direction) -> &Discipline<Descriptor> {
        self.lanes[direction.index()].path.discipline(hop)
    }
    /// The rate of one direction of a link.
    pub fn rate(&self, hop: Hop, direction: Direction) -> Rate {
        self.lanes[direction.index()].path.rate(hop)
    }
    /// Up to when everything in one direction has happened.
    pub fn decided(&self, direction: Direction) -> Time {
        self.lanes[direction.index()].path.decided()
    }
    /// Makes `changes` now, between two calls of [`Link::run`]: all of them happen at the time that is returned, the present or the
    /// first that is not decided yet. Rates above [`LinkConfig::fastest`] may need larger sockets than there are.
    pub fn change(&mut self, changes: Vec<LinkChange>) -> Time {
        let decided = self
            .lanes
            .iter()
            .map(|lane| lane.path.latest_decided())
            .max();
        let undecided = decided.unwrap_or(Time::ZERO) + Time::from_nanos(1);
        let at = self.clock.read().max(undecided);
        for change in changes {
            if let Some(delay) = change.delay() {
                self.pace.suit(delay);
            }
            let lane = &mut self.lanes[change.direction().index()];
            lane.path.plan(at, change);
        }
        at
    }
    /// Packets lost, copied and damaged behind the queue of one direction of a link because the configuration says so.
    pub fn impaired(&self, hop: Hop, direction: Direction) -> Counts {
        self.lanes[direction.index()].path.impaired_at(hop)
    }
    /// Packet values in headers at one direction of a link.
    pub fn header_values(&self, hop: Hop, direction: Direction) -> WireValues {
        self.lanes[direction.index()].path.header_values_at(hop)
    }
    /// The observer of one direction of a link.
    pub fn observer(&self, hop: Hop, direction: Direction) -> &O {
        self.lanes[direction.index()].path.observer(hop)
    }
    /// Bytes of payload of a group that have passed in one direction, retransmitted ones included; 0 for a group without
    /// [`GroupConfig::addresses`].
    pub fn passed(&self, direction: Direction, group: u16) -> u64 {
        self.addressed.passed(group, direction)
    }
    /// The observer of one direction of a link, to collect from.
    pub fn observer_mut(&mut self, hop: Hop, direction: Direction) -> &mut O {
        self.lanes[direction.index()].path.observer_mut(hop)
    }

    /// The report up to now.
    pub fn report(&mut self) -> io::Result<LinkReport> {
        let socket = [self.ports[0].dropped()?, self.ports[1].dropped()?];
        let now = self.clock.read();
        Ok(LinkReport {
            forward: self.lanes[0].report(socket[0], now),
            reverse: self.lanes[1].report(socket[1], now),
            wakeups: self.wakeups,
            looks: self.looks,
            ahead: !self.pace.ahead.is_zero(),
            oversleep: self.oversleep.summary(),
            pool_exhausted: self.pool.exhausted(),
            cpu: self.cpu,
            wall: self.wall,
        })
    }

    /// Ends the link. Packets that are still inside are counted, and lost. The observers come back in the order in which they were
    /// given.
    pub fn finish(mut self) -> io::Result<(LinkReport, Vec<O>)> {
        let report = self.report()?;
        let [forward, reverse] = self.lanes.map(|lane| lane.path.into_observers());
        let both = forward.into_iter().zip(reverse);
        Ok((
            report,
            both.flat_map(|(forward, reverse)| [forward, reverse])
                .collect(),
        ))
    }
}

/// The links of each direction in a row, with their changes and observers.
fn members<O>(
    links: impl Iterator<Item = NextLink>,
    changes: Vec<(Time, LinkChange)>,
    observers: impl IntoIterator<Item = O>,
) -> Result<[Vec<Member<O>>; 2], ConfigError> {
    let mut observers = observers.into_iter();
    let mut members: [Vec<Member<O>>; 2] = [Vec::new(), Vec::new()];
    for link in links {
        for (members, config) in members.iter_mut().zip([link.forward, link.reverse]) {
            members.push(Member {
                config,
                delay: link.delay,
                changes: Vec::new(),
                observer: observers.next().ok_or(ConfigError::Observers)?,
            });
        }
    }
    for (at, change) in changes {
        let (hop, direction) = change.side();
        members[direction.index()][hop.index()]
            .changes
            .push((at, change));
    }
    Ok(members)
}
