//! The figures of [`super::experiment`] from a result of the virtual world: its summary, the series of its windows, and its packets.
//!
//! | figure | over real TCP |
//! | --- | --- |
//! | queues, groups, utilisation | those of the summary |
//! | bursts, longest passage | the same recorder, which sees the packets of `packets.pcapng` enter and leave |
//! | windows | rows of `flows.parquet` after the warm-up, every 10 ms if there are several |
//! | reductions of a window | recoveries that the packets show: a segment is sent again, and none was in the window before |
//! | goodput | the summary's rates, so of flows that were alive all the time |
//!
//! Receivers are those of the kernel, which gather SACKs for up to a millisecond.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use quell_aqm::{Drop, DropReason, Observer as _, Packet, QueueId};
use quell_lab::results::read::captured::{Captured, Fate, packets};
use quell_lab::results::read::{self, LONGEST, columns};
use quell_lab::{RunError, Scenario};
use quell_measure::{BurstRecorder, Direction, Summary, WindowSamples};
use quell_units::{Bytes, Ecn, Time};

use super::experiment::{ExperimentResult, Packets, SAMPLE};
use super::failed;

/// The figures of the result in `folder`.
pub(super) fn experiment(scenario: &Scenario, folder: &Path) -> Result<ExperimentResult, RunError> {
    let text = read::text(&folder.join("summary.json"), LONGEST).map_err(failed)?;
    let summary: Summary = serde_json::from_str(&text).map_err(failed)?;
    let figures = &summary.figures;
    let groups = scenario.groups.iter().zip(&figures.groups);
    let is_tcp = |summary: &&quell_measure::GroupSummary| summary.congestion_control.is_some();
    let tcp = figures.groups.iter().filter(is_tcp);
    let forward = groups.filter(|(group, _)| group.direction == Direction::Forward);
    let forward = forward.map(|(_, group)| Packets {
        name: group.name.clone(),
        packets: group.packets,
        dropped: group.dropped,
        median_ms: group.delay_ms.map(|delay| delay.p50),
    });
    let queues = figures.queues.iter();
    let queues = queues.filter(|queue| queue.direction == Direction::Forward);
    let mut link = Crossing::new(scenario);
    packets(&folder.join("packets.pcapng"), |packet| link.see(&packet)).map_err(failed)?;
    let run = &scenario.run;
    Ok(ExperimentResult {
        length_ns: (run.duration - run.warmup).as_nanos(),
        utilisation: figures.link.utilisation,
        queues: queues.cloned().collect(),
        groups: forward.collect(),
        variance_ratio: variance_ratio(run.warmup, folder)?,
        cuts: link.cuts(),
        goodput: tcp.flat_map(|group| &group.goodput_bps).sum(),
        longest_ns: link.longest.as_nanos(),
        bursts: link.finish(run.duration),
    })
}

/// Windows are compared every 10 ms. A single flow's has nothing to be compared with, and the ratio is one however often it is sampled: as
/// often as the scenario says then, because over ADSL a sample every 10 ms took 43 % of a run's processor time.
pub(super) fn interval(scenario: &Scenario) -> Time {
    let groups = scenario.groups.iter();
    let over_tcp = groups.filter(|group| group.congestion_control.is_some());
    match over_tcp.map(|group| group.count).sum::<u32>() {
        0..=1 => scenario.run.interval,
        _ => SAMPLE,
    }
}

/// Of the windows after the warm-up.
fn variance_ratio(warmup: Time, folder: &Path) -> Result<Option<f64>, RunError> {
    let wanted = ["time_ns", "flow", "congestion_window_bytes"];
    let rows = columns::read(&folder.join("flows.parquet"), wanted).map_err(failed)?;
    let mut flows: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for [time, flow, window] in &rows {
        let window = window.number();
        if time.number() > warmup.as_nanos() as f64 && window.is_finite() {
            flows.entry(flow.number() as u64).or_default().push(window);
        }
    }
    let rounds = flows.values().map(Vec::len).min().unwrap_or(0);
    let mut samples = WindowSamples::new(flows.len());
    for round in 0..rounds {
        samples.sample(flows.values().map(|windows| windows[round]));
    }
    Ok(samples.variance_ratio())
}

