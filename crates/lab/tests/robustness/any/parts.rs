//! The tables of a scenario file: link, value functions, groups, changes and run.

use std::fmt::Write as _;

use quell_app::Transport;
use quell_aqm::disciplines;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::FUNCTIONS;
use quell_lab::scenario::Distribution;
use quell_units::parameter::{Domain, Parameter, Preset, Value};
use quell_units::{Bytes, CommandLine, Frequency, Period, Rate, Rates, Settings, Time};

use super::choices::Choices;
use super::load::{DURATIONS, Group, Load, SECOND, Sends};

/// Slowest and fastest link, in bit/s.
const RATES: (u64, u64) = (10_000, 1_000_000_000_000);
/// Stands for so many 255ths of the duration, until that is known.
const PART: &str = "part-";

pub(super) fn link(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) {
    for direction in 0..2 {
        let path = ["link", "link.reverse"][direction];
        if direction == 1 && !choices.once_in(2) {
            continue;
        }
        let rate = choices.spread(RATES);
        load.rates[direction] = Some(rate);
        let _ = writeln!(text, "[{path}]\nrate = \"{rate}bit\"");
        load.packet[direction] = 1_500;
        if choices.once_in(4) {
            let overhead = choices.below(2_001) as i64 - 1_000;
            load.packet[direction] = (1_500 + overhead) as u64;
            let _ = writeln!(text, "overhead = {overhead}");
        }
        if choices.once_in(4) {
            let _ = writeln!(text, "mpu = \"{}B\"", choices.below(1_501));
        }
        let kind = choices.of(disciplines::KINDS);
        load.queues[direction] = Some(kind);
        let _ = writeln!(text, "[{path}.queue]\nkind = \"{}\"", kind.name);
        for parameter in kind.parameters {
            if choices.once_in(4) {
                let _ = writeln!(
                    text,
                    "{} = {}",
                    parameter.name,
                    value(choices, parameter, load)
                );
            }
        }
        // As often as any queue does by itself.
        load.update = Some(load.update.unwrap_or(10_000_000));
    }
}

/// Writes a throughput-value function, or not; returns whether there is one.
pub(super) fn function(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) -> bool {
    if !choices.once_in(4) {
        return false;
    }
    let kind = choices.of(FUNCTIONS);
    let _ = writeln!(text, "[value.own]\nkind = \"{}\"", kind.name);
    some(choices, kind.parameters, 2, text, load);
    if kind.name == "piecewise" {
        let mut points = Vec::new();
        let (mut rate, mut worth) = (choices.spread((1, 1_000_000)), 1_000_000_000);
        for _ in 0..2 + choices.below(4) {
            points.push(format!("[\"{rate}bit\", {worth}]"));
            rate += choices.spread((1, 1_000_000_000));
            worth = choices.below(worth).max(1);
        }
        let _ = writeln!(text, "points = [{}]", points.join(", "));
    }
    true
}

/// Writes the value of a group's packets, or not.
pub(super) fn marked(choices: &mut Choices<'_>, text: &mut String, load: &mut Load, own: bool) {
    if !choices.once_in(2) {
        return;
    }
    let function = if own && choices.once_in(2) {
        "own"
    } else {
        choices.of(&["gold", "silver", "background", "linear", "rational"])
    };
    let marker = choices.of(MARKERS);
    let _ = writeln!(
        text,
        "[group.value]\nfunction = \"{function}\"\nmarker = \"{}\"",
        marker.name
    );
    some(choices, marker.parameters, 4, text, load);
}

/// Writes about one in `of` of the `parameters`, a line each.
fn some(
    choices: &mut Choices<'_>,
    parameters: &[Parameter],
    of: u64,
    text: &mut String,
    load: &mut Load,
) {
    for parameter in parameters {
        if choices.once_in(of) {
            let value = value(choices, parameter, load);
            let _ = writeln!(text, "{} = {value}", parameter.name);
        }
    }
}

/// A number of flows; large ones are rare, because each flow costs events.
fn flows(choices: &mut Choices<'_>, load: &Load) -> u64 {
    let many = load.space.most_flows;
    let most = if choices.once_in(8) { many } else { 300 };
    choices.spread((1, most))
}

