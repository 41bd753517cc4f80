//! `action.yml`: what a step of a workflow runs.

use std::fs;
use std::process::Command;

use crate::Case;
use crate::fixture::{Fake, QUELL};

pub(crate) const CASES: &[Case] = &[(
    "the_step_of_a_workflow_fails_where_an_expectation_does",
    the_step_of_a_workflow_fails_where_an_expectation_does,
)];

/// The shell text of the last step of `action.yml`.
fn step() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../action.yml");
    let text = fs::read_to_string(file).unwrap();
    let (_, last) = text.rsplit_once("run: |\n").unwrap();
    let lines = last
        .lines()
        .map(|line| line.strip_prefix("        ").unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

fn the_step_of_a_workflow_fails_where_an_expectation_does(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(QUELL, folder.path().join("quell")).unwrap();
    let search = format!("{}:/usr/bin:/bin", folder.path().display());
    let run = |program: &str, expect: &str| {
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step()])
            .current_dir(folder.path())
            .env("PATH", &search)
            .env("RUN", program)
            .env("LINK", "--rate 10mbit --rtt 20ms")
            .env("EXPECT", expect)
            .env("JUNIT", "quell.xml");
        let output = fake.output(&mut command);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    };
    let junit = || fs::read_to_string(folder.path().join("quell.xml")).unwrap();
    let two = "program.seconds < 1h\n\nprogram.seconds < 1ns\n";
    let (code, errors) = run("echo $QUELL_LINK && true", two);
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        junit().contains("tests=\"2\"") && junit().contains("failures=\"1\""),
        "{}",
        junit()
    );
    let (code, errors) = run("exit 7", "program.seconds < 1h\n");
    assert_eq!(code, Some(7), "{errors}");
    let (code, errors) = run("true", "");
    assert_eq!(code, Some(0), "{errors}");
    let (code, errors) = run("true", "program.secnds < 1h\n");
    assert!(
        code == Some(125) && errors.contains("program.seconds"),
        "{code:?} {errors}"
    );
}
