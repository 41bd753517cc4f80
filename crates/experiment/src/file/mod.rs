//! Experiment files as written: axes, figures, statements, tables, pictures.
//!
//! `docs/guides/reproducing.md` describes the format. Reading goes on after a problem, so that one look reports everything that is wrong,
//! each with its line and key; names in expressions are checked too.

mod axes;
mod definition;
mod figures;
pub(crate) mod keys;
mod names;
pub(crate) mod reader;
mod reference;
mod runs;
mod schema;
mod statements;
mod tables;
mod whole;

use quell_lab::scenario::{Origin, Problem, Problems, tree};

pub(crate) use definition::*;
pub(crate) use names::{Depends, Meaning};
use reader::Reader;
pub use schema::{schema, suite_schema};
pub(crate) use whole::Definition;

/// Reads the text of the experiment file `file`; CSV files come from `files`.
pub(crate) fn read(file: &str, text: &str, files: Files<'_>) -> Result<Definition, Problems> {
    if text.len() > MOST_BYTES {
        return Err(Problems::new(vec![Problem {
            file: file.to_owned(),
            origin: Origin::Line(1),
            key: String::new(),
            found: None,
            allowed: format!("has more than {MOST_BYTES} bytes"),
        }]));
    }
    let root = tree::read(file, text).map_err(|problem| Problems::new(vec![problem]))?;
    let mut reader = Reader::new(file, files);
    let definition = reader.definition(&root);
    match definition {
        Some(definition) if reader.problems.is_empty() => Ok(definition),
        _ => Err(Problems::new(reader.problems)),
    }
}

#[cfg(test)]
mod tests;