pub(super) fn group(choices: &mut Choices<'_>, text: &mut String, load: &mut Load, index: u64) {
    let count = if choices.once_in(16) {
        0
    } else {
        flows(choices, load)
    };
    let rtt = if choices.once_in(16) && load.space.no_rtt {
        0
    } else {
        choices.spread(load.space.rtts)
    };
    // TCP needs a rate; now and then it has none.
    let reverse = load.rates[1].is_some() || choices.once_in(16);
    let direction = usize::from(reverse && choices.once_in(3));
    let ecn = choices.of(&[
        "",
        "ecn = \"ect0\"\n",
        "ecn = \"ect1\"\n",
        "ecn = \"off\"\n",
    ]);
    let word = ["forward", "reverse"][direction];
    let _ = write!(
        text,
        "[[group]]\nname = \"g{index}\"\ncount = {count}\nrtt = \"{rtt}ns\"\ndirection = \"{word}\"\n{ecn}"
    );
    if choices.once_in(4) {
        let _ = writeln!(text, "access-rate = \"{}bit\"", choices.spread(RATES));
    }
    for key in ["start", "stop"] {
        if choices.once_in(6) {
            let _ = writeln!(text, "{key} = \"{PART}{:03}\"", choices.byte());
        }
    }
    if choices.once_in(2) {
        let (app, is_stream) = listed(choices, load, count, (direction, rtt));
        if is_stream {
            stream(choices, text, load);
        }
        let _ = writeln!(text, "[group.app]\n{app}");
        return;
    }
    let (app, is_stream) = app(choices, load, count, (direction, rtt));
    let _ = writeln!(text, "app = {{ {app} }}");
    if is_stream {
        stream(choices, text, load);
    }
}

/// Any kind of application with any of its parameters, as the lines of a table, and whether it uses TCP.
fn listed(
    choices: &mut Choices<'_>,
    load: &mut Load,
    flows: u64,
    (direction, rtt): (usize, u64),
) -> (String, bool) {
    let modelled: Vec<_> = quell_app::KINDS
        .iter()
        .filter(|kind| kind.modelled)
        .collect();
    let entry = *choices.of(&modelled);
    let mut given: Vec<(&str, String)> = Vec::new();
    for row in entry.parameters {
        let is_required = matches!(row.default, Preset::Required);
        if is_required || choices.once_in(4) {
            given.push((row.name, value(choices, row, load)));
        }
    }
    // What does not fit the others is left out.
    let app = loop {
        let mut settings = Settings::new(entry.parameters);
        let mut wrong = None;
        for (index, (name, value)) in given.iter().enumerate() {
            if settings.set(name, value.trim_matches('"')).is_err() {
                wrong = Some(index);
            }
        }
        let culprit = |key: &str| given.iter().position(|(name, _)| *name == key);
        match entry.configure(&settings) {
            Ok(app) if wrong.is_none() => break app,
            Ok(_) => {}
            Err(error) => wrong = wrong.or(culprit(&error.key)).or(given.len().checked_sub(1)),
        }
        let Some(wrong) = wrong else {
            panic!("{} has no defaults that go together", entry.name);
        };
        given.remove(wrong);
    };
    let (sends, pause) = match app.datagram_gap() {
        Some(gap) => (Sends::Datagrams((gap.as_nanos() / 2).max(1)), None),
        None if app.session().is_some() => {
            // Somebody acts, or a connection opens, each millisecond or each round trip.
            let opened = app
                .most_opened(Time::from_secs(1))
                .unwrap_or(1_000)
                .max(1_000);
            let pause = (SECOND / opened).min(rtt.max(10_000));
            (Sends::Bulk(direction, rtt), Some(pause))
        }
        None if app.is_greedy() => (Sends::Bulk(direction, rtt), None),
        // Somebody turns it on and off as fast as they like.
        None if entry.name == "on-off" => {
            let least = shortest_pause(flows) / 2;
            let mut pause = 0;
            for (_, value) in given
                .iter_mut()
                .filter(|(name, _)| matches!(*name, "on" | "off"))
            {
                let period = Period::parse(value.trim_matches('"')).expect("a period");
                let mean = period.mean.as_nanos().max(least);
                *value = format!("\"{mean}ns\"");
                pause += mean;
            }
            (Sends::Bulk(direction, rtt), Some(pause.max(1)))
        }
        // Pauses may be as short as they like.
        None => (Sends::Bulk(direction, rtt), Some(rtt.max(10_000))),
    };
    load.groups.push(Group {
        flows,
        sends,
        pause,
        kind: entry.name,
    });
    let lines = given.iter();
    let lines = lines.map(|(name, value)| format!("\n\"{name}\" = {value}"));
    let text = format!("kind = \"{}\"{}", entry.name, lines.collect::<String>());
    (text, app.transport() == Transport::Stream)
}

