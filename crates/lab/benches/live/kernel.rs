//! A workload through the kernel's own bottleneck, between the same kind of hosts and wires.
//!
//! In the middle namespace frames go from one port to the other by an ingress filter; at the port to
//! the receiver `tbf` holds the rate, with a FIFO of the same room in bytes (`bfifo`, which is what
//! its `limit` makes). There is no delay line: the base RTT is that of the wires.

use std::process::Command;
use std::sync::{Arc, mpsc};

use quell_hosts::confine::capabilities;
use quell_hosts::namespace::Namespace;
use quell_hosts::topology::{Topology, TopologyConfig};
use quell_hosts::traffic::{
    EnterError, Epoch, FlowPlan, Host, Sample, Told, Traffic, TrafficConfig,
};
use quell_units::{Ecn, Random, Time};

use crate::workload::{Load, Workload};

const PORT: u16 = 5_001;
/// So that threads come in time to the start.
const HEAD_START: Time = Time::from_millis(50);
/// After the last datagram: longer than any queue here. The receiver's port stays open so long.
const DRAIN: Time = Time::from_millis(200);

/// Link bits per second that arrived at the receiving applications within `span` after `warmup`, or
/// why nothing was measured.
pub fn measure(workload: &Workload, warmup: Time, span: Time) -> Result<f64, String> {
    let topology = Topology::new(&TopologyConfig::default()).map_err(|error| error.to_string())?;
    let topology = Arc::new(topology);
    let forward = || forward(&topology, workload);
    topology
        .link
        .run(forward)
        .map_err(|error| error.to_string())??;

    let end = warmup + span;
    let config = TrafficConfig {
        epoch: Epoch::now().after(HEAD_START),
        boundaries: vec![warmup, end],
        ..TrafficConfig::new(end + DRAIN, plans(&topology, workload, end))
    };
    let (samples, taken) = mpsc::channel();
    let traffic = Traffic::start(
        config,
        enter(&topology, |topology| &topology.sender),
        enter(&topology, |topology| &topology.receiver),
        move |told| {
            if let Told::Sample(sample) = told {
                // Nobody listens any more once the run has failed.
                let _ = samples.send(sample);
            }
        },
    );
    let report = traffic
        .and_then(Traffic::join)
        .map_err(|error| error.to_string())?;
    if let Some(failed) = report.failed().find_map(|flow| flow.failure.as_ref()) {
        return Err(failed.to_string());
    }
    let samples: Vec<Sample> = taken.try_iter().collect();
    (0..workload.flows())
        .map(|flow| rate(&samples, flow, warmup, end))
        .sum::<Option<f64>>()
        .map(|goodput| workload.link_bytes(goodput))
        .ok_or_else(|| "a flow was not sampled".to_owned())
}

/// Payload of one flow in bits per second, between its first samples at or after two times.
fn rate(samples: &[Sample], flow: usize, from: Time, to: Time) -> Option<f64> {
    let first = |time: Time| {
        let later = samples
            .iter()
            .filter(|sample| sample.flow == flow && sample.at >= time);
        later.min_by_key(|sample| sample.at)
    };
    let (from, to) = (first(from)?, first(to)?);
    let bits = (to.delivered - from.delivered).get() * 8;
    Some(bits as f64 / ((to.at - from.at).as_nanos() as f64 / 1e9))
}

fn plans(topology: &Topology, workload: &Workload, stop: Time) -> Vec<FlowPlan> {
    let addresses = topology.groups[0];
    let plan = |flow| FlowPlan {
        group: 0,
        flow,
        source: Host::Sender,
        sender: addresses.sender.into(),
        receiver: (addresses.receiver, PORT).into(),
        app: workload.app(),
        congestion_control: match workload.load {
            Load::Datagrams => None,
            Load::Streams(_) => Some(["cubic".to_owned(), "cubic".to_owned()]),
        },
        paced: false,
        datagram_ecn: Ecn::NotEct,
        start: Time::ZERO,
        stop: Some(stop),
        changes: Default::default(),
        random: Random::new(1, &format!("flow.{flow}")),
    };
    (0..workload.flows()).map(plan).collect()
}

fn enter(
    topology: &Arc<Topology>,
    namespace: fn(&Topology) -> &Namespace,
) -> impl FnOnce() -> Result<(), EnterError> + use<> {
    let topology = topology.clone();
    move || {
        namespace(&topology).enter()?;
        capabilities::drop_to_network()?;
        Ok(())
    }
}

/// Makes the kernel forward between the ports of the namespace that the calling thread is in.
fn forward(topology: &Topology, workload: &Workload) -> Result<(), String> {
    let (to_sender, to_receiver) = (topology.to_sender.name, topology.to_receiver.name);
    let (rate, limit) = (workload.rate.as_bps(), workload.limit().get());
    // What a late timer may catch up with: 2 ms, and at least two full-sized frames.
    let burst = (rate / 8 / 500).max(2 * 1_514);
    tc(&format!(
        "qdisc add dev {to_receiver} root tbf rate {rate}bit burst {burst} limit {limit}"
    ))?;
    for (from, to) in [(to_sender, to_receiver), (to_receiver, to_sender)] {
        tc(&format!("qdisc add dev {from} ingress"))?;
        tc(&format!(
            "filter add dev {from} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {to}"
        ))?;
    }
    Ok(())
}

fn tc(arguments: &str) -> Result<(), String> {
    let output = Command::new("tc").args(arguments.split(' ')).output();
    let output = output.map_err(|error| format!("tc: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("tc {arguments}: {}", said.trim()))
}
