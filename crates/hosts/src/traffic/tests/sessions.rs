//! Sessions: several connections at once, opened by the user's end.

use quell_app::exchange::Tls;
use quell_app::kinds::web::Connection;
use quell_app::{AppConfig, ItemsReport, Outcome, Web, WebReport};
use quell_units::{Settings, Sizes};

use super::*;

/// Items of these sizes, so many per second.
fn items(rate: u64, sizes: &str) -> Web {
    let entry = quell_app::find("web").unwrap();
    let Ok(AppConfig::Web(web)) = entry.configure(&Settings::new(entry.parameters)) else {
        panic!("the defaults of web are refused")
    };
    Web {
        rate: rate * 1_000_000,
        size: Sizes::parse(sizes).unwrap(),
        max_concurrent: 1_000,
        ..web
    }
}

fn browse(group: usize, web: Web) -> FlowPlan {
    FlowPlan {
        app: web.into(),
        ..bulk(group, free_port(HERE))
    }
}

fn upload(plan: FlowPlan) -> FlowPlan {
    FlowPlan {
        source: Host::Receiver,
        ..plan
    }
}

fn whole(flow: &FlowReport) -> ItemsReport {
    let reports = flow.stretches.iter().map(|stretch| stretch.report.clone());
    let whole = reports.reduce(|mut whole, next| {
        whole.append(&next);
        whole
    });
    let Some(Report::Web(WebReport::Items(items))) = whole else {
        panic!("{whole:?}")
    };
    *items
}

/// All items that began have completed, but for some at the end, and nothing went wrong.
fn assert_browsed(flow: &FlowReport, at_least: u64) -> ItemsReport {
    let seen = whole(flow);
    assert!(seen.completed() >= at_least, "{seen:?}");
    assert_eq!((seen.failed, seen.cut_short, seen.refused), (0, 0, 0));
    assert_eq!(seen.completed() + seen.in_flight, seen.started);
    assert_eq!(flow.not_connected, 0, "{:?}", flow.why_not);
    assert!(flow.up.is_some() && flow.failure.is_none());
    seen
}

