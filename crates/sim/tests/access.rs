//! Senders with links of their own, in front of the bottleneck.

use crate::support;

use std::sync::atomic::AtomicBool;

use quell_aqm::{Drop, Observer, QueueId};
use quell_measure::{Direction, FlowId, Hop};
use quell_sim::{Config, FlowConfig, Packet, Simulator, TransportConfig};
use quell_units::{Bytes, Rate, Time};
use support::*;

const MS: fn(u64) -> Time = Time::from_millis;

/// When each packet came to the queue, and its length.
#[derive(Debug, Default)]
struct Arrivals(Vec<(Time, Bytes)>);

impl Observer<Packet> for Arrivals {
    fn enqueued(&mut self, _queue: QueueId, packet: &Packet, now: Time) {
        self.0.push((now, quell_aqm::Packet::len(packet)));
    }
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
}

fn arrivals(config: Config, until: Time) -> Vec<(Time, Bytes)> {
    let observer = |_, _| Arrivals::default();
    let mut simulator = Simulator::new(config, observer).expect("a simulation");
    simulator
        .run(until, &AtomicBool::new(false))
        .expect("a run");
    simulator.observer(Hop::FIRST, Direction::Forward).0.clone()
}

/// A CUBIC flow whose own link has this rate; `gso` and `pacing` as a scenario says them.
fn limited(rate: Rate, gso: bool, pacing: Option<bool>) -> FlowConfig {
    let mut flow = bulk(0, "cubic", None, Time::ZERO);
    flow.access = rate;
    if let TransportConfig::Stream(ends) = &mut flow.transport {
        (ends.0.gso, ends.0.pacing) = (gso, pacing);
    }
    flow
}

fn fifo(rate: Rate) -> quell_sim::DirectionConfig {
    side("fifo", &[("limit", "1000p")], rate)
}

#[test]
fn a_burst_arrives_spaced_by_the_senders_own_link() {
    // The initial window of ten segments after the handshake; 1 500 bytes at 50 Mbit/s take 240 µs.
    let access = Rate::from_mbps(50);
    for (rate, spacing) in [
        (access, Time::from_micros(240)),
        (Rate::UNLIMITED, Time::ZERO),
    ] {
        let flow = limited(rate, true, None);
        let seen = arrivals(
            config(fifo(Rate::from_mbps(1_000)), MS(20), vec![flow]),
            MS(50),
        );
        let data: Vec<Time> = seen
            .iter()
            .filter(|(_, len)| *len == Bytes::new(1_500))
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(data.len(), 10);
        assert!(
            data.windows(2).all(|pair| pair[1] - pair[0] == spacing),
            "{data:?}"
        );
        // A SYN of 52 bytes takes 8.32 µs more.
        let syn = rate.time_for(Bytes::new(52));
        assert_eq!(seen[0].0, syn);
    }
}

/// Datagrams of 1 500 bytes every 2 ms, and one sender for all of them would be too slow: each has
/// its own link.
#[test]
fn each_flow_has_a_link_of_its_own() {
    let flows = (0..5)
        .map(|_| FlowConfig {
            access: Rate::from_mbps(8),
            ..cbr(0, 1_500, MS(2), Time::ZERO, Time::ZERO)
        })
        .collect();
    let seen = arrivals(config(fifo(Rate::from_mbps(100)), MS(5), flows), MS(10));
    // All at once, 1.5 ms after they were sent.
    let times: Vec<Time> = seen.iter().map(|(at, _)| *at).collect();
    let first = Time::from_micros(1_500);
    assert_eq!(times[..5], [first; 5]);
    assert_eq!(times[5..10], [first + MS(2); 5]);
}

