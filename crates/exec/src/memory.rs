//! How much a link holds, and so the slots of its frame pool and the memory of a guest around it.
//!
//! A direction with a rate holds at most what its delay and its queue hold. One without a rate has no queue, and what is in flight there is
//! bounded by the windows of the hosts; it counts as [`UNLIMITED`].

use quell_link::LinkConfig;
use quell_measure::Direction;
use quell_scenario::{Side, bytes_in_flight_over};
use quell_units::{Bytes, Rate, Time};

use crate::network::MAX_WINDOW;
use crate::plan::Plan;

/// The rate that a direction without one counts with, in what its delay holds.
const UNLIMITED: Rate = Rate::from_mbps(1_000);
/// Slots of the smallest pool: bursts of the hosts, and small packets.
const FEWEST_FRAMES: u32 = 1 << 15;
/// Slots of the largest pool, 1 GiB. Further packets wait in the ports' sockets.
const MOST_FRAMES: u32 = 1 << 19;
/// The mean packet, in bytes: data of full size one way and small packets the other.
const MEAN_PACKET: u64 = 400;
/// What somebody who changes the link may give each queue: a second of its rate.
const CHANGED_QUEUE: Time = Time::from_secs(1);

/// What a link takes of a guest's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkMemory {
    /// Its frame pool.
    pub pool: Bytes,
    /// Payload in flight on it in both directions, of which the hosts have copies.
    pub in_flight: Bytes,
    /// The larger part of it: what one flow needs that is alone.
    pub window: Bytes,
}

impl LinkMemory {
    /// Of the link of `plan` with packets of at most `mtu` bytes; `changes` says whether somebody may change it.
    pub fn of(plan: &Plan, mtu: u16, changes: bool) -> Self {
        let fastest = match changes {
            true => plan.fastest(),
            false => Rate::ZERO,
        };
        let frames = frames(plan, fastest);
        let most = u64::from(frames) * u64::from(mtu);
        let [forward, reverse] = in_flight(plan).map(Bytes::get);
        Self {
            pool: LinkConfig::pool_bytes(frames, mtu),
            in_flight: Bytes::new(forward.saturating_add(reverse).min(most)),
            window: Bytes::new(forward.max(reverse)),
        }
    }
}

/// Slots of the link's pool, where somebody may make it as fast as `fastest`.
pub(crate) fn frames(plan: &Plan, fastest: Rate) -> u32 {
    let [forward, reverse] = in_flight(plan);
    let mut held = forward + reverse;
    if !fastest.is_zero() {
        let queues = CHANGED_QUEUE * plan.scenario().links().len() as u64;
        let changed = fastest.bytes_in(plan.longest_rtt() + queues).get();
        held = held.max(Bytes::new(changed.saturating_mul(2)));
    }
    let slots = u64::from(FEWEST_FRAMES).saturating_add(held.get() / MEAN_PACKET);
    u32::try_from(slots).map_or(MOST_FRAMES, |slots| slots.min(MOST_FRAMES))
}

