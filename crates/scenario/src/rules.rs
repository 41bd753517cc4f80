//! `rules = [{ … }]` of `impair`: what happens to packets behind the queue by what they are.

use quell_app::MAX_DATAGRAM;
use quell_aqm::impair::rules::{Outcome, Rule};
use quell_units::parameter::{Domain as D, Value};
use quell_units::{Bytes, Ecn, Probability, Time};

use super::domain::{Domain, Parsed, bytes, scalar, time};
use super::path_course::PARTS;
use super::problem::Origin;
use super::tree::{Node, Table, TomlType, Tree};
use super::view::{Keys as _, Reader, View};
use super::world::World;
use super::written::{Field, Written};

pub(crate) const PROBABILITY: Domain = Domain::Value(D::Fraction(0, PARTS, PARTS));
/// The most rules of a direction of a link.
pub(crate) const MOST_RULES: usize = 16;
/// What every link of IPv6 takes (RFC 8200 section 5).
const LEAST_MTU: Bytes = Bytes::new(1_280);
/// The worlds whose hosts set a DSCP, and look for the MTU of a path.
const REAL: &[World] = &[World::Virtual, World::Live];
const DSCP: Domain = Domain::Value(D::Integer(0, 63));
const EXAMPLE: &str = r#"impair = { rules = [{ name = "marker", from = ["ect0", "ect1"], to = "ce", probability = 0.05 }] }"#;
const TRAIN: &str =
    r#"impair = { rules = [{ name = "train", to = "drop", every = "3s", packets = 10 }] }"#;
const TRAINS: &str =
    r#"impair = { rules = [{ name = "fades", to = "drop", enter = 0.001, leave = 0.2 }] }"#;

/// ECN fields by their bits, kinds of packets in their order, and what else may become of packets.
pub(crate) const CODES: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];
pub(crate) const KINDS: [&str; 4] = ["syn", "syn-ack", "ack", "data"];
const OUTCOMES: &[&str] = &["not-ect", "ect1", "ect0", "ce", "drop", "copy", "flip"];

