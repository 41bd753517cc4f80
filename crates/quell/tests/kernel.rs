//! `quell kernel` as people call it. What is built is a source that compiles nothing, unless `QUELL_KERNEL_SOURCE` names a true one;
//! a true kernel is asked where there is one.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_kernel::store::{Store, Version};
use quell_testing::fake_kernel::{self as fake, Tree};
use quell_testing::not_run;

/// A folder with a store.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        command
            .env("QUELL_KERNELS", self.path("kernels"))
            .stdin(Stdio::null());
        command
    }
    /// Exit code, standard output, standard error.
    fn told(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command().args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let errors = text(output.stderr);
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
        (output.status.code().unwrap(), text(output.stdout), errors)
    }
    /// Standard output of what must succeed.
    fn out(&self, arguments: &[&str]) -> String {
        let (code, out, errors) = self.told(arguments);
        assert_eq!(code, 0, "{arguments:?}: {errors}");
        out
    }
    /// What lies in the store, but for the gate and the build trees.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("kernels")).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter(|name| name != ".lock" && name != ".trees")
            .collect();
        names.sort();
        names
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn kernels_are_added_listed_and_removed() {
    let place = Place::new();
    let empty = place.out(&["kernel", "list"]);
    assert!(empty.contains("`quell kernel build` builds one"), "{empty}");
    let doctor = place.out(&["doctor"]);
    assert!(doctor.contains("fix: quell kernel build\n"), "{doctor}");

    let linux = place.path("linux");
    let config = fake::whole_config();
    fake::kernel(&linux, "6.9.1", &config, "");
    let added = place.out(&["kernel", "add", text(&linux), "--name", "old"]);
    assert!(
        added.starts_with("added: old  Linux 6.9.1  added from "),
        "{added}"
    );
    fake::kernel(
        &linux,
        "6.12",
        &config.replace("CONFIG_IFB=y\n", ""),
        "seccomp=<on/off>",
    );
    let added = place.out(&["kernel", "add", text(&linux)]);
    assert!(
        added.contains("6.12  Linux 6.12") && added.contains("  seccomp\n"),
        "{added}"
    );
    assert!(
        added.ends_with("a dependency is off):\n    CONFIG_IFB\n"),
        "{added}"
    );

    let list = place.out(&["kernel", "list"]);
    let first: Vec<&str> = list
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(first, ["6.12", "old"]);
    let verbose = place.out(&["kernel", "list", "-v"]);
    assert!(
        verbose.contains("  2 congestion controls:\n    cubic dctcp\n")
            && verbose.contains("  2 queue disciplines:\n    fq htb\n")
            && verbose.contains(text(&place.path("kernels/old"))),
        "{verbose}"
    );
    fs::remove_file(place.path("kernels/old/linux")).unwrap();
    let list = place.out(&["kernel", "list"]);
    assert!(
        list.contains("old  damaged: ") && list.contains("quell kernel remove old"),
        "{list}"
    );
    assert_eq!(place.out(&["kernel", "remove", "old"]), "removed: old\n");
    assert_eq!(place.names(), ["6.12"]);
}

#[test]
fn wrong_input_ends_with_two_and_says_how_to_fix_it() {
    let place = Place::new();
    let file = place.path("vmlinuz");
    fs::write(&file, "MZ").unwrap();
    for (arguments, message) in [
        (&["kernel"][..], "Usage: quell kernel <COMMAND>"),
        (
            &["kernel", "add", "/nonexistent/linux"],
            "/nonexistent/linux does not exist",
        ),
        (
            &["kernel", "add", text(&file)],
            "is no user-mode kernel; that is the file `linux` of a build with ARCH=um",
        ),
        (&["kernel", "remove", "mine"], "there is no kernel mine"),
        (
            &["kernel", "build", "--source", "/nonexistent"],
            "cannot find the source /nonexistent",
        ),
        (
            &["kernel", "build", "--source", text(&file)],
            "neither a folder, nor a package (.deb), nor an archive",
        ),
        (
            &["kernel", "build", "--package", "-x"],
            "unexpected argument",
        ),
        (
            &["kernel", "build", "--package", "a b"],
            "must be a package such as linux-source-6.1",
        ),
        (
            &["kernel", "build", "--package", "6.1", "--source", "x"],
            "cannot be used with",
        ),
    ] {
        let (code, out, errors) = place.told(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {errors}");
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
    assert_eq!(place.names(), [""; 0]);
    // Without a home there is no place for kernels.
    let output = place
        .command()
        .args(["kernel", "list"])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("let QUELL_KERNELS name a folder"),
        "{errors}"
    );
}

#[test]
fn a_machine_without_what_building_needs_is_told_how_to_get_it() {
    let place = Place::new();
    let tree = Tree::new(place.path("tree"));
    let empty = place.path("bin");
    fs::create_dir(&empty).unwrap();
    let told = |arguments: &[&str]| {
        let output = place
            .command()
            .args(arguments)
            .env("PATH", &empty)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, errors) = told(&["kernel", "build", "--source", text(&tree.0)]);
    assert_eq!(code, 1);
    assert!(
        errors.contains("sudo apt-get install make gcc binutils bash flex bison m4 bc"),
        "{errors}"
    );
    let (code, errors) = told(&["kernel", "build"]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("there is no apt here") && errors.contains("--source DIR"),
        "{errors}"
    );
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_source_is_built_once_and_lines_tell_what_goes_on() {
    let place = Place::new();
    let tree = Tree::new(place.path("l4s"));
    let build = ["kernel", "build", "--source", text(&tree.0)];
    let (code, out, errors) = place.told(&build);
    // Whoever has rights is warned: makefiles have them too.
    let warned = errors.lines().next().is_some_and(|line| {
        line.starts_with("the makefiles of ") && line.contains("as an ordinary user")
    });
    let rights = quell_hosts::confine::capabilities::effective().unwrap();
    assert_eq!(warned, !rights.is_empty(), "{errors}");
    let stages = errors.lines().skip(usize::from(warned));
    assert_eq!(
        (code, stages.collect::<Vec<_>>()),
        (0, vec!["configuring", "compiling", "cleaning up"]),
        "{out}"
    );
    assert!(
        out.starts_with("built: 7.2.13-fake-l4s  Linux 7.2.13-fake  "),
        "{out}"
    );
    assert!(
        out.contains("3 congestion controls:\n    cubic dctcp prague\n"),
        "{out}"
    );
    assert!(out.contains("2 queue disciplines:\n    fq htb\n"), "{out}");
    assert!(out.contains("CONFIG_NET_SCH_BPF\n"), "{out}");
    let again = place.out(&build);
    assert!(
        again.starts_with("already built: 7.2.13-fake-l4s  "),
        "{again}"
    );
}

#[test]
fn a_signal_ends_a_build_and_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let place = Place::new();
        let tree = Tree::new(place.path("tree"));
        let pid = place.path("pid");
        tree.compile(&format!("echo $$ >{}; sleep 1000", pid.display()));
        let child = place
            .command()
            .args(["kernel", "build", "--source", text(&tree.0)])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let there = || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
        while !there() && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let ended_by = match signal {
            "HUP" => 1,
            "INT" => 2,
            _ => 15,
        };
        assert_eq!(output.status.signal(), Some(ended_by), "{errors}");
        assert!(
            errors.ends_with("quell: stopped; no half kernel is left behind\n"),
            "{errors}"
        );
        assert_eq!(place.names(), [""; 0]);
        let pid = fs::read_to_string(&pid).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(status.is_empty() || status.contains(") Z "), "{status}");
    }
}