/// The forward queue, as its packets show it.
struct Crossing {
    link: quell_lab::scenario::DirectionSpec,
    warmup: Time,
    bursts: BurstRecorder,
    /// Packets in the queue, the next to leave first.
    inside: BinaryHeap<Reverse<Inside>>,
    longest: Time,
    senders: Senders,
}

/// When a packet leaves the queue, its place among those of one time, its flow, its length, and whether it is dropped then.
type Inside = (Time, u64, u64, Bytes, bool);

impl Crossing {
    fn new(scenario: &Scenario) -> Self {
        let link = scenario.links[0].forward.clone();
        let (rtt, warmup) = (scenario.groups[0].rtt, scenario.run.warmup);
        Self {
            bursts: BurstRecorder::new(rtt, link.rate, warmup),
            link,
            warmup,
            inside: BinaryHeap::new(),
            longest: Time::ZERO,
            senders: Senders::default(),
        }
    }

    fn see(&mut self, packet: &Captured<'_>) {
        if packet.interface != Direction::Forward.name() {
            return;
        }
        let at = packet.arrival;
        self.leave_until(at);
        let segment = Segment::of(packet.header, packet.length);
        let flow = self.senders.send(&segment, at >= self.warmup);
        let seen = Seen {
            length: packet.length,
            flow,
        };
        if packet.fate == Fate::Dropped && packet.sojourn.is_zero() {
            self.bursts.dropped(seen, drop(false), at);
            return;
        }
        self.bursts.enqueued(QueueId::default(), &seen, at);
        if packet.fate == Fate::Queued {
            return;
        }
        let place = self.inside.len() as u64;
        let is_dropped = packet.fate == Fate::Dropped;
        let leaves = at + packet.sojourn;
        let inside = (leaves, place, flow, packet.length, is_dropped);
        self.inside.push(Reverse(inside));
        if !is_dropped {
            let sent = self.link.framing().link_bytes(packet.length);
            let passage = packet.sojourn + self.link.rate.time_for(sent);
            self.longest = self.longest.max(passage);
        }
    }

    /// A departure comes before an arrival at the same time.
    fn leave_until(&mut self, now: Time) {
        while let Some(next) = self.inside.peek_mut() {
            if next.0.0 > now {
                return;
            }
            let Reverse((at, _, flow, length, is_dropped)) = PeekMut::pop(next);
            let seen = Seen { length, flow };
            match is_dropped {
                true => self.bursts.dropped(seen, drop(true), at),
                false => self.bursts.dequeued(QueueId::default(), &seen, at),
            }
        }
    }

    fn cuts(&self) -> u64 {
        self.senders.cuts
    }

    fn finish(mut self, end: Time) -> quell_measure::Bursts {
        self.leave_until(end);
        self.bursts.finish(end)
    }
}

fn drop(queued: bool) -> Drop {
    Drop {
        queue: QueueId::default(),
        reason: DropReason::Limit,
        queued,
    }
}

/// A packet for the recorder of bursts.
struct Seen {
    length: Bytes,
    flow: u64,
}

impl Packet for Seen {
    fn len(&self) -> Bytes {
        self.length
    }
    fn memory(&self) -> Bytes {
        self.length
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn flow(&self) -> u64 {
        self.flow
    }
    fn value(&self) -> u16 {
        0
    }
    fn set_value(&mut self, _value: u16) {}
    fn arrival(&self) -> Time {
        Time::ZERO
    }
    fn set_arrival(&mut self, _at: Time) {}
}

/// What the headers of a packet say of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    /// Addresses, ports and protocol.
    flow: [u8; 13],
    /// Of TCP with data: the number of the first byte, and how many.
    data: Option<(u32, u32)>,
}

