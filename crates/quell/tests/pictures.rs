//! `quell plot` as people call it, and the pictures of the README, which it made.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quell_testing::compare_or_bless;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");

const SCENARIO: &str = r#"
schema = 1
name = "small"
[link]
rate = "10mbit"
queue = "dualpi2"
[[group]]
name = "a"
count = 2
rtt = "10ms"
app = "bulk"
[run]
duration = "2s"
warmup = "500ms"
seeds = [1, 2]
"#;

fn quell(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(QUELL);
    command.args(words.split(' ')).current_dir(folder);
    command.output().unwrap()
}

fn ok(folder: &Path, words: &str) -> String {
    let output = quell(folder, words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, words: &str) -> String {
    let output = quell(folder, words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}: {errors}");
    errors
}

/// A folder with a comparison of two queues and two seeds.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SCENARIO).unwrap();
    ok(folder.path(), "compare s.toml --queue fifo,dualpi2 --out r");
    folder
}

#[test]
fn a_comparison_is_one_picture_and_the_same_one_each_time() {
    let folder = place();
    let folder = folder.path();
    assert_eq!(ok(folder, "plot r"), "overview.svg\n");
    let first = fs::read_to_string(folder.join("overview.svg")).unwrap();
    for word in ["dualpi2", "fifo", "P99 of the delay", "2 seeds", "marked"] {
        assert!(first.contains(word), "{word}");
    }
    let said = refused(folder, "plot r");
    assert!(
        said.contains("overview.svg is there already; -o overview.svg replaces it"),
        "{said}"
    );
    ok(folder, "plot r -o overview.svg");
    assert_eq!(
        fs::read_to_string(folder.join("overview.svg")).unwrap(),
        first
    );
    let list = ok(folder, "plot --list");
    let kinds = list.lines().filter(|line| !line.starts_with(' '));
    for kind in kinds.map(|line| line.split(' ').next().unwrap()) {
        let output = quell(folder, &format!("plot r --kind {kind} -o -"));
        match kind {
            "completion" | "levels" => assert_eq!(output.status.code(), Some(2), "{kind}"),
            _ => assert!(output.stdout.starts_with(b"<svg "), "{kind}"),
        }
    }
}

