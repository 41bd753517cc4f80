//! What the binary prints is fit for the terminal that it prints on: narrow, usual and wide.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A 100/20 Mbit/s access whose upload is the bottleneck, and a call beside it.
const ACCESS: &str = r#"
schema = 1
name = "access"
[link]
rate = "100mbit"
queue = { kind = "fifo", limit = "50ms" }
[link.reverse]
rate = "20mbit"
queue = { kind = "fifo", limit = "100ms" }
[[group]]
name = "download"
count = 2
rtt = "20ms"
app = { kind = "bulk" }
[[group]]
name = "upload"
count = 4
direction = "reverse"
rtt = "20ms"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "20ms"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms", stddev = "1ms" } }
[run]
duration = "8s"
warmup = "3s"
"#;

/// Labels that differ at their end.
const ALIKE: &str = "dualpi2:step_thresh=1ms,target=15ms,dualpi2:step_thresh=5ms,target=15ms";

fn quell(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    command.current_dir(folder).env_remove("COLUMNS");
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("access.toml"), ACCESS).unwrap();
    folder
}

/// Standard output of a run that must succeed.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Paths and long words excepted, nothing is wider than the page.
#[track_caller]
fn fits(text: &str, columns: usize) {
    for line in text.lines().filter(|line| !line.contains("results in ")) {
        let words = line.split_whitespace().map(|word| word.chars().count());
        let longest = words.max().unwrap_or(0);
        let width = line.chars().count();
        assert!(width <= columns.max(longest), "{columns}: {line}\n{text}");
    }
}

#[test]
fn tables_fit_a_narrow_a_usual_and_a_wide_page() {
    let folder = folder();
    for columns in [40, 80, 200] {
        let width = columns.to_string();
        let quell = |arguments: &[&str]| {
            printed(quell(folder.path()).env("COLUMNS", &width).args(arguments))
        };
        let run = quell(&["run", "access.toml"]);
        let compare = quell(&["compare", "access.toml", "--queue", ALIKE]);
        let seeds = [
            "--set",
            "run.seeds=[1,2,3]",
            "--set",
            "run.duration=5s",
            "--range",
        ];
        let mean = quell(&[&["run", "access.toml"], &seeds[..]].concat());
        for text in [&run, &compare, &mean] {
            fits(text, columns);
            for part in [
                "download",
                "upload",
                "voice",
                "P99 ms",
                "jitter ms",
                "lost %",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        // Each label says how it differs, also where it is short.
        for label in ["step_thresh=1ms", "step_thresh=5ms"] {
            assert!(compare.matches(label).count() >= 3, "{columns}: {compare}");
        }
        // A wide page has more, a narrow one the same in rows of more lines: each table has its head once.
        assert_eq!(compare.contains("P99.9 ms"), columns == 200, "{compare}");
        let heads = compare.lines().filter(|line| line.contains("mean ms"));
        assert!(columns != 200 || heads.count() == 3, "{compare}");
        let widest = compare.lines().map(|line| line.chars().count()).max();
        assert!(columns != 200 || widest > Some(140), "{compare}");
    }
}

#[test]
fn a_terminal_says_how_wide_it_is() {
    let folder = folder();
    for columns in [40, 200] {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new())
            .unwrap()
            .into_string()
            .unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let side = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&side, size).unwrap();
        let mut child = quell(folder.path())
            .args(["run", "access.toml"])
            // Only where there is no terminal.
            .env("COLUMNS", "77")
            .stdout(Stdio::from(OwnedFd::from(side)))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut text = Vec::new();
        // Ends with EIO when the other side is closed.
        let _ = File::from(terminal).read_to_end(&mut text);
        assert!(child.wait().unwrap().success());
        let text = String::from_utf8(text).unwrap();
        fits(&text.replace('\r', ""), usize::from(columns));
        assert_eq!(text.contains("backlog kB"), columns == 200, "{text}");
        assert!(text.contains("upload"), "{text}");
    }
}

