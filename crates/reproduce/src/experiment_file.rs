//! Experiments that are files.

use quell_lab::scenario::Problems;
use quell_lab::sweep::Stored;

use crate::cell::Cell;
use crate::evaluate::Engine;
use crate::experiment::Experiment;
use crate::file::{self, Definition};
use crate::findings::Findings;
use crate::statement::{Expected, Statement};

/// An experiment file: `experiments/CHAPTER/NAME.toml`, or a user's.
#[derive(Debug)]
pub struct ExperimentFile(Definition);

impl ExperimentFile {
    /// Reads the text of the experiment with this ID; `files` has the text of what lies beside it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn read(id: &str, text: &str, files: &dyn Fn(&str) -> Option<String>) -> Result<Experiment, Problems> {
        let definition = file::read(&format!("{id}.toml"), text, files)?;
        let statements: Vec<Statement> = definition.statements.iter().map(statement).collect();
        let (title, source) = (kept(&definition.title), kept(&definition.source));
        Ok(Experiment {
            id: kept(id),
            title,
            source,
            statements: Box::leak(statements.into_boxed_slice()),
            plan: Vec::new,
            judge: |_, _| {},
            definition: Some(Box::leak(Box::new(Self(definition)))),
        })
    }

    /// The runs, in their order.
    pub fn cells(&self) -> Vec<Cell> {
        self.try_cells().unwrap_or_default()
    }

    /// The same, or why there are none.
    ///
    /// # Errors
    ///
    /// An expression has no value.
    pub fn try_cells(&self) -> Result<Vec<Cell>, String> {
        let engine = Engine::new(&self.0).map_err(|fault| fault.why)?;
        engine.cells().map_err(|fault| fault.why)
    }

    /// Judges the results of [`ExperimentFile::cells`].
    pub(crate) fn find(&self, results: &[Stored], out: &mut Findings) {
        let engine = Engine::new(&self.0).and_then(|mut engine| {
            engine.take(results)?;
            Ok(engine)
        });
        match engine {
            Ok(engine) => engine.find(out),
            Err(fault) => out.fault("axis", &fault.why),
        }
    }
}

/// Experiments live as long as the program.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn statement(statement: &file::Statement) -> Statement {
    let expected = match (&statement.differs, &statement.cannot) {
        (_, Some(why)) => Expected::CannotBeJudged(kept(why)),
        (Some(why), None) => Expected::Differs(kept(why)),
        (None, None) => Expected::Reproduced,
    };
    Statement {
        id: kept(&statement.id),
        published: kept(&statement.published),
        bound: kept(&statement.checked),
        expected,
    }
}
