//! Finite transfers and bursts: what is counted, and what is left behind.

use quell_app::{
    BurstReport, Datagrams, KindReport as _, OnOff, OnOffReport, Period, Transfer, TransferReport,
    UNSENT,
};

use super::*;

fn transfer(group: usize, size: u64, repeat: Option<Period>) -> FlowPlan {
    FlowPlan {
        app: Transfer {
            size: Bytes::new(size),
            repeat,
        }
        .into(),
        ..bulk(group, free_port(HERE))
    }
}

fn bursts(group: usize, on: Time, off: Time, datagrams: Option<Datagrams>) -> FlowPlan {
    FlowPlan {
        app: OnOff {
            on: Period::fixed(on),
            off: Period::fixed(off),
            datagrams,
        }
        .into(),
        ..bulk(group, free_port(HERE))
    }
}

fn upload(plan: FlowPlan) -> FlowPlan {
    FlowPlan {
        source: Host::Receiver,
        ..plan
    }
}

fn transfers(flow: &FlowReport) -> Vec<&TransferReport> {
    let each = flow.stretches.iter().map(|stretch| match &stretch.report {
        Report::Transfer(report) => report,
        other => panic!("{other:?}"),
    });
    each.collect()
}

fn whole(flow: &FlowReport) -> TransferReport {
    let mut whole = TransferReport::default();
    for report in transfers(flow) {
        whole.append(report);
    }
    whole
}

