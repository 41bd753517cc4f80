//! The files of the folder `experiments/`, inside the program.

/// Path below `experiments/`, and text.
const ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// The text of the file at `path` below `experiments/`.
pub fn text(path: &str) -> Option<&'static str> {
    let place = ALL.binary_search_by_key(&path, |(name, _)| name).ok()?;
    Some(ALL[place].1)
}

/// The paths of all of them, in order.
pub fn paths() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}
