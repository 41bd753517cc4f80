//! TCP flows through the bottleneck.

use crate::support;

use quell_aqm::MarkReason;
use quell_measure::{Direction, FlowId, Hop};
use quell_sim::Jitter;
use quell_sim::{FlowConfig, TransportConfig};
use quell_tcp::{CcConfig, Codepoint, ReceiverConfig, SenderConfig};
use quell_units::{Bytes, Rate, Time};
use support::*;

const MS: fn(u64) -> Time = Time::from_millis;

#[test]
fn tcp_sees_exactly_the_base_rtt_and_serialisation() {
    // One full segment at a time: a receive window of two segments, each of 1 500 bytes at
    // 12 Mbit/s, 1 ms. The smallest RTT is that of a lone segment: base RTT and 1 ms; the SYN's is
    // 52 bytes, 34.666 µs, rounded down.
    let rate = Rate::from_mbps(12);
    let flow = bulk(0, "reno", None, Time::ZERO);
    let mut simulator = simulator(config(side("fifo", &[], rate), MS(15), vec![flow]));
    run(&mut simulator, MS(31));
    let stats = simulator.tcp(FlowId(0)).unwrap();
    assert_eq!(stats.srtt, MS(30) + Time::from_nanos(34_666));
    // The first of ten segments is acknowledged a serialisation and a base RTT after it was sent.
    run(&mut simulator, Time::from_secs(1));
    let stats = simulator.tcp(FlowId(0)).unwrap();
    assert_eq!(stats.min_rtt, MS(30) + Time::from_nanos(34_666));
    assert!(stats.srtt >= MS(31), "{}", stats.srtt);
}

/// DCTCP learns of every mark that the queue has made, with its own feedback and with AccECN, whose
/// options travel beside the packets. Packets on their way at the end are not known yet.
#[test]
fn every_mark_of_the_queue_reaches_the_sender() {
    for feedback in ["dctcp", "accecn"] {
        let rate = Rate::from_mbps(50);
        let control = CcConfig::new("dctcp", &[("feedback", feedback)])
            .unwrap()
            .unwrap();
        let mut sender = SenderConfig::new(control);
        sender.ecn = sender.congestion_control.ecn(Some(Codepoint::Ect1));
        let receiver = ReceiverConfig {
            ect_scope: sender.ect_scope,
            ..ReceiverConfig::new(sender.ecn)
        };
        let flow = FlowConfig {
            transport: TransportConfig::Stream(Box::new((sender, receiver))),
            ..bulk(0, "dctcp", None, Time::ZERO)
        };
        let queue = side("dualpi2", &[], rate);
        let mut simulator = simulator(config(queue, MS(5), vec![flow]));
        run(&mut simulator, Time::from_secs(10));
        let stats = simulator.tcp(FlowId(0)).unwrap();
        let marked = simulator.observer(Hop::FIRST, Direction::Forward).marked;
        let unknown = marked - stats.delivered_ce;
        assert!(marked > 1_000, "{feedback}: {marked}");
        assert!(
            unknown <= u64::from(stats.cwnd),
            "{feedback}: {unknown} of {marked}"
        );
        assert_eq!(stats.retransmitted, 0, "{feedback}");
    }
}

#[test]
fn a_lone_flow_fills_the_link() {
    for control in ["reno", "cubic", "dctcp"] {
        let rate = Rate::from_mbps(20);
        let flow = bulk(0, control, None, Time::ZERO);
        let mut simulator = simulator(config(side("fifo", &[], rate), MS(10), vec![flow]));
        run(&mut simulator, Time::from_secs(10));
        let before = simulator.sample(FlowId(0)).unwrap().delivered;
        run(&mut simulator, Time::from_secs(20));
        let delivered = simulator.sample(FlowId(0)).unwrap().delivered - before;
        // 1 448 of 1 500 bytes are payload.
        let full = rate.bytes_in(Time::from_secs(10)).get() * 1_448 / 1_500;
        assert!(
            delivered >= Bytes::new(full * 995 / 1_000)
                && delivered <= Bytes::new(full * 1_010 / 1_000),
            "{control}: {delivered} of {full}"
        );
    }
}

