//! The most memory that a simulated run takes, and the budget that it must stay within.
//!
//! The estimate is an upper bound for what flows can put into queues and onto wires, and for what is kept of each flow,
//! phase and seed. It counts what the allocator is asked for: a vector that grows asks for twice its size while half of
//! it is still there. `tests/robustness` holds it against the allocations of runs over the whole space of scenarios. Four
//! of its assumptions are no laws: connections have no more than four times the data outstanding that is in flight, and
//! none has more than eight times its share, or 64 segments; delays of a flow's datagrams lie within a factor of 256; of a
//! session's flow no more than 64 connections have ever had more than 64 segments outstanding, and no more of them have ended for
//! the applications alone than may be open.

use quell_aqm::Qdisc as _;
use quell_measure::{FlowRecorder, Recorder};
use quell_units::{Bytes, Random, Time};

use super::capacity::{
    Carries, all_flows, bytes_in_flight, connections, datagram_gap, fastest, in_hosts, most_flows,
    most_opened, queue_bytes, under_way, window,
};
use super::places::Places;
use super::problem::Problem;
use super::{Direction, Group, Hop, Scenario, Side};
use crate::World;

/// The most memory that the simulated runs of a process take together. The estimate of 10 000 flows at 10 Mbit/s fits,
/// of which a run uses a twentieth (`docs/evidence/speed.md`).
pub const MEMORY_BUDGET: Bytes = Bytes::new(4 << 30);
/// The most bytes that may be in flight where frames are real, what queues hold and what is on the way: each is kept whole.
pub const FRAMES_BUDGET: Bytes = Bytes::new(1 << 30);

/// Asked for, at most, by a vector that has doubled until something fits, per byte of what is in it.
const GROWTH: u64 = 3;
/// A packet in a queue, with what the discipline keeps beside it.
const QUEUED: u64 = 96;
/// A packet on a wire.
const ON_WIRE: u64 = quell_sim::PACKET_MEMORY;
/// The SACK blocks of an acknowledgement, and the place that it leaves.
const SACKS: u64 = 24 + 4;
/// The place of a packet that crosses several queues: options, and what it has waited.
const PLACED: u64 = 96;
/// A segment outstanding: in the scoreboard, as a retransmission, as a range of the receiver, and what some
/// controls want to know of it.
const OUTSTANDING: u64 = 32 + 16 + 16 + 16;
/// Memory of a flow before it has sent anything, in the simulation, in its plan and in the recorder.
const FLOW: u64 = quell_sim::FLOW_MEMORY + 2_560;
/// Memory of a session for each connection: both ends, its numbers, and the state of the applications.
const CONNECTION: u64 = quell_sim::CONNECTION_MEMORY + 512;
/// Connections of a flow that may have grown beyond [`SMALL`] segments outstanding.
const LARGE: u64 = 64;
const SMALL: u64 = 64;
/// Memory of the report of an application about a stretch between two cuts.
const REPORT: u64 = 256;
/// A bucket in the distribution of the delays of a flow of datagrams. There are 64 for each factor of two, and delays that lie
/// within a factor of 256.
const DELAY: u64 = 40;
const DELAYS: u64 = 8 * 64;
/// Least mean time between two things that an application of a session reports (a frame, a segment), where it does not say how many
/// connections it opens.
const HAPPENS: Time = Time::from_millis(10);
/// Buckets that each of them fills at most, in different distributions; buckets of all distributions of a report.
const FIGURES: u64 = 6;
const DISTRIBUTIONS: u64 = 24 << 14;
/// The record of one.
const RECORD: u64 = 160;
/// Rows that wait to be written, and the writer of both series.
const SERIES: u64 = 48 << 20;
/// Memory of the writer for each of these rows until the end.
const ROWS_PER_GROUP: u64 = 1 << 16;
const ROW_GROUP: u64 = 16 << 10;
/// The figures of a queue, a group and a flow in a summary.
const QUEUE_FIGURES: u64 = 2_560;
const GROUP_FIGURES: u64 = 3_072;
const FLOW_FIGURES: u64 = 16;
/// Memory of the summary of a queue as a tree of values, on the way to the mean of several runs, and in it.
const QUEUE_VALUES: u64 = 16 << 10;
const GROUP_VALUES: u64 = 16 << 10;
const FLOW_VALUES: u64 = 72;
const QUEUE_ESTIMATES: u64 = 64 << 10;
const GROUP_ESTIMATES: u64 = 64 << 10;
const FLOW_ESTIMATES: u64 = 960;
/// The program itself, the scenario, the texts of results.
const BASE: u64 = 16 << 20;

