//! Verdicts on a clause.

/// How strongly a standard asks, in the words of RFC 2119; `none` is a fact or an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// MUST, or MUST NOT.
    Must,
    /// SHOULD, or SHOULD NOT.
    Should,
    /// MAY.
    May,
    /// Nothing of these.
    None,
}

impl Level {
    /// In the words of RFC 2119.
    pub fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::None => "",
        }
    }
}

/// What became of a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is met.
    Pass,
    /// It is not.
    Fail,
    /// It does not apply to this stack: why.
    NotApplicable(String),
    /// Nobody can say: why.
    Open(String),
    /// It was measured, and nothing asks for a value.
    Note,
}

impl Verdict {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::NotApplicable(_) => "n/a",
            Self::Open(_) => "open",
            Self::Note => "note",
        }
    }

    /// Why there is no verdict.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::NotApplicable(why) | Self::Open(why) => Some(why),
            Self::Pass | Self::Fail | Self::Note => None,
        }
    }

    /// The verdict of several seeds, which is one only where all agree.
    pub(crate) fn of_seeds(all: &[Self]) -> Self {
        let Some(first) = all.first() else {
            return Self::Open("no run".to_owned());
        };
        let alike = |one: &&Self| one.name() == first.name();
        match all.iter().filter(alike).count() {
            count if count == all.len() => first.clone(),
            _ => {
                let count = |name: &str| all.iter().filter(|one| one.name() == name).count();
                let (passes, seeds) = (count(Self::Pass.name()), all.len());
                Self::Open(format!("it passes with {passes} of {seeds} seeds"))
            }
        }
    }
}
