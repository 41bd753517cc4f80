//! Sessions of applications that the tests script, over a network whose packets they may lose.

mod bench;

use quell_app::{Action, Data, Message, Role};
use quell_units::Rate;

use super::*;
use bench::{BARE, Bench, FULL, Loses, MS, MSS, RTT, id};

/// A server that sends so much as soon as a connection is up, and shuts down.
fn sends(size: u64) -> impl FnMut(Time, Input, &mut Vec<Action>) {
    move |_, input, actions| {
        if let Input::Opened { connection, .. } = input {
            actions.push(Action::Send(connection, Data::Bytes(size)));
            actions.push(Action::Finish(connection));
        }
    }
}

/// A client that opens these connections at once, and closes each when the server has.
fn opens(count: u32) -> impl FnMut(Time, Input, &mut Vec<Action>) {
    move |_, input, actions| match input {
        Input::Started => actions.extend((0..count).map(|n| Action::Open(id(n)))),
        Input::Ended { connection } => actions.push(Action::Finish(connection)),
        _ => {}
    }
}

fn item(size: u64) -> Bench {
    Bench::new(Role::Receiver, false, sends(size), opens(1))
}

/// Time on the link.
fn takes(bytes: u64) -> Time {
    Time::from_nanos(bytes * 200)
}

#[test]
fn an_item_takes_two_rounds_and_its_serialisation() {
    // Closed form: SYN, SYN-ACK, ACK, the first flight of ten, and a round for each further flight while
    // the link has gaps. Packets of the server are serialised, the FIN's behind the last data.
    for (size, packets, rounds) in [
        (1_000, 1_052, 2),
        (10 * MSS, 10 * FULL, 2),
        // The second flight: its only packet waits for nothing.
        (11 * MSS, FULL + FULL, 3),
        (30 * MSS, FULL + 20 * FULL, 3),
    ] {
        let mut bench = item(size);
        bench.run(MS(500));
        let last_byte = takes(BARE) + RTT * rounds + takes(packets);
        let bytes = |&&(_, input): &&(Time, Input)| matches!(input, Input::Bytes { .. });
        let last = bench.log(End::Receiver).iter().rfind(bytes).unwrap().0;
        assert_eq!(last, last_byte, "{size}");
        // The FIN rides where data had to wait. Elsewhere it follows, if the window is full after the first ACK.
        let end = match size {
            1_000 => last_byte + takes(BARE),
            14_480 => takes(BARE) + RTT * 3 + takes(FULL + BARE),
            _ => last_byte,
        };
        assert_eq!(bench.ends(End::Receiver), [(end, 0)], "{size}");
        // The client's FIN is half a round later.
        let closed = end + RTT / 2;
        assert_eq!(bench.ends(End::Sender), [(closed, 0)]);
        assert_eq!(bench.bytes(End::Receiver), size);
        assert_eq!(bench.session.sample().delivered.get(), size);
        assert!(bench.has_nothing_left());
    }
}

const ANSWER: u8 = 2;

/// A server that answers each message with as many bytes as it asks for, and finishes when the client has.
fn answers(_: Time, input: Input, actions: &mut Vec<Action>) {
    match input {
        Input::Message {
            connection,
            message,
        } if message.reply > 0 => {
            let answer = Message::new(message.reply, ANSWER, message.stream, 0);
            actions.push(Action::Send(connection, Data::Message(answer)));
        }
        Input::Ended { connection } => actions.push(Action::Finish(connection)),
        _ => {}
    }
}

fn ask(connection: u32, reply: u64, stream: u32) -> Action {
    let message = Message::new(350, 1, stream, reply);
    Action::Send(id(connection), Data::Message(message))
}

fn messages(log: &[(Time, Input)]) -> Vec<(Time, Message)> {
    let message = |&(at, input): &(Time, Input)| match input {
        Input::Message { message, .. } => Some((at, message)),
        _ => None,
    };
    log.iter().filter_map(message).collect()
}

