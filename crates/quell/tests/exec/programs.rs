//! Programs of other people behind the link.

use std::process::{Command, Stdio};

use quell_testing::program::text;
use quell_testing::{Missed, bound, live, not_run};
use serde_json::Value;

use crate::Case;
use crate::fixture::{Fake, PAGE, SERVER, WEB, read_json};

pub(crate) const CASES: &[Case] = &[
    (
        "curl_loads_a_page_by_its_name",
        curl_loads_a_page_by_its_name,
    ),
    (
        "wget_waits_less_in_the_queue_of_dualpi2",
        wget_waits_less_in_the_queue_of_dualpi2,
    ),
    (
        "iperf3_sends_and_receives_through_the_link",
        iperf3_sends_and_receives_through_the_link,
    ),
    ("git_clones_through_the_link", git_clones_through_the_link),
];

fn has(program: &str) -> bool {
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

/// The page to the byte behind either queue, and a queue that is the shorter one behind DualPI2.
fn wget_waits_less_in_the_queue_of_dualpi2(fake: &Fake) {
    let test = "wget_waits_less_in_the_queue_of_dualpi2";
    if !has("wget") {
        return not_run(test, "wget is missing");
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let url = format!("http://page.test:{WEB}/");
    let mean_delay_ms = |queue: &str| {
        // No proxy of this machine's, and one attempt.
        let wget = [
            "wget",
            "-q",
            "-O",
            "-",
            "--no-proxy",
            "-T",
            "60",
            "-t",
            "1",
            &url,
        ];
        let link = [
            "--down", "20mbit", "--rtt", "20ms", "--queue", queue, "--far-cc", "cubic",
        ];
        let json = ["exec", "--quiet", "--json", report.to_str().unwrap()];
        let output = fake.output(&mut fake.quell(&[&json[..], &link, &["--"], &wget].concat()));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(output.stdout.len(), PAGE, "{queue}");
        let queues = &read_json(&report)["summary"]["queues"];
        let queues = queues.as_array().unwrap().iter();
        let delays = queues.filter_map(|queue| queue["delay_ms"]["mean"].as_f64());
        delays.fold(0.0, f64::max)
    };
    live(test, |_| {
        let (drop_tail, dualpi2) = (mean_delay_ms("fifo:limit=250ms"), mean_delay_ms("dualpi2"));
        bound!(drop_tail > 2.0 * dualpi2, "{drop_tail} and {dualpi2} ms");
        Ok::<(), Missed>(())
    });
}

fn git_clones_through_the_link(fake: &Fake) {
    let test = "git_clones_through_the_link";
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
        let place = std::path::PathBuf::from(text(&output.stdout).trim()).join("git-daemon");
        place.is_file().then_some(place)
    });
    let Some(daemon) = daemon else {
        return not_run(test, "git or its daemon is missing");
    };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (served, cloned) = (place("served"), place("cloned"));
    let done = |arguments: &[&str]| {
        let output = git(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    done(&["init", "-q", &served]);
    std::fs::write(format!("{served}/file"), vec![b'x'; 100_000]).unwrap();
    done(&["-C", &served, "add", "file"]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@test"];
    done(
        &[
            &["-C", &served][..],
            &author,
            &["commit", "-q", "-m", "one"],
        ]
        .concat(),
    );
    let base = format!("--base-path={}", folder.path().display());
    // Not by git, which would be its parent.
    let mut daemon = Command::new(daemon);
    daemon
        .args(["--export-all", "--port=9418", "--reuseaddr", &base])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut daemon = fake.internet.run(|| daemon.spawn().unwrap()).unwrap();
    let listens = || fake.run(|| std::net::TcpStream::connect((SERVER, 9418)).is_ok());
    quell_testing::program::wait_until("git listens", listens);
    let url = format!("git://{SERVER}/served");
    let options = ["exec", "--quiet", "--rate", "20mbit", "--rtt", "20ms", "--"];
    let clone = ["timeout", "60", "git", "clone", "-q", &url, &cloned];
    let output = fake.output(&mut fake.quell(&[&options[..], &clone].concat()));
    let _ = daemon.kill();
    daemon.wait().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = std::fs::read(format!("{cloned}/file")).unwrap();
    assert_eq!(file.len(), 100_000);
}

fn iperf3_sends_and_receives_through_the_link(fake: &Fake) {
    if !has("iperf3") {
        return not_run(
            "iperf3_sends_and_receives_through_the_link",
            "iperf3 is missing",
        );
    }
    let mut server = Command::new("iperf3");
    server.args(["-s", "-p", "5201"]).stdout(Stdio::null());
    let mut server = fake.internet.run(|| server.spawn().unwrap()).unwrap();
    let listens = || fake.run(|| std::net::TcpStream::connect((SERVER, 5201)).is_ok());
    quell_testing::program::wait_until("iperf3 listens", listens);
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
    server.kill().unwrap();
    server.wait().unwrap();
}
