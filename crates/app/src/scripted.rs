//! A host for tests: both ends of one flow over a wire with a delay and a rate, without loss unless a
//! test asks for it.
//!
//! Arrivals can be cut into pieces of any size, as sockets do.

use std::collections::BTreeMap;

use quell_units::{Bytes, Ecn, Random, Rate, Time};

use crate::{
    Action, App, AppConfig, Application as _, ConnectionId, Data, Event, Input, Report, Role,
};

/// Both ends of a flow.
pub(crate) struct Wire {
    ends: [App; 2],
    delay: Time,
    rate: Rate,
    /// Bytes of an arrival at most.
    piece: u64,
    /// Rates from given times on, in their order.
    pub(crate) changes: Vec<(Time, Rate)>,
    /// Serial numbers of connections that cannot be opened.
    pub(crate) refused: Vec<u64>,
    /// Inputs to come, in the order of time.
    inputs: BTreeMap<(Time, u64), (usize, Input)>,
    /// Number of the next input.
    next: u64,
    /// Time at which each end wishes to be polled.
    wishes: [Option<Time>; 2],
    /// Time at which each direction is free.
    free: [Time; 2],
    connections: BTreeMap<u32, Connection>,
    serial: u64,
    /// Every input, and the actions that it led to.
    pub(crate) log: Vec<Logged>,
    pub(crate) events: Vec<Event>,
    pub(crate) now: Time,
    sequence: [u64; 2],
}

/// The time of an input, the end that got it, and its answer.
pub(crate) type Logged = (Time, usize, Input, Vec<Action>);

#[derive(Default)]
struct Connection {
    /// Whether each end sends nothing more, and when the other one learns of it.
    finished: [Option<Time>; 2],
}

const fn index(role: Role) -> usize {
    match role {
        Role::Sender => 0,
        Role::Receiver => 1,
    }
}

impl Wire {
    pub(crate) fn new(config: &AppConfig, seed: u64, rtt: Time, rate: Rate, piece: u64) -> Self {
        Self::changing(config, &[], seed, rtt, rate, piece)
    }

    /// A wire for an application with changes.
    pub(crate) fn changing(
        config: &AppConfig,
        changes: &[(Time, AppConfig)],
        seed: u64,
        rtt: Time,
        rate: Rate,
        piece: u64,
    ) -> Self {
        let random = Random::new(seed, "flow");
        let opener = config
            .session()
            .map_or(Role::Sender, |session| session.opener);
        let mut wire = Self {
            ends: [Role::Sender, Role::Receiver]
                .map(|role| config.end_with(changes, role, random.clone())),
            delay: Time::from_nanos(rtt.as_nanos() / 2),
            rate,
            piece,
            changes: Vec::new(),
            refused: Vec::new(),
            inputs: BTreeMap::new(),
            next: 0,
            wishes: [None; 2],
            free: [Time::ZERO; 2],
            connections: BTreeMap::new(),
            serial: 0,
            log: Vec::new(),
            events: Vec::new(),
            now: Time::ZERO,
            sequence: [0; 2],
        };
        let both = config.datagrams().is_some();
        for end in [0, 1] {
            if both || end == index(opener) {
                wire.tell(Time::ZERO, end, Input::Started);
            }
        }
        wire
    }

    fn tell(&mut self, at: Time, end: usize, input: Input) {
        self.inputs.insert((at, self.next), (end, input));
        self.next += 1;
    }

    /// Goes on until `until`, or until nothing is left to do.
    pub(crate) fn run(&mut self, until: Time) {
        loop {
            let wish = [0, 1]
                .into_iter()
                .filter_map(|end| Some((self.wishes[end]?, end)));
            let wish = wish.min();
            let input = self.inputs.keys().next().map(|(at, _)| *at);
            let is_wish = wish.is_some_and(|(at, _)| input.is_none_or(|input| at < input));
            let (at, end, input) = if let (true, Some((at, end))) = (is_wish, wish) {
                (at, end, Input::Wake)
            } else if let Some(((at, _), (end, input))) = self.inputs.pop_first() {
                (at, end, input)
            } else {
                return;
            };
            if at > until {
                if input != Input::Wake {
                    self.tell(at, end, input);
                }
                self.now = until;
                return;
            }
            self.now = self.now.max(at);
            if input == Input::Wake {
                self.wishes[end] = None;
            }
            self.poll(end, input);
        }
    }

    fn poll(&mut self, end: usize, input: Input) {
        if let Input::Closed { connection } = input
            && end == self.opener_of(connection)
        {
            self.connections.remove(&connection.0);
        }
        let mut actions = Vec::new();
        self.ends[end].poll(self.now, input, &mut actions);
        self.log.push((self.now, end, input, actions.clone()));
        for action in actions {
            self.obey(end, action);
        }
    }

    /// The end that opens connections: the only one there is.
    fn opener_of(&self, _connection: ConnectionId) -> usize {
        let started = self
            .log
            .iter()
            .find(|(_, _, input, _)| *input == Input::Started);
        started.map_or(0, |(_, end, _, _)| *end)
    }

