//! What a source says, what came out, and the verdict.

use std::fmt;

use crate::digits::digits;

/// One value or statement of a source, with the bound that decides.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its name within the experiment, in small letters and hyphens.
    pub id: String,
    /// What the source says: a value with its unit, or a statement.
    pub published: String,
    /// What is checked, and why this bound.
    pub bound: String,
    /// What is known of the outcome.
    pub expected: Expected,
}

/// What is known of the outcome in the simulated world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Every check holds.
    Reproduced,
    /// A check fails: why.
    Differs(String),
    /// There is nothing to compare with: why.
    CannotBeJudged(String),
}

/// The verdict about a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every check holds.
    Reproduced,
    /// A check fails: why.
    Differs(String),
    /// There is nothing to compare with: why.
    CannotBeJudged(String),
    /// The runs were too short to judge.
    Quick,
}

impl Verdict {
    /// In one or two words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs(_) => "differs",
            Self::CannotBeJudged(_) => "cannot be judged",
            Self::Quick => "quick: not judged",
        }
    }

    /// Why it is not reproduced.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Differs(why) | Self::CannotBeJudged(why) => Some(why),
            Self::Reproduced | Self::Quick => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.why().map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

/// A statement beside what came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Experiment and statement: `gsp2014/e4#drops`.
    pub id: String,
    /// What the source says.
    pub published: String,
    /// What came out.
    pub ours: String,
    /// What is checked, and why this bound.
    pub bound: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// The checks of one statement.
#[derive(Debug, Default)]
pub struct Checks {
    /// Figures that have a published value, with how far off they are and may be, in percent.
    pub(crate) off: Vec<(String, f64, f64)>,
    pub(crate) made: usize,
    /// Guards that were made, those that hold too.
    pub(crate) guarded: usize,
    pub(crate) misses: Vec<String>,
    pub(crate) broken_guards: Vec<String>,
    ours: Option<String>,
}

impl Checks {
    /// `ours` is to lie within `percent` of `published`.
    pub fn within(&mut self, what: String, ours: f64, published: f64, percent: f64) {
        let off = 100.0 * (ours / published - 1.0);
        self.unless(
            off.abs() <= percent,
            format!("{what}: {ours:.4}, published {published:.4}: {off:+.1} %, band {percent} %"),
        );
        self.off
            .push((format!("{what}: {}", digits(ours)), off, percent));
    }

    /// `holds` is to hold; `what` says what does not.
    pub fn unless(&mut self, holds: bool, what: String) {
        self.made += 1;
        if !holds {
            self.misses.push(what);
        }
    }

    /// `holds` has to hold where the statement differs too: how far off it may be at most. It decides no verdict.
    pub fn guard(&mut self, holds: bool, what: String) {
        self.guarded += 1;
        if !holds {
            self.broken_guards.push(what);
        }
    }

    /// The same of a figure that has to lie within `percent` of `published`.
    pub fn guard_within(&mut self, what: String, ours: f64, published: f64, percent: f64) {
        let off = 100.0 * (ours / published - 1.0);
        self.guard(
            off.abs() <= percent,
            format!("{what}: {ours:.4}, published {published:.4}: {off:+.1} %, guard {percent} %"),
        );
    }

    /// What came out, in words with units; without it, how many checks hold.
    pub fn ours(&mut self, text: impl Into<String>) {
        self.ours = Some(text.into());
    }

    /// What came out.
    pub(crate) fn shown(&self) -> String {
        if let Some(ours) = &self.ours {
            return ours.clone();
        }
        let further =
            |a: &&(String, f64, f64), b: &&(String, f64, f64)| a.1.abs().total_cmp(&b.1.abs());
        let furthest = self.off.iter().max_by(further);
        match (furthest, self.off.len(), self.made - self.misses.len()) {
            (Some((what, off, _)), 1, _) => format!("{what} ({off:+.1} %)"),
            (Some((what, off, _)), many, _) => {
                let within = self.off.iter().filter(|(_, off, band)| off.abs() <= *band);
                let within = within.count();
                let first = self.off[0].2;
                let bounds = match self.off.iter().all(|(.., band)| *band == first) {
                    true => format!("{first} %"),
                    false => "their bounds".to_owned(),
                };
                format!("{within} of {many} within {bounds}; furthest {what} ({off:+.1} %)")
            }
            (None, _, held) if held == self.made => match held {
                0 => String::new(),
                1 => "holds".to_owned(),
                many => format!("holds in all {many} cases"),
            },
            (None, _, held) => format!("holds in {held} of {} cases", self.made),
        }
    }

    pub(crate) fn judge(&self, statement: &Statement, experiment: &str, judge: Judge) -> Judged {
        let verdict = match (judge, &statement.expected) {
            (Judge::Quick, _) => Verdict::Quick,
            (_, Expected::CannotBeJudged(why)) => Verdict::CannotBeJudged(why.clone()),
            _ if self.misses.is_empty() && self.made > 0 => Verdict::Reproduced,
            // The reason is that of the simulated world.
            (Judge::Simulated, Expected::Differs(why)) => Verdict::Differs(why.clone()),
            _ => Verdict::Differs(self.misses.first().cloned().unwrap_or_default()),
        };
        Judged {
            id: format!("{experiment}#{}", statement.id),
            published: statement.published.clone(),
            ours: self.shown(),
            bound: statement.bound.clone(),
            verdict,
        }
    }

