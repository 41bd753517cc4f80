//! The capacity of a link: the packets in its queues and on its wires.

use std::iter::once;

use quell_aqm::parts::QueueLimit;
use quell_tcp::Segment;
use quell_units::parameter::{Value, limit_bytes};
use quell_units::{Bytes, Rate, Settings, Time};

use super::keys::MTU;
use super::{Direction, Group, Scenario, Setting, Side};

/// Bytes in the largest receive window that TCP can have: no flow has more outstanding.
const WINDOW: u64 = 1 << 30;

/// Segments that a TCP flow has outstanding at most.
pub(super) fn window(group: &Group) -> u64 {
    let payload = group.full_payload().get();
    let window = WINDOW / payload + 1;
    let most = group.app.most_payload();
    most.map_or(window, |most| window.min(most.get() / payload + 2))
}

/// Segments that the user's end of a session's connection has outstanding at most: requests, and what goes with them.
const REQUESTS: u64 = 64;

/// Connections of which a flow has state at one time. Of a session these are also those that have ended for its applications, and of
/// which TCP still repairs something: as many again.
pub(super) fn connections(scenario: &Scenario, group: &Group) -> u64 {
    let Some(session) = group.app.session() else {
        return 1;
    };
    let opened = most_opened(scenario, group, scenario.run.duration);
    let opened = opened.unwrap_or(u64::MAX);
    let living = opened.min(session.connections.into());
    opened.min(2 * living + 2)
}

/// The most connections that a flow of a session asks for in `span`, where something else than their number at one time bounds them.
pub(super) fn most_opened(scenario: &Scenario, group: &Group, span: Time) -> Option<u64> {
    let opened = scenario.apps(group).map(|app| app.most_opened(span));
    opened.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// The shortest mean time between two datagrams; `None` over TCP.
pub(super) fn datagram_gap(scenario: &Scenario, group: &Group) -> Option<Time> {
    let gaps = scenario.apps(group).map(|app| app.datagram_gap());
    gaps.flatten().min()
}

/// The most IP bytes that can be in flight in one direction: full queues, and the bandwidth-delay product of the fastest link. A link
/// without a rate limit holds no queue, and what flows through it is bounded by the others and the other direction.
pub fn bytes_in_flight(scenario: &Scenario, direction: Direction) -> Bytes {
    bytes_in_flight_over(scenario, direction, longest_rtt(scenario))
}

/// The bytes in flight where the longest base RTT is `rtt`, whatever the groups have.
pub fn bytes_in_flight_over(scenario: &Scenario, direction: Direction, rtt: Time) -> Bytes {
    let hops = scenario.hops().iter();
    let sides = hops.map(|hop| Side { hop, direction });
    let mut most = Rate::ZERO;
    let mut queues = Bytes::ZERO;
    for side in sides {
        // One that has a limit only for a time has a queue then.
        let limited = rates(scenario, side).filter(|rate| !rate.is_unlimited());
        if let Some(rate) = limited.max() {
            most = most.max(rate);
            queues += queue_bytes(scenario, side, rate);
        }
    }
    most.bytes_in(rtt) + queues
}

/// The packets of both directions, forward and reverse.
pub fn in_flight(scenario: &Scenario) -> [u64; 2] {
    [Direction::Forward, Direction::Reverse]
        .map(|direction| bytes_in_flight(scenario, direction).get())
}

/// The largest receive window that a flow needs, in bytes: one alone may fill the queue and the path; twice that, since a
/// kernel counts overhead.
pub fn largest_window(in_flight: [u64; 2]) -> u64 {
    let largest = in_flight.into_iter().max();
    (2 * largest.unwrap_or(0)).clamp(4 << 20, 1 << 30)
}

/// The most flows that a group ever has at one time.
pub fn most_flows(scenario: &Scenario, index: usize) -> u32 {
    let later = counts(scenario, index);
    later.fold(scenario.groups[index].count, u32::max)
}

/// The flows that a group ever has, one after the other: each rise of its count starts further ones.
pub fn all_flows(scenario: &Scenario, index: usize) -> u64 {
    let mut living = scenario.groups[index].count;
    let mut all = u64::from(living);
    for count in counts(scenario, index) {
        all += u64::from(count.saturating_sub(living));
        living = count;
    }
    all
}

fn counts(scenario: &Scenario, index: usize) -> impl Iterator<Item = u32> {
    let settings = scenario.changes.iter().flat_map(|change| &change.set);
    settings.filter_map(move |setting| match setting {
        Setting::Count { group, count } if *group == index => Some(*count),
        _ => None,
    })
}

pub(crate) fn longest_rtt(scenario: &Scenario) -> Time {
    let rtts = (0..scenario.groups.len()).flat_map(|group| rtts(scenario, group));
    let delays = scenario.sides().map(|side| scenario.longest_delay(side));
    delays.fold(rtts.max().unwrap_or(Time::ZERO), |sum, delay| sum + delay)
}

/// Every base RTT that a group has during the run.
pub(super) fn rtts(scenario: &Scenario, index: usize) -> impl Iterator<Item = Time> {
    let later = scenario.changes.iter().flat_map(|change| &change.set);
    let later = later.filter_map(move |setting| match setting {
        Setting::Rtt { group, rtt } if *group == index => Some(*rtt),
        _ => None,
    });
    once(scenario.groups[index].rtt).chain(later)
}

/// Every rate that a side has during the run.
pub(super) fn rates(scenario: &Scenario, side: Side) -> impl Iterator<Item = Rate> {
    let later = scenario.changes.iter().flat_map(|change| &change.set);
    let later = later.filter_map(move |setting| match setting {
        Setting::Rate(which, rate) if *which == side => Some(*rate),
        _ => None,
    });
    let spec = scenario.side(side);
    // Of a trace the bounds say enough.
    let traced = spec.course.iter().flat_map(|course| {
        let stops = (!course.longest_outage().is_zero()).then_some(Rate::ZERO);
        [course.slowest(), course.fastest()]
            .into_iter()
            .chain(stops)
    });
    once(spec.rate).chain(traced).chain(later)
}

pub(super) fn fastest(scenario: &Scenario, side: Side) -> Rate {
    rates(scenario, side).max().unwrap_or(Rate::ZERO)
}

/// The most that the queue of a side can hold at `rate`, with any limit that it has during the run.
pub(super) fn queue_bytes(scenario: &Scenario, side: Side, rate: Rate) -> Bytes {
    let rooms = limits(scenario, side).into_iter().flatten();
    let bytes = rooms.filter_map(|room| room.at(rate));
    bytes.max().unwrap_or(Bytes::ZERO)
}

/// The limit of a queue: the sum of its limits, each in its own unit.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    packets: u64,
    bytes: Bytes,
    /// At the link's rate.
    time: Time,
    /// The least bytes that a limit in time holds, whatever the rate.
    least: Bytes,
}