/// The application as the inside of a table, and whether it uses TCP.
fn app(
    choices: &mut Choices<'_>,
    load: &mut Load,
    flows: u64,
    path: (usize, u64),
) -> (String, bool) {
    let bulk = Sends::Bulk(path.0, path.1);
    let (app, sends, pause) = match choices.below(8) {
        0..=2 => ("kind = \"bulk\"".to_owned(), bulk, None),
        3 => {
            let (datagrams, mean) = datagrams(choices);
            (
                format!("kind = \"cbr\", {datagrams}"),
                Sends::Datagrams(mean),
                None,
            )
        }
        4 => {
            let size = choices.spread((1, 1_000_000_000_000));
            let app = format!("kind = \"transfer\", size = \"{size}B\"");
            if choices.once_in(2) {
                let (repeat, mean) = period(choices, 0);
                // A connection takes some round trips.
                (
                    format!("{app}, repeat = {repeat}"),
                    bulk,
                    Some(mean + 2 * path.1),
                )
            } else {
                (app, bulk, None)
            }
        }
        5 | 6 => {
            let (app, pause) = web(choices);
            (app, bulk, Some(pause))
        }
        _ => {
            let least = shortest_pause(flows) / 2;
            let ((on, on_mean), (off, off_mean)) = (period(choices, least), period(choices, least));
            let app = format!("kind = \"on-off\", on = {on}, off = {off}");
            let pause = Some(on_mean + off_mean);
            if choices.once_in(2) {
                let (datagrams, mean) = datagrams(choices);
                (format!("{app}, {datagrams}"), Sends::Datagrams(mean), pause)
            } else {
                (app, bulk, pause)
            }
        }
    };
    let is_stream = matches!(sends, Sends::Bulk(..));
    let kind = quell_app::NAMES
        .iter()
        .find(|kind| app.starts_with(&format!("kind = \"{kind}\"")))
        .expect("a kind");
    load.groups.push(Group {
        flows,
        sends,
        pause,
        kind,
    });
    (app, is_stream)
}

/// A user of the web, and the mean time between two connections in ns.
fn web(choices: &mut Choices<'_>) -> (String, u64) {
    let rate = choices.spread((1, 10_000));
    let mut app = format!("kind = \"web\", rate = {rate}");
    let size = choices.spread((1, 1_000_000_000));
    let _ = match choices.below(3) {
        0 => Ok(()),
        1 => write!(app, ", size = \"{size}B\""),
        _ => write!(
            app,
            ", size = {{ pareto = 1.2, min = \"1B\", max = \"{}B\" }}",
            size.max(2)
        ),
    };
    if choices.once_in(2) {
        let most = choices.spread((1, 16_384));
        let _ = write!(app, ", max-concurrent = {most}");
    }
    if choices.once_in(2) {
        app.push_str(", request = \"350B\", tls = \"1.3\"");
    }
    if choices.once_in(4) {
        app.push_str(", connection = \"kept\"");
    }
    (app, SECOND / rate)
}

/// Size and interval of datagrams, and the mean interval in ns.
fn datagrams(choices: &mut Choices<'_>) -> (String, u64) {
    let size = choices.spread((29, 1_500));
    let mean = choices.spread((10_000, 60 * SECOND));
    let stddev = (choices.below(3) * mean / 2).min(60 * SECOND);
    let interval = format!("{{ mean = \"{mean}ns\", stddev = \"{stddev}ns\" }}");
    (format!("size = \"{size}B\", interval = {interval}"), mean)
}

/// In ns: with shorter ones so many flows would take minutes for the shortest run.
fn shortest_pause(flows: u64) -> u64 {
    const MOST: u64 = 10_000_000;
    16 * flows * DURATIONS.0 / MOST
}

/// A period, and its mean in ns, at least `least`.
fn period(choices: &mut Choices<'_>, least: u64) -> (String, u64) {
    let mean = if choices.once_in(8) {
        choices.below(10)
    } else {
        choices.spread((10_000, 3_600 * SECOND))
    };
    let mean = mean.max(least);
    let distribution = choices.of(&Distribution::ALL).name();
    (
        format!("{{ mean = \"{mean}ns\", distribution = \"{distribution}\" }}"),
        mean,
    )
}