#[test]
fn one_transfer_completes_and_its_flow_ends() {
    let plans = vec![
        transfer(0, 3_000_000, None),
        upload(transfer(1, 3_000_000, None)),
        transfer(2, 1, None),
    ];
    let (report, samples) = run(TrafficConfig::new(ms(600), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = whole(flow);
        assert_eq!((seen.completed(), seen.unfinished()), (1, 0), "{flow:?}");
        assert_eq!(Bytes::new(seen.bytes), flow.delivered);
        let took = seen.completion.max().unwrap();
        assert!(took > Time::ZERO && took < ms(600), "{took}");
        // Ended: told at the end of the run, without a connection.
        let last = samples
            .iter()
            .rfind(|sample| sample.group == flow.group)
            .unwrap();
        assert_eq!((last.cwnd, last.delivered), (None, flow.delivered));
        assert!(flow.tcp.unwrap().busy < ms(600));
    }
}

#[test]
fn a_renewed_flow_goes_on_until_the_end_in_both_directions() {
    let pause = Period::exponential(ms(10));
    let plans = vec![
        transfer(0, 40_000, Some(pause)),
        upload(transfer(1, 40_000, Some(pause))),
    ];
    let boundaries = vec![ms(500)];
    let (report, _) = run(TrafficConfig {
        boundaries,
        ..TrafficConfig::new(ms(1_000), plans)
    });
    assert_sound(&report);
    for flow in &report.flows {
        let parts = transfers(flow);
        assert_eq!(parts.len(), 2);
        for part in &parts {
            // A hundred pauses or less take a second; a busy machine may be ten times slower.
            assert!(part.completed() >= 5 && part.unfinished() <= 1, "{part:?}");
            assert_eq!(part.cut_short, 0);
        }
        let seen = whole(flow);
        assert_eq!(seen.completed_bytes, seen.completed() * 40_000);
        assert!(seen.bytes - seen.completed_bytes <= 40_000);
        assert_eq!(Bytes::new(seen.bytes), flow.delivered);
        assert!(seen.unfinished() <= 1);
    }
}

#[test]
fn the_next_connection_may_be_on_the_heels_of_the_last() {
    let again = Some(Period::fixed(Time::ZERO));
    let plans = vec![transfer(0, 1_000, again), upload(transfer(1, 1_000, again))];
    let (report, _) = run(TrafficConfig::new(ms(150), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = whole(flow);
        assert!(seen.completed() > 20, "{seen:?}");
        assert_eq!(seen.cut_short, 0);
        assert!(flow.delivered.get() - seen.completed() * 1_000 <= 1_000);
    }
}

#[test]
fn a_stop_cuts_a_transfer_short_and_ends_its_renewal_without_a_failure() {
    let stop = |plan| FlowPlan {
        stop: Some(ms(200)),
        ..plan
    };
    // Nobody moves a terabyte in 200 ms.
    let endless = 1_000_000_000_000;
    let plans = vec![
        stop(transfer(0, endless, Some(Period::fixed(ms(1))))),
        stop(upload(transfer(1, endless, Some(Period::fixed(ms(1)))))),
        stop(transfer(2, 1_000, Some(Period::fixed(Time::ZERO)))),
        stop(upload(transfer(3, 1_000, Some(Period::fixed(Time::ZERO))))),
        stop(transfer(4, 1_000, Some(Period::fixed(ms(10_000))))),
        stop(upload(transfer(5, 1_000, Some(Period::fixed(ms(10_000)))))),
    ];
    let (report, samples) = run(TrafficConfig::new(ms(700), plans));
    assert_sound(&report);
    for flow in &report.flows {
        let seen = whole(flow);
        match flow.group {
            0 | 1 => assert_eq!((seen.completed(), seen.cut_short), (0, 1), "{seen:?}"),
            2 | 3 => assert!(seen.completed() > 1, "{seen:?}"),
            _ => assert_eq!((seen.completed(), seen.unfinished()), (1, 0), "{seen:?}"),
        }
        // Nothing moves long after the stop.
        let late = samples
            .iter()
            .filter(|sample| sample.group == flow.group && sample.at >= ms(600));
        assert!(late.clone().count() > 0);
        assert!(
            late.clone()
                .all(|sample| sample.delivered == flow.delivered)
        );
    }
}

#[test]
fn a_source_that_is_off_is_silent_and_its_connection_stays() {
    // Loopback moves a window in microseconds, so each burst ends with its on-time.
    let plans = vec![
        bursts(0, ms(50), ms(250), None),
        upload(bursts(1, ms(50), ms(250), None)),
    ];
    let (report, samples) = run(TrafficConfig {
        interval: ms(10),
        ..TrafficConfig::new(ms(1_000), plans)
    });
    assert_sound(&report);
    for flow in &report.flows {
        let [
            Stretch {
                report: Report::OnOff(OnOffReport::Stream(BurstReport { bytes, bursts })),
                ..
            },
        ] = &flow.stretches[..]
        else {
            panic!("{flow:?}")
        };
        // From 0, 300, 600 and 900 ms after the flow was up.
        assert!((3..=4).contains(bursts), "{bursts}");
        assert_eq!(Bytes::new(*bytes), flow.delivered);
        assert!(*bytes > bursts * UNSENT.get(), "{bytes}");
        let mine: Vec<_> = samples
            .iter()
            .filter(|sample| sample.group == flow.group)
            .collect();
        assert!(mine.iter().all(|sample| sample.cwnd.is_some()));
        // Most intervals lie in off-times: 5 of 6, less what a busy machine makes late.
        let silent = mine
            .windows(2)
            .filter(|pair| pair[0].delivered == pair[1].delivered)
            .count();
        assert!(2 * silent > mine.len(), "{silent} of {}", mine.len());
    }
}

#[test]
fn datagrams_come_in_bursts() {
    let datagrams = Datagrams::plain(
        Bytes::new(186),
        Interval {
            mean: ms(5),
            stddev: Time::ZERO,
        },
    );
    let plan = FlowPlan {
        stop: Some(ms(390)),
        ..bursts(0, ms(20), ms(80), Some(datagrams))
    };
    let (report, _) = run(TrafficConfig::new(ms(600), vec![plan]));
    assert_sound(&report);
    let flow = &report.flows[0];
    let [
        Stretch {
            report: Report::OnOff(OnOffReport::Datagrams(seen)),
            ..
        },
    ] = &flow.stretches[..]
    else {
        panic!("{flow:?}")
    };
    // Four at 0, 5, 10 and 15 ms of every 100 ms, from when the flow was up to its stop.
    let span = (ms(390) - flow.up.unwrap()).as_nanos() / 1_000_000;
    let expected = span / 100 * 4 + (span % 100).div_ceil(5).min(4);
    assert!(seen.sent.abs_diff(expected) <= 1, "{seen:?} {expected}");
    assert_eq!((seen.received, seen.lost), (seen.sent, 0));
}
