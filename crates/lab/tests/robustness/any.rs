//! Any scenario: bytes become choices, choices become a scenario file.
//!
//! The tests draw the bytes at random, and shrink them; the fuzz target `run` of `fuzz/` takes them from libFuzzer. A
//! choice of zero, and every choice after the last byte, is the plainest: few short bytes are a small scenario. Sizes
//! are spread evenly over the orders of magnitude. Queues, congestion controls and their parameters come from their
//! tables, so what is added to quell is part of the space at once.
//!
//! The length of a run follows from a budget of events, not from a clock: see [`Load`].

use std::fmt::Write as _;

use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::FUNCTIONS;
use quell_lab::World;
use quell_lab::scenario::{Distribution, Origin, Problem, Problems, Scenario};
use quell_units::parameter::{Domain, Parameter, Value};
use quell_units::{Bytes, Frequency, Rate, Time};

/// Slowest and fastest link, in bit/s.
const RATES: (u64, u64) = (10_000, 1_000_000_000_000);
/// Shortest and longest base RTT, in ns.
const RTTS: (u64, u64) = (10_000, 10_000_000_000);
const MOST_FLOWS: u64 = 100_000;
/// Shortest and longest run, in ns.
const DURATIONS: (u64, u64) = (1_000_000, 86_400_000_000_000);
const SECOND: u64 = 1_000_000_000;
/// Stands for so many 255ths of the duration, until that is known.
const PART: &str = "part-";

/// A scenario file out of `bytes`, that takes about `budget` events, or as few as such a scenario can.
pub(crate) fn scenario(bytes: &[u8], budget: u64, world: World) -> String {
    let mut choices = Choices(bytes);
    let mut text = String::from("schema = 1\nname = \"any\"\n");
    let mut load = Load {
        space: Space::of(world),
        ..Load::default()
    };
    link(&mut choices, &mut text, &mut load);
    let own = function(&mut choices, &mut text, &mut load);
    let groups = 1 + choices.below(4);
    for index in 0..groups {
        group(&mut choices, &mut text, &mut load, index);
        marked(&mut choices, &mut text, &mut load, own);
    }
    let changes = changes(&mut choices, &mut load, groups);
    run(&mut choices, &mut text, &load, budget, &changes);
    text
}

/// The scenario for `world`, without those optional lines that do not go with the others.
pub(crate) fn accepted(
    bytes: &[u8],
    budget: u64,
    world: World,
) -> (String, Result<Scenario, Problems>) {
    let mut text = scenario(bytes, budget, world);
    for _ in 0..16 {
        let problems = match Scenario::load("any", &text, &[], Some(world)) {
            Ok(loaded) => return (text, Ok(loaded.scenario)),
            Err(problems) => problems,
        };
        let wrong = |number: usize| {
            let here = |origin: &Origin| matches!(origin, Origin::Line(line) if *line == number);
            problems.all().iter().any(|problem| here(&problem.origin))
        };
        let kept = |(index, line): &(usize, &str)| !wrong(index + 1) || !optional(line);
        let left: Vec<&str> = text
            .lines()
            .enumerate()
            .filter(kept)
            .map(|(_, line)| line)
            .collect();
        let left = left.join("\n") + "\n";
        if left == text {
            let plainer = plainer(&text, &problems);
            if plainer == text {
                return (text, Err(problems));
            }
            text = plainer;
        } else {
            text = left;
        }
    }
    let again = Scenario::load("any", &text, &[], Some(world));
    (text, again.map(|loaded| loaded.scenario))
}

/// Without the parameters of those tables that are wrong as a whole, and without changes that change nothing.
fn plainer(text: &str, problems: &Problems) -> String {
    // Tables, each with the number of its first line.
    let mut tables: Vec<(usize, Vec<&str>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match tables.last_mut() {
            Some((_, lines)) if !line.starts_with('[') => lines.push(line),
            _ => tables.push((index + 1, vec![line])),
        }
    }
    let mut left: Vec<&str> = Vec::new();
    for (first, lines) in &tables {
        let here = |problem: &Problem| problem.origin == Origin::Line(*first);
        let wrong = problems.all().iter().any(here);
        match (wrong, lines[0]) {
            // The time and its table are the two lines before.
            (true, "[at.set]") => left.truncate(left.len() - 2),
            (true, _) => left.extend(lines.iter().filter(|line| !optional(line))),
            (false, _) => left.extend(lines),
        }
    }
    left.join("\n") + "\n"
}

