//! A turn is one process's at a time, and is free again however that process ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use quell_testing::Turn;

const LOCK: &str = "QUELL_TEST_TURN";

/// Not a test: what the process of the test below does until it is killed.
#[test]
fn role_of_a_process_that_has_the_turn() {
    let Some(path) = std::env::var_os(LOCK) else {
        return;
    };
    let _turn = Turn::of(Path::new(&path)).expect("a lock");
    println!("it has it");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_turn_excludes_other_processes_and_threads_and_ends_with_its_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "turn::role_of_a_process_that_has_the_turn"])
        .args(["--nocapture", "--test-threads=1"])
        .env(LOCK, &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let output = child.stdout.take().expect("its output");
    let said = BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("it has it"));
    assert!(said);
    let taken = |path: &Path| Turn::try_of(path).expect("a lock").is_none();
    assert!(taken(&path));
    child.kill().expect("a kill");
    child.wait().expect("its end");
    // Waits for nobody: the lock went with the process.
    let turn = Turn::of(&path).expect("a lock");
    assert!(std::thread::scope(|scope| {
        let thread = scope.spawn(|| taken(&path));
        thread.join().expect("an answer")
    }));
    drop(turn);
    assert!(!taken(&path));
}

#[test]
fn a_share_goes_beside_other_shares_and_beside_no_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let shares = [1, 2].map(|_| Turn::share_of(&path).expect("a lock"));
    assert!(Turn::try_of(&path).expect("a lock").is_none());
    drop(shares);
    // Waits for nobody, but for a process that another test of this program has just started: until it runs its own program it has what
    // was open here.
    drop(Turn::of(&path).expect("a lock"));
}
