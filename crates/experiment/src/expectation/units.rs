//! Numbers with units in expectations become numbers in the unit of the figure beside them.

use quell_lab::scenario::closest;
use quell_units::notation;

use super::names::{Kind, Names};
use crate::expression::{Binary, Expression, Node, SyntaxError, Value};

/// Functions of an expectation, with how many values they take.
const FUNCTIONS: [(&str, usize); 8] = [
    ("abs", 1),
    ("min", 2),
    ("max", 2),
    ("default", 2),
    ("if", 3),
    ("floor", 1),
    ("round", 1),
    ("sqrt", 1),
];

impl Kind {
    fn is_like(self, other: Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (Self::Share, Self::Count) | (Self::Count, Self::Share)
            )
    }

    /// In words, with the units that fit.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Time(_) => "a time: write s, ms or us",
            Self::Rate => "a rate: write bit, kbit, mbit or gbit",
            Self::Bytes => "an amount of data: write B, kB, MB or KiB",
            Self::Percent | Self::Share => "a share: write %, or a number without a unit",
            Self::Count => "a number of things, which has no unit",
            Self::Word => "a word: write 'word'",
            Self::Flag => "true or false",
        }
    }
}

/// A value with its unit, as a number and what it is of.
pub(super) fn measured(text: &str) -> Option<(f64, Kind)> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent = percent.parse::<f64>().ok();
        percent.map(|percent| (percent / 100.0, Kind::Share))
    } else if let Ok(time) = notation::time(text) {
        Some((time.as_nanos() as f64 / 1e9, Kind::Time(1.0)))
    } else if let Ok(rate) = notation::rate(text) {
        Some((rate.as_bps() as f64, Kind::Rate))
    } else {
        let bytes = notation::bytes(text).ok();
        bytes.map(|bytes| (bytes.get() as f64, Kind::Bytes))
    }
}

/// A value with its unit, as a number of a figure of this kind.
fn quantity(text: &str, at: usize, kind: Option<Kind>) -> Result<f64, SyntaxError> {
    let found = measured(text);
    match (found, kind) {
        (None, _) => Err(SyntaxError::new(
            at,
            format!(
                "{text} has no unit that quell knows: s, ms, us, bit, kbit, mbit, gbit, B, kB, MB, %"
            ),
        )),
        (Some(_), None) => Err(SyntaxError::new(
            at,
            format!("no figure stands beside {text}"),
        )),
        (Some((value, Kind::Time(_))), Some(Kind::Time(seconds))) => Ok(value / seconds),
        (Some((value, Kind::Share)), Some(Kind::Percent)) => Ok(value * 100.0),
        (Some((value, found)), Some(kind)) if found == kind => Ok(value),
        (Some(_), Some(kind)) => Err(SyntaxError::new(
            at,
            format!("{text} does not fit: the figure is {}", kind.words()),
        )),
    }
}

/// The kind of the numbers of an expression, if a figure in it has one.
pub(super) fn kind_of(expression: &Expression, names: &Names) -> Option<Kind> {
    match &expression.node {
        Node::Column(name) | Node::Name(name) => names.kind(name),
        Node::Unary(_, of) => kind_of(of, names),
        Node::Call(name, _) if name == "sqrt" => None,
        Node::Call(..) | Node::List(_) | Node::Binary(Binary::Plus | Binary::Minus, ..) => {
            let mut parts = expression.parts().into_iter();
            parts.find_map(|part| kind_of(part, names))
        }
        Node::Binary(Binary::Times, left, right) => {
            match (kind_of(left, names), kind_of(right, names)) {
                (Some(_), Some(_)) => None,
                (left, right) => left.or(right),
            }
        }
        Node::Binary(Binary::Over, left, right) => match (kind_of(right, names), &right.node) {
            (Some(_), _) | (_, Node::Quantity(_)) => None,
            _ => kind_of(left, names),
        },
        _ => None,
    }
}

