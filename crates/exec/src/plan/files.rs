//! Files that a scenario or an option names. Each is read once: what is checked again while the program runs is what was read at the start,
//! whatever has become of the file, and a pipe has its content only once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use quell_scenario::{Origin, ReadFile};

/// The longest file, in bytes; a longer one is the wrong file.
const LONGEST: u64 = 512 << 20;

/// Why a file has no text.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("it has more than {LONGEST} bytes")]
    Long,
}

/// What was read so far; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Files(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    texts: BTreeMap<PathBuf, Arc<str>>,
    are_there: BTreeMap<String, bool>,
}

impl Files {
    /// Reads what stands in a scenario relative to `folder`, and what stands in an option relative to the current folder.
    pub(super) fn reader(&self, folder: &Path) -> ReadFile {
        let (files, folder) = (self.clone(), folder.to_owned());
        Box::new(move |name, origin| {
            let path = match origin {
                Origin::Argument(_) => PathBuf::from(name),
                _ => folder.join(name),
            };
            let text = files.read(&path);
            text.map_err(|why| format!("cannot read {}: {why}", path.display()).into())
        })
    }

    /// The text of a file that an option names; `None` where it cannot be read, which whoever reads it for good says.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.read(Path::new(name)).ok()
    }

    /// Whether there is something with this name, as of the first time that it was asked.
    pub(super) fn is_there(&self, name: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = known.are_there.entry(name.to_owned());
        *is_there.or_insert_with(|| Path::new(name).exists())
    }

    fn read(&self, path: &Path) -> Result<String, Unreadable> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known.texts.get(path) {
            return Ok(text.to_string());
        }
        let text = read(path)?.ok_or(Unreadable::Long)?;
        let kept = Arc::from(text.as_str());
        known.texts.insert(path.to_owned(), kept);
        Ok(text)
    }
}

/// `None` for what is too long.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    Ok((text.len() as u64 <= LONGEST).then_some(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_what_it_was_when_it_was_first_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lte.csv");
        fs::write(&path, "first").unwrap();
        let files = Files::default();
        let read = files.clone().reader(folder.path());
        assert_eq!(read("lte.csv", &Origin::Line(1)).unwrap(), "first");
        let absolute = path.to_str().unwrap();
        assert!(files.is_there(absolute));
        fs::remove_file(&path).unwrap();
        assert!(files.is_there(absolute) && !files.is_there("none.csv"));
        let again = files.reader(Path::new("elsewhere"));
        let argument = Origin::Argument("--down-trace".to_owned());
        assert_eq!(again(absolute, &argument).unwrap(), "first");
        let why = again("none.csv", &argument).unwrap_err();
        assert!(
            why.to_string().starts_with("cannot read none.csv: "),
            "{why}"
        );
        let why = again("none.csv", &Origin::Line(1)).unwrap_err();
        assert!(why.to_string().contains("elsewhere"), "{why}");
    }
}