/// Whether a scenario may do without a line: those of parameters and changes.
fn optional(line: &str) -> bool {
    let needed = [
        "[",
        "rate =",
        "count =",
        "overhead =",
        "kind =",
        "points =",
        "function =",
        "marker =",
        "name =",
        "rtt =",
        "app =",
        "direction =",
        "time =",
        "duration =",
    ];
    !needed.iter().any(|start| line.starts_with(start))
}

/// Choices out of bytes; zero when they have run out.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }
    fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | self.byte())
    }
    /// From zero up to but without `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        if bound <= 256 {
            self.byte() % bound.max(1)
        } else {
            self.number() % bound
        }
    }
    /// True once in `odds`; never when the bytes have run out.
    fn once_in(&mut self, odds: u64) -> bool {
        self.below(odds) == odds - 1
    }
    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
    /// From `low` to `high`, each order of magnitude as likely as the others, and the ends more so.
    fn spread(&mut self, (low, high): (u64, u64)) -> u64 {
        match self.byte() {
            0 => low,
            255 => high,
            step => {
                let bits = |n: u64| u64::from(64 - n.leading_zeros());
                let width = bits(low) + (bits(high) - bits(low)) * step / 254;
                let top = 1_u64.checked_shl(width as u32).map_or(u64::MAX, |n| n - 1);
                (top / 2 + self.number() % (top / 2 + 1) + 1).clamp(low, high)
            }
        }
    }
}

/// What of the space a world can reproduce at all, and in a test.
#[derive(Default)]
struct Space {
    /// Shortest and longest base RTT, in ns.
    rtts: (u64, u64),
    /// Whether there may be none.
    no_rtt: bool,
    /// Of a group.
    most_flows: u64,
    /// Longest run, in ns.
    longest: u64,
}

impl Space {
    fn of(world: World) -> Self {
        match world {
            World::Sim => Self {
                rtts: RTTS,
                no_rtt: true,
                most_flows: MOST_FLOWS,
                longest: DURATIONS.1,
            },
            // Hosts do something even while nothing is sent, or wait in real time.
            World::Virtual | World::Live => Self {
                rtts: (world.smallest_rtt().as_nanos(), RTTS.1),
                no_rtt: false,
                most_flows: 2_000,
                longest: SECOND / 4,
            },
        }
    }
}

/// What a run has to do, for an estimate of its events.
#[derive(Default)]
struct Load {
    space: Space,
    /// Its queues, by direction.
    queues: [Option<&'static Entry>; 2],
    /// The fastest rate of each direction in bit/s; `None` if it is unlimited.
    rates: [Option<u64>; 2],
    /// Bytes that a full packet occupies on the link.
    packet: [u64; 2],
    /// The shortest interval between updates of a queue, in ns.
    update: Option<u64>,
    groups: Vec<Group>,
    /// Flows that changes start besides.
    more: u64,
}

/// Flows that are alike.
struct Group {
    /// The most at one time.
    flows: u64,
    sends: Sends,
    /// Mean time between beginnings, where a flow begins again and again, in ns.
    pause: Option<u64>,
}

/// What a flow sends.
enum Sends {
    /// As much as it can, in this direction, over this base RTT in ns.
    Bulk(usize, u64),
    /// A datagram each so many ns.
    Datagrams(u64),
}

impl Load {
    fn flows(&self) -> u64 {
        self.more + self.groups.iter().map(|group| group.flows).sum::<u64>()
    }