/// Memory of a scenario in the simulated world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Packets in queues and on wires, of one run.
    pub packets: Bytes,
    /// Flows with what they have outstanding, of one run.
    pub flows: Bytes,
    /// Markers with the flows that they remember, of one run.
    pub markers: Bytes,
    /// Histograms, rows and reports, of one run.
    pub recorders: Bytes,
    /// The figures of all runs, and their mean.
    pub results: Bytes,
}

impl Memory {
    /// The memory that `scenario` needs.
    pub fn of(scenario: &Scenario) -> Self {
        let queues: Vec<(Side, u64)> = scenario
            .sides()
            .map(|side| (side, queues(scenario, side)))
            .collect();
        let queues = &queues[..];
        Self {
            packets: Bytes::new(packets(scenario, queues)),
            flows: Bytes::new(flows(scenario)),
            markers: Bytes::new(markers(scenario)),
            recorders: Bytes::new(recorders(scenario, queues)),
            results: Bytes::new(results(scenario, queues)),
        }
    }

    /// The memory of one of several runs.
    pub fn run(self) -> Bytes {
        self.packets + self.flows + self.markers + self.recorders
    }

    /// The memory of a process that does `runs` at once.
    pub fn total(self, runs: u64) -> Bytes {
        Bytes::new(self.run().get().saturating_mul(runs)) + self.results
    }
}

const BOTH: [Direction; 2] = [Direction::Forward, Direction::Reverse];

/// Flows at one time.
fn living(scenario: &Scenario) -> u64 {
    let groups = 0..scenario.groups.len();
    groups
        .map(|index| u64::from(most_flows(scenario, index)))
        .sum()
}

/// Flows that there ever are.
fn ever(scenario: &Scenario) -> u64 {
    let groups = 0..scenario.groups.len();
    groups
        .map(|index| all_flows(scenario, index))
        .fold(0, u64::saturating_add)
}

/// The queues of a side.
fn queues(scenario: &Scenario, side: Side) -> u64 {
    let side = scenario.side(side);
    let built = side
        .queue
        .build::<quell_sim::Packet>(side.rate, Random::new(0, "memory"));
    built.map_or(1, |discipline| discipline.queues().len() as u64)
}

fn packets(scenario: &Scenario, queues: &[(Side, u64)]) -> u64 {
    // Where there are several links, every packet has a place for what is remembered of it.
    let each_placed = scenario.links.len() > 1;
    let each = queues.iter().map(|&(side, queues)| {
        let all = under_way(scenario, side, |_| true);
        // Handshakes, and what acknowledges nothing new, come on top.
        let control = handshakes(scenario);
        let acknowledgements = under_way(scenario, side, |carries| {
            carries == Carries::Acknowledgements
        });
        let placed = match each_placed {
            true => all.all().saturating_add(control).saturating_mul(PLACED),
            false => 0,
        };
        // Each queue may have held them all at some time, and keeps its room.
        let queued = all.queued.saturating_mul(queues * QUEUED);
        let on_wires = all.on_wires.saturating_add(control).saturating_mul(ON_WIRE);
        let sacks = acknowledgements.all().saturating_mul(SACKS);
        queued
            .saturating_add(on_wires)
            .saturating_add(sacks)
            .saturating_add(placed)
            .saturating_mul(GROWTH)
    });
    let in_hosts = in_hosts(scenario).saturating_mul(ON_WIRE * GROWTH);
    each.fold(in_hosts, u64::saturating_add)
}

/// Packets that open and close the connections which live at one time, per direction.
fn handshakes(scenario: &Scenario) -> u64 {
    let groups = scenario.groups.iter().enumerate();
    let each = groups.map(|(index, group)| {
        let flows = u64::from(most_flows(scenario, index));
        flows.saturating_mul(2 * connections(scenario, group))
    });
    each.fold(0, u64::saturating_add)
}

fn flows(scenario: &Scenario) -> u64 {
    let sessions = scenario.groups.iter().enumerate();
    let sessions = sessions.filter(|(_, group)| group.app.session().is_some());
    let sessions = sessions.map(|(index, group)| {
        let flow = connections(scenario, group).saturating_mul(CONNECTION);
        all_flows(scenario, index).saturating_mul(flow)
    });
    let fixed = ever(scenario).saturating_mul(FLOW);
    let fixed = sessions.fold(fixed, u64::saturating_add);
    let outstanding = BOTH.map(|direction| boards(scenario, direction));
    outstanding.into_iter().fold(fixed, u64::saturating_add)
}

