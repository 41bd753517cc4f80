//! The checks of an experiment file.

use super::Engine;
use super::case::{Case, Fault, Frame, Mode};
use crate::expression::{Expression, Node, Piece, Template, Value};
use crate::file::{Bound, Check, Form, Statement};
use crate::ruling::Verdict;
use crate::statement::Checks;

/// Bytes of two numbers in what is said of a check, at most.
const LONGEST_NUMBERS: usize = 700;

/// Whether a check decides the verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Decides,
    Guards,
}

impl Engine<'_> {
    /// Makes the checks of a statement.
    pub(super) fn judge(&self, statement: &Statement, checks: &mut Checks) -> Result<(), Fault> {
        let wide = Frame::at(Case::free(self.axes.len()));
        let of_statement = wide.only(statement.filter.as_ref());
        for (list, role) in [
            (&statement.checks, Role::Decides),
            (&statement.guards, Role::Guards),
        ] {
            // Checks over the same axes stand side by side at each point.
            let mut rest = list.as_slice();
            while let Some(first) = rest.first() {
                let alike = rest.iter().take_while(|one| one.each == first.each).count();
                let (these, others) = rest.split_at(alike);
                for case in self.cases(&first.each, &of_statement, false)? {
                    for check in these {
                        self.check_at(check, role, &of_statement.moved(case.clone()), checks)?;
                    }
                }
                rest = others;
            }
        }
        if let Some(shown) = &statement.shown {
            checks.ours(self.render(shown, &of_statement)?);
        }
        Ok(())
    }

    /// What became of a clause, from the results that are there; with what came out in words.
    pub(crate) fn ruled(&self, statement: &Statement) -> Result<(Verdict, String), Fault> {
        let Some(clause) = &statement.clause else {
            return Ok((Verdict::Note, String::new()));
        };
        let wide = Frame::at(Case::free(self.axes.len()));
        // What is known without results decides, whatever the others would say.
        let first = |reasons: &[(String, Expression)]| {
            let mut unknown = None;
            for (why, condition) in reasons {
                match self.value(condition, &wide) {
                    Ok(value) if value.holds() => return Ok(Some(why.clone())),
                    Ok(_) => {}
                    Err(fault) => unknown = Some(fault),
                }
            }
            unknown.map_or(Ok(None), Err)
        };
        if let Some(why) = first(&clause.not_applicable)? {
            return Ok((Verdict::NotApplicable(why), String::new()));
        }
        let open = first(&clause.open)?;
        let mut checks = Checks::default();
        let judged = self.judge(statement, &mut checks);
        let shown = checks.shown();
        if let Some(why) = open {
            return Ok((Verdict::Open(why), shown));
        }
        judged?;
        let may_fail = match &clause.fails {
            Some(condition) => self.value(condition, &wide)?.holds(),
            None => true,
        };
        let verdict = match (clause.is_note, checks.misses.is_empty(), may_fail) {
            (true, ..) => Verdict::Note,
            _ if checks.made == 0 => Verdict::Open("nothing was measured".to_owned()),
            (_, true, _) => Verdict::Pass,
            (_, false, true) => Verdict::Fail,
            (_, false, false) => Verdict::Open("between the bounds of pass and fail".to_owned()),
        };
        Ok((verdict, shown))
    }

    /// Whether a clause does not apply, or is open, whatever comes out.
    pub(crate) fn is_decided(&self, statement: &Statement) -> bool {
        let clause = statement.clause.iter();
        let mut reasons = clause.flat_map(|one| one.not_applicable.iter().chain(&one.open));
        let wide = Frame::at(Case::free(self.axes.len()));
        reasons.any(|(_, condition)| {
            self.is_given(condition)
                && self
                    .value(condition, &wide)
                    .is_ok_and(|value| value.holds())
        })
    }

    /// Whether an expression is made of nothing but names that the file says.
    fn is_given(&self, expression: &Expression) -> bool {
        match &expression.node {
            Node::Name(name) => {
                let of = self.definition.lets.get(name);
                of.is_some_and(|of| self.is_given(of))
            }
            Node::Column(_) | Node::Measured(..) | Node::Select(..) | Node::Each(..) => false,
            _ => expression
                .parts()
                .into_iter()
                .all(|part| self.is_given(part)),
        }
    }

    fn check_at(
        &self,
        check: &Check,
        role: Role,
        frame: &Frame<'_>,
        checks: &mut Checks,
    ) -> Result<(), Fault> {
        self.spend(
            0,
            1 + check.except.len() + check.only.as_ref().map_or(0, Vec::len),
        )?;
        if !self.exists(check.filter.as_ref(), frame)? || !self.is_labelled(check, &frame.case) {
            return Ok(());
        }
        let figure = check.figure.map(|place| &self.definition.figures[place]);
        if let Some(figure) = figure
            && !self.exists(figure.filter.as_ref(), frame)?
        {
            return Ok(());
        }
        if !check.is_of_runs {
            return self.make(check, role, frame, checks);
        }
        for (run, seed) in self.seeds_of(&frame.case).into_iter().enumerate() {
            let named = [("seed", Value::Number(seed as f64))];
            let frame = Frame {
                named: &named,
                ..frame.of(Mode::Run(run))
            };
            self.make(check, role, &frame, checks)?;
        }
        Ok(())
    }

    /// Whether the label of the first axis is one of those that the check is for.
    fn is_labelled(&self, check: &Check, case: &Case) -> bool {
        let first = case.fixed.first().copied().flatten();
        let label = first
            .map(|value| self.labels[0][value as usize].plain())
            .unwrap_or_default();
        check.only.as_ref().is_none_or(|only| only.contains(&label))
            && !check.except.contains(&label)
    }

    fn make(
        &self,
        check: &Check,
        role: Role,
        frame: &Frame<'_>,
        checks: &mut Checks,
    ) -> Result<(), Fault> {
        let value = check
            .value
            .as_ref()
            .map_or(Ok(Value::None), |value| self.value(value, frame))?;
        let label = match &check.label {
            Some(label) => self.render(label, &frame.only(None))?,
            None => String::new(),
        };
        let mut named = frame.named.to_vec();
        named.extend([("value", value.clone()), ("label", Value::Text(label))]);
        let frame = Frame {
            named: &named,
            ..frame.clone()
        };
        let what = self.what(check, &frame)?;
        // With numbers in it.
        self.wrote(2 * what.len() + LONGEST_NUMBERS)?;
        let number = |expression: &Expression| Ok(self.value(expression, &frame)?.number());
        match &check.form {
            Form::Holds(condition) => {
                let holds = self.value(condition, &frame)?.holds();
                tell(checks, role, holds, what);
            }
            Form::Beside(beside) => {
                if let Some(one) = self.difference(check, beside, &frame.case)? {
                    tell(checks, role, one.holds(), format!("{what}: {one}"));
                }
            }
            Form::Within { percent, of, or } => {
                let Some(of) = number(of)? else {
                    return Ok(());
                };
                let Some(value) = value.number() else {
                    tell(checks, role, false, format!("{what}: nothing was measured"));
                    return Ok(());
                };
                let or = or.as_ref().map_or(Ok(None), number)?;
                if or.is_some_and(|or| (value - of).abs() <= or) {
                    tell(checks, role, true, what);
                    return Ok(());
                }
                let percent =
                    number(percent)?.ok_or_else(|| Fault::new(0, "the band is no number"))?;
                match role {
                    Role::Decides => checks.within(what.clone(), value, of, percent),
                    Role::Guards => checks.guard_within(what.clone(), value, of, percent),
                }
                if let Some(guard) = check.guard {
                    checks.guard_within(what, value, of, guard);
                }
            }
            Form::Bounds(bounds) => {
                let Some(value) = value.number() else {
                    tell(checks, role, false, format!("{what}: nothing was measured"));
                    return Ok(());
                };
                let mut holds = true;
                for (bound, expression) in bounds {
                    let bound_at = number(expression)?;
                    holds &= bound_at.is_some_and(|at| bound.holds(value, at));
                }
                tell(checks, role, holds, what);
            }
        }
        Ok(())
    }

    /// What a check is about: its own text, or that of the file, or the label.
    fn what(&self, check: &Check, frame: &Frame<'_>) -> Result<String, Fault> {
        let frame = frame.only(None);
        match &check.what {
            Some(what) => self.render(what, &frame),
            None if !self.definition.what.0.is_empty() => {
                self.render(&self.definition.what, &frame)
            }
            None => self.render(
                &Template(vec![Piece::Value {
                    of: Expression::value(Value::None),
                    form: String::new(),
                    fallback: frame
                        .named
                        .last()
                        .map_or(String::new(), |(_, label)| label.plain()),
                }]),
                &frame,
            ),
        }
    }
}

fn tell(checks: &mut Checks, role: Role, holds: bool, what: String) {
    match role {
        Role::Decides => checks.unless(holds, what),
        Role::Guards => checks.guard(holds, what),
    }
}

impl Bound {
    fn holds(self, value: f64, at: f64) -> bool {
        match self {
            Self::Is => value == at,
            Self::Above => value > at,
            Self::Below => value < at,
            Self::AtLeast => value >= at,
            Self::AtMost => value <= at,
        }
    }
}
