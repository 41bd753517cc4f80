use super::*;

/// Keeps what a world reports.
#[derive(Default)]
struct Ear {
    times: Vec<Time>,
    rows: Vec<String>,
    /// Sets the flag once the progress has come to the time.
    stop_at: Option<(Time, &'static AtomicBool)>,
}

impl Listener for Ear {
    fn progress(&mut self, now: Time) {
        self.times.push(now);
        if let Some((at, stop)) = self.stop_at
            && now >= at
        {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        self.rows.push(format!("{row:?}"));
        Ok(())
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

fn voice(more: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"voice\"\n[link]\nrate = \"1mbit\"\nqueue = {{ kind = \"fifo\" }}\n\
         [[group]]\nname = \"voice\"\ncount = 3\nrtt = \"7ms\"\n\
         app = {{ kind = \"cbr\", size = \"186B\", interval = {{ mean = \"20ms\", stddev = \"1ms\" }} }}\n\
         {more}\n[run]\nduration = \"20s\"\nwarmup = \"2s\"\nsettle = \"1s\"\n"
    );
    Scenario::parse(&text).unwrap()
}

fn result(scenario: &Scenario, seed: u64) -> (String, Vec<String>) {
    let mut ear = Ear::default();
    let measured = run(scenario, seed, &NEVER, &mut ear).unwrap();
    let text = [
        serde_json::to_string(&measured.summary).unwrap(),
        serde_json::to_string(&measured.histograms).unwrap(),
    ]
    .concat();
    (text, ear.rows)
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let scenario = voice("");
    assert_eq!(result(&scenario, 1), result(&scenario, 1));
    assert_ne!(result(&scenario, 1), result(&scenario, 2));
}

#[test]
fn a_run_tells_what_applications_saw_and_a_row_per_interval() {
    let scenario = voice("[[at]]\ntime = \"11s\"\nset = { \"group.voice.count\" = 1 }");
    let mut ear = Ear::default();
    let summary = run(&scenario, 1, &NEVER, &mut ear).unwrap().summary;
    assert_eq!((summary.world.as_str(), summary.partial), ("sim", false));
    let group = &summary.figures.groups[0];
    // 3 flows from 2 s to 11 s and 1 to 20 s, 50 packets a second each.
    let expected = (3 * 9 + 9) * 50;
    assert!(group.packets.abs_diff(expected) < 5, "{}", group.packets);
    // Datagrams in flight at a cut count as lost.
    let app = group.app.as_ref().unwrap();
    assert!(app.count("lost").unwrap() <= 9);
    let received = app.count("received").unwrap();
    assert!(group.packets - received < 9, "{received}");
    // 3.5 ms and 1.488 ms of serialisation at least.
    assert_eq!(app.times("one_way_delay_ms").unwrap().min, 4.988);
    let phases: Vec<_> = summary
        .phases
        .iter()
        .map(|p| (p.start_s, p.end_s))
        .collect();
    assert_eq!(phases, [(2.0, 11.0), (12.0, 20.0)]);
    // 200 intervals: a row for each direction's queue, and for each flow that lives.
    let flows = ear
        .rows
        .iter()
        .filter(|row| row.starts_with("Flow"))
        .count();
    assert_eq!((flows, ear.rows.len() - flows), (110 * 3 + 90, 400));
    assert_eq!(ear.times.last(), Some(&Time::from_secs(20)));
    assert!(ear.times.len() <= 202 && ear.times.is_sorted());
}

/// One group over an idle link of 10 Mbit/s, with a base RTT of 20 ms.
fn alone(app: &str, more: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"alone\"\n[link]\nrate = \"10mbit\"\nqueue = {{ kind = \"fifo\" }}\n\
         [[group]]\nname = \"g\"\nrtt = \"20ms\"\napp = {{ {app} }}\n{more}\n[run]\nduration = \"20s\"\n"
    );
    Scenario::parse(&text).unwrap()
}

fn summary_of(scenario: &Scenario) -> quell_measure::Summary {
    run(scenario, 1, &NEVER, &mut Ear::default())
        .unwrap()
        .summary
}

#[test]
fn transfers_report_their_completion_times_in_the_phase_in_which_they_complete() {
    // Two flows that transfer 1 MB: 2 s together, from which one leaves in the midst of its second.
    let at = "[[at]]\ntime = \"3s\"\nset = { \"group.g.count\" = 1 }";
    let app = "kind = \"transfer\", size = \"1MB\", repeat = \"10ms\"";
    let scenario = alone(app, &format!("count = 2\ngso = false\n{at}"));
    let summary = summary_of(&scenario);
    let app = |figures: &quell_measure::Figures| figures.groups[0].app.clone().unwrap();
    let seen = |app: &quell_measure::AppSummary, figure: &str| app.count(figure).unwrap();
    let whole = &app(&summary.figures);
    let [first, second] = &[0, 1].map(|i| app(&summary.phases[i].figures));
    assert_eq!(whole.kind, "transfer");
    // 3 s at 10 Mbit/s carry 3.6 MB of payload: at most three whole transfers.
    assert!((2..=3).contains(&seen(first, "completed")), "{first:?}");
    assert_eq!(seen(first, "unfinished"), 2);
    // The one that left, and the one that the end of the run meets.
    assert_eq!(seen(second, "unfinished"), 2);
    assert_eq!(seen(whole, "unfinished"), 2);
    let completed = seen(first, "completed") + seen(second, "completed");
    assert_eq!(seen(whole, "completed"), completed);
    // Alone a transfer takes 868 ms without bursts (the simulator's own tests) and the next one starts 20 ms later.
    assert!((17..=20).contains(&seen(second, "completed")), "{second:?}");
    let alone = second.times("completion_ms").unwrap();
    assert_eq!(alone.min, alone.p50);
    assert!((868.0..869.0).contains(&alone.p50), "{second:?}");
    let shared = first.times("completion_ms").unwrap().mean;
    assert!((1_500.0..2_000.0).contains(&shared), "{first:?}");
    // 8 Mbit over the time that it took.
    let goodput = first.number("goodput_bps").unwrap();
    assert!(
        (goodput * shared / 8e9 - 1.0).abs() < 1e-9,
        "{goodput} {shared}"
    );
    let bytes = seen(first, "bytes") + seen(second, "bytes");
    assert_eq!(seen(whole, "bytes"), bytes);
    // No flow asks for all that it can get: nothing is wrong with a link that is not full.
    assert_eq!(summary.warnings, [] as [&str; 0]);
    assert_eq!(summary.figures.jain, None);
}

#[test]
fn a_single_transfer_completes_once_and_its_flow_counts_to_the_end() {
    let summary = summary_of(&alone("kind = \"transfer\", size = \"1MB\"", ""));
    let group = &summary.figures.groups[0];
    let app = group.app.as_ref().unwrap();
    assert_eq!(
        (app.count("completed"), app.count("unfinished")),
        (Some(1), Some(0))
    );
    // 8 Mbit in 20 s, less the part of an RTT that comes before its start.
    assert!((group.count, group.goodput_bps[0]) == (1, 8e6 / group.alive_s[0]));
    assert!((19.98..=20.0).contains(&group.alive_s[0]), "{group:?}");
    let none = summary_of(&alone("kind = \"transfer\", size = \"1GB\"", ""));
    let app = none.figures.groups[0].app.as_ref().unwrap();
    for figure in ["completion_ms", "goodput_bps"] {
        assert_eq!(app.figures[figure], quell_measure::AppFigure::Nothing);
    }
}

#[test]
fn each_key_of_an_application_changes_what_it_does() {
    let packets = |app: &str| summary_of(&alone(app, "")).figures.groups[0].packets;
    let transfer = "kind = \"transfer\", size = \"100kB\"";
    let repeated = format!("{transfer}, repeat = \"1s\"");
    let drawn = format!("{transfer}, repeat = {{ mean = \"1s\", distribution = \"exponential\" }}");
    let bursts = "kind = \"on-off\", on = \"1s\", off = \"1s\"";
    let longer = "kind = \"on-off\", on = \"2s\", off = \"1s\"";
    let rarer = "kind = \"on-off\", on = \"1s\", off = \"3s\"";
    let drawn_on =
        "kind = \"on-off\", on = { mean = \"1s\", distribution = \"exponential\" }, off = \"1s\"";
    let datagrams = format!("{bursts}, size = \"200B\", interval = \"20ms\"");
    let dense = format!("{bursts}, size = \"200B\", interval = \"10ms\"");
    let counts: Vec<u64> = [
        transfer, &repeated, &drawn, bursts, longer, rarer, drawn_on, &datagrams, &dense,
    ]
    .into_iter()
    .map(packets)
    .collect();
    // 70 segments, a SYN, and the two ACKs and FINs that a connection needs.
    assert!((71..=74).contains(&counts[0]), "{counts:?}");
    let mut distinct = counts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), counts.len(), "{counts:?}");
    // 50 or 100 a second, in every other second.
    assert_eq!(counts[7..], [500, 1_000]);
    // 833 packets a second in on-times of 10 × 1 s, 7 × 2 s and 5 × 1 s, less the slow start of each. After each there leaves
    // what the queue (100 ms), the path (20 ms) and the socket (16 KiB, 13 ms) held.
    for (count, bursts, on) in [
        (counts[3], 10.0, 1.0),
        (counts[4], 7.0, 2.0),
        (counts[5], 5.0, 1.0),
    ] {
        let (least, most) = (0.9 * on, on + 0.133);
        let packets = (least * bursts * 833.0)..(most * bursts * 833.0);
        assert!(packets.contains(&(count as f64)), "{counts:?}");
    }
}

