//! The crate of a kind that is not from this project.

use core::fmt;

/// The crate that brings a kind along, for listings and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its name: `CARGO_PKG_NAME`.
    pub package: &'static str,
    /// Its version: `CARGO_PKG_VERSION`.
    pub version: &'static str,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.package, self.version)
    }
}

/// Why a kind of another crate cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginError {
    /// There is a kind of this name already.
    Taken(&'static str),
    /// The name does not begin with a small letter, or has something else in it than small letters, digits and underscores.
    Name(&'static str),
    /// A row of its table of parameters is wrong: the kind, the row, and the fault.
    Row(&'static str, &'static str, &'static str),
    /// Kinds were registered before, or their list was read: they are registered once, at the start of the program.
    Late,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(name) => write!(f, "there is a {name} already; choose another name"),
            Self::Name(name) => write!(
                f,
                "{name:?} is no name of a kind: small letters, digits and underscores, first a letter"
            ),
            Self::Row(name, row, why) => write!(f, "{name}: parameter {row:?}: {why}"),
            Self::Late => f.write_str(
                "kinds are registered once, at the start of the program, before anything reads their list",
            ),
        }
    }
}

impl core::error::Error for OriginError {}

/// Checks the name of a kind and its table, as far as the types leave anything to check.
///
/// # Errors
/// The name or the table is wrong.
pub fn check(name: &'static str, rows: &'static [crate::Parameter]) -> Result<(), OriginError> {
    let is_name = |text: &str, separator: char| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator;
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(allowed)
    };
    if !is_name(name, '_') {
        return Err(OriginError::Name(name));
    }
    for (index, row) in rows.iter().enumerate() {
        let names = |row: &crate::Parameter| [Some(row.name), row.opposite];
        let before = rows[..index]
            .iter()
            .flat_map(names)
            .flatten()
            .chain(["kind", "name"]);
        let own = names(row).into_iter().flatten();
        let default = match row.default {
            crate::parameter::Preset::Is(text) => row.domain.parse(text).is_ok(),
            crate::parameter::Preset::Required => false,
            _ => true,
        };
        let wrong = if !own.clone().all(|name| is_name(name, '_')) {
            "no name of a parameter: small letters, digits and underscores, first a letter"
        } else if own
            .clone()
            .any(|name| before.clone().any(|other| other == name))
        {
            "this name is taken"
        } else if !default {
            "it has no default, or one that its domain does not allow"
        } else if row.help.is_empty() || row.source.is_empty() {
            "it has no help or no source"
        } else {
            continue;
        };
        return Err(OriginError::Row(name, row.name, wrong));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameter;
    use std::string::ToString as _;

    const ROW: Parameter = Parameter::LIVE.named("ecn").source("a paper").help("Mark.");

    #[test]
    fn a_name_or_a_row_that_readers_cannot_work_with_is_refused() {
        assert_eq!(check("blue_2", const { &[ROW] }), Ok(()));
        for name in ["", "Blue", "2blue", "my-queue", "blau ", "blü"] {
            assert_eq!(check(name, &[]), Err(OriginError::Name(name)));
        }
        const ROWS: [&[Parameter]; 5] = [
            &[ROW, ROW],
            &[ROW.named("kind")],
            &[ROW.help("")],
            &[ROW.default("perhaps")],
            &[ROW.required()],
        ];
        for rows in ROWS {
            let error = check("blue", rows).unwrap_err();
            assert!(
                error.to_string().starts_with("blue: parameter \""),
                "{error}"
            );
        }
    }
}