#[test]
fn items_complete_on_connections_of_their_own_in_both_directions() {
    let web = items(300, r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#);
    let plans = vec![browse(0, web), upload(browse(1, web))];
    let boundaries = vec![ms(400)];
    let (report, samples) = run(TrafficConfig {
        boundaries,
        ..TrafficConfig::new(ms(1_000), plans)
    });
    assert_sound(&report);
    for flow in &report.flows {
        assert_eq!(flow.stretches.len(), 2);
        // Both ends number connections alike, or sizes would not match.
        let seen = assert_browsed(flow, 150);
        assert!(flow.connections >= seen.completed());
        assert!(flow.delivered.get() >= seen.bytes);
        if seen.in_flight == 0 {
            assert_eq!(flow.delivered.get(), seen.bytes);
        }
        // The kernel counts busy time in jiffies, of which an item over loopback may take none.
        assert!(flow.tcp.is_some());
        let mine = samples.iter().filter(|sample| sample.group == flow.group);
        let mut last = Bytes::ZERO;
        for sample in mine {
            assert!(sample.delivered >= last && sample.delivered <= flow.delivered);
            last = sample.delivered;
        }
        assert!(last > Bytes::ZERO);
    }
}

#[test]
fn each_record_says_what_the_kernel_has_sent_again() {
    let kept = Web {
        connection: Connection::Kept,
        request: Bytes::new(350),
        ..items(100, "20kB")
    };
    let plans = vec![browse(0, items(200, "20kB")), upload(browse(1, kept))];
    let (events, told) = mpsc::channel();
    let _turn = quell_testing::Turn::take();
    let config = TrafficConfig {
        epoch: Epoch::now().after(ms(50)),
        ..TrafficConfig::new(ms(800), plans)
    };
    let traffic = Traffic::start(
        config,
        || Ok(()),
        || Ok(()),
        move |told| {
            if let Told::Event { group, event, .. } = told {
                events.send((group, event)).unwrap();
            }
        },
    );
    assert_sound(&traffic.unwrap().join().unwrap());
    let all: Vec<_> = told.try_iter().collect();
    for group in [0, 1] {
        let of_group = all.iter().filter(|(of, _)| *of == group);
        let complete = of_group.filter(|(_, told)| told.event.outcome == Outcome::Complete);
        let complete: Vec<_> = complete.map(|(_, told)| told).collect();
        assert!(complete.len() > 20, "{}", complete.len());
        for told in complete {
            let ended = told.event.ended.unwrap();
            assert!(
                told.event
                    .wait
                    .is_some_and(|wait| told.event.started + wait <= ended)
            );
            for end in [told.repairs.sender, told.repairs.receiver] {
                // Over loopback nothing is lost, but a busy machine may be slow to acknowledge.
                assert_eq!(end.handshake, Some(0), "{told:?}");
                assert!(end.retransmitted.is_some(), "{told:?}");
                assert_eq!(
                    (end.probes, end.recoveries),
                    (None, None),
                    "not by connection"
                );
            }
        }
    }
}

#[test]
fn connections_that_carry_messages_answer_requests_and_handshakes() {
    let secure = |tls| Web {
        tls,
        request: Bytes::new(350),
        ..items(100, "200kB")
    };
    let kept = Web {
        connection: Connection::Kept,
        request: Bytes::new(350),
        ..items(100, r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#)
    };
    let plans = vec![
        browse(0, secure(Tls::None)),
        upload(browse(1, secure(Tls::V12))),
        browse(2, secure(Tls::V13)),
        upload(browse(3, kept)),
    ];
    let (report, _) = run(TrafficConfig::new(ms(1_000), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = assert_browsed(flow, 40);
        // An answer is as long as its item, header included; handshakes come before it.
        let handshake = match flow.group {
            1 => 4_051,
            2 => 4_000,
            _ => 0,
        };
        let least = seen.bytes + seen.completed() * handshake;
        assert!(flow.delivered.get() >= least);
        if seen.in_flight == 0 {
            assert_eq!(flow.delivered.get(), least);
        }
        if flow.group == 3 {
            assert_eq!(flow.connections, 1);
        }
    }
}

#[test]
fn a_number_is_used_again_and_again_without_a_mix_up() {
    // Of more items than a single connection at a time can carry, most are refused.
    let busy = |most| Web {
        max_concurrent: most,
        ..items(10_000, r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#)
    };
    let plans = vec![
        browse(0, busy(1)),
        upload(browse(1, busy(3))),
        browse(
            2,
            Web {
                request: Bytes::new(24),
                ..busy(2)
            },
        ),
    ];
    let (report, _) = run(TrafficConfig::new(ms(500), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = whole(flow);
        // Some hundreds on an idle machine; a busy one has time for fewer.
        assert!(seen.completed() > 20, "{seen:?}");
        assert_eq!((seen.failed, seen.cut_short), (0, 0), "{:?}", flow.why_not);
        assert!(seen.in_flight <= 3);
        assert_eq!(seen.completed() + seen.in_flight, seen.started);
        assert_eq!(flow.not_connected, 0);
    }
}

#[test]
fn a_stopped_flow_opens_and_sends_nothing_more() {
    let large = items(50, "1GB");
    let stop = |plan| FlowPlan {
        stop: Some(ms(200)),
        ..plan
    };
    let plans = vec![
        stop(browse(0, large)),
        stop(upload(browse(1, large))),
        stop(browse(2, items(500, "1kB"))),
        stop(browse(
            3,
            Web {
                request: Bytes::new(100),
                ..large
            },
        )),
    ];
    let (report, samples) = run(TrafficConfig::new(ms(900), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = whole(flow);
        assert!(seen.started > 0 && flow.delivered > Bytes::ZERO);
        assert_eq!((seen.failed, flow.not_connected), (0, 0));
        match flow.group {
            2 => assert!(seen.completed() > 20),
            // The first may be through on a fast machine; 10 GB in 200 ms are not.
            _ => assert!(seen.completed() < seen.started, "{seen:?}"),
        }
        let mine = samples.iter().filter(|sample| sample.group == flow.group);
        let late: Vec<_> = mine.filter(|sample| sample.at >= ms(700)).collect();
        let last = late.last().unwrap();
        assert_eq!((last.cwnd, last.delivered), (None, flow.delivered));
        assert!(late.iter().all(|sample| sample.delivered == flow.delivered));
    }
}

#[test]
fn a_run_that_ends_early_reports_what_was_measured() {
    let plans = vec![browse(0, items(200, "1MB")), browse(1, items(1, "1GB"))];
    let (traffic, samples) = start(TrafficConfig::new(Time::from_secs(3_600), plans));
    let traffic = traffic.unwrap();
    let up = samples.iter().find(|sample| sample.delivered > Bytes::ZERO);
    let seen = up.unwrap();
    traffic.stop();
    let report = traffic.join().unwrap();
    assert_sound(&report);
    assert!(report.partial && report.ended >= seen.at);
    let flow = &report.flows[seen.group];
    assert!(flow.delivered >= seen.delivered && flow.stretches.len() == 1);
    assert_eq!(flow.not_connected, 0);
}

#[test]
fn windows_and_retransmissions_are_sums_over_the_connections_that_are_up() {
    // A hundred that never end; loopback's windows are ten segments and more.
    let many = Web {
        max_concurrent: 100,
        ..items(2_000, "1GB")
    };
    let (report, samples) = run(TrafficConfig::new(ms(800), vec![browse(0, many)]));
    assert_sound(&report);
    let seen = whole(&report.flows[0]);
    assert_eq!((seen.started, seen.completed()), (100, 0));
    let last = samples.last().unwrap();
    assert!(last.cwnd.unwrap() >= 1_000, "{last:?}");
    assert!(last.rtt.is_some());
}