#[test]
fn a_run_that_is_stopped_tells_what_it_measured_until_then() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut ear = Ear {
        stop_at: Some((Time::from_secs(5), &STOP)),
        ..Ear::default()
    };
    let mut scenario = voice("");
    scenario.run.duration = Time::from_secs(80_000);
    scenario.run.interval = Time::from_secs(1);
    let summary = run(&scenario, 1, &STOP, &mut ear).unwrap().summary;
    assert!(summary.partial);
    let end = summary.duration_s;
    assert!((400.0..500.0).contains(&end), "{end}");
    // 20 000 spacings that deviate by 1 ms each: 7 packets for each of 3 flows; four deviations.
    let expected = (end - 2.0) * 150.0;
    let packets = summary.figures.groups[0].packets as f64;
    assert!((packets - expected).abs() < 50.0, "{packets} {expected}");
    let app = summary.figures.groups[0].app.as_ref().unwrap();
    assert!(app.count("received").unwrap() > 0);
}

#[test]
fn a_listener_that_fails_ends_the_run() {
    struct Full;
    impl Listener for Full {
        fn progress(&mut self, _now: Time) {}
        fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
            Err(Unwritten)
        }
    }
    let error = run(&voice(""), 1, &NEVER, &mut Full).unwrap_err();
    assert!(matches!(error, SimError::Unwritten(_)));
}