    /// About how many events `time` ns take.
    fn events(&self, time: u64) -> u64 {
        let mut events = u128::from(self.flows() * 8);
        for Group {
            flows,
            sends,
            pause,
        } in &self.groups
        {
            let flows = u128::from(*flows);
            events += pause.map_or(0, |pause| 16 * flows * u128::from(time / pause.max(1)));
            events += 3 * match *sends {
                Sends::Datagrams(mean) => flows * u128::from(time / mean.max(1) + 1),
                Sends::Bulk(direction, rtt) => {
                    // Windows start at ten segments and double each round, and a link carries no more than it can. A
                    // flow that gets nothing tries again at times that double.
                    let rounds = (time / rtt.max(10_000)).min(40);
                    let offered = flows * (10_u128 << rounds);
                    let bits = u128::from(8 * self.packet[direction].max(1) * SECOND);
                    let carried = self.rates[direction]
                        .map_or(u128::MAX, |rate| u128::from(rate) * u128::from(time) / bits);
                    offered.min(carried) + flows * u128::from((time / SECOND).min(30))
                }
            };
        }
        if let Some(update) = self.update {
            events += u128::from(time / update.max(1));
        }
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    /// The longest run within `budget` events.
    fn longest(&self, budget: u64) -> u64 {
        let (mut low, mut high) = (DURATIONS.0, self.space.longest);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.events(middle) <= budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn link(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) {
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

/// Perhaps a throughput-value function, and whether there is one.
fn function(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) -> bool {
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

/// Perhaps what a group's packets are worth.
fn marked(choices: &mut Choices<'_>, text: &mut String, load: &mut Load, own: bool) {
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

/// About one in `of` of the `parameters`, a line each.
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

/// Many are rare, since each costs events.
fn flows(choices: &mut Choices<'_>, load: &Load) -> u64 {
    let many = load.space.most_flows;
    let most = if choices.once_in(8) { many } else { 300 };
    choices.spread((1, most))
}

fn group(choices: &mut Choices<'_>, text: &mut String, load: &mut Load, index: u64) {
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
    let (app, is_stream) = app(choices, load, count, (direction, rtt));
    let _ = writeln!(text, "app = {{ {app} }}");
    if is_stream {
        stream(choices, text, load);
    }
}

/// The application as the inside of a table, and whether it uses TCP.
fn app(
    choices: &mut Choices<'_>,
    load: &mut Load,
    flows: u64,
    path: (usize, u64),
) -> (String, bool) {
    let bulk = Sends::Bulk(path.0, path.1);
    let (app, sends, pause) = match choices.below(6) {
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
                let (repeat, mean) = period(choices);
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
        _ => {
            let ((on, on_mean), (off, off_mean)) = (period(choices), period(choices));
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
    load.groups.push(Group {
        flows,
        sends,
        pause,
    });
    (app, is_stream)
}

/// Size and interval of datagrams, and the mean interval in ns.
fn datagrams(choices: &mut Choices<'_>) -> (String, u64) {
    let size = choices.spread((29, 1_500));
    let mean = choices.spread((10_000, 60 * SECOND));
    let stddev = (choices.below(3) * mean / 2).min(60 * SECOND);
    let interval = format!("{{ mean = \"{mean}ns\", stddev = \"{stddev}ns\" }}");
    (format!("size = \"{size}B\", interval = {interval}"), mean)
}

/// A period, and its mean in ns.
fn period(choices: &mut Choices<'_>) -> (String, u64) {
    let mean = if choices.once_in(8) {
        choices.below(10)
    } else {
        choices.spread((10_000, 3_600 * SECOND))
    };
    let distribution = choices.of(&Distribution::ALL).name();
    (
        format!("{{ mean = \"{mean}ns\", distribution = \"{distribution}\" }}"),
        mean,
    )
}

/// What a group with TCP may say besides.
fn stream(choices: &mut Choices<'_>, text: &mut String, load: &mut Load) {
    let control = choices.of(quell_tcp::cc::KINDS);
    if choices.once_in(4) {
        let _ = writeln!(text, "pacing = {}", choices.once_in(2));
    }
    if choices.once_in(4) {
        let _ = writeln!(text, "gso = {}", choices.once_in(2));
    }
    let _ = writeln!(
        text,
        "[group.congestion-control]\nname = \"{}\"",
        control.name
    );
    some(choices, control.parameters, 4, text, load);
}

/// Each an entry of `set`, in the order of time.
fn changes(choices: &mut Choices<'_>, load: &mut Load, groups: u64) -> Vec<Vec<String>> {
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
    match choices.below(3) {
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

fn run(
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
        Domain::Bytes(low, high) => Value::Bytes(Bytes::new(choices.spread((low, high)))),
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
    // A queue controls at an interval that is given, or follows from an RTT.
    if let Value::Time(time) = value
        && ["tupdate", "typical_rtt", "max_rtt", "interval"].contains(&parameter.name)
    {
        let update = load.update.unwrap_or(u64::MAX);
        load.update = Some(update.min((time.as_nanos() / 8).max(1)));
    }
    match value {
        Value::Flag(_) | Value::Integer(_) | Value::Fraction(..) => value.to_string(),
        value => format!("\"{value}\""),
    }
}

fn time(choices: &mut Choices<'_>, low: Time, high: Time) -> Value {
    let longest = high.min(Time::from_secs(1_000)).max(low);
    Value::Time(Time::from_nanos(
        choices.spread((low.as_nanos(), longest.as_nanos())),
    ))
}