impl Room {
    fn add(&mut self, limit: Value, times: u64) {
        match limit {
            Value::Packets(packets) => {
                let packets = packets.saturating_mul(times);
                self.packets = self.packets.saturating_add(packets);
            }
            Value::Bytes(bytes) => self.bytes += Bytes::new(bytes.get().saturating_mul(times)),
            Value::Time(time) => {
                self.time += time * times;
                let packets = QueueLimit::LEAST_OF_DEFAULT.saturating_mul(times);
                self.least += Bytes::new(packets * MTU.get());
            }
            _ => {}
        }
    }
    /// Whether something else than packets counts.
    fn has_bytes(self) -> bool {
        self.bytes > Bytes::ZERO || !self.time.is_zero()
    }
    /// The limit in bytes, but for packets; `None` without a rate for a time.
    fn bytes_at(self, rate: Rate) -> Option<Bytes> {
        if self.time.is_zero() {
            return Some(self.bytes);
        }
        limit_bytes(Value::Time(self.time), rate).map(|time| self.bytes + time.max(self.least))
    }
    /// The limit in bytes, with packets of full size.
    fn at(self, rate: Rate) -> Option<Bytes> {
        let packets = Bytes::new(self.packets.saturating_mul(MTU.get()));
        self.bytes_at(rate).map(|bytes| bytes + packets)
    }
}

