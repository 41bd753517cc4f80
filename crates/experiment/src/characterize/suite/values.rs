//! The names that a suite's expressions have from outside, and their values.

use crate::characterize::profile::{Congestion, Profile};
use crate::evaluate::{Engine, Fault};
use crate::expression::{Expression, Template, Value};
use crate::file::{Axis, AxisKind, AxisValue, Definition};

/// The names, in the order of the guide: of the path, of the controls, and of what is judged.
const NAMES: [&str; 16] = [
    "rate", "rtt", "duration", "warmup", "buffer", "mild", "medium", "heavy", "newreno", "control",
    "item", "kind", "marks", "flows", "target", "is_card",
];

/// The names without values: an axis with one value whose fields they are.
pub(super) fn axis() -> Axis {
    let fields = NAMES.iter().map(|name| ((*name).to_owned(), Value::None));
    Axis {
        name: "card".to_owned(),
        kind: AxisKind::Loose,
        values: vec![AxisValue {
            fields: fields.collect(),
            ..AxisValue::default()
        }],
    }
}

/// The values of a path and of the controls: bit/s, nanoseconds, packets, flows.
pub(crate) fn of_path(path: &Profile, newreno: &str, control: &str) -> Vec<(&'static str, Value)> {
    let number = |number: u64| Value::Number(number as f64);
    let text = |text: &str| Value::Text(text.to_owned());
    vec![
        ("rate", number(path.rate.as_bps())),
        ("rtt", number(path.rtt.as_nanos())),
        ("duration", number(path.duration.as_nanos())),
        ("warmup", number(path.warmup().as_nanos())),
        ("buffer", number(path.buffer())),
        ("mild", number(path.flows(Congestion::Mild))),
        ("medium", number(path.flows(Congestion::Medium))),
        ("heavy", number(path.flows(Congestion::Heavy))),
        ("newreno", text(newreno)),
        ("control", text(control)),
    ]
}

/// What names mean, with values.
pub(crate) struct Values(Definition);

impl Values {
    /// Gives names their values.
    pub(crate) fn new(
        definition: &Definition,
        values: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Self {
        let mut definition = definition.clone();
        let fields = definition.axes.iter_mut().flat_map(|axis| &mut axis.values);
        let values = values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        if let Some(only) = fields.into_iter().next() {
            only.fields.extend(values);
        }
        Self(definition)
    }

    /// Evaluates with one account of steps and texts, which are bounded.
    pub(crate) fn engine(&self) -> Result<Engine<'_>, Fault> {
        Engine::new(&self.0)
    }

    pub(crate) fn value(&self, expression: &Expression) -> Result<Value, Fault> {
        self.engine()?.given(expression)
    }

    pub(crate) fn text(&self, template: &Template) -> Result<String, Fault> {
        self.engine()?.given_text(template)
    }
}
