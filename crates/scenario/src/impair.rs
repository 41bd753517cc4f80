//! `impair = { … }`: what happens to packets behind the queue.

use quell_aqm::impair::rules::Rule;
use quell_aqm::impair::shape::Shape;
use quell_aqm::impair::{Impairment, Loss, PathStep};
use quell_aqm::path_trace::PathTrace;
use quell_units::parameter::Value;
use quell_units::{Probability, Time, notation};

use super::domain::{Domain, Parsed, time};
use super::path_course::{PARTS, PathCourse};
use super::refusal::Refusal;
use super::rules::{self, PROBABILITY, parts_of};
use super::shape;
use super::tree::Node;
use super::view::{Keys as _, Reader, View};
use super::written::{Field, Written};
use super::{Scenario, Setting, Side};

keys! {
    /// The keys of `impair`; probabilities in millionths.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ImpairSpec in Impair {
        /// Probability that a packet is lost behind the queue; with enter, while the path is good.
        loss: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { loss = 0.001 }", }
        /// Probability at each packet that a good path becomes bad.
        enter: u64 = { default: Is("0"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability at each packet that a bad path becomes good. It stays bad for 1 / leave packets on average.
        leave: u64 = { default: Is("0.1"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability that a packet is lost while the path is bad.
        bad: u64 = { default: Is("1"), domain: PROBABILITY, live: true, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, bad = 0.5 }", }
        /// Share of packets that are held back. Others overtake them.
        reorder: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// How long they are held back.
        hold: Time = { default: Is("5ms"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// Share of packets that are followed by a copy.
        duplicate: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { duplicate = 0.01 }", }
        /// Share of packets of which one bit behind the IP header is flipped. The checksum is wrong, and the receiver drops them.
        corrupt: u64 = { default: Is("0"), domain: PROBABILITY, live: true, example: "impair = { corrupt = 0.001 }", }
        /// Constant delay behind the queue. It is added to half of the base RTT, and packets keep their order.
        delay: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { delay = "20ms" }"#, }
        /// Longest random delay behind the queue. It is uniform from zero, and packets keep their order.
        jitter: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(10)), live: true, example: r#"impair = { jitter = "1ms" }"#, }
        /// How far delays scatter around the mean, instead of jitter. Of `uniform` the most, else the standard deviation; packets keep their order.
        spread: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(1)), live: true, example: r#"impair = { spread = "5ms" }"#, }
        /// How they scatter. `pareto` has the exponent 3: most are a little early, and few very late.
        shape: Shape = by hand { default: Derived("uniform"), domain: Domain::Table(shape::ALLOWED), live: true, source: "tc-netem(8)", example: r#"impair = { spread = "5ms", shape = "normal" }"#, }
        /// Delay, jitter and losses over time. The name of a file, or a table with the keys of a trace: columns delay, rtt, jitter, loss, enter and leave of csv, delays, or netem-trace.
        trace: Option<PathCourse> = by hand { default: Derived("they do not change by themselves"), domain: Domain::Table("the name of a file, or a table such as { trace = \"delays.txt\", format = \"delays\", interval = \"10ms\" }"), example: r#"impair = { trace = "leo.csv" }"#, }
        /// Rules for what is not lost, in their order.
        rules: Vec<Rule> = by hand { default: Derived("none"), domain: Domain::Table("a list of tables"), example: r#"impair = { rules = [{ name = "hole", from = ["ce"], to = "drop" }] }"#, }
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
            spread: self.spread,
            shape: self.shape.clone(),
            duplicate: part(self.duplicate),
            corrupt: part(self.corrupt),
            rules: self.rules.clone(),
        }
    }

    /// The longest that it ever is of what is asked for.
    fn longest(&self, of: fn(&Impairment) -> Time) -> Time {
        let (course, rest) = (self.course(), self.impairment());
        let steps = course.iter().flat_map(|course| course.steps());
        let steps = steps.map(|(_, step)| of(&step.over(&rest)));
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

    /// The same with another value of `key`; `None` if there is no such key.
    pub(super) fn changed(mut self, key: &str, node: &Node) -> Option<Result<Self, Refusal>> {
        let domain = match self.rule(key) {
            Some(_) => PROBABILITY,
            None => {
                let mut live = Self::ROWS.iter().filter(|row| row.live);
                live.find(|row| row.name == key)?.domain
            }
        };
        if self.traces(key) {
            return Some(Err(Refusal::Traced));
        }
        if key == "shape" {
            let shape = shape::of_node(node);
            return Some(shape.map(|shape| {
                self.shape = shape;
                self
            }));
        }
        Some(domain.read(node).map(|value| {
            if let (Parsed::Value(Value::Fraction(parts, _)), Some(rule)) = (&value, self.rule(key))
            {
                rule.probability = Probability::ratio(*parts, PARTS);
                return self;
            }
            match (value, self.share(key), key) {
                (Parsed::Value(Value::Fraction(parts, _)), Some(share), _) => *share = parts,
                (Parsed::Value(Value::Time(time)), _, "hold") => self.hold = time,
                (Parsed::Value(Value::Time(time)), _, "delay") => self.delay = time,
                (Parsed::Value(Value::Time(time)), _, "spread") => self.spread = time,
                (Parsed::Value(Value::Time(time)), ..) => self.jitter = time,
                _ => {}
            }
            self
        }))
    }

    /// Whether delays would scatter around the mean and above it.
    pub(super) fn scatters_twice(&self) -> bool {
        !self.spread.is_zero() && (!self.jitter.is_zero() || self.traces("jitter"))
    }

    /// The rule whose probability is the key `rules.NAME.probability`.
    fn rule(&mut self, key: &str) -> Option<&mut Rule> {
        let name = key.strip_prefix("rules.")?.strip_suffix(".probability")?;
        self.rules.iter_mut().find(|rule| rule.name == name)
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
            "shape" => Some(("spread", self.spread.is_zero())),
            _ => None,
        }
    }

    /// The value of a key as a file has it.
    pub(super) fn value(&self, key: &str) -> String {
        let mut spec = self.clone();
        if let Some(rule) = spec.rule(key) {
            return notation::write_fraction(parts_of(rule.probability), PARTS);
        }
        match (spec.share(key), key) {
            (Some(parts), _) => notation::write_fraction(*parts, PARTS),
            (None, "hold") => format!("\"{}\"", self.hold),
            (None, "delay") => format!("\"{}\"", self.delay),
            (None, "spread") => format!("\"{}\"", self.spread),
            (None, "shape") => shape::written(&self.shape),
            (None, _) => format!("\"{}\"", self.jitter),
        }
    }

    /// The table on one line.
    fn write(&self) -> String {
        let mut keys = vec!["loss", "jitter"];
        keys.extend((!self.delay.is_zero()).then_some("delay"));
        if !self.spread.is_zero() {
            keys.extend(["spread", "shape"]);
            keys.retain(|key| *key != "jitter");
        }
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
        let rules: Vec<String> = self.rules.iter().map(rules::write).collect();
        let rules = (!rules.is_empty()).then(|| format!("rules = [{}]", rules.join(", ")));
        let all: Vec<String> = keys.chain(trace).chain(rules).collect();
        format!("{{ {} }}", all.join(", "))
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
            spread: Time::ZERO,
            shape: Shape::Uniform,
            trace: None,
            rules: Vec::new(),
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
impl Field for Shape {}

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
    draft.shape = match view.node(reader, "shape") {
        Some(node) => shape::read(reader, &view.key("shape"), node),
        None => Some(Shape::Uniform),
    };
    draft.rules = match view.node(reader, "rules") {
        Some(node) => rules::read(reader, &view.key("rules"), node),
        None => Some(Vec::new()),
    };
    let spec = ImpairSpec::finish(draft)?;
    let mut keys = ImpairSpec::ROWS.iter().map(|row| row.name);
    if let Some(name) = keys.find(|key| view.has(key) && spec.traces(key)) {
        view.refuse(reader, name, "cannot be given: the trace says it");
        return None;
    }
    if !spec.spread.is_zero() && (view.has("jitter") || spec.traces("jitter")) {
        view.refuse(
            reader,
            "spread",
            "is jitter around the delay; leave jitter above it out",
        );
        return None;
    }
    // A key without an effect is an error in the file.
    for name in ["leave", "bad", "hold", "shape"] {
        if let Some(node) = view.node(reader, name)
            && let Some((needs, true)) = spec.needs(name)
        {
            reader.wrong(&view.key(name), node, Refusal::Beside(needs));
            return None;
        }
    }
    Some(spec)
}