/// The most bytes that are in flight forward and in reverse.
fn in_flight(plan: &Plan) -> [Bytes; 2] {
    let scenario = plan.scenario();
    let of = |direction| {
        let sides = scenario.hops().iter();
        let sides = sides.map(|hop| Side { hop, direction });
        let impaired = sides.clone().map(|side| scenario.most_delay(side));
        let delay = impaired.fold(plan.longest_rtt(), |sum, delay| sum + delay);
        let limited = bytes_in_flight_over(scenario, direction, delay);
        match sides.clone().all(|side| plan.is_ever_open(side)) {
            true => limited.max(UNLIMITED.bytes_in(delay).min(Bytes::new(MAX_WINDOW))),
            false => limited,
        }
    };
    Direction::BOTH.map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LinkOptions;

    fn plan(rate: Option<&str>, rtt: Option<&str>, more: LinkOptions) -> Plan {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let options = LinkOptions {
            down: text(rate),
            up: text(rate),
            rtt: text(rtt),
            ..more
        };
        Plan::new(&options).unwrap()
    }

    fn set(setting: &str) -> LinkOptions {
        LinkOptions {
            sets: vec![setting.to_owned()],
            ..LinkOptions::default()
        }
    }

    fn none() -> LinkOptions {
        LinkOptions::default()
    }

    // Long because of its table.
    #[test]
    fn a_pool_has_slots_for_what_delays_and_queues_hold_and_no_more_than_a_gibibyte() {
        let queue = |queue: &str| LinkOptions {
            queues: vec![queue.to_owned()],
            ..none()
        };
        let later = |change: &str| LinkOptions {
            at: vec![("1s".to_owned(), change.to_owned())],
            ..none()
        };
        // Rate times RTT and queue, in megabytes for each direction, and the most that the pool may take.
        let cases = [
            ("nothing", plan(None, None, none()), 0.0, 100),
            ("only an RTT", plan(None, Some("20ms"), none()), 2.5, 100),
            (
                "only losses",
                plan(None, None, set("link.impair={ loss = 0.01 }")),
                0.0,
                100,
            ),
            (
                "losses and reordering",
                plan(
                    None,
                    Some("100ms"),
                    set("link.impair={ reorder = 0.1, hold = \"100ms\" }"),
                ),
                25.0,
                330,
            ),
            (
                "10 Mbit/s, default queue",
                plan(Some("10mbit"), Some("20ms"), none()),
                0.15,
                100,
            ),
            (
                "1 Gbit/s without an RTT",
                plan(Some("1gbit"), None, none()),
                12.5,
                200,
            ),
            (
                "1 Gbit/s",
                plan(Some("1gbit"), Some("20ms"), none()),
                15.0,
                230,
            ),
            (
                "10 Gbit/s",
                plan(Some("10gbit"), Some("20ms"), none()),
                150.0,
                1_080,
            ),
            (
                "10 Gbit/s, a short queue",
                plan(Some("10gbit"), Some("1ms"), queue("fifo:limit=1ms")),
                2.5,
                100,
            ),
            (
                "a long RTT",
                plan(Some("100mbit"), Some("10s"), none()),
                126.0,
                1_080,
            ),
            (
                "a rate later",
                plan(None, Some("20ms"), later("down=1gbit")),
                2.5,
                200,
            ),
            (
                "ten thousand packets",
                plan(Some("1mbit"), None, queue("fifo:limit=10000p")),
                15.0,
                230,
            ),
        ];
        for (name, plan, held, most) in cases {
            let frames = f64::from(frames(&plan, Rate::ZERO));
            let memory = LinkMemory::of(&plan, 1_500, false);
            // Full packets one way, and as many small ones the other.
            let held: f64 = held;
            let needed = (2.0 * held * 1e6 / 1_500.0).min(f64::from(MOST_FRAMES));
            assert!(frames >= needed, "{name}: {frames} slots, {needed} needed");
            let pool = memory.pool.get() >> 20;
            assert!(pool <= most, "{name}: {pool} MiB");
            assert!(
                memory.in_flight.get() as f64 >= (held * 1e6).min(786e6),
                "{name}: {memory:?}"
            );
        }
    }

    #[test]
    fn a_pool_for_changes_has_room_for_a_second_of_the_fastest_rate() {
        let plan = plan(Some("10mbit"), Some("20ms"), none());
        let fastest = plan.fastest();
        assert_eq!(fastest, Rate::from_mbps(1_000));
        assert!(frames(&plan, fastest) > frames(&plan, Rate::ZERO));
        // 1 Gbit/s for 1.02 s in packets of 1 500 bytes.
        assert!(frames(&plan, fastest) >= 85_000);
        // So has a guest around a link that its program may change.
        let pool = LinkConfig::pool_bytes(frames(&plan, fastest), 1_500);
        assert_eq!(LinkMemory::of(&plan, 1_500, true).pool, pool);
    }
}
