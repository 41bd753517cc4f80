//! Expectations: what the results of a scenario, of each queue or of a program behind a link have to be.
//!
//! An expectation is a statement of an experiment file without the file: the same expressions over the same columns, beside numbers with
//! units. It is read, checked against the figures that the runs will have ([`Names`]), and judged when there are results.

mod judge;
mod names;
mod place;
mod units;

use std::fmt;

use quell_lab::scenario::expect::{LEVELS, OVER};
use quell_lab::scenario::{Expect, Scenario, closest};

use crate::expression::{Binary, Expression, Node, Unary, parse_with_units};
pub use judge::Judged;
pub use names::Names;

/// What stands between a condition and the scenarios that it is about.
const WHERE: &str = " where ";

/// A condition, read but not yet checked against a scenario.
#[derive(Debug, Clone)]
pub struct Expectation {
    text: String,
    over: Over,
    why: String,
    is_error: bool,
    expression: Expression,
    /// The scenarios that it is about; without, all.
    place: Option<Expression>,
}

/// For which results of several seeds a condition has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Each,
    Worst,
    Mean,
    Median,
}

/// An expectation whose figures the results will have.
#[derive(Debug, Clone)]
pub struct Fitted {
    of: Expectation,
    /// With the full names of figures, and numbers in their units.
    resolved: Expression,
    names: Vec<Figure>,
    /// Of the left side of a comparison.
    kind: names::Kind,
}

/// A figure of an expectation.
#[derive(Debug, Clone)]
struct Figure {
    name: String,
    kind: names::Kind,
    /// It must have a value: no `default` stands around it.
    is_needed: bool,
}

impl Figure {
    fn column(&self) -> Expression {
        column(&self.name)
    }
}

fn column(name: &str) -> Expression {
    let node = Node::Column(name.to_owned());
    Expression { at: 0, node }
}

impl Over {
    fn of(word: &str) -> Option<Self> {
        let all = [Self::Each, Self::Worst, Self::Mean, Self::Median];
        let place = OVER.iter().position(|one| *one == word)?;
        all.get(place).copied()
    }
}

/// Why an expectation cannot be judged.
#[derive(Debug)]
pub enum ExpectationError {
    /// It is no expression, or names no figure: what, and where in it.
    Wrong(String),
    /// No way to join the figures of seeds.
    Over(String),
    /// It is true or false of nothing.
    NoComparison,
    /// It compares numbers alone.
    NoFigure,
}

impl std::error::Error for ExpectationError {}

impl fmt::Display for ExpectationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(why) => f.write_str(why),
            Self::Over(word) => {
                let meant = closest(word, OVER.iter().copied());
                let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
                write!(f, "over {word}: must be one of {}{meant}", OVER.join(", "))
            }
            Self::NoComparison => {
                f.write_str("compares nothing: write FIGURE < VALUE, or FIGURE within 5 % of VALUE")
            }
            Self::NoFigure => f.write_str("has no figure of the results"),
        }
    }
}

impl Expectation {
    /// Reads one of an option: a condition, perhaps with ` where link.rate == 10mbit` and ` over mean` behind it.
    ///
    /// # Errors
    ///
    /// It is no condition: why, with the place.
    pub fn read(text: &str) -> Result<Self, ExpectationError> {
        let (condition, over) = match text.rsplit_once(" over ") {
            Some((condition, word)) => (condition, word.trim()),
            None => (text, OVER[0]),
        };
        let over = Over::of(over).ok_or_else(|| ExpectationError::Over(over.to_owned()))?;
        Self::new(condition, over, "", true)
    }

    /// The expectation of a scenario.
    ///
    /// # Errors
    ///
    /// It is no condition: why, with the place.
    pub fn of(expect: &Expect) -> Result<Self, ExpectationError> {
        let over = Over::of(expect.over).unwrap_or(Over::Each);
        let is_error = expect.level == LEVELS[0];
        let text = match expect.place.as_str() {
            "" => expect.that.clone(),
            place => format!("{}{WHERE}{place}", expect.that),
        };
        Self::new(&text, over, &expect.why, is_error)
    }