#[test]
fn what_a_killed_build_leaves_ends_by_itself_and_the_next_build_removes_it() {
    let place = Place::new();
    let tree = Tree::new(place.path("tree"));
    let pid = place.path("pid");
    let talk = format!(
        "echo $$ >{}; while :; do echo '  CC x.o'; sleep 0.05; done",
        pid.display()
    );
    tree.compile(&talk);
    let build = ["kernel", "build", "--source", text(&tree.0)];
    let mut child = place
        .command()
        .args(build)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let patient = || begun.elapsed() < Duration::from_secs(60);
    while !fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) && patient() {
        thread::sleep(Duration::from_millis(10));
    }
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let compiler = fs::read_to_string(&pid).unwrap();
    let lives = || {
        fs::read_to_string(format!("/proc/{}/stat", compiler.trim()))
            .is_ok_and(|status| !status.contains(") Z "))
    };
    while lives() && patient() {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(!lives(), "the compiler goes on");
    assert_eq!(place.names().len(), 1);
    tree.compile("");
    place.out(&build);
    assert_eq!(place.names(), ["7.2.13-fake-tree"]);
}

/// A kernel that `make kernel` built is one to the code that asks executables, and has what the virtual world needs.
#[test]
fn a_true_kernel_says_what_it_is() {
    let test = "what a true kernel says of itself";
    let built = Store::open().and_then(|store| store.find(None));
    let kernel = match built {
        Ok(kernel) => kernel,
        Err(error) => return not_run(test, &format!("{error}; `make kernel` builds one")),
    };
    let place = Place::new();
    let added = place.out(&[
        "kernel",
        "add",
        text(&kernel.executable()),
        "--name",
        "true",
    ]);
    assert!(
        added.starts_with(&format!("added: true  Linux {}  ", kernel.facts.version)),
        "{added}"
    );
    let copy = Store::at(place.path("kernels")).find(None).unwrap();
    assert_eq!(
        (copy.facts.time_travel, copy.facts.seccomp),
        (kernel.facts.time_travel, kernel.facts.seccomp)
    );
    let config = fs::read_to_string(copy.config()).unwrap();
    for option in [
        "TCP_CONG_DCTCP",
        "TCP_CONG_BBR",
        "NET_SCH_FQ",
        "NET_SCH_NETEM",
        "NET_SCH_CAKE",
        "VETH",
    ] {
        let line = format!("CONFIG_{option}=y");
        assert!(config.lines().any(|other| other == line), "{line}");
    }
    let newer_than_6_16 = Version::new(&kernel.facts.version) >= Version::new("6.17");
    assert_eq!(
        config.contains("CONFIG_NET_SCH_DUALPI2=y\n"),
        newer_than_6_16
    );
}

#[test]
fn a_true_source_becomes_a_kernel() {
    // Takes minutes, and is what `make kernel` does: in the list of what did not run it would only be noise.
    let Ok(source) = std::env::var("QUELL_KERNEL_SOURCE") else {
        return;
    };
    let place = Place::new();
    let build = ["kernel", "build", "--source", &source, "--name", "true"];
    let out = place.out(&build);
    for name in ["cubic", "dctcp", "fq", "htb", "netem"] {
        let has = |line: &str| line.split_whitespace().any(|word| word == name);
        assert!(out.lines().any(has), "{name}: {out}");
    }
    assert_eq!(place.names(), ["true"]);
    assert!(place.out(&build).starts_with("already built: true  "));
}