#[test]
fn an_answer_follows_a_round_after_its_request_on_a_connection_that_stays() {
    let mut next = 0;
    let client = move |_, input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.push(Action::Open(id(3))),
        Input::Opened { .. } => actions.push(ask(3, 5_000, 0)),
        Input::Bytes { count, .. } => {
            next += count;
            if next == 5_000 - Message::HEADER {
                // The first is whole: two at once.
                actions.extend([ask(3, 2_000, 1), ask(3, 24, 2), Action::Finish(id(3))]);
            }
        }
        _ => {}
    };
    let mut bench = Bench::new(Role::Receiver, true, answers, client);
    bench.run(Time::from_secs(2));
    let asked = messages(bench.log(End::Sender));
    let streams: Vec<u32> = asked.iter().map(|(_, message)| message.stream).collect();
    assert_eq!(streams, [0, 1, 2], "in the order of sending");
    // The SYN-ACK is serialised, requests are not.
    let first = takes(BARE) + RTT + RTT / 2;
    assert_eq!(asked[0].0, first);
    let answered = messages(bench.log(End::Receiver));
    let lengths: Vec<u64> = answered.iter().map(|(_, message)| message.length).collect();
    assert_eq!(lengths, [5_000, 2_000, 24]);
    // The first data are acknowledged at once, as by any Linux host; the header comes with the first packet.
    assert_eq!(answered[0].0, first + takes(BARE + FULL) + RTT / 2);
    let whole = first + takes(BARE + 5_000 + 4 * BARE) + RTT / 2;
    assert_eq!(asked[1].0, whole + RTT / 2);
    assert_eq!(asked[2].0, asked[1].0, "both requests left together");
    assert_eq!(bench.bytes(End::Receiver), 7_024);
    assert_eq!(bench.bytes(End::Sender), 3 * 350);
    assert_eq!(bench.ends(End::Receiver).len(), 1);
    assert_eq!(bench.ends(End::Sender).len(), 1);
    assert!(bench.has_nothing_left());
}

#[test]
fn the_server_may_open_and_its_syn_crosses_the_link() {
    let server = move |_, input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.push(Action::Open(id(0))),
        Input::Opened { connection, .. } => {
            actions.push(Action::Send(connection, Data::Bytes(1_000)));
            actions.push(Action::Finish(connection));
        }
        _ => {}
    };
    let client = |_, input, actions: &mut Vec<Action>| {
        if let Input::Ended { connection } = input {
            actions.push(Action::Finish(connection));
        }
    };
    let mut bench = Bench::new(Role::Sender, false, server, client);
    bench.run(MS(500));
    // SYN, SYN-ACK; ACK, data and FIN.
    let expected = takes(BARE) + RTT + takes(BARE + 1_052 + BARE) + RTT / 2;
    assert_eq!(bench.ends(End::Receiver), [(expected, 0)]);
    assert!(bench.has_nothing_left());
}

/// Loses the packets of a direction with these numbers, counted from 1.
fn losing(direction: Direction, numbers: &'static [u64]) -> Loses {
    Box::new(move |packet, number| packet.direction() == direction && numbers.contains(&number))
}

/// Time from the start to the last byte and to the end, where these packets of the server are lost.
fn item_losing(size: u64, numbers: &'static [u64]) -> (Time, Time) {
    let mut bench = item(size);
    bench.loses = losing(Direction::Forward, numbers);
    bench.run(Time::from_secs(20));
    assert_eq!(bench.bytes(End::Receiver), size);
    assert!(bench.has_nothing_left());
    let bytes = |&&(_, input): &&(Time, Input)| matches!(input, Input::Bytes { .. });
    let last = bench.log(End::Receiver).iter().rfind(bytes).unwrap().0;
    (last, bench.ends(End::Receiver)[0].0)
}