    fn new(text: &str, over: Over, why: &str, is_error: bool) -> Result<Self, ExpectationError> {
        let (text, place) = match text.split_once(WHERE) {
            Some((text, place)) => (text, Some(place)),
            None => (text, None),
        };
        let place = place.map(|text| match parse_with_units(text) {
            Ok(read) if is_condition(&read) => Ok(read),
            Ok(_) => Err(ExpectationError::NoComparison),
            Err(error) => Err(ExpectationError::Wrong(format!(
                "where: {}",
                error.show(text)
            ))),
        });
        let expression = parse_with_units(text);
        let expression = expression.map_err(|error| ExpectationError::Wrong(error.show(text)))?;
        if !is_condition(&expression) {
            return Err(ExpectationError::NoComparison);
        }
        Ok(Self {
            text: text.trim().to_owned(),
            over,
            why: why.to_owned(),
            is_error,
            expression,
            place: place.transpose()?,
        })
    }

    /// Whether it is about the runs of a scenario: it is about all unless it says `where`.
    ///
    /// # Errors
    ///
    /// It is not: which values the scenario has instead.
    pub fn is_about(&self, scenario: &Scenario) -> Result<(), ExpectationError> {
        let place = self.place.as_ref();
        place.map_or(Ok(()), |place| place::is_met_by(place, scenario))
    }

    /// The same for runs whose results have these figures.
    ///
    /// # Errors
    ///
    /// There is no such figure, or a unit does not fit: why, with the place.
    pub fn fit(&self, names: &Names) -> Result<Fitted, ExpectationError> {
        let resolved = units::resolve(&self.expression, names, None);
        let resolved = resolved.map_err(|error| ExpectationError::Wrong(error.show(&self.text)))?;
        let mut figures: Vec<Figure> = Vec::new();
        let mut inner = vec![(&resolved, true)];
        while let Some((one, is_needed)) = inner.pop() {
            match &one.node {
                Node::Column(name) if figures.iter().all(|known| known.name != *name) => {
                    let kind = names.kind(name).unwrap_or(names::Kind::Count);
                    let name = name.clone();
                    figures.push(Figure {
                        name,
                        kind,
                        is_needed,
                    });
                }
                Node::Call(name, parts) if name == "default" => {
                    inner.extend(parts.iter().rev().map(|part| (part, false)));
                }
                _ => inner.extend(one.parts().into_iter().rev().map(|part| (part, is_needed))),
            }
        }
        if figures.is_empty() {
            return Err(ExpectationError::NoFigure);
        }
        // As written: in what is resolved, a number no longer says its unit.
        let left = comparison(&self.expression.node).map(|(_, left, _)| left);
        let kind = left.and_then(|left| units::kind_of(left, names));
        Ok(Fitted {
            of: self.clone(),
            kind: kind.unwrap_or(names::Kind::Count),
            resolved,
            names: figures,
        })
    }
}

/// Whether an expression is a comparison, or several joined.
fn is_condition(expression: &Expression) -> bool {
    match &expression.node {
        Node::Binary(Binary::And | Binary::Or, left, right) => {
            is_condition(left) && is_condition(right)
        }
        Node::Unary(Unary::Not, of) => is_condition(of),
        node => comparison(node).is_some(),
    }
}

/// The two sides of a comparison.
fn comparison(node: &Node) -> Option<(Binary, &Expression, &Expression)> {
    match node {
        Node::Binary(
            operation @ (Binary::Less
            | Binary::AtMost
            | Binary::More
            | Binary::AtLeast
            | Binary::Equal
            | Binary::Unequal
            | Binary::In
            | Binary::Within),
            left,
            right,
        ) => Some((*operation, left, right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