    /// What a reader should know besides the verdict: a guard that does not hold, a reason without a miss, a check that no point had.
    pub(crate) fn notes(&self, statement: &Statement) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(statement.expected, Expected::Differs(_)) && self.misses.is_empty() {
            notes.push("has a reason why it differs, but every check holds".to_owned());
        }
        if self.made == 0 && !matches!(statement.expected, Expected::CannotBeJudged(_)) {
            notes.push("no point has its check".to_owned());
        }
        let broken = self.broken_guards.iter();
        notes.extend(broken.map(|guard| format!("its guard does not hold: {guard}")));
        let id = &statement.id;
        notes.iter().map(|note| format!("{id}: {note}")).collect()
    }

    /// What is wrong between the definition and the outcome in the simulated world.
    pub(crate) fn problems(&self, statement: &Statement) -> Vec<String> {
        let mut problems = Vec::new();
        match &statement.expected {
            Expected::Reproduced => problems.extend(self.misses.iter().cloned()),
            Expected::Differs(_) if self.misses.is_empty() => {
                problems.push("has a reason why it differs, but every check holds".to_owned());
            }
            Expected::CannotBeJudged(_) if self.made > 0 => {
                problems.push("cannot be judged, but has a check".to_owned());
            }
            Expected::Differs(_) | Expected::CannotBeJudged(_) => {}
        }
        if self.made == 0 && !matches!(statement.expected, Expected::CannotBeJudged(_)) {
            problems.push("has no check".to_owned());
        }
        problems.extend(self.broken_guards.iter().cloned());
        let id = &statement.id;
        problems
            .iter()
            .map(|problem| format!("{id}: {problem}"))
            .collect()
    }
}

/// How outcomes are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Not at all.
    Quick,
    /// In the world that the definitions are about.
    Simulated,
    /// In another one.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(expected: Expected) -> Statement {
        Statement {
            id: "drops".to_owned(),
            published: "67 drops".to_owned(),
            bound: "within 10 %".to_owned(),
            expected,
        }
    }

    fn checks(ours: f64) -> Checks {
        let mut checks = Checks::default();
        checks.within("drops".to_owned(), ours, 67.0, 10.0);
        checks
    }

    #[test]
    fn checks_that_hold_are_reproduced_and_a_miss_needs_a_reason() {
        let reproduced = statement(Expected::Reproduced);
        let judged = checks(70.0).judge(&reproduced, "gsp2014/e1", Judge::Simulated);
        assert_eq!(
            (judged.id.as_str(), judged.ours.as_str()),
            ("gsp2014/e1#drops", "drops: 70.0 (+4.5 %)")
        );
        assert_eq!(judged.verdict, Verdict::Reproduced);
        assert!(checks(70.0).problems(&reproduced).is_empty());
        assert_eq!(checks(100.0).problems(&reproduced).len(), 1);
        let differs = statement(Expected::Differs("two are lost at once".to_owned()));
        assert!(checks(100.0).problems(&differs).is_empty());
        let judged = checks(100.0).judge(&differs, "e", Judge::Simulated);
        assert_eq!(judged.verdict.to_string(), "differs: two are lost at once");
        let elsewhere = checks(100.0).judge(&differs, "e", Judge::Elsewhere);
        assert!(
            elsewhere
                .verdict
                .why()
                .is_some_and(|why| why.contains("published 67"))
        );
        // A reason without a miss, and a statement without a check, are errors of the definition.
        assert_eq!(checks(70.0).problems(&differs).len(), 1);
        assert_eq!(Checks::default().problems(&reproduced).len(), 1);
    }

    #[test]
    fn a_guard_decides_no_verdict_and_has_to_hold() {
        let differs = statement(Expected::Differs("two are lost at once".to_owned()));
        let mut checks = checks(140.0);
        checks.guard_within("drops".to_owned(), 140.0, 67.0, 100.0);
        assert_eq!(checks.problems(&differs).len(), 1);
        let verdict = checks.judge(&differs, "e", Judge::Simulated).verdict;
        assert_eq!(verdict.name(), "differs");
    }

    #[test]
    fn what_cannot_be_judged_has_no_check() {
        let lost = statement(Expected::CannotBeJudged("the values are lost".to_owned()));
        assert!(Checks::default().problems(&lost).is_empty());
        assert_eq!(checks(70.0).problems(&lost).len(), 1);
        let verdict = Checks::default()
            .judge(&lost, "e", Judge::Simulated)
            .verdict;
        assert_eq!(verdict.to_string(), "cannot be judged: the values are lost");
        let quick = Checks::default().judge(&lost, "e", Judge::Quick).verdict;
        assert_eq!(quick, Verdict::Quick);
    }
}