#[test]
fn single_losses_cost_what_linux_needs_to_repair_them() {
    let millis = |time: Time| time.as_nanos() as f64 / 1e6;
    let base = item_losing(5 * MSS, &[]);
    let added = |numbers| {
        let lossy = item_losing(5 * MSS, numbers);
        let of = |lossy, base| millis(lossy) - millis(base);
        (of(lossy.0, base.0), of(lossy.1, base.1))
    };
    // The packets of the server: SYN-ACK, five data, FIN. The client's SYN timer is 1 s, and the server's
    // own begins half a round later.
    let (last, end) = added(&[1]);
    assert!(
        (last - 1_000.0).abs() < 7.0 && (end - last).abs() < 0.1,
        "{last} {end}"
    );
    // The answer to the repeated SYN too; it puts the server's own time-out off.
    let (_, end) = added(&[1, 2]);
    assert!((end - 2_000.0).abs() < 7.0, "{end}");
    // The FIN alone: 2 SRTT + 200 ms, or the time-out if that is sooner (207 ms); the data are there.
    let (last, end) = added(&[7]);
    assert_eq!(last, 0.0);
    assert!((200.0..216.0).contains(&end), "{end}");
    // The last data are betrayed by the SACK of the FIN, within a little more than a round.
    let (last, _) = added(&[6]);
    assert!((7.0..12.0).contains(&last), "{last}");
    // The last two packets: a probe after 2 SRTT and two ticks.
    let (last, _) = added(&[6, 7]);
    assert!((14.0..40.0).contains(&last), "{last}");
    // The second of ten: fast recovery.
    let base = item_losing(10 * MSS, &[]).0;
    let added = millis(item_losing(10 * MSS, &[3]).0) - millis(base);
    assert!((5.0..12.0).contains(&added), "{added}");
}

/// The web's own items, with what they record: from the request for the connection to the end of the file.
fn web_item_losing(packets: u64, numbers: &'static [u64]) -> (Time, [u64; 2], quell_app::Repairs) {
    let entry = quell_app::find("web").unwrap();
    let mut settings = quell_units::Settings::new(entry.parameters);
    let size = format!("{}B", packets * MSS);
    for (key, value) in [("rate", "0.02"), ("size", &size)] {
        settings.set(key, value).unwrap();
    }
    let web = entry.configure(&settings).unwrap();
    let end = |role| {
        let mut end = web.end(role, quell_units::Random::new(1, "app"));
        move |now, input, actions: &mut Vec<Action>| end.poll(now, input, actions)
    };
    let mut bench = Bench::new(
        Role::Receiver,
        false,
        end(Role::Sender),
        end(Role::Receiver),
    );
    bench.loses = losing(Direction::Forward, numbers);
    bench.run(Time::from_secs(300));
    let first = bench.records()[0];
    let took = first.event.ended.unwrap() - first.event.started;
    let slower = |least| u64::from(took >= least);
    let slower = [slower(MS(200)), slower(Time::from_secs(1))];
    (took, slower, first.repairs)
}

#[test]
fn items_of_the_web_take_longer_by_what_their_losses_cost() {
    // The server's packets are the SYN-ACK, the data, and the FIN on its own unless it had to wait. Added
    // times in ms, with R = 7 ms: what was lost, the packets of the item, its packets that are lost.
    use quell_app::Cause;
    for (lost, packets, numbers, from, to, slower, cause) in [
        (
            "the SYN-ACK: the client's SYN timer",
            5,
            &[1][..],
            993.0,
            1_007.0,
            [1, 1],
            Cause::Handshake,
        ),
        (
            "and its repetition",
            5,
            &[1, 2],
            1_993.0,
            2_007.0,
            [1, 1],
            Cause::Handshake,
        ),
        // 2 SRTT + 200 ms, or the time-out of SRTT + 200 ms if that is sooner.
        (
            "the last packet alone",
            5,
            &[7],
            200.0,
            216.0,
            [1, 0],
            Cause::Probe,
        ),
        // A probe after 2 SRTT and two ticks.
        ("the last two", 5, &[6, 7], 14.0, 40.0, [0, 0], Cause::Probe),
        // Fast recovery: about 1.25 R.
        (
            "the second of nine",
            9,
            &[3],
            5.0,
            12.0,
            [0, 0],
            Cause::Recovery,
        ),
    ] {
        let millis = |numbers| web_item_losing(packets, numbers).0.as_nanos() as f64 / 1e6;
        let added = millis(numbers) - millis(&[]);
        println!("{lost}: + {added:.3} ms");
        assert!((from..to).contains(&added), "{lost}: {added}");
        let (_, was_slower, repairs) = web_item_losing(packets, numbers);
        assert_eq!(was_slower, slower, "{lost}");
        println!("{lost}: {repairs:?}");
        assert_eq!(repairs.cause(), Some(cause), "{lost}");
        let (server, user) = (repairs.sender, repairs.receiver);
        let lost_answers = numbers.iter().filter(|number| **number <= 2).count() as u64;
        assert_eq!(user.handshake, Some(lost_answers), "{lost}");
        if cause != Cause::Handshake {
            let count = numbers.len() as u64;
            assert_eq!(
                (server.handshake, server.retransmitted),
                (Some(0), Some(count))
            );
        }
        let nothing = [
            user.timeouts,
            user.probes,
            user.recoveries,
            user.retransmitted,
        ];
        assert_eq!(nothing, [Some(0); 4], "the request is the SYN");
        assert_eq!(web_item_losing(packets, &[]).2, quell_app::Repairs::ZERO);
    }
}

