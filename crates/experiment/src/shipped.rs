//! The files of the folders `scenarios/`, `experiments/` and `clauses/`, inside the program.

use quell_lab::Scenario;

/// Path below `scenarios/`, and text.
const ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
/// Path below `experiments/`, and text.
const EXPERIMENTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));
/// Path below `clauses/`, and text.
const CLAUSES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/clauses.rs"));

fn text_of(all: &[(&str, &'static str)], path: &str) -> Option<&'static str> {
    let place = all.binary_search_by_key(&path, |(name, _)| name).ok()?;
    Some(all[place].1)
}

/// The text of the file at `path` below `experiments/`.
pub fn experiment(path: &str) -> Option<&'static str> {
    text_of(EXPERIMENTS, path)
}

/// The paths of all of them, in order.
pub fn experiments() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(name, _)| *name)
}

/// The text of the file at `path` below `clauses/`.
pub(crate) fn clause(path: &str) -> Option<&'static str> {
    text_of(CLAUSES, path)
}

/// The paths of all of them, in order.
pub(crate) fn clauses() -> impl Iterator<Item = &'static str> {
    CLAUSES.iter().map(|(name, _)| *name)
}

/// The text of the scenario at `path` below `scenarios/`.
pub fn scenario(path: &str) -> Option<&'static str> {
    text_of(ALL, path)
}

/// The paths of all of them, in order.
pub fn paths() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The text of the scenario at `path` below `scenarios/`, for a constant: one that is not there is an error of the build.
///
/// # Panics
///
/// There is none.
pub const fn text(path: &str) -> &'static str {
    let mut place = 0;
    while place < ALL.len() {
        if equal(ALL[place].0.as_bytes(), path.as_bytes()) {
            return ALL[place].1;
        }
        place += 1;
    }
    panic!("there is no such scenario")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    a.len() == b.len() && place == a.len()
}

/// The scenario at `path` below `scenarios/`.
///
/// # Panics
///
/// There is none.
pub fn load(path: &str) -> Scenario {
    let text = scenario(path).unwrap_or_else(|| panic!("there is no {path}"));
    match Scenario::load(path, text, &[], None) {
        Ok(loaded) => loaded.scenario,
        Err(problems) => panic!("{problems}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_found_by_its_path() {
        assert!(paths().count() > 60 && paths().is_sorted());
        for path in paths() {
            assert!(
                scenario(path).is_some_and(|text| text.contains("schema = 1")),
                "{path}"
            );
        }
        assert_eq!(scenario("dualq2015/none.toml"), None);
        const TEXT: &str = text("home/evening.toml");
        assert_eq!(scenario("home/evening.toml"), Some(TEXT));
    }
}