/// Every limit that the queue of a side has during the run; `None` for a discipline without one.
fn limits(scenario: &Scenario, side: Side) -> Vec<Option<Room>> {
    let mut settings = scenario.side(side).queue.settings.clone();
    let first = limit_of(&settings);
    let changes = scenario.changes.iter().flat_map(|change| &change.set);
    let later = changes.filter_map(move |setting| match setting {
        Setting::Queue {
            side: which,
            key,
            value,
        } if *which == side && settings.set(key, value).is_ok() => Some(limit_of(&settings)),
        _ => None,
    });
    once(first).chain(later).collect()
}

/// A discipline has one limit, or one for each of its queues.
const LIMITS: [&str; 3] = ["limit", "limit_l4s", "limit_classic"];

fn limit_of(settings: &Settings) -> Option<Room> {
    // What a FIFO holds beside what it will send.
    let times = match settings.applicable_value("buffer") {
        Some(Value::Integer(times)) => times,
        _ => 1,
    };
    let mut room = None;
    for name in LIMITS {
        if let Some(limit) = settings.applicable_value(name) {
            let room: &mut Room = room.get_or_insert_default();
            room.add(limit, times);
        }
    }
    room
}

/// Packets that a TCP sender lets wait for its own link: two bursts and the one that is leaving, each of a millisecond at
/// twice the rate, longer for close peers, and of 64 KiB at most (`quell_tcp`, `sender/tso.rs`).
fn in_host(access: Rate, rtt: Time, packet: Bytes) -> u64 {
    const LARGEST: u64 = 1 << 16;
    let burst = access.bytes_in(Time::from_millis(2)).get();
    let close = LARGEST >> (rtt.as_nanos() / 512_000).min(63);
    let burst = burst.saturating_add(close).clamp(2 * packet.get(), LARGEST);
    3 * (burst / packet.get() + 1)
}

/// The most packets that wait in hosts for their own links.
pub(super) fn in_hosts(scenario: &Scenario) -> u64 {
    let groups = scenario.groups.iter().enumerate();
    let waiting = groups.filter(|(_, group)| !group.access_rate.is_unlimited());
    let waiting = waiting.map(|(index, group)| {
        let each = match datagram_gap(scenario, group) {
            // Its link carries them on average; what comes early waits.
            Some(gap) => {
                let all = scenario.run.duration.as_nanos() / gap.as_nanos();
                4 * all.isqrt() + 16
            }
            None => {
                let each = in_host(group.access_rate, group.rtt, group.full_packet());
                each.min(window(group))
                    .saturating_mul(connections(scenario, group))
            }
        };
        all_flows(scenario, index).saturating_mul(each)
    });
    waiting.fold(0, u64::saturating_add)
}

/// Packets of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnderWay {
    /// Packets in the queue.
    pub(super) queued: u64,
    /// On the wires.
    pub(super) on_wires: u64,
}

impl UnderWay {
    pub(super) fn all(self) -> u64 {
        self.queued.saturating_add(self.on_wires)
    }
}

/// The kind of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// Data of TCP flows.
    Data,
    /// Acknowledgements of the other direction's data.
    Acknowledgements,
    /// Datagrams, so much time apart on average.
    Datagrams(Time),
}

/// The packets of one group in one direction, which are alike.
#[derive(Debug, Clone, Copy)]
struct Stream {
    carries: Carries,
    len: Bytes,
    flows: u64,
    /// Segments that a flow has outstanding at most, and the IP length of a full one.
    window: u64,
    segment: Bytes,
    /// The rate of each sender's own link.
    access: Rate,
    rtt: Time,
}

/// The most packets that a side holds at any time, of those that `counts` selects: if as many small ones come as can.
pub(super) fn under_way(scenario: &Scenario, side: Side, counts: fn(Carries) -> bool) -> UnderWay {
    let held = at_side(scenario, side, counts);
    if scenario.links.len() == 1 || !fastest(scenario, side).is_unlimited() {
        return held;
    }
    // What passes a link without a limit comes from, or goes to, one with a limit: connections have no more than four times the data
    // outstanding that those hold.
    let others = scenario.hops().iter();
    let others = others.map(|hop| Side { hop, ..side });
    let others = others.filter(|other| !fastest(scenario, *other).is_unlimited());
    let others = others.map(|other| at_side(scenario, other, counts).all());
    let most = others.fold(0, u64::saturating_add).saturating_mul(4);
    UnderWay {
        on_wires: match most {
            0 => held.on_wires,
            most => held.on_wires.min(most.saturating_add(64)),
        },
        ..held
    }
}

