//! Suites: files of test cases and statements, in `suites/` or of a user.

mod read;
mod read_run;
mod values;

use std::path::Path;
use std::sync::Arc;

use quell_lab::scenario::Problems;

use crate::characterize::test_case::TestCase;
use crate::experiment::{OpenError, text_of};
use crate::expression::{Expression, Template};
use crate::file::Definition;

pub(crate) use values::{Values, of_path};

/// The suites that are there: name and text.
const SHIPPED: [(&str, &str); 3] = [
    (
        "rfc7928",
        include_str!("../../../../../suites/rfc7928.toml"),
    ),
    ("l4s", include_str!("../../../../../suites/l4s.toml")),
    ("access", include_str!("../../../../../suites/access.toml")),
];
/// The name of them together.
const TOGETHER: &str = "all";

/// A choice of test cases: a file, or several.
#[derive(Debug, Clone)]
pub struct Suite {
    name: String,
    parts: Vec<Arc<Part>>,
}

/// What a file has.
#[derive(Debug)]
pub(crate) struct Part {
    /// What a reader of a card has to know of its path, and of its items.
    pub(crate) path_note: Option<Template>,
    pub(crate) notes: Vec<Template>,
    pub(crate) test_cases: Vec<Arc<TestCase>>,
    pub(crate) statements: Vec<Statement>,
    /// The meaning of names.
    pub(crate) definition: Arc<Definition>,
    /// Whether a group has the congestion control of `--cc`, or that of the RFC's formulas.
    pub(crate) has_newreno: bool,
}

/// A bound on a figure.
#[derive(Debug)]
pub(crate) struct Statement {
    /// What is judged, in words.
    pub(crate) what: Template,
    /// Whose bound it is.
    pub(crate) source: String,
    /// The items and queues that it holds for.
    pub(crate) filter: Option<Expression>,
    /// The group whose figure it is; `None` of the whole.
    pub(crate) group: Option<String>,
    pub(crate) figure: String,
    pub(crate) bound: Expression,
    /// Whether the figure is to be at most the bound; else at least.
    pub(crate) at_most: bool,
}

impl Suite {
    /// The names of the suites that are there.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let shipped = SHIPPED.iter().map(|(name, _)| *name);
        shipped.chain([TOGETHER])
    }

    /// The suite of this name.
    ///
    /// # Panics
    ///
    /// A shipped suite is wrong, which tests exclude.
    pub fn named(name: &str) -> Option<Self> {
        let shipped = SHIPPED.iter();
        let wanted = shipped.filter(|(shipped, _)| [*shipped, TOGETHER].contains(&name));
        let parts: Vec<Arc<Part>> = wanted
            .map(|(name, text)| {
                let part = read::part(&format!("suites/{name}.toml"), text, false);
                Arc::new(part.unwrap_or_else(|problems| panic!("{problems}")))
            })
            .collect();
        (!parts.is_empty()).then(|| Self {
            name: name.to_owned(),
            parts,
        })
    }

    /// The suite of a user's file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or it is no suite.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let text = text_of(path).map_err(|error| OpenError::Unreadable(path.to_owned(), error))?;
        Self::read(&path.to_string_lossy(), &text).map_err(OpenError::Wrong)
    }

    /// The suite of a user's text, called by the name of its file.
    ///
    /// # Errors
    ///
    /// Every problem of the file, with its line and key.
    pub fn read(file: &str, text: &str) -> Result<Self, Problems> {
        let part = read::part(file, text, true)?;
        let stem = Path::new(file).file_stem();
        let name = stem.map_or(file.into(), |stem| stem.to_string_lossy());
        Ok(Self {
            name: name.into_owned(),
            parts: vec![Arc::new(part)],
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its test cases, in the order of the card.
    pub fn test_cases(&self) -> Vec<Arc<TestCase>> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.test_cases.clone()).collect()
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().map(|part| &**part)
    }

    /// The only file.
    pub(crate) fn only(&self) -> Option<&Part> {
        match &self.parts[..] {
            [part] => Some(part),
            _ => None,
        }
    }
}

impl Part {
    /// Whether it has a test case.
    pub(crate) fn has(&self, test_case: &Arc<TestCase>) -> bool {
        self.test_cases
            .iter()
            .any(|own| Arc::ptr_eq(own, test_case))
    }
}

#[cfg(test)]
mod tests;