impl Segment {
    const TCP: u8 = 6;

    /// Of the first bytes of an IPv4 packet; what is not there counts as zero.
    fn of(header: &[u8], length: Bytes) -> Self {
        let byte = |at: usize| header.get(at).copied().unwrap_or(0);
        let ports = usize::from(byte(0) & 15) * 4;
        let protocol = byte(9);
        let mut flow = [protocol; 13];
        for (place, at) in (12..20).chain(ports..ports + 4).enumerate() {
            flow[place] = byte(at);
        }
        let header_length = ports + usize::from(byte(ports + 12) >> 4) * 4;
        let payload = length.get().saturating_sub(header_length as u64) as u32;
        let number = [4, 5, 6, 7].map(|at| byte(ports + at));
        let is_data = protocol == Self::TCP && payload > 0;
        Self {
            flow,
            data: is_data.then(|| (u32::from_be_bytes(number), payload)),
        }
    }
}

/// What the senders of data have sent, flow by flow.
#[derive(Debug, Default)]
struct Senders {
    flows: BTreeMap<[u8; 13], Sender>,
    /// Recoveries that began after the warm-up.
    cuts: u64,
}

#[derive(Debug, Clone, Copy)]
struct Sender {
    number: u64,
    /// Once it has sent data.
    progress: Option<Progress>,
}

#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Behind the highest byte sent.
    sent: u32,
    /// Everything sent before this repairs one recovery.
    recovery: u32,
}

