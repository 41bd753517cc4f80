//! Programs of other people behind the link.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use quell_hosts::confine::user::NOBODY;
use quell_testing::not_run;
use quell_testing::program::{copy_program, text, wait_until};
use serde_json::Value;

use crate::Case;
use crate::clients::pattern;
use crate::fixture::{Fake, PAGE, SERVER, SOURCE, WEB};

pub(crate) const CASES: &[Case] = &[
    (
        "curl_loads_a_page_by_its_name",
        curl_loads_a_page_by_its_name,
    ),
    (
        "iperf3_sends_and_receives_through_the_link",
        iperf3_sends_and_receives_through_the_link,
    ),
    (
        "what_is_expected_of_a_program_decides_the_exit_code_of_its_success",
        what_is_expected_of_a_program_decides_the_exit_code_of_its_success,
    ),
    ("git_clones_through_the_link", git_clones_through_the_link),
    (
        "what_keeps_root_without_rights_from_a_program_is_named",
        what_keeps_root_without_rights_from_a_program_is_named,
    ),
];

pub(crate) fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    let found = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    found.status().is_ok_and(|status| status.success())
}

fn curl_loads_a_page_by_its_name(fake: &Fake) {
    if !has("curl") {
        return not_run("curl_loads_a_page_by_its_name", "curl is missing");
    }
    let url = format!("http://page.test:{WEB}/");
    let format = "%{http_code} %{size_download} %{remote_ip} %{time_connect}";
    let curl = [
        "curl",
        "-s",
        "-o",
        "/dev/null",
        "--max-time",
        "60",
        "-w",
        format,
        &url,
    ];
    let options = [
        "exec", "--quiet", "--down", "20mbit", "--rtt", "50ms", "--queue", "dualpi2", "--",
    ];
    let output = fake.output(&mut fake.quell(&[&options[..], &curl].concat()));
    let said = text(&output.stdout);
    let words: Vec<&str> = said.split(' ').collect();
    assert_eq!(
        words[..3],
        ["200", &PAGE.to_string(), SERVER],
        "{}",
        text(&output.stderr)
    );
    // The name and the connection: two round trips.
    assert!(words[3].parse::<f64>().unwrap() >= 0.1, "{said}");
}