    fn obey(&mut self, end: usize, action: Action) {
        let (now, other) = (self.now, 1 - end);
        match action {
            Action::WakeAt(at) => self.wishes[end] = Some(at),
            Action::Record(event) => self.events.push(event),
            // It loses nothing.
            Action::Note { .. } => {}
            Action::Open(connection) => {
                let serial = self.serial;
                self.serial += 1;
                let asked = now;
                let opened = Input::Opened {
                    connection,
                    serial,
                    asked,
                };
                if self.refused.contains(&serial) {
                    self.tell(now + self.delay * 2, end, Input::Failed { connection });
                    return;
                }
                let known = self.connections.insert(connection.0, Connection::default());
                assert!(known.is_none(), "{connection:?} is open");
                self.tell(now + self.delay * 2, end, opened);
                self.tell(now + self.delay * 3, other, opened);
            }
            Action::Send(connection, data) => {
                // The other end may have reset it.
                let Some(state) = self.connections.get(&connection.0) else {
                    return;
                };
                assert!(state.finished[end].is_none(), "{connection:?} is finished");
                match data {
                    Data::Bytes(count) => self.bytes(end, connection, count),
                    Data::Message(message) => {
                        let at = self.leave(end, crate::Message::HEADER);
                        let input = Input::Message {
                            connection,
                            message,
                        };
                        self.tell(at, other, input);
                        self.bytes(end, connection, message.body());
                    }
                    Data::Endless | Data::Resume | Data::Pause => {}
                }
            }
            Action::WhenSent(connection) => {
                self.tell(self.free[end].max(now), end, Input::Sent { connection });
            }
            Action::Finish(connection) => self.finish(end, connection),
            Action::Abort(connection) => {
                self.connections.remove(&connection.0);
                let is_of_it = |input: &Input| match input {
                    Input::Opened { connection: of, .. }
                    | Input::Bytes { connection: of, .. }
                    | Input::Message { connection: of, .. }
                    | Input::Ended { connection: of }
                    | Input::Failed { connection: of }
                    | Input::Sent { connection: of }
                    | Input::Closed { connection: of } => *of == connection,
                    Input::Started | Input::Wake | Input::Datagram { .. } => false,
                };
                self.inputs.retain(|_, (_, input)| !is_of_it(input));
                self.tell(now + self.delay, other, Input::Failed { connection });
            }
            Action::Datagram { size, content } => {
                let sequence = self.sequence[end];
                self.sequence[end] += 1;
                let at = self.leave(end, size.get());
                let sent = now;
                let ecn = Ecn::NotEct;
                let input = Input::Datagram {
                    sequence,
                    sent,
                    size,
                    ecn,
                    content,
                };
                self.tell(at, other, input);
            }
        }
    }

    /// Arrival of the last of `count` further bytes.
    fn leave(&mut self, end: usize, count: u64) -> Time {
        let begin = self.free[end].max(self.now);
        let mut changes = self.changes.iter().rev();
        let rate = changes.find(|(from, _)| *from <= begin);
        let rate = rate.map_or(self.rate, |(_, rate)| *rate);
        self.free[end] = begin + rate.time_for(Bytes::new(count));
        self.free[end] + self.delay
    }

    fn bytes(&mut self, end: usize, connection: ConnectionId, count: u64) {
        let mut left = count;
        while left > 0 {
            let count = left.min(self.piece);
            left -= count;
            let at = self.leave(end, count);
            self.tell(at, 1 - end, Input::Bytes { connection, count });
        }
    }

    fn finish(&mut self, end: usize, connection: ConnectionId) {
        let told = self.leave(end, 0);
        let Some(state) = self.connections.get_mut(&connection.0) else {
            return;
        };
        assert!(state.finished[end].is_none(), "{connection:?} is finished");
        state.finished[end] = Some(told);
        let (closed, ended) = (Input::Closed { connection }, Input::Ended { connection });
        if state.finished[1 - end].is_some() {
            // The other end has finished before, and waits for this one.
            self.tell(told, 1 - end, closed);
            self.tell(told + self.delay, end, closed);
        } else {
            self.tell(told, 1 - end, ended);
        }
    }

    /// The report of the user's end at this time.
    pub(crate) fn report(&mut self) -> Report {
        let now = self.now;
        self.ends.iter_mut().for_each(|end| end.advance(now));
        let sent = self.ends[0].sent();
        self.ends[1].report(sent).expect("the user's end reports")
    }

    pub(crate) fn start_counting(&mut self) {
        for end in [0, 1] {
            let sent = self.ends[1 - end].sent();
            self.ends[end].start_counting(sent);
        }
    }

    /// Records of what has not ended.
    pub(crate) fn unfinished(&self) -> Vec<Event> {
        let mut records = Vec::new();
        self.ends
            .iter()
            .for_each(|end| end.unfinished(&mut records));
        records
    }

    /// Every connection that was opened and is not closed yet.
    pub(crate) fn open(&self) -> usize {
        self.connections.len()
    }
}

