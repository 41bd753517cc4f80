//! The binary as people call it: output, exit codes, and never a panic.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output, Stdio};

const COEXISTENCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/dualq2015/coexistence.toml"
);
const QUEUES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/sweeps/queues.toml"
);

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    command.env_remove("COLUMNS");
    command
}

fn quell(arguments: &[&str]) -> Output {
    let output = command().args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    output
}

/// Exit code, standard output, standard error.
fn told(arguments: &[&str]) -> (i32, String, String) {
    let output = quell(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn check_says_yes_or_what_is_wrong() {
    let (code, out, _) = told(&["check", COEXISTENCE]);
    assert_eq!(
        (
            code,
            out.contains("coexistence.toml: coexistence is OK in the sim world\n")
        ),
        (0, true),
        "{out}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    fs::write(
        &file,
        fs::read_to_string(COEXISTENCE)
            .unwrap()
            .replace("dctcp", "dctcp\"\ncolour = \"red"),
    )
    .unwrap();
    let (code, out, errors) = told(&["check", file.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        errors.starts_with("quell: the scenario has 1 error\n"),
        "{errors}"
    );
    assert!(
        errors.contains("wrong.toml:26: group.l4s.colour = \"red\": unknown key"),
        "{errors}"
    );
}

/// As docs/limitations.md says.
#[test]
fn a_base_rtt_of_half_a_millisecond_is_for_virtual_time_and_not_for_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.toml");
    let text = fs::read_to_string(COEXISTENCE).unwrap();
    fs::write(&file, text.replace("\"7ms\"", "\"500us\"")).unwrap();
    let check = |world| told(&["check", file.to_str().unwrap(), "--world", world]);
    assert_eq!(check("sim").0, 0);
    // Where there is no kernel, that is all there is against it.
    let (code, _, errors) = check("virtual");
    let lacks_kernel = errors.contains("there is no kernel") && !errors.contains("500us");
    assert!(code == 0 || code == 2 && lacks_kernel, "{errors}");
    let (code, _, errors) = check("live");
    assert!(code == 2 && errors.contains("500us"), "{errors}");
}

#[test]
fn wrong_input_ends_with_two_and_says_what_is_wrong() {
    let missing = format!(
        "cannot read /nonexistent/x.toml: {}",
        std::io::Error::from_raw_os_error(2)
    );
    for (arguments, message) in [
        (&["run", "/nonexistent/x.toml"][..], missing.as_str()),
        (
            &[
                "run",
                COEXISTENCE,
                "--world",
                "virtual",
                "--kernel",
                "none-such",
            ],
            "there is no kernel none-such in ",
        ),
        (
            &["run", COEXISTENCE, "--kernel", "none-such"],
            "--kernel and the options that begin with --guest have an effect only with --world virtual",
        ),
        (
            &["run", COEXISTENCE, "--world=virtual", "--guest-timeout=0s"],
            "--guest-timeout 0s: must be at least 1s",
        ),
        (
            &["compare", COEXISTENCE, "--queue", "pie,fifo:"],
            "--queue fifo:: must be KIND or KIND:PARAMETER=VALUE",
        ),
        (
            &["compare", COEXISTENCE, "--world", "sim,sim"],
            "sim is there twice",
        ),
        (
            &["compare", COEXISTENCE, "--kernel", "7.2"],
            "--kernel has an effect only with --world virtual",
        ),
        (&["compare", COEXISTENCE, "--realtime=9"], "--world live"),
        (&["cc", "load", "x", "--json"], "an effect only on the list"),
        (
            &["run", COEXISTENCE, "--world", "mars"],
            "invalid value 'mars'",
        ),
        (&["run", COEXISTENCE, "--seed", "x"], "invalid value 'x'"),
        (
            &["run", COEXISTENCE, "--set", "link.rate"],
            "--set link.rate: must be KEY=VALUE, such as link.rate=20mbit",
        ),
        (
            &["run", COEXISTENCE, "--set", "link.rate=fast"],
            "--set link.rate=fast: link.rate = fast: must be a rate from 1kbit to 1tbit",
        ),
        (
            &["run", COEXISTENCE, "--duration", "5s"],
            "--duration 5s: run.duration = 5s: leaves nothing to measure after the warm-up of 10s",
        ),
        (
            &[
                "check",
                COEXISTENCE,
                "--set",
                "group.l4s.count=0",
                "--set",
                "group.classic.count=0",
            ],
            "--set group.l4s.count=0: group.l4s.count = 0: no group ever has a flow",
        ),
        (
            &["run", COEXISTENCE, "--queue", "fifo,pie"],
            "--queue fifo,pie: here is room for one queue; quell compare runs several",
        ),
        (
            &["run", COEXISTENCE, "--queue", "pie target"],
            "--queue pie target: must be KIND or KIND:PARAMETER=VALUE",
        ),
        (&["rn", COEXISTENCE], "'run'"),
        (
            &["queues", "fq_code"],
            "there is no queue fq_code: must be one of",
        ),
        (&["frobnicate"], "unrecognized subcommand"),
        (&[], "Usage: quell"),
    ] {
        let (code, out, errors) = told(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_refused_run_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let status = command()
        .args(["run", COEXISTENCE, "--world", "virtual"])
        .args(["--kernel", "none-such"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_simulator_runs_by_default_and_repeats_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a", "b"].map(|name| {
        let out = folder.path().join(name);
        let path = out.to_str().unwrap();
        let arguments = [
            "run",
            COEXISTENCE,
            "--duration",
            "20s",
            "--out",
            path,
            "--json",
        ];
        let (code, printed, errors) = told(&arguments);
        assert_eq!(code, 0, "{errors}");
        let summary: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(summary["world"], "sim");
        // Everything but run.json, which tells when and where.
        [
            "scenario.toml",
            "summary.json",
            "flows.parquet",
            "queues.parquet",
            "histograms.json",
        ]
        .map(|file| fs::read(out.join(file)).unwrap())
    });
    assert!(files[0] == files[1]);
}

#[test]
fn jobs_change_how_long_it_takes_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let results = ["1", "3"].map(|jobs| {
        let out = folder.path().join(jobs);
        let path = out.to_str().unwrap();
        let arguments = [
            "run",
            COEXISTENCE,
            "--duration",
            "12s",
            "--set",
            "run.seeds=[1,2,3]",
            "--jobs",
            jobs,
            "--out",
            path,
            "--json",
        ];
        let (code, printed, errors) = told(&arguments);
        assert_eq!(code, 0, "{errors}");
        let read = |file: &str| fs::read(out.join(file)).unwrap();
        let files = [
            "aggregate.json",
            "seed1/flows.parquet",
            "seed2/summary.json",
            "seed3/histograms.json",
        ];
        (printed, files.map(read))
    });
    assert!(results[0] == results[1]);
    let (code, _, errors) = told(&["run", COEXISTENCE, "--jobs", "0"]);
    assert_eq!(code, 2, "{errors}");
    let (code, _, errors) = told(&[
        "compare",
        COEXISTENCE,
        "--queue",
        "fifo",
        "--jobs",
        "2",
        "--world",
        "live",
    ]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("--jobs has no effect with --world live"),
        "{errors}"
    );
}

#[test]
fn compare_goes_through_the_phases_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let (file, list) = ("../../scenarios/vdq2020/a.toml", "vdq_csaqm,dualpi2");
    // One seed, so that each row is one line.
    let slow = ["--set", "link.rate=20mbit", "--seed", "1", "--out", out];
    let (code, printed, errors) = told(&[&["compare", file, "--queue", list], &slow[..]].concat());
    assert_eq!(code, 0, "{errors}");
    let fits = |line: &str| line.chars().count() <= 80 || line.contains("results in ");
    assert!(printed.lines().all(fits), "{printed}");
    let phases: Vec<&str> = printed.split("\nfrom ").skip(1).collect();
    assert_eq!(phases.len(), 9, "{printed}");
    let heads = phases.iter().map(|phase| phase.lines().next().unwrap());
    let heads: Vec<&str> = heads.collect();
    assert_eq!(heads[0], "5.0 s to 20.0 s: l4s 1, classic 0");
    assert_eq!(heads[8], "165.0 s to 180.0 s: l4s 0, classic 1");
    // A group without flows has no row; below each queue stands how much of the link was used.
    let rows = |phase: usize| {
        let rows = phases[phase].lines().skip(2);
        rows.take_while(|line| !line.is_empty()).count()
    };
    assert_eq!([rows(0), rows(3), rows(8)], [4, 6, 4]);
}

#[test]
fn compare_puts_queues_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let list = "fifo:limit=100ms,dualpi2:target=5ms,dualpi2";
    let arguments = [
        "compare",
        COEXISTENCE,
        "--queue",
        list,
        "--duration",
        "15s",
        "--out",
        out,
    ];
    let (code, printed, errors) = told(&arguments);
    assert_eq!(code, 0, "{errors}");
    let lines = |line: &&str| line.chars().count() <= 80 || line.contains(": results in ");
    assert!(printed.lines().all(|line| lines(&line)), "{printed}");
    for queue in ["fifo-limit=100ms", "dualpi2-target=5ms", "dualpi2"] {
        assert!(
            folder.path().join(queue).join("aggregate.json").is_file(),
            "{queue}"
        );
    }
    // Results are never overwritten.
    assert_eq!(told(&arguments).0, 2);
    let (code, _, errors) = told(&["compare", COEXISTENCE, "--queue", "fifo,target=5ms"]);
    assert_eq!(code, 2);
    assert!(errors.contains("has no queue before it"), "{errors}");
}

/// What a newcomer writes and means one thing only.
#[test]
fn what_is_clear_is_accepted_however_it_is_written() {
    let told = |arguments: &[&str]| {
        let short = ["--duration", "11s", "--json", "--seed", "1"];
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let out = ["--out", out.to_str().unwrap()];
        let (code, printed, errors) = told(&[arguments, &short, &out].concat());
        assert_eq!(code, 0, "{arguments:?}: {errors}");
        serde_json::from_str::<serde_json::Value>(&printed).unwrap()
    };
    let queue = |summary: &serde_json::Value| summary["queues"].clone();
    let run = ["run", COEXISTENCE];
    let plain = told(
        &[
            &run[..],
            &[
                "--set",
                "link.queue.kind=pie",
                "--set",
                "link.queue.target=5ms",
            ],
        ]
        .concat(),
    );
    for way in [
        ["--queue", "pie:target=5ms"],
        ["--queue", "pie target=5ms"],
        ["--queue", "pie target 5ms"],
        ["--set", "link.queue=pie:target=5ms"],
        ["--set", "link.queue=pie target=5ms"],
    ] {
        let other = told(&[&run[..], &way].concat());
        assert_eq!(queue(&other), queue(&plain), "{way:?}");
    }
    let compared = told(&["compare", COEXISTENCE, "--queue", "pie target=5ms"]);
    assert_eq!(queue(&compared[0]["summaries"][0]), queue(&plain));
    // A group that the command line empties is not there.
    let alone = told(&[&run[..], &["--set", "group.l4s.count=0"]].concat());
    assert_eq!(alone["groups"][0]["count"], 0);
    assert!(alone["groups"][1]["packets"].as_u64().unwrap() > 1_000);
    assert_eq!(alone["warnings"], serde_json::json!([]));
}

#[test]
fn a_schema_is_json_and_accepts_its_files() {
    for (arguments, file) in [
        (&["schema"][..], COEXISTENCE),
        (&["schema", "sweep"], QUEUES),
    ] {
        let (code, out, _) = told(arguments);
        let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
        let instance: serde_json::Value =
            toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(code, 0);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(&instance), "{file}");
    }
}