#[test]
fn a_late_link_delays_packets_by_what_it_is_late_and_changes_no_more() {
    let scenario = voice("");
    let with = |lateness| {
        let run = run_late(&scenario, 1, lateness, &NEVER, &mut Ear::default());
        run.unwrap().summary.figures
    };
    let delay = |figures: &quell_measure::Figures| {
        let app = figures.groups[0].app.as_ref().unwrap();
        app.times("one_way_delay_ms").unwrap().mean
    };
    let punctual = with(None);
    // Wakes 2 ms late at the most, 1 ms on average; packets come 6.7 ms apart, so few share a wake-up.
    let uniform = Lateness::from_quantiles(&[(1.0, Time::from_millis(2))]);
    let late = with(Some(uniform));
    let rise = delay(&late) - delay(&punctual);
    assert!((0.9..1.05).contains(&rise), "{rise}");
    assert_eq!(late.queues[0], punctual.queues[0]);
    assert_eq!(with(Some(Lateness::from_quantiles(&[]))), punctual);
}

/// Flows that start at the same instants differ by seed, and only by the noise of their hosts.
#[test]
fn hosts_of_tcp_senders_answer_a_little_late_and_those_of_datagrams_do_not() {
    let text = |rtt: &str, rate: &str| {
        format!(
            "schema = 1\nname = \"noise\"\n[link]\nrate = \"{rate}\"\nqueue = {{ kind = \"fifo\" }}\n\
             [[group]]\nname = \"tcp\"\nrtt = \"{rtt}\"\napp = {{ kind = \"bulk\" }}\n\
             [[group]]\nname = \"voice\"\nrtt = \"{rtt}\"\n\
             app = {{ kind = \"cbr\", size = \"186B\", interval = \"20ms\" }}\n[run]\nduration = \"1s\"\n"
        )
    };
    // 20 µs, a packet of 1 500 bytes, and 5 % of the base RTT; data goes forward, so what comes back is late.
    for (rtt, rate, span) in [
        ("20ms", "10mbit", Time::from_micros(20)),
        ("20ms", "1gbit", Time::from_micros(12)),
        ("100us", "10mbit", Time::from_micros(5)),
        ("0s", "10mbit", Time::ZERO),
    ] {
        let scenario = Scenario::parse(&text(rtt, rate)).unwrap();
        let config = plan::config(&scenario, 1, &lifetimes(&scenario, 1), 0).unwrap();
        let expected = [vec![Time::ZERO; 2], vec![span, Time::ZERO]];
        assert_eq!(config.jitter.spans, expected, "{rtt} {rate}");
    }
}