#[test]
fn a_reset_frees_the_number_at_once_and_the_other_end_is_told() {
    let mut bench = Bench::new(
        Role::Receiver,
        false,
        sends(1_000_000),
        |now, input, actions: &mut Vec<Action>| match input {
            Input::Started => actions.extend([Action::Open(id(0)), Action::WakeAt(MS(30))]),
            Input::Wake if now == MS(30) => {
                // In flight there is some of the old connection.
                actions.extend([Action::Abort(id(0)), Action::Open(id(0))]);
                actions.push(Action::Send(id(0), Data::Bytes(10)));
            }
            Input::Ended { connection } => actions.push(Action::Finish(connection)),
            _ => {}
        },
    );
    bench.run(Time::from_secs(5));
    let server: Vec<Input> = bench.log(End::Sender).iter().map(|entry| entry.1).collect();
    let failed = Input::Failed { connection: id(0) };
    let opened = |input: &Input| matches!(input, Input::Opened { serial: 1, .. });
    let lost = server.iter().position(|input| *input == failed).unwrap();
    let again = server.iter().position(opened).unwrap();
    assert!(lost < again, "{server:?}");
    assert_eq!(bench.failures(End::Receiver), 0);
    assert_eq!(bench.ends(End::Receiver).len(), 1);
    // What came of the old connection afterwards was not counted into the new one.
    let before = bench.log(End::Receiver).iter();
    let before = before.take_while(|(at, _)| *at < MS(30));
    let bytes = |(_, input): &(Time, Input)| match input {
        Input::Bytes { count, .. } => *count,
        _ => 0,
    };
    let before: u64 = before.map(bytes).sum();
    assert!(before > 0);
    assert_eq!(bench.bytes(End::Receiver), before + 1_000_000);
    assert!(bench.has_nothing_left());
}

#[test]
fn a_lost_reset_is_repeated_for_what_still_arrives_or_made_up_for_when_the_number_returns() {
    for (size, again) in [(1_000_000, false), (1_000, true)] {
        let client = move |now, input, actions: &mut Vec<Action>| match input {
            Input::Started => actions.extend([Action::Open(id(5)), Action::WakeAt(MS(400))]),
            Input::Wake if now == MS(400) => {
                actions.push(Action::Abort(id(5)));
                actions.push(Action::WakeAt(Time::from_secs(3)));
            }
            Input::Wake if again => actions.push(Action::Open(id(5))),
            Input::Ended { connection } if now > MS(400) => {
                actions.push(Action::Finish(connection));
            }
            _ => {}
        };
        // A server that does not finish: nothing is outstanding once its data is there.
        let server = move |now, input, actions: &mut Vec<Action>| {
            if let Input::Opened { connection, .. } = input {
                actions.push(Action::Send(connection, Data::Bytes(size)));
                if now > MS(400) {
                    actions.push(Action::Finish(connection));
                }
            }
        };
        let mut bench = Bench::new(Role::Receiver, false, server, client);
        let mut has_lost = false;
        bench.loses = Box::new(move |packet, _| {
            let lost = packet.flags().has(Flags::RST) && !has_lost;
            has_lost |= lost;
            lost
        });
        // While 1 MB takes 200 ms at full speed, something is in flight at 400 ms only if it is slowed.
        bench.run(Time::from_secs(2));
        let reported = bench.failures(End::Sender);
        assert_eq!(reported, 0, "{size}: idle, or all there");
        bench.run(Time::from_secs(10));
        assert_eq!(bench.failures(End::Sender), usize::from(again), "{size}");
        assert_eq!(bench.ends(End::Receiver).len(), usize::from(again));
        assert_eq!(bench.has_nothing_left(), again);
    }
}

