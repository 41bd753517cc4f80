use super::*;
use crate::answer;
use crate::kinds::find;
use crate::scripted::Wire;
use crate::{AppConfig, Data, KindReport as _, Report};
use quell_units::{Ecn, Rate, Settings};

fn game(settings: &[(&str, &str)]) -> Game {
    let entry = find("game").unwrap();
    let mut values = Settings::new(entry.parameters);
    for (key, value) in settings {
        values.set(key, value).unwrap();
    }
    match entry.configure(&values).unwrap() {
        AppConfig::Game(game) => game,
        other => panic!("{other:?}"),
    }
}

/// Means of size and interval of what an end sends, in bytes and ms.
fn means(game: &Game, role: Role) -> (f64, f64) {
    let mut end = game.end(role, Random::new(2, "game"));
    let (mut now, mut input) = (Time::ZERO, Input::Started);
    let (mut sent, mut bytes) = (0, 0);
    while sent < 100_000 {
        for action in answer(&mut end, now, input) {
            match action {
                Action::Datagram { size, .. } => {
                    sent += 1;
                    bytes += size.get();
                }
                Action::WakeAt(at) => (now, input) = (at, Input::Wake),
                other => panic!("{other:?}"),
            }
        }
    }
    let sent = f64::from(sent);
    (bytes as f64 / sent, now.as_nanos() as f64 / 1e6 / sent)
}

#[test]
fn traffic_has_the_rates_of_its_source() {
    // 128 and 450 bytes of Ethernet in 33 ms are 31.0 and 109.1 kbit/s. Means of LEV are a + 0.5772 b.
    let lev = |a: f64, b: f64| a + 0.577_2 * b;
    let cases = [
        ("docsis", Role::Receiver, 110.0, 33.0),
        ("docsis", Role::Sender, 432.0, 33.0),
        (
            "status-sync",
            Role::Receiver,
            28.0 + lev(38.0, 3.7),
            lev(15.0, 5.7),
        ),
        (
            "status-sync",
            Role::Sender,
            28.0 + lev(50.0, 11.0),
            lev(13.0, 3.7),
        ),
        (
            "lockstep",
            Role::Receiver,
            28.0 + lev(92.0, 38.0),
            lev(22.0, 3.4),
        ),
        (
            "lockstep",
            Role::Sender,
            28.0 + lev(210.0, 35.0),
            lev(28.0, 4.2),
        ),
        ("fps-64", Role::Sender, 300.0, 15.625),
        ("fps-128", Role::Receiver, 100.0, 7.812_5),
    ];
    for (traffic, role, size, interval) in cases {
        let found = means(&game(&[("traffic", traffic)]), role);
        // A size that is too small is drawn again: 0.4 % at most.
        assert!((found.0 / size - 1.0).abs() < 0.008, "{traffic} {found:?}");
        assert!(
            (found.1 / interval - 1.0).abs() < 0.005,
            "{traffic} {found:?}"
        );
    }
    let (size, interval) = means(&game(&[]), Role::Receiver);
    let rate = (size + 18.0) * 8.0 / interval;
    assert!((rate - 31.0).abs() < 0.2, "{rate}");
}

#[test]
fn a_plan_is_the_same_whatever_else_is_set() {
    let plain = game(&[]);
    let other = game(&[("down-size", "500B"), ("tick", "40ms")]);
    assert_eq!(means(&plain, Role::Receiver), means(&other, Role::Receiver));
    let datagrams = game(&[("up-size", "80B"), ("down-size", "500B"), ("tick", "10ms")]);
    let datagrams = datagrams.datagrams().unwrap();
    assert_eq!(
        (datagrams.least, datagrams.size),
        (Bytes::new(80), Bytes::new(500))
    );
    assert_eq!(datagrams.gap(), Time::from_millis(10));
}