fn at_side(scenario: &Scenario, side: Side, counts: fn(Carries) -> bool) -> UnderWay {
    let groups = scenario.groups.iter().enumerate();
    let groups = groups.filter(|(_, group)| group.path.contain(side.hop));
    let streams = groups.flat_map(|(index, group)| streams(scenario, index, group, side.direction));
    let mut streams: Vec<Stream> = streams.filter(|stream| counts(stream.carries)).collect();
    streams.sort_by_key(|stream| stream.len);
    let queued = queued(scenario, side, &streams);
    UnderWay {
        queued,
        on_wires: on_wires(scenario, side, &streams, queued),
    }
}

/// The streams of a group in one direction: both ends of a session send data, which the other one acknowledges.
fn streams(
    scenario: &Scenario,
    index: usize,
    group: &Group,
    direction: Direction,
) -> impl Iterator<Item = Stream> {
    let here = group.direction == direction;
    let first = stream(scenario, index, group, here);
    let is_session = group.app.session().is_some();
    let second = is_session.then(|| stream(scenario, index, group, !here));
    // In one direction are the requests, in the other what acknowledges them.
    let second = second.flatten().map(|stream| Stream {
        window: REQUESTS,
        access: Rate::UNLIMITED,
        ..stream
    });
    first.into_iter().chain(second)
}

/// The stream of the sender in the direction of the data if it is `here`, or else of the receiver.
fn stream(scenario: &Scenario, index: usize, group: &Group, here: bool) -> Option<Stream> {
    let (carries, len) = match (group.app.datagrams(), here) {
        (Some(datagrams), here) if here || datagrams.both_ways => {
            let gap = datagram_gap(scenario, group).unwrap_or(datagrams.interval.mean);
            (Carries::Datagrams(gap), datagrams.least)
        }
        (Some(_), _) => return None,
        (None, true) => (Carries::Data, group.full_packet()),
        (None, false) => (Carries::Acknowledgements, Segment::HEADERS),
    };
    Some(Stream {
        carries,
        len,
        flows: all_flows(scenario, index).saturating_mul(connections(scenario, group)),
        window: window(group),
        segment: group.full_packet(),
        access: group.access_rate,
        rtt: rtts(scenario, index).max().unwrap_or(group.rtt),
    })
}

/// The most packets of a stream that come within `span`.
fn arrivals(scenario: &Scenario, side: Side, stream: &Stream, span: Time) -> u64 {
    // Each may be sent again.
    let window = stream.flows.saturating_mul(2 * stream.window);
    match stream.carries {
        Carries::Data => {
            let each = stream.access.bytes_in(span).get() / stream.segment.get();
            let each = each.saturating_add(in_host(stream.access, stream.rtt, stream.segment));
            window.min(stream.flows.saturating_mul(each))
        }
        Carries::Acknowledgements => {
            // Two at most for each segment that the other direction's link lets through.
            let other = side.back();
            let framing = scenario.side(other).framing();
            let segment = framing.link_bytes(stream.segment);
            let segments = fastest(scenario, other).bytes_in(span).get() / segment.get();
            segments.saturating_mul(2).min(window)
        }
        Carries::Datagrams(mean) => {
            // The schedule's mean, and four deviations more.
            let each = span.as_nanos() / mean.as_nanos().max(1);
            stream.flows.saturating_mul(each + 4 * each.isqrt() + 16)
        }
    }
}

/// The number of packets that fit a room of which a packet takes `size`, the smallest first; `most` of a stream.
fn fill(
    streams: &[Stream],
    room: u128,
    size: impl Fn(Bytes) -> u128,
    most: impl Fn(&Stream) -> u64,
) -> u64 {
    let (mut packets, mut left) = (0_u64, room);
    for stream in streams {
        let size = size(stream.len).max(1);
        let fit = u64::try_from(left / size).unwrap_or(u64::MAX);
        let fit = fit.min(most(stream));
        left -= u128::from(fit) * size;
        packets = packets.saturating_add(fit);
    }
    packets
}

