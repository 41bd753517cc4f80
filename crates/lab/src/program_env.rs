//! What the programs of a scenario find, and whether they exist.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use quell_hosts::obstacle::{self, Obstacle};
use quell_kernel::held::real;
use quell_scenario::{Group, Scenario, programs};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::RunError;

/// The folder of a result that keeps what programs print and write.
pub(crate) const FOLDER: &str = "programs";
/// The folder in it for files that are gone after the run, in the live world.
pub(crate) const TEMPORARY: &str = ".temporary";
/// Variables of this process that programs find whose results shall not depend on who started them, or from where.
const NEEDED: [&str; 3] = ["PATH", "HOME", "LD_LIBRARY_PATH"];
/// Where programs are looked for without a PATH.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// What programs of a scenario find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnv {
    /// Their working folder.
    pub(crate) directory: PathBuf,
    /// Their environment.
    pub(crate) variables: Vec<(String, String)>,
    /// Where each group gets a folder of its own, of which the result keeps a copy.
    pub(crate) kept: PathBuf,
}

impl ProgramEnv {
    /// Those of this process, for programs that write to `kept` and `temporary`; with a `directory` of their own only the needed ones.
    pub(crate) fn here(
        kept: PathBuf,
        temporary: &str,
        directory: Option<&Path>,
    ) -> Result<Self, RunError> {
        let is_own = directory.is_some();
        let directory = match directory {
            Some(directory) => std::path::absolute(directory),
            None => env::current_dir(),
        };
        let directory = directory.map_err(|error| {
            RunError::Failed(format!("cannot find the working folder: {error}"))
        })?;
        let text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let usual = env::vars_os().filter_map(text);
        let usual = usual.filter(|(name, _)| match is_own {
            true => NEEDED.contains(&name.as_str()),
            false => name != "TMPDIR",
        });
        let own = ("TMPDIR".to_owned(), temporary.to_owned());
        let mut variables: Vec<_> = usual.chain([own]).collect();
        variables.sort();
        Ok(Self {
            directory,
            variables,
            kept,
        })
    }
}

/// What programs of `scenario` find in a live run that fills `folder`, if they may run.
pub(crate) fn of_live(
    scenario: &Scenario,
    may_run: bool,
    directory: Option<&Path>,
    folder: &Path,
) -> Result<Option<ProgramEnv>, RunError> {
    if !may_run || !has_programs(scenario) {
        return Ok(None);
    }
    let folder = std::path::absolute(real(folder)).map_err(RunError::writing(folder))?;
    let kept = folder.join(FOLDER);
    let temporary = kept.join(TEMPORARY);
    ProgramEnv::here(kept, &temporary.to_string_lossy(), directory).map(Some)
}

/// Whether a group of `scenario` is one of programs.
pub(crate) fn has_programs(scenario: &Scenario) -> bool {
    scenario
        .groups
        .iter()
        .any(|group| programs(group).next().is_some())
}

/// A scenario as a cell of a sweep. A store finds results by all that they depend on, which is not what is expected of them, and which of a
/// program nobody knows.
pub(crate) fn without_programs(mut scenario: Scenario) -> Result<Scenario, Vec<String>> {
    scenario.expects.clear();
    let has_any = |group: &&Group| programs(group).next().is_some();
    match scenario.groups.iter().find(has_any) {
        None => Ok(scenario),
        Some(group) => Err(vec![format!(
            "group.{}.app.kind = \"program\": a sweep has no programs, because it keeps results by all that they depend on; quell run and \
             quell compare start them",
            group.name
        )]),
    }
}

/// Why a program cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A file is there, and is no program.
    #[error("{} cannot be executed", .0.display())]
    NotExecutable(PathBuf),
    /// Something stands in the way to it.
    #[error("{name} cannot be found: you may not {obstacle}")]
    Hidden {
        /// Its path.
        name: String,
        /// What stands in the way.
        obstacle: Obstacle,
    },
    /// There is no such file.
    #[error("there is no {0}; a path is relative to the folder in which quell runs")]
    NoFile(String),
    /// No folder of PATH has it.
    #[error(
        "there is no program {name} in the folders of PATH{}; install it, or give its path",
        hidden_folder(obstacle.as_ref())
    )]
    NotInPath {
        /// Its name.
        name: String,
        /// What stands in the way to one of the folders.
        obstacle: Option<Obstacle>,
    },
}