#[test]
fn each_segment_is_delivered_dropped_or_in_flight() {
    let flows = (0..5_u64)
        .map(|n| bulk(0, "cubic", None, MS(7 * n)))
        .collect();
    let rate = Rate::from_mbps(30);
    let fifo = side("fifo", &[("limit", "40p")], rate);
    let mut simulator = simulator(config(fifo, MS(10), flows));
    run(&mut simulator, Time::from_secs(30));
    let counter = simulator.observer(Hop::FIRST, Direction::Forward).clone();
    let (queued, _) = simulator.in_flight(Hop::FIRST, Direction::Forward);
    let sent: u64 = (0..5)
        .map(|id| simulator.tcp(FlowId(id)).unwrap().sent)
        .sum();
    // And five SYNs, and what acknowledges the answers to them.
    assert_eq!(sent + 10, counter.delivered + counter.dropped + queued);
    assert!(counter.dropped > 10, "{}", counter.dropped);
}

#[test]
fn uploads_share_the_reverse_queue_with_acknowledgements() {
    let mut up = bulk(0, "cubic", None, MS(5));
    up.direction = Direction::Reverse;
    let down = bulk(0, "cubic", None, Time::ZERO);
    let mut config = config(
        side("fifo", &[], Rate::from_mbps(50)),
        MS(10),
        vec![down, up],
    );
    config.links[0].reverse = side("fifo", &[], Rate::from_mbps(10));
    let mut simulator = simulator(config);
    run(&mut simulator, Time::from_secs(20));
    let goodput = |id| simulator.sample(FlowId(id)).unwrap().delivered.get() as f64 * 8.0 / 20e6;
    let (down, up) = (goodput(0), goodput(1));
    assert!((8.0..9.7).contains(&up), "{up}");
    // Half of the acknowledgements compete with the upload for 10 Mbit/s.
    assert!((20.0..48.5).contains(&down), "{down}");
}

#[test]
fn a_stopped_flow_sends_what_it_owes_and_ends() {
    let mut flow = bulk(0, "cubic", None, Time::ZERO);
    flow.stop = Some(Time::from_secs(2));
    let other = bulk(0, "cubic", None, Time::ZERO);
    let rate = Rate::from_mbps(10);
    let mut simulator = simulator(config(side("fifo", &[], rate), MS(10), vec![flow, other]));
    run(&mut simulator, Time::from_secs(3));
    let ended = simulator.sample(FlowId(0)).unwrap();
    assert_eq!((ended.rtt, ended.congestion_window), (None, None));
    run(&mut simulator, Time::from_secs(5));
    assert_eq!(simulator.sample(FlowId(0)), Some(ended));
    let other = simulator.tcp(FlowId(1)).unwrap();
    assert!(simulator.observer(Hop::FIRST, Direction::Forward).delivered > other.sent);
}

#[test]
fn the_same_configuration_gives_the_same_segments() {
    let digest = |rtt| {
        let flows = vec![
            bulk(0, "dctcp", Some(Codepoint::Ect1), MS(1)),
            bulk(0, "cubic", None, MS(2)),
            cbr(0, 300, MS(5), MS(1), Time::ZERO),
        ];
        let rate = Rate::from_mbps(20);
        let mut simulator = simulator(config(side("dualpi2", &[], rate), rtt, flows));
        run(&mut simulator, Time::from_secs(10));
        [Direction::Forward, Direction::Reverse]
            .map(|way| simulator.observer(Hop::FIRST, way).digest)
    };
    assert_eq!(digest(MS(5)), digest(MS(5)));
    assert_ne!(digest(MS(5)), digest(MS(6)));
}

