//! Traffic between the hosts of a topology: in both directions, at a port per group, and what happens when the link does not carry it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Cable, can_make_networks};
use quell_app::{AppConfig, Bulk, Cbr, Interval, Report, Transfer};
use quell_hosts::confine::capabilities::drop_to_network;
use quell_hosts::topology::{GroupConfig, Topology, TopologyConfig};
use quell_hosts::traffic::{
    Epoch, FlowFailure, FlowPlan, Host, Traffic, TrafficConfig, TrafficReport,
};
use quell_testing::{Missed, Turn, bound, live};
use quell_units::{Bytes, Ecn, Random, Time};

fn plan(topology: &Topology, group: usize, app: AppConfig) -> FlowPlan {
    let addresses = topology.groups[group];
    FlowPlan {
        group,
        flow: 0,
        source: Host::Sender,
        sender: addresses.sender.into(),
        receiver: SocketAddr::new(addresses.receiver.into(), 5_000),
        app,
        congestion_control: None,
        paced: false,
        datagram_ecn: Ecn::NotEct,
        start: Time::ZERO,
        stop: None,
        changes: Default::default(),
        random: Random::new(1, "traffic"),
    }
}

fn voice() -> AppConfig {
    let interval = Interval {
        mean: Time::from_millis(20),
        stddev: Time::ZERO,
    };
    let size = Bytes::new(186);
    Cbr { size, interval }.into()
}

fn transfer() -> AppConfig {
    Transfer {
        size: Bytes::new(1_000),
        repeat: None,
    }
    .into()
}

fn topology(groups: usize) -> Topology {
    let config = TopologyConfig {
        groups: vec![GroupConfig::default(); groups],
        ipv6: true,
        ..TopologyConfig::default()
    };
    Topology::new(&config).unwrap()
}

/// Runs between the sender of one topology and the receiver of another, or of the same.
fn run(from: &Arc<Topology>, to: &Arc<Topology>, mut config: TrafficConfig) -> TrafficReport {
    let (from, to) = (Arc::clone(from), Arc::clone(to));
    config.epoch = Epoch::now().after(Time::from_millis(50));
    let enter_sender = move || {
        from.sender.enter()?;
        drop_to_network()?;
        Ok(())
    };
    let enter_receiver = move || {
        to.receiver.enter()?;
        drop_to_network()?;
        Ok(())
    };
    let traffic = Traffic::start(config, enter_sender, enter_receiver, |_| {});
    traffic.unwrap().join().unwrap()
}

#[test]
fn groups_cross_the_link_in_both_directions_at_their_sizes_and_marks() {
    let test = "groups_cross_the_link_in_both_directions_at_their_sizes_and_marks";
    if can_make_networks(test) {
        live(test, |_| groups_cross());
    }
}

