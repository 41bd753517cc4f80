//! The interval at which a link looks at its sockets, and the time by which it hands out releases ahead.
//!
//! **No release falls due unseen.** Let the looks be at `L` and `L + interval`, with `interval ≤ d`,
//! the smallest one-way delay. The look at `L` reads all that had arrived by then and decides up to
//! `L`, so whatever is not released by it starts after `L`: a packet that arrives after `L`, or that
//! waits in the queue at `L`. It ends its transmission after `L`, hence is released later than
//! `L + d`, which is no earlier than the next look: not one nanosecond is lost even with
//! `interval = d`. (With no serialisation, and an arrival stamped `L` that came just after the
//! sockets were read, the release is `L + d` itself: due at the very look that hands it out.)
//! The lateness of the thread comes on top, and the time of a look until it hands out: half of `d` is
//! kept for that on a real clock. A simulated clock stands still while anything runs, but for the time that
//! each reading costs (256 ns, timer_read() of arch/um/kernel/time.c): [`EXACT_RESERVE`] is
//! kept then.

use quell_units::{Bytes, Rate, Time};

use crate::config::{DirectionConfig, LinkConfig, Wakeup};
use crate::ports::Buffers;

/// When a link looks and hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Between two looks while packets flow; `None` when woken per packet.
    pub(crate) interval: Option<Time>,
    /// Time before its release at which a frame may be handed to the kernel; zero if the kernel would
    /// send it at once.
    pub(crate) ahead: Time,
}

/// The longest interval between two looks when looking ahead: as the longest sleep of the thread.
const LONGEST_LOOK: Time = Time::from_millis(100);

/// Eighty readings of a simulated clock. A look needs one, and what the kernel reads in its calls.
const EXACT_RESERVE: Time = Time::from_micros(20);

/// The furthest that releases are handed out ahead: far beyond any stall of the thread that a run
/// survives, far below the horizon beyond which `fq` drops (10 s by default), and little of what is
/// on its way in memory of the kernel. Frames that have longer to go wait in the link's own delay line.
const FURTHEST: Time = Time::from_millis(100);

/// Bytes of a socket's buffer for each byte that the link carries in an interval. The kernel charges
/// 1.54 for a full-sized packet (2 304 for 1 500); slow start sends twice what the link carries; and
/// at the start of flows, and for small packets, there is 2.6 times that.
const ROOM_TO_RECEIVE: u64 = 8;
/// Bytes of a socket's buffer for each byte that is handed out in an interval; no sender makes that faster than the link.
const ROOM_TO_SEND: u64 = 4;

impl Pace {
    /// The pace for `config` between two ports with these buffers; `fq` says whether the queue disciplines of
    /// both keep frames until their times.
    pub(crate) fn new(config: &LinkConfig, buffers: [Buffers; 2], fq: bool) -> Self {
        let smallest = config.least_delay();
        let wakeup = config.wakeup.unwrap_or(match fq {
            _ if smallest / 2 < Wakeup::SHORTEST => Wakeup::PerPacket,
            true => Wakeup::Ahead,
            false => Wakeup::Lazy,
        });
        let rate = highest_rate(config);
        let room = |buffer: fn(&Buffers) -> Bytes, per_byte: u64| {
            let least = buffers.iter().map(buffer).min().unwrap_or(Bytes::ZERO);
            rate.map(|rate| rate.time_for(Bytes::new(least.get() / per_byte)))
        };
        match wakeup {
            Wakeup::PerPacket => Self {
                interval: None,
                ahead: Time::ZERO,
            },
            Wakeup::Lazy => Self {
                interval: Some((smallest / 2).min(Wakeup::LONGEST_LAZY)),
                ahead: Time::ZERO,
            },
            Wakeup::Ahead => {
                let reserve = if config.exact_clock {
                    EXACT_RESERVE
                } else {
                    smallest
                };
                let wanted = smallest - reserve.min(smallest / 2);
                // Where no rate is known, nobody knows what arrives.
                let holds = room(|buffers| buffers.receive, ROOM_TO_RECEIVE);
                let interval = wanted
                    .min(holds.unwrap_or(Wakeup::LONGEST_LAZY))
                    .min(LONGEST_LOOK);
                let holds = room(|buffers| buffers.send, ROOM_TO_SEND);
                Self {
                    interval: Some(interval),
                    // Until the look after the next, so that one that comes late does no harm.
                    ahead: holds.unwrap_or(FURTHEST).min(FURTHEST).max(interval * 2),
                }
            }
        }
    }
}

impl Pace {
    /// Looks often enough from now on where a group is delayed by no more than `delay`.
    pub(crate) fn suit(&mut self, delay: Time) {
        let interval = self.interval.map(|interval| interval.min(delay / 2));
        self.interval = interval.filter(|interval| *interval >= Wakeup::SHORTEST);
    }
}

