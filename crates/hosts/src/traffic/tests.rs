//! Whole runs over the loopback interface. They judge bytes, counts and orders; times only with wide bounds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc;

use quell_app::{Bulk, BulkReport, Cbr, Interval, Report, Role, Session};
use quell_units::{Ecn, Random, Time};

use super::plan::{AnyEnd, Script};
use super::*;

mod applications;
mod scripts;
mod sessions;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A port that nobody has: below those that the kernel gives to outgoing connections (`ip_local_port_range`), which other tests make
/// meanwhile, and each one once.
fn free_port(address: IpAddr) -> SocketAddr {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    // Another process of these tests begins elsewhere.
    let first = 10_000 + (std::process::id() % 100) as u16 * 100;
    loop {
        let port = first + COUNT.fetch_add(1, Ordering::Relaxed);
        let is_free =
            TcpListener::bind((address, port)).is_ok() && UdpSocket::bind((address, port)).is_ok();
        if is_free {
            return SocketAddr::new(address, port);
        }
    }
}

fn bulk(group: usize, receiver: SocketAddr) -> FlowPlan {
    FlowPlan {
        group,
        flow: 0,
        source: Host::Sender,
        sender: receiver.ip(),
        receiver,
        app: Bulk::default().into(),
        congestion_control: None,
        paced: false,
        datagram_ecn: Ecn::NotEct,
        start: Time::ZERO,
        stop: None,
        changes: Default::default(),
        random: Random::new(1, "flow"),
        script: None,
    }
}

fn cbr(group: usize, receiver: SocketAddr, size: u64, interval: Time) -> FlowPlan {
    let interval = Interval {
        mean: interval,
        stddev: Time::ZERO,
    };
    FlowPlan {
        app: Cbr {
            size: Bytes::new(size),
            interval,
        }
        .into(),
        ..bulk(group, receiver)
    }
}

fn start(config: TrafficConfig) -> (Result<Traffic, TrafficError>, mpsc::Receiver<Sample>) {
    let (samples, collected) = mpsc::channel();
    (
        Traffic::start(
            config,
            || Ok(()),
            || Ok(()),
            move |told| {
                if let Told::Sample(sample) = told {
                    samples.send(sample).unwrap();
                }
            },
        ),
        collected,
    )
}

fn run(mut config: TrafficConfig) -> (TrafficReport, Vec<Sample>) {
    // They fill the processors while they last.
    let _turn = quell_testing::Turn::take();
    config.epoch = Epoch::now().after(ms(50));
    let (traffic, samples) = start(config);
    let report = traffic.unwrap().join().unwrap();
    (report, samples.try_iter().collect())
}