fn groups_cross() -> Result<(), Missed> {
    let topology = Arc::new(topology(4));
    let voice_packets = Arc::new(AtomicU64::new(0));
    let seen = voice_packets.clone();
    let _cable = Cable::join(&topology, Duration::from_millis(2), move |_, frame| {
        let ip_length = frame.bytes.len() - 14;
        if ip_length == 186 && frame.ecn() == Ecn::Ect1 as u8 {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        true
    });
    let group = topology.groups[3];
    let v6 = (
        IpAddr::from(group.sender_v6),
        SocketAddr::new(group.receiver_v6.into(), 5_003),
    );
    let plans = vec![
        plan(&topology, 0, Bulk::default().into()),
        FlowPlan {
            source: Host::Receiver,
            ..plan(&topology, 1, Bulk::default().into())
        },
        FlowPlan {
            datagram_ecn: Ecn::Ect1,
            ..plan(&topology, 2, voice())
        },
        FlowPlan {
            sender: v6.0,
            receiver: v6.1,
            source: Host::Receiver,
            ..plan(&topology, 3, voice())
        },
    ];
    let config = TrafficConfig::new(Time::from_millis(600), plans);
    let report = run(&topology, &topology, config);
    assert_eq!(report.failed().count(), 0, "{:?}", report.warnings());
    for flow in &report.flows[..2] {
        bound!(flow.delivered > Bytes::new(500_000), "{flow:?}");
        // The cable holds each packet for 2 ms each way.
        assert!(
            flow.tcp.unwrap().rtt.unwrap() >= Time::from_millis(4),
            "{flow:?}"
        );
    }
    for flow in &report.flows[2..] {
        let Report::Cbr(seen) = &flow.stretches[0].report else {
            panic!("{flow:?}")
        };
        assert!(
            seen.received > 0 && seen.delays.min().unwrap() >= Time::from_millis(2),
            "{seen:?}"
        );
    }
    assert!(voice_packets.load(Ordering::Relaxed) > 0);
    Ok(())
}

#[test]
fn a_link_that_carries_nothing_fails_the_flow_within_its_time() {
    if !can_make_networks("a_link_that_carries_nothing_fails_the_flow_within_its_time") {
        return;
    }
    let _turn = Turn::take();
    let topology = Arc::new(topology(3));
    let mut config = TrafficConfig::new(
        Time::from_millis(400),
        vec![
            plan(&topology, 0, Bulk::default().into()),
            plan(&topology, 1, voice()),
            plan(&topology, 2, transfer()),
        ],
    );
    config.connect_within = Time::from_millis(100);
    let report = run(&topology, &topology, config);
    assert!(
        matches!(
            report.flows[0].failure,
            Some(FlowFailure::NotConnected { .. })
        ),
        "{report:?}"
    );
    assert!(
        report.warnings()[0].text.contains("is the link up"),
        "{:?}",
        report.warnings()
    );
    // Datagrams do not know: they are simply lost.
    assert!(report.flows[1].failure.is_none() && report.flows[1].delivered == Bytes::ZERO);
    // A transfer that nobody has heard of has begun all the same.
    let Report::Transfer(seen) = &report.flows[2].stretches[0].report else {
        panic!("{report:?}")
    };
    assert_eq!((seen.completed(), seen.unfinished()), (0, 1));
}

#[test]
fn a_refused_connection_is_a_failure_of_its_flow() {
    if !can_make_networks("a_refused_connection_is_a_failure_of_its_flow") {
        return;
    }
    let _turn = Turn::take();
    // The receiver of another topology listens; the one that the cable leads to does not.
    let (joined, other) = (Arc::new(topology(1)), Arc::new(topology(1)));
    let _cable = Cable::plain(&joined);
    let plans = vec![plan(&joined, 0, Bulk::default().into())];
    let report = run(
        &joined,
        &other,
        TrafficConfig::new(Time::from_millis(300), plans),
    );
    assert!(
        matches!(report.flows[0].failure, Some(FlowFailure::Refused { at }) if at.port() == 5_000),
        "{report:?}"
    );
}

#[test]
fn a_flow_that_is_reset_during_the_run_is_reported() {
    if !can_make_networks("a_flow_that_is_reset_during_the_run_is_reported") {
        return;
    }
    let _turn = Turn::take();
    let topology = Arc::new(topology(1));
    // Once data flows, the sender's packets lose all their flags but RST; the receiver's TCP believes them.
    let reset = Arc::new(AtomicBool::new(false));
    let done = reset.clone();
    let _cable = Cable::join(&topology, Duration::ZERO, move |_, frame| {
        if frame.payload() > 0 && !done.load(Ordering::Relaxed) {
            done.store(make_reset(frame.bytes), Ordering::Relaxed);
        }
        true
    });
    let report = run(
        &topology,
        &topology,
        TrafficConfig::new(
            Time::from_millis(600),
            vec![plan(&topology, 0, Bulk::default().into())],
        ),
    );
    assert!(reset.load(Ordering::Relaxed));
    assert!(
        matches!(report.flows[0].failure, Some(FlowFailure::Died { .. })),
        "{report:?}"
    );
}

/// Turns a TCP segment over IPv4 into a reset, with a right checksum.
fn make_reset(frame: &mut [u8]) -> bool {
    const TCP: usize = 14 + 20;
    if frame[12..14] != [0x08, 0x00] || frame[14] != 0x45 || frame[23] != 6 {
        return false;
    }
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), for the 16 bits that hold offset and flags.
    let word = |bytes: &[u8], at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let old = word(frame, TCP + 12);
    frame[TCP + 13] = 0x04;
    let mut sum = (!word(frame, TCP + 16) & 0xffff) + (!old & 0xffff) + word(frame, TCP + 12);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[TCP + 16..TCP + 18].copy_from_slice(&(!sum as u16).to_be_bytes());
    true
}
