//! Files that a sweep reads: its own, scenarios, and what those name. All have bounds.

use std::path::{Path, PathBuf};

use quell_results::read;
use quell_scenario::{Origin, ReadFile};

use crate::RunError;

/// Longest sweep or scenario file; a longer one is the wrong file.
const LONGEST: u64 = 512 << 20;
/// Longest file that a scenario names.
const LONGEST_NAMED: u64 = 512 << 20;

/// The text of a sweep or scenario file.
pub(super) fn text(path: &Path) -> Result<String, RunError> {
    read::text(path, LONGEST)
        .map_err(|error| RunError::refused(format!("cannot read {}: {error}", path.display())))
}

/// Reads what a scenario in `folder` names; what the sweep file gives is in the folder `sweep`.
pub(super) fn named(folder: &Path, sweep: &Path) -> ReadFile {
    let (folder, sweep): (PathBuf, PathBuf) = (folder.to_owned(), sweep.to_owned());
    Box::new(move |name, origin| {
        let path = match origin {
            Origin::Argument(_) => sweep.join(name),
            Origin::Line(_) | Origin::Named(_) => folder.join(name),
        };
        read::text(&path, LONGEST_NAMED)
            .map_err(|error| format!("cannot read {}: {error}", path.display()).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn names_are_relative_to_the_file_that_has_them_and_files_have_bounds() {
        let root = tempfile::tempdir().unwrap();
        let (of_scenario, of_sweep) = (root.path().join("a"), root.path().join("b"));
        for (folder, content) in [(&of_scenario, "scenario"), (&of_sweep, "sweep")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("x"), content).unwrap();
        }
        // Of no content.
        let long = File::create(of_sweep.join("long")).unwrap();
        long.set_len(LONGEST_NAMED + 1).unwrap();
        let read = named(&of_scenario, &of_sweep);
        let given = Origin::Argument("s.toml:3".to_owned());
        assert_eq!(read("x", &Origin::Line(1)).unwrap(), "scenario");
        assert_eq!(read("x", &given).unwrap(), "sweep");
        for name in ["long", "none", "."] {
            let why = read(name, &given).unwrap_err();
            assert!(why.to_string().starts_with("cannot read "), "{why}");
        }
        assert!(text(&of_sweep.join("long")).is_err());
        assert!(text(&of_sweep.join("x")).is_ok());
    }
}
