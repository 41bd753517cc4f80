//! Sweeps whose cells run in guests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::stage::Stage;

const SWEEP: &str = r#"
schema = 1
scenario = "scenario.toml"
world = "virtual"
seeds = [1, 2]
set = { "run.duration" = "600ms", "run.warmup" = "200ms" }
[axis]
"link.rate" = ["10mbit", "20mbit"]
"#;

/// `quell sweep WORDS`: its exit code, and what it said of errors.
fn sweep(stage: &Stage, words: &str) -> (Option<i32>, String) {
    let words: Vec<&str> = ["sweep"].into_iter().chain(words.split(' ')).collect();
    let output = stage.quell(&words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stage.left_over(), [] as [&str; 0], "{said}");
    (output.status.code(), said)
}

/// Every file below `root`, by path.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            let inner = tree(&path).into_iter();
            found.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

/// The `cell.json` of each cell.
fn cells(tree: &BTreeMap<String, Vec<u8>>) -> Vec<serde_json::Value> {
    let cells = tree.iter().filter(|(name, _)| name.ends_with("/cell.json"));
    cells
        .map(|(_, bytes)| serde_json::from_slice(bytes).unwrap())
        .collect()
}

#[test]
fn cells_of_guests_repeat_to_the_byte_and_are_not_the_simulators() {
    let Some(stage) = Stage::new("cells_of_guests_repeat_to_the_byte_and_are_not_the_simulators")
    else {
        return;
    };
    fs::write(stage.path().join("s.toml"), SWEEP).unwrap();
    for words in ["s.toml --store two --jobs 2", "s.toml --store one --jobs 1"] {
        assert_eq!(sweep(&stage, words).0, Some(0), "{words}");
    }
    let two = tree(&stage.path().join("two"));
    assert!(two == tree(&stage.path().join("one")));
    let guests = cells(&two);
    assert_eq!(guests.len(), 4);
    for cell in &guests {
        assert_eq!(cell["world"], "virtual");
        assert_eq!(cell["kernel"].as_str().map(str::len), Some(64), "{cell}");
    }
    // The store takes both worlds' cells; none of them is another's.
    let simulated = sweep(&stage, "s.toml --store two --world sim");
    assert_eq!(simulated.0, Some(0), "{}", simulated.1);
    let both = cells(&tree(&stage.path().join("two")));
    assert_eq!(both.len(), 8);
    let of_sim = both.iter().filter(|cell| cell["world"] == "sim");
    assert_eq!(of_sim.count(), 4);
}

#[test]
fn cells_whose_guest_dies_fail_alone_and_run_again_on_request() {
    let Some(stage) = Stage::new("cells_whose_guest_dies_fail_alone_and_run_again_on_request")
    else {
        return;
    };
    let many = format!("{SWEEP}\"group.classic.count\" = [2, 500]\n");
    fs::write(stage.path().join("s.toml"), many).unwrap();
    // Many flows take more memory, by which the kernel knows them.
    let broken = stage.path().join("broken");
    let body = format!(
        "for word do case $word in mem=*) memory=${{word#mem=}};; esac; done\n\
         if [ -e {} ] && [ \"${{memory%M}}\" -gt 400 ]; then echo 'Linux version 7.0.0'\n\
         echo 'Kernel panic - not syncing: on request'; exit 134; fi\nexec {} \"$@\"",
        broken.display(),
        stage.path().join("kernels/true/linux").display()
    );
    stage.fake_kernel("frail", &body, true);
    fs::write(&broken, "").unwrap();
    let run = "s.toml --store store --jobs 1 --kernel frail";
    let (code, said) = sweep(&stage, run);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("4 of 8 cells failed") && said.contains("panicked: on request"),
        "{said}"
    );
    let store = stage.path().join("store");
    let failed = tree(&store);
    let with = |tree: &BTreeMap<String, Vec<u8>>, file: &str| {
        tree.keys().filter(|name| name.ends_with(file)).count()
    };
    assert_eq!(
        (
            with(&failed, "/failed.json"),
            with(&failed, "/summary.json")
        ),
        (4, 4)
    );
    // They stay failed until they are asked for, and then are as the others are.
    assert_eq!(sweep(&stage, run).0, Some(1));
    assert!(tree(&store) == failed);
    fs::remove_file(&broken).unwrap();
    let (code, said) = sweep(&stage, &format!("{run} --retry-failed"));
    assert_eq!(code, Some(0), "{said}");
    let repaired = tree(&store);
    assert_eq!(
        (
            with(&repaired, "/failed.json"),
            with(&repaired, "/summary.json")
        ),
        (0, 8)
    );
    assert_eq!(sweep(&stage, "check store").0, Some(0));
}
