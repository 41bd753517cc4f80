//! `quell serve --world live`: pages watch and change real packets, and never disturb them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use quell_lab::Scenario;
use quell_testing::program::wait_until;
use quell_testing::{bound, live};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::privileges::worker_of;
use crate::signal;
use crate::support::*;

/// No test waits longer for a message.
const PATIENCE: Duration = Duration::from_secs(60);

const SCENARIO: &str = r#"
schema = 1
name = "watched"
[link]
rate = "20mbit"
queue = { kind = "pie" }
[[group]]
name = "down"
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "10ms"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms", stddev = "1ms" } }
[run]
duration = "60s"
warmup = "1s"
"#;

/// `quell serve`, and what a page needs to ask it.
struct Served {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    host: String,
    token: String,
    _folder: TempDir,
}

impl Served {
    fn start(scenario: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watched.toml");
        std::fs::write(&file, scenario).unwrap();
        std::fs::write(folder.path().join("index.html"), "<!doctype html>").unwrap();
        let mut child = Command::new(QUELL)
            .args(["serve", "--world", "live", "--no-open", "--page"])
            .arg(folder.path())
            .arg(&file)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some((host, token)) = line
            .trim()
            .strip_prefix("http://")
            .and_then(|url| url.split_once("/#token="))
        else {
            panic!("{line}{:?}", child.wait_with_output());
        };
        Self {
            host: host.to_owned(),
            token: token.to_owned(),
            child,
            _stdout: stdout,
            _folder: folder,
        }
    }

    fn send(&self, first: &str, more: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
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

    fn answer(&self, first: &str, more: &str, body: &str) -> String {
        let mut text = String::new();
        self.send(first, more, body)
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    fn ask(&self, ask: &Value) {
        let more = format!(
            "origin: http://{}\r\ncontent-type: application/json\r\n",
            self.host
        );
        let answer = self.answer("POST /api/ask", &more, &ask.to_string());
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }

    fn change(&self, key: &str, value: &str) {
        self.ask(&json!({ "ask": "change", "key": key, "value": value }));
    }

    fn page(&self) -> Told {
        let mut reader = BufReader::new(self.send("GET /api/messages", "", ""));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Told {
            reader,
            columns: Value::Null,
        }
    }

    /// Ends it as Ctrl-C does, and looks that nothing is left.
    fn interrupt(self) {
        let worker = worker_of(self.child.id());
        signal(&self.child, Signal::INT);
        let output = self.child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(2), "{errors}");
        if let Some(worker) = worker {
            let process = format!("/proc/{worker}");
            wait_until("the worker has ended", || !Path::new(&process).exists());
        }
    }
}

/// A stream of events. Each comes as a chunk of its own.
struct Told {
    reader: BufReader<TcpStream>,
    columns: Value,
}

impl Told {
    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.reader.read_line(&mut line).unwrap() > 0,
                "the stream ended"
            );
            if let Some(json) = line.strip_prefix("data: ") {
                let told: Value = serde_json::from_str(json).unwrap();
                if told["type"] == "opened" {
                    self.columns = told["runs"][0]["columns"].clone();
                }
                return told;
            }
        }
    }

    fn until(&mut self, name: &str) -> Value {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let told = self.next();
            if told["type"] == name {
                return told;
            }
            let is_bad = told["type"] == "refused" || told["type"] == "ended";
            assert!(!is_bad || name == "finished", "{told}");
        }
        panic!("no {name} came");
    }

    /// Rows until the run is at this time, in seconds.
    fn until_time(&mut self, seconds: f64) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let rows = self.until("rows");
            let now = rows["frame"]["now"].as_f64().unwrap() / 1e9;
            all.push(rows);
            if now >= seconds {
                return all;
            }
        }
    }

    /// A column of the rows of a series.
    fn column(&self, rows: &[Value], series: &str, name: &str) -> Vec<f64> {
        let columns = self.columns[series].as_array().unwrap();
        let place = columns
            .iter()
            .position(|column| column["name"] == name)
            .unwrap();
        let mut all = Vec::new();
        for rows in rows {
            let series = &rows["runs"][0]["rows"][series];
            let count = series["count"].as_u64().unwrap() as usize;
            let bytes = decoded(series["base64"].as_str().unwrap());
            let numbers = bytes[8 * place * count..8 * (place + 1) * count].chunks_exact(8);
            all.extend(numbers.map(|eight| f64::from_le_bytes(eight.try_into().unwrap())));
        }
        all
    }

    /// Goodput of a group in these rows in bit/s, and how many flows it had in the last of them.
    fn goodput(&self, rows: &[Value], group: f64) -> (f64, usize) {
        let column = |name| self.column(rows, "flows", name);
        let (groups, times) = (column("group"), column("time_ns"));
        let (bytes, lengths) = (column("delivered_bytes"), column("length_ns"));
        let mine: Vec<usize> = (0..groups.len())
            .filter(|row| groups[*row] == group)
            .collect();
        let last = mine.iter().map(|row| times[*row]).fold(0.0, f64::max);
        let flows = mine.iter().filter(|row| times[**row] == last).count();
        let mut spans: Vec<(f64, f64)> = mine
            .iter()
            .map(|row| (times[*row], lengths[*row]))
            .collect();
        spans.dedup();
        let (bytes, time) = (
            mine.iter().map(|row| bytes[*row]).sum::<f64>(),
            spans.iter().map(|(_, length)| length).sum::<f64>(),
        );
        (bytes * 8e9 / time, flows)
    }
}

