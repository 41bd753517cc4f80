//! How fast the simulator is, with every measurement on: bottleneck packets and events per second
//! of wall time on one core.
//!
//! ```text
//! cargo bench -p quell-sim --bench speed [-- QUICK-FACTOR]
//! ```
//!
//! The first line is the scenario that other simulators were measured with: 10 CUBIC flows over
//! 100 Mbit/s and 40 ms, drop-tail. Then the same at 10 Mbit/s per flow from one flow to 10 000,
//! and 10 flows from 10 Mbit/s to 100 Gbit/s. A packet counts when the forward bottleneck has
//! delivered it. A run is as long as two million packets take, and
//! at least a second: flows at 100 Gbit/s have not filled the link by then. The best of three counts.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use quell_app::AppConfig;
use quell_aqm::departure_clock::Framing;
use quell_aqm::registry::find;
use quell_aqm::{Bytes, Discipline, Link, Qdisc as _, Random, Rate, Settings, Time};
use quell_measure::{Direction, FlowId, FlowRecorder, GroupId, Recorder, RecorderConfig, Timeline};
use quell_sim::{Config, FlowConfig, Jitter, Packet, Side, Simulator, TransportConfig};
use quell_tcp::{CcConfig, ReceiverConfig, SenderConfig};

const RTT: Time = Time::from_millis(40);
const INTERVAL: Time = Time::from_millis(100);

fn discipline(kind: &str, rate: Rate) -> Discipline<Packet> {
    let settings = Settings::new(find(kind).expect("a kind").parameters);
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    Discipline::new(kind, settings, link, Random::new(1, "queue")).expect("a queue")
}

fn side(kind: &str, rate: Rate) -> Side {
    Side {
        rate,
        framing: Framing::default(),
        discipline: discipline(kind, rate),
    }
}

fn flow(control: &str, id: u32) -> FlowConfig {
    let control = CcConfig::new(control, &[])
        .expect("a control")
        .expect("no options");
    let sender = SenderConfig::new(control);
    let receiver = ReceiverConfig::new(sender.ecn);
    FlowConfig {
        group: GroupId(0),
        direction: Direction::Forward,
        app: AppConfig::Bulk,
        random: Random::new(1, "app"),
        transport: TransportConfig::Stream(Box::new((sender, receiver))),
        access: Rate::UNLIMITED,
        start: Time::from_micros(u64::from(id) * 7_919 % 40_000),
        stop: None,
    }
}

struct Measured {
    packets: u64,
    events: u64,
    simulated: Time,
    seconds: f64,
    utilisation: f64,
}

fn measure(queue: &str, control: &str, flows: u32, rate: Rate, length: Time) -> Measured {
    let timeline = Timeline::new(Time::ZERO, &[], Time::ZERO, length);
    let recorders = [
        (Direction::Forward, rate),
        (Direction::Reverse, Rate::UNLIMITED),
    ]
    .map(|(direction, rate)| {
        let queue = if rate.is_unlimited() { "fifo" } else { queue };
        Recorder::new(RecorderConfig {
            direction,
            queues: discipline(queue, rate).queues(),
            groups: vec![Direction::Forward],
            rate,
            timeline: timeline.clone(),
            interval: Some(INTERVAL),
        })
    });
    let config = Config {
        forward: side(queue, rate),
        reverse: side("fifo", Rate::UNLIMITED),
        delays: vec![RTT / 2],
        jitter: Jitter::default(),
        flows: (0..flows).map(|id| flow(control, id)).collect(),
        changes: Vec::new(),
    };
    let mut recorder = FlowRecorder::new(timeline, Some(INTERVAL), 1);
    for flow in &config.flows {
        recorder.start(GroupId(0), flow.start);
    }
    let mut simulator = Simulator::new(config, recorders).expect("a simulation");
    let never = AtomicBool::new(false);
    let started = Instant::now();
    while let Some(round) = recorder.next_round() {
        simulator.run(round, &never).expect("a run");
        for id in (0..flows).map(FlowId) {
            if let Some(sample) = simulator.sample(id) {
                recorder.sample(id, sample);
            }
        }
        recorder.close_round(round);
        recorder.drain_rows().for_each(drop);
        for direction in [Direction::Forward, Direction::Reverse] {
            let observer = simulator.observer_mut(direction);
            observer.advance(round);
            observer.drain_rows().for_each(drop);
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let results = simulator.observer_mut(Direction::Forward).finish(length);
    Measured {
        packets: results.whole.queues.iter().map(|queue| queue.packets).sum(),
        events: simulator.events(),
        simulated: length,
        seconds,
        utilisation: results.whole.utilisation(),
    }
}

fn report(name: &str, queue: &str, control: &str, flows: u32, rate: Rate, packets: u64) {
    // A packet of 1 500 bytes is 12 000 bit.
    let length = Time::from_nanos(
        (u128::from(packets) * 12_000 * 1_000_000_000 / u128::from(rate.as_bps())) as u64,
    );
    let best = (0..3)
        .map(|_| measure(queue, control, flows, rate, length.max(Time::from_secs(1))))
        .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
        .expect("three runs");
    println!(
        "{name:34} {:8.2} Mpackets/s {:7.0} ns/packet {:8.2} Mevents/s {:9.1} x real time, used {:.3}",
        best.packets as f64 / best.seconds / 1e6,
        best.seconds * 1e9 / best.packets as f64,
        best.events as f64 / best.seconds / 1e6,
        best.simulated.as_nanos() as f64 / 1e9 / best.seconds,
        best.utilisation,
    );
}

fn main() {
    let factor = std::env::args().skip(1).find_map(|text| text.parse().ok());
    let packets = 2_000_000 / factor.unwrap_or(1_u64).max(1);
    let mbps = Rate::from_mbps;
    report(
        "10 cubic, 100 Mbit/s, fifo",
        "fifo",
        "cubic",
        10,
        mbps(100),
        packets,
    );
    report(
        "10 reno, 100 Mbit/s, fifo",
        "fifo",
        "reno",
        10,
        mbps(100),
        packets,
    );
    report(
        "10 dctcp, 100 Mbit/s, dualpi2",
        "dualpi2",
        "dctcp",
        10,
        mbps(100),
        packets,
    );
    for flows in [1, 10, 100, 1_000, 10_000] {
        let rate = mbps(10 * u64::from(flows));
        report(
            &format!("{flows} cubic, {rate}"),
            "fifo",
            "cubic",
            flows,
            rate,
            packets,
        );
    }
    for megabits in [10, 100, 1_000, 10_000, 100_000] {
        let rate = mbps(megabits);
        report(
            &format!("10 cubic, {rate}"),
            "fifo",
            "cubic",
            10,
            rate,
            packets,
        );
    }
}
