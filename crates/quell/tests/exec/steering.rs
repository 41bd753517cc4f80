//! A link that is watched and changed while its program runs: by the control socket, and on a page.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use quell_testing::program::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Case;
use crate::fixture::{COUNT, Fake, SERVER, read_json};
use crate::links::LINKS;

pub(crate) const CASES: &[Case] = &[
    (
        "the_control_socket_changes_the_link",
        the_control_socket_changes_the_link,
    ),
    (
        "the_control_socket_is_gone_however_the_program_ends",
        the_control_socket_is_gone_however_the_program_ends,
    ),
    (
        "a_page_shows_and_changes_the_link",
        a_page_shows_and_changes_the_link,
    ),
    (
        "a_page_shows_and_changes_each_of_two_links",
        a_page_shows_and_changes_each_of_two_links,
    ),
];

/// No answer takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an upload, and the rate in bit/s that the link gets before it: 4 s.
const BYTES: u64 = 1_000_000;
const SLOW: u64 = 2_000_000;

/// A program behind a link that waits for a line, then uploads [`BYTES`].
struct Waiting(Child);

impl Waiting {
    fn start(fake: &Fake, options: &[&str]) -> Self {
        let own = std::env::current_exe().unwrap();
        let script = format!("echo ready; read line; exec {}", own.display());
        let arguments = [&["exec"], options, &["--", "sh", "-c", &script]].concat();
        let mut command = fake.quell(&arguments);
        command
            .env(crate::clients::ROLE, "count")
            .env(crate::clients::WORDS, format!("{SERVER}:{COUNT} {BYTES}"))
            .stdin(Stdio::piped());
        let mut child = fake.run(|| command.spawn().unwrap());
        let mut ready = [0; 6];
        let out = child.stdout.as_mut().unwrap();
        if out.read_exact(&mut ready).is_err() {
            panic!("{:?}", child.wait_with_output());
        }
        Self(child)
    }