fn assert_sound(report: &TrafficReport) {
    let failed: Vec<_> = report.failed().collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn bulk_moves_bytes_in_both_directions_and_samples_cover_the_run() {
    let upload = FlowPlan {
        source: Host::Receiver,
        ..bulk(1, free_port(HERE))
    };
    let plans = vec![bulk(0, free_port(HERE)), upload];
    let boundaries = vec![ms(150), ms(330)];
    let (report, samples) = run(TrafficConfig {
        boundaries,
        ..TrafficConfig::new(ms(500), plans)
    });
    assert_sound(&report);
    assert!(!report.partial && report.ended >= ms(500));
    for flow in &report.flows {
        assert!(flow.delivered > Bytes::new(1_000_000), "{flow:?}");
        assert!(flow.tcp.unwrap().busy > Time::ZERO);
        let spans: Vec<_> = flow
            .stretches
            .iter()
            .map(|stretch| (stretch.from, stretch.to))
            .collect();
        assert_eq!(
            spans,
            [
                (Time::ZERO, ms(150)),
                (ms(150), ms(330)),
                (ms(330), ms(500))
            ]
        );
        let counted: u64 = flow
            .stretches
            .iter()
            .map(|stretch| bulk_bytes(&stretch.report))
            .sum();
        assert_eq!(Bytes::new(counted), flow.delivered);

        let mine: Vec<_> = samples
            .iter()
            .filter(|sample| sample.group == flow.group)
            .collect();
        for pair in mine.windows(2) {
            assert!(pair[0].at < pair[1].at && pair[0].delivered <= pair[1].delivered);
            assert!(pair[0].retransmitted <= pair[1].retransmitted);
        }
        for tick in [100, 150, 200, 330, 400, 500].map(ms) {
            // At the tick or after it, but not much.
            assert!(
                mine.iter()
                    .any(|sample| sample.at >= tick && sample.at < tick + ms(1_000)),
                "{tick} {mine:?}"
            );
        }
        assert!(
            mine.iter()
                .all(|sample| sample.cwnd.is_some() && sample.rtt.is_some())
        );
    }
}

/// Datagrams that are due from the flow's begin, which may be late, to before its stop.
fn due(flow: &FlowReport, stop: Time, interval: Time) -> u64 {
    (stop - flow.up.unwrap())
        .as_nanos()
        .div_ceil(interval.as_nanos())
}

fn bulk_bytes(report: &Report) -> u64 {
    let Report::Bulk(BulkReport { bytes }) = report else {
        panic!("{report:?}")
    };
    *bytes
}

#[test]
fn cbr_arrives_complete_in_order_and_with_its_sizes_under_ipv4_and_ipv6() {
    for (address, payload) in [
        (HERE, 186 - 28),
        (IpAddr::V6(Ipv6Addr::LOCALHOST), 186 - 48),
    ] {
        if UdpSocket::bind((address, 0)).is_err() {
            continue; // No IPv6 here.
        }
        let down = cbr(0, free_port(address), 186, ms(20));
        let up = FlowPlan {
            source: Host::Receiver,
            ..cbr(1, free_port(address), 186, ms(20))
        };
        let again = FlowPlan {
            flow: 1,
            ..down.clone()
        };
        // The last datagrams are sent at 200 ms and have 190 ms to arrive.
        let plans = [down, up, again]
            .map(|plan| FlowPlan {
                stop: Some(ms(210)),
                ..plan
            })
            .to_vec();
        let (report, samples) = run(TrafficConfig::new(ms(400), plans));
        assert_sound(&report);
        assert_eq!(report.receive_drops, 0);
        for flow in &report.flows {
            let [
                Stretch {
                    report: Report::Cbr(seen),
                    ..
                },
            ] = &flow.stretches[..]
            else {
                panic!("{flow:?}")
            };
            // At 0, 20 … 200 ms, if the flow was up in time.
            let count = due(flow, ms(210), ms(20));
            assert_eq!(
                (seen.sent, seen.received, seen.lost, seen.reordered),
                (count, count, 0, 0)
            );
            assert_eq!(flow.delivered, Bytes::new(count * payload));
            assert_eq!(flow.tcp, None);
        }
        assert!(
            samples
                .iter()
                .all(|sample| sample.rtt.is_none() && sample.cwnd.is_none())
        );
        // Ended flows are told once more, and then at boundaries only.
        assert!(
            samples.iter().filter(|sample| sample.at >= ms(300)).count() <= 2 * report.flows.len()
        );
    }
}

#[test]
fn a_fast_sender_batches_what_is_due_and_catches_up() {
    // 1500 bytes every 20 us are 600 Mbit/s.
    let plan = FlowPlan {
        stop: Some(ms(200)),
        ..cbr(0, free_port(HERE), 1_500, Time::from_micros(20))
    };
    let (report, _) = run(TrafficConfig::new(ms(500), vec![plan]));
    assert_sound(&report);
    let [
        Stretch {
            report: Report::Cbr(seen),
            ..
        },
    ] = &report.flows[0].stretches[..]
    else {
        panic!()
    };
    // However late the thread wakes, all that is due before the stop is sent, and no more.
    assert_eq!(
        seen.sent,
        due(&report.flows[0], ms(200), Time::from_micros(20))
    );
    assert_eq!(seen.received + report.receive_drops, seen.sent);
    assert_eq!(seen.reordered, 0);
}

#[test]
fn what_was_sent_before_a_boundary_is_not_counted_after_it() {
    let plan = FlowPlan {
        stop: Some(ms(310)),
        ..cbr(0, free_port(HERE), 200, ms(20))
    };
    let boundaries = vec![ms(110), ms(210)];
    let (report, _) = run(TrafficConfig {
        boundaries,
        ..TrafficConfig::new(ms(400), vec![plan])
    });
    let sent: Vec<_> = report.flows[0]
        .stretches
        .iter()
        .map(|stretch| match &stretch.report {
            Report::Cbr(seen) => seen.sent,
            other => panic!("{other:?}"),
        })
        .collect();
    // At 0 … 300 ms, about a third in each stretch; a late wake-up may move some.
    assert_eq!(sent.len(), 3);
    assert_eq!(
        sent.iter().sum::<u64>(),
        due(&report.flows[0], ms(310), ms(20))
    );
}

#[test]
fn flows_start_and_stop_at_their_times() {
    let receiver = free_port(HERE);
    let plans = (0..4)
        .map(|flow| FlowPlan {
            flow,
            start: ms(50 * flow as u64),
            stop: Some(ms(50 * flow as u64 + 100)),
            source: if flow % 2 == 0 {
                Host::Sender
            } else {
                Host::Receiver
            },
            ..bulk(0, receiver)
        })
        .collect();
    let (report, samples) = run(TrafficConfig {
        interval: ms(10),
        ..TrafficConfig::new(ms(600), plans)
    });
    assert_sound(&report);
    for flow in &report.flows {
        let started = ms(50 * flow.flow as u64);
        assert!(flow.up.unwrap() >= started);
        let mine: Vec<_> = samples
            .iter()
            .filter(|sample| sample.flow == flow.flow)
            .collect();
        assert!(mine.iter().all(|sample| sample.at >= started));
        // After the stop the kernel delivers what it had taken; then nothing comes any more.
        let last = mine
            .iter()
            .filter(|sample| sample.at >= ms(550))
            .collect::<Vec<_>>();
        assert_eq!(last.len(), 1, "only the end of the run is told: {last:?}");
        assert_eq!((last[0].cwnd, last[0].delivered), (None, flow.delivered));
        assert!(flow.tcp.is_some() && flow.delivered > Bytes::ZERO);
    }
}

#[test]
fn flows_are_planned_anew_while_they_run() {
    let _turn = quell_testing::Turn::take();
    let receivers = [free_port(HERE), free_port(HERE)];
    let waits = |plan: FlowPlan| FlowPlan {
        start: Time::MAX,
        ..plan
    };
    let plans = vec![
        FlowPlan {
            stop: Some(ms(150)),
            ..bulk(0, receivers[0])
        },
        FlowPlan {
            flow: 1,
            ..waits(bulk(0, receivers[0]))
        },
        waits(cbr(1, receivers[1], 200, ms(10))),
        FlowPlan {
            flow: 1,
            ..waits(cbr(1, receivers[1], 200, ms(10)))
        },
    ];
    let end = ms(700);
    let epoch = Epoch::now().after(ms(50));
    let (traffic, _samples) = start(TrafficConfig {
        epoch,
        ..TrafficConfig::new(end, plans)
    });
    let traffic = traffic.unwrap();
    // The first goes on beyond its stop, the two others begin, the last never does.
    traffic.replan([
        (Time::ZERO, Some(ms(500))),
        (ms(300), None),
        (ms(200), Some(ms(400))),
        (Time::MAX, None),
    ]);
    std::thread::sleep(std::time::Duration::from_millis(450));
    // What has begun does not begin again; what never began, and stops, does not begin.
    traffic.replan([
        (ms(300), Some(ms(500))),
        (ms(300), None),
        (ms(200), Some(ms(400))),
        (Time::MAX, Some(ms(600))),
    ]);
    let report = traffic.join().unwrap();
    assert_sound(&report);
    let [first, second, datagrams, never] = &report.flows[..] else {
        panic!("{report:?}");
    };
    assert!(first.up.unwrap() < ms(150), "{first:?}");
    assert!(second.up.unwrap() >= ms(300), "{second:?}");
    assert!(second.delivered > Bytes::ZERO);
    assert!(datagrams.up.unwrap() >= ms(200), "{datagrams:?}");
    assert_eq!(
        datagrams.delivered,
        // Payload beside 28 bytes of headers.
        Bytes::new(172 * due(datagrams, ms(400), ms(10)))
    );
    assert_eq!((never.up, never.delivered), (None, Bytes::ZERO));
}

#[test]
fn a_datagram_that_fits_no_packet_fails_its_flow_alone() {
    let large = cbr(0, free_port(HERE), 70_000, ms(1));
    let good = cbr(1, free_port(HERE), 1_000, ms(1));
    let (report, _) = run(TrafficConfig::new(ms(200), vec![large, good]));
    let failure = report.flows[0].failure.as_ref().unwrap().to_string();
    assert!(failure.contains("70kB does not fit the MTU"), "{failure}");
    assert_eq!(report.failed().count(), 1);
    assert!(report.flows[1].delivered > Bytes::ZERO);
}

#[test]
fn a_taken_port_is_told_with_its_group() {
    let taken = TcpListener::bind((HERE, 0)).unwrap();
    let at = taken.local_addr().unwrap();
    let plans = vec![bulk(0, free_port(HERE)), bulk(7, at)];
    let (traffic, _) = start(TrafficConfig::new(ms(100), plans));
    let error = traffic.err().unwrap();
    assert!(
        matches!(error, TrafficError::PortInUse { group: 7, at: found, .. } if found == at),
        "{error}"
    );
    assert!(error.to_string().contains("in use on the receiver host"));

    let taken = UdpSocket::bind((HERE, 0)).unwrap();
    let plans = vec![cbr(3, taken.local_addr().unwrap(), 200, ms(20))];
    let error = start(TrafficConfig::new(ms(100), plans)).0.err().unwrap();
    assert!(
        matches!(error, TrafficError::PortInUse { group: 3, .. }),
        "{error}"
    );
}

#[test]
fn what_a_host_lacks_is_told_before_the_run() {
    let none = "192.0.2.1".parse().unwrap(); // RFC 5737: nobody's.
    let unknown = FlowPlan {
        congestion_control: Some([(); 2].map(|()| "nosuchcontrol".into())),
        paced: false,
        ..bulk(2, free_port(HERE))
    };
    let elsewhere = FlowPlan {
        sender: none,
        ..bulk(4, free_port(HERE))
    };
    let cases = [
        (
            unknown,
            "group 2: this kernel has no congestion control nosuchcontrol",
        ),
        (
            elsewhere,
            "group 4: the sender host has no address 192.0.2.1",
        ),
    ];
    for (plan, expected) in cases {
        let error = start(TrafficConfig::new(ms(100), vec![plan]))
            .0
            .err()
            .unwrap()
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let enter = || Err("no such namespace".into());
    let config = TrafficConfig::new(ms(100), vec![bulk(0, free_port(HERE))]);
    let error = Traffic::start(config, || Ok(()), enter, |_| {})
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "cannot enter the receiver host: no such namespace"
    );
}

#[test]
fn both_ends_run_the_control_that_was_asked_for() {
    // Reno is part of every kernel, and no kernel's default.
    let plan = FlowPlan {
        congestion_control: Some([(); 2].map(|()| "reno".into())),
        paced: false,
        ..bulk(0, free_port(HERE))
    };
    let upload = FlowPlan {
        group: 1,
        receiver: free_port(HERE),
        source: Host::Receiver,
        ..plan.clone()
    };
    let (report, _) = run(TrafficConfig::new(ms(200), vec![plan, upload]));
    assert_sound(&report);
    assert!(report.flows.iter().all(|flow| flow.delivered > Bytes::ZERO));
}

#[test]
fn thousands_of_flows_share_two_threads() {
    let (streams, datagrams) = (free_port(HERE), free_port(HERE));
    let mut plans: Vec<_> = (0..1_500)
        .map(|flow| FlowPlan {
            flow,
            ..bulk(0, streams)
        })
        .collect();
    plans.extend((0..500).map(|flow| FlowPlan {
        flow,
        ..cbr(1, datagrams, 200, ms(100))
    }));
    let (report, samples) = run(TrafficConfig::new(ms(2_000), plans));
    assert_sound(&report);
    let up = report
        .flows
        .iter()
        .filter(|flow| flow.up.is_some() && flow.delivered > Bytes::ZERO)
        .count();
    assert_eq!(up, 2_000);
    assert!(
        samples
            .iter()
            .filter(|sample| sample.at >= ms(2_000))
            .count()
            >= 2_000
    );
}

#[test]
fn a_stopped_run_is_partial_and_still_tells_what_was_measured() {
    let plans = vec![bulk(0, free_port(HERE))];
    let (traffic, samples) = start(TrafficConfig::new(Time::from_secs(3_600), plans));
    let traffic = traffic.unwrap();
    let first = samples.recv().unwrap();
    traffic.stop();
    let report = traffic.join().unwrap();
    assert_sound(&report);
    assert!(report.partial && report.ended >= first.at);
    assert!(report.flows[0].delivered >= first.delivered);
    assert_eq!(report.flows[0].stretches.len(), 1);
}

#[test]
fn an_end_that_is_brought_forward_is_an_end_like_any_other() {
    let plans = vec![
        bulk(0, free_port(HERE)),
        cbr(1, free_port(HERE), 200, ms(1)),
    ];
    let config = TrafficConfig {
        epoch: Epoch::now().after(ms(50)),
        boundaries: vec![ms(300), Time::from_secs(3_000)],
        ..TrafficConfig::new(Time::from_secs(3_600), plans)
    };
    let (epoch, end) = (config.epoch, config.end.clone());
    let (traffic, samples) = start(config);
    let traffic = traffic.unwrap();
    let first = samples.recv().unwrap();
    let ends = epoch.elapsed().unwrap() + ms(250);
    end.bring_forward(ends);
    traffic.heed_end();
    let report = traffic.join().unwrap();
    assert_sound(&report);
    assert!(report.partial && report.ended >= ends);
    for flow in &report.flows {
        let spans: Vec<_> = flow
            .stretches
            .iter()
            .map(|part| (part.from, part.to))
            .collect();
        assert_eq!(spans, [(Time::ZERO, ms(300)), (ms(300), ends)]);
    }
    // The last sample of each flow is that of the end, and nothing comes after it.
    let samples: Vec<Sample> = std::iter::once(first).chain(samples).collect();
    for group in [0, 1] {
        let of_group = || samples.iter().filter(|sample| sample.group == group);
        assert!(of_group().next_back().unwrap().at >= ends);
        assert_eq!(of_group().filter(|sample| sample.at >= ends).count(), 1);
    }
}

#[test]
fn a_panic_in_the_callers_code_ends_the_run_with_an_error() {
    let config = TrafficConfig::new(Time::from_secs(3_600), vec![bulk(0, free_port(HERE))]);
    let traffic = Traffic::start(config, || Ok(()), || Ok(()), |_| panic!("by intent")).unwrap();
    assert!(matches!(
        traffic.join(),
        Err(TrafficError::Panicked(Host::Sender))
    ));
}