/// The same expression with the full names of figures and numbers in their units.
///
/// # Errors
///
/// There is no such figure, a unit does not fit, or something has no place in an expectation.
pub(super) fn resolve(
    expression: &Expression,
    names: &Names,
    wanted: Option<Kind>,
) -> Result<Expression, SyntaxError> {
    let at = expression.at;
    let wrong = |why: String| Err(SyntaxError::new(at, why));
    let all = |parts: &[Expression], wanted| {
        let parts = parts.iter().map(|part| resolve(part, names, wanted));
        parts.collect::<Result<Vec<_>, _>>()
    };
    let node = match &expression.node {
        Node::Value(value) => match (value, wanted) {
            (Value::Text(text), Some(kind)) if kind != Kind::Word => {
                return wrong(format!(
                    "'{text}' does not fit: the figure is {}",
                    kind.words()
                ));
            }
            (Value::Number(_), Some(kind @ (Kind::Word | Kind::Flag))) => {
                return wrong(format!(
                    "a number does not fit: the figure is {}",
                    kind.words()
                ));
            }
            _ => Node::Value(value.clone()),
        },
        Node::Quantity(text) => Node::Value(Value::Number(quantity(text, at, wanted)?)),
        Node::Column(name) | Node::Name(name) => {
            let (full, kind) = names
                .find(name)
                .map_err(|why| SyntaxError::new(at, why.to_string()))?;
            if let Some(wanted) = wanted.filter(|wanted| !wanted.is_like(kind)) {
                let (one, other) = (kind.words(), wanted.words());
                return wrong(format!("{name} is {one}; what stands beside it is {other}"));
            }
            Node::Column(full)
        }
        Node::List(parts) => Node::List(all(parts, wanted)?),
        Node::Unary(operation, of) => {
            Node::Unary(*operation, Box::new(resolve(of, names, wanted)?))
        }
        Node::Call(name, parts) => {
            let known = FUNCTIONS.iter().find(|(known, _)| known == name);
            match known {
                None => {
                    let meant = closest(name, FUNCTIONS.iter().map(|(name, _)| *name));
                    let known = FUNCTIONS.map(|(name, _)| name).join(", ");
                    let meant =
                        meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
                    return wrong(format!(
                        "{name} is no function of expectations, which are {known}{meant}"
                    ));
                }
                Some((_, count)) if *count != parts.len() => {
                    return wrong(format!("{name} takes {count} values, not {}", parts.len()));
                }
                Some(("if", _)) => {
                    let mut parts = parts.iter();
                    let condition = parts.next().map(|part| resolve(part, names, None));
                    let rest = parts.map(|part| resolve(part, names, wanted));
                    Node::Call(
                        name.clone(),
                        condition
                            .into_iter()
                            .chain(rest)
                            .collect::<Result<_, _>>()?,
                    )
                }
                Some(("sqrt", _)) => Node::Call(name.clone(), all(parts, None)?),
                Some(_) => Node::Call(
                    name.clone(),
                    all(parts, wanted.or(kind_of(expression, names)))?,
                ),
            }
        }
        Node::Binary(operation, left, right) => {
            let beside = kind_of(left, names).or_else(|| kind_of(right, names));
            let is_order = matches!(
                operation,
                Binary::Less | Binary::AtMost | Binary::More | Binary::AtLeast | Binary::Within
            );
            if let Some(kind @ (Kind::Word | Kind::Flag)) = beside.filter(|_| is_order) {
                return wrong(format!(
                    "only == and != fit: the figure is {}",
                    kind.words()
                ));
            }
            let (of_left, of_right) = match operation {
                Binary::And | Binary::Or | Binary::Power => (None, None),
                Binary::Times => (
                    kind_of(left, names).or(wanted),
                    kind_of(right, names).or(wanted),
                ),
                Binary::Over => match (kind_of(left, names), kind_of(right, names)) {
                    (left, Some(right)) => (left.or(Some(right)), Some(right)),
                    (left, None) => (left.or(wanted), left),
                },
                Binary::Plus | Binary::Minus => (wanted.or(beside), wanted.or(beside)),
                _ => (beside, beside),
            };
            Node::Binary(
                *operation,
                Box::new(resolve(left, names, of_left)?),
                Box::new(match (operation, &right.node) {
                    (Binary::Within, Node::List(parts)) => Expression {
                        at: right.at,
                        // The first is the per cent.
                        node: Node::List(vec![
                            parts[0].clone(),
                            resolve(&parts[1], names, of_right)?,
                        ]),
                    },
                    _ => resolve(right, names, of_right)?,
                }),
            )
        }
        Node::Published(_)
        | Node::Measured(..)
        | Node::Each(..)
        | Node::Written(_)
        | Node::Select(..) => {
            return wrong("only experiment files have this, not expectations".to_owned());
        }
    };
    Ok(Expression { at, node })
}