/// Writes further keys of a group with TCP.
fn stream(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) {
    let kinds: Vec<_> = quell_tcp::cc::KINDS
        .iter()
        .filter(|kind| {
            !load.space.controls_of_kernels
                || ["reno", "cubic", "dctcp", "htcp"].contains(&kind.name)
        })
        .collect();
    let control = choices.of(&kinds);
    if choices.once_in(4) {
        // A control that sets its own rate cannot do without.
        let _ = writeln!(text, "pacing = {}", choices.once_in(2) || control.paced);
    }
    if choices.once_in(4) {
        let _ = writeln!(text, "gso = {}", choices.once_in(2));
    }
    if choices.once_in(8) {
        let _ = writeln!(text, "initial-window = {}", choices.of(&[1, 3, 100, 1_000]));
    }
    if choices.once_in(8) {
        let _ = writeln!(text, "mss = \"{}B\"", choices.of(&[256, 536, 1_000, 1_459]));
    }
    let _ = writeln!(
        text,
        "[group.congestion-control]\nname = \"{}\"",
        control.name
    );
    some(choices, control.parameters, 4, text, load);
}

/// The entries of `set` of each change, in the order of time.
pub(super) fn changes(choices: &mut Choices<'_>, load: &mut Load, groups: u64) -> Vec<Vec<String>> {
    let mut changes = Vec::new();
    for _ in 0..choices.below(5) {
        let mut set: Vec<String> = Vec::new();
        for _ in 0..=choices.below(3) {
            let (key, value) = change(choices, load, groups);
            if !set
                .iter()
                .any(|other| other.starts_with(&format!("\"{key}\"")))
            {
                set.push(format!("\"{key}\" = {value}"));
            }
        }
        changes.push(set);
    }
    changes
}

fn change(choices: &mut Choices<'_>, load: &mut Load, groups: u64) -> (String, String) {
    let direction = choices.below(3) as usize / 2;
    let path = ["link", "link.reverse"][direction];
    match choices.below(4) {
        3 => application(choices, load, groups),
        0 => {
            let rate = choices.spread(RATES);
            load.rates[direction] = load.rates[direction].map(|fastest| fastest.max(rate));
            let rate = if choices.once_in(6) { 0 } else { rate };
            (format!("{path}.rate"), format!("\"{rate}bit\""))
        }
        1 => {
            let (group, count) = (choices.below(groups), flows(choices, load) - 1);
            load.more += count;
            let most = &mut load.groups[group as usize].flows;
            *most = count.max(*most);
            (format!("group.g{group}.count"), count.to_string())
        }
        _ => {
            // The reverse direction has the first kind where nothing is said of it.
            let kind = load.queues[direction].unwrap_or(&disciplines::KINDS[0]);
            let live: Vec<&Parameter> = kind
                .parameters
                .iter()
                .filter(|parameter| parameter.live)
                .collect();
            let parameter = choices.of(&live);
            (
                format!("{path}.queue.{}", parameter.name),
                value(choices, parameter, load),
            )
        }
    }
}

/// Another value of a parameter of an application; of its rate where it has none that can change, which is refused.
fn application(choices: &mut Choices<'_>, load: &mut Load, groups: u64) -> (String, String) {
    let number = choices.below(groups);
    let kind = load.groups[number as usize].kind;
    let rows = quell_app::find(kind).map_or(&[][..], |entry| entry.parameters);
    let live: Vec<&Parameter> = rows.iter().filter(|row| row.live).collect();
    if live.is_empty() {
        return (format!("group.g{number}.app.rate"), "\"1mbit\"".to_owned());
    }
    let row = choices.of(&live);
    let text = value(choices, row, load);
    let group = &mut load.groups[number as usize];
    match (kind, row.domain.parse(text.trim_matches('"'))) {
        ("web", Ok(Value::Fraction(rate, parts))) => {
            let gap = SECOND.saturating_mul(parts) / rate.max(1);
            group.pause = Some(group.pause.unwrap_or(gap).min(gap).max(1));
        }
        ("cbr", Ok(Value::Interval(interval))) => {
            if let Sends::Datagrams(mean) = &mut group.sends {
                *mean = (*mean).min(interval.mean.as_nanos()).max(1);
            }
        }
        // In packets of 200 bytes at most, both ways.
        ("rtc", Ok(Value::Rate(rate))) => {
            if let Sends::Datagrams(mean) = &mut group.sends {
                *mean = (*mean).min(700 * SECOND / rate.as_bps()).max(1);
            }
        }
        _ => {}
    }
    (format!("group.g{number}.app.{}", row.name), text)
}

