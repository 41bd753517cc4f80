//! Every command knows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::own::project;

/// The program with the two kinds, which cargo builds beside the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap();
    let program = built.join("examples/own");
    let how = "cargo test --workspace builds it; for this test alone: cargo build --workspace --example own";
    assert!(program.exists(), "{}: {how}", program.display());
    program
}

fn own(arguments: &[&str]) -> Output {
    let output = Command::new(program()).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    output
}

fn answer(arguments: &[&str]) -> String {
    let output = own(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let output = own(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn scenario(example: &str) -> String {
    let path = project().join(format!("examples/{example}/mine.toml"));
    path.to_str().unwrap().to_owned()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn listings_and_schema_name_them() {
    let queues = answer(&["queues"]);
    assert!(queues.contains("\nblue "), "{queues}");
    let blue = answer(&["queues", "blue"]);
    for part in [
        "δ1",
        "Feng et al.",
        "It comes from quell 0.1.0.",
        "freeze_time",
    ] {
        assert!(blue.contains(part), "{part}: {blue}");
    }
    let controls: Value = serde_json::from_str(&answer(&["cc", "--json"])).unwrap();
    let gaimd = controls["controls"].as_array().unwrap().iter();
    let gaimd: Vec<&Value> = gaimd.filter(|one| one["name"] == "gaimd").collect();
    let [gaimd] = gaimd[..] else {
        panic!("{controls}")
    };
    assert_eq!(
        (&gaimd["sim"], &gaimd["live"]),
        (&true.into(), &Value::Null)
    );
    let schema: Value = serde_json::from_str(&answer(&["schema"])).unwrap();
    for example in ["own-queue", "own-control"] {
        let text = fs::read_to_string(scenario(example)).unwrap();
        let instance: toml::Value = toml::from_str(&text).unwrap();
        let instance = serde_json::to_value(instance).unwrap();
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&instance)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{example}: {errors:?}");
    }
    // quell itself has neither.
    let mut quell = Command::new(env!("CARGO_BIN_EXE_quell"));
    let output = quell.args(["queues", "blue"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_wrong_is_explained_as_for_any_kind() {
    let file = scenario("own-queue");
    let slip = refusal(&["check", &file, "--set", "link.queue.kind=blu"]);
    assert!(slip.contains("did you mean \"blue\""), "{slip}");
    let slip = refusal(&["check", &file, "--set", "link.queue.incremet=0.1"]);
    assert!(slip.contains("did you mean increment"), "{slip}");
    let range = refusal(&["check", &file, "--set", "link.queue.freeze_time=2min"]);
    assert!(range.contains("1us") || range.contains("1min"), "{range}");
    let file = scenario("own-control");
    for world in ["virtual", "live"] {
        let why = refusal(&["check", &file, "--world", world]);
        let expected = format!("a model of quell 0.1.0 that no kernel has, and the {world} world");
        assert!(why.contains(&expected), "{why}");
    }
}

#[test]
fn runs_comparisons_and_sweeps_have_them_and_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let shorter = ["--duration", "4s", "--set", "run.warmup=1s"];
    let file = scenario("own-queue");
    for name in ["one", "two"] {
        let out = path(name);
        let arguments = ["run", &file, "--out", &out];
        answer(&[&arguments[..], &shorter].concat());
    }
    let same = |name: &str| {
        let read = |run: &str| fs::read(folder.path().join(run).join(name)).unwrap();
        assert!(read("one") == read("two"), "{name}");
    };
    same("summary.json");
    same("histograms.json");
    same("queues.parquet");
    let facts = json(&folder.path().join("one/run.json"));
    let kinds: Vec<&Value> = facts["extensions"].as_array().unwrap().iter().collect();
    let names: Vec<&Value> = kinds.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["blue", "gaimd"]);
    assert_eq!(
        (&kinds[0]["kind"], &kinds[0]["package"]),
        (&"queue".into(), &"quell".into())
    );
    let program_hash = facts["program_sha256"].as_str().unwrap();
    assert_eq!(program_hash.len(), 64);
    let summary = json(&folder.path().join("one/summary.json"));
    let queue = &summary["queues"][0];
    assert!(queue["packets"].as_u64().unwrap() > 1_000, "{queue}");
    assert!(queue["drops"]["aqm"].as_u64().unwrap() > 0, "{queue}");
    // The file that a run leaves is one that the program runs.
    let resolved = path("one/scenario.toml");
    assert!(fs::read_to_string(&resolved).unwrap().contains("\"blue\""));
    answer(&["check", &resolved]);

    let table = answer(
        &[
            &[
                "compare",
                &file,
                "--queue",
                "fifo,blue:increment=0.1",
                "--out",
                &path("compared"),
            ][..],
            &shorter,
        ]
        .concat(),
    );
    assert!(table.contains("blue"), "{table}");

    let file = scenario("own-control");
    let out = path("control");
    answer(&[&["run", &file, "--out", &out][..], &shorter].concat());
    let summary = json(&folder.path().join("control/summary.json"));
    let text = summary.to_string();
    assert!(text.contains("gaimd"), "{text}");
}

/// The identity in the cells of a store.
fn codes(store: &Path) -> Vec<String> {
    let mut codes = Vec::new();
    let mut folders = vec![store.join("cells")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("cell.json") {
                codes.push(json(&path)["code"].as_str().unwrap().to_owned());
            }
        }
    }
    codes.sort();
    codes
}

#[test]
fn a_store_keeps_programs_apart() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(scenario("own-queue")).unwrap();
    let text = text
        .replace("\"20s\"", "\"2s\"")
        .replace("\"5s\"", "\"1s\"");
    fs::write(folder.path().join("short.toml"), text).unwrap();
    let pie = folder.path().join("pie.toml");
    let text = fs::read_to_string(folder.path().join("short.toml")).unwrap();
    fs::write(
        pie,
        text.replace("{ kind = \"blue\", limit = \"60p\" }", "\"pie\""),
    )
    .unwrap();
    let sweep = "schema = 1\nscenario = \"FILE\"\nseeds = [1]\n[axis]\n\"link.queue\" = [\"fifo\", \"QUEUE\"]\n";
    let run = |program: &Path, file: &str, queue: &str| {
        let sweep = sweep.replace("FILE", file).replace("QUEUE", queue);
        fs::write(folder.path().join("s.toml"), sweep).unwrap();
        let mut command = Command::new(program);
        command.args(["sweep", "s.toml", "--store", "store"]);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        codes(&folder.path().join("store"))
    };
    let own = run(&program(), "short.toml", "blue:increment=0.1");
    assert_eq!(own.len(), 2);
    assert!(own[0] == own[1] && own[0].len() == 64, "{own:?}");
    // The same program has its cells; another computes even the one that both know.
    assert_eq!(run(&program(), "short.toml", "blue:increment=0.1"), own);
    let both = run(Path::new(env!("CARGO_BIN_EXE_quell")), "pie.toml", "pie");
    assert_eq!(both.len(), 4, "{both:?}");
    assert_eq!(both.iter().filter(|code| **code == own[0]).count(), 2);
}