fn markers(scenario: &Scenario) -> u64 {
    let marked = scenario.groups.iter().map(|group| marker(scenario, group));
    marked.fold(super::remark::memory(scenario), u64::saturating_add)
}

fn marker(scenario: &Scenario, group: &Group) -> u64 {
    let side = Side {
        hop: group.path.entry(group.direction),
        direction: group.direction,
    };
    let value = group.value.as_ref();
    value.map_or(0, |value| value.memory(scenario.side(side)))
}

/// Scoreboards and reassembly queues of the TCP flows whose data goes in `direction`.
fn boards(scenario: &Scenario, direction: Direction) -> u64 {
    let streams: Vec<(u64, u64, u64)> = scenario
        .groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.congestion_control.is_some())
        .filter(|(_, group)| group.direction == direction || group.app.session().is_some())
        .map(|(index, group)| {
            let window = match group.direction == direction {
                true => window(group),
                false => SMALL,
            };
            let flows = u64::from(most_flows(scenario, index));
            (flows, connections(scenario, group), window)
        })
        .collect();
    let living: u64 = streams.iter().map(|(flows, ..)| flows).sum();
    if living == 0 {
        return 0;
    }
    let held = |back: bool, counts: fn(Carries) -> bool| {
        let sides = scenario.hops().iter().map(|hop| Side { hop, direction });
        let sides = sides.map(|side| if back { side.back() } else { side });
        let held = sides.map(|side| under_way(scenario, side, counts).all());
        held.fold(0, u64::saturating_add)
    };
    let data = held(false, |carries| carries == Carries::Data);
    let acknowledged = held(true, |carries| carries == Carries::Acknowledgements);
    // An acknowledgement stands for two segments.
    let under_way = data.saturating_add(acknowledged.saturating_mul(2));
    let most = under_way.saturating_mul(4).saturating_add(64);
    let share = (most.saturating_mul(8) / living).max(64).min(most);
    // Rings have a power of two, at least 16; one of them grows while its old half is still there.
    let ring = |window: u64| share.min(window).max(16).next_power_of_two() * OUTSTANDING;
    let all = streams.iter().map(|&(flows, connections, window)| {
        let large = connections.min(LARGE).saturating_mul(ring(window));
        let small = connections.saturating_sub(LARGE);
        let small = small.saturating_mul(ring(window.min(SMALL)));
        (flows + 1).saturating_mul(large.saturating_add(small))
    });
    all.fold(0, u64::saturating_add)
}

fn recorders(scenario: &Scenario, queues: &[(Side, u64)]) -> u64 {
    let groups = scenario.groups.len();
    let links = queues.iter().map(|&(side, queues)| {
        let here = scenario
            .groups
            .iter()
            .filter(|group| group.direction == side.direction && group.path.contain(side.hop));
        // Behind the last of several queues there is the sum besides.
        let sums = here
            .clone()
            .filter(|group| group.path.count() > 1 && group.path.exit(side.direction) == side.hop);
        Recorder::memory(queues as usize, here.count() + sums.count())
    });
    let histograms = links.fold(FlowRecorder::memory(groups), u64::saturating_add);
    // What histograms.json holds besides, for a moment.
    let file = histograms;
    let run = &scenario.run;
    let intervals = run.duration.as_nanos() / run.interval.as_nanos().max(1) + 1;
    let rows = intervals.saturating_mul(living(scenario).saturating_add(4));
    let row_groups = (rows / ROWS_PER_GROUP).saturating_mul(ROW_GROUP);
    let reports = stretches(scenario).saturating_mul(groups as u64 * REPORT * GROWTH);
    let applications = delays(scenario).saturating_add(happenings(scenario));
    [file, row_groups, reports, applications, SERIES, BASE]
        .into_iter()
        .fold(histograms, u64::saturating_add)
        .saturating_add(traces(scenario))
}

/// Traces, and their texts on the way in and out: 20 bytes and more for each entry of 8 or 16.
fn traces(scenario: &Scenario) -> u64 {
    let memory = |side: Side| {
        let side = scenario.side(side);
        let rates = side.course.as_ref().map(|course| course.memory().get());
        let path = side
            .impair
            .as_ref()
            .and_then(|impair| impair.trace.as_ref());
        let path = path.map(|path| path.values.len() as u64 * 32);
        rates.unwrap_or(0).saturating_add(path.unwrap_or(0))
    };
    let all = scenario.sides().map(|side| memory(side).saturating_mul(8));
    all.fold(0, u64::saturating_add)
}

