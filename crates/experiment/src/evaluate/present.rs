//! The tables, pictures and the page of an experiment file.

use quell_lab::results::present::Table as Written;

use super::Engine;
use super::case::{Case, Fault, Frame};
use crate::deviation::Deviations;
use crate::expression::{Expression, Template, Value};
use crate::figure::Figure as Drawn;
use crate::file::{Column, Curve, Pair, Picture, PictureKind, Table, TableKind};
use crate::found::Found;
use crate::reference::report::{ANEW, anew};
use crate::statement::Checks;

/// Characters of a table on the page at most.
const WIDEST_TABLE: usize = 16 << 20;

/// The numbers of a curve.
type Points = Vec<(f64, f64)>;

impl Engine<'_> {
    /// Judges every statement, and writes tables, pictures and text.
    pub(crate) fn find(&self) -> Found {
        let mut out = Found::default();
        for statement in &self.definition.statements {
            let mut checks = Checks::default();
            let judged = self.judge(statement, &mut checks);
            out.checks.push(checks);
            if let Err(fault) = judged {
                out.fault(&format!("statement.{}", statement.id), &fault.why);
            }
        }
        match self.compared() {
            Ok(compared) => {
                if self.definition.reference.is_some() {
                    out.tables.push((ANEW.to_owned(), anew(&compared)));
                }
                out.compared = compared;
            }
            Err(fault) => out.fault("reference", &fault.why),
        }
        for (name, table) in &self.definition.files {
            match self.table(table) {
                Ok(table) => out.tables.push((name.clone(), table)),
                Err(fault) => out.fault(&format!("csv.{name}"), &fault.why),
            }
        }
        for (number, picture) in self.definition.pictures.iter().enumerate() {
            match self.picture(picture) {
                Ok(all) => out.figures.extend(all),
                Err(fault) => out.fault(&format!("picture.{}", number + 1), &fault.why),
            }
        }
        let mut faults = Vec::new();
        let mut tables: Vec<(&str, String)> = Vec::new();
        for (name, table) in &self.definition.tables {
            match self.table(table) {
                Ok(table) if table.width().saturating_mul(table.height()) > WIDEST_TABLE => {
                    faults.push((format!("table.{name}"), "is too large".to_owned()));
                }
                Ok(table) => tables.push((name, table.to_markdown().trim_end().to_owned())),
                Err(fault) => faults.push((format!("table.{name}"), fault.why)),
            }
        }
        let wide = Frame::at(Case::free(self.axes.len()));
        let text = self.render_with(&self.definition.page, &wide, &|name| {
            let found = tables.iter().find(|(known, _)| *known == name);
            found.map_or(String::new(), |(_, table)| table.clone())
        });
        match text {
            Ok(text) => out.text = text,
            Err(fault) => faults.push(("page".to_owned(), fault.why)),
        }
        for (key, why) in faults {
            out.fault(&key, &why);
        }
        for (column, why) in self.unknown_columns() {
            out.fault(&column, &why);
        }
        out
    }

    fn table(&self, table: &Table) -> Result<Written, Fault> {
        let wide = Frame::at(Case::free(self.axes.len())).only(table.filter.as_ref());
        match &table.kind {
            TableKind::Same(name) => match self
                .definition
                .tables
                .iter()
                .find(|(known, _)| known == name)
            {
                Some((
                    _,
                    Table {
                        kind: TableKind::Same(_),
                        ..
                    },
                ))
                | None => Err(Fault::new(0, format!("there is no table {name}"))),
                Some((_, other)) => self.table(other),
            },
            TableKind::Cells {
                columns,
                lines,
                foot,
            } => {
                let mut heads = Vec::new();
                for column in columns {
                    for frame in self.of_column(column, &wide)? {
                        heads.push(self.render(&column.head, &frame.only(None))?);
                    }
                }
                let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
                let mut written = Written::of_words(&heads);
                for case in self.cases(&table.rows, &wide, true)? {
                    // With what is restricted, inside of a row too.
                    self.write_lines(&mut written, columns, lines, &wide.moved(case))?;
                }
                self.write_lines(&mut written, columns, foot, &wide)?;
                Ok(written)
            }
            TableKind::Deviations {
                within,
                figures,
                place,
                show,
            } => {
                let mut deviations = Deviations::default();
                for case in self.cases(&table.rows, &wide, false)? {
                    let frame = wide.moved(case);
                    let place = self.render(place, &frame.only(None))?;
                    for &at in figures {
                        let figure = &self.definition.figures[at];
                        let name = self.render(&figure.label, &frame.only(None))?;
                        let of =
                            |expression: &Expression| Ok(self.value(expression, &frame)?.number());
                        let ours = of(&name_of(&figure.name))?;
                        let published = match self.definition.names.field(&figure.name) {
                            Some(_) => of(&published_of(&figure.name))?,
                            None => figure.published.as_ref().map_or(Ok(None), of)?,
                        };
                        if let (Some(published), Some(ours)) = (published, ours) {
                            deviations.add(&name, &place, published, ours);
                        }
                    }
                }
                let shown = |value: f64| match show {
                    None => Value::Number(value).digits(),
                    Some(template) => {
                        let named = [("value", Value::Number(value))];
                        let frame = Frame {
                            named: &named,
                            ..wide.clone()
                        };
                        self.render(template, &frame).unwrap_or_default()
                    }
                };
                Ok(deviations.table(*within, &shown))
            }
        }
    }

    /// A frame for each column that one makes.
    fn of_column<'f>(&self, column: &Column, frame: &Frame<'f>) -> Result<Vec<Frame<'f>>, Fault> {
        let Some(axis) = column.each else {
            return Ok(vec![frame.clone()]);
        };
        // Those that any row can have.
        let wide = frame.moved(Case::free(self.axes.len()));
        let values = self.cases(&[axis], &wide, false)?;
        let values = values.iter().filter_map(|case| case.at(axis));
        Ok(values
            .map(|value| frame.moved(frame.case.with(axis, value)))
            .collect())
    }

    fn write_lines(
        &self,
        written: &mut Written,
        columns: &[Column],
        lines: &[Vec<Template>],
        frame: &Frame<'_>,
    ) -> Result<(), Fault> {
        for line in lines {
            let mut cells = Vec::new();
            for (column, cell) in columns.iter().zip(line) {
                for frame in self.of_column(column, frame)? {
                    cells.push(self.render(cell, &frame)?);
                }
            }
            written.row(cells);
        }
        Ok(())
    }

    fn picture(&self, picture: &Picture) -> Result<Vec<Drawn>, Fault> {
        let wide = Frame::at(Case::free(self.axes.len()));
        let mut all = Vec::new();
        for case in self.cases(&picture.each, &wide, false)? {
            let frame = wide.moved(case);
            let title = self.render(&picture.title, &frame)?;
            all.push(match &picture.kind {
                PictureKind::Pairs { axis, pairs } => {
                    let mut drawn = Drawn::pairs(&title, axis);
                    let (alone, together): (Vec<&Pair>, Vec<&Pair>) =
                        pairs.iter().partition(|pair| pair.rows.is_some());
                    for case in self.cases(&picture.rows, &frame, false)? {
                        for pair in &together {
                            drawn = self.pair(drawn, pair, &frame.moved(case.clone()))?;
                        }
                    }
                    for pair in alone {
                        for case in
                            self.cases(pair.rows.as_deref().unwrap_or_default(), &frame, false)?
                        {
                            drawn = self.pair(drawn, pair, &frame.moved(case))?;
                        }
                    }
                    drawn
                }
                PictureKind::Curves {
                    axes: [x, y],
                    curves,
                } => {
                    let mut drawn = Drawn::curves(&title, x, y);
                    for case in self.cases(&picture.rows, &frame, false)? {
                        let frame = frame.moved(case);
                        for curve in curves {
                            for case in self.cases(&curve.each, &frame, false)? {
                                drawn = self.curve(drawn, curve, &frame.moved(case))?;
                            }
                        }
                    }
                    drawn
                }
            });
        }
        Ok(all)
    }

    fn pair(&self, drawn: Drawn, pair: &Pair, frame: &Frame<'_>) -> Result<Drawn, Fault> {
        if !self.exists(pair.filter.as_ref(), frame)? {
            return Ok(drawn);
        }
        let Some(ours) = self.drawn(&pair.ours, frame)? else {
            return Ok(drawn);
        };
        let published = match &pair.published {
            Some(published) => self.drawn(published, frame)?,
            None => None,
        };
        Ok(drawn.pair(&self.render(&pair.label, frame)?, published, ours))
    }

    /// A number that has a place on an axis.
    fn drawn(&self, of: &Expression, frame: &Frame<'_>) -> Result<Option<f64>, Fault> {
        let number = self.value(of, frame)?.number();
        Ok(number.filter(|number| number.is_finite()))
    }

    fn curve(&self, drawn: Drawn, curve: &Curve, frame: &Frame<'_>) -> Result<Drawn, Fault> {
        let points = match curve.over {
            Some(axis) if frame.case.at(axis).is_none() => self.points_over(axis, curve, frame)?,
            _ => self.points_of_lists(curve, frame)?,
        };
        let name = self.render(&curve.name, frame)?;
        Ok(match curve.is_published {
            _ if points.is_empty() => drawn,
            true => drawn.published(&name, points),
            false => drawn.ours(&name, points),
        })
    }

    fn points_over(&self, axis: usize, curve: &Curve, frame: &Frame<'_>) -> Result<Points, Fault> {
        let mut points = Vec::new();
        for case in self.cases(&[axis], &frame.only(curve.filter.as_ref()), false)? {
            let value = case.at(axis).unwrap_or_default();
            let frame = frame.moved(case);
            let y = self.drawn(&curve.y, &frame)?;
            let x = match &curve.x {
                Some(x) => self.drawn(x, &frame)?,
                None => {
                    let label = &self.labels[axis][value];
                    label.number().or_else(|| label.plain().parse().ok())
                }
            };
            points.extend(x.zip(y));
        }
        Ok(points)
    }

    fn points_of_lists(&self, curve: &Curve, frame: &Frame<'_>) -> Result<Points, Fault> {
        if !self.exists(curve.filter.as_ref(), frame)? {
            return Ok(Vec::new());
        }
        let list = |value: Value| match value {
            Value::List(values) => values,
            Value::None => Vec::new(),
            value => vec![value],
        };
        let ys = list(self.value(&curve.y, frame)?);
        let xs = match &curve.x {
            Some(x) => list(self.value(x, frame)?),
            None => (0..ys.len())
                .map(|place| Value::Number(place as f64))
                .collect(),
        };
        let both = xs.iter().zip(&ys);
        Ok(both
            .filter_map(|(x, y)| Some((x.number()?, y.number()?)))
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect())
    }
}

fn name_of(name: &str) -> Expression {
    Expression {
        at: 0,
        node: crate::expression::Node::Name(name.to_owned()),
    }
}

fn published_of(name: &str) -> Expression {
    Expression {
        at: 0,
        node: crate::expression::Node::Published(name.to_owned()),
    }
}
