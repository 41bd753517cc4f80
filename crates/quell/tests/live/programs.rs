//! Programs of this host as groups of a scenario: what they get, what they may do, and that nothing of them is left.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::AtomicBool;

use quell_lab::live::{self, LiveError};
use quell_lab::{LiveOptions, Scenario, World};
use quell_testing::program::{program, refused, text, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lacking::{as_nobody, for_nobody};
use crate::privileges::worker_of;
use crate::signal;
use crate::support::*;

/// A server that sends a million bytes to whoever comes, and a client that fetches them, beside another group.
const FETCH: &str = r#"[[group]]
name = "fetch"
congestion-control = "reno"
rtt = "20ms"
app = { kind = "program", sends = "server", server = ["python3", "server.py", "$SERVER"], client = ["python3", "client.py", "$SERVER", "$RESULT"] }

[[group]]
name = "bulk"
rtt = "20ms"
app = { kind = "bulk" }
"#;
const SERVER: &str = "import socket, sys, time
time.sleep(0.3)
listener = socket.create_server((sys.argv[1], 4321))
connection, _ = listener.accept()
control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
connection.sendall(bytes(1_000_000))
connection.close()
print(control.rstrip(bytes(1)).decode(), flush=True)
while True:
    time.sleep(1)
";
const CLIENT: &str = "import socket, sys
connection = socket.create_connection((sys.argv[1], 4321))
count = 0
while part := connection.recv(65536):
    count += len(part)
print(count)
open(sys.argv[2] + '/mine', 'w').write('kept')
";

/// A folder with a scenario of these groups.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(groups: &str, duration: &str) -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        stage.write(groups, duration);
        stage
    }

    fn write(&self, groups: &str, duration: &str) {
        let text = format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"20mbit\"\nqueue = {{ kind = \"fifo\", limit = \"50ms\" }}\n{groups}\n[run]\n\
             duration = \"{duration}\"\n"
        );
        fs::write(self.path().join("t.toml"), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn quell(&self, arguments: &[&str]) -> Command {
        program(QUELL, self.path(), arguments)
    }

    /// Runs `t.toml` with `--allow-programs`.
    fn run(&self, arguments: &[&str]) -> Output {
        self.live(arguments).output().unwrap()
    }

    fn live(&self, arguments: &[&str]) -> Command {
        let first = ["run", "t.toml", "--world", "live", "--allow-programs"];
        self.quell(&[&first[..], arguments].concat())
    }

    fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn summary(&self, out: &str) -> Value {
        serde_json::from_str(&self.read(&format!("{out}/summary.json"))).unwrap()
    }
}

fn group(name: &str, app: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nrtt = \"20ms\"\napp = {{ kind = \"program\", {app} }}\n")
}

fn warnings(summary: &Value) -> String {
    let all = summary["warnings"].as_array().unwrap().iter();
    let all: Vec<&str> = all.map(|warning| warning.as_str().unwrap()).collect();
    all.join("\n")
}

/// Processes of the whole machine that were started with this word.
fn processes_with(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            text(&line).contains(word).then_some(id)
        })
        .collect()
}

