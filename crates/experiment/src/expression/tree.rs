//! What an expression is made of.

use super::value::Value;

/// An expression, and where it begins in its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) at: usize,
    pub(crate) node: Node,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A number, a text, `none`, `true`, `false`.
    Value(Value),
    /// A number with its unit, of an expectation.
    Quantity(String),
    /// `[a, b]`
    List(Vec<Expression>),
    /// A figure, a name of `[let]`, a field or an axis.
    Name(String),
    /// `published.NAME`: the field with this name.
    Published(String),
    /// A column of the results, such as `queue.l4s.delay_ms.p99`.
    Column(String),
    /// A function of a measurement, such as `path.goodput(0, 3, 60)`.
    Measured(String, Vec<Expression>),
    /// A function.
    Call(String, Vec<Expression>),
    /// `each('; ', 'template', condition)`
    Each(String, Template, Option<Box<Expression>>),
    /// `text('template')`: nothing where a value in it is nothing.
    Written(Template),
    /// `X[axis = value, other = *]`
    Select(Box<Expression>, Vec<(String, Option<Expression>)>),
    /// An operation on one value.
    Unary(Unary, Box<Expression>),
    /// An operation on two values.
    Binary(Binary, Box<Expression>, Box<Expression>),
}

/// An operation on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Not,
}

/// An operation on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    /// Beside a list: within so many percent of a value.
    Within,
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Expression {
    /// A value that stands nowhere.
    pub(crate) fn value(value: Value) -> Self {
        Self {
            at: 0,
            node: Node::Value(value),
        }
    }

    /// Both of two conditions.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            at: self.at,
            node: Node::Binary(Binary::And, Box::new(self), Box::new(other)),
        }
    }

    /// Whether it is only the name of something, which is shown as it was written.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.node, Node::Name(_) | Node::Published(_))
    }

    /// About how much memory it takes, in numbers.
    pub(crate) fn weight(&self) -> usize {
        let (mut inner, mut weight) = (vec![self], 0);
        while let Some(one) = inner.pop() {
            weight += 4;
            if let Node::Value(Value::Text(text)) = &one.node {
                weight += text.len() / 16;
            }
            inner.extend(one.parts());
        }
        weight
    }

    /// The expressions directly inside of this one.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match &self.node {
            Node::Value(_)
            | Node::Quantity(_)
            | Node::Name(_)
            | Node::Published(_)
            | Node::Column(_) => Vec::new(),
            Node::List(all) | Node::Measured(_, all) | Node::Call(_, all) => all.iter().collect(),
            Node::Each(_, template, filter) => {
                template.expressions().chain(filter.as_deref()).collect()
            }
            Node::Written(template) => template.expressions().collect(),
            Node::Select(of, axes) => {
                let values = axes.iter().filter_map(|(_, value)| value.as_ref());
                std::iter::once(&**of).chain(values).collect()
            }
            Node::Unary(_, one) => vec![one],
            Node::Binary(_, left, right) => vec![left, right],
        }
    }
}

/// A text with expressions.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

/// A part of such a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// As it is.
    Text(String),
    /// A value, with the form of its numbers, and what is written where there is none.
    Value {
        of: Expression,
        form: String,
        fallback: String,
    },
    /// `{table.NAME}`
    Table(String),
}