keys! {
    impl Rule in Rule {
        /// Name of the rule.
        name: String = { default: Required, domain: Domain::Word, example: EXAMPLE, }
        /// ECN fields that match.
        from: u8 = by hand { default: Derived("any"), domain: Domain::Table("a list of not-ect, ect0, ect1 and ce"), example: EXAMPLE, }
        /// Kinds that match. ack is TCP without payload, and data anything else.
        kinds: u8 = by hand { name: "match", default: Derived("any"), domain: Domain::Table("a list of syn, syn-ack, ack and data"), example: r#"impair = { rules = [{ name = "hole", match = ["syn"], to = "drop" }] }"#, }
        /// DSCP that matches.
        dscp: Option<u32> = { default: Derived("any"), domain: DSCP, worlds: REAL, example: r#"impair = { rules = [{ name = "hole", dscp = 45, to = "drop" }] }"#, }
        /// Only packets of more bytes than this match, with their IP header. A hole for packets of an MTU that was.
        longer: Option<Bytes> = { default: Derived("any"), domain: bytes(Bytes::ZERO, MAX_DATAGRAM), example: r#"impair = { rules = [{ name = "hole", longer = "1400B", to = "drop", probability = 0 }] }"#, }
        /// Whether its sender hears what fits. By ICMP type 3 with code 4, or ICMPv6 type 2, as from a router.
        signal: bool = { default: Is("false"), domain: Domain::Value(D::Flag), worlds: REAL, example: r#"impair = { rules = [{ name = "tunnel", longer = "1400B", to = "drop", signal = true }] }"#, }
        /// New ECN field; or the packet is dropped, or followed by a copy; or of a datagram a bit of the payload is flipped, with the right checksum.
        to: Outcome = { default: Derived("it stays"), domain: Domain::Value(D::Word(OUTCOMES)), example: EXAMPLE, }
        /// New DSCP.
        to_dscp: Option<u32> = { default: Derived("it stays"), domain: DSCP, worlds: REAL, example: r#"impair = { rules = [{ name = "bleach", to = "not-ect", to-dscp = 0 }] }"#, }
        /// Whether not-ect may become ce.
        is_unsafe: bool = { name: "unsafe", default: Is("false"), domain: Domain::Value(D::Flag), example: r#"impair = { rules = [{ name = "all", to = "ce", unsafe = true }] }"#, }
        /// Share of what matches.
        probability: Probability = { default: Is("1"), domain: PROBABILITY, live: true, example: EXAMPLE, }
        /// Only in trains: probability at each packet that one begins.
        enter: Option<Probability> = { default: Derived("all match"), domain: PROBABILITY, example: TRAINS, }
        /// Probability at each packet that a train ends. It is 1 / leave packets long on average.
        leave: Probability = { default: Is("0.1"), domain: PROBABILITY, example: TRAINS, }
        /// Only for the first packets after each multiple of this time.
        every: Option<Time> = { default: Derived("all match"), domain: time(Time::from_millis(1), Time::from_secs(86_400)), example: TRAIN, }
        /// How many these are.
        packets: u32 = { default: Is("1"), domain: Domain::Value(D::Integer(1, 1_000_000)), example: TRAIN, }
    }
}

// Written with their words.
impl Field for u8 {}
impl Field for Vec<Rule> {}

impl Field for Outcome {
    fn from_parsed(parsed: Parsed) -> Option<Self> {
        Some(match parsed {
            Parsed::Value(Value::Word("drop")) => Self::Drop,
            Parsed::Value(Value::Word("copy")) => Self::Copy,
            Parsed::Value(Value::Word("flip")) => Self::Flip,
            Parsed::Value(Value::Word(code)) => {
                let bits = CODES.iter().position(|other| *other == code)?;
                Self::Code(Ecn::from_bits(bits as u8))
            }
            _ => return None,
        })
    }
    fn absent() -> Option<Self> {
        Some(Self::Same)
    }
    fn written(&self) -> Option<Written> {
        let word = match self {
            Self::Same => return None,
            Self::Code(code) => CODES[usize::from(code.bits())],
            Self::Drop => "drop",
            Self::Copy => "copy",
            Self::Flip => "flip",
        };
        Some(Value::Word(word).into())
    }
}

impl Field for Probability {
    fn from_parsed(parsed: Parsed) -> Option<Self> {
        match parsed {
            Parsed::Value(Value::Fraction(parts, of)) => Some(Self::ratio(parts, of)),
            _ => None,
        }
    }
    fn written(&self) -> Option<Written> {
        Some(Value::Fraction(parts_of(*self), PARTS).into())
    }
}

/// The parts that a probability was made of.
pub(super) fn parts_of(probability: Probability) -> u64 {
    let parts = u128::from(probability.raw()) * u128::from(PARTS);
    ((parts + (1 << (Probability::BITS - 1))) >> Probability::BITS) as u64
}

/// The key of a rule in `impair` that may change.
pub(super) fn live_key(rule: &Rule) -> String {
    format!("rules.{}.probability", rule.name)
}

/// A rule on one line.
pub(super) fn write(rule: &Rule) -> String {
    let list = |words: &[&str; 4], bits: u8| {
        let chosen = words.iter().enumerate();
        let chosen = chosen.filter(|(place, _)| (bits >> place) & 1 == 1);
        let chosen: Vec<String> = chosen.map(|(_, word)| format!("\"{word}\"")).collect();
        (chosen.len() < 4).then(|| format!("[{}]", chosen.join(", ")))
    };
    let keys = rule.written().filter_map(|(key, value)| {
        let value = match key.name {
            "from" => list(&CODES, rule.from)?,
            "match" => list(&KINDS, rule.kinds)?,
            _ => value.filter(|value| !value.is_default(key))?.toml,
        };
        Some(format!("{} = {value}", key.name))
    });
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}

/// What is wrong with keys together: a key, and why.
#[rustfmt::skip]
fn mistake(rule: &Rule, is_given: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    let (is_ce, changes_dscp) = (rule.to == Outcome::Code(Ecn::Ce), rule.to_dscp.is_some());
    let is_unsafe = is_ce && rule.from & 1 == 1;
    let is_same = matches!(rule.to, Outcome::Code(code) if rule.from == 1 << code.bits());
    let is_dropped = rule.to == Outcome::Drop && rule.longer >= Some(LEAST_MTU);
    let mistakes = [
        (rule.signal && !is_dropped, "signal", "needs to = \"drop\", and longer = \"1280B\" or more, which every link of IPv6 takes"),
        (is_given("packets") && rule.every.is_none(), "packets", "has an effect only beside every"),
        (is_given("leave") && rule.enter.is_none(), "leave", "has an effect only beside enter"),
        (!is_given("to") && !changes_dscp, "to", "without to or to-dscp the rule does nothing"),
        (rule.to == Outcome::Drop && changes_dscp, "to-dscp", "has no effect on packets that are dropped; leave it out"),
        (is_same && !changes_dscp, "to", "is what from is, so the rule does nothing"),
        (is_unsafe && !rule.is_unsafe, "from", "not-ect must not become ce; give from = [\"ect0\", \"ect1\"], or unsafe = true"),
        (rule.is_unsafe && !is_unsafe, "unsafe", "has an effect only where not-ect becomes ce; leave it out"),
    ];
    let mut mistakes = mistakes.into_iter();
    mistakes.find(|(is_there, ..)| *is_there).map(|(_, key, why)| (key, why))
}

/// Reads the list `node`, the value of `key`.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<Vec<Rule>> {
    let nodes = match &node.value {
        Tree::Array(nodes) if (1..=MOST_RULES).contains(&nodes.len()) => nodes,
        _ => {
            let form = format!("must be a list of 1 to {MOST_RULES} tables such as {EXAMPLE}");
            reader.wrong(key, node, form);
            return None;
        }
    };
    let mut rules: Vec<Rule> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = name(node).map_or_else(|| (index + 1).to_string(), str::to_owned);
        let view = View::new(reader, Rule::ROWS, &format!("{key}.{path}"), node)?;
        let mut draft = Rule::draft(reader, &view);
        draft.from = chosen(reader, &view, "from", &CODES);
        draft.kinds = chosen(reader, &view, "match", &KINDS);
        let rule = Rule::finish(draft)?;
        let is_twin = rules.iter().any(|other| other.name == rule.name);
        let twin = is_twin.then_some(("name", "is that of another rule in this list"));
        if let Some((key, why)) = twin.or_else(|| mistake(&rule, |key| view.has(key))) {
            view.refuse(reader, key, why);
            return None;
        }
        rules.push(rule);
    }
    Some(rules)
}

/// The words of the list `key`, a bit for each; all where it is not given.
fn chosen(reader: &mut Reader, view: &View<'_>, key: &str, words: &[&str; 4]) -> Option<u8> {
    let Some(node) = view.node(reader, key) else {
        return Some(15);
    };
    let nodes = match &node.value {
        Tree::Array(nodes) => &nodes[..],
        _ => &[],
    };
    let bits = nodes.iter().try_fold(0, |bits, node| {
        let word = scalar(node, &[TomlType::String])?;
        let place = words.iter().position(|other| *other == word)?;
        Some(bits | 1 << place)
    });
    let bits = bits.filter(|bits| *bits > 0);
    if bits.is_none() {
        let form = format!("must be {}", view.row(key).domain);
        reader.wrong(&view.key(key), node, form);
    }
    bits
}

/// The name of a rule, if it is a text.
fn name(node: &Node) -> Option<&str> {
    match &node.value {
        Tree::Table(table) => scalar(table.get("name")?, &[TomlType::String]),
        _ => None,
    }
}

/// The rule of this name, a new one behind the others if there is none.
pub(super) fn called<'a>(rules: &'a mut Vec<Node>, part: &str, origin: &Origin) -> &'a mut Node {
    let place = rules.iter().position(|rule| name(rule) == Some(part));
    let place = place.unwrap_or_else(|| {
        let node = |value| Node {
            origin: origin.clone(),
            value,
        };
        let name = node(Tree::Scalar(TomlType::String, part.to_owned()));
        rules.push(node(Tree::Table(Table::of("name", name))));
        rules.len() - 1
    });
    &mut rules[place]
}