#[test]
fn a_group_of_programs_fetches_what_its_figures_count() {
    let test = "a_group_of_programs_fetches_what_its_figures_count";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        return not_run(test, "python3 is missing");
    }
    let stage = Stage::new(FETCH, "15s");
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    fs::write(stage.path().join("client.py"), CLIENT).unwrap();
    let output = stage.run(&["--out", "out"]);
    let (table, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert!(
        table.contains("programs") && table.contains("client exit"),
        "{table}"
    );
    assert_eq!(stage.read("out/programs/fetch-client.out"), "1000000\n");
    assert_eq!(stage.read("out/programs/fetch-client.err"), "");
    assert_eq!(stage.read("out/programs/fetch/mine"), "kept");
    // The control of the group is that of the server's connection.
    assert_eq!(stage.read("out/programs/fetch-server.out"), "reno\n");
    let names = fs::read_dir(stage.path().join("out/programs")).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected = Vec::from(["fetch", "fetch-client.err", "fetch-client.out"]);
    expected.extend(["fetch-server.err", "fetch-server.out"]);
    assert_eq!(names, expected);

    let summary = stage.summary("out");
    assert!(!warnings(&summary).contains("group fetch"), "{summary:#}");
    let fetch = &summary["groups"][0];
    // All that left the link, with what was sent twice.
    let delivered = number(fetch, "/goodput_bps/0") * number(fetch, "/alive_s/0") / 8.0;
    assert!(
        (999_999.0..1_500_000.0).contains(&delivered),
        "{delivered}: {fetch:#}"
    );
    // 1448 bytes in each.
    assert!(number(fetch, "/packets") >= 691.0, "{fetch:#}");
    assert_eq!(
        (&fetch["app"]["client_exit_code"], &fetch["app"]["failed"]),
        (&0.0.into(), &0.into())
    );
    assert_eq!(fetch["app"]["server_exit_code"], Value::Null);
    assert!(goodput(&summary, 1) > 0.0, "{summary:#}");
    assert_eq!(summary["link"]["unclassified"], 0);
}