#[test]
fn both_directions_are_shown_and_an_idle_link_is_explained() {
    let folder = folder();
    let why = ": the reverse link is the bottleneck: ";
    let run = printed(quell(folder.path()).args(["run", "access.toml"]));
    for part in [
        "reverse link 20.00 Mbit/s, ",
        "queue (reverse)",
        "link not full",
    ] {
        assert!(run.contains(part), "{part}: {run}");
    }
    assert!(run.contains(why), "{run}");
    let list = ["compare", "access.toml", "--queue", "fifo,dualpi2"];
    let compare = printed(quell(folder.path()).args(list));
    let flat = compare.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat.matches(", reverse link ").count(), 2, "{compare}");
    assert_eq!(flat.matches(why).count(), 2, "{compare}");
    assert_eq!(compare.matches("queue (reverse)").count(), 2, "{compare}");
    // As the summary has it.
    let json = printed(quell(folder.path()).args(["run", "access.toml", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let reverse = &json["link"]["reverse"];
    assert_eq!(reverse["rate_bps"], 20_000_000);
    let used = reverse["utilisation"].as_f64().unwrap();
    assert!(used > 0.9, "{used}");
    assert!(
        run.contains(&format!("20.00 Mbit/s, {:.1} % utilised", used * 100.0)),
        "{run}"
    );
    // What a call feels, with its percentiles.
    let delay = &json["groups"][2]["app"]["one_way_delay_ms"];
    let of = |name: &str| delay[name].as_f64().unwrap();
    assert!(
        of("min") <= of("p1") && of("p50") <= of("p99") && of("p99") <= of("max"),
        "{delay}"
    );
}

#[test]
fn several_seeds_are_one_table_of_means() {
    let folder = folder();
    let seeds = ["--set", "run.seeds=[1,2,3,4]", "--set", "run.duration=5s"];
    let quell = |arguments: &[&str]| {
        let more: Vec<&str> = arguments.iter().chain(&seeds).copied().collect();
        printed(quell(folder.path()).env("COLUMNS", "200").args(more))
    };
    let run = quell(&["run", "access.toml"]);
    assert_eq!(run.matches("\ndownload ").count(), 1, "{run}");
    assert!(
        run.contains("seeds 1, 2, 3, 4") && run.contains(" ± "),
        "{run}"
    );
    assert!(
        run.contains("Each figure is the mean of 4 runs ± its standard error."),
        "{run}"
    );
    let ranges = quell(&["run", "access.toml", "--range"]);
    assert!(
        ranges.contains(" to ") && !run.contains("ms to "),
        "{ranges}"
    );

    let compare = quell(&["compare", "access.toml", "--queue", "fifo,dualpi2"]);
    let head = compare
        .lines()
        .find(|line| line.starts_with("queue "))
        .unwrap();
    assert!(head.split_whitespace().any(|word| word == "n"), "{compare}");
    assert!(compare.contains(" ± "), "{compare}");

    // The interval of the text is that of the numbers: t(0.975, 3) = 3.182 of every printed table.
    let json = quell(&["run", "access.toml", "--json", "--confidence", "0.95"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let used = &json["link"]["reverse"]["utilisation"];
    let of = |value: &serde_json::Value| value.as_f64().unwrap();
    let half = 3.182 * of(&used["standard_error"]);
    let interval = &used["confidence_interval"];
    assert!(
        (of(&interval[1]) - of(&used["mean"]) - half).abs() <= half * 1e-3,
        "{used}"
    );
    let text = quell(&["run", "access.toml", "--confidence", "0.95"]);
    let shown = format!(
        "{:.1} ± {:.1} % utilised",
        of(&used["mean"]) * 100.0,
        half * 100.0
    );
    assert!(text.contains(&shown), "{shown}: {text}");
    assert!(text.contains("95 % confidence interval"), "{text}");
}

#[test]
fn what_needs_several_seeds_is_refused_with_one() {
    let folder = folder();
    for (arguments, message) in [
        (
            &["run", "access.toml", "--confidence", "0.95"][..],
            "--confidence needs several seeds",
        ),
        (
            &["compare", "access.toml", "--seed", "1", "--range"],
            "--range needs several seeds",
        ),
        (
            &["run", "access.toml", "--confidence", "95"],
            "must be from 0.5 to 0.9999",
        ),
    ] {
        let output = quell(folder.path()).args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors.contains(message), "{errors}");
    }
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let folder = folder();
    let short = ["--set", "run.duration=4s"];
    for arguments in [
        &["check", "-"][..],
        &["run", "-"],
        &[
            "compare",
            "-",
            "--queue",
            "fifo",
            "--queue",
            "pie,dualpi2:target=5ms",
        ],
    ] {
        let mut child = quell(folder.path())
            .args(arguments)
            .args(short)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(ACCESS.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // A second --queue adds to the first.
        if arguments[0] == "compare" {
            for queue in [
                "\nfifo: results",
                "\npie: results",
                "\ndualpi2:target=5ms: results",
            ] {
                assert!(text.contains(queue), "{text}");
            }
        }
    }
    let wrong = quell(folder.path())
        .args(["check", "-"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let errors = String::from_utf8(wrong.stderr).unwrap();
    assert!(errors.contains("standard input"), "{errors}");
}

#[test]
fn a_mistyped_command_is_answered_with_the_right_one() {
    let folder = folder();
    for (arguments, meant) in [
        (&["rnu", "x"][..], "'run'"),
        (&["comapre"], "'compare'"),
        (&["kernel", "biuld"], "'build'"),
    ] {
        let output = quell(folder.path()).args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            errors.contains("similar") && errors.contains(meant),
            "{errors}"
        );
    }
}

#[test]
fn every_command_has_examples_a_page_and_completions() {
    let folder = folder();
    let pages = folder.path().join("man/man1");
    printed(quell(folder.path()).args(["man", "man/man1"]));
    printed(quell(folder.path()).args(["man", "reference", "--reference"]));
    for (file, said) in [
        ("scenario", "## group.NAME.rtt"),
        ("queues", "sch_dualpi2"),
        ("controls", "RFC 9438"),
        ("applications", "completion_ms"),
        ("values", "## gold"),
    ] {
        let path = folder.path().join(format!("reference/{file}.md"));
        assert!(fs::read_to_string(path).unwrap().contains(said), "{file}");
    }
    let help = printed(quell(folder.path()).arg("--help"));
    let listed = help.split("Commands:").nth(1).unwrap().lines().skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What is said of one may go on below.
    let names = listed.filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert!(
        names.contains(&"run") && names.contains(&"completions"),
        "{help}"
    );
    let scripts = ["bash", "zsh", "fish"].map(|shell| {
        let script = printed(quell(folder.path()).args(["completions", shell]));
        // The shell itself reads it, where there is one.
        let read = Command::new(shell)
            .args(["-n", "/dev/stdin"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        if let Ok(mut child) = read {
            child
                .stdin
                .take()
                .unwrap()
                .write_all(script.as_bytes())
                .unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{shell}: {output:?}");
        }
        script
    });
    // Queues, controls, keys, applications and starts, where an argument takes them.
    for script in &scripts {
        for word in [
            "dualq_curvy_red",
            "prague",
            "link.rate=",
            "panorama",
            "satellite",
        ] {
            assert!(script.contains(word), "{word}: {script}");
        }
    }
    for name in names.iter().filter(|name| **name != "help") {
        for columns in ["40", "80"] {
            let help = printed(
                quell(folder.path())
                    .env("COLUMNS", columns)
                    .args([name, "--help"]),
            );
            assert!(help.contains("\nExample"), "{name}: {help}");
            assert!(help.contains(&format!("quell {name}")), "{name}: {help}");
        }
        let page = fs::read_to_string(pages.join(format!("quell-{name}.1"))).unwrap();
        assert!(page.contains("Example"), "{name}: {page}");
        for script in &scripts {
            assert!(script.contains(name), "{name}");
        }
    }
    let page = fs::read_to_string(pages.join("quell.1")).unwrap();
    assert!(
        page.starts_with(".ie") || page.contains(".TH quell 1"),
        "{page}"
    );
}

#[test]
fn the_same_warning_of_many_flows_is_one_line() {
    let folder = folder();
    // Seven flows that none of the queues ever signals to.
    let scenario = ACCESS
        .replace("count = 4", "count = 7")
        .replace("20mbit", "1gbit");
    fs::write(
        folder.path().join("many.toml"),
        scenario.replace("100mbit", "1gbit"),
    )
    .unwrap();
    let output = quell(folder.path())
        .env("COLUMNS", "200")
        .args(["compare", "many.toml", "--queue", "fifo:limit=9s,pie,codel"])
        .args([
            "--set",
            "link.reverse.queue.limit=9s",
            "--set",
            "run.duration=4s",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let skeleton = |line: &&str| {
        line.chars()
            .filter(|c| !c.is_ascii_digit())
            .collect::<String>()
    };
    let mut warnings: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .map(|line| skeleton(&line))
        .collect();
    let all = warnings.len();
    warnings.sort();
    warnings.dedup();
    assert!(all > 0 && warnings.len() == all, "{text}");
}