/// RFC 4648 section 4.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte).unwrap() as u32;
        let bits = four.iter().fold(0, |bits, byte| bits << 6 | digit(byte));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[test]
fn a_page_changes_real_packets_and_gets_the_scenario_that_repeats_it() {
    let test = "a_page_changes_real_packets_and_gets_the_scenario_that_repeats_it";
    live(test, |_| {
        if !can_run(test) {
            return Ok(());
        }
        let served = Served::start(SCENARIO, &[]);
        let about = served.answer("GET /api/about", "", "");
        assert!(
            about.contains("\"mode\":\"live\"") && about.contains("\"world\":\"live\""),
            "{about}"
        );
        // It begins when somebody comes.
        sleep(Duration::from_millis(500));
        let mut page = served.page();
        let opened = page.until("opened");
        let rows = page.until_time(4.0);
        assert!(rows[0]["frame"]["now"].as_f64().unwrap() < 1e9, "{opened}");
        // Ten times a second, and no less often than every third of a second on a busy machine.
        bound!((12..60).contains(&rows.len()), "{}", rows.len());
        let (before, flows) = page.goodput(&rows[rows.len() / 2..], 0.0);
        assert_eq!(flows, 1);
        bound!(before > 15e6 && before < 20e6, "{before}");

        served.change("link.rate", "5mbit");
        let changed = page.until("changed");
        page.until_time(5.5);
        let rows = page.until_time(7.5);
        let (slow, _) = page.goodput(&rows, 0.0);
        bound!(slow > 3e6 && slow < 5.2e6, "{slow}");

        served.change("group.down.count", "3");
        served.change("link.queue.target", "30ms");
        let rows = page.until_time(9.0);
        bound!(
            page.goodput(&rows, 0.0).1 == 3,
            "{:?}",
            page.goodput(&rows, 0.0)
        );
        served.change("group.down.count", "0");
        page.until_time(10.5);
        let rows = page.until_time(12.0);
        let (none, flows) = page.goodput(&rows, 0.0);
        assert!(flows == 0 || none < 1e5, "{none} {flows}");
        let (voice, _) = page.goodput(&rows, 1.0);
        bound!((voice / (158.0 * 8.0 * 50.0) - 1.0).abs() < 0.2, "{voice}");

        served.ask(&json!({ "ask": "finish" }));
        let mut repeated = changed["scenario"].as_str().unwrap().to_owned();
        let finished = loop {
            let told = page.next();
            match told["type"].as_str() {
                Some("changed") => repeated = told["scenario"].as_str().unwrap().to_owned(),
                Some("finished") => break told,
                _ => {}
            }
        };
        let summary: Value =
            serde_json::from_str(finished["runs"][0]["summary"].as_str().unwrap()).unwrap();
        assert_eq!(summary["world"], "live");
        assert_eq!(summary["partial"], true);
        let ended = number(&summary, "/duration_s");
        bound!((12.0..14.0).contains(&ended), "{ended}");
        // Every figure is of the changed run: nothing reports what never began.
        let goodput = summary.pointer("/groups/0/goodput_bps").unwrap();
        assert_eq!(goodput.as_array().unwrap().len(), 3, "{goodput}");

        // The first change is in the words of `changed`, the others came while rows were read.
        let first = Scenario::parse(changed["scenario"].as_str().unwrap()).unwrap();
        let [at] = &first.changes[..] else {
            panic!("{repeated}");
        };
        let seconds = at.time.as_nanos() as f64 / 1e9;
        bound!((4.0..5.0).contains(&seconds), "{seconds}");
        served.interrupt();
        Ok(())
    });
}

