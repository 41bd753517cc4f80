//! Every script of a folder, for tests.

use std::fs;
use std::path::Path;

use crate::judge::judge;
use crate::script::Subject;
use crate::{Script, Transcript, model};

/// Names and texts of the scripts (`*.tcp`) of a folder, in the order of names.
///
/// # Panics
/// The folder or a script of it cannot be read, or there is none.
pub fn scripts(folder: &Path) -> Vec<(String, String)> {
    let read = |path: &Path| {
        let text = fs::read_to_string(path);
        text.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut scripts: Vec<_> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tcp"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            (name.into_owned(), read(&path))
        })
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "{}: no scripts", folder.display());
    scripts
}

/// What differs between a script and an answer to it, with the whole answer; `None` if nothing does.
pub fn differences(
    name: &str,
    script: &Script,
    transcript: &Transcript,
    subject: &Subject,
) -> Option<String> {
    let differences = judge(script, transcript, subject);
    (!differences.is_empty()).then(|| {
        format!(
            "{name}, {subject}:\n{}\n{transcript}",
            differences.join("\n")
        )
    })
}

/// Replays every script of a folder on `quell-tcp`, whose controls are those of quell and the registered ones.
///
/// # Panics
/// A script is none, or the model does not keep it.
pub fn model_keeps(folder: &Path) {
    let wrong = scripts(folder).into_iter().filter_map(|(name, text)| {
        let script = Script::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let transcript = model::replay(&script).unwrap_or_else(|error| panic!("{name}: {error}"));
        differences(&name, &script, &transcript, &Subject::Model)
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
