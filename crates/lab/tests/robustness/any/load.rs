//! The work of a run: what takes events, and how long a run fits a budget of them.

use quell_aqm::kind::Entry;
use quell_lab::World;

/// Shortest and longest base RTT, in ns.
const RTTS: (u64, u64) = (10_000, 10_000_000_000);
const MOST_FLOWS: u64 = 100_000;
/// Shortest and longest run, in ns.
pub(super) const DURATIONS: (u64, u64) = (1_000_000, 86_400_000_000_000);
pub(super) const SECOND: u64 = 1_000_000_000;

/// The part of the space that a world can run, and can run in a test.
#[derive(Default)]
pub(super) struct Space {
    /// Shortest and longest base RTT, in ns.
    pub(super) rtts: (u64, u64),
    /// Whether a base RTT of zero is allowed.
    pub(super) no_rtt: bool,
    /// Maximum flows of a group.
    pub(super) most_flows: u64,
    /// Longest run, in ns.
    pub(super) longest: u64,
    /// Whether only congestion controls are allowed that each kernel of `quell kernel build` has.
    pub(super) controls_of_kernels: bool,
}

impl Space {
    pub(super) fn of(world: World) -> Self {
        match world {
            World::Sim => Self {
                rtts: RTTS,
                no_rtt: true,
                most_flows: MOST_FLOWS,
                longest: DURATIONS.1,
                controls_of_kernels: false,
            },
            // Hosts take events even while nothing is sent, or wait in real time.
            World::Virtual | World::Live => Self {
                rtts: (world.smallest_rtt().as_nanos(), RTTS.1),
                no_rtt: false,
                most_flows: 2_000,
                longest: SECOND / 4,
                controls_of_kernels: true,
            },
        }
    }
}

/// The work of a run, for an estimate of its events.
#[derive(Default)]
pub(super) struct Load {
    pub(super) space: Space,
    /// Its queues, by direction.
    pub(super) queues: [Option<&'static Entry>; 2],
    /// The fastest rate of each direction in bit/s; `None` if it is unlimited.
    pub(super) rates: [Option<u64>; 2],
    /// Bytes that a full packet occupies on the link.
    pub(super) packet: [u64; 2],
    /// The shortest interval between updates of a queue, in ns.
    pub(super) update: Option<u64>,
    pub(super) groups: Vec<Group>,
    /// Flows that changes start.
    pub(super) more: u64,
}

/// Flows that are alike.
pub(super) struct Group {
    /// Maximum number at one time.
    pub(super) flows: u64,
    pub(super) sends: Sends,
    /// Mean time between starts in ns, if a flow starts repeatedly.
    pub(super) pause: Option<u64>,
    /// The kind of its application.
    pub(super) kind: &'static str,
}

/// What a flow sends.
pub(super) enum Sends {
    /// TCP without end: direction, and base RTT in ns.
    Bulk(usize, u64),
    /// Datagrams: their interval in ns.
    Datagrams(u64),
}

impl Load {
    pub(super) fn flows(&self) -> u64 {
        self.more + self.groups.iter().map(|group| group.flows).sum::<u64>()
    }

    /// Estimated number of events in `time` ns.
    pub(super) fn events(&self, time: u64) -> u64 {
        let mut events = u128::from(self.flows() * 8);
        for Group {
            flows,
            sends,
            pause,
            ..
        } in &self.groups
        {
            let flows = u128::from(*flows);
            events += pause.map_or(0, |pause| 16 * flows * u128::from(time / pause.max(1)));
            events += 3 * match *sends {
                Sends::Datagrams(mean) => flows * u128::from(time / mean.max(1) + 1),
                Sends::Bulk(direction, rtt) => {
                    // Windows start at ten segments and double each round, up to the capacity of the link. A flow
                    // that gets nothing retries at doubling intervals.
                    let rounds = (time / rtt.max(10_000)).min(40);
                    let offered = flows * (10_u128 << rounds);
                    let bits = u128::from(8 * self.packet[direction].max(1) * SECOND);
                    let carried = self.rates[direction]
                        .map_or(u128::MAX, |rate| u128::from(rate) * u128::from(time) / bits);
                    offered.min(carried) + flows * u128::from((time / SECOND).min(30))
                }
            };
        }
        if let Some(update) = self.update {
            events += u128::from(time / update.max(1));
        }
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    /// The longest run within `budget` events.
    pub(super) fn longest(&self, budget: u64) -> u64 {
        let (mut low, mut high) = (DURATIONS.0, self.space.longest);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.events(middle) <= budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}
