//! `quell reproduce`: the list, verdicts, shards, an interrupt and a full disk, on experiments that are short.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const QUELL: &str = env!("CARGO_BIN_EXE_quell");

fn reproduce(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(QUELL);
    command.arg("reproduce").args(words.split_whitespace());
    command.current_dir(folder).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn ok(folder: &Path, words: &str) -> String {
    let output = reproduce(folder, words);
    assert!(output.status.success(), "{words}: {}", err(&output));
    out(&output)
}

/// Every file of the cells of a store, by its name.
fn cells(store: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![store.join("cells")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(store).unwrap().display().to_string();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_list_has_every_source_and_json_has_every_statement() {
    let folder = tempfile::tempdir().unwrap();
    let list = ok(folder.path(), "");
    assert_eq!(list, ok(folder.path(), "list"));
    for id in [
        "dualq2015/demonstration",
        "gsp2014/e4",
        "homegateway2011/m3",
    ] {
        assert!(list.contains(id), "{list}");
    }
    let json: serde_json::Value = serde_json::from_str(&ok(folder.path(), "list --json")).unwrap();
    let all = json.as_array().unwrap();
    assert!(
        all.iter()
            .all(|one| !one["statements"].as_array().unwrap().is_empty())
    );
    let some: serde_json::Value =
        serde_json::from_str(&ok(folder.path(), "list gsp2014 --json")).unwrap();
    let some = some.as_array().unwrap();
    assert!(!some.is_empty() && some.len() < all.len());
}

#[test]
fn an_unknown_id_names_those_that_are_near_and_wrong_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (words, said) in [
        ("gsp2014/e44", "did you mean gsp2014/e4"),
        ("m3", "homegateway2011/m3"),
        ("xyz", "quell reproduce lists them"),
        ("gsp2014/e4 --world live", "does not repeat"),
        ("gsp2014/e4 --kernel 6.1", "--kernel has an effect only"),
        ("gsp2014/e4 --report book.pdf", ".html"),
        ("gsp2014/e4 --quick --full", "cannot be used with"),
        ("gsp2014/e4 --shard 3/2", "must be K/N"),
    ] {
        let output = reproduce(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", err(&output));
        assert!(err(&output).contains(said), "{words}: {}", err(&output));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Runs with `--quick` are short; two of its experiments have the same ones.
const SOME: &str = "homegateway2011/m6 homegateway2011/m1 gsp2014/e5 --quick --store s";

#[test]
fn shards_together_are_the_whole_and_a_second_call_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dry = ok(folder.path(), &format!("{SOME} --dry-run"));
    assert!(
        dry.contains("to run, about") && !folder.path().join("s").exists(),
        "{dry}"
    );
    let whole = ok(folder.path(), SOME);
    assert!(
        whole.contains("3 experiments ran; too short to judge"),
        "{whole}"
    );
    assert!(whole.contains("0 runs were there"), "{whole}");
    let again = ok(folder.path(), SOME);
    assert!(again.contains(", 0 ran:"), "{again}");
    let parts = SOME.replace("--store s", "--store parts");
    let first = ok(folder.path(), &format!("{parts} --shard 1/2"));
    assert!(
        first.contains("are missing") && first.contains("not complete"),
        "{first}"
    );
    ok(folder.path(), &format!("{parts} --shard 2/2"));
    let [whole, parts] = ["s", "parts"].map(|name| cells(&folder.path().join(name)));
    assert!(whole == parts && !whole.is_empty());
}

#[test]
fn verdicts_are_printed_as_text_as_json_and_as_a_book() {
    let folder = tempfile::tempdir().unwrap();
    let text = ok(
        folder.path(),
        "contrast/dctcp-step --store s --report book.html",
    );
    assert!(text.contains("statements reproduced, 1 differ"), "{text}");
    assert!(text.contains("why        "), "{text}");
    let book = fs::read_to_string(folder.path().join("book.html")).unwrap();
    for part in [
        "<h2>Queues that the others are compared with</h2>",
        "contrast/dctcp-step",
        "<td class=\"word missed\">differs</td>",
        "<td class=\"word met\">reproduced</td>",
        "class=\"quell-plot\"",
        "published: top",
        "Content-Security-Policy",
        "quell reproduce contrast/dctcp-step",
    ] {
        assert!(book.contains(part), "{part}");
    }
    // It asks for nothing from elsewhere.
    let elsewhere = ["src=\"", "href=\"http", "url(http", "@import"];
    assert!(elsewhere.iter().all(|word| !book.contains(word)));
    let json = ok(folder.path(), "contrast/dctcp-step --store s --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let statements = json[0]["statements"].as_array().unwrap();
    assert_eq!(statements[0]["id"], "contrast/dctcp-step#mean");
    let verdicts: Vec<&str> = statements
        .iter()
        .map(|one| one["verdict"].as_str().unwrap())
        .collect();
    assert!(verdicts.contains(&"reproduced") && verdicts.contains(&"differs"));
    let second = ok(
        folder.path(),
        "contrast/dctcp-step --store s --report again.html",
    );
    assert!(second.contains(", 0 ran:"), "{second}");
    let again = fs::read_to_string(folder.path().join("again.html")).unwrap();
    assert!(
        again == book,
        "a book of results that were read back is the same"
    );
}

/// A file system that takes no more than one kilobyte of a file: as on a full disk a write fails.
#[test]
fn a_full_disk_is_an_error_with_nothing_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("ulimit -f 2; exec {QUELL} reproduce {SOME} --report book.html");
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("File too large"), "{}", err(&output));
    assert!(!folder.path().join("book.html").exists());
    ok(folder.path(), SOME);
    ok(folder.path(), &SOME.replace("--store s", "--store whole"));
    let [resumed, whole] = ["s", "whole"].map(|name| cells(&folder.path().join(name)));
    assert!(resumed == whole);
}

#[test]
fn an_interrupt_keeps_what_is_done_and_ends_by_the_signal() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(QUELL);
    // Minutes in full.
    command.args(["reproduce", "gsp2014", "--store", "s", "--jobs", "1"]);
    command.current_dir(folder.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let began = Instant::now();
    while !folder.path().join("s/plan.json").exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{}", err(&output));
    assert!(
        err(&output).contains("the same command goes on"),
        "{}",
        err(&output)
    );
    let unfinished = fs::read_dir(folder.path().join("s")).unwrap();
    let names = unfinished.map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(
        names.iter().all(|name| !name.starts_with(".unfinished")),
        "{names:?}"
    );
}

/// A scenario and an experiment of somebody else, in a folder that knows no repository.
fn paper(folder: &Path) -> String {
    let scenario = "schema = 1\nname = \"home\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"downloads\"\ncount = 2\n\
        rtt = \"20ms\"\napp = \"bulk\"\n[run]\nduration = \"6s\"\nwarmup = \"2s\"\n";
    fs::write(folder.join("home.toml"), scenario).unwrap();
    fs::write(
        folder.join("printed.csv"),
        "queue,kind,delay\ndrop-tail,fifo,80\nPIE,pie,15\n",
    )
    .unwrap();
    let paper = r#"
schema = 1
title = "A short queue at home"
source = "my notes"
scenario = "home.toml"
set = { "link.queue.kind" = "{kind}" }
seeds = 2
what = "{row}: {label}"
[axis.row]
file = "printed.csv"
label = "{queue}"
[figure]
delay = "queue.queue.delay_ms.mean"
used = "100 * link.utilisation"
[statement.order]
published = "PIE waits less"
checked = "less than half of drop-tail"
check = { holds = "2 * delay[row = 'PIE'] < delay[row = 'drop-tail']", what = "PIE {delay[row = 'PIE']} ms", each = [] }
guard = { figure = "used", above = 101, where = "row == 'PIE'", what = "the link is more than full" }
[statement.number]
published = "80 ms with drop-tail"
checked = "within 1 %"
check = { figure = "delay", within = 1, only = ["drop-tail"] }
differs = "the notes do not say the buffer"
[statement.pages]
published = "pages come sooner"
cannot = "no page was loaded"
[table.main]
columns = [["queue", "{row}"], ["delay, ms", "{delay:±1}"]]
[csv."delays.csv"]
columns = [["queue", "{row}"], ["published", "{published.delay}"], ["delay_ms", "{delay:.3}"]]
[[picture]]
title = "Mean delay"
axis = "ms"
pairs = [{ label = "{row}", ours = "delay", published = "published.delay" }]
[page]
text = "The table:\n\n{table.main}"
"#;
    fs::write(folder.join("paper.toml"), paper).unwrap();
    paper.to_owned()
}

#[test]
fn a_paper_of_ones_own_is_reproduced_in_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    paper(folder.path());
    let text = ok(folder.path(), "paper.toml --tables out --report book.html");
    for part in [
        "paper: A short queue at home",
        "order: reproduced",
        "number: differs",
        "the notes do not say the buffer",
        "pages: cannot be judged",
        // A guard that does not hold is a note, and decides nothing.
        "its guard does not hold: the link is more than full",
        "| queue     | delay, ms",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = fs::read_to_string(folder.path().join("out/delays.csv")).unwrap();
    assert!(
        csv.starts_with("queue,published,delay_ms\ndrop-tail,80,"),
        "{csv}"
    );
    assert!(
        fs::read_to_string(folder.path().join("out/paper.md"))
            .unwrap()
            .contains("The table:")
    );
    let book = fs::read_to_string(folder.path().join("book.html")).unwrap();
    assert!(
        book.contains("Own experiments") && book.contains("<svg"),
        "{book}"
    );
    // Its runs are kept by their content.
    let again = ok(folder.path(), "paper.toml");
    assert!(again.contains("4 runs were there, 0 ran"), "{again}");
    let list: serde_json::Value =
        serde_json::from_str(&ok(folder.path(), "list paper.toml --json")).unwrap();
    assert_eq!(
        (&list[0]["id"], &list[0]["runs"]),
        (&"paper".into(), &4.into())
    );
}

#[test]
fn what_was_judged_with_the_same_inputs_does_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    paper(folder);
    let words = "paper.toml --changed";
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    // Too short a run, and a part of one, say nothing about the next.
    ok(folder, "paper.toml --quick");
    ok(folder, "paper.toml --shard 1/1");
    assert!(!folder.join("paper.checked").exists());
    let is_unchanged = || {
        let text = ok(folder, words);
        let unchanged = text.contains("paper: unchanged since it was last judged: 1 statement");
        assert_eq!(unchanged, !text.contains("runs were there"), "{text}");
        unchanged
    };
    assert!(!is_unchanged());
    assert!(is_unchanged());
    // Without the store too, which is not there afterwards either.
    fs::remove_dir_all(folder.join("results")).unwrap();
    let kept = ok(folder, words);
    let verdicts = "1 experiment: 1 statement reproduced, 1 differ, 1 cannot be judged";
    assert!(kept.contains(verdicts), "{kept}");
    assert!(!folder.join("results").exists());
    let json: serde_json::Value =
        serde_json::from_str(&ok(folder, &format!("{words} --json"))).unwrap();
    assert_eq!(
        (&json[0]["unchanged"], &json[0]["differ"]),
        (&true.into(), &1.into())
    );
    // What it is made of is another: it runs once.
    for (name, old, new) in [
        ("paper.toml", "2 * delay", "3 * delay"),
        ("printed.csv", "pie,15", "pie,16"),
        ("home.toml", "\"6s\"", "\"5s\""),
    ] {
        write(name, &read(name).replace(old, new));
        assert!(!is_unchanged(), "{name}");
        assert!(is_unchanged(), "{name}");
    }
    // Nor is a line believed that no run has written.
    let line = read("paper.checked");
    for (old, new) in [
        ("1 1 1", "1 1 x"),
        ("1 1 1", "3 1 1"),
        (" paper", " pap"),
        (&line[..8], ""),
    ] {
        write("paper.checked", &line.replacen(old, new, 1));
        assert!(!is_unchanged(), "{new}");
    }
    // Lines of something else stay, and a link to elsewhere gives way to the file.
    write("elsewhere", "mine\n");
    fs::remove_file(folder.join("paper.checked")).unwrap();
    std::os::unix::fs::symlink("elsewhere", folder.join("paper.checked")).unwrap();
    assert!(!is_unchanged());
    assert_eq!(read("paper.checked"), format!("mine\n{line}"));
    assert_eq!(read("elsewhere"), "mine\n");
    // What could not run is not as it was.
    write("printed.csv", &read("printed.csv").replace("fifo", "fio"));
    let output = reproduce(folder, words);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    // A folder that cannot be written to is a note.
    write("printed.csv", &read("printed.csv").replace("fio", "fifo"));
    fs::remove_file(folder.join("paper.checked")).unwrap();
    fs::create_dir(folder.join("paper.checked")).unwrap();
    let output = reproduce(folder, words);
    let note = "note: --changed will run this again: ";
    assert!(
        output.status.success() && err(&output).contains(note),
        "{}",
        err(&output)
    );
}

#[test]
fn the_line_of_a_shipped_experiment_lies_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let words = "contrast/dctcp-step --store s --changed";
    assert!(ok(folder.path(), words).contains("0 runs were there"));
    let none = ok(folder.path(), words);
    let is_unchanged = none.starts_with("contrast/dctcp-step: unchanged");
    assert!(is_unchanged && !none.contains("runs were"), "{none}");
    let lines = fs::read_to_string(folder.path().join("s/reproduce.checked")).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    for other in ["--quick", "--shard 1/2", "--tables t", "--report b.html"] {
        let output = reproduce(folder.path(), &format!("{words} {other}"));
        let error = err(&output);
        assert!(error.contains("cannot be used with"), "{error}");
    }
}

#[test]
fn a_wrong_paper_is_refused_with_line_key_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let paper = paper(folder.path());
    for (old, new, expected) in [
        ("schema = 1", "schema = ", "paper.toml:2: "),
        (
            "seeds = 2",
            "seeds = \"two\"",
            "paper.toml:7: seeds = \"two\": must be a number of seeds",
        ),
        (
            "100 * link.utilisation",
            "100 * lnk",
            "paper.toml:14: figure.used: at character 7: there is no figure, field or axis lnk",
        ),
        (
            "within = 1",
            "withing = 1",
            "unknown key (did you mean within?)",
        ),
        (
            "home.toml",
            "hom.toml",
            "there is no scenario \"hom.toml\", neither beside the experiment nor among those of quell",
        ),
        (
            "printed.csv",
            "print.csv",
            "there is no such file beside the experiment",
        ),
        (
            "\"link.queue.kind\"",
            "\"link.queue.knd\"",
            "link.queue.knd",
        ),
    ] {
        assert!(paper.contains(old), "{old}");
        fs::write(
            folder.path().join("paper.toml"),
            paper.replacen(old, new, 1),
        )
        .unwrap();
        let output = reproduce(folder.path(), "paper.toml");
        assert_eq!(output.status.code(), Some(2), "{new}: {}", err(&output));
        assert!(err(&output).contains(expected), "{new}: {}", err(&output));
    }
    let output = reproduce(folder.path(), "none.toml");
    assert!(
        output.status.code() == Some(2) && err(&output).contains("none.toml: "),
        "{}",
        err(&output)
    );
}
