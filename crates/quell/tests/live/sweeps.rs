//! A sweep with real packets.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{QUELL, beside_others, can_run};

const SCENARIO: &str = r#"
schema = 1
name = "small"
[link]
rate = "10mbit"
queue = "fq_codel"
[[group]]
name = "a"
rtt = "10ms"
congestion-control = "cubic"
app = "bulk"
[run]
duration = "700ms"
warmup = "200ms"
"#;

const SWEEP: &str = "schema = 1\nscenario = \"small.toml\"\nworld = \"live\"\nseeds = [1, 2]\n[axis]\n\"link.queue\" = [\"pie\"]\n";

#[test]
fn cells_with_real_packets_are_measured_once_and_never_taken_for_repeatable() {
    if !can_run("cells_with_real_packets_are_measured_once_and_never_taken_for_repeatable") {
        return;
    }
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SCENARIO).unwrap();
    fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    let sweep = |words: &str| -> (Output, String) {
        let mut command = Command::new(QUELL);
        command.arg("sweep").args(words.split(' '));
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output, said)
    };
    let ends = |words: &str, code: i32| {
        let (output, said) = sweep(words);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}");
        said
    };
    ends("s.toml --store one", 0);
    let said = ends("s.toml --store one", 2);
    assert!(said.contains("--reuse-live"), "{said}");
    let (output, said) = sweep("s.toml --store one --reuse-live");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("2 were there, 0 ran"), "{told}{said}");
    ends("check one", 0);
    // What was measured twice differs, and merging says so.
    ends("s.toml --store two", 0);
    ends("merge both one", 0);
    let said = ends("merge both two", 1);
    assert!(said.contains("not deterministic"), "{said}");
    ends("table one --out one.csv", 0);
    let table = fs::read_to_string(folder.path().join("one.csv")).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    let cells = folder.path().join("one/cells");
    let inner = |path| fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
    let cell = fs::read(inner(inner(cells)).join("cell.json")).unwrap();
    let cell: Value = serde_json::from_slice(&cell).unwrap();
    let kernel = rustix::system::uname();
    assert_eq!(cell["world"], "live");
    assert_eq!(cell["kernel"], kernel.release().to_str().unwrap());
}