/// Each host has its own phase, which the seed says, and all have the HZ of the kernel compared with.
#[test]
fn the_timers_of_hosts_tick_in_phases_of_their_own() {
    let text = "schema = 1\nname = \"ticks\"\n[link]\nrate = \"10mbit\"\nqueue = { kind = \"fifo\" }\n\
                [[group]]\nname = \"tcp\"\ncount = 2\nrtt = \"20ms\"\napp = { kind = \"bulk\" }\n[run]\nduration = \"1s\"\n";
    let scenario = Scenario::parse(text).unwrap();
    let ticks = |seed| -> Vec<quell_tcp::Ticks> {
        let config = plan::config(&scenario, seed, &lifetimes(&scenario, seed), 0).unwrap();
        let ends = config.flows.iter().map(|flow| match &flow.transport {
            quell_sim::TransportConfig::Stream(ends) => [ends.0.ticks, ends.1.ticks],
            other => panic!("{other:?}"),
        });
        ends.flatten().collect()
    };
    let all: Vec<_> = [1, 2].into_iter().flat_map(ticks).collect();
    assert_eq!(all.len(), 8);
    for (index, one) in all.iter().enumerate() {
        assert_ne!(*one, quell_tcp::Ticks::EXACT);
        assert!(!all[..index].contains(one), "{all:?}");
    }
    assert_eq!(ticks(1), ticks(1));
}

/// The first flight takes one way after the handshake, and each further one a round: ten segments leave in one flight, or in
/// two of three and six and a last one, or in four of one, two, four and three.
#[test]
fn the_initial_window_decides_how_many_rounds_a_short_transfer_takes() {
    let scenario = |segments: u64, mss: u64| {
        let size = 10 * (mss - 12);
        let app = format!("kind = \"transfer\", size = \"{size}B\"");
        alone(
            &app,
            &format!("initial-window = {segments}\nmss = \"{mss}B\""),
        )
    };
    for (segments, rounds) in [(10, 0), (3, 2), (1, 3)] {
        for mss in [1_460, 536] {
            let summary = summary_of(&scenario(segments, mss));
            let group = &summary.figures.groups[0];
            let app = group.app.as_ref().unwrap();
            let took = app.times("completion_ms").unwrap().max;
            // 1.5 rounds for the handshake and the first flight; ten packets take up to 12 ms on the link.
            let least = 30.0 + 20.0 * f64::from(rounds);
            assert!(
                (least..least + 14.0).contains(&took),
                "{segments} {mss} {took}"
            );
        }
    }
    // Small segments carry what large ones do in more packets.
    let packets = |mss: u64| {
        let scenario = alone(
            "kind = \"transfer\", size = \"1MB\"",
            &format!("mss = \"{mss}B\""),
        );
        summary_of(&scenario).figures.groups[0].packets
    };
    // SYN, ACK and FIN come on top.
    assert!((1_000_000_u64.div_ceil(1_448)..=694).contains(&packets(1_460)));
    assert!((1_000_000_u64.div_ceil(524)..=1_912).contains(&packets(536)));
}

#[test]
fn the_control_of_each_flow_has_randomness_of_its_own() {
    let scenario = alone("kind = \"bulk\"", "count = 2");
    let draws = |seed| -> Vec<u64> {
        let flows = simulation(&scenario, seed).unwrap().flows;
        let draw = |flow: &quell_sim::FlowConfig| match &flow.transport {
            quell_sim::TransportConfig::Stream(ends) => ends.0.random.clone().u64(),
            other => panic!("{other:?}: bulk data use TCP"),
        };
        flows.iter().map(draw).collect()
    };
    assert_eq!(draws(1), draws(1));
    let mut all = [draws(1), draws(2)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4);
}