fn what_is_expected_of_a_program_decides_the_exit_code_of_its_success(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    let run = |options: &[&str], exit: &str| {
        let own = std::env::current_exe().unwrap();
        let exit = format!("\"$0\" && exit {exit}");
        let program = ["--", "sh", "-c", &exit, own.to_str().unwrap()];
        let link = ["exec", "--profile", "dsl", "--down", "20mbit"];
        let mut command = fake.quell(&[&link[..], options, &program].concat());
        command
            .env(crate::clients::ROLE, "read")
            .env(crate::clients::WORDS, format!("{SERVER}:{SOURCE} 1"));
        let output = fake.output(&mut command);
        (output.status.code(), text(&output.stderr).to_owned())
    };
    let met = [
        "down.queue.packets > 100",
        "down.lost_percent < 100%",
        "up.rate_bps == 1mbit and felt.longer_ms_max > 0 and felt.state != 'unused'",
    ];
    let failed = [
        "program.seconds < 10ms",
        "down.rate_bps < 16mbit",
        "link.lost_outside > 0",
    ];
    let expect = |all: [&'static str; 3]| all.map(|one| ["--expect", one]).concat();
    let (code, said) = run(&expect(met), "0");
    assert_eq!(code, Some(0), "{said}");
    let expected = "expect  met     up.rate_bps == 1mbit and felt.";
    assert!(
        said.contains("20mbit/1mbit 25ms fifo") && said.contains(expected),
        "{said}"
    );
    let file = ["--quiet", "--junit", junit.to_str().unwrap()];
    let (code, said) = run(&[&expect(met)[..], &expect(failed), &file].concat(), "0");
    assert_eq!(code, Some(3), "{said}");
    assert!(
        !said.contains("  met ")
            && said.contains("\nexpect  FAILED  down.rate_bps < 16mbit: 20 Mbit/s, 25 % above\n"),
        "{said}"
    );
    let written = fs::read_to_string(&junit).unwrap();
    assert!(
        written.contains("<testsuite name=\"exec\" tests=\"6\" failures=\"3\""),
        "{written}"
    );
    // The program's own failure comes first.
    let (code, said) = run(&expect(failed), "7");
    assert!(
        code == Some(7) && said.contains("3 of 3 expectations failed"),
        "{said}"
    );
    for (options, why) in [
        (
            ["--expect", "down.lost_procent < 1"],
            "did you mean down.lost_percent?",
        ),
        (["--profile", "dls"], "cannot be used multiple times"),
        (["--scenario", "x.toml"], "cannot be used with"),
        (["--junit", "x.xml"], "nothing is expected"),
    ] {
        let (code, said) = run(&options, "0");
        assert!(code == Some(125) && said.contains(why), "{said}");
    }
    let unknown = fake.output(&mut fake.quell(&["exec", "--profile", "dls", "--", "true"]));
    assert_eq!(unknown.status.code(), Some(125));
    assert_eq!(
        text(&unknown.stderr),
        "quell: there is no profile dls; did you mean dsl?\n"
    );
}

fn git_clones_through_the_link(fake: &Fake) {
    let repository = match Repository::serve(fake, 100_000) {
        Ok(repository) => repository,
        Err(why) => return not_run("git_clones_through_the_link", why),
    };
    let cloned = repository.place("cloned");
    let options = ["exec", "--quiet", "--rate", "20mbit", "--rtt", "20ms", "--"];
    let url = repository.url();
    let clone = ["timeout", "60", "git", "clone", "-q", &url, &cloned];
    let output = fake.output(&mut fake.quell(&[&options[..], &clone].concat()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = std::fs::read(format!("{cloned}/file")).unwrap();
    assert_eq!(file.len(), 100_000);
}

/// A repository with one file, which git's daemon serves in the Internet.
pub(crate) struct Repository {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Repository {
    /// Of a file of this many bytes, which do not compress. Why there is none otherwise.
    pub(crate) fn serve(fake: &Fake, bytes: u64) -> Result<Self, &'static str> {
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            // Nothing that a user has set counts.
            command
                .args(arguments)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("HOME", "/nonexistent");
            command
        };
        let daemon = git(&["--exec-path"]).output().ok().and_then(|output| {
            let place = Path::new(text(&output.stdout).trim()).join("git-daemon");
            place.is_file().then_some(place)
        });
        let daemon = daemon.ok_or("git or its daemon is missing")?;
        let folder = tempfile::tempdir().unwrap();
        let served = folder.path().join("served").to_str().unwrap().to_owned();
        let done = |arguments: &[&str]| {
            let output = git(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
        };
        done(&["init", "-q", &served]);
        let file: Vec<u8> = pattern(bytes).flatten().collect();
        std::fs::write(format!("{served}/file"), file).unwrap();
        done(&["-C", &served, "add", "file"]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@test"];
        let commit = ["commit", "-q", "-m", "one"];
        done(&[&["-C", &served][..], &author, &commit].concat());
        let base = format!("--base-path={}", folder.path().display());
        // Not by git, which would be its parent.
        let mut daemon = Command::new(daemon);
        daemon
            .args(["--export-all", "--port=9418", "--reuseaddr", &base])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let daemon = fake.internet.run(|| daemon.spawn().unwrap()).unwrap();
        let listens = || fake.run(|| std::net::TcpStream::connect((SERVER, 9418)).is_ok());
        wait_until("git listens", listens);
        Ok(Self { folder, daemon })
    }

    pub(crate) fn place(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn url(&self) -> String {
        format!("git://{SERVER}/served")
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn iperf3_sends_and_receives_through_the_link(fake: &Fake) {
    let server = match Iperf3::serve(fake) {
        Ok(server) => server,
        Err(why) => return not_run("iperf3_sends_and_receives_through_the_link", why),
    };
    for way in [&[][..], &["-R"]] {
        let client = ["iperf3", "-c", SERVER, "-p", "5201", "-J", "-n", "3M"];
        let options = ["exec", "--quiet", "--rate", "50mbit", "--rtt", "10ms", "--"];
        let output = fake.output(&mut fake.quell(&[&options[..], &client, way].concat()));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let received = report.pointer("/end/sum_received/bits_per_second");
        let received = received
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("{report:#}"));
        assert!(received > 0.0 && received < 50e6, "{received}");
    }
    drop(server);
}

/// A server of iperf3 in the Internet.
pub(crate) struct Iperf3(Child);

impl Iperf3 {
    /// Why there is none otherwise.
    pub(crate) fn serve(fake: &Fake) -> Result<Self, &'static str> {
        if !has("iperf3") {
            return Err("iperf3 is missing");
        }
        let mut server = Command::new("iperf3");
        server
            .args(["-s", "-p", "5201"])
            .stdout(Stdio::null())
            // It complains of who only looks whether it listens.
            .stderr(Stdio::null());
        let server = fake.internet.run(|| server.spawn().unwrap()).unwrap();
        let listens = || fake.run(|| std::net::TcpStream::connect((SERVER, 5201)).is_ok());
        wait_until("iperf3 listens", listens);
        Ok(Self(server))
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of another user: quell sees into it before it gives its rights away, and the program behind the link does not.
fn what_keeps_root_without_rights_from_a_program_is_named(fake: &Fake) {
    if !rustix::process::geteuid().is_root() {
        return not_run(
            "what_keeps_root_without_rights_from_a_program_is_named",
            "needs root",
        );
    }
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    copy_program("/bin/true".as_ref(), &home.join("mine"));
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let mine = home.join("mine").display().to_string();
    let output = fake.output(&mut fake.quell(&["exec", "--quiet", "--", &mine]));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{errors}");
    let expected = format!(
        "may not enter {} (mode 0700, of user {NOBODY})",
        home.display()
    );
    assert!(errors.contains(&expected), "{errors}");
}