#[test]
fn what_cannot_change_is_refused_and_the_scenario_has_every_change_that_was_made() {
    let test = "what_cannot_change_is_refused_and_the_scenario_has_every_change_that_was_made";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let served = Served::start(SCENARIO, &[]);
    let mut page = served.page();
    page.until_time(1.0);
    let mut refused = |ask: Value| {
        served.ask(&ask);
        loop {
            let told = page.next();
            assert_ne!(told["type"], "changed", "{told}");
            if told["type"] == "refused" {
                break told["why"].as_str().unwrap().to_owned();
            }
        }
    };
    let change = |key: &str, value: &str| json!({ "ask": "change", "key": key, "value": value });
    for (ask, part) in [
        (change("group.down.mss", "600B"), "mss"),
        (change("link.rate", "fast"), "link.rate"),
        (change("nobody.there", "1"), "nobody.there"),
        (change("group.down.count", "900"), "prepared for"),
        (
            change("group.voice.app.interval", "40ms"),
            "start the run again",
        ),
        (change("group.voice.app.size", "300B"), "cannot change"),
        (json!({ "ask": "speed", "speed": 4 }), "real time"),
        (json!({ "ask": "step", "step": 1e6 }), "real time"),
        (
            json!({ "ask": "open", "scenario": SCENARIO, "runs": [[], []] }),
            "one link at a time",
        ),
        (
            json!({ "ask": "open", "scenario": "schema = 1", "runs": [[]] }),
            "name",
        ),
    ] {
        let why = refused(ask);
        assert!(why.contains(part), "{part}: {why}");
    }
    let mut scenario = String::new();
    for (key, value) in [
        ("link.rate", "4mbit"),
        ("link.queue.target", "5ms"),
        ("group.down.count", "2"),
        ("link.rate", "30mbit"),
    ] {
        served.change(key, value);
        scenario = page.until("changed")["scenario"]
            .as_str()
            .unwrap()
            .to_owned();
    }
    let repeated = Scenario::parse(&scenario).unwrap();
    assert_eq!(repeated.changes.len(), 4, "{scenario}");
    // Who comes later joins in, and gets the same.
    let mut later = served.page();
    let opened = later.until("opened");
    assert_eq!(opened["runs"][0]["scenario"], scenario);
    let joined = later.until("rows")["frame"]["now"].as_f64().unwrap();
    assert!(joined > 1e9, "{joined}");

    // Another scenario begins anew in the same world.
    let other = SCENARIO.replace("watched", "another");
    served.ask(
        &json!({ "ask": "open", "scenario": other, "runs": [["link.queue.kind=fifo"]], "seed": 3 }),
    );
    let opened = page.until("opened");
    assert_eq!(opened["runs"][0]["seed"], 3);
    let text = opened["runs"][0]["scenario"].as_str().unwrap();
    let new = Scenario::parse(text).unwrap();
    assert_eq!((new.name.as_str(), new.changes.len()), ("another", 0));
    let now = page.until("rows")["frame"]["now"].as_f64().unwrap();
    assert!(now < joined, "{now}");
    served.interrupt();
}

