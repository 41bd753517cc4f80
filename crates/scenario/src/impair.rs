//! `impair = { … }`: what happens to packets behind the queue.

use quell_aqm::impair::{Impairment, Loss};
use quell_units::parameter::Value;
use quell_units::{Probability, Time, notation};

use super::domain::Parsed;
use super::keys::Section;
use super::tree::Node;
use super::view::{Reader, View};

/// Probabilities are in parts of this.
pub(crate) const PARTS: u64 = 1_000_000;

/// The keys of `impair`; probabilities in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpairSpec {
    /// Of a loss while the path is good.
    pub loss: u64,
    /// That a good path becomes bad.
    pub enter: u64,
    /// That a bad path becomes good.
    pub leave: u64,
    /// Of a loss while the path is bad.
    pub bad: u64,
    /// The share of packets that are held back.
    pub reorder: u64,
    /// For how long.
    pub hold: Time,
    /// The longest random delay.
    pub jitter: Time,
}

impl ImpairSpec {
    /// What a world does.
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

    /// On one line.
    pub(super) fn write(&self) -> String {
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

/// Reads the table `node`, the value of `key`.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<ImpairSpec> {
    let view = View::new(reader, Section::Impair, key, node)?;
    let mut part = |name: &str| match view.parsed(reader, name) {
        Some(Parsed::Value(Value::Fraction(parts, _))) => Some(parts),
        _ => None,
    };
    let (loss, enter, leave) = (part("loss"), part("enter"), part("leave"));
    let (bad, reorder) = (part("bad"), part("reorder"));
    let hold = view.time(reader, "hold");
    let jitter = view.time(reader, "jitter");
    // A key that does nothing is an error of whoever wrote it.
    for (name, needs, is_given) in [
        ("leave", "enter", enter != Some(0)),
        ("bad", "enter", enter != Some(0)),
        ("hold", "reorder", reorder != Some(0)),
    ] {
        if view.has(name)
            && !is_given
            && let Some(node) = view.node(reader, name)
        {
            reader.wrong(
                &view.key(name),
                node,
                &format!("has an effect only beside {needs}"),
            );
            return None;
        }
    }
    Some(ImpairSpec {
        loss: loss?,
        enter: enter?,
        leave: leave?,
        bad: bad?,
        reorder: reorder?,
        hold: hold?,
        jitter: jitter?,
    })
}