#[test]
fn thousands_of_connections_share_a_few_slots() {
    // 16 384 at once, and each number twice on average.
    let most = quell_app::Session::MOST;
    let mut again = most;
    let client = move |_, input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.extend((0..most).map(|n| Action::Open(id(n)))),
        Input::Ended { connection } => actions.push(Action::Finish(connection)),
        Input::Closed { connection } if again > 0 => {
            again -= 1;
            actions.push(Action::Open(connection));
        }
        _ => {}
    };
    let mut bench = Bench::new(Role::Receiver, false, sends(100), client);
    bench.run(Time::from_secs(60));
    let ended = bench.ends(End::Receiver).len();
    assert_eq!(ended, 2 * most as usize);
    assert_eq!(
        bench.failures(End::Receiver) + bench.failures(End::Sender),
        0
    );
    let opened = |&&(_, input): &&(Time, Input)| matches!(input, Input::Opened { .. });
    let serials = bench.log(End::Receiver).iter().filter(opened).count();
    assert_eq!(serials, ended);
    assert_eq!(bench.bytes(End::Receiver), 100 * ended as u64);
    // Some wait for the last word of the server when their number is used again.
    assert!(bench.session.slots.len() < most + most / 4);
    assert!(bench.has_nothing_left());
}

#[test]
fn an_end_is_told_when_all_has_been_sent() {
    // A link of its own at 8 Mbit/s: the window holds ten segments, the socket the rest.
    let server = |_, input, actions: &mut Vec<Action>| match input {
        Input::Opened { connection, .. } => {
            actions.push(Action::Send(connection, Data::Bytes(30 * MSS)));
            actions.push(Action::WhenSent(connection));
            actions.push(Action::WhenSent(connection));
        }
        Input::Sent { connection } => actions.push(Action::Finish(connection)),
        _ => {}
    };
    let mut bench = Bench::new(Role::Receiver, false, server, opens(1));
    bench.run(MS(500));
    let sent = |&&(_, input): &&(Time, Input)| matches!(input, Input::Sent { .. });
    let reported: Vec<Time> = bench
        .log(End::Sender)
        .iter()
        .filter(sent)
        .map(|e| e.0)
        .collect();
    // Accepted after 1.5 rounds; the tenth ACK of the first flight lets the last two segments go.
    let accepted = takes(BARE) + RTT + RTT / 2;
    assert_eq!(reported, [accepted + takes(10 * FULL) + RTT]);
    // The FIN could not ride.
    assert_eq!(bench.session.stats().sent, 31);
    assert!(bench.has_nothing_left());
}

#[test]
fn a_wish_to_know_ends_with_its_connection() {
    // Asked too early, and when there is nothing more to hear of.
    let client = |_, input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.extend([Action::Open(id(0)), Action::WhenSent(id(0))]),
        Input::Ended { connection } => {
            actions.extend([Action::Finish(connection), Action::WhenSent(connection)]);
        }
        _ => {}
    };
    let mut bench = Bench::new(Role::Receiver, false, sends(2_000), client);
    bench.run(MS(500));
    let sent = |&&(_, input): &&(Time, Input)| matches!(input, Input::Sent { .. });
    // As soon as it is up; the second time with its end, or not at all.
    let reported: Vec<Time> = bench
        .log(End::Receiver)
        .iter()
        .filter(sent)
        .map(|entry| entry.0)
        .collect();
    assert_eq!(reported[0], takes(BARE) + RTT);
    assert!(reported.len() <= 2);
    assert_eq!(bench.ends(End::Receiver).len(), 1);
    assert!(bench.has_nothing_left());
}