#[test]
fn a_program_has_no_rights_and_writes_into_its_result_alone() {
    let test = "a_program_has_no_rights_and_writes_into_its_result_alone";
    let _beside = beside_others();
    if !is_root() || !can_run(test) {
        return not_run(test, "needs root, whose rights are taken");
    }
    let outside = tempfile::tempdir().unwrap();
    let script = "echo 1 >$TMPDIR/a && echo 2 >$RESULT/kept && cat $TMPDIR/a; echo 3 >$OUTSIDE/b || echo refused";
    let script = script.replace("$OUTSIDE", outside.path().to_str().unwrap());
    let groups = [
        group("rights", r#"client = ["cat", "/proc/self/status"]"#),
        group("net", r#"client = ["cat", "/proc/self/net/route"]"#),
        group("files", &format!(r#"client = ["sh", "-c", "{script}"]"#)),
        group(
            "enters",
            r#"client = ["sh", "-c", "nsenter --net=/proc/1/ns/net true || echo refused"]"#,
        ),
    ];
    let stage = Stage::new(&groups.concat(), "4s");
    let output = stage.run(&["--out", "out"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let status = stage.read("out/programs/rights-client.out");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}: {status}")).trim()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(u64::from_str_radix(field(set), 16), Ok(0), "{set}");
    }
    // Nothing is ignored that ends a program: INT is 2, TERM is 15.
    let ignored = u64::from_str_radix(field("SigIgn:"), 16).unwrap();
    assert_eq!(ignored & (1 << 1 | 1 << 14), 0, "{status}");
    let said = stage.read("out/programs/files-client.out");
    assert!(said.starts_with("1\n"), "{said}");
    assert_eq!(stage.read("out/programs/files/kept"), "2\n");
    assert!(!stage.path().join("out/programs/.temporary").exists());
    if doctor_says("Landlock") {
        assert_eq!(said, "1\nrefused\n");
        assert!(!outside.path().join("b").exists());
    }
    assert_eq!(stage.read("out/programs/enters-client.out"), "refused\n");
    // The host's network has a name that the programs' has not, most likely; all of theirs are quell's.
    let routes = stage.read("out/programs/net-client.out");
    assert!(!routes.contains("eth0"), "{routes}");
}

#[test]
fn programs_that_fail_are_reported_and_those_that_still_run_are_ended() {
    let test = "programs_that_fail_are_reported_and_those_that_still_run_are_ended";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let groups = [
        group("code", r#"client = ["sh", "-c", "echo to >&2; exit 7"]"#),
        group(
            "signal",
            r#"server = ["sh", "-c", "kill -9 $$"], client = ["true"]"#,
        ),
        group(
            "deaf",
            r#"client = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]"#,
        ),
        group("sleeps", r#"client = ["sleep", "1000"]"#),
        group(
            "handles",
            r#"client = ["sh", "-c", "trap 'echo asked; exit' TERM; while :; do sleep 0.1; done"]"#,
        ),
    ];
    let stage = Stage::new(&groups.concat(), "4s");
    let output = stage.run(&["--out", "out"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = stage.summary("out");
    let said = warnings(&summary);
    for expected in [
        "group code: its client failed with exit code 7; see programs/code-client.err",
        "group signal: its server failed with signal 9",
        "group signal: its client did not start: its server had ended",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    for none in ["deaf", "sleeps", "handles"] {
        assert!(
            !said.contains(&format!("group {none}: its client")),
            "{said}"
        );
    }
    assert_eq!(stage.read("out/programs/code-client.err"), "to\n");
    assert_eq!(stage.read("out/programs/handles-client.out"), "asked\n");
    let app = |index: usize| &summary["groups"][index]["app"];
    assert_eq!(app(0)["client_exit_code"], 7.0);
    assert_eq!(
        (&app(1)["server_exit_code"], &app(1)["failed"]),
        (&137.0.into(), &2.into())
    );
    assert_eq!(app(3)["client_exit_code"], Value::Null);
}

#[test]
fn without_consent_nothing_runs_and_the_place_is_named() {
    let _beside = beside_others();
    let stage = Stage::new(&group("a", r#"client = ["touch", "$RESULT/x"]"#), "2s");
    let place = "t.toml:9: group.a.app.client = [\"touch\", \"$RESULT/x\"]: ";
    for command in ["run", "compare"] {
        let mut asked = stage.quell(&[command, "t.toml", "--world", "live"]);
        let consent = format!("{place}--world live would run it as you");
        refused(&asked.output().unwrap(), &[&consent, "--allow-programs"]);
    }
    let mut serve = stage.quell(&["serve", "t.toml", "--world", "live", "--no-open"]);
    let served = serve.output().unwrap();
    let errors = text(&served.stderr);
    if errors.contains("built without its page") {
        not_run("quell serve starts no programs", "this build has no page");
    } else {
        assert_eq!(served.status.code(), Some(2));
        assert!(errors.contains("t.toml:9: group.a.app.client"), "{errors}");
        assert!(errors.contains("quell serve runs no programs"), "{errors}");
    }
    // What a page sends is run without any consent.
    let scenario = Scenario::parse(&stage.read("t.toml")).unwrap();
    let (options, never) = (LiveOptions::default(), AtomicBool::new(false));
    let result = live::run(&scenario, 1, World::Live, &options, &never, &mut ());
    assert!(
        matches!(&result, Err(LiveError::Scenario(why)) if why.contains("group.a.app.kind") && why.contains("--allow-programs")),
        "{result:?}"
    );
    for world in ["sim", "virtual"] {
        stage.write(
            "[[group]]\nname = \"b\"\nrtt = \"20ms\"\napp = \"bulk\"\n",
            "2s",
        );
        let words = ["run", "t.toml", "--world", world, "--allow-programs"];
        let why = "--allow-programs has an effect only with --world live";
        refused(&stage.quell(&words).output().unwrap(), &[why]);
    }
    assert_eq!(fs::read_dir(stage.path()).unwrap().count(), 1, "no result");
}

#[test]
fn a_program_that_is_missing_is_refused_with_file_line_and_key() {
    let _beside = beside_others();
    let stage = Stage::new(&group("a", r#"client = ["no-such-program"]"#), "2s");
    let expected = "t.toml:9: group.a.app.client = [\"no-such-program\"]: there is no program no-such-program in the folders of PATH";
    refused(&stage.run(&[]), &[expected]);
    let mut check = stage.quell(&["check", "t.toml", "--world", "live"]);
    assert!(text(&check.output().unwrap().stderr).contains(expected));
    assert_eq!(fs::read_dir(stage.path()).unwrap().count(), 1, "no result");
}

/// A run without end, whose client has begun, with a child in the background and one in a session of its own.
fn endless(stage: &Stage, word: &str) -> Child {
    let script = format!(
        "sleep 5{word} & setsid sleep 6{word} & sleep 0.2; echo begun; while :; do sleep 0.1; done"
    );
    let app = format!(r#"client = ["sh", "-c", "{script}"]"#);
    stage.write(&group("a", &app), "5000s");
    let child = stage.live(&["--out", "out"]).spawn().unwrap();
    // The folder has a hidden name until it is whole.
    wait_until("the program has begun", || {
        let entries = fs::read_dir(stage.path()).unwrap().flatten();
        let said = |path: PathBuf| fs::read_to_string(path.join("result/programs/a-client.out"));
        entries
            .map(|entry| said(entry.path()))
            .any(|said| said.is_ok_and(|said| said == "begun\n"))
    });
    wait_until("its children have begun", || {
        [5, 6].iter().all(|first| {
            let sleep = format!("sleep\0{first}{word}");
            !processes_with(&sleep).is_empty()
        })
    });
    child
}

#[test]
fn ctrl_c_ends_the_programs_and_keeps_what_they_printed() {
    let test = "ctrl_c_ends_the_programs_and_keeps_what_they_printed";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let stage = Stage::new("", "1s");
    // Nobody else's, in this run of the tests.
    let word = format!("{}01", std::process::id());
    let child = endless(&stage, &word);
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.signal(), Some(2), "{errors}");
    assert_eq!(stage.summary("out")["partial"], true);
    assert_eq!(stage.read("out/programs/a-client.out"), "begun\n");
    assert_eq!(processes_with(&word), [] as [i32; 0]);
}

#[test]
fn kill_9_of_any_process_of_quell_leaves_nothing() {
    let test = "kill_9_of_any_process_of_quell_leaves_nothing";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    for (round, victim) in ["program", "worker", "all"].into_iter().enumerate() {
        let stage = Stage::new("", "1s");
        let word = format!("{}1{round}", std::process::id());
        let mut child = endless(&stage, &word);
        // All of them have the command line of the first one, and the folder of the test in none.
        let kill = |id: i32| kill_process(Pid::from_raw(id).unwrap(), Signal::KILL);
        match victim {
            "program" => child.kill().unwrap(),
            "worker" => {
                kill(i32::try_from(worker_of(child.id()).unwrap()).unwrap()).unwrap();
            }
            _ => {
                for id in family(child.id()) {
                    // A death may have taken it along.
                    let _ = kill(id);
                }
            }
        }
        child.wait().unwrap();
        wait_until("all of it is gone", || processes_with(&word).is_empty());
    }
}

/// A process and its copies: what began as this one and executes the same file.
fn family(first: u32) -> Vec<i32> {
    let mut family = vec![i32::try_from(first).unwrap()];
    let mut next = 0;
    let file = fs::read_link(format!("/proc/{first}/exe")).unwrap();
    while let Some(parent) = family.get(next).copied() {
        next += 1;
        let entries = fs::read_dir("/proc").unwrap().flatten();
        family.extend(entries.filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let of = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
            let is_child = of.trim().parse() == Ok(parent);
            let same = fs::read_link(entry.path().join("exe")).is_ok_and(|other| other == file);
            (is_child && same).then_some(id)
        }));
    }
    assert!(
        family.len() >= 5,
        "program, broker, worker, two copies: {family:?}"
    );
    family
}

#[test]
fn a_user_runs_programs_in_a_namespace_of_its_own() {
    let test = "a_user_runs_programs_in_a_namespace_of_its_own";
    let _beside = beside_others();
    if !is_root() {
        return not_run(test, "needs root, to become somebody else");
    }
    if !doctor_says("user namespaces") {
        return not_run(test, "user namespaces are forbidden here");
    }
    let (folder, quell) = for_nobody();
    let stage = Stage::new(
        &group("a", r#"client = ["cat", "/proc/self/status"]"#),
        "3s",
    );
    let scenario = folder.path().join("t.toml");
    fs::copy(stage.path().join("t.toml"), &scenario).unwrap();
    let out = folder.path().join("out");
    let mut command = as_nobody(&quell);
    command.arg("run").arg(&scenario).arg("--out").arg(&out);
    let output = command
        .args(["--world", "live", "--allow-programs"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let status = fs::read_to_string(out.join("programs/a-client.out")).unwrap();
    assert!(status.contains("CapBnd:\t0000000000000000\n"), "{status}");
    assert!(status.contains("CapEff:\t0000000000000000\n"), "{status}");
}
