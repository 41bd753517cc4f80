//! What the receiving end of a group has of its own: without it both hosts are set up alike.

use std::sync::LazyLock;

use quell_tcp::{Codepoint, EcnMode};

use super::control::ControlSpec;
use super::keys::DEFAULT_CONTROL;
use super::tree::Node;
use super::view::{Keys, Reader, View};
use super::written::{Field, Written};
use crate::{Group, ReceiverSpec};

/// The control of a host that has none of its own.
static DEFAULT: LazyLock<ControlSpec> = LazyLock::new(|| ControlSpec::new(DEFAULT_CONTROL));

impl Field for ReceiverSpec {
    fn written(&self) -> Option<Written> {
        let given = Keys::written(self).filter(|(key, written)| {
            let written = written.as_ref();
            written.is_some_and(|written| !written.is_default(key))
        });
        Some(Written::alike(super::written::inline(given)))
    }
}

impl ReceiverSpec {
    /// Reads the table `node`, the value of `key`, of a group with the control `own`.
    pub(super) fn read(
        reader: &mut Reader,
        key: &str,
        node: &Node,
        own: Option<&ControlSpec>,
    ) -> Option<Self> {
        let view = View::new(reader, Self::ROWS, key, node)?;
        let mut draft = Self::draft(reader, &view);
        let form = view.row("congestion-control").domain;
        let control = |reader: &mut Reader, key: &str, node: &Node| {
            ControlSpec::read(reader, key, node, &form)
        };
        draft.congestion_control = Some(view.optional(reader, "congestion-control", control)?);
        let spec = Self::finish(draft)?;
        let control = spec.congestion_control.as_ref().or(own);
        // What contradicts itself, and a key without an effect, are errors in the file.
        let wrong = match (&spec.congestion_control, control) {
            (Some(given), _) if !spec.allows(given) => Some((
                "congestion-control",
                format!("reports marks in a way that the rest of {key} forbids; leave one out"),
            )),
            (_, Some(control)) if !spec.accecn && !is_accurate(control) => Some((
                "accecn",
                format!(
                    "has no effect: {} does not report marks by AccECN",
                    control.name()
                ),
            )),
            _ => None,
        };
        let Some((name, why)) = wrong else {
            return Some(spec);
        };
        view.refuse(reader, name, &why);
        None
    }

    /// Whether a host with these settings may have this control.
    fn allows(&self, control: &ControlSpec) -> bool {
        match feedback(control) {
            EcnMode::Off | EcnMode::Classic(_) => true,
            EcnMode::Dctcp(_) => self.ecn,
            EcnMode::Accurate(_) => self.ecn && self.accecn,
        }
    }
}

/// How a host with this control reports marks; nothing for one that only a kernel has.
fn feedback(control: &ControlSpec) -> EcnMode {
    let config = control.config().and_then(Result::ok);
    config.map_or(EcnMode::Off, |config| config.ecn(Some(Codepoint::Ect0)))
}

fn is_accurate(control: &ControlSpec) -> bool {
    matches!(feedback(control), EcnMode::Accurate(_))
}

impl Group {
    /// Congestion control of the receiving host; `None` for datagrams.
    pub fn receiver_control(&self) -> Option<&ControlSpec> {
        let own = self.congestion_control.as_ref()?;
        let Some(receiver) = &self.receiver else {
            return Some(own);
        };
        let control = receiver.congestion_control.as_ref().unwrap_or(own);
        Some(match receiver.allows(control) {
            true => control,
            false => &DEFAULT,
        })
    }

    /// Whether the receiving host takes part in ECN.
    pub fn receiver_has_ecn(&self) -> bool {
        self.receiver.as_ref().is_none_or(|receiver| receiver.ecn)
    }

    /// Whether the receiving host acknowledges each segment at once.
    pub fn receiver_acks_each(&self) -> bool {
        let receiver = self.receiver.as_ref();
        receiver.is_some_and(|receiver| !receiver.delayed_ack)
    }

    /// Whether the sender asks for AccECN, and the receiving host does not know it.
    pub fn lacks_accurate_ecn(&self) -> bool {
        let receiver = self.receiver_control();
        self.congestion_control.as_ref().is_some_and(is_accurate)
            && !(self.receiver_has_ecn() && receiver.is_some_and(is_accurate))
    }
}
