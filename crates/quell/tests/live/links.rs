//! Several links in a row in real time.

use std::fs;
use std::process::Command;

use quell_testing::{Missed, Run, bound, live};

use crate::in_a_row::{self, number};
use crate::support::*;

#[test]
fn real_packets_cross_two_links() {
    let test = "real_packets_cross_two_links";
    live(test, |run| crosses(test, run));
}

fn crosses(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    fs::write(&file, in_a_row::SCENARIO).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    command
        .arg("run")
        .arg(&file)
        .args(["--world", "live", "--json", "--out"]);
    let output = command.arg(folder.path().join("out")).output().unwrap();
    let told = summary(&output);
    note(run, &told, 20.0);
    in_a_row::check(&told);
    let [before, after] = in_a_row::busy(&told);
    bound!(before[0] > 0.9, "{before:?}");
    // One CUBIC flow leaves its queue empty for a moment after each drop: 0.97 to 1 in the simulator, 0.93 to 0.98 in real time.
    bound!(after[0] > 0.85 && after[1] < 0.7, "{after:?}");
    bound!(number(&told, "/links/0/lost_outside") == 0.0, "{told:#}");
    Ok(())
}