fn hidden_folder(obstacle: Option<&Obstacle>) -> String {
    obstacle.map_or_else(String::new, |obstacle| {
        format!("; of these folders you may not {obstacle}")
    })
}

/// Looks for a program as a shell does: along PATH, or at its path if it has a `/`.
///
/// # Errors
///
/// There is none, or it cannot be executed.
pub fn find_program(name: &str) -> Result<PathBuf, ProgramError> {
    let along = env::var_os("PATH").unwrap_or_else(|| USUAL.into());
    find_along(name, &along)
}

fn find_along(name: &str, along: &OsStr) -> Result<PathBuf, ProgramError> {
    let executable = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let places: Vec<PathBuf> = match name.contains('/') {
        true => vec![PathBuf::from(name)],
        false => env::split_paths(along)
            .map(|folder| folder.join(name))
            .collect(),
    };
    if let Some(found) = places.iter().find(|path| executable(path)) {
        return Ok(found.clone());
    }
    if let Some(path) = places.iter().find(|path| path.exists()) {
        return Err(ProgramError::NotExecutable(path.clone()));
    }
    let obstacle = places.iter().find_map(|path| obstacle::on_the_way_to(path));
    let (is_path, name) = (name.contains('/'), name.to_owned());
    Err(match (is_path, obstacle) {
        (true, Some(obstacle)) => ProgramError::Hidden { name, obstacle },
        (true, None) => ProgramError::NoFile(name),
        (false, obstacle) => ProgramError::NotInPath { name, obstacle },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_is_found_along_the_path_or_at_its_own() {
        assert!(find_program("/bin/sh").is_ok());
        assert!(find_along("sh", OsStr::new("/no-such-folder:/bin")).is_ok());
        let missing = find_along("no-such-program", OsStr::new("/bin"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("no program no-such-program"), "{missing}");
        let missing = find_program("./no-such-program").unwrap_err().to_string();
        assert!(missing.contains("relative to the folder"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("text"), "").unwrap();
        // Root may read what it cannot execute.
        let refused = find_along("text", folder.path().as_os_str())
            .unwrap_err()
            .to_string();
        assert!(refused.contains("cannot be executed"), "{refused}");
        assert!(find_along(".", folder.path().as_os_str()).is_err());
    }

    #[test]
    fn programs_with_a_folder_of_their_own_find_little_of_who_started_them() {
        let of = |directory: Option<&Path>| {
            let here = ProgramEnv::here("kept".into(), "/t", directory).unwrap();
            here.variables.into_iter().map(|(name, _)| name)
        };
        let mut own = of(Some(Path::new("/")));
        assert!(own.all(|name| name == "TMPDIR" || NEEDED.contains(&name.as_str())));
        // Cargo sets it for tests.
        assert!(of(None).any(|name| name.starts_with("CARGO")));
    }

    #[test]
    fn a_sweep_judges_nothing_and_starts_no_program() {
        const TEXT: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = \"pie\"\n[run]\nduration = \"3s\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n";
        for (more, expected) in [
            ("app = \"bulk\"\n", None),
            (
                "app = { kind = \"program\", server = [\"a\"], client = [\"b\"] }\n",
                Some("a sweep has no programs"),
            ),
        ] {
            let text = format!("{TEXT}{more}");
            let loaded = Scenario::load("t.toml", &text, &[], Some(quell_scenario::World::Live));
            let refused = without_programs(loaded.unwrap().scenario).err();
            let found = refused.map(|lines| lines.join("\n"));
            assert_eq!(found.is_some(), expected.is_some(), "{more}");
            let words = (found.unwrap_or_default(), expected.unwrap_or_default());
            assert!(words.0.contains(words.1), "{}", words.0);
        }
    }
}