/// The application of a line such as `app = { kind = "cbr", size = "200B", interval = "20ms" }`.
pub(crate) fn app(line: &str) -> AppConfig {
    let inside = line
        .trim_start_matches("app = {")
        .trim()
        .trim_end_matches('}');
    // A table at the end has lost its brace.
    let missing = inside.matches('{').count() - inside.matches('}').count();
    let inside = format!("{}{}", inside.trim(), " }".repeat(missing));
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[from..]);
    let mut parts = parts
        .into_iter()
        .map(|part| part.split_once('=').expect("key = value"));
    let unquoted = |text: &str| match text.trim().strip_prefix('"') {
        Some(text) => text.trim_end_matches('"').to_owned(),
        None => text.trim().to_owned(),
    };
    let (_, kind) = parts.next().expect("a kind");
    let entry = crate::find(&unquoted(kind)).expect("a kind");
    let mut settings = quell_units::Settings::new(entry.parameters);
    let mut preset = None;
    for (key, value) in parts {
        match key.trim() {
            "preset" => preset = entry.preset(&unquoted(value)),
            key => settings.set(key, &unquoted(value)).expect("a value"),
        }
    }
    if let Some(preset) = preset {
        settings = entry.filled(&settings, preset);
    }
    entry.configure(&settings).expect("an application")
}

const MS: fn(u64) -> Time = Time::from_millis;

/// Equal seeds and inputs give equal actions, for every kind and each of its examples.
#[test]
fn ends_that_are_told_the_same_do_the_same() {
    for entry in crate::KINDS.iter().filter(|kind| kind.modelled) {
        for line in std::iter::once(&entry.example).chain(entry.more_examples) {
            let config = app(line);
            let run = || {
                let mut wire = Wire::new(&config, 9, MS(20), Rate::from_mbps(20), 1_448);
                wire.run(Time::from_secs(4));
                wire
            };
            let (one, other) = (run(), run());
            assert!(one.log.len() > 1, "{line}");
            assert_eq!(one.log, other.log, "{line}");
            // New ends with the same inputs answer alike.
            let random = Random::new(9, "flow");
            let mut ends =
                [Role::Sender, Role::Receiver].map(|role| config.end(role, random.clone()));
            for (now, end, input, actions) in one.log {
                let mut answer = Vec::new();
                ends[end].poll(now, input, &mut answer);
                assert_eq!(answer, actions, "{line}");
            }
        }
    }
}

/// Checks every parameter that can change during a run: a change to its own value does nothing; another value
/// does nothing before its time, and then something; from before the start it is as if it were given.
#[test]
fn a_parameter_changes_at_its_time_and_not_before() {
    let cases = [
        (
            "cbr",
            r#", size = "200B""#,
            "interval",
            r#""20ms""#,
            r#""3ms""#,
        ),
        ("web", "", "rate", "10", "80"),
        ("web", "", "rate", "10", "0"),
        ("web", "", "rate", "0", "20"),
        (
            "web",
            r#", model = "pages", recipe = "equal""#,
            "reading",
            r#""300ms""#,
            r#""100ms""#,
        ),
        ("panorama", "", "rate", r#""4mbit""#, r#""1mbit""#),
        ("rtc", "", "rate", r#""30mbit""#, r#""5mbit""#),
        (
            "rtc",
            r#", control = "prague-rt""#,
            "rate",
            r#""30mbit""#,
            r#""100kbit""#,
        ),
        (
            "rtc",
            r#", model = "rfc8593""#,
            "rate",
            r#""1mbit""#,
            r#""5mbit""#,
        ),
    ];
    for entry in crate::KINDS {
        for row in entry.parameters.iter().filter(|row| row.live) {
            let mut known = cases.iter().map(|(kind, _, key, ..)| (*kind, *key));
            assert!(known.any(|case| case == (entry.name, row.name)), "{row:?}");
        }
    }
    let at = Time::from_secs(2);
    for (kind, rest, key, one, other) in cases {
        let of = |value| {
            app(&format!(
                r#"app = {{ kind = "{kind}"{rest}, {key} = {value} }}"#
            ))
        };
        let run = |config, changes: &[(Time, AppConfig)]| {
            let rate = Rate::from_mbps(100);
            let mut wire = Wire::changing(&config, changes, 9, MS(20), rate, 1_448);
            wire.run(Time::from_secs(6));
            wire.log
        };
        let plain = run(of(one), &[]);
        assert_eq!(run(of(one), &[(at, of(one))]), plain, "{kind} {key}");
        let changed = run(of(one), &[(at, of(other))]);
        // The plan may differ; nothing happens before.
        let before = |log: &[Logged]| -> Vec<Logged> {
            let all = log.iter().filter(|(time, ..)| *time < at).cloned();
            let plans = |action: &Action| !matches!(action, Action::WakeAt(_));
            all.map(|(time, end, input, actions)| {
                (
                    time,
                    end,
                    input,
                    actions.into_iter().filter(plans).collect(),
                )
            })
            .collect()
        };
        assert_eq!(before(&changed), before(&plain), "{kind} {key}");
        assert_ne!(changed, plain, "{kind} {key}");
        let at_first = run(of(one), &[(Time::ZERO, of(other))]);
        assert_eq!(at_first, run(of(other), &[]), "{kind} {key}");
    }
}
