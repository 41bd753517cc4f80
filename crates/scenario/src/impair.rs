//! `impair = { … }`: what happens to packets behind the queue.

use quell_aqm::impair::{Impairment, Loss, PathStep};
use quell_aqm::path_trace::PathTrace;
use quell_units::parameter::{Domain as D, Value};
use quell_units::{Probability, Time, notation};

use super::domain::{Domain, Parsed, time};
use super::path_course::{PARTS, PathCourse};
use super::refusal::Refusal;
use super::tree::Node;
use super::view::{Keys as _, Reader, View};
use super::written::{Field, Written};
use super::{Scenario, Setting, Side};

const PROBABILITY: Domain = Domain::Value(D::Fraction(0, PARTS, PARTS));

keys! {
    /// The keys of `impair`; probabilities in millionths.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ImpairSpec in Impair {
        /// Probability that a packet is lost behind the queue; with enter, while the path is good.
        loss: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { loss = 0.001 }", }
        /// Probability at each packet that a good path becomes bad.
        enter: u64 = { default: Is("0"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability at each packet that a bad path becomes good: it stays bad for 1 / leave packets on average.
        leave: u64 = { default: Is("0.1"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability that a packet is lost while the path is bad.
        bad: u64 = { default: Is("1"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, bad = 0.5 }", }
        /// Share of packets that are held back, so that others overtake them.
        reorder: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// How long they are held back.
        hold: Time = { default: Is("5ms"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// Share of packets that are followed by a copy.
        duplicate: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { duplicate = 0.01 }", }
        /// Share of packets of which one bit behind the IP header is flipped: the checksum is wrong, and the receiver drops them.
        corrupt: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { corrupt = 0.001 }", }
        /// Constant delay behind the queue, in addition to half of the base RTT. Packets keep their order.
        delay: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { delay = "20ms" }"#, }
        /// Longest random delay behind the queue, uniform from zero. Packets keep their order.
        jitter: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { jitter = "1ms" }"#, }
        /// Delay, jitter and losses over time, from a file, or a table with the keys of a trace: columns delay, rtt, jitter, loss, enter and leave of csv, delays, or netem-trace.
        trace: Option<PathCourse> = by hand { default: Derived("they do not change by themselves"), domain: Domain::Table("the name of a file, or a table such as { trace = \"delays.txt\", format = \"delays\", interval = \"10ms\" }"), example: r#"impair = { trace = "leo.csv" }"#, }
    }
}

impl ImpairSpec {
    /// The impairment as worlds play it.
    pub fn impairment(&self) -> Impairment {
        let part = |parts| Probability::ratio(parts, PARTS);
        Impairment {
            loss: Loss {
                enter: part(self.enter),
                leave: part(self.leave),
                bad: part(self.bad),
                good: part(self.loss),
            },
            reorder: part(self.reorder),
            hold: self.hold,
            delay: self.delay,
            jitter: self.jitter,
            duplicate: part(self.duplicate),
            corrupt: part(self.corrupt),
        }
    }

    /// The longest that it ever is of what is asked for.
    fn longest(&self, of: fn(&Impairment) -> Time) -> Time {
        let (course, rest) = (self.course(), self.impairment());
        let steps = course.iter().flat_map(|course| course.steps());
        let steps = steps.map(|(_, step)| of(&step.over(rest)));
        steps.fold(of(&rest), Time::max)
    }

    /// What the trace makes of the path, if there is one.
    pub fn course(&self) -> Option<PathTrace<PathStep>> {
        let course = self.trace.as_ref()?;
        let played = course.played(|values| {
            let mut step = PathStep::default();
            for (key, &value) in course.keys.iter().zip(values) {
                let (time, share) = (Time::from_nanos(value), Probability::ratio(value, PARTS));
                match *key {
                    "delay" => step.delay = Some(time),
                    "jitter" => step.jitter = Some(time),
                    "loss" => step.good = Some(share),
                    "enter" => step.enter = Some(share),
                    _ => step.leave = Some(share),
                }
            }
            step
        });
        played.ok()
    }

    /// The same with another value of `key`, and the name of that; `None` if there is no such key.
    pub(super) fn changed(
        mut self,
        key: &str,
        node: &Node,
    ) -> Option<Result<(Self, &'static str), Refusal>> {
        let row = Self::ROWS.iter().find(|row| row.name == key && row.live)?;
        if self.traces(row.name) {
            return Some(Err(Refusal::Traced));
        }
        Some(row.domain.read(node).map(|value| {
            match (value, self.share(key), key) {
                (Parsed::Value(Value::Fraction(parts, _)), Some(share), _) => *share = parts,
                (Parsed::Value(Value::Time(time)), _, "hold") => self.hold = time,
                (Parsed::Value(Value::Time(time)), _, "delay") => self.delay = time,
                (Parsed::Value(Value::Time(time)), ..) => self.jitter = time,
                _ => {}
            }
            (self, row.name)
        }))
    }

    /// The value of a key that is a share, in millionths.
    fn share(&mut self, key: &str) -> Option<&mut u64> {
        match key {
            "loss" => Some(&mut self.loss),
            "enter" => Some(&mut self.enter),
            "leave" => Some(&mut self.leave),
            "bad" => Some(&mut self.bad),
            "reorder" => Some(&mut self.reorder),
            "duplicate" => Some(&mut self.duplicate),
            "corrupt" => Some(&mut self.corrupt),
            _ => None,
        }
    }

    /// Whether the trace says this key.
    fn traces(&self, key: &str) -> bool {
        let mut courses = self.trace.iter();
        courses.any(|course| course.keys.contains(&key))
    }

    /// The key without which `key` has no effect, and whether that one is zero.
    pub(super) fn needs(&self, key: &str) -> Option<(&'static str, bool)> {
        match key {
            "leave" | "bad" => Some(("enter", self.enter == 0 && !self.traces("enter"))),
            "hold" => Some(("reorder", self.reorder == 0)),
            _ => None,
        }
    }

    /// The value of a key as a file has it.
    pub(super) fn value(&self, key: &str) -> String {
        let mut spec = self.clone();
        match (spec.share(key), key) {
            (Some(parts), _) => notation::write_fraction(*parts, PARTS),
            (None, "hold") => format!("\"{}\"", self.hold),
            (None, "delay") => format!("\"{}\"", self.delay),
            (None, _) => format!("\"{}\"", self.jitter),
        }
    }

    /// The table on one line.
    fn write(&self) -> String {
        let mut keys = vec!["loss", "jitter"];
        keys.extend((!self.delay.is_zero()).then_some("delay"));
        // What has no effect is refused where it is given.
        if self.enter > 0 || self.traces("enter") {
            keys.extend(["enter", "leave", "bad"]);
        }
        if self.reorder > 0 {
            keys.extend(["reorder", "hold"]);
        }
        keys.extend((self.duplicate > 0).then_some("duplicate"));
        keys.extend((self.corrupt > 0).then_some("corrupt"));
        // What the trace says is not said twice.
        let keys = keys.iter().filter(|key| !self.traces(key));
        let keys = keys.map(|key| format!("{key} = {}", self.value(key)));
        let trace = self.trace.as_ref();
        let trace = trace.map(|course| format!("trace = {}", course.table()));
        format!("{{ {} }}", keys.chain(trace).collect::<Vec<_>>().join(", "))
    }
}

impl Default for ImpairSpec {
    /// What the keys say where none is given.
    fn default() -> Self {
        Self {
            loss: 0,
            enter: 0,
            leave: PARTS / 10,
            bad: PARTS,
            reorder: 0,
            hold: Time::from_millis(5),
            duplicate: 0,
            corrupt: 0,
            delay: Time::ZERO,
            jitter: Time::ZERO,
            trace: None,
        }
    }
}

impl Scenario {
    /// The longest that a side delays a packet behind its queue at any time.
    pub fn most_delay(&self, side: Side) -> Time {
        let impairs = self.impairs(side);
        let delays = impairs.map(|impair| impair.longest(Impairment::most_delay));
        delays.fold(Time::ZERO, Time::max)
    }

    /// The same without what is random.
    pub(crate) fn longest_delay(&self, side: Side) -> Time {
        let impairs = self.impairs(side);
        let delays = impairs.map(|impair| impair.longest(|step| step.delay));
        delays.fold(Time::ZERO, Time::max)
    }

    /// What a side does to packets behind its queue, at the start and after each change; nothing where nobody says anything.
    pub fn impairs(&self, side: Side) -> impl Iterator<Item = ImpairSpec> {
        let later = self.changes.iter().flat_map(|change| &change.set);
        let later = later.filter_map(move |setting| match setting {
            Setting::Impair { side: of, spec, .. } if *of == side => Some(spec.clone()),
            _ => None,
        });
        self.side(side).impair.clone().into_iter().chain(later)
    }
}

// Written with the table.
impl Field for PathCourse {}

impl Field for ImpairSpec {
    fn written(&self) -> Option<Written> {
        Some(Written::alike(self.write()))
    }
}

/// Reads the table `node`, the value of `key`; `trace` reads what a path does.
pub(super) fn read(
    reader: &mut Reader,
    key: &str,
    node: &Node,
    trace: fn(&mut Reader, &str, &Node) -> Option<PathCourse>,
) -> Option<ImpairSpec> {
    let view = View::new(reader, ImpairSpec::ROWS, key, node)?;
    let mut draft = ImpairSpec::draft(reader, &view);
    draft.trace = Some(view.optional(reader, "trace", trace)?);
    let spec = ImpairSpec::finish(draft)?;
    let mut keys = ImpairSpec::ROWS.iter().map(|row| row.name);
    if let Some(name) = keys.find(|key| view.has(key) && spec.traces(key)) {
        view.refuse(reader, name, "cannot be given: the trace says it");
        return None;
    }
    // A key without an effect is an error in the file.
    for name in ["leave", "bad", "hold"] {
        if let Some(node) = view.node(reader, name)
            && let Some((needs, true)) = spec.needs(name)
        {
            reader.wrong(&view.key(name), node, Refusal::Beside(needs));
            return None;
        }
    }
    Some(spec)
}