    fn go_on(&mut self) {
        let into = self.0.stdin.as_mut().unwrap();
        into.write_all(b"go\n").unwrap();
    }
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn connect(socket: &Path) -> (UnixStream, Lines<BufReader<UnixStream>>) {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    (stream, lines)
}

fn the_control_socket_changes_the_link(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (socket, out, report) = (place("control"), place("out"), place("report.json"));
    let mut program = Waiting::start(
        fake,
        &[
            "--quiet",
            "--up",
            "200mbit",
            "--up-queue",
            "pie",
            "--at",
            "20h",
            "down=3mbit",
            "--control",
            path(&socket),
            "--out",
            path(&out),
            "--json",
            path(&report),
        ],
    );
    let mode = fs::symlink_metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let (mut there, mut lines) = connect(&socket);
    let mut ask = |request: &Value| -> Value {
        there.write_all(format!("{request}\n").as_bytes()).unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    for (request, part) in [
        (json!({ "set": { "up": "fast" } }), "fast"),
        (json!({ "set": { "up": "100gbit" } }), "prepared for"),
        (json!({ "set": { "up.queue.no-such": 1 } }), "no-such"),
        (json!({ "set": { "up.queue.kind": "fifo" } }), "kind"),
        (
            json!({ "set": { "group.program.count": 2 } }),
            "only the link",
        ),
        (json!({ "set": { "up": "1mbit", "down": "fast" } }), "fast"),
        (json!({ "set": {} }), "1 to 32"),
        (json!({ "set": { "up": "9".repeat(2_000) } }), "1024 bytes"),
        (json!({ "stop": true }), "a request is a line"),
    ] {
        let why = ask(&request)["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(why.contains(part), "{request}: {why}");
        assert!(!why.contains("options:"), "{why}");
    }
    let before = ask(&json!({ "get": "summary" }));
    assert_eq!(before["summary"]["partial"], true, "{before:#}");
    let set = json!({ "set": { "up": format!("{SLOW}bit"), "up.queue.target": "20ms" } });
    let changed = ask(&set);
    let at = changed["changed"]["time_s"].as_f64();
    let at = at.unwrap_or_else(|| panic!("{changed}"));
    assert!(at > before["summary"]["duration_s"].as_f64().unwrap());

    // More connections than there is room for are told so, and the others go on.
    let others: Vec<_> = (0..7).map(|_| connect(&socket)).collect();
    let (_, mut refused) = connect(&socket);
    let why = refused.next().unwrap().unwrap();
    assert!(why.contains("8 connections"), "{why}");
    drop(others);

    program.go_on();
    // What is measured so far has the upload in it while it goes on.
    wait_until("the upload shows", || {
        let so_far = ask(&json!({ "get": "summary" }));
        let queues = so_far["summary"]["queues"].as_array().unwrap().iter();
        let packets = |queue: &Value| queue["packets"].as_u64().unwrap();
        let up = queues.filter(|queue| queue["direction"] == "reverse");
        up.map(packets).sum::<u64>() > 10
    });
    let felt = &ask(&json!({ "get": "felt" }))["felt"];
    assert_eq!(felt["partial"], true, "{felt}");
    let sentence = felt["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("so far: "), "{sentence}");
    let output = program.0.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let _ = fake.ends.recv_timeout(PATIENCE);
    assert!(!socket.exists());

    let report = read_json(&report);
    let seconds = report["summary"]["duration_s"].as_f64().unwrap() - at;
    let least = (BYTES * 8) as f64 / SLOW as f64;
    assert!(seconds >= least, "{seconds} s, and not {least}");
    let changes = &report["exec"]["changes"];
    let expected = json!([{
        "time_s": at,
        "set": { "up": format!("{SLOW}bit"), "up.queue.target": "20ms" },
        "by": "control",
    }]);
    assert_eq!(changes, &expected);
    // What repeats it: both changes, in the order of their times.
    let text = fs::read_to_string(out.join("scenario.toml")).unwrap();
    let scenario: toml::Table = text.parse().unwrap();
    let all = scenario["at"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{text}");
    assert_eq!(all[0]["set"]["link.reverse.rate"].as_str(), Some("2mbit"));
    assert_eq!(
        all[0]["set"]["link.reverse.queue.target"].as_str(),
        Some("20ms")
    );
    assert_eq!(all[1]["set"]["link.rate"].as_str(), Some("3mbit"));
}

fn the_control_socket_is_gone_however_the_program_ends(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    // A signal to quell, the end of the program by one, and a program that cannot be started.
    for (script, to_quell, code) in [
        ("echo ready; exec sleep 600", true, 128 + 15),
        ("echo ready; kill -KILL $$", false, 128 + 9),
    ] {
        let arguments = [
            "exec",
            "--quiet",
            "--control",
            path(&socket),
            "--",
            "sh",
            "-c",
            script,
        ];
        let mut command = fake.quell(&arguments);
        let mut child = fake.run(|| command.spawn().unwrap());
        let out = child.stdout.as_mut().unwrap();
        out.read_exact(&mut [0; 6]).unwrap();
        if to_quell {
            assert!(socket.exists());
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!socket.exists());
    }
    for (control, code) in [(path(&socket), 127), ("/no/such/folder/control", 125)] {
        let arguments = [
            "exec",
            "--control",
            control,
            "--",
            "no-such-program-of-quell",
        ];
        let program = if code == 125 { "true" } else { arguments[4] };
        let arguments = [&arguments[..4], &[program]].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!socket.exists());
    }
}

/// A page's end of the server.
struct Page {
    host: String,
    token: String,
}

impl Page {
    /// A link with these options and with its page; a program waits behind it.
    fn open(fake: &Fake, options: &[&str]) -> (Waiting, Self) {
        let mut program = Waiting::start(fake, &[&["--quiet", "--page"], options].concat());
        let mut errors = BufReader::new(program.0.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap();
        let (host, token) = url
            .strip_prefix("http://")
            .and_then(|url| url.split_once("/#token="))
            .unwrap_or_else(|| panic!("{line}"));
        let page = Self {
            host: host.to_owned(),
            token: token.to_owned(),
        };
        (program, page)
    }

    fn send(&self, fake: &Fake, first: &str, more: &str, body: &str) -> TcpStream {
        let mut stream = fake.run(|| TcpStream::connect(&self.host).unwrap());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, token) = (&self.host, &self.token);
        let text = format!(
            "{first} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-length: {}\r\n{more}\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    fn answer(&self, fake: &Fake, first: &str) -> String {
        let mut text = String::new();
        let mut stream = self.send(fake, first, "", "");
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn change(&self, fake: &Fake, key: &str, value: &str) {
        let more = format!(
            "origin: http://{}\r\ncontent-type: application/json\r\n",
            self.host
        );
        let ask = json!({ "ask": "change", "key": key, "value": value }).to_string();
        let mut text = String::new();
        let mut stream = self.send(fake, "POST /api/ask", &more, &ask);
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 204"), "{text}");
    }
}

/// The next message of a kind; others before it are passed over.
fn told(lines: &mut Lines<BufReader<TcpStream>>, kind: &str) -> Value {
    for line in lines {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        let message: Value = serde_json::from_str(data).unwrap();
        if message["type"] == kind {
            return message;
        }
        assert_ne!(message["type"], "ended", "no {kind}: {message}");
    }
    panic!("no {kind}");
}

fn a_page_shows_and_changes_the_link(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let files = folder.path().join("page");
    fs::create_dir(&files).unwrap();
    fs::write(files.join("index.html"), "<!doctype html>the page").unwrap();
    let (mut program, page) = Page::open(
        fake,
        &[
            "--rate",
            "200mbit",
            "--queue",
            "dualpi2",
            "--page-files",
            path(&files),
            "--out",
            path(&out),
        ],
    );
    assert!(page.host.starts_with("127.0.0.1:"), "{}", page.host);
    assert!(page.answer(fake, "GET /").contains("the page"));
    let stranger = Page {
        host: page.host.clone(),
        token: "0".repeat(page.token.len()),
    };
    assert!(
        stranger
            .answer(fake, "GET /api/about")
            .starts_with("HTTP/1.1 403")
    );
    let about = page.answer(fake, "GET /api/about");
    assert!(about.contains("\"mode\":\"live\""), "{about}");

    let mut lines = BufReader::new(page.send(fake, "GET /api/messages", "", "")).lines();
    let opened = told(&mut lines, "opened");
    assert_eq!(
        opened["runs"][0]["links"][0]["queues"],
        json!(["l4s", "classic"])
    );
    let rows = told(&mut lines, "rows");
    assert!(
        rows["runs"][0]["rows"]["queues"]["count"].as_u64().unwrap() >= 2,
        "{rows}"
    );

    page.change(fake, "link.queue.no-such", "1");
    let refused = told(&mut lines, "refused");
    assert!(
        refused["why"].as_str().unwrap().contains("no-such"),
        "{refused}"
    );
    page.change(fake, "link.reverse.rate", &format!("{SLOW}bit"));
    let changed = told(&mut lines, "changed");
    let scenario = changed["scenario"].as_str().unwrap();
    assert!(scenario.contains("2mbit"), "{scenario}");
    // A page that comes later is told the same.
    let mut later = BufReader::new(page.send(fake, "GET /api/messages", "", "")).lines();
    let text = told(&mut later, "opened").to_string();
    assert!(text.contains("2mbit"), "{text}");

    program.go_on();
    let finished = told(&mut lines, "finished");
    let summary = finished["runs"][0]["summary"].as_str().unwrap();
    let summary: Value = serde_json::from_str(summary).unwrap();
    let ended = told(&mut lines, "ended");
    assert!(
        ended["why"].as_str().unwrap().contains("program"),
        "{ended}"
    );
    let output = program.0.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let _ = fake.ends.recv_timeout(PATIENCE);

    assert_eq!(summary, read_json(&out.join("summary.json")));
    let exec = read_json(&out.join("exec.json"));
    let changes = exec["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["by"]), (1, &json!("page")));
    let at = changes[0]["time_s"].as_f64().unwrap();
    let seconds = summary["duration_s"].as_f64().unwrap() - at;
    let least = (BYTES * 8) as f64 / SLOW as f64;
    assert!(seconds >= least, "{seconds} s, and not {least}");
    let text = fs::read_to_string(out.join("scenario.toml")).unwrap();
    assert!(text.contains("\"link.reverse.rate\" = \"2mbit\""), "{text}");
}

/// Each link is named with its queues, has rows, and changes by its name.
fn a_page_shows_and_changes_each_of_two_links(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    fs::write(&file, LINKS).unwrap();
    let (mut program, page) = Page::open(fake, &["--scenario", path(&file)]);
    let mut lines = BufReader::new(page.send(fake, "GET /api/messages", "", "")).lines();
    let opened = told(&mut lines, "opened");
    let links = opened["runs"][0]["links"].as_array().unwrap();
    let named = links.iter().map(|link| {
        let text = |key: &str| link[key].as_str().unwrap();
        (text("name"), text("rate"), text("queue"), &link["queues"])
    });
    let queues = json!(["queue"]);
    let expected = [
        ("line", "40mbit", "fifo", &queues),
        ("wifi", "10mbit", "fifo", &queues),
    ];
    assert!(named.eq(expected), "{links:?}");
    let rows = told(&mut lines, "rows");
    // Both directions of the first, and the only one of the second that has a rate.
    let count = &rows["runs"][0]["rows"]["queues"]["count"];
    assert!(count.as_u64().unwrap() >= 3, "{rows}");
    page.change(fake, "link.wifi.rate", "5mbit");
    let changed = told(&mut lines, "changed");
    let scenario = changed["scenario"].as_str().unwrap();
    assert!(
        scenario.contains("\"link.wifi.rate\" = \"5mbit\""),
        "{scenario}"
    );
    program.go_on();
    told(&mut lines, "finished");
    let output = program.0.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let _ = fake.ends.recv_timeout(PATIENCE);
}