/// Plays over a path with this delay each way that loses some states, until the end.
fn play(game: &Game, delay: Time, end: Time, loses: impl Fn(u64) -> bool) -> GameReport {
    let random = Random::new(2, "game");
    let mut ends = [Role::Sender, Role::Receiver].map(|role| game.end(role, random.clone()));
    // Time, whom it concerns, and what happens.
    let mut events: Vec<(Time, usize, Input)> = vec![
        (Time::ZERO, 0, Input::Started),
        (Time::ZERO, 1, Input::Started),
    ];
    let mut sent = [0_u64; 2];
    while let Some(index) = (0..events.len()).min_by_key(|&index| events[index].0) {
        let (now, end_of, input) = events.remove(index);
        if now > end {
            break;
        }
        for action in answer(&mut ends[end_of], now, input) {
            match action {
                Action::WakeAt(at) => events.push((at, end_of, Input::Wake)),
                Action::Datagram { size, content } => {
                    let sequence = sent[end_of];
                    sent[end_of] += 1;
                    let input = Input::Datagram {
                        sequence,
                        sent: now,
                        size,
                        ecn: Ecn::NotEct,
                        content,
                    };
                    if end_of == 1 || !loses(sequence) {
                        events.push((now + delay, 1 - end_of, input));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
    ends.iter_mut().for_each(|each| each.advance(end));
    let mut report = ends[1].report(sent[0]).unwrap();
    report.merge(&ends[0].report(sent[1]).unwrap());
    report
}

#[test]
fn a_command_shows_after_a_round_trip_and_the_wait_for_a_state() {
    let end = Time::from_secs(600);
    let (delay, rtt) = (Time::from_millis(10), Time::from_millis(20));
    let at_once = play(&game(&[("tick", "0ms")]), delay, end, |_| false);
    let times = &at_once.command_to_state;
    assert_eq!((times.min(), times.max()), (Some(rtt), Some(rtt)));
    // A tick adds between nothing and itself: 25 ms on average.
    let ticked = play(&game(&[("tick", "50ms")]), delay, end, |_| false);
    let times = &ticked.command_to_state;
    let mean = times.mean_ns().unwrap() / 1e6;
    assert!((mean - 45.0).abs() < 0.8, "{mean}");
    assert!(times.min().unwrap() >= rtt && times.max().unwrap() <= Time::from_millis(70));
    let network = &ticked.network_rtt;
    assert_eq!((network.min(), network.max()), (Some(rtt), Some(rtt)));
    for report in [&at_once, &ticked] {
        assert_eq!((report.lost, report.late, report.spikes), (0, 0, 0));
        assert_eq!(report.span, end);
        let unshown = report.commands.sent - report.command_to_state.count();
        assert!(unshown <= 4, "in flight: {unshown}");
    }
}

#[test]
fn lost_states_make_a_gap_and_late_commands() {
    let game = game(&[
        ("traffic", "fps-64"),
        ("tick", "20ms"),
        ("deadline", "30ms"),
    ]);
    let end = Time::from_secs(10);
    // Six states of 500 are lost.
    let report = play(&game, Time::from_millis(10), end, |number| {
        (100..106).contains(&number)
    });
    // One is in flight at the end.
    assert_eq!(report.states.lost - report.states.lost_last, 6);
    assert_eq!(report.longest_gap, Time::from_millis(140));
    assert_eq!(report.lost, 0, "later states show what was missed");
    assert!(
        report.late > 0 && report.late_ratio() < 0.02,
        "{}",
        report.late_ratio()
    );
}

#[test]
fn late_states_in_a_row_are_a_spike() {
    let mut client = match game(&[]).end(Role::Receiver, Random::new(1, "game")) {
        End::Client(client) => client,
        _ => unreachable!(),
    };
    answer(&mut *client, Time::ZERO, Input::Started);
    let mut now = Time::ZERO;
    for (number, millis) in [10, 10, 150, 150, 10, 150, 150, 150, 150, 10]
        .into_iter()
        .enumerate()
    {
        now += Time::from_millis(200);
        let input = Input::Datagram {
            sequence: number as u64,
            sent: now - Time::from_millis(millis),
            size: Bytes::new(400),
            ecn: Ecn::NotEct,
            content: [0; 2],
        };
        answer(&mut *client, now, input);
    }
    client.advance(Time::from_secs(30));
    let report = client.report(10).unwrap();
    assert_eq!(report.spikes, 1);
    assert_eq!(report.spikes_per_minute(), Some(2.0));
}

const SECONDS: fn(u64) -> Time = Time::from_secs;

/// Plays over TCP, with a base RTT of 20 ms, for this time. Returns the report, and the lengths that `role` sent.
fn over_tcp(
    settings: &[(&str, &str)],
    rate: Rate,
    span: Time,
    role: Role,
) -> (GameReport, Vec<u64>) {
    let mut wire = Wire::new(&game(settings).into(), 1, Time::from_millis(20), rate, 7);
    wire.run(span);
    let end = usize::from(role == Role::Receiver);
    let actions = wire.log.iter().filter(|(_, of, ..)| *of == end);
    let lengths = actions
        .flat_map(|(.., actions)| actions)
        .filter_map(|action| match action {
            Action::Send(_, Data::Message(message)) => Some(message.length),
            _ => None,
        })
        .collect();
    match wire.report() {
        Report::Game(report) => (report, lengths),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_desktop_and_a_terminal_have_the_traffic_of_their_sources() {
    let span = SECONDS(2_000);
    for (traffic, role, size, interval) in [
        ("desktop", Role::Receiver, 50.6, 48.287),
        // 70.6 % of 41 B and the rest of 1 478.3 B, of which 3 % are above 1 500 B and drawn again.
        ("desktop", Role::Sender, 463.0, 60.227),
        ("ssh", Role::Receiver, 48.0, 250.0),
        ("ssh", Role::Sender, 48.0, 250.0),
    ] {
        let settings = [("traffic", traffic)];
        assert!(game(&settings).datagrams().is_none());
        let (_, lengths) = over_tcp(&settings, Rate::UNLIMITED, span, role);
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<u64>() as f64 / count;
        // Four deviations of exponential intervals, and of sizes.
        let found = span.as_nanos() as f64 / 1e6 / count;
        assert!(
            (found / interval - 1.0).abs() < 4.0 / count.sqrt(),
            "{traffic} {found}"
        );
        let bound = if role == Role::Sender && traffic == "desktop" {
            15.0
        } else {
            0.2
        };
        assert!((mean - size).abs() < bound, "{traffic} {mean}");
    }
}

#[test]
fn what_is_typed_shows_after_a_round_trip_and_its_serialisation() {
    let (report, _) = over_tcp(
        &[("traffic", "ssh")],
        Rate::UNLIMITED,
        SECONDS(600),
        Role::Sender,
    );
    let times = &report.command_to_state;
    let rtt = Some(Time::from_millis(20));
    assert!(times.count() > 2_000);
    assert_eq!((times.min(), times.max()), (rtt, rtt));
    assert_eq!((report.lost, report.late, report.states.lost), (0, 0, 0));
    // 48 bytes take 48 ms at 8 kbit/s each way; what is typed meanwhile waits.
    let slow = Rate::from_bps(8_000);
    let (report, _) = over_tcp(&[("traffic", "ssh")], slow, SECONDS(600), Role::Sender);
    let times = &report.command_to_state;
    assert_eq!(times.min(), Some(Time::from_millis(116)));
    assert!(times.max() > Some(Time::from_millis(150)));
}

#[test]
fn a_desktop_shows_a_command_with_its_next_state() {
    let (report, _) = over_tcp(
        &[("traffic", "desktop")],
        Rate::UNLIMITED,
        SECONDS(2_000),
        Role::Sender,
    );
    // The rest of an exponential interval is as long as a whole one.
    let mean = report.command_to_state.mean_ns().unwrap() / 1e6;
    assert!((mean - 80.2).abs() < 2.5, "{mean}");
    let network = &report.network_rtt;
    // Whole microseconds; and the time for which the server had a command is reported up to 16.7 s.
    let rtt = Time::from_millis(20);
    assert_eq!(network.min(), Some(rtt));
    assert!(
        network.max() <= Some(rtt + Time::from_micros(1)),
        "{:?}",
        network.max()
    );
    let commands = report.command_to_state.count();
    assert!(commands > 40_000 && report.lost == 0, "{commands}");
}