/// Its own link limits a flow to exactly its rate; the host holds back what does not fit, so that
/// nothing queues up anywhere, and the window stays at what the path takes.
#[test]
fn a_flow_limited_by_its_own_link_fills_it_and_nothing_else() {
    for (gso, pacing) in [
        (true, None),
        (false, None),
        (true, Some(true)),
        (false, Some(true)),
    ] {
        let access = Rate::from_mbps(10);
        let flow = limited(access, gso, pacing);
        let mut simulator = simulator(config(fifo(Rate::from_mbps(100)), MS(20), vec![flow]));
        run(&mut simulator, Time::from_secs(10));
        let before = simulator.sample(FlowId(0)).unwrap().delivered;
        run(&mut simulator, Time::from_secs(40));
        let delivered = simulator.sample(FlowId(0)).unwrap().delivered - before;
        // 1 448 of 1 500 bytes, for 30 s.
        let full = access.bytes_in(Time::from_secs(30)).get() * 1_448 / 1_500;
        let share = delivered.get() as f64 / full as f64;
        assert!((0.995..1.005).contains(&share), "{gso} {pacing:?}: {share}");
        let counter = simulator.observer(Hop::FIRST, Direction::Forward);
        assert_eq!((counter.dropped, counter.longest), (0, Time::ZERO));
        let stats = simulator.tcp(FlowId(0)).unwrap();
        // Serialisation of a packet on both links, and a few bursts of two segments (1.2 ms each) in
        // the host; without holding back, the window would grow into the queue for all of 40 s.
        assert!(stats.srtt < MS(40 + 12), "{gso} {pacing:?}: {}", stats.srtt);
        assert!(stats.cwnd < 120, "{gso} {pacing:?}: {}", stats.cwnd);
        assert_eq!((stats.retransmitted, stats.rto_count), (0, 0));
    }
}

#[test]
fn a_link_that_is_faster_than_any_packet_changes_nothing_that_is_measured() {
    let run_with = |rate| {
        let flows = (0..4_u64)
            .map(|n| FlowConfig {
                start: MS(3 * n),
                ..limited(rate, true, None)
            })
            .collect();
        let narrow = side("fifo", &[("limit", "40p")], Rate::from_mbps(20));
        let mut simulator = simulator(config(narrow, MS(10), flows));
        run(&mut simulator, Time::from_secs(10));
        simulator.observer(Hop::FIRST, Direction::Forward).clone()
    };
    let plain = run_with(Rate::UNLIMITED);
    assert_eq!(run_with(Rate::from_bps(u64::MAX - 1)), plain);
    // And one of 100 Mbit/s does: bursts come spaced.
    assert_ne!(run_with(Rate::from_mbps(100)), plain);
}

#[test]
fn extremes_neither_panic_nor_stand_still() {
    for rate in [1_000, 10_000_000, 100_000_000_000, 1_000_000_000_000] {
        for gso in [true, false] {
            for pacing in [Some(true), Some(false)] {
                for delay in [Time::from_micros(5), Time::from_millis(50)] {
                    let flow = limited(Rate::from_bps(rate), gso, pacing);
                    let link = fifo(Rate::from_mbps(50));
                    let mut simulator = simulator(config(link, delay, vec![flow]));
                    // At 1 kbit/s a segment takes 12 s.
                    let span = if rate == 1_000 { 300 } else { 2 };
                    run(&mut simulator, Time::from_secs(span));
                    let delivered = simulator.sample(FlowId(0)).unwrap().delivered;
                    let limit =
                        Rate::from_bps(rate.min(50_000_000)).bytes_in(Time::from_secs(span));
                    assert!(
                        delivered.get() > limit.get() / 3,
                        "{rate} {gso} {pacing:?} {delay}: {delivered} of {limit}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_link_without_a_rate_is_refused() {
    let flow = limited(Rate::ZERO, true, None);
    let config = config(fifo(Rate::from_mbps(1)), MS(1), vec![flow]);
    let error = Simulator::new(config, |_, _| Counter::default()).unwrap_err();
    assert!(error.to_string().contains("access rate of zero"), "{error}");
}