fn web(group: &str, more: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"web\"\n[link]\nrate = \"40mbit\"\nqueue = {{ kind = \"fifo\" }}\n\
         [[group]]\nname = \"web\"\nrtt = \"7ms\"\n{group}\n{more}\n[run]\nduration = \"20s\"\n"
    );
    Scenario::parse(&text).unwrap()
}

const ITEMS: &str = "app = { kind = \"web\", rate = 20, size = \"10kB\" }";

#[test]
fn both_hosts_of_a_session_have_the_control_of_the_group_and_no_nagle() {
    let group =
        format!("congestion-control = \"dctcp\"\necn = \"ect1\"\ninitial-window = 4\n{ITEMS}");
    let config = simulation(&web(&group, ""), 1).unwrap();
    let quell_sim::TransportConfig::Session(hosts) = &config.flows[0].transport else {
        panic!("a session");
    };
    for (sender, receiver) in hosts.iter() {
        assert_eq!(sender.congestion_control.kind().name, "dctcp");
        assert_eq!(sender.ecn, receiver.ecn);
        assert_eq!((sender.initial_window, sender.nagle), (4, false));
        assert_eq!(sender.ticks, receiver.ticks, "one host");
        assert!(receiver.buffer.is_some());
    }
    assert_ne!(hosts[0].0.ticks, hosts[1].0.ticks);
    let [first, second] = [0, 1].map(|host: usize| hosts[host].0.random.clone().u64());
    assert_ne!(first, second);
}

#[test]
fn users_come_and_go_and_either_direction_serves() {
    let started = |scenario: &Scenario| {
        let summary = summary_of(scenario);
        let group = &summary.figures.groups[0];
        let figures = &group.app.as_ref().unwrap().figures;
        match figures["started"] {
            quell_measure::AppFigure::Count(count) => (count, group.goodput_bps.len()),
            ref other => panic!("{other:?}"),
        }
    };
    let alone = started(&web(ITEMS, ""));
    // 400 items, four deviations.
    assert!((320..480).contains(&alone.0) && alone.1 == 1, "{alone:?}");
    let back = started(&web(&format!("direction = \"reverse\"\n{ITEMS}"), ""));
    assert_eq!(back, alone, "the plan is the seed's");
    let more = "[[at]]\ntime = \"5s\"\nset = { \"group.web.count\" = 3 }\n\
                [[at]]\ntime = \"15s\"\nset = { \"group.web.count\" = 0 }";
    // 15 s of one user, and 10 s of two.
    let (items, flows) = started(&web(ITEMS, more));
    assert!((588..812).contains(&items) && flows == 3, "{items}");
    let late = started(&web(
        &format!("start = \"10s\"\nstop = \"15s\"\n{ITEMS}"),
        "",
    ));
    assert!((60..140).contains(&late.0), "{late:?}");
}

#[test]
fn how_bulk_data_is_read_shows_in_the_shares() {
    let shares = |reads: &str| {
        let text = format!(
            "schema = 1\nname = \"reads\"\n[link]\nrate = \"40mbit\"\nqueue = {{ kind = \"dualpi2\" }}\n\
             [[group]]\nname = \"l4s\"\ncount = 4\nrtt = \"7ms\"\ncongestion-control = \"dctcp\"\necn = \"ect1\"\n\
             app = {{ kind = \"bulk\"{reads} }}\n\
             [[group]]\nname = \"classic\"\ncount = 2\nrtt = \"7ms\"\napp = {{ kind = \"bulk\"{reads} }}\n\
             [run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
        );
        let scenario = Scenario::parse(&text).unwrap();
        let measured = run(&scenario, 1, &NEVER, &mut Ear::default()).unwrap();
        let groups = &measured.summary.figures.groups;
        [0, 1].map(|place: usize| groups[place].packets)
    };
    let pieces = shares(", reads = \"pieces\"");
    let at_once = shares(", reads = \"at-once\"");
    assert_eq!(pieces, shares(""));
    // In the guest as beside iperf3: CUBIC loses a twelfth (docs/evidence/validation.md).
    let left = at_once[1] as f64 / pieces[1] as f64;
    assert!(left > 0.85 && left < 0.97, "{pieces:?} {at_once:?}");
    assert!(at_once[0] > pieces[0], "{pieces:?} {at_once:?}");
}