/// Requests that no page sends, storms of changes, connections that say nothing and one that reads nothing.
#[test]
fn a_hostile_page_disturbs_no_real_packets() {
    let test = "a_hostile_page_disturbs_no_real_packets";
    live(test, |run| {
        if !can_run(test) {
            return Ok(());
        }
        run.judges_a_percentile();
        let figures = |is_hostile: bool| {
            let served = Served::start(SCENARIO, &[]);
            let mut page = served.page();
            let silent: Vec<TcpStream> = match is_hostile {
                true => (0..40)
                    .filter_map(|_| TcpStream::connect(&served.host).ok())
                    .collect(),
                false => Vec::new(),
            };
            let unread = is_hostile.then(|| served.send("GET /api/messages", "", ""));
            for second in 1..=6 {
                if is_hostile {
                    for number in 0..30 {
                        let origin = format!(
                            "origin: http://{}\r\ncontent-type: application/json\r\n",
                            served.host
                        );
                        for body in [
                            &b"{\"ask\":\"open\"}"[..],
                            b"[[[[[[",
                            b"{\"ask\":\"change\",\"key\":\"link.rate\",\"value\":\"\\u0000\"}",
                        ] {
                            let text = String::from_utf8_lossy(body);
                            drop(served.send("POST /api/ask", &origin, &text));
                        }
                        drop(served.send(&format!("GET /../../etc/{number}"), "", ""));
                    }
                }
                let mut told = page.next();
                while told["frame"]["now"].as_f64().unwrap_or_default() < f64::from(second) * 1e9 {
                    told = page.next();
                }
            }
            served.ask(&json!({ "ask": "finish" }));
            let finished = page.until("finished");
            drop((silent, unread));
            served.interrupt();
            let text = finished["runs"][0]["summary"].as_str().unwrap();
            serde_json::from_str::<Value>(text).unwrap()
        };
        let [calm, hostile] = [false, true].map(figures);
        for summary in [&calm, &hostile] {
            bound!(
                number(summary, "/link/lost_outside") == 0.0,
                "{:#}",
                summary["link"]
            );
        }
        let late = |summary: &Value| number(summary, "/link/lateness_ms/p99");
        // Beside a twentieth of the base RTT, below which no run warns.
        bound!(
            late(&hostile) <= 2.0 * late(&calm) + 0.5,
            "{} ms and {} ms",
            late(&hostile),
            late(&calm)
        );
        bound!(
            number(&hostile, "/link/utilisation") > 0.95 * number(&calm, "/link/utilisation"),
            "{:#}",
            hostile["link"]
        );
        Ok(())
    });
}

/// The same link, with a page open that gets ten messages a second and changes something in each second, and without any server.
#[test]
fn the_link_is_no_later_with_a_page_open() {
    let test = "the_link_is_no_later_with_a_page_open";
    live(test, |run| {
        if !can_run(test) {
            return Ok(());
        }
        run.judges_a_percentile();
        let folder = tempfile::tempdir().unwrap();
        let mut late = [Vec::new(), Vec::new()];
        for pair in 0..3 {
            let file = folder.path().join("watched.toml");
            std::fs::write(&file, SCENARIO).unwrap();
            let out = folder.path().join(format!("alone-{pair}"));
            let output = Command::new(QUELL)
                .args(["run", "--world", "live", "--json", "--duration", "5s"])
                .arg(&file)
                .arg("--out")
                .arg(out)
                .output()
                .unwrap();
            late[0].push(number(&summary(&output), "/link/lateness_ms/p99"));
            let served = Served::start(SCENARIO, &[]);
            let mut page = served.page();
            for second in 1..=5 {
                page.until_time(f64::from(second));
                let rate = 20 + second % 2;
                served.change("link.rate", &format!("{rate}mbit"));
            }
            served.ask(&json!({ "ask": "finish" }));
            let finished = page.until("finished");
            served.interrupt();
            let text = finished["runs"][0]["summary"].as_str().unwrap();
            let watched: Value = serde_json::from_str(text).unwrap();
            late[1].push(number(&watched, "/link/lateness_ms/p99"));
        }
        let [alone, watched] = late.map(|mut all| {
            all.sort_by(f64::total_cmp);
            all[1]
        });
        // The medians of three pairs; a twentieth of the base RTT is what no run warns of.
        bound!(
            watched <= 1.5 * alone + 0.1,
            "{watched} ms with a page, {alone} ms without"
        );
        Ok(())
    });
}

#[test]
fn without_rights_it_says_what_is_needed() {
    let test = "without_rights_it_says_what_is_needed";
    let _beside = beside_others();
    if !is_root() {
        return not_run(test, "needs root, to become somebody else");
    }
    let (folder, quell) = crate::lacking::for_nobody();
    let file = folder.path().join("watched.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    std::fs::write(folder.path().join("index.html"), "").unwrap();
    let output = crate::lacking::as_nobody(&quell)
        .args([
            "serve",
            "--world",
            "live",
            "--no-open",
            "--listen",
            "192.0.2.1:1",
            "--page",
        ])
        .arg(folder.path())
        .arg(&file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    // RFC 5737: nobody's address. Where user namespaces are allowed, only that is refused.
    match doctor_says("user namespaces") {
        true => assert!(errors.contains("192.0.2.1"), "{errors}"),
        false => assert!(
            errors.contains("user namespaces") && errors.contains("fix"),
            "{errors}"
        ),
    }
}