#[test]
fn queues_are_documented_within_eighty_columns() {
    let (code, out, _) = told(&["queues"]);
    assert!(code == 0 && out.starts_with("fifo "), "{out}");
    for entry in quell_aqm::disciplines::KINDS {
        let (code, out, _) = told(&["queues", entry.name]);
        assert_eq!(code, 0);
        for line in out.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for parameter in entry.parameters {
            assert!(
                out.contains(&format!("\n  {}", parameter.name)),
                "{}: {out}",
                parameter.name
            );
        }
        assert_eq!(out.matches("Default: ").count(), entry.parameters.len());
    }
}

#[test]
fn functions_and_markers_are_documented_as_queues_are() {
    let (code, list, _) = told(&["values"]);
    assert_eq!(code, 0);
    let all = || {
        quell_aqm::value::FUNCTIONS
            .iter()
            .chain(quell_aqm::marker::MARKERS)
    };
    for entry in all() {
        assert!(list.contains(&format!("\n{} ", entry.name)), "{list}");
        let (code, out, _) = told(&["values", entry.name]);
        assert_eq!(
            (code, out.matches("Default: ").count()),
            (0, entry.parameters.len())
        );
        assert!(out.starts_with(&format!("{}: ", entry.name)), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    let (code, _, errors) = told(&["values", "golf"]);
    let names: Vec<&str> = all().map(|entry| entry.name).collect();
    let message = format!(
        "there is no function or marker golf: must be one of {}; did you mean gold?",
        names.join(", ")
    );
    assert!(code == 2 && errors.contains(&message), "{errors}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in [&["schema"][..], &["queues", "fifo"]] {
        let mut child = command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn an_error_that_nobody_reads_keeps_its_exit_code() {
    let mut child = command()
        .args(["check", "/nonexistent"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn controls_and_doctor_answer_on_any_host() {
    let (code, out, errors) = told(&["cc"]);
    assert!(code == 0 && out.contains("in this kernel   "), "{errors}");
    // Each control that is modelled, and each of its options with default, range and source.
    for part in [
        "dctcp: Reduces the window in proportion",
        "  variant\n",
        "Default: 0.7 (variant = linux), 0.7 (variant = linux_3), 0.8 (variant =",
        "Allowed: a fraction from 0.001 to 0.999.",
        "Source: RFC 9438 section 4.6",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let (code, out, _) = told(&["doctor"]);
    assert!(
        code == 0 && (out.contains("ok     ") || out.contains("missing")),
        "{out}"
    );
}

/// Whether a terminal would obey something in `text`.
fn commands_a_terminal(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
}

#[test]
fn a_terminal_obeys_nothing_that_a_key_a_name_or_an_argument_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let scenario = fs::read_to_string(COEXISTENCE).unwrap();
    // A key of a scenario that turns the terminal red, and sets its title.
    let key = "\"\\u001b[31m\\u001b]0;owned\\u0007\" = 1\n";
    let wrong = at("wrong.toml");
    fs::write(
        &wrong,
        scenario.replace("[run]\n", &format!("[run]\n{key}")),
    )
    .unwrap();
    // The same in names of files: C0, and C1's one-byte CSI.
    let named = at("\u{1b}[31m\u{9b}5m.toml");
    fs::write(&named, &scenario).unwrap();
    // And in the name of a kernel's folder, with nothing of a kernel in it.
    let kernels = at("kernels");
    fs::create_dir_all(kernels.join("\u{1b}[31mkernel")).unwrap();
    let out = at("out\u{1b}[31m");
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    for (arguments, code, shown) in [
        (
            vec!["check".to_owned(), text(&wrong)],
            2,
            "run.\\u001b[31m\\u001b]0;owned\\u0007 = 1",
        ),
        (
            vec!["check".into(), text(&named)],
            0,
            "\\u001b[31m\\u009b5m.toml: coexistence is",
        ),
        (
            vec!["check".into(), text(&at("no\u{1b}[31m.toml"))],
            2,
            "no\\u001b[31m.toml",
        ),
        (
            vec![
                "check".into(),
                text(&named),
                "--set".into(),
                "\u{1b}[31m=1".into(),
            ],
            2,
            "--set \\u001b[31m=1",
        ),
        (vec!["kernel".into(), "list".into()], 0, "\\u001b[31mkernel"),
        (
            vec!["kernel".into(), "remove".into(), "\u{1b}[31m".into()],
            2,
            "\\u001b[31m",
        ),
        (
            vec![
                "run".into(),
                text(&named),
                "--duration".into(),
                "11s".into(),
                "--out".into(),
                text(&out),
            ],
            0,
            "out\\u001b[31m",
        ),
        (
            vec!["queues".into(), "\u{1b}[31mfifo".into()],
            2,
            "\\u001b[31mfifo",
        ),
        // The parser of arguments strips the sequence.
        (
            vec![
                "run".into(),
                text(&named),
                "--world".into(),
                "\u{1b}[31mmars".into(),
            ],
            2,
            "invalid value 'mars'",
        ),
    ] {
        // On a terminal, where the parser of arguments uses colours.
        let output = command()
            .args(&arguments)
            .env("QUELL_KERNELS", &kernels)
            .env("CLICOLOR_FORCE", "1")
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .concat();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {printed:?}"
        );
        assert!(!commands_a_terminal(&printed), "{arguments:?}: {printed:?}");
        assert!(printed.contains(shown), "{arguments:?}: {printed:?}");
    }
}