impl Senders {
    /// A packet is sent; returns the number of its flow.
    fn send(&mut self, segment: &Segment, counts: bool) -> u64 {
        let next = self.flows.len() as u64;
        let sender = self.flows.entry(segment.flow).or_insert(Sender {
            number: next,
            progress: None,
        });
        if let Some((first, length)) = segment.data {
            let progress = sender.progress.get_or_insert(Progress {
                sent: first,
                recovery: first,
            });
            let is_before = |number: u32, other: u32| (number.wrapping_sub(other) as i32) < 0;
            if !is_before(first, progress.sent) {
                progress.sent = first.wrapping_add(length);
            } else if !is_before(first, progress.recovery) {
                // The first of a window that is sent again: everything that is in flight belongs to this recovery.
                progress.recovery = progress.sent;
                self.cuts += u64::from(counts);
            }
        }
        sender.number
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use quell_lab::scenario::Override;
    use quell_lab::{Options, World, run, sim};

    use super::*;
    use crate::probe::experiment::measured;

    /// A segment of `flow` with bytes from `first` on.
    fn segment(flow: u8, first: u32, length: u32) -> Segment {
        Segment {
            flow: [flow; 13],
            data: Some((first, length)),
        }
    }

    #[test]
    fn all_that_is_sent_again_of_one_window_is_one_reduction() {
        let mut senders = Senders::default();
        let start = u32::MAX - 1_500;
        let at = |segments: u32| start.wrapping_add(segments * 1_000);
        // A handshake has no data, whatever its number.
        let handshake = Segment {
            flow: [1; 13],
            data: None,
        };
        senders.send(&handshake, true);
        let mut send = |flow, segments| senders.send(&segment(flow, at(segments), 1_000), true);
        for segments in 0..10 {
            assert_eq!(send(1, segments), 0);
        }
        // Lost: 2, 5, 7. New data goes on during the recovery.
        send(1, 2);
        send(1, 10);
        send(1, 5);
        send(1, 7);
        // The next window loses 10, twice: also that is one recovery.
        for segments in 11..15 {
            send(1, segments);
        }
        send(1, 10);
        send(1, 10 + 1);
        assert_eq!(send(2, 0), 1, "another flow");
        send(2, 1);
        send(2, 0);
        assert_eq!(senders.cuts, 3);
        // An acknowledgement and what belongs to the warm-up count nothing.
        let pure = Segment {
            flow: [2; 13],
            data: None,
        };
        senders.send(&pure, true);
        senders.send(&segment(2, at(1), 1_000), false);
        assert_eq!(senders.cuts, 3);
    }

    #[test]
    fn windows_are_compared_often_and_a_single_one_seldom() {
        let interval_of = |file| {
            let text = crate::shipped::scenario(file).unwrap();
            let scenario = Scenario::load(file, text, &[], None).unwrap().scenario;
            interval(&scenario)
        };
        assert_eq!(interval_of("gsp2014/e1-taildrop.toml"), SAMPLE);
        let single = interval_of("homegateway2011/adsl1.toml");
        assert_eq!(single, Time::from_millis(100));
    }

    /// The same run, measured while it happens and read from its result: the simulator writes packets as well.
    #[test]
    fn what_is_read_from_a_result_is_what_was_measured() {
        let text = crate::shipped::scenario("gsp2014/e1-taildrop.toml").unwrap();
        let sets = ["link.rate=20mbit", "link.queue.limit=75kB"];
        let sets = sets.into_iter().map(|set| Override::set(set).unwrap());
        let sets: Vec<Override> = sets
            .chain([
                Override::duration("30s"),
                Override::set("run.warmup=10s").unwrap(),
            ])
            .collect();
        let mut scenario = Scenario::load("e1", text, &sets, None).unwrap().scenario;
        scenario.run.interval = SAMPLE;
        scenario.run.seeds = vec![1];
        let stop = AtomicBool::new(false);
        let config = sim::simulation(&scenario, 1).unwrap();
        let measured = measured(config, &scenario, &stop).unwrap();
        assert!(
            measured.bursts.count > 5 && measured.cuts > 20,
            "{measured:?}"
        );

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("run");
        let options = Options {
            out: Some(folder.clone()),
            packets: true,
            ..Options::new(World::Sim, &stop)
        };
        run(&scenario, options, &mut |_| {}).unwrap();
        let read = experiment(&scenario, &folder).unwrap();
        assert_eq!(read.bursts, measured.bursts);
        assert_eq!(read.longest_ns, measured.longest_ns);
        assert_eq!(read.utilisation, measured.utilisation);
        assert_eq!(read.length_ns, measured.length_ns);
        let counts = |result: &ExperimentResult| {
            let groups = result.groups.iter();
            let groups =
                groups.map(|one| (one.name.clone(), one.packets, one.dropped, one.median_ms));
            groups.collect::<Vec<_>>()
        };
        assert_eq!(counts(&read), counts(&measured));
        let near = |read: f64, measured: f64, percent: f64| {
            let off = 100.0 * (read / measured - 1.0);
            assert!(off.abs() <= percent, "{read} for {measured}");
        };
        near(read.goodput, measured.goodput, 0.01);
        // Windows are read a moment earlier or later. A recovery that begins with the repair of what was lost in the recovery before is one
        // with it in the packets.
        near(
            read.variance_ratio.unwrap(),
            measured.variance_ratio.unwrap(),
            2.0,
        );
        near(read.cuts as f64, measured.cuts as f64, 5.0);
    }

    #[test]
    fn a_segment_is_what_its_headers_say() {
        let mut header = [0_u8; 60];
        header[0] = 0x46;
        header[9] = 6;
        header[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        header[24..28].copy_from_slice(&[1, 2, 3, 4]);
        header[28..32].copy_from_slice(&[0, 0, 1, 0]);
        header[36] = 8 << 4;
        let found = Segment::of(&header, Bytes::new(1_500));
        assert_eq!(found.flow, [10, 77, 0, 1, 10, 77, 0, 2, 1, 2, 3, 4, 6]);
        assert_eq!(found.data, Some((256, 1_500 - 24 - 32)));
        assert_eq!(Segment::of(&header, Bytes::new(56)).data, None);
        header[9] = 17;
        assert_eq!(Segment::of(&header, Bytes::new(1_500)).data, None);
        assert_eq!(Segment::of(&[], Bytes::new(40)).data, None);
    }
}