/// The delays that each flow of datagrams has seen, and those of the group in each stretch.
fn delays(scenario: &Scenario) -> u64 {
    let of = |(index, group): (usize, &Group)| {
        let gap = datagram_gap(scenario, group)?.as_nanos().max(1);
        let sent = scenario.run.duration.as_nanos() / gap + 1;
        let ends = 1 + u64::from(group.app.datagrams()?.both_ways);
        let flow = ends * sent.min(DELAYS) * DELAY;
        let flows = all_flows(scenario, index).saturating_mul(flow);
        Some(flows.saturating_add(stretches(scenario).saturating_mul(DELAYS * DELAY)))
    };
    let groups = scenario.groups.iter().enumerate();
    groups.filter_map(of).fold(0, u64::saturating_add)
}

/// What applications of sessions report of each thing that happened, in each flow and in the group's stretches, and the records of
/// those of an interval.
fn happenings(scenario: &Scenario) -> u64 {
    let run = &scenario.run;
    let of = |(index, group): (usize, &Group)| {
        group.app.session()?;
        let within = |span: Time| {
            let often = span.as_nanos() / HAPPENS.as_nanos() + 16;
            let opened = most_opened(scenario, group, span);
            opened.unwrap_or(often).max(often)
        };
        let flow = DELAY * (FIGURES * within(run.duration)).min(DISTRIBUTIONS);
        let records = within(run.interval).saturating_mul(RECORD * GROWTH);
        let flows = all_flows(scenario, index);
        let of_flows = flows.saturating_mul(flow.saturating_add(records));
        let stretch = flow.saturating_mul(flows).min(DELAY * DISTRIBUTIONS);
        Some(of_flows.saturating_add(stretches(scenario).saturating_mul(stretch)))
    };
    let groups = scenario.groups.iter().enumerate();
    groups.filter_map(of).fold(0, u64::saturating_add)
}

/// Stretches between two cuts: before and after the warm-up, and two for each change.
fn stretches(scenario: &Scenario) -> u64 {
    2 + 2 * scenario.phases().count() as u64
}

fn results(scenario: &Scenario, queues: &[(Side, u64)]) -> u64 {
    let queues: u64 = queues.iter().map(|(_, queues)| queues).sum();
    // A group has figures of each link.
    let groups = (scenario.groups.len() * scenario.links.len()) as u64;
    let phases = 1 + scenario.phases().count() as u64;
    let seeds = scenario.run.seeds.len() as u64;
    // Each phase lists the flows that live in it, the whole lists all.
    let listed = phases
        .saturating_mul(living(scenario))
        .saturating_add(ever(scenario));
    let of = |queue: u64, group: u64, flow: u64| {
        let fixed = (1 + phases) * (queues * queue + groups * group);
        listed.saturating_mul(flow).saturating_add(fixed)
    };
    // A summary is there twice where its figures are put together.
    let summaries = of(QUEUE_FIGURES, GROUP_FIGURES, FLOW_FIGURES).saturating_mul(2 * seeds);
    if seeds < 2 {
        return summaries;
    }
    let values = of(QUEUE_VALUES, GROUP_VALUES, FLOW_VALUES).saturating_mul(seeds);
    let estimates = of(QUEUE_ESTIMATES, GROUP_ESTIMATES, FLOW_ESTIMATES);
    summaries.saturating_add(values).saturating_add(estimates)
}

/// Whether a scenario stays within the memory of its world.
pub(super) fn check(
    scenario: &Scenario,
    world: World,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    match world {
        World::Live | World::Virtual => {
            frames(scenario, places, problems);
            beside(scenario, places, problems);
        }
        World::Sim => simulated(scenario, places, problems),
    }
}

/// What is kept beside packets, where these are frames: markers, recorders and results, as in the simulator.
fn beside(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let memory = Memory::of(scenario);
    let total = memory.markers + memory.recorders + memory.results;
    if total <= FRAMES_BUDGET {
        return;
    }
    let (what, (key, found), remedy) = if memory.markers > memory.recorders + memory.results {
        ("markers", largest_marker(scenario), REMEMBER_FEWER)
    } else {
        let (place, remedy) = many_figures(scenario);
        ("recorders and results", place, remedy)
    };
    let allowed = format!(
        "the {what} would take {} MB and the memory budget is {} MB; {remedy}",
        megabytes(total),
        megabytes(FRAMES_BUDGET),
    );
    problems.push(places.problem(&key, found, allowed));
}

