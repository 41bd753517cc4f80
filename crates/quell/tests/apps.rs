//! `quell apps` lists and explains every application with all that its table holds.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Exit code, standard output, standard error.
fn told(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    let output = command.env_remove("COLUMNS").args(arguments).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn every_application_is_listed_and_explained_with_its_presets_figures_and_events() {
    let (code, list, _) = told(&["apps"]);
    assert_eq!(code, 0);
    for entry in quell_app::KINDS {
        assert!(list.contains(entry.name), "{list}");
        let (code, out, _) = told(&["apps", entry.name]);
        assert_eq!(code, 0, "{}", entry.name);
        let presets = entry.presets.iter().map(|preset| preset.name);
        let parameters = entry.parameters.iter().map(|row| row.name);
        let forms = (entry.forms)();
        let figures = forms
            .iter()
            .flat_map(|form| form.figures.iter().map(|figure| figure.name));
        let events = entry.events.iter().map(|event| event.kind);
        for name in presets
            .clone()
            .chain(parameters)
            .chain(figures)
            .chain(events)
        {
            assert!(out.contains(name), "{name} of {}: {out}", entry.name);
        }
        for name in presets {
            assert!(list.contains(name), "{name}: {list}");
        }
    }
    let (code, _, errors) = told(&["apps", "wbe"]);
    assert!(
        code == 2 && errors.contains("did you mean web?"),
        "{errors}"
    );
}
