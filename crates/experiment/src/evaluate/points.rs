//! The points of an experiment: which there are, which a condition leaves, which a selection chooses.

use super::Engine;
use super::case::{Case, Fault, Frame, Key, told};
use super::column;
use crate::expression::{Expression, Value};
use crate::file::{AxisKind, MOST_POINTS, Parts};

impl Engine<'_> {
    /// The case that a selection makes; `None` where there is no such point.
    pub(super) fn selected(
        &self,
        axes: &[(String, Option<Expression>)],
        frame: &Frame<'_>,
    ) -> Result<Option<Case>, Fault> {
        let mut case = frame.case.clone();
        for (name, value) in axes {
            let Some(axis) = self.definition.names.axis(name) else {
                continue;
            };
            let Some(expression) = value else {
                case.fixed[axis] = None;
                case.is_freed = true;
                continue;
            };
            let value = self.value(expression, frame)?;
            if value == Value::None {
                return Ok(None);
            }
            self.spend(expression.at, self.labels[axis].len() / 4)?;
            let place = self.labels[axis].iter().position(|label| label.is(&value));
            let Some(place) = place else {
                let at = expression.at;
                return match self.axes[axis].kind {
                    AxisKind::Parts(_) => Ok(None),
                    _ => Err(Fault::new(
                        at,
                        format!("{name} has no value {}", told(&value)),
                    )),
                };
            };
            case.fixed[axis] = Some(place as u32);
            case.chosen |= 1 << axis;
        }
        Ok(self.is_there(&case)?.then_some(case))
    }

    /// Whether there is a point at a case: no value is left out, and the results have its parts.
    pub(super) fn is_there(&self, case: &Case) -> Result<bool, Fault> {
        let published = self.is_published(case);
        for skip in self.definition.skip.iter().filter(|_| !published) {
            self.spend(skip.at, 1)?;
            let place = std::ptr::from_ref(skip) as usize;
            let key = (place, case.key(self.definition.names.depends(skip)));
            let known = self.passing.borrow().get(&key).copied();
            let left = match known {
                Some(left) => left,
                None => {
                    let left = self.any_completion(skip, case, &|value| !value.holds())?;
                    if self.may_keep(&Value::Flag(left)) {
                        self.passing.borrow_mut().insert(key, left);
                    }
                    left
                }
            };
            if !left {
                return Ok(false);
            }
        }
        if let Some(covered) = self.covered.as_ref().filter(|_| !published) {
            self.spend(0, covered.len() / 16)?;
            let fits = |key: &Key| {
                let mut both = key.iter().zip(&case.fixed);
                both.all(|(of, at)| of.is_none() || at.is_none() || of == at)
            };
            if !covered.iter().any(fits) {
                return Ok(false);
            }
        }
        if published || self.results.is_empty() {
            return Ok(true);
        }
        let runs = self.definition.names.runs();
        let all_fixed = self
            .definition
            .names
            .places(runs)
            .iter()
            .all(|axis| case.at(*axis).is_some());
        let phase = self
            .parts(Parts::Phases)
            .and_then(|(axis, _)| case.at(axis));
        if let (true, Some(phase)) = (all_fixed, phase) {
            let results = self.results.get(&case.key(runs));
            let count = results
                .and_then(|results| results.first())
                .map_or(0, |one| column::phases(&one.json).len());
            return Ok(phase < count);
        }
        Ok(true)
    }

    /// Whether some completion of a case has a value of which something is so.
    fn any_completion(
        &self,
        expression: &Expression,
        case: &Case,
        is: &dyn Fn(&Value) -> bool,
    ) -> Result<bool, Fault> {
        let free = self
            .definition
            .names
            .places(self.definition.names.depends(expression));
        let free: Vec<usize> = free
            .into_iter()
            .filter(|axis| case.at(*axis).is_none())
            .collect();
        let cases = self.product(&free, case, false)?;
        for case in cases {
            if is(&self.value(expression, &Frame::at(case))?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a condition holds at a case, or at some point of it.
    pub(super) fn exists(
        &self,
        filter: Option<&Expression>,
        frame: &Frame<'_>,
    ) -> Result<bool, Fault> {
        let Some(filter) = filter.filter(|_| !frame.case.is_freed) else {
            return Ok(true);
        };
        let mut case = frame.case.clone();
        for axis in self.definition.names.places(case.chosen) {
            case.fixed[axis] = None;
        }
        case.chosen = 0;
        self.any_completion(filter, &case, &Value::holds)
    }

    /// The places of the values of an axis that are ours.
    pub(super) fn ours(&self, axis: usize) -> impl Iterator<Item = usize> {
        let values = self.axes[axis].values.iter().enumerate();
        values
            .filter(|(_, value)| !value.is_published)
            .map(|(place, _)| place)
    }

    /// The cases with every value of some axes, the first outermost, that are there and not left out by the frame.
    pub(super) fn cases(
        &self,
        axes: &[usize],
        frame: &Frame<'_>,
        with_published: bool,
    ) -> Result<Vec<Case>, Fault> {
        let mut kept = Vec::new();
        for case in self.product(axes, &frame.case, with_published)? {
            if self.is_wanted(&case, frame)? {
                kept.push(case);
            }
        }
        Ok(kept)
    }

    /// Whether a case is there and not left out by the frame.
    pub(super) fn is_wanted(&self, case: &Case, frame: &Frame<'_>) -> Result<bool, Fault> {
        self.spend(0, 1)?;
        Ok(self.is_there(case)? && self.exists(frame.filter, &frame.moved(case.clone()))?)
    }

    /// The cases with every value of some axes, the first outermost. They are made one by one: there may be many.
    pub(super) fn product(
        &self,
        axes: &[usize],
        case: &Case,
        with_published: bool,
    ) -> Result<impl Iterator<Item = Case> + use<>, Fault> {
        let values = |&axis: &usize| {
            let places: Vec<usize> = match with_published {
                true => (0..self.axes[axis].values.len()).collect(),
                false => self.ours(axis).collect(),
            };
            (axis, places)
        };
        let mut count = 1_usize;
        for axis in axes {
            count = count.saturating_mul(self.axes[*axis].values.len());
        }
        if count > MOST_POINTS || axes.len() > MOST_POINTS {
            let why = format!("the axes make more than {MOST_POINTS} points together");
            return Err(Fault::new(0, why));
        }
        let axes: Vec<(usize, Vec<usize>)> = axes.iter().map(values).collect();
        let count: usize = axes.iter().map(|(_, places)| places.len()).product();
        let base = case.clone();
        Ok((0..count).map(move |number| {
            let (mut case, mut number) = (base.clone(), number);
            for (axis, places) in axes.iter().rev() {
                case.fixed[*axis] = Some(places[number % places.len()] as u32);
                number /= places.len();
            }
            case
        }))
    }
}
