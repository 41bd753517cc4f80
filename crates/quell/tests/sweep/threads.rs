//! A limit of processes, which counts threads, as containers and batch systems set it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::sweep::support::{Place, QUELL, SWEEP, err};
use quell_testing::not_run;
use quell_testing::program::copy_program;

/// A user that runs nothing else: the limit counts all of a user's threads.
const USER: &str = "1879048191";

/// quell where it can make no thread; `None` where that cannot be arranged.
fn alone(quell: &Path, folder: &Path, arguments: &str) -> Option<Output> {
    let mut command = if rustix::process::geteuid().is_root() {
        // Root has no limit.
        let mut command = Command::new("setpriv");
        let user = [format!("--reuid={USER}"), format!("--regid={USER}")];
        command.args(user).args(["--clear-groups", "prlimit"]);
        command
    } else {
        Command::new("prlimit")
    };
    command.arg("--nproc=1").arg(quell).current_dir(folder);
    command.args(arguments.split_whitespace()).output().ok()
}

#[test]
fn whoever_can_make_no_thread_has_the_same_results() {
    let test = "whoever_can_make_no_thread_has_the_same_results";
    let place = Place::new(SWEEP);
    let open = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(&place.path("."));
    let quell = place.path("quell");
    copy_program(QUELL.as_ref(), &quell);
    open(&quell);
    let Some(output) = alone(&quell, &place.path("."), "--version") else {
        return not_run(test, "setpriv or prlimit is missing");
    };
    assert!(output.status.success(), "{}", err(&output));
    place.ok("s.toml --store usual --jobs 4");
    for arguments in [
        "run small.toml --set run.seeds=[1,2,3] --jobs 4 --out run",
        "compare small.toml --queue pie,fifo --jobs 4 --out compared",
        "sweep s.toml --store alone --jobs 4",
        "sweep s.toml --store alone --jobs 4",
        "sweep check alone",
        "sweep merge more alone",
        "sweep table alone --out alone.csv",
        "sweep table alone --over-seeds --out pooled.csv",
        "report run",
        "characterize fifo --only mild --seeds 2 --duration 10s --jobs 4 --out card",
    ] {
        let output = alone(&quell, &place.path("."), arguments).unwrap();
        assert!(output.status.success(), "{arguments}: {}", err(&output));
    }
    assert!(place.tree("alone") == place.tree("usual"));
    assert!(place.tree("more") == place.tree("usual"));
}