pub(super) fn run(
    choices: &mut Choices<'_>,
    text: &mut String,
    load: &Load,
    budget: u64,
    changes: &[Vec<String>],
) {
    let longest = load.longest(budget);
    let duration = if choices.once_in(4) {
        choices.spread((DURATIONS.0, longest))
    } else {
        longest
    };
    for part in 0..256_u64 {
        let of_all = format!("{}ns", (duration / 255 * part).max(1));
        *text = text.replace(&format!("{PART}{part:03}"), &of_all);
    }
    for (index, set) in changes.iter().enumerate() {
        let at = duration / (changes.len() as u64 + 1) * (index as u64 + 1) + choices.below(3);
        let _ = writeln!(
            text,
            "[[at]]\ntime = \"{at}ns\"\n[at.set]\n{}",
            set.join("\n")
        );
    }
    let part = |choices: &mut Choices<'_>| duration / 256 * choices.byte() / 2;
    let (warmup, settle) = (part(choices), part(choices));
    // A row per flow and interval is an event too.
    let rows = (budget / load.flows().max(1)).clamp(1, 200);
    let interval = (duration / rows).clamp(DURATIONS.0, 3_600 * SECOND);
    let seed = choices.below(3);
    let _ = writeln!(
        text,
        "[run]\nduration = \"{duration}ns\"\nwarmup = \"{warmup}ns\"\nsettle = \"{settle}ns\"\ninterval = \"{interval}ns\"\nseeds = [{seed}]"
    );
}

/// A value of a parameter, as a scenario file writes it.
fn value(choices: &mut Choices<'_>, parameter: &Parameter, load: &mut Load) -> String {
    let value = match parameter.domain {
        Domain::Time(low, high) | Domain::Period(low, high) | Domain::Interval(low, high) => {
            time(choices, low, high)
        }
        Domain::Bytes(low, high) | Domain::Sizes(low, high) => {
            Value::Bytes(Bytes::new(choices.spread((low, high))))
        }
        Domain::Packets(low, high) => Value::Packets(choices.spread((low, high))),
        Domain::Integer(low, high) => Value::Integer(choices.spread((low, high))),
        Domain::Fraction(low, high, of) => Value::Fraction(choices.spread((low, high)), of),
        Domain::Frequency(low, high) => {
            let nanohertz = choices.spread((low.as_nanohertz(), high.as_nanohertz()));
            Value::Frequency(Frequency::from_nanohertz(nanohertz))
        }
        Domain::Rate(low, high) => Value::Rate(Rate::from_bps(
            choices.spread((low.as_bps(), high.as_bps())),
        )),
        Domain::Rates(_) => {
            let (low, high) = (
                Rates::LOWEST.as_bps() / 1_000,
                Rates::HIGHEST.as_bps() / 1_000,
            );
            let mut kilobits: Vec<u32> = (0..=choices.below(5))
                .map(|_| choices.spread((low, high)) as u32)
                .collect();
            kilobits.sort_unstable();
            kilobits.dedup();
            Value::Rates(Rates::of_kilobits(&kilobits))
        }
        Domain::CommandLine => {
            let word = choices.of(&["a", "b c", "\""]);
            CommandLine::new([*word, word]).map_or(Value::Flag(true), Value::CommandLine)
        }
        Domain::Flag => Value::Flag(choices.once_in(2)),
        Domain::Word(words) => Value::Word(choices.of::<&str>(words)),
        Domain::TimeOrPackets((low, high), (fewest, most)) => match choices.below(2) {
            0 => time(choices, low, high),
            _ => Value::Packets(choices.spread((fewest, most))),
        },
        Domain::Limit { .. } => match choices.below(3) {
            0 => Value::Bytes(Bytes::new(choices.spread((1_500, 8_000_000_000)))),
            1 => Value::Packets(choices.spread((1, 10_000_000))),
            _ => time(choices, Time::from_nanos(1), Time::from_secs(1_000)),
        },
    };
    // A queue's update interval is a parameter, or follows from an RTT.
    if let Value::Time(time) = value
        && ["tupdate", "typical_rtt", "max_rtt", "interval"].contains(&parameter.name)
    {
        let update = load.update.unwrap_or(u64::MAX);
        load.update = Some(update.min((time.as_nanos() / 8).max(1)));
    }
    match value {
        Value::Flag(_)
        | Value::Integer(_)
        | Value::Fraction(..)
        | Value::Rates(_)
        | Value::CommandLine(_) => value.to_string(),
        value => format!("\"{value}\""),
    }
}

fn time(choices: &mut Choices<'_>, low: Time, high: Time) -> Value {
    let longest = high.min(Time::from_secs(1_000)).max(low);
    Value::Time(Time::from_nanos(
        choices.spread((low.as_nanos(), longest.as_nanos())),
    ))
}
