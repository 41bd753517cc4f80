//! From words to an expression: precedence climbing.

use super::lexer::{Token, tokens};
use super::tree::{Binary, Expression, Node, Template, Unary};
use super::value::Value;
use super::{DEEPEST, HIGHEST, SyntaxError};

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Result<Expression, SyntaxError> {
    Ok(nested(text, 0)?.0)
}

/// The same where numbers may have units, and `A within 5 % of B` compares.
pub(crate) fn parse_with_units(text: &str) -> Result<Expression, SyntaxError> {
    Ok(whole(text, 0, true)?.0)
}

/// Reads an expression that stands in others, so deep; and how high it is.
pub(super) fn nested(text: &str, depth: usize) -> Result<(Expression, usize), SyntaxError> {
    whole(text, depth, false)
}

fn whole(text: &str, depth: usize, units: bool) -> Result<(Expression, usize), SyntaxError> {
    let mut parser = Parser {
        tokens: tokens(text, units)?,
        units,
        next: 0,
        end: text.len(),
        depth,
        height: 0,
    };
    let expression = parser.expression(0)?;
    match parser.tokens.get(parser.next) {
        None => Ok((expression, parser.height)),
        Some((at, token)) => Err(SyntaxError::new(
            *at,
            format!("{} is too much", shown(token)),
        )),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    /// Numbers may have units.
    units: bool,
    next: usize,
    end: usize,
    depth: usize,
    /// Of what was read last: the expressions in expressions.
    height: usize,
}

/// How strongly `not` and the minus bind what follows.
const NOT: u8 = 3;
const MINUS: u8 = 7;

fn shown(token: &Token) -> String {
    match token {
        Token::Number(number) => number.to_string(),
        Token::Text(text) => format!("'{text}'"),
        Token::Quantity(text) => text.clone(),
        Token::Name(name) | Token::Dotted(name) => name.clone(),
        Token::Sign(sign) => (*sign).to_owned(),
    }
}

/// An operation between two values, and how strongly it binds.
fn binary(token: &Token, units: bool) -> Option<(Binary, u8)> {
    let found = match token {
        Token::Name(name) => match name.as_str() {
            "or" => (Binary::Or, 1),
            "and" => (Binary::And, 2),
            "in" => (Binary::In, 4),
            "within" if units => (Binary::Within, 4),
            _ => return None,
        },
        Token::Sign(sign) => match *sign {
            "==" => (Binary::Equal, 4),
            "!=" => (Binary::Unequal, 4),
            "<" => (Binary::Less, 4),
            "<=" => (Binary::AtMost, 4),
            ">" => (Binary::More, 4),
            ">=" => (Binary::AtLeast, 4),
            "+" => (Binary::Plus, 5),
            "-" => (Binary::Minus, 5),
            "*" => (Binary::Times, 6),
            "/" => (Binary::Over, 6),
            "^" => (Binary::Power, 8),
            _ => return None,
        },
        _ => return None,
    };
    Some(found)
}

impl Parser {
    fn here(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Result<(), SyntaxError> {
        if self.accept(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), shown);
        Err(SyntaxError::new(
            self.here(),
            format!("{sign} is missing; here is {found}"),
        ))
    }

    /// An expression of operations that bind at least so strongly.
    fn expression(&mut self, least: u8) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(SyntaxError::new(
                self.here(),
                format!("this is nested more than {DEEPEST} deep"),
            ));
        }
        let mut left = self.unary()?;
        let mut height = self.height;
        while let Some((operation, strength)) =
            self.peek().and_then(|token| binary(token, self.units))
        {
            if strength < least {
                break;
            }
            let at = self.here();
            self.next += 1;
            // To the right of a power stands a power or its minus.
            let right = match operation {
                Binary::Power => self.expression(strength)?,
                Binary::Within => self.nearness()?,
                _ => self.expression(strength + 1)?,
            };
            if strength == 4
                && matches!(&left.node, Node::Binary(before, ..) if is_comparison(*before))
            {
                return Err(SyntaxError::new(
                    at,
                    "comparisons have no order; write a < b and b < c",
                ));
            }
            // A long sum is high, though nothing in it is in brackets.
            height = height.max(self.height) + 1;
            self.bound(height, at)?;
            left = Expression {
                at: left.at,
                node: Node::Binary(operation, Box::new(left), Box::new(right)),
            };
        }
        self.depth -= 1;
        self.height = height;
        Ok(left)
    }

    /// Behind `within`: `5 % of B`, as a list of both.
    fn nearness(&mut self) -> Result<Expression, SyntaxError> {
        let (at, percent) = (self.here(), self.peek().cloned());
        self.next += 2;
        let of = self.tokens.get(self.next.wrapping_sub(1));
        let percent = match (percent, of) {
            (Some(Token::Quantity(percent)), Some((_, Token::Name(of)))) if of == "of" => percent,
            _ => return Err(SyntaxError::new(at, "write A within 5 % of B")),
        };
        let percent = percent
            .strip_suffix('%')
            .and_then(|number| number.parse().ok());
        let percent = percent.ok_or_else(|| SyntaxError::new(at, "write A within 5 % of B"))?;
        let of = self.expression(5)?;
        let percent = Expression::value(Value::Number(percent));
        Ok(Expression {
            at,
            node: Node::List(vec![percent, of]),
        })
    }

    fn bound(&self, height: usize, at: usize) -> Result<(), SyntaxError> {
        match height > HIGHEST {
            true => {
                let why = format!("this has more than {HIGHEST} operations in each other");
                Err(SyntaxError::new(at, why))
            }
            false => Ok(()),
        }
    }

    fn unary(&mut self) -> Result<Expression, SyntaxError> {
        let at = self.here();
        let (operation, strength) = match self.peek() {
            Some(Token::Sign("-")) => (Unary::Minus, MINUS),
            Some(Token::Name(name)) if name == "not" => (Unary::Not, NOT),
            _ => return self.postfix(),
        };
        self.next += 1;
        let of = Box::new(self.expression(strength)?);
        self.height += 1;
        Ok(Expression {
            at,
            node: Node::Unary(operation, of),
        })
    }

    /// A value, and the choice of other points behind it.
    fn postfix(&mut self) -> Result<Expression, SyntaxError> {
        let mut of = self.primary()?;
        let mut height = self.height;
        let may_select = matches!(
            of.node,
            Node::Name(_)
                | Node::Published(_)
                | Node::Column(_)
                | Node::Measured(..)
                | Node::Call(..)
                | Node::Each(..)
                | Node::Written(_)
        ) || matches!(
            self.tokens.get(self.next.wrapping_sub(1)),
            Some((_, Token::Sign(")")))
        );
        while may_select && self.accept("[") {
            let mut axes = Vec::new();
            loop {
                let at = self.here();
                let Some(Token::Name(axis)) = self.peek().cloned() else {
                    return Err(SyntaxError::new(at, "the name of an axis is missing"));
                };
                self.next += 1;
                if !self.accept("==") {
                    self.expect("=")?;
                }
                let value = match self.accept("*") {
                    true => None,
                    false => Some(self.expression(0)?),
                };
                height = height.max(self.height);
                axes.push((axis, value));
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("]")?;
            height += 1;
            self.bound(height, of.at)?;
            of = Expression {
                at: of.at,
                node: Node::Select(Box::new(of), axes),
            };
        }
        self.height = height;
        Ok(of)
    }

    fn primary(&mut self) -> Result<Expression, SyntaxError> {
        let at = self.here();
        let Some(token) = self.peek().cloned() else {
            return Err(SyntaxError::new(
                at,
                "the expression has no end: a value is missing",
            ));
        };
        self.next += 1;
        self.height = 0;
        let node = match token {
            Token::Number(number) => Node::Value(Value::Number(number)),
            Token::Quantity(text) => Node::Quantity(text),
            Token::Text(text) => Node::Value(Value::Text(text)),
            Token::Name(name) => self.name(name, at)?,
            Token::Dotted(name) => match name.split_once('.') {
                Some(("published", field)) => Node::Published(field.to_owned()),
                _ if self.accept("(") => Node::Measured(name, self.list(")")?),
                _ => Node::Column(name),
            },
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                inner.node
            }
            Token::Sign("[") => Node::List(self.list("]")?),
            Token::Sign(_) => {
                return Err(SyntaxError::new(
                    at,
                    format!("{} stands where a value should", shown(&token)),
                ));
            }
        };
        Ok(Expression { at, node })
    }

    fn name(&mut self, name: String, at: usize) -> Result<Node, SyntaxError> {
        Ok(match name.as_str() {
            "none" => Node::Value(Value::None),
            "true" => Node::Value(Value::Flag(true)),
            "false" => Node::Value(Value::Flag(false)),
            "and" | "or" | "in" => {
                return Err(SyntaxError::new(
                    at,
                    format!("{name} stands where a value should"),
                ));
            }
            "each" | "text" if self.accept("(") => {
                let depth = self.depth + 1;
                let arguments = self.list(")")?;
                let mut highest = self.height;
                let mut template = |text: &str, at: usize| {
                    let read = Template::nested(text, depth);
                    let (read, height) = read.map_err(|error| error.later(at + 1))?;
                    highest = highest.max(height + 1);
                    Ok::<_, SyntaxError>(read)
                };
                let text = |one: &Expression| match &one.node {
                    Node::Value(Value::Text(text)) => Some((text.clone(), one.at)),
                    _ => None,
                };
                let texts: Vec<_> = arguments.iter().map(text).collect();
                let node = match (name.as_str(), texts.as_slice()) {
                    ("text", [Some((pattern, at))]) => Node::Written(template(pattern, *at)?),
                    ("text", _) => Node::Call(name, arguments),
                    (_, [Some((between, _)), Some((pattern, at)), rest @ ..]) if rest.len() < 2 => {
                        let pattern = template(pattern, *at)?;
                        Node::Each(
                            between.clone(),
                            pattern,
                            arguments.into_iter().nth(2).map(Box::new),
                        )
                    }
                    _ => {
                        let why = "each has two texts, what stands between and a template, and perhaps a condition";
                        return Err(SyntaxError::new(at, why));
                    }
                };
                self.height = highest;
                node
            }
            _ if self.accept("(") => Node::Call(name, self.list(")")?),
            _ => Node::Name(name),
        })
    }

    /// Expressions with commas between, until `end`.
    fn list(&mut self, end: &str) -> Result<Vec<Expression>, SyntaxError> {
        let (mut all, mut highest) = (Vec::new(), 0);
        if self.accept(end) {
            return Ok(all);
        }
        loop {
            all.push(self.expression(0)?);
            highest = highest.max(self.height);
            self.height = highest + 1;
            if self.accept(end) {
                return Ok(all);
            }
            if !self.accept(",") {
                self.expect(end)?;
            }
        }
    }
}

fn is_comparison(operation: Binary) -> bool {
    matches!(
        operation,
        Binary::Equal
            | Binary::Unequal
            | Binary::Less
            | Binary::AtMost
            | Binary::More
            | Binary::AtLeast
            | Binary::In
            | Binary::Within
    )
}