/// The key of which there are too many figures, with its value and the remedy.
fn many_figures(scenario: &Scenario) -> ((String, String), &'static str) {
    if scenario.phases().count() > 2 {
        let found = format!("{} changes", scenario.phases().count());
        let remedy = "have fewer changes, flows or seeds, or a longer run.interval";
        return (("at".to_owned(), found), remedy);
    }
    let remedy = "have a longer interval, or fewer flows or seeds";
    let found = scenario.run.interval.to_string();
    (("run.interval".to_owned(), found), remedy)
}

const REMEMBER_FEWER: &str = "let markers remember fewer flows";

/// The group whose marker takes most.
fn largest_marker(scenario: &Scenario) -> (String, String) {
    let groups = scenario.groups.iter();
    let group = groups.max_by_key(|group| marker(scenario, group));
    let name = group.map_or("", |group| &group.name);
    (format!("group.{name}.value.flows"), String::new())
}

fn frames(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for direction in BOTH {
        let bytes = bytes_in_flight(scenario, direction);
        if bytes <= FRAMES_BUDGET {
            continue;
        }
        let allowed = format!(
            "rate × (RTT + queue) is {} MB in flight and the memory budget {} MB; lower the rate, the RTT or the queue's limit",
            megabytes(bytes),
            megabytes(FRAMES_BUDGET),
        );
        let limited = scenario.sides().filter(|side| side.direction == direction);
        let limited =
            limited.map(|side| (queue_bytes(scenario, side, fastest(scenario, side)), side));
        let Some((queue, side)) = limited.max_by_key(|(queue, _)| *queue) else {
            continue;
        };
        let (key, found) = blame(scenario, side, queue > FRAMES_BUDGET);
        problems.push(places.problem(&key, found, allowed));
    }
}

/// The key of a side that is to blame for too many packets: the queue's limit, if it is enough alone, or the rate.
fn blame(scenario: &Scenario, side: Side, queue: bool) -> (String, String) {
    let path = scenario.side_key(side);
    let side = scenario.side(side);
    let mut table = side.queue.settings.table().iter();
    if queue && table.any(|parameter| parameter.name == "limit") {
        let limit = side.queue.settings.value("limit");
        let limit = limit.map_or(String::new(), |limit| limit.to_string());
        return (format!("{path}.queue.limit"), limit);
    }
    (format!("{path}.rate"), side.rate.to_string())
}

fn simulated(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let memory = Memory::of(scenario);
    let total = memory.total(1);
    if total <= MEMORY_BUDGET {
        return;
    }
    let marked = match megabytes(memory.markers) {
        0 => String::new(),
        some => format!("markers {some} MB, "),
    };
    let parts = format!(
        "packets in flight {} MB, flows {} MB, {marked}recorders {} MB, results {} MB",
        megabytes(memory.packets),
        megabytes(memory.flows),
        megabytes(memory.recorders),
        megabytes(memory.results),
    );
    let most = memory
        .packets
        .max(memory.flows)
        .max(memory.markers)
        .max(memory.recorders)
        .max(memory.results);
    let waiting = in_hosts(scenario).saturating_mul(ON_WIRE * GROWTH);
    let (key, found, remedy) = if most == memory.packets && waiting > memory.packets.get() / 2 {
        let remedy = "lower access rates, or have fewer flows";
        (
            "group".to_owned(),
            format!("{} flows", ever(scenario)),
            remedy,
        )
    } else if most == memory.packets {
        let held = |side: Side| under_way(scenario, side, |_| true);
        let most = scenario.sides().max_by_key(|&side| held(side).all());
        let side = most.unwrap_or(Side {
            hop: Hop::FIRST,
            direction: Direction::Forward,
        });
        let (key, found) = blame(scenario, side, held(side).queued > held(side).on_wires);
        (key, found, "lower the rate, the RTT or the queue's limit")
    } else if most == memory.flows {
        let remedy = "have fewer flows, or less in flight";
        (
            "group".to_owned(),
            format!("{} flows", ever(scenario)),
            remedy,
        )
    } else if most == memory.markers {
        let (key, found) = largest_marker(scenario);
        (key, found, REMEMBER_FEWER)
    } else {
        let ((key, found), remedy) = many_figures(scenario);
        (key, found, remedy)
    };
    let allowed = format!(
        "the run would take {} MB ({parts}) and the memory budget is {} MB; {remedy}",
        megabytes(total),
        megabytes(MEMORY_BUDGET),
    );
    problems.push(places.problem(&key, found, allowed));
}

fn megabytes(bytes: Bytes) -> u64 {
    bytes.get() / 1_000_000
}
