//! Templates with their values.

use super::case::{Fault, Frame};
use super::{Engine, Meaning};
use crate::expression::{Expression, Node, Piece, Template, Value};

impl Engine<'_> {
    /// The text of a template; tables are left out.
    pub(super) fn render(&self, template: &Template, frame: &Frame<'_>) -> Result<String, Fault> {
        self.render_with(template, frame, &|_| String::new())
    }

    /// The text of a template, with tables by their names.
    pub(super) fn render_with(
        &self,
        template: &Template,
        frame: &Frame<'_>,
        table: &dyn Fn(&str) -> String,
    ) -> Result<String, Fault> {
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(plain) => self.append(&mut text, plain)?,
                Piece::Table(name) => self.append(&mut text, &table(name))?,
                Piece::Value { of, form, fallback } => match self.shown(of, form, frame)? {
                    Some(shown) => self.append(&mut text, &shown)?,
                    None => self.append(&mut text, fallback)?,
                },
            }
        }
        self.wrote(text.len())?;
        Ok(text)
    }

    /// The text of a template, unless a value in it is none.
    pub(super) fn written(
        &self,
        template: &Template,
        frame: &Frame<'_>,
    ) -> Result<Option<String>, Fault> {
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(plain) => self.append(&mut text, plain)?,
                Piece::Table(_) => {}
                Piece::Value { of, form, .. } => match self.shown(of, form, frame)? {
                    Some(shown) => self.append(&mut text, &shown)?,
                    None => return Ok(None),
                },
            }
        }
        self.wrote(text.len())?;
        Ok(Some(text))
    }

    /// A value in its form; `None` where there is none.
    fn shown(
        &self,
        of: &Expression,
        form: &str,
        frame: &Frame<'_>,
    ) -> Result<Option<String>, Fault> {
        if form.starts_with('±') {
            let numbers = self.spread(of, frame)?;
            return Ok(match numbers.is_empty() {
                true => None,
                false => numbers.into_iter().collect::<Value>().formed(form),
            });
        }
        let value = self.value(of, frame)?;
        if value == Value::None {
            return Ok(None);
        }
        self.may_show(&value, of.at)?;
        if !form.is_empty() {
            return Ok(value.formed(form));
        }
        let mut name = of;
        while let Node::Select(inner, _) = &name.node {
            name = inner;
        }
        let figure = match &name.node {
            Node::Name(name) => match self.definition.names.meaning(name) {
                Some(Meaning::Figure(place)) => Some(place),
                _ => None,
            },
            _ => None,
        };
        Ok(match (figure, name.is_name()) {
            (Some(place), _) => {
                let form = self.definition.figures[place]
                    .show
                    .as_deref()
                    .unwrap_or_default();
                if form.starts_with('±') {
                    return self.shown(of, form, frame);
                }
                value.formed(form)
            }
            (None, true) => Some(value.plain()),
            (None, false) => Some(value.digits()),
        })
    }
}