#[test]
fn a_name_that_ends_with_png_gives_pixels_as_many_as_asked_for() {
    let folder = place();
    let folder = folder.path();
    let svg = ok(folder, "plot r --kind delay -o -");
    // Of `<svg … width="W" height="H"`.
    let points = |key: &str| -> u32 {
        let after = svg.split_once(&format!(" {key}=\"")).unwrap().1;
        after.split_once('"').unwrap().0.parse().unwrap()
    };
    let points = (points("width"), points("height"));
    // The header of a PNG: width and height at the 16th byte.
    let size = |file: &[u8]| {
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n"));
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    };
    for (words, times) in [("", 2), (" --scale 1", 1), (" --scale 3", 3)] {
        ok(folder, &format!("plot r --kind delay -o x.png{words}"));
        let first = fs::read(folder.join("x.png")).unwrap();
        assert_eq!(size(&first), (times * points.0, times * points.1));
        ok(folder, &format!("plot r --kind delay -o x.png{words}"));
        assert!(fs::read(folder.join("x.png")).unwrap() == first, "{words}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_and_leaves_nothing() {
    let folder = place();
    let folder = folder.path();
    for (words, said) in [
        ("plot r --kind dely", "did you mean delay?"),
        (
            "plot r -o x.gif",
            "pictures are written as .svg, .pdf or .png",
        ),
        ("plot r -o x.png --scale 9", "must be from 0.5 to 8"),
        ("plot r -o x.png --scale NaN", "must be from 0.5 to 8"),
        ("plot s.toml", "an experiment has statements"),
        ("plot .", "is no result"),
        ("plot", "required"),
        ("plot r --kind levels", "app = { kind = \"has\" }"),
    ] {
        let output = quell(folder, words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(said),
            "{words}: {errors}"
        );
    }
    if Path::new("/dev/full").exists() {
        let output = quell(folder, "plot r -o missing/x.svg");
        assert_eq!(output.status.code(), Some(1));
    }
    let mut left: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    left.sort();
    assert_eq!(left, [folder.join("r"), folder.join("s.toml")]);
}

#[test]
fn a_figure_of_a_store_is_drawn_against_an_axis_beside_what_was_published() {
    let folder = place();
    let folder = folder.path();
    let sweep = "schema = 1\nscenario = \"s.toml\"\n[axis]\n\"link.rate\" = [\"5mbit\", \"10mbit\"]\n\"link.queue\" = [\"fifo\", \"pie\"]\n";
    fs::write(folder.join("w.toml"), sweep).unwrap();
    ok(folder, "sweep w.toml --store w");
    fs::write(folder.join("p.csv"), "rate,share\n5,0.9,paper\n").unwrap();
    let words = "plot w --figure link.utilisation --beside p.csv -o -";
    let svg = ok(folder, words);
    for word in [
        "link.utilisation against link.rate",
        "link.rate, Mbit/s",
        "published paper",
        "pie",
    ] {
        assert!(svg.contains(word), "{word}");
    }
    fs::write(folder.join("p.csv"), "5,0.9\n6;0.8\n").unwrap();
    for (words, said) in [
        (words, "p.csv:2: 6;0.8: must be x,y or x,y,label"),
        ("plot w --figure link.use", "there is no column link.use"),
        (
            "plot w --against link",
            "with several values; there are link.rate, link.queue",
        ),
        (
            "plot r --figure link.utilisation",
            "are for one store of a sweep, or one experiment file",
        ),
    ] {
        let errors = refused(folder, words);
        assert!(errors.contains(said), "{words}: {errors}");
    }
}

/// Made by the commands beside them. `make bless` writes them anew.
#[test]
fn the_pictures_of_the_readme_are_those_of_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    ok(folder, "demo --out results/demo");
    for kind in ["delay", "ccdf"] {
        let svg = ok(folder, &format!("plot results/demo --kind {kind} -o -"));
        compare_or_bless(&images.join(format!("{kind}.svg")), &svg);
    }
}

#[test]
fn a_report_is_one_file_of_modest_size() {
    let folder = place();
    let folder = folder.path();
    assert_eq!(ok(folder, "report r"), "report.html\n");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    for word in [
        "What was asked",
        "Each figure is the mean of 2 runs ± its standard error.",
        "fifo",
        "dualpi2",
        "No warnings",
        "compare s.toml",
        "2 queues (fifo, dualpi2)",
    ] {
        assert!(page.contains(word), "{word}");
    }
    let said = refused(folder, "report r");
    assert!(said.contains("report.html is there already"), "{said}");
    let said = refused(folder, "report r -o report.pdf");
    assert!(said.contains("is written as .html"), "{said}");
    fs::create_dir(folder.join("c")).unwrap();
    fs::write(folder.join("c/card.json"), "{}").unwrap();
    let said = refused(folder, "report c -o c.html");
    assert!(said.contains("c/card.json: no report card"), "{said}");
    let said = refused(folder, "report r c -o c.html");
    assert!(
        said.contains("c: a card or a store has a report of its own"),
        "{said}"
    );
}

#[test]
fn commands_that_run_write_the_report_of_what_they_ran() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("s.toml"), SCENARIO).unwrap();
    let told = ok(folder, "run s.toml --report run.html");
    assert!(told.ends_with("report in run.html\n"), "{told}");
    // With JSON nothing else is printed.
    let told = ok(
        folder,
        "compare s.toml --queue fifo,pie --report compare.html --json",
    );
    assert!(
        serde_json::from_str::<serde_json::Value>(&told).is_ok(),
        "{told}"
    );
    for (name, words) in [("run.html", "dualpi2"), ("compare.html", "pie")] {
        assert!(
            fs::read_to_string(folder.join(name))
                .unwrap()
                .contains(words),
            "{name}"
        );
    }
    // What cannot be written is refused before anything runs.
    let results = || fs::read_dir(folder.join("results")).unwrap().count();
    let before = results();
    refused(folder, "run s.toml --report run.txt");
    refused(folder, "run s.toml --open");
    assert_eq!(results(), before);
}

#[test]
fn a_full_disk_leaves_no_half_of_a_picture_or_report() {
    let folder = place();
    for words in ["plot r -o x.svg", "plot r -o x.png", "report r -o x.html"] {
        // Blocks of 512 bytes.
        let limited = format!("ulimit -f 8; exec {QUELL} {words}");
        let output = Command::new("sh")
            .args(["-c", &limited])
            .current_dir(folder.path())
            .output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}: {errors}");
        assert!(errors.contains("cannot write x."), "{errors}");
        let left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}