/// The highest rate at which packets may come: that of a direction at any time of the run. A
/// direction without a limit carries what belongs to the other one's data; `None` if neither has one.
fn highest_rate(config: &LinkConfig) -> Option<Rate> {
    let of = |direction: &DirectionConfig| match &direction.service.trace {
        Some(link_trace) => link_trace.fastest(),
        None => direction.rate,
    };
    let changed = config.changes.iter();
    let changed = changed.filter_map(|(_, change)| change.rate());
    let behind = config
        .behind
        .iter()
        .flat_map(|link| [of(&link.forward), of(&link.reverse)]);
    [of(&config.forward), of(&config.reverse)]
        .into_iter()
        .chain(behind)
        .chain(changed)
        .chain([config.fastest])
        .filter(|rate| !rate.is_unlimited() && !rate.is_zero())
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GroupConfig, LinkChange};
    use quell_measure::{Direction, Hop};

    const US: fn(u64) -> Time = Time::from_micros;
    const MB: u64 = 1 << 20;

    fn config(delays: &[Time], wakeup: Option<Wakeup>) -> LinkConfig {
        let unlimited = || DirectionConfig::unlimited(1_500);
        let mut config = LinkConfig::new(unlimited(), unlimited());
        config.forward.rate = Rate::from_mbps(100);
        config.wakeup = wakeup;
        let group = |(index, &delay): (usize, &Time)| GroupConfig {
            port: 5_000 + index as u16,
            delay,
            ..GroupConfig::default()
        };
        config.groups = delays.iter().enumerate().map(group).collect();
        config
    }

    fn buffers(megabytes: u64) -> [Buffers; 2] {
        let size = Bytes::new(megabytes * MB);
        [Buffers {
            receive: size,
            send: size,
        }; 2]
    }

    #[test]
    fn the_smallest_delay_and_the_kernel_say_how_often_to_look() {
        use Wakeup::{Ahead, Lazy, PerPacket};
        for (delays, wakeup, fq, interval, ahead) in [
            (&[US(5_000), US(800)][..], None, false, Some(US(400)), 0),
            (&[US(5_000)], None, false, Some(US(1_000)), 0),
            (&[US(5_000)], None, true, Some(US(2_500)), 100_000),
            (&[US(5_000), US(0)], None, true, None, 0),
            (&[US(60)], None, true, None, 0),
            (&[US(60)], Some(Lazy), true, Some(US(30)), 0),
            (&[US(60)], Some(Ahead), true, Some(US(30)), 100_000),
            (&[US(5_000)], Some(PerPacket), true, None, 0),
            (&[], None, true, None, 0),
        ] {
            let expected = Pace {
                interval,
                ahead: US(ahead),
            };
            let pace = Pace::new(&config(delays, wakeup), buffers(64), fq);
            assert_eq!(pace, expected, "{delays:?} {wakeup:?} {fq}");
        }
        // A clock that stands still while anything runs: almost the whole delay.
        let exact = LinkConfig {
            exact_clock: true,
            ..config(&[US(5_000)], None)
        };
        let pace = Pace::new(&exact, buffers(64), true);
        assert_eq!(pace.interval, Some(US(4_980)));
    }

    #[test]
    fn a_look_never_finds_more_than_the_sockets_hold() {
        // 1 MiB / 8 at 100 Mbit/s: 10.485 76 ms; / 4: twice that; and both less at a higher rate.
        let slow = config(&[US(200_000)], Some(Wakeup::Ahead));
        let mut faster = config(&[US(200_000)], Some(Wakeup::Ahead));
        let change = |rate| LinkChange::SetRate {
            hop: Hop::FIRST,
            direction: Direction::Reverse,
            rate,
        };
        faster.changes.push((US(7), change(Rate::from_mbps(1_000))));
        let mut prepared = config(&[US(200_000)], Some(Wakeup::Ahead));
        prepared.fastest = Rate::from_mbps(1_000);
        let mut unknown = config(&[US(200_000)], Some(Wakeup::Ahead));
        unknown.forward.rate = Rate::UNLIMITED;
        for (config, megabytes, interval, ahead) in [
            (&slow, 1, 10_485_760, 20_971_520),
            (&faster, 1, 1_048_576, 2_097_152),
            (&prepared, 1, 1_048_576, 2_097_152),
            (&slow, 1_000, 100_000_000, 200_000_000),
            (&unknown, 1, 1_000_000, 100_000_000),
        ] {
            let pace = Pace::new(config, buffers(megabytes), true);
            assert_eq!(pace.interval.map(Time::as_nanos), Some(interval));
            assert_eq!(pace.ahead.as_nanos(), ahead);
        }
    }
}
