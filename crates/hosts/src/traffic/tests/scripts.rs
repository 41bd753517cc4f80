//! Sessions whose two ends a test plays itself, so that it sees everything that they are told.

use std::sync::Mutex;

use quell_app::{Action, Application, ConnectionId, Data, Input};

use super::*;

const NUMBER: ConnectionId = ConnectionId(3);

/// Plays one end.
struct Player<F>(F);

impl<F: FnMut(Input, &mut Vec<Action>)> Application for Player<F> {
    type Report = Report;

    fn poll(&mut self, _now: Time, input: Input, actions: &mut Vec<Action>) {
        (self.0)(input, actions);
    }
}

/// What both ends were told, in the order of each.
type Log = Arc<Mutex<[Vec<Input>; 2]>>;

/// Lets both ends play over loopback for 0.4 s.
fn play<S, R>(
    opener: Role,
    config: impl FnOnce(&mut TrafficConfig),
    sender: impl Fn() -> S + Send + Sync + 'static,
    receiver: impl Fn() -> R + Send + Sync + 'static,
) -> (FlowReport, [Vec<Input>; 2])
where
    S: FnMut(Input, &mut Vec<Action>) + Send + 'static,
    R: FnMut(Input, &mut Vec<Action>) + Send + 'static,
{
    let log: Log = Arc::default();
    let seen = log.clone();
    let end = move |role| -> AnyEnd {
        let log = seen.clone();
        let index = usize::from(role == Role::Receiver);
        let note = move |input| log.lock().unwrap()[index].push(input);
        match role {
            Role::Sender => {
                let mut act = sender();
                Box::new(Player(move |input, actions: &mut Vec<Action>| {
                    note(input);
                    act(input, actions);
                }))
            }
            Role::Receiver => {
                let mut act = receiver();
                Box::new(Player(move |input, actions: &mut Vec<Action>| {
                    note(input);
                    act(input, actions);
                }))
            }
        }
    };
    let session = Session {
        opener,
        framed: false,
        connections: 4,
    };
    let plan = FlowPlan {
        script: Some(Script {
            session,
            end: Arc::new(end),
        }),
        ..bulk(0, free_port(HERE))
    };
    let mut traffic = TrafficConfig::new(ms(400), vec![plan]);
    config(&mut traffic);
    let (mut report, _) = run(traffic);
    assert_sound(&report);
    let seen = std::mem::take(&mut *log.lock().unwrap());
    (report.flows.pop().unwrap(), seen)
}

fn send(bytes: u64) -> Action {
    Action::Send(NUMBER, Data::Bytes(bytes))
}

/// The inputs without their times, and bytes that follow each other as one.
fn outline(inputs: &[Input]) -> Vec<String> {
    let mut outline: Vec<String> = Vec::new();
    let mut bytes = 0;
    for input in inputs.iter().chain([&Input::Wake]) {
        if let Input::Bytes { count, .. } = input {
            bytes += count;
            continue;
        }
        if std::mem::take(&mut bytes) > 0 {
            outline.push("bytes".to_owned());
        }
        outline.push(match input {
            Input::Opened { serial, .. } => format!("opened {serial}"),
            other => format!("{other:?}")
                .split(' ')
                .next()
                .unwrap()
                .to_lowercase(),
        });
    }
    outline.pop();
    outline
}

fn bytes(inputs: &[Input]) -> u64 {
    let counts = inputs.iter().map(|input| match input {
        Input::Bytes { count, .. } => *count,
        _ => 0,
    });
    counts.sum()
}

#[test]
fn a_connection_that_one_end_has_finished_carries_data_the_other_way() {
    let opens = |input, actions: &mut Vec<Action>| match input {
        Input::Started => actions.push(Action::Open(NUMBER)),
        Input::Opened { .. } => actions.extend([send(3_000_000), Action::Finish(NUMBER)]),
        _ => {}
    };
    let answers = |input, actions: &mut Vec<Action>| {
        if let Input::Ended { .. } = input {
            actions.extend([send(2_000_000), Action::Finish(NUMBER)]);
        }
    };
    let outlines = [
        vec!["started", "opened 0", "bytes", "closed"],
        vec!["opened 0", "bytes", "ended", "closed"],
    ];
    for opener in [Role::Sender, Role::Receiver] {
        let (flow, mut seen) = if opener == Role::Sender {
            play(opener, |_| {}, move || opens, move || answers)
        } else {
            play(opener, |_| {}, move || answers, move || opens)
        };
        // What the receiver got is delivered, whoever asked for the connection.
        assert_eq!(flow.delivered.get(), bytes(&seen[1]), "{seen:?}");
        if opener == Role::Receiver {
            seen.reverse();
        }
        assert_eq!((bytes(&seen[0]), bytes(&seen[1])), (2_000_000, 3_000_000));
        let of_both = seen.each_ref().map(|inputs| outline(inputs));
        assert_eq!(of_both, outlines);
        assert_eq!((flow.connections, flow.not_connected), (1, 0));
    }
}

