//! `impair = { … }`: what happens to packets behind the queue.

use quell_aqm::impair::{Impairment, Loss};
use quell_units::parameter::Domain as D;
use quell_units::{Probability, Time, notation};

use super::domain::{Domain, time};
use super::tree::Node;
use super::view::{Keys as _, Reader, View};
use super::written::{Field, Written};

/// Probabilities are in parts of this.
pub(crate) const PARTS: u64 = 1_000_000;
const PROBABILITY: Domain = Domain::Value(D::Fraction(0, PARTS, PARTS));

keys! {
    /// The keys of `impair`; probabilities in millionths.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ImpairSpec in Impair {
        /// Probability that a packet is lost behind the queue; with enter, while the path is good.
        loss: u64 = { default: Is("0"), domain: PROBABILITY, example: "impair = { loss = 0.001 }", }
        /// Probability at each packet that a good path becomes bad.
        enter: u64 = { default: Is("0"), domain: PROBABILITY, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability at each packet that a bad path becomes good: it stays bad for 1 / leave packets on average.
        leave: u64 = { default: Is("0.1"), domain: PROBABILITY, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, leave = 0.2 }", }
        /// Probability that a packet is lost while the path is bad.
        bad: u64 = { default: Is("1"), domain: PROBABILITY, source: "Gilbert 1960, Elliott 1963", example: "impair = { enter = 0.001, bad = 0.5 }", }
        /// Share of packets that are held back, so that others overtake them.
        reorder: u64 = { default: Is("0"), domain: PROBABILITY, example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// How long they are held back.
        hold: Time = { default: Is("5ms"), domain: time(Time::ZERO, Time::from_secs(10)), example: r#"impair = { reorder = 0.01, hold = "2ms" }"#, }
        /// Longest random delay behind the queue, uniform from zero. Packets keep their order.
        jitter: Time = { default: Is("0s"), domain: time(Time::ZERO, Time::from_secs(10)), example: r#"impair = { jitter = "1ms" }"#, }
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
            jitter: self.jitter,
        }
    }

    /// The table on one line.
    fn write(&self) -> String {
        let part = |parts| notation::write_fraction(parts, PARTS);
        let mut keys = vec![
            format!("loss = {}", part(self.loss)),
            format!("jitter = \"{}\"", self.jitter),
        ];
        // What has no effect is refused where it is given.
        if self.enter > 0 {
            let (enter, leave) = (part(self.enter), part(self.leave));
            let bad = part(self.bad);
            keys.push(format!("enter = {enter}, leave = {leave}, bad = {bad}"));
        }
        if self.reorder > 0 {
            let reorder = part(self.reorder);
            keys.push(format!("reorder = {reorder}, hold = \"{}\"", self.hold));
        }
        format!("{{ {} }}", keys.join(", "))
    }
}

impl Field for ImpairSpec {
    fn written(&self) -> Option<Written> {
        Some(Written::alike(self.write()))
    }
}

/// Reads the table `node`, the value of `key`.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<ImpairSpec> {
    let view = View::new(reader, ImpairSpec::ROWS, key, node)?;
    let draft = ImpairSpec::draft(reader, &view);
    // A key without an effect is an error in the file.
    for (name, needs, other) in [
        ("leave", "enter", draft.enter),
        ("bad", "enter", draft.enter),
        ("hold", "reorder", draft.reorder),
    ] {
        if let Some(node) = view.node(reader, name)
            && other == Some(0)
        {
            let allowed = format!("has an effect only beside {needs}");
            reader.wrong(&view.key(name), node, &allowed);
            return None;
        }
    }
    ImpairSpec::finish(draft)
}
