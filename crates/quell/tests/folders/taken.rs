//! Two runs with one `--out`.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::folders::support::{COEXISTENCE, begun, json, names, quell};

#[test]
fn the_second_of_two_runs_with_one_name_is_refused_at_its_start() {
    let folder = tempfile::tempdir().unwrap();
    for seeds in ["run.seeds=[1]", "run.seeds=[1,2]"] {
        let slow = begun(folder.path(), "out");
        let arguments = ["run", COEXISTENCE, "--out", "out", "--set", seeds];
        let second = quell(folder.path(), &arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(2), "{errors}");
        assert!(errors.contains("out is what another run is"), "{errors}");
        kill_process(Pid::from_child(&slow), Signal::INT).unwrap();
        slow.wait_with_output().unwrap();
        // The slow one has its whole result.
        assert_eq!(names(folder.path()), ["out"]);
        assert_eq!(json(&folder.path().join("out/run.json"))["seed"], 1);
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn a_result_whose_name_somebody_took_is_kept_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let slow = begun(folder.path(), "out");
    let theirs = folder.path().join("out");
    fs::create_dir(&theirs).unwrap();
    kill_process(Pid::from_child(&slow), Signal::INT).unwrap();
    let output = slow.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("the result is in out-2"), "{errors}");
    assert_eq!(names(folder.path()), ["out", "out-2"]);
    assert!(names(&theirs).is_empty());
    let kept = json(&folder.path().join("out-2/summary.json"));
    assert_eq!(kept["partial"], true);
}