#[test]
fn a_reset_connection_is_over_for_both_and_its_number_free_at_once() {
    let resets = || {
        let mut opened = 0;
        move |input, actions: &mut Vec<Action>| match input {
            Input::Started => actions.push(Action::Open(NUMBER)),
            Input::Opened { serial, .. } => {
                assert_eq!(serial, opened);
                opened += 1;
            }
            Input::Bytes { .. } if opened < 20 => {
                actions.extend([Action::Abort(NUMBER), Action::Open(NUMBER)]);
            }
            _ => {}
        }
    };
    let floods = || {
        |input, actions: &mut Vec<Action>| {
            if let Input::Opened { connection, .. } = input {
                actions.push(Action::Send(connection, Data::Endless));
            }
        }
    };
    let (flow, seen) = play(Role::Receiver, |_| {}, floods, resets);
    assert_eq!((flow.connections, flow.not_connected), (20, 0));
    let (mut client, mut server) = (vec!["started".to_owned()], Vec::new());
    for serial in 0..20 {
        client.extend([format!("opened {serial}"), "bytes".to_owned()]);
        server.extend([format!("opened {serial}"), "failed".to_owned()]);
    }
    server.pop();
    // A server whose connection was reset before it was accepted is told so all the same.
    assert_eq!(outline(&seen[1]), client);
    assert_eq!(outline(&seen[0]), server);
    // The other way round: the end that accepts resets.
    let fickle = || {
        |input, actions: &mut Vec<Action>| {
            if let Input::Opened { connection, .. } = input {
                actions.push(Action::Abort(connection));
            }
        }
    };
    let tries = || {
        |input, actions: &mut Vec<Action>| {
            if let Input::Started = input {
                actions.push(Action::Open(NUMBER));
            }
        }
    };
    let (flow, seen) = play(Role::Receiver, |_| {}, fickle, tries);
    assert_eq!(outline(&seen[0]), ["opened 0"]);
    assert_eq!(outline(&seen[1]).last().unwrap(), "failed");
    assert_eq!((flow.connections, flow.not_connected), (1, 0));
}

#[test]
fn an_end_learns_when_all_that_it_gave_has_been_sent() {
    let pieces = || {
        let mut left = 5;
        move |input, actions: &mut Vec<Action>| match input {
            // Nothing waits yet: told at once, and not from within.
            Input::Opened { .. } => actions.push(Action::WhenSent(NUMBER)),
            Input::Sent { .. } if left > 0 => {
                left -= 1;
                let ask = Action::WhenSent(NUMBER);
                actions.extend([ask, send(1_000_000), ask]);
            }
            Input::Sent { .. } => actions.push(Action::Finish(NUMBER)),
            _ => {}
        }
    };
    let reads = || {
        |input, actions: &mut Vec<Action>| match input {
            Input::Started => actions.push(Action::Open(NUMBER)),
            Input::Ended { connection } => actions.push(Action::Finish(connection)),
            _ => {}
        }
    };
    let (flow, seen) = play(Role::Receiver, |_| {}, pieces, reads);
    let mut expected = vec!["opened 0"];
    expected.extend(["sent"; 6]);
    expected.push("closed");
    assert_eq!(outline(&seen[0]), expected);
    assert_eq!(flow.delivered, Bytes::new(5_000_000));
}

#[test]
fn a_connection_that_does_not_come_up_is_counted_and_its_flow_goes_on() {
    let tries = || {
        let mut tried = 0;
        move |input, actions: &mut Vec<Action>| match input {
            Input::Started | Input::Failed { .. } if tried < 5 => {
                tried += 1;
                actions.push(Action::Open(NUMBER));
            }
            _ => {}
        }
    };
    let waits = || |_: Input, _: &mut Vec<Action>| {};
    let no_files = |config: &mut TrafficConfig| config.places = Some(1);
    let (flow, seen) = play(Role::Receiver, no_files, waits, tries);
    assert_eq!((flow.connections, flow.not_connected), (5, 5));
    assert!(flow.failure.is_none() && flow.up.is_some());
    let mut expected = vec!["started"];
    expected.extend(["failed"; 5]);
    assert_eq!(outline(&seen[1]), expected);
    let [warning] = &flow.warnings()[..] else {
        panic!("{flow:?}")
    };
    let expected =
        "5 of its 5 connections failed, the first because: this process may not have more";
    assert!(warning.text.starts_with(expected), "{warning:?}");
}