/// The live world shows 6.3 to 6.5 Mbit/s for each DCTCP flow and 6.0 to 6.1 for each CUBIC flow;
/// 0.4 to 0.7 ms and 14 to 15 ms of delay; 0.8 % of the Classic packets dropped, which makes W·√p
/// of CUBIC 0.96.
#[test]
fn coexistence_is_that_of_real_hosts() {
    let flows = (0..6)
        .map(|n| match n {
            0..4 => bulk(0, "dctcp", Some(Codepoint::Ect1), MS(n)),
            _ => bulk(1, "cubic", None, MS(n)),
        })
        .collect();
    let rate = Rate::from_mbps(40);
    let mut config = config(
        side("dualpi2", &[("target", "15ms")], rate),
        Time::from_micros(3_500),
        flows,
    );
    config.delays = vec![Time::from_micros(3_500); 2];
    let mut simulator = simulator(config);
    run(&mut simulator, Time::from_secs(10));
    let before: Vec<_> = (0..6)
        .map(|id| simulator.sample(FlowId(id)).unwrap().delivered)
        .collect();
    run(&mut simulator, Time::from_secs(70));
    let goodput: Vec<f64> = (0..6)
        .map(|id| simulator.sample(FlowId(id)).unwrap().delivered - before[id as usize])
        .map(|bytes| bytes.get() as f64 * 8.0 / 60e6)
        .collect();
    let counter = simulator.observer(Hop::FIRST, Direction::Forward);
    let ms = |queue: usize| counter.queues[queue].1 as f64 / counter.queues[queue].0 as f64 / 1e6;
    let share = |marks: u64| marks as f64 / counter.queues[0].0 as f64;
    let coupled = share(counter.marks[MarkReason::Coupled.index()]);
    let step = share(counter.marks[MarkReason::Step.index()]);
    let dropped = counter.dropped as f64 / (counter.queues[1].0 + counter.dropped) as f64;
    let reported = format!(
        "{goodput:.2?} Mbit/s, {:.2} and {:.2} ms, {coupled:.3} coupled, {step:.3} step, {dropped:.4} dropped",
        ms(0),
        ms(1)
    );
    let mean = |flows: &[f64]| flows.iter().sum::<f64>() / flows.len() as f64;
    assert!((0.4..0.7).contains(&ms(0)), "{reported}");
    assert!((13.5..16.5).contains(&ms(1)), "{reported}");
    // Segments of 12 000 bit in a round of 7 ms, the delay and 0.3 ms of serialisation.
    let window = mean(&goodput[4..]) * 1e6 * (7.3 + ms(1)) / 1e3 / (8.0 * 1_448.0);
    let constant = window * dropped.sqrt();
    assert!(
        (0.85..1.10).contains(&constant),
        "{constant:.2}: {reported}"
    );
    // Nobody gets twice what another gets; how near they are is for the validation to judge.
    let ratio = mean(&goodput[..4]) / mean(&goodput[4..]);
    assert!((0.5..2.0).contains(&ratio), "{reported}");
}

#[test]
fn extremes_do_not_panic() {
    let rates = [
        Rate::from_bps(10_000),
        Rate::from_mbps(1_000_000),
        Rate::UNLIMITED,
    ];
    let delays = [Time::from_micros(5), MS(50), Time::from_secs(5)];
    for rate in rates {
        for delay in delays {
            for control in ["reno", "cubic", "dctcp"] {
                let flows = (0..3).map(|n| bulk(0, control, None, MS(n))).collect();
                let fifo = side("fifo", &[("limit", "2p")], rate);
                let mut simulator = simulator(config(fifo, delay, flows));
                // A fast link carries whatever TCP's window allows: a few rounds are enough.
                let fast = rate > Rate::from_mbps(1);
                let length = if fast {
                    delay * 14
                } else {
                    Time::from_secs(100)
                };
                run(&mut simulator, length);
                assert!(simulator.observer(Hop::FIRST, Direction::Forward).delivered > 0);
            }
        }
    }
}

/// Packets that each flow delivered of two that share 10 Mbit/s and a queue of 20 packets; 24 and
/// 24.4 ms away, and started so long after each other.
fn shares(jitter: Time, seed: u64, later: Time) -> [f64; 2] {
    let fifo = side("fifo", &[("limit", "20p")], Rate::from_mbps(10));
    let flows = vec![
        bulk(0, "reno", None, Time::ZERO),
        bulk(1, "reno", None, later),
    ];
    let mut config = config(fifo, MS(12), flows);
    config.delays = vec![MS(12), Time::from_micros(12_200)];
    config.jitter = Jitter {
        spans: [Vec::new(), vec![jitter; 2]],
        seed,
    };
    let mut simulator = simulator(config);
    run(&mut simulator, Time::from_secs(200));
    [0, 1].map(|flow| {
        let sample = simulator.sample(FlowId(flow)).expect("it has started");
        sample.delivered.get() as f64
    })
}

/// With exact clocks, ten seeds are one run, and their standard error says nothing. The noise of a quiet host
/// makes each seed a run of its own, as far from the others as runs are whose flows start at other times.
#[test]
fn noise_of_the_hosts_makes_each_seed_a_run_of_its_own() {
    let spread = |jitter, step| {
        let share = |n: u64| shares(jitter, n, Time::from_micros(3_100 + step * n))[0];
        let mut all: Vec<f64> = (0..10).map(share).collect();
        all.sort_unstable_by(f64::total_cmp);
        // Without the two that differ most.
        all[8] / all[1] - 1.0
    };
    let exact = spread(Time::ZERO, 0);
    let [noisy, apart] =
        [(20, 0), (0, 3_100)].map(|(us, step)| spread(Time::from_micros(us), step));
    assert!(exact == 0.0, "{exact}");
    assert!(noisy > 0.005 && apart > 0.005, "{noisy} {apart}");
    let again = || shares(Time::from_micros(20), 1, MS(3));
    assert_eq!(again(), again());
}