#[test]
fn the_link_of_the_server_paces_all_its_connections_together() {
    let access = Rate::from_mbps(8);
    let mut bench = Bench::with_access(access, Role::Receiver, false, sends(100_000), opens(3));
    bench.run(Time::from_secs(2));
    let ends = bench.ends(End::Receiver);
    assert_eq!(ends.len(), 3);
    // 300 kB in 208 packets at 8 Mbit/s, with SYN-ACKs and perhaps FINs.
    let least = Time::from_nanos((300_000 + 207 * BARE) * 1_000);
    let last = ends.iter().map(|end| end.0).max().unwrap();
    assert!(last > least && last < least + MS(30), "{last}");
    // Sockets do not let more than a few milliseconds wait for it.
    assert_eq!(bench.session.stats().retransmitted, 0);
    assert!(bench.has_nothing_left());
}

#[test]
fn a_stop_ends_everything_at_both_ends_after_what_is_in_flight() {
    let mut bench = Bench::new(
        Role::Receiver,
        false,
        sends(1_000_000),
        |now, input, actions| {
            opens(4)(now, input, actions);
            if matches!(input, Input::Started | Input::Wake) {
                actions.push(Action::WakeAt(now + MS(1)));
            }
            if matches!(input, Input::Wake) && now > MS(50) {
                let number = now.as_nanos() / 1_000_000;
                actions.push(Action::Open(id(number as u32)));
            }
        },
    );
    bench.run(MS(60));
    let before = bench.bytes(End::Receiver);
    assert!((100_000..300_000).contains(&before), "{before}");
    bench.act(Session::stop);
    bench.run(Time::from_secs(5));
    let after = bench.bytes(End::Receiver);
    // No more than the queue held.
    assert!(after > before && after < 1_500_000, "{after}");
    let late = |&&(at, input): &&(Time, Input)| at > MS(60) && input == Input::Wake;
    assert_eq!(bench.log(End::Receiver).iter().filter(late).count(), 0);
    // A SYN that was in flight is answered with a RST.
    assert!(bench.failures(End::Receiver) > 0);
    assert_eq!(bench.session.sample().congestion_window, None);
    assert_eq!(bench.session.sample().delivered.get(), after);
    assert!(bench.has_nothing_left());
}

#[test]
fn counters_go_on_over_connections_and_the_state_is_that_of_the_living() {
    let mut bench = item(200 * MSS);
    bench.loses = losing(Direction::Forward, &[20, 40, 60]);
    bench.run(MS(30));
    let sample = bench.session.sample();
    assert!(sample.rtt.is_some_and(|rtt| rtt >= RTT));
    assert!(sample.congestion_window >= Some(Bytes::new(10 * MSS)));
    bench.run(Time::from_secs(3));
    let sample = bench.session.sample();
    assert_eq!((sample.rtt, sample.congestion_window), (None, None));
    let retransmitted = bench.session.stats().retransmitted;
    assert!(retransmitted >= 3);
    assert_eq!(sample.retransmitted, Some(retransmitted));
    assert_eq!(sample.delivered.get(), 200 * MSS);
}

#[test]
fn nothing_is_allocated_for_a_connection_in_the_place_of_another() {
    let client = |_, input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.extend((0..20).map(|n| Action::Open(id(n)))),
        Input::Ended { connection } => actions.push(Action::Finish(connection)),
        Input::Closed { connection } => actions.push(Action::Open(connection)),
        _ => {}
    };
    let mut bench = Bench::new(Role::Receiver, false, sends(20 * MSS), client);
    bench.run(Time::from_secs(20));
    for app in &mut bench.session.apps {
        app.log.clear();
    }
    let before = bench.session.serial;
    let allocated = allocation_counter::measure(|| bench.run(Time::from_secs(30)));
    let connections = bench.session.serial - before;
    assert!(connections > 1_000, "{connections}");
    assert!(allocated.count_total < 10, "{connections}: {allocated:?}");
}