fn queued(scenario: &Scenario, side: Side, streams: &[Stream]) -> u64 {
    let rates: Vec<Rate> = rates(scenario, side).collect();
    if rates.iter().all(|rate| rate.is_unlimited()) {
        return 0;
    }
    // While a link stands still nothing is acknowledged, and so nothing more is sent than windows hold.
    let moving = rates.iter().copied().filter(|rate| !rate.is_zero());
    let slowest = moving.min().unwrap_or(Rate::ZERO);
    let duration = scenario.run.duration;
    let queued = limits(scenario, side).into_iter().map(|limit| {
        // Where there is no limit for a time, neither has a queue in time one, should the link then stand still.
        let most = |of: fn(Room, Rate) -> Option<Bytes>| {
            let bytes = limit.map(|room| rates.iter().filter_map(|&rate| of(room, rate)).max());
            bytes.flatten().unwrap_or(Bytes::MAX)
        };
        // What does not respond comes for as long as a packet waits: twice the drain time, should a scheduler prefer others.
        let wait = (slowest.time_for(most(Room::at)) * 2).min(duration);
        let stops = rates.iter().any(|rate| rate.is_zero());
        let arrivals = |stream: &Stream| {
            let datagrams = matches!(stream.carries, Carries::Datagrams(_));
            let span = if stops && datagrams { duration } else { wait };
            arrivals(scenario, side, stream, span)
        };
        let packets = limit.map_or(0, |room| room.packets);
        let by_number = fill(streams, packets.into(), |_| 1, arrivals);
        if limit.is_some_and(|room| !room.has_bytes()) {
            return by_number;
        }
        let len = |len: Bytes| u128::from(len.get());
        // Some rules let one more packet in.
        let bytes = u128::from((most(Room::bytes_at) + MTU).get());
        by_number.saturating_add(fill(streams, bytes, len, arrivals))
    });
    queued.max().unwrap_or(0).saturating_add(1)
}

fn on_wires(scenario: &Scenario, side: Side, streams: &[Stream], queued: u64) -> u64 {
    let impaired = scenario.most_delay(side);
    let delay = longest_rtt(scenario) / 2 + impaired + Time::from_nanos(1);
    let rate = fastest(scenario, side);
    let framing = scenario.side(side).framing();
    let room = if rate.is_unlimited() {
        u128::MAX
    } else {
        // A room in bytes would round down to nothing.
        u128::from(rate.as_bps()) * u128::from(delay.as_nanos()) / 8_000_000_000 + 1
    };
    let size = |len| u128::from(framing.link_bytes(len).get());
    let fit = fill(streams, room, size, |_| u64::MAX);
    // What comes meanwhile, and what waited before.
    let come = streams
        .iter()
        .map(|stream| arrivals(scenario, side, stream, delay));
    let come = come.fold(queued, u64::saturating_add);
    fit.min(come).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::disciplines::KINDS;
    use quell_units::parameter::Domain;

    #[test]
    fn every_limit_of_every_discipline_counts() {
        for kind in KINDS {
            assert!(
                limit_of(&Settings::new(kind.parameters)).is_some(),
                "{}",
                kind.name
            );
            for row in kind.parameters {
                // A threshold may have the same form.
                let is_limit =
                    row.name.starts_with("limit") && matches!(row.domain, Domain::Limit { .. });
                assert!(
                    !is_limit || LIMITS.contains(&row.name),
                    "{}: {}",
                    kind.name,
                    row.name
                );
            }
        }
    }

    #[test]
    fn the_limits_of_several_queues_add_up_each_in_its_unit() {
        let kind = KINDS.iter().find(|kind| kind.name == "vdq_csaqm").unwrap();
        let mut settings = Settings::new(kind.parameters);
        settings.set("limit_l4s", "100p").unwrap();
        settings.set("limit_classic", "10ms").unwrap();
        let room = limit_of(&settings).unwrap();
        // 150 000 bytes, and 10 ms at 100 Mbit/s are 125 000.
        assert_eq!(room.at(Rate::from_mbps(100)), Some(Bytes::new(275_000)));
        settings.set("limit_classic", "50p").unwrap();
        let room = limit_of(&settings).unwrap();
        assert!(!room.has_bytes() && room.packets == 150, "{room:?}");
    }
}
